/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_num.h - numbers of a command line, checked.
 *
 * Does not know suffixes or signs: a count is decimal digits and nothing else.
 * Threads: safe. Ownership: none.
 * Rule: the historic tools used atoi() and took rubbish as 0.
 */
#ifndef DTEST_DT_NUM_H
#define DTEST_DT_NUM_H

#include <stdint.h>

/*
 * Reads text as a number from min to max. Returns 0, -EINVAL (not a number)
 * or -ERANGE; *ret_value is written on success only.
 */
int dt_parse_count(const char *text, uint64_t min, uint64_t max,
		   uint64_t *ret_value);

#endif /* DTEST_DT_NUM_H */
