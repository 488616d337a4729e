/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ia_query.c - what an IA is able to do: dat_ia_query() and the named
 * attributes.
 *
 * Every field is written, and true for the device. Programs look the named
 * attributes up by name; names and values are part of the ABI.
 */
#include "dapl/common/objects/dapl_ia_calls.h"

#include <arpa/inet.h>
#include <dat2/dat_ib_extensions.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "dapl/common/cm/base/dapl_cm.h"

#define PROVIDER_VERSION_MAJOR 2
#define PROVIDER_VERSION_MINOR 0
#define OPTIMAL_ALIGNMENT      256

static DAT_COUNT count(long long n)
{
	return n > INT_MAX ? INT_MAX : n < 0 ? 0 : (DAT_COUNT)n;
}

static DAT_UINT32 size32(unsigned long long n)
{
	return n > UINT32_MAX ? UINT32_MAX : (DAT_UINT32)n;
}

bool dapl_ia_has_datagrams(const struct dapl_ia *ia)
{
	return ia->prov->ops->datagrams && ia->dev.datagrams;
}

/* Who has datagrams has immediate data, too. */
static bool is_extended(const struct dapl_ia *ia)
{
	return ia->dev.immediate || ia->dev.atomics;
}

void dapl_ia_attr_fill(struct dapl_ia *ia, DAT_IA_ATTR *attr)
{
	const struct ibv_device_attr *dev = &ia->dev.attr;
	DAT_COUNT sge = count(dev->max_sge);
	DAT_COUNT dtos = count(dev->max_qp_wr);

	if (ia->params.wr_max > 0 && ia->params.wr_max < dtos)
		dtos = ia->params.wr_max;
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->adapter_name, sizeof(attr->adapter_name), "%s",
		 ia->dev.name);
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "0x%06x",
		 dev->vendor_id);
	attr->hardware_version_major = dev->hw_ver;
	sscanf(dev->fw_ver, "%u.%u", &attr->firmware_version_major,
	       &attr->firmware_version_minor);
	attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->addr;
	attr->max_eps = count(dev->max_qp);
	attr->max_dto_per_ep = dtos;
	attr->max_rdma_read_per_ep_in = count(dev->max_qp_rd_atom);
	attr->max_rdma_read_per_ep_out = count(dev->max_qp_init_rd_atom);
	attr->max_evds = count(dev->max_cq);
	attr->max_evd_qlen = count(dev->max_cqe);
	attr->max_iov_segments_per_dto = sge;
	attr->max_lmrs = count(dev->max_mr);
	attr->max_lmr_block_size = size32(dev->max_mr_size);
	attr->max_lmr_virtual_address = dev->max_mr_size;
	attr->max_pzs = count(dev->max_pd);
	attr->max_message_size = size32(ia->dev.port_attr.max_msg_sz);
	attr->max_rdma_size = size32(ia->dev.port_attr.max_msg_sz);
	attr->max_rmrs = count(dev->max_mw);
	attr->max_rmr_target_address = dev->max_mr_size;
	attr->max_srqs = count(dev->max_srq);
	attr->max_ep_per_srq = dev->max_srq ? count(dev->max_qp) : 0;
	attr->max_recv_per_srq = count(dev->max_srq_wr);
	attr->max_iov_segments_per_rdma_read = count(ia->dev.max_read_sge);
	attr->max_iov_segments_per_rdma_write = sge;
	attr->max_rdma_read_in = attr->max_rdma_read_per_ep_in;
	attr->max_rdma_read_out = attr->max_rdma_read_per_ep_out;
	attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
	attr->zb_supported = ia->dev.zero_based ? DAT_TRUE : DAT_FALSE;
	attr->extension_supported =
		is_extended(ia) ? DAT_EXTENSION_IB : DAT_EXTENSION_NONE;
	attr->extension_version = DAT_IB_EXTENSION_VERSION;
}

static void merging_fill(DAT_PROVIDER_ATTR *attr)
{
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++)
			attr->evd_stream_merging_supported[i][j] = DAT_TRUE;
}

static DAT_COMPLETION_FLAGS completion_flags(const struct vb_dev *dev)
{
	int flags = DAT_COMPLETION_SUPPRESS_FLAG |
		    DAT_COMPLETION_UNSIGNALLED_FLAG |
		    DAT_COMPLETION_BARRIER_FENCE_FLAG |
		    DAT_COMPLETION_EVD_THRESHOLD_FLAG;

	if (!dev->ignores_solicited)
		flags |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	return (DAT_COMPLETION_FLAGS)flags;
}

static void provider_attr_fill(struct dapl_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->provider_name, sizeof(attr->provider_name), "%s",
		 ia->prov->info.ia_name);
	attr->provider_version_major = PROVIDER_VERSION_MAJOR;
	attr->provider_version_minor = PROVIDER_VERSION_MINOR;
	/* A registry finds the provider again by what it registered with. */
	attr->dapl_version_major = ia->prov->info.dapl_version_major;
	attr->dapl_version_minor = ia->prov->info.dapl_version_minor;
	attr->is_thread_safe = ia->prov->info.is_thread_safe;
	attr->lmr_mem_types_supported =
		(DAT_MEM_TYPE)(DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
			       DAT_MEM_TYPE_SHARED_VIRTUAL);
	attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
	attr->dat_qos_supported = DAT_QOS_BEST_EFFORT;
	attr->completion_flags_supported = completion_flags(&ia->dev);
	attr->max_private_data_size =
		count((long long)ia->cm->ops->max_pdata(ia->cm));
	attr->supports_multipath = DAT_FALSE;
	attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	attr->pz_support = DAT_PZ_UNIQUE;
	attr->optimal_buffer_alignment = OPTIMAL_ALIGNMENT;
	merging_fill(attr);
	attr->srq_supported = ia->dev.attr.max_srq ? DAT_TRUE : DAT_FALSE;
	attr->srq_watermarks_supported = 0;
	attr->srq_ep_pz_difference_supported = DAT_FALSE;
	attr->srq_info_supported = 0;
	attr->ep_recv_info_supported = 0;
	attr->lmr_sync_req = DAT_FALSE;
	attr->dto_async_return_guaranteed = DAT_FALSE;
	attr->rdma_write_for_rdma_read_req =
		ia->dev.read_writes ? DAT_TRUE : DAT_FALSE;
	attr->rdma_read_lmr_rmr_context_exposure =
		ia->dev.read_writes ? DAT_TRUE : DAT_FALSE;
	attr->rmr_scope_supported = DAT_RMR_SCOPE_PZ;
	attr->is_signal_safe = DAT_FALSE;
	attr->ha_supported = DAT_FALSE;
	attr->num_provider_specific_attr = ia->named_count;
	attr->provider_specific_attr = ia->named;
}

static void named(struct dapl_ia *ia, const char *name, const char *value)
{
	int i = ia->named_count++;

	snprintf(ia->named_text[i], sizeof(ia->named_text[i]), "%s", value);
	ia->named[i].name = name;
	ia->named[i].value = ia->named_text[i];
}

static const char *port_state(enum ibv_port_state state)
{
	static const char *const names[] = {
		[IBV_PORT_NOP] = "NOP",	      [IBV_PORT_DOWN] = "DOWN",
		[IBV_PORT_INIT] = "INIT",     [IBV_PORT_ARMED] = "ARMED",
		[IBV_PORT_ACTIVE] = "ACTIVE", [IBV_PORT_ACTIVE_DEFER] = "DEFER",
	};

	return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state]
								: "UNKNOWN";
}

void dapl_ia_named_attrs(struct dapl_ia *ia)
{
	const struct ibv_device_attr *dev = &ia->dev.attr;
	const char *atomic = ia->dev.atomics ? "TRUE" : "FALSE";
	uint64_t guid = be64toh(dev->node_guid);
	union ibv_gid gid = {{0}};
	char text[64];

	ia->named_count = 0;
	named(ia, "DAT_IB_PROVIDER_NAME", ia->prov->ops->name);
	named(ia, "DAT_IB_DEVICE_NAME", ia->dev.name);
	named(ia, "DAT_IB_CONNECTIVITY_MODE", "DIRECT");
	named(ia, "DAT_IB_RDMA_READ", "TRUE");
	snprintf(text, sizeof(text), "%04x:%04x:%04x:%04x",
		 (unsigned)(guid >> 48), (unsigned)(guid >> 32 & 0xffff),
		 (unsigned)(guid >> 16 & 0xffff), (unsigned)(guid & 0xffff));
	named(ia, "DAT_IB_NODE_GUID", text);
	if (vb_gid_get(&ia->dev, 0, &gid))
		memset(&gid, 0, sizeof(gid));
	for (int i = 0, n = 0; i < 16; i += 2)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%02x%02x",
			      i ? ":" : "", gid.raw[i], gid.raw[i + 1]);
	named(ia, "DAT_IB_GID", text);
	snprintf(text, sizeof(text), "%d", (int)ia->dev.mtu);
	named(ia, "DAT_IB_TRANSPORT_MTU", text);
	named(ia, "DAT_IB_PORT_STATUS", port_state(ia->dev.port_attr.state));
	snprintf(text, sizeof(text), "%u", ia->dev.port);
	named(ia, "DAT_IB_PORT_NUMBER", text);
	/* From here on of extensions: programs of 1.2 see what is before. */
	named(ia, "DAT_EXTENSION_INTERFACE",
	      is_extended(ia) ? "TRUE" : "FALSE");
	named(ia, "DAT_IB_FETCH_AND_ADD", atomic);
	named(ia, "DAT_IB_CMP_AND_SWAP", atomic);
	named(ia, "DAT_COUNTERS", "TRUE");
	named(ia, "DAT_IB_IMMED_DATA", ia->dev.immediate ? "TRUE" : "FALSE");
	/* Old ones say it where the connection manager has them. */
	if (ia->prov->ops->datagrams)
		named(ia, "DAT_IB_UD",
		      dapl_ia_has_datagrams(ia) ? "TRUE" : "FALSE");
}

DAT_RETURN dapl_ia_tell(struct dapl_ia *ia, DAT_IA_ATTR_MASK ia_mask,
			DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK prov_mask,
			DAT_PROVIDER_ATTR *prov_attr)
{
	if (ia_mask & ~(DAT_IA_ATTR_MASK)DAT_IA_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(3), "unknown bits in mask 0x%llx",
				 (unsigned long long)ia_mask);
	if (ia_mask && !ia_attr)
		return dapl_fail(DAPL_BAD_ARG(4), "no place for IA attributes");
	if (prov_mask & ~(DAT_PROVIDER_ATTR_MASK)DAT_PROVIDER_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(5), "unknown bits in mask 0x%llx",
				 (unsigned long long)prov_mask);
	if (prov_mask && !prov_attr)
		return dapl_fail(DAPL_BAD_ARG(6),
				 "no place for provider attributes");
	if (ia_mask)
		dapl_ia_attr_fill(ia, ia_attr);
	if (prov_mask)
		provider_attr_fill(ia, prov_attr);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			 DAT_PROVIDER_ATTR_MASK prov_mask,
			 DAT_PROVIDER_ATTR *prov_attr)
{
	struct dapl_ia *ia = dapl_ia_from(handle);
	DAT_RETURN ret;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	ret = dapl_ia_tell(ia, ia_mask, ia_attr, prov_mask, prov_attr);
	if (ret == DAT_SUCCESS && async_evd)
		*async_evd = (DAT_EVD_HANDLE)ia->async_evd;
	return ret;
}

DAT_RETURN dapl_ia_ha_related(DAT_IA_HANDLE handle, const DAT_NAME_PTR name,
			      DAT_BOOLEAN *ret_answer)
{
	struct dapl_ia *ia = dapl_ia_from(handle);
	const struct dapl_provider *other;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (!name)
		return dapl_fail(DAPL_BAD_ARG(2), "no name");
	if (!ret_answer)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the answer");
	other = dapl_provider_find(name);
	/* One address, one adapter: related when both mean the same one. */
	*ret_answer = other && !strcmp(other->ia_params, ia->prov->ia_params)
			      ? DAT_TRUE
			      : DAT_FALSE;
	return DAT_SUCCESS;
}
