/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_move.c: the device's engine: takes requests off the send queues in
 * order and moves the bytes, within this process and at once.
 * A request that must wait (no receive posted, the peer not yet ready) stops
 * its queue; any later post or state change tries again. Retry timers do not
 * exist: a peer that cannot answer is RETRY_EXC at once.
 * Threads: runs with the fake's lock held, in whichever thread posted.
 * Ownership: fv__send_done()/fv__recv_done() consume their request.
 * Rules: InfiniBand vol. 1 ch. 9.7, 9.9 (who sees which error), 11.6.2.
 */
#include "fake_int.h"
#include <stdlib.h>
#include <string.h>

/* outcome of one request: WAIT, or done with a status */
#define WAIT (-1)

uint32_t fv__sge_len(const struct ibv_sge *sge, int n)
{
	uint64_t len = 0;

	for (int i = 0; i < n; i++)
		len += sge[i].length;
	return len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
}

uint32_t fv__gather(struct fv_qp *q, struct fv_send *s, uint8_t *buf, bool *ok)
{
	uint32_t at = 0;

	*ok = true;
	if (s->data) {
		if (buf)
			memcpy(buf, s->data, s->data_len);
		return s->data_len;
	}
	for (int i = 0; i < s->wr.num_sge; i++) {
		void *from;

		if (!s->sge[i].length)
			continue;
		from = fv__local(q->qp.pd, &s->sge[i], 0);
		if (!from)
			*ok = false;
		else if (buf)
			memcpy(buf + at, from, s->sge[i].length);
		at += s->sge[i].length;
	}
	return at;
}

static bool sinks_ok(struct ibv_pd *pd, const struct ibv_sge *sge, int n,
		     unsigned int access)
{
	for (int i = 0; i < n; i++)
		if (sge[i].length && !fv__local(pd, &sge[i], access))
			return false;
	return true;
}

static void spread(struct ibv_pd *pd, const struct ibv_sge *sge, int n,
		   const uint8_t *buf, uint32_t len)
{
	uint32_t part;

	for (int i = 0; i < n && len; i++) {
		part = sge[i].length < len ? sge[i].length : len;
		if (part)
			memcpy(fv__local(pd, &sge[i], 0), buf, part);
		buf += part;
		len -= part;
	}
}

enum ibv_wc_status fv__scatter(struct fv_qp *q, const struct fv_recv *r,
			       const uint8_t *buf, uint32_t len)
{
	struct ibv_pd *pd = q->qp.srq ? q->qp.srq->pd : q->qp.pd;

	if (fv__sge_len(r->sge, r->num_sge) < len)
		return IBV_WC_LOC_LEN_ERR;
	if (!sinks_ok(pd, r->sge, r->num_sge, IBV_ACCESS_LOCAL_WRITE))
		return IBV_WC_LOC_PROT_ERR;
	spread(pd, r->sge, r->num_sge, buf, len);
	return IBV_WC_SUCCESS;
}

/*
 * Whether P takes what Q sends for its partner's. On RoCE a queue pair compares
 * the addresses of a packet with those of its own path, and knows one version.
 */
static bool path_matches(const struct fv_qp *q, const struct fv_qp *p)
{
	const struct ibv_ah_attr *to = &q->attr.ah_attr;
	const struct ibv_ah_attr *back = &p->attr.ah_attr;
	const struct fv_port_cfg *src = fv__port(q->qp.context, to->port_num);
	const struct fv_port_cfg *dst = fv__port(p->qp.context, back->port_num);
	int from = to->grh.sgid_index, at = back->grh.sgid_index;

	if (dst->attr.link_layer != IBV_LINK_LAYER_ETHERNET)
		return true;
	return src->gid_type[from] == dst->gid_type[at] &&
	       !memcmp(&src->gid[from], &back->grh.dgid,
		       sizeof(union ibv_gid)) &&
	       !memcmp(&dst->gid[at], &to->grh.dgid, sizeof(union ibv_gid));
}

/* The other end, when packets get there: *wait tells "later" from "never". */
static struct fv_qp *peer_of(struct fv_qp *q, bool *wait)
{
	bool iwarp = fv__is_iwarp(q->qp.context);
	struct fv_qp *p = fv__qp(iwarp ? q->peer_qpn : q->attr.dest_qp_num);
	enum ibv_qp_state st;

	*wait = false;
	if (!p || p->qp.qp_type != IBV_QPT_RC)
		return NULL;
	if (!iwarp && !fv__reaches(&q->attr.ah_attr, p))
		return NULL;
	st = p->attr.qp_state;
	*wait = st == IBV_QPS_RESET || st == IBV_QPS_INIT;
	if (st != IBV_QPS_RTR && st != IBV_QPS_RTS && st != IBV_QPS_SQD)
		return NULL;
	if ((iwarp ? p->peer_qpn : p->attr.dest_qp_num) != q->qp.qp_num)
		return NULL;
	if (!iwarp && !path_matches(q, p))
		return NULL;
	if (!p->got_packet) {
		p->got_packet = true;
		if (st == IBV_QPS_RTR &&
		    fv__device(p->qp.context)->cfg.comm_est)
			fv__qp_event(p, IBV_EVENT_COMM_EST);
	}
	return p;
}

static int no_receive(struct fv_qp *q)
{
	if (fv__is_iwarp(q->qp.context))
		return IBV_WC_REM_OP_ERR;
	return q->attr.rnr_retry == 7 ? WAIT : IBV_WC_RNR_RETRY_EXC_ERR;
}

static bool have_receive(struct fv_qp *p)
{
	return p->qp.srq ? fv_container(p->qp.srq, struct fv_srq, srq)->rq.count
			 : p->rq.count;
}

static struct fv_recv *take_receive(struct fv_qp *p)
{
	return p->qp.srq ? fv__srq_pop(p->qp.srq) : fv__rq_pop(&p->rq);
}

static void recv_wc(struct fv_qp *q, const struct ibv_send_wr *wr, uint32_t len,
		    struct ibv_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = IBV_WC_RECV;
	wc->byte_len = len;
	wc->src_qp = q->qp.qp_num;
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	    wr->opcode == IBV_WR_SEND_WITH_IMM) {
		wc->wc_flags = IBV_WC_WITH_IMM;
		wc->imm_data = wr->imm_data;
	}
	if (wr->opcode == IBV_WR_SEND_WITH_INV) {
		/* The kernel's flag, as its soft RoCE passes it on. */
		wc->wc_flags = fv__device(q->qp.context)->cfg.attr.vendor_id ==
					       FV_RXE_VENDOR_ID
				       ? IBV_WC_IP_CSUM_OK
				       : IBV_WC_WITH_INV;
		wc->invalidated_rkey = wr->invalidate_rkey;
	}
}

/* The responder broke a rule of memory: both ends stop. */
static int remote_fault(struct fv_qp *p, enum ibv_wc_status status,
			enum ibv_event_type event)
{
	fv__qp_event(p, event);
	fv__qp_to_error(p);
	return status;
}

static int do_send(struct fv_qp *q, struct fv_qp *p, struct fv_send *s,
		   const uint8_t *buf, uint32_t len)
{
	bool solicited = s->wr.send_flags & IBV_SEND_SOLICITED;
	enum ibv_wc_status status;
	struct fv_recv *r;
	struct ibv_wc wc;

	if (!have_receive(p))
		return no_receive(q);
	if (s->wr.opcode == IBV_WR_SEND_WITH_INV &&
	    !fv__mw_invalidate(p, s->wr.invalidate_rkey))
		return remote_fault(p, IBV_WC_REM_ACCESS_ERR,
				    IBV_EVENT_QP_ACCESS_ERR);
	r = take_receive(p);
	status = fv__scatter(p, r, buf, len);
	recv_wc(q, &s->wr, len, &wc);
	wc.status = status;
	fv__recv_done(p, r, &wc, solicited);
	if (status == IBV_WC_LOC_LEN_ERR)
		return IBV_WC_REM_INV_REQ_ERR;
	return status == IBV_WC_SUCCESS ? status : IBV_WC_REM_OP_ERR;
}

static int do_write(struct fv_qp *q, struct fv_qp *p, struct fv_send *s,
		    const uint8_t *buf, uint32_t len)
{
	bool imm = s->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	void *to = NULL;
	struct ibv_wc wc;

	if (imm && !have_receive(p))
		return no_receive(q);
	if (len) {
		to = fv__remote(p, s->wr.wr.rdma.rkey,
				s->wr.wr.rdma.remote_addr, len,
				IBV_ACCESS_REMOTE_WRITE);
		if (!to)
			return remote_fault(p, IBV_WC_REM_ACCESS_ERR,
					    IBV_EVENT_QP_ACCESS_ERR);
		memcpy(to, buf, len);
	}
	if (imm) {
		recv_wc(q, &s->wr, len, &wc);
		fv__recv_done(p, take_receive(p), &wc,
			      s->wr.send_flags & IBV_SEND_SOLICITED);
	}
	return IBV_WC_SUCCESS;
}

static bool depths_ok(struct fv_qp *q, struct fv_qp *p, int *status)
{
	*status = IBV_WC_SUCCESS;
	if (fv__is_iwarp(q->qp.context))
		return true;
	if (!q->attr.max_rd_atomic)
		*status = IBV_WC_LOC_QP_OP_ERR;
	else if (!p->attr.max_dest_rd_atomic)
		*status = remote_fault(p, IBV_WC_REM_INV_REQ_ERR,
				       IBV_EVENT_QP_REQ_ERR);
	return *status == IBV_WC_SUCCESS;
}

static int do_read(struct fv_qp *q, struct fv_qp *p, struct fv_send *s)
{
	const struct fv_device_cfg *cfg = &fv__device(q->qp.context)->cfg;
	uint32_t len = fv__sge_len(s->sge, s->wr.num_sge);
	unsigned int sink = IBV_ACCESS_LOCAL_WRITE;
	uint8_t *copy;
	void *from;
	int status;

	if (cfg->read_sink_rw)
		sink |= IBV_ACCESS_REMOTE_WRITE;
	if (!sinks_ok(q->qp.pd, s->sge, s->wr.num_sge, sink))
		return IBV_WC_LOC_PROT_ERR;
	if (!depths_ok(q, p, &status))
		return status;
	if (!len)
		return IBV_WC_SUCCESS;
	from = fv__remote(p, s->wr.wr.rdma.rkey, s->wr.wr.rdma.remote_addr, len,
			  IBV_ACCESS_REMOTE_READ);
	if (!from)
		return remote_fault(p, IBV_WC_REM_ACCESS_ERR,
				    IBV_EVENT_QP_ACCESS_ERR);
	copy = fv__zalloc(len);
	memcpy(copy, from, len);
	spread(q->qp.pd, s->sge, s->wr.num_sge, copy, len);
	free(copy);
	return IBV_WC_SUCCESS;
}

static int do_atomic(struct fv_qp *q, struct fv_qp *p, struct fv_send *s)
{
	uint64_t old, next;
	void *at, *sink;
	int status;

	sink = s->sge[0].length == sizeof(old)
		       ? fv__local(q->qp.pd, &s->sge[0], IBV_ACCESS_LOCAL_WRITE)
		       : NULL;
	if (!sink)
		return s->sge[0].length == sizeof(old) ? IBV_WC_LOC_PROT_ERR
						       : IBV_WC_LOC_LEN_ERR;
	if (!depths_ok(q, p, &status))
		return status;
	if (s->wr.wr.atomic.remote_addr % sizeof(old))
		return remote_fault(p, IBV_WC_REM_INV_REQ_ERR,
				    IBV_EVENT_QP_REQ_ERR);
	at = fv__remote(p, s->wr.wr.atomic.rkey, s->wr.wr.atomic.remote_addr,
			sizeof(old), IBV_ACCESS_REMOTE_ATOMIC);
	if (!at)
		return remote_fault(p, IBV_WC_REM_ACCESS_ERR,
				    IBV_EVENT_QP_ACCESS_ERR);
	memcpy(&old, at, sizeof(old));
	next = old;
	if (s->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		next = old + s->wr.wr.atomic.compare_add;
	else if (old == s->wr.wr.atomic.compare_add)
		next = s->wr.wr.atomic.swap;
	memcpy(at, &next, sizeof(next));
	memcpy(sink, &old, sizeof(old));
	return IBV_WC_SUCCESS;
}

static int do_payload(struct fv_qp *q, struct fv_qp *p, struct fv_send *s)
{
	const struct fv_port_cfg *port =
		fv__port(q->qp.context, q->attr.port_num);
	uint32_t len;
	uint8_t *buf;
	bool ok;
	int rc;

	len = s->data ? s->data_len : fv__sge_len(s->sge, s->wr.num_sge);
	if (port && len > port->attr.max_msg_sz)
		return IBV_WC_LOC_LEN_ERR;
	/* keys first, so that a wrong one never makes us allocate for it */
	fv__gather(q, s, NULL, &ok);
	if (!ok)
		return IBV_WC_LOC_PROT_ERR;
	buf = fv__zalloc((size_t)len + 1);
	fv__gather(q, s, buf, &ok);
	rc = s->wr.opcode == IBV_WR_RDMA_WRITE ||
			     s->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM
		     ? do_write(q, p, s, buf, len)
		     : do_send(q, p, s, buf, len);
	free(buf);
	return rc;
}

static int execute(struct fv_qp *q, struct fv_send *s)
{
	struct fv_qp *p;
	bool wait;

	if (s->wr.opcode == IBV_WR_BIND_MW)
		return fv__mw_bind(q, &s->wr) ? IBV_WC_SUCCESS
					      : IBV_WC_MW_BIND_ERR;
	if (s->wr.opcode == IBV_WR_LOCAL_INV)
		return fv__mw_invalidate(q, s->wr.invalidate_rkey)
			       ? IBV_WC_SUCCESS
			       : IBV_WC_LOC_QP_OP_ERR;
	p = peer_of(q, &wait);
	if (!p)
		return wait ? WAIT : IBV_WC_RETRY_EXC_ERR;
	switch (s->wr.opcode) {
	case IBV_WR_RDMA_READ:
		return do_read(q, p, s);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return do_atomic(q, p, s);
	default:
		return do_payload(q, p, s);
	}
}

/*
 * The next one to be done, in order but for a device on which what a read
 * brings is waited for by nothing but a fence: there it is the one behind that.
 */
static struct fv_send *next_of(const struct fv_qp *q)
{
	struct fv_link *first = q->sends.next;
	struct fv_send *s = fv_container(first, struct fv_send, link);
	struct fv_send *behind;

	if (!fv__device(q->qp.context)->cfg.overtakes_reads ||
	    s->wr.opcode != IBV_WR_RDMA_READ || first->next == &q->sends)
		return s;
	behind = fv_container(first->next, struct fv_send, link);
	return behind->wr.opcode == IBV_WR_RDMA_READ ||
			       (behind->wr.send_flags & IBV_SEND_FENCE)
		       ? s
		       : behind;
}

static void run(struct fv_qp *q)
{
	while (!q->held && q->attr.qp_state == IBV_QPS_RTS &&
	       !fv_link_empty(&q->sends)) {
		struct fv_send *s = next_of(q);
		uint32_t len;
		int rc;

		if (q->qp.qp_type == IBV_QPT_UD) {
			fv_link_del(&s->link);
			fv__ud_send(q, s);
			continue;
		}
		rc = execute(q, s);
		if (rc == WAIT) {
			fv_link_add(&fv__stalled, &q->stalled);
			return;
		}
		/* a loopback QP may have flushed itself as the responder */
		if (q->attr.qp_state != IBV_QPS_RTS)
			return;
		len = fv__sge_len(s->sge, s->wr.num_sge);
		fv_link_del(&s->link);
		fv__send_done(q, s, (enum ibv_wc_status)rc, len);
	}
}

/* Running one queue can change another; the outermost call repeats. */
void fv__kick_all(void)
{
	static bool running, again;
	struct fv_link todo;

	again = true;
	if (running || fv__paused)
		return;
	running = true;
	while (again) {
		again = false;
		fv_link_init(&todo);
		while (!fv_link_empty(&fv__stalled)) {
			struct fv_link *l = fv__stalled.next;

			fv_link_del(l);
			fv_link_add(&todo, l);
		}
		while (!fv_link_empty(&todo)) {
			struct fv_link *l = todo.next;

			fv_link_del(l);
			run(fv_container(l, struct fv_qp, stalled));
		}
	}
	running = false;
}

void fv__kick(struct fv_qp *q)
{
	if (!fv_link_empty(&q->sends) && fv_link_empty(&q->stalled))
		fv_link_add(&fv__stalled, &q->stalled);
	fv__kick_all();
}
