/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_text.h - words and numbers in texts that people write: ia_params of
 * dat.conf and environment variables.
 *
 * Does not know what they mean. Threads: any. Ownership: none.
 * Rule: a text is hostile; a copy is bounded, a number is the whole word.
 */
#ifndef DAPL_TEXT_H
#define DAPL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies the next word of *TEXT, cut to SIZE, and moves behind it; its full
 * length, 0 at the end.
 */
size_t dapl_text_word(const char **text, char *word, size_t size);

/*
 * TEXT as a number from MIN to MAX, decimal, hexadecimal or octal; blanks
 * around it are allowed. False (and RET_VALUE untouched) when it is not that.
 */
bool dapl_text_number(const char *text, long long min, long long max,
		      long long *ret_value);

/* A range of TCP ports; first 0: none was given. */
struct dapl_ports {
	uint16_t first;
	uint16_t last;
};

/* TEXT is "first-last". False, and nothing written, when it is not. */
bool dapl_text_ports(const char *text, struct dapl_ports *ret_ports);

#endif
