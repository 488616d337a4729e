/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_thread.h - starting the library's own threads.
 */
#ifndef DAPL_THREAD_H
#define DAPL_THREAD_H

#include <pthread.h>

/*
 * Starts FN(ARG) on a thread that takes no signals but those for its own
 * faults. NAME is cut to what the kernel shows. 0 or -errno.
 */
int dapl_thread_start(pthread_t *ret_thread, const char *name,
		      void *(*fn)(void *arg), void *arg);

#endif
