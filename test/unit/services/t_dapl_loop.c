/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_loop.c - tests of the service thread.
 *
 * Calls covered: everything in dapl_loop.h.
 * Callbacks and tests meet at semaphores; nothing sleeps for a guess. Where a
 * test must know that another thread has blocked, it reads that thread's state
 * from /proc. Asserts are made by the main thread only.
 * The linker wraps what dapl_loop_open() calls, to make the n-th call fail,
 * and epoll_wait(), to see with which timeout the thread sleeps.
 */
#include "dapl/common/services/dapl_loop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/case.h"

#define MS(n)	 ((n)*UINT64_C(1000))
#define PATIENCE 20 /* seconds until a test gives up on an event */

/* The wrapped functions. */

static int fail_in; /* the n-th call from now fails; 0: none */
static int last_timeout = -2;
static int sleeps;	     /* calls of epoll_wait() */
static uint64_t sleep_until; /* of the last call with a timeout */

static bool fails(void)
{
	return fail_in && !--fail_in;
}

#define WRAP(ret_type, name, params, args, err, ret) \
	ret_type __real_##name params;               \
	ret_type __wrap_##name params;               \
	ret_type __wrap_##name params                \
	{                                            \
		if (!fails())                        \
			return __real_##name args;   \
		errno = (err);                       \
		return ret;                          \
	}

WRAP(void *, calloc, (size_t n, size_t size), (n, size), ENOMEM, NULL)
WRAP(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size),
     ENOMEM, NULL)
WRAP(int, epoll_create1, (int flags), (flags), EMFILE, -1)
WRAP(int, epoll_ctl, (int ep, int op, int fd, struct epoll_event *ev),
     (ep, op, fd, ev), ENOSPC, -1)
WRAP(int, eventfd, (unsigned n, int flags), (n, flags), EMFILE, -1)
WRAP(int, pthread_create,
     (pthread_t * t, const pthread_attr_t *a, void *(*fn)(void *), void *arg),
     (t, a, fn, arg), EAGAIN, EAGAIN)

int __real_epoll_wait(int fd, struct epoll_event *ev, int n, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *ev, int n, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *ev, int n, int timeout)
{
	if (timeout > 0)
		__atomic_store_n(&sleep_until,
				 dapl_now_us() + MS((uint64_t)timeout),
				 __ATOMIC_RELEASE);
	__atomic_store_n(&last_timeout, timeout, __ATOMIC_RELEASE);
	__atomic_add_fetch(&sleeps, 1, __ATOMIC_RELEASE);
	return __real_epoll_wait(fd, ev, n, timeout);
}

/* Helpers. */

static struct dapl_loop *loop;

static bool wait_sem(sem_t *sem)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += PATIENCE;
	while (sem_timedwait(sem, &ts))
		if (errno != EINTR)
			return false;
	return true;
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* 'S' for a thread that sleeps in the kernel. */
static char thread_state(pid_t tid)
{
	char path[64], text[256], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return '?';
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')');
	return p && p[1] ? p[2] : '?';
}

/* A foreign thread that makes one call, and what the test sees of it. */
struct caller {
	void (*call)(void *arg);
	void *arg;
	pthread_t thread;
	pid_t tid;
	bool returned;
	bool callback_had_ended; /* when the call returned */
};

static bool callback_ended;

static void *caller_main(void *arg)
{
	struct caller *c = arg;

	__atomic_store_n(&c->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	c->call(c->arg);
	c->callback_had_ended =
		__atomic_load_n(&callback_ended, __ATOMIC_ACQUIRE);
	__atomic_store_n(&c->returned, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Comes back when the call has returned or has blocked. */
static void caller_start(struct caller *c)
{
	pid_t tid;

	c->tid = 0;
	c->returned = false;
	assert_int_equal(pthread_create(&c->thread, NULL, caller_main, c), 0);
	while (!(tid = __atomic_load_n(&c->tid, __ATOMIC_ACQUIRE)))
		sched_yield();
	while (!__atomic_load_n(&c->returned, __ATOMIC_ACQUIRE) &&
	       thread_state(tid) != 'S')
		sched_yield();
}

/* One object of each kind whose callback stays until the test lets it go. */
static struct dapl_watch watch;
static struct dapl_timer timer;
static struct dapl_work work;
static sem_t entered, gate;
static bool again; /* the callback asks for another run */
static int runs;

static void stay(void)
{
	__atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
	sem_post(&entered);
	while (sem_wait(&gate))
		;
	__atomic_store_n(&callback_ended, true, __ATOMIC_RELEASE);
}

static void stay_watch(struct dapl_watch *w, uint32_t events)
{
	stay();
}

static void stay_timer(struct dapl_timer *t)
{
	stay();
	if (again)
		dapl_timer_arm(loop, t, 0);
}

static void stay_work(struct dapl_work *w)
{
	stay();
	if (again)
		dapl_loop_defer(loop, w);
}

static void call_del(void *arg)
{
	dapl_loop_del(loop, arg);
}

static void call_timer_cancel(void *arg)
{
	dapl_timer_cancel(loop, arg);
}

static void call_work_cancel(void *arg)
{
	dapl_work_cancel(loop, arg);
}

static void call_barrier(void *arg)
{
	dapl_loop_barrier(loop);
}

static struct {
	struct dapl_timer *t;
	uint64_t deadline;
	uint64_t at;
} fired[512];
static unsigned fired_count;
static unsigned fired_goal;

static int setup(void **state)
{
	sem_init(&entered, 0, 0);
	sem_init(&gate, 0, 0);
	callback_ended = false;
	again = false;
	runs = 0;
	fired_count = 0;
	return 0;
}

static int open_loop(void **state)
{
	setup(state);
	return dapl_loop_open("test-loop", &loop);
}

static int close_loop(void **state)
{
	dapl_loop_close(loop);
	loop = NULL;
	return 0;
}

#define T(name) CASE_WITH(name, open_loop, close_loop)

static void add(struct dapl_watch *w, void (*fn)(struct dapl_watch *, uint32_t),
		int fd, uint32_t events)
{
	*w = (struct dapl_watch){.fn = fn, .fd = -1};
	assert_int_equal(dapl_loop_add(loop, w, fd, events), 0);
}

static void arm(struct dapl_timer *t, void (*fn)(struct dapl_timer *),
		uint64_t deadline_us)
{
	dapl_timer_init(t, fn);
	assert_int_equal(dapl_timer_arm(loop, t, deadline_us), 0);
}

static void defer(struct dapl_work *w, void (*fn)(struct dapl_work *))
{
	dapl_work_init(w, fn);
	dapl_loop_defer(loop, w);
}

static void wait_entered(void)
{
	assert_true(wait_sem(&entered));
}

/* The service thread stays in BLOCKER until the gate opens. */
static void block(struct dapl_work *blocker)
{
	defer(blocker, stay_work);
	wait_entered();
}

/* The callback of C's object is running: the call must wait for its end. */
static void must_wait_for_callback(struct caller *c)
{
	bool early;

	wait_entered();
	caller_start(c);
	early = __atomic_load_n(&c->returned, __ATOMIC_ACQUIRE);
	sem_post(&gate);
	assert_int_equal(pthread_join(c->thread, NULL), 0);
	assert_false(early);
	assert_true(c->callback_had_ended);
	assert_int_equal(runs, 1);
}

static void sync_work(struct dapl_work *w)
{
	sem_post(&entered);
}

/* Two rounds through the loop: everything that was due has run. */
static void settle(void)
{
	struct dapl_work w;

	for (int i = 0; i < 2; i++) {
		defer(&w, sync_work);
		wait_entered();
		dapl_work_cancel(loop, &w);
	}
}

/* Descriptors. */

static int readable_fd(void)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	assert_true(fd >= 0);
	return fd;
}

static uint32_t seen_events;
static bool seen_here;

static void consume(struct dapl_watch *w, uint32_t events)
{
	uint64_t v;
	ssize_t n = read(w->fd, &v, sizeof(v));

	(void)n;
	seen_events = events;
	seen_here = dapl_loop_here(loop);
	runs++;
	sem_post(&entered);
}

T(add__calls_back_on_the_service_thread)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	uint64_t one = 1;

	add(&watch, consume, fd, EPOLLIN);
	assert_int_equal(watch.fd, fd);
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
	wait_entered();
	dapl_loop_del(loop, &watch);
	assert_int_equal(watch.fd, -1);
	assert_int_equal(seen_events, EPOLLIN);
	assert_true(seen_here);
	assert_false(dapl_loop_here(loop));
	assert_false(dapl_loop_here(NULL));
	assert_int_equal(runs, 1);
	close(fd);
}

T(add__is_level_triggered)
{
	int fd = readable_fd();
	uint64_t v;

	add(&watch, stay_watch, fd, EPOLLIN);
	wait_entered();
	sem_post(&gate);
	wait_entered(); /* nobody has read it */
	assert_int_equal(read(fd, &v, sizeof(v)), sizeof(v));
	sem_post(&gate);
	dapl_loop_del(loop, &watch);
	assert_int_equal(runs, 2);
	close(fd);
}

T(add__errors_leave_nothing)
{
	int fd = readable_fd(), file;

	watch = (struct dapl_watch){.fn = consume, .fd = -1};
	assert_int_equal(dapl_loop_add(loop, &watch, -1, EPOLLIN), -EBADF);
	assert_int_equal(watch.fd, -1);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dapl_loop_add(loop, &watch, file, EPOLLIN), -EPERM);
	close(file);
	assert_int_equal(dapl_loop_mod(loop, &watch, EPOLLIN), -ENOENT);
	dapl_loop_del(loop, &watch); /* not added: does nothing */
	assert_int_equal(dapl_loop_add(loop, &watch, fd, 0), 0);
	assert_int_equal(dapl_loop_add(loop, &watch, fd, 0), -EALREADY);
	dapl_loop_del(loop, &watch);
	close(fd);
}

T(mod__switches_events)
{
	int fd = readable_fd();

	add(&watch, consume, fd, 0);
	settle();
	assert_int_equal(runs, 0);
	assert_int_equal(dapl_loop_mod(loop, &watch, EPOLLIN), 0);
	wait_entered();
	dapl_loop_del(loop, &watch);
	assert_int_equal(runs, 1);
	close(fd);
}

T(del__waits_for_a_running_callback)
{
	struct caller c = {.call = call_del, .arg = &watch};
	int fd = readable_fd();

	add(&watch, stay_watch, fd, EPOLLIN);
	must_wait_for_callback(&c);
	close(fd);
}

/* Another object's callback is no reason to wait. */
T(del__does_not_wait_for_others)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	dapl_work_init(&work, stay_work);
	add(&watch, consume, fd, EPOLLIN);
	dapl_loop_defer(loop, &work);
	wait_entered();
	dapl_loop_del(loop, &watch); /* would hang if it waited */
	sem_post(&gate);
	dapl_work_cancel(loop, &work);
	close(fd);
}

/* Two descriptors are ready at once; the first callback deletes the other. */
static struct dapl_watch pair[2];
static struct dapl_watch heirs[2];
static int quiet_fds[2]; /* never readable */

static void del_other(struct dapl_watch *w, uint32_t events)
{
	struct dapl_watch *other = w == &pair[0] ? &pair[1] : &pair[0];

	dapl_loop_del(loop, other);
	dapl_loop_del(loop, w); /* itself: must return at once */
	/* These get the places of the two, and must not get their events. */
	for (int i = 0; i < 2; i++) {
		heirs[i] = (struct dapl_watch){.fn = consume, .fd = -1};
		dapl_loop_add(loop, &heirs[i], quiet_fds[i], EPOLLIN);
	}
	other->fn = NULL;
	w->fn = NULL;
	runs++;
	sem_post(&entered);
}

T(del__in_a_callback_drops_fetched_events)
{
	int fds[2] = {readable_fd(), readable_fd()};

	for (int i = 0; i < 2; i++)
		quiet_fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	block(&work); /* both get ready meanwhile */
	for (int i = 0; i < 2; i++)
		add(&pair[i], del_other, fds[i], EPOLLIN);
	sem_post(&gate);
	wait_entered();
	settle();
	assert_int_equal(runs, 2); /* the work and one of the pair */
	for (int i = 0; i < 2; i++) {
		dapl_loop_del(loop, &heirs[i]);
		close(quiet_fds[i]);
		close(fds[i]);
	}
}

T(add__many_and_reuse)
{
	enum {
		N = 100
	};
	struct dapl_watch *w = calloc(N, sizeof(*w));
	int fd[N], i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < N; i++) {
			fd[i] = readable_fd();
			add(&w[i], consume, fd[i], EPOLLIN);
		}
		for (i = 0; i < N; i++)
			wait_entered();
		for (i = 0; i < N; i++) {
			dapl_loop_del(loop, &w[i]);
			close(fd[i]);
		}
	}
	assert_int_equal(runs, 2 * N);
	free(w);
}

T(add__without_memory)
{
	int fd = readable_fd(), i;

	watch = (struct dapl_watch){.fn = consume, .fd = -1};
	fail_in = 1; /* the slots */
	assert_int_equal(dapl_loop_add(loop, &watch, fd, EPOLLIN), -ENOMEM);
	fail_in = 2; /* epoll_ctl() */
	assert_int_equal(dapl_loop_add(loop, &watch, fd, EPOLLIN), -ENOSPC);
	assert_int_equal(watch.fd, -1);
	for (i = 0; i < 2; i++) {
		assert_int_equal(dapl_loop_add(loop, &watch, fd, 0), 0);
		dapl_loop_del(loop, &watch);
	}
	close(fd);
}

/* Timers. */

static void record(struct dapl_timer *t)
{
	fired[fired_count].t = t;
	fired[fired_count].deadline = t->deadline_us;
	fired[fired_count].at = dapl_now_us();
	if (++fired_count == fired_goal)
		sem_post(&entered);
}

T(timer__fires_once_and_not_early)
{
	uint64_t deadline = dapl_now_us() + MS(5);

	fired_goal = 1;
	arm(&timer, record, deadline);
	wait_entered();
	settle();
	assert_int_equal(fired_count, 1);
	assert_true(fired[0].at >= deadline);
	assert_int_equal(timer.heap_index, 0);
}

T(timer__many_fire_in_order)
{
	enum {
		N = 300
	};
	struct dapl_timer *t = calloc(N, sizeof(*t));
	uint64_t base = dapl_now_us() + MS(20);
	unsigned i, seed = 12345;

	fired_goal = N - N / 3;
	for (i = 0; i < N; i++) {
		dapl_timer_init(&t[i], record);
		seed = seed * 1103515245 + 12345;
		assert_int_equal(dapl_timer_arm(loop, &t[i],
						base + (seed >> 16) % 20000),
				 0);
	}
	for (i = 0; i < N; i++) {
		if (i % 3 == 0) /* from all places of the heap */
			dapl_timer_cancel(loop, &t[i]);
		else if (i % 3 == 1) /* later than any other was */
			assert_int_equal(dapl_timer_arm(loop, &t[i],
							base + 20000 + (N - i)),
					 0);
	}
	wait_entered();
	settle();
	assert_int_equal(fired_count, N - N / 3);
	for (i = 0; i < fired_count; i++) {
		assert_true((fired[i].t - t) % 3 != 0);
		assert_true(fired[i].at >= fired[i].deadline);
		if (i)
			assert_true(fired[i - 1].deadline <= fired[i].deadline);
	}
	free(t);
}

/* It would have to wake the thread out of a sleep that is hours long. */
T(timer__earlier_one_shortens_the_sleep)
{
	struct dapl_timer far, near;

	fired_goal = 1;
	arm(&far, record, dapl_now_us() + MS(3600000));
	settle();
	arm(&near, record, dapl_now_us() + MS(1));
	wait_entered();
	assert_ptr_equal(fired[0].t, &near);
	dapl_timer_cancel(loop, &far);
	assert_int_equal(far.heap_index, 0);
}

T(timer__extreme_deadlines)
{
	struct dapl_timer past, never;

	fired_goal = 1;
	arm(&never, record, UINT64_MAX);
	arm(&past, record, 0);
	wait_entered();
	settle();
	assert_int_equal(fired_count, 1);
	dapl_timer_cancel(loop, &never);
}

T(timer__cancel_waits_for_a_running_callback)
{
	struct caller c = {.call = call_timer_cancel, .arg = &timer};

	arm(&timer, stay_timer, 0);
	must_wait_for_callback(&c);
}

/* The callback has armed it again: cancel must take that back too. */
T(timer__cancel_beats_rearming)
{
	struct caller c = {.call = call_timer_cancel, .arg = &timer};

	again = true;
	arm(&timer, stay_timer, 0);
	must_wait_for_callback(&c);
	settle();
	assert_int_equal(runs, 1);
	assert_int_equal(timer.heap_index, 0);
}

static void free_timer(struct dapl_timer *t)
{
	dapl_timer_cancel(loop, t); /* itself: returns at once */
	free(t);
	sem_post(&entered);
}

T(timer__callback_may_free_it)
{
	struct dapl_timer *t = calloc(1, sizeof(*t));

	arm(t, free_timer, 0);
	wait_entered();
	settle();
}

static void set_done(struct dapl_work *w)
{
	callback_ended = true;
}

/* Always due, until the work it has queued was run. */
static void rearm_past(struct dapl_timer *t)
{
	if (!runs++)
		dapl_loop_defer(loop, &work);
	if (!callback_ended && runs < 1000000)
		dapl_timer_arm(loop, t, 0);
	else
		sem_post(&entered);
}

T(timer__does_not_starve_others)
{
	dapl_work_init(&work, set_done);
	arm(&timer, rearm_past, 0);
	wait_entered();
	dapl_timer_cancel(loop, &timer);
	assert_true(runs < 10);
}

/* Else it would spin through the last fraction of a millisecond. */
T(timer__sleep_covers_the_deadline)
{
	uint64_t deadline, until;

	dapl_timer_init(&timer, record);
	__atomic_store_n(&last_timeout, -2, __ATOMIC_RELEASE);
	settle();
	while (__atomic_load_n(&last_timeout, __ATOMIC_ACQUIRE) != -1)
		sched_yield();
	for (int i = 0; i < 50; i++) {
		__atomic_store_n(&sleep_until, 0, __ATOMIC_RELEASE);
		deadline = dapl_now_us() + MS(3600000) + 20 * (unsigned)i;
		assert_int_equal(dapl_timer_arm(loop, &timer, deadline), 0);
		/* One wake-up, one new sleep. */
		while (!(until = __atomic_load_n(&sleep_until,
						 __ATOMIC_ACQUIRE)))
			sched_yield();
		assert_true(until >= deadline);
	}
	dapl_timer_cancel(loop, &timer);
}

/*
 * A heap of six levels whose left half is late. When the first leaves there
 * are cancelled, the last ones of the right half take their places and have
 * to go up, or they would fire after those of the right half that are MID.
 */
static uint64_t shaped(unsigned i)
{
	static const bool early_parent[] = {
		[3] = true,  [7] = true,  [14] = true, [15] = true,
		[28] = true, [29] = true, [30] = true, [31] = true};
	unsigned top = i;

	if (i == 1)
		return 0;
	while (top > 3)
		top /= 2;
	if (top == 2)
		return MS(20) + i;
	if (i >= 56 || (i < 32 && early_parent[i]))
		return i;
	return MS(10) + i;
}

T(timer__cancel_keeps_the_order)
{
	enum {
		N = 63,
		GONE = 8
	};
	uint64_t base = dapl_now_us() + MS(20);
	struct dapl_timer t[N + 1];

	fired_goal = N - GONE;
	for (unsigned i = 1; i <= N; i++)
		arm(&t[i], record, base + shaped(i));
	for (unsigned i = 32; i < 32 + GONE; i++)
		dapl_timer_cancel(loop, &t[i]);
	wait_entered();
	settle();
	assert_int_equal(fired_count, N - GONE);
	for (unsigned i = 1; i < fired_count; i++)
		assert_true(fired[i - 1].deadline <= fired[i].deadline);
}

T(timer__without_memory)
{
	dapl_timer_init(&timer, record);
	fail_in = 1;
	assert_int_equal(dapl_timer_arm(loop, &timer, 0), -ENOMEM);
	assert_int_equal(timer.heap_index, 0);
	dapl_timer_cancel(loop, &timer);
}

/* Work. */

static void count_work(struct dapl_work *w)
{
	seen_here = dapl_loop_here(loop);
	runs++;
	sem_post(&gate);
}

T(defer__twice_is_one_run)
{
	struct dapl_work blocker;

	block(&blocker);
	defer(&work, sync_work);
	dapl_loop_defer(loop, &work);
	sem_post(&gate);
	wait_entered();
	dapl_work_cancel(loop, &blocker);
	dapl_work_cancel(loop, &work);
	assert_int_equal(sem_trywait(&entered), -1);
	assert_int_equal(errno, EAGAIN);
}

T(defer__again_is_another_run)
{
	defer(&work, count_work);
	assert_true(wait_sem(&gate));
	dapl_loop_defer(loop, &work);
	assert_true(wait_sem(&gate));
	dapl_work_cancel(loop, &work);
	assert_int_equal(runs, 2);
	assert_true(seen_here);
}

static struct dapl_work end_work;
static int runs_at_end;

static void defer_end(struct dapl_work *w)
{
	dapl_loop_defer(loop, &end_work);
}

static void count_one(struct dapl_work *w)
{
	runs++;
}

static void note_end(struct dapl_work *w)
{
	runs_at_end = runs;
	sem_post(&entered);
}

T(defer__end_of_the_round_is_behind_what_was_queued)
{
	struct dapl_work blocker, first;

	dapl_work_init_at_end(&end_work, note_end);
	block(&blocker);
	defer(&first, defer_end);
	defer(&work, count_one);
	sem_post(&gate);
	wait_entered();
	dapl_work_cancel(loop, &blocker);
	dapl_work_cancel(loop, &first);
	dapl_work_cancel(loop, &work);
	dapl_work_cancel(loop, &end_work);
	assert_int_equal(runs_at_end, 2); /* the blocker and WORK */
}

T(work_cancel__before_the_run)
{
	struct dapl_work blocker;

	block(&blocker);
	defer(&work, count_work);
	dapl_work_cancel(loop, &work);
	sem_post(&gate);
	settle();
	assert_int_equal(runs, 1); /* the blocker's */
	assert_false(work.queued);
}

T(work_cancel__waits_for_a_running_callback)
{
	struct caller c = {.call = call_work_cancel, .arg = &work};

	defer(&work, stay_work);
	must_wait_for_callback(&c);
}

T(work_cancel__beats_requeueing)
{
	struct caller c = {.call = call_work_cancel, .arg = &work};

	again = true;
	defer(&work, stay_work);
	must_wait_for_callback(&c);
	settle();
	assert_int_equal(runs, 1);
	assert_false(work.queued);
}

static void free_and_stay(struct dapl_timer *t)
{
	free(t);
	dapl_loop_barrier(loop); /* for itself: returns at once */
	stay();
}

/* Nothing is done to what the callback has freed. */
T(barrier__waits_for_a_callback_that_freed_its_object)
{
	struct caller c = {.call = call_barrier};
	struct dapl_timer *t = calloc(1, sizeof(*t));

	arm(t, free_and_stay, 0);
	must_wait_for_callback(&c);
	settle();
	dapl_loop_barrier(loop);
}

/* Open, close, idleness. */

T(idle__sleeps_without_timeout)
{
	int before;

	settle();
	/* The last turn of settle() is followed by one sleep without end. */
	while (__atomic_load_n(&last_timeout, __ATOMIC_ACQUIRE) != -1)
		sched_yield();
	before = __atomic_load_n(&sleeps, __ATOMIC_ACQUIRE);
	arm(&timer, record, UINT64_MAX);
	settle();
	dapl_timer_cancel(loop, &timer);
	/* One wake-up for the timer, at most three a round of settle(). */
	assert_true(__atomic_load_n(&sleeps, __ATOMIC_ACQUIRE) - before < 10);
}

static void chain(struct dapl_work *w)
{
	if (++runs < 5)
		dapl_loop_defer(loop, w);
}

CASE_WITH(close__runs_what_is_queued, setup, NULL)
{
	struct dapl_work blocker, last;

	assert_int_equal(dapl_loop_open("x", &loop), 0);
	block(&blocker);
	defer(&last, chain); /* and what that queues */
	sem_post(&gate);
	dapl_loop_close(loop);
	assert_int_equal(runs, 5); /* 1 of the blocker, 4 of the chain */
	dapl_loop_close(NULL);
}

CASE_WITH(loop_open__nth_call_fails, setup, NULL)
{
	struct dapl_loop *l = (void *)&fired;
	int before = open_fds(), n, ret;

	for (n = 1;; n++) {
		fail_in = n;
		ret = dapl_loop_open("a name of more than 15 bytes", &l);
		if (!ret)
			break;
		assert_true(ret == -ENOMEM || ret == -EMFILE || ret == -ENOSPC);
		assert_ptr_equal(l, &fired); /* not written */
		assert_int_equal(open_fds(), before);
	}
	fail_in = 0;
	/* calloc twice, epoll_create1, eventfd, epoll_ctl, pthread_create */
	assert_true(n >= 7);
	dapl_loop_close(l);
	assert_int_equal(open_fds(), before);
}

CASE_WITH(open__thread_takes_no_signals, setup, NULL)
{
	struct timespec patience = {.tv_sec = PATIENCE};
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
	assert_int_equal(dapl_loop_open("x", &loop), 0);
	/* Would end the process if the service thread took them. */
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	settle();
	assert_true(sigtimedwait(&set, NULL, &patience) > 0);
	assert_true(sigtimedwait(&set, NULL, &patience) > 0);
	dapl_loop_close(loop);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
}

/* Exit status 0 if all is as the header says. */
static int in_child(int fd)
{
	struct dapl_watch other = {.fn = consume, .fd = -1};

	alarm(60);
	if (dapl_loop_add(loop, &other, fd, EPOLLIN) != -EOPNOTSUPP)
		return 1;
	if (dapl_loop_mod(loop, &watch, EPOLLIN) != -EOPNOTSUPP)
		return 2;
	if (dapl_timer_arm(loop, &timer, 0) != -EOPNOTSUPP)
		return 3;
	dapl_loop_del(loop, &watch);
	if (watch.fd != -1)
		return 4;
	dapl_timer_cancel(loop, &timer);
	if (timer.heap_index)
		return 5;
	dapl_work_cancel(loop, &work);
	dapl_loop_defer(loop, &work);
	if (work.queued)
		return 6;
	dapl_loop_close(loop);
	return 0;
}

/*
 * The service thread is inside a callback at the time of the fork, and the
 * child's copy of the loop says so for ever.
 */
CASE_WITH(fork__child_can_clean_up_and_parent_goes_on, setup, NULL)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), status;
	struct dapl_work blocker;
	uint64_t one = 1;
	pid_t pid;

	assert_int_equal(dapl_loop_open("x", &loop), 0);
	add(&watch, consume, fd, EPOLLIN);
	arm(&timer, record, UINT64_MAX);
	dapl_work_init(&work, sync_work);
	block(&blocker);
	pid = fork();
	if (!pid)
		_exit(in_child(fd));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	sem_post(&gate);
	/* The child's del has not taken it out of the parent's epoll set. */
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
	wait_entered();
	dapl_loop_del(loop, &watch);
	dapl_timer_cancel(loop, &timer);
	dapl_loop_close(loop);
	close(fd);
}

/*
 * Stress: objects are freed as soon as del or cancel has returned. Goes on
 * until callbacks were in it: all rounds may fit before the service thread's
 * first turn.
 */

#define STRESS_THREADS 4
#define STRESS_ROUNDS  400
#define STRESS_RUNS    100

struct victim {
	struct dapl_watch w;
	struct dapl_timer t;
	struct dapl_work work;
	int guard; /* plain: only the synchronisation of the loop protects it */
};

static int stress_runs;

static bool stress_ran(void)
{
	return __atomic_load_n(&stress_runs, __ATOMIC_RELAXED) > STRESS_RUNS;
}

static void victim_touch(struct victim *v)
{
	v->guard++;
	__atomic_add_fetch(&stress_runs, 1, __ATOMIC_RELAXED);
}

static void victim_watch(struct dapl_watch *w, uint32_t events)
{
	victim_touch(dapl_container_of(w, struct victim, w));
}

static void victim_timer(struct dapl_timer *t)
{
	struct victim *v = dapl_container_of(t, struct victim, t);

	victim_touch(v);
	dapl_timer_arm(loop, t, dapl_now_us() + (unsigned)v->guard % 3);
}

static void victim_work(struct dapl_work *w)
{
	struct victim *v = dapl_container_of(w, struct victim, work);

	victim_touch(v);
	if (v->guard & 1)
		dapl_loop_defer(loop, w);
}

static void *stress(void *arg)
{
	intptr_t bad = 0;
	int fd = eventfd(1, EFD_CLOEXEC), i;
	struct victim *v;

	for (i = 0; i < STRESS_ROUNDS || !stress_ran(); i++) {
		v = calloc(1, sizeof(*v));
		v->w.fn = victim_watch;
		v->w.fd = -1;
		dapl_timer_init(&v->t, victim_timer);
		dapl_work_init(&v->work, victim_work);
		bad += !!dapl_loop_add(loop, &v->w, fd, EPOLLIN);
		bad += !!dapl_timer_arm(loop, &v->t, 0);
		dapl_loop_defer(loop, &v->work);
		if (i % 4)
			sched_yield();
		dapl_work_cancel(loop, &v->work);
		dapl_timer_cancel(loop, &v->t);
		dapl_loop_del(loop, &v->w);
		v->guard = -1;
		free(v);
	}
	close(fd);
	return (void *)bad;
}

T(stress__nothing_runs_after_del_and_cancel)
{
	pthread_t t[STRESS_THREADS];
	void *bad;

	stress_runs = 0;
	for (int i = 0; i < STRESS_THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, stress, NULL), 0);
	for (int i = 0; i < STRESS_THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &bad), 0);
		assert_null(bad);
	}
	assert_true(stress_ran());
}

RUN_CASES(NULL, NULL)
