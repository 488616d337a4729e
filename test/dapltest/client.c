/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * client.c - the client of transaction and performance tests, and of quit:
 * what it asks the server for, and the figures at the end.
 *
 * Does not measure. Threads: one. Ownership: each test owns its objects.
 * Rule: result lines as in the historic tool, with two things put right:
 * fractions have all their digits, and minima are minima.
 */
#include "test/dapltest/control.h"
#include "test/dapltest/perform.h"
#include "test/dapltest/transact.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void copy_name(char to[DPT_NAME_SIZE], const char *from)
{
	snprintf(to, DPT_NAME_SIZE, "%s", from);
}

static struct dpt_transaction transaction_of(const struct dpt_opts *o)
{
	struct dpt_transaction cmd;

	memset(&cmd, 0, sizeof(cmd));
	copy_name(cmd.server, o->host);
	copy_name(cmd.device, o->device);
	cmd.iterations = o->iterations;
	cmd.threads = o->threads;
	cmd.eps = o->width;
	cmd.rsp = o->rsp;
	cmd.ud = o->ud;
	/* The server would check what nobody filled in. */
	cmd.validate = o->validate && !o->no_check;
	cmd.poll = o->poll;
	cmd.debug = o->debug;
	cmd.old_form = DAT_FACE == 1;
	cmd.port = o->port;
	cmd.qos = o->qos;
	cmd.op_count = o->op_count;
	memcpy(cmd.ops, o->ops, sizeof(cmd.ops));
	return cmd;
}

static struct dpt_performance performance_of(const struct dpt_opts *o)
{
	struct dpt_performance cmd;

	memset(&cmd, 0, sizeof(cmd));
	copy_name(cmd.server, o->host);
	copy_name(cmd.device, o->device);
	cmd.qos = o->qos;
	cmd.debug = o->debug;
	cmd.poll = o->poll;
	cmd.iterations = o->iterations;
	cmd.pipeline = o->pipeline;
	cmd.op = o->ops[0];
	cmd.port = DT_FACED(0, o->port);
	return cmd;
}

static void put_transaction(const struct dpt *d, uint8_t *msg)
{
	struct dpt_transaction cmd = transaction_of(d->o);

	dpt_put_transaction(msg, &cmd);
}

static void put_performance(const struct dpt *d, uint8_t *msg)
{
	struct dpt_performance cmd = performance_of(d->o);

	dpt_put_performance(msg, &cmd);
}

static void put_quit(const struct dpt *d, uint8_t *msg)
{
	struct dpt_quit cmd;

	memset(&cmd, 0, sizeof(cmd));
	copy_name(cmd.server, d->o->host);
	copy_name(cmd.device, d->o->device);
	cmd.debug = d->o->debug;
	cmd.qos = d->o->qos;
	cmd.port = DT_FACED(0, d->o->port);
	dpt_put_quit(msg, &cmd);
}

static uint32_t features(const struct dpt *d)
{
	return DPT_FEATURE_START | (d->o->no_check ? 0 : DPT_FEATURE_PATTERN) |
	       (d->o->ud ? DPT_FEATURE_UD : 0);
}

/* Both sides said that they put patterns into their buffers. */
static bool have_pattern(const struct dpt *d,
			 const struct dpt_server_info *info)
{
	return features(d) & info->ext.features & DPT_FEATURE_PATTERN;
}

static void report_failed(struct dpt *d, const char *test, const char *op)
{
	struct dt_result res;

	dt_result_begin(&res, DT_NO_FIGURES, test, op);
	res.result = "FAILED";
	dt_report_result(&d->r, &res);
}

/* Bytes and operations of a whole transaction test. */
struct tx_totals {
	uint64_t ns; /* of the slowest thread */
	uint64_t ops;
	uint64_t bytes[4]; /* sent, received, read, written */
};

static struct tx_totals total_up(const struct dpt_tx *tx)
{
	const struct dpt_transaction *cmd = &tx->cmd;
	uint64_t times = (uint64_t)cmd->threads * cmd->eps * cmd->iterations;
	struct tx_totals sum = {.ops = times * cmd->op_count};

	for (uint32_t i = 0; i < cmd->threads; i++)
		if (tx->threads[i].ns > sum.ns)
			sum.ns = tx->threads[i].ns;
	for (uint32_t i = 0; i < cmd->op_count; i++) {
		const struct dpt_op *op = &cmd->ops[i];
		unsigned int kind = op->type == DPT_OP_READ    ? 2
				    : op->type == DPT_OP_WRITE ? 3
				    : op->server	       ? 1
							       : 0;

		sum.bytes[kind] += times * dpt_op_bytes(op);
	}
	return sum;
}

static void print_transaction(struct dpt_tx *tx, const struct tx_totals *sum)
{
	static const char *const kinds[4] = {"Send", "Recv", "RDMA Read",
					     "RDMA Write"};
	double sec = (double)sum->ns / DT_NS_PER_S;
	struct dt_report *r = &tx->d->r;

	dt_line(r, "----- Stats ---- : %u threads, %u EPs\n", tx->cmd.threads,
		tx->cmd.eps);
	dt_line(r, "Total WQE        : %10.2f WQE/Sec\n",
		(double)sum->ops / sec);
	dt_line(r, "Total Time       : %10.2f sec\n", sec);
	for (int i = 0; i < 4; i++)
		dt_line(r, "Total %-10s : %10.2f MB - %10.2f MB/Sec\n",
			kinds[i], (double)sum->bytes[i] / 1e6,
			(double)sum->bytes[i] / 1e6 / sec);
}

/* The times of iterations of all threads together, behind the warm-up. */
static void merge_samples(const struct dpt_tx *tx, struct dt_stats *ret_stats)
{
	struct dt_samples all;
	size_t room = 0;

	memset(ret_stats, 0, sizeof(*ret_stats));
	for (uint32_t i = 0; i < tx->cmd.threads; i++)
		room += tx->threads[i].samples.count;
	if (dt_samples_init(&all, room))
		return;
	for (uint32_t i = 0; i < tx->cmd.threads; i++) {
		const struct dt_samples *s = &tx->threads[i].samples;

		for (size_t k = tx->d->o->warmup; k < s->count; k++)
			dt_samples_add(&all, s->ns[k]);
	}
	dt_stats_compute(&all, 0, 1, ret_stats);
	dt_samples_fini(&all);
}

static void report_transaction(struct dpt_tx *tx)
{
	struct tx_totals sum = total_up(tx);
	struct dt_result res;

	print_transaction(tx, &sum);
	dt_result_begin(&res, DT_LATENCY, "transaction", "iteration");
	for (uint32_t i = 0; i < tx->cmd.op_count; i++)
		res.bytes += dpt_op_bytes(&tx->cmd.ops[i]) * tx->cmd.eps;
	merge_samples(tx, &res.stats);
	dt_result_rates(&res);
	/* Threads run side by side, and an iteration has many operations. */
	res.bw_avg_mbps *= tx->cmd.threads;
	res.msg_rate_mpps *= tx->cmd.threads * tx->cmd.eps * tx->cmd.op_count;
	dt_report_result(&tx->d->r, &res);
}

static const char *data_text(enum dpt_data data)
{
	return data == DPT_DATA_PATTERN	   ? "every transfer is checked"
	       : data == DPT_DATA_HISTORIC ? "checked as -V of a historic "
					     "server allows"
					   : "not checked";
}

static int run_transaction(struct dpt_tx *tx, struct dpt_control *c)
{
	const struct dpt_command cmd = {
		.test = DPT_TRANSACTION,
		.eps = tx->cmd.threads * tx->cmd.eps,
		.features = features(tx->d),
		.put = put_transaction,
	};
	struct dpt_server_info info;
	int rc = dpt_control_ask(tx->d, c, &cmd, &info);

	if (rc)
		return rc;
	if (tx->cmd.ud && !(info.ext.features & DPT_FEATURE_UD))
		return dt_fail(&tx->d->r, DT_MISMATCH,
			       "the server knows no datagrams (-u): it is an "
			       "older dapltest");
	tx->qual = info.qual;
	tx->final = !tx->cmd.old_form || info.ext.present;
	tx->data = have_pattern(tx->d, &info)		     ? DPT_DATA_PATTERN
		   : tx->cmd.validate && !tx->d->o->no_check ? DPT_DATA_HISTORIC
							     : DPT_DATA_ANY;
	dt_say(&tx->d->r, "Data: %s\n", data_text(tx->data));
	return dpt_tx_run(tx);
}

int dpt_transaction_client(struct dpt *d)
{
	struct dpt_tx tx = {
		.d = d,
		.cmd = transaction_of(d->o),
		.rmr = !d->o->no_rmr,
	};
	struct dpt_control c;
	char why[160];
	int rc;

	memset(&c, 0, sizeof(c));
	if (!dpt_tx_fits(d, &tx.cmd, why, sizeof(why)))
		return dt_fail(&d->r, DT_USAGE, "%s", why);
	rc = dpt_tx_open(&tx);
	if (!rc)
		rc = run_transaction(&tx, &c);
	if (rc)
		report_failed(d, "transaction", "iteration");
	else
		report_transaction(&tx);
	rc = dpt_tx_close(&tx, rc);
	return dpt_control_close(d, &c, rc);
}

static double calls_us(const struct dpt_calls *c)
{
	return c->count ? dt_ns_to_us(c->total_ns) / (double)c->count : 0;
}

static void print_value(struct dpt *d, const char *name, const char *value)
{
	dt_line(&d->r, "    %-20s : %s\n", name, value);
}

__attribute__((format(printf, 3, 4))) static void
print_figure(struct dpt *d, const char *name, const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print_value(d, name, text);
}

static void print_calls(struct dpt *d, const char *title,
			const struct dpt_calls *c)
{
	dt_line(&d->r, "\n    %s\n", title);
	print_figure(d, "Arithmetic mean", "%.3f us", calls_us(c));
	print_figure(d, "maximum", "%.3f us", dt_ns_to_us(c->max_ns));
	print_figure(d, "minimum", "%.3f us", dt_ns_to_us(c->min_ns));
}

static void print_latency(struct dpt *d, const struct dt_stats *s)
{
	dt_line(&d->r, "\n    Latency\n");
	print_figure(d, "Arithmetic mean", "%.2f us", s->avg_us);
	print_figure(d, "maximum", "%.2f us", s->max_us);
	print_figure(d, "minimum", "%.2f us", s->min_us);
	print_figure(d, "typical", "%.2f us", s->typical_us);
	print_figure(d, "99 %", "%.2f us", s->p99_us);
	print_figure(d, "99.9 %", "%.2f us", s->p999_us);
}

static const char rule[] = "---------------------------------------------------"
			   "-----------\n";

static void print_performance(struct dpt_perf *p, const struct dt_stats *s)
{
	const struct dpt_op *op = &p->cmd.op;
	double sec = (double)p->ns / DT_NS_PER_S, n = p->cmd.iterations;
	double mib = n * dpt_op_bytes(op) / (1 << 20);
	struct dpt *d = p->d;

	dt_line(&d->r, "%s                    Performance Test Results\n%s",
		rule, rule);
	print_value(d, "Mode", p->cmd.poll ? "polling" : "blocking");
	print_value(d, "Operation Type", dpt_op_name(op->type));
	print_figure(d, "Number of Operations", "%u", p->cmd.iterations);
	print_figure(d, "Segment Size", "%u", op->seg_size);
	print_figure(d, "Number of Segments", "%u", op->segs);
	print_figure(d, "Pipeline Length", "%u", p->pipeline);
	dt_line(&d->r, "\n");
	print_figure(d, "Total Time", "%.2f sec", sec);
	print_figure(d, "Total Data Exchanged", "%.2f MB", mib);
	print_figure(d, "CPU Utilization", "%.2f", p->cpu);
	print_figure(d, "Operation Throughput", "%.2f ops/sec", n / sec);
	print_figure(d, "Bandwidth", "%.2f MB/sec", mib / sec);
	print_latency(d, s);
	print_calls(d, "Time Per Post", &p->post);
	print_calls(d, "Time Per Reap", &p->reap);
	dt_line(&d->r,
		"%sraw: %s, %u, %u, %u, %u, %.2f, %.2f, %.2f, %.2f, %.3f, "
		"%.3f \n%s",
		rule, dpt_op_name(op->type), p->cmd.iterations, op->seg_size,
		op->segs, p->pipeline, p->cpu, n / sec, mib / sec, s->avg_us,
		calls_us(&p->post), calls_us(&p->reap), rule);
}

static void report_performance(struct dpt_perf *p)
{
	const char *op = dpt_op_name(p->cmd.op.type);
	struct dt_report *r = &p->d->r;
	struct dt_result res;

	dt_result_begin(&res, DT_LATENCY, "latency", op);
	res.bytes = dpt_op_bytes(&p->cmd.op);
	dt_stats_compute(&p->latency, p->d->o->warmup, 1, &res.stats);
	dt_result_rates(&res);
	print_performance(p, &res.stats);
	dt_report_result(r, &res);

	dt_result_begin(&res, DT_BANDWIDTH, "throughput", op);
	res.bytes = dpt_op_bytes(&p->cmd.op);
	dt_stats_compute(&p->each, p->warm.skip, 1, &res.stats);
	dt_result_total(&res, p->cmd.iterations - p->warm.done,
			p->end_ns - p->warm.ns);
	dt_report_result(r, &res);
}

static int run_performance(struct dpt_perf *p, struct dpt_control *c)
{
	const struct dpt_command cmd = {
		.test = DPT_PERFORMANCE,
		.eps = 1,
		.features = features(p->d),
		.put = put_performance,
	};
	struct dpt_server_info info;
	int rc = dpt_control_ask(p->d, c, &cmd, &info);

	if (rc)
		return rc;
	p->qual = info.qual;
	p->check = have_pattern(p->d, &info);
	p->start = info.ext.features & DPT_FEATURE_START;
	return dpt_perf_measure(p);
}

int dpt_performance_client(struct dpt *d)
{
	struct dpt_perf p = {.d = d, .cmd = performance_of(d->o)};
	struct dpt_control c;
	char why[160];
	int rc;

	memset(&c, 0, sizeof(c));
	if (!dpt_perf_fits(d, &p.cmd, why, sizeof(why)))
		return dt_fail(&d->r, DT_USAGE, "%s", why);
	rc = dpt_perf_open(&p);
	if (!rc)
		rc = run_performance(&p, &c);
	if (rc)
		report_failed(d, "performance", dpt_op_name(p.cmd.op.type));
	else
		report_performance(&p);
	rc = dpt_perf_close(&p, rc);
	return dpt_control_close(d, &c, rc);
}

int dpt_quit_client(struct dpt *d)
{
	const struct dpt_command cmd = {.test = DPT_QUIT, .put = put_quit};
	struct dpt_server_info info;
	struct dpt_control c;
	int rc;

	memset(&c, 0, sizeof(c));
	rc = dpt_control_ask(d, &c, &cmd, &info);
	if (!rc)
		dt_line(&d->r, "%s: the server ends\n", d->o->host);
	return dpt_control_close(d, &c, rc);
}
