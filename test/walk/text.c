/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * text.c - calls as lines of text, for sequences that are kept in a file:
 *
 *     EVD_CREATE 3 : 1 : 24 128
 *
 * the name, the number of what is made, the objects, the numbers. Trailing
 * objects that are none, and trailing zeros, are left out. What has no_out set
 * is not written.
 * Threads: any. It judges nothing.
 */
#include "test/walk/call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HANDLES 6
#define NUMBERS 6

void call_write(FILE *to, const struct call *c)
{
	int h = HANDLES, n = NUMBERS;

	while (h > 0 && c->h[h - 1] == OBJ_NULL)
		h--;
	while (n > 0 && c->n[n - 1] == 0)
		n--;
	fprintf(to, "%s %d :", call_name(c->op), c->out);
	for (int i = 0; i < h; i++)
		fprintf(to, " %d", c->h[i]);
	fputs(" :", to);
	for (int i = 0; i < n; i++)
		fprintf(to, " %" PRIu64, c->n[i]);
	fputc('\n', to);
}

static bool op_of(const char *name, size_t len, struct call *c)
{
	for (int i = 0; i < OP_N; i++)
		if (strlen(call_name(i)) == len &&
		    !strncmp(call_name(i), name, len)) {
			c->op = (uint8_t)i;
			return true;
		}
	return false;
}

/* The next number at *at; false: there is none before the ':' or the end. */
static bool number(const char **at, unsigned long long *value)
{
	char *end;

	*value = strtoull(*at, &end, 10);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

static bool past_colon(const char **at)
{
	*at += strspn(*at, " ");
	return *(*at)++ == ':';
}

bool call_read(const char *line, struct call *c)
{
	const char *at = line + strcspn(line, " ");
	unsigned long long value;
	int i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < HANDLES; i++)
		c->h[i] = OBJ_NULL;
	if (!op_of(line, (size_t)(at - line), c) || !number(&at, &value) ||
	    value >= WALK_OBJS - 1)
		return false;
	c->out = (int16_t)value;
	if (!past_colon(&at))
		return false;
	for (i = 0; i < HANDLES && number(&at, &value); i++) {
		c->h[i] = (int16_t)value;
		if (c->h[i] < OBJ_NULL || c->h[i] >= WALK_OBJS)
			return false;
	}
	if (!past_colon(&at))
		return false;
	for (i = 0; i < NUMBERS && number(&at, &value); i++)
		c->n[i] = value;
	return at[strspn(at, "\n")] == 0;
}
