/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_states.h - the connection of an endpoint, as a pure table.
 *
 * (state, input) -> (state, effects). No lock, clock, allocation or I/O:
 * dapl_ep_conn.c feeds it with the endpoint's lock held, and carries the
 * effects out; a simulation does so with the very same table. It demands
 *  - that an input which is about a connection (results of its ops, what its
 *    connection manager reports, whether its requests are done) comes only
 *    while that is the endpoint's: from DAPL_EP_DO_TAKE to DAPL_EP_DO_LEAVE or
 *    DAPL_EP_DO_RETURN. Later ones are stale, and dropped;
 *  - that the timer is an input only once what was last armed is due.
 *
 * The states are finer than those of DAT: what runs on the connection, and what
 * is waited for, are states too. dapl_ep_dat_state() tells what of it the
 * consumer sees.
 *
 * Rules: DAT 2.0 endpoint states (doc/conformance.md), and dapl_cm.h.
 */
#ifndef DAPL_EP_STATES_H
#define DAPL_EP_STATES_H

#include <dat2/udat.h>
#include <stdbool.h>

#include "dapl/common/cm/base/dapl_cm_event.h"
#include "dapl/common/services/dapl_list.h"

struct dapl_cm_conn;

enum dapl_ep_state {
	DAPL_EP_UNCONNECTED,
	DAPL_EP_RESERVED,     /* of an RSP that has no request yet */
	DAPL_EP_REQUESTED,    /* of its request */
	DAPL_EP_TENTATIVE,    /* made for a request */
	DAPL_EP_CONNECTING,   /* connect() runs */
	DAPL_EP_CONNECT_SENT, /* it has returned, without a result yet */
	DAPL_EP_ACCEPTING,    /* accept() runs */
	DAPL_EP_ACCEPT_SENT,
	DAPL_EP_UP_EARLY,	 /* established, and that op runs on */
	DAPL_EP_UP,		 /* established */
	DAPL_EP_CLOSE_EARLY,	 /* graceful disconnect, and that op runs on */
	DAPL_EP_DRAINING,	 /* requests are awaited */
	DAPL_EP_MARKED,		 /* and a marker is posted behind the last */
	DAPL_EP_DISCONNECTING,	 /* disconnect() runs */
	DAPL_EP_DISCONNECT_SENT, /* its event is awaited */
	/*
	 * The connection has ended and is given up; the event follows when the
	 * queue pair is in ERR, which takes a while if the kernel has it in
	 * hand. To the consumer it is what it was.
	 */
	DAPL_EP_END_ACTIVE,
	DAPL_EP_END_PASSIVE,
	DAPL_EP_END_UP,
	DAPL_EP_END_CLOSE,
	DAPL_EP_DISCONNECTED,
	DAPL_EP_RESETTING, /* the queue pair is made anew */
	/* So it is in dat_ep_modify(), of an endpoint that was this before. */
	DAPL_EP_MODIFYING,
	DAPL_EP_MODIFYING_RESERVED,
	DAPL_EP_MODIFYING_REQUESTED,
	DAPL_EP_MODIFYING_TENTATIVE,
	DAPL_EP_FREED,
	DAPL_EP_STATE_N
};

enum dapl_ep_input {
	/* The consumer's calls. */
	DAPL_EP_IN_CONNECT,
	DAPL_EP_IN_RESERVE,	     /* for an RSP */
	DAPL_EP_IN_ACCEPT,	     /* a request that brings no endpoint */
	DAPL_EP_IN_ACCEPT_REQUESTED, /* one of an RSP, with the RSP's */
	DAPL_EP_IN_ACCEPT_TENTATIVE, /* with what was made for it */
	DAPL_EP_IN_DISCONNECT,	     /* gracefully */
	DAPL_EP_IN_ABORT,	     /* disconnect abruptly */
	DAPL_EP_IN_RESET,
	DAPL_EP_IN_MODIFY, /* begins; MODIFIED follows */
	DAPL_EP_IN_FREE,   /* may it be freed? */
	DAPL_EP_IN_CLOSE,  /* its handle is retired: nobody calls any more */
	/* What becomes of its service point and its request. */
	DAPL_EP_IN_UNRESERVE,
	DAPL_EP_IN_REQUEST,
	DAPL_EP_IN_REQUEST_OVER, /* without success */
	/* Results of effects. */
	DAPL_EP_IN_OP_DONE,
	DAPL_EP_IN_CONNECT_FAILED,
	DAPL_EP_IN_ACCEPT_FAILED,
	DAPL_EP_IN_ACCEPT_REQUESTED_FAILED,
	DAPL_EP_IN_ACCEPT_TENTATIVE_FAILED,
	DAPL_EP_IN_DISCONNECT_FAILED,
	DAPL_EP_IN_QUEUE_EMPTY, /* also: no marker can be had */
	DAPL_EP_IN_QUEUE_BUSY,
	DAPL_EP_IN_MARKER_NO_ROOM, /* as yet */
	DAPL_EP_IN_QP_IN_ERROR,
	DAPL_EP_IN_RENEWED,
	DAPL_EP_IN_RENEW_FAILED,
	DAPL_EP_IN_MODIFIED, /* or not: it has ended */
	/* The connection manager reports. */
	DAPL_EP_IN_ESTABLISHED,
	DAPL_EP_IN_PEER_REJECTED,
	DAPL_EP_IN_NON_PEER_REJECTED,
	DAPL_EP_IN_UNREACHABLE,
	DAPL_EP_IN_NOT_ACCEPTED, /* accepted, but it came to nothing */
	DAPL_EP_IN_DISCONNECTED,
	DAPL_EP_IN_BROKEN,
	/* Others. */
	DAPL_EP_IN_TIMER,
	DAPL_EP_IN_DRAINED,	     /* look whether the requests are done */
	DAPL_EP_IN_COMPLETION_ERROR, /* the connection is broken */
	DAPL_EP_IN_N
};

enum dapl_ep_effect {
	DAPL_EP_DO_END_OF_LIST,
	/* INVALID_STATE for the caller, named by what he sees. */
	DAPL_EP_DO_REFUSE,
	/* The connection of the input becomes the endpoint's. */
	DAPL_EP_DO_TAKE,
	/* It is the endpoint's no more: release it, see dapl_ep_use. */
	DAPL_EP_DO_LEAVE,
	/* It is the request's again. */
	DAPL_EP_DO_RETURN,
	DAPL_EP_DO_REMEMBER_PEER, /* that came with the input */
	DAPL_EP_DO_FORGET_PEER,
	DAPL_EP_DO_KEEP_PDATA, /* that came with the input, if any did */
	DAPL_EP_DO_FREE_PDATA,
	/* The one timer, anew. */
	DAPL_EP_DO_ARM_DEADLINE, /* the consumer's, if he set one */
	DAPL_EP_DO_ARM_PAUSE,	 /* a pause longer than the last */
	DAPL_EP_DO_DISARM,
	/*
	 * Call the connection manager: connect() or accept() as the input says,
	 * else disconnect(). The result is an input.
	 */
	DAPL_EP_DO_OP,
	/* See whether requests are outstanding; the result is an input. */
	DAPL_EP_DO_CHECK_QUEUE,
	/* DAPL_EP_IN_DRAINED, on the service thread. */
	DAPL_EP_DO_CHECK_LATER,
	/* Only a failure is an input. */
	DAPL_EP_DO_POST_MARKER,
	/*
	 * Queue pair to ERR. The result is an input, once: if the kernel is
	 * moving the queue pair just now, when it is through.
	 */
	DAPL_EP_DO_QP_ERROR,
	DAPL_EP_DO_RENEW_QP, /* the result is an input */
	/* A disconnected endpoint takes no more from its SRQ: tell of it. */
	DAPL_EP_DO_LAST_RECEIVE,
	/* What has completed goes before the event that follows. */
	DAPL_EP_DO_COMPLETIONS,
	DAPL_EP_DO_EVENT,     /* effects.event */
	DAPL_EP_DO_TAKE_BACK, /* the provider frees what it had made */
	DAPL_EP_DO_N
};

#define DAPL_EP_EFFECTS_MAX 5

struct dapl_ep_effects {
	int n;
	enum dapl_ep_effect e[DAPL_EP_EFFECTS_MAX];
	DAT_EVENT_NUMBER event;
};

/* All zero is an unconnected endpoint. */
struct dapl_ep_fsm {
	enum dapl_ep_state state;
	DAT_EVENT_NUMBER end; /* what the event will be; in the END states */
};

void dapl_ep_step(struct dapl_ep_fsm *fsm, enum dapl_ep_input in,
		  struct dapl_ep_effects *ret_out);
/* False: our own layers must not do that. It is ignored in releases. */
bool dapl_ep_expects(enum dapl_ep_state state, enum dapl_ep_input in);
/* What the connection manager reports, as an input. */
enum dapl_ep_input dapl_ep_input_of(enum dapl_cm_event event);
/* What the consumer sees. */
DAT_EP_STATE dapl_ep_dat_state(enum dapl_ep_state state);
const char *dapl_ep_state_name(enum dapl_ep_state state);
const char *dapl_ep_input_name(enum dapl_ep_input in);

/*
 * Who is inside a connection: an op of the connection manager that runs on it,
 * or a move of the queue pair for it. It is released by whoever is the last to
 * leave it, the endpoint included; so it never is while somebody is inside,
 * though the endpoint may have another one by then. One list per endpoint.
 */
struct dapl_ep_use {
	struct dapl_list link;
	struct dapl_cm_conn *conn;
};

void dapl_ep_use_begin(struct dapl_list *uses, struct dapl_ep_use *use,
		       struct dapl_cm_conn *conn);
void dapl_ep_use_end(struct dapl_ep_use *use);
/* Whether nobody is inside CONN, nor is it HELD, which the endpoint has. */
bool dapl_ep_unused(struct dapl_list *uses, const struct dapl_cm_conn *held,
		    const struct dapl_cm_conn *conn);

#endif
