/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_cq.c - reading a completion queue: completions become events.
 *
 * Data path: what a completion means was decided when the request was posted
 * and is found through the slot that wr_id points to: a plain success is an
 * event at once, for all else its work queue knows. Runs under the EVD's
 * lock, which also guards the completing side of every work queue that ends
 * here. What needs another lock is only noted in struct dapl_evd_after and done
 * once the lock is free.
 */
#include <string.h>

#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_evd_cq.h"
#include "dapl/common/services/dapl_cancel.h"

void dapl_evd_cq_failed_locked(struct dapl_evd *evd, int n,
			       struct dapl_evd_after *after)
{
	dapl_lock_assert_held(&evd->lock);
	if (!dapl_evd_cq_gave_up(evd))
		return;
	dapl_log(DAPL_LOG_ERR, "evd %p: completion queue failed: error %d",
		 (void *)evd, n);
	dapl_evd_note_overflow_locked(evd, after);
}

bool dapl_evd_cq_next_locked(struct dapl_evd *evd, DAT_EVENT *event,
			     struct dapl_evd_after *after)
{
	struct ibv_wc wc;
	bool made;
	int n;

	dapl_lock_assert_held(&evd->lock);
	while ((n = evd->ops.poll(evd->cq, 1, &wc)) > 0) {
		after->unnotified = false;
		after->shared = false;
		if (dapl_evd_cq_fast(evd, &wc, event))
			return true;
		made = dapl_evd_cq_other(evd, &wc, event, after);
		dapl_evd_settle_locked(evd, after);
		if (made)
			return true;
		if (dapl_evd_pop_locked(evd, event))
			return true;
	}
	if (n < 0)
		dapl_evd_cq_failed_locked(evd, n, after);
	return false;
}

static bool is_of(const DAT_EVENT *event, const struct dapl_obj *ep)
{
	return event->event_number != DAT_RMR_BIND_COMPLETION_EVENT &&
	       event->event_data.dto_completion_event_data.ep_handle ==
		       (DAT_EP_HANDLE)(uintptr_t)ep;
}

/*
 * The one way of a completion to the ring. Verbs does not say of a success
 * whether it was solicited: that the queue notifies tells the waiter.
 */
static void take_locked(struct dapl_evd *evd, const struct ibv_wc *wc,
			const struct dapl_obj *drop,
			struct dapl_evd_after *after)
{
	DAT_EVENT *slot = dapl_evd_slot_locked(evd), spare;
	DAT_EVENT *event = slot ? slot : &spare;
	bool unnotified;

	dapl_lock_assert_held(&evd->lock);
	after->unnotified = false;
	after->shared = false;
	if (!dapl_evd_cq_fast(evd, wc, event) &&
	    !dapl_evd_cq_other(evd, wc, event, after))
		goto out;
	if (drop && !after->shared && is_of(event, drop))
		goto out;
	unnotified = after->unnotified || (evd->config == DAPL_EVD_SOLICITED &&
					   wc->status == IBV_WC_SUCCESS);
	if (slot)
		dapl_evd_slot_filled_locked(evd, unnotified);
	else
		dapl_evd_push_completion_locked(evd, event, unnotified, after);
out:
	/* An endpoint that is dropped has what it owes forgotten. */
	if (drop && after->settle && after->settle->owner == drop)
		after->settle = NULL;
	dapl_evd_settle_locked(evd, after);
}

/* Plain ones, up to the first that is none or has no room; how many. */
static int take_plain_locked(struct dapl_evd *evd, const struct ibv_wc *wc,
			     int n)
{
	uint32_t head = evd->ring.head, mask = evd->ring.size - 1;
	int room = dapl_evd_free_slots(evd);
	DAT_EVENT *slots = evd->ring.slots;
	int i;

	dapl_lock_assert_held(&evd->lock);
	if (n > room)
		n = room;
	for (i = 0; i < n; i++)
		if (unlikely(!dapl_evd_cq_fast(
			    evd, &wc[i], &slots[(head + (uint32_t)i) & mask])))
			break;
	if (i > 0)
		dapl_evd_slots_filled_locked(evd, (uint32_t)i);
	return i;
}

void dapl_evd_take_locked(struct dapl_evd *evd, const struct ibv_wc *wc, int n,
			  struct dapl_evd_after *after)
{
	bool all_notify = evd->config != DAPL_EVD_SOLICITED;
	int i = 0;

	dapl_lock_assert_held(&evd->lock);
	while (i < n) {
		if (likely(all_notify))
			i += take_plain_locked(evd, &wc[i], n - i);
		if (i < n)
			take_locked(evd, &wc[i++], NULL, after);
	}
	if (n < 0)
		dapl_evd_cq_failed_locked(evd, n, after);
}

static void poll_to_end_locked(struct dapl_evd *evd,
			       const struct dapl_obj *drop,
			       struct dapl_evd_after *after)
{
	struct ibv_wc wc;
	int n;

	dapl_lock_assert_held(&evd->lock);
	while ((n = evd->ops.poll(evd->cq, 1, &wc)) > 0)
		take_locked(evd, &wc, drop, after);
	if (n < 0)
		dapl_evd_cq_failed_locked(evd, n, after);
}

void dapl_evd_poll_locked(struct dapl_evd *evd, enum dapl_evd_reach reach,
			  const struct dapl_obj *drop,
			  struct dapl_evd_after *after)
{
	struct ibv_wc wc[DAPL_EVD_BATCH];
	int want, n;

	dapl_lock_assert_held(&evd->lock);
	if (!evd->cq || dapl_evd_is_dead_locked(evd))
		return;
	if (reach == DAPL_EVD_TO_END) {
		poll_to_end_locked(evd, drop, after);
		return;
	}
	do {
		if (!dapl_evd_room_locked(evd))
			return;
		want = dapl_evd_free_slots(evd);
		if (want > DAPL_EVD_BATCH)
			want = DAPL_EVD_BATCH;
		n = evd->ops.poll(evd->cq, want, wc);
		if (n)
			dapl_evd_take_locked(evd, wc, n, after);
	} while (n == want); /* else it was empty */
}

void dapl_evd_poll_all(struct dapl_evd *evd, const struct dapl_obj *drop,
		       struct dapl_evd_after *after)
{
	uint32_t notifications;

	if (!evd || !evd->cq)
		return;
	dapl_lock(&evd->lock);
	notifications = evd->notifications;
	dapl_evd_poll_locked(evd, DAPL_EVD_TO_END, drop, after);
	/* Of these the queue may not have been asked to notify. */
	if (evd->config == DAPL_EVD_SOLICITED &&
	    evd->notifications != notifications)
		dapl_evd_wake_locked(evd);
	dapl_unlock(&evd->lock);
}

void dapl_evd_cq_arm_locked(struct dapl_evd *evd)
{
	bool solicited = evd->config == DAPL_EVD_SOLICITED && !evd->flushing;
	enum dapl_evd_armed armed =
		solicited ? DAPL_EVD_ARMED_SOLICITED : DAPL_EVD_ARMED_ALL;
	int ret;

	dapl_lock_assert_held(&evd->lock);
	/* No endpoint, no completion: the first one will know what to arm. */
	if (!evd->cq || evd->config == DAPL_EVD_UNUSED)
		return;
	/* On some devices it is a system call. */
	if (evd->armed >= armed)
		return;
	ret = vb_op_error(evd->ops.arm(evd->cq, solicited));
	if (!ret)
		evd->armed = armed;
	else
		dapl_log(DAPL_LOG_ERR,
			 "evd %p: cannot arm the completion queue: %s",
			 (void *)evd, strerror(-ret));
}

bool dapl_evd_cq_ack_locked(struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	if (!evd->cq || vb_cq_event_take(evd->cq, evd->chan) <= 0)
		return false;
	evd->armed = DAPL_EVD_UNARMED;
	return true;
}

static void run_call(const struct dapl_evd_call *call)
{
	if (!call->fn)
		return;
	call->fn(call->obj, call->qp_id);
	dapl_obj_put(call->obj);
}

void dapl_evd_after_do(struct dapl_evd_after *after)
{
	/* The data path leads here. */
	int cancel = dapl_cancel_off();

	if (after->async) {
		dapl_evd_tell_overflow(after->async, after->overflowed);
		dapl_obj_put(&after->async->obj);
	}
	run_call(&after->drained);
	run_call(&after->broken);
	dapl_cancel_restore(cancel);
}
