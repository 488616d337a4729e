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
	bool still; /* no connections */
};

uint32_t gen_below(struct gen *g, uint32_t n);
/* Fills *C with a call that the model can judge. */
void gen_next(struct gen *g, const struct model *m, struct call *c);
/*
 * The next call that ends the walk: all is freed in the order that the
 * specification wants, or adapters are closed over it. False: nothing is left.
 */
bool gen_end(struct gen *g, const struct model *m, bool graceful,
	     struct call *c);

#endif /* WALK_GEN_H */
