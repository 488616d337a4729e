/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_cno.c - cases of notification objects.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_cno_*; descriptors: DAT 2.0.
 */
#include "test/conform/conform.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#define SHORT 50000 /* us */

static DAT_EVD_HANDLE attached(struct conf *c, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd;

	EXPECT_OK(dat_evd_create(c->a.ia, CONF_QLEN, cno, DAT_EVD_SOFTWARE_FLAG,
				 &evd));
	return evd;
}

static void expect_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE got = DAT_HANDLE_NULL;

	EXPECT_OK(dat_cno_wait(cno, CONF_PATIENCE, &got));
	EXPECT(got == evd);
}

static void expect_none(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE got = (DAT_EVD_HANDLE)(uintptr_t)1;

	EXPECT_TYPE(dat_cno_wait(cno, SHORT, &got), DAT_QUEUE_EMPTY);
	EXPECT(got == DAT_HANDLE_NULL);
}

CASE(cno_create__works, "5 dat_cno_create", NEED_IA)
{
	EXPECT_OK(dat_cno_free(conf_cno(&c->a)));
}

CASE(cno_query__without_agent, "5 dat_cno_query", NEED_IA)
{
	DAT_CNO_PARAM p;

	EXPECT_OK(dat_cno_query(conf_cno(&c->a), DAT_CNO_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
}

CASE(cno_wait__names_the_evd, "5 dat_cno_wait", NEED_IA)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	EXPECT_OK(conf_post_se(evd, NULL));
	expect_trigger(cno, evd);
}

CASE(cno_wait__timeout, "5 dat_cno_wait", NEED_IA)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	uint64_t begin = conf_now_us();

	expect_none(cno);
	EXPECT(conf_now_us() - begin >= SHORT);
}

CASE(cno_wait__is_a_latch_of_depth_one, "5 dat_cno_wait", NEED_IA)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_OK(conf_post_se(evd, NULL));
	expect_trigger(cno, evd);
	expect_none(cno);
}

CASE(cno_wait__disabled_evd_does_not_trigger, "5 dat_cno_wait", NEED_IA)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	EXPECT_OK(dat_evd_disable(evd));
	EXPECT_OK(conf_post_se(evd, NULL));
	expect_none(cno);
	EXPECT_OK(dat_evd_enable(evd));
	EXPECT_OK(conf_post_se(evd, NULL));
	expect_trigger(cno, evd);
}

CASE(cno_wait__unwaitable_evd_triggers, "5 dat_cno_wait", NEED_IA)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	EXPECT_OK(dat_evd_set_unwaitable(evd));
	EXPECT_OK(conf_post_se(evd, NULL));
	expect_trigger(cno, evd);
}

struct cno_waiter {
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
};

static void *cno_thread(void *arg)
{
	struct cno_waiter *w = arg;

	w->evd = (DAT_EVD_HANDLE)(uintptr_t)1;
	w->ret = dat_cno_wait(w->cno, CONF_PATIENCE, &w->evd);
	return NULL;
}

/* Right whether the thread has begun to wait by then or not. */
CASE(cno_wait__woken_by_event, "5 dat_cno_wait", NEED_IA)
{
	struct cno_waiter w = {.cno = conf_cno(&c->a)};
	DAT_EVD_HANDLE evd = attached(c, w.cno);
	pthread_t thread;

	EXPECT_EQ(pthread_create(&thread, NULL, cno_thread, &w), 0);
	EXPECT_OK(conf_post_se(evd, NULL));
	pthread_join(thread, NULL);
	EXPECT_OK(w.ret);
	EXPECT(w.evd == evd);
}

CASE(cno_wait__dto_completion, "5 dat_cno_wait", NEED_CONNECTED)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVENT ev;

	EXPECT_OK(dat_evd_modify_cno(c->a.recv_evd, cno));
	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_TYPE(dat_evd_dequeue(c->a.recv_evd, &ev), DAT_QUEUE_EMPTY);
	conf_post_send(&c->b, 0, 8, 1);
	expect_trigger(cno, c->a.recv_evd);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
}

struct agent {
	sem_t called;
	DAT_EVD_HANDLE evd;
	int calls;
};

static void on_trigger(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct agent *a = data;

	a->evd = evd;
	a->calls++;
	sem_post(&a->called);
}

static void expect_call(struct agent *a)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 15;
	EXPECT_EQ(sem_timedwait(&a->called, &limit), 0);
}

CASE(cno_create__agent_is_called, "5 dat_cno_create", NEED_IA)
{
	struct agent a = {.calls = 0};
	DAT_OS_WAIT_PROXY_AGENT agent = {&a, on_trigger};
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;

	sem_init(&a.called, 0, 0);
	EXPECT_OK(dat_cno_create(c->a.ia, agent, &cno));
	evd = attached(c, cno);
	EXPECT_OK(conf_post_se(evd, NULL));
	expect_call(&a);
	EXPECT(a.evd == evd);
}

CASE(cno_modify_agent__sets_it, "5 dat_cno_modify_agent", NEED_IA)
{
	struct agent a = {.calls = 0};
	DAT_OS_WAIT_PROXY_AGENT agent = {&a, on_trigger};
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	sem_init(&a.called, 0, 0);
	EXPECT_OK(dat_cno_modify_agent(cno, agent));
	EXPECT_OK(conf_post_se(evd, NULL));
	expect_call(&a);
	EXPECT(a.evd == evd);
}

CASE(cno_modify_agent__takes_it_away, "5 dat_cno_modify_agent", NEED_IA)
{
	struct agent a = {.calls = 0};
	DAT_OS_WAIT_PROXY_AGENT agent = {&a, on_trigger};
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;

	EXPECT_OK(dat_cno_create(c->a.ia, agent, &cno));
	evd = attached(c, cno);
	EXPECT_OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	EXPECT_OK(conf_post_se(evd, NULL));
	expect_trigger(cno, evd);
	EXPECT_EQ(a.calls, 0);
}

CASE(cno_free__evd_refers_to_it, "5 dat_cno_free", NEED_IA)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	BAD_STATE(dat_cno_free(cno), CNO_IN_USE);
	EXPECT_OK(dat_evd_free(evd));
	EXPECT_OK(dat_cno_free(cno));
}
