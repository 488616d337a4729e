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
};

/* A condition that must hold; the first that does not ends the test. */
#define need(st, cond) stress_met(&(st)->run, (cond), #cond, __LINE__)
#define late(st)       stress_late(&(st)->run)
#define dice(me, n)    stress_dice(&(me)->random, n)

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

/* For the main thread, when the others have ended. */
#define assert_stress_ok(st)                                                  \
	do {                                                                  \
		if ((st)->run.wrong)                                          \
			fail_msg("line %d: not so: %s", (st)->run.wrong_line, \
				 (st)->run.wrong);                            \
	} while (0)

#endif
