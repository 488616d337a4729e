/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_sleep.c - how a program's thread sleeps inside a call; see the header.
 */
#include "config.h"

#include "dapl/common/services/dapl_sleep.h"

#include <errno.h>
#include <time.h>

#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_loop.h"

/*
 * Also where the program lets itself be cancelled at any time (asynchronously):
 * here, deferred, or it might end between the sleep and what follows it.
 * 0 or more, or -errno.
 */
static int poll_cancellable(const struct dapl_sleeper *who, struct pollfd *fds,
			    nfds_t n, const struct timespec *ts)
{
	int type, ready;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	pthread_cleanup_push(who->cancelled, who->arg);
	pthread_setcancelstate(who->cancel, NULL);
	ready = ppoll(fds, n, ts, NULL);
	if (ready < 0)
		ready = -errno;
	dapl_cancel_off();
	pthread_cleanup_pop(0);
	pthread_setcanceltype(type, NULL);
	return ready;
}

int dapl_sleep(const struct dapl_sleeper *who, struct pollfd *fds, nfds_t n,
	       uint64_t deadline_us)
{
	struct timespec ts, *timeout = NULL;
	uint64_t now;
	int ready;

	if (deadline_us != UINT64_MAX) {
		now = dapl_now_us();
		if (now >= deadline_us)
			return -ETIMEDOUT;
		ts.tv_sec = (time_t)((deadline_us - now) / 1000000);
		ts.tv_nsec = (long)((deadline_us - now) % 1000000 * 1000);
		timeout = &ts;
	}
	ready = poll_cancellable(who, fds, n, timeout);
	if (ready < 0)
		return ready;
	return ready ? 0 : -ETIMEDOUT;
}
