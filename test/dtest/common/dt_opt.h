/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_opt.h - a command line as a table: each option is declared once, with
 * its letter or name, what it takes, where that goes and what --help says.
 *
 * Does not know what options mean together; a tool checks that afterwards.
 * Threads: one, getopt(3) has state of its own.
 * Ownership: texts in the result are those of argv.
 * Rule: letters are historic, and so is 244 for a letter that is not one;
 * whatever is wrong otherwise ends with 2. The order of options does not
 * matter, of an option that comes twice the last one counts.
 */
#ifndef DTEST_DT_OPT_H
#define DTEST_DT_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum dt_opt_kind {
	DT_OPT_FLAG,   /* bool */
	DT_OPT_MORE,   /* uint32_t, one more each time */
	DT_OPT_SET,    /* uint32_t, becomes min */
	DT_OPT_COUNT,  /* uint32_t from min to max */
	DT_OPT_ALL,    /* the same, or the word "all": UINT32_MAX */
	DT_OPT_UNUSED, /* a number from min to max that nobody reads */
	DT_OPT_PORT,   /* uint16_t from 1 on */
	DT_OPT_CPU,    /* int; -1 stands for any */
	DT_OPT_TEXT,   /* const char *, of max characters at most */
	DT_OPT_FILE,   /* const char *, the value may be left out: "" */
	DT_OPT_CHOICE, /* uint32_t, which of the words in arg: "one|two" */
	DT_OPT_LIST,   /* struct dt_opt_list, numbers from min to max */
	DT_OPT_SERVER, /* const char *, taken back: NULL */
	DT_OPT_USAGE,  /* shows the help, exit status 244 */
	DT_OPT_HELP,
	DT_OPT_VERSION,
};

#define DT_OPT_LIST_MAX 16

struct dt_opt_list {
	uint32_t n;
	uint32_t value[DT_OPT_LIST_MAX];
};

struct dt_opt {
	char letter;	  /* 0: none */
	const char *name; /* of the long form; NULL: none */
	enum dt_opt_kind kind;
	size_t at;	 /* of the value in the tool's structure */
	size_t given_at; /* of a bool that is set as well; 0: none */
	uint32_t min, max;
	const char *arg;  /* what the help calls the value */
	const char *help; /* "\n" begins another line; NULL: not told */
};

/* At most that many rows in both tables of a tool. */
#define DT_OPT_ROWS_MAX 64

struct dt_opt_spec {
	const char *tool;
	const char *usage; /* lines above the options */
	const char *notes; /* lines below them */
	const struct dt_opt *rows;
	size_t row_count;
	/* the rows of all tools, with offsets into the same structure */
	const struct dt_opt *common;
	size_t common_count;
	/* what is said of an option that is none, with status 2; NULL: 244 */
	const char *unknown;
	bool words; /* what follows the options is left, from optind on */
};

/*
 * Reads argv into opts, which holds the defaults. Returns -1 when there is
 * something to run, else the exit status (0 after --help and --version).
 * What was asked for goes to out, what is wrong to err.
 */
int dt_opt_parse(const struct dt_opt_spec *spec, int argc, char **argv,
		 FILE *out, FILE *err, void *opts);

/* One line about an option that makes no sense; returns the exit status. */
int dt_opt_bad(const struct dt_opt_spec *spec, FILE *err, const char *option,
	       const char *value, const char *why);

#endif /* DTEST_DT_OPT_H */
