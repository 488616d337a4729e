/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.c - the command line of dtest.
 *
 * Does not open anything. Threads: one, getopt(3) has state of its own.
 * Ownership: texts in the result are those of argv.
 * Rule: letters and defaults are historic, long options are new. A value that
 * was given counts wherever it stands: "-B 5 -W" runs 5 rounds, where the
 * historic tool forgot the 5. Unknown letters end with 244 as ever; whatever
 * is wrong in new style ends with 2.
 */
#include "config.h"

#include "test/dtest/common/dt_num.h"
#include "test/dtest/dtest.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <string.h>

#define SHORT_OPTIONS ":UDauwWtscvpb:d:B:h:P:S:i:"

#define STEPS_MAX 1000000

enum long_option {
	OPT_HELP = 256,
	OPT_VERSION,
	OPT_JSON,
	OPT_TIMEOUT,
	OPT_OOB_PORT,
	OPT_PORT,
	OPT_ITERS,
	OPT_WARMUP,
	OPT_SIZE,
	OPT_VERIFY,
	OPT_CPU,
	OPT_QUIET,
};

static const struct option long_options[] = {
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{"json", optional_argument, NULL, OPT_JSON},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"oob-port", required_argument, NULL, OPT_OOB_PORT},
	{"port", required_argument, NULL, OPT_PORT},
	{"iters", required_argument, NULL, OPT_ITERS},
	{"warmup", required_argument, NULL, OPT_WARMUP},
	{"size", required_argument, NULL, OPT_SIZE},
	{"verify", required_argument, NULL, OPT_VERIFY},
	{"cpu", required_argument, NULL, OPT_CPU},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{NULL, 0, NULL, 0},
};

/* What was said, before it is known what it is said about. */
struct given {
	FILE *err;
	const char *arg; /* of argv, the one at hand */
	bool size, count, signal, stream, pingpong, check;
};

static void put_usage(FILE *out)
{
	fputs("usage: dtest [-P PROVIDER] [option...]            "
	      "one side: the server\n"
	      "       dtest -h HOST [option...]                  "
	      "other side: the client\n"
	      "\n"
	      "  -h HOST  client of the server on HOST     -s  server "
	      "(default)\n"
	      "  -P NAME  entry of dat.conf (" DTEST_PROVIDER ")\n"
	      "  -b N     bytes per message (4194304; with -W 1)\n"
	      "  -B N     RDMA writes, or rounds of -W (1000)\n"
	      "  -S N     one completion per N writes (10; with -W 1)\n"
	      "  -w       RDMA write stream only          -u  only the client "
	      "writes\n"
	      "  -W       RDMA write ping-pong only       -D  -W and check "
	      "the data\n"
	      "  -a       with -W or -D: all powers of two up to -b, and one "
	      "byte off\n"
	      "  -i N     with -W or -D: multiples of N instead\n"
	      "  -p       poll for events                 -c  wait on a CNO\n"
	      "  -t       show the times of all steps     -v  show each step\n"
	      "  -d N     server waits N s before it accepts\n"
	      "  -U       this text; --help tells more\n",
	      out);
}

static void put_help(FILE *out)
{
	put_usage(out);
	fputs("\nNew options:\n"
	      "  --size N, --iters N   as -b and -B\n"
	      "  --warmup N            leave the first N rounds out of the "
	      "table\n"
	      "  --verify none|first|full  how much of the data is checked "
	      "(first)\n"
	      "  --timeout SEC         limit of each wait (30)\n"
	      "  --json[=FILE]         results as JSON Lines; without FILE on "
	      "standard output\n"
	      "  --quiet               table and verdict only\n"
	      "  --cpu N               run on processor N\n"
	      "  --oob-port N          TCP port of the rendezvous (15828)\n"
	      "  --port N              connection qualifier (45248)\n"
	      "  --help, --version\n"
	      "\n"
	      "Both sides need the same size, count and mode. The client may "
	      "leave out -P; it\n"
	      "then uses the server's. Example, two terminals of one "
	      "machine:\n"
	      "\n"
	      "  dtest -P ofa-v2-eth0 -W -b 64\n"
	      "  dtest -h 192.168.1.10 -W -b 64\n"
	      "\n"
	      "Exit status: 0 passed, 1 failed, 2 usage (244: unknown letter), "
	      "3 timed out,\n"
	      "4 no provider, device or resources, 5 the peer runs something "
	      "else,\n"
	      "130 interrupted.\n",
	      out);
}

static int bad(const struct given *g, const char *opt, const char *arg,
	       const char *why)
{
	fprintf(g->err, "dtest: %s %s: %s (--help tells more)\n", opt, arg,
		why);
	return DT_USAGE;
}

/* Returns -1 when the number is good, as all the functions below. */
static int take_number(const struct given *g, const char *opt, uint64_t min,
		       uint64_t max, uint64_t *ret_value)
{
	char why[80];
	int rc = dt_parse_count(optarg, min, max, ret_value);

	if (!rc)
		return -1;
	snprintf(why, sizeof(why), "%s, expected a number from %llu to %llu",
		 rc == -EINVAL ? "not a number" : "out of range",
		 (unsigned long long)min, (unsigned long long)max);
	return bad(g, opt, optarg, why);
}

static int take_u32(const struct given *g, const char *opt, uint32_t min,
		    uint32_t max, uint32_t *ret_value)
{
	uint64_t value;
	int rc = take_number(g, opt, min, max, &value);

	if (rc < 0)
		*ret_value = (uint32_t)value;
	return rc;
}

static int take_u16(const struct given *g, const char *opt, uint16_t *ret_value)
{
	uint64_t value;
	int rc = take_number(g, opt, 1, UINT16_MAX, &value);

	if (rc < 0)
		*ret_value = (uint16_t)value;
	return rc;
}

static int take_verify(const struct given *g, enum dtest_verify *ret_verify)
{
	static const char *const names[] = {"none", "first", "full"};

	for (unsigned int i = 0; i < 3; i++) {
		if (!strcmp(optarg, names[i])) {
			*ret_verify = (enum dtest_verify)i;
			return -1;
		}
	}
	return bad(g, "--verify", optarg, "expected none, first or full");
}

static int take_text(const struct given *g, const char *opt, size_t max,
		     const char **ret_text)
{
	if (!optarg[0])
		return bad(g, opt, "''", "empty");
	if (strlen(optarg) > max)
		return bad(g, opt, optarg, "too long");
	*ret_text = optarg;
	return -1;
}

static int take_new(int opt, struct given *g, FILE *out, struct dtest_opts *o)
{
	uint32_t cpu;
	int rc = -1;

	switch (opt) {
	case OPT_HELP:
		put_help(out);
		return DT_PASSED;
	case OPT_VERSION:
		fprintf(out, "dtest (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
		return DT_PASSED;
	case OPT_JSON:
		o->json_path = optarg ? optarg : "";
		if (optarg && !optarg[0])
			return bad(g, "--json", "''", "empty");
		return -1;
	case OPT_TIMEOUT:
		o->timeout_given = true;
		return take_u32(g, "--timeout", 1, 86400, &o->timeout_s);
	case OPT_OOB_PORT:
		return take_u16(g, "--oob-port", &o->oob_port);
	case OPT_PORT:
		return take_u16(g, "--port", &o->port);
	case OPT_WARMUP:
		return take_u32(g, "--warmup", 0, 10000000, &o->warmup);
	case OPT_VERIFY:
		return take_verify(g, &o->verify);
	case OPT_CPU:
		rc = take_u32(g, "--cpu", 0, CPU_SETSIZE - 1, &cpu);
		if (rc < 0)
			o->cpu = (int)cpu;
		return rc;
	default: /* OPT_QUIET */
		o->quiet = true;
		return -1;
	}
}

static int take_value(int opt, struct given *g, struct dtest_opts *o)
{
	switch (opt) {
	case 'h':
		return take_text(g, "-h", 255, &o->host);
	case 'P':
		o->provider_given = true;
		return take_text(g, "-P", DT_OOB_NAME - 1, &o->provider);
	case 'b':
	case OPT_SIZE:
		g->size = true;
		return take_u32(g, opt == 'b' ? "-b" : "--size", 1, 1u << 30,
				&o->size);
	case 'B':
	case OPT_ITERS:
		g->count = true;
		return take_u32(g, opt == 'B' ? "-B" : "--iters", 0, 10000000,
				&o->count);
	case 'S':
		g->signal = true;
		return take_u32(g, "-S", 1, 10000000, &o->signal);
	case 'd':
		return take_u32(g, "-d", 0, 3600, &o->delay_s);
	default: /* 'i' */
		o->all_sizes = true;
		return take_u32(g, "-i", 0, 1u << 30, &o->step);
	}
}

static void take_flag(int opt, struct given *g, struct dtest_opts *o)
{
	switch (opt) {
	case 's':
		o->host = NULL;
		break;
	case 'u':
		o->uni = true;
		break;
	case 'w':
		g->stream = true;
		break;
	case 'W':
		g->pingpong = true;
		break;
	case 'D':
		g->check = true;
		break;
	case 'a':
		o->all_sizes = true;
		break;
	case 'p':
		o->wait = DT_WAIT_POLL;
		break;
	case 'c':
		o->wait = DT_WAIT_CNO;
		break;
	case 't':
		o->timing = true;
		break;
	default: /* 'v' */
		o->verbose++;
		break;
	}
}

/* Values that depend on the mode, where none was given. */
static void settle_defaults(const struct given *g, struct dtest_opts *o)
{
	if (g->check)
		o->mode = DTEST_CHECK;
	else if (g->pingpong)
		o->mode = DTEST_PINGPONG;
	else if (g->stream)
		o->mode = DTEST_STREAM;
	if (o->mode == DTEST_PINGPONG && !g->size)
		o->size = 1;
	if (o->mode == DTEST_PINGPONG || o->mode == DTEST_CHECK) {
		o->uni = true;
		if (!g->signal)
			o->signal = 1;
	}
	if (o->mode == DTEST_CHECK)
		o->verify = DTEST_VERIFY_FULL;
	if (o->count && o->signal > o->count)
		o->signal = o->count;
}

static int check_sense(const struct given *g, FILE *out,
		       const struct dtest_opts *o)
{
	bool rounds = o->mode == DTEST_PINGPONG || o->mode == DTEST_CHECK;
	uint32_t most = o->mode == DTEST_ALL ? DTEST_PINGS : DTEST_SIGNAL_MAX;
	char text[16];

	if (o->all_sizes && !rounds) {
		put_usage(out);
		return DT_USAGE_SHORT;
	}
	if (o->step && o->size / o->step > STEPS_MAX)
		return bad(g, "-i", "of this -b", "too many sizes");
	if (o->all_sizes && !dtest_sizes(o, NULL, 0))
		return bad(g, "-i", "of this -b", "no size to run");
	if (g->stream && rounds)
		return bad(g, "-w", "with -W or -D", "choose one of them");
	if (o->mode != DTEST_ALL && !o->count)
		return bad(g, "-B", "0", "this mode needs one at least");
	snprintf(text, sizeof(text), "%u", o->signal);
	if (o->signal > most)
		return bad(g, "-S", text,
			   o->mode == DTEST_ALL
				   ? "more than the send queue takes, at most "
				     "100"
				   : "more than the send queue takes, at most "
				     "4096");
	snprintf(text, sizeof(text), "%u", o->warmup);
	if (o->warmup && o->warmup >= (rounds ? o->count : DTEST_PINGS))
		return bad(g, "--warmup", text, "nothing would be left");
	return -1;
}

static int take_option(int opt, struct given *g, FILE *out,
		       struct dtest_opts *o)
{
	if (opt == ':' || opt == '?') {
		if (optopt && optopt < 256) {
			put_usage(out);
			return DT_USAGE_SHORT;
		}
		return bad(g, "option", g->arg,
			   opt == ':' ? "needs a value"
			   : optopt   ? "takes no value"
				      : "unknown, or short for several");
	}
	if (opt == OPT_SIZE || opt == OPT_ITERS ||
	    (opt < 256 && strchr("hPbBSdi", opt)))
		return take_value(opt, g, o);
	if (opt >= 256)
		return take_new(opt, g, out, o);
	if (opt == 'U') {
		put_usage(out);
		return DT_USAGE_SHORT;
	}
	take_flag(opt, g, o);
	return -1;
}

int dtest_parse(int argc, char **argv, FILE *out, FILE *err,
		struct dtest_opts *ret_opts)
{
	struct given g = {.err = err};
	struct dtest_opts o = {
		.provider = DTEST_PROVIDER,
		.size = DTEST_SIZE,
		.count = DTEST_COUNT,
		.signal = DTEST_SIGNAL,
		.timeout_s = DTEST_TIMEOUT_S,
		.oob_port = DT_OOB_PORT,
		.port = DTEST_PORT,
		.verify = DTEST_VERIFY_FIRST,
		.cpu = -1,
	};
	int opt, rc;

	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, SHORT_OPTIONS, long_options,
				  NULL)) != -1) {
		g.arg = argv[optind - 1];
		rc = take_option(opt, &g, out, &o);
		if (rc >= 0)
			return rc;
	}
	if (optind < argc)
		return bad(&g, "argument", argv[optind], "not an option");
	settle_defaults(&g, &o);
	rc = check_sense(&g, out, &o);
	if (rc >= 0)
		return rc;
	*ret_opts = o;
	return -1;
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
	size_t n = 0;

	if (!o->all_sizes) {
		add_size(o->size, sizes, room, &n);
		return n;
	}
	while (base <= o->size) {
		uint32_t at = (uint32_t)base;

		/* 1 and 2 have no neighbours that are not there already. */
		if (base > 2)
			add_size(at - 1, sizes, room, &n);
		add_size(at, sizes, room, &n);
		if (base > 2 && base < o->size)
			add_size(at + 1, sizes, room, &n);
		base = o->step ? base + o->step : base * 2;
	}
	return n;
}
