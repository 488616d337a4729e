/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * alltoall.c - many processes of one host, each connected with each other, as
 * the ranks of a parallel program are: how long until all are connected, and
 * how many messages a second they exchange, when each sends one to each in each
 * round.
 *
 * Each rank is a process that listens; it connects to those of a higher number.
 * Ranks meet at a barrier in memory that they share. Which endpoint a request
 * is for is in its private data.
 *
 * Output: one JSON object on standard output, by rank 0.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"

#define QUAL	  25600
#define RANKS_MAX 256
#define BYTES	  8

struct options {
	const char *ia;
	int ranks, rounds, limit_s;
};

/* What all ranks see. */
struct shared {
	pthread_barrier_t barrier;
	uint8_t addr[RANKS_MAX][ADDR_SIZE];
};

struct rank {
	const struct options *o;
	struct shared *shared;
	int me;
	struct bench_ia a;
	DAT_EVD_HANDLE req, rcv;
	DAT_EP_HANDLE ep[RANKS_MAX];
	DAT_LMR_TRIPLET in, out;
	uint8_t memory[2][BYTES];
};

static void meet(const struct rank *r)
{
	pthread_barrier_wait(&r->shared->barrier);
}

static void memory_register(struct rank *r)
{
	DAT_REGION_DESCRIPTION region = {.for_va = r->memory};
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN size;
	DAT_VADDR va;

	bench_need(dat_lmr_create(r->a.ia, DAT_MEM_TYPE_VIRTUAL, region,
				  sizeof(r->memory), r->a.pz,
				  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
				  &lkey, &rkey, &size, &va),
		   "dat_lmr_create");
	r->in = (DAT_LMR_TRIPLET){.lmr_context = lkey,
				  .virtual_address = (uintptr_t)r->memory[0],
				  .segment_length = BYTES};
	r->out = r->in;
	r->out.virtual_address = (uintptr_t)r->memory[1];
}

static void post_recv(struct rank *r, int peer)
{
	DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)peer};

	bench_need(dat_ep_post_recv(r->ep[peer], 1, &r->in, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
}

/* Two receives for each peer: it may be a round ahead. */
static void open_rank(struct rank *r)
{
	int n = r->o->ranks;

	bench_ia_open(&r->a, r->o->ia, 2 * n + 8);
	r->req = bench_dto_evd(&r->a, 2 * n);
	r->rcv = bench_dto_evd(&r->a, 4 * n);
	memory_register(r);
	for (int i = 0; i < n; i++) {
		if (i == r->me)
			continue;
		r->ep[i] = bench_ep(&r->a, r->rcv, r->req, 4, 4, 4096);
		post_recv(r, i);
		post_recv(r, i);
	}
	memcpy(r->shared->addr[r->me], r->a.addr.b, ADDR_SIZE);
	bench_listen(&r->a, (DAT_CONN_QUAL)(QUAL + r->me));
}

static void connect_rank(struct rank *r)
{
	int n = r->o->ranks;
	DAT_CR_PARAM param;
	DAT_EVENT ev;

	for (int i = r->me + 1; i < n; i++) {
		uint8_t mine = (uint8_t)r->me;

		bench_need(
			dat_ep_connect(
				r->ep[i],
				(DAT_IA_ADDRESS_PTR)(void *)r->shared->addr[i],
				(DAT_CONN_QUAL)(QUAL + i), PATIENCE_US,
				sizeof(mine), &mine, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG),
			"dat_ep_connect");
	}
	for (int i = 0; i < r->me; i++) {
		bench_event(r->a.cr, DAT_CONNECTION_REQUEST_EVENT, &ev);
		bench_need(
			dat_cr_query(
				ev.event_data.cr_arrival_event_data.cr_handle,
				DAT_CR_FIELD_ALL, &param),
			"dat_cr_query");
		bench_accept(&ev, r->ep[*(uint8_t *)param.private_data]);
	}
	for (int i = 1; i < n; i++)
		bench_event(r->a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
}

static const DAT_DTO_COMPLETION_EVENT_DATA *completion(DAT_EVD_HANDLE evd,
						       DAT_EVENT *ret_ev)
{
	bench_event(evd, DAT_DTO_COMPLETION_EVENT, ret_ev);
	if (ret_ev->event_data.dto_completion_event_data.status !=
	    DAT_DTO_SUCCESS)
		bench_die("completion status %d",
			  (int)ret_ev->event_data.dto_completion_event_data
				  .status);
	return &ret_ev->event_data.dto_completion_event_data;
}

static void round_of_all(struct rank *r)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 0};
	int n = r->o->ranks;
	DAT_EVENT ev;

	for (int i = 1; i < n; i++)
		bench_need(dat_ep_post_send(r->ep[(r->me + i) % n], 1, &r->out,
					    cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
	for (int i = 1; i < n; i++)
		post_recv(r, (int)completion(r->rcv, &ev)->user_cookie.as_64);
	for (int i = 1; i < n; i++)
		completion(r->req, &ev);
}

static void hang_up(struct rank *r)
{
	int n = r->o->ranks;
	DAT_EVENT ev;

	for (int i = 0; i < n; i++)
		if (i != r->me)
			dat_ep_disconnect(r->ep[i], DAT_CLOSE_ABRUPT_FLAG);
	for (int i = 1; i < n; i++)
		bench_event(r->a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, &ev);
}

static void run_rank(struct rank *r)
{
	double links = r->o->ranks * (r->o->ranks - 1) / 2.0;
	int64_t t[6];

	open_rank(r);
	meet(r);
	t[0] = bench_now_ns();
	connect_rank(r);
	meet(r);
	t[1] = bench_now_ns();
	round_of_all(r);
	meet(r);
	t[2] = bench_now_ns();
	for (int i = 0; i < r->o->rounds; i++)
		round_of_all(r);
	meet(r);
	t[3] = bench_now_ns();
	hang_up(r);
	meet(r);
	t[4] = bench_now_ns();
	bench_ia_close(&r->a);
	if (r->me)
		return;
	printf("{\"test\":\"scale\",\"ranks\":%d,\"connections\":%.0f,"
	       "\"connect_s\":%.3f,\"connects_per_s\":%.0f,\"rounds\":%d,"
	       "\"msgs_per_s\":%.0f,\"disconnect_s\":%.3f}\n",
	       r->o->ranks, links, (double)(t[1] - t[0]) / 1e9,
	       links * 1e9 / (double)(t[1] - t[0]), r->o->rounds,
	       2 * links * r->o->rounds * 1e9 / (double)(t[3] - t[2]),
	       (double)(t[4] - t[3]) / 1e9);
	fflush(stdout);
}

/* One that fails leaves the others at the barrier: all end. */
static int run_all(const struct options *o, struct shared *shared)
{
	static struct rank r;
	int status, worst = 0;

	for (int i = 0; i < o->ranks; i++) {
		pid_t pid = fork();

		if (pid < 0)
			bench_die("fork: %s", strerror(errno));
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		bench_alarm((unsigned int)o->limit_s);
		r = (struct rank){.o = o, .shared = shared, .me = i};
		run_rank(&r);
		_exit(0);
	}
	for (int i = 0; i < o->ranks && !worst; i++)
		worst = wait(&status) < 0 || status;
	return worst ? 1 : 0;
}

static void usage(FILE *f)
{
	fputs("usage: alltoall -P IA [-n RANKS] [-r ROUNDS] [-l SECONDS]\n"
	      "\n"
	      "Connects each of RANKS (64) processes with each other; prints "
	      "rates as\n"
	      "JSON.\n"
	      "  -P  name of the adapter in dat.conf\n"
	      "  -r  rounds in which each sends a message to each (10)\n"
	      "  -l  limit of all (120)\n",
	      f);
}

int main(int argc, char **argv)
{
	struct options o = {.ranks = 64, .rounds = 10, .limit_s = 120};
	pthread_barrierattr_t attr;
	struct shared *shared;
	int c;

	bench_name("alltoall");
	while ((c = getopt(argc, argv, "P:n:r:l:h")) != -1)
		switch (c) {
		case 'P':
			o.ia = optarg;
			break;
		case 'n':
			o.ranks = bench_number(optarg, 2, RANKS_MAX);
			break;
		case 'r':
			o.rounds = bench_number(optarg, 1, 100000);
			break;
		case 'l':
			o.limit_s = bench_number(optarg, 1, 3600);
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
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		bench_die("no memory");
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attr, (unsigned int)o.ranks);
	return run_all(&o, shared);
}
