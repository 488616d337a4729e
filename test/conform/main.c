/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - runs the cases and prints TAP, one line each, with the clause.
 *
 * It knows no case and no device. Each case is a child process: one that
 * crashes, hangs or leaks is one failed case. Some may run side by side, each
 * with connection qualifiers of its own; they are shown in their order. The
 * parent makes no DAT call.
 * Threads: the parent has one. Ownership: the note that a child leaves lives
 * in memory that both share.
 * Rule: TAP version 12; doc/testing.md.
 */
#include "test/conform/apart.h"
#include "test/conform/ports.h"
#include "test/device.h"

#include <dirent.h>
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

#define EXIT_SKIP  77
#define NOTE_LEN   APART_NOTE
#define MAX_SLOTS  64
#define SLOT_QUALS 16	    /* qualifiers that a case may use */
#define GRACE_US   15000000 /* from the kill to the end: kernels take time */
#define SLOW_US	   5000000  /* worth a line */

_Static_assert(MAX_SLOTS *SLOT_QUALS <= PORTS_QUALS,
	       "a run stays in its range");

/* Where CASE() puts them: the linker marks both ends. */
extern const struct conf_case *const __start_conf_cases[],
	*const __stop_conf_cases[];

#define for_each_case(k)                                            \
	for (const struct conf_case *const *k = __start_conf_cases; \
	     k < __stop_conf_cases; k++)

struct options {
	const char *name, *address, *pattern, *kind;
	int timeout_s, slots;
	DAT_CONN_QUAL qual; /* the first; TCP ports with some providers */
	const char *host;   /* of side a, where that is another process */
	bool list, adapter, serve;
};

/* One case to run. Lives in memory that is shared with the child. */
struct job {
	const struct conf_case *c;
	char note[NOTE_LEN]; /* the child's, and where one that hangs is */
	pid_t pid;
	uint64_t start_us, deadline_us, took_us;
	bool late, done;
	int status;
};

static char *note; /* in the child: its job's */

void conf_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	size_t used;
	va_list ap;

	snprintf(note, NOTE_LEN, "%s:%d: ", base ? base + 1 : file, line);
	used = strlen(note);
	va_start(ap, fmt);
	vsnprintf(note + used, NOTE_LEN - used, fmt, ap);
	va_end(ap);
	/* no destructors: threads of the provider may be in the way */
	_exit(EXIT_FAILURE);
}

void conf_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(note, NOTE_LEN, fmt, ap);
	va_end(ap);
	apart_end(EXIT_SKIP);
	_exit(EXIT_SKIP);
}

/* A refusal says why; to find nothing, or to be interrupted, is none. */
static void expect_reason(const char *file, int line, const char *call,
			  DAT_RETURN got)
{
	switch (DAT_GET_TYPE(got)) {
	case DAT_SUCCESS:
	case DAT_QUEUE_EMPTY:
	case DAT_TIMEOUT_EXPIRED:
	case DAT_INTERRUPTED_CALL:
	case DAT_ABORT: /* of another thread's wait */
		return;
	}
	if (!conf_gives_reason(got))
		conf_fail(file, line, "%.200s: 0x%08x gives no reason", call,
			  got);
}

void conf_expect_ret(const char *file, int line, const char *call,
		     DAT_RETURN got, DAT_RETURN type, int subtype)
{
	const char *major = "?", *minor = "?";

	if (DAT_GET_TYPE(got) == type &&
	    (subtype == ANY_SUBTYPE ||
	     DAT_GET_SUBTYPE(got) == (DAT_RETURN)subtype)) {
		expect_reason(file, line, call, got);
		return;
	}
	dat_strerror(got, &major, &minor);
	conf_fail(file, line, "%.200s: 0x%08x %s %s, expected type 0x%08x %d",
		  call, got, major, minor, type, subtype);
}

static _Noreturn void child(struct job *job, int slot,
			    const struct options *opt)
{
	struct conf c = {
		.name = opt->name,
		.address = opt->address,
		.qual = opt->qual + (DAT_CONN_QUAL)slot * SLOT_QUALS,
		.arg = job->c->arg,
	};

	note = job->note;
	dup2(STDERR_FILENO, STDOUT_FILENO); /* stdout is for TAP alone */
	if (!device_make(opt->kind))
		conf_fail(__FILE__, __LINE__, "no device of kind %s",
			  opt->kind ? opt->kind : "(none)");
	if (opt->host)
		apart_call(opt->host, job->c->name);
	apart_begin(&c);
	conf_init(&c, job->c->needs);
	job->c->run(&c);
	conf_fini(&c);
	apart_end(EXIT_SUCCESS);
	/* not _exit(): what runs then, a leak check too, belongs to the case */
	exit(EXIT_SUCCESS);
}

static bool start(struct job *job, int slot, const struct options *opt)
{
	sigset_t set;
	pid_t pid;

	fflush(stdout);
	job->start_us = conf_now_us();
	job->deadline_us = job->start_us + (uint64_t)opt->timeout_s * 1000000;
	pid = fork();
	if (pid == 0) {
		sigemptyset(&set);
		sigprocmask(SIG_SETMASK, &set, NULL);
		child(job, slot, opt);
	}
	job->pid = pid; /* not in the child: the memory is shared */
	if (pid > 0)
		return true;
	snprintf(job->note, NOTE_LEN, "fork: %s", strerror(errno));
	job->status = EXIT_FAILURE << 8;
	job->done = true;
	return false;
}

static void note_file(struct job *job, const char *before, const char *path)
{
	size_t used = strnlen(job->note, NOTE_LEN - 1);
	char text[28] = ""; /* of a system call: which, and of what */
	FILE *f = fopen(path, "r");

	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = 0;
	snprintf(job->note + used, NOTE_LEN - used, "%s%s", before, text);
}

/* Where in the kernel its threads are: one that hangs cannot say it. */
static void note_threads(struct job *job)
{
	char tasks[32], path[320];
	struct dirent *task;
	DIR *dir;

	snprintf(tasks, sizeof(tasks), "/proc/%d/task", job->pid);
	dir = opendir(tasks);
	while (dir && (task = readdir(dir))) {
		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/wchan", tasks,
			 task->d_name);
		note_file(job, job->note[0] ? "; a thread in " : "a thread in ",
			  path);
		snprintf(path, sizeof(path), "%s/%s/syscall", tasks,
			 task->d_name);
		note_file(job, ", system call ", path);
	}
	if (dir)
		closedir(dir);
}

/* True when the job has left its slot. */
static bool ended(struct job *job)
{
	uint64_t now_us = conf_now_us();

	job->took_us = now_us - job->start_us;
	if (waitpid(job->pid, &job->status, WNOHANG) != 0)
		return job->done = true;
	if (now_us < job->deadline_us)
		return false;
	if (job->late) /* stuck in the kernel */
		return job->done = true;
	note_threads(job);
	kill(job->pid, SIGKILL);
	job->late = true;
	job->deadline_us = now_us + GRACE_US;
	return false;
}

static void one_line(char *s)
{
	for (; *s; s++)
		if (*s == '\n' || *s == '#')
			*s = ' ';
}

static void explain(const struct job *job)
{
	if (job->note[0])
		printf("# %s\n", job->note);
	if (job->late)
		printf("# not finished in time, killed\n");
	else if (WIFSIGNALED(job->status))
		printf("# died of signal %d (%s)\n", WTERMSIG(job->status),
		       strsignal(WTERMSIG(job->status)));
	else
		printf("# exit code %d\n", WEXITSTATUS(job->status));
}

/* The line of a case that was run; true unless it failed. */
static bool report(int n, struct job *job)
{
	bool exited = !job->late && WIFEXITED(job->status);
	bool skip = exited && WEXITSTATUS(job->status) == EXIT_SKIP;
	bool ok = skip || (exited && WEXITSTATUS(job->status) == 0);

	one_line(job->note);
	printf("%s %d - %s (%s)", ok ? "ok" : "not ok", n, job->c->name,
	       job->c->clause);
	if (skip)
		printf(" # SKIP %s", job->note);
	putchar('\n');
	if (!ok)
		explain(job);
	if (job->took_us >= SLOW_US)
		printf("# took %.1f s\n", (double)job->took_us / 1e6);
	return ok;
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

static struct job *share_jobs(int n)
{
	void *jobs =
		mmap(NULL, (size_t)n * sizeof(struct job),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (jobs != MAP_FAILED)
		return jobs;
	perror("conform: mmap");
	return NULL;
}

static int run_all(struct job *jobs, int n, const struct options *opt)
{
	struct job *slots[MAX_SLOTS] = {NULL};
	int next = 0, shown = 0, bad = 0;

	while (shown < n) {
		for (int i = 0; i < opt->slots; i++) {
			if (slots[i] && ended(slots[i]))
				slots[i] = NULL;
			if (!slots[i] && next < n &&
			    start(&jobs[next++], i, opt))
				slots[i] = &jobs[next - 1];
		}
		for (; shown < n && jobs[shown].done; shown++)
			bad += !report(shown + 1, &jobs[shown]);
		if (shown < n)
			wait_for_child();
	}
	printf("1..%d\n", n);
	return bad ? 1 : 0;
}

/* -1: it did not exit, or not in time. */
static int exit_code(const struct job *job)
{
	return job->late || !WIFEXITED(job->status) ? -1
						    : WEXITSTATUS(job->status);
}

/* Side a's: whatever case is begun by side b, until somebody ends us. */
static int serve(const struct options *opt)
{
	char name[APART_NAME];
	struct job *job = share_jobs(1);
	int n = 0;

	while (job && apart_serve(name)) {
		memset(job, 0, sizeof(*job));
		for_each_case(k) if (!strcmp((*k)->name, name)) job->c = *k;
		if (!job->c) {
			apart_leave();
			apart_verdict(-1, "no case has this name");
			continue;
		}
		if (start(job, 0, opt)) {
			apart_leave();
			while (!ended(job))
				wait_for_child();
		}
		apart_leave();
		apart_verdict(exit_code(job),
			      job->note[0] ? job->note : "crashed, or no end");
		report(++n, job);
		fflush(stdout);
	}
	return 1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct job *)a)->c->name,
		      ((const struct job *)b)->c->name);
}

/* Fills jobs, if there are any; the number of cases that match. */
static int pick(struct job *jobs, const char *pattern)
{
	int n = 0;

	for_each_case(k)
	{
		if (fnmatch(pattern, (*k)->name, FNM_EXTMATCH) != 0)
			continue;
		/* Bad arguments need nobody else. */
		if (apart_is() &&
		    ((*k)->refusal || ((*k)->needs & NEED_BOTH) != NEED_BOTH))
			continue;
		if (jobs)
			jobs[n].c = *k;
		n++;
	}
	if (jobs)
		qsort(jobs, (size_t)n, sizeof(*jobs), by_name);
	return n;
}

static void print_refusals(void)
{
	for_each_case(k) if ((*k)->refusal) puts((*k)->refusal);
}

/* What consumers learn of the adapter. Without a case: a failure is the end. */
static int print_adapter(const struct options *opt)
{
	static char text[NOTE_LEN];
	struct conf c = {.name = opt->name, .address = opt->address};
	const DAT_IA_ATTR *a = &c.ia_attr;

	note = text;
	if (!device_make(opt->kind))
		return 2;
	conf_init(&c, NEED_IA);
	printf("%d %d %d %d %d %d %s %s\n", a->max_iov_segments_per_dto,
	       a->max_iov_segments_per_rdma_read, a->max_dto_per_ep,
	       a->max_rdma_read_per_ep_in, a->max_rdma_read_per_ep_out,
	       a->max_evd_qlen, a->max_rmrs ? "yes" : "no",
	       c.prov_attr.srq_supported ? "yes" : "no");
	conf_fini(&c);
	return 0;
}

static _Noreturn void usage(FILE *to, int code)
{
	fprintf(to,
		"usage: conform -P NAME [-a ADDRESS] [-f PATTERN] "
		"[-k KIND] [-t SECONDS] [-j N] [-l]\n"
		"  -P NAME           adapter, a name in dat.conf\n"
		"  -a ADDRESS        to connect to, if not the adapter's\n"
		"  -f PATTERN        only cases that match\n"
		"  -k KIND           fake device: a row of fake_kinds.c\n"
		"  -t, --timeout N   seconds for a case, default 60\n"
		"  -j N              so many cases side by side\n"
		"  -l                list the cases\n"
		"  --adapter         what it takes, for doc/devices.md\n"
		"  --arguments       list the codes of bad arguments\n"
		"conform_apart has one side only, and cases that have two:\n"
		"  --serve           be side a of each case that is begun\n"
		"  -H HOST           be side b, with side a served there\n");
	exit(code);
}

static bool make_sense(const struct options *opt)
{
	bool sides = opt->host || opt->serve;

	if (opt->timeout_s < 1 || opt->slots < 1 || opt->slots > MAX_SLOTS)
		return false;
	if (opt->list)
		return true;
	return opt->name && sides == apart_is() && !(sides && opt->slots > 1);
}

static struct options parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{"timeout", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{"arguments", no_argument, NULL, 'A'},
		{"adapter", no_argument, NULL, 'I'},
		{"serve", no_argument, NULL, 'S'},
		{0},
	};
	struct options opt = {
		.pattern = "*",
		.timeout_s = 60,
		.slots = 1,
	};
	int o;

	while ((o = getopt_long(argc, argv, "P:a:f:k:t:j:H:lh", longs, NULL)) !=
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
		case 'j':
			opt.slots = atoi(optarg);
			break;
		case 'l':
			opt.list = true;
			break;
		case 'I':
			opt.adapter = true;
			break;
		case 'H':
			opt.host = optarg;
			break;
		case 'S':
			opt.serve = true;
			break;
		case 'A':
			print_refusals();
			exit(0);
		case 'h':
			usage(stdout, 0);
		default:
			usage(stderr, 2);
		}
	}
	if (optind != argc || !make_sense(&opt))
		usage(stderr, 2);
	return opt;
}

int main(int argc, char **argv)
{
	struct options opt = parse(argc, argv);
	int n = pick(NULL, opt.pattern);
	struct job *jobs;
	sigset_t set;

	if (opt.adapter)
		return print_adapter(&opt);
	if (!n) {
		fprintf(stderr, "conform: no case matches %s\n", opt.pattern);
		return 2;
	}
	jobs = share_jobs(n);
	if (!jobs)
		return 2;
	pick(jobs, opt.pattern);
	if (opt.list) {
		for (int i = 0; i < n; i++)
			printf("%s (%s)\n", jobs[i].c->name, jobs[i].c->clause);
		return 0;
	}
	/* sigtimedwait() wants it blocked */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	opt.qual = ports_own();
	return opt.serve ? serve(&opt) : run_all(jobs, n, &opt);
}
