/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapltest_pattern.c - tests of the data that dapltest sends.
 *
 * Calls covered: dpt_fill, dpt_poison, dpt_check, dpt_pattern_own,
 * dpt_pattern_historic.
 * Rule: any wrong byte shows, wherever it is and however the transfer is cut.
 */
#include "test/dapltest/pattern.h"

#include <string.h>

#include "test/unit/case.h"

#define ROOM 4096

/* Awkward ways to cut a transfer. */
static const struct {
	size_t size, stride;
	uint32_t segs;
} shapes[] = {
	{1, 256, 1},	 {7, 256, 1},	{8, 256, 1},
	{9, 256, 3},	 {255, 256, 4}, {256, 256, 4},
	{1000, 1024, 3}, {1, 1, 13},	{4096, 4096, 1},
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct dpt_layout layout(uint8_t *base, size_t i)
{
	struct dpt_layout at = {base, shapes[i].size, shapes[i].stride,
				shapes[i].segs};

	return at;
}

CASE(check__finds_each_wrong_byte)
{
	struct dpt_pattern p = dpt_pattern_own(3, 2, 1, 7);
	uint8_t got, want, buf[ROOM];

	for (size_t i = 0; i < SHAPES; i++) {
		struct dpt_layout at = layout(buf, i);
		size_t total = at.size * at.segs;

		dpt_fill(&at, &p);
		assert_int_equal(dpt_check(&at, &p, &got, &want), -1);
		for (size_t n = 0; n < total; n++) {
			uint8_t *byte =
				buf + n / at.size * at.stride + n % at.size;

			*byte ^= 0x10;
			assert_int_equal(dpt_check(&at, &p, &got, &want),
					 (int64_t)n);
			assert_int_equal(got, *byte);
			assert_int_equal(want, *byte ^ 0x10);
			*byte ^= 0x10;
		}
	}
}

CASE(fill__leaves_what_is_between_segments)
{
	struct dpt_pattern p = dpt_pattern_own(0, 0, 0, 0);
	struct dpt_layout at = {NULL, 9, 256, 3};
	uint8_t buf[ROOM];

	memset(buf, 0x11, sizeof(buf));
	at.base = buf;
	dpt_fill(&at, &p);
	for (size_t i = 0; i < sizeof(buf); i++)
		if (i >= 3 * 256 || i % 256 >= 9)
			assert_int_equal(buf[i], 0x11);
}

/* One side's segments are the other side's one piece. */
CASE(fill__bytes_do_not_depend_on_the_cut)
{
	struct dpt_pattern p = dpt_pattern_own(1, 1, 1, 1);
	uint8_t cut[ROOM], whole[ROOM];
	struct dpt_layout a = {cut, 1000, 1024, 3}, b = {whole, 3000, 0, 1};

	dpt_fill(&a, &p);
	dpt_fill(&b, &p);
	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(cut[i / 1000 * 1024 + i % 1000], whole[i]);
}

CASE(pattern__differs_with_each_parameter)
{
	const struct dpt_pattern p[] = {
		dpt_pattern_own(0, 0, 0, 0), dpt_pattern_own(1, 0, 0, 0),
		dpt_pattern_own(0, 1, 0, 0), dpt_pattern_own(0, 0, 1, 0),
		dpt_pattern_own(0, 0, 0, 1), dpt_pattern_own(0, 0, 0, 256),
	};
	uint8_t got, want, buf[64];
	struct dpt_layout at = {buf, sizeof(buf), 0, 1};

	for (size_t i = 0; i < 6; i++) {
		dpt_fill(&at, &p[i]);
		for (size_t k = 0; k < 6; k++)
			assert_int_equal(dpt_check(&at, &p[k], &got, &want) < 0,
					 i == k);
	}
}

CASE(pattern__no_place_is_like_its_neighbours)
{
	struct dpt_pattern p = dpt_pattern_own(0, 0, 0, 5);
	uint8_t buf[ROOM];
	struct dpt_layout at = {buf, sizeof(buf), 0, 1};

	dpt_fill(&at, &p);
	for (size_t shift = 1; shift <= 2048; shift *= 2)
		assert_memory_not_equal(buf, buf + shift, 64);
}

CASE(historic__is_the_iteration_plus_1)
{
	uint8_t buf[100];
	struct dpt_layout at = {buf, sizeof(buf), 0, 1};

	for (uint32_t i = 0; i < 600; i += 85) {
		struct dpt_pattern p = dpt_pattern_historic(i);

		dpt_fill(&at, &p);
		for (size_t k = 0; k < sizeof(buf); k++)
			assert_int_equal(buf[k], (i + 1) % 256);
	}
}

CASE(poison__is_seen_as_wrong)
{
	uint8_t got, want, buf[ROOM];

	for (uint32_t n = 0; n < 1000; n++) {
		struct dpt_pattern p = dpt_pattern_own(n % 7, n % 5, n % 3, n);
		struct dpt_layout at = {buf, 64, 0, 1};

		dpt_poison(&at);
		assert_true(dpt_check(&at, &p, &got, &want) >= 0);
	}
}

RUN_CASES(NULL, NULL)
