/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.c - the command line of dtest.
 *
 * Does not open anything. Threads, ownership: see dt_opt.h.
 * Rule: letters and defaults are historic, long options are new. A value that
 * was given counts wherever it stands: "-B 5 -W" runs 5 rounds, where the
 * historic tool forgot the 5.
 */
#include "test/dtest/dtest.h"

#define STEPS_MAX 1000000

#define AT(member) offsetof(struct dtest_opts, member)

/* clang-format off */
static const struct dt_opt rows[] = {
	{'b', "size", DT_OPT_COUNT, AT(size), AT(size_given), 1, 1u << 30, "N",
	 "bytes per message (" DT_FACED("64", "4194304") "; with -W 1)"},
	{'B', "iters", DT_OPT_COUNT, AT(count), 0, 0, 10000000, "N",
	 "RDMA writes, or rounds of -W (" DT_FACED("10", "1000") ")"},
	{'S', NULL, DT_OPT_COUNT, AT(signal), AT(signal_given), 1, 10000000,
	 "N", "one completion per N writes (10; with -W 1)"},
	{'w', NULL, DT_OPT_FLAG, AT(stream), 0, 0, 0, NULL,
	 "RDMA write stream only"},
	{'W', NULL, DT_OPT_FLAG, AT(pingpong), 0, 0, 0, NULL,
	 "RDMA write ping-pong only"},
	{'D', NULL, DT_OPT_FLAG, AT(check), 0, 0, 0, NULL,
	 "-W and check the data"},
	{0, "perf", DT_OPT_CHOICE, AT(perf), AT(perf_given), 0, 0,
	 "send_lat|send_bw|read_lat|read_bw|write_bw",
	 "only that, measured by the client (-W is write_lat)"},
	{0, "depth", DT_OPT_COUNT, AT(depth), 0, 1, DTEST_SIGNAL_MAX, "N",
	 "operations of --perf *_bw under way at once (64)"},
	{'u', NULL, DT_OPT_FLAG, AT(uni), 0, 0, 0, NULL,
	 "only the client writes"},
	{'a', NULL, DT_OPT_FLAG, AT(all_sizes), 0, 0, 0, NULL,
	 "with -W, -D or --perf: all powers of two up to -b;\n"
	 "with -W and -D also one byte off"},
	{'i', NULL, DT_OPT_COUNT, AT(step), AT(all_sizes), 0, 1u << 30, "N",
	 "the same with multiples of N instead"},
	{0, "warmup", DT_OPT_COUNT, AT(warmup), 0, 0, 10000000, "N",
	 "leave the first N rounds out of the table"},
	{0, "reads", DT_OPT_COUNT, AT(reads), 0, 1, 1000000, "N",
	 "RDMA reads (4)"},
	{0, "verify", DT_OPT_CHOICE, AT(verify), 0, 0, 0, "none|first|full",
	 "how much of the data is checked (first)"},
	{'p', NULL, DT_OPT_SET, AT(wait), 0, DT_WAIT_POLL, 0, NULL,
	 "poll for events"},
	{'c', NULL, DT_OPT_SET, AT(wait), 0, DT_WAIT_CNO, 0, NULL,
	 "wait on a CNO"},
	{'d', NULL, DT_OPT_COUNT, AT(delay_s), 0, 0, 3600, "SEC",
	 "the server waits that long before it accepts"},
	{0, "direct", DT_OPT_FLAG, AT(direct), 0, 0, 0, NULL,
	 "connect to the address of -h without a rendezvous,\n"
	 "as an older server needs it"},
	{'t', NULL, DT_OPT_FLAG, AT(timing), 0, 0, 0, NULL,
	 "show the times of all steps"},
	{'U', NULL, DT_OPT_USAGE, 0, 0, 0, 0, NULL,
	 "this text, with exit status 244"},
};

static const struct dt_opt_spec spec = {
	.tool = DT_TOOL("dtest"),
	.usage =
"usage: " DT_TOOL("dtest") " [-P PROVIDER] [option...]            one side: the server\n"
"       " DT_TOOL("dtest") " -h HOST [option...]                  other side: the client\n"
"\n"
"Moves data over one connection in each way that DAT knows, checks it, and\n"
"shows times.\n",
	.notes =
"Both sides need the same size, count and mode. Example, two terminals of one\n"
"machine:\n"
"\n"
"  " DT_TOOL("dtest") " -P " DT_EXAMPLE " -W -b 64\n"
"  " DT_TOOL("dtest") " -h 192.168.1.10 -W -b 64\n"
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

/* Values that depend on the mode, where none was given. */
static void settle_defaults(struct dtest_opts *o)
{
	if (o->perf_given)
		o->mode = DTEST_PERF;
	else if (o->check)
		o->mode = DTEST_CHECK;
	else if (o->pingpong)
		o->mode = DTEST_PINGPONG;
	else if (o->stream)
		o->mode = DTEST_STREAM;
	if (o->mode == DTEST_PINGPONG && !o->size_given)
		o->size = 1;
	if (o->mode == DTEST_PERF && !o->size_given)
		o->size = DTEST_PERF_SIZE;
	if (o->mode == DTEST_PINGPONG || o->mode == DTEST_CHECK) {
		o->uni = true;
		if (!o->signal_given)
			o->signal = 1;
	}
	if (o->mode == DTEST_CHECK)
		o->verify = DTEST_VERIFY_FULL;
	if (o->count && o->signal > o->count)
		o->signal = o->count;
}

static int bad(FILE *err, const char *opt, const char *value, const char *why)
{
	return dt_opt_bad(&spec, err, opt, value, why);
}

static bool has_rounds(const struct dtest_opts *o)
{
	return o->mode != DTEST_ALL && o->mode != DTEST_STREAM;
}

static int check_sizes(FILE *out, FILE *err, const struct dtest_opts *o)
{
	if (o->all_sizes && !has_rounds(o)) {
		fputs(spec.usage, out);
		return DT_USAGE_SHORT;
	}
	if (o->step && o->size / o->step > STEPS_MAX)
		return bad(err, "-i", "of this -b", "too many sizes");
	if (o->all_sizes && !dtest_sizes(o, NULL, 0))
		return bad(err, "-i", "of this -b", "no size to run");
	return -1;
}

/* The warm-up with the rest of the batch that it ends in. */
static uint64_t warmup_end(const struct dtest_opts *o)
{
	uint32_t n = 1;

	if (o->mode == DTEST_ALL || o->mode == DTEST_STREAM)
		n = o->signal;
	else if (o->mode == DTEST_PERF)
		n = o->signal < o->depth ? o->signal : o->depth;
	return ((uint64_t)o->warmup + n - 1) / n * n;
}

/* Something must be left for every row. */
static bool warmup_fits(const struct dtest_opts *o)
{
	if (o->mode == DTEST_ALL && o->warmup >= DTEST_PINGS)
		return false;
	return !o->warmup || !o->count || warmup_end(o) < o->count;
}

static int check_counts(FILE *err, const struct dtest_opts *o)
{
	uint32_t most = o->mode == DTEST_ALL ? DTEST_PINGS : DTEST_SIGNAL_MAX;
	char text[16], why[64];

	if (o->mode != DTEST_ALL && !o->count)
		return bad(err, "-B", "0", "this mode needs one at least");
	snprintf(text, sizeof(text), "%u", o->signal);
	snprintf(why, sizeof(why), "more than the send queue takes, at most %u",
		 most);
	if (o->signal > most)
		return bad(err, "-S", text, why);
	snprintf(text, sizeof(text), "%u", o->warmup);
	if (!warmup_fits(o))
		return bad(err, "--warmup", text, "nothing would be left");
	return -1;
}

static int check_sense(FILE *out, FILE *err, const struct dtest_opts *o)
{
	int rc = check_sizes(out, err, o);

	if (rc >= 0)
		return rc;
	if (o->direct && !o->run.host)
		return bad(err, "--direct", "without -h", "it is for clients");
	if (o->direct && o->perf_given)
		return bad(err, "--direct", "with --perf",
			   "an older server has no --perf");
	if (o->perf_given && (o->stream || o->pingpong || o->check))
		return bad(err, "--perf", "with -w, -W or -D",
			   "choose one of them");
	if (o->perf_given && o->step)
		return bad(err, "-i", "with --perf", "use -a");
	if (o->stream && has_rounds(o))
		return bad(err, "-w", "with -W or -D", "choose one of them");
	return check_counts(err, o);
}

int dtest_parse(int argc, char **argv, FILE *out, FILE *err,
		struct dtest_opts *ret_opts)
{
	struct dtest_opts o = {
		.size = DTEST_SIZE,
		.count = DTEST_COUNT,
		.signal = DTEST_SIGNAL,
		.depth = DTEST_DEPTH,
		.reads = DTEST_READS,
		.verify = DTEST_VERIFY_FIRST,
	};
	int rc;

	dt_run_defaults(&o.run, DTEST_PROVIDER);
	rc = dt_opt_parse(&spec, argc, argv, out, err, &o);
	if (rc >= 0)
		return rc;
	settle_defaults(&o);
	rc = check_sense(out, err, &o);
	if (rc < 0)
		*ret_opts = o;
	return rc;
}

static void add_size(uint32_t size, uint32_t *sizes, size_t room, size_t *n)
{
	if (*n < room)
		sizes[*n] = size;
	(*n)++;
}

size_t dtest_sizes(const struct dtest_opts *o, uint32_t *sizes, size_t room)
{
	uint64_t base = o->step ? o->step : 1;
	/* Neighbours show what data placement does, not what time it takes. */
	bool off = o->mode != DTEST_PERF;
	size_t n = 0;

	if (!o->all_sizes) {
		add_size(o->size, sizes, room, &n);
		return n;
	}
	while (base <= o->size) {
		uint32_t at = (uint32_t)base;

		/* 1 and 2 have no neighbours that are not there already. */
		if (off && base > 2)
			add_size(at - 1, sizes, room, &n);
		add_size(at, sizes, room, &n);
		if (off && base > 2 && base < o->size)
			add_size(at + 1, sizes, room, &n);
		base = o->step ? base + o->step : base * 2;
	}
	return n;
}
