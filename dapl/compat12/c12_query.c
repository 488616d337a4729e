/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c12_query.c - attributes and parameters, whose members moved or changed their
 * size between the versions, and the masks that name them.
 *
 * The core fills structures of its own kind on the stack: those of a 1.2
 * program may be smaller. Whatever the mask says, all members are written, as
 * the core does. Sizes of 64 bits that the core has 32 for are refused here:
 * the adapter's limit may be all 32 ones, and a smaller endpoint is not what
 * was asked for.
 */
#include <string.h>

#include "dapl/common/event/dapl_cno.h"
#include "dapl/common/objects/dapl_ep_calls.h"
#include "dapl/common/objects/dapl_ia_calls.h"
#include "dapl/common/objects/dapl_lmr.h"
#include "dapl/common/objects/dapl_rmr.h"
#include "dapl/common/objects/dapl_srq.h"
#include "dapl/common/plugin/dapl_calls.h"
#include "dapl/compat12/c12.h"

/* Where old programs are known: those of 32 bits only agree with their headers.
 */
#if __SIZEOF_POINTER__ == 8
_Static_assert(sizeof(struct c12_ia_attr) == 688, "of 1.2");
_Static_assert(sizeof(struct c12_provider_attr) == 504, "of 1.2");
_Static_assert(sizeof(struct c12_ep_attr) == 104, "of 1.2");
_Static_assert(sizeof(struct c12_ep_param) == 192, "of 1.2");
_Static_assert(sizeof(struct c12_lmr_param) == 80, "of 1.2");
_Static_assert(sizeof(struct c12_rmr_param) == 48, "of 1.2");
_Static_assert(sizeof(struct c12_cno_param) == 24, "of 1.2");
_Static_assert(C12_PROVIDER_ATTR_SAME == 488,
	       "what 2.0 added to a provider's attributes");
#endif

/* The bits of FROM in MASK, moved up by BY places. */
#define MOVED(mask, from, by) (((mask) & (from)) << (by))

/* ------------------------------------------------------------- the adapter */

#define IA_SAME	   UINT64_C(0x7fffffff)
#define IA_MOVED   UINT64_C(0x780000000) /* 31 to 34: 34 to 37 in 2.0 */
#define PROV_SAME  UINT64_C(0xffffff)
#define PROV_MOVED UINT64_C(0x3000000) /* 24 and 25: 29 and 30 in 2.0 */

static void ia_attr_to_12(const DAT_IA_ATTR *from, struct c12_ia_attr *to)
{
	memset(to, 0, sizeof(*to));
	memcpy(to->adapter_name, from->adapter_name, sizeof(to->adapter_name));
	memcpy(to->vendor_name, from->vendor_name, sizeof(to->vendor_name));
	to->hardware_version_major = from->hardware_version_major;
	to->hardware_version_minor = from->hardware_version_minor;
	to->firmware_version_major = from->firmware_version_major;
	to->firmware_version_minor = from->firmware_version_minor;
	to->ia_address_ptr = from->ia_address_ptr;
	to->max_eps = from->max_eps;
	to->max_dto_per_ep = from->max_dto_per_ep;
	to->max_reads_per_ep_in = from->max_rdma_read_per_ep_in;
	to->max_reads_per_ep_out = from->max_rdma_read_per_ep_out;
	to->max_evds = from->max_evds;
	to->max_evd_qlen = from->max_evd_qlen;
	to->max_iov_segments_per_dto = from->max_iov_segments_per_dto;
	to->max_lmrs = from->max_lmrs;
	/* 2.0 says the most it can; how far addresses go has all bits. */
	to->max_lmr_block_size = from->max_lmr_block_size == UINT32_MAX
					 ? from->max_lmr_virtual_address
					 : from->max_lmr_block_size;
	to->max_lmr_virtual_address = from->max_lmr_virtual_address;
	to->max_pzs = from->max_pzs;
	to->max_message_size = from->max_message_size;
	to->max_rdma_size = from->max_rdma_size;
	to->max_rmrs = from->max_rmrs;
	to->max_rmr_target_address = from->max_rmr_target_address;
	to->max_srqs = from->max_srqs;
	to->max_ep_per_srq = from->max_ep_per_srq;
	to->max_recv_per_srq = from->max_recv_per_srq;
	to->max_iov_segments_per_rdma_read =
		from->max_iov_segments_per_rdma_read;
	to->max_iov_segments_per_rdma_write =
		from->max_iov_segments_per_rdma_write;
	to->max_rdma_read_in = from->max_rdma_read_in;
	to->max_rdma_read_out = from->max_rdma_read_out;
	to->max_rdma_read_per_ep_in_guaranteed =
		from->max_rdma_read_per_ep_in_guaranteed;
	to->max_rdma_read_per_ep_out_guaranteed =
		from->max_rdma_read_per_ep_out_guaranteed;
	to->num_transport_attr = from->num_transport_attr;
	to->transport_attr = from->transport_attr;
	to->num_vendor_attr = from->num_vendor_attr;
	to->vendor_attr = from->vendor_attr;
}

/* Of the names, those before the ones of extensions, which 1.2 does not have.
 */
static DAT_COUNT names_12(const DAT_PROVIDER_ATTR *attr)
{
	DAT_COUNT n = 0;

	while (n < attr->num_provider_specific_attr &&
	       strcmp(attr->provider_specific_attr[n].name,
		      "DAT_EXTENSION_INTERFACE") != 0)
		n++;
	return n;
}

DAT_RETURN c12_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
			DAT_IA_ATTR_MASK ia_mask, struct c12_ia_attr *ia_attr,
			DAT_PROVIDER_ATTR_MASK prov_mask,
			struct c12_provider_attr *prov_attr)
{
	DAT_PROVIDER_ATTR prov20 = {0};
	DAT_IA_ATTR ia20 = {0};
	DAT_RETURN ret;

	if (ia_mask & ~(IA_SAME | IA_MOVED))
		return c12_ret(dapl_fail(DAPL_BAD_ARG(3),
					 "unknown bits in mask 0x%llx",
					 (unsigned long long)ia_mask));
	if (prov_mask & ~(PROV_SAME | PROV_MOVED))
		return c12_ret(dapl_fail(DAPL_BAD_ARG(5),
					 "unknown bits in mask 0x%llx",
					 (unsigned long long)prov_mask));
	ret = dapl_ia_query(ia, async_evd,
			    (ia_mask & IA_SAME) | MOVED(ia_mask, IA_MOVED, 3),
			    ia_attr ? &ia20 : NULL,
			    (prov_mask & PROV_SAME) |
				    MOVED(prov_mask, PROV_MOVED, 5),
			    prov_attr ? &prov20 : NULL);
	if (ret != DAT_SUCCESS)
		return c12_ret(ret);
	if (ia_mask && ia_attr)
		ia_attr_to_12(&ia20, ia_attr);
	if (prov_mask && prov_attr) {
		memcpy(prov_attr->same, &prov20, sizeof(prov_attr->same));
		prov_attr->num_provider_specific_attr = names_12(&prov20);
		prov_attr->provider_specific_attr =
			prov20.provider_specific_attr;
	}
	return DAT_SUCCESS;
}

/* --------------------------------------------------------------- endpoints */

#define EP_SAME	 UINT64_C(0x7ffff003) /* handle, state, and the attributes */
#define EP_MOVED UINT64_C(0x7fc)      /* up by one, where 2.0 has the COMM */

static DAT_EP_PARAM_MASK ep_mask_20(DAT_EP_PARAM_MASK mask)
{
	return (mask & EP_SAME) | MOVED(mask, EP_MOVED, 1);
}

/* The members of both from qos on have the same names and types. */
#define EP_ATTR_COPY(to, from)                                               \
	do {                                                                 \
		(to)->service_type = (from)->service_type;                   \
		(to)->qos = (from)->qos;                                     \
		(to)->recv_completion_flags = (from)->recv_completion_flags; \
		(to)->request_completion_flags =                             \
			(from)->request_completion_flags;                    \
		(to)->max_recv_dtos = (from)->max_recv_dtos;                 \
		(to)->max_request_dtos = (from)->max_request_dtos;           \
		(to)->max_recv_iov = (from)->max_recv_iov;                   \
		(to)->max_request_iov = (from)->max_request_iov;             \
		(to)->max_rdma_read_in = (from)->max_rdma_read_in;           \
		(to)->max_rdma_read_out = (from)->max_rdma_read_out;         \
		(to)->srq_soft_hw = (from)->srq_soft_hw;                     \
		(to)->max_rdma_read_iov = (from)->max_rdma_read_iov;         \
		(to)->max_rdma_write_iov = (from)->max_rdma_write_iov;       \
		(to)->ep_transport_specific_count =                          \
			(from)->ep_transport_specific_count;                 \
		(to)->ep_transport_specific = (from)->ep_transport_specific; \
		(to)->ep_provider_specific_count =                           \
			(from)->ep_provider_specific_count;                  \
		(to)->ep_provider_specific = (from)->ep_provider_specific;   \
	} while (0)

/* Of what is not in MASK nobody looks at the result, nor at the attributes. */
static DAT_RETURN ep_attr_to_20(DAT_EP_PARAM_MASK mask,
				const struct c12_ep_attr *from,
				DAT_RETURN refused, DAT_EP_ATTR *to)
{
	DAT_VLEN most = 0;

	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE)
		most = from->max_message_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE &&
	    from->max_rdma_size > most)
		most = from->max_rdma_size;
	if (most > UINT32_MAX)
		return dapl_fail(refused,
				 "ep: no transfer has %llu bytes, verbs has 32 "
				 "bits for its length",
				 (unsigned long long)most);
	memset(to, 0, sizeof(*to));
	EP_ATTR_COPY(to, from);
	to->max_message_size = (DAT_SEG_LENGTH)from->max_message_size;
	to->max_rdma_size = (DAT_SEG_LENGTH)from->max_rdma_size;
	return DAT_SUCCESS;
}

static void ep_attr_to_12(const DAT_EP_ATTR *from, struct c12_ep_attr *to)
{
	memset(to, 0, sizeof(*to));
	EP_ATTR_COPY(to, from);
	to->max_message_size = from->max_message_size;
	to->max_rdma_size = from->max_rdma_size;
}

/* ATTR, in SPACE. What cannot be a structure is the core's to refuse. */
static DAT_RETURN ep_attr_20(const struct c12_ep_attr *attr, DAT_RETURN refused,
			     DAT_EP_ATTR *space, const DAT_EP_ATTR **ret_attr)
{
	*ret_attr = (const void *)attr;
	if (!attr || (uintptr_t)attr & 3)
		return DAT_SUCCESS;
	*ret_attr = space;
	return ep_attr_to_20(DAT_EP_FIELD_ALL, attr, refused, space);
}

DAT_RETURN c12_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			 DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			 DAT_EVD_HANDLE connect_evd,
			 const struct c12_ep_attr *attr, DAT_EP_HANDLE *ret_ep)
{
	const DAT_EP_ATTR *attr20;
	DAT_EP_ATTR space;
	DAT_RETURN ret;

	ret = ep_attr_20(attr, DAPL_BAD_ARG(6), &space, &attr20);
	if (ret != DAT_SUCCESS)
		return c12_ret(ret);
	return c12_ret(dapl__vector.ep_create_func(
		ia, pz, recv_evd, request_evd, connect_evd, attr20, ret_ep));
}

DAT_RETURN
c12_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
		       DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
		       DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
		       const struct c12_ep_attr *attr, DAT_EP_HANDLE *ret_ep)
{
	const DAT_EP_ATTR *attr20;
	DAT_EP_ATTR space;
	DAT_RETURN ret;

	ret = ep_attr_20(attr, DAPL_BAD_ARG(7), &space, &attr20);
	if (ret != DAT_SUCCESS)
		return c12_ret(ret);
	return c12_ret(dapl__vector.ep_create_with_srq_func(
		ia, pz, recv_evd, request_evd, connect_evd, srq, attr20,
		ret_ep));
}

DAT_RETURN c12_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			struct c12_ep_param *ret_param)
{
	DAT_EP_PARAM_MASK mask20 = ep_mask_20(mask);
	DAT_EP_PARAM param = {0};
	DAT_RETURN ret;

	ret = dapl_ep_query(ep, mask20, ret_param ? &param : NULL);
	if (ret != DAT_SUCCESS || !mask20 || !ret_param)
		return c12_ret(ret);
	ret_param->ia_handle = param.ia_handle;
	ret_param->ep_state = param.ep_state;
	ret_param->local_ia_address_ptr = param.local_ia_address_ptr;
	ret_param->local_port_qual = param.local_port_qual;
	ret_param->remote_ia_address_ptr = param.remote_ia_address_ptr;
	ret_param->remote_port_qual = param.remote_port_qual;
	ret_param->pz_handle = param.pz_handle;
	ret_param->recv_evd_handle = param.recv_evd_handle;
	ret_param->request_evd_handle = param.request_evd_handle;
	ret_param->connect_evd_handle = param.connect_evd_handle;
	ret_param->srq_handle = param.srq_handle;
	ep_attr_to_12(&param.ep_attr, &ret_param->ep_attr);
	return DAT_SUCCESS;
}

DAT_RETURN c12_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			 const struct c12_ep_param *param)
{
	DAT_EP_PARAM_MASK mask20 = ep_mask_20(mask);
	DAT_EP_PARAM param20 = {0};
	DAT_RETURN ret;

	if (!param)
		return c12_ret(dapl__vector.ep_modify_func(ep, mask20, NULL));
	param20.ia_handle = param->ia_handle;
	param20.ep_state = param->ep_state;
	param20.local_ia_address_ptr = param->local_ia_address_ptr;
	param20.local_port_qual = param->local_port_qual;
	param20.remote_ia_address_ptr = param->remote_ia_address_ptr;
	param20.remote_port_qual = param->remote_port_qual;
	param20.pz_handle = param->pz_handle;
	param20.recv_evd_handle = param->recv_evd_handle;
	param20.request_evd_handle = param->request_evd_handle;
	param20.connect_evd_handle = param->connect_evd_handle;
	param20.srq_handle = param->srq_handle;
	ret = ep_attr_to_20(mask20, &param->ep_attr, DAPL_BAD_ARG(3),
			    &param20.ep_attr);
	if (ret != DAT_SUCCESS)
		return c12_ret(ret);
	return c12_ret(dapl__vector.ep_modify_func(ep, mask20, &param20));
}

/* ---------------------------------------------- regions, windows and others */

#define LMR_SAME  0x3fu
#define LMR_MOVED 0x3c0u /* up by one, where 2.0 has the type of addresses */
#define RMR_SAME  0x1fu

DAT_RETURN c12_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask,
			 struct c12_lmr_param *ret_param)
{
	unsigned mask20 = ((unsigned)mask & LMR_SAME) |
			  MOVED((unsigned)mask, LMR_MOVED, 1);
	DAT_LMR_PARAM param = {0};
	DAT_RETURN ret;

	ret = dapl_lmr_query(lmr, (DAT_LMR_PARAM_MASK)mask20,
			     ret_param ? &param : NULL);
	if (ret != DAT_SUCCESS || !ret_param)
		return c12_ret(ret);
	*ret_param = (struct c12_lmr_param){
		.ia_handle = param.ia_handle,
		.mem_type = param.mem_type,
		.region_desc = param.region_desc,
		.length = param.length,
		.pz_handle = param.pz_handle,
		.mem_priv = param.mem_priv,
		.lmr_context = param.lmr_context,
		.rmr_context = param.rmr_context,
		.registered_size = param.registered_size,
		.registered_address = param.registered_address,
	};
	return DAT_SUCCESS;
}

DAT_RETURN c12_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask,
			 struct c12_rmr_param *ret_param)
{
	DAT_RMR_PARAM param = {0};
	DAT_RETURN ret;

	ret = dapl_rmr_query(rmr, (DAT_RMR_PARAM_MASK)(mask & RMR_SAME),
			     ret_param ? &param : NULL);
	if (ret != DAT_SUCCESS || !ret_param)
		return c12_ret(ret);
	*ret_param = (struct c12_rmr_param){
		.ia_handle = param.ia_handle,
		.pz_handle = param.pz_handle,
		.lmr_triplet =
			{
				.lmr_context = param.lmr_triplet.lmr_context,
				.virtual_address =
					param.lmr_triplet.virtual_address,
				.segment_length =
					param.lmr_triplet.segment_length,
			},
		.mem_priv = param.mem_priv,
		.rmr_context = param.rmr_context,
	};
	return DAT_SUCCESS;
}

/* In 1.2 OPERATIONAL is 0 and ERROR 1, which 2.0 has the other way round. */
DAT_RETURN c12_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask,
			 DAT_SRQ_PARAM *ret_param)
{
	DAT_RETURN ret = dapl_srq_query(srq, mask, ret_param);

	if (ret == DAT_SUCCESS)
		ret_param->srq_state =
			ret_param->srq_state == DAT_SRQ_STATE_OPERATIONAL
				? (DAT_SRQ_STATE)0
				: (DAT_SRQ_STATE)1;
	return c12_ret(ret);
}

DAT_RETURN c12_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask,
			 struct c12_cno_param *ret_param)
{
	DAT_CNO_PARAM param = {0};
	DAT_RETURN ret;

	ret = dapl_cno_query(cno,
			     mask ? DAT_CNO_FIELD_ALL : (DAT_CNO_PARAM_MASK)0,
			     ret_param ? &param : NULL);
	if (ret != DAT_SUCCESS || !ret_param)
		return c12_ret(ret);
	*ret_param = (struct c12_cno_param){.ia_handle = param.ia_handle};
	if (param.proxy_type == DAT_PROXY_TYPE_AGENT)
		ret_param->agent = param.proxy.agent;
	return DAT_SUCCESS;
}
