/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - runs the ranks of a load that are on this host, and tells how it
 * went.
 *
 * Ranks are processes that fork before any call of DAT; on the fake device,
 * which is inside a process, they are its threads. It calls nothing of DAT
 * itself. Who fails ends all of this host's, and those of others see it.
 * One thread.
 */
#include "test/load/load.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/conform/ports.h"
#include "test/device.h"

#define GRACE_S 15 /* from the kill to the end: kernels take time */

/* The ranks of this host. */
struct run {
	const struct options *o;
	struct tally *tally;
	struct load *load;
	unsigned int qual;
	int listen, port;
	pid_t pid[LOAD_RANKS];
	int pids, left;
	bool bad;
};

static const char *const way_name[WAYS] = {"eager", "put", "get", "srq"};

/* ---------------------------------------------------------------- a rank */

static void *live(void *arg)
{
	struct load *l = arg;

	boot_meet(&l->boot, l->o->root);
	load_run(l);
	for (int i = 0; i < l->links; i++)
		free(l->link[i].flow);
	free(l->link);
	free(l->order);
	free(l->psp);
	free(l->req);
	free(l->cards);
	free(l->memory);
	free(l->taken);
	l->r.note->done = true;
	return NULL;
}

static void settle(struct run *run, int i)
{
	struct load *l = &run->load[i];

	l->o = run->o;
	l->tally = &run->tally[i];
	l->r.id = run->o->first + i;
	l->r.n = run->o->ranks;
	l->r.qual = run->qual;
	l->r.note = &l->tally->note;
	l->boot.r = &l->r;
	l->boot.timeout_s = run->o->timeout_s;
	l->boot.listen = l->r.id ? -1 : run->listen;
	l->boot.port = run->port;
}

static _Noreturn void child(struct run *run, int id)
{
	pthread_t thread[LOAD_RANKS];
	sigset_t set;

	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	if (!device_make(run->o->kind)) {
		fprintf(stderr, "load: no such device: %s\n", run->o->kind);
		_exit(2);
	}
	if (!run->o->kind) {
		if (run->load[id].r.id && run->listen >= 0)
			close(run->listen);
		live(&run->load[id]);
		exit(EXIT_SUCCESS);
	}
	for (int i = 0; i < run->o->local; i++)
		if (pthread_create(&thread[i], NULL, live, &run->load[i]))
			_exit(2);
	for (int i = 0; i < run->o->local; i++)
		pthread_join(thread[i], NULL);
	exit(EXIT_SUCCESS);
}

/* ---------------------------------------------------------------- the run */

static void start(struct run *run)
{
	run->pids = run->o->kind ? 1 : run->o->local;
	for (int i = 0; i < run->pids; i++) {
		run->pid[i] = fork();
		if (run->pid[i] == 0)
			child(run, i);
		if (run->pid[i] < 0) {
			perror("load: fork");
			exit(2);
		}
		run->left++;
	}
	if (run->listen >= 0)
		close(run->listen);
}

static void kill_all(struct run *run)
{
	run->bad = true;
	for (int i = 0; i < run->pids; i++)
		if (run->pid[i])
			kill(run->pid[i], SIGKILL);
}

static void tell_end(const struct run *run, int i, int status)
{
	int rank = run->o->first + i;

	if (WIFSIGNALED(status))
		printf("rank %d: died of signal %d (%s)\n", rank,
		       WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		printf("rank %d: exit code %d\n", rank, WEXITSTATUS(status));
}

static void collect(struct run *run)
{
	int status;

	for (int i = 0; i < run->pids; i++) {
		if (!run->pid[i] || !waitpid(run->pid[i], &status, WNOHANG))
			continue;
		run->pid[i] = 0;
		run->left--;
		if (!run->bad && status) {
			tell_end(run, i, status);
			kill_all(run);
		}
	}
}

static unsigned int beats(const struct run *run)
{
	unsigned int n = 0;

	for (int i = 0; i < run->o->local; i++)
		n += __atomic_load_n(&run->tally[i].beat, __ATOMIC_RELAXED);
	return n;
}

/* Ranks look after themselves; here is seen who is stuck in a call. */
static void attend(struct run *run)
{
	static const struct timespec tick = {.tv_nsec = 200000000};
	uint64_t patience = 3 * (uint64_t)run->o->timeout_s * 1000000;
	uint64_t until = load_now_us() + patience;
	unsigned int seen = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (collect(run); run->left; collect(run)) {
		if (!run->bad && beats(run) != seen) {
			seen = beats(run);
			until = load_now_us() + patience;
		}
		if (load_now_us() > until) {
			if (run->bad) { /* stuck in the kernel */
				printf("%d do not end\n", run->left);
				break;
			}
			printf("nothing happens for %d s, killed\n",
			       3 * run->o->timeout_s);
			kill_all(run);
			until = load_now_us() + GRACE_S * 1000000;
		}
		sigtimedwait(&set, NULL, &tick);
	}
}

static int report(const struct run *run, uint64_t took_us)
{
	struct tally sum = {.cycles = run->tally[0].cycles};

	for (int i = 0; i < run->o->local; i++) {
		const struct tally *t = &run->tally[i];

		if (t->note.failed[0])
			printf("rank %d: %s\n", run->o->first + i,
			       t->note.failed);
		else if (run->bad && !t->note.done)
			printf("rank %d waited for: %s\n", run->o->first + i,
			       t->note.waits_for);
		sum.connections += t->connections;
		sum.refused += t->refused;
		sum.transfers += t->transfers;
		sum.bytes += t->bytes;
	}
	printf("%s: ranks %d to %d of %d, %d cycles in %.1f s: %llu ends of "
	       "connections (%llu refused first), %llu transfers, %llu bytes "
	       "checked; seed %u\n",
	       run->bad ? "FAILED" : "PASSED", run->o->first,
	       run->o->first + run->o->local - 1, run->o->ranks, sum.cycles,
	       (double)took_us / 1e6, (unsigned long long)sum.connections,
	       (unsigned long long)sum.refused,
	       (unsigned long long)sum.transfers, (unsigned long long)sum.bytes,
	       run->o->seed);
	return run->bad ? 1 : 0;
}

/* --------------------------------------------------------------- options */

static void help(FILE *to)
{
	fputs("usage: load --provider NAME [OPTION...]\n"
	      "Ranks connect each with each, exchange checked data, leave in any "
	      "order; as often\nas asked for, with everything or nothing closed "
	      "between.\n\n"
	      "  --provider NAME     adapter, a name in dat.conf\n"
	      "  --kind KIND         on that fake device (load_fake alone)\n"
	      "  --iwarp             the adapter is of iWARP: who asked speaks "
	      "first\n"
	      "Where:\n"
	      "  --ranks N           of all hosts (4); 1 connects to itself\n"
	      "  --local N           of this host (all)\n"
	      "  --first N           the first of this host (0)\n"
	      "  --root HOST:PORT    where rank 0 is met; needed for several "
	      "hosts\n"
	      "What:\n"
	      "  --connect HOW       burst: all at once; demand: as data is to "
	      "be sent; mixed: each\n"
	      "                      in every other cycle (burst)\n"
	      "  --window N          attempts at once, on demand (4)\n"
	      "  --patterns LIST     of eager,put,get,srq (all)\n"
	      "  --rounds N          of data on each connection (4)\n"
	      "  --size BYTES        of put and get, at most (8192)\n"
	      "  --links N           connections of each two ranks (1)\n"
	      "  --listeners N       of each rank (1)\n"
	      "  --spread MS         in which ranks leave (100)\n"
	      "How long:\n"
	      "  --cycles N          (1)\n"
	      "  --minutes N         instead of cycles\n"
	      "  --rest N            everything is closed, and counted, after N "
	      "cycles (4)\n"
	      "  --at-rest COMMAND   rank 0 runs it then; it must succeed\n"
	      "  --timeout SECONDS   in which something has to happen (60)\n"
	      "  --seed N            of sizes, orders, delays (1)\n",
	      to);
}

static _Noreturn void wrong(const char *what, const char *is)
{
	fprintf(stderr, "load: %s: %s (see load --help)\n", what, is);
	exit(2);
}

static int count(const char *name, const char *text, long least, long most)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < least || n > most) {
		fprintf(stderr,
			"load: --%s is a number from %ld to %ld, not '%s'\n",
			name, least, most, text);
		exit(2);
	}
	return (int)n;
}

static enum how parse_how(const char *text)
{
	if (!strcmp(text, "burst"))
		return BURST;
	if (!strcmp(text, "demand"))
		return DEMAND;
	if (strcmp(text, "mixed") != 0)
		wrong("--connect", text);
	return MIXED;
}

static void parse_ways(struct options *o, char *list)
{
	char *save = NULL;
	int w;

	memset(o->ways, 0, sizeof(o->ways));
	for (char *s = strtok_r(list, ",", &save); s;
	     s = strtok_r(NULL, ",", &save)) {
		for (w = 0; w < WAYS && strcmp(s, way_name[w]) != 0; w++)
			;
		if (w == WAYS)
			wrong("--patterns", s);
		o->ways[w] = true;
	}
}

enum {
	O_PROVIDER = 1,
	O_KIND,
	O_IWARP,
	O_ROOT,
	O_CONNECT,
	O_PATTERNS,
	O_AT_REST,
	O_SEED,
	O_HELP,
	O_COUNT /* and the rows of counts[] behind */
};

struct number {
	const char *name;
	size_t at;
	long least, most;
};

#define AT(m) offsetof(struct options, m)
static const struct number counts[] = {
	{"ranks", AT(ranks), 1, LOAD_RANKS},
	{"local", AT(local), 1, LOAD_RANKS},
	{"first", AT(first), 0, LOAD_RANKS - 1},
	{"window", AT(window), 1, 65535},
	{"rounds", AT(rounds), 1, 1000000},
	{"size", AT(size), 1, 1 << 24},
	{"links", AT(links), 1, 16384},
	{"listeners", AT(listeners), 1, PORTS_QUALS},
	{"spread", AT(spread_ms), 0, 60000},
	{"cycles", AT(cycles), 1, 1000000},
	{"minutes", AT(minutes), 1, 100000},
	{"rest", AT(rest), 1, 1000000},
	{"timeout", AT(timeout_s), 1, 1000},
};
#define COUNTS (sizeof(counts) / sizeof(counts[0]))

static void take_text(struct options *o, int what, char *text)
{
	switch (what) {
	case O_PROVIDER:
		o->adapter = text;
		break;
	case O_KIND:
		o->kind = text;
		break;
	case O_IWARP:
		o->iwarp = true;
		break;
	case O_ROOT:
		o->root = text;
		break;
	case O_CONNECT:
		o->connect = parse_how(text);
		break;
	case O_PATTERNS:
		parse_ways(o, text);
		break;
	case O_AT_REST:
		o->at_rest = text;
		break;
	case O_SEED:
		o->seed = (unsigned int)count("seed", text, 0, 0x7fffffff);
		break;
	case O_HELP:
		help(stdout);
		exit(0);
	default:
		help(stderr);
		exit(2);
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	struct option longs[O_COUNT + COUNTS] = {
		{"provider", required_argument, NULL, O_PROVIDER},
		{"kind", required_argument, NULL, O_KIND},
		{"iwarp", no_argument, NULL, O_IWARP},
		{"root", required_argument, NULL, O_ROOT},
		{"connect", required_argument, NULL, O_CONNECT},
		{"patterns", required_argument, NULL, O_PATTERNS},
		{"at-rest", required_argument, NULL, O_AT_REST},
		{"seed", required_argument, NULL, O_SEED},
		{"help", no_argument, NULL, O_HELP},
	};
	const struct number *c;
	int what;

	for (size_t i = 0; i < COUNTS; i++)
		longs[O_COUNT - 1 + i] =
			(struct option){counts[i].name, required_argument, NULL,
					O_COUNT + (int)i};
	while ((what = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (what < O_COUNT || what >= O_COUNT + (int)COUNTS) {
			take_text(o, what, optarg);
			continue;
		}
		c = &counts[what - O_COUNT];
		*(int *)(void *)((char *)o + c->at) =
			count(c->name, optarg, c->least, c->most);
	}
	if (optind < argc)
		wrong("not an option", argv[optind]);
}

static void settle_options(struct options *o)
{
	if (!o->adapter)
		wrong("--provider", "is needed");
	if (!o->local)
		o->local = o->ranks - o->first;
	if (o->local < 1 || o->first + o->local > o->ranks)
		wrong("--first and --local", "more ranks than there are");
	if (o->local < o->ranks && !o->root)
		wrong("--root", "is needed where ranks are elsewhere");
	if (o->ranks * o->listeners > PORTS_QUALS)
		wrong("--listeners", "too many for as many ranks");
}

int main(int argc, char **argv)
{
	struct options o = {
		.ranks = 4,
		.rounds = 4,
		.links = 1,
		.listeners = 1,
		.size = 8192,
		.window = 4,
		.cycles = 1,
		.rest = 4,
		.timeout_s = 60,
		.spread_ms = 100,
		.seed = 1,
		.ways = {true, true, true, true},
	};
	struct run run = {.o = &o, .listen = -1};
	uint64_t begin = load_now_us();
	sigset_t set;

	parse(&o, argc, argv);
	settle_options(&o);
	if (!o.first)
		run.listen = boot_listen(o.root, &run.port);
	run.tally =
		mmap(NULL, (size_t)o.local * sizeof(*run.tally),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	run.load = calloc((size_t)o.local, sizeof(*run.load));
	if (run.tally == MAP_FAILED || !run.load ||
	    (!o.first && run.listen < 0))
		return 2;
	run.qual = ports_own();
	for (int i = 0; i < o.local; i++)
		settle(&run, i);
	/* sigtimedwait() wants it blocked */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	start(&run);
	attend(&run);
	free(run.load);
	return report(&run, load_now_us() - begin);
}
