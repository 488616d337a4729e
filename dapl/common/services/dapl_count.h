/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_count.h - counting something that happened.
 *
 * What is counted, and who is asked for it: dapl_counters.h.
 * Threads: any. Ownership: none; whoever has nothing to count with passes NULL.
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
