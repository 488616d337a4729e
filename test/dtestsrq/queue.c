/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * queue.c - the receives of dtestsrq, and what only a shared queue can do.
 *
 * Threads: one. Ownership: see dtestsrq.h.
 * Rule: without SRQ, endpoint n owns the slots from n * messages on. What a
 * provider cannot do is SKIPPED with the reason, unless it was demanded.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestsrq/dtestsrq.h"

#include <errno.h>
#include <string.h>

/* Within it an event of a local queue comes, if it comes at all. */
#define ASYNC_NS DT_NS_PER_S

int dsrq_post_recv(struct dsrq *d, uint32_t slot)
{
	DAT_LMR_TRIPLET iov = {
		.virtual_address =
			(DAT_VADDR)(uintptr_t)(d->rbuf.base +
					       (size_t)slot *
						       (d->grh + d->size)),
		.segment_length = d->grh + d->size,
		.lmr_context = d->rbuf.lmr_context,
	};
	DAT_DTO_COOKIE cookie = {.as_64 = slot};
	DAT_RETURN ret;

	if (d->o->srq)
		ret = dat_srq_post_recv(d->srq, 1, &iov, cookie);
	else
		ret = dat_ep_post_recv(d->eps[slot / d->o->messages].ep, 1,
				       &iov, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   d->o->srq ? "dat_srq_post_recv"
					     : "dat_ep_post_recv",
				   NULL);
	return 0;
}

int dsrq_refill(struct dsrq *d)
{
	int rc = 0;

	while (!rc && d->taken_count)
		rc = dsrq_post_recv(d, d->taken[--d->taken_count]);
	return rc;
}

static void report_done(struct dsrq *d, const char *test)
{
	struct dt_result res;

	dt_result_begin(&res, DT_NO_FIGURES, test, "srq");
	dt_report_result(&d->run.r, &res);
}

static bool cannot(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_NOT_IMPLEMENTED ||
	       DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED;
}

static int async_next(struct dsrq *d, uint64_t limit_ns, DAT_EVENT *event)
{
	return dt_evd_next(&d->run.w, DT_WAIT_EVENT, d->run.async_evd, limit_ns,
			   event);
}

int dsrq_arm_low_water(struct dsrq *d)
{
	DAT_RETURN ret;

	if (!d->o->low_water)
		return 0;
	ret = dat_srq_set_lw(d->srq, (DAT_COUNT)d->o->low_water);
	if (ret == DAT_SUCCESS)
		return 0;
	return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_srq_set_lw",
			   cannot(ret) ? "leave --lowwater out" : NULL);
}

int dsrq_check_low_water(struct dsrq *d)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event;
	int rc;

	if (!d->o->low_water)
		return 0;
	rc = async_next(d, d->run.limit_ns, &event);
	if (rc)
		return dt_wait_fail(&d->run.r, &d->run.w, rc,
				    "the event of --lowwater");
	data = &event.event_data.asynch_error_event_data;
	if (data->dat_handle != (DAT_HANDLE)d->srq ||
	    data->reason != DAT_SRQ_LOW_WATERMARK_EVENT)
		return dt_fail(&d->run.r, DT_FAILED,
			       "waiting for the event of --lowwater: got %s "
			       "with reason %d",
			       dt_event_name(event.event_number), data->reason);
	dt_say(&d->run.r, "%d Fewer than %u receives left: event came\n",
	       d->run.r.pid, d->o->low_water);
	report_done(d, "low_watermark");
	return 0;
}

/* The new room is used at once: a queue that did not grow refuses. */
int dsrq_resize(struct dsrq *d)
{
	DAT_RETURN ret;
	int rc = 0;

	if (!d->o->resize)
		return 0;
	ret = dat_srq_resize(d->srq, (DAT_COUNT)d->o->resize);
	if (cannot(ret)) {
		dt_report_skipped(&d->run.r, "resize", "srq",
				  "the provider cannot resize a queue");
		return 0;
	}
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret, "dat_srq_resize",
				   "the device may not be able to; leave "
				   "--resize out");
	for (uint32_t i = d->flow; !rc && i < d->slots; i++)
		rc = dsrq_post_recv(d, i);
	if (rc)
		return rc;
	dt_say(&d->run.r, "%d The queue holds %u receives now\n", d->run.r.pid,
	       d->slots);
	report_done(d, "resize");
	return 0;
}

/* Counts the endpoints that told so, until one does not in time. */
static uint32_t count_last(struct dsrq *d)
{
	uint32_t seen = 0;
	DAT_EVENT event;

	while (seen < d->o->count && !async_next(d, ASYNC_NS, &event)) {
		int index = dsrq_index(
			d, event.event_data.asynch_error_event_data.dat_handle);

		if (event.event_number != DAT_ASYNC_ERROR_EP_BROKEN ||
		    index < 0 || d->eps[index].last_seen)
			continue;
		d->eps[index].last_seen = true;
		seen++;
	}
	return seen;
}

int dsrq_check_last(struct dsrq *d)
{
	uint32_t seen, n = d->o->count;

	if (!d->o->srq || d->o->ud || d->o->last == DSRQ_LAST_NONE)
		return 0;
	seen = count_last(d);
	if (dt_stopped())
		return dt_wait_fail(&d->run.r, &d->run.w, -EINTR,
				    "the events of the last receives");
	if (seen == n) {
		dt_say(&d->run.r, "%d Last receive: %u events came\n",
		       d->run.r.pid, n);
		report_done(d, "last_receive");
		return 0;
	}
	if (d->o->last == DSRQ_LAST_NEED)
		return dt_fail(&d->run.r, DT_FAILED,
			       "%u of %u endpoints told that they take no "
			       "more receives; the device may not report it",
			       seen, n);
	dt_report_skipped(&d->run.r, "last_receive", "srq",
			  "%u of %u endpoints told that they take no more "
			  "receives",
			  seen, n);
	return 0;
}
