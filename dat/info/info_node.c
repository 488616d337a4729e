/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_node.c - device nodes, limits and ports of the machine: what --check and
 * --why say of each, with one remedy.
 *
 * Opens nodes and closes them; asks the devices nothing.
 * Threads, ownership: info.h. Rule: the kernel's uverbs and ucma, prlimit(2),
 * proc(5).
 */
#include "dat/info/info.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CAP_IPC_LOCK_BIT 14

/* 0 or the errno of opening it. */
static int try_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static const char *node_remedy(int err)
{
	switch (err) {
	case ENOENT:
		return "in a container, pass the node in (--device=/dev/"
		       "infiniband); else let udev make it: udevadm trigger";
	case EACCES:
		return "let the user's group have the node: a udev rule with "
		       "GROUP=\"rdma\", MODE=\"0660\", or MODE=\"0666\"";
	case EPERM:
		return "the container's device rules forbid it: start it with "
		       "--device=/dev/infiniband";
	case ENODEV:
	case ENXIO:
		return "the kernel has no device behind the node: load the "
		       "driver again, see dmesg";
	default:
		return "see dmesg";
	}
}

static bool check_node(struct info_out *o, const char *what, const char *path)
{
	int err = try_open(path);

	if (err)
		info_say(o, INFO_FAIL, what, node_remedy(err),
			 "cannot open %s: %s", path, strerror(err));
	else
		info_say(o, INFO_OK, what, NULL, "%s", path);
	return !err;
}

struct finding {
	const struct info *info;
	const char *device;
	int number;
};

static void look_at_uverbs(const char *name, void *arg)
{
	struct finding *f = arg;
	char device[DAT_DEVICE_NAME];
	int number;

	if (sscanf(name, "uverbs%d", &number) == 1 &&
	    dat_sysfs_line(device, sizeof(device),
			   "%s/class/infiniband_verbs/%s/ibdev",
			   f->info->host.sysfs, name) &&
	    !strcmp(device, f->device))
		f->number = number;
}

int info_uverbs(const struct info *info, const char *device)
{
	struct finding f = {info, device, -1};
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/class/infiniband_verbs",
		 info->host.sysfs);
	dat_sysfs_each(dir, look_at_uverbs, &f);
	return f.number;
}

bool info_check_uverbs(const struct info *info, struct info_out *o,
		       const char *device)
{
	int number = info_uverbs(info, device);
	char path[PATH_MAX], what[DAT_DEVICE_NAME + 16];

	snprintf(what, sizeof(what), "node of %s", device);
	if (number < 0) {
		info_say(o, INFO_FAIL, what, "modprobe ib_uverbs",
			 "%s has no uverbs node: the module ib_uverbs is not "
			 "loaded",
			 device);
		return false;
	}
	snprintf(path, sizeof(path), "%s/uverbs%d", info->host.dev, number);
	if (!check_node(o, what, path))
		return false;
	if (!info_verbs_port(device, 1, NULL))
		return true;
	info_say(
		o, INFO_FAIL, what,
		"install the drivers of libibverbs (Debian: ibverbs-providers, "
		"others: rdma-core)",
		"libibverbs has no driver for %s", device);
	return false;
}

bool info_check_rdma_cm(const struct info *info, struct info_out *o)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/misc/rdma_cm", info->host.sysfs);
	if (access(path, F_OK)) {
		info_say(o, INFO_FAIL, "node of rdma_cm", "modprobe rdma_ucm",
			 "the module rdma_ucm is not loaded");
		return false;
	}
	snprintf(path, sizeof(path), "%s/rdma_cm", info->host.dev);
	return check_node(o, "node of rdma_cm", path);
}

/*
 * Limits.
 */

static bool may_lock_all(const struct info *info)
{
	char path[PATH_MAX], line[128];
	unsigned long long caps = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/self/status", info->host.proc);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (f)
		fclose(f);
	return caps >> CAP_IPC_LOCK_BIT & 1;
}

bool info_check_memlock(const struct info *info, struct info_out *o)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return true;
	if (limit.rlim_cur == RLIM_INFINITY || may_lock_all(info)) {
		info_say(o, INFO_OK, "memlock here", NULL, "no limit");
		return true;
	}
	info_say(o, limit.rlim_cur < INFO_MEMLOCK_LEAST ? INFO_FAIL : INFO_WARN,
		 "memlock here",
		 "in /etc/security/limits.d/rdma.conf \"* - memlock "
		 "unlimited\", then log in again",
		 "%llu KiB can be locked; programs register all that they "
		 "send and receive",
		 (unsigned long long)limit.rlim_cur >> 10);
	return limit.rlim_cur >= INFO_MEMLOCK_LEAST;
}

/* Who starts jobs, by the name of the process, and how its limit is raised. */
static const struct {
	const char *name;
	const char *remedy;
} services[] = {
	{"systemd", "DefaultLimitMEMLOCK=infinity in /etc/systemd/system.conf"},
	{"sshd", "systemctl edit ssh: [Service] LimitMEMLOCK=infinity"},
	{"slurmd", "systemctl edit slurmd: [Service] LimitMEMLOCK=infinity; in "
		   "slurm.conf PropagateResourceLimitsExcept=MEMLOCK"},
	{"slurmstepd",
	 "systemctl edit slurmd: [Service] LimitMEMLOCK=infinity; "
	 "in slurm.conf PropagateResourceLimitsExcept=MEMLOCK"},
	{"pbs_mom", "ulimit -l unlimited in the start script of pbs_mom"},
	{"dockerd", "systemctl edit docker: [Service] LimitMEMLOCK=infinity; "
		    "docker run --ulimit memlock=-1"},
	{"containerd",
	 "systemctl edit containerd: [Service] LimitMEMLOCK=infinity"},
	{"conmon", "podman run --ulimit memlock=-1"},
};

struct serving {
	const struct info *info;
	struct info_out *o;
	bool told[INFO_COUNT(services)];
};

/* The limit of a process as proc(5) has it; false if it cannot be read. */
static bool read_limit(const struct info *info, const char *pid, char soft[32])
{
	char path[PATH_MAX], line[160];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/limits", info->host.proc, pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "Max locked memory %31s", soft) == 1;
	if (f)
		fclose(f);
	return found;
}

static void look_at_process(const char *pid, void *arg)
{
	struct serving *s = arg;
	char name[64], soft[32], what[96];
	bool good;

	if (!isdigit((unsigned char)pid[0]) ||
	    !dat_sysfs_line(name, sizeof(name), "%s/%s/comm",
			    s->info->host.proc, pid))
		return;
	for (size_t i = 0; i < INFO_COUNT(services); i++) {
		if (s->told[i] || strcmp(name, services[i].name) ||
		    !read_limit(s->info, pid, soft))
			continue;
		s->told[i] = true;
		good = !strcmp(soft, "unlimited");
		snprintf(what, sizeof(what), "memlock of %s", name);
		info_say(s->o, good ? INFO_OK : INFO_WARN, what,
			 good ? NULL : services[i].remedy,
			 good ? "no limit"
			      : "what it starts can lock %s bytes, unless "
				"told otherwise",
			 soft);
	}
}

static bool in_container(void)
{
	return !access("/.dockerenv", F_OK) ||
	       !access("/run/.containerenv", F_OK);
}

void info_check_services(const struct info *info, struct info_out *o)
{
	struct serving s = {.info = info, .o = o};

	dat_sysfs_each(info->host.proc, look_at_process, &s);
	if (in_container())
		info_say(o, INFO_OK, "container", NULL,
			 "this is one: it needs --device=/dev/infiniband, "
			 "--ulimit memlock=-1 and the host's network");
}

/*
 * Ports.
 */

const char *info_interface_name(const struct dat_port *port)
{
	return port->n_ifs ? port->ifs[0] : "INTERFACE";
}

bool info_check_port(const struct info *info, struct info_out *o,
		     const struct dat_port *port, enum info_result if_down)
{
	char what[DAT_DEVICE_NAME + 24], state[32] = "unknown";
	char remedy[128];

	snprintf(what, sizeof(what), "port %u of %s", port->port, port->device);
	dat_sysfs_line(state, sizeof(state),
		       "%s/class/infiniband/%s/ports/%u/state",
		       info->host.sysfs, port->device, port->port);
	snprintf(remedy, sizeof(remedy),
		 "bring its network interface up (ip link set dev %s up), "
		 "check the cable",
		 info_interface_name(port));
	if (port->unfit)
		info_say(o, INFO_WARN, what,
			 "DAT needs reliable connections; use another device, "
			 "or a library made for this one (libfabric)",
			 "not used: %s", port->unfit);
	else if (port->active)
		info_say(o, INFO_OK, what, NULL, "%s", state);
	else if (port->fabric == DAT_FABRIC_IB)
		info_say(o, if_down, what,
			 "check the cable (ibstat), and that a subnet manager "
			 "runs (opensm)",
			 "not active: %s", state);
	else
		info_say(o, if_down, what, remedy, "not active: %s", state);
	return !port->unfit && port->active;
}

/* What asks for a GID that is not there. */
static void say_no_wish(const struct info *info, struct info_out *o,
			const char *what, const struct dat_port *port,
			const struct info_wish *wish)
{
	char used[256], remedy[400];

	info_gids_used(info, port, used, sizeof(used));
	snprintf(remedy, sizeof(remedy), "%s%s%s",
		 wish->of_line
			 ? "correct gid= in field 7 of the line, or remove it"
			 : "correct or unset DAPL_GID_INDEX",
		 used[0] ? "; in use are " : "", used);
	info_say(o, INFO_FAIL, what, remedy,
		 "the port has no GID at index %d, which %s asks for",
		 wish->index, wish->of_line ? "the line" : "DAPL_GID_INDEX");
}

bool info_check_gid(const struct info *info, struct info_out *o,
		    const struct dat_port *port, const struct info_gid *gid,
		    const struct info_wish *wish)
{
	char what[DAT_DEVICE_NAME + 24];
	char remedy[128];
	bool ipv4 = gid->kind && strstr(gid->kind, "IPv4");

	snprintf(remedy, sizeof(remedy),
		 "give its network interface an IPv4 address (ip addr add "
		 "ADDRESS/BITS dev %s)",
		 info_interface_name(port));
	snprintf(what, sizeof(what), "GID of %s/%u", port->device, port->port);
	if (!gid->kind && wish->index >= 0)
		say_no_wish(info, o, what, port, wish);
	else if (!gid->kind)
		info_say(o, INFO_FAIL, what, remedy, "the port has no GID");
	else if (port->fabric == DAT_FABRIC_ROCE && !ipv4)
		info_say(o, INFO_WARN, what,
			 wish->index >= 0
				 ? "ask for another index (ibv_devinfo -v), or "
				   "for none"
				 : remedy,
			 "index %d, %s (%s): peers with IPv4 addresses do not "
			 "meet it",
			 gid->index, gid->text, gid->kind);
	else
		info_say(o, INFO_OK, what, NULL, "index %d, %s (%s)",
			 gid->index, gid->text, gid->kind);
	return gid->kind != NULL;
}
