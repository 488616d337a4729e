/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * report.c - the figures of dtestcm.
 *
 * Threads: one. Ownership: none.
 * Rule: rows of the table for each step, then the historic lines, whose mean
 * is the time of all connections divided by their number.
 */
#include "test/dtest/common/dt_time.h"
#include "test/dtestcm/dtestcm.h"

#include <stdio.h>
#include <string.h>

/* Private memory of this process; 0 where the system does not say. */
long dtcm_private_kb(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	char line[128];
	long kb, sum = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Private_Clean: %ld", &kb) == 1 ||
		    sscanf(line, "Private_Dirty: %ld", &kb) == 1)
			sum += kb;
	if (f)
		fclose(f);
	return sum;
}

static void report_rate(struct dtcm *c, const char *test,
			struct dt_samples *samples, uint64_t total_ns,
			double kb_each)
{
	struct dt_result res;

	if (!samples->count)
		return;
	dt_result_begin(&res, DT_RATE, test, test);
	res.burst = c->burst;
	res.kb_each = kb_each;
	if (total_ns)
		res.rate_per_s =
			(double)samples->count * 1e9 / (double)total_ns;
	dt_stats_compute(samples, c->o->warmup, 1, &res.stats);
	res.iterations = res.stats.count;
	dt_report_result(&c->run.r, &res);
}

void dtcm_report_step(struct dtcm *c)
{
	static const char *const tests[2][2] = {{"connect", "accept"},
						{"ud_connect", "ud_accept"}};
	double kb = c->kb_after > c->kb_before
			    ? (double)(c->kb_after - c->kb_before) / c->o->count
			    : 0;

	c->total.connect_ns += c->connect_ns;
	report_rate(c, tests[c->o->ud][c->run.server], &c->connects,
		    c->connect_ns, kb);
	/* The server only watches them go. */
	report_rate(c, "disconnect", &c->leaves, c->leave_ns, 0);
	if (kb > 0)
		dt_say(&c->run.r, "%d %.1f kB of memory per connection\n",
		       c->run.r.pid, kb);
	if (c->o->reject)
		dt_say(&c->run.r, "%d %u of %u requests were turned down\n",
		       c->run.r.pid, c->states[DTCM_REJECTED], c->o->count);
}

static void print_line(struct dtcm *c, const char *name, double us)
{
	dt_line(&c->run.r, " %-12s%10.2f usec\n", name, us);
}

void dtcm_print_times(struct dtcm *c)
{
	const uint64_t *t = c->run.time_ns;
	uint32_t n = c->o->count * dtcm_steps(c->o);
	double total = dt_ns_to_us(c->total.connect_ns), objects = 0;
	double ep_create = dt_ns_to_us(c->total.ep_create_ns) / n;
	double ep_free = dt_ns_to_us(c->total.ep_free_ns) / n;

	dt_line(&c->run.r, "\n%d: DAPL Connection Test Complete\n\n",
		c->run.r.pid);
	print_line(c, "open:", dt_ns_to_us(t[DT_RUN_OPEN]));
	print_line(c, "close:", dt_ns_to_us(t[DT_RUN_CLOSE]));
	print_line(c, "PZ create:", dt_ns_to_us(t[DT_RUN_PZ_CREATE]));
	print_line(c, "PZ free:", dt_ns_to_us(t[DT_RUN_PZ_FREE]));
	print_line(c, "EVD create:", dt_ns_to_us(t[DT_RUN_EVD_CREATE]));
	print_line(c, "EVD free:", dt_ns_to_us(t[DT_RUN_EVD_FREE]));
	dt_line(&c->run.r, " EP create:  %10.2f usec avg\n", ep_create);
	dt_line(&c->run.r, " EP free:    %10.2f usec avg\n", ep_free);
	if (!c->run.server)
		dt_line(&c->run.r,
			" Connections: %8.2f usec, CPS %7.2f Total %.2f secs, "
			"poll_cnt=%llu, Num=%u\n",
			total / n, total > 0 ? n * 1e6 / total : 0, total / 1e6,
			(unsigned long long)c->run.w.polls, n);
	for (int i = 0; i < DT_RUN_TIME_N; i++)
		objects += dt_ns_to_us(t[i]);
	objects += total + (ep_create + ep_free) * n;
	dt_line(&c->run.r, " TOTAL: %.2f sec\n", objects / 1e6);
}
