/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_ep_check.c - the invariants of an endpoint. See sim_ep_check.h.
 */
#include "test/sim/sim_ep_check.h"

void sim_ep_check_feed(const struct dapl_ep_fsm *fsm, enum dapl_ep_input in)
{
	SIM_REQUIRE(dapl_ep_expects(fsm->state, in), "%s while %s",
		    dapl_ep_input_name(in), dapl_ep_state_name(fsm->state));
}

void sim_ep_check_fed(struct sim_ep_check *c, enum dapl_ep_input in)
{
	if (in == DAPL_EP_IN_CONNECT_FAILED || in == DAPL_EP_IN_ACCEPT_FAILED) {
		SIM_REQUIRE(!c->told_up, "failed, and yet established");
		c->owed = false;
	}
	if (in == DAPL_EP_IN_CLOSE) {
		c->closed = true;
		c->owed = false;
	}
}

void sim_ep_check_take(struct sim_ep_check *c, const void *held)
{
	SIM_REQUIRE(!held && !c->owed && !c->in_error,
		    "a connection for an endpoint that has one");
	c->owed = true;
	c->told_up = false;
}

void sim_ep_check_told(struct sim_ep_check *c, DAT_EVENT_NUMBER event)
{
	SIM_REQUIRE(!c->closed, "event 0x%x after the free", event);
	SIM_REQUIRE(c->owed, "event 0x%x of no connection", event);
	if (event == DAT_CONNECTION_EVENT_ESTABLISHED) {
		SIM_REQUIRE(!c->told_up && !c->in_error,
			    "established twice, or too late");
		c->told_up = true;
		return;
	}
	SIM_REQUIRE(c->in_error, "event 0x%x, and the queue pair is not in ERR",
		    event);
	c->owed = false;
}
