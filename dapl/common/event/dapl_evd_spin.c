/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_spin.c - a wait that looks again and again before it sleeps, where
 * that pays.
 *
 * To sleep and to be woken takes some microseconds and arms the queue: who
 * waits for an answer that comes sooner had better look for it. Each EVD learns
 * whether its answers do, from how long its waiters slept: it looks up to
 * SPIN_MOST times then, and half as often each time that it was for nothing,
 * until it does not look at all. So a program whose answers take long, or whose
 * processors are all busy, pays for a few.
 *
 * The lock is held meanwhile: to others the wait has not begun to sleep. They
 * are kept for no longer than a sleep would take. Not where there is one
 * processor: nothing comes while that one looks.
 * Called by dapl_evd_wait.c.
 */
#include <sched.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"

#define SPIN_MOST  256
#define SPIN_FIRST 32
/* A sleep so short could have been spared; also the least timeout to spin for.
 */
#define SPIN_US 20

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

bool dapl_evd_may_spin(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1;
}

void dapl_evd_slept_locked(struct dapl_evd *evd, uint64_t us)
{
	dapl_lock_assert_held(&evd->lock);
	if (us > SPIN_US)
		evd->spin /= 2;
	else if (!evd->spin)
		evd->spin = SPIN_FIRST;
	else if (evd->spin < SPIN_MOST)
		evd->spin *= 2;
}

bool dapl_evd_spin_locked(struct dapl_evd *evd, DAT_TIMEOUT timeout,
			  uint32_t threshold, struct dapl_evd_after *after)
{
	dapl_lock_assert_held(&evd->lock);
	if (timeout < SPIN_US || !evd->obj.ia->spins)
		return false;
	for (uint32_t i = 0; i < evd->spin; i++) {
		relax();
		dapl_evd_poll_locked(evd, DAPL_EVD_WHILE_ROOM, NULL, after);
		if (dapl_evd_queued(evd) >= threshold)
			return true;
	}
	return false;
}
