/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_sleep.h - how a program's thread sleeps inside a call.
 *
 * For dat_evd_wait() and dat_cno_wait(), which end when a handler of a signal
 * has run, and for no other reason that has to do with signals.
 * Threads: any, with no lock held and cancellation off. The sleep is the one
 * cancellation point of the library, if cancellation was on in the program.
 * Rule: ppoll(2) and signal(7): poll() goes on by itself after a process was
 * stopped and continued; epoll_wait() does not.
 */
#ifndef DAPL_SLEEP_H
#define DAPL_SLEEP_H

#include <poll.h>
#include <stdint.h>

/* Who sleeps. */
struct dapl_sleeper {
	int cancel; /* what dapl_cancel_off() has returned */
	/* Called when the thread ends here, in place of all that follows. */
	void (*cancelled)(void *arg);
	void *arg;
};

/*
 * Sleeps until one of N descriptors is ready, or DEADLINE_US of dapl_now_us();
 * UINT64_MAX: there is none. 0, -ETIMEDOUT, -EINTR or another -errno.
 */
int dapl_sleep(const struct dapl_sleeper *who, struct pollfd *fds, nfds_t n,
	       uint64_t deadline_us);

#endif
