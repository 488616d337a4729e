/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_sp.c - a service point is freed while a request comes: no event follows the
 * free's return, the client hears one way or the other, and the qualifier is
 * the next one's.
 */
#include "test/sched/scenario.h"

static struct {
	struct world *w;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
} st;

static void asks(void *arg)
{
	struct world_side *c = &st.w->client;
	DAT_EVENT ev;

	need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	ev = await_event(c->conn_evd);
	need((unsigned)ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void frees_psp(void *arg)
{
	need_ok(V(psp_free)(st.psp));
	reject_all(&st.w->server);
}

SCENARIO(psp_free__against_request)
{
	st.w = w;
	st.psp = kit_ready(w);
	actor(asks, NULL);
	actor(frees_psp, NULL);
	play();
	need(!reject_all(s));
	expect_empty(c->conn_evd);
	need_ok(V(evd_free)(s->cr_evd));
}

#define CROWD 4

static void asks_as_one_of_many(void *ep)
{
	need_ok(kit_connect(ep, DAT_TIMEOUT_INFINITE, NULL, 0));
}

/* Each of them hears of it, wherever its request was. */
SCENARIO(psp_free__against_a_crowd)
{
	st.w = w;
	st.psp = kit_listen(w);
	for (int i = 0; i < CROWD; i++)
		actor(asks_as_one_of_many, world_ep(c, NULL));
	actor(frees_psp, NULL);
	play();
	need(!reject_all(s));
	for (int i = 0; i < CROWD; i++)
		need((unsigned)await_event(c->conn_evd).event_number !=
		     DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_empty(c->conn_evd);
}

static void frees_rsp(void *arg)
{
	need_ok(V(rsp_free)(st.rsp));
	reject_all(&st.w->server);
}

/* Freed before its request, or used up by it: it succeeds once. */
SCENARIO(rsp_free__against_request)
{
	st.w = w;
	world_eps(w);
	need_ok(V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &st.rsp));
	actor(asks, NULL);
	actor(frees_rsp, NULL);
	play();
	need(!reject_all(s));
	expect_empty(c->conn_evd);
	need_ok(V(evd_free)(s->cr_evd));
	need_ok(V(ep_free)(s->ep));
}

static void frees_only(void *arg)
{
	need_ok(V(psp_free)(st.psp));
}

static void listens_next(void *arg)
{
	struct world_side *s = &st.w->server;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;
	DAT_EVENT ev;

	while ((ret = V(psp_create)(s->ia, WORLD_QUAL, s->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp)) !=
	       DAT_SUCCESS) {
		need_type(ret, DAT_CONN_QUAL_IN_USE);
		world_pause();
	}
	need_ok(kit_connect(st.w->client.ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	ev = await_event(s->cr_evd);
	need(ev.event_data.cr_arrival_event_data.sp_handle.psp_handle == psp);
}

SCENARIO(psp_create__on_a_qualifier_that_is_being_freed)
{
	st.w = w;
	st.psp = kit_ready(w);
	actor(frees_only, NULL);
	actor(listens_next, NULL);
	play();
}

static void answers_and_frees(void *arg)
{
	struct world_side *s = &st.w->server;
	DAT_EVENT ev = await_event(s->cr_evd);

	/* The RSP has ended, says its event. */
	need_ok(V(evd_free)(s->cr_evd));
	need_ok(V(cr_reject)(ev.event_data.cr_arrival_event_data.cr_handle, 0,
			     NULL));
}

SCENARIO(evd_free__after_the_request_of_an_rsp)
{
	st.w = w;
	world_eps(w);
	need_ok(V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &st.rsp));
	actor(asks, NULL);
	actor(answers_and_frees, NULL);
	play();
}

static void creates_rsp(void *arg)
{
	struct world_side *s = &st.w->server;

	need_ok(V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &st.rsp));
}

static void rejects_what_comes(void *arg)
{
	DAT_EVENT ev = await_event(st.w->server.cr_evd);

	need_ok(V(cr_reject)(ev.event_data.cr_arrival_event_data.cr_handle, 0,
			     NULL));
}

/* Again and again, until somebody is there. */
static void asks_until_heard(void *arg)
{
	struct world_side *c = &st.w->client;
	unsigned number;

	do {
		need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
		number = (unsigned)await_event(c->conn_evd).event_number;
		need_ok(V(ep_reset)(c->ep));
	} while (number != DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/* Its request may be there before the call has returned. */
SCENARIO(rsp_create__against_request)
{
	st.w = w;
	world_eps(w);
	actor(asks_until_heard, NULL);
	actor(creates_rsp, NULL);
	actor(rejects_what_comes, NULL);
	play();
	need_ok(V(evd_free)(s->cr_evd));
	need_ok(V(ep_free)(s->ep));
}
