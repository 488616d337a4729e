/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_bell.c - eventfds that wake a sleeper, kept for the next one.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dapl/common/services/dapl_bell.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_log.h"

void dapl_bells_init(struct dapl_bells *bells)
{
	for (int i = 0; i < DAPL_BELLS; i++)
		bells->kept[i] = -1;
}

void dapl_bells_fini(struct dapl_bells *bells)
{
	for (int i = 0; i < DAPL_BELLS; i++)
		if (bells->kept[i] >= 0)
			close(bells->kept[i]);
}

int dapl_bell_take(struct dapl_bells *bells)
{
	int fd;

	for (int i = 0; i < DAPL_BELLS; i++) {
		if (__atomic_load_n(&bells->kept[i], __ATOMIC_RELAXED) < 0)
			continue;
		fd = __atomic_exchange_n(&bells->kept[i], -1, __ATOMIC_ACQUIRE);
		if (fd >= 0)
			return fd;
	}
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void dapl_bell_put(struct dapl_bells *bells, int fd)
{
	for (int i = 0; i < DAPL_BELLS; i++) {
		int none = -1;

		if (__atomic_compare_exchange_n(&bells->kept[i], &none, fd, 0,
						__ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	close(fd);
}

void dapl_bell_ring(int fd)
{
	uint64_t one = 1;

	/* EAGAIN when the counter is near 2^64: it rings then. */
	if (dapl_fd_write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		dapl_log(DAPL_LOG_ERR, "cannot wake anybody: eventfd: %m");
}

bool dapl_bell_clear(int fd)
{
	uint64_t count;

	if (dapl_fd_read(fd, &count, sizeof(count)) > 0)
		return true;
	if (errno != EAGAIN)
		dapl_log(DAPL_LOG_ERR, "eventfd: %m");
	return false;
}
