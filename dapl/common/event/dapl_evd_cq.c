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
	int n;

	dapl_lock_assert_held(&evd->lock);
	while ((n = ibv_poll_cq(evd->cq, 1, &wc)) > 0) {
		after->quiet = false;
		after->shared = false;
		if (dapl_evd_cq_fast(evd, &wc, event) ||
		    dapl_evd_cq_other(evd, &wc, event, after))
			return true;
	}
	if (n < 0)
		dapl_evd_cq_failed_locked(evd, n, after);
	return false;
}

/*
 * The one way of a completion to the ring. Verbs does not say of it whether it
 * was solicited: that the queue notifies tells the waiter.
 */
static void cq_push_locked(struct dapl_evd *evd, const DAT_EVENT *event,
			   struct dapl_evd_after *after)
{
	bool quiet = after->quiet || evd->config == DAPL_EVD_SOLICITED;

	dapl_lock_assert_held(&evd->lock);
	dapl_evd_push_completion_locked(evd, event, quiet, after);
}

void dapl_evd_cq_drain_locked(struct dapl_evd *evd,
			      struct dapl_evd_after *after)
{
	DAT_EVENT event;

	dapl_lock_assert_held(&evd->lock);
	while (evd->cq && dapl_evd_room_locked(evd) &&
	       dapl_evd_cq_next_locked(evd, &event, after))
		cq_push_locked(evd, &event, after);
}

void dapl_evd_cq_queue_locked(struct dapl_evd *evd, const struct ibv_wc *wc,
			      int n, struct dapl_evd_after *after)
{
	DAT_EVENT event;

	dapl_lock_assert_held(&evd->lock);
	for (int i = 0; i < n; i++) {
		after->quiet = false;
		if (dapl_evd_cq_fast(evd, &wc[i], &event) ||
		    dapl_evd_cq_other(evd, &wc[i], &event, after))
			cq_push_locked(evd, &event, after);
	}
	if (n < 0)
		dapl_evd_cq_failed_locked(evd, n, after);
	dapl_evd_cq_drain_locked(evd, after);
}

static bool is_of(const DAT_EVENT *event, const struct dapl_obj *ep)
{
	return ep && event->event_number != DAT_RMR_BIND_COMPLETION_EVENT &&
	       event->event_data.dto_completion_event_data.ep_handle ==
		       (DAT_EP_HANDLE)(uintptr_t)ep;
}

void dapl_evd_harvest_locked(struct dapl_evd *evd, const struct dapl_obj *drop,
			     struct dapl_evd_after *after)
{
	DAT_EVENT event;

	dapl_lock_assert_held(&evd->lock);
	while (evd->cq && !evd->dead &&
	       dapl_evd_cq_next_locked(evd, &event, after))
		if (after->shared || !is_of(&event, drop))
			cq_push_locked(evd, &event, after);
}

void dapl_evd_harvest(struct dapl_evd *evd, const struct dapl_obj *drop,
		      struct dapl_evd_after *after)
{
	if (!evd || !evd->cq)
		return;
	dapl_lock(&evd->lock);
	dapl_evd_harvest_locked(evd, drop, after);
	dapl_unlock(&evd->lock);
}

void dapl_evd_cq_arm_locked(struct dapl_evd *evd)
{
	int ret;

	dapl_lock_assert_held(&evd->lock);
	/* No endpoint, no completion: the first one will know what to arm. */
	if (!evd->cq || evd->config == DAPL_EVD_UNUSED)
		return;
	ret = ibv_req_notify_cq(evd->cq, evd->config == DAPL_EVD_SOLICITED);
	if (ret)
		dapl_log(DAPL_LOG_ERR,
			 "evd %p: cannot arm the completion queue: %s",
			 (void *)evd, strerror(ret < 0 ? -ret : ret));
}

bool dapl_evd_cq_ack_locked(struct dapl_evd *evd)
{
	unsigned n = 0;
	struct ibv_cq *cq;
	void *context;

	dapl_lock_assert_held(&evd->lock);
	if (!evd->cq)
		return false;
	while (!ibv_get_cq_event(evd->chan, &cq, &context))
		n++;
	if (n)
		ibv_ack_cq_events(evd->cq, n);
	return n > 0;
}

static void run_call(const struct dapl_evd_call *call)
{
	if (!call->fn)
		return;
	call->fn(call->obj);
	dapl_obj_put(call->obj);
}

void dapl_evd_after(struct dapl_evd_after *after)
{
	int cancel;

	if (!after->broken.fn && !after->drained.fn && !after->async)
		return;
	/* The data path leads here. */
	cancel = dapl_cancel_off();
	if (after->async) {
		dapl_evd_tell_overflow(after->async, after->overflowed);
		dapl_obj_put(&after->async->obj);
	}
	run_call(&after->drained);
	run_call(&after->broken);
	dapl_cancel_restore(cancel);
}
