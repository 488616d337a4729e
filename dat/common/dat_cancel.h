/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_cancel.h - calls of this library are no cancellation points: a thread
 * that ended in a system call below them would leave the registry locked or a
 * provider half loaded.
 *
 * For calls that do more than jump to a provider, which sees to its own part.
 * Rule: pthreads(7), "Cancellation points".
 */
#ifndef DAT_CANCEL_H
#define DAT_CANCEL_H

#include <pthread.h>

static inline int dat_cancel_off(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	return was;
}

/* By the type, as a provider does: dapl/common/services/dapl_cancel.h. */
static inline void dat_cancel_restore(const int *was)
{
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	pthread_setcancelstate(*was, NULL);
	pthread_setcanceltype(type, NULL);
}

/* Among the declarations of a block: for the rest of it. */
#define DAT_NOT_CANCELLABLE                                                \
	__attribute__((unused,                                             \
		       cleanup(dat_cancel_restore))) int dat_cancel_was_ = \
		dat_cancel_off()

#endif
