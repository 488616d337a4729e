/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_stub.h - what the stub provider tells the test program.
 *
 * The stub is a real shared library, loaded and unloaded by the registry; its
 * own variables go with it, so it counts in the program's. What it does is
 * chosen by ia_params, its instance data; see dat_stub.c.
 * Threads: counters are atomic.
 * Ownership: none.
 * Rule: the program defines stub_count (DAT_STUB_COUNTERS), the stub uses it.
 */
#ifndef DAT_STUB_H
#define DAT_STUB_H

struct stub_count {
	int inits;
	int finis;
	int opens;	    /* successful ones */
	int closes;	    /* successful ones */
	void (*gate)(void); /* called by init, unless NULL */
};

__attribute__((visibility("default"))) extern struct stub_count stub_count;

/* Put this into one file of the program. */
#define DAT_STUB_COUNTERS struct stub_count stub_count

#endif
