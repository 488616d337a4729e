/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pair_ep.c - carries out what the table of endpoints says, at one end of a
 * pair. See pair_ep.h. Rules: dapl_cm.h; invariants: sim_ep_check.h.
 */
#include "test/sim/pair_ep.h"

#include <string.h>

void pair_ep_init(struct pair_ep *ep, const struct pair_ep_ops *ops)
{
	memset(ep, 0, sizeof(*ep));
	ep->ops = ops;
	dapl_list_init(&ep->uses);
}

/* ------------------------------------------------ who is inside */

static void use_begin(struct pair_ep *ep, struct pair_use *use)
{
	SIM_REQUIRE(ep->conn && !use->conn, "inside of nothing, or twice");
	use->conn = ep->conn;
	dapl_ep_use_begin(&ep->uses, &use->use,
			  (struct dapl_cm_conn *)ep->conn);
}

static struct fake_conn *use_end(struct pair_use *use)
{
	struct fake_conn *conn = use->conn;

	dapl_ep_use_end(&use->use);
	use->conn = NULL;
	return conn;
}

static bool unused(struct pair_ep *ep, const struct fake_conn *conn)
{
	return dapl_ep_unused(&ep->uses, (struct dapl_cm_conn *)ep->conn,
			      (const struct dapl_cm_conn *)conn);
}

static void leave(struct pair_ep *ep, struct fake_conn *conn)
{
	if (unused(ep, conn))
		ep->ops->release(conn);
}

void pair_ep_check_release(struct pair_ep *ep, const struct fake_conn *conn)
{
	SIM_REQUIRE(unused(ep, conn), "released while somebody was inside");
}

/* ------------------------------------------------------ effects */

static void feed(struct pair_ep *ep, enum dapl_ep_input in,
		 struct fake_conn *fresh);

/* An input that is about CONN, if that is the endpoint's yet. */
static void about(struct pair_ep *ep, struct fake_conn *conn,
		  enum dapl_ep_input in)
{
	if (ep->conn == conn)
		feed(ep, in, NULL);
	else
		leave(ep, conn);
}

static void op_begins(struct pair_ep *ep, enum dapl_ep_input in)
{
	int i = 0;

	while (i < PAIR_EP_OPS && ep->op[i].conn)
		i++;
	SIM_REQUIRE(i < PAIR_EP_OPS, "more ops than there are connections");
	use_begin(ep, &ep->op[i]);
	ep->ops->op(ep->conn, in);
}

static void check_queue(struct pair_ep *ep)
{
	struct pair_use use = {.conn = NULL};
	bool busy;

	use_begin(ep, &use);
	/* Once: else it would never end. */
	busy = !ep->looks++ && ep->ops->is_busy();
	about(ep, use_end(&use),
	      busy ? DAPL_EP_IN_QUEUE_BUSY : DAPL_EP_IN_QUEUE_EMPTY);
}

static void in_error(struct pair_ep *ep)
{
	ep->check.in_error = true;
	feed(ep, DAPL_EP_IN_QP_IN_ERROR, NULL);
}

static void carry_out(struct pair_ep *ep, enum dapl_ep_input in,
		      enum dapl_ep_effect effect, DAT_EVENT_NUMBER event,
		      struct fake_conn *fresh)
{
	struct fake_conn *conn = ep->conn;

	switch (effect) {
	case DAPL_EP_DO_TAKE:
		sim_ep_check_take(&ep->check, conn);
		ep->conn = fresh;
		ep->attempts++;
		ep->looks = 0;
		break;
	case DAPL_EP_DO_LEAVE:
		SIM_REQUIRE(conn, "left twice");
		ep->conn = NULL;
		leave(ep, conn);
		break;
	case DAPL_EP_DO_ARM_DEADLINE:
	case DAPL_EP_DO_ARM_PAUSE:
		ep->armed = true;
		break;
	case DAPL_EP_DO_DISARM:
		ep->armed = false;
		break;
	case DAPL_EP_DO_OP:
		op_begins(ep, in);
		break;
	case DAPL_EP_DO_CHECK_QUEUE:
		check_queue(ep);
		break;
	case DAPL_EP_DO_CHECK_LATER:
	case DAPL_EP_DO_POST_MARKER: /* which completes */
		ep->work = true;
		break;
	case DAPL_EP_DO_QP_ERROR:
		if (ep->move.conn)
			ep->error_later = true;
		else
			in_error(ep);
		break;
	case DAPL_EP_DO_RENEW_QP:
		SIM_REQUIRE(!ep->move.conn, "a queue pair that is being moved");
		ep->check.in_error = false;
		feed(ep, DAPL_EP_IN_RENEWED, NULL);
		SIM_REQUIRE(ep->fsm.state == DAPL_EP_UNCONNECTED,
			    "reset, and %s", dapl_ep_state_name(ep->fsm.state));
		break;
	case DAPL_EP_DO_EVENT:
		sim_ep_check_told(&ep->check, event);
		break;
	default:
		break;
	}
}

static void feed(struct pair_ep *ep, enum dapl_ep_input in,
		 struct fake_conn *fresh)
{
	struct dapl_ep_effects out;
	int i;

	sim_ep_check_feed(&ep->fsm, in);
	dapl_ep_step(&ep->fsm, in, &out);
	sim_ep_check_fed(&ep->check, in);
	for (i = 0; i < out.n; i++)
		carry_out(ep, in, out.e[i], out.event, fresh);
}

/* ------------------------------------------------------- inputs */

bool pair_ep_would(const struct pair_ep *ep, enum dapl_ep_input in)
{
	struct dapl_ep_fsm fsm = ep->fsm;
	struct dapl_ep_effects out;

	if (ep->check.closed)
		return false;
	dapl_ep_step(&fsm, in, &out);
	return (out.n && out.e[0] != DAPL_EP_DO_REFUSE) ||
	       fsm.state != ep->fsm.state;
}

bool pair_ep_may_free(const struct pair_ep *ep)
{
	struct dapl_ep_fsm fsm = ep->fsm;
	struct dapl_ep_effects out;

	if (ep->check.closed)
		return false;
	dapl_ep_step(&fsm, DAPL_EP_IN_FREE, &out);
	return !out.n || out.e[0] != DAPL_EP_DO_REFUSE;
}

void pair_ep_call(struct pair_ep *ep, enum dapl_ep_input in,
		  struct fake_conn *conn)
{
	feed(ep, in, conn);
}

void pair_ep_timer(struct pair_ep *ep)
{
	ep->armed = false;
	feed(ep, DAPL_EP_IN_TIMER, NULL);
}

void pair_ep_work(struct pair_ep *ep)
{
	ep->work = false;
	feed(ep, DAPL_EP_IN_DRAINED, NULL);
}

void pair_ep_op_returns(struct pair_ep *ep, int i)
{
	about(ep, use_end(&ep->op[i]), DAPL_EP_IN_OP_DONE);
}

void pair_ep_event(struct pair_ep *ep, struct fake_conn *conn,
		   enum dapl_cm_event event)
{
	if (ep->conn == conn)
		feed(ep, dapl_ep_input_of(event), NULL);
}

bool pair_ep_move_begins(struct pair_ep *ep, struct fake_conn *conn)
{
	if (ep->conn != conn || ep->move.conn)
		return false;
	use_begin(ep, &ep->move);
	return true;
}

void pair_ep_move_ends(struct pair_ep *ep, struct fake_conn *conn)
{
	SIM_REQUIRE(ep->move.conn == conn, "the end of which move?");
	use_end(&ep->move);
	if (ep->error_later) {
		ep->error_later = false;
		in_error(ep);
	}
	leave(ep, conn);
}

void pair_ep_check_rest(const struct pair_ep *ep)
{
	DAT_EP_STATE seen = dapl_ep_dat_state(ep->fsm.state);

	SIM_REQUIRE(ep->check.closed || seen == DAT_EP_STATE_UNCONNECTED ||
			    seen == DAT_EP_STATE_CONNECTED ||
			    seen == DAT_EP_STATE_DISCONNECTED,
		    "at rest, and yet %s", dapl_ep_state_name(ep->fsm.state));
	SIM_REQUIRE(ep->check.owed == (seen == DAT_EP_STATE_CONNECTED),
		    "%s, and its consumer waits for an event that never came",
		    dapl_ep_state_name(ep->fsm.state));
	SIM_REQUIRE(!!ep->conn == (seen == DAT_EP_STATE_CONNECTED),
		    "%s, and its connection",
		    dapl_ep_state_name(ep->fsm.state));
}
