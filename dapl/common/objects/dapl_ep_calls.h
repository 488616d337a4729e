/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_ep_calls.h - endpoints: create, query, modify, free. */
#ifndef DAPL_EP_CALLS_H
#define DAPL_EP_CALLS_H

#include "dapl/common/connect/dapl_ep.h"

/* What dat_ep_modify() wants an endpoint to become. */
struct dapl_ep_new_parts {
	DAT_EP_ATTR attr;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv_evd;
	DAT_EVD_HANDLE request_evd;
	DAT_EVD_HANDLE conn_evd;
};
/*
 * Gives an unconnected endpoint other parts: checks them, and makes its queues
 * and queue pair anew if it must, which is refused while receives are posted.
 * After a failure the endpoint is as it was.
 */
DAT_RETURN dapl_ep_rebuild(struct dapl_ep *ep,
			   const struct dapl_ep_new_parts *wish);
/* See struct dapl_ia. */
DAT_RETURN dapl_ep_provide(struct dapl_ia *ia, struct dapl_ep **ret_ep);

DAT_RETURN dapl_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			  DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			  DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ret_ep);
DAT_RETURN dapl_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
				   DAT_EVD_HANDLE recv_evd,
				   DAT_EVD_HANDLE request_evd,
				   DAT_EVD_HANDLE connect_evd,
				   DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
				   DAT_EP_HANDLE *ret_ep);
DAT_RETURN dapl_ep_free(DAT_EP_HANDLE handle);

/* dapl_ep_attr.c: query and modify */

/*
 * Checks ATTR against the device and fills in defaults (NULL: all of them).
 * SRQ: receives come from elsewhere.
 */
DAT_RETURN dapl_ep_attr_check(struct dapl_ia *ia, const DAT_EP_ATTR *attr,
			      bool recv_evd, bool request_evd, bool srq,
			      DAT_EP_ATTR *ret_attr);
DAT_RETURN dapl_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask,
			 DAT_EP_PARAM *ret_param);
DAT_RETURN dapl_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask,
			  const DAT_EP_PARAM *param);
DAT_RETURN dapl_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *ret_state,
			      DAT_BOOLEAN *ret_recv_idle,
			      DAT_BOOLEAN *ret_request_idle);
DAT_RETURN dapl_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *ret_allocated,
			      DAT_COUNT *ret_span);
DAT_RETURN dapl_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft,
				 DAT_COUNT hard);

#endif
