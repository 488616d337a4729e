/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma.h - what the files of the CMA provider share: the instance and its
 * listeners.
 *
 * Every rdma_cm id of ours has its connection or listener as context, as the
 * struct dapl_cm_node at its head.
 *
 * Two things about iWARP that no code here can change: the active side has to
 * send first, and soft-iWARP lets nothing go of a connecting queue pair or id
 * before the peer has answered or 10 s are over (so stop() may take that long).
 */
#ifndef CMA_H
#define CMA_H

#include <rdma/rdma_cma.h>

#include "dapl/common/cm/base/dapl_cm_base.h"
#include "dapl/common/services/dapl_log.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/openib_cma/cma_alive.h"
#include "dapl/openib_cma/cma_ud.h"

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
	int goodbye_ms;		 /* until one is given up */
	struct cma_ud ud;
	struct cma_alive alive;
};

struct cma_conn; /* cma_conn.h */

struct cma_listener {
	struct dapl_cm_listener base; /* must stay first */
	struct rdma_cm_id *id;
	struct rdma_cm_id *ud_id; /* the same port of datagrams, or NULL */
};

/* An rdma_cm event, copied so that it could be acknowledged at once. */
struct cma_event {
	enum rdma_cm_event_type type;
	int status;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	/* Of datagrams: the one that answers. */
	uint32_t qpn;
	struct ibv_ah_attr av;
	size_t size;
	uint8_t pdata[CMA_PDATA_CAME];
};

/* What the environment says of connecting. */
struct cma_params {
	int ack_timer; /* or below 0 */
	int arp_timeout_ms;
	int arp_retry_count;
	int route_timeout_ms;
	int route_retry_count;
	int tos;
	int keepalive_ms;
};

extern const struct dapl_param_table cma_param_table;

static inline struct cma *cma_from(struct dapl_cm *base)
{
	return (struct cma *)base;
}

/* cma.c */

int cma_open(const char *ia_params, const struct dapl_cm *base,
	     struct dapl_cm **ret_cm);
void cma_close(struct dapl_cm *base);

/* An id on the instance's channel, of datagrams or not. 0 or -errno. */
int cma_id_create(struct cma *cm, void *context, bool ud,
		  struct rdma_cm_id **ret_id);
void cma_id_destroy(struct rdma_cm_id *id);

/* cma_listen.c */

/* Hooks, see dapl_cm_base.h. */
int cma_listener_start(struct dapl_cm_listener *base, DAT_CONN_QUAL qual);
void cma_listener_stop(struct dapl_cm_listener *base);
/* A request for L, by a peer that ID stands for. Takes ID over. */
void cma_listener_request(struct cma_listener *l, struct rdma_cm_id *id,
			  const struct cma_event *ev);

/* cma_conn.c */

int cma_connect(struct dapl_cm_conn *conn, const struct dapl_cm_connect *req);
int cma_accept(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp,
	       struct dapl_ep *ep, const void *pdata, size_t size);
int cma_reject(struct dapl_cm_conn *conn, const void *pdata, size_t size);
int cma_disconnect(struct dapl_cm_conn *conn);
void cma_release(struct dapl_cm_conn *conn);
int cma_addrs(const struct dapl_cm_conn *conn,
	      struct sockaddr_storage *ret_peer, DAT_PORT_QUAL *ret_peer_port,
	      DAT_PORT_QUAL *ret_local_port);

void cma_conn_event(struct cma_conn *conn, const struct cma_event *ev);
/* Hooks, see dapl_cm_base.h. */
void cma_conn_init(struct dapl_cm_conn *base);
void cma_conn_run(struct dapl_cm_conn *base, unsigned asked);
void cma_conn_released(struct dapl_cm_conn *base);
void cma_conn_abandon(struct dapl_cm_conn *base);
/* Cancels its timer. */
void cma_conn_stop(struct dapl_cm_conn *base);

/* cma_entry.c */

extern const struct dapl_cm_ops cma_ops;

#endif
