/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_auto_ports.c - reads /sys/class/infiniband and /sys/class/net.
 *
 * Nothing here fails for one device: what cannot be read is left out, since
 * devices come and go while they are looked at, and containers hide parts.
 * Threads, ownership: dat_auto_ports.h.
 * Rule: what a port's interfaces are. RoCE: those of its GIDs, which takes in
 * VLANs and bonds, and those that share its PCI function. InfiniBand: IPoIB
 * interfaces on its PCI function. iWARP: as RoCE, and soft devices, which show
 * neither, have their interface's MAC address as GID.
 */
#include "dat_auto_ports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Hardware types of /sys/class/net/.../type: IPoIB interfaces. */
#define TYPE_INFINIBAND "32"

static const struct {
	const char *driver;
	const char *reason;
} unfit_drivers[] = {
	{"efa", "Amazon EFA has no reliable connections"},
	{"mana", "Azure MANA has no reliable connections"},
	{"usnic_verbs", "Cisco usNIC has no reliable connections"},
};

bool dat_sysfs_line(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	ssize_t n;
	int fd;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

/* The last part of where the link points to; "" if it is none. */
static void read_link_name(char *buf, size_t size, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *name;

	buf[0] = '\0';
	if (n < 0)
		return;
	target[n] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strlen(name) < size)
		strcpy(buf, name);
}

/* A part of a path, and a word of dat.conf. */
static bool is_plain_name(const char *name, size_t max)
{
	size_t len = strlen(name);

	return len > 0 && len < max && name[0] != '.' &&
	       !strpbrk(name, "/ \t\n\"\\#");
}

static bool path_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

bool dat_device_exists(const char *sysfs, const char *device)
{
	char path[PATH_MAX];

	if (!is_plain_name(device, DAT_DEVICE_NAME))
		return false;
	snprintf(path, sizeof(path), "%s/class/infiniband/%s", sysfs, device);
	return path_exists(path);
}

bool dat_port_exists(const char *sysfs, const char *device, unsigned port)
{
	char path[PATH_MAX];

	if (!is_plain_name(device, DAT_DEVICE_NAME))
		return false;
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u", sysfs,
		 device, port);
	return path_exists(path);
}

bool dat_interface_exists(const char *sysfs, const char *name)
{
	char path[PATH_MAX];

	if (!is_plain_name(name, IF_NAMESIZE))
		return false;
	snprintf(path, sizeof(path), "%s/class/net/%s", sysfs, name);
	return path_exists(path);
}

static void add_interface(struct dat_port *port, const char *name)
{
	size_t i;

	if (!is_plain_name(name, IF_NAMESIZE) || port->n_ifs == DAT_PORT_IFS)
		return;
	for (i = 0; i < port->n_ifs; i++)
		if (strcmp(port->ifs[i], name) == 0)
			return;
	strcpy(port->ifs[port->n_ifs++], name);
}

static int order_entries(const struct dirent **a, const struct dirent **b)
{
	return dat_name_order((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int dat_sysfs_each(const char *dir, void (*each)(const char *, void *),
		   void *arg)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, is_visible, order_entries);
	int i;

	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++) {
		each(entries[i]->d_name, arg);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

struct looking {
	const char *sysfs;
	struct dat_port *port;
	char dir[PATH_MAX]; /* the one whose names are looked at */
	char mac[32];	    /* what to find */
};

/*
 * Entries that are not in use cannot be read. The kernel takes the first that
 * is free, so those in use are in front, and a table may have a thousand.
 */
static void add_interfaces_of_gids(struct looking *l)
{
	const unsigned max_hole = 64;
	char name[IF_NAMESIZE + 1];
	unsigned hole = 0;
	unsigned i;

	for (i = 0; hole < max_hole; i++) {
		hole++;
		if (!dat_sysfs_line(name, sizeof(name),
				    "%s/class/infiniband/%s/ports/%u/gid_attrs/"
				    "ndevs/%u",
				    l->sysfs, l->port->device, l->port->port,
				    i))
			continue;
		add_interface(l->port, name);
		hole = 0;
	}
}

static void look_at_sibling(const char *name, void *arg)
{
	struct looking *l = arg;
	char value[32];
	bool is_ib;

	/* ports count from 0 there */
	if (dat_sysfs_line(value, sizeof(value), "%s/%s/dev_port", l->dir,
			   name) &&
	    strtoul(value, NULL, 10) + 1 != l->port->port)
		return;
	is_ib = dat_sysfs_line(value, sizeof(value), "%s/%s/type", l->dir,
			       name) &&
		strcmp(value, TYPE_INFINIBAND) == 0;
	if (is_ib == (l->port->fabric == DAT_FABRIC_IB))
		add_interface(l->port, name);
}

static void add_interfaces_of_function(struct looking *l)
{
	snprintf(l->dir, sizeof(l->dir), "%s/class/infiniband/%s/device/net",
		 l->sysfs, l->port->device);
	dat_sysfs_each(l->dir, look_at_sibling, l);
}

static void look_at_mac(const char *name, void *arg)
{
	struct looking *l = arg;
	char mac[32];

	if (dat_sysfs_line(mac, sizeof(mac), "%s/%s/address", l->dir, name) &&
	    strcmp(mac, l->mac) == 0)
		add_interface(l->port, name);
}

static void add_interfaces_of_mac(struct looking *l)
{
	char gid[64];

	/* 0211:2233:4455:0000:... is 02:11:22:33:44:55 */
	if (!dat_sysfs_line(gid, sizeof(gid),
			    "%s/class/infiniband/%s/ports/%u/gids/0", l->sysfs,
			    l->port->device, l->port->port) ||
	    strlen(gid) < 14 || strncmp(gid, "0000:0000:0000", 14) == 0)
		return;
	snprintf(l->mac, sizeof(l->mac), "%.2s:%.2s:%.2s:%.2s:%.2s:%.2s", gid,
		 gid + 2, gid + 5, gid + 7, gid + 10, gid + 12);
	snprintf(l->dir, sizeof(l->dir), "%s/class/net", l->sysfs);
	dat_sysfs_each(l->dir, look_at_mac, l);
}

static void find_interfaces(const char *sysfs, struct dat_port *port)
{
	struct looking looking;

	looking.sysfs = sysfs;
	looking.port = port;
	if (port->fabric != DAT_FABRIC_IB)
		add_interfaces_of_gids(&looking);
	add_interfaces_of_function(&looking);
	if (port->fabric == DAT_FABRIC_IWARP && port->n_ifs == 0)
		add_interfaces_of_mac(&looking);
}

/*
 * Ports.
 */

struct listing {
	const char *sysfs;
	struct dat_port device; /* what all ports of the present one share */
	struct dat_ports list;
	size_t max;
	int err; /* of the process, not of a device */
};

static struct dat_port *new_port(struct listing *l)
{
	struct dat_port *ports;
	size_t max;

	if (l->list.n == l->max) {
		max = l->max ? l->max * 2 : 4;
		ports = realloc(l->list.ports, max * sizeof(*ports));
		if (!ports) {
			l->err = -ENOMEM;
			return NULL;
		}
		l->list.ports = ports;
		l->max = max;
	}
	l->list.ports[l->list.n] = l->device;
	return &l->list.ports[l->list.n++];
}

static void look_at_port(const char *name, void *arg)
{
	struct listing *l = arg;
	char text[32];
	char *end;
	unsigned long number = strtoul(name, &end, 10);
	struct dat_port *port;

	if (*end || number == 0 || number > 255)
		return;
	port = new_port(l);
	if (!port)
		return;
	port->port = (unsigned)number;
	port->active = dat_sysfs_line(text, sizeof(text),
				      "%s/class/infiniband/%s/ports/%s/state",
				      l->sysfs, port->device, name) &&
		       atoi(text) == 4;
	if (port->fabric == DAT_FABRIC_IB &&
	    dat_sysfs_line(text, sizeof(text),
			   "%s/class/infiniband/%s/ports/%s/link_layer",
			   l->sysfs, port->device, name) &&
	    strcmp(text, "Ethernet") == 0)
		port->fabric = DAT_FABRIC_ROCE;
	find_interfaces(l->sysfs, port);
}

/* A directory of devices or ports. */
static void look_at_each(struct listing *l, const char *dir,
			 void (*look)(const char *, void *))
{
	int err = dat_sysfs_each(dir, look, l);

	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		l->err = err;
}

/* What a node type says: enum rdma_node_type of the kernel. */
static const char *set_fabric(struct dat_port *device, const char *node_type)
{
	switch (atoi(node_type)) {
	case 1:
		device->fabric = DAT_FABRIC_IB;
		return NULL;
	case 4:
		device->fabric = DAT_FABRIC_IWARP;
		return NULL;
	default:
		return "its node type is neither channel adapter nor RNIC";
	}
}

static void look_at_device(const char *name, void *arg)
{
	struct listing *l = arg;
	char path[PATH_MAX];
	char text[64];
	size_t i;

	if (!is_plain_name(name, DAT_DEVICE_NAME))
		return;
	l->device = (struct dat_port){0};
	strcpy(l->device.device, name);
	if (!dat_sysfs_line(text, sizeof(text),
			    "%s/class/infiniband/%s/node_type", l->sysfs, name))
		return;
	l->device.unfit = set_fabric(&l->device, text);
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device", l->sysfs,
		 name);
	read_link_name(l->device.bus, sizeof(l->device.bus), path);
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/driver",
		 l->sysfs, name);
	read_link_name(l->device.driver, sizeof(l->device.driver), path);
	for (i = 0; i < sizeof(unfit_drivers) / sizeof(unfit_drivers[0]); i++)
		if (strcmp(l->device.driver, unfit_drivers[i].driver) == 0)
			l->device.unfit = unfit_drivers[i].reason;
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports", l->sysfs,
		 name);
	look_at_each(l, path, look_at_port);
}

int dat_name_order(const char *a, const char *b)
{
	return strverscmp(a, b);
}

static int order_ports(const void *va, const void *vb)
{
	const struct dat_port *a = va;
	const struct dat_port *b = vb;
	int diff;

	if (!a->unfit != !b->unfit)
		return a->unfit ? 1 : -1;
	if (a->active != b->active)
		return a->active ? -1 : 1;
	if (a->fabric != b->fabric)
		return a->fabric < b->fabric ? -1 : 1;
	/* what is on no bus comes after what is */
	if (!a->bus[0] != !b->bus[0])
		return a->bus[0] ? -1 : 1;
	diff = strcmp(a->bus, b->bus);
	if (!diff)
		diff = dat_name_order(a->device, b->device);
	if (diff)
		return diff;
	return a->port < b->port ? -1 : 1;
}

int dat_ports_list(const char *sysfs, struct dat_ports *ret_ports)
{
	struct listing l = {.sysfs = sysfs};
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/class/infiniband", sysfs);
	look_at_each(&l, dir, look_at_device);
	if (l.err) {
		dat_ports_free(&l.list);
		return l.err;
	}
	if (l.list.n > 1)
		qsort(l.list.ports, l.list.n, sizeof(*l.list.ports),
		      order_ports);
	*ret_ports = l.list;
	return 0;
}

void dat_ports_free(struct dat_ports *ports)
{
	free(ports->ports);
	*ports = (struct dat_ports){0};
}
