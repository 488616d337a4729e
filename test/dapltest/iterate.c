/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * iterate.c - the iterations of the transaction test.
 *
 * Does not connect and does not synchronise.
 * Threads: each works on its own ends. Ownership: none.
 * Rule: both sides walk the list in the same order. A receive is posted again
 * as soon as its message was looked at, except in the last iteration.
 *
 * When may data be looked at, and when may a buffer change? A message: when it
 * arrived, until its receive is posted again. A read: when it completed. What
 * the peer writes, and what it reads: only where messages order both sides.
 * With -V they do, at the end of the list: the server's send (all the client
 * started was answered), the client's send, the server's send. The client
 * checks and refills behind the first, the server behind the second; before
 * they continue nobody touches these buffers. Without -V nothing orders the
 * iterations, so what RDMA moves stays the same in all of them, and what was
 * written is checked at the end.
 */
#include "test/dapltest/pattern.h"
#include "test/dapltest/transact.h"

#include <inttypes.h>
#include <string.h>

static bool mine(const struct dpt_tx *tx, const struct dpt_op *op)
{
	return op->server == tx->server;
}

static uint64_t cookie_of(uint32_t end, uint32_t op)
{
	return (uint64_t)end << 32 | op;
}

/* The buffer as this side's segments have it. */
static struct dpt_layout segments(const struct dpt_op *op, uint8_t *base)
{
	struct dpt_layout at = {base, op->seg_size, dpt_stride(op), op->segs};

	return at;
}

/* The buffer as the peer sees it: RDMA knows one piece. */
static struct dpt_layout one_piece(const struct dpt_op *op, uint8_t *base)
{
	struct dpt_layout at = {base, dpt_op_bytes(op), 0, 1};

	return at;
}

static struct dpt_pattern pattern_of(const struct dpt_tx_thread *t,
				     uint32_t end, uint32_t op,
				     uint32_t iteration)
{
	const struct dpt_tx *tx = t->tx;

	if (tx->data == DPT_DATA_HISTORIC)
		return dpt_pattern_historic(iteration);
	if (tx->cmd.ops[op].type != DPT_OP_SEND && !tx->cmd.validate)
		iteration = 0;
	return dpt_pattern_own(t->index, end, op, iteration);
}

/* What a historic peer puts into the operations that -V adds is unknown. */
static bool is_checked(const struct dpt_tx *tx, uint32_t op)
{
	if (tx->data == DPT_DATA_HISTORIC)
		return op + DPT_VERIFY_OPS < tx->cmd.op_count;
	return tx->data == DPT_DATA_PATTERN;
}

static int check(struct dpt_tx_thread *t, uint32_t end, uint32_t op,
		 uint32_t iteration, const struct dpt_layout *at)
{
	const struct dpt_op *o = &t->tx->cmd.ops[op];
	struct dpt_pattern p = pattern_of(t, end, op, iteration);
	uint8_t got, want;
	int64_t bad;

	if (!is_checked(t->tx, op))
		return 0;
	bad = dpt_check(at, &p, &got, &want);
	if (bad < 0)
		return 0;
	return dt_fail(&t->tx->d->r, DT_FAILED,
		       "%s, iteration %u, operation %u (%s %s): wrong data at "
		       "offset %" PRId64 ": got 0x%02x, wanted 0x%02x",
		       t->ends[end].end.name, iteration, op,
		       o->server ? "server" : "client", dpt_op_name(o->type),
		       bad, got, want);
}

static void fill(struct dpt_tx_thread *t, uint32_t end, uint32_t op,
		 uint32_t iteration, const struct dpt_layout *at)
{
	struct dpt_pattern p = pattern_of(t, end, op, iteration);

	if (t->tx->data != DPT_DATA_ANY)
		dpt_fill(at, &p);
}

/* Buffers that the peer reads, for an iteration that has not begun there. */
static void fill_sources(struct dpt_tx_thread *t, uint32_t iteration)
{
	for (uint32_t j = 0; j < t->tx->cmd.eps; j++) {
		for (uint32_t k = 0; k < t->tx->cmd.op_count; k++) {
			const struct dpt_op *op = &t->tx->cmd.ops[k];
			struct dpt_layout at =
				one_piece(op, t->ends[j].ops[k].mem.base);

			if (op->type == DPT_OP_READ && !mine(t->tx, op))
				fill(t, j, k, iteration, &at);
		}
	}
}

/* Buffers that the peer wrote to. */
static int check_targets(struct dpt_tx_thread *t, uint32_t iteration)
{
	int rc = 0;

	for (uint32_t j = 0; !rc && j < t->tx->cmd.eps; j++) {
		for (uint32_t k = 0; !rc && k < t->tx->cmd.op_count; k++) {
			const struct dpt_op *op = &t->tx->cmd.ops[k];
			struct dpt_layout at =
				one_piece(op, t->ends[j].ops[k].mem.base);

			if (op->type == DPT_OP_WRITE && !mine(t->tx, op))
				rc = check(t, j, k, iteration, &at);
		}
	}
	return rc;
}

static uint32_t make_iov(const struct dpt_op *op, const struct dpt_region *mem,
			 DAT_LMR_TRIPLET iov[DPT_SEGS_MAX])
{
	for (uint32_t i = 0; i < op->segs; i++)
		iov[i] = dpt_segment(mem, i * dpt_stride(op), op->seg_size);
	return op->segs;
}

static int post_receive(struct dpt_tx_thread *t, uint32_t end, uint32_t op)
{
	struct dpt_tx_end *e = &t->ends[end];
	const struct dpt_op *o = &t->tx->cmd.ops[op];
	struct dpt_layout at = segments(o, e->ops[op].mem.base);
	DAT_LMR_TRIPLET iov[DPT_SEGS_MAX];

	if (t->tx->data == DPT_DATA_PATTERN)
		dpt_poison(&at);
	return dpt_end_post_recv(t->tx->d, &e->end, iov,
				 make_iov(o, &e->ops[op].mem, iov),
				 cookie_of(end, op));
}

int dpt_tx_prepare(struct dpt_tx_thread *t)
{
	int rc = 0;

	for (uint32_t j = 0; !rc && j < t->tx->cmd.eps; j++)
		for (uint32_t k = 0; !rc && k < t->tx->cmd.op_count; k++)
			if (t->tx->cmd.ops[k].type == DPT_OP_SEND &&
			    !mine(t->tx, &t->tx->cmd.ops[k]))
				rc = post_receive(t, j, k);
	fill_sources(t, 0);
	return rc;
}

static int post(struct dpt_tx_thread *t, uint32_t end, uint32_t op,
		uint32_t iteration)
{
	struct dpt_tx_end *e = &t->ends[end];
	const struct dpt_op *o = &t->tx->cmd.ops[op];
	struct dpt_layout at = segments(o, e->ops[op].mem.base);
	DAT_LMR_TRIPLET iov[DPT_SEGS_MAX];
	struct dpt_request req = {
		.type = o->type,
		.iov = iov,
		.remote = &e->ops[op].remote,
		.cookie = cookie_of(end, op),
	};

	if (o->type != DPT_OP_READ)
		fill(t, end, op, iteration, &at);
	else if (t->tx->data == DPT_DATA_PATTERN)
		dpt_poison(&at);
	req.segs = make_iov(o, &e->ops[op].mem, iov);
	e->ops[op].pending = true;
	return dpt_end_post(t->tx->d, &e->end, &req);
}

/* Any request of this end that is under way may complete first. */
static int reap_one(struct dpt_tx_thread *t, uint32_t end)
{
	struct dpt_tx_end *e = &t->ends[end];
	DAT_DTO_COMPLETION_EVENT_DATA dto;
	uint32_t op;
	int rc;

	rc = dpt_end_next(t->tx->d, &e->end, e->end.req_evd, "a request", &dto);
	if (rc)
		return rc;
	op = (uint32_t)dto.user_cookie.as_64;
	if (dto.user_cookie.as_64 >> 32 != end || op >= t->tx->cmd.op_count ||
	    !e->ops[op].pending)
		return dt_fail(&t->tx->d->r, DT_FAILED,
			       "%s: completion of nothing that is under way "
			       "(cookie 0x%" PRIx64 ")",
			       e->end.name, dto.user_cookie.as_64);
	if (dto.transfered_length != dpt_op_bytes(&t->tx->cmd.ops[op]))
		return dt_fail(&t->tx->d->r, DT_FAILED,
			       "%s, operation %u: %" PRIu64
			       " bytes, expected %u",
			       e->end.name, op, (uint64_t)dto.transfered_length,
			       dpt_op_bytes(&t->tx->cmd.ops[op]));
	e->ops[op].pending = false;
	return 0;
}

static int reap(struct dpt_tx_thread *t, uint32_t end, uint32_t op)
{
	int rc = 0;

	while (!rc && t->ends[end].ops[op].pending)
		rc = reap_one(t, end);
	return rc;
}

/* Operations that this side starts. */
static int start_op(struct dpt_tx_thread *t, uint32_t op, uint32_t iteration)
{
	const struct dpt_op *o = &t->tx->cmd.ops[op];
	uint32_t eps = t->tx->cmd.eps;
	int rc = 0;

	for (uint32_t j = 0; !rc && j < eps; j++)
		rc = post(t, j, op, iteration);
	if (o->deferred && !t->tx->server)
		return rc;
	for (uint32_t j = 0; !rc && j < eps; j++) {
		struct dpt_layout at = segments(o, t->ends[j].ops[op].mem.base);

		rc = reap(t, j, op);
		if (!rc && o->type == DPT_OP_READ)
			rc = check(t, j, op, iteration, &at);
	}
	return rc;
}

static int receive(struct dpt_tx_thread *t, uint32_t end, uint32_t op,
		   uint32_t iteration)
{
	struct dpt_tx_end *e = &t->ends[end];
	const struct dpt_op *o = &t->tx->cmd.ops[op];
	struct dpt_layout at = segments(o, e->ops[op].mem.base);
	int rc;

	rc = dpt_end_reap(t->tx->d, &e->end, e->end.rcv_evd, cookie_of(end, op),
			  dpt_op_bytes(o), "a message");
	return rc ? rc : check(t, end, op, iteration, &at);
}

/* The oldest send whose completion the client put off. */
static int reap_deferred(struct dpt_tx_thread *t, uint32_t end)
{
	for (uint32_t k = 0; k < t->tx->cmd.op_count; k++)
		if (t->ends[end].ops[k].pending)
			return reap(t, end, k);
	/* It came while something else was waited for. */
	return 0;
}

/* Sends of the peer. Of its RDMA nothing is heard here. */
static int answer_op(struct dpt_tx_thread *t, uint32_t op, uint32_t iteration)
{
	const struct dpt_op *o = &t->tx->cmd.ops[op];
	bool last = iteration + 1 == t->tx->cmd.iterations;
	uint32_t eps = t->tx->cmd.eps;
	int rc = 0;

	if (o->type != DPT_OP_SEND)
		return 0;
	for (uint32_t j = 0; !rc && j < eps; j++)
		rc = receive(t, j, op, iteration);
	for (uint32_t j = 0; !rc && o->deferred && !t->tx->server && j < eps;
	     j++)
		rc = reap_deferred(t, j);
	for (uint32_t j = 0; !rc && !last && j < eps; j++)
		rc = post_receive(t, j, op);
	return rc;
}

/* Behind this operation the lists of -V order both sides, see above. */
static bool is_checkpoint(const struct dpt_tx *tx, uint32_t op)
{
	return tx->cmd.validate &&
	       op + (tx->server ? 2 : DPT_VERIFY_OPS) == tx->cmd.op_count;
}

static int post_final(struct dpt_tx_thread *t)
{
	int rc = 0;

	for (uint32_t j = 0; !rc && j < t->tx->cmd.eps; j++)
		rc = dpt_tx_post_control(t, &t->ends[j], DPT_TX_FINAL_IN,
					 DPT_SYNC_SIZE);
	return rc;
}

static int iterate_once(struct dpt_tx_thread *t, uint32_t iteration)
{
	struct dpt_tx *tx = t->tx;
	int rc = 0;

	if (tx->final && iteration + 1 == tx->cmd.iterations)
		rc = post_final(t);
	for (uint32_t k = 0; !rc && k < tx->cmd.op_count; k++) {
		rc = mine(tx, &tx->cmd.ops[k]) ? start_op(t, k, iteration)
					       : answer_op(t, k, iteration);
		if (rc || !is_checkpoint(tx, k))
			continue;
		rc = check_targets(t, iteration);
		fill_sources(t, iteration + 1);
	}
	return rc;
}

int dpt_tx_iterate(struct dpt_tx_thread *t)
{
	uint64_t start = dt_now_ns();
	int rc = 0;

	for (uint32_t i = 0; !rc && i < t->tx->cmd.iterations; i++) {
		uint64_t now;

		/* As long as events keep coming nobody waits, so ask here. */
		if (dt_stopped())
			return dt_fail(&t->tx->d->r, DT_INTERRUPTED,
				       "interrupted");
		if (t->tx->failed)
			return DT_FAILED;
		rc = iterate_once(t, i);
		now = dt_now_ns();
		dt_samples_add(&t->samples, now - start);
		start = now;
		t->done = i + 1;
	}
	return rc;
}

int dpt_tx_check_end(struct dpt_tx_thread *t)
{
	return t->tx->cmd.validate ? 0 : check_targets(t, 0);
}
