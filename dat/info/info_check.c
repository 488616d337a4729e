/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_check.c - is the machine fit for RDMA programs?
 *
 * Looks at all there is, not at one name (info_why.c).
 * Threads, ownership: info.h. Rule: dat_info(1), what is checked.
 */
#include "dat/info/info.h"

#include "dat/common/dat_auto.h"

#include <string.h>

/* Bytes of an interface's MTU with which a RoCE port moves 4096 at a time. */
#define JUMBO "4200"

extern char **environ;

static void check_mtu(const struct info *info, struct info_out *o,
		      const struct dat_port *port)
{
	unsigned mtu = info_mtu_of(info, port);
	char what[DAT_DEVICE_NAME + 24];
	char remedy[96];

	snprintf(what, sizeof(what), "MTU of %s/%u", port->device, port->port);
	if (!mtu)
		return;
	snprintf(remedy, sizeof(remedy),
		 "where all switches do it, ip link set dev %s mtu " JUMBO,
		 info_interface_name(port));
	if (port->fabric == DAT_FABRIC_ROCE && mtu < 2048)
		info_say(o, INFO_WARN, what, remedy,
			 "%u; larger frames cost less per byte", mtu);
	else
		info_say(o, INFO_OK, what, NULL, "%u", mtu);
}

/* A port that is not connected is a fault where there is no other. */
static void check_one_port(const struct info *info, struct info_out *o,
			   const struct dat_port *port, bool any_active)
{
	char address[INET6_ADDRSTRLEN] = "";
	struct info_wish wish = {.index = -1};
	struct info_gid gid;

	if (!info_check_port(info, o, port, any_active ? INFO_WARN : INFO_FAIL))
		return;
	if (port->n_ifs)
		info_address_of(port->ifs[0], address);
	/* of iWARP the kernel decides */
	if (port->fabric != DAT_FABRIC_IWARP)
		wish.index = info_gid_index();
	info_gid_of(info, port, wish.index, address, &gid);
	info_check_gid(info, o, port, &gid, &wish);
	check_mtu(info, o, port);
}

/* Whether an earlier port is the same device's. */
static bool is_told(const struct dat_ports *ports, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!strcmp(ports->ports[i].device, ports->ports[index].device))
			return true;
	return false;
}

static void check_devices(const struct info *info, struct info_out *o)
{
	const struct dat_ports *ports = &info->ports;
	bool any_active = false;
	size_t fit = 0;

	for (size_t i = 0; i < ports->n; i++) {
		fit += !ports->ports[i].unfit;
		any_active |= !ports->ports[i].unfit && ports->ports[i].active;
	}
	if (!ports->n)
		info_say(
			o, INFO_FAIL, "devices",
			"load the driver (lspci -k names it, such as mlx5_ib); "
			"in a virtual machine or container, pass the device in",
			"there is no RDMA device in %s/class/infiniband",
			info->host.sysfs);
	else if (!fit)
		info_say(o, INFO_FAIL, "devices",
			 "use a kind of machine that has one with reliable "
			 "connections",
			 "no RDMA device here can do what DAT needs");
	else
		info_say(o, INFO_OK, "devices", NULL, "%zu ports", fit);
	for (size_t i = 0; i < ports->n; i++)
		if (!ports->ports[i].unfit && !is_told(ports, i))
			info_check_uverbs(info, o, ports->ports[i].device);
	if (fit && dat_auto_wants_rdma_cm())
		info_check_rdma_cm(info, o);
	for (size_t i = 0; i < ports->n; i++)
		check_one_port(info, o, &ports->ports[i], any_active);
}

int info_check(const struct info *info, struct info_out *o)
{
	check_devices(info, o);
	info_check_memlock(info, o);
	info_check_services(info, o);
	info_lint(info, o);
	info_check_env(o, environ);
	if (!o->json)
		fprintf(o->f, "%u failed, %u warnings\n", o->failed, o->warned);
	return o->failed ? INFO_FAILED : INFO_PASSED;
}
