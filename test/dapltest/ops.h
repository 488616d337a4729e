/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops.h - the operations of transaction and performance tests, as words.
 *
 * Does not know what an adapter can do; that is asked when it is open.
 * Threads: safe. Ownership: texts stay the caller's.
 * Rule: the grammar of the historic tool,
 *     (client|server) (SR|RR|RW) [SEGSIZE [SEGMENTS]] [-f]
 * for transactions and (RR|RW) [SEGSIZE [SEGMENTS]] for performance.
 * What it took for 0 or ignored is refused here.
 */
#ifndef DAPLTEST_OPS_H
#define DAPLTEST_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPT_OPS_MAX	 100
#define DPT_VERIFY_OPS	 3 /* that -V appends */
#define DPT_SEG_SIZE	 4096u
#define DPT_SEG_SIZE_MAX (1u << 30)
#define DPT_SEGS_MAX	 1024u
#define DPT_TRANSFER_MAX (1u << 30) /* bytes of one operation */

/* The numbers travel. */
enum dpt_op_type {
	DPT_OP_READ,
	DPT_OP_WRITE,
	DPT_OP_SEND,
	DPT_OP_TYPE_N,
};

struct dpt_op {
	bool server; /* who starts it */
	enum dpt_op_type type;
	uint32_t segs;
	uint32_t seg_size;
	/*
	 * -f. A client's send: its completion is not waited for yet. A
	 * server's send: the client now takes that completion too.
	 */
	bool deferred;
};

/* "RR", "RW" or "SR" */
const char *dpt_op_name(enum dpt_op_type type);

static inline uint32_t dpt_op_bytes(const struct dpt_op *op)
{
	return op->segs * op->seg_size;
}

/*
 * Reads the words of a transaction. With verify the three operations that -V
 * needs are added. Returns 0, or -EINVAL with a sentence in why.
 */
int dpt_parse_ops(int argc, char *const *argv, bool verify,
		  struct dpt_op ops[DPT_OPS_MAX], uint32_t *ret_count,
		  char *why, size_t why_size);

/* Reads the one operation of a performance test. */
int dpt_parse_perf_op(int argc, char *const *argv, struct dpt_op *ret_op,
		      char *why, size_t why_size);

/* Whether one of them is no send. */
bool dpt_ops_have_rdma(const struct dpt_op *ops, uint32_t count);

/*
 * Whether a list makes sense as a whole, wherever it came from: sizes, sends
 * in both directions, -f in pairs. Returns NULL, or what is wrong.
 */
const char *dpt_ops_wrong(const struct dpt_op *ops, uint32_t count);

#endif /* DAPLTEST_OPS_H */
