/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_time.h - clock, limits on waits and stop flag of the test tools.
 *
 * Does not wait itself; each wait loop asks dt_left_ns() and dt_stopped().
 * Threads: the flag is set by a signal handler and read anywhere.
 * Ownership: none.
 * Rule: one clock for samples and limits, which nobody can set back:
 * CLOCK_MONOTONIC_RAW.
 */
#ifndef DTEST_DT_TIME_H
#define DTEST_DT_TIME_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define DT_NS_PER_US 1000ull
#define DT_NS_PER_MS 1000000ull
#define DT_NS_PER_S  1000000000ull

static inline uint64_t dt_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * DT_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline double dt_ns_to_us(uint64_t ns)
{
	return (double)ns / 1000.0;
}

/* The moment that is limit_ns from now. */
static inline uint64_t dt_deadline(uint64_t limit_ns)
{
	return dt_now_ns() + limit_ns;
}

/* What is left until a deadline; 0: it is over. */
static inline uint64_t dt_left_ns(uint64_t deadline)
{
	uint64_t now = dt_now_ns();

	return now < deadline ? deadline - now : 0;
}

/*
 * From here on SIGINT and SIGTERM only raise the flag, once: the same signal
 * again ends the program as usual, for the case that a call never returns.
 */
void dt_catch_signals(void);

/* Whether such a signal came. */
bool dt_stopped(void);

/*
 * Sleeps for ns nanoseconds, for peers that announce nothing. Returns false
 * if a signal asked to stop.
 */
bool dt_pause(uint64_t ns);

#endif /* DTEST_DT_TIME_H */
