/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_cma.c - what only the kernel's connection manager has: it hears nothing of
 * the other host any more, and says so in its own time.
 */
#include "test/sched/scenario.h"

static struct {
	struct world *w;
	int over; /* of both sides */
} st;

static void await_end(struct world_side *s)
{
	while ((unsigned)await_event(s->conn_evd).event_number ==
	       DAT_CONNECTION_EVENT_ESTABLISHED)
		;
}

/* From some moment no message of either side arrives. */
static void loses_all(void *arg)
{
	static const enum fv_cm_option all[] = {
		FV_CM_BLACKHOLE,
		FV_CM_LOSE_REP,
		FV_CM_LOSE_RTU,
		FV_CM_LOSE_DREQ,
	};

	for (unsigned n = sched_dice(10); n; n--)
		world_pause();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fv_cm_set(all[i], 1);
	do {
		world_pause();
		fv_cm_give_up();
	} while (st.over < 2);
}

/* Ends what has come up; the end of what has not comes by itself. */
static void end(struct world_side *s)
{
	if ((unsigned)await_event(s->conn_evd).event_number ==
	    DAT_CONNECTION_EVENT_ESTABLISHED) {
		need_type(V(ep_disconnect)(s->ep, DAT_CLOSE_ABRUPT_FLAG),
			  DAT_SUCCESS, DAT_INVALID_STATE);
		await_end(s);
	}
}

static void connects(void *arg)
{
	struct world_side *c = &st.w->client;

	need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	end(c);
	st.over++;
}

/* What comes, if it comes. */
static void accepts_if_asked(void *arg)
{
	struct world_side *s = &st.w->server;
	DAT_COUNT more;
	DAT_EVENT ev;

	if (V(evd_wait)(s->cr_evd, 5000, 1, &ev, &more) == DAT_SUCCESS &&
	    need_type(
		    V(cr_accept)(ev.event_data.cr_arrival_event_data.cr_handle,
				 s->ep, 0, NULL),
		    DAT_SUCCESS, DAT_INVALID_STATE) == DAT_SUCCESS)
		end(s);
	st.over++;
}

/* Each side hears of one end, and its endpoint can be used again. */
SCENARIO_CMA(kernel__gives_up)
{
	st.w = w;
	kit_ready(w);
	actor(connects, NULL);
	actor(accepts_if_asked, NULL);
	actor(loses_all, NULL);
	play();
	expect_empty(c->conn_evd);
	expect_empty(s->conn_evd);
	need_ok(V(ep_reset)(c->ep));
	need_ok(V(ep_reset)(s->ep));
}
