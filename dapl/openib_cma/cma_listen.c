/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_listen.c - service points of the CMA provider.
 *
 * Does not know what becomes of a request; it makes a connection of it and
 * hands it up.
 *
 * The id of a listener is destroyed inside unlisten(), on whichever thread, so
 * that the port is free when it returns. That is safe while the service thread
 * has an event of it in hand: rdma_destroy_id() waits until the event is
 * acknowledged, which the service thread does first thing, needing no lock of
 * ours. The listener itself is freed by the service thread, and hence after
 * whatever it was still doing with it.
 */
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "dapl/openib_cma/cma.h"
#include "dapl/openib_cma/cma_addr.h"
#include "dapl/openib_cma/cma_conn.h"

/*
 * The kernel's limit is for requests that the service thread has not fetched,
 * and those beyond it are refused. It takes this for the most that it allows
 * (net.rdma_ucm.max_backlog, 1024).
 */
#define BACKLOG_MAX INT_MAX

static int id_listen(struct cma_listener *l, uint16_t port)
{
	struct sockaddr_storage addr = l->base.node.cm->addr;

	dapl_addr_set_port(&addr, port);
	if (rdma_bind_addr(l->id, (struct sockaddr *)&addr) ||
	    rdma_listen(l->id, BACKLOG_MAX))
		return -errno;
	return 0;
}

int cma_listener_start(struct dapl_cm_listener *base, DAT_CONN_QUAL qual)
{
	struct cma_listener *l = (struct cma_listener *)base;
	void *sp = base->sp;
	uint16_t port;
	int ret;

	if (cma_qual_port(qual, &port))
		return dapl_fail_errno(-EINVAL,
				       "sp %p: qualifier 0 is not a port", sp);
	ret = cma_id_create(cma_from(base->node.cm), l, &l->id);
	if (ret)
		return ret;
	ret = id_listen(l, port);
	if (ret) {
		cma_id_destroy(l->id);
		return dapl_fail_errno(ret,
				       "sp %p: cannot listen on port %u: %s",
				       sp, port, strerror(-ret));
	}
	dapl_log(DAPL_LOG_CM, "sp %p: listens on port %u", sp, port);
	return 0;
}

void cma_listener_stop(struct dapl_cm_listener *base)
{
	cma_id_destroy(((struct cma_listener *)base)->id);
	dapl_cm_ask(&base->node, DAPL_CM_ASK_UNLISTEN);
}

void cma_listener_request(struct cma_listener *l, struct rdma_cm_id *id,
			  const struct cma_event *ev)
{
	struct dapl_cm *cm = l->base.node.cm;
	struct dapl_cm_request req = {
		.peer_addr = rdma_get_peer_addr(id),
		.peer_port = be16toh(rdma_get_dst_port(id)),
		.pdata = ev->size ? ev->pdata : NULL,
		.pdata_size = ev->size,
	};
	struct dapl_cm_conn *conn;

	dapl_count(cm->counts, DCNT_IA_CM_REQ_RX);
	if (dapl_cm_conn_new(cm, NULL, &conn)) {
		dapl_count(cm->counts, DCNT_IA_CM_ERR_REQ_FULLQ);
		/* Without our header, so that the peer does not take it for
		 * the word of a consumer. */
		rdma_reject(id, NULL, 0);
		cma_id_destroy(id);
		return;
	}
	/* rdma_cm gives these as seen from here. */
	conn->depths.responder_resources = ev->responder_resources;
	conn->depths.initiator_depth = ev->initiator_depth;
	((struct cma_conn *)conn)->id = id;
	id->context = conn;
	dapl_cm_conn_request(&l->base, conn, &req);
}
