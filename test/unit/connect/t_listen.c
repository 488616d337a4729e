/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_listen.c - two threads that take turns at listening on one qualifier: who
 * is told that he listens is heard. Over each provider (Makefile.inc).
 *
 * Threads: report through need(), see stress.h.
 */
#include <sched.h>

#include "test/unit/stress.h"

#define ROUNDS 2000

struct rival {
	struct stress_run run; /* must stay first */
	struct world *w;
	DAT_EVD_HANDLE cr_evd;
	bool stop; /* atomic */
	int listened;
};

/* Listens; again and again while the other does. False: refused. */
static bool take_turn(struct rival *st, DAT_EVD_HANDLE evd, DAT_PSP_HANDLE *psp)
{
	DAT_RETURN ret;

	while (!late(st)) {
		ret = V(psp_create)(st->w->server.ia, WORLD_QUAL, evd,
				    DAT_PSP_CONSUMER_FLAG, psp);
		if (ret == DAT_SUCCESS)
			return true;
		if (!need(st, DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE))
			return false;
		sched_yield();
	}
	return false;
}

static void *rival_main(void *arg)
{
	struct rival *st = arg;
	DAT_PSP_HANDLE psp;

	while (!__atomic_load_n(&st->stop, __ATOMIC_ACQUIRE)) {
		if (!take_turn(st, st->cr_evd, &psp))
			break;
		st->listened++;
		need(st, V(psp_free)(psp) == DAT_SUCCESS);
	}
	return NULL;
}

/* The next event of EVD is NUMBER. */
static bool hears(struct rival *st, DAT_EVD_HANDLE evd, unsigned number,
		  DAT_EVENT *ret_ev)
{
	DAT_COUNT more;

	return need(st, V(evd_wait)(evd, WORLD_PATIENCE_US, 1, ret_ev, &more) ==
				DAT_SUCCESS) &&
	       need(st, ret_ev->event_number == number);
}

/* A client asks who listens, and is told no. */
static bool meet(struct rival *st)
{
	struct world *w = st->w;
	DAT_EVENT ev;

	return need(st, kit_connect(w->client.ep, DAT_TIMEOUT_INFINITE, NULL,
				    0) == DAT_SUCCESS) &&
	       hears(st, w->server.cr_evd, DAT_CONNECTION_REQUEST_EVENT, &ev) &&
	       need(st,
		    V(cr_reject)(ev.event_data.cr_arrival_event_data.cr_handle,
				 0, NULL) == DAT_SUCCESS) &&
	       hears(st, w->client.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED,
		     &ev) &&
	       need(st, V(ep_reset)(w->client.ep) == DAT_SUCCESS);
}

ON_EACH(listen__by_turns)
{
	struct rival st = {.w = w};
	int rounds = stress_portion(ROUNDS);
	DAT_PSP_HANDLE psp;
	pthread_t thread;
	int i;

	st.run.deadline_us = world_now_us() + 5 * (uint64_t)WORLD_PATIENCE_US;
	st.cr_evd = world_evd(s->ia, DAT_EVD_CR_FLAG);
	world_eps(st.w);
	assert_int_equal(pthread_create(&thread, NULL, rival_main, &st), 0);
	for (i = 0; i < rounds; i++) {
		if (!take_turn(&st, s->cr_evd, &psp) || !meet(&st) ||
		    !need(&st, V(psp_free)(psp) == DAT_SUCCESS))
			break;
		sched_yield();
	}
	__atomic_store_n(&st.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_stress_ok(&st);
	assert_int_equal(i, rounds);
	printf("# %d listeners met, %d of the rival\n", i, st.listened);
	expect_empty(st.cr_evd);
}

RUN_CASES(NULL, NULL)
