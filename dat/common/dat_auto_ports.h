/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_auto_ports.h - the RDMA ports of this machine, as sysfs shows them.
 *
 * Opens no device and asks no network: a port that is listed may still be out
 * of reach. Does not name adapters (dat_auto.h).
 * Threads: no shared state. Ownership: a list owns all that it points to until
 * dat_ports_free().
 * Rule: Documentation/ABI/stable/sysfs-class-infiniband of Linux.
 */
#ifndef DAT_AUTO_PORTS_H
#define DAT_AUTO_PORTS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

/* IBV_SYSFS_NAME_MAX, with its end. */
#define DAT_DEVICE_NAME 64

/* Network interfaces of one port that are told of. */
#define DAT_PORT_IFS 16

/* In the order in which adapters are offered. */
enum dat_fabric {
	DAT_FABRIC_IB,
	DAT_FABRIC_ROCE,
	DAT_FABRIC_IWARP,
};

struct dat_port {
	char device[DAT_DEVICE_NAME];
	char driver[DAT_DEVICE_NAME]; /* "" if it has none: soft devices */
	char bus[DAT_DEVICE_NAME];    /* PCI address, such as 0000:3b:00.0 */
	unsigned port;		      /* from 1 */
	enum dat_fabric fabric;
	bool active;
	const char *unfit; /* why it has no reliable connections, or NULL */
	char ifs[DAT_PORT_IFS][IF_NAMESIZE]; /* the first is the port's own */
	size_t n_ifs;
};

struct dat_ports {
	struct dat_port *ports;
	size_t n;
};

/*
 * Lists the ports below the directory SYSFS ("/sys"): those in use before the
 * others, InfiniBand before RoCE before iWARP, then by place on the bus, name
 * and number; those that are unfit come last. So machines that are built alike
 * have lists that are alike. 0, no devices included, or -ENOMEM, -EMFILE or
 * -ENFILE, which leave RET_PORTS alone: it cannot be told.
 */
int dat_ports_list(const char *sysfs, struct dat_ports *ret_ports);
void dat_ports_free(struct dat_ports *ports);

/* Order of numbers within names: mlx5_2 before mlx5_10. Like strcmp(). */
int dat_name_order(const char *a, const char *b);

/* Whether there is such a thing; false for odd names. */
bool dat_device_exists(const char *sysfs, const char *device);
bool dat_port_exists(const char *sysfs, const char *device, unsigned port);
bool dat_interface_exists(const char *sysfs, const char *name);

/* The first line of the file of that path. False if it cannot be read. */
bool dat_sysfs_line(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Calls EACH for the names in a directory, in dat_name_order(). 0, or a
 * negative errno where it cannot be read.
 */
int dat_sysfs_each(const char *dir, void (*each)(const char *, void *),
		   void *arg);

#endif
