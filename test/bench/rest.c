/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rest.c - what an adapter costs that does nothing: heap, and wake-ups.
 *
 * One process connects endpoints of one adapter with one another; heap.h tells
 * what the library has asked for. Queues are not heap: devices map them.
 * All of it ends with the process: the historic CMA does not come back from
 * freeing that many connected endpoints.
 * A wake-up is a switch to a thread of the process, the sleeping main one left
 * out.
 *
 * Output: two JSON objects on standard output.
 */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/heap.h"
#include "test/device.h"

#define QUAL	 25500
#define DTOS	 16
#define MAX_TASK 64

/* ----------------------------------------------------------- wake-ups */

static long switches_of(const char *task)
{
	char path[64], line[128];
	long n, sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", task);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1)
			sum += n;
	if (f)
		fclose(f);
	return sum;
}

/* Of all threads but this one, which is the process's first. */
static long switches(int *ret_threads)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;
	long sum = 0;

	*ret_threads = 0;
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && atoi(d->d_name) != getpid()) {
			sum += switches_of(d->d_name);
			++*ret_threads;
		}
	if (dir)
		closedir(dir);
	return sum;
}

/* ---------------------------------------------------------------- main */

struct options {
	const char *ia, *kind;
	int pairs, seconds, limit_s;
};

static void pair_connect(const struct bench_ia *a, DAT_EP_HANDLE from,
			 DAT_EP_HANDLE to)
{
	DAT_EVENT ev;

	bench_connect(from, a->addr.b, QUAL);
	bench_event(a->cr, DAT_CONNECTION_REQUEST_EVENT, &ev);
	bench_accept(&ev, to);
	for (int i = 0; i < 2; i++)
		bench_event(a->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
}

static void rest(const struct options *o)
{
	struct timespec ts = {.tv_sec = o->seconds};
	int threads, more;
	long before, n;

	before = switches(&threads);
	nanosleep(&ts, NULL);
	n = switches(&more) - before;
	printf("{\"test\":\"idle\",\"connections\":%d,\"seconds\":%d,"
	       "\"threads\":%d,\"wakeups_per_s\":%.2f}\n",
	       o->pairs, o->seconds, threads, (double)n / o->seconds);
	fflush(stdout);
}

static void eps_make(const struct bench_ia *a, DAT_EVD_HANDLE dto,
		     DAT_EP_HANDLE *ep, int n)
{
	for (int i = 0; i < n; i++)
		ep[i] = bench_ep(a, dto, dto, DTOS, DTOS, 4096);
}

static void run(const struct options *o)
{
	int n = 2 * o->pairs;
	DAT_EP_HANDLE *ep = calloc((size_t)n, sizeof(*ep)), first[2];
	double opened, alone, once, before, made, up, below;
	DAT_EVD_HANDLE dto;
	struct bench_ia a;

	if (!ep)
		bench_die("no memory");
	opened = heap_now().ours;
	bench_ia_open(&a, o->ia, 8);
	opened = heap_now().ours - opened;
	dto = bench_dto_evd(&a, n * 2 * DTOS);
	bench_listen(&a, QUAL);
	alone = heap_now().ours;
	/* What the first connection brings along is the adapter's. */
	eps_make(&a, dto, first, 2);
	pair_connect(&a, first[0], first[1]);
	once = heap_now().ours;
	/* The EVD keeps the room that it got for as many completions. */
	dat_ep_free(bench_ep(&a, dto, dto, n * DTOS, n * DTOS, 4096));
	before = heap_now().ours;
	below = heap_now().below;
	eps_make(&a, dto, ep, n);
	made = heap_now().ours;
	for (int i = 0; i < n; i += 2)
		pair_connect(&a, ep[i], ep[i + 1]);
	up = heap_now().ours;
	below = heap_now().below - below;
	printf("{\"test\":\"memory\",\"endpoints\":%d,\"adapter_bytes\":%.0f,"
	       "\"first_connection_bytes\":%.0f,\"event_room_bytes\":%.0f,"
	       "\"endpoint_bytes\":%.0f,\"connected_bytes\":%.0f,"
	       "\"verbs_bytes\":%.0f}\n",
	       n, opened, once - alone, (before - once) / n,
	       (made - before) / n, (up - before) / n, below / n);
	fflush(stdout);
	if (o->seconds)
		rest(o);
}

static void usage(FILE *f)
{
	fputs("usage: rest -P IA [-n PAIRS] [-i SECONDS] [-l SECONDS]\n"
	      "\n"
	      "Connects PAIRS (100) of endpoints of one adapter with one "
	      "another;\n"
	      "prints as JSON the heap that they and the adapter take, and "
	      "how often\n"
	      "its threads wake up meanwhile.\n"
	      "  -P  name of the adapter in dat.conf\n"
	      "  -i  how long wake-ups are counted (10; 0: not)\n"
	      "  -l  limit of all (60)\n"
	      "  -k  a fake device of that kind\n",
	      f);
}

int main(int argc, char **argv)
{
	struct options o = {.pairs = 100, .seconds = 10, .limit_s = 60};
	int c;

	bench_name("rest");
	while ((c = getopt(argc, argv, "P:n:i:l:k:h")) != -1)
		switch (c) {
		case 'P':
			o.ia = optarg;
			break;
		case 'n':
			o.pairs = bench_number(optarg, 1, 1000);
			break;
		case 'i':
			o.seconds = bench_number(optarg, 0, 3600);
			break;
		case 'l':
			o.limit_s = bench_number(optarg, 1, 3600);
			break;
		case 'k':
			o.kind = optarg;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	if (!o.ia || optind < argc) {
		usage(stderr);
		return 2;
	}
	if (!heap_known()) {
		fputs("rest: a sanitizer has the allocator\n", stderr);
		return 77;
	}
	if (!device_make(o.kind))
		bench_die("no device of that kind");
	bench_alarm((unsigned int)o.limit_s);
	run(&o);
	return 0;
}
