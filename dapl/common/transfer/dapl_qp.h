/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_qp.h - the transfer side of an endpoint: a queue pair, its work queues,
 * and what they are made of. struct dapl_ep begins with it; what connects it is
 * unknown here.
 *
 * Locks. ctl (role CTL) guards that the queue pair exists, and is the one lock
 * that may be held while verbs changes it. The work queues have locks of their
 * own (role WQ), which also guard the pointer to the queue pair for posting.
 * The state, and what the endpoint is made of, are the owner's to guard (role
 * EP); the data path reads the state without a lock.
 */
#ifndef DAPL_QP_H
#define DAPL_QP_H

#include <stddef.h>

#include "dapl/common/base/dapl_counters.h"
#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_wq.h"
#include "dapl/common/services/dapl_jobs.h"
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/verbs/vb.h"

struct dapl_pz;
struct dapl_qp_move;
struct dapl_srq;

/*
 * What its owner does when completions tell it to. No lock held. QP_ID: the
 * queue pair that they are of, which the owner may have replaced since.
 */
struct dapl_qp_ops {
	/* A request has failed: the connection is broken. */
	void (*broken)(struct dapl_obj *owner, uint64_t qp_id);
	/* The same, soon and on the service thread. With the EVD's lock. */
	void (*broken_later)(struct dapl_obj *owner, uint64_t qp_id);
	/* The marker of dapl_qp_post_marker() has completed. */
	void (*drained)(struct dapl_obj *owner, uint64_t qp_id);
};

struct dapl_qp {
	struct dapl_obj obj; /* type EP */

	/* Data path. */
	struct ibv_qp *ibv;  /* ctl, and see dapl_wq.open; NULL: none */
	struct vb_qp_ops io; /* of ibv */
	struct dapl_wq *sq;  /* constant while the queue pair exists; or NULL */
	struct dapl_wq *rq;
	uint32_t max_inline; /* bytes; total length up to it goes inline */
	/*
	 * Up to how many segments are simply posted. 0: none are, since there
	 * is no such queue, or, as state, it is not connected, RC and plain.
	 */
	uint32_t request_iov;
	uint32_t read_iov; /* the same of reads, and 0 where none may be */
	uint32_t recv_iov;
	int state; /* enum dat_ep_state */
	bool ud;
	uint8_t read_flags; /* completion flags a read may have; constant */
	DAT_EP_ATTR attr;

	const struct dapl_qp_ops *ops; /* constant */
	struct dapl_lock ctl;
	uint64_t id;		   /* ctl, atomic; see dapl_qp_id() */
	struct dapl_qp_move *move; /* ctl; it has the queue pair in hand */
	bool ending;		   /* ctl; a thread is about to destroy it */
	bool flush_heard;	   /* ctl; recv_evd counts it as flushing */
	int busy_seq;		   /* ctl; futex: counts the ends of both */
	unsigned busy_waits;	   /* ctl; threads that wait for one */

	/* What it is made of. */
	struct dapl_pz *pz; /* NULL: no queue pair yet */
	struct ibv_pd *pd;  /* of the PZ */
	struct dapl_evd *recv_evd;
	struct dapl_evd *request_evd;
	struct dapl_srq *srq;
	struct dapl_counts *counts; /* atomic; see dapl_counters.h */
	bool has_queues; /* work queues, and room on the EVDs; as sq and rq */
};

_Static_assert(offsetof(struct dapl_qp, state) <= 2 * DAPL_CACHE_LINE,
	       "what a post touches is two cache lines");

/* The endpoint with handle H; or NULL. */
static inline struct dapl_qp *dapl_qp_from(DAT_EP_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_EP);
}

/* Segments of a request, which may be a READ. */
static inline int dapl_qp_request_iov(const struct dapl_qp *qp, bool read)
{
	int most = qp->attr.max_request_iov;
	int device = qp->obj.ia->dev.max_read_sge;

	return read && device < most ? device : most;
}

/* Its owner's lock is held. */
static inline void dapl_qp_set_state(struct dapl_qp *qp, int state)
{
	bool ready = state == DAT_EP_STATE_CONNECTED && qp->sq && !qp->ud &&
		     !qp->sq->notify;
	bool reads = ready && qp->attr.max_rdma_read_out;

	__atomic_store_n(&qp->state, state, __ATOMIC_RELEASE);
	__atomic_store_n(&qp->request_iov,
			 ready ? (uint32_t)dapl_qp_request_iov(qp, false) : 0,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&qp->read_iov,
			 reads ? (uint32_t)dapl_qp_request_iov(qp, true) : 0,
			 __ATOMIC_RELEASE);
}

/* INVALID_STATE with the subtype that names STATE. */
DAT_RETURN dapl_qp_bad_state(const struct dapl_qp *qp, int state,
			     const char *call);

/*
 * The work queues and the queue pair, from what QP is made of. A queue pair
 * needs a PZ: without one, which is allowed until dat_ep_modify() brings it,
 * there are none yet. 0 or -errno.
 */
int dapl_qp_open(struct dapl_qp *qp);
/* What was posted vanishes. Also where open failed, or a renewal. */
void dapl_qp_close(struct dapl_qp *qp);
/*
 * A new queue pair for the same work queues; what was posted to the old one is
 * flushed. 0 or -errno: there is none now.
 */
int dapl_qp_renew(struct dapl_qp *qp);
/*
 * Moves the queue pair to ERR: everything posted is flushed. While it is being
 * moved that is only noted, and done at the move's end.
 */
void dapl_qp_error(struct dapl_qp *qp);
void dapl_qp_error_locked(struct dapl_qp *qp); /* ctl held */
/*
 * The connection is over, and the queue pair in ERR: whatever is posted
 * completes now, and is heard of. A device that withholds it loses
 * the queue pair for that; but not where the connection never WAS_UP, since
 * while it is being made the kernel lets go of none.
 */
void dapl_qp_over(struct dapl_qp *qp, bool was_up);
/*
 * Which of all queue pairs there ever were QP has; 0: none. Its number would
 * not tell: devices use those again.
 */
uint64_t dapl_qp_id(struct dapl_qp *qp);
/* The same with any lock held: of the one that QP has, or had last. */
static inline uint64_t dapl_qp_last_id(const struct dapl_qp *qp)
{
	return __atomic_load_n(&qp->id, __ATOMIC_ACQUIRE);
}

/*
 * Where what happens on WQ, of an endpoint, is counted: with its lock, or that
 * of the EVD that it completes on. NULL: there is no memory.
 */
__attribute__((cold, noinline)) struct dapl_counts *
dapl_wq_counts_make(struct dapl_wq *wq);
static inline struct dapl_counts *dapl_wq_counts(struct dapl_wq *wq)
{
	struct dapl_counts *c = __atomic_load_n(&wq->counts, __ATOMIC_ACQUIRE);

	return likely(c != NULL) ? c : dapl_wq_counts_make(wq);
}

/*
 * What ATTR asks of the EVD of receives, or of requests. One EVD for both that
 * is asked for different things notifies of all; so no request needs a mark,
 * and posts keep to the fast path.
 */
enum dapl_evd_config dapl_qp_config(const struct dapl_evd *recv_evd,
				    const struct dapl_evd *request_evd,
				    const DAT_EP_ATTR *attr, bool recv);
/* The work queues follow the attributes. */
void dapl_qp_notify_apply(struct dapl_qp *qp);

/* ------------------------------------------------ dapl_qp_move.c */

/*
 * A queue pair on its way through states, as a job (dapl_jobs.h), most often in
 * the hands of a helper thread: the kernel may sleep a second or more inside
 * such a change. Meanwhile nobody else calls verbs for it: who wants it in ERR
 * notes that, and the job does it as soon as the kernel lets go; who destroys
 * it waits, and only he does. A move that has not begun is called off at once.
 */
struct dapl_qp_move {
	struct dapl_job job;
	struct dapl_qp *qp;
	bool to_error; /* ctl; ERR is wanted, and no further step */
	int ret;       /* 0 or -errno; -ECANCELED: not all steps were made */
	int n;
	struct vb_qp_step step[VB_QP_STEPS];
};

/* DONE is called on the service thread when the move is over. */
void dapl_qp_move_init(struct dapl_qp_move *move, struct dapl_qp *qp,
		       const struct vb_qp_step *steps, int n,
		       void (*done)(struct dapl_job *job));
/* QP has a queue pair, and no move. Lock ctl held. */
void dapl_qp_move_start_locked(struct dapl_qp_move *move);
/*
 * MOVE is not running after this, and DONE will not come. Waits for the kernel
 * if it has begun.
 */
void dapl_qp_move_cancel(struct dapl_qp_move *move);
/*
 * If the queue pair is being moved: no further step, and ERR at the end.
 * False: it is not. Lock ctl held.
 */
bool dapl_qp_move_to_error_locked(struct dapl_qp *qp);
/* The same, and waits for it. Lock ctl held, but free meanwhile. */
void dapl_qp_move_wait_locked(struct dapl_qp *qp);
/* Waits for who is destroying the queue pair. Lock ctl as above. */
void dapl_qp_end_wait_locked(struct dapl_qp *qp);
/* He is through. */
void dapl_qp_ended(struct dapl_qp *qp);

#endif
