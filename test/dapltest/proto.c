/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * proto.c - what client and server of dapltest tell each other, in bytes.
 *
 * Does not send. Threads, ownership: see proto.h.
 * Rule: offsets are literals, one line per field and direction, so that they
 * can be laid beside a trace. We always say "little endian": a historic peer
 * of the other kind then swaps what it sends and receives.
 */
#include "test/dapltest/proto.h"

#include <endian.h>
#include <string.h>

/* clang-format off */
#define EXT_AT 64 /* of the info messages */

enum {
	INFO_VERSION	= 0,
	INFO_LITTLE	= 4,
	INFO_TEST	= 8,	/* client */
	INFO_QUAL	= 8,	/* server */
	INFO_EPS	= 12,
	EXT_MAGIC	= EXT_AT,
	EXT_FEATURES	= EXT_AT + 8,
	EXT_REASON	= EXT_AT + 16,

	T_SERVER	= 8,
	T_ITERATIONS	= 264,
	T_THREADS	= 268,
	T_EPS		= 272,
	T_RSP		= 280,
	T_DEBUG		= 284,
	T_VALIDATE	= 288,
	T_POLL		= 292,
	T_PORT		= 296,
	T_DEVICE	= 304,
	T_QOS		= 560,
	T_OP_COUNT	= 564,
	T_OPS		= 568,
	T_OP_SIZE	= 20,
	T_OLD		= 8,	/* less, from T_DEVICE on, in the older form */

	P_SERVER	= 8,
	P_DEVICE	= 264,
	P_QOS		= 520,
	P_DEBUG		= 524,
	P_POLL		= 528,
	P_ITERATIONS	= 532,
	P_PIPELINE	= 536,
	P_TYPE		= 540,
	P_SEG_SIZE	= 544,
	P_SEGS		= 548,
	P_PORT		= 556,

	Q_SERVER	= 0,
	Q_DEVICE	= 256,
	Q_DEBUG		= 512,
	Q_QOS		= 516,
	Q_PORT		= 520,
};
/* clang-format on */

static const uint8_t ext_magic[8] = {0xda, 0x71, 't', 'e', 's', 't', 0, 1};

static void put32(uint8_t *msg, size_t at, uint32_t value)
{
	value = htole32(value);
	memcpy(msg + at, &value, sizeof(value));
}

static uint32_t get32(const uint8_t *msg, size_t at)
{
	uint32_t value;

	memcpy(&value, msg + at, sizeof(value));
	return le32toh(value);
}

static void put64(uint8_t *msg, size_t at, uint64_t value)
{
	value = htole64(value);
	memcpy(msg + at, &value, sizeof(value));
}

static uint64_t get64(const uint8_t *msg, size_t at)
{
	uint64_t value;

	memcpy(&value, msg + at, sizeof(value));
	return le64toh(value);
}

static void put_text(uint8_t *msg, size_t at, const char *text, size_t size)
{
	size_t n = strnlen(text, size - 1);

	memcpy(msg + at, text, n);
}

/* Texts are shown: what could upset a terminal becomes a dot. */
static void get_text(const uint8_t *msg, size_t at, char *text, size_t size)
{
	size_t n = 0;

	while (n < size - 1 && msg[at + n]) {
		uint8_t c = msg[at + n];

		text[n++] = c < 0x20 || c > 0x7e ? '.' : (char)c;
	}
	text[n] = 0;
}

/* False if the port is not one; in the older form a text is there. */
static bool get_port(const uint8_t *msg, size_t at, uint16_t *ret_port)
{
	uint64_t port = get64(msg, at);

	*ret_port = (uint16_t)port;
	return port > 0 && port <= UINT16_MAX;
}

static void put_head(uint8_t *msg)
{
	memset(msg, 0, DPT_MSG_SIZE);
	put32(msg, INFO_VERSION, DPT_VERSION);
	put32(msg, INFO_LITTLE, 1);
}

static const char *head_wrong(const uint8_t *msg)
{
	if (get32(msg, INFO_VERSION) != DPT_VERSION)
		return "it speaks another version of the protocol (this one "
		       "is 6), or is no dapltest";
	if (get32(msg, INFO_LITTLE) > 1)
		return "its byte order is neither little nor big";
	return NULL;
}

static void put_extension(uint8_t *msg, const struct dpt_extension *ext)
{
	if (!ext->present)
		return;
	memcpy(msg + EXT_MAGIC, ext_magic, sizeof(ext_magic));
	put32(msg, EXT_FEATURES, ext->features);
	put_text(msg, EXT_REASON, ext->reason, DPT_REASON_SIZE);
}

static void get_extension(const uint8_t *msg, struct dpt_extension *ext)
{
	memset(ext, 0, sizeof(*ext));
	if (memcmp(msg + EXT_MAGIC, ext_magic, sizeof(ext_magic)))
		return;
	ext->present = true;
	ext->features = get32(msg, EXT_FEATURES);
	get_text(msg, EXT_REASON, ext->reason, DPT_REASON_SIZE);
}

void dpt_put_client_info(uint8_t msg[DPT_MSG_SIZE],
			 const struct dpt_client_info *info)
{
	put_head(msg);
	put32(msg, INFO_TEST, (uint32_t)info->test);
	put32(msg, INFO_EPS, info->eps);
	put_extension(msg, &info->ext);
}

const char *dpt_get_client_info(const uint8_t msg[DPT_MSG_SIZE],
				struct dpt_client_info *ret_info)
{
	uint32_t test = get32(msg, INFO_TEST), eps = get32(msg, INFO_EPS);
	const char *wrong = head_wrong(msg);

	if (wrong)
		return wrong;
	if (test != DPT_TRANSACTION && test != DPT_PERFORMANCE &&
	    test != DPT_QUIT)
		return "it asks for a test that a server does not run";
	if (eps > DPT_EPS_MAX || (test != DPT_QUIT && !eps))
		return "it asks for no endpoint, or for more than 1000";
	ret_info->test = (enum dpt_test)test;
	ret_info->eps = eps;
	get_extension(msg, &ret_info->ext);
	return NULL;
}

void dpt_put_server_info(uint8_t msg[DPT_MSG_SIZE],
			 const struct dpt_server_info *info)
{
	put_head(msg);
	put32(msg, INFO_QUAL, info->qual);
	put_extension(msg, &info->ext);
}

const char *dpt_get_server_info(const uint8_t msg[DPT_MSG_SIZE],
				struct dpt_server_info *ret_info)
{
	const char *wrong = head_wrong(msg);

	if (wrong)
		return wrong;
	ret_info->qual = get32(msg, INFO_QUAL);
	get_extension(msg, &ret_info->ext);
	return NULL;
}

static void put_op(uint8_t *p, const struct dpt_op *op)
{
	put32(p, 0, op->server);
	put32(p, 4, (uint32_t)op->type);
	put32(p, 8, op->segs);
	put32(p, 12, op->seg_size);
	put32(p, 16, op->deferred);
}

/* dpt_ops_wrong() judges the values. */
static void get_op(const uint8_t *p, struct dpt_op *op)
{
	op->server = get32(p, 0) != 0;
	op->type = (enum dpt_op_type)get32(p, 4);
	op->segs = get32(p, 8);
	op->seg_size = get32(p, 12);
	op->deferred = get32(p, 16) != 0;
}

void dpt_put_transaction(uint8_t msg[DPT_MSG_SIZE],
			 const struct dpt_transaction *cmd)
{
	size_t less = cmd->old_form ? T_OLD : 0;

	put_head(msg);
	put_text(msg, T_SERVER, cmd->server, DPT_NAME_SIZE);
	put32(msg, T_ITERATIONS, cmd->iterations);
	put32(msg, T_THREADS, cmd->threads);
	put32(msg, T_EPS, cmd->eps);
	put32(msg, T_RSP, cmd->rsp);
	put32(msg, T_DEBUG, cmd->debug);
	put32(msg, T_VALIDATE, cmd->validate);
	put32(msg, T_POLL, cmd->poll);
	if (!cmd->old_form)
		put64(msg, T_PORT, cmd->port);
	put_text(msg, T_DEVICE - less, cmd->device, DPT_NAME_SIZE);
	put32(msg, T_QOS - less, cmd->qos);
	put32(msg, T_OP_COUNT - less, cmd->op_count);
	for (uint32_t i = 0; i < cmd->op_count && i < DPT_OPS_MAX; i++)
		put_op(msg + T_OPS - less + i * T_OP_SIZE, &cmd->ops[i]);
}

static const char *transaction_wrong(const struct dpt_transaction *cmd)
{
	if (!cmd->iterations || cmd->iterations > DPT_ITERATIONS_MAX)
		return "it asks for no iterations, or for too many";
	if (!cmd->threads || cmd->threads > DPT_THREADS_MAX)
		return "it asks for no threads, or for more than 256";
	if (!cmd->eps || cmd->eps > DPT_EPS_MAX ||
	    cmd->threads * cmd->eps > DPT_EPS_MAX)
		return "it asks for no endpoint, or for more than 1000";
	return dpt_ops_wrong(cmd->ops, cmd->op_count);
}

/* less: by which the form is shorter in front of T_DEVICE. */
static const char *get_form(const uint8_t *msg, size_t less,
			    struct dpt_transaction *ret_cmd)
{
	struct dpt_transaction cmd;
	const char *wrong;

	memset(&cmd, 0, sizeof(cmd));
	cmd.old_form = less != 0;
	if (!less && !get_port(msg, T_PORT, &cmd.port))
		return "its transaction command has no port";
	cmd.op_count = get32(msg, T_OP_COUNT - less);
	if (cmd.op_count > DPT_OPS_MAX)
		return "it asks for more than 100 operations";
	for (uint32_t i = 0; i < cmd.op_count; i++)
		get_op(msg + T_OPS - less + i * T_OP_SIZE, &cmd.ops[i]);
	get_text(msg, T_SERVER, cmd.server, DPT_NAME_SIZE);
	get_text(msg, T_DEVICE - less, cmd.device, DPT_NAME_SIZE);
	cmd.iterations = get32(msg, T_ITERATIONS);
	cmd.threads = get32(msg, T_THREADS);
	cmd.eps = get32(msg, T_EPS);
	cmd.rsp = get32(msg, T_RSP) != 0;
	cmd.debug = get32(msg, T_DEBUG);
	cmd.validate = get32(msg, T_VALIDATE) != 0;
	cmd.poll = get32(msg, T_POLL) != 0;
	cmd.qos = get32(msg, T_QOS - less);
	wrong = transaction_wrong(&cmd);
	if (!wrong)
		*ret_cmd = cmd;
	return wrong;
}

/*
 * Both forms have version 6. Where the newer has a port the older has the
 * device's name, which may look like one if it is short; then its operations
 * make no sense in the newer form.
 */
const char *dpt_get_transaction(const uint8_t msg[DPT_MSG_SIZE],
				struct dpt_transaction *ret_cmd)
{
	const char *wrong = head_wrong(msg);

	if (wrong)
		return wrong;
	wrong = get_form(msg, 0, ret_cmd);
	return wrong && get_form(msg, T_OLD, ret_cmd) ? wrong : NULL;
}

void dpt_put_performance(uint8_t msg[DPT_MSG_SIZE],
			 const struct dpt_performance *cmd)
{
	put_head(msg);
	put_text(msg, P_SERVER, cmd->server, DPT_NAME_SIZE);
	put_text(msg, P_DEVICE, cmd->device, DPT_NAME_SIZE);
	put32(msg, P_QOS, cmd->qos);
	put32(msg, P_DEBUG, cmd->debug);
	put32(msg, P_POLL, cmd->poll);
	put32(msg, P_ITERATIONS, cmd->iterations);
	put32(msg, P_PIPELINE, cmd->pipeline);
	put32(msg, P_TYPE, (uint32_t)cmd->op.type);
	put32(msg, P_SEG_SIZE, cmd->op.seg_size);
	put32(msg, P_SEGS, cmd->op.segs);
	put64(msg, P_PORT, cmd->port);
}

static const char *performance_wrong(const struct dpt_performance *cmd)
{
	const struct dpt_op *op = &cmd->op;

	if (!cmd->iterations || cmd->iterations > DPT_ITERATIONS_MAX)
		return "it asks for no iterations, or for too many";
	if (!cmd->pipeline)
		return "it asks for a pipeline of length 0";
	if (op->type != DPT_OP_READ && op->type != DPT_OP_WRITE)
		return "it asks for an operation other than RDMA read or write";
	if (!op->segs || !op->seg_size || op->segs > DPT_SEGS_MAX ||
	    (uint64_t)op->segs * op->seg_size > DPT_TRANSFER_MAX)
		return "an operation moves nothing, or more than 1 GiB";
	return NULL;
}

const char *dpt_get_performance(const uint8_t msg[DPT_MSG_SIZE],
				struct dpt_performance *ret_cmd)
{
	struct dpt_performance cmd;
	const char *wrong = head_wrong(msg);

	if (wrong)
		return wrong;
	memset(&cmd, 0, sizeof(cmd));
	get_text(msg, P_SERVER, cmd.server, DPT_NAME_SIZE);
	get_text(msg, P_DEVICE, cmd.device, DPT_NAME_SIZE);
	cmd.qos = get32(msg, P_QOS);
	cmd.debug = get32(msg, P_DEBUG);
	cmd.poll = get32(msg, P_POLL) != 0;
	cmd.iterations = get32(msg, P_ITERATIONS);
	cmd.pipeline = get32(msg, P_PIPELINE);
	cmd.op.type = (enum dpt_op_type)get32(msg, P_TYPE);
	cmd.op.seg_size = get32(msg, P_SEG_SIZE);
	cmd.op.segs = get32(msg, P_SEGS);
	/* Nothing depends on it; the historic server ignores it too. */
	get_port(msg, P_PORT, &cmd.port);
	wrong = performance_wrong(&cmd);
	if (wrong)
		return wrong;
	*ret_cmd = cmd;
	return NULL;
}

void dpt_put_quit(uint8_t msg[DPT_MSG_SIZE], const struct dpt_quit *cmd)
{
	memset(msg, 0, DPT_MSG_SIZE);
	put_text(msg, Q_SERVER, cmd->server, DPT_NAME_SIZE);
	put_text(msg, Q_DEVICE, cmd->device, DPT_NAME_SIZE);
	put32(msg, Q_DEBUG, cmd->debug);
	put32(msg, Q_QOS, cmd->qos);
	put64(msg, Q_PORT, cmd->port);
}

const char *dpt_get_quit(const uint8_t msg[DPT_MSG_SIZE],
			 struct dpt_quit *ret_cmd)
{
	get_text(msg, Q_SERVER, ret_cmd->server, DPT_NAME_SIZE);
	get_text(msg, Q_DEVICE, ret_cmd->device, DPT_NAME_SIZE);
	ret_cmd->debug = get32(msg, Q_DEBUG);
	ret_cmd->qos = get32(msg, Q_QOS);
	get_port(msg, Q_PORT, &ret_cmd->port);
	return NULL;
}

void dpt_put_address(uint8_t *p, uint32_t context, uint64_t address)
{
	put32(p, 0, context);
	put64(p, 4, address);
}

void dpt_get_address(const uint8_t *p, uint32_t *ret_context,
		     uint64_t *ret_address)
{
	*ret_context = get32(p, 0);
	*ret_address = get64(p, 4);
}
