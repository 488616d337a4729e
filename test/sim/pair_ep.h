/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pair_ep.h - the endpoint at one end of a pair: the table of endpoints above
 * the engine, where every sequence of inputs is played (sim_pair.c).
 *
 * Does not play what the table's own walk does (t_ep_states), and the random
 * worlds do (sim_ep.c): ops that fail, threads between a step and what is
 * carried out. Here an op is carried out at once, its return is an input of the
 * enumeration, and so is the release that the endpoint has asked for. One
 * thread.
 */
#ifndef PAIR_EP_H
#define PAIR_EP_H

#include "test/sim/fake_engine.h"
#include "test/sim/sim_ep_check.h"

#define PAIR_EP_OPS 4 /* of old connections, too */

/* Somebody inside a connection. */
struct pair_use {
	struct dapl_ep_use use;
	struct fake_conn *conn; /* NULL: nobody */
};

struct pair_ep;

/* What an endpoint asks of who plays the rest. */
struct pair_ep_ops {
	/* CONNECT, ACCEPT or DISCONNECT for CONN. */
	void (*op)(struct fake_conn *conn, enum dapl_ep_input in);
	/* To be released, when the engine is not running. */
	void (*release)(struct fake_conn *conn);
	/* Whether requests are outstanding. */
	bool (*is_busy)(void);
};

struct pair_ep {
	const struct pair_ep_ops *ops;
	struct dapl_ep_fsm fsm;
	struct sim_ep_check check;
	struct fake_conn *conn; /* the table's */
	struct dapl_list uses;
	struct pair_use op[PAIR_EP_OPS]; /* that run */
	struct pair_use move;		 /* of its queue pair */
	bool armed;			 /* its timer */
	bool work;			 /* on the service thread: DRAINED */
	bool error_later;		 /* at the end of the move */
	bool modifying;
	int looks;
	int attempts;
};

void pair_ep_init(struct pair_ep *ep, const struct pair_ep_ops *ops);
/* Whether IN would change anything: what is refused or ignored need not be
 * tried in every order. */
bool pair_ep_would(const struct pair_ep *ep, enum dapl_ep_input in);
bool pair_ep_may_free(const struct pair_ep *ep);
/* A call of the consumer; CONN is for CONNECT and ACCEPT. */
void pair_ep_call(struct pair_ep *ep, enum dapl_ep_input in,
		  struct fake_conn *conn);
/* Its timer fires; its work runs; op I returns. */
void pair_ep_timer(struct pair_ep *ep);
void pair_ep_work(struct pair_ep *ep);
void pair_ep_op_returns(struct pair_ep *ep, int i);
/* The engine reports of CONN, and has its queue pair moved. */
void pair_ep_event(struct pair_ep *ep, struct fake_conn *conn,
		   enum dapl_cm_event event);
bool pair_ep_move_begins(struct pair_ep *ep, struct fake_conn *conn);
void pair_ep_move_ends(struct pair_ep *ep, struct fake_conn *conn);
/* CONN is about to be released. */
void pair_ep_check_release(struct pair_ep *ep, const struct fake_conn *conn);
/* Nothing happens any more, and the consumer waits for nothing. */
void pair_ep_check_rest(const struct pair_ep *ep);

#endif
