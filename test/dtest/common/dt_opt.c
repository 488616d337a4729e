/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_opt.c - a command line as a table.
 *
 * Threads, ownership, rule: see dt_opt.h.
 */
#include "config.h"

#include "test/dtest/common/dt_opt.h"

#include "test/dtest/common/dt_num.h"
#include "test/dtest/common/dt_report.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <string.h>

#define LONG_BASE 256 /* of what getopt_long() returns, plus the row */
#define HELP_AT	  26  /* column of the help texts */

struct reader {
	const struct dt_opt_spec *spec;
	FILE *out, *err;
	char *opts;
	bool named; /* the option at hand is in its long form */
};

static size_t rows_of(const struct dt_opt_spec *spec)
{
	return spec->row_count + spec->common_count;
}

static const struct dt_opt *row_at(const struct dt_opt_spec *spec, size_t i)
{
	return i < spec->row_count ? &spec->rows[i]
				   : &spec->common[i - spec->row_count];
}

static bool takes_value(const struct dt_opt *row)
{
	switch (row->kind) {
	case DT_OPT_COUNT:
	case DT_OPT_ALL:
	case DT_OPT_UNUSED:
	case DT_OPT_PORT:
	case DT_OPT_CPU:
	case DT_OPT_TEXT:
	case DT_OPT_CHOICE:
	case DT_OPT_LIST:
		return true;
	default:
		return false;
	}
}

static void put_row(FILE *out, const struct dt_opt *row)
{
	const char *p = row->help, *end;
	char text[128], letter[4] = "", value[80] = "";
	bool file = row->kind == DT_OPT_FILE;

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c", row->letter);
	if (row->arg)
		snprintf(value, sizeof(value), file ? "[=%s]" : " %s",
			 row->arg);
	snprintf(text, sizeof(text), "  %s%s%s%s%s", letter,
		 row->letter && row->name ? ", " : "", row->name ? "--" : "",
		 row->name ? row->name : "", value);
	fprintf(out, "%-*s", HELP_AT, text);
	/* A long one keeps its line to itself. */
	if (strlen(text) >= HELP_AT)
		fprintf(out, "\n%*s", HELP_AT, "");
	for (; (end = strchr(p, '\n')); p = end + 1)
		fprintf(out, "%.*s\n%*s", (int)(end - p), p, HELP_AT, "");
	fprintf(out, "%s\n", p);
}

static void put_help(const struct dt_opt_spec *spec, FILE *out)
{
	fputs(spec->usage, out);
	fputc('\n', out);
	for (size_t i = 0; i < rows_of(spec); i++)
		if (row_at(spec, i)->help)
			put_row(out, row_at(spec, i));
	fprintf(out, "\n%s", spec->notes);
}

int dt_opt_bad(const struct dt_opt_spec *spec, FILE *err, const char *option,
	       const char *value, const char *why)
{
	fprintf(err, "%s: %s%s%s: %s (--help tells more)\n", spec->tool, option,
		value[0] ? " " : "", value, why);
	return DT_USAGE;
}

static int bad(const struct reader *rd, const struct dt_opt *row,
	       const char *value, const char *why)
{
	char text[40];

	if (rd->named)
		snprintf(text, sizeof(text), "--%s", row->name);
	else
		snprintf(text, sizeof(text), "-%c", row->letter);
	return dt_opt_bad(rd->spec, rd->err, text, value[0] ? value : "''",
			  why);
}

/* Returns -1 when the value is good, as all the functions below. */
static int take_number(const struct reader *rd, const struct dt_opt *row,
		       const char *text, uint64_t min, uint64_t max,
		       uint64_t *ret_value)
{
	char why[80];
	int rc = dt_parse_count(text, min, max, ret_value);

	if (!rc)
		return -1;
	snprintf(why, sizeof(why), "%s, expected a number from %llu to %llu",
		 rc == -EINVAL ? "not a number" : "out of range",
		 (unsigned long long)min, (unsigned long long)max);
	return bad(rd, row, text, why);
}

static int take_count(const struct reader *rd, const struct dt_opt *row,
		      const char *text, uint32_t *at)
{
	uint64_t value;
	int rc = take_number(rd, row, text, row->min, row->max, &value);

	if (rc < 0)
		*at = (uint32_t)value;
	return rc;
}

static int take_all(const struct reader *rd, const struct dt_opt *row,
		    uint32_t *at)
{
	if (strcmp(optarg, "all"))
		return take_count(rd, row, optarg, at);
	*at = UINT32_MAX;
	return -1;
}

static int take_port(const struct reader *rd, const struct dt_opt *row,
		     uint16_t *at)
{
	uint64_t value;
	int rc = take_number(rd, row, optarg, 1, UINT16_MAX, &value);

	if (rc < 0)
		*at = (uint16_t)value;
	return rc;
}

static int take_cpu(const struct reader *rd, const struct dt_opt *row, int *at)
{
	uint64_t value;
	int rc = take_number(rd, row, optarg, 0, CPU_SETSIZE - 1, &value);

	if (rc < 0)
		*at = (int)value;
	return rc;
}

static int take_text(const struct reader *rd, const struct dt_opt *row,
		     const char **at)
{
	if (!optarg[0])
		return bad(rd, row, optarg, "empty");
	if (strlen(optarg) > row->max)
		return bad(rd, row, optarg, "too long");
	*at = optarg;
	return -1;
}

static int take_file(const struct reader *rd, const struct dt_opt *row,
		     const char **at)
{
	if (optarg && !optarg[0])
		return bad(rd, row, optarg, "empty");
	*at = optarg ? optarg : "";
	return -1;
}

static int take_choice(const struct reader *rd, const struct dt_opt *row,
		       uint32_t *at)
{
	size_t length = strlen(optarg);
	const char *p = row->arg;
	char why[80];

	for (uint32_t i = 0; p; i++) {
		const char *end = strchr(p, '|');

		if ((end ? (size_t)(end - p) : strlen(p)) == length &&
		    !strncmp(p, optarg, length)) {
			*at = i;
			return -1;
		}
		p = end ? end + 1 : NULL;
	}
	snprintf(why, sizeof(why), "expected one of %s", row->arg);
	return bad(rd, row, optarg, why);
}

static int take_list(const struct reader *rd, const struct dt_opt *row,
		     struct dt_opt_list *at)
{
	struct dt_opt_list list = {.n = 0};
	const char *p = optarg;

	for (;;) {
		size_t length = strcspn(p, ",");
		char text[16];
		int rc;

		if (list.n == DT_OPT_LIST_MAX)
			return bad(rd, row, optarg, "too many numbers");
		if (length >= sizeof(text))
			return bad(rd, row, optarg, "not a list of numbers");
		memcpy(text, p, length);
		text[length] = 0;
		rc = take_count(rd, row, text, &list.value[list.n++]);
		if (rc >= 0)
			return rc;
		if (!p[length])
			break;
		p += length + 1;
	}
	*at = list;
	return -1;
}

static int show(const struct reader *rd, enum dt_opt_kind kind)
{
	if (kind == DT_OPT_VERSION)
		fprintf(rd->out, "%s (%s) %s\n", rd->spec->tool, PACKAGE_NAME,
			PACKAGE_VERSION);
	else
		put_help(rd->spec, rd->out);
	return kind == DT_OPT_USAGE ? DT_USAGE_SHORT : DT_PASSED;
}

static int take(const struct reader *rd, const struct dt_opt *row)
{
	void *at = rd->opts + row->at;
	uint32_t nobody;

	if (row->given_at)
		*(bool *)(rd->opts + row->given_at) = true;
	switch (row->kind) {
	case DT_OPT_FLAG:
		*(bool *)at = true;
		return -1;
	case DT_OPT_MORE:
		++*(uint32_t *)at;
		return -1;
	case DT_OPT_SET:
		*(uint32_t *)at = row->min;
		return -1;
	case DT_OPT_COUNT:
		return take_count(rd, row, optarg, at);
	case DT_OPT_ALL:
		return take_all(rd, row, at);
	case DT_OPT_UNUSED:
		return take_count(rd, row, optarg, &nobody);
	case DT_OPT_PORT:
		return take_port(rd, row, at);
	case DT_OPT_CPU:
		return take_cpu(rd, row, at);
	case DT_OPT_TEXT:
		return take_text(rd, row, at);
	case DT_OPT_FILE:
		return take_file(rd, row, at);
	case DT_OPT_CHOICE:
		return take_choice(rd, row, at);
	case DT_OPT_LIST:
		return take_list(rd, row, at);
	case DT_OPT_SERVER:
		*(const char **)at = NULL;
		return -1;
	default:
		return show(rd, row->kind);
	}
}

/* What getopt_long() wants to know of the tables. */
static void describe(const struct dt_opt_spec *spec,
		     char letters[2 * DT_OPT_ROWS_MAX + 3],
		     struct option names[DT_OPT_ROWS_MAX + 1])
{
	size_t n = rows_of(spec) < DT_OPT_ROWS_MAX ? rows_of(spec)
						   : DT_OPT_ROWS_MAX;

	if (spec->words)
		*letters++ = '+';
	*letters++ = ':';
	for (size_t i = 0; i < n; i++) {
		const struct dt_opt *row = row_at(spec, i);
		bool value = takes_value(row);

		if (row->letter)
			*letters++ = row->letter;
		if (row->letter && value)
			*letters++ = ':';
		if (!row->name)
			continue;
		*names++ = (struct option){
			.name = row->name,
			.has_arg = value ? required_argument
				   : row->kind == DT_OPT_FILE
					   ? optional_argument
					   : no_argument,
			.val = LONG_BASE + (int)i,
		};
	}
	*letters = 0;
	memset(names, 0, sizeof(*names));
}

static const struct dt_opt *row_of(const struct dt_opt_spec *spec, int opt)
{
	if (opt >= LONG_BASE)
		return row_at(spec, (size_t)(opt - LONG_BASE));
	for (size_t i = 0; i < rows_of(spec); i++)
		if (row_at(spec, i)->letter == opt)
			return row_at(spec, i);
	return NULL;
}

/* A letter that is none: as ever. A long name: in a sentence. */
static int unknown(const struct reader *rd, int opt, const char *arg)
{
	if (!rd->spec->unknown && optopt && optopt < LONG_BASE) {
		put_help(rd->spec, rd->out);
		return DT_USAGE_SHORT;
	}
	return dt_opt_bad(rd->spec, rd->err, "option", arg,
			  opt == ':'		? "needs a value"
			  : optopt >= LONG_BASE ? "takes no value"
			  : rd->spec->unknown
				  ? rd->spec->unknown
				  : "unknown, or short for several");
}

int dt_opt_parse(const struct dt_opt_spec *spec, int argc, char **argv,
		 FILE *out, FILE *err, void *opts)
{
	struct reader rd = {spec, out, err, opts, false};
	struct option names[DT_OPT_ROWS_MAX + 1];
	char letters[2 * DT_OPT_ROWS_MAX + 3];
	int opt, rc;

	describe(spec, letters, names);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		const struct dt_opt *row = row_of(spec, opt);

		rd.named = opt >= LONG_BASE;
		rc = row ? take(&rd, row) : unknown(&rd, opt, argv[optind - 1]);
		if (rc >= 0)
			return rc;
	}
	if (optind < argc && !spec->words)
		return dt_opt_bad(spec, err, "argument", argv[optind],
				  "not an option");
	return -1;
}
