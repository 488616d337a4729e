/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_cm_ud.c: rdma_cm's datagram service (RDMA_PS_UDP): a request, and one
 * answer. Who answers hears nothing more; whether the answer arrives, or who
 * asked is still there, he does not know. Who gets none asks again when the
 * test says so (fv_cm_repeat()), and where the first was answered that is
 * another request.
 * Threads: the calls take the fake's lock; cm__ functions expect it held.
 * Rules: InfiniBand vol. 1 ch. 12.11; private data sizes and padding, status
 * and return codes as Linux' ib_cm and rdma_cm have them.
 */
#include "fake_cm_int.h"
#include <string.h>

#define SIDR_UNSUPPORTED 1
#define SIDR_REJECT	 2
#define REQ_ROOM	 180 /* 216 less the 36 bytes of the IP header */
#define REP_ROOM	 136

static void refused(struct cm_id *c, int status, const void *data, uint8_t len)
{
	const struct rdma_ud_param ud = {
		.private_data = data ? data : "",
		.private_data_len = data ? len : 0,
	};

	c->state = CM_OVER;
	cm__event_ud(c, c, RDMA_CM_EVENT_UNREACHABLE, status, &ud, REP_ROOM);
}

static void unlink_ends(struct cm_id *c)
{
	if (c->peer)
		c->peer->peer = NULL;
	c->peer = NULL;
}

static void request(struct cm_id *c, struct cm_id *l)
{
	struct cm_id *p = cm__passive_new(c, l);
	const struct rdma_ud_param ud = {
		.private_data = c->asked,
		.private_data_len = c->asked_len,
	};

	cm__event_ud(l, p, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ud, REQ_ROOM);
}

static void ask(struct cm_id *c)
{
	struct cm_id *l = cm__listener_for(c);

	if (!l)
		refused(c, SIDR_UNSUPPORTED, NULL, 0);
	else if (l->waiting >= l->backlog)
		refused(c, SIDR_REJECT, NULL, 0);
	else
		request(c, l);
}

int cm__ud_connect(struct cm_id *c, const struct rdma_conn_param *param)
{
	if (c->stage != CM_ROUTE_RESOLVED || cm_iwarp(c))
		return EINVAL;
	if (param && param->private_data_len > REQ_ROOM)
		return EINVAL;
	c->asked_len = param ? param->private_data_len : 0;
	if (c->asked_len)
		memcpy(c->asked, param->private_data, c->asked_len);
	c->stage = CM_CONNECT;
	c->state = CM_REQ_SENT;
	if (cm__option[FV_CM_BLACKHOLE])
		return 0;
	if (cm__option[FV_CM_UNREACHABLE])
		refused(c, cm__option[FV_CM_UNREACHABLE], NULL, 0);
	else
		ask(c);
	return 0;
}

/* The one that waits for C's answer, if that arrives; C is done. */
static struct cm_id *answered(struct cm_id *c)
{
	struct cm_id *peer = c->peer;

	c->state = CM_OVER;
	unlink_ends(c);
	return cm__option[FV_CM_LOSE_REP] ? NULL : peer;
}

static void way_to(struct cm_id *from, struct cm_id *to,
		   struct ibv_ah_attr *ret_av)
{
	const struct fv_port_cfg *port = &to->dev->cfg.port[to->port - 1];
	uint8_t index;

	from->remote_lid = port->attr.lid;
	cm__gid_of(port, &to->src, &from->remote_gid, &index);
	cm__av(from, ret_av);
}

int cm__ud_accept(struct cm_id *c, const struct rdma_conn_param *param)
{
	struct rdma_ud_param ud = {.qkey = RDMA_UDP_QKEY};
	struct cm_id *peer;

	if (c->state != CM_REQ_RCVD || !param ||
	    param->private_data_len > REP_ROOM)
		return EINVAL;
	peer = answered(c);
	if (!peer)
		return 0;
	if (cm__option[FV_CM_NO_QKEY]) {
		peer->state = CM_OVER;
		cm__event(peer, RDMA_CM_EVENT_ADDR_ERROR, -EINVAL);
		return 0;
	}
	ud.private_data = param->private_data_len ? param->private_data : "";
	ud.private_data_len = param->private_data_len;
	ud.qp_num = param->qp_num;
	way_to(peer, c, &ud.ah_attr);
	peer->state = CM_ESTABLISHED;
	cm__event_ud(peer, peer, RDMA_CM_EVENT_ESTABLISHED, 0, &ud, REP_ROOM);
	return 0;
}

int cm__ud_reject(struct cm_id *c, const void *data, uint8_t len)
{
	struct cm_id *peer;

	if (c->state != CM_REQ_RCVD || len > REP_ROOM)
		return EINVAL;
	peer = answered(c);
	if (peer)
		refused(peer, SIDR_REJECT, data, len);
	return 0;
}

/* Who was asked and has not answered says no. */
void cm__ud_leave(struct cm_id *c)
{
	struct cm_id *peer;

	if (c->state != CM_REQ_RCVD)
		return;
	peer = answered(c);
	if (peer)
		refused(peer, SIDR_REJECT, NULL, 0);
}

unsigned int fv_cm_repeat(void)
{
	struct fv_obj *o;
	unsigned int n = 0;

	fv__enter();
	fv_for_each(o, FV_OBJ_CM_ID)
	{
		struct cm_id *c = fv_container(o, struct cm_id, obj);

		/* One that was not answered yet makes no other. */
		if (!cm_ud(c) || c->state != CM_REQ_SENT || c->peer)
			continue;
		n++;
		ask(c);
	}
	fv__leave();
	return n;
}
