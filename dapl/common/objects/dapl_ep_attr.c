/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_attr.c - attributes of an endpoint: defaults, checks against the
 * device, query, modify and status.
 *
 * Defaults for a missing attribute structure are those that programs know:
 * 16 receives, 16 requests, 4 reads each way, cut to what the device has. But
 * for the segments: 4 are known, yet the historic dapltest posts 8 without
 * having asked for them, which went well where the device gave more.
 */
#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/objects/dapl_ep_calls.h"
#include "dapl/common/objects/dapl_ia_calls.h"
#include "dapl/common/transfer/dapl_completion.h"

#define DEFAULT_DTOS 16
#define DEFAULT_IOV  8
#define DEFAULT_READ 4

static DAT_COUNT at_most(DAT_COUNT wish, DAT_COUNT limit)
{
	return wish < limit ? wish : limit;
}

static DAT_IA_ATTR ia_limits(struct dapl_ia *ia)
{
	DAT_IA_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	dapl_ia_attr_fill(ia, &attr);
	return attr;
}

static void attr_defaults(const DAT_IA_ATTR *limits, bool recv_evd,
			  bool request_evd, DAT_EP_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->max_message_size = limits->max_message_size;
	attr->max_rdma_size = limits->max_rdma_size;
	attr->qos = DAT_QOS_BEST_EFFORT;
	attr->recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr->request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	if (recv_evd) {
		attr->max_recv_dtos =
			at_most(DEFAULT_DTOS, limits->max_dto_per_ep);
		attr->max_recv_iov =
			at_most(DEFAULT_IOV, limits->max_iov_segments_per_dto);
	}
	if (request_evd) {
		attr->max_request_dtos =
			at_most(DEFAULT_DTOS, limits->max_dto_per_ep);
		attr->max_request_iov =
			at_most(DEFAULT_IOV, limits->max_iov_segments_per_dto);
	}
	attr->max_rdma_read_in =
		at_most(DEFAULT_READ, limits->max_rdma_read_per_ep_in);
	attr->max_rdma_read_out =
		at_most(DEFAULT_READ, limits->max_rdma_read_per_ep_out);
	attr->srq_soft_hw = DAT_HW_DEFAULT;
	attr->max_rdma_read_iov =
		at_most(DEFAULT_IOV, limits->max_iov_segments_per_rdma_read);
	attr->max_rdma_write_iov =
		at_most(DEFAULT_IOV, limits->max_iov_segments_per_rdma_write);
}

/* Depth and segments of a queue must fit to there being an EVD for it. */
static bool queue_fits(bool evd, DAT_COUNT dtos, DAT_COUNT iov, bool request)
{
	if (dtos < 0 || iov < 0)
		return false;
	if (!evd)
		return dtos == 0 && (iov == 0 || !request);
	return dtos > 0 && (iov > 0 || request);
}

static DAT_RETURN check_limits(struct dapl_ia *ia, const DAT_EP_ATTR *attr,
			       const DAT_IA_ATTR *limits, DAT_RETURN bad)
{
	const struct {
		const char *what;
		long long wish, limit;
	} rows[] = {
		{"max_message_size", attr->max_message_size,
		 limits->max_message_size},
		{"max_rdma_size", attr->max_rdma_size, limits->max_rdma_size},
		{"max_recv_dtos", attr->max_recv_dtos, limits->max_dto_per_ep},
		{"max_request_dtos", attr->max_request_dtos,
		 limits->max_dto_per_ep},
		{"max_recv_iov", attr->max_recv_iov,
		 limits->max_iov_segments_per_dto},
		{"max_request_iov", attr->max_request_iov,
		 limits->max_iov_segments_per_dto},
		{"max_rdma_read_in", attr->max_rdma_read_in,
		 limits->max_rdma_read_per_ep_in},
		{"max_rdma_read_out", attr->max_rdma_read_out,
		 limits->max_rdma_read_per_ep_out},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].wish > rows[i].limit || rows[i].wish < 0)
			return dapl_fail(bad,
					 "ep: %s %lld is not within the limit "
					 "of %s, %lld",
					 rows[i].what, rows[i].wish,
					 ia->dev.name, rows[i].limit);
	return DAT_SUCCESS;
}

static bool is_ud(const DAT_EP_ATTR *attr)
{
	return (int)attr->service_type == (int)DAT_IB_SERVICE_TYPE_UD;
}

DAT_RETURN dapl_ep_attr_check(struct dapl_ia *ia, const DAT_EP_ATTR *attr,
			      bool recv_evd, bool request_evd, bool srq,
			      DAT_EP_ATTR *ret_attr)
{
	DAT_IA_ATTR limits = ia_limits(ia);
	/* The call with an SRQ has one argument more before the attributes. */
	DAT_RETURN bad = srq ? DAPL_BAD_ARG(7) : DAPL_BAD_ARG(6);

	if (!attr) {
		attr_defaults(&limits, recv_evd, request_evd, ret_attr);
		return DAT_SUCCESS;
	}
	/* As it has always been refused, before it is looked at. */
	if ((uintptr_t)attr & 3)
		return dapl_fail(bad,
				 "ep: attributes at %p: no structure is there, "
				 "since none begins in the middle of a word",
				 (const void *)attr);
	if (attr->service_type != DAT_SERVICE_TYPE_RC &&
	    (!is_ud(attr) || !dapl_ia_has_datagrams(ia)))
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "ep: %s has no endpoints of service type %d "
				 "on %s",
				 ia->prov->ops->name, (int)attr->service_type,
				 ia->dev.name);
	if (is_ud(attr))
		limits.max_message_size = ia->dev.mtu;
	if (attr->recv_completion_flags & DAT_COMPLETION_SUPPRESS_FLAG)
		return dapl_fail(bad, "ep: completions of receives cannot be "
				      "suppressed");
	if (!srq && !queue_fits(recv_evd, attr->max_recv_dtos,
				attr->max_recv_iov, false))
		return dapl_fail(bad,
				 "ep: %d receives of %d segments do not fit to "
				 "%s receive EVD",
				 attr->max_recv_dtos, attr->max_recv_iov,
				 recv_evd ? "a" : "no");
	if (!queue_fits(request_evd, attr->max_request_dtos,
			attr->max_request_iov, true))
		return dapl_fail(bad,
				 "ep: %d requests of %d segments do not fit to "
				 "%s request EVD",
				 attr->max_request_dtos, attr->max_request_iov,
				 request_evd ? "a" : "no");
	*ret_attr = *attr;
	/* MPI libraries leave it as it was on their stack. */
	ret_attr->qos = DAT_QOS_BEST_EFFORT;
	return check_limits(ia, attr, &limits, bad);
}

DAT_RETURN dapl_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask,
			 DAT_EP_PARAM *ret_param)
{
	struct dapl_ep *ep = dapl_ep_from(handle);

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	/* Programs ask with 0xffff. */
	if (!(mask & DAT_EP_FIELD_ALL))
		return DAT_SUCCESS;
	memset(ret_param, 0, sizeof(*ret_param));
	ret_param->ia_handle = dapl_obj_ia_handle(&ep->obj);
	dapl_lock(&ep->lock);
	ret_param->ep_state = (DAT_EP_STATE)ep->qp.state;
	ret_param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->obj.ia->addr;
	ret_param->local_port_qual = ep->local_port;
	/* Never NULL: old programs read the address of a peer without asking
	 * whether there is one, and find no family. */
	ret_param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->remote_addr;
	ret_param->remote_port_qual = ep->remote_port;
	ret_param->pz_handle = (DAT_PZ_HANDLE)ep->qp.pz;
	ret_param->recv_evd_handle = (DAT_EVD_HANDLE)ep->qp.recv_evd;
	ret_param->request_evd_handle = (DAT_EVD_HANDLE)ep->qp.request_evd;
	ret_param->connect_evd_handle = (DAT_EVD_HANDLE)ep->conn_evd;
	ret_param->srq_handle = (DAT_SRQ_HANDLE)ep->qp.srq;
	ret_param->ep_attr = ep->qp.attr;
	dapl_unlock(&ep->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *ret_state,
			      DAT_BOOLEAN *ret_recv_idle,
			      DAT_BOOLEAN *ret_request_idle)
{
	struct dapl_ep *ep = dapl_ep_from(handle);

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (ret_state)
		*ret_state = (DAT_EP_STATE)__atomic_load_n(&ep->qp.state,
							   __ATOMIC_RELAXED);
	if (ret_recv_idle)
		*ret_recv_idle = ep->qp.rq && dapl_wq_used(ep->qp.rq)
					 ? DAT_FALSE
					 : DAT_TRUE;
	if (ret_request_idle)
		*ret_request_idle =
			dapl_completion_idle(&ep->qp) ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *ret_allocated,
			      DAT_COUNT *ret_span)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	DAT_COUNT used = DAT_VALUE_UNKNOWN;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	/*
	 * Buffers of a reliable queue pair complete in order, so those between
	 * the oldest and the newest are exactly the outstanding ones. From an
	 * SRQ the device takes buffers without telling us.
	 */
	if (!ep->qp.srq)
		used = ep->qp.rq ? (DAT_COUNT)dapl_wq_used(ep->qp.rq) : 0;
	if (ret_allocated)
		*ret_allocated = used;
	if (ret_span)
		*ret_span = used;
	return DAT_SUCCESS;
}

/*
 * Marks on how many receive buffers the endpoint holds. Verbs does not tell
 * when a queue pair takes a buffer from an SRQ, and without an SRQ the
 * consumer posts each one itself, so there is nothing to count.
 */
DAT_RETURN dapl_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft,
				 DAT_COUNT hard)
{
	struct dapl_ep *ep = dapl_ep_from(handle);

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (soft < DAT_WATERMARK_INFINITE || hard < DAT_WATERMARK_INFINITE)
		return dapl_fail(soft < DAT_WATERMARK_INFINITE
					 ? DAPL_BAD_ARG(2)
					 : DAPL_BAD_ARG(3),
				 "watermarks %d and %d", soft, hard);
	if (soft != DAT_WATERMARK_INFINITE || hard != DAT_WATERMARK_INFINITE)
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "ep %p: %s does not tell how many buffers an "
				 "endpoint holds",
				 (void *)ep, ep->obj.ia->dev.name);
	return DAT_SUCCESS;
}

/* ------------------------------------------------ modify */

#define MODIFY_NEVER                                                          \
	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE |                     \
	 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL |   \
	 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL | \
	 DAT_EP_FIELD_SRQ_HANDLE)

/* Only in UNCONNECTED. */
#define MODIFY_SPECIFIC                                 \
	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |      \
	 DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
	 DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |       \
	 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

/* Copies the attributes that MASK names. */
static void attr_merge(DAT_EP_ATTR *attr, DAT_EP_PARAM_MASK mask,
		       const DAT_EP_ATTR *from)
{
#define MERGE(bit, field)                              \
	do {                                           \
		if (mask & DAT_EP_FIELD_EP_ATTR_##bit) \
			attr->field = from->field;     \
	} while (0)
	MERGE(SERVICE_TYPE, service_type);
	MERGE(MAX_MESSAGE_SIZE, max_message_size);
	MERGE(MAX_RDMA_SIZE, max_rdma_size);
	MERGE(QOS, qos);
	MERGE(RECV_COMPLETION_FLAGS, recv_completion_flags);
	MERGE(REQUEST_COMPLETION_FLAGS, request_completion_flags);
	MERGE(MAX_RECV_DTOS, max_recv_dtos);
	MERGE(MAX_REQUEST_DTOS, max_request_dtos);
	MERGE(MAX_RECV_IOV, max_recv_iov);
	MERGE(MAX_REQUEST_IOV, max_request_iov);
	MERGE(MAX_RDMA_READ_IN, max_rdma_read_in);
	MERGE(MAX_RDMA_READ_OUT, max_rdma_read_out);
	MERGE(SRQ_SOFT_HW, srq_soft_hw);
	MERGE(MAX_RDMA_READ_IOV, max_rdma_read_iov);
	MERGE(MAX_RDMA_WRITE_IOV, max_rdma_write_iov);
	MERGE(NUM_TRANSPORT_ATTR, ep_transport_specific_count);
	MERGE(TRANSPORT_SPECIFIC_ATTR, ep_transport_specific);
	MERGE(NUM_PROVIDER_ATTR, ep_provider_specific_count);
	MERGE(PROVIDER_SPECIFIC_ATTR, ep_provider_specific);
#undef MERGE
}

/* What an endpoint in STATE lets be changed, where it is not all refused. */
static DAT_EP_PARAM_MASK modifiable(int state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return DAT_EP_FIELD_ALL;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return DAT_EP_FIELD_ALL & ~MODIFY_SPECIFIC;
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return DAT_EP_FIELD_ALL &
		       ~(MODIFY_SPECIFIC | DAT_EP_FIELD_PZ_HANDLE);
	default:
		return 0;
	}
}

/*
 * A queue that was 0 deep for want of an EVD gets the defaults with its EVD,
 * unless the consumer names its depth. An endpoint that the provider made has
 * no other way to them.
 */
static void depth_defaults(struct dapl_ep *ep, DAT_EP_PARAM_MASK mask,
			   struct dapl_ep_new_parts *wish)
{
	DAT_IA_ATTR limits = ia_limits(ep->obj.ia);
	DAT_EP_ATTR *attr = &wish->attr, def;

	attr_defaults(&limits, true, true, &def);
	if (wish->recv_evd != DAT_HANDLE_NULL && !ep->qp.recv_evd) {
		if (!(mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS) &&
		    !attr->max_recv_dtos)
			attr->max_recv_dtos = def.max_recv_dtos;
		if (!(mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV) &&
		    !attr->max_recv_iov)
			attr->max_recv_iov = def.max_recv_iov;
	}
	if (wish->request_evd != DAT_HANDLE_NULL && !ep->qp.request_evd) {
		if (!(mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS) &&
		    !attr->max_request_dtos)
			attr->max_request_dtos = def.max_request_dtos;
		if (!(mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV) &&
		    !attr->max_request_iov)
			attr->max_request_iov = def.max_request_iov;
	}
}

static DAT_RETURN check_modify(const struct dapl_ep *ep, DAT_EP_PARAM_MASK mask,
			       const DAT_EP_PARAM *param)
{
	if (mask & (MODIFY_NEVER | ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_ALL))
		return dapl_fail(DAPL_BAD_ARG(2),
				 "ep %p: mask 0x%llx names what cannot be "
				 "modified",
				 (const void *)ep, (unsigned long long)mask);
	if (!param)
		return dapl_fail(DAPL_BAD_ARG(3), "no parameters");
	return DAT_SUCCESS;
}

static bool is_new_and_bad(DAT_COUNT is, DAT_COUNT wish, DAT_COUNT limit)
{
	return wish != is && (wish < 0 || wish > limit);
}

/* At creation these are not looked at: programs leave what was there. */
static DAT_RETURN check_rdma_iov(const struct dapl_ep *ep,
				 const DAT_EP_ATTR *wish)
{
	DAT_IA_ATTR limits = ia_limits(ep->obj.ia);
	const DAT_EP_ATTR *is = &ep->qp.attr;

	if (is_new_and_bad(is->max_rdma_read_iov, wish->max_rdma_read_iov,
			   limits.max_iov_segments_per_rdma_read))
		return dapl_fail(DAPL_BAD_ARG(3),
				 "ep %p: %d segments of a read, but %s has %d",
				 (const void *)ep, wish->max_rdma_read_iov,
				 ep->obj.ia->dev.name,
				 limits.max_iov_segments_per_rdma_read);
	if (is_new_and_bad(is->max_rdma_write_iov, wish->max_rdma_write_iov,
			   limits.max_iov_segments_per_rdma_write))
		return dapl_fail(DAPL_BAD_ARG(3),
				 "ep %p: %d segments of a write, but %s has %d",
				 (const void *)ep, wish->max_rdma_write_iov,
				 ep->obj.ia->dev.name,
				 limits.max_iov_segments_per_rdma_write);
	return DAT_SUCCESS;
}

/* What EP is made of stays the same meanwhile: nobody else modifies it. */
static DAT_RETURN modify(struct dapl_ep *ep, DAT_EP_PARAM_MASK mask,
			 const DAT_EP_PARAM *param)
{
	struct dapl_ep_new_parts wish;
	DAT_RETURN ret;

	wish.attr = ep->qp.attr;
	attr_merge(&wish.attr, mask, &param->ep_attr);
	ret = check_rdma_iov(ep, &wish.attr);
	if (ret != DAT_SUCCESS)
		return ret;
	wish.pz = mask & DAT_EP_FIELD_PZ_HANDLE ? param->pz_handle
						: (DAT_PZ_HANDLE)ep->qp.pz;
	wish.recv_evd = mask & DAT_EP_FIELD_RECV_EVD_HANDLE
				? param->recv_evd_handle
				: (DAT_EVD_HANDLE)ep->qp.recv_evd;
	wish.request_evd = mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE
				   ? param->request_evd_handle
				   : (DAT_EVD_HANDLE)ep->qp.request_evd;
	wish.conn_evd = mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE
				? param->connect_evd_handle
				: (DAT_EVD_HANDLE)ep->conn_evd;
	depth_defaults(ep, mask, &wish);
	return dapl_ep_rebuild(ep, &wish);
}

DAT_RETURN dapl_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask,
			  const DAT_EP_PARAM *param)
{
	struct dapl_ep *ep = dapl_ep_from(handle);
	DAT_RETURN ret;
	int state;

	if (!ep)
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	ret = check_modify(ep, mask, param);
	if (ret == DAT_SUCCESS)
		ret = dapl_ep_modify_begin(ep, &state);
	if (ret != DAT_SUCCESS)
		return ret;
	if (mask & ~modifiable(state))
		ret = dapl_qp_bad_state(&ep->qp, state, "dat_ep_modify");
	else if (mask)
		ret = modify(ep, mask, param);
	dapl_ep_modified(ep);
	return ret;
}
