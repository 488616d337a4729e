/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_cq.c: completion channels and completion queues.
 * A CQ holds exactly cq->cqe entries; one more puts it into error: CQ_ERR is
 * raised, what is in it can still be polled, after that polling fails. Arming
 * looks at new completions only, as hardware does.
 * Threads: verbs take the fake's lock; ibv_get_cq_event may block.
 * Ownership: entries of a destroyed QP stay in the CQ or are taken out, as the
 * device is configured. An un-acked event makes ibv_destroy_cq abort the test.
 * Rules: ibv_create_cq(3), ibv_req_notify_cq(3), ibv_get_cq_event(3).
 */
#include "fake_int.h"
#include <stdlib.h>
#include <string.h>

static struct fv_cq *cq_of(struct ibv_cq *cq)
{
	return fv_container(cq, struct fv_cq, cq);
}

static struct fv_chan *chan_of(struct ibv_comp_channel *chan)
{
	return fv_container(chan, struct fv_chan, chan);
}

static void free_chan(struct fv_obj *obj)
{
	struct fv_chan *c = fv_container(obj, struct fv_chan, obj);

	fv__queue_fini(&c->q);
	free(c);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct fv_chan *c;
	int err;

	if (fv__call("ibv_create_comp_channel"))
		return NULL;
	c = fv_new(struct fv_chan, FV_OBJ_CHAN, free_chan);
	err = fv__queue_init(&c->q);
	if (err) {
		fv__drop(&c->obj);
		return fv__refuse(err);
	}
	c->chan.context = context;
	c->chan.fd = c->q.fd;
	fv__context(context)->obj.refs++;
	fv__leave();
	return &c->chan;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct fv_chan *c = chan_of(channel);
	int err = 0;

	fv__call_sure("ibv_destroy_comp_channel");
	if (channel->refcnt) {
		err = EBUSY;
	} else {
		fv__context(channel->context)->obj.refs--;
		fv__drop(&c->obj);
	}
	return fv__done(err);
}

static void event_free(struct fv_cq_event *e)
{
	fv_link_del(&e->of_cq);
	free(e);
}

static void drop_events(struct fv_cq *c)
{
	while (!fv_link_empty(&c->events)) {
		struct fv_cq_event *e =
			fv_container(c->events.next, struct fv_cq_event, of_cq);

		fv__queue_del(&chan_of(c->cq.channel)->q, &e->link);
		event_free(e);
	}
}

static void free_cq(struct fv_obj *obj)
{
	struct fv_cq *c = fv_container(obj, struct fv_cq, obj);

	drop_events(c);
	pthread_mutex_destroy(&c->cq.mutex);
	pthread_cond_destroy(&c->cq.cond);
	free(c->ring);
	free(c);
}

static int check_cq(struct ibv_context *ctx, int cqe, int vector)
{
	const struct ibv_device_attr *a = &fv__device(ctx)->cfg.attr;
	struct fv_obj *o;
	int n = 0;

	if (fv__device(ctx)->cfg.cq_needs_allocator)
		return EINVAL;
	if (cqe < 1 || cqe > a->max_cqe || vector < 0 ||
	    vector >= ctx->num_comp_vectors)
		return EINVAL;
	fv_for_each(o, FV_OBJ_CQ)
	{
		struct fv_cq *c = fv_container(o, struct fv_cq, obj);

		n += c->cq.context->device == ctx->device;
	}
	return n >= a->max_cq ? ENOMEM : 0;
}

static unsigned int granted(struct ibv_context *ctx, int cqe)
{
	const struct fv_device_cfg *cfg = &fv__device(ctx)->cfg;

	if (cqe < cfg->cqe_min)
		cqe = cfg->cqe_min;
	return cfg->round_up ? fv__pow2((uint32_t)cqe + 1) - 1
			     : (unsigned int)cqe;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
			     void *cq_context, struct ibv_comp_channel *channel,
			     int comp_vector)
{
	struct fv_cq *c;
	int err;

	if (fv__call("ibv_create_cq"))
		return NULL;
	err = check_cq(context, cqe, comp_vector);
	if (err)
		return fv__refuse(err);
	c = fv_new(struct fv_cq, FV_OBJ_CQ, free_cq);
	fv_link_init(&c->events);
	c->size = granted(context, cqe);
	c->ring = fv__zalloc(c->size * sizeof(*c->ring));
	c->cq.context = context;
	c->cq.channel = channel;
	c->cq.cq_context = cq_context;
	c->cq.handle = c->obj.num;
	c->cq.cqe = (int)c->size;
	pthread_mutex_init(&c->cq.mutex, NULL);
	pthread_cond_init(&c->cq.cond, NULL);
	if (channel)
		channel->refcnt++;
	fv__context(context)->obj.refs++;
	fv__leave();
	return &c->cq;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct fv_cq *c = cq_of(cq);
	struct fv_cqe *ring;
	unsigned int size, i;
	int err = fv__call("ibv_resize_cq");

	if (err)
		return err;
	if (fv__device(cq->context)->cfg.resize_error)
		return fv__done(fv__device(cq->context)->cfg.resize_error);
	if (cqe < 1 || cqe > fv__device(cq->context)->cfg.attr.max_cqe ||
	    (unsigned int)cqe < c->count)
		return fv__done(EINVAL);
	size = granted(cq->context, cqe);
	ring = fv__zalloc(size * sizeof(*ring));
	for (i = 0; i < c->count; i++)
		ring[i] = c->ring[(c->head + i) % c->size];
	free(c->ring);
	c->ring = ring;
	c->head = 0;
	c->size = size;
	cq->cqe = (int)size;
	return fv__done(0);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct fv_cq *c = cq_of(cq);

	fv__call_sure("ibv_destroy_cq");
	if (c->obj.refs)
		return fv__done(EBUSY);
	drop_events(c);
	fv__async_purge(cq->context, cq);
	fv__wait_acked(&c->obj.events, "ibv_destroy_cq");
	fv__wait_acked(&c->async_events, "ibv_destroy_cq (async)");
	if (cq->channel)
		cq->channel->refcnt--;
	fv__context(cq->context)->obj.refs--;
	fv__drop(&c->obj);
	return fv__done(0);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
		     void **cq_context)
{
	struct fv_cq_event *e;
	struct fv_link *item;

	pthread_testcancel();
	fv__enter();
	item = fv__queue_get(&chan_of(channel)->q);
	if (!item)
		return fv__done(-1);
	e = fv_container(item, struct fv_cq_event, link);
	*cq = &e->cq->cq;
	*cq_context = e->cq->cq.cq_context;
	e->cq->obj.events++;
	event_free(e);
	return fv__done(0);
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	struct fv_cq *c = cq_of(cq);

	fv__call_sure("ibv_ack_cq_events");
	if (nevents > c->obj.events)
		fv__die("ibv_ack_cq_events: %u acked, %u delivered", nevents,
			c->obj.events);
	c->obj.events -= nevents;
	fv__acked();
	fv__leave();
}

int fv__req_notify(struct ibv_cq *cq, int solicited_only)
{
	struct fv_cq *c = cq_of(cq);
	int err = fv__call("ibv_req_notify_cq");

	if (err)
		return err;
	/* asking for less does not take back what was asked for before */
	if (!solicited_only)
		c->arm = FV_ARM_ANY;
	else if (c->arm == FV_ARM_NONE &&
		 !fv__device(cq->context)->cfg.ignores_solicited)
		c->arm = FV_ARM_SOLICITED;
	return fv__done(0);
}

static void notify(struct fv_cq *c, bool solicited)
{
	struct fv_cq_event *e;

	if (c->arm == FV_ARM_NONE || (c->arm == FV_ARM_SOLICITED && !solicited))
		return;
	c->arm = FV_ARM_NONE;
	if (!c->cq.channel)
		return;
	e = fv__zalloc(sizeof(*e));
	e->cq = c;
	fv_link_init(&e->of_cq);
	fv_link_add(&c->events, &e->of_cq);
	fv__queue_push(&chan_of(c->cq.channel)->q, &e->link);
}

void fv__cq_nudge(struct ibv_cq *cq)
{
	notify(cq_of(cq), true);
}

void fv__cq_show(struct ibv_cq *cq)
{
	struct fv_cq *c = cq_of(cq);

	if (c->late) {
		c->late = 0;
		notify(c, true);
	}
}

/* Every error should count as solicited; newer soft-RoCE lets flushes pass. */
static bool is_urgent(const struct ibv_wc *wc)
{
	return wc->status != IBV_WC_SUCCESS &&
	       wc->status != IBV_WC_WR_FLUSH_ERR;
}

bool fv__cq_add(struct ibv_cq *cq, const struct fv_cqe *cqe, bool solicited)
{
	struct ibv_async_event ev = {.element.cq = cq,
				     .event_type = IBV_EVENT_CQ_ERR};
	struct fv_cq *c = cq_of(cq);

	if (c->overrun)
		return false;
	if (c->count == c->size) {
		c->overrun = true;
		fv__async(cq->context, &ev);
		return false;
	}
	c->ring[(c->head + c->count++) % c->size] = *cqe;
	if (cqe->wc.status == IBV_WC_SUCCESS &&
	    fv__device(cq->context)->cfg.late_completions)
		c->late++;
	else
		notify(c, solicited || is_urgent(&cqe->wc));
	return true;
}

/* A queue slot is free only when the consumer has seen the completion. */
static void retire(const struct fv_cqe *e)
{
	struct fv_obj *o;
	struct fv_qp *qp = fv__qp(e->wc.qp_num);

	if (qp && qp->gen == e->qp_gen) {
		qp->sq_used -= e->send_n;
		if (!e->srq_num)
			qp->rq.used -= e->recv_n;
	}
	o = e->srq_num ? fv__find(FV_OBJ_SRQ, e->srq_num) : NULL;
	if (o)
		fv_container(o, struct fv_srq, obj)->rq.used -= e->recv_n;
}

/* The driver finds the queue pair by an address that the entry has. */
static void must_exist(const struct fv_cqe *e)
{
	const struct fv_qp *qp = fv__qp(e->wc.qp_num);

	if (e->qp_gen && (!qp || e->qp_gen < qp->born))
		fv__die("ibv_poll_cq: a completion of queue pair 0x%x, which "
			"is destroyed",
			e->wc.qp_num);
}

void fv__cq_purge(struct ibv_cq *cq, const struct fv_qp *q)
{
	struct fv_cq *c = cq_of(cq);
	unsigned int i, kept = 0;

	for (i = 0; i < c->count; i++) {
		struct fv_cqe *e = &c->ring[(c->head + i) % c->size];

		if (e->wc.qp_num == q->qp.qp_num && e->qp_gen == q->gen)
			retire(e);
		else
			c->ring[(c->head + kept++) % c->size] = *e;
	}
	c->count = kept;
}

static void take(struct fv_cq *c, struct ibv_wc *wc)
{
	struct fv_cqe *e = &c->ring[c->head];

	if (fv__device(c->cq.context)->cfg.dangling_cqes)
		must_exist(e);
	retire(e);
	*wc = e->wc;
	c->head = (c->head + 1) % c->size;
	c->count--;
}

int fv__poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	struct fv_cq *c = cq_of(cq);
	int n;

	fv__enter();
	/* test/sched overwrites what is freed */
	if (c->obj.kind != FV_OBJ_CQ)
		fv__die("ibv_poll_cq: the completion queue was destroyed");
	for (n = 0; n < num && c->count > c->late; n++) {
		take(c, &wc[n]);
		/* the driver makes of it as many as there is room for */
		if (c->count == c->late && n + 1 < num)
			fv__flush_late(cq);
	}
	if (!n && num > 0 && c->overrun)
		n = -1;
	if (!n)
		fv__flush_late(cq);
	return fv__done(n);
}

unsigned int fv_cq_depth(struct ibv_cq *cq)
{
	unsigned int n;

	fv__enter();
	n = cq_of(cq)->count;
	fv__leave();
	return n;
}

void fv_cq_push(struct ibv_cq *cq, const struct ibv_wc *wc, bool solicited)
{
	struct fv_cqe e = {.wc = *wc};

	fv__enter();
	fv__cq_add(cq, &e, solicited);
	fv__leave();
}
