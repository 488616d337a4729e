/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_qp.c - an endpoint's queue pair and work queues: made, made anew, ended.
 *
 * The queue pair is made in INIT at once, so that receives can be posted
 * before the endpoint is connected, and is made anew by a reset: a queue pair
 * number that has just been connected may still be remembered by peers
 * (time-wait), and some devices cannot leave the error state at all.
 */
#include "dapl/common/transfer/dapl_qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_process.h"
#include "dapl/common/transfer/dapl_completion.h"
#include "dapl/common/transfer/dapl_srq_queue.h"

DAT_RETURN dapl_qp_bad_state(const struct dapl_qp *qp, int state,
			     const char *call)
{
	/* Those that an endpoint of ours can be in. */
	static const struct {
		uint16_t subtype;
		const char *name;
	} states[] = {
		[DAT_EP_STATE_UNCONNECTED] = {DAT_INVALID_STATE_EP_UNCONNECTED,
					      "unconnected"},
		[DAT_EP_STATE_RESERVED] = {DAT_INVALID_STATE_EP_RESERVED,
					   "reserved"},
		[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] =
			{DAT_INVALID_STATE_EP_PASSCONNPENDING,
			 "passive connection pending"},
		[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] =
			{DAT_INVALID_STATE_EP_ACTCONNPENDING,
			 "active connection pending"},
		[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] =
			{DAT_INVALID_STATE_EP_TENTCONNPENDING,
			 "tentative connection pending"},
		[DAT_EP_STATE_CONNECTED] = {DAT_INVALID_STATE_EP_CONNECTED,
					    "connected"},
		[DAT_EP_STATE_DISCONNECT_PENDING] =
			{DAT_INVALID_STATE_EP_DISCPENDING,
			 "disconnect pending"},
		[DAT_EP_STATE_DISCONNECTED] =
			{DAT_INVALID_STATE_EP_DISCONNECTED, "disconnected"},
		[DAT_EP_STATE_COMPLETION_PENDING] =
			{DAT_INVALID_STATE_EP_COMPLPENDING,
			 "completion pending"},
	};

	return dapl_fail(DAPL_ERR(DAT_INVALID_STATE, states[state].subtype),
			 "ep %p: %s is not allowed while the endpoint is %s",
			 (const void *)qp, call, states[state].name);
}

/* ---------------------------------------------- queue pair */

/* What is posted never comes back from a queue pair that is, or was, in ERR. */
static void set_flushing(struct dapl_qp *qp, bool flushing)
{
	dapl_wq_set_flushing(qp->sq, flushing);
	dapl_wq_set_flushing(qp->rq, flushing);
}

/* The queue pair of QP. Lock ctl held; 0 or -errno. */
static int qp_make_locked(struct dapl_qp *qp, struct ibv_cq *null_cq)
{
	struct dapl_ia *ia = qp->obj.ia;
	struct vb_qp_cfg cfg = {
		.type = qp->ud ? IBV_QPT_UD : IBV_QPT_RC,
		.max_send_wr = (uint32_t)qp->attr.max_request_dtos,
		.max_recv_wr = (uint32_t)qp->attr.max_recv_dtos,
		.max_recv_sge = (uint32_t)qp->attr.max_recv_iov,
		.max_send_sge = (uint32_t)qp->attr.max_request_iov,
		.max_inline = ia->max_inline,
		.context = qp,
	};
	struct ibv_qp *ibv;
	uint32_t max_inline;
	int ret;

	dapl_lock_assert_held(&qp->ctl);
	cfg.send_cq = qp->request_evd ? qp->request_evd->cq : null_cq;
	cfg.recv_cq = qp->recv_evd ? qp->recv_evd->cq : null_cq;
	if (qp->srq) {
		cfg.srq = qp->srq->ibv;
		cfg.max_recv_wr = 0;
		cfg.max_recv_sge = 0;
	}
	ret = vb_qp_create(qp->pd, &cfg, &ibv, &max_inline);
	if (ret)
		return ret;
	ret = vb_qp_init(&ia->dev, ibv, ia->dev.pkey_index,
			 (int)ia->dev.qp_access);
	/* Before anything can arrive. */
	if (!ret && qp->srq)
		ret = dapl_srq_qp_enter(qp->srq, qp, ibv->qp_num);
	/* Connected ones are moved on with their connection. */
	if (!ret && qp->ud) {
		ret = vb_qp_ready_ud(ibv);
		if (ret && qp->srq)
			dapl_srq_qp_leave(qp->srq, qp);
	}
	if (ret) {
		vb_qp_destroy(ibv);
		return ret;
	}
	/* Some devices grant more than was asked for. */
	qp->max_inline =
		max_inline < ia->max_inline ? max_inline : ia->max_inline;
	qp->io = vb_qp_ops_of(&ia->dev, ibv);
	set_flushing(qp, false);
	__atomic_store_n(&qp->id,
			 __atomic_add_fetch(&dapl_process.last_qp_id, 1,
					    __ATOMIC_RELAXED),
			 __ATOMIC_RELEASE);
	qp->ibv = ibv;
	dapl_wq_set_open(qp->sq, true);
	dapl_wq_set_open(qp->rq, true);
	return 0;
}

static int qp_make(struct dapl_qp *qp)
{
	struct ibv_cq *null_cq = NULL;
	int ret = 0;

	/* Takes the IA's lock, which comes before ctl. */
	if (!qp->request_evd || !qp->recv_evd)
		ret = dapl_ia_null_cq(qp->obj.ia, &null_cq);
	if (ret)
		return ret;
	dapl_lock(&qp->ctl);
	if (!qp->ibv)
		ret = qp_make_locked(qp, null_cq);
	dapl_unlock(&qp->ctl);
	return ret;
}

/* What has completed is not flushed, though it was not heard of yet. */
static void forget_held(struct dapl_qp *qp, struct dapl_slot *slot,
			struct dapl_evd *evd)
{
	unsigned op = slot->op & DAPL_OP_MASK;
	DAT_EVENT event;

	if (op == DAPL_OP_MARKER)
		slot->op = 0;
	else if (dapl_completion_held(qp, slot, &event) && evd)
		dapl_evd_post_completion(evd, &event);
}

/*
 * What is left in the ring of a destroyed queue pair will never complete. With
 * EVD each request is reported as flushed, except suppressed ones that may
 * have succeeded in silence: those before the first that is to be heard of.
 */
static void wq_forget(struct dapl_qp *qp, struct dapl_wq *wq,
		      struct dapl_evd *evd)
{
	uint32_t left = wq ? dapl_wq_used(wq) : 0;
	struct dapl_slot *slot;
	DAT_EVENT event;
	unsigned op;
	bool flushed;

	if (!wq)
		return;
	flushed = wq->failed;
	for (uint32_t i = 0; i < left; i++, dapl_wq_complete(wq, slot)) {
		slot = dapl_wq_oldest(wq);
		op = slot->op & DAPL_OP_MASK;
		if (slot->op & DAPL_OP_HELD) {
			forget_held(qp, slot, evd);
			continue;
		}
		slot->op &= ~(uint32_t)(DAPL_OP_UNNOTIFIED | DAPL_OP_SLOW);
		slot->op |= wq->slow_op;
		if (!(slot->op & DAPL_OP_SUPPRESSED) ||
		    dapl_slot_signals(wq, slot))
			flushed = true;
		if (!evd && op == DAT_DTO_BIND_MW)
			dapl_bind_forget(slot->cookie);
		if (!evd || !flushed || op == DAPL_OP_MARKER)
			continue;
		dapl_completion_flush(qp, op, slot->cookie, &event);
		dapl_evd_post_completion(evd, &event);
	}
	wq->failed = false;
	wq->owed = 0;
	if (wq->credits)
		__atomic_add_fetch(wq->credits, (int)left, __ATOMIC_RELAXED);
}

/*
 * Hides the queue pair from everybody else and returns it, or NULL; if it is
 * being moved, when the kernel has let go of it. Who finds none knows that
 * another's end of it is over; dapl_qp_ended() is to follow otherwise.
 */
static struct ibv_qp *qp_take(struct dapl_qp *qp)
{
	struct ibv_qp *ibv;

	dapl_lock(&qp->ctl);
	dapl_qp_move_wait_locked(qp);
	dapl_qp_end_wait_locked(qp);
	ibv = qp->ibv;
	qp->ending = ibv != NULL;
	dapl_wq_set_open(qp->sq, false);
	dapl_wq_set_open(qp->rq, false);
	qp->ibv = NULL;
	dapl_unlock(&qp->ctl);
	return ibv;
}

static void read_all(struct dapl_qp *qp, bool drop,
		     struct dapl_evd_after after[2])
{
	const struct dapl_obj *whose = drop ? &qp->obj : NULL;

	dapl_evd_poll_all(qp->request_evd, whose, &after[0]);
	dapl_evd_poll_all(qp->recv_evd, whose, &after[1]);
}

/*
 * Ends the queue pair. Completions it left in the completion queues would
 * point to slots that are used again, so they are read first: into the ring
 * for the consumer, or, with DROP, away.
 *
 * Drivers of adapters take the completions of a queue pair that is destroyed
 * out of its queues, those of the soft devices leave them there: so the queues
 * are read before and after. In ERR there are no more successes to come, only
 * flushes, and what is not heard of in the end has been flushed.
 */
static void qp_end(struct dapl_qp *qp, bool drop)
{
	struct dapl_evd_after after[2] = {{.unnotified = false}};
	struct ibv_qp *ibv = qp_take(qp);
	struct dapl_evd *recv_evd = qp->srq ? NULL : qp->recv_evd;

	if (!ibv)
		return;
	set_flushing(qp, true);
	vb_qp_error(ibv);
	read_all(qp, drop, after);
	vb_qp_destroy(ibv);
	read_all(qp, drop, after);
	/* Last: until here completions are looked up by its number. */
	if (qp->srq)
		dapl_srq_qp_leave(qp->srq, qp);
	wq_forget(qp, qp->sq, drop ? NULL : qp->request_evd);
	wq_forget(qp, qp->rq, drop ? NULL : recv_evd);
	if (qp->flush_heard)
		dapl_evd_flush_leave(qp->recv_evd);
	qp->flush_heard = false;
	dapl_qp_ended(qp);
	dapl_evd_after(&after[0]);
	dapl_evd_after(&after[1]);
}

int dapl_qp_renew(struct dapl_qp *qp)
{
	qp_end(qp, false);
	return qp->pz ? qp_make(qp) : 0;
}

static void hear_flushes(struct dapl_qp *qp)
{
	struct dapl_evd *evd = NULL;

	dapl_lock(&qp->ctl);
	if (qp->ibv && qp->recv_evd && !qp->flush_heard) {
		qp->flush_heard = true;
		evd = qp->recv_evd;
		dapl_evd_flush_enter(evd);
		/* From here on the queue pair may be taken, the EVD freed. */
		dapl_obj_get(&evd->obj);
	}
	dapl_unlock(&qp->ctl);
	if (!evd)
		return;
	/* What it reads may have to be done without any lock. */
	dapl_evd_flush_hear(evd);
	dapl_obj_put(&evd->obj);
}

void dapl_qp_over(struct dapl_qp *qp, bool was_up)
{
	hear_flushes(qp);
	if (!qp->obj.ia->dev.withholds_flushes)
		return;
	if (was_up) {
		qp_end(qp, false);
		return;
	}
	/* No post waits for what may not come. */
	dapl_wq_set_open(qp->sq, false);
	dapl_wq_set_open(qp->rq, false);
}

uint64_t dapl_qp_id(struct dapl_qp *qp)
{
	uint64_t id;

	dapl_lock(&qp->ctl);
	id = qp->ibv ? qp->id : 0;
	dapl_unlock(&qp->ctl);
	return id;
}

void dapl_qp_error_locked(struct dapl_qp *qp)
{
	int ret;

	dapl_lock_assert_held(&qp->ctl);
	if (!qp->ibv || dapl_qp_move_to_error_locked(qp))
		return;
	set_flushing(qp, true);
	ret = vb_qp_error(qp->ibv);
	if (ret)
		dapl_log(DAPL_LOG_WARN, "ep %p: queue pair refuses ERR: %s",
			 (void *)qp, strerror(-ret));
}

void dapl_qp_error(struct dapl_qp *qp)
{
	dapl_lock(&qp->ctl);
	dapl_qp_error_locked(qp);
	dapl_unlock(&qp->ctl);
}

/* -------------------------------------------- work queues */

/*
 * What ATTR asks of the EVD of receives, or of requests. One EVD for both that
 * is asked for different things notifies of all; so no request needs a mark,
 * and posts keep to the fast path.
 */
enum dapl_evd_config dapl_qp_config(const struct dapl_evd *recv_evd,
				    const struct dapl_evd *request_evd,
				    const DAT_EP_ATTR *attr, bool recv)
{
	enum dapl_evd_config of_recv, of_request;

	of_recv = dapl_evd_config_of(attr->recv_completion_flags, true);
	of_request = dapl_evd_config_of(attr->request_completion_flags, false);
	if (recv_evd == request_evd && of_recv != of_request)
		return DAPL_EVD_THRESHOLD;
	return recv ? of_recv : of_request;
}

static enum dapl_evd_config config_of(const struct dapl_qp *qp, bool recv)
{
	return dapl_qp_config(qp->recv_evd, qp->request_evd, &qp->attr, recv);
}

void dapl_qp_notify_apply(struct dapl_qp *qp)
{
	dapl_wq_set_notify(qp->sq, config_of(qp, false) == DAPL_EVD_NOTIFY);
	dapl_wq_set_notify(qp->rq, config_of(qp, true) == DAPL_EVD_NOTIFY);
}

static void wq_free(struct dapl_wq *wq, struct dapl_evd *evd)
{
	if (!wq)
		return;
	dapl_evd_detach(evd, (int)wq->limit, wq->credits);
	dapl_lock_fini(&wq->lock);
	free(wq);
}

static int wq_make(struct dapl_qp *qp, enum dapl_wq_kind kind, DAT_COUNT limit,
		   struct dapl_evd *evd, struct dapl_wq **ret_wq)
{
	struct dapl_wq *wq;
	int *credits;
	int ret;

	*ret_wq = NULL;
	if (!limit || !evd)
		return 0;
	wq = dapl_wq_new(kind, (uint32_t)limit, &qp->obj, dapl_completion);
	if (!wq)
		return -ENOMEM;
	wq->settle = dapl_completion_settle;
	ret = dapl_evd_attach(evd, limit, &credits);
	if (ret) {
		dapl_lock_fini(&wq->lock);
		free(wq);
		return ret;
	}
	if (credits)
		dapl_wq_use_credits(wq, credits);
	if (kind == DAPL_WQ_SEND && qp->obj.ia->dev.overtakes_reads)
		dapl_wq_let_overtake(wq);
	/* Their events are of another form. */
	if (qp->ud && kind == DAPL_WQ_RECV)
		dapl_wq_complete_slowly(wq);
	*ret_wq = wq;
	return 0;
}

struct dapl_counts *dapl_wq_counts_make(struct dapl_wq *wq)
{
	struct dapl_qp *qp = (struct dapl_qp *)wq->owner;
	struct dapl_counts *c = dapl_counts_get(&qp->obj, &qp->counts);

	__atomic_store_n(&wq->counts, c, __ATOMIC_RELEASE);
	return c;
}

/*
 * The endpoint's queues. A queue pair needs a PZ: without one, which is allowed
 * until dat_ep_modify() brings it, there are none yet.
 */
int dapl_qp_open(struct dapl_qp *qp)
{
	int ret;

	if (!qp->pz)
		return 0;
	qp->read_flags = 15;
	if (qp->obj.ia->dev.unfenced_reads)
		qp->read_flags &= (uint8_t)~DAT_COMPLETION_BARRIER_FENCE_FLAG;
	ret = wq_make(qp, DAPL_WQ_SEND, qp->attr.max_request_dtos,
		      qp->request_evd, &qp->sq);
	if (ret)
		return ret;
	ret = qp->srq ? dapl_srq_evd_attach(qp->srq, qp->recv_evd)
		      : wq_make(qp, DAPL_WQ_RECV, qp->attr.max_recv_dtos,
				qp->recv_evd, &qp->rq);
	if (ret)
		goto err_free_sq;
	/* Before there is a queue pair that a thread could post to. */
	dapl_qp_notify_apply(qp);
	ret = qp_make(qp);
	if (ret)
		goto err_free_rq;
	qp->recv_iov = qp->rq ? (uint32_t)qp->attr.max_recv_iov : 0;
	qp->has_queues = true;
	return 0;

err_free_rq:
	if (qp->srq)
		dapl_srq_evd_detach(qp->srq, qp->recv_evd);
	wq_free(qp->rq, qp->recv_evd);
	qp->rq = NULL;
err_free_sq:
	wq_free(qp->sq, qp->request_evd);
	qp->sq = NULL;
	return ret;
}

void dapl_qp_close(struct dapl_qp *qp)
{
	/* The queue pair may be gone: a reset that failed leaves none. */
	qp_end(qp, true);
	if (qp->srq && qp->has_queues)
		dapl_srq_evd_detach(qp->srq, qp->recv_evd);
	qp->has_queues = false;
	qp->recv_iov = 0;
	wq_free(qp->sq, qp->request_evd);
	wq_free(qp->rq, qp->recv_evd);
	qp->sq = NULL;
	qp->rq = NULL;
}
