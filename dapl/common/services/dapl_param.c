/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_param.c - reads environment variables as a table says.
 *
 * Does not interpret values beyond type and range: that an MTU must be a power
 * of two is its user's business. Never changes the environment, and logs
 * nothing: the log has variables of its own.
 * Threads: any; a program that calls setenv() beside dat_ia_open() races, as
 * with every getenv(). A string in the result points into the environment.
 * Rule: names, defaults and number syntax are the historic library's; ranges
 * and the answer to a bad value are this one's.
 */
#include "config.h"

#include "dapl/common/services/dapl_param.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/services/dapl_text.h"

const char *dapl__env(const char *name)
{
	return secure_getenv(name);
}

static bool refuse(dapl_param_say_fn *say, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool refuse(dapl_param_say_fn *say, const char *fmt, ...)
{
	char why[512];
	va_list ap;

	if (!say)
		return false;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	say(why);
	return false;
}

static bool set_int(const struct dapl_param *row, const char *text, int *field,
		    dapl_param_say_fn *say)
{
	long long v = row->def;
	bool ok;

	ok = !text || dapl_text_number(text, row->min, row->max, &v);
	*field = (int)v;
	if (ok)
		return true;
	if (row->def < 0)
		return refuse(say,
			      "%s: '%s' is not a number from %d to %d; ignored",
			      row->name, text, row->min, row->max);
	return refuse(say, "%s: '%s' is not a number from %d to %d; using %d",
		      row->name, text, row->min, row->max, row->def);
}

static bool set_str(const struct dapl_param *row, const char *text,
		    const char **field, dapl_param_say_fn *say)
{
	size_t len;

	*field = NULL;
	if (!text)
		return true;
	len = strlen(text);
	if (len < (size_t)row->min || len > (size_t)row->max)
		return refuse(
			say,
			"%s: must have %d to %d characters, has %zu; ignored",
			row->name, row->min, row->max, len);
	*field = text;
	return true;
}

static bool set_mask(const struct dapl_param *row, const char *text,
		     unsigned *field, dapl_param_say_fn *say)
{
	long long v = row->def;
	bool ok;

	ok = !text || dapl_text_number(text, -1, UINT32_MAX, &v);
	*field = (unsigned)v;
	if (!ok)
		return refuse(say, "%s: '%s' is not a number; using %d",
			      row->name, text, row->def);
	if (v < 0 || !row->max || !(*field & ~(unsigned)row->max))
		return true;
	return refuse(say, "%s: '%s' has bits that mean nothing: %#x; ignored",
		      row->name, text, *field & ~(unsigned)row->max);
}

static bool set_ports(const struct dapl_param *row, const char *text,
		      struct dapl_ports *field, dapl_param_say_fn *say)
{
	*field = (struct dapl_ports){0};
	return !text || dapl_text_ports(text, field) ||
	       refuse(say, "%s: '%s' is not first-last; ignored", row->name,
		      text);
}

bool dapl__param_set(const struct dapl_param *row, const char *text, void *base,
		     dapl_param_say_fn *say)
{
	void *field = (char *)base + row->offset;

	switch (row->type) {
	case DAPL_PARAM_INT:
		return set_int(row, text, field, say);
	case DAPL_PARAM_STR:
		return set_str(row, text, field, say);
	case DAPL_PARAM_MASK:
		return set_mask(row, text, field, say);
	case DAPL_PARAM_PORTS:
		return set_ports(row, text, field, say);
	case DAPL_PARAM_NONE:
		return true;
	}
	return false;
}

void dapl_params_read(const struct dapl_param_table *table, void *params,
		      dapl_param_say_fn *say)
{
	const struct dapl_param *row;

	for (; table; table = table->base)
		for (row = table->rows; row < table->rows + table->count; row++)
			dapl__param_set(row, dapl__env(row->name), params, say);
}
