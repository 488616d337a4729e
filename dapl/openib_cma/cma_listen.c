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

static int id_bind(struct cma_listener *l, uint16_t port, bool ud,
		   struct rdma_cm_id **ret_id)
{
	struct sockaddr_storage addr = l->base.node.cm->addr;
	int ret;

	ret = cma_id_create(cma_from(l->base.node.cm), l, ud, ret_id);
	if (ret)
		return ret;
	dapl_addr_set_port(&addr, port);
	if (!rdma_bind_addr(*ret_id, (struct sockaddr *)&addr))
		return 0;
	ret = -errno;
	cma_id_destroy(*ret_id);
	*ret_id = NULL;
	return ret;
}

/* Programs that have no datagram endpoints need not care who has the port. */
static void ud_listen(struct cma_listener *l, uint16_t port)
{
	int ret = id_bind(l, port, true, &l->ud_id);

	if (!ret && rdma_listen(l->ud_id, BACKLOG_MAX)) {
		ret = -errno;
		cma_id_destroy(l->ud_id);
		l->ud_id = NULL;
	}
	if (ret)
		dapl_log(DAPL_LOG_WARN,
			 "sp %p: no datagram endpoint is asked for: cannot "
			 "listen on their port %u: %s",
			 (void *)l->base.sp, port, strerror(-ret));
}

/* Nothing fails once a request can come. */
int cma_listener_start(struct dapl_cm_listener *base, DAT_CONN_QUAL qual)
{
	struct cma_listener *l = (struct cma_listener *)base;
	void *sp = base->sp;
	uint16_t port;
	int ret;

	if (cma_qual_port(qual, &port))
		return dapl_fail_errno(-EINVAL,
				       "sp %p: qualifier 0 is not a port", sp);
	ret = id_bind(l, port, false, &l->id);
	if (!ret && rdma_listen(l->id, BACKLOG_MAX)) {
		ret = -errno;
		cma_id_destroy(l->id);
	}
	if (ret)
		return dapl_fail_errno(ret,
				       "sp %p: cannot listen on port %u: %s",
				       sp, port, strerror(-ret));
	if (cma_from(base->node.cm)->ud.listens)
		ud_listen(l, port);
	dapl_log(DAPL_LOG_CM, "sp %p: listens on port %u", sp, port);
	return 0;
}

void cma_listener_stop(struct dapl_cm_listener *base)
{
	struct cma_listener *l = (struct cma_listener *)base;

	cma_id_destroy(l->id);
	if (l->ud_id)
		cma_id_destroy(l->ud_id);
	dapl_cm_ask(&base->node, DAPL_CM_ASK_UNLISTEN);
}

/* Without our header, so that the peer does not take it for the word of a
 * consumer. */
static void refuse(struct rdma_cm_id *id)
{
	rdma_reject(id, NULL, 0);
	cma_id_destroy(id);
}

/* Fills in what is to be known of a datagram endpoint; false: it was dealt
 * with. */
static bool ud_request(struct cma *cm, struct rdma_cm_id *id,
		       const struct cma_event *ev, struct dapl_cm_request *req,
		       struct cma_ud_peer *ret_peer)
{
	const char *wrong;
	const uint8_t *pdata;

	wrong = cma_ud_asked(cm, req->peer_addr, ev, ret_peer, &pdata,
			     &req->pdata_size);
	if (wrong) {
		dapl_log(DAPL_LOG_WARN,
			 "cm %p: a datagram endpoint's request: %s", (void *)cm,
			 wrong);
		refuse(id);
		return false;
	}
	if (cma_ud_again(cm, id, ret_peer)) {
		cma_id_destroy(id);
		return false;
	}
	req->ud = true;
	req->pdata = pdata;
	return true;
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
	struct cma_ud_peer peer = {0};
	struct dapl_cm_conn *base;
	struct cma_conn *conn;

	dapl_count(cm->counts, DCNT_IA_CM_REQ_RX);
	if (id->qp_type == IBV_QPT_UD &&
	    !ud_request(cma_from(cm), id, ev, &req, &peer))
		return;
	if (dapl_cm_conn_new(cm, NULL, &base)) {
		dapl_count(cm->counts, DCNT_IA_CM_ERR_REQ_FULLQ);
		refuse(id);
		return;
	}
	conn = (struct cma_conn *)base;
	conn->qp.ud = req.ud;
	conn->ud = peer;
	/* rdma_cm gives these as seen from here. */
	base->depths.responder_resources = ev->responder_resources;
	base->depths.initiator_depth = ev->initiator_depth;
	conn->id = id;
	id->context = conn;
	dapl_cm_conn_request(&l->base, base, &req);
}
