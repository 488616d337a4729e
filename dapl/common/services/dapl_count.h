/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_count.h - counting something that happened.
 *
 * What is counted, and who is asked for it: dapl_counters.h.
 * Threads: any, but for dapl_count_own(). Ownership: none; whoever has nothing
 * to count with passes NULL.
 */
#ifndef DAPL_COUNT_H
#define DAPL_COUNT_H

#include <stddef.h>
#include <stdint.h>

static inline void dapl_count_add(uint64_t *counts, int id, uint64_t n)
{
	if (counts)
		__atomic_fetch_add(&counts[id], n, __ATOMIC_RELAXED);
}

/*
 * A value that is written with one lock held, and read by anybody. Compilers
 * make three instructions of an atomic load and store.
 */
static inline void dapl_count_own(uint64_t *value, uint64_t n)
{
#ifdef __x86_64__
	__asm__("addq %1, %0" : "+m"(*value) : "er"(n) : "cc");
#else
	__atomic_store_n(value, __atomic_load_n(value, __ATOMIC_RELAXED) + n,
			 __ATOMIC_RELAXED);
#endif
}

static inline void dapl_count_own_most(uint64_t *value, uint64_t n)
{
	if (__builtin_expect(n > __atomic_load_n(value, __ATOMIC_RELAXED), 0))
		__atomic_store_n(value, n, __ATOMIC_RELAXED);
}

static inline void dapl_count(uint64_t *counts, int id)
{
	dapl_count_add(counts, id, 1);
}

/* It keeps the most that there ever was. */
static inline void dapl_count_most(uint64_t *counts, int id, uint64_t n)
{
	uint64_t most;

	if (!counts)
		return;
	most = __atomic_load_n(&counts[id], __ATOMIC_RELAXED);
	while (n > most &&
	       !__atomic_compare_exchange_n(&counts[id], &most, n, 1,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

#endif
