/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_calls.c - the table of all calls.
 *
 * Calls that lead to system calls run with cancellation off (dapl_cancel.h):
 * what the table shows as shielded. The others are on the data path, or lead to
 * none; where they may after all, they see to it themselves. Waits do, since
 * they sleep.
 */
#include "dapl/common/plugin/dapl_calls.h"
#include "dapl/common/base/dapl_provider.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/common/connect/dapl_sp.h"
#include "dapl/common/event/dapl_cno.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/ib_ext/dapl_ext.h"
#include "dapl/common/objects/dapl_ep_calls.h"
#include "dapl/common/objects/dapl_ia_calls.h"
#include "dapl/common/objects/dapl_lmr.h"
#include "dapl/common/objects/dapl_pz.h"
#include "dapl/common/objects/dapl_rmr.h"
#include "dapl/common/objects/dapl_srq.h"
#include "dapl/common/plugin/dapl_counted.h"
#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/transfer/dapl_ep_post.h"

#define SHIELD(call, params, args)                 \
	static DAT_RETURN shielded_##call params   \
	{                                          \
		int cancel = dapl_cancel_off();    \
		DAT_RETURN ret = dapl_##call args; \
                                                   \
		dapl_cancel_restore(cancel);       \
		return ret;                        \
	}
/* By the types of their arguments. */
#define SHIELD1(call, A)       SHIELD(call, (A a), (a))
#define SHIELD2(call, A, B)    SHIELD(call, (A a, B b), (a, b))
#define SHIELD3(call, A, B, C) SHIELD(call, (A a, B b, C c), (a, b, c))
#define SHIELD4(call, A, B, C, D) \
	SHIELD(call, (A a, B b, C c, D d), (a, b, c, d))
#define SHIELD5(call, A, B, C, D, E) \
	SHIELD(call, (A a, B b, C c, D d, E e), (a, b, c, d, e))
#define SHIELD6(call, A, B, C, D, E, F) \
	SHIELD(call, (A a, B b, C c, D d, E e, F f), (a, b, c, d, e, f))
#define SHIELD7(call, A, B, C, D, E, F, G) \
	SHIELD(call, (A a, B b, C c, D d, E e, F f, G g), (a, b, c, d, e, f, g))
#define SHIELD8(call, A, B, C, D, E, F, G, H)                  \
	SHIELD(call, (A a, B b, C c, D d, E e, F f, G g, H h), \
	       (a, b, c, d, e, f, g, h))
#define SHIELD12(call, A, B, C, D, E, F, G, H, I, J, K, L)                   \
	SHIELD(call,                                                         \
	       (A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k, L l), \
	       (a, b, c, d, e, f, g, h, i, j, k, l))

/* clang-format off */
SHIELD4(ia_open, const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *)
SHIELD2(ia_close, DAT_IA_HANDLE, DAT_CLOSE_FLAGS)
SHIELD3(cno_create, DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *)
SHIELD2(cno_modify_agent, DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT)
SHIELD1(cno_free, DAT_CNO_HANDLE)
SHIELD4(cr_accept, DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID)
SHIELD3(cr_reject, DAT_CR_HANDLE, DAT_COUNT, const DAT_PVOID)
SHIELD2(cr_handoff, DAT_CR_HANDLE, DAT_CONN_QUAL)
SHIELD5(evd_create, DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS, DAT_EVD_HANDLE *)
SHIELD2(evd_modify_cno, DAT_EVD_HANDLE, DAT_CNO_HANDLE)
SHIELD1(evd_enable, DAT_EVD_HANDLE)
SHIELD1(evd_disable, DAT_EVD_HANDLE)
SHIELD2(evd_resize, DAT_EVD_HANDLE, DAT_COUNT)
SHIELD1(evd_free, DAT_EVD_HANDLE)
SHIELD7(ep_create, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *)
SHIELD3(ep_modify, DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM *)
SHIELD8(ep_connect, DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS)
SHIELD6(ep_dup_connect, DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID, DAT_QOS)
SHIELD2(ep_disconnect, DAT_EP_HANDLE, DAT_CLOSE_FLAGS)
SHIELD1(ep_free, DAT_EP_HANDLE)
SHIELD12(lmr_create, DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN, DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *)
SHIELD1(lmr_free, DAT_LMR_HANDLE)
SHIELD2(rmr_create, DAT_PZ_HANDLE, DAT_RMR_HANDLE *)
SHIELD1(rmr_free, DAT_RMR_HANDLE)
SHIELD5(psp_create, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS, DAT_PSP_HANDLE *)
SHIELD1(psp_free, DAT_PSP_HANDLE)
SHIELD5(rsp_create, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE, DAT_RSP_HANDLE *)
SHIELD1(rsp_free, DAT_RSP_HANDLE)
SHIELD2(pz_create, DAT_IA_HANDLE, DAT_PZ_HANDLE *)
SHIELD1(pz_free, DAT_PZ_HANDLE)
SHIELD5(psp_create_any, DAT_IA_HANDLE, DAT_CONN_QUAL *, DAT_EVD_HANDLE, DAT_PSP_FLAGS, DAT_PSP_HANDLE *)
SHIELD1(ep_reset, DAT_EP_HANDLE)
SHIELD8(ep_create_with_srq, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_SRQ_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *)
SHIELD4(srq_create, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *)
SHIELD1(srq_free, DAT_SRQ_HANDLE)
SHIELD2(srq_resize, DAT_SRQ_HANDLE, DAT_COUNT)
SHIELD2(srq_set_lw, DAT_SRQ_HANDLE, DAT_COUNT)
SHIELD5(csp_create, DAT_IA_HANDLE, DAT_COMM *, DAT_IA_ADDRESS_PTR, DAT_EVD_HANDLE, DAT_CSP_HANDLE *)
SHIELD1(csp_free, DAT_CSP_HANDLE)
SHIELD5(ep_common_connect, DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID)
SHIELD2(rmr_create_for_ep, DAT_PZ_HANDLE, DAT_RMR_HANDLE *)
SHIELD3(cno_fd_create, DAT_IA_HANDLE, DAT_FD *, DAT_CNO_HANDLE *)
SHIELD2(cno_trigger, DAT_CNO_HANDLE, DAT_EVD_HANDLE *)
/* clang-format on */

/*
 * Positional on purpose: a slot without an entry is a compiler warning. The
 * order is the ABI's.
 */
const DAT_PROVIDER dapl__vector = {
	NULL, /* device_name, of each name's own vector */
	NULL, /* extension */
	shielded_ia_open,
	dapl_ia_query,
	shielded_ia_close,
	dapl_set_consumer_context,
	dapl_get_consumer_context,
	dapl_get_handle_type,
	shielded_cno_create,
	shielded_cno_modify_agent,
	dapl_cno_query,
	shielded_cno_free,
	dapl_cno_wait,
	dapl_cr_query,
	shielded_cr_accept,
	shielded_cr_reject,
	shielded_cr_handoff,
	shielded_evd_create,
	dapl_evd_query,
	shielded_evd_modify_cno,
	shielded_evd_enable,
	shielded_evd_disable,
	dapl_evd_wait,
	shielded_evd_resize,
	dapl_evd_post_se,
	dapl_evd_dequeue,
	shielded_evd_free,
	shielded_ep_create,
	dapl_ep_query,
	shielded_ep_modify,
	shielded_ep_connect,
	shielded_ep_dup_connect,
	shielded_ep_disconnect,
	dapl_ep_post_send,
	dapl_ep_post_recv,
	dapl_ep_post_rdma_read,
	dapl_ep_post_rdma_write,
	dapl_ep_get_status,
	shielded_ep_free,
	shielded_lmr_create,
	dapl_lmr_query,
	shielded_lmr_free,
	shielded_rmr_create,
	dapl_rmr_query,
	dapl_rmr_bind,
	shielded_rmr_free,
	shielded_psp_create,
	dapl_psp_query,
	shielded_psp_free,
	shielded_rsp_create,
	dapl_rsp_query,
	shielded_rsp_free,
	shielded_pz_create,
	dapl_pz_query,
	shielded_pz_free,
	shielded_psp_create_any,
	shielded_ep_reset,
	dapl_evd_set_unwaitable,
	dapl_evd_clear_unwaitable,
	dapl_lmr_sync_rdma_read,
	dapl_lmr_sync_rdma_write,
	shielded_ep_create_with_srq,
	dapl_ep_recv_query,
	dapl_ep_set_watermark,
	shielded_srq_create,
	shielded_srq_free,
	dapl_srq_post_recv,
	dapl_srq_query,
	shielded_srq_resize,
	shielded_srq_set_lw,
	shielded_csp_create,
	dapl_csp_query,
	shielded_csp_free,
	shielded_ep_common_connect,
	shielded_rmr_create_for_ep,
	dapl_ep_post_send_with_invalidate,
	dapl_ep_post_rdma_read_to_rmr,
	shielded_cno_fd_create,
	shielded_cno_trigger,
	dapl_ia_ha_related,
	dapl_extensions,
};

const struct dapl_calls dapl__calls = {
	.vector = &dapl__vector,
	.count = dapl_counted,
};
