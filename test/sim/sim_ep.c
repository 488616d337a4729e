/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_ep.c - carries out what the table of endpoints says, as dapl_ep_conn.c
 * does, and checks the contract with the consumer: one terminal event for each
 * connection that was begun, with the queue pair in ERR; none after a free; a
 * connection is released once, and not while anybody is inside.
 *
 * Threads are slow here: between the step under the lock and what is done
 * without it, and until an op returns, anything may happen.
 */
#include "test/sim/sim_ep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Somebody inside a connection; or a thread that has something to do yet. */
struct sim_use {
	struct dapl_ep_use use;
	struct sim_ep *ep;
	struct sim_conn *conn; /* NULL: it is gone, with its node */
};

static struct sim *sim_of(const struct sim_ep *ep)
{
	return ep->node->sim;
}

bool sim_ep_lost(const struct sim_ep *ep)
{
	return ep->node->dead || ep->node->life != ep->life;
}

/* A thread gets on; quickly where all is tidy. */
static uint64_t soon(struct sim_ep *ep)
{
	struct sim *sim = sim_of(ep);
	uint64_t us = 1;

	if (!sim->opt.tidy) {
		us += sim_below(&sim->rng, 50);
		if (sim_chance(&sim->rng, 0.1))
			us += sim_below(&sim->rng, 100 * SIM_MS);
	}
	return sim->clock.now_us + us;
}

struct sim_ep *sim_ep_new(struct sim_node *node)
{
	struct sim_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		sim_fail("no memory");
	ep->node = node;
	ep->life = node->life;
	ep->no = node->sim->ep_no++;
	dapl_list_init(&ep->uses);
	dapl_list_add_tail(&node->sim->eps, &ep->link);
	return ep;
}

/* ------------------------------------------------ who is inside */

static struct sim_use *use_begin(struct sim_ep *ep)
{
	struct sim_use *use = calloc(1, sizeof(*use));

	if (!use)
		sim_fail("no memory");
	use->ep = ep;
	use->conn = ep->conn;
	dapl_ep_use_begin(&ep->uses, &use->use,
			  (struct dapl_cm_conn *)ep->conn);
	return use;
}

static bool unused(struct sim_ep *ep, const struct sim_conn *conn)
{
	return dapl_ep_unused(&ep->uses, (struct dapl_cm_conn *)ep->conn,
			      (const struct dapl_cm_conn *)conn);
}

static void leave(struct sim_ep *ep, struct sim_conn *conn)
{
	if (conn && unused(ep, conn))
		sim_app_ask_release(conn);
}

/* USE is over. Returns whose connection it was; NULL: none is there now. */
static struct sim_conn *use_end(struct sim_use *use)
{
	struct sim_conn *conn = use->conn;

	dapl_ep_use_end(&use->use);
	free(use);
	return conn;
}

void sim_ep_conn_gone(struct sim_conn *conn, bool died)
{
	struct sim_ep *ep = conn->ep;
	struct sim_use *use;

	if (!ep)
		return;
	SIM_REQUIRE(died || ep->conn != conn,
		    "released, and yet the endpoint's connection");
	dapl_list_for_each(use, &ep->uses, use.link) {
		if (use->conn != conn)
			continue;
		SIM_REQUIRE(died, "released while somebody was inside");
		use->conn = NULL;
		use->use.conn = NULL;
		if (ep->move == use)
			ep->move = NULL;
	}
	if (ep->conn == conn)
		ep->conn = NULL;
}

/* ------------------------------------------------------ effects */

static void feed(struct sim_ep *ep, enum dapl_ep_input in,
		 struct sim_conn *fresh, bool *ret_refused);

static void happens(struct sim_ep *ep, enum dapl_ep_input in)
{
	bool refused;

	feed(ep, in, NULL, &refused);
}

/* An input that is about CONN, if that is the endpoint's yet. */
static void about(struct sim_ep *ep, struct sim_conn *conn,
		  enum dapl_ep_input in)
{
	if (conn && ep->conn == conn)
		happens(ep, in);
	else
		leave(ep, conn);
}

static void told(struct sim_ep *ep, DAT_EVENT_NUMBER event)
{
	sim_ep_check_told(&ep->check, event);
	sim_app_told(ep, event);
}

static void timer_due(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_ep *ep = arg;

	if (sim_ep_lost(ep) || ep->timer_tag != tag || !ep->armed)
		return;
	ep->armed = false;
	happens(ep, DAPL_EP_IN_TIMER);
}

static void arm(struct sim_ep *ep, uint64_t us)
{
	ep->armed = us != UINT64_MAX;
	ep->timer_tag++;
	if (ep->armed)
		sim_at(sim_of(ep), sim_of(ep)->clock.now_us + us, timer_due, ep,
		       ep->timer_tag);
}

static void op_returns(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_use *use = arg;
	struct sim_ep *ep = use->ep;
	struct sim_conn *conn = use_end(use);

	about(ep, conn, (enum dapl_ep_input)tag);
	/* Nobody answers the request any more. */
	if (conn && tag == DAPL_EP_IN_ACCEPT_FAILED)
		sim_app_ask_release(conn);
}

static void queue_seen(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_use *use = arg;
	struct sim_ep *ep = use->ep;

	about(ep, use_end(use),
	      !sim->opt.tidy && sim_chance(&sim->rng, 0.5)
		      ? DAPL_EP_IN_QUEUE_BUSY
		      : DAPL_EP_IN_QUEUE_EMPTY);
}

static void marker_posted(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_use *use = arg;
	struct sim_ep *ep = use->ep;
	struct sim_conn *conn = use_end(use);
	uint64_t luck = sim_below(&sim->rng, 10);

	if (!luck)
		about(ep, conn, DAPL_EP_IN_QUEUE_EMPTY);
	else if (luck < 4)
		about(ep, conn, DAPL_EP_IN_MARKER_NO_ROOM);
	else
		leave(ep, conn);
}

static void drained(struct sim *sim, void *arg, uint64_t tag)
{
	if (!sim_ep_lost(arg))
		happens(arg, DAPL_EP_IN_DRAINED);
}

static void in_error(struct sim_ep *ep)
{
	ep->check.in_error = true;
	happens(ep, DAPL_EP_IN_QP_IN_ERROR);
}

/* Without the lock: the move may have ended, or begun, by now. */
static void to_error(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_ep *ep = arg;

	if (sim_ep_lost(ep))
		return;
	if (ep->move)
		ep->error_later = true;
	else
		in_error(ep);
}

static void renewed(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_ep *ep = arg;

	if (sim_ep_lost(ep))
		return;
	if (!sim->opt.tidy && sim_chance(&sim->rng, 0.05)) {
		happens(ep, DAPL_EP_IN_RENEW_FAILED);
		return;
	}
	SIM_REQUIRE(!ep->move, "the move of a queue pair that is no more");
	ep->check.in_error = false;
	happens(ep, DAPL_EP_IN_RENEWED);
	sim_app_renewed(ep);
}

static void take(struct sim_ep *ep, struct sim_conn *conn)
{
	sim_ep_check_take(&ep->check, ep->conn);
	ep->conn = conn;
	conn->ep = ep;
}

static enum dapl_ep_input failure(enum dapl_ep_input in)
{
	switch (in) {
	case DAPL_EP_IN_CONNECT:
		return DAPL_EP_IN_CONNECT_FAILED;
	case DAPL_EP_IN_ACCEPT:
		return DAPL_EP_IN_ACCEPT_FAILED;
	default:
		return DAPL_EP_IN_DISCONNECT_FAILED;
	}
}

/* A failure has changed nothing. */
static void op(struct sim_ep *ep, enum dapl_ep_input in)
{
	struct sim *sim = sim_of(ep);
	bool fails = !sim->opt.tidy && sim_chance(&sim->rng, 0.02);

	sim_at(sim, soon(ep), op_returns, use_begin(ep),
	       fails ? failure(in) : DAPL_EP_IN_OP_DONE);
	if (fails)
		return;
	if (in == DAPL_EP_IN_CONNECT)
		sim_app_ask_connect(ep->conn);
	else if (in == DAPL_EP_IN_ACCEPT)
		sim_app_ask_accept(ep->conn);
	else
		sim_app_ask_disconnect(ep->conn);
}

static void carry_out(struct sim_ep *ep, enum dapl_ep_input in,
		      enum dapl_ep_effect effect, DAT_EVENT_NUMBER event,
		      struct sim_conn *fresh)
{
	struct sim *sim = sim_of(ep);
	struct sim_conn *conn = ep->conn;

	switch (effect) {
	case DAPL_EP_DO_TAKE:
		take(ep, fresh);
		break;
	case DAPL_EP_DO_LEAVE:
		SIM_REQUIRE(conn || ep->node->leaving, "left twice");
		ep->conn = NULL;
		leave(ep, conn);
		break;
	case DAPL_EP_DO_RETURN:
		ep->conn = NULL;
		break;
	case DAPL_EP_DO_ARM_DEADLINE:
		arm(ep, conn->plan.patience_us);
		break;
	case DAPL_EP_DO_ARM_PAUSE:
		arm(ep, 400 + sim_below(&sim->rng, 20 * SIM_MS));
		break;
	case DAPL_EP_DO_DISARM:
		ep->armed = false;
		break;
	case DAPL_EP_DO_OP:
		op(ep, in);
		break;
	case DAPL_EP_DO_CHECK_QUEUE:
		sim_at(sim, soon(ep), queue_seen, use_begin(ep), 0);
		break;
	case DAPL_EP_DO_CHECK_LATER:
		sim_at(sim, soon(ep), drained, ep, 0);
		break;
	case DAPL_EP_DO_POST_MARKER:
		sim_at(sim, soon(ep), marker_posted, use_begin(ep), 0);
		break;
	case DAPL_EP_DO_QP_ERROR:
		sim_at(sim, soon(ep), to_error, ep, 0);
		break;
	case DAPL_EP_DO_RENEW_QP:
		sim_at(sim, soon(ep), renewed, ep, 0);
		break;
	case DAPL_EP_DO_EVENT:
		told(ep, event);
		break;
	default:
		break;
	}
}

static void feed(struct sim_ep *ep, enum dapl_ep_input in,
		 struct sim_conn *fresh, bool *ret_refused)
{
	struct dapl_ep_effects out;
	int i;

	sim_ep_check_feed(&ep->fsm, in);
	dapl_ep_step(&ep->fsm, in, &out);
	if (sim_of(ep)->opt.verbose)
		printf("%12.6f node %u ep %u: %s: %s\n",
		       (double)sim_of(ep)->clock.now_us / (double)SIM_S,
		       ep->node->index, ep->no, dapl_ep_input_name(in),
		       dapl_ep_state_name(ep->fsm.state));
	sim_ep_check_fed(&ep->check, in);
	for (i = 0; i < out.n; i++)
		carry_out(ep, in, out.e[i], out.event, fresh);
	*ret_refused = out.n && out.e[0] == DAPL_EP_DO_REFUSE;
}

/* ------------------------------------------------ the consumer's */

bool sim_ep_connect(struct sim_ep *ep, struct sim_conn *conn)
{
	bool refused;

	feed(ep, DAPL_EP_IN_CONNECT, conn, &refused);
	ep->attempts += !refused;
	return !refused;
}

bool sim_ep_accept(struct sim_ep *ep, struct sim_conn *conn)
{
	bool refused;

	feed(ep, DAPL_EP_IN_ACCEPT, conn, &refused);
	ep->attempts += !refused;
	return !refused;
}

bool sim_ep_call(struct sim_ep *ep, enum dapl_ep_input in)
{
	bool refused;

	feed(ep, in, NULL, &refused);
	return !refused;
}

void sim_ep_free(struct sim_ep *ep)
{
	if (!ep->check.closed)
		happens(ep, DAPL_EP_IN_CLOSE);
}

/* ----------------------------------------------------- upcalls */

void sim_ep_event(struct sim_conn *conn, enum dapl_cm_event event)
{
	if (conn->ep->conn == conn)
		happens(conn->ep, dapl_ep_input_of(event));
}

bool sim_ep_move_begins(struct sim_conn *conn)
{
	struct sim_ep *ep = conn->ep;

	if (ep->conn != conn)
		return false;
	if (ep->move)
		return false;
	ep->move = use_begin(ep);
	return true;
}

void sim_ep_move_ends(struct sim_conn *conn)
{
	struct sim_ep *ep = conn->ep;
	struct sim_use *move = ep->move;

	SIM_REQUIRE(move && move->conn == conn, "the end of which move?");
	ep->move = NULL;
	if (ep->error_later) {
		ep->error_later = false;
		in_error(ep);
	}
	leave(ep, use_end(move));
}

void sim_eps_close(struct sim_node *node)
{
	struct sim_ep *ep;

	dapl_list_for_each(ep, &node->sim->eps, link)
		if (ep->node == node && !sim_ep_lost(ep))
			sim_ep_free(ep);
}

void sim_eps_fini(struct sim *sim)
{
	struct sim_ep *ep, *tmp;

	dapl_list_for_each_safe(ep, tmp, &sim->eps, link) {
		struct sim_use *use, *next;

		SIM_REQUIRE(sim_ep_lost(ep) || ep->check.closed ||
				    (!ep->check.owed && !ep->conn),
			    "ep %u, %s: its consumer waits for an event that "
			    "never came",
			    ep->no, dapl_ep_state_name(ep->fsm.state));
		SIM_REQUIRE(sim_ep_lost(ep) || dapl_list_empty(&ep->uses),
			    "somebody is inside yet");
		dapl_list_for_each_safe(use, next, &ep->uses, use.link)
			free(use);
		free(ep);
	}
}
