/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c12.h - DAT 1.2 over the core, which speaks DAT 2.0: the structures that
 * differ, under names of their own, and the conversions.
 *
 * The two versions' headers name their types alike, so that no source can
 * include both. What is declared here is the memory of a 1.2 program; what has
 * the same layout in both versions (handles, most events, most parameters) is
 * passed through. An object is one object: its handle is the core's, and its
 * first word the 1.2 table that the program's libdat.so.1 calls through.
 *
 * Nothing is kept here, and no lock is taken: each call converts its
 * arguments, makes the core's call and converts what came back.
 * Layouts and values: test/abi/abi-1.2.tsv.
 */
#ifndef C12_H
#define C12_H

#include <dat2/dat_registry.h>
#include <dat2/udat.h>
#include <stddef.h>

/* ------------------------------------------------------------ structures */

struct c12_lmr_triplet {
	DAT_LMR_CONTEXT lmr_context;
	DAT_UINT32 pad;
	DAT_VADDR virtual_address;
	DAT_VLEN segment_length; /* bytes */
};

struct c12_rmr_triplet {
	DAT_RMR_CONTEXT rmr_context;
	DAT_UINT32 pad;
	DAT_VADDR target_address;
	DAT_VLEN segment_length; /* bytes */
};

struct c12_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	struct c12_lmr_triplet lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
};

struct c12_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};

struct c12_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_VLEN max_message_size;
	DAT_VLEN max_rdma_size;
	DAT_QOS qos;
	DAT_COMPLETION_FLAGS recv_completion_flags;
	DAT_COMPLETION_FLAGS request_completion_flags;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_request_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT max_request_iov;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_COUNT srq_soft_hw;
	DAT_COUNT max_rdma_read_iov;
	DAT_COUNT max_rdma_write_iov;
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
};

struct c12_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_PZ_HANDLE pz_handle;
	DAT_EVD_HANDLE recv_evd_handle;
	DAT_EVD_HANDLE request_evd_handle;
	DAT_EVD_HANDLE connect_evd_handle;
	DAT_SRQ_HANDLE srq_handle;
	struct c12_ep_attr ep_attr;
};

struct c12_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;
	DAT_COUNT max_reads_per_ep_in; /* of RDMA: dat.h has macros for these */
	DAT_COUNT max_reads_per_ep_out;
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_VLEN max_lmr_block_size;
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_VLEN max_message_size;
	DAT_VLEN max_rdma_size;
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
};

/* The members before are those of 2.0, at the same places. */
#define C12_PROVIDER_ATTR_SAME \
	offsetof(DAT_PROVIDER_ATTR, rdma_read_lmr_rmr_context_exposure)

struct c12_provider_attr {
	char same[C12_PROVIDER_ATTR_SAME];
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

struct c12_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_OS_WAIT_PROXY_AGENT agent;
};

struct c12_dto_event {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_VLEN transfered_length; /* bytes */
};

/* The largest of 1.2's events is this one. */
#define C12_EVENT_DATA sizeof(struct c12_dto_event)

struct c12_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle;
	union {
		struct c12_dto_event dto;
		char same[C12_EVENT_DATA];
	} data;
};

/* -------------------------------------------------------------- the table */

/*
 * The calls of 1.2 in its 70 slots, which are the first ones of 2.0's table;
 * the others are empty. What has other arguments than in 2.0 is cast.
 */
extern const DAT_PROVIDER c12_vector;

/* The table, and how it is made to count. */
extern const struct dapl_calls c12_table;
/* c12_post.c, c12_event.c: puts the calls of the data path that count. */
void c12_post_counted(DAT_PROVIDER *vector);
void c12_event_counted(DAT_PROVIDER *vector);

/* The core's function pointer type for CALL, which has other arguments. */
#define C12_AS(slot, call) \
	((__typeof__(((DAT_PROVIDER *)0)->slot##_func))(void (*)(void))(call))

/* ------------------------------------------------------------ return codes */

/* What 1.2 calls the error RET of 2.0. */
DAT_RETURN c12_error(DAT_RETURN ret);

static inline DAT_RETURN c12_ret(DAT_RETURN ret)
{
	return __builtin_expect(ret == DAT_SUCCESS, 1) ? ret : c12_error(ret);
}

/* The same; arguments FIRST to LAST of 2.0 stand BY places earlier here. */
DAT_RETURN c12_ret_moved(DAT_RETURN ret, int first, int last, int by);

/* ------------------------------------------------------------------ calls */

DAT_RETURN c12_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments,
			    struct c12_lmr_triplet *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags);
DAT_RETURN c12_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments,
			    struct c12_lmr_triplet *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags);
DAT_RETURN c12_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments,
				 struct c12_lmr_triplet *iov,
				 DAT_DTO_COOKIE cookie,
				 const struct c12_rmr_triplet *remote,
				 DAT_COMPLETION_FLAGS flags);
DAT_RETURN c12_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments,
				  struct c12_lmr_triplet *iov,
				  DAT_DTO_COOKIE cookie,
				  const struct c12_rmr_triplet *remote,
				  DAT_COMPLETION_FLAGS flags);
DAT_RETURN c12_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT segments,
			     struct c12_lmr_triplet *iov,
			     DAT_DTO_COOKIE cookie);
DAT_RETURN c12_lmr_sync_rdma_read(DAT_IA_HANDLE ia,
				  const struct c12_lmr_triplet *segments,
				  DAT_VLEN count);
DAT_RETURN c12_lmr_sync_rdma_write(DAT_IA_HANDLE ia,
				   const struct c12_lmr_triplet *segments,
				   DAT_VLEN count);
DAT_RETURN c12_rmr_bind(DAT_RMR_HANDLE rmr,
			const struct c12_lmr_triplet *segment,
			DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *ret_context);

DAT_RETURN c12_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, struct c12_event *event,
			DAT_COUNT *nmore);
DAT_RETURN c12_evd_dequeue(DAT_EVD_HANDLE evd, struct c12_event *event);
DAT_RETURN c12_evd_post_se(DAT_EVD_HANDLE evd, const struct c12_event *event);

DAT_RETURN c12_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
			DAT_IA_ATTR_MASK ia_mask, struct c12_ia_attr *ia_attr,
			DAT_PROVIDER_ATTR_MASK prov_mask,
			struct c12_provider_attr *prov_attr);
DAT_RETURN c12_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			 DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			 DAT_EVD_HANDLE connect_evd,
			 const struct c12_ep_attr *attr, DAT_EP_HANDLE *ret_ep);
DAT_RETURN
c12_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
		       DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
		       DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
		       const struct c12_ep_attr *attr, DAT_EP_HANDLE *ret_ep);
DAT_RETURN c12_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			struct c12_ep_param *ret_param);
DAT_RETURN c12_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			 const struct c12_ep_param *param);
DAT_RETURN c12_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask,
			 struct c12_lmr_param *ret_param);
DAT_RETURN c12_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask,
			 struct c12_rmr_param *ret_param);
DAT_RETURN c12_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask,
			 DAT_SRQ_PARAM *ret_param);
DAT_RETURN c12_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask,
			 struct c12_cno_param *ret_param);

#endif
