/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_cno.c - an EVD as a member of a CNO.
 *
 * The EVD's eventfd and completion channel sit in the CNO's epoll set while
 * the EVD is enabled and nobody waits on it directly. Entering the set arms
 * the completion queue and looks once at what is there, so no event that
 * arrived before is missed. All with the EVD's lock held.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "dapl/common/event/dapl_cno.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/services/dapl_wakeup.h"

/* Under the CNO's lock, so that whoever reads the set finds living EVDs. */
static void cno_set(struct dapl_cno *cno, int op, int fd, struct dapl_evd *evd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = evd};
	int ret;

	dapl_lock(&cno->lock);
	ret = epoll_ctl(cno->epfd, op, fd, &ev);
	dapl_unlock(&cno->lock);
	/* Not in the set, or in it already: as wished. */
	if (ret && errno != ENOENT && errno != EEXIST)
		dapl_log(DAPL_LOG_ERR, "cno %p evd %p: epoll_ctl: %m",
			 (void *)cno, (void *)evd);
}

void dapl_evd_cno_enter_locked(struct dapl_evd *evd,
			       struct dapl_evd_after *after)
{
	dapl_lock_assert_held(&evd->lock);
	if (!evd->cno || !evd->enabled || evd->waiting || evd->dead)
		return;
	/* What is queued now decides, not a trigger for what is gone. */
	dapl_wakeup_clear(evd->wakeup_fd);
	cno_set(evd->cno, EPOLL_CTL_ADD, evd->wakeup_fd, evd);
	if (evd->cq) {
		dapl_evd_cq_ack_locked(evd);
		cno_set(evd->cno, EPOLL_CTL_ADD, evd->chan->fd, evd);
		dapl_evd_cq_arm_locked(evd);
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, after);
	}
	evd->cno_notifications = evd->notifications;
	if (dapl_evd_queued(evd))
		dapl_wakeup_signal(evd->wakeup_fd);
}

void dapl_evd_cno_leave_locked(struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	if (!evd->cno)
		return;
	cno_set(evd->cno, EPOLL_CTL_DEL, evd->wakeup_fd, evd);
	if (evd->cq)
		cno_set(evd->cno, EPOLL_CTL_DEL, evd->chan->fd, evd);
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
	dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, after);
	if (evd->config != DAPL_EVD_NOTIFY)
		return dapl_evd_queued(evd) || !dapl_evd_room_locked(evd);
	notify = evd->notifications != evd->cno_notifications;
	evd->cno_notifications = evd->notifications;
	return notify;
}

bool dapl_evd_trigger_take(struct dapl_evd *evd, const struct dapl_cno *cno)
{
	struct dapl_evd_after after = {0};
	bool took = false;

	dapl_lock(&evd->lock);
	if (evd->cno == cno && evd->enabled && !evd->waiting && !evd->dead) {
		took = dapl_wakeup_clear(evd->wakeup_fd);
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
	if (evd->cno == cno && evd->enabled && !evd->waiting && !evd->dead)
		dapl_wakeup_signal(evd->wakeup_fd);
	dapl_unlock(&evd->lock);
}
