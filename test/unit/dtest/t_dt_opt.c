/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dt_opt.c - tests of command lines that are tables.
 *
 * Calls covered: dt_opt_parse, dt_opt_bad, with a table of every kind.
 * Rule: 244 for a letter that is none, 2 for what is wrong otherwise, and one
 * line that names option, value and what was expected.
 */
#include "test/dtest/common/dt_opt.h"
#include "test/dtest/common/dt_report.h"
#include "test/unit/cmdline.h"

#include <stdbool.h>
#include <string.h>

struct values {
	bool flag, count_given;
	uint32_t more, count, choice;
	uint16_t port;
	int cpu;
	const char *text, *file, *host;
	struct dt_opt_list list;
};

#define AT(member) offsetof(struct values, member)

/* clang-format off */
static const struct dt_opt rows[] = {
	{'f', "flag", DT_OPT_FLAG, AT(flag), 0, 0, 0, NULL, "a flag"},
	{'v', NULL, DT_OPT_MORE, AT(more), 0, 0, 0, NULL, "more"},
	{'c', "count", DT_OPT_COUNT, AT(count), AT(count_given), 3, 20, "N",
	 "a count\nof two lines"},
	{'1', NULL, DT_OPT_SET, AT(choice), 0, 1, 0, NULL, "set"},
	{'2', NULL, DT_OPT_SET, AT(choice), 0, 2, 0, NULL, "set"},
	{0, "choice", DT_OPT_CHOICE, AT(choice), 0, 0, 0, "none|one|only", "c"},
	{0, "words", DT_OPT_CHOICE, AT(choice), 0, 0, 0,
	 "first_word|second_word|third_word|fourth_word", "many"},
	{0, "list", DT_OPT_LIST, AT(list), 0, 1, 100, "N,N,...", "a list"},
};
static const struct dt_opt common[] = {
	{'p', "port", DT_OPT_PORT, AT(port), 0, 0, 0, "N", "a port"},
	{0, "cpu", DT_OPT_CPU, AT(cpu), 0, 0, 0, "N", "a processor"},
	{'t', NULL, DT_OPT_TEXT, AT(text), 0, 0, 5, "TEXT", "a text"},
	{0, "file", DT_OPT_FILE, AT(file), 0, 0, 0, "FILE", "a file"},
	{'h', NULL, DT_OPT_TEXT, AT(host), 0, 0, 9, "HOST", "a host"},
	{'s', NULL, DT_OPT_SERVER, AT(host), 0, 0, 0, NULL, "no host"},
	{'U', NULL, DT_OPT_USAGE, 0, 0, 0, 0, NULL, "short"},
	{0, "help", DT_OPT_HELP, 0, 0, 0, 0, NULL, "this"},
	{0, "version", DT_OPT_VERSION, 0, 0, 0, 0, NULL, "that"},
};
static const struct dt_opt_spec spec = {
	.tool = "tool",
	.usage = "usage: tool\n",
	.notes = "The end.\n",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
	.common = common,
	.common_count = sizeof(common) / sizeof(common[0]),
};
/* clang-format on */

/* What the last command line came to, which it points into. */
static struct {
	int rc;
	struct values v;
} p;

static void parse(const char *line)
{
	memset(&p, 0, sizeof(p));
	cmdline_begin("tool", line);
	p.rc = cmdline_end(dt_opt_parse(&spec, cmdline.argc, cmdline.argv,
					cmdline.to_out, cmdline.to_err, &p.v));
}

CASE(parse__every_kind)
{
	parse("-fvv -c 7 --choice only --list 1,100,3 -p 65535 --cpu 0 "
	      "-t abcde --file=x -h me");
	assert_int_equal(p.rc, -1);
	assert_true(p.v.flag);
	assert_int_equal(p.v.more, 2);
	assert_int_equal(p.v.count, 7);
	assert_true(p.v.count_given);
	assert_int_equal(p.v.choice, 2);
	assert_int_equal(p.v.list.n, 3);
	assert_int_equal(p.v.list.value[0], 1);
	assert_int_equal(p.v.list.value[1], 100);
	assert_int_equal(p.v.list.value[2], 3);
	assert_int_equal(p.v.port, 65535);
	assert_int_equal(p.v.cpu, 0);
	assert_string_equal(p.v.text, "abcde");
	assert_string_equal(p.v.file, "x");
	assert_string_equal(p.v.host, "me");
	assert_string_equal(cmdline.out, "");
	assert_string_equal(cmdline.err, "");
}

CASE(parse__nothing_changes_nothing)
{
	struct values none;

	memset(&none, 0, sizeof(none));
	parse("");
	assert_int_equal(p.rc, -1);
	assert_memory_equal(&p.v, &none, sizeof(none));
}

CASE(parse__last_one_counts)
{
	parse("-h a -s -h b --count 4 -c 5");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.v.host, "b");
	assert_int_equal(p.v.count, 5);
	parse("-2 -1");
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.v.choice, 1);
	parse("-h a -s");
	assert_int_equal(p.rc, -1);
	assert_null(p.v.host);
}

CASE(parse__file_without_value)
{
	parse("--file -f");
	assert_int_equal(p.rc, -1);
	assert_string_equal(p.v.file, "");
	assert_true(p.v.flag);
}

CASE(parse__refused)
{
	static const struct {
		const char *line;
		int rc;
		const char *says; /* on the stream of errors; NULL: help */
	} rows_[] = {
		{"-c 2", 2,
		 "-c 2: out of range, expected a number from "
		 "3 to 20"},
		{"-c 21", 2, "-c 21: out of range"},
		{"-c x", 2, "-c x: not a number"},
		{"-c ''", 2, "-c '': not a number"},
		{"--count=-3", 2, "--count -3: not a number"},
		{"-p 0", 2, "-p 0: out of range"},
		{"-p 65536", 2, "-p 65536: out of range"},
		{"--cpu -1", 2, "--cpu -1: not a number"},
		{"--cpu 1024", 2, "out of range"},
		{"-t abcdef", 2, "-t abcdef: too long"},
		{"-t ''", 2, "-t '': empty"},
		{"--file=", 2, "--file '': empty"},
		{"--choice on", 2,
		 "--choice on: expected one of none|one|only"},
		{"--choice onl", 2, "expected one of"},
		{"--choice none|one", 2, "expected one of"},
		{"--choice ''", 2, "expected one of"},
		{"--list 1,,2", 2, "not a number"},
		{"--list 1,2,", 2, "not a number"},
		{"--list 0", 2, "out of range"},
		{"--list 11111111111111111111", 2, "not a list"},
		{"--list 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", 2, "too many"},
		{"--fl", -1, ""},
		{"--c 1", 2, "unknown, or short for several"},
		{"--flag=1", 2, "takes no value"},
		{"--nonsense", 2, "option --nonsense: unknown"},
		{"--list", 2, "option --list: needs a value"},
		{"word", 2, "argument word: not an option"},
		{"-x", 244, NULL},
		{"-c", 244, NULL},
		{"-U", 244, NULL},
		{"--help", 0, NULL},
	};

	for (size_t i = 0; i < sizeof(rows_) / sizeof(rows_[0]); i++) {
		parse(rows_[i].line);
		if (p.rc != rows_[i].rc)
			fail_msg("'%s': rc %d", rows_[i].line, p.rc);
		if (rows_[i].says && !strstr(cmdline.err, rows_[i].says))
			fail_msg("'%s': says '%s'", rows_[i].line, cmdline.err);
		if (!rows_[i].says && !strstr(cmdline.out, "usage: tool"))
			fail_msg("'%s': no help", rows_[i].line);
	}
}

CASE(help__every_row)
{
	parse("--help");
	assert_int_equal(p.rc, 0);
	assert_non_null(strstr(cmdline.out, "usage: tool\n\n  -f, --flag "));
	assert_non_null(strstr(cmdline.out,
			       "  -c, --count N           a count\n"
			       "                          of two lines\n"));
	assert_non_null(strstr(cmdline.out, "  --file[=FILE] "));
	/* Too long for its column: the text begins on the next line. */
	assert_non_null(strstr(cmdline.out, "  --choice none|one|only  c\n"));
	assert_non_null(strstr(cmdline.out, "|third_word|fourth_word\n      "));
	assert_non_null(strstr(cmdline.out, "\nThe end.\n"));
	for (size_t i = 0; i < spec.row_count; i++)
		if (rows[i].name)
			assert_non_null(strstr(cmdline.out, rows[i].name));
}

CASE(version__name_and_number)
{
	parse("--version");
	assert_int_equal(p.rc, 0);
	assert_memory_equal(cmdline.out, "tool (", 6);
}

RUN_CASES(NULL, cmdline_forget)
