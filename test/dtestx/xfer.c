/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * xfer.c - posts of dtestx, completions, and how its two sides keep in step.
 *
 * Does not know what is tested. Threads: one.
 * Ownership: buffers and handles are those of struct dx.
 * Rule: receives come in the order they were posted in, so each has the cookie
 * that is due, or something is wrong.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestx/dtestx.h"

#include <dat2/dat_ib_extensions.h>
#include <inttypes.h>

/* Sends report nothing; this would show in a trace of one that failed. */
#define SEND_COOKIE 0xaaaa

DAT_LMR_TRIPLET dx_segment(const struct dx *d, unsigned int buffer,
			   uint32_t length)
{
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (DAT_VADDR)(uintptr_t)dx_buffer(d, buffer),
		.segment_length = length,
		.lmr_context = d->buffers.lmr_context,
	};

	return iov;
}

int dx_post_recv(struct dx *d, unsigned int buffer)
{
	DAT_LMR_TRIPLET iov = dx_segment(d, buffer, d->o->size);
	DAT_DTO_COOKIE cookie = {.as_64 = buffer};
	DAT_RETURN ret;

	ret = dat_ep_post_recv(d->ep, 1, &iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ep_post_recv", NULL);
	return 0;
}

int dx_send_message(struct dx *d)
{
	DAT_LMR_TRIPLET iov = dx_segment(d, DX_MESSAGE, DX_RMR);
	DAT_DTO_COOKIE cookie = {.as_64 = SEND_COOKIE};
	DAT_RETURN ret;

	ret = dat_ep_post_send(d->ep, 1, &iov, cookie,
			       DAT_COMPLETION_SUPPRESS_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ep_post_send", NULL);
	return 0;
}

static int next(struct dx *d, const char *what, DAT_EVENT *ret_event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ret_event->event_data.dto_completion_event_data;
	int rc = dt_evd_next(&d->run.w, DT_WAIT_EVENT, d->dto_evd,
			     d->run.limit_ns, ret_event);

	if (rc)
		return dt_wait_fail(&d->run.r, &d->run.w, rc, what);
	/* Where that is, extensions have it too. */
	if (dto->status != DAT_DTO_SUCCESS)
		return dt_fail(&d->run.r, DT_FAILED, "%s: completed with %s%s",
			       what, dt_dto_status_name(dto->status),
			       dto->status == DAT_DTO_ERR_FLUSHED
				       ? "; the connection ended first"
				       : "");
	dt_trace(&d->run.r,
		 "%d: %s: event 0x%x, cookie 0x%" PRIx64 ", %" PRIu64
		 " bytes\n",
		 d->run.r.pid, what, ret_event->event_number,
		 dto->user_cookie.as_64, (uint64_t)dto->transfered_length);
	return 0;
}

static int take_message(struct dx *d, const char *what, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT ||
	    dto->user_cookie.as_64 != d->received ||
	    dto->transfered_length != DX_RMR || d->early)
		return dt_fail(
			&d->run.r, DT_FAILED,
			"%s: event 0x%x, cookie 0x%" PRIx64 ", %" PRIu64
			" bytes; expected a message of %u, cookie 0x%x",
			what, event->event_number, dto->user_cookie.as_64,
			(uint64_t)dto->transfered_length, DX_RMR, d->received);
	d->early = d->received++;
	return 0;
}

int dx_wait_message(struct dx *d, const char *what, const uint8_t **ret_msg)
{
	DAT_EVENT event;
	int rc = 0;

	if (!d->early) {
		rc = next(d, what, &event);
		if (!rc)
			rc = take_message(d, what, &event);
	}
	if (rc)
		return rc;
	*ret_msg = dx_buffer(d, d->early);
	d->early = 0;
	return 0;
}

/* The peer may be done, and say so, before this side's own is. */
int dx_next_ext(struct dx *d, const char *what, DAT_EVENT *ret_event)
{
	const DAT_IB_EXTENSION_EVENT_DATA *ext =
		(const void *)ret_event->event_extension_data;
	int rc;

	do {
		rc = next(d, what, ret_event);
		if (rc || ret_event->event_number ==
				  (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
			break;
		rc = take_message(d, what, ret_event);
	} while (!rc);
	if (!rc && ext->status != DAT_OP_SUCCESS)
		rc = dt_fail(&d->run.r, DT_FAILED,
			     "%s: extension type %d with status %d", what,
			     ext->type, ext->status);
	return rc;
}

int dx_in_step(struct dx *d, const char *what)
{
	const uint8_t *msg;
	int rc = dx_send_message(d);

	return rc ? rc : dx_wait_message(d, what, &msg);
}
