/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_broken.c - posts in the states of a connection, and how one ends that the
 * other end's device has broken.
 *
 * Transfers themselves are in transfer/t_ep_post.c.
 * Rules: DAT 2.0 dat_ep_post_*, completion statuses of DTO events.
 */
#include "test/unit/kit.h"

static DAT_RETURN post_recv(struct world_side *s, size_t length,
			    uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, length);

	return V(ep_post_recv)(s->ep, 1, &seg, world_cookie(cookie), 0);
}

static void refused_here(struct world_side *s, DAT_RETURN code)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);
	DAT_RMR_TRIPLET remote = world_target(s, 0, 64);

	assert_refused(V(ep_post_send)(s->ep, 1, &seg, world_cookie(1), 0),
		       code);
	assert_refused(V(ep_post_rdma_write)(s->ep, 1, &seg, world_cookie(1),
					     &remote, 0),
		       code);
	assert_refused(V(ep_post_rdma_read)(s->ep, 1, &seg, world_cookie(1),
					    &remote, 0),
		       code);
	assert_refused(V(ep_post_send_with_invalidate)(
			       s->ep, 1, &seg, world_cookie(1), 0, DAT_TRUE, 1),
		       code);
	assert_dat_ok(post_recv(s, 64, 77));
}

static void post__in_every_state(void **state)
{
	struct world *w = *state;
	struct world_side *c = &w->client, *s = &w->server;
	DAT_RSP_HANDLE rsp;

	world_eps(w);
	refused_here(c, BAD_EP_STATE(UNCONNECTED));
	assert_dat_ok(V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &rsp));
	refused_here(s, BAD_EP_STATE(RESERVED));
	fv_cm_set(FV_CM_LOSE_RTU, w->kind != FV_IWARP);
	assert_dat_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	refused_here(c, BAD_EP_STATE(ACTCONNPENDING));
	kit_request(w);
	refused_here(s, BAD_EP_STATE(PASSCONNPENDING));
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_conn(c, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* In DISCONNECTED a post is taken, and flushed. */
	for (int i = 0; i < 2; i++)
		expect_dto(c->recv_evd, 77, DAT_DTO_ERR_FLUSHED);
	assert_dat_ok(post_recv(c, 64, 5));
	expect_dto(c->recv_evd, 5, DAT_DTO_ERR_FLUSHED);
}

/* -------------------------------------------------- errors */

/* BROKEN, or, when the other side was quicker to end it, DISCONNECTED. */
static DAT_EP_HANDLE ended(DAT_EVD_HANDLE evd, bool broken)
{
	DAT_EVENT ev = next_event(evd, WORLD_PATIENCE_US);

	if (broken ||
	    (unsigned)ev.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		assert_int_equal(ev.event_number, DAT_CONNECTION_EVENT_BROKEN);
	return ev.event_data.connect_event_data.ep_handle;
}

/* A failed queue pair of an RNIC closes its connection by itself. */
static void broken_once(struct world *w, bool client_first)
{
	ended(w->client.conn_evd, client_first && w->kind != FV_IWARP);
	ended(w->server.conn_evd, false);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	kit_state(w->server.ep, DAT_EP_STATE_DISCONNECTED);
	expect_empty(w->client.conn_evd);
	expect_empty(w->server.conn_evd);
}

/* What an RNIC's sender learns of a failure at the other end. */
static unsigned far_status(const struct world *w, unsigned status)
{
	return w->kind == FV_IWARP ? DAT_DTO_ERR_FLUSHED : status;
}

static void error__remote_access(void **state)
{
	struct world *w = *state;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET remote;

	world_connect(w);
	assert_dat_ok(post_recv(&w->client, 8, 50));
	seg = world_seg(&w->client, 0, 200);
	remote = world_target(&w->server, WORLD_MEM_SIZE - 100, 200);
	assert_dat_ok(V(ep_post_rdma_write)(w->client.ep, 1, &seg,
					    world_cookie(1), &remote, 0));
	expect_dto(w->client.req_evd, 1,
		   far_status(w, DAT_DTO_ERR_REMOTE_ACCESS));
	broken_once(w, true);
	expect_dto(w->client.recv_evd, 50, DAT_DTO_ERR_FLUSHED);
}

static void error__receive_too_short(void **state)
{
	struct world *w = *state;

	world_connect(w);
	world_recv(&w->server, 0, 100, 1);
	world_send(&w->client, 0, 101, 2, 0);
	expect_dto(w->server.recv_evd, 1, DAT_DTO_ERR_LOCAL_LENGTH);
	expect_dto(w->client.req_evd, 2,
		   far_status(w, DAT_DTO_ERR_REMOTE_RESPONDER));
	broken_once(w, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each(post__in_every_state),
		on_each(error__remote_access),
		on_each(error__receive_too_short),
	};

	return world_run_both(tests);
}
