/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - dtestsrq: several connections that receive from one queue.
 *
 * Does not test RDMA or rates of connections; see dtest and dtestcm.
 * Threads: one (the library may have more).
 * Ownership: struct dsrq lives on this stack for the whole run.
 * Rule: one run per invocation, the server leaves after one client; whatever
 * happens, the last line tells and the exit status agrees with it.
 */
#include "test/dtestsrq/dtestsrq.h"

#include <stdio.h>
#include <string.h>

static int run(struct dsrq *d)
{
	int rc = dsrq_open(d);

	dt_doing("the beginning of the connections");
	if (!rc)
		rc = dsrq_connect(d);
	dt_doing("the exchange of messages");
	if (!rc)
		rc = dsrq_exchange(d);
	dt_doing("the end of the connections");
	if (!rc)
		rc = dsrq_disconnect(d);
	if (!rc)
		rc = dsrq_check_last(d);
	/* With -t 0 nothing tells that the server has found all. */
	if (!rc && d->o->ud && !d->run.server)
		rc = dt_run_await_server(&d->run);
	rc = dsrq_close(d, rc);
	/* Historic; its reader knows no other verdict. */
	if (!rc)
		dt_line(&d->run.r, "\n DAPL %s %s Test Complete.\n",
			d->o->ud ? "UD" : "RC", d->o->srq ? "SRQ" : "none SRQ");
	return rc;
}

int main(int argc, char **argv)
{
	struct dsrq_opts opts;
	struct dsrq d;
	int rc;

	rc = dsrq_parse(argc, argv, stdout, stderr, &opts);
	if (rc >= 0)
		return fflush(stdout) ? DT_FAILED : rc;
	memset(&d, 0, sizeof(d));
	d.o = &opts;
	rc = dt_run_begin(&d.run, "dtestsrq", &opts.run);
	return rc ? rc : dt_run_end(&d.run, run(&d));
}
