/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_watch.h - the watchdog: no call keeps a test tool for ever.
 *
 * Does not interrupt anything: a tool that shows no sign of life for its time
 * ends, with a line that names what it was doing. Waits with a limit of their
 * own show signs of life while they wait.
 * Threads: any. Ownership: the thread that watches is the watchdog's own; a
 * report is used between beginning and end only.
 * Rule: where several runs share a process, the longest time counts and the
 * first run's report tells.
 */
#ifndef DTEST_DT_WATCH_H
#define DTEST_DT_WATCH_H

#include "test/dtest/common/dt_report.h"

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Beyond --timeout, so that a wait that takes all of it reports itself, and
 * an end that nobody insists on may take a second.
 */
#define DT_WATCH_GRACE_S 2

extern atomic_bool dt_watch_alive;

/* A sign of life. Mostly a look, so that threads do not fight for it. */
static inline void dt_alive(void)
{
	if (!atomic_load_explicit(&dt_watch_alive, memory_order_relaxed))
		atomic_store_explicit(&dt_watch_alive, true,
				      memory_order_relaxed);
}

/*
 * Watches from now on: after that many seconds and the grace without a sign
 * the process ends with status 3. Returns 0, or an exit status.
 */
int dt_watch_begin(struct dt_report *r, unsigned int seconds);
/* Of a run that was begun. */
void dt_watch_end(struct dt_report *r);

/* A sign, and what the tool does from now on, for the line. Constant text. */
void dt_doing(const char *what);

#endif /* DTEST_DT_WATCH_H */
