/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_api_2.c - the calls on open objects that DAT 2.0 alone has.
 *
 * Or has with arguments of its own; the others are in common/dat_api.c.
 * Threads: as the provider; nothing here locks or blocks.
 * Ownership: none.
 * Rule: common/dat_redirect.h.
 */
#include "common/dat_redirect.h"
#include "dat_query.h"

#include <stdarg.h>

DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *file_descriptor,
			     DAT_CNO_HANDLE *cno_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, cno_fd_create_func, file_descriptor, cno_handle);
}

DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle,
			   DAT_EVD_HANDLE *evd_handle)
{
	if (unlikely(dat_no_object(cno_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CNO);
	return CALL(cno_handle, cno_trigger_func, evd_handle);
}

DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				 DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout,
				 DAT_COUNT private_data_size,
				 const DAT_PVOID private_data)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_common_connect_func, remote_ia_address,
		    timeout, private_data_size, private_data);
}

DAT_RETURN dat_ep_post_send_with_invalidate(
	DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	DAT_COMPLETION_FLAGS completion_flags, DAT_BOOLEAN invalidate_flag,
	DAT_RMR_CONTEXT rmr_context)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_post_send_with_invalidate_func, num_segments,
		    local_iov, user_cookie, completion_flags, invalidate_flag,
		    rmr_context);
}

DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					const DAT_RMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_iov,
					DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(dat_no_object(ep_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_EP);
	return CALL(ep_handle, ep_post_rdma_read_to_rmr_func, local_iov,
		    user_cookie, remote_iov, completion_flags);
}

DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *communicator,
			  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
			  DAT_CSP_HANDLE *csp_handle)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, csp_create_func, communicator, address, evd_handle,
		    csp_handle);
}

DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle,
			 DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param)
{
	if (unlikely(dat_no_object(csp_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CSP);
	return CALL(csp_handle, csp_query_func, csp_param_mask, csp_param);
}

DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	if (unlikely(dat_no_object(csp_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CSP);
	return CALL(csp_handle, csp_free_func);
}

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	if (unlikely(dat_no_object(cr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CR);
	return CALL(cr_handle, cr_reject_func, private_data_size, private_data);
}

DAT_RETURN
dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
	       DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
	       DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
	       DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_handle,
	       DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
	       DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, lmr_create_func, mem_type, region_description, length,
		    pz_handle, privileges, va_type, lmr_handle, lmr_context,
		    rmr_context, registered_length, registered_address);
}

DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
				 DAT_RMR_HANDLE *rmr_handle)
{
	if (unlikely(dat_no_object(pz_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_PZ);
	return CALL(pz_handle, rmr_create_for_ep_func, rmr_handle);
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_priv, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	if (unlikely(dat_no_object(rmr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_RMR);
	return DAT_RMR_BIND(rmr_handle, lmr_handle, lmr_triplet, mem_priv,
			    va_type, ep_handle, user_cookie, completion_flags,
			    rmr_context);
}

/*
 * Extensions. Open and close are known by their exact numbers: any other one
 * belongs to the provider, whatever bits it has.
 */
DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...)
{
	DAT_HANDLE object;
	DAT_RETURN ret;
	va_list args;

	va_start(args, operation);
	if (operation == DAT_OPEN_EXTENSION_BASE) {
		ret = dat_query_open(operation, args);
	} else if (operation == DAT_CLOSE_EXTENSION_BASE) {
		ret = dat_query_close(handle, operation, args);
	} else {
		object = dat_find_object(handle);
		ret = unlikely(!object) ? dat_not_open(__func__, handle,
						       DAT_INVALID_HANDLE1)
					: CALL(object, handle_extendedop_func,
					       operation, args);
	}
	va_end(args);
	return ret;
}
