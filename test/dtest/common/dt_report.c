/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_report.c - what a test tool says: progress, results, errors, verdict.
 *
 * Does not decide whether a test passed.
 * Threads, ownership: see dt_report.h.
 * Rule: column names as perftest prints them, so that its parsers work; the
 * verdict is the last line on both sides.
 */
#include "test/dtest/common/dt_report.h"

#include "test/dtest/common/dt_json.h"
#include "test/dtest/common/dt_time.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NS (200 * DT_NS_PER_MS)

int dt_report_open(struct dt_report *r, const char *tool, const char *json_path)
{
	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	r->text = stdout;
	r->pid = (int)getpid();
	r->terminal = isatty(STDERR_FILENO);
	r->shown_ns = dt_now_ns();
	snprintf(r->tool, sizeof(r->tool), "%s", tool);
	if (!json_path)
		return 0;
	r->json = stdout;
	if (json_path[0])
		r->json = fopen(json_path, "we");
	else
		r->text = stderr;
	if (!r->json)
		return -errno;
	/* Both sides may write to one file, and somebody read it meanwhile. */
	setvbuf(r->json, NULL, _IOLBF, 0);
	return 0;
}

void dt_report_role(struct dt_report *r, const char *role)
{
	snprintf(r->role, sizeof(r->role), "%s", role);
}

void dt_report_provider(struct dt_report *r, const char *provider,
			const char *device)
{
	snprintf(r->provider, sizeof(r->provider), "%s", provider);
	snprintf(r->device, sizeof(r->device), "%s", device);
}

static void wipe_progress(struct dt_report *r)
{
	if (r->progress)
		fputs("\r\033[K", stderr);
	r->progress = false;
}

#define PRINT(r, fmt)                             \
	do {                                      \
		va_list ap;                       \
                                                  \
		pthread_mutex_lock(&(r)->lock);   \
		wipe_progress(r);                 \
		va_start(ap, fmt);                \
		vfprintf((r)->text, (fmt), ap);   \
		va_end(ap);                       \
		fflush((r)->text);                \
		pthread_mutex_unlock(&(r)->lock); \
	} while (0)

void dt_say(struct dt_report *r, const char *fmt, ...)
{
	if (!r->quiet)
		PRINT(r, fmt);
}

void dt_trace(struct dt_report *r, const char *fmt, ...)
{
	if (r->verbose > 0)
		PRINT(r, fmt);
}

void dt_line(struct dt_report *r, const char *fmt, ...)
{
	if (!r->quiet)
		PRINT(r, fmt);
}

/* Whether a line is due; then the next one is not for a while. */
static bool progress_due(struct dt_report *r)
{
	uint64_t now = dt_now_ns();

	if (now - r->shown_ns < PROGRESS_NS)
		return false;
	r->shown_ns = now;
	return true;
}

void dt_progress(struct dt_report *r, const char *fmt, ...)
{
	va_list ap;

	if (r->quiet || !r->terminal || !progress_due(r))
		return;
	pthread_mutex_lock(&r->lock);
	wipe_progress(r);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	r->progress = true;
	pthread_mutex_unlock(&r->lock);
}

int dt_fail(struct dt_report *r, enum dt_exit code, const char *fmt, ...)
{
	char text[sizeof(r->error)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&r->lock);
	wipe_progress(r);
	fflush(r->text);
	/* "ERR" is what scripts look for in the log of a failed run. */
	fprintf(stderr, "%d: ERR: %s\n", r->pid, text);
	if (!r->code) {
		r->code = code;
		memcpy(r->error, text, sizeof(text));
	}
	pthread_mutex_unlock(&r->lock);
	return code;
}

static void put_who(struct dt_report *r, struct dt_json *j)
{
	dt_json_begin(j, r->json);
	dt_json_text(j, "tool", r->tool);
	dt_json_text(j, "role", r->role);
	if (r->name)
		dt_json_text(j, "name", r->name);
	dt_json_text(j, "provider", r->provider);
	dt_json_text(j, "device", r->device);
}

/* Times of an empty loop are unknown, not 0. */
static double known(const struct dt_result *res, double value)
{
	return res->stats.count ? value : (double)NAN;
}

static void put_record(struct dt_report *r, const struct dt_result *res)
{
	struct dt_json j;

	put_who(r, &j);
	dt_json_text(&j, "test", res->test);
	dt_json_text(&j, "op", res->op);
	dt_json_count(&j, "bytes", res->bytes);
	dt_json_count(&j, "iterations", res->iterations);
	dt_json_number(&j, "t_min_us", known(res, res->stats.min_us));
	dt_json_number(&j, "t_max_us", known(res, res->stats.max_us));
	dt_json_number(&j, "t_typical_us", known(res, res->stats.typical_us));
	dt_json_number(&j, "t_avg_us", known(res, res->stats.avg_us));
	dt_json_number(&j, "t_stdev_us", known(res, res->stats.stdev_us));
	dt_json_number(&j, "p99_us", known(res, res->stats.p99_us));
	dt_json_number(&j, "p999_us", known(res, res->stats.p999_us));
	if (res->kind == DT_RATE) {
		dt_json_count(&j, "burst", res->burst);
		dt_json_number(&j, "rate_per_s", known(res, res->rate_per_s));
		dt_json_number(&j, "kB_each",
			       res->kb_each > 0 ? res->kb_each : (double)NAN);
	} else {
		if (res->kind == DT_BANDWIDTH)
			dt_json_number(&j, "bw_peak_MBps",
				       known(res, res->bw_peak_mbps));
		dt_json_number(&j, "bw_avg_MBps", known(res, res->bw_avg_mbps));
		dt_json_number(&j, "msg_rate_Mpps",
			       known(res, res->msg_rate_mpps));
	}
	dt_json_text(&j, "result", res->result);
	if (res->why[0])
		dt_json_text(&j, "why", res->why);
	dt_json_end(&j);
}

void dt_result_begin(struct dt_result *res, enum dt_kind kind, const char *test,
		     const char *op)
{
	memset(res, 0, sizeof(*res));
	res->kind = kind;
	snprintf(res->test, sizeof(res->test), "%s", test);
	snprintf(res->op, sizeof(res->op), "%s", op);
	res->result = "PASSED";
}

void dt_result_rates(struct dt_result *res)
{
	double bytes = (double)res->bytes;

	res->iterations = res->stats.count;
	if (!res->stats.count || res->stats.min_us <= 0)
		return;
	res->bw_avg_mbps = bytes / res->stats.avg_us;
	res->bw_peak_mbps = bytes / res->stats.min_us;
	res->msg_rate_mpps = 1 / res->stats.avg_us;
}

void dt_result_total(struct dt_result *res, uint64_t n, uint64_t ns)
{
	double bytes = (double)res->bytes;

	res->iterations = n;
	if (ns)
		res->msg_rate_mpps = (double)n * 1e3 / (double)ns;
	res->bw_avg_mbps = res->msg_rate_mpps * bytes;
	if (res->stats.min_us > 0)
		res->bw_peak_mbps = bytes / res->stats.min_us;
	/* Samples may overlap, so the best may be below the mean of all. */
	if (res->bw_peak_mbps < res->bw_avg_mbps)
		res->bw_peak_mbps = res->bw_avg_mbps;
}

static bool add_row(struct dt_report *r, const struct dt_result *res)
{
	if (r->row_count == r->row_room) {
		size_t room = r->row_room ? 2 * r->row_room : 16;
		struct dt_result *rows = realloc(r->rows, room * sizeof(*rows));

		if (!rows)
			return false;
		r->rows = rows;
		r->row_room = room;
	}
	r->rows[r->row_count++] = *res;
	return true;
}

void dt_report_result(struct dt_report *r, const struct dt_result *res)
{
	bool added;

	pthread_mutex_lock(&r->lock);
	if (r->json)
		put_record(r, res);
	added = add_row(r, res);
	pthread_mutex_unlock(&r->lock);
	if (!added)
		dt_fail(r, DT_ENVIRONMENT, "no memory for the table");
}

void dt_report_skipped(struct dt_report *r, const char *test, const char *op,
		       const char *fmt, ...)
{
	struct dt_result res;
	va_list ap;

	dt_result_begin(&res, DT_NO_FIGURES, test, op);
	res.result = "SKIPPED";
	va_start(ap, fmt);
	vsnprintf(res.why, sizeof(res.why), fmt, ap);
	va_end(ap);
	dt_say(r, "%d: %s SKIPPED: %s\n", r->pid, test, res.why);
	dt_report_result(r, &res);
}

static void put_latency_row(FILE *out, const struct dt_result *res)
{
	const struct dt_stats *s = &res->stats;

	fprintf(out,
		" %-7llu %-11llu %-11.2f %-11.2f %-15.2f %-11.2f %-13.2f "
		"%-20.2f %-21.2f %s\n",
		(unsigned long long)res->bytes,
		(unsigned long long)res->iterations, s->min_us, s->max_us,
		s->typical_us, s->avg_us, s->stdev_us, s->p99_us, s->p999_us,
		res->test);
}

static void put_bandwidth_row(FILE *out, const struct dt_result *res)
{
	fprintf(out, " %-7llu %-11llu %-15.2f %-18.2f %-13.6f %s\n",
		(unsigned long long)res->bytes,
		(unsigned long long)res->iterations, res->bw_peak_mbps,
		res->bw_avg_mbps, res->msg_rate_mpps, res->test);
}

static void put_rate_row(FILE *out, const struct dt_result *res)
{
	const struct dt_stats *s = &res->stats;

	fprintf(out,
		" %-7llu %-6u %-11.2f %-11.2f %-15.2f %-11.2f %-20.2f %-10.2f "
		"%s\n",
		(unsigned long long)res->iterations, res->burst, s->min_us,
		s->max_us, s->typical_us, s->avg_us, s->p99_us, res->rate_per_s,
		res->test);
}

/* One table for each kind, in this order. */
static const struct {
	enum dt_kind kind;
	const char *header;
	void (*put_row)(FILE *out, const struct dt_result *res);
} tables[] = {
	{DT_LATENCY,
	 " #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] "
	 "t_avg[usec] t_stdev[usec] 99% percentile[usec] "
	 "99.9% percentile[usec]",
	 put_latency_row},
	{DT_BANDWIDTH,
	 " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]",
	 put_bandwidth_row},
	{DT_RATE,
	 " #conns #burst t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] "
	 "99% percentile[usec] rate[1/sec]",
	 put_rate_row},
};

static void put_table(struct dt_report *r, size_t table)
{
	bool header = false;

	for (size_t i = 0; i < r->row_count; i++) {
		const struct dt_result *res = &r->rows[i];

		if (res->kind != tables[table].kind ||
		    strcmp(res->result, "PASSED"))
			continue;
		if (!header)
			fprintf(r->text, "\n%s\n", tables[table].header);
		header = true;
		tables[table].put_row(r->text, res);
	}
}

static void put_skips(struct dt_report *r)
{
	for (size_t i = 0; i < r->row_count; i++)
		if (!strcmp(r->rows[i].result, "SKIPPED"))
			fprintf(r->text, " SKIPPED %s: %s\n", r->rows[i].test,
				r->rows[i].why);
}

static void put_summary(struct dt_report *r, int code)
{
	struct dt_json j;

	put_who(r, &j);
	dt_json_text(&j, "test", "summary");
	dt_json_text(&j, "result", code ? "FAILED" : "PASSED");
	dt_json_count(&j, "exit", (uint64_t)code);
	if (r->error[0])
		dt_json_text(&j, "error", r->error);
	dt_json_end(&j);
}

int dt_report_close(struct dt_report *r, int code)
{
	bool broken = false;

	wipe_progress(r);
	if (!code)
		code = r->code;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		put_table(r, i);
	if (r->quiet)
		put_skips(r);
	fprintf(r->text, "\n%d: DAPL Test Complete. %s\n", r->pid,
		code ? "FAILED" : "PASSED");
	if (r->json) {
		put_summary(r, code);
		broken = ferror(r->json);
		if (r->json != stdout)
			broken |= fclose(r->json) != 0;
	}
	broken |= fflush(r->text) != 0 || ferror(r->text);
	if (broken)
		fprintf(stderr, "%d: ERR: results could not be written\n",
			r->pid);
	free(r->rows);
	r->rows = NULL;
	r->row_count = r->row_room = 0;
	pthread_mutex_destroy(&r->lock);
	return broken && !code ? DT_FAILED : code;
}
