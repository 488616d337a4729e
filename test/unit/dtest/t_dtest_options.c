/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dtest_options.c - tests of the command line of dtest.
 *
 * Calls covered: dtest_parse, dtest_sizes.
 * Rule: letters and defaults of the historic tool; exit status 244 for its
 * usage errors, 2 for those of the new style.
 */
#include "test/dtest/dtest.h"
#include "test/unit/cmdline.h"

#include <string.h>

/* What the last command line came to, which it points into. */
static struct {
	int rc;
	struct dtest_opts o;
} p;

static void parse(const char *line)
{
	memset(&p, 0, sizeof(p));
	p.rc = cmdline_parse("dtest", dtest_parse, line, &p.o);
}

CASE(dtest_parse__historic_defaults)
{
	parse("");
	assert_int_equal(p.rc, -1);
	assert_null(p.o.run.host);
	assert_string_equal(p.o.run.provider, "ofa-v2-mlx4_0-1u");
	assert_false(p.o.run.provider_given);
	assert_int_equal(p.o.mode, DTEST_ALL);
	assert_int_equal(p.o.size, 4194304);
	assert_int_equal(p.o.count, 1000);
	assert_int_equal(p.o.signal, 10);
	assert_false(p.o.uni);
	assert_int_equal(p.o.wait, DT_WAIT_EVENT);
	assert_int_equal(p.o.run.timeout_s, 30);
	assert_int_equal(p.o.run.oob_port, 15828);
	assert_int_equal(p.o.run.port, 45248);
	assert_int_equal(p.o.run.cpu, -1);
	assert_null(p.o.run.json_path);
}

CASE(parse__values_that_were_given_count_in_any_order)
{
	static const struct {
		const char *line;
		enum dtest_mode mode;
		uint32_t size, count, signal;
		bool uni;
	} rows[] = {
		{"-W", DTEST_PINGPONG, 1, 1000, 1, true},
		{"-W -b 64", DTEST_PINGPONG, 64, 1000, 1, true},
		{"-b 64 -W", DTEST_PINGPONG, 64, 1000, 1, true},
		{"-B 5 -S 2 -W", DTEST_PINGPONG, 1, 5, 2, true},
		{"-W -B 5 -S 2", DTEST_PINGPONG, 1, 5, 2, true},
		{"-D", DTEST_CHECK, 4194304, 1000, 1, true},
		{"-W -D", DTEST_CHECK, 4194304, 1000, 1, true},
		{"-D -W -b 8", DTEST_CHECK, 8, 1000, 1, true},
		{"-w", DTEST_STREAM, 4194304, 1000, 10, false},
		{"-w -u", DTEST_STREAM, 4194304, 1000, 10, true},
		{"-uwb64 -B3", DTEST_STREAM, 64, 3, 3, true},
		{"-S 500 -B 20", DTEST_ALL, 4194304, 20, 20, false},
		{"-B 0", DTEST_ALL, 4194304, 0, 10, false},
		{"--size 9 --iters 4", DTEST_ALL, 9, 4, 4, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(rows[i].line);
		if (p.rc != -1 || p.o.mode != rows[i].mode ||
		    p.o.size != rows[i].size || p.o.count != rows[i].count ||
		    p.o.signal != rows[i].signal || p.o.uni != rows[i].uni)
			fail_msg("'%s': rc %d mode %d size %u count %u signal "
				 "%u uni %d",
				 rows[i].line, p.rc, p.o.mode, p.o.size,
				 p.o.count, p.o.signal, p.o.uni);
	}
}

CASE(parse__measuring_tests)
{
	static const struct {
		const char *line;
		int rc;
		uint32_t perf, size, depth;
		const char *says;
	} rows[] = {
		{"--perf send_lat", -1, 0, 4096, 64, ""},
		{"--perf write_bw -b 9 --depth 3 -S 2", -1, 4, 9, 3, ""},
		{"--perf read_bw -a -S 4096", -1, 3, 4096, 64, ""},
		{"--perf lat", 2, 0, 0, 0, "expected one of send_lat|"},
		{"--perf send_bw -W", 2, 0, 0, 0, "choose one of them"},
		{"--perf send_bw -i 5", 2, 0, 0, 0, "use -a"},
		{"--perf send_bw -B 0", 2, 0, 0, 0, "needs one at least"},
		{"--perf send_bw --depth 0", 2, 0, 0, 0, "out of range"},
		{"--perf send_bw -B 5 --warmup 5", 2, 0, 0, 0, "nothing"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(rows[i].line);
		if (p.rc != rows[i].rc || !strstr(cmdline.err, rows[i].says))
			fail_msg("'%s': rc %d, says '%s'", rows[i].line, p.rc,
				 cmdline.err);
		if (p.rc == -1 &&
		    (p.o.mode != DTEST_PERF || p.o.perf != rows[i].perf ||
		     p.o.size != rows[i].size || p.o.depth != rows[i].depth))
			fail_msg("'%s': perf %u size %u depth %u", rows[i].line,
				 p.o.perf, p.o.size, p.o.depth);
	}
}

CASE(sizes__of_a_measuring_test_are_powers_of_two)
{
	static const uint32_t want[] = {1, 2, 4, 8, 16, 32, 64};
	uint32_t sizes[16];

	parse("--perf send_lat -a -b 100");
	assert_int_equal(dtest_sizes(&p.o, sizes, 16), 7);
	assert_memory_equal(sizes, want, sizeof(want));
}

CASE(parse__role_is_the_last_one_given)
{
	parse("-s -h there");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.o.run.host, "there");
	parse("-h there -s");
	assert_int_equal(p.rc, -1);
	assert_null(p.o.run.host);
}

CASE(parse__all_letters)
{
	parse("-P ofa-v2-x -c -t -v -v -d 3 -D -a -i 8");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.o.run.provider, "ofa-v2-x");
	assert_true(p.o.run.provider_given);
	assert_int_equal(p.o.wait, DT_WAIT_CNO);
	assert_true(p.o.timing);
	assert_int_equal(p.o.run.verbose, 2);
	assert_int_equal(p.o.delay_s, 3);
	assert_true(p.o.all_sizes);
	assert_int_equal(p.o.step, 8);
	assert_int_equal(p.o.verify, DTEST_VERIFY_FULL);
}

CASE(dtest_parse__long_options)
{
	parse("--timeout=5 --oob-port 7 --port 8 --warmup 9 --verify none "
	      "--reads 11 "
	      "--cpu 0 --quiet --json=f");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.o.run.timeout_s, 5);
	assert_true(p.o.run.timeout_given);
	assert_int_equal(p.o.run.oob_port, 7);
	assert_int_equal(p.o.run.port, 8);
	assert_int_equal(p.o.warmup, 9);
	assert_int_equal(p.o.reads, 11);
	assert_int_equal(p.o.verify, DTEST_VERIFY_NONE);
	assert_int_equal(p.o.run.cpu, 0);
	assert_true(p.o.run.quiet);
	assert_string_equal(p.o.run.json_path, "f");
	parse("--json");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.o.run.json_path, "");
}

CASE(dtest_parse__refused)
{
	static const struct {
		const char *line;
		int rc;
	} rows[] = {
		/* historic: usage on standard output */
		{"-U", DT_USAGE_SHORT},
		{"-x", DT_USAGE_SHORT},
		{"--quiet -vx", DT_USAGE_SHORT},
		{"-b", DT_USAGE_SHORT},
		{"-a", DT_USAGE_SHORT},
		{"-w -a", DT_USAGE_SHORT},
		{"-i 8", DT_USAGE_SHORT},
		/* new style: why, on standard error */
		{"--nonsense", DT_USAGE},
		{"--timeout", DT_USAGE},
		{"--quiet=3", DT_USAGE},
		{"-uwB3b64", DT_USAGE},
		{"--o", DT_USAGE},   /* --oob-port without its value */
		{"--ver", DT_USAGE}, /* --version or --verify */
		{"file", DT_USAGE},
		{"-b 0", DT_USAGE},
		{"-b 64k", DT_USAGE},
		{"-b -1", DT_USAGE},
		{"-b 99999999999999999999", DT_USAGE},
		{"-b 1073741825", DT_USAGE},
		{"-B many", DT_USAGE},
		{"-B 10000001", DT_USAGE},
		{"-S 0", DT_USAGE},
		{"-S 101", DT_USAGE},
		{"-S 500 -B 400", DT_USAGE},
		{"-w -S 5000 -B 6000", DT_USAGE},
		{"-W -B 0", DT_USAGE},
		{"-w -B 0", DT_USAGE},
		{"-w -W", DT_USAGE},
		{"-w -D", DT_USAGE},
		{"-W -i 8 -b 6", DT_USAGE},
		{"-W -i 1 -b 1000001", DT_USAGE},
		{"-d x", DT_USAGE},
		{"-h ''", DT_USAGE},
		{"-P ''", DT_USAGE},
		{"-P 0123456789012345678901234567890123456789012345678901234567"
		 "89012",
		 -1},
		{"-P 0123456789012345678901234567890123456789012345678901234567"
		 "890123",
		 DT_USAGE},
		{"--timeout 0", DT_USAGE},
		{"--port 0", DT_USAGE},
		{"--port 65536", DT_USAGE},
		{"--oob-port 65536", DT_USAGE},
		{"--verify some", DT_USAGE},
		{"--reads 0", DT_USAGE},
		{"--json=", DT_USAGE},
		{"--cpu -1", DT_USAGE},
		{"-W --warmup 1000", DT_USAGE},
		{"-W --warmup 999", -1},
		{"--warmup 100", DT_USAGE},
		{"--warmup 20 -B 20", DT_USAGE},
		{"--warmup 20 -B 0", -1},
		{"-w -B 30 --warmup 20", -1},
		{"-w -B 30 --warmup 21", DT_USAGE},
		{"--perf write_bw -B 30 --depth 4 --warmup 28", -1},
		{"--perf write_bw -B 30 --depth 4 --warmup 29", DT_USAGE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int want = rows[i].rc;

		parse(rows[i].line);
		if (p.rc != want ||
		    (want == DT_USAGE && (!cmdline.err[0] || cmdline.out[0])) ||
		    (want == DT_USAGE_SHORT &&
		     (cmdline.err[0] || !strstr(cmdline.out, "usage: dtest"))))
			fail_msg("'%s': %d, out '%s', err '%s'", rows[i].line,
				 p.rc, cmdline.out, cmdline.err);
	}
}

CASE(parse__error_names_option_and_value)
{
	parse("-b 12q");
	assert_non_null(strstr(cmdline.err, "-b 12q: not a number"));
	assert_non_null(strstr(cmdline.err, "from 1 to 1073741824"));
	parse("--wrong");
	assert_non_null(strstr(cmdline.err, "--wrong"));
}

CASE(dtest_parse__help_and_version)
{
	parse("--help");
	assert_int_equal(p.rc, DT_PASSED);
	assert_string_equal(cmdline.err, "");
	assert_non_null(strstr(cmdline.out, "usage: dtest"));
	assert_non_null(strstr(cmdline.out, "--json"));
	assert_non_null(strstr(cmdline.out, "Exit status"));
	parse("--version");
	assert_int_equal(p.rc, DT_PASSED);
	assert_int_equal(strncmp(cmdline.out, "dtest (dapl) ", 13), 0);
}

/* The lists were taken from runs of the historic tool. */
CASE(sizes__as_ever)
{
	static const struct {
		const char *line;
		const char *sizes;
	} rows[] = {
		{"-W -b 77", "77"},
		{"-W -a -b 16", "1 2 3 4 5 7 8 9 15 16"},
		{"-D -a -b 8", "1 2 3 4 5 7 8"},
		{"-W -a -b 1", "1"},
		{"-W -a -b 20", "1 2 3 4 5 7 8 9 15 16 17"},
		{"-W -a -i 8 -b 16", "7 8 9 15 16"},
		{"-W -i 8 -b 17", "7 8 9 15 16 17"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t sizes[64];
		char text[256] = "";
		size_t n;

		parse(rows[i].line);
		assert_int_equal(p.rc, -1);
		n = dtest_sizes(&p.o, sizes, 64);
		assert_in_range(n, 0, 64);
		for (size_t k = 0; k < n; k++)
			snprintf(text + strlen(text),
				 sizeof(text) - strlen(text), "%s%u",
				 k ? " " : "", sizes[k]);
		assert_string_equal(text, rows[i].sizes);
	}
}

CASE(sizes__counts_without_room)
{
	parse("-W -a -b 4096");
	assert_int_equal(dtest_sizes(&p.o, NULL, 0), 34);
	parse("-W -a -b 1073741824");
	assert_int_equal(dtest_sizes(&p.o, NULL, 0), 31 * 3 - 5);
}

RUN_CASES(NULL, cmdline_forget)
