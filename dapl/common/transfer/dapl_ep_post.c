/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_post.c - posting data transfers: the hot half of the data path.
 *
 * A post checks its bounds, takes the next slot of the ring, fills a work
 * request on the stack and hands it to verbs, under the queue's own lock,
 * which also keeps ring and queue pair in the same order. No allocation, no
 * log, no system call of ours; where the driver makes one, a post runs with
 * cancellation off, and no endpoint is ready for the fast path. An LMR triplet
 * and a verbs segment have the same layout, so the consumer's vector is passed
 * on as it is. Budgets in instructions: doc/architecture.md, counted by ./run
 * bench.
 */
#include "dapl/common/transfer/dapl_ep_post.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/transfer/dapl_completion.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

_Static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct ibv_sge) &&
		       offsetof(DAT_LMR_TRIPLET, virtual_address) ==
			       offsetof(struct ibv_sge, addr) &&
		       offsetof(DAT_LMR_TRIPLET, segment_length) ==
			       offsetof(struct ibv_sge, length) &&
		       offsetof(DAT_LMR_TRIPLET, lmr_context) ==
			       offsetof(struct ibv_sge, lkey),
	       "an LMR triplet is a verbs segment");

/* Everything that can be wrong with a post, found slowly. */
__attribute__((cold, noinline)) static DAT_RETURN
post_refused(struct dapl_qp *qp, const struct dapl_wq *wq, int err,
	     DAT_COUNT segments)
{
	int state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);

	if (err == -ENOTCONN)
		return dapl_qp_bad_state(qp, state, "posting a request");
	if (err == -ENOBUFS)
		return dapl_fail(DAPL_NO_MEM,
				 "ep %p: %u transfers are outstanding already",
				 (void *)qp, wq ? wq->limit : 0);
	if (err == -E2BIG)
		return dapl_fail(DAPL_BAD_ARG(2), "ep %p: %d segments",
				 (void *)qp, segments);
	if (err == -EFAULT)
		return dapl_fail(DAPL_BAD_ARG(3), "ep %p: no segments at NULL",
				 (void *)qp);
	return dapl_fail(dapl_err_dat(err), "ep %p: %s refused the post: %s",
			 (void *)qp, qp->obj.ia->dev.name, strerror(-err));
}

/*
 * Devices that take no posts on a queue pair in error, or forget them, still
 * owe the consumer a flush in DISCONNECTED. It goes behind those of the device
 * that are there.
 */
__attribute__((cold, noinline)) static int post_flushed(struct dapl_qp *qp,
							struct dapl_evd *evd,
							DAT_DTO_COOKIE cookie,
							unsigned op)
{
	struct dapl_evd_after after = {0};
	DAT_EVENT event;
	bool posted;

	if (op == DAPL_OP_MARKER)
		return 0;
	dapl_completion_flush(qp, op, cookie, &event);
	dapl_evd_poll_all(evd, NULL, &after);
	posted = dapl_evd_post(evd, &event);
	dapl_evd_after(&after);
	/* The cookie of a bind is used up: it cannot be refused any more. */
	return posted || op == DAT_DTO_BIND_MW ? 0 : -ENOMEM;
}

/* Verbs flags for the low four bits of DAT_COMPLETION_FLAGS. */
#define S IBV_SEND_SIGNALED
#define W IBV_SEND_SOLICITED
#define F IBV_SEND_FENCE
static const uint8_t send_flags[16] = {
	S,     0, S | W,     W,	    S,	   0, S | W,	 W,
	S | F, F, S | W | F, W | F, S | F, F, S | W | F, W | F,
};
#undef S
#undef W
#undef F

static inline unsigned verbs_flags(DAT_COMPLETION_FLAGS flags)
{
	return send_flags[(unsigned)flags & 15];
}

/* The next slot of WQ, or NULL when LIMIT are outstanding. Lock held. */
static inline struct dapl_slot *slot_next_locked(struct dapl_wq *wq,
						 uint32_t limit)
{
	uint32_t head = wq->head;

	dapl_lock_assert_held(&wq->lock);
	if (unlikely(head - __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE) >=
		     limit))
		return NULL;
	/* Before the post: its completion may be read at once. */
	__atomic_store_n(&wq->head, head + 1, __ATOMIC_RELAXED);
	return &wq->slots[head & wq->mask];
}

/* The same for a queue that needs a credit per request. */
__attribute__((noinline)) static struct dapl_slot *
slot_credit_locked(struct dapl_wq *wq, uint32_t limit)
{
	struct dapl_slot *slot;

	dapl_lock_assert_held(&wq->lock);
	if (!wq->credits || wq->flushing)
		return NULL;
	if (__atomic_sub_fetch(wq->credits, 1, __ATOMIC_RELAXED) >= 0) {
		slot = slot_next_locked(wq, limit);
		if (slot)
			return slot;
	}
	__atomic_add_fetch(wq->credits, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* The post was refused: its slot is free again. */
__attribute__((noinline)) static void slot_undo_locked(struct dapl_wq *wq)
{
	dapl_lock_assert_held(&wq->lock);
	__atomic_store_n(&wq->head, wq->head - 1, __ATOMIC_RELAXED);
	if (wq->credits)
		__atomic_add_fetch(wq->credits, 1, __ATOMIC_RELAXED);
}

static inline void slot_fill(struct dapl_slot *slot, unsigned op,
			     uint32_t length, DAT_DTO_COOKIE cookie,
			     const struct dapl_wq *wq)
{
	slot->cookie = cookie;
	slot->length = length;
	slot->what = (slot->what & ~0xffu) | op | wq->slow_op;
}

/*
 * The queue is full. Suppressed requests give their slots back when a later
 * completion is read, but who suppresses need never read: so that is done here,
 * into the ring for the events of others, unless nobody reads those either.
 * Called and returns with the lock of the queue, which it lets go meanwhile.
 */
__attribute__((cold, noinline)) static struct dapl_slot *
slot_reclaim_locked(struct dapl_qp *qp)
{
	struct dapl_wq *wq = qp->sq;
	struct dapl_evd *evd = qp->request_evd;
	struct dapl_evd_after after = {0};
	struct dapl_slot *slot;

	dapl_lock_assert_held(&qp->sq->lock);
	if (!dapl_wq_suppressed_locked(wq))
		return NULL;
	dapl_unlock(&wq->lock);
	dapl_lock(&evd->lock);
	if (!evd->dead && dapl_evd_queued(evd) < (uint32_t)evd->qlen)
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, &after);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	dapl_lock(&wq->lock);
	slot = slot_next_locked(wq, wq->fast_limit);
	return slot ? slot : slot_credit_locked(wq, wq->limit);
}

/* A slot for a request where the fast path found none. */
__attribute__((noinline)) static struct dapl_slot *
slot_slow_locked(struct dapl_qp *qp)
{
	struct dapl_wq *wq = qp->sq;
	struct dapl_slot *slot = slot_credit_locked(wq, wq->limit);

	dapl_lock_assert_held(&qp->sq->lock);
	return slot || wq->flushing ? slot : slot_reclaim_locked(qp);
}

/*
 * There is no slot for a request: it is refused, or, when the connection has
 * ended, flushed. Called with the queue's lock, returns without it.
 */
__attribute__((cold, noinline)) static int
post_no_slot(struct dapl_qp *qp, DAT_DTO_COOKIE cookie, unsigned op)
{
	bool flushing = qp->sq->flushing;

	dapl_unlock(&qp->sq->lock);
	return flushing ? post_flushed(qp, qp->request_evd, cookie,
				       op & DAPL_OP_MASK)
			: -ENOBUFS;
}

/* WR, in SLOT, is to have no event: it is signalled now and then only. */
static inline unsigned suppress_locked(struct dapl_wq *wq,
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
post_wr(struct dapl_qp *qp, struct ibv_send_wr *wr, unsigned op,
	uint32_t length, DAT_DTO_COOKIE cookie)
{
	struct dapl_wq *wq = qp->sq;
	struct ibv_send_wr *bad;
	struct dapl_slot *slot;
	struct ibv_qp *ibv;
	int ret = ENOTCONN;

	dapl_lock(&wq->lock);
	slot = slot_next_locked(wq, wq->fast_limit);
	if (unlikely(!slot)) {
		slot = slot_slow_locked(qp);
		if (!slot)
			return post_no_slot(qp, cookie, op);
	}
	if (unlikely(!(wr->send_flags & IBV_SEND_SIGNALED)))
		op |= suppress_locked(wq, slot, wr);
	slot_fill(slot, op, length, cookie, wq);
	wr->wr_id = (uintptr_t)slot;
	ibv = __atomic_load_n(&qp->ibv, __ATOMIC_ACQUIRE);
	if (likely(ibv != NULL))
		ret = qp->io.post_send(ibv, wr, &bad);
	if (unlikely(ret))
		slot_undo_locked(wq);
	dapl_unlock(&wq->lock);
	return ret;
}

/* Why an endpoint in STATE takes no request: without an EVD it never does. */
static int not_now(int state)
{
	return state == DAT_EP_STATE_CONNECTED ||
			       state == DAT_EP_STATE_DISCONNECTED
		       ? -ENOBUFS
		       : -ENOTCONN;
}

/* The mark of a request that is to wake nobody: only where configured. */
static unsigned unnotified(const struct dapl_wq *wq, DAT_COMPLETION_FLAGS flags)
{
	return wq->notify && (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		       ? DAPL_OP_UNNOTIFIED
		       : 0;
}

DAT_RETURN dapl_qp_post_request(struct dapl_qp *qp, struct ibv_send_wr *wr,
				unsigned op, uint32_t length,
				DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags)
{
	int state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);
	int ret, cancel = PTHREAD_CANCEL_DISABLE;

	if (!qp->sq || (state != DAT_EP_STATE_CONNECTED &&
			state != DAT_EP_STATE_DISCONNECTED))
		return post_refused(qp, qp->sq, not_now(state), wr->num_sge);
	wr->next = NULL;
	wr->send_flags |= verbs_flags(flags);
	if (qp->slow_posts)
		cancel = dapl_cancel_off();
	ret = post_wr(qp, wr, op | unnotified(qp->sq, flags), length, cookie);
	if (qp->slow_posts)
		dapl_cancel_restore(cancel);
	if (ret && ret != -ENOBUFS && state == DAT_EP_STATE_DISCONNECTED)
		ret = post_flushed(qp, qp->request_evd, cookie, op);
	return ret ? post_refused(qp, qp->sq, ret > 0 ? -ret : ret, wr->num_sge)
		   : DAT_SUCCESS;
}

int dapl_qp_post_marker(struct dapl_qp *qp)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	DAT_DTO_COOKIE none = {.as_64 = 0};

	return post_wr(qp, &wr, DAPL_OP_MARKER, 0, none);
}

/* As post_wr(), for a bind. */
static int post_mw(struct dapl_qp *qp, struct ibv_mw *mw,
		   struct ibv_mw_bind *bind, DAT_DTO_COOKIE cookie,
		   unsigned unnotified_op)
{
	struct dapl_wq *wq = qp->sq;
	struct dapl_slot *slot;
	struct ibv_qp *ibv;
	int ret = ENOTCONN;

	dapl_lock(&wq->lock);
	slot = slot_next_locked(wq, wq->fast_limit);
	if (!slot)
		slot = slot_slow_locked(qp);
	if (!slot)
		return post_no_slot(qp, cookie, DAT_DTO_BIND_MW);
	slot_fill(slot, DAT_DTO_BIND_MW | unnotified_op, 0, cookie, wq);
	bind->wr_id = (uintptr_t)slot;
	ibv = __atomic_load_n(&qp->ibv, __ATOMIC_ACQUIRE);
	if (ibv)
		ret = qp->io.bind(ibv, mw, bind);
	if (ret)
		slot_undo_locked(wq);
	dapl_unlock(&wq->lock);
	return ret;
}

DAT_RETURN dapl_qp_post_bind(struct dapl_qp *qp, struct ibv_mw *mw,
			     struct ibv_mw_bind *bind, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags,
			     DAT_RMR_CONTEXT *ret_key)
{
	int state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);
	struct dapl_wq *wq = qp->sq;
	int ret, cancel = PTHREAD_CANCEL_DISABLE;

	if (!wq || (state != DAT_EP_STATE_CONNECTED &&
		    state != DAT_EP_STATE_DISCONNECTED))
		return post_refused(qp, wq, not_now(state), 0);
	bind->send_flags = verbs_flags(flags);
	if (qp->slow_posts)
		cancel = dapl_cancel_off();
	ret = post_mw(qp, mw, bind, cookie, unnotified(wq, flags));
	if (qp->slow_posts)
		dapl_cancel_restore(cancel);
	if (ret && ret != -ENOBUFS && state == DAT_EP_STATE_DISCONNECTED)
		ret = post_flushed(qp, qp->request_evd, cookie,
				   DAT_DTO_BIND_MW);
	if (ret)
		return post_refused(qp, wq, ret > 0 ? -ret : ret, 0);
	*ret_key = mw->rkey;
	return DAT_SUCCESS;
}

static inline uint64_t iov_length(const DAT_LMR_TRIPLET *iov,
				  DAT_COUNT segments)
{
	uint64_t length = 0;

	for (DAT_COUNT i = 0; i < segments; i++)
		length += iov[i].segment_length;
	return length;
}

/* The work request of a transfer; returns its length. */
static inline uint32_t fill_wr(const struct dapl_qp *qp, struct ibv_send_wr *wr,
			       enum ibv_wr_opcode opcode, unsigned op,
			       DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			       const DAT_RMR_TRIPLET *remote, uint32_t imm)
{
	uint64_t length = iov_length(iov, segments);

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

/* A transfer that the fast path did not want: checked in the spec's order. */
__attribute__((noinline)) static DAT_RETURN
transfer_slow(DAT_EP_HANDLE handle, enum ibv_wr_opcode opcode, unsigned op,
	      DAT_COUNT segments, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	      const DAT_RMR_TRIPLET *remote, uint32_t imm,
	      DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = dapl_qp_from(handle);
	struct ibv_send_wr wr;
	uint32_t length;

	if (!qp || qp->ud)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (segments < 0 || segments > qp->attr.max_request_iov)
		return post_refused(qp, qp->sq, -E2BIG, segments);
	if (!iov && segments)
		return post_refused(qp, qp->sq, -EFAULT, segments);
	if (op != DAT_DTO_SEND && !remote)
		return dapl_fail(DAPL_BAD_ARG(5), "ep %p: no remote buffer",
				 (void *)qp);
	length = fill_wr(qp, &wr, opcode, op, segments, iov, remote, imm);
	return dapl_qp_post_request(qp, &wr, op, length, cookie, flags);
}

__attribute__((always_inline)) static inline DAT_RETURN
transfer(DAT_EP_HANDLE handle, enum ibv_wr_opcode opcode, unsigned op,
	 DAT_COUNT segments, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	 const DAT_RMR_TRIPLET *remote, uint32_t imm,
	 DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = (struct dapl_qp *)handle;
	struct ibv_send_wr wr;
	uint32_t length;
	int ret;

	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EP) ||
		     !__atomic_load_n(&qp->ready, __ATOMIC_RELAXED) ||
		     (uint32_t)segments > (uint32_t)qp->attr.max_request_iov ||
		     !iov || (op != DAT_DTO_SEND && !remote)))
		return transfer_slow(handle, opcode, op, segments, iov, cookie,
				     remote, imm, flags);
	length = fill_wr(qp, &wr, opcode, op, segments, iov, remote, imm);
	wr.send_flags |= verbs_flags(flags);
	ret = post_wr(qp, &wr, op, length, cookie);
	return likely(!ret) ? DAT_SUCCESS
			    : post_refused(qp, qp->sq, ret > 0 ? -ret : ret,
					   segments);
}

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	return transfer(handle, IBV_WR_SEND, DAT_DTO_SEND, segments, iov,
			cookie, NULL, 0, flags);
}

DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT segments,
				   DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	return transfer(handle, IBV_WR_RDMA_WRITE, DAT_DTO_RDMA_WRITE, segments,
			iov, cookie, remote, 0, flags);
}

DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT segments,
				  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	return transfer(handle, IBV_WR_RDMA_READ, DAT_DTO_RDMA_READ, segments,
			iov, cookie, remote, 0, flags);
}

DAT_RETURN dapl_ep_post_write_immed(DAT_EP_HANDLE handle, DAT_COUNT segments,
				    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote, uint32_t imm,
				    DAT_COMPLETION_FLAGS flags)
{
	return transfer(handle, IBV_WR_RDMA_WRITE_WITH_IMM,
			DAT_IB_DTO_RDMA_WRITE_IMMED, segments, iov, cookie,
			remote, imm, flags);
}

DAT_RETURN dapl_ep_post_send_with_invalidate(
	DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
	DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT rmr_context)
{
	return transfer(handle, invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
			DAT_DTO_SEND, segments, iov, cookie, NULL, rmr_context,
			flags);
}

/* The sink is named by an RMR context, which verbs takes as a local key. */
DAT_RETURN dapl_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE handle,
					 const DAT_RMR_TRIPLET *local,
					 DAT_DTO_COOKIE cookie,
					 const DAT_RMR_TRIPLET *remote,
					 DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov;

	if (!dapl_obj_is(handle, DAT_HANDLE_TYPE_EP))
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (!local || !remote)
		return dapl_fail(local ? DAPL_BAD_ARG(4) : DAPL_BAD_ARG(2),
				 "ep %p: no %s buffer", handle,
				 local ? "remote" : "local");
	iov.virtual_address = local->virtual_address;
	iov.segment_length = local->segment_length;
	iov.lmr_context = local->rmr_context;
	return transfer(handle, IBV_WR_RDMA_READ, DAT_DTO_RDMA_READ, 1, &iov,
			cookie, remote, 0, flags);
}

__attribute__((cold, noinline)) static DAT_RETURN
recv_refused(struct dapl_qp *qp, int err, DAT_COUNT segments,
	     const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	if (!qp)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (qp->srq)
		return dapl_fail(DAPL_BAD_STATE(SRQ_IN_USE),
				 "ep %p takes its receives from an SRQ",
				 (void *)qp);
	if (!qp->rq)
		return post_refused(qp, NULL, -ENOBUFS, segments);
	if (segments < 0 || segments > qp->attr.max_recv_iov)
		return post_refused(qp, qp->rq, -E2BIG, segments);
	if (!iov && segments)
		return post_refused(qp, qp->rq, -EFAULT, segments);
	if ((err == -ESHUTDOWN ||
	     (err && err != -ENOBUFS &&
	      __atomic_load_n(&qp->state, __ATOMIC_RELAXED) ==
		      DAT_EP_STATE_DISCONNECTED)) &&
	    !post_flushed(qp, qp->recv_evd, cookie, DAT_DTO_RECEIVE))
		return DAT_SUCCESS;
	if (err == -ESHUTDOWN)
		err = -ENOMEM;
	return post_refused(qp, qp->rq, err > 0 ? -err : err, segments);
}

/* A slot where the fast path found none. */
__attribute__((noinline)) static struct dapl_slot *
recv_slot_slow_locked(struct dapl_wq *wq, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_slot *slot = NULL;

	dapl_lock_assert_held(&wq->lock);
	if (wq->credits)
		slot = slot_credit_locked(wq, wq->limit);
	else if (!wq->flushing)
		slot = slot_next_locked(wq, wq->limit);
	if (slot)
		slot->what = (slot->what & ~(uint32_t)DAPL_OP_UNNOTIFIED) |
			     unnotified(wq, flags);
	return slot;
}

DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
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
		return recv_refused(dapl_qp_from(handle), 0, segments, iov,
				    cookie);
	wr.next = NULL;
	wr.sg_list = (struct ibv_sge *)iov;
	wr.num_sge = segments;
	dapl_lock(&wq->lock);
	slot = slot_next_locked(wq, wq->fast_limit);
	if (unlikely(!slot)) {
		slot = recv_slot_slow_locked(wq, flags);
		if (!slot) {
			ret = wq->flushing ? -ESHUTDOWN : -ENOBUFS;
			dapl_unlock(&wq->lock);
			return recv_refused(qp, ret, segments, iov, cookie);
		}
	}
	slot->cookie = cookie;
	wr.wr_id = (uintptr_t)slot;
	ibv = __atomic_load_n(&qp->ibv, __ATOMIC_ACQUIRE);
	if (likely(ibv != NULL))
		ret = qp->io.post_recv(ibv, &wr, &bad);
	if (unlikely(ret))
		slot_undo_locked(wq);
	dapl_unlock(&wq->lock);
	return likely(!ret) ? DAT_SUCCESS
			    : recv_refused(qp, ret, segments, iov, cookie);
}
