/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_ucm.c - what only datagrams have: a network that loses, doubles and delays
 * them, a peer that is not there any more, and a queue pair of the connection
 * manager that breaks.
 */
#include "dapl/common/base/dapl_ia.h"
#include "dapl/openib_ucm/ucm.h"
#include "test/sched/scenario.h"

#define ROUNDS 2
#define AT_OP  3 /* the low byte of a message's op */

static struct {
	struct world *w;
	unsigned losses;
	bool goodbye_lost, over, accepted;
} st;

static void await_end(struct world_side *s)
{
	while ((unsigned)await_event(s->conn_evd).event_number ==
	       DAT_CONNECTION_EVENT_ESTABLISHED)
		;
}

/* ---------------------------------------------- a bad network */

/* A DREQ comes twice; with both lost only one side would know of the end. */
static bool may_lose(const struct fv_ud_packet *pkt)
{
	bool goodbye = pkt->data[AT_OP] == DCM_DREQ;

	if (!st.losses || (goodbye && st.goodbye_lost))
		return false;
	st.losses--;
	st.goodbye_lost |= goodbye;
	return true;
}

static enum fv_verdict is_bad(struct fv_ud_packet *pkt, void *arg)
{
	switch (sched_dice(6)) {
	case 0:
		return may_lose(pkt) ? FV_DROP : FV_DELIVER;
	case 1:
		return FV_DUP;
	case 2:
		return FV_HOLD;
	default:
		return FV_DELIVER;
	}
}

static void releases(void *arg)
{
	while (!st.over) {
		world_pause();
		if (!sched_dice(3))
			fv_ud_release(1 + sched_dice(2));
	}
}

static void is_client(void *arg)
{
	struct world_side *c = &st.w->client;

	for (int i = 0; i < ROUNDS; i++) {
		need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
		kit_conn(c, DAT_CONNECTION_EVENT_ESTABLISHED);
		need_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
		kit_conn(c, DAT_CONNECTION_EVENT_DISCONNECTED);
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
		await_end(s);
		need_ok(V(ep_reset)(s->ep));
	}
	st.over = true;
}

/* What is lost comes again, and what comes again is no second request. */
SCENARIO_UCM(connection__over_a_bad_network)
{
	st.w = w;
	st.losses = sched_dice(6);
	kit_ready(w);
	fv_hook_ud(is_bad, NULL);
	actor(is_client, NULL);
	actor(is_server, NULL);
	actor(releases, NULL);
	play();
	fv_hook_ud(NULL, NULL);
	fv_ud_release(1000);
	expect_empty(s->cr_evd);
	expect_empty(s->conn_evd);
	expect_empty(c->conn_evd);
}

/* --------------------------------------------- nobody is there */

static enum fv_verdict is_gone(struct fv_ud_packet *pkt, void *arg)
{
	return FV_DROP;
}

static void vanishes(void *arg)
{
	for (unsigned n = sched_dice(10); n; n--)
		world_pause();
	fv_hook_ud(is_gone, NULL);
}

static void connects_and_disconnects(void *arg)
{
	struct world_side *c = &st.w->client;

	need_ok(kit_connect(c->ep, 100000, NULL, 0));
	if ((unsigned)await_event(c->conn_evd).event_number !=
	    DAT_CONNECTION_EVENT_ESTABLISHED)
		return;
	need_type(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS,
		  DAT_INVALID_STATE);
	await_end(c);
}

static void accepts_if_asked(void *arg)
{
	struct world_side *s = &st.w->server;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (V(evd_wait)(s->cr_evd, 100000, 1, &ev, &more) != DAT_SUCCESS)
		return;
	st.accepted =
		need_type(V(cr_accept)(
				  ev.event_data.cr_arrival_event_data.cr_handle,
				  s->ep, 0, NULL),
			  DAT_SUCCESS, DAT_INVALID_STATE) == DAT_SUCCESS;
}

/* Who asks, or ends, is told; who is asked, when an answer is not heard. */
SCENARIO_UCM(peer__vanishes)
{
	DAT_EVENT ev;

	st.w = w;
	kit_ready(w);
	actor(connects_and_disconnects, NULL);
	actor(accepts_if_asked, NULL);
	actor(vanishes, NULL);
	play();
	expect_empty(c->conn_evd);
	if (!st.accepted)
		return;
	ev = await_event(s->conn_evd);
	if ((unsigned)ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		expect_empty(s->conn_evd);
}

/* --------------------------------- the queue pair of messages */

static struct ibv_qp *cm_qp(struct world_side *s)
{
	struct dapl_cm *cm = ((struct dapl_ia *)s->ia)->cm;

	return ((struct ucm *)cm)->qp.verbs;
}

static void breaks(void *qp)
{
	for (unsigned n = sched_dice(6); n; n--)
		world_pause();
	if (sched_dice(2))
		fv_qp_error(qp);
	else
		fv_inject_async_qp(qp, IBV_EVENT_QP_FATAL);
}

/* It is reset, and goes on where the messages come again. */
SCENARIO_UCM(cm_qp__breaks_while_connecting)
{
	st.w = w;
	kit_ready(w);
	actor(breaks, cm_qp(sched_dice(2) ? c : s));
	actor(is_client, NULL);
	actor(is_server, NULL);
	play();
	expect_empty(s->conn_evd);
	expect_empty(c->conn_evd);
}
