/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_ep_check.h - what must hold of an endpoint after every step of its table:
 * one terminal event for each connection that was begun, with the queue pair in
 * ERR, and none after a free; nothing comes that the table does not expect.
 *
 * For the random worlds (sim_ep.c) and the pairs (pair_ep.c). As sim_check.h.
 */
#ifndef SIM_EP_CHECK_H
#define SIM_EP_CHECK_H

#include "dapl/common/connect/dapl_ep_states.h"
#include "test/sim/sim_check.h"

/* One endpoint, as its consumer may count on it. */
struct sim_ep_check {
	bool owed;     /* a terminal event */
	bool told_up;  /* ESTABLISHED was */
	bool in_error; /* the queue pair is */
	bool closed;
};

/* IN is about to be fed to FSM; and it was. */
void sim_ep_check_feed(const struct dapl_ep_fsm *fsm, enum dapl_ep_input in);
void sim_ep_check_fed(struct sim_ep_check *c, enum dapl_ep_input in);
/* A connection for an endpoint, which may have one: HELD. */
void sim_ep_check_take(struct sim_ep_check *c, const void *held);
void sim_ep_check_told(struct sim_ep_check *c, DAT_EVENT_NUMBER event);

#endif
