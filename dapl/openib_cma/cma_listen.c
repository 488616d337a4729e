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
#include <stdlib.h>
#include <string.h>

#include "dapl/openib_cma/cma.h"
#include "dapl/openib_cma/cma_addr.h"

/*
 * The kernel's limit is for requests that the service thread has not fetched,
 * and those beyond it are refused. It takes this for the most that it allows
 * (net.rdma_ucm.max_backlog, 1024).
 */
#define BACKLOG_MAX INT_MAX

static int id_listen(struct dapl_cm_listener *l, uint16_t port)
{
	struct sockaddr_storage addr = l->node.cm->base.addr;

	dapl_addr_set_port(&addr, port);
	if (rdma_bind_addr(l->id, (struct sockaddr *)&addr) ||
	    rdma_listen(l->id, BACKLOG_MAX))
		return -errno;
	return 0;
}

/* Refuses requests from now on. True when the id is to be destroyed here. */
static bool close_listener(struct dapl_cm_listener *l)
{
	bool now;

	dapl_lock(&l->node.cm->lock);
	now = !l->closing && !l->starting;
	l->closing = true;
	dapl_unlock(&l->node.cm->lock);
	return now;
}

static void destroy(struct dapl_cm_listener *l)
{
	cma_id_destroy(l->id);
	cma_node_defer(&l->node);
}

/* listen() is through with the id. */
static void started(struct dapl_cm_listener *l)
{
	bool closing;

	dapl_lock(&l->node.cm->lock);
	l->starting = false;
	closing = l->closing;
	dapl_unlock(&l->node.cm->lock);
	if (closing)
		destroy(l);
}

int cma_listen(struct dapl_cm *base, DAT_CONN_QUAL qual, struct dapl_sp *sp,
	       struct dapl_cm_listener **ret_l)
{
	struct cma *cm = cma_from(base);
	struct dapl_cm_listener *l;
	uint16_t port;
	int ret;

	if (cma_qual_port(qual, &port))
		return dapl_fail_errno(-EINVAL,
				       "sp %p: qualifier 0 is not a port",
				       (void *)sp);
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->sp = sp;
	ret = cma_node_add(cm, &l->node, CMA_LISTENER);
	if (ret)
		goto err_free;
	ret = cma_id_create(cm, l, &l->id);
	if (ret)
		goto err_del;
	/*
	 * The first request may come before the call below returns, and its
	 * upcall may unlisten already; the id must outlive the call, though.
	 */
	l->starting = true;
	*ret_l = l;
	ret = id_listen(l, port);
	if (ret)
		goto err_listen;
	dapl_log(DAPL_LOG_CM, "sp %p: listens on port %u", (void *)sp, port);
	started(l);
	return 0;

err_listen:
	(void)dapl_fail_errno(ret, "sp %p: cannot listen on port %u: %s",
			      (void *)sp, port, strerror(-ret));
	*ret_l = NULL;
	/* The service thread may have a request in hand, so it frees L. */
	l->mute = true;
	close_listener(l);
	started(l);
	return ret;

err_del:
	cma_node_del(&l->node);
err_free:
	free(l);
	return ret;
}

void cma_unlisten(struct dapl_cm_listener *l)
{
	if (close_listener(l))
		destroy(l);
}

void cma_listener_abandon(struct dapl_cm_listener *l)
{
	if (close_listener(l))
		cma_id_destroy(l->id);
	if (!l->mute)
		l->node.cm->base.up->unlistened(l->sp);
}

void cma_listener_run(struct dapl_cm_listener *l)
{
	const struct dapl_cm_up *up = l->node.cm->base.up;
	struct dapl_sp *sp = l->sp;

	bool mute = l->mute;

	cma_node_del(&l->node);
	free(l);
	if (!mute)
		up->unlistened(sp);
}

void cma_listener_request(struct dapl_cm_listener *l, struct rdma_cm_id *id,
			  const struct cma_event *ev)
{
	struct cma *cm = l->node.cm;
	struct dapl_cm_request req = {
		.peer_addr = rdma_get_peer_addr(id),
		.peer_port = be16toh(rdma_get_dst_port(id)),
		.pdata = ev->size ? ev->pdata : NULL,
		.pdata_size = ev->size,
	};
	struct dapl_cm_conn *conn;
	bool closing;

	dapl_lock(&cm->lock);
	closing = l->closing;
	dapl_unlock(&cm->lock);
	if (closing || cma_conn_passive(cm, id, ev, &conn)) {
		/* Without our header, so that the peer does not take it for
		 * the word of a consumer. */
		rdma_reject(id, NULL, 0);
		cma_id_destroy(id);
		return;
	}
	dapl_log(DAPL_LOG_CM, "sp %p: request, conn %p, %zu bytes",
		 (void *)l->sp, (void *)conn, ev->size);
	cm->base.up->request(l->sp, conn, &req);
}
