/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_lock.h - the one lock of the library.
 *
 * A word with a futex behind it: an uncontended lock and unlock cost two
 * atomic instructions and no call, which the data path can afford; a contended
 * one sleeps in the kernel, so a preempted holder costs nobody a spin.
 * Not recursive, not a condition variable, not shared between processes.
 *
 * Each lock has a role, and roles are taken in the order of enum
 * dapl_lock_role only, at most one of a role at a time (doc/locking.md).
 * Builds with --enable-debug abort on a violation. DAPL_PTHREAD_LOCKS swaps in
 * pthread mutexes for tools that do not understand atomics (helgrind).
 */
#ifndef DAPL_LOCK_H
#define DAPL_LOCK_H

/* DAPL_DEBUG changes a layout below: every includer must see the same. */
#include "config.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

enum dapl_lock_role {
	DAPL_LOCK_PROVIDER, /* the plugin's list of registered names */
	DAPL_LOCK_IA,	    /* object lists of one IA */
	DAPL_LOCK_SRQ,	    /* size of one shared receive queue */
	DAPL_LOCK_CTL,	/* verbs objects of one EP or EVD; see doc/locking.md */
	DAPL_LOCK_SP,	/* one service point */
	DAPL_LOCK_EP,	/* state of one endpoint */
	DAPL_LOCK_CONN, /* one connection of a connection manager */
	DAPL_LOCK_EVD,	/* one event dispatcher */
	DAPL_LOCK_CNO,	/* one CNO */
	DAPL_LOCK_WQ,	/* one work queue's ring, posting side */
	DAPL_LOCK_JOBS, /* what the helpers of one loop have to do */
	DAPL_LOCK_LEAF, /* timers, maps, log: takes no other lock */
	DAPL_LOCK_N
};

struct dapl_lock {
#ifdef DAPL_PTHREAD_LOCKS
	pthread_mutex_t mutex;
#else
	int word; /* 0 free, 1 held, 2 held and somebody may sleep */
#endif
#ifdef DAPL_DEBUG
	enum dapl_lock_role role;
#endif
};

#ifdef DAPL_DEBUG
void dapl__lock_order_enter(enum dapl_lock_role role);
void dapl__lock_order_leave(enum dapl_lock_role role);
/* Aborts when the calling thread holds any lock: for the tops of upcalls. */
void dapl__lock_assert_none(void);
/* Aborts unless the calling thread holds L: for functions named _locked. */
void dapl_lock_assert_held(const struct dapl_lock *l);
#define DAPL_LOCK_ENTER(l) dapl__lock_order_enter((l)->role)
#define DAPL_LOCK_LEAVE(l) dapl__lock_order_leave((l)->role)
#else
static inline void dapl__lock_assert_none(void)
{
}
static inline void dapl_lock_assert_held(const struct dapl_lock *l)
{
	(void)l;
}
#define DAPL_LOCK_ENTER(l) ((void)0)
#define DAPL_LOCK_LEAVE(l) ((void)0)
#endif

/*
 * Sleeps while *WORD is VALUE; may return early, so the caller loops. For the
 * few places that wait for another thread without holding a lock.
 */
void dapl__futex_wait(const int *word, int value);
void dapl__futex_wake_all(const int *word);

static inline void dapl_lock_init(struct dapl_lock *l, enum dapl_lock_role role)
{
#ifdef DAPL_PTHREAD_LOCKS
	pthread_mutex_init(&l->mutex, NULL);
#else
	l->word = 0;
#endif
#ifdef DAPL_DEBUG
	l->role = role;
#else
	(void)role;
#endif
}

static inline void dapl_lock_fini(struct dapl_lock *l)
{
#ifdef DAPL_PTHREAD_LOCKS
	pthread_mutex_destroy(&l->mutex);
#else
	assert(l->word == 0);
	(void)l;
#endif
}

#ifdef DAPL_PTHREAD_LOCKS
static inline void dapl_lock(struct dapl_lock *l)
{
	DAPL_LOCK_ENTER(l);
	pthread_mutex_lock(&l->mutex);
}

static inline bool dapl_trylock(struct dapl_lock *l)
{
	if (pthread_mutex_trylock(&l->mutex))
		return false;
	DAPL_LOCK_ENTER(l);
	return true;
}

static inline void dapl_unlock(struct dapl_lock *l)
{
	DAPL_LOCK_LEAVE(l);
	pthread_mutex_unlock(&l->mutex);
}
#else
void dapl__lock_wait(struct dapl_lock *l);
void dapl__lock_wake(struct dapl_lock *l);

static inline bool dapl__lock_take(struct dapl_lock *l)
{
	int free = 0;

	return __atomic_compare_exchange_n(&l->word, &free, 1, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void dapl_lock(struct dapl_lock *l)
{
	DAPL_LOCK_ENTER(l);
	if (__builtin_expect(!dapl__lock_take(l), 0))
		dapl__lock_wait(l);
}

/*
 * Takes L if that can be done at once. For the fast paths, which leave waiting
 * to the slow ones, so that there is no call in them.
 */
static inline bool dapl_trylock(struct dapl_lock *l)
{
	if (__builtin_expect(!dapl__lock_take(l), 0))
		return false;
	DAPL_LOCK_ENTER(l);
	return true;
}

static inline void dapl_unlock(struct dapl_lock *l)
{
	/* First: once the word is 0 the next holder may free the lock. */
	DAPL_LOCK_LEAVE(l);
	if (__builtin_expect(
		    __atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2, 0))
		dapl__lock_wake(l);
}
#endif

#endif
