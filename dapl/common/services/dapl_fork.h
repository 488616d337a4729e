/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_fork.h - whether the process is still the same, without a system call.
 *
 * fork() is counted by pthread_atfork(3). A child made without its handlers,
 * by _Fork(3) or a system call, is not known as one: it may call nothing of
 * the C library that takes a lock either.
 */
#ifndef DAPL_FORK_H
#define DAPL_FORK_H

#include <stdbool.h>

/* Forks since the library was loaded; each process has its own count. */
extern unsigned dapl__forks;

/* Counts from now on, at the latest; to be called before anything is kept
 * that a child must know. 0 or -ENOMEM.
 */
int dapl_fork_watch(void);

static inline unsigned dapl_fork_count(void)
{
	return __atomic_load_n(&dapl__forks, __ATOMIC_RELAXED);
}

#endif
