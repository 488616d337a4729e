/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_text.c - text that grows up to a limit, and numbers.
 *
 * Threads, ownership, rule: see dat_text.h.
 */
#include "dat_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void dat_text_add(struct dat_text *text, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text->buf + text->len, sizeof(text->buf) - text->len, fmt,
		      args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n > dat_text_room(text))
		text->len = sizeof(text->buf) - 1;
	else
		text->len += (size_t)n;
}

size_t dat_text_room(const struct dat_text *text)
{
	return sizeof(text->buf) - 1 - text->len;
}

bool dat_text_number(const char *text, long long *ret_value)
{
	int saved = errno;
	long long value;
	bool fits;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 0);
	fits = errno == 0;
	errno = saved;
	if (end == text || !fits)
		return false;
	while (isspace((unsigned char)*end))
		end++;
	if (*end)
		return false;
	*ret_value = value;
	return true;
}
