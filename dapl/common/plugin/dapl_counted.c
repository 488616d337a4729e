/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_counted.c - the calls of the data path as they are while they count.
 *
 * What is read of an object after the call, and was not there before, may be
 * gone: its consumer may have freed it on another thread meanwhile. The object
 * itself may not, nor the place of its values (dapl_counters.h).
 */
#include "dapl/common/plugin/dapl_counted.h"

#include <dat2/dat_ib_extensions.h>
#include <stdarg.h>

#include "dapl/common/base/dapl_counters.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/ib_ext/dapl_ext.h"
#include "dapl/common/transfer/dapl_ep_post.h"
#include "dapl/common/transfer/dapl_qp.h"

/* ---------------------------------------------------------- posts */

#define INLINE __attribute__((always_inline)) static inline

INLINE uint64_t *values_of_ep(void *ep)
{
	struct dapl_qp *qp = ep;

	return dapl_counts_at(&qp->obj, &qp->counts);
}

INLINE uint64_t *values_of_evd(void *handle)
{
	struct dapl_evd *evd = handle;

	return dapl_counts_at(&evd->obj, &evd->counts);
}

/* How many are outstanding in a queue of EP. */
INLINE uint32_t outstanding(DAT_EP_HANDLE ep, bool recv)
{
	const struct dapl_qp *qp = (const struct dapl_qp *)ep;
	const struct dapl_wq *wq;
	uint32_t used;

	if (unlikely(!dapl_obj_is(ep, DAT_HANDLE_TYPE_EP)))
		return 0;
	wq = recv ? qp->rq : qp->sq;
	if (unlikely(!wq))
		return 0;
	used = dapl_wq_used(wq);
	/* Of a full queue one has to complete before. */
	return used < wq->limit ? used : wq->limit - 1;
}

/* EP took a post, behind so many that were outstanding BEFORE. */
INLINE void posted(DAT_EP_HANDLE ep, int id, DAT_COUNT segments,
		   const DAT_LMR_TRIPLET *iov, uint32_t before)
{
	uint64_t *c = values_of_ep(ep);
	uint64_t bytes = segments ? iov[0].segment_length : 0;

	if (unlikely(!c))
		return;
	for (DAT_COUNT i = 1; unlikely(i < segments); i++)
		bytes += iov[i].segment_length;
	dapl_count(c, id);
	dapl_count_add(c, id + 1, bytes); /* its _DATA */
	dapl_count_most(c,
			id == DCNT_EP_POST_RECV ? DAPL_EP_RECEIVES_MOST
						: DAPL_EP_REQUESTS_MOST,
			before + 1);
}

/* CALL, which takes ARGS with EP, SEGMENTS and IOV among them, counted as ID.
 */
#define COUNTED(name, call, id, params, args)                                 \
	DAT_RETURN name params                                                \
	{                                                                     \
		uint32_t before = outstanding(ep, (id) == DCNT_EP_POST_RECV); \
		DAT_RETURN ret = call args;                                   \
                                                                              \
		if (ret == DAT_SUCCESS)                                       \
			posted(ep, id, segments, iov, before);                \
		return ret;                                                   \
	}
#define MESSAGE                                                     \
	DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov, \
		DAT_DTO_COOKIE cookie
#define RDMA MESSAGE, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags

COUNTED(dapl_counted_ep_post_send, dapl_ep_post_send, DCNT_EP_POST_SEND,
	(MESSAGE, DAT_COMPLETION_FLAGS flags),
	(ep, segments, iov, cookie, flags))
COUNTED(dapl_counted_ep_post_recv, dapl_ep_post_recv, DCNT_EP_POST_RECV,
	(MESSAGE, DAT_COMPLETION_FLAGS flags),
	(ep, segments, iov, cookie, flags))
COUNTED(dapl_counted_ep_post_rdma_read, dapl_ep_post_rdma_read,
	DCNT_EP_POST_READ, (RDMA), (ep, segments, iov, cookie, remote, flags))
COUNTED(dapl_counted_ep_post_rdma_write, dapl_ep_post_rdma_write,
	DCNT_EP_POST_WRITE, (RDMA), (ep, segments, iov, cookie, remote, flags))
static COUNTED(counted_post_send_with_invalidate,
	       dapl_ep_post_send_with_invalidate, DCNT_EP_POST_SEND,
	       (MESSAGE, DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalid,
		DAT_RMR_CONTEXT context),
	       (ep, segments, iov, cookie, flags, invalid, context))

	static DAT_RETURN
	counted_post_rdma_read_to_rmr(DAT_EP_HANDLE ep,
				      const DAT_RMR_TRIPLET *local,
				      DAT_DTO_COOKIE cookie,
				      const DAT_RMR_TRIPLET *remote,
				      DAT_COMPLETION_FLAGS flags)
{
	uint32_t before = outstanding(ep, false);
	DAT_RETURN ret =
		dapl_ep_post_rdma_read_to_rmr(ep, local, cookie, remote, flags);
	DAT_LMR_TRIPLET bytes = {0};

	if (ret != DAT_SUCCESS)
		return ret;
	bytes.segment_length = local->segment_length;
	posted(ep, DCNT_EP_POST_READ, 1, &bytes, before);
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
	uint32_t before = outstanding(handle, false);
	const DAT_LMR_TRIPLET *iov;
	DAT_COUNT segments;
	DAT_RETURN ret;
	va_list again;

	va_copy(again, args);
	ret = dapl_extensions(handle, (DAT_EXTENDED_OP)posting->op, args);
	if (ret == DAT_SUCCESS && posting->bytes) {
		segments = va_arg(again, DAT_COUNT);
		iov = va_arg(again, const DAT_LMR_TRIPLET *);
		posted(handle, posting->id, segments, iov, before);
	} else if (ret == DAT_SUCCESS) {
		dapl_count(values_of_ep(handle), posting->id);
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

/* EVENT was taken. Its endpoint may be no more. */
static void taken(const DAT_EVENT *event)
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
	if (unlikely(!c))
		return;
	dapl_count(c, id);
	dapl_count_add(c, id + 1, dto->transfered_length); /* its _DATA */
}

DAT_RETURN dapl_counted_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;
	DAT_RETURN ret = dapl_evd_dequeue(handle, event);
	uint64_t *c;

	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
		return ret;
	c = values_of_evd(evd);
	if (unlikely(!c))
		return ret;
	dapl_count(c, DCNT_EVD_DEQUEUE);
	dapl_count(c, ret == DAT_SUCCESS ? DCNT_EVD_DEQUEUE_FOUND
					 : DCNT_EVD_DEQUEUE_NOT_FOUND);
	if (__atomic_load_n(&evd->cq, __ATOMIC_RELAXED))
		dapl_count(c, DCNT_EVD_DEQUEUE_POLL);
	if (ret != DAT_SUCCESS)
		return ret;
	if (is_transfer(event))
		dapl_count(c, DCNT_EVD_DEQUEUE_POLL_FOUND);
	dapl_count_most(c, DAPL_EVD_EVENTS_MOST,
			(uint64_t)dapl_evd_queued(evd) + 1);
	taken(event);
	return ret;
}

/* Whether a wait that ended with RET was one: refusals are none. */
static bool has_waited(DAT_RETURN ret)
{
	switch (DAT_GET_TYPE(ret)) {
	case DAT_SUCCESS:
	case DAT_TIMEOUT_EXPIRED:
	case DAT_INTERRUPTED_CALL:
		return true;
	default:
		return false;
	}
}

/* What it does in its sleep is counted there. */
DAT_RETURN dapl_counted_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
				 DAT_COUNT threshold, DAT_EVENT *event,
				 DAT_COUNT *nmore)
{
	DAT_RETURN ret =
		dapl_evd_wait(handle, timeout, threshold, event, nmore);
	uint64_t *c;

	if (!has_waited(ret))
		return ret;
	c = values_of_evd(handle);
	dapl_count(c, DCNT_EVD_WAIT);
	if (ret != DAT_SUCCESS)
		return ret;
	dapl_count_most(c, DAPL_EVD_EVENTS_MOST, (uint64_t)*nmore + 1);
	taken(event);
	return ret;
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
