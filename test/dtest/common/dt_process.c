/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_process.c - what a test tool asks of the system for its whole process.
 *
 * Does not warn: where files run out, the call that needed one says so.
 * Threads, ownership: see dt_process.h.
 */
#include "test/dtest/common/dt_process.h"

#include <sched.h>
#include <sys/resource.h>

void dt_allow_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int dt_pin(struct dt_report *r, int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return dt_fail(
			r, DT_ENVIRONMENT,
			"--cpu %d: %m; nproc(1) tells how many there are", cpu);
	return 0;
}
