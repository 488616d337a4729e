/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ia.h - the interface adapter: one opened device port with its
 * connection manager, service thread and object lists.
 *
 * The fields that say so are guarded by the lock; the others are written by
 * open and constant until close.
 */
#ifndef DAPL_IA_H
#define DAPL_IA_H

#include "dapl/common/base/dapl_counters.h"
#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/base/dapl_provider.h"
#include "dapl/common/base/dapl_windows.h"
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/services/dapl_param.h"
#include "dapl/common/services/dapl_wakeup.h"
#include "dapl/common/verbs/vb.h"

#define DAPL_IA_NAMED_ATTRS 15

struct dapl_cm;
struct dapl_ep;
struct dapl_evd;

/* -1: not set. */
struct dapl_ia_params {
	int max_inline; /* bytes; -1: as many as the provider likes */
	int wr_max;	/* -1: the device's limit */
	int pkey;	/* 0: index 0 */
	const char *counters;
};

struct dapl_ia {
	struct dapl_obj obj;
	struct dapl_lock lock; /* role IA */
	struct dapl_list objs[DAPL_OBJ_TYPES];
	struct dapl_list all_link; /* every open IA of the plugin */

	struct dapl_provider *prov;
	struct dapl_ia_params params;
	void *cm_params; /* what ops->params of the provider describes */
	struct dapl_loop *loop;
	struct dapl_cm *cm;
	struct vb_dev dev;
	struct dapl_watch async_watch;
	struct dapl_wakeups wakeups; /* for those who wait on EVDs */
	bool spins; /* waits may look again before they sleep */
	struct sockaddr_storage addr;
	uint32_t max_inline; /* wish for every queue pair */
	/*
	 * An endpoint of the provider's own making for a request: TENTATIVE,
	 * default attributes, no PZ and no EVDs. The caller gets a reference
	 * besides the consumer's, who can see the endpoint from here on.
	 */
	DAT_RETURN (*provide_ep)(struct dapl_ia *ia, struct dapl_ep **ret_ep);
	struct dapl_windows windows;

	struct dapl_evd *async_evd; /* holds a reference; see dapl_evd.h */
	bool async_evd_own;	    /* made by open, goes with close */
	bool query_only;	    /* of dat_ib_open_query(): no async EVD */
	bool device_gone;	    /* has been told; the service thread's */
	struct ibv_cq *null_cq;	    /* for EPs without an EVD; lock */

	struct dapl_ia_counters counters;

	/* What dat_ia_query() hands out; filled once. */
	DAT_NAMED_ATTR named[DAPL_IA_NAMED_ATTRS];
	int named_count;
	char named_text[DAPL_IA_NAMED_ATTRS][64];
};

extern const struct dapl_param_table dapl_ia_param_table;

/* An IA that calls may work on. */
static inline struct dapl_ia *dapl_ia_from(DAT_IA_HANDLE h)
{
	struct dapl_ia *ia = dapl_obj_from(h, DAT_HANDLE_TYPE_IA);

	return ia && !ia->query_only ? ia : NULL;
}

/* The shared completion queue of EPs that have no EVD. 0 or -errno. */
int dapl_ia_null_cq(struct dapl_ia *ia, struct ibv_cq **ret_cq);

#endif
