/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_time.c - the stop flag and the watchdog of the test tools.
 *
 * Does not clean up: whoever waits sees the flag, returns an error, and the
 * ordinary error path releases what there is.
 * Threads: the handler only stores a flag, which is signal-safe.
 * Ownership: changes the disposition of SIGINT, SIGTERM, SIGPIPE and SIGALRM
 * for the process.
 */
#include "test/dtest/common/dt_time.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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

static const char *_Atomic watched;

/* Only calls that a signal handler may make. */
static void put_text(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void on_alarm(int sig)
{
	(void)sig;
	put_text("ERR: timed out in a call that does not return: ");
	put_text(watched);
	put_text("\n");
	_exit(3);
}

void dt_watchdog(unsigned int seconds, const char *doing)
{
	struct sigaction act;

	alarm(0);
	watched = doing;
	if (!seconds)
		return;
	memset(&act, 0, sizeof(act));
	act.sa_handler = on_alarm;
	sigemptyset(&act.sa_mask);
	sigaction(SIGALRM, &act, NULL);
	alarm(seconds);
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
