/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_srq_queue.h - a shared receive queue, as transfers see it.
 *
 * Buffers of an SRQ complete in any order and on the EVDs of several
 * endpoints, so its slots are a free list and not a ring, under a lock of role
 * WQ that the completing side takes as well (after the EVD's: see
 * doc/locking.md). Which endpoint took a buffer is known by its queue pair
 * number. A lock of role SRQ, taken before any CTL, orders what changes or
 * depends on the size: resizing and the endpoints that come and go.
 */
#ifndef DAPL_SRQ_QUEUE_H
#define DAPL_SRQ_QUEUE_H

#include <errno.h>

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/event/dapl_wq.h"
#include "dapl/common/services/dapl_likely.h"
#include "dapl/common/verbs/vb.h"

struct dapl_evd;
struct dapl_pz;
struct dapl_qp;

struct srq_user {
	uint32_t qp_num;
	struct dapl_qp *qp; /* NULL: free */
};

struct srq_chunk;
struct srq_evd;

struct dapl_srq {
	struct dapl_obj obj;

	/* Data path. */
	struct ibv_srq *ibv;
	struct vb_srq_ops ops; /* of ibv; constant */
	DAT_COUNT max_recv_iov;
	DAT_COUNT max_recv_dtos; /* lock; written with ctl as well */
	struct dapl_lock lock;	 /* role WQ: what says so */
	struct dapl_slot *free;	 /* lock; linked through cookie.as_ptr */
	struct srq_user *users;	 /* lock */
	uint32_t users_size;	 /* lock; power of two */
	uint32_t outstanding;	 /* lock; posted and not yet completed */

	uint32_t users_count;	 /* lock */
	DAT_COUNT low_watermark; /* lock; armed, or 0 */
	DAT_SRQ_STATE state;	 /* lock */
	bool datagrams; /* lock; an endpoint of them receives here, or did */
	struct dapl_pz *pz; /* only a name here */

	struct dapl_lock ctl;	  /* role SRQ: sizes, and what is next */
	struct srq_chunk *chunks; /* only ever more; lock as well */
	struct srq_evd *evds;
	uint32_t slots; /* in all chunks */
};

/* Where locks are small; those that are watched are larger. */
_Static_assert(sizeof(struct dapl_lock) > 2 * sizeof(uintptr_t) ||
		       offsetof(struct dapl_srq, users_count) <=
			       2 * DAPL_CACHE_LINE,
	       "what a post and a completion touch is two cache lines");

static inline struct dapl_srq *dapl_srq_from(DAT_SRQ_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_SRQ);
}

/* A new object without slots; and what is left of one. */
void dapl_srq_queue_init(struct dapl_srq *srq);
void dapl_srq_queue_fini(struct dapl_srq *srq);
/* Makes sure that there are COUNT slots. 0 or -ENOMEM. Lock ctl held. */
int dapl_srq_slots_add_ctl(struct dapl_srq *srq, uint32_t count);
/*
 * N more completions (or fewer) may come to each EVD: on all or on none. 0 or
 * -errno. Lock ctl held.
 */
int dapl_srq_evds_reserve_ctl(struct dapl_srq *srq, int n);

/* A queue pair begins or ends to take buffers from SRQ. 0 or -ENOMEM. */
int dapl_srq_qp_enter(struct dapl_srq *srq, struct dapl_qp *qp,
		      uint32_t qp_num);
void dapl_srq_qp_leave(struct dapl_srq *srq, struct dapl_qp *qp);
/* Room on EVD for completions of all of SRQ's buffers, while it is attached. */
int dapl_srq_evd_attach(struct dapl_srq *srq, struct dapl_evd *evd);
void dapl_srq_evd_detach(struct dapl_srq *srq, struct dapl_evd *evd);

/* SLOT has completed on QP_NUM: it is free again. Returns the endpoint. */
struct dapl_qp *dapl_srq_complete(struct dapl_slot *slot, uint32_t qp_num);
DAT_RETURN dapl_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
			      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie);

/* The next free slot, or NULL when as many are out as may be. */
static inline struct dapl_slot *dapl_srq_slot_take_locked(struct dapl_srq *srq)
{
	struct dapl_slot *slot = srq->free;

	dapl_lock_assert_held(&srq->lock);
	if (srq->outstanding >= (uint32_t)srq->max_recv_dtos)
		return NULL;
	srq->free = slot->cookie.as_ptr;
	srq->outstanding++;
	return slot;
}

static inline void dapl_srq_slot_return_locked(struct dapl_srq *srq,
					       struct dapl_slot *slot)
{
	dapl_lock_assert_held(&srq->lock);
	slot->cookie.as_ptr = srq->free;
	srq->free = slot;
	srq->outstanding--;
}

/* Why a post is refused: ERR, or if that is 0 the arguments. */
__attribute__((cold, noinline)) DAT_RETURN
dapl_srq_post_refused(DAT_SRQ_HANDLE handle, int err, DAT_COUNT segments);
/* The device has refused the slot WR_ID. With the lock, returns without it. */
__attribute__((cold, noinline)) DAT_RETURN
dapl_srq_post_undo(struct dapl_srq *srq, int err, uint64_t wr_id,
		   DAT_COUNT segments);
/* A post that has no bias. */
__attribute__((noinline)) DAT_RETURN dapl_srq_post_slow(DAT_SRQ_HANDLE handle,
							DAT_COUNT segments,
							DAT_LMR_TRIPLET *iov,
							DAT_DTO_COOKIE cookie);

/* With the lock, returns without it. MINE: it is by dapl_lock_mine(). */
__attribute__((always_inline)) static inline DAT_RETURN
dapl_srq_post_locked(struct dapl_srq *srq, DAT_COUNT segments,
		     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie, bool mine)
{
	struct dapl_slot *slot = dapl_srq_slot_take_locked(srq);
	struct ibv_recv_wr wr, *bad;
	int ret;

	if (unlikely(!slot)) {
		dapl_unlock_as(&srq->lock, mine);
		return dapl_srq_post_refused((DAT_SRQ_HANDLE)srq, -ENOBUFS,
					     segments);
	}
	slot->cookie = cookie;
	wr.wr_id = (uintptr_t)slot;
	wr.next = NULL;
	wr.sg_list = (struct ibv_sge *)iov;
	wr.num_sge = segments;
	ret = srq->ops.post_recv(srq->ibv, &wr, &bad);
	dapl_opaque(srq);
	if (unlikely(ret)) {
		dapl_lock_keep_as(&srq->lock, mine);
		return dapl_srq_post_undo(srq, ret, wr.wr_id, wr.num_sge);
	}
	dapl_unlock_as(&srq->lock, mine);
	return DAT_SUCCESS;
}

/* The post itself, inlined as in dapl_post.h. */
__attribute__((always_inline)) static inline DAT_RETURN
dapl_srq_post(DAT_SRQ_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	      DAT_DTO_COOKIE cookie)
{
	struct dapl_srq *srq = (struct dapl_srq *)handle;

	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_SRQ) ||
		     (uint32_t)segments > (uint32_t)srq->max_recv_iov ||
		     (segments && !iov)))
		return dapl_srq_post_refused(handle, 0, segments);
	if (unlikely(!dapl_lock_mine(&srq->lock)))
		return dapl_srq_post_slow(handle, segments, iov, cookie);
	return dapl_srq_post_locked(srq, segments, iov, cookie, true);
}

#endif
