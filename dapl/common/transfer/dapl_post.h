/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_post.h - posting a data transfer that is simply possible: the hot half
 * of the data path, inlined into each call that posts.
 *
 * A call that has its segments in another form than an LMR triplet brings them
 * into that form on its stack first, and pays for no more than that: so do
 * those of DAT 1.2. Whatever is not simply possible is for dapl_ep_post.c.
 *
 * A post checks its bounds, takes the next slot of the ring, fills a work
 * request on the stack and hands it to verbs, under the queue's own lock,
 * which also keeps ring and queue pair in the same order. No allocation, no
 * log, no system call of ours; where the driver makes one, a post runs with
 * cancellation off, and no endpoint is ready for the fast path. An LMR triplet
 * and a verbs segment have the same layout, so the vector is passed on as it
 * is. Budgets in instructions: doc/architecture.md.
 */
#ifndef DAPL_POST_H
#define DAPL_POST_H

#include <errno.h>
#include <stddef.h>

#include "dapl/common/services/dapl_likely.h"
#include "dapl/common/transfer/dapl_qp.h"

_Static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct ibv_sge) &&
		       offsetof(DAT_LMR_TRIPLET, virtual_address) ==
			       offsetof(struct ibv_sge, addr) &&
		       offsetof(DAT_LMR_TRIPLET, segment_length) ==
			       offsetof(struct ibv_sge, length) &&
		       offsetof(DAT_LMR_TRIPLET, lmr_context) ==
			       offsetof(struct ibv_sge, lkey),
	       "an LMR triplet is a verbs segment");

/*
 * What is not simply possible: dapl_ep_post.c. Out of line everywhere, so that
 * the fast path has no registers to save.
 */

/* Everything that can be wrong with a post, found slowly. */
__attribute__((cold, noinline)) DAT_RETURN
dapl_post_refused(struct dapl_qp *qp, const struct dapl_wq *wq, int err,
		  DAT_COUNT segments);
/* The same of a request that the device has refused; it may be flushed. */
__attribute__((cold, noinline)) DAT_RETURN
dapl_transfer_refused(struct dapl_qp *qp, int err, DAT_COUNT segments,
		      unsigned op, DAT_DTO_COOKIE cookie);
/* The same of a receive, which may be flushed instead. QP may be NULL. */
__attribute__((cold, noinline)) DAT_RETURN
dapl_recv_refused(struct dapl_qp *qp, int err, DAT_COUNT segments,
		  const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
		  DAT_COMPLETION_FLAGS flags);
/* A transfer that the fast path did not want: checked in the spec's order. */
__attribute__((noinline)) DAT_RETURN
dapl_transfer_slow(DAT_EP_HANDLE handle, enum ibv_wr_opcode opcode, unsigned op,
		   DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
		   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
		   uint32_t imm, DAT_COMPLETION_FLAGS flags);
/* A slot for a request where the fast path found none; or NULL. */
__attribute__((noinline)) struct dapl_slot *
dapl_slot_slow_locked(struct dapl_qp *qp);
/* The same for a receive. */
__attribute__((noinline)) struct dapl_slot *
dapl_slot_recv_slow_locked(struct dapl_wq *wq, DAT_COMPLETION_FLAGS flags);
/*
 * There is no slot for a request: it is refused, or, when the connection has
 * ended, flushed. Called with the queue's lock, returns without it.
 */
__attribute__((cold, noinline)) int
dapl_post_no_slot(struct dapl_qp *qp, DAT_DTO_COOKIE cookie, unsigned op);
/* The post was refused: its slot is free again. */
__attribute__((noinline)) void dapl_slot_undo_locked(struct dapl_wq *wq);

/* Verbs flags for the low four bits of DAT_COMPLETION_FLAGS. */
#define S IBV_SEND_SIGNALED
#define W IBV_SEND_SOLICITED
#define F IBV_SEND_FENCE
static const uint8_t dapl_send_flags[16] = {
	S,     0, S | W,     W,	    S,	   0, S | W,	 W,
	S | F, F, S | W | F, W | F, S | F, F, S | W | F, W | F,
};
#undef S
#undef W
#undef F

static inline unsigned dapl_verbs_flags(DAT_COMPLETION_FLAGS flags)
{
	return dapl_send_flags[(unsigned)flags & 15];
}

/* The next slot of WQ, or NULL when LIMIT are outstanding. Lock held. */
static inline struct dapl_slot *dapl_slot_next_locked(struct dapl_wq *wq,
						      uint32_t limit)
{
	uint32_t head = wq->head;
	struct dapl_slot *slot;

	dapl_lock_assert_held(&wq->lock);
	if (unlikely(head - __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE) >=
		     limit))
		return NULL;
	/* Before the post: its completion may be read at once. */
	__atomic_store_n(&wq->head, head + 1, __ATOMIC_RELAXED);
	slot = &wq->slots[head & wq->mask];
	slot->end = head + 1;
	return slot;
}

static inline void dapl_slot_fill(struct dapl_slot *slot, unsigned op,
				  uint32_t length, DAT_DTO_COOKIE cookie,
				  const struct dapl_wq *wq)
{
	slot->cookie = cookie;
	slot->length = length;
	slot->op = op | wq->slow_op;
}

/* WR, in SLOT, is to have no event: it is signalled now and then only. */
static inline unsigned dapl_slot_suppress_locked(struct dapl_wq *wq,
						 const struct dapl_slot *slot,
						 struct ibv_send_wr *wr)
{
	dapl_lock_assert_held(&wq->lock);
	wq->suppressed = wq->head;
	if (dapl_slot_signals(wq, slot))
		wr->send_flags |= IBV_SEND_SIGNALED;
	return DAPL_OP_SUPPRESSED;
}

/* Takes a slot for WR and posts it. 0 or an errno of either sign. */
__attribute__((always_inline)) static inline int
dapl_post_wr(struct dapl_qp *qp, struct ibv_send_wr *wr, unsigned op,
	     uint32_t length, DAT_DTO_COOKIE cookie)
{
	struct dapl_wq *wq = qp->sq;
	struct ibv_send_wr *bad;
	struct dapl_slot *slot;
	struct ibv_qp *ibv;
	int ret = ENOTCONN;

	dapl_lock(&wq->lock);
	slot = dapl_slot_next_locked(wq, wq->fast_limit);
	if (unlikely(!slot)) {
		slot = dapl_slot_slow_locked(qp);
		if (!slot)
			return dapl_post_no_slot(qp, cookie, op);
	}
	if (unlikely(!(wr->send_flags & IBV_SEND_SIGNALED)))
		op |= dapl_slot_suppress_locked(wq, slot, wr);
	dapl_slot_fill(slot, op, length, cookie, wq);
	wr->wr_id = (uintptr_t)slot;
	ibv = __atomic_load_n(&qp->ibv, __ATOMIC_ACQUIRE);
	if (likely(ibv != NULL))
		ret = qp->io.post_send(ibv, wr, &bad);
	if (unlikely(ret))
		dapl_slot_undo_locked(wq);
	dapl_unlock(&wq->lock);
	return ret;
}

static inline uint64_t dapl_iov_length(const DAT_LMR_TRIPLET *iov,
				       DAT_COUNT segments)
{
	uint64_t length = 0;

	for (DAT_COUNT i = 0; i < segments; i++)
		length += iov[i].segment_length;
	return length;
}

/* The work request of a transfer; returns its length. */
static inline uint32_t dapl_wr_fill(const struct dapl_qp *qp,
				    struct ibv_send_wr *wr,
				    enum ibv_wr_opcode opcode, unsigned op,
				    DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				    const DAT_RMR_TRIPLET *remote, uint32_t imm)
{
	uint64_t length = dapl_iov_length(iov, segments);

	wr->next = NULL;
	wr->sg_list = (struct ibv_sge *)iov;
	wr->num_sge = segments;
	wr->opcode = opcode;
	wr->send_flags = 0;
	wr->invalidate_rkey = imm; /* shares its place with imm_data */
	if (op != DAT_DTO_SEND) {
		wr->wr.rdma.remote_addr = remote->virtual_address;
		wr->wr.rdma.rkey = remote->rmr_context;
	}
	/* A read cannot be inline: its segments are where data arrives. */
	if (op != DAT_DTO_RDMA_READ && length <= qp->max_inline)
		wr->send_flags = IBV_SEND_INLINE;
	return (uint32_t)length;
}

/* A read of no segments is not plain: see dapl_transfer_slow(). */
static inline bool dapl_segments_plain(const struct dapl_qp *qp, unsigned op,
				       DAT_COUNT segments)
{
	uint32_t most = (uint32_t)qp->attr.max_request_iov;

	return op == DAT_DTO_RDMA_READ ? (uint32_t)segments - 1 < most
				       : (uint32_t)segments <= most;
}

/* A request of OPCODE, whose event will report OP. IMM: or what to invalidate.
 */
__attribute__((always_inline)) static inline DAT_RETURN
dapl_post_transfer(DAT_EP_HANDLE handle, enum ibv_wr_opcode opcode, unsigned op,
		   DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
		   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
		   uint32_t imm, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = (struct dapl_qp *)handle;
	struct ibv_send_wr wr;
	uint32_t length;
	int ret;

	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EP) ||
		     !__atomic_load_n(&qp->ready, __ATOMIC_RELAXED) ||
		     !dapl_segments_plain(qp, op, segments) || !iov ||
		     (op != DAT_DTO_SEND && !remote)))
		return dapl_transfer_slow(handle, opcode, op, segments, iov,
					  cookie, remote, imm, flags);
	length = dapl_wr_fill(qp, &wr, opcode, op, segments, iov, remote, imm);
	wr.send_flags |= dapl_verbs_flags(flags);
	ret = dapl_post_wr(qp, &wr, op, length, cookie);
	return likely(!ret)
		       ? DAT_SUCCESS
		       : dapl_transfer_refused(qp, ret, segments, op, cookie);
}

__attribute__((always_inline)) static inline DAT_RETURN
dapl_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = (struct dapl_qp *)handle;
	struct ibv_recv_wr wr, *bad;
	struct dapl_slot *slot;
	struct ibv_qp *ibv;
	struct dapl_wq *wq;
	int ret = ENOTCONN;

	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EP) ||
		     !(wq = qp->rq) ||
		     (uint32_t)segments > (uint32_t)qp->attr.max_recv_iov ||
		     (!iov && segments)))
		return dapl_recv_refused(dapl_qp_from(handle), 0, segments, iov,
					 cookie, flags);
	wr.next = NULL;
	wr.sg_list = (struct ibv_sge *)iov;
	wr.num_sge = segments;
	dapl_lock(&wq->lock);
	slot = dapl_slot_next_locked(wq, wq->fast_limit);
	if (unlikely(!slot)) {
		slot = dapl_slot_recv_slow_locked(wq, flags);
		if (!slot) {
			ret = wq->flushing ? -ESHUTDOWN : -ENOBUFS;
			dapl_unlock(&wq->lock);
			return dapl_recv_refused(qp, ret, segments, iov, cookie,
						 flags);
		}
	}
	slot->cookie = cookie;
	wr.wr_id = (uintptr_t)slot;
	ibv = __atomic_load_n(&qp->ibv, __ATOMIC_ACQUIRE);
	if (likely(ibv != NULL))
		ret = qp->io.post_recv(ibv, &wr, &bad);
	if (unlikely(ret))
		dapl_slot_undo_locked(wq);
	dapl_unlock(&wq->lock);
	return likely(!ret) ? DAT_SUCCESS
			    : dapl_recv_refused(qp, ret, segments, iov, cookie,
						flags);
}

#endif
