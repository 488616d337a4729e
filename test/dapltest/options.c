/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.c - the command line of dapltest.
 *
 * Each option is one row of the table, with the tests that know it; the rows
 * are read as those of the other tools (dt_opt.h).
 * Threads, ownership, rule: see options.h.
 */
#include "test/dapltest/options.h"

#include "test/dtest/common/dt_opt.h"
#include "test/dtest/common/dt_report.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Sets of tests that know an option. */
#define ON(test) (1u << (test))
#define S	 ON(DPT_SERVER)
#define T	 ON(DPT_TRANSACTION)
#define P	 ON(DPT_PERFORMANCE)
#define Q	 ON(DPT_QUIT)
#define L	 ON(DPT_LIMIT)
#define F	 ON(DPT_FUNCTION)
#define ALL	 (S | T | P | Q | L | F)

/* Words of options that stand for something else. */
struct words {
	struct dpt_opts o; /* first: its offsets are those of both */
	uint32_t qos;	   /* of `qoses` */
	uint32_t mode;	   /* 1: poll */
};

#define AT(member)   offsetof(struct dpt_opts, member)
#define WORD(member) offsetof(struct words, member)

/* clang-format off */
static const DAT_QOS qoses[] = {
	DAT_QOS_BEST_EFFORT, DAT_QOS_HIGH_THROUGHPUT, DAT_QOS_LOW_LATENCY,
	DAT_QOS_ECONOMY, DAT_QOS_PREMIUM,
};

static const struct {
	unsigned int tests; /* that know it */
	struct dt_opt row;
} table[] = {
	{ALL,
	 {'D', NULL, DT_OPT_TEXT, AT(device), AT(device_given), 1,
	  DPT_NAME_SIZE - 1, "NAME",
	  "entry of dat.conf (" DPT_DEVICE ",\nor else the first that opens)"}},
	{T | P | Q | F,
	 {'s', NULL, DT_OPT_TEXT, AT(host), 0, 1, 255, "HOST",
	  "the server's name or address"}},
	{ALL & ~L,
	 {'n', NULL, DT_OPT_PORT, AT(port), 0, 0, 0, "PORT",
	  "connection qualifier of the server (" DT_FACED("45278", "62000") ")"}},
	{S | T | P | Q,
	 {0, "oob-port", DT_OPT_PORT, AT(oob_port), 0, 0, 0, "PORT",
	  "the server tells its address there by TCP\n"
	  "(UCM needs that)"}},
	{T | P,
	 {'i', NULL, DT_OPT_COUNT, AT(iterations), 0, 1, DPT_ITERATIONS_MAX, "N",
	  "iterations (1000)"}},
	{T | P,
	 {0, "warmup", DT_OPT_COUNT, AT(warmup), 0, 0, 999999, "N",
	  "leave the first N iterations out of the tables"}},
	{T,
	 {'t', NULL, DT_OPT_COUNT, AT(threads), 0, 1, DPT_THREADS_MAX, "N",
	  "threads (1)"}},
	{T,
	 {'w', NULL, DT_OPT_COUNT, AT(width), 0, 1, DPT_EPS_MAX, "N",
	  "endpoints per thread (1)"}},
	{L,
	 {'w', NULL, DT_OPT_COUNT, AT(width), 0, 1, 1000, "N",
	  "sets of objects to spread over (1)"}},
	{L,
	 {'m', NULL, DT_OPT_COUNT, AT(max), 0, 1, 1000000, "N",
	  "objects to make at most (1000)"}},
	{P,
	 {'m', NULL, DT_OPT_CHOICE, WORD(mode), 0, 0, 0, "b|p",
	  "wait (b, default) or poll (p) for completions"}},
	{P,
	 {'p', NULL, DT_OPT_ALL, AT(pipeline), 0, 1, 1000000, "N",
	  "operations under way at once (all, as many as the\n"
	  "adapter takes)"}},
	{T,
	 {'P', NULL, DT_OPT_FLAG, AT(poll), 0, 0, 0, NULL,
	  "poll for completions instead of waiting"}},
	{T,
	 {'V', NULL, DT_OPT_FLAG, AT(validate), 0, 0, 0, NULL,
	  "new data in every iteration; adds three\n"
	  "operations for it"}},
	{T,
	 {'r', NULL, DT_OPT_FLAG, AT(rsp), 0, 0, 0, NULL,
	  "the server listens with RSPs instead of PSPs"}},
	{F,
	 {'f', NULL, DT_OPT_TEXT, AT(feature), 0, 1, 63, "FEATURE",
	  "what to test; the cases are named as words:\n"
	  "case0 case1 ..."}},
	{ALL,
	 {'R', NULL, DT_OPT_CHOICE, WORD(qos), 0, 0, 0, "BE|HT|LL|EC|PM",
	  "quality of service (BE)"}},
	{ALL,
	 {'d', NULL, DT_OPT_MORE, AT(debug), 0, 0, 0, NULL,
	  "show each step; three times: addresses too"}},
	{T,
	 {'u', NULL, DT_OPT_FLAG, AT(ud), 0, 0, 0, NULL,
	  DT_FACED("refused: DAT 1.2 has no datagrams", "datagram (UD) endpoints: operations are SR, and no\n"
			 "longer than the MTU")}},
	{P, {'u', NULL, DT_OPT_FLAG, AT(ud), 0, 0, 0, NULL, NULL}},
	{F,
	 {'i', NULL, DT_OPT_UNUSED, 0, 0, 0, UINT32_MAX, "N", NULL}},
	{F,
	 {'t', NULL, DT_OPT_UNUSED, 0, 0, 0, UINT32_MAX, "N", NULL}},
	{F,
	 {'v', NULL, DT_OPT_UNUSED, 0, 0, 0, UINT32_MAX, "N", NULL}},
	{T | P,
	 {0, "no-check", DT_OPT_FLAG, AT(no_check), 0, 0, 0, NULL,
	  "do not check the data (for figures without that\n"
	  "work)"}},
	{S | T,
	 {0, "no-rmr", DT_OPT_FLAG, AT(no_rmr), 0, 0, 0, NULL,
	  "give the peer the context of the LMR, not of an\n"
	  "RMR"}},
	{ALL,
	 {0, "cpu", DT_OPT_CPU, AT(cpu), 0, 0, 0, "N", "run on processor N"}},
	{ALL,
	 {0, "timeout", DT_OPT_COUNT, AT(timeout_s), 0, 1, 86400, "SEC",
	  "limit of each wait (30)"}},
	{ALL,
	 {0, "json", DT_OPT_FILE, AT(json_path), 0, 0, 0, "FILE",
	  "results as JSON Lines; without FILE on standard\n"
	  "output"}},
	{ALL,
	 {0, "quiet", DT_OPT_FLAG, AT(quiet), 0, 0, 0, NULL,
	  "table and verdict only"}},
	{ALL,
	 {0, "help", DT_OPT_HELP, 0, 0, 0, 0, NULL, "this text"}},
	{ALL,
	 {0, "version", DT_OPT_VERSION, 0, 0, 0, 0, NULL, "the version"}},
};

static const struct {
	char letter;
	const char *name;
	const char *must;  /* the option that must be given */
	const char *words; /* what follows the options */
	const char *notes; /* below them in the help */
} tests[DPT_TEST_N] = {
	[DPT_SERVER]	  = {'S', "server", "", "", ""},
	[DPT_TRANSACTION] = {'T', "transaction test", " -s HOST",
			     " (client|server) (SR|RR|RW) [SIZE [SEGMENTS]] "
			     "[-f] ...", ""},
	[DPT_PERFORMANCE] = {'P', "performance test", " -s HOST",
			     " (RR|RW) [SIZE [SEGMENTS]]", ""},
	[DPT_LIMIT]	  = {'L', "limit test", "", " [limit_OBJECT ...]",
			     "Objects: ia, pz, cno, evd, ep, rsp, psp, lmr, "
			     "rpost, size_lmr; none named: all.\n"},
	[DPT_QUIT]	  = {'Q', "end of the server", " -s HOST", "", ""},
	[DPT_FUNCTION]	  = {'F', "function test", " -f FEATURE",
			     " [caseN ...]",
			     "Features: hwconn, endpoint, pz, mem, connmgt, "
			     "queryinfo.\n-i, -t and -v with a number are "
			     "accepted and have no effect, as ever.\n"},
};
/* clang-format on */

/* What one command line is read into. */
struct reader {
	FILE *out, *err;
	struct words w;
};

const char *dpt_test_name(enum dpt_test test)
{
	return (unsigned int)test < DPT_TEST_N ? tests[test].name : "?";
}

static void put_help(FILE *out)
{
	fputs("usage: " DPT_TOOL "                       server on " DPT_DEVICE
	      "\n"
	      "       " DPT_TOOL " -T TEST [option...]   TEST is one of\n",
	      out);
	for (unsigned int i = 0; i < DPT_TEST_N; i++)
		fprintf(out, "           %c  %s%s\n", tests[i].letter,
			tests[i].name,
			strstr(tests[i].must, "-s") ? " (needs a server)" : "");
	fputs("       " DPT_TOOL
	      " -f FILE               the words of a command "
	      "line from a file\n"
	      "\n"
	      "'" DPT_TOOL " -T TEST --help' lists the options of a test. "
	      "Example, on two hosts:\n"
	      "\n"
	      "  " DPT_TOOL " -T S -D " DT_EXAMPLE "\n"
	      "  " DPT_TOOL " -T T -s server -D " DT_EXAMPLE " -i 100 "
	      "client SR 256 server SR 256\n"
	      "  " DPT_TOOL " -T P -s server -D " DT_EXAMPLE " RW 4096\n"
	      "  " DPT_TOOL " -T Q -s server -D " DT_EXAMPLE "\n"
	      "\n"
	      "Exit status: 0 passed, 1 failed, 2 usage, 3 timed out, "
	      "4 no provider, device or\nresources, 5 the peer runs something "
	      "else, 130 interrupted.\n",
	      out);
}

static int bad(struct reader *r, const char *opt, const char *arg,
	       const char *why)
{
	static const struct dt_opt_spec spec = {.tool = DPT_TOOL};

	return dt_opt_bad(&spec, r->err, opt, arg, why);
}

static size_t rows_of(enum dpt_test test, struct dt_opt rows[COUNT_OF(table)])
{
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (table[i].tests & ON(test))
			rows[n++] = table[i].row;
	return n;
}

/* Returns -1 when all is well, as all the functions below. */
static int parse_options(struct reader *r, int argc, char **argv)
{
	enum dpt_test test = r->w.o.test;
	struct dt_opt rows[COUNT_OF(table)];
	char usage[160];
	const struct dt_opt_spec spec = {
		.tool = DPT_TOOL,
		.usage = usage,
		.notes = tests[test].notes,
		.rows = rows,
		.row_count = rows_of(test, rows),
		.unknown = "not an option of this test",
		.words = true,
	};
	int rc;

	snprintf(usage, sizeof(usage),
		 "usage: " DPT_TOOL " -T %c%s [option...]%s      (%s)\n",
		 tests[test].letter, tests[test].must, tests[test].words,
		 tests[test].name);
	rc = dt_opt_parse(&spec, argc, argv, r->out, r->err, &r->w);
	if (rc < 0 && optind > 1 && !strcmp(argv[optind - 1], "--"))
		return bad(r, "--", "", spec.unknown);
	r->w.o.qos = qoses[r->w.qos];
	r->w.o.poll |= r->w.mode;
	return rc;
}

static int check_given(struct reader *r)
{
	const struct dpt_opts *o = &r->w.o;
	const char *must = tests[o->test].must;

	if (o->ud && DAT_FACE == 1)
		return bad(r, "-u", "", "DAT 1.2 has no datagrams (UD)");
	if (o->ud && o->test == DPT_PERFORMANCE)
		return bad(r, "-u", "",
			   "a performance test is of RDMA, which datagrams "
			   "(UD) have not; -T T has it, and dtest");
	if (o->ud && o->validate)
		return bad(r, "-V", "with -u",
			   "it is for RDMA: sends have new data in every "
			   "iteration anyway");
	if (o->ud && o->rsp)
		return bad(r, "-r", "with -u",
			   "an RSP has one endpoint for one connection");
	if (strstr(must, "-s") && !o->host)
		return bad(r, "-s", "", "missing: which server?");
	if (strstr(must, "-f") && !o->feature)
		return bad(r, "-f", "", "missing: which feature?");
	if (o->warmup >= o->iterations)
		return bad(r, "--warmup", "of this -i",
			   "nothing would be left");
	if (o->test == DPT_TRANSACTION && o->threads * o->width > DPT_EPS_MAX)
		return bad(r, "-t times -w", "",
			   "more than 1000 endpoints in all");
	return -1;
}

static int parse_words(struct reader *r, int argc, char **argv)
{
	struct dpt_opts *o = &r->w.o;
	char why[120];
	int rc;

	switch (o->test) {
	case DPT_TRANSACTION:
		rc = dpt_parse_ops(argc, argv, o->validate, o->ops,
				   &o->op_count, why, sizeof(why));
		if (!rc && o->ud && dpt_ops_have_rdma(o->ops, o->op_count))
			return bad(r, "operations", "with -u",
				   "datagrams have no RDMA: SR only");
		break;
	case DPT_PERFORMANCE:
		o->op_count = 1;
		rc = dpt_parse_perf_op(argc, argv, &o->ops[0], why,
				       sizeof(why));
		break;
	case DPT_LIMIT:
	case DPT_FUNCTION:
		o->words = argv;
		o->word_count = argc;
		return -1;
	default:
		rc = argc ? -EINVAL : 0;
		snprintf(why, sizeof(why), "'%s': not an option",
			 argc ? argv[0] : "");
		break;
	}
	return rc ? bad(r, "operations", "", why) : -1;
}

/* argv[1] names the test, or asks for help. Returns -1 and skips it. */
static int take_test(struct reader *r, int *argc, char ***argv)
{
	const char *word = (*argv)[1];
	int skip = 1;

	if (!strcmp(word, "--help")) {
		put_help(r->out);
		return DT_PASSED;
	}
	if (!strcmp(word, "--version")) {
		r->w.o.test = DPT_SERVER;
		return -1;
	}
	if (strncmp(word, "-T", 2))
		return bad(r, word, "", "the first word must be -T");
	word += 2;
	if (!word[0] && *argc > 2) {
		word = (*argv)[2];
		skip = 2;
	}
	for (unsigned int i = 0; i < DPT_TEST_N; i++) {
		if (word[0] == tests[i].letter) {
			r->w.o.test = (enum dpt_test)i;
			/* The word before the options counts for nothing. */
			*argc -= skip;
			*argv += skip;
			return -1;
		}
	}
	return bad(r, "-T", word, "expected S, T, P, Q, L or F");
}

static int parse_line(struct reader *r, int argc, char **argv)
{
	int rc = argc > 1 ? take_test(r, &argc, &argv) : -1;

	if (rc < 0)
		rc = parse_options(r, argc, argv);
	if (rc < 0)
		rc = check_given(r);
	if (rc < 0)
		rc = parse_words(r, argc - optind, argv + optind);
	return rc;
}

/* -f FILE or -fFILE and nothing else. Returns NULL if it is not that. */
static const char *script_name(int argc, char **argv)
{
	if (argc < 2 || strncmp(argv[1], "-f", 2))
		return NULL;
	if (argv[1][2])
		return argc == 2 ? argv[1] + 2 : NULL;
	return argc == 3 ? argv[2] : NULL;
}

static int read_script(struct reader *r, const char *path, char *name)
{
	FILE *in = fopen(path, "re");
	int n;

	if (!in) {
		bad(r, "-f", path, strerror(errno));
		return -EIO;
	}
	n = dpt_script_words(in, name, &r->w.o.script);
	fclose(in);
	if (n == 1)
		n = -ENODATA;
	if (n < 0)
		bad(r, "-f", path,
		    n == -E2BIG	    ? "too many words"
		    : n == -ENODATA ? "no command line in it"
				    : strerror(-n));
	return n;
}

int dpt_parse(int argc, char **argv, FILE *out, FILE *err,
	      struct dpt_opts *ret_opts)
{
	struct reader r = {
		.out = out,
		.err = err,
		.w.o =
			{
				.test = DPT_SERVER,
				.device = DPT_DEVICE,
				.port = DPT_PORT,
				.qos = DAT_QOS_BEST_EFFORT,
				.iterations = 1000,
				.threads = 1,
				.width = 1,
				.pipeline = DPT_PIPELINE_ALL,
				.max = 1000,
				.timeout_s = DPT_TIMEOUT_S,
				.cpu = -1,
			},
	};
	const char *script = script_name(argc, argv);
	int rc;

	if (script) {
		argc = read_script(&r, script, argv[0]);
		argv = r.w.o.script;
	}
	rc = argc < 0 ? DT_USAGE : parse_line(&r, argc, argv);
	if (rc < 0)
		*ret_opts = r.w.o;
	else
		dpt_opts_fini(&r.w.o);
	return rc;
}

void dpt_opts_fini(struct dpt_opts *opts)
{
	dpt_script_free(opts->script);
	opts->script = NULL;
}
