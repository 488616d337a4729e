/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * perf.c - the measuring tests of dtest (--perf): one operation, over and
 * over, by the client; latency or bandwidth, for one size or all.
 *
 * Does not look at the data; -D does. Not in the historic tool.
 * Threads: one. Ownership: buffers are those of struct dtest.
 * Rule: all receives are alike, messages and tokens of 16 bytes, and go back
 * into the queue when they are taken. The client sends at most two batches
 * that the server has not confirmed with a token, since some transports end a
 * connection whose message meets no receive. After each size the client sends
 * a token and the server answers with one.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtest/dtest.h"

#include <string.h>

#define POOL_BYTES (64u << 20)
#define BATCH_MAX  64

/* In the order of the words of --perf. */
static const struct perf_test {
	const char *name;
	const char *op;
	enum dt_kind kind;
	int (*post)(struct dtest *d, uint32_t length, uint64_t cookie,
		    bool signalled);
	bool received; /* the server has to take it */
	bool answered; /* and to send as much back */
	bool read;
} tests[] = {
	{"send_lat", "send", DT_LATENCY, dtest_post_message, true, true, false},
	{"send_bw", "send", DT_BANDWIDTH, dtest_post_message, true, false,
	 false},
	{"read_lat", "read", DT_LATENCY, dtest_post_read, false, false, true},
	{"read_bw", "read", DT_BANDWIDTH, dtest_post_read, false, false, true},
	{"write_bw", "write", DT_BANDWIDTH, dtest_post_write, false, false,
	 false},
};

static uint32_t slot_size(const struct dtest_opts *o)
{
	return o->size > DTEST_MSG ? o->size : DTEST_MSG;
}

/* Follows from the size, which both sides agree on. */
static uint32_t batch(const struct dtest_opts *o)
{
	uint32_t fit = POOL_BYTES / 2 / slot_size(o);

	return !fit ? 1 : fit < BATCH_MAX ? fit : BATCH_MAX;
}

/* Two batches, and a token of either end. */
uint32_t dtest_perf_slots(const struct dtest_opts *o)
{
	return 2 * batch(o) + 2;
}

size_t dtest_perf_bytes(const struct dtest_opts *o)
{
	return (size_t)dtest_perf_slots(o) * slot_size(o);
}

static int post_slot(struct dtest *d, uint32_t slot)
{
	return dtest_post_recv(d, &d->rbuf, (size_t)slot * slot_size(d->o),
			       slot_size(d->o), slot);
}

int dtest_perf_prepare(struct dtest *d)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < dtest_perf_slots(d->o); i++)
		rc = post_slot(d, i);
	return rc;
}

/* Takes the next message, which must be that long, and its slot goes back. */
static int take(struct dtest *d, uint32_t length, const char *what)
{
	uint32_t slot = d->taken++ % dtest_perf_slots(d->o);
	uint64_t limit =
		dtest_bulk_limit(d, (uint64_t)d->o->size * d->o->count);
	int rc = dtest_complete(d, d->rcv_evd, limit, slot, length, what);

	return rc ? rc : post_slot(d, slot);
}

static int reap(struct dtest *d, const struct perf_test *t, uint32_t length,
		uint32_t index)
{
	return dtest_complete(d, d->req_evd, d->run.limit_ns, index, length,
			      t->name);
}

static void show_progress(struct dtest *d, const struct perf_test *t,
			  uint32_t length, uint32_t done)
{
	dt_progress(&d->run.r, "%s, %u bytes: %u of %u", t->name, length, done,
		    d->o->count);
}

/* ------------------------------------------------------------ the client */

static int latency(struct dtest *d, const struct perf_test *t, uint32_t length)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < d->o->count; i++) {
		uint64_t start = dt_now_ns();

		rc = t->post(d, length, i, true);
		if (!rc && t->answered)
			rc = take(d, length, "the server's answer");
		if (!rc && !t->answered)
			rc = reap(d, t, length, i);
		dt_samples_add(&d->samples, dt_now_ns() - start);
		/* Long done, and no part of the time. */
		if (!rc && t->answered)
			rc = reap(d, t, length, i);
		show_progress(d, t, length, i + 1);
	}
	return rc;
}

struct flow {
	uint32_t posted;
	uint32_t done;
	uint32_t confirmed; /* batches */
	struct dt_window window;
	struct dt_warm warm;
};

/* Whether the operation is the last of those that complete together. */
static bool signalled(const struct dtest *d, uint32_t index)
{
	uint32_t n = d->o->signal < d->o->depth ? d->o->signal : d->o->depth;

	return (index + 1) % n == 0 || index + 1 == d->o->count;
}

static int confirm(struct dtest *d, struct flow *f)
{
	f->confirmed++;
	return take(d, DTEST_MSG, "the server's confirmation");
}

static int fill_window(struct dtest *d, const struct perf_test *t,
		       uint32_t length, struct flow *f)
{
	int rc = 0;

	while (!rc && f->posted < d->o->count &&
	       f->posted - f->done < d->o->depth) {
		if (t->received && f->posted / batch(d->o) >= f->confirmed + 2)
			rc = confirm(d, f);
		dt_window_post(&f->window, f->posted, dt_now_ns());
		if (!rc)
			rc = t->post(d, length, f->posted,
				     signalled(d, f->posted));
		f->posted++;
	}
	return rc;
}

static int flow(struct dtest *d, const struct perf_test *t, uint32_t length,
		struct flow *f)
{
	uint64_t now = dt_now_ns();
	int rc = 0;

	dt_warm_note(&f->warm, d->o->warmup, 0, &d->samples, now);
	while (!rc && f->done < d->o->count) {
		uint32_t next = f->done;

		rc = fill_window(d, t, length, f);
		while (!signalled(d, next))
			next++;
		if (!rc)
			rc = reap(d, t, length, next);
		now = dt_now_ns();
		dt_samples_add(&d->samples,
			       dt_window_each(&f->window, next, now));
		f->done = next + 1;
		dt_warm_note(&f->warm, d->o->warmup, f->done, &d->samples, now);
		show_progress(d, t, length, f->done);
	}
	while (!rc && t->received && f->confirmed < d->o->count / batch(d->o))
		rc = confirm(d, f);
	return rc;
}

static int bandwidth(struct dtest *d, const struct perf_test *t,
		     uint32_t length, struct dt_warm *ret_warm)
{
	struct flow f = {.posted = 0};
	int rc;

	if (dt_window_init(&f.window, d->o->depth))
		return dt_fail(&d->run.r, DT_ENVIRONMENT,
			       "no memory for %u times", d->o->depth);
	rc = flow(d, t, length, &f);
	dt_window_fini(&f.window);
	*ret_warm = f.warm;
	return rc;
}

static void report_latency(struct dtest *d, const struct perf_test *t,
			   uint32_t length)
{
	struct dt_result res;

	dt_result_begin(&res, t->kind, t->name, t->op);
	res.bytes = length;
	dt_stats_compute(&d->samples, d->o->warmup, t->answered ? 2 : 1,
			 &res.stats);
	dt_result_rates(&res);
	dt_report_result(&d->run.r, &res);
}

static void report_bandwidth(struct dtest *d, const struct perf_test *t,
			     uint32_t length, const struct dt_warm *warm)
{
	uint64_t ns = dt_now_ns() - warm->ns;
	struct dt_result res;

	dt_result_begin(&res, t->kind, t->name, t->op);
	res.bytes = length;
	dt_stats_compute(&d->samples, warm->skip, 1, &res.stats);
	dt_result_total(&res, d->o->count - warm->done, ns);
	dt_report_result(&d->run.r, &res);
}

static int client_size(struct dtest *d, const struct perf_test *t,
		       uint32_t length)
{
	bool lat = t->kind == DT_LATENCY;
	struct dt_warm warm = {.over = false};
	int rc;

	dt_samples_clear(&d->samples);
	rc = lat ? latency(d, t, length) : bandwidth(d, t, length, &warm);
	if (!rc && lat)
		report_latency(d, t, length);
	else if (!rc)
		report_bandwidth(d, t, length, &warm);
	if (!rc)
		rc = dtest_send_token(d, true);
	return rc ? rc : take(d, DTEST_MSG, "the server's end of the test");
}

/* ------------------------------------------------------------ the server */

static int server_size(struct dtest *d, const struct perf_test *t,
		       uint32_t length, bool last)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && t->received && i < d->o->count; i++) {
		rc = take(d, length, "a message of the client");
		if (!rc && t->answered) {
			rc = t->post(d, length, i, true);
			if (!rc)
				rc = reap(d, t, length, i);
		} else if (!rc && (i + 1) % batch(d->o) == 0) {
			rc = dtest_send_token(d, true);
		}
	}
	if (!rc)
		rc = take(d, DTEST_MSG, "the client's end of the test");
	/* The client leaves on the last one, maybe before it completes here. */
	return rc ? rc : dtest_send_token(d, !last);
}

int dtest_perf(struct dtest *d)
{
	const struct perf_test *t = &tests[d->o->perf];
	uint32_t sizes[32];
	size_t n = dtest_sizes(d->o, sizes, 32);
	int rc = 0;

	if (t->read && !d->read_ok) {
		dt_report_skipped(&d->run.r, t->name, t->op,
				  "provider attribute DAT_IB_RDMA_READ is not "
				  "TRUE");
		return 0;
	}
	dt_say(&d->run.r, "\n %d %s, %u times%s\n\n", d->run.r.pid, t->name,
	       d->o->count, d->run.server ? "; the client measures" : "");
	for (size_t i = 0; !rc && i < n; i++)
		rc = d->run.server ? server_size(d, t, sizes[i], i + 1 == n)
				   : client_size(d, t, sizes[i]);
	return rc;
}
