/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dcm_msg.c - the CM message against the golden bytes of test/wire.
 *
 * Calls covered: dcm_msg_encode, dcm_msg_decode, dcm_msg_decode_header,
 * dcm_op_has_pdata, dcm_op_name, dcm_block_*. What the bytes of a message are
 * for is said beside the table; framing of streams is tested elsewhere. One
 * thread.
 */
#include "dapl/common/cm/dcm/dcm_msg.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/case.h"
#include "test/wire/wire.h"

/* Room for what peers of version 7 may send. */
#define WIRE_MAX 512

#define GID                                                                    \
	{                                                                      \
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0x12, \
			0x34, 0x56                                             \
	}
#define RC(number)                                                \
	{                                                         \
		.qpn = (number), .gid = GID, .qp_type = DCM_QP_RC \
	}
/* An address of UCM, in which the number was cleared. */
#define IA                                                           \
	{                                                            \
		.family = AF_INET6, .gid = GID, .qp_type = DCM_QP_UD \
	}

struct golden {
	const char *name;
	size_t surplus; /* bytes behind the message */
	/* Written anew from the values, the bytes are the same. */
	bool ours;
	uint16_t wire_p_size; /* if the op has no data but a size */
	struct dcm_msg msg;   /* without blocks and data */
	struct dcm_ib saddr, daddr;
	uint8_t pdata0; /* first byte of data; the others count up */
};

/* What all messages of the captured exchange have in common. */
#define ACTIVE .version = 9, .mtu = 3, ACTIVE_OF_ANY_VERSION
#define ACTIVE_OF_ANY_VERSION                                               \
	.sport = 1, .dport = 0xb0c0, .sqpn = 0x18, .dqpn = 0x15, .s_id = 1, \
	.responder_resources = 4
#define PASSIVE                                                                \
	.version = 9, .sport = 0xb0c0, .dport = 1, .sqpn = 0x15, .dqpn = 0x18, \
	.s_id = 2, .d_id = 1, .responder_resources = 4, .mtu = 3

static const struct golden goldens[] = {
	{.name = "ucm-req",
	 .ours = true,
	 .msg = {ACTIVE, .op = DCM_REQ, .p_size = 20},
	 .saddr = RC(0x19),
	 .daddr = IA,
	 .pdata0 = 0x50},
	{.name = "ucm-req-full",
	 .ours = true,
	 .msg = {ACTIVE, .op = DCM_REQ, .p_size = DCM_PDATA},
	 .saddr = RC(0x19),
	 .daddr = IA},
	{.name = "ucm-req-repeat",
	 .ours = true,
	 .msg = {.version = 9,
		 .op = DCM_REQ,
		 .sport = 0x120001,
		 .dport = 0x34b0c0,
		 .sqpn = 0x18,
		 .dqpn = 0x15,
		 .s_id = 1,
		 .responder_resources = 4,
		 .rtns = 3,
		 .mtu = 3,
		 .p_size = 20},
	 .saddr = RC(0x19),
	 .daddr = IA,
	 .pdata0 = 0x50},
	{.name = "ucm-rep",
	 .ours = true,
	 .msg = {PASSIVE, .op = DCM_REP, .p_size = 10},
	 .saddr = RC(0x16),
	 .daddr = RC(0x19),
	 .pdata0 = 0xa0},
	{.name = "ucm-rtu",
	 .ours = true,
	 .wire_p_size = 20,
	 .msg = {ACTIVE, .op = DCM_RTU, .d_id = 2},
	 .saddr = RC(0x19),
	 .daddr = RC(0x16)},
	{.name = "ucm-dreq",
	 .ours = true,
	 .wire_p_size = 20,
	 .msg = {ACTIVE, .op = DCM_DREQ, .d_id = 2},
	 .saddr = RC(0x19),
	 .daddr = RC(0x16)},
	{.name = "ucm-drep",
	 .ours = true,
	 .wire_p_size = 20,
	 .msg = {PASSIVE, .op = DCM_DREP},
	 .saddr = RC(0x16),
	 .daddr = RC(0x19)},
	{.name = "ucm-rej-user",
	 .ours = true,
	 .msg = {.version = 9,
		 .op = DCM_REJ_USER,
		 .sport = 0xb0c0,
		 .dport = 1,
		 .sqpn = 0x18,
		 .dqpn = 0x1b,
		 .s_id = 2,
		 .d_id = 1,
		 .responder_resources = 4,
		 .mtu = 3,
		 .p_size = 12},
	 .saddr = RC(0),
	 .daddr = RC(0x1c),
	 .pdata0 = 0xa0},
	{.name = "ucm-rej-no-listener",
	 .ours = true,
	 .msg = {.version = 9,
		 .op = DCM_REJ_CM,
		 .sport = 0xa028,
		 .dport = 1,
		 .sqpn = 0x12,
		 .dqpn = 0x15},
	 .saddr = IA,
	 .daddr = RC(0x16)},
	{.name = "ucm-v8-req",
	 .msg = {ACTIVE_OF_ANY_VERSION, .version = 8, .op = DCM_REQ,
		 .p_size = 20},
	 .saddr = RC(0x19),
	 .daddr = IA,
	 .pdata0 = 0x50},
	{.name = "ucm-v7-req",
	 .surplus = 2,
	 .msg = {ACTIVE_OF_ANY_VERSION, .version = 7, .op = DCM_REQ,
		 .p_size = 20},
	 .saddr = RC(0x19),
	 .daddr = IA,
	 .pdata0 = 0x50},
	{.name = "ucm-v10-req",
	 .ours = true,
	 .msg = {ACTIVE_OF_ANY_VERSION, .version = 10, .mtu = 3, .op = DCM_REQ,
		 .p_size = 20},
	 .saddr = RC(0x19),
	 .daddr = IA,
	 .pdata0 = 0x50},
};

#define N_GOLDENS (sizeof(goldens) / sizeof(goldens[0]))

/* ----------------------------------------------------- helpers */

/* The captured private data counts up, and begins anew after 16 bytes. */
static uint8_t data_at(const struct golden *g, size_t i)
{
	size_t period = g->msg.p_size == DCM_PDATA ? DCM_PDATA : 16;

	return (uint8_t)(g->pdata0 + i % period);
}

static struct dcm_msg golden_msg(const struct golden *g)
{
	struct dcm_msg msg = g->msg;

	dcm_block_set_ib(&msg.saddr, &g->saddr);
	dcm_block_set_ib(&msg.daddr, &g->daddr);
	for (size_t i = 0; i < msg.p_size; i++)
		msg.pdata[i] = data_at(g, i);
	return msg;
}

static void assert_ib_equal(const struct dcm_block *block,
			    const struct dcm_ib *want)
{
	struct dcm_ib ib;

	dcm_block_get_ib(block, &ib);
	assert_int_equal(ib.family, want->family);
	assert_int_equal(ib.lid, want->lid);
	assert_int_equal(ib.qpn, want->qpn);
	assert_memory_equal(ib.gid, want->gid, sizeof(ib.gid));
	assert_int_equal(ib.sl, want->sl);
	assert_int_equal(ib.qp_type, want->qp_type);
}

static void assert_msg_equal(const struct dcm_msg *a, const struct dcm_msg *b)
{
	assert_int_equal(a->version, b->version);
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->sport, b->sport);
	assert_int_equal(a->dport, b->dport);
	assert_int_equal(a->sqpn, b->sqpn);
	assert_int_equal(a->dqpn, b->dqpn);
	assert_int_equal(a->s_id, b->s_id);
	assert_int_equal(a->d_id, b->d_id);
	assert_int_equal(a->responder_resources, b->responder_resources);
	assert_int_equal(a->rtns, b->rtns);
	assert_int_equal(a->mtu, b->mtu);
	assert_int_equal(a->p_size, b->p_size);
	assert_memory_equal(&a->saddr, &b->saddr, sizeof(a->saddr));
	assert_memory_equal(&a->daddr, &b->daddr, sizeof(a->daddr));
	assert_memory_equal(&a->saddr_alt, &b->saddr_alt, sizeof(a->saddr_alt));
	assert_memory_equal(a->pdata, b->pdata, a->p_size);
}

/* Decodes exactly LEN bytes, so that reading beyond them is noticed. */
static int decode(const uint8_t *bytes, size_t len, struct dcm_msg *ret_msg)
{
	uint8_t *copy = malloc(len ? len : 1);
	int ret;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	ret = dcm_msg_decode(copy, len, ret_msg);
	free(copy);
	return ret;
}

/* ------------------------------------------------------ golden */

CASE(decode__gives_the_documented_values)
{
	uint8_t bytes[WIRE_MAX];
	struct dcm_msg msg, want;
	size_t i, len;

	for (i = 0; i < N_GOLDENS; i++) {
		print_message("# %s\n", goldens[i].name);
		len = wire_load(goldens[i].name, bytes, sizeof(bytes));
		assert_int_equal(decode(bytes, len, &msg), 0);
		want = golden_msg(&goldens[i]);
		assert_msg_equal(&msg, &want);
		assert_ib_equal(&msg.saddr, &goldens[i].saddr);
		assert_ib_equal(&msg.daddr, &goldens[i].daddr);
	}
}

CASE(encode__gives_the_documented_bytes)
{
	uint8_t bytes[WIRE_MAX], ours[DCM_MSG];
	struct dcm_msg msg;
	size_t i, len;

	for (i = 0; i < N_GOLDENS; i++) {
		if (!goldens[i].ours)
			continue;
		print_message("# %s\n", goldens[i].name);
		len = wire_load(goldens[i].name, bytes, sizeof(bytes));
		msg = golden_msg(&goldens[i]);
		if (!dcm_op_has_pdata(msg.op))
			msg.p_size = goldens[i].wire_p_size;
		memset(ours, 0xee, sizeof(ours));
		assert_int_equal(dcm_msg_encode(&msg, ours), len);
		assert_memory_equal(ours, bytes, len);
	}
}

CASE(decode__refuses_any_truncation)
{
	uint8_t bytes[WIRE_MAX];
	struct dcm_msg msg, before;
	size_t i, len, n;

	memset(&before, 0xa5, sizeof(before));
	for (i = 0; i < N_GOLDENS; i++) {
		len = wire_load(goldens[i].name, bytes, sizeof(bytes));
		len -= goldens[i].surplus;
		for (n = 0; n < len; n++) {
			msg = before;
			assert_int_equal(decode(bytes, n, &msg), -EBADMSG);
			assert_memory_equal(&msg, &before, sizeof(msg));
		}
		assert_int_equal(decode(bytes, len, &msg), 0);
	}
}

CASE(decode__ignores_bytes_behind_the_message)
{
	uint8_t bytes[WIRE_MAX];
	struct dcm_msg msg, want;
	size_t i, len, n;

	memset(bytes, 0xee, sizeof(bytes));
	for (i = 0; i < N_GOLDENS; i++) {
		want = golden_msg(&goldens[i]);
		len = wire_load(goldens[i].name, bytes, sizeof(bytes));
		for (n = len; n < len + 8; n++) {
			assert_int_equal(decode(bytes, n, &msg), 0);
			assert_msg_equal(&msg, &want);
		}
	}
}

/* ------------------------------------------------ single rules */

CASE(decode__checks_every_p_size)
{
	uint8_t bytes[WIRE_MAX];
	struct dcm_msg msg;
	unsigned size;
	uint16_t op;

	memset(bytes, 0xee, sizeof(bytes));
	wire_load("ucm-req", bytes, sizeof(bytes));
	for (op = 0; op <= DCM_OP_N; op++)
		for (size = 0; size <= UINT16_MAX; size++) {
			bool over = dcm_op_has_pdata(op) && size > DCM_PDATA;

			bytes[3] = (uint8_t)op;
			bytes[16] = (uint8_t)(size >> 8);
			bytes[17] = (uint8_t)size;
			assert_int_equal(dcm_msg_decode(bytes, DCM_MSG, &msg),
					 over ? -EMSGSIZE : 0);
			if (over)
				continue;
			assert_int_equal(msg.p_size,
					 dcm_op_has_pdata(op) ? size : 0);
		}
}

/* Version 7 had room for more than fits in a message of today. */
CASE(decode__refuses_118_bytes_of_version_7)
{
	uint8_t bytes[WIRE_MAX];
	struct dcm_msg msg;
	size_t len = wire_load("ucm-v7-req-118", bytes, sizeof(bytes));

	assert_int_equal(decode(bytes, len, &msg), -EMSGSIZE);
}

CASE(decode__refuses_versions_below_6)
{
	uint8_t bytes[WIRE_MAX];
	struct dcm_msg msg;
	size_t len = wire_load("ucm-v5-req", bytes, sizeof(bytes));
	unsigned version;

	assert_int_equal(decode(bytes, len, &msg), -EPROTO);
	for (version = 0; version <= UINT16_MAX; version++) {
		bytes[0] = (uint8_t)(version >> 8);
		bytes[1] = (uint8_t)version;
		assert_int_equal(dcm_msg_decode(bytes, len, &msg),
				 version < DCM_VERSION_MIN ? -EPROTO : 0);
	}
}

/* Any byte of a message that decodes is kept, or is one that means nothing. */
CASE(round_trip__keeps_every_byte_that_means_something)
{
	static const uint8_t gaps[] = {18, 19, 33, 34, 35};
	uint8_t bytes[WIRE_MAX], again[DCM_MSG];
	struct dcm_msg msg;
	size_t at, i, len;
	bool kept;

	for (at = 0; at < DCM_MSG; at++) {
		memset(bytes, 0, sizeof(bytes));
		len = wire_load("ucm-req-full", bytes, sizeof(bytes));
		assert_int_equal(len, DCM_MSG);
		bytes[at] ^= 0x10;
		if (dcm_msg_decode(bytes, len, &msg) ||
		    !dcm_op_has_pdata(msg.op))
			continue; /* now the size means something else */
		len = dcm_msg_encode(&msg, again);
		kept = at < 120 || at >= DCM_HEADER;
		for (i = 0; i < sizeof(gaps); i++)
			kept = kept && at != gaps[i];
		if (!kept)
			bytes[at] ^= 0x10;
		assert_memory_equal(again, bytes, len);
	}
}

/* Before version 9 it could be anything. */
CASE(decode__alternate_address_since_version_9)
{
	static const struct dcm_block zero;
	uint8_t bytes[WIRE_MAX];
	struct dcm_msg msg;
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));

	memset(bytes + 92, 0xee, 28);
	assert_int_equal(decode(bytes, len, &msg), 0);
	assert_memory_equal(&msg.saddr_alt, bytes + 92, 28);
	bytes[1] = 8;
	assert_int_equal(decode(bytes, len, &msg), 0);
	assert_memory_equal(&msg.saddr_alt, &zero, 28);
}

CASE(decode_header__leaves_the_data_alone)
{
	uint8_t bytes[WIRE_MAX];
	struct dcm_msg msg;

	wire_load("ucm-req", bytes, sizeof(bytes));
	memset(&msg, 0xa5, sizeof(msg));
	assert_int_equal(dcm_msg_decode_header(bytes, &msg), 0);
	assert_int_equal(msg.p_size, 20);
	for (size_t i = 0; i < DCM_PDATA; i++)
		assert_int_equal(msg.pdata[i], 0xa5);
}

/* ------------------------------------------------------ blocks */

CASE(block__sockaddr_there_and_back)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(34332),
		.sin_addr.s_addr = htonl(0x0a00020f),
	};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_scope_id = 7};
	struct dcm_block block, zero = {0};

	/* As captured: the family in host order, the rest as on the wire. */
	dcm_block_set_sockaddr(&block, (struct sockaddr *)&in);
	assert_memory_equal(block.b, &in, sizeof(in));
	assert_memory_equal(block.b + sizeof(in), &zero,
			    sizeof(block) - sizeof(in));

	memset(&in6.sin6_addr, 0xfd, sizeof(in6.sin6_addr));
	dcm_block_set_sockaddr(&block, (struct sockaddr *)&in6);
	assert_memory_equal(block.b, &in6, sizeof(in6));

	in.sin_family = AF_UNIX;
	dcm_block_set_sockaddr(&block, (struct sockaddr *)&in);
	assert_memory_equal(&block, &zero, sizeof(block));
}

CASE(block__ib_there_and_back)
{
	static const struct dcm_ib ib = {.lid = 0x1234,
					 .qpn = 0xabcdef,
					 .gid = GID,
					 .sl = 5,
					 .qp_type = DCM_QP_RC};
	static const uint8_t bytes[28] = {
		0, 0, 0x12, 0x34, 0, 0xab, 0xcd, 0xef, 0xfe, 0x80, 0, 0, 0, 0,
		0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 0x56, 0, 0, 5, 2};
	struct dcm_block block;

	memset(&block, 0xee, sizeof(block));
	dcm_block_set_ib(&block, &ib);
	assert_memory_equal(block.b, bytes, sizeof(bytes));
	assert_ib_equal(&block, &ib);
}

CASE(op__has_a_name_and_data_or_not)
{
	static const char *const names[] = {"?",	"REQ",	  "REP",
					    "REJ_USER", "REJ_CM", "RTU",
					    "DREQ",	"DREP",	  "?"};
	uint16_t op;

	for (op = 0; op <= DCM_OP_N; op++) {
		assert_string_equal(dcm_op_name(op), names[op]);
		assert_int_equal(dcm_op_has_pdata(op), op >= 1 && op <= 4);
	}
	assert_string_equal(dcm_op_name(UINT16_MAX), "?");
}

RUN_CASES(NULL, NULL)
