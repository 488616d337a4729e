/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_cno.c - a CNO's waiters: each trigger wakes one, wherever the EVD is by
 * then, and a CNO that is freed has left nothing behind for the next one in its
 * memory.
 */
#include "test/sched/scenario.h"

#define POOL_KEPT 32 /* as in dapl_obj.c */

static struct {
	DAT_IA_HANDLE ia;
	DAT_CNO_HANDLE cno, other;
	DAT_CNO_HANDLE spare[POOL_KEPT];
	DAT_EVD_HANDLE evd[2];
	int got[2], freed, ran;
} st;

static void make(struct world_side *s)
{
	unsigned flags =
		DAT_EVD_SOFTWARE_FLAG | sched_dice(2) * DAT_EVD_DTO_FLAG;

	st.ia = s->ia;
	st.cno = world_cno(s->ia);
	st.other = world_cno(s->ia);
	for (int i = 0; i < 2; i++)
		st.evd[i] = world_evd_cno(s->ia, flags, st.cno);
}

static void posts(void *evd)
{
	world_post_se(evd, NULL);
}

static void waits_for_one(void *cno)
{
	DAT_EVD_HANDLE evd = NULL;
	DAT_EVENT ev;

	need_ok(V(cno_wait)(cno, DAT_TIMEOUT_INFINITE, &evd));
	for (int i = 0; i < 2; i++)
		if (evd == st.evd[i]) {
			st.got[i]++;
			need_ok(V(evd_dequeue)(evd, &ev));
			return;
		}
	sched_fail("an EVD that is none: %p", (void *)evd);
}

SCENARIO(cno_wait__by_two)
{
	make(s);
	for (int i = 0; i < 2; i++) {
		actor(waits_for_one, st.cno);
		actor(posts, st.evd[i]);
	}
	play();
	need(st.got[0] == 1 && st.got[1] == 1);
}

static void moves(void *arg)
{
	need_ok(V(evd_modify_cno)(st.evd[0], st.other));
}

/* Takes no event. */
static void waits_briefly(void *cno)
{
	DAT_EVD_HANDLE evd;

	need_type(V(cno_wait)(cno, 1 + sched_dice(300), &evd), DAT_SUCCESS,
		  DAT_QUEUE_EMPTY);
}

/*
 * Its event is there, so the CNO that it has now is triggered, whoever waits on
 * the one that it had.
 */
SCENARIO(cno_wait__of_an_evd_that_moves)
{
	make(s);
	actor(waits_briefly, st.cno);
	actor(moves, NULL);
	actor(posts, st.evd[0]);
	actor(waits_for_one, st.other);
	play();
	need(st.got[0] == 1);
}

static void switches(void *arg)
{
	for (int i = 0; i < 2; i++) {
		need_ok(V(evd_disable)(st.evd[0]));
		need_ok(V(evd_enable)(st.evd[0]));
	}
}

static void waits_directly(void *arg)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	need_type(V(evd_wait)(st.evd[0], sched_dice(100), 2, &ev, &more),
		  DAT_TIMEOUT_EXPIRED);
}

SCENARIO(cno_wait__evd_disabled_and_waited_for)
{
	make(s);
	actor(switches, NULL);
	actor(waits_directly, NULL);
	actor(posts, st.evd[0]);
	play();
	actor(waits_for_one, st.cno);
	play();
	need(st.got[0] == 1);
}

/* --------------------------------------------- completions */

static void sends_one(void *side)
{
	world_send(side, 0, 8, 0, 0);
}

/* Both ends of an endpoint complete to EVDs of one CNO, with two waiters. */
SCENARIO(cno_wait__by_two_for_completions)
{
	st.ia = s->ia;
	st.cno = world_cno(s->ia);
	st.evd[0] = s->recv_evd =
		world_evd_cno(s->ia, DAT_EVD_DTO_FLAG, st.cno);
	st.evd[1] = s->req_evd = world_evd_cno(s->ia, DAT_EVD_DTO_FLAG, st.cno);
	world_connect(w);
	world_recv(s, 0, 8, 0);
	world_recv(c, 64, 8, 0);
	actor(waits_for_one, st.cno);
	actor(waits_for_one, st.cno);
	actor(sends_one, c);
	actor(sends_one, s);
	play();
	need(st.got[0] == 1 && st.got[1] == 1);
}

static void moves_recv_evd(void *arg)
{
	need_ok(V(evd_modify_cno)(st.evd[0], st.cno));
}

/* What completed before it came to the CNO has not notified anybody. */
SCENARIO(cno_wait__for_completions_of_an_evd_that_moves)
{
	st.ia = s->ia;
	st.cno = world_cno(s->ia);
	st.evd[0] = s->recv_evd;
	world_connect(w);
	world_recv(s, 0, 8, 0);
	actor(moves_recv_evd, NULL);
	actor(sends_one, c);
	actor(waits_for_one, st.cno);
	play();
	need(st.got[0] == 1);
}

/* --------------------------------------------------- freed */

static void frees_cno(void *arg)
{
	DAT_RETURN ret = V(cno_free)(st.other);

	need_type(ret, DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE);
	st.freed += ret == DAT_SUCCESS;
}

SCENARIO(cno_free__by_two)
{
	make(s);
	actor(frees_cno, NULL);
	actor(frees_cno, NULL);
	play();
	need(st.freed == 1);
}

static void frees_evd(void *evd)
{
	need_ok(V(evd_free)(evd));
}

static void frees_cno_and_waits_on_the_next(void *arg)
{
	DAT_CNO_HANDLE old = st.cno;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	while ((ret = V(cno_free)(old)) != DAT_SUCCESS) {
		need_type(ret, DAT_INVALID_STATE);
		world_pause();
	}
	sched_calm(true);
	for (int i = 0; i < POOL_KEPT; i++)
		need_ok(V(cno_free)(st.spare[i]));
	sched_calm(false);
	/* Unless somebody still has the old one. */
	st.cno = world_cno(st.ia);
	need_type(V(cno_wait)(st.cno, 300, &evd), DAT_QUEUE_EMPTY);
}

/* Who comes to wait while it goes is let go, without an EVD. */
static void waits_while_there(void *cno)
{
	DAT_EVD_HANDLE evd = NULL;

	need_type(V(cno_wait)(cno, 1 + sched_dice(300), &evd), DAT_SUCCESS,
		  DAT_QUEUE_EMPTY, DAT_INVALID_STATE, DAT_INVALID_HANDLE);
	need(!evd);
}

/* It is refused as long as somebody waits. */
static void frees_in_the_end(void *cno)
{
	DAT_RETURN ret;

	while ((ret = V(cno_free)(cno)) != DAT_SUCCESS) {
		need_type(ret, DAT_INVALID_STATE);
		world_pause();
	}
	st.freed++;
}

SCENARIO(cno_free__against_its_waiters)
{
	make(s);
	actor(waits_while_there, st.other);
	actor(waits_while_there, st.other);
	actor(frees_in_the_end, st.other);
	play();
	need(st.freed == 1);
	st.other = NULL;
}

SCENARIO(cno_free__when_its_last_evd_goes)
{
	make(s);
	need_ok(V(evd_free)(st.evd[1]));
	for (int i = 0; i < POOL_KEPT; i++)
		st.spare[i] = world_cno(s->ia);
	actor(frees_evd, st.evd[0]);
	actor(frees_cno_and_waits_on_the_next, NULL);
	play();
}

/* ---------------------------------------------- agents, ends */

static void agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	/* One that was due may come late. */
	if (evd && V(evd_dequeue)(evd, &ev) == DAT_SUCCESS)
		st.ran++;
}

static void sets_agent(void *arg)
{
	DAT_OS_WAIT_PROXY_AGENT set = {.proxy_agent_func = agent};

	need_ok(V(cno_modify_agent)(st.cno, set));
}

static void drops_agent(void *arg)
{
	need_ok(V(cno_modify_agent)(st.cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
}

/* The agent ran, or who waits when it was dropped finds the trigger. */
SCENARIO(cno_agent__set_dropped_and_triggered)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	make(s);
	actor(sets_agent, NULL);
	actor(drops_agent, NULL);
	actor(posts, st.evd[0]);
	play();
	need_ok(V(cno_modify_agent)(st.cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	/* One that was taken and is given back comes again, in its time. */
	ret = need_type(V(cno_wait)(st.cno, 100000, &evd), DAT_SUCCESS,
			DAT_QUEUE_EMPTY);
	need((ret == DAT_SUCCESS && evd == st.evd[0]) + st.ran == 1);
}

static void agent_of_old(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	need(!st.freed);
}

/* The trigger, or the agent has it. */
static void takes_trigger_and_frees(void *arg)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	need_type(V(cno_wait)(st.cno, 2000, &evd), DAT_SUCCESS,
		  DAT_QUEUE_EMPTY);
	need_ok(V(evd_modify_cno)(st.evd[0], NULL));
	while ((ret = V(cno_free)(st.cno)) != DAT_SUCCESS) {
		need_type(ret, DAT_INVALID_STATE);
		world_pause();
	}
	st.freed++;
}

/* An agent whose trigger a waiter has taken is called before, or not at all. */
SCENARIO(cno_free__when_its_agent_is_due)
{
	DAT_OS_WAIT_PROXY_AGENT set = {.proxy_agent_func = agent_of_old};

	make(s);
	need_ok(V(evd_free)(st.evd[1]));
	need_ok(V(cno_modify_agent)(st.cno, set));
	actor(takes_trigger_and_frees, NULL);
	actor(posts, st.evd[0]);
	play();
}

static void cancels(void *arg)
{
	need(!pthread_cancel(actor_thread(0)));
}

SCENARIO(cno_wait__cancelled)
{
	DAT_EVENT ev;
	int there;

	make(s);
	actor(waits_for_one, st.cno);
	actor(cancels, NULL);
	actor(posts, st.evd[0]);
	play();
	need(!world_cno_waiters(st.cno));
	there = V(evd_dequeue)(st.evd[0], &ev) == DAT_SUCCESS;
	need(there + st.got[0] == 1);
}

static void waits_to_be_cancelled_at_any_time(void *cno)
{
	DAT_EVD_HANDLE evd;
	int was;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
	for (int i = 0; i < 3; i++)
		need_type(V(cno_wait)(cno, 200, &evd), DAT_SUCCESS,
			  DAT_QUEUE_EMPTY);
}

SCENARIO(cno_wait__cancelled_at_any_time)
{
	make(s);
	actor(waits_to_be_cancelled_at_any_time, st.cno);
	actor(cancels, NULL);
	actor(posts, st.evd[0]);
	play();
	need(!world_cno_waiters(st.cno));
	for (int i = 0; i < 2; i++)
		need_ok(V(evd_free)(st.evd[i]));
	need_ok(V(cno_free)(st.cno));
}

static void waits_until_close(void *arg)
{
	DAT_EVD_HANDLE evd;

	need_type(V(cno_wait)(st.cno, DAT_TIMEOUT_INFINITE, &evd), DAT_SUCCESS,
		  DAT_INVALID_STATE, DAT_INVALID_HANDLE);
}

static void closes(void *arg)
{
	struct world_side *s = arg;

	need_ok(V(ia_close)(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	world_forget_ia(s->ia);
	s->ia = NULL;
}

SCENARIO(cno_wait__against_ia_close)
{
	make(s);
	actor(waits_until_close, NULL);
	actor(waits_until_close, NULL);
	actor(closes, s);
	play();
}
