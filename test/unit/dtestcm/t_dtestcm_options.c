/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dtestcm_options.c - tests of what dtestcm is told, and of what its sides
 * must agree on.
 *
 * Calls covered: dtcm_parse, dtcm_steps, dtcm_burst, dtcm_rejects,
 * dtcm_params, dtcm_mismatch. Rule: defaults and letters are historic.
 */
#include "test/dtestcm/dtestcm.h"
#include "test/unit/cmdline.h"

#include <stdlib.h>
#include <string.h>

static int parse(const char *line, struct dtcm_opts *o)
{
	return cmdline_parse("dtestcm", dtcm_parse, line, o);
}

CASE(dtestcm_parse__historic_defaults)
{
	struct dtcm_opts o;

	assert_int_equal(parse("", &o), -1);
	assert_null(o.run.host);
	assert_string_equal(o.run.provider, "ofa-v2-ib0");
	assert_int_equal(o.run.port, 45248);
	assert_int_equal(o.run.oob_port, 15828);
	assert_int_equal(o.run.timeout_s, 30);
	assert_int_equal(o.run.cpu, -1);
	assert_int_equal(o.count, 1000);
	assert_int_equal(o.burst, 100);
	assert_false(o.wait);
	assert_false(o.window);
	assert_int_equal(dtcm_steps(&o), 1);
	assert_int_equal(dtcm_burst(&o, 0), 100);
}

CASE(dtestcm_parse__historic_letters)
{
	struct dtcm_opts o;

	assert_int_equal(parse("-h a -P p -c 7 -b 3 -m -w -d 2 -p 99 -v", &o),
			 -1);
	assert_string_equal(o.run.host, "a");
	assert_string_equal(o.run.provider, "p");
	assert_int_equal(o.count, 7);
	assert_int_equal(o.burst, 3);
	assert_true(o.many_ports);
	assert_true(o.wait);
	assert_int_equal(o.delay_s, 2);
	assert_int_equal(o.run.port, 99);
	assert_int_equal(o.run.verbose, 1);
	assert_false(o.ud);
	assert_int_equal(parse("-u", &o), -1);
	assert_true(o.ud);
	assert_int_equal(parse("-q 18 -l 3", &o), -1);
	assert_int_equal(o.run.qpn, 18);
	assert_int_equal(o.run.lid, 3);
}

CASE(dtestcm_parse__no_sense)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"-c 0", "-c 0: out of range"},
		{"-b 0", "-b 0: out of range"},
		{"--reject 101", "out of range"},
		{"-m --ramp 1,2", "choose one"},
		{"-b 5 --ramp 1,2", "choose one"},
		{"-m -b 100 -p 65500", "not that many qualifiers"},
		{"-c 5 --warmup 5", "nothing would be left"},
		{"-u --hold 1", "nothing that could break"},
	};
	struct dtcm_opts o;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (parse(rows[i].line, &o) != 2 ||
		    !strstr(cmdline.err, rows[i].says))
			fail_msg("'%s': '%s'", rows[i].line, cmdline.err);
	/* As many as fit exactly. */
	assert_int_equal(parse("-m -b 36 -p 65500", &o), -1);
}

CASE(burst__not_above_the_count)
{
	struct dtcm_opts o;

	assert_int_equal(parse("-c 10 --ramp 1,10,100", &o), -1);
	assert_int_equal(dtcm_steps(&o), 3);
	assert_int_equal(dtcm_burst(&o, 0), 1);
	assert_int_equal(dtcm_burst(&o, 1), 10);
	assert_int_equal(dtcm_burst(&o, 2), 10);
	assert_int_equal(parse("-c 10", &o), -1);
	assert_int_equal(dtcm_burst(&o, 0), 10);
}

CASE(rejects__share_is_exact_and_even)
{
	for (uint32_t percent = 0; percent <= 100; percent++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < 1000; i++) {
			n += dtcm_rejects(percent, i);
			assert_int_equal(n, (i + 1) * percent / 100);
		}
	}
}

CASE(dtestcm_mismatch__what_must_agree)
{
	static const struct {
		const char *server, *client, *says; /* NULL: they agree */
	} rows[] = {
		{"", "", NULL},
		{"", "-w --window -v --hold 3 -b 7", NULL},
		{"-c 5", "-c 6", "-c"},
		{"-c 5 -m -b 2", "-c 5", "-m"},
		{"-c 5 -m -b 2", "-c 5 -m -b 3", "-b"},
		{"-c 5 --reject 10", "-c 5", "--reject"},
		{"-c 5 --ramp 1,2", "-c 5", "--ramp"},
		{"-u", "-u -b 7", NULL},
		{"-u", "", "-u"},
		{"", "-u", "-u"},
		{"-u -c 5", "-u -c 6", "-c"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dt_oob_params theirs;
		struct dtcm_opts o;
		const char *why;

		assert_int_equal(parse(rows[i].server, &o), -1);
		theirs = dtcm_params(&o);
		assert_int_equal(parse(rows[i].client, &o), -1);
		why = dtcm_mismatch(&o, &theirs);
		if (!why != !rows[i].says ||
		    (why && !strstr(why, rows[i].says)))
			fail_msg("'%s', '%s': %s", rows[i].server,
				 rows[i].client, why ? why : "agree");
	}
}

CASE(dtestcm_mismatch__other_servers)
{
	struct dt_oob_params theirs = {.known = false};
	struct dtcm_opts o;

	assert_int_equal(parse("-m", &o), -1);
	assert_null(dtcm_mismatch(&o, &theirs));
	assert_int_equal(parse("--reject 5", &o), -1);
	assert_non_null(strstr(dtcm_mismatch(&o, &theirs), "older"));
	theirs = dtcm_params(&o);
	theirs.mode = 2; /* dtest -W */
	assert_non_null(
		strstr(dtcm_mismatch(&o, &theirs), "another test tool"));
}

RUN_CASES(NULL, cmdline_forget)
