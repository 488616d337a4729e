/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * apart_12.c - the calls that DAT 1.2 has with arguments of its own: see
 * apart_calls.c.
 */
#include "test/conform/apart_step.h"

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
			  DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			  DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			  DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
			  DAT_VADDR *at)
{
	HERE(ia, dat_lmr_create, apart_ia(ia), type, region, length, pz,
	     privileges, lmr, lmr_context, rmr_context, size, at);

	ret = STEP(PART(lmr), PART(lmr_context), PART(rmr_context), PART(size),
		   PART(at));
	if (ret == DAT_SUCCESS)
		apart_made(*lmr, mine);
	return ret;
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *segment,
			DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *context)
{
	HERE(rmr, dat_rmr_bind, rmr, segment, priv, ep, cookie, flags, context);

	return STEP(PART(context));
}

HANDLE_CALL(dat_cr_reject, DAT_CR_HANDLE)
