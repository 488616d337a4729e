/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * call.h - one call of the public interface as a value, which can be made,
 * written down as C, and made again.
 *
 * Objects have numbers, in the order in which a walk makes them; one that was
 * freed keeps its number and its handle. What a call should answer is not known
 * here. Threads: one. Ownership: a world owns the memory of its regions.
 */
#ifndef WALK_CALL_H
#define WALK_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "test/face.h"

#define WALK_OBJS    512
#define WALK_CALLS   4096
#define WALK_MEM     4096 /* bytes of a region */
#define WALK_CHUNK   128  /* bytes that one transfer has for itself */
#define CHUNKS	     (WALK_MEM / WALK_CHUNK)
#define WALK_MESSAGE 66	  /* bytes of a message, at most */
#define FRAME	     0xee /* what is in a chunk that nothing was moved to */

/* In place of an object's number. */
enum {
	OBJ_NULL = -1,
	OBJ_SMALL = -2, /* a handle that is no address */
	OBJ_OLDER = -3, /* h[4]: the context that window h[3] had before */
	/* From the first to the last of these: a handle of that value, negated.
	 */
	OBJ_SMALL_FIRST = -100, /* an adapter's number is less */
	OBJ_SMALL_LAST = -4000,
};

/* The calls: name, and what stands for the numbers n[] in it. */
#define WALK_OPS(X)             \
	X(IA_OPEN)              \
	X(IA_QUERY)             \
	X(IA_CLOSE)             \
	X(SET_CONTEXT)          \
	X(GET_CONTEXT)          \
	X(HANDLE_TYPE)          \
	X(PZ_CREATE)            \
	X(PZ_QUERY)             \
	X(PZ_FREE)              \
	X(EVD_CREATE)           \
	X(EVD_QUERY)            \
	X(EVD_RESIZE)           \
	X(EVD_POST_SE)          \
	X(EVD_DEQUEUE)          \
	X(EVD_WAIT)             \
	X(EVD_ENABLE)           \
	X(EVD_DISABLE)          \
	X(EVD_SET_UNWAITABLE)   \
	X(EVD_CLEAR_UNWAITABLE) \
	X(EVD_MODIFY_CNO)       \
	X(EVD_FREE)             \
	X(CNO_CREATE)           \
	X(CNO_FD_CREATE)        \
	X(CNO_QUERY)            \
	X(CNO_WAIT)             \
	X(CNO_TRIGGER)          \
	X(CNO_FREE)             \
	X(LMR_CREATE)           \
	X(LMR_QUERY)            \
	X(LMR_FREE)             \
	X(EP_CREATE)            \
	X(EP_CREATE_SRQ)        \
	X(EP_QUERY)             \
	X(EP_MODIFY)            \
	X(EP_STATUS)            \
	X(EP_CONNECT)           \
	X(EP_DUP_CONNECT)       \
	X(EP_COMMON_CONNECT)    \
	X(EP_DISCONNECT)        \
	X(EP_RESET)             \
	X(EP_FREE)              \
	X(POST_SEND)            \
	X(POST_RECV)            \
	X(POST_WRITE)           \
	X(POST_READ)            \
	X(PSP_CREATE)           \
	X(PSP_QUERY)            \
	X(PSP_FREE)             \
	X(RSP_CREATE)           \
	X(RSP_QUERY)            \
	X(RSP_FREE)             \
	X(CR_QUERY)             \
	X(CR_ACCEPT)            \
	X(CR_REJECT)            \
	X(RMR_CREATE)           \
	X(RMR_CREATE_EP)        \
	X(RMR_QUERY)            \
	X(RMR_BIND)             \
	X(RMR_FREE)             \
	X(LMR_SYNC_READ)        \
	X(LMR_SYNC_WRITE)       \
	X(SEND_INV)             \
	X(READ_TO_RMR)          \
	X(SRQ_CREATE)           \
	X(SRQ_QUERY)            \
	X(SRQ_POST_RECV)        \
	X(SRQ_RESIZE)           \
	X(SRQ_SET_LW)           \
	X(SRQ_FREE)             \
	X(EP_SET_WATERMARK)     \
	X(EP_RECV_QUERY)        \
	X(CSP_CREATE)           \
	X(CSP_QUERY)            \
	X(CSP_FREE)             \
	X(CR_HANDOFF)           \
	X(STRERROR)             \
	X(LIST_PROVIDERS)       \
	X(SETTLE)               \
	X(TROUBLE)

enum op {
#define X(name) OP_##name,
	WALK_OPS(X)
#undef X
	OP_N
};

struct call {
	uint8_t op;
	bool no_out;   /* NULL where a result belongs */
	uint8_t fails; /* if not 0, a call of the device: model_fault.c */
	int16_t out;   /* number of what is made, one more behind it */
	int16_t h[6];  /* objects, in the order of the call's handles */
	uint64_t n[6]; /* numbers, in the order that call.c shows */
};

/* What came back. Handles are prefilled: what is not written is seen. */
struct result {
	DAT_RETURN ret;
	DAT_HANDLE made, second;
	DAT_EVENT ev;
	DAT_COUNT more;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;
	DAT_EVD_HANDLE evd;
	DAT_EP_STATE state;
	DAT_BOOLEAN idle[2];
	DAT_COUNT held, span; /* receives, of dat_ep_recv_query() */
	const char *major, *minor;
	/* of a connection request: its private data */
	uint32_t serial;
	int size;
	DAT_HANDLE brought; /* the endpoint that a request brought */
	union {
		DAT_EVD_PARAM evd_param;
		DAT_EP_PARAM ep_param;
		DAT_CR_PARAM cr_param;
		DAT_PZ_PARAM pz_param;
		DAT_CNO_PARAM cno_param;
		DAT_LMR_PARAM lmr_param;
		DAT_RMR_PARAM rmr_param;
		DAT_SRQ_PARAM srq_param;
		DAT_PSP_PARAM psp_param;
		DAT_RSP_PARAM rsp_param;
#if DAT_FACE == 2
		DAT_CSP_PARAM csp_param;
#endif
		struct {
			DAT_IA_ATTR ia;
			DAT_PROVIDER_ATTR prov;
		} attr;
	};
};

#define NOT_WRITTEN ((DAT_HANDLE)(uintptr_t)0x5a5a5a5a)
/* Of a wait that may take as long as it likes to come back with an event. */
#define PATIENCE_US 8000000u

struct world {
	const char *adapter;
	DAT_CONN_QUAL qual; /* the first of those to use */
	DAT_HANDLE handle[WALK_OBJS];
	uint8_t *mem[WALK_OBJS]; /* of LMRs */
	DAT_LMR_CONTEXT lkey[WALK_OBJS];
	/* of LMRs and RMRs; behind them, that RMRs had before */
	DAT_RMR_CONTEXT rkey[2 * WALK_OBJS];
	struct sockaddr_storage address[WALK_OBJS]; /* of IAs */
	DAT_IA_ATTR ia_attr; /* of the last one that was opened */
	DAT_PROVIDER_ATTR prov_attr;
};

/* Ports of common service points: above all qualifiers of all walks. */
#define WALK_PORT 512

const char *call_name(int op);
/* The place in rkey[] of the context that a transfer names. */
int call_context(const struct call *c);
/* False: this version of DAT has no such call. */
bool call_exists(int op);
void call_make(struct world *w, const struct call *c, struct result *r);
/* As one statement of the program that call_program() begins and ends. */
void call_print(FILE *to, const struct world *w, const struct call *c);
void call_program(FILE *to, const struct world *w, const struct call *calls,
		  int n, const char *what);

/* As a line that replay can read again: name, numbers of objects, numbers. */
void call_write(FILE *to, const struct call *c);
/* False: it is no such line. */
bool call_read(const char *line, struct call *c);

/* Byte I of what the transfer with COOKIE carries. */
static inline uint8_t call_byte(uint64_t cookie, size_t i)
{
	return (uint8_t)(cookie * 37 + i * 11 + 5);
}

/* The attributes of an endpoint that n[0] of its making stands for. */
enum attr {
	ATTR_NULL,  /* none are given */
	ATTR_SMALL, /* 4 transfers of 2 segments each way */
	ATTR_NO_RECV,
	ATTR_SUPPRESS_RECV,
	ATTR_HUGE,
	ATTR_N
};
/* Transfers, by whether they move bytes out of local memory, or into it. */
static inline bool call_gives(int op)
{
	return op == OP_POST_SEND || op == OP_SEND_INV || op == OP_POST_WRITE;
}

static inline bool call_reads(int op)
{
	return op == OP_POST_READ || op == OP_READ_TO_RMR;
}

static inline bool call_sends(int op)
{
	return op == OP_POST_SEND || op == OP_SEND_INV;
}

/* Those that name memory of the peer's. */
static inline bool call_reaches(int op)
{
	return op == OP_POST_WRITE || call_reads(op);
}

static inline bool call_transfers(int op)
{
	return call_gives(op) || call_reads(op) || op == OP_POST_RECV;
}

/* Whether work is posted, with a cookie of its own. */
static inline bool call_posts(int op)
{
	return call_transfers(op) || op == OP_RMR_BIND ||
	       op == OP_SRQ_POST_RECV;
}

#define SMALL_DTOS 4
#define SMALL_IOV  2
#define NULL_DTOS  16
#define NULL_IOV   8

#endif /* WALK_CALL_H */
