/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - runs scenarios, each with many seeds, each in a process of its own.
 *
 * A run depends on nothing but its seed, the strategy and the program: memory
 * is laid out the same each time (personality(2)), and time and random numbers
 * are played. The first seed of a scenario, and any that fails, is run twice,
 * and must do the same again.
 * Output is TAP; a failing seed is told with the command that repeats it, what
 * the run has printed, and where its threads were.
 */
#include <errno.h>
#include <execinfo.h>
#include <fnmatch.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/sched/face12.h"
#include "test/sched/provider.h"
#include "test/sched/scenario.h"
#include "test/sched/tcp.h"

/* What leads to this program. */
#ifdef SCHED_DAT_1_2
#define FACE "--1.2 "
#else
#define FACE ""
#endif

#define SCENARIOS_MAX 128
#define ACTORS_MAX    16
#define RUN_S	      60 /* of real time; a run takes milliseconds */
#define LONG	      8	 /* of the seeds, one in so many for whole programs */
#define FAILURES_MAX  3	 /* seeds of a scenario that are told */

static struct {
	const struct scenario *all[SCENARIOS_MAX];
	int n;
	const char *pattern, *provider_pattern;
	int provider; /* of this run */
	uint64_t first, seeds;
	enum sched_strategy strategy;
	bool trace;
	struct sched_result *result; /* shared with the run */
	FILE *said;		     /* by the run */
} m = {.pattern = "*", .provider_pattern = "*", .first = 1, .seeds = 100};

static const char *const strategies[] = {"mix", "random", "pct"};

void scenario_add(const struct scenario *scenario)
{
	int i = m.n++;

	if (m.n > SCENARIOS_MAX)
		abort();
	/* In the order of names: constructors have none. */
	for (; i && strcmp(m.all[i - 1]->name, scenario->name) > 0; i--)
		m.all[i] = m.all[i - 1];
	m.all[i] = scenario;
}

/* ------------------------------------------------- inside a run */

static struct {
	void (*fn)(void *arg);
	void *arg;
	pthread_t thread;
} actors[ACTORS_MAX];
static int actors_n;

void actor(void (*fn)(void *arg), void *arg)
{
	if (actors_n == ACTORS_MAX)
		sched_fail("more than %d actors", ACTORS_MAX);
	actors[actors_n].fn = fn;
	actors[actors_n++].arg = arg;
}

pthread_t actor_thread(int nr)
{
	return actors[nr].thread;
}

static void *actor_main(void *arg)
{
	int nr = (int)(intptr_t)arg;

	actors[nr].fn(actors[nr].arg);
	return NULL;
}

void play(void)
{
	for (int i = 0; i < actors_n; i++)
		if (pthread_create(&actors[i].thread, NULL, actor_main,
				   (void *)(intptr_t)i))
			sched_fail("no thread");
	sched_calm(false);
	for (int i = 0; i < actors_n; i++)
		pthread_join(actors[i].thread, NULL);
	sched_calm(true);
	actors_n = 0;
}

void leave(void)
{
	m.result->ended = true;
	exit(0);
}

static void on_fault(int number)
{
	signal(number, SIG_DFL);
	sched_fail("signal %d (%s)", number, strsignal(number));
}

static void catch_faults(void)
{
	static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		signal(faults[i], on_fault);
	/* Of one that hangs in earnest, which no scenario does. */
	alarm(RUN_S);
}

static enum fv_kind some_kind(void)
{
	return (enum fv_kind)sched_dice((unsigned)provider_kinds(m.provider));
}

static void play_on_device(const struct scenario *scenario)
{
	struct world w = {.kind = some_kind()};

	provider_choose(m.provider);
	world_load(w.kind);
	scenario->fn(&w, NULL, NULL);
	world_unload();
}

static void play_on_world(const struct scenario *scenario)
{
	static struct world w;
	struct fv_device_cfg *cfg;
	const DAT_PROVIDER *vector;

	provider_choose(m.provider);
	world_open(&w, scenario->ground == ON_ANY_KIND ? some_kind() : FV_IB);
	cfg = fv_device_cfg_get(w.dev);
	cfg->takes_cqes_along = sched_dice(2);
	vector = world_registry.vector;
	if (!sched_dice(4))
		world_registry.vector = face12(vector);
	scenario->fn(&w, &w.server, &w.client);
	world_registry.vector = vector;
	world_close(&w);
	if (tcp_open())
		sched_fail("%d sockets are left", tcp_open());
}

_Noreturn static void run_child(const struct scenario *scenario, uint64_t seed)
{
	dup2(fileno(m.said), STDOUT_FILENO);
	dup2(fileno(m.said), STDERR_FILENO);
	catch_faults();
	sched_begin(seed, m.strategy, m.trace, m.result);
	if (scenario->ground == ON_NOTHING)
		scenario->fn(NULL, NULL, NULL);
	else if (scenario->ground == ON_A_DEVICE)
		play_on_device(scenario);
	else
		play_on_world(scenario);
	m.result->ended = true;
	fflush(NULL);
	_exit(0);
}

/* --------------------------------------------------- around it */

/* The provider of this run, by name. */
static const char *over(const struct scenario *scenario)
{
	return scenario->ground == ON_NOTHING ? "none"
					      : provider_name(m.provider);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* True: nothing was wrong. */
static bool run(const struct scenario *scenario, uint64_t seed)
{
	int status;
	pid_t pid;

	memset(m.result, 0, sizeof(*m.result));
	if (ftruncate(fileno(m.said), 0))
		abort();
	rewind(m.said);
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!pid)
		run_child(scenario, seed);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (m.result->text[0])
		return false;
	if (m.result->ended && WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (WIFSIGNALED(status))
		snprintf(m.result->text, SCHED_TEXT, "died of signal %d",
			 WTERMSIG(status));
	else
		snprintf(m.result->text, SCHED_TEXT, "ended with status %d",
			 WEXITSTATUS(status));
	return false;
}

/* Where an address is in the source: lines, kept for the next time. */
static const char *place(unsigned long address)
{
	static struct {
		unsigned long address;
		char text[512];
	} known[2000];
	static int n;
	char command[640], exe[512], *text;
	ssize_t length;
	FILE *f;

	for (int i = 0; i < n; i++)
		if (known[i].address == address)
			return known[i].text;
	length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[length > 0 ? length : 0] = '\0';
	snprintf(command, sizeof(command), "addr2line -fpis -e '%s' 0x%lx", exe,
		 address);
	text = known[n].text;
	f = popen(command, "r");
	text[f ? fread(text, 1, sizeof(known[n].text) - 1, f) : 0] = '\0';
	if (f)
		pclose(f);
	known[n].address = address;
	n += n < 1999;
	return text;
}

/* A line "@ address..." is shown as places in the source. */
static void show_places(char *addresses)
{
	for (char *end, *p = strtok_r(addresses, " \n", &end); p;
	     p = strtok_r(NULL, " \n", &end)) {
		const char *line = place(strtoul(p, NULL, 16));

		while (*line && strncmp(line, "??", 2)) {
			int length = (int)strcspn(line, "\n");

			printf("#     %.*s\n", length, line);
			line += length + (line[length] == '\n');
		}
	}
}

static void show_said(void)
{
	char line[4096];

	rewind(m.said);
	while (fgets(line, sizeof(line), m.said))
		if (line[0] == '@')
			show_places(line + 1);
		else
			printf("#   %s%s", line,
			       strchr(line, '\n') ? "" : "\n");
}

static void tell_failure(const struct scenario *scenario, uint64_t seed)
{
	printf("# %s %s, seed %llu: %s\n", over(scenario), scenario->name,
	       (unsigned long long)seed, m.result->text);
	show_said();
	printf("# again: ./run sched " FACE
	       "--provider %s --scenario %s --strategy %s "
	       "--seed %llu\n",
	       over(scenario), scenario->name, strategies[m.strategy],
	       (unsigned long long)seed);
}

/*
 * By a process of its own: what it takes of memory would move what the next
 * runs have, and they look addresses up in tables.
 */
static void tell(void (*fn)(const struct scenario *, uint64_t),
		 const struct scenario *scenario, uint64_t seed)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		fn(scenario, seed);
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void tell_trace(const struct scenario *scenario, uint64_t seed)
{
	(void)scenario;
	(void)seed;
	show_said();
}

static bool repeats(const struct scenario *scenario, uint64_t seed)
{
	struct sched_result first = *m.result;

	run(scenario, seed);
	if (!memcmp(&first, m.result, sizeof(first)))
		return true;
	printf("# %s %s, seed %llu: a second run was another: %llu points, "
	       "then %llu\n",
	       over(scenario), scenario->name, (unsigned long long)seed,
	       (unsigned long long)first.steps,
	       (unsigned long long)m.result->steps);
	return false;
}

static uint64_t seeds_of(const struct scenario *scenario)
{
	return scenario->ground == ON_A_DEVICE ? (m.seeds + LONG - 1) / LONG
					       : m.seeds;
}

static bool run_scenario(const struct scenario *scenario, int nr)
{
	double begin = now_s();
	uint64_t failed = 0, steps = 0, seed = m.first, first_failed = 0;
	bool same = true;

	for (uint64_t i = 0; i < seeds_of(scenario); i++, seed++) {
		bool passed = run(scenario, seed);

		steps += m.result->steps;
		if (!passed && !failed++)
			first_failed = i + 1;
		if (!passed)
			tell(tell_failure, scenario, seed);
		else if (m.trace)
			tell(tell_trace, scenario, seed);
		if (!i || !passed)
			same &= repeats(scenario, seed);
		if (failed == FAILURES_MAX) {
			seed++;
			break;
		}
	}
	if (m.seeds == 1)
		printf("# %s %s, seed %llu: %llu points, hash %016llx\n",
		       over(scenario), scenario->name,
		       (unsigned long long)m.first,
		       (unsigned long long)m.result->steps,
		       (unsigned long long)m.result->hash);
	printf("%s %d - %s %s # %llu seeds, %llu points, %.1f s",
	       failed || !same ? "not ok" : "ok", nr, over(scenario),
	       scenario->name, (unsigned long long)(seed - m.first),
	       (unsigned long long)steps, now_s() - begin);
	if (failed)
		printf(", first failed as number %llu",
		       (unsigned long long)first_failed);
	putchar('\n');
	return !failed && same;
}

/* ------------------------------------------------- the program */

static void usage(FILE *to)
{
	fputs("usage: sched [OPTION...]\n\n"
	      "Runs scenarios of threads that meet, each with many seeds.\n\n"
	      "  --seeds N          so many of each scenario (100)\n"
	      "  --first S          the first of them (1)\n"
	      "  --seed S           this one only\n"
	      "  --scenario PATTERN a shell pattern\n"
	      "  --provider PATTERN the same: cma, scm, ucm, none\n"
	      "  --strategy NAME    random, pct, or mix: the seed decides\n"
	      "  --trace            show each point\n"
	      "  --list             names of scenarios\n",
	      to);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (!*text || *end) {
		fprintf(stderr, "sched: no number: %s\n", text);
		exit(2);
	}
	return n;
}

static enum sched_strategy strategy(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(name, strategies[i]))
			return (enum sched_strategy)i;
	fprintf(stderr, "sched: no strategy: %s\n", name);
	exit(2);
}

static void list(void)
{
	for (int i = 0; i < m.n; i++)
		puts(m.all[i]->name);
	exit(0);
}

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{"seeds", required_argument, NULL, 'n'},
		{"first", required_argument, NULL, 'f'},
		{"seed", required_argument, NULL, 's'},
		{"scenario", required_argument, NULL, 'p'},
		{"provider", required_argument, NULL, 'm'},
		{"strategy", required_argument, NULL, 'x'},
		{"trace", no_argument, NULL, 'v'},
		{"list", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		switch (option) {
		case 'n':
			m.seeds = number(optarg);
			break;
		case 'f':
			m.first = number(optarg);
			break;
		case 's':
			m.first = number(optarg);
			m.seeds = 1;
			break;
		case 'p':
			m.pattern = optarg;
			break;
		case 'm':
			m.provider_pattern = optarg;
			break;
		case 'x':
			m.strategy = strategy(optarg);
			break;
		case 'v':
			m.trace = true;
			break;
		case 'l':
			list();
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	if (optind < argc || !m.seeds) {
		usage(stderr);
		exit(2);
	}
}

/*
 * Begins again with the same addresses each time, for which the environment
 * and the program's name count, too; addr2line is looked for in PATH.
 */
static void lay_out_memory(char **argv)
{
	char name[] = "sched", path[4096];
	char abort_on_failure[] = "CMOCKA_TEST_ABORT=1";
	char *env[] = {abort_on_failure, path, NULL};
	const char *was = getenv("PATH");
	int how = personality(0xffffffff);

	if (how < 0 || how & ADDR_NO_RANDOMIZE)
		return;
	argv[0] = name;
	snprintf(path, sizeof(path), "PATH=%s", was ? was : "/usr/bin:/bin");
	if (personality((unsigned long)how | ADDR_NO_RANDOMIZE) >= 0)
		execve("/proc/self/exe", argv, env);
	perror("sched: memory cannot be laid out");
	exit(1);
}

/* Batons pass quickly on one processor. */
static void choose_processor(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* From here on this process takes no memory; see tell(). */
static void settle(void)
{
	static char out[4096], said[4096];
	void *frames[2];

	backtrace(frames, 2); /* loads what it needs, now */
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	m.said = tmpfile();
	m.result = mmap(NULL, sizeof(*m.result), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!m.said || m.result == MAP_FAILED)
		abort();
	setvbuf(m.said, said, _IOFBF, sizeof(said));
}

/* Whether it is to run over the provider of that number; over none: once. */
static bool is_chosen(const struct scenario *scenario, int nr)
{
	const char *name = over(scenario);

	if (scenario->ground == ON_NOTHING && nr)
		return false;
	return !fnmatch(m.pattern, scenario->name, 0) &&
	       !fnmatch(m.provider_pattern, name, 0) &&
	       (!scenario->provider || !strcmp(scenario->provider, name));
}

/* Runs what is chosen. Returns how many failed, or, if not RUNS, how many there
 * are. */
static int each_chosen(bool runs)
{
	int n = 0, failed = 0;

	for (m.provider = 0; m.provider < PROVIDERS; m.provider++)
		for (int i = 0; i < m.n; i++) {
			if (!is_chosen(m.all[i], m.provider))
				continue;
			n++;
			failed += runs && !run_scenario(m.all[i], n);
		}
	return runs ? failed : n;
}

int main(int argc, char **argv)
{
	int n;

	lay_out_memory(argv);
	choose_processor();
	options(argc, argv);
	settle();
	n = each_chosen(false);
	if (!n) {
		printf("Bail out! no scenario is called %s over %s\n",
		       m.pattern, m.provider_pattern);
		return 1;
	}
	printf("1..%d\n", n);
	return each_chosen(true) != 0;
}
