/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * modes.c - what each mode of dtest runs, and the phases with bulk data.
 *
 * Does not set up or take down the connection.
 * Threads: one. Ownership: none of its own.
 * Rule: phases and the tokens between them in the historic order. Client:
 * writes, token, wait; server: writes, wait, token. After reads both send
 * first. What a provider cannot do is said, never left out silently.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtest/dtest.h"

#include <inttypes.h>
#include <string.h>

static bool writes_here(const struct dtest *d)
{
	return !(d->o->uni && d->run.server);
}

static bool written_here(const struct dtest *d)
{
	return !(d->o->uni && !d->run.server);
}

static double mbps(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1000.0 / (double)ns : 0;
}

void dtest_report_pingpong(struct dtest *d, const char *name, const char *test,
			   uint32_t length, uint32_t count, uint64_t total_ns)
{
	double half = dt_ns_to_us(total_ns) / count / 2;
	struct dt_result res;

	dt_line(&d->run.r,
		"%d: %s PingPong: (%u x %u) Total %.2f us: latency %.2f us, "
		"BW %.2f MB/s\n",
		d->run.r.pid, name, count, length, dt_ns_to_us(total_ns), half,
		length / half);
	dt_result_begin(&res, DT_LATENCY, test,
			strcmp(name, "Message") ? "write" : "send");
	res.bytes = length;
	dt_stats_compute(&d->samples, d->o->warmup, 2, &res.stats);
	dt_result_rates(&res);
	dt_report_result(&d->run.r, &res);
}

/* Both directions count, as in the historic line: they run at once. */
static void report_writes(struct dtest *d, const char *op, uint64_t start,
			  const struct dt_warm *warm)
{
	unsigned int ways = d->o->uni ? 1 : 2;
	uint64_t msgs = (uint64_t)d->o->count * ways, size = d->o->size;
	uint64_t now = dt_now_ns(), total_ns = now - start;
	struct dt_result res;

	dt_result_begin(&res, DT_BANDWIDTH, "write_stream", op);
	res.bytes = size;
	dt_stats_compute(&d->samples, warm->skip, 1, &res.stats);
	dt_result_total(&res, d->o->count - warm->done, now - warm->ns);
	res.bw_avg_mbps *= ways;
	res.bw_peak_mbps *= ways;
	res.msg_rate_mpps *= ways;
	if (writes_here(d))
		dt_report_result(&d->run.r, &res);
	if (d->run.server && d->o->uni)
		return;
	snprintf(
		d->write_line, sizeof(d->write_line),
		"\n%d: RDMA write (%s): Total=%.2f usec, itime=%.2f us, poll=%" PRIu64
		", %" PRIu64 " x %" PRIu64 ", %.2f MB/sec\n",
		d->run.r.pid, ways == 1 ? "uni-direction" : "bi-direction",
		dt_ns_to_us(total_ns),
		msgs ? dt_ns_to_us(total_ns) / (double)msgs : 0.0,
		d->run.w.polls, msgs, size, mbps(msgs * size, total_ns));
}

/* Posts one write of the stream. Returns 0 or an exit status. */
static int post_one(struct dtest *d, uint32_t index, bool immed, bool signalled)
{
	if (d->o->mode == DTEST_STREAM)
		dtest_fill_stream(d, index);
	if (immed)
		return dtest_post_write_immed(d, index, signalled);
	return dtest_post_write(d, d->o->size, index, signalled);
}

/*
 * The last write is signalled too, which the peer cannot see: without that
 * the time of up to a batch would be missing.
 */
static int write_stream(struct dtest *d, bool immed)
{
	uint64_t start = dt_now_ns(), mark = start;
	uint32_t count = d->o->count, batch = 0;
	struct dt_warm warm = {.over = false};
	int rc = 0;

	d->run.w.polls = 0;
	dt_samples_clear(&d->samples);
	dt_warm_note(&warm, d->o->warmup, 0, &d->samples, start);
	for (uint32_t i = 0; !rc && i < count; i++) {
		bool last = i == count - 1;
		bool signalled = last || (i + 1) % d->o->signal == 0;

		batch++;
		rc = post_one(d, i, immed && last, signalled);
		if (rc || !signalled)
			continue;
		rc = immed && last
			     ? dtest_complete_immed(d, d->req_evd,
						    d->run.limit_ns, true, i,
						    "RDMA write with data")
			     : dtest_complete(d, d->req_evd, d->run.limit_ns, i,
					      d->o->size, "RDMA write");
		dt_samples_add(&d->samples, (dt_now_ns() - mark) / batch);
		mark = dt_now_ns();
		batch = 0;
		dt_warm_note(&warm, d->o->warmup, i + 1, &d->samples, mark);
		dt_progress(&d->run.r, "write %u of %u", i + 1, count);
	}
	if (!rc)
		report_writes(d, immed ? "write_immed" : "write", start, &warm);
	return rc;
}

static int verify_writes(struct dtest *d)
{
	uint8_t want = 0;
	int64_t at;

	if (!written_here(d) || !d->o->count)
		return 0;
	dt_say(&d->run.r, "%d %s: buffer after RDMA writes: %s\n", d->run.r.pid,
	       d->run.r.role, dtest_text(d, d->rbuf.base).s);
	if (d->o->verify == DTEST_VERIFY_NONE)
		return 0;
	at = dtest_check_write(d, &want);
	/* "first" looks at the first byte only. */
	if (at < 0 || (at > 0 && d->o->verify != DTEST_VERIFY_FULL))
		return 0;
	return dtest_bad_data(d, "RDMA write of the peer", at, d->rbuf.base[at],
			      want);
}

/* Ends the writes on both sides, client first. */
static int write_tokens(struct dtest *d)
{
	uint64_t limit =
		dtest_bulk_limit(d, (uint64_t)d->o->size * d->o->count);
	int rc = 0;

	if (!d->run.server)
		rc = dtest_send_token(d, false);
	if (!rc)
		rc = dtest_wait_token(d, limit,
				      "the peer's message after its writes");
	if (!rc)
		rc = verify_writes(d);
	return rc;
}

static int phase_writes(struct dtest *d)
{
	int rc = 0;

	dt_say(&d->run.r, "\n %d RDMA writes, then a message\n\n",
	       d->run.r.pid);
	if (writes_here(d))
		rc = write_stream(d, false);
	if (!rc)
		rc = write_tokens(d);
	/* Text for the reads, before the server's token lets them begin. */
	if (!rc && d->o->mode == DTEST_ALL)
		dtest_fill_read(d);
	if (!rc && d->run.server)
		rc = dtest_send_token(d, false);
	return rc;
}

static int phase_stream(struct dtest *d)
{
	uint64_t limit =
		dtest_bulk_limit(d, (uint64_t)d->o->size * d->o->count);
	int rc = 0;

	if (DAT_FACE == 1)
		return phase_writes(d);
	if (!d->immed_ok) {
		dt_report_skipped(&d->run.r, "write_immed", "write_immed",
				  "the provider has no immediate data; plain "
				  "writes instead");
		return phase_writes(d);
	}
	dt_say(&d->run.r, "\n %d RDMA writes, the last with immediate data\n\n",
	       d->run.r.pid);
	if (writes_here(d))
		rc = write_stream(d, true);
	if (!rc && written_here(d)) {
		rc = dtest_complete_immed(d, d->rcv_evd, limit, false, d->token,
					  "the peer's last write");
		d->token++;
	}
	if (!rc)
		rc = write_tokens(d);
	if (!rc && d->run.server)
		rc = dtest_send_token(d, false);
	return rc;
}

static int read_once(struct dtest *d, uint32_t index)
{
	uint64_t start = dt_now_ns();
	int rc = dtest_post_read(d, d->o->size, index, true);

	if (!rc)
		rc = dtest_complete(d, d->req_evd, d->run.limit_ns, index,
				    d->o->size, "RDMA read");
	dt_samples_add(&d->reads, dt_now_ns() - start);
	return rc;
}

static int verify_read(struct dtest *d)
{
	uint8_t want = 0;
	int64_t at = -1;

	dt_say(&d->run.r, "%d %s: what RDMA read brought: %s\n", d->run.r.pid,
	       d->run.r.role, dtest_text(d, d->sbuf.base).s);
	if (d->o->verify == DTEST_VERIFY_FULL)
		at = dtest_check_read(d, &want);
	return at < 0 ? 0
		      : dtest_bad_data(d, "RDMA read", at, d->sbuf.base[at],
				       want);
}

static void report_reads(struct dtest *d)
{
	struct dt_result res;

	dt_result_begin(&res, DT_LATENCY, "rdma_read", "read");
	res.bytes = d->o->size;
	dt_stats_compute(&d->reads, 0, 1, &res.stats);
	dt_result_rates(&res);
	d->read_done = true;
	dt_report_result(&d->run.r, &res);
}

static int phase_reads(struct dtest *d)
{
	int rc = 0;

	if (!d->read_ok) {
		dt_report_skipped(&d->run.r, "rdma_read", "read",
				  "provider attribute DAT_IB_RDMA_READ is not "
				  "TRUE");
		return 0;
	}
	dt_say(&d->run.r, "\n %d RDMA reads, then a message\n\n", d->run.r.pid);
	d->run.w.polls = 0;
	for (uint32_t i = 0; !rc && i < d->o->reads; i++)
		rc = read_once(d, i);
	d->read_polls = d->run.w.polls;
	if (!rc)
		rc = verify_read(d);
	if (!rc)
		report_reads(d);
	/* Before the token, which tells a peer of ours that it may send. */
	if (!rc)
		rc = dtest_post_messages(d);
	if (!rc)
		rc = dtest_send_token(d, false);
	if (!rc)
		rc = dtest_wait_token(d, d->run.limit_ns,
				      "the peer's message after its reads");
	return rc;
}

static int phase_messages(struct dtest *d)
{
	if (!d->read_ok) {
		dt_report_skipped(&d->run.r, "message_pingpong", "send",
				  "it follows the RDMA reads, which do not "
				  "run either");
		return 0;
	}
	return dtest_message_pingpong(d);
}

#define PHASES 3

static const struct {
	const char *name;
	int (*phase[PHASES])(struct dtest *d);
} modes[DTEST_MODE_N] = {
	[DTEST_ALL] = {"all", {phase_writes, phase_reads, phase_messages}},
	[DTEST_STREAM] = {"write stream", {phase_stream}},
	[DTEST_PINGPONG] = {"write ping-pong", {dtest_write_pingpong}},
	[DTEST_CHECK] = {"write ping-pong with check", {dtest_write_pingpong}},
	[DTEST_PERF] = {"perf", {dtest_perf}},
};

static void report_failed(struct dtest *d)
{
	struct dt_result res;

	if (!d->run.r.json)
		return;
	dt_result_begin(&res, DT_NO_FIGURES, modes[d->o->mode].name, "");
	res.bytes = d->o->size;
	res.result = "FAILED";
	dt_report_result(&d->run.r, &res);
}

int dtest_run(struct dtest *d)
{
	uint32_t room = d->o->count > DTEST_PINGS ? d->o->count : DTEST_PINGS;
	int rc = 0;

	if (dt_samples_init(&d->samples, room) ||
	    dt_samples_init(&d->reads, d->o->reads)) {
		dt_samples_fini(&d->samples);
		return dt_fail(&d->run.r, DT_ENVIRONMENT,
			       "no memory for samples");
	}
	dt_trace(&d->run.r, "%d: mode: %s\n", d->run.r.pid,
		 modes[d->o->mode].name);
	for (int i = 0; !rc && i < PHASES && modes[d->o->mode].phase[i]; i++)
		rc = modes[d->o->mode].phase[i](d);
	dt_line(&d->run.r, "%s", d->write_line);
	if (rc)
		report_failed(d);
	dt_samples_fini(&d->samples);
	return rc;
}
