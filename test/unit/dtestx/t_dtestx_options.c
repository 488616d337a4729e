/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dtestx_options.c - tests of what dtestx is told, and of what its sides must
 * agree on.
 *
 * Calls covered: dx_parse, dx_params, dx_mismatch. Rule: defaults and letters
 * are historic.
 */
#include "test/dtestx/dtestx.h"
#include "test/unit/cmdline.h"

#include <string.h>

static int parse(const char *line, struct dx_opts *o)
{
	return cmdline_parse("dtestx", dx_parse, line, o);
}

CASE(dtestx_parse__historic_defaults)
{
	struct dx_opts o;

	assert_int_equal(parse("", &o), -1);
	assert_null(o.run.host);
	assert_string_equal(o.run.provider, "ofa-v2-mlx4_0-1u");
	assert_int_equal(o.run.port, 31112);
	assert_int_equal(o.run.oob_port, 15828);
	assert_int_equal(o.size, 256);
	assert_false(o.query);
	assert_false(o.counters);
}

CASE(dtestx_parse__historic_letters)
{
	struct dx_opts o;

	assert_int_equal(parse("-h a -c -b 64 -p -v -P x", &o), -1);
	assert_string_equal(o.run.host, "a");
	assert_string_equal(o.run.provider, "x");
	assert_int_equal(o.size, 64);
	assert_true(o.counters);
	assert_int_equal(o.run.verbose, 1);
	/* In the sisters it takes the queue pair of a server. */
	assert_int_equal(parse("-q -s", &o), -1);
	assert_true(o.query);
	assert_int_equal(o.run.qpn, 0);
}

CASE(dtestx_parse__no_sense)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"-b 15", "from 16"},	     {"-b x", "not a number"},
		{"-c", "without -h"},	     {"-U 0", "out of range"},
		{"-U 1001", "out of range"}, {"nonsense", "not an option"},
	};
	struct dx_opts o;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (parse(rows[i].line, &o) != 2 ||
		    !strstr(cmdline.err, rows[i].says))
			fail_msg("'%s': '%s'", rows[i].line, cmdline.err);
	assert_int_equal(parse("-l 1", &o), 244);
}

CASE(dtestx_mismatch__what_must_agree)
{
	struct dt_oob_params theirs;
	struct dx_opts o;

	assert_int_equal(parse("-b 64", &o), -1);
	theirs = dx_params(&o);
	assert_null(dx_mismatch(&o, &theirs));
	theirs.size = 65;
	assert_non_null(strstr(dx_mismatch(&o, &theirs), "-b"));
	theirs = dx_params(&o);
	theirs.mode = 0;
	assert_non_null(strstr(dx_mismatch(&o, &theirs), "another test tool"));
	/* Of an older one nothing is known. */
	theirs.known = false;
	assert_null(dx_mismatch(&o, &theirs));
}

RUN_CASES(NULL, NULL)
