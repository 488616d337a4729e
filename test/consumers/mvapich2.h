/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mvapich2.h - what the ways in which MVAPICH2 connects have in common: one
 * adapter, two sets of queues and endpoints, memory, the end.
 */
#ifndef TEST_CONSUMERS_MVAPICH2_H
#define TEST_CONSUMERS_MVAPICH2_H

#include "test/consumers/calls.h"

#define MV_SETS	  2    /* messages, and a window */
#define MV_MEM	  8192 /* bytes of a peer, in each use */
#define MV_RECVS  4
#define MV_ONLINE 32 /* bytes of a message */

/* Where each peer's part of the memory has what. */
enum mv_use {
	MV_SEND,
	MV_RECV,
	MV_RING,
	MV_PUT_FROM,
	MV_PUT_TO,
	MV_USES
};

struct mv_set {
	DAT_EVD_HANDLE dto, cr, conn;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep[RANKS_MAX];
};

/* What ranks tell each other by the side channel. */
struct mv_card {
	struct calls_addr addr;
	DAT_CONN_QUAL qual[MV_SETS];
	uint64_t mem;
	DAT_RMR_CONTEXT key;
};

struct mv {
	struct rank *r;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR attr;
	DAT_PZ_HANDLE pz;
	struct mv_set set[MV_SETS];
	struct mv_card self, all[RANKS_MAX];
	uint8_t *mem;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

struct mv *mv_begin(struct rank *r, int sets);
/* By a path that waits for events, all to all; rank order decides who asks. */
void mv_connect_all(struct mv *m, struct mv_set *s);
void mv_connect(struct mv *m, struct mv_set *s, int to, const int *number);
/* Both sides of every connection end it, hear so, and free all. */
void mv_disconnect_all(struct mv *m, struct mv_set *s);
void mv_free_set(struct mv *m, struct mv_set *s, bool with_listener);
void mv_end(struct mv *m);

/* Of this rank for PEER, and of peer TO for this rank. */
uint8_t *mv_here(struct mv *m, int peer, enum mv_use use);
uint64_t mv_there(const struct mv *m, int to, enum mv_use use);

void mv_post_recvs(struct mv *m, struct mv_set *s, int peer);
void mv_send(struct mv *m, struct mv_set *s, int to, unsigned int number);

#endif
