/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_evd_wait.c - dat_evd_wait: threshold, timeout, signals, what ends a wait,
 * several threads.
 *
 * Each test that can depend on how an EVD is made runs over one without and
 * one with a completion queue: they wait on different descriptors.
 * Threads: waiters; that one is asleep is seen in the EVD.
 * Rules: uDAPL 1.2 specification, dat_evd_wait.
 */
#include "test/unit/world.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"

#define PLAIN	DAT_EVD_SOFTWARE_FLAG
#define WITH_CQ (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG)

/* How much later than asked for a wait may end on a busy machine. */
/* A bound, not a promise: the machine may stand still. */
#define LATE_US WORLD_PATIENCE_US

/* Runs F over an EVD of either make. */
static void both(struct world *w, void (*f)(struct world *, DAT_EVD_HANDLE))
{
	f(w, world_evd(w->server.ia, PLAIN));
	f(w, world_evd(w->server.ia, WITH_CQ));
}

static DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
			   DAT_COUNT threshold, DAT_COUNT *ret_more)
{
	DAT_EVENT ev;

	return V(evd_wait)(evd, timeout, threshold, &ev, ret_more);
}

ON_IB(evd_wait__threshold_at_most_the_size)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, PLAIN);
	DAT_COUNT more;
	DAT_EVENT ev;

	assert_refused(V(evd_wait)(evd, 0, WORLD_QLEN + 1, &ev, &more),
		       DAPL_BAD_ARG(3));
	assert_int_equal(
		DAT_GET_TYPE(V(evd_wait)(evd, 0, WORLD_QLEN, &ev, &more)),
		DAT_TIMEOUT_EXPIRED);
}

static void check_post_wakes(struct world *w, DAT_EVD_HANDLE evd)
{
	struct waiter t;

	for (int i = 0; i < 20; i++) {
		waiter_start(&t, evd, DAT_TIMEOUT_INFINITE, 1);
		world_post_se(evd, w);
		waiter_end(&t, DAT_SUCCESS);
		assert_ptr_equal(t.ev.event_data.software_event_data.pointer,
				 w);
		assert_int_equal(t.more, 0);
	}
}

ON_IB_IWARP(evd_wait__completion_wakes)
{
	struct waiter t;

	s->recv_evd = world_evd(s->ia, WITH_CQ);
	world_connect(w);
	for (uint64_t i = 0; i < 10; i++) {
		world_recv(s, 0, 64, i);
		waiter_start(&t, s->recv_evd, DAT_TIMEOUT_INFINITE, 1);
		world_send(c, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
		waiter_end(&t, DAT_SUCCESS);
		assert_int_equal(t.ev.event_number, DAT_DTO_COMPLETION_EVENT);
		assert_int_equal(t.ev.event_data.dto_completion_event_data
					 .user_cookie.as_64,
				 i);
		/* A post of software wakes the same waiter. */
		waiter_start(&t, s->recv_evd, DAT_TIMEOUT_INFINITE, 1);
		world_post_se(s->recv_evd, w);
		waiter_end(&t, DAT_SUCCESS);
		assert_int_equal(t.ev.event_number, DAT_SOFTWARE_EVENT);
	}
}

/* The CNO that an EVD was made with does not keep completions for itself. */
ON_IB(evd_wait__completion_wakes_after_the_cno_is_gone)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	struct waiter t;

	s->recv_evd = world_evd_cno(s->ia, WITH_CQ, cno);
	world_connect(w);
	assert_dat_ok(V(evd_modify_cno)(s->recv_evd, DAT_HANDLE_NULL));
	assert_dat_ok(V(cno_free)(cno));
	for (uint64_t i = 0; i < 3; i++) {
		world_recv(s, 0, 64, i);
		waiter_start(&t, s->recv_evd, WORLD_PATIENCE_US, 1);
		world_send(c, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
		waiter_end(&t, DAT_SUCCESS);
		assert_int_equal(t.ev.event_number, DAT_DTO_COMPLETION_EVENT);
	}
}

/* --------------------------------- what a sleep costs */

/* Calls that enter the kernel, or do on some devices. Atomic. */
static struct {
	int sleeps, channel_reads, eventfd_reads, arms;
	int writes_of_loop; /* the service thread's */
} calls;
static int (*arm)(struct ibv_cq *cq, int solicited_only);
static struct dapl_loop *loop_of_round; /* atomic; whose writes are counted */

static void count(int *which)
{
	__atomic_add_fetch(which, 1, __ATOMIC_RELAXED);
}

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
		 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
		 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
		 const sigset_t *mask)
{
	count(&calls.sleeps);
	return __real_ppoll(fds, n, ts, mask);
}

int __real_ibv_get_cq_event(struct ibv_comp_channel *chan, struct ibv_cq **cq,
			    void **context);
int __wrap_ibv_get_cq_event(struct ibv_comp_channel *chan, struct ibv_cq **cq,
			    void **context);
int __wrap_ibv_get_cq_event(struct ibv_comp_channel *chan, struct ibv_cq **cq,
			    void **context)
{
	count(&calls.channel_reads);
	return __real_ibv_get_cq_event(chan, cq, context);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
/*
 * No call has more arguments; those that it has not are nobody's, and are not
 * looked for in the address sanitizer's marks.
 */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	va_list args;
	long arg[6];

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_read)
		count(&calls.eventfd_reads);
	if (number == SYS_write &&
	    dapl_loop_here(__atomic_load_n(&loop_of_round, __ATOMIC_RELAXED)))
		count(&calls.writes_of_loop);
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}

static int count_arm(struct ibv_cq *cq, int solicited_only)
{
	count(&calls.arms);
	return arm(cq, solicited_only);
}

#define assert_calls(sleeps_, channel_, eventfd_, arms_)         \
	do {                                                     \
		assert_int_equal(calls.sleeps, sleeps_);         \
		assert_int_equal(calls.channel_reads, channel_); \
		assert_int_equal(calls.eventfd_reads, eventfd_); \
		assert_int_equal(calls.arms, arms_);             \
		memset(&calls, 0, sizeof(calls));                \
	} while (0)

/* It is connected, with receives, and what a wait on its EVD does is counted.
 */
static void count_calls(struct world *w)
{
	struct dapl_evd *evd;

	w->server.recv_evd = world_evd(w->server.ia, WITH_CQ);
	world_connect(w);
	for (uint64_t i = 0; i < 3; i++)
		world_recv(&w->server, 0, 64, i);
	evd = (struct dapl_evd *)w->server.recv_evd;
	arm = evd->ops.arm;
	evd->ops.arm = count_arm;
	memset(&calls, 0, sizeof(calls));
}

ON_IB_IWARP(evd_wait__sleep_until_a_completion_reads_one_descriptor)
{
	struct waiter t;

	count_calls(w);
	for (uint64_t i = 0; i < 3; i++) {
		waiter_start(&t, s->recv_evd, DAT_TIMEOUT_INFINITE, 1);
		world_send(c, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
		waiter_got(&t, i, 0);
		assert_calls(1, 1, 0, 1);
	}
}

/* And who comes next finds the queue armed. */
ON_IB_IWARP(evd_wait__sleep_until_a_post_reads_one_descriptor)
{
	struct waiter t;

	count_calls(w);
	for (int i = 0; i < 3; i++) {
		waiter_start(&t, s->recv_evd, DAT_TIMEOUT_INFINITE, 1);
		world_post_se(s->recv_evd, w);
		waiter_end(&t, DAT_SUCCESS);
		assert_calls(1, 0, 1, i == 0);
	}
}

/* One that comes while nobody sleeps has been notified of nevertheless. */
ON_IB_IWARP(evd_wait__notification_of_before_is_found_once)
{
	struct waiter t;
	DAT_COUNT more;

	count_calls(w);
	assert_int_equal(DAT_GET_TYPE(wait_for(s->recv_evd, 1, 1, &more)),
			 DAT_TIMEOUT_EXPIRED);
	world_send(c, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(s->recv_evd, 0, DAT_DTO_SUCCESS);
	memset(&calls, 0, sizeof(calls));
	waiter_start(&t, s->recv_evd, DAT_TIMEOUT_INFINITE, 1);
	world_until(__atomic_load_n(&calls.sleeps, __ATOMIC_RELAXED) == 2);
	world_send(c, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG);
	waiter_got(&t, 1, 0);
	assert_calls(2, 2, 0, 1);
}

/* ----------------------------------- looking before a sleep */

static int polls, shown_at;
static int (*real_poll)(struct ibv_cq *cq, int n, struct ibv_wc *wc);

/* What is there is seen by the one that is SHOWN_AT, and later ones. */
static int poll_late(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	return ++polls < shown_at ? 0 : real_poll(cq, n, wc);
}

static void count_polls(struct dapl_evd *evd, int when)
{
	polls = 0;
	shown_at = when;
	real_poll = evd->ops.poll;
	evd->ops.poll = poll_late;
	memset(&calls, 0, sizeof(calls));
}

/* One that would be told by no notification any more. */
static void check_found_awake(struct world *w, DAT_COUNT threshold)
{
	struct dapl_evd *evd = (struct dapl_evd *)w->server.recv_evd;
	DAT_COUNT more;

	for (DAT_COUNT i = 0; i < threshold; i++) {
		world_recv(&w->server, 0, 64, 0);
		world_send(&w->client, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG);
	}
	count_polls(evd, 20);
	assert_dat_ok(wait_for(w->server.recv_evd, DAT_TIMEOUT_INFINITE,
			       threshold, &more));
	assert_int_equal(more, threshold - 1);
	assert_calls(0, 0, 0, 0);
	evd->ops.poll = real_poll;
	for (DAT_COUNT i = 1; i < threshold; i++)
		expect_dto(w->server.recv_evd, 0, DAT_DTO_SUCCESS);
}

ON_IB(evd_wait__looks_again_where_sleeps_were_short, count_calls)
{
	struct dapl_evd *evd = (struct dapl_evd *)s->recv_evd;
	DAT_EVENT ev;

	for (int i = 0; i < 3; i++) {
		world_send(c, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG);
		assert_dat_ok(V(evd_dequeue)(s->recv_evd, &ev));
	}
	evd->obj.ia->spins = true;
	dapl_lock(&evd->lock);
	dapl_evd_slept_locked(evd, 1);
	dapl_unlock(&evd->lock);
	check_found_awake(w, 1);
	check_found_awake(w, 3);
}

/* And stops to, bit by bit, if it was for nothing. */
ON_IB(evd_wait__looks_in_vain_less_and_less, count_calls)
{
	struct dapl_evd *evd = (struct dapl_evd *)s->recv_evd;
	DAT_COUNT more;
	int last = 256;

	evd->obj.ia->spins = true;
	dapl_lock(&evd->lock);
	for (int i = 0; i < 20; i++)
		dapl_evd_slept_locked(evd, 1);
	dapl_unlock(&evd->lock);
	count_polls(evd, 0);
	for (int i = 0; i < 10; i++) {
		polls = 0;
		assert_int_equal(
			DAT_GET_TYPE(wait_for(s->recv_evd, 1000, 1, &more)),
			DAT_TIMEOUT_EXPIRED);
		assert_in_range(polls, last, last + 4);
		assert_int_equal(calls.sleeps, i + 1);
		last /= 2;
	}
	/* One that is over before is not worth it, and one processor none. */
	dapl_lock(&evd->lock);
	for (int i = 0; i < 20; i++)
		dapl_evd_slept_locked(evd, 1);
	dapl_unlock(&evd->lock);
	polls = 0;
	wait_for(s->recv_evd, 1, 1, &more);
	assert_in_range(polls, 1, 4);
	evd->obj.ia->spins = false;
	polls = 0;
	wait_for(s->recv_evd, 1000, 1, &more);
	assert_in_range(polls, 1, 4);
	evd->ops.poll = real_poll;
}

/* --------------------------------------------- threshold */

static void check_threshold(struct world *w, DAT_EVD_HANDLE evd)
{
	struct waiter t;

	waiter_start(&t, evd, DAT_TIMEOUT_INFINITE, 3);
	world_post_se(evd, (void *)1);
	world_post_se(evd, (void *)2);
	assert_true(world_evd_is_waited_for(evd));
	world_post_se(evd, (void *)3);
	waiter_end(&t, DAT_SUCCESS);
	assert_ptr_equal(t.ev.event_data.software_event_data.pointer,
			 (void *)1);
	assert_int_equal(t.more, 2);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	expect_event(evd, DAT_SOFTWARE_EVENT);
	expect_empty(evd);
}

/* Events that the service thread posts in one round. */
struct round {
	struct dapl_work work;
	struct dapl_evd *evd;
	int n;
	int writes; /* so far, when the last was posted */
};

static void post_round(struct dapl_work *work)
{
	struct round *r = dapl_container_of(work, struct round, work);
	const DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

	for (int i = 0; i < r->n; i++)
		assert_true(dapl_evd_post(r->evd, &event));
	r->writes = __atomic_load_n(&calls.writes_of_loop, __ATOMIC_RELAXED);
}

static void check_round(struct world *w, DAT_EVD_HANDLE evd)
{
	struct dapl_ia *ia = (struct dapl_ia *)w->server.ia;
	struct round r = {.evd = (struct dapl_evd *)evd, .n = 5};
	struct waiter t;

	waiter_start(&t, evd, DAT_TIMEOUT_INFINITE, 5);
	__atomic_store_n(&calls.writes_of_loop, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&loop_of_round, ia->loop, __ATOMIC_RELAXED);
	dapl_work_init(&r.work, post_round);
	dapl_loop_defer(ia->loop, &r.work);
	waiter_end(&t, DAT_SUCCESS);
	dapl_work_cancel(ia->loop, &r.work);
	__atomic_store_n(&loop_of_round, NULL, __ATOMIC_RELAXED);
	assert_int_equal(t.more, 4);
	assert_int_equal(r.writes, 0);
	assert_int_equal(
		__atomic_load_n(&calls.writes_of_loop, __ATOMIC_RELAXED), 1);
}

/* Else the sleeper would take the processor away after each event. */
ON_IB(evd_wait__service_thread_wakes_at_the_end_of_its_round)
{
	both(w, check_round);
}

/* The EVD was freed before the round ended: its memory waits for that. */
static void check_freed_round(struct world *w, DAT_EVD_HANDLE evd)
{
	struct dapl_ia *ia = (struct dapl_ia *)w->server.ia;
	struct dapl_evd *e = (struct dapl_evd *)evd;

	e->wakes_soon = true;
	dapl_obj_get(&e->obj);
	assert_dat_ok(V(evd_free)(evd));
	assert_int_equal(e->obj.refs, 1);
	dapl_loop_defer(ia->loop, &e->wake_work);
	while (__atomic_load_n(&e->obj.refs, __ATOMIC_ACQUIRE))
		sched_yield();
}

ON_IB(evd_free__before_the_end_of_the_round)
{
	both(w, check_freed_round);
}

ON_IB(evd_wait__threshold_on_each)
{
	both(w, check_threshold);
}

ON_IB(evd_wait__threshold_of_completions, world_connect)
{
	struct waiter t;

	for (uint64_t i = 0; i < 4; i++)
		world_recv(s, 0, 64, i);
	waiter_start(&t, s->recv_evd, WORLD_PATIENCE_US, 4);
	for (uint64_t i = 0; i < 4; i++)
		world_send(c, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
	waiter_end(&t, DAT_SUCCESS);
	assert_int_equal(t.more, 3);
	for (uint64_t i = 1; i < 4; i++)
		expect_dto(s->recv_evd, i, DAT_DTO_SUCCESS);
}

/* ------------------------------------- completions read ahead */

#define MOST 40 /* more than twice as many as are read at once */

static DAT_EVENT wait_at_once(DAT_EVD_HANDLE evd, DAT_COUNT *ret_more)
{
	DAT_EVENT ev;

	assert_dat_ok(V(evd_wait)(evd, 0, 1, &ev, ret_more));
	return ev;
}

static uint64_t cookie_of(const DAT_EVENT *ev)
{
	return ev->event_data.dto_completion_event_data.user_cookie.as_64;
}

#define PAIRS 3 /* of endpoints, whose queues have 16 requests each */

static struct {
	DAT_EP_HANDLE server, client;
} pairs[PAIRS];

/* All receives of the server complete to one EVD. */
static void connect_pairs(struct world *w)
{
	w->server.recv_evd = world_evd(w->server.ia, WITH_CQ);
	for (int i = 0; i < PAIRS; i++) {
		pairs[i].server = world_ep(&w->server, NULL);
		pairs[i].client = world_ep(&w->client, NULL);
		world_connect_pair(w, pairs[i].server, pairs[i].client);
	}
}

/* Messages FIRST to END, complete at both ends. */
static void exchange(struct world *w, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i < end; i++) {
		w->server.ep = pairs[i % PAIRS].server;
		w->client.ep = pairs[i % PAIRS].client;
		world_recv(&w->server, 0, 8, i);
		world_send(&w->client, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG);
		expect_dto(w->client.req_evd, i, DAT_DTO_SUCCESS);
	}
}

/* However many there are, each wait tells how many are left, in their order. */
ON_IB_IWARP(evd_wait__counts_what_it_has_read_ahead, connect_pairs)
{
	static const int counts[] = {1, 2, 15, 16, 17, 31, 32, 33, MOST};
	DAT_COUNT more;
	DAT_EVENT ev;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		exchange(w, 0, (uint64_t)counts[i]);
		for (int j = 0; j < counts[i]; j++) {
			ev = wait_at_once(s->recv_evd, &more);
			assert_int_equal(cookie_of(&ev), j);
			assert_int_equal(more, counts[i] - j - 1);
		}
		expect_empty(s->recv_evd);
	}
}

/* What comes later is behind them, and counted; dequeue goes on with them. */
ON_IB_IWARP(evd_wait__later_ones_are_behind_what_was_read_ahead, connect_pairs)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	exchange(w, 0, 20);
	ev = wait_at_once(s->recv_evd, &more);
	assert_int_equal(cookie_of(&ev), 0);
	assert_int_equal(more, 19);
	world_post_se(s->recv_evd, w);
	exchange(w, 20, 30);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
	ev = wait_at_once(s->recv_evd, &more);
	assert_int_equal(cookie_of(&ev), 2);
	assert_int_equal(more, 28);
	for (uint64_t i = 3; i < 20; i++)
		expect_dto(s->recv_evd, i, DAT_DTO_SUCCESS);
	expect_event(s->recv_evd, DAT_SOFTWARE_EVENT);
	for (uint64_t i = 20; i < 30; i++)
		expect_dto(s->recv_evd, i, DAT_DTO_SUCCESS);
	expect_empty(s->recv_evd);
}

/* However much room is left for what is read ahead. */
ON_IB(evd_wait__counts_what_there_is_little_room_for, connect_pairs)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	for (int ahead = 1; ahead + 3 <= WORLD_QLEN; ahead++) {
		int came = 0, taken = 0, n;

		while (came < ahead + 3) {
			n = ahead - came < 16 ? ahead - came : 16;
			n = n > 0 ? n : 3;
			exchange(w, (uint64_t)came, (uint64_t)(came + n));
			came += n;
			ev = wait_at_once(s->recv_evd, &more);
			assert_int_equal(cookie_of(&ev), taken++);
			assert_int_equal(more, came - taken);
		}
		while (taken < came)
			expect_dto(s->recv_evd, (uint64_t)taken++,
				   DAT_DTO_SUCCESS);
		expect_empty(s->recv_evd);
	}
}

/* They are events of the EVD: they count for a threshold, and for a resize. */
ON_IB(evd_resize__counts_what_was_read_ahead, connect_pairs)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	exchange(w, 0, 20);
	ev = wait_at_once(s->recv_evd, &more);
	assert_refused(V(evd_resize)(s->recv_evd, 18),
		       DAPL_ERR(DAT_INVALID_STATE, 0));
	assert_dat_ok(V(evd_wait)(s->recv_evd, 0, 19, &ev, &more));
	assert_int_equal(cookie_of(&ev), 1);
	assert_int_equal(more, 18);
	assert_dat_ok(V(evd_resize)(s->recv_evd, 18));
}

/* ----------------------------------------------- timeout */

static void check_timeout(struct world *w, DAT_EVD_HANDLE evd)
{
	static const DAT_TIMEOUT timeouts[] = {0, 1, 100, 900, 5000, 20000};
	DAT_COUNT more = -1;
	uint64_t t0, took;

	for (size_t i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++) {
		t0 = world_now_us();
		assert_int_equal(
			DAT_GET_TYPE(wait_for(evd, timeouts[i], 1, &more)),
			DAT_TIMEOUT_EXPIRED);
		took = world_now_us() - t0;
		assert_int_equal(more, 0);
		assert_in_range(took + 1, timeouts[i], timeouts[i] + LATE_US);
	}
}

ON_IB(evd_wait__timeout)
{
	both(w, check_timeout);
}

/* More than an hour, in microseconds: close to what 32 bits can count. */
static void check_long_timeout(struct world *w, DAT_EVD_HANDLE evd)
{
	static const DAT_TIMEOUT timeouts[] = {0x7fffffff, 0x80000000,
					       4294000000, 0xfffffffe};
	struct waiter t;

	for (size_t i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++) {
		waiter_start(&t, evd, timeouts[i], 1);
		world_post_se(evd, w);
		waiter_end(&t, DAT_SUCCESS);
	}
}

ON_IB(evd_wait__long_timeout_does_not_wrap)
{
	both(w, check_long_timeout);
}

/* Events below the threshold do not start the time again. */
static void check_one_deadline(struct world *w, DAT_EVD_HANDLE evd)
{
	struct waiter t;
	uint64_t t0 = world_now_us(), last = 0;

	waiter_start(&t, evd, 300000, WORLD_QLEN);
	while (world_evd_is_waited_for(evd) && last < 40) {
		world_post_se(evd, w);
		last++;
		for (int i = 0; i < 100 && world_evd_is_waited_for(evd); i++)
			world_pause();
	}
	waiter_end(&t, DAT_TIMEOUT_EXPIRED);
	assert_true(world_now_us() - t0 >= 300000);
	assert_true(world_now_us() - t0 < 300000 + LATE_US);
	/* The last one may have come just after the end. */
	assert_in_range(t.more + 1, last, last + 1);
}

ON_IB(evd_wait__one_deadline)
{
	both(w, check_one_deadline);
}

/* ----------------------------------------------- signals */

static void on_signal(int sig)
{
	(void)sig;
}

static void check_signal(struct world *w, DAT_EVD_HANDLE evd)
{
	struct waiter t;

	waiter_start(&t, evd, DAT_TIMEOUT_INFINITE, 1);
	/* The waiter may be on its way to sleep: until it is caught there. */
	while (world_evd_is_waited_for(evd)) {
		pthread_kill(t.thread, SIGUSR1);
		world_pause();
	}
	waiter_end(&t, DAT_INTERRUPTED_CALL);
	assert_int_equal(t.more, 0);
	/* And it can be waited on as before. */
	world_post_se(evd, w);
	expect_event(evd, DAT_SOFTWARE_EVENT);
}

ON_IB(evd_wait__signal_with_restart)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	sigaction(SIGUSR1, &sa, NULL);
	both(w, check_signal);
}

/* ----------------------------------------- end of a wait */

/* Nothing else would end that wait. */
static void check_unwaitable(struct world *w, DAT_EVD_HANDLE evd)
{
	struct waiter t;

	waiter_start(&t, evd, DAT_TIMEOUT_INFINITE, 1);
	assert_dat_ok(V(evd_set_unwaitable)(evd));
	waiter_end(&t, DAT_INVALID_STATE);
}

ON_IB(evd_wait__unwaitable)
{
	both(w, check_unwaitable);
}

/* For a waiter that sleeps and does not get to run. */
static int held; /* atomic; 1: hold it, 2: it is held, 0: let it go */

static void hold_thread(int sig)
{
	int one = 1;

	(void)sig;
	if (!__atomic_compare_exchange_n(&held, &one, 2, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	while (__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		world_pause();
}

static void check_unwaitable_for_a_moment(struct world *w, DAT_EVD_HANDLE evd)
{
	struct sigaction sa = {.sa_handler = hold_thread};
	struct waiter t;

	sigaction(SIGUSR2, &sa, NULL);
	waiter_start(&t, evd, DAT_TIMEOUT_INFINITE, 1);
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	/* Again and again: a thread sanitizer may keep one to itself. */
	while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) != 2) {
		pthread_kill(t.thread, SIGUSR2);
		world_pause();
	}
	assert_dat_ok(V(evd_set_unwaitable)(evd));
	assert_dat_ok(V(evd_clear_unwaitable)(evd));
	__atomic_store_n(&held, 0, __ATOMIC_RELEASE);
	waiter_end(&t, DAT_INVALID_STATE);
	assert_int_equal(t.ret, DAPL_BAD_STATE(EVD_UNWAITABLE));
	/* It is over with that wait. */
	waiter_start(&t, evd, DAT_TIMEOUT_INFINITE, 1);
	world_post_se(evd, w);
	waiter_end(&t, DAT_SUCCESS);
}

ON_IB(evd_wait__unwaitable_for_a_moment)
{
	both(w, check_unwaitable_for_a_moment);
}

static void check_second_waiter(struct world *w, DAT_EVD_HANDLE evd)
{
	struct waiter t;
	DAT_COUNT more;
	DAT_EVENT ev;

	waiter_start(&t, evd, DAT_TIMEOUT_INFINITE, 1);
	assert_refused(wait_for(evd, 0, 1, &more), DAPL_BAD_STATE(EVD_WAITER));
	assert_refused(wait_for(evd, DAT_TIMEOUT_INFINITE, 1, &more),
		       DAPL_BAD_STATE(EVD_WAITER));
	assert_refused(V(evd_dequeue)(evd, &ev), DAPL_BAD_STATE(EVD_WAITER));
	assert_refused(V(evd_free)(evd), DAPL_BAD_STATE(EVD_WAITER));
	assert_refused(V(evd_resize)(evd, 100), DAPL_ERR(DAT_INVALID_STATE, 0));
	world_post_se(evd, w);
	waiter_end(&t, DAT_SUCCESS);
	assert_dat_ok(V(evd_free)(evd));
}

ON_IB(evd_wait__second_waiter_on_each)
{
	both(w, check_second_waiter);
}

/* ------------------------------------------- many threads */

struct crowd {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	int *taken; /* atomic */
	int total;
	bool dequeue;
};

/* Takes events, now by waiting and now by dequeue, until all are taken. */
static void *take_part(void *arg)
{
	struct crowd *c = arg;
	DAT_EVENT ev;
	DAT_COUNT more;
	DAT_RETURN ret;

	while (__atomic_load_n(c->taken, __ATOMIC_RELAXED) < c->total) {
		ret = c->dequeue ? V(evd_dequeue)(c->evd, &ev)
				 : V(evd_wait)(c->evd, 200, 1, &ev, &more);
		if (ret == DAT_SUCCESS)
			__atomic_add_fetch(c->taken, 1, __ATOMIC_RELAXED);
		else if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
			sched_yield(); /* another one waits */
	}
	return NULL;
}

ON_IB(evd_wait__crowd)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, WITH_CQ);
	DAT_EVENT se = {.event_number = DAT_SOFTWARE_EVENT};
	struct crowd all[4];
	int taken = 0;

	s->recv_evd = evd;
	world_connect(w);
	for (int i = 0; i < 4; i++) {
		all[i] = (struct crowd){.evd = evd,
					.taken = &taken,
					.total = 1000,
					.dequeue = i & 1};
		pthread_create(&all[i].thread, NULL, take_part, &all[i]);
	}
	for (int i = 0; i < 500; i++) {
		world_until(V(evd_post_se)(evd, &se) == DAT_SUCCESS);
		world_recv(s, 0, 64, 1);
		world_send(c, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG);
		expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
		/* No more receives than the EP has room for. */
		world_until(__atomic_load_n(&taken, __ATOMIC_RELAXED) >
			    2 * i - 16);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(all[i].thread, NULL);
	assert_int_equal(taken, 1000);
	expect_empty(evd);
}

/* The queue grows under a thread that waits. */
ON_IB(evd_wait__while_the_queue_grows)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, WITH_CQ);
	int taken = 0;
	struct crowd one = {.evd = evd, .taken = &taken, .total = 20};

	pthread_create(&one.thread, NULL, take_part, &one);
	s->recv_evd = s->req_evd = evd;
	for (int i = 0; i < 20; i++) {
		world_ep(s, NULL);
		world_post_se(evd, w);
	}
	pthread_join(one.thread, NULL);
	assert_int_equal(taken, 20);
}

/* No file can be opened from here on, or again. */
static void forbid_files(bool forbid)
{
	static struct rlimit before;
	struct rlimit limit;

	if (forbid) {
		assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
		limit = before;
		limit.rlim_cur = 3; /* more than poll() is given */
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(dup(0), -1);
	} else {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	}
}

static void check_no_descriptor(struct world *w, DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;

	forbid_files(true);
	check_post_wakes(w, evd);
	assert_int_equal(DAT_GET_TYPE(wait_for(evd, 30000, 1, &more)),
			 DAT_TIMEOUT_EXPIRED);
	forbid_files(false);
}

ON_IB(evd_wait__no_descriptor_left)
{
	both(w, check_no_descriptor);
}

ON_IB(evd_cno__no_descriptor_left)
{
	DAT_IA_HANDLE ia = s->ia;
	DAT_EVD_HANDLE evd, named = NULL;
	DAT_CNO_HANDLE cno = NULL;

	cno = world_cno(ia);
	forbid_files(true);
	/* One that nobody waits on needs none. */
	evd = world_evd(ia, PLAIN);
	assert_refused(V(evd_create)(ia, WORLD_QLEN, cno, PLAIN, &named),
		       DAPL_ERR(DAT_INSUFFICIENT_RESOURCES, 0));
	assert_refused(V(evd_modify_cno)(evd, cno),
		       DAPL_ERR(DAT_INSUFFICIENT_RESOURCES, 0));
	forbid_files(false);
	world_post_se(evd, w);
	assert_dat_ok(V(evd_modify_cno)(evd, cno));
	assert_dat_ok(V(cno_wait)(cno, 0, &named));
	assert_ptr_equal(named, evd);
	/* Refusals have left nothing that holds the CNO. */
	assert_dat_ok(V(evd_free)(evd));
	assert_dat_ok(V(cno_free)(cno));
}

RUN_CASES(NULL, NULL)
