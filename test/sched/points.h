/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * points.h - included before all else in every source of the build of
 * test/sched (see Makefile.inc): each atomic builtin is a point at which
 * another thread may go on, and then the builtin. A macro's own name is not
 * expanded again.
 *
 * Calls that lead to the kernel or to the C library are points by wrap.c.
 * Nothing else is one: threads that meet in plain accesses are the thread
 * sanitizer's to find. The order of memory is that of the program.
 */
#ifndef SCHED_POINTS_H
#define SCHED_POINTS_H

/* Few calls are enough for a lock to be somebody's (dapl_lock.h). */
#define DAPL_LOCK_STREAK 1

void sched_point(const char *what);

#define SCHED_THEN(what, op) (sched_point(what), op)

#define __atomic_load_n(...)  SCHED_THEN("load", __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) SCHED_THEN("store", __atomic_store_n(__VA_ARGS__))
#define __atomic_exchange_n(...) \
	SCHED_THEN("exchange", __atomic_exchange_n(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) \
	SCHED_THEN("compare", __atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_fetch_add(...) \
	SCHED_THEN("add", __atomic_fetch_add(__VA_ARGS__))
#define __atomic_add_fetch(...) \
	SCHED_THEN("add", __atomic_add_fetch(__VA_ARGS__))
#define __atomic_fetch_sub(...) \
	SCHED_THEN("sub", __atomic_fetch_sub(__VA_ARGS__))
#define __atomic_sub_fetch(...) \
	SCHED_THEN("sub", __atomic_sub_fetch(__VA_ARGS__))
#define __atomic_fetch_or(...) SCHED_THEN("or", __atomic_fetch_or(__VA_ARGS__))
#define __atomic_fetch_and(...) \
	SCHED_THEN("and", __atomic_fetch_and(__VA_ARGS__))
#define __sync_synchronize() SCHED_THEN("fence", __sync_synchronize())

#endif
