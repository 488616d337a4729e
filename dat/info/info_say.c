/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_say.c - one row of a check: what, how it is, and what to do about it.
 *
 * Threads, ownership: info.h. Rule: dat_info(1), output.
 */
#include "dat/info/info.h"

#include "test/dtest/common/dt_json.h"

#include <stdarg.h>

void info_put(FILE *f, const char *text, size_t width)
{
	size_t n = 0;

	for (; text[n]; n++)
		fputc((unsigned char)text[n] < ' ' || text[n] == 0x7f ? '?'
								      : text[n],
		      f);
	for (; n < width; n++)
		fputc(' ', f);
}

void info_say(struct info_out *o, enum info_result result, const char *what,
	      const char *remedy, const char *fmt, ...)
{
	static const char *const words[] = {"ok", "WARN", "FAIL"};
	struct dt_json j;
	char text[1400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	o->failed += result == INFO_FAIL;
	o->warned += result == INFO_WARN;
	if (o->json) {
		dt_json_begin(&j, o->f);
		if (o->name)
			dt_json_text(&j, "name", o->name);
		dt_json_text(&j, "what", what);
		dt_json_text(&j, "result", words[result]);
		dt_json_text(&j, "text", text);
		if (remedy)
			dt_json_text(&j, "remedy", remedy);
		dt_json_end(&j);
		return;
	}
	fprintf(o->f, "%-5s ", words[result]);
	info_put(o->f, what, 0);
	fputs(": ", o->f);
	info_put(o->f, text, 0);
	fputc('\n', o->f);
	if (remedy)
		fprintf(o->f, "      remedy: %s\n", remedy);
}
