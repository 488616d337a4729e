/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm.h - the UCM provider: connection management by datagrams between queue
 * pairs of its own, one for each open IA.
 *
 * The protocol, connections and listeners are those of dapl/common/cm; here is
 * how datagrams travel, and what an address looks like: a LID or GID with the
 * number of the CM's queue pair, new each time an IA is opened. Ports are the
 * queue pair's own, so those of two processes do not meet.
 */
#ifndef UCM_H
#define UCM_H

#include "dapl/common/cm/dcm/dcm.h"
#include "dapl/openib_ucm/ucm_qp.h"

struct ucm {
	struct dcm dcm; /* must stay first */
	struct ucm_qp qp;
	bool started; /* qp is there; written by start() and close() */
};

int ucm_open(const char *ia_params, const struct dapl_cm *base,
	     struct dapl_cm **ret_cm);
void ucm_close(struct dapl_cm *base);
void ucm_device_event(struct dapl_cm *base,
		      const struct ibv_async_event *event);

/* What the environment asks of the protocol. */
struct dcm_rules ucm_rules(const struct ucm_params *params);

/* ucm_entry.c */

extern const struct dapl_cm_ops ucm_ops;

#endif
