/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_notify.c - which completions of an EVD wake a waiter or its CNO.
 *
 * The endpoints that complete to an EVD decide, by the completion flags of
 * their attributes; where these differ every event notifies, which is what
 * MPI libraries expect that give both directions one EVD. Verbs can tell
 * solicited messages apart when the queue is armed; requests posted UNSIGNALLED
 * are told apart when they are read, by the mark on their slot. Dequeue, and a
 * wait that finds events there when it begins, do not care: only who sleeps
 * needs a notification. Verbs cannot take back an arming: a queue armed for
 * every completion before its EVD became solicited notifies once too often,
 * never too seldom. A failure notifies always. Devices should ring for it as
 * for a solicited message, but soft-RoCE of Linux 6.12 does not for what is
 * flushed: while a queue pair is in ERR the queue is armed for every
 * completion.
 *
 * What a waiter makes of it is in dapl_evd_wait.c.
 * Locks: takes the EVD's, or is called with it. Rules: uDAPL 1.2
 * specification, completion flags of endpoint attributes.
 */
#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"

enum dapl_evd_config dapl_evd_config_of(DAT_COMPLETION_FLAGS flags, bool recv)
{
	if (recv && (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return DAPL_EVD_SOLICITED;
	if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		return DAPL_EVD_NOTIFY;
	return DAPL_EVD_THRESHOLD;
}

static enum dapl_evd_config config_now(const struct dapl_evd *evd)
{
	const int *users = evd->config_users;

	/* Who shares with others that want something else hears of all. */
	if (users[DAPL_EVD_THRESHOLD] ||
	    (users[DAPL_EVD_NOTIFY] && users[DAPL_EVD_SOLICITED]))
		return DAPL_EVD_THRESHOLD;
	if (users[DAPL_EVD_NOTIFY])
		return DAPL_EVD_NOTIFY;
	return users[DAPL_EVD_SOLICITED] ? DAPL_EVD_SOLICITED : DAPL_EVD_UNUSED;
}

/* Whoever sleeps has armed the queue for what was asked before, or not. */
static void rearm_locked(struct dapl_evd *evd, struct dapl_evd_after *after)
{
	uint32_t queued = dapl_evd_queued(evd);
	bool more;

	dapl_lock_assert_held(&evd->lock);
	if (evd->config == DAPL_EVD_UNUSED || dapl_evd_is_dead_locked(evd))
		return;
	if (!dapl_evd_is_waited_for_locked(evd) && !(evd->cno && evd->enabled))
		return;
	dapl_evd_cq_arm_locked(evd);
	if (!dapl_evd_is_waited_for_locked(evd))
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, after);
	more = dapl_evd_queued(evd) != queued;
	if (dapl_evd_is_waited_for_locked(evd) || more)
		dapl_evd_wake_locked(evd);
}

static void config_update_locked(struct dapl_evd *evd,
				 struct dapl_evd_after *after)
{
	enum dapl_evd_config config = config_now(evd);

	dapl_lock_assert_held(&evd->lock);
	if (config == evd->config)
		return;
	evd->config = config;
	/* Now, before the endpoint can post: a sleeper may be slow to wake. */
	rearm_locked(evd, after);
}

/*
 * Solicited messages are told apart by the device: not by every one, and not
 * among events of other streams, which none can solicit. All notify then.
 */
static enum dapl_evd_config config_on(const struct dapl_evd *evd,
				      enum dapl_evd_config config)
{
	unsigned others =
		(unsigned)evd->flags &
		~(unsigned)(DAT_EVD_DTO_FLAG | DAT_EVD_EXTENSION_BASE);

	return config == DAPL_EVD_SOLICITED &&
			       (others || evd->obj.ia->dev.ignores_solicited)
		       ? DAPL_EVD_THRESHOLD
		       : config;
}

static void config_count(struct dapl_evd *evd, enum dapl_evd_config config,
			 int n)
{
	struct dapl_evd_after after = {0};

	if (!evd)
		return;
	dapl_lock(&evd->lock);
	evd->config_users[config_on(evd, config)] += n;
	config_update_locked(evd, &after);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
}

void dapl_evd_config_enter(struct dapl_evd *evd, enum dapl_evd_config config)
{
	config_count(evd, config, 1);
}

void dapl_evd_config_leave(struct dapl_evd *evd, enum dapl_evd_config config)
{
	config_count(evd, config, -1);
}

void dapl_evd_flush_enter(struct dapl_evd *evd)
{
	dapl_lock(&evd->lock);
	evd->flushing++;
	dapl_unlock(&evd->lock);
}

void dapl_evd_flush_leave(struct dapl_evd *evd)
{
	dapl_lock(&evd->lock);
	evd->flushing--;
	dapl_unlock(&evd->lock);
}

void dapl_evd_flush_hear(struct dapl_evd *evd)
{
	struct dapl_evd_after after = {0};

	dapl_lock(&evd->lock);
	if (evd->config == DAPL_EVD_SOLICITED)
		rearm_locked(evd, &after);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
}
