/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cancel.h - what pthread_cancel() may do to a thread inside a call: end
 * it where it sleeps (dapl_sleep.h), and nowhere else.
 *
 * Most system calls are cancellation points, and so are many functions of the
 * C library. A thread that ended in one would leave locks held and objects half
 * made. So calls that lead to any run with cancellation off: all that are not
 * on the data path (plugin/dapl_calls.c), and the rare ways on which the data
 * path leaves it (failures, logs); and the posts of drivers that enter the
 * kernel for them (verbs/vb.c).
 * What wakes others is written with dapl_fd_write(), which is none.
 * Rule: pthreads(7), "Cancellation points".
 */
#ifndef DAPL_CANCEL_H
#define DAPL_CANCEL_H

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns what dapl_cancel_restore() takes. */
static inline int dapl_cancel_off(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	return was;
}

/*
 * May end a thread that is to be cancelled at any time: be through.
 * By the type: glibc 2.36 ends a thread as PTHREAD_CANCELED when that is set,
 * but with a result of NULL when only the state is.
 */
static inline void dapl_cancel_restore(int was)
{
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	pthread_setcancelstate(was, NULL);
	pthread_setcanceltype(type, NULL);
}

/*
 * The same for what makes no call that is a cancellation point: a thread that
 * is to be cancelled at any time is not, for now.
 */
static inline int dapl_cancel_defer(void)
{
	int was;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &was);
	return was;
}

/* May end the thread, as above. */
static inline void dapl_cancel_defer_end(int was)
{
	pthread_setcanceltype(was, NULL);
}

/* write(2) and read(2) of a descriptor that does not block. -1 and errno. */
static inline ssize_t dapl_fd_write(int fd, const void *buf, size_t size)
{
	return syscall(SYS_write, fd, buf, size);
}

static inline ssize_t dapl_fd_read(int fd, void *buf, size_t size)
{
	return syscall(SYS_read, fd, buf, size);
}

#endif
