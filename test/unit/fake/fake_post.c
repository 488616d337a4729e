/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_post.c: posting requests to a queue pair, and completing them.
 * What a driver refuses at once is refused here; what only the device can see
 * becomes a completion (fake_move.c).
 * Threads: fv__post_* take the fake's lock; the rest expects it held.
 * Ownership: a request is copied when posted (inline data too), freed when it
 * completes. In a failed completion only wr_id, status, vendor_err and qp_num
 * mean anything (ibv_poll_cq(3)); the rest is filled with nonsense on purpose.
 */
#include "fake_int.h"
#include <stdlib.h>
#include <string.h>

#define POISON 0xdeadbeefU

static enum ibv_wc_opcode wc_opcode(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	default:
		return IBV_WC_SEND;
	}
}

static void wc_fail(struct ibv_wc *wc)
{
	wc->opcode = (enum ibv_wc_opcode)0x5a5a;
	wc->byte_len = POISON;
	wc->imm_data = POISON;
	wc->src_qp = POISON;
	wc->wc_flags = POISON;
	wc->vendor_err = 0x42;
}

static void complete(struct fv_qp *q, struct ibv_cq *cq, struct fv_cqe *e,
		     bool solicited)
{
	e->wc.qp_num = q->qp.qp_num;
	e->qp_gen = q->gen;
	if (e->wc.status != IBV_WC_SUCCESS)
		wc_fail(&e->wc);
	if (fv__cq_add(cq, e, solicited) || q->in_error)
		return;
	fv__qp_event(q, IBV_EVENT_QP_FATAL);
	fv__qp_to_error(q);
}

void fv__send_done(struct fv_qp *q, struct fv_send *s,
		   enum ibv_wc_status status, uint32_t len)
{
	struct fv_cqe e = {.wc = {.wr_id = s->wr.wr_id,
				  .status = status,
				  .opcode = wc_opcode(s->wr.opcode),
				  .byte_len = len}};
	bool signalled = q->sq_sig_all || status != IBV_WC_SUCCESS ||
			 (s->wr.send_flags & IBV_SEND_SIGNALED);

	free(s->data);
	free(s);
	q->sq_silent++;
	if (!signalled)
		return;
	e.send_n = q->sq_silent;
	q->sq_silent = 0;
	complete(q, q->qp.send_cq, &e, false);
	if (status != IBV_WC_SUCCESS && !q->in_error)
		fv__qp_send_failed(q);
}

void fv__recv_done(struct fv_qp *q, struct fv_recv *r, struct ibv_wc *wc,
		   bool solicited)
{
	struct fv_cqe e = {.wc = *wc, .recv_n = 1};

	e.wc.wr_id = r->wr_id;
	if (q->qp.srq)
		e.srq_num =
			fv_container(q->qp.srq, struct fv_srq, srq)->obj.num;
	free(r);
	complete(q, q->qp.recv_cq, &e, solicited);
	if (wc->status != IBV_WC_SUCCESS && !q->in_error)
		fv__qp_to_error(q);
}

void fv__recv_flush(struct fv_qp *q, struct fv_recv *r)
{
	struct ibv_wc wc = {.status = IBV_WC_WR_FLUSH_ERR};

	fv__recv_done(q, r, &wc, false);
}

static bool opcode_ok(const struct fv_qp *q, const struct ibv_send_wr *wr)
{
	const struct fv_device_cfg *cfg = &fv__device(q->qp.context)->cfg;
	bool iwarp = fv__is_iwarp(q->qp.context);

	if (q->qp.qp_type == IBV_QPT_UD)
		return wr->opcode == IBV_WR_SEND ||
		       wr->opcode == IBV_WR_SEND_WITH_IMM;
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		return true;
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return !iwarp;
	case IBV_WR_RDMA_READ:
		return wr->num_sge <= cfg->read_sge;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return !iwarp && cfg->attr.atomic_cap != IBV_ATOMIC_NONE &&
		       wr->num_sge == 1;
	case IBV_WR_BIND_MW:
		return wr->bind_mw.mw != NULL;
	default:
		return false;
	}
}

static bool inline_ok(const struct fv_qp *q, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return fv__sge_len(wr->sg_list, wr->num_sge) <=
		       q->cap.max_inline_data;
	default:
		return false;
	}
}

/* As a driver returns it. */
static int post_error(const struct fv_qp *q, int err)
{
	return fv__device(q->qp.context)->cfg.negative_errors ? -err : err;
}

static int refused_in_error(const struct fv_qp *q)
{
	return q->attr.qp_state == IBV_QPS_ERR
		       ? fv__device(q->qp.context)->cfg.err_refuses_posts
		       : 0;
}

static void check_segments(const struct ibv_send_wr *wr)
{
	if (wr->opcode == IBV_WR_RDMA_READ && !wr->num_sge)
		fv__die("this reads to where another request's data goes");
	if (wr->send_flags & IBV_SEND_INLINE || wr->opcode == IBV_WR_RDMA_READ)
		return;
	for (int i = 0; i < wr->num_sge; i++)
		if (!wr->sg_list[i].length)
			fv__die("this panics: segment %d is empty", i);
}

static int check_send(const struct fv_qp *q, const struct ibv_send_wr *wr)
{
	enum ibv_qp_state st = q->attr.qp_state;

	if (refused_in_error(q))
		return refused_in_error(q);
	if (st == IBV_QPS_RESET || st == IBV_QPS_INIT || st == IBV_QPS_RTR)
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > q->cap.max_send_sge)
		return EINVAL;
	if (!opcode_ok(q, wr) ||
	    ((wr->send_flags & IBV_SEND_INLINE) && !inline_ok(q, wr)))
		return EINVAL;
	if (wr->opcode == IBV_WR_RDMA_READ &&
	    (wr->send_flags & IBV_SEND_FENCE) &&
	    fv__device(q->qp.context)->cfg.unfenced_reads)
		return EPERM;
	if (q->qp.qp_type == IBV_QPT_UD && !wr->wr.ud.ah)
		return EINVAL;
	if (fv__device(q->qp.context)->cfg.empty_segment_panics)
		check_segments(wr);
	return q->sq_used >= q->cap.max_send_wr ? ENOMEM : 0;
}

static void take_inline(struct fv_send *s)
{
	uint32_t at = 0;

	s->data_len = fv__sge_len(s->sge, s->wr.num_sge);
	s->data = fv__zalloc(s->data_len + 1U);
	for (int i = 0; i < s->wr.num_sge; i++) {
		const void *from = (const void *)(uintptr_t)s->sge[i].addr;

		if (s->sge[i].length)
			memcpy(s->data + at, from, s->sge[i].length);
		at += s->sge[i].length;
	}
}

static void queue_send(struct fv_qp *q, const struct ibv_send_wr *wr)
{
	struct fv_send *s = fv__zalloc(sizeof(*s));

	s->wr = *wr;
	s->wr.next = NULL;
	s->wr.sg_list = s->sge;
	if (wr->opcode == IBV_WR_RDMA_READ &&
	    fv__device(q->qp.context)->cfg.read_has_segment) {
		s->wr.num_sge = 1;
		s->sge[0] = wr->sg_list[0];
	} else if (wr->num_sge)
		memcpy(s->sge, wr->sg_list,
		       (size_t)wr->num_sge * sizeof(s->sge[0]));
	if (wr->send_flags & IBV_SEND_INLINE)
		take_inline(s);
	q->sq_used++;
	fv_link_add(&q->sends, &s->link);
}

static int doorbell_error;

void fv_doorbell_fails(int err)
{
	doorbell_error = err;
}

int fv__post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad)
{
	struct fv_qp *q = fv_container(qp, struct fv_qp, qp);
	int err;

	if (fv__device(qp->context)->cfg.posts_enter_kernel)
		pthread_testcancel();
	err = fv__call("ibv_post_send");

	if (err) {
		*bad = wr;
		return err;
	}
	for (; wr; wr = wr->next) {
		err = check_send(q, wr);
		if (err) {
			*bad = wr;
			break;
		}
		queue_send(q, wr);
	}
	if (!err && doorbell_error) {
		err = doorbell_error;
		doorbell_error = 0;
		*bad = NULL;
		return fv__done(post_error(q, err));
	}
	if (q->attr.qp_state == IBV_QPS_SQE)
		fv__flush_sends(q);
	else if (q->attr.qp_state != IBV_QPS_ERR)
		fv__kick(q);
	else if (!fv__device(qp->context)->cfg.err_send_stays &&
		 !fv__device(qp->context)->cfg.flushes_late)
		fv__flush_sends(q);
	return fv__done(post_error(q, err));
}

int fv__post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad)
{
	const struct fv_device_cfg *cfg = &fv__device(qp->context)->cfg;
	struct fv_qp *q = fv_container(qp, struct fv_qp, qp);
	int err = fv__call("ibv_post_recv");

	if (err) {
		*bad = wr;
		return err;
	}
	for (; wr; wr = wr->next) {
		err = refused_in_error(q);
		if (!err)
			err = qp->srq || q->attr.qp_state == IBV_QPS_RESET ||
					      (!wr->num_sge &&
					       cfg->recv_needs_segment)
				      ? EINVAL
				      : fv__rq_post(&q->rq, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	if (q->attr.qp_state != IBV_QPS_ERR)
		fv__kick_all();
	else if (!cfg->err_recv_stays)
		fv__qp_to_error(q);
	return fv__done(post_error(q, err));
}
