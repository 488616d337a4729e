/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * apart.h - the two sides of a case in two processes, on two hosts if wanted.
 *
 * Both processes run the same case. What it calls for an object of one side is
 * done in that side's process; the other one gets what the call returned and
 * wrote, and what is in that side's buffer. So both go the same way, and each
 * is told at once when the other does not.
 * together.c is what programs with both sides in one process have instead.
 * Threads: those of a case; each step is made by the same thread of both.
 * Ownership: what a step hands over lives as long as the process.
 */
#ifndef CONFORM_APART_H
#define CONFORM_APART_H

#include "test/conform/conform.h"

#define APART_PORT 9999 /* TCP, below those of ports.h */
#define APART_NAME 96	/* longest name of a case, with its end */
#define APART_NOTE 512	/* what a case says of its end */

/* Whether this program has one side only, and so cannot do all cases. */
bool apart_is(void);

/*
 * Side a: waits until side b begins a case; its name is in NAME, and the
 * process has the streams to it. False: never will.
 */
bool apart_serve(char name[APART_NAME]);
/* In the parent: the child has the streams. */
void apart_leave(void);
/* In the parent: how the child has ended, by its exit code or -1, and why. */
void apart_verdict(int code, const char *note);
/* Side b: begins the case of that name on HOST. */
void apart_call(const char *host, const char *name);

/* Before a case's body; they agree on qual. */
void apart_begin(struct conf *c);
/*
 * Behind it, or when the case is skipped: with that exit code. Side b waits for
 * the end of side a's process, and fails unless it ends with the same.
 */
void apart_end(int code);

/* A side's buffer, filled with zeros: at an address that is free on both. */
uint8_t *apart_memory(const struct conf *c, const struct conf_side *s);
void apart_memory_free(uint8_t *memory);
/*
 * VALUE of the process that has the object HANDLE: for what a case looks at by
 * itself, and not by a call. The buffers are no older than that.
 */
uint64_t apart_agreed(DAT_HANDLE handle, uint64_t value);

#endif
