/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_ud.c: address handles and datagrams, with a hook that loses, repeats,
 * changes or holds a packet. No multicast.
 * Threads: verbs take the fake's lock; the hook runs under it.
 * Ownership: held packets belong to this file until released or fv_reset().
 * Rules: InfiniBand vol. 1: a multicast LID goes with queue pair 0xffffff only
 * (ch. 10.5), which is an error of the sender's otherwise; C10-93 (an oversized
 * datagram vanishes and still completes), ch. 11.4 (a 40-byte GRH area precedes
 * the data), Q_Key check; a packet without a receive is lost.
 */
#include "fake_int.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define GRH 40

struct held {
	struct fv_link link;
	struct fv_ud_packet pkt;
	struct ibv_send_wr wr;
	struct ibv_ah_attr av;
	uint32_t qkey;
	struct ibv_wc wc;
	uint8_t grh[GRH];
	bool solicited;
};

static struct fv_link held = {&held, &held};
static fv_ud_fn hook;
static void *hook_arg;

static void free_ah(struct fv_obj *obj)
{
	free(fv_container(obj, struct fv_ah, obj));
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct fv_ah *a;
	int err = EINVAL;

	if (fv__call("ibv_create_ah"))
		return NULL;
	fv__block(pd->context);
	if (!fv__is_iwarp(pd->context) && !fv__check_av(pd->context, attr))
		err = fv__lookup(pd->context, FV_LOOKUP_AH, attr);
	if (err)
		return fv__refuse(err);
	a = fv_new(struct fv_ah, FV_OBJ_AH, free_ah);
	a->attr = *attr;
	a->ah.context = pd->context;
	a->ah.pd = pd;
	a->ah.handle = a->obj.num;
	fv_container(pd, struct fv_pd, pd)->obj.refs++;
	fv__leave();
	return &a->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	fv__call_sure("ibv_destroy_ah");
	fv_container(ah->pd, struct fv_pd, pd)->obj.refs--;
	fv__drop(&fv_container(ah, struct fv_ah, ah)->obj);
	return fv__done(0);
}

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static void gid_of_ipv4(const uint8_t *addr, union ibv_gid *ret_gid)
{
	memcpy(ret_gid->raw, mapped, sizeof(mapped));
	memcpy(ret_gid->raw + 12, addr, 4);
}

/* The two ends, by an IPv4 header in the last bytes or else by a GRH. */
static void ends_of(const uint8_t *buf, union ibv_gid *ret_src,
		    union ibv_gid *ret_dst)
{
	if (buf[0] >> 4 != 6 && buf[20] == 0x45) {
		gid_of_ipv4(buf + 32, ret_src);
		gid_of_ipv4(buf + 36, ret_dst);
		return;
	}
	memcpy(ret_src, buf + 8, sizeof(*ret_src));
	memcpy(ret_dst, buf + 24, sizeof(*ret_dst));
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num,
			struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *attr)
{
	union ibv_gid src, dst;
	struct fv_port_cfg *p;
	int index;

	ends_of((const uint8_t *)grh, &src, &dst);
	fv__enter();
	p = fv__port(context, port_num);
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	index = p && (wc->wc_flags & IBV_WC_GRH) ? fv__gid_index(p, &dst) : 0;
	if (p && (wc->wc_flags & IBV_WC_GRH) && index >= 0) {
		attr->is_global = 1;
		attr->grh.dgid = src;
		attr->grh.sgid_index = (uint8_t)index;
		attr->grh.hop_limit = 0xff;
	}
	return fv__done(p && index >= 0 ? 0 : -1);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
				     struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

/* Whether the address leads to the port the queue pair sits on. */
bool fv__reaches(const struct ibv_ah_attr *av, struct fv_qp *dst)
{
	const struct fv_port_cfg *p =
		fv__port(dst->qp.context, dst->attr.port_num);

	if (!p || p->attr.state != IBV_PORT_ACTIVE)
		return false;
	if (p->attr.link_layer == IBV_LINK_LAYER_INFINIBAND)
		return av->dlid >= p->attr.lid &&
		       av->dlid < p->attr.lid + (1 << p->attr.lmc);
	return av->is_global && fv__gid_index(p, &av->grh.dgid) >= 0;
}

static void deliver(const struct held *h)
{
	struct fv_qp *dst = fv__qp(h->pkt.dst_qpn);
	struct ibv_wc wc = h->wc;
	uint8_t buf[GRH + sizeof(h->pkt.data)];
	struct fv_recv *r;

	if (!dst || dst->qp.qp_type != IBV_QPT_UD ||
	    (dst->attr.qp_state != IBV_QPS_RTR &&
	     dst->attr.qp_state != IBV_QPS_RTS &&
	     dst->attr.qp_state != IBV_QPS_SQE) ||
	    dst->attr.qkey != h->qkey || !fv__reaches(&h->av, dst))
		return;
	r = dst->qp.srq ? fv__srq_pop(dst->qp.srq) : fv__rq_pop(&dst->rq);
	if (!r)
		return;
	memset(buf, 0xa5, GRH); /* undefined unless there is a header */
	if (wc.wc_flags & IBV_WC_GRH)
		memcpy(buf, h->grh, GRH);
	memcpy(buf + GRH, h->pkt.data, h->pkt.len);
	wc.byte_len = GRH + h->pkt.len;
	wc.status = fv__scatter(dst, r, buf, wc.byte_len);
	fv__recv_done(dst, r, &wc, h->solicited);
}

static void fill_grh(uint8_t *buf, const union ibv_gid *sgid,
		     const struct ibv_global_route *to)
{
	const struct ibv_grh grh = {
		.version_tclass_flow =
			htobe32(6U << 28 | (uint32_t)to->traffic_class << 20),
		.next_hdr = 0x1b,
		.hop_limit = to->hop_limit,
		.sgid = *sgid,
		.dgid = to->dgid,
	};

	memcpy(buf, &grh, sizeof(grh));
}

/* RoCE v2 between IPv4 addresses. */
static void fill_ipv4(uint8_t *buf, const union ibv_gid *sgid,
		      const struct ibv_global_route *to)
{
	buf[0] = 0x45;
	buf[8] = to->hop_limit;
	buf[9] = IPPROTO_UDP;
	memcpy(buf + 12, sgid->raw + 12, 4);
	memcpy(buf + 16, to->dgid.raw + 12, 4);
}

static void fill(struct held *h, struct fv_qp *q, const struct fv_send *s)
{
	const struct fv_port_cfg *p = fv__port(q->qp.context, q->attr.port_num);
	const struct ibv_ah_attr *av =
		&fv_container(s->wr.wr.ud.ah, struct fv_ah, ah)->attr;

	h->pkt.src_qpn = q->qp.qp_num;
	h->pkt.dst_qpn = s->wr.wr.ud.remote_qpn;
	h->av = *av;
	h->qkey = s->wr.wr.ud.remote_qkey & 0x80000000U
			  ? q->attr.qkey
			  : s->wr.wr.ud.remote_qkey;
	h->solicited = s->wr.send_flags & IBV_SEND_SOLICITED;
	h->wc.opcode = IBV_WC_RECV;
	h->wc.src_qp = q->qp.qp_num;
	/* On Ethernet it can be anything. */
	h->wc.slid = p->attr.link_layer == IBV_LINK_LAYER_ETHERNET
			     ? 0xbeef
			     : p->attr.lid;
	h->wc.sl = av->sl;
	h->wc.pkey_index = 0;
	if (s->wr.opcode == IBV_WR_SEND_WITH_IMM) {
		h->wc.wc_flags |= IBV_WC_WITH_IMM;
		h->wc.imm_data = s->wr.imm_data;
	}
	if (!av->is_global)
		return;
	h->wc.wc_flags |= IBV_WC_GRH;
	if (p->gid_type[av->grh.sgid_index] == IBV_GID_TYPE_ROCE_V2 &&
	    !memcmp(&p->gid[av->grh.sgid_index], mapped, sizeof(mapped)))
		fill_ipv4(h->grh + 20, &p->gid[av->grh.sgid_index], &av->grh);
	else
		fill_grh(h->grh, &p->gid[av->grh.sgid_index], &av->grh);
}

static bool to_a_group(const struct fv_port_cfg *p, const struct fv_send *s)
{
	const struct ibv_ah_attr *av =
		&fv_container(s->wr.wr.ud.ah, struct fv_ah, ah)->attr;

	return p->attr.link_layer == IBV_LINK_LAYER_INFINIBAND &&
	       av->dlid >= 0xc000 && s->wr.wr.ud.remote_qpn != 0xffffff;
}

void fv__ud_send(struct fv_qp *q, struct fv_send *s)
{
	const struct fv_port_cfg *p = fv__port(q->qp.context, q->attr.port_num);
	uint32_t len =
		s->data ? s->data_len : fv__sge_len(s->sge, s->wr.num_sge);
	enum fv_verdict v = FV_DELIVER;
	struct held *h;
	bool ok;

	fv__gather(q, s, NULL, &ok);
	if (!ok) {
		fv__send_done(q, s, IBV_WC_LOC_PROT_ERR, 0);
		return;
	}
	if (to_a_group(p, s)) {
		fv__send_done(q, s, IBV_WC_LOC_QP_OP_ERR, 0);
		return;
	}
	if (len > 128U << p->attr.active_mtu ||
	    len > sizeof(((struct fv_ud_packet *)0)->data)) {
		fv__send_done(q, s, IBV_WC_SUCCESS, len);
		return;
	}
	h = fv__zalloc(sizeof(*h));
	fill(h, q, s);
	h->pkt.len = fv__gather(q, s, h->pkt.data, &ok);
	fv__send_done(q, s, IBV_WC_SUCCESS, len);
	if (hook)
		v = hook(&h->pkt, hook_arg);
	if (h->pkt.len > sizeof(h->pkt.data))
		fv__die("the UD hook made a packet of %u bytes", h->pkt.len);
	if (v == FV_HOLD) {
		fv_link_add(&held, &h->link);
		return;
	}
	if (v != FV_DROP)
		deliver(h);
	if (v == FV_DUP)
		deliver(h);
	free(h);
}

void fv_hook_ud(fv_ud_fn fn, void *arg)
{
	fv__enter();
	hook = fn;
	hook_arg = arg;
	fv__leave();
}

unsigned int fv_ud_release(unsigned int max)
{
	unsigned int n = 0;

	fv__enter();
	while (n < max && !fv_link_empty(&held)) {
		struct held *h = fv_container(held.next, struct held, link);

		fv_link_del(&h->link);
		deliver(h);
		free(h);
		n++;
	}
	fv__leave();
	return n;
}

void fv__ud_reset(void)
{
	hook = NULL;
	while (!fv_link_empty(&held)) {
		struct held *h = fv_container(held.next, struct held, link);

		fv_link_del(&h->link);
		free(h);
	}
}
