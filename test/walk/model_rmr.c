/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_rmr.c - windows: who may have one, why a bind is refused, what a bind
 * opens, and whether a peer gets through. And what a peer wrote made visible.
 *
 * Binds of a window are counted. A peer that uses a context uses that of one of
 * them, and gets through if it is the one that was carried out last. A window
 * that only works on one endpoint closes with that one's queue pair.
 * Threads, ownership: model.h. Rule: DAT, dat_rmr_*, dat_lmr_sync_*;
 * InfiniBand, windows of type 1 and 2B.
 */
#include "test/walk/model.h"

#include "test/walk/face.h"

/* ------------------------------------------------ what a window is */

int rmr_waits_at(const struct model *m, int id)
{
	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		for (int j = 0; o->kind == K_EP && o->live && j < o->ep.n[0];
		     j++)
			if (o->ep.q[0][j].op == OP_RMR_BIND &&
			    o->ep.q[0][j].window == id && !o->ep.q[0][j].tried)
				return i;
	}
	return OBJ_NULL;
}

/*
 * Whether it is known which bind its context is of: one that was posted to an
 * endpoint whose connection has ended may leave the context as it was.
 */
bool rmr_is_known(const struct model *m, int id)
{
	const struct rmr *r = &m->obj[id].rmr;

	for (int i = 0; r->posted != r->done && i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		for (int j = 0; o->kind == K_EP && o->live && j < o->ep.n[0];
		     j++)
			if (o->ep.q[0][j].op == OP_RMR_BIND &&
			    o->ep.q[0][j].window == id &&
			    o->ep.q[0][j].bind == r->posted &&
			    !o->ep.q[0][j].may_flush && !o->ep.q[0][j].dead)
				return true;
	}
	return r->posted == r->done;
}

static bool is_open(const struct obj *o)
{
	return o->rmr.to.len != 0;
}

static void closes(struct obj *o)
{
	o->rmr.to.len = 0;
	o->rmr.ep = OBJ_NULL;
}

void rmr_carried_out(struct model *m, int ep, const struct dto *bind)
{
	struct obj *o = &m->obj[bind->window];

	o->rmr.done = bind->bind;
	/* Where it was open is remembered: nobody is to get there. */
	if (bind->to.len)
		o->rmr.to = bind->to;
	o->rmr.to.len = bind->to.len;
	o->rmr.ep = (int16_t)ep;
}

/* Earlier binds are over, too, so nothing else is in use. */
void rmr_bind_read(struct model *m, const struct dto *bind)
{
	struct rmr *r = &m->obj[bind->window].rmr;

	if (bind->bind != r->posted)
		return;
	r->n_may_use = bind->to.len != 0;
	r->may_use[0] = bind->to.lmr;
}

/* Type 2 goes with the queue pair, type 1 stays. */
void rmr_ep_gone(struct model *m, int ep)
{
	for (int i = 0; i < m->n_obj; i++) {
		struct obj *o = &m->obj[i];

		if (o->kind != K_RMR || o->rmr.ep != ep)
			continue;
		o->rmr.unread = false;
		if (o->rmr.for_ep)
			closes(o);
	}
}

void rmr_lmr_gone(struct model *m, int lmr)
{
	for (int i = 0; i < m->n_obj; i++) {
		struct rmr *r = &m->obj[i].rmr;

		for (int j = 0; m->obj[i].kind == K_RMR && j < r->n_may_use;
		     j++)
			if (r->may_use[j] == lmr)
				r->may_use[j] = r->may_use[--r->n_may_use];
	}
}

bool rmr_uses(const struct model *m, int lmr, bool *sure)
{
	bool uses = false;

	*sure = false;
	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = obj_of(m, i, K_RMR);

		for (int j = 0; o && j < o->rmr.n_may_use; j++) {
			if (o->rmr.may_use[j] != lmr)
				continue;
			uses = true;
			*sure |= is_open(o) && o->rmr.to.lmr == lmr &&
				 o->rmr.posted == o->rmr.done;
		}
	}
	return uses;
}

bool rmr_opens(const struct model *m, int ep, const struct dto *d,
	       unsigned priv)
{
	const struct obj *o = &m->obj[d->window];
	uint64_t at = (uint64_t)d->remote_chunk * WALK_CHUNK;

	return o->live && is_open(o) && d->bind == o->rmr.done &&
	       o->uses[USE_PZ] == m->obj[ep].uses[USE_PZ] &&
	       (!o->rmr.for_ep || o->rmr.ep == ep) &&
	       (o->rmr.to.priv & priv) == priv && d->remote == o->rmr.to.lmr &&
	       at >= o->rmr.to.at &&
	       at + d->len <= o->rmr.to.at + o->rmr.to.len;
}

bool rmr_taken_back(struct model *m, int ep, const struct dto *send)
{
	struct obj *o = &m->obj[send->window];

	if (!o->live || !is_open(o) || !o->rmr.for_ep || o->rmr.ep != ep ||
	    send->bind != o->rmr.done)
		return false;
	closes(o);
	o->rmr.unread = true;
	return true;
}

/* ------------------------------------------------ what is walked */

/* Whether a send that waits is to take it back. */
static bool is_to_go(const struct model *m, int id)
{
	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		for (int j = 0; o->kind == K_EP && o->live && j < o->ep.n[0];
		     j++)
			if (o->ep.q[0][j].takes_back &&
			    o->ep.q[0][j].window == id && !o->ep.q[0][j].tried)
				return true;
	}
	return false;
}

bool rmr_can_name(const struct model *m, const struct call *c)
{
	const struct obj *o = &m->obj[c->h[3]];

	if (o->kind != K_RMR || !rmr_is_known(m, c->h[3]))
		return false;
	if (c->h[4] == OBJ_OLDER && !o->rmr.of[1])
		return false;
	/* A bind that waits closes it first, and fails if it is closed. */
	return c->op != OP_SEND_INV || !o->live || rmr_waits_at(m, c->h[3]) < 0;
}

static bool bind_can(const struct model *m, const struct call *c)
{
	const struct obj *rmr = obj_of(m, c->h[0], K_RMR);
	const struct obj *lmr = obj_of(m, c->h[1], K_LMR);
	const struct obj *ep = obj_of(m, c->h[2], K_EP);
	int at;

	/* Another region may have the context of one that is gone. */
	if (WALK_BY_CONTEXT && !lmr && c->h[1] != OBJ_NULL)
		return false;
	if (lmr && !region_can(m, c->h[1], lmr->uses[USE_PZ], 0))
		return false;
	if (!ep || !rmr)
		return true;
	/*
	 * A bind fails where a peer has taken the window back meanwhile; and
	 * which comes first where another endpoint's waits nobody knows.
	 */
	at = rmr_waits_at(m, c->h[0]);
	return ep->ep.n[0] < MAX_DTO && rmr->rmr.n_may_use < MAX_BOUND - 1 &&
	       !rmr->rmr.unread && (at < 0 || at == c->h[2]) &&
	       !is_to_go(m, c->h[0]) &&
	       (dto_is_certain(m, c->h[2]) ||
		!(model_states(m, c->h[2]) & ~ST(DISCONNECTED)) ||
		!(model_states(m, c->h[2]) &
		  (ST(CONNECTED) | ST(DISCONNECTED))));
}

static bool sync_can(const struct model *m, const struct call *c)
{
	const struct obj *o = obj_of(m, c->h[1], K_LMR);

	if (c->n[0] > 16)
		return false;
	/* Of other regions the context may be another one's by now. */
	return c->h[1] == OBJ_NULL ||
	       (o && region_can(m, c->h[1], o->uses[USE_PZ], 0) &&
		(o->ia == c->h[0] || !obj_of(m, c->h[0], K_IA)));
}

bool rmr_can(const struct model *m, const struct call *c)
{
	if (c->op == OP_RMR_BIND)
		return bind_can(m, c);
	/* A device is not asked to bind what is gone. */
	if (c->op == OP_RMR_FREE)
		return !obj_of(m, c->h[0], K_RMR) ||
		       rmr_waits_at(m, c->h[0]) < 0;
	if (c->op == OP_LMR_SYNC_READ || c->op == OP_LMR_SYNC_WRITE)
		return sync_can(m, c);
	return true;
}

static void ask_create(struct model *m, const struct call *c, struct answers *a)
{
	if (!obj_of(m, c->h[0], K_PZ))
		BAD_HANDLE(PZ);
	if (c->no_out)
		BAD_ARG(2);
	/* dat.h has the first, providers that ask the device the second */
	if (!m->ia_attr.max_rmrs) {
		refuse(a, DAT_INSUFFICIENT_RESOURCES,
		       DAT_RESOURCE_MEMORY_REGION);
		maybe(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
	}
	/* "the provider cannot": the attribute names one scope, not both */
	if (c->op == OP_RMR_CREATE_EP && walk_scope_is_pz(&m->prov))
		maybe(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
}

/* The range that is to be opened. */
static void ask_range(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *rmr = obj_of(m, c->h[0], K_RMR);
	const struct obj *lmr = obj_of(m, c->h[1], K_LMR);

	if (c->n[5] & ~(uint64_t)DAT_MEM_PRIV_ALL_FLAG)
		refuse(a, DAT_INVALID_PARAMETER, WALK_BIND_PRIV);
	if (!lmr) {
		if (WALK_BY_CONTEXT)
			BAD_ARG(2);
		else
			BAD_HANDLE(LMR);
		return;
	}
	if (rmr && lmr->uses[USE_PZ] != rmr->uses[USE_PZ])
		BAD_ARG(2);
	if (c->n[1] + c->n[2] > lmr->lmr.length)
		refuse(a, DAT_INVALID_PARAMETER, WALK_BIND_RANGE);
	if (c->n[5] & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
	    !(lmr->lmr.priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		refuse(a, DAT_PRIVILEGES_VIOLATION, ANY_SUB);
}

static void ask_bind(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *rmr = obj_of(m, c->h[0], K_RMR);
	const struct obj *ep = obj_of(m, c->h[2], K_EP);
	struct answers range = {0};

	if (!rmr)
		BAD_HANDLE(RMR);
	ask_range(m, c, &range);
	/* 0 bytes close it: whether a wrong range counts then is not said. */
	for (int i = 0; i < range.n; i++)
		maybe(a, range.no[i].type, range.no[i].sub);
	a->sure |= c->n[2] && range.sure;
	if (!ep) {
		BAD_HANDLE(EP);
		return;
	}
	if (rmr && ep->uses[USE_PZ] != rmr->uses[USE_PZ])
		refuse(a, DAT_INVALID_PARAMETER, WALK_BIND_EP);
	refuse_states(a, model_states(m, c->h[2]),
		      ST(CONNECTED) | ST(DISCONNECTED));
	dto_ask_room(m, c->h[2], 0, rmr && rmr->rmr.for_ep ? 2 : 1, a);
	if (!rmr || !rmr->rmr.for_ep || !rmr->rmr.posted)
		return;
	/* "the window is bound through another endpoint", or is to be */
	if (rmr_waits_at(m, c->h[0]) == c->h[2] && conn_sure(m, c->h[2]))
		return;
	if (rmr->rmr.posted != rmr->rmr.done)
		maybe(a, DAT_INVALID_PARAMETER, WALK_BIND_EP);
	else if (rmr->rmr.ep == c->h[2])
		return;
	else if (is_open(rmr) && conn_sure(m, rmr->rmr.ep))
		refuse(a, DAT_INVALID_PARAMETER, WALK_BIND_EP);
	else
		maybe(a, DAT_INVALID_PARAMETER, WALK_BIND_EP);
}

static void ask_sync(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *lmr = obj_of(m, c->h[1], K_LMR);

	if (!obj_of(m, c->h[0], K_IA))
		BAD_HANDLE(IA);
	if (c->n[0] && (!lmr || c->n[1] + c->n[0] * c->n[2] > lmr->lmr.length))
		BAD_ARG(2);
}

void rmr_ask(struct model *m, const struct call *c, struct answers *a)
{
	switch (c->op) {
	case OP_RMR_CREATE:
	case OP_RMR_CREATE_EP:
		ask_create(m, c, a);
		break;
	case OP_RMR_BIND:
		ask_bind(m, c, a);
		break;
	case OP_LMR_SYNC_READ:
	case OP_LMR_SYNC_WRITE:
		ask_sync(m, c, a);
		break;
	default:
		if (!obj_of(m, c->h[0], K_RMR))
			BAD_HANDLE(RMR);
		if (c->op == OP_RMR_QUERY)
			ask_query(a, c, WALK_RMR_FIELDS);
	}
}

static void take_query(struct model *m, const struct world *w,
		       const struct call *c, const struct result *r)
{
	const struct obj *o = &m->obj[c->h[0]];
	const DAT_RMR_PARAM *p = &r->rmr_param;
	const struct range *to = &o->rmr.to;

	if (c->n[0] != DAT_RMR_FIELD_ALL)
		return;
	if (p->ia_handle != m->obj[o->ia].handle ||
	    p->pz_handle != m->obj[o->uses[USE_PZ]].handle)
		model_wrong(m, "the window's IA or zone is another");
	if (!walk_scope_is(p, o->rmr.for_ep))
		model_wrong(m, "the window has the other scope");
	/* "mean nothing while the window is unbound" */
	if (!is_open(o) || o->rmr.posted != o->rmr.done)
		return;
	if (p->rmr_context != w->rkey[c->h[0]] ||
	    p->mem_priv != (DAT_MEM_PRIV_FLAGS)to->priv ||
	    p->lmr_triplet.lmr_context != w->lkey[to->lmr] ||
	    p->lmr_triplet.virtual_address !=
		    (DAT_VADDR)(uintptr_t)(w->mem[to->lmr] + to->at) ||
	    p->lmr_triplet.segment_length != to->len)
		model_wrong(m, "the window is open onto something else");
}

static void take_bind(struct model *m, const struct world *w,
		      const struct call *c)
{
	struct rmr *r = &m->obj[c->h[0]].rmr;
	struct dto d = {
		.cookie = c->n[3],
		.op = c->op,
		.silent = c->n[4] & DAT_COMPLETION_SUPPRESS_FLAG,
		.lmr = OBJ_NULL,
		.remote = OBJ_NULL,
		.window = c->h[0],
		.bind = ++r->posted,
		.risky = true,
		.to = {c->h[1], (unsigned)c->n[5], c->n[1], c->n[2]},
	};

	/* What closes a window may leave it the context that it has. */
	if (w->rkey[c->h[0]] != r->context) {
		r->of[1] = r->of[0];
		r->of[0] = d.bind;
		r->context = w->rkey[c->h[0]];
	}
	if (d.to.len)
		r->may_use[r->n_may_use++] = d.to.lmr;
	dto_post(m, c->h[2], 0, &d);
}

void rmr_take(struct model *m, const struct world *w, const struct call *c,
	      const struct result *r)
{
	struct obj *o;

	switch (c->op) {
	case OP_RMR_CREATE:
	case OP_RMR_CREATE_EP:
		new_object(m, c->out, K_RMR, m->obj[c->h[0]].ia, r->made);
		o = &m->obj[c->out];
		o->uses[USE_PZ] = c->h[0];
		o->rmr.for_ep = c->op == OP_RMR_CREATE_EP;
		o->rmr.ep = OBJ_NULL;
		break;
	case OP_RMR_QUERY:
		take_query(m, w, c, r);
		break;
	case OP_RMR_BIND:
		take_bind(m, w, c);
		break;
	case OP_RMR_FREE:
		object_dies(m, c->h[0]);
		break;
	}
}
