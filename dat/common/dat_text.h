/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_text.h - text that grows up to a limit; what does not fit is dropped.
 * And numbers in texts that people write.
 *
 * Allocates nothing and fails never.
 * Threads: no shared state. Ownership: the text is the caller's.
 * Rule: no longer than what dat_error_detail() promises; libdat2(7).
 */
#ifndef DAT_TEXT_H
#define DAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define DAT_DETAIL_MAX 1024

struct dat_text {
	char buf[DAT_DETAIL_MAX];
	size_t len;
};

#define DAT_TEXT_INIT          \
	{                      \
		.buf[0] = '\0' \
	}

void dat_text_add(struct dat_text *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Bytes that still fit. */
size_t dat_text_room(const struct dat_text *text);

/*
 * TEXT, all of it but for blanks around, as a number: decimal, hexadecimal
 * after 0x or octal after 0. False, RET_VALUE untouched, if it is not one.
 */
bool dat_text_number(const char *text, long long *ret_value);

#endif
