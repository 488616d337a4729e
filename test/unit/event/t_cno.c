/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_cno.c - dat_cno_wait, fd_create, trigger, modify_agent, free, and what an
 * EVD does to its CNO.
 *
 * Threads: waiters, counted in cno->waiters, and the service thread, on which
 * agents run. Rules: uDAPL 1.2 specification, dat_cno_*; fd_create and trigger
 * are DAT 2.0. An EVD that cno_wait() names is a hint: it may be empty.
 */
#include "test/unit/world.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PLAIN	DAT_EVD_SOFTWARE_FLAG
#define WITH_CQ (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG)

static const DAT_OS_WAIT_PROXY_AGENT no_agent;

/* Runs F for EVDs of either make. */
static void both(struct world *w, void (*f)(struct world *, unsigned flags))
{
	f(w, PLAIN);
	f(w, WITH_CQ);
}

struct sleeper {
	pthread_t thread;
	pid_t tid; /* atomic */
	DAT_CNO_HANDLE cno;
	DAT_TIMEOUT timeout;
	DAT_RETURN ret;
	DAT_EVD_HANDLE evd;
};

static void *run_waiter(void *arg)
{
	struct sleeper *t = arg;

	t->evd = (DAT_EVD_HANDLE)t;
	__atomic_store_n(&t->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	t->ret = V(cno_wait)(t->cno, t->timeout, &t->evd);
	return NULL;
}

static void start(struct sleeper *t, int n, DAT_CNO_HANDLE cno,
		  DAT_TIMEOUT timeout)
{
	for (int i = 0; i < n; i++) {
		t[i].cno = cno;
		t[i].timeout = timeout;
		pthread_create(&t[i].thread, NULL, run_waiter, &t[i]);
	}
	world_until(world_cno_waiters(cno) == n);
}

/* ---------------------------------------------------- life */

ON_IB(cno_free__in_use)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, PLAIN, cno);
	struct sleeper t;

	assert_refused(V(cno_free)(cno), DAPL_BAD_STATE(CNO_IN_USE));
	assert_dat_ok(V(evd_modify_cno)(evd, DAT_HANDLE_NULL));
	start(&t, 1, cno, WORLD_PATIENCE_US);
	assert_refused(V(cno_free)(cno), DAPL_BAD_STATE(CNO_IN_USE));
	assert_dat_ok(V(evd_modify_cno)(evd, cno));
	world_post_se(evd, w);
	pthread_join(t.thread, NULL);
	assert_dat_ok(t.ret);
	assert_dat_ok(V(evd_modify_cno)(evd, DAT_HANDLE_NULL));
	assert_dat_ok(V(cno_free)(cno));
}

/* ------------------------------------------------- trigger */

ON_IB(cno_wait__several_evds)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd[40], got;
	int seen = 0;

	for (int i = 0; i < 40; i++)
		evd[i] = world_evd_cno(s->ia, i & 1 ? PLAIN : WITH_CQ, cno);
	for (int i = 0; i < 40; i++)
		world_post_se(evd[i], w);
	for (int i = 0; i < 40; i++) {
		assert_dat_ok(V(cno_wait)(cno, WORLD_PATIENCE_US, &got));
		expect_event(got, DAT_SOFTWARE_EVENT);
		seen++;
	}
	assert_int_equal(seen, 40);
	expect_no_trigger(cno, 0);
}

ON_IB_IWARP(cno_wait__completions)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);

	s->recv_evd = world_evd_cno(s->ia, WITH_CQ, cno);
	world_connect(w);
	for (uint64_t i = 0; i < 5; i++) {
		world_recv(s, 0, 64, i);
		world_send(c, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
		expect_trigger(cno, s->recv_evd);
		expect_dto(s->recv_evd, i, DAT_DTO_SUCCESS);
	}
}

ON_IB(cno_wait__long_timeout_does_not_wrap)
{
	static const DAT_TIMEOUT timeouts[] = {0x7fffffff, 0x80000000,
					       4294000000, 0xfffffffe};
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, WITH_CQ, cno);
	struct sleeper t;

	for (size_t i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++) {
		start(&t, 1, cno, timeouts[i]);
		world_post_se(evd, w);
		pthread_join(t.thread, NULL);
		assert_int_equal(t.ret, DAT_SUCCESS);
		assert_ptr_equal(t.evd, evd);
		expect_event(evd, DAT_SOFTWARE_EVENT);
	}
}

ON_IB(cno_wait__wakes)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, WITH_CQ, cno);
	struct sleeper t[3];
	int done = 0;

	/* One trigger, one waiter. */
	start(t, 3, cno, DAT_TIMEOUT_INFINITE);
	for (int left = 2; left >= 0; left--) {
		world_post_se(evd, w);
		world_until(world_cno_waiters(cno) <= left);
		assert_int_equal(world_cno_waiters(cno), left);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i].thread, NULL);
		done += t[i].ret == DAT_SUCCESS && t[i].evd == evd;
	}
	assert_int_equal(done, 3);
}

ON_IB(cno_wait__timeouts_short_and_long)
{
	static const DAT_TIMEOUT timeouts[] = {0, 1, 900, 5000, 30000};
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE got;
	uint64_t t0;

	for (size_t i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++) {
		t0 = world_now_us();
		got = (DAT_EVD_HANDLE)cno;
		assert_int_equal(
			DAT_GET_TYPE(V(cno_wait)(cno, timeouts[i], &got)),
			DAT_QUEUE_EMPTY);
		assert_null(got);
		assert_true(world_now_us() - t0 >= timeouts[i]);
		assert_true(world_now_us() - t0 <
			    timeouts[i] + WORLD_PATIENCE_US);
	}
}

static void on_signal(int sig)
{
	(void)sig;
}

ON_IB(cno_wait__signal)
{
	struct sigaction sa = {.sa_handler = on_signal};
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	struct sleeper t;

	sigaction(SIGUSR1, &sa, NULL);
	start(&t, 1, cno, DAT_TIMEOUT_INFINITE);
	while (world_cno_waiters(cno)) {
		pthread_kill(t.thread, SIGUSR1);
		world_pause();
	}
	pthread_join(t.thread, NULL);
	assert_int_equal(DAT_GET_TYPE(t.ret), DAT_INTERRUPTED_CALL);
	assert_null(t.evd);
}

/* Stops this process, and continues it when it stands still. */
static void stop_and_go(void)
{
	pid_t me = getpid(), child;
	int status;

	child = fork();
	assert_int_not_equal(child, -1);
	if (!child) {
		kill(me, SIGSTOP);
		while (!world_thread_is(me, 'T') && getppid() == me)
			world_pause();
		kill(me, SIGCONT);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
}

ON_IB(cno_wait__stopped_and_continued)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, WITH_CQ, cno);
	struct sleeper t = {.tid = 0};

	start(&t, 1, cno, DAT_TIMEOUT_INFINITE);
	world_until(world_thread_is(__atomic_load_n(&t.tid, __ATOMIC_ACQUIRE),
				    'S'));
	stop_and_go();
	world_post_se(evd, w);
	pthread_join(t.thread, NULL);
	assert_int_equal(t.ret, DAT_SUCCESS);
	assert_ptr_equal(t.evd, evd);
}

/* --------------------------------------- EVDs come and go */

static void check_disabled(struct world *w, unsigned flags)
{
	DAT_CNO_HANDLE cno = world_cno(w->server.ia);
	DAT_EVD_HANDLE evd = world_evd_cno(w->server.ia, flags, cno);

	assert_dat_ok(V(evd_disable)(evd));
	world_post_se(evd, w);
	expect_no_trigger(cno, 0);
	/* It is made up for, as the event is still there. */
	assert_dat_ok(V(evd_enable)(evd));
	expect_trigger(cno, evd);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	/* Triggered and drained before it was disabled: nothing is left. */
	world_post_se(evd, w);
	assert_dat_ok(V(evd_disable)(evd));
	expect_event(evd, DAT_SOFTWARE_EVENT);
	assert_dat_ok(V(evd_enable)(evd));
	expect_no_trigger(cno, 0);
}

/* Where a thread that lets go of a CNO can be held. */
static int held_unuse; /* atomic; 1: hold it, 2: it is held, 0: let it go */

bool __real_dapl_obj_unuse(struct dapl_obj *obj);
bool __wrap_dapl_obj_unuse(struct dapl_obj *obj);

bool __wrap_dapl_obj_unuse(struct dapl_obj *obj)
{
	bool cno = obj && obj->ops->type == DAT_HANDLE_TYPE_CNO;
	bool last = __real_dapl_obj_unuse(obj);
	int one = 1;

	if (cno &&
	    __atomic_compare_exchange_n(&held_unuse, &one, 2, 0,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&held_unuse, __ATOMIC_ACQUIRE))
			world_pause();
	return last;
}

static void *free_evd(void *evd)
{
	return (void *)(uintptr_t)V(evd_free)((DAT_EVD_HANDLE)evd);
}

/* The memory of a CNO is not another one's while a thread still uses it. */
ON_IB(cno_free__while_its_last_evd_is_freed)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia), others[80];
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, PLAIN, cno);
	pthread_t thread;
	void *ret;

	__atomic_store_n(&held_unuse, 1, __ATOMIC_RELEASE);
	pthread_create(&thread, NULL, free_evd, evd);
	world_until(__atomic_load_n(&held_unuse, __ATOMIC_ACQUIRE) == 2);
	assert_dat_ok(V(cno_free)(cno));
	/* More than there are that wait to be used again. */
	for (int i = 0; i < 40; i++)
		others[i] = world_cno(s->ia);
	for (int i = 0; i < 40; i++)
		assert_dat_ok(V(cno_free)(others[i]));
	for (int i = 0; i < 80; i++) {
		others[i] = world_cno(s->ia);
		assert_ptr_not_equal(others[i], cno);
	}
	__atomic_store_n(&held_unuse, 0, __ATOMIC_RELEASE);
	pthread_join(thread, &ret);
	assert_int_equal((uintptr_t)ret, DAT_SUCCESS);
}

/* Both are named, whoever comes first; then there is none. */
static void check_two(struct world *w, unsigned flags)
{
	DAT_CNO_HANDLE cno = world_cno(w->server.ia);
	DAT_EVD_HANDLE evds[2], got[2];

	for (int i = 0; i < 2; i++) {
		evds[i] = world_evd(w->server.ia, flags);
		assert_dat_ok(V(evd_modify_cno)(evds[i], cno));
	}
	for (int i = 0; i < 4; i++)
		world_post_se(evds[i % 2], w);
	for (int i = 0; i < 2; i++)
		assert_dat_ok(V(cno_wait)(cno, WORLD_PATIENCE_US, &got[i]));
	assert_true((got[0] == evds[0] && got[1] == evds[1]) ||
		    (got[0] == evds[1] && got[1] == evds[0]));
	expect_no_trigger(cno, 0);
	for (int i = 0; i < 2; i++)
		assert_dat_ok(V(evd_free)(evds[i]));
	assert_dat_ok(V(cno_free)(cno));
}

ON_IB(cno_wait__names_each_evd_once)
{
	both(w, check_two);
}

ON_IB(evd_disable__no_trigger)
{
	both(w, check_disabled);
}

static void check_modify(struct world *w, unsigned flags)
{
	DAT_CNO_HANDLE a = world_cno(w->server.ia), b = world_cno(w->server.ia);
	DAT_EVD_HANDLE evd = world_evd(w->server.ia, flags);

	world_post_se(evd, w);
	assert_dat_ok(V(evd_modify_cno)(evd, a));
	expect_trigger(a, evd);
	for (int i = 0; i < 2; i++)
		assert_dat_ok(V(evd_modify_cno)(evd, b));
	expect_no_trigger(a, 0);
	expect_trigger(b, evd);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	world_post_se(evd, w);
	expect_no_trigger(a, 0);
	expect_trigger(b, evd);
	assert_dat_ok(V(evd_modify_cno)(evd, DAT_HANDLE_NULL));
	world_post_se(evd, w);
	expect_no_trigger(b, 0);
	/* Without a CNO it can be waited on. */
	expect_event(evd, DAT_SOFTWARE_EVENT);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	assert_dat_ok(V(cno_free)(a));
	assert_dat_ok(V(cno_free)(b));
	assert_refused(V(evd_modify_cno)(evd, a), DAPL_BAD_HANDLE(CNO));
}

ON_IB(evd_modify_cno__moves_the_trigger)
{
	both(w, check_modify);
}

/* A waiter owns the EVD: no trigger, until it has gone with events left. */
ON_IB(evd_wait__keeps_from_triggering)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, WITH_CQ, cno);
	DAT_COUNT more;
	DAT_EVENT ev;

	assert_int_equal(DAT_GET_TYPE(V(evd_wait)(evd, 1000, 1, &ev, &more)),
			 DAT_TIMEOUT_EXPIRED);
	expect_no_trigger(cno, 0);
	world_post_se(evd, w);
	assert_int_equal(DAT_GET_TYPE(V(evd_wait)(evd, 1000, 2, &ev, &more)),
			 DAT_TIMEOUT_EXPIRED);
	expect_trigger(cno, evd);
	expect_event(evd, DAT_SOFTWARE_EVENT);
}

ON_IB(evd_free__last_one_releases_waiters)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE a = world_evd_cno(s->ia, PLAIN, cno);
	DAT_EVD_HANDLE b = world_evd_cno(s->ia, WITH_CQ, cno);
	struct sleeper t[3];

	start(t, 3, cno, DAT_TIMEOUT_INFINITE);
	assert_dat_ok(V(evd_free)(a));
	assert_int_equal(world_cno_waiters(cno), 3);
	assert_dat_ok(V(evd_free)(b));
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i].thread, NULL);
		assert_int_equal(t[i].ret, DAT_SUCCESS);
		assert_null(t[i].evd);
	}
	/* The CNO is as good as new. */
	expect_no_trigger(cno, 0);
	a = world_evd_cno(s->ia, PLAIN, cno);
	world_post_se(a, w);
	expect_trigger(cno, a);
}

/* The next EVD comes before the waiters have noticed that the last is gone. */
ON_IB(evd_free__last_one_and_a_new_one)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	struct sleeper t[2];

	for (int round = 0; round < 200; round++) {
		DAT_EVD_HANDLE evd = world_evd_cno(s->ia, PLAIN, cno);

		start(t, 2, cno, DAT_TIMEOUT_INFINITE);
		assert_dat_ok(V(evd_free)(evd));
		evd = world_evd_cno(s->ia, PLAIN, cno);
		for (int i = 0; i < 2; i++) {
			pthread_join(t[i].thread, NULL);
			assert_int_equal(t[i].ret, DAT_SUCCESS);
			assert_null(t[i].evd);
		}
		assert_dat_ok(V(evd_free)(evd));
	}
	assert_dat_ok(V(cno_free)(cno));
}

/* ------------------------------------------------- agents */

struct agent {
	int calls; /* atomic, as all that two threads look at */
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno; /* set the agent again from inside */
	pthread_t thread;
};

static void run_agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct agent *a = instance;
	DAT_OS_WAIT_PROXY_AGENT again = {a, run_agent};

	a->evd = evd;
	a->thread = pthread_self();
	if (a->cno)
		V(cno_modify_agent)(a->cno, again);
	__atomic_add_fetch(&a->calls, 1, __ATOMIC_RELEASE);
}

static int calls(struct agent *a)
{
	return __atomic_load_n(&a->calls, __ATOMIC_ACQUIRE);
}

static DAT_PROXY_TYPE proxy_type(DAT_CNO_HANDLE cno)
{
	DAT_CNO_PARAM p;

	assert_dat_ok(V(cno_query)(cno, DAT_CNO_FIELD_ALL, &p));
	return p.proxy_type;
}

static void check_agent(struct world *w, unsigned flags)
{
	struct agent a = {0};
	DAT_OS_WAIT_PROXY_AGENT agent = {&a, run_agent};
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM p;
	DAT_EVD_HANDLE evd;

	assert_dat_ok(V(cno_create)(w->server.ia, agent, &cno));
	assert_dat_ok(V(cno_query)(cno, DAT_CNO_FIELD_ALL, &p));
	assert_int_equal(p.proxy_type, DAT_PROXY_TYPE_AGENT);
	assert_ptr_equal(p.proxy.agent.instance_data, &a);
	evd = world_evd_cno(w->server.ia, flags, cno);
	world_post_se(evd, w);
	world_until(calls(&a) == 1);
	assert_ptr_equal(a.evd, evd);
	assert_false(pthread_equal(a.thread, pthread_self()));
	/* One call for each time it is set. */
	assert_int_equal(proxy_type(cno), DAT_PROXY_TYPE_NONE);
	world_post_se(evd, w);
	expect_trigger(cno, evd);
	assert_int_equal(calls(&a), 1);
	assert_dat_ok(V(cno_modify_agent)(cno, agent));
	world_post_se(evd, w);
	world_until(calls(&a) == 2);
	/* Taken away before it was needed. */
	assert_dat_ok(V(cno_modify_agent)(cno, agent));
	assert_dat_ok(V(cno_modify_agent)(cno, no_agent));
	world_post_se(evd, w);
	expect_trigger(cno, evd);
	assert_int_equal(calls(&a), 2);
	assert_dat_ok(V(evd_free)(evd));
	assert_dat_ok(V(cno_free)(cno));
}

ON_IB(cno_agent__one_shot)
{
	both(w, check_agent);
}

ON_IB(cno_agent__finds_an_old_trigger)
{
	struct agent a = {0};
	DAT_OS_WAIT_PROXY_AGENT agent = {&a, run_agent};
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, PLAIN, cno);

	world_post_se(evd, w);
	assert_dat_ok(V(cno_modify_agent)(cno, agent));
	world_until(calls(&a) == 1);
	assert_ptr_equal(a.evd, evd);
}

ON_IB(cno_agent__set_again_from_inside)
{
	struct agent a = {.cno = world_cno(s->ia)};
	DAT_OS_WAIT_PROXY_AGENT agent = {&a, run_agent};
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, WITH_CQ, a.cno);

	assert_dat_ok(V(cno_modify_agent)(a.cno, agent));
	for (int i = 1; i <= 50; i++) {
		world_post_se(evd, w);
		world_until(calls(&a) == i);
		expect_event(evd, DAT_SOFTWARE_EVENT);
	}
}

/* Both hear of it, whoever was the first to see it. */
ON_IB(cno_agent__and_a_waiter)
{
	struct agent a = {0};
	DAT_OS_WAIT_PROXY_AGENT agent = {&a, run_agent};
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, PLAIN, cno);
	struct sleeper t[2];

	for (int i = 1; i <= 200; i++) {
		start(t, 2, cno, DAT_TIMEOUT_INFINITE);
		assert_dat_ok(V(cno_modify_agent)(cno, agent));
		world_post_se(evd, w);
		world_until(calls(&a) == i);
		world_until(world_cno_waiters(cno) == 1);
		/* One of the waiters, and the other one by the next. */
		world_post_se(evd, w);
		for (int k = 0; k < 2; k++) {
			pthread_join(t[k].thread, NULL);
			assert_int_equal(t[k].ret, DAT_SUCCESS);
			assert_ptr_equal(t[k].evd, evd);
		}
		assert_int_equal(calls(&a), i);
		expect_event(evd, DAT_SOFTWARE_EVENT);
		expect_event(evd, DAT_SOFTWARE_EVENT);
	}
	expect_no_trigger(cno, 0);
	assert_dat_ok(V(evd_free)(evd));
	assert_dat_ok(V(cno_free)(cno));
}

/* What is read takes its trigger along, of every kind of event. */
static void check_drained(struct world *w, unsigned flags)
{
	DAT_CNO_HANDLE cno = world_cno(w->server.ia);
	DAT_EVD_HANDLE evd = world_evd_cno(w->server.ia, flags, cno);

	world_post_se(evd, w);
	world_post_se(evd, w);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	expect_trigger(cno, evd);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	world_post_se(evd, w);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	expect_no_trigger(cno, 0);
	world_post_se(evd, w);
	expect_trigger(cno, evd);
}

ON_IB(cno_wait__drained_before)
{
	both(w, check_drained);
}

/* Set again by another thread while it is being called: none is lost. */
ON_IB(cno_agent__set_again_from_outside)
{
	struct agent a = {0};
	DAT_OS_WAIT_PROXY_AGENT agent = {&a, run_agent};
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE evd = world_evd_cno(s->ia, PLAIN, cno);

	for (int i = 0; i < 500; i++) {
		int before = calls(&a);

		assert_dat_ok(V(cno_modify_agent)(cno, agent));
		world_post_se(evd, w);
		assert_dat_ok(V(cno_modify_agent)(cno, agent));
		world_until(calls(&a) > before);
		expect_event(evd, DAT_SOFTWARE_EVENT);
		assert_dat_ok(V(cno_modify_agent)(cno, no_agent));
		/* An event that no agent has seen must still trigger. */
		world_post_se(evd, w);
		expect_trigger(cno, evd);
		expect_event(evd, DAT_SOFTWARE_EVENT);
	}
}

/* --------------------------------------------- descriptors */

static bool readable(DAT_FD fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void check_fd(struct world *w, unsigned flags)
{
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM p;
	DAT_EVD_HANDLE evd, got = (DAT_EVD_HANDLE)w;
	DAT_FD fd;

	assert_dat_ok(V(cno_fd_create)(w->server.ia, &fd, &cno));
	assert_dat_ok(V(cno_query)(cno, DAT_CNO_FIELD_ALL, &p));
	assert_int_equal(p.proxy_type, DAT_PROXY_TYPE_FD);
	assert_int_equal(p.proxy.fd, fd);
	evd = world_evd_cno(w->server.ia, flags, cno);
	assert_false(readable(fd));
	assert_int_equal(V(cno_trigger)(cno, &got),
			 DAPL_ERR(DAT_QUEUE_EMPTY, 0));
	assert_null(got);
	world_post_se(evd, w);
	assert_true(readable(fd));
	assert_dat_ok(V(cno_trigger)(cno, &got));
	assert_ptr_equal(got, evd);
	assert_false(readable(fd));
	world_post_se(evd, w);
	assert_true(readable(fd));
	expect_trigger(cno, evd); /* it can be waited on as well */
	expect_event(evd, DAT_SOFTWARE_EVENT);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	if (flags == PLAIN) {
		world_post_se(evd, w);
		assert_true(readable(fd));
		expect_event(evd, DAT_SOFTWARE_EVENT);
		assert_false(readable(fd));
	}
	assert_dat_ok(V(evd_free)(evd));
	assert_false(readable(fd));
	assert_dat_ok(V(cno_free)(cno));
}

ON_IB(cno_fd_create__poll)
{
	both(w, check_fd);
}

ON_IB(cno_fd_create__completion)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE got;
	DAT_FD fd;

	assert_dat_ok(V(cno_fd_create)(s->ia, &fd, &cno));
	s->recv_evd = world_evd_cno(s->ia, DAT_EVD_DTO_FLAG, cno);
	world_connect(w);
	world_recv(s, 0, 64, 1);
	assert_false(readable(fd));
	world_send(c, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
	world_until(readable(fd));
	assert_dat_ok(V(cno_trigger)(cno, &got));
	assert_ptr_equal(got, s->recv_evd);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
}

RUN_CASES(NULL, NULL)
