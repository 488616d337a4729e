/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_wait.c - taking events: dat_evd_dequeue() and dat_evd_wait().
 *
 * One waiter per EVD, by specification; while it waits, the CNO is not
 * triggered and dequeue is refused. The waiter sleeps in ppoll() with no lock
 * held, so a signal ends the wait (DAT_INTERRUPTED_CALL). The timeout is one
 * deadline, whatever number of events arrives before it. A thread that is
 * cancelled ends where it sleeps and leaves the EVD as a wait without an event
 * does (dapl_cancel.h); a wait that may not sleep pays nothing for that.
 */
#include <errno.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_evd_cq.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/services/dapl_sleep.h"
#include "dapl/common/services/dapl_wakeup.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define DEAF_US 10000 /* a waiter without an eventfd sleeps at most so long */

/*
 * The code of a wait that ends without an event. Old binaries compare the
 * whole value of what an EVD with a completion queue returns, and know it
 * without the class bits (dtest does so for DAT_QUEUE_EMPTY): they keep it.
 */
static inline DAT_RETURN nothing_came(const struct dapl_evd *evd,
				      DAT_RETURN type)
{
	return evd->cq && !evd->cno ? type : DAPL_ERR(type, 0);
}

__attribute__((cold, noinline)) static DAT_RETURN
bad_arguments(DAT_EVD_HANDLE handle, const DAT_EVENT *event,
	      const DAT_COUNT *nmore, DAT_COUNT threshold)
{
	const struct dapl_evd *evd = dapl_evd_from(handle);

	if (!evd)
		return dapl_fail(DAPL_ERR(DAT_INVALID_HANDLE, 0),
				 "no such EVD");
	if (!event)
		return dapl_fail(nmore ? DAPL_BAD_ARG(4) : DAPL_BAD_ARG(2),
				 "no place for the event");
	if (!nmore)
		return dapl_fail(DAPL_BAD_ARG(5), "no place for the count");
	return dapl_fail(DAPL_BAD_ARG(3),
			 "evd %p: threshold %d is not between 1 and the queue "
			 "length %d",
			 (const void *)evd, threshold,
			 __atomic_load_n(&evd->qlen, __ATOMIC_RELAXED));
}

/*
 * The rest of dequeue: N and WC are what the poll gave (0 and NULL: not
 * polled). Called with the lock held, returns without it.
 */
__attribute__((noinline)) static DAT_RETURN
dequeue_slow(struct dapl_evd *evd, DAT_EVENT *event, int n,
	     const struct ibv_wc *wc)
{
	struct dapl_evd_after after = {0};
	bool got = false;

	if (evd->dead) {
		dapl_unlock(&evd->lock);
		return dapl_fail(DAPL_ERR(DAT_INVALID_HANDLE, 0),
				 "the EVD was freed");
	}
	if (evd->waiting) {
		dapl_unlock(&evd->lock);
		return dapl_fail(DAPL_BAD_STATE(EVD_WAITER),
				 "evd %p: another thread waits on it",
				 (void *)evd);
	}
	if (n > 0)
		got = dapl_evd_cq_other(evd, wc, event, &after);
	else if (n < 0)
		dapl_evd_cq_failed_locked(evd, n, &after);
	if (!got)
		got = dapl_evd_pop_locked(evd, event);
	if (!got && evd->cq)
		got = dapl_evd_cq_next_locked(evd, event, &after);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	if (got)
		return DAT_SUCCESS;
	return evd->cq ? DAT_QUEUE_EMPTY : DAPL_ERR(DAT_QUEUE_EMPTY, 0);
}

/* Apart from dequeue, so that finding nothing need not save registers. */
__attribute__((noinline)) static DAT_RETURN
dequeue_polled(struct dapl_evd *evd, DAT_EVENT *event, int n,
	       const struct ibv_wc *wc)
{
	if (unlikely(n < 0 || !dapl_evd_cq_fast(evd, wc, event)))
		return dequeue_slow(evd, event, n, wc);
	dapl_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;
	struct ibv_wc wc;
	int n;

	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EVD) || !event))
		return bad_arguments(handle, event, NULL, 1);
	dapl_lock(&evd->lock);
	if (unlikely(evd->slow))
		return dequeue_slow(evd, event, 0, NULL);
	n = evd->ops.poll(evd->cq, 1, &wc);
	if (n != 0)
		return dequeue_polled(evd, event, n, &wc);
	dapl_unlock(&evd->lock);
	return DAT_QUEUE_EMPTY;
}

/* A thread that sleeps, or is about to. */
struct evd_waiter {
	struct dapl_evd *evd;
	int cancel; /* what dapl_cancel_off() has returned */
	int wakeup_fd;
	bool slept;
	struct dapl_evd_after after;
};

/* Takes what woke it. True if the completion queue had notified. */
static bool awake_locked(const struct evd_waiter *me)
{
	dapl_lock_assert_held(&me->evd->lock);
	if (me->wakeup_fd >= 0)
		dapl_wakeup_clear(me->wakeup_fd);
	return dapl_evd_cq_ack_locked(me->evd);
}

/* From here on others may wait, and the CNO is triggered again. */
static void stop_waiting_locked(struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	evd->slow &= ~DAPL_EVD_WAITING;
	__atomic_store_n(&evd->waiting, false, __ATOMIC_RELEASE);
	dapl_evd_wakeup_close_locked(evd);
}

/* The last a sleeper does with its EVD, which may be gone when this returns. */
static void sleeper_left(struct evd_waiter *me)
{
	dapl_evd_after(&me->after);
	if (me->slept)
		dapl_evd_sleeper_left(me->evd);
}

/* The thread ends in its sleep. ARG: the struct evd_waiter. */
static void sleeper_cancelled(void *arg)
{
	struct evd_waiter *me = arg;

	dapl_lock(&me->evd->lock);
	awake_locked(me);
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
	struct pollfd fds[2] = {
		{.fd = me->wakeup_fd, .events = POLLIN},
		{.fd = me->evd->chan ? me->evd->chan->fd : -1,
		 .events = POLLIN},
	};
	uint64_t until = deadline, look = dapl_now_us() + DEAF_US;
	int ret;

	if (me->wakeup_fd < 0 && look < deadline)
		until = look;
	ret = dapl_sleep(&sleeper, fds, 2, until);
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

/*
 * Waits with evd->waiting set until THRESHOLD events are in the ring and, where
 * not every event notifies, one of those that came since does. A completion
 * that came just before the queue was armed may have been solicited.
 */
static DAT_RETURN evd_block_locked(struct evd_waiter *me, uint64_t deadline,
				   uint32_t threshold)
{
	struct dapl_evd *evd = me->evd;
	uint32_t notifications = evd->notifications;
	unsigned dismissals = evd->dismissals;
	bool cq_notified = true;
	int reason;

	dapl_lock_assert_held(&evd->lock);
	for (;;) {
		dapl_evd_cq_arm_locked(evd);
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL,
				     &me->after);
		if (dapl_evd_notified(evd, threshold, notifications,
				      cq_notified))
			return DAT_SUCCESS;
		if (no_room_locked(evd, threshold))
			return DAPL_NO_MEM;
		me->wakeup_fd = evd->wakeup_fd;
		dapl_unlock(&evd->lock);
		/* A broken connection posts an event, perhaps to this EVD. */
		dapl_evd_after(&me->after);
		me->after = (struct dapl_evd_after){0};
		reason = evd_sleep(me, deadline);
		dapl_lock(&evd->lock);
		cq_notified = awake_locked(me);
		if (evd->dead)
			return DAPL_ERR(DAT_ABORT, 0);
		if (evd->dismissals != dismissals)
			return DAPL_BAD_STATE(EVD_UNWAITABLE);
		if (!reason)
			continue;
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL,
				     &me->after);
		if (dapl_evd_notified(evd, threshold, notifications,
				      cq_notified))
			return DAT_SUCCESS;
		return nothing_came(evd, reason == -EINTR
						 ? DAT_INTERRUPTED_CALL
						 : DAT_TIMEOUT_EXPIRED);
	}
}

static DAT_RETURN evd_wait_locked(struct evd_waiter *me, DAT_TIMEOUT timeout,
				  uint32_t threshold)
{
	struct dapl_evd *evd = me->evd;
	uint64_t deadline = UINT64_MAX;
	DAT_RETURN ret;

	dapl_lock_assert_held(&evd->lock);
	if (evd->dead)
		return DAPL_ERR(DAT_ABORT, 0);
	if (evd->waiting)
		return DAPL_BAD_STATE(EVD_WAITER);
	if (!evd->waitable)
		return DAPL_BAD_STATE(EVD_UNWAITABLE);
	if (threshold > 1) {
		ret = dapl_evd_config_refuses(evd);
		if (ret != DAT_SUCCESS)
			return ret;
	}
	dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, &me->after);
	if (likely(dapl_evd_queued(evd) >= threshold))
		return DAT_SUCCESS;
	if (!timeout)
		return nothing_came(evd, DAT_TIMEOUT_EXPIRED);
	if (timeout != DAT_TIMEOUT_INFINITE)
		deadline = dapl_now_us() + timeout;
	if (dapl_evd_wakeup_open_locked(evd))
		dapl_log(DAPL_LOG_WARN,
			 "evd %p: no file descriptor is left to wake the "
			 "waiter (see ulimit -n); it looks every %d ms",
			 (void *)evd, DEAF_US / 1000);
	dapl_evd_cno_leave_locked(evd);
	me->slept = true;
	__atomic_add_fetch(&evd->sleepers, 1, __ATOMIC_RELAXED);
	evd->slow |= DAPL_EVD_WAITING;
	__atomic_store_n(&evd->waiting, true, __ATOMIC_RELAXED);
	ret = evd_block_locked(me, deadline, threshold);
	stop_waiting_locked(evd);
	return ret;
}

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

/*
 * The rest of wait, for whatever the fast path could not do at once; N and WC
 * are what it polled. Called with the lock held, returns without it.
 */
__attribute__((noinline)) static DAT_RETURN
wait_slow(struct dapl_evd *evd, const struct ibv_wc *wc, int n, int cancel,
	  DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event,
	  DAT_COUNT *nmore)
{
	struct evd_waiter me = {.evd = evd, .cancel = cancel, .wakeup_fd = -1};
	DAT_RETURN ret;

	if (n)
		dapl_evd_poll_on_locked(evd, wc, n, &me.after);
	ret = evd_wait_locked(&me, timeout, (uint32_t)threshold);
	if (ret == DAT_SUCCESS)
		dapl_evd_pop_locked(evd, event);
	*nmore = (DAT_COUNT)dapl_evd_queued(evd);
	if (me.slept)
		dapl_evd_cno_enter_locked(evd, &me.after);
	dapl_unlock(&evd->lock);
	sleeper_left(&me);
	if (unlikely(ret != DAT_SUCCESS))
		wait_failed(evd, ret, threshold);
	return ret;
}

__attribute__((always_inline)) static inline DAT_RETURN
evd_wait(struct dapl_evd *evd, int cancel, DAT_TIMEOUT timeout,
	 DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct ibv_wc wc[2];
	int n;

	dapl_lock(&evd->lock);
	if (unlikely(evd->slow || !evd->waitable || threshold > 1))
		return wait_slow(evd, NULL, 0, cancel, timeout, threshold,
				 event, nmore);
	n = evd->ops.poll(evd->cq, 2, wc);
	if (likely(n > 0) && likely(dapl_evd_cq_fast(evd, &wc[0], event))) {
		*nmore = 0;
		if (n > 1) {
			struct dapl_evd_after after = {0};

			dapl_evd_poll_on_locked(evd, &wc[1], 1, &after);
			*nmore = (DAT_COUNT)dapl_evd_queued(evd);
			dapl_unlock(&evd->lock);
			dapl_evd_after(&after);
			return DAT_SUCCESS;
		}
		dapl_unlock(&evd->lock);
		return DAT_SUCCESS;
	}
	if (n == 0 && !timeout) {
		DAT_RETURN ret = nothing_came(evd, DAT_TIMEOUT_EXPIRED);

		*nmore = 0;
		dapl_unlock(&evd->lock);
		return ret;
	}
	return wait_slow(evd, wc, n, cancel, timeout, threshold, event, nmore);
}

/* A wait that may sleep. */
__attribute__((noinline)) static DAT_RETURN
evd_wait_shielded(struct dapl_evd *evd, DAT_TIMEOUT timeout,
		  DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	int cancel = dapl_cancel_off();
	DAT_RETURN ret;

	ret = evd_wait(evd, cancel, timeout, threshold, event, nmore);
	dapl_cancel_restore(cancel);
	return ret;
}

DAT_RETURN dapl_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
			 DAT_COUNT threshold, DAT_EVENT *event,
			 DAT_COUNT *nmore)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;

	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EVD) || !event ||
		     !nmore ||
		     (uint32_t)threshold - 1 >=
			     (uint32_t)__atomic_load_n(&evd->qlen,
						       __ATOMIC_RELAXED)))
		return bad_arguments(handle, event, nmore, threshold);
	if (timeout)
		return evd_wait_shielded(evd, timeout, threshold, event, nmore);
	return evd_wait(evd, PTHREAD_CANCEL_DISABLE, 0, threshold, event,
			nmore);
}
