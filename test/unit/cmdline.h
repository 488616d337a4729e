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

#include <string.h>

#include "test/unit/case.h"

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

/* Of a program's last command line; what was parsed points into it. */
static struct cmdline cmdline;

static inline void cmdline_begin(char *tool, const char *line)
{
	cmdline_free(&cmdline);
	cmdline_open(&cmdline, tool, line);
}

static inline int cmdline_end(int rc)
{
	cmdline_said(&cmdline);
	return rc;
}

/* LINE as TOOL's, parsed by its PARSER into RET_OPTS: what that returns. */
#define cmdline_parse(tool, parser, line, ret_opts)                     \
	(cmdline_begin(tool, line),                                     \
	 cmdline_end(parser(cmdline.argc, cmdline.argv, cmdline.to_out, \
			    cmdline.to_err, ret_opts)))

static inline int cmdline_forget(void **state)
{
	cmdline_free(&cmdline);
	return 0;
}

#endif /* CMDLINE_H */
