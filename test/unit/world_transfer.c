/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * world_transfer.c - endpoints as the transfer folder knows them: a struct
 * dapl_qp, and an owner that hears when it breaks. See world_make.h.
 *
 * The connection of two is that each knows the other: when one is broken or
 * disconnected both are told, once, and their queue pairs are in ERR.
 * Threads: any; one lock for all connections, of the role of an EP's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/transfer/dapl_ep_post.h"
#include "dapl/common/transfer/dapl_srq_queue.h"
#include "test/unit/world_make.h"

struct end {
	struct dapl_qp qp;
	struct dapl_evd *conn_evd;
	struct end *peer; /* lock */
};

static struct dapl_lock lock;

__attribute__((constructor)) static void lock_init(void)
{
	dapl_lock_init(&lock, DAPL_LOCK_EP);
}

/* ---------------------------------------------- connection */

/* Whether E had a connection, which is over now. */
static bool over_locked(struct end *e)
{
	dapl_lock_assert_held(&lock);
	if (!e || e->qp.state != DAT_EP_STATE_CONNECTED)
		return false;
	e->peer = NULL;
	dapl_qp_set_state(&e->qp, DAT_EP_STATE_DISCONNECTED);
	return true;
}

static void tell(struct end *e, DAT_EVENT_NUMBER why)
{
	DAT_EVENT ev = {.event_number = why};

	dapl_qp_error(&e->qp);
	dapl_qp_over(&e->qp, true);
	ev.event_data.connect_event_data.ep_handle = (DAT_EP_HANDLE)e;
	dapl_evd_post(e->conn_evd, &ev);
}

/* WHY 0: E itself is told nothing. */
static void both_over(struct end *e, DAT_EVENT_NUMBER why)
{
	bool was_up, peer_was_up;
	struct end *peer;

	dapl_lock(&lock);
	peer = e->peer;
	was_up = over_locked(e);
	peer_was_up = over_locked(peer);
	dapl_unlock(&lock);
	if (was_up && why)
		tell(e, why);
	if (peer_was_up)
		tell(peer, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void broken(struct dapl_obj *owner, uint64_t qp_id)
{
	both_over((struct end *)owner, DAT_CONNECTION_EVENT_BROKEN);
}

/* Nobody has two endpoints fail at once, or posts a marker. */
static void never(struct dapl_obj *owner, uint64_t qp_id)
{
	abort();
}

static const struct dapl_qp_ops qp_ops = {
	.broken = broken,
	.broken_later = never,
	.drained = never,
};

void world_connect_pair(struct world *w, DAT_EP_HANDLE server,
			DAT_EP_HANDLE client)
{
	struct end *s = (struct end *)server, *c = (struct end *)client;

	fv_join(s->qp.ibv, c->qp.ibv);
	dapl_lock(&lock);
	s->peer = c;
	c->peer = s;
	dapl_qp_set_state(&s->qp, DAT_EP_STATE_CONNECTED);
	dapl_qp_set_state(&c->qp, DAT_EP_STATE_CONNECTED);
	dapl_unlock(&lock);
}

static DAT_RETURN disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	both_over((struct end *)ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	return DAT_SUCCESS;
}

static DAT_RETURN reset(DAT_EP_HANDLE ep)
{
	struct end *e = (struct end *)ep;
	int ret = dapl_qp_renew(&e->qp);

	if (ret)
		return dapl_fail(dapl_err_dat(ret), "no new queue pair");
	dapl_lock(&lock);
	dapl_qp_set_state(&e->qp, DAT_EP_STATE_UNCONNECTED);
	dapl_unlock(&lock);
	return DAT_SUCCESS;
}

/* ---------------------------------------------------- life */

static void notify(struct end *e, void (*fn)(struct dapl_evd *evd,
					     enum dapl_evd_config config))
{
	struct dapl_qp *qp = &e->qp;

	for (int recv = 0; recv < 2; recv++)
		fn(recv ? qp->recv_evd : qp->request_evd,
		   dapl_qp_config(qp->recv_evd, qp->request_evd, &qp->attr,
				  recv));
}

static void end_shutdown(struct dapl_obj *obj)
{
	struct end *e = (struct end *)obj;

	both_over(e, 0);
	dapl_qp_close(&e->qp);
	notify(e, dapl_evd_config_leave);
}

static void end_destroy(struct dapl_obj *obj)
{
	struct end *e = (struct end *)obj;

	dapl_lock_fini(&e->qp.ctl);
	dapl_obj_release(obj);
}

static const struct dapl_obj_ops end_ops = {
	.type = DAT_HANDLE_TYPE_EP,
	.size = sizeof(struct end),
	.shutdown = end_shutdown,
	.destroy = end_destroy,
};

static DAT_EP_ATTR defaults(const struct vb_dev *dev, bool recv, bool request)
{
	DAT_COUNT iov = dev->attr.max_sge < 8 ? dev->attr.max_sge : 8;

	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.max_recv_dtos = recv ? 16 : 0,
		.max_recv_iov = recv ? iov : 0,
		.max_request_dtos = request ? 16 : 0,
		.max_request_iov = request ? iov : 0,
		.max_rdma_read_iov =
			dev->max_read_sge < 8 ? dev->max_read_sge : 8,
		.max_rdma_write_iov = iov,
		.max_rdma_read_out = 4,
	};
}

static DAT_RETURN create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz,
			 DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			 DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ret_ep)
{
	struct dapl_ia *ia = dapl_ia_from(handle);
	struct end *e = dapl_obj_new(ia, &end_ops);
	struct dapl_qp *qp = &e->qp;
	int ret;

	assert_non_null(e);
	dapl_lock_init(&qp->ctl, DAPL_LOCK_CTL);
	qp->ops = &qp_ops;
	qp->attr = attr ? *attr
			: defaults(&ia->dev, recv_evd != DAT_HANDLE_NULL,
				   request_evd != DAT_HANDLE_NULL);
	qp->state = DAT_EP_STATE_UNCONNECTED;
	qp->pz = (struct dapl_pz *)pz; /* only a name here */
	qp->pd = (struct ibv_pd *)pz;
	qp->recv_evd = dapl_evd_from(recv_evd);
	qp->request_evd = dapl_evd_from(request_evd);
	e->conn_evd = dapl_evd_from(connect_evd);
	notify(e, dapl_evd_config_enter);
	ret = dapl_qp_open(qp);
	if (ret) {
		notify(e, dapl_evd_config_leave);
		dapl_obj_put(&qp->obj);
		return dapl_fail(dapl_err_dat(ret), "no queue pair");
	}
	dapl_obj_enlist(&qp->obj);
	*ret_ep = (DAT_EP_HANDLE)e;
	return DAT_SUCCESS;
}

static DAT_RETURN end_free(DAT_EP_HANDLE ep)
{
	struct dapl_obj *obj = dapl_obj_from(ep, DAT_HANDLE_TYPE_EP);

	assert_true(dapl_obj_retire(obj, false));
	dapl_obj_end(obj);
	return DAT_SUCCESS;
}

static DAT_RETURN query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			DAT_EP_PARAM *ret_param)
{
	memset(ret_param, 0, sizeof(*ret_param));
	ret_param->ep_attr = dapl_qp_from(ep)->attr;
	return DAT_SUCCESS;
}

static DAT_RETURN get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *ret_state,
			     DAT_BOOLEAN *ret_recv_idle,
			     DAT_BOOLEAN *ret_request_idle)
{
	*ret_state = (DAT_EP_STATE)__atomic_load_n(&dapl_qp_from(ep)->state,
						   __ATOMIC_ACQUIRE);
	return DAT_SUCCESS;
}

struct ibv_qp *world_qp(DAT_EP_HANDLE ep)
{
	return dapl_qp_from(ep)->ibv;
}

void world_layer_calls(DAT_PROVIDER *vector)
{
	vector->ep_create_func = create;
	vector->ep_free_func = end_free;
	vector->ep_query_func = query;
	vector->ep_get_status_func = get_status;
	vector->ep_disconnect_func = disconnect;
	vector->ep_reset_func = reset;
	vector->ep_post_send_func = dapl_ep_post_send;
	vector->ep_post_recv_func = dapl_ep_post_recv;
	vector->ep_post_rdma_read_func = dapl_ep_post_rdma_read;
	vector->ep_post_rdma_write_func = dapl_ep_post_rdma_write;
	vector->ep_post_send_with_invalidate_func =
		dapl_ep_post_send_with_invalidate;
	vector->ep_post_rdma_read_to_rmr_func = dapl_ep_post_rdma_read_to_rmr;
	vector->srq_post_recv_func = dapl_srq_post_recv;
}
