/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pattern.h - what is in the buffers of dapltest, and whether it arrived.
 *
 * Does not move anything. Threads: safe. Ownership: memory is the caller's.
 * Rule: between two of ours each transfer has bytes of its own: they depend
 * on who sends, in which iteration, and on their place, so that lost, late,
 * misplaced and foreign data all show. A historic peer with -V fills all
 * bytes with the iteration's number plus 1, modulo 256.
 */
#ifndef DAPLTEST_PATTERN_H
#define DAPLTEST_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dpt_pattern {
	uint64_t seed;
	bool uniform; /* all bytes are the seed's */
};

/* A transfer in memory: segments of size bytes, each stride after the last. */
struct dpt_layout {
	uint8_t *base;
	size_t size;
	size_t stride;
	uint32_t segs;
};

struct dpt_pattern dpt_pattern_own(uint32_t thread, uint32_t end, uint32_t op,
				   uint32_t iteration);
struct dpt_pattern dpt_pattern_historic(uint32_t iteration);

void dpt_fill(const struct dpt_layout *at, const struct dpt_pattern *p);
/* Makes the memory differ from every pattern of ours, most likely. */
void dpt_poison(const struct dpt_layout *at);
/* Returns the offset in the transfer of the first wrong byte, or -1. */
int64_t dpt_check(const struct dpt_layout *at, const struct dpt_pattern *p,
		  uint8_t *ret_got, uint8_t *ret_want);

#endif /* DAPLTEST_PATTERN_H */
