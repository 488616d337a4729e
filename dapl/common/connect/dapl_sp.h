/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_sp.h - service points (PSP, RSP, CSP) and the requests they get.
 *
 * A service point keeps two references: the consumer's, and the connection
 * manager's from listen() to the upcall unlistened(). A request that arrives
 * while the point is being freed is refused.
 * A CR owns its connection until it is accepted, rejected or handed on, and so
 * does it an endpoint that the provider made for it.
 */
#ifndef DAPL_SP_H
#define DAPL_SP_H

#include <netinet/in.h>

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/services/dapl_lock.h"

struct dapl_evd;

struct dapl_sp {
	struct dapl_obj obj;   /* type PSP, RSP or CSP */
	struct dapl_lock lock; /* role SP */
	struct dapl_cm_listener *listener;
	DAT_CONN_QUAL qual;
	struct dapl_evd *evd;
	DAT_PSP_FLAGS psp_flags;
	struct dapl_ep *ep; /* of an RSP; referenced */
	bool makes_ep;	    /* each request brings an endpoint; constant */
	bool dead;	    /* lock: no more requests */

	/* Of a CSP. */
	DAT_COMM comm;
	struct sockaddr_storage addr;
};

struct dapl_cr {
	struct dapl_obj obj;
	struct dapl_cm_conn *conn;
	struct dapl_ep *ep; /* that comes with the request, or NULL */
	bool ud;	    /* from a datagram endpoint */
	bool ep_ours; /* made for it by the provider; see dapl_ep_provide */
	DAT_CONN_QUAL qual;
	struct sockaddr_storage remote_addr;
	DAT_PORT_QUAL remote_port;
	size_t pdata_size;
	unsigned char pdata[DAPL_CM_PDATA_MAX];
};

static inline struct dapl_sp *dapl_psp_from(DAT_PSP_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_PSP);
}

static inline struct dapl_sp *dapl_rsp_from(DAT_RSP_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_RSP);
}

static inline struct dapl_sp *dapl_csp_from(DAT_CSP_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_CSP);
}

static inline struct dapl_cr *dapl_cr_from(DAT_CR_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_CR);
}

/* Upcalls of the connection manager; see dapl_cm.h. */
void dapl_sp_cm_request(struct dapl_sp *sp, struct dapl_cm_conn *conn,
			const struct dapl_cm_request *req);
void dapl_sp_cm_unlistened(struct dapl_sp *sp);

extern const struct dapl_obj_ops dapl_cr_obj_ops;

DAT_RETURN dapl_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual,
			   DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
			   DAT_PSP_HANDLE *ret_psp);
DAT_RETURN dapl_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *ret_qual,
			       DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
			       DAT_PSP_HANDLE *ret_psp);
DAT_RETURN dapl_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask,
			  DAT_PSP_PARAM *ret_param);
DAT_RETURN dapl_psp_free(DAT_PSP_HANDLE handle);
DAT_RETURN dapl_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual,
			   DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
			   DAT_RSP_HANDLE *ret_rsp);
DAT_RETURN dapl_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask,
			  DAT_RSP_PARAM *ret_param);
DAT_RETURN dapl_rsp_free(DAT_RSP_HANDLE handle);
DAT_RETURN dapl_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm,
			   DAT_IA_ADDRESS_PTR addr, DAT_EVD_HANDLE evd,
			   DAT_CSP_HANDLE *ret_csp);
DAT_RETURN dapl_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask,
			  DAT_CSP_PARAM *ret_param);
DAT_RETURN dapl_csp_free(DAT_CSP_HANDLE handle);
/* Port of a socket address as a qualifier; false: not an IP address. */
bool dapl_sp_addr_qual(const struct sockaddr *addr, DAT_CONN_QUAL *ret_qual);

DAT_RETURN dapl_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask,
			 DAT_CR_PARAM *ret_param);
DAT_RETURN dapl_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep,
			  DAT_COUNT pdata_size, const DAT_PVOID pdata);
DAT_RETURN dapl_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT pdata_size,
			  const DAT_PVOID pdata);
DAT_RETURN dapl_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual);

#endif
