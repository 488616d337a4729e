/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dtest_stats.c - tests of the figures and of the records of the test tools.
 *
 * Calls covered: dt_samples_*, dt_stats_compute, dt_parse_count, dt_json_*,
 * dt_report_*, dt_progress.
 */
#include "test/dtest/common/dt_json.h"
#include "test/dtest/common/dt_num.h"
#include "test/dtest/common/dt_report.h"
#include "test/dtest/common/dt_stats.h"
#include "test/dtest/common/dt_time.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/case.h"

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 1e-9 * (1 + fabs(want)))
		fail_msg("got %.12f, wanted %.12f", got, want);
}

/* n samples of 1, 2, ... n microseconds, in an order that is not sorted. */
static void fill(struct dt_samples *s, size_t n)
{
	assert_int_equal(dt_samples_init(s, n), 0);
	for (size_t i = 0; i < n; i++)
		dt_samples_add(s, (i * 7 % n + 1) * 1000);
}

static struct dt_stats stats_of(size_t n, size_t warmup, double divisor)
{
	struct dt_samples s;
	struct dt_stats st;

	fill(&s, n);
	dt_stats_compute(&s, warmup, divisor, &st);
	dt_samples_fini(&s);
	return st;
}

CASE(stats__none)
{
	struct dt_samples s;
	struct dt_stats st;

	assert_int_equal(dt_samples_init(&s, 0), 0);
	memset(&st, 0x55, sizeof(st));
	dt_stats_compute(&s, 0, 1, &st);
	assert_int_equal(st.count, 0);
	assert_near(st.max_us, 0);
	dt_samples_fini(&s);
}

CASE(stats__one)
{
	struct dt_stats st = stats_of(1, 0, 1);

	assert_int_equal(st.count, 1);
	assert_near(st.min_us, 1);
	assert_near(st.max_us, 1);
	assert_near(st.typical_us, 1);
	assert_near(st.avg_us, 1);
	assert_near(st.stdev_us, 0);
	assert_near(st.p99_us, 1);
	assert_near(st.p999_us, 1);
}

CASE(stats__known_values)
{
	struct dt_stats st = stats_of(1000, 0, 1);

	assert_int_equal(st.count, 1000);
	assert_near(st.min_us, 1);
	assert_near(st.max_us, 1000);
	assert_near(st.typical_us, 500.5);
	assert_near(st.avg_us, 500.5);
	assert_near(st.stdev_us, sqrt((1000.0 * 1000 - 1) / 12));
	assert_near(st.p99_us, 990);
	assert_near(st.p999_us, 999);
}

CASE(stats__percentile_of_few_is_the_largest)
{
	struct dt_stats st = stats_of(4, 0, 1);

	assert_near(st.p99_us, 4);
	assert_near(st.p999_us, 4);
	assert_near(st.typical_us, 2.5);
}

CASE(stats__half_of_a_round_trip)
{
	struct dt_stats st = stats_of(5, 0, 2);

	assert_near(st.min_us, 0.5);
	assert_near(st.typical_us, 1.5);
	assert_near(st.avg_us, 1.5);
	assert_near(st.max_us, 2.5);
	assert_near(st.stdev_us, sqrt(2) / 2);
}

CASE(stats__warmup_is_left_out)
{
	struct dt_samples s;
	struct dt_stats st;

	assert_int_equal(dt_samples_init(&s, 3), 0);
	dt_samples_add(&s, 900000);
	dt_samples_add(&s, 3000);
	dt_samples_add(&s, 1000);
	dt_stats_compute(&s, 1, 1, &st);
	assert_int_equal(st.count, 2);
	assert_near(st.max_us, 3);
	dt_stats_compute(&s, 3, 1, &st);
	assert_int_equal(st.count, 0);
	dt_samples_fini(&s);
}

CASE(stats__deviation_of_large_values)
{
	struct dt_samples s;
	struct dt_stats st;

	assert_int_equal(dt_samples_init(&s, 2), 0);
	dt_samples_add(&s, 1000000000000000ull);
	dt_samples_add(&s, 1000000000002000ull);
	dt_stats_compute(&s, 0, 1, &st);
	if (fabs(st.stdev_us - 1) > 0.01)
		fail_msg("deviation %.6f, wanted 1", st.stdev_us);
	dt_samples_fini(&s);
}

CASE(samples_add__full_drops)
{
	struct dt_samples s;

	assert_int_equal(dt_samples_init(&s, 2), 0);
	for (int i = 0; i < 5; i++)
		dt_samples_add(&s, 1);
	assert_int_equal(s.count, 2);
	dt_samples_clear(&s);
	assert_int_equal(s.count, 0);
	dt_samples_fini(&s);
}

CASE(parse_count__table)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t value;
	} rows[] = {
		{"0", 0, 0},
		{"7", 0, 7},
		{"100", 0, 100},
		{"0009", 0, 9},
		{"101", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"18446744073709551616", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1e2", -EINVAL, 0},
		{"ten", -EINVAL, 0},
		{NULL, -EINVAL, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 4711;
		int rc = dt_parse_count(rows[i].text, 0, 100, &value);

		if (rc != rows[i].rc || value != (rc ? 4711 : rows[i].value))
			fail_msg("'%s': %d, %llu",
				 rows[i].text ? rows[i].text : "NULL", rc,
				 (unsigned long long)value);
	}
}

/* What a writer put into memory; the caller frees it. */
struct text {
	FILE *f;
	char *s;
	size_t n;
};

static void text_open(struct text *t)
{
	memset(t, 0, sizeof(*t));
	t->f = open_memstream(&t->s, &t->n);
	assert_non_null(t->f);
}

CASE(json__escapes)
{
	struct dt_json j;
	struct text t;

	text_open(&t);
	dt_json_begin(&j, t.f);
	dt_json_text(&j, "a", "q\" b\\ n\n d\x7f");
	dt_json_text(&j, "good", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
	dt_json_text(&j, "bad", "\xff \xc0\x80 \xe2\x82 \xed\xa0\x80");
	dt_json_text(&j, "null", NULL);
	dt_json_end(&j);
	fclose(t.f);
	assert_string_equal(
		t.s, "{\"a\":\"q\\\" b\\\\ n\\u000a d\\u007f\","
		     "\"good\":\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\","
		     "\"bad\":\"\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd "
		     "\\ufffd\\ufffd\\ufffd\",\"null\":\"\"}\n");
	free(t.s);
}

CASE(json__numbers)
{
	struct dt_json j;
	struct text t;

	text_open(&t);
	dt_json_begin(&j, t.f);
	dt_json_count(&j, "big", UINT64_MAX);
	dt_json_number(&j, "half", 0.5);
	dt_json_number(&j, "inf", (double)INFINITY);
	dt_json_number(&j, "nan", (double)NAN);
	dt_json_end(&j);
	fclose(t.f);
	assert_string_equal(t.s, "{\"big\":18446744073709551615,\"half\":0.5,"
				 "\"inf\":null,\"nan\":null}\n");
	free(t.s);
}

CASE(json__empty_object)
{
	struct dt_json j;
	struct text t;

	text_open(&t);
	dt_json_begin(&j, t.f);
	dt_json_end(&j);
	fclose(t.f);
	assert_string_equal(t.s, "{}\n");
	free(t.s);
}

/* A reporter whose text goes to memory. */
static void report_to(struct dt_report *r, struct text *t, bool quiet)
{
	assert_int_equal(dt_report_open(r, "dtest", NULL), 0);
	text_open(t);
	r->text = t->f;
	r->quiet = quiet;
}

static struct dt_result row(enum dt_kind kind)
{
	struct dt_result res;

	memset(&res, 0, sizeof(res));
	strcpy(res.test, kind == DT_LATENCY ? "lat" : "bw");
	res.kind = kind;
	res.bytes = 64;
	res.iterations = 100;
	res.stats.count = 100;
	res.stats.min_us = 1.25;
	res.bw_avg_mbps = 12.5;
	res.result = "PASSED";
	return res;
}

CASE(report__passed)
{
	struct dt_result lat = row(DT_LATENCY), bw = row(DT_BANDWIDTH);
	struct dt_report r;
	struct text t;

	report_to(&r, &t, false);
	dt_report_result(&r, &bw);
	dt_report_result(&r, &lat);
	assert_int_equal(dt_report_close(&r, 0), 0);
	fclose(t.f);
	assert_non_null(strstr(t.s, " #bytes #iterations t_min[usec]"));
	assert_non_null(strstr(t.s, " 64      100         1.25"));
	assert_non_null(strstr(t.s, "BW average[MB/sec] MsgRate[Mpps]\n"));
	/* Exactly one verdict, as the last line. */
	assert_string_equal(strrchr(t.s, ':'),
			    ": DAPL Test Complete. PASSED\n");
	assert_null(strstr(t.s, "FAILED"));
	free(t.s);
}

CASE(report__first_error_stays)
{
	struct dt_report r;
	struct text t;

	report_to(&r, &t, false);
	assert_int_equal(dt_fail(&r, DT_MISMATCH, "first %d", 1), DT_MISMATCH);
	assert_int_equal(dt_fail(&r, DT_FAILED, "second"), DT_FAILED);
	assert_string_equal(r.error, "first 1");
	/* Even if the code got lost on its way up. */
	assert_int_equal(dt_report_close(&r, 0), DT_MISMATCH);
	fclose(t.f);
	assert_non_null(strstr(t.s, "DAPL Test Complete. FAILED\n"));
	assert_null(strstr(t.s, "PASSED"));
	free(t.s);
}

CASE(report__quiet_still_tells_of_skips)
{
	struct dt_report r;
	struct text t;

	report_to(&r, &t, true);
	dt_say(&r, "progress\n");
	dt_line(&r, "historic line\n");
	dt_report_skipped(&r, "rdma_read", "read", "no %s", "way");
	assert_int_equal(dt_report_close(&r, 0), 0);
	fclose(t.f);
	assert_null(strstr(t.s, "progress"));
	assert_null(strstr(t.s, "historic"));
	assert_null(strstr(t.s, "#bytes"));
	assert_non_null(strstr(t.s, " SKIPPED rdma_read: no way\n"));
	free(t.s);
}

/* What dt_progress() writes where standard error is `fd`. */
static void show(int fd, bool quiet)
{
	int old = dup(STDERR_FILENO);
	struct dt_report r;
	struct text t;

	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	report_to(&r, &t, quiet);
	dt_progress(&r, "too early");
	r.shown_ns -= DT_NS_PER_S;
	dt_progress(&r, "%d of 9", 7);
	dt_progress(&r, "too soon");
	dt_say(&r, "over\n");
	dt_report_close(&r, 0);
	fflush(stderr);
	assert_true(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	fclose(t.f);
	free(t.s);
}

/* What a terminal shows comes in pieces. */
static void expect_shown(int master, const char *want)
{
	struct pollfd pfd = {.fd = master, .events = POLLIN};
	char text[64];
	size_t got = 0;

	while (got < strlen(want)) {
		assert_int_equal(poll(&pfd, 1, 10000), 1);
		got += (size_t)read(master, text + got, sizeof(text) - got);
		assert_in_range(got, 1, sizeof(text) - 1);
	}
	text[got] = 0;
	assert_string_equal(text, want);
}

CASE(progress__on_a_terminal)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	show(slave, true);
	assert_int_equal(write(slave, "quiet;", 6), 6);
	show(slave, false);
	/* Shown, and wiped before the next line. */
	expect_shown(master, "quiet;7 of 9\r\033[K");
	close(slave);
	close(master);
}

CASE(progress__not_in_a_file)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	show(fileno(f), false);
	assert_int_equal(lseek(fileno(f), 0, SEEK_END), 0);
	fclose(f);
}

CASE(report__records)
{
	struct dt_result lat = row(DT_LATENCY), none = row(DT_BANDWIDTH);
	struct dt_report r;
	struct text t, j;

	report_to(&r, &t, false);
	text_open(&j);
	r.json = j.f;
	dt_report_role(&r, "client");
	dt_report_provider(&r, "ofa-v2-x", "rxe0");
	dt_report_result(&r, &lat);
	none.stats.count = 0; /* nothing was measured */
	dt_report_result(&r, &none);
	dt_fail(&r, DT_FAILED, "broken");
	/* The stream is the reporter's: it closes it. */
	assert_int_equal(dt_report_close(&r, DT_FAILED), DT_FAILED);
	fclose(t.f);
	assert_non_null(strstr(
		j.s, "{\"tool\":\"dtest\",\"role\":\"client\",\"provider\":"
		     "\"ofa-v2-x\",\"device\":\"rxe0\",\"test\":\"lat\""));
	assert_non_null(strstr(j.s, "\"bytes\":64,\"iterations\":100,"
				    "\"t_min_us\":1.25,"));
	assert_non_null(strstr(j.s, "\"t_min_us\":null,"));
	assert_non_null(strstr(j.s, "\"test\":\"summary\",\"result\":"
				    "\"FAILED\",\"exit\":1,\"error\":"
				    "\"broken\"}\n"));
	free(t.s);
	free(j.s);
}

CASE(report_close__text_that_cannot_be_written)
{
	struct dt_report r;
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	assert_int_equal(dt_report_open(&r, "dtest", NULL), 0);
	r.text = full;
	assert_int_equal(dt_report_close(&r, 0), DT_FAILED);
	fclose(full);
}

CASE(report_open__no_such_place)
{
	struct dt_report r;

	assert_int_equal(dt_report_open(&r, "dtest", "/nowhere/at/all"),
			 -ENOENT);
}

RUN_CASES(NULL, NULL)
