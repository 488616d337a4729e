/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - dtestx: the InfiniBand extensions of DAT 2.0, over one connection or
 * between datagram endpoints (ud.c).
 *
 * Does not measure; see dtest.
 * Threads: one (the library may have more).
 * Ownership: struct dx lives on this stack for the whole run.
 * Rule: one run per invocation, the server leaves after one client; whatever
 * happens, the last line tells and the exit status agrees with it.
 */
#include "test/dtestx/dtestx.h"

#include <dat2/dat_ib_extensions.h>
#include <stdio.h>
#include <string.h>

struct part {
	const char *test;
	const char *line; /* historic, of one that passed */
	const char *attr; /* of the provider, unless it can */
	int (*run)(struct dx *d);
};

static const struct part parts[] = {
	{"write_immed", "RDMA_WRITE_WITH_IMMEDIATE_DATA",
	 DAT_IB_ATTR_IMMED_DATA, dx_write_immed},
	{"cmp_and_swap", "CMP_SWAP", DAT_IB_ATTR_CMP_AND_SWAP, dx_cmp_and_swap},
	{"fetch_and_add", "FETCH_ADD", DAT_IB_ATTR_FETCH_AND_ADD,
	 dx_fetch_and_add},
};

/* What a side skips, the other has to: adapters of one kind are alike. */
static int run_part(struct dx *d, const struct part *part)
{
	struct dt_result res;
	int rc;

	if (dt_run_attr(&d->run, part->attr) &&
	    !dt_run_attr_true(&d->run, part->attr)) {
		dt_report_skipped(&d->run.r, part->test, "ext",
				  "the provider does not have %s", part->attr);
		return 0;
	}
	dt_doing(part->test);
	rc = part->run(d);
	if (rc)
		return rc;
	dt_line(&d->run.r, "\n %s test - PASSED\n", part->line);
	dt_result_begin(&res, DT_NO_FIGURES, part->test, "ext");
	dt_report_result(&d->run.r, &res);
	return 0;
}

static int run(struct dx *d)
{
	int rc = 0;

	if (d->o->query)
		return dx_query(d);
	if (d->o->ud)
		return dx_ud(d);
	if (!d->run.server)
		rc = dx_find_server(d);
	if (!rc)
		rc = dx_open(d);
	if (!rc && d->o->counters)
		dx_count(d);
	dt_doing("the beginning of the connection");
	if (!rc)
		rc = dx_connect(d);
	for (size_t i = 0; !rc && i < sizeof(parts) / sizeof(parts[0]); i++)
		rc = run_part(d, &parts[i]);
	if (!rc && d->o->counters)
		rc = dx_counters(d);
	dt_doing("the end of the connection");
	if (!rc)
		rc = dx_disconnect(d);
	rc = dx_close(d, rc);
	/* Historic; its reader knows no other verdict. */
	if (!rc)
		dt_line(&d->run.r,
			"\n IB extension test - immed/atomic test PASSED\n\n");
	return rc;
}

int main(int argc, char **argv)
{
	struct dx_opts opts;
	struct dx d;
	int rc;

	rc = dx_parse(argc, argv, stdout, stderr, &opts);
	if (rc >= 0)
		return fflush(stdout) ? DT_FAILED : rc;
	memset(&d, 0, sizeof(d));
	d.o = &opts;
	d.received = DX_FIRST_RECV;
	rc = dt_run_begin(&d.run, "dtestx", &opts.run);
	return rc ? rc : dt_run_end(&d.run, run(&d));
}
