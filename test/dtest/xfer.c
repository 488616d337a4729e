/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * xfer.c - posts of dtest, their completions, and the tokens between phases.
 *
 * Does not know the order of the phases. Each function reports what fails.
 * Threads: one. Ownership: buffers and handles are those of struct dtest.
 * Rule: a completion counts only if it is the one that was expected: event,
 * status, cookie and length are all compared.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtest/dtest.h"

#include <errno.h>
#include <inttypes.h>

/* The cookie of sends in the historic tool; eases reading of traces. */
#define SEND_COOKIE 0xaaaa
/* Bytes per second that even an emulated device moves. */
#define SLOW_RATE 10000000ull

uint64_t dtest_bulk_limit(const struct dtest *d, uint64_t bytes)
{
	/* A limit that was asked for is kept to the letter. */
	if (d->run.o->timeout_given)
		return d->run.limit_ns;
	return d->run.limit_ns + bytes / SLOW_RATE * DT_NS_PER_S;
}

int dtest_next(struct dtest *d, DAT_EVD_HANDLE evd, uint64_t limit_ns,
	       const char *what, DAT_EVENT *event)
{
	int rc = -EINTR;

	/* Asked here too: as long as events keep coming, nobody waits. */
	if (!dt_stopped())
		rc = dt_evd_next(&d->run.w, d->run.w.mode, evd, limit_ns,
				 event);
	return rc ? dt_wait_fail(&d->run.r, &d->run.w, rc, what) : 0;
}

int dtest_check_dto(struct dtest *d, const DAT_EVENT *event, uint64_t cookie,
		    uint64_t length, const char *what)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;

	if (dto->status != DAT_DTO_SUCCESS)
		return dt_fail(&d->run.r, DT_FAILED, "%s: completed with %s%s",
			       what, dt_dto_status_name(dto->status),
			       dto->status == DAT_DTO_ERR_FLUSHED
				       ? "; the connection ended first"
				       : "");
	if (dto->user_cookie.as_64 != cookie)
		return dt_fail(&d->run.r, DT_FAILED,
			       "%s: cookie %" PRIu64 ", expected %" PRIu64,
			       what, dto->user_cookie.as_64, cookie);
	if (dto->transfered_length != length)
		return dt_fail(&d->run.r, DT_FAILED,
			       "%s: %" PRIu64 " bytes, expected %" PRIu64, what,
			       (uint64_t)dto->transfered_length, length);
	dt_trace(&d->run.r,
		 "%d: %s: completed, cookie %" PRIu64 ", %" PRIu64 " bytes\n",
		 d->run.r.pid, what, cookie, length);
	return 0;
}

int dtest_complete(struct dtest *d, DAT_EVD_HANDLE evd, uint64_t limit_ns,
		   uint64_t cookie, uint64_t length, const char *what)
{
	DAT_EVENT event;
	int rc = dtest_next(d, evd, limit_ns, what, &event);

	if (rc)
		return rc;
	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		return dt_fail(&d->run.r, DT_FAILED, "%s: got %s (0x%x)", what,
			       dt_event_name(event.event_number),
			       event.event_number);
	return dtest_check_dto(d, &event, cookie, length, what);
}

DAT_LMR_TRIPLET dtest_segment(const struct dt_region *reg, size_t offset,
			      uint32_t length)
{
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (DAT_VADDR)(uintptr_t)(reg->base + offset),
		.segment_length = length,
		.lmr_context = reg->lmr_context,
	};

	return iov;
}

DAT_COMPLETION_FLAGS dtest_flags(bool signalled)
{
	return signalled ? DAT_COMPLETION_DEFAULT_FLAG
			 : DAT_COMPLETION_SUPPRESS_FLAG;
}

int dtest_post_recv(struct dtest *d, struct dt_region *reg, size_t offset,
		    uint32_t length, uint64_t cookie)
{
	DAT_LMR_TRIPLET iov = dtest_segment(reg, offset, length);
	DAT_DTO_COOKIE c = {.as_64 = cookie};
	DAT_RETURN ret;

	ret = dat_ep_post_recv(d->ep, 1, &iov, c, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ep_post_recv", NULL);
	return 0;
}

static int post_send(struct dtest *d, struct dt_region *reg, uint32_t length,
		     uint64_t cookie, bool signalled)
{
	DAT_LMR_TRIPLET iov = dtest_segment(reg, 0, length);
	DAT_DTO_COOKIE c = {.as_64 = cookie};
	DAT_RETURN ret;

	ret = dat_ep_post_send(d->ep, 1, &iov, c, dtest_flags(signalled));
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ep_post_send", NULL);
	return 0;
}

int dtest_post_message(struct dtest *d, uint32_t length, uint64_t cookie,
		       bool signalled)
{
	return post_send(d, &d->sbuf, length, cookie, signalled);
}

int dtest_post_send(struct dtest *d, struct dt_region *reg, uint32_t length,
		    bool signalled)
{
	int rc = post_send(d, reg, length, SEND_COOKIE, signalled);

	if (rc || !signalled)
		return rc;
	return dtest_complete(d, d->req_evd, d->run.limit_ns, SEND_COOKIE,
			      length, "send");
}

int dtest_post_write(struct dtest *d, uint32_t length, uint64_t cookie,
		     bool signalled)
{
	DAT_LMR_TRIPLET iov = dtest_segment(&d->sbuf, 0, length);
	DAT_RMR_TRIPLET to = d->peer;
	DAT_DTO_COOKIE c = {.as_64 = cookie};
	DAT_RETURN ret;

	to.segment_length = length;
	ret = dat_ep_post_rdma_write(d->ep, 1, &iov, c, &to,
				     dtest_flags(signalled));
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ep_post_rdma_write", NULL);
	return 0;
}

int dtest_post_read(struct dtest *d, uint32_t length, uint64_t cookie,
		    bool signalled)
{
	DAT_LMR_TRIPLET iov = dtest_segment(&d->sbuf, 0, length);
	DAT_RMR_TRIPLET from = d->peer;
	DAT_DTO_COOKIE c = {.as_64 = cookie};
	DAT_RETURN ret;

	from.segment_length = length;
	ret = dat_ep_post_rdma_read(d->ep, 1, &iov, c, &from,
				    dtest_flags(signalled));
	if (ret != DAT_SUCCESS)
		return dt_dat_fail(&d->run.r, DT_FAILED, ret,
				   "dat_ep_post_rdma_read", NULL);
	return 0;
}

/* A token is the RMR message once more; only its arrival means something. */
int dtest_send_token(struct dtest *d, bool signalled)
{
	return dtest_post_send(d, &d->smsg, DTEST_MSG, signalled);
}

int dtest_wait_token(struct dtest *d, uint64_t limit_ns, const char *what)
{
	int rc = dtest_complete(d, d->rcv_evd, limit_ns, d->token, DTEST_MSG,
				what);

	if (!rc)
		d->token++;
	return rc;
}
