/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep.h - the endpoint: a queue pair, its work queues and its connection.
 *
 * Locks. ep->lock (role EP) guards the state, the connection and what is said
 * to be under it; see dapl_qp.h for the rest.
 *
 * The connection's states are a table, and what the endpoint has of DAT's state
 * follows from it (dapl_ep_states.h); only dapl_ep_conn.c feeds it.
 */
#ifndef DAPL_EP_H
#define DAPL_EP_H

#include <netinet/in.h>

#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/connect/dapl_ep_states.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/transfer/dapl_qp.h"

struct dapl_cr;

struct dapl_ep_peer {
	struct sockaddr_storage addr;
	DAT_PORT_QUAL port;
	DAT_CONN_QUAL qual; /* 0: as before */
	DAT_PORT_QUAL local_port;
};

struct dapl_ep {
	union {
		struct dapl_obj obj;
		struct dapl_qp qp; /* begins with it */
	};
	struct dapl_lock lock;
	struct dapl_evd *conn_evd; /* lock; set by create and modify */

	/* Connection; guarded by lock. */
	struct dapl_ep_fsm fsm;
	struct dapl_cm_conn *conn; /* the table's; or NULL */
	struct dapl_list uses;	   /* who is inside a connection */
	struct dapl_list moves;	   /* that are not over */
	struct dapl_list peers;	   /* of a datagram endpoint: dapl_ep_ud.h */
	bool peers_over;	   /* no more come */
	uint64_t deadline_us;	   /* of the timer; UINT64_MAX: none */
	uint64_t asked_us;	   /* the attempt's begin; 0: none of ours */
	struct dapl_timer timer;
	struct dapl_work drain_work;
	struct dapl_work broken_work;
	uint64_t broken_qp; /* atomic; whose failure that is about */
	unsigned drain_wait_us;
	struct sockaddr_in6 remote_addr; /* or another of at most its size */
	DAT_CONN_QUAL remote_qual;	 /* what the consumer asked for */
	DAT_PORT_QUAL remote_port;
	DAT_PORT_QUAL local_port;
	void *pdata; /* of the last event; lives until reset or free */
	size_t pdata_size;
};

static inline struct dapl_ep *dapl_ep_from(DAT_EP_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_EP);
}

/* dapl_ep_conn.c */

/*
 * The op of a connection manager to WHAT returned ERR. That knows better why,
 * and has said so; but want of memory it passes on.
 */
DAT_RETURN dapl_ep_op_failed(const struct dapl_ep *ep, int err,
			     const char *what);
/*
 * Counts what has come of an attempt: EVENT is reported. ASKED_US: when it was
 * begun here; 0: by the peer.
 */
void dapl_ep_count_event(const struct dapl_ep *ep, DAT_EVENT_NUMBER event,
			 uint64_t asked_us);
/* Upcalls of the connection manager; see dapl_cm.h. */
void dapl_ep_cm_event(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		      enum dapl_cm_event event, const void *pdata, size_t size);
void dapl_ep_cm_gone(struct dapl_ep *ep);
int dapl_ep_cm_qp_move(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		       const struct vb_qp_step *steps, int n,
		       dapl_cm_moved_fn *moved);
void dapl_ep_cm_qp_error(struct dapl_ep *ep, const struct dapl_cm_conn *conn);
void dapl_ep_cm_qp_stop(struct dapl_ep *ep, const struct dapl_cm_conn *conn);
/* What completions make of an endpoint. */
extern const struct dapl_qp_ops dapl_ep_qp_ops;
/* Callbacks of the service thread. */
void dapl_ep_timer(struct dapl_timer *t);
void dapl_ep_drained(struct dapl_work *w);
void dapl_ep_broken(struct dapl_work *w);
/* The queue pair is in ERR, which dapl_ep_move_ends() had put off. */
void dapl_ep_qp_in_error(struct dapl_ep *ep);
/* USE of a connection ends, and perhaps with it the connection. */
void dapl_ep_leave(struct dapl_ep *ep, struct dapl_ep_use *use);

/*
 * Accepts CR with EP, which is the CR's own or the consumer's, as the input
 * ACCEPT says. Part of dat_cr_accept().
 */
DAT_RETURN dapl_ep_accept(struct dapl_ep *ep, enum dapl_ep_input accept,
			  const struct dapl_cr *cr, const void *pdata,
			  size_t size, bool *ret_peer_gone);
/* For an RSP; and it ends without a request. */
DAT_RETURN dapl_ep_reserve(struct dapl_ep *ep);
void dapl_ep_unreserve(struct dapl_ep *ep);
/* The RSP has a request. False: EP cannot have it any more. */
bool dapl_ep_request(struct dapl_ep *ep);
/* The request that brings EP has ended without success. */
void dapl_ep_request_over(struct dapl_ep *ep);
/*
 * EP is about to be modified: nothing begins with it until dapl_ep_modified().
 * Or why not. *RET_SEEN: its state, which says what may be modified.
 */
DAT_RETURN dapl_ep_modify_begin(struct dapl_ep *ep, int *ret_seen);
void dapl_ep_modified(struct dapl_ep *ep);
/* Whether dat_ep_free() is allowed. */
DAT_RETURN dapl_ep_may_free(struct dapl_ep *ep);
/* The handle is retired: gives the connection up, and nothing is told. */
void dapl_ep_close(struct dapl_ep *ep);

DAT_RETURN dapl_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr,
			   DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			   DAT_COUNT pdata_size, const DAT_PVOID pdata,
			   DAT_QOS qos, DAT_CONNECT_FLAGS flags);
DAT_RETURN dapl_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup,
			       DAT_TIMEOUT timeout, DAT_COUNT pdata_size,
			       const DAT_PVOID pdata, DAT_QOS qos);
DAT_RETURN dapl_ep_common_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr,
				  DAT_TIMEOUT timeout, DAT_COUNT pdata_size,
				  const DAT_PVOID pdata);
DAT_RETURN dapl_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags);
DAT_RETURN dapl_ep_reset(DAT_EP_HANDLE handle);

/* dapl_ep_move.c */

/*
 * If EP's queue pair is being moved: no further step, ERR at the end, and
 * dapl_ep_qp_in_error(). False: it is not.
 */
bool dapl_ep_move_ends(struct dapl_ep *ep);

#endif
