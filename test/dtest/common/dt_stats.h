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

#include <stdbool.h>
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
 * When operations were begun, of which several are under way at once. Times
 * between completions would show rates that never were: these come in bunches.
 */
struct dt_window {
	uint64_t *posted_ns; /* of the last 2 * depth, a ring */
	uint32_t depth;
};

/* Returns 0 or -ENOMEM. */
int dt_window_init(struct dt_window *w, uint32_t depth);
void dt_window_fini(struct dt_window *w);

static inline void dt_window_post(struct dt_window *w, uint32_t index,
				  uint64_t now_ns)
{
	w->posted_ns[index % (2 * w->depth)] = now_ns;
}

/*
 * Time of one operation when `index` is done: as many as may be under way have
 * passed since the first of them was begun.
 */
static inline uint64_t dt_window_each(const struct dt_window *w, uint32_t index,
				      uint64_t now_ns)
{
	uint32_t n = index + 1 < w->depth ? index + 1 : w->depth;

	return (now_ns - w->posted_ns[(index + 1 - n) % (2 * w->depth)]) / n;
}

/* Where the warm-up of a loop ended, which the figures leave out. */
struct dt_warm {
	bool over;
	uint32_t done; /* operations by then */
	size_t skip;   /* samples by then */
	uint64_t ns;   /* and when that was */
};

/* Called before the loop and as operations are done; samples: those so far. */
static inline void dt_warm_note(struct dt_warm *w, uint32_t warmup,
				uint32_t done, const struct dt_samples *samples,
				uint64_t now_ns)
{
	if (!w->over && done >= warmup)
		*w = (struct dt_warm){true, done, samples->count, now_ns};
}

/*
 * Figures of all samples but the first `skip` (the warm-up). Each sample is
 * divided by `divisor` (2: half a round trip). Sorts the samples in place.
 */
void dt_stats_compute(struct dt_samples *s, size_t skip, double divisor,
		      struct dt_stats *ret_stats);

#endif /* DTEST_DT_STATS_H */
