/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_facts.c - what is known of a name without opening it.
 *
 * The GID is the one that the providers choose by themselves. Where sysfs does
 * not tell, a field stays empty.
 * Threads, ownership: info.h. Rule: dat.conf(5); dapl-env(7), DAPL_GID_INDEX
 * and DAPL_SCM_NETDEV.
 */
#include "dat/info/info.h"

#include "dapl/common/cm/base/dapl_cm_params.h"
#include "dapl/common/services/dapl_text.h"
#include "dat/common/dat_static.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define GID_INDEX_MAX 255
#define MTU_UNKNOWN   1 /* of a port that was asked */

const char *const info_way_names[] = {
	[INFO_WAY_CMA] = "CMA",
	[INFO_WAY_SCM] = "SCM",
	[INFO_WAY_UCM] = "UCM",
	[INFO_WAY_OTHER] = "other",
};

const char *info_params_remedy(enum info_way way)
{
	return way == INFO_WAY_CMA ? "write \"<interface or address> 0\""
				   : "write \"<verbs device> <port>\" and, if "
				     "need be, \"gid=<index>\"";
}

int info_begin(struct info *info, const struct info_host *host,
	       const char *file)
{
	struct dat_static_options options = {
		.override = file ? file : secure_getenv("DAT_OVERRIDE"),
		.automatic = secure_getenv("DAT_AUTO"),
		.sysfs = host->sysfs,
	};
	int err;

	memset(info, 0, sizeof(*info));
	info->host = *host;
	info->named = options.override != NULL;
	err = dat_ports_list(host->sysfs, &info->ports);
	if (err)
		return err;
	info->mtus = calloc(info->ports.n + 1, sizeof(*info->mtus));
	if (!info->mtus) {
		dat_ports_free(&info->ports);
		return -ENOMEM;
	}
	dat_static_init(&options);
	info->conf = dat_static_conf();
	err = dat_static_look();
	if (err)
		info_end(info);
	return err;
}

void info_end(struct info *info)
{
	free(info->mtus);
	dat_ports_free(&info->ports);
	dat_static_fini();
}

static enum info_way way_of(const char *library)
{
	static const struct {
		const char *name;
		enum info_way way;
	} ways[] = {
		{"libdaplofa.", INFO_WAY_CMA},	{"libdaplcma.", INFO_WAY_CMA},
		{"libdaploscm.", INFO_WAY_SCM}, {"libdaplscm.", INFO_WAY_SCM},
		{"libdaploucm.", INFO_WAY_UCM}, {"libdaplucm.", INFO_WAY_UCM},
		{"libdaplomcm.", INFO_WAY_UCM},
	};
	const char *slash = strrchr(library, '/');

	library = slash ? slash + 1 : library;
	for (size_t i = 0; i < INFO_COUNT(ways); i++)
		if (!strncmp(library, ways[i].name, strlen(ways[i].name)))
			return ways[i].way;
	return INFO_WAY_OTHER;
}

static const struct dat_port *port_of_interface(const struct info *info,
						const char *interface)
{
	for (size_t i = 0; i < info->ports.n; i++)
		for (size_t k = 0; k < info->ports.ports[i].n_ifs; k++)
			if (!strcmp(info->ports.ports[i].ifs[k], interface))
				return &info->ports.ports[i];
	return NULL;
}

static const struct dat_port *port_of_device(const struct info *info,
					     const char *device, unsigned port)
{
	for (size_t i = 0; i < info->ports.n; i++)
		if (info->ports.ports[i].port == port &&
		    !strcmp(info->ports.ports[i].device, device))
			return &info->ports.ports[i];
	return NULL;
}

/*
 * GIDs.
 */

/* In the order of preference. */
enum gid_kind {
	GID_OWN,
	GID_V2_IPV4,
	GID_V2_IPV6,
	GID_V2_LINK_LOCAL,
	GID_V1,
	GID_NONE,
};

static const char *const gid_kinds[] = {
	[GID_OWN] = "RoCE v2, IPv4",
	[GID_V2_IPV4] = "RoCE v2, IPv4",
	[GID_V2_IPV6] = "RoCE v2, IPv6",
	[GID_V2_LINK_LOCAL] = "RoCE v2, link-local",
	[GID_V1] = "RoCE v1",
	[GID_NONE] = NULL,
};

static bool read_gid(const struct info *info, const struct dat_port *port,
		     int index, struct in6_addr *ret_gid)
{
	static const struct in6_addr none;
	char text[64];

	return dat_sysfs_line(text, sizeof(text),
			      "%s/class/infiniband/%s/ports/%u/gids/%d",
			      info->host.sysfs, port->device, port->port,
			      index) &&
	       inet_pton(AF_INET6, text, ret_gid) == 1 &&
	       memcmp(ret_gid, &none, sizeof(none));
}

static enum gid_kind gid_kind(const struct info *info,
			      const struct dat_port *port, int index,
			      const struct in6_addr *gid, const char *address)
{
	struct in_addr own;
	char type[32];

	if (!dat_sysfs_line(
		    type, sizeof(type),
		    "%s/class/infiniband/%s/ports/%u/gid_attrs/types/%d",
		    info->host.sysfs, port->device, port->port, index))
		return GID_NONE;
	if (strcmp(type, "RoCE v2"))
		return GID_V1;
	if (IN6_IS_ADDR_V4MAPPED(gid))
		return inet_pton(AF_INET, address, &own) == 1 &&
				       !memcmp(&gid->s6_addr[12], &own, 4)
			       ? GID_OWN
			       : GID_V2_IPV4;
	return IN6_IS_ADDR_LINKLOCAL(gid) ? GID_V2_LINK_LOCAL : GID_V2_IPV6;
}

static void take_gid(struct info_gid *gid, const struct in6_addr *raw,
		     int index, const char *kind)
{
	inet_ntop(AF_INET6, raw, gid->text, sizeof(gid->text));
	gid->index = index;
	gid->kind = kind;
}

void info_gid_of(const struct info *info, const struct dat_port *port,
		 int index, const char *address, struct info_gid *ret_gid)
{
	enum gid_kind best = GID_NONE, kind;
	bool roce = port->fabric == DAT_FABRIC_ROCE;
	struct in6_addr raw;

	memset(ret_gid, 0, sizeof(*ret_gid));
	if (port->fabric == DAT_FABRIC_IWARP && read_gid(info, port, 0, &raw))
		take_gid(ret_gid, &raw, 0, "iWARP");
	if (port->fabric == DAT_FABRIC_IB &&
	    read_gid(info, port, index < 0 ? 0 : index, &raw))
		take_gid(ret_gid, &raw, index < 0 ? 0 : index, "InfiniBand");
	for (int i = 0; roce && i <= GID_INDEX_MAX; i++) {
		if ((index >= 0 && i != index) ||
		    !read_gid(info, port, i, &raw))
			continue;
		kind = gid_kind(info, port, i, &raw, address);
		if (kind >= best)
			continue;
		best = kind;
		take_gid(ret_gid, &raw, i, gid_kinds[kind]);
	}
}

int info_gid_index(void)
{
	const char *text = secure_getenv("DAPL_GID_INDEX");
	long long index = -1;

	/* what the providers refuse is no wish */
	if (text)
		dapl_text_number(text, 0, GID_INDEX_MAX, &index);
	return (int)index;
}

void info_gids_used(const struct info *info, const struct dat_port *port,
		    char *buf, size_t size)
{
	struct in6_addr raw;
	size_t len = 0;

	buf[0] = '\0';
	for (int i = 0; i <= GID_INDEX_MAX && len < size; i++)
		if (read_gid(info, port, i, &raw))
			len += (size_t)snprintf(buf + len, size - len, "%s%d",
						len ? ", " : "", i);
}

unsigned info_mtu_of(const struct info *info, const struct dat_port *port)
{
	unsigned *mtu = &info->mtus[port - info->ports.ports];

	/* opening a device takes its time, and many names may be one port's */
	if (!*mtu &&
	    (port->unfit || info_verbs_port(port->device, port->port, mtu)))
		*mtu = MTU_UNKNOWN;
	return *mtu == MTU_UNKNOWN ? 0 : *mtu;
}

/*
 * Names.
 */

/* As the providers read it; of a port that is not theirs rdma_cm decides. */
static void read_params(struct info_name *name)
{
	const char *text = name->record->ia_params;
	char word[DAT_DEVICE_NAME];
	int index = -1;
	uint8_t port;

	name->wrong = dapl_cm_params_place(&text, word, sizeof(word), &port);
	if (!name->wrong)
		name->wrong = name->way == INFO_WAY_CMA
				      ? dapl_cm_params_end(text)
				      : dapl_cm_params_gid(text, &index);
	if (name->wrong || name->way == INFO_WAY_CMA)
		return;
	name->wish.of_line = index >= 0;
	name->wish.index = index >= 0 ? index : info_gid_index();
}

static void find_port(const struct info *info, struct info_name *name)
{
	char word[256];
	int number = 0;

	if (sscanf(name->record->ia_params, "%255s %i", word, &number) < 1)
		return;
	if (name->way == INFO_WAY_CMA) {
		if (strchr(word, ':') || inet_addr(word) != INADDR_NONE)
			info_interface_of(word, name->interface);
		else
			snprintf(name->interface, sizeof(name->interface),
				 "%.*s", IF_NAMESIZE - 1, word);
		name->port = port_of_interface(info, name->interface);
		return;
	}
	snprintf(name->device, sizeof(name->device), "%.*s",
		 DAT_DEVICE_NAME - 1, word);
	name->port_number = number > 0 ? (unsigned)number : 0;
	name->port = port_of_device(info, name->device, name->port_number);
}

static void take_port(struct info_name *name)
{
	const struct dat_port *port = name->port;

	snprintf(name->device, sizeof(name->device), "%s", port->device);
	name->port_number = port->port;
	if (!name->interface[0] && port->n_ifs > 0)
		snprintf(name->interface, sizeof(name->interface), "%s",
			 port->ifs[0]);
}

/* Of UCM it is queue pair and LID, which are there once it is open. */
static void find_address(struct info_name *name)
{
	const char *netdev = secure_getenv("DAPL_SCM_NETDEV");

	if (name->way == INFO_WAY_UCM || name->way == INFO_WAY_OTHER)
		return;
	if (name->way == INFO_WAY_SCM && netdev) {
		info_address_of(netdev, name->address);
		/* it may be the address itself */
		if (!name->address[0] && !info_netdev_fault(netdev))
			snprintf(name->address, sizeof(name->address), "%s",
				 netdev);
		return;
	}
	if (name->way == INFO_WAY_CMA ||
	    (name->port && name->port->fabric != DAT_FABRIC_IB))
		info_address_of(name->interface, name->address);
}

static void say_from(struct info_name *name)
{
	if (name->record->line)
		snprintf(name->from, sizeof(name->from), "line %u",
			 name->record->line);
	else
		snprintf(name->from, sizeof(name->from), "%s",
			 name->record->unlisted ? "older name" : "found");
}

void info_describe(const struct info *info,
		   const struct dat_conf_record *record,
		   struct info_name *ret_name)
{
	struct info_name *name = ret_name;

	memset(name, 0, sizeof(*name));
	name->record = record;
	name->wish.index = -1;
	name->way = way_of(record->lib_path);
	say_from(name);
	if (name->way != INFO_WAY_OTHER) {
		read_params(name);
		find_port(info, name);
	}
	if (name->port)
		take_port(name);
	find_address(name);
	if (!name->port)
		return;
	info_gid_of(info, name->port, name->wish.index, name->address,
		    &name->gid);
	name->mtu = info_mtu_of(info, name->port);
}

const struct dat_conf_record *info_find(const struct info *info,
					const char *name, unsigned major)
{
	for (size_t i = 0; i < info->conf->n_records; i++)
		if (info->conf->records[i].major == major &&
		    !strcmp(info->conf->records[i].name, name))
			return &info->conf->records[i];
	return NULL;
}

const char *info_state(const struct info_name *name)
{
	if (name->port)
		return name->port->active ? "active" : "down";
	return name->way == INFO_WAY_OTHER ? "-" : "absent";
}
