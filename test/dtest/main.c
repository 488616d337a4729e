/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - dtest: one connection, RDMA and messages, figures and a verdict.
 *
 * Does not test extensions, connection rates or shared receive queues; those
 * have tools of their own.
 * Threads: one (the library may have more).
 * Ownership: struct dtest lives on this stack for the whole run.
 * Rule: one run per invocation, the server leaves after one client; whatever
 * happens, the last line tells and the exit status agrees with it.
 */
#include "test/dtest/dtest.h"

#include <string.h>

static int run(struct dtest *d)
{
	int rc = dtest_open(d);

	dt_doing("the beginning of the connection");
	if (!rc)
		rc = dtest_connect(d);
	dt_doing("the test");
	if (!rc)
		rc = dtest_run(d);
	dt_doing("the end of the connection");
	if (!rc)
		rc = dtest_disconnect(d);
	rc = dtest_close(d, rc);
	if (d->o->timing)
		dtest_print_times(d);
	dt_samples_fini(&d->reads);
	return rc;
}

int main(int argc, char **argv)
{
	struct dtest_opts opts;
	struct dtest d;
	int rc;

	rc = dtest_parse(argc, argv, stdout, stderr, &opts);
	if (rc >= 0)
		return fflush(stdout) ? DT_FAILED : rc;
	memset(&d, 0, sizeof(d));
	d.o = &opts;
	rc = dt_run_begin(&d.run, DT_TOOL("dtest"), &opts.run);
	return rc ? rc : dt_run_end(&d.run, run(&d));
}
