/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * world_event.c - endpoints as the event folder knows them: work queues whose
 * completions come to an EVD. See world_make.h.
 *
 * They take receives and signalled sends of one segment, and must be connected
 * before they send. Attributes are not looked at.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd_cq.h"
#include "test/unit/world_make.h"

#define DEPTH 16

struct end {
	struct dapl_obj obj; /* type EP */
	struct dapl_evd *evd[2];
	struct dapl_wq *wq[2]; /* sends, receives */
	struct ibv_qp *ibv;
	struct vb_qp_ops io;
};

/* Whatever is no plain success. */
static bool complete(struct dapl_evd *evd, const struct ibv_wc *wc,
		     DAT_EVENT *ev, struct dapl_evd_after *after)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;
	struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wc->wr_id;
	struct dapl_wq *wq = slot->wq;

	memset(ev, 0, sizeof(*ev));
	ev->event_number = DAT_DTO_COMPLETION_EVENT;
	ev->evd_handle = (DAT_EVD_HANDLE)evd;
	dto->ep_handle = (DAT_EP_HANDLE)wq->owner;
	dto->user_cookie = slot->cookie;
	dto->status = DAT_DTO_ERR_FLUSHED;
	dapl_wq_complete(wq, slot);
	return true;
}

static DAT_RETURN post(struct end *e, int recv, const DAT_LMR_TRIPLET *seg,
		       DAT_DTO_COOKIE cookie)
{
	struct dapl_wq *wq = e->wq[recv];
	struct ibv_sge sge = {seg->virtual_address,
			      (uint32_t)seg->segment_length, seg->lmr_context};
	struct ibv_send_wr send = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr *bad_send;
	struct dapl_slot *slot;

	dapl_lock(&wq->lock);
	slot = dapl_wq_take_locked(wq);
	assert_non_null(slot);
	slot->cookie = cookie;
	slot->length = sge.length;
	slot->op = recv ? DAT_DTO_RECEIVE : DAT_DTO_SEND;
	send.wr_id = receive.wr_id = (uintptr_t)slot;
	if (recv)
		assert_int_equal(e->io.post_recv(e->ibv, &receive, &bad_recv),
				 0);
	else
		assert_int_equal(e->io.post_send(e->ibv, &send, &bad_send), 0);
	dapl_unlock(&wq->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return post((struct end *)ep, 1, seg, cookie);
}

static DAT_RETURN post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return post((struct end *)ep, 0, seg, cookie);
}

static void end_shutdown(struct dapl_obj *obj)
{
	struct end *e = (struct end *)obj;
	struct dapl_evd_after after = {0};

	vb_qp_destroy(e->ibv);
	for (int i = 0; i < 2; i++) {
		dapl_evd_poll_all(e->evd[i], obj, &after);
		dapl_evd_config_leave(e->evd[i], DAPL_EVD_THRESHOLD);
		dapl_evd_detach(e->evd[i], DEPTH, NULL);
		free(e->wq[i]);
	}
	dapl_evd_after(&after);
}

static const struct dapl_obj_ops end_ops = {
	.type = DAT_HANDLE_TYPE_EP,
	.size = sizeof(struct end),
	.shutdown = end_shutdown,
};

static DAT_RETURN create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz,
			 DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			 DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ret_ep)
{
	struct dapl_ia *ia = dapl_ia_from(handle);
	struct end *e = dapl_obj_new(ia, &end_ops);
	struct vb_qp_cfg cfg = {.type = IBV_QPT_RC,
				.max_send_wr = DEPTH,
				.max_recv_wr = DEPTH,
				.max_send_sge = 1,
				.max_recv_sge = 1};
	uint32_t max_inline;
	int *credits;

	assert_non_null(e);
	e->evd[0] = dapl_evd_from(request_evd);
	e->evd[1] = dapl_evd_from(recv_evd);
	for (int i = 0; i < 2; i++) {
		e->wq[i] = dapl_wq_new(i ? DAPL_WQ_RECV : DAPL_WQ_SEND, DEPTH,
				       &e->obj, complete);
		assert_non_null(e->wq[i]);
		assert_int_equal(dapl_evd_attach(e->evd[i], DEPTH, &credits),
				 0);
		assert_null(credits);
		dapl_evd_config_enter(e->evd[i], DAPL_EVD_THRESHOLD);
	}
	cfg.send_cq = e->evd[0]->cq;
	cfg.recv_cq = e->evd[1]->cq;
	assert_int_equal(
		vb_qp_create((struct ibv_pd *)pz, &cfg, &e->ibv, &max_inline),
		0);
	assert_int_equal(
		vb_qp_init(&ia->dev, e->ibv, 0, (int)ia->dev.qp_access), 0);
	e->io = vb_qp_ops_of(&ia->dev, e->ibv);
	dapl_obj_enlist(&e->obj);
	*ret_ep = (DAT_EP_HANDLE)e;
	return DAT_SUCCESS;
}

void world_layer_calls(DAT_PROVIDER *vector)
{
	vector->ep_create_func = create;
	vector->ep_post_recv_func = post_recv;
	vector->ep_post_send_func = post_send;
}

struct ibv_qp *world_qp(DAT_EP_HANDLE ep)
{
	return ((struct end *)ep)->ibv;
}

void world_connect_pair(struct world *w, DAT_EP_HANDLE server,
			DAT_EP_HANDLE client)
{
	fv_join(world_qp(server), world_qp(client));
}
