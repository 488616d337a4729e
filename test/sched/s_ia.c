/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_ia.c - adapters: closed while their service threads have to do, by two, and
 * several that report to one async EVD.
 */
#include "dapl/common/event/dapl_evd.h"
#include "test/sched/scenario.h"

static struct {
	struct world *w;
	DAT_IA_HANDLE ia[2];
	struct world_side *closes;
	struct ibv_context *verbs[2];
	int closed;
} st;

static void closes(void *ia)
{
	DAT_RETURN ret = V(ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG);

	need_type(ret, DAT_SUCCESS, DAT_INVALID_HANDLE);
	st.closed += ret == DAT_SUCCESS;
}

SCENARIO(ia_close__by_two)
{
	world_connect(w);
	actor(closes, s->ia);
	actor(closes, s->ia);
	play();
	need(st.closed == 1);
	world_forget_ia(s->ia);
	s->ia = NULL;
}

static void connects(void *arg)
{
	struct world_side *c = &st.w->client;
	DAT_EVENT ev;

	need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	ev = await_event(c->conn_evd);
	need((unsigned)ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED);
}

SCENARIO(ia_close__against_request)
{
	st.w = w;
	kit_ready(w);
	actor(connects, NULL);
	actor(closes, s->ia);
	play();
	expect_empty(c->conn_evd);
	world_forget_ia(s->ia);
	s->ia = NULL;
}

static void disconnects(void *ep)
{
	need_type(V(ep_disconnect)(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS,
		  DAT_INVALID_STATE);
}

SCENARIO(ia_close__against_disconnect_of_the_peer)
{
	world_connect(w);
	actor(disconnects, c->ep);
	actor(closes, s->ia);
	play();
	kit_conn(c, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(c->conn_evd);
	world_forget_ia(s->ia);
	s->ia = NULL;
}

/* ------------------------------- wherever its connection is */

static void await_end(struct world_side *side)
{
	while ((unsigned)await_event(side->conn_evd).event_number ==
	       DAT_CONNECTION_EVENT_ESTABLISHED)
		;
}

/* For some time; its own calls are over then (doc/thread-safety.md). */
static void closes_after_a_while(struct world_side *side, DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	need_type(V(evd_wait)(evd, sched_dice(2000), 1, &ev, &more),
		  DAT_SUCCESS, DAT_TIMEOUT_EXPIRED);
	if (sched_dice(2))
		need_type(V(ep_disconnect)(side->ep, DAT_CLOSE_GRACEFUL_FLAG),
			  DAT_SUCCESS, DAT_INVALID_STATE);
	closes(side->ia);
}

static void is_client(void *arg)
{
	struct world_side *c = &st.w->client;

	need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	if (st.closes == c)
		closes_after_a_while(c, c->conn_evd);
	else
		await_end(c);
}

static bool accepts(struct world_side *s)
{
	DAT_TIMEOUT patience = st.closes == s ? sched_dice(1000) : 20000;
	DAT_COUNT more;
	DAT_EVENT ev;

	return V(evd_wait)(s->cr_evd, patience, 1, &ev, &more) == DAT_SUCCESS &&
	       need_type(V(cr_accept)(
				 ev.event_data.cr_arrival_event_data.cr_handle,
				 s->ep, 0, NULL),
			 DAT_SUCCESS, DAT_INVALID_STATE) == DAT_SUCCESS;
}

static void is_server(void *arg)
{
	struct world_side *s = &st.w->server;
	bool accepted = accepts(s);

	if (st.closes == s)
		closes_after_a_while(s, s->conn_evd);
	else if (accepted)
		await_end(s);
}

/* The other side hears of an end, once. */
SCENARIO(ia_close__in_each_state)
{
	struct world_side *other;

	st.w = w;
	st.closes = sched_dice(2) ? s : c;
	other = st.closes == s ? c : s;
	kit_ready(w);
	actor(is_client, NULL);
	actor(is_server, NULL);
	play();
	need(st.closed == 1);
	expect_empty(other->conn_evd);
	world_forget_ia(st.closes->ia);
	st.closes->ia = NULL;
}

/* ------------------------------------------- one async EVD */

static struct ibv_context *verbs_of(DAT_EVD_HANDLE evd)
{
	return ((struct dapl_evd *)evd)->cq->context;
}

static void breaks(void *verbs)
{
	fv_inject_async(verbs, IBV_EVENT_PORT_ERR, 1);
}

static void reads_async(void *evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++)
		need_type(V(evd_wait)(evd, 200, 1, &ev, &more), DAT_SUCCESS,
			  DAT_TIMEOUT_EXPIRED, DAT_INVALID_HANDLE, DAT_ABORT,
			  DAT_INVALID_STATE);
}

static void make(struct world_side *s)
{
	for (int i = 0; i < 2; i++) {
		DAT_EVD_HANDLE async = s->async_evd;

		need_ok(V(ia_open)(WORLD_IA_NAME, 8, &async, &st.ia[i]));
		need(async == s->async_evd);
		st.verbs[i] = verbs_of(world_evd(st.ia[i], DAT_EVD_DTO_FLAG));
	}
}

/* The EVD outlives whoever reports to it. */
SCENARIO(async_evd__of_several_ias_that_close)
{
	make(s);
	breaks(st.verbs[0]);
	breaks(st.verbs[1]);
	actor(closes, st.ia[0]);
	actor(closes, st.ia[1]);
	actor(reads_async, s->async_evd);
	play();
	need(st.closed == 2);
	need_ok(V(ia_close)(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	world_forget_ia(s->ia);
	s->ia = NULL;
}

/* It ends with its own IA, whoever else reports to it. */
SCENARIO(async_evd__whose_ia_closes_first)
{
	make(s);
	breaks(st.verbs[0]);
	breaks(st.verbs[1]);
	actor(closes, s->ia);
	actor(closes, st.ia[0]);
	actor(reads_async, s->async_evd);
	play();
	need(st.closed == 2);
	world_forget_ia(s->ia);
	s->ia = NULL;
	need_ok(V(ia_close)(st.ia[1], DAT_CLOSE_ABRUPT_FLAG));
}

static void opens_and_closes(void *arg)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;

	for (int i = 0; i < 2; i++) {
		need_ok(V(ia_open)(WORLD_IA_NAME, 8, &async, &ia));
		need_ok(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG));
		async = DAT_EVD_ASYNC_EXISTS;
	}
}

SCENARIO(ia_open__by_two)
{
	actor(opens_and_closes, NULL);
	actor(opens_and_closes, NULL);
	play();
}
