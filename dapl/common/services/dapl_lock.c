/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_lock.c - the slow path of the lock, and the checker of lock order.
 *
 * Does not spin and is not fair: whoever comes first takes a free lock.
 * Threads: any; errno is preserved, since callers lock on error paths.
 * A wake-up may reach a word whose memory is already something else; that is
 * harmless, because every sleeper looks at its word again.
 * The order checker knows the calling thread's locks only, as one bit a role.
 */
#include "dapl/common/services/dapl_lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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

void dapl__futex_wake_all(const int *word)
{
	futex(word, FUTEX_WAKE, INT_MAX);
}

#ifndef DAPL_PTHREAD_LOCKS
/*
 * Whoever gets the lock here leaves 2 behind although it may have been the
 * last sleeper: one wake-up too many is cheaper than counting sleepers.
 */
void dapl__lock_wait(struct dapl_lock *l)
{
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE))
		futex(&l->word, FUTEX_WAIT, 2);
}

void dapl__lock_wake(struct dapl_lock *l)
{
	futex(&l->word, FUTEX_WAKE, 1);
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
	taken = __atomic_load_n(&l->word, __ATOMIC_RELAXED) != 0;
#endif
	if (taken && held & 1u << l->role)
		return;
	fprintf(stderr, "dapl: called without the lock of role '%s'\n",
		role_name(l->role));
	abort();
}
#endif
