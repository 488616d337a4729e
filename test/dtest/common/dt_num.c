/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_num.c - numbers of a command line, checked.
 *
 * Does not print: the caller knows the name of the option.
 * Threads: safe. Ownership: none. Rule: see dt_num.h.
 */
#include "test/dtest/common/dt_num.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

int dt_parse_count(const char *text, uint64_t min, uint64_t max,
		   uint64_t *ret_value)
{
	unsigned long long value;
	char *end;

	/* strtoull() would take blanks and a sign. */
	if (!text || !isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno == ERANGE || value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}
