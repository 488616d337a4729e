/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - runs consumers: makes the ranks and their wires, and tells how it
 * went as TAP.
 *
 *   consumers -P NAME -m DIR [-k KIND] [-i] [-t SECONDS]
 * CONSUMER:RANKS:FACES...
 *
 * A consumer is written once and compiled for each version of DAT, into the
 * modules consumers_1.so and consumers_2.so of DIR. FACES says which version
 * each rank takes, in turn: of 4 ranks with 12 the second and the fourth are of
 * DAT 2.0. Ranks are processes that fork before any call of DAT; on the fake
 * device, which is inside a process, they are its threads. It calls nothing of
 * DAT itself.
 * A case whose ranks are not through in time is killed, and each of them tells
 * what it waited for. One thread. Rule: doc/testing.md; TAP version 12.
 */
#include "test/conform/ports.h"
#include "test/consumers/rank.h"
#include "test/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME_MAX_LEN 32
#define GRACE_S	     15	      /* from the kill to the end: kernels take time */
#define SLOW_US	     10000000 /* worth a line */

#ifdef __SANITIZE_ADDRESS__
/*
 * A thread that is cancelled at any point leaves frames that the sanitizer
 * takes for alive, and trips over them itself when it gives up its signal
 * stack.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "use_sigaltstack=0";
}
#endif

struct options {
	char *adapter;
	const char *dir, *kind;
	int timeout_s;
	bool iwarp;
};

struct setting {
	char name[NAME_MAX_LEN], faces[RANKS_MAX + 1];
	int ranks;
};

/* A case that runs. Notes are memory that is shared with the ranks. */
struct run {
	const struct options *opt;
	const struct setting *what;
	struct rank_note *notes;
	int wires[RANKS_MAX][RANKS_MAX];
	pid_t pid[RANKS_MAX]; /* of a rank; threads are all in the first */
	int status[RANKS_MAX];
	int pids, left;
	bool late, bad;
	uint64_t took_us;
};

static struct rank_note *notes;
static unsigned int first_qual;

/* ---------------------------------------------------------------- a rank */

struct place {
	struct rank rank;
	const struct consumer *consumer;
	pthread_t thread;
};

/* The consumer as its version has it. Nothing of the module is global. */
static void find(const struct run *run, struct place *p)
{
	const char *faces = run->what->faces;
	char face = faces[(size_t)p->rank.id % strlen(faces)];
	const struct consumer *c;
	char path[4096];
	void *module;

	snprintf(path, sizeof(path), "%s/consumers_%c.so", run->opt->dir, face);
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	c = module ? dlsym(module, "consumers") : NULL;
	if (!c)
		RANK_FAIL(&p->rank, "%s", dlerror());
	while (c->name && strcmp(c->name, run->what->name) != 0)
		c++;
	if (!c->name)
		RANK_FAIL(&p->rank, "no consumer %s", run->what->name);
	if (c->ranks && c->ranks != run->what->ranks)
		RANK_FAIL(&p->rank, "%s has %d ranks", c->name, c->ranks);
	p->consumer = c;
}

static void *live(void *arg)
{
	struct place *p = arg;

	p->consumer->run(&p->rank);
	/* Nobody has left who is still looked at. */
	if (!p->rank.alone)
		rank_barrier(&p->rank);
	p->rank.note->done = true;
	return NULL;
}

static void settle(struct run *run, struct place *p, int id)
{
	p->rank = (struct rank){
		.id = id,
		.n = run->what->ranks,
		.adapter = run->opt->adapter,
		.qual = first_qual,
		.alone = !run->opt->kind,
		.iwarp = run->opt->iwarp,
		.note = &run->notes[id],
	};
	memcpy(p->rank.fd, run->wires[id], sizeof(p->rank.fd));
	find(run, p);
}

/* Only its own ends, so that it learns who has gone. */
static void keep_own(struct run *run, int id)
{
	for (int i = 0; i < run->what->ranks; i++)
		for (int j = 0; j < run->what->ranks; j++)
			if (i != id && i != j)
				close(run->wires[i][j]);
}

static _Noreturn void child(struct run *run, int id)
{
	static struct place places[RANKS_MAX];
	sigset_t set;

	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* stdout is for TAP alone */
	signal(SIGPIPE, SIG_IGN);
	if (!device_make(run->opt->kind))
		_exit(2);
	if (!run->opt->kind) {
		keep_own(run, id);
		settle(run, &places[id], id);
		live(&places[id]);
		/* what an exit does belongs to the case */
		exit(EXIT_SUCCESS);
	}
	for (int i = 0; i < run->what->ranks; i++)
		settle(run, &places[i], i);
	for (int i = 0; i < run->what->ranks; i++)
		if (pthread_create(&places[i].thread, NULL, live, &places[i]))
			_exit(2);
	for (int i = 0; i < run->what->ranks; i++)
		pthread_join(places[i].thread, NULL);
	exit(EXIT_SUCCESS);
}

/* ---------------------------------------------------------------- a case */

static void wire_up(struct run *run)
{
	int sv[2];

	for (int i = 0; i < RANKS_MAX; i++)
		for (int j = 0; j < RANKS_MAX; j++)
			run->wires[i][j] = -1;
	for (int i = 0; i < run->what->ranks; i++) {
		for (int j = 0; j < i; j++) {
			if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				       sv)) {
				perror("consumers: socketpair");
				exit(2);
			}
			run->wires[i][j] = sv[0];
			run->wires[j][i] = sv[1];
		}
	}
}

static void start(struct run *run)
{
	run->pids = run->opt->kind ? 1 : run->what->ranks;
	for (int i = 0; i < run->pids; i++) {
		run->pid[i] = fork();
		if (run->pid[i] == 0)
			child(run, i);
		if (run->pid[i] < 0) {
			perror("consumers: fork");
			exit(2);
		}
	}
	run->left = run->pids;
	for (int i = 0; i < run->what->ranks; i++)
		for (int j = 0; j < run->what->ranks; j++)
			if (i != j)
				close(run->wires[i][j]);
}

static void kill_all(const struct run *run)
{
	for (int i = 0; i < run->pids; i++)
		if (run->pid[i])
			kill(run->pid[i], SIGKILL);
}

static bool ended_well(const struct run *run, int i)
{
	int status = run->status[i];

	if (run->notes[i].dies)
		return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return false;
	for (int k = i; k < (run->opt->kind ? run->what->ranks : i + 1); k++)
		if (!run->notes[k].done)
			return false;
	return true;
}

static void collect(struct run *run)
{
	for (int i = 0; i < run->pids; i++) {
		if (!run->pid[i] ||
		    waitpid(run->pid[i], &run->status[i], WNOHANG) == 0)
			continue;
		run->pid[i] = 0;
		run->left--;
		if (!run->bad && !ended_well(run, i)) {
			run->bad = true;
			kill_all(run);
		}
	}
}

/* Until a child has ended or some deadline is near. */
static void wait_for_child(void)
{
	static const struct timespec tick = {.tv_nsec = 200000000};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &tick);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void attend(struct run *run)
{
	uint64_t begin_us = now_us();
	uint64_t end_us = begin_us + (uint64_t)run->opt->timeout_s * 1000000;

	for (collect(run); run->left; collect(run)) {
		if (now_us() >= end_us) {
			if (run->late) /* stuck in the kernel */
				break;
			run->late = run->bad = true;
			kill_all(run);
			end_us += GRACE_S * 1000000;
		}
		wait_for_child();
	}
	run->took_us = now_us() - begin_us;
}

/* --------------------------------------------------------------- reports */

static void one_line(char *s)
{
	for (; *s; s++)
		if (*s == '\n' || *s == '#')
			*s = ' ';
}

static void explain_end(const struct run *run, int i)
{
	if (run->late || run->pid[i])
		printf("# not finished in time, killed\n");
	else if (WIFSIGNALED(run->status[i]))
		printf("# rank %d: died of signal %d (%s)\n", i,
		       WTERMSIG(run->status[i]),
		       strsignal(WTERMSIG(run->status[i])));
	else
		printf("# rank %d: exit code %d\n", i,
		       WEXITSTATUS(run->status[i]));
}

static void explain(const struct run *run)
{
	for (int i = 0; i < run->what->ranks; i++) {
		struct rank_note *note = &run->notes[i];

		one_line(note->failed);
		one_line(note->waits_for);
		if (note->failed[0])
			printf("# rank %d: %s\n", i, note->failed);
		if (!note->done && note->waits_for[0])
			printf("# rank %d waited for: %s\n", i,
			       note->waits_for);
	}
	for (int i = 0; i < run->pids; i++)
		if (!ended_well(run, i))
			explain_end(run, i);
}

/* True unless it failed. */
static bool report(const struct run *run, int number)
{
	const struct setting *s = run->what;
	const char *skipped = NULL;

	for (int i = 0; i < s->ranks && !skipped; i++)
		if (run->notes[i].skipped[0])
			skipped = run->notes[i].skipped;
	printf("%s %d - %s, %d ranks, DAT %s", run->bad ? "not ok" : "ok",
	       number, s->name, s->ranks,
	       !strcmp(s->faces, "1")	? "1.2"
	       : !strcmp(s->faces, "2") ? "2.0"
	       : s->faces[0] == '1'	? "1.2 and 2.0"
					: "2.0 and 1.2");
	if (!run->bad && skipped)
		printf(" # SKIP %s", skipped);
	putchar('\n');
	if (run->bad)
		explain(run);
	if (run->took_us >= SLOW_US)
		printf("# took %.1f s\n", (double)run->took_us / 1e6);
	return !run->bad;
}

static bool run_one(const struct options *opt, const struct setting *what,
		    int number)
{
	struct run run = {.opt = opt, .what = what, .notes = notes};

	memset(notes, 0, RANKS_MAX * sizeof(*notes));
	fflush(stdout);
	wire_up(&run);
	start(&run);
	attend(&run);
	return report(&run, number);
}

/* --------------------------------------------------------------- options */

static _Noreturn void usage(void)
{
	fprintf(stderr,
		"usage: consumers -P NAME -m DIR [-k KIND] [-i] "
		"[-t SECONDS] CONSUMER:RANKS:FACES...\n"
		"  -P NAME     adapter, a name in dat.conf\n"
		"  -m DIR      where the modules are\n"
		"  -k KIND     fake device: a row of fake_kinds.c\n"
		"  -i          the adapter is of iWARP\n"
		"  -t SECONDS  for a case, default 60\n"
		"  FACES       1, 2, 12 or 21: versions of the ranks\n");
	exit(2);
}

static struct setting parse_setting(const char *text)
{
	struct setting s;
	char end;

	if (sscanf(text, "%31[a-z0-9_]:%d:%16[12]%c", s.name, &s.ranks, s.faces,
		   &end) != 3 ||
	    s.ranks < 1 || s.ranks > RANKS_MAX)
		usage();
	return s;
}

static struct options parse(int argc, char **argv)
{
	struct options opt = {.timeout_s = 60};
	int o;

	while ((o = getopt(argc, argv, "P:m:k:t:i")) != -1) {
		switch (o) {
		case 'P':
			opt.adapter = optarg;
			break;
		case 'm':
			opt.dir = optarg;
			break;
		case 'k':
			opt.kind = optarg;
			break;
		case 't':
			opt.timeout_s = atoi(optarg);
			break;
		case 'i':
			opt.iwarp = true;
			break;
		default:
			usage();
		}
	}
	if (!opt.adapter || !opt.dir || opt.timeout_s < 1 || optind == argc)
		usage();
	return opt;
}

int main(int argc, char **argv)
{
	struct options opt = parse(argc, argv);
	int bad = 0, n = argc - optind;
	sigset_t set;

	for (int i = 0; i < n; i++)
		parse_setting(argv[optind + i]);
	notes = mmap(NULL, RANKS_MAX * sizeof(*notes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (notes == MAP_FAILED) {
		perror("consumers: mmap");
		return 2;
	}
	/* sigtimedwait() wants it blocked */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	first_qual = ports_own();
	for (int i = 0; i < n; i++) {
		struct setting s = parse_setting(argv[optind + i]);

		bad += !run_one(&opt, &s, i + 1);
	}
	printf("1..%d\n", n);
	return bad ? 1 : 0;
}
