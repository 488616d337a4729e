/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_process.c - fork() and the end of the process at any point of what others
 * do: a child's calls are refused and none blocks, the parent goes on, and a
 * process that ends does so.
 */
#include <sys/wait.h>

#include "test/sched/scenario.h"

static struct {
	struct world *w;
	DAT_CNO_HANDLE cno;
	bool forever;
} st;

static void makes_and_frees(void *arg)
{
	struct world_side *s = &st.w->server;

	for (int i = 0; i < 3 || st.forever; i++) {
		DAT_EVD_HANDLE evd = world_evd_cno(
			s->ia, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG,
			st.cno);

		world_post_se(evd, NULL);
		need_ok(V(evd_free)(evd));
	}
}

static void transfers(void *arg)
{
	struct world_side *s = &st.w->server, *c = &st.w->client;

	for (unsigned i = 0; i < 3 || st.forever; i++) {
		world_recv(s, 64, 8, i);
		world_send(c, 0, 8, i, 0);
		await_event(c->req_evd);
		await_event(s->recv_evd);
	}
}

static void connects_and_disconnects(void *arg)
{
	struct world *w = st.w;
	DAT_EP_HANDLE server = world_ep(&w->server, NULL),
		      client = world_ep(&w->client, NULL);

	for (int i = 0; i < 2 || st.forever; i++) {
		world_connect_pair(w, server, client);
		need_ok(V(ep_disconnect)(client, DAT_CLOSE_ABRUPT_FLAG));
		await_event(w->client.conn_evd);
		await_event(w->server.conn_evd);
		need_ok(V(ep_reset)(server));
		need_ok(V(ep_reset)(client));
	}
	need_ok(V(ep_free)(server));
	need_ok(V(ep_free)(client));
}

static void waits(void *arg)
{
	DAT_EVD_HANDLE evd;

	for (int i = 0; i < 3 || st.forever; i++)
		need_type(V(cno_wait)(st.cno, 100, &evd), DAT_SUCCESS,
			  DAT_QUEUE_EMPTY);
}

static void make(struct world *w)
{
	st.w = w;
	st.cno = world_cno(w->server.ia);
	world_connect(w);
}

/* -------------------------------------------------- a child */

#define need_forked(call) need_type(call, DAT_INVALID_HANDLE)

_Noreturn static void child(struct world_side *s)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 8);
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	DAT_COUNT more;
	DAT_PZ_HANDLE pz;
	DAT_EVENT ev;

	need_forked(V(ep_post_send)(s->ep, 1, &seg, world_cookie(1), 0));
	need_forked(V(evd_dequeue)(s->recv_evd, &ev));
	need_forked(
		V(evd_wait)(s->recv_evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
	need_forked(V(cno_wait)(st.cno, DAT_TIMEOUT_INFINITE, &evd));
	need_forked(V(pz_create)(s->ia, &pz));
	need_forked(V(ep_disconnect)(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	need_forked(V(ep_free)(s->ep));
	need_forked(V(evd_free)(s->recv_evd));
	need_forked(V(ia_close)(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	evd = DAT_HANDLE_NULL;
	need_type(V(ia_open)(WORLD_IA_NAME, 8, &evd, &ia), DAT_INVALID_STATE);
	_exit(0);
}

static void forks(void *arg)
{
	int status;
	pid_t pid = fork();

	need(pid >= 0);
	if (!pid)
		child(&st.w->server);
	need(waitpid(pid, &status, 0) == pid);
	need(WIFEXITED(status) && !WEXITSTATUS(status));
}

SCENARIO_IB(fork__while_others_call)
{
	make(w);
	actor(forks, NULL);
	actor(makes_and_frees, NULL);
	actor(transfers, NULL);
	actor(connects_and_disconnects, NULL);
	actor(waits, NULL);
	play();
}

/* --------------------------------------------------- an end */

static void leaves(void *arg)
{
	/* The others are somewhere by then. */
	for (unsigned n = sched_dice(20); n; n--)
		world_pause();
	leave();
}

SCENARIO_IB(exit__while_others_call)
{
	make(w);
	st.forever = true;
	actor(leaves, NULL);
	actor(makes_and_frees, NULL);
	actor(transfers, NULL);
	actor(connects_and_disconnects, NULL);
	actor(waits, NULL);
	play();
}
