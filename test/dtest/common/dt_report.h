/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_report.h - what a test tool says: progress, results, errors, verdict.
 *
 * Does not decide whether a test passed. People read text; programs read the
 * historic result lines or, with --json, JSON Lines.
 * Threads: one reporter per process. Opened, closed and set up by one thread;
 * what is said and reported may come from many.
 * Ownership: the streams belong to the reporter from open to close; texts
 * that are handed in are copied.
 * Rule: one error is reported where it is found (dt_fail) and its code is
 * passed up; the first one is repeated in the summary record.
 */
#ifndef DTEST_DT_REPORT_H
#define DTEST_DT_REPORT_H

#include "test/dtest/common/dt_stats.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit status of the tools. */
enum dt_exit {
	DT_PASSED = 0,
	DT_FAILED = 1,
	DT_USAGE = 2,
	DT_TIMED_OUT = 3,
	DT_ENVIRONMENT = 4, /* no provider, no device, a limit of the system */
	DT_MISMATCH = 5,    /* the peer runs another test */
	DT_INTERRUPTED = 130,
	DT_USAGE_SHORT = 244, /* historic: exit(-12) */
};

enum dt_kind {
	DT_LATENCY,
	DT_BANDWIDTH,
	DT_NO_FIGURES, /* a record, but no row of a table */
	DT_RATE,       /* of connections */
};

/* One row of the table, one record. */
struct dt_result {
	enum dt_kind kind;
	char test[24];
	char op[24];
	uint64_t bytes;
	uint64_t iterations;
	struct dt_stats stats; /* latency, or time per operation */
	double bw_peak_mbps;   /* MB = 10^6 bytes */
	double bw_avg_mbps;
	double msg_rate_mpps;
	uint32_t burst;	    /* DT_RATE: under way at once */
	double rate_per_s;  /* and how many got done */
	double kb_each;	    /* private memory of one; 0: not known */
	const char *result; /* "PASSED", "FAILED" or "SKIPPED"; constant */
	char why[128];	    /* why it was skipped */
};

struct dt_report {
	pthread_mutex_t lock; /* guards code, error, rows and the lines */
	FILE *text;
	FILE *json; /* NULL: none */
	bool quiet;
	int verbose;
	int pid;
	enum dt_exit code; /* first error */
	char error[512];
	char tool[24];
	char role[16];
	char provider[64];
	char device[64];
	const char *name; /* of the adapter, in each record; NULL: no member */
	struct dt_result *rows;
	size_t row_count;
	size_t row_room;
	bool terminal;	   /* standard error is one */
	bool progress;	   /* a progress line is shown */
	uint64_t shown_ns; /* when the last one was, or the run began */
};

/*
 * json_path: NULL none, "" standard output (text then goes to standard
 * error), else a file. Returns 0, or a negative errno when the file cannot be
 * made; the reporter is usable for text even then.
 */
int dt_report_open(struct dt_report *r, const char *tool,
		   const char *json_path);

/* Who runs here and over what; stands in each record. */
void dt_report_role(struct dt_report *r, const char *role);
void dt_report_provider(struct dt_report *r, const char *provider,
			const char *device);

/* Progress, not shown with --quiet. Each is one line, "\n" included. */
__attribute__((format(printf, 2, 3))) void dt_say(struct dt_report *r,
						  const char *fmt, ...);
/* Only with -v. */
__attribute__((format(printf, 2, 3))) void dt_trace(struct dt_report *r,
						    const char *fmt, ...);
/* The historic result lines; --quiet leaves them out for the table. */
__attribute__((format(printf, 2, 3))) void dt_line(struct dt_report *r,
						   const char *fmt, ...);

/*
 * Shows a line that the next output replaces, so that somebody who watches a
 * long run knows that it moves. Only on a terminal, not with --quiet, and a few
 * times a second however often it is called.
 */
__attribute__((format(printf, 2, 3))) void dt_progress(struct dt_report *r,
						       const char *fmt, ...);

/*
 * Reports an error on standard error and remembers the first one. Returns
 * code, so that the caller can `return dt_fail(...)`.
 */
__attribute__((format(printf, 3, 4))) int
dt_fail(struct dt_report *r, enum dt_exit code, const char *fmt, ...);

/* A result that passed, with no figures yet. */
void dt_result_begin(struct dt_result *res, enum dt_kind kind, const char *test,
		     const char *op);
/* Rates of what was done one after the other, from stats and bytes. */
void dt_result_rates(struct dt_result *res);
/* Rates of n operations that took ns altogether; the peak from stats. */
void dt_result_total(struct dt_result *res, uint64_t n, uint64_t ns);

/* Takes a row for the table and writes its record. */
void dt_report_result(struct dt_report *r, const struct dt_result *res);

/* A row that says that, and why, something did not run. Never silent. */
__attribute__((format(printf, 4, 5))) void
dt_report_skipped(struct dt_report *r, const char *test, const char *op,
		  const char *fmt, ...);

/*
 * Table, verdict line, summary record. Returns the exit status: code, or
 * DT_FAILED when what was to be written could not be.
 */
int dt_report_close(struct dt_report *r, int code);

#endif /* DTEST_DT_REPORT_H */
