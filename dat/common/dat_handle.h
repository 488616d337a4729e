/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_handle.h - the small integers that stand for open adapters.
 *
 * Programs see 1, 2, 3..., providers see their own pointers. Knows nothing of
 * providers; OWNER is whatever the registry wants to remember with a handle.
 * Threads: any. dat_handle_get() takes no lock and never blocks.
 * Ownership: neither pointers nor owners belong to the table.
 * Rule: lowest free number first, numbers are used again (historic; programs
 * are compiled with macros that pass the number).
 */
#ifndef DAT_HANDLE_H
#define DAT_HANDLE_H

#include "dat_face.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are below this; no pointer is that small. */
#define DAT_HANDLE_MAX	 65536
#define DAT_HANDLE_CHUNK 64

struct dat_handle_chunk {
	DAT_IA_HANDLE raw[DAT_HANDLE_CHUNK];
};

extern struct dat_handle_chunk
	*dat_handle_chunks[DAT_HANDLE_MAX / DAT_HANDLE_CHUNK];

static inline bool dat_handle_is_number(DAT_HANDLE handle)
{
	return (uintptr_t)handle < DAT_HANDLE_MAX;
}

/* The provider's pointer, or NULL if HANDLE is not that of an open adapter. */
static inline DAT_IA_HANDLE dat_handle_get(DAT_IA_HANDLE handle)
{
	uintptr_t i = (uintptr_t)handle;
	struct dat_handle_chunk *chunk;

	if (__builtin_expect(i >= DAT_HANDLE_MAX, 0))
		return DAT_HANDLE_NULL;
	/* chunks stay until the library is unloaded, so this is all */
	chunk = __atomic_load_n(&dat_handle_chunks[i / DAT_HANDLE_CHUNK],
				__ATOMIC_ACQUIRE);
	if (__builtin_expect(!chunk, 0))
		return DAT_HANDLE_NULL;
	return __atomic_load_n(&chunk->raw[i % DAT_HANDLE_CHUNK],
			       __ATOMIC_ACQUIRE);
}

/*
 * Takes a number that is not valid yet. DAT_HANDLE_NULL: no memory, or all
 * numbers are in use. Ends with dat_handle_publish() or dat_handle_release().
 */
DAT_IA_HANDLE dat_handle_reserve(void);

/* Makes a reserved number valid. */
void dat_handle_publish(DAT_IA_HANDLE handle, DAT_IA_HANDLE raw, void *owner);

/*
 * The first half of closing: the number stays valid, but only one caller gets
 * true. Ends with dat_handle_release() or dat_handle_keep().
 */
bool dat_handle_begin_close(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ret_raw,
			    void **ret_owner);

/* The provider refused to close. */
void dat_handle_keep(DAT_IA_HANDLE handle);

/* The number is free again. */
void dat_handle_release(DAT_IA_HANDLE handle);

/* The number of a provider's pointer, or DAT_HANDLE_NULL. */
DAT_IA_HANDLE dat_handle_find(DAT_IA_HANDLE raw);

/* Frees the table if nothing is open; true if so. */
bool dat_handle_fini(void);

#endif
