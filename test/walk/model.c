/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model.c - objects, who uses them, and the calls that concern one object:
 * all but connections (model_conn.c) and transfers (model_dto.c).
 *
 * For each call first what it may answer (ask), then what a success means
 * (take). Everything that is wrong with a call counts, in no order: the
 * specification does not say what is looked at first.
 * Threads, ownership, rule: model.h.
 */
#include "test/walk/model.h"

#include <stdarg.h>
#include <string.h>

#include "test/walk/face.h"

/* ------------------------------------------------------------- answers */

bool model_wrong(struct model *m, const char *fmt, ...)
{
	va_list ap;

	if (!m->wrong[0]) {
		va_start(ap, fmt);
		vsnprintf(m->wrong, sizeof(m->wrong), fmt, ap);
		va_end(ap);
	}
	return false;
}

void maybe(struct answers *a, DAT_RETURN type, int sub)
{
	if (a->n < 24) {
		a->no[a->n].type = type;
		a->no[a->n++].sub = sub;
	}
}

void refuse(struct answers *a, DAT_RETURN type, int sub)
{
	maybe(a, type, sub);
	a->sure = true;
}

int state_sub(int state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return DAT_INVALID_STATE_EP_UNCONNECTED;
	case DAT_EP_STATE_RESERVED:
		return DAT_INVALID_STATE_EP_RESERVED;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_PASSCONNPENDING;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_ACTCONNPENDING;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_TENTCONNPENDING;
	case DAT_EP_STATE_CONNECTED:
		return DAT_INVALID_STATE_EP_CONNECTED;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return DAT_INVALID_STATE_EP_DISCPENDING;
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_INVALID_STATE_EP_DISCONNECTED;
	default:
		return DAT_INVALID_STATE_EP_COMPLPENDING;
	}
}

void refuse_states(struct answers *a, unsigned states, unsigned allowed)
{
	for (int s = 0; s <= DAT_EP_STATE_COMPLETION_PENDING; s++)
		if (states & ~allowed & 1u << s)
			maybe(a, DAT_INVALID_STATE, state_sub(s));
	if (!(states & allowed))
		a->sure = true;
}

/* -------------------------------------------------------------- objects */

const struct obj *obj_of(const struct model *m, int id, enum kind kind)
{
	if (id < 0 || id >= WALK_OBJS || !m->obj[id].live ||
	    m->obj[id].kind != kind)
		return NULL;
	return &m->obj[id];
}

static struct obj *mine(struct model *m, int id)
{
	return &m->obj[id];
}

/* Of that adapter. */
const struct obj *of_ia(const struct model *m, int id, enum kind kind, int ia)
{
	const struct obj *o = obj_of(m, id, kind);

	return o && o->ia == ia ? o : NULL;
}

bool model_in_use(const struct model *m, int id)
{
	for (int i = 0; i < m->n_obj; i++)
		for (int u = 0; m->obj[i].live && u < USES; u++)
			if (m->obj[i].uses[u] == id)
				return true;
	return false;
}

/* Whether its handle is that of a living object: memory is used again. */
bool model_aliased(const struct model *m, int id)
{
	for (int i = 0; i < m->n_obj; i++)
		if (i != id && m->obj[i].live &&
		    m->obj[i].handle == m->obj[id].handle)
			return true;
	return false;
}

static struct obj *make(struct model *m, int id, enum kind kind, int ia,
			DAT_HANDLE handle)
{
	struct obj *o = &m->obj[id];

	memset(o, 0, sizeof(*o));
	o->kind = kind;
	o->live = true;
	o->ia = (int16_t)ia;
	o->handle = handle;
	for (int u = 0; u < USES; u++)
		o->uses[u] = OBJ_NULL;
	if (id >= m->n_obj)
		m->n_obj = id + 1;
	return o;
}

int new_object(struct model *m, int id, int kind, int ia, DAT_HANDLE h)
{
	make(m, id, (enum kind)kind, ia, h);
	return id;
}

void model_init(struct model *m)
{
	int lie = m->lie;

	memset(m, 0, sizeof(*m));
	m->lie = lie;
	m->cookies = 1;
}

bool region_can(const struct model *m, int id, int pz, unsigned priv)
{
	const struct obj *o = obj_of(m, id, K_LMR);

	return o && o->uses[USE_PZ] == pz && (o->lmr.priv & priv) == priv &&
	       o->lmr.type == DAT_MEM_TYPE_VIRTUAL && !o->lmr.va;
}

static bool lmr_is_busy(const struct model *m, int id)
{
	const struct obj *o = obj_of(m, id, K_LMR);

	for (int i = 0; o && i < CHUNKS; i++)
		if (o->lmr.busy[i])
			return true;
	return false;
}

bool model_can(const struct model *m, const struct call *c)
{
	if (c->out && m->obj[c->out].live)
		return false;
	for (int i = 0; i < 6; i++)
		if (c->h[i] >= 0 &&
		    (m->obj[c->h[i]].kind == K_NONE ||
		     (!m->obj[c->h[i]].live && model_aliased(m, c->h[i]))))
			return false;
	if (c->op == OP_TROUBLE)
		return fault_waits(m, c->h[0]);
	if (c->op == OP_CR_HANDOFF)
		return conn_can_hand_off(m, c->h[0], c->n[0]);
	if (c->op == OP_EP_DISCONNECT && obj_of(m, c->h[0], K_EP))
		return c->n[0] != DAT_CLOSE_GRACEFUL_FLAG ||
		       dto_can_drain(m, c->h[0]);
	/* Whether an earlier request has the endpoint is to be known. */
	if (c->op == OP_RSP_CREATE && obj_of(m, c->h[1], K_EP))
		return model_states(m, c->h[1]) !=
		       (ST(UNCONNECTED) | ST_PASSIVE);
	if (call_transfers(c->op))
		return dto_can(m, c);
	if (c->op >= OP_RMR_CREATE && c->op <= OP_LMR_SYNC_WRITE)
		return rmr_can(m, c);
	if (c->op >= OP_SRQ_CREATE && c->op <= OP_EP_RECV_QUERY)
		return srq_can(m, c);
	if (c->op == OP_CR_ACCEPT && conn_doubtful(m, c->h[0])) {
		/* Which of two reasons it was could not be told. */
		struct answers a = {0};

		conn_ask((struct model *)(uintptr_t)m, c, &a);
		return !a.sure;
	}
	if (c->op == OP_EP_CONNECT || c->op == OP_EP_COMMON_CONNECT)
		return obj_of(m, c->h[1], K_IA);
	/* Posted work forbids it: that is not walked. */
	if (c->op == OP_EP_MODIFY && obj_of(m, c->h[0], K_EP))
		return !m->obj[c->h[0]].ep.n[0] && !m->obj[c->h[0]].ep.n[1];
	if (c->op == OP_LMR_FREE)
		return !lmr_is_busy(m, c->h[0]);
	if (c->op == OP_EVD_POST_SE && obj_of(m, c->h[0], K_EVD))
		return m->obj[c->h[0]].evd.n_se < MAX_SE;
	return true;
}

/* ---------------------------------------------------- asking, by object */

/* Not so requests without an answer, and what they brought. */
static bool keeps_open(const struct model *m, int id, int ia)
{
	const struct obj *o = &m->obj[id];

	return o->live && o->ia == ia && o->kind != K_IA && o->kind != K_CR &&
	       !(o->kind == K_EP && o->ep.tentative) &&
	       id != m->obj[ia].uses[USE_EVD];
}

static void ask_ia(struct model *m, const struct call *c, struct answers *a)
{
	bool ia = obj_of(m, c->h[0], K_IA);

	if (c->op == OP_IA_OPEN) {
		if (c->no_out)
			BAD_HANDLE(IA);
		if ((int64_t)c->n[0] <= 0)
			BAD_ARG(2);
		return;
	}
	if (!ia)
		BAD_HANDLE(IA);
	if (c->op == OP_IA_QUERY) {
		if (c->n[0] & ~DAT_IA_FIELD_ALL)
			BAD_ARG(3);
		if (c->n[1] & ~DAT_PROVIDER_FIELD_ALL)
			BAD_ARG(5);
		if (c->n[0] && c->no_out)
			BAD_ARG(4);
		if (c->n[1] && c->no_out)
			BAD_ARG(6);
	}
	if (c->op != OP_IA_CLOSE)
		return;
	if (c->n[0] > 1)
		BAD_ARG(2);
	for (int i = 0;
	     ia && c->n[0] == DAT_CLOSE_GRACEFUL_FLAG && i < m->n_obj; i++)
		if (keeps_open(m, i, c->h[0])) {
			BAD_STATE(IA_IN_USE);
			break;
		}
}

/* Any object has a type and a context. */
static void ask_any(struct model *m, const struct call *c, struct answers *a)
{
	if (c->h[0] == OBJ_NULL)
		refuse(a, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	else if (c->h[0] < 0 || !m->obj[c->h[0]].live)
		refuse(a, DAT_INVALID_HANDLE, ANY_SUB);
	/* gone with its request, which is not known yet */
	else if (m->obj[c->h[0]].kind == K_RSP && m->obj[c->h[0]].sp.spent)
		maybe(a, DAT_INVALID_HANDLE, ANY_SUB);
	if (c->no_out && c->op != OP_SET_CONTEXT)
		BAD_ARG(2);
}

void ask_query(struct answers *a, const struct call *c, uint64_t all)
{
	if (c->n[0] & ~all)
		BAD_ARG(2);
	if (c->no_out)
		BAD_ARG(3);
}

static void ask_pz(struct model *m, const struct call *c, struct answers *a)
{
	if (c->op == OP_PZ_CREATE) {
		if (!obj_of(m, c->h[0], K_IA))
			BAD_HANDLE(IA);
		if (c->no_out)
			BAD_ARG(2);
		return;
	}
	if (!obj_of(m, c->h[0], K_PZ))
		BAD_HANDLE(PZ);
	else if (c->op == OP_PZ_FREE && model_in_use(m, c->h[0]))
		BAD_STATE(PZ_IN_USE);
	if (c->op == OP_PZ_QUERY)
		ask_query(a, c, DAT_PZ_FIELD_ALL);
}

static bool streams_merge(const struct model *m, uint64_t flags)
{
	static const unsigned bits[6] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
		DAT_EVD_DTO_FLAG,      DAT_EVD_CONNECTION_FLAG,
		DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
	};

	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++)
			if (flags & bits[i] && flags & bits[j] &&
			    !m->prov.evd_stream_merging_supported[i][j])
				return false;
	return true;
}

static void ask_evd_create(struct model *m, const struct call *c,
			   struct answers *a)
{
	int64_t qlen = (int32_t)c->n[0];

	if (!obj_of(m, c->h[0], K_IA))
		BAD_HANDLE(IA);
	if (qlen <= 0)
		BAD_ARG(2);
	else if (qlen > m->ia_attr.max_evd_qlen)
		refuse(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (c->h[1] != OBJ_NULL && !of_ia(m, c->h[1], K_CNO, c->h[0]))
		BAD_HANDLE(CNO);
	if (!c->n[1] || c->n[1] & ~WALK_EVD_FLAGS || !streams_merge(m, c->n[1]))
		BAD_ARG(4);
	if (c->no_out)
		BAD_ARG(5);
}

/* What a wait or a dequeue finds. */
static void ask_take(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_EVD);
	bool wait = c->op == OP_EVD_WAIT;
	int threshold = wait ? (int32_t)c->n[1] : 1;
	DAT_RETURN nothing = wait ? DAT_TIMEOUT_EXPIRED : DAT_QUEUE_EMPTY;

	if (c->no_out)
		refuse(a, DAT_INVALID_PARAMETER,
		       wait ? DAT_INVALID_ARG4 : DAT_INVALID_ARG2);
	if (!o)
		return;
	if (threshold <= 0 || threshold > 500)
		BAD_ARG(3);
	else if (threshold > o->evd.qlen)
		maybe(a, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (wait && o->evd.unwaitable)
		BAD_STATE(EVD_UNWAITABLE);
	if (model_may_have(m, c->h[0]) < threshold)
		refuse(a, nothing, 0);
	else if (model_has(m, c->h[0]) < threshold &&
		 !(threshold == 1 && wait && c->n[0] >= PATIENCE_US &&
		   model_owes(m, c->h[0])))
		maybe(a, nothing, 0);
}

static void ask_evd(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_EVD);
	int most;

	if (!o)
		refuse(a, DAT_INVALID_HANDLE,
		       c->h[0] == OBJ_NULL ? DAT_INVALID_HANDLE_EVD_REQUEST
					   : ANY_SUB);
	switch (c->op) {
	case OP_EVD_QUERY:
		ask_query(a, c, DAT_EVD_FIELD_ALL);
		break;
	case OP_EVD_RESIZE:
		if ((int32_t)c->n[0] <= 0)
			BAD_ARG(2);
		else if ((int32_t)c->n[0] > m->ia_attr.max_evd_qlen)
			refuse(a, DAT_INSUFFICIENT_RESOURCES,
			       DAT_RESOURCE_TEVD);
		else if (o && (int32_t)c->n[0] < model_has(m, c->h[0]))
			refuse(a, DAT_INVALID_STATE, ANY_SUB);
		else if (o && (int32_t)c->n[0] < model_may_have(m, c->h[0]))
			maybe(a, DAT_INVALID_STATE, ANY_SUB);
		break;
	case OP_EVD_POST_SE:
		if (o && !(o->evd.flags & DAT_EVD_SOFTWARE_FLAG))
			BAD_ARG(1);
		if (c->no_out || c->n[1] != DAT_SOFTWARE_EVENT)
			BAD_ARG(2);
		most = o ? model_may_have(m, c->h[0]) : 0;
		/* Endpoints make the queues longer that they use. */
		if (o && o->evd.n_se >= o->evd.qlen &&
		    o->evd.flags == DAT_EVD_SOFTWARE_FLAG)
			refuse(a, DAT_QUEUE_FULL, 0);
		else if (o && most >= o->evd.qlen)
			maybe(a, DAT_QUEUE_FULL, 0);
		break;
	case OP_EVD_DEQUEUE:
	case OP_EVD_WAIT:
		ask_take(m, c, a);
		break;
	case OP_EVD_MODIFY_CNO:
		if (c->h[1] != OBJ_NULL && (o ? !of_ia(m, c->h[1], K_CNO, o->ia)
					      : !obj_of(m, c->h[1], K_CNO)))
			BAD_HANDLE(CNO);
		break;
	case OP_EVD_FREE:
		if (o && model_in_use(m, c->h[0])) {
			maybe(a, DAT_INVALID_STATE,
			      DAT_INVALID_STATE_EVD_IN_USE);
			a->sure = !conn_may_let_go(m, c->h[0]);
		}
		break;
	}
}

/* Something may have come to one of its EVDs that nobody has told of. */
static bool cno_stirs(const struct model *m, int cno)
{
	for (int i = 0; i < m->n_obj; i++)
		if (m->obj[i].live && m->obj[i].kind == K_EVD &&
		    m->obj[i].uses[USE_CNO] == cno &&
		    m->obj[i].evd.flags & ~(unsigned)DAT_EVD_SOFTWARE_FLAG)
			return true;
	return false;
}

static void ask_cno(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_CNO);

	if (c->op == OP_CNO_CREATE || c->op == OP_CNO_FD_CREATE) {
		if (!obj_of(m, c->h[0], K_IA))
			BAD_HANDLE(IA);
		if (c->no_out)
			BAD_ARG(3);
		return;
	}
	if (!o || (c->op == OP_CNO_TRIGGER && !o->cno.fd))
		BAD_HANDLE(CNO);
	if (c->op == OP_CNO_QUERY) {
		if (c->n[0] > WALK_CNO_FIELDS)
			BAD_ARG(2);
		if (c->no_out)
			BAD_ARG(3);
	}
	if (!o)
		return;
	if (c->op == OP_CNO_FREE && model_in_use(m, c->h[0]))
		BAD_STATE(CNO_IN_USE);
	if (c->op != OP_CNO_WAIT && c->op != OP_CNO_TRIGGER)
		return;
	if (o->cno.latch == LATCH_NO && !cno_stirs(m, c->h[0]))
		refuse(a, DAT_QUEUE_EMPTY, 0);
	else if (o->cno.latch != LATCH_SET)
		maybe(a, DAT_QUEUE_EMPTY, 0);
}

static void ask_lmr_create(struct model *m, const struct call *c,
			   struct answers *a)
{
	bool known = c->n[0] <= DAT_MEM_TYPE_SHARED_VIRTUAL;

	if (!obj_of(m, c->h[0], K_IA))
		BAD_HANDLE(IA);
	if (!of_ia(m, c->h[1], K_PZ, c->h[0]))
		BAD_HANDLE(PZ);
	if (!known)
		BAD_ARG(2);
	/* VIRTUAL is 0: always there */
	else if (c->n[0] & ~(uint64_t)m->prov.lmr_mem_types_supported)
		refuse(a, DAT_NOT_IMPLEMENTED, ANY_SUB);
	if (c->n[0] == DAT_MEM_TYPE_LMR && !of_ia(m, c->h[2], K_LMR, c->h[0]))
		BAD_HANDLE(LMR);
	if (!c->n[1] && c->n[0] != DAT_MEM_TYPE_LMR)
		refuse(a, DAT_LENGTH_ERROR, 0);
	if (c->n[2] & ~WALK_PRIVS)
		BAD_ARG(6);
	if (c->n[2] & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
	    !(c->n[2] & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		refuse(a, DAT_PRIVILEGES_VIOLATION, ANY_SUB);
	if (c->n[3] & ~WALK_VA_TYPES)
		BAD_ARG(7);
	if (walk_no_zero_based(&m->ia_attr, c->n[3])) {
		refuse(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
		maybe(a, DAT_NOT_IMPLEMENTED, ANY_SUB);
	}
	if (c->no_out)
		refuse(a, DAT_INVALID_PARAMETER, WALK_LMR_OUT);
}

static void ask_lmr(struct model *m, const struct call *c, struct answers *a)
{
	bool sure;

	if (c->op == OP_LMR_CREATE) {
		ask_lmr_create(m, c, a);
		return;
	}
	if (!obj_of(m, c->h[0], K_LMR)) {
		BAD_HANDLE(LMR);
	} else if (c->op == OP_LMR_FREE && rmr_uses(m, c->h[0], &sure)) {
		maybe(a, DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
		a->sure |= sure;
	}
	if (c->op == OP_LMR_QUERY)
		ask_query(a, c, WALK_LMR_FIELDS);
}

/* An EVD for a stream, or none. */
static bool evd_for(const struct model *m, int id, int ia, unsigned flag)
{
	const struct obj *o = obj_of(m, id, K_EVD);

	/* doc/conformance.md: a connection EVD of another IA is accepted */
	if (o && flag != DAT_EVD_CONNECTION_FLAG && o->ia != ia)
		return false;
	return id == OBJ_NULL || (o && o->evd.flags & flag);
}

static void ask_ep_parts(struct model *m, const struct call *c, int ia,
			 struct answers *a)
{
	if (c->h[1] != OBJ_NULL && !of_ia(m, c->h[1], K_PZ, ia))
		BAD_HANDLE(PZ);
	if (!evd_for(m, c->h[2], ia, DAT_EVD_DTO_FLAG))
		BAD_HANDLE(EVD_RECV);
	if (!evd_for(m, c->h[3], ia, DAT_EVD_DTO_FLAG))
		BAD_HANDLE(EVD_REQUEST);
	if (!evd_for(m, c->h[4], ia, DAT_EVD_CONNECTION_FLAG))
		BAD_HANDLE(EVD_CONN);
}

/* Attributes are argument 6, or 7 where an SRQ comes before them. */
static void ask_ep_attr(const struct call *c, int arg, struct answers *a)
{
	bool no_recv = c->n[0] == ATTR_NO_RECV, srq = arg == DAT_INVALID_ARG7;

	if (c->n[0] == ATTR_NULL)
		return;
	/* Receives of its own an endpoint with an SRQ has not. */
	if ((c->h[2] == OBJ_NULL) != no_recv)
		(srq ? maybe : refuse)(a, DAT_INVALID_PARAMETER, arg);
	if (c->h[3] == OBJ_NULL || c->n[0] == ATTR_SUPPRESS_RECV ||
	    c->n[0] == ATTR_HUGE)
		refuse(a, DAT_INVALID_PARAMETER, arg);
	if (c->n[0] == ATTR_HUGE)
		maybe(a, DAT_INSUFFICIENT_RESOURCES, ANY_SUB);
}

static void ask_ep_srq(const struct model *m, const struct call *c,
		       struct answers *a)
{
	const struct obj *srq = of_ia(m, c->h[5], K_SRQ, c->h[0]);

	if (!srq)
		BAD_HANDLE(SRQ);
	if (c->h[2] == OBJ_NULL)
		BAD_HANDLE(EVD_RECV);
	if (srq && c->h[1] != srq->uses[USE_PZ] && c->h[1] != OBJ_NULL &&
	    !m->prov.srq_ep_pz_difference_supported)
		refuse(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
}

static void ask_ep_create(struct model *m, const struct call *c,
			  struct answers *a)
{
	bool with_srq = c->op == OP_EP_CREATE_SRQ;

	if (!obj_of(m, c->h[0], K_IA))
		BAD_HANDLE(IA);
	ask_ep_parts(m, c, c->h[0], a);
	ask_ep_attr(c, with_srq ? DAT_INVALID_ARG7 : DAT_INVALID_ARG6, a);
	if (with_srq)
		ask_ep_srq(m, c, a);
	if (c->no_out)
		refuse(a, DAT_INVALID_PARAMETER,
		       with_srq ? DAT_INVALID_ARG8 : DAT_INVALID_ARG7);
}

#define EP_PARTS                                                 \
	(DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | \
	 DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE)

static void ask_ep_modify(struct model *m, const struct call *c,
			  struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_EP);
	struct call parts = *c;
	struct answers bad = {0};
	unsigned ok = ST(UNCONNECTED) | ST_TENT;

	if (c->n[0] & ~(uint64_t)EP_PARTS)
		BAD_ARG(2);
	if (c->no_out)
		BAD_ARG(3);
	if (!o)
		return;
	if (!(c->n[0] & DAT_EP_FIELD_PZ_HANDLE))
		ok |= ST(RESERVED) | ST_PASSIVE;
	refuse_states(a, model_states(m, c->h[0]), ok);
	for (int i = 0; i < 4; i++)
		if (!(c->n[0] & DAT_EP_FIELD_PZ_HANDLE << i))
			parts.h[i + 1] = OBJ_NULL;
	ask_ep_parts(m, &parts, o->ia, &bad);
	/* "Without a queue the matching DTO count must be 0" */
	if ((c->n[0] & DAT_EP_FIELD_RECV_EVD_HANDLE && c->h[2] == OBJ_NULL &&
	     (o->ep.depth[1] || o->uses[USE_SRQ] >= 0)) ||
	    (c->n[0] & DAT_EP_FIELD_REQUEST_EVD_HANDLE && c->h[3] == OBJ_NULL &&
	     o->ep.depth[0]))
		BAD_ARG(3);
	if (bad.n && !c->no_out)
		BAD_ARG(3);
	/* What its creation would have refused. */
	if (o->uses[USE_SRQ] >= 0 && c->n[0] & DAT_EP_FIELD_PZ_HANDLE &&
	    c->h[1] != OBJ_NULL &&
	    c->h[1] != m->obj[o->uses[USE_SRQ]].uses[USE_PZ] &&
	    !m->prov.srq_ep_pz_difference_supported) {
		BAD_ARG(3);
		maybe(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
	}
	/* "endpoint without posted work" */
	if (o->ep.n[0] + o->ep.n[1])
		maybe(a, DAT_INVALID_STATE, ANY_SUB);
}

static void ask_ep(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_EP);

	if (c->op == OP_EP_CREATE || c->op == OP_EP_CREATE_SRQ) {
		ask_ep_create(m, c, a);
		return;
	}
	if (!o)
		BAD_HANDLE(EP);
	/* One MPI library asks with bits of nothing. */
	if (c->op == OP_EP_QUERY)
		ask_query(a, c, UINT64_MAX);
	if (c->op == OP_EP_MODIFY)
		ask_ep_modify(m, c, a);
	if (!o)
		return;
	if (c->op == OP_EP_RESET)
		refuse_states(a, model_states(m, c->h[0]),
			      ST(UNCONNECTED) | ST(DISCONNECTED));
	if (c->op == OP_EP_FREE)
		refuse_states(a, model_states(m, c->h[0]),
			      ~(ST(RESERVED) | ST_PASSIVE | ST_TENT));
}

/* model_conn.c knows. */
static bool is_of_connections(int op)
{
	return op == OP_EP_CONNECT || op == OP_EP_DUP_CONNECT ||
	       op == OP_EP_COMMON_CONNECT || op == OP_EP_DISCONNECT ||
	       op == OP_CR_HANDOFF ||
	       (op >= OP_PSP_CREATE && op <= OP_CR_REJECT);
}

void model_ask(struct model *m, const struct call *c, struct answers *a)
{
	memset(a, 0, sizeof(*a));
	if (c->op <= OP_IA_CLOSE)
		ask_ia(m, c, a);
	else if (c->op <= OP_HANDLE_TYPE)
		ask_any(m, c, a);
	else if (c->op <= OP_PZ_FREE)
		ask_pz(m, c, a);
	else if (c->op == OP_EVD_CREATE)
		ask_evd_create(m, c, a);
	else if (c->op <= OP_EVD_FREE)
		ask_evd(m, c, a);
	else if (c->op <= OP_CNO_FREE)
		ask_cno(m, c, a);
	else if (c->op <= OP_LMR_FREE)
		ask_lmr(m, c, a);
	else if (call_transfers(c->op))
		dto_ask(m, c, a);
	else if (is_of_connections(c->op))
		conn_ask(m, c, a);
	else if (c->op >= OP_CSP_CREATE)
		lib_ask(m, c, a);
	else if (c->op >= OP_SRQ_CREATE)
		srq_ask(m, c, a);
	else if (c->op >= OP_RMR_CREATE)
		rmr_ask(m, c, a);
	else
		ask_ep(m, c, a);
	if (m->lie && m->lie == c->op && !a->sure)
		refuse(a, DAT_ABORT, 0);
}

/* ---------------------------------------------------- taking, by object */

static void dies(struct model *m, int id)
{
	struct obj *o = mine(m, id);

	if (o->kind == K_EP) {
		conn_ep_gone(m, id);
		dto_forget(m, id);
		rmr_ep_gone(m, id);
	}
	if (o->kind == K_LMR)
		rmr_lmr_gone(m, id);
	if (o->kind == K_SRQ)
		srq_forget(m, id);
	if (o->kind == K_CR)
		conn_cr_gone(m, id);
	if (o->kind == K_PSP || o->kind == K_RSP || o->kind == K_CSP)
		conn_sp_gone(m, id);
	o->live = false;
}

void object_dies(struct model *m, int id)
{
	dies(m, id);
}

/* "Abrupt: cascading destroy of all objects." */
static void close_ia(struct model *m, int ia)
{
	for (int pass = K_CR; pass > K_IA; pass--)
		for (int i = 0; i < m->n_obj; i++)
			if (m->obj[i].live && m->obj[i].ia == ia &&
			    m->obj[i].kind == (enum kind)pass)
				dies(m, i);
	conn_ia_gone(m, ia);
	m->obj[ia].live = false;
}

static void take_ia(struct model *m, const struct world *w,
		    const struct call *c, const struct result *r)
{
	struct obj *o;

	if (c->op == OP_IA_CLOSE) {
		close_ia(m, c->h[0]);
	} else if (c->op == OP_IA_OPEN) {
		m->ia_attr = w->ia_attr;
		m->prov = w->prov_attr;
		o = make(m, c->out, K_IA, c->out, r->made);
		o->uses[USE_EVD] = (int16_t)(c->out + 1);
		o->address = w->address[c->out];
		o = make(m, c->out + 1, K_EVD, c->out, r->second);
		o->evd.flags = DAT_EVD_ASYNC_FLAG;
		o->evd.qlen = o->evd.asked = (int)c->n[0];
	} else if (c->op == OP_IA_QUERY) {
		lib_take(m, w, c, r);
	}
}

static void take_any(struct model *m, const struct call *c,
		     const struct result *r)
{
	static const DAT_HANDLE_TYPE types[] = {
		[K_IA] = DAT_HANDLE_TYPE_IA,   [K_PZ] = DAT_HANDLE_TYPE_PZ,
		[K_EVD] = DAT_HANDLE_TYPE_EVD, [K_CNO] = DAT_HANDLE_TYPE_CNO,
		[K_LMR] = DAT_HANDLE_TYPE_LMR, [K_RMR] = DAT_HANDLE_TYPE_RMR,
		[K_SRQ] = DAT_HANDLE_TYPE_SRQ, [K_EP] = DAT_HANDLE_TYPE_EP,
		[K_PSP] = DAT_HANDLE_TYPE_PSP, [K_RSP] = DAT_HANDLE_TYPE_RSP,
		[K_CSP] = WALK_CSP_TYPE,       [K_CR] = DAT_HANDLE_TYPE_CR,
	};
	struct obj *o = mine(m, c->h[0]);

	if (c->op == OP_SET_CONTEXT)
		o->context = c->n[0];
	if (c->op == OP_GET_CONTEXT && r->context.as_64 != o->context)
		model_wrong(m, "context is 0x%llx, 0x%llx was set",
			    (unsigned long long)r->context.as_64,
			    (unsigned long long)o->context);
	if (c->op == OP_HANDLE_TYPE && r->type != types[o->kind])
		model_wrong(m, "type %d of an object of type %d", r->type,
			    types[o->kind]);
}

/* An event came to an EVD whose CNO hears of it. */
static void trigger(struct model *m, int evd)
{
	struct obj *o = mine(m, evd), *cno;

	if (o->uses[USE_CNO] < 0 || o->evd.disabled)
		return;
	cno = mine(m, o->uses[USE_CNO]);
	if (cno->cno.latch == LATCH_SET) {
		cno->cno.others |= cno->cno.by != evd;
		return;
	}
	cno->cno.by = (int16_t)(cno->cno.latch == LATCH_NO ? evd : -1);
	cno->cno.latch = LATCH_SET;
}

/* Whether the CNO has been triggered, or by whom, is not known any more. */
static void unsettle(struct model *m, int cno)
{
	struct obj *o = cno >= 0 ? mine(m, cno) : NULL;

	if (!o)
		return;
	o->cno.latch = LATCH_MAYBE;
	o->cno.others = true;
	o->cno.by = -1;
}

/* Its last event is taken: a trigger may stay, and tells nothing. */
static void drained(struct model *m, int evd)
{
	int cno = m->obj[evd].uses[USE_CNO];

	if (!m->obj[evd].evd.n_se && cno >= 0 &&
	    m->obj[cno].cno.latch == LATCH_SET)
		unsettle(m, cno);
}

static void take_evd_query(struct model *m, const struct call *c,
			   const struct result *r)
{
	const struct obj *o = &m->obj[c->h[0]];
	const DAT_EVD_PARAM *p = &r->evd_param;
	unsigned state = (unsigned)p->evd_state & 0xf;
	unsigned want = (o->evd.disabled ? DAT_EVD_STATE_DISABLED
					 : DAT_EVD_STATE_ENABLED) |
			(o->evd.unwaitable ? DAT_EVD_STATE_UNWAITABLE
					   : DAT_EVD_STATE_WAITABLE);
	DAT_HANDLE cno = o->uses[USE_CNO] < 0 ? DAT_HANDLE_NULL
					      : m->obj[o->uses[USE_CNO]].handle;

	if (c->n[0] != DAT_EVD_FIELD_ALL)
		return;
	if (state != want || p->cno_handle != cno ||
	    p->evd_flags != (DAT_EVD_FLAGS)o->evd.flags ||
	    p->ia_handle != m->obj[o->ia].handle)
		model_wrong(m,
			    "EVD of state 0x%x, flags 0x%x, CNO %p, IA %p: "
			    "should be 0x%x, 0x%x, %p, %p",
			    state, p->evd_flags, p->cno_handle, p->ia_handle,
			    want, o->evd.flags, cno, m->obj[o->ia].handle);
}

static void take_wait(struct model *m, const struct world *w,
		      const struct call *c, const struct result *r)
{
	int has = model_has(m, c->h[0]), most = model_may_have(m, c->h[0]);

	if (!evd_event(m, w, c->h[0], r, c->out))
		return;
	drained(m, c->h[0]);
	spill_taken(m, c->h[0], c->op == OP_EVD_WAIT ? r->more : -1);
	if (c->op == OP_EVD_WAIT && (r->more < has - 1 || r->more > most - 1))
		model_wrong(m, "%d more events, there are %d to %d", r->more,
			    has - 1, most - 1);
}

static void take_evd(struct model *m, const struct world *w,
		     const struct call *c, const struct result *r)
{
	struct obj *o = mine(m, c->h[0] < 0 ? 0 : c->h[0]);

	switch (c->op) {
	case OP_EVD_CREATE:
		o = make(m, c->out, K_EVD, c->h[0], r->made);
		o->evd.flags = (unsigned)c->n[1];
		o->uses[USE_CNO] = c->h[1];
		/* fall through */
	case OP_EVD_RESIZE:
		async_remember(m, c->op == OP_EVD_CREATE ? c->out : c->h[0]);
		o->evd.qlen = r->evd_param.evd_qlen;
		o->evd.asked = (int)c->n[0];
		if (o->evd.qlen < (int)c->n[0])
			model_wrong(m, "an EVD for %d events, %d asked for",
				    o->evd.qlen, (int)c->n[0]);
		break;
	case OP_EVD_QUERY:
		take_evd_query(m, c, r);
		break;
	case OP_EVD_POST_SE:
		o->evd.se[o->evd.n_se++] = c->n[0];
		trigger(m, c->h[0]);
		break;
	case OP_EVD_DEQUEUE:
	case OP_EVD_WAIT:
		take_wait(m, w, c, r);
		break;
	case OP_EVD_ENABLE:
		/* what came meanwhile "need not trigger" */
		if (o->evd.disabled && model_may_have(m, c->h[0]))
			unsettle(m, o->uses[USE_CNO]);
		o->evd.disabled = false;
		break;
	case OP_EVD_DISABLE:
		/* "A trigger under way may still come through" */
		unsettle(m, o->uses[USE_CNO]);
		o->evd.disabled = true;
		break;
	case OP_EVD_SET_UNWAITABLE:
		o->evd.unwaitable = true;
		break;
	case OP_EVD_CLEAR_UNWAITABLE:
		o->evd.unwaitable = false;
		break;
	case OP_EVD_MODIFY_CNO:
		/* "A notification under way may still reach the old one" */
		unsettle(m, o->uses[USE_CNO]);
		o->uses[USE_CNO] = c->h[1];
		if (model_may_have(m, c->h[0]))
			unsettle(m, c->h[1]);
		break;
	case OP_EVD_FREE:
		unsettle(m, o->uses[USE_CNO]);
		conn_evd_gone(m, c->h[0]);
		shared_evd_gone(m, c->h[0]);
		dies(m, c->h[0]);
		break;
	}
}

static void take_cno_wait(struct model *m, const struct call *c,
			  const struct result *r)
{
	struct obj *o = mine(m, c->h[0]);
	bool stirs = cno_stirs(m, c->h[0]);
	DAT_HANDLE by = o->cno.by < 0 ? NULL : m->obj[o->cno.by].handle;

	if (o->cno.latch == LATCH_SET && by && !stirs && r->evd != by)
		model_wrong(m, "the CNO names EVD %p, triggered by %p", r->evd,
			    by);
	/* "Further ones change nothing", or are another EVD's: as you like. */
	if (!o->cno.others)
		o->cno.latch = LATCH_NO;
	else
		o->cno.latch = LATCH_MAYBE;
	o->cno.by = -1;
}

static void take_cno(struct model *m, const struct call *c,
		     const struct result *r)
{
	struct obj *o;

	switch (c->op) {
	case OP_CNO_CREATE:
	case OP_CNO_FD_CREATE:
		o = make(m, c->out, K_CNO, c->h[0], r->made);
		o->cno.fd = c->op == OP_CNO_FD_CREATE;
		o->cno.by = -1;
		break;
	case OP_CNO_QUERY:
		if (r->cno_param.ia_handle != m->obj[m->obj[c->h[0]].ia].handle)
			model_wrong(m, "the CNO's IA is another");
		break;
	case OP_CNO_WAIT:
	case OP_CNO_TRIGGER:
		take_cno_wait(m, c, r);
		break;
	case OP_CNO_FREE:
		dies(m, c->h[0]);
		break;
	}
}

static void take_memory(struct model *m, const struct world *w,
			const struct call *c, const struct result *r)
{
	struct obj *o;

	switch (c->op) {
	case OP_PZ_CREATE:
		make(m, c->out, K_PZ, c->h[0], r->made);
		break;
	case OP_PZ_QUERY:
		if (r->pz_param.ia_handle != m->obj[m->obj[c->h[0]].ia].handle)
			model_wrong(m, "the zone's IA is another");
		break;
	case OP_LMR_CREATE:
		o = make(m, c->out, K_LMR, c->h[0], r->made);
		o->uses[USE_PZ] = c->h[1];
		o->lmr.type = (unsigned)c->n[0];
		o->lmr.va = (unsigned)c->n[3];
		o->lmr.priv = (unsigned)(c->n[2] & WALK_PRIVS_KEPT);
		o->lmr.length = o->lmr.type == DAT_MEM_TYPE_LMR
					? m->obj[c->h[2]].lmr.length
					: c->n[1];
		break;
	case OP_LMR_QUERY:
		o = mine(m, c->h[0]);
		if (c->n[0] == DAT_LMR_FIELD_ALL &&
		    (r->lmr_param.length != o->lmr.length ||
		     r->lmr_param.mem_type != (DAT_MEM_TYPE)o->lmr.type ||
		     !walk_va_type_is(&r->lmr_param, o->lmr.va) ||
		     r->lmr_param.ia_handle != m->obj[o->ia].handle ||
		     r->lmr_param.mem_priv != (DAT_MEM_PRIV_FLAGS)o->lmr.priv ||
		     r->lmr_param.lmr_context != w->lkey[c->h[0]] ||
		     r->lmr_param.rmr_context != w->rkey[c->h[0]] ||
		     (o->lmr.type == DAT_MEM_TYPE_VIRTUAL &&
		      r->lmr_param.region_desc.for_va != w->mem[c->h[0]]) ||
		     r->lmr_param.pz_handle != m->obj[o->uses[USE_PZ]].handle))
			model_wrong(m, "the region is not what was registered");
		break;
	case OP_PZ_FREE:
	case OP_LMR_FREE:
		dies(m, c->h[0]);
		break;
	}
}

/* What the endpoint has, as its query says: at least what was asked for. */
static void take_depths(struct model *m, const struct call *c, struct obj *o,
			const struct result *r)
{
	const DAT_EP_ATTR *a = &r->ep_param.ep_attr;
	int dtos = c->n[0] == ATTR_NULL ? NULL_DTOS : SMALL_DTOS;

	o->ep.depth[0] = a->max_request_dtos;
	o->ep.depth[1] = a->max_recv_dtos;
	o->ep.iov[0] = a->max_request_iov;
	o->ep.iov[1] = a->max_recv_iov;
	o->ep.attr = *a;
	o->ep.attr_known = true;
	if (c->op == OP_EP_MODIFY)
		return;
	if ((c->h[3] >= 0 && o->ep.depth[0] < dtos) ||
	    (c->h[2] >= 0 && c->op == OP_EP_CREATE && o->ep.depth[1] < dtos))
		model_wrong(m, "an EP for %d and %d transfers, %d asked for",
			    o->ep.depth[0], o->ep.depth[1], dtos);
}

/* Attributes change by dat_ep_modify() only. */
static void take_attr(struct model *m, struct obj *o, const DAT_EP_ATTR *a)
{
	const DAT_EP_ATTR *b = &o->ep.attr;

	if (a->service_type != DAT_SERVICE_TYPE_RC)
		model_wrong(m, "the EP's service type is %d", a->service_type);
	if (!o->ep.attr_known) {
		o->ep.attr = *a;
		o->ep.attr_known = true;
		return;
	}
#define SAME(field)                                                        \
	do {                                                               \
		if (a->field != b->field)                                  \
			model_wrong(m, "the EP's " #field " has changed"); \
	} while (0)
	SAME(max_message_size);
	SAME(max_rdma_size);
	SAME(qos);
	SAME(recv_completion_flags);
	SAME(request_completion_flags);
	SAME(max_recv_dtos);
	SAME(max_request_dtos);
	SAME(max_recv_iov);
	SAME(max_request_iov);
	SAME(max_rdma_read_in);
	SAME(max_rdma_read_out);
	SAME(srq_soft_hw);
	SAME(max_rdma_read_iov);
	SAME(max_rdma_write_iov);
#undef SAME
}

static void take_ep_query(struct model *m, const struct call *c,
			  const struct result *r)
{
	struct obj *o = mine(m, c->h[0]);
	const DAT_EP_PARAM *p = &r->ep_param;
	const DAT_HANDLE has[4] = {p->pz_handle, p->recv_evd_handle,
				   p->request_evd_handle,
				   p->connect_evd_handle};

	if (c->n[0] != DAT_EP_FIELD_ALL)
		return;
	if (!(model_states(m, c->h[0]) & 1u << p->ep_state))
		model_wrong(m, "EP in state %d, may be in 0x%x", p->ep_state,
			    model_states(m, c->h[0]));
	if (p->ia_handle != m->obj[o->ia].handle)
		model_wrong(m, "the EP's IA is another");
	take_attr(m, o, &p->ep_attr);
	for (int i = 0; i < 4; i++)
		if (has[i] != (o->uses[i] < 0 ? DAT_HANDLE_NULL
					      : m->obj[o->uses[i]].handle))
			model_wrong(m, "the EP's part %d is another", i);
	if (p->srq_handle != (o->uses[USE_SRQ] < 0
				      ? DAT_HANDLE_NULL
				      : m->obj[o->uses[USE_SRQ]].handle))
		model_wrong(m, "the EP's SRQ is another");
}

/*
 * Nothing is outstanding, for sure, or something is. That a suppressed request
 * has ended the provider may not know; and a graceful end makes one of its own.
 */
static void take_idle(struct model *m, const struct obj *o,
		      const struct result *r)
{
	static const char *const names[2] = {"receives", "requests"};

	for (int i = 0; i < 2; i++) {
		int q = !i; /* of the queues of struct ep */
		const struct ep *e = &o->ep;
		bool shared = q && o->uses[USE_SRQ] >= 0;
		bool doubt = !q &&
			     (e->unheard || model_states(m, (int)(o - m->obj)) &
						    ST(DISCONNECT_PENDING));

		if (!r->idle[i] && !e->n[q] && !shared && !doubt)
			model_wrong(m, "no %s, and they are not idle",
				    names[i]);
		if (r->idle[i] && e->n[q] && !shared &&
		    model_states(m, (int)(o - m->obj)) == ST(CONNECTED) &&
		    !e->q[q][e->n[q] - 1].done && !e->q[q][e->n[q] - 1].tried &&
		    !e->q[q][e->n[q] - 1].may_flush)
			model_wrong(m, "%s are outstanding, and idle",
				    names[i]);
	}
}

static void take_ep(struct model *m, const struct call *c,
		    const struct result *r)
{
	struct obj *o = mine(m, c->h[0] < 0 ? 0 : c->h[0]);

	switch (c->op) {
	case OP_EP_CREATE:
	case OP_EP_CREATE_SRQ:
		o = make(m, c->out, K_EP, c->h[0], r->made);
		o->ep.conn = -1;
		for (int i = 0; i < 4; i++)
			o->uses[i] = c->h[i + 1];
		o->uses[USE_SRQ] = c->h[5];
		take_depths(m, c, o, r);
		break;
	case OP_EP_QUERY:
		take_ep_query(m, c, r);
		break;
	case OP_EP_MODIFY:
		for (int i = 0; i < 4; i++)
			if (c->n[0] & DAT_EP_FIELD_PZ_HANDLE << i)
				o->uses[i] = c->h[i + 1];
		take_depths(m, c, o, r);
		break;
	case OP_EP_STATUS:
		take_idle(m, o, r);
		if (!(model_states(m, c->h[0]) & 1u << r->state))
			model_wrong(m, "EP in state %d, may be in 0x%x",
				    r->state, model_states(m, c->h[0]));
		break;
	case OP_EP_RESET:
		conn_take(m, NULL, c, r);
		rmr_ep_gone(m, c->h[0]);
		break;
	case OP_EP_FREE:
		dies(m, c->h[0]);
		break;
	}
}

/* ------------------------------------------------- holding them together */

static bool expected(const struct answers *a, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return !a->sure;
	for (int i = 0; i < a->n; i++)
		if (DAT_GET_TYPE(ret) == a->no[i].type &&
		    (a->no[i].sub == ANY_SUB ||
		     DAT_GET_SUBTYPE(ret) == (DAT_RETURN)a->no[i].sub))
			return true;
	return false;
}

static bool unexpected(struct model *m, const struct call *c,
		       const struct answers *a, const struct result *r)
{
	DAT_RETURN ret = r->ret;
	const char *major = "?", *minor = "?";
	char list[256] = "";
	size_t at = 0;

	dat_strerror(ret, &major, &minor);
	for (int i = 0; i < a->n && at < sizeof(list); i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at,
				       " 0x%08x/%d", a->no[i].type,
				       a->no[i].sub);
	if (!ret && (c->op == OP_EVD_WAIT || c->op == OP_EVD_DEQUEUE))
		return model_wrong(m, "%s: event 0x%x, which nothing brings",
				   call_name(c->op), r->ev.event_number);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED && c->h[0] >= 0 &&
	    (conn_owed(m, c->h[0], list, sizeof(list)) ||
	     dto_owed(m, c->h[0], list, sizeof(list))))
		return model_wrong(m, "not come: %s", list);
	return model_wrong(m, "%s answers 0x%08x %s %s (%s), allowed:%s%s",
			   call_name(c->op), ret, major, minor,
			   ret ? dat_error_detail() : "", list,
			   a->sure ? "" : " success");
}

/* Every refusal is of the error class, and says why. */
static bool well_said(struct model *m, const struct call *c,
		      const struct result *r)
{
	DAT_RETURN type = DAT_GET_TYPE(r->ret);

	/* doc/conformance.md: these may be bare */
	if (type == DAT_QUEUE_EMPTY || type == DAT_TIMEOUT_EXPIRED)
		return true;
	if ((r->ret & 0xc0000000u) != DAT_CLASS_ERROR)
		return model_wrong(m, "%s: 0x%08x is not of the error class",
				   call_name(c->op), r->ret);
	/* dat_strerror() is asked about a failure, whose reason is to stay */
	if (!*dat_error_detail() && c->op != OP_STRERROR)
		return model_wrong(m, "%s: 0x%08x without a reason",
				   call_name(c->op), r->ret);
	if (r->made != NOT_WRITTEN)
		return model_wrong(m, "%s: 0x%08x, but a handle was written",
				   call_name(c->op), r->ret);
	return true;
}

bool model_take(struct model *m, const struct world *w, const struct call *c,
		const struct answers *a, const struct result *r)
{
	if (!expected(a, r->ret))
		return unexpected(m, c, a, r);
	if (r->ret != DAT_SUCCESS) {
		if (c->op == OP_CR_ACCEPT && conn_doubtful(m, c->h[0]))
			conn_refused(m, c);
		if (c->op == OP_EP_RESET &&
		    DAT_GET_TYPE(r->ret) == DAT_INSUFFICIENT_RESOURCES)
			dto_reset(m, c->h[0]);
		lib_refused(m, c, r);
		if (c->op == OP_EVD_DEQUEUE && c->h[0] >= 0 &&
		    DAT_GET_TYPE(r->ret) == DAT_QUEUE_EMPTY)
			async_empty(m, c->h[0]);
		if ((c->op == OP_CNO_WAIT || c->op == OP_CNO_TRIGGER) &&
		    DAT_GET_TYPE(r->ret) == DAT_QUEUE_EMPTY) {
			mine(m, c->h[0])->cno.latch = LATCH_NO;
			mine(m, c->h[0])->cno.others = false;
		}
		well_said(m, c, r);
		return !m->wrong[0];
	}
	if (c->op <= OP_IA_CLOSE)
		take_ia(m, w, c, r);
	else if (c->op <= OP_HANDLE_TYPE)
		take_any(m, c, r);
	else if (c->op <= OP_PZ_FREE ||
		 (c->op >= OP_LMR_CREATE && c->op <= OP_LMR_FREE))
		take_memory(m, w, c, r);
	else if (c->op <= OP_EVD_FREE)
		take_evd(m, w, c, r);
	else if (c->op <= OP_CNO_FREE)
		take_cno(m, c, r);
	else if (call_transfers(c->op))
		dto_take(m, w, c);
	else if (is_of_connections(c->op))
		conn_take(m, w, c, r);
	else if (c->op >= OP_CSP_CREATE)
		lib_take(m, w, c, r);
	else if (c->op >= OP_SRQ_CREATE)
		srq_take(m, c, r);
	else if (c->op >= OP_RMR_CREATE)
		rmr_take(m, w, c, r);
	else
		take_ep(m, c, r);
	spill_look(m);
	return !m->wrong[0];
}

/* ------------------------------------------------------------ of an EVD */

bool model_owes(const struct model *m, int evd)
{
	int now = 0, most = 0;

	return m->obj[evd].evd.n_se || conn_owes(m, evd) ||
	       spill_owes(m, evd) || dto_owes(m, evd, &now, &most);
}

int model_has(const struct model *m, int evd)
{
	int now = 0, most = 0;

	dto_owes(m, evd, &now, &most);
	return m->obj[evd].evd.n_se + now;
}

int model_may_have(const struct model *m, int evd)
{
	int now = 0, most = 0;

	dto_owes(m, evd, &now, &most);
	return m->obj[evd].evd.n_se + most + conn_may_have(m, evd) +
	       async_may_have(m, evd);
}

static bool se_event(struct model *m, struct obj *o, const DAT_EVENT *ev)
{
	uint64_t got =
		(uint64_t)(uintptr_t)ev->event_data.software_event_data.pointer;

	if (!o->evd.n_se)
		return model_wrong(m, "a software event that nobody posted");
	if (got != o->evd.se[0])
		return model_wrong(m, "software event 0x%llx before 0x%llx",
				   (unsigned long long)got,
				   (unsigned long long)o->evd.se[0]);
	memmove(o->evd.se, o->evd.se + 1,
		(size_t)--o->evd.n_se * sizeof(*o->evd.se));
	return true;
}

bool evd_event(struct model *m, const struct world *w, int evd,
	       const struct result *r, int out)
{
	const DAT_EVENT *ev = &r->ev;
	struct obj *o = mine(m, evd);

	if (ev->evd_handle != o->handle)
		return model_wrong(m, "an event of EVD %p on EVD %p",
				   ev->evd_handle, o->handle);
	switch (ev->event_number) {
	case DAT_SOFTWARE_EVENT:
		return se_event(m, o, ev);
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return dto_event(m, w, evd, ev);
	case DAT_CONNECTION_REQUEST_EVENT:
		return conn_request(m, evd, r, out);
	default:
		if (ev->event_number >> 12 == 4)
			return conn_event(m, evd, r);
		if (ev->event_number >> 12 == 8)
			return async_event(m, evd, ev);
	}
	return model_wrong(m, "event 0x%x, which nothing brings",
			   ev->event_number);
}
