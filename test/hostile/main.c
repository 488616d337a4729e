/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main.c - a server on a hostile network: phases without and with an attack
 * take turns, while an honest client connects, transfers, compares and
 * disconnects, over and over.
 *
 * Fails if an honest connection does not come up, brings other bytes or ends by
 * itself, if the process keeps more memory or descriptors than it may, or if an
 * attacker got nothing out. How long a connect takes is printed and not judged:
 * both medians are of one run, and their ratio is what can be compared.
 * Attackers run at the lowest priority, or it would tell who gets a processor.
 */
#include <dirent.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/bench/heap.h"
#include "test/device.h"
#include "test/hostile/hostile.h"

#define ATTACKERS_MAX 16
#define SAMPLES_MAX   200000
#define LIMIT_S	      120 /* besides the phases */
#define CLOSE_MS      30000

/*
 * What strangers may make the libraries keep (doc/cm-protocol.md): 2 KiB each
 * for 16,384 requests that wait and 16,384 connections in time-wait.
 */
#define HEAP_BOUND (64l << 20)

struct options {
	const char *ia, *kind, *device;
	bool scm, aside;
	int attackers, held, good_in, rounds, seconds, seed;
	DAT_CONN_QUAL qual;
};

struct reading {
	long rss, heap;
	int fds;
};

struct samples {
	int64_t ns[SAMPLES_MAX];
	int n;
};

static struct {
	struct options o;
	struct server server;
	struct bench_ia ia;
	DAT_EVD_HANDLE dto;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	struct {
		uint8_t sent[BYTES], received[BYTES];
	} buf;
	uint32_t number;
	struct samples quiet, attack;
	struct attacker *attackers;
	pthread_t threads[ATTACKERS_MAX];
	pthread_mutex_t lock;
	pthread_cond_t turn;
	bool attacking, ended; /* lock */
	atomic_bool pause;
	int paused; /* lock */
	double attack_s;
} h = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.turn = PTHREAD_COND_INITIALIZER,
};

/* ---------------------------------------------------------------- readings */

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 3; /* itself, and two that are no descriptors */
}

static struct reading take_reading(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	struct reading r = {.heap = (long)heap_now().ours};

	if (f && fscanf(f, "%*d %ld", &r.rss) == 1)
		r.rss *= sysconf(_SC_PAGESIZE);
	if (f)
		fclose(f);
	r.fds = descriptors();
	return r;
}

static void larger(struct reading *r, struct reading now)
{
	if (now.rss > r->rss)
		r->rss = now.rss;
	if (now.heap > r->heap)
		r->heap = now.heap;
	if (now.fds > r->fds)
		r->fds = now.fds;
}

/* ------------------------------------------------------------------ client */

static void client_open(void)
{
	DAT_REGION_DESCRIPTION region = {.for_va = &h.buf};
	DAT_RMR_CONTEXT rmr;
	DAT_VLEN size;
	DAT_VADDR address;

	bench_ia_open(&h.ia, h.o.ia, 8);
	h.dto = bench_dto_evd(&h.ia, 8);
	bench_need(dat_lmr_create(h.ia.ia, DAT_MEM_TYPE_VIRTUAL, region,
				  sizeof(h.buf), h.ia.pz,
				  DAT_MEM_PRIV_LOCAL_READ_FLAG |
					  DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				  DAT_VA_TYPE_VA, &h.lmr, &h.context, &rmr,
				  &size, &address),
		   "dat_lmr_create");
}

static DAT_LMR_TRIPLET triplet(const void *p)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)p,
		.segment_length = BYTES,
		.lmr_context = h.context,
	};
}

static int64_t connect_ns(DAT_EP_HANDLE ep)
{
	uint8_t pdata[PDATA];
	int64_t begin;
	DAT_EVENT ev;

	memcpy(pdata, HONEST, WHO);
	pdata[WHO] = (uint8_t)h.number;
	pdata[WHO + 1] = (uint8_t)(h.number >> 8);
	begin = bench_now_ns();
	bench_need(dat_ep_connect(ep, &h.server.ia.addr.sa, h.o.qual,
				  PATIENCE_US, PDATA, pdata,
				  DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	bench_event(h.ia.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
	return bench_now_ns() - begin;
}

static void completes(const char *what)
{
	DAT_EVENT ev;

	bench_event(h.dto, DAT_DTO_COMPLETION_EVENT, &ev);
	if (ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		bench_die("%s fails", what);
}

static void transfer(DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET iov = triplet(h.buf.sent);
	DAT_DTO_COOKIE cookie = {.as_64 = 0};

	for (int i = 0; i < BYTES; i++)
		h.buf.sent[i] = (uint8_t)(h.number * 31 + (uint32_t)i);
	bench_need(dat_ep_post_send(ep, 1, &iov, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
	completes("a send or receive");
	completes("a send or receive");
	if (memcmp(h.buf.sent, h.buf.received, BYTES) != 0)
		bench_die("connection %u brings other bytes",
			  (unsigned int)h.number);
}

static int64_t one_connection(void)
{
	DAT_EP_HANDLE ep = bench_ep(&h.ia, h.dto, h.dto, 2, 2, BYTES);
	DAT_LMR_TRIPLET iov = triplet(h.buf.received);
	DAT_DTO_COOKIE cookie = {.as_64 = 0};
	DAT_EVENT ev;
	int64_t ns;

	h.number++;
	memset(h.buf.received, 0, BYTES);
	bench_need(dat_ep_post_recv(ep, 1, &iov, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
	ns = connect_ns(ep);
	transfer(ep);
	bench_need(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG),
		   "dat_ep_disconnect");
	bench_event(h.ia.conn, DAT_CONNECTION_EVENT_DISCONNECTED, &ev);
	bench_need(dat_ep_free(ep), "dat_ep_free");
	return ns;
}

/* --------------------------------------------------------------- attackers */

static void *attack(void *arg)
{
	struct attacker *a = arg;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	pthread_mutex_lock(&h.lock);
	for (;;) {
		while (!h.attacking && !h.ended)
			pthread_cond_wait(&h.turn, &h.lock);
		if (h.ended)
			break;
		h.paused--;
		pthread_cond_broadcast(&h.turn);
		pthread_mutex_unlock(&h.lock);
		while (!h.pause)
			attacker_step(a);
		attacker_pause(a);
		pthread_mutex_lock(&h.lock);
		h.paused++;
		pthread_cond_broadcast(&h.turn);
		while (h.pause && !h.ended)
			pthread_cond_wait(&h.turn, &h.lock);
	}
	pthread_mutex_unlock(&h.lock);
	return NULL;
}

static void attackers_open(void)
{
	h.attackers = calloc((size_t)h.o.attackers, sizeof(*h.attackers));
	if (!h.attackers)
		bench_die("no memory");
	for (int i = 0; i < h.o.attackers; i++) {
		struct attacker *a = &h.attackers[i];

		a->scm = h.o.scm;
		a->aside = h.o.aside;
		a->good_in = (unsigned)h.o.good_in;
		a->number = (unsigned)i;
		a->held_max = (unsigned)(h.o.held / h.o.attackers);
		a->seed = (uint64_t)h.o.seed << 8;
		memcpy(a->server.b, h.server.ia.addr.b, ADDR_SIZE);
		memcpy(a->client.b, h.ia.addr.b, ADDR_SIZE);
		a->port = (uint16_t)(h.o.qual + (a->scm ? 1000 : 0));
		attacker_open(a, h.o.device, a->scm ? NULL : a->server.b + 8);
		if (pthread_create(&h.threads[i], NULL, attack, a))
			bench_die("no thread");
	}
	h.paused = h.o.attackers;
}

static void attackers_go(void)
{
	pthread_mutex_lock(&h.lock);
	h.pause = false;
	h.attacking = true;
	pthread_cond_broadcast(&h.turn);
	while (h.paused)
		pthread_cond_wait(&h.turn, &h.lock);
	pthread_mutex_unlock(&h.lock);
}

static void attackers_pause(void)
{
	pthread_mutex_lock(&h.lock);
	h.attacking = false;
	h.pause = true;
	while (h.paused < h.o.attackers)
		pthread_cond_wait(&h.turn, &h.lock);
	pthread_mutex_unlock(&h.lock);
}

static void attackers_end(void)
{
	pthread_mutex_lock(&h.lock);
	h.ended = true;
	pthread_cond_broadcast(&h.turn);
	pthread_mutex_unlock(&h.lock);
	for (int i = 0; i < h.o.attackers; i++)
		pthread_join(h.threads[i], NULL);
}

static uint64_t sent_of(int kind)
{
	uint64_t sum = 0;

	for (int i = 0; i < h.o.attackers; i++)
		sum += h.attackers[i].sent[kind];
	return sum;
}

/* ------------------------------------------------------------------ phases */

static void phase(struct samples *s)
{
	int64_t begin = bench_now_ns();
	int64_t end = begin + h.o.seconds * INT64_C(1000000000);

	/* What the phase before has left is none of this one's. */
	one_connection();
	do {
		int64_t ns = one_connection();

		if (s->n < SAMPLES_MAX)
			s->ns[s->n++] = ns;
	} while (bench_now_ns() < end);
	if (s == &h.attack)
		h.attack_s += (double)(bench_now_ns() - begin) / 1e9;
}

static int by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double us_of(struct samples *s, int percent)
{
	qsort(s->ns, (size_t)s->n, sizeof(*s->ns), by_value);
	return (double)s->ns[(int64_t)(s->n - 1) * percent / 100] / 1e3;
}

static void print_reading(const char *when, struct reading r)
{
	printf("# %s: RSS %ld KiB, heap of the libraries %ld KiB, %d descriptors\n",
	       when, r.rss >> 10, r.heap >> 10, r.fds);
}

static void print_latency(const char *when, struct samples *s)
{
	double sum = 0;

	for (int i = 0; i < s->n; i++)
		sum += (double)s->ns[i] / 1e3;
	printf("# %s: %d connections, connect median %.0f us, mean %.0f us, "
	       "90 %% %.0f us, 99 %% %.0f us, most %.0f us\n",
	       when, s->n, us_of(s, 50), sum / s->n, us_of(s, 90), us_of(s, 99),
	       us_of(s, 100));
}

static void print_attack(uint64_t sum)
{
	printf("# sent %llu, %.0f a second:", (unsigned long long)sum,
	       (double)sum / h.attack_s);
	for (int i = 0; i < ATTACK_KINDS; i++)
		if (sent_of(i))
			printf(" %s %llu", attack_names[i],
			       (unsigned long long)sent_of(i));
	printf("\n# the server took %llu honest ones and %llu guests, and "
	       "rejected %llu\n",
	       (unsigned long long)h.server.honest,
	       (unsigned long long)h.server.guests,
	       (unsigned long long)h.server.rejected);
	printf("# ratio of medians %.2f\n",
	       us_of(&h.attack, 50) / us_of(&h.quiet, 50));
}

/* Ends of streams are on their way when the last attacker has closed his. */
static bool closed_again(int fds)
{
	int64_t end = bench_now_ns() + CLOSE_MS * INT64_C(1000000);

	while (descriptors() > fds && bench_now_ns() < end)
		one_connection();
	return descriptors() <= fds;
}

/* Guests, who are connected still, and have a descriptor where it is SCM's. */
#define GUESTS_FDS 16

static int judge(bool good, int n, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", n, what);
	return !good;
}

static int verdict(struct reading before, struct reading most)
{
	uint64_t sum = 0;
	int bad = 0;

	for (int i = 0; i < ATTACK_KINDS; i++)
		sum += sent_of(i);
	bad += judge(closed_again(before.fds + GUESTS_FDS), 1,
		     "descriptors are closed again");
	print_latency("quiet", &h.quiet);
	print_latency("attack", &h.attack);
	print_attack(sum);
	print_reading("before", before);
	print_reading("most", most);
	print_reading("after", take_reading());
	bad += judge(sum > 0 && (h.o.aside || h.server.rejected > 0), 2,
		     "strangers were heard, and rejected");
	bad += judge(h.server.honest == h.number, 3,
		     "each honest connection came up, with its data");
	if (heap_known())
		bad += judge(most.heap - before.heap <= HEAP_BOUND, 4,
			     "memory is bounded");
	else
		printf("ok 4 - memory is bounded # SKIP "
		       "a sanitizer has the allocator\n");
	printf("1..4\n");
	return bad != 0;
}

static int run(void)
{
	struct reading before, most;

	if (!device_make(h.o.kind))
		bench_die("no device of that kind");
	server_start(&h.server, h.o.ia, h.o.qual);
	client_open();
	attackers_open();
	/* Its time is in no median: what is made once is made now. */
	one_connection();
	before = most = take_reading();
	for (int i = 0; i < h.o.rounds; i++) {
		phase(&h.quiet);
		attackers_go();
		phase(&h.attack);
		larger(&most, take_reading());
		attackers_pause();
	}
	attackers_end();
	return verdict(before, most);
}

/* ----------------------------------------------------------------- options */

static void usage(FILE *f)
{
	fputs("usage: hostile -P IA -d DEVICE [OPTION...]\n"
	      "\n"
	      "Attacks a server of the SCM or UCM adapter IA, while an honest "
	      "client uses it.\n"
	      "  -P  name of the adapter in dat.conf\n"
	      "  -d  the RDMA device below it, for the attackers\n"
	      "  -s  it is an adapter of SCM: attack by TCP, not datagrams\n"
	      "  -A  aim beside the server, without -s: what the machine "
	      "itself takes for it\n"
	      "  -a  attackers, each a thread (2)\n"
	      "  -o  half-open connections that they keep, with -s (256)\n"
	      "  -g  of so many messages one is a good request, which the "
	      "server has to answer (64)\n"
	      "  -r  rounds of one phase without and one with an attack (2)\n"
	      "  -t  seconds of a phase (2)\n"
	      "  -S  seed (1)\n"
	      "  -q  qualifier to listen at (25700)\n"
	      "  -k  a fake device of that kind\n",
	      f);
}

static void parse(int argc, char **argv)
{
	struct options *o = &h.o;
	int c;

	*o = (struct options){.attackers = 2,
			      .held = 256,
			      .good_in = 64,
			      .rounds = 2,
			      .seconds = 2,
			      .seed = 1,
			      .qual = 25700};
	while ((c = getopt(argc, argv, "P:d:sAa:o:g:r:t:S:q:k:h")) != -1)
		switch (c) {
		case 'P':
			o->ia = optarg;
			break;
		case 'd':
			o->device = optarg;
			break;
		case 's':
			o->scm = true;
			break;
		case 'A':
			o->aside = true;
			break;
		case 'a':
			o->attackers = bench_number(optarg, 1, ATTACKERS_MAX);
			break;
		case 'o':
			o->held = bench_number(optarg, ATTACKERS_MAX, HELD_MAX);
			break;
		case 'g':
			o->good_in = bench_number(optarg, 1, 1000000);
			break;
		case 'r':
			o->rounds = bench_number(optarg, 1, 1000);
			break;
		case 't':
			o->seconds = bench_number(optarg, 1, 3600);
			break;
		case 'S':
			o->seed = bench_number(optarg, 0, 1000000000);
			break;
		case 'q':
			o->qual = (DAT_CONN_QUAL)bench_number(optarg, 1, 60000);
			break;
		case 'k':
			o->kind = optarg;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	if (!o->ia || !o->device || optind < argc) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int rc;

	bench_name("hostile");
	parse(argc, argv);
	bench_alarm((unsigned int)(2 * h.o.rounds * h.o.seconds + LIMIT_S));
	rc = run();
	server_stop(&h.server);
	bench_ia_close(&h.ia);
	return rc;
}
