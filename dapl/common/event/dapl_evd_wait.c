/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_wait.c - taking events: dat_evd_dequeue() and dat_evd_wait(), and
 * who is woken by one: the waiter, or who waits on the CNO.
 *
 * With dapl_evd_cq.h, where both begin, and dapl_evd_cq.c, which arms and polls
 * the completion queue, this is all that a wait is, from the call to verbs.
 *
 * One waiter per EVD, by specification; while it waits, the CNO is not
 * triggered and dequeue is refused. The waiter sleeps in ppoll() with no lock
 * held, so a signal ends the wait (DAT_INTERRUPTED_CALL). The timeout is one
 * deadline, whatever number of events arrives before it. A thread that is
 * cancelled ends where it sleeps and leaves the EVD as a wait without an event
 * does (dapl_cancel.h); a wait that need not sleep pays nothing for that.
 * Before a first sleep it may look again a few times (dapl_evd_spin.c).
 *
 * The EVD's eventfd and completion channel sit in the CNO's epoll set while
 * the EVD is enabled and nobody waits on it directly. Entering the set arms
 * the completion queue and looks once at what is there, so no event that
 * arrived before is missed.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_process.h"
#include "dapl/common/event/dapl_cno.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_evd_cq.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/services/dapl_probe.h"
#include "dapl/common/services/dapl_sleep.h"
#include "dapl/common/services/dapl_wakeup.h"

#define DEAF_US 10000 /* a waiter without an eventfd sleeps at most so long */

DAT_RETURN dapl_evd_bad_dequeue(DAT_EVD_HANDLE handle, const void *event)
{
	if (dapl_evd_from(handle) && !event)
		return dapl_fail(DAPL_BAD_ARG(2), "no place for the event");
	return dapl_fail(DAPL_ERR(DAT_INVALID_HANDLE, 0), "no such EVD");
}

DAT_RETURN dapl_evd_bad_wait(DAT_EVD_HANDLE handle, const void *event,
			     const DAT_COUNT *nmore, DAT_COUNT threshold)
{
	const struct dapl_evd *evd = dapl_evd_from(handle);
	int qlen = evd ? __atomic_load_n(&evd->qlen, __ATOMIC_RELAXED) : 0;

	if (evd && !event)
		return dapl_fail(DAPL_BAD_ARG(4), "no place for the event");
	if (evd && !nmore)
		return dapl_fail(DAPL_BAD_ARG(5), "no place for the count");
	if (evd && (threshold < 1 || threshold > qlen))
		return dapl_fail(DAPL_BAD_ARG(3),
				 "evd %p: threshold %d is not between 1 and "
				 "the queue length %d",
				 (const void *)evd, threshold, qlen);
	return dapl_fail(DAPL_ERR(DAT_INVALID_HANDLE, 0), "no such EVD");
}

void dapl_evd_lock_slow(struct dapl_evd *evd)
{
	if (__atomic_load_n(&evd->cq, __ATOMIC_RELAXED))
		dapl_lock_hot(&evd->lock);
	else
		dapl_lock(&evd->lock);
}

/* An event was taken. The trigger for the last one goes with it. */
static inline void took_locked(const struct dapl_evd *evd)
{
	if (unlikely(evd->cno != NULL) && !evd->cq && !dapl_evd_queued(evd))
		dapl_wakeup_clear(evd->wakeup_fd);
}

DAT_RETURN dapl_evd_dequeue_slow(struct dapl_evd *evd, DAT_EVENT *event, int n,
				 const struct ibv_wc *wc)
{
	struct dapl_evd_after after = {0};
	DAT_RETURN nothing;
	bool got;

	if (wc || n)
		dapl_lock_keep(&evd->lock);
	/* Who polled has seen that nothing speaks against it. */
	if (likely(wc && n > 0)) {
		got = dapl_evd_cq_other(evd, wc, event, &after);
		dapl_evd_settle_locked(evd, &after);
		if (likely(got)) {
			dapl_unlock(&evd->lock);
			dapl_evd_after(&after);
			return DAT_SUCCESS;
		}
	}
	if (!wc && !n)
		dapl_evd_lock_slow(evd);
	if (dapl_evd_is_dead_locked(evd)) {
		dapl_unlock(&evd->lock);
		return dapl_fail(DAPL_ERR(DAT_INVALID_HANDLE, 0),
				 "the EVD was freed");
	}
	if (dapl_evd_is_waited_for_locked(evd)) {
		dapl_unlock(&evd->lock);
		return dapl_fail(DAPL_BAD_STATE(EVD_WAITER),
				 "evd %p: another thread waits on it",
				 (void *)evd);
	}
	if (n < 0)
		dapl_evd_cq_failed_locked(evd, n, &after);
	got = dapl_evd_pop_locked(evd, event);
	if (got)
		took_locked(evd);
	if (!got && evd->cq)
		got = dapl_evd_cq_next_locked(evd, event, &after);
	/* Without the lock it may be another EVD. */
	nothing = evd->cq ? DAT_QUEUE_EMPTY : DAPL_ERR(DAT_QUEUE_EMPTY, 0);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	return got ? DAT_SUCCESS : nothing;
}

__attribute__((noinline)) static DAT_RETURN
dequeue_slow(struct dapl_evd *evd, void *event, int n, const struct ibv_wc *wc)
{
	return dapl_evd_dequeue_slow(evd, event, n, wc);
}

static inline bool make(struct dapl_evd *evd, const struct ibv_wc *wc,
			void *event)
{
	return dapl_evd_cq_fast(evd, wc, event);
}

DAT_RETURN dapl_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EVD) || !event))
		return dapl_evd_bad_dequeue(handle, event);
	return dapl_evd_dequeue_by(handle, event, make, dequeue_slow, false);
}

/* ------------------------------------- who is woken: the waiter, or the CNO */

int dapl_evd_wakeup_open_locked(struct dapl_evd *evd)
{
	int fd;

	dapl_lock_assert_held(&evd->lock);
	if (evd->wakeup_fd >= 0)
		return 0;
	fd = dapl_wakeup_take(&evd->obj.ia->wakeups);
	if (fd < 0)
		return fd;
	evd->wakeup_fd = fd;
	return 0;
}

void dapl_evd_wakeup_close_locked(struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	if (evd->wakeup_fd < 0 || evd->cno || evd->wakes_soon ||
	    dapl_evd_is_waited_for_locked(evd))
		return;
	dapl_wakeup_put(&evd->obj.ia->wakeups, evd->wakeup_fd);
	evd->wakeup_fd = -1;
}

static bool somebody_listens_locked(const struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	return evd->wakeup_fd >= 0 &&
	       (dapl_evd_is_waited_for_locked(evd) || evd->enabled);
}

void dapl_evd_wake_locked(struct dapl_evd *evd)
{
	if (somebody_listens_locked(evd))
		dapl_wakeup_signal(evd->wakeup_fd);
}

void dapl_evd_wake_soon_locked(struct dapl_evd *evd)
{
	if (!dapl_loop_here(evd->obj.ia->loop)) {
		dapl_evd_wake_locked(evd);
		return;
	}
	/* Who comes later looks before he sleeps. */
	if (evd->wakes_soon || !somebody_listens_locked(evd))
		return;
	evd->wakes_soon = true;
	dapl_obj_get(&evd->obj);
	dapl_loop_defer(evd->obj.ia->loop, &evd->wake_work);
}

/*
 * Signals without the lock, which is the first that the sleeper wants. It may
 * leave meanwhile: then its descriptor stays, and is given back here.
 */
void dapl_evd_wake_work(struct dapl_work *work)
{
	struct dapl_evd *evd =
		dapl_container_of(work, struct dapl_evd, wake_work);
	int fd;

	dapl_lock(&evd->lock);
	fd = somebody_listens_locked(evd) ? evd->wakeup_fd : -1;
	dapl_unlock(&evd->lock);
	if (fd >= 0)
		dapl_wakeup_signal(fd);
	dapl_lock(&evd->lock);
	evd->wakes_soon = false;
	dapl_evd_wakeup_close_locked(evd);
	dapl_unlock(&evd->lock);
	dapl_obj_put(&evd->obj);
}

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
	if (!evd->cno || !evd->enabled || dapl_evd_is_waited_for_locked(evd) ||
	    dapl_evd_is_dead_locked(evd))
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

/* ------------------------------------------------------- sleeping */

static void sleeper_has_left(struct dapl_evd *evd)
{
	pthread_mutex_lock(&dapl_process.left_mutex);
	__atomic_sub_fetch(&evd->sleepers, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&dapl_process.left);
	pthread_mutex_unlock(&dapl_process.left_mutex);
}

void dapl_evd_wait_left(struct dapl_evd *evd)
{
	pthread_mutex_lock(&dapl_process.left_mutex);
	while (__atomic_load_n(&evd->sleepers, __ATOMIC_ACQUIRE))
		pthread_cond_wait(&dapl_process.left, &dapl_process.left_mutex);
	pthread_mutex_unlock(&dapl_process.left_mutex);
}

static bool is_selective(enum dapl_evd_config config)
{
	return config == DAPL_EVD_NOTIFY || config == DAPL_EVD_SOLICITED;
}

DAT_RETURN dapl_evd_config_refuses(const struct dapl_evd *evd)
{
	if (!is_selective(evd->config))
		return DAT_SUCCESS;
	return evd->config == DAPL_EVD_NOTIFY
		       ? DAPL_BAD_STATE(EVD_CONFIG_NOTIFY)
		       : DAPL_BAD_STATE(EVD_CONFIG_SOLICITED);
}

bool dapl_evd_notified_locked(const struct dapl_evd *evd, uint32_t threshold,
			      uint32_t notifications, bool cq_notified)
{
	dapl_lock_assert_held(&evd->lock);
	if (dapl_evd_queued(evd) < threshold)
		return false;
	if (!is_selective(evd->config) || evd->notifications != notifications)
		return true;
	return cq_notified && evd->config == DAPL_EVD_SOLICITED;
}

/* What ends a sleep. */
enum {
	BY_WAKEUP,
	BY_CQ,
	BY_N
};

/* A thread that sleeps, or is about to. */
struct evd_waiter {
	struct dapl_evd *evd;
	int cancel; /* what dapl_cancel_off() has returned */
	struct pollfd fds[BY_N];
	struct dapl_evd_after after;
};

/*
 * Takes what woke it, and looks at nothing else: that would be a system call
 * for nothing. True if the completion queue had notified.
 */
static bool awake_locked(const struct evd_waiter *me)
{
	dapl_lock_assert_held(&me->evd->lock);
	if (me->fds[BY_WAKEUP].revents)
		dapl_wakeup_clear(me->fds[BY_WAKEUP].fd);
	return me->fds[BY_CQ].revents && dapl_evd_cq_ack_locked(me->evd);
}

/* From here on others may wait, and the CNO is triggered again. */
static void stop_waiting_locked(struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	evd->slow &= ~DAPL_EVD_WAITING;
	dapl_evd_wakeup_close_locked(evd);
}

/* The last a sleeper does with its EVD, which may be gone when this returns. */
static void sleeper_left(struct evd_waiter *me)
{
	dapl_evd_after(&me->after);
	sleeper_has_left(me->evd);
}

/*
 * The thread ends in its sleep. ARG: the struct evd_waiter. What was to wake it
 * wakes the next one.
 */
static void sleeper_cancelled(void *arg)
{
	struct evd_waiter *me = arg;

	dapl_lock(&me->evd->lock);
	stop_waiting_locked(me->evd);
	dapl_evd_cno_enter_locked(me->evd, &me->after);
	dapl_unlock(&me->evd->lock);
	sleeper_left(me);
}

/*
 * Sleeps until something may have happened or DEADLINE; without an eventfd
 * nobody can wake it, so it wakes by itself. 0, -ETIMEDOUT, -EINTR.
 */
static int evd_sleep(struct evd_waiter *me, uint64_t deadline)
{
	const struct dapl_sleeper sleeper = {me->cancel, sleeper_cancelled, me};
	uint64_t until = deadline, look;
	int ret;

	if (me->fds[BY_WAKEUP].fd < 0) {
		look = dapl_now_us() + DEAF_US;
		if (look < deadline)
			until = look;
	}
	ret = dapl_sleep(&sleeper, me->fds, BY_N, until);
	if (ret == -ETIMEDOUT && until != deadline)
		return 0;
	return ret == -EINTR || ret == -ETIMEDOUT ? ret : 0;
}

/* A wait for THRESHOLD events would never end: memory is there for fewer. */
static bool no_room_locked(struct dapl_evd *evd, uint32_t threshold)
{
	dapl_lock_assert_held(&evd->lock);
	return dapl_evd_queued(evd) < threshold && !dapl_evd_room_locked(evd);
}

/* What may end the next sleep; nothing has yet. */
static void prepare_sleep_locked(struct evd_waiter *me)
{
	const struct dapl_evd *evd = me->evd;

	dapl_lock_assert_held(&evd->lock);
	me->fds[BY_WAKEUP] =
		(struct pollfd){.fd = evd->wakeup_fd, .events = POLLIN};
	me->fds[BY_CQ] = (struct pollfd){.fd = evd->chan ? evd->chan->fd : -1,
					 .events = POLLIN};
}

static void sleep_counted(struct dapl_evd *evd, int id)
{
	dapl_count(dapl_counts_if_on(&evd->obj, &evd->counts), id);
}

/*
 * Waits with DAPL_EVD_WAITING set until THRESHOLD events are in the ring and,
 * where not every event notifies, one of those that came since does. A
 * completion that came just before the queue was armed may have been solicited.
 * The queue is armed for a sleep only, and read again then: who wakes to find
 * what it wants leaves it unarmed.
 */
static DAT_RETURN evd_block_locked(struct evd_waiter *me, uint64_t deadline,
				   uint32_t threshold)
{
	struct dapl_evd *evd = me->evd;
	uint32_t notifications = evd->notifications;
	unsigned dismissals = evd->dismissals;
	bool spins = evd->obj.ia->spins;
	bool cq_notified = true, came;
	uint64_t since;
	int reason;

	dapl_lock_assert_held(&evd->lock);
	for (;;) {
		dapl_evd_cq_arm_locked(evd);
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL,
				     &me->after);
		if (dapl_evd_notified_locked(evd, threshold, notifications,
					     cq_notified))
			return DAT_SUCCESS;
		if (no_room_locked(evd, threshold))
			return DAPL_NO_MEM;
		prepare_sleep_locked(me);
		dapl_unlock(&evd->lock);
		/* A broken connection posts an event, perhaps to this EVD. */
		dapl_evd_after(&me->after);
		me->after = (struct dapl_evd_after){0};
		since = spins ? dapl_now_us() : 0;
		sleep_counted(evd, DCNT_EVD_WAIT_BLOCKED);
		DAPL_PROBE1(evd_sleep, evd);
		reason = evd_sleep(me, deadline);
		DAPL_PROBE2(evd_wake, evd, -reason);
		if (!reason)
			sleep_counted(evd, DCNT_EVD_WAIT_NOTIFY);
		dapl_lock(&evd->lock);
		cq_notified = awake_locked(me);
		if (cq_notified)
			sleep_counted(evd, DCNT_EVD_DTO_CALLBACK);
		if (dapl_evd_is_dead_locked(evd))
			return DAPL_ERR(DAT_ABORT, 0);
		if (evd->dismissals != dismissals)
			return DAPL_BAD_STATE(EVD_UNWAITABLE);
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL,
				     &me->after);
		came = dapl_evd_notified_locked(evd, threshold, notifications,
						cq_notified);
		if (spins && (cq_notified ? came : reason == -ETIMEDOUT))
			dapl_evd_slept_locked(evd, dapl_now_us() - since);
		if (came)
			return DAT_SUCCESS;
		if (!reason)
			continue;
		return dapl_evd_nothing_came(
			evd, reason == -EINTR ? DAT_INTERRUPTED_CALL
					      : DAT_TIMEOUT_EXPIRED);
	}
}

static DAT_RETURN evd_wait_on_locked(struct evd_waiter *me, DAT_TIMEOUT timeout,
				     uint32_t threshold)
{
	struct dapl_evd *evd = me->evd;
	uint64_t deadline = UINT64_MAX;
	DAT_RETURN ret;

	dapl_lock_assert_held(&evd->lock);
	if (timeout != DAT_TIMEOUT_INFINITE)
		/* a microsecond has passed in part */
		deadline = dapl_now_us() + timeout + 1;
	if (dapl_evd_wakeup_open_locked(evd))
		dapl_log(DAPL_LOG_WARN,
			 "evd %p: no file descriptor is left to wake the "
			 "waiter (see ulimit -n); it looks every %d ms",
			 (void *)evd, DEAF_US / 1000);
	dapl_evd_cno_leave_locked(evd);
	__atomic_add_fetch(&evd->sleepers, 1, __ATOMIC_RELAXED);
	evd->slow |= DAPL_EVD_WAITING;
	ret = evd_block_locked(me, deadline, threshold);
	stop_waiting_locked(evd);
	return ret;
}

/* ------------------------------------------------------- waiting */

/* Says why a wait was refused, or ended before its time. */
static void wait_failed(const struct dapl_evd *evd, DAT_RETURN ret,
			DAT_COUNT threshold)
{
	if (ret == DAPL_BAD_STATE(EVD_WAITER))
		dapl_fail(ret, "evd %p: another thread waits on it",
			  (const void *)evd);
	else if (ret == DAPL_BAD_STATE(EVD_UNWAITABLE))
		dapl_fail(ret, "evd %p: it is unwaitable", (const void *)evd);
	else if (ret == DAPL_BAD_STATE(EVD_CONFIG_NOTIFY) ||
		 ret == DAPL_BAD_STATE(EVD_CONFIG_SOLICITED))
		dapl_fail(ret,
			  "evd %p: threshold %d, but its endpoints' completion "
			  "flags say that not every event wakes a waiter: only "
			  "1 is allowed",
			  (const void *)evd, threshold);
	else if (ret == DAPL_ERR(DAT_ABORT, 0))
		dapl_fail(ret, "evd %p: destroyed", (const void *)evd);
	else if (ret == DAPL_NO_MEM)
		dapl_fail(ret, "evd %p: no memory to gather %d events",
			  (const void *)evd, threshold);
}

/* Whether a wait may begin, or a code. */
static DAT_RETURN may_wait_locked(const struct dapl_evd *evd,
				  uint32_t threshold)
{
	dapl_lock_assert_held(&evd->lock);
	if (dapl_evd_is_dead_locked(evd))
		return DAPL_ERR(DAT_ABORT, 0);
	if (dapl_evd_is_waited_for_locked(evd))
		return DAPL_BAD_STATE(EVD_WAITER);
	if (!dapl_evd_is_waitable_locked(evd))
		return DAPL_BAD_STATE(EVD_UNWAITABLE);
	return threshold > 1 ? dapl_evd_config_refuses(evd) : DAT_SUCCESS;
}

/*
 * Nothing came yet: sleeps, or is cancelled there. Called with the lock held,
 * returns without it.
 */
__attribute__((noinline)) static DAT_RETURN
wait_asleep(struct dapl_evd *evd, const struct dapl_evd_after *after,
	    DAT_TIMEOUT timeout, DAT_COUNT threshold, void *event,
	    DAT_COUNT *nmore, dapl_evd_give_fn *give)
{
	struct evd_waiter me = {.evd = evd, .after = *after};
	DAT_RETURN ret;

	me.cancel = dapl_cancel_off();
	ret = evd_wait_on_locked(&me, timeout, (uint32_t)threshold);
	if (ret == DAT_SUCCESS)
		dapl_evd_pop_to_locked(evd, event, give);
	*nmore = (DAT_COUNT)dapl_evd_queued(evd);
	dapl_evd_cno_enter_locked(evd, &me.after);
	dapl_unlock(&evd->lock);
	sleeper_left(&me);
	if (unlikely(ret != DAT_SUCCESS))
		wait_failed(evd, ret, threshold);
	dapl_cancel_restore(me.cancel);
	return ret;
}

__attribute__((always_inline)) static inline DAT_RETURN
wait_rest(struct dapl_evd *evd, const struct ibv_wc *wc, int n,
	  DAT_TIMEOUT timeout, DAT_COUNT threshold, void *event,
	  DAT_COUNT *nmore, dapl_evd_give_fn *give)
{
	DAT_RETURN ret = may_wait_locked(evd, (uint32_t)threshold);
	struct dapl_evd_after after = {0};

	if (n)
		dapl_evd_take_locked(evd, wc, n, &after);
	if (unlikely(ret != DAT_SUCCESS))
		goto out;
	/* Not again, where that has just found nothing. */
	if (!wc || n || dapl_evd_queued(evd))
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, &after);
	if (likely(dapl_evd_queued(evd) >= (uint32_t)threshold) ||
	    dapl_evd_spin_locked(evd, timeout, (uint32_t)threshold, &after)) {
		dapl_evd_pop_to_locked(evd, event, give);
		took_locked(evd);
	} else if (timeout) {
		return wait_asleep(evd, &after, timeout, threshold, event,
				   nmore, give);
	} else {
		ret = dapl_evd_nothing_came(evd, DAT_TIMEOUT_EXPIRED);
	}
out:
	*nmore = (DAT_COUNT)dapl_evd_queued(evd);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	if (unlikely(ret != DAT_SUCCESS))
		wait_failed(evd, ret, threshold);
	return ret;
}

void dapl_evd_wait_ahead(struct dapl_evd *evd, const struct ibv_wc *wc, int n,
			 DAT_COUNT *ret_more)
{
	struct dapl_evd_after after = {0};

	dapl_evd_take_locked(evd, &wc[1], n - 1, &after);
	/* Fewer than asked for: there are no more. */
	if (n == DAPL_EVD_BATCH)
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, &after);
	*ret_more = (DAT_COUNT)dapl_evd_queued(evd);
	dapl_unlock_mine(&evd->lock);
	dapl_evd_after(&after);
}

DAT_RETURN dapl_evd_wait_slow(struct dapl_evd *evd, const struct ibv_wc *wc,
			      int n, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			      void *event, DAT_COUNT *nmore,
			      dapl_evd_give_fn *give)
{
	return wait_rest(evd, wc, n, timeout, threshold, event, nmore, give);
}

/*
 * A wait for events that are no completions may be of a thread that is to be
 * cancelled at any time: programs do so that wait for requests. It is deferred
 * from before the lock is taken.
 */
DAT_RETURN dapl_evd_wait_careful(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
				 DAT_COUNT threshold, void *event,
				 DAT_COUNT *nmore, dapl_evd_give_fn *give)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;
	bool deferred;
	DAT_RETURN ret;
	int type = 0;

	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EVD) || !event ||
		     !nmore || threshold < 1 ||
		     threshold > __atomic_load_n(&evd->qlen, __ATOMIC_RELAXED)))
		return dapl_evd_bad_wait(handle, event, nmore, threshold);
	deferred = timeout && !__atomic_load_n(&evd->cq, __ATOMIC_RELAXED);
	if (deferred)
		type = dapl_cancel_defer();
	dapl_evd_lock_slow(evd);
	ret = dapl_evd_wait_slow(evd, NULL, 0, timeout, threshold, event, nmore,
				 give);
	if (deferred)
		dapl_cancel_defer_end(type);
	return ret;
}

/* The rest of a plain one, for an event of 2.0 and without a call for it. */
__attribute__((noinline)) static DAT_RETURN
wait_slow(struct dapl_evd *evd, const struct ibv_wc *wc, int n,
	  DAT_TIMEOUT timeout, DAT_EVENT *event, DAT_COUNT *nmore)
{
	return wait_rest(evd, wc, n, timeout, 1, event, nmore, dapl_evd_give);
}

DAT_RETURN dapl_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
			 DAT_COUNT threshold, DAT_EVENT *event,
			 DAT_COUNT *nmore)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;
	struct ibv_wc wc[DAPL_EVD_BATCH];
	enum dapl_wait_way way;
	DAT_RETURN ret;
	int n;

	way = dapl_evd_wait_fast(evd, timeout, threshold, event, event, make,
				 dapl_evd_give, nmore, wc, &n, &ret, false);
	if (unlikely(way == DAPL_WAIT_ANEW))
		return dapl_evd_wait_careful(handle, timeout, threshold, event,
					     nmore, dapl_evd_give);
	if (unlikely(way == DAPL_WAIT_ON))
		return wait_slow(evd, dapl_where(wc[0]), n, timeout, event,
				 nmore);
	return ret;
}
