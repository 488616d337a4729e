/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c12_event.c - events: 48 bytes where 2.0 has 120.
 *
 * All numbers of 1.2 are the same in 2.0. Of those that came later the core
 * sends a 1.2 program only one, for a receive with immediate data that a 2.0
 * peer sent: the others are answers to calls that 1.2 has not. Such a receive
 * is a completion like others; its number is not to be had.
 */
#include <dat2/dat_ib_extensions.h>
#include <string.h>

#include "dapl/common/event/dapl_evd.h"
#include "dapl/compat12/c12.h"

_Static_assert(sizeof(struct c12_event) == 48, "of 1.2's event");
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

static void event_to_12(const DAT_EVENT *from, struct c12_event *to)
{
	if (from->event_number == DAT_DTO_COMPLETION_EVENT ||
	    (DAT_IB_EVENT_NUMBER)from->event_number == DAT_IB_DTO_EVENT) {
		dto_to_12(from, to);
		return;
	}
	to->event_number = from->event_number;
	to->evd_handle = from->evd_handle;
	memcpy(&to->data, &from->event_data, sizeof(to->data));
}

DAT_RETURN c12_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, struct c12_event *event,
			DAT_COUNT *nmore)
{
	DAT_EVENT event20;
	DAT_RETURN ret;

	if (!event)
		return c12_ret(
			dapl_evd_wait(evd, timeout, threshold, NULL, nmore));
	ret = dapl_evd_wait(evd, timeout, threshold, &event20, nmore);
	if (ret == DAT_SUCCESS)
		event_to_12(&event20, event);
	return c12_ret(ret);
}

DAT_RETURN c12_evd_dequeue(DAT_EVD_HANDLE evd, struct c12_event *event)
{
	DAT_EVENT event20;
	DAT_RETURN ret;

	if (!event)
		return c12_ret(dapl_evd_dequeue(evd, NULL));
	ret = dapl_evd_dequeue(evd, &event20);
	if (ret == DAT_SUCCESS)
		event_to_12(&event20, event);
	return c12_ret(ret);
}

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
