/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_completion.c - completions that are more than a plain success: errors,
 * immediate data, windows, extensions, receives from an SRQ, suppressed ones.
 *
 * Called while an EVD is read, with its lock. What needs another lock (a
 * broken connection, a drained endpoint) is noted for afterwards.
 */
#include "dapl/common/transfer/dapl_completion.h"

#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/transfer/dapl_ib_op.h"
#include "dapl/common/transfer/dapl_srq_queue.h"

/*
 * What the device says is passed on. The soft devices say LOC_QP_OP of every
 * local fault, a bad key or a message that is too long included; nothing that
 * is known here would tell them apart.
 */
static DAT_DTO_COMPLETION_STATUS dto_status(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return DAT_DTO_SUCCESS;
	case IBV_WC_WR_FLUSH_ERR:
		return DAT_DTO_ERR_FLUSHED;
	case IBV_WC_LOC_LEN_ERR:
		return DAT_DTO_ERR_LOCAL_LENGTH;
	case IBV_WC_LOC_QP_OP_ERR:
	case IBV_WC_LOC_EEC_OP_ERR:
		return DAT_DTO_ERR_LOCAL_EP;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
	case IBV_WC_LOC_RDD_VIOL_ERR:
		return DAT_DTO_ERR_LOCAL_PROTECTION;
	case IBV_WC_BAD_RESP_ERR:
		return DAT_DTO_ERR_BAD_RESPONSE;
	case IBV_WC_REM_ACCESS_ERR:
		return DAT_DTO_ERR_REMOTE_ACCESS;
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_REM_INV_RD_REQ_ERR:
	case IBV_WC_REM_ABORT_ERR:
		return DAT_DTO_ERR_REMOTE_RESPONDER;
	case IBV_WC_RNR_RETRY_EXC_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
		return DAT_DTO_ERR_RECEIVER_NOT_READY;
	case IBV_WC_MW_BIND_ERR:
		return DAT_RMR_OPERATION_FAILED;
	default:
		return DAT_DTO_ERR_TRANSPORT;
	}
}

static DAT_IB_EXTENSION_EVENT_DATA *ext_data(DAT_EVENT *ev)
{
	return (DAT_IB_EXTENSION_EVENT_DATA *)ev->event_extension_data;
}

static void make_ext(DAT_EVENT *ev, const struct dapl_ib_op *op)
{
	DAT_IB_EXTENSION_EVENT_DATA *ext = ext_data(ev);

	memset(ext, 0, sizeof(*ext));
	ev->event_number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
	ev->event_data.dto_completion_event_data.operation = (DAT_DTOS)op->dto;
	ext->type = op->type;
	ext->status =
		(DAT_IB_STATUS)ev->event_data.dto_completion_event_data.status;
}

/* The number travels as given: old peers do not swap it either. */
static void make_immed(DAT_EVENT *ev, enum dapl_ib_op_id id,
		       const struct ibv_wc *wc)
{
	make_ext(ev, &dapl_ib_ops[id]);
	ext_data(ev)->val.immed.data = wc->imm_data;
}

/* A completion of the send queue. */
static void request_ext(DAT_EVENT *ev, unsigned op)
{
	const struct dapl_ib_op *ib = dapl_ib_request(op);

	if (ib)
		make_ext(ev, ib);
	else
		ev->event_data.dto_completion_event_data.operation =
			(DAT_DTOS)op;
}

/* A receive of a datagram endpoint, the 40 bytes in front counted. */
static void receive_ud(DAT_EVENT *ev, const struct ibv_wc *wc)
{
	if (wc->status || !(wc->wc_flags & IBV_WC_WITH_IMM))
		make_ext(ev, &dapl_ib_ops[DAPL_IB_UD_ARRIVED]);
	else
		make_immed(ev, DAPL_IB_UD_IMMED_ARRIVED, wc);
}

static unsigned flag_of_inv(const struct dapl_evd *evd)
{
	return evd->obj.ia->dev.wc_csum_means_inv ? IBV_WC_IP_CSUM_OK
						  : IBV_WC_WITH_INV;
}

/* A message that brought immediate data or invalidated a window. */
static void receive_ext(struct dapl_evd *evd, DAT_EVENT *ev,
			const struct ibv_wc *wc)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;

	if (wc->wc_flags & flag_of_inv(evd)) {
		dto->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		dto->rmr_context = wc->invalidated_rkey;
		dapl_windows_invalidated(&evd->obj.ia->windows,
					 wc->invalidated_rkey);
		return;
	}
	make_immed(ev,
		   wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM
			   ? DAPL_IB_WRITE_ARRIVED
			   : DAPL_IB_MESSAGE_ARRIVED,
		   wc);
}

/* RMR binds have an event of their own shape. False: none is wanted. */
static bool make_bind(DAT_EVENT *ev, DAT_DTO_COOKIE cookie,
		      DAT_DTO_COMPLETION_STATUS status)
{
	ev->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
	return dapl_bind_done(cookie, status,
			      &ev->event_data.rmr_completion_event_data);
}

/* No queue pair is replaced before its completions have been read. */
static struct dapl_evd_call call_of(struct dapl_qp *qp,
				    void (*fn)(struct dapl_obj *, uint64_t))
{
	dapl_obj_get(&qp->obj);
	return (struct dapl_evd_call){fn, &qp->obj, dapl_qp_last_id(qp)};
}

/*
 * Whether WC is the end of QP's connection. A flush of a queue pair that nobody
 * here has moved to ERR is: the device has, and may say nothing else, as some
 * do whose own address goes. On iWARP that is how the peer's disconnect begins,
 * of which the connection manager tells.
 */
static bool breaks(const struct dapl_qp *qp, const struct ibv_wc *wc)
{
	const struct dapl_wq *wq = qp->sq ? qp->sq : qp->rq;

	if (wc->status != IBV_WC_WR_FLUSH_ERR)
		return wc->status != IBV_WC_SUCCESS;
	return !qp->obj.ia->dev.iw_cm && wq &&
	       !__atomic_load_n(&wq->flushing, __ATOMIC_RELAXED);
}

static void note_broken(struct dapl_qp *qp, struct dapl_evd_after *after,
			const struct ibv_wc *wc)
{
	dapl_log(DAPL_LOG_DTO_ERR,
		 "ep %p qp 0x%x: completion with error: %s (vendor 0x%x)",
		 (void *)qp, wc->qp_num, ibv_wc_status_str(wc->status),
		 wc->vendor_err);
	if (after->broken.obj == &qp->obj)
		return;
	if (after->broken.obj) {
		/* Its other completions are flushes: now or never. */
		qp->ops->broken_later(&qp->obj, dapl_qp_last_id(qp));
		return;
	}
	after->broken = call_of(qp, qp->ops->broken);
}

/* What a request of the send queue reports beyond the plain transfers. */
static bool request_event(DAT_EVENT *ev, struct dapl_qp *qp, unsigned op,
			  DAT_DTO_COOKIE cookie, struct dapl_evd_after *after)
{
	DAT_DTO_COMPLETION_STATUS status =
		ev->event_data.dto_completion_event_data.status;

	switch (op) {
	case DAPL_OP_MARKER:
		if (!after->drained.obj)
			after->drained = call_of(qp, qp->ops->drained);
		return false;
	case DAT_DTO_BIND_MW:
		return make_bind(ev, cookie, status);
	default:
		request_ext(ev, op);
		return true;
	}
}

/* The event of a request without a completion at hand. */
static bool late_event(struct dapl_qp *qp, unsigned op, DAT_DTO_COOKIE cookie,
		       DAT_DTO_COMPLETION_STATUS status, DAT_EVENT *ret_event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ret_event->event_data.dto_completion_event_data;

	memset(ret_event, 0, sizeof(*ret_event));
	ret_event->event_number = DAT_DTO_COMPLETION_EVENT;
	dto->ep_handle = (DAT_EP_HANDLE)qp;
	dto->user_cookie = cookie;
	dto->status = status;
	if (op == DAT_DTO_BIND_MW)
		return make_bind(ret_event, cookie, status);
	if (qp->ud && op == DAT_DTO_RECEIVE)
		make_ext(ret_event, &dapl_ib_ops[DAPL_IB_UD_ARRIVED]);
	else
		request_ext(ret_event, op);
	return true;
}

void dapl_completion_flush(struct dapl_qp *qp, unsigned op,
			   DAT_DTO_COOKIE cookie, DAT_EVENT *ret_event)
{
	(void)late_event(qp, op, cookie, DAT_DTO_ERR_FLUSHED, ret_event);
}

bool dapl_completion_held(struct dapl_qp *qp, struct dapl_slot *slot,
			  DAT_EVENT *ret_event)
{
	enum ibv_wc_status status =
		(enum ibv_wc_status)(slot->op >> DAPL_OP_HELD_STATUS);
	unsigned op = slot->op & DAPL_OP_MASK;
	bool silent =
		status == IBV_WC_SUCCESS && (slot->op & DAPL_OP_SUPPRESSED);
	DAT_DTO_COOKIE cookie = slot->cookie;
	DAT_COUNT length = status == IBV_WC_SUCCESS ? slot->length : 0;

	slot->op = op | slot->wq->slow_op;
	if (!late_event(qp, op, cookie, dto_status(status), ret_event) ||
	    silent)
		return false;
	if (op != DAT_DTO_BIND_MW)
		ret_event->event_data.dto_completion_event_data
			.transfered_length = length;
	return true;
}

/*
 * WC's request is not the oldest: its event is made when it is. False: it is.
 * The end of a connection is none that waits.
 */
static bool hold(struct dapl_wq *wq, struct dapl_slot *slot,
		 const struct ibv_wc *wc, struct dapl_evd_after *after)
{
	if (slot == dapl_wq_oldest(wq))
		return false;
	slot->op |= DAPL_OP_HELD | (uint32_t)wc->status << DAPL_OP_HELD_STATUS;
	wq->failed |= wc->status != IBV_WC_SUCCESS;
	if (breaks((struct dapl_qp *)wq->owner, wc))
		note_broken((struct dapl_qp *)wq->owner, after, wc);
	return true;
}

/* Those that have waited for the one whose event was made last. */
static void let_go(struct dapl_evd *evd, struct dapl_wq *wq,
		   struct dapl_evd_after *after)
{
	struct dapl_qp *qp = (struct dapl_qp *)wq->owner;
	DAT_EVENT event;

	dapl_lock_assert_held(&evd->lock);
	while (dapl_wq_is_held(wq)) {
		struct dapl_slot *slot = dapl_wq_oldest(wq);
		bool unnotified = slot->op & DAPL_OP_UNNOTIFIED &&
				  !(slot->op >> DAPL_OP_HELD_STATUS);

		if ((slot->op & DAPL_OP_MASK) == DAPL_OP_MARKER) {
			slot->op = 0;
			if (!after->drained.obj)
				after->drained = call_of(qp, qp->ops->drained);
		} else if (dapl_completion_held(qp, slot, &event)) {
			event.evd_handle = (DAT_EVD_HANDLE)evd;
			dapl_evd_push_completion_locked(evd, &event, unnotified,
							after);
		}
		dapl_wq_complete(wq, slot);
		if (wq->credits)
			__atomic_add_fetch(wq->credits, 1, __ATOMIC_RELAXED);
	}
}

/* Whether the request in SLOT will be heard of for sure. */
static bool is_due_locked(const struct dapl_wq *wq,
			  const struct dapl_slot *slot)
{
	dapl_lock_assert_held(&wq->lock);
	return wq->failed || !(slot->op & DAPL_OP_SUPPRESSED) ||
	       dapl_slot_signals(wq, slot);
}

bool dapl_completion_due_locked(struct dapl_wq *wq)
{
	uint32_t n = dapl_wq_used(wq) - wq->owed;

	dapl_lock_assert_held(&wq->lock);
	for (uint32_t i = 0; i < n; i++)
		if (is_due_locked(wq, dapl_wq_behind(wq, wq->tail, i)))
			return true;
	return false;
}

/*
 * Of a connection that is over nothing is outstanding but what the consumer is
 * to hear of: a silent request has a slot until the endpoint is reset, and a
 * marker until its flush is read.
 */
static bool is_idle_locked(struct dapl_wq *wq)
{
	uint32_t n = dapl_wq_used(wq);

	dapl_lock_assert_held(&wq->lock);
	for (uint32_t i = 0; i < n; i++) {
		const struct dapl_slot *slot = dapl_wq_behind(wq, wq->tail, i);

		if ((slot->op & DAPL_OP_MASK) != DAPL_OP_MARKER &&
		    is_due_locked(wq, slot))
			return false;
	}
	return wq->flushing;
}

bool dapl_completion_idle(struct dapl_qp *qp)
{
	struct dapl_evd *evd = qp->request_evd;
	struct dapl_wq *wq = qp->sq;
	bool idle;

	if (!wq || !dapl_wq_used(wq))
		return true;
	if (!__atomic_load_n(&wq->flushing, __ATOMIC_RELAXED))
		return false;
	dapl_lock(&evd->lock);
	dapl_lock(&wq->lock);
	idle = is_idle_locked(wq);
	dapl_unlock(&wq->lock);
	dapl_unlock(&evd->lock);
	return idle;
}

/*
 * The slots are given back where they were taken, at the ring's head: those of
 * silent requests may still be in front of them.
 */
void dapl_completion_settle(struct dapl_evd *evd, struct dapl_wq *wq,
			    struct dapl_evd_after *after)
{
	struct dapl_qp *qp = (struct dapl_qp *)wq->owner;
	DAT_EVENT event;

	dapl_lock_assert_held(&evd->lock);
	let_go(evd, wq, after);
	dapl_lock(&wq->lock);
	if (dapl_completion_due_locked(wq))
		goto out;
	for (uint32_t i = wq->owed; i > 0; i--) {
		const struct dapl_slot *slot = dapl_wq_before(wq, wq->head, i);

		dapl_completion_flush(qp, slot->op & DAPL_OP_MASK, slot->cookie,
				      &event);
		event.evd_handle = (DAT_EVD_HANDLE)evd;
		dapl_evd_push_completion_locked(evd, &event, false, after);
	}
	if (wq->credits)
		__atomic_add_fetch(wq->credits, (int)wq->owed,
				   __ATOMIC_RELAXED);
	dapl_wq_give_back_locked(wq, wq->owed);
	wq->owed = 0;
out:
	dapl_unlock(&wq->lock);
}

bool dapl_completion(struct dapl_evd *evd, const struct ibv_wc *wc,
		     DAT_EVENT *ev, struct dapl_evd_after *after)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;
	struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wc->wr_id;
	struct dapl_wq *wq = slot->wq;
	unsigned op = slot->op & DAPL_OP_MASK;
	struct dapl_qp *qp = (struct dapl_qp *)wq->owner;
	bool ok = wc->status == IBV_WC_SUCCESS;
	bool unnotified = slot->op & DAPL_OP_UNNOTIFIED;
	bool silent = ok && (slot->op & DAPL_OP_SUPPRESSED);

	dapl_lock_assert_held(&evd->lock);
	if (wq->overtaken && hold(wq, slot, wc, after))
		return false;
	ev->event_number = DAT_DTO_COMPLETION_EVENT;
	ev->evd_handle = (DAT_EVD_HANDLE)evd;
	dto->user_cookie = slot->cookie;
	dto->status = dto_status(wc->status);
	dto->operation = (DAT_DTOS)op;
	dto->rmr_context = 0;
	dto->transfered_length = !ok			    ? 0
				 : wq->kind == DAPL_WQ_SEND ? slot->length
							    : wc->byte_len;
	/* Receives are posted again without a look at the mark. */
	if (unnotified)
		slot->op &= ~(uint32_t)DAPL_OP_UNNOTIFIED;
	if (wq->kind == DAPL_WQ_SRQ) {
		qp = dapl_srq_complete(slot, wc->qp_num);
		after->shared = true;
	} else {
		uint32_t n;

		/* Receives are posted again without a look at it, too. */
		slot->op = (slot->op & ~(uint32_t)DAPL_OP_SLOW) | wq->slow_op;
		n = dapl_wq_between(wq, wq->tail, slot + 1);
		dapl_wq_complete(wq, slot);
		wq->failed |= !ok;
		if (wq->owed || (wq->overtaken && dapl_wq_is_held(wq)))
			after->settle = wq;
		if (wq->credits)
			__atomic_add_fetch(wq->credits, (int)n,
					   __ATOMIC_RELAXED);
	}
	after->unnotified = unnotified && ok;
	dto->ep_handle = (DAT_EP_HANDLE)qp;
	if (!ok && qp && breaks(qp, wc))
		note_broken(qp, after, wc);
	if (silent)
		return false;
	if (wq->kind == DAPL_WQ_SEND)
		/* Not the slot's: that may be in use again. */
		return request_event(ev, qp, op, dto->user_cookie, after);
	if (qp && qp->ud)
		receive_ud(ev, wc);
	else if (ok && (wc->wc_flags & (IBV_WC_WITH_IMM | flag_of_inv(evd))))
		receive_ext(evd, ev, wc);
	return true;
}
