/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stress.h - what the tests with many threads share: choices from one seed
 * that is printed, conditions that threads check, and how much work to do.
 *
 * DAPL_STRESS_SEED replays the choices, DAPL_STRESS_PERCENT does more or less
 * of everything. Contains no test. Threads report through need() only:
 * cmocka's assertions belong to the main thread.
 */
#ifndef STRESS_H
#define STRESS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "test/unit/kit.h"

/* The first member of what the threads of one test share. */
struct stress_run {
	uint64_t deadline_us;
	const char *wrong; /* atomic: the first need() that was not met */
	int wrong_line;
	int working; /* atomic: threads of a crew that others go on for */
};

/* A condition that must hold; the first that does not ends the test. */
#define need(st, cond)	       stress_met(&(st)->run, (cond), #cond, __LINE__)
#define ok(st, call)	       need((st), (call) == DAT_SUCCESS)
#define own_event(st, evd, ev) stress_event(&(st)->run, evd, ev)
#define late(st)	       stress_late(&(st)->run)
#define dice(me, n)	       stress_dice(&(me)->random, n)

static inline bool stress_stopped(struct stress_run *run)
{
	return __atomic_load_n(&run->wrong, __ATOMIC_ACQUIRE) != NULL;
}

static inline bool stress_met(struct stress_run *run, bool ok, const char *text,
			      int line)
{
	const char *none = NULL;

	if (!ok &&
	    __atomic_compare_exchange_n(&run->wrong, &none, text, 0,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		run->wrong_line = line;
	return ok;
}

static inline bool stress_late(struct stress_run *run)
{
	return stress_stopped(run) ||
	       !stress_met(run, world_now_us() < run->deadline_us,
			   "finished in time", 0);
}

/* 0 to SIDES - 1, the next of the thread's own series. */
static inline unsigned stress_dice(uint64_t *random, unsigned sides)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (unsigned)(*random >> 20) % sides;
}

/* The series of thread NR. */
static inline uint64_t stress_series(uint64_t seed, int nr)
{
	return (seed + (uint64_t)nr + 1) * 0x9e3779b97f4a7c15u;
}

/* A number from the environment, or OTHERWISE. */
static inline uint64_t stress_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	uint64_t n;

	if (!text || !*text)
		return otherwise;
	n = strtoull(text, &end, 0);
	if (*end)
		fail_msg("%s is no number: %s", name, text);
	return n;
}

static inline int stress_portion(int of)
{
	uint64_t percent = stress_number("DAPL_STRESS_PERCENT", 100);
	uint64_t n = (uint64_t)of * (percent > 1000 ? 1000 : percent) / 100;

	return n ? (int)n : 1;
}

static inline uint64_t stress_seed(void)
{
	uint64_t seed = stress_number("DAPL_STRESS_SEED", 0);

	if (!seed)
		seed = ((uint64_t)time(NULL) << 16 ^ (uint64_t)getpid()) &
		       0xffffffff;
	printf("# seed %llu; DAPL_STRESS_SEED=%llu makes the same choices\n",
	       (unsigned long long)seed, (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

/* How long a thread waits before it looks whether the test is over. */
#define STRESS_STEP_US 2000

/* The next event of a thread's own EVD; 0 when there was none in time. */
static inline unsigned stress_event(struct stress_run *run, DAT_EVD_HANDLE evd,
				    DAT_EVENT *ev)
{
	DAT_RETURN ret;
	DAT_COUNT more;

	do {
		ret = V(evd_wait)(evd, STRESS_STEP_US, 1, ev, &more);
	} while (ret != DAT_SUCCESS && !stress_late(run));
	return ret == DAT_SUCCESS ? (unsigned)ev->event_number : 0;
}

/* Both ends of a connection hear NUMBER. */
static inline bool stress_told(struct stress_run *run, DAT_EVD_HANDLE client,
			       DAT_EVD_HANDLE server, unsigned number)
{
	DAT_EVENT ev;

	return stress_met(run, stress_event(run, client, &ev) == number,
			  "the client hears of it", 0) &&
	       stress_met(run, stress_event(run, server, &ev) == number,
			  "the server hears of it", 0);
}

/* For the main thread, when the others have ended. */
#define assert_stress_ok(st) stress_ok(&(st)->run)

static inline void stress_ok(const struct stress_run *run)
{
	if (run->wrong)
		fail_msg("line %d: not so: %s", run->wrong_line, run->wrong);
}

struct stress_worker;
typedef void (*stress_fn)(struct stress_worker *me);

/* One thread of a test; ST begins with a struct stress_run. */
struct stress_worker {
	struct stress *st;
	struct stress_run *run; /* that of ST */
	stress_fn fn;
	int nr;
	bool works; /* counts in run->working */
	uint64_t random;
	pthread_t thread;
};

static inline void *stress_main(void *arg)
{
	struct stress_worker *me = arg;

	me->fn(me);
	if (me->works)
		__atomic_sub_fetch(&me->run->working, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Runs each of the N functions in a thread of its own until all have ended; the
 * last REST of them go on for the others.
 */
static inline void stress_crew(struct stress *st, const stress_fn *fns, int n,
			       int rest, uint64_t seed)
{
	struct stress_run *run = (struct stress_run *)st;
	struct stress_worker workers[32];

	assert_in_range(n, 1, 32);
	run->working = n - rest;
	for (int i = 0; i < n; i++) {
		workers[i] = (struct stress_worker){
			.st = st,
			.run = run,
			.fn = fns[i],
			.nr = i,
			.works = i < n - rest,
			.random = stress_series(seed, i),
		};
		assert_int_equal(pthread_create(&workers[i].thread, NULL,
						stress_main, &workers[i]),
				 0);
	}
	for (int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	stress_ok(run);
}

#endif
