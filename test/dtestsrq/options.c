/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.c - the command line of dtestsrq, and what both sides must agree on.
 *
 * Does not open anything. Threads, ownership: see dt_opt.h.
 * Rule: letters, defaults and limits are historic.
 */
#include "test/dtestsrq/dtestsrq.h"

#include <stddef.h>

#define AT(member) offsetof(struct dsrq_opts, member)

/* clang-format off */
static const struct dt_opt rows[] = {
	{'c', NULL, DT_OPT_COUNT, AT(count), 0, 1, DSRQ_MAX, "N",
	 "connections (1)"},
	{'B', NULL, DT_OPT_COUNT, AT(messages), 0, 1, DSRQ_MAX, "N",
	 "messages per connection and burst (1)"},
	{'t', NULL, DT_OPT_COUNT, AT(bursts), 0, 0, DSRQ_BURSTS_MAX, "N",
	 "bursts in each direction (3)"},
	{'b', NULL, DT_OPT_COUNT, AT(size), 0, DSRQ_HEADER, 1u << 24, "N",
	 "bytes of a message (the MTU)"},
	{'S', NULL, DT_OPT_CHOICE, AT(srq), 0, 0, 0, "0|1",
	 "1: a shared receive queue (default); 0: none"},
	{0, "lowwater", DT_OPT_COUNT, AT(low_water), 0, 1, DSRQ_MAX * DSRQ_MAX,
	 "N", "an event must come when fewer than N receives are\n"
	 "left in the first burst"},
	{0, "resize", DT_OPT_COUNT, AT(resize), 0, 1, 1u << 20, "N",
	 "make room for N receives after the first burst"},
	{0, "last-receive", DT_OPT_CHOICE, AT(last), 0, 0, 0, "none|try|need",
	 "the event that tells that a disconnected endpoint\n"
	 "takes no more receives: do not look for it, say\n"
	 "whether it came (default), fail without it"},
	{0, "warmup", DT_OPT_COUNT, AT(warmup), 0, 0, DSRQ_BURSTS_MAX, "N",
	 "leave the first N bursts out of the table"},
	{0, "poll", DT_OPT_FLAG, AT(poll), 0, 0, 0, NULL,
	 "poll for events instead of waiting"},
	{0, "direct", DT_OPT_FLAG, AT(direct), 0, 0, 0, NULL,
	 "connect to the address of -h without a rendezvous,\n"
	 "as an older server needs it"},
	{'u', NULL, DT_OPT_FLAG, AT(ud), 0, 0, 0, NULL,
	 "datagram (UD) endpoints: one of the client, which\n"
	 "talks to -c of the server"},
	{'p', NULL, DT_OPT_PORT, AT(run.port), 0, 0, 0, "N", "as --port"},
};

static const struct dt_opt_spec spec = {
	.tool = "dtestsrq",
	.usage =
"usage: dtestsrq [-P PROVIDER] [option...]           one side: the server\n"
"       dtestsrq -h HOST [option...]                 other side: the client\n"
"\n"
"Exchanges messages over several connections whose receives come from one\n"
"shared queue, checks them, and shows times.\n",
	.notes =
"Both sides need the same of -c, -B, -t, -u and --port; -b is taken from the\n"
"server. Example, two terminals of one machine:\n"
"\n"
"  dtestsrq -P ofa-v2-eth0 -c 8 -B 16 -t 100\n"
"  dtestsrq -h 192.168.1.10 -c 8 -B 16 -t 100\n"
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

struct dt_oob_params dsrq_params(const struct dsrq_opts *o, uint32_t size)
{
	struct dt_oob_params p = {
		.known = true,
		.mode = o->ud ? DSRQ_MODE_UD : DSRQ_MODE,
		.size = size,
		.count = o->count | o->messages << 8 | o->bursts << 16,
	};

	return p;
}

const char *dsrq_mismatch(const struct dsrq_opts *o,
			  const struct dt_oob_params *theirs)
{
	struct dt_oob_params own = dsrq_params(o, o->size);

	if (theirs->known &&
	    theirs->mode == (own.mode ^ DSRQ_MODE ^ DSRQ_MODE_UD))
		return "the server runs with another -u";
	if (!theirs->known || theirs->mode != own.mode)
		return "the server is another test tool";
	if ((theirs->count ^ own.count) & 0xff)
		return "the server runs with another -c";
	if ((theirs->count ^ own.count) & 0xff00)
		return "the server runs with another -B";
	if (theirs->count != own.count)
		return "the server runs with another -t";
	if (o->size && theirs->size != o->size)
		return "the server runs with another -b";
	return NULL;
}

static int check_srq(FILE *err, const struct dsrq_opts *o)
{
	uint32_t flow = o->count * o->messages;

	if (!o->srq && (o->low_water || o->resize))
		return dt_opt_bad(&spec, err, "--lowwater and --resize",
				  "with -S 0", "they are about the queue");
	if (o->low_water > flow)
		return dt_opt_bad(&spec, err, "--lowwater", "of this -c and -B",
				  "there are fewer receives than that");
	if (o->low_water && !o->bursts)
		return dt_opt_bad(&spec, err, "--lowwater", "with -t 0",
				  "nothing would take a receive");
	if (o->resize && o->resize < flow)
		return dt_opt_bad(&spec, err, "--resize", "of this -c and -B",
				  "more receives than that are posted");
	if (o->resize && o->bursts < 2)
		return dt_opt_bad(&spec, err, "--resize", "of this -t",
				  "no burst would follow");
	return -1;
}

static int check_sense(FILE *err, const struct dsrq_opts *o)
{
	if (o->ud && o->last == DSRQ_LAST_NEED)
		return dt_opt_bad(&spec, err, "--last-receive need", "with -u",
				  "such an endpoint is never disconnected");
	if (o->direct && !o->run.host)
		return dt_opt_bad(&spec, err, "--direct", "without -h",
				  "it is for clients");
	if (o->warmup && o->warmup >= o->bursts)
		return dt_opt_bad(&spec, err, "--warmup", "of this -t",
				  "nothing would be left");
	return check_srq(err, o);
}

int dsrq_parse(int argc, char **argv, FILE *out, FILE *err,
	       struct dsrq_opts *ret_opts)
{
	struct dsrq_opts o = {
		.count = DSRQ_COUNT,
		.messages = DSRQ_MESSAGES,
		.bursts = DSRQ_BURSTS,
		.srq = 1,
		.last = DSRQ_LAST_TRY,
	};
	int rc;

	dt_run_defaults(&o.run, DSRQ_PROVIDER);
	rc = dt_opt_parse(&spec, argc, argv, out, err, &o);
	if (rc < 0)
		rc = check_sense(err, &o);
	if (rc < 0)
		*ret_opts = o;
	return rc;
}
