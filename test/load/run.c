/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run.c - a rank's life: cycles of open, connect, exchange, leave, and its
 * sense of time and chance.
 *
 * All that is random is the seed's; only delays make the order of events
 * different from run to run. Called by the rank's own thread.
 */
#include "test/load/load.h"

#include <stdlib.h>
#include <time.h>

#define SPINS	 64
#define PAUSE_NS 1000000

uint64_t load_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void load_moved(struct load *l)
{
	l->until_us = load_now_us() + (uint64_t)l->o->timeout_s * 1000000;
	l->looks = 0;
	__atomic_fetch_add(&l->tally->beat, 1, __ATOMIC_RELAXED);
}

void load_idle(struct load *l)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (++l->looks < SPINS) {
		rank_spin();
		return;
	}
	if (load_now_us() > l->until_us)
		RANK_FAIL(&l->r, "nothing happens for %d s: %.200s",
			  l->o->timeout_s, l->r.note->waits_for);
	/* many ranks share a processor */
	nanosleep(&pause, NULL);
}

unsigned int load_random(struct load *l, unsigned int below)
{
	uint64_t x = (l->random += 0x9e3779b97f4a7c15u);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (unsigned int)((x ^ (x >> 31)) % below);
}

void load_shuffle(struct load *l, int *order, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int k = (int)load_random(l, (unsigned int)i + 1);
		int was = order[i];

		order[i] = order[k];
		order[k] = was;
	}
}

/* Rank 0 decides, for clocks differ. */
static bool is_over(struct load *l, uint64_t end_us)
{
	char all[LOAD_RANKS], over;

	over = l->o->minutes ? load_now_us() >= end_us
			     : l->cycle >= l->o->cycles;
	rank_waits(&l->r, "what rank 0 says of the end");
	boot_allgather(&l->boot, &over, 1, all);
	return all[0];
}

static void one_cycle(struct load *l, bool rests)
{
	if (!l->ia)
		objects_open(l);
	flow_begin(l);
	mesh_begin(l);
	for (int i = 1; i <= l->o->rounds; i++)
		flow_round(l, i);
	if (!mesh_leave(l) && (rests || load_random(l, 2)))
		objects_close(l, false);
}

void load_run(struct load *l)
{
	uint64_t end_us =
		load_now_us() + (uint64_t)l->o->minutes * 60 * 1000000;
	bool over = false, rests;

	l->random = ((uint64_t)l->o->seed << 32) + (uint64_t)l->r.id;
	mesh_layout(l);
	flow_layout(l);
	while (!over) {
		rests = ++l->cycle % l->o->rest == 0;
		/* Nothing is open at the end, so it is known before. */
		over = is_over(l, end_us);
		rests |= over;
		one_cycle(l, rests);
		if (rests)
			rest_take(l);
		l->tally->cycles = l->cycle;
	}
	rest_verdict(l);
	boot_part(&l->boot);
}
