/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_windows.c - memory windows of type 2 by key; see dapl_windows.h. */
#include "dapl/common/base/dapl_windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void dapl_windows_init(struct dapl_windows *windows)
{
	memset(windows, 0, sizeof(*windows));
	dapl_lock_init(&windows->lock, DAPL_LOCK_LEAF);
}

void dapl_windows_fini(struct dapl_windows *windows)
{
	free(windows->buckets);
	dapl_lock_fini(&windows->lock);
}

static struct dapl_list *bucket(struct dapl_list *buckets, uint32_t size,
				uint32_t index)
{
	return &buckets[index & (size - 1)];
}

static uint32_t index_of(DAT_RMR_CONTEXT key)
{
	return key >> 8;
}

/* As many lists as there are windows, or more. 0 or -ENOMEM. */
static int windows_grow_locked(struct dapl_windows *w)
{
	uint32_t size = w->size ? w->size * 2 : 16;
	struct dapl_list *buckets;
	struct dapl_window *window, *tmp;

	dapl_lock_assert_held(&w->lock);
	if (w->count < w->size)
		return 0;
	buckets = malloc(size * sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	for (uint32_t i = 0; i < size; i++)
		dapl_list_init(&buckets[i]);
	for (uint32_t i = 0; i < w->size; i++) {
		dapl_list_for_each_safe(window, tmp, &w->buckets[i], by_key) {
			dapl_list_del(&window->by_key);
			dapl_list_add_tail(bucket(buckets, size, window->index),
					   &window->by_key);
		}
	}
	free(w->buckets);
	w->buckets = buckets;
	w->size = size;
	return 0;
}

int dapl_windows_enter(struct dapl_windows *w, struct dapl_window *window,
		       DAT_RMR_CONTEXT key)
{
	int ret;

	dapl_lock(&w->lock);
	ret = windows_grow_locked(w);
	if (!ret) {
		window->index = index_of(key);
		dapl_list_add_tail(bucket(w->buckets, w->size, window->index),
				   &window->by_key);
		w->count++;
	}
	dapl_unlock(&w->lock);
	return ret;
}

void dapl_windows_leave(struct dapl_windows *w, struct dapl_window *window)
{
	dapl_lock(&w->lock);
	dapl_list_del(&window->by_key);
	w->count--;
	dapl_unlock(&w->lock);
}

void dapl_windows_invalidated(struct dapl_windows *w, DAT_RMR_CONTEXT key)
{
	struct dapl_window *window;

	dapl_lock(&w->lock);
	if (w->size)
		dapl_list_for_each(window,
				   bucket(w->buckets, w->size, index_of(key)),
				   by_key) {
			DAT_RMR_CONTEXT live = key;

			if (__atomic_compare_exchange_n(
				    &window->live_key, &live, 0, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				break;
		}
	dapl_unlock(&w->lock);
}
