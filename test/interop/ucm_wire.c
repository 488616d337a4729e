/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_wire.c - bytes and queue pairs of the peer; see the header.
 */
#include "test/interop/ucm_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QKEY	0x78654321
#define RECVS	64
#define BUF	2048
#define GRH	40
#define RC_SIZE 64

static void die(const char *what)
{
	printf("Bail out! peer: %s: %s\n", what, strerror(errno));
	exit(1);
}

#define MUST(call, what)              \
	do {                          \
		int ret_ = (call);    \
		if (ret_ > 0)         \
			errno = ret_; \
		if (ret_)             \
			die(what);    \
	} while (0)

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* --------------------------------------------------------------- bytes */

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, (uint16_t)(v >> 16));
	put16(p + 2, (uint16_t)v);
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

uint32_t wire_qpn_of(const struct wire_addr *addr)
{
	return get32(addr->b + 4);
}

uint16_t wire_family_of(const struct wire_addr *addr)
{
	uint16_t family;

	memcpy(&family, addr->b, sizeof(family));
	return family;
}

uint8_t wire_type_of(const struct wire_addr *addr)
{
	return addr->b[27];
}

struct wire_addr wire_block(const struct wire *w, uint32_t qpn, uint8_t type)
{
	struct wire_addr addr = {{0}};

	put16(addr.b + 2, w->port.lid);
	put32(addr.b + 4, qpn);
	memcpy(addr.b + 8, w->gid.raw, 16);
	addr.b[27] = type;
	return addr;
}

struct wire_addr wire_address(const struct wire *w)
{
	struct wire_addr addr = wire_block(w, w->qp->qp_num, WIRE_UD);
	uint16_t family = 10;

	memcpy(addr.b, &family, sizeof(family));
	return addr;
}

size_t wire_encode(const struct wire_msg *m, uint8_t *p)
{
	memset(p, 0, WIRE_HEADER);
	put16(p, m->ver);
	put16(p + 2, m->op);
	put16(p + 4, m->sport);
	put16(p + 6, m->dport);
	put32(p + 8, m->sqpn);
	put32(p + 12, m->dqpn);
	put16(p + 16, m->p_size);
	put32(p + 20, m->s_id);
	put32(p + 24, m->d_id);
	p[28] = m->responder_resources;
	p[31] = m->rtns;
	p[32] = m->mtu;
	memcpy(p + 36, m->saddr.b, 28);
	memcpy(p + 64, m->daddr.b, 28);
	if (m->op > WIRE_REJ_CM)
		return WIRE_HEADER;
	memcpy(p + WIRE_HEADER, m->pdata, m->p_size);
	return (size_t)WIRE_HEADER + m->p_size;
}

static bool all_zero(const uint8_t *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (p[i])
			return false;
	return true;
}

static void decode(const uint8_t *p, size_t len, struct wire_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->ver = get16(p);
	m->op = get16(p + 2);
	m->sport = get16(p + 4);
	m->dport = get16(p + 6);
	m->sqpn = get32(p + 8);
	m->dqpn = get32(p + 12);
	m->p_size = get16(p + 16);
	m->s_id = get32(p + 20);
	m->d_id = get32(p + 24);
	m->responder_resources = p[28];
	m->rtns = p[31];
	m->mtu = p[32];
	memcpy(m->saddr.b, p + 36, 28);
	memcpy(m->daddr.b, p + 64, 28);
	m->zeros = all_zero(p, 18, 20) && all_zero(p, 29, 31) &&
		   all_zero(p, 33, 36) && all_zero(p, 92, WIRE_HEADER);
	m->len = len;
	if (len > WIRE_HEADER && len <= WIRE_HEADER + WIRE_PDATA)
		memcpy(m->pdata, p + WIRE_HEADER, len - WIRE_HEADER);
}

/* ---------------------------------------------------------------- verbs */

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	if (!list)
		die("no devices");
	for (int i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	if (!ctx)
		die(name);
	return ctx;
}

/* A GID may be there once for each version of RoCE; the later one routes. */
int wire_gid_index(const char *device, const uint8_t *gid)
{
	struct ibv_context *ctx = open_device(device);
	struct ibv_gid_entry entries[256];
	ssize_t n = ibv_query_gid_table(ctx, entries, 256, 0);
	int found = -1;

	for (ssize_t i = 0; i < n; i++)
		if (entries[i].port_num == 1 &&
		    entries[i].gid_type != IBV_GID_TYPE_ROCE_V1 &&
		    !memcmp(entries[i].gid.raw, gid, 16))
			found = (int)entries[i].gid_index;
	ibv_close_device(ctx);
	return found;
}

static void post_buffer(struct wire *w, int i)
{
	struct ibv_sge sge = {(uintptr_t)(w->mem + (size_t)i * BUF), BUF,
			      w->mr->lkey};
	struct ibv_recv_wr wr = {
		.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	MUST(ibv_post_recv(w->qp, &wr, &bad), "post receive");
}

static void to_rts_ud(struct wire *w)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	MUST(ibv_modify_qp(w->qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   IBV_QP_QKEY),
	     "INIT");
	attr.qp_state = IBV_QPS_RTR;
	MUST(ibv_modify_qp(w->qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 1;
	MUST(ibv_modify_qp(w->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

void wire_open(struct wire *w, const char *device, int gid_index)
{
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 16,
			.max_recv_wr = RECVS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
	};

	memset(w, 0, sizeof(*w));
	w->ctx = open_device(device);
	w->gid_index = gid_index;
	MUST(ibv_query_port(w->ctx, 1, &w->port), "port");
	MUST(ibv_query_gid(w->ctx, 1, gid_index, &w->gid), "gid");
	w->pd = ibv_alloc_pd(w->ctx);
	w->chan = ibv_create_comp_channel(w->ctx);
	w->cq = ibv_create_cq(w->ctx, RECVS, NULL, w->chan, 0);
	w->send_cq = ibv_create_cq(w->ctx, 16, NULL, NULL, 0);
	/* One more buffer, to send from. */
	w->mem = calloc(RECVS + 1, BUF);
	if (!w->pd || !w->chan || !w->cq || !w->send_cq || !w->mem)
		die("objects");
	w->mr = ibv_reg_mr(w->pd, w->mem, (size_t)(RECVS + 1) * BUF,
			   IBV_ACCESS_LOCAL_WRITE);
	init.send_cq = w->send_cq;
	init.recv_cq = w->cq;
	w->qp = w->mr ? ibv_create_qp(w->pd, &init) : NULL;
	if (!w->qp)
		die("queue pair");
	to_rts_ud(w);
	for (int i = 0; i < RECVS; i++)
		post_buffer(w, i);
	MUST(ibv_req_notify_cq(w->cq, 0), "notify");
}

static void way_to(const struct wire *w, const struct wire_addr *addr,
		   struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->dlid = get16(addr->b + 2);
	attr->port_num = 1;
	attr->is_global = 1;
	memcpy(attr->grh.dgid.raw, addr->b + 8, 16);
	attr->grh.sgid_index = (uint8_t)w->gid_index;
	attr->grh.hop_limit = 64;
}

/* Waits for the one request under way on CQ. */
static bool done(struct ibv_cq *cq)
{
	int64_t end = now_ms() + 5000;
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n)
			return n > 0 && wc.status == IBV_WC_SUCCESS;
		sched_yield();
	} while (now_ms() < end);
	return false;
}

/* The last one is kept: most messages go where the one before went. */
static struct ibv_ah *ah_to(struct wire *w, const struct wire_addr *addr)
{
	struct ibv_ah_attr attr;

	if (w->ah && !memcmp(&w->ah_to, addr, sizeof(*addr)))
		return w->ah;
	if (w->ah)
		MUST(ibv_destroy_ah(w->ah), "address handle");
	way_to(w, addr, &attr);
	w->ah = ibv_create_ah(w->pd, &attr);
	if (!w->ah)
		die("address handle");
	w->ah_to = *addr;
	return w->ah;
}

void wire_send_raw(struct wire *w, const struct wire_addr *addr, uint32_t qpn,
		   const uint8_t *bytes, size_t len)
{
	uint8_t *buf = w->mem + (size_t)RECVS * BUF;
	struct ibv_sge sge = {(uintptr_t)buf, (uint32_t)len, w->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	memcpy(buf, bytes, len);
	wr.wr.ud.ah = ah_to(w, addr);
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = QKEY;
	MUST(ibv_post_send(w->qp, &wr, &bad), "post send");
	if (!done(w->send_cq))
		die("send");
}

void wire_send(struct wire *w, const struct wire_addr *addr,
	       const struct wire_msg *msg)
{
	uint8_t bytes[WIRE_HEADER + WIRE_PDATA];

	wire_send_raw(w, addr, msg->dqpn, bytes, wire_encode(msg, bytes));
}

/* A message that is there already. */
static bool take(struct wire *w, struct wire_msg *ret_msg)
{
	struct ibv_wc wc;
	size_t len;

	while (ibv_poll_cq(w->cq, 1, &wc) > 0) {
		if (wc.status != IBV_WC_SUCCESS)
			die(ibv_wc_status_str(wc.status));
		len = wc.byte_len - GRH;
		if (len >= WIRE_HEADER)
			decode(w->mem + wc.wr_id * BUF + GRH, len, ret_msg);
		ret_msg->src_qpn = wc.src_qp;
		post_buffer(w, (int)wc.wr_id);
		if (len >= WIRE_HEADER && ret_msg->dport == w->id)
			return true;
	}
	return false;
}

bool wire_next(struct wire *w, int ms, struct wire_msg *ret_msg)
{
	struct pollfd pfd = {.fd = w->chan->fd, .events = POLLIN};
	int64_t end = now_ms() + ms, left;
	struct ibv_cq *cq;
	void *context;

	for (;;) {
		if (take(w, ret_msg))
			return true;
		left = end - now_ms();
		if (left <= 0 || poll(&pfd, 1, (int)left) <= 0)
			return false;
		if (!ibv_get_cq_event(w->chan, &cq, &context))
			ibv_ack_cq_events(cq, 1);
		MUST(ibv_req_notify_cq(w->cq, 0), "notify");
	}
}

/* ---------------------------------------------------------------- data */

void wire_rc_open(struct wire *w, struct wire_rc *rc)
{
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_sge sge = {(uintptr_t)rc->mem, RC_SIZE, 0};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	memset(rc, 0, sizeof(*rc));
	rc->cq = ibv_create_cq(w->ctx, 8, NULL, NULL, 0);
	rc->send_cq = ibv_create_cq(w->ctx, 8, NULL, NULL, 0);
	rc->mr = ibv_reg_mr(w->pd, rc->mem, sizeof(rc->mem),
			    IBV_ACCESS_LOCAL_WRITE);
	if (!rc->cq || !rc->send_cq || !rc->mr)
		die("objects");
	init.send_cq = rc->send_cq;
	init.recv_cq = rc->cq;
	rc->qp = ibv_create_qp(w->pd, &init);
	if (!rc->qp)
		die("queue pair");
	MUST(ibv_modify_qp(rc->qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   IBV_QP_ACCESS_FLAGS),
	     "INIT");
	sge.lkey = rc->mr->lkey;
	MUST(ibv_post_recv(rc->qp, &wr, &bad), "post receive");
}

void wire_rc_connect(struct wire *w, struct wire_rc *rc,
		     const struct wire_addr *remote, uint8_t mtu)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)mtu,
		.dest_qp_num = wire_qpn_of(remote),
		.rq_psn = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
	};

	way_to(w, remote, &attr.ah_attr);
	MUST(ibv_modify_qp(rc->qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				   IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.sq_psn = 1;
	attr.max_rd_atomic = 1;
	MUST(ibv_modify_qp(rc->qp, &attr,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				   IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

bool wire_rc_send(struct wire_rc *rc, const char *text)
{
	char *buf = (char *)rc->mem + RC_SIZE;
	struct ibv_sge sge = {(uintptr_t)buf, RC_SIZE, rc->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	snprintf(buf, RC_SIZE, "%s", text);
	MUST(ibv_post_send(rc->qp, &wr, &bad), "post send");
	return done(rc->send_cq);
}

const char *wire_rc_received(struct wire_rc *rc)
{
	return done(rc->cq) ? (const char *)rc->mem : NULL;
}

void wire_rc_close(struct wire_rc *rc)
{
	ibv_destroy_qp(rc->qp);
	ibv_dereg_mr(rc->mr);
	ibv_destroy_cq(rc->cq);
	ibv_destroy_cq(rc->send_cq);
}
