/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep.h - the endpoint: a queue pair, its work queues and its connection.
 *
 * Locks. ep->lock (role EP) guards the state, the connection and what is said
 * to be under it. ep->ctl (role CTL) guards that the queue pair exists, and is
 * the one lock that may be held while verbs changes it. The work queues have
 * locks of their own (role WQ), which also guard the pointer to the queue pair
 * for posting. The data path reads the state without a lock.
 *
 * A connection is dropped exactly once: whoever takes it out of ep->conn must
 * release it, unless an op on it is running (conn_busy); then the thread
 * inside the op does that when it returns. A queue pair that is being moved
 * (dapl_ep_move.c) is such an op, too.
 */
#ifndef DAPL_EP_H
#define DAPL_EP_H

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/objects/dapl_pz.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/transfer/dapl_wq.h"

struct dapl_cr;
struct dapl_ep_move;
struct dapl_srq;

struct dapl_ep {
	struct dapl_obj obj;

	/* Data path. */
	struct ibv_qp *qp;  /* ctl; atomic, see qp_take(); NULL: none */
	struct dapl_wq *sq; /* constant while the queue pair exists; or NULL */
	struct dapl_wq *rq;
	uint32_t max_inline; /* bytes; total length up to it goes inline */
	bool ready;	     /* connected, RC, plain send queue; as state */
	int state;	     /* enum dat_ep_state; lock; read without */
	bool draining; /* a graceful disconnect has yet to be made; lock */
	bool ud;
	bool slow_posts; /* cancellation points; never ready; constant */

	struct dapl_lock ctl;
	uint64_t qp_id;		   /* ctl */
	struct dapl_ep_move *move; /* ctl; it has the queue pair, see there */
	int move_seq;		   /* ctl; futex: counts the ends of moves */
	struct dapl_lock lock;

	/* Set by create and modify; guarded by lock. */
	DAT_EP_ATTR attr;
	struct dapl_pz *pz;
	struct dapl_evd *recv_evd;
	struct dapl_evd *request_evd;
	struct dapl_evd *conn_evd;
	struct dapl_srq *srq;
	bool has_queues; /* work queues, and room on the EVDs; as sq and rq */

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
	bool ready = state == DAT_EP_STATE_CONNECTED && ep->sq && !ep->ud &&
		     !ep->slow_posts && !ep->sq->notify;

	dapl_lock_assert_held(&ep->lock);
	__atomic_store_n(&ep->state, state, __ATOMIC_RELEASE);
	__atomic_store_n(&ep->ready, ready, __ATOMIC_RELEASE);
}

/* dapl_ep.c */

/* INVALID_STATE with the subtype that names STATE. */
DAT_RETURN dapl_ep_bad_state(const struct dapl_ep *ep, int state,
			     const char *call);
/*
 * Moves the queue pair to ERR: everything posted is flushed. While it is being
 * moved that is only noted, and done at the move's end.
 */
void dapl_ep_qp_error(struct dapl_ep *ep);
void dapl_ep_qp_error_locked(struct dapl_ep *ep); /* ctl held */
/* What dat_ep_modify() wants an endpoint to become. */
struct dapl_ep_new_parts {
	DAT_EP_ATTR attr;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv_evd;
	DAT_EVD_HANDLE request_evd;
	DAT_EVD_HANDLE conn_evd;
};
/*
 * Gives an unconnected endpoint other parts: checks them, and makes its queues
 * and queue pair anew if it must, which is refused while receives are posted.
 * After a failure the endpoint is as it was.
 */
DAT_RETURN dapl_ep_rebuild(struct dapl_ep *ep,
			   const struct dapl_ep_new_parts *wish);
/* Makes the queue pair anew for a reset endpoint. 0 or -errno. */
int dapl_ep_qp_renew(struct dapl_ep *ep);
/*
 * Which of all queue pairs there ever were EP has; 0: none. Its number would
 * not tell: devices use those again.
 */
uint64_t dapl_ep_qp_id(struct dapl_ep *ep);

/*
 * An endpoint of the provider's own making for a request: TENTATIVE, default
 * attributes, no PZ and no EVDs. The caller gets a reference besides the
 * consumer's, who can see the endpoint from here on.
 */
DAT_RETURN dapl_ep_provide(struct dapl_ia *ia, struct dapl_ep **ret_ep);

DAT_RETURN dapl_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			  DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			  DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ret_ep);
DAT_RETURN dapl_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
				   DAT_EVD_HANDLE recv_evd,
				   DAT_EVD_HANDLE request_evd,
				   DAT_EVD_HANDLE connect_evd,
				   DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
				   DAT_EP_HANDLE *ret_ep);
DAT_RETURN dapl_ep_free(DAT_EP_HANDLE handle);

/* dapl_ep_attr.c: query and modify */

/*
 * Checks ATTR against the device and fills in defaults (NULL: all of them).
 * SRQ: receives come from elsewhere.
 */
DAT_RETURN dapl_ep_attr_check(struct dapl_ia *ia, const DAT_EP_ATTR *attr,
			      bool recv_evd, bool request_evd, bool srq,
			      DAT_EP_ATTR *ret_attr);
DAT_RETURN dapl_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask,
			 DAT_EP_PARAM *ret_param);
DAT_RETURN dapl_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask,
			  const DAT_EP_PARAM *param);
DAT_RETURN dapl_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *ret_state,
			      DAT_BOOLEAN *ret_recv_idle,
			      DAT_BOOLEAN *ret_request_idle);
DAT_RETURN dapl_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *ret_allocated,
			      DAT_COUNT *ret_span);
DAT_RETURN dapl_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft,
				 DAT_COUNT hard);

/* dapl_ep_conn.c */

/* Upcalls of the connection manager; see dapl_cm.h. */
void dapl_ep_cm_event(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		      enum dapl_cm_event event, const void *pdata, size_t size);
void dapl_ep_cm_gone(struct dapl_ep *ep);
int dapl_ep_cm_qp_move(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		       const struct dapl_cm_step *steps, int n,
		       dapl_cm_moved_fn *moved);
void dapl_ep_cm_qp_error(struct dapl_ep *ep, const struct dapl_cm_conn *conn);
void dapl_ep_cm_qp_stop(struct dapl_ep *ep, const struct dapl_cm_conn *conn);
/* A completion failed: the connection is broken. */
void dapl_ep_broken(struct dapl_ep *ep);
/* The send queue of a gracefully disconnecting endpoint is empty. */
void dapl_ep_drained(struct dapl_ep *ep);
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
 * If EP's queue pair is being moved: no further step, and ERR at the end.
 * False: it is not. Lock ctl held.
 */
bool dapl_ep_move_to_error_locked(struct dapl_ep *ep);
/* The same, and waits for it. Lock ctl held, but free meanwhile. */
void dapl_ep_move_wait_locked(struct dapl_ep *ep);
/* The same without waiting; dapl_ep_ended() with END follows, if true. */
bool dapl_ep_move_ends(struct dapl_ep *ep, const struct dapl_ep_end *end);
/* If a move for CONN is not over: its end releases CONN. */
bool dapl_ep_move_abandon_locked(struct dapl_ep *ep,
				 const struct dapl_cm_conn *conn);

/* dapl_ep_post.c */

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT segments,
				  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT segments,
				   DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_send_with_invalidate(
	DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
	DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT rmr_context);
DAT_RETURN dapl_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE handle,
					 const DAT_RMR_TRIPLET *local,
					 DAT_DTO_COOKIE cookie,
					 const DAT_RMR_TRIPLET *remote,
					 DAT_COMPLETION_FLAGS flags);

/* RDMA write that carries a number to the peer's receive (IB extension). */
DAT_RETURN dapl_ep_post_write_immed(DAT_EP_HANDLE handle, DAT_COUNT segments,
				    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote, uint32_t imm,
				    DAT_COMPLETION_FLAGS flags);

struct ibv_send_wr;
/*
 * Posts WR (opcode, remote part and segments filled in) as operation OP with
 * LENGTH bytes. For the extension operations and binds.
 */
DAT_RETURN dapl_ep_post_request(struct dapl_ep *ep, struct ibv_send_wr *wr,
				unsigned op, uint32_t length,
				DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);
/* Binds MW (type 1) as BIND says; its new key is known at once. */
DAT_RETURN dapl_ep_post_bind(struct dapl_ep *ep, struct ibv_mw *mw,
			     struct ibv_mw_bind *bind, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags,
			     DAT_RMR_CONTEXT *ret_key);
/* A request of our own whose completion proves that all before it are done. */
int dapl_ep_post_marker(struct dapl_ep *ep);

#endif
