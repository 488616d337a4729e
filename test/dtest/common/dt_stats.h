/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_stats.h - samples of a measured loop and what is said about them.
 *
 * Does not take times and does not print.
 * Threads: none of it is shared. Adding a sample never allocates, so that it
 * can stand inside the loop.
 * Ownership: dt_samples_init() allocates, dt_samples_fini() frees.
 * Rule: names and meaning of the figures as in perftest: "typical" is the
 * median, a percentile is the sample below which that share lies.
 */
#ifndef DTEST_DT_STATS_H
#define DTEST_DT_STATS_H

#include <stddef.h>
#include <stdint.h>

struct dt_samples {
	uint64_t *ns;
	size_t count;
	size_t room;
};

struct dt_stats {
	size_t count; /* 0: the figures mean nothing */
	double min_us;
	double max_us;
	double typical_us;
	double avg_us;
	double stdev_us; /* of the population */
	double p99_us;
	double p999_us;
};

/* Room for that many samples. Returns 0 or -ENOMEM. */
int dt_samples_init(struct dt_samples *s, size_t room);
void dt_samples_fini(struct dt_samples *s);

static inline void dt_samples_clear(struct dt_samples *s)
{
	s->count = 0;
}

/* Beyond the room a sample is dropped; it is sized for the whole loop. */
static inline void dt_samples_add(struct dt_samples *s, uint64_t ns)
{
	if (s->count < s->room)
		s->ns[s->count++] = ns;
}

/*
 * Figures of all samples but the first `skip` (the warm-up). Each sample is
 * divided by `divisor` (2: half a round trip). Sorts the samples in place.
 */
void dt_stats_compute(struct dt_samples *s, size_t skip, double divisor,
		      struct dt_stats *ret_stats);

#endif /* DTEST_DT_STATS_H */
