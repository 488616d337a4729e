/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_text.c - words and numbers in texts that people write; see the header.
 */
#include "dapl/common/services/dapl_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t dapl_text_word(const char **text, char *word, size_t size)
{
	const char *s = *text + strspn(*text, " \t");
	size_t len = strcspn(s, " \t");

	*text = s + len;
	snprintf(word, size, "%.*s", (int)(len < size ? len : size - 1), s);
	return len;
}

bool dapl_text_number(const char *text, long long min, long long max,
		      long long *ret_value)
{
	int saved = errno;
	bool too_big;
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 0);
	too_big = errno == ERANGE;
	errno = saved;
	if (end == text || too_big)
		return false;
	while (isspace((unsigned char)*end))
		end++;
	if (*end || v < min || v > max)
		return false;
	*ret_value = v;
	return true;
}

/* A port at *TEXT, which is moved behind it; 0: there is none. */
static uint16_t parse_port(const char **text)
{
	unsigned long v;
	char *end;

	if (**text < '0' || **text > '9')
		return 0;
	v = strtoul(*text, &end, 10);
	*text = end;
	return v <= UINT16_MAX ? (uint16_t)v : 0;
}

bool dapl_text_ports(const char *text, struct dapl_ports *ret_ports)
{
	struct dapl_ports ports;

	ports.first = parse_port(&text);
	if (*text++ != '-')
		return false;
	ports.last = parse_port(&text);
	if (*text || !ports.first || ports.last < ports.first)
		return false;
	*ret_ports = ports;
	return true;
}
