/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.h - the command line of dapltest.
 *
 * Does not open anything, except the script of -f.
 * Threads: one, getopt(3) has state of its own.
 * Ownership: texts in the result are those of argv, or of a script, which the
 * result owns: dpt_opts_fini().
 * Rule: letters, defaults and words of the historic tool; long options are
 * new. What it ignored or misread is refused with a sentence.
 */
#ifndef DAPLTEST_OPTIONS_H
#define DAPLTEST_OPTIONS_H

#include "test/dapltest/proto.h"
#include "test/dtest/common/dt_tool.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define DPT_TOOL      DT_TOOL("dapltest")
#define DPT_DEVICE    DT_FACED("OpenIB-cma", "ofa-v2-ib0")
#define DPT_PORT      DT_FACED(45278u, 62000u)
#define DPT_TIMEOUT_S 30u

struct dpt_opts {
	enum dpt_test test;
	const char *device;
	bool device_given;
	const char *host;
	uint16_t port;
	uint16_t oob_port; /* 0: none */
	uint32_t debug;
	DAT_QOS qos;
	uint32_t iterations;
	uint32_t warmup;
	uint32_t threads;
	uint32_t width; /* endpoints per thread, or sets of objects */
	bool validate;
	bool poll; /* -P, and -m p */
	bool rsp;
	bool ud;
	uint32_t pipeline;
	uint32_t max;	     /* -m of a limit test */
	const char *feature; /* -f */
	struct dpt_op ops[DPT_OPS_MAX];
	uint32_t op_count;
	char *const *words; /* limits or cases that were named; not checked */
	int word_count;
	uint32_t timeout_s;
	int cpu; /* -1: any */
	bool no_check;
	bool no_rmr;
	bool quiet;
	const char *json_path; /* as dt_report_open() */
	char **script;	       /* words of -f, or NULL */
};

/* "T", "transaction test" and the like */
const char *dpt_test_name(enum dpt_test test);

/*
 * Understands the command line. Returns -1 when there is something to run,
 * else the exit status (0 after --help and --version). Texts go to out when
 * asked for, and to err when the command line is wrong.
 */
int dpt_parse(int argc, char **argv, FILE *out, FILE *err,
	      struct dpt_opts *ret_opts);

/* Frees what belongs to options that dpt_parse() filled in. */
void dpt_opts_fini(struct dpt_opts *opts);

/*
 * Splits a script into words: at blanks, tabs and newlines, up to a word that
 * begins with '#' on each line. They follow name, which is not copied, in a
 * new vector with a NULL at its end. Returns their number with name, or a
 * negative errno.
 */
int dpt_script_words(FILE *in, char *name, char ***ret_argv);
void dpt_script_free(char **argv);

#endif /* DAPLTEST_OPTIONS_H */
