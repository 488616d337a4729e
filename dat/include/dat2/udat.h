/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * udat.h - the uDAPL interface; the one header that programs include.
 *
 * What only user space has, on top of dat.h: waiting, notification objects,
 * memory registration, provider attributes. Does not hold what a provider
#ifndef DAT_1_2
 * needs to register itself (dat_registry.h) or InfiniBand extensions.
#else
 * needs to register itself (dat_registry.h).
#endif
 * Threads, ownership: stated for each call; dat.h explains the words.
#ifndef DAT_1_2
 * Rule: uDAPL 1.2 specification, and for what came later the DAT 2.0 names,
 * types and values. Values and layouts are checked by test/abi.
#else
 * Rule: uDAPL 1.2 specification. Values and layouts, those that programs for
 * Linux were built with, are checked by test/abi.
#endif
 */
#ifndef DAT2_UDAT_H
#define DAT2_UDAT_H

#include <dat2/dat_platform_specific.h>
#include <dat2/udat_config.h>
#include <dat2/udat_vendor_specific.h>

/* Which member of DAT_REGION_DESCRIPTION is meant. */
enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL = 0,
	DAT_MEM_TYPE_LMR = 1,
	DAT_MEM_TYPE_SHARED_VIRTUAL = 2,
};
typedef enum dat_mem_type DAT_MEM_TYPE;

enum dat_handle_type {
	DAT_HANDLE_TYPE_CR = 0,
	DAT_HANDLE_TYPE_EP = 1,
	DAT_HANDLE_TYPE_EVD = 2,
	DAT_HANDLE_TYPE_IA = 3,
	DAT_HANDLE_TYPE_LMR = 4,
	DAT_HANDLE_TYPE_PSP = 5,
	DAT_HANDLE_TYPE_PZ = 6,
	DAT_HANDLE_TYPE_RMR = 7,
	DAT_HANDLE_TYPE_RSP = 8,
	DAT_HANDLE_TYPE_CNO = 9,
	DAT_HANDLE_TYPE_SRQ = 10,
#ifndef DAT_1_2
	DAT_HANDLE_TYPE_CSP = 11,
	DAT_HANDLE_TYPE_EXTENSION_BASE = 12,
#endif
};
typedef enum dat_handle_type DAT_HANDLE_TYPE;

/*
 * Bits; the CONFIG values are a field of two, 0 while no endpoint completes
 * there: see DAT_COMPLETION_UNSIGNALLED_FLAG (NOTIFY), _SOLICITED_WAIT_FLAG,
 * _EVD_THRESHOLD_FLAG.
 */
enum dat_evd_state {
	DAT_EVD_STATE_ENABLED = 0x1,
	DAT_EVD_STATE_DISABLED = 0x2,
	DAT_EVD_STATE_WAITABLE = 0x4,
	DAT_EVD_STATE_UNWAITABLE = 0x8,
	DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED = 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30,
};
typedef enum dat_evd_state DAT_EVD_STATE;

enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE = 0x1,
	DAT_EVD_FIELD_EVD_QLEN = 0x2,
	DAT_EVD_FIELD_EVD_STATE = 0x4,
	DAT_EVD_FIELD_CNO = 0x8,
	DAT_EVD_FIELD_EVD_FLAGS = 0x10,
	DAT_EVD_FIELD_ALL = 0x1f,
};
typedef enum dat_evd_param_mask DAT_EVD_PARAM_MASK;

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

/* here and not above: it needs the types so far */
#include <dat2/dat.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef DAT_HANDLE DAT_CNO_HANDLE;

struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_EVD_STATE evd_state;
	DAT_CNO_HANDLE cno_handle;
	DAT_EVD_FLAGS evd_flags;
};

#define DAT_LMR_COOKIE_SIZE 40
/* Equal cookies name the same shared memory. */
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

/* Values of an asynchronous EVD that are not handles, see dat_ia_openv(). */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)0x1)
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)0x2)

typedef void (*DAT_AGENT_FUNC)(DAT_PVOID instance_data,
			       DAT_EVD_HANDLE evd_handle);

struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;
	DAT_AGENT_FUNC proxy_agent_func;
};
typedef struct dat_os_wait_proxy_agent DAT_OS_WAIT_PROXY_AGENT;

/* No agent. C++ has no compound literals. */
#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL (DAT_OS_WAIT_PROXY_AGENT{NULL, NULL})
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL ((DAT_OS_WAIT_PROXY_AGENT){NULL, NULL})
#endif

struct dat_shared_memory {
	DAT_PVOID virtual_address;
	DAT_LMR_COOKIE shared_memory_id;
};
typedef struct dat_shared_memory DAT_SHARED_MEMORY;

union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	DAT_SHARED_MEMORY for_shared_memory;
};
typedef union dat_region_description DAT_REGION_DESCRIPTION;

struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
#ifndef DAT_1_2
	DAT_VA_TYPE va_type;
#endif
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};
typedef struct dat_lmr_param DAT_LMR_PARAM;

enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE = 0x1,
	DAT_LMR_FIELD_MEM_TYPE = 0x2,
	DAT_LMR_FIELD_REGION_DESC = 0x4,
	DAT_LMR_FIELD_LENGTH = 0x8,
	DAT_LMR_FIELD_PZ_HANDLE = 0x10,
	DAT_LMR_FIELD_MEM_PRIV = 0x20,
#ifndef DAT_1_2
	DAT_LMR_FIELD_VA_TYPE = 0x40,
	DAT_LMR_FIELD_LMR_CONTEXT = 0x80,
	DAT_LMR_FIELD_RMR_CONTEXT = 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE = 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x400,
	DAT_LMR_FIELD_ALL = 0x7ff,
#else
	DAT_LMR_FIELD_LMR_CONTEXT = 0x40,
	DAT_LMR_FIELD_RMR_CONTEXT = 0x80,
	DAT_LMR_FIELD_REGISTERED_SIZE = 0x100,
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x200,
	DAT_LMR_FIELD_ALL = 0x3ff,
#endif
};
typedef enum dat_lmr_param_mask DAT_LMR_PARAM_MASK;

#ifndef DAT_1_2
enum dat_proxy_type {
	DAT_PROXY_TYPE_NONE = 0,
	DAT_PROXY_TYPE_AGENT = 1,
	DAT_PROXY_TYPE_FD = 2,
};
typedef enum dat_proxy_type DAT_PROXY_TYPE;

struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PROXY_TYPE proxy_type;
	union {
		DAT_OS_WAIT_PROXY_AGENT agent;
		DAT_FD fd;
		DAT_PVOID none;
	} proxy;
};
typedef struct dat_cno_param DAT_CNO_PARAM;

/* Historic numbers that form no bit mask; ask for DAT_CNO_FIELD_ALL. */
enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE = 1,
	DAT_CNO_FIELD_PROXY_TYPE = 2,
	DAT_CNO_FIELD_PROXY = 3,
	DAT_CNO_FIELD_ALL = 4,
};
typedef enum dat_cno_param_mask DAT_CNO_PARAM_MASK;
#else
struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_OS_WAIT_PROXY_AGENT agent;
};
typedef struct dat_cno_param DAT_CNO_PARAM;

enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE = 0x1,
	DAT_CNO_FIELD_AGENT = 0x2,
	DAT_CNO_FIELD_ALL = 0x3,
};
typedef enum dat_cno_param_mask DAT_CNO_PARAM_MASK;
#endif

/* Whether instances of one adapter may share a zone. */
enum dat_pz_support {
	DAT_PZ_UNIQUE = 0,
	DAT_PZ_SHAREABLE = 1,
};
typedef enum dat_pz_support DAT_PZ_SUPPORT;

/*
 * What a provider can do. Older headers made evd_stream_merging_supported
 * const, so that C++ could not define such an object and nobody assign one.
 */
struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	/* VIRTUAL always, the others OR-ed */
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size; /* bytes, in a connection request */
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_PZ_SUPPORT pz_support;
	DAT_UINT32 optimal_buffer_alignment; /* bytes */
	/* order of SOFTWARE, CR, DTO, CONNECTION, RMR_BIND, ASYNC */
	DAT_BOOLEAN evd_stream_merging_supported[6][6];
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;
	DAT_COUNT ep_recv_info_supported;
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
#ifndef DAT_1_2
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE rmr_scope_supported;
	DAT_BOOLEAN is_signal_safe;
	DAT_BOOLEAN ha_supported;
	DAT_HA_LB ha_loadbalancing;
#endif
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

#define DAT_PROVIDER_FIELD_NONE				  UINT64_C(0x0)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME		  UINT64_C(0x1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	  UINT64_C(0x2)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	  UINT64_C(0x4)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		  UINT64_C(0x8)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		  UINT64_C(0x10)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	  UINT64_C(0x20)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		  UINT64_C(0x40)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		  UINT64_C(0x80)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	  UINT64_C(0x100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		  UINT64_C(0x200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	  UINT64_C(0x400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		  UINT64_C(0x800)
#define DAT_PROVIDER_FIELD_EP_CREATOR			  UINT64_C(0x1000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT			  UINT64_C(0x2000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	  UINT64_C(0x4000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	  UINT64_C(0x8000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		  UINT64_C(0x10000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	  UINT64_C(0x20000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED UINT64_C(0x40000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		  UINT64_C(0x80000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	  UINT64_C(0x100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			  UINT64_C(0x200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	  UINT64_C(0x400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	  UINT64_C(0x800000)
#ifndef DAT_1_2
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE \
	UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED	      UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE	      UINT64_C(0x4000000)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED		      UINT64_C(0x8000000)
#define DAT_PROVIDER_FIELD_HA_LB		      UINT64_C(0x10000000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR UINT64_C(0x20000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR     UINT64_C(0x40000000)
#define DAT_PROVIDER_FIELD_ALL			      UINT64_C(0x7fffffff)
#else
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR     UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_ALL			      UINT64_C(0x3ffffff)
#endif

/*
 * dat_ia_open - dat_ia_openv() for the version this header describes and the
 * thread model of udat_config.h. There is no function of this name.
 *
 *   name         of the adapter
 *   qlen         events that the asynchronous EVD must hold
 *   async_evd    in and out, the asynchronous EVD
 *   ia           out, the instance
 *
 * Returns, Blocks, Threads, Events, Rule: as dat_ia_openv().
 */
#define dat_ia_open(name, qlen, async_evd, ia)                             \
	dat_ia_openv((name), (qlen), (async_evd), (ia), DAT_VERSION_MAJOR, \
		     DAT_VERSION_MINOR, DAT_THREADSAFE)

/*
 * dat_lmr_create - register memory for use by the adapter.
 *
 *   ia_handle           adapter
 *   mem_type            which member of region_description is meant
 *   region_description  VIRTUAL: address; LMR: another region, the same pages
 *                       again; SHARED_VIRTUAL: address and a cookie of
 *                       DAT_LMR_COOKIE_SIZE bytes, equal cookies share pages
 *   length              bytes, > 0; ignored for LMR
 *   pz_handle           zone
 *   privileges          DAT_MEM_PRIV_*; REMOTE_WRITE wants LOCAL_WRITE too
#ifdef DAT_1_2
 *                       (other bits are ignored)
#else
 *   va_type             DAT_VA_TYPE_VA, or ZB where zb_supported and the
 *                       region begins with a page
#endif
 *   lmr_handle          out
 *   lmr_context         out, for local triplets; may be NULL
 *   rmr_context         out, for the peer's triplets, means something only
 *                       with remote privileges; may be NULL
 *   registered_length   out, bytes, may be rounded up; may be NULL
 *   registered_address  out, may be rounded down; may be NULL
 *
 * Returns:
 *   INVALID_HANDLE/IA, PZ, LMR  bad handle
 *   INVALID_PARAMETER/ARG2  unknown type
#ifndef DAT_1_2
 *   INVALID_PARAMETER/ARG3  range not mapped; ZB and the address is not that
 *                           of a page
#else
 *   INVALID_PARAMETER/ARG3  range not mapped
#endif
 *   LENGTH_ERROR            length 0
#ifndef DAT_1_2
 *   INVALID_PARAMETER/ARG6, ARG7  unknown privileges, va_type
 *   INVALID_PARAMETER/ARG8  lmr_handle NULL (old providers say ARG7)
#else
 *   INVALID_PARAMETER/ARG7  lmr_handle NULL
#endif
 *   PRIVILEGES_VIOLATION    remote without local write, read-only pages
#ifndef DAT_1_2
 *   MODEL_NOT_SUPPORTED, NOT_IMPLEMENTED  va_type or mem_type
#else
 *   NOT_IMPLEMENTED         mem_type
#endif
 *   INSUFFICIENT_RESOURCES  memory, or a limit on pinned memory
 * Blocks: may, while pages are pinned. Threads: safe. Events: none.
#ifndef DAT_1_2
 * Rule: uDAPL 1.2 spec, dat_lmr_create; va_type: DAT 2.0.
#else
 * Rule: uDAPL 1.2 spec, dat_lmr_create.
#endif
 */
DAT_EXPORT DAT_RETURN
dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
	       DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
	       DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
#ifndef DAT_1_2
	       DAT_VA_TYPE va_type,
#endif
	       DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
	       DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
	       DAT_VADDR *registered_address);

/*
 * dat_lmr_query - parameters of a registration.
 *
 *   lmr_handle      region
#ifndef DAT_1_2
 *   lmr_param_mask  DAT_LMR_FIELD_*
#else
 *   lmr_param_mask  DAT_LMR_FIELD_*, other bits are ignored
#endif
 *   lmr_param       out
 *
 * Returns:
 *   INVALID_HANDLE/LMR      not an LMR
#ifndef DAT_1_2
 *   INVALID_PARAMETER/ARG2  mask with unknown bits
#endif
 *   INVALID_PARAMETER/ARG3  lmr_param NULL
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_lmr_query.
 */
DAT_EXPORT DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
				    DAT_LMR_PARAM_MASK lmr_param_mask,
				    DAT_LMR_PARAM *lmr_param);

/*
 * dat_evd_create - make an event queue, enabled and waitable.
 *
 *   ia_handle     adapter
 *   evd_min_qlen  events it must hold at least, > 0
 *   cno_handle    notification object, or DAT_HANDLE_NULL
 *   evd_flags     DAT_EVD_*_FLAG of the streams that may use the queue. Which
 *                 may be combined: evd_stream_merging_supported
 *   evd_handle    out
 *
 * Returns:
 *   INVALID_HANDLE/IA       not an open instance
 *   INVALID_HANDLE/CNO      not a CNO
 *   INVALID_PARAMETER/ARG2  length not positive
 *   INVALID_PARAMETER/ARG4  flags 0, unknown, or not to be combined
 *   INVALID_PARAMETER/ARG5  evd_handle NULL
 *   INSUFFICIENT_RESOURCES/TEVD  above the adapter's limit
 *   INSUFFICIENT_RESOURCES  memory or device
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_evd_create. Old providers let DTO and CONNECTION
 * not share, nor ASYNC with any; programs ask the provider's attributes.
 */
DAT_EXPORT DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle,
				     DAT_COUNT evd_min_qlen,
				     DAT_CNO_HANDLE cno_handle,
				     DAT_EVD_FLAGS evd_flags,
				     DAT_EVD_HANDLE *evd_handle);

/*
 * dat_evd_modify_cno - attach a queue to another notification object.
 *
 *   evd_handle  queue
 *   cno_handle  the new one, or DAT_HANDLE_NULL
 *
 * A notification under way may still reach the old one.
 *
 * Returns:
 *   INVALID_HANDLE      not an EVD
 *   INVALID_HANDLE/CNO  not a CNO
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_evd_modify_cno.
 */
DAT_EXPORT DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle,
					 DAT_CNO_HANDLE cno_handle);

/*
 * dat_cno_create - make an object that queues notify.
 *
 *   ia_handle   adapter
 *   agent       called once with (instance_data, evd_handle) from a thread of
 *               the provider when the object is triggered, and then forgotten;
 *               DAT_OS_WAIT_PROXY_AGENT_NULL: none. It may post and dequeue,
 *               but not wait, and not free the object
 *   cno_handle  out
 *
 * Returns:
 *   INVALID_HANDLE/IA       not an open instance
 *   INVALID_PARAMETER/ARG3  cno_handle NULL
 *   INSUFFICIENT_RESOURCES/MEMORY
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_cno_create; one call per setting of the agent is
 * how all providers do it.
 */
DAT_EXPORT DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle,
				     DAT_OS_WAIT_PROXY_AGENT agent,
				     DAT_CNO_HANDLE *cno_handle);

/*
 * dat_cno_modify_agent - set, replace or take away the agent.
 *
 *   cno_handle  notification object
 *   agent       as for dat_cno_create()
 *
 * Returns:
 *   INVALID_HANDLE/CNO  not a CNO
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_cno_modify_agent.
 */
DAT_EXPORT DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
					   DAT_OS_WAIT_PROXY_AGENT agent);

/*
 * dat_cno_query - parameters of a notification object.
 *
 *   cno_handle      notification object
#ifndef DAT_1_2
 *   cno_param_mask  DAT_CNO_FIELD_*, which are not single bits
 *   cno_param       out; proxy_type tells which member of proxy is meant
#else
 *   cno_param_mask  DAT_CNO_FIELD_*, other bits are ignored
 *   cno_param       out
#endif
 *
 * Returns:
 *   INVALID_HANDLE/CNO      not a CNO
#ifndef DAT_1_2
 *   INVALID_PARAMETER/ARG2  unknown mask
#endif
 *   INVALID_PARAMETER/ARG3  cno_param NULL
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_cno_query.
 */
DAT_EXPORT DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle,
				    DAT_CNO_PARAM_MASK cno_param_mask,
				    DAT_CNO_PARAM *cno_param);

/*
 * dat_cno_free - destroy a notification object.
 *
 *   cno_handle  object without EVDs and without waiters
 *
 * Returns:
 *   INVALID_HANDLE/CNO        not a CNO
 *   INVALID_STATE/CNO_IN_USE  an EVD refers to it, or a thread waits
 * Blocks: no. Threads: serialise. Events: none.
 * Rule: uDAPL 1.2 spec, dat_cno_free.
 */
DAT_EXPORT DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle);

/*
 * dat_cno_wait - wait until one of the attached queues has something.
 *
 *   cno_handle  notification object
 *   timeout     microseconds; 0 polls, DAT_TIMEOUT_INFINITE: no limit
 *   evd_handle  out, the queue that triggered: a hint, it may be empty again;
 *               NULL on timeout, or when the last queue went away
 *
 * A trigger is remembered once for each queue, whatever more comes there, and
 * releases one of the waiters. A queue that is drained or disabled before takes
 * its trigger along.
 *
 * Returns:
 *   QUEUE_EMPTY             timeout
 *   INVALID_HANDLE/CNO      not a CNO
 *   INVALID_PARAMETER/ARG3  evd_handle NULL
 *   INVALID_STATE/CNO_DEAD  being destroyed
 *   INTERRUPTED_CALL        a signal arrived
 * Blocks: until triggered or timeout. Threads: safe, several may wait.
 * Cancellation: where it sleeps; takes no trigger then.
 * Events: takes none from the queue.
 * Rule: uDAPL 1.2 spec, dat_cno_wait.
 */
DAT_EXPORT DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle,
				   DAT_TIMEOUT timeout,
				   DAT_EVD_HANDLE *evd_handle);

/*
 * dat_evd_enable - let a queue trigger its CNO again. Idempotent.
 *
 *   evd_handle  queue
 *
 * Returns:
 *   INVALID_HANDLE  not an EVD
 * Blocks: no. Threads: safe.
 * Events: events that came while the queue was disabled need not trigger.
 * Rule: uDAPL 1.2 spec, dat_evd_enable.
 */
DAT_EXPORT DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle);

/*
 * dat_evd_wait - wait until enough events are queued and take the oldest.
 *
 *   evd_handle  waitable queue without another waiter
 *   timeout     microseconds; 0 polls, DAT_TIMEOUT_INFINITE: no limit
 *   threshold   events that must be queued, 1 up to the length of the queue
 *   event       out
 *   nmore       out, events still queued; valid on timeout too
 *
 * While a thread waits it owns the queue: the CNO is not triggered. Events that
 * are there when it comes are taken whether they notify or not; one that sleeps
 * is woken by events that notify only, and then takes the oldest.
 *
 * Returns:
 *   TIMEOUT_EXPIRED         fewer than threshold events came
 *   INVALID_HANDLE          not an EVD
 *   INVALID_PARAMETER/ARG3  threshold not 1 to the length of the queue
 *   INVALID_PARAMETER/ARG4  event NULL
 *   INVALID_PARAMETER/ARG5  nmore NULL
 *   INVALID_STATE/EVD_UNWAITABLE  at entry, or made so while waiting
 *   INVALID_STATE           another waiter, dead after an overflow, or
 *                           threshold above 1 where notification is by
 *                           UNSIGNALLED or SOLICITED_WAIT
 *   INTERRUPTED_CALL        a signal arrived
 *   ABORT                   the queue or its IA was destroyed
 *   INSUFFICIENT_RESOURCES/RESOURCE_MEMORY  to gather so many; none is lost
 * Blocks: until threshold events or timeout. Threads: safe, one may wait.
 * Cancellation: where it sleeps; takes no event then, and leaves the queue as a
 * wait without an event does. No other call but dat_cno_wait() is a
 * cancellation point.
 * Events: consumes one.
 * Rule: uDAPL 1.2 spec, dat_evd_wait. Compare DAT_GET_TYPE() of the result:
 * some providers leave out the class bit of TIMEOUT_EXPIRED.
 */
DAT_EXPORT DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle,
				   DAT_TIMEOUT timeout, DAT_COUNT threshold,
				   DAT_EVENT *event, DAT_COUNT *nmore);

/*
 * dat_evd_disable - keep a queue from triggering its CNO. Idempotent.
 *
 *   evd_handle  queue
 *
 * Waiters on the queue itself and dat_evd_dequeue() do not notice. A trigger
 * under way may still come through.
 *
 * Returns:
 *   INVALID_HANDLE  not an EVD
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_evd_disable.
 */
DAT_EXPORT DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle);

/*
 * dat_evd_set_unwaitable - forbid waiting on a queue. Idempotent.
 *
 *   evd_handle  queue; a thread that waits returns INVALID_STATE
 *
 * Dequeue and triggering go on.
 *
 * Returns:
 *   INVALID_HANDLE  not an EVD
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_evd_set_unwaitable.
 */
DAT_EXPORT DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);

/*
 * dat_evd_clear_unwaitable - allow waiting on a queue again. Idempotent.
 *
 *   evd_handle  queue
 *
 * Returns:
 *   INVALID_HANDLE  not an EVD
 * Blocks: no. Threads: safe. Events: none.
 * Rule: uDAPL 1.2 spec, dat_evd_clear_unwaitable.
 */
DAT_EXPORT DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);

#ifndef DAT_1_2
/*
 * dat_cno_fd_create - make a notification object with a file descriptor.
 *
 *   ia_handle        adapter
 *   file_descriptor  out, readable for poll(2) while triggered; belongs to
 *                    the object, do not close or read it
 *   cno_handle       out
 *
 * Returns:
 *   INVALID_HANDLE/IA       not an open instance
 *   INVALID_PARAMETER/ARG2, ARG3  a pointer is NULL
 *   INSUFFICIENT_RESOURCES  memory or descriptors
 *   MODEL_NOT_SUPPORTED     the provider cannot
 * Blocks: no. Threads: safe. Events: none.
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia_handle,
					DAT_FD *file_descriptor,
					DAT_CNO_HANDLE *cno_handle);
#endif

#ifndef DAT_1_2
/*
 * dat_cno_trigger - take the trigger of an object with a file descriptor.
 *
 *   cno_handle  from dat_cno_fd_create()
 *   evd_handle  out, the queue that triggered; a hint, as in dat_cno_wait()
 *
 * Returns:
 *   QUEUE_EMPTY             not triggered
 *   INVALID_HANDLE/CNO      not a CNO, or one without descriptor
 *   INVALID_PARAMETER/ARG2  evd_handle NULL
 *   MODEL_NOT_SUPPORTED     the provider cannot
 * Blocks: no. Threads: safe. Events: takes none from the queue.
 * Rule: added in DAT 2.0; older libdat2.so.2 did not export it.
 */
DAT_EXPORT DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle,
				      DAT_EVD_HANDLE *evd_handle);
#endif

/*
 * Additions of this implementation, not part of DAT
 */

/*
 * dat_error_detail - why the last DAT call that failed on this thread failed.
 *
 * Returns: text for people, never NULL; "" when there is no reason to tell.
 *   Valid until the next DAT call that fails on this thread; do not free.
 * Blocks: no. Threads: safe, each thread has its own. Events: none.
 * Rule: of this implementation; other libraries do not export it.
 */
DAT_EXPORT const char *dat_error_detail(void);

#ifdef __cplusplus
}
#endif

/* Programs use the direct-call macros without another #include. */
#include <dat2/udat_redirection.h>

#endif /* DAT2_UDAT_H */
