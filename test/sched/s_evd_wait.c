/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_evd_wait.c - who waits on an EVD is woken: by each event that it has asked
 * for, of software or a completion, when the EVD becomes unwaitable, by a
 * signal, by the end of its IA; and who does not get that far, since it is
 * cancelled, takes no event along. The
 * waits have no timeout: one that is not woken is a deadlock.
 */
#include "test/sched/scenario.h"

#define EVENTS 3

static struct {
	struct world *w;
	DAT_EVD_HANDLE evd;
	DAT_COUNT threshold;
	int got; /* software events, by whoever */
	DAT_RETURN ret;
	bool entered;
} st;

static void make(struct world *w)
{
	st.w = w;
	st.evd = world_evd(w->server.ia,
			   DAT_EVD_SOFTWARE_FLAG |
				   sched_dice(2) * DAT_EVD_DTO_FLAG);
}

static DAT_RETURN wait_for(DAT_COUNT threshold)
{
	DAT_COUNT more;
	DAT_EVENT ev;
	DAT_RETURN ret;

	ret = V(evd_wait)(st.evd, DAT_TIMEOUT_INFINITE, threshold, &ev, &more);
	if (ret == DAT_SUCCESS)
		st.got++;
	return ret;
}

static int left(void)
{
	DAT_EVENT ev;
	int n = 0;

	while (V(evd_dequeue)(st.evd, &ev) == DAT_SUCCESS)
		n++;
	return n;
}

static void posts(void *arg)
{
	for (int i = 0; i < EVENTS; i++)
		world_post_se(st.evd, NULL);
}

static void posts_one(void *arg)
{
	world_post_se(st.evd, NULL);
}

static void waits_for_each(void *arg)
{
	for (int i = 0; i < EVENTS; i++)
		need_ok(wait_for(1));
}

SCENARIO(evd_wait__against_post_se)
{
	make(w);
	actor(posts, NULL);
	actor(waits_for_each, NULL);
	play();
	need(st.got == EVENTS && !left());
}

static void waits_for_threshold(void *arg)
{
	need_ok(wait_for(EVENTS));
}

SCENARIO(evd_wait__threshold_of_several_posters)
{
	make(w);
	actor(waits_for_threshold, NULL);
	for (int i = 0; i < EVENTS; i++)
		actor(posts_one, NULL);
	play();
	need(st.got + left() == EVENTS);
}

/* ----------------------------------------------- two waiters */

static void waits_in_turn(void *arg)
{
	DAT_RETURN ret;

	while ((ret = wait_for(1)) != DAT_SUCCESS) {
		need_type(ret, DAT_INVALID_STATE);
		world_pause();
	}
}

static void dequeues_until(void *arg)
{
	DAT_RETURN ret;
	DAT_EVENT ev;

	while ((ret = V(evd_dequeue)(st.evd, &ev)) != DAT_SUCCESS) {
		need_type(ret, DAT_INVALID_STATE, DAT_QUEUE_EMPTY);
		world_pause();
	}
	st.got++;
}

SCENARIO(evd_wait__by_two_and_dequeue)
{
	make(w);
	actor(waits_in_turn, NULL);
	actor(waits_in_turn, NULL);
	actor(dequeues_until, NULL);
	actor(posts, NULL);
	play();
	need(st.got == EVENTS && !left());
}

/* ------------------------------------- unwaitable, resized */

static void waits_until_unwaitable(void *arg)
{
	st.ret = need_type(wait_for(1), DAT_INVALID_STATE);
	st.entered = true;
}

/* Again and again, since the wait may not have begun. */
static void is_unwaitable_for_a_moment(void *arg)
{
	while (!st.entered) {
		need_ok(V(evd_set_unwaitable)(st.evd));
		need_ok(V(evd_clear_unwaitable)(st.evd));
		/* Once it slept, the first time must have been enough. */
		if (world_evd_is_waited_for(st.evd)) {
			need_ok(V(evd_set_unwaitable)(st.evd));
			need_ok(V(evd_clear_unwaitable)(st.evd));
			return;
		}
		world_pause();
	}
}

SCENARIO(evd_wait__unwaitable_for_a_moment)
{
	make(w);
	actor(waits_until_unwaitable, NULL);
	actor(is_unwaitable_for_a_moment, NULL);
	play();
}

static void resizes(void *arg)
{
	for (int i = 0; i < 3; i++)
		need_type(V(evd_resize)(st.evd, 40 << i), DAT_SUCCESS,
			  DAT_INVALID_STATE);
}

SCENARIO(evd_wait__against_resize)
{
	make(w);
	actor(waits_for_each, NULL);
	actor(resizes, NULL);
	actor(posts, NULL);
	play();
	need(st.got == EVENTS && !left());
}

/* ----------------------------------------------- completions */

/* What the sender marks, COMPLETION of the last one. */
static unsigned marks[EVENTS];

static void sends(void *arg)
{
	for (unsigned i = 0; i < EVENTS; i++)
		world_send(&st.w->client, 0, 8, i, marks[i]);
}

/* EVENTS receives at the server, whose endpoint has these FLAGS for them. */
static void expects_messages(struct world *w, unsigned flags)
{
	DAT_EP_ATTR attr = world_ep_attr(&w->client);

	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)flags;
	st.w = w;
	w->server.ep = world_ep(&w->server, &attr);
	world_connect(w);
	st.evd = w->server.recv_evd;
	for (unsigned i = 0; i < EVENTS; i++)
		world_recv(&w->server, 64 * i, 8, i);
}

SCENARIO(evd_wait__against_completions)
{
	expects_messages(w, DAT_COMPLETION_DEFAULT_FLAG);
	actor(sends, NULL);
	actor(waits_for_each, NULL);
	play();
	need(st.got == EVENTS && !left());
}

SCENARIO(evd_wait__threshold_of_completions)
{
	expects_messages(w, DAT_COMPLETION_DEFAULT_FLAG);
	actor(sends, NULL);
	actor(waits_for_threshold, NULL);
	play();
	need(st.got == 1 && left() == EVENTS - 1);
}

/* Only the last one has to wake, and the others must not hide it. */
static void waits_until_solicited(void *arg)
{
	while (st.got < EVENTS) {
		need_ok(wait_for(1));
		st.got += left();
	}
}

SCENARIO(evd_wait__last_completion_is_solicited)
{
	expects_messages(w, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	marks[EVENTS - 1] = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	actor(sends, NULL);
	actor(waits_until_solicited, NULL);
	play();
	need(st.got == EVENTS);
}

/* Waits that end in time leave a queue behind that is armed, or has notified.
 */
static void waits_briefly_then_for_each(void *arg)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	while (st.got < EVENTS - 1)
		st.got += V(evd_wait)(st.evd, sched_dice(50), 1, &ev, &more) ==
			  DAT_SUCCESS;
	need_ok(wait_for(1));
}

SCENARIO(evd_wait__briefly_against_completions)
{
	expects_messages(w, DAT_COMPLETION_DEFAULT_FLAG);
	actor(sends, NULL);
	actor(waits_briefly_then_for_each, NULL);
	play();
	need(st.got == EVENTS && !left());
}

/* The CNO arms and reads the queue, too, and must leave it to the waiter. */
static void waits_on_cno_and_evd(void *cno)
{
	DAT_EVD_HANDLE evd;

	while (st.got < EVENTS) {
		if (sched_dice(2)) {
			need_ok(V(cno_wait)(cno, DAT_TIMEOUT_INFINITE, &evd));
			need(evd == st.evd);
			st.got += left();
		} else {
			need_ok(wait_for(1));
		}
	}
}

SCENARIO(evd_wait__in_turn_with_its_cno)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);

	s->recv_evd = world_evd_cno(s->ia, DAT_EVD_DTO_FLAG, cno);
	expects_messages(w, DAT_COMPLETION_DEFAULT_FLAG);
	actor(sends, NULL);
	actor(waits_on_cno_and_evd, cno);
	play();
	need(st.got == EVENTS && !left());
}

SCENARIO(evd_resize__against_completions)
{
	expects_messages(w, DAT_COMPLETION_DEFAULT_FLAG);
	actor(sends, NULL);
	actor(resizes, NULL);
	actor(waits_for_each, NULL);
	play();
	need(st.got == EVENTS && !left());
}

/* -------------------------------------- cancelled, signalled */

static void waits_to_be_cancelled(void *arg)
{
	need_ok(wait_for(1));
}

static void cancels(void *arg)
{
	need(!pthread_cancel(actor_thread(0)));
}

SCENARIO(evd_wait__cancelled)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	bool has_cno = sched_dice(2);
	DAT_EVD_HANDLE evd;

	make(w);
	if (has_cno)
		need_ok(V(evd_modify_cno)(st.evd, cno));
	actor(waits_to_be_cancelled, NULL);
	actor(cancels, NULL);
	actor(posts_one, NULL);
	play();
	/* It had it, or has left it, and to the CNO where there is one. */
	if (has_cno && !st.got)
		need_ok(V(cno_wait)(cno, DAT_TIMEOUT_INFINITE, &evd));
	need(st.got + left() == 1);
	need(!world_evd_is_waited_for(st.evd));
	need_ok(V(evd_free)(st.evd));
	need_ok(V(cno_free)(cno));
}

static void waits_to_be_cancelled_at_any_time(void *arg)
{
	int was;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
	for (int i = 0; i < EVENTS; i++)
		need_ok(wait_for(1));
}

/* Not for completions. At most the event goes that it was about to have. */
SCENARIO(evd_wait__cancelled_at_any_time)
{
	int n;

	st.evd = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
	actor(waits_to_be_cancelled_at_any_time, NULL);
	actor(cancels, NULL);
	actor(posts, NULL);
	play();
	need(!world_evd_is_waited_for(st.evd));
	n = st.got + left();
	need(n == EVENTS || n == EVENTS - 1);
	need_ok(V(evd_free)(st.evd));
}

static void waits_for_the_rest(void *arg)
{
	while (st.got < EVENTS)
		need_ok(wait_for(1));
}

static void handler(void)
{
}

static void signals(void *arg)
{
	sched_thread_signal(actor_thread(0), handler);
}

static void waits_despite_signals(void *arg)
{
	DAT_RETURN ret;

	while ((ret = wait_for(1)) != DAT_SUCCESS)
		need_type(ret, DAT_INTERRUPTED_CALL);
}

/* It may be cancelled in any of its waits: the others find what is left. */
SCENARIO(evd_wait__cancelled_among_completions)
{
	expects_messages(w, DAT_COMPLETION_DEFAULT_FLAG);
	actor(waits_for_each, NULL);
	actor(cancels, NULL);
	actor(sends, NULL);
	play();
	need(!world_evd_is_waited_for(st.evd));
	actor(waits_for_the_rest, NULL);
	play();
	need(st.got == EVENTS && !left());
}

SCENARIO(evd_wait__interrupted_among_completions)
{
	expects_messages(w, DAT_COMPLETION_DEFAULT_FLAG);
	actor(waits_despite_signals, NULL);
	actor(signals, NULL);
	actor(sends, NULL);
	play();
	need(st.got == 1 && left() == EVENTS - 1);
}

SCENARIO(evd_wait__interrupted)
{
	make(w);
	actor(waits_despite_signals, NULL);
	actor(signals, NULL);
	actor(posts_one, NULL);
	play();
	need(st.got == 1 && !left());
}

/* ------------------------------------------- the IA is closed */

static void waits_until_close(void *arg)
{
	need_type(wait_for(1), DAT_ABORT, DAT_INVALID_HANDLE);
}

static void closes(void *arg)
{
	need_ok(V(ia_close)(st.w->server.ia, DAT_CLOSE_ABRUPT_FLAG));
	world_forget_ia(st.w->server.ia);
	st.w->server.ia = NULL;
}

SCENARIO(evd_wait__against_ia_close)
{
	make(w);
	actor(waits_until_close, NULL);
	actor(closes, NULL);
	play();
}
