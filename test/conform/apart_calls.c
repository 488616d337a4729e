/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * apart_calls.c - the calls of DAT as a program with one side gets them: those
 * that both versions have alike. The others are in apart_12.c and apart_20.c.
 *
 * Each asks whose object it is for, makes the library's call if that is here,
 * and says what it returns and writes: a part for each argument that is
 * written. Calls that are for no object are the library's. Threads, ownership:
 * apart.h. Rule: the version's <udat.h>.
 */
#include "test/conform/apart_step.h"

#include <netinet/in.h>
#include <string.h>

#if DAT_FACE == 2
#include <dat2/dat_ib_extensions.h>
#endif

static void address(bool mine, DAT_IA_ADDRESS_PTR *address)
{
	apart_pointed(mine, (void **)address, sizeof(struct sockaddr_in6));
}

/* ---------------------------------------------------------------- IA */

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen,
			DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN safe)
{
	bool mine = apart_turn_to_open(__func__, async_evd);
	DAT_RETURN ret = mine ? REAL(dat_ia_openv)(name, qlen, async_evd, ia,
						   major, minor, safe)
			      : DAT_SUCCESS;

	if (mine && ret == DAT_SUCCESS)
		*ia = apart_ia_shown(*ia, true);
	ret = STEP(PART(async_evd), PART(ia));
	if (ret == DAT_SUCCESS) {
		apart_made(*ia, mine);
		apart_made(*async_evd, mine);
	}
	return ret;
}

static void text(bool mine, const char **text)
{
	apart_pointed(mine, (void **)(uintptr_t)text,
		      mine && *text ? strlen(*text) + 1 : 0);
}

static void attributes(bool mine, DAT_COUNT n, DAT_NAMED_ATTR **attr)
{
	apart_pointed(mine, (void **)attr, (size_t)n * sizeof(**attr));
	for (int i = 0; i < n; i++) {
		text(mine, &(*attr)[i].name);
		text(mine, &(*attr)[i].value);
	}
}

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
			DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_mask,
			DAT_PROVIDER_ATTR *provider_attr)
{
	HERE(ia, dat_ia_query, apart_ia(ia), async_evd, ia_mask, ia_attr,
	     provider_mask, provider_attr);

	ret = STEP(PART(async_evd), PART(ia_attr), PART(provider_attr));
	if (ret != DAT_SUCCESS)
		return ret;
	if (ia_attr && (ia_mask & DAT_IA_FIELD_IA_ADDRESS_PTR))
		address(mine, &ia_attr->ia_address_ptr);
	if (provider_attr &&
	    (provider_mask & DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR))
		attributes(mine, provider_attr->num_provider_specific_attr,
			   &provider_attr->provider_specific_attr);
	return ret;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	HERE(ia, dat_ia_close, apart_ia(ia), flags);

	return STEP(NOTHING);
}

DAT_RETURN dat_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	HERE(handle, dat_set_consumer_context, apart_ia(handle), context);

	return STEP(NOTHING);
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	HERE(handle, dat_get_consumer_context, apart_ia(handle), context);

	return STEP(PART(context));
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	HERE(handle, dat_get_handle_type, apart_ia(handle), type);

	return STEP(PART(type));
}

/* ----------------------------------------------------------- EVD, CNO */

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			  DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	HERE(ia, dat_evd_create, apart_ia(ia), qlen, cno, flags, evd);

	return MADE(evd);
}

QUERY_CALL(evd, EVD)

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen)
{
	HERE(evd, dat_evd_resize, evd, qlen);

	return STEP(NOTHING);
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno)
{
	HERE(evd, dat_evd_modify_cno, evd, cno);

	return STEP(NOTHING);
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	HERE(evd, dat_evd_post_se, evd, event);

	return STEP(NOTHING);
}

HANDLE_CALL(dat_evd_free, DAT_EVD_HANDLE)
HANDLE_CALL(dat_evd_enable, DAT_EVD_HANDLE)
HANDLE_CALL(dat_evd_disable, DAT_EVD_HANDLE)
HANDLE_CALL(dat_evd_set_unwaitable, DAT_EVD_HANDLE)
HANDLE_CALL(dat_evd_clear_unwaitable, DAT_EVD_HANDLE)

static void show_event(bool mine, DAT_EVENT *ev)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *async =
		&ev->event_data.asynch_error_event_data;

	if (mine && ev->event_number >= DAT_ASYNC_ERROR_EVD_OVERFLOW &&
	    ev->event_number <= DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR)
		async->dat_handle = apart_ia_shown(async->dat_handle, true);
}

/* What the event brings along, and points to. */
static void take_event(bool mine, DAT_EVENT *ev)
{
	DAT_CR_ARRIVAL_EVENT_DATA *cr = &ev->event_data.cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA *conn = &ev->event_data.connect_event_data;

	switch ((unsigned)ev->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
#if DAT_FACE == 2
	case DAT_IB_UD_CONNECTION_REQUEST_EVENT:
#endif
		apart_made(cr->cr_handle, mine);
		address(mine, &cr->local_ia_address_ptr);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
#if DAT_FACE == 2
	case DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED:
	case DAT_IB_UD_CONNECTION_REJECT_EVENT:
#endif
		apart_pointed(mine, (void **)&conn->private_data,
			      (size_t)conn->private_data_size);
		break;
	default:
		break;
	}
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	HERE(evd, dat_evd_wait, evd, timeout, threshold, event, nmore);

	if (ret == DAT_SUCCESS && event)
		show_event(mine, event);
	ret = STEP(PART(event), PART(nmore));
	if (ret == DAT_SUCCESS && event)
		take_event(mine, event);
	return ret;
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	HERE(evd, dat_evd_dequeue, evd, event);

	if (ret == DAT_SUCCESS && event)
		show_event(mine, event);
	ret = STEP(PART(event));
	if (ret == DAT_SUCCESS && event)
		take_event(mine, event);
	return ret;
}

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno)
{
	HERE(ia, dat_cno_create, apart_ia(ia), agent, cno);

	return MADE(cno);
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd)
{
	HERE(cno, dat_cno_wait, cno, timeout, evd);

	return STEP(PART(evd));
}

QUERY_CALL(cno, CNO)

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno,
				DAT_OS_WAIT_PROXY_AGENT agent)
{
	HERE(cno, dat_cno_modify_agent, cno, agent);

	return STEP(NOTHING);
}

HANDLE_CALL(dat_cno_free, DAT_CNO_HANDLE)

/* ------------------------------------------------------ PZ, LMR, RMR */

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	HERE(ia, dat_pz_create, apart_ia(ia), pz);

	return MADE(pz);
}

QUERY_CALL(pz, PZ)

HANDLE_CALL(dat_pz_free, DAT_PZ_HANDLE)

QUERY_CALL(lmr, LMR)

DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia,
				  const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
	HERE(ia, dat_lmr_sync_rdma_read, apart_ia(ia), segments, n);

	return STEP(NOTHING);
}

DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia,
				   const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
	HERE(ia, dat_lmr_sync_rdma_write, apart_ia(ia), segments, n);

	return STEP(NOTHING);
}

HANDLE_CALL(dat_lmr_free, DAT_LMR_HANDLE)

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	HERE(pz, dat_rmr_create, pz, rmr);

	return MADE(rmr);
}

QUERY_CALL(rmr, RMR)

HANDLE_CALL(dat_rmr_free, DAT_RMR_HANDLE)

/* -------------------------------------------------------------- SRQ */

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			  DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq)
{
	HERE(ia, dat_srq_create, apart_ia(ia), pz, attr, srq);

	return MADE(srq);
}

QUERY_CALL(srq, SRQ)

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	HERE(srq, dat_srq_post_recv, srq, n, iov, cookie);

	return STEP(NOTHING);
}

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low)
{
	HERE(srq, dat_srq_set_lw, srq, low);

	return STEP(NOTHING);
}

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max)
{
	HERE(srq, dat_srq_resize, srq, max);

	return STEP(NOTHING);
}

HANDLE_CALL(dat_srq_free, DAT_SRQ_HANDLE)

/* -------------------------------------------------- service points, CR */

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual,
			  DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
			  DAT_PSP_HANDLE *psp)
{
	HERE(ia, dat_psp_create, apart_ia(ia), qual, evd, flags, psp);

	return MADE(psp);
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual,
			      DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
			      DAT_PSP_HANDLE *psp)
{
	HERE(ia, dat_psp_create_any, apart_ia(ia), qual, evd, flags, psp);

	ret = STEP(PART(qual), PART(psp));
	if (ret == DAT_SUCCESS)
		apart_made(*psp, mine);
	return ret;
}

QUERY_CALL(psp, PSP)

HANDLE_CALL(dat_psp_free, DAT_PSP_HANDLE)

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual,
			  DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
			  DAT_RSP_HANDLE *rsp)
{
	HERE(ia, dat_rsp_create, apart_ia(ia), qual, ep, evd, rsp);

	return MADE(rsp);
}

QUERY_CALL(rsp, RSP)

HANDLE_CALL(dat_rsp_free, DAT_RSP_HANDLE)

/* It may bring the endpoint that the provider has made. */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask,
			DAT_CR_PARAM *param)
{
	HERE(cr, dat_cr_query, cr, mask, param);

	ret = STEP(PART(param));
	if (ret != DAT_SUCCESS || !param)
		return ret;
	if ((mask & DAT_CR_FIELD_LOCAL_EP_HANDLE) && param->local_ep_handle)
		apart_made(param->local_ep_handle, mine);
	if (mask & DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR)
		address(mine, &param->remote_ia_address_ptr);
	if (mask & DAT_CR_FIELD_PRIVATE_DATA)
		apart_pointed(mine, (void **)&param->private_data,
			      (size_t)param->private_data_size);
	return ret;
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size,
			 const DAT_PVOID data)
{
	HERE(cr, dat_cr_accept, cr, ep, size, data);

	return STEP(NOTHING);
}

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual)
{
	HERE(cr, dat_cr_handoff, cr, qual);

	return STEP(NOTHING);
}

/* --------------------------------------------------------------- EP */

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			 DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			 DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ep)
{
	HERE(ia, dat_ep_create, apart_ia(ia), pz, recv, request, connect, attr,
	     ep);

	return MADE(ep);
}

DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
				  DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
				  DAT_EVD_HANDLE connect, DAT_SRQ_HANDLE srq,
				  const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	HERE(ia, dat_ep_create_with_srq, apart_ia(ia), pz, recv, request,
	     connect, srq, attr, ep);

	return MADE(ep);
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			DAT_EP_PARAM *param)
{
	HERE(ep, dat_ep_query, ep, mask, param);

	SHOW_IA(param);
	ret = STEP(PART(param));
	if (ret != DAT_SUCCESS || !param)
		return ret;
	if (mask & DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR)
		address(mine, &param->local_ia_address_ptr);
	if (mask & DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR)
		address(mine, &param->remote_ia_address_ptr);
	return ret;
}

DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			 const DAT_EP_PARAM *param)
{
	HERE(ep, dat_ep_modify, ep, mask, param);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to,
			  DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			  DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			  DAT_CONNECT_FLAGS flags)
{
	HERE(ep, dat_ep_connect, ep, to, qual, timeout, size, data, qos, flags);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE like,
			      DAT_TIMEOUT timeout, DAT_COUNT size,
			      const DAT_PVOID data, DAT_QOS qos)
{
	HERE(ep, dat_ep_dup_connect, ep, like, timeout, size, data, qos);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	HERE(ep, dat_ep_disconnect, ep, flags);

	return STEP(NOTHING);
}

HANDLE_CALL(dat_ep_reset, DAT_EP_HANDLE)

HANDLE_CALL(dat_ep_free, DAT_EP_HANDLE)

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	HERE(ep, dat_ep_get_status, ep, state, recv_idle, request_idle);

	return STEP(PART(state), PART(recv_idle), PART(request_idle));
}

DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *n, DAT_COUNT *span)
{
	HERE(ep, dat_ep_recv_query, ep, n, span);

	return STEP(PART(n), PART(span));
}

DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft,
				DAT_COUNT hard)
{
	HERE(ep, dat_ep_set_watermark, ep, soft, hard);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	HERE(ep, dat_ep_post_recv, ep, n, iov, cookie, flags);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	HERE(ep, dat_ep_post_send, ep, n, iov, cookie, flags);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n,
				  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *to,
				  DAT_COMPLETION_FLAGS flags)
{
	HERE(ep, dat_ep_post_rdma_write, ep, n, iov, cookie, to, flags);

	return STEP(NOTHING);
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n,
				 DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				 const DAT_RMR_TRIPLET *from,
				 DAT_COMPLETION_FLAGS flags)
{
	HERE(ep, dat_ep_post_rdma_read, ep, n, iov, cookie, from, flags);

	return STEP(NOTHING);
}
