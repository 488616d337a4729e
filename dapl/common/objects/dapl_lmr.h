/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_lmr.h - local memory region: a verbs memory region. */
#ifndef DAPL_LMR_H
#define DAPL_LMR_H

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/objects/dapl_pz.h"
#include "dapl/common/verbs/vb.h"

struct dapl_lmr {
	struct dapl_obj obj;
	struct ibv_mr *mr;
	struct dapl_pz *pz;
	DAT_LMR_PARAM param; /* what query answers, but for ia_handle */
};

static inline struct dapl_lmr *dapl_lmr_from(DAT_LMR_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_LMR);
}

/*
 * The region that KEY, an lmr_context, belongs to; or NULL. It may be freed any
 * moment, which whoever takes its handle finds out.
 */
struct dapl_lmr *dapl_lmr_find(struct dapl_ia *ia, DAT_LMR_CONTEXT key);

DAT_RETURN dapl_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION desc, DAT_VLEN length,
			   DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			   DAT_VA_TYPE va_type, DAT_LMR_HANDLE *ret_lmr,
			   DAT_LMR_CONTEXT *ret_lmr_context,
			   DAT_RMR_CONTEXT *ret_rmr_context,
			   DAT_VLEN *ret_length, DAT_VADDR *ret_address);
DAT_RETURN dapl_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask,
			  DAT_LMR_PARAM *ret_param);
DAT_RETURN dapl_lmr_free(DAT_LMR_HANDLE handle);
DAT_RETURN dapl_lmr_sync_rdma_read(DAT_IA_HANDLE ia,
				   const DAT_LMR_TRIPLET *segments,
				   DAT_VLEN count);
DAT_RETURN dapl_lmr_sync_rdma_write(DAT_IA_HANDLE ia,
				    const DAT_LMR_TRIPLET *segments,
				    DAT_VLEN count);

#endif
