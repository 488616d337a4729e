/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ports.c - ports of the host that no other run of the tests uses.
 *
 * A socket's name marks the range: names that begin with a zero byte belong to
 * the network namespace, as ports do, and go with their process.
 * Rule: unix(7), "abstract".
 */
#include "test/conform/ports.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST  10000u
#define RANGES 11 /* up to the ports that the system gives to clients */

unsigned int ports_own(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned int run;
	int len;

	for (run = 0; run < RANGES; run++) {
		len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			       "dapl-test-ports-%u", run);
		if (!bind(fd, (struct sockaddr *)&name,
			  (socklen_t)(head + (size_t)len)))
			return FIRST + run * PORTS_RANGE;
	}
	/* All taken, or no sockets at all: hardly meet. */
	close(fd);
	return FIRST + (unsigned int)getpid() % RANGES * PORTS_RANGE;
}
