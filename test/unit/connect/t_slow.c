/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_slow.c - peers whose hardware address the kernel looks for, and looks.
 *
 * Built once for each provider, over the fake RoCE device, whose search hangs
 * until a test ends it: so nothing here depends on time. What has to be true
 * while one peer's search hangs: calls return, and the same adapter makes other
 * connections.
 * Threads: the hook runs on whoever makes the call; it works on atomics only.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/connect/dapl_ep.h"
#include "test/unit/kit.h"

#define EV(x) DAT_CONNECTION_EVENT_##x

/* The searches for moves to RTR: some pass, then some end otherwise. */
static struct {
	int pass, others; /* atomic: how many yet */
	int what;
} plan;

static int follow_plan(enum fv_lookup why, const union ibv_gid *gid, void *arg)
{
	if (why != FV_LOOKUP_RTR ||
	    __atomic_sub_fetch(&plan.pass, 1, __ATOMIC_ACQ_REL) >= 0 ||
	    __atomic_sub_fetch(&plan.others, 1, __ATOMIC_ACQ_REL) < 0)
		return 0;
	return plan.what;
}

static void plan_for(int pass, int others, int what)
{
	plan.pass = pass;
	plan.others = others;
	plan.what = what;
	fv_hook_lookup(follow_plan, NULL);
}

/* Two connections on the same adapters. */
struct four {
	DAT_EP_HANDLE server[2], client[2];
	DAT_PSP_HANDLE psp;
};

static void four_open(struct world *w, struct four *f)
{
	for (int i = 0; i < 2; i++) {
		f->server[i] = world_ep(&w->server, NULL);
		f->client[i] = world_ep(&w->client, NULL);
	}
	w->server.ep = f->server[0];
	w->client.ep = f->client[0];
	f->psp = kit_listen(w);
}

/* Connects and accepts the pair I; what comes of that is left open. */
static void begin(struct world *w, struct four *f, int i)
{
	assert_dat_ok(kit_connect(f->client[i], DAT_TIMEOUT_INFINITE, NULL, 0));
	assert_dat_ok(V(cr_accept)(kit_request(w), f->server[i], 0, NULL));
}

static void expect_of(struct world_side *s, DAT_EP_HANDLE ep, unsigned number)
{
	DAT_EVENT ev = expect_event(s->conn_evd, number);

	assert_ptr_equal(ev.event_data.connect_event_data.ep_handle, ep);
}

static void established(struct world *w, struct four *f, int i)
{
	expect_of(&w->client, f->client[i], EV(ESTABLISHED));
	expect_of(&w->server, f->server[i], EV(ESTABLISHED));
}

static void hangs(int n)
{
	world_until(fv_lookups_hanging() == (unsigned)n);
}

/* The first pair begins, with its first PASS searches found; then it hangs. */
static void one_hangs(struct world *w, struct four *f, int pass)
{
	four_open(w, f);
	plan_for(pass, 1, FV_LOOKUP_HANGS);
	begin(w, f, 0);
	hangs(1);
}

/* --------------------------------------------------- nobody else waits */

static void another_comes_up(struct world *w, int pass)
{
	struct four f;

	one_hangs(w, &f, pass);
	begin(w, &f, 1);
	established(w, &f, 1);
	assert_int_equal(fv_lookups_hanging(), 1);
	fv_lookups_end(0);
	established(w, &f, 0);
}

CASE_ROCE(accept__hangs_and_another_comes_up)
{
	another_comes_up(w, 0);
}

CASE_ROCE(connect__hangs_and_another_comes_up)
{
	another_comes_up(w, 1);
}

/* For whom it is: others' moves have helpers while his hang. */
CASE_ROCE(move__names_its_peer)
{
	struct dapl_ep *ep = (struct dapl_ep *)world_ep(c, NULL);
	struct vb_qp_step step = {.mask = IBV_QP_STATE};
	struct dapl_qp_move move;

	dapl_qp_move_init(&move, &ep->qp, &step, 1, NULL);
	assert_true(!move.job.peer.half[0] && !move.job.peer.half[1]);
	assert_false(move.job.light);
	step.mask |= IBV_QP_AV;
	for (uint8_t i = 0; i < 16; i++)
		step.attr.ah_attr.grh.dgid.raw[i] = i;
	dapl_qp_move_init(&move, &ep->qp, &step, 1, NULL);
	assert_memory_equal(&move.job.peer, step.attr.ah_attr.grh.dgid.raw, 16);
	assert_int_equal(move.job.light, ep->obj.ia->dev.posts_enter_kernel);
}

/* More peers at once than there are helpers: they take turns. */
CASE_ROCE(connect__many_hang)
{
	DAT_EP_HANDLE client[20], server[20];
	int i, n = 0;

	kit_listen(w);
	plan_for(0, 6, FV_LOOKUP_HANGS);
	for (i = 0; i < 20; i++) {
		client[i] = world_ep(c, NULL);
		server[i] = world_ep(s, NULL);
		assert_dat_ok(
			kit_connect(client[i], DAT_TIMEOUT_INFINITE, NULL, 0));
		assert_dat_ok(V(cr_accept)(kit_request(w), server[i], 0, NULL));
	}
	for (; n < 14; n++) {
		expect_event(c->conn_evd, EV(ESTABLISHED));
		expect_event(s->conn_evd, EV(ESTABLISHED));
	}
	hangs(6);
	fv_lookups_end(0);
	for (; n < 20; n++) {
		expect_event(c->conn_evd, EV(ESTABLISHED));
		expect_event(s->conn_evd, EV(ESTABLISHED));
	}
}

/* ------------------------------------------------------- calls meanwhile */

CASE_ROCE(calls__return)
{
	DAT_EP_PARAM param;
	struct four f;

	one_hangs(w, &f, 1);
	world_recv(c, 0, 64, 1);
	param = kit_query(f.client[0]);
	assert_int_equal(param.ep_state,
			 DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	kit_state(f.client[0], DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	assert_int_equal(fv_lookups_hanging(), 1);
	fv_lookups_end(0);
	established(w, &f, 0);
}

/* The event waits for the queue pair, so that what is posted is flushed. */
static void disconnect_meanwhile(struct world *w, struct world_side *s,
				 struct four *f, int pass, unsigned number)
{
	one_hangs(w, f, pass);
	world_recv(s, 0, 64, 1);
	kit_abort(s->ep);
	assert_int_equal(fv_lookups_hanging(), 1);
	expect_empty(s->conn_evd);
	expect_empty(s->recv_evd);
	fv_lookups_end(0);
	expect_of(s, s->ep, number);
	expect_dto(s->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
	kit_state(s->ep, DAT_EP_STATE_DISCONNECTED);
	assert_dat_ok(V(ep_reset)(s->ep));
}

CASE_ROCE(disconnect__of_the_active_side)
{
	struct four f;

	disconnect_meanwhile(w, c, &f, 1, EV(DISCONNECTED));
	expect_of(s, f.server[0], EV(ACCEPT_COMPLETION_ERROR));
	/* And the endpoint is as good as new. */
	assert_dat_ok(V(ep_reset)(f.server[0]));
	begin(w, &f, 0);
	established(w, &f, 0);
}

CASE_ROCE(disconnect__of_the_passive_side)
{
	struct four f;

	disconnect_meanwhile(w, s, &f, 0, EV(DISCONNECTED));
	expect_of(c, f.client[0], EV(NON_PEER_REJECTED));
}

/* Whether EP's connection has been taken from it. */
static bool ended(DAT_EP_HANDLE handle)
{
	struct dapl_ep *ep = (struct dapl_ep *)handle;
	bool ended;

	dapl_lock(&ep->lock);
	ended = !ep->conn;
	dapl_unlock(&ep->lock);
	return ended;
}

CASE_ROCE(timeout__runs_out)
{
	struct four f;

	four_open(w, &f);
	plan_for(1, 1, FV_LOOKUP_HANGS);
	assert_dat_ok(kit_connect(f.client[0], 300000, NULL, 0));
	assert_dat_ok(V(cr_accept)(kit_request(w), f.server[0], 0, NULL));
	world_until(ended(f.client[0]));
	/* Unless this machine was so slow that it had not come so far. */
	fv_lookups_end(0);
	expect_of(c, f.client[0], EV(TIMED_OUT));
	kit_state(f.client[0], DAT_EP_STATE_DISCONNECTED);
	expect_of(s, f.server[0], EV(ACCEPT_COMPLETION_ERROR));
}

static void *ep_free_main(void *ep)
{
	assert_dat_ok(V(ep_free)(ep));
	return NULL;
}

/* Only who destroys the queue pair waits for the kernel to let go of it. */
CASE_ROCE(free__waits_for_the_kernel)
{
	pthread_t thread;
	struct four f;

	one_hangs(w, &f, 1);
	assert_int_equal(
		pthread_create(&thread, NULL, ep_free_main, f.client[0]), 0);
	world_until(ended(f.client[0]));
	begin(w, &f, 1);
	established(w, &f, 1);
	assert_int_equal(fv_lookups_hanging(), 1);
	fv_lookups_end(0);
	pthread_join(thread, NULL);
	c->ep = NULL;
	expect_of(s, f.server[0], EV(ACCEPT_COMPLETION_ERROR));
}

static void *ia_close_main(void *ia)
{
	assert_dat_ok(V(ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG));
	return NULL;
}

CASE_ROCE(close__waits_for_the_kernel)
{
	DAT_EP_HANDLE client;
	pthread_t thread;
	struct four f;

	one_hangs(w, &f, 1);
	client = f.client[0];
	assert_int_equal(pthread_create(&thread, NULL, ia_close_main, c->ia),
			 0);
	world_until(ended(client));
	fv_lookups_end(0);
	pthread_join(thread, NULL);
	world_forget_ia(c->ia);
	c->ia = NULL;
	expect_of(s, f.server[0], EV(ACCEPT_COMPLETION_ERROR));
}

/* ------------------------------------------------------------ failures */

/* In a storm of questions some answers come late: it is tried again. */
static void silent_once(struct world *w, int pass)
{
	struct four f;

	four_open(w, &f);
	plan_for(pass, 1, ETIMEDOUT);
	begin(w, &f, 0);
	established(w, &f, 0);
}

CASE_ROCE(accept__silent_once)
{
	silent_once(w, 0);
}

CASE_ROCE(connect__silent_once)
{
	silent_once(w, 1);
}

CASE_ROCE(accept__no_way)
{
	struct four f;

	four_open(w, &f);
	plan_for(0, 1, EINVAL);
	begin(w, &f, 0);
	expect_of(s, f.server[0], EV(ACCEPT_COMPLETION_ERROR));
	expect_of(c, f.client[0], EV(NON_PEER_REJECTED));
	assert_dat_ok(V(ep_reset)(f.server[0]));
	assert_dat_ok(V(ep_reset)(f.client[0]));
	begin(w, &f, 0);
	established(w, &f, 0);
}

CASE_ROCE(slow_connect__no_way)
{
	struct four f;

	four_open(w, &f);
	plan_for(1, 1, EINVAL);
	begin(w, &f, 0);
	expect_of(c, f.client[0], EV(BROKEN));
	expect_of(s, f.server[0], EV(ACCEPT_COMPLETION_ERROR));
}

/* The driver of soft RoCE would never give a peer up that has vanished. */
CASE_ROCE(connect__retries_end, world_connect)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (int i = 0; i < 2; i++) {
		struct dapl_ep *ep = i ? s->ep : c->ep;

		assert_int_equal(ibv_query_qp(ep->qp.ibv, &attr,
					      IBV_QP_RETRY_CNT, &init),
				 0);
		assert_int_equal(attr.retry_cnt, 6);
	}
}

RUN_CASES(NULL, NULL)
