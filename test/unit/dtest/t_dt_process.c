/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dt_process.c - tests of what the test tools ask for their process.
 *
 * Calls covered: dt_allow_files, dt_pin, dt_watch_begin, dt_watch_end.
 */
#include "test/dtest/common/dt_process.h"
#include "test/dtest/common/dt_time.h"
#include "test/dtest/common/dt_watch.h"

#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/case.h"

CASE(allow_files__up_to_the_hard_limit)
{
	struct rlimit files, now;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = 32;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	dt_allow_files();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(now.rlim_cur, files.rlim_max);
	assert_int_equal(now.rlim_max, files.rlim_max);
}

static int first_of(const cpu_set_t *set)
{
	int cpu = 0;

	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, set))
		cpu++;
	return cpu;
}

CASE(pin__one_or_any)
{
	struct dt_report r;
	cpu_set_t before, set;
	int cpu;

	assert_int_equal(dt_report_open(&r, "t", NULL), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	cpu = first_of(&before);
	assert_int_equal(dt_pin(&r, -1), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	assert_true(CPU_EQUAL(&set, &before));
	assert_int_equal(dt_pin(&r, cpu), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	assert_int_equal(CPU_COUNT(&set), 1);
	assert_true(CPU_ISSET(cpu, &set));
	assert_int_equal(dt_pin(&r, CPU_SETSIZE - 1), DT_ENVIRONMENT);
	assert_non_null(strstr(r.error, "--cpu 1023"));
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	dt_report_close(&r, 0);
}

/* Longer than a busy machine lets a process wait for its turn. */
#define LIMIT_S 3

/* Exit status of a child that is watched. */
static int watched(void (*body)(struct dt_report *r))
{
	struct dt_report r;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		if (dt_report_open(&r, "t", NULL) ||
		    dt_watch_begin(&r, LIMIT_S))
			_exit(99);
		dt_doing("something(that, hangs)");
		body(&r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void hang(struct dt_report *r)
{
	(void)r;
	pause();
}

/* dt_pause() shows signs of life; a sleep of the system does not. */
static void live_long(struct dt_report *r)
{
	(void)r;
	if (!dt_pause((LIMIT_S + DT_WATCH_GRACE_S + 2) * DT_NS_PER_S))
		_exit(99);
}

static void end_first(struct dt_report *r)
{
	struct timespec ts = {.tv_sec = LIMIT_S + DT_WATCH_GRACE_S + 2};

	dt_watch_end(r);
	nanosleep(&ts, NULL);
}

/* A run that ended takes its report along, not the watchdog of another. */
static void hang_in_second(struct dt_report *r)
{
	struct dt_report second;

	if (dt_report_open(&second, "t", NULL) ||
	    dt_watch_begin(&second, LIMIT_S))
		_exit(99);
	dt_watch_end(r);
	dt_report_close(r, 0);
	pause();
}

CASE(watch__ends_what_hangs)
{
	assert_int_equal(watched(hang), DT_TIMED_OUT);
	assert_int_equal(watched(hang_in_second), DT_TIMED_OUT);
}

CASE(watch__lets_live)
{
	assert_int_equal(watched(live_long), 0);
	assert_int_equal(watched(end_first), 0);
}

RUN_CASES(NULL, NULL)
