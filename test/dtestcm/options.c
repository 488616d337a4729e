/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.c - the command line of dtestcm, and what both sides must agree on.
 *
 * Does not open anything. Threads, ownership: see dt_opt.h.
 * Rule: letters and defaults are historic; a count need not be a multiple of
 * the burst any more.
 */
#include "test/dtestcm/dtestcm.h"

#include <stddef.h>

#define AT(member) offsetof(struct dtcm_opts, member)

/* clang-format off */
static const struct dt_opt rows[] = {
	{'c', NULL, DT_OPT_COUNT, AT(count), 0, 1, DTCM_MAX, "N",
	 "connections (1000)"},
	{'b', NULL, DT_OPT_COUNT, AT(burst), AT(burst_given), 1, DTCM_MAX, "N",
	 "connections under way at once (100)"},
	{0, "window", DT_OPT_FLAG, AT(window), 0, 0, 0, NULL,
	 "begin one as soon as another is there, instead of\n"
	 "burst after burst"},
	{0, "ramp", DT_OPT_LIST, AT(ramp), 0, 1, DTCM_MAX, "N,N,...",
	 "all connections once for each of these bursts"},
	{'m', NULL, DT_OPT_FLAG, AT(many_ports), 0, 0, 0, NULL,
	 "one listener for each connection of a burst"},
	{0, "hold", DT_OPT_COUNT, AT(hold_s), 0, 0, 86400, "SEC",
	 "keep all of them that long; none may break"},
	{0, "reject", DT_OPT_COUNT, AT(reject), 0, 0, 100, "PERCENT",
	 "the server turns down that many, and the client\n"
	 "counts them"},
	{0, "warmup", DT_OPT_COUNT, AT(warmup), 0, 0, DTCM_MAX, "N",
	 "leave the first N connections out of the table"},
	{'w', NULL, DT_OPT_FLAG, AT(wait), 0, 0, 0, NULL,
	 "wait for events instead of polling"},
	{'d', NULL, DT_OPT_COUNT, AT(delay_s), 0, 0, 3600, "SEC",
	 "the server waits that long before each accept"},
	{'u', NULL, DT_OPT_FLAG, AT(ud), 0, 0, 0, NULL,
	 "datagram (UD) endpoints, which find one another and\n"
	 "have nothing to disconnect"},
	{'p', NULL, DT_OPT_PORT, AT(run.port), 0, 0, 0, "N", "as --port"},
};

static const struct dt_opt_spec spec = {
	.tool = "dtestcm",
	.usage =
"usage: dtestcm [-P PROVIDER] [option...]            one side: the server\n"
"       dtestcm -h HOST [option...]                  other side: the client\n"
"\n"
"Makes connections, measures how long each takes and how many a second there\n"
"are, and ends them again.\n",
	.notes =
"Both sides need the same of -c, -m, -u, --port, --ramp and --reject.\n"
"Example, two terminals of one machine:\n"
"\n"
"  dtestcm -P ofa-v2-eth0 -c 500 --ramp 1,10,100\n"
"  dtestcm -h 192.168.1.10 -c 500 --ramp 1,10,100\n"
"\n"
"Exit status: 0 passed, 1 failed, 2 usage (244: unknown letter), 3 timed out,\n"
"4 no provider, device or resources, 5 the peer runs something else,\n"
"130 interrupted.\n",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
	.common = dt_run_rows,
	.common_count = DT_RUN_ROWS,
};
/* clang-format on */

uint32_t dtcm_steps(const struct dtcm_opts *o)
{
	return o->ramp.n ? o->ramp.n : 1;
}

/* No more are under way than there are at all. */
uint32_t dtcm_burst(const struct dtcm_opts *o, uint32_t step)
{
	uint32_t burst = o->ramp.n ? o->ramp.value[step] : o->burst;

	return burst < o->count ? burst : o->count;
}

/* Evenly: the whole percents that the requests so far have passed. */
bool dtcm_rejects(uint32_t percent, uint32_t index)
{
	uint64_t before = (uint64_t)index * percent / 100;

	return ((uint64_t)index + 1) * percent / 100 > before;
}

#define MANY_PORTS 0x80 /* beside the percents */

struct dt_oob_params dtcm_params(const struct dtcm_opts *o)
{
	struct dt_oob_params p = {
		.known = true,
		.mode = o->ud ? DTCM_MODE_UD : DTCM_MODE,
		.flags =
			(uint8_t)(o->reject | (o->many_ports ? MANY_PORTS : 0)),
		.size = o->many_ports ? dtcm_burst(o, 0) : dtcm_steps(o),
		.count = o->count,
	};

	return p;
}

const char *dtcm_mismatch(const struct dtcm_opts *o,
			  const struct dt_oob_params *theirs)
{
	struct dt_oob_params own = dtcm_params(o);

	if (!theirs->known)
		return o->reject || o->ramp.n
			       ? "the server is an older dtestcm; --reject and "
				 "--ramp need one of this version"
			       : NULL;
	if (theirs->mode == (own.mode ^ DTCM_MODE ^ DTCM_MODE_UD))
		return "the server runs with another -u";
	if (theirs->mode != own.mode)
		return "the server is another test tool";
	if (theirs->count != own.count)
		return "the server runs with another -c";
	if (theirs->flags != own.flags)
		return "the server runs with another -m or --reject";
	if (theirs->size != own.size)
		return o->many_ports ? "the server runs with another -b"
				     : "the server runs with another --ramp";
	return NULL;
}

static int check_sense(FILE *err, const struct dtcm_opts *o)
{
	if (o->ud && o->hold_s)
		return dt_opt_bad(&spec, err, "-u", "with --hold",
				  "there is nothing that could break");
	if (o->many_ports && o->ramp.n)
		return dt_opt_bad(&spec, err, "-m", "with --ramp",
				  "choose one of them");
	if (o->burst_given && o->ramp.n)
		return dt_opt_bad(&spec, err, "-b", "with --ramp",
				  "choose one of them");
	if (o->many_ports &&
	    (uint32_t)o->run.port + dtcm_burst(o, 0) - 1 > UINT16_MAX)
		return dt_opt_bad(&spec, err, "-m", "of this --port",
				  "not that many qualifiers above it");
	if (o->warmup >= o->count)
		return dt_opt_bad(&spec, err, "--warmup", "of this -c",
				  "nothing would be left");
	return -1;
}

int dtcm_parse(int argc, char **argv, FILE *out, FILE *err,
	       struct dtcm_opts *ret_opts)
{
	struct dtcm_opts o = {.count = DTCM_COUNT, .burst = DTCM_BURST};
	int rc;

	dt_run_defaults(&o.run, DTCM_PROVIDER);
	rc = dt_opt_parse(&spec, argc, argv, out, err, &o);
	if (rc < 0)
		rc = check_sense(err, &o);
	if (rc < 0)
		*ret_opts = o;
	return rc;
}
