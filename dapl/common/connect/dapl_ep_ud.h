/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_ud.h - a datagram endpoint and its peers.
 *
 * It is not connected: each dat_ep_connect() and each accepted request ends in
 * an event with an address handle, or in one without; what is sent goes to
 * whatever handle the consumer names. So there is no table of states: there is
 * a list of peers (ep->peers), each an attempt that is not over, or what is
 * left of it for the consumer.
 */
#ifndef DAPL_EP_UD_H
#define DAPL_EP_UD_H

#include <dat2/dat_ib_extensions.h>

#include "dapl/common/connect/dapl_ep.h"

struct dapl_cr;

/* Parts of the calls of these names, for datagram endpoints. */
DAT_RETURN dapl_ep_ud_connect(struct dapl_ep *ep,
			      const struct dapl_cm_connect *req,
			      DAT_TIMEOUT timeout);
DAT_RETURN dapl_ep_ud_accept(struct dapl_ep *ep, const struct dapl_cr *cr,
			     const struct dapl_cm_qp *qp, const void *pdata,
			     size_t size, bool *ret_peer_gone);

/*
 * Gives up all attempts, and frees all address handles; nothing is told. LAST:
 * no peer comes any more.
 */
void dapl_ep_ud_forget_all(struct dapl_ep *ep, bool last);

/* Upcalls of the connection manager; see dapl_cm.h. */
void dapl_ep_ud_event(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		      enum dapl_cm_event event, const void *pdata, size_t size);
int dapl_ep_ud_ah_make(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		       const struct ibv_ah_attr *av, uint32_t qpn,
		       dapl_cm_moved_fn *moved);
void dapl_ep_ud_stop(struct dapl_ep *ep, const struct dapl_cm_conn *conn);

/* Extension operations. */
DAT_RETURN dapl_ep_ud_cm_free(DAT_EP_HANDLE handle, DAT_CONTEXT cm);
DAT_RETURN dapl_ep_ud_ah_free(DAT_EP_HANDLE handle,
			      const DAT_IB_ADDR_HANDLE *ah);

#endif
