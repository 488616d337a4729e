/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_lock.h - the one lock of the library.
 *
 * A word with a futex behind it: an uncontended lock and unlock cost two
 * atomic instructions and no call; a contended one sleeps in the kernel, so a
 * preempted holder costs nobody a spin.
 * Not recursive, not a condition variable, not shared between processes.
 *
 * What the data path takes (roles EVD and WQ) has a bias besides: the thread
 * that always takes the lock there comes to own it, and takes it with plain
 * loads and stores; whoever else wants it takes the word, switches the bias off
 * and makes sure by membarrier(2) that the owner knows. How and why that works
 * is in doc/locking.md, and test/unit/services/t_dapl_lock_model.c tries all
 * orders of it.
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
#include <stdint.h>

#include "dapl/common/services/dapl_likely.h"

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

/* What the owner does with a lock while it has the bias. */
enum dapl_lock_busy {
	DAPL_LOCK_FREE,
	/* It is about to see whether it still has the bias, or has the lock by
	   dapl_lock_mine(). */
	DAPL_LOCK_MINE,
	DAPL_LOCK_HELD, /* it gives it back by dapl_unlock() */
};

struct dapl_lock {
#ifdef DAPL_PTHREAD_LOCKS
	pthread_mutex_t mutex;
#else
	/*
	 * 0: there is none any more, the word is the lock. Else the thread that
	 * has it; with DAPL_LOCK_OFF the one that is to have it some day, 0 if
	 * that is not known. Written with the word held.
	 */
	uintptr_t bias;
	int word;     /* 0 free, 1 held, 2 held and somebody may sleep */
	uint8_t busy; /* DAPL_LOCK_*; written by the owner only */
	/* With the word held: */
	bool owned;	/* the thread in bias is the owner, for ever */
	uint8_t streak; /* takes in a row by the thread in bias */
	uint8_t shifts; /* times that it was another one's turn */
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
void dapl__futex_wake_one(const int *word);
void dapl__futex_wake_all(const int *word);

#ifndef DAPL_PTHREAD_LOCKS
#define DAPL_LOCK_OFF ((uintptr_t)1)
/* Takes in a row that make an owner. Fewer where threads are to meet on it. */
#ifndef DAPL_LOCK_STREAK
#define DAPL_LOCK_STREAK 8
#endif
/* Turns of others that make a lock without bias. */
#define DAPL_LOCK_SHIFTS 64

/* What a lock's bias is at first: what tells threads apart is not odd. */
uintptr_t dapl__lock_bias_first(void);
#endif

/*
 * To be called while the process may still have one thread: once there are
 * more, the first lock with a bias costs some 10 ms, for which the kernel waits
 * until all processors have seen that the process makes use of membarrier(2).
 */
static inline void dapl_lock_prepare(void)
{
#ifndef DAPL_PTHREAD_LOCKS
	(void)dapl__lock_bias_first();
#endif
}

static inline void dapl_lock_init(struct dapl_lock *l, enum dapl_lock_role role)
{
#ifdef DAPL_PTHREAD_LOCKS
	pthread_mutex_init(&l->mutex, NULL);
#else
	*l = (struct dapl_lock){.word = 0};
	if (role == DAPL_LOCK_EVD || role == DAPL_LOCK_WQ)
		l->bias = dapl__lock_bias_first();
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
	assert(l->word == 0 && l->busy == DAPL_LOCK_FREE);
	(void)l;
#endif
}

#ifdef DAPL_PTHREAD_LOCKS
static inline void dapl_lock(struct dapl_lock *l)
{
	DAPL_LOCK_ENTER(l);
	pthread_mutex_lock(&l->mutex);
}

static inline void dapl_unlock(struct dapl_lock *l)
{
	DAPL_LOCK_LEAVE(l);
	pthread_mutex_unlock(&l->mutex);
}
/* See below. */
static inline void dapl_lock_hot(struct dapl_lock *l)
{
	dapl_lock(l);
}

static inline bool dapl_lock_mine(struct dapl_lock *l)
{
	if (pthread_mutex_trylock(&l->mutex))
		return false;
	DAPL_LOCK_ENTER(l);
	return true;
}

static inline bool dapl_lock_plain(struct dapl_lock *l)
{
	return dapl_lock_mine(l);
}

static inline void dapl_unlock_mine(struct dapl_lock *l)
{
	dapl_unlock(l);
}

static inline void dapl_lock_keep(struct dapl_lock *l)
{
	(void)l;
}
#else
void dapl__lock_wait(struct dapl_lock *l);
void dapl__lock_wait_hot(struct dapl_lock *l);
void dapl__lock_wake(struct dapl_lock *l);

/* The thread sanitizer does not know membarrier(2): there is only the word. */
#if defined(__SANITIZE_THREAD__)
#define DAPL_LOCK_BIAS 0
#elif defined(__clang__)
#define DAPL_LOCK_BIAS (!__has_feature(thread_sanitizer))
#else
#define DAPL_LOCK_BIAS 1
#endif

/* Of the threads that there are, no two have the same. */
static inline uintptr_t dapl__lock_self(void)
{
#ifdef HAVE_THREAD_POINTER
	return (uintptr_t)__builtin_thread_pointer();
#else
	return (uintptr_t)pthread_self();
#endif
}

static inline bool dapl__lock_take(struct dapl_lock *l)
{
	int free = 0;

	return __atomic_compare_exchange_n(&l->word, &free, 1, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * The bias is looked at twice: only its owner may touch busy, and only what it
 * sees afterwards counts. No other processor need see the store before that:
 * who takes the bias away has membarrier(2) see to it.
 */
static inline bool dapl__lock_take_biased(struct dapl_lock *l, uintptr_t self)
{
	__atomic_store_n(&l->busy, DAPL_LOCK_MINE, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(dapl_loads_word(&l->bias, self), 1)) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return true;
	}
	__atomic_store_n(&l->busy, DAPL_LOCK_FREE, __ATOMIC_RELEASE);
	return false;
}

/* What dapl_lock_mine() took is given back by dapl_unlock(). */
static inline void dapl_lock_keep(struct dapl_lock *l)
{
	if (DAPL_LOCK_BIAS)
		__atomic_store_n(&l->busy, DAPL_LOCK_HELD, __ATOMIC_RELAXED);
}

static inline bool dapl__lock_try(struct dapl_lock *l)
{
	uintptr_t bias = __atomic_load_n(&l->bias, __ATOMIC_RELAXED);
	uintptr_t self = dapl__lock_self();

	if (__builtin_expect(bias == self, 1)) {
		if (!dapl__lock_take_biased(l, self))
			return false;
		dapl_lock_keep(l);
		return true;
	}
	return !bias && dapl__lock_take(l);
}

static inline void dapl_lock(struct dapl_lock *l)
{
	DAPL_LOCK_ENTER(l);
	if (__builtin_expect(!dapl__lock_try(l), 0))
		dapl__lock_wait(l);
}

/*
 * The same on the data path, from which a lock learns whose it is. What belongs
 * to setting up an object is not of it: programs often have another thread do
 * that.
 */
static inline void dapl_lock_hot(struct dapl_lock *l)
{
	DAPL_LOCK_ENTER(l);
	if (__builtin_expect(!dapl__lock_try(l), 0))
		dapl__lock_wait_hot(l);
}

/*
 * Takes L if this thread has its bias, for the fast paths: they leave all else
 * to the slow ones, so that no call is in them, and give it back by
 * dapl_unlock_mine() or, for somebody else to do so, keep it.
 */
static inline bool dapl_lock_mine(struct dapl_lock *l)
{
	uintptr_t self = dapl__lock_self();

	if (!DAPL_LOCK_BIAS) {
		if (!dapl__lock_take(l))
			return false;
	} else if (__builtin_expect(!dapl_loads_word(&l->bias, self), 0) ||
		   !dapl__lock_take_biased(l, self)) {
		return false;
	}
	DAPL_LOCK_ENTER(l);
	return true;
}

/*
 * Takes L if it has no bias, and is free: for who has just failed to have it by
 * dapl_lock_mine(). It is given back by dapl_unlock().
 */
static inline bool dapl_lock_plain(struct dapl_lock *l)
{
	if (__atomic_load_n(&l->bias, __ATOMIC_RELAXED) || !dapl__lock_take(l))
		return false;
	DAPL_LOCK_ENTER(l);
	return true;
}

/*
 * Whether the lock was held by bias. Whoever holds the word sees another one's
 * FREE or MINE: the owner has not got it.
 */
static inline bool dapl__unlock_biased(struct dapl_lock *l)
{
	/* First: once the lock is free the next holder may free its memory. */
	DAPL_LOCK_LEAVE(l);
	if (__builtin_expect(__atomic_load_n(&l->busy, __ATOMIC_RELAXED) !=
				     DAPL_LOCK_HELD,
			     0))
		return false;
	__atomic_store_n(&l->busy, DAPL_LOCK_FREE, __ATOMIC_RELEASE);
	return true;
}

static inline void dapl__unlock_word(struct dapl_lock *l)
{
	if (__builtin_expect(
		    __atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2, 0))
		dapl__lock_wake(l);
}

static inline void dapl_unlock(struct dapl_lock *l)
{
	if (!dapl__unlock_biased(l))
		dapl__unlock_word(l);
}

static inline void dapl_unlock_mine(struct dapl_lock *l)
{
	if (!DAPL_LOCK_BIAS) {
		dapl_unlock(l);
		return;
	}
	DAPL_LOCK_LEAVE(l);
	__atomic_store_n(&l->busy, DAPL_LOCK_FREE, __ATOMIC_RELEASE);
}
#endif

/*
 * What is inlined twice, once for who may have the bias: MINE, a constant, says
 * that the lock is had by dapl_lock_mine(), else in any other way.
 */
static inline void dapl_unlock_as(struct dapl_lock *l, bool mine)
{
	if (mine)
		dapl_unlock_mine(l);
	else
		dapl_unlock(l);
}

/* Somebody else gives it back, by dapl_unlock(). */
static inline void dapl_lock_keep_as(struct dapl_lock *l, bool mine)
{
	if (mine)
		dapl_lock_keep(l);
}

#endif
