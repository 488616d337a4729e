/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm.c - an instance of the SCM provider: its adapter's address, start and
 * stop, and the transport's table.
 *
 * An instance belongs to the IA that opened it. The address is chosen when it
 * starts and constant then; rules: dat.conf(5) and dapl-env(7).
 */
#include "dapl/openib_scm/scm.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYSFS "/sys"

/*
 * TCP repeats what is lost and tells the end. The one wait that has a limit is
 * for a peer that was accepted and has nothing left to think about.
 */
static const struct dcm_rules rules = {
	.stream = true,
	.rtu_patience_us = 120000000,
};

static const struct scm_limits limits = {
	.half_open_max = 512,
	.half_open_us = 10000000,
	.half_open_grace_us = 1000000,
};

/* ------------------------------------------------- transport's table */

/* Listeners first: they make connections. */
static void stop(struct dcm *dcm)
{
	struct dapl_loop *loop = dcm->base.loop;
	struct dapl_cm_node *node;

	dapl_list_for_each(node, &dcm->base.nodes, link)
		if (node->is_listener)
			dapl_loop_del(loop,
				      &((struct scm_listener *)node)->watch);
	dapl_list_for_each(node, &dcm->base.nodes, link)
		if (!node->is_listener)
			dapl_loop_del(loop, &((struct scm_conn *)node)->watch);
	dapl_timer_cancel(loop, &scm_from(dcm)->half_open_timer);
	dapl_timer_cancel(loop, &scm_from(dcm)->retry);
}

static int no_such_netdev(const struct ifaddrs *ifs, const char *name, int err)
{
	char names[512];

	dapl_addr_netdevs_text(ifs, names, sizeof(names));
	if (err != -ENODEV)
		return dapl_fail_errno(-EADDRNOTAVAIL,
				       "give interface %s an address, or "
				       "DAPL_SCM_NETDEV another one: it has "
				       "none; interfaces: %s",
				       name, names);
	return dapl_fail_errno(-EADDRNOTAVAIL,
			       "set DAPL_SCM_NETDEV to an interface or address "
			       "of this host: %s is none; interfaces: %s",
			       name, names);
}

static int find_addr(const struct dapl_cm *base, const struct ifaddrs *ifs,
		     struct sockaddr_storage *ret_addr)
{
	const struct scm_params *params = base->params;
	const char *name = params->netdev;
	int ret;

	if (name) {
		ret = scm_addr_named(ifs, name, ret_addr);
		return ret ? no_such_netdev(ifs, name, ret) : 0;
	}
	ret = scm_addr_device(SYSFS, ifs, base->dev_name, base->port, ret_addr);
	if (ret == -ENETDOWN)
		return dapl_fail_errno(-EADDRNOTAVAIL,
				       "bring the network interface of %s port "
				       "%u up: it is down",
				       base->dev_name, base->port);
	if (ret && scm_addr_any(ifs, ret_addr))
		return dapl_fail_errno(-EADDRNOTAVAIL,
				       "give a network interface an address, "
				       "or, for this host alone, set "
				       "DAPL_SCM_NETDEV=lo: none that is up "
				       "has one");
	return 0;
}

static int choose_addr(struct dcm *dcm)
{
	struct dapl_cm *base = &dcm->base;
	struct ifaddrs *ifs;
	char text[64];
	int ret;

	if (getifaddrs(&ifs))
		return dapl_fail_errno(-errno,
				       "cannot list the interfaces: %m");
	ret = find_addr(base, ifs, &base->addr);
	freeifaddrs(ifs);
	if (ret)
		return ret;
	dapl_addr_text((struct sockaddr *)&base->addr, text, sizeof(text));
	dapl_log(DAPL_LOG_CM, "%s port %u: address %s", base->dev_name,
		 base->port, text);
	return 0;
}

static const struct dcm_transport transport = {
	.sizes = {.conn = sizeof(struct scm_conn),
		  .listener = sizeof(struct scm_listener),
		  .pdata = DCM_PDATA},
	.target = scm_target,
	.listen = scm_listen,
	.unlisten = scm_unlisten,
	/*
	 * No peer(): the address is known since the socket was accepted. What
	 * the request names is the same, or not true, or means nothing here.
	 */
	.dial = scm_dial,
	.send = scm_send,
	.hangup = scm_hangup,
	.room = scm_room,
	.place = choose_addr,
	.stop = stop,
};

/* ------------------------------------------------------ open, close */

#define FIELD(f) offsetof(struct scm_params, f)

/* clang-format off */
static const struct dapl_param rows[] = {
	{"DAPL_SCM_KEEPALIVE_MS", DAPL_PARAM_INT, FIELD(keepalive_ms),
	 0, 3600000, 60000,
	 "how long a host may be quiet before it is asked; 0: it is not"},
	{"DAPL_SCM_NETDEV", DAPL_PARAM_STR, FIELD(netdev), 1, 63,
	 0, "network interface, or its address, that is the adapter's"},
	{"DAPL_SCM_PORT_RANGE", DAPL_PARAM_PORTS, FIELD(ports), 0, 0,
	 0, "TCP ports that connections are made from, first-last"},
};
/* clang-format on */

const struct dapl_param_table scm_param_table = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.size = sizeof(struct scm_params),
	.base = &dcm_path_param_table,
};

static struct scm *scm_new(const struct dapl_cm *base,
			   const struct dcm_path_wish *wish)
{
	struct scm *cm = calloc(1, sizeof(*cm));

	if (!cm)
		return NULL;
	dcm_init(&cm->dcm, base, &transport, &rules, wish);
	cm->limits = limits;
	dapl_list_init(&cm->listeners);
	dapl_list_init(&cm->half_open);
	dapl_list_init(&cm->parked);
	dapl_timer_init(&cm->half_open_timer, scm_half_open_timer);
	dapl_timer_init(&cm->retry, scm_retry_timer);
	cm->ports = ((const struct scm_params *)base->params)->ports;
	return cm;
}

int scm_open(const char *ia_params, const struct dapl_cm *base,
	     struct dapl_cm **ret_cm)
{
	struct dapl_cm own = *base;
	struct dcm_path_wish wish;
	struct scm *cm;
	int ret;

	ret = dcm_device_parse(ia_params, &own, &wish);
	if (ret)
		return ret;
	cm = scm_new(&own, &wish);
	if (!cm)
		return dapl_fail_errno(-ENOMEM, "scm: no memory");
	*ret_cm = &cm->dcm.base;
	return 0;
}

void scm_close(struct dapl_cm *cm)
{
	dcm_fini(dcm_from(cm));
	free(cm);
}
