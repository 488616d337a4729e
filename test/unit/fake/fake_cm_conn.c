/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_cm_conn.c: resolving, connecting, accepting, rejecting, disconnecting.
 * Messages between two ids of the process are function calls; there are no
 * timers, so what a timer would report comes at once or never (fv_cm_set()).
 * Threads: the calls take the fake's lock; cm__ functions expect it held.
 * Ownership: c->peer is cleared on both ends when either goes.
 * Rules: InfiniBand vol. 1 ch. 12.9; private data sizes and padding, reject
 * reasons and return codes as Linux' ib_cm, iw_cm and rdma_cm have them.
 */
#include "fake_cm_int.h"
#include <string.h>

#define REJ_TIMEOUT  4
#define REJ_NO_SID   8
#define REJ_CONSUMER 28
#define REQ_ROOM     56 /* 92 less the 36 bytes of the IP port space header */
#define REP_ROOM     196
#define REJ_ROOM     148

static const struct fv_port_cfg *port_of(const struct cm_id *c)
{
	return &c->dev->cfg.port[c->port - 1];
}

static void adopt_source(struct cm_id *c, struct fv_device *dev, uint8_t port)
{
	in_port_t number = *cm__addr_port(&c->src);

	if (c->dev)
		return;
	c->dev = dev;
	c->port = port;
	/* every device is on this host: the destination is a local address */
	c->src = c->dst;
	*cm__addr_port(&c->src) = number;
}

static int resolve_status(struct cm_id *c)
{
	struct fv_device *dev;
	uint8_t port;

	if (cm__option[FV_CM_ADDR_ERROR])
		return cm__option[FV_CM_ADDR_ERROR];
	dev = cm__addr_device(&c->dst, &port);
	if (!dev)
		return cm__addr_of_host(&c->dst) ? -ENODEV : -ETIMEDOUT;
	if (c->dev && (c->dev->cfg.transport_type != dev->cfg.transport_type ||
		       port_of(c)->attr.link_layer !=
			       dev->cfg.port[port - 1].attr.link_layer))
		return -EHOSTUNREACH;
	adopt_source(c, dev, port);
	return 0;
}

static int resolve_addr(struct cm_id *c, const struct sockaddr *src,
			const struct sockaddr *dst)
{
	struct sockaddr_storage any = {.ss_family = dst->sa_family};
	int err = 0, status;

	if (dst->sa_family != AF_INET && dst->sa_family != AF_INET6)
		return EAFNOSUPPORT;
	if (src && src->sa_family != dst->sa_family)
		return EINVAL;
	if (c->stage == CM_IDLE)
		err = cm__bind(c, src ? src : (struct sockaddr *)&any);
	if (err)
		return err;
	if (c->stage != CM_ADDR_BOUND)
		return EINVAL;
	memset(&c->dst, 0, sizeof(c->dst));
	memcpy(&c->dst, dst,
	       dst->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6));
	c->stage = CM_ADDR_QUERY;
	if (cm__option[FV_CM_ADDR_SILENT])
		return 0;
	status = resolve_status(c);
	c->stage = status ? CM_ADDR_BOUND : CM_ADDR_RESOLVED;
	cm__event(c,
		  status ? RDMA_CM_EVENT_ADDR_ERROR
			 : RDMA_CM_EVENT_ADDR_RESOLVED,
		  status);
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
		      struct sockaddr *dst_addr, int timeout_ms)
{
	int err;

	(void)timeout_ms;
	if (fv__call("rdma_resolve_addr"))
		return -1;
	err = resolve_addr(cm_of(id), src_addr, dst_addr);
	return fv__done(cm__fail(err));
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	struct cm_id *c = cm_of(id);
	int status = cm__option[FV_CM_ROUTE_ERROR];

	(void)timeout_ms;
	if (fv__call("rdma_resolve_route"))
		return -1;
	if (c->stage != CM_ADDR_RESOLVED)
		return fv__done(cm__fail(EINVAL));
	c->stage = CM_ROUTE_QUERY;
	if (!cm__option[FV_CM_ROUTE_SILENT]) {
		c->stage = status ? CM_ADDR_RESOLVED : CM_ROUTE_RESOLVED;
		cm__event(c,
			  status ? RDMA_CM_EVENT_ROUTE_ERROR
				 : RDMA_CM_EVENT_ROUTE_RESOLVED,
			  status);
	}
	return fv__done(0);
}

/* librdmacm refuses depths the device does not have before it asks anybody */
static int take_param(struct cm_id *c, const struct rdma_conn_param *p,
		      unsigned int room)
{
	const struct ibv_device_attr *a = &c->dev->cfg.attr;
	struct rdma_conn_param zero = {0};
	uint32_t qpn;

	if (!p && !c->id.qp)
		return EINVAL;
	if (!p)
		p = &zero;
	if (p->responder_resources != RDMA_MAX_RESP_RES &&
	    p->responder_resources > a->max_qp_rd_atom)
		return EINVAL;
	if (p->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    p->initiator_depth > a->max_qp_init_rd_atom)
		return EINVAL;
	if (p->private_data_len > room)
		return EINVAL;
	qpn = c->id.qp ? c->id.qp->qp_num : p->qp_num;
	if (cm_iwarp(c)) {
		struct fv_qp *q = fv__qp(qpn);

		if (!q || q->qp.context->device != &c->dev->dev ||
		    q->attr.qp_state > IBV_QPS_INIT)
			return EINVAL;
	}
	c->local = *p;
	c->local.qp_num = qpn;
	if (p->responder_resources == RDMA_MAX_RESP_RES)
		c->local.responder_resources = (uint8_t)a->max_qp_rd_atom;
	if (p->initiator_depth == RDMA_MAX_INIT_DEPTH)
		c->local.initiator_depth = (uint8_t)a->max_qp_init_rd_atom;
	return 0;
}

/* What one end offers as responder is what the other may initiate. */
static struct rdma_conn_param crossed(const struct cm_id *from)
{
	struct rdma_conn_param p = from->local;

	p.responder_resources = from->local.initiator_depth;
	p.initiator_depth = from->local.responder_resources;
	return p;
}

static void adopt_remote(struct cm_id *c, const struct cm_id *from)
{
	uint8_t index;

	c->remote_qpn = from->local.qp_num;
	c->remote_psn = from->psn;
	c->remote_lid = port_of(from)->attr.lid;
	cm__gid_of(port_of(from), &from->src, &c->remote_gid, &index);
}

struct cm_id *cm__listener_for(struct cm_id *c)
{
	struct fv_obj *o;

	fv_for_each(o, FV_OBJ_CM_ID)
	{
		struct cm_id *l = fv_container(o, struct cm_id, obj);

		if (l->stage != CM_LISTEN || l->id.ps != c->id.ps ||
		    *cm__addr_port(&l->src) != *cm__addr_port(&c->dst))
			continue;
		if (cm__addr_equal(&l->src, &c->dst))
			return l;
		if (cm__addr_any(&l->src) &&
		    (l->src.ss_family == c->dst.ss_family ||
		     (l->src.ss_family == AF_INET6 && !l->afonly)))
			return l;
	}
	return NULL;
}

static void rejected(struct cm_id *c, int status,
		     const struct rdma_conn_param *data)
{
	c->state = CM_OVER;
	cm__event_conn(c, c, RDMA_CM_EVENT_REJECTED, status, data,
		       cm_iwarp(c) ? 0 : REJ_ROOM);
}

struct cm_id *cm__passive_new(struct cm_id *c, struct cm_id *l)
{
	struct cm_id *p = cm__id_new(l->id.channel, l->id.context, l->id.ps);

	p->obj.hidden = true;
	p->passive = true;
	p->dev = cm__addr_device(&c->dst, &p->port);
	p->src = c->dst;
	p->dst = c->src;
	p->stage = CM_CONNECT;
	p->state = CM_REQ_RCVD;
	p->peer = c;
	c->peer = p;
	cm__show(p, true);
	return p;
}

static void request(struct cm_id *c, struct cm_id *l)
{
	struct cm_id *p = cm__passive_new(c, l);
	struct rdma_conn_param seen;

	adopt_remote(p, c);
	seen = crossed(c);
	p->local.responder_resources = seen.responder_resources;
	p->local.initiator_depth = seen.initiator_depth;
	p->local.rnr_retry_count = seen.rnr_retry_count;
	cm__event_conn(l, p, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &seen,
		       cm_iwarp(c) ? 0 : REQ_ROOM);
}

static int do_connect(struct cm_id *c, const struct rdma_conn_param *param)
{
	bool iwarp = cm_iwarp(c);
	struct cm_id *l;
	int err;

	if (c->stage != CM_ROUTE_RESOLVED)
		return EINVAL;
	err = take_param(c, param, iwarp ? 255 : REQ_ROOM);
	if (err)
		return err;
	if (iwarp && cm__option[FV_CM_PORT_TAKEN]) {
		cm__option[FV_CM_PORT_TAKEN]--;
		return EADDRINUSE;
	}
	l = cm__listener_for(c);
	if (iwarp && !l && cm__option[FV_CM_REFUSE_SYNC])
		return ECONNREFUSED;
	c->stage = CM_CONNECT;
	c->state = CM_REQ_SENT;
	if (cm__option[FV_CM_BLACKHOLE])
		return 0;
	if (cm__option[FV_CM_UNREACHABLE]) {
		c->state = CM_OVER;
		cm__event(c, RDMA_CM_EVENT_UNREACHABLE,
			  cm__option[FV_CM_UNREACHABLE]);
	} else if (cm__option[FV_CM_REJECT]) {
		rejected(c, cm__option[FV_CM_REJECT], NULL);
	} else if (!l) {
		rejected(c, iwarp ? -ECONNREFUSED : REJ_NO_SID, NULL);
	} else if (l->waiting >= l->backlog) {
		rejected(c, iwarp ? -ECONNRESET : REJ_CONSUMER, NULL);
	} else {
		request(c, l);
	}
	/* the caller's buffer is the caller's again */
	c->local.private_data = NULL;
	c->local.private_data_len = 0;
	return 0;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	int err;

	if (fv__call("rdma_connect"))
		return -1;
	err = cm_ud(cm_of(id)) ? cm__ud_connect(cm_of(id), conn_param)
			       : do_connect(cm_of(id), conn_param);
	return fv__done(cm__fail(err));
}

static void bind_qp(struct cm_id *c)
{
	struct fv_qp *q = fv__qp(c->local.qp_num);

	/* Nothing leads out of ERR but RESET. */
	if (!q || q->attr.qp_state == IBV_QPS_ERR)
		return;
	q->peer_qpn = c->remote_qpn;
	fv__qp_set_state(q, IBV_QPS_RTS);
}

static void established_iwarp(struct cm_id *c, struct cm_id *peer,
			      const struct rdma_conn_param *seen)
{
	peer->state = c->state = CM_ESTABLISHED;
	bind_qp(peer);
	bind_qp(c);
	fv__kick_all();
	cm__event(c, RDMA_CM_EVENT_ESTABLISHED, 0);
	cm__event_conn(peer, peer, RDMA_CM_EVENT_ESTABLISHED, 0, seen, 0);
}

static int do_accept(struct cm_id *c, const struct rdma_conn_param *param)
{
	bool iwarp = cm_iwarp(c);
	struct cm_id *peer = c->peer;
	struct rdma_conn_param seen;
	int err;

	if (c->state != CM_REQ_RCVD)
		return EINVAL;
	if (!peer)
		return iwarp ? ECONNRESET : EINVAL;
	err = take_param(c, param, iwarp ? 255 : REP_ROOM);
	if (!err && c->id.qp && !iwarp)
		err = cm__own_qp_connect(c);
	if (err) {
		c->state = CM_OVER;
		rejected(peer, iwarp ? -ECONNRESET : REJ_CONSUMER, NULL);
		return err;
	}
	seen = crossed(c);
	c->local.private_data = NULL;
	c->local.private_data_len = 0;
	c->state = CM_REP_SENT;
	if (cm__option[FV_CM_LOSE_REP])
		return 0;
	adopt_remote(peer, c);
	peer->local.responder_resources = seen.responder_resources;
	peer->local.initiator_depth = seen.initiator_depth;
	if (iwarp) {
		established_iwarp(c, peer, &seen);
		return 0;
	}
	peer->state = CM_REP_RCVD;
	cm__event_conn(peer, peer, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, &seen,
		       REP_ROOM);
	return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	int err;

	if (fv__call("rdma_accept"))
		return -1;
	err = cm_ud(cm_of(id)) ? cm__ud_accept(cm_of(id), conn_param)
			       : do_accept(cm_of(id), conn_param);
	return fv__done(cm__fail(err));
}

static int do_establish(struct cm_id *c)
{
	if (c->state != CM_REP_RCVD)
		return EINVAL;
	c->state = CM_ESTABLISHED;
	if (!c->peer || c->peer->state != CM_REP_SENT ||
	    cm__option[FV_CM_LOSE_RTU])
		return 0;
	c->peer->state = CM_ESTABLISHED;
	cm__event(c->peer, RDMA_CM_EVENT_ESTABLISHED, 0);
	return 0;
}

int rdma_establish(struct rdma_cm_id *id)
{
	int err;

	if (fv__call("rdma_establish"))
		return -1;
	err = id->qp ? EINVAL : do_establish(cm_of(id));
	return fv__done(cm__fail(err));
}

static int do_reject(struct cm_id *c, const void *data, uint8_t len)
{
	struct rdma_conn_param p = {.private_data = data,
				    .private_data_len = len};
	struct cm_id *peer = c->peer;
	bool iwarp = cm_iwarp(c);

	if (c->state != CM_REQ_RCVD && (iwarp || c->state != CM_REP_RCVD))
		return EINVAL;
	if (!iwarp && len > REJ_ROOM)
		return EINVAL;
	c->state = CM_OVER;
	if (peer)
		rejected(peer, iwarp ? -ECONNRESET : REJ_CONSUMER, &p);
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *private_data,
		uint8_t private_data_len)
{
	int err;

	if (fv__call("rdma_reject"))
		return -1;
	if (cm_ud(cm_of(id)))
		err = cm__ud_reject(cm_of(id), private_data, private_data_len);
	else
		err = do_reject(cm_of(id), private_data, private_data_len);
	return fv__done(cm__fail(err));
}

static void timewait(struct cm_id *c)
{
	if (cm__option[FV_CM_TIMEWAIT])
		cm__event(c, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
}

/* The answer to a disconnect: both ends are done. */
static void send_drep(struct cm_id *c)
{
	struct cm_id *peer = c->peer;

	c->state = CM_OVER;
	timewait(c);
	if (!peer || peer->state != CM_DREQ_SENT)
		return;
	peer->state = CM_OVER;
	cm__event(peer, RDMA_CM_EVENT_DISCONNECTED, 0);
	timewait(peer);
}

static void send_dreq(struct cm_id *c)
{
	struct cm_id *peer = c->peer;

	c->state = CM_DREQ_SENT;
	if (cm__option[FV_CM_LOSE_DREQ])
		return;
	if (peer &&
	    (peer->state == CM_ESTABLISHED || peer->state == CM_REP_SENT)) {
		peer->state = CM_DREQ_RCVD;
		cm__event(peer, RDMA_CM_EVENT_DISCONNECTED, 0);
		return;
	}
	/* the other kernel answers for an id that is no more */
	c->state = CM_OVER;
	cm__event(c, RDMA_CM_EVENT_DISCONNECTED, 0);
	timewait(c);
}

static void qp_down(struct cm_id *c)
{
	struct fv_qp *q = fv__qp(c->local.qp_num);

	if (q && q->attr.qp_state == IBV_QPS_RTS)
		fv__qp_to_error(q);
}

/* iWARP: the transport under the connection is closed, at both ends. */
void cm__closed(struct cm_id *c)
{
	struct cm_id *peer = c->peer;

	c->state = CM_OVER;
	qp_down(c);
	cm__event(c, RDMA_CM_EVENT_DISCONNECTED, 0);
	if (peer && peer->state == CM_ESTABLISHED)
		cm__closed(peer);
}

void fv__cm_qp_dead(uint32_t qpn)
{
	struct fv_obj *o;

	fv_for_each(o, FV_OBJ_CM_ID)
	{
		struct cm_id *c = fv_container(o, struct cm_id, obj);

		if (cm_iwarp(c) && c->state == CM_ESTABLISHED &&
		    c->local.qp_num == qpn)
			cm__closed(c);
	}
}

void fv__cm_qp_gone(uint32_t qpn)
{
	struct fv_obj *o;

	fv__cm_qp_dead(qpn);
	fv_for_each(o, FV_OBJ_CM_ID)
	{
		struct cm_id *c = fv_container(o, struct cm_id, obj);

		if (cm_iwarp(c) && c->local.qp_num == qpn)
			c->local.qp_num = 0;
	}
}

static int do_disconnect(struct cm_id *c)
{
	if (c->state == CM_NONE || cm_ud(c))
		return EINVAL;
	if (cm_iwarp(c)) {
		if (c->state != CM_ESTABLISHED)
			return EINVAL;
		cm__closed(c);
		return 0;
	}
	cm__own_qp_error(c);
	if (c->state == CM_ESTABLISHED)
		send_dreq(c);
	else if (c->state == CM_DREQ_RCVD)
		send_drep(c);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	int err;

	if (fv__call("rdma_disconnect"))
		return -1;
	err = do_disconnect(cm_of(id));
	return fv__done(cm__fail(err));
}

static void leave_iwarp(struct cm_id *c)
{
	struct cm_id *peer = c->peer;

	if (c->state == CM_ESTABLISHED) {
		c->state = CM_OVER;
		qp_down(c);
		if (peer && peer->state == CM_ESTABLISHED)
			cm__closed(peer);
	} else if (c->state == CM_REQ_RCVD && peer) {
		rejected(peer, -ECONNRESET, NULL);
	}
}

/* What the kernel sends for an id that is destroyed in mid-conversation. */
void cm__leave(struct cm_id *c)
{
	struct cm_id *peer = c->peer;
	enum cm_state st = c->state;

	if (cm_ud(c)) {
		cm__ud_leave(c);
	} else if (cm_iwarp(c)) {
		leave_iwarp(c);
	} else if (peer) {
		if (st == CM_REQ_SENT &&
		    (peer->state == CM_REQ_RCVD || peer->state == CM_REP_SENT))
			rejected(peer, REJ_TIMEOUT, NULL);
		else if ((st == CM_REQ_RCVD || st == CM_REP_SENT) &&
			 (peer->state == CM_REQ_SENT ||
			  peer->state == CM_REP_RCVD))
			rejected(peer, REJ_CONSUMER, NULL);
		else if (st == CM_REP_RCVD && peer->state == CM_REP_SENT)
			rejected(peer, REJ_CONSUMER, NULL);
		else if (st == CM_DREQ_RCVD && peer->state == CM_DREQ_SENT) {
			peer->state = CM_OVER;
			cm__event(peer, RDMA_CM_EVENT_DISCONNECTED, 0);
		} else if (st == CM_ESTABLISHED &&
			   (peer->state == CM_ESTABLISHED ||
			    peer->state == CM_REP_SENT)) {
			peer->state = CM_DREQ_RCVD;
			cm__event(peer, RDMA_CM_EVENT_DISCONNECTED, 0);
		}
	}
	if (peer)
		peer->peer = NULL;
	c->peer = NULL;
	c->state = CM_OVER;
	/* the port is free, no request may arrive any more */
	c->stage = CM_IDLE;
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	struct cm_id *c = cm_of(id);
	int err = 0;

	if (fv__call("rdma_notify"))
		return -1;
	if (cm_iwarp(c)) {
		err = 0;
	} else if (event != IBV_EVENT_COMM_EST) {
		err = EINVAL;
	} else if (c->state == CM_ESTABLISHED) {
		err = EISCONN;
	} else if (c->state != CM_REP_SENT) {
		err = EINVAL;
	} else {
		c->state = CM_ESTABLISHED;
		cm__event(c, RDMA_CM_EVENT_ESTABLISHED, 0);
	}
	return fv__done(cm__fail(err));
}

/* No answer came to what C has sent last. */
static void give_up(struct cm_id *c)
{
	enum rdma_cm_event_type what = RDMA_CM_EVENT_UNREACHABLE;

	switch (c->state) {
	case CM_REQ_SENT:
	case CM_REP_SENT:
		break;
	case CM_DREQ_SENT:
		what = RDMA_CM_EVENT_DISCONNECTED;
		break;
	default:
		return;
	}
	c->state = CM_OVER;
	cm__event(c, what, -ETIMEDOUT);
	if (what == RDMA_CM_EVENT_DISCONNECTED)
		timewait(c);
}

void fv_cm_give_up(void)
{
	struct fv_obj *o;

	fv__enter();
	fv_for_each(o, FV_OBJ_CM_ID)
	{
		struct cm_id *c = fv_container(o, struct cm_id, obj);

		if (!o->hidden)
			give_up(c);
	}
	fv__leave();
}
