/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_broken.c - posts in the states of a connection, and how one ends that the
 * other end's device has broken.
 *
 * Transfers themselves are in transfer/t_ep_post.c.
 * Rules: DAT 2.0 dat_ep_post_*, completion statuses of DTO events.
 */
#include <pthread.h>

#include "dapl/common/event/dapl_evd.h"
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

/* ------------------------------------------ held on its way */

/* Where a thread that has read a failure can be held before it tells. */
static int held; /* atomic; 1: hold it, 2: it is held, 0: let it go */

void __real_dapl_evd_after(struct dapl_evd_after *after);
void __wrap_dapl_evd_after(struct dapl_evd_after *after);

void __wrap_dapl_evd_after(struct dapl_evd_after *after)
{
	int one = 1;

	if (after->broken.fn &&
	    __atomic_compare_exchange_n(&held, &one, 2, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		while (__atomic_load_n(&held, __ATOMIC_ACQUIRE))
			world_pause();
	__real_dapl_evd_after(after);
}

static void *read_failure(void *arg)
{
	struct world_side *s = arg;

	expect_dto(s->req_evd, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	return NULL;
}

/* Word of a failure comes when the next connection is up: it is not its. */
static void error__told_after_the_reset(void **state)
{
	struct world *w = *state;
	struct world_side *c = &w->client;
	DAT_LMR_TRIPLET seg;
	pthread_t thread;

	world_connect(w);
	world_recv(&w->server, 0, 4096, 2);
	seg = world_seg(c, 0, 2000);
	seg.lmr_context ^= 0x100000;
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	assert_dat_ok(V(ep_post_send)(c->ep, 1, &seg, world_cookie(1), 0));
	pthread_create(&thread, NULL, read_failure, c);
	world_until(__atomic_load_n(&held, __ATOMIC_ACQUIRE) == 2);
	assert_dat_ok(V(ep_disconnect)(w->server.ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	assert_dat_ok(V(ep_reset)(c->ep));
	assert_dat_ok(V(ep_reset)(w->server.ep));
	expect_dto(w->server.recv_evd, 2, DAT_DTO_ERR_FLUSHED);
	world_connect(w);
	__atomic_store_n(&held, 0, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	expect_empty(c->conn_evd);
	kit_state(c->ep, DAT_EP_STATE_CONNECTED);
	world_recv(&w->server, 0, 64, 3);
	world_send(c, 0, 64, 4, 0);
	expect_dto(c->req_evd, 4, DAT_DTO_SUCCESS);
	expect_dto(w->server.recv_evd, 3, DAT_DTO_SUCCESS);
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

/* The flush of one must not hide the failure of another on the same EVD. */
static void error__two_endpoints_of_one_evd(void **state)
{
	struct world *w = *state;
	struct world_side *c = &w->client;
	DAT_EP_HANDLE eps[3];
	DAT_LMR_TRIPLET seg;
	DAT_EVENT ev;
	DAT_COUNT more;

	for (int i = 0; i < 3; i++) {
		c->ep = w->server.ep = NULL;
		world_connect(w);
		eps[i] = c->ep;
	}
	seg = world_seg(c, 0, 2000);
	seg.lmr_context ^= 0x100000;
	for (unsigned i = 0; i < 3; i++)
		assert_dat_ok(
			V(ep_post_send)(eps[i], 1, &seg, world_cookie(i), 0));
	/* A wait for all of them reads them in one go. */
	assert_dat_ok(
		V(evd_wait)(c->req_evd, WORLD_PATIENCE_US, 3, &ev, &more));
	for (int i = 0; i < 3; i++) {
		kit_state(ended(c->conn_evd, w->kind != FV_IWARP),
			  DAT_EP_STATE_DISCONNECTED);
	}
	expect_empty(c->conn_evd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each(post__in_every_state),
		on_each(error__told_after_the_reset),
		on_each(error__remote_access),
		on_each(error__receive_too_short),
		on_each(error__two_endpoints_of_one_evd),
	};

	return world_run_both(tests);
}
