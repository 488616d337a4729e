/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * options.c - the command line of dapltest.
 *
 * Each option is one row of the table: its letter or name, the tests that know
 * it, what it takes, where that goes and what --help says. Everything else
 * here reads the table.
 * Threads, ownership, rule: see options.h.
 */
#include "config.h"

#include "test/dapltest/options.h"

#include "test/dtest/common/dt_num.h"
#include "test/dtest/common/dt_report.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
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

enum kind {
	FLAG,	  /* bool */
	MORE,	  /* uint32_t, one more each time */
	COUNT,	  /* uint32_t */
	PORT,	  /* uint16_t */
	CPU,	  /* int */
	TEXT,	  /* const char * */
	QOS,	  /* DAT_QOS */
	MODE,	  /* bool: poll */
	PIPE,	  /* uint32_t, or the word "all" */
	OUT_FILE, /* const char *, value optional: "" */
	UNUSED,	  /* a number that old scripts give and nobody ever read */
	SHOW_HELP,
	SHOW_VERSION,
};

struct option_row {
	char letter; /* 0: none */
	const char *name;
	unsigned int tests;
	enum kind kind;
	size_t at; /* in struct dpt_opts */
	uint32_t min, max;
	const char *arg; /* name of the value in the help */
	const char *help;
};

#define AT(member) offsetof(struct dpt_opts, member)

/* clang-format off */
static const struct option_row table[] = {
	{'D', NULL, ALL, TEXT, AT(device), 1, DPT_NAME_SIZE - 1, "NAME",
	 "entry of dat.conf (" DPT_DEVICE ")"},
	{'s', NULL, T | P | Q | F, TEXT, AT(host), 1, 255, "HOST",
	 "the server's name or address"},
	{'n', NULL, ALL & ~L, PORT, AT(port), 1, UINT16_MAX, "PORT",
	 "connection qualifier of the server (62000)"},
	{0, "oob-port", S | T | P | Q, PORT, AT(oob_port), 1, UINT16_MAX, "PORT",
	 "the server tells its address there by TCP (UCM needs that)"},
	{'i', NULL, T | P, COUNT, AT(iterations), 1, DPT_ITERATIONS_MAX, "N",
	 "iterations (1000)"},
	{0, "warmup", T | P, COUNT, AT(warmup), 0, 999999, "N",
	 "leave the first N iterations out of the tables"},
	{'t', NULL, T, COUNT, AT(threads), 1, DPT_THREADS_MAX, "N",
	 "threads (1)"},
	{'w', NULL, T, COUNT, AT(width), 1, DPT_EPS_MAX, "N",
	 "endpoints per thread (1)"},
	{'w', NULL, L, COUNT, AT(width), 1, 1000, "N",
	 "sets of objects to spread over (1)"},
	{'m', NULL, L, COUNT, AT(max), 1, 1000000, "N",
	 "objects to make at most (1000)"},
	{'m', NULL, P, MODE, AT(poll), 0, 0, "b|p",
	 "wait (b, default) or poll (p) for completions"},
	{'p', NULL, P, PIPE, AT(pipeline), 1, 1000000, "N",
	 "operations under way at once (as many as the adapter takes)"},
	{'P', NULL, T, FLAG, AT(poll), 0, 0, NULL,
	 "poll for completions instead of waiting"},
	{'V', NULL, T, FLAG, AT(validate), 0, 0, NULL,
	 "new data in every iteration; adds three operations for it"},
	{'r', NULL, T, FLAG, AT(rsp), 0, 0, NULL,
	 "the server listens with RSPs instead of PSPs"},
	{'f', NULL, F, TEXT, AT(feature), 1, 63, "FEATURE",
	 "what to test; the cases are named as words: case0 case1 ..."},
	{'R', NULL, ALL, QOS, AT(qos), 0, 0, "QOS",
	 "quality of service: BE, HT, LL, EC or PM (BE)"},
	{'d', NULL, ALL, MORE, AT(debug), 0, 0, NULL,
	 "show each step; three times: addresses too"},
	{'i', NULL, F, UNUSED, 0, 0, UINT32_MAX, "N", NULL},
	{'t', NULL, F, UNUSED, 0, 0, UINT32_MAX, "N", NULL},
	{'v', NULL, F, UNUSED, 0, 0, UINT32_MAX, "N", NULL},
	{0, "no-check", T | P, FLAG, AT(no_check), 0, 0, NULL,
	 "do not check the data (for figures without that work)"},
	{0, "no-rmr", S | T, FLAG, AT(no_rmr), 0, 0, NULL,
	 "give the peer the context of the LMR, not of an RMR"},
	{0, "cpu", ALL, CPU, AT(cpu), 0, CPU_SETSIZE - 1, "N",
	 "run on processor N"},
	{0, "timeout", ALL, COUNT, AT(timeout_s), 1, 86400, "SEC",
	 "limit of each wait (30)"},
	{0, "json", ALL, OUT_FILE, AT(json_path), 1, 4095, "[=FILE]",
	 "results as JSON Lines; without FILE on standard output"},
	{0, "quiet", ALL, FLAG, AT(quiet), 0, 0, NULL,
	 "table and verdict only"},
	{0, "help", ALL, SHOW_HELP, 0, 0, 0, NULL, "this text"},
	{0, "version", ALL, SHOW_VERSION, 0, 0, 0, NULL, "the version"},
};

static const struct {
	char letter;
	const char *name;
	const char *words; /* what follows the options */
	const char *must;  /* letters of options that must be given */
} tests[DPT_TEST_N] = {
	[DPT_SERVER]	  = {'S', "server", "", ""},
	[DPT_TRANSACTION] = {'T', "transaction test",
			     " (client|server) (SR|RR|RW) [SIZE [SEGMENTS]] "
			     "[-f] ...", "s"},
	[DPT_PERFORMANCE] = {'P', "performance test",
			     " (RR|RW) [SIZE [SEGMENTS]]", "s"},
	[DPT_LIMIT]	  = {'L', "limit test", " [limit_OBJECT ...]", ""},
	[DPT_QUIT]	  = {'Q', "end of the server", "", "s"},
	[DPT_FUNCTION]	  = {'F', "function test", " [caseN ...]", "f"},
};
/* clang-format on */

/* What one command line is read into. */
struct reader {
	FILE *out, *err;
	struct dpt_opts o;
	unsigned int given; /* bits of letters a to z that were given */
};

const char *dpt_test_name(enum dpt_test test)
{
	return (unsigned int)test < DPT_TEST_N ? tests[test].name : "?";
}

static bool knows(const struct option_row *row, enum dpt_test test)
{
	return row->tests & ON(test);
}

static const char *option_text(const struct option_row *row, char text[24])
{
	if (row->letter)
		snprintf(text, 24, "-%c", row->letter);
	else
		snprintf(text, 24, "--%s", row->name);
	return text;
}

static void put_option(FILE *out, const struct option_row *row)
{
	char left[40], text[24];
	const char *arg = row->arg ? row->arg : "";

	if (!row->help)
		return;
	snprintf(left, sizeof(left), "%s%s%s", option_text(row, text),
		 arg[0] && arg[0] != '[' ? " " : "", arg);
	fprintf(out, "  %-16s %s\n", left, row->help);
}

static void put_test_help(FILE *out, enum dpt_test test)
{
	fprintf(out, "usage: dapltest -T %c%s [option...]%s      (%s)\n\n",
		tests[test].letter,
		strchr(tests[test].must, 's') ? " -s HOST"
		: tests[test].must[0]	      ? " -f FEATURE"
					      : "",
		tests[test].words, tests[test].name);
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (knows(&table[i], test))
			put_option(out, &table[i]);
	if (test == DPT_FUNCTION)
		fputs("\nFeatures: hwconn, endpoint, pz, mem, connmgt, "
		      "queryinfo.\n-i, -t and -v with a number are accepted "
		      "and have no effect, as ever.\n",
		      out);
	if (test == DPT_LIMIT)
		fputs("\nObjects: ia, pz, cno, evd, ep, rsp, psp, lmr, rpost, "
		      "size_lmr; none named: all.\n",
		      out);
}

static void put_help(FILE *out)
{
	fputs("usage: dapltest                       server on " DPT_DEVICE "\n"
	      "       dapltest -T TEST [option...]   TEST is one of\n",
	      out);
	for (unsigned int i = 0; i < DPT_TEST_N; i++)
		fprintf(out, "           %c  %s%s\n", tests[i].letter,
			tests[i].name,
			strchr(tests[i].must, 's') ? " (needs a server)" : "");
	fputs("       dapltest -f FILE               the words of a command "
	      "line from a file\n"
	      "\n"
	      "'dapltest -T TEST --help' lists the options of a test. "
	      "Example, on two hosts:\n"
	      "\n"
	      "  dapltest -T S -D ofa-v2-eth0\n"
	      "  dapltest -T T -s server -D ofa-v2-eth0 -i 100 "
	      "client SR 256 server SR 256\n"
	      "  dapltest -T P -s server -D ofa-v2-eth0 RW 4096\n"
	      "  dapltest -T Q -s server -D ofa-v2-eth0\n"
	      "\n"
	      "Exit status: 0 passed, 1 failed, 2 usage, 3 timed out, "
	      "4 no provider, device or\nresources, 5 the peer runs something "
	      "else, 130 interrupted.\n",
	      out);
}

static int bad(struct reader *r, const char *opt, const char *arg,
	       const char *why)
{
	fprintf(r->err, "dapltest: %s%s%s: %s (--help tells more)\n", opt,
		arg[0] ? " " : "", arg, why);
	return DT_USAGE;
}

/* Returns -1 when the value is good, as all the functions below. */
static int take_count(struct reader *r, const struct option_row *row,
		      uint64_t *ret_value)
{
	char why[80], text[24];
	int rc = dt_parse_count(optarg, row->min, row->max, ret_value);

	if (!rc)
		return -1;
	snprintf(why, sizeof(why), "%s, expected a number from %u to %u",
		 rc == -EINVAL ? "not a number" : "out of range", row->min,
		 row->max);
	return bad(r, option_text(row, text), optarg, why);
}

static int take_text(struct reader *r, const struct option_row *row)
{
	const char **to = (void *)((char *)&r->o + row->at);
	size_t n = optarg ? strlen(optarg) : 0;
	char text[24];

	if (!optarg && row->kind == OUT_FILE) {
		*to = "";
		return -1;
	}
	if (n < row->min || n > row->max)
		return bad(r, option_text(row, text), n ? optarg : "''",
			   n ? "too long" : "empty");
	*to = optarg;
	return -1;
}

static int take_qos(struct reader *r)
{
	static const struct {
		const char *name;
		DAT_QOS qos;
	} names[] = {
		{"BE", DAT_QOS_BEST_EFFORT}, {"HT", DAT_QOS_HIGH_THROUGHPUT},
		{"LL", DAT_QOS_LOW_LATENCY}, {"EC", DAT_QOS_ECONOMY},
		{"PM", DAT_QOS_PREMIUM},
	};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (!strcmp(optarg, names[i].name)) {
			r->o.qos = names[i].qos;
			return -1;
		}
	}
	return bad(r, "-R", optarg, "expected BE, HT, LL, EC or PM");
}

static int take_mode(struct reader *r)
{
	if (strcmp(optarg, "b") && strcmp(optarg, "p"))
		return bad(r, "-m", optarg, "expected b or p");
	r->o.poll = optarg[0] == 'p';
	return -1;
}

static int take_number(struct reader *r, const struct option_row *row)
{
	uint64_t value;
	int rc;

	if (row->kind == PIPE && !strcmp(optarg, "all")) {
		r->o.pipeline = DPT_PIPELINE_ALL;
		return -1;
	}
	rc = take_count(r, row, &value);
	if (rc >= 0 || row->kind == UNUSED)
		return rc;
	if (row->kind == CPU)
		*(int *)(void *)((char *)&r->o + row->at) = (int)value;
	else if (row->kind == PORT)
		*(uint16_t *)(void *)((char *)&r->o + row->at) =
			(uint16_t)value;
	else
		*(uint32_t *)(void *)((char *)&r->o + row->at) =
			(uint32_t)value;
	return -1;
}

static int take_value(struct reader *r, const struct option_row *row)
{
	switch (row->kind) {
	case FLAG:
		*(bool *)((char *)&r->o + row->at) = true;
		return -1;
	case MORE:
		++*(uint32_t *)(void *)((char *)&r->o + row->at);
		return -1;
	case TEXT:
	case OUT_FILE:
		return take_text(r, row);
	case QOS:
		return take_qos(r);
	case MODE:
		return take_mode(r);
	case SHOW_HELP:
		put_test_help(r->out, r->o.test);
		return DT_PASSED;
	case SHOW_VERSION:
		fprintf(r->out, "dapltest (%s) %s\n", PACKAGE_NAME,
			PACKAGE_VERSION);
		return DT_PASSED;
	default:
		return take_number(r, row);
	}
}

/* What getopt_long() needs to know, from the table. */
struct getopt_tables {
	char letters[2 + 2 * COUNT_OF(table) + 1];
	struct option names[COUNT_OF(table) + 1];
};

#define NAME_BASE 256

static bool takes_value(const struct option_row *row)
{
	return row->kind != FLAG && row->kind != MORE &&
	       row->kind != SHOW_HELP && row->kind != SHOW_VERSION;
}

static void make_tables(enum dpt_test test, struct getopt_tables *g)
{
	size_t letters = 2, names = 0;

	memset(g, 0, sizeof(*g));
	/* Stops at the first word that is no option. */
	g->letters[0] = '+';
	g->letters[1] = ':';
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		const struct option_row *row = &table[i];

		if (!knows(row, test))
			continue;
		if (row->letter) {
			g->letters[letters++] = row->letter;
			if (takes_value(row))
				g->letters[letters++] = ':';
			continue;
		}
		g->names[names++] = (struct option){
			.name = row->name,
			.has_arg = row->kind == OUT_FILE ? optional_argument
				   : takes_value(row)	 ? required_argument
							 : no_argument,
			.val = NAME_BASE + (int)i,
		};
	}
}

static const struct option_row *find_row(enum dpt_test test, int opt)
{
	if (opt >= NAME_BASE)
		return &table[opt - NAME_BASE];
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (table[i].letter == opt && knows(&table[i], test))
			return &table[i];
	return NULL;
}

static int parse_options(struct reader *r, int argc, char **argv)
{
	struct getopt_tables g;
	int opt, rc;

	make_tables(r->o.test, &g);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, g.letters, g.names, NULL)) !=
	       -1) {
		if (opt == '?' || opt == ':')
			return bad(r, argv[optind - 1], "",
				   opt == ':' ? "needs a value"
					      : "not an option of this test");
		if (opt >= 'a' && opt <= 'z')
			r->given |= 1u << (opt - 'a');
		rc = take_value(r, find_row(r->o.test, opt));
		if (rc >= 0)
			return rc;
	}
	if (optind > 1 && !strcmp(argv[optind - 1], "--"))
		return bad(r, "--", "", "not an option of this test");
	return -1;
}

static int check_given(struct reader *r)
{
	for (const char *p = tests[r->o.test].must; *p; p++) {
		char opt[3] = {'-', *p, 0};

		if (!(r->given & 1u << (*p - 'a')))
			return bad(r, opt, "",
				   *p == 's' ? "missing: which server?"
					     : "missing: which feature?");
	}
	if (r->o.warmup >= r->o.iterations)
		return bad(r, "--warmup", "of this -i",
			   "nothing would be left");
	if (r->o.test == DPT_TRANSACTION &&
	    r->o.threads * r->o.width > DPT_EPS_MAX)
		return bad(r, "-t times -w", "",
			   "more than 1000 endpoints in all");
	return -1;
}

static int parse_words(struct reader *r, int argc, char **argv)
{
	struct dpt_opts *o = &r->o;
	char why[120];
	int rc;

	switch (o->test) {
	case DPT_TRANSACTION:
		rc = dpt_parse_ops(argc, argv, o->validate, o->ops,
				   &o->op_count, why, sizeof(why));
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
		r->o.test = DPT_SERVER;
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
			r->o.test = (enum dpt_test)i;
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
	n = dpt_script_words(in, name, &r->o.script);
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
		.o =
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
		argv = r.o.script;
	}
	rc = argc < 0 ? DT_USAGE : parse_line(&r, argc, argv);
	if (rc < 0)
		*ret_opts = r.o;
	else
		dpt_opts_fini(&r.o);
	return rc;
}

void dpt_opts_fini(struct dpt_opts *opts)
{
	dpt_script_free(opts->script);
	opts->script = NULL;
}
