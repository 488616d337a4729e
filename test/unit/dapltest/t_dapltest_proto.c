/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapltest_proto.c - tests of the control messages of dapltest.
 *
 * Calls covered: dpt_put_*, dpt_get_*.
 * Rule: golden bytes are those of the historic tool 2.1.10.1, read off the
 * wire: offset and value of each field, everything else zero. The form before
 * 2.1 lacks the port.
 */
#include "test/dapltest/proto.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/case.h"

struct field {
	size_t at;
	uint32_t value;
};

struct text {
	size_t at;
	const char *value;
};

/* A message from its fields, without the code under test. */
static void golden(uint8_t msg[DPT_MSG_SIZE], const struct field *f, size_t n,
		   const struct text *t, size_t n_text)
{
	memset(msg, 0, DPT_MSG_SIZE);
	for (size_t i = 0; i < n; i++)
		for (int b = 0; b < 4; b++)
			msg[f[i].at + (size_t)b] =
				(uint8_t)(f[i].value >> 8 * b);
	for (size_t i = 0; i < n_text; i++)
		memcpy(msg + t[i].at, t[i].value, strlen(t[i].value));
}

static void same_bytes(const uint8_t *got, const uint8_t *want)
{
	for (size_t i = 0; i < DPT_MSG_SIZE; i++)
		if (got[i] != want[i])
			fail_msg("byte %zu: got 0x%02x, wanted 0x%02x", i,
				 got[i], want[i]);
}

#define GOLDEN(msg, fields, texts)                                       \
	golden(msg, fields, sizeof(fields) / sizeof((fields)[0]), texts, \
	       sizeof(texts) / sizeof((texts)[0]))

static const struct text no_text[] = {{0, ""}};

/* A message with one of its words changed is refused with a reason. */
struct hostile {
	size_t at;
	uint32_t value;
	const char *says; /* NULL: accepted */
};

static void put_hostile(uint8_t *msg, const struct hostile *h)
{
	for (size_t b = 0; b < 4; b++)
		msg[h->at + b] = (uint8_t)(h->value >> 8 * b);
}

static void check_hostile(const struct hostile *h, const char *wrong)
{
	if (!wrong != !h->says || (wrong && !strstr(wrong, h->says)))
		fail_msg("offset %zu, value 0x%x: %s", h->at, h->value,
			 wrong ? wrong : "accepted");
}

CASE(client_info__golden)
{
	static const struct field f[] = {{0, 6}, {4, 1}, {8, 1}, {12, 8}};
	struct dpt_client_info in = {.test = DPT_TRANSACTION, .eps = 8}, out;
	uint8_t msg[DPT_MSG_SIZE], want[DPT_MSG_SIZE];

	GOLDEN(want, f, no_text);
	dpt_put_client_info(msg, &in);
	same_bytes(msg, want);
	assert_null(dpt_get_client_info(msg, &out));
	assert_int_equal(out.test, DPT_TRANSACTION);
	assert_int_equal(out.eps, 8);
	assert_false(out.ext.present);
}

CASE(client_info__extension_is_behind_the_fields)
{
	struct dpt_client_info in = {
		.test = DPT_PERFORMANCE,
		.eps = 1,
		.ext = {.present = true, .features = DPT_FEATURE_PATTERN},
	};
	struct dpt_client_info out;
	uint8_t msg[DPT_MSG_SIZE];

	dpt_put_client_info(msg, &in);
	for (size_t i = 16; i < 64; i++)
		assert_int_equal(msg[i], 0);
	assert_null(dpt_get_client_info(msg, &out));
	assert_true(out.ext.present);
	assert_int_equal(out.ext.features, DPT_FEATURE_PATTERN);
	/* One wrong byte of the magic number, and it is not there. */
	msg[64] ^= 1;
	assert_null(dpt_get_client_info(msg, &out));
	assert_false(out.ext.present);
}

CASE(server_info__golden)
{
	static const struct field f[] = {{0, 6}, {4, 1}, {8, 62001}};
	struct dpt_server_info in = {.qual = 62001}, out;
	uint8_t msg[DPT_MSG_SIZE], want[DPT_MSG_SIZE];

	GOLDEN(want, f, no_text);
	dpt_put_server_info(msg, &in);
	same_bytes(msg, want);
	assert_null(dpt_get_server_info(msg, &out));
	assert_int_equal(out.qual, 62001);
}

CASE(server_info__reason_ends_and_is_printable)
{
	struct dpt_server_info in = {.ext = {.present = true}}, out;
	uint8_t msg[DPT_MSG_SIZE];

	memset(in.ext.reason, '\n', sizeof(in.ext.reason) - 1);
	dpt_put_server_info(msg, &in);
	memset(msg + 80, 0x1b, 4096);
	assert_null(dpt_get_server_info(msg, &out));
	assert_int_equal(strlen(out.ext.reason), DPT_REASON_SIZE - 1);
	for (size_t i = 0; out.ext.reason[i]; i++)
		assert_int_equal(out.ext.reason[i], '.');
}

static const struct field t_fields[] = {
	{0, 6},	  {4, 1},     {264, 1000}, {268, 4},	 {272, 8}, {280, 1},
	{284, 2}, {288, 1},   {292, 1},	   {296, 62000}, {560, 0}, {564, 3},
	{568, 0}, {572, 2},   {576, 1},	   {580, 256},	 {584, 1}, {588, 1},
	{592, 1}, {596, 2},   {600, 4096}, {604, 0},	 {608, 1}, {612, 2},
	{616, 1}, {620, 512}, {624, 1},
};
static const struct text t_texts[] = {{8, "server"}, {304, "ofa-v2-cma"}};

CASE(transaction__golden)
{
	struct dpt_transaction in = {
		.server = "server",
		.device = "ofa-v2-cma",
		.iterations = 1000,
		.threads = 4,
		.eps = 8,
		.rsp = true,
		.validate = true,
		.poll = true,
		.debug = 2,
		.port = 62000,
		.op_count = 3,
		.ops = {{false, DPT_OP_SEND, 1, 256, true},
			{true, DPT_OP_WRITE, 2, 4096, false},
			{true, DPT_OP_SEND, 1, 512, true}},
	};
	struct dpt_transaction out;
	uint8_t msg[DPT_MSG_SIZE], want[DPT_MSG_SIZE];

	GOLDEN(want, t_fields, t_texts);
	dpt_put_transaction(msg, &in);
	same_bytes(msg, want);
	assert_null(dpt_get_transaction(msg, &out));
	assert_string_equal(out.server, "server");
	assert_string_equal(out.device, "ofa-v2-cma");
	assert_int_equal(out.iterations, 1000);
	assert_int_equal(out.threads, 4);
	assert_int_equal(out.eps, 8);
	assert_true(out.rsp && out.validate && out.poll);
	assert_int_equal(out.op_count, 3);
	assert_false(out.old_form);
	assert_memory_equal(out.ops, in.ops, sizeof(in.ops));
}

CASE(transaction__hostile)
{
	static const struct hostile rows[] = {
		{0, 5, "another version"},
		{0, 0, "another version"},
		{4, 7, "byte order"},
		{264, 0, "iterations"},
		{264, 0xffffffff, "iterations"},
		{268, 0, "threads"},
		{268, 257, "threads"},
		{268, 0xffffffff, "threads"},
		{272, 0, "endpoint"},
		{272, 1001, "endpoint"},
		{272, 251, "endpoint"}, /* times 4 threads */
		{272, 0x40000000, "endpoint"},
		{296, 0, "no port"}, /* nor is it the older form */
		{300, 1, "no port"},
		{564, 0, "SR are needed"},
		{564, 101, "100 operations"},
		{564, 0xffffffff, "100 operations"},
		{572, 3, "no known type"},
		{572, 0xffffffff, "no known type"},
		{576, 0, "moves nothing"},
		{576, 0xffffffff, "moves nothing"},
		{576, 1025, "moves nothing"},
		{580, 0, "moves nothing"},
		{580, 0x80000000, "moves nothing"},
		{592, 1, NULL}, /* fine, the row above is not an accident */
		{604, 1, "SR only"},
		{584, 0, "needs a client's -f"},
		{624, 0, "needs a server's -f"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dpt_transaction out;
		uint8_t msg[DPT_MSG_SIZE];
		const char *wrong;

		GOLDEN(msg, t_fields, t_texts);
		put_hostile(msg, &rows[i]);
		memset(&out, 0xee, sizeof(out));
		wrong = dpt_get_transaction(msg, &out);
		check_hostile(&rows[i], wrong);
		/* Nothing was handed out. */
		if (wrong)
			assert_int_equal(out.op_count, 0xeeeeeeee);
	}
}

/* Without the port: the device's name begins where it stood. */
static void older_form(uint8_t msg[DPT_MSG_SIZE])
{
	GOLDEN(msg, t_fields, t_texts);
	memmove(msg + 296, msg + 304, 2568 - 304);
	memset(msg + 2560, 0, 8);
}

CASE(transaction__older_form_is_told_apart)
{
	struct dpt_transaction out;
	uint8_t msg[DPT_MSG_SIZE], again[DPT_MSG_SIZE];

	older_form(msg);
	assert_null(dpt_get_transaction(msg, &out));
	assert_true(out.old_form);
	assert_string_equal(out.device, "ofa-v2-cma");
	assert_int_equal(out.op_count, 3);
	assert_int_equal(out.ops[1].seg_size, 4096);
	dpt_put_transaction(again, &out);
	same_bytes(again, msg);
}

CASE(transaction__older_form_of_a_short_name)
{
	struct dpt_transaction out;
	uint8_t msg[DPT_MSG_SIZE];

	older_form(msg);
	memset(msg + 296, 0, 256);
	memcpy(msg + 296, "ib", 2);
	assert_null(dpt_get_transaction(msg, &out));
	assert_true(out.old_form);
	assert_string_equal(out.device, "ib");
	assert_int_equal(out.op_count, 3);
}

CASE(texts__end_and_are_printable)
{
	struct dpt_transaction out;
	uint8_t msg[DPT_MSG_SIZE];

	GOLDEN(msg, t_fields, t_texts);
	memset(msg + 8, '\a', 256);
	memset(msg + 304, 'x', 256);
	assert_null(dpt_get_transaction(msg, &out));
	assert_int_equal(strlen(out.server), 255);
	assert_int_equal(out.server[0], '.');
	assert_int_equal(strlen(out.device), 255);
}

static const struct field p_fields[] = {
	{0, 6},	   {4, 1},   {520, 0},	   {524, 1}, {528, 1},	   {532, 500},
	{536, 16}, {540, 1}, {544, 65536}, {548, 2}, {556, 62000},
};
static const struct text p_texts[] = {{8, "there"}, {264, "dev"}};

CASE(performance__golden)
{
	struct dpt_performance in = {
		.server = "there",
		.device = "dev",
		.debug = 1,
		.poll = true,
		.iterations = 500,
		.pipeline = 16,
		.op = {.type = DPT_OP_WRITE, .segs = 2, .seg_size = 65536},
		.port = 62000,
	};
	struct dpt_performance out;
	uint8_t msg[DPT_MSG_SIZE], want[DPT_MSG_SIZE];

	GOLDEN(want, p_fields, p_texts);
	dpt_put_performance(msg, &in);
	same_bytes(msg, want);
	assert_null(dpt_get_performance(msg, &out));
	assert_int_equal(out.iterations, 500);
	assert_int_equal(out.pipeline, 16);
	assert_int_equal(out.op.type, DPT_OP_WRITE);
	assert_int_equal(out.op.seg_size, 65536);
	assert_int_equal(out.op.segs, 2);
	assert_int_equal(out.port, 62000);
}

CASE(performance__hostile)
{
	static const struct hostile rows[] = {
		{0, 7, "another version"}, {532, 0, "iterations"},
		{536, 0, "pipeline"},	   {536, 0xffffffff, NULL},
		{540, 2, "read or write"}, {540, 9, "read or write"},
		{544, 0, "moves nothing"}, {544, 0x7fffffff, "moves nothing"},
		{548, 0, "moves nothing"}, {548, 70000, "moves nothing"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dpt_performance out;
		uint8_t msg[DPT_MSG_SIZE];

		GOLDEN(msg, p_fields, p_texts);
		put_hostile(msg, &rows[i]);
		check_hostile(&rows[i], dpt_get_performance(msg, &out));
	}
}

CASE(quit__golden)
{
	static const struct field f[] = {{512, 3}, {516, 0}, {520, 62000}};
	static const struct text t[] = {{0, "there"}, {256, "dev"}};
	struct dpt_quit in = {
		.server = "there", .device = "dev", .debug = 3, .port = 62000};
	struct dpt_quit out;
	uint8_t msg[DPT_MSG_SIZE], want[DPT_MSG_SIZE];

	GOLDEN(want, f, t);
	dpt_put_quit(msg, &in);
	same_bytes(msg, want);
	assert_null(dpt_get_quit(msg, &out));
	assert_string_equal(out.device, "dev");
	assert_int_equal(out.debug, 3);
}

CASE(client_info__hostile)
{
	static const struct hostile rows[] = {
		{0, 0x47455420, "another version"}, /* "GET " */
		{4, 2, "byte order"},
		{8, 0, "does not run"}, /* a server is no test */
		{8, 3, "does not run"},
		{8, 6, "does not run"},
		{8, 0xffffffff, "does not run"},
		{12, 0, "no endpoint"},
		{12, 1001, "more than 1000"},
		{12, 0xffffffff, "more than 1000"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dpt_client_info in = {.test = DPT_TRANSACTION, .eps = 1};
		struct dpt_client_info out;
		uint8_t msg[DPT_MSG_SIZE];

		dpt_put_client_info(msg, &in);
		put_hostile(msg, &rows[i]);
		check_hostile(&rows[i], dpt_get_client_info(msg, &out));
	}
}

CASE(get__survives_any_bytes)
{
	uint32_t x = 1;

	for (int round = 0; round < 2000; round++) {
		struct dpt_transaction t;
		struct dpt_performance p;
		struct dpt_client_info c;
		struct dpt_server_info s;
		struct dpt_quit q;
		uint8_t msg[DPT_MSG_SIZE];

		for (size_t i = 0; i < sizeof(msg); i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			msg[i] = (uint8_t)x;
		}
		memcpy(msg, "\6\0\0\0\1\0\0\0", 8);
		dpt_get_transaction(msg, &t);
		dpt_get_performance(msg, &p);
		dpt_get_client_info(msg, &c);
		dpt_get_server_info(msg, &s);
		assert_null(dpt_get_quit(msg, &q));
	}
}

CASE(address__golden)
{
	static const uint8_t want[12] = {0x44, 0x33, 0x22, 0x11, 8, 7,
					 6,    5,    4,	   3,	 2, 1};
	uint32_t context;
	uint64_t address;
	uint8_t p[12];

	dpt_put_address(p, 0x11223344, 0x0102030405060708);
	assert_memory_equal(p, want, sizeof(want));
	dpt_get_address(p, &context, &address);
	assert_int_equal(context, 0x11223344);
	assert_int_equal(address, 0x0102030405060708);
}

RUN_CASES(NULL, NULL)
