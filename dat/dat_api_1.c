/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_api_1.c - the calls on open objects that DAT 1.2 has in a form of its
 * own.
 *
 * The others are in common/dat_api.c.
 * Threads: as the provider; nothing here locks or blocks.
 * Ownership: none.
 * Rule: common/dat_redirect.h.
 */
#include "common/dat_redirect.h"

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle)
{
	if (unlikely(dat_no_object(cr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_CR);
	return CALL(cr_handle, cr_reject_func);
}

DAT_RETURN
dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
	       DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
	       DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
	       DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
	       DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
	       DAT_VADDR *registered_address)
{
	DAT_IA_HANDLE ia = dat_handle_get(ia_handle);

	if (unlikely(!ia))
		return dat_not_open(__func__, ia_handle, DAT_INVALID_HANDLE_IA);
	return CALL(ia, lmr_create_func, mem_type, region_description, length,
		    pz_handle, privileges, lmr_handle, lmr_context, rmr_context,
		    registered_length, registered_address);
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	if (unlikely(dat_no_object(rmr_handle)))
		return dat_no_handle(__func__, DAT_INVALID_HANDLE_RMR);
	return DAT_RMR_BIND(rmr_handle, lmr_triplet, mem_priv, ep_handle,
			    user_cookie, completion_flags, rmr_context);
}
