/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shrink.c - makes a failing walk short.
 *
 * Parts of the calls are left out, halves first and single calls at last, and
 * the rest is walked again in a child; what then fails alike is kept. Calls
 * whose objects were left out are not made. What depends on time may need
 * several tries.
 * Threads: one. Ownership: the trail is the caller's.
 * Rule: delta debugging, Zeller and Hildebrandt 2002.
 */
#include "test/walk/walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define TRIES	 3    /* of one candidate */
#define MAX_RUNS 3000 /* in all */
#define MAX_S	 90

struct search {
	const struct options *opt;
	struct trail *t; /* of the candidate */
	enum verdict v;
	char wrong[512];
	int runs;
	time_t begin;
};

/* The same complaint, but for addresses and numbers. */
static bool alike(const char *a, const char *b)
{
	return !strncmp(a, b, strcspn(a, "0123456789(:"));
}

static bool fails(struct search *s, int tries)
{
	struct options opt = *s->opt;

	opt.again = s->opt->again && !strncmp(s->wrong, "memory", 6);
	for (int i = 0; i < tries; i++) {
		enum verdict v;

		s->runs++;
		v = walk_join(&opt, s->t, walk_start(&opt, s->t, 0, 0));
		if (v == s->v &&
		    (v != WALK_WRONG || alike(s->t->wrong, s->wrong)))
			return true;
	}
	return false;
}

static bool spent(const struct search *s)
{
	return s->runs > MAX_RUNS || time(NULL) - s->begin > MAX_S;
}

/* Leaves out N calls from AT on, if it fails without them. */
static bool without(struct search *s, struct call *calls, int *count, int at,
		    int n, int tries)
{
	memcpy(s->t->calls, calls, (size_t)at * sizeof(*calls));
	memcpy(s->t->calls + at, calls + at + n,
	       (size_t)(*count - at - n) * sizeof(*calls));
	s->t->n = *count - n;
	if (!fails(s, tries))
		return false;
	memcpy(calls, s->t->calls, (size_t)s->t->n * sizeof(*calls));
	*count = s->t->n;
	return true;
}

static void reduce(struct search *s, struct call *calls, int *n, int tries)
{
	for (int part = *n / 2; part > 0 && !spent(s);
	     part = part > 1 ? part / 2 : 0)
		for (int at = *n - part; at >= 0 && !spent(s); at -= part)
			without(s, calls, n, at, part, tries);
	/* Once more, one by one: some could not go before others went. */
	for (int at = *n - 1; at >= 0 && !spent(s); at--)
		without(s, calls, n, at, 1, tries);
}

bool shrink(const struct options *opt, struct trail *t, enum verdict v,
	    FILE *to)
{
	static struct call calls[WALK_CALLS];
	struct world w = {.adapter = opt->provider, .qual = opt->qual};
	struct search s = {.opt = opt, .t = t, .v = v, .begin = time(NULL)};
	int n = t->n, first = n, tries = TRIES;
	bool again = true;

	memcpy(s.wrong, t->wrong, sizeof(s.wrong));
	memcpy(calls, t->calls, sizeof(calls));
	if (fails(&s, 1)) {
		/* At once: what is left out is not tried twice. */
		tries = 1;
		reduce(&s, calls, &n, tries);
	} else if (fails(&s, 10)) {
		reduce(&s, calls, &n, tries);
	} else {
		again = false;
		fprintf(to, "/* it did not fail again in 11 runs */\n");
	}
	fprintf(to, "/* %d calls of %d, after %d runs */\n", n, first, s.runs);
	call_program(to, &w, calls, n, s.wrong);
	memcpy(t->wrong, s.wrong, sizeof(s.wrong));
	return again;
}
