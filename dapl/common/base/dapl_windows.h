/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_windows.h - the memory windows of type 2 of one IA, by key: peers name
 * them when they invalidate one.
 *
 * Keys are unique per device, and all but their low 8 bits belong to a window
 * for its life. A peer may be done with a key before the bind that made it has
 * returned: so live_key names a key before the device can know it.
 */
#ifndef DAPL_WINDOWS_H
#define DAPL_WINDOWS_H

#include <dat2/udat.h>
#include <stdint.h>

#include "dapl/common/services/dapl_list.h"
#include "dapl/common/services/dapl_lock.h"

struct dapl_window {
	struct dapl_list by_key;  /* the lock of the windows */
	uint32_t index;		  /* the part of its keys that stays */
	DAT_RMR_CONTEXT live_key; /* atomic; 0: the device has none */
};

struct dapl_windows {
	struct dapl_lock lock; /* role LEAF */
	struct dapl_list *buckets;
	uint32_t size; /* power of two; 0: there has been no window yet */
	uint32_t count;
};

void dapl_windows_init(struct dapl_windows *windows);
void dapl_windows_fini(struct dapl_windows *windows);
/* KEY: any of the window's. 0 or -ENOMEM. */
int dapl_windows_enter(struct dapl_windows *windows, struct dapl_window *window,
		       DAT_RMR_CONTEXT key);
void dapl_windows_leave(struct dapl_windows *windows,
			struct dapl_window *window);
/* A peer's message has invalidated the window with that key. */
void dapl_windows_invalidated(struct dapl_windows *windows,
			      DAT_RMR_CONTEXT key);

#endif
