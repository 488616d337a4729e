/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_sleep.c - how a program's thread sleeps inside a call; see the header.
 */
#include "config.h"

#include "dapl/common/services/dapl_sleep.h"

#include <errno.h>
#include <time.h>

#include "dapl/common/services/dapl_loop.h"

int dapl_sleep(struct pollfd *fds, nfds_t n, uint64_t deadline_us)
{
	uint64_t now = dapl_now_us();
	struct timespec ts;
	int ready;

	if (now >= deadline_us)
		return -ETIMEDOUT;
	ts.tv_sec = (time_t)((deadline_us - now) / 1000000);
	ts.tv_nsec = (long)((deadline_us - now) % 1000000 * 1000);
	ready = ppoll(fds, n, deadline_us == UINT64_MAX ? NULL : &ts, NULL);
	if (ready < 0)
		return -errno;
	return ready ? 0 : -ETIMEDOUT;
}
