/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - dtestcm: how fast connections come and go, and how many there are.
 *
 * Does not move data; see dtest for that.
 * Threads: one (the library may have more).
 * Ownership: struct dtcm lives on this stack for the whole run.
 * Rule: one run per invocation, the server leaves after one client; whatever
 * happens, the last line tells and the exit status agrees with it.
 */
#include "test/dtestcm/dtestcm.h"

#include <stdio.h>
#include <string.h>

static int step(struct dtcm *c, uint32_t index)
{
	int rc;

	c->burst = dtcm_burst(c->o, index);
	rc = dtcm_make_eps(c);
	/* Nobody is told where to connect before there is something to take. */
	if (!rc && c->run.server && !index)
		rc = dtcm_listen(c);
	dt_doing("the connections");
	if (!rc)
		rc = c->run.server ? dtcm_serve(c) : dtcm_call(c);
	if (!rc)
		dtcm_report_step(c);
	return dtcm_free_eps(c, rc);
}

static int run(struct dtcm *c)
{
	int rc = dtcm_open(c);

	for (uint32_t i = 0; !rc && i < dtcm_steps(c->o); i++)
		rc = step(c, i);
	/* Nothing that the server gets tells that it has all. */
	if (!rc && c->o->ud && !c->run.server)
		rc = dt_run_await_server(&c->run);
	rc = dtcm_close(c, rc);
	if (!rc)
		dtcm_print_times(c);
	return rc;
}

int main(int argc, char **argv)
{
	struct dtcm_opts opts;
	struct dtcm c;
	int rc;

	rc = dtcm_parse(argc, argv, stdout, stderr, &opts);
	if (rc >= 0)
		return fflush(stdout) ? DT_FAILED : rc;
	memset(&c, 0, sizeof(c));
	c.o = &opts;
	rc = dt_run_begin(&c.run, "dtestcm", &opts.run);
	return rc ? rc : dt_run_end(&c.run, run(&c));
}
