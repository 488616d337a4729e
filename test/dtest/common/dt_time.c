/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_time.c - the stop flag of the test tools.
 *
 * Does not clean up: whoever waits sees the flag, returns an error, and the
 * ordinary error path releases what there is.
 * Threads: the handler only stores a flag, which is signal-safe.
 * Ownership: changes the disposition of SIGINT, SIGTERM and SIGPIPE for the
 * process.
 */
#include "test/dtest/common/dt_time.h"

#include "test/dtest/common/dt_watch.h"

#include <string.h>

/* Of a pause; another thread than this may get the signal. */
#define SLICE_NS (250 * DT_NS_PER_MS)

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
	uint64_t end = dt_deadline(ns);

	while (!dt_stopped() && dt_left_ns(end)) {
		uint64_t left = dt_left_ns(end);
		struct timespec ts = {
			.tv_nsec = (long)(left < SLICE_NS ? left : SLICE_NS),
		};

		dt_alive();
		nanosleep(&ts, NULL);
	}
	return !dt_stopped();
}
