/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_rmr.c - memory windows: dat_rmr_* of both scopes, and what
 * dat_ep_post_send_with_invalidate does to them.
 *
 * Tests that say "both" run with windows of type 1 (PZ) and type 2 (EP).
 * Rules: uDAPL 1.2 dat_rmr_*, DAT 2.0 additions.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/connect/dapl_ep.h"
#include "test/unit/kit.h"

#define PRIV (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

static DAT_RMR_HANDLE make(struct world_side *s, bool for_ep)
{
	DAT_RMR_HANDLE rmr = NULL;

	if (for_ep)
		assert_dat_ok(V(rmr_create_for_ep)(s->pz, &rmr));
	else
		assert_dat_ok(V(rmr_create)(s->pz, &rmr));
	return rmr;
}

static DAT_RETURN do_bind(struct world_side *s, DAT_RMR_HANDLE rmr,
			  size_t offset, size_t length, uint64_t cookie,
			  unsigned flags, DAT_RMR_CONTEXT *ret_key)
{
	DAT_LMR_TRIPLET seg = world_seg(s, offset, length);
	DAT_RMR_COOKIE c = {.as_64 = cookie};

	return V(rmr_bind)(rmr, s->mem.lmr, &seg, (DAT_MEM_PRIV_FLAGS)PRIV,
			   DAT_VA_TYPE_VA, s->ep, c,
			   (DAT_COMPLETION_FLAGS)flags, ret_key);
}

static void expect_bind(struct world_side *s, DAT_RMR_HANDLE rmr,
			uint64_t cookie, unsigned status)
{
	DAT_EVENT ev = expect_event(s->req_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
		&ev.event_data.rmr_completion_event_data;

	assert_ptr_equal(data->rmr_handle, rmr);
	assert_int_equal(data->user_cookie.as_64, cookie);
	assert_int_equal(data->status, status);
}

/* The client writes through KEY; whether it may. */
static void write_through(struct world *w, DAT_RMR_CONTEXT key, size_t offset,
			  unsigned status)
{
	DAT_LMR_TRIPLET seg = world_seg(&w->client, 0, 16);
	DAT_RMR_TRIPLET to = world_target(&w->server, offset, 16);

	to.rmr_context = key;
	w->client.mem.buf[0]++;
	assert_dat_ok(V(ep_post_rdma_write)(w->client.ep, 1, &seg,
					    world_cookie(77), &to, 0));
	expect_dto(w->client.req_evd, 77, status);
	if (status == DAT_DTO_SUCCESS)
		assert_int_equal(w->server.mem.buf[offset],
				 w->client.mem.buf[0]);
}

static DAT_RETURN bind_as(struct world_side *s, DAT_RMR_HANDLE rmr, int va_type)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);
	DAT_RMR_COOKIE cookie = {.as_64 = 1};
	DAT_RMR_CONTEXT key;

	return V(rmr_bind)(rmr, s->mem.lmr, &seg, (DAT_MEM_PRIV_FLAGS)PRIV,
			   (DAT_VA_TYPE)va_type, s->ep, cookie, 0, &key);
}

/* Only windows of type 2 have addresses that count from 0. */
ON_IB(rmr_bind__kind_of_address)
{
	DAT_RMR_HANDLE pz_scope, ep_scope;

	world_connect(w);
	pz_scope = make(s, false);
	ep_scope = make(s, true);
	assert_refused(bind_as(s, pz_scope, 2), DAPL_BAD_ARG(5));
	assert_refused(bind_as(s, ep_scope, 77), DAPL_BAD_ARG(5));
	assert_refused(bind_as(s, pz_scope, DAT_VA_TYPE_ZB), DAPL_BAD_ARG(5));
	assert_dat_ok(bind_as(s, ep_scope, DAT_VA_TYPE_ZB));
	expect_bind(s, ep_scope, 1, DAT_DTO_SUCCESS);
}

ON_IB(rmr_create__nth_failure)
{
	DAT_RMR_HANDLE rmr;

	assert_nth_failure(V(rmr_create)(s->pz, &rmr), V(rmr_free)(rmr));
	assert_nth_failure(V(rmr_create_for_ep)(s->pz, &rmr), V(rmr_free)(rmr));
	rmr = make(s, false);
	assert_refused(V(pz_free)(s->pz), DAPL_BAD_STATE(PZ_IN_USE));
	assert_dat_ok(V(rmr_free)(rmr));
}

ON_IB(rmr_create__device_without)
{
	DAT_RMR_HANDLE rmr;

	fv_device_cfg_get(w->dev)->attr.device_cap_flags = 0;
	assert_refused(V(rmr_create)(s->pz, &rmr),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	assert_refused(V(rmr_create_for_ep)(s->pz, &rmr),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
}

static void bind_both(struct world *w, bool for_ep)
{
	struct world_side *s = &w->server;
	DAT_RMR_HANDLE rmr = make(s, for_ep);
	DAT_RMR_CONTEXT key[3];
	DAT_RMR_PARAM param;

	world_connect(w);
	for (unsigned i = 0; i < 3; i++) {
		/* A new bind of a bound window ends the one before. */
		assert_dat_ok(
			do_bind(s, rmr, 1024 * (size_t)i, 256, i, 0, &key[i]));
		expect_bind(s, rmr, i, DAT_DTO_SUCCESS);
		if (i)
			assert_int_not_equal(key[i], key[i - 1]);
		write_through(w, key[i], 1024 * (size_t)i, DAT_DTO_SUCCESS);
		assert_dat_ok(V(rmr_query)(rmr, DAT_RMR_FIELD_ALL, &param));
		assert_int_equal(param.rmr_context, key[i]);
		assert_int_equal(param.lmr_triplet.segment_length, 256);
		assert_int_equal(param.rmr_scope,
				 for_ep ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ);
	}
	expect_empty(s->req_evd);
	kit_state(s->ep, DAT_EP_STATE_CONNECTED);
	assert_int_not_equal(V(lmr_free)(s->mem.lmr), DAT_SUCCESS);
	/* Unbound: the region is free of users, the key is dead. */
	assert_dat_ok(do_bind(s, rmr, 0, 0, 7, 0, NULL));
	expect_bind(s, rmr, 7, DAT_DTO_SUCCESS);
	/* Unbound twice is no fault. */
	assert_dat_ok(do_bind(s, rmr, 0, 0, 8, 0, NULL));
	expect_bind(s, rmr, 8, DAT_DTO_SUCCESS);
	kit_state(s->ep, DAT_EP_STATE_CONNECTED);
	write_through(w, key[2], 2048,
		      w->kind == FV_IWARP ? DAT_DTO_ERR_FLUSHED
					  : DAT_DTO_ERR_REMOTE_ACCESS);
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
	assert_dat_ok(V(rmr_free)(rmr));
}

ON_EACH(bind__type1)
{
	bind_both(w, false);
}

ON_EACH(bind__type2)
{
	bind_both(w, true);
}

/*
 * A new bind of a bound window of type 2 takes two places. Where there is one,
 * it is refused, and the window stays as it was.
 */
ON_EACH(bind__type2_room_for_one, world_connect)
{
	DAT_RMR_TRIPLET to = world_target(c, 0, 0);
	DAT_RMR_HANDLE rmr = make(s, true);
	DAT_RMR_CONTEXT key, other = 0;
	int n = 0;

	assert_dat_ok(do_bind(s, rmr, 0, 64, 1, 0, &key));
	expect_bind(s, rmr, 1, DAT_DTO_SUCCESS);
	fv_hold_sends(((struct dapl_qp *)s->ep)->ibv, true);
	for (; n < 16 - 1; n++)
		assert_dat_ok(V(ep_post_rdma_write)(s->ep, 0, NULL,
						    world_cookie(2), &to, 0));
	assert_refused(do_bind(s, rmr, 64, 64, 3, 0, &other), DAPL_NO_MEM);
	assert_int_equal(other, 0);
	fv_hold_sends(((struct dapl_qp *)s->ep)->ibv, false);
	while (n--)
		expect_dto(s->req_evd, 2, DAT_DTO_SUCCESS);
	write_through(w, key, 0, DAT_DTO_SUCCESS);
	assert_dat_ok(do_bind(s, rmr, 64, 64, 4, 0, &key));
	expect_bind(s, rmr, 4, DAT_DTO_SUCCESS);
	/* Suppressed requests that are over make room. */
	for (int i = 0; i < 16; i++)
		assert_dat_ok(V(ep_post_rdma_write)(
			s->ep, 0, NULL, world_cookie(5), &to,
			DAT_COMPLETION_SUPPRESS_FLAG));
	assert_dat_ok(do_bind(s, rmr, 0, 64, 6, 0, &key));
	expect_bind(s, rmr, 6, DAT_DTO_SUCCESS);
	write_through(w, key, 0, DAT_DTO_SUCCESS);
	assert_dat_ok(V(rmr_free)(rmr));
}

/* A bind without an event leaves nothing behind but the bound window. */
ON_EACH(bind__suppressed, world_connect)
{
	DAT_RMR_CONTEXT key;

	for (int i = 0; i < 2; i++) {
		DAT_RMR_HANDLE rmr = make(s, i);

		assert_dat_ok(do_bind(s, rmr, 0, 64, 1,
				      DAT_COMPLETION_SUPPRESS_FLAG, &key));
		world_recv(c, 0, 64, 5);
		world_send(s, 0, 8, 2, 0);
		expect_dto(s->req_evd, 2, DAT_DTO_SUCCESS);
		expect_empty(s->req_evd);
		write_through(w, key, 0, DAT_DTO_SUCCESS);
		assert_dat_ok(V(rmr_free)(rmr));
	}
}

/* A bind on an endpoint that is over completes as flushed, exactly once. */
ON_EACH(bind__flushed, world_connect)
{
	DAT_RMR_HANDLE rmr[2];
	DAT_RMR_CONTEXT key;

	for (int i = 0; i < 2; i++)
		rmr[i] = make(s, i);
	fv_pause(true);
	for (unsigned i = 0; i < 2; i++)
		assert_dat_ok(do_bind(s, rmr[i], 0, 64, i, 0, &key));
	kit_abort(s->ep);
	kit_over(w);
	for (unsigned i = 0; i < 2; i++)
		expect_bind(s, rmr[i], i, DAT_DTO_ERR_FLUSHED);
	fv_pause(false);
	/* Also where the device takes no post any more. */
	for (unsigned i = 0; i < 2; i++) {
		assert_dat_ok(do_bind(s, rmr[i], 0, 64, 10 + i, 0, &key));
		expect_bind(s, rmr[i], 10 + i, DAT_DTO_ERR_FLUSHED);
		fv_fail_from(1, EINVAL);
		assert_dat_ok(do_bind(s, rmr[i], 0, 64, 20 + i, 0, &key));
		fv_fail_at(0, 0);
		expect_bind(s, rmr[i], 20 + i, DAT_DTO_ERR_FLUSHED);
	}
	expect_empty(s->req_evd);
}

ON_IB(free__while_bound, world_connect)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT key;

	rmr = make(s, true);
	assert_dat_ok(do_bind(s, rmr, 0, 64, 1, 0, &key));
	expect_bind(s, rmr, 1, DAT_DTO_SUCCESS);
	assert_dat_ok(V(rmr_free)(rmr));
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
}

/* --------------------- the region of a window in limbo */

static void cut_off(struct world *w)
{
	kit_abort(w->server.ep);
	kit_over(w);
}

static void connect_again(struct world *w)
{
	assert_dat_ok(V(ep_reset)(w->server.ep));
	assert_dat_ok(V(ep_reset)(w->client.ep));
	world_connect(w);
}

/* An unbind that never reached the device leaves the window bound. */
ON_EACH(lmr_free__unbind_flushed)
{
	for (int i = 0; i < 2; i++) {
		DAT_RMR_HANDLE rmr = make(s, i);

		if (i)
			connect_again(w);
		else
			world_connect(w);
		assert_dat_ok(do_bind(s, rmr, 0, 64, 1, 0, NULL));
		expect_bind(s, rmr, 1, DAT_DTO_SUCCESS);
		fv_pause(true);
		assert_dat_ok(do_bind(s, rmr, 0, 0, 2, 0, NULL));
		cut_off(w);
		expect_bind(s, rmr, 2, DAT_DTO_ERR_FLUSHED);
		fv_pause(false);
		assert_refused(V(lmr_free)(s->mem.lmr),
			       DAPL_BAD_STATE(LMR_IN_USE));
		/* The next one is no formality. */
		connect_again(w);
		assert_dat_ok(do_bind(s, rmr, 0, 0, 3, 0, NULL));
		assert_refused(V(lmr_free)(s->mem.lmr),
			       DAPL_BAD_STATE(LMR_IN_USE));
		expect_bind(s, rmr, 3, DAT_DTO_SUCCESS);
		cut_off(w);
		assert_dat_ok(V(rmr_free)(rmr));
	}
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
}

/* Nor does a bind to another region, which holds both then. */
ON_EACH(lmr_free__rebind_flushed)
{
	struct world_mem mem = s->mem, other = mem;
	DAT_RMR_HANDLE rmr[2];

	other.lmr = world_lmr(s->ia, s->pz, mem.buf, WORLD_MEM_SIZE,
			      &other.lkey, &other.rkey);
	world_connect(w);
	for (int i = 0; i < 2; i++) {
		rmr[i] = make(s, false);
		assert_dat_ok(do_bind(s, rmr[i], 0, 64, 1, 0, NULL));
		expect_bind(s, rmr[i], 1, DAT_DTO_SUCCESS);
	}
	fv_pause(true);
	s->mem = other;
	for (unsigned i = 0; i < 2; i++)
		assert_dat_ok(do_bind(s, rmr[i], 0, 64, i, 0, NULL));
	cut_off(w);
	for (unsigned i = 0; i < 2; i++)
		expect_bind(s, rmr[i], i, DAT_DTO_ERR_FLUSHED);
	fv_pause(false);
	s->mem = mem;
	assert_refused(V(lmr_free)(mem.lmr), DAPL_BAD_STATE(LMR_IN_USE));
	assert_refused(V(lmr_free)(other.lmr), DAPL_BAD_STATE(LMR_IN_USE));
	/* A later success, or the end of the window, makes both free. */
	connect_again(w);
	assert_dat_ok(do_bind(s, rmr[0], 0, 0, 5, 0, NULL));
	expect_bind(s, rmr[0], 5, DAT_DTO_SUCCESS);
	assert_refused(V(lmr_free)(mem.lmr), DAPL_BAD_STATE(LMR_IN_USE));
	assert_refused(V(lmr_free)(other.lmr), DAPL_BAD_STATE(LMR_IN_USE));
	assert_dat_ok(V(rmr_free)(rmr[1]));
	assert_dat_ok(V(lmr_free)(other.lmr));
	assert_dat_ok(V(lmr_free)(mem.lmr));
}

/* Nobody will hear of the unbind any more: the endpoint has gone. */
ON_EACH(lmr_free__unbind_forgotten)
{
	DAT_RMR_HANDLE rmr = make(s, false);

	world_connect(w);
	assert_dat_ok(do_bind(s, rmr, 0, 64, 1, 0, NULL));
	expect_bind(s, rmr, 1, DAT_DTO_SUCCESS);
	fv_device_cfg_get(w->dev)->flushes_late = true;
	fv_pause(true);
	assert_dat_ok(do_bind(s, rmr, 0, 0, 2, 0, NULL));
	assert_dat_ok(V(ep_free)(s->ep));
	s->ep = NULL;
	fv_pause(false);
	assert_refused(V(lmr_free)(s->mem.lmr), DAPL_BAD_STATE(LMR_IN_USE));
	assert_dat_ok(V(rmr_free)(rmr));
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
}

/* With the window everything is over, whatever is still to complete. */
ON_EACH(free__while_unbinding)
{
	DAT_RMR_HANDLE rmr = make(s, false);

	world_connect(w);
	assert_dat_ok(do_bind(s, rmr, 0, 64, 1, 0, NULL));
	assert_dat_ok(do_bind(s, rmr, 0, 0, 2, 0, NULL));
	assert_dat_ok(V(rmr_free)(rmr));
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
	expect_bind(s, rmr, 1, DAT_DTO_SUCCESS);
	expect_bind(s, rmr, 2, DAT_DTO_SUCCESS);
}

/* ------------------------------------------ invalidation */

ON_EACH(send_with_invalidate__type2)
{
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 32);
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT key;
	DAT_EVENT ev;

	world_connect(w);
	rmr = make(s, true);
	for (unsigned i = 0; i < 3; i++) {
		assert_dat_ok(do_bind(s, rmr, 0, 64, i, 0, &key));
		expect_bind(s, rmr, i, DAT_DTO_SUCCESS);
		world_recv(s, 4096, 64, 50);
		write_through(w, key, 0, DAT_DTO_SUCCESS);
		assert_dat_ok(V(ep_post_send_with_invalidate)(
			c->ep, 1, &seg, world_cookie(60), 0, DAT_TRUE, key));
		expect_dto(c->req_evd, 60, DAT_DTO_SUCCESS);
		ev = expect_dto(s->recv_evd, 50, DAT_DTO_SUCCESS);
		dto = &ev.event_data.dto_completion_event_data;
		assert_int_equal(dto->operation,
				 DAT_DTO_RECEIVE_WITH_INVALIDATE);
		assert_int_equal(dto->rmr_context, key);
		assert_int_equal(dto->transfered_length, 32);
	}
	/* Without the flag it is a plain send. */
	world_recv(s, 4096, 64, 51);
	assert_dat_ok(V(ep_post_send_with_invalidate)(
		c->ep, 1, &seg, world_cookie(61), 0, DAT_FALSE, key));
	ev = expect_dto(s->recv_evd, 51, DAT_DTO_SUCCESS);
	assert_int_equal(ev.event_data.dto_completion_event_data.operation,
			 DAT_DTO_RECEIVE);
	assert_dat_ok(V(rmr_free)(rmr));
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
}

/*
 * Through another endpoint the device would not find it bound, and an unbind
 * would be none.
 */
ON_EACH(bind__type2_through_another_endpoint)
{
	DAT_EP_HANDLE first, other = world_ep(s, NULL);
	DAT_RMR_HANDLE rmr = make(s, true);
	DAT_RMR_CONTEXT key;

	world_connect_pair(w, other, world_ep(c, NULL));
	world_connect(w);
	first = s->ep;
	assert_dat_ok(do_bind(s, rmr, 0, 64, 1, 0, &key));
	expect_bind(s, rmr, 1, DAT_DTO_SUCCESS);
	s->ep = other;
	assert_refused(do_bind(s, rmr, 0, 0, 2, 0, NULL), DAPL_BAD_ARG(6));
	assert_refused(do_bind(s, rmr, 0, 64, 2, 0, NULL), DAPL_BAD_ARG(6));
	write_through(w, key, 0, DAT_DTO_SUCCESS);
	/* When it is not bound, any will do. */
	s->ep = first;
	assert_dat_ok(do_bind(s, rmr, 0, 0, 3, 0, NULL));
	expect_bind(s, rmr, 3, DAT_DTO_SUCCESS);
	s->ep = other;
	assert_dat_ok(do_bind(s, rmr, 0, 64, 4, 0, &key));
	expect_bind(s, rmr, 4, DAT_DTO_SUCCESS);
	assert_dat_ok(V(ep_free)(other));
	s->ep = first;
	assert_dat_ok(do_bind(s, rmr, 0, 64, 5, 0, &key));
	expect_bind(s, rmr, 5, DAT_DTO_SUCCESS);
	write_through(w, key, 0, DAT_DTO_SUCCESS);
	assert_dat_ok(V(rmr_free)(rmr));
}

/*
 * Binds of LENGTHS, the last one an unbind, that never reach the device: it has
 * the window bound yet, and not free for another endpoint.
 */
static void flush_unbind(struct world *w, const size_t *lengths, unsigned n)
{
	struct world_side *s = &w->server;
	DAT_EP_HANDLE first, other = world_ep(s, NULL);
	DAT_RMR_HANDLE rmr = make(s, true);

	world_connect_pair(w, other, world_ep(&w->client, NULL));
	world_connect(w);
	first = s->ep;
	assert_dat_ok(do_bind(s, rmr, 0, 64, 100, 0, NULL));
	expect_bind(s, rmr, 100, DAT_DTO_SUCCESS);
	fv_pause(true);
	for (unsigned i = 0; i < n; i++)
		assert_dat_ok(do_bind(s, rmr, 0, lengths[i], i, 0, NULL));
	cut_off(w);
	for (unsigned i = 0; i < n; i++)
		expect_bind(s, rmr, i, DAT_DTO_ERR_FLUSHED);
	fv_pause(false);
	s->ep = other;
	assert_refused(do_bind(s, rmr, 0, 64, 101, 0, NULL), DAPL_BAD_ARG(6));
	assert_refused(V(lmr_free)(s->mem.lmr), DAPL_BAD_STATE(LMR_IN_USE));
	/* The queue pair takes the binding along. */
	assert_dat_ok(V(ep_reset)(first));
	assert_dat_ok(do_bind(s, rmr, 0, 64, 102, 0, NULL));
	expect_bind(s, rmr, 102, DAT_DTO_SUCCESS);
	kit_state(other, DAT_EP_STATE_CONNECTED);
	s->ep = first;
	assert_dat_ok(V(rmr_free)(rmr));
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
}

ON_EACH(bind__type2_elsewhere_after_flushed_unbind)
{
	flush_unbind(w, (size_t[]){0}, 1);
}

ON_EACH(bind__type2_elsewhere_after_two_flushed_unbinds)
{
	flush_unbind(w, (size_t[]){0, 0}, 2);
}

ON_EACH(bind__type2_elsewhere_after_flushed_bind_and_unbind)
{
	flush_unbind(w, (size_t[]){128, 0}, 2);
}

ON_EACH(bind__type2_elsewhere_after_flushed_unbind_bind_unbind)
{
	flush_unbind(w, (size_t[]){0, 128, 0}, 3);
}

static void invalidate_by_peer(struct world *w, DAT_RMR_CONTEXT key)
{
	DAT_LMR_TRIPLET seg = world_seg(&w->client, 0, 32);

	world_recv(&w->server, 4096, 64, 50);
	assert_dat_ok(V(ep_post_send_with_invalidate)(
		w->client.ep, 1, &seg, world_cookie(60), 0, DAT_TRUE, key));
	expect_dto(w->client.req_evd, 60, DAT_DTO_SUCCESS);
}

/* Another adapter has heard of an equal key: that is not this window's. */
ON_EACH(invalidated__on_another_adapter)
{
	DAT_RMR_HANDLE rmr = make(s, true);
	DAT_RMR_CONTEXT key, again;

	world_connect(w);
	assert_dat_ok(do_bind(s, rmr, 0, 64, 1, 0, &key));
	expect_bind(s, rmr, 1, DAT_DTO_SUCCESS);
	dapl_windows_invalidated(&((struct dapl_ia *)c->ia)->windows, key);
	/* The next bind takes the key back first, as it must. */
	assert_dat_ok(do_bind(s, rmr, 0, 64, 2, 0, &again));
	expect_bind(s, rmr, 2, DAT_DTO_SUCCESS);
	dapl_windows_invalidated(&((struct dapl_ia *)c->ia)->windows, again);
	assert_dat_ok(do_bind(s, rmr, 0, 0, 3, 0, NULL));
	expect_bind(s, rmr, 3, DAT_DTO_SUCCESS);
	write_through(w, again, 0,
		      w->kind == FV_IWARP ? DAT_DTO_ERR_FLUSHED
					  : DAT_DTO_ERR_REMOTE_ACCESS);
}

/* Of many windows the peer hits the one that it names. */
ON_EACH(invalidated__one_of_many, world_connect)
{
	DAT_RMR_CONTEXT key[100];
	DAT_RMR_HANDLE rmr[100];

	for (unsigned i = 0; i < 100; i++) {
		rmr[i] = make(s, true);
		assert_dat_ok(do_bind(s, rmr[i], 0, 64, i, 0, &key[i]));
		expect_bind(s, rmr[i], i, DAT_DTO_SUCCESS);
	}
	for (unsigned i = 3; i < 100; i += 7) {
		invalidate_by_peer(w, key[i]);
		expect_dto(s->recv_evd, 50, DAT_DTO_SUCCESS);
	}
	/* A wrong guess of who was hit would break the connection here. */
	for (unsigned i = 0; i < 100; i++) {
		assert_dat_ok(do_bind(s, rmr[i], 0, 64, i, 0, &key[i]));
		expect_bind(s, rmr[i], i, DAT_DTO_SUCCESS);
		write_through(w, key[i], 0, DAT_DTO_SUCCESS);
	}
	for (unsigned i = 0; i < 100; i += 2)
		assert_dat_ok(V(rmr_free)(rmr[i]));
	invalidate_by_peer(w, key[1]);
	expect_dto(s->recv_evd, 50, DAT_DTO_SUCCESS);
	assert_dat_ok(do_bind(s, rmr[1], 0, 64, 1, 0, &key[1]));
	expect_bind(s, rmr[1], 1, DAT_DTO_SUCCESS);
}

struct binder {
	struct world_side *side;
	DAT_RMR_HANDLE rmr;
	DAT_RETURN ret;
};

static void *run_binder(void *arg)
{
	struct binder *b = arg;

	b->ret = do_bind(b->side, b->rmr, 0, 64, 2, 0, NULL);
	return NULL;
}

/* The peer's message is read while a bind is on its way to the queue. */
ON_IB(invalidated__under_a_bind)
{
#ifdef DAPL_PTHREAD_LOCKS
	skip_case("a build with locks of pthread");
#else
	struct binder b = {.side = s, .rmr = make(s, true)};
	struct dapl_lock *ctl;
	DAT_RMR_CONTEXT key;
	pthread_t thread;

	world_connect(w);
	assert_dat_ok(do_bind(s, b.rmr, 0, 64, 1, 0, &key));
	expect_bind(s, b.rmr, 1, DAT_DTO_SUCCESS);
	invalidate_by_peer(w, key);
	ctl = &((struct dapl_ep *)s->ep)->qp.ctl;
	dapl_lock(ctl);
	assert_int_equal(pthread_create(&thread, NULL, run_binder, &b), 0);
	/* It waits for the lock. */
	world_until(__atomic_load_n(&ctl->word, __ATOMIC_RELAXED) == 2);
	dapl_windows_invalidated(&((struct dapl_ia *)s->ia)->windows, key);
	dapl_unlock(ctl);
	pthread_join(thread, NULL);
	assert_dat_ok(b.ret);
	expect_bind(s, b.rmr, 2, DAT_DTO_SUCCESS);
	kit_state(s->ep, DAT_EP_STATE_CONNECTED);
#endif
}

/* A window of type 2 outlives the queue pair it was bound through. */
ON_EACH(bind__type2_after_reset)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT key;

	rmr = make(s, true);
	for (unsigned i = 0; i < 2; i++) {
		world_connect(w);
		assert_dat_ok(do_bind(s, rmr, 0, 64, i, 0, &key));
		expect_bind(s, rmr, i, DAT_DTO_SUCCESS);
		write_through(w, key, 0, DAT_DTO_SUCCESS);
		kit_abort(s->ep);
		kit_over(w);
		assert_dat_ok(V(ep_reset)(s->ep));
		assert_dat_ok(V(ep_reset)(c->ep));
	}
}

RUN_CASES_TWICE()
