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
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/transfer/dapl_wq.h"

struct dapl_ia;
struct dapl_rmr;

/*
 * The windows of type 2 of one IA, by key: peers name them when they invalidate
 * one. Keys are unique per device, and all but their low 8 bits belong to a
 * window for its life.
 */
struct dapl_windows {
	struct dapl_lock lock; /* role LEAF */
	struct dapl_list *buckets;
	uint32_t size; /* power of two; 0: there has been no window yet */
	uint32_t count;
};

void dapl_windows_init(struct dapl_windows *windows);
void dapl_windows_fini(struct dapl_windows *windows);

/*
 * Completion of a bind: fills DATA and forgets the slot's record. False: the
 * consumer asked to hear of failures only.
 */
bool dapl_rmr_bind_done(DAT_DTO_COOKIE slot_cookie,
			DAT_DTO_COMPLETION_STATUS status,
			DAT_RMR_BIND_COMPLETION_EVENT_DATA *data);
/* A bind that will never complete. */
void dapl_rmr_bind_forget(DAT_DTO_COOKIE slot_cookie);
/* A peer's message has invalidated the window of type 2 of IA with that key. */
void dapl_rmr_invalidated(struct dapl_ia *ia, DAT_RMR_CONTEXT key);

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
