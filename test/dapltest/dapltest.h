/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapltest.h - what the tests of dapltest share: the run and its adapter.
 *
 * Does not hold what dtest has as well; that is in test/dtest/common.
 * Threads: a run is set up and closed by one; its reporter, its adapter and
 * the calls of this header may be used by many in between.
 * Ownership: struct dpt owns the adapter; every test releases what it made.
 * Rule: a function that fails has reported it, and returns an exit status
 * (enum dt_exit); 0 is success.
 */
#ifndef DAPLTEST_H
#define DAPLTEST_H

#include "test/dapltest/options.h"
#include "test/dtest/common/dt_dat.h"
#include "test/dtest/common/dt_report.h"
#include "test/dtest/common/dt_time.h"
#include "test/dtest/common/dt_tool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define DPT_SEG_ALIGN 256

struct dpt {
	const struct dpt_opts *o;
	struct dt_report r;
	uint64_t limit_ns; /* of each wait */
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	/*
	 * That of --oob-port, or the usual one on an adapter that host names do
	 * not lead to; 0: none.
	 */
	uint16_t oob_port;
	struct sockaddr_storage server; /* client: where it is */
	bool has_ud;			/* the adapter: datagram endpoints */
};

/* Registered memory. */
struct dpt_region {
	uint8_t *base; /* NULL: there is none */
	size_t length;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

/* run.c: a whole run. Returns the exit status. */
int dpt_run(const struct dpt_opts *opts);

/* adapter.c */

int dpt_open(struct dpt *d);
/* Releases the adapter. Returns rc, or a status of its own if rc is 0. */
int dpt_close(struct dpt *d, int rc);
/* A call that makes something and failed. */
int dpt_failed(struct dpt *d, DAT_RETURN ret, const char *call,
	       const char *remedy);
/* A call that released something: its failure counts if rc is 0. */
int dpt_freed(struct dpt *d, int rc, DAT_RETURN ret, const char *call);

int dpt_pz_make(struct dpt *d, DAT_PZ_HANDLE *ret_pz);
int dpt_pz_free(struct dpt *d, DAT_PZ_HANDLE *pz, int rc);
int dpt_evd_make(struct dpt *d, uint32_t length, DAT_EVD_FLAGS flags,
		 DAT_EVD_HANDLE *ret_evd);
/* Empties the queue first. */
int dpt_evd_free(struct dpt *d, DAT_EVD_HANDLE *evd, int rc);
int dpt_region_make(struct dpt *d, DAT_PZ_HANDLE pz, size_t length,
		    struct dpt_region *region);
int dpt_region_free(struct dpt *d, struct dpt_region *region, int rc);

/* Whether the adapter has RMRs. Not every device has; that is said once. */
bool dpt_rmr_works(struct dpt *d, DAT_PZ_HANDLE pz);

/* What an operation needs in memory, each segment aligned. */
static inline size_t dpt_stride(const struct dpt_op *op)
{
	return ((size_t)op->seg_size + DPT_SEG_ALIGN - 1) &
	       ~(size_t)(DPT_SEG_ALIGN - 1);
}

/*
 * Whether the adapter can do the operation. Returns false with a sentence in
 * why.
 */
bool dpt_op_fits(const struct dpt *d, const struct dpt_op *op, char *why,
		 size_t why_size);

/* The tests: client.c (T, P, Q), server.c, limit.c, fft.c. */

int dpt_transaction_client(struct dpt *d);
int dpt_performance_client(struct dpt *d);
int dpt_quit_client(struct dpt *d);
int dpt_serve(struct dpt *d);
int dpt_limits(struct dpt *d);
int dpt_functions(struct dpt *d);

#endif /* DAPLTEST_H */
