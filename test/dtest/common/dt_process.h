/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_process.h - what a test tool asks of the system for its whole process.
 *
 * Does not catch signals; that is in dt_time.h.
 * Threads: one, before there are others. Ownership: none.
 */
#ifndef DTEST_DT_PROCESS_H
#define DTEST_DT_PROCESS_H

#include "test/dtest/common/dt_report.h"

/*
 * As many open files as the system lets this process have: every connection
 * and every queue may cost a descriptor or two. Never fewer than before.
 */
void dt_allow_files(void);

/*
 * Runs this thread, and those that it starts, on one processor; -1: on any.
 * Returns 0, or an exit status.
 */
int dt_pin(struct dt_report *r, int cpu);

#endif /* DTEST_DT_PROCESS_H */
