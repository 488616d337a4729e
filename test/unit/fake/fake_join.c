/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_join.c: two queue pairs that are connected, without the steps that lead
 * there: for tests of what only posts and polls.
 * Threads: any. Ownership: none.
 */
#include <string.h>

#include "fake_int.h"

/* TO as the first port of its device is reached. */
static void join(struct fv_qp *q, struct fv_qp *to)
{
	const struct fv_port_cfg *p = fv__port(to->qp.context, 1);
	struct ibv_qp_attr *a = &q->attr;

	a->dest_qp_num = to->qp.qp_num;
	a->path_mtu = p->attr.active_mtu;
	a->rnr_retry = a->retry_cnt = 7;
	a->max_rd_atomic = a->max_dest_rd_atomic = 4;
	memset(&a->ah_attr, 0, sizeof(a->ah_attr));
	a->ah_attr.port_num = a->port_num = 1;
	a->ah_attr.dlid = p->attr.lid;
	a->ah_attr.is_global = p->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	a->ah_attr.grh.dgid = p->gid[0];
	q->peer_qpn = to->qp.qp_num;
	q->joined = true;
	fv__qp_set_state(q, IBV_QPS_RTS);
}

void fv_join(struct ibv_qp *a, struct ibv_qp *b)
{
	struct fv_qp *qa = fv_container(a, struct fv_qp, qp);
	struct fv_qp *qb = fv_container(b, struct fv_qp, qp);

	fv__enter();
	join(qa, qb);
	join(qb, qa);
	fv__kick_all();
	fv__leave();
}
