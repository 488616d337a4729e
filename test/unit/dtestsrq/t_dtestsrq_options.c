/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dtestsrq_options.c - tests of what dtestsrq is told, of what its sides
 * must agree on, and of its messages.
 *
 * Calls covered: dsrq_parse, dsrq_params, dsrq_mismatch, dsrq_fill,
 * dsrq_check, dsrq_sender. Rule: defaults, letters, limits and message layout
 * are historic.
 */
#include "test/dtestsrq/dtestsrq.h"
#include "test/unit/cmdline.h"

#include <stdlib.h>
#include <string.h>

static int parse(const char *line, struct dsrq_opts *o)
{
	return cmdline_parse("dtestsrq", dsrq_parse, line, o);
}

CASE(dtestsrq_parse__historic_defaults)
{
	struct dsrq_opts o;

	assert_int_equal(parse("", &o), -1);
	assert_string_equal(o.run.provider, "ofa-v2-ib0");
	assert_int_equal(o.run.port, 45248);
	assert_int_equal(o.count, 1);
	assert_int_equal(o.messages, 1);
	assert_int_equal(o.bursts, 3);
	assert_int_equal(o.size, 0);
	assert_int_equal(o.srq, 1);
	assert_int_equal(o.last, DSRQ_LAST_TRY);
}

CASE(dtestsrq_parse__historic_letters)
{
	struct dsrq_opts o;

	assert_int_equal(parse("-h a -c 100 -B 99 -t 0 -b 12 -S 0 -p 5", &o),
			 -1);
	assert_string_equal(o.run.host, "a");
	assert_int_equal(o.count, 100);
	assert_int_equal(o.messages, 99);
	assert_int_equal(o.bursts, 0);
	assert_int_equal(o.size, 12);
	assert_int_equal(o.srq, 0);
	assert_int_equal(o.run.port, 5);
	assert_false(o.ud);
	assert_int_equal(parse("-u", &o), -1);
	assert_true(o.ud);
}

CASE(dtestsrq_parse__no_sense)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"-c 101", "out of range"},
		{"-B 101", "out of range"},
		{"-t -1", "not a number"},
		{"-b 11", "from 12"},
		{"-S 2", "expected one of 0|1"},
		{"-S 0 --lowwater 1", "about the queue"},
		{"-S 0 --resize 9", "about the queue"},
		{"-c 2 -B 2 --lowwater 5", "fewer receives"},
		{"-t 0 --lowwater 1", "-t 0"},
		{"-c 2 -B 2 --resize 3", "more receives"},
		{"-t 1 --resize 3", "no burst"},
		{"--direct", "without -h"},
		{"-t 3 --warmup 3", "nothing would be left"},
		{"-u --last-receive need", "never disconnected"},
	};
	struct dsrq_opts o;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (parse(rows[i].line, &o) != 2 ||
		    !strstr(cmdline.err, rows[i].says))
			fail_msg("'%s': '%s'", rows[i].line, cmdline.err);
}

CASE(dtestsrq_mismatch__what_must_agree)
{
	static const struct {
		const char *server, *client, *says; /* NULL: they agree */
	} rows[] = {
		{"", "", NULL},		  {"", "-S 0 --poll --warmup 1", NULL},
		{"-b 64", "", NULL},	  {"-c 2", "-c 3", "-c"},
		{"-B 2", "-B 3", "-B"},	  {"-t 2", "-t 65535", "-t"},
		{"-b 64", "-b 65", "-b"}, {"-u", "-u -S 0", NULL},
		{"-u", "", "-u"},	  {"", "-u", "-u"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dt_oob_params theirs;
		struct dsrq_opts o;
		const char *why;

		assert_int_equal(parse(rows[i].server, &o), -1);
		theirs = dsrq_params(&o, o.size ? o.size : 1024);
		assert_int_equal(parse(rows[i].client, &o), -1);
		why = dsrq_mismatch(&o, &theirs);
		if (!why != !rows[i].says ||
		    (why && !strstr(why, rows[i].says)))
			fail_msg("'%s', '%s': %s", rows[i].server,
				 rows[i].client, why ? why : "agree");
	}
}

CASE(dtestsrq_mismatch__other_servers)
{
	struct dt_oob_params theirs = {.known = false};
	struct dsrq_opts o;

	/* Older ones do not answer at all, so this is no dtestsrq. */
	assert_int_equal(parse("", &o), -1);
	assert_non_null(dsrq_mismatch(&o, &theirs));
	theirs = dsrq_params(&o, 64);
	theirs.mode = 16;
	assert_non_null(dsrq_mismatch(&o, &theirs));
}

CASE(message__historic_layout)
{
	static const uint8_t client[12] = {0x55, 0xd7, 0, 0, 0,	  0,
					   0,	 3,    0, 0, 0x1, 0x2};
	uint8_t msg[16];

	dsrq_fill(msg, 12, false, 3, 0x102);
	assert_memory_equal(msg, client, 12);
	dsrq_fill(msg, 12, true, 3, 0x102);
	assert_int_equal(msg[0], 0xaa);
	assert_int_equal(dsrq_sender(msg), 3);
}

CASE(message__every_byte_is_checked)
{
	uint8_t msg[64];

	for (uint32_t at = 0; at < sizeof(msg); at++) {
		dsrq_fill(msg, sizeof(msg), true, 7, 9);
		assert_string_equal(
			dsrq_check(msg, sizeof(msg), true, 7, 9).what, "");
		msg[at] ^= 0x40;
		/* Bytes 1 to 3 are free: another byte 1 means "no pattern". */
		if (at >= 1 && at <= 3)
			continue;
		if (!dsrq_check(msg, sizeof(msg), true, 7, 9).what[0])
			fail_msg("byte %u", at);
	}
}

CASE(message__of_an_older_peer)
{
	uint8_t msg[64] = {0x55};

	msg[7] = 2;
	msg[11] = 1;
	assert_string_equal(dsrq_check(msg, sizeof(msg), false, 2, 1).what, "");
	assert_string_equal(dsrq_check(msg, sizeof(msg), false, 2, 2).what,
			    "number");
	assert_string_equal(dsrq_check(msg, sizeof(msg), false, 1, 1).what,
			    "endpoint");
	assert_string_equal(dsrq_check(msg, sizeof(msg), true, 2, 1).what,
			    "first byte");
}

RUN_CASES(NULL, cmdline_forget)
