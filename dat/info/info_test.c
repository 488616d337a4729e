/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_test.c - does an adapter move data? Two endpoints of one adapter are
 * connected with each other; one writes to the other, sends to it and reads
 * from it, and all bytes are compared.
 *
 * Measures nothing; dtest does.
 * Threads: one. Each wait has a limit, calls that hang have the watchdog.
 * Ownership: zero means "not there"; release() frees whatever was made.
 * Rule: frame and verdict of the test tools, dt_run.h. A message arrives after
 * what was written before it on the same connection.
 */
#include "dat/info/info.h"

#include "test/dtest/common/dt_meet.h"
#include "test/dtest/common/dt_run.h"

#include <string.h>

#define BYTES 8192
#define DEPTH 8

enum {
	ACTIVE,
	PASSIVE,
	ENDS,
};

/* What the cookies say. */
enum op {
	OP_RECV = 1,
	OP_WRITE,
	OP_SEND,
	OP_READ,
};

/* Parts of an end's memory. */
enum part {
	PART_MESSAGE,
	PART_WRITTEN,
	PART_READ,
	PARTS,
};

struct end {
	DAT_EVD_HANDLE dto_evd;
	DAT_EP_HANDLE ep;
	struct dt_region region;
	bool up;
};

struct self {
	struct dt_run run;
	DAT_EVD_HANDLE cm_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct end end[ENDS];
};

static uint8_t *bytes_of(struct self *s, int end, enum part part)
{
	return s->end[end].region.base + (size_t)part * BYTES;
}

static uint8_t pattern(enum part part, size_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) + (size_t)part * 31 + 1);
}

static void fill(struct self *s, int end, enum part part)
{
	uint8_t *p = bytes_of(s, end, part);

	for (size_t i = 0; i < BYTES; i++)
		p[i] = pattern(part, i);
}

static int compare(struct self *s, int end, enum part part, const char *op)
{
	const uint8_t *p = bytes_of(s, end, part);

	for (size_t i = 0; i < BYTES; i++)
		if (p[i] != pattern(part, i))
			return dt_fail(&s->run.r, DT_FAILED,
				       "%s: byte %zu is 0x%02x, not 0x%02x", op,
				       i, p[i], pattern(part, i));
	return 0;
}

static DAT_LMR_TRIPLET local(struct self *s, int end, enum part part)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)bytes_of(s, end, part),
		.segment_length = BYTES,
		.lmr_context = s->end[end].region.lmr_context,
	};
}

static DAT_RMR_TRIPLET remote(struct self *s, int end, enum part part)
{
	return (DAT_RMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)bytes_of(s, end, part),
		.segment_length = BYTES,
		.rmr_context = s->end[end].region.rmr_context,
	};
}

static int posted(struct self *s, DAT_RETURN ret, const char *call)
{
	return ret == DAT_SUCCESS
		       ? 0
		       : dt_dat_fail(&s->run.r, DT_FAILED, ret, call, NULL);
}

static int make_end(struct self *s, struct end *e)
{
	DAT_RETURN ret;
	int rc = dt_run_make_region(&s->run, &e->region, PARTS * BYTES,
				    DAT_MEM_PRIV_ALL_FLAG);

	if (!rc)
		rc = dt_run_make_evd(&s->run, 2 * DEPTH, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG, &e->dto_evd);
	if (rc)
		return rc;
	ret = dat_ep_create(s->run.ia, s->run.pz, e->dto_evd, e->dto_evd,
			    s->cm_evd, NULL, &e->ep);
	if (ret == DAT_SUCCESS)
		return 0;
	e->ep = DAT_HANDLE_NULL;
	return dt_run_failed(&s->run, ret, "dat_ep_create", NULL);
}

static int make(struct self *s)
{
	int rc = dt_run_open(&s->run, DEPTH);
	DAT_RETURN ret;

	if (!rc)
		rc = dt_run_make_evd(&s->run, DEPTH, DAT_HANDLE_NULL,
				     DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
				     &s->cm_evd);
	for (int i = 0; !rc && i < ENDS; i++)
		rc = make_end(s, &s->end[i]);
	if (rc)
		return rc;
	ret = dat_psp_create_any(s->run.ia, &s->qual, s->cm_evd,
				 DAT_PSP_CONSUMER_FLAG, &s->psp);
	if (ret == DAT_SUCCESS)
		return 0;
	s->psp = DAT_HANDLE_NULL;
	return dt_run_failed(&s->run, ret, "dat_psp_create_any", NULL);
}

static int on_cm_event(struct self *s, const DAT_EVENT *event)
{
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;

	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		return posted(
			s,
			dat_cr_accept(event->event_data.cr_arrival_event_data
					      .cr_handle,
				      s->end[PASSIVE].ep, 0, NULL),
			"dat_cr_accept");
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		s->end[ep == s->end[ACTIVE].ep ? ACTIVE : PASSIVE].up = true;
		return 0;
	default:
		return dt_not_connected(&s->run.r, event->event_number);
	}
}

static int connect_ends(struct self *s)
{
	DAT_LMR_TRIPLET seg = local(s, PASSIVE, PART_MESSAGE);
	DAT_EVENT event;
	int rc = posted(s,
			dat_ep_post_recv(s->end[PASSIVE].ep, 1, &seg,
					 (DAT_DTO_COOKIE){.as_64 = OP_RECV},
					 DAT_COMPLETION_DEFAULT_FLAG),
			"dat_ep_post_recv");

	if (!rc)
		rc = posted(
			s,
			dat_ep_connect(
				s->end[ACTIVE].ep,
				(DAT_IA_ADDRESS_PTR)&s->run.local, s->qual,
				(DAT_TIMEOUT)(s->run.limit_ns / DT_NS_PER_US),
				0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG),
			"dat_ep_connect");
	while (!rc && !(s->end[ACTIVE].up && s->end[PASSIVE].up)) {
		rc = dt_evd_next(&s->run.w, DT_WAIT_EVENT, s->cm_evd,
				 s->run.limit_ns, &event);
		if (rc)
			rc = dt_wait_fail(&s->run.r, &s->run.w, rc,
					  "the connection with itself");
		else
			rc = on_cm_event(s, &event);
	}
	return rc;
}

static int completed(struct self *s, int end, enum op op, const char *what)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	int rc = dt_evd_next(&s->run.w, DT_WAIT_EVENT, s->end[end].dto_evd,
			     s->run.limit_ns, &event);

	if (rc)
		return dt_wait_fail(&s->run.r, &s->run.w, rc, what);
	dto = &event.event_data.dto_completion_event_data;
	if (event.event_number != DAT_DTO_COMPLETION_EVENT ||
	    dto->user_cookie.as_64 != op)
		return dt_fail(&s->run.r, DT_FAILED, "%s: got %s instead", what,
			       dt_event_name(event.event_number));
	if (dto->status != DAT_DTO_SUCCESS)
		return dt_fail(&s->run.r, DT_FAILED, "%s: %s", what,
			       dt_dto_status_name(dto->status));
	if (dto->transfered_length != BYTES && op != OP_WRITE && op != OP_SEND)
		return dt_fail(&s->run.r, DT_FAILED, "%s: %llu bytes, not %d",
			       what, (unsigned long long)dto->transfered_length,
			       BYTES);
	return 0;
}

static int done(struct self *s, int rc, const char *op)
{
	struct dt_result res;

	if (rc)
		return rc;
	dt_result_begin(&res, DT_NO_FIGURES, "loopback", op);
	res.bytes = BYTES;
	res.iterations = 1;
	dt_report_result(&s->run.r, &res);
	dt_line(&s->run.r, "ok    %s: %d bytes are right\n", op, BYTES);
	return 0;
}

static int write_data(struct self *s)
{
	DAT_LMR_TRIPLET from = local(s, ACTIVE, PART_WRITTEN);
	DAT_RMR_TRIPLET to = remote(s, PASSIVE, PART_WRITTEN);
	int rc;

	fill(s, ACTIVE, PART_WRITTEN);
	rc = posted(s,
		    dat_ep_post_rdma_write(s->end[ACTIVE].ep, 1, &from,
					   (DAT_DTO_COOKIE){.as_64 = OP_WRITE},
					   &to, DAT_COMPLETION_DEFAULT_FLAG),
		    "dat_ep_post_rdma_write");
	return rc ? rc : completed(s, ACTIVE, OP_WRITE, "RDMA write");
}

/* With its arrival the write before it has arrived. */
static int send_data(struct self *s)
{
	DAT_LMR_TRIPLET from = local(s, ACTIVE, PART_MESSAGE);
	int rc;

	fill(s, ACTIVE, PART_MESSAGE);
	rc = posted(s,
		    dat_ep_post_send(s->end[ACTIVE].ep, 1, &from,
				     (DAT_DTO_COOKIE){.as_64 = OP_SEND},
				     DAT_COMPLETION_DEFAULT_FLAG),
		    "dat_ep_post_send");
	if (!rc)
		rc = completed(s, ACTIVE, OP_SEND, "send");
	if (!rc)
		rc = completed(s, PASSIVE, OP_RECV, "receive");
	if (!rc)
		rc = compare(s, PASSIVE, PART_WRITTEN, "RDMA write");
	rc = done(s, rc, "RDMA write");
	if (!rc)
		rc = compare(s, PASSIVE, PART_MESSAGE, "send");
	return done(s, rc, "send");
}

static int read_data(struct self *s)
{
	DAT_LMR_TRIPLET to = local(s, ACTIVE, PART_READ);
	DAT_RMR_TRIPLET from = remote(s, PASSIVE, PART_READ);
	int rc;

	fill(s, PASSIVE, PART_READ);
	rc = posted(s,
		    dat_ep_post_rdma_read(s->end[ACTIVE].ep, 1, &to,
					  (DAT_DTO_COOKIE){.as_64 = OP_READ},
					  &from, DAT_COMPLETION_DEFAULT_FLAG),
		    "dat_ep_post_rdma_read");
	if (!rc)
		rc = completed(s, ACTIVE, OP_READ, "RDMA read");
	if (!rc)
		rc = compare(s, ACTIVE, PART_READ, "RDMA read");
	return done(s, rc, "RDMA read");
}

static int release(struct self *s, int rc)
{
	if (s->psp != DAT_HANDLE_NULL)
		rc = dt_run_freed(&s->run, rc, dat_psp_free(s->psp),
				  "dat_psp_free");
	for (int i = 0; i < ENDS; i++) {
		struct end *e = &s->end[i];

		if (e->up)
			dat_ep_disconnect(e->ep, DAT_CLOSE_ABRUPT_FLAG);
		if (e->ep != DAT_HANDLE_NULL)
			rc = dt_run_freed(&s->run, rc, dat_ep_free(e->ep),
					  "dat_ep_free");
		rc = dt_run_free_evd(&s->run, &e->dto_evd, rc);
		rc = dt_run_free_region(&s->run, &e->region, rc);
	}
	rc = dt_run_free_evd(&s->run, &s->cm_evd, rc);
	return dt_run_close(&s->run, rc);
}

int info_test(const struct info_opts *opts)
{
	struct dt_run_opts o;
	struct self s;
	int rc;

	dt_run_defaults(&o, opts->test);
	o.provider_given = true;
	o.timeout_s = opts->timeout_s;
	o.json_path = opts->json ? "" : NULL;
	o.remedy = "dat_info --why goes step by step";
	memset(&s, 0, sizeof(s));
	rc = dt_run_begin(&s.run, "dat_info", &o);
	if (rc)
		return rc;
	dt_report_role(&s.run.r, "loopback");
	s.run.r.name = opts->test;
	rc = make(&s);
	if (!rc)
		rc = connect_ends(&s);
	if (!rc)
		rc = write_data(&s);
	if (!rc)
		rc = send_data(&s);
	if (!rc)
		rc = read_data(&s);
	return dt_run_end(&s.run, release(&s, rc));
}
