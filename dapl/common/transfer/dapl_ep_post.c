/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_post.c - posting data transfers: the calls, and what of a post is not
 * simply possible.
 *
 * That is in dapl_post.h. Here are refusals and their reasons, flushed posts,
 * queues that are full or take credits, devices whose posts are system calls,
 * requests of other forms. Locks: takes those of the work queues and of EVDs,
 * or is called with the queue's.
 */
#include "dapl/common/transfer/dapl_ep_post.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/transfer/dapl_completion.h"
#include "dapl/common/transfer/dapl_post.h"

DAT_RETURN
dapl_post_refused(struct dapl_qp *qp, const struct dapl_wq *wq, int err,
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
 * that are there: who has just marked the queues, and has yet to move the queue
 * pair, is waited for, since what that flushes was posted earlier.
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
	dapl_lock(&qp->ctl);
	dapl_unlock(&qp->ctl);
	dapl_completion_flush(qp, op, cookie, &event);
	dapl_evd_poll_all(evd, NULL, &after);
	posted = dapl_evd_post(evd, &event);
	dapl_evd_after(&after);
	/* The cookie of a bind is used up: it cannot be refused any more. */
	return posted || op == DAT_DTO_BIND_MW ? 0 : -ENOMEM;
}

/*
 * Whether what the device has refused with ERR, of either sign, is to be
 * flushed: the connection has ended, or the device knows that it has, while the
 * event is on its way. A driver tells the latter from a bad request by nothing
 * but the state of the queue pair.
 */
__attribute__((cold, noinline)) static bool is_over(struct dapl_qp *qp, int err)
{
	int state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);
	bool over = state == DAT_EP_STATE_DISCONNECTED;
	/* EIO: erdma */
	bool perhaps = abs(err) == EINVAL || abs(err) == EIO;
	int cancel;

	if (over || state != DAT_EP_STATE_CONNECTED || !perhaps)
		return over;
	cancel = dapl_cancel_off();
	dapl_lock(&qp->ctl);
	over = qp->ibv && !qp->move && vb_qp_in_error(qp->ibv);
	dapl_unlock(&qp->ctl);
	dapl_cancel_restore(cancel);
	return over;
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
		slot = dapl_slot_next_locked(wq, limit);
		if (slot)
			return slot;
	}
	__atomic_add_fetch(wq->credits, 1, __ATOMIC_RELAXED);
	return NULL;
}

void dapl_slot_undo_locked(struct dapl_wq *wq)
{
	dapl_lock_assert_held(&wq->lock);
	__atomic_store_n(&wq->head, wq->head - 1, __ATOMIC_RELAXED);
	if (wq->credits)
		__atomic_add_fetch(wq->credits, 1, __ATOMIC_RELAXED);
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
	if (!dapl_evd_is_dead_locked(evd) &&
	    dapl_evd_queued(evd) < (uint32_t)evd->qlen)
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, &after);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	dapl_lock(&wq->lock);
	slot = dapl_slot_next_locked(wq, wq->fast_limit);
	return slot ? slot : slot_credit_locked(wq, wq->limit);
}

struct dapl_slot *dapl_slot_slow_locked(struct dapl_qp *qp)
{
	struct dapl_wq *wq = qp->sq;
	struct dapl_slot *slot = slot_credit_locked(wq, wq->limit);

	dapl_lock_assert_held(&qp->sq->lock);
	return slot || wq->flushing ? slot : slot_reclaim_locked(qp);
}

int dapl_post_no_slot(struct dapl_qp *qp, DAT_DTO_COOKIE cookie, unsigned op)
{
	bool flushing = qp->sq->flushing;

	dapl_unlock(&qp->sq->lock);
	return flushing ? post_flushed(qp, qp->request_evd, cookie,
				       op & DAPL_OP_MASK)
			: -ENOBUFS;
}

/*
 * An endpoint in STATE takes no request; without an EVD it never does. STATE is
 * what was decided by: the endpoint's may be another one by now.
 */
static DAT_RETURN not_now(struct dapl_qp *qp, int state, DAT_COUNT segments)
{
	if (state == DAT_EP_STATE_CONNECTED ||
	    state == DAT_EP_STATE_DISCONNECTED)
		return dapl_post_refused(qp, qp->sq, -ENOBUFS, segments);
	return dapl_qp_bad_state(qp, state, "posting a request");
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
		return not_now(qp, state, wr->num_sge);
	wr->next = NULL;
	wr->send_flags |= dapl_verbs_flags(flags);
	if (qp->slow_posts)
		cancel = dapl_cancel_off();
	ret = dapl_post_wr(qp, wr, op | unnotified(qp->sq, flags), length,
			   cookie);
	if (qp->slow_posts)
		dapl_cancel_restore(cancel);
	if (ret && ret != -ENOBUFS && is_over(qp, ret))
		ret = post_flushed(qp, qp->request_evd, cookie, op);
	return ret ? dapl_post_refused(qp, qp->sq, ret > 0 ? -ret : ret,
				       wr->num_sge)
		   : DAT_SUCCESS;
}

DAT_RETURN dapl_transfer_refused(struct dapl_qp *qp, int err,
				 DAT_COUNT segments, unsigned op,
				 DAT_DTO_COOKIE cookie)
{
	if (err != -ENOBUFS && is_over(qp, err))
		err = post_flushed(qp, qp->request_evd, cookie, op);
	return err ? dapl_post_refused(qp, qp->sq, err > 0 ? -err : err,
				       segments)
		   : DAT_SUCCESS;
}

int dapl_qp_post_marker(struct dapl_qp *qp)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	DAT_DTO_COOKIE none = {.as_64 = 0};

	return dapl_post_wr(qp, &wr, DAPL_OP_MARKER, 0, none);
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
	slot = dapl_slot_next_locked(wq, wq->fast_limit);
	if (!slot)
		slot = dapl_slot_slow_locked(qp);
	if (!slot)
		return dapl_post_no_slot(qp, cookie, DAT_DTO_BIND_MW);
	dapl_slot_fill(slot, DAT_DTO_BIND_MW | unnotified_op, 0, cookie, wq);
	bind->wr_id = (uintptr_t)slot;
	ibv = __atomic_load_n(&qp->ibv, __ATOMIC_ACQUIRE);
	if (ibv)
		ret = qp->io.bind(ibv, mw, bind);
	if (ret)
		dapl_slot_undo_locked(wq);
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
		return not_now(qp, state, 0);
	bind->send_flags = dapl_verbs_flags(flags);
	if (qp->slow_posts)
		cancel = dapl_cancel_off();
	ret = post_mw(qp, mw, bind, cookie, unnotified(wq, flags));
	if (qp->slow_posts)
		dapl_cancel_restore(cancel);
	if (ret && ret != -ENOBUFS && is_over(qp, ret))
		ret = post_flushed(qp, qp->request_evd, cookie,
				   DAT_DTO_BIND_MW);
	if (ret)
		return dapl_post_refused(qp, wq, ret > 0 ? -ret : ret, 0);
	*ret_key = mw->rkey;
	return DAT_SUCCESS;
}

DAT_RETURN
dapl_transfer_slow(DAT_EP_HANDLE handle, enum ibv_wr_opcode opcode, unsigned op,
		   DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
		   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
		   uint32_t imm, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = dapl_qp_from(handle);
	DAT_LMR_TRIPLET nothing = {0};
	struct ibv_send_wr wr;
	uint32_t length;

	if (!qp || qp->ud)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (segments < 0 || segments > qp->attr.max_request_iov)
		return dapl_post_refused(qp, qp->sq, -E2BIG, segments);
	if (!iov && segments)
		return dapl_post_refused(qp, qp->sq, -EFAULT, segments);
	if (op != DAT_DTO_SEND && !remote)
		return dapl_fail(DAPL_BAD_ARG(5), "ep %p: no remote buffer",
				 (void *)qp);
	/* erdma takes a segment of a read whether there is one or not. */
	if (op == DAT_DTO_RDMA_READ && !segments)
		iov = &nothing;
	length = dapl_wr_fill(qp, &wr, opcode, op, segments, iov, remote, imm);
	return dapl_qp_post_request(qp, &wr, op, length, cookie, flags);
}

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(handle, IBV_WR_SEND, DAT_DTO_SEND, segments,
				  iov, cookie, NULL, 0, flags);
}

DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT segments,
				   DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(handle, IBV_WR_RDMA_WRITE, DAT_DTO_RDMA_WRITE,
				  segments, iov, cookie, remote, 0, flags);
}

DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT segments,
				  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(handle, IBV_WR_RDMA_READ, DAT_DTO_RDMA_READ,
				  segments, iov, cookie, remote, 0, flags);
}

DAT_RETURN dapl_ep_post_write_immed(DAT_EP_HANDLE handle, DAT_COUNT segments,
				    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote, uint32_t imm,
				    DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(handle, IBV_WR_RDMA_WRITE_WITH_IMM,
				  DAT_IB_DTO_RDMA_WRITE_IMMED, segments, iov,
				  cookie, remote, imm, flags);
}

DAT_RETURN dapl_ep_post_send_with_invalidate(
	DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
	DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT rmr_context)
{
	return dapl_post_transfer(
		handle, invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		DAT_DTO_SEND, segments, iov, cookie, NULL, rmr_context, flags);
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
	return dapl_post_transfer(handle, IBV_WR_RDMA_READ, DAT_DTO_RDMA_READ,
				  1, &iov, cookie, remote, 0, flags);
}

DAT_RETURN
dapl_recv_refused(struct dapl_qp *qp, int err, DAT_COUNT segments,
		  const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
		  DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET nothing = {0};

	if (!qp)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (qp->srq)
		return dapl_fail(DAPL_BAD_STATE(SRQ_IN_USE),
				 "ep %p takes its receives from an SRQ",
				 (void *)qp);
	if (!qp->rq)
		return dapl_post_refused(qp, NULL, -ENOBUFS, segments);
	if (segments < 0 || segments > qp->attr.max_recv_iov)
		return dapl_post_refused(qp, qp->rq, -E2BIG, segments);
	if (!iov && segments)
		return dapl_post_refused(qp, qp->rq, -EFAULT, segments);
	if ((err == -ESHUTDOWN ||
	     (err && err != -ENOBUFS && is_over(qp, err))) &&
	    !post_flushed(qp, qp->recv_evd, cookie, DAT_DTO_RECEIVE))
		return DAT_SUCCESS;
	if (err == -ESHUTDOWN)
		err = -ENOMEM;
	/* Soft iWARP wants a segment, which may be of no bytes. */
	if (abs(err) == EINVAL && !segments)
		return dapl_ep_post_recv((DAT_EP_HANDLE)qp, 1, &nothing, cookie,
					 flags);
	return dapl_post_refused(qp, qp->rq, err > 0 ? -err : err, segments);
}

struct dapl_slot *dapl_slot_recv_slow_locked(struct dapl_wq *wq,
					     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_slot *slot = NULL;

	dapl_lock_assert_held(&wq->lock);
	if (wq->credits)
		slot = slot_credit_locked(wq, wq->limit);
	else if (!wq->flushing)
		slot = dapl_slot_next_locked(wq, wq->limit);
	if (slot)
		slot->op = (slot->op & ~(uint32_t)DAPL_OP_UNNOTIFIED) |
			   unnotified(wq, flags);
	return slot;
}

DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_recv(handle, segments, iov, cookie, flags);
}
