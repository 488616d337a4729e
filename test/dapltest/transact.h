/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * transact.h - the transaction test: lists of operations on many endpoints.
 *
 * Both sides run the same code: they walk the same list in lock step, and
 * who starts an operation is written there.
 * Threads: dpt_tx_open(), dpt_tx_run() and dpt_tx_close() one; a thread of
 * its own per thread of the test in between.
 * Ownership: struct dpt_tx owns all objects of the test.
 * Rule: what travels, and when, is that of the historic tool.
 */
#ifndef DAPLTEST_TRANSACT_H
#define DAPLTEST_TRANSACT_H

#include "test/dapltest/end.h"
#include "test/dapltest/proto.h"

#include <pthread.h>
#include <stdatomic.h>

/* What is in the buffers. */
enum dpt_data {
	DPT_DATA_ANY,	   /* not looked at */
	DPT_DATA_HISTORIC, /* -V with a historic peer */
	DPT_DATA_PATTERN,
};

/* One operation on one endpoint. */
struct dpt_tx_op {
	struct dpt_region mem;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context; /* that the peer gets */
	DAT_RMR_TRIPLET remote;	 /* that this side got */
	bool pending;		 /* posted, not completed */
};

struct dpt_tx_end {
	struct dpt_end end;
	struct dpt_region control; /* addresses and synchronisation */
	struct dpt_tx_op *ops;
};

struct dpt_tx;

struct dpt_tx_thread {
	struct dpt_tx *tx;
	uint32_t index;
	pthread_t thread;
	bool started;
	DAT_PZ_HANDLE pz;
	struct dpt_tx_end *ends;
	struct dt_samples samples; /* time of each iteration */
	uint64_t ns;		   /* from the first synchronisation */
	_Atomic uint32_t done;	   /* iterations */
	bool ended;		   /* lock */
	int rc;
};

struct dpt_tx {
	struct dpt *d;
	struct dpt_transaction cmd;
	bool server;
	enum dpt_data data;
	uint32_t qual; /* of the first connection */
	bool rmr;      /* RMRs where the adapter has them */
	bool final;    /* synchronised at the end; the oldest peers are not */
	struct dpt_tx_thread *threads;
	pthread_mutex_t lock;
	pthread_cond_t change;
	uint32_t there;	     /* lock; threads that wait for the common start */
	_Atomic bool failed; /* some thread has; the others need not go on */
};

/* Whether adapter and memory allow the test; false with a sentence. */
bool dpt_tx_fits(const struct dpt *d, const struct dpt_transaction *cmd,
		 char *why, size_t why_size);

/* Makes all objects. tx->d, cmd, server and rmr are set. */
int dpt_tx_open(struct dpt_tx *tx);
/* Server: listens from tx->qual on. Returns 0, -EADDRINUSE or a status. */
int dpt_tx_listen(struct dpt_tx *tx);
/* Runs all threads to their end. tx->qual, data and final are set. */
int dpt_tx_run(struct dpt_tx *tx);
int dpt_tx_close(struct dpt_tx *tx, int rc);

/* iterate.c: the measured part, one iteration after the other. */
int dpt_tx_iterate(struct dpt_tx_thread *t);
/* What could only be looked at when all was over. */
int dpt_tx_check_end(struct dpt_tx_thread *t);
/* Receives of all operations, and what is in the buffers at first. */
int dpt_tx_prepare(struct dpt_tx_thread *t);

/* Places in the control memory of an end; also their cookies. */
enum dpt_tx_place {
	DPT_TX_RMI_OUT,
	DPT_TX_RMI_IN,
	DPT_TX_SYNC_OUT,
	DPT_TX_SYNC_IN,
	DPT_TX_FINAL_OUT,
	DPT_TX_FINAL_IN,
	DPT_TX_PLACE_N,
};

int dpt_tx_post_control(struct dpt_tx_thread *t, struct dpt_tx_end *e,
			enum dpt_tx_place place, size_t length);

#endif /* DAPLTEST_TRANSACT_H */
