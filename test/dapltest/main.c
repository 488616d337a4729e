/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - dapltest: the command line, and one run.
 *
 * Does nothing itself, so that a test program can do without it.
 * Threads: one. Ownership: the options live on this stack.
 * Rule: a signal asks to stop; the run then ends as after an error.
 */
#include "test/dapltest/dapltest.h"

int main(int argc, char **argv)
{
	struct dpt_opts opts;
	int rc;

	rc = dpt_parse(argc, argv, stdout, stderr, &opts);
	if (rc >= 0)
		return fflush(stdout) ? DT_FAILED : rc;
	dt_catch_signals();
	rc = dpt_run(&opts);
	dpt_opts_fini(&opts);
	return rc;
}
