/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * parts.h - what the programs of this folder share: they print one line for
 * each thing that they see, "what<TAB>value", so that two runs can be compared,
 * in parts that are processes of their own: where a library crashes or hangs,
 * its part ends with a line that says so.
 *
 * Knows the public API only and judges nothing. Threads: any may print.
 */
#ifndef DIFFER_PARTS_H
#define DIFFER_PARTS_H

#include "test/face.h"

__attribute__((format(printf, 2, 3))) void say(const char *what,
					       const char *fmt, ...);
/* The answer of a call; the class bits are part of it. */
DAT_RETURN answer(const char *call, DAT_RETURN ret);

/* Ends the part when the call that all else hangs on fails. */
void must(const char *call, DAT_RETURN ret);

/* Runs PART(ARG) in a child, for SECONDS at most. How it ended, NULL: well. */
const char *run_child(unsigned int seconds, void (*part)(void *arg), void *arg);
/* The same as a part of what is printed, with that end. */
void run_part(const char *name, unsigned int seconds, void (*part)(void *arg),
	      void *arg);

struct part {
	const char *name;
	void (*run)(void);
};

/* What a program was called with, and has its parts from. */
extern const char *adapter;
extern DAT_CONN_QUAL qual;

/* main() of a program that is called with both: runs the N parts in order. */
int parts_main(int argc, char **argv, const struct part *parts, size_t n,
	       unsigned int seconds);

#endif /* DIFFER_PARTS_H */
