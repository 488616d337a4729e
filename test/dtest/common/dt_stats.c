/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_stats.c - minimum, median, deviation and percentiles of samples.
 *
 * Does not throw outliers away. Threads: see dt_stats.h.
 * Ownership: works on the caller's samples.
 * Rule: nearest-rank percentiles: rank = ceil(share * count); the median of
 * an even count is the mean of the two in the middle.
 */
#include "test/dtest/common/dt_stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int dt_samples_init(struct dt_samples *s, size_t room)
{
	uint64_t *ns = calloc(room ? room : 1, sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	s->ns = ns;
	s->room = room;
	s->count = 0;
	return 0;
}

void dt_samples_fini(struct dt_samples *s)
{
	free(s->ns);
	memset(s, 0, sizeof(*s));
}

int dt_window_init(struct dt_window *w, uint32_t depth)
{
	w->posted_ns = calloc(2 * (size_t)depth, sizeof(*w->posted_ns));
	w->depth = depth;
	return w->posted_ns ? 0 : -ENOMEM;
}

void dt_window_fini(struct dt_window *w)
{
	free(w->posted_ns);
	memset(w, 0, sizeof(*w));
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Permille, and integers: 0.999 * 1000 must not come out as 999.0000001. */
static uint64_t percentile(const uint64_t *sorted, size_t n, size_t permille)
{
	size_t rank = (n * permille + 999) / 1000;

	return sorted[rank ? rank - 1 : 0];
}

void dt_stats_compute(struct dt_samples *s, size_t skip, double divisor,
		      struct dt_stats *ret_stats)
{
	double unit = 1000.0 * divisor, mean = 0, m2 = 0;
	uint64_t *v = s->ns + skip;
	size_t n;

	memset(ret_stats, 0, sizeof(*ret_stats));
	if (skip >= s->count)
		return;
	n = s->count - skip;
	/* Welford's way: no loss when the deviation is small. */
	for (size_t i = 0; i < n; i++) {
		double delta = (double)v[i] - mean;

		mean += delta / (double)(i + 1);
		m2 += delta * ((double)v[i] - mean);
	}
	qsort(v, n, sizeof(*v), compare);
	ret_stats->count = n;
	ret_stats->min_us = (double)v[0] / unit;
	ret_stats->max_us = (double)v[n - 1] / unit;
	ret_stats->typical_us =
		((double)v[(n - 1) / 2] + (double)v[n / 2]) / 2.0 / unit;
	ret_stats->avg_us = mean / unit;
	ret_stats->stdev_us = sqrt(m2 / (double)n) / unit;
	ret_stats->p99_us = (double)percentile(v, n, 990) / unit;
	ret_stats->p999_us = (double)percentile(v, n, 999) / unit;
}
