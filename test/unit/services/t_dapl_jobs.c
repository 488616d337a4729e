/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_jobs.c - tests of the helper threads.
 *
 * Calls covered: everything in dapl_jobs.h. A job of the tests stays inside
 * run() until the test lets it go, so what is true meanwhile is no matter of
 * time. pthread_create() fails on demand. Wake-ups of sleepers are counted. The
 * clock of the jobs can be stopped, and then moves when a test says so.
 */
#include "dapl/common/services/dapl_jobs.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/unit/case.h"

#define PATIENCE_S 30
#define MANY	   (3 * DAPL_JOBS_HELPERS)

static struct dapl_loop *loop;
static bool no_thread;
static int threads; /* atomic; made */

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a,
			  void *(*fn)(void *), void *arg)
{
	__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return no_thread ? EAGAIN : __real_pthread_create(t, a, fn, arg);
}

static int woken_one, woken_all; /* atomic */

void __real_dapl__futex_wake_one(const int *word);
void __wrap_dapl__futex_wake_one(const int *word);
void __wrap_dapl__futex_wake_one(const int *word)
{
	__atomic_add_fetch(&woken_one, 1, __ATOMIC_RELAXED);
	__real_dapl__futex_wake_one(word);
}

void __real_dapl__futex_wake_all(const int *word);
void __wrap_dapl__futex_wake_all(const int *word);
void __wrap_dapl__futex_wake_all(const int *word)
{
	__atomic_add_fetch(&woken_all, 1, __ATOMIC_RELAXED);
	__real_dapl__futex_wake_all(word);
}

static uint64_t stopped_us; /* atomic; 0: the clock runs */
static uint64_t ahead_us;   /* atomic; of the one that runs */

uint64_t __real_dapl_now_us(void);
uint64_t __wrap_dapl_now_us(void);
uint64_t __wrap_dapl_now_us(void)
{
	uint64_t now = __atomic_load_n(&stopped_us, __ATOMIC_RELAXED);

	if (now)
		return now;
	return __real_dapl_now_us() +
	       __atomic_load_n(&ahead_us, __ATOMIC_RELAXED);
}

static void pass_us(uint64_t us)
{
	bool runs = !__atomic_load_n(&stopped_us, __ATOMIC_RELAXED);

	__atomic_add_fetch(runs ? &ahead_us : &stopped_us, us,
			   __ATOMIC_RELAXED);
}

struct task {
	struct dapl_job job; /* must stay first */
	bool stays;	     /* in run(), until GATE is posted */
	uint64_t takes_us;   /* of the clock, by the way */
	bool ran, ran_on_loop, left, was_done, done_on_loop;
	int place; /* in the order of the beginnings */
};

static sem_t began, gate, done;
static int beginnings; /* atomic */

static void run(struct dapl_job *job)
{
	struct task *t = (struct task *)job;

	t->ran = true;
	t->ran_on_loop = dapl_loop_here(loop);
	t->place = __atomic_fetch_add(&beginnings, 1, __ATOMIC_ACQ_REL);
	sem_post(&began);
	while (t->stays && sem_wait(&gate))
		;
	if (t->takes_us)
		pass_us(t->takes_us);
	t->left = true;
}

static void finish(struct dapl_job *job)
{
	struct task *t = (struct task *)job;

	t->was_done = true;
	t->done_on_loop = dapl_loop_here(loop);
	sem_post(&done);
}

static void await(sem_t *sem)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += PATIENCE_S;
	while (sem_timedwait(sem, &ts))
		if (errno != EINTR)
			fail_msg("nothing happened");
}

static void start(struct task *t, bool stays)
{
	*t = (struct task){.stays = stays};
	dapl_job_init(&t->job, run, finish);
	dapl_job_start(loop, &t->job);
}

static int setup(void **state)
{
	sem_init(&began, 0, 0);
	sem_init(&gate, 0, 0);
	sem_init(&done, 0, 0);
	beginnings = 0;
	no_thread = false;
	stopped_us = 0;
	ahead_us = 0;
	return dapl_loop_open("test", &loop);
}

static int teardown(void **state)
{
	dapl_loop_close(loop);
	return 0;
}

#define T(name) CASE_WITH(name, setup, teardown)

T(start__runs_on_a_helper_and_ends_on_the_loop)
{
	struct task t;

	start(&t, false);
	await(&done);
	assert_true(t.ran && !t.ran_on_loop);
	assert_true(t.done_on_loop);
}

/* Of many that are idle: each would look whether it is meant. */
T(start__wakes_one_helper)
{
	static struct task t[DAPL_JOBS_HELPERS], one;
	int i;

	for (i = 0; i < DAPL_JOBS_HELPERS; i++)
		start(&t[i], true);
	for (i = 0; i < DAPL_JOBS_HELPERS; i++)
		await(&began);
	for (i = 0; i < DAPL_JOBS_HELPERS; i++)
		sem_post(&gate);
	for (i = 0; i < DAPL_JOBS_HELPERS; i++)
		await(&done);
	__atomic_store_n(&woken_one, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&woken_all, 0, __ATOMIC_RELAXED);
	start(&one, false);
	await(&done);
	assert_true(woken_one <= 1);
	assert_int_equal(woken_all, 0);
}

static struct task of_round[3];
static int woken_in_round;

static void start_some(struct dapl_work *work)
{
	int i;

	for (i = 0; i < 3; i++)
		start(&of_round[i], false);
	woken_in_round = __atomic_load_n(&woken_one, __ATOMIC_RELAXED);
}

/* Else the first would take the processor away from the start of the next. */
T(start__service_thread_wakes_at_the_end_of_its_round)
{
	struct dapl_work work;
	struct task first;

	start(&first, false);
	await(&done);
	__atomic_store_n(&woken_one, 0, __ATOMIC_RELAXED);
	dapl_work_init(&work, start_some);
	dapl_loop_defer(loop, &work);
	for (int i = 0; i < 3; i++)
		await(&done);
	dapl_work_cancel(loop, &work);
	assert_int_equal(woken_in_round, 0);
	for (int i = 0; i < 3; i++)
		assert_true(of_round[i].ran && !of_round[i].ran_on_loop);
}

/*
 * More would take the processor from each other. Another one comes where a busy
 * machine lets none begin for long.
 */
T(start__quick_ones_need_few_helpers)
{
	static struct task t[MANY];

	__atomic_store_n(&threads, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < MANY; i++)
		start(&t[i], false);
	for (int i = 0; i < MANY; i++)
		await(&done);
	assert_true(__atomic_load_n(&threads, __ATOMIC_RELAXED) <
		    DAPL_JOBS_HELPERS / 2);
}

static void sleep_a_bit(struct dapl_job *job)
{
	const struct timespec ts = {.tv_nsec = 1000};

	nanosleep(&ts, NULL);
}

/*
 * Once they are known to sleep, each has its helper at once, and not when
 * nobody has taken it for a while.
 */
T(start__as_many_helpers_as_jobs_that_sleep)
{
	static struct task t[DAPL_JOBS_HELPERS], first;

	__atomic_store_n(&threads, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++) {
		dapl_job_init(&first.job, sleep_a_bit, finish);
		dapl_job_start(loop, &first.job);
		await(&done);
	}
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		start(&t[i], true);
	assert_int_equal(__atomic_load_n(&threads, __ATOMIC_RELAXED),
			 DAPL_JOBS_HELPERS);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		sem_post(&gate);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		await(&done);
}

T(start__one_that_hangs_holds_up_no_other)
{
	struct task hangs, other;

	start(&hangs, true);
	await(&began);
	start(&other, false);
	await(&done);
	assert_true(other.was_done);
	assert_false(hangs.was_done);
	sem_post(&gate);
	await(&done);
	assert_true(hangs.was_done);
}

T(start__no_more_at_once_than_helpers)
{
	static struct task t[MANY];
	int i;

	for (i = 0; i < MANY; i++)
		start(&t[i], true);
	for (i = 0; i < DAPL_JOBS_HELPERS; i++)
		await(&began);
	assert_int_equal(sem_trywait(&began), -1);
	/* One ends, and the next in order begins. */
	for (; i < MANY; i++) {
		sem_post(&gate);
		await(&done);
		await(&began);
		assert_int_equal(t[i].place, i);
	}
	for (i = 0; i < DAPL_JOBS_HELPERS; i++)
		sem_post(&gate);
	for (i = 0; i < DAPL_JOBS_HELPERS; i++)
		await(&done);
}

T(start__without_threads)
{
	struct task t[2];

	no_thread = true;
	start(&t[0], false);
	await(&done);
	assert_true(t[0].ran_on_loop && t[0].done_on_loop);
	/* And with them, once there are some. */
	no_thread = false;
	start(&t[1], false);
	await(&done);
	assert_true(t[1].ran && !t[1].ran_on_loop);
}

static void start_peer(struct task *t, uint64_t peer, bool light)
{
	dapl_job_init(&t->job, run, finish);
	t->job.peer = (struct dapl_job_peer){{peer, 1}};
	t->job.light = light;
	dapl_job_start(loop, &t->job);
}

/* A job that looks for PEER, and takes so long. */
static void start_for(struct task *t, uint64_t peer, uint64_t takes_us)
{
	*t = (struct task){.takes_us = takes_us};
	start_peer(t, peer, true);
}

/* Whether the service thread runs such a job. */
static bool is_on_loop(uint64_t peer, uint64_t takes_us)
{
	struct task t;

	start_for(&t, peer, takes_us);
	await(&done);
	assert_true(t.ran && t.done_on_loop);
	return t.ran_on_loop;
}

#define SECOND 1000000ull

T(peer__found_quickly__next_on_the_loop)
{
	stopped_us = SECOND;
	assert_false(is_on_loop(1, 0));
	assert_true(is_on_loop(1, 0));
	assert_true(is_on_loop(1, 0));
	/* Of another one nothing is known. */
	assert_false(is_on_loop(2, 0));
	assert_true(is_on_loop(2, 0));
}

T(peer__looked_for__next_on_a_helper)
{
	stopped_us = SECOND;
	assert_false(is_on_loop(1, SECOND));
	assert_false(is_on_loop(1, 0));
	/* It has vanished since: that is felt once. */
	assert_true(is_on_loop(1, SECOND));
	assert_false(is_on_loop(1, SECOND));
	assert_false(is_on_loop(1, 0));
	assert_true(is_on_loop(1, 0));
}

T(peer__not_heard_of_for_long__next_on_a_helper)
{
	stopped_us = SECOND;
	assert_false(is_on_loop(1, 0));
	pass_us(9 * SECOND);
	assert_true(is_on_loop(1, 0));
	pass_us(11 * SECOND);
	assert_false(is_on_loop(1, 0));
}

T(peer__nobody__each_on_a_helper)
{
	struct task t;

	stopped_us = SECOND;
	for (int i = 0; i < 3; i++) {
		start(&t, false);
		await(&done);
		assert_false(t.ran_on_loop);
	}
}

/* What takes its time anyway is nobody's but a helper's. */
T(peer__found_quickly__not_light)
{
	struct task t;

	stopped_us = SECOND;
	for (int i = 0; i < 3; i++) {
		t = (struct task){0};
		start_peer(&t, 1, false);
		await(&done);
		assert_false(t.ran_on_loop);
	}
	assert_false(is_on_loop(1, 0));
	assert_true(is_on_loop(1, 0));
	t = (struct task){0};
	start_peer(&t, 1, false);
	await(&done);
	assert_false(t.ran_on_loop);
}

/* Many were started before the first had found it: they cost no helper. */
T(peer__found_quickly__those_that_wait_follow_on_the_loop)
{
	struct task first = {.stays = true}, next[3];

	/* No helper is added for want of progress: that takes an hour now. */
	stopped_us = dapl_now_us() + 3600 * SECOND;
	start_peer(&first, 1, true);
	await(&began);
	for (int i = 0; i < 3; i++)
		start_for(&next[i], 1, 0);
	sem_post(&gate);
	for (int i = 0; i < 4; i++)
		await(&done);
	assert_false(first.ran_on_loop);
	for (int i = 0; i < 3; i++)
		assert_true(next[i].ran && next[i].ran_on_loop);
}

/* The same of those that had to let others pass. */
T(peer__found_quickly__those_that_were_held_follow_on_the_loop)
{
	static struct task busy[DAPL_JOBS_FOR_ONE], other;
	struct task held[3];
	int i;

	for (i = 0; i < DAPL_JOBS_FOR_ONE; i++) {
		busy[i] = (struct task){.stays = true};
		start_peer(&busy[i], 1, false);
	}
	for (i = 0; i < DAPL_JOBS_FOR_ONE; i++)
		await(&began);
	for (i = 0; i < 3; i++)
		start_for(&held[i], 1, 0);
	/* A helper has passed them by when this is over. */
	other = (struct task){0};
	start_peer(&other, 2, false);
	await(&done);
	assert_true(other.ran);
	__atomic_store_n(&stopped_us, dapl_now_us(), __ATOMIC_RELAXED);
	sem_post(&gate);
	for (i = 0; i < 4; i++)
		await(&done);
	assert_true(held[0].ran && !held[0].ran_on_loop);
	assert_true(held[1].ran_on_loop && held[2].ran_on_loop);
	for (i = 0; i < DAPL_JOBS_FOR_ONE - 1; i++)
		sem_post(&gate);
	for (i = 0; i < DAPL_JOBS_FOR_ONE - 1; i++)
		await(&done);
}

/* It has helpers, but not all: those of others begin and end. */
T(peer__vanishes__holds_up_no_other)
{
	static struct task gone[MANY], other[MANY];
	int i;

	for (i = 0; i < MANY; i++) {
		gone[i] = (struct task){.stays = true, .takes_us = SECOND};
		start_peer(&gone[i], 1, i % 2);
	}
	for (i = 0; i < DAPL_JOBS_FOR_ONE; i++)
		await(&began);
	for (i = 0; i < MANY; i++) {
		if (i % 3)
			start_peer(&other[i], 2 + (uint64_t)i % 2, i % 2);
		else
			start(&other[i], false);
		await(&done);
		assert_true(other[i].was_done);
		await(&began);
	}
	assert_int_equal(sem_trywait(&began), -1);
	for (i = 0; i < DAPL_JOBS_FOR_ONE; i++)
		assert_true(gone[i].ran);
	/* The others of its own follow in order. */
	for (; i < MANY; i++) {
		assert_false(gone[i].ran);
		sem_post(&gate);
		await(&done);
		await(&began);
		assert_true(gone[i].ran);
	}
	for (i = 0; i < DAPL_JOBS_FOR_ONE; i++)
		sem_post(&gate);
	for (i = 0; i < DAPL_JOBS_FOR_ONE; i++)
		await(&done);
}

/* Of those that wait for their peer's. */
T(peer__vanishes__skip_and_cancel)
{
	static struct task gone[DAPL_JOBS_FOR_ONE + 4], other;
	const int n = DAPL_JOBS_FOR_ONE, all = n + 4;
	int i;

	for (i = 0; i < all; i++) {
		gone[i] = (struct task){.stays = true, .takes_us = SECOND};
		start_peer(&gone[i], 1, true);
	}
	for (i = 0; i < n; i++)
		await(&began);
	/* A helper has passed them by when this is over. */
	other = (struct task){0};
	start_peer(&other, 2, true);
	await(&began);
	await(&done);
	assert_true(other.ran);
	assert_true(dapl_job_skip(&gone[n].job));
	await(&done);
	assert_true(gone[n].was_done);
	assert_false(gone[n].ran);
	dapl_job_cancel(&gone[n + 2].job);
	for (i = 0; i < all - 2; i++)
		sem_post(&gate);
	for (i = 0; i < all - 2; i++)
		await(&done);
	assert_true(gone[n + 1].was_done && gone[n + 3].was_done);
	dapl_loop_barrier(loop);
	assert_false(gone[n + 2].ran || gone[n + 2].was_done);
}

/* More of them than places: who has lost his is a helper's again. */
T(peer__many)
{
	stopped_us = SECOND;
	for (uint64_t peer = 1; peer <= 1000; peer++)
		assert_false(is_on_loop(peer, 0));
	assert_true(is_on_loop(1000, 0));
}

static struct task at_once[3];

static void start_at_once(struct dapl_work *work)
{
	(void)work;
	for (int i = 0; i < 3; i++)
		start_for(&at_once[i], 1, i ? 0 : SECOND);
}

/* Those that were started before that was seen do not feel it one by one. */
T(peer__vanishes__felt_once)
{
	struct dapl_work work;

	stopped_us = SECOND;
	assert_false(is_on_loop(1, 0));
	dapl_work_init(&work, start_at_once);
	dapl_loop_defer(loop, &work);
	for (int i = 0; i < 3; i++)
		await(&done);
	assert_true(at_once[0].ran_on_loop);
	assert_false(at_once[1].ran_on_loop);
	assert_true(at_once[1].ran && at_once[2].ran);
	dapl_loop_barrier(loop);
}

/* There is nobody else to feel it. */
T(peer__vanishes__without_threads)
{
	struct dapl_work work;

	stopped_us = SECOND;
	no_thread = true;
	assert_true(is_on_loop(1, 0));
	dapl_work_init(&work, start_at_once);
	dapl_loop_defer(loop, &work);
	for (int i = 0; i < 3; i++)
		await(&done);
	for (int i = 0; i < 3; i++)
		assert_true(at_once[i].ran_on_loop);
	dapl_loop_barrier(loop);
}

static struct task *skipped, *cancelled;

/* Those that the service thread has not come to. */
static void skip_and_cancel(struct dapl_work *work)
{
	static struct task t[2];
	(void)work;

	for (int i = 0; i < 2; i++)
		start_for(&t[i], 1, 0);
	assert_true(dapl_job_skip(&t[0].job));
	dapl_job_cancel(&t[1].job);
	skipped = &t[0];
	cancelled = &t[1];
}

T(peer__found_quickly__skip_and_cancel)
{
	struct dapl_work work;

	stopped_us = SECOND;
	assert_false(is_on_loop(1, 0));
	dapl_work_init(&work, skip_and_cancel);
	dapl_loop_defer(loop, &work);
	await(&done);
	dapl_loop_barrier(loop);
	assert_true(skipped->was_done && !skipped->ran);
	assert_false(cancelled->was_done || cancelled->ran);
}

static void fill(struct task *t)
{
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		start(&t[i], true);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		await(&began);
}

static void empty(void)
{
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		sem_post(&gate);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		await(&done);
}

T(skip__only_what_has_not_begun)
{
	struct task t[DAPL_JOBS_HELPERS], late;

	fill(t);
	start(&late, false);
	assert_false(dapl_job_skip(&t[0].job));
	assert_true(dapl_job_skip(&late.job));
	await(&done);
	assert_true(late.was_done && late.done_on_loop);
	assert_false(late.ran);
	empty();
}

T(cancel__of_what_waits)
{
	struct task t[DAPL_JOBS_HELPERS], late;

	fill(t);
	start(&late, false);
	dapl_job_cancel(&late.job);
	empty();
	assert_false(late.ran || late.was_done);
	/* Nor does it harm afterwards. */
	dapl_job_cancel(&late.job);
}

static void *let_go(void *arg)
{
	sem_post(&gate);
	return NULL;
}

T(cancel__waits_for_what_runs)
{
	struct task t;
	pthread_t thread;

	start(&t, true);
	await(&began);
	assert_int_equal(pthread_create(&thread, NULL, let_go, NULL), 0);
	dapl_job_cancel(&t.job);
	assert_true(t.left);
	pthread_join(thread, NULL);
}

T(cancel__never_started)
{
	struct task t = {.ran = false};

	dapl_job_init(&t.job, run, finish);
	dapl_job_cancel(&t.job);
	assert_false(t.ran || t.was_done);
}

/* Nothing runs there, nor waits for what will never be. */
T(fork__child)
{
	struct task t, late;
	int status;
	pid_t pid;

	start(&t, true);
	await(&began);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		alarm(PATIENCE_S);
		if (!dapl_job_skip(&t.job))
			_exit(1);
		dapl_job_cancel(&t.job);
		start(&late, false);
		dapl_job_cancel(&late.job);
		dapl_loop_close(loop);
		_exit(late.ran ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	sem_post(&gate);
	await(&done);
}

RUN_CASES(NULL, NULL)
