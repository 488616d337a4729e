/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * proto.h - what client and server of dapltest tell each other, in bytes.
 *
 * Does not send. Decoding trusts nothing: lengths, versions and counts are
 * checked before a value is handed out, and texts end.
 * Threads: safe. Ownership: none.
 * Rule: version 6 of the historic tool, as observed on the wire: messages of
 * exactly 8192 bytes, little endian. It has two forms, of dapltest before 2.1
 * and since; a server takes both, dapltest1 asks in the older one. Behind the
 * fields of the two "info" messages there is room that historic tools leave
 * zero and never read; ours put an extension there (a magic number first).
 */
#ifndef DAPLTEST_PROTO_H
#define DAPLTEST_PROTO_H

#include "test/dapltest/ops.h"

#include <stdbool.h>
#include <stdint.h>

#define DPT_VERSION	 6
#define DPT_MSG_SIZE	 8192
#define DPT_NAME_SIZE	 256
#define DPT_REASON_SIZE	 256
#define DPT_RMI_SIZE	 1200 /* addresses of all operations */
#define DPT_SYNC_SIZE	 64
#define DPT_PERF_SIZE	 12 /* the address of a performance test */
#define DPT_SLOGAN	 "DAPL and RDMA rule! Test 4321."
#define DPT_SLOGAN_SIZE	 30
#define DPT_PIPELINE_ALL UINT32_MAX

/* Limits of what a client may ask for. */
#define DPT_THREADS_MAX	   256u
#define DPT_EPS_MAX	   1000u /* of one test, which has as many qualifiers */
#define DPT_ITERATIONS_MAX 1000000000u

/* The numbers travel. */
enum dpt_test {
	DPT_SERVER,
	DPT_TRANSACTION,
	DPT_PERFORMANCE,
	DPT_LIMIT,
	DPT_QUIT,
	DPT_FUNCTION,
	DPT_TEST_N,
};

/* What both sides must agree on beyond version 6. */
#define DPT_FEATURE_PATTERN 0x1u /* data is a pattern that is checked */
/* In a performance test the client speaks first, as iWARP has it. */
#define DPT_FEATURE_START 0x2u
/* In a transaction test the endpoints are datagrams'. */
#define DPT_FEATURE_UD 0x4u
#define DPT_FEATURES                               \
	(DPT_FEATURE_PATTERN | DPT_FEATURE_START | \
	 (DAT_FACE == 2 ? DPT_FEATURE_UD : 0))

/* In both info messages; peers without it are historic. */
struct dpt_extension {
	bool present;
	uint32_t features;
	char reason[DPT_REASON_SIZE]; /* server: why it refuses; else "" */
};

struct dpt_client_info {
	enum dpt_test test;
	uint32_t eps; /* of all threads */
	struct dpt_extension ext;
};

struct dpt_server_info {
	uint32_t qual; /* the first of the data connections */
	struct dpt_extension ext;
};

struct dpt_transaction {
	char server[DPT_NAME_SIZE];
	char device[DPT_NAME_SIZE]; /* the client's */
	uint32_t iterations;
	uint32_t threads;
	uint32_t eps; /* per thread */
	bool rsp;
	bool validate;
	bool poll;
	uint32_t debug;
	/* In the form before 2.1: no port, no synchronisation at the end. */
	bool old_form;
	uint16_t port;
	uint32_t qos;
	uint32_t op_count;
	struct dpt_op ops[DPT_OPS_MAX];
	bool ud; /* does not travel here: a feature */
};

struct dpt_performance {
	char server[DPT_NAME_SIZE];
	char device[DPT_NAME_SIZE];
	uint32_t qos;
	uint32_t debug;
	bool poll;
	uint32_t iterations;
	uint32_t pipeline; /* DPT_PIPELINE_ALL, or from 1 */
	struct dpt_op op;
	uint16_t port;
};

struct dpt_quit {
	char server[DPT_NAME_SIZE];
	char device[DPT_NAME_SIZE];
	uint32_t debug;
	uint32_t qos;
	uint16_t port;
};

/* Encoding defines all bytes of the message. */
void dpt_put_client_info(uint8_t msg[DPT_MSG_SIZE],
			 const struct dpt_client_info *info);
void dpt_put_server_info(uint8_t msg[DPT_MSG_SIZE],
			 const struct dpt_server_info *info);
void dpt_put_transaction(uint8_t msg[DPT_MSG_SIZE],
			 const struct dpt_transaction *cmd);
void dpt_put_performance(uint8_t msg[DPT_MSG_SIZE],
			 const struct dpt_performance *cmd);
void dpt_put_quit(uint8_t msg[DPT_MSG_SIZE], const struct dpt_quit *cmd);

/* Decoding returns NULL, or a sentence that says what is wrong. */
const char *dpt_get_client_info(const uint8_t msg[DPT_MSG_SIZE],
				struct dpt_client_info *ret_info);
const char *dpt_get_server_info(const uint8_t msg[DPT_MSG_SIZE],
				struct dpt_server_info *ret_info);
const char *dpt_get_transaction(const uint8_t msg[DPT_MSG_SIZE],
				struct dpt_transaction *ret_cmd);
const char *dpt_get_performance(const uint8_t msg[DPT_MSG_SIZE],
				struct dpt_performance *ret_cmd);
const char *dpt_get_quit(const uint8_t msg[DPT_MSG_SIZE],
			 struct dpt_quit *ret_cmd);

/* One entry of the address messages: p has DPT_PERF_SIZE bytes. */
void dpt_put_address(uint8_t *p, uint32_t context, uint64_t address);
void dpt_get_address(const uint8_t *p, uint32_t *ret_context,
		     uint64_t *ret_address);

#endif /* DAPLTEST_PROTO_H */
