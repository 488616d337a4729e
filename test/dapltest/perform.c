/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * perform.c - the performance test: RDMA of the client, timed.
 *
 * Does not print. Threads, ownership: see perform.h.
 * Rule: all operations of a phase use the same buffers. So between two of
 * ours what arrived is checked at the end of a phase, with other data in each
 * phase: a read's by its sink, a write's by reading it back. One by one reads
 * are checked each, outside of the measured time.
 */
#include "test/dapltest/perform.h"

#include "test/dapltest/pattern.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SAMPLES_MAX 10000000u
#define STEP	    256 /* between the places in the control memory */
#define RECEIVES    2
#define REQUESTS    4
#define OP_OVERHEAD 10000u /* bytes that an operation's cost amounts to */

enum place {
	PLACE_IN,
	PLACE_OUT,
	PLACE_COPY,
};

/* Cookies of anything but the operations, which are counted from 0. */
#define COOKIE_CONTROL (1ull << 40)

enum phase {
	PHASE_THROUGHPUT,
	PHASE_LATENCY,
};

bool dpt_perf_fits(const struct dpt *d, const struct dpt_performance *cmd,
		   char *why, size_t why_size)
{
	return dpt_op_fits(d, &cmd->op, why, why_size);
}

static uint32_t smaller(uint32_t a, DAT_COUNT limit)
{
	return limit > 0 && a > (uint32_t)limit ? (uint32_t)limit : a;
}

static uint32_t pipeline_of(const struct dpt_perf *p)
{
	const DAT_IA_ATTR *attr = &p->d->attr;
	uint32_t n = p->cmd.iterations;

	if (p->server)
		return 1;
	if (n > p->cmd.pipeline)
		n = p->cmd.pipeline;
	n = smaller(n, attr->max_dto_per_ep - REQUESTS);
	n = smaller(n, attr->max_evd_qlen - REQUESTS);
	if (p->cmd.op.type == DPT_OP_READ)
		n = smaller(n, attr->max_rdma_read_per_ep_out);
	return n;
}

static struct dpt_layout layout(const struct dpt_perf *p)
{
	const struct dpt_op *op = &p->cmd.op;
	struct dpt_layout at = {p->mem.base, op->seg_size, dpt_stride(op),
				op->segs};

	/* The server's side of RDMA is one piece. */
	if (p->server)
		at = (struct dpt_layout){p->mem.base, dpt_op_bytes(op), 0, 1};
	return at;
}

static struct dpt_pattern pattern(enum phase phase)
{
	return dpt_pattern_own(0, 0, 0, (uint32_t)phase);
}

static int post_control(struct dpt_perf *p)
{
	DAT_LMR_TRIPLET iov =
		dpt_segment(&p->control, PLACE_IN * STEP, DPT_PERF_SIZE);

	return dpt_end_post_recv(p->d, &p->end, &iov, 1, COOKIE_CONTROL);
}

static int make_samples(struct dpt_perf *p)
{
	size_t room = smaller(p->cmd.iterations, SAMPLES_MAX);

	return dt_samples_init(&p->latency, room) ||
	       dt_samples_init(&p->each, room) ||
	       dt_window_init(&p->window, p->pipeline);
}

int dpt_perf_open(struct dpt_perf *p)
{
	const struct dpt_op *op = &p->cmd.op;
	uint64_t bytes = dpt_op_bytes(op);
	struct dpt_end_needs needs = {
		.name = "the data connection",
		.receives = RECEIVES,
		.segs = op->segs,
		.bytes = (uint32_t)bytes,
		.mode = p->cmd.poll && !p->server ? DT_WAIT_POLL
						  : DT_WAIT_EVENT,
		.bulk = 2 * (bytes + OP_OVERHEAD) * p->cmd.iterations,
	};
	int rc;

	p->pipeline = pipeline_of(p);
	needs.requests = p->pipeline + REQUESTS;
	if (needs.bytes < DPT_PERF_SIZE)
		needs.bytes = DPT_PERF_SIZE;
	if (!p->server && make_samples(p))
		return dt_fail(&p->d->r, DT_ENVIRONMENT, "no memory");
	rc = dpt_pz_make(p->d, &p->pz);
	if (!rc)
		rc = dpt_region_make(p->d, p->pz, dpt_stride(op) * op->segs,
				     &p->mem);
	if (!rc)
		rc = dpt_region_make(p->d, p->pz,
				     PLACE_COPY * STEP +
					     (p->server ? STEP : bytes),
				     &p->control);
	if (!rc)
		rc = dpt_end_open(p->d, p->pz, &needs, &p->end);
	if (!rc)
		rc = post_control(p);
	return rc || !p->start ? rc : post_control(p);
}

int dpt_perf_close(struct dpt_perf *p, int rc)
{
	if (p->rmr != DAT_HANDLE_NULL)
		rc = dpt_freed(p->d, rc, dat_rmr_free(p->rmr), "dat_rmr_free");
	rc = dpt_end_close(p->d, &p->end, rc);
	rc = dpt_region_free(p->d, &p->mem, rc);
	rc = dpt_region_free(p->d, &p->control, rc);
	rc = dpt_pz_free(p->d, &p->pz, rc);
	dt_samples_fini(&p->latency);
	dt_samples_fini(&p->each);
	dt_window_fini(&p->window);
	return rc;
}

static int take_control(struct dpt_perf *p, const char *what)
{
	return dpt_end_reap(p->d, &p->end, p->end.rcv_evd, COOKIE_CONTROL,
			    DPT_PERF_SIZE, what);
}

/* Server: the buffer that the client works on. */
static int send_address(struct dpt_perf *p)
{
	struct dpt_layout at = layout(p);
	struct dpt_pattern data = pattern(PHASE_THROUGHPUT);

	DAT_RMR_CONTEXT context = p->mem.rmr_context;

	if (p->check)
		dpt_fill(&at, &data);
	if (p->use_rmr && dpt_rmr_works(p->d, p->pz)) {
		int rc = dpt_end_bind(p->d, &p->end, p->pz, &p->mem,
				      DAT_MEM_PRIV_REMOTE_READ_FLAG |
					      DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				      &p->rmr, &context);
		if (rc)
			return rc;
	}
	dpt_put_address(p->control.base + PLACE_OUT * STEP, context,
			(uintptr_t)p->mem.base);
	return dpt_end_send(p->d, &p->end, &p->control, PLACE_OUT * STEP,
			    DPT_PERF_SIZE, COOKIE_CONTROL, "the address");
}

int dpt_perf_serve(struct dpt_perf *p)
{
	int rc = dpt_end_accept(p->d, &p->end, NULL, 0);

	if (!rc && p->start)
		rc = take_control(p, "the client's start mark");
	if (!rc)
		rc = send_address(p);
	if (!rc)
		rc = take_control(p, "the client's end mark");
	if (!rc)
		rc = dpt_end_part(p->d, &p->end, DAT_CLOSE_ABRUPT_FLAG, true);
	return rc;
}

static int take_address(struct dpt_perf *p)
{
	int rc = take_control(p, "the server's address");

	if (rc)
		return rc;
	memset(&p->remote, 0, sizeof(p->remote));
	dpt_get_address(p->control.base + PLACE_IN * STEP,
			&p->remote.rmr_context, &p->remote.face_remote_address);
	p->remote.segment_length = dpt_op_bytes(&p->cmd.op);
	if (!p->remote.face_remote_address)
		return dt_fail(&p->d->r, DT_MISMATCH,
			       "the server gave no address");
	return 0;
}

static void count_call(struct dpt_calls *c, uint64_t ns)
{
	if (!c->count || ns < c->min_ns)
		c->min_ns = ns;
	if (ns > c->max_ns)
		c->max_ns = ns;
	c->total_ns += ns;
	c->count++;
}

static int post_op(struct dpt_perf *p, uint32_t index)
{
	const struct dpt_op *op = &p->cmd.op;
	DAT_LMR_TRIPLET iov[DPT_SEGS_MAX];
	struct dpt_request req = {
		.type = op->type,
		.iov = iov,
		.segs = op->segs,
		.remote = &p->remote,
		.cookie = index,
	};

	for (uint32_t i = 0; i < op->segs; i++)
		iov[i] = dpt_segment(&p->mem, i * dpt_stride(op), op->seg_size);
	return dpt_end_post(p->d, &p->end, &req);
}

static int reap_op(struct dpt_perf *p, uint32_t index)
{
	return dpt_end_reap(p->d, &p->end, p->end.req_evd, index,
			    dpt_op_bytes(&p->cmd.op), "an operation");
}

static int timed_post(struct dpt_perf *p, uint32_t index)
{
	uint64_t start = dt_now_ns();
	int rc = post_op(p, index);

	dt_window_post(&p->window, index, start);
	count_call(&p->post, dt_now_ns() - start);
	return rc;
}

static int timed_reap(struct dpt_perf *p, uint32_t index)
{
	uint64_t start = dt_now_ns(), now;
	int rc = reap_op(p, index);

	now = dt_now_ns();
	count_call(&p->reap, now - start);
	dt_samples_add(&p->each, dt_window_each(&p->window, index, now));
	dt_warm_note(&p->warm, p->d->o->warmup, index + 1, &p->each, now);
	return rc;
}

static int go_on(struct dpt_perf *p, enum phase phase, uint32_t done)
{
	if (dt_stopped())
		return dt_fail(&p->d->r, DT_INTERRUPTED, "interrupted");
	dt_progress(&p->d->r, "%s: %u of %u operations",
		    phase == PHASE_LATENCY ? "latency" : "throughput", done,
		    p->cmd.iterations);
	return 0;
}

static int throughput(struct dpt_perf *p)
{
	uint32_t posted = 0;
	uint64_t start = dt_now_ns();
	int rc = 0;

	dt_warm_note(&p->warm, p->d->o->warmup, 0, &p->each, start);
	while (!rc && posted < p->pipeline)
		rc = timed_post(p, posted++);
	for (uint32_t i = 0; !rc && i < p->cmd.iterations; i++) {
		rc = go_on(p, PHASE_THROUGHPUT, i);
		if (!rc)
			rc = timed_reap(p, i);
		if (!rc && posted < p->cmd.iterations)
			rc = timed_post(p, posted++);
	}
	p->end_ns = dt_now_ns();
	p->ns = p->end_ns - start;
	return rc;
}

static int wrong(struct dpt_perf *p, enum phase phase, int64_t at, uint8_t got,
		 uint8_t want)
{
	return dt_fail(&p->d->r, DT_FAILED,
		       "%s, %s phase: wrong data at offset %" PRId64
		       ": got 0x%02x, wanted 0x%02x",
		       dpt_op_name(p->cmd.op.type),
		       phase == PHASE_LATENCY ? "latency" : "throughput", at,
		       got, want);
}

/* The sink of a read; the server's data is always that of the first phase. */
static int check_sink(struct dpt_perf *p, enum phase phase)
{
	struct dpt_layout at = layout(p);
	struct dpt_pattern data = pattern(PHASE_THROUGHPUT);
	uint8_t got, want;
	int64_t bad = dpt_check(&at, &data, &got, &want);

	return bad < 0 ? 0 : wrong(p, phase, bad, got, want);
}

/* What writes left in the server's memory. */
static int read_back(struct dpt_perf *p, enum phase phase)
{
	uint32_t bytes = dpt_op_bytes(&p->cmd.op);
	struct dpt_layout at = {p->control.base + PLACE_COPY * STEP, bytes, 0,
				1};
	struct dpt_pattern data = pattern(phase);
	DAT_LMR_TRIPLET iov =
		dpt_segment(&p->control, PLACE_COPY * STEP, bytes);
	struct dpt_request req = {
		.type = DPT_OP_READ,
		.iov = &iov,
		.segs = 1,
		.remote = &p->remote,
		.cookie = COOKIE_CONTROL,
	};
	uint8_t got, want;
	int64_t bad;
	int rc;

	dpt_poison(&at);
	rc = dpt_end_post(p->d, &p->end, &req);
	if (!rc)
		rc = dpt_end_reap(p->d, &p->end, p->end.req_evd, COOKIE_CONTROL,
				  bytes, "reading back");
	if (rc)
		return rc;
	bad = dpt_check(&at, &data, &got, &want);
	return bad < 0 ? 0 : wrong(p, phase, bad, got, want);
}

static void set_data(struct dpt_perf *p, enum phase phase)
{
	struct dpt_layout at = layout(p);
	struct dpt_pattern data = pattern(phase);

	if (!p->check)
		return;
	if (p->cmd.op.type == DPT_OP_READ)
		dpt_poison(&at);
	else
		dpt_fill(&at, &data);
}

static int check_data(struct dpt_perf *p, enum phase phase)
{
	if (!p->check)
		return 0;
	return p->cmd.op.type == DPT_OP_READ ? check_sink(p, phase)
					     : read_back(p, phase);
}

static int one_by_one(struct dpt_perf *p)
{
	bool read = p->cmd.op.type == DPT_OP_READ;
	enum dt_wait_mode mode = p->end.w.mode;
	int rc = 0;

	/* Always by polling, as ever. */
	p->end.w.mode = DT_WAIT_POLL;
	for (uint32_t i = 0; !rc && i < p->cmd.iterations; i++) {
		uint64_t start;

		if (read)
			set_data(p, PHASE_LATENCY);
		rc = go_on(p, PHASE_LATENCY, i);
		start = dt_now_ns();
		if (!rc)
			rc = post_op(p, i);
		if (!rc)
			rc = reap_op(p, i);
		dt_samples_add(&p->latency, dt_now_ns() - start);
		if (!rc && read)
			rc = check_data(p, PHASE_LATENCY);
	}
	p->end.w.mode = mode;
	return rc;
}

/* Time that all processors spent, and that they worked. */
static void read_cpu(uint64_t *ret_all, uint64_t *ret_busy)
{
	unsigned long long user = 0, low = 0, system = 0, idle = 0;
	FILE *in = fopen("/proc/stat", "re");

	if (in && fscanf(in, "cpu %llu %llu %llu %llu", &user, &low, &system,
			 &idle) != 4)
		user = low = system = idle = 0;
	if (in)
		fclose(in);
	*ret_busy = user + low + system;
	*ret_all = *ret_busy + idle;
}

static int run_phases(struct dpt_perf *p)
{
	uint64_t all[2], busy[2];
	int rc;

	set_data(p, PHASE_THROUGHPUT);
	read_cpu(&all[0], &busy[0]);
	rc = throughput(p);
	read_cpu(&all[1], &busy[1]);
	if (all[1] > all[0])
		p->cpu = 100.0 * (double)(busy[1] - busy[0]) /
			 (double)(all[1] - all[0]);
	if (!rc)
		rc = check_data(p, PHASE_THROUGHPUT);
	set_data(p, PHASE_LATENCY);
	if (!rc)
		rc = one_by_one(p);
	if (!rc)
		rc = check_data(p, PHASE_LATENCY);
	return rc;
}

int dpt_perf_measure(struct dpt_perf *p)
{
	int rc = dpt_end_connect(p->d, &p->end, p->qual, NULL, 0);

	if (rc == -ECONNREFUSED)
		rc = dt_fail(&p->d->r, DT_MISMATCH,
			     "the server rejected the data connection");
	/* The first message of an iWARP connection is the client's. */
	if (!rc && p->start)
		rc = dpt_end_send(p->d, &p->end, &p->control, PLACE_OUT * STEP,
				  DPT_PERF_SIZE, COOKIE_CONTROL,
				  "the start mark");
	if (!rc)
		rc = take_address(p);
	if (!rc)
		rc = run_phases(p);
	if (!rc)
		rc = dpt_end_send_last(p->d, &p->end, &p->control,
				       PLACE_OUT * STEP, DPT_PERF_SIZE,
				       COOKIE_CONTROL, "the end mark");
	if (!rc)
		rc = dpt_end_part(p->d, &p->end, DAT_CLOSE_ABRUPT_FLAG, false);
	return rc;
}
