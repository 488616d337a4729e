/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pp_verbs.c - an end of pingpong by verbs alone; see pingpong.h. Written as a
 * program would be that knows what it does: inline where it fits, a completion
 * is asked for before a sleep only, and looked for once more after that.
 */
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "test/bench/bench.h"
#include "test/bench/pingpong.h"

#define INLINE 64 /* what the providers ask for */

struct verbs_end {
	struct pp_end e; /* first */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *chan[PP_QUEUES];
	struct ibv_cq *cq[PP_QUEUES];
	struct ibv_qp *qp;
	struct ibv_port_attr port;
	uint32_t max_inline;
	uint8_t gid_index;
	uint64_t there;
	uint32_t rkey;
};

/* What an end tells the other. */
struct verbs_card {
	union ibv_gid gid;
	uint64_t in;
	uint32_t rkey, qpn;
	uint16_t lid;
};

static struct verbs_end *end_of(struct pp_end *e)
{
	return (struct verbs_end *)(void *)e;
}

static void need(bool ok, const char *what)
{
	if (!ok)
		bench_die("verbs: %s failed", what);
}

static void device_open(struct verbs_end *v)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need(list, "ibv_get_device_list");
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), v->e.cfg->name))
			v->ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	need(v->ctx, "opening the device");
	need(!ibv_query_port(v->ctx, 1, &v->port), "ibv_query_port");
}

/* On Ethernet the one of IPv4, which is not told from the others by its place.
 */
static void gid_find(struct verbs_end *v)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	union ibv_gid gid;

	for (int i = 0; i < v->port.gid_tbl_len && i < 256; i++)
		if (!ibv_query_gid(v->ctx, 1, i, &gid) &&
		    !memcmp(gid.raw, mapped, sizeof(mapped))) {
			v->gid_index = (uint8_t)i;
			return;
		}
}

static void qp_make(struct verbs_end *v)
{
	const struct pp_cfg *cfg = v->e.cfg;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = v->cq[PP_REQ],
		.recv_cq = v->cq[PP_RCV],
		.cap = {.max_send_wr = (uint32_t)cfg->requests,
			.max_recv_wr = (uint32_t)cfg->recvs,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = INLINE},
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	v->qp = ibv_create_qp(v->pd, &init);
	need(v->qp, "ibv_create_qp");
	v->max_inline = init.cap.max_inline_data;
	need(!ibv_modify_qp(v->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				    IBV_QP_ACCESS_FLAGS),
	     "INIT");
}

static struct pp_end *v_open(const struct pp_cfg *cfg)
{
	struct verbs_end *v = calloc(1, sizeof(*v));
	const int entries[PP_QUEUES] = {
		[PP_REQ] = cfg->requests, [PP_RCV] = cfg->recvs};

	if (!v)
		bench_die("no memory");
	pp_memory(&v->e, cfg);
	device_open(v);
	gid_find(v);
	v->pd = ibv_alloc_pd(v->ctx);
	need(v->pd, "ibv_alloc_pd");
	v->mr = ibv_reg_mr(v->pd, v->e.in, 2 * (size_t)cfg->half,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(v->mr, "ibv_reg_mr");
	for (int q = 0; q < PP_QUEUES; q++) {
		v->chan[q] = ibv_create_comp_channel(v->ctx);
		need(v->chan[q], "ibv_create_comp_channel");
		v->cq[q] = ibv_create_cq(v->ctx, entries[q] + 1, NULL,
					 v->chan[q], 0);
		need(v->cq[q], "ibv_create_cq");
	}
	qp_make(v);
	return &v->e;
}

static void qp_connect(struct verbs_end *v, const struct verbs_card *to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = v->port.active_mtu,
		.dest_qp_num = to->qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.port_num = 1, .dlid = to->lid},
	};

	if (v->port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.dgid = to->gid;
		attr.ah_attr.grh.sgid_index = v->gid_index;
		attr.ah_attr.grh.hop_limit = 64;
	}
	need(!ibv_modify_qp(v->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	need(!ibv_modify_qp(v->qp, &attr,
			    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void v_connect(struct pp_end *e)
{
	struct verbs_end *v = end_of(e);
	struct verbs_card mine = {.in = (uintptr_t)e->in,
				  .rkey = v->mr->rkey,
				  .qpn = v->qp->qp_num,
				  .lid = v->port.lid};
	struct verbs_card theirs;

	need(!ibv_query_gid(v->ctx, 1, v->gid_index, &mine.gid),
	     "ibv_query_gid");
	bench_tell(e->cfg->peer, &mine, sizeof(mine));
	bench_hear(e->cfg->peer, &theirs, sizeof(theirs));
	v->there = theirs.in;
	v->rkey = theirs.rkey;
	qp_connect(v, &theirs);
	bench_meet(e->cfg->peer);
}

static void v_post_recv(struct pp_end *e)
{
	struct verbs_end *v = end_of(e);
	struct ibv_sge sge = {.addr = (uintptr_t)e->in,
			      .length = e->cfg->half,
			      .lkey = v->mr->lkey};
	struct ibv_recv_wr wr = {
		.wr_id = PP_RCV, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	need(!ibv_post_recv(v->qp, &wr, &bad), "ibv_post_recv");
}

static void v_post(struct pp_end *e, enum pp_post what, uint32_t bytes)
{
	struct verbs_end *v = end_of(e);
	struct ibv_sge sge = {.addr = (uintptr_t)e->out,
			      .length = bytes,
			      .lkey = v->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = PP_REQ,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	if (bytes <= v->max_inline)
		wr.send_flags |= IBV_SEND_INLINE;
	if (what == PP_WRITE) {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = v->there;
		wr.wr.rdma.rkey = v->rkey;
	}
	need(!ibv_post_send(v->qp, &wr, &bad), "ibv_post_send");
}

/* After the question: whatever was there before it, or comes. */
static int sleep_for(struct verbs_end *v, enum pp_queue q, struct ibv_wc *wc)
{
	struct ibv_cq *cq;
	void *context;
	int n;

	need(!ibv_req_notify_cq(v->cq[q], 0), "ibv_req_notify_cq");
	n = ibv_poll_cq(v->cq[q], 1, wc);
	if (n)
		return n;
	need(!ibv_get_cq_event(v->chan[q], &cq, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	return ibv_poll_cq(v->cq[q], 1, wc);
}

static void v_reap(struct pp_end *e, enum pp_queue q)
{
	struct verbs_end *v = end_of(e);
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(v->cq[q], 1, &wc))) {
		if (e->cfg->wait && (n = sleep_for(v, q, &wc)))
			break;
		if (e->cfg->yield)
			sched_yield();
	}
	if (n < 0 || wc.status != IBV_WC_SUCCESS)
		bench_die("verbs: completion status %d", (int)wc.status);
}

static void v_close(struct pp_end *e)
{
	struct verbs_end *v = end_of(e);

	ibv_destroy_qp(v->qp);
	for (int q = 0; q < PP_QUEUES; q++) {
		ibv_destroy_cq(v->cq[q]);
		ibv_destroy_comp_channel(v->chan[q]);
	}
	ibv_dereg_mr(v->mr);
	ibv_dealloc_pd(v->pd);
	ibv_close_device(v->ctx);
	free(e->in);
	free(v);
}

const struct pp_ops pp_verbs = {
	.open = v_open,
	.connect = v_connect,
	.post_recv = v_post_recv,
	.post = v_post,
	.reap = v_reap,
	.close = v_close,
};
