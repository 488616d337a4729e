/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_param.c - the table of environment variables, and its reader.
 *
 * Does not interpret values beyond type and range: that an MTU must be a power
 * of two is its user's business. Never changes the environment.
 * Threads: any; a program that calls setenv() beside dat_ia_open() races, as
 * with every getenv(). A string in the result points into the environment.
 * Rule: names, defaults and number syntax are the historic library's; ranges
 * and the answer to a bad value are this one's. doc/dapl-env.7 repeats the
 * rows, t_dapl_param.c compares.
 */
#include "config.h"

#include "dapl/common/services/dapl_param.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"
#include "dapl/common/services/dapl_text.h"

#define FIELD(f) offsetof(struct dapl_params, f)

/* clang-format off */
const struct dapl_param dapl__param_table[] = {
	{"DAPL_ACK_RETRY", DAPL_PARAM_INT, FIELD(ack_retry), 0, 7, 7,
	 "transport retries before a connection breaks"},
	{"DAPL_ACK_TIMER", DAPL_PARAM_INT, FIELD(ack_timer), 0, 31, 20,
	 "transport timeout, 4.096 us times 2 to this power"},
	{"DAPL_CM_ARP_RETRY_COUNT", DAPL_PARAM_INT, FIELD(cm_arp_retry_count),
	 1, 1000, 15, "attempts to resolve an address"},
	{"DAPL_CM_ARP_TIMEOUT_MS", DAPL_PARAM_INT, FIELD(cm_arp_timeout_ms),
	 1, 600000, 4000, "time for one of them, milliseconds"},
	{"DAPL_CM_ROUTE_RETRY_COUNT", DAPL_PARAM_INT,
	 FIELD(cm_route_retry_count), 1, 1000, 15,
	 "attempts to resolve a route"},
	{"DAPL_CM_ROUTE_TIMEOUT_MS", DAPL_PARAM_INT, FIELD(cm_route_timeout_ms),
	 1, 600000, 4000, "time for one of them, milliseconds"},
	{"DAPL_CM_TOS", DAPL_PARAM_INT, FIELD(cm_tos), 0, 255, 0,
	 "type of service of connections; 0: the system's"},
	{"DAPL_DBG_DEST", DAPL_PARAM_MASK, 0, 0, 0, 1,
	 "where log lines go: 1 stdout, 2 syslog, 4 stderr"},
	{"DAPL_DBG_LEVEL", DAPL_PARAM_MASK, 0, 0, 0, 0,
	 "more bits for DAPL_DBG_TYPE"},
	{"DAPL_DBG_TYPE", DAPL_PARAM_MASK, 0, 0, 0, 0,
	 "which log lines; \"help\" lists the classes"},
	{"DAPL_GID_INDEX", DAPL_PARAM_INT, FIELD(gid_index), 0, 255, -1,
	 "entry of the port's GID table to use"},
	{"DAPL_GLOBAL_ROUTING", DAPL_PARAM_INT, FIELD(global_routing),
	 0, INT_MAX, 0, "not 0: global route header on InfiniBand too"},
	{"DAPL_HOP_LIMIT", DAPL_PARAM_INT, FIELD(hop_limit), 0, 255, 64,
	 "hop limit of the global route header"},
	{"DAPL_IB_MTU", DAPL_PARAM_INT, FIELD(ib_mtu), 1, 65535, -1,
	 "upper limit of the path MTU, bytes"},
	{"DAPL_IB_PKEY", DAPL_PARAM_INT, FIELD(ib_pkey), 0, 65535, 0,
	 "partition key to look for in the port's table"},
	{"DAPL_IB_SL", DAPL_PARAM_INT, FIELD(ib_sl), 0, 15, 0,
	 "service level"},
	{"DAPL_MAX_INLINE", DAPL_PARAM_INT, FIELD(max_inline), 0, 65535, -1,
	 "inline bytes to ask for; 0: none"},
	{"DAPL_NETWORK_NODES", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_PPN", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_PROCESS_NUM", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_NETWORK_TRESHOLD", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: defaults suit networks of any size"},
	{"DAPL_RNR_RETRY", DAPL_PARAM_INT, FIELD(rnr_retry), 0, 7, 7,
	 "retries while the peer has no receive posted; 7: endless"},
	{"DAPL_RNR_TIMER", DAPL_PARAM_INT, FIELD(rnr_timer), 0, 31, 12,
	 "code of the pause the peer shall make before these"},
	{"DAPL_SCM_NETDEV", DAPL_PARAM_STR, FIELD(scm_netdev), 1, 63,
	 0, "network interface, or its address, that is the adapter's"},
	{"DAPL_SCM_PORT_RANGE", DAPL_PARAM_STR, FIELD(scm_port_range), 3, 11,
	 0, "TCP ports that connections are made from, first-last"},
	{"DAPL_TCLASS", DAPL_PARAM_INT, FIELD(tclass), 0, 255, 0,
	 "traffic class of the global route header"},
	{"DAPL_UCM_ARRAY_BITS", DAPL_PARAM_INT, FIELD(ucm_array_bits), 1, 18,
	 18, "at most 2 to this power of connections"},
	{"DAPL_UCM_CQ_SIZE", DAPL_PARAM_INT, FIELD(ucm_cq_size), 16, 1 << 20,
	 -1, "entries of the CM's completion queues, if that is more"},
	{"DAPL_UCM_DREP_TIME", DAPL_PARAM_INT, FIELD(ucm_drep_time_ms), 1,
	 600000, -1, "fixed first wait for a DREP, milliseconds"},
	{"DAPL_UCM_DREQ_RETRY", DAPL_PARAM_INT, FIELD(ucm_dreq_retry), 0, 100,
	 1, "repeats of a DREQ before the consumer is told"},
	{"DAPL_UCM_ENTRY_BITS", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: tables grow by themselves"},
	{"DAPL_UCM_QP_SIZE", DAPL_PARAM_INT, FIELD(ucm_qp_size), 16, 65536, -1,
	 "depth of both queues of the CM's queue pair"},
	{"DAPL_UCM_REP_TIME", DAPL_PARAM_INT, FIELD(ucm_rep_time_ms), 1, 600000,
	 -1, "fixed first wait for a REP, milliseconds"},
	{"DAPL_UCM_RETRY", DAPL_PARAM_INT, FIELD(ucm_retry), 1, 32, -1,
	 "tries of a REQ or REP before it is given up"},
	{"DAPL_UCM_RTU_TIME", DAPL_PARAM_INT, FIELD(ucm_rtu_time_ms), 1, 600000,
	 -1, "fixed first wait for an RTU, milliseconds"},
	{"DAPL_UCM_TIMER", DAPL_PARAM_NONE, 0, 0, 0, 0,
	 "without effect: each connection has its own timer"},
	{"DAPL_UCM_TX_BURST", DAPL_PARAM_INT, FIELD(ucm_tx_burst), 1, 1024, 50,
	 "a completion is asked for every so many CM sends"},
	{"DAPL_UCM_WAIT_TIME", DAPL_PARAM_INT, FIELD(ucm_wait_time_ms), 1,
	 3600000, 60000, "how long an ended connection is remembered, ms"},
	{"DAPL_WR_MAX", DAPL_PARAM_INT, FIELD(wr_max), 1, INT_MAX, -1,
	 "upper limit of transfers in flight for one endpoint"},
};
/* clang-format on */

const size_t dapl__param_count =
	sizeof(dapl__param_table) / sizeof(*dapl__param_table);

const char *dapl__env(const char *name)
{
	return secure_getenv(name);
}

static bool set_int(const struct dapl_param *row, const char *text, int *field)
{
	long long v = row->def;
	bool ok;

	ok = !text || dapl_text_number(text, row->min, row->max, &v);
	*field = (int)v;
	if (!ok && row->def >= 0)
		dapl_log(DAPL_LOG_WARN,
			 "%s: '%s' is not a number from %d to %d; using %d",
			 row->name, text, row->min, row->max, row->def);
	else if (!ok)
		dapl_log(DAPL_LOG_WARN,
			 "%s: '%s' is not a number from %d to %d; ignored",
			 row->name, text, row->min, row->max);
	return ok;
}

static bool set_str(const struct dapl_param *row, const char *text,
		    const char **field)
{
	size_t len;

	*field = NULL;
	if (!text)
		return true;
	len = strlen(text);
	if (len < (size_t)row->min || len > (size_t)row->max) {
		dapl_log(DAPL_LOG_WARN,
			 "%s: must have %d to %d characters, has %zu; ignored",
			 row->name, row->min, row->max, len);
		return false;
	}
	*field = text;
	return true;
}

bool dapl__param_set(const struct dapl_param *row, const char *text, void *base)
{
	void *field = (char *)base + row->offset;

	switch (row->type) {
	case DAPL_PARAM_INT:
		return set_int(row, text, field);
	case DAPL_PARAM_FLAG:
		*(bool *)field = text != NULL;
		return true;
	case DAPL_PARAM_STR:
		return set_str(row, text, field);
	case DAPL_PARAM_MASK:
	case DAPL_PARAM_NONE:
		return true;
	}
	return false;
}

void dapl_params_read(struct dapl_params *params)
{
	size_t i;

	for (i = 0; i < dapl__param_count; i++)
		dapl__param_set(&dapl__param_table[i],
				dapl__env(dapl__param_table[i].name), params);
}
