/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rank.h - the frame of the consumers: a rank of a run, and the wires between
 * ranks beside DAT.
 *
 * Knows nothing of DAT, so that one runner (main.c) has ranks of both versions.
 * Threads: a rank is one thread, that of its own process or, on the fake
 * device, beside the others; it may start more, which leave the wires alone.
 * What is waited for without a limit is cut off by the runner, which then tells
 * what RANK_WAITS said last.
 */
#ifndef TEST_RANK_H
#define TEST_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANKS_MAX  16
#define RANK_NOTE  320
#define RANK_QUALS 32 /* qualifiers that a rank may use */
/* Of connections whose program has a limit: a slow machine is to be no failure,
 * and the runner has one, too. */
#define RANK_PATIENCE_US 300000000

/* What a rank tells the runner; memory that processes share. */
struct rank_note {
	char waits_for[RANK_NOTE];
	char failed[RANK_NOTE];
	char skipped[RANK_NOTE];
	bool dies; /* it will end itself by SIGKILL */
	bool done; /* nothing is left but to exit */
};

struct rank {
	int id, n;
	char *adapter;	   /* its name in dat.conf */
	unsigned int qual; /* of rank 0; RANK_QUALS for each */
	bool alone;	   /* has a process of its own */
	/* iWARP: receives have to be there before what they are for, and the
	 * side that has connected speaks first. */
	bool iwarp;
	int fd[RANKS_MAX]; /* a stream to each other rank, or -1 */
	struct rank_note *note;
	struct rank_kept *kept;
};

struct consumer {
	const char *name;
	void (*run)(struct rank *r);
	int ranks; /* as many as it has to have; 0: any number */
};

/* table.c: of one version, ends with one that has no name */
extern const struct consumer consumers[] __attribute__((visibility("default")));

/* --------------------------------------------------------------- verdicts */

/* The run has failed; the process ends. */
_Noreturn void rank_fail(struct rank *r, const char *file, int line,
			 const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
#define RANK_FAIL(r, ...) rank_fail(r, __FILE__, __LINE__, __VA_ARGS__)

#define EXPECT(r, cond)                                 \
	do {                                            \
		if (!(cond))                            \
			RANK_FAIL(r, "not so: " #cond); \
	} while (0)

#define EXPECT_EQ(r, got, want)                                             \
	do {                                                                \
		long long got_ = (long long)(got);                          \
		long long want_ = (long long)(want);                        \
		if (got_ != want_)                                          \
			RANK_FAIL(r, "%s is %lld (0x%llx), not %lld", #got, \
				  got_, (unsigned long long)got_, want_);   \
	} while (0)

/* What it waits for from here on. */
void rank_waits(struct rank *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The case cannot be made here; its ranks all say so and return. */
void rank_skip(struct rank *r, const char *reason);

/* Ends the process as kill -9 does, which is no failure. */
_Noreturn void rank_die(struct rank *r);

/* ------------------------------------------------------------------ wires */

void rank_send(struct rank *r, int to, const void *buf, size_t size);
void rank_recv(struct rank *r, int from, void *buf, size_t size);

/* ALL, of n times SIZE bytes, is what each rank gave as MINE. */
void rank_allgather(struct rank *r, const void *mine, size_t size, void *all);
void rank_barrier(struct rank *r);

/* ------------------------------------------------------------------- data */

/* Bytes that no other message has: of its sender, receiver and number. */
void rank_fill(void *buf, size_t size, int from, int to, unsigned int number);
void rank_check(struct rank *r, const void *buf, size_t size, int from, int to,
		unsigned int number);

/* Zeroed memory that stays for the run, exits and all, and is no leak. */
void *rank_keep(struct rank *r, size_t size);

/* Between two looks at something: others may need the processor. */
void rank_spin(void);

#endif
