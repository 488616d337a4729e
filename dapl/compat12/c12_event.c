/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c12_event.c - events: 48 bytes where 2.0 has 120.
 *
 * The core's fast path is inlined here with an event of 2.0 that nobody else
 * sees, so that of a plain completion only what 1.2 has is written, and once
 * (dapl_evd_cq.h).
 *
 * All numbers of 1.2 are the same in 2.0. Of those that came later the core
 * sends a 1.2 program only one, for a receive with immediate data that a 2.0
 * peer sent: the others are answers to calls that 1.2 has not. Such a receive
 * is a completion like others; its number is not to be had.
 */
#include <dat2/dat_ib_extensions.h>
#include <string.h>

#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_evd_cq.h"
#include "dapl/common/plugin/dapl_counted.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/compat12/c12.h"

#if __SIZEOF_POINTER__ == 8
_Static_assert(sizeof(struct c12_event) == 48, "of 1.2's event");
#endif
_Static_assert(offsetof(struct c12_event, data) ==
		       offsetof(DAT_EVENT, event_data),
	       "what an event tells starts at the same place");
_Static_assert(offsetof(struct c12_event, data.dto.status) ==
		       offsetof(DAT_EVENT,
				event_data.dto_completion_event_data.status),
	       "a completion differs in its length only");

static void dto_to_12(const DAT_EVENT *from, struct c12_event *to)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&from->event_data.dto_completion_event_data;

	to->event_number = DAT_DTO_COMPLETION_EVENT;
	to->evd_handle = from->evd_handle;
	to->data.dto.ep_handle = dto->ep_handle;
	to->data.dto.user_cookie = dto->user_cookie;
	to->data.dto.status = dto->status == DAT_DTO_ERR_LOCAL_MM_ERROR
				      ? DAT_DTO_ERR_LOCAL_PROTECTION
				      : dto->status;
	to->data.dto.transfered_length = dto->transfered_length;
}

/* A dapl_evd_give_fn. */
static void event_to_12(const DAT_EVENT *from, void *event)
{
	struct c12_event *to = event;

	if (from->event_number == DAT_DTO_COMPLETION_EVENT ||
	    (DAT_IB_EVENT_NUMBER)from->event_number == DAT_IB_DTO_EVENT) {
		dto_to_12(from, to);
		return;
	}
	to->event_number = from->event_number;
	to->evd_handle = from->evd_handle;
	memcpy(&to->data, &from->event_data, sizeof(to->data));
}

/* ---------------------------------------------------------- dequeue */

__attribute__((noinline)) static DAT_RETURN
dequeue_slow(struct dapl_evd *evd, void *to, int n, const struct ibv_wc *wc)
{
	DAT_EVENT event;
	DAT_RETURN ret = dapl_evd_dequeue_slow(evd, &event, n, wc);

	if (ret == DAT_SUCCESS)
		event_to_12(&event, to);
	return c12_ret(ret);
}

static inline bool dequeue_make(struct dapl_evd *evd, const struct ibv_wc *wc,
				void *to)
{
	DAT_EVENT event;

	if (unlikely(!dapl_evd_cq_fast(evd, wc, &event)))
		return false;
	dto_to_12(&event, to);
	return true;
}

DAT_RETURN c12_evd_dequeue(DAT_EVD_HANDLE handle, struct c12_event *to)
{
	if (unlikely(!dapl_obj_is(handle, DAT_HANDLE_TYPE_EVD) || !to))
		return c12_ret(dapl_evd_bad_dequeue(handle, to));
	return dapl_evd_dequeue_by(handle, to, dequeue_make, dequeue_slow,
				   false);
}

/* ------------------------------------------------------------- wait */

static inline bool wait_make(struct dapl_evd *evd, const struct ibv_wc *wc,
			     void *event)
{
	return dapl_evd_cq_fast(evd, wc, event);
}

/* What ends at once is a plain completion, or a code of both versions. */
DAT_RETURN c12_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, struct c12_event *to,
			DAT_COUNT *nmore)
{
	struct dapl_evd *evd = (struct dapl_evd *)handle;
	struct ibv_wc wc[DAPL_EVD_BATCH];
	enum dapl_wait_way way;
	DAT_EVENT event;
	DAT_RETURN ret;
	int n;

	way = dapl_evd_wait_fast(evd, timeout, threshold, &event, to, wait_make,
				 event_to_12, nmore, wc, &n, &ret, false);
	if (unlikely(way == DAPL_WAIT_ANEW))
		return c12_ret(dapl_evd_wait_careful(handle, timeout, threshold,
						     to, nmore, event_to_12));
	if (unlikely(way == DAPL_WAIT_ON))
		return c12_ret(dapl_evd_wait_slow(evd, wc, n, timeout,
						  threshold, to, nmore,
						  event_to_12));
	if (way == DAPL_WAIT_MADE)
		dto_to_12(&event, to);
	return ret;
}

/* ------------------------------------------ the same, while they count */

static DAT_RETURN counted_dequeue(DAT_EVD_HANDLE handle, struct c12_event *to)
{
	DAT_EVENT event = {0};
	DAT_RETURN ret;

	if (!to)
		return c12_evd_dequeue(handle, to);
	ret = dapl_counted_evd_dequeue(handle, &event);
	if (ret == DAT_SUCCESS)
		event_to_12(&event, to);
	return c12_ret(ret);
}

static DAT_RETURN counted_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
			       DAT_COUNT threshold, struct c12_event *to,
			       DAT_COUNT *nmore)
{
	DAT_EVENT event = {0};
	DAT_RETURN ret;

	if (!to)
		return c12_evd_wait(handle, timeout, threshold, to, nmore);
	ret = dapl_counted_evd_wait(handle, timeout, threshold, &event, nmore);
	if (ret == DAT_SUCCESS)
		event_to_12(&event, to);
	return c12_ret(ret);
}

void c12_event_counted(DAT_PROVIDER *vector)
{
	DAPL_SLOT_SET(vector, evd_dequeue,
		      C12_AS(evd_dequeue, counted_dequeue));
	DAPL_SLOT_SET(vector, evd_wait, C12_AS(evd_wait, counted_wait));
}

/* ---------------------------------------------------------- post_se */

DAT_RETURN c12_evd_post_se(DAT_EVD_HANDLE evd, const struct c12_event *event)
{
	DAT_EVENT event20 = {0};

	if (event) {
		event20.event_number = event->event_number;
		event20.evd_handle = event->evd_handle;
		memcpy(&event20.event_data, &event->data, sizeof(event->data));
	}
	return c12_ret(dapl_evd_post_se(evd, event ? &event20 : NULL));
}
