/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * walk.h - one walk: calls are made and held against the model, one by one.
 *
 * Each walk is a child process, so that a crash, a hang or a leak is one failed
 * walk. What it did is in memory that it shares with its parent.
 * Threads: one. Ownership: the parent's is the shared memory.
 */
#ifndef WALK_WALK_H
#define WALK_WALK_H

#include <sys/types.h>

#include "test/walk/gen.h"

struct options {
	const char *provider; /* a name in dat.conf */
	const char *kind;     /* of the fake device */
	int calls;	      /* of one walk */
	int lie;
	DAT_CONN_QUAL qual;
	unsigned int patience_s; /* without a call that returns */
	bool still;		 /* nobody connects: all answers are certain */
	bool loud;		 /* every call is printed */
	bool again;   /* walk it more than once, and compare memory */
	FILE *record; /* where walks are written that others can repeat */
};

/* A call that was made, and what came of it. */
struct walk_step {
	struct call c;
	uint32_t ret, event; /* of a wait that gave one */
	DAT_HANDLE made;     /* or whose event it is */
};

#define WALK_STEPS 8192 /* the last ones are kept */

/* What a walk leaves. */
struct trail {
	struct call calls[WALK_CALLS];
	int n; /* recorded */
	struct walk_step steps[WALK_STEPS];
	volatile int at; /* calls made, those of settling too */
	char wrong[512];
};

enum verdict {
	WALK_OK,
	WALK_WRONG,   /* the model says so: trail->wrong */
	WALK_CRASHED, /* by a signal, or with an exit code of a tool */
	WALK_HUNG,
};

/*
 * Starts a child that walks: with SEED, or, where that is 0, the N calls that
 * are in the trail. waits[] of walk_join() are for one child each.
 */
pid_t walk_start(const struct options *opt, struct trail *t, uint64_t seed,
		 int slot);
/* Waits for it: a child without progress is ended. */
enum verdict walk_join(const struct options *opt, struct trail *t, pid_t pid);
/* The same without waiting; false: it is not over. */
bool walk_poll(const struct options *opt, struct trail *t, pid_t pid, int *seen,
	       uint64_t *since_us, enum verdict *v);
/* Sleeps until a child ends, or some time has passed. */
void walk_pause(void);

/*
 * record.c: whether a call that was drawn belongs into a sequence that is to be
 * played on another library, the historic one too: it has one answer, whatever
 * the time is, and is not among those that are known to go wrong there.
 */
bool record_may(struct gen *g, const struct model *m, const struct call *c);
/* The next call that takes down what is up; false: nothing is. */
bool record_end(const struct model *m, struct call *c);

/*
 * shrink.c: fewer calls that fail alike; prints them as a C program. False:
 * they did not fail again, which leaves what the walk saw to reason from.
 */
bool shrink(const struct options *opt, struct trail *t, enum verdict v,
	    FILE *to);

#endif /* WALK_WALK_H */
