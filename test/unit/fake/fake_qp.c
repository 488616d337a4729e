/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_qp.c: queue pairs: create, modify, query, destroy, flush on error.
 * RC and UD only; no alternate paths.
 * Threads: verbs take the fake's lock; fv__ functions expect it held.
 * Ownership: posted requests belong to the QP until they complete; RESET and
 * destroy drop them silently, completions already in a CQ stay there or leave
 * with it, as the device is configured.
 * Rules: InfiniBand vol. 1 ch. 10.3 (states), 10.8 (error flush): ibv_qp.state
 * follows ibv_modify_qp only, as in libibverbs.
 */
#include "fake_int.h"
#include <stdlib.h>
#include <string.h>

static uint32_t last_gen; /* lives of queue pairs, for fv_qp.gen */

static struct fv_qp *qp_of(struct ibv_qp *qp)
{
	return fv_container(qp, struct fv_qp, qp);
}

struct fv_qp *fv__qp(uint32_t qpn)
{
	struct fv_obj *o = fv__find(FV_OBJ_QP, qpn);

	return o ? fv_container(o, struct fv_qp, obj) : NULL;
}

static void drop_requests(struct fv_qp *q)
{
	fv_link_del(&q->stalled);
	while (!fv_link_empty(&q->sends)) {
		struct fv_send *s =
			fv_container(q->sends.next, struct fv_send, link);

		fv_link_del(&s->link);
		free(s->data);
		free(s);
	}
	fv__rq_empty(&q->rq);
}

static void free_qp(struct fv_obj *obj)
{
	struct fv_qp *q = fv_container(obj, struct fv_qp, obj);

	drop_requests(q);
	pthread_mutex_destroy(&q->qp.mutex);
	pthread_cond_destroy(&q->qp.cond);
	free(q);
}

static int check_init(struct ibv_pd *pd, const struct ibv_qp_init_attr *in)
{
	const struct fv_device_cfg *cfg = &fv__device(pd->context)->cfg;
	const struct ibv_qp_cap *c = &in->cap;
	uint32_t wr = (uint32_t)cfg->attr.max_qp_wr;
	uint32_t sge = (uint32_t)cfg->attr.max_sge;
	struct fv_obj *o;
	int n = 0;

	if (in->qp_type == IBV_QPT_RC
		    ? cfg->no_rc
		    : in->qp_type != IBV_QPT_UD || fv__is_iwarp(pd->context))
		return EOPNOTSUPP;
	if (!fv__padding_taken(pd->context, in, sizeof(*in),
			       &in->sq_sig_all + 1))
		return EINVAL;
	if (!in->send_cq || !in->recv_cq ||
	    in->send_cq->context != pd->context ||
	    in->recv_cq->context != pd->context)
		return EINVAL;
	if (c->max_send_wr > wr || c->max_send_sge > sge ||
	    c->max_send_sge > FV_SGE || c->max_inline_data > cfg->max_inline)
		return EINVAL;
	if (!in->srq && (c->max_recv_wr > wr || c->max_recv_sge > sge ||
			 c->max_recv_sge > FV_SGE))
		return EINVAL;
	if (cfg->queues_not_empty &&
	    (!c->max_send_wr || (!in->srq && !c->max_recv_wr)))
		return EINVAL;
	fv_for_each(o, FV_OBJ_QP) n +=
		fv_container(o, struct fv_qp, obj)->qp.context->device ==
		pd->context->device;
	return n >= cfg->attr.max_qp ? ENOMEM : 0;
}

static uint32_t more_sge(uint32_t n)
{
	uint32_t more = n ? fv__pow2(n) : 0;

	return more < FV_SGE ? more : FV_SGE;
}

static void grant(struct ibv_pd *pd, struct ibv_qp_init_attr *in)
{
	const struct fv_device_cfg *cfg = &fv__device(pd->context)->cfg;

	if (in->srq)
		in->cap.max_recv_wr = in->cap.max_recv_sge = 0;
	if (!cfg->round_up)
		return;
	if (in->cap.max_send_wr)
		in->cap.max_send_wr = fv__pow2(in->cap.max_send_wr);
	if (in->cap.max_recv_wr)
		in->cap.max_recv_wr = fv__pow2(in->cap.max_recv_wr);
	in->cap.max_send_sge = more_sge(in->cap.max_send_sge);
	in->cap.max_recv_sge = more_sge(in->cap.max_recv_sge);
	in->cap.max_inline_data = cfg->max_inline;
}

static void hold_refs(struct fv_qp *q, int d)
{
	unsigned int n = (unsigned int)d;

	fv_container(q->qp.pd, struct fv_pd, pd)->obj.refs += n;
	fv_container(q->qp.send_cq, struct fv_cq, cq)->obj.refs += n;
	fv_container(q->qp.recv_cq, struct fv_cq, cq)->obj.refs += n;
	if (q->qp.srq)
		fv_container(q->qp.srq, struct fv_srq, srq)->obj.refs += n;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct fv_qp *q;
	int err;

	if (fv__call("ibv_create_qp"))
		return NULL;
	err = check_init(pd, init);
	if (err)
		return fv__refuse(err);
	fv__block(pd->context);
	grant(pd, init);
	q = fv_new(struct fv_qp, FV_OBJ_QP, free_qp);
	q->cap = init->cap;
	q->sq_sig_all = init->sq_sig_all;
	q->gen = q->born = ++last_gen;
	q->rq.max_wr = init->cap.max_recv_wr;
	q->rq.max_sge = init->cap.max_recv_sge;
	fv_link_init(&q->sends);
	fv_link_init(&q->stalled);
	fv_link_init(&q->rq.wqes);
	q->qp.context = pd->context;
	q->qp.qp_context = init->qp_context;
	q->qp.pd = pd;
	q->qp.send_cq = init->send_cq;
	q->qp.recv_cq = init->recv_cq;
	q->qp.srq = init->srq;
	q->qp.handle = q->qp.qp_num = q->obj.num;
	q->qp.state = q->attr.qp_state = IBV_QPS_RESET;
	q->qp.qp_type = init->qp_type;
	pthread_mutex_init(&q->qp.mutex, NULL);
	pthread_cond_init(&q->qp.cond, NULL);
	hold_refs(q, 1);
	fv__leave();
	return &q->qp;
}

static void end_life(struct fv_qp *q)
{
	if (!fv__device(q->qp.context)->cfg.takes_cqes_along)
		return;
	fv__cq_purge(q->qp.send_cq, q);
	fv__cq_purge(q->qp.recv_cq, q);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct fv_qp *q = qp_of(qp);
	struct fv_obj *o;

	fv__call_sure("ibv_destroy_qp");
	fv__block(qp->context);
	if (q->moving)
		fv__die("ibv_destroy_qp inside ibv_modify_qp");
	fv__async_purge(qp->context, qp);
	fv__wait_acked(&q->obj.events, "ibv_destroy_qp");
	fv_for_each(o, FV_OBJ_MW)
	{
		struct fv_mw *w = fv_container(o, struct fv_mw, obj);

		if (w->qp == q)
			fv__mw_invalidate(q, w->key);
	}
	end_life(q);
	hold_refs(q, -1);
	fv__cm_qp_gone(qp->qp_num);
	fv__drop(&q->obj);
	fv__kick_all();
	return fv__done(0);
}

void fv__qp_event(struct fv_qp *q, enum ibv_event_type type)
{
	struct ibv_async_event ev = {.element.qp = &q->qp, .event_type = type};

	fv__async(q->qp.context, &ev);
}

static void flush_send(struct fv_qp *q)
{
	struct fv_send *s = fv_container(q->sends.next, struct fv_send, link);

	fv_link_del(&s->link);
	fv__send_done(q, s, IBV_WC_WR_FLUSH_ERR, 0);
}

void fv__flush_sends(struct fv_qp *q)
{
	while (!q->mute && !fv_link_empty(&q->sends))
		flush_send(q);
}

/* SQE: requests are flushed, receives go on. */
void fv__qp_send_failed(struct fv_qp *q)
{
	if (q->qp.qp_type != IBV_QPT_UD ||
	    !fv__device(q->qp.context)->cfg.ud_sqe) {
		fv__qp_to_error(q);
		return;
	}
	if (q->attr.qp_state != IBV_QPS_RTS)
		return;
	q->attr.qp_state = IBV_QPS_SQE;
	fv_link_del(&q->stalled);
	fv__flush_sends(q);
}

static void flush(struct fv_qp *q)
{
	struct fv_recv *r;

	fv__flush_sends(q);
	while (!q->mute && (r = fv__rq_pop(&q->rq)))
		fv__recv_flush(q, r);
}

/*
 * The entry that says that a queue pair has ended is the driver's: a poll makes
 * flushes of it.
 */
static void announce(struct fv_qp *q)
{
	if (!q->mute && !fv_link_empty(&q->sends))
		fv__cq_nudge(q->qp.send_cq);
	if (!q->mute && q->rq.count)
		fv__cq_nudge(q->qp.recv_cq);
}

/* The connection of an RNIC's queue pair ends with it. */
static void iwarp_dead(struct fv_qp *q)
{
	struct fv_qp *peer = q->joined ? fv__qp(q->peer_qpn) : NULL;

	fv__cm_qp_dead(q->qp.qp_num);
	q->joined = false;
	if (peer && peer->joined && peer->peer_qpn == q->qp.qp_num)
		fv__qp_to_error(peer);
}

void fv__qp_to_error(struct fv_qp *q)
{
	if (q->in_error && fv__device(q->qp.context)->cfg.err_is_final)
		return;
	q->attr.qp_state = IBV_QPS_ERR;
	fv_link_del(&q->stalled);
	if (!q->in_error) {
		q->in_error = true;
		if (q->qp.srq)
			fv__qp_event(q, IBV_EVENT_QP_LAST_WQE_REACHED);
		if (fv__is_iwarp(q->qp.context))
			iwarp_dead(q);
	}
	fv__cq_show(q->qp.send_cq);
	fv__cq_show(q->qp.recv_cq);
	if (fv__device(q->qp.context)->cfg.flushes_late)
		announce(q);
	else
		flush(q);
	fv__kick_all();
}

void fv__flush_late(struct ibv_cq *cq)
{
	struct fv_obj *o;

	if (!fv__device(cq->context)->cfg.flushes_late)
		return;
	fv_for_each(o, FV_OBJ_QP)
	{
		struct fv_qp *q = fv_container(o, struct fv_qp, obj);
		struct fv_recv *r;

		if (!q->in_error || q->mute)
			continue;
		if (q->qp.send_cq == cq && !fv_link_empty(&q->sends)) {
			flush_send(q);
			return;
		}
		r = q->qp.recv_cq == cq ? fv__rq_pop(&q->rq) : NULL;
		if (r) {
			fv__recv_flush(q, r);
			return;
		}
	}
}

static void to_reset(struct fv_qp *q)
{
	end_life(q);
	drop_requests(q);
	q->gen = ++last_gen;
	q->sq_used = q->sq_silent = 0;
	q->in_error = q->got_packet = q->mute = false;
	memset(&q->attr, 0, sizeof(q->attr));
	q->attr.qp_state = IBV_QPS_RESET;
	if (fv__is_iwarp(q->qp.context))
		iwarp_dead(q);
	q->peer_qpn = 0;
}

void fv__qp_set_state(struct fv_qp *q, enum ibv_qp_state state)
{
	if (state == IBV_QPS_ERR)
		fv__qp_to_error(q);
	else if (state == IBV_QPS_RESET)
		to_reset(q);
	else
		q->attr.qp_state = state;
}

static int check_values(struct fv_qp *q, const struct ibv_qp_attr *a, int mask)
{
	struct ibv_context *ctx = q->qp.context;
	const struct ibv_device_attr *dev = &fv__device(ctx)->cfg.attr;
	unsigned int port = mask & IBV_QP_PORT ? a->port_num : q->attr.port_num;
	const struct fv_port_cfg *p = fv__port(ctx, port);

	if ((mask & (IBV_QP_PORT | IBV_QP_PKEY_INDEX)) && !p)
		return EINVAL;
	if ((mask & IBV_QP_PKEY_INDEX) && a->pkey_index >= p->attr.pkey_tbl_len)
		return EINVAL;
	if ((mask & IBV_QP_AV) && fv__check_av(ctx, &a->ah_attr))
		return EINVAL;
	if ((mask & IBV_QP_PATH_MTU) &&
	    (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096 || !p ||
	     a->path_mtu > p->attr.active_mtu))
		return EINVAL;
	if (((mask & IBV_QP_MAX_QP_RD_ATOMIC) &&
	     a->max_rd_atomic > dev->max_qp_init_rd_atom) ||
	    ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) &&
	     a->max_dest_rd_atomic > dev->max_qp_rd_atom))
		return EINVAL;
	if (((mask & IBV_QP_MIN_RNR_TIMER) && a->min_rnr_timer > 31) ||
	    ((mask & IBV_QP_TIMEOUT) && a->timeout > 31) ||
	    ((mask & IBV_QP_RETRY_CNT) && a->retry_cnt > 7) ||
	    ((mask & IBV_QP_RNR_RETRY) && a->rnr_retry > 7))
		return EINVAL;
	return 0;
}

static void copy_values(struct ibv_qp_attr *to, const struct ibv_qp_attr *a,
			int mask)
{
#define COPY(bit, field)  \
	if (mask & (bit)) \
	to->field = a->field
	COPY(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	COPY(IBV_QP_PKEY_INDEX, pkey_index);
	COPY(IBV_QP_PORT, port_num);
	COPY(IBV_QP_QKEY, qkey);
	COPY(IBV_QP_AV, ah_attr);
	COPY(IBV_QP_PATH_MTU, path_mtu);
	COPY(IBV_QP_TIMEOUT, timeout);
	COPY(IBV_QP_RETRY_CNT, retry_cnt);
	COPY(IBV_QP_RNR_RETRY, rnr_retry);
	COPY(IBV_QP_RQ_PSN, rq_psn);
	COPY(IBV_QP_SQ_PSN, sq_psn);
	COPY(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	COPY(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	COPY(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	COPY(IBV_QP_DEST_QPN, dest_qp_num);
	COPY(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
#undef COPY
}

/*
 * The connection manager takes an RNIC's queue pair to RTS: a caller may ask
 * for INIT and RTR (both mean idle), never for RTS.
 */
static int modify_iwarp(struct fv_qp *q, const struct ibv_qp_attr *a, int mask)
{
	enum ibv_qp_state from = q->attr.qp_state, to = a->qp_state;

	if ((mask & IBV_QP_PORT) && !fv__port(q->qp.context, a->port_num))
		return EINVAL;
	if (mask & IBV_QP_STATE) {
		if (to == IBV_QPS_RTS && from != IBV_QPS_RTS)
			return EINVAL;
		if ((to == IBV_QPS_INIT || to == IBV_QPS_RTR) &&
		    (from == IBV_QPS_RTS || from == IBV_QPS_ERR))
			return EINVAL;
	}
	copy_values(&q->attr, a, mask);
	if (!(mask & IBV_QP_STATE) || (to == from && to != IBV_QPS_ERR))
		return 0;
	fv__qp_set_state(q, to == IBV_QPS_RTR ? IBV_QPS_INIT : to);
	return 0;
}

int fv__modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct fv_qp *q = qp_of(qp);
	enum ibv_qp_state to =
		mask & IBV_QP_STATE ? attr->qp_state : q->attr.qp_state;
	int err;

	fv__trace("  qp 0x%x state %d mask 0x%x", qp->qp_num, (int)to,
		  (unsigned int)mask);
	if (fv__is_iwarp(qp->context)) {
		err = modify_iwarp(q, attr, mask);
	} else {
		err = (mask & IBV_QP_CUR_STATE &&
		       attr->cur_qp_state != q->attr.qp_state) ||
				      !fv__transition_ok(qp->qp_type,
							 q->attr.qp_state, to,
							 mask)
			      ? EINVAL
			      : check_values(q, attr, mask);
		if (!err) {
			copy_values(&q->attr, attr, mask);
			if (mask & IBV_QP_STATE)
				fv__qp_set_state(q, to);
		}
	}
	if (!err && (mask & IBV_QP_STATE))
		qp->state = to;
	fv__kick(q);
	return err;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct fv_qp *q = qp_of(qp);
	int err = fv__call("ibv_modify_qp");

	if (err)
		return err;
	q->moving++;
	fv__block(qp->context);
	if (mask & IBV_QP_AV)
		err = fv__lookup(qp->context, FV_LOOKUP_RTR, &attr->ah_attr);
	if (!err)
		err = fv__modify_qp(qp, attr, mask);
	q->moving--;
	return fv__done(err);
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct fv_qp *q = qp_of(qp);
	int err = fv__call("ibv_query_qp");

	(void)mask;
	if (err)
		return err;
	*attr = q->attr;
	attr->cur_qp_state = q->attr.qp_state;
	attr->cap = q->cap;
	memset(init, 0, sizeof(*init));
	init->qp_context = qp->qp_context;
	init->send_cq = qp->send_cq;
	init->recv_cq = qp->recv_cq;
	init->srq = qp->srq;
	init->cap = q->cap;
	init->qp_type = qp->qp_type;
	init->sq_sig_all = q->sq_sig_all;
	return fv__done(0);
}

enum ibv_qp_state fv_qp_state(struct ibv_qp *qp)
{
	enum ibv_qp_state s;

	fv__enter();
	s = qp_of(qp)->attr.qp_state;
	fv__leave();
	return s;
}

void fv_qp_error(struct ibv_qp *qp)
{
	fv__enter();
	fv__qp_to_error(qp_of(qp));
	fv__qp_event(qp_of(qp), IBV_EVENT_QP_FATAL);
	fv__leave();
}

void fv_qp_dies(struct ibv_qp *qp)
{
	fv__enter();
	qp_of(qp)->mute = true;
	fv__qp_to_error(qp_of(qp));
	fv__qp_event(qp_of(qp), IBV_EVENT_QP_FATAL);
	fv__leave();
}

void fv_hold_sends(struct ibv_qp *qp, bool on)
{
	fv__enter();
	qp_of(qp)->held = on;
	fv__kick(qp_of(qp));
	fv__leave();
}

static bool begins_with(const struct fv_qp *q, const void *addr)
{
	const struct fv_send *s;

	if (fv_link_empty(&q->sends))
		return false;
	s = fv_container(q->sends.next, struct fv_send, link);
	return s->wr.num_sge && s->sge[0].addr == (uintptr_t)addr;
}

struct ibv_qp *fv_qp_using(const void *addr)
{
	struct ibv_qp *found = NULL;
	struct fv_obj *o;

	fv__enter();
	fv_for_each(o, FV_OBJ_QP)
	{
		struct fv_qp *q = fv_container(o, struct fv_qp, obj);

		if (begins_with(q, addr))
			found = &q->qp;
	}
	fv__leave();
	return found;
}

void fv_request_fails(struct ibv_qp *qp, enum ibv_wc_status status)
{
	struct fv_qp *q = qp_of(qp);
	struct fv_send *s;

	fv__enter();
	if (fv_link_empty(&q->sends))
		fv__die("fv_request_fails: nothing is outstanding");
	s = fv_container(q->sends.next, struct fv_send, link);
	fv_link_del(&s->link);
	fv__send_done(q, s, status, 0);
	fv__leave();
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return ENOSYS;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return ENOSYS;
}
