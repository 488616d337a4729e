/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_redirect.h - how a call on an open object becomes a provider's.
 *
 * For dat_api.c and the calls of a face. Looks at nothing but the handle.
 * Threads: as the provider; nothing here locks or blocks.
 * Ownership: none.
 * Rule: the first word of an object is its provider's table; the code for a
 * NULL handle is that of the historic library, call by call. Calls on the data
 * path are a test and a jump: their slots are taken to be filled. The others
 * answer NOT_IMPLEMENTED for a slot that a provider has left empty.
 */
#ifndef DAT_REDIRECT_H
#define DAT_REDIRECT_H

#include "dat_handle.h"
#include <stdbool.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

/* Failures with their reasons. CALL is the name of the dat_ call. */
DAT_RETURN dat_no_handle(const char *call, enum dat_return_subtype subtype)
	__attribute__((cold));
DAT_RETURN dat_not_open(const char *call, DAT_HANDLE handle,
			enum dat_return_subtype subtype) __attribute__((cold));
DAT_RETURN dat_no_slot(const char *call) __attribute__((cold));

/*
 * No object lives in the first page: NULL and small numbers, which programs
 * pass by mistake for adapters or results, are told from pointers for free.
 */
static inline bool dat_no_object(DAT_HANDLE handle)
{
	return (uintptr_t)handle < 4096;
}

/* Objects are pointers, adapters are numbers; NULL for a number not open. */
static inline DAT_HANDLE dat_find_object(DAT_HANDLE handle)
{
	if (dat_handle_is_number(handle))
		return dat_handle_get(handle);
	return handle;
}

#define CALL(handle, slot, ...)                                 \
	(unlikely(!DAT_HANDLE_TO_PROVIDER(handle)->slot)        \
		 ? dat_no_slot(__func__)                        \
		 : DAT_HANDLE_TO_PROVIDER(handle)->slot(handle, \
							##__VA_ARGS__))

#endif
