/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * exchange.c - the bursts of dtestsrq: messages on all connections, there and
 * back.
 *
 * Threads: one. Ownership: see dtestsrq.h.
 * Rule: the client sends a burst, the server takes all of it and answers with
 * as many. What was taken is posted again before anything is sent, so no
 * message meets an empty queue. Messages of an endpoint are numbered from 1
 * and must come in order; between endpoints there is no order.
 * That holds of datagrams too, which nothing repeats.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestsrq/dtestsrq.h"

#include <errno.h>
#include <string.h>

static int post_send(struct dsrq *d, uint32_t index, uint32_t slot)
{
	uint8_t *msg = d->sbuf.base + (size_t)slot * d->size;
	struct dsrq_ep *ep = &d->eps[index];
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (DAT_VADDR)(uintptr_t)msg,
		.segment_length = d->size,
		.lmr_context = d->sbuf.lmr_context,
	};
	DAT_DTO_COOKIE cookie = {.as_64 = slot};
	DAT_RETURN ret;

	dsrq_fill(msg, d->size, d->run.server, index, ++ep->sent);
	if (d->o->ud)
		ret = dat_ib_post_send_ud(ep->ep, 1, &iov, &ep->peer.to, cookie,
					  DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ep_post_send(ep->ep, 1, &iov, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   d->o->ud ? "dat_ib_post_send_ud"
					    : "dat_ep_post_send",
				   NULL);
	return 0;
}

static int send_burst(struct dsrq *d)
{
	uint32_t n = d->o->messages;
	int rc = 0;

	for (uint32_t slot = 0; !rc && slot < d->flow; slot++)
		rc = post_send(d, slot / n, slot);
	return rc;
}

/* Takes a completion that must be good, of so many bytes. */
static int next(struct dsrq *d, DAT_EVD_HANDLE evd, const char *what,
		uint32_t length, DAT_EVENT *event)
{
	const DAT_EVENT_NUMBER number =
		d->o->ud ? (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT
			 : DAT_DTO_COMPLETION_EVENT;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	int rc = -EINTR;

	/* Asked here too: as long as events keep coming, nobody waits. */
	if (!dt_stopped())
		rc = dt_evd_next(&d->run.w, d->run.w.mode, evd, d->run.limit_ns,
				 event);
	if (rc)
		return dt_wait_fail(&d->run.r, &d->run.w, rc, what);
	if (event->event_number != number)
		return dt_fail(&d->run.r, DT_FAILED, "%s: got %s (0x%x)", what,
			       dt_event_name(event->event_number),
			       event->event_number);
	if (dto->status != DAT_DTO_SUCCESS)
		return dt_fail(&d->run.r, DT_FAILED, "%s: completed with %s%s",
			       what, dt_dto_status_name(dto->status),
			       dto->status == DAT_DTO_ERR_FLUSHED
				       ? "; the connection ended first"
				       : "");
	if (dto->transfered_length != length)
		return dt_fail(&d->run.r, DT_FAILED,
			       "%s: %u bytes, expected %u; same -b on both "
			       "sides?",
			       what, dto->transfered_length, length);
	return 0;
}

static int reap_sends(struct dsrq *d)
{
	DAT_EVENT event;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < d->flow; i++)
		rc = next(d, d->req_evd, "a send", d->size, &event);
	return rc;
}

static const uint8_t *received(const struct dsrq *d, uint64_t slot)
{
	return d->rbuf.base + slot * (d->grh + d->size) + d->grh;
}

/* Number of the connection that a message belongs to, or -1. */
static int sender_of(struct dsrq *d, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	uint32_t number;

	if (!dsrq_shares_ep(d))
		return dsrq_index(d, dto->ep_handle);
	number = dsrq_sender(received(d, dto->user_cookie.as_64));
	return number < d->o->count ? (int)number : -1;
}

static int check_message(struct dsrq *d,
			 const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	uint64_t slot = dto->user_cookie.as_64;
	int index = slot < d->slots ? sender_of(d, dto) : -1;
	struct dsrq_fault fault;
	struct dsrq_ep *ep;

	if (index < 0)
		return dt_fail(&d->run.r, DT_FAILED,
			       "a receive of slot %llu and endpoint %d, which "
			       "is not there",
			       (unsigned long long)slot, index);
	ep = &d->eps[index];
	fault = dsrq_check(received(d, slot), d->size, !d->run.server,
			   (uint32_t)index, ++ep->received);
	d->taken[d->taken_count++] = (uint32_t)slot;
	if (!fault.what[0])
		return 0;
	return dt_fail(&d->run.r, DT_FAILED,
		       "message %u of endpoint %d: %s is 0x%x, wanted 0x%x",
		       ep->received, index, fault.what, fault.got, fault.want);
}

static int receive_burst(struct dsrq *d)
{
	DAT_EVENT event;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < d->flow; i++) {
		rc = next(d, d->rcv_evd, "a message of the peer",
			  d->grh + d->size, &event);
		if (!rc)
			rc = check_message(
				d, &event.event_data.dto_completion_event_data);
	}
	return rc;
}

/* What follows the receives of the first burst, and only of that. */
static int after_first(struct dsrq *d)
{
	int rc = dsrq_check_low_water(d);

	if (!rc)
		rc = dsrq_refill(d);
	if (!rc)
		rc = dsrq_resize(d);
	return rc;
}

/* The client leaves on the last answer; that it did is no surprise then. */
static void expect_end(struct dsrq *d, bool last)
{
	d->run.w.conn_evd = last && d->run.server ? DAT_HANDLE_NULL : d->cm_evd;
}

static int one_burst(struct dsrq *d, uint32_t index)
{
	uint64_t start = dt_now_ns();
	int rc = 0;

	if (!d->run.server)
		rc = send_burst(d);
	if (!rc)
		rc = receive_burst(d);
	if (!rc)
		rc = index ? dsrq_refill(d) : after_first(d);
	expect_end(d, index + 1 == d->o->bursts);
	if (!rc && d->run.server)
		rc = send_burst(d);
	if (!rc)
		rc = reap_sends(d);
	dt_samples_add(&d->bursts, dt_now_ns() - start);
	return rc;
}

/* Bursts there and back; then each message, of both directions. */
static void report(struct dsrq *d)
{
	uint32_t msgs = 2 * d->flow;
	struct dt_result res;

	if (!d->bursts.count)
		return;
	dt_result_begin(&res, DT_LATENCY, "burst", "send");
	res.bytes = d->size;
	dt_stats_compute(&d->bursts, d->o->warmup, 1, &res.stats);
	res.iterations = res.stats.count;
	if (res.stats.avg_us > 0) {
		res.msg_rate_mpps = msgs / res.stats.avg_us;
		res.bw_avg_mbps = res.msg_rate_mpps * d->size;
	}
	dt_report_result(&d->run.r, &res);
	dt_result_begin(&res, DT_BANDWIDTH, "messages", "send");
	res.bytes = d->size;
	dt_stats_compute(&d->bursts, d->o->warmup, msgs, &res.stats);
	dt_result_rates(&res);
	res.iterations *= msgs;
	dt_report_result(&d->run.r, &res);
}

int dsrq_exchange(struct dsrq *d)
{
	int rc = 0;

	dt_say(&d->run.r,
	       "%d %s, %s, %s: %u connections, %u bursts of %u messages, %u "
	       "bytes each\n",
	       d->run.r.pid, d->o->ud ? "UD" : "RC",
	       d->o->srq ? "SRQ" : "no SRQ", d->run.r.role, d->o->count,
	       d->o->bursts, d->o->messages, d->size);
	expect_end(d, false);
	for (uint32_t i = 0; !rc && i < d->o->bursts; i++) {
		rc = one_burst(d, i);
		dt_progress(&d->run.r, "burst %u of %u", i + 1, d->o->bursts);
	}
	d->run.w.conn_evd = DAT_HANDLE_NULL;
	if (!rc)
		report(d);
	return rc;
}
