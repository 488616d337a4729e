/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep.c - life of an endpoint: create, change of what it is made of, free.
 */
#include "dapl/common/objects/dapl_ep_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/objects/dapl_pz.h"
#include "dapl/common/objects/dapl_srq.h"

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
	if (parts->pz && parts->pz != parts->srq->pz)
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
	dapl_obj_unuse(p->srq ? &p->srq->obj : NULL);
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
	if (!dapl_obj_use(p->srq ? &p->srq->obj : NULL))
		goto undo;
	return true;

undo:
	parts_unuse(&had);
	return false;
}

static struct ep_parts parts_of(const struct dapl_ep *ep)
{
	return (struct ep_parts){ep->qp.pz, ep->qp.recv_evd, ep->qp.request_evd,
				 ep->conn_evd, ep->qp.srq};
}

static void notify_enter(const struct ep_parts *p, const DAT_EP_ATTR *attr)
{
	dapl_evd_config_enter(
		p->recv_evd,
		dapl_qp_config(p->recv_evd, p->request_evd, attr, true));
	dapl_evd_config_enter(
		p->request_evd,
		dapl_qp_config(p->recv_evd, p->request_evd, attr, false));
}

static void notify_leave(const struct ep_parts *p, const DAT_EP_ATTR *attr)
{
	dapl_evd_config_leave(
		p->recv_evd,
		dapl_qp_config(p->recv_evd, p->request_evd, attr, true));
	dapl_evd_config_leave(
		p->request_evd,
		dapl_qp_config(p->recv_evd, p->request_evd, attr, false));
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
	struct ep_parts parts;

	dapl_ep_close(ep);
	/* They read the EVDs, which the consumer may free from here on. */
	ep_calls_cancel(ep);
	dapl_qp_close(&ep->qp);
	parts = parts_of(ep);
	notify_leave(&parts, &ep->qp.attr);
	parts_unuse(&parts);
	dapl_counts_end(&ep->qp.counts, DAPL_COUNTS_EP, obj->ia->counters.ep);
}

static void ep_destroy(struct dapl_obj *obj)
{
	struct dapl_ep *ep = (struct dapl_ep *)obj;

	/* What was deferred since shutdown does nothing, but uses the memory.
	 */
	ep_calls_cancel(ep);
	dapl_counts_end(&ep->qp.counts, DAPL_COUNTS_EP, NULL);
	free(ep->pdata);
	dapl_lock_fini(&ep->lock);
	dapl_lock_fini(&ep->qp.ctl);
	dapl_obj_release(obj);
}

static const struct dapl_obj_ops ep_ops = {
	.type = DAT_HANDLE_TYPE_EP,
	.made = DCNT_IA_EP_CREATE,
	.ended = DCNT_IA_EP_FREE,
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
	dapl_lock_init(&ep->qp.ctl, DAPL_LOCK_CTL);
	dapl_timer_init(&ep->timer, dapl_ep_timer);
	dapl_work_init(&ep->drain_work, dapl_ep_drained);
	dapl_work_init(&ep->broken_work, dapl_ep_broken);
	dapl_list_init(&ep->uses);
	dapl_list_init(&ep->moves);
	dapl_list_init(&ep->peers);
	ep->qp.ops = &dapl_ep_qp_ops;
	ep->qp.attr = *attr;
	ep->qp.ud = attr->service_type != DAT_SERVICE_TYPE_RC;
	ep->qp.state = DAT_EP_STATE_UNCONNECTED;
	ep->deadline_us = UINT64_MAX;
	if (!parts_use(parts)) {
		dapl_obj_put(&ep->obj);
		return dapl_fail(DAPL_BAD_HANDLE(PZ),
				 "ep: the PZ or an EVD was freed meanwhile");
	}
	notify_enter(parts, attr);
	ep->qp.pz = parts->pz;
	ep->qp.pd = parts->pz ? parts->pz->pd : NULL;
	ep->qp.recv_evd = parts->recv_evd;
	ep->qp.request_evd = parts->request_evd;
	ep->conn_evd = parts->conn_evd;
	ep->qp.srq = parts->srq;
	ret = dapl_qp_open(&ep->qp);
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
	if (!parts.srq || parts.srq->obj.ia != ia)
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
	ep->fsm.state = DAPL_EP_TENTATIVE;
	dapl_qp_set_state(&ep->qp, dapl_ep_dat_state(ep->fsm.state));
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
	ep->qp.pz = parts->pz;
	ep->qp.pd = parts->pz ? parts->pz->pd : NULL;
	ep->qp.recv_evd = parts->recv_evd;
	ep->qp.request_evd = parts->request_evd;
	ep->conn_evd = parts->conn_evd;
	ep->qp.attr = *attr;
	dapl_unlock(&ep->lock);
}

/* Whether the queue pair that is there serves the new wishes as well. */
static bool queues_fit(const struct dapl_ep *ep, const struct ep_parts *parts,
		       const DAT_EP_ATTR *attr)
{
	return ep->qp.ibv && ep->qp.pz == parts->pz &&
	       ep->qp.recv_evd == parts->recv_evd &&
	       ep->qp.request_evd == parts->request_evd &&
	       ep->qp.attr.max_recv_dtos == attr->max_recv_dtos &&
	       ep->qp.attr.max_request_dtos == attr->max_request_dtos &&
	       ep->qp.attr.max_recv_iov == attr->max_recv_iov &&
	       ep->qp.attr.max_request_iov == attr->max_request_iov;
}

static int queues_change(struct dapl_ep *ep, const struct ep_parts *parts,
			 const DAT_EP_ATTR *attr)
{
	struct ep_parts old = parts_of(ep);
	DAT_EP_ATTR old_attr = ep->qp.attr;
	int ret, again;

	dapl_qp_close(&ep->qp);
	parts_set(ep, parts, attr);
	ret = dapl_qp_open(&ep->qp);
	if (!ret)
		return 0;
	parts_set(ep, &old, &old_attr);
	again = dapl_qp_open(&ep->qp);
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
	DAT_EP_ATTR attr, old_attr = ep->qp.attr;
	DAT_RETURN ret;
	int err = 0;

	ret = check_parts(ia, wish->pz, wish->recv_evd, wish->request_evd,
			  wish->conn_evd, &parts);
	if (ret == DAT_SUCCESS)
		ret = dapl_ep_attr_check(ia, &wish->attr, parts.recv_evd,
					 parts.request_evd, ep->qp.srq, &attr);
	if (ret == DAT_SUCCESS && attr.service_type != old_attr.service_type)
		ret = dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				"ep %p: it stays of service type %d",
				(void *)ep, (int)old_attr.service_type);
	parts.srq = ep->qp.srq;
	if (ret == DAT_SUCCESS && ep->qp.srq)
		ret = check_srq_parts(&parts);
	if (ret != DAT_SUCCESS)
		return modify_refused(ret);
	if (!parts_use(&parts))
		return dapl_fail(DAPL_BAD_HANDLE(PZ),
				 "ep: the PZ or an EVD was freed meanwhile");
	if (!queues_fit(ep, &parts, &attr) && ep->qp.rq &&
	    dapl_wq_used(ep->qp.rq)) {
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
		dapl_qp_notify_apply(&ep->qp);
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
	DAT_RETURN ret = dapl_ep_may_free(ep);

	if (ret != DAT_SUCCESS)
		return ret;
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
