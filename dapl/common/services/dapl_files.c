/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_files.c - raises the limit on file descriptors; see the header.
 */
#include "dapl/common/services/dapl_files.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/common/services/dapl_log.h"

/* To twice the soft limit, and to WANT at least. False: it stays. */
static bool raise_to(rlim_t want)
{
	struct rlimit limit;
	rlim_t old;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	old = limit.rlim_cur;
	if (old >= limit.rlim_max)
		return false;
	if (want < old * 2)
		want = old * 2;
	limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return false;
	dapl_log(DAPL_LOG_UTIL,
		 "limit on file descriptors raised from %llu to %llu",
		 (unsigned long long)old, (unsigned long long)limit.rlim_cur);
	return true;
}

bool dapl_files_more(int err)
{
	return err == EMFILE && raise_to(0);
}

int dapl_files_socket(int family)
{
	int fd;

	do
		fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			    0);
	while (fd < 0 && dapl_files_more(errno));
	return fd < 0 ? -errno : fd;
}

/* The lowest descriptor that is free, or a negative errno. */
static int next_file(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return fd;
}

bool dapl_files_reserve(unsigned n)
{
	struct rlimit limit;
	int fd = next_file();

	while (fd == -EMFILE && raise_to(0))
		fd = next_file();
	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	/* Those behind the lowest one that is free need not be free, too. */
	if ((rlim_t)fd + n <= limit.rlim_cur)
		return true;
	raise_to((rlim_t)fd + n);
	return !getrlimit(RLIMIT_NOFILE, &limit) &&
	       (rlim_t)fd + n <= limit.rlim_cur;
}
