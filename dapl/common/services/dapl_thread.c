/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_thread.c - starting the library's own threads; see the header.
 */
#include "config.h"

#include "dapl/common/services/dapl_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#define NAME_MAX_KERNEL 16 /* with NUL */
#define STACK		(512 << 10)

/*
 * The usual stack of some MiB is one that the kernel backs with a huge page,
 * which costs milliseconds to clear, and memory. One of ours is too small where
 * a program's thread-local variables, which lie on it, are large.
 */
static int create(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return ret;
	ret = pthread_attr_setstacksize(&attr, STACK);
	if (!ret)
		ret = pthread_create(ret_thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return ret == EINVAL ? pthread_create(ret_thread, NULL, fn, arg) : ret;
}

/*
 * The program's signals are for the program's threads. Faults are not blocked:
 * they concern the thread that makes them, and blocked they would kill the
 * process without its handler.
 */
int dapl_thread_start(pthread_t *ret_thread, const char *name,
		      void *(*fn)(void *arg), void *arg)
{
	char short_name[NAME_MAX_KERNEL];
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGTRAP);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = create(ret_thread, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* EAGAIN means "nothing there" everywhere else in the library. */
	if (ret)
		return ret == EAGAIN ? -ENOMEM : -ret;
	snprintf(short_name, sizeof(short_name), "%s", name);
	pthread_setname_np(*ret_thread, short_name);
	return 0;
}
