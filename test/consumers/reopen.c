/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * reopen.c - what a distribution's regression program does: an adapter opened
 * and closed many times, where few descriptors are allowed.
 *
 * Makes nothing but the adapter. Fewer times than there (400), more than there
 * are descriptors. One thread, one rank.
 */
#include "test/consumers/calls.h"

#include <sys/resource.h>

#define DESCRIPTORS 50
#define TIMES	    60

void reopen(struct rank *r)
{
	struct rlimit limit;
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;

	EXPECT_EQ(r, getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = DESCRIPTORS;
	EXPECT_EQ(r, setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < TIMES; i++) {
		rank_waits(r, "the adapter, time %d", i);
		async = DAT_HANDLE_NULL;
		OK(r, dat_ia_open(r->adapter, 8, &async, &ia));
		OK(r, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
}
