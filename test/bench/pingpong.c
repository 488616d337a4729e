/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pingpong.c - latency and rate of one connection, by DAT or by verbs alone in
 * the same loops: a DAT row over the verbs row beside it is what the layer
 * costs.
 *
 * Two sides of its own, each a process (or, with -T, a thread, for a device
 * that is one process's). One JSON object on standard output for each size.
 * Data are not looked at, but for the last byte of what is written.
 *
 * latency: half a round trip. send: a side sleeps or polls for the message,
 * then answers; the completion of its own request is taken when the next
 * message has come, when it is there without a sleep. So each side sleeps once
 * a round. write: both watch memory. rate: the client keeps a window of
 * requests under way. A receiver of sends tells with a message of its own when
 * it has taken a window's worth, so that no send meets an empty queue.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/pingpong.h"
#include "test/device.h"

#define SIZES_MAX 32
#define BYTES_MAX (1 << 30)
#define WARM	  16
#define RECVS	  4 /* of who gets an answer only, or a word about sends */

enum test {
	SEND_LAT,
	WRITE_LAT,
	SEND_RATE,
	WRITE_RATE,
	TESTS
};

static const struct {
	const char *word, *op;
	enum pp_post post;
	bool rate;
} tests[TESTS] = {
	[SEND_LAT] = {"send_lat", "send", PP_SEND, false},
	[WRITE_LAT] = {"write_lat", "write", PP_WRITE, false},
	[SEND_RATE] = {"send_rate", "send", PP_SEND, true},
	[WRITE_RATE] = {"write_rate", "write", PP_WRITE, true},
};

struct options {
	const char *ia, *device, *kind;
	enum test test;
	int iters, window, limit_s;
	int64_t bytes; /* each way and size, at most */
	bool wait, threads, calls;
	int sizes[SIZES_MAX], n_sizes;
};

struct side {
	const struct options *o;
	const struct pp_ops *ops;
	struct pp_end *e;
	struct pp_cfg cfg;
	int counter;	   /* of system calls, or -1 */
	double post_calls; /* of them, in a post; < 0: not counted */
};

struct result {
	int iters;
	double *us;	      /* of each round; of a rate: one, of all */
	double calls, sleeps; /* a round; calls < 0: not counted */
};

/* ------------------------------------------------------- system calls */

/* Of this thread, and of those that it will make. */
static int counter_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.disabled = 1,
		.inherit = 1,
	};
	FILE *f = fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
			"r");
	unsigned long long id = 0;
	int n = f ? fscanf(f, "%llu", &id) : 0;

	if (f)
		fclose(f);
	attr.config = id;
	return n == 1 ? (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0)
		      : -1;
}

static void counter_start(const struct side *s)
{
	if (s->counter >= 0) {
		ioctl(s->counter, PERF_EVENT_IOC_RESET, 0);
		ioctl(s->counter, PERF_EVENT_IOC_ENABLE, 0);
	}
}

/* The last call that it counts is the one that stops it. */
static double counter_stop(const struct side *s)
{
	uint64_t n = 0;

	if (s->counter < 0)
		return -1;
	ioctl(s->counter, PERF_EVENT_IOC_DISABLE, 0);
	if (read(s->counter, &n, sizeof(n)) != sizeof(n) || n < 1)
		return -1;
	return (double)(n - 1);
}

static long sleeps(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return ru.ru_nvcsw;
}

/* ------------------------------------------------------------- latency */

static void send_round(struct side *s, uint32_t bytes, bool first)
{
	if (s->cfg.active) {
		s->ops->post(s->e, PP_SEND, bytes);
		s->ops->reap(s->e, PP_RCV);
		s->ops->post_recv(s->e);
		s->ops->reap(s->e, PP_REQ);
		return;
	}
	s->ops->reap(s->e, PP_RCV);
	s->ops->post_recv(s->e);
	if (!first)
		s->ops->reap(s->e, PP_REQ);
	s->ops->post(s->e, PP_SEND, bytes);
}

static void watch(const struct side *s, uint32_t bytes, uint8_t mark)
{
	const volatile uint8_t *last = s->e->in + bytes - 1;

	while (*last != mark)
		if (s->cfg.yield)
			sched_yield();
}

static void write_round(struct side *s, uint32_t bytes, uint8_t mark)
{
	if (!s->cfg.active)
		watch(s, bytes, mark);
	s->e->out[bytes - 1] = mark;
	s->ops->post(s->e, PP_WRITE, bytes);
	if (s->cfg.active)
		watch(s, bytes, mark);
	s->ops->reap(s->e, PP_REQ);
}

static void latency(struct side *s, uint32_t bytes, struct result *ret_r)
{
	int warm = ret_r->iters < WARM ? ret_r->iters : WARM;
	bool sends = s->o->test == SEND_LAT;
	long before = 0;

	memset(s->e->in, 0, bytes);
	bench_meet(s->cfg.peer);
	for (int i = -warm; i < ret_r->iters; i++) {
		int64_t begin;

		if (i == 0) {
			before = sleeps();
			counter_start(s);
		}
		begin = bench_now_ns();
		if (sends)
			send_round(s, bytes, i == -warm);
		else /* not 0, which is there before the first one */
			write_round(s, bytes, (uint8_t)((i + warm) % 255 + 1));
		if (i >= 0)
			ret_r->us[i] = (double)(bench_now_ns() - begin) / 2e3;
	}
	ret_r->calls = counter_stop(s);
	ret_r->sleeps = (double)(sleeps() - before);
	if (sends && !s->cfg.active)
		s->ops->reap(s->e, PP_REQ);
	bench_meet(s->cfg.peer);
}

/* ---------------------------------------------------------------- rate */

static void rate_client(struct side *s, uint32_t bytes, int n)
{
	int window = s->o->window, posted = 0, words = 0;
	enum pp_post what = tests[s->o->test].post;
	bool sends = what == PP_SEND;

	for (int done = 0; done < n; done++) {
		while (posted < n && posted - done < window) {
			if (sends && posted == (words + 2) * window) {
				s->ops->reap(s->e, PP_RCV);
				s->ops->post_recv(s->e);
				words++;
			}
			s->ops->post(s->e, what, bytes);
			posted++;
		}
		s->ops->reap(s->e, PP_REQ);
	}
	for (; sends && words < n / window; words++) {
		s->ops->reap(s->e, PP_RCV);
		s->ops->post_recv(s->e);
	}
}

static void rate_server(struct side *s, int n)
{
	for (int i = 1; i <= n; i++) {
		s->ops->reap(s->e, PP_RCV);
		s->ops->post_recv(s->e);
		if (i % s->o->window)
			continue;
		s->ops->post(s->e, PP_SEND, 1);
		s->ops->reap(s->e, PP_REQ);
	}
}

static void rate(struct side *s, uint32_t bytes, struct result *ret_r)
{
	long before = sleeps();
	int64_t begin;

	bench_meet(s->cfg.peer);
	counter_start(s);
	begin = bench_now_ns();
	if (s->cfg.active)
		rate_client(s, bytes, ret_r->iters);
	else if (s->o->test == SEND_RATE)
		rate_server(s, ret_r->iters);
	ret_r->us[0] = (double)(bench_now_ns() - begin) / 1e3;
	ret_r->calls = counter_stop(s);
	ret_r->sleeps = (double)(sleeps() - before);
	bench_meet(s->cfg.peer);
}

/* -------------------------------------------------------------- a side */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report(const struct side *s, int bytes, struct result *r)
{
	const struct options *o = s->o;
	double n = r->iters, us = r->us[0];

	printf("{\"test\":\"%s\",\"op\":\"%s\",\"mode\":\"%s\",\"bytes\":%d,"
	       "\"iterations\":%d",
	       tests[o->test].rate ? "bandwidth" : "latency", tests[o->test].op,
	       o->wait ? "wait" : "poll", bytes, r->iters);
	if (tests[o->test].rate) {
		printf(",\"window\":%d,\"msgs_per_s\":%.0f,\"MB_per_s\":%.3f",
		       o->window, n / us * 1e6, n * bytes / us);
	} else {
		qsort(r->us, (size_t)r->iters, sizeof(*r->us), by_value);
		printf(",\"min_us\":%.3f,\"median_us\":%.3f,\"p99_us\":%.3f",
		       r->us[0], r->us[(r->iters - 1) / 2],
		       r->us[(r->iters - 1) * 99LL / 100]);
	}
	if (r->calls >= 0)
		printf(",\"calls\":%.3f,\"post_calls\":%.3f", r->calls / n,
		       s->post_calls);
	printf(",\"sleeps\":%.3f}\n", r->sleeps / n);
	fflush(stdout);
}

static int rounds(const struct options *o, int bytes)
{
	int64_t fit = o->bytes / bytes;

	if (!fit)
		fit = 1;
	return fit < o->iters ? (int)fit : o->iters;
}

/* How many system calls of a round are those of posting. */
static void count_posts(struct side *s)
{
	enum {
		POSTS = 4
	};

	counter_start(s);
	for (int i = 0; i < POSTS; i++)
		s->ops->post(s->e, PP_WRITE, 1);
	s->post_calls = counter_stop(s) / POSTS;
	for (int i = 0; i < POSTS; i++)
		s->ops->reap(s->e, PP_REQ);
	bench_meet(s->cfg.peer);
}

static void side_run(struct side *s)
{
	const struct options *o = s->o;
	struct result r = {0};

	s->counter = o->calls ? counter_open() : -1;
	s->e = s->ops->open(&s->cfg);
	for (int i = 0; i < s->cfg.recvs; i++)
		s->ops->post_recv(s->e);
	s->ops->connect(s->e);
	count_posts(s);
	for (int i = 0; i < o->n_sizes; i++) {
		r.iters = rounds(o, o->sizes[i]);
		r.us = calloc((size_t)r.iters, sizeof(*r.us));
		if (!r.us)
			bench_die("no memory");
		if (tests[o->test].rate)
			rate(s, (uint32_t)o->sizes[i], &r);
		else
			latency(s, (uint32_t)o->sizes[i], &r);
		if (s->cfg.active)
			report(s, o->sizes[i], &r);
		free(r.us);
	}
	s->ops->close(s->e);
	if (s->counter >= 0)
		close(s->counter);
}

static void side_init(struct side *ret_s, const struct options *o, int peer,
		      bool active)
{
	bool alone = sysconf(_SC_NPROCESSORS_ONLN) == 1;
	int page = 4096, most = 0;

	for (int i = 0; i < o->n_sizes; i++)
		if (o->sizes[i] > most)
			most = o->sizes[i];
	*ret_s = (struct side){
		.o = o,
		.ops = o->ia ? &pp_dat : &pp_verbs,
		.cfg = {.name = o->ia ? o->ia : o->device,
			.peer = peer,
			.active = active,
			.wait = o->wait,
			.yield = !o->wait && (alone || o->threads),
			.recvs = RECVS,
			.requests = RECVS,
			.half = (uint32_t)((most + page - 1) / page * page)},
	};
	if (!tests[o->test].rate)
		return;
	if (active && o->window > RECVS)
		ret_s->cfg.requests = o->window;
	if (!active)
		ret_s->cfg.recvs = 2 * o->window;
}

/* Each on a processor of its own, where there are two. */
static void pin(bool active)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(active ? 0 : 1, &set);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		sched_setaffinity(0, sizeof(set), &set);
}

static void *side_thread(void *arg)
{
	side_run(arg);
	return NULL;
}

static int run_threads(struct side *client, struct side *server)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, side_thread, server))
		bench_die("no thread");
	side_run(client);
	pthread_join(thread, NULL);
	return 0;
}

static int run_processes(struct side *client, struct side *server)
{
	pid_t child = fork();
	int status = 1;

	if (child < 0)
		bench_die("fork: %s", strerror(errno));
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The other end's is closed, or its end would not be seen. */
		close(client->cfg.peer);
		bench_alarm((unsigned int)server->o->limit_s);
		pin(false);
		side_run(server);
		_exit(0);
	}
	close(server->cfg.peer);
	pin(true);
	side_run(client);
	waitpid(child, &status, 0);
	return status ? 1 : 0;
}

/* ---------------------------------------------------------------- main */

static void usage(FILE *f)
{
	fputs("usage: pingpong -P IA|-V DEVICE -t TEST [option...]\n"
	      "\n"
	      "Measures one connection between two processes of its own; prints "
	      "JSON.\n"
	      "  -P  name of the adapter in dat.conf\n"
	      "  -V  verbs alone, on that device\n"
	      "  -t  send_lat, write_lat, send_rate or write_rate\n"
	      "  -w  sleep for completions, in place of polling\n"
	      "  -s  sizes: N,N,... (8)\n"
	      "  -n  rounds, or messages (1000)\n"
	      "  -b  of a size, no more than so many bytes (67108864),\n      but one message\n"
	      "  -q  messages under way at once, of a rate (16)\n"
	      "  -c  count system calls\n"
	      "  -l  limit of all, in seconds (60)\n"
	      "  -T  two threads, in place of processes\n"
	      "  -k  a fake device of that kind\n",
	      f);
}

static void sizes_parse(char *text, struct options *ret_o)
{
	char *rest = NULL;

	ret_o->n_sizes = 0;
	for (char *t = strtok_r(text, ",", &rest); t;
	     t = strtok_r(NULL, ",", &rest)) {
		if (ret_o->n_sizes == SIZES_MAX) {
			fputs("pingpong: too many sizes\n", stderr);
			exit(2);
		}
		ret_o->sizes[ret_o->n_sizes++] =
			bench_number(t, 1, BYTES_MAX / 2);
	}
}

static enum test test_parse(const char *word)
{
	int t = 0;

	while (t < TESTS && strcmp(tests[t].word, word))
		t++;
	if (t == TESTS) {
		fprintf(stderr, "pingpong: no test '%s'\n", word);
		exit(2);
	}
	return (enum test)t;
}

static void option_parse(int c, char *value, struct options *ret_o)
{
	switch (c) {
	case 'P':
		ret_o->ia = value;
		return;
	case 'V':
		ret_o->device = value;
		return;
	case 't':
		ret_o->test = test_parse(value);
		return;
	case 'w':
		ret_o->wait = true;
		return;
	case 's':
		sizes_parse(value, ret_o);
		return;
	case 'n':
		ret_o->iters = bench_number(value, 1, 100000000);
		return;
	case 'b':
		ret_o->bytes = bench_number(value, 1, BYTES_MAX);
		return;
	case 'q':
		ret_o->window = bench_number(value, 1, 1024);
		return;
	case 'c':
		ret_o->calls = true;
		return;
	case 'l':
		ret_o->limit_s = bench_number(value, 1, 3600);
		return;
	case 'T':
		ret_o->threads = true;
		return;
	case 'k':
		ret_o->kind = value;
		return;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct options o = {
		.test = TESTS,
		.iters = 1000,
		.window = 16,
		.limit_s = 60,
		.bytes = 64 << 20,
		.sizes = {8},
		.n_sizes = 1,
	};
	struct side client, server;
	int pair[2], c;

	bench_name("pingpong");
	while ((c = getopt(argc, argv, "P:V:t:ws:n:b:q:cl:Tk:h")) != -1)
		option_parse(c, optarg, &o);
	if (!o.ia == !o.device || o.test == TESTS || !o.n_sizes ||
	    optind < argc || (o.wait && o.test == WRITE_LAT)) {
		usage(stderr);
		return 2;
	}
	if (!device_make(o.kind))
		bench_die("no device of that kind");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		bench_die("socketpair: %s", strerror(errno));
	bench_alarm((unsigned int)o.limit_s);
	side_init(&client, &o, pair[0], true);
	side_init(&server, &o, pair[1], false);
	return o.threads ? run_threads(&client, &server)
			 : run_processes(&client, &server);
}

void pp_memory(struct pp_end *e, const struct pp_cfg *cfg)
{
	size_t size = 2 * (size_t)cfg->half;
	void *p = NULL;

	if (posix_memalign(&p, 4096, size))
		bench_die("no memory");
	memset(p, 0, size);
	e->cfg = cfg;
	e->in = p;
	e->out = e->in + cfg->half;
}
