/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * perform.h - the performance test: RDMA of the client, timed.
 *
 * Does not print; the client's figures go to the caller.
 * Threads: one per test. Ownership: dpt_perf_close() releases all of it.
 * Rule: what travels is that of the historic tool: the server's address, RDMA
 * in two phases (a full pipeline for throughput, one by one for latency), and
 * an end mark.
 */
#ifndef DAPLTEST_PERFORM_H
#define DAPLTEST_PERFORM_H

#include "test/dapltest/end.h"
#include "test/dapltest/proto.h"

/* Times of a call. */
struct dpt_calls {
	uint64_t count;
	uint64_t total_ns;
	uint64_t min_ns;
	uint64_t max_ns;
};

struct dpt_perf {
	struct dpt *d;
	struct dpt_performance cmd;
	bool server;
	bool use_rmr;
	bool start; /* the client sends a mark first */
	bool check; /* the peer is one of ours and --no-check is not given */
	uint32_t qual;
	uint32_t pipeline; /* as long as it really is */
	DAT_PZ_HANDLE pz;
	struct dpt_end end;
	struct dpt_region mem;	   /* of the operation */
	struct dpt_region control; /* address in and out, copy of a write */
	DAT_RMR_HANDLE rmr;
	DAT_RMR_TRIPLET remote;
	/* Figures of the client. */
	struct dt_samples latency;
	struct dt_samples each; /* of the first phase */
	struct dt_window window;
	struct dt_warm warm;
	struct dpt_calls post, reap;
	uint64_t ns;	 /* of the first phase */
	uint64_t end_ns; /* when it was over */
	double cpu;	 /* percent, of all processors */
};

bool dpt_perf_fits(const struct dpt *d, const struct dpt_performance *cmd,
		   char *why, size_t why_size);
/* p->d, cmd, server are set. */
int dpt_perf_open(struct dpt_perf *p);
int dpt_perf_serve(struct dpt_perf *p);
int dpt_perf_measure(struct dpt_perf *p);
int dpt_perf_close(struct dpt_perf *p, int rc);

#endif /* DAPLTEST_PERFORM_H */
