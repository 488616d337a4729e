/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_lock.c - the slow path of the lock, whose bias it is, and the checker of
 * lock order.
 *
 * Is not fair: whoever comes first takes a free lock. Spins for a moment only
 * where the bias is taken away from a thread that has the lock just now.
 * Threads: any; errno is preserved, since callers lock on error paths.
 * A wake-up may reach a word whose memory is already something else; that is
 * harmless, because every sleeper looks at its word again.
 * The order checker knows the calling thread's locks only, as one bit a role.
 */
#include "dapl/common/services/dapl_lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dapl/common/services/dapl_cancel.h"

static void futex(const int *word, int op, int value)
{
	int saved = errno;

	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
	errno = saved;
}

void dapl__futex_wait(const int *word, int value)
{
	futex(word, FUTEX_WAIT, value);
}

void dapl__futex_wake_one(const int *word)
{
	futex(word, FUTEX_WAKE, 1);
}

void dapl__futex_wake_all(const int *word)
{
	futex(word, FUTEX_WAKE, INT_MAX);
}

#ifndef DAPL_PTHREAD_LOCKS
/* ------------------------------------------------------ the word */

/*
 * Whoever gets the lock here leaves 2 behind although it may have been the
 * last sleeper: one wake-up too many is cheaper than counting sleepers.
 */
static void word_take(struct dapl_lock *l)
{
	if (dapl__lock_take(l))
		return;
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE))
		futex(&l->word, FUTEX_WAIT, 2);
}

void dapl__lock_wake(struct dapl_lock *l)
{
	futex(&l->word, FUTEX_WAKE, 1);
}

/* ------------------------------------------------------ the bias */

#define LOOKS	    1000 /* before the first nap */
#define NAP_US	    20
#define NAP_MOST_US 1000

/* A child of fork() is registered as its parent was. */
uintptr_t dapl__lock_bias_first(void)
{
	static bool registered;
	int saved = errno;

	if (!DAPL_LOCK_BIAS)
		return 0;
	if (__atomic_load_n(&registered, __ATOMIC_RELAXED))
		return DAPL_LOCK_OFF;
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
		     0, 0))
		__atomic_store_n(&registered, true, __ATOMIC_RELAXED);
	errno = saved;
	return __atomic_load_n(&registered, __ATOMIC_RELAXED) ? DAPL_LOCK_OFF
							      : 0;
}

static void nap(long us)
{
	const struct timespec ts = {.tv_nsec = us * 1000};
	int cancel = dapl_cancel_off();
	int saved = errno;

	nanosleep(&ts, NULL);
	errno = saved;
	dapl_cancel_restore(cancel);
}

/*
 * All that other threads have stored is seen by this one, and they see what it
 * has stored. A filter may have come since that does not let the call through:
 * no processor keeps a store for as long as a nap takes.
 */
static void barrier_for_all(void)
{
	int saved = errno;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		nap(NAP_MOST_US);
	errno = saved;
}

static void bias_set(struct dapl_lock *l, uintptr_t bias)
{
	__atomic_store_n(&l->bias, bias, __ATOMIC_RELAXED);
}

/* It was another one's turn. Where it often is, there is no bias any more. */
static void bias_shift(struct dapl_lock *l, uintptr_t to)
{
	l->streak = 0;
	if (l->shifts < DAPL_LOCK_SHIFTS)
		l->shifts++;
	bias_set(l, l->shifts < DAPL_LOCK_SHIFTS ? to | DAPL_LOCK_OFF : 0);
}

/*
 * With the word, which the bias is not switched on without: the owner may have
 * the lock, or try to. It tries once more at most, and finds the bias gone. It
 * wakes nobody, which would cost it an instruction that locks the bus.
 */
static void bias_revoke(struct dapl_lock *l)
{
	long us = NAP_US;
	int looks = 0;

	bias_shift(l, l->bias);
	barrier_for_all();
	while (__atomic_load_n(&l->busy, __ATOMIC_ACQUIRE)) {
		if (++looks < LOOKS)
			continue;
		nap(us);
		us = us < NAP_MOST_US ? us * 2 : us;
	}
}

void dapl__lock_wait(struct dapl_lock *l)
{
	word_take(l);
	/* It is not this thread that has it: it would have the lock. */
	if (l->bias && !(l->bias & DAPL_LOCK_OFF))
		bias_revoke(l);
}

/*
 * The owner is one for ever: another that came to be it could have the lock
 * while the one before, which has slept over that, tries and gives up, and busy
 * cannot be both. A thread that has the address of one that has ended may go on
 * in its place.
 */
void dapl__lock_wait_hot(struct dapl_lock *l)
{
	uintptr_t self = dapl__lock_self();

	dapl__lock_wait(l);
	if (!l->bias)
		return;
	if (l->bias != (self | DAPL_LOCK_OFF)) {
		bias_shift(l, l->owned ? l->bias : self);
		return;
	}
	if (++l->streak < DAPL_LOCK_STREAK)
		return;
	l->streak = 0;
	l->owned = true;
	/* From here on the lock is held by that, and not by the word. */
	__atomic_store_n(&l->busy, DAPL_LOCK_HELD, __ATOMIC_RELAXED);
	bias_set(l, self);
	dapl__unlock_word(l);
}
#endif

#ifdef DAPL_DEBUG
static const char *const role_names[] = {
	[DAPL_LOCK_PROVIDER] = "provider",
	[DAPL_LOCK_IA] = "ia",
	[DAPL_LOCK_SRQ] = "srq",
	[DAPL_LOCK_CTL] = "ctl",
	[DAPL_LOCK_SP] = "sp",
	[DAPL_LOCK_EP] = "ep",
	[DAPL_LOCK_CONN] = "conn",
	[DAPL_LOCK_WQ] = "wq",
	[DAPL_LOCK_EVD] = "evd",
	[DAPL_LOCK_CNO] = "cno",
	[DAPL_LOCK_JOBS] = "jobs",
	[DAPL_LOCK_LEAF] = "leaf",
};

_Static_assert(sizeof(role_names) / sizeof(*role_names) == DAPL_LOCK_N,
	       "each role needs a name");

static __thread unsigned held;

static const char *role_name(unsigned role)
{
	return role < DAPL_LOCK_N ? role_names[role] : "no role at all";
}

static const char *highest_held(void)
{
	return role_name(31 - (unsigned)__builtin_clz(held));
}

void dapl__lock_order_enter(enum dapl_lock_role role)
{
	if ((unsigned)role >= DAPL_LOCK_N) {
		fprintf(stderr, "dapl: lock of role %u: not initialised?\n",
			(unsigned)role);
		abort();
	}
	if (held >> role) {
		fprintf(stderr,
			"dapl: lock order: role '%s' taken while role '%s' is "
			"held\n",
			role_name(role), highest_held());
		abort();
	}
	held |= 1u << role;
}

void dapl__lock_order_leave(enum dapl_lock_role role)
{
	if ((unsigned)role >= DAPL_LOCK_N || !(held & 1u << role)) {
		fprintf(stderr,
			"dapl: lock of role '%s' released by a thread that "
			"does not hold it\n",
			role_name(role));
		abort();
	}
	held &= ~(1u << role);
}

void dapl__lock_assert_none(void)
{
	if (held) {
		fprintf(stderr, "dapl: upcall made while role '%s' is held\n",
			highest_held());
		abort();
	}
}

/*
 * Does not know which lock of the role this thread holds: only where that is
 * another one, and somebody else holds L, does it pass what it should not.
 */
void dapl_lock_assert_held(const struct dapl_lock *l)
{
	bool taken = true;

#ifndef DAPL_PTHREAD_LOCKS
	taken = __atomic_load_n(&l->word, __ATOMIC_RELAXED) ||
		__atomic_load_n(&l->busy, __ATOMIC_RELAXED) != DAPL_LOCK_FREE;
#endif
	if (taken && held & 1u << l->role)
		return;
	fprintf(stderr, "dapl: called without the lock of role '%s'\n",
		role_name(l->role));
	abort();
}
#endif
