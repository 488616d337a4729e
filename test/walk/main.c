/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - `walk`: random walks over the public interface, held against a
 * model; TAP, one line for all walks or for each that fails.
 *
 * Threads: one; walks are children, two or more at a time.
 * Ownership: the trails live as long as the program.
 */
#include "test/walk/walk.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "test/conform/ports.h"
#include "test/walk/face.h"

#define MAX_JOBS 16

struct plan {
	struct options opt;
	uint64_t seed;
	int seeds, jobs, max_bad;
	bool shrink;
};

struct slot {
	struct trail *t;
	pid_t pid;
	uint64_t seed, since_us;
	int seen;
};

static _Noreturn void usage(FILE *to, int code)
{
	fprintf(to, "usage: " WALK_NAME " --provider NAME [OPTION...]\n"
		    "  --provider NAME  adapter, a name in dat.conf\n"
		    "  --kind KIND      fake device: a row of fake_kinds.c\n"
		    "  --seeds N        so many walks, default 100\n"
		    "  --calls M        of so many calls, default 500\n"
		    "  --seed S         the first seed, default 1\n"
		    "  --jobs N         so many side by side, default 2\n"
		    "  --lie CALL       the model is wrong about CALL\n"
		    "  --no-shrink      failing walks stay as they are\n"
		    "  --still          nobody connects\n"
		    "  --record FILE    writes the walks down, for replay\n"
		    "  --verbose        every call, on standard error\n");
	exit(code);
}

static int op_of(const char *name)
{
	for (int i = 0; i < OP_N; i++)
		if (!strcasecmp(name, call_name(i)))
			return i;
	usage(stderr, 2);
}

static FILE *create(const char *name)
{
	FILE *f = fopen(name, "w");

	if (!f) {
		perror(name);
		exit(2);
	}
	return f;
}

static struct plan parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{"provider", required_argument, NULL, 'P'},
		{"kind", required_argument, NULL, 'k'},
		{"seeds", required_argument, NULL, 'n'},
		{"calls", required_argument, NULL, 'm'},
		{"seed", required_argument, NULL, 's'},
		{"jobs", required_argument, NULL, 'j'},
		{"lie", required_argument, NULL, 'l'},
		{"no-shrink", no_argument, NULL, 'N'},
		{"still", no_argument, NULL, 'S'},
		{"record", required_argument, NULL, 'r'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct plan p = {
		.opt = {.kind = "ib", .calls = 500, .patience_s = 30},
		.seed = 1,
		.seeds = 100,
		.jobs = 2,
		.max_bad = 1,
		.shrink = true,
	};
	int o;

	while ((o = getopt_long(argc, argv, "P:k:h", longs, NULL)) != -1) {
		switch (o) {
		case 'P':
			p.opt.provider = optarg;
			break;
		case 'k':
			p.opt.kind = optarg;
			break;
		case 'n':
			p.seeds = atoi(optarg);
			break;
		case 'm':
			p.opt.calls = atoi(optarg);
			break;
		case 's':
			p.seed = strtoull(optarg, NULL, 0);
			break;
		case 'j':
			p.jobs = atoi(optarg);
			break;
		case 'l':
			p.opt.lie = op_of(optarg);
			break;
		case 'N':
			p.shrink = false;
			break;
		case 'S':
			p.opt.still = true;
			break;
		case 'r':
			p.opt.record = create(optarg);
			break;
		case 'v':
			p.opt.loud = true;
			break;
		case 'h':
			usage(stdout, 0);
		default:
			usage(stderr, 2);
		}
	}
	if (optind != argc || !p.opt.provider || p.seeds < 1 || !p.seed ||
	    p.jobs < 1 || p.jobs > MAX_JOBS || p.opt.calls < 1 ||
	    p.opt.calls > WALK_CALLS - 500)
		usage(stderr, 2);
	/* One after the other, so that the file is the same each time. */
	if (p.opt.record)
		p.jobs = 1;
	return p;
}

/* As comments of TAP. */
static void print_steps(const struct trail *t, int at)
{
	int first = at > WALK_STEPS ? at - WALK_STEPS : 0;

	printf("# what it called, and saw\n");
	for (int i = first; i < at; i++) {
		const struct walk_step *s = &t->steps[i % WALK_STEPS];

		printf("# 0x%08x %p 0x%04x ", s->ret, s->made, s->event);
		call_write(stdout, &s->c);
	}
}

static void report(const struct plan *p, struct slot *s, enum verdict v)
{
	static struct trail seen;
	static struct world w;

	memcpy(&seen, s->t, sizeof(seen));
	printf("not ok 1 - " WALK_NAME ": %s\n", s->t->wrong);
	printf("# SEED=%llu: " WALK_NAME " --provider %s --kind %s --calls %d "
	       "--seeds 1 --seed %llu%s\n",
	       (unsigned long long)s->seed, p->opt.provider, p->opt.kind,
	       p->opt.calls, (unsigned long long)s->seed,
	       p->opt.still ? " --still" : "");
	printf("# call %d of the walk\n", s->t->at);
	fflush(stdout);
	if (p->shrink) {
		if (!shrink(&p->opt, s->t, v, stdout))
			print_steps(&seen, seen.at);
	} else {
		print_steps(&seen, seen.at);
		w.adapter = p->opt.provider;
		w.qual = p->opt.qual;
		call_program(stdout, &w, s->t->calls, s->t->n, s->t->wrong);
	}
	fflush(stdout);
}

static void start(struct plan *p, struct slot *s, int i, uint64_t seed)
{
	struct options opt = p->opt;

	/* Some are walked again, to see whether memory grows. */
	opt.again = seed % 16 == 0 && !opt.record;
	s->seed = seed;
	s->seen = -1;
	s->since_us = 0;
	s->pid = walk_start(&opt, s->t, seed, i);
}

/* The number of calls that were made; *bad: a walk failed. */
static uint64_t run(struct plan *p, struct slot *slots, int *bad)
{
	uint64_t calls = 0, next = p->seed;
	uint64_t end = p->seed + (uint64_t)p->seeds;
	enum verdict v;
	int busy = 0;

	for (;;) {
		for (int i = 0; i < p->jobs; i++) {
			struct slot *s = &slots[i];

			if (s->pid && walk_poll(&p->opt, s->t, s->pid, &s->seen,
						&s->since_us, &v)) {
				s->pid = 0;
				busy--;
				calls += (uint64_t)s->t->at;
				if (v != WALK_OK) {
					p->opt.again = s->seed % 16 == 0 &&
						       !p->opt.record;
					if (++*bad <= p->max_bad)
						report(p, s, v);
					end = next;
				}
			}
			if (!s->pid && next < end) {
				start(p, s, i, next++);
				busy++;
			}
		}
		if (!busy)
			return calls;
		walk_pause();
	}
}

int main(int argc, char **argv)
{
	struct plan p = parse(argc, argv);
	struct slot slots[MAX_JOBS] = {{0}};
	struct timespec a, b;
	uint64_t calls;
	sigset_t set;
	int bad = 0;

	p.opt.qual = ports_own();
	for (int i = 0; i < p.jobs; i++) {
		slots[i].t =
			mmap(NULL, sizeof(*slots[i].t), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (slots[i].t == MAP_FAILED) {
			perror("walk: mmap");
			return 2;
		}
	}
	/* sigtimedwait() wants it blocked */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	clock_gettime(CLOCK_MONOTONIC, &a);
	calls = run(&p, slots, &bad);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (!bad)
		printf("ok 1 - " WALK_NAME ": %s %s, %d seeds from %llu\n",
		       p.opt.provider, p.opt.kind, p.seeds,
		       (unsigned long long)p.seed);
	printf("# %llu calls in %lld s\n1..1\n", (unsigned long long)calls,
	       (long long)(b.tv_sec - a.tv_sec));
	return bad ? 1 : 0;
}
