/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * apart_step.h - what apart_calls.c is made of: whose an object is, and a step.
 */
#ifndef CONFORM_APART_STEP_H
#define CONFORM_APART_STEP_H

#include "test/conform/apart.h"

/* What a call writes. NULL: the case did not ask for it. */
struct apart_part {
	void *at;
	size_t size;
};

/*
 * CALL for HANDLE begins: whether it is this process's. That of what nobody
 * made is b's. Who makes it goes on when the other one has come as far, too.
 */
bool apart_turn(const char *call, DAT_HANDLE handle);
/* What was made beside others that are MINE, or not, is too. */
void apart_made(DAT_HANDLE handle, bool mine);
/* The same of an IA that is opened into EVD. */
bool apart_turn_to_open(const char *call, const DAT_EVD_HANDLE *async_evd);

/*
 * Numbers of IAs are those of a process: both would have the same. As the case
 * sees it, and as the library does. Others than numbers stay.
 */
DAT_IA_HANDLE apart_ia_shown(DAT_IA_HANDLE ia, bool mine);
DAT_IA_HANDLE apart_ia(DAT_IA_HANDLE ia);

/*
 * The turn is over: CALL was made here, if it was MINE, and returned RET, or it
 * was made there. Returns what it returned; what it wrote is in the parts.
 */
DAT_RETURN apart_step(const char *call, bool mine, DAT_RETURN ret,
		      const struct apart_part *parts, int n);
/* What *POINTER points to, SIZE bytes, which a call has left there. */
void apart_pointed(bool mine, void **pointer, size_t size);

#endif
