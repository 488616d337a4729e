/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_fork.c - whether the process is still the same; see the header.
 *
 * The C library forgets the handler when the plugin is unloaded.
 */
#include "dapl/common/services/dapl_fork.h"

#include <pthread.h>

unsigned dapl__forks;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int watch_ret;

static void in_child(void)
{
	__atomic_add_fetch(&dapl__forks, 1, __ATOMIC_RELAXED);
}

static void watch(void)
{
	watch_ret = -pthread_atfork(NULL, NULL, in_child);
}

int dapl_fork_watch(void)
{
	pthread_once(&once, watch);
	return watch_ret;
}
