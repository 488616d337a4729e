/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_handle.c - the table of open adapters.
 *
 * Does not call providers. Number 0 is never used, it is DAT_HANDLE_NULL.
 * Threads: writers hold table_lock, a leaf; readers of a pointer take no lock.
 * That works because chunks of the table are added and never moved.
 * Ownership: chunks, until dat_handle_fini().
 * Rule: dat_handle.h.
 */
#include "dat_handle.h"

#include <pthread.h>
#include <stdlib.h>

enum slot_state {
	SLOT_FREE,
	SLOT_RESERVED,
	SLOT_OPEN,
	SLOT_CLOSING
};

/* What only writers look at, beside the pointers that readers look at. */
struct chunk {
	struct dat_handle_chunk shared; /* first: readers find it here */
	void *owner[DAT_HANDLE_CHUNK];
	enum slot_state state[DAT_HANDLE_CHUNK];
};

#define N_CHUNKS (DAT_HANDLE_MAX / DAT_HANDLE_CHUNK)

struct dat_handle_chunk *dat_handle_chunks[N_CHUNKS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t n_chunks;		 /* table_lock */
static uintptr_t maybe_free = 1; /* table_lock, none below is free */

static struct chunk *chunk_of_locked(uintptr_t i)
{
	return (struct chunk *)dat_handle_chunks[i / DAT_HANDLE_CHUNK];
}

static enum slot_state *state_of_locked(DAT_IA_HANDLE handle)
{
	uintptr_t i = (uintptr_t)handle;

	if (i >= n_chunks * DAT_HANDLE_CHUNK)
		return NULL;
	return &chunk_of_locked(i)->state[i % DAT_HANDLE_CHUNK];
}

static void set_raw_locked(uintptr_t i, DAT_IA_HANDLE raw)
{
	__atomic_store_n(&chunk_of_locked(i)->shared.raw[i % DAT_HANDLE_CHUNK],
			 raw, __ATOMIC_RELEASE);
}

static bool grow_locked(void)
{
	struct chunk *chunk;

	if (n_chunks == N_CHUNKS)
		return false;
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return false;
	__atomic_store_n(&dat_handle_chunks[n_chunks], &chunk->shared,
			 __ATOMIC_RELEASE);
	n_chunks++;
	return true;
}

static DAT_IA_HANDLE reserve_locked(void)
{
	enum slot_state *state;
	uintptr_t i;

	for (i = maybe_free; i < DAT_HANDLE_MAX; i++) {
		state = state_of_locked((DAT_IA_HANDLE)i);
		if (!state) {
			if (!grow_locked())
				return DAT_HANDLE_NULL;
			state = state_of_locked((DAT_IA_HANDLE)i);
		}
		if (*state == SLOT_FREE) {
			*state = SLOT_RESERVED;
			maybe_free = i + 1;
			return (DAT_IA_HANDLE)i;
		}
	}
	return DAT_HANDLE_NULL;
}

DAT_IA_HANDLE dat_handle_reserve(void)
{
	DAT_IA_HANDLE handle;

	pthread_mutex_lock(&table_lock);
	handle = reserve_locked();
	pthread_mutex_unlock(&table_lock);
	return handle;
}

void dat_handle_publish(DAT_IA_HANDLE handle, DAT_IA_HANDLE raw, void *owner)
{
	uintptr_t i = (uintptr_t)handle;

	pthread_mutex_lock(&table_lock);
	chunk_of_locked(i)->owner[i % DAT_HANDLE_CHUNK] = owner;
	*state_of_locked(handle) = SLOT_OPEN;
	set_raw_locked(i, raw);
	pthread_mutex_unlock(&table_lock);
}

bool dat_handle_begin_close(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ret_raw,
			    void **ret_owner)
{
	uintptr_t i = (uintptr_t)handle;
	enum slot_state *state;
	bool ours;

	pthread_mutex_lock(&table_lock);
	state = state_of_locked(handle);
	ours = state && *state == SLOT_OPEN;
	if (ours) {
		*state = SLOT_CLOSING;
		*ret_raw = dat_handle_get(handle);
		*ret_owner = chunk_of_locked(i)->owner[i % DAT_HANDLE_CHUNK];
	}
	pthread_mutex_unlock(&table_lock);
	return ours;
}

void dat_handle_keep(DAT_IA_HANDLE handle)
{
	pthread_mutex_lock(&table_lock);
	*state_of_locked(handle) = SLOT_OPEN;
	pthread_mutex_unlock(&table_lock);
}

void dat_handle_release(DAT_IA_HANDLE handle)
{
	pthread_mutex_lock(&table_lock);
	set_raw_locked((uintptr_t)handle, DAT_HANDLE_NULL);
	*state_of_locked(handle) = SLOT_FREE;
	if ((uintptr_t)handle < maybe_free)
		maybe_free = (uintptr_t)handle;
	pthread_mutex_unlock(&table_lock);
}

/*
 * An adapter that is being closed comes second: its memory may already be
 * that of one just opened.
 */
static DAT_IA_HANDLE find_locked(DAT_IA_HANDLE raw)
{
	DAT_IA_HANDLE closing = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle;
	uintptr_t i;

	for (i = 1; i < n_chunks * DAT_HANDLE_CHUNK; i++) {
		handle = (DAT_IA_HANDLE)i;
		if (dat_handle_get(handle) != raw)
			continue;
		if (*state_of_locked(handle) == SLOT_OPEN)
			return handle;
		closing = handle;
	}
	return closing;
}

DAT_IA_HANDLE dat_handle_find(DAT_IA_HANDLE raw)
{
	DAT_IA_HANDLE handle;

	if (!raw)
		return DAT_HANDLE_NULL;
	pthread_mutex_lock(&table_lock);
	handle = find_locked(raw);
	pthread_mutex_unlock(&table_lock);
	return handle;
}

static bool in_use_locked(void)
{
	uintptr_t i;

	for (i = 1; i < n_chunks * DAT_HANDLE_CHUNK; i++)
		if (*state_of_locked((DAT_IA_HANDLE)i) != SLOT_FREE)
			return true;
	return false;
}

bool dat_handle_fini(void)
{
	bool in_use;

	pthread_mutex_lock(&table_lock);
	in_use = in_use_locked();
	while (!in_use && n_chunks > 0) {
		n_chunks--;
		maybe_free = 1;
		free(chunk_of_locked(n_chunks * DAT_HANDLE_CHUNK));
		__atomic_store_n(&dat_handle_chunks[n_chunks], NULL,
				 __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&table_lock);
	return !in_use;
}

DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE in, DAT_IA_HANDLE *out)
{
	DAT_IA_HANDLE other;

	if (!out)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER |
		       DAT_INVALID_ARG2;
	other = dat_handle_is_number(in) ? dat_handle_get(in)
					 : dat_handle_find(in);
	if (!other)
		return DAT_CLASS_ERROR | DAT_INVALID_HANDLE |
		       DAT_INVALID_HANDLE_IA;
	*out = other;
	return DAT_SUCCESS;
}
