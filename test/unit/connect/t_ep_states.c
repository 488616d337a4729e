/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ep_states.c - the table of an endpoint's connection: situations that have a
 * name, DAT's own table of states, and everything that can be reached.
 *
 * Calls covered: dapl_ep_step, dapl_ep_expects, dapl_ep_dat_state, the names,
 * dapl_ep_use_*. The walk at the end plays consumer, connection manager, queue
 * pair and service thread around the table: each of their steps is tried in
 * every state of the whole, until nothing new comes up. So it knows of no
 * depth, and threads are in it: what is carried out after the lock is free is
 * a step of its own.
 * States: DAT 2.0 (doc/conformance.md); contract of the ops: dapl_cm.h.
 */
#include "dapl/common/connect/dapl_ep_states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/case.h"

#define ON(input)    DAPL_EP_IN_##input
#define DO(effect)   DAPL_EP_DO_##effect
#define AT(state)    DAPL_EP_##state
#define SEEN(state)  DAT_EP_STATE_##state
#define TOLD(number) DAT_CONNECTION_EVENT_##number

/* ------------------------------------------------- situations */

static struct dapl_ep_fsm fsm;

static int begin(void **state)
{
	memset(&fsm, 0, sizeof(fsm));
	return 0;
}

#define T(name) CASE_WITH(name, begin, NULL)

static const char *event_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case TOLD(ESTABLISHED):
		return "ESTABLISHED";
	case TOLD(PEER_REJECTED):
		return "PEER_REJECTED";
	case TOLD(NON_PEER_REJECTED):
		return "NON_PEER_REJECTED";
	case TOLD(ACCEPT_COMPLETION_ERROR):
		return "ACCEPT_COMPLETION_ERROR";
	case TOLD(DISCONNECTED):
		return "DISCONNECTED";
	case TOLD(BROKEN):
		return "BROKEN";
	case TOLD(TIMED_OUT):
		return "TIMED_OUT";
	case TOLD(UNREACHABLE):
		return "UNREACHABLE";
	default:
		return "?";
	}
}

static const char *effect_name(enum dapl_ep_effect effect)
{
	static const char *const names[DAPL_EP_DO_N] = {
		"",	      "refuse",	       "take",	       "leave",
		"return",     "remember peer", "forget peer",  "keep pdata",
		"free pdata", "arm deadline",  "arm pause",    "disarm",
		"op",	      "check queue",   "check later",  "post marker",
		"qp error",   "renew qp",      "last receive", "completions",
		"event",      "take back",
	};

	return effect < DAPL_EP_DO_N ? names[effect] : "?";
}

/* IN has these EFFECTS, separated by commas, and the state is STATE then. */
static void does(enum dapl_ep_input in, const char *effects,
		 enum dapl_ep_state state)
{
	struct dapl_ep_effects out;
	char text[256] = "";
	size_t used = 0;

	dapl_ep_step(&fsm, in, &out);
	for (int i = 0; i < out.n; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
			out.e[i] == DO(EVENT) ? event_name(out.event)
					      : effect_name(out.e[i]));
	assert_string_equal(text, effects);
	assert_string_equal(dapl_ep_state_name(fsm.state),
			    dapl_ep_state_name(state));
}

#define ESTABLISHES "remember peer, keep pdata, disarm, ESTABLISHED"
#define ENDS	    "disarm, keep pdata, leave, qp error"
#define ENDED	    "last receive, completions, "

static void be_up(void)
{
	does(ON(CONNECT), "take, remember peer, arm deadline, op",
	     AT(CONNECTING));
	does(ON(OP_DONE), "", AT(CONNECT_SENT));
	does(ON(ESTABLISHED), ESTABLISHES, AT(UP));
}

T(life__of_a_connection)
{
	be_up();
	does(ON(DISCONNECT), "check queue", AT(DRAINING));
	does(ON(QUEUE_EMPTY), "disarm, op", AT(DISCONNECTING));
	does(ON(OP_DONE), "", AT(DISCONNECT_SENT));
	does(ON(DISCONNECTED), ENDS, AT(END_CLOSE));
	does(ON(QP_IN_ERROR), ENDED "DISCONNECTED", AT(DISCONNECTED));
	does(ON(RESET), "renew qp", AT(RESETTING));
	does(ON(RENEWED), "forget peer, free pdata", AT(UNCONNECTED));
	does(ON(FREE), "", AT(UNCONNECTED));
	does(ON(CLOSE), "", AT(FREED));
}

T(connect__result_before_its_return)
{
	does(ON(CONNECT), "take, remember peer, arm deadline, op",
	     AT(CONNECTING));
	does(ON(ESTABLISHED), ESTABLISHES, AT(UP_EARLY));
	/* One op at a time: this one has to wait. */
	does(ON(DISCONNECT), "", AT(CLOSE_EARLY));
	does(ON(OP_DONE), "check later", AT(DRAINING));
	does(ON(DRAINED), "check queue", AT(DRAINING));
}

T(connect__times_out)
{
	does(ON(CONNECT), "take, remember peer, arm deadline, op",
	     AT(CONNECTING));
	does(ON(OP_DONE), "", AT(CONNECT_SENT));
	does(ON(TIMER), ENDS, AT(END_ACTIVE));
	/* The kernel has the queue pair in hand; the consumer sees no end. */
	does(ON(CONNECT), "refuse", AT(END_ACTIVE));
	does(ON(ABORT), "", AT(END_ACTIVE));
	does(ON(TIMER), "", AT(END_ACTIVE));
	does(ON(QP_IN_ERROR), ENDED "TIMED_OUT", AT(DISCONNECTED));
}

T(connect__fails_at_once)
{
	does(ON(CONNECT), "take, remember peer, arm deadline, op",
	     AT(CONNECTING));
	does(ON(CONNECT_FAILED), "disarm, forget peer, leave", AT(UNCONNECTED));
}

T(accept__of_each_kind_fails)
{
	does(ON(ACCEPT), "take, remember peer, op", AT(ACCEPTING));
	does(ON(ACCEPT_FAILED), "return, forget peer", AT(UNCONNECTED));
	does(ON(RESERVE), "", AT(RESERVED));
	does(ON(REQUEST), "", AT(REQUESTED));
	does(ON(ACCEPT_REQUESTED), "take, remember peer, op", AT(ACCEPTING));
	does(ON(ACCEPT_REQUESTED_FAILED), "return, forget peer", AT(REQUESTED));
	does(ON(REQUEST_OVER), "", AT(UNCONNECTED));
	fsm.state = AT(TENTATIVE);
	does(ON(ACCEPT_TENTATIVE), "take, remember peer, op", AT(ACCEPTING));
	does(ON(ACCEPT_TENTATIVE_FAILED), "return, forget peer", AT(TENTATIVE));
	does(ON(REQUEST_OVER), "take back", AT(TENTATIVE));
}

T(accept__whatever_ends_it)
{
	static const enum dapl_ep_input ends[] = {
		ON(NOT_ACCEPTED), ON(DISCONNECTED), ON(BROKEN),
		ON(PEER_REJECTED), ON(UNREACHABLE)};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		memset(&fsm, 0, sizeof(fsm));
		does(ON(ACCEPT), "take, remember peer, op", AT(ACCEPTING));
		does(ends[i], ENDS, AT(END_PASSIVE));
		does(ON(QP_IN_ERROR), ENDED "ACCEPT_COMPLETION_ERROR",
		     AT(DISCONNECTED));
	}
}

/* Others may come and go, but nothing begins. */
T(modify__keeps_all_from_beginning)
{
	does(ON(MODIFY), "", AT(MODIFYING));
	does(ON(CONNECT), "refuse", AT(MODIFYING));
	does(ON(RESERVE), "refuse", AT(MODIFYING));
	does(ON(ACCEPT), "refuse", AT(MODIFYING));
	does(ON(MODIFY), "refuse", AT(MODIFYING));
	does(ON(FREE), "refuse", AT(MODIFYING));
	does(ON(MODIFIED), "", AT(UNCONNECTED));
	does(ON(RESERVE), "", AT(RESERVED));
	does(ON(MODIFY), "", AT(MODIFYING_RESERVED));
	does(ON(REQUEST), "", AT(MODIFYING_REQUESTED));
	does(ON(ACCEPT_REQUESTED), "refuse", AT(MODIFYING_REQUESTED));
	does(ON(MODIFIED), "", AT(REQUESTED));
	does(ON(MODIFY), "", AT(MODIFYING_REQUESTED));
	does(ON(REQUEST_OVER), "", AT(MODIFYING));
	does(ON(CLOSE), "", AT(FREED));
	does(ON(MODIFIED), "", AT(FREED));
}

T(disconnect__waits_for_requests)
{
	be_up();
	does(ON(DISCONNECT), "check queue", AT(DRAINING));
	does(ON(QUEUE_BUSY), "arm pause, post marker", AT(MARKED));
	does(ON(MARKER_NO_ROOM), "", AT(DRAINING));
	does(ON(TIMER), "check queue", AT(DRAINING));
	does(ON(QUEUE_BUSY), "arm pause, post marker", AT(MARKED));
	/* Something may have come behind it. */
	does(ON(TIMER), "check queue", AT(MARKED));
	does(ON(DRAINED), "check queue", AT(MARKED));
	does(ON(QUEUE_BUSY), "arm pause, post marker", AT(MARKED));
	does(ON(QUEUE_EMPTY), "disarm, op", AT(DISCONNECTING));
	does(ON(DISCONNECT_FAILED), ENDS, AT(END_CLOSE));
	does(ON(QP_IN_ERROR), ENDED "DISCONNECTED", AT(DISCONNECTED));
}

T(free__while_all_is_under_way)
{
	be_up();
	does(ON(ABORT), ENDS, AT(END_UP));
	does(ON(CLOSE), "", AT(FREED));
	does(ON(QP_IN_ERROR), "", AT(FREED));
	memset(&fsm, 0, sizeof(fsm));
	be_up();
	does(ON(DISCONNECT), "check queue", AT(DRAINING));
	does(ON(CLOSE), "disarm, leave", AT(FREED));
	does(ON(TIMER), "", AT(FREED));
	does(ON(DRAINED), "", AT(FREED));
	does(ON(COMPLETION_ERROR), "", AT(FREED));
}

/* --------------------------------------------- DAT's own tables */

static bool refused(enum dapl_ep_state state, enum dapl_ep_input in)
{
	struct dapl_ep_fsm one = {.state = state};
	struct dapl_ep_effects out;

	dapl_ep_step(&one, in, &out);
	return out.n && out.e[0] == DO(REFUSE);
}

/* Which call is allowed to whom: a dot for INVALID_STATE. */
CASE(calls__allowed_as_dat_says)
{
	static const enum dapl_ep_input calls[] = {
		ON(CONNECT), ON(RESERVE), ON(ACCEPT), ON(DISCONNECT),
		ON(ABORT),   ON(RESET),	  ON(MODIFY), ON(FREE)};
	static const char *const allowed[] = {
		[SEEN(UNCONNECTED)] = "CRA..=MF",
		[SEEN(RESERVED)] = "......M.",
		[SEEN(PASSIVE_CONNECTION_PENDING)] = "......M.",
		[SEEN(TENTATIVE_CONNECTION_PENDING)] = "......M.",
		[SEEN(ACTIVE_CONNECTION_PENDING)] = "...DA..F",
		[SEEN(COMPLETION_PENDING)] = "...DA..F",
		[SEEN(CONNECTED)] = "...DA..F",
		[SEEN(DISCONNECT_PENDING)] = "...DA..F",
		[SEEN(DISCONNECTED)] = "...==R.F",
	};
	int s;

	for (s = 0; s < DAPL_EP_STATE_N; s++) {
		const char *row = allowed[dapl_ep_dat_state(s)];

		/* One reset at a time, and no calls once it is freed. */
		if (s == AT(RESETTING) || s == AT(FREED))
			continue;
		if (s >= AT(MODIFYING) && s <= AT(MODIFYING_TENTATIVE))
			row = "........";
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			if (refused(s, calls[i]) != (row[i] == '.'))
				fail_msg("%s, %s", dapl_ep_state_name(s),
					 dapl_ep_input_name(calls[i]));
	}
}

struct dat_row {
	DAT_EP_STATE from;
	enum dapl_ep_input in;
	DAT_EP_STATE to;
};

static const struct dat_row dat_rows[] = {
	{SEEN(UNCONNECTED), ON(RESERVE), SEEN(RESERVED)},
	{SEEN(UNCONNECTED), ON(CONNECT), SEEN(ACTIVE_CONNECTION_PENDING)},
	{SEEN(UNCONNECTED), ON(ACCEPT), SEEN(COMPLETION_PENDING)},
	{SEEN(RESERVED), ON(UNRESERVE), SEEN(UNCONNECTED)},
	{SEEN(RESERVED), ON(REQUEST), SEEN(PASSIVE_CONNECTION_PENDING)},
	{SEEN(PASSIVE_CONNECTION_PENDING), ON(ACCEPT_REQUESTED),
	 SEEN(COMPLETION_PENDING)},
	{SEEN(PASSIVE_CONNECTION_PENDING), ON(REQUEST_OVER), SEEN(UNCONNECTED)},
	{SEEN(TENTATIVE_CONNECTION_PENDING), ON(ACCEPT_TENTATIVE),
	 SEEN(COMPLETION_PENDING)},
	{SEEN(COMPLETION_PENDING), ON(ESTABLISHED), SEEN(CONNECTED)},
	{SEEN(COMPLETION_PENDING), ON(QP_IN_ERROR), SEEN(DISCONNECTED)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(ESTABLISHED), SEEN(CONNECTED)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(QP_IN_ERROR), SEEN(DISCONNECTED)},
	{SEEN(CONNECTED), ON(DISCONNECT), SEEN(DISCONNECT_PENDING)},
	{SEEN(CONNECTED), ON(QP_IN_ERROR), SEEN(DISCONNECTED)},
	{SEEN(DISCONNECT_PENDING), ON(QP_IN_ERROR), SEEN(DISCONNECTED)},
	{SEEN(DISCONNECTED), ON(RENEWED), SEEN(UNCONNECTED)},
	/* The call returns an error, and nothing has changed. */
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(CONNECT_FAILED),
	 SEEN(UNCONNECTED)},
	{SEEN(COMPLETION_PENDING), ON(ACCEPT_FAILED), SEEN(UNCONNECTED)},
	{SEEN(COMPLETION_PENDING), ON(ACCEPT_REQUESTED_FAILED),
	 SEEN(PASSIVE_CONNECTION_PENDING)},
	{SEEN(COMPLETION_PENDING), ON(ACCEPT_TENTATIVE_FAILED),
	 SEEN(TENTATIVE_CONNECTION_PENDING)},
};

static bool dat_knows(DAT_EP_STATE from, enum dapl_ep_input in, DAT_EP_STATE to)
{
	for (size_t i = 0; i < sizeof(dat_rows) / sizeof(dat_rows[0]); i++)
		if (dat_rows[i].from == from && dat_rows[i].in == in &&
		    dat_rows[i].to == to)
			return true;
	return from == to;
}

/* What the end of a connection is told as, by DAT's table. */
static const struct {
	DAT_EP_STATE from;
	enum dapl_ep_input in;
	DAT_EVENT_NUMBER event;
} dat_ends[] = {
	{SEEN(COMPLETION_PENDING), ON(NOT_ACCEPTED),
	 TOLD(ACCEPT_COMPLETION_ERROR)},
	{SEEN(COMPLETION_PENDING), ON(BROKEN), TOLD(ACCEPT_COMPLETION_ERROR)},
	{SEEN(COMPLETION_PENDING), ON(DISCONNECT), TOLD(DISCONNECTED)},
	{SEEN(COMPLETION_PENDING), ON(ABORT), TOLD(DISCONNECTED)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(PEER_REJECTED),
	 TOLD(PEER_REJECTED)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(NON_PEER_REJECTED),
	 TOLD(NON_PEER_REJECTED)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(UNREACHABLE), TOLD(UNREACHABLE)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(TIMER), TOLD(TIMED_OUT)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(DISCONNECTED), TOLD(DISCONNECTED)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(BROKEN), TOLD(BROKEN)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(DISCONNECT), TOLD(DISCONNECTED)},
	{SEEN(ACTIVE_CONNECTION_PENDING), ON(ABORT), TOLD(DISCONNECTED)},
	{SEEN(CONNECTED), ON(ABORT), TOLD(DISCONNECTED)},
	{SEEN(CONNECTED), ON(DISCONNECTED), TOLD(DISCONNECTED)},
	{SEEN(CONNECTED), ON(BROKEN), TOLD(BROKEN)},
	{SEEN(CONNECTED), ON(COMPLETION_ERROR), TOLD(BROKEN)},
	{SEEN(DISCONNECT_PENDING), ON(DISCONNECTED), TOLD(DISCONNECTED)},
	{SEEN(DISCONNECT_PENDING), ON(DISCONNECT_FAILED), TOLD(DISCONNECTED)},
	{SEEN(DISCONNECT_PENDING), ON(ABORT), TOLD(DISCONNECTED)},
	{SEEN(DISCONNECT_PENDING), ON(BROKEN), TOLD(BROKEN)},
	{SEEN(DISCONNECT_PENDING), ON(COMPLETION_ERROR), TOLD(BROKEN)},
};

static bool dat_ends_so(DAT_EP_STATE from, enum dapl_ep_input in,
			DAT_EVENT_NUMBER event)
{
	for (size_t i = 0; i < sizeof(dat_ends) / sizeof(dat_ends[0]); i++)
		if (dat_ends[i].from == from && dat_ends[i].in == in)
			return dat_ends[i].event == event;
	/* What does not fit there is nobody's intent. */
	return event == (from == SEEN(COMPLETION_PENDING)
				 ? TOLD(ACCEPT_COMPLETION_ERROR)
				 : TOLD(BROKEN));
}

/* ------------------------------------------------ all there is */

/*
 * The world around one endpoint. Old connections may be in the hands of slow
 * threads yet while there are new ones. All members are bytes: two worlds are
 * the same when their bytes are.
 */
#define CONNS	 2
#define NONE	 CONNS
#define LOOK_MAX 2

struct conn {
	uint8_t there; /* not released, nor given back to its request */
	uint8_t op;    /* input that had it called, or DISCONNECT; + 1 */
	uint8_t moving;
	uint8_t looks; /* threads that see whether requests are outstanding */
	uint8_t marking;
	uint8_t passive;
	uint8_t established, ended; /* reported */
};

enum request {
	REQUEST_NONE,
	REQUEST_RSP,
	REQUEST_PROVIDED
};

struct world {
	uint8_t state, end; /* of the endpoint; low byte of the event */
	uint8_t held;	    /* its connection */
	uint8_t closed;
	uint8_t request; /* that has it */
	uint8_t owed;	 /* a terminal event */
	uint8_t told_up; /* ESTABLISHED was */
	uint8_t timer;
	uint8_t work;
	uint8_t to_error;    /* a thread is about to do that */
	uint8_t error_later; /* at the end of the move */
	uint8_t in_error;    /* the queue pair; and is that to be reported? */
	uint8_t error_done;
	uint8_t renewing;
	uint8_t modifying;
	struct conn conn[CONNS];
};

static struct world *worlds; /* all that were reached */
static bool fed[DAPL_EP_STATE_N][DAPL_EP_IN_N];
static struct {
	uint32_t from;
	uint8_t in;
} * origin;
static uint32_t *slots; /* by hash; index + 1 */
static uint32_t worlds_n, now;
static uint64_t steps_n;

#define WORLDS_MAX (1u << 22)
#define SLOTS	   (1u << 23)

/* The way to where we are, last step first. */
static void tell_story(const struct world *w, enum dapl_ep_input in)
{
	uint32_t at = now;

	print_error("%s, on %s; before that", dapl_ep_state_name(w->state),
		    dapl_ep_input_name(in));
	for (; origin[at].from != at; at = origin[at].from)
		print_error(" < %s", dapl_ep_input_name(origin[at].in));
	print_error("\n");
}

#define HOLDS(w, in, condition)                             \
	do {                                                \
		if (!(condition)) {                         \
			tell_story(w, in);                  \
			fail_msg("not so: %s", #condition); \
		}                                           \
	} while (0)

/*
 * Worlds that differ in nothing that matters are one: the endpoint's connection
 * comes first, and nobody hears what is reported of those it has left.
 */
static void normalize(struct world *w)
{
	struct conn first = w->conn[0];

	if (w->held == 1) {
		w->conn[0] = w->conn[1];
		w->conn[1] = first;
		w->held = 0;
	}
	for (int i = 0; i < CONNS; i++)
		if (w->conn[i].there && i != w->held) {
			w->conn[i].established = true;
			w->conn[i].ended = true;
			w->conn[i].passive = false;
		}
}

static void remember(const struct world *w, enum dapl_ep_input in)
{
	const uint8_t *bytes = (const uint8_t *)w;
	uint64_t hash = 14695981039346656037ull;
	uint32_t slot;

	for (size_t i = 0; i < sizeof(*w); i++)
		hash = (hash ^ bytes[i]) * 1099511628211ull;
	steps_n++;
	for (slot = (uint32_t)(hash ^ hash >> 32) % SLOTS; slots[slot];
	     slot = (slot + 1) % SLOTS)
		if (!memcmp(&worlds[slots[slot] - 1], w, sizeof(*w)))
			return;
	assert_true(worlds_n < WORLDS_MAX);
	worlds[worlds_n] = *w;
	origin[worlds_n].from = now;
	origin[worlds_n].in = (uint8_t)in;
	slots[slot] = ++worlds_n;
}

static bool unused(const struct world *w, int i)
{
	static char address[CONNS + 1];
	struct dapl_list uses;
	struct dapl_ep_use use[CONNS][4];
	int j, k;

	/* Addresses stand for the connections. */
	dapl_list_init(&uses);
	for (j = 0; j < CONNS; j++) {
		const struct conn *c = &w->conn[j];
		int inside = !!c->op + c->moving + c->marking + c->looks;

		assert_true(inside <= 5);
		for (k = 0; k < inside && k < 4; k++)
			dapl_ep_use_begin(&uses, &use[j][k],
					  (struct dapl_cm_conn *)&address[j]);
	}
	return dapl_ep_unused(&uses, (struct dapl_cm_conn *)&address[w->held],
			      (struct dapl_cm_conn *)&address[i]);
}

/* Connection I is released if nobody is left in it. */
static void leave(struct world *w, int i, enum dapl_ep_input in)
{
	struct conn *c = &w->conn[i];

	if (!unused(w, i))
		return;
	HOLDS(w, in, c->there);
	HOLDS(w, in, !c->op && !c->moving && !c->looks && !c->marking);
	HOLDS(w, in, w->held != i);
	memset(c, 0, sizeof(*c));
}

static void told(struct world *w, DAT_EVENT_NUMBER event, enum dapl_ep_input in)
{
	HOLDS(w, in, !w->closed);
	HOLDS(w, in, w->owed);
	if (event == TOLD(ESTABLISHED)) {
		HOLDS(w, in, !w->told_up && !w->in_error);
		w->told_up = true;
		return;
	}
	HOLDS(w, in, w->in_error);
	HOLDS(w, in, strcmp(event_name(event), "?"));
	w->owed = false;
}

static void take(struct world *w, enum dapl_ep_input in, int conn)
{
	struct conn *c = &w->conn[conn];

	HOLDS(w, in, w->held == NONE && !w->owed && !w->in_error);
	memset(c, 0, sizeof(*c));
	c->there = true;
	c->passive = in != ON(CONNECT);
	w->held = (uint8_t)conn;
	w->owed = true;
	w->told_up = false;
}

static void carry_out(struct world *w, enum dapl_ep_effect effect,
		      const struct dapl_ep_effects *out, enum dapl_ep_input in,
		      int conn)
{
	struct conn *c = w->held == NONE ? NULL : &w->conn[w->held];
	int i;

	switch (effect) {
	case DO(TAKE):
		take(w, in, conn);
		break;
	case DO(LEAVE):
		HOLDS(w, in, c);
		i = w->held;
		w->held = NONE;
		leave(w, i, in);
		break;
	case DO(RETURN):
		HOLDS(w, in, c && !c->op && !c->moving);
		memset(c, 0, sizeof(*c));
		w->held = NONE;
		break;
	case DO(ARM_DEADLINE):
	case DO(ARM_PAUSE):
		w->timer = true;
		break;
	case DO(DISARM):
		w->timer = false;
		break;
	case DO(OP):
		HOLDS(w, in, c && !c->op);
		c->op = (uint8_t)(1 + (in == ON(QUEUE_EMPTY) ? ON(DISCONNECT)
							     : in));
		break;
	case DO(CHECK_QUEUE):
		HOLDS(w, in, c && c->established);
		c->looks += c->looks < LOOK_MAX;
		break;
	case DO(CHECK_LATER):
		w->work = true;
		break;
	case DO(POST_MARKER):
		HOLDS(w, in, c);
		c->marking += c->marking < LOOK_MAX;
		break;
	case DO(QP_ERROR):
		HOLDS(w, in,
		      !w->to_error && !w->error_later && !w->error_done &&
			      !w->renewing);
		w->to_error = true;
		break;
	case DO(RENEW_QP):
		HOLDS(w, in, !w->renewing && w->in_error && !w->to_error);
		w->renewing = true;
		break;
	case DO(EVENT):
		told(w, out->event, in);
		break;
	case DO(TAKE_BACK):
		HOLDS(w, in, w->request == REQUEST_PROVIDED);
		break;
	default:
		break;
	}
}

/* Whether something is under way that a state waits for. */
static void check(const struct world *w, enum dapl_ep_input in)
{
	const struct conn *c = w->held == NONE ? NULL : &w->conn[w->held];

	for (int i = 0; i < CONNS; i++)
		HOLDS(w, in, !w->conn[i].there || !unused(w, i));
	switch (w->state) {
	case AT(CONNECTING):
	case AT(ACCEPTING):
	case AT(UP_EARLY):
	case AT(CLOSE_EARLY):
	case AT(DISCONNECTING):
		HOLDS(w, in, c && c->op);
		break;
	case AT(DRAINING):
		HOLDS(w, in, c && !c->op);
		HOLDS(w, in, c->looks || c->marking || w->timer || w->work);
		break;
	case AT(MARKED):
		HOLDS(w, in, c && !c->op && (w->timer || c->looks));
		break;
	case AT(CONNECT_SENT):
	case AT(ACCEPT_SENT):
	case AT(UP):
	case AT(DISCONNECT_SENT):
		HOLDS(w, in, c && !c->op && !c->ended);
		break;
	case AT(END_ACTIVE):
	case AT(END_PASSIVE):
	case AT(END_UP):
	case AT(END_CLOSE):
		HOLDS(w, in, !c && w->owed);
		HOLDS(w, in, w->to_error + w->error_later + w->error_done == 1);
		break;
	case AT(RESETTING):
		HOLDS(w, in, !c && !w->owed && w->renewing);
		break;
	case AT(FREED):
		HOLDS(w, in, !c && w->closed);
		break;
	default:
		HOLDS(w, in, !c && !w->owed && !w->timer);
		break;
	}
}

/* A thread takes the lock and feeds the table. True: not refused. */
static bool feed(struct world *w, enum dapl_ep_input in, int conn)
{
	struct dapl_ep_fsm one = {.state = w->state,
				  .end = (DAT_EVENT_NUMBER)w->end};
	DAT_EP_STATE seen = dapl_ep_dat_state(one.state);
	struct dapl_ep_effects out;

	HOLDS(w, in, dapl_ep_expects(one.state, in));
	fed[one.state][in] = true;
	if (one.end)
		one.end = (DAT_EVENT_NUMBER)(0x4000 + w->end);
	dapl_ep_step(&one, in, &out);
	if (one.state != AT(FREED))
		HOLDS(w, in, dat_knows(seen, in, dapl_ep_dat_state(one.state)));
	if (one.end && !w->end)
		HOLDS(w, in, dat_ends_so(seen, in, one.end));
	w->state = (uint8_t)one.state;
	w->end = (uint8_t)one.end;
	/* The call fails, and nothing was ever told of. */
	if (in == ON(CONNECT_FAILED) || in == ON(ACCEPT_FAILED) ||
	    in == ON(ACCEPT_REQUESTED_FAILED) ||
	    in == ON(ACCEPT_TENTATIVE_FAILED)) {
		HOLDS(w, in, w->owed && !w->told_up);
		w->owed = false;
	}
	if (in == ON(CLOSE))
		w->closed = true;
	for (int i = 0; i < out.n; i++)
		carry_out(w, out.e[i], &out, in, conn);
	if (in == ON(CLOSE))
		w->owed = false;
	return !out.n || out.e[0] != DO(REFUSE);
}

static void done(struct world *w, enum dapl_ep_input in)
{
	check(w, in);
	normalize(w);
	remember(w, in);
}

static int free_conn(const struct world *w)
{
	int i;

	for (i = 0; i < CONNS && w->conn[i].there; i++)
		;
	return i;
}

static void call(const struct world *from, enum dapl_ep_input in, int conn)
{
	struct world w = *from;

	/* A thread that has come too late learns no more than that. */
	if (!feed(&w, in, conn) && from->closed)
		assert_memory_equal(&w, from, sizeof(w));
	done(&w, in);
}

static void consumer_steps(const struct world *from)
{
	static const enum dapl_ep_input calls[] = {ON(RESERVE), ON(DISCONNECT),
						   ON(ABORT), ON(RESET)};
	struct world w = *from;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		call(from, calls[i], NONE);
	if (feed(&w, ON(FREE), NONE) && !from->closed) {
		feed(&w, ON(CLOSE), NONE);
		done(&w, ON(FREE));
	}
	w = *from;
	if (feed(&w, ON(MODIFY), NONE)) {
		HOLDS(&w, ON(MODIFY), !from->modifying);
		w.modifying = true;
	}
	done(&w, ON(MODIFY));
	if (from->modifying) {
		w = *from;
		w.modifying = false;
		feed(&w, ON(MODIFIED), NONE);
		done(&w, ON(MODIFIED));
	}
	/* Of the IA: in any state. */
	if (!from->closed)
		call(from, ON(CLOSE), NONE);
	if (free_conn(from) == CONNS)
		return;
	call(from, ON(CONNECT), free_conn(from));
	call(from, ON(ACCEPT), free_conn(from));
}

/* Whether the request that has the endpoint is being accepted. */
static bool answering(const struct world *w)
{
	for (int i = 0; i < CONNS; i++)
		if (w->conn[i].op == ON(ACCEPT_REQUESTED) + 1 ||
		    w->conn[i].op == ON(ACCEPT_TENTATIVE) + 1)
			return true;
	return false;
}

static void request_over(struct world *w)
{
	bool back = w->state == AT(TENTATIVE) ||
		    w->state == AT(MODIFYING_TENTATIVE);

	feed(w, ON(REQUEST_OVER), NONE);
	w->request = REQUEST_NONE;
	if (back)
		feed(w, ON(CLOSE), NONE);
}

static void request_steps(const struct world *from)
{
	struct world w = *from;

	call(from, ON(UNRESERVE), NONE);
	if (!answering(from)) {
		request_over(&w);
		done(&w, ON(REQUEST_OVER));
	}
	/* While an old one is being answered no other has the endpoint. */
	if (from->request && (from->state == AT(RESERVED) ||
			      from->state == AT(MODIFYING_RESERVED)))
		return;
	w = *from;
	if (feed(&w, ON(REQUEST), NONE))
		w.request = REQUEST_RSP;
	done(&w, ON(REQUEST));
	if (answering(from) || free_conn(from) == CONNS)
		return;
	call(from, ON(ACCEPT_REQUESTED), free_conn(from));
	call(from, ON(ACCEPT_TENTATIVE), free_conn(from));
}

/* The op on connection I returns. */
static void op_returns(const struct world *from, int i, bool ok)
{
	enum dapl_ep_input op = (enum dapl_ep_input)(from->conn[i].op - 1), in;
	struct world w = *from;
	struct conn *c = &w.conn[i];
	bool accept = op == ON(ACCEPT) || op == ON(ACCEPT_REQUESTED) ||
		      op == ON(ACCEPT_TENTATIVE);

	in = ok				  ? ON(OP_DONE)
	     : op == ON(CONNECT)	  ? ON(CONNECT_FAILED)
	     : op == ON(ACCEPT)		  ? ON(ACCEPT_FAILED)
	     : op == ON(DISCONNECT)	  ? ON(DISCONNECT_FAILED)
	     : op == ON(ACCEPT_REQUESTED) ? ON(ACCEPT_REQUESTED_FAILED)
					  : ON(ACCEPT_TENTATIVE_FAILED);
	c->op = 0;
	if (w.held == i)
		feed(&w, in, i);
	else
		leave(&w, i, in);
	/* The request goes on, without the endpoint, or is dropped. */
	if (accept && op != ON(ACCEPT) && (ok || from->held != i)) {
		if (!ok)
			request_over(&w);
		w.request = REQUEST_NONE;
	}
	done(&w, in);
}

/* What the connection manager may do with connection I, and who is inside. */
static void report(const struct world *from, int i, enum dapl_ep_input in)
{
	struct world w = *from;

	if (in == ON(ESTABLISHED))
		w.conn[i].established = true;
	else
		w.conn[i].ended = true;
	if (w.held == i)
		feed(&w, in, i);
	done(&w, in);
}

static void move_steps(const struct world *from, int i)
{
	const struct conn *c = &from->conn[i];
	struct world w = *from;
	int j, moving = 0;

	for (j = 0; j < CONNS; j++)
		moving += from->conn[j].moving;
	if (from->held == i && !moving && !c->established && !c->ended) {
		w.conn[i].moving = true;
		done(&w, ON(OP_DONE));
	}
	if (!c->moving)
		return;
	w = *from;
	w.conn[i].moving = false;
	if (w.error_later) {
		w.error_later = false;
		w.in_error = true;
		w.error_done = true;
	}
	leave(&w, i, ON(OP_DONE));
	done(&w, ON(OP_DONE));
}

static void look_ends(const struct world *from, int i, enum dapl_ep_input in)
{
	struct world w = *from;

	w.conn[i].looks--;
	if (w.held == i)
		feed(&w, in, i);
	else
		leave(&w, i, in);
	done(&w, in);
}

/* NO: what is said then; DAPL_EP_IN_N: it was taken. */
static void marker_posted(const struct world *from, int i,
			  enum dapl_ep_input no)
{
	struct world w = *from;

	w.conn[i].marking--;
	if (w.held == i && no != DAPL_EP_IN_N)
		feed(&w, no, i);
	else
		leave(&w, i, ON(DRAINED));
	done(&w, ON(DRAINED));
}

static void conn_steps(const struct world *from, int i)
{
	const struct conn *c = &from->conn[i];
	enum dapl_ep_input in;

	if (!c->there)
		return;
	if (c->op) {
		op_returns(from, i, true);
		/* A failure has changed nothing, and no event was made. */
		if (c->op == ON(DISCONNECT) + 1 ||
		    (!c->established && !c->ended && !c->moving))
			op_returns(from, i, false);
	}
	if (!c->established && !c->ended)
		report(from, i, ON(ESTABLISHED));
	/* Which of them is up to the connection manager. */
	for (in = ON(PEER_REJECTED); in <= ON(BROKEN) && !c->ended; in++)
		report(from, i, in);
	move_steps(from, i);
	if (c->looks) {
		look_ends(from, i, ON(QUEUE_EMPTY));
		look_ends(from, i, ON(QUEUE_BUSY));
	}
	if (c->marking) {
		marker_posted(from, i, DAPL_EP_IN_N);
		marker_posted(from, i, ON(MARKER_NO_ROOM));
		marker_posted(from, i, ON(QUEUE_EMPTY));
	}
}

static void queue_pair_steps(const struct world *from)
{
	struct world w = *from;
	int i, moving = 0;

	for (i = 0; i < CONNS; i++)
		moving += from->conn[i].moving;
	if (from->to_error) {
		w.to_error = false;
		if (moving) {
			w.error_later = true;
		} else {
			w.in_error = true;
			w.error_done = true;
		}
		done(&w, ON(QP_IN_ERROR));
	}
	if (from->error_done) {
		w = *from;
		w.error_done = false;
		feed(&w, ON(QP_IN_ERROR), NONE);
		done(&w, ON(QP_IN_ERROR));
	}
	/* It waits for a move, whosever. */
	if (from->renewing && !moving) {
		w = *from;
		w.renewing = false;
		feed(&w, ON(RENEW_FAILED), NONE);
		done(&w, ON(RENEW_FAILED));
		w = *from;
		w.renewing = false;
		w.in_error = false;
		feed(&w, ON(RENEWED), NONE);
		done(&w, ON(RENEWED));
	}
}

static void service_steps(const struct world *from)
{
	struct world w = *from;

	/* Once it is freed they do nothing, if one comes so late. */
	call(from, ON(COMPLETION_ERROR), NONE);
	w.work = false;
	feed(&w, ON(DRAINED), NONE);
	done(&w, ON(DRAINED));
	/* Also one that fired while it was being taken off. */
	if (!from->timer &&
	    (from->state == AT(CONNECTING) || from->state == AT(CONNECT_SENT) ||
	     from->state == AT(DRAINING) || from->state == AT(MARKED)))
		return;
	w = *from;
	w.timer = false;
	feed(&w, ON(TIMER), NONE);
	done(&w, ON(TIMER));
}

CASE(all__that_can_be_reached)
{
	struct world first = {.state = AT(UNCONNECTED), .held = NONE};
	int i, in;

	worlds = calloc(WORLDS_MAX, sizeof(*worlds));
	origin = calloc(WORLDS_MAX, sizeof(*origin));
	slots = calloc(SLOTS, sizeof(*slots));
	assert_true(worlds && origin && slots);
	remember(&first, ON(CLOSE));
	now = 1;
	first.state = AT(TENTATIVE);
	first.request = REQUEST_PROVIDED;
	remember(&first, ON(CLOSE));
	for (now = 0; now < worlds_n; now++) {
		const struct world w = worlds[now];

		consumer_steps(&w);
		request_steps(&w);
		queue_pair_steps(&w);
		service_steps(&w);
		for (i = 0; i < CONNS; i++)
			conn_steps(&w, i);
	}
	/* And the table has nothing that cannot. */
	for (i = 0; i < DAPL_EP_STATE_N; i++)
		for (in = 0; in < DAPL_EP_IN_N; in++)
			if (dapl_ep_expects(i, in) && !fed[i][in])
				fail_msg("%s in %s never comes",
					 dapl_ep_input_name(in),
					 dapl_ep_state_name(i));
	assert_true(worlds_n > 1000);
	print_message("%u situations, %llu steps\n", worlds_n,
		      (unsigned long long)steps_n);
	free(worlds);
	free(origin);
	free(slots);
}

CASE(names__of_all)
{
	int i, j;

	for (i = 0; i < DAPL_EP_STATE_N; i++)
		for (j = 0; j < i; j++)
			assert_string_not_equal(dapl_ep_state_name(i),
						dapl_ep_state_name(j));
	for (i = 0; i < DAPL_EP_IN_N; i++)
		for (j = 0; j < i; j++)
			assert_string_not_equal(dapl_ep_input_name(i),
						dapl_ep_input_name(j));
	assert_string_equal(dapl_ep_state_name(DAPL_EP_STATE_N), "?");
	assert_string_equal(dapl_ep_input_name(DAPL_EP_IN_N), "?");
}

RUN_CASES(NULL, NULL)
