/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma.h - what the files of the CMA provider share: the instance and its nodes.
 *
 * A node is a connection or a listener. Every rdma_cm id of ours has its node
 * as context, and every node is on the instance's list until it is freed.
 *
 * cm->lock (role CONN, like the lock of a connection; the two are never held
 * together) guards the lists. Nothing is called under it except
 * dapl_loop_defer(), which is how a node is queued and the queue's work started
 * in one step that stop() cannot split.
 *
 * Two things about iWARP that no code here can change: the active side has to
 * send first, and soft-iWARP lets nothing go of a connecting queue pair or id
 * before the peer has answered or 10 s are over (so stop() may take that long).
 */
#ifndef CMA_H
#define CMA_H

#include <rdma/rdma_cma.h>

#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/services/dapl_list.h"
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_log.h"
#include "dapl/common/services/dapl_loop.h"

/*
 * What rdma_cm carries in a request over InfiniBand and RoCE. Accepts and
 * rejects could take more, and iWARP too; but the limit that a program sees is
 * one number for all of them, and must hold for whichever it uses.
 */
#define CMA_PDATA_MAX 56
/* The most that rdma_cm can bring. */
#define CMA_PDATA_CAME 256

struct cma {
	struct dapl_cm base; /* must stay first */
	struct rdma_event_channel *chan;
	struct dapl_watch watch;
	struct dapl_timer pause; /* after a failure of the channel */
	struct dapl_work work;

	struct dapl_lock lock;
	bool stopped;		/* lock */
	struct dapl_list nodes; /* lock; all of them */
	struct dapl_list todo;	/* lock; those that WORK has to look at */
	struct dapl_list dead;	/* given up by stop() before their release */
};

enum cma_kind {
	CMA_CONN,
	CMA_LISTENER
};

/* Head of struct dapl_cm_conn and struct dapl_cm_listener. */
struct cma_node {
	enum cma_kind kind;
	struct cma *cm;
	struct dapl_list link; /* cm->nodes, or cm->dead; cm->lock */
	struct dapl_list todo; /* cm->lock */
};

struct dapl_cm_listener {
	struct cma_node node; /* must stay first */
	struct rdma_cm_id *id;
	struct dapl_sp *sp;
	bool starting; /* cm->lock; a thread is inside listen() */
	bool closing;  /* cm->lock */
	bool mute;     /* listen() failed: SP knows nothing of this one */
};

/* An rdma_cm event, copied so that it could be acknowledged at once. */
struct cma_event {
	enum rdma_cm_event_type type;
	int status;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	size_t size;
	uint8_t pdata[CMA_PDATA_CAME];
};

/* What the environment says of connecting. */
struct cma_params {
	int arp_timeout_ms;
	int arp_retry_count;
	int route_timeout_ms;
	int route_retry_count;
	int tos;
};

extern const struct dapl_param_table cma_param_table;

static inline const struct cma_params *cma_params(const struct cma *cm)
{
	return cm->base.params;
}

static inline struct cma *cma_from(struct dapl_cm *base)
{
	return (struct cma *)base;
}

/* cma.c */

int cma_open(const char *ia_params, const struct dapl_cm *base,
	     struct dapl_cm **ret_cm);
int cma_start(struct dapl_cm *base);
void cma_stop(struct dapl_cm *base);
void cma_close(struct dapl_cm *base);

/* Puts NODE on the instance's list. -ECANCELED after stop(). */
int cma_node_add(struct cma *cm, struct cma_node *node, enum cma_kind kind);
/* Takes NODE off all lists. */
void cma_node_del(struct cma_node *node);
/* Has the service thread look at NODE. Nothing happens after stop(). */
void cma_node_defer(struct cma_node *node);
/* An id on the instance's channel. 0 or -errno. */
int cma_id_create(struct cma *cm, void *context, struct rdma_cm_id **ret_id);
void cma_id_destroy(struct rdma_cm_id *id);

/* cma_listen.c */

int cma_listen(struct dapl_cm *base, DAT_CONN_QUAL qual, struct dapl_sp *sp,
	       struct dapl_cm_listener **ret_l);
void cma_unlisten(struct dapl_cm_listener *l);
/* A request for L, by a peer that ID stands for. Takes ID over. */
void cma_listener_request(struct dapl_cm_listener *l, struct rdma_cm_id *id,
			  const struct cma_event *ev);
/* The end of an unlistened L: upcall and free. */
void cma_listener_run(struct dapl_cm_listener *l);
/* Gives L up, unlistened or not, without freeing it. Part of stop(). */
void cma_listener_abandon(struct dapl_cm_listener *l);

/* cma_conn.c */

int cma_prepare(struct dapl_cm *base, struct dapl_ep *ep,
		struct dapl_cm_conn **ret_conn);
int cma_connect(struct dapl_cm_conn *conn, const struct dapl_cm_connect *req);
int cma_accept(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp,
	       struct dapl_ep *ep, const void *pdata, size_t size);
int cma_reject(struct dapl_cm_conn *conn, const void *pdata, size_t size);
int cma_disconnect(struct dapl_cm_conn *conn);
void cma_release(struct dapl_cm_conn *conn);
int cma_addrs(const struct dapl_cm_conn *conn,
	      struct sockaddr_storage *ret_peer, DAT_PORT_QUAL *ret_peer_port,
	      DAT_PORT_QUAL *ret_local_port);

/* The passive connection of a request. Does not take ID over when it fails. */
int cma_conn_passive(struct cma *cm, struct rdma_cm_id *id,
		     const struct cma_event *ev,
		     struct dapl_cm_conn **ret_conn);
void cma_conn_event(struct dapl_cm_conn *conn, const struct cma_event *ev);
/* Does what was deferred for CONN; frees it once released. */
void cma_conn_run(struct dapl_cm_conn *conn);
/* Calls off a move of CONN's queue pair, or waits for it. Part of stop(). */
void cma_conn_stop(struct dapl_cm_conn *conn);
/* Gives CONN up, released or not, without freeing it. Part of stop(). */
void cma_conn_abandon(struct dapl_cm_conn *conn);
void cma_conn_free(struct dapl_cm_conn *conn);

/* cma_entry.c */

extern const struct dapl_cm_ops cma_ops;

#endif
