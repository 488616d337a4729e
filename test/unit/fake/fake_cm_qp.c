/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_cm_qp.c: queue pairs as rdma_cm sees them, options, getaddrinfo.
 * Covers rdma_init_qp_attr, rdma_create/destroy_qp, rdma_set_option,
 * rdma_getaddrinfo, rdma_get_devices. No multicast, no ECE, no rdma_create_ep.
 * Threads: each call takes the fake's lock.
 * Ownership: rdma_create_qp() gives the QP to the id; an external one
 * (id->qp NULL) is the caller's to move, with rdma_init_qp_attr().
 * Rule: which attributes come for which state is Linux' ib_cm and iw_cm.
 */
#include "fake_cm_int.h"
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define CM_ACK_TIMEOUT 19
#define CM_RETRY       7

static void attr_before(struct cm_id *c, struct ibv_qp_attr *attr, int *mask)
{
	if (cm_iwarp(c)) {
		attr->qp_access_flags = 0;
		*mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
		return;
	}
	attr->pkey_index = 0;
	attr->port_num = c->port;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (c->id.qp_type == IBV_QPT_UD) {
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
	} else {
		attr->qp_access_flags = 0;
		*mask |= IBV_QP_ACCESS_FLAGS;
	}
}

static int attr_init(struct cm_id *c, struct ibv_qp_attr *attr, int *mask)
{
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (c->local.responder_resources)
		attr->qp_access_flags |=
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	attr->pkey_index = 0;
	attr->port_num = c->port;
	*mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
		IBV_QP_PORT;
	return c->state >= CM_REQ_SENT && c->state <= CM_ESTABLISHED ? 0
								     : EINVAL;
}

void cm__av(struct cm_id *c, struct ibv_ah_attr *av)
{
	const struct fv_port_cfg *p = &c->dev->cfg.port[c->port - 1];
	union ibv_gid gid;

	memset(av, 0, sizeof(*av));
	av->port_num = c->port;
	if (p->attr.link_layer == IBV_LINK_LAYER_INFINIBAND) {
		av->dlid = c->remote_lid;
		return;
	}
	av->is_global = 1;
	av->grh.dgid = c->remote_gid;
	cm__gid_of(p, &c->src, &gid, &av->grh.sgid_index);
	av->grh.hop_limit = 64;
	av->grh.traffic_class = c->tos;
}

static bool knows_peer(const struct cm_id *c)
{
	return c->state >= CM_REQ_RCVD && c->state <= CM_ESTABLISHED;
}

static int attr_rtr(struct cm_id *c, struct ibv_qp_attr *attr, int *mask)
{
	if (!knows_peer(c))
		return EINVAL;
	cm__av(c, &attr->ah_attr);
	attr->path_mtu = c->dev->cfg.port[c->port - 1].attr.active_mtu;
	attr->dest_qp_num = c->remote_qpn;
	attr->rq_psn = c->remote_psn;
	attr->max_dest_rd_atomic = c->local.responder_resources;
	attr->min_rnr_timer = 0;
	*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER;
	return 0;
}

static int attr_rts(struct cm_id *c, struct ibv_qp_attr *attr, int *mask)
{
	if (!knows_peer(c))
		return EINVAL;
	attr->sq_psn = c->psn;
	attr->timeout = c->ack_timeout_set ? c->ack_timeout : CM_ACK_TIMEOUT;
	attr->retry_cnt = CM_RETRY;
	attr->rnr_retry = c->local.rnr_retry_count & 7;
	attr->max_rd_atomic = c->local.initiator_depth;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return 0;
}

static int attr_iwarp(struct cm_id *c, struct ibv_qp_attr *attr, int *mask)
{
	int err = 0;

	*mask = 0;
	if (c->state == CM_NONE) {
		attr_before(c, attr, mask);
	} else if (attr->qp_state == IBV_QPS_INIT ||
		   attr->qp_state == IBV_QPS_RTR) {
		attr->qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		*mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
	} else if (attr->qp_state != IBV_QPS_RTS) {
		err = EINVAL;
	}
	attr->port_num = c->port;
	*mask |= IBV_QP_PORT;
	return err;
}

int cm__init_qp_attr(struct cm_id *c, struct ibv_qp_attr *attr, int *ret_mask)
{
	if (!c->dev)
		return EINVAL;
	if (cm_iwarp(c))
		return attr_iwarp(c, attr, ret_mask);
	if (c->state == CM_NONE || c->id.qp_type == IBV_QPT_UD) {
		attr_before(c, attr, ret_mask);
		return 0;
	}
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		return attr_init(c, attr, ret_mask);
	case IBV_QPS_RTR:
		return attr_rtr(c, attr, ret_mask);
	case IBV_QPS_RTS:
		return attr_rts(c, attr, ret_mask);
	default:
		return EINVAL;
	}
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr,
		      int *qp_attr_mask)
{
	struct ibv_qp_attr attr = {.qp_state = qp_attr->qp_state};
	int err, mask = 0;

	if (fv__call("rdma_init_qp_attr"))
		return -1;
	err = cm__init_qp_attr(cm_of(id), &attr, &mask);
	fv__leave();
	if (err)
		return cm__fail(err);
	*qp_attr = attr;
	*qp_attr_mask = mask;
	return 0;
}

static int own_qp_step(struct cm_id *c, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask, err = cm__init_qp_attr(c, &attr, &mask);

	return err ? err : fv__modify_qp(c->id.qp, &attr, mask);
}

/* What librdmacm does with a QP of its own when the answer arrives. */
int cm__own_qp_connect(struct cm_id *c)
{
	int err = own_qp_step(c, IBV_QPS_INIT);

	if (!err)
		err = own_qp_step(c, IBV_QPS_RTR);
	if (!err)
		err = own_qp_step(c, IBV_QPS_RTS);
	if (err || c->state != CM_REP_RCVD)
		return err;
	c->state = CM_ESTABLISHED;
	if (c->peer && c->peer->state == CM_REP_SENT &&
	    !cm__option[FV_CM_LOSE_RTU]) {
		c->peer->state = CM_ESTABLISHED;
		cm__event(c->peer, RDMA_CM_EVENT_ESTABLISHED, 0);
	}
	return 0;
}

void cm__own_qp_error(struct cm_id *c)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (c->id.qp && c->id.qp->state != IBV_QPS_RESET)
		fv__modify_qp(c->id.qp, &attr, IBV_QP_STATE);
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *init)
{
	struct ibv_qp *qp;
	int err;

	if (fv__call("rdma_create_qp"))
		return -1;
	err = id->qp || !pd || pd->context != id->verbs ? EINVAL : 0;
	fv__leave();
	if (err)
		return cm__fail(err);
	qp = ibv_create_qp(pd, init);
	if (!qp)
		return -1;
	fv__enter();
	id->qp = qp;
	id->pd = pd;
	id->send_cq = init->send_cq;
	id->recv_cq = init->recv_cq;
	err = own_qp_step(cm_of(id), IBV_QPS_INIT);
	if (err)
		id->qp = NULL;
	fv__leave();
	if (err)
		ibv_destroy_qp(qp);
	return cm__fail(err);
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	struct ibv_qp *qp = id->qp;

	id->qp = NULL;
	if (qp)
		ibv_destroy_qp(qp);
}

static int option_id(struct cm_id *c, int name, const void *val, size_t len)
{
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		if (len != sizeof(uint8_t))
			return EINVAL;
		c->tos = *(const uint8_t *)val;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		if (len != sizeof(int))
			return EINVAL;
		c->reuse = *(const int *)val != 0;
		return 0;
	case RDMA_OPTION_ID_AFONLY:
		if (len != sizeof(int))
			return EINVAL;
		c->afonly = *(const int *)val != 0;
		return 0;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (len != sizeof(uint8_t))
			return EINVAL;
		c->ack_timeout = *(const uint8_t *)val & 31;
		c->ack_timeout_set = true;
		return 0;
	default:
		return ENOSYS;
	}
}

int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval,
		    size_t optlen)
{
	int err;

	if (fv__call("rdma_set_option"))
		return -1;
	err = level == RDMA_OPTION_ID
		      ? option_id(cm_of(id), optname, optval, optlen)
		      : ENOSYS;
	return fv__done(cm__fail(err));
}

struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list;
	struct fv_link *l;
	int n = 0;

	if (fv__call("rdma_get_devices"))
		return NULL;
	for (l = fv__devices.next; l != &fv__devices; l = l->next)
		n++;
	list = fv__zalloc((size_t)(n + 1) * sizeof(*list));
	n = 0;
	for (l = fv__devices.next; l != &fv__devices; l = l->next) {
		struct fv_device *d = fv_container(l, struct fv_device, link);

		if (cm__device_open(d)) {
			free(list);
			return fv__refuse(errno);
		}
		list[n++] = &d->cm_ctx->v.context;
	}
	fv__leave();
	if (num_devices)
		*num_devices = n;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

struct addrinfo_obj {
	struct fv_obj obj;
	struct rdma_addrinfo rai;
	struct sockaddr_storage addr;
};

static void free_addrinfo(struct fv_obj *obj)
{
	free(fv_container(obj, struct addrinfo_obj, obj));
}

static struct addrinfo_obj *addrinfo_new(const struct addrinfo *ai, int flags,
					 int ps)
{
	struct addrinfo_obj *r =
		fv_new(struct addrinfo_obj, FV_OBJ_ADDRINFO, free_addrinfo);

	memcpy(&r->addr, ai->ai_addr, ai->ai_addrlen);
	r->rai.ai_flags = flags;
	r->rai.ai_family = ai->ai_family;
	r->rai.ai_port_space = ps ? ps : RDMA_PS_TCP;
	r->rai.ai_qp_type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	if (flags & RAI_PASSIVE) {
		r->rai.ai_src_addr = (struct sockaddr *)&r->addr;
		r->rai.ai_src_len = ai->ai_addrlen;
	} else {
		r->rai.ai_dst_addr = (struct sockaddr *)&r->addr;
		r->rai.ai_dst_len = ai->ai_addrlen;
	}
	return r;
}

int rdma_getaddrinfo(const char *node, const char *service,
		     const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *got, *ai;
	int flags = hints ? hints->ai_flags : 0, rc;
	struct rdma_addrinfo **next = res;

	if (fv__call("rdma_getaddrinfo"))
		return -1;
	fv__leave();
	if (flags & RAI_PASSIVE)
		want.ai_flags |= AI_PASSIVE;
	if (flags & RAI_NUMERICHOST)
		want.ai_flags |= AI_NUMERICHOST;
	if (hints && (flags & RAI_FAMILY))
		want.ai_family = hints->ai_family;
	rc = getaddrinfo(node, service, &want, &got);
	if (rc)
		return rc;
	fv__enter();
	for (ai = got; ai; ai = ai->ai_next) {
		*next = &addrinfo_new(ai, flags,
				      hints ? hints->ai_port_space : 0)
				 ->rai;
		next = &(*next)->ai_next;
	}
	fv__leave();
	freeaddrinfo(got);
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	fv__call_sure("rdma_freeaddrinfo");
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		fv__drop(&fv_container(res, struct addrinfo_obj, rai)->obj);
		res = next;
	}
	fv__leave();
}
