/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_time.c - the stop flag of the test tools.
 *
 * Does not clean up: whoever waits sees the flag, returns an error, and the
 * ordinary error path releases what there is.
 * Threads: the handler only stores a flag, which is signal-safe.
 * Ownership: changes the disposition of SIGINT and SIGTERM for the process.
 */
#include "test/dtest/common/dt_time.h"

#include <errno.h>
#include <string.h>

static volatile sig_atomic_t stop_flag;

static void on_signal(int sig)
{
	(void)sig;
	stop_flag = 1;
}

void dt_catch_signals(void)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_signal;
	act.sa_flags = SA_RESETHAND;
	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	/* A peer that closes its socket is an error to report, not a death. */
	act.sa_handler = SIG_IGN;
	act.sa_flags = 0;
	sigaction(SIGPIPE, &act, NULL);
}

bool dt_stopped(void)
{
	return stop_flag != 0;
}

bool dt_pause(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / DT_NS_PER_S),
		.tv_nsec = (long)(ns % DT_NS_PER_S),
	};

	while (!dt_stopped() && nanosleep(&ts, &ts) && errno == EINTR)
		;
	return !dt_stopped();
}
