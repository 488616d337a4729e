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

#define T(name) static void name(struct conf *c)

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

T(cno_create__works)
{
	EXPECT_OK(dat_cno_free(conf_cno(&c->a)));
}

T(cno_query__without_agent)
{
	DAT_CNO_PARAM p;

	EXPECT_OK(dat_cno_query(conf_cno(&c->a), DAT_CNO_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
}

T(cno_wait__names_the_evd)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	EXPECT_OK(conf_post_se(evd, NULL));
	expect_trigger(cno, evd);
}

T(cno_wait__timeout)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	uint64_t begin = conf_now_us();

	expect_none(cno);
	EXPECT(conf_now_us() - begin >= SHORT);
}

T(cno_wait__is_a_latch_of_depth_one)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_OK(conf_post_se(evd, NULL));
	expect_trigger(cno, evd);
	expect_none(cno);
}

T(cno_wait__disabled_evd_does_not_trigger)
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

T(cno_wait__unwaitable_evd_triggers)
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
T(cno_wait__woken_by_event)
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

T(cno_wait__dto_completion)
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

T(cno_create__agent_is_called)
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

T(cno_modify_agent__sets_it)
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

T(cno_modify_agent__takes_it_away)
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

T(cno_free__evd_refers_to_it)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd = attached(c, cno);

	BAD_STATE(dat_cno_free(cno), CNO_IN_USE);
	EXPECT_OK(dat_evd_free(evd));
	EXPECT_OK(dat_cno_free(cno));
}

static DAT_CNO_HANDLE fd_cno(struct conf *c, DAT_FD *fd)
{
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret = dat_cno_fd_create(c->a.ia, fd, &cno);

	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		conf_skip("the provider has no CNOs with a descriptor");
	EXPECT_OK(ret);
	return cno;
}

T(cno_fd_create__becomes_readable)
{
	DAT_FD fd = -1;
	DAT_CNO_HANDLE cno = fd_cno(c, &fd);
	DAT_EVD_HANDLE got = DAT_HANDLE_NULL, evd = attached(c, cno);
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	EXPECT_EQ(poll(&pfd, 1, 0), 0);
	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_EQ(poll(&pfd, 1, CONF_PATIENCE / 1000), 1);
	EXPECT_OK(dat_cno_trigger(cno, &got));
	EXPECT(got == evd);
	EXPECT_EQ(poll(&pfd, 1, 0), 0);
}

T(cno_fd_create__query_names_the_type)
{
	DAT_FD fd = -1;
	DAT_CNO_PARAM p;

	EXPECT_OK(dat_cno_query(fd_cno(c, &fd), DAT_CNO_FIELD_ALL, &p));
	EXPECT_EQ(p.proxy_type, DAT_PROXY_TYPE_FD);
	EXPECT_EQ(p.proxy.fd, fd);
}

T(cno_trigger__not_triggered)
{
	DAT_EVD_HANDLE evd;
	DAT_FD fd;

	EXPECT_TYPE(dat_cno_trigger(fd_cno(c, &fd), &evd), DAT_QUEUE_EMPTY);
}

#define CNO(x, call) CASE(cno_##x, "5 dat_cno_" call, NEED_IA)

const struct conf_case cases_cno[] = {
	CNO(create__works, "create"),
	CNO(create__agent_is_called, "create"),
	CNO(query__without_agent, "query"),
	CNO(wait__names_the_evd, "wait"),
	CNO(wait__timeout, "wait"),
	CNO(wait__is_a_latch_of_depth_one, "wait"),
	CNO(wait__disabled_evd_does_not_trigger, "wait"),
	CNO(wait__unwaitable_evd_triggers, "wait"),
	CNO(wait__woken_by_event, "wait"),
	CASE(cno_wait__dto_completion, "5 dat_cno_wait", NEED_CONNECTED),
	CNO(modify_agent__sets_it, "modify_agent"),
	CNO(modify_agent__takes_it_away, "modify_agent"),
	CNO(free__evd_refers_to_it, "free"),
	CNO(fd_create__becomes_readable, "fd_create"),
	CNO(fd_create__query_names_the_type, "fd_create"),
	CNO(trigger__not_triggered, "trigger"),
	{0},
};
