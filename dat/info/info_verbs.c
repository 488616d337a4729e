/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_verbs.c - what only libibverbs tells: whether it has a driver for a
 * device, and the MTU of a port.
 *
 * Threads, ownership: info.h. Rule: ibv_query_port(3).
 */
#include "dat/info/info.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

static int query(struct ibv_device *device, unsigned port, unsigned *ret_mtu)
{
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_port_attr attr;
	int err;

	if (!context)
		return errno ? -errno : -EIO;
	err = ibv_query_port(context, (uint8_t)port, &attr);
	if (!err)
		*ret_mtu = 128u << attr.active_mtu;
	ibv_close_device(context);
	return -err;
}

int info_verbs_port(const char *device, unsigned port, unsigned *ret_mtu)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int err = -ENODEV;

	for (size_t i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), device))
			continue;
		err = ret_mtu ? query(list[i], port, ret_mtu) : 0;
		break;
	}
	if (list)
		ibv_free_device_list(list);
	return err;
}
