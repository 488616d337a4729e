/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_srq.c: shared receive queues, and the receive queue both kinds use.
 * No XRC and no tag matching.
 * Threads: verbs take the fake's lock; fv__ functions expect it held.
 * Ownership: a posted receive belongs to the queue until it completes; its
 * slot stays taken until that completion is polled.
 * Rules: ibv_create_srq(3), ibv_modify_srq(3): the limit fires once, then it
 * is 0 until armed again.
 */
#include "fake_int.h"
#include <stdlib.h>
#include <string.h>

static struct fv_srq *srq_of(struct ibv_srq *srq)
{
	return fv_container(srq, struct fv_srq, srq);
}

void fv__rq_empty(struct fv_rq *rq)
{
	struct fv_recv *r;

	while ((r = fv__rq_pop(rq)))
		free(r);
	rq->used = 0;
}

static void free_srq(struct fv_obj *obj)
{
	struct fv_srq *s = fv_container(obj, struct fv_srq, obj);

	fv__rq_empty(&s->rq);
	pthread_mutex_destroy(&s->srq.mutex);
	pthread_cond_destroy(&s->srq.cond);
	free(s);
}

int fv__rq_post(struct fv_rq *rq, const struct ibv_recv_wr *wr)
{
	struct fv_recv *r;

	if (rq->used >= rq->max_wr)
		return ENOMEM;
	if (wr->num_sge < 0 || (unsigned int)wr->num_sge > rq->max_sge)
		return EINVAL;
	r = fv__zalloc(sizeof(*r));
	r->wr_id = wr->wr_id;
	r->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(r->sge, wr->sg_list,
		       (size_t)wr->num_sge * sizeof(r->sge[0]));
	fv_link_add(&rq->wqes, &r->link);
	rq->count++;
	rq->used++;
	return 0;
}

struct fv_recv *fv__rq_pop(struct fv_rq *rq)
{
	struct fv_link *l = rq->wqes.next;

	if (fv_link_empty(&rq->wqes))
		return NULL;
	fv_link_del(l);
	rq->count--;
	return fv_container(l, struct fv_recv, link);
}

struct fv_recv *fv__srq_pop(struct ibv_srq *srq)
{
	struct ibv_async_event ev = {.element.srq = srq,
				     .event_type = IBV_EVENT_SRQ_LIMIT_REACHED};
	struct fv_srq *s = srq_of(srq);
	struct fv_recv *r = fv__rq_pop(&s->rq);

	if (r && s->limit && s->rq.count < s->limit) {
		s->limit = 0;
		fv__async(srq->context, &ev);
	}
	return r;
}

static int check_srq(struct ibv_pd *pd, const struct ibv_srq_init_attr *init)
{
	const struct ibv_device_attr *a = &fv__device(pd->context)->cfg.attr;
	const struct ibv_srq_attr *attr = &init->attr;
	struct fv_obj *o;
	int n = 0;

	if (!fv__padding_taken(pd->context, init, sizeof(*init), attr + 1))
		return EINVAL;
	if (!attr->max_wr || attr->max_wr > (uint32_t)a->max_srq_wr ||
	    attr->max_sge > (uint32_t)a->max_srq_sge || attr->max_sge > FV_SGE)
		return EINVAL;
	fv_for_each(o, FV_OBJ_SRQ)
	{
		struct fv_srq *s = fv_container(o, struct fv_srq, obj);

		n += s->srq.context->device == pd->context->device;
	}
	return n >= a->max_srq ? ENOMEM : 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *init)
{
	struct fv_srq *s;
	int err;

	if (fv__call("ibv_create_srq"))
		return NULL;
	err = fv__device(pd->context)->cfg.srq_error;
	if (!err)
		err = check_srq(pd, init);
	if (err)
		return fv__refuse(err);
	s = fv_new(struct fv_srq, FV_OBJ_SRQ, free_srq);
	fv_link_init(&s->rq.wqes);
	if (fv__device(pd->context)->cfg.round_up)
		init->attr.max_wr = fv__pow2(init->attr.max_wr);
	s->rq.max_wr = init->attr.max_wr;
	s->rq.max_sge = init->attr.max_sge;
	s->srq.context = pd->context;
	s->srq.srq_context = init->srq_context;
	s->srq.pd = pd;
	s->srq.handle = s->obj.num;
	pthread_mutex_init(&s->srq.mutex, NULL);
	pthread_cond_init(&s->srq.cond, NULL);
	fv_container(pd, struct fv_pd, pd)->obj.refs++;
	fv__leave();
	return &s->srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	const struct fv_device_cfg *cfg = &fv__device(srq->context)->cfg;
	const struct ibv_device_attr *a = &cfg->attr;
	struct fv_srq *s = srq_of(srq);
	int err = fv__call("ibv_modify_srq");

	if (err)
		return err;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		err = EINVAL;
	if ((mask & IBV_SRQ_MAX_WR) &&
	    (!(a->device_cap_flags & IBV_DEVICE_SRQ_RESIZE) ||
	     attr->max_wr > (uint32_t)a->max_srq_wr ||
	     attr->max_wr < s->rq.used))
		err = EINVAL;
	if ((mask & IBV_SRQ_LIMIT) &&
	    attr->srq_limit >
		    (mask & IBV_SRQ_MAX_WR ? attr->max_wr : s->rq.max_wr))
		err = EINVAL;
	if ((mask & IBV_SRQ_MAX_WR) && cfg->srq_resize_error)
		err = cfg->srq_resize_error;
	if ((mask & IBV_SRQ_LIMIT) && cfg->srq_limit_error)
		err = cfg->srq_limit_error;
	if (!err && (mask & IBV_SRQ_MAX_WR))
		s->rq.max_wr = attr->max_wr;
	if (!err && (mask & IBV_SRQ_LIMIT))
		s->limit = attr->srq_limit;
	return fv__done(err);
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct fv_srq *s = srq_of(srq);
	int err = fv__call("ibv_query_srq");

	if (err)
		return err;
	attr->max_wr = s->rq.max_wr;
	attr->max_sge = s->rq.max_sge;
	attr->srq_limit = s->limit;
	return fv__done(0);
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct fv_srq *s = srq_of(srq);

	fv__call_sure("ibv_destroy_srq");
	if (s->obj.refs)
		return fv__done(EBUSY);
	fv__async_purge(srq->context, srq);
	fv__wait_acked(&s->obj.events, "ibv_destroy_srq");
	fv_container(srq->pd, struct fv_pd, pd)->obj.refs--;
	fv__drop(&s->obj);
	return fv__done(0);
}

int fv__post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad)
{
	int err = fv__call("ibv_post_srq_recv");

	if (err) {
		*bad = wr;
		return err;
	}
	for (; wr && !err; wr = err ? wr : wr->next)
		err = fv__rq_post(&srq_of(srq)->rq, wr);
	if (err)
		*bad = wr;
	fv__kick_all();
	return fv__done(err);
}
