/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_states.c - the table of an endpoint's connection.
 *
 * A cell says what comes next and what is to be done, and nothing depends on
 * anything else. What a row does not name must not come (dapl_ep_expects()).
 * Rules: DAT 2.0 endpoint states (doc/conformance.md). Test: t_ep_states walks
 * through all that can be reached, whatever the consumer, the connection
 * manager and the queue pair do, and in which order.
 */
#include "dapl/common/connect/dapl_ep_states.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum cell_kind {
	CELL_WRONG, /* see dapl_ep_expects() */
	CELL_STAY,
	CELL_GO
};

struct cell {
	uint8_t kind;
	uint8_t next;
	uint8_t effects[DAPL_EP_EFFECTS_MAX];
	uint16_t event;
};

#define DO(effect) DAPL_EP_DO_##effect
/* Late, or harmless: for a call, success. */
#define IGNORE                    \
	{                         \
		.kind = CELL_STAY \
	}
#define STAY(...)                                             \
	{                                                     \
		.kind = CELL_STAY, .effects = { __VA_ARGS__ } \
	}
#define REFUSE STAY(DO(REFUSE))
#define GO(to)                                        \
	{                                             \
		.kind = CELL_GO, .next = DAPL_EP_##to \
	}
#define GO_DO(to, ...)                                              \
	{                                                           \
		.kind = CELL_GO, .next = DAPL_EP_##to, .effects = { \
			__VA_ARGS__                                 \
		}                                                   \
	}
/*
 * The connection ends with EVENT. It is given up first, so that nobody else
 * ends it meanwhile. Event and state follow when the queue pair is in ERR.
 */
#define END(to, number)                                              \
	{                                                            \
		.kind = CELL_GO, .next = DAPL_EP_END_##to,           \
		.event = DAT_CONNECTION_EVENT_##number, .effects = { \
			DO(DISARM),                                  \
			DO(KEEP_PDATA),                              \
			DO(LEAVE),                                   \
			DO(QP_ERROR),                                \
		}                                                    \
	}
#define ESTABLISH(to)                                                   \
	{                                                               \
		.kind = CELL_GO, .next = DAPL_EP_##to,                  \
		.event = DAT_CONNECTION_EVENT_ESTABLISHED, .effects = { \
			DO(REMEMBER_PEER),                              \
			DO(KEEP_PDATA),                                 \
			DO(DISARM),                                     \
			DO(EVENT),                                      \
		}                                                       \
	}

/* ------------------------------------------- what many rows have */

#define ON(input) [DAPL_EP_IN_##input]

/* Calls for which the endpoint has to be free for a connection. */
#define IN_USE ON(CONNECT) = REFUSE, ON(RESERVE) = REFUSE, ON(ACCEPT) = REFUSE
/* A request cannot have it, or has it no more. */
#define NO_REQUEST                                                    \
	ON(ACCEPT_REQUESTED) = REFUSE, ON(ACCEPT_TENTATIVE) = REFUSE, \
	ON(REQUEST) = REFUSE, ON(UNRESERVE) = IGNORE,                 \
	ON(REQUEST_OVER) = IGNORE
/* It waits for a request or for the answer to one, and can do no more. */
#define WAITING                                              \
	IN_USE, ON(DISCONNECT) = REFUSE, ON(ABORT) = REFUSE, \
		ON(RESET) = REFUSE, ON(FREE) = REFUSE, ON(CLOSE) = GO(FREED)

/* Fired while it was being taken off, or while all ended. */
#define NO_TIMER    ON(TIMER) = IGNORE
#define NO_DRAINING ON(DRAINED) = IGNORE
/* Flushes of what has ended, and of what has not begun. */
#define UNBREAKABLE ON(COMPLETION_ERROR) = IGNORE
#define NOT_UP	    NO_TIMER, NO_DRAINING, UNBREAKABLE

#define GONE ON(CLOSE) = GO_DO(FREED, DO(DISARM), DO(LEAVE))
/* What the consumer may do with a connection, but end it gracefully. */
#define WITH_CONNECTION(to)                                    \
	IN_USE, NO_REQUEST, ON(MODIFY) = REFUSE,               \
			    ON(ABORT) = END(to, DISCONNECTED), \
			    ON(RESET) = REFUSE, ON(FREE) = IGNORE, GONE

/* An attempt, or the accepting of one: both kinds end it at once. */
#define PENDING(to)                                                  \
	WITH_CONNECTION(to), ON(DISCONNECT) = END(to, DISCONNECTED), \
			     NO_DRAINING, UNBREAKABLE
#define ACTIVE_ENDS                                             \
	ON(PEER_REJECTED) = END(ACTIVE, PEER_REJECTED),         \
	ON(NON_PEER_REJECTED) = END(ACTIVE, NON_PEER_REJECTED), \
	ON(UNREACHABLE) = END(ACTIVE, UNREACHABLE),             \
	ON(NOT_ACCEPTED) = END(ACTIVE, BROKEN),                 \
	ON(DISCONNECTED) = END(ACTIVE, DISCONNECTED),           \
	ON(BROKEN) = END(ACTIVE, BROKEN), ON(TIMER) = END(ACTIVE, TIMED_OUT)
#define UNACCEPTED END(PASSIVE, ACCEPT_COMPLETION_ERROR)
#define PASSIVE_ENDS                                                        \
	ON(PEER_REJECTED) = UNACCEPTED, ON(NON_PEER_REJECTED) = UNACCEPTED, \
	ON(UNREACHABLE) = UNACCEPTED, ON(NOT_ACCEPTED) = UNACCEPTED,        \
	ON(DISCONNECTED) = UNACCEPTED, ON(BROKEN) = UNACCEPTED, NO_TIMER
/* Nothing has changed: the request lives on, unless its peer has gone. */
#define BACK_TO(from) GO_DO(from, DO(RETURN), DO(FORGET_PEER))

/* Established. What comes then is no refusal, whatever it is called. */
#define UP_ENDS(to)                                                            \
	ON(PEER_REJECTED) = END(to, BROKEN),                                   \
	ON(NON_PEER_REJECTED) = END(to, BROKEN),                               \
	ON(UNREACHABLE) = END(to, BROKEN), ON(NOT_ACCEPTED) = END(to, BROKEN), \
	ON(DISCONNECTED) = END(to, DISCONNECTED),                              \
	ON(BROKEN) = END(to, BROKEN), ON(COMPLETION_ERROR) = END(to, BROKEN)
#define CLOSING	      WITH_CONNECTION(CLOSE), ON(DISCONNECT) = IGNORE, UP_ENDS(CLOSE)
#define TO_DISCONNECT GO_DO(DISCONNECTING, DO(DISARM), DO(OP))
/* Two threads had looked. */
#define DRAINED_BEFORE                                     \
	ON(QUEUE_EMPTY) = IGNORE, ON(QUEUE_BUSY) = IGNORE, \
	ON(MARKER_NO_ROOM) = IGNORE, NO_DRAINING, NO_TIMER

#define OVER                                                              \
	IN_USE, NO_REQUEST, ON(MODIFY) = REFUSE, ON(DISCONNECT) = IGNORE, \
			    ON(ABORT) = IGNORE, ON(FREE) = IGNORE,        \
			    ON(CLOSE) = GO(FREED), NOT_UP
#define END_ROW                                                               \
	{                                                                     \
		OVER, ON(RESET) = REFUSE,                                     \
		      ON(QP_IN_ERROR) = GO_DO(DISCONNECTED, DO(LAST_RECEIVE), \
					      DO(COMPLETIONS), DO(EVENT)),    \
	}

/* Nothing begins while it is being modified, but its request may come and go.
 */
#define MODIFYING_ROW(was)                                                     \
	WAITING, ON(MODIFY) = REFUSE, ON(MODIFIED) = GO(was),                  \
		 ON(ACCEPT_REQUESTED) = REFUSE, ON(ACCEPT_TENTATIVE) = REFUSE, \
		 NOT_UP

/* ---------------------------------------------------- the table */

static const struct cell table[DAPL_EP_STATE_N][DAPL_EP_IN_N] = {
	[DAPL_EP_UNCONNECTED] =
		{
			ON(CONNECT) =
				GO_DO(CONNECTING, DO(TAKE), DO(REMEMBER_PEER),
				      DO(ARM_DEADLINE), DO(OP)),
			ON(RESERVE) = GO(RESERVED),
			ON(ACCEPT) = GO_DO(ACCEPTING, DO(TAKE),
					   DO(REMEMBER_PEER), DO(OP)),
			NO_REQUEST,
			ON(DISCONNECT) = REFUSE,
			ON(ABORT) = REFUSE,
			ON(RESET) = IGNORE,
			ON(MODIFY) = GO(MODIFYING),
			ON(FREE) = IGNORE,
			ON(CLOSE) = GO(FREED),
			NOT_UP,
		},
	[DAPL_EP_RESERVED] =
		{
			WAITING,
			ON(ACCEPT_REQUESTED) = REFUSE,
			ON(ACCEPT_TENTATIVE) = REFUSE,
			ON(REQUEST) = GO(REQUESTED),
			ON(MODIFY) = GO(MODIFYING_RESERVED),
			ON(UNRESERVE) = GO(UNCONNECTED),
			ON(REQUEST_OVER) = IGNORE,
			NOT_UP,
		},
	[DAPL_EP_REQUESTED] =
		{
			WAITING,
			ON(ACCEPT_REQUESTED) = GO_DO(ACCEPTING, DO(TAKE),
						     DO(REMEMBER_PEER), DO(OP)),
			ON(ACCEPT_TENTATIVE) = REFUSE,
			ON(REQUEST) = REFUSE,
			ON(UNRESERVE) = IGNORE,
			ON(MODIFY) = GO(MODIFYING_REQUESTED),
			ON(REQUEST_OVER) = GO(UNCONNECTED),
			NOT_UP,
		},
	[DAPL_EP_TENTATIVE] =
		{
			WAITING,
			ON(ACCEPT_REQUESTED) = REFUSE,
			ON(ACCEPT_TENTATIVE) =
				GO_DO(ACCEPTING, DO(TAKE), DO(REMEMBER_PEER),
				      DO(OP)),
			ON(REQUEST) = REFUSE,
			ON(UNRESERVE) = IGNORE,
			ON(MODIFY) = GO(MODIFYING_TENTATIVE),
			ON(REQUEST_OVER) = STAY(DO(TAKE_BACK)),
			NOT_UP,
		},
	[DAPL_EP_CONNECTING] =
		{
			PENDING(ACTIVE),
			ACTIVE_ENDS,
			ON(OP_DONE) = GO(CONNECT_SENT),
			ON(CONNECT_FAILED) = GO_DO(UNCONNECTED, DO(DISARM),
						   DO(FORGET_PEER), DO(LEAVE)),
			ON(ESTABLISHED) = ESTABLISH(UP_EARLY),
		},
	[DAPL_EP_CONNECT_SENT] =
		{
			PENDING(ACTIVE),
			ACTIVE_ENDS,
			ON(ESTABLISHED) = ESTABLISH(UP),
		},
	[DAPL_EP_ACCEPTING] =
		{
			PENDING(PASSIVE),
			PASSIVE_ENDS,
			ON(OP_DONE) = GO(ACCEPT_SENT),
			ON(ACCEPT_FAILED) = BACK_TO(UNCONNECTED),
			ON(ACCEPT_REQUESTED_FAILED) = BACK_TO(REQUESTED),
			ON(ACCEPT_TENTATIVE_FAILED) = BACK_TO(TENTATIVE),
			ON(ESTABLISHED) = ESTABLISH(UP_EARLY),
		},
	[DAPL_EP_ACCEPT_SENT] =
		{
			PENDING(PASSIVE),
			PASSIVE_ENDS,
			ON(ESTABLISHED) = ESTABLISH(UP),
		},
	[DAPL_EP_UP_EARLY] =
		{
			WITH_CONNECTION(UP),
			/* One op at a time: it has to wait for the one that
			   runs. */
			ON(DISCONNECT) = GO(CLOSE_EARLY),
			ON(OP_DONE) = GO(UP),
			UP_ENDS(UP),
			NO_TIMER,
			NO_DRAINING,
		},
	[DAPL_EP_UP] =
		{
			/*
			 * Abrupt: the consumer is through with the connection
			 * now. The provider goes on telling the peer after the
			 * release.
			 */
			WITH_CONNECTION(UP),
			ON(DISCONNECT) = GO_DO(DRAINING, DO(CHECK_QUEUE)),
			UP_ENDS(UP),
			NO_TIMER,
			NO_DRAINING,
		},
	[DAPL_EP_CLOSE_EARLY] =
		{
			CLOSING,
			ON(OP_DONE) = GO_DO(DRAINING, DO(CHECK_LATER)),
			NO_TIMER,
			NO_DRAINING,
		},
	[DAPL_EP_DRAINING] =
		{
			CLOSING,
			ON(QUEUE_EMPTY) = TO_DISCONNECT,
			ON(QUEUE_BUSY) =
				GO_DO(MARKED, DO(ARM_PAUSE), DO(POST_MARKER)),
			/* Two threads had tried. */
			ON(MARKER_NO_ROOM) = IGNORE,
			ON(DRAINED) = STAY(DO(CHECK_QUEUE)),
			ON(TIMER) = STAY(DO(CHECK_QUEUE)),
		},
	[DAPL_EP_MARKED] =
		{
			CLOSING,
			ON(QUEUE_EMPTY) = TO_DISCONNECT,
			/* A post that had begun may have come behind it. */
			ON(QUEUE_BUSY) = STAY(DO(ARM_PAUSE), DO(POST_MARKER)),
			ON(MARKER_NO_ROOM) = GO(DRAINING),
			ON(DRAINED) = STAY(DO(CHECK_QUEUE)),
			ON(TIMER) = STAY(DO(CHECK_QUEUE)),
		},
	[DAPL_EP_DISCONNECTING] =
		{
			CLOSING,
			ON(OP_DONE) = GO(DISCONNECT_SENT),
			/* No answer from the layers below: it ends here. */
			ON(DISCONNECT_FAILED) = END(CLOSE, DISCONNECTED),
			DRAINED_BEFORE,
		},
	[DAPL_EP_DISCONNECT_SENT] =
		{
			CLOSING,
			DRAINED_BEFORE,
		},
	[DAPL_EP_END_ACTIVE] = END_ROW,
	[DAPL_EP_END_PASSIVE] = END_ROW,
	[DAPL_EP_END_UP] = END_ROW,
	[DAPL_EP_END_CLOSE] = END_ROW,
	[DAPL_EP_DISCONNECTED] =
		{
			OVER,
			ON(RESET) = GO_DO(RESETTING, DO(RENEW_QP)),
		},
	[DAPL_EP_RESETTING] =
		{
			OVER,
			ON(RESET) = REFUSE,
			ON(RENEWED) = GO_DO(UNCONNECTED, DO(FORGET_PEER),
					    DO(FREE_PDATA)),
			ON(RENEW_FAILED) = GO(DISCONNECTED),
		},
	[DAPL_EP_MODIFYING] =
		{
			MODIFYING_ROW(UNCONNECTED),
			ON(REQUEST) = REFUSE,
			ON(UNRESERVE) = IGNORE,
			ON(REQUEST_OVER) = IGNORE,
		},
	[DAPL_EP_MODIFYING_RESERVED] =
		{
			MODIFYING_ROW(RESERVED),
			ON(REQUEST) = GO(MODIFYING_REQUESTED),
			ON(UNRESERVE) = GO(MODIFYING),
			ON(REQUEST_OVER) = IGNORE,
		},
	[DAPL_EP_MODIFYING_REQUESTED] =
		{
			MODIFYING_ROW(REQUESTED),
			ON(REQUEST) = REFUSE,
			ON(UNRESERVE) = IGNORE,
			ON(REQUEST_OVER) = GO(MODIFYING),
		},
	[DAPL_EP_MODIFYING_TENTATIVE] =
		{
			MODIFYING_ROW(TENTATIVE),
			ON(REQUEST) = REFUSE,
			ON(UNRESERVE) = IGNORE,
			ON(REQUEST_OVER) = STAY(DO(TAKE_BACK)),
		},
	/* Results of what had begun still come, and lead to nothing. */
	[DAPL_EP_FREED] =
		{
			IN_USE,
			NO_REQUEST,
			ON(DISCONNECT) = REFUSE,
			ON(ABORT) = REFUSE,
			ON(RESET) = REFUSE,
			ON(MODIFY) = REFUSE,
			ON(MODIFIED) = IGNORE,
			ON(FREE) = IGNORE,
			ON(QP_IN_ERROR) = IGNORE,
			ON(RENEWED) = IGNORE,
			ON(RENEW_FAILED) = IGNORE,
			NOT_UP,
		},
};

bool dapl_ep_expects(enum dapl_ep_state state, enum dapl_ep_input in)
{
	return table[state][in].kind > CELL_WRONG;
}

void dapl_ep_step(struct dapl_ep_fsm *fsm, enum dapl_ep_input in,
		  struct dapl_ep_effects *ret_out)
{
	const struct cell *cell = &table[fsm->state][in];
	bool ending;
	int i;

	memset(ret_out, 0, sizeof(*ret_out));
	assert(fsm->state < DAPL_EP_STATE_N && in < DAPL_EP_IN_N);
	assert(dapl_ep_expects(fsm->state, in));
	for (i = 0; i < DAPL_EP_EFFECTS_MAX && cell->effects[i]; i++)
		ret_out->e[ret_out->n++] =
			(enum dapl_ep_effect)cell->effects[i];
	if (cell->kind != CELL_GO)
		return;
	/* What an END state was entered with is told when it is left. */
	ending = cell->next >= DAPL_EP_END_ACTIVE &&
		 cell->next <= DAPL_EP_END_CLOSE;
	ret_out->event = ending	       ? 0
			 : cell->event ? (DAT_EVENT_NUMBER)cell->event
				       : fsm->end;
	fsm->end = ending ? (DAT_EVENT_NUMBER)cell->event : 0;
	fsm->state = (enum dapl_ep_state)cell->next;
}

/* ------------------------------------------------ who is inside */

void dapl_ep_use_begin(struct dapl_list *uses, struct dapl_ep_use *use,
		       struct dapl_cm_conn *conn)
{
	use->conn = conn;
	dapl_list_add_tail(uses, &use->link);
}

void dapl_ep_use_end(struct dapl_ep_use *use)
{
	dapl_list_del(&use->link);
}

bool dapl_ep_unused(struct dapl_list *uses, const struct dapl_cm_conn *held,
		    const struct dapl_cm_conn *conn)
{
	struct dapl_ep_use *use;

	if (conn == held)
		return false;
	dapl_list_for_each(use, uses, link)
		if (use->conn == conn)
			return false;
	return true;
}

/* -------------------------------------------------------- names */

enum dapl_ep_input dapl_ep_input_of(enum dapl_cm_event event)
{
	static const enum dapl_ep_input inputs[DAPL_CM_EVENT_N] = {
		[DAPL_CM_ESTABLISHED] = DAPL_EP_IN_ESTABLISHED,
		[DAPL_CM_PEER_REJECTED] = DAPL_EP_IN_PEER_REJECTED,
		[DAPL_CM_NON_PEER_REJECTED] = DAPL_EP_IN_NON_PEER_REJECTED,
		[DAPL_CM_UNREACHABLE] = DAPL_EP_IN_UNREACHABLE,
		[DAPL_CM_ACCEPT_FAILED] = DAPL_EP_IN_NOT_ACCEPTED,
		[DAPL_CM_DISCONNECTED] = DAPL_EP_IN_DISCONNECTED,
		[DAPL_CM_BROKEN] = DAPL_EP_IN_BROKEN,
	};

	return inputs[event];
}

DAT_EP_STATE dapl_ep_dat_state(enum dapl_ep_state state)
{
	static const uint8_t seen[DAPL_EP_STATE_N] = {
		[DAPL_EP_UNCONNECTED] = DAT_EP_STATE_UNCONNECTED,
		[DAPL_EP_RESERVED] = DAT_EP_STATE_RESERVED,
		[DAPL_EP_REQUESTED] = DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		[DAPL_EP_TENTATIVE] = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
		[DAPL_EP_CONNECTING] = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		[DAPL_EP_CONNECT_SENT] = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		[DAPL_EP_ACCEPTING] = DAT_EP_STATE_COMPLETION_PENDING,
		[DAPL_EP_ACCEPT_SENT] = DAT_EP_STATE_COMPLETION_PENDING,
		[DAPL_EP_UP_EARLY] = DAT_EP_STATE_CONNECTED,
		[DAPL_EP_UP] = DAT_EP_STATE_CONNECTED,
		[DAPL_EP_CLOSE_EARLY] = DAT_EP_STATE_DISCONNECT_PENDING,
		[DAPL_EP_DRAINING] = DAT_EP_STATE_DISCONNECT_PENDING,
		[DAPL_EP_MARKED] = DAT_EP_STATE_DISCONNECT_PENDING,
		[DAPL_EP_DISCONNECTING] = DAT_EP_STATE_DISCONNECT_PENDING,
		[DAPL_EP_DISCONNECT_SENT] = DAT_EP_STATE_DISCONNECT_PENDING,
		[DAPL_EP_END_ACTIVE] = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		[DAPL_EP_END_PASSIVE] = DAT_EP_STATE_COMPLETION_PENDING,
		[DAPL_EP_END_UP] = DAT_EP_STATE_CONNECTED,
		[DAPL_EP_END_CLOSE] = DAT_EP_STATE_DISCONNECT_PENDING,
		[DAPL_EP_DISCONNECTED] = DAT_EP_STATE_DISCONNECTED,
		[DAPL_EP_RESETTING] = DAT_EP_STATE_DISCONNECTED,
		[DAPL_EP_MODIFYING] = DAT_EP_STATE_UNCONNECTED,
		[DAPL_EP_MODIFYING_RESERVED] = DAT_EP_STATE_RESERVED,
		[DAPL_EP_MODIFYING_REQUESTED] =
			DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		[DAPL_EP_MODIFYING_TENTATIVE] =
			DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
		[DAPL_EP_FREED] = DAT_EP_STATE_DISCONNECTED,
	};

	return (DAT_EP_STATE)seen[state];
}

const char *dapl_ep_state_name(enum dapl_ep_state state)
{
	static const char *const names[DAPL_EP_STATE_N] = {
		"unconnected",
		"reserved",
		"requested",
		"tentative",
		"connecting",
		"connect sent",
		"accepting",
		"accept sent",
		"up early",
		"up",
		"close early",
		"draining",
		"marked",
		"disconnecting",
		"disconnect sent",
		"end of active",
		"end of passive",
		"end of up",
		"end of close",
		"disconnected",
		"resetting",
		"modifying",
		"modifying (reserved)",
		"modifying (requested)",
		"modifying (tentative)",
		"freed",
	};

	return state < DAPL_EP_STATE_N ? names[state] : "?";
}

const char *dapl_ep_input_name(enum dapl_ep_input in)
{
	static const char *const names[DAPL_EP_IN_N] = {
		"connect",
		"reserve",
		"accept",
		"accept (requested)",
		"accept (tentative)",
		"disconnect",
		"abort",
		"reset",
		"modify",
		"free",
		"close",
		"unreserve",
		"request",
		"request over",
		"op done",
		"connect failed",
		"accept failed",
		"accept (requested) failed",
		"accept (tentative) failed",
		"disconnect failed",
		"queue empty",
		"queue busy",
		"no room for a marker",
		"queue pair in error",
		"renewed",
		"renew failed",
		"modified",
		"ESTABLISHED",
		"PEER_REJECTED",
		"NON_PEER_REJECTED",
		"UNREACHABLE",
		"NOT_ACCEPTED",
		"DISCONNECTED",
		"BROKEN",
		"timer",
		"drained",
		"completion error",
	};

	return in < DAPL_EP_IN_N ? names[in] : "?";
}
