/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gen.h - the next call of a random walk, mostly a sensible one.
 *
 * It looks at the model to find objects for a call; whether the call is right
 * is for the model to say. Threads: one. Ownership: none.
 */
#ifndef WALK_GEN_H
#define WALK_GEN_H

#include "test/walk/model.h"

struct gen {
	uint64_t state; /* of the random numbers; from the seed */
	int next;	/* number of the object that is made next */
	uint32_t serial;
	bool still;   /* no connections */
	bool eager;   /* for connections, and for what goes over them */
	bool windows; /* of that, mostly for what goes through windows */
	bool sound;   /* no call of the device fails */
	bool spills;  /* EVDs may have more events than their length */
	bool common;  /* many connect as sockets do, to common service points */
};

#define WALK_QUALS 6 /* qualifiers that a walk uses */

uint32_t gen_below(struct gen *g, uint32_t n);
/*
 * gen_pair.c: the next call towards two endpoints that are connected. False:
 * there are two, or no way.
 */
bool gen_pair(struct gen *g, const struct model *m, struct call *c);
/* Fills *C with a call that the model can judge. */
void gen_next(struct gen *g, const struct model *m, struct call *c);
/*
 * The next call that ends the walk: all is freed in the order that the
 * specification wants, or adapters are closed over it. False: nothing is left.
 */
bool gen_end(struct gen *g, const struct model *m, bool graceful,
	     struct call *c);

#endif /* WALK_GEN_H */
