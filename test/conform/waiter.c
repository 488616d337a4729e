/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * waiter.c - a thread that waits on an EVD, for cases about who wakes it.
 *
 * Judges nothing. A waiter is "asleep" when the provider refuses the EVD to
 * another thread and the thread does not run: then it has done all that it
 * does before it sleeps. Looking takes the provider's locks, which could make
 * it sleep as well, so its state is read after the look.
 * Threads: conf_wait() starts one, conf_woken() ends it; the other calls are
 * for the case's thread. Ownership: struct conf_waiter is the case's.
 * Rule: DAT 2.0, dat_evd_wait: one waiter at a time.
 */
#include "test/conform/apart.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *wait_thread(void *arg)
{
	struct conf_waiter *w = arg;

	__atomic_store_n(&w->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	w->ret = dat_evd_wait(w->evd, w->timeout_us, w->threshold, &w->ev,
			      &w->more);
	return NULL;
}

/* The letter that the kernel has for the thread's state. */
static char thread_state(int tid)
{
	char path[64], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	/* The name in parentheses is this program's: it has no space. */
	if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
		state = '?';
	if (f)
		fclose(f);
	return state;
}

static bool refused_to_others(struct conf_waiter *w)
{
	DAT_EVENT ev;
	DAT_RETURN ret = dat_evd_dequeue(w->evd, &ev);

	if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		return false;
	EXPECT_TYPE(ret, DAT_INVALID_STATE);
	return true;
}

static bool sleeps(struct conf_waiter *w)
{
	int tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);

	return apart_agreed(w->evd, thread_state(tid) == 'S');
}

void conf_wait(struct conf_waiter *w, DAT_EVD_HANDLE evd, DAT_COUNT threshold,
	       DAT_TIMEOUT timeout_us)
{
	uint64_t end_us = conf_now_us() + CONF_PATIENCE;

	memset(w, 0, sizeof(*w));
	w->evd = evd;
	w->threshold = threshold;
	w->timeout_us = timeout_us;
	EXPECT_EQ(pthread_create(&w->thread, NULL, wait_thread, w), 0);
	while (!refused_to_others(w) || !sleeps(w)) {
		EXPECT(conf_now_us() < end_us);
		sched_yield();
	}
}

void conf_still_asleep(struct conf_waiter *w)
{
	EXPECT(refused_to_others(w));
}

void conf_woken(struct conf_waiter *w)
{
	EXPECT_EQ(pthread_join(w->thread, NULL), 0);
}
