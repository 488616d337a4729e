/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * null_path.c - a data path that costs next to nothing; see the header.
 *
 * The fake device makes and connects the queue pairs and knows nothing of what
 * is posted. Rings are made when a queue is first used.
 */
#include "test/bench/null_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/fake/fake_int.h"
#include "test/unit/fake/fake_verbs.h"

#define QUEUES 65536

struct null_cq {
	uint32_t head, tail, mask;
	uint32_t seen; /* head, of those that are not late */
	bool armed;
	struct ibv_wc ring[];
};

struct null_recv {
	uint64_t wr_id;
	uint64_t addr;
};

/* Receives, of one queue pair or of several. */
struct null_rq {
	uint32_t head, tail, mask;
	struct null_recv recvs[];
};

struct null_qp {
	uint32_t num;
	struct null_qp *peer; /* NULL until the first send */
	struct null_cq *send_cq, *recv_cq;
	struct null_rq *rq;
};

static struct null_cq *cqs[QUEUES];  /* by handle */
static struct null_qp *qps[QUEUES];  /* by number */
static struct null_rq *srqs[QUEUES]; /* by handle */
static bool late;

__attribute__((cold, noinline)) static void null_die(const char *why)
{
	fprintf(stderr, "null path: %s\n", why);
	abort();
}

static void *null_alloc(size_t head, size_t entries, size_t size)
{
	void *p = calloc(1, head + entries * size);

	if (!p)
		null_die("no memory");
	return p;
}

static uint32_t null_pow2(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

__attribute__((cold, noinline)) static struct null_cq *
null_cq_make(struct ibv_cq *cq)
{
	uint32_t size = null_pow2((uint32_t)cq->cqe);
	struct null_cq *c;

	if (cq->handle >= QUEUES)
		null_die("too many completion queues");
	c = null_alloc(sizeof(*c), size, sizeof(c->ring[0]));
	c->mask = size - 1;
	cqs[cq->handle] = c;
	return c;
}

static inline struct null_cq *null_cq_of(struct ibv_cq *cq)
{
	struct null_cq *c = cqs[cq->handle];

	return c ? c : null_cq_make(cq);
}

static struct null_rq *null_rq_make(uint32_t n)
{
	uint32_t size = null_pow2(n);
	struct null_rq *rq;

	rq = null_alloc(sizeof(*rq), size, sizeof(rq->recvs[0]));
	rq->mask = size - 1;
	return rq;
}

__attribute__((cold, noinline)) static struct null_rq *
null_srq_make(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	if (srq->handle >= QUEUES || ibv_query_srq(srq, &attr))
		null_die("a shared receive queue that it does not know");
	srqs[srq->handle] = null_rq_make(attr.max_wr);
	return srqs[srq->handle];
}

static inline struct null_rq *null_srq_of(struct ibv_srq *srq)
{
	struct null_rq *rq = srqs[srq->handle];

	return rq ? rq : null_srq_make(srq);
}

__attribute__((cold, noinline)) static struct null_qp *
null_qp_make(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct null_qp *q;

	if (qp->qp_num >= QUEUES || qp->qp_type != IBV_QPT_RC ||
	    ibv_query_qp(qp, &attr, IBV_QP_CAP, &init))
		null_die("a queue pair that it does not know");
	q = null_alloc(sizeof(*q), 0, 0);
	q->num = qp->qp_num;
	q->rq = qp->srq ? null_srq_of(qp->srq)
			: null_rq_make(init.cap.max_recv_wr);
	q->send_cq = null_cq_of(qp->send_cq);
	q->recv_cq = null_cq_of(qp->recv_cq);
	qps[qp->qp_num] = q;
	return q;
}

static inline struct null_qp *null_qp_of(struct ibv_qp *qp)
{
	struct null_qp *q = qps[qp->qp_num];

	return q ? q : null_qp_make(qp);
}

__attribute__((cold, noinline)) static struct null_qp *
null_peer_find(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_DEST_QPN, &init) ||
	    attr.dest_qp_num >= QUEUES || !qps[attr.dest_qp_num])
		null_die("a peer that has posted nothing");
	return qps[attr.dest_qp_num];
}

/* Bytes, without the C library: what that costs is counted as the caller's. */
static inline void null_move(uint64_t to, uint64_t from, uint32_t n)
{
	char *t = (char *)(uintptr_t)to;
	const char *f = (const char *)(uintptr_t)from;

	for (; n >= 8; n -= 8, t += 8, f += 8)
		*(uint64_t *)(void *)t = *(const uint64_t *)(const void *)f;
	while (n--)
		*t++ = *f++;
}

static inline void null_complete(struct null_cq *c, const struct null_qp *q,
				 uint64_t wr_id, enum ibv_wc_opcode opcode,
				 uint32_t length)
{
	struct ibv_wc *wc = &c->ring[c->head & c->mask];

	if (c->head - c->tail > c->mask)
		null_die("a completion queue overruns");
	wc->wr_id = wr_id;
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = opcode;
	wc->byte_len = length;
	wc->qp_num = q->num;
	wc->wc_flags = 0;
	c->head++;
	if (!late)
		c->seen = c->head;
}

__attribute__((cold, noinline)) static void null_arrive(struct null_cq *c,
							struct ibv_cq *cq)
{
	c->armed = false;
	c->seen = c->head;
	fv__enter();
	fv__cq_nudge(cq);
	fv__leave();
}

static int null_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct null_cq *c = null_cq_of(cq);
	int i;

	for (i = 0; i < n && c->tail != c->seen; i++)
		wc[i] = c->ring[c->tail++ & c->mask];
	if (i == 0 && c->armed)
		null_arrive(c, cq);
	return i;
}

static int null_req_notify(struct ibv_cq *cq, int solicited_only)
{
	if (!late)
		return 0;
	null_cq_of(cq)->armed = true;
	return fv__req_notify(cq, solicited_only);
}

static inline int null_receive(struct null_rq *rq, const struct ibv_recv_wr *wr)
{
	struct null_recv *r = &rq->recvs[rq->head & rq->mask];

	if (rq->head - rq->tail > rq->mask || wr->next)
		null_die("more receives than there is room for");
	r->wr_id = wr->wr_id;
	r->addr = wr->num_sge ? wr->sg_list[0].addr : 0;
	rq->head++;
	return 0;
}

static int null_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **ret_bad)
{
	(void)ret_bad;
	return null_receive(null_qp_of(qp)->rq, wr);
}

static int null_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **ret_bad)
{
	(void)ret_bad;
	return null_receive(null_srq_of(srq), wr);
}

static void null_send(struct null_qp *q, uint64_t from, uint32_t length)
{
	struct null_qp *to = q->peer;
	struct null_rq *rq = to->rq;
	const struct null_recv *r = &rq->recvs[rq->tail & rq->mask];

	if (rq->head == rq->tail)
		null_die("a send to who has posted no receive");
	rq->tail++;
	null_move(r->addr, from, length);
	null_complete(to->recv_cq, to, r->wr_id, IBV_WC_RECV, length);
}

static int null_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			  struct ibv_send_wr **ret_bad)
{
	struct null_qp *q = null_qp_of(qp);
	uint64_t local = wr->num_sge ? wr->sg_list[0].addr : 0;
	uint32_t length = wr->num_sge ? wr->sg_list[0].length : 0;

	(void)ret_bad;
	if (wr->num_sge > 1 || wr->next)
		null_die("more than one request or segment");
	switch (wr->opcode) {
	case IBV_WR_SEND:
		if (!q->peer)
			q->peer = null_peer_find(qp);
		null_send(q, local, length);
		break;
	case IBV_WR_RDMA_WRITE:
		null_move(wr->wr.rdma.remote_addr, local, length);
		break;
	case IBV_WR_RDMA_READ:
		null_move(local, wr->wr.rdma.remote_addr, length);
		break;
	default:
		null_die("a request that it does not know");
	}
	if (wr->send_flags & IBV_SEND_SIGNALED)
		null_complete(q->send_cq, q, wr->wr_id,
			      wr->opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
							     : IBV_WC_SEND,
			      length);
	return 0;
}

static void null_ops_set(struct ibv_context_ops *ops)
{
	ops->poll_cq = null_poll_cq;
	ops->req_notify_cq = null_req_notify;
	ops->post_recv = null_post_recv;
	ops->post_srq_recv = null_post_srq_recv;
	ops->post_send = null_post_send;
}

void null_path_late(bool on)
{
	late = on;
}

void null_path_use(void)
{
	fv_data_path(null_ops_set);
}
