/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ib_extensions.h - InfiniBand operations beyond DAT 2.0.
 *
 * Atomics, immediate data, datagrams, counters, collectives; all are macros
 * over dat_extension_op() that pass the right types. Does not say which of
 * them an adapter has: look for the attribute strings below, value "TRUE".
 * Threads: as in dat.h, where the words of the comments are explained.
 * Ownership: address handles in events are the consumer's to free.
 * Rule: the IB extension of DAT, version 2.0.9; operation numbers and
 * argument types are part of the binary interface, checked by test/abi.
 */
#ifndef DAT2_IB_EXTENSIONS_H
#define DAT2_IB_EXTENSIONS_H

#include <dat2/udat.h>
#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

/* extension_version of DAT_IA_ATTR: 2.0.9 */
#define DAT_IB_EXTENSION_VERSION 209

/* Names in provider_specific_attr. */
#define DAT_IB_ATTR_COUNTERS	   "DAT_COUNTERS"
#define DAT_IB_ATTR_FETCH_AND_ADD  "DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_CMP_AND_SWAP   "DAT_IB_CMP_AND_SWAP"
#define DAT_IB_ATTR_IMMED_DATA	   "DAT_IB_IMMED_DATA"
#define DAT_IB_ATTR_UD		   "DAT_IB_UD"
#define DAT_IB_COLL_SET_CLOCK	   "DAT_COLL_SET_CLOCK"
#define DAT_IB_COLL_READ_CLOCK	   "DAT_COLL_READ_CLOCK"
#define DAT_IB_COLL_BROADCAST	   "DAT_COLL_BROADCAST"
#define DAT_IB_COLL_BARRIER	   "DAT_COLL_BARRIER"
#define DAT_IB_COLL_SCATTER	   "DAT_COLL_SCATTER"
#define DAT_IB_COLL_SCATTERV	   "DAT_COLL_SCATTERV"
#define DAT_IB_COLL_GATHER	   "DAT_COLL_GATHER"
#define DAT_IB_COLL_GATHERV	   "DAT_COLL_GATHERV"
#define DAT_IB_COLL_ALLGATHER	   "DAT_COLL_ALLGATHER"
#define DAT_IB_COLL_ALLGATHERV	   "DAT_COLL_ALLGATHERV"
#define DAT_IB_COLL_ALLTOALL	   "DAT_COLL_ALLTOALL"
#define DAT_IB_COLL_ALLTOALLV	   "DAT_COLL_ALLTOALLV"
#define DAT_IB_COLL_REDUCE	   "DAT_COLL_REDUCE"
#define DAT_IB_COLL_ALLREDUCE	   "DAT_COLL_ALLREDUCE"
#define DAT_IB_COLL_REDUCE_SCATTER "DAT_COLL_REDUCE_SCATTER"
#define DAT_IB_COLL_SCAN	   "DAT_COLL_SCAN"
#define DAT_ATTR_COUNTERS	   DAT_IB_ATTR_COUNTERS

typedef DAT_HANDLE DAT_IB_COLLECTIVE_HANDLE;

/* Values of event_number. */
enum dat_ib_event_number {
	/* with DTO data and extension data */
	DAT_IB_DTO_EVENT = DAT_IB_EXTENSION_RANGE_BASE,
	/* with CR data, on the CR stream */
	DAT_IB_UD_CONNECTION_REQUEST_EVENT = 0x40001,
	/* remote_ah is valid */
	DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED = 0x40002,
	/* refused, or no listener */
	DAT_IB_UD_CONNECTION_REJECT_EVENT = 0x40003,
	DAT_IB_UD_CONNECTION_ERROR_EVENT = 0x40004, /* no address handle */
	DAT_IB_COLLECTIVE_EVENT = 0x40005,
};
typedef enum dat_ib_event_number DAT_IB_EVENT_NUMBER;

/* Operations of dat_extension_op(). */
enum dat_ib_op {
	DAT_IB_FETCH_AND_ADD_OP = 0x0,
	DAT_IB_CMP_AND_SWAP_OP = 0x1,
	DAT_IB_RDMA_WRITE_IMMED_OP = 0x2,
	DAT_IB_UD_SEND_OP = 0x3,
	DAT_IB_QUERY_COUNTERS_OP = 0x4,
	DAT_IB_PRINT_COUNTERS_OP = 0x5,
	DAT_IB_COLLECTIVE_CREATE_MEMBER_OP = 0x6,
	DAT_IB_COLLECTIVE_FREE_MEMBER_OP = 0x7,
	DAT_IB_COLLECTIVE_CREATE_GROUP_OP = 0x8,
	DAT_IB_COLLECTIVE_FREE_GROUP_OP = 0x9,
	DAT_IB_COLLECTIVE_SET_CLOCK_OP = 0xa,
	DAT_IB_COLLECTIVE_READ_CLOCK_OP = 0xb,
	DAT_IB_COLLECTIVE_SCATTER_OP = 0xc,
	DAT_IB_COLLECTIVE_SCATTERV_OP = 0xd,
	DAT_IB_COLLECTIVE_GATHER_OP = 0xe,
	DAT_IB_COLLECTIVE_GATHERV_OP = 0xf,
	DAT_IB_COLLECTIVE_ALLGATHER_OP = 0x10,
	DAT_IB_COLLECTIVE_ALLGATHERV_OP = 0x11,
	DAT_IB_COLLECTIVE_ALLTOALL_OP = 0x12,
	DAT_IB_COLLECTIVE_ALLTOALLV_OP = 0x13,
	DAT_IB_COLLECTIVE_REDUCE_OP = 0x14,
	DAT_IB_COLLECTIVE_ALLREDUCE_OP = 0x15,
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP = 0x16,
	DAT_IB_COLLECTIVE_SCAN_OP = 0x17,
	DAT_IB_COLLECTIVE_BROADCAST_OP = 0x18,
	DAT_IB_COLLECTIVE_BARRIER_OP = 0x19,
	DAT_IB_START_COUNTERS_OP = 0x1a,
	DAT_IB_STOP_COUNTERS_OP = 0x1b,
	DAT_IB_UD_CM_FREE_OP = 0x1c,
	DAT_IB_UD_AH_FREE_OP = 0x1d,
	DAT_IB_OPEN_QUERY_OP = DAT_OPEN_EXTENSION_BASE,
	DAT_IB_CLOSE_QUERY_OP = DAT_CLOSE_EXTENSION_BASE,
};
typedef enum dat_ib_op DAT_IB_OP;
#define DAT_QUERY_COUNTERS_OP DAT_IB_QUERY_COUNTERS_OP
#define DAT_PRINT_COUNTERS_OP DAT_IB_PRINT_COUNTERS_OP

/* Type of an extension event. */
enum dat_ib_ext_type {
	DAT_IB_FETCH_AND_ADD = 0,
	DAT_IB_CMP_AND_SWAP = 1,
	DAT_IB_RDMA_WRITE_IMMED = 2,
	DAT_IB_RDMA_WRITE_IMMED_DATA = 3,
	DAT_IB_RECV_IMMED_DATA = 4,
	DAT_IB_UD_CONNECT_REQUEST = 5,
	DAT_IB_UD_REMOTE_AH = 6,
	DAT_IB_UD_PASSIVE_REMOTE_AH = 7,
	DAT_IB_UD_SEND = 8,
	DAT_IB_UD_RECV = 9,
	DAT_IB_UD_CONNECT_REJECT = 10,
	DAT_IB_UD_CONNECT_ERROR = 11,
	DAT_IB_COLLECTIVE_CREATE_STATUS = 12,
	DAT_IB_COLLECTIVE_CREATE_DATA = 13,
	DAT_IB_COLLECTIVE_CLOCK_SET_STATUS = 14,
	DAT_IB_COLLECTIVE_SCATTER_STATUS = 15,
	DAT_IB_COLLECTIVE_SCATTERV_STATUS = 16,
	DAT_IB_COLLECTIVE_GATHER_STATUS = 17,
	DAT_IB_COLLECTIVE_GATHERV_STATUS = 18,
	DAT_IB_COLLECTIVE_ALLGATHER_STATUS = 19,
	DAT_IB_COLLECTIVE_ALLGATHERV_STATUS = 20,
	DAT_IB_COLLECTIVE_ALLTOALL_STATUS = 21,
	DAT_IB_COLLECTIVE_ALLTOALLV_STATUS = 22,
	DAT_IB_COLLECTIVE_REDUCE_STATUS = 23,
	DAT_IB_COLLECTIVE_ALLREDUCE_STATUS = 24,
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS = 25,
	DAT_IB_COLLECTIVE_SCAN_STATUS = 26,
	DAT_IB_COLLECTIVE_BROADCAST_STATUS = 27,
	DAT_IB_COLLECTIVE_BARRIER_STATUS = 28,
};
typedef enum dat_ib_ext_type DAT_IB_EXT_TYPE;

/* Status in an extension event; on failure also a DAT_DTO status. */
enum dat_ib_status {
	DAT_OP_SUCCESS = 0,
	DAT_IB_OP_ERR = 1,
	DAT_IB_COLL_COMP_ERR = 2,
};
typedef enum dat_ib_status DAT_IB_STATUS;

enum dat_ib_return {
	DAT_IB_ERR = DAT_EXTENSION_BASE,
	DAT_IB_COLLECTIVE_ERR = 0x10000001,
};
typedef enum dat_ib_return DAT_IB_RETURN;

/* More values of operation in DTO completions. */
enum dat_ib_dtos {
	DAT_IB_DTO_RDMA_WRITE_IMMED = DAT_DTO_EXTENSION_BASE,
	DAT_IB_DTO_RECV_IMMED = 9,
	DAT_IB_DTO_FETCH_ADD = 10,
	DAT_IB_DTO_CMP_SWAP = 11,
	DAT_IB_DTO_RECV_MSG_IMMED = 12,
	DAT_IB_DTO_SEND_UD = 13,
	DAT_IB_DTO_RECV_UD = 14,
	DAT_IB_DTO_RECV_UD_IMMED = 15,
	DAT_IB_DTO_COLLECTIVES = 16,
};
typedef enum dat_ib_dtos DAT_IB_DTOS;

enum dat_ib_handle_type {
	DAT_IB_HANDLE_TYPE_EXT = DAT_HANDLE_TYPE_EXTENSION_BASE,
	DAT_IB_HANDLE_TYPE_COLLECTIVE = 13,
};
typedef enum dat_ib_handle_type DAT_IB_HANDLE_TYPE;

enum dat_ib_evd_extension_flags {
	DAT_IB_EVD_EXTENSION_FLAG = DAT_EVD_EXTENSION_BASE,
};
typedef enum dat_ib_evd_extension_flags DAT_IB_EVD_EXTENSION_FLAGS;

enum dat_ib_mem_priv_flags {
	DAT_IB_MEM_PRIV_REMOTE_ATOMIC = DAT_MEM_PRIV_EXTENSION_BASE,
};
typedef enum dat_ib_mem_priv_flags DAT_IB_MEM_PRIV_FLAGS;

/* service_type of an unreliable datagram endpoint. */
enum dat_ib_service_type {
	DAT_IB_SERVICE_TYPE_UD = DAT_SERVICE_TYPE_EXTENSION_BASE,
};
typedef enum dat_ib_service_type DAT_IB_SERVICE_TYPE;

/* of libibverbs; programs need not include its header */
struct ibv_ah;

/* How to reach a datagram peer. */
struct dat_ib_addr_handle {
	struct ibv_ah *ah;
	DAT_UINT32 qpn;		/* host byte order */
	DAT_SOCK_ADDR6 ia_addr; /* address of the peer */
};
typedef struct dat_ib_addr_handle DAT_IB_ADDR_HANDLE;

struct dat_ib_immed_data {
	DAT_UINT32 data;
};
typedef struct dat_ib_immed_data DAT_IB_IMMED_DATA;

struct dat_ib_collective_event_data {
	DAT_HANDLE handle;
	DAT_CONTEXT context;
};
typedef struct dat_ib_collective_event_data DAT_IB_COLLECTIVE_EVENT_DATA;

/*
 * What event_extension_data of an event holds. After a failure only
 * status is certain.
 */
struct dat_ib_extension_event_data {
	DAT_IB_EXT_TYPE type;
	DAT_IB_STATUS status;
	union {
		DAT_IB_IMMED_DATA immed;
	} val;
	union {
		DAT_IB_ADDR_HANDLE remote_ah;
		DAT_IB_COLLECTIVE_EVENT_DATA coll;
	};
	DAT_CONTEXT context;
};
typedef struct dat_ib_extension_event_data DAT_IB_EXTENSION_EVENT_DATA;

/* Counters of an adapter; names with _DATA count bytes. */
enum dat_ia_counters {
	DCNT_IA_PZ_CREATE = 0,
	DCNT_IA_PZ_FREE = 1,
	DCNT_IA_LMR_CREATE = 2,
	DCNT_IA_LMR_FREE = 3,
	DCNT_IA_RMR_CREATE = 4,
	DCNT_IA_RMR_FREE = 5,
	DCNT_IA_PSP_CREATE = 6,
	DCNT_IA_PSP_CREATE_ANY = 7,
	DCNT_IA_PSP_FREE = 8,
	DCNT_IA_RSP_CREATE = 9,
	DCNT_IA_RSP_FREE = 10,
	DCNT_IA_EVD_CREATE = 11,
	DCNT_IA_EVD_FREE = 12,
	DCNT_IA_EP_CREATE = 13,
	DCNT_IA_EP_FREE = 14,
	DCNT_IA_SRQ_CREATE = 15,
	DCNT_IA_SRQ_FREE = 16,
	DCNT_IA_SP_CR = 17,
	DCNT_IA_SP_CR_ACCEPTED = 18,
	DCNT_IA_SP_CR_REJECTED = 19,
	DCNT_IA_MEM_ALLOC = 20,
	DCNT_IA_MEM_ALLOC_DATA = 21,
	DCNT_IA_MEM_FREE = 22,
	DCNT_IA_ASYNC_ERROR = 23,
	DCNT_IA_ASYNC_QP_ERROR = 24,
	DCNT_IA_ASYNC_CQ_ERROR = 25,
	DCNT_IA_CM_LISTEN = 26,
	DCNT_IA_CM_REQ_TX = 27,
	DCNT_IA_CM_REQ_RX = 28,
	DCNT_IA_CM_REP_TX = 29,
	DCNT_IA_CM_REP_RX = 30,
	DCNT_IA_CM_RTU_TX = 31,
	DCNT_IA_CM_RTU_RX = 32,
	DCNT_IA_CM_USER_REJ_TX = 33,
	DCNT_IA_CM_USER_REJ_RX = 34,
	DCNT_IA_CM_ACTIVE_EST = 35,
	DCNT_IA_CM_PASSIVE_EST = 36,
	DCNT_IA_CM_AH_REQ_TX = 37,
	DCNT_IA_CM_AH_REQ_RX = 38,
	DCNT_IA_CM_AH_RESOLVED = 39,
	DCNT_IA_CM_DREQ_TX = 40,
	DCNT_IA_CM_DREQ_RX = 41,
	DCNT_IA_CM_DREP_TX = 42,
	DCNT_IA_CM_DREP_RX = 43,
	DCNT_IA_CM_MRA_TX = 44,
	DCNT_IA_CM_MRA_RX = 45,
	DCNT_IA_CM_REQ_FULLQ_POLL = 46,
	DCNT_IA_CM_ERR = 47,
	DCNT_IA_CM_ERR_REQ_FULLQ = 48,
	DCNT_IA_CM_ERR_REQ_DUP = 49,
	DCNT_IA_CM_ERR_REQ_RETRY = 50,
	DCNT_IA_CM_ERR_REP_DUP = 51,
	DCNT_IA_CM_ERR_REP_RETRY = 52,
	DCNT_IA_CM_ERR_RTU_DUP = 53,
	DCNT_IA_CM_ERR_RTU_RETRY = 54,
	DCNT_IA_CM_ERR_REFUSED = 55,
	DCNT_IA_CM_ERR_RESET = 56,
	DCNT_IA_CM_ERR_TIMEOUT = 57,
	DCNT_IA_CM_ERR_REJ_TX = 58,
	DCNT_IA_CM_ERR_REJ_RX = 59,
	DCNT_IA_CM_ERR_DREQ_DUP = 60,
	DCNT_IA_CM_ERR_DREQ_RETRY = 61,
	DCNT_IA_CM_ERR_DREP_DUP = 62,
	DCNT_IA_CM_ERR_DREP_RETRY = 63,
	DCNT_IA_CM_ERR_MRA_DUP = 64,
	DCNT_IA_CM_ERR_MRA_RETRY = 65,
	DCNT_IA_CM_ERR_UNEXPECTED = 66,
	DCNT_IA_LNK_ERR_RCV = 67,
	DCNT_IA_LNK_ERR_RCV_REM_PHYS = 68,
	DCNT_IA_LNK_ERR_RCV_CONSTRAINT = 69,
	DCNT_IA_LNK_ERR_XMT_DISCARDS = 70,
	DCNT_IA_LNK_ERR_XMT_CONTRAINT = 71, /* sic */
	DCNT_IA_LNK_ERR_INTEGRITY = 72,
	DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN = 73,
	DCNT_IA_LNK_WARN_RCV_SW_RELAY = 74,
	DCNT_IA_LNK_WARN_XMT_WAIT = 75,
	DCNT_IA_DIAG_ERR_RQ_RAE = 76,
	DCNT_IA_DIAG_ERR_RQ_OOS = 77,
	DCNT_IA_DIAG_ERR_RQ_RIRE = 78,
	DCNT_IA_DIAG_ERR_RQ_UDSDPRD = 79,
	DCNT_IA_DIAG_ERR_SQ_RAE = 80,
	DCNT_IA_DIAG_ERR_SQ_OOS = 81,
	DCNT_IA_DIAG_ERR_SQ_RIRE = 82,
	DCNT_IA_DIAG_ERR_SQ_RREE = 83,
	DCNT_IA_DIAG_ERR_SQ_TREE = 84,
	DCNT_IA_ALL_COUNTERS = 85, /* all of the above, in this order */
};
typedef enum dat_ia_counters DAT_IA_COUNTERS;

/* Counters of an endpoint. */
enum dat_ep_counters {
	DCNT_EP_CONNECT = 0,
	DCNT_EP_DISCONNECT = 1,
	DCNT_EP_POST_SEND = 2,
	DCNT_EP_POST_SEND_DATA = 3,
	DCNT_EP_POST_SEND_UD = 4,
	DCNT_EP_POST_SEND_UD_DATA = 5,
	DCNT_EP_POST_RECV = 6,
	DCNT_EP_POST_RECV_DATA = 7,
	DCNT_EP_POST_WRITE = 8,
	DCNT_EP_POST_WRITE_DATA = 9,
	DCNT_EP_POST_WRITE_IMM = 10,
	DCNT_EP_POST_WRITE_IMM_DATA = 11,
	DCNT_EP_POST_READ = 12,
	DCNT_EP_POST_READ_DATA = 13,
	DCNT_EP_POST_CMP_SWAP = 14,
	DCNT_EP_POST_FETCH_ADD = 15,
	DCNT_EP_RECV = 16,
	DCNT_EP_RECV_DATA = 17,
	DCNT_EP_RECV_UD = 18,
	DCNT_EP_RECV_UD_DATA = 19,
	DCNT_EP_RECV_IMM = 20,
	DCNT_EP_RECV_IMM_DATA = 21,
	DCNT_EP_RECV_RDMA_IMM = 22,
	DCNT_EP_RECV_RDMA_IMM_DATA = 23,
	DCNT_EP_ALL_COUNTERS = 24, /* all of the above, in this order */
};
typedef enum dat_ep_counters DAT_EP_COUNTERS;

/* Counters of an event queue. */
enum dat_evd_counters {
	DCNT_EVD_WAIT = 0,
	DCNT_EVD_WAIT_BLOCKED = 1,
	DCNT_EVD_WAIT_NOTIFY = 2,
	DCNT_EVD_DEQUEUE = 3,
	DCNT_EVD_DEQUEUE_FOUND = 4,
	DCNT_EVD_DEQUEUE_NOT_FOUND = 5,
	DCNT_EVD_DEQUEUE_POLL = 6,
	DCNT_EVD_DEQUEUE_POLL_FOUND = 7,
	DCNT_EVD_CONN_CALLBACK = 8,
	DCNT_EVD_DTO_CALLBACK = 9,
	DCNT_EVD_ALL_COUNTERS = 10, /* all of the above, in this order */
};
typedef enum dat_evd_counters DAT_EVD_COUNTERS;

/* Groups that start and stop together. */
enum dat_ia_counter_type {
	DCNT_IA_CM = 0,
	DCNT_IA_LNK = 1,
	DCNT_IA_DIAG = 2,
};
typedef enum dat_ia_counter_type DAT_IA_COUNTER_TYPE;

/* Elements of reductions; 2INT and the like are value and index. */
enum dat_ib_collective_data_type {
	DAT_IB_COLLECTIVE_TYPE_INT8 = 0,
	DAT_IB_COLLECTIVE_TYPE_UINT8 = 1,
	DAT_IB_COLLECTIVE_TYPE_INT16 = 2,
	DAT_IB_COLLECTIVE_TYPE_UINT16 = 3,
	DAT_IB_COLLECTIVE_TYPE_INT32 = 4,
	DAT_IB_COLLECTIVE_TYPE_UINT32 = 5,
	DAT_IB_COLLECTIVE_TYPE_INT64 = 6,
	DAT_IB_COLLECTIVE_TYPE_UINT64 = 7,
	DAT_IB_COLLECTIVE_TYPE_FLOAT = 8,
	DAT_IB_COLLECTIVE_TYPE_DOUBLE = 9,
	DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE = 10,
	DAT_IB_COLLECTIVE_TYPE_SHORT_INT = 11,
	DAT_IB_COLLECTIVE_TYPE_2INT = 12,
	DAT_IB_COLLECTIVE_TYPE_FLOAT_INT = 13,
	DAT_IB_COLLECTIVE_TYPE_LONG_INT = 14,
	DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT = 15,
};
typedef enum dat_ib_collective_data_type DAT_IB_COLLECTIVE_DATA_TYPE;

enum dat_ib_collective_reduce_data_op {
	DAT_IB_COLLECTIVE_REDUCE_OP_MAX = 0,
	DAT_IB_COLLECTIVE_REDUCE_OP_MIN = 1,
	DAT_IB_COLLECTIVE_REDUCE_OP_SUM = 2,
	DAT_IB_COLLECTIVE_REDUCE_OP_PROD = 3,
	DAT_IB_COLLECTIVE_REDUCE_OP_LAND = 4,
	DAT_IB_COLLECTIVE_REDUCE_OP_BAND = 5,
	DAT_IB_COLLECTIVE_REDUCE_OP_LOR = 6,
	DAT_IB_COLLECTIVE_REDUCE_OP_BOR = 7,
	DAT_IB_COLLECTIVE_REDUCE_OP_LXOR = 8,
	DAT_IB_COLLECTIVE_REDUCE_OP_BXOR = 9,
	DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC = 10,
	DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC = 11,
};
typedef enum dat_ib_collective_reduce_data_op DAT_IB_COLLECTIVE_REDUCE_DATA_OP;

typedef unsigned int DAT_IB_COLLECTIVE_RANK;
typedef unsigned int DAT_IB_COLLECTIVE_ID;
typedef void *DAT_IB_COLLECTIVE_MEMBER;

/* Where the processes of a group run. */
struct dat_ib_collective_group {
	int local_size; /* processes on this node */
	int local_rank;
	int *local_ranks;
	int external_size; /* nodes */
	int external_rank;
	int *external_ranks;
	int *intranode_table;
	int *internode_table;
	int is_comm_world;
};
typedef struct dat_ib_collective_group DAT_IB_COLLECTIVE_GROUP;

/*
 * dat_ib_post_fetch_and_add - add to 8 bytes at the peer, get the old value.
 *
 *   ep       connected endpoint
 *   add_val  64 bits, host byte order
 *   lbuf     one segment of 8 bytes for the old value; needs LOCAL_WRITE
 *   cookie   a DAT_DTO_COOKIE, passed as it is: a plain integer breaks the call
 *   rbuf     8 aligned bytes; needs DAT_IB_MEM_PRIV_REMOTE_ATOMIC there
 *   flgs     DAT_COMPLETION_FLAGS
 *
 * Returns: as dat_ep_post_rdma_read(); NOT_IMPLEMENTED where the attribute
 * DAT_IB_ATTR_FETCH_AND_ADD is not "TRUE".
 * Blocks: no. Threads: serialise.
 * Events: DAT_IB_DTO_EVENT on the request EVD, operation
 * DAT_IB_DTO_FETCH_ADD, extension type DAT_IB_FETCH_AND_ADD.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs)    \
	dat_extension_op(                                                   \
		(DAT_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_FETCH_AND_ADD_OP, \
		(DAT_UINT64)(add_val), (DAT_LMR_TRIPLET *)(lbuf), (cookie), \
		(DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

/*
 * dat_ib_post_cmp_and_swap - replace 8 bytes at the peer if they are cmp_val,
 * get the old value.
 *
 *   cmp_val, swap_val  64 bits, host byte order
 *   the others         as dat_ib_post_fetch_and_add()
 *
 * Returns: as dat_ib_post_fetch_and_add(), DAT_IB_ATTR_CMP_AND_SWAP.
 * Blocks: no. Threads: serialise.
 * Events: DAT_IB_DTO_EVENT on the request EVD, operation
 * DAT_IB_DTO_CMP_SWAP, extension type DAT_IB_CMP_AND_SWAP.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, \
				 flgs)                                      \
	dat_extension_op(                                                   \
		(DAT_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_CMP_AND_SWAP_OP,  \
		(DAT_UINT64)(cmp_val), (DAT_UINT64)(swap_val),              \
		(DAT_LMR_TRIPLET *)(lbuf), (cookie),                        \
		(DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

/*
 * dat_ib_post_rdma_write_immed - store into the peer's memory, and use up one
 * of its receives to tell it so.
 *
 *   ep      connected endpoint
 *   size    segments in lbuf
 *   lbuf    what to write; needs LOCAL_READ
 *   cookie  a DAT_DTO_COOKIE, passed as it is
 *   rbuf    one range; needs REMOTE_WRITE there
 *   idata   32 bits for the peer. Not swapped: equal on both sides only where
 *           the byte order is equal (historic, and kept)
 *   flgs    DAT_COMPLETION_FLAGS
 *
 * Returns: as dat_ep_post_rdma_write().
 * Blocks: no. Threads: serialise.
 * Events: DAT_IB_DTO_EVENT on the request EVD, operation
 * DAT_IB_DTO_RDMA_WRITE_IMMED, extension type DAT_IB_RDMA_WRITE_IMMED; at the
 * peer DAT_IB_DTO_EVENT on the receive EVD, operation DAT_IB_DTO_RECV_IMMED,
 * extension type DAT_IB_RDMA_WRITE_IMMED_DATA, val.immed.data, bytes written.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, \
				     flgs)                                \
	dat_extension_op((DAT_HANDLE)(ep),                                \
			 (DAT_EXTENDED_OP)DAT_IB_RDMA_WRITE_IMMED_OP,     \
			 (DAT_COUNT)(size), (DAT_LMR_TRIPLET *)(lbuf),    \
			 (cookie), (DAT_RMR_TRIPLET *)(rbuf),             \
			 (DAT_UINT32)(idata), (DAT_COMPLETION_FLAGS)(flgs))

/*
 * dat_ib_post_send_ud - send a datagram.
 *
 *   ep        endpoint of DAT_IB_SERVICE_TYPE_UD
 *   segments  in lbuf
 *   lbuf      what to send, one transport MTU at most
 *   ah_ptr    where to: remote_ah of a connection event
 *   cookie    a DAT_DTO_COOKIE, passed as it is
 *   flgs      DAT_COMPLETION_FLAGS
 *
 * Returns: as dat_ep_post_send(); INVALID_HANDLE/EP on a connected endpoint.
 * Blocks: no. Threads: serialise.
 * Events: DAT_IB_DTO_EVENT on the request EVD, operation DAT_IB_DTO_SEND_UD,
 * extension type DAT_IB_UD_SEND; at the peer DAT_IB_DTO_EVENT on the receive
 * EVD, operation DAT_IB_DTO_RECV_UD, extension type DAT_IB_UD_RECV. The first
 * 40 bytes of the peer's buffer hold the global route header.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs)          \
	dat_extension_op((DAT_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_UD_SEND_OP, \
			 (DAT_COUNT)(segments), (DAT_LMR_TRIPLET *)(lbuf),     \
			 (DAT_IB_ADDR_HANDLE *)(ah_ptr), (cookie),             \
			 (DAT_COMPLETION_FLAGS)(flgs))

/*
 * dat_ib_post_recv_ud - receive a datagram: dat_ep_post_recv() with a buffer
 * that has 40 bytes to spare.
 *
 * Returns, Blocks, Threads, Events: as dat_ep_post_recv().
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_post_recv_ud dat_ep_post_recv

/*
 * dat_ib_ud_cm_free - forget how a datagram peer was found.
 *
 *   ep  endpoint of DAT_IB_SERVICE_TYPE_UD
 *   cm  DAT_CONTEXT of the connection event, passed as it is; 0 is that of an
 *       event that left nothing to be freed
 *
 * Private data of the event is gone then; an address handle stays.
 *
 * Returns:
 *   INVALID_HANDLE/EP, INVALID_PARAMETER  bad endpoint, context
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_ud_cm_free(ep, cm)          \
	dat_extension_op((DAT_HANDLE)(ep), \
			 (DAT_EXTENDED_OP)DAT_IB_UD_CM_FREE_OP, (cm))

/*
 * dat_ib_ud_ah_free - destroy the address handle of a datagram peer.
 *
 *   ep  endpoint of DAT_IB_SERVICE_TYPE_UD
 *   ah  remote_ah of the connection event
 *
 * A handle ends with its endpoint, too, and with a reset of that.
 *
 * Returns:
 *   INVALID_HANDLE/EP, INVALID_PARAMETER  bad endpoint, no handle of its own
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_ud_ah_free(ep, ah)                               \
	dat_extension_op((DAT_HANDLE)(ep),                      \
			 (DAT_EXTENDED_OP)DAT_IB_UD_AH_FREE_OP, \
			 (DAT_IB_ADDR_HANDLE *)(ah))

/*
 * dat_ib_open_query - open an adapter only to read its attributes.
 *
 *   name                  IA name
 *   ia_handle             out, good for dat_ib_close_query() and nothing else
 *   ia_mask, ia_attr      as dat_ia_query()
 *   prov_mask, prov_attr  as dat_ia_query()
 *
 * Any adapter can be asked, also one without this extension. Pointers in the
 * results live as long as the handle.
 *
 * Returns:
 *   PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED  no such name
 *   INVALID_HANDLE          name NULL (historic)
 *   INVALID_PARAMETER/ARG2  ia_handle NULL
 *   INVALID_PARAMETER/ARG3, ARG5  mask with unknown bits
 *   INVALID_PARAMETER/ARG4, ARG6  mask not 0 and structure NULL
 *   INVALID_PARAMETER/ARG5  both structures NULL
 *   anything else           as dat_ia_openv()
 * Blocks: may. Threads: safe. Events: none, and no asynchronous EVD.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, \
			  prov_attr)                                    \
	dat_extension_op(                                               \
		DAT_HANDLE_NULL, (DAT_EXTENDED_OP)DAT_IB_OPEN_QUERY_OP, \
		(DAT_NAME_PTR)(name), (DAT_HANDLE *)(ia_handle),        \
		(DAT_IA_ATTR_MASK)(ia_mask), (DAT_IA_ATTR *)(ia_attr),  \
		(DAT_PROVIDER_ATTR_MASK)(prov_mask),                    \
		(DAT_PROVIDER_ATTR *)(prov_attr))

/*
 * dat_ib_close_query - close what dat_ib_open_query() opened.
 *
 *   ia_handle  from there
 *
 * Returns:
 *   INVALID_HANDLE/IA  not from there, or closed already
 * Blocks: may. Threads: serialise. Events: none.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_close_query(ia_handle)             \
	dat_extension_op((DAT_HANDLE)(ia_handle), \
			 (DAT_EXTENDED_OP)DAT_IB_CLOSE_QUERY_OP)

/*
 * dat_ib_query_counters - read counters of an adapter, endpoint or queue.
 *
 *   dat_handle   IA, EP or EVD: which set
 *   cntr         DCNT_IA_*, DCNT_EP_* or DCNT_EVD_*
 *   p_cntrs_out  out, one 64-bit value, or for *_ALL_COUNTERS as many as the
 *                number of that name
 *   reset        not 0: counted from 0 after reading
 *
 * An adapter's (DCNT_IA_*) are always counted; those of endpoints and queues
 * from the first of these four calls on any object of an adapter of that name,
 * or with DAPL_COUNTERS in the environment. What each means: dapl-counters.7.
 *
 * Returns:
 *   INVALID_HANDLE, INVALID_PARAMETER  object, number, no place
 *   NOT_IMPLEMENTED  DAT_IB_ATTR_COUNTERS is not "TRUE"
 * Blocks: no; values of the device are read from sysfs. Threads: any, but not
 * while the adapter is closed. Events: none.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_query_counters(dat_handle, cntr, p_cntrs_out, reset) \
	dat_extension_op((DAT_HANDLE)(dat_handle),                  \
			 (DAT_EXTENDED_OP)DAT_IB_QUERY_COUNTERS_OP, \
			 (int)(cntr), (DAT_UINT64 *)(p_cntrs_out),  \
			 (int)(reset))

/*
 * dat_ib_print_counters - write counters that are not 0 to standard output.
 *
 *   the arguments  as dat_ib_query_counters()
 *
 * Returns: as dat_ib_query_counters().
 * Blocks: no longer than the output. Threads: any. Events: none.
 * Rule: IB extension 2.0.9.
 */
#define dat_ib_print_counters(dat_handle, cntr, reset)              \
	dat_extension_op((DAT_HANDLE)(dat_handle),                  \
			 (DAT_EXTENDED_OP)DAT_IB_PRINT_COUNTERS_OP, \
			 (int)(cntr), (int)(reset))

/*
 * dat_ib_start_counter - let a group of adapter counters go on, as at first.
 *
 *   dat_handle  IA
 *   type        DAT_IA_COUNTER_TYPE
 *
 * Returns: as dat_ib_query_counters().
 * Blocks: no. Threads: any. Events: none.
 * Rule: IB extension 2.0.9; older headers named a type that does not exist.
 */
#define dat_ib_start_counter(dat_handle, type)                      \
	dat_extension_op((DAT_HANDLE)(dat_handle),                  \
			 (DAT_EXTENDED_OP)DAT_IB_START_COUNTERS_OP, \
			 (DAT_IA_COUNTER_TYPE)(type))

/*
 * dat_ib_stop_counter - let a group of adapter counters stay as it is.
 *
 *   the arguments  as dat_ib_start_counter()
 *
 * Returns: as dat_ib_query_counters().
 * Blocks: no. Threads: any. Events: none.
 * Rule: as dat_ib_start_counter().
 */
#define dat_ib_stop_counter(dat_handle, type)                      \
	dat_extension_op((DAT_HANDLE)(dat_handle),                 \
			 (DAT_EXTENDED_OP)DAT_IB_STOP_COUNTERS_OP, \
			 (DAT_IA_COUNTER_TYPE)(type))

/*
 * dat_query_counters, dat_print_counters - older names of
 * dat_ib_query_counters() and dat_ib_print_counters().
 *
 * Returns, Blocks, Threads, Events, Rule: as those.
 */
#define dat_query_counters dat_ib_query_counters
#define dat_print_counters dat_ib_print_counters

/*
 * dat_ib_collective - operations of a group of processes.
 *
 * Each process calls the same operation on its own group handle. Sizes and
 * displacements are bytes, buffers are ordinary memory. Providers without
 * them answer NOT_IMPLEMENTED; look for DAT_IB_COLL_* attributes.
 *
 * Returns:
 *   INVALID_HANDLE          not an adapter, or not a group
 *   INVALID_PARAMETER       any other argument
 *   INSUFFICIENT_RESOURCES  memory or device
 *   NOT_IMPLEMENTED         the provider has no such operation
 * Blocks: no, unless the operation says so. Threads: serialise.
 * Events: DAT_IB_COLLECTIVE_EVENT on the group's queue, with the extension
 * type of the operation, coll.handle, coll.context, and the status.
 * Rule: IB extension 2.0.9.
 */

/*
 * dat_ib_collective_create_member - describe this process to the others.
 *
 *   ia_handle      adapter
 *   progress_func  called while waiting; may be NULL
 *   member         out, opaque bytes to give to all others by other means
 *   member_size    out, how many
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_create_member(ia_handle, progress_func, member,     \
					member_size)                          \
	dat_extension_op((DAT_HANDLE)(ia_handle),                             \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_CREATE_MEMBER_OP, \
			 (void *)(progress_func),                             \
			 (DAT_IB_COLLECTIVE_MEMBER *)(member),                \
			 (DAT_UINT32 *)(member_size))

/*
 * dat_ib_collective_free_member - undo dat_ib_collective_create_member().
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_free_member(ia_handle, member)                    \
	dat_extension_op((DAT_HANDLE)(ia_handle),                           \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_FREE_MEMBER_OP, \
			 (DAT_IB_COLLECTIVE_MEMBER)(member))

/*
 * dat_ib_collective_create_group - set up a group of processes.
 *
 *   members       one description per process, in order of rank
 *   group_size    how many
 *   self          rank of this process
 *   group_id      number of the group, equal in all processes
 *   group_info    where the processes run
 *   evd           queue for completions; made with DAT_IB_EVD_EXTENSION_FLAG
 *   pd            zone
 *   user_context  comes back in the event
 *
 * Returns, Blocks, Threads, Rule: as dat_ib_collective().
 * Events: DAT_IB_COLLECTIVE_CREATE_STATUS with the handle of the group.
 */
#define dat_ib_collective_create_group(members, group_size, self, group_id,  \
				       group_info, evd, pd, user_context)    \
	dat_extension_op((DAT_HANDLE)(evd),                                  \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_CREATE_GROUP_OP, \
			 (DAT_IB_COLLECTIVE_MEMBER *)(members),              \
			 (DAT_COUNT)(group_size),                            \
			 (DAT_IB_COLLECTIVE_RANK)(self),                     \
			 (DAT_IB_COLLECTIVE_ID)(group_id),                   \
			 (DAT_IB_COLLECTIVE_GROUP *)(group_info),            \
			 (DAT_PZ_HANDLE)(pd), (user_context))

/*
 * dat_ib_collective_free_group - undo dat_ib_collective_create_group().
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_free_group(coll_handle)   \
	dat_extension_op((DAT_HANDLE)(coll_handle), \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_FREE_GROUP_OP)

/*
 * dat_ib_collective_set_clock - set the clock that the group shares.
 *
 *   clock_value   64 bits
 *   user_context  comes back in DAT_IB_COLLECTIVE_CLOCK_SET_STATUS
 *
 * Older headers could not compile it and named the number of read_clock.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_set_clock(coll_handle, clock_value, user_context) \
	dat_extension_op((DAT_HANDLE)(coll_handle),                         \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_SET_CLOCK_OP,   \
			 (DAT_UINT64)(clock_value), (user_context))

/*
 * dat_ib_collective_read_clock - read the clock that the group shares.
 *
 *   clock_value  out, 64 bits; no event
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_read_clock(coll_handle, clock_value)             \
	dat_extension_op((DAT_HANDLE)(coll_handle),                        \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_READ_CLOCK_OP, \
			 (DAT_UINT64 *)(clock_value))

/*
 * dat_ib_collective_scatter - one part of root's buffer to each process.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_scatter(coll_handle, sendbuf, sendsize, recvbuf, \
				  recvsize, root, user_context, flags)     \
	dat_extension_op((DAT_HANDLE)(coll_handle),                        \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_SCATTER_OP,    \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),      \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize),      \
			 (DAT_IB_COLLECTIVE_RANK)(root), (user_context),   \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_scatterv - the same with parts of different size;
 * sendsizes and displs have one entry per process.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_scatterv(coll_handle, sendbuf, sendsizes, displs, \
				   recvbuf, recvsize, root, user_context,   \
				   flags)                                   \
	dat_extension_op((DAT_HANDLE)(coll_handle),                         \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_SCATTERV_OP,    \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT *)(sendsizes),    \
			 (DAT_COUNT *)(displs), (DAT_PVOID)(recvbuf),       \
			 (DAT_COUNT)(recvsize),                             \
			 (DAT_IB_COLLECTIVE_RANK)(root), (user_context),    \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_gather - one part from each process to root.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_gather(coll_handle, sendbuf, sendsize, recvbuf, \
				 recvsize, root, user_context, flags)     \
	dat_extension_op((DAT_HANDLE)(coll_handle),                       \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_GATHER_OP,    \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),     \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize),     \
			 (DAT_IB_COLLECTIVE_RANK)(root), (user_context),  \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_gatherv - the same with parts of different size;
 * recvsizes and displs have one entry per process.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_gatherv(coll_handle, sendbuf, sendsize, recvbuf, \
				  recvsizes, displs, root, user_context,   \
				  flags)                                   \
	dat_extension_op((DAT_HANDLE)(coll_handle),                        \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_GATHERV_OP,    \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),      \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT *)(recvsizes),   \
			 (DAT_COUNT *)(displs),                            \
			 (DAT_IB_COLLECTIVE_RANK)(root), (user_context),   \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_allgather - one part from each process to all.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_allgather(coll_handle, sendbuf, sendsize, recvbuf, \
				    recvsize, user_context, flags)           \
	dat_extension_op((DAT_HANDLE)(coll_handle),                          \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLGATHER_OP,    \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),        \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize),        \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_allgatherv - the same with parts of different size.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_allgatherv(coll_handle, sendbuf, sendsize, recvbuf, \
				     recvsizes, displs, user_context, flags)  \
	dat_extension_op((DAT_HANDLE)(coll_handle),                           \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLGATHERV_OP,    \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),         \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT *)(recvsizes),      \
			 (DAT_COUNT *)(displs), (user_context),               \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_alltoall - one part from each process to each process.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_alltoall(coll_handle, sendbuf, sendsize, recvbuf, \
				   recvsize, user_context, flags)           \
	dat_extension_op((DAT_HANDLE)(coll_handle),                         \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLTOALL_OP,    \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),       \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize),       \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_alltoallv - the same with parts of different size; all
 * four arrays have one entry per process.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_alltoallv(coll_handle, sendbuf, sendsizes,          \
				    senddispls, recvbuf, recvsizes,           \
				    recvdispls, user_context, flags)          \
	dat_extension_op((DAT_HANDLE)(coll_handle),                           \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLTOALLV_OP,     \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT *)(sendsizes),      \
			 (DAT_COUNT *)(senddispls), (DAT_PVOID)(recvbuf),     \
			 (DAT_COUNT *)(recvsizes), (DAT_COUNT *)(recvdispls), \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_reduce - combine the buffers of all, the result to root.
 *
 *   op    DAT_IB_COLLECTIVE_REDUCE_DATA_OP
 *   type  DAT_IB_COLLECTIVE_DATA_TYPE of the elements
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_reduce(coll_handle, sendbuf, sendsize, recvbuf, \
				 recvsize, op, type, root, user_context,  \
				 flags)                                   \
	dat_extension_op((DAT_HANDLE)(coll_handle),                       \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_REDUCE_OP,    \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),     \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize),     \
			 (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),          \
			 (DAT_IB_COLLECTIVE_DATA_TYPE)(type),             \
			 (DAT_IB_COLLECTIVE_RANK)(root), (user_context),  \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_allreduce - combine the buffers of all, the result to all.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_allreduce(coll_handle, sendbuf, sendsize, recvbuf,  \
				    recvsize, op, type, user_context, flags)  \
	dat_extension_op((DAT_HANDLE)(coll_handle),                           \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLREDUCE_OP,     \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),         \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize),         \
			 (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),              \
			 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context), \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_reduce_scatter - combine, then one part to each process;
 * recvsizes has one entry per process.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_reduce_scatter(coll_handle, sendbuf, sendsize,       \
					 recvbuf, recvsizes, op, type,         \
					 user_context, flags)                  \
	dat_extension_op((DAT_HANDLE)(coll_handle),                            \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP, \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),          \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT *)(recvsizes),       \
			 (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),               \
			 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context),  \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_scan - combine the buffers of ranks up to the own one.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_scan(coll_handle, sendbuf, sendsize, recvbuf,       \
			       recvsize, op, type, user_context, flags)       \
	dat_extension_op((DAT_HANDLE)(coll_handle),                           \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_SCAN_OP,          \
			 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize),         \
			 (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize),         \
			 (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),              \
			 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context), \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_broadcast - root's buffer to all.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_broadcast(coll_handle, buf, size, root,         \
				    user_context, flags)                  \
	dat_extension_op((DAT_HANDLE)(coll_handle),                       \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_BROADCAST_OP, \
			 (DAT_PVOID)(buf), (DAT_COUNT)(size),             \
			 (DAT_IB_COLLECTIVE_RANK)(root), (user_context),  \
			 (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_ib_collective_barrier - complete when all processes have called it.
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ib_collective().
 */
#define dat_ib_collective_barrier(coll_handle, user_context, flags)     \
	dat_extension_op((DAT_HANDLE)(coll_handle),                     \
			 (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_BARRIER_OP, \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

/*
 * dat_strerror_extension - the name of an IB return code as text.
 *
 *   value    DAT_IB_RETURN, or any DAT_RETURN
 *   message  out, constant text; not NULL
 *
 * Returns: DAT_SUCCESS for IB codes, else as dat_strerror().
 * Blocks: no. Threads: safe. Events: none.
 * Rule: IB extension 2.0.9.
 */
static inline DAT_RETURN dat_strerror_extension(DAT_IB_RETURN value,
						const char **message)
{
	if (DAT_GET_TYPE(value) == (DAT_UINT32)DAT_IB_ERR) {
		*message = DAT_GET_SUBTYPE(value) ? "DAT_IB_COLLECTIVE_ERR"
						  : "DAT_IB_ERR";
		return DAT_SUCCESS;
	}
	return dat_strerror((DAT_RETURN)value, message, NULL);
}

/*
 * dat_strerror_ext_status - the name of an extension status as text.
 *
 *   value    DAT_IB_STATUS of an event
 *   message  out, constant text; one blank for DAT_OP_SUCCESS; not NULL
 *
 * Returns:
 *   INVALID_PARAMETER  unknown; message is not written
 * Blocks: no. Threads: safe. Events: none.
 * Rule: IB extension 2.0.9; older headers did not know all of its values.
 */
static inline DAT_RETURN dat_strerror_ext_status(DAT_IB_STATUS value,
						 const char **message)
{
	switch (value) {
	case DAT_OP_SUCCESS:
		*message = " ";
		return DAT_SUCCESS;
	case DAT_IB_OP_ERR:
		*message = "DAT_IB_OP_ERR";
		return DAT_SUCCESS;
	case DAT_IB_COLL_COMP_ERR:
		*message = "DAT_IB_COLL_COMP_ERR";
		return DAT_SUCCESS;
	default:
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
	}
}

#ifdef __cplusplus
}
#endif

#endif /* DAT2_IB_EXTENSIONS_H */
