/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_evd_free.c - an EVD is freed, and its memory is another's, while others
 * call: every call comes before that, or finds no such EVD, or finds the new
 * one, which is as whole.
 * Rule: doc/thread-safety.md, "dat_evd_free".
 */
#include "test/sched/scenario.h"

#define POOL_KEPT 32 /* as in dapl_obj.c */

static struct {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE evd;
	DAT_EVD_HANDLE made;
	DAT_EVD_HANDLE others[POOL_KEPT];
	DAT_CNO_HANDLE cno;
	unsigned flags;
	int freed;
} st;

static void make_of(struct world_side *s, unsigned flags)
{
	st.ia = s->ia;
	st.flags = flags;
	st.cno = world_cno(s->ia);
	st.evd = world_evd_cno(s->ia, st.flags, sched_dice(2) ? st.cno : NULL);
	for (int i = 0; i < POOL_KEPT; i++)
		st.others[i] = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
}

static void make(struct world_side *s)
{
	make_of(s, DAT_EVD_SOFTWARE_FLAG | sched_dice(2) * DAT_EVD_DTO_FLAG);
}

/*
 * Its memory is the next EVD's: what was freed longest ago is used first, of
 * more than POOL_KEPT.
 */
static void frees_and_creates(void *arg)
{
	DAT_RETURN ret;

	while ((ret = V(evd_free)(st.evd)) != DAT_SUCCESS) {
		need_type(ret, DAT_INVALID_STATE);
		V(evd_set_unwaitable)(st.evd);
		world_pause();
	}
	sched_calm(true);
	for (int i = 0; i < POOL_KEPT; i++)
		need_ok(V(evd_free)(st.others[i]));
	sched_calm(false);
	/* If nobody has st.evd any more, this is it. */
	st.made = world_evd(st.ia, sched_dice(2) ? st.flags ^ DAT_EVD_DTO_FLAG
						 : DAT_EVD_CONNECTION_FLAG);
}

/* No call that began on the one before has left anything in this one. */
static void need_own(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param = world_evd_param(evd);

	if (!(param.evd_flags & DAT_EVD_SOFTWARE_FLAG))
		expect_empty(evd);
	need_ok(V(evd_free)(evd));
}

static void frees(void *arg)
{
	DAT_RETURN ret = V(evd_free)(st.evd);

	need_type(ret, DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE);
	st.freed += ret == DAT_SUCCESS;
}

/* Of those that are no fault of the caller's or of an EVD that is going. */
#define GOING                                                                \
	DAT_SUCCESS, DAT_QUEUE_EMPTY, DAT_QUEUE_FULL, DAT_TIMEOUT_EXPIRED,   \
		DAT_INVALID_STATE, DAT_INTERRUPTED_CALL, DAT_INVALID_HANDLE, \
		DAT_ABORT, DAT_INVALID_PARAMETER

static DAT_RETURN call_some(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};
	DAT_EVD_PARAM param;
	DAT_COUNT more;

	switch (sched_dice(11)) {
	case 0:
		return V(evd_modify_cno)(evd, sched_dice(2) ? st.cno : NULL);
	case 1:
		return V(evd_enable)(evd);
	case 2:
		return V(evd_disable)(evd);
	case 3:
		return V(evd_set_unwaitable)(evd);
	case 4:
		return V(evd_clear_unwaitable)(evd);
	case 5:
		return V(evd_resize)(evd, 32 + (int)sched_dice(500));
	case 6:
		return V(evd_query)(evd, DAT_EVD_FIELD_ALL, &param);
	case 7:
		return V(evd_wait)(evd, sched_dice(2) * 300, 1, &ev, &more);
	case 8:
		return V(evd_dequeue)(evd, &ev);
	default:
		return V(evd_post_se)(evd, &ev);
	}
}

static void calls(void *arg)
{
	for (int i = 0; i < 4; i++)
		need_type(call_some(st.evd), GOING);
}

static void dequeues(void *arg)
{
	DAT_EVENT ev;

	for (int i = 0; i < 3; i++)
		need_type(V(evd_dequeue)(st.evd, &ev), DAT_QUEUE_EMPTY,
			  DAT_INVALID_HANDLE, DAT_INVALID_STATE);
}

static void waits(void *arg)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	for (int i = 0; i < 3; i++)
		need_type(
			V(evd_wait)(st.evd, sched_dice(2) * 20, 1, &ev, &more),
			DAT_TIMEOUT_EXPIRED, DAT_INVALID_HANDLE,
			DAT_INVALID_STATE, DAT_ABORT);
}

SCENARIO(evd_free__by_two)
{
	make(s);
	actor(frees, NULL);
	actor(frees, NULL);
	play();
	need(st.freed == 1);
}

SCENARIO(evd_free__against_dequeue)
{
	make(s);
	actor(frees_and_creates, NULL);
	actor(dequeues, NULL);
	play();
}

SCENARIO(evd_free__against_wait)
{
	make(s);
	actor(frees_and_creates, NULL);
	actor(waits, NULL);
	play();
}

SCENARIO(evd_free__against_any_call)
{
	make(s);
	actor(frees_and_creates, NULL);
	actor(calls, NULL);
	actor(calls, NULL);
	play();
	/* No call has left anything in use. */
	need_own(st.made);
	need_ok(V(cno_free)(st.cno));
}

/* At once, so that who has looked at the handle finds what has become of it. */
static void frees_in_one_go_and_creates(void *arg)
{
	sched_calm(true);
	frees_and_creates(arg);
}

static void dequeues_late(void *arg)
{
	DAT_EVENT ev;

	need_type(V(evd_dequeue)(st.evd, &ev), DAT_QUEUE_EMPTY,
		  DAT_INVALID_HANDLE);
}

SCENARIO(evd_free__against_dequeue_that_comes_late)
{
	make_of(s, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	actor(frees_in_one_go_and_creates, NULL);
	for (int i = 0; i < 4; i++)
		actor(dequeues_late, NULL);
	play();
}

static void posts_until_free(void *arg)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (int i = 0; i < 4; i++)
		need_type(V(evd_post_se)(st.evd, &ev), DAT_SUCCESS,
			  DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
}

static void resizes_until_free(void *arg)
{
	for (int i = 0; i < 3; i++)
		need_type(V(evd_resize)(st.evd, 64 << i), DAT_SUCCESS,
			  DAT_INVALID_HANDLE, DAT_INVALID_STATE);
}

SCENARIO(evd_free__against_post_and_resize)
{
	make(s);
	actor(frees_and_creates, NULL);
	actor(posts_until_free, NULL);
	actor(resizes_until_free, NULL);
	play();
	need_own(st.made);
}

/* ------------------------------------------ a CNO's reader */

static void frees_in_one_go(void *evd)
{
	sched_calm(true);
	need_ok(V(evd_free)(evd));
	sched_calm(false);
}

static void reads_cno(void *arg)
{
	DAT_EVD_HANDLE evd;

	for (int i = 0; i < 4; i++)
		need_type(V(cno_wait)(st.cno, 50, &evd), DAT_SUCCESS,
			  DAT_QUEUE_EMPTY);
}

SCENARIO(evd_free__against_cno_wait)
{
	make(s);
	V(evd_modify_cno)(st.evd, st.cno);
	world_post_se(st.evd, NULL);
	actor(frees_and_creates, NULL);
	actor(reads_cno, NULL);
	actor(reads_cno, NULL);
	play();
	need_ok(V(cno_free)(st.cno));
}

/* Whom the CNO has named lives until it is looked at, and is freed once. */
SCENARIO(evd_free__against_cno_wait_that_has_named_it)
{
	DAT_EVD_HANDLE evd[2 * POOL_KEPT];

	make(s);
	for (int i = 0; i < 4; i++) {
		V(evd_modify_cno)(st.others[i], st.cno);
		world_post_se(st.others[i], NULL);
	}
	for (int i = 0; i < 3; i++) {
		actor(frees_in_one_go, st.others[i]);
		actor(reads_cno, NULL);
	}
	play();
	for (int i = 0; i < 2 * POOL_KEPT; i++) {
		evd[i] = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
		for (int j = 0; j < i; j++)
			need(evd[i] != evd[j]);
	}
}
