/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c12_calls.c - the table of 1.2's calls.
 *
 * What has the same arguments in both versions is the core's call, whose error
 * is converted.
 */
#include "dapl/compat12/c12.h"

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/base/dapl_provider.h"
#include "dapl/common/plugin/dapl_calls.h"

#define SAME(slot, params, args)                               \
	static DAT_RETURN same_##slot params                   \
	{                                                      \
		return c12_ret(dapl__vector.slot##_func args); \
	}
/* By the types of their arguments. */
#define SAME1(slot, A)		SAME(slot, (A a), (a))
#define SAME2(slot, A, B)	SAME(slot, (A a, B b), (a, b))
#define SAME3(slot, A, B, C)	SAME(slot, (A a, B b, C c), (a, b, c))
#define SAME4(slot, A, B, C, D) SAME(slot, (A a, B b, C c, D d), (a, b, c, d))
#define SAME5(slot, A, B, C, D, E) \
	SAME(slot, (A a, B b, C c, D d, E e), (a, b, c, d, e))
#define SAME6(slot, A, B, C, D, E, F) \
	SAME(slot, (A a, B b, C c, D d, E e, F f), (a, b, c, d, e, f))
#define SAME8(slot, A, B, C, D, E, F, G, H)                  \
	SAME(slot, (A a, B b, C c, D d, E e, F f, G g, H h), \
	     (a, b, c, d, e, f, g, h))

/* clang-format off */
SAME4(ia_open, const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *)
SAME2(ia_close, DAT_IA_HANDLE, DAT_CLOSE_FLAGS)
SAME2(set_consumer_context, DAT_HANDLE, DAT_CONTEXT)
SAME2(get_consumer_context, DAT_HANDLE, DAT_CONTEXT *)
SAME2(get_handle_type, DAT_HANDLE, DAT_HANDLE_TYPE *)
SAME3(cno_create, DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *)
SAME2(cno_modify_agent, DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT)
SAME1(cno_free, DAT_CNO_HANDLE)
SAME3(cno_wait, DAT_CNO_HANDLE, DAT_TIMEOUT, DAT_EVD_HANDLE *)
SAME3(cr_query, DAT_CR_HANDLE, DAT_CR_PARAM_MASK, DAT_CR_PARAM *)
SAME4(cr_accept, DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID)
SAME2(cr_handoff, DAT_CR_HANDLE, DAT_CONN_QUAL)
SAME3(evd_query, DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *)
SAME2(evd_modify_cno, DAT_EVD_HANDLE, DAT_CNO_HANDLE)
SAME1(evd_enable, DAT_EVD_HANDLE)
SAME1(evd_disable, DAT_EVD_HANDLE)
SAME2(evd_resize, DAT_EVD_HANDLE, DAT_COUNT)
SAME1(evd_free, DAT_EVD_HANDLE)
SAME8(ep_connect, DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS)
SAME6(ep_dup_connect, DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID, DAT_QOS)
SAME2(ep_disconnect, DAT_EP_HANDLE, DAT_CLOSE_FLAGS)
SAME4(ep_get_status, DAT_EP_HANDLE, DAT_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *)
SAME1(ep_free, DAT_EP_HANDLE)
SAME1(lmr_free, DAT_LMR_HANDLE)
SAME2(rmr_create, DAT_PZ_HANDLE, DAT_RMR_HANDLE *)
SAME1(rmr_free, DAT_RMR_HANDLE)
SAME5(psp_create, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS, DAT_PSP_HANDLE *)
SAME3(psp_query, DAT_PSP_HANDLE, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM *)
SAME1(psp_free, DAT_PSP_HANDLE)
SAME5(rsp_create, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE, DAT_RSP_HANDLE *)
SAME3(rsp_query, DAT_RSP_HANDLE, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM *)
SAME1(rsp_free, DAT_RSP_HANDLE)
SAME2(pz_create, DAT_IA_HANDLE, DAT_PZ_HANDLE *)
SAME3(pz_query, DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *)
SAME1(pz_free, DAT_PZ_HANDLE)
SAME5(psp_create_any, DAT_IA_HANDLE, DAT_CONN_QUAL *, DAT_EVD_HANDLE, DAT_PSP_FLAGS, DAT_PSP_HANDLE *)
SAME1(ep_reset, DAT_EP_HANDLE)
SAME1(evd_set_unwaitable, DAT_EVD_HANDLE)
SAME1(evd_clear_unwaitable, DAT_EVD_HANDLE)
SAME3(ep_recv_query, DAT_EP_HANDLE, DAT_COUNT *, DAT_COUNT *)
SAME3(ep_set_watermark, DAT_EP_HANDLE, DAT_COUNT, DAT_COUNT)
SAME4(srq_create, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *)
SAME1(srq_free, DAT_SRQ_HANDLE)
SAME2(srq_resize, DAT_SRQ_HANDLE, DAT_COUNT)
SAME2(srq_set_lw, DAT_SRQ_HANDLE, DAT_COUNT)
/* clang-format on */

/* The stream of the extensions, which 1.2 does not have. */
static DAT_RETURN evd_create(DAT_IA_HANDLE ia, DAT_COUNT min_qlen,
			     DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
			     DAT_EVD_HANDLE *ret_evd)
{
	if (flags & DAT_EVD_EXTENSION_BASE)
		return c12_ret(dapl_fail(DAPL_BAD_ARG(4),
					 "evd flags 0x%x: there are no "
					 "extensions in DAT 1.2",
					 (unsigned)flags));
	return c12_ret(dapl__vector.evd_create_func(ia, min_qlen, cno, flags,
						    ret_evd));
}

/* A request is refused without data in 1.2. */
static DAT_RETURN cr_reject(DAT_CR_HANDLE cr)
{
	return c12_ret(dapl__vector.cr_reject_func(cr, 0, NULL));
}

/* Privileges that 1.2 knows. */
#define PRIV_12 0x33

static DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE mem_type,
			     DAT_REGION_DESCRIPTION desc, DAT_VLEN length,
			     DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			     DAT_LMR_HANDLE *ret_lmr,
			     DAT_LMR_CONTEXT *ret_lmr_context,
			     DAT_RMR_CONTEXT *ret_rmr_context,
			     DAT_VLEN *ret_length, DAT_VADDR *ret_address)
{
	DAT_RETURN ret = dapl__vector.lmr_create_func(
		ia, mem_type, desc, length, pz,
		(DAT_MEM_PRIV_FLAGS)(priv & PRIV_12), DAT_VA_TYPE_VA, ret_lmr,
		ret_lmr_context, ret_rmr_context, ret_length, ret_address);

	/* 2.0 has the type of the addresses in front. */
	return c12_ret_moved(ret, 8, 12, 1);
}

const DAT_PROVIDER c12_vector = {
	.ia_open_func = same_ia_open,
	.ia_query_func = C12_AS(ia_query, c12_ia_query),
	.ia_close_func = same_ia_close,
	.set_consumer_context_func = same_set_consumer_context,
	.get_consumer_context_func = same_get_consumer_context,
	.get_handle_type_func = same_get_handle_type,
	.cno_create_func = same_cno_create,
	.cno_modify_agent_func = same_cno_modify_agent,
	.cno_query_func = C12_AS(cno_query, c12_cno_query),
	.cno_free_func = same_cno_free,
	.cno_wait_func = same_cno_wait,
	.cr_query_func = same_cr_query,
	.cr_accept_func = same_cr_accept,
	.cr_reject_func = C12_AS(cr_reject, cr_reject),
	.cr_handoff_func = same_cr_handoff,
	.evd_create_func = evd_create,
	.evd_query_func = same_evd_query,
	.evd_modify_cno_func = same_evd_modify_cno,
	.evd_enable_func = same_evd_enable,
	.evd_disable_func = same_evd_disable,
	.evd_wait_func = C12_AS(evd_wait, c12_evd_wait),
	.evd_resize_func = same_evd_resize,
	.evd_post_se_func = C12_AS(evd_post_se, c12_evd_post_se),
	.evd_dequeue_func = C12_AS(evd_dequeue, c12_evd_dequeue),
	.evd_free_func = same_evd_free,
	.ep_create_func = C12_AS(ep_create, c12_ep_create),
	.ep_query_func = C12_AS(ep_query, c12_ep_query),
	.ep_modify_func = C12_AS(ep_modify, c12_ep_modify),
	.ep_connect_func = same_ep_connect,
	.ep_dup_connect_func = same_ep_dup_connect,
	.ep_disconnect_func = same_ep_disconnect,
	.ep_post_send_func = C12_AS(ep_post_send, c12_ep_post_send),
	.ep_post_recv_func = C12_AS(ep_post_recv, c12_ep_post_recv),
	.ep_post_rdma_read_func =
		C12_AS(ep_post_rdma_read, c12_ep_post_rdma_read),
	.ep_post_rdma_write_func =
		C12_AS(ep_post_rdma_write, c12_ep_post_rdma_write),
	.ep_get_status_func = same_ep_get_status,
	.ep_free_func = same_ep_free,
	.lmr_create_func = C12_AS(lmr_create, lmr_create),
	.lmr_query_func = C12_AS(lmr_query, c12_lmr_query),
	.lmr_free_func = same_lmr_free,
	.rmr_create_func = same_rmr_create,
	.rmr_query_func = C12_AS(rmr_query, c12_rmr_query),
	.rmr_bind_func = C12_AS(rmr_bind, c12_rmr_bind),
	.rmr_free_func = same_rmr_free,
	.psp_create_func = same_psp_create,
	.psp_query_func = same_psp_query,
	.psp_free_func = same_psp_free,
	.rsp_create_func = same_rsp_create,
	.rsp_query_func = same_rsp_query,
	.rsp_free_func = same_rsp_free,
	.pz_create_func = same_pz_create,
	.pz_query_func = same_pz_query,
	.pz_free_func = same_pz_free,
	.psp_create_any_func = same_psp_create_any,
	.ep_reset_func = same_ep_reset,
	.evd_set_unwaitable_func = same_evd_set_unwaitable,
	.evd_clear_unwaitable_func = same_evd_clear_unwaitable,
	.lmr_sync_rdma_read_func =
		C12_AS(lmr_sync_rdma_read, c12_lmr_sync_rdma_read),
	.lmr_sync_rdma_write_func =
		C12_AS(lmr_sync_rdma_write, c12_lmr_sync_rdma_write),
	.ep_create_with_srq_func =
		C12_AS(ep_create_with_srq, c12_ep_create_with_srq),
	.ep_recv_query_func = same_ep_recv_query,
	.ep_set_watermark_func = same_ep_set_watermark,
	.srq_create_func = same_srq_create,
	.srq_free_func = same_srq_free,
	.srq_post_recv_func = C12_AS(srq_post_recv, c12_srq_post_recv),
	.srq_query_func = c12_srq_query,
	.srq_resize_func = same_srq_resize,
	.srq_set_lw_func = same_srq_set_lw,
};

static void counted(DAT_PROVIDER *vector)
{
	c12_post_counted(vector);
	c12_event_counted(vector);
}

const struct dapl_calls c12_table = {
	.vector = &c12_vector,
	.count = counted,
};
