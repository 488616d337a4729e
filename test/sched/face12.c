/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * face12.c - what scenarios call, by the table of DAT 1.2; see the header.
 *
 * What has other arguments there is converted, the reverse of what the table
 * does. Queries, ep_modify, and what 1.2 does not have, stay VECTOR's: an
 * object is the same to both (dapl/compat12/c12.h).
 */
#include "test/sched/face12.h"

#include <string.h>

#include "dapl/compat12/c12.h"

#define SEGMENTS 16

typedef struct c12_lmr_triplet segments12[SEGMENTS];

static struct c12_lmr_triplet *local12(segments12 to,
				       const DAT_LMR_TRIPLET *from, DAT_COUNT n)
{
	for (DAT_COUNT i = 0; from && i < n && i < SEGMENTS; i++)
		to[i] = (struct c12_lmr_triplet){
			.lmr_context = from[i].lmr_context,
			.virtual_address = from[i].virtual_address,
			.segment_length = from[i].segment_length,
		};
	return from ? to : NULL;
}

static struct c12_rmr_triplet remote12(const DAT_RMR_TRIPLET *from)
{
	return (struct c12_rmr_triplet){
		.rmr_context = from->rmr_context,
		.target_address = from->virtual_address,
		.segment_length = from->segment_length,
	};
}

/* ------------------------------------------------------ events */

static DAT_RETURN gave(DAT_RETURN ret, const struct c12_event *from,
		       DAT_EVENT *to)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&to->event_data.dto_completion_event_data;

	if (ret != DAT_SUCCESS)
		return ret;
	memset(to, 0, sizeof(*to));
	to->event_number = from->event_number;
	to->evd_handle = from->evd_handle;
	memcpy(&to->event_data, &from->data, sizeof(from->data));
	if (from->event_number == DAT_DTO_COMPLETION_EVENT)
		dto->transfered_length =
			(DAT_SEG_LENGTH)from->data.dto.transfered_length;
	return ret;
}

static DAT_RETURN evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
			   DAT_COUNT threshold, DAT_EVENT *event,
			   DAT_COUNT *nmore)
{
	struct c12_event event12;

	return gave(c12_evd_wait(evd, timeout, threshold, &event12, nmore),
		    &event12, event);
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	struct c12_event event12;

	return gave(c12_evd_dequeue(evd, &event12), &event12, event);
}

static DAT_RETURN evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	struct c12_event event12 = {
		.event_number = event->event_number,
		.evd_handle = event->evd_handle,
	};

	memcpy(&event12.data, &event->event_data, sizeof(event12.data));
	return c12_evd_post_se(evd, &event12);
}

/* ------------------------------------------------------- posts */

static DAT_RETURN ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n,
			       DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			       DAT_COMPLETION_FLAGS flags)
{
	segments12 to;

	return c12_ep_post_send(ep, n, local12(to, iov, n), cookie, flags);
}

static DAT_RETURN ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n,
			       DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			       DAT_COMPLETION_FLAGS flags)
{
	segments12 to;

	return c12_ep_post_recv(ep, n, local12(to, iov, n), cookie, flags);
}

static DAT_RETURN ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n,
				    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote,
				    DAT_COMPLETION_FLAGS flags)
{
	struct c12_rmr_triplet from = remote12(remote);
	segments12 to;

	return c12_ep_post_rdma_read(ep, n, local12(to, iov, n), cookie, &from,
				     flags);
}

static DAT_RETURN ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n,
				     DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie,
				     const DAT_RMR_TRIPLET *remote,
				     DAT_COMPLETION_FLAGS flags)
{
	struct c12_rmr_triplet to = remote12(remote);
	segments12 from;

	return c12_ep_post_rdma_write(ep, n, local12(from, iov, n), cookie, &to,
				      flags);
}

static DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n,
				DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	segments12 to;

	return c12_srq_post_recv(srq, n, local12(to, iov, n), cookie);
}

/* The region is that of the segment's context. */
static DAT_RETURN rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
			   const DAT_LMR_TRIPLET *segment,
			   DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE type,
			   DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			   DAT_COMPLETION_FLAGS flags,
			   DAT_RMR_CONTEXT *ret_context)
{
	segments12 to;

	(void)lmr;
	(void)type;
	/* WORLD_PRIV_ALL has those of the extensions, too. */
	return c12_rmr_bind(rmr, local12(to, segment, 1),
			    (DAT_MEM_PRIV_FLAGS)(priv & DAT_MEM_PRIV_ALL_FLAG),
			    ep, cookie, flags, ret_context);
}

/* --------------------------------------------------- the others */

static DAT_RETURN cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size,
			    const DAT_PVOID data)
{
	(void)size;
	(void)data;
	return ((DAT_RETURN(*)(DAT_CR_HANDLE))(
			void (*)(void))c12_vector.cr_reject_func)(cr);
}

static const struct c12_ep_attr *attr12(struct c12_ep_attr *to,
					const DAT_EP_ATTR *from)
{
	if (!from)
		return NULL;
	*to = (struct c12_ep_attr){
		.service_type = from->service_type,
		.max_message_size = from->max_message_size,
		.max_rdma_size = from->max_rdma_size,
		.qos = from->qos,
		.recv_completion_flags = from->recv_completion_flags,
		.request_completion_flags = from->request_completion_flags,
		.max_recv_dtos = from->max_recv_dtos,
		.max_request_dtos = from->max_request_dtos,
		.max_recv_iov = from->max_recv_iov,
		.max_request_iov = from->max_request_iov,
		.max_rdma_read_in = from->max_rdma_read_in,
		.max_rdma_read_out = from->max_rdma_read_out,
		.srq_soft_hw = from->srq_soft_hw,
		.max_rdma_read_iov = from->max_rdma_read_iov,
		.max_rdma_write_iov = from->max_rdma_write_iov,
	};
	return to;
}

static DAT_RETURN ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			    DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE req_evd,
			    DAT_EVD_HANDLE conn_evd, const DAT_EP_ATTR *attr,
			    DAT_EP_HANDLE *ret_ep)
{
	struct c12_ep_attr to;

	return c12_ep_create(ia, pz, recv_evd, req_evd, conn_evd,
			     attr12(&to, attr), ret_ep);
}

static DAT_RETURN
ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
		   DAT_EVD_HANDLE req_evd, DAT_EVD_HANDLE conn_evd,
		   DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
		   DAT_EP_HANDLE *ret_ep)
{
	struct c12_ep_attr to;

	return c12_ep_create_with_srq(ia, pz, recv_evd, req_evd, conn_evd, srq,
				      attr12(&to, attr), ret_ep);
}

#define SAME(call)  v.call##_func = c12_vector.call##_func
#define OTHER(call) v.call##_func = call

/* What has the same arguments in both versions. */
static DAT_PROVIDER same(const DAT_PROVIDER *vector)
{
	DAT_PROVIDER v = *vector;

	SAME(ia_open), SAME(ia_close), SAME(get_handle_type);
	SAME(cno_create), SAME(cno_modify_agent), SAME(cno_free);
	SAME(cno_wait), SAME(cr_query), SAME(cr_accept);
	SAME(evd_create), SAME(evd_query), SAME(evd_modify_cno);
	SAME(evd_enable), SAME(evd_disable), SAME(evd_resize), SAME(evd_free);
	SAME(evd_set_unwaitable), SAME(evd_clear_unwaitable);
	SAME(ep_connect), SAME(ep_dup_connect), SAME(ep_disconnect);
	SAME(ep_get_status), SAME(ep_reset), SAME(ep_free);
	SAME(ep_recv_query), SAME(ep_set_watermark);
	SAME(lmr_free), SAME(rmr_create), SAME(rmr_free);
	SAME(psp_create), SAME(psp_create_any), SAME(psp_query), SAME(psp_free);
	SAME(rsp_create), SAME(rsp_query), SAME(rsp_free);
	SAME(pz_create), SAME(pz_query), SAME(pz_free);
	SAME(srq_create), SAME(srq_query), SAME(srq_resize), SAME(srq_free);
	SAME(srq_set_lw);
	return v;
}

const DAT_PROVIDER *face12(const DAT_PROVIDER *vector)
{
	static DAT_PROVIDER v;

	v = same(vector);
	OTHER(evd_wait), OTHER(evd_dequeue), OTHER(evd_post_se);
	OTHER(ep_post_send), OTHER(ep_post_recv), OTHER(ep_post_rdma_read);
	OTHER(ep_post_rdma_write), OTHER(srq_post_recv), OTHER(rmr_bind);
	OTHER(cr_reject), OTHER(ep_create), OTHER(ep_create_with_srq);
	return &v;
}
