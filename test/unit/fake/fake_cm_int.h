/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_cm_int.h: what the files of the fake rdma_cm share.
 * Not for tests: those include fake_verbs.h.
 * Locks: the fake's one lock guards all of it and is held in every cm__ call.
 * Ownership: an id is the caller's once it was returned or read in an event;
 * until then it is hidden and goes with its event.
 * Rules: rdma_cm(7) and its pages; state names follow the InfiniBand CM
 * (vol. 1 ch. 12.9.7).
 */
#ifndef FAKE_CM_INT_H
#define FAKE_CM_INT_H

#include "fake_int.h"
#include <netinet/in.h>
#include <sys/socket.h>

enum cm_stage { /* where the id is on its way to a connection */
	CM_IDLE,
	CM_ADDR_BOUND,
	CM_ADDR_QUERY,
	CM_ADDR_RESOLVED,
	CM_ROUTE_QUERY,
	CM_ROUTE_RESOLVED,
	CM_CONNECT,
	CM_LISTEN,
};

enum cm_state { /* of the connection itself */
	CM_NONE,
	CM_REQ_SENT,
	CM_REQ_RCVD,
	CM_REP_SENT,
	CM_REP_RCVD,
	CM_ESTABLISHED,
	CM_DREQ_SENT,
	CM_DREQ_RCVD,
	CM_OVER, /* rejected, disconnected */
};

struct cm_chan {
	struct fv_obj obj;
	struct rdma_event_channel ch;
	struct fv_queue q; /* of struct cm_event */
};

struct cm_id {
	struct fv_obj obj;
	struct rdma_cm_id id;
	enum cm_stage stage;
	enum cm_state state;
	bool passive, reuse, afonly;
	struct sockaddr_storage src, dst; /* id.route shows them when due */
	struct fv_device *dev;		  /* NULL: bound to any address */
	uint8_t port;
	int backlog, waiting; /* listener: limit, requests not yet read */
	struct cm_id *peer;   /* while both ends exist */
	struct rdma_conn_param local; /* as this end sees the connection */
	/* datagrams: the request, for as long as it may be repeated */
	uint8_t asked[256];
	uint8_t asked_len;
	uint32_t remote_qpn, psn, remote_psn;
	uint16_t remote_lid;
	union ibv_gid remote_gid;
	uint8_t tos, ack_timeout;
	bool ack_timeout_set;
};

struct cm_event {
	struct fv_obj obj;
	struct fv_link link;
	struct rdma_cm_event ev;
	struct cm_id *owner; /* whose acks count it: a request's listener */
	struct cm_id *about; /* ev.id */
	uint8_t pdata[256];
};

extern int cm__option[FV_CM_OPTION_N];

static inline struct cm_id *cm_of(struct rdma_cm_id *id)
{
	return fv_container(id, struct cm_id, id);
}

static inline bool cm_ud(const struct cm_id *c)
{
	return c->id.qp_type == IBV_QPT_UD;
}

static inline bool cm_iwarp(const struct cm_id *c)
{
	return c->dev && c->dev->cfg.transport_type == IBV_TRANSPORT_IWARP;
}

/* fake_cm.c */
int cm__fail(int err);
struct cm_id *cm__id_new(struct rdma_event_channel *ch, void *context,
			 enum rdma_port_space ps);
int cm__device_open(struct fv_device *d);
void cm__show(struct cm_id *c, bool with_dst);
void cm__event(struct cm_id *about, enum rdma_cm_event_type type, int status);
void cm__event_conn(struct cm_id *owner, struct cm_id *about,
		    enum rdma_cm_event_type type, int status,
		    const struct rdma_conn_param *conn, uint8_t padded_len);
/* The same of datagrams; UD's private data is never NULL. */
void cm__event_ud(struct cm_id *owner, struct cm_id *about,
		  enum rdma_cm_event_type type, int status,
		  const struct rdma_ud_param *ud, uint8_t padded_len);

/* fake_cm_addr.c */
bool cm__addr_equal(const void *a, const void *b);
bool cm__addr_any(const void *a);
in_port_t *cm__addr_port(void *a);
struct fv_device *cm__addr_device(const void *addr, uint8_t *ret_port);
bool cm__addr_of_host(const void *addr);
int cm__bind(struct cm_id *c, const struct sockaddr *addr);
void cm__gid_of(const struct fv_port_cfg *p, const void *addr,
		union ibv_gid *ret_gid, uint8_t *ret_index);
void cm__addr_reset(void);

/* fake_cm_conn.c */
void cm__leave(struct cm_id *c); /* the id is going: tell the other end */
struct cm_id *cm__listener_for(struct cm_id *c);
/* The id at the other end of C's request to L, which nobody has seen yet. */
struct cm_id *cm__passive_new(struct cm_id *c, struct cm_id *l);
void cm__closed(struct cm_id *c);

/* fake_cm_ud.c: as rdma_connect() and so on, of an id of RDMA_PS_UDP */
int cm__ud_connect(struct cm_id *c, const struct rdma_conn_param *param);
int cm__ud_accept(struct cm_id *c, const struct rdma_conn_param *param);
int cm__ud_reject(struct cm_id *c, const void *data, uint8_t len);
void cm__ud_leave(struct cm_id *c);

/* fake_cm_qp.c */
void cm__av(struct cm_id *c, struct ibv_ah_attr *av);
int cm__init_qp_attr(struct cm_id *c, struct ibv_qp_attr *attr, int *ret_mask);
int cm__own_qp_connect(struct cm_id *c);
void cm__own_qp_error(struct cm_id *c);

#endif
