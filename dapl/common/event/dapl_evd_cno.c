/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_cno.c - an EVD that its CNO has found ready: whether that is a
 * trigger.
 *
 * When an EVD is in the CNO's set is dapl_evd_wait.c's. Takes the EVD's lock.
 */
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/services/dapl_wakeup.h"

/* It may have been read empty since. */
static bool has_events_locked(struct dapl_evd *evd,
			      struct dapl_evd_after *after)
{
	dapl_lock_assert_held(&evd->lock);
	dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, after);
	return dapl_evd_queued(evd) || !dapl_evd_room_locked(evd);
}

/* The completion queue has notified. Whether that is for the CNO. Re-arms. */
static bool cq_notified_locked(struct dapl_evd *evd,
			       struct dapl_evd_after *after)
{
	bool notify;

	dapl_lock_assert_held(&evd->lock);
	/* The next completion must trigger again. */
	dapl_evd_cq_arm_locked(evd);
	/* One of a suppressed request is for nobody. */
	notify = has_events_locked(evd, after);
	if (evd->config != DAPL_EVD_NOTIFY)
		return notify;
	notify = evd->notifications != evd->cno_notifications;
	evd->cno_notifications = evd->notifications;
	return notify;
}

bool dapl_evd_trigger_take(struct dapl_evd *evd, const struct dapl_cno *cno)
{
	struct dapl_evd_after after = {0};
	bool took = false;

	dapl_lock(&evd->lock);
	if (evd->cno == cno && evd->enabled &&
	    !dapl_evd_is_waited_for_locked(evd) &&
	    !dapl_evd_is_dead_locked(evd)) {
		took = dapl_wakeup_clear(evd->wakeup_fd) &&
		       has_events_locked(evd, &after);
		if (dapl_evd_cq_ack_locked(evd) &&
		    cq_notified_locked(evd, &after))
			took = true;
	}
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	return took;
}

void dapl_evd_trigger_back(struct dapl_evd *evd, const struct dapl_cno *cno)
{
	dapl_lock(&evd->lock);
	if (evd->cno == cno && evd->enabled &&
	    !dapl_evd_is_waited_for_locked(evd) &&
	    !dapl_evd_is_dead_locked(evd))
		dapl_wakeup_signal(evd->wakeup_fd);
	dapl_unlock(&evd->lock);
}
