/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_conf.c - the dat.conf parser, case by case.
 *
 * Covers dat_conf_parse, dat_conf_diag_text, dat_conf_free. Reads no file
 * except the one that is shipped. Each row of the tables is a line whose
 * result with the historic library is known; the texts are our own.
 * One thread.
 */
#include "dat/common/dat_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/case.h"

#define T "u2.0 nonthreadsafe default /x dapl.2.0"

struct vector {
	const char *line;
	const char *name; /* NULL: no record */
	/* the first diagnostic; field DAT_CONF_FIELD_N: none */
	enum dat_conf_field field;
	bool ignored;
};

#define GOOD(line, name)                                \
	{                                               \
		(line), (name), DAT_CONF_FIELD_N, false \
	}
#define BAD(line, field)                     \
	{                                    \
		(line), NULL, (field), false \
	}
#define IGNORED(line, field)                \
	{                                   \
		(line), NULL, (field), true \
	}

#define ONE_API(api) "A " api " nonthreadsafe default /x dapl.2.0 \"a 1\" \"\""
#define ONE_MT(mt)   "A u2.0 " mt " default /x dapl.2.0 \"a 1\" \"\""
#define ONE_DEF(def) "A u2.0 nonthreadsafe " def " /x dapl.2.0 \"a 1\" \"\""
#define ONE_VER(ver) "A u2.0 nonthreadsafe default /x " ver " \"a 1\" \"\""

static const struct vector vectors[] = {
	/* fields, separators, comments */
	GOOD("A " T " \"a 1\" \"\"", "A"),
	GOOD("A\tu2.0\tnonthreadsafe\tdefault\t/x\tdapl.2.0\t\"a 1\"\t\"\"\n",
	     "A"),
	GOOD(" \t A " T " \"a 1\" \"\"\n", "A"),
	GOOD("A " T " \"a 1\" \"\" \t \n", "A"),
	GOOD("A " T " \"a 1\" \"\"\n", "A"),
	GOOD("A " T " \"a 1\" \"\" # c\n", "A"),
	GOOD("A " T " \"a 1\" \"\"#c\n", "A"),
	BAD("A " T " \"a 1\" # \"\"\n", DAT_CONF_PLATFORM_PARAMS),
	GOOD("A#b " T " \"a 1\" \"\"\n", "A#b"),
	GOOD("A " T " \"a #1\" \"\"\n", "A"),
	BAD("A " T " \"a 1\"\n", DAT_CONF_PLATFORM_PARAMS),
	BAD("A " T " \"a 1\" \"\" x\n", DAT_CONF_END),
	GOOD("A " T " a b\n", "A"),
	GOOD("\"A\" \"u2.0\" \"nonthreadsafe\" \"default\" \"/x\" "
	     "\"dapl.2.0\" \"a 1\" \"\"\n",
	     "A"),
	GOOD("\"A\"" T " \"a 1\"\"\"\n", "A"),
	BAD("A\"b\" " T " \"a 1\" \"\"\n", DAT_CONF_API),
	/* carriage returns */
	BAD("A " T " \"a 1\" \"\"\r\n", DAT_CONF_END),
	BAD("A " T " \"a 1\" \"\"\r", DAT_CONF_END),
	BAD("A u2.0\r\n", DAT_CONF_API),
	BAD("A u2.0 nonthreadsafe\r\n", DAT_CONF_DEFAULT),
	BAD("\r\n", DAT_CONF_API),
	GOOD("A " T " a b\r\n", "A"),
	/* escapes */
	GOOD("\"A\\\"q\" " T " \"a 1\" \"\"\n", "A\"q"),
	GOOD("\"A\\\\q\" " T " \"a 1\" \"\"\n", "A\\q"),
	GOOD("\"A\\nq\" " T " \"a 1\" \"\"\n", "Anq"),
	GOOD("\"A b\" " T " \"a 1\" \"\"\n", "A b"),
	GOOD("A\\b " T " \"a 1\" \"\"\n", "A\\b"),
	GOOD("\"\" " T " \"a 1\" \"\"\n", ""),
	/* other bytes */
	GOOD("\xef\xbb\xbf"
	     "A " T " \"a 1\" \"\"\n",
	     "A"),
	GOOD("\xff\xc3\xa4 " T " \"a 1\" \"\"\n", "\xff\xc3\xa4"),
	GOOD("A\v\f " T " \"a 1\" \"\"\n", "A\v\f"),
	/* quotes that stay open */
	BAD("A " T " \"a 1\" \"\n", DAT_CONF_PLATFORM_PARAMS),
	BAD("\"\n", DAT_CONF_NAME),
	BAD("\"", DAT_CONF_NAME),
	BAD("\"A\\", DAT_CONF_NAME),
	BAD("A " T " \"a 1\" \"\" \"\n", DAT_CONF_END),
	/* api version */
	IGNORED(ONE_API("k2.0"), DAT_CONF_API),
	BAD(ONE_API("K2.0"), DAT_CONF_API),
	BAD(ONE_API("U2.0"), DAT_CONF_API),
	BAD(ONE_API("2.0"), DAT_CONF_API),
	BAD(ONE_API("u2.0.1"), DAT_CONF_API),
	BAD(ONE_API("u2.0x"), DAT_CONF_API),
	BAD(ONE_API("u2"), DAT_CONF_API),
	BAD(ONE_API("u"), DAT_CONF_API),
	BAD(ONE_API("\"\""), DAT_CONF_API),
	BAD(ONE_API("u4294967296.0"), DAT_CONF_API),
	BAD(ONE_API("u2.99999999999999999999"), DAT_CONF_API),
	GOOD(ONE_API("u4294967295.0"), "A"),
	GOOD(ONE_API("u1.2"), "A"),
	GOOD(ONE_API("u2."), "A"),
	GOOD(ONE_API("u.0"), "A"),
	GOOD(ONE_API("u02.010"), "A"),
	/* words that are compared by their beginning */
	BAD(ONE_MT("thread"), DAT_CONF_THREAD_SAFETY),
	BAD(ONE_MT("Threadsafe"), DAT_CONF_THREAD_SAFETY),
	GOOD(ONE_MT("threadsafe"), "A"),
	GOOD(ONE_MT("threadsafeX"), "A"),
	IGNORED(ONE_DEF("nondefault"), DAT_CONF_DEFAULT),
	BAD(ONE_DEF("yes"), DAT_CONF_DEFAULT),
	GOOD(ONE_DEF("defaultX"), "A"),
	/* provider version */
	BAD(ONE_VER("dapl.2"), DAT_CONF_PROVIDER_VERSION),
	BAD(ONE_VER(".2.0"), DAT_CONF_PROVIDER_VERSION),
	BAD(ONE_VER("dapl.x.0"), DAT_CONF_PROVIDER_VERSION),
	BAD(ONE_VER("dapl.2.0.1"), DAT_CONF_PROVIDER_VERSION),
	BAD(ONE_VER("a.b.2.0"), DAT_CONF_PROVIDER_VERSION),
	BAD(ONE_VER("dapl..0"), DAT_CONF_PROVIDER_VERSION),
	BAD(ONE_VER("dapl"), DAT_CONF_PROVIDER_VERSION),
	/* an error counts more than a reason to ignore */
	BAD("A k2.0 thread default /x dapl.2.0 \"a 1\" \"\"\n",
	    DAT_CONF_THREAD_SAFETY),
	GOOD("A u2.0 nonthreadsafe default \"\" dapl.2.0 \"a 1\" \"\"", "A"),
};

/* What was parsed last. */
static struct dat_conf conf;

static int forget(void **state)
{
	dat_conf_free(&conf);
	return 0;
}

static void parse_bytes(const char *bytes, size_t n)
{
	dat_conf_free(&conf);
	assert_int_equal(dat_conf_parse(bytes, n, &conf), 0);
}

static void parse(const char *text)
{
	parse_bytes(text, strlen(text));
}

static void check_vector(const struct vector *v)
{
	parse(v->line);
	print_message("# row %td\n", v - vectors);
	assert_int_equal(conf.n_records, v->name ? 1 : 0);
	if (v->name)
		assert_string_equal(conf.records[0].name, v->name);
	assert_int_equal(conf.n_diags, v->field == DAT_CONF_FIELD_N ? 0 : 1);
	if (conf.n_diags) {
		assert_int_equal(conf.diags[0].field, v->field);
		assert_int_equal(conf.diags[0].ignored, v->ignored);
		assert_int_equal(conf.diags[0].line, 1);
	}
}

CASE(parse__vectors)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		check_vector(&vectors[i]);
}

CASE(parse__all_fields_are_kept)
{
	parse("\n# x\nA u02.010 threadsafe default "
	      "/l/b.so id.3.4 \"dev 1\" pp\n");
	assert_int_equal(conf.n_records, 1);
	assert_int_equal(conf.records[0].major, 2);
	assert_int_equal(conf.records[0].minor, 10);
	assert_true(conf.records[0].thread_safe);
	assert_false(conf.records[0].duplicate);
	assert_string_equal(conf.records[0].lib_path, "/l/b.so");
	assert_string_equal(conf.records[0].provider_version, "id.3.4");
	assert_string_equal(conf.records[0].ia_params, "dev 1");
	assert_string_equal(conf.records[0].platform_params, "pp");
	assert_int_equal(conf.records[0].line, 3);
}

CASE(parse__digits_left_out_are_zero)
{
	parse(ONE_API("u2.") "\n" ONE_API("u.7"));
	assert_int_equal(conf.n_records, 2);
	assert_int_equal(conf.records[0].major, 2);
	assert_int_equal(conf.records[0].minor, 0);
	assert_int_equal(conf.records[1].major, 0);
	assert_int_equal(conf.records[1].minor, 7);
}

CASE(parse__no_continuation_line)
{
	parse("A u2.0 \\\nnonthreadsafe default /x dapl.2.0 a b\n");
	assert_int_equal(conf.n_records, 0);
	assert_int_equal(conf.n_diags, 2);
	assert_int_equal(conf.diags[0].field, DAT_CONF_THREAD_SAFETY);
	assert_int_equal(conf.diags[1].line, 2);
}

CASE(parse__newline_in_quotes)
{
	parse("A " T " \"a\n1\" \"\"\n"
	      "B " T " \"a 1\" \"\"\n");
	assert_int_equal(conf.n_diags, 2);
	assert_int_equal(conf.diags[0].field, DAT_CONF_IA_PARAMS);
	assert_int_equal(conf.diags[1].field, DAT_CONF_API);
	assert_int_equal(conf.n_records, 1);
	assert_string_equal(conf.records[0].name, "B");
}

CASE(parse__good_bad_good)
{
	parse("A " T " \"a 1\" \"\"\n"
	      "X " T " \"a 1\n"
	      "\"\n"
	      "B " T " \"b 1\" \"\"");
	assert_int_equal(conf.n_records, 2);
	assert_string_equal(conf.records[0].name, "A");
	assert_string_equal(conf.records[0].ia_params, "a 1");
	assert_string_equal(conf.records[1].name, "B");
	assert_string_equal(conf.records[1].ia_params, "b 1");
	assert_int_equal(conf.n_diags, 2);
	assert_string_equal(conf.diags[0].name, "X");
	assert_string_equal(conf.diags[1].name, "");
}

/* Not cut short there: what is meant stands behind it. */
CASE(parse__nul_in_a_field)
{
	static const char text[] = "A\0zz " T " \"a 1\" \"\"\n"
				   "B " T " \"a\0 1\" \"\"\n"
				   "C " T " \"a 1\" \"\"\0\n"
				   "D " T " \"a 1\" \"\" # \0\n";
	char line[256];

	parse_bytes(text, sizeof(text) - 1);
	assert_int_equal(conf.n_records, 1);
	assert_string_equal(conf.records[0].name, "D");
	assert_int_equal(conf.n_diags, 3);
	dat_conf_diag_text(&conf.diags[0], line, sizeof(line));
	assert_string_equal(line, "line 1, column 1: write a name as IA name: "
				  "found a NUL byte");
	assert_string_equal(conf.diags[1].name, "B");
	assert_int_equal(conf.diags[1].field, DAT_CONF_IA_PARAMS);
	assert_int_equal(conf.diags[2].field, DAT_CONF_END);
}

static void parse_with_long_field(const char *before, size_t n,
				  const char *after)
{
	size_t len = strlen(before) + n + strlen(after);
	char *text = malloc(len + 1);

	assert_non_null(text);
	snprintf(text, len + 1, "%s%*s%s", before, (int)n, "", after);
	memset(text + strlen(before), 'n', n);
	parse_bytes(text, len);
	free(text);
}

CASE(parse__name_length)
{
	parse_with_long_field("", 255, " " T " a b");
	assert_int_equal(conf.n_records, 1);
	assert_int_equal(strlen(conf.records[0].name), 255);

	parse_with_long_field("", 256, " " T " a b");
	assert_int_equal(conf.n_records, 0);
	assert_int_equal(conf.n_diags, 1);
	assert_true(conf.diags[0].ignored);
	assert_int_equal(conf.diags[0].field, DAT_CONF_NAME);
}

CASE(parse__long_library)
{
	parse_with_long_field("A u2.0 nonthreadsafe default ", 5000,
			      " dapl.2.0 a b");
	assert_int_equal(conf.n_records, 1);
	assert_int_equal(strlen(conf.records[0].lib_path), 5000);
}

CASE(parse__empty)
{
	parse("");
	assert_int_equal(conf.n_records, 0);
	assert_int_equal(conf.n_diags, 0);
	dat_conf_free(&conf);
	dat_conf_free(&conf);

	parse("\n  \n\t# only comments\n#");
	assert_int_equal(conf.n_records, 0);
	assert_int_equal(conf.n_diags, 0);
}

CASE(parse__duplicates_are_marked)
{
	parse("A " T " 1 x\nB " T " 2 x\nA " T " 3 x\n" ONE_API(
		"u2.1") "\n" ONE_MT("threadsafe") "\nA " T " 4 x\n");
	assert_int_equal(conf.n_records, 6);
	assert_false(conf.records[0].duplicate);
	assert_false(conf.records[1].duplicate);
	assert_true(conf.records[2].duplicate);
	assert_false(conf.records[3].duplicate);
	assert_false(conf.records[4].duplicate);
	assert_true(conf.records[5].duplicate);
}

CASE(parse__diagnostics_are_limited)
{
	size_t n = DAT_CONF_MAX_DIAGS + 5;
	char *text = malloc(2 * n);
	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		memcpy(text + 2 * i, "x\n", 2);
	parse_bytes(text, 2 * n);
	free(text);
	assert_int_equal(conf.n_diags, DAT_CONF_MAX_DIAGS);
	assert_int_equal(conf.n_diags_lost, 5);
}

static void check_text(const char *line, const char *expected)
{
	char text[300];

	parse(line);
	assert_int_equal(conf.n_diags, 1);
	dat_conf_diag_text(&conf.diags[0], text, sizeof(text));
	assert_string_equal(text, expected);
}

CASE(diag_text__says_where_what_and_what_instead)
{
	check_text("\n  A  v2.0 nonthreadsafe",
		   "line 2, column 6: write u<major>.<minor>, such as u2.0 "
		   "as api version: found 'v2.0'");
	check_text("A u2.0",
		   "line 1, column 7: write threadsafe or nonthreadsafe "
		   "as thread safety: found the end");
	check_text("A " T " \"a",
		   "line 1, column 42: write \"<device or interface> <port>\" "
		   "as ia_params: found a quote that is not closed");
	check_text("A " T " a b c",
		   "line 1, column 46: write eight fields and no more: "
		   "found 'c'");
	check_text(ONE_DEF("nondefault"),
		   "line 1, column 22: write default as default section: "
		   "found 'nondefault', which this library does not use");
	check_text("A \x01\xff",
		   "line 1, column 3: write u<major>.<minor>, such as u2.0 "
		   "as api version: found '\\x01\\xff'");
}

CASE(diag_text__crlf)
{
	check_text("A " T " \"a 1\" \"\"\r\n",
		   "line 1, column 50: convert the file to Unix line ends: the "
		   "line ends with CR");
	check_text("\r\n",
		   "line 1, column 1: convert the file to Unix line ends: the "
		   "line ends with CR");
	check_text("A u2.0 threadsafe\r",
		   "line 1, column 8: convert the file to Unix line ends: the "
		   "line ends with CR");
}

CASE(diag_text__long_field_is_cut)
{
	char text[300];

	parse_with_long_field("A ", 1000, " b");
	dat_conf_diag_text(&conf.diags[0], text, sizeof(text));
	assert_non_null(strstr(text, "nnn...'"));
	assert_true(strlen(text) < 150);
}

CASE(parse__shipped_file)
{
	const char *top = getenv("top_srcdir");
	static char bytes[65536];
	char path[4096];
	size_t len;
	FILE *f;

	if (!top)
		skip_case("top_srcdir is not set");
	snprintf(path, sizeof(path), "%s/dat.conf", top);
	f = fopen(path, "r");
	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	parse_bytes(bytes, len);
	assert_int_equal(conf.n_diags, 0);
	assert_int_equal(conf.n_records, 0);
	assert_false(conf.alone);
	/* its examples, as who takes their # away finds them */
	for (size_t i = 0; i + 1 < len; i++)
		if (bytes[i] == '#' && isalpha((unsigned char)bytes[i + 1]))
			bytes[i] = ' ';
	parse_bytes(bytes, len);
	assert_int_equal(conf.n_diags, 0);
	assert_int_equal(conf.n_records, 4);
}

RUN_CASES(NULL, forget)
