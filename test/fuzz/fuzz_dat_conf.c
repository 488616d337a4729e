/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fuzz_dat_conf.c - any bytes as a dat.conf.
 *
 * Checks what must hold for every input: each line gives at most one record
 * or diagnostic, in order; strings end; a diagnostic can be printed; parsing
 * line by line finds the same records, so that no line affects another.
 * One thread.
 */
#include "dat/common/dat_conf.h"

#include <dat2/dat.h>
#include <string.h>

#include "test/fuzz/fuzz.h"

static void check_record(const struct dat_conf_record *r)
{
	REQUIRE(strlen(r->name) < DAT_NAME_MAX_LENGTH);
	REQUIRE(strlen(r->lib_path) + strlen(r->provider_version) +
			strlen(r->ia_params) + strlen(r->platform_params) <
		SIZE_MAX / 2);
	REQUIRE(strchr(r->name, '\n') == NULL);
}

static void check_diag(const struct dat_conf_diag *d)
{
	char text[512];

	dat_conf_diag_text(d, text, sizeof(text));
	REQUIRE(strlen(text) < sizeof(text) - 1);
	REQUIRE(strchr(text, '\n') == NULL);
	REQUIRE(d->column >= 1);
}

static void check_order(const struct dat_conf *conf)
{
	size_t r = 0;
	size_t d = 0;
	unsigned line;
	unsigned last = 0;

	while (r < conf->n_records || d < conf->n_diags) {
		if (d == conf->n_diags ||
		    (r < conf->n_records &&
		     conf->records[r].line < conf->diags[d].line))
			line = conf->records[r++].line;
		else
			line = conf->diags[d++].line;
		REQUIRE(line > last);
		last = line;
	}
}

static void check_same_line_by_line(const char *bytes, size_t size,
				    const struct dat_conf *whole)
{
	const char *begin = bytes, *end = bytes + size;
	struct dat_conf one;
	size_t n = 0;

	while (bytes < end) {
		const char *newline =
			memchr(bytes, '\n', (size_t)(end - bytes));
		const char *next = newline ? newline + 1 : end;

		/* Behind the end of another: it does not begin the file. */
		if (bytes > begin)
			bytes--;
		REQUIRE(dat_conf_parse(bytes, (size_t)(next - bytes), &one) ==
			0);
		REQUIRE(one.n_records + one.n_diags <= 1);
		if (one.n_records) {
			REQUIRE(n < whole->n_records);
			REQUIRE(!strcmp(one.records[0].name,
					whole->records[n].name));
			REQUIRE(!strcmp(one.records[0].ia_params,
					whole->records[n].ia_params));
			n++;
		}
		dat_conf_free(&one);
		bytes = next;
	}
	REQUIRE(n == whole->n_records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dat_conf conf;

	REQUIRE(dat_conf_parse((const char *)data, size, &conf) == 0);
	for (size_t i = 0; i < conf.n_records; i++)
		check_record(&conf.records[i]);
	for (size_t i = 0; i < conf.n_diags; i++)
		check_diag(&conf.diags[i]);
	check_order(&conf);
	check_same_line_by_line((const char *)data, size, &conf);
	dat_conf_free(&conf);
	return 0;
}
