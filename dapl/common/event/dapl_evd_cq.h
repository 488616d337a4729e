/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_cq.h - the event of a completion that is simply a success: the
 * hot half of reading an EVD, inlined into dequeue and wait.
 *
 * Everything else (errors, immediate data, binds, extensions, shared receive
 * queues, credits) is its work queue's to complete.
 * Called with the EVD's lock held.
 */
#ifndef DAPL_EVD_CQ_H
#define DAPL_EVD_CQ_H

#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_wq.h"

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

	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0))
		return false;
	op = slot->what & 0xff;
	length = slot->length;
	if (op >= DAT_DTO_RECEIVE) {
		if (__builtin_expect(op > DAT_DTO_RECEIVE ||
					     (wc->wc_flags & DAPL_WC_MORE),
				     0))
			return false;
		length = wc->byte_len;
	}
	wq = dapl_slot_wq(slot);
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

	return dapl_slot_wq(slot)->complete(evd, wc, event, after);
}

#endif
