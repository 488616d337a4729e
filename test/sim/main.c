/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - the simulator's command line.
 *
 * A violation ends the program with the seed and the command that repeats the
 * run, also when it was an assertion of the protocol that did not hold.
 */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim.h"

static char replay[512]; /* what to print if the run ends badly */
static const char *command;

static const char usage_text[] =
	"usage: sim [--seeds N | --seed S] [OPTION...]\n"
	"       sim --star | --mesh [--nodes N] [--loss P] [OPTION...]\n"
	"       sim --pair DEPTH\n"
	"\n"
	"Connections over a bad network in virtual time, by the code of SCM and\n"
	"UCM. Checks after every step what must always hold.\n"
	"\n"
	"  --seeds N    small worlds with the seeds 1 to N (1000)\n"
	"  --first S    begin with seed S instead of 1\n"
	"  --seed S     the one world of seed S\n"
	"  --star       all nodes connect to one (--nodes 10001)\n"
	"  --mesh       each two nodes connect (--nodes 256)\n"
	"  --pair N     one pair: all sequences of N inputs, every way to start\n"
	"  --nodes N    number of nodes in place of the seed's\n"
	"  --conns N    number of connections in place of the seed's\n"
	"  --loss P     share of messages that are lost, in percent\n"
	"  --datagram   only worlds of datagrams (UCM)\n"
	"  --ud         with --star or --mesh: between datagram endpoints\n"
	"  --stream     only worlds of streams (SCM)\n"
	"  --historic   fixed waiting times, as old peers have them\n"
	"  --queue N    messages that a node has room for (4096)\n"
	"  --service U  microseconds that it takes for one (5)\n"
	"  --accept U   microseconds that a consumer takes to accept (100)\n"
	"  --waiting N  unanswered requests a listener has room for (4096)\n"
	"  --verbose    show every step\n"
	"  --help       this text\n";

enum mode {
	MODE_SEEDS,
	MODE_STAR,
	MODE_MESH,
	MODE_PAIR
};

struct command {
	enum mode mode;
	uint64_t first, seeds;
	int depth;
	bool one; /* seed */
	bool verbose, datagram, ud, stream, historic;
	long nodes, conns, queue, service, accept, waiting;
	double loss;
};

/* Raised by abort() alone, so anything may be called here. */
static void on_abort(int sig)
{
	sim_story_tell();
	fputs(replay, stderr);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void remember(uint64_t seed, const char *args)
{
	snprintf(replay, sizeof(replay),
		 "SEED=%llu\nto repeat: %s --seed %llu%s --verbose\n",
		 (unsigned long long)seed, command, (unsigned long long)seed,
		 args);
}

/* ------------------------------------------------------------ options */

static void bad_usage(const char *what)
{
	fprintf(stderr, "sim: %s\nTry 'sim --help'.\n", what);
	exit(2);
}

static long number(const char *text, long min, long max)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < min || n > max)
		bad_usage("not a number, or out of range");
	return n;
}

static void override(const struct command *cmd, struct sim_options *opt)
{
	opt->verbose = cmd->verbose;
	opt->ud = cmd->ud;
	if (cmd->datagram || cmd->stream)
		opt->stream = cmd->stream;
	if (cmd->historic)
		opt->historic = true;
	if (cmd->nodes)
		opt->nodes = (unsigned)cmd->nodes;
	if (cmd->conns)
		opt->conns = (unsigned)cmd->conns;
	if (cmd->loss >= 0)
		opt->loss = cmd->loss / 100;
	if (cmd->queue)
		opt->queue = (unsigned)cmd->queue;
	if (cmd->waiting)
		opt->listener_max = (size_t)cmd->waiting;
	if (cmd->service >= 0)
		opt->service_us = (uint64_t)cmd->service;
	if (cmd->accept >= 0)
		opt->accept_us = (uint64_t)cmd->accept;
}

/* The options of the command line that change a world, for the replay. */
static void collect(int argc, char **argv, char *ret_args, size_t size)
{
	size_t used = 0;
	int i;

	ret_args[0] = '\0';
	for (i = 1; i < argc && used < size; i++) {
		if (!strcmp(argv[i], "--seeds") ||
		    !strcmp(argv[i], "--first") || !strcmp(argv[i], "--seed"))
			i++;
		else if (strcmp(argv[i], "--verbose"))
			used += (size_t)snprintf(ret_args + used, size - used,
						 " %s", argv[i]);
	}
}

static void parse(int argc, char **argv, struct command *cmd)
{
	static const struct option options[] = {
		{"seeds", required_argument, NULL, 's'},
		{"seed", required_argument, NULL, 'S'},
		{"first", required_argument, NULL, 'f'},
		{"star", no_argument, NULL, '*'},
		{"mesh", no_argument, NULL, '#'},
		{"pair", required_argument, NULL, 'p'},
		{"nodes", required_argument, NULL, 'n'},
		{"conns", required_argument, NULL, 'c'},
		{"loss", required_argument, NULL, 'l'},
		{"datagram", no_argument, NULL, 'd'},
		{"ud", no_argument, NULL, 'D'},
		{"stream", no_argument, NULL, 't'},
		{"historic", no_argument, NULL, 'o'},
		{"queue", required_argument, NULL, 'q'},
		{"service", required_argument, NULL, 'u'},
		{"accept", required_argument, NULL, 'a'},
		{"waiting", required_argument, NULL, 'w'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 's':
			cmd->seeds = (uint64_t)number(optarg, 1, 100000000);
			break;
		case 'S':
			cmd->one = true;
			cmd->first = (uint64_t)number(optarg, 0, LONG_MAX);
			cmd->seeds = 1;
			break;
		case 'f':
			cmd->first = (uint64_t)number(optarg, 0, LONG_MAX);
			break;
		case '*':
			cmd->mode = MODE_STAR;
			break;
		case '#':
			cmd->mode = MODE_MESH;
			break;
		case 'p':
			cmd->mode = MODE_PAIR;
			cmd->depth = (int)number(optarg, 1, 12);
			break;
		case 'n':
			cmd->nodes = number(optarg, 2, 65536);
			break;
		case 'c':
			cmd->conns = number(optarg, 1, 10000000);
			break;
		case 'l':
			cmd->loss = (double)number(optarg, 0, 100);
			break;
		case 'd':
			cmd->datagram = true;
			break;
		case 'D':
			cmd->ud = true;
			break;
		case 't':
			cmd->stream = true;
			break;
		case 'o':
			cmd->historic = true;
			break;
		case 'q':
			cmd->queue = number(optarg, 1, 1000000);
			break;
		case 'u':
			cmd->service = number(optarg, 0, 1000000);
			break;
		case 'a':
			cmd->accept = number(optarg, 0, 1000000);
			break;
		case 'w':
			cmd->waiting = number(optarg, 1, 1000000);
			break;
		case 'v':
			cmd->verbose = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		default:
			exit(2);
		}
	if (optind != argc)
		bad_usage("too many words");
	if (cmd->ud && cmd->mode != MODE_STAR && cmd->mode != MODE_MESH)
		bad_usage("--ud is for --star and --mesh");
}

/* --------------------------------------------------------------- runs */

static void add(struct sim_stats *sum, const struct sim_stats *s)
{
	sum->sent += s->sent;
	sum->attempts += s->attempts;
	sum->established += s->established;
	sum->unheard += s->unheard;
	sum->closed += s->closed;
	sum->closed_unheard += s->closed_unheard;
	sum->steps += s->steps;
}

static void run_seeds(const struct command *cmd, const char *args)
{
	struct sim_stats sum = {0}, stats;
	struct sim_options opt;
	uint64_t i;

	for (i = 0; i < cmd->seeds; i++) {
		uint64_t seed = cmd->first + i;

		sim_from_seed(seed, &opt);
		override(cmd, &opt);
		remember(seed, args);
		sim_run_random(&opt, seed, &stats);
		add(&sum, &stats);
	}
	printf("%llu seeds: %llu attempts, %llu ends established, %llu "
	       "messages, %llu steps; %llu accepted in vain; %llu nodes "
	       "closed, %llu without an answer\n",
	       (unsigned long long)cmd->seeds, (unsigned long long)sum.attempts,
	       (unsigned long long)sum.established,
	       (unsigned long long)sum.sent, (unsigned long long)sum.steps,
	       (unsigned long long)sum.unheard, (unsigned long long)sum.closed,
	       (unsigned long long)sum.closed_unheard);
	/* At 30 % loss it happens, but to very few. */
	SIM_REQUIRE(sum.unheard * 20000 <= sum.established + 60000,
		    "too many of them");
}

static void run_tidy(const struct command *cmd, const char *args)
{
	bool star = cmd->mode == MODE_STAR;
	struct sim_options opt;
	struct sim_stats stats;
	int op;

	sim_defaults(&opt);
	opt.nodes = star ? 10001 : 256;
	opt.loss = 0.05;
	override(cmd, &opt);
	remember(cmd->first, args);
	(star ? sim_run_star : sim_run_mesh)(&opt, cmd->first, &stats);
	printf("%s of %u nodes, %.0f %% loss: %llu connections, all "
	       "established after %.3f s, %.2f messages each (",
	       star ? "star" : "mesh", opt.nodes, 100 * opt.loss,
	       (unsigned long long)stats.attempts,
	       (double)stats.last_established_us / (double)SIM_S,
	       (double)stats.sent / (double)stats.attempts);
	for (op = DCM_REQ; op < DCM_OP_N; op++)
		printf("%s%s %.2f", op == DCM_REQ ? "" : ", ",
		       dcm_op_name((uint16_t)op),
		       (double)stats.op[op] / (double)stats.attempts);
	printf("), %llu dropped at a full queue\n",
	       (unsigned long long)(stats.overrun + stats.crowded));
}

static void run_pair(const struct command *cmd)
{
	uint64_t n;
	int i;

	snprintf(replay, sizeof(replay), "to repeat: %s --pair %d\n", command,
		 cmd->depth);
	for (i = 0; i < 4; i++) {
		n = sim_pair_all(i & 1, i & 2, cmd->depth);
		printf("pair, %s%s, depth %d: %llu sequences\n",
		       i & 1 ? "stream" : "datagrams",
		       i & 2 ? " and endpoints" : "", cmd->depth,
		       (unsigned long long)n);
	}
}

int main(int argc, char **argv)
{
	struct command cmd = {
		.first = 1,
		.seeds = 1000,
		.loss = -1,
		.service = -1,
		.accept = -1,
	};
	char args[256];

	command = argv[0];
	collect(argc, argv, args, sizeof(args));
	parse(argc, argv, &cmd);
	signal(SIGABRT, on_abort);
	if (cmd.mode == MODE_PAIR)
		run_pair(&cmd);
	else if (cmd.mode == MODE_SEEDS)
		run_seeds(&cmd, args);
	else
		run_tidy(&cmd, args);
	return 0;
}
