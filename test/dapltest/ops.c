/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops.c - the operations of transaction and performance tests, as words.
 *
 * Does not print: sentences go to the caller.
 * Threads, ownership, rule: see ops.h.
 */
#include "test/dapltest/ops.h"

#include "test/dtest/common/dt_num.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const type_names[DPT_OP_TYPE_N] = {
	[DPT_OP_READ] = "RR",
	[DPT_OP_WRITE] = "RW",
	[DPT_OP_SEND] = "SR",
};

/* Words left to read, and where to complain. */
struct words {
	int left;
	char *const *next;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct words *w,
						       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->why, w->why_size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static const char *peek(const struct words *w)
{
	return w->left > 0 ? *w->next : "";
}

static const char *take(struct words *w)
{
	w->left--;
	return *w->next++;
}

const char *dpt_op_name(enum dpt_op_type type)
{
	return (unsigned int)type < DPT_OP_TYPE_N ? type_names[type] : "??";
}

static int take_type(struct words *w, enum dpt_op_type *ret_type)
{
	const char *word = peek(w);

	for (unsigned int i = 0; i < DPT_OP_TYPE_N; i++) {
		if (!strcmp(word, type_names[i])) {
			take(w);
			*ret_type = (enum dpt_op_type)i;
			return 0;
		}
	}
	return wrong(w, "'%s': expected SR, RR or RW", word);
}

/* A number if the next word is meant as one, else what was there. */
static int take_count(struct words *w, const char *what, uint32_t max,
		      uint32_t *value)
{
	uint64_t number;
	int rc;

	if (!isdigit((unsigned char)peek(w)[0]))
		return 0;
	rc = dt_parse_count(peek(w), 1, max, &number);
	if (rc)
		return wrong(w, "'%s': %s must be a number from 1 to %u",
			     peek(w), what, max);
	take(w);
	*value = (uint32_t)number;
	return 0;
}

static int take_sizes(struct words *w, struct dpt_op *op)
{
	int rc;

	op->seg_size = DPT_SEG_SIZE;
	op->segs = 1;
	rc = take_count(w, "a segment's size", DPT_SEG_SIZE_MAX, &op->seg_size);
	if (!rc)
		rc = take_count(w, "the number of segments", DPT_SEGS_MAX,
				&op->segs);
	return rc;
}

static int take_op(struct words *w, struct dpt_op *ret_op)
{
	struct dpt_op op = {.segs = 0};
	const char *side = take(w);
	int rc;

	if (strcmp(side, "client") && strcmp(side, "server"))
		return wrong(w, "'%s': expected client or server", side);
	op.server = side[0] == 's';
	rc = take_type(w, &op.type);
	if (!rc)
		rc = take_sizes(w, &op);
	if (rc)
		return rc;
	if (!strcmp(peek(w), "-f")) {
		take(w);
		op.deferred = true;
	}
	*ret_op = op;
	return 0;
}

static const char *op_wrong(const struct dpt_op *op)
{
	if ((unsigned int)op->type >= DPT_OP_TYPE_N)
		return "an operation is of no known type";
	if (!op->segs || !op->seg_size || op->segs > DPT_SEGS_MAX ||
	    (uint64_t)op->segs * op->seg_size > DPT_TRANSFER_MAX)
		return "an operation moves nothing, or more than 1 GiB";
	if (op->deferred && op->type != DPT_OP_SEND)
		return "-f is for SR only";
	return NULL;
}

bool dpt_ops_have_rdma(const struct dpt_op *ops, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (ops[i].type != DPT_OP_SEND)
			return true;
	return false;
}

const char *dpt_ops_wrong(const struct dpt_op *ops, uint32_t count)
{
	bool sends[2] = {false, false};
	uint32_t deferred = 0;
	const char *text;

	for (uint32_t i = 0; i < count; i++) {
		text = op_wrong(&ops[i]);
		if (text)
			return text;
		if (ops[i].type == DPT_OP_SEND)
			sends[ops[i].server] = true;
		if (ops[i].deferred && !ops[i].server)
			deferred++;
		if (ops[i].deferred && ops[i].server && !deferred--)
			return "a server's -f needs a client's -f before it";
	}
	if (!sends[0] || !sends[1])
		return "a client SR and a server SR are needed at least";
	return deferred ? "a client's -f needs a server's -f behind it" : NULL;
}

static void add_verify_ops(struct dpt_op *ops, uint32_t *count)
{
	for (unsigned int i = 0; i < DPT_VERIFY_OPS; i++)
		ops[(*count)++] = (struct dpt_op){
			.server = i != 1,
			.type = DPT_OP_SEND,
			.segs = 1,
			.seg_size = DPT_SEG_SIZE,
		};
}

int dpt_parse_ops(int argc, char *const *argv, bool verify,
		  struct dpt_op ops[DPT_OPS_MAX], uint32_t *ret_count,
		  char *why, size_t why_size)
{
	struct words w = {argc, argv, why, why_size};
	uint32_t room = DPT_OPS_MAX - (verify ? DPT_VERIFY_OPS : 0);
	uint32_t count = 0;
	const char *text;

	while (w.left > 0) {
		int rc;

		if (count == room)
			return wrong(&w, "more than %u operations", room);
		rc = take_op(&w, &ops[count++]);
		if (rc)
			return rc;
	}
	if (!count)
		return wrong(&w, "no operations; for example: client SR 256 "
				 "server SR 256");
	if (verify)
		add_verify_ops(ops, &count);
	text = dpt_ops_wrong(ops, count);
	if (text)
		return wrong(&w, "%s", text);
	*ret_count = count;
	return 0;
}

int dpt_parse_perf_op(int argc, char *const *argv, struct dpt_op *ret_op,
		      char *why, size_t why_size)
{
	struct words w = {argc, argv, why, why_size};
	struct dpt_op op = {.server = false};
	const char *text;

	if (!argc)
		return wrong(&w, "no operation; for example: RW 4096 1");
	if (!strcmp(peek(&w), "SR"))
		return wrong(&w, "SR: a performance test takes RR or RW");
	if (take_type(&w, &op.type) || take_sizes(&w, &op))
		return -EINVAL;
	if (w.left > 0)
		return wrong(&w, "'%s': one operation only", peek(&w));
	text = op_wrong(&op);
	if (text)
		return wrong(&w, "%s", text);
	*ret_op = op;
	return 0;
}
