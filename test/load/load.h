/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * load.h - an MPI-shaped load: ranks that connect each with each, exchange data
 * in every way that MPI libraries do, and leave in any order.
 *
 * A rank's verdicts, data and patience are those of test/consumers; how it
 * hears of the others is its own, for they may be on several hosts. Threads: a
 * rank is one thread, that of its own process or, on the fake device, beside
 * the others. Nothing is global but the options.
 */
#ifndef TEST_LOAD_H
#define TEST_LOAD_H

#include "test/consumers/calls.h"

#define LOAD_RANKS  256
#define QUEUE_LINKS 256

/* Ways that data takes. */
enum way {
	EAGER, /* by RDMA write into a ring whose last byte is watched */
	PUT,   /* asked for, then by RDMA write */
	GET,   /* offered, then by RDMA read */
	SRQ,   /* by send, into receives that all connections share */
	WAYS
};

/* MIXED: on demand in each second cycle. */
enum how {
	BURST,
	DEMAND,
	MIXED
};

struct options {
	char *adapter;
	const char *kind; /* of the fake device, or NULL */
	const char *root; /* HOST:PORT, or NULL: all ranks are here */
	const char *at_rest;
	int ranks, first, local;
	int rounds, links, listeners, size, window;
	int cycles, minutes, rest, timeout_s, spread_ms;
	unsigned int seed;
	enum how connect;
	bool iwarp, ways[WAYS];
};

/* ------------------------------------------------- boot.c: one another */

struct boot {
	struct rank *r;
	int fd[LOAD_RANKS]; /* of rank 0; the others have [0] */
	int listen, port;   /* of rank 0 */
	int timeout_s;
};

/* For rank 0, before it is there: a socket, or -1 with a line on stderr. */
int boot_listen(const char *root, int *ret_port);
void boot_meet(struct boot *b, const char *root);
/* ALL, of n times SIZE bytes, is what each rank gave as MINE. */
void boot_allgather(struct boot *b, const void *mine, size_t size, void *all);
void boot_barrier(struct boot *b);
void boot_part(struct boot *b);

/* --------------------------------------------------------------- a rank */

/* What a rank tells the others. */
struct card {
	struct calls_addr addr;
	DAT_CONN_QUAL qual; /* the first of its listeners' */
	uint64_t base;	    /* of the links' memory */
	DAT_RMR_CONTEXT key;
};

enum link_state {
	IDLE,
	ASKED,
	REFUSED, /* theirs is on its way */
	ACCEPTED,
	UP,
	LEFT
};

struct flow;

/*
 * One end of a connection. Of links to itself a rank has both ends. INDEX is
 * its place here, MIRROR that of the other end there.
 */
struct link {
	int peer, number, index, mirror;
	bool asks; /* this end, where it is settled which one does */
	enum link_state state;
	bool asked; /* this end, in the end */
	/* events that tell of the end, and of the last receive from the SRQ */
	int ends, lasts;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE held; /* theirs, while ours is being refused */
	struct flow *flow;
};

/* What its runner sees of a rank; memory that processes share. */
struct tally {
	struct rank_note note;
	unsigned int beat; /* grows while something happens */
	int cycles;
	uint64_t connections, refused, transfers, bytes;
};

/* What a process has, or all of them. */
struct figures {
	uint64_t heap, rss, files, threads;
};

struct load {
	struct rank r;
	struct tally *tally;
	const struct options *o;
	struct boot boot;
	uint64_t until_us; /* patience for what it waits for */
	unsigned int looks;
	uint64_t random;
	int cycle;

	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr, conn, rcv;
	DAT_EVD_HANDLE *req; /* of QUEUE_LINKS links each */
	int queues;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE *psp;
	DAT_SRQ_HANDLE srq;
	struct card *cards;
	struct card mine;

	struct link *link;
	int *order; /* in which links are gone through */
	int links;
	int asking; /* how many of ours have no answer */
	bool demand, leaving;

	/* the links' memory, and receives of the SRQ behind it */
	uint8_t *memory;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	int receives;
	bool posted;

	struct figures *taken; /* of rank 0 */
	int takes;
};

/* ----------------------------------------------- run.c: time and chance */

uint64_t load_now_us(void);
/* Something has happened: patience begins anew. */
void load_moved(struct load *l);
/* Nothing has: gives the processor away, and fails when patience ends. */
void load_idle(struct load *l);
/* Of its own sequence, which is the seed's. */
unsigned int load_random(struct load *l, unsigned int below);
void load_shuffle(struct load *l, int *order, int n);
void load_run(struct load *l);

/* ------------------------------------- objects.c: what a cycle stands on */

void objects_open(struct load *l);
void objects_close(struct load *l, bool abrupt);
void objects_ep(struct load *l, struct link *k);
/* Nothing that nobody asked for has been heard of. */
void objects_quiet(struct load *l);

/* ------------------------------------------------ mesh.c: connections */

void mesh_layout(struct load *l);
void mesh_begin(struct load *l);
bool mesh_step(struct load *l); /* true: something has happened */
int mesh_count(const struct load *l, enum link_state state);
/* All leave, each in its time and way; true: its adapter, too, is closed. */
bool mesh_leave(struct load *l);

/* ----------------------------------------------------- flow.c: data */

void flow_layout(struct load *l);
void flow_begin(struct load *l);
/* One round on every link. */
void flow_round(struct load *l, int round);

/* ------------------------------------------------- rest.c: what is left */

/* All ranks have closed everything: takes figures and keeps them, in rank 0. */
void rest_take(struct load *l);
/* Fails if something has grown. */
void rest_verdict(struct load *l);

#endif
