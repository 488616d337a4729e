/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_rmr.h - remote memory region: a verbs memory window.
 *
 * dat_rmr_create() makes a window of type 1, good for any endpoint of its PZ;
 * dat_rmr_create_for_ep() one of type 2, good for the endpoint it was bound
 * through. Binding is a request on the endpoint's send queue.
 */
#ifndef DAPL_RMR_H
#define DAPL_RMR_H

#include "dapl/common/base/dapl_obj.h"

DAT_RETURN dapl_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *ret_rmr);
DAT_RETURN dapl_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *ret_rmr);
DAT_RETURN dapl_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask,
			  DAT_RMR_PARAM *ret_param);
DAT_RETURN dapl_rmr_bind(DAT_RMR_HANDLE handle, DAT_LMR_HANDLE lmr,
			 const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type,
			 DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags,
			 DAT_RMR_CONTEXT *ret_context);
DAT_RETURN dapl_rmr_free(DAT_RMR_HANDLE handle);

#endif
