/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_sp.c - service points: dat_psp_*, dat_rsp_*, dat_csp_*, and how a
 * request of a peer becomes a CR and an event.
 *
 * Rules: uDAPL 1.2 specification, dat_psp_* and dat_rsp_*. The event of a
 * request is posted with the point's lock held, so that after free returns no
 * request of it appears on the EVD. An RSP is retired before its request is
 * posted: either it refuses that, or free waits until the event is there.
 */
#include "dapl/common/connect/dapl_sp.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_process.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/common/event/dapl_evd.h"

/* First qualifier dat_psp_create_any() tries: above the privileged ports. */
#define ANY_QUAL_FIRST 1024
/* An RSP that its request has used up, and that nobody has freed since. */
#define RSP_SPENT (~DAPL_MAGIC(DAT_HANDLE_TYPE_RSP))

/* ------------------------------------------------ requests */

static struct dapl_cr *cr_new(struct dapl_sp *sp, struct dapl_cm_conn *conn,
			      const struct dapl_cm_request *req)
{
	struct dapl_cr *cr;

	cr = dapl_obj_new(sp->obj.ia, &dapl_cr_obj_ops);
	if (!cr)
		return NULL;
	cr->conn = conn;
	cr->qual = sp->qual;
	if (req->peer_addr)
		memcpy(&cr->remote_addr, req->peer_addr,
		       req->peer_addr->sa_family == AF_INET6
			       ? sizeof(struct sockaddr_in6)
			       : sizeof(struct sockaddr_in));
	cr->remote_port = req->peer_port;
	cr->pdata_size = req->pdata_size;
	if (cr->pdata_size > sizeof(cr->pdata))
		cr->pdata_size = sizeof(cr->pdata);
	if (cr->pdata_size)
		memcpy(cr->pdata, req->pdata, cr->pdata_size);
	cr->ud = req->ud;
	cr->ep_ours = sp->makes_ep;
	if (cr->ep_ours &&
	    sp->obj.ia->provide_ep(sp->obj.ia, &cr->ep) != DAT_SUCCESS) {
		dapl_obj_release(&cr->obj);
		return NULL;
	}
	return cr;
}

/*
 * An RSP serves one request: its endpoint goes with the CR. One that the
 * provider makes comes with the request, as a reserved endpoint could not be
 * given a PZ.
 */
static bool rsp_take_locked(struct dapl_sp *sp, struct dapl_cr *cr)
{
	struct dapl_ep *ep = sp->ep;

	dapl_lock_assert_held(&sp->lock);
	if (sp->makes_ep)
		return true;
	if (!dapl_ep_request(ep))
		return false;
	cr->ep = ep;
	sp->ep = NULL;
	return true;
}

/* The endpoint that waited for a request is the consumer's again. */
static void rsp_unreserve(struct dapl_ep *ep)
{
	if (!ep)
		return;
	dapl_ep_unreserve(ep);
	dapl_obj_put(&ep->obj);
}

/* After this the qualifier is free, and no request starts. */
static void sp_stop(struct dapl_sp *sp)
{
	struct dapl_ep *ep;

	dapl_lock(&sp->lock);
	sp->dead = true;
	ep = sp->ep;
	sp->ep = NULL;
	dapl_unlock(&sp->lock);
	rsp_unreserve(ep);
	sp->obj.ia->cm->ops->unlisten(sp->listener);
}

/* Not as objects are counted: those that get no qualifier never were one. */
static void sp_count(const struct dapl_sp *sp, int psp, int rsp)
{
	if (sp->obj.ops->type == DAT_HANDLE_TYPE_PSP)
		dapl_ia_count(sp->obj.ia, psp);
	else if (sp->obj.ops->type == DAT_HANDLE_TYPE_RSP)
		dapl_ia_count(sp->obj.ia, rsp);
}

static void sp_shutdown(struct dapl_obj *obj)
{
	struct dapl_sp *sp = (struct dapl_sp *)obj;

	sp_count(sp, DCNT_IA_PSP_FREE, DCNT_IA_RSP_FREE);
	sp_stop(sp);
	dapl_obj_unuse(&sp->evd->obj);
}

static void sp_destroy(struct dapl_obj *obj)
{
	dapl_lock_fini(&((struct dapl_sp *)obj)->lock);
	dapl_obj_release(obj);
}

#define SP_OPS(t)                                                            \
	{                                                                    \
		.type = DAT_HANDLE_TYPE_##t, .size = sizeof(struct dapl_sp), \
		.shutdown = sp_shutdown, .destroy = sp_destroy,              \
	}
static const struct dapl_obj_ops psp_ops = SP_OPS(PSP);
static const struct dapl_obj_ops rsp_ops = SP_OPS(RSP);
static const struct dapl_obj_ops csp_ops = SP_OPS(CSP);

/*
 * An RSP ends with its request, and has ended when the consumer learns of it:
 * he may want to listen there again, or to free the EVD.
 */
static bool rsp_request(struct dapl_sp *sp, struct dapl_cr *cr,
			const DAT_EVENT *event)
{
	struct dapl_evd *evd = sp->evd;
	bool ok;

	if (!dapl_obj_retire_as(&sp->obj, true, RSP_SPENT))
		return false;
	dapl_lock(&sp->lock);
	ok = rsp_take_locked(sp, cr);
	dapl_unlock(&sp->lock);
	sp_stop(sp);
	/* Who reads the event may free the EVD at once. */
	dapl_obj_get(&evd->obj);
	dapl_obj_unuse(&evd->obj);
	ok = ok && dapl_evd_post(evd, event);
	dapl_obj_put(&evd->obj);
	dapl_obj_put(&sp->obj); /* the consumer's reference */
	return ok;
}

static bool psp_request(struct dapl_sp *sp, const DAT_EVENT *event)
{
	bool ok;

	dapl_lock(&sp->lock);
	ok = !sp->dead && dapl_evd_post(sp->evd, event);
	dapl_unlock(&sp->lock);
	return ok;
}

void dapl_sp_cm_request(struct dapl_sp *sp, struct dapl_cm_conn *conn,
			const struct dapl_cm_request *req)
{
	bool rsp = sp->obj.ops == &rsp_ops, posted;
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	struct dapl_cr *cr;
	DAT_EVENT event;

	dapl__lock_assert_none();
	if (req->ud &&
	    (rsp || sp->makes_ep || !sp->obj.ia->cm->ops->datagrams)) {
		dapl_log(DAPL_LOG_CM_WARN,
			 "sp %p: a datagram endpoint asks, and there are only "
			 "connected ones here: refused",
			 (void *)sp);
		sp->obj.ia->cm->ops->release(conn);
		return;
	}
	cr = cr_new(sp, conn, req);
	if (!cr) {
		dapl_log(DAPL_LOG_ERR, "sp %p: no memory, request refused",
			 (void *)sp);
		sp->obj.ia->cm->ops->release(conn);
		return;
	}
	dapl_ia_count(sp->obj.ia, DCNT_IA_SP_CR);
	memset(&event, 0, sizeof(event));
	event.event_number = DAT_CONNECTION_REQUEST_EVENT;
	if (cr->ud) {
		event.event_number =
			(DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_REQUEST_EVENT;
		((DAT_IB_EXTENSION_EVENT_DATA *)event.event_extension_data)
			->type = DAT_IB_UD_CONNECT_REQUEST;
	}
	data = &event.event_data.cr_arrival_event_data;
	data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&sp->obj.ia->addr;
	data->conn_qual = sp->qual;
	data->cr_handle = (DAT_CR_HANDLE)cr;
	data->truncate_flag =
		req->pdata_truncated || req->pdata_size > sizeof(cr->pdata);
	/* PSP, RSP or CSP. An RSP is used up by its request, yet named. */
	data->sp_handle.psp_handle = (DAT_PSP_HANDLE)sp;

	dapl_obj_enlist(&cr->obj);
	posted = rsp ? rsp_request(sp, cr, &event) : psp_request(sp, &event);
	if (!posted && dapl_obj_retire(&cr->obj, true))
		dapl_obj_end(&cr->obj);
}

void dapl_sp_cm_unlistened(struct dapl_sp *sp)
{
	dapl_obj_put(&sp->obj);
}

/* -------------------------------------------------- create */

static struct dapl_sp *sp_new(struct dapl_ia *ia,
			      const struct dapl_obj_ops *ops,
			      DAT_CONN_QUAL qual, struct dapl_evd *evd)
{
	struct dapl_sp *sp;

	sp = dapl_obj_new(ia, ops);
	if (!sp)
		return NULL;
	if (!dapl_obj_use(&evd->obj)) {
		dapl_obj_release(&sp->obj);
		return NULL;
	}
	__atomic_store_n(&sp->obj.magic, 0, __ATOMIC_RELAXED); /* was spent */
	dapl_lock_init(&sp->lock, DAPL_LOCK_SP);
	sp->qual = qual;
	sp->evd = evd;
	return sp;
}

static void sp_discard(struct dapl_sp *sp)
{
	dapl_obj_unuse(&sp->evd->obj);
	dapl_obj_put(&sp->obj);
}

static DAT_RETURN listen_error(struct dapl_sp *sp, int err)
{
	unsigned long long qual = sp->qual;
	const char *dev = sp->obj.ia->dev.name;

	switch (err) {
	case -EADDRINUSE:
		return dapl_fail(DAPL_ERR(DAT_CONN_QUAL_IN_USE, 0),
				 "sp: qualifier %llu is taken on %s", qual,
				 dev);
	case -EACCES:
		return dapl_fail(DAPL_ERR(DAT_CONN_QUAL_UNAVAILABLE, 0),
				 "sp: qualifier %llu is privileged", qual);
	case -EINVAL:
		return dapl_fail(DAPL_BAD_ARG(2),
				 "sp: %llu is not a qualifier of this provider",
				 qual);
	default:
		return dapl_fail(
			dapl_err_dat(err),
			"sp: cannot listen on qualifier %llu of %s: %s", qual,
			dev, strerror(-err));
	}
}

/*
 * Begins to listen. The handle is valid before, so that the first request
 * finds a whole object.
 */
static int sp_listen(struct dapl_sp *sp)
{
	struct dapl_cm *cm = sp->obj.ia->cm;
	int ret;

	dapl_obj_get(&sp->obj);
	dapl_obj_enlist(&sp->obj);
	ret = cm->ops->listen(cm, sp->qual, sp, &sp->listener);
	if (ret) {
		dapl_obj_retire(&sp->obj, true);
		dapl_obj_put(&sp->obj);
		return ret;
	}
	sp_count(sp, DCNT_IA_PSP_CREATE, DCNT_IA_RSP_CREATE);
	dapl_ia_count(sp->obj.ia, DCNT_IA_CM_LISTEN);
	return 0;
}

static DAT_RETURN check_sp_evd(struct dapl_ia *ia, DAT_EVD_HANDLE handle,
			       struct dapl_evd **ret_evd)
{
	struct dapl_evd *evd = dapl_evd_from(handle);

	if (!evd || evd->obj.ia != ia || !dapl_evd_has(evd, DAT_EVD_CR_FLAG))
		return dapl_fail(DAPL_BAD_HANDLE(EVD_CR),
				 "%p is not an EVD for connection requests",
				 (void *)handle);
	*ret_evd = evd;
	return DAT_SUCCESS;
}

static DAT_RETURN check_psp(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle,
			    DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *ret_psp,
			    struct dapl_ia **ret_ia, struct dapl_evd **ret_evd)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	DAT_RETURN ret;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	ret = check_sp_evd(ia, evd_handle, ret_evd);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!ret_psp)
		return dapl_fail(DAPL_BAD_ARG(5), "no place for the handle");
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return dapl_fail(DAPL_BAD_ARG(4), "unknown flag %d",
				 (int)flags);
	*ret_ia = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual,
			   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			   DAT_PSP_HANDLE *ret_psp)
{
	struct dapl_evd *evd;
	struct dapl_ia *ia;
	struct dapl_sp *sp;
	DAT_RETURN ret;
	int err;

	ret = check_psp(ia_handle, evd_handle, flags, ret_psp, &ia, &evd);
	if (ret != DAT_SUCCESS)
		return ret;
	sp = sp_new(ia, &psp_ops, qual, evd);
	if (!sp)
		return dapl_fail(DAPL_NO_MEM, "psp: no memory");
	sp->psp_flags = flags;
	sp->makes_ep = flags == DAT_PSP_PROVIDER_FLAG;
	err = sp_listen(sp);
	if (err) {
		ret = listen_error(sp, err);
		sp_discard(sp);
		return ret;
	}
	*ret_psp = (DAT_PSP_HANDLE)sp;
	return DAT_SUCCESS;
}

/*
 * On the next qualifier that can be had. The system may keep more ports to
 * itself than the usual ones, and others may hold any of them.
 */
static int listen_anywhere(struct dapl_sp *sp)
{
	/* Spreads the tries of a process. */
	uint32_t *next = &dapl_process.next_any_qual;
	uint32_t n = sp->obj.ia->cm->ops->any_qual_last - ANY_QUAL_FIRST + 1u;
	uint32_t tries;
	int ret = -EADDRINUSE;

	for (tries = 0; tries < n; tries++) {
		sp->qual = ANY_QUAL_FIRST +
			   __atomic_fetch_add(next, 1, __ATOMIC_RELAXED) % n;
		ret = sp_listen(sp);
		if (ret != -EADDRINUSE && ret != -EACCES)
			break;
	}
	return ret;
}

DAT_RETURN dapl_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *ret_qual,
			       DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			       DAT_PSP_HANDLE *ret_psp)
{
	struct dapl_evd *evd;
	struct dapl_ia *ia;
	struct dapl_sp *sp;
	DAT_RETURN ret;
	int err;

	if (!ret_qual)
		return dapl_fail(DAPL_BAD_ARG(2), "no place for the qualifier");
	ret = check_psp(ia_handle, evd_handle, flags, ret_psp, &ia, &evd);
	if (ret != DAT_SUCCESS)
		return ret;
	sp = sp_new(ia, &psp_ops, 0, evd);
	if (!sp)
		return dapl_fail(DAPL_NO_MEM, "psp: no memory");
	sp->psp_flags = flags;
	sp->makes_ep = flags == DAT_PSP_PROVIDER_FLAG;
	err = listen_anywhere(sp);
	if (err) {
		ret = err == -EADDRINUSE || err == -EACCES
			      ? dapl_fail(
					DAPL_ERR(DAT_CONN_QUAL_UNAVAILABLE, 0),
					"psp: every qualifier is taken")
			      : listen_error(sp, err);
		sp_discard(sp);
		return ret;
	}
	dapl_ia_count(ia, DCNT_IA_PSP_CREATE_ANY);
	*ret_qual = sp->qual;
	*ret_psp = (DAT_PSP_HANDLE)sp;
	return DAT_SUCCESS;
}

static DAT_RETURN rsp_reserve(struct dapl_sp *sp, struct dapl_ep *ep)
{
	DAT_RETURN ret = dapl_ep_reserve(ep);

	if (ret != DAT_SUCCESS)
		return ret;
	dapl_obj_get(&ep->obj);
	sp->ep = ep;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual,
			   DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			   DAT_RSP_HANDLE *ret_rsp)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct dapl_ep *ep = dapl_ep_from(ep_handle);
	struct dapl_evd *evd;
	struct dapl_sp *sp;
	DAT_RETURN ret = DAT_SUCCESS;
	int err;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (ep_handle != DAT_HANDLE_NULL && (!ep || ep->obj.ia != ia))
		return dapl_fail(DAPL_BAD_HANDLE(EP), "no such EP");
	if (ep && ep->qp.ud)
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "ep %p: datagram endpoints are found by a PSP",
				 (void *)ep);
	ret = check_sp_evd(ia, evd_handle, &evd);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!ret_rsp)
		return dapl_fail(DAPL_BAD_ARG(5), "no place for the handle");
	sp = sp_new(ia, &rsp_ops, qual, evd);
	if (!sp)
		return dapl_fail(DAPL_NO_MEM, "rsp: no memory");
	sp->makes_ep = !ep;
	if (ep)
		ret = rsp_reserve(sp, ep);
	if (ret != DAT_SUCCESS) {
		sp_discard(sp);
		return ret;
	}
	err = sp_listen(sp);
	if (err) {
		ret = listen_error(sp, err);
		rsp_unreserve(ep);
		sp_discard(sp);
		return ret;
	}
	*ret_rsp = (DAT_RSP_HANDLE)sp;
	return DAT_SUCCESS;
}

bool dapl_sp_addr_qual(const struct sockaddr *addr, DAT_CONN_QUAL *ret_qual)
{
	switch (addr->sa_family) {
	case AF_INET:
		*ret_qual = ntohs(((const struct sockaddr_in *)addr)->sin_port);
		return true;
	case AF_INET6:
		*ret_qual =
			ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
		return true;
	default:
		return false;
	}
}

/*
 * A CSP is a listener named as sockets are: family, type, protocol and an
 * address whose port is the qualifier. The address itself is the IA's.
 */
static DAT_RETURN check_comm(const struct dapl_ia *ia, const DAT_COMM *comm,
			     DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL *ret_qual)
{
	if (ia->cm->ops->addr_without_port)
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "csp: addresses of %s have no port; use a PSP",
				 ia->cm->ops->name);
	if ((comm->domain != AF_INET && comm->domain != AF_INET6) ||
	    comm->type != SOCK_STREAM ||
	    (comm->protocol && comm->protocol != IPPROTO_TCP))
		return dapl_fail(DAPL_ERR(DAT_COMM_NOT_SUPPORTED, 0),
				 "csp: only stream sockets of AF_INET and "
				 "AF_INET6 have a counterpart here");
	if (((struct sockaddr *)addr)->sa_family != comm->domain ||
	    !dapl_sp_addr_qual((struct sockaddr *)addr, ret_qual))
		return dapl_fail(DAPL_ERR(DAT_INVALID_ADDRESS,
					  DAT_INVALID_ADDRESS_MALFORMED),
				 "csp: the address is not of the "
				 "communicator's family");
	return DAT_SUCCESS;
}

DAT_RETURN dapl_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
			   DAT_IA_ADDRESS_PTR addr, DAT_EVD_HANDLE evd_handle,
			   DAT_CSP_HANDLE *ret_csp)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct dapl_evd *evd = NULL;
	struct dapl_sp *sp;
	DAT_CONN_QUAL qual = 0;
	DAT_RETURN ret;
	int err;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (!comm || !addr)
		return dapl_fail(comm ? DAPL_BAD_ARG(3) : DAPL_BAD_ARG(2),
				 "csp: no %s",
				 comm ? "address" : "communicator");
	ret = check_sp_evd(ia, evd_handle, &evd);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!ret_csp)
		return dapl_fail(DAPL_BAD_ARG(5), "no place for the handle");
	ret = check_comm(ia, comm, addr, &qual);
	if (ret != DAT_SUCCESS)
		return ret;
	sp = sp_new(ia, &csp_ops, qual, evd);
	if (!sp)
		return dapl_fail(DAPL_NO_MEM, "csp: no memory");
	sp->comm = *comm;
	memcpy(&sp->addr, addr,
	       comm->domain == AF_INET6 ? sizeof(struct sockaddr_in6)
					: sizeof(struct sockaddr_in));
	err = sp_listen(sp);
	if (err) {
		ret = err == -EADDRINUSE
			      ? dapl_fail(DAPL_ERR(DAT_PORT_IN_USE, 0),
					  "csp: port %llu is taken",
					  (unsigned long long)qual)
			      : listen_error(sp, err);
		sp_discard(sp);
		return ret;
	}
	*ret_csp = (DAT_CSP_HANDLE)sp;
	return DAT_SUCCESS;
}

/* --------------------------------------------------- query */

DAT_RETURN dapl_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask,
			  DAT_CSP_PARAM *ret_param)
{
	struct dapl_sp *sp = dapl_csp_from(handle);

	if (!sp)
		return dapl_fail(DAPL_BAD_HANDLE(CSP), "no such CSP");
	if (mask & ~(unsigned)DAT_CSP_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	ret_param->ia_handle = dapl_obj_ia_handle(&sp->obj);
	ret_param->comm = &sp->comm;
	ret_param->address_ptr = (DAT_IA_ADDRESS_PTR)&sp->addr;
	ret_param->evd_handle = (DAT_EVD_HANDLE)sp->evd;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask,
			  DAT_PSP_PARAM *ret_param)
{
	struct dapl_sp *sp = dapl_psp_from(handle);

	if (!sp)
		return dapl_fail(DAPL_BAD_HANDLE(PSP), "no such PSP");
	if (mask & ~(unsigned)DAT_PSP_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	ret_param->ia_handle = dapl_obj_ia_handle(&sp->obj);
	ret_param->conn_qual = sp->qual;
	ret_param->evd_handle = (DAT_EVD_HANDLE)sp->evd;
	ret_param->psp_flags = sp->psp_flags;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask,
			  DAT_RSP_PARAM *ret_param)
{
	struct dapl_sp *sp = dapl_rsp_from(handle);

	if (!sp)
		return dapl_fail(DAPL_BAD_HANDLE(RSP), "no such RSP");
	if (mask & ~(unsigned)DAT_RSP_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	ret_param->ia_handle = dapl_obj_ia_handle(&sp->obj);
	ret_param->conn_qual = sp->qual;
	ret_param->evd_handle = (DAT_EVD_HANDLE)sp->evd;
	dapl_lock(&sp->lock);
	ret_param->ep_handle = (DAT_EP_HANDLE)sp->ep;
	dapl_unlock(&sp->lock);
	return DAT_SUCCESS;
}

/* ---------------------------------------------------- free */

static DAT_RETURN sp_free(struct dapl_sp *sp, DAT_RETURN bad_handle)
{
	if (!sp || !dapl_obj_retire(&sp->obj, false))
		return dapl_fail(bad_handle, "no such service point");
	dapl_obj_end(&sp->obj);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_psp_free(DAT_PSP_HANDLE handle)
{
	return sp_free(dapl_psp_from(handle), DAPL_BAD_HANDLE(PSP));
}

/*
 * Historic programs free an RSP after its request, and take a refusal for a
 * failed connection: once, while the memory is no other object's, it succeeds.
 */
static bool rsp_was_spent(DAT_RSP_HANDLE handle)
{
	struct dapl_obj *obj = (struct dapl_obj *)handle;
	uint32_t spent = RSP_SPENT;

	return obj && !((uintptr_t)obj & (sizeof(void *) - 1)) &&
	       __atomic_compare_exchange_n(&obj->magic, &spent, 0, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* The service thread may be about to post the request that spent SP. */
static void rsp_wait_posted(const struct dapl_sp *sp)
{
	/* SP's memory is all there is now, and its IA may have been closed. */
	struct dapl_ia *ia = dapl_ia_from((DAT_IA_HANDLE)sp->obj.ia);

	if (ia)
		dapl_loop_barrier(ia->loop);
}

DAT_RETURN dapl_rsp_free(DAT_RSP_HANDLE handle)
{
	struct dapl_sp *sp = dapl_rsp_from(handle);

	/* Living first: its request may spend it at any moment. */
	if (sp && dapl_obj_retire(&sp->obj, false)) {
		dapl_obj_end(&sp->obj);
		return DAT_SUCCESS;
	}
	if (!rsp_was_spent(handle))
		return dapl_fail(DAPL_BAD_HANDLE(RSP), "no such RSP");
	rsp_wait_posted((struct dapl_sp *)handle);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_csp_free(DAT_CSP_HANDLE handle)
{
	return sp_free(dapl_csp_from(handle), DAPL_BAD_HANDLE(CSP));
}
