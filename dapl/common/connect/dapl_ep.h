/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep.h - the endpoint: a queue pair, its work queues and its connection.
 *
 * Locks. ep->lock (role EP) guards the state, the connection and what is said
 * to be under it; see dapl_qp.h for the rest.
 *
 * A connection is dropped exactly once: whoever takes it out of ep->conn must
 * release it, unless an op on it is running (conn_busy); then the thread
 * inside the op does that when it returns. A queue pair that is being moved
 * (dapl_ep_move.c) is such an op, too.
 */
#ifndef DAPL_EP_H
#define DAPL_EP_H

#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/transfer/dapl_qp.h"

struct dapl_cr;

struct dapl_ep {
	union {
		struct dapl_obj obj;
		struct dapl_qp qp; /* begins with it */
	};
	struct dapl_lock lock;
	struct dapl_evd *conn_evd; /* lock; set by create and modify */
	bool draining; /* a graceful disconnect has yet to be made; lock */

	/* Connection; guarded by lock. */
	struct dapl_cm_conn *conn;	/* ours to release, or NULL */
	struct dapl_cm_conn *abandoned; /* see above */
	bool conn_busy;
	struct dapl_list moves; /* that are not over */
	bool passive;
	bool freed;
	uint64_t deadline_us; /* of the attempt; UINT64_MAX: none */
	struct dapl_timer timer;
	struct dapl_work drain_work;
	struct dapl_work broken_work;
	bool marked; /* the drain marker is posted */
	unsigned drain_wait_us;
	struct sockaddr_storage remote_addr;
	DAT_CONN_QUAL remote_qual; /* what the consumer asked for */
	DAT_PORT_QUAL remote_port;
	DAT_PORT_QUAL local_port;
	void *pdata; /* of the last event; lives until reset or free */
};

static inline struct dapl_ep *dapl_ep_from(DAT_EP_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_EP);
}

static inline void dapl_ep_set_state_locked(struct dapl_ep *ep, int state)
{
	dapl_lock_assert_held(&ep->lock);
	dapl_qp_set_state(&ep->qp, state);
}

/* dapl_ep_conn.c */

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
/* A completion failed: the connection is broken. */
void dapl_ep_broken(struct dapl_ep *ep);
/*
 * Takes the connection away from EP. Returns what the caller must release
 * once the lock is free, or NULL.
 */
struct dapl_cm_conn *dapl_ep_conn_drop_locked(struct dapl_ep *ep);
/* How a connection ended. PDATA is from malloc() and goes along. */
struct dapl_ep_end {
	DAT_EVENT_NUMBER number;
	void *pdata;
	size_t size;
};
/* The last of it, when the queue pair is in ERR: state and event. */
void dapl_ep_ended(struct dapl_ep *ep, const struct dapl_ep_end *end);
void dapl_ep_conn_release(struct dapl_ep *ep, struct dapl_cm_conn *conn);
/* Accepts CR with EP, which must be in STATE. Part of dat_cr_accept(). */
DAT_RETURN dapl_ep_accept(struct dapl_ep *ep, int state,
			  const struct dapl_cr *cr, const void *pdata,
			  size_t size, bool *ret_peer_gone);
void dapl_ep_timer(struct dapl_timer *t);
void dapl_ep_drain_poll(struct dapl_ep *ep);

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
 * dapl_ep_ended() with END. False: it is not.
 */
bool dapl_ep_move_ends(struct dapl_ep *ep, const struct dapl_ep_end *end);
/* If a move for CONN is not over: its end releases CONN. */
bool dapl_ep_move_abandon_locked(struct dapl_ep *ep,
				 const struct dapl_cm_conn *conn);

#endif
