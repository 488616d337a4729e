/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cr.c - dat_cr_*: what the consumer does with a connection request.
 *
 * A CR dies with accept, reject or handoff; retiring its handle is what
 * decides between two threads that answer at once.
 */
#include <errno.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/common/connect/dapl_sp.h"

static const struct dapl_cm_ops *cr_ops(const struct dapl_cr *cr)
{
	return cr->obj.ia->cm->ops;
}

/*
 * An endpoint that came with the request is the consumer's again, or the
 * provider's if that had made it.
 */
static void cr_ep_back(struct dapl_cr *cr)
{
	struct dapl_ep *ep = cr->ep;

	if (!ep)
		return;
	cr->ep = NULL;
	dapl_ep_request_over(ep);
	dapl_obj_put(&ep->obj);
}

static void cr_shutdown(struct dapl_obj *obj)
{
	struct dapl_cr *cr = (struct dapl_cr *)obj;

	cr_ops(cr)->release(cr->conn);
	cr_ep_back(cr);
}

const struct dapl_obj_ops dapl_cr_obj_ops = {
	.type = DAT_HANDLE_TYPE_CR,
	.size = sizeof(struct dapl_cr),
	.shutdown = cr_shutdown,
};

static DAT_RETURN check_pdata(const struct dapl_cr *cr, int size_arg,
			      DAT_COUNT size, const void *pdata)
{
	size_t max = cr_ops(cr)->max_pdata(cr->obj.ia->cm);

	if (size < 0 || (size_t)size > max)
		return dapl_fail(DAPL_ERR(DAT_INVALID_PARAMETER,
					  DAT_INVALID_ARG1 + size_arg - 1),
				 "cr %p: %d bytes of private data; this "
				 "provider carries up to %zu",
				 (const void *)cr, size, max);
	if (size && !pdata)
		return dapl_fail(DAPL_ERR(DAT_INVALID_PARAMETER,
					  DAT_INVALID_ARG1 + size_arg),
				 "cr %p: no private data", (const void *)cr);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask,
			 DAT_CR_PARAM *ret_param)
{
	struct dapl_cr *cr = dapl_cr_from(handle);

	if (!cr)
		return dapl_fail(DAPL_BAD_HANDLE(CR), "no such CR");
	if (mask & ~(unsigned)DAT_CR_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	ret_param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote_addr;
	ret_param->remote_port_qual = cr->remote_port;
	ret_param->private_data_size = (DAT_COUNT)cr->pdata_size;
	ret_param->private_data = cr->pdata_size ? cr->pdata : NULL;
	ret_param->local_ep_handle = (DAT_EP_HANDLE)cr->ep;
	return DAT_SUCCESS;
}

/* The endpoint to accept with, and as what. */
static DAT_RETURN accept_ep(struct dapl_cr *cr, DAT_EP_HANDLE handle,
			    struct dapl_ep **ret_ep,
			    enum dapl_ep_input *ret_accept)
{
	struct dapl_ep *ep = dapl_ep_from(handle);

	if (cr->ep) {
		if (handle != DAT_HANDLE_NULL)
			return dapl_fail(DAPL_BAD_HANDLE(EP),
					 "cr %p brings its own endpoint",
					 (void *)cr);
		*ret_ep = cr->ep;
		*ret_accept = cr->ep_ours ? DAPL_EP_IN_ACCEPT_TENTATIVE
					  : DAPL_EP_IN_ACCEPT_REQUESTED;
		return DAT_SUCCESS;
	}
	if (!ep || ep->obj.ia != cr->obj.ia)
		return dapl_fail(DAPL_BAD_HANDLE(EP),
				 "%p is not an EP of the IA that got the "
				 "request",
				 (void *)handle);
	if (ep->qp.ud != cr->ud)
		return dapl_fail(DAPL_BAD_HANDLE(EP),
				 "ep %p is %s, and the one that asks is not",
				 (void *)ep,
				 ep->qp.ud ? "a datagram endpoint"
					   : "a connected endpoint");
	*ret_ep = ep;
	*ret_accept = DAPL_EP_IN_ACCEPT;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT pdata_size, const DAT_PVOID pdata)
{
	struct dapl_cr *cr = dapl_cr_from(handle);
	struct dapl_ep *ep = NULL;
	bool peer_gone;
	DAT_RETURN ret;
	enum dapl_ep_input accept = DAPL_EP_IN_ACCEPT;

	if (!cr)
		return dapl_fail(DAPL_BAD_HANDLE(CR), "no such CR");
	ret = accept_ep(cr, ep_handle, &ep, &accept);
	if (ret == DAT_SUCCESS)
		ret = check_pdata(cr, 3, pdata_size, pdata);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!dapl_obj_retire(&cr->obj, false))
		return dapl_fail(DAPL_BAD_HANDLE(CR), "no such CR");
	ret = dapl_ep_accept(ep, accept, cr, pdata, (size_t)pdata_size,
			     &peer_gone);
	if (peer_gone) {
		dapl_obj_end(&cr->obj);
	} else if (ret != DAT_SUCCESS) {
		dapl_obj_enlist(&cr->obj); /* it can be answered again */
	} else {
		dapl_ia_count(cr->obj.ia, DCNT_IA_SP_CR_ACCEPTED);
		if (cr->ep)
			dapl_obj_put(&cr->ep->obj);
		dapl_obj_put(&cr->obj);
	}
	return ret;
}

DAT_RETURN dapl_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT pdata_size,
			  const DAT_PVOID pdata)
{
	struct dapl_cr *cr = dapl_cr_from(handle);
	DAT_RETURN ret;
	int err;

	if (!cr)
		return dapl_fail(DAPL_BAD_HANDLE(CR), "no such CR");
	ret = check_pdata(cr, 2, pdata_size, pdata);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!dapl_obj_retire(&cr->obj, false))
		return dapl_fail(DAPL_BAD_HANDLE(CR), "no such CR");
	dapl_ia_count(cr->obj.ia, DCNT_IA_SP_CR_REJECTED);
	err = cr_ops(cr)->reject(cr->conn, pdata, (size_t)pdata_size);
	if (err)
		dapl_log(DAPL_LOG_CM_WARN, "cr %p: reject: %s", (void *)cr,
			 strerror(-err));
	/* Whether or not the peer could be told, the request is over. */
	dapl_obj_end(&cr->obj);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
	struct dapl_cr *cr = dapl_cr_from(handle);
	struct dapl_sp *to = NULL;
	struct dapl_cm_request req;
	struct dapl_obj *obj;
	struct dapl_ia *ia;

	if (!cr)
		return dapl_fail(DAPL_BAD_HANDLE(CR), "no such CR");
	ia = cr->obj.ia;
	dapl_lock(&ia->lock);
	dapl_list_for_each(obj, &ia->objs[DAT_HANDLE_TYPE_PSP], link) {
		struct dapl_sp *sp = (struct dapl_sp *)obj;

		if (sp->qual == qual) {
			dapl_obj_get(obj);
			to = sp;
			break;
		}
	}
	dapl_unlock(&ia->lock);
	if (!to)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "no PSP of this IA listens on %llu",
				 (unsigned long long)qual);
	if (!dapl_obj_retire(&cr->obj, false)) {
		dapl_obj_put(&to->obj);
		return dapl_fail(DAPL_BAD_HANDLE(CR), "no such CR");
	}
	req = (struct dapl_cm_request){
		.peer_addr = (struct sockaddr *)&cr->remote_addr,
		.peer_port = cr->remote_port,
		.pdata = cr->pdata,
		.pdata_size = cr->pdata_size,
		.ud = cr->ud,
	};
	dapl_sp_cm_request(to, cr->conn, &req);
	dapl_obj_put(&to->obj);
	cr_ep_back(cr);
	dapl_obj_put(&cr->obj);
	return DAT_SUCCESS;
}
