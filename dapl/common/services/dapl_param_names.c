/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_param_names.c - the names of all variables, of every provider, so that
 * one can tell which of those that are set nobody reads.
 *
 * What they mean is said in the tables, which a provider has its own of only; a
 * test compares these with the names here. Threads: as dapl_param.c.
 */
#include "config.h"

#include "dapl/common/services/dapl_param.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "DAPL_"

/* clang-format off */
const char *const dapl_param_names[] = {
	"DAPL_ACK_RETRY",
	"DAPL_ACK_TIMER",
	"DAPL_CM_ACK_TIMER",
	"DAPL_CM_ARP_RETRY_COUNT",
	"DAPL_CM_ARP_TIMEOUT_MS",
	"DAPL_CM_KEEPALIVE_MS",
	"DAPL_CM_ROUTE_RETRY_COUNT",
	"DAPL_CM_ROUTE_TIMEOUT_MS",
	"DAPL_CM_TOS",
	"DAPL_COUNTERS",
	"DAPL_DBG_DEST",
	"DAPL_DBG_LEVEL",
	"DAPL_DBG_SYS_MEM",
	"DAPL_DBG_TYPE",
	"DAPL_GID_INDEX",
	"DAPL_GLOBAL_ROUTING",
	"DAPL_HOP_LIMIT",
	"DAPL_IB_MTU",
	"DAPL_IB_PKEY",
	"DAPL_IB_SL",
	"DAPL_LOOPBACK",
	"DAPL_MAX_CM_RESPONSE_TIME",
	"DAPL_MAX_CM_RETRIES",
	"DAPL_MAX_INLINE",
	"DAPL_NETWORK_NODES",
	"DAPL_NETWORK_PPN",
	"DAPL_NETWORK_PROCESS_NUM",
	"DAPL_NETWORK_TRESHOLD",
	"DAPL_RNR_RETRY",
	"DAPL_RNR_TIMER",
	"DAPL_SCM_KEEPALIVE_MS",
	"DAPL_SCM_NETDEV",
	"DAPL_SCM_PORT_RANGE",
	"DAPL_TCLASS",
	"DAPL_UCM_ARRAY_BITS",
	"DAPL_UCM_CQ_SIZE",
	"DAPL_UCM_DREP_TIME",
	"DAPL_UCM_DREQ_RETRY",
	"DAPL_UCM_ENTRY_BITS",
	"DAPL_UCM_KEEPALIVE_MS",
	"DAPL_UCM_QP_SIZE",
	"DAPL_UCM_REP_TIME",
	"DAPL_UCM_RETRY",
	"DAPL_UCM_RTU_TIME",
	"DAPL_UCM_TIMER",
	"DAPL_UCM_TX_BURST",
	"DAPL_UCM_WAIT_TIME",
	"DAPL_WR_MAX",
	NULL,
};
/* clang-format on */

static bool is_known(const char *name, size_t len)
{
	const char *const *known;

	for (known = dapl_param_names; *known; known++)
		if (strlen(*known) == len && !memcmp(*known, name, len))
			return true;
	return false;
}

void dapl_params_unknown(dapl_param_say_fn *say)
{
	char why[256];
	char **var;
	size_t len;

	for (var = environ; var && *var; var++) {
		len = strcspn(*var, "=");
		if (strncmp(*var, PREFIX, strlen(PREFIX)) != 0 ||
		    is_known(*var, len))
			continue;
		snprintf(why, sizeof(why),
			 "%.*s: there is no such variable; dapl-env(7) has "
			 "them all",
			 (int)(len < 64 ? len : 64), *var);
		say(why);
	}
}
