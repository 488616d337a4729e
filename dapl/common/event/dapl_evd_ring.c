/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_ring.c - the ring of an EVD, and who puts what into it.
 *
 * It grows as it must. For every completion that may come (a work queue is
 * promised room in the completion queue when it attaches) there is a free slot
 * beforehand: an endpoint's end can read the completion queue empty without
 * memory. Events that are posted do not take those slots.
 * Connection events and requests are never dropped for their number.
 * Locks: takes the EVD's, or is called with it.
 */
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_counters.h"
#include "dapl/common/event/dapl_evd.h"

#define RING_INITIAL 16u
#define RING_MAX     (1u << 31)

/* Whether RING has N free slots, or could get them. */
static bool ring_room(struct dapl_ring *ring, uint32_t n)
{
	uint32_t used = ring->head - ring->tail, i = 0;
	uint32_t size = ring->size ? ring->size : RING_INITIAL;
	DAT_EVENT *slots;

	if (ring->size - used >= n)
		return true;
	while (size - used < n && size < RING_MAX)
		size *= 2;
	if (size - used < n)
		return false;
	slots = reallocarray(NULL, size, sizeof(*slots));
	if (!slots)
		return false;
	while (ring->tail != ring->head)
		slots[i++] = ring->slots[ring->tail++ & (ring->size - 1)];
	free(ring->slots);
	*ring = (struct dapl_ring){.slots = slots, .size = size, .head = i};
	return true;
}

bool dapl_evd_room_more_locked(struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	return ring_room(&evd->ring, evd->kept + 1);
}

bool dapl_evd_keep_room(struct dapl_evd *evd, int completions)
{
	bool ok;

	dapl_lock(&evd->lock);
	ok = ring_room(&evd->ring, (uint32_t)completions + DAPL_EVD_BATCH);
	if (ok)
		evd->kept = (uint32_t)completions;
	dapl_unlock(&evd->lock);
	return ok;
}

DAT_EVENT *dapl_evd_push_locked(struct dapl_evd *evd)
{
	DAT_EVENT *slot = dapl_evd_slot_locked(evd);

	if (slot)
		dapl_evd_slot_filled_locked(evd, false);
	return slot;
}

void dapl_evd_push_completion_locked(struct dapl_evd *evd,
				     const DAT_EVENT *event, bool unnotified,
				     struct dapl_evd_after *after)
{
	dapl_lock_assert_held(&evd->lock);
	/* A slot that was kept, if there is no memory for another one. */
	if (dapl_evd_room_locked(evd) || ring_room(&evd->ring, 1)) {
		*dapl_evd_slot_next(evd) = *event;
		dapl_evd_slot_filled_locked(evd, unnotified);
		return;
	}
	dapl_log(DAPL_LOG_ERR, "evd %p: no memory, a completion is lost",
		 (void *)evd);
	if (!evd->overflowed)
		dapl_evd_note_overflow_locked(evd, after);
	evd->overflowed = true;
}

/* ------------------------------------------------- posting */

static void log_dropped(const struct dapl_evd *evd, DAT_EVENT_NUMBER number,
			const char *why)
{
	dapl_log(DAPL_LOG_WARN, "evd %p: event 0x%x dropped: %s",
		 (const void *)evd, number, why);
}

/*
 * Whether EVENT, posted last, was one too many. The consumer hears of that, but
 * the ring grows, and nothing is lost. Requests are never too many: how long
 * the queue is says nothing of how many peers there are, and the connection
 * manager sees to it that no more come than there is room for.
 */
static bool overflows_locked(const struct dapl_evd *evd, const DAT_EVENT *event)
{
	const struct dapl_ring *ring = &evd->ring;
	uint32_t n = 0, i;

	dapl_lock_assert_held(&evd->lock);
	if (dapl_evd_queued(evd) <= (uint32_t)evd->qlen || evd->overflowed ||
	    event->event_number == DAT_CONNECTION_REQUEST_EVENT)
		return false;
	for (i = ring->tail; i != ring->head; i++)
		n += ring->slots[i & (ring->size - 1)].event_number !=
		     DAT_CONNECTION_REQUEST_EVENT;
	return n > (uint32_t)evd->qlen;
}

bool dapl_evd_post(struct dapl_evd *evd, const DAT_EVENT *event)
{
	bool dead, posted = false, overflow = false;
	DAT_EVENT *slot;

	dapl_lock(&evd->lock);
	dead = dapl_evd_is_dead_locked(evd);
	slot = dead ? NULL : dapl_evd_push_locked(evd);
	if (slot) {
		*slot = *event;
		slot->evd_handle = (DAT_EVD_HANDLE)evd;
		posted = true;
		dapl_count(dapl_counts_if_on(&evd->obj, &evd->counts),
			   DCNT_EVD_CONN_CALLBACK);
		overflow = overflows_locked(evd, event);
		evd->overflowed |= overflow;
		dapl_evd_wake_soon_locked(evd);
	}
	dapl_unlock(&evd->lock);
	if (!posted)
		log_dropped(evd, event->event_number,
			    dead ? "being freed" : "no memory");
	if (overflow)
		dapl_evd_tell_overflow(evd->async, (DAT_HANDLE)evd);
	return posted;
}

void dapl_evd_post_completion(struct dapl_evd *evd, const DAT_EVENT *event)
{
	struct dapl_evd_after after = {0};
	DAT_EVENT copy = *event;

	copy.evd_handle = (DAT_EVD_HANDLE)evd;
	dapl_lock(&evd->lock);
	if (!dapl_evd_is_dead_locked(evd)) {
		dapl_evd_push_completion_locked(evd, &copy, false, &after);
		dapl_evd_wake_locked(evd);
	}
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
}

void dapl_evd_note_overflow_locked(struct dapl_evd *evd,
				   struct dapl_evd_after *after)
{
	dapl_lock_assert_held(&evd->lock);
	if (!evd->async || after->async)
		return;
	dapl_obj_get(&evd->async->obj);
	after->async = evd->async;
	after->overflowed = (DAT_HANDLE)evd;
}
