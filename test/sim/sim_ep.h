/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_ep.h - endpoints of a node, by the table that the real ones run
 * (dapl_ep_states.h).
 */
#ifndef SIM_EP_H
#define SIM_EP_H

#include "dapl/common/connect/dapl_ep_states.h"
#include "test/sim/sim.h"
#include "test/sim/sim_ep_check.h"

struct sim_use;

/* Lives until the world ends, whatever becomes of it. */
struct sim_ep {
	struct sim_node *node;
	uint8_t life; /* of the node */
	unsigned no;
	struct dapl_ep_fsm fsm;
	struct sim_conn *conn; /* the table's */
	struct dapl_list uses;
	struct sim_use *move;  /* of its queue pair */
	struct dapl_list link; /* sim->eps */
	unsigned attempts;
	uint64_t timer_tag;
	bool armed;

	bool error_later; /* at the end of the move */

	struct sim_ep_check check; /* what must hold */
};

struct sim_ep *sim_ep_new(struct sim_node *node);
/* The consumer's calls. False: refused. */
bool sim_ep_connect(struct sim_ep *ep, struct sim_conn *conn);
bool sim_ep_accept(struct sim_ep *ep, struct sim_conn *conn);
bool sim_ep_call(struct sim_ep *ep, enum dapl_ep_input in);
void sim_ep_free(struct sim_ep *ep);
/* Whether its node is no more, or another one by now. */
bool sim_ep_lost(const struct sim_ep *ep);

/* Upcalls. */
void sim_ep_event(struct sim_conn *conn, enum dapl_cm_event event);
/* False: CONN is not the endpoint's any more. */
bool sim_ep_move_begins(struct sim_conn *conn);
void sim_ep_move_ends(struct sim_conn *conn);
/* CONN is no more; its node DIED, or has released it. */
void sim_ep_conn_gone(struct sim_conn *conn, bool died);

/* NODE closes: its endpoints do before. */
void sim_eps_close(struct sim_node *node);
/* All that there ever were. */
void sim_eps_fini(struct sim *sim);

#endif
