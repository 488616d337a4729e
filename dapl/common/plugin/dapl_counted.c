/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_counted.c - the calls of the data path as they are while they count.
 *
 * What is read of an object after a call of a slow way, and was not there
 * before, may be gone: its consumer may have freed it on another thread
 * meanwhile. The object itself may not, nor the place of its values
 * (dapl_counters.h).
 */
#include "dapl/common/plugin/dapl_counted.h"

#include <dat2/dat_ib_extensions.h>
#include <stdarg.h>

#include "dapl/common/base/dapl_counters.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_evd_cq.h"
#include "dapl/common/ib_ext/dapl_ext.h"
#include "dapl/common/transfer/dapl_ep_post.h"
#include "dapl/common/transfer/dapl_post.h"

#define INLINE __attribute__((always_inline)) static inline

/* ---------------------------------------------------------- posts */

static uint64_t *values_of_ep(struct dapl_qp *qp)
{
	return dapl_counts_at(&qp->obj, &qp->counts);
}

static uint64_t *values_of_evd(struct dapl_evd *evd)
{
	return dapl_counts_at(&evd->obj, &evd->counts);
}

DAT_RETURN dapl_counted_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments,
				     DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie,
				     DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(ep, IBV_WR_SEND, DAT_DTO_SEND, segments, iov,
				  cookie, NULL, 0, flags, DCNT_EP_POST_SEND);
}

DAT_RETURN dapl_counted_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments,
				     DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie,
				     DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_recv(ep, segments, iov, cookie, flags,
			      DCNT_EP_POST_RECV);
}

DAT_RETURN dapl_counted_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments,
					  DAT_LMR_TRIPLET *iov,
					  DAT_DTO_COOKIE cookie,
					  const DAT_RMR_TRIPLET *remote,
					  DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(ep, IBV_WR_RDMA_READ, DAT_DTO_RDMA_READ,
				  segments, iov, cookie, remote, 0, flags,
				  DCNT_EP_POST_READ);
}

DAT_RETURN dapl_counted_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments,
					   DAT_LMR_TRIPLET *iov,
					   DAT_DTO_COOKIE cookie,
					   const DAT_RMR_TRIPLET *remote,
					   DAT_COMPLETION_FLAGS flags)
{
	return dapl_post_transfer(ep, IBV_WR_RDMA_WRITE, DAT_DTO_RDMA_WRITE,
				  segments, iov, cookie, remote, 0, flags,
				  DCNT_EP_POST_WRITE);
}

static DAT_RETURN counted_post_send_with_invalidate(
	DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
	DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
	uint32_t before = dapl_outstanding(ep, false);
	DAT_RETURN ret = dapl_ep_post_send_with_invalidate(
		ep, segments, iov, cookie, flags, invalidate, context);

	if (ret == DAT_SUCCESS)
		dapl_posted((struct dapl_qp *)ep, DCNT_EP_POST_SEND,
			    dapl_iov_length(iov, segments), before);
	return ret;
}

static DAT_RETURN counted_post_rdma_read_to_rmr(DAT_EP_HANDLE ep,
						const DAT_RMR_TRIPLET *local,
						DAT_DTO_COOKIE cookie,
						const DAT_RMR_TRIPLET *remote,
						DAT_COMPLETION_FLAGS flags)
{
	uint32_t before = dapl_outstanding(ep, false);
	DAT_RETURN ret =
		dapl_ep_post_rdma_read_to_rmr(ep, local, cookie, remote, flags);

	if (ret == DAT_SUCCESS)
		dapl_posted((struct dapl_qp *)ep, DCNT_EP_POST_READ,
			    local->segment_length, before);
	return ret;
}

/* Of the extension's, those that post. */
static const struct posting {
	int op;
	int id;
	bool bytes; /* segments and iov are its first arguments */
} postings[] = {
	{DAT_IB_RDMA_WRITE_IMMED_OP, DCNT_EP_POST_WRITE_IMM, true},
	{DAT_IB_UD_SEND_OP, DCNT_EP_POST_SEND_UD, true},
	{DAT_IB_CMP_AND_SWAP_OP, DCNT_EP_POST_CMP_SWAP, false},
	{DAT_IB_FETCH_AND_ADD_OP, DCNT_EP_POST_FETCH_ADD, false},
};

static const struct posting *posting_of(DAT_EXTENDED_OP op)
{
	for (size_t i = 0; i < sizeof(postings) / sizeof(postings[0]); i++)
		if (postings[i].op == (int)op)
			return &postings[i];
	return NULL;
}

static DAT_RETURN counted_posting(const struct posting *posting,
				  DAT_HANDLE handle, va_list args)
{
	uint32_t before = dapl_outstanding((DAT_EP_HANDLE)handle, false);
	struct dapl_qp *qp = (struct dapl_qp *)handle;
	const DAT_LMR_TRIPLET *iov;
	DAT_COUNT segments;
	DAT_RETURN ret;
	va_list again;

	va_copy(again, args);
	ret = dapl_extensions(handle, (DAT_EXTENDED_OP)posting->op, args);
	if (ret == DAT_SUCCESS && posting->bytes) {
		segments = va_arg(again, DAT_COUNT);
		iov = va_arg(again, const DAT_LMR_TRIPLET *);
		dapl_posted(qp, posting->id, dapl_iov_length(iov, segments),
			    before);
	} else if (ret == DAT_SUCCESS) {
		dapl_count(values_of_ep(qp), posting->id);
	}
	va_end(again);
	return ret;
}

static DAT_RETURN counted_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op,
				     va_list args)
{
	const struct posting *posting = posting_of(op);

	return posting ? counted_posting(posting, handle, args)
		       : dapl_extensions(handle, op, args);
}

/* --------------------------------------------------------- events */

/* What a receive is counted as; -1: EVENT is none that brought something. */
static int received_as(const DAT_EVENT *event, const struct dapl_qp *qp)
{
	const DAT_IB_EXTENSION_EVENT_DATA *ext =
		(const DAT_IB_EXTENSION_EVENT_DATA *)
			event->event_extension_data;

	if (event->event_data.dto_completion_event_data.status !=
	    DAT_DTO_SUCCESS)
		return -1;
	if (event->event_number == DAT_DTO_COMPLETION_EVENT) {
		if (event->event_data.dto_completion_event_data.operation !=
		    DAT_DTO_RECEIVE)
			return -1;
		return qp->ud ? DCNT_EP_RECV_UD : DCNT_EP_RECV;
	}
	switch (ext->type) {
	case DAT_IB_UD_RECV:
		return DCNT_EP_RECV_UD;
	case DAT_IB_RECV_IMMED_DATA:
		return DCNT_EP_RECV_IMM;
	case DAT_IB_RDMA_WRITE_IMMED_DATA:
		return DCNT_EP_RECV_RDMA_IMM;
	default:
		return -1;
	}
}

static bool is_transfer(const DAT_EVENT *event)
{
	return event->event_number == DAT_DTO_COMPLETION_EVENT ||
	       event->event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
}

/* A receive of an endpoint, which may be no more. */
static void received(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	struct dapl_qp *qp = (struct dapl_qp *)dto->ep_handle;
	uint64_t *c;
	int id;

	if (!is_transfer(event) || !qp || !dapl_obj_is(qp, DAT_HANDLE_TYPE_EP))
		return;
	id = received_as(event, qp);
	if (id < 0)
		return;
	c = values_of_ep(qp);
	dapl_count(c, id);
	dapl_count_add(c, id + 1, dto->transfered_length); /* its _DATA */
}

/* EVENT was taken of EVD, by what is counted as ID; so many are LEFT. */
static void taken(struct dapl_evd *evd, int id, const DAT_EVENT *event,
		  uint32_t left)
{
	uint64_t *c = values_of_evd(evd);

	dapl_count(c, id);
	dapl_count_most(c, DAPL_EVD_EVENTS_MOST, (uint64_t)left + 1);
	received(event);
}

/* A completion that is simply a success was taken. With the lock. */
INLINE void taken_fast_locked(struct dapl_evd *evd, const struct ibv_wc *wc,
			      const DAT_EVENT *event, int id)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wc->wr_id;
	struct dapl_counts *c = dapl_counts_get(&evd->obj, &evd->counts);

	dapl_lock_assert_held(&evd->lock);
	if (likely(c)) {
		dapl_count_own(&c->fast[id], 1);
		dapl_count_own_most(&c->fast[DAPL_EVD_EVENTS_MOST], 1);
	}
	if (dto->operation != DAT_DTO_RECEIVE)
		return;
	c = dapl_wq_counts(slot->wq);
	if (likely(c)) {
		dapl_count_own(&c->fast[DCNT_EP_RECV], 1);
		dapl_count_own(&c->fast[DCNT_EP_RECV_DATA],
			       dto->transfered_length);
	}
}

INLINE bool dequeue_make(struct dapl_evd *evd, const struct ibv_wc *wc,
			 void *event)
{
	if (unlikely(!dapl_evd_cq_fast(evd, wc, event)))
		return false;
	taken_fast_locked(evd, wc, event, DCNT_EVD_DEQUEUE_POLL_FOUND);
	return true;
}

__attribute__((noinline)) static DAT_RETURN
dequeue_slow(struct dapl_evd *evd, void *event, int n, const struct ibv_wc *wc)
{
	DAT_RETURN ret = dapl_evd_dequeue_slow(evd, event, n, wc);

	if (likely(ret == DAT_SUCCESS))
		taken(evd,
		      is_transfer(event) ? DCNT_EVD_DEQUEUE_POLL_FOUND
					 : DCNT_EVD_DEQUEUE_FOUND,
		      event, dapl_evd_queued(evd));
	else if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		dapl_count(values_of_evd(evd), DCNT_EVD_DEQUEUE_NOT_FOUND);
	return ret;
}

DAT_RETURN dapl_counted_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EVD) || !event))
		return dapl_evd_bad_dequeue(handle, event);
	return dapl_evd_dequeue_by(handle, event, dequeue_make, dequeue_slow,
				   true);
}

INLINE bool wait_make(struct dapl_evd *evd, const struct ibv_wc *wc,
		      void *event)
{
	if (unlikely(!dapl_evd_cq_fast(evd, wc, event)))
		return false;
	taken_fast_locked(evd, wc, event, DCNT_EVD_WAIT);
	return true;
}

/* A wait has ended that the fast ways have not counted; refusals are none. */
static DAT_RETURN waited(struct dapl_evd *evd, DAT_RETURN ret,
			 const DAT_EVENT *event, const DAT_COUNT *nmore)
{
	switch (DAT_GET_TYPE(ret)) {
	case DAT_SUCCESS:
		taken(evd, DCNT_EVD_WAIT, event, (uint32_t)*nmore);
		break;
	case DAT_TIMEOUT_EXPIRED:
	case DAT_INTERRUPTED_CALL:
		dapl_count(values_of_evd(evd), DCNT_EVD_WAIT);
		break;
	default:
		break;
	}
	return ret;
}

/* What it does in its sleep is counted there. */
DAT_RETURN dapl_counted_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
				 DAT_COUNT threshold, DAT_EVENT *event,
				 DAT_COUNT *nmore)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;
	struct ibv_wc wc[DAPL_EVD_BATCH];
	DAT_RETURN ret;
	int n;

	switch (dapl_evd_wait_fast(evd, timeout, threshold, event, event,
				   wait_make, dapl_evd_give, nmore, wc, &n,
				   &ret, true)) {
	case DAPL_WAIT_ANEW:
		ret = dapl_evd_wait_careful(handle, timeout, threshold, event,
					    nmore, dapl_evd_give);
		return waited(evd, ret, event, nmore);
	case DAPL_WAIT_ON:
		ret = dapl_evd_wait_slow(evd, wc, n, timeout, threshold, event,
					 nmore, dapl_evd_give);
		return waited(evd, ret, event, nmore);
	case DAPL_WAIT_OVER:
		return ret == DAT_SUCCESS ? waited(evd, ret, event, nmore)
					  : ret;
	default:
		if (*nmore)
			dapl_count_most(values_of_evd(evd),
					DAPL_EVD_EVENTS_MOST,
					(uint64_t)*nmore + 1);
		return ret;
	}
}

/* ---------------------------------------------------------- slots */

void dapl_counted(DAT_PROVIDER *v)
{
	DAPL_SLOT_SET(v, ep_post_send, dapl_counted_ep_post_send);
	DAPL_SLOT_SET(v, ep_post_recv, dapl_counted_ep_post_recv);
	DAPL_SLOT_SET(v, ep_post_rdma_read, dapl_counted_ep_post_rdma_read);
	DAPL_SLOT_SET(v, ep_post_rdma_write, dapl_counted_ep_post_rdma_write);
	DAPL_SLOT_SET(v, ep_post_send_with_invalidate,
		      counted_post_send_with_invalidate);
	DAPL_SLOT_SET(v, ep_post_rdma_read_to_rmr,
		      counted_post_rdma_read_to_rmr);
	DAPL_SLOT_SET(v, evd_wait, dapl_counted_evd_wait);
	DAPL_SLOT_SET(v, evd_dequeue, dapl_counted_evd_dequeue);
	DAPL_SLOT_SET(v, handle_extendedop, counted_extensions);
}
