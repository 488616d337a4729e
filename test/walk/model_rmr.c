/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_rmr.c - windows: who may have one, and why a bind is refused. And what
 * a peer wrote made visible.
 *
 * Binds through an endpoint that is or was connected are not walked yet, so no
 * window is ever bound.
 * Threads, ownership: model.h. Rule: DAT, dat_rmr_*, dat_lmr_sync_*.
 */
#include "test/walk/model.h"

#include "test/walk/face.h"

static bool bind_can(const struct model *m, const struct call *c)
{
	const struct obj *lmr = obj_of(m, c->h[1], K_LMR);

	/* Another region may have the context of one that is gone. */
	if (WALK_BY_CONTEXT && !lmr && c->h[1] != OBJ_NULL)
		return false;
	if (lmr && !region_can(m, c->h[1], lmr->uses[USE_PZ], 0))
		return false;
	return !obj_of(m, c->h[2], K_EP) ||
	       !(model_states(m, c->h[2]) & (ST(CONNECTED) | ST(DISCONNECTED)));
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
	if (c->n[5] & ~(uint64_t)lmr->lmr.priv)
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

static void take_query(struct model *m, const struct call *c,
		       const struct result *r)
{
	const struct obj *o = &m->obj[c->h[0]];
	const DAT_RMR_PARAM *p = &r->rmr_param;

	if (c->n[0] != DAT_RMR_FIELD_ALL)
		return;
	if (p->ia_handle != m->obj[o->ia].handle ||
	    p->pz_handle != m->obj[o->uses[USE_PZ]].handle)
		model_wrong(m, "the window's IA or zone is another");
	if (!walk_scope_is(p, o->for_ep))
		model_wrong(m, "the window has the other scope");
}

void rmr_take(struct model *m, const struct call *c, const struct result *r)
{
	struct obj *o;

	switch (c->op) {
	case OP_RMR_CREATE:
	case OP_RMR_CREATE_EP:
		new_object(m, c->out, K_RMR, m->obj[c->h[0]].ia, r->made);
		o = &m->obj[c->out];
		o->uses[USE_PZ] = c->h[0];
		o->for_ep = c->op == OP_RMR_CREATE_EP;
		break;
	case OP_RMR_QUERY:
		take_query(m, c, r);
		break;
	case OP_RMR_FREE:
		object_dies(m, c->h[0]);
		break;
	}
}
