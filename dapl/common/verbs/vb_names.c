/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * vb_names.c - what the kernel's files tell of devices: which there are, why
 * one cannot be opened, in texts for people, and what its port counts.
 *
 * The library of verbs hides a device whose node is not there, and tells of one
 * that this user may not open, or that the kernel has no driver behind, that
 * there is no file. So the kernel's list and the node are looked at.
 * Not for what has to be fast. No lock, no state.
 * Rule: /sys/class/infiniband_verbs/uverbsN/ibdev names the device of a node.
 */
#include "config.h"

#include "dapl/common/verbs/vb.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dapl/common/services/dapl_param.h"

#define MAX_TOLD   8  /* names in a text */
#define MAX_LOOKED 64 /* devices that are opened for one */
#define NODES	   "/dev/infiniband/"

/* As for the library of verbs. */
static void sysfs_path(char *buf, size_t size, const char *rest)
{
	const char *root = dapl__env("SYSFS_PATH");

	snprintf(buf, size, "%s/class/%s", root && *root ? root : "/sys", rest);
}

/* The first line of PATH. False: it cannot be read. */
static bool file_line(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static bool file_says(const char *path, const char *name)
{
	char text[IBV_SYSFS_NAME_MAX + 1];

	return file_line(path, text, sizeof(text)) && !strcmp(text, name);
}

bool vb_port_count(const struct vb_dev *dev, const char *name,
		   uint64_t *ret_value)
{
	const char *folder = dev->ctx->device->ibdev_path;
	char path[IBV_SYSFS_PATH_MAX + 128], text[32], *end;

	snprintf(path, sizeof(path), "%s/ports/%u/%s", folder, dev->port, name);
	if (!folder[0] || !file_line(path, text, sizeof(text)))
		return false;
	*ret_value = strtoull(text, &end, 10);
	return end != text;
}

static bool kernel_has(const char *name)
{
	char rest[PATH_MAX], path[PATH_MAX + 64];

	if (!*name || *name == '.' || strchr(name, '/'))
		return false;
	snprintf(rest, sizeof(rest), "infiniband/%s", name);
	sysfs_path(path, sizeof(path), rest);
	return !access(path, F_OK);
}

/* The path of the node that programs open NAME by. -ENXIO: there is none. */
static int find_node(const char *name, char *buf, size_t size)
{
	char dir[PATH_MAX], path[PATH_MAX + 300];
	const struct dirent *entry;
	int ret = -ENXIO;
	DIR *d;

	sysfs_path(dir, sizeof(dir), "infiniband_verbs");
	d = opendir(dir);
	if (!d)
		return ret;
	while (ret && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s/ibdev", dir, entry->d_name);
		if (entry->d_name[0] == '.' || !file_says(path, name))
			continue;
		snprintf(buf, size, NODES "%s", entry->d_name);
		ret = 0;
	}
	closedir(d);
	return ret;
}

int vb_node_check(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

void vb_node_text(const char *path, int err, const char *driver, char *buf,
		  size_t size)
{
	switch (err) {
	case -ENOENT:
		snprintf(buf, size,
			 "load %s, or let this container see %s: it is missing",
			 driver, path);
		break;
	case -EACCES:
	case -EPERM:
		snprintf(buf, size, "let this user read and write %s: %s", path,
			 strerror(-err));
		break;
	default:
		snprintf(buf, size,
			 "load %s: %s is there, but nothing behind it: %s",
			 driver, path, strerror(-err));
		break;
	}
}

bool vb_locked_text(int err, char *buf, size_t size)
{
	struct rlimit limit;

	if ((err != -ENOMEM && err != -EPERM) ||
	    getrlimit(RLIMIT_MEMLOCK, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return false;
	snprintf(buf, size,
		 "raise the limit of locked memory, %llu bytes (ulimit -l, "
		 "systemd LimitMEMLOCK=, the container's memlock)",
		 (unsigned long long)limit.rlim_cur);
	return true;
}

static bool is_listed(const char *name)
{
	struct ibv_device **list;
	bool found = false;
	int n = 0, i;

	list = ibv_get_device_list(&n);
	if (!list)
		return false;
	for (i = 0; i < n && !found; i++)
		found = !strcmp(ibv_get_device_name(list[i]), name);
	ibv_free_device_list(list);
	return found;
}

/* Of a device that the kernel has. */
static int explain_node(const char *name, int err, char *buf, size_t size)
{
	char node[300];
	int ret = find_node(name, node, sizeof(node));

	if (ret) {
		snprintf(buf, size,
			 "load ib_uverbs: the kernel shows %s to no program",
			 name);
		return ret;
	}
	ret = vb_node_check(node);
	if (ret) {
		vb_node_text(node, ret, "ib_uverbs", buf, size);
		return ret == -ENODEV ? -ENXIO : ret;
	}
	if (is_listed(name)) {
		snprintf(buf, size, "%s: %s", name, strerror(-err));
		return err;
	}
	snprintf(buf, size,
		 "install the driver of %s for libibverbs: the kernel has the "
		 "device",
		 name);
	return err;
}

int vb_explain(const char *name, uint8_t port, int err, char *buf, size_t size)
{
	switch (err) {
	case -EINVAL:
		snprintf(buf, size, "write another port: %s has no port %u",
			 name, port);
		return err;
	case -EOPNOTSUPP:
		snprintf(buf, size,
			 "write another device: %s makes no reliable connected "
			 "(RC) queue pairs, which every endpoint needs",
			 name);
		return err;
	case -ENODEV:
	case -ENOENT:
	case -EACCES:
	case -EPERM:
	case -ENXIO:
		if (kernel_has(name))
			return explain_node(name, err, buf, size);
		if (!is_listed(name)) {
			snprintf(buf, size,
				 "write another device: there is no %s", name);
			return -ENODEV;
		}
		break;
	default:
		break;
	}
	snprintf(buf, size, "%s: %s", name, strerror(-err));
	return err;
}

/* Names. */

struct told {
	char name[IBV_SYSFS_NAME_MAX];
	const char *note; /* what is to be known of one that cannot be opened */
	bool live;
};

static void look_at(struct told *t)
{
	char why[512];
	struct vb_dev dev;
	int ret = vb_open(t->name, 1, &dev);

	t->note = "";
	if (!ret) {
		t->live = vb_port_is_active(&dev);
		if (!t->live)
			t->note = " (down)";
		vb_close(&dev);
		return;
	}
	switch (vb_explain(t->name, 1, ret, why, sizeof(why))) {
	case -EOPNOTSUPP:
		t->note = " (no RC)";
		break;
	case -EACCES:
	case -EPERM:
		t->note = " (no permission)";
		break;
	case -ENOENT:
		t->note = " (no node)";
		break;
	case -ENXIO:
	case -ENODEV:
		t->note = " (no driver)";
		break;
	default:
		break;
	}
}

static void add_name(struct told *all, int *n, const char *name)
{
	int i;

	for (i = 0; i < *n; i++)
		if (!strcmp(all[i].name, name))
			return;
	if (*n == MAX_LOOKED || strlen(name) >= sizeof(all[0].name))
		return;
	memset(&all[*n], 0, sizeof(all[0]));
	strcpy(all[(*n)++].name, name);
}

/* Those of libibverbs in its order, then those that it hides, by name. */
static int gather(struct told *all)
{
	struct dirent **entries = NULL;
	struct ibv_device **list;
	char dir[PATH_MAX];
	int n = 0, found = 0, i;

	list = ibv_get_device_list(&n);
	for (i = 0; list && i < n; i++)
		add_name(all, &found, ibv_get_device_name(list[i]));
	if (list)
		ibv_free_device_list(list);
	sysfs_path(dir, sizeof(dir), "infiniband");
	n = scandir(dir, &entries, NULL, alphasort);
	for (i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			add_name(all, &found, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return found;
}

static int tell(const struct told *all, int n, bool live, char *buf,
		size_t size, int told)
{
	size_t len;
	int i;

	for (i = 0; i < n && told < MAX_TOLD; i++) {
		if (all[i].live != live)
			continue;
		len = strlen(buf);
		/* Half a name would send its reader looking for it. */
		if (len + strlen(all[i].name) + strlen(all[i].note) + 2 > size)
			break;
		snprintf(buf + len, size - len, "%s%s%s", told ? " " : "",
			 all[i].name, all[i].note);
		told++;
	}
	return told;
}

void vb_device_names(char *buf, size_t size)
{
	struct told *all;
	int n, i, told;

	if (!size)
		return;
	buf[0] = '\0';
	all = calloc(MAX_LOOKED, sizeof(*all));
	if (!all)
		return;
	n = gather(all);
	for (i = 0; i < n; i++)
		look_at(&all[i]);
	told = tell(all, n, true, buf, size, 0);
	tell(all, n, false, buf, size, told);
	free(all);
}

int vb_unusable(char *why, size_t size)
{
	struct told *all = calloc(MAX_LOOKED, sizeof(*all));
	struct vb_dev dev;
	int n, i, ret = 0;

	if (!all)
		return 0;
	n = gather(all);
	for (i = 0; i < n && !ret; i++) {
		ret = vb_open(all[i].name, 1, &dev);
		if (!ret)
			vb_close(&dev);
		else if (ret == -EOPNOTSUPP)
			ret = 0;
		else
			ret = vb_explain(all[i].name, 1, ret, why, size);
	}
	free(all);
	return ret;
}
