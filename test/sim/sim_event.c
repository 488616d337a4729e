/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_event.c - the clock: a heap of what is to happen, earliest first.
 *
 * Things of one moment happen in the order in which they were asked for, so a
 * run depends on its seed alone.
 */
#include <stdlib.h>

#include "test/sim/sim.h"

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void swap(struct sim_event *a, struct sim_event *b)
{
	struct sim_event t = *a;

	*a = *b;
	*b = t;
}

static void sift_up(struct sim_clock *clock, size_t i)
{
	for (; i && before(&clock->heap[i], &clock->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap(&clock->heap[i], &clock->heap[(i - 1) / 2]);
}

static void sift_down(struct sim_clock *clock, size_t i)
{
	for (;;) {
		size_t first = i, child;

		for (child = 2 * i + 1; child <= 2 * i + 2; child++)
			if (child < clock->n &&
			    before(&clock->heap[child], &clock->heap[first]))
				first = child;
		if (first == i)
			return;
		swap(&clock->heap[i], &clock->heap[first]);
		i = first;
	}
}

void sim_at(struct sim *sim, uint64_t at_us, sim_fn *fn, void *arg,
	    uint64_t tag)
{
	struct sim_clock *clock = &sim->clock;

	if (clock->n == clock->room) {
		clock->room = clock->room ? 2 * clock->room : 256;
		clock->heap = realloc(clock->heap,
				      clock->room * sizeof(*clock->heap));
		if (!clock->heap)
			sim_fail("no memory");
	}
	clock->heap[clock->n] = (struct sim_event){
		.at_us = at_us > clock->now_us ? at_us : clock->now_us,
		.order = clock->order++,
		.fn = fn,
		.arg = arg,
		.tag = tag,
	};
	sift_up(clock, clock->n++);
}

bool sim_step(struct sim *sim)
{
	struct sim_clock *clock = &sim->clock;
	struct sim_event ev;

	if (!clock->n)
		return false;
	ev = clock->heap[0];
	clock->heap[0] = clock->heap[--clock->n];
	sift_down(clock, 0);
	clock->now_us = ev.at_us;
	sim->stats.steps++;
	ev.fn(sim, ev.arg, ev.tag);
	return true;
}
