/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pattern.c - what is in the buffers of dapltest, and whether it arrived.
 *
 * Eight bytes at a time, since this stands in measured loops.
 * Threads, ownership, rule: see pattern.h.
 */
#include "test/dapltest/pattern.h"

#include <endian.h>
#include <string.h>

#define WORD sizeof(uint64_t)

/* A byte that no pattern prefers. */
#define POISON 0xa7

struct dpt_pattern dpt_pattern_own(uint32_t thread, uint32_t end, uint32_t op,
				   uint32_t iteration)
{
	uint64_t x = (uint64_t)thread << 48 ^ (uint64_t)end << 32 ^
		     (uint64_t)op << 24 ^ iteration;
	struct dpt_pattern p = {.uniform = false};

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	p.seed = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return p;
}

struct dpt_pattern dpt_pattern_historic(uint32_t iteration)
{
	struct dpt_pattern p = {.uniform = true};

	p.seed = ((iteration + 1) & 0xff) * 0x0101010101010101u;
	return p;
}

/* Bytes 8 * index and following of a transfer. */
static uint64_t word(const struct dpt_pattern *p, uint64_t index)
{
	uint64_t x = (p->seed + index) * 0x9e3779b97f4a7c15u;

	return p->uniform ? p->seed : x ^ x >> 29;
}

static uint8_t byte(const struct dpt_pattern *p, size_t offset)
{
	return (uint8_t)(word(p, offset / WORD) >> 8 * (offset % WORD));
}

static void fill_run(uint8_t *to, size_t n, size_t offset,
		     const struct dpt_pattern *p)
{
	size_t i = 0;

	for (; i < n && (offset + i) % WORD; i++)
		to[i] = byte(p, offset + i);
	for (; i + WORD <= n; i += WORD) {
		uint64_t w = htole64(word(p, (offset + i) / WORD));

		memcpy(to + i, &w, WORD);
	}
	for (; i < n; i++)
		to[i] = byte(p, offset + i);
}

/* Returns how many bytes are right, from the beginning. */
static size_t check_run(const uint8_t *at, size_t n, size_t offset,
			const struct dpt_pattern *p)
{
	size_t i = 0;

	while (i < n && (offset + i) % WORD && at[i] == byte(p, offset + i))
		i++;
	for (; i + WORD <= n && !((offset + i) % WORD); i += WORD) {
		uint64_t want = htole64(word(p, (offset + i) / WORD));
		uint64_t got;

		memcpy(&got, at + i, WORD);
		if (got != want)
			break;
	}
	while (i < n && at[i] == byte(p, offset + i))
		i++;
	return i;
}

void dpt_fill(const struct dpt_layout *at, const struct dpt_pattern *p)
{
	for (uint32_t i = 0; i < at->segs; i++)
		fill_run(at->base + i * at->stride, at->size, i * at->size, p);
}

void dpt_poison(const struct dpt_layout *at)
{
	for (uint32_t i = 0; i < at->segs; i++)
		memset(at->base + i * at->stride, POISON, at->size);
}

int64_t dpt_check(const struct dpt_layout *at, const struct dpt_pattern *p,
		  uint8_t *ret_got, uint8_t *ret_want)
{
	for (uint32_t i = 0; i < at->segs; i++) {
		const uint8_t *seg = at->base + i * at->stride;
		size_t offset = i * at->size;
		size_t good = check_run(seg, at->size, offset, p);

		if (good == at->size)
			continue;
		*ret_got = seg[good];
		*ret_want = byte(p, offset + good);
		return (int64_t)(offset + good);
	}
	return -1;
}
