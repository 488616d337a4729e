/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_api.c - the calls on open objects: check the handle, jump.
 *
 * Does not look at any other argument, holds no state, changes no result. A
 * call that not every version has, or not with the same arguments, is in the
 * face of its version.
 * Threads: as the provider; nothing here locks or blocks.
 * Ownership: none.
 * Rule: dat_redirect.h.
 */
#include "dat_redirect.h"

#include "dat_detail.h"

__attribute__((noinline)) DAT_RETURN
dat_no_handle(const char *call, enum dat_return_subtype subtype)
{
	return dat_fail(DAT_INVALID_HANDLE | (DAT_RETURN)subtype,
			"%s: the handle is NULL, or a number", call);
}

__attribute__((noinline)) DAT_RETURN
dat_not_open(const char *call, DAT_HANDLE handle,
	     enum dat_return_subtype subtype)
{
	if (!handle)
		return dat_no_handle(call, subtype);
	return dat_fail(DAT_INVALID_HANDLE | (DAT_RETURN)subtype,
			"%s: IA %p is not open", call, handle);
}

__attribute__((noinline)) DAT_RETURN dat_no_slot(const char *call)
{
	return dat_fail(DAT_NOT_IMPLEMENTED,
			"%s: the provider does not have this call", call);
}

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, ia_query_func, async_evd_handle, ia_attr_mask, ia_attr,
		    provider_attr_mask, provider_attr);
}

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_qlen)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return CALL(evd_handle, evd_resize_func, evd_qlen);
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return DAT_EVD_POST_SE(evd_handle, event);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return DAT_EVD_DEQUEUE(evd_handle, event);
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return CALL(evd_handle, evd_query_func, evd_param_mask, evd_param);
}

DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return CALL(evd_handle, evd_free_func);
}

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, evd_create_func, evd_min_qlen, cno_handle, evd_flags,
		    evd_handle);
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle,
			      DAT_CNO_HANDLE cno_handle)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return CALL(evd_handle, evd_modify_cno_func, cno_handle);
}

DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return CALL(evd_handle, evd_enable_func);
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return DAT_EVD_WAIT(evd_handle, timeout, threshold, event, nmore);
}

DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return CALL(evd_handle, evd_disable_func);
}

DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return CALL(evd_handle, evd_set_unwaitable_func);
}

DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(dat_no_object(evd_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EVD_REQUEST);
	return CALL(evd_handle, evd_clear_unwaitable_func);
}

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle,
			  DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, cno_create_func, agent, cno_handle);
}

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
				DAT_OS_WAIT_PROXY_AGENT agent)
{
	if (unlikely(dat_no_object(cno_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CNO);
	return CALL(cno_handle, cno_modify_agent_func, agent);
}

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle,
			 DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param)
{
	if (unlikely(dat_no_object(cno_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CNO);
	return CALL(cno_handle, cno_query_func, cno_param_mask, cno_param);
}

DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	if (unlikely(dat_no_object(cno_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CNO);
	return CALL(cno_handle, cno_free_func);
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd_handle)
{
	if (unlikely(dat_no_object(cno_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CNO);
	return DAT_CNO_WAIT(cno_handle, timeout, evd_handle);
}

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_completion_evd_handle,
			 DAT_EVD_HANDLE request_completion_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, ep_create_func, pz_handle, recv_completion_evd_handle,
		    request_completion_evd_handle, connect_evd_handle,
		    ep_attributes, ep_handle);
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
			DAT_EP_PARAM_MASK ep_param_mask, DAT_EP_PARAM *ep_param)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_query_func, ep_param_mask, ep_param);
}

DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_modify_func, ep_param_mask, ep_param);
}

DAT_RETURN
dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
	       DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
	       DAT_COUNT private_data_size, const DAT_PVOID private_data,
	       DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_connect_func, remote_ia_address,
		    remote_conn_qual, timeout, private_data_size, private_data,
		    quality_of_service, connect_flags);
}

DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE ep_dup_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const DAT_PVOID private_data,
			      DAT_QOS quality_of_service)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_dup_connect_func, ep_dup_handle, timeout,
		    private_data_size, private_data, quality_of_service);
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle,
			     DAT_CLOSE_FLAGS disconnect_flags)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_disconnect_func, disconnect_flags);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return DAT_EP_POST_SEND(ep_handle, num_segments, local_iov, user_cookie,
				completion_flags);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return DAT_EP_POST_RECV(ep_handle, num_segments, local_iov, user_cookie,
				completion_flags);
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return DAT_EP_POST_RDMA_READ(ep_handle, num_segments, local_iov,
				     user_cookie, remote_iov, completion_flags);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return DAT_EP_POST_RDMA_WRITE(ep_handle, num_segments, local_iov,
				      user_cookie, remote_iov,
				      completion_flags);
}

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return DAT_EP_GET_STATUS(ep_handle, ep_state, recv_idle, request_idle);
}

DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_free_func);
}

DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_reset_func);
}

DAT_RETURN dat_ep_create_with_srq(
	DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
	DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
	DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
	const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, ep_create_with_srq_func, pz_handle, recv_evd_handle,
		    request_evd_handle, connect_evd_handle, srq_handle,
		    ep_attributes, ep_handle);
}

DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
			     DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_recv_query_func, nbufs_allocated,
		    bufs_alloc_span);
}

DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_set_watermark_func, soft_high_watermark,
		    hard_high_watermark);
}

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, psp_create_func, conn_qual, evd_handle, psp_flags,
		    psp_handle);
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, psp_create_any_func, conn_qual, evd_handle, psp_flags,
		    psp_handle);
}

DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle,
			 DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	if (unlikely(dat_no_object(psp_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_PSP);
	return CALL(psp_handle, psp_query_func, psp_param_mask, psp_param);
}

DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	if (unlikely(dat_no_object(psp_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_PSP);
	return CALL(psp_handle, psp_free_func);
}

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, rsp_create_func, conn_qual, ep_handle, evd_handle,
		    rsp_handle);
}

DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	if (unlikely(dat_no_object(rsp_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_RSP);
	return CALL(rsp_handle, rsp_query_func, rsp_param_mask, rsp_param);
}

DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	if (unlikely(dat_no_object(rsp_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_RSP);
	return CALL(rsp_handle, rsp_free_func);
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
			DAT_CR_PARAM_MASK cr_param_mask, DAT_CR_PARAM *cr_param)
{
	if (unlikely(dat_no_object(cr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CR);
	return CALL(cr_handle, cr_query_func, cr_param_mask, cr_param);
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	if (unlikely(dat_no_object(cr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CR);
	return CALL(cr_handle, cr_accept_func, ep_handle, private_data_size,
		    private_data);
}

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff_qual)
{
	if (unlikely(dat_no_object(cr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CR);
	return CALL(cr_handle, cr_handoff_func, handoff_qual);
}

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, pz_create_func, pz_handle);
}

DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle,
			DAT_PZ_PARAM_MASK pz_param_mask, DAT_PZ_PARAM *pz_param)
{
	if (unlikely(dat_no_object(pz_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_PZ);
	return CALL(pz_handle, pz_query_func, pz_param_mask, pz_param);
}

DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	if (unlikely(dat_no_object(pz_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_PZ);
	return CALL(pz_handle, pz_free_func);
}

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	if (unlikely(dat_no_object(lmr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_LMR);
	return CALL(lmr_handle, lmr_free_func);
}

DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, lmr_sync_rdma_read_func, local_segments, num_segments);
}

DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, lmr_sync_rdma_write_func, local_segments, num_segments);
}

DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			 DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	if (unlikely(dat_no_object(lmr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_LMR);
	return CALL(lmr_handle, lmr_query_func, lmr_param_mask, lmr_param);
}

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	if (unlikely(dat_no_object(pz_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_PZ);
	return CALL(pz_handle, rmr_create_func, rmr_handle);
}

DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	if (unlikely(dat_no_object(rmr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_RMR);
	return CALL(rmr_handle, rmr_query_func, rmr_param_mask, rmr_param);
}

DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	if (unlikely(dat_no_object(rmr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_RMR);
	return CALL(rmr_handle, rmr_free_func);
}

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, srq_create_func, pz_handle, srq_attr, srq_handle);
}

DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	if (unlikely(dat_no_object(srq_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_SRQ);
	return CALL(srq_handle, srq_free_func);
}

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie)
{
	if (unlikely(dat_no_object(srq_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_SRQ);
	return DAT_SRQ_POST_RECV(srq_handle, num_segments, local_iov,
				 user_cookie);
}

DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle,
			 DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	if (unlikely(dat_no_object(srq_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_SRQ);
	return CALL(srq_handle, srq_query_func, srq_param_mask, srq_param);
}

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	if (unlikely(dat_no_object(srq_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_SRQ);
	return CALL(srq_handle, srq_resize_func, srq_max_recv_dto);
}

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	if (unlikely(dat_no_object(srq_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_SRQ);
	return CALL(srq_handle, srq_set_lw_func, low_watermark);
}

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	DAT_HANDLE object = dat_find_object(dat_handle);

	if (!object)
		return dat_not_open(__func__, dat_handle, DAT_INVALID_HANDLE1);
	return CALL(object, set_consumer_context_func, context);
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	DAT_HANDLE object = dat_find_object(dat_handle);

	if (!object)
		return dat_not_open(__func__, dat_handle, DAT_INVALID_HANDLE1);
	return CALL(object, get_consumer_context_func, context);
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle,
			       DAT_HANDLE_TYPE *handle_type)
{
	DAT_HANDLE object = dat_find_object(dat_handle);

	if (!object)
		return dat_not_open(__func__, dat_handle, DAT_INVALID_HANDLE1);
	return CALL(object, get_handle_type_func, handle_type);
}
