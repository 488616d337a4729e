/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_conn.c - connections: both sides, the service threads and other threads of
 * the program at once. Each connection that an endpoint has begun ends with one
 * event, and the next one is not touched by what is left of it.
 */
#include <errno.h>
#include <time.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/cm/base/dapl_cm_base.h"
#include "test/sched/scenario.h"

#define FORGETS_US 100000000

static struct {
	struct world *w;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep[2];
	int accepted, rejected, freed;
	int searches; /* of the kernel, under the fake's lock */
	bool over;
} st;

static DAT_CLOSE_FLAGS some_flags(void)
{
	return sched_dice(2) ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG;
}

static void disconnects(void *ep)
{
	need_type(V(ep_disconnect)(ep, some_flags()), DAT_SUCCESS,
		  DAT_INVALID_STATE);
}

/* Reads until the connection is over; true if it was established before. */
static bool await_end(struct world_side *s)
{
	bool established = false;

	for (;;) {
		DAT_EVENT ev = await_event(s->conn_evd);

		need(ev.event_data.connect_event_data.ep_handle == s->ep);
		if ((unsigned)ev.event_number !=
		    DAT_CONNECTION_EVENT_ESTABLISHED)
			return established;
		need(!established);
		established = true;
	}
}

/*
 * The connection manager has forgotten all connections of the side, after what
 * its protocol asks for: no reference to one was left. What nobody has answered
 * is refused first, as on iWARP a connection waits for that.
 */
static void await_released(struct world_side *s)
{
	struct dapl_cm *cm = ((struct dapl_ia *)s->ia)->cm;
	const struct timespec a_while = {.tv_nsec = 50000000};
	struct dapl_cm_node *node;
	uint64_t began = world_now_us();
	bool any;

	do {
		nanosleep(&a_while, NULL);
		reject_all(&st.w->server);
		any = false;
		dapl_list_for_each(node, &cm->nodes, link)
			any |= !node->is_listener;
		need(world_now_us() - began < FORGETS_US);
	} while (any);
}

/* ------------------------------------------------ ending it */

SCENARIO(disconnect__by_both_and_twice)
{
	world_connect(w);
	actor(disconnects, c->ep);
	actor(disconnects, c->ep);
	actor(disconnects, s->ep);
	play();
	kit_over(w);
}

static void frees_ep(void *ep)
{
	DAT_RETURN ret = V(ep_free)(ep);

	need_type(ret, DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE);
	st.freed += ret == DAT_SUCCESS;
}

/* No event of the endpoint follows. */
static void frees_client(void *arg)
{
	struct world_side *c = &st.w->client;
	DAT_EVENT ev;

	frees_ep(c->ep);
	while (V(evd_dequeue)(c->conn_evd, &ev) == DAT_SUCCESS)
		;
	for (int i = 0; i < 5; i++) {
		world_pause();
		expect_empty(c->conn_evd);
	}
}

SCENARIO(ep_free__by_two)
{
	if (sched_dice(2))
		world_connect(w);
	else
		world_eps(w);
	actor(frees_ep, c->ep);
	actor(frees_ep, c->ep);
	play();
	need(st.freed == 1);
}

SCENARIO(ep_free__against_disconnect_of_the_peer)
{
	st.w = w;
	world_connect(w);
	actor(frees_client, NULL);
	actor(disconnects, s->ep);
	play();
	need(st.freed == 1);
	kit_conn(s, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(s->conn_evd);
}

/* ------------------------------------------------ answering */

static void accepts(void *arg)
{
	DAT_RETURN ret = V(cr_accept)(st.cr, st.w->server.ep, 0, NULL);

	need_type(ret, DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE);
	st.accepted += ret == DAT_SUCCESS;
}

static void rejects(void *arg)
{
	DAT_RETURN ret = V(cr_reject)(st.cr, 0, NULL);

	need_type(ret, DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE);
	st.rejected += ret == DAT_SUCCESS;
}

static void ask(struct world *w)
{
	st.w = w;
	kit_ready(w);
	st.cr = kit_meet(w);
}

/* The accept was in time, or found that the client had gone. */
static void ended_or_refused(struct world_side *s)
{
	if (st.accepted)
		await_end(s);
	else
		kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
	expect_empty(s->conn_evd);
}

SCENARIO(cr_accept__against_reject)
{
	ask(w);
	actor(accepts, NULL);
	actor(rejects, NULL);
	play();
	need(st.accepted + st.rejected == 1);
	if (st.accepted)
		kit_established(w);
	else
		kit_conn(c, DAT_CONNECTION_EVENT_PEER_REJECTED);
	need_ok(V(ep_free)(s->ep));
}

static void frees_server(void *arg)
{
	frees_ep(st.w->server.ep);
}

SCENARIO(cr_accept__against_reject_and_free)
{
	ask(w);
	actor(accepts, NULL);
	actor(rejects, NULL);
	actor(frees_server, NULL);
	play();
	need(st.accepted + st.rejected <= 1 && st.freed == 1);
	if (!st.accepted && !st.rejected)
		need_ok(V(cr_reject)(st.cr, 0, NULL));
	await_end(c);
	expect_empty(c->conn_evd);
}

SCENARIO(cr_accept__against_disconnect_of_the_client)
{
	ask(w);
	actor(accepts, NULL);
	actor(disconnects, c->ep);
	play();
	await_end(c);
	ended_or_refused(s);
	expect_empty(c->conn_evd);
}

/* It is accepted, and no side has heard so. */
SCENARIO(disconnect__against_established)
{
	ask(w);
	need_ok(V(cr_accept)(st.cr, s->ep, 0, NULL));
	actor(disconnects, sched_dice(2) ? c->ep : s->ep);
	play();
	await_end(c);
	await_end(s);
	expect_empty(c->conn_evd);
	expect_empty(s->conn_evd);
	await_released(c);
	await_released(s);
}

SCENARIO(ep_free__against_established)
{
	struct world_side *freed = sched_dice(2) ? c : s;

	ask(w);
	need_ok(V(cr_accept)(st.cr, s->ep, 0, NULL));
	actor(frees_ep, freed->ep);
	play();
	await_end(freed == c ? s : c);
	await_released(freed);
}

/* The first of the kernel's searches for a peer does not end by itself. */
static int hangs_once(enum fv_lookup why, const union ibv_gid *gid, void *arg)
{
	return why == FV_LOOKUP_RTR && !st.searches++ ? FV_LOOKUP_HANGS : 0;
}

static void ends_searches(void *arg)
{
	do {
		world_pause();
		fv_lookups_end(sched_dice(2) ? ETIMEDOUT : 0);
	} while (!st.over);
}

static void frees_at_once(void *ep)
{
	for (unsigned n = sched_dice(6); n; n--)
		world_pause();
	frees_ep(ep);
	st.over = true;
}

/* A helper moves its queue pair, or that of the peer. */
SCENARIO(ep_free__against_a_move_that_takes_long)
{
	struct world_side *freed = sched_dice(2) ? c : s;

	fv_hook_lookup(hangs_once, NULL);
	ask(w);
	actor(accepts, NULL);
	actor(frees_at_once, freed->ep);
	actor(ends_searches, NULL);
	play();
	fv_hook_lookup(NULL, NULL);
	fv_lookups_end(0);
	if (freed == s && !st.accepted)
		need_ok(V(cr_reject)(st.cr, 0, NULL));
	if (freed == s || st.accepted)
		await_end(freed == c ? s : c);
}

static void closes_at_once(void *side)
{
	struct world_side *s = side;

	for (unsigned n = sched_dice(6); n; n--)
		world_pause();
	need_ok(V(ia_close)(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	world_forget_ia(s->ia);
	s->ia = NULL;
	st.over = true;
}

/* The move ends with the adapter, or before. */
SCENARIO(ia_close__against_a_move_that_takes_long)
{
	fv_hook_lookup(hangs_once, NULL);
	ask(w);
	need_ok(V(cr_accept)(st.cr, s->ep, 0, NULL));
	actor(closes_at_once, sched_dice(2) ? c : s);
	actor(ends_searches, NULL);
	play();
	fv_hook_lookup(NULL, NULL);
	fv_lookups_end(0);
	await_end(c->ia ? c : s);
}

SCENARIO(cr_accept__against_free_of_the_client)
{
	ask(w);
	actor(accepts, NULL);
	actor(frees_client, NULL);
	play();
	need(st.freed == 1);
	ended_or_refused(s);
}

SCENARIO(cr_reject__against_free_of_the_client)
{
	ask(w);
	actor(rejects, NULL);
	actor(frees_client, NULL);
	play();
	need(st.rejected == 1 && st.freed == 1);
	expect_empty(s->conn_evd);
}

SCENARIO(cr_accept__against_disconnect_of_the_server)
{
	ask(w);
	actor(accepts, NULL);
	actor(disconnects, s->ep);
	actor(disconnects, s->ep);
	play();
	need_type(V(ep_disconnect)(s->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS,
		  DAT_INVALID_STATE);
	if (st.accepted) {
		await_end(s);
		await_end(c);
	}
	expect_empty(s->conn_evd);
	if (st.accepted)
		await_released(s);
}

/* --------------------------------- connecting, and the end of it */

/* Answers one request, if it comes. */
static void answers(void *arg)
{
	struct world_side *s = &st.w->server;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (V(evd_wait)(s->cr_evd, 5000, 1, &ev, &more) != DAT_SUCCESS)
		return;
	st.cr = ev.event_data.cr_arrival_event_data.cr_handle;
	if (sched_dice(3))
		accepts(NULL);
	else
		rejects(NULL);
}

static void connects(void *arg)
{
	need_ok(kit_connect(st.w->client.ep, DAT_TIMEOUT_INFINITE, NULL, 0));
}

static void connects_for_a_while(void *arg)
{
	need_ok(kit_connect(st.w->client.ep, 1 + sched_dice(4000), NULL, 0));
	await_end(&st.w->client);
	st.over = true;
}

SCENARIO(connect__against_disconnect)
{
	st.w = w;
	kit_ready(w);
	actor(connects, NULL);
	actor(disconnects, c->ep);
	actor(answers, NULL);
	play();
	need_type(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS,
		  DAT_INVALID_STATE);
	await_end(c);
	expect_empty(c->conn_evd);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
	if (st.accepted)
		await_end(s);
	expect_empty(s->conn_evd);
	await_released(c);
}

/* One that is established in the end is ended by the server. */
static void answers_and_disconnects(void *arg)
{
	answers(NULL);
	if (st.accepted)
		need_type(V(ep_disconnect)(st.w->server.ep, some_flags()),
			  DAT_SUCCESS, DAT_INVALID_STATE);
}

SCENARIO(connect__against_its_timeout)
{
	st.w = w;
	kit_ready(w);
	actor(connects_for_a_while, NULL);
	actor(answers_and_disconnects, NULL);
	play();
	expect_empty(c->conn_evd);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
}

/* ------------------------------------------- again and again */

#define ROUNDS 2

static void is_client(void *arg)
{
	struct world_side *c = &st.w->client;

	for (int i = 0; i < ROUNDS; i++) {
		need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
		kit_conn(c, DAT_CONNECTION_EVENT_ESTABLISHED);
		need_ok(V(ep_disconnect)(c->ep, some_flags()));
		need(!await_end(c));
		need_ok(V(ep_reset)(c->ep));
	}
}

static void is_server(void *arg)
{
	struct world_side *s = &st.w->server;

	for (int i = 0; i < ROUNDS; i++) {
		DAT_EVENT ev = await_event(s->cr_evd);

		need_ok(V(cr_accept)(
			ev.event_data.cr_arrival_event_data.cr_handle, s->ep, 0,
			NULL));
		need(await_end(s));
		need_ok(V(ep_reset)(s->ep));
	}
}

SCENARIO(connection__again_and_again)
{
	st.w = w;
	kit_ready(w);
	actor(is_client, NULL);
	actor(is_server, NULL);
	play();
	expect_empty(c->conn_evd);
	expect_empty(s->conn_evd);
	kit_state(c->ep, DAT_EP_STATE_UNCONNECTED);
	kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
}

/* ------------------------- what is left of the connection before */

static void ends_and_connects_anew(void *arg)
{
	struct world_side *c = &st.w->client;

	disconnects(c->ep);
	await_end(c);
	need_ok(V(ep_reset)(c->ep));
	need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	kit_conn(c, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void accepts_the_next(void *ep)
{
	DAT_EVENT ev = await_event(st.w->server.cr_evd);

	need_ok(V(cr_accept)(ev.event_data.cr_arrival_event_data.cr_handle, ep,
			     0, NULL));
}

/* As this one has heard, or is to hear. */
static void need_connected(struct world_side *side, DAT_EP_HANDLE ep)
{
	DAT_EVENT ev;

	do
		ev = await_event(side->conn_evd);
	while (ev.event_data.connect_event_data.ep_handle != ep);
	need((unsigned)ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_state(ep, DAT_EP_STATE_CONNECTED);
}

/* Both end it, and the client has the next one before all is done about it. */
SCENARIO(connect__against_the_end_of_the_last_one)
{
	DAT_EP_HANDLE other;

	st.w = w;
	world_connect(w);
	kit_listen(w);
	other = world_ep(s, NULL);
	actor(disconnects, s->ep);
	actor(ends_and_connects_anew, NULL);
	actor(accepts_the_next, other);
	play();
	need_connected(s, other);
	kit_state(c->ep, DAT_EP_STATE_CONNECTED);
	expect_empty(c->conn_evd);
}

static void accepts_ends_and_accepts_anew(void *arg)
{
	struct world_side *s = &st.w->server;

	need_ok(V(cr_accept)(st.cr, s->ep, 0, NULL));
	disconnects(s->ep);
	await_end(s);
	need_ok(V(ep_reset)(s->ep));
	accepts_the_next(s->ep);
	kit_conn(s, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void asks_too(void *ep)
{
	need_ok(kit_connect(ep, DAT_TIMEOUT_INFINITE, NULL, 0));
}

/* An accept whose queue pair is still being moved is ended, and another made.
 */
SCENARIO(cr_accept__against_the_end_of_the_last_one)
{
	DAT_EP_HANDLE other;

	ask(w);
	other = world_ep(c, NULL);
	actor(accepts_ends_and_accepts_anew, NULL);
	actor(asks_too, other);
	play();
	need_connected(c, other);
	kit_state(s->ep, DAT_EP_STATE_CONNECTED);
	expect_empty(s->conn_evd);
}

/* --------------------------------- a failure, told too late */

static void reads_the_failure(void *arg)
{
	DAT_RETURN ret;
	DAT_EVENT ev;

	while ((ret = V(evd_dequeue)(st.w->client.req_evd, &ev)) !=
	       DAT_SUCCESS) {
		need_type(ret, DAT_QUEUE_EMPTY);
		world_pause();
	}
}

static void disconnects_server(void *arg)
{
	disconnects(st.w->server.ep);
	st.over = true;
}

/* Sees the end of the connection, whoever it was, and makes the next one. */
static void connects_anew(void *arg)
{
	struct world_side *s = &st.w->server, *c = &st.w->client;

	while (!st.over)
		world_pause();
	await_end(c);
	await_end(s);
	kit_reset(st.w);
	world_connect_pair(st.w, s->ep, c->ep);
}

/* The next connection is not broken in place of that one. */
SCENARIO(failure__told_to_the_next_connection)
{
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET to;

	st.w = w;
	world_connect(w);
	seg = world_seg(c, 0, 64);
	to = world_target(s, 0, 64);
	to.rmr_context ^= 0x55555;
	need_ok(V(ep_post_rdma_write)(c->ep, 1, &seg, world_cookie(1), &to, 0));
	actor(reads_the_failure, NULL);
	actor(disconnects_server, NULL);
	actor(connects_anew, NULL);
	play();
	kit_state(c->ep, DAT_EP_STATE_CONNECTED);
	kit_state(s->ep, DAT_EP_STATE_CONNECTED);
	expect_empty(c->conn_evd);
	expect_empty(s->conn_evd);
}
