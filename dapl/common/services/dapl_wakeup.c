/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_wakeup.c - eventfds that wake a sleeper, kept for the next one.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_log.h"
#include "dapl/common/services/dapl_wakeup.h"

void dapl_wakeups_init(struct dapl_wakeups *wakeups)
{
	for (int i = 0; i < DAPL_WAKEUPS; i++)
		wakeups->kept[i] = -1;
}

void dapl_wakeups_fini(struct dapl_wakeups *wakeups)
{
	for (int i = 0; i < DAPL_WAKEUPS; i++)
		if (wakeups->kept[i] >= 0)
			close(wakeups->kept[i]);
}

int dapl_wakeup_take(struct dapl_wakeups *wakeups)
{
	int fd;

	for (int i = 0; i < DAPL_WAKEUPS; i++) {
		if (__atomic_load_n(&wakeups->kept[i], __ATOMIC_RELAXED) < 0)
			continue;
		fd = __atomic_exchange_n(&wakeups->kept[i], -1,
					 __ATOMIC_ACQUIRE);
		if (fd >= 0)
			return fd;
	}
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void dapl_wakeup_put(struct dapl_wakeups *wakeups, int fd)
{
	for (int i = 0; i < DAPL_WAKEUPS; i++) {
		int none = -1;

		if (__atomic_compare_exchange_n(&wakeups->kept[i], &none, fd, 0,
						__ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	close(fd);
}

void dapl_wakeup_signal(int fd)
{
	uint64_t one = 1;

	/* EAGAIN when the counter is near 2^64: it rings then. */
	if (dapl_fd_write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		dapl_log(DAPL_LOG_ERR, "cannot wake anybody: eventfd: %m");
}

bool dapl_wakeup_clear(int fd)
{
	uint64_t count;

	if (dapl_fd_read(fd, &count, sizeof(count)) > 0)
		return true;
	if (errno != EAGAIN)
		dapl_log(DAPL_LOG_ERR, "eventfd: %m");
	return false;
}
