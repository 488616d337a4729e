/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cmdline.h - a line of text as a command line, and memory for what its
 * parser says.
 *
 * Contains no test. Threads: one.
 * Ownership: options that were parsed point into the line; cmdline_free()
 * comes after the last look at them.
 */
#ifndef CMDLINE_H
#define CMDLINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CMDLINE_ARGS 400

struct cmdline {
	char line[4096];
	char *argv[CMDLINE_ARGS];
	int argc;
	FILE *to_out, *to_err; /* for the parser */
	char *out, *err;       /* what it said, after cmdline_said() */
	size_t out_size, err_size;
};

/* Splits at blanks; "''" is an empty argument. */
static inline void cmdline_open(struct cmdline *c, char *tool, const char *line)
{
	char *save = NULL;

	memset(c, 0, sizeof(*c));
	c->argv[c->argc++] = tool;
	snprintf(c->line, sizeof(c->line), "%s", line);
	for (char *s = strtok_r(c->line, " ", &save); s;
	     s = strtok_r(NULL, " ", &save)) {
		assert_in_range(c->argc, 1, CMDLINE_ARGS - 2);
		c->argv[c->argc++] = strcmp(s, "''") ? s : s + 2;
	}
	c->to_out = open_memstream(&c->out, &c->out_size);
	c->to_err = open_memstream(&c->err, &c->err_size);
	assert_non_null(c->to_out);
	assert_non_null(c->to_err);
}

static inline void cmdline_said(struct cmdline *c)
{
	fclose(c->to_out);
	fclose(c->to_err);
}

static inline void cmdline_free(struct cmdline *c)
{
	free(c->out);
	free(c->err);
	c->out = c->err = NULL;
}

#endif /* CMDLINE_H */
