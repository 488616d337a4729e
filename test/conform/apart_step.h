/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * apart_step.h - what apart_calls.c, apart_12.c and apart_20.c are made of:
 * whose an object is, and a step.
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

/* ------------------------------------------------------ how a call is made */

/* The library's own. */
void *apart_library(const char *call);

#define REAL(call) (*(__typeof__(&call))(uintptr_t)apart_library(#call))

/* The call itself, where it belongs. */
#define HERE(whose, call, ...)                \
	bool mine = apart_turn(#call, whose); \
	DAT_RETURN ret = mine ? REAL(call)(__VA_ARGS__) : DAT_SUCCESS

#define PART(p) ((struct apart_part){(p), sizeof(*(p))})
#define STEP(...)                                                           \
	apart_step(__func__, mine, ret,                                     \
		   (const struct apart_part[]){__VA_ARGS__},                \
		   (int)(sizeof((const struct apart_part[]){__VA_ARGS__}) / \
			 sizeof(struct apart_part)))
#define NOTHING PART((char *)NULL)

/* STEP of a call that makes *HANDLE. */
DAT_RETURN apart_step_made(const char *call, bool mine, DAT_RETURN ret,
			   DAT_HANDLE *handle);
#define MADE(handle) apart_step_made(__func__, mine, ret, (handle))

/* All parameters begin with the IA. */
#define SHOW_IA(param)                                                    \
	do {                                                              \
		if (mine && (param) && ret == DAT_SUCCESS)                \
			(param)->ia_handle =                              \
				apart_ia_shown((param)->ia_handle, true); \
	} while (0)

/* A call that takes nothing but the object. */
#define HANDLE_CALL(call, type)                               \
	DAT_RETURN call(type handle)                          \
	{                                                     \
		HERE(handle, call, handle);                   \
                                                              \
		return apart_step(#call, mine, ret, NULL, 0); \
	}

#define QUERY_CALL(object, OBJECT)                                       \
	DAT_RETURN dat_##object##_query(DAT_##OBJECT##_HANDLE handle,    \
					DAT_##OBJECT##_PARAM_MASK mask,  \
					DAT_##OBJECT##_PARAM *param)     \
	{                                                                \
		HERE(handle, dat_##object##_query, handle, mask, param); \
                                                                         \
		SHOW_IA(param);                                          \
		return STEP(PART(param));                                \
	}

#endif
