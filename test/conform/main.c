/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - runs the cases and prints TAP, one line each, with the clause.
 *
 * It knows no case and no device. Each case is a child process: one that
 * crashes, hangs or leaks is one failed case. The parent makes no DAT call.
 * Threads: the parent has one. Ownership: the note that a child leaves lives
 * in a page that both share.
 * Rule: TAP version 12; doc/testing.md.
 */
#include "test/conform/conform.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_SKIP 77

static const struct conf_case *const tables[] = {
	cases_registry, cases_strerror, cases_ia,   cases_evd, cases_evd_wait,
	cases_cno,	cases_pz,	cases_lmr,  cases_rmr, cases_srq,
	cases_ep,	cases_ep_state, cases_conn, cases_sp,  cases_cr,
	cases_post,	cases_context,
};

#define for_each_case(k)                                                 \
	for (size_t t_ = 0; t_ < sizeof(tables) / sizeof(*tables); t_++) \
		for (const struct conf_case *k = tables[t_]; k->name; k++)

struct options {
	const char *name, *address, *pattern, *kind;
	int timeout_s;
	bool list;
};

struct note {
	char text[512];
};

static struct note *note; /* shared with the child */

void conf_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	size_t used;
	va_list ap;

	snprintf(note->text, sizeof(note->text),
		 "%s:%d: ", base ? base + 1 : file, line);
	used = strlen(note->text);
	va_start(ap, fmt);
	vsnprintf(note->text + used, sizeof(note->text) - used, fmt, ap);
	va_end(ap);
	/* no destructors: threads of the provider may be in the way */
	_exit(EXIT_FAILURE);
}

void conf_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(note->text, sizeof(note->text), fmt, ap);
	va_end(ap);
	_exit(EXIT_SKIP);
}

void conf_expect_ret(const char *file, int line, const char *call,
		     DAT_RETURN got, DAT_RETURN type, int subtype)
{
	const char *major = "?", *minor = "?";

	if (DAT_GET_TYPE(got) == type &&
	    (subtype == ANY_SUBTYPE ||
	     DAT_GET_SUBTYPE(got) == (DAT_RETURN)subtype))
		return;
	dat_strerror(got, &major, &minor);
	conf_fail(file, line, "%.200s: 0x%08x %s %s, expected type 0x%08x %d",
		  call, got, major, minor, type, subtype);
}

static _Noreturn void child(const struct conf_case *k,
			    const struct options *opt)
{
	struct conf c = {
		.name = opt->name,
		.address = opt->address,
		.arg = k->arg,
	};

	dup2(STDERR_FILENO, STDOUT_FILENO); /* stdout is for TAP alone */
	if (!conf_device(opt->kind))
		conf_fail(__FILE__, __LINE__, "no device of kind %s",
			  opt->kind ? opt->kind : "(none)");
	conf_init(&c, k->needs);
	k->run(&c);
	conf_fini(&c);
	/* not _exit(): what runs then, a leak check too, belongs to the case */
	exit(EXIT_SUCCESS);
}

/* Waits for the child; false: it had to be killed. */
static bool reap(pid_t pid, int timeout_s, int *ret_status)
{
	struct timespec limit = {.tv_sec = timeout_s};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	while (waitpid(pid, ret_status, WNOHANG) == 0) {
		if (sigtimedwait(&set, NULL, &limit) < 0 && errno == EAGAIN) {
			kill(pid, SIGKILL);
			limit.tv_sec = 5;
			if (sigtimedwait(&set, NULL, &limit) == SIGCHLD)
				waitpid(pid, ret_status, WNOHANG);
			return false;
		}
	}
	return true;
}

static void one_line(char *s)
{
	for (; *s; s++)
		if (*s == '\n' || *s == '#')
			*s = ' ';
}

/* The line of a case that was run; true unless it failed. */
static bool report(int n, const struct conf_case *k, bool in_time, int status)
{
	bool skip = in_time && WIFEXITED(status) &&
		    WEXITSTATUS(status) == EXIT_SKIP;
	bool ok = in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;

	one_line(note->text);
	printf("%s %d - %s (%s)", ok || skip ? "ok" : "not ok", n, k->name,
	       k->clause);
	if (skip)
		printf(" # SKIP %s", note->text);
	putchar('\n');
	if (ok || skip)
		return true;
	if (note->text[0])
		printf("# %s\n", note->text);
	if (!in_time)
		printf("# not finished in time, killed\n");
	else if (WIFSIGNALED(status))
		printf("# died of signal %d (%s)\n", WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
	else
		printf("# exit code %d\n", WEXITSTATUS(status));
	return false;
}

static bool run_case(int n, const struct conf_case *k,
		     const struct options *opt)
{
	bool in_time;
	int status = 0;
	pid_t pid;

	note->text[0] = '\0';
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		printf("not ok %d - %s (%s)\n# fork: %s\n", n, k->name,
		       k->clause, strerror(errno));
		return false;
	}
	if (pid == 0) {
		sigset_t set;

		sigemptyset(&set);
		sigprocmask(SIG_SETMASK, &set, NULL);
		child(k, opt);
	}
	in_time = reap(pid, opt->timeout_s, &status);
	return report(n, k, in_time, status);
}

static int run_all(const struct options *opt)
{
	int n = 0, bad = 0;
	sigset_t set;

	/* sigtimedwait() wants it blocked */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for_each_case(k)
	{
		if (fnmatch(opt->pattern, k->name, 0) != 0)
			continue;
		if (opt->list)
			printf("%s (%s)\n", k->name, k->clause);
		else if (!run_case(++n, k, opt))
			bad++;
	}
	if (opt->list)
		return 0;
	printf("1..%d\n", n);
	if (!n)
		fprintf(stderr, "conform: no case matches %s\n", opt->pattern);
	return bad || !n ? 1 : 0;
}

static _Noreturn void usage(FILE *to, int code)
{
	fprintf(to, "usage: conform -P NAME [-a ADDRESS] [-f PATTERN] "
		    "[-k KIND] [-t SECONDS] [-l]\n"
		    "  -P NAME           adapter, a name in dat.conf\n"
		    "  -a ADDRESS        to connect to, if not the adapter's\n"
		    "  -f PATTERN        only cases that match\n"
		    "  -k KIND           fake device: ib, roce, iwarp\n"
		    "  -t, --timeout N   seconds for a case, default 60\n"
		    "  -l                list the cases\n");
	exit(code);
}

static struct options parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{"timeout", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct options opt = {.pattern = "*", .timeout_s = 60};
	int o;

	while ((o = getopt_long(argc, argv, "P:a:f:k:t:lh", longs, NULL)) !=
	       -1) {
		switch (o) {
		case 'P':
			opt.name = optarg;
			break;
		case 'a':
			opt.address = optarg;
			break;
		case 'f':
			opt.pattern = optarg;
			break;
		case 'k':
			opt.kind = optarg;
			break;
		case 't':
			opt.timeout_s = atoi(optarg);
			break;
		case 'l':
			opt.list = true;
			break;
		case 'h':
			usage(stdout, 0);
		default:
			usage(stderr, 2);
		}
	}
	if (optind != argc || opt.timeout_s < 1 || (!opt.name && !opt.list))
		usage(stderr, 2);
	return opt;
}

int main(int argc, char **argv)
{
	struct options opt = parse(argc, argv);

	note = mmap(NULL, sizeof(*note), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (note == MAP_FAILED) {
		perror("conform: mmap");
		return 2;
	}
	return run_all(&opt);
}
