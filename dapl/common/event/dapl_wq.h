/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_wq.h - what we remember of a posted work request until it completes.
 *
 * One preallocated ring of slots per work queue of an endpoint. A work
 * request's wr_id is the address of its slot. Completions of one queue come in
 * the order of posting, so a completion also returns the slots of the
 * suppressed requests before it. Of those some are signalled all the same, at
 * least one in half a queue: their slots would never return where every request
 * is suppressed. Nobody hears of these completions.
 *
 * The posting side (head, and the order of ring and queue pair being the same)
 * is guarded by the lock of role WQ; the completing side (tail) by the lock of
 * the EVD that the queue completes on. Each side reads the other's counter
 * with acquire/release only.
 */
#ifndef DAPL_WQ_H
#define DAPL_WQ_H

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/services/dapl_likely.h"
#include "dapl/common/services/dapl_lines.h"
#include "dapl/common/services/dapl_lock.h"

struct dapl_counts;
struct dapl_evd;
struct dapl_evd_after;
struct ibv_wc;

/*
 * Makes the event of WC, a completion that is not simply a success of a plain
 * transfer, and frees its slot; false when the consumer is owed none. With the
 * EVD's lock.
 */
typedef bool dapl_complete_fn(struct dapl_evd *evd, const struct ibv_wc *wc,
			      DAT_EVENT *event, struct dapl_evd_after *after);
struct dapl_wq;
/* Makes the events of what WQ owes, into EVD's ring. With the EVD's lock. */
typedef void dapl_settle_fn(struct dapl_evd *evd, struct dapl_wq *wq,
			    struct dapl_evd_after *after);

struct dapl_slot {
	struct dapl_wq *wq; /* whose it is; constant */
	DAT_DTO_COOKIE cookie;
	uint32_t length; /* bytes posted */
	uint32_t op;	 /* see below */
} __attribute__((aligned(32)));

_Static_assert(DAPL_CACHE_LINE % sizeof(struct dapl_slot) == 0,
	       "no slot is in two cache lines");

/*
 * The op of a slot is the DAT_DTOS that its event will report, and
 * DAT_DTO_RECEIVE in receive queues. Those up to RECEIVE are the fast ones;
 * everything that needs a second look when it completes is above it.
 */
#define DAPL_OP_MASK	   0x1f
#define DAPL_OP_UNNOTIFIED 0x20 /* posted UNSIGNALLED: wakes nobody */
#define DAPL_OP_SLOW	   0x40 /* completes the slow way, for any reason */
#define DAPL_OP_SUPPRESSED 0x80 /* no event if it succeeds */
#define DAPL_OP_MARKER	   0x1f /* request of our own: no event */
/* It has completed before one that was posted earlier; the status is above. */
#define DAPL_OP_HELD	    0x100
#define DAPL_OP_HELD_STATUS 16 /* shift */
#define DAPL_WQ_MAX	    (1u << 23)

enum dapl_wq_kind {
	DAPL_WQ_SEND,
	DAPL_WQ_RECV,
	DAPL_WQ_SRQ, /* owner is a struct dapl_srq, slots are not a ring */
};

struct dapl_wq {
	/* A post, and a completion. */
	struct dapl_lock lock; /* role WQ */
	/*
	 * The next to be posted, where the fast way ends, and the oldest that
	 * is outstanding, which is head if none is. One slot is always free.
	 * Head and tail may be at the ring's end, which is its beginning: that
	 * the fast way need not know, since it ends there.
	 */
	struct dapl_slot *head; /* lock */
	struct dapl_slot *stop; /* lock */
	struct dapl_slot *tail; /* the EVD's lock */
	struct dapl_slot *end;	/* behind the ring; constant */
	struct dapl_obj *owner; /* the endpoint, or the SRQ */

	dapl_complete_fn *complete;

	/* What is not so simple. */
	struct dapl_slot *suppressed; /* behind the last one that is; lock */
	int *credits;		      /* see dapl_evd_attach(); usually NULL */
	dapl_settle_fn *settle;	      /* constant; not of an SRQ's */
	/* Atomic; the endpoint's once somebody counts: dapl_counters.h. */
	struct dapl_counts *counts;
	uint32_t suppressed_lap; /* of the ring; lock */
	uint32_t laps;		 /* of head; lock */
	uint32_t limit;		 /* requests that may be outstanding */
	uint32_t signals;	 /* mask of one slot in so many; constant */
	/*
	 * The last slots of the ring that are not the device's: posts that are
	 * to be flushed, by SETTLE, behind what the device has yet to flush.
	 * Written with both locks.
	 */
	uint32_t owed;
	uint8_t slow_op; /* DAPL_OP_SLOW, or 0; dapl_wq_complete_slowly() */
	uint8_t kind;	 /* enum dapl_wq_kind; constant */
	bool open;	 /* there is a queue pair to post to; lock */
	bool fast;	 /* there is a fast way at all; lock */
	bool notify;	/* posts may be UNSIGNALLED; see dapl_wq_set_notify() */
	bool flushing;	/* posts are flushed; see dapl_wq_set_flushing() */
	bool overtaken; /* completions may come early: see
			   dapl_wq_let_overtake() */
	bool failed;	/* a request has: all behind it will; the EVD's lock */

	__attribute__((aligned(DAPL_CACHE_LINE))) struct dapl_slot slots[];
};

/* Where locks are small; those that are watched are larger. */
_Static_assert(sizeof(struct dapl_lock) > 2 * sizeof(uintptr_t) ||
		       offsetof(struct dapl_wq, suppressed) <= DAPL_CACHE_LINE,
	       "what a post and its completion touch is one cache line");

static inline uint32_t dapl_wq_size(const struct dapl_wq *wq)
{
	return (uint32_t)(wq->end - wq->slots);
}

static inline uint32_t dapl_wq_place(const struct dapl_wq *wq,
				     const struct dapl_slot *slot)
{
	return (uint32_t)(slot - wq->slots);
}

/* How many slots are from FROM to TO: fewer than there are. */
static inline uint32_t dapl_wq_between(const struct dapl_wq *wq,
				       const struct dapl_slot *from,
				       const struct dapl_slot *to)
{
	ptrdiff_t n = to - from;

	return (uint32_t)(n < 0 ? n + (wq->end - wq->slots) : n);
}

/* The slot N places behind FROM, which may be at the ring's end. */
static inline struct dapl_slot *
dapl_wq_behind(struct dapl_wq *wq, const struct dapl_slot *from, uint32_t n)
{
	return &wq->slots[(dapl_wq_place(wq, from) + n) % dapl_wq_size(wq)];
}

static inline struct dapl_slot *
dapl_wq_before(struct dapl_wq *wq, const struct dapl_slot *from, uint32_t n)
{
	return dapl_wq_behind(wq, from, dapl_wq_size(wq) - n);
}

/* Outstanding requests, as either side may see them. */
static inline uint32_t dapl_wq_used(const struct dapl_wq *wq)
{
	const struct dapl_slot *head =
		__atomic_load_n(&wq->head, __ATOMIC_RELAXED);

	return dapl_wq_between(wq, __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE),
			       head);
}

/* The oldest of them, if there is one. */
static inline struct dapl_slot *dapl_wq_oldest(struct dapl_wq *wq)
{
	return dapl_wq_behind(wq, wq->tail, 0);
}

/* Whether a suppressed request in SLOT is signalled: one in so many is. */
static inline bool dapl_slot_signals(const struct dapl_wq *wq,
				     const struct dapl_slot *slot)
{
	return !(dapl_wq_place(wq, slot) & wq->signals);
}

/* The request in SLOT, which was taken last, is suppressed. Lock held. */
static inline void dapl_wq_suppress_locked(struct dapl_wq *wq)
{
	dapl_lock_assert_held(&wq->lock);
	wq->suppressed = wq->head;
	wq->suppressed_lap = wq->laps;
}

/* Whether one of the outstanding requests may be suppressed. Lock held. */
static inline bool dapl_wq_suppressed_locked(const struct dapl_wq *wq)
{
	uint32_t since = (wq->laps - wq->suppressed_lap) * dapl_wq_size(wq) +
			 dapl_wq_place(wq, wq->head) -
			 dapl_wq_place(wq, wq->suppressed);

	dapl_lock_assert_held(&wq->lock);
	return since < dapl_wq_used(wq);
}

/* A ring for LIMIT requests, or NULL. free() ends it. */
struct dapl_wq *dapl_wq_new(enum dapl_wq_kind kind, uint32_t limit,
			    struct dapl_obj *owner, dapl_complete_fn *complete);

/* Nothing that is posted to WQ completes the fast way. */
static inline void dapl_wq_complete_slowly(struct dapl_wq *wq)
{
	wq->slow_op = DAPL_OP_SLOW;
	for (struct dapl_slot *slot = wq->slots; slot < wq->end; slot++)
		slot->op |= DAPL_OP_SLOW;
}

/*
 * From now on WQ takes a credit for each request. The fast path of posting
 * finds the queue full then, and the one of completing passes on. As nobody
 * knows how many credits there are, each request must bring its own back.
 */
static inline void dapl_wq_use_credits(struct dapl_wq *wq, int *credits)
{
	wq->credits = credits;
	wq->signals = 0;
	dapl_wq_complete_slowly(wq);
}

/*
 * From now on requests may complete before others that were posted earlier:
 * each tells of itself alone, and waits in its slot for those.
 */
static inline void dapl_wq_let_overtake(struct dapl_wq *wq)
{
	wq->overtaken = true;
	wq->signals = 0;
	dapl_wq_complete_slowly(wq);
}

/* Whether the oldest request outstanding has completed already. */
static inline bool dapl_wq_is_held(struct dapl_wq *wq)
{
	return dapl_wq_used(wq) && (dapl_wq_oldest(wq)->op & DAPL_OP_HELD);
}

/* From the end of the ring to its beginning. */
static inline void dapl_wq_wrap_locked(struct dapl_wq *wq)
{
	dapl_lock_assert_held(&wq->lock);
	if (wq->head != wq->end)
		return;
	__atomic_store_n(&wq->head, wq->slots, __ATOMIC_RELAXED);
	wq->laps++;
}

/*
 * How far the fast way goes: to the free slot in front of the oldest request,
 * as far as it can see, or to the end of the ring; or not at all.
 */
static inline void dapl_wq_look_locked(struct dapl_wq *wq)
{
	struct dapl_slot *tail = __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE);

	dapl_lock_assert_held(&wq->lock);
	dapl_wq_wrap_locked(wq);
	if (!wq->fast)
		wq->stop = wq->head;
	else if (tail > wq->head)
		wq->stop = tail - 1;
	else
		wq->stop = wq->end - (tail == wq->slots);
}

/* The same where what decides about the fast way may have changed. */
static inline void dapl_wq_choose_way_locked(struct dapl_wq *wq)
{
	dapl_lock_assert_held(&wq->lock);
	wq->fast = wq->open && !wq->flushing && !wq->credits &&
		   !wq->overtaken && !(wq->notify && wq->kind == DAPL_WQ_RECV);
	dapl_wq_look_locked(wq);
}

/* Takes the next slot, which is free and before the ring's end. */
static inline struct dapl_slot *dapl_wq_advance_locked(struct dapl_wq *wq)
{
	struct dapl_slot *slot = wq->head;

	dapl_lock_assert_held(&wq->lock);
	if (!slot)
		__builtin_unreachable();
	/* Before the post: its completion may be read at once. */
	__atomic_store_n(&wq->head, slot + 1, __ATOMIC_RELAXED);
	return slot;
}

/*
 * Takes the next slot without a look at the fast way, which may go on from
 * there; or NULL, when as many are out as may be.
 */
static inline struct dapl_slot *dapl_wq_take_locked(struct dapl_wq *wq)
{
	struct dapl_slot *slot = NULL;

	dapl_wq_wrap_locked(wq);
	if (dapl_wq_used(wq) < wq->limit)
		slot = dapl_wq_advance_locked(wq);
	dapl_wq_choose_way_locked(wq);
	return slot;
}

/* The N that were taken last are free again. */
static inline void dapl_wq_give_back_locked(struct dapl_wq *wq, uint32_t n)
{
	struct dapl_slot *to = dapl_wq_before(wq, wq->head, n);

	dapl_lock_assert_held(&wq->lock);
	if (to > wq->head)
		wq->laps--;
	__atomic_store_n(&wq->head, to, __ATOMIC_RELAXED);
	dapl_wq_choose_way_locked(wq);
}

/*
 * Whether there is a queue pair. When it is going to be hidden, who still saw
 * it has left once this returns. Role WQ.
 */
static inline void dapl_wq_set_open(struct dapl_wq *wq, bool open)
{
	if (!wq)
		return;
	dapl_lock(&wq->lock);
	wq->open = open;
	dapl_wq_choose_way_locked(wq);
	dapl_unlock(&wq->lock);
}

/*
 * Whether UNSIGNALLED means something on WQ. It is honoured on the slow ways of
 * posting only: receives find the queue full then, requests the endpoint not
 * ready. Role WQ.
 */
static inline void dapl_wq_set_notify(struct dapl_wq *wq, bool notify)
{
	if (!wq)
		return;
	dapl_lock(&wq->lock);
	wq->notify = notify;
	dapl_wq_choose_way_locked(wq);
	dapl_unlock(&wq->lock);
}

/*
 * What is posted from now on does not reach the device: its queue pair is going
 * to ERR, and not every device looks at what is posted there later. Role WQ.
 */
static inline void dapl_wq_set_flushing(struct dapl_wq *wq, bool flushing)
{
	if (!wq)
		return;
	dapl_lock(&wq->lock);
	/* Completions look at it with another lock. */
	__atomic_store_n(&wq->flushing, flushing, __ATOMIC_RELAXED);
	dapl_wq_choose_way_locked(wq);
	dapl_unlock(&wq->lock);
}

/*
 * SLOT's request has completed: it and all before it are free again. Called
 * with the EVD's lock held.
 */
static inline void dapl_wq_complete(struct dapl_wq *wq, struct dapl_slot *slot)
{
	__atomic_store_n(&wq->tail, slot + 1, __ATOMIC_RELEASE);
}

#endif
