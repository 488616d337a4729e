/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_watch.c - the watchdog: no call keeps a test tool for ever.
 *
 * Threads: one that only watches and takes no signals; `lock` guards the rest.
 * Ownership, rule: see dt_watch.h.
 */
#include "test/dtest/common/dt_watch.h"

#include "test/dtest/common/dt_time.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Between two looks for a sign. */
#define TICK_NS (250 * DT_NS_PER_MS)

atomic_bool dt_watch_alive;

static const char *_Atomic doing = "the test";

static struct {
	pthread_mutex_t lock;
	unsigned int runs;
	unsigned int generation; /* of the thread; another one: it is over */
	unsigned int seconds;
	struct dt_report *r; /* of the first run; NULL: that is over */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

void dt_doing(const char *what)
{
	doing = what;
	dt_alive();
}

/* The report's verdict is the last line, as after any error. */
static void end_process(struct dt_report *r)
{
	static const char text[] = "timed out in a call that does not return, "
				   "at or after";
	static const char remedy[] = "the library or the device hangs";
	int length = (int)strcspn(doing, "(");

	if (r) {
		dt_fail(r, DT_TIMED_OUT, "%s %.*s; %s", text, length, doing,
			remedy);
		dt_report_close(r, DT_TIMED_OUT);
	} else {
		fprintf(stderr, "ERR: %s %.*s; %s\n", text, length, doing,
			remedy);
	}
	_exit(DT_TIMED_OUT);
}

static void *watch_main(void *arg)
{
	static const struct timespec tick = {.tv_nsec = TICK_NS};
	uint64_t last = dt_now_ns();

	for (;;) {
		pthread_mutex_lock(&watch.lock);
		if ((uintptr_t)arg != watch.generation)
			break;
		if (atomic_exchange(&dt_watch_alive, false))
			last = dt_now_ns();
		if (dt_now_ns() - last > watch.seconds * DT_NS_PER_S)
			end_process(watch.r);
		pthread_mutex_unlock(&watch.lock);
		nanosleep(&tick, NULL);
	}
	pthread_mutex_unlock(&watch.lock);
	return NULL;
}

/* Nobody waits for its end, which takes a tick. */
static int start_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attr, watch_main,
			    (void *)(uintptr_t)watch.generation);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

int dt_watch_begin(struct dt_report *r, unsigned int seconds)
{
	int rc = 0;

	dt_doing("the beginning");
	seconds += DT_WATCH_GRACE_S;
	pthread_mutex_lock(&watch.lock);
	if (!watch.runs) {
		watch.seconds = 0;
		rc = start_thread();
	}
	if (!rc) {
		watch.runs++;
		watch.r = watch.r ? watch.r : r;
		if (seconds > watch.seconds)
			watch.seconds = seconds;
	}
	pthread_mutex_unlock(&watch.lock);
	return rc ? dt_fail(r, DT_ENVIRONMENT, "no thread for the watchdog: %s",
			    strerror(rc))
		  : 0;
}

void dt_watch_end(struct dt_report *r)
{
	pthread_mutex_lock(&watch.lock);
	if (watch.r == r)
		watch.r = NULL;
	if (!--watch.runs)
		watch.generation++;
	pthread_mutex_unlock(&watch.lock);
}
