/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_cq.h - the event of a completion that is simply a success: the
 * hot half of reading an EVD, inlined into each call that takes an event.
 *
 * A call whose events have another form has them made on its stack, where they
 * are not made at all, but for what it copies: so do those of DAT 1.2. What it
 * does with whatever is not so simple it passes in.
 * Everything else (errors, immediate data, binds, extensions, shared receive
 * queues, credits) is its work queue's to complete.
 * Dequeue and wait take the EVD's lock; the others are called with it.
 */
#ifndef DAPL_EVD_CQ_H
#define DAPL_EVD_CQ_H

#include "dapl/common/base/dapl_counters.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_wq.h"
#include "dapl/common/services/dapl_likely.h"

/*
 * A receive that was more than data. IP_CSUM_OK is of datagrams, but on soft
 * RoCE: see vb.h.
 */
#define DAPL_WC_MORE (IBV_WC_WITH_IMM | IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK)

/* Fills EVENT and returns true, or does nothing and returns false. */
static inline bool dapl_evd_cq_fast(struct dapl_evd *evd,
				    const struct ibv_wc *wc, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wc->wr_id;
	uint32_t op, length;
	struct dapl_wq *wq;

	if (unlikely(wc->status != IBV_WC_SUCCESS))
		return false;
	op = slot->op;
	length = slot->length;
	if (op >= DAT_DTO_RECEIVE) {
		if (unlikely(op > DAT_DTO_RECEIVE ||
			     (wc->wc_flags & DAPL_WC_MORE)))
			return false;
		length = wc->byte_len;
	}
	wq = slot->wq;
	dto->user_cookie = slot->cookie;
	/* From here on a post may use the slot again. */
	dapl_wq_complete(wq, slot);
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = (DAT_EVD_HANDLE)evd;
	dto->ep_handle = (DAT_EP_HANDLE)wq->owner;
	dto->status = DAT_DTO_SUCCESS;
	dto->transfered_length = length;
	dto->operation = (DAT_DTOS)op;
	dto->rmr_context = 0;
	return true;
}

/* The same for whatever that refuses; false: the consumer is owed no event. */
static inline bool dapl_evd_cq_other(struct dapl_evd *evd,
				     const struct ibv_wc *wc, DAT_EVENT *event,
				     struct dapl_evd_after *after)
{
	struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wc->wr_id;
	dapl_complete_fn *complete =
		__atomic_load_n(&slot->wq->complete, __ATOMIC_RELAXED);

	return complete(evd, wc, event, after);
}

/* Once the event that the above has made is in its place. */
static inline void dapl_evd_settle_locked(struct dapl_evd *evd,
					  struct dapl_evd_after *after)
{
	struct dapl_wq *wq = after->settle;

	if (likely(!wq))
		return;
	after->settle = NULL;
	wq->settle(evd, wq, after);
}

/*
 * Takes the lock for a call that takes an event. Where there is no completion
 * queue, others who post events take it as often, and it is nobody's.
 */
__attribute__((noinline)) void dapl_evd_lock_slow(struct dapl_evd *evd);

/* What a fast way has done is counted as ID. Lock held. */
static inline void dapl_evd_count_locked(struct dapl_evd *evd, int id)
{
	struct dapl_counts *c = dapl_counts_get(&evd->obj, &evd->counts);

	dapl_lock_assert_held(&evd->lock);
	if (likely(c != NULL))
		dapl_count_own(&c->fast[id], 1);
}

/* ---------------------------------------------------------- dequeue */

/* As dapl_evd_cq_fast(), for an event of the caller's form. */
typedef bool dapl_make_fn(struct dapl_evd *evd, const struct ibv_wc *wc,
			  void *event);
/*
 * The rest of dequeue, for whatever is not simple: N and WC are what was
 * polled, with the lock by dapl_lock_mine(), which is not held any more on
 * return. WC NULL: nothing was yet; and with N 0 the lock is not held, since
 * somebody else has it.
 */
typedef DAT_RETURN dapl_dequeue_fn(struct dapl_evd *evd, void *event, int n,
				   const struct ibv_wc *wc);

/* It, for an event of 2.0. */
__attribute__((noinline)) DAT_RETURN
dapl_evd_dequeue_slow(struct dapl_evd *evd, DAT_EVENT *event, int n,
		      const struct ibv_wc *wc);

/*
 * HANDLE is of an EVD, and EVENT is not NULL. COUNTED, a constant: nothing
 * counts where it was simply found; MAKE and SLOW see to the rest.
 */
__attribute__((always_inline)) static inline DAT_RETURN
dapl_evd_dequeue_by(DAT_EVD_HANDLE handle, void *event, dapl_make_fn *make,
		    dapl_dequeue_fn *slow, bool counted)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;
	struct ibv_wc wc;
	int n;

	if (unlikely(!dapl_lock_mine(&evd->lock)))
		return slow(evd, event, 0, NULL);
	if (unlikely(evd->slow & ~DAPL_EVD_UNWAITABLE))
		return slow(evd, event, 1, NULL);
	n = evd->ops.poll(evd->cq, 1, &wc);
	dapl_opaque(evd);
	if (n == 0) {
		if (counted)
			dapl_evd_count_locked(evd, DCNT_EVD_DEQUEUE_NOT_FOUND);
		dapl_unlock_mine(&evd->lock);
		return DAT_QUEUE_EMPTY;
	}
	if (unlikely(n < 0 || !make(evd, &wc, event)))
		return slow(evd, event, n, dapl_where(wc));
	dapl_unlock_mine(&evd->lock);
	return DAT_SUCCESS;
}

/* ------------------------------------------------------------- wait */

/*
 * The code of a wait that ends without an event. Old binaries compare the
 * whole value of what an EVD with a completion queue returns, and know it
 * without the class bits (dtest does so for DAT_QUEUE_EMPTY): they keep it.
 */
static inline DAT_RETURN dapl_evd_nothing_came(const struct dapl_evd *evd,
					       DAT_RETURN type)
{
	if (!evd->cq || unlikely(evd->cno != NULL))
		return DAPL_ERR(type, 0);
	return type;
}

/*
 * Why the call may not begin; EVENT may be of any form. The code is that of
 * 2.0. The handle is looked at again: what was none may be another thread's
 * new EVD by now, and then nothing but the handle was wrong.
 */
__attribute__((cold, noinline)) DAT_RETURN
dapl_evd_bad_dequeue(DAT_EVD_HANDLE handle, const void *event);
__attribute__((cold, noinline)) DAT_RETURN
dapl_evd_bad_wait(DAT_EVD_HANDLE handle, const void *event,
		  const DAT_COUNT *nmore, DAT_COUNT threshold);

/* A wait that is not plain, from its beginning. It GIVEs the event. */
__attribute__((noinline)) DAT_RETURN
dapl_evd_wait_careful(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
		      DAT_COUNT threshold, void *event, DAT_COUNT *nmore,
		      dapl_evd_give_fn *give);

/*
 * The wait takes the first of N completions in WC. All others that are there
 * are read ahead, and counted in *RET_MORE. Called with the lock by
 * dapl_lock_mine(), returns without it.
 */
__attribute__((noinline)) void dapl_evd_wait_ahead(struct dapl_evd *evd,
						   const struct ibv_wc *wc,
						   int n, DAT_COUNT *ret_more);

/* How a wait goes on. */
enum dapl_wait_way {
	DAPL_WAIT_ANEW, /* with dapl_evd_wait_careful(); nothing is done yet */
	DAPL_WAIT_ON,	/* with dapl_evd_wait_slow(); the lock is held */
	DAPL_WAIT_OVER, /* it returns what it is to; the event was given */
	DAPL_WAIT_MADE, /* the same, and there is an event to give */
};

/*
 * One that was read ahead, if nothing else has come that is to be counted:
 * what has is N completions in WC.
 */
__attribute__((always_inline)) static inline enum dapl_wait_way
dapl_evd_wait_ring(struct dapl_evd *evd, void *to, dapl_evd_give_fn *give,
		   DAT_COUNT *nmore, struct ibv_wc *wc, int *ret_n)
{
	bool room = dapl_evd_free_slots(evd) >= DAPL_EVD_BATCH;

	if (likely(room))
		*ret_n = evd->ops.poll(evd->cq, DAPL_EVD_BATCH, wc);
	dapl_opaque(evd);
	if (unlikely(!room || *ret_n)) {
		dapl_lock_keep(&evd->lock);
		return DAPL_WAIT_ON;
	}
	dapl_evd_pop_to_locked(evd, to, give);
	*nmore = (DAT_COUNT)dapl_evd_queued(evd);
	dapl_unlock_mine(&evd->lock);
	return DAPL_WAIT_OVER;
}

/*
 * A plain wait, for one event of a completion queue, that ends at once with
 * *RET. A plain completion is MADE in EVENT, another event GIVEn TO. Otherwise
 * *RET_N completions were read to WC, which has room for DAPL_EVD_BATCH.
 * COUNTED, a constant: one that finds nothing counts; MAKE and the caller see
 * to the rest.
 */
__attribute__((always_inline)) static inline enum dapl_wait_way
dapl_evd_wait_fast(struct dapl_evd *evd, DAT_TIMEOUT timeout,
		   DAT_COUNT threshold, DAT_EVENT *event, void *to,
		   dapl_make_fn *make, dapl_evd_give_fn *give, DAT_COUNT *nmore,
		   struct ibv_wc *wc, int *ret_n, DAT_RETURN *ret, bool counted)
{
	int n;

	/* In this order: compilers make one long test of two short ones. */
	if (unlikely(!to || !dapl_obj_is(evd, DAT_HANDLE_TYPE_EVD) ||
		     threshold != 1 || !dapl_lock_mine(&evd->lock)))
		return DAPL_WAIT_ANEW;
	*ret_n = 0;
	*ret = DAT_SUCCESS;
	if (unlikely(evd->slow) || unlikely(!nmore)) {
		if (evd->slow == DAPL_EVD_RING && nmore)
			return dapl_evd_wait_ring(evd, to, give, nmore, wc,
						  ret_n);
		dapl_unlock_mine(&evd->lock);
		return DAPL_WAIT_ANEW;
	}
	/* The ring is empty, and has room for them. */
	n = evd->ops.poll(evd->cq, DAPL_EVD_BATCH, wc);
	if (likely(n > 0) && likely(make(evd, &wc[0], event))) {
		*nmore = 0;
		if (n > 1)
			dapl_evd_wait_ahead(evd, dapl_where(*wc), n, nmore);
		else
			dapl_unlock_mine(&evd->lock);
		return DAPL_WAIT_MADE;
	}
	if (n == 0 && !timeout) {
		if (counted)
			dapl_evd_count_locked(evd, DCNT_EVD_WAIT);
		*ret = dapl_evd_nothing_came(evd, DAT_TIMEOUT_EXPIRED);
		*nmore = 0;
		dapl_unlock_mine(&evd->lock);
		return DAPL_WAIT_OVER;
	}
	*ret_n = n;
	dapl_lock_keep(&evd->lock);
	return DAPL_WAIT_ON;
}

/*
 * The rest of wait, which GIVEs the event to the caller. Called with the lock
 * held, returns without it.
 */
__attribute__((noinline)) DAT_RETURN
dapl_evd_wait_slow(struct dapl_evd *evd, const struct ibv_wc *wc, int n,
		   DAT_TIMEOUT timeout, DAT_COUNT threshold, void *event,
		   DAT_COUNT *nmore, dapl_evd_give_fn *give);

#endif
