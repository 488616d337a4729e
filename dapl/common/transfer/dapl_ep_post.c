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
#include "dapl/common/transfer/dapl_ib_op.h"
#include "dapl/common/transfer/dapl_post.h"

static DAT_RETURN too_many_segments(const struct dapl_qp *qp,
				    DAT_COUNT segments, int most)
{
	return dapl_fail(DAPL_BAD_ARG(2),
			 "ep %p: %d segments, and it takes up to %d",
			 (const void *)qp, segments, most);
}

/*
 * Everything that can be wrong with a post, found slowly: to the queue of
 * receives if RECV, else of requests.
 */
__attribute__((cold, noinline)) static DAT_RETURN
post_refused(struct dapl_qp *qp, bool recv, int err, DAT_COUNT segments)
{
	const struct dapl_wq *wq = recv ? qp->rq : qp->sq;
	int state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);

	if (err == -ENOTCONN)
		return dapl_qp_bad_state(qp, state, "posting a request");
	if (err == -ENOBUFS && !wq)
		return dapl_fail(DAPL_NO_MEM, "ep %p: it has no %s", (void *)qp,
				 !qp->pz ? "PZ yet"
				 : recv	 ? "receive EVD"
					 : "request EVD");
	if (err == -ENOBUFS)
		return dapl_fail(DAPL_NO_MEM,
				 "ep %p: %u transfers are outstanding already",
				 (void *)qp, wq->limit);
	if (err == -EFAULT)
		return dapl_fail(DAPL_BAD_ARG(3), "ep %p: no segments at NULL",
				 (void *)qp);
	return dapl_fail(dapl_err_dat(err), "ep %p: %s refused the post: %s",
			 (void *)qp, qp->obj.ia->dev.name, strerror(-err));
}

/* A slot where the fast path found none, for which there may be a credit. */
static struct dapl_slot *slot_find_locked(struct dapl_wq *wq)
{
	struct dapl_slot *slot;

	dapl_lock_assert_held(&wq->lock);
	if (!wq->credits)
		return dapl_wq_take_locked(wq);
	if (__atomic_sub_fetch(wq->credits, 1, __ATOMIC_RELAXED) >= 0) {
		slot = dapl_wq_take_locked(wq);
		if (slot)
			return slot;
	}
	__atomic_add_fetch(wq->credits, 1, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * Takes a slot for what is to be flushed behind the device's flushes, the last
 * of which is to be looked at when it comes. With the EVD's lock, too.
 */
static int owe_locked(struct dapl_wq *wq, DAT_DTO_COOKIE cookie, unsigned op)
{
	struct dapl_slot *slot;

	dapl_lock_assert_held(&wq->lock);
	slot = slot_find_locked(wq);
	if (!slot)
		return -ENOBUFS;
	slot->cookie = cookie;
	slot->op = op | wq->slow_op;
	for (uint32_t i = 0; !wq->owed && i + 1 < dapl_wq_used(wq); i++)
		dapl_wq_behind(wq, wq->tail, i)->op |= DAPL_OP_SLOW;
	wq->owed++;
	return 0;
}

/* Who posts and reads no flush is refused some day, as with any others. */
static bool is_full_locked(struct dapl_evd *evd, const struct dapl_wq *wq)
{
	uint32_t queued = dapl_evd_queued(evd);

	dapl_lock_assert_held(&evd->lock);
	return (queued >= wq->limit && queued >= (uint32_t)evd->qlen) ||
	       !dapl_evd_room_locked(evd);
}

/*
 * Devices that take no posts on a queue pair in error, or forget them, still
 * owe the consumer a flush in DISCONNECTED. It goes behind those of the device,
 * which were posted earlier: those that are there are read, and for those that
 * are still to come it waits in the ring. Who has just marked the queues, and
 * has yet to move the queue pair, is waited for, and so is who destroys it.
 */
__attribute__((cold, noinline)) static int
post_flushed(struct dapl_qp *qp, struct dapl_wq *wq, struct dapl_evd *evd,
	     DAT_DTO_COOKIE cookie, unsigned op)
{
	struct dapl_evd_after after = {0};
	DAT_EVENT event;
	bool waits;
	int ret = 0;

	if (op == DAPL_OP_MARKER)
		return 0;
	dapl_lock(&qp->ctl);
	dapl_qp_end_wait_locked(qp);
	dapl_lock(&evd->lock);
	dapl_evd_poll_locked(evd, DAPL_EVD_TO_END, NULL, &after);
	dapl_lock(&wq->lock);
	waits = wq->open && dapl_completion_due_locked(wq);
	if (waits)
		ret = owe_locked(wq, cookie, op);
	dapl_unlock(&wq->lock);
	if (!waits && is_full_locked(evd, wq)) {
		ret = -ENOBUFS;
	} else if (!waits) {
		dapl_completion_flush(qp, op, cookie, &event);
		event.evd_handle = (DAT_EVD_HANDLE)evd;
		dapl_evd_push_completion_locked(evd, &event, false, &after);
		dapl_evd_wake_locked(evd);
	}
	dapl_unlock(&evd->lock);
	dapl_unlock(&qp->ctl);
	dapl_evd_after(&after);
	return ret;
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

	if (over || !perhaps)
		return over;
	cancel = dapl_cancel_off();
	dapl_lock(&qp->ctl);
	over = qp->ibv && !qp->move && vb_qp_in_error(qp->ibv);
	dapl_unlock(&qp->ctl);
	dapl_cancel_restore(cancel);
	return over;
}

/* The post was refused: its slot is free again. */
static void slot_undo_locked(struct dapl_wq *wq)
{
	dapl_lock_assert_held(&wq->lock);
	dapl_wq_give_back_locked(wq, 1);
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

	dapl_lock_assert_held(&qp->sq->lock);
	/* Who reads on another thread may have made room just now. */
	if (!dapl_wq_suppressed_locked(wq))
		return slot_find_locked(wq);
	dapl_unlock(&wq->lock);
	dapl_lock(&evd->lock);
	if (!dapl_evd_is_dead_locked(evd) &&
	    dapl_evd_queued(evd) < (uint32_t)evd->qlen)
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, &after);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	dapl_lock(&wq->lock);
	return wq->flushing ? NULL : slot_find_locked(wq);
}

/* A slot for a request, filled with OP and what else its event reports. */
static struct dapl_slot *slot_for_request_locked(struct dapl_qp *qp,
						 unsigned op, uint32_t length,
						 DAT_DTO_COOKIE cookie)
{
	struct dapl_wq *wq = qp->sq;
	struct dapl_slot *slot;

	dapl_lock_assert_held(&wq->lock);
	slot = wq->flushing ? NULL : slot_find_locked(wq);
	if (!slot && !wq->flushing)
		slot = slot_reclaim_locked(qp);
	if (!slot)
		return NULL;
	slot->cookie = cookie;
	slot->length = length;
	slot->op = op | wq->slow_op;
	return slot;
}

/*
 * There is no slot for a request: it is refused, or, when the connection has
 * ended, flushed. Called with the queue's lock, returns without it.
 */
static int post_no_slot(struct dapl_qp *qp, DAT_DTO_COOKIE cookie, unsigned op)
{
	bool flushing = qp->sq->flushing;

	dapl_unlock(&qp->sq->lock);
	return flushing ? post_flushed(qp, qp->sq, qp->request_evd, cookie,
				       op & DAPL_OP_MASK)
			: -ENOBUFS;
}

/*
 * An endpoint in STATE takes no request; without an EVD it never does. STATE is
 * what was decided by: the endpoint's may be another one by now.
 */
static DAT_RETURN not_now(struct dapl_qp *qp, int state, DAT_COUNT segments)
{
	if (qp->ud || state == DAT_EP_STATE_CONNECTED ||
	    state == DAT_EP_STATE_DISCONNECTED)
		return post_refused(qp, false, -ENOBUFS, segments);
	return dapl_qp_bad_state(qp, state, "posting a request");
}

/* The mark of a request that is to wake nobody: only where configured. */
static unsigned unnotified(const struct dapl_wq *wq, DAT_COMPLETION_FLAGS flags)
{
	return wq->notify && (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		       ? DAPL_OP_UNNOTIFIED
		       : 0;
}

/* Takes a slot for WR and posts it. 0 or an errno of either sign. */
static int post_wr(struct dapl_qp *qp, struct ibv_send_wr *wr, unsigned op,
		   uint32_t length, DAT_DTO_COOKIE cookie)
{
	struct dapl_wq *wq = qp->sq;
	struct ibv_send_wr *bad;
	struct dapl_slot *slot;
	int ret = ENOTCONN;

	dapl_lock_hot(&wq->lock);
	slot = slot_for_request_locked(qp, op, length, cookie);
	if (!slot)
		return post_no_slot(qp, cookie, op);
	if (!(wr->send_flags & IBV_SEND_SIGNALED))
		slot->op |= dapl_slot_suppress_locked(wq, slot, wr);
	wr->wr_id = (uintptr_t)slot;
	if (wq->open)
		ret = qp->io.post_send(qp->ibv, wr, &bad);
	if (ret)
		slot_undo_locked(wq);
	dapl_unlock(&wq->lock);
	return ret;
}

DAT_RETURN dapl_qp_post_request(struct dapl_qp *qp, struct ibv_send_wr *wr,
				unsigned op, uint32_t length,
				DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags)
{
	int state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);
	int ret;

	if (!qp->sq || (!qp->ud && state != DAT_EP_STATE_CONNECTED &&
			state != DAT_EP_STATE_DISCONNECTED))
		return not_now(qp, state, wr->num_sge);
	wr->next = NULL;
	wr->send_flags |= dapl_verbs_flags(qp, op, flags, 0);
	ret = post_wr(qp, wr, op | unnotified(qp->sq, flags), length, cookie);
	if (ret && ret != -ENOBUFS && is_over(qp, ret))
		ret = post_flushed(qp, qp->sq, qp->request_evd, cookie, op);
	return ret ? post_refused(qp, false, ret > 0 ? -ret : ret, wr->num_sge)
		   : DAT_SUCCESS;
}

/* ------------------------------------------------------- counting */

uint32_t dapl_outstanding(DAT_EP_HANDLE ep, bool recv)
{
	const struct dapl_qp *qp = (const struct dapl_qp *)ep;
	const struct dapl_wq *wq;
	uint32_t used;

	if (!dapl_obj_is(ep, DAT_HANDLE_TYPE_EP))
		return 0;
	wq = recv ? qp->rq : qp->sq;
	if (!wq)
		return 0;
	used = dapl_wq_used(wq);
	/* Of a full queue one has to complete before. */
	return used < wq->limit ? used : wq->limit - 1;
}

void dapl_posted(struct dapl_qp *qp, int count, uint64_t length,
		 uint32_t before)
{
	uint64_t *n = dapl_counts_at(&qp->obj, &qp->counts);

	dapl_count(n, count);
	dapl_count_add(n, count + 1, length); /* its _DATA */
	dapl_count_most(n,
			count == DCNT_EP_POST_RECV ? DAPL_EP_RECEIVES_MOST
						   : DAPL_EP_REQUESTS_MOST,
			before + 1);
}

/* It may have ended since WQ has nowhere to count yet. Returns unlocked. */
static void fast_way_left_locked(struct dapl_wq *wq, int count)
{
	dapl_lock_assert_held(&wq->lock);
	if (count != DAPL_UNCOUNTED)
		dapl_wq_counts(wq);
	dapl_unlock(&wq->lock);
}

/* What the device refused, and is not flushed, has not been posted. */
static void uncount_locked(struct dapl_wq *wq, int count, uint64_t length)
{
	struct dapl_counts *c = wq->counts;

	dapl_lock_assert_held(&wq->lock);
	if (count == DAPL_UNCOUNTED || !c)
		return;
	dapl_count_own(&c->fast[count], (uint64_t)-1);
	dapl_count_own(&c->fast[count + 1], -length);
}

DAT_RETURN dapl_transfer_refused(struct dapl_wq *wq, int err, uint64_t wr_id,
				 int segments, int count)
{
	const struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wr_id;
	unsigned op = slot->op & DAPL_OP_MASK;
	DAT_DTO_COOKIE cookie = slot->cookie;
	struct dapl_qp *qp = (struct dapl_qp *)wq->owner;
	uint32_t before, length = slot->length;

	slot_undo_locked(wq);
	uncount_locked(wq, count, length);
	before = dapl_wq_used(wq);
	dapl_unlock(&wq->lock);
	if (is_over(qp, err))
		err = post_flushed(qp, qp->sq, qp->request_evd, cookie, op);
	if (err)
		return post_refused(qp, false, err > 0 ? -err : err, segments);
	if (count != DAPL_UNCOUNTED)
		dapl_posted(qp, count, length, before);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_post_send_ud(DAT_EP_HANDLE handle, DAT_COUNT segments,
				DAT_LMR_TRIPLET *iov,
				const DAT_IB_ADDR_HANDLE *to,
				DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags)
{
	const struct dapl_ib_op *op = &dapl_ib_ops[DAPL_IB_SEND_UD];
	struct dapl_qp *qp = dapl_qp_from(handle);
	struct ibv_send_wr wr = {
		.sg_list = (struct ibv_sge *)iov,
		.num_sge = segments,
		.opcode = op->opcode,
	};
	uint64_t length;

	if (!qp || !qp->ud)
		return dapl_fail(DAPL_BAD_HANDLE(EP),
				 qp ? "ep %p is no datagram endpoint"
				    : "no such EP: %p",
				 (void *)handle);
	if (segments < 0 || segments > qp->attr.max_request_iov)
		return too_many_segments(qp, segments,
					 qp->attr.max_request_iov);
	if (!iov && segments)
		return post_refused(qp, false, -EFAULT, segments);
	if (!to || !to->ah)
		return dapl_fail(DAPL_BAD_ARG(4),
				 "ep %p: no address handle; it comes with the "
				 "event of dat_ep_connect()",
				 (void *)qp);
	length = dapl_iov_length(iov, segments);
	/* Some devices cut what is longer, others break the queue pair. */
	if (length > qp->obj.ia->dev.mtu)
		return dapl_fail(DAPL_ERR(DAT_LENGTH_ERROR, 0),
				 "ep %p: a datagram of %llu bytes; %s has an "
				 "MTU of %u",
				 (void *)qp, (unsigned long long)length,
				 qp->obj.ia->dev.name, qp->obj.ia->dev.mtu);
	if (length <= qp->max_inline)
		wr.send_flags = IBV_SEND_INLINE;
	wr.wr.ud.ah = to->ah;
	wr.wr.ud.remote_qpn = to->qpn;
	wr.wr.ud.remote_qkey = VB_UD_QKEY;
	return dapl_qp_post_request(qp, &wr, op->dto, (uint32_t)length, cookie,
				    flags);
}

bool dapl_qp_has_room(struct dapl_qp *qp, uint32_t n)
{
	struct dapl_wq *wq = qp->sq;
	bool room;

	if (!wq)
		return true;
	dapl_lock(&wq->lock);
	if (dapl_wq_used(wq) + n > wq->limit && slot_reclaim_locked(qp))
		slot_undo_locked(wq);
	room = dapl_wq_used(wq) + n <= wq->limit &&
	       (!wq->credits ||
		__atomic_load_n(wq->credits, __ATOMIC_RELAXED) >= (int)n);
	room |= wq->flushing;
	dapl_unlock(&wq->lock);
	return room;
}

/* Whether there is a marker whose completion has not been read. */
static bool has_marker(struct dapl_qp *qp)
{
	struct dapl_wq *wq = qp->sq;
	bool found = false;

	dapl_lock(&qp->request_evd->lock);
	dapl_lock(&wq->lock);
	for (uint32_t i = 0; i < dapl_wq_used(wq) && !found; i++)
		found = (dapl_wq_behind(wq, wq->tail, i)->op & DAPL_OP_MASK) ==
			DAPL_OP_MARKER;
	dapl_unlock(&wq->lock);
	dapl_unlock(&qp->request_evd->lock);
	return found;
}

int dapl_qp_post_marker(struct dapl_qp *qp)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	DAT_DTO_COOKIE none = {.as_64 = 0};

	if (has_marker(qp))
		return 0;
	return post_wr(qp, &wr, DAPL_OP_MARKER, 0, none);
}

/* As post_wr(), for a bind. */
static int post_mw(struct dapl_qp *qp, struct ibv_mw *mw,
		   struct ibv_mw_bind *bind, DAT_DTO_COOKIE cookie,
		   unsigned unnotified_op)
{
	struct dapl_wq *wq = qp->sq;
	struct dapl_slot *slot;
	int ret = ENOTCONN;

	dapl_lock_hot(&wq->lock);
	slot = slot_for_request_locked(qp, DAT_DTO_BIND_MW | unnotified_op, 0,
				       cookie);
	if (!slot)
		return post_no_slot(qp, cookie, DAT_DTO_BIND_MW);
	bind->wr_id = (uintptr_t)slot;
	if (wq->open)
		ret = qp->io.bind(qp->ibv, mw, bind);
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
	int ret;

	if (!wq || (state != DAT_EP_STATE_CONNECTED &&
		    state != DAT_EP_STATE_DISCONNECTED))
		return not_now(qp, state, 0);
	bind->send_flags = dapl_verbs_flags(qp, DAT_DTO_BIND_MW, flags, false);
	ret = post_mw(qp, mw, bind, cookie, unnotified(wq, flags));
	if (ret && ret != -ENOBUFS && is_over(qp, ret))
		ret = post_flushed(qp, qp->sq, qp->request_evd, cookie,
				   DAT_DTO_BIND_MW);
	if (ret)
		return post_refused(qp, false, ret > 0 ? -ret : ret, 0);
	*ret_key = mw->rkey;
	return DAT_SUCCESS;
}

__attribute__((cold, noinline)) static DAT_RETURN
transfer_slow(DAT_EP_HANDLE handle, const struct dapl_transfer *t)
{
	struct dapl_qp *qp = dapl_qp_from(handle);
	DAT_LMR_TRIPLET nothing = {0};
	struct ibv_send_wr wr;
	uint64_t length;
	int most;

	if (!qp || qp->ud)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	most = dapl_qp_request_iov(qp, t->op == DAT_DTO_RDMA_READ);
	if (t->segments < 0 || t->segments > most)
		return too_many_segments(qp, t->segments, most);
	if (!t->iov && t->segments)
		return post_refused(qp, false, -EFAULT, t->segments);
	if (t->op != DAT_DTO_SEND && !t->remote)
		return dapl_fail(DAPL_BAD_ARG(5), "ep %p: no remote buffer",
				 (void *)qp);
	if (t->op == DAT_DTO_RDMA_READ && !qp->attr.max_rdma_read_out)
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "ep %p: no reads, since it was made with a "
				 "max_rdma_read_out of 0",
				 (void *)qp);
	length = dapl_iov_length(t->iov, t->segments);
	if (length > DAPL_LENGTH_MAX)
		return dapl_fail(DAPL_ERR(DAT_LENGTH_ERROR, 0),
				 "ep %p: %d segments of %llu bytes together: a "
				 "message has less than 4 GiB",
				 (void *)qp, t->segments,
				 (unsigned long long)length);
	/* erdma takes a segment of a read whether there is one or not. */
	dapl_wr_fill(qp, &wr, t->opcode, t->op, t->segments,
		     t->segments || t->op != DAT_DTO_RDMA_READ ? t->iov
							       : &nothing,
		     length, t->remote, t->imm, t->flags);
	return dapl_qp_post_request(qp, &wr, t->op, (uint32_t)length, t->cookie,
				    t->flags);
}

DAT_RETURN dapl_transfer_slow(DAT_EP_HANDLE handle,
			      const struct dapl_transfer *t, bool locked)
{
	struct dapl_qp *qp = (struct dapl_qp *)handle;
	uint32_t before;
	DAT_RETURN ret;

	if (!locked &&
	    dapl_transfer_fast(handle, t->opcode, t->op, t->segments, t->iov,
			       t->cookie, t->remote, t->imm, t->flags, t->count,
			       false, &locked, &ret))
		return ret;
	if (locked)
		fast_way_left_locked(qp->sq, t->count);
	if (t->count == DAPL_UNCOUNTED)
		return transfer_slow(handle, t);
	before = dapl_outstanding(handle, false);
	ret = transfer_slow(handle, t);
	if (ret == DAT_SUCCESS)
		dapl_posted(qp, t->count, dapl_iov_length(t->iov, t->segments),
			    before);
	return ret;
}

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(handle, IBV_WR_SEND, DAT_DTO_SEND, segments,
				  iov, cookie, NULL, 0, flags, DAPL_UNCOUNTED);
}

DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT segments,
				   DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(handle, IBV_WR_RDMA_WRITE, DAT_DTO_RDMA_WRITE,
				  segments, iov, cookie, remote, 0, flags,
				  DAPL_UNCOUNTED);
}

DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT segments,
				  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(handle, IBV_WR_RDMA_READ, DAT_DTO_RDMA_READ,
				  segments, iov, cookie, remote, 0, flags,
				  DAPL_UNCOUNTED);
}

DAT_RETURN dapl_ep_post_write_immed(DAT_EP_HANDLE handle, DAT_COUNT segments,
				    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote, uint32_t imm,
				    DAT_COMPLETION_FLAGS flags)
{
	const struct dapl_ib_op *op = &dapl_ib_ops[DAPL_IB_WRITE_IMMED];

	return dapl_post_transfer(handle, op->opcode, op->dto, segments, iov,
				  cookie, remote, imm, flags, DAPL_UNCOUNTED);
}

DAT_RETURN dapl_ep_post_send_with_invalidate(
	DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
	DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT rmr_context)
{
	if (!invalidate)
		return dapl_ep_post_send(handle, segments, iov, cookie, flags);
	return dapl_post_transfer(handle, IBV_WR_SEND_WITH_INV, DAT_DTO_SEND,
				  segments, iov, cookie, NULL, rmr_context,
				  flags, DAPL_UNCOUNTED);
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
	return dapl_ep_post_rdma_read(handle, 1, &iov, cookie, remote, flags);
}

/*
 * Why a receive is refused: ERR, or if that is 0 QP, which may be NULL, or an
 * argument. Or it is flushed.
 */
__attribute__((cold, noinline)) static DAT_RETURN
recv_refused(struct dapl_qp *qp, int err, DAT_COUNT segments,
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
		return post_refused(qp, true, -ENOBUFS, segments);
	if (segments < 0 || segments > qp->attr.max_recv_iov)
		return too_many_segments(qp, segments, qp->attr.max_recv_iov);
	if (!iov && segments)
		return post_refused(qp, true, -EFAULT, segments);
	if (err == -ESHUTDOWN || (err && err != -ENOBUFS && is_over(qp, err))) {
		err = post_flushed(qp, qp->rq, qp->recv_evd, cookie,
				   DAT_DTO_RECEIVE);
		if (!err)
			return DAT_SUCCESS;
	}
	/* Soft iWARP wants a segment, which may be of no bytes. */
	if (abs(err) == EINVAL && !segments)
		return dapl_ep_post_recv((DAT_EP_HANDLE)qp, 1, &nothing, cookie,
					 flags);
	return post_refused(qp, true, err > 0 ? -err : err, segments);
}

DAT_RETURN dapl_recv_refused(struct dapl_wq *wq, int err, uint64_t wr_id,
			     struct ibv_sge *iov, int segments, int count)
{
	const struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wr_id;
	struct dapl_qp *qp = (struct dapl_qp *)wq->owner;
	DAT_LMR_TRIPLET *from = (DAT_LMR_TRIPLET *)iov;
	uint64_t length = dapl_iov_length(from, segments);
	DAT_DTO_COOKIE cookie = slot->cookie;
	uint32_t before;
	DAT_RETURN ret;

	slot_undo_locked(wq);
	uncount_locked(wq, count, length);
	before = dapl_wq_used(wq);
	dapl_unlock(&wq->lock);
	ret = recv_refused(qp, err, segments, from, cookie,
			   DAT_COMPLETION_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS && count != DAPL_UNCOUNTED)
		dapl_posted(qp, count, length, before);
	return ret;
}

__attribute__((cold, noinline)) static DAT_RETURN
recv_slow(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = dapl_qp_from(handle);
	struct dapl_wq *wq = qp ? qp->rq : NULL;
	struct ibv_recv_wr wr = {
		.sg_list = (struct ibv_sge *)iov,
		.num_sge = segments,
	};
	struct ibv_recv_wr *bad;
	struct dapl_slot *slot;
	int ret = ENOTCONN;

	if (!wq || segments < 0 || segments > qp->attr.max_recv_iov ||
	    (!iov && segments))
		return recv_refused(qp, 0, segments, iov, cookie, flags);
	/* Who posts before there is a connection may be there for that only. */
	if (__atomic_load_n(&qp->state, __ATOMIC_RELAXED) ==
	    DAT_EP_STATE_CONNECTED)
		dapl_lock_hot(&wq->lock);
	else
		dapl_lock(&wq->lock);
	slot = wq->flushing ? NULL : slot_find_locked(wq);
	if (slot) {
		slot->cookie = cookie;
		slot->op = (slot->op & ~(uint32_t)DAPL_OP_UNNOTIFIED) |
			   unnotified(wq, flags);
		wr.wr_id = (uintptr_t)slot;
		if (wq->open)
			ret = qp->io.post_recv(qp->ibv, &wr, &bad);
		if (ret)
			slot_undo_locked(wq);
	} else {
		ret = wq->flushing ? -ESHUTDOWN : -ENOBUFS;
	}
	dapl_unlock(&wq->lock);
	return ret ? recv_refused(qp, ret, segments, iov, cookie, flags)
		   : DAT_SUCCESS;
}

DAT_RETURN dapl_recv_slow(DAT_EP_HANDLE handle, DAT_COUNT segments,
			  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			  DAT_COMPLETION_FLAGS flags, int count, bool locked)
{
	struct dapl_qp *qp = (struct dapl_qp *)handle;
	uint32_t before;
	DAT_RETURN ret;

	if (!locked && dapl_recv_fast(handle, segments, iov, cookie, count,
				      false, &locked, &ret))
		return ret;
	if (locked)
		fast_way_left_locked(qp->rq, count);
	if (count == DAPL_UNCOUNTED)
		return recv_slow(handle, segments, iov, cookie, flags);
	before = dapl_outstanding(handle, true);
	ret = recv_slow(handle, segments, iov, cookie, flags);
	if (ret == DAT_SUCCESS)
		dapl_posted(qp, count, dapl_iov_length(iov, segments), before);
	return ret;
}

DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_recv(handle, segments, iov, cookie, flags,
			      DAPL_UNCOUNTED);
}
