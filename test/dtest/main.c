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
#include "test/dtest/common/dt_time.h"
#include "test/dtest/dtest.h"

#include <sched.h>
#include <string.h>

static int pin(struct dtest *d)
{
	cpu_set_t set;

	if (d->o->cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(d->o->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return dt_fail(
			&d->r, DT_ENVIRONMENT,
			"--cpu %d: %m; nproc(1) tells how many there are",
			d->o->cpu);
	return 0;
}

static int run(struct dtest *d)
{
	int rc = pin(d);

	if (!rc)
		rc = dtest_open(d);
	if (!rc)
		rc = dtest_connect(d);
	if (!rc)
		rc = dtest_run(d);
	if (!rc)
		rc = dtest_disconnect(d);
	return dtest_close(d, rc);
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
	d.server = !opts.host;
	d.limit_ns = opts.timeout_s * DT_NS_PER_S;
	d.oob_conn = d.oob_fds[0] = d.oob_fds[1] = -1;
	rc = dt_report_open(&d.r, "dtest", opts.json_path);
	if (rc) {
		fprintf(stderr, "dtest: --json=%s: %s\n", opts.json_path,
			strerror(-rc));
		return DT_USAGE;
	}
	d.r.quiet = opts.quiet;
	d.r.verbose = opts.verbose;
	dt_report_role(&d.r, d.server ? "server" : "client");
	dt_report_provider(&d.r, opts.provider, "");
	dt_catch_signals();
	rc = run(&d);
	if (opts.timing)
		dtest_print_times(&d);
	return dt_report_close(&d.r, rc);
}
