/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat.h - the part of DAT that does not depend on user space.
 *
 * Types, events and calls. Does not hold what only user space has (CNOs,
 * memory registration, waiting): that is udat.h, which programs include.
 * Threads: stated for each call, in the words explained below.
 * Ownership: handles belong to the consumer until the matching free; strings
 * and arrays are copied unless the comment says otherwise.
#ifndef DAT_1_2
 * Rule: uDAPL 1.2 specification, and for what came later the DAT 2.0 names,
 * types and values. Values and layouts are checked by test/abi.
#else
 * Rule: uDAPL 1.2 specification. Values and layouts, those that programs for
 * Linux were built with, are checked by test/abi.
#endif
 */
#ifndef DAT2_UDAT_H
/* Needs the types of udat.h, which includes this file in the right place. */
#include <dat2/udat.h>
#elif !defined(DAT2_DAT_H)
#define DAT2_DAT_H

#include <dat2/dat_error.h>
#include <dat2/dat_platform_specific.h>
#include <dat2/dat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How the calls are described
 *
 * Returns: DAT_SUCCESS or one of the listed codes, as type/subtype without
 *   DAT_ and without the repeated type: INVALID_HANDLE/EP is
 *   DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_EP, INVALID_PARAMETER/ARG2 is
 *   DAT_INVALID_PARAMETER with DAT_INVALID_ARG2. No subtype: may be anything.
 *   A NULL EVD as first argument is INVALID_HANDLE/EVD_REQUEST, as ever.
 *   Outputs are written on success only, unless stated. A call on an object
 *   that was freed is a mistake whose effect nobody promises.
 *   dat_error_detail() gives the reason as text.
 * Blocks: "no" means that the call waits for no other party and no device;
 *   it may take a lock for a short time.
 * Threads: "safe", or "serialise": no two calls at once on the same object,
 *   unless the provider says is_thread_safe.
 * Events: what the call causes to be queued, and where.
#ifndef DAT_1_2
 * Rule: where this comes from. Nothing is safe in a signal handler unless
 *   the provider says is_signal_safe; nothing survives a fork: in
#else
 * Rule: where this comes from. Nothing is safe in a signal handler; nothing
 *   survives a fork: in
#endif
 *   a child, calls on what the parent has open are INVALID_HANDLE, and
 *   opening and closing INVALID_STATE.
 */

typedef char *DAT_NAME_PTR;
#define DAT_NAME_MAX_LENGTH 256

/* An attribute that only some transports or providers have. */
struct dat_named_attr {
	const char *name;
	const char *value;
};
typedef struct dat_named_attr DAT_NAMED_ATTR;

enum dat_boolean {
	DAT_FALSE = 0,
	DAT_TRUE = 1,
};
typedef enum dat_boolean DAT_BOOLEAN;

#ifndef DAT_1_2
/* For programs that choose an extension header when they are compiled. */
#define DAT_IB_EXTENSION    1
#define DAT_IW_EXTENSION    2

/* How a provider spreads load over several paths. */
typedef DAT_UINT32 DAT_HA_LB;
#define DAT_HA_LB_NONE	    ((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM ((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM ((DAT_HA_LB)2)
#endif

/* 8 bytes of the consumer's that come back unchanged. */
union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
};
typedef union dat_context DAT_CONTEXT;

typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/*
 * In an endpoint's attributes: which events of its queues notify, that is, wake
 * a waiter that sleeps or trigger the CNO. Posted with an operation: how that
 * one completes. An operation that fails has an event, and notifies, always.
 */
enum dat_completion_flags {
	/* an endpoint: as EVD_THRESHOLD; an operation: its event notifies */
	DAT_COMPLETION_DEFAULT_FLAG = 0x0,
	/* an operation that is no receive: no event on success */
	DAT_COMPLETION_SUPPRESS_FLAG = 0x1,
	/* receives of an endpoint: those notify whose sender gave this flag */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x2,
	/*
	 * an endpoint: operations may be posted with this flag; such an
	 * operation: an event, which notifies nobody. Without the endpoint's
	 * flag that of an operation is ignored.
	 */
	DAT_COMPLETION_UNSIGNALLED_FLAG = 0x4,
	/* an operation: start after earlier RDMA reads are complete */
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x8,
	/*
	 * an endpoint: all events notify, and a waiter may ask for several at
	 * once. SOLICITED_WAIT, and then UNSIGNALLED, take precedence.
	 */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10,
#ifndef DAT_1_2
	/* no effect */
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20,
#endif
};
typedef enum dat_completion_flags DAT_COMPLETION_FLAGS;

typedef DAT_UINT32 DAT_TIMEOUT; /* microseconds */
#define DAT_TIMEOUT_INFINITE ((DAT_TIMEOUT)~0)

/*
 * An object. All but IA handles are pointers, and the first word there is the
 * provider's table, see dat_redirection.h.
 */
typedef void *DAT_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;
#ifndef DAT_1_2
typedef DAT_HANDLE DAT_CSP_HANDLE;
#endif

#define DAT_HANDLE_NULL ((DAT_HANDLE)NULL)

#ifndef DAT_1_2
/* Which operation a completion belongs to. */
enum dat_dtos {
	DAT_DTO_SEND = 0,
	DAT_DTO_RDMA_WRITE = 1,
	DAT_DTO_RDMA_READ = 2,
	DAT_DTO_RECEIVE = 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE = 4,
	DAT_DTO_BIND_MW = 5,
	DAT_DTO_LMR_FMR = 6,
	DAT_DTO_LMR_INVALIDATE = 7,
	DAT_DTO_EXTENSION_BASE = 8,
};
typedef enum dat_dtos DAT_DTOS;
#endif

/*
 * Any socket address; its family says how long it is, which may be more than a
 * DAT_SOCK_ADDR: a copy has to be as long.
 */
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;

enum dat_qos {
	DAT_QOS_BEST_EFFORT = 0x0,
	DAT_QOS_HIGH_THROUGHPUT = 0x1,
	DAT_QOS_LOW_LATENCY = 0x2,
	DAT_QOS_ECONOMY = 0x4,
	DAT_QOS_PREMIUM = 0x8,
};
typedef enum dat_qos DAT_QOS;

enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG = 0,
	DAT_CONNECT_MULTIPATH_FLAG = 1,
#ifndef DAT_1_2
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG = 2,
#endif
};
typedef enum dat_connect_flags DAT_CONNECT_FLAGS;
#ifndef DAT_1_2
#define DAT_CONNECT_MULTIPATH_REQUESTED_FLAG DAT_CONNECT_MULTIPATH_FLAG
#endif

enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG = 0,
	DAT_CLOSE_GRACEFUL_FLAG = 1,
};
typedef enum dat_close_flags DAT_CLOSE_FLAGS;
#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

/* Streams of events; a queue is made for some of them. */
enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG = 0x1,
	DAT_EVD_CR_FLAG = 0x10,
	DAT_EVD_DTO_FLAG = 0x20,
	DAT_EVD_CONNECTION_FLAG = 0x40,
	DAT_EVD_RMR_BIND_FLAG = 0x80,
	DAT_EVD_ASYNC_FLAG = 0x100,
	DAT_EVD_DEFAULT_FLAG = 0x1f0, /* all but software */
#ifndef DAT_1_2
	DAT_EVD_EXTENSION_BASE = 0x200,
#endif
};
typedef enum dat_evd_flags DAT_EVD_FLAGS;

/* Who brings the endpoint of a request. */
enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG = 0,
	DAT_PSP_PROVIDER_FLAG = 1,
};
typedef enum dat_psp_flags DAT_PSP_FLAGS;

/* Keys of memory, host byte order: for local triplets, for the peer's. */
typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;

typedef DAT_UINT64 DAT_VLEN; /* bytes */
typedef DAT_UINT64 DAT_VADDR;
#ifndef DAT_1_2
typedef DAT_UINT32 DAT_SEG_LENGTH; /* bytes */
#endif

/* Defined in udat.h; named here for the prototypes below. */
typedef struct dat_provider_attr DAT_PROVIDER_ATTR;
typedef struct dat_evd_param DAT_EVD_PARAM;
typedef struct dat_provider DAT_PROVIDER;

/* A range of registered memory. */
struct dat_lmr_triplet {
#ifndef DAT_1_2
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length; /* bytes */
	DAT_LMR_CONTEXT lmr_context;
#else
	DAT_LMR_CONTEXT lmr_context;
	DAT_UINT32 pad; /* not looked at */
	DAT_VADDR virtual_address;
	DAT_VLEN segment_length; /* bytes */
#endif
};
typedef struct dat_lmr_triplet DAT_LMR_TRIPLET;

/* A range of memory that was opened to a peer. */
struct dat_rmr_triplet {
#ifndef DAT_1_2
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length; /* bytes */
	DAT_RMR_CONTEXT rmr_context;
#else
	DAT_RMR_CONTEXT rmr_context;
	DAT_UINT32 pad; /* not looked at */
	DAT_VADDR target_address;
	DAT_VLEN segment_length; /* bytes */
#endif
};
typedef struct dat_rmr_triplet DAT_RMR_TRIPLET;

enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG = 0x0,
	DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x1,
	DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x2,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20,
	DAT_MEM_PRIV_ALL_FLAG = 0x33,
#ifndef DAT_1_2
	DAT_MEM_PRIV_EXTENSION_BASE = 0x40,
#endif
};
typedef enum dat_mem_priv_flags DAT_MEM_PRIV_FLAGS;
#define DAT_MEM_PRIV_READ_FLAG \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

#ifndef DAT_1_2
/* Addresses are the process's own, or count from 0. */
enum dat_va_type {
	DAT_VA_TYPE_VA = 0,
	DAT_VA_TYPE_ZB = 1,
};
typedef enum dat_va_type DAT_VA_TYPE;

/* Where an RMR context is good. */
enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP = 0,
	DAT_RMR_SCOPE_PZ = 1,
	DAT_RMR_SCOPE_ANY = 2,
};
typedef enum dat_rmr_scope DAT_RMR_SCOPE;
#endif

struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
#ifndef DAT_1_2
	DAT_RMR_SCOPE rmr_scope;
	DAT_VA_TYPE va_type;
#endif
};
typedef struct dat_rmr_param DAT_RMR_PARAM;

enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE = 0x1,
	DAT_RMR_FIELD_PZ_HANDLE = 0x2,
	DAT_RMR_FIELD_LMR_TRIPLET = 0x4,
	DAT_RMR_FIELD_MEM_PRIV = 0x8,
	DAT_RMR_FIELD_RMR_CONTEXT = 0x10,
#ifndef DAT_1_2
	DAT_RMR_FIELD_RMR_SCOPE = 0x20,
	DAT_RMR_FIELD_VA_TYPE = 0x40,
	DAT_RMR_FIELD_ALL = 0x7f,
#else
	DAT_RMR_FIELD_ALL = 0x1f,
#endif
};
typedef enum dat_rmr_param_mask DAT_RMR_PARAM_MASK;

/* Whose the segment array is after a post returned. */
enum dat_iov_ownership {
	DAT_IOV_CONSUMER = 0, /* free to reuse */
	/* the provider's until completion, not changed */
	DAT_IOV_PROVIDER_NOMOD = 1,
	/* the provider's until completion, may be changed */
	DAT_IOV_PROVIDER_MOD = 2,
};
typedef enum dat_iov_ownership DAT_IOV_OWNERSHIP;

/* Whether DAT_PSP_PROVIDER_FLAG can be used. */
enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER = 0,
	DAT_PSP_CREATES_EP_IFASKED = 1,
	DAT_PSP_CREATES_EP_ALWAYS = 2,
};
typedef enum dat_ep_creator_for_psp DAT_EP_CREATOR_FOR_PSP;

#ifndef DAT_1_2
/* Which extension dat_extension_op() takes. */
enum dat_extension {
	DAT_EXTENSION_NONE = 0,
	DAT_EXTENSION_IB = 1, /* dat_ib_extensions.h */
	DAT_EXTENSION_IW = 2, /* iWARP */
};
typedef enum dat_extension DAT_EXTENSION;
#endif

/* Limits of an adapter; counts are upper bounds, never a reservation. */
struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr; /* local address */
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;	    /* outstanding, per direction */
	DAT_COUNT max_rdma_read_per_ep_in;  /* as the target */
	DAT_COUNT max_rdma_read_per_ep_out; /* as the initiator */
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen; /* events */
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_SEG_LENGTH max_lmr_block_size; /* bytes */
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_SEG_LENGTH max_message_size; /* bytes */
	DAT_SEG_LENGTH max_rdma_size;	 /* bytes */
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;  /* per adapter */
	DAT_COUNT max_rdma_read_out; /* per adapter */
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
#ifndef DAT_1_2
	DAT_BOOLEAN zb_supported; /* zero-based addresses */
	DAT_EXTENSION extension_supported;
	DAT_COUNT extension_version; /* as in the extension's header */
#endif
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
};
typedef struct dat_ia_attr DAT_IA_ATTR;

/*
 * Older names of members. Macros and not unions: positional initialisers of
 * existing programs keep compiling without warnings.
 */
#define max_rdma_read_per_ep max_rdma_read_per_ep_in
#define max_mtu_size	     max_message_size

typedef DAT_UINT64 DAT_IA_ATTR_MASK;

#define DAT_IA_FIELD_NONE				    UINT64_C(0x0)
#define DAT_IA_FIELD_IA_ADAPTER_NAME			    UINT64_C(0x1)
#define DAT_IA_FIELD_IA_VENDOR_NAME			    UINT64_C(0x2)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION		    UINT64_C(0x4)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION		    UINT64_C(0x8)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION		    UINT64_C(0x10)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION		    UINT64_C(0x20)
#define DAT_IA_FIELD_IA_ADDRESS_PTR			    UINT64_C(0x40)
#define DAT_IA_FIELD_IA_MAX_EPS				    UINT64_C(0x80)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP			    UINT64_C(0x100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN		    UINT64_C(0x200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT	    UINT64_C(0x400)
#define DAT_IA_FIELD_IA_MAX_EVDS			    UINT64_C(0x800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN			    UINT64_C(0x1000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO	    UINT64_C(0x2000)
#define DAT_IA_FIELD_IA_MAX_LMRS			    UINT64_C(0x4000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE		    UINT64_C(0x8000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS		    UINT64_C(0x10000)
#define DAT_IA_FIELD_IA_MAX_PZS				    UINT64_C(0x20000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE		    UINT64_C(0x40000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE			    UINT64_C(0x80000)
#define DAT_IA_FIELD_IA_MAX_RMRS			    UINT64_C(0x100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS		    UINT64_C(0x200000)
#define DAT_IA_FIELD_IA_MAX_SRQS			    UINT64_C(0x400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ			    UINT64_C(0x800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ		    UINT64_C(0x1000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ	    UINT64_C(0x2000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE	    UINT64_C(0x4000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN		    UINT64_C(0x8000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT		    UINT64_C(0x10000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED  UINT64_C(0x20000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED UINT64_C(0x40000000)
#ifndef DAT_1_2
#define DAT_IA_FIELD_IA_ZB_SUPPORTED	   UINT64_C(0x80000000)
#define DAT_IA_FIELD_IA_EXTENSION	   UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION  UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR UINT64_C(0x400000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR	   UINT64_C(0x800000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR	   UINT64_C(0x1000000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR	   UINT64_C(0x2000000000)
#define DAT_IA_FIELD_ALL		   UINT64_C(0x3fffffffff)
#else
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR UINT64_C(0x80000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR	   UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR	   UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR	   UINT64_C(0x400000000)
#define DAT_IA_FIELD_ALL		   UINT64_C(0x7ffffffff)
#endif

/*
 * Other names of the same bits. MAX_DTO_PER_OP used to name a macro that no
 * header defined; what its text meant is the limit per endpoint.
 */
#define DAT_IA_ALL		       DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE   DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP DAT_IA_FIELD_IA_MAX_DTO_PER_EP
#ifndef DAT_1_2
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED DAT_IA_FIELD_IA_EXTENSION
#endif

enum dat_service_type {
	DAT_SERVICE_TYPE_RC = 0,
#ifndef DAT_1_2
	DAT_SERVICE_TYPE_EXTENSION_BASE = 1,
#endif
};
typedef enum dat_service_type DAT_SERVICE_TYPE;

/* What an endpoint is made for. */
struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_SEG_LENGTH max_message_size; /* bytes */
	DAT_SEG_LENGTH max_rdma_size;	 /* bytes */
	DAT_QOS qos;			 /* any is DAT_QOS_BEST_EFFORT */
	DAT_COMPLETION_FLAGS recv_completion_flags; /* not SUPPRESS */
	DAT_COMPLETION_FLAGS request_completion_flags;
	DAT_COUNT max_recv_dtos;     /* outstanding */
	DAT_COUNT max_request_dtos;  /* outstanding */
	DAT_COUNT max_recv_iov;	     /* segments of one receive */
	DAT_COUNT max_request_iov;   /* segments of one request */
	DAT_COUNT max_rdma_read_in;  /* outstanding, as the target */
	DAT_COUNT max_rdma_read_out; /* outstanding, as the initiator */
	DAT_COUNT srq_soft_hw;	     /* DAT_HW_DEFAULT: off */
	DAT_COUNT max_rdma_read_iov;
	DAT_COUNT max_rdma_write_iov;
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
};
typedef struct dat_ep_attr DAT_EP_ATTR;

enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED = 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED = 1,
	DAT_EP_STATE_RESERVED = 2, /* by a reserved service point */
	DAT_EP_STATE_UNCONFIGURED_RESERVED = 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING = 4, /* its request arrived */
	DAT_EP_STATE_UNCONFIGURED_PASSIVE = 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING = 6, /* connect was called */
	/* made by the provider for a request */
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE = 8,
	DAT_EP_STATE_CONNECTED = 9,
	DAT_EP_STATE_DISCONNECT_PENDING = 10,
	DAT_EP_STATE_DISCONNECTED = 11,
	DAT_EP_STATE_COMPLETION_PENDING = 12, /* accept was called */
#ifndef DAT_1_2
	DAT_EP_STATE_CONNECTED_SINGLE_PATH = 13,
	DAT_EP_STATE_CONNECTED_MULTI_PATH = 14,
#endif
};
typedef enum dat_ep_state DAT_EP_STATE;
#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED

struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
#ifndef DAT_1_2
	DAT_COMM comm;
#endif
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;
	/* AF_UNSPEC while there is no peer; lives as long as the endpoint */
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_PZ_HANDLE pz_handle;
	DAT_EVD_HANDLE recv_evd_handle;
	DAT_EVD_HANDLE request_evd_handle;
	DAT_EVD_HANDLE connect_evd_handle;
	DAT_SRQ_HANDLE srq_handle;
	DAT_EP_ATTR ep_attr;
};
typedef struct dat_ep_param DAT_EP_PARAM;

typedef DAT_UINT64 DAT_EP_PARAM_MASK;

#define DAT_EP_FIELD_IA_HANDLE UINT64_C(0x1)
#define DAT_EP_FIELD_EP_STATE  UINT64_C(0x2)
#ifndef DAT_1_2
#define DAT_EP_FIELD_COMM		   UINT64_C(0x4)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR  UINT64_C(0x8)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL	   UINT64_C(0x10)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR UINT64_C(0x20)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL	   UINT64_C(0x40)
#define DAT_EP_FIELD_PZ_HANDLE		   UINT64_C(0x80)
#define DAT_EP_FIELD_RECV_EVD_HANDLE	   UINT64_C(0x100)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE	   UINT64_C(0x200)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE	   UINT64_C(0x400)
#define DAT_EP_FIELD_SRQ_HANDLE		   UINT64_C(0x800)
#else
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR  UINT64_C(0x4)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL	   UINT64_C(0x8)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR UINT64_C(0x10)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL	   UINT64_C(0x20)
#define DAT_EP_FIELD_PZ_HANDLE		   UINT64_C(0x40)
#define DAT_EP_FIELD_RECV_EVD_HANDLE	   UINT64_C(0x80)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE	   UINT64_C(0x100)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE	   UINT64_C(0x200)
#define DAT_EP_FIELD_SRQ_HANDLE		   UINT64_C(0x400)
#endif
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE	      UINT64_C(0x1000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE	      UINT64_C(0x2000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE	      UINT64_C(0x4000)
#define DAT_EP_FIELD_EP_ATTR_QOS		      UINT64_C(0x8000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS    UINT64_C(0x10000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS UINT64_C(0x20000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS	      UINT64_C(0x40000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS	      UINT64_C(0x80000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV	      UINT64_C(0x100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV	      UINT64_C(0x200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN	      UINT64_C(0x400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT	      UINT64_C(0x800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW	      UINT64_C(0x1000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV	      UINT64_C(0x2000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV	      UINT64_C(0x4000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR	      UINT64_C(0x8000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR  UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR	      UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR   UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL		      UINT64_C(0x7ffff000)
#ifndef DAT_1_2
#define DAT_EP_FIELD_ALL UINT64_C(0x7fffffff)
#else
#define DAT_EP_FIELD_ALL UINT64_C(0x7ffff7ff)
#endif

/* Marks that are off, and counts that nobody knows. */
#define DAT_WATERMARK_INFINITE (-1)
#define DAT_HW_DEFAULT	       DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT     0
#define DAT_VALUE_UNKNOWN      (-2)

enum dat_srq_state {
#ifndef DAT_1_2
	DAT_SRQ_STATE_ERROR = 0, /* after a device fault */
	DAT_SRQ_STATE_OPERATIONAL = 1,
	DAT_SRQ_STATE_SHUTDOWN = 2,
#else
	DAT_SRQ_STATE_OPERATIONAL = 0,
	DAT_SRQ_STATE_ERROR = 1, /* after a device fault */
#endif
};
typedef enum dat_srq_state DAT_SRQ_STATE;

struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
};
typedef struct dat_srq_attr DAT_SRQ_ATTR;

struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;
	DAT_SRQ_STATE srq_state;
	DAT_PZ_HANDLE pz_handle;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
	DAT_COUNT available_dto_count;	 /* free for an endpoint to take */
	DAT_COUNT outstanding_dto_count; /* posted, completion not yet taken */
};
typedef struct dat_srq_param DAT_SRQ_PARAM;

enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE = 0x1,
	DAT_SRQ_FIELD_SRQ_STATE = 0x2,
	DAT_SRQ_FIELD_PZ_HANDLE = 0x4,
	DAT_SRQ_FIELD_MAX_RECV_DTO = 0x8,
	DAT_SRQ_FIELD_MAX_RECV_IOV = 0x10,
	DAT_SRQ_FIELD_LOW_WATERMARK = 0x20,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x40,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x80,
	DAT_SRQ_FIELD_ALL = 0xff,
};
typedef enum dat_srq_param_mask DAT_SRQ_PARAM_MASK;

struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
};
typedef struct dat_pz_param DAT_PZ_PARAM;

enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE = 0x1,
	DAT_PZ_FIELD_ALL = 0x1,
};
typedef enum dat_pz_param_mask DAT_PZ_PARAM_MASK;

struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
};
typedef struct dat_psp_param DAT_PSP_PARAM;

enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE = 0x1,
	DAT_PSP_FIELD_CONN_QUAL = 0x2,
	DAT_PSP_FIELD_EVD_HANDLE = 0x4,
	DAT_PSP_FIELD_PSP_FLAGS = 0x8,
	DAT_PSP_FIELD_ALL = 0xf,
};
typedef enum dat_psp_param_mask DAT_PSP_PARAM_MASK;

struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
};
typedef struct dat_rsp_param DAT_RSP_PARAM;

enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE = 0x1,
	DAT_RSP_FIELD_CONN_QUAL = 0x2,
	DAT_RSP_FIELD_EVD_HANDLE = 0x4,
	DAT_RSP_FIELD_EP_HANDLE = 0x8,
	DAT_RSP_FIELD_ALL = 0xf,
};
typedef enum dat_rsp_param_mask DAT_RSP_PARAM_MASK;

#ifndef DAT_1_2
struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COMM *comm;
	DAT_IA_ADDRESS_PTR address_ptr;
	DAT_EVD_HANDLE evd_handle;
};
typedef struct dat_csp_param DAT_CSP_PARAM;

enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE = 0x1,
	DAT_CSP_FIELD_COMM = 0x2,
	DAT_CSP_FIELD_IA_ADDRESS = 0x4,
	DAT_CSP_FIELD_EVD_HANDLE = 0x8,
	DAT_CSP_FIELD_ALL = 0xf,
};
typedef enum dat_csp_param_mask DAT_CSP_PARAM_MASK;
#endif

struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	/* bytes; transports that pad report the padded size */
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle;
};
typedef struct dat_cr_param DAT_CR_PARAM;

enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x1,
	DAT_CR_FIELD_REMOTE_PORT_QUAL = 0x2,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE = 0x4,
	DAT_CR_FIELD_PRIVATE_DATA = 0x8,
	DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,
	DAT_CR_FIELD_ALL = 0x1f,
};
typedef enum dat_cr_param_mask DAT_CR_PARAM_MASK;

/* How an operation ended; any but SUCCESS and FLUSHED breaks the connection. */
enum dat_dto_completion_status {
	DAT_DTO_SUCCESS = 0,
	DAT_DTO_ERR_FLUSHED = 1,      /* the connection ended first */
	DAT_DTO_ERR_LOCAL_LENGTH = 2, /* message longer than the buffer */
	DAT_DTO_ERR_LOCAL_EP = 3,
	DAT_DTO_ERR_LOCAL_PROTECTION = 4, /* local key, zone or privilege */
	DAT_DTO_ERR_BAD_RESPONSE = 5,
	DAT_DTO_ERR_REMOTE_ACCESS = 6,	    /* remote key, range or privilege */
	DAT_DTO_ERR_REMOTE_RESPONDER = 7,   /* the peer could not do it */
	DAT_DTO_ERR_TRANSPORT = 8,	    /* retries used up */
	DAT_DTO_ERR_RECEIVER_NOT_READY = 9, /* no receive was posted there */
	DAT_DTO_ERR_PARTIAL_PACKET = 10,
	DAT_RMR_OPERATION_FAILED = 11,
#ifndef DAT_1_2
	DAT_DTO_ERR_LOCAL_MM_ERROR = 12,
#endif
};
typedef enum dat_dto_completion_status DAT_DTO_COMPLETION_STATUS;
#define DAT_DTO_LENGTH_ERROR DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE	     DAT_DTO_ERR_FLUSHED

typedef DAT_DTO_COMPLETION_STATUS DAT_RMR_BIND_COMPLETION_STATUS;
#define DAT_RMR_BIND_SUCCESS DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE DAT_DTO_FAILURE

/* What stands behind the status means nothing unless that is SUCCESS. */
struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_SEG_LENGTH transfered_length; /* bytes */
#ifndef DAT_1_2
	DAT_DTOS operation;
	DAT_RMR_CONTEXT rmr_context; /* of RECEIVE_WITH_INVALIDATE */
#endif
};
typedef struct dat_dto_completion_event_data DAT_DTO_COMPLETION_EVENT_DATA;

struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
};
typedef struct dat_rmr_bind_completion_event_data
	DAT_RMR_BIND_COMPLETION_EVENT_DATA;

union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
#ifndef DAT_1_2
	DAT_CSP_HANDLE csp_handle;
#endif
};
typedef union dat_sp_handle DAT_SP_HANDLE;

struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_CONN_QUAL conn_qual; /* that the peer named */
	DAT_CR_HANDLE cr_handle;
#ifndef DAT_1_2
	DAT_BOOLEAN truncate_flag; /* private data was cut */
#endif
};
typedef struct dat_cr_arrival_event_data DAT_CR_ARRIVAL_EVENT_DATA;

/* Private data: in ESTABLISHED on the active side, and PEER_REJECTED. */
struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data; /* lives until the endpoint is reset or freed */
};
typedef struct dat_connection_event_data DAT_CONNECTION_EVENT_DATA;

struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle;
	/* one of the enums below, by the kind of the handle */
	DAT_COUNT reason;
};
typedef struct dat_asynch_error_event_data DAT_ASYNCH_ERROR_EVENT_DATA;

enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR = 0,
	DAT_IA_OTHER_ERROR = 1,
};
typedef enum ia_async_error_reason DAT_IA_ASYNC_ERROR_REASON;

enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR = 0,
	DAT_EP_OTHER_ERROR = 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2,
};
typedef enum ep_async_error_reason DAT_EP_ASYNC_ERROR_REASON;

enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR = 0,
	DAT_EVD_OTHER_ERROR = 1,
};
typedef enum evd_async_error_reason DAT_EVD_ASYNC_ERROR_REASON;

enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR = 0,
	DAT_SRQ_OTHER_ERROR = 1,
	DAT_SRQ_LOW_WATERMARK_EVENT = 2,
};
typedef enum srq_async_error_reason DAT_SRQ_ASYNC_ERROR_REASON;

enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR = 0,
};
typedef enum lmr_async_error_reason DAT_LMR_ASYNC_ERROR_REASON;

enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR = 0,
};
typedef enum rmr_async_error_reason DAT_RMR_ASYNC_ERROR_REASON;

enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR = 0,
};
typedef enum pz_async_error_reason DAT_PZ_ASYNC_ERROR_REASON;

struct dat_software_event_data {
	DAT_PVOID pointer;
};
typedef struct dat_software_event_data DAT_SOFTWARE_EVENT_DATA;

/* The stream is in the upper bits, the event in the lower. */
enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT = 0x1,
	DAT_RMR_BIND_COMPLETION_EVENT = 0x1001,
	DAT_CONNECTION_REQUEST_EVENT = 0x2001,
	DAT_CONNECTION_EVENT_ESTABLISHED = 0x4001,
	/* the consumer there refused */
	DAT_CONNECTION_EVENT_PEER_REJECTED = 0x4002,
	/* no listener, or its provider refused */
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x4003,
	/* accepted, but it failed later */
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x4004,
	DAT_CONNECTION_EVENT_DISCONNECTED = 0x4005,
	/* transport or operation failed */
	DAT_CONNECTION_EVENT_BROKEN = 0x4006,
	/* the time given to connect is over */
	DAT_CONNECTION_EVENT_TIMED_OUT = 0x4007,
	DAT_CONNECTION_EVENT_UNREACHABLE = 0x4008, /* no route or no address */
	DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x8001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x8002,
	DAT_ASYNC_ERROR_EP_BROKEN = 0x8003,
	DAT_ASYNC_ERROR_TIMED_OUT = 0x8004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x8005,
#ifndef DAT_1_2
	DAT_HA_DOWN_TO_1 = 0x8101,
	DAT_HA_UP_TO_MULTI_PATH = 0x8102,
#endif
	DAT_SOFTWARE_EVENT = 0x10001,
#ifndef DAT_1_2
	DAT_EXTENSION_EVENT = 0x20000,
	DAT_IB_EXTENSION_RANGE_BASE = 0x40000,
	DAT_IW_EXTENSION_RANGE_BASE = 0x80000,
#endif
};
typedef enum dat_event_number DAT_EVENT_NUMBER;

union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
};
typedef union dat_event_data DAT_EVENT_DATA;

/* One event; event_number says which member of the union. */
struct dat_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle;
	DAT_EVENT_DATA event_data;
#ifndef DAT_1_2
	DAT_UINT64 event_extension_data[8]; /* see the extension's header */
#endif
};
typedef struct dat_event DAT_EVENT;

/* Key of a provider; libraries built long ago share this layout. */
struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
};
typedef struct dat_provider_info DAT_PROVIDER_INFO;

#ifndef DAT_1_2
typedef int DAT_EXTENDED_OP;
/* Operations that open or close something instead of using an open object. */
#define DAT_OPEN_EXTENSION_BASE	 0x1000
#define DAT_CLOSE_EXTENSION_BASE 0x2000
#endif

/*
 * dat_ia_openv - open an instance of an interface adapter by its name.
 *
 *   name              zero-terminated, shorter than DAT_NAME_MAX_LENGTH bytes
 *   async_evd_qlen    events the asynchronous EVD must hold at least, > 0; in
 *                     place of the first error beyond that it reports itself
 *                     with ASYNC_ERROR_EVD_OVERFLOW, then drops errors;
 *                     not looked at when an EVD is passed in
 *   async_evd_handle  in and out. In DAT_HANDLE_NULL: the provider makes the
 *                     EVD. An asynchronous EVD of the same adapter: shared.
 *                     DAT_EVD_ASYNC_EXISTS: somebody else in the process
 *                     watches; out is then a handle of that EVD or
 *                     DAT_EVD_OUT_OF_SCOPE
 *   ia_handle         out, the instance; a small integer, not a pointer
 *   dapl_major        DAT_VERSION_MAJOR
 *   dapl_minor        DAT_VERSION_MINOR
 *   thread_safety     DAT_TRUE: only a provider that says it is thread safe
 *
 * The request is matched against dat.conf, against what the machine has by
 * itself (dat.conf(5)) and against the providers that registered themselves.
 * Programs use the macro dat_ia_open(), which fills in
 * the last three arguments.
 *
 * Returns:
 *   INVALID_STATE          called from a plug-in's init or fini
 *   PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED  no such name, or its library
 *                          could not be loaded or did not register the name
 *   PROVIDER_NOT_FOUND/MAJOR_NOT_FOUND, MINOR_NOT_FOUND,
 *   THREAD_SAFETY_NOT_FOUND  the name exists, but not with that property
 *   INVALID_PARAMETER/ARG1 name NULL or too long
 *   INVALID_PARAMETER/ARG2 queue length not positive, and no EVD passed
 *   INVALID_PARAMETER/ARG3 async_evd_handle NULL
 *   INVALID_HANDLE/IA      ia_handle NULL
 *   INVALID_HANDLE/EVD_ASYNC  EVD of another adapter or without ASYNC flag
 *   INSUFFICIENT_RESOURCES memory, or the device could not be opened
 *   anything else          the provider's own answer, unchanged
 * dat_error_detail() names the file that was read and the names there are.
 *
 * Blocks: may; loads a library, opens a device.
 * Threads: safe.
 * Events: later, asynchronous errors of the adapter on the EVD.
 * Rule: uDAPL 1.2 spec, dat_ia_open; minor version: an entry of a higher
 * minor version serves a lower request; INVALID_HANDLE/IA for a NULL output
 * pointer is a historic quirk that is kept.
 */
DAT_EXPORT DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name,
				   DAT_COUNT async_evd_qlen,
				   DAT_EVD_HANDLE *async_evd_handle,
				   DAT_IA_HANDLE *ia_handle,
				   DAT_UINT32 dapl_major, DAT_UINT32 dapl_minor,
				   DAT_BOOLEAN thread_safety);

/*
 * dat_ia_query - attributes of an adapter and of its provider.
 *
 *   ia_handle           open instance
 *   async_evd_handle    out, the asynchronous EVD; may be NULL
 *   ia_attr_mask        DAT_IA_FIELD_*: what is wanted in ia_attr
 *   ia_attr             out; may be NULL when its mask is 0
 *   provider_attr_mask  DAT_PROVIDER_FIELD_*
 *   provider_attr       out; may be NULL when its mask is 0
 *
 * Fields outside the mask may be filled too; only those inside are certain.
 * Pointers in the results belong to the provider and live as long as the IA.
 *
 * Returns:
 *   INVALID_HANDLE/IA       not an open instance
 *   INVALID_PARAMETER/ARG3, ARG5  mask with unknown bits
 *   INVALID_PARAMETER/ARG4, ARG6  mask not 0 and structure NULL
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_ia_query.
 */
DAT_EXPORT DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
				   DAT_EVD_HANDLE *async_evd_handle,
				   DAT_IA_ATTR_MASK ia_attr_mask,
				   DAT_IA_ATTR *ia_attr,
				   DAT_PROVIDER_ATTR_MASK provider_attr_mask,
				   DAT_PROVIDER_ATTR *provider_attr);

/*
 * dat_ia_close - close one instance.
 *
 *   ia_handle  open instance
 *   ia_flags   DAT_CLOSE_GRACEFUL_FLAG: only if nothing made from it is left,
 *              except the asynchronous EVD that open made, and requests
 *              without an answer, which are refused, with what endpoints
 *              they brought;
 *              DAT_CLOSE_ABRUPT_FLAG: destroy everything made from it
 *
 * An asynchronous EVD that the consumer passed to open stays alive. The
 * provider's library is unloaded with the last instance of its name.
 *
 * Returns:
 *   INVALID_HANDLE/IA         not an open instance, or closed already
 *   INVALID_PARAMETER/ARG2    other flag value
 *   INVALID_STATE/IA_IN_USE   graceful, and objects are left
 * Blocks: may, until connections are torn down.
 * Threads: serialise.
 * Events: abrupt: waiters on EVDs return DAT_ABORT, waiters on CNOs return
 * with a NULL EVD.
 * Rule: uDAPL 1.2 spec, dat_ia_close.
 */
DAT_EXPORT DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle,
				   DAT_CLOSE_FLAGS ia_flags);

/*
 * dat_set_consumer_context - keep one value of the consumer with an object.
 *
 *   dat_handle  any object
 *   context     8 bytes, replaces the value kept before; never looked at
 *
 * Returns:
 *   INVALID_HANDLE/HANDLE1  NULL
 *   INVALID_HANDLE          not an object
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_set_consumer_context.
 */
DAT_EXPORT DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle,
					       DAT_CONTEXT context);

/*
 * dat_get_consumer_context - the value kept with an object.
 *
 *   dat_handle  as for dat_set_consumer_context()
 *   context     out; 0 when none was set
 *
 * Returns:
 *   INVALID_HANDLE/HANDLE1  NULL
 *   INVALID_HANDLE          not an object
 *   INVALID_PARAMETER/ARG2  context NULL
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_get_consumer_context.
 */
DAT_EXPORT DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle,
					       DAT_CONTEXT *context);

/*
 * dat_get_handle_type - which kind of object a handle names.
 *
 *   dat_handle   any object
 *   handle_type  out, DAT_HANDLE_TYPE_*
 *
 * Returns:
 *   INVALID_HANDLE/HANDLE1  NULL
 *   INVALID_HANDLE          not an object
 *   INVALID_PARAMETER/ARG2  handle_type NULL
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_get_handle_type.
 */
DAT_EXPORT DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle,
					  DAT_HANDLE_TYPE *handle_type);

/*
 * dat_cr_query - who asks for a connection, and with which private data.
 *
 *   cr_handle      from a DAT_CONNECTION_REQUEST_EVENT
 *   cr_param_mask  DAT_CR_FIELD_*
 *   cr_param       out; the private data (size in bytes) lives as long as the
 *                  request; local_ep_handle is NULL unless the service point
 *                  brought an endpoint
 *
 * Returns:
 *   INVALID_HANDLE/CR       not a request, or answered already
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
 *   INVALID_PARAMETER/ARG3  cr_param NULL
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_cr_query.
 */
DAT_EXPORT DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
				   DAT_CR_PARAM_MASK cr_param_mask,
				   DAT_CR_PARAM *cr_param);

/*
 * dat_cr_accept - accept a connection request.
 *
 *   cr_handle          request; dead after success, untouched after an error
 *                      unless that ended the request itself
 *   ep_handle          unconnected endpoint with PZ and connect EVD, or
 *                      DAT_HANDLE_NULL when the request brought its own
 *   private_data_size  bytes for the peer, at most max_private_data_size
 *   private_data       may be NULL when the size is 0; free to reuse on return
 *
 * The endpoint goes to COMPLETION_PENDING; one that the provider made is the
 * consumer's from then on.
 *
 * Returns:
 *   INVALID_HANDLE/CR       not a request
 *   INVALID_HANDLE/EP       bad or missing endpoint, or one too many
 *   INVALID_PARAMETER/ARG3  private data negative or too long
 *   INVALID_PARAMETER/ARG4  size without data
 *   INVALID_STATE           endpoint neither unconnected nor the request's
 *                           own, or without PZ or connect EVD
 *   INSUFFICIENT_RESOURCES  memory or transport
 * Blocks: no. Threads: serialise.
 * Events: one on the endpoint's connect EVD: ESTABLISHED, or
 * ACCEPT_COMPLETION_ERROR (endpoint then DISCONNECTED, receives flushed).
 * Rule: uDAPL 1.2 spec, dat_cr_accept.
 */
DAT_EXPORT DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle,
				    DAT_EP_HANDLE ep_handle,
				    DAT_COUNT private_data_size,
				    const DAT_PVOID private_data);

/*
 * dat_cr_reject - refuse a connection request.
 *
#ifndef DAT_1_2
 *   cr_handle          request; dead after success
 *   private_data_size  bytes for the peer, at most max_private_data_size
 *   private_data       may be NULL when the size is 0
#else
 *   cr_handle  request; dead after success
#endif
 *
 * An endpoint reserved for the request goes back to UNCONNECTED; one that the
 * provider made goes back to the provider.
 *
 * Returns:
 *   INVALID_HANDLE/CR       not a request, or answered already
#ifndef DAT_1_2
 *   INVALID_PARAMETER/ARG2  private data negative or too long
 *   INVALID_PARAMETER/ARG3  size without data
#endif
 * Blocks: no. Threads: serialise.
#ifndef DAT_1_2
 * Events: none here; the peer gets PEER_REJECTED with the private data.
 * Rule: uDAPL 1.2 spec, dat_cr_reject; private data: DAT 2.0.
#else
 * Events: none here; the peer gets PEER_REJECTED.
 * Rule: uDAPL 1.2 spec, dat_cr_reject.
#endif
 */
#ifndef DAT_1_2
DAT_EXPORT DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle,
				    DAT_COUNT private_data_size,
				    const DAT_PVOID private_data);
#else
DAT_EXPORT DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle);
#endif

/*
 * dat_cr_handoff - pass a request on to another listener of the same IA.
 *
 *   cr_handle     request; dead after success
 *   handoff_qual  connection qualifier of the other listener
 *
 * Returns:
 *   INVALID_HANDLE/CR       not a request
 *   INVALID_PARAMETER/ARG2  nobody listens there
 *   NOT_IMPLEMENTED         the provider cannot
 * Blocks: no. Threads: serialise.
 * Events: DAT_CONNECTION_REQUEST_EVENT on the other listener's EVD.
 * Rule: uDAPL 1.2 spec, dat_cr_handoff.
 */
DAT_EXPORT DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle,
				     DAT_CONN_QUAL handoff_qual);

/*
 * dat_evd_resize - change how many events a queue holds. No event is lost.
 *
 *   evd_handle  queue without a waiter
 *   evd_qlen    new minimum, > 0, at least the number of queued events
 *
 * Returns:
 *   INVALID_HANDLE          not an EVD
 *   INVALID_PARAMETER/ARG2  length not positive
 *   INVALID_STATE           more events are queued than would fit, or a
 *                           thread waits
 *   INSUFFICIENT_RESOURCES/TEVD  above the adapter's limit, or no memory
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_evd_resize.
 */
DAT_EXPORT DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle,
				     DAT_COUNT evd_qlen);

/*
 * dat_evd_post_se - queue an event of the program's own.
 *
 *   evd_handle  queue with DAT_EVD_SOFTWARE_FLAG
 *   event       event_number must be DAT_SOFTWARE_EVENT; only
 *               software_event_data.pointer travels
 *
 * Returns:
 *   INVALID_HANDLE          not an EVD
 *   INVALID_PARAMETER/ARG1  queue without the software flag
 *   INVALID_PARAMETER/ARG2  event NULL or another number
 *   QUEUE_FULL              not queued; no asynchronous error follows
 * Blocks: no. Threads: serialise.
 * Events: DAT_SOFTWARE_EVENT on the queue; wakes its waiter or CNO.
 * Rule: uDAPL 1.2 spec, dat_evd_post_se.
 */
DAT_EXPORT DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle,
				      const DAT_EVENT *event);

/*
 * dat_evd_dequeue - take the oldest event without waiting.
 *
 *   evd_handle  queue; may be disabled or unwaitable
 *   event       out; evd_handle in it is always set
 *
 * Returns:
 *   QUEUE_EMPTY             nothing there
 *   INVALID_HANDLE          not an EVD
 *   INVALID_PARAMETER/ARG2  event NULL
 *   INVALID_STATE           another thread waits on the queue, or the queue
 *                           is dead after an overflow
 * Blocks: no. Threads: safe. Events: consumes one.
 * Rule: uDAPL 1.2 spec, dat_evd_dequeue. Compare DAT_GET_TYPE() of the result:
 * some providers leave out the class bit of QUEUE_EMPTY.
 */
DAT_EXPORT DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle,
				      DAT_EVENT *event);

/*
 * dat_evd_query - parameters of an event queue.
 *
 *   evd_handle      queue
 *   evd_param_mask  DAT_EVD_FIELD_*
 *   evd_param       out; evd_qlen may be larger than asked for at creation,
 *                   evd_state is a mask of DAT_EVD_STATE_*
 *
 * Returns:
 *   INVALID_HANDLE          not an EVD
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
 *   INVALID_PARAMETER/ARG3  evd_param NULL
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_evd_query.
 */
DAT_EXPORT DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
				    DAT_EVD_PARAM_MASK evd_param_mask,
				    DAT_EVD_PARAM *evd_param);

/*
 * dat_evd_free - destroy an event queue; queued events are lost.
 *
 *   evd_handle  queue that nothing feeds any more
 *
 * Returns:
 *   INVALID_HANDLE            not an EVD
 *   INVALID_STATE/EVD_IN_USE  an EP, a service point or the IA feeds it
 *   INVALID_STATE             a thread waits on it
 * Blocks: no. Threads: serialise.
 * Events: a CNO that loses its last EVD releases its waiters with a NULL EVD.
 * Rule: uDAPL 1.2 spec, dat_evd_free.
 */
DAT_EXPORT DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

/*
 * dat_ep_create - make an unconnected endpoint.
 *
 *   ia_handle                      adapter
 *   pz_handle                      zone; DAT_HANDLE_NULL: set it later
 *   recv_completion_evd_handle     queue with DTO flag; DAT_HANDLE_NULL: none
 *   request_completion_evd_handle  the same for sends, RDMA and binds
 *   connect_evd_handle             queue with CONNECTION flag, or NULL
 *   ep_attributes                  NULL: the provider's defaults
 *   ep_handle                      out
 *
 * The endpoint gets at least the DTO and segment counts asked for and exactly
 * the other values, or is not made. Without a queue the matching DTO count
 * must be 0. Where endpoints, or both directions of one, share a queue and do
 * not agree on UNSIGNALLED and SOLICITED_WAIT, and where the queue takes other
 * than DTO events too and SOLICITED_WAIT is asked for, every event notifies.
 *
 * Returns:
 *   INVALID_HANDLE/IA, PZ, EVD_CONN, EVD_RECV, EVD_REQUEST  bad handle, or a
 *                           queue without the flag it needs
 *   INVALID_PARAMETER/ARG6  attributes contradict the queues, exceed the
 *                           adapter, or suppress receive completions
 *   INVALID_PARAMETER/ARG7  ep_handle NULL
 *   MODEL_NOT_SUPPORTED     service type
 *   INSUFFICIENT_RESOURCES  memory or device
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_ep_create. NULL attributes give 16 and 16 DTOs (a
 * historic default that programs rely on) with 8 segments each: old providers
 * said 4 and took what the adapter has, and programs post 8.
 */
DAT_EXPORT DAT_RETURN
dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
	      DAT_EVD_HANDLE recv_completion_evd_handle,
	      DAT_EVD_HANDLE request_completion_evd_handle,
	      DAT_EVD_HANDLE connect_evd_handle,
	      const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle);

/*
 * dat_ep_query - state, addresses, handles and attributes of an endpoint.
 *
 *   ep_handle      endpoint
 *   ep_param_mask  DAT_EP_FIELD_*, other bits are ignored; no known bit:
 *                  nothing is written
 *   ep_param       out. Remote address and port mean something while pending,
 *                  connected or disconnecting; pointers live as long as the
 *                  endpoint
 *
 * Returns:
 *   INVALID_HANDLE/EP       not an EP
 *   INVALID_PARAMETER/ARG3  ep_param NULL
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_ep_query; that bits are ignored: historic.
 */
DAT_EXPORT DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
				   DAT_EP_PARAM_MASK ep_param_mask,
				   DAT_EP_PARAM *ep_param);

/*
 * dat_ep_modify - change parameters of an endpoint in place.
 *
 *   ep_handle      endpoint without posted work
#ifndef DAT_1_2
 *   ep_param_mask  fields to change; never IA, state, addresses, ports, SRQ
#else
 *   ep_param_mask  fields to change; never IA, state, addresses, ports, SRQ.
 *                  Bits without a field are ignored
#endif
 *   ep_param       new values of these fields
 *
 * The PZ may change while UNCONNECTED or TENTATIVE, queues and attributes
 * also while RESERVED or PASSIVE, transport and provider attributes only
 * while UNCONNECTED. A queue of depth 0 that gets its EVD gets default depth
 * and segments with it, unless the mask names them.
 *
 * Returns:
 *   INVALID_HANDLE/EP       not an EP
 *   INVALID_PARAMETER/ARG2  a field that cannot be changed
 *   INVALID_PARAMETER/ARG3  ep_param NULL, or a bad value in it
 *   INVALID_STATE/EP_*      the subtype names the state it is in
 *   INVALID_STATE           receives are posted, and would be lost
 *   MODEL_NOT_SUPPORTED     this service type, or another PZ than the SRQ's
 *   INSUFFICIENT_RESOURCES  memory or device; nothing was changed
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_ep_modify.
 */
DAT_EXPORT DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
				    DAT_EP_PARAM_MASK ep_param_mask,
				    const DAT_EP_PARAM *ep_param);

/*
 * dat_ep_connect - start a connection to a remote service point.
 *
 *   ep_handle           UNCONNECTED, with PZ and connect EVD
 *   remote_ia_address   socket address of the peer; copied
 *   remote_conn_qual    its qualifier; how the 64 bits are used is the
 *                       provider's business
 *   timeout             microseconds, not 0; DAT_TIMEOUT_INFINITE: no limit
 *   private_data_size   bytes, at most max_private_data_size
 *   private_data        free to reuse on return; may be NULL when size is 0
 *   quality_of_service  DAT_QOS_BEST_EFFORT
 *   connect_flags       DAT_CONNECT_DEFAULT_FLAG
 *
 * The endpoint goes to ACTIVE_CONNECTION_PENDING.
 *
 * Returns:
 *   INVALID_HANDLE/EP        not an EP
 *   INVALID_HANDLE/EVD_CONN  no connect EVD
 *   INVALID_PARAMETER/ARG2   address NULL
 *   INVALID_PARAMETER/ARG4   timeout 0
 *   INVALID_PARAMETER/ARG5   private data negative or too long
 *   INVALID_PARAMETER/ARG6   size without data
 *   INVALID_STATE/EP_NOTREADY  no PZ, or EVD without CONNECTION flag
 *   INVALID_STATE/EP_*       not UNCONNECTED; the subtype names the state
 *   INVALID_ADDRESS          family or form of the address; SCM: the adapter's
 *                            own is none of this host's any more
 *   MODEL_NOT_SUPPORTED      other QoS or flags
 *   INSUFFICIENT_RESOURCES   memory or transport
 * Blocks: no. Threads: serialise.
 * Events: exactly one of ESTABLISHED, PEER_REJECTED, NON_PEER_REJECTED,
 * TIMED_OUT, UNREACHABLE, BROKEN, DISCONNECTED (own disconnect) on the connect
 * EVD; all but the first leave the endpoint DISCONNECTED. Private data in the
 * event lives until the endpoint is reset or freed.
 * Rule: uDAPL 1.2 spec, dat_ep_connect. INVALID_HANDLE/EVD_CONN instead of an
 * INVALID_STATE is a historic quirk that is kept.
 */
DAT_EXPORT DAT_RETURN
dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
	       DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
	       DAT_COUNT private_data_size, const DAT_PVOID private_data,
	       DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags);

/*
 * dat_ep_dup_connect - connect to the peer that another endpoint is connected
 * to, with the same address and qualifier.
 *
 *   ep_handle           UNCONNECTED, with PZ and connect EVD
 *   ep_dup_handle       CONNECTED
 *   timeout             microseconds, not 0
 *   private_data_size   bytes, at most max_private_data_size
 *   private_data        may be NULL when the size is 0
 *   quality_of_service  DAT_QOS_BEST_EFFORT
 *
 * Returns: states and resources as there (dat_ep_connect), and
 *   INVALID_HANDLE/EP        either of them
 *   INVALID_HANDLE/EVD_CONN  no connect EVD
 *   INVALID_PARAMETER/ARG3   timeout 0
 *   INVALID_PARAMETER/ARG4   private data negative or too long
 *   INVALID_PARAMETER/ARG5   size without data
 *   INVALID_STATE/EP_*       ep_dup_handle is not CONNECTED
 * Blocks: no. Threads: serialise. Events: as dat_ep_connect().
 * Rule: uDAPL 1.2 spec, dat_ep_dup_connect.
 */
DAT_EXPORT DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
					 DAT_EP_HANDLE ep_dup_handle,
					 DAT_TIMEOUT timeout,
					 DAT_COUNT private_data_size,
					 const DAT_PVOID private_data,
					 DAT_QOS quality_of_service);

#ifndef DAT_1_2
/*
 * dat_ep_common_connect - connect by the socket-style name in the endpoint's
 * comm parameter instead of a connection qualifier.
 *
 *   ep_handle          UNCONNECTED, comm set with dat_ep_modify()
 *   remote_ia_address  socket address with port; copied
 *   timeout            microseconds, not 0
 *   private_data_size  bytes, at most max_private_data_size
 *   private_data       may be NULL when the size is 0
 *
 * Returns: states and resources as there (dat_ep_connect), and
 *   INVALID_HANDLE/EP        not an EP
 *   INVALID_HANDLE/EVD_CONN  no connect EVD
 *   INVALID_PARAMETER/ARG2   address NULL
 *   INVALID_PARAMETER/ARG3   timeout 0
 *   INVALID_PARAMETER/ARG4   private data negative or too long
 *   INVALID_PARAMETER/ARG5   size without data
 *   COMM_NOT_SUPPORTED       domain, type or protocol
 *   MODEL_NOT_SUPPORTED      the provider has no common service points
 * Blocks: no. Threads: serialise. Events: as dat_ep_connect().
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_ep_common_connect(
	DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
	DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
	const DAT_PVOID private_data);
#endif

/*
 * dat_ep_disconnect - end a connection, or give up making one.
 *
 *   ep_handle         endpoint
 *   disconnect_flags  DAT_CLOSE_GRACEFUL_FLAG: posted requests finish first;
 *                     DAT_CLOSE_ABRUPT_FLAG: at once, posted work is flushed
 *
 * Without effect on an endpoint that is DISCONNECTED; graceful without effect
 * while DISCONNECT_PENDING, abrupt then hurries.
 *
 * Returns:
 *   INVALID_HANDLE/EP       not an EP
 *   INVALID_PARAMETER/ARG2  other flag value
 *   INVALID_STATE/EP_*      UNCONNECTED, RESERVED, PASSIVE or TENTATIVE
 * Blocks: may, shortly. Threads: serialise.
 * Events: DISCONNECTED once on either side; flushed completions
 * (DAT_DTO_ERR_FLUSHED) of receives and, when abrupt, of requests. On an EVD
 * that has both, what had completed before comes before DISCONNECTED, and so
 * with BROKEN; flushed completions may come before it and after it.
 * Rule: uDAPL 1.2 spec, dat_ep_disconnect.
 */
DAT_EXPORT DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle,
					DAT_CLOSE_FLAGS disconnect_flags);

/*
 * dat_ep_post_send - send a message into the peer's oldest posted receive.
 *
 *   ep_handle         CONNECTED; DISCONNECTED: accepted and flushed
 *   num_segments      entries of local_iov, 0: empty message
 *   local_iov         what to send; memory needs LOCAL_READ. The array may be
 *                     reused on return where iov_ownership_on_return says
 *                     DAT_IOV_CONSUMER; the memory not before the completion
 *   user_cookie       comes back in the completion
 *   completion_flags  DAT_COMPLETION_*: SUPPRESS, SOLICITED_WAIT (for the
 *                     peer's waiter), UNSIGNALLED, BARRIER_FENCE
 *
 * Returns:
 *   INVALID_HANDLE/EP        not an EP, or an unreliable one
 *   INVALID_STATE/EP_*       neither CONNECTED nor DISCONNECTED
 *   INVALID_PARAMETER/ARG2   segment count negative or above the limit
 *   INVALID_PARAMETER/ARG3   local_iov NULL with segments
 *   LENGTH_ERROR             4 GiB or more in all
 *   INSUFFICIENT_RESOURCES/MEMORY  max_request_dtos are outstanding
 *   PROTECTION_VIOLATION, PRIVILEGES_VIOLATION  where found at once; usually
 *                            they are the status of the completion
 * Blocks: no; allocates nothing. Threads: serialise.
 * Events: one DAT_DTO_COMPLETION_EVENT on the request EVD, in order of posting
 * Rule: uDAPL 1.2 spec, dat_ep_post_send. Flags that the endpoint was not made
 * for are accepted; the spec refuses them, but programs rely on it.
 */
DAT_EXPORT DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle,
				       DAT_COUNT num_segments,
				       DAT_LMR_TRIPLET *local_iov,
				       DAT_DTO_COOKIE user_cookie,
				       DAT_COMPLETION_FLAGS completion_flags);

#ifndef DAT_1_2
/*
 * dat_ep_post_send_with_invalidate - send, and take back an RMR context that
 * the peer had handed out.
 *
 *   invalidate_flag  DAT_TRUE: invalidate; DAT_FALSE: plain send
 *   rmr_context      the peer's context that becomes invalid
 *   the others       as dat_ep_post_send()
 *
 * Returns: as dat_ep_post_send(), and
 *   MODEL_NOT_SUPPORTED  provider or adapter cannot
 * Blocks: no. Threads: serialise.
 * Events: as dat_ep_post_send(); the peer's receive completes with operation
 * DAT_DTO_RECEIVE_WITH_INVALIDATE and the rmr_context.
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_ep_post_send_with_invalidate(
	DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	DAT_COMPLETION_FLAGS completion_flags, DAT_BOOLEAN invalidate_flag,
	DAT_RMR_CONTEXT rmr_context);
#endif

/*
 * dat_ep_post_recv - give the endpoint a buffer for one message.
 *
 *   ep_handle         any state; not one that uses an SRQ
 *   num_segments      entries of local_iov, 0: for empty messages
 *   local_iov         where to; memory needs LOCAL_WRITE
 *   user_cookie       comes back in the completion
 *   completion_flags  UNSIGNALLED; the others mean nothing for a receive and
 *                     are ignored
 *
 * Returns:
 *   INVALID_HANDLE/EP        not an EP
 *   INVALID_STATE/SRQ_IN_USE the endpoint receives from an SRQ
 *   INVALID_PARAMETER/ARG2, ARG3  segments, iov
#ifdef DAT_1_2
 *   LENGTH_ERROR             a segment of 4 GiB or more
#endif
 *   INSUFFICIENT_RESOURCES/MEMORY  max_recv_dtos are outstanding
 * Blocks: no; allocates nothing. Threads: serialise.
 * Events: one DAT_DTO_COMPLETION_EVENT on the receive EVD. A message longer
 * than the buffer gives DAT_DTO_ERR_LOCAL_LENGTH and breaks the connection.
 * Rule: uDAPL 1.2 spec, dat_ep_post_recv.
 */
DAT_EXPORT DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle,
				       DAT_COUNT num_segments,
				       DAT_LMR_TRIPLET *local_iov,
				       DAT_DTO_COOKIE user_cookie,
				       DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_post_rdma_read - fetch from the peer's memory.
 *
 *   local_iov   where to; memory needs LOCAL_WRITE
 *   remote_iov  one range: address, bytes, rmr_context; needs REMOTE_READ there
 *   the others  as dat_ep_post_send()
 *
 * Returns: as dat_ep_post_send(), and
 *   INVALID_PARAMETER/ARG2  also more segments than the adapter takes in a read
 *                           (max_iov_segments_per_rdma_read)
 *   INVALID_PARAMETER/ARG5  remote_iov NULL
 *   LENGTH_ERROR            more local than remote bytes, where found at once
 *   MODEL_NOT_SUPPORTED     the endpoint's max_rdma_read_out is 0
 * Blocks: no. Threads: serialise.
 * Events: one DAT_DTO_COMPLETION_EVENT on the request EVD; none at the peer.
 * Rule: uDAPL 1.2 spec, dat_ep_post_rdma_read.
 */
DAT_EXPORT DAT_RETURN
dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
		      DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
		      const DAT_RMR_TRIPLET *remote_iov,
		      DAT_COMPLETION_FLAGS completion_flags);

#ifndef DAT_1_2
/*
 * dat_ep_post_rdma_read_to_rmr - fetch from the peer's memory into a range
 * that is named by an RMR context.
 *
 *   local_iov   one range: address, bytes, rmr_context
 *   remote_iov  one range at the peer
 *   the others  as dat_ep_post_send()
 *
 * Returns: the other codes as there (dat_ep_post_rdma_read), and
 *   INVALID_HANDLE/EP       not an EP, or an unreliable one
 *   INVALID_PARAMETER/ARG2, ARG4  local_iov, remote_iov NULL
 *   MODEL_NOT_SUPPORTED     provider or adapter cannot
 * Blocks: no. Threads: serialise. Events: as dat_ep_post_rdma_read().
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_ep_post_rdma_read_to_rmr(
	DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
	DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_iov,
	DAT_COMPLETION_FLAGS completion_flags);
#endif

/*
 * dat_ep_post_rdma_write - store into the peer's memory.
 *
 *   local_iov   what to write; memory needs LOCAL_READ
 *   remote_iov  one range: address, bytes, rmr_context; needs REMOTE_WRITE
 *               there
 *   the others  as dat_ep_post_send()
 *
 * Returns: as dat_ep_post_rdma_read().
 * Blocks: no. Threads: serialise.
 * Events: one DAT_DTO_COMPLETION_EVENT on the request EVD; none at the peer.
 * Rule: uDAPL 1.2 spec, dat_ep_post_rdma_write.
 */
DAT_EXPORT DAT_RETURN
dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
		       DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
		       const DAT_RMR_TRIPLET *remote_iov,
		       DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_get_status - state of an endpoint and whether it has work to do.
 *
 *   ep_handle     endpoint
 *   ep_state      out, DAT_EP_STATE_*; may be NULL
 *   recv_idle     out, DAT_TRUE: no receive is outstanding; may be NULL
 *   request_idle  out, the same for requests; may be NULL
 *
 * Returns:
 *   INVALID_HANDLE/EP  not an EP
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_ep_get_status. Old providers store the number of
 * outstanding operations in the two flags, the opposite of the rule.
 */
DAT_EXPORT DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle,
					DAT_EP_STATE *ep_state,
					DAT_BOOLEAN *recv_idle,
					DAT_BOOLEAN *request_idle);

/*
 * dat_ep_free - destroy an endpoint, disconnecting it abruptly if need be.
 *
 *   ep_handle  not RESERVED, PASSIVE or TENTATIVE
 *
 * Posted work is lost or flushed; buffers are the consumer's again on return.
 *
 * Returns:
 *   INVALID_HANDLE/EP   not an EP
 *   INVALID_STATE/EP_*  a service point or a request still holds it
 * Blocks: may, until the adapter let go. Threads: serialise.
 * Events: those of the disconnect may or may not be delivered.
 * Rule: uDAPL 1.2 spec, dat_ep_free.
 */
DAT_EXPORT DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);

/*
 * dat_ep_reset - make a disconnected endpoint usable again.
 *
 *   ep_handle  DISCONNECTED; without effect when UNCONNECTED
 *
 * Returns:
 *   INVALID_HANDLE/EP   not an EP
 *   INVALID_STATE/EP_*  any other state
 * Blocks: may, until the transport forgot the old connection.
 * Threads: serialise. Events: none; receives were flushed before.
 * Rule: uDAPL 1.2 spec, dat_ep_reset.
 */
DAT_EXPORT DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);

/*
 * dat_ep_create_with_srq - make an endpoint that receives from a shared queue.
 *
 *   ia_handle            adapter
 *   pz_handle            as for dat_ep_create(); may differ from the SRQ's
 *                        only where srq_ep_pz_difference_supported says so
 *   recv_evd_handle      as for dat_ep_create()
 *   request_evd_handle   as for dat_ep_create()
 *   connect_evd_handle   as for dat_ep_create()
 *   srq_handle           the shared queue; cannot be changed later
 *   ep_attributes        max_recv_iov is ignored; NULL: defaults
 *   ep_handle            out
 *
 * dat_ep_post_recv() is not allowed on such an endpoint.
 *
 * Returns: the other codes as there (dat_ep_create), and
 *   INVALID_HANDLE/IA, PZ, EVD_CONN, EVD_RECV, EVD_REQUEST  bad handle, or a
 *                           queue without the flag it needs; no recv_evd_handle
 *   INVALID_HANDLE/SRQ      NULL or not an SRQ
 *   INVALID_PARAMETER/ARG7  attributes, as ARG6 there
 *   INVALID_PARAMETER/ARG8  ep_handle NULL
 *   MODEL_NOT_SUPPORTED     the SRQ has another zone
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_ep_create_with_srq; the spec refuses NULL
 * attributes, history accepts them and so do we.
 */
DAT_EXPORT DAT_RETURN dat_ep_create_with_srq(
	DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
	DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
	DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
	const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle);

/*
 * dat_ep_recv_query - receive buffers that an endpoint holds.
 *
 *   ep_handle        endpoint
 *   nbufs_allocated  out, taken and not completed; may be NULL
 *   bufs_alloc_span  out, the same counted up to the newest; may be NULL
 *
 * DAT_VALUE_UNKNOWN is stored where the adapter does not tell.
 *
 * Returns:
 *   INVALID_HANDLE/EP    not an EP
 *   MODEL_NOT_SUPPORTED, NOT_IMPLEMENTED  the provider cannot
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_ep_recv_query.
 */
DAT_EXPORT DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
					DAT_COUNT *nbufs_allocated,
					DAT_COUNT *bufs_alloc_span);

/*
 * dat_ep_set_watermark - be told when an endpoint takes many SRQ buffers.
 *
 *   ep_handle            endpoint, any state
 *   soft_high_watermark  buffers; DAT_WATERMARK_INFINITE: off
 *   hard_high_watermark  buffers; DAT_WATERMARK_INFINITE: off
 *
 * Returns:
 *   INVALID_HANDLE/EP       not an EP
 *   INVALID_PARAMETER/ARG2, ARG3  negative, other than off
 *   MODEL_NOT_SUPPORTED, NOT_IMPLEMENTED  the provider cannot
 * Blocks: no. Threads: serialise.
 * Events: soft: one asynchronous event with reason
 * DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT; hard: the connection breaks.
 * Rule: uDAPL 1.2 spec, dat_ep_set_watermark.
 */
DAT_EXPORT DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
					   DAT_COUNT soft_high_watermark,
					   DAT_COUNT hard_high_watermark);

/*
 * dat_lmr_free - end a registration of memory.
 *
 *   lmr_handle  region without bound RMRs
 *
 * Later local use fails with a protection status, remote use breaks the
 * peer's connection.
 *
 * Returns:
 *   INVALID_HANDLE/LMR         not an LMR
 *   INVALID_STATE/LMR_IN_USE   an RMR is bound to it, or the completion of
 *                              its unbind has not been read, or was a failure
 * Blocks: may, while pages are unpinned. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_lmr_free.
 */
DAT_EXPORT DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/*
 * dat_lmr_sync_rdma_read - make local stores visible to a peer that is going
 * to read. Needed only where provider attribute lmr_sync_req is DAT_TRUE.
 *
 *   ia_handle       adapter
 *   local_segments  ranges, all inside registered memory
 *   num_segments    entries of local_segments (a 64-bit count)
 *
 * Returns:
 *   INVALID_HANDLE/IA       not an open instance
 *   INVALID_PARAMETER/ARG2  NULL with segments, or outside the region
#ifdef DAT_1_2
 *   LENGTH_ERROR            a segment of 4 GiB or more
#endif
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_lmr_sync_rdma_read.
 */
DAT_EXPORT DAT_RETURN dat_lmr_sync_rdma_read(
	DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
	DAT_VLEN num_segments);

/*
 * dat_lmr_sync_rdma_write - make visible what a peer has written; also before
 * and after local stores into such a range. Needed only where lmr_sync_req.
 *
 *   the arguments   as dat_lmr_sync_rdma_read()
 *
 * Returns: as dat_lmr_sync_rdma_read().
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_lmr_sync_rdma_write.
 */
DAT_EXPORT DAT_RETURN dat_lmr_sync_rdma_write(
	DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
	DAT_VLEN num_segments);

/*
 * dat_rmr_create - make a window that can give a peer access to memory.
 *
 *   pz_handle   zone
 *   rmr_handle  out, unbound
 *
 * Returns:
 *   INVALID_HANDLE/PZ       not a PZ
 *   INVALID_PARAMETER/ARG2  rmr_handle NULL
 *   INSUFFICIENT_RESOURCES/MEMORY_REGION  none is left
 *   MODEL_NOT_SUPPORTED     the adapter has none
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_rmr_create; where an adapter has none, historic
 * providers said INSUFFICIENT_RESOURCES.
 */
DAT_EXPORT DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle,
				     DAT_RMR_HANDLE *rmr_handle);

#ifndef DAT_1_2
/*
 * dat_rmr_create_for_ep - make a window that works on one endpoint only.
 *
 *   pz_handle   zone
 *   rmr_handle  out, unbound; the first bind ties it to an endpoint
 *
 * Returns: as dat_rmr_create(), and
 *   MODEL_NOT_SUPPORTED  the adapter has windows, but none of this kind
 * Blocks: no. Threads: safe. Events: none.
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
					    DAT_RMR_HANDLE *rmr_handle);
#endif

/*
 * dat_rmr_query - parameters of a window.
 *
 *   rmr_handle      window
#ifndef DAT_1_2
 *   rmr_param_mask  DAT_RMR_FIELD_*
#else
 *   rmr_param_mask  DAT_RMR_FIELD_*, other bits are ignored
#endif
 *   rmr_param       out; triplet, privileges and context mean nothing while
 *                   the window is unbound
 *
 * Returns:
 *   INVALID_HANDLE/RMR      not an RMR
#ifndef DAT_1_2
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
#endif
 *   INVALID_PARAMETER/ARG3  rmr_param NULL
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_rmr_query.
 */
DAT_EXPORT DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
				    DAT_RMR_PARAM_MASK rmr_param_mask,
				    DAT_RMR_PARAM *rmr_param);

/*
 * dat_rmr_bind - open a window onto a range of registered memory, or close it.
 *
 *   rmr_handle        window
#ifndef DAT_1_2
 *   lmr_handle        region that holds the range
#endif
 *   lmr_triplet       range: address, bytes, lmr_context; 0 bytes: unbind
 *   mem_priv          DAT_MEM_PRIV_*, for the peer; it may do what the region
 *                     was not made for, but writing needs LOCAL_WRITE of it
#ifndef DAT_1_2
 *   va_type           DAT_VA_TYPE_VA; ZB counts addresses from 0
#endif
#ifndef DAT_1_2
 *   ep_handle         connected endpoint whose request queue does the work; of
 *                     a window with EP scope that is bound, the same one
#else
 *   ep_handle         connected endpoint whose request queue does the work
#endif
 *   user_cookie       comes back in the completion
 *   completion_flags  as dat_ep_post_send()
 *   rmr_context       out, valid at once for later posts on this endpoint
 *
 * Returns:
#ifndef DAT_1_2
 *   INVALID_HANDLE/RMR, LMR, EP  bad handle
 *   INVALID_PARAMETER/ARG2  the region is of another zone than the window
 *   INVALID_PARAMETER/ARG3  NULL, or a range outside the region
 *   INVALID_PARAMETER/ARG4  unknown privileges
 *   INVALID_PARAMETER/ARG5  unknown va_type, or ZB of a window without EP scope
 *   INVALID_PARAMETER/ARG6  the endpoint is of another zone, or the window is
 *                           bound through another endpoint
#else
 *   INVALID_HANDLE/RMR, EP  bad handle
 *   INVALID_PARAMETER/ARG2  NULL, no region has that lmr_context, a range
 *                           outside it, or of another zone than the window
 *   INVALID_PARAMETER/ARG3  unknown privileges
 *   INVALID_PARAMETER/ARG4  the endpoint is of another zone
#endif
 *   INVALID_STATE/EP_*      endpoint neither CONNECTED nor DISCONNECTED
 *   PRIVILEGES_VIOLATION    REMOTE_WRITE, and the region lacks LOCAL_WRITE
 *   INSUFFICIENT_RESOURCES/MEMORY  max_request_dtos are outstanding
 * Blocks: no. Threads: serialise.
 * Events: one DAT_RMR_BIND_COMPLETION_EVENT on the request EVD; a bind that
 * fails later breaks the connection.
#ifndef DAT_1_2
 * Rule: uDAPL 1.2 spec, dat_rmr_bind; lmr_handle, va_type: DAT 2.0.
#else
 * Rule: uDAPL 1.2 spec, dat_rmr_bind.
#endif
 */
#ifndef DAT_1_2
DAT_EXPORT DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
				   DAT_LMR_HANDLE lmr_handle,
				   const DAT_LMR_TRIPLET *lmr_triplet,
				   DAT_MEM_PRIV_FLAGS mem_priv,
				   DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
				   DAT_RMR_COOKIE user_cookie,
				   DAT_COMPLETION_FLAGS completion_flags,
				   DAT_RMR_CONTEXT *rmr_context);
#else
DAT_EXPORT DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
				   const DAT_LMR_TRIPLET *lmr_triplet,
				   DAT_MEM_PRIV_FLAGS mem_priv,
				   DAT_EP_HANDLE ep_handle,
				   DAT_RMR_COOKIE user_cookie,
				   DAT_COMPLETION_FLAGS completion_flags,
				   DAT_RMR_CONTEXT *rmr_context);
#endif

/*
 * dat_rmr_free - destroy a window, closing it first if need be.
 *
 *   rmr_handle  window
 *
 * Returns:
 *   INVALID_HANDLE/RMR  not an RMR
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_rmr_free.
 */
DAT_EXPORT DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/*
 * dat_psp_create - listen for connection requests until freed.
 *
 *   ia_handle   adapter
 *   conn_qual   qualifier that peers name in dat_ep_connect()
 *   evd_handle  queue with CR flag
 *   psp_flags   DAT_PSP_CONSUMER_FLAG: the consumer brings an endpoint to
 *               dat_cr_accept(); DAT_PSP_PROVIDER_FLAG: every request brings
 *               one, TENTATIVE, whose PZ and queues are still to be set
 *   psp_handle  out
 *
 * Returns:
 *   INVALID_HANDLE/IA       not an open instance
 *   INVALID_HANDLE/EVD_CR   NULL, not an EVD, or without CR flag
 *   INVALID_PARAMETER/ARG4  unknown flags
 *   INVALID_PARAMETER/ARG5  psp_handle NULL
 *   CONN_QUAL_IN_USE        somebody listens there
 *   CONN_QUAL_UNAVAILABLE   not usable on this adapter
 *   MODEL_NOT_SUPPORTED     flags that the provider does not offer, see
 *                           ep_creator
 *   INSUFFICIENT_RESOURCES  memory or transport
 * Blocks: may. Threads: safe.
 * Events: a DAT_CONNECTION_REQUEST_EVENT per request on evd_handle. There may
 * be more than its length, which is no overflow: when too many requests are
 * not answered the provider lets further peers wait, and refuses none.
 * Rule: uDAPL 1.2 spec, dat_psp_create.
 */
DAT_EXPORT DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle,
				     DAT_CONN_QUAL conn_qual,
				     DAT_EVD_HANDLE evd_handle,
				     DAT_PSP_FLAGS psp_flags,
				     DAT_PSP_HANDLE *psp_handle);

/*
 * dat_psp_create_any - listen on a qualifier that the provider picks.
 *
 *   conn_qual   out, a free and unprivileged one
 *   the others  as dat_psp_create()
 *
 * Returns: as dat_psp_create(), except CONN_QUAL_IN_USE, and
 *   INVALID_PARAMETER/ARG2  conn_qual NULL
 *   CONN_QUAL_UNAVAILABLE   none is free
 * Blocks: may. Threads: safe. Events: as dat_psp_create().
 * Rule: uDAPL 1.2 spec, dat_psp_create_any.
 */
DAT_EXPORT DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle,
					 DAT_CONN_QUAL *conn_qual,
					 DAT_EVD_HANDLE evd_handle,
					 DAT_PSP_FLAGS psp_flags,
					 DAT_PSP_HANDLE *psp_handle);

/*
 * dat_psp_query - parameters of a public service point.
 *
 *   psp_handle      service point
 *   psp_param_mask  DAT_PSP_FIELD_*
 *   psp_param       out
 *
 * Returns:
 *   INVALID_HANDLE/PSP      not a PSP
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
 *   INVALID_PARAMETER/ARG3  psp_param NULL
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_psp_query.
 */
DAT_EXPORT DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle,
				    DAT_PSP_PARAM_MASK psp_param_mask,
				    DAT_PSP_PARAM *psp_param);

/*
 * dat_psp_free - stop listening.
 *
 *   psp_handle  service point
 *
 * Requests that were delivered before stay valid; later ones meet no listener.
 *
 * Returns:
 *   INVALID_HANDLE/PSP  not a PSP
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_psp_free.
 */
DAT_EXPORT DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);

/*
 * dat_rsp_create - listen for one request, with an endpoint put aside for it.
 *
 *   ia_handle   adapter
 *   conn_qual   qualifier that the peer names
 *   ep_handle   UNCONNECTED; becomes RESERVED. DAT_HANDLE_NULL: the request
 *               brings one of the provider's, as with DAT_PSP_PROVIDER_FLAG
 *   evd_handle  queue with CR flag
 *   rsp_handle  out
 *
 * Returns:
 *   INVALID_HANDLE/IA, EP, EVD_CR  bad handle, or EVD without CR flag
 *   INVALID_PARAMETER/ARG5  rsp_handle NULL
 *   INVALID_STATE/EP_*      endpoint not UNCONNECTED
 *   CONN_QUAL_IN_USE        somebody listens there
 *   INSUFFICIENT_RESOURCES  memory or transport
 * Blocks: may. Threads: safe.
 * Events: one DAT_CONNECTION_REQUEST_EVENT on evd_handle; the endpoint is then
 * PASSIVE (TENTATIVE when the provider made it) and the service point does not
 * listen any more.
 * Rule: uDAPL 1.2 spec, dat_rsp_create.
 */
DAT_EXPORT DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle,
				     DAT_CONN_QUAL conn_qual,
				     DAT_EP_HANDLE ep_handle,
				     DAT_EVD_HANDLE evd_handle,
				     DAT_RSP_HANDLE *rsp_handle);

/*
 * dat_rsp_query - parameters of a reserved service point.
 *
 *   rsp_handle      service point
 *   rsp_param_mask  DAT_RSP_FIELD_*
 *   rsp_param       out
 *
 * Returns:
 *   INVALID_HANDLE/RSP      not an RSP
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
 *   INVALID_PARAMETER/ARG3  rsp_param NULL
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_rsp_query.
 */
DAT_EXPORT DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
				    DAT_RSP_PARAM_MASK rsp_param_mask,
				    DAT_RSP_PARAM *rsp_param);

/*
 * dat_rsp_free - stop listening; the endpoint becomes UNCONNECTED again.
 *
 *   rsp_handle  service point that has not been used
 *
 * Returns:
 *   INVALID_HANDLE/RSP  not an RSP
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_rsp_free.
 */
DAT_EXPORT DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

#ifndef DAT_1_2
/*
 * dat_csp_create - listen on a socket-style name instead of a qualifier.
 *
 *   ia_handle     adapter
 *   communicator  domain, type and protocol as in socket(2); copied
 *   address       socket address with port; copied
 *   evd_handle    queue with CR flag
 *   csp_handle    out
 *
 * Returns:
 *   INVALID_HANDLE/IA, EVD_CR  bad handle, or EVD without CR flag
 *   INVALID_PARAMETER/ARG2, ARG3, ARG5  a pointer is NULL
 *   COMM_NOT_SUPPORTED      this domain, type or protocol
 *   PORT_IN_USE             somebody listens there
 *   INVALID_ADDRESS         not an address of this adapter
 *   MODEL_NOT_SUPPORTED     the provider has no common service points
 * Blocks: may. Threads: safe.
 * Events: a DAT_CONNECTION_REQUEST_EVENT per request on evd_handle.
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle,
				     DAT_COMM *communicator,
				     DAT_IA_ADDRESS_PTR address,
				     DAT_EVD_HANDLE evd_handle,
				     DAT_CSP_HANDLE *csp_handle);
#endif

#ifndef DAT_1_2
/*
 * dat_csp_query - parameters of a common service point.
 *
 *   csp_handle      service point
 *   csp_param_mask  DAT_CSP_FIELD_*
 *   csp_param       out
 *
 * Returns:
 *   INVALID_HANDLE/CSP      not a CSP
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
 *   INVALID_PARAMETER/ARG3  csp_param NULL
 * Blocks: no. Threads: safe. Events: none.
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle,
				    DAT_CSP_PARAM_MASK csp_param_mask,
				    DAT_CSP_PARAM *csp_param);
#endif

#ifndef DAT_1_2
/*
 * dat_csp_free - stop listening on a common service point.
 *
 *   csp_handle  service point
 *
 * Returns:
 *   INVALID_HANDLE/CSP  not a CSP
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle);
#endif

/*
 * dat_pz_create - make a protection zone.
 *
 *   ia_handle  adapter
 *   pz_handle  out
 *
 * Memory and endpoints work together only inside one zone.
 *
 * Returns:
 *   INVALID_HANDLE/IA       not an open instance
 *   INVALID_PARAMETER/ARG2  pz_handle NULL
 *   INSUFFICIENT_RESOURCES  memory or device
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_pz_create.
 */
DAT_EXPORT DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle,
				    DAT_PZ_HANDLE *pz_handle);

/*
 * dat_pz_query - the adapter that a zone belongs to.
 *
 *   pz_handle      zone
 *   pz_param_mask  DAT_PZ_FIELD_*
 *   pz_param       out
 *
 * Returns:
 *   INVALID_HANDLE/PZ       not a PZ
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
 *   INVALID_PARAMETER/ARG3  pz_param NULL
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_pz_query.
 */
DAT_EXPORT DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle,
				   DAT_PZ_PARAM_MASK pz_param_mask,
				   DAT_PZ_PARAM *pz_param);

/*
 * dat_pz_free - destroy a zone.
 *
 *   pz_handle  zone that no EP, LMR, RMR or SRQ uses
 *
 * Returns:
 *   INVALID_HANDLE/PZ        not a PZ
 *   INVALID_STATE/PZ_IN_USE  something uses it
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_pz_free.
 */
DAT_EXPORT DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle);

/*
 * dat_srq_create - make a receive queue that endpoints share.
 *
 *   ia_handle   adapter
 *   pz_handle   zone of the buffers
 *   srq_attr    at least max_recv_dtos buffers of max_recv_iov segments;
 *               low_watermark must be DAT_SRQ_LW_DEFAULT
 *   srq_handle  out, OPERATIONAL
 *
 * Returns:
 *   INVALID_HANDLE/IA, PZ   bad handle
 *   INVALID_PARAMETER/ARG3  srq_attr NULL, counts not positive, watermark set
 *   INVALID_PARAMETER/ARG4  srq_handle NULL
 *   INSUFFICIENT_RESOURCES/SRQ  above the adapter's limits, or no memory
 *   MODEL_NOT_SUPPORTED     no SRQs, see srq_supported
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_srq_create.
 */
DAT_EXPORT DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle,
				     DAT_PZ_HANDLE pz_handle,
				     DAT_SRQ_ATTR *srq_attr,
				     DAT_SRQ_HANDLE *srq_handle);

/*
 * dat_srq_free - destroy a shared receive queue.
 *
 *   srq_handle  queue that no endpoint uses
 *
 * Returns:
 *   INVALID_HANDLE/SRQ        not an SRQ
 *   INVALID_STATE/SRQ_IN_USE  an endpoint uses it
 * Blocks: no. Threads: serialise. Events: none; posted buffers return.
 * Rule: uDAPL 1.2 spec, dat_srq_free.
 */
DAT_EXPORT DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/*
 * dat_srq_post_recv - give a shared queue a buffer for one message.
 *
 *   srq_handle    queue
 *   num_segments  entries of local_iov
 *   local_iov     where to; memory needs LOCAL_WRITE
 *   user_cookie   comes back in the completion
 *
 * Returns:
 *   INVALID_HANDLE/SRQ      not an SRQ
 *   INVALID_PARAMETER/ARG2, ARG3  segments, iov
#ifdef DAT_1_2
 *   LENGTH_ERROR            a segment of 4 GiB or more
#endif
 *   INSUFFICIENT_RESOURCES/MEMORY  max_recv_dtos are outstanding
 * Blocks: no; allocates nothing. Threads: serialise.
 * Events: one DAT_DTO_COMPLETION_EVENT on the receive EVD of the endpoint that
 * took the buffer; in message order per connection, in no order between them.
 * Rule: uDAPL 1.2 spec, dat_srq_post_recv.
 */
DAT_EXPORT DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle,
					DAT_COUNT num_segments,
					DAT_LMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie);

/*
 * dat_srq_query - parameters and fill of a shared queue.
 *
 *   srq_handle      queue
 *   srq_param_mask  DAT_SRQ_FIELD_*
 *   srq_param       out. available_dto_count: buffers an endpoint can still
 *                   take; outstanding_dto_count: posted, completion not yet
 *                   taken from an EVD; either may be DAT_VALUE_UNKNOWN
 *
 * Returns:
 *   INVALID_HANDLE/SRQ      not an SRQ
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
 *   INVALID_PARAMETER/ARG3  srq_param NULL
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_srq_query.
 */
DAT_EXPORT DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle,
				    DAT_SRQ_PARAM_MASK srq_param_mask,
				    DAT_SRQ_PARAM *srq_param);

/*
 * dat_srq_resize - change how many buffers a shared queue holds.
 *
 *   srq_handle        queue
 *   srq_max_recv_dto  buffers, > 0; a smaller queue need not really shrink
 *
 * Returns:
 *   INVALID_HANDLE/SRQ      not an SRQ
 *   INVALID_PARAMETER/ARG2  not positive
 *   INVALID_STATE           fewer than outstanding, or below the watermark
 *   INSUFFICIENT_RESOURCES/SRQ  above the adapter's limit, no memory, or an
 *                           adapter that cannot enlarge the queue or the
 *                           completion queue of an endpoint's receive EVD
 * Blocks: no. Threads: serialise. Events: none; no buffer is lost.
 * Rule: uDAPL 1.2 spec, dat_srq_resize.
 */
DAT_EXPORT DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle,
				     DAT_COUNT srq_max_recv_dto);

/*
 * dat_srq_set_lw - be told once when buffers run short.
 *
 *   srq_handle     queue
 *   low_watermark  buffers, at most max_recv_dtos; 0: off
 *
 * Returns:
 *   INVALID_HANDLE/SRQ      not an SRQ
 *   INVALID_PARAMETER/ARG2  negative or above max_recv_dtos
 *   MODEL_NOT_SUPPORTED, NOT_IMPLEMENTED  the provider cannot
 * Blocks: no. Threads: serialise.
 * Events: one asynchronous event with reason DAT_SRQ_LOW_WATERMARK_EVENT when
 * fewer buffers than the mark are free; then the mark is off.
 * Rule: uDAPL 1.2 spec, dat_srq_set_lw.
 */
DAT_EXPORT DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle,
				     DAT_COUNT low_watermark);

#ifndef DAT_1_2
/*
 * dat_extension_op - one door for the operations of a transport.
 *
 *   handle     object the operation works on; DAT_HANDLE_NULL only for an
 *              operation that opens something
 *   operation  number from the extension's header
 *   ...        what that operation wants; see dat_ib_extensions.h, whose
 *              macros pass exactly the right types
 *
 * Returns:
 *   INVALID_HANDLE/HANDLE1  NULL
 *   NOT_IMPLEMENTED         the provider has no extensions, or not this one
 *   anything else           the operation's own answer
 * Blocks, Threads, Events: as the operation says.
 * Rule: added in DAT 2.0. Open and close operations are known by their exact
 * numbers; older libraries looked at single bits of any number.
 */
DAT_EXPORT DAT_RETURN dat_extension_op(DAT_HANDLE handle,
				       DAT_EXTENDED_OP operation, ...);
#endif

/*
 * dat_registry_list_providers - the adapters that can be opened.
 *
 *   max_to_return      entries that dat_provider_list has room for, >= 0
#ifndef DAT_1_2
 *   entries_returned   out, entries stored; all there are when too many
#else
 *   entries_returned   out, entries stored; when max_to_return is 0, all
 *                      there are
#endif
 *   dat_provider_list  out, an array of pointers to structures of the caller
 *
#ifndef DAT_1_2
 * Lists the lines of version 2 of dat.conf in file order, but for those whose
 * device is not there; then the devices that are there without a line, then
 * what registered itself in the process.
#else
 * Lists the lines of version 1 of dat.conf in file order, but for those whose
 * device is not there; then the devices that are there without a line, then
 * what registered itself in the process. When there is more than there is room
 * for, the first ones.
#endif
 *
 * Returns:
#ifndef DAT_1_2
 *   INVALID_PARAMETER/ARG1  max_to_return negative or smaller than the list
#else
 *   INVALID_PARAMETER/ARG1  max_to_return negative, or 0 although there are
 *                           entries
#endif
 *   INVALID_PARAMETER/ARG2  entries_returned NULL
 *   INVALID_PARAMETER/ARG3  the array or an element of it NULL
 *   INSUFFICIENT_RESOURCES  memory or descriptors to look for devices; the next
 *                           call looks again
 * Blocks: once in a process, to read what the kernel says of its devices;
 * dat.conf was read when the library was loaded. Threads: safe.
 * Events: none.
 * Rule: uDAPL 1.2 spec, dat_registry_list_providers; no dat.conf and no device
 * at all is success with no entries, as it always was. Lines of the other
 * version, which old registries listed too, cannot be opened by who asks.
 * dat.conf(5) has the names.
 */
DAT_EXPORT DAT_RETURN dat_registry_list_providers(
	DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
	DAT_PROVIDER_INFO *(dat_provider_list[]));

/*
 * dat_strerror - the names of a return code as text.
 *
 *   value          any DAT_RETURN, with or without class bits
 *   major_message  out, name of the type, such as "DAT_INVALID_HANDLE"
 *   minor_message  out, name of the subtype, "" when there is none
 *
 * Either pointer may be NULL. The texts are constant and never freed.
 *
 * Returns:
 *   INVALID_PARAMETER  a number without a name; the texts say so
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_strerror.
 */
DAT_EXPORT DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message,
				   const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_DAT_H */
