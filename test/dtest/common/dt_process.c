/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_process.c - what a test tool asks of the system for its whole process.
 *
 * Does not report: where files run out, the call that needed one says so.
 * Threads, ownership: see dt_process.h.
 */
#include "test/dtest/common/dt_process.h"

#include <sys/resource.h>

void dt_allow_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}
