/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * apart_20.c - the calls that only DAT 2.0 has, or has with arguments of its
 * own: see apart_calls.c.
 */
#include "test/conform/apart_step.h"

#include <stdarg.h>

#include <dat2/dat_ib_extensions.h>

DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
	HERE(cno, dat_cno_trigger, cno, evd);

	return STEP(PART(evd));
}

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
			  DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			  DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			  DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr,
			  DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
			  DAT_VADDR *at)
{
	HERE(ia, dat_lmr_create, apart_ia(ia), type, region, length, pz,
	     privileges, va_type, lmr, lmr_context, rmr_context, size, at);

	ret = STEP(PART(lmr), PART(lmr_context), PART(rmr_context), PART(size),
		   PART(at));
	if (ret == DAT_SUCCESS)
		apart_made(*lmr, mine);
	return ret;
}

DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	HERE(pz, dat_rmr_create_for_ep, pz, rmr);

	return MADE(rmr);
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
			const DAT_LMR_TRIPLET *segment, DAT_MEM_PRIV_FLAGS priv,
			DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *context)
{
	HERE(rmr, dat_rmr_bind, rmr, lmr, segment, priv, va_type, ep, cookie,
	     flags, context);

	return STEP(PART(context));
}

DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm,
			  DAT_IA_ADDRESS_PTR at, DAT_EVD_HANDLE evd,
			  DAT_CSP_HANDLE *csp)
{
	HERE(ia, dat_csp_create, apart_ia(ia), comm, at, evd, csp);

	return MADE(csp);
}

QUERY_CALL(csp, CSP)

HANDLE_CALL(dat_csp_free, DAT_CSP_HANDLE)

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data)
{
	HERE(cr, dat_cr_reject, cr, size, data);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to,
				 DAT_TIMEOUT timeout, DAT_COUNT size,
				 const DAT_PVOID data)
{
	HERE(ep, dat_ep_common_connect, ep, to, timeout, size, data);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n,
					    DAT_LMR_TRIPLET *iov,
					    DAT_DTO_COOKIE cookie,
					    DAT_COMPLETION_FLAGS flags,
					    DAT_BOOLEAN invalidate,
					    DAT_RMR_CONTEXT context)
{
	HERE(ep, dat_ep_post_send_with_invalidate, ep, n, iov, cookie, flags,
	     invalidate, context);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep,
					const DAT_RMR_TRIPLET *to,
					DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *from,
					DAT_COMPLETION_FLAGS flags)
{
	HERE(ep, dat_ep_post_rdma_read_to_rmr, ep, to, cookie, from, flags);

	return STEP(NOTHING);
}

/* ------------------------------------------------------- extensions */

#define EXTENSION_ARGS 8 /* the most that one has; all are words */

/* Only a query of counters writes: a number of them, or one. */
static struct apart_part counters(DAT_HANDLE handle, const uint64_t *arg)
{
	DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_IA;
	uint32_t which = (uint32_t)arg[0];
	size_t n = 1;

	dat_get_handle_type(handle, &type);
	if (type == DAT_HANDLE_TYPE_EP && which == DCNT_EP_ALL_COUNTERS)
		n = DCNT_EP_ALL_COUNTERS;
	else if (type == DAT_HANDLE_TYPE_EVD && which == DCNT_EVD_ALL_COUNTERS)
		n = DCNT_EVD_ALL_COUNTERS;
	else if (type == DAT_HANDLE_TYPE_IA && which == DCNT_IA_ALL_COUNTERS)
		n = DCNT_IA_ALL_COUNTERS;
	return (struct apart_part){(void *)(uintptr_t)arg[1],
				   n * sizeof(DAT_UINT64)};
}

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	struct apart_part part = NOTHING;
	uint64_t arg[EXTENSION_ARGS];
	DAT_RETURN ret = DAT_SUCCESS;
	bool mine;
	va_list ap;

	va_start(ap, op);
	for (int i = 0; i < EXTENSION_ARGS; i++)
		arg[i] = va_arg(ap, uint64_t);
	va_end(ap);
	if ((int)op == DAT_IB_QUERY_COUNTERS_OP)
		part = counters(handle, arg);
	mine = apart_turn(__func__, handle);
	if (mine)
		ret = REAL(dat_extension_op)(apart_ia(handle), op, arg[0],
					     arg[1], arg[2], arg[3], arg[4],
					     arg[5], arg[6], arg[7]);
	return apart_step(__func__, mine, ret, &part, 1);
}
