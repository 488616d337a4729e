/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_json.c - JSON objects on a line of their own, member by member.
 *
 * Does not check for write errors: dt_report_close() asks ferror() once.
 * Threads, ownership, rule: see dt_json.h.
 */
#include "test/dtest/common/dt_json.h"

#include <math.h>
#include <stddef.h>

/* Bytes of the valid UTF-8 sequence at p, or 0. Refuses overlong forms. */
static size_t utf8_length(const unsigned char *p)
{
	size_t n = p[0] < 0x80			 ? 1
		   : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		   : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
		   : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						 : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static void put_string(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n;

	fputc('"', out);
	for (; *p; p += n) {
		n = utf8_length(p);
		if (!n) {
			fputs("\\ufffd", out);
			n = 1;
		} else if (*p == '"' || *p == '\\') {
			fprintf(out, "\\%c", *p);
		} else if (*p < 0x20 || *p == 0x7f) {
			fprintf(out, "\\u%04x", *p);
		} else {
			fwrite(p, 1, n, out);
		}
	}
	fputc('"', out);
}

static void put_key(struct dt_json *j, const char *key)
{
	fputs(j->first ? "{" : ",", j->out);
	j->first = false;
	put_string(j->out, key);
	fputc(':', j->out);
}

void dt_json_begin(struct dt_json *j, FILE *out)
{
	/* Nobody else writes to OUT until the end of the object. */
	flockfile(out);
	j->out = out;
	j->first = true;
}

void dt_json_text(struct dt_json *j, const char *key, const char *value)
{
	put_key(j, key);
	put_string(j->out, value ? value : "");
}

void dt_json_count(struct dt_json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "%llu", (unsigned long long)value);
}

void dt_json_number(struct dt_json *j, const char *key, double value)
{
	put_key(j, key);
	if (isfinite(value))
		fprintf(j->out, "%.9g", value);
	else
		fputs("null", j->out);
}

void dt_json_end(struct dt_json *j)
{
	fputs(j->first ? "{}\n" : "}\n", j->out);
	fflush(j->out);
	funlockfile(j->out);
}
