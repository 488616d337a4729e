/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep.c - life of an endpoint: create, its queue pair, free.
 *
 * The queue pair is made in INIT at once, so that receives can be posted
 * before the endpoint is connected, and is made anew by a reset: a queue pair
 * number that has just been connected may still be remembered by peers
 * (time-wait), and some devices cannot leave the error state at all.
 */
#include "dapl/common/connect/dapl_ep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/objects/dapl_rmr.h"
#include "dapl/common/objects/dapl_srq.h"

DAT_RETURN dapl_ep_bad_state(const struct dapl_ep *ep, int state,
			     const char *call)
{
	static const struct {
		uint16_t subtype;
		const char *name;
	} states[] = {
		[DAT_EP_STATE_UNCONNECTED] = {DAT_INVALID_STATE_EP_UNCONNECTED,
					      "unconnected"},
		[DAT_EP_STATE_UNCONFIGURED_UNCONNECTED] =
			{DAT_INVALID_STATE_EP_UNCONFIGURED, "unconfigured"},
		[DAT_EP_STATE_RESERVED] = {DAT_INVALID_STATE_EP_RESERVED,
					   "reserved"},
		[DAT_EP_STATE_UNCONFIGURED_RESERVED] =
			{DAT_INVALID_STATE_EP_UNCONFRESERVED,
			 "unconfigured reserved"},
		[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] =
			{DAT_INVALID_STATE_EP_PASSCONNPENDING,
			 "passive connection pending"},
		[DAT_EP_STATE_UNCONFIGURED_PASSIVE] =
			{DAT_INVALID_STATE_EP_UNCONFPASSIVE,
			 "unconfigured passive"},
		[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] =
			{DAT_INVALID_STATE_EP_ACTCONNPENDING,
			 "active connection pending"},
		[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] =
			{DAT_INVALID_STATE_EP_TENTCONNPENDING,
			 "tentative connection pending"},
		[DAT_EP_STATE_UNCONFIGURED_TENTATIVE] =
			{DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
			 "unconfigured tentative"},
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
			 (const void *)ep, call, states[state].name);
}

/* ---------------------------------------------- queue pair */

/* What is posted never comes back from a queue pair that is, or was, in ERR. */
static void set_over(struct dapl_ep *ep, bool over)
{
	dapl_wq_set_over(ep->sq, over);
	dapl_wq_set_over(ep->rq, over);
}

/* Work queues and queue pair of EP. Lock ctl held; 0 or -errno. */
static int qp_open_locked(struct dapl_ep *ep, struct ibv_cq *null_cq)
{
	static uint64_t last_id; /* atomic */
	struct dapl_ia *ia = ep->obj.ia;
	struct vb_qp_cfg cfg = {
		.type = ep->ud ? IBV_QPT_UD : IBV_QPT_RC,
		.max_send_wr = (uint32_t)ep->attr.max_request_dtos,
		.max_recv_wr = (uint32_t)ep->attr.max_recv_dtos,
		.max_recv_sge = (uint32_t)ep->attr.max_recv_iov,
		.max_send_sge = (uint32_t)ep->attr.max_request_iov,
		.max_inline = ia->max_inline,
		.context = ep,
	};
	struct ibv_qp *qp;
	uint32_t max_inline;
	int ret;

	dapl_lock_assert_held(&ep->ctl);
	cfg.send_cq = ep->request_evd ? ep->request_evd->cq : null_cq;
	cfg.recv_cq = ep->recv_evd ? ep->recv_evd->cq : null_cq;
	if (ep->srq) {
		cfg.srq = dapl_srq_verbs(ep->srq);
		cfg.max_recv_wr = 0;
		cfg.max_recv_sge = 0;
	}
	ret = vb_qp_create(ep->pz->pd, &cfg, &qp, &max_inline);
	if (ret)
		return ret;
	ret = vb_qp_init(&ia->dev, qp, ia->dev.pkey_index,
			 (int)ia->dev.qp_access);
	if (!ret && ep->srq)
		ret = dapl_srq_qp_enter(ep->srq, ep, qp->qp_num);
	if (ret) {
		vb_qp_destroy(qp);
		return ret;
	}
	ep->max_inline = max_inline;
	set_over(ep, false);
	ep->qp_id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&ep->qp, qp, __ATOMIC_RELEASE);
	return 0;
}

static int qp_open(struct dapl_ep *ep)
{
	struct ibv_cq *null_cq = NULL;
	int ret = 0;

	/* Takes the IA's lock, which comes before ctl. */
	if (!ep->request_evd || !ep->recv_evd)
		ret = dapl_ia_null_cq(ep->obj.ia, &null_cq);
	if (ret)
		return ret;
	dapl_lock(&ep->ctl);
	if (!ep->qp)
		ret = qp_open_locked(ep, null_cq);
	dapl_unlock(&ep->ctl);
	return ret;
}

/*
 * What is left in the ring of a destroyed queue pair will never complete. With
 * EVD each request is reported as flushed, except suppressed ones that may
 * have succeeded in silence: those before the first that is to be heard of.
 */
static void wq_forget(struct dapl_ep *ep, struct dapl_wq *wq,
		      struct dapl_evd *evd)
{
	uint32_t left = 0;
	DAT_EVENT event;
	bool flushed;

	if (!wq)
		return;
	flushed = wq->failed;
	for (; wq->tail != wq->head; wq->tail++, left++) {
		struct dapl_slot *slot = &wq->slots[wq->tail & wq->mask];
		unsigned op = slot->what & DAPL_OP_MASK;

		slot->what &= ~(uint32_t)DAPL_OP_QUIET;
		if (!(slot->what & DAPL_OP_SUPPRESSED) ||
		    dapl_slot_signals(wq, slot))
			flushed = true;
		if (!evd && op == DAT_DTO_BIND_MW)
			dapl_rmr_bind_forget(slot->cookie);
		if (!evd || !flushed || op == DAPL_OP_MARKER)
			continue;
		dapl_evd_flush_event(ep, op, slot->cookie, &event);
		dapl_evd_post_completion(evd, &event);
	}
	wq->failed = false;
	if (wq->credits)
		__atomic_add_fetch(wq->credits, (int)left, __ATOMIC_RELAXED);
}

/*
 * Hides the queue pair from everybody else and returns it, or NULL; if it is
 * being moved, when the kernel has let go of it. Posts read the pointer under
 * the lock of their queue: whoever still saw it has left when both locks have
 * been ours.
 */
static struct ibv_qp *qp_take(struct dapl_ep *ep)
{
	struct ibv_qp *qp;

	dapl_lock(&ep->ctl);
	dapl_ep_move_wait_locked(ep);
	qp = ep->qp;
	__atomic_store_n(&ep->qp, NULL, __ATOMIC_RELEASE);
	for (int i = 0; qp && i < 2; i++) {
		struct dapl_wq *wq = i ? ep->rq : ep->sq;

		if (!wq)
			continue;
		dapl_lock(&wq->lock);
		dapl_unlock(&wq->lock);
	}
	dapl_unlock(&ep->ctl);
	return qp;
}

static void ep_harvest(struct dapl_ep *ep, bool drop,
		       struct dapl_evd_after after[2])
{
	dapl_evd_harvest(ep->request_evd, drop ? ep : NULL, &after[0]);
	dapl_evd_harvest(ep->recv_evd, drop ? ep : NULL, &after[1]);
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
static void qp_close(struct dapl_ep *ep, bool drop)
{
	struct dapl_evd_after after[2] = {{0}, {0}};
	struct ibv_qp *qp = qp_take(ep);
	struct dapl_evd *recv_evd = ep->srq ? NULL : ep->recv_evd;

	if (!qp)
		return;
	vb_qp_error(qp);
	ep_harvest(ep, drop, after);
	vb_qp_destroy(qp);
	ep_harvest(ep, drop, after);
	/* Last: until here completions are looked up by its number. */
	if (ep->srq)
		dapl_srq_qp_leave(ep->srq, ep);
	wq_forget(ep, ep->sq, drop ? NULL : ep->request_evd);
	wq_forget(ep, ep->rq, drop ? NULL : recv_evd);
	dapl_evd_after(&after[0]);
	dapl_evd_after(&after[1]);
}

int dapl_ep_qp_renew(struct dapl_ep *ep)
{
	qp_close(ep, false);
	return ep->pz ? qp_open(ep) : 0;
}

uint64_t dapl_ep_qp_id(struct dapl_ep *ep)
{
	uint64_t id;

	dapl_lock(&ep->ctl);
	id = ep->qp ? ep->qp_id : 0;
	dapl_unlock(&ep->ctl);
	return id;
}

void dapl_ep_qp_error_locked(struct dapl_ep *ep)
{
	int ret;

	dapl_lock_assert_held(&ep->ctl);
	if (!ep->qp || dapl_ep_move_to_error_locked(ep))
		return;
	set_over(ep, true);
	ret = vb_qp_error(ep->qp);
	if (ret)
		dapl_log(DAPL_LOG_WARN, "ep %p: queue pair refuses ERR: %s",
			 (void *)ep, strerror(-ret));
}

void dapl_ep_qp_error(struct dapl_ep *ep)
{
	dapl_lock(&ep->ctl);
	dapl_ep_qp_error_locked(ep);
	dapl_unlock(&ep->ctl);
}

/* -------------------------------------------------- create */

struct ep_parts {
	struct dapl_pz *pz;
	struct dapl_evd *recv_evd;
	struct dapl_evd *request_evd;
	struct dapl_evd *conn_evd;
	struct dapl_srq *srq;
};

/* IA is NULL where an EVD of any IA will do. */
static DAT_RETURN check_evd(struct dapl_ia *ia, DAT_EVD_HANDLE handle,
			    DAT_EVD_FLAGS flag, DAT_RETURN code,
			    const char *what, struct dapl_evd **ret_evd)
{
	struct dapl_evd *evd = dapl_evd_from(handle);

	*ret_evd = evd;
	if (handle == DAT_HANDLE_NULL)
		return DAT_SUCCESS;
	if (!evd || (ia && evd->obj.ia != ia))
		return dapl_fail(code, "%p is not an EVD of this IA",
				 (void *)handle);
	if (!dapl_evd_has(evd, flag))
		return dapl_fail(code, "evd %p was not made for %s events",
				 (void *)handle, what);
	return DAT_SUCCESS;
}

static DAT_RETURN check_parts(struct dapl_ia *ia, DAT_PZ_HANDLE pz,
			      DAT_EVD_HANDLE recv_evd,
			      DAT_EVD_HANDLE request_evd,
			      DAT_EVD_HANDLE connect_evd,
			      struct ep_parts *ret_parts)
{
	struct ep_parts parts = {0};
	DAT_RETURN ret;

	parts.pz = dapl_pz_from(pz);
	if (pz != DAT_HANDLE_NULL && (!parts.pz || parts.pz->obj.ia != ia))
		return dapl_fail(DAPL_BAD_HANDLE(PZ),
				 "%p is not a PZ of this IA", (void *)pz);
	/*
	 * Connection events need no device: programs share one EVD for them
	 * among IAs (dapltest does).
	 */
	ret = check_evd(NULL, connect_evd, DAT_EVD_CONNECTION_FLAG,
			DAPL_BAD_HANDLE(EVD_CONN), "connection",
			&parts.conn_evd);
	if (ret == DAT_SUCCESS)
		ret = check_evd(ia, recv_evd, DAT_EVD_DTO_FLAG,
				DAPL_BAD_HANDLE(EVD_RECV), "DTO",
				&parts.recv_evd);
	if (ret == DAT_SUCCESS)
		ret = check_evd(ia, request_evd, DAT_EVD_DTO_FLAG,
				DAPL_BAD_HANDLE(EVD_REQUEST), "DTO",
				&parts.request_evd);
	if (ret == DAT_SUCCESS)
		*ret_parts = parts;
	return ret;
}

/* What an endpoint needs besides to take its receives from an SRQ. */
static DAT_RETURN check_srq_parts(const struct ep_parts *parts)
{
	if (!parts->recv_evd)
		return dapl_fail(DAPL_BAD_HANDLE(EVD_RECV),
				 "ep: receives from an SRQ need an EVD");
	if (parts->pz && parts->pz != dapl_srq_pz(parts->srq))
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "ep: EP and SRQ must have the same PZ");
	return DAT_SUCCESS;
}

static void parts_unuse(const struct ep_parts *p)
{
	dapl_obj_unuse(p->pz ? &p->pz->obj : NULL);
	dapl_obj_unuse(p->recv_evd ? &p->recv_evd->obj : NULL);
	dapl_obj_unuse(p->request_evd ? &p->request_evd->obj : NULL);
	if (p->conn_evd) {
		dapl_obj_unuse(&p->conn_evd->obj);
		dapl_obj_put(&p->conn_evd->obj);
	}
	dapl_obj_unuse(p->srq ? dapl_srq_obj(p->srq) : NULL);
}

/* Counts the endpoint as a user of everything it is made of, or of nothing. */
static bool parts_use(struct ep_parts *p)
{
	struct ep_parts had = {0};

	if (!dapl_obj_use(p->pz ? &p->pz->obj : NULL))
		goto undo;
	had.pz = p->pz;
	if (!dapl_obj_use(p->recv_evd ? &p->recv_evd->obj : NULL))
		goto undo;
	had.recv_evd = p->recv_evd;
	if (!dapl_obj_use(p->request_evd ? &p->request_evd->obj : NULL))
		goto undo;
	had.request_evd = p->request_evd;
	if (!dapl_obj_use(p->conn_evd ? &p->conn_evd->obj : NULL))
		goto undo;
	/* Its IA may close before ours: keep the memory. */
	if (p->conn_evd)
		dapl_obj_get(&p->conn_evd->obj);
	had.conn_evd = p->conn_evd;
	if (!dapl_obj_use(p->srq ? dapl_srq_obj(p->srq) : NULL))
		goto undo;
	return true;

undo:
	parts_unuse(&had);
	return false;
}

static struct ep_parts parts_of(const struct dapl_ep *ep)
{
	return (struct ep_parts){ep->pz, ep->recv_evd, ep->request_evd,
				 ep->conn_evd, ep->srq};
}

/*
 * What ATTR asks of the EVD of receives, or of requests. One EVD for both that
 * is asked for different things notifies of all; so no request needs a mark,
 * and posts keep to the fast path.
 */
static enum dapl_evd_config queue_config(const struct ep_parts *p,
					 const DAT_EP_ATTR *attr, bool recv)
{
	enum dapl_evd_config of_recv, of_request;

	of_recv = dapl_evd_config_of(attr->recv_completion_flags, true);
	of_request = dapl_evd_config_of(attr->request_completion_flags, false);
	if (p->recv_evd == p->request_evd && of_recv != of_request)
		return DAPL_EVD_THRESHOLD;
	return recv ? of_recv : of_request;
}

static void notify_enter(const struct ep_parts *p, const DAT_EP_ATTR *attr)
{
	dapl_evd_config_enter(p->recv_evd, queue_config(p, attr, true));
	dapl_evd_config_enter(p->request_evd, queue_config(p, attr, false));
}

static void notify_leave(const struct ep_parts *p, const DAT_EP_ATTR *attr)
{
	dapl_evd_config_leave(p->recv_evd, queue_config(p, attr, true));
	dapl_evd_config_leave(p->request_evd, queue_config(p, attr, false));
}

static void notify_apply(struct dapl_ep *ep)
{
	struct ep_parts parts = parts_of(ep);

	dapl_wq_set_notify(ep->sq, queue_config(&parts, &ep->attr, false) ==
					   DAPL_EVD_NOTIFY);
	dapl_wq_set_notify(ep->rq, queue_config(&parts, &ep->attr, true) ==
					   DAPL_EVD_NOTIFY);
}

static void wq_free(struct dapl_wq *wq, struct dapl_evd *evd)
{
	if (!wq)
		return;
	dapl_evd_detach(evd, (int)wq->limit, wq->credits);
	dapl_lock_fini(&wq->lock);
	free(wq);
}

static int wq_make(struct dapl_ep *ep, enum dapl_wq_kind kind, DAT_COUNT limit,
		   struct dapl_evd *evd, struct dapl_wq **ret_wq)
{
	struct dapl_wq *wq;
	int *credits;
	int ret;

	*ret_wq = NULL;
	if (!limit || !evd)
		return 0;
	wq = dapl_wq_new(kind, (uint32_t)limit, ep);
	if (!wq)
		return -ENOMEM;
	ret = dapl_evd_attach(evd, limit, &credits);
	if (ret) {
		dapl_lock_fini(&wq->lock);
		free(wq);
		return ret;
	}
	if (credits)
		dapl_wq_use_credits(wq, credits);
	*ret_wq = wq;
	return 0;
}

/*
 * The endpoint's queues. A queue pair needs a PZ: without one, which is allowed
 * until dat_ep_modify() brings it, there are none yet.
 */
static int ep_queues_open(struct dapl_ep *ep)
{
	int ret;

	if (!ep->pz)
		return 0;
	ret = wq_make(ep, DAPL_WQ_SEND, ep->attr.max_request_dtos,
		      ep->request_evd, &ep->sq);
	if (ret)
		return ret;
	ret = ep->srq ? dapl_srq_evd_attach(ep->srq, ep->recv_evd)
		      : wq_make(ep, DAPL_WQ_RECV, ep->attr.max_recv_dtos,
				ep->recv_evd, &ep->rq);
	if (ret)
		goto err_free_sq;
	/* Before there is a queue pair that a thread could post to. */
	notify_apply(ep);
	ret = qp_open(ep);
	if (ret)
		goto err_free_rq;
	ep->has_queues = true;
	return 0;

err_free_rq:
	if (ep->srq)
		dapl_srq_evd_detach(ep->srq, ep->recv_evd);
	wq_free(ep->rq, ep->recv_evd);
	ep->rq = NULL;
err_free_sq:
	wq_free(ep->sq, ep->request_evd);
	ep->sq = NULL;
	return ret;
}

static void ep_queues_close(struct dapl_ep *ep)
{
	/* The queue pair may be gone: a reset that failed leaves none. */
	qp_close(ep, true);
	if (ep->srq && ep->has_queues)
		dapl_srq_evd_detach(ep->srq, ep->recv_evd);
	ep->has_queues = false;
	wq_free(ep->sq, ep->request_evd);
	wq_free(ep->rq, ep->recv_evd);
	ep->sq = NULL;
	ep->rq = NULL;
}

static void ep_drain_fn(struct dapl_work *w)
{
	dapl_ep_drain_poll(dapl_container_of(w, struct dapl_ep, drain_work));
}

static void ep_broken_fn(struct dapl_work *w)
{
	dapl_ep_broken(dapl_container_of(w, struct dapl_ep, broken_work));
}

/* Callbacks on the service thread: none runs or will run after this. */
static void ep_calls_cancel(struct dapl_ep *ep)
{
	dapl_timer_cancel(ep->obj.ia->loop, &ep->timer);
	dapl_work_cancel(ep->obj.ia->loop, &ep->drain_work);
	dapl_work_cancel(ep->obj.ia->loop, &ep->broken_work);
}

static void ep_shutdown(struct dapl_obj *obj)
{
	struct dapl_ep *ep = (struct dapl_ep *)obj;
	struct dapl_cm_conn *conn;
	struct ep_parts parts;

	dapl_lock(&ep->lock);
	ep->freed = true;
	ep->draining = false;
	conn = dapl_ep_conn_drop_locked(ep);
	dapl_unlock(&ep->lock);
	dapl_ep_conn_release(ep, conn);
	/* They read the EVDs, which the consumer may free from here on. */
	ep_calls_cancel(ep);
	ep_queues_close(ep);
	parts = parts_of(ep);
	notify_leave(&parts, &ep->attr);
	parts_unuse(&parts);
}

static void ep_destroy(struct dapl_obj *obj)
{
	struct dapl_ep *ep = (struct dapl_ep *)obj;

	/* What was deferred since shutdown does nothing, but uses the memory.
	 */
	ep_calls_cancel(ep);
	free(ep->pdata);
	dapl_lock_fini(&ep->lock);
	dapl_lock_fini(&ep->ctl);
	dapl_obj_release(obj);
}

static const struct dapl_obj_ops ep_ops = {
	.type = DAT_HANDLE_TYPE_EP,
	.size = sizeof(struct dapl_ep),
	.shutdown = ep_shutdown,
	.destroy = ep_destroy,
};

/* An unconnected endpoint that is not visible yet. */
static DAT_RETURN ep_new(struct dapl_ia *ia, struct ep_parts *parts,
			 const DAT_EP_ATTR *attr, struct dapl_ep **ret_ep)
{
	struct dapl_ep *ep;
	int ret;

	ep = dapl_obj_new(ia, &ep_ops);
	if (!ep)
		return dapl_fail(DAPL_NO_MEM, "ep: no memory");
	dapl_lock_init(&ep->lock, DAPL_LOCK_EP);
	dapl_lock_init(&ep->ctl, DAPL_LOCK_CTL);
	dapl_timer_init(&ep->timer, dapl_ep_timer);
	dapl_work_init(&ep->drain_work, ep_drain_fn);
	dapl_work_init(&ep->broken_work, ep_broken_fn);
	dapl_list_init(&ep->moves);
	ep->attr = *attr;
	ep->ud = attr->service_type != DAT_SERVICE_TYPE_RC;
	ep->slow_posts = ia->dev.posts_enter_kernel;
	ep->state = DAT_EP_STATE_UNCONNECTED;
	ep->deadline_us = UINT64_MAX;
	if (!parts_use(parts)) {
		dapl_obj_put(&ep->obj);
		return dapl_fail(DAPL_BAD_HANDLE(PZ),
				 "ep: the PZ or an EVD was freed meanwhile");
	}
	notify_enter(parts, attr);
	ep->pz = parts->pz;
	ep->recv_evd = parts->recv_evd;
	ep->request_evd = parts->request_evd;
	ep->conn_evd = parts->conn_evd;
	ep->srq = parts->srq;
	ret = ep_queues_open(ep);
	if (ret) {
		notify_leave(parts, attr);
		parts_unuse(parts);
		dapl_obj_put(&ep->obj);
		return dapl_fail(dapl_err_dat(ret),
				 "ep: %s gave no queue pair of %d receives and "
				 "%d requests: %s",
				 ia->dev.name, attr->max_recv_dtos,
				 attr->max_request_dtos, strerror(-ret));
	}
	*ret_ep = ep;
	return DAT_SUCCESS;
}

static DAT_RETURN ep_create(struct dapl_ia *ia, struct ep_parts *parts,
			    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ret_ep)
{
	struct dapl_ep *ep = NULL;
	DAT_RETURN ret = ep_new(ia, parts, attr, &ep);

	if (ret != DAT_SUCCESS)
		return ret;
	dapl_obj_enlist(&ep->obj);
	*ret_ep = (DAT_EP_HANDLE)ep;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
			  DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			  DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ret_ep)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct ep_parts parts;
	DAT_EP_ATTR checked;
	DAT_RETURN ret;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	ret = check_parts(ia, pz, recv_evd, request_evd, connect_evd, &parts);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!ret_ep)
		return dapl_fail(DAPL_BAD_ARG(7), "no place for the handle");
	ret = dapl_ep_attr_check(ia, attr, parts.recv_evd, parts.request_evd,
				 false, &checked);
	if (ret != DAT_SUCCESS)
		return ret;
	return ep_create(ia, &parts, &checked, ret_ep);
}

DAT_RETURN dapl_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
				   DAT_EVD_HANDLE recv_evd,
				   DAT_EVD_HANDLE request_evd,
				   DAT_EVD_HANDLE connect_evd,
				   DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
				   DAT_EP_HANDLE *ret_ep)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct ep_parts parts;
	DAT_EP_ATTR checked;
	DAT_RETURN ret;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	ret = check_parts(ia, pz, recv_evd, request_evd, connect_evd, &parts);
	if (ret != DAT_SUCCESS)
		return ret;
	parts.srq = dapl_srq_from(srq);
	if (!parts.srq || dapl_srq_obj(parts.srq)->ia != ia)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ),
				 "%p is not an SRQ of this IA", (void *)srq);
	if (!ret_ep)
		return dapl_fail(DAPL_BAD_ARG(8), "no place for the handle");
	ret = check_srq_parts(&parts);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dapl_ep_attr_check(ia, attr, parts.recv_evd, parts.request_evd,
				 true, &checked);
	if (ret != DAT_SUCCESS)
		return ret;
	return ep_create(ia, &parts, &checked, ret_ep);
}

DAT_RETURN dapl_ep_provide(struct dapl_ia *ia, struct dapl_ep **ret_ep)
{
	struct ep_parts none = {0};
	struct dapl_ep *ep = NULL;
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	ret = dapl_ep_attr_check(ia, NULL, false, false, false, &attr);
	if (ret == DAT_SUCCESS)
		ret = ep_new(ia, &none, &attr, &ep);
	if (ret != DAT_SUCCESS)
		return ret;
	ep->state = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
	/* Before the IA's close can find the endpoint and end it. */
	dapl_obj_get(&ep->obj);
	dapl_obj_enlist(&ep->obj);
	*ret_ep = ep;
	return DAT_SUCCESS;
}

/* ------------------------------------------------- rebuild */

static void parts_set(struct dapl_ep *ep, const struct ep_parts *parts,
		      const DAT_EP_ATTR *attr)
{
	dapl_lock(&ep->lock);
	ep->pz = parts->pz;
	ep->recv_evd = parts->recv_evd;
	ep->request_evd = parts->request_evd;
	ep->conn_evd = parts->conn_evd;
	ep->attr = *attr;
	dapl_unlock(&ep->lock);
}

/* Whether the queue pair that is there serves the new wishes as well. */
static bool queues_fit(const struct dapl_ep *ep, const struct ep_parts *parts,
		       const DAT_EP_ATTR *attr)
{
	return ep->qp && ep->pz == parts->pz &&
	       ep->recv_evd == parts->recv_evd &&
	       ep->request_evd == parts->request_evd &&
	       ep->attr.max_recv_dtos == attr->max_recv_dtos &&
	       ep->attr.max_request_dtos == attr->max_request_dtos &&
	       ep->attr.max_recv_iov == attr->max_recv_iov &&
	       ep->attr.max_request_iov == attr->max_request_iov;
}

static int queues_change(struct dapl_ep *ep, const struct ep_parts *parts,
			 const DAT_EP_ATTR *attr)
{
	struct ep_parts old = parts_of(ep);
	DAT_EP_ATTR old_attr = ep->attr;
	int ret, again;

	ep_queues_close(ep);
	parts_set(ep, parts, attr);
	ret = ep_queues_open(ep);
	if (!ret)
		return 0;
	parts_set(ep, &old, &old_attr);
	again = ep_queues_open(ep);
	if (again)
		dapl_log(DAPL_LOG_ERR, "ep %p: lost its queue pair: %s",
			 (void *)ep, strerror(-again));
	return ret;
}

/* To the caller of dat_ep_modify all of it came in one argument. */
static DAT_RETURN modify_refused(DAT_RETURN ret)
{
	DAT_RETURN type = DAT_GET_TYPE(ret);

	return type == DAT_INVALID_HANDLE || type == DAT_INVALID_PARAMETER
		       ? DAPL_BAD_ARG(3)
		       : ret;
}

DAT_RETURN dapl_ep_rebuild(struct dapl_ep *ep,
			   const struct dapl_ep_new_parts *wish)
{
	struct dapl_ia *ia = ep->obj.ia;
	struct ep_parts parts, old = parts_of(ep);
	DAT_EP_ATTR attr, old_attr = ep->attr;
	DAT_RETURN ret;
	int err = 0;

	ret = check_parts(ia, wish->pz, wish->recv_evd, wish->request_evd,
			  wish->conn_evd, &parts);
	if (ret == DAT_SUCCESS)
		ret = dapl_ep_attr_check(ia, &wish->attr, parts.recv_evd,
					 parts.request_evd, ep->srq, &attr);
	parts.srq = ep->srq;
	if (ret == DAT_SUCCESS && ep->srq)
		ret = check_srq_parts(&parts);
	if (ret != DAT_SUCCESS)
		return modify_refused(ret);
	if (!parts_use(&parts))
		return dapl_fail(DAPL_BAD_HANDLE(PZ),
				 "ep: the PZ or an EVD was freed meanwhile");
	if (!queues_fit(ep, &parts, &attr) && ep->rq && dapl_wq_used(ep->rq)) {
		parts_unuse(&parts);
		return dapl_fail(DAPL_ERR(DAT_INVALID_STATE, 0),
				 "ep %p: receives are posted on the queue pair "
				 "that would have to be made anew",
				 (void *)ep);
	}
	notify_leave(&old, &old_attr);
	notify_enter(&parts, &attr);
	if (queues_fit(ep, &parts, &attr)) {
		parts_set(ep, &parts, &attr);
		notify_apply(ep);
	} else {
		err = queues_change(ep, &parts, &attr);
	}
	if (err) {
		notify_leave(&parts, &attr);
		notify_enter(&old, &old_attr);
	}
	parts_unuse(err ? &parts : &old);
	if (err)
		return dapl_fail(dapl_err_dat(err),
				 "ep %p: %s gave no such queue pair: %s",
				 (void *)ep, ia->dev.name, strerror(-err));
	return DAT_SUCCESS;
}

/* ---------------------------------------------------- free */

static DAT_RETURN ep_free(struct dapl_ep *ep)
{
	int state;

	dapl_lock(&ep->lock);
	state = ep->state;
	dapl_unlock(&ep->lock);
	if (state == DAT_EP_STATE_RESERVED ||
	    state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
	    state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
		return dapl_ep_bad_state(ep, state, "dat_ep_free");
	if (!dapl_obj_retire(&ep->obj, false))
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	dapl_obj_end(&ep->obj);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_free(DAT_EP_HANDLE handle)
{
	/* Another thread may free it too. */
	struct dapl_ep *ep = dapl_obj_hold(handle, DAT_HANDLE_TYPE_EP);
	DAT_RETURN ret;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	ret = ep_free(ep);
	dapl_obj_put(&ep->obj);
	return ret;
}
