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
 * log, no system call of ours; where the driver makes one, the verbs layer
 * turns cancellation off for it. An LMR triplet and a verbs segment have the
 * same layout, so the vector is passed on as it is. Budgets in instructions:
 * doc/architecture.md.
 *
 * COUNT is constant where these are inlined: the id that the post is counted
 * as, DCNT_EP_POST_*, or DAPL_UNCOUNTED.
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

#define DAPL_UNCOUNTED (-1)

/* A transfer as it was asked for. */
struct dapl_transfer {
	int count;
	enum ibv_wr_opcode opcode;
	unsigned op; /* what its event will report */
	DAT_COUNT segments;
	DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	const DAT_RMR_TRIPLET *remote;
	uint32_t imm; /* or what to invalidate */
	DAT_COMPLETION_FLAGS flags;
};

/*
 * What is not simply possible: dapl_ep_post.c. The fast path calls it last, and
 * nothing else but verbs, so that it has hardly a register to save. LOCKED:
 * with the lock of the queue, not held any more on return.
 */

/*
 * A transfer that the fast path did not want: checked in the spec's order. If
 * it is for the lock, that is tried without its bias first.
 */
__attribute__((noinline)) DAT_RETURN
dapl_transfer_slow(DAT_EP_HANDLE handle, const struct dapl_transfer *t,
		   bool locked);
/* The same of a receive. */
__attribute__((noinline)) DAT_RETURN
dapl_recv_slow(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, int count,
	       bool locked);
/*
 * The device has refused with ERR what is in the slot WR_ID of WQ, and has been
 * counted; it may be flushed instead. Called with the queue's lock, returns
 * without it.
 */
__attribute__((cold, noinline)) DAT_RETURN
dapl_transfer_refused(struct dapl_wq *wq, int err, uint64_t wr_id, int segments,
		      int count);
__attribute__((cold, noinline)) DAT_RETURN
dapl_recv_refused(struct dapl_wq *wq, int err, uint64_t wr_id,
		  struct ibv_sge *iov, int segments, int count);
/*
 * EP took a post of another way than these, behind so many that were
 * outstanding BEFORE.
 */
void dapl_posted(struct dapl_qp *qp, int count, uint64_t length,
		 uint32_t before);
/* How many are outstanding: receives, if RECV. What EP is is not known yet. */
uint32_t dapl_outstanding(DAT_EP_HANDLE ep, bool recv);

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

/*
 * Of a request with FLAGS, that may be INLINEd or not; but not behind a fence:
 * the data may be what a read before has yet to bring, and inline it is copied
 * now.
 */
static inline unsigned dapl_verbs_flags(const struct dapl_qp *qp, unsigned op,
					DAT_COMPLETION_FLAGS flags,
					unsigned inline_flag)
{
	unsigned verbs =
		dapl_send_flags[(unsigned)flags &
				(op == DAT_DTO_RDMA_READ ? qp->read_flags
							 : 15)];

	return verbs & IBV_SEND_FENCE ? verbs : verbs | inline_flag;
}

/*
 * Where a post is counted; NULL: it is not, or WQ cannot yet, which the slow
 * way makes it. Lock held.
 */
static inline struct dapl_counts *
dapl_wq_counts_locked(const struct dapl_wq *wq, int count)
{
	dapl_lock_assert_held(&wq->lock);
	return count == DAPL_UNCOUNTED
		       ? NULL
		       : __atomic_load_n(&wq->counts, __ATOMIC_ACQUIRE);
}

/* What goes into SLOT. */
static inline void dapl_wq_count_locked(const struct dapl_wq *wq,
					struct dapl_counts *c,
					const struct dapl_slot *slot, int count,
					uint64_t length)
{
	int most = count == DCNT_EP_POST_RECV ? DAPL_EP_RECEIVES_MOST
					      : DAPL_EP_REQUESTS_MOST;

	dapl_lock_assert_held(&wq->lock);
	dapl_count_own(&c->fast[count], 1);
	dapl_count_own(&c->fast[count + 1], length); /* its _DATA */
	dapl_count_own_most(
		&c->fast[most],
		dapl_wq_between(wq,
				__atomic_load_n(&wq->tail, __ATOMIC_RELAXED),
				slot + 1));
}

/*
 * The next slot of WQ, or NULL: the slow way knows why. Who keeps a queue full
 * comes to the end of what could be seen with each post. Lock held.
 */
static inline struct dapl_slot *dapl_slot_next_locked(struct dapl_wq *wq)
{
	dapl_lock_assert_held(&wq->lock);
	if (unlikely(wq->head == wq->stop)) {
		dapl_wq_look_locked(wq);
		if (unlikely(wq->head == wq->stop))
			return NULL;
	}
	return dapl_wq_advance_locked(wq);
}

/* WR, in SLOT, is to have no event: it is signalled now and then only. */
static inline unsigned dapl_slot_suppress_locked(struct dapl_wq *wq,
						 const struct dapl_slot *slot,
						 struct ibv_send_wr *wr)
{
	dapl_lock_assert_held(&wq->lock);
	dapl_wq_suppress_locked(wq);
	if (dapl_slot_signals(wq, slot))
		wr->send_flags |= IBV_SEND_SIGNALED;
	return DAPL_OP_SUPPRESSED;
}

/*
 * What a message, and verbs' word for its length, can hold. Drivers add up in
 * 32 bits: of more they would send what is left over.
 */
#define DAPL_LENGTH_MAX UINT32_MAX

static inline uint64_t dapl_iov_length(const DAT_LMR_TRIPLET *iov,
				       DAT_COUNT segments)
{
	uint64_t length = 0;

	for (DAT_COUNT i = 0; i < segments; i++)
		length += iov[i].segment_length;
	return length;
}

/* The work request of a transfer of LENGTH bytes, but for wr_id. */
__attribute__((always_inline)) static inline void
dapl_wr_fill(const struct dapl_qp *qp, struct ibv_send_wr *wr,
	     enum ibv_wr_opcode opcode, unsigned op, DAT_COUNT segments,
	     DAT_LMR_TRIPLET *iov, uint64_t length,
	     const DAT_RMR_TRIPLET *remote, uint32_t imm,
	     DAT_COMPLETION_FLAGS flags)
{
	unsigned send_flags = IBV_SEND_SIGNALED;

	/* A read cannot be inline: its segments are where data arrives. */
	if (op != DAT_DTO_RDMA_READ) {
		send_flags |= IBV_SEND_INLINE;
		if (unlikely(length > qp->max_inline)) {
			send_flags = IBV_SEND_SIGNALED;
			/* A branch is less than what it is computed by. */
			dapl_opaque(send_flags);
		}
	}
	wr->next = NULL;
	wr->sg_list = (struct ibv_sge *)iov;
	wr->num_sge = segments;
	wr->opcode = opcode;
	wr->send_flags = send_flags;
	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	    opcode == IBV_WR_SEND_WITH_INV)
		wr->invalidate_rkey = imm; /* shares its place with imm_data */
	if (op != DAT_DTO_SEND) {
		wr->wr.rdma.remote_addr = remote->virtual_address;
		wr->wr.rdma.rkey = remote->rmr_context;
	}
	if (unlikely((unsigned)flags & 15))
		wr->send_flags = dapl_verbs_flags(qp, op, flags,
						  send_flags & IBV_SEND_INLINE);
}

/*
 * Whether a transfer is done, with *RET; if not, *LOCKED says if it is locked.
 * MINE, a constant: by dapl_lock_mine(), or without bias.
 */
__attribute__((always_inline)) static inline bool
dapl_transfer_fast(DAT_EP_HANDLE handle, enum ibv_wr_opcode opcode, unsigned op,
		   DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
		   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
		   uint32_t imm, DAT_COMPLETION_FLAGS flags, int count,
		   bool mine, bool *locked, DAT_RETURN *ret)
{
	struct dapl_qp *qp = (struct dapl_qp *)handle;
	struct ibv_send_wr wr, *bad;
	struct dapl_counts *counts;
	struct dapl_slot *slot;
	struct dapl_wq *wq;
	uint64_t length;
	int err;

	*locked = false;
	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EP) ||
		     (uint32_t)segments - 1 >=
			     __atomic_load_n(op == DAT_DTO_RDMA_READ
						     ? &qp->read_iov
						     : &qp->request_iov,
					     __ATOMIC_RELAXED) ||
		     !iov))
		return false;
	wq = qp->sq;
	if (unlikely(!(mine ? dapl_lock_mine(&wq->lock)
			    : dapl_lock_plain(&wq->lock))))
		return false;
	*locked = true;
	/* Not before: compilers make one long test of two pointers. */
	if (unlikely(op != DAT_DTO_SEND && !remote))
		goto keep;
	counts = dapl_wq_counts_locked(wq, count);
	if (count != DAPL_UNCOUNTED && unlikely(!counts))
		goto keep;
	length = iov->segment_length;
	if (unlikely(segments > 1)) {
		length = dapl_iov_length(iov, segments);
		if (unlikely(length > DAPL_LENGTH_MAX))
			goto keep;
	}
	slot = dapl_slot_next_locked(wq);
	if (unlikely(!slot))
		goto keep;
	dapl_wr_fill(qp, &wr, opcode, op, segments, iov, length, remote, imm,
		     flags);
	wr.wr_id = (uintptr_t)slot;
	slot->cookie = cookie;
	slot->length = (uint32_t)length;
	slot->op = op;
	if (unlikely((unsigned)flags & 15) &&
	    !(wr.send_flags & IBV_SEND_SIGNALED))
		slot->op |= dapl_slot_suppress_locked(wq, slot, &wr);
	if (count != DAPL_UNCOUNTED)
		dapl_wq_count_locked(wq, counts, slot, count, length);
	err = qp->io.post_send(qp->ibv, &wr, &bad);
	if (unlikely(err)) {
		dapl_lock_keep_as(&wq->lock, mine);
		*ret = dapl_transfer_refused(wq, err, wr.wr_id, wr.num_sge,
					     count);
		return true;
	}
	dapl_unlock_as(&wq->lock, mine);
	*ret = DAT_SUCCESS;
	return true;

keep:
	dapl_lock_keep_as(&wq->lock, mine);
	return false;
}

/* A request of OPCODE, whose event will report OP. IMM: or what to invalidate.
 */
__attribute__((always_inline)) static inline DAT_RETURN
dapl_post_transfer(DAT_EP_HANDLE handle, enum ibv_wr_opcode opcode, unsigned op,
		   DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
		   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
		   uint32_t imm, DAT_COMPLETION_FLAGS flags, int count)
{
	DAT_RETURN ret;
	bool locked;

	if (dapl_transfer_fast(handle, opcode, op, segments, iov, cookie,
			       remote, imm, flags, count, true, &locked, &ret))
		return ret;
	return dapl_transfer_slow(handle,
				  &(struct dapl_transfer){count, opcode, op,
							  segments, iov, cookie,
							  remote, imm, flags},
				  locked);
}

/* As dapl_transfer_fast(). */
__attribute__((always_inline)) static inline bool
dapl_recv_fast(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	       DAT_DTO_COOKIE cookie, int count, bool mine, bool *locked,
	       DAT_RETURN *ret)
{
	struct dapl_qp *qp = (struct dapl_qp *)handle;
	struct ibv_recv_wr wr, *bad;
	struct dapl_counts *counts;
	struct dapl_slot *slot;
	struct dapl_wq *wq;
	int err;

	*locked = false;
	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EP) ||
		     (uint32_t)segments - 1 >= qp->recv_iov || !iov))
		return false;
	wq = qp->rq;
	if (unlikely(!(mine ? dapl_lock_mine(&wq->lock)
			    : dapl_lock_plain(&wq->lock))))
		return false;
	*locked = true;
	counts = dapl_wq_counts_locked(wq, count);
	if (count != DAPL_UNCOUNTED && unlikely(!counts))
		goto keep;
	slot = dapl_slot_next_locked(wq);
	if (unlikely(!slot))
		goto keep;
	slot->cookie = cookie;
	wr.wr_id = (uintptr_t)slot;
	wr.next = NULL;
	wr.sg_list = (struct ibv_sge *)iov;
	wr.num_sge = segments;
	if (count != DAPL_UNCOUNTED)
		dapl_wq_count_locked(wq, counts, slot, count,
				     likely(segments == 1)
					     ? iov->segment_length
					     : dapl_iov_length(iov, segments));
	err = qp->io.post_recv(qp->ibv, &wr, &bad);
	if (unlikely(err)) {
		dapl_lock_keep_as(&wq->lock, mine);
		*ret = dapl_recv_refused(wq, err, wr.wr_id, wr.sg_list,
					 wr.num_sge, count);
		return true;
	}
	dapl_unlock_as(&wq->lock, mine);
	*ret = DAT_SUCCESS;
	return true;

keep:
	dapl_lock_keep_as(&wq->lock, mine);
	return false;
}

__attribute__((always_inline)) static inline DAT_RETURN
dapl_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, int count)
{
	DAT_RETURN ret;
	bool locked;

	if (dapl_recv_fast(handle, segments, iov, cookie, count, true, &locked,
			   &ret))
		return ret;
	return dapl_recv_slow(handle, segments, iov, cookie, flags, count,
			      locked);
}

#endif
