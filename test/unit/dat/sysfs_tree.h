/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sysfs_tree.h - a folder that looks like /sys of a machine with RDMA devices.
 *
 * Files and links, as Linux 6.1 has them. Included by one source of a program.
 */
#ifndef SYSFS_TREE_H
#define SYSFS_TREE_H

#include "test/unit/case.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static char tree[] = "/tmp/dapl-sysfs.XXXXXX";

static inline int tree_remove(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", tree);
	return system(command);
}

static inline int tree_make(void **state)
{
	(void)state;
	strcpy(tree + strlen(tree) - 6, "XXXXXX");
	return mkdtemp(tree) ? 0 : -1;
}

/* Makes the folders that PATH, below the tree, is in; its whole path. */
static inline const char *tree_path(const char *path)
{
	static char full[512];
	char *p;

	snprintf(full, sizeof(full), "%s/%s", tree, path);
	for (p = full + strlen(tree) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
		*p = '/';
	}
	return full;
}

static inline void tree_file(const char *path, const char *text)
{
	FILE *f = fopen(tree_path(path), "w");

	assert_non_null(f);
	fprintf(f, "%s\n", text);
	assert_int_equal(fclose(f), 0);
}

static inline void tree_link(const char *path, const char *target)
{
	assert_int_equal(symlink(target, tree_path(path)), 0);
}

/* One device; a part that is NULL it has not. Ports have a line of their own.
 */
struct tree_device {
	const char *name;
	const char *node_type;
	const char *bus;
	const char *driver;
};

static inline void tree_device(const struct tree_device *device)
{
	char path[256];
	char target[256];

	snprintf(path, sizeof(path), "class/infiniband/%s/node_type",
		 device->name);
	tree_file(path, device->node_type);
	if (!device->bus)
		return;
	snprintf(path, sizeof(path), "devices/%s/driver", device->bus);
	snprintf(target, sizeof(target), "../../bus/pci/drivers/%s",
		 device->driver);
	tree_link(path, target);
	snprintf(path, sizeof(path), "class/infiniband/%s/device",
		 device->name);
	snprintf(target, sizeof(target), "../../../devices/%s", device->bus);
	tree_link(path, target);
}

static inline void tree_port(const char *device, unsigned port, bool active,
			     const char *link_layer)
{
	char path[256];

	snprintf(path, sizeof(path), "class/infiniband/%s/ports/%u/state",
		 device, port);
	tree_file(path, active ? "4: ACTIVE" : "1: DOWN");
	snprintf(path, sizeof(path), "class/infiniband/%s/ports/%u/link_layer",
		 device, port);
	tree_file(path, link_layer);
}

/* Entry INDEX of a port's GIDs is INTERFACE's; NULL: it cannot be read. */
static inline void tree_gid(const char *device, unsigned port, int index,
			    const char *interface)
{
	char path[256];

	snprintf(path, sizeof(path),
		 "class/infiniband/%s/ports/%u/gid_attrs/ndevs/%d", device,
		 port, index);
	if (interface)
		tree_file(path, interface);
	else
		assert_int_equal(mkdir(tree_path(path), 0700), 0);
}

/* An interface, on a PCI function or, without BUS, on none. */
static inline void tree_interface(const char *name, const char *bus,
				  unsigned dev_port, const char *type,
				  const char *mac)
{
	char path[256];
	const char *file[][2] = {{"type", type}, {"address", mac}};
	char number[16];
	size_t i;

	snprintf(number, sizeof(number), "%u", dev_port);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "class/net/%s/%s", name,
			 file[i][0]);
		tree_file(path, file[i][1]);
		if (!bus)
			continue;
		snprintf(path, sizeof(path), "devices/%s/net/%s/%s", bus, name,
			 file[i][0]);
		tree_file(path, file[i][1]);
	}
	if (!bus)
		return;
	snprintf(path, sizeof(path), "devices/%s/net/%s/dev_port", bus, name);
	tree_file(path, number);
}

#define TYPE_ETHERNET	"1"
#define TYPE_INFINIBAND "32"

#endif
