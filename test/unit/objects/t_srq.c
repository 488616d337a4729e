/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_srq.c - shared receive queues: dat_srq_*, and endpoints that use one.
 *
 * Creation of such endpoints is in t_ep.c.
 * Rules: DAT 2.0 dat_srq_*; buffers complete on the EVD of the endpoint whose
 * message took them.
 */
#include <errno.h>
#include <string.h>

#include "dapl/common/objects/dapl_srq.h"
#include "test/unit/kit.h"

#define DEPTH 8

static DAT_SRQ_HANDLE make_srq(struct world_side *s)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = DEPTH, .max_recv_iov = 2};
	DAT_SRQ_HANDLE srq = NULL;

	assert_dat_ok(V(srq_create)(s->ia, s->pz, &attr, &srq));
	return srq;
}

static DAT_EP_HANDLE ep_on(struct world_side *s, DAT_SRQ_HANDLE srq,
			   DAT_EVD_HANDLE recv_evd)
{
	DAT_EP_HANDLE ep = NULL;

	assert_dat_ok(V(ep_create_with_srq)(s->ia, s->pz, recv_evd, s->req_evd,
					    s->conn_evd, srq, NULL, &ep));
	return ep;
}

static DAT_RETURN post(struct world_side *s, DAT_SRQ_HANDLE srq,
		       uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 512 * cookie, 512);

	return V(srq_post_recv)(srq, 1, &seg, world_cookie(cookie));
}

ON_IB(create__too_large)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 1 << 30, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq = (DAT_SRQ_HANDLE)w;

#define CREATE(attr) V(srq_create)(s->ia, s->pz, attr, &srq)
	assert_refused(CREATE(&attr), DAPL_NO_RES(SRQ));
	attr.max_recv_dtos = 4;
	attr.max_recv_iov = 1000;
	assert_refused(CREATE(&attr), DAPL_NO_RES(SRQ));
	assert_ptr_equal(srq, w);
	attr.max_recv_iov = 1;
	assert_nth_failure(CREATE(&attr), V(srq_free)(srq));
#undef CREATE
}

ON_IB(srq_create__device_without)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq;
	DAT_IA_HANDLE again;

	fv_device_cfg_get(w->dev)->attr.max_srq = 0;
	again = world_ia_open(NULL);
	assert_refused(V(srq_create)(again, world_pz(again), &attr, &srq),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	world_ia_close(again, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_SRQ_PARAM param_of(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	assert_dat_ok(V(srq_query)(srq, DAT_SRQ_FIELD_ALL, &param));
	return param;
}

/* What the device was asked for last. */
static uint32_t device_size(DAT_SRQ_HANDLE srq)
{
	struct ibv_srq_attr attr;

	assert_int_equal(ibv_query_srq(dapl_srq_from(srq)->ibv, &attr), 0);
	return attr.max_wr;
}

/* Buffers that are posted already stay where they are and complete. */
ON_EACH(resize__grows_with_buffers_posted)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	unsigned size = DEPTH, n = 0;

	s->ep = ep_on(s, srq, s->recv_evd);
	world_connect(w);
	for (; size <= 5 * DEPTH; size += DEPTH + 3) {
		if (size > DEPTH)
			assert_dat_ok(V(srq_resize)(srq, (DAT_COUNT)size));
		assert_int_equal(param_of(srq).max_recv_dtos, size);
		assert_in_range(device_size(srq), size, 2 * size);
		while (n < size)
			assert_dat_ok(post(s, srq, n++));
		assert_refused(post(s, srq, 99), DAPL_NO_MEM);
	}
	for (unsigned i = 0; i < n; i++) {
		world_send(c, 0, 64, i, 0);
		expect_dto(c->req_evd, i, DAT_DTO_SUCCESS);
		expect_dto(s->recv_evd, i, DAT_DTO_SUCCESS);
	}
	assert_int_equal(param_of(srq).outstanding_dto_count, 0);
}

/* All buffers complete before the consumer reads one: there is room. */
ON_EACH(resize__completion_queue_follows)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_COUNT size = 4 * WORLD_QLEN;

	s->ep = ep_on(s, srq, s->recv_evd);
	world_connect(w);
	/* An iWARP device cannot resize it: it was made large. */
	assert_true(w->kind == FV_IWARP ||
		    world_evd_param(s->recv_evd).evd_qlen < size);
	assert_dat_ok(V(srq_resize)(srq, size));
	assert_true(world_evd_param(s->recv_evd).evd_qlen >= size);
	for (int i = 0; i < size; i++) {
		DAT_LMR_TRIPLET seg = world_seg(s, 0, 8);

		assert_dat_ok(V(srq_post_recv)(srq, 1, &seg,
					       world_cookie((unsigned)i)));
		world_send(c, 0, 8, (unsigned)i, 0);
		expect_dto(c->req_evd, (unsigned)i, DAT_DTO_SUCCESS);
	}
	for (int i = 0; i < size; i++)
		expect_dto(s->recv_evd, (unsigned)i, DAT_DTO_SUCCESS);
	expect_empty(s->async_evd);
}

/* Each buffer completes once, whatever number of endpoints could take it. */
ON_IB(endpoints__share_the_room_on_an_evd)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_DTO_FLAG);
	DAT_COUNT before = world_evd_param(evd).evd_qlen;
	DAT_EP_HANDLE ep[2 * WORLD_QLEN / DEPTH];

	for (size_t i = 0; i < sizeof(ep) / sizeof(*ep); i++)
		ep[i] = ep_on(s, srq, evd);
	assert_int_equal(world_evd_param(evd).evd_qlen, before);
	for (size_t i = 0; i < sizeof(ep) / sizeof(*ep); i++)
		assert_dat_ok(V(ep_free)(ep[i]));
	/* Nothing is reserved any more. */
	assert_dat_ok(V(evd_resize)(evd, 1));
	assert_dat_ok(V(evd_free)(evd));
}

ON_IB(resize__shrinks)
{
	DAT_SRQ_HANDLE srq = make_srq(s);

	for (unsigned i = 0; i < 3; i++)
		assert_dat_ok(post(s, srq, i));
	assert_dat_ok(V(srq_set_lw)(srq, 4));
	assert_refused(V(srq_resize)(srq, 3), DAPL_ERR(DAT_INVALID_STATE, 0));
	assert_dat_ok(V(srq_resize)(srq, 4));
	assert_int_equal(param_of(srq).max_recv_dtos, 4);
	assert_int_equal(param_of(srq).available_dto_count, DAT_VALUE_UNKNOWN);
	assert_int_equal(device_size(srq), 4);
	assert_dat_ok(post(s, srq, 3));
	assert_refused(post(s, srq, 4), DAPL_NO_MEM);
	assert_refused(V(srq_set_lw)(srq, 5), DAPL_BAD_ARG(2));
	assert_dat_ok(V(srq_resize)(srq, DEPTH));
	for (unsigned i = 4; i < DEPTH; i++)
		assert_dat_ok(post(s, srq, i));
	assert_refused(post(s, srq, 99), DAPL_NO_MEM);
}

ON_EACH(resize__device_cannot)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_COUNT qlen;

	s->ep = ep_on(s, srq, s->recv_evd);
	fv_device_cfg_get(w->dev)->attr.device_cap_flags &=
		~(unsigned)IBV_DEVICE_SRQ_RESIZE;
	qlen = world_evd_param(s->recv_evd).evd_qlen;
	assert_refused(V(srq_resize)(srq, DEPTH + 1), DAPL_NO_RES(SRQ));
	assert_int_equal(param_of(srq).max_recv_dtos, DEPTH);
	assert_int_equal(world_evd_param(s->recv_evd).evd_qlen, qlen);
	/* A smaller queue it need not really have. */
	assert_dat_ok(V(srq_resize)(srq, 2));
	assert_int_equal(param_of(srq).max_recv_dtos, 2);
	assert_dat_ok(post(s, srq, 0));
	assert_dat_ok(post(s, srq, 1));
	assert_refused(post(s, srq, 2), DAPL_NO_MEM);
	assert_refused(V(srq_resize)(srq, 1 << 30), DAPL_NO_RES(SRQ));
}

/* The queue and both EVDs grow, or all stay as they are. */
ON_IB(resize__all_or_nothing)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_DTO_FLAG);
	DAT_COUNT size = 4 * WORLD_QLEN;

	ep_on(s, srq, s->recv_evd);
	ep_on(s, srq, evd);
	fv_device_cfg_get(w->dev)->round_up = false;
	for (unsigned n = 1;; n++) {
		bool hit;
		DAT_RETURN ret;

		assert_in_range(n, 1, 20);
		fv_fail_from(n, ENOMEM);
		ret = V(srq_resize)(srq, size);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		if (!hit) {
			assert_dat_ok(ret);
			break;
		}
		assert_int_equal(ret, DAPL_NO_RES(SRQ));
		assert_int_equal(param_of(srq).max_recv_dtos, DEPTH);
		assert_int_equal(device_size(srq), DEPTH);
		/* What was reserved on the way is free again. */
		assert_dat_ok(V(evd_resize)(evd, DEPTH));
		assert_dat_ok(V(evd_resize)(s->recv_evd, DEPTH));
		assert_int_equal(world_evd_param(evd).evd_qlen, DEPTH);
	}
	assert_int_equal(device_size(srq), size);
	assert_true(world_evd_param(evd).evd_qlen >= size);
	assert_true(world_evd_param(s->recv_evd).evd_qlen >= size);
}

/* Two endpoints, two EVDs: each buffer completes where its message came. */
ON_EACH(receive__finds_the_endpoint)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_EVD_HANDLE evd2 = world_evd(s->ia, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE server[2], client[2];
	DAT_LMR_TRIPLET seg;
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++) {
		server[i] = ep_on(s, srq, i ? evd2 : s->recv_evd);
		client[i] = world_ep(c, NULL);
		world_connect_pair(w, server[i], client[i]);
	}
	seg = world_seg(s, 0, 8);
	assert_refused(V(ep_post_recv)(server[0], 1, &seg, world_cookie(1), 0),
		       DAPL_BAD_STATE(SRQ_IN_USE));
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < DEPTH; i++)
			assert_dat_ok(post(s, srq, i));
		for (unsigned i = 0; i < DEPTH; i++) {
			seg = world_seg(c, 0, 10 + i);
			assert_dat_ok(V(ep_post_send)(client[i & 1], 1, &seg,
						      world_cookie(i), 0));
			expect_dto(c->req_evd, i, DAT_DTO_SUCCESS);
			ev = expect_event(i & 1 ? evd2 : s->recv_evd,
					  DAT_DTO_COMPLETION_EVENT);
			assert_ptr_equal(ev.event_data.dto_completion_event_data
						 .ep_handle,
					 server[i & 1]);
			assert_int_equal(ev.event_data.dto_completion_event_data
						 .transfered_length,
					 10 + i);
			assert_int_equal(ev.event_data.dto_completion_event_data
						 .operation,
					 DAT_DTO_RECEIVE);
		}
	}
	expect_empty(evd2);
	expect_empty(s->recv_evd);
}

/* Completions that nobody had read yet still name their endpoint. */
ON_EACH(reset__with_completions_unread)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_EVENT ev;

	s->ep = ep_on(s, srq, s->recv_evd);
	world_connect(w);
	for (unsigned i = 0; i < 3; i++)
		assert_dat_ok(post(s, srq, i));
	world_send(c, 0, 64, 9, 0);
	expect_dto(c->req_evd, 9, DAT_DTO_SUCCESS);
	kit_abort(s->ep);
	kit_over(w);
	assert_dat_ok(V(ep_reset)(s->ep));
	ev = expect_dto(s->recv_evd, 0, DAT_DTO_SUCCESS);
	assert_ptr_equal(ev.event_data.dto_completion_event_data.ep_handle,
			 s->ep);
	/* The others wait for the next connection. */
	expect_empty(s->recv_evd);
	assert_int_equal(param_of(srq).outstanding_dto_count, 2);
	assert_dat_ok(V(ep_reset)(c->ep));
	world_connect(w);
	world_send(c, 0, 64, 10, 0);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
}

ON_EACH(free__endpoint_with_completions_unread)
{
	DAT_SRQ_HANDLE srq = make_srq(s);

	s->ep = ep_on(s, srq, s->recv_evd);
	world_connect(w);
	assert_dat_ok(post(s, srq, 0));
	world_send(c, 0, 64, 9, 0);
	expect_dto(c->req_evd, 9, DAT_DTO_SUCCESS);
	assert_refused(V(srq_free)(srq), DAPL_BAD_STATE(SRQ_IN_USE));
	assert_dat_ok(V(ep_free)(s->ep));
	/* The buffer is the SRQ's, and comes back with what has arrived. */
	expect_dto(s->recv_evd, 0, DAT_DTO_SUCCESS);
	expect_empty(s->recv_evd);
	for (unsigned i = 0; i < DEPTH; i++)
		assert_dat_ok(post(s, srq, i));
	assert_dat_ok(V(srq_free)(srq));
}

/* The connection is over, and the device has no queue pair for another one. */
static void lose_queue_pair(struct world *w)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(w->dev);
	int max_qp = cfg->attr.max_qp;

	world_connect(w);
	kit_abort(w->server.ep);
	kit_over(w);
	cfg->attr.max_qp = 0;
	assert_refused(V(ep_reset)(w->server.ep), DAPL_NO_RES(MEMORY));
	kit_state(w->server.ep, DAT_EP_STATE_DISCONNECTED);
	cfg->attr.max_qp = max_qp;
}

ON_IB(free__endpoint_without_queue_pair)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_DTO_FLAG);

	s->ep = ep_on(s, srq, evd);
	lose_queue_pair(w);
	assert_dat_ok(V(ep_reset)(s->ep));
	assert_dat_ok(V(ep_reset)(c->ep));
	lose_queue_pair(w);
	assert_dat_ok(V(ep_free)(s->ep));
	/* Nothing is reserved any more, and the SRQ knows the EVD no more. */
	assert_dat_ok(V(evd_resize)(evd, 1));
	assert_int_equal(world_evd_param(evd).evd_qlen, 1);
	assert_dat_ok(V(evd_free)(evd));
	assert_dat_ok(V(srq_resize)(srq, 2 * DEPTH));
	assert_dat_ok(V(srq_free)(srq));
}

/* Many endpoints come and go: the table behind the numbers holds. */
ON_IB(endpoints__come_and_go)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_EP_HANDLE ep[40];

	for (int i = 0; i < 40; i++)
		ep[i] = ep_on(s, srq, s->recv_evd);
	for (int i = 0; i < 40; i += 2)
		assert_dat_ok(V(ep_free)(ep[i]));
	for (int i = 1; i < 40; i += 6) {
		DAT_EP_HANDLE client = world_ep(c, NULL);
		DAT_LMR_TRIPLET seg = world_seg(c, 0, 8);
		DAT_EVENT ev;

		world_connect_pair(w, ep[i], client);
		assert_dat_ok(post(s, srq, 1));
		assert_dat_ok(
			V(ep_post_send)(client, 1, &seg, world_cookie(1), 0));
		ev = expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
		assert_ptr_equal(
			ev.event_data.dto_completion_event_data.ep_handle,
			ep[i]);
	}
	for (int i = 1; i < 40; i += 2)
		assert_dat_ok(V(ep_free)(ep[i]));
	assert_dat_ok(V(srq_free)(srq));
}

/* Whether or not the device says so itself, and once. */
ON_EACH(disconnect__tells_the_last_receive)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_EVENT ev;

	s->ep = ep_on(s, srq, s->recv_evd);
	world_connect(w);
	kit_abort(s->ep);
	kit_over(w);
	ev = expect_event(s->async_evd, DAT_ASYNC_ERROR_EP_BROKEN);
	assert_ptr_equal(ev.event_data.asynch_error_event_data.dat_handle,
			 s->ep);
	assert_int_equal(ev.event_data.asynch_error_event_data.reason,
			 DAT_EP_OTHER_ERROR);
	expect_empty(s->async_evd);
	/* The peer has no SRQ, and nothing of the kind to tell. */
	expect_empty(c->async_evd);
}

ON_EACH(set_lw__fires_once)
{
	DAT_SRQ_HANDLE srq = make_srq(s);
	DAT_EVENT ev;

	assert_refused(V(srq_set_lw)(srq, DEPTH + 1), DAPL_BAD_ARG(2));
	s->ep = ep_on(s, srq, s->recv_evd);
	world_connect(w);
	for (unsigned i = 0; i < 4; i++)
		assert_dat_ok(post(s, srq, i));
	assert_dat_ok(V(srq_set_lw)(srq, 3));
	assert_int_equal(param_of(srq).low_watermark, 3);
	for (unsigned i = 0; i < 3; i++)
		world_send(c, 0, 8, i, 0);
	ev = next_event(s->async_evd, WORLD_PATIENCE_US);
	assert_ptr_equal(ev.event_data.asynch_error_event_data.dat_handle,
			 (DAT_HANDLE)srq);
	assert_int_equal(ev.event_data.asynch_error_event_data.reason,
			 DAT_SRQ_LOW_WATERMARK_EVENT);
	expect_empty(s->async_evd);
	assert_int_equal(param_of(srq).low_watermark, 0);
}

RUN_CASES_TWICE()
