/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_conn.c - connections: who asks whom, who answered, which events each
 * end may see and which are owed to it.
 *
 * An end's events are: ESTABLISHED, if it gets so far, and one that is the
 * last. may[] holds those that can come next, first[] and last[] that the
 * first one, or the last one, has to. States follow from them: model_states().
 * Threads, ownership: model.h.
 * Rule: api-2.0 of DAT: events of connections, states of endpoints.
 */
#include "test/walk/model.h"

#include <string.h>

#include "test/walk/face.h"

/* Refused, not by the consumer. */
#define EV_REFUSED (EV_BIT(NON_PEER_REJECTED) | WALK_BARE_REJECT)
/* Nobody answers any more: by a refusal, or by the end of the transport. */
#define EV_DROPPED (EV_REFUSED | EV_BIT(BROKEN))

static struct conn *conn_of(struct model *m, int ep)
{
	const struct obj *o = &m->obj[ep];

	return o->ep.conn < 0 ? NULL : &m->conn[o->ep.conn];
}

static const struct conn *see_conn(const struct model *m, int ep)
{
	const struct obj *o = &m->obj[ep];

	return o->ep.conn < 0 ? NULL : &m->conn[o->ep.conn];
}

/* Whether its endpoint still is what it was then. */
static bool current(const struct model *m, const struct conn *k, int s)
{
	return !k->ghost[s] && k->ep[s] >= 0 && see_conn(m, k->ep[s]) == k;
}

/* ----------------------------------------------------------- states */

/* The service point that holds an endpoint back. */
static const struct obj *holder(const struct model *m, int ep)
{
	for (int i = 0; i < m->n_obj; i++)
		if (m->obj[i].live && m->obj[i].kind == K_RSP &&
		    m->obj[i].uses[USE_EP] == ep)
			return &m->obj[i];
	return NULL;
}

unsigned model_states(const struct model *m, int ep)
{
	const struct ep *e = &m->obj[ep].ep;
	const struct conn *k = see_conn(m, ep);
	const struct obj *rsp;
	unsigned st;
	int s = e->side;

	if (e->tentative)
		return ST_TENT;
	if (e->reserved) {
		rsp = holder(m, ep);
		if (e->asked)
			return ST_PASSIVE;
		/* RSP freed: whether the request was there is not known. */
		if (!rsp)
			return ST(UNCONNECTED) | ST_PASSIVE;
		return ST(RESERVED) | (rsp->sp.spent ? ST_PASSIVE : 0);
	}
	if (!k)
		return ST(UNCONNECTED);
	if (k->over[s])
		return ST(DISCONNECTED);
	st = ST(DISCONNECT_PENDING);
	if (k->last[s] || k->may[s] & EV_LAST)
		st |= ST(DISCONNECTED);
	/* One that ends already may be what it was until its event. */
	if (k->closing[s] && !k->raced[s])
		return st;
	if (!k->closing[s])
		st = 0;
	st |= k->up[s] ? ST(CONNECTED) : s ? ST(COMPLETION_PENDING) : ST_ACTIVE;
	if (k->may[s] & EV_ESTABLISHED)
		st |= ST(CONNECTED);
	if (k->may[s] & EV_LAST)
		st |= ST(DISCONNECTED);
	return st;
}

bool conn_sure(const struct model *m, int ep)
{
	const struct conn *k = see_conn(m, ep);

	return k && !k->doomed && k->up[0] && k->up[1] && !k->closing[0] &&
	       !k->closing[1] && !k->last[0] && !k->last[1] && !k->over[0] &&
	       !k->over[1] && !k->ghost[0] && !k->ghost[1];
}

int conn_peer(const struct model *m, int ep)
{
	const struct conn *k = see_conn(m, ep);

	if (!k || k->phase != ACCEPTED || k->cut || k->over[0] || k->over[1] ||
	    k->ghost[0] || k->ghost[1])
		return -1;
	return k->ep[!m->obj[ep].ep.side];
}

bool conn_deserted(const struct model *m, int ep)
{
	const struct conn *k = see_conn(m, ep);
	int s = m->obj[ep].ep.side;

	return k && !k->over[s] && (!k->closing[s] || k->draining[s]) &&
	       (k->doomed || k->ghost[!s] || k->closing[!s] || k->over[!s]);
}

bool conn_is_doomed(const struct model *m, int ep)
{
	const struct conn *k = see_conn(m, ep);

	return k && k->doomed;
}

bool conn_flushes(const struct model *m, int ep)
{
	const struct conn *k = see_conn(m, ep);
	int s = m->obj[ep].ep.side;

	return k && (k->over[s] || k->last[s]);
}

/* ------------------------------------------------------------ asking */

/*
 * Adapters that have one address share its qualifiers. An RSP that was asked
 * listens until its request arrives, and not after.
 */
static const struct obj *listener(const struct model *m,
				  const struct sockaddr_storage *to,
				  uint64_t qual, int *id)
{
	const struct obj *found = NULL;

	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		if (!o->live ||
		    (o->kind != K_PSP && o->kind != K_RSP &&
		     o->kind != K_CSP) ||
		    o->sp.qual != qual ||
		    memcmp(&m->obj[o->ia].address, to, sizeof(*to)) != 0 ||
		    (found && o->sp.spent))
			continue;
		found = o;
		*id = i;
	}
	return found;
}

static void ask_connect(struct model *m, const struct call *c,
			struct answers *a)
{
	bool dup = c->op == OP_EP_DUP_CONNECT;
	bool named = c->op == OP_EP_CONNECT; /* by a qualifier of its own */
	const struct obj *o = obj_of(m, c->h[0], K_EP);

	if (!o)
		BAD_HANDLE(EP);
	if (!dup && c->no_out)
		BAD_ARG(2);
	if (!c->n[1])
		refuse(a, DAT_INVALID_PARAMETER,
		       named ? DAT_INVALID_ARG4 : DAT_INVALID_ARG3);
	if ((int32_t)c->n[2] < 0 ||
	    (int32_t)c->n[2] > m->prov.max_private_data_size)
		refuse(a, DAT_INVALID_PARAMETER,
		       named ? DAT_INVALID_ARG5 : DAT_INVALID_ARG4);
	if (c->n[4] || (!dup && c->n[5]))
		refuse(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
	if (!dup && !named)
		lib_ask_common(m, a);
	if (dup && !obj_of(m, c->h[1], K_EP))
		BAD_HANDLE(EP);
	else if (dup)
		refuse_states(a, model_states(m, c->h[1]), ST(CONNECTED));
	if (!o)
		return;
	if (o->uses[USE_CONN] < 0)
		BAD_HANDLE(EVD_CONN);
	if (o->uses[USE_PZ] < 0)
		BAD_STATE(EP_NOTREADY);
	refuse_states(a, model_states(m, c->h[0]), ST(UNCONNECTED));
}

static void ask_sp(struct model *m, const struct call *c, struct answers *a)
{
	bool rsp = c->op == OP_RSP_CREATE;
	const struct obj *evd = obj_of(m, c->h[rsp ? 2 : 1], K_EVD);
	const struct obj *ep = rsp ? obj_of(m, c->h[1], K_EP) : NULL;
	const struct obj *ia = obj_of(m, c->h[0], K_IA), *old;
	int id;

	if (!ia)
		BAD_HANDLE(IA);
	if (!evd || evd->ia != c->h[0] || !(evd->evd.flags & DAT_EVD_CR_FLAG))
		BAD_HANDLE(EVD_CR);
	if (c->no_out)
		BAD_ARG(5);
	old = ia ? listener(m, &ia->address, c->n[0], &id) : NULL;
	if (old && old->sp.spent)
		maybe(a, DAT_CONN_QUAL_IN_USE, ANY_SUB);
	else if (old)
		refuse(a, DAT_CONN_QUAL_IN_USE, ANY_SUB);
	if (!rsp) {
		if (c->n[1] > DAT_PSP_PROVIDER_FLAG)
			BAD_ARG(4);
		return;
	}
	if (c->h[1] != OBJ_NULL && (!ep || ep->ia != c->h[0]))
		BAD_HANDLE(EP);
	if (ep)
		refuse_states(a, model_states(m, c->h[1]), ST(UNCONNECTED));
}

/* An endpoint that a request is to be accepted with. */
static void ask_ready(struct model *m, int ep, unsigned states,
		      struct answers *a)
{
	const struct obj *o = &m->obj[ep];

	if (o->uses[USE_PZ] < 0 || o->uses[USE_CONN] < 0 ||
	    !(model_states(m, ep) & states))
		refuse(a, DAT_INVALID_STATE, ANY_SUB);
	else if (model_states(m, ep) & ~states)
		maybe(a, DAT_INVALID_STATE, ANY_SUB);
}

/* Whether who asked has given up, or may have. */
static bool asker_may_be_gone(const struct model *m, const struct obj *cr)
{
	const struct conn *k = &m->conn[cr->cr.conn];

	return k->over[0] || k->ghost[0] || k->closing[0] || k->may[0];
}

bool conn_doubtful(const struct model *m, int cr)
{
	const struct obj *o = obj_of(m, cr, K_CR);

	return o && asker_may_be_gone(m, o);
}

static void ask_cr(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_CR);
	bool accept = c->op == OP_CR_ACCEPT;
	const struct obj *ep = accept ? obj_of(m, c->h[1], K_EP) : NULL;

	if (!o)
		BAD_HANDLE(CR);
	if (c->op == OP_CR_QUERY) {
		if (c->n[0] & ~(uint64_t)DAT_CR_FIELD_ALL)
			BAD_ARG(2);
		if (c->no_out)
			BAD_ARG(3);
		return;
	}
	if ((int32_t)c->n[0] < 0 ||
	    (int32_t)c->n[0] > m->prov.max_private_data_size)
		refuse(a, DAT_INVALID_PARAMETER,
		       accept ? DAT_INVALID_ARG3 : DAT_INVALID_ARG2);
	if (!accept)
		return;
	if (o && o->uses[USE_EP] >= 0) {
		if (c->h[1] != OBJ_NULL)
			BAD_HANDLE(EP);
		ask_ready(m, o->uses[USE_EP], ST_PASSIVE | ST_TENT, a);
	} else if (!ep || (o && ep->ia != o->ia)) {
		BAD_HANDLE(EP);
	}
	if (ep)
		ask_ready(m, c->h[1], ST(UNCONNECTED), a);
	/* "untouched after an error unless that ended the request itself" */
	if (o && asker_may_be_gone(m, o))
		maybe(a, DAT_INVALID_STATE, 0);
}

/* The PSP of an adapter that listens at QUAL, or -1. */
static int psp_of(const struct model *m, int ia, uint64_t qual)
{
	for (int i = 0; i < m->n_obj; i++)
		if (of_ia(m, i, K_PSP, ia) && m->obj[i].sp.qual == qual)
			return i;
	return OBJ_NULL;
}

/*
 * To an RSP: not walked. And who could not be told from another one by his
 * private data would be two.
 */
bool conn_can_hand_off(const struct model *m, int cr, uint64_t qual)
{
	const struct obj *o = obj_of(m, cr, K_CR);

	for (int i = 0; o && i < m->n_obj; i++)
		if (of_ia(m, i, K_RSP, o->ia) && m->obj[i].sp.qual == qual)
			return false;
	return !o || m->conn[o->cr.conn].size[0] >= 4;
}

static void ask_handoff(struct model *m, const struct call *c,
			struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_CR);

	if (!o)
		BAD_HANDLE(CR);
	else if (psp_of(m, o->ia, c->n[0]) < 0)
		BAD_ARG(2);
}

void conn_ask(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = c->h[0] >= 0 ? &m->obj[c->h[0]] : NULL;
	bool used;

	switch (c->op) {
	case OP_EP_CONNECT:
	case OP_EP_DUP_CONNECT:
	case OP_EP_COMMON_CONNECT:
		ask_connect(m, c, a);
		break;
	case OP_EP_DISCONNECT:
		if (c->n[0] > DAT_CLOSE_GRACEFUL_FLAG)
			BAD_ARG(2);
		if (!obj_of(m, c->h[0], K_EP))
			BAD_HANDLE(EP);
		else
			refuse_states(a, model_states(m, c->h[0]),
				      ~(ST(UNCONNECTED) | ST(RESERVED) |
					ST_PASSIVE | ST_TENT));
		break;
	case OP_PSP_CREATE:
	case OP_RSP_CREATE:
		ask_sp(m, c, a);
		break;
	case OP_PSP_QUERY:
	case OP_PSP_FREE:
		if (!obj_of(m, c->h[0], K_PSP))
			BAD_HANDLE(PSP);
		break;
	case OP_RSP_QUERY:
	case OP_RSP_FREE:
		/* doc/conformance.md: gone with its request, but the first
		 * free succeeds */
		used = o && o->kind == K_RSP && o->sp.spent;
		if (used)
			maybe(a, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
		else if (!obj_of(m, c->h[0], K_RSP))
			BAD_HANDLE(RSP);
		break;
	case OP_CR_HANDOFF:
		ask_handoff(m, c, a);
		break;
	default:
		ask_cr(m, c, a);
	}
	if (c->op == OP_PSP_QUERY || c->op == OP_RSP_QUERY) {
		if (c->n[0] & ~UINT64_C(0xf))
			BAD_ARG(2);
		if (c->no_out)
			BAD_ARG(3);
	}
}

/* ------------------------------------------------------------ taking */

/* Side P has lost its peer: its requests may find that out first. */
static void bereave(struct model *m, struct conn *k, int p)
{
	if (current(m, k, p) && (!k->closing[p] || k->draining[p]) &&
	    dto_deserted(m, k->ep[p]))
		k->may[p] |= EV_BIT(BROKEN);
}

/* One end goes: what the other one hears, and what it does itself. */
static void end_side(struct model *m, struct conn *k, int s)
{
	int p = !s;

	if (k->phase == ASKING)
		k->request_owed = false;
	if (k->phase == ACCEPTED && !k->over[p]) {
		k->may[p] |= EV_DISCONNECTED;
		if (!k->up[p])
			k->may[p] |= p ? EV_BIT(ACCEPT_COMPLETION_ERROR)
				       : EV_DROPPED;
		k->last[p] = true;
		bereave(m, k, p);
		if (current(m, k, p))
			dto_end(m, k->ep[p]);
	}
}

/* One of the queue pairs is in error: neither moves anything now. */
static void cut(struct model *m, struct conn *k)
{
	if (k->cut)
		return;
	k->cut = true;
	for (int s = 0; s < 2; s++)
		if (current(m, k, s))
			dto_cut(m, k->ep[s]);
}

void conn_fails(struct model *m, int ep)
{
	struct conn *k = conn_of(m, ep);

	k->doomed = true;
	for (int s = 0; s < 2; s++)
		k->may[s] |= EV_DISCONNECTED | EV_BIT(BROKEN);
	cut(m, k);
}

/* Whether a graceful end waits for nothing more on its own side. */
static void drain(struct model *m, struct conn *k, int s)
{
	if (!k->draining[s] || k->last[s] || dto_waits(m, k->ep[s]))
		return;
	k->may[s] |= EV_DISCONNECTED;
	if (dto_may_wait(m, k->ep[s])) {
		k->may[!s] |= EV_DISCONNECTED;
		bereave(m, k, !s);
		return;
	}
	k->last[s] = true;
	dto_receives_end(m, k->ep[s]);
	end_side(m, k, s);
}

void conn_drained(struct model *m, int ep)
{
	struct conn *k = conn_of(m, ep);

	if (k)
		drain(m, k, m->obj[ep].ep.side);
}

static void take_connect(struct model *m, const struct call *c)
{
	struct obj *o = &m->obj[c->h[0]];
	struct conn *k = &m->conn[m->n_conn];
	const struct obj *sp;
	int id = -1;

	memset(k, 0, sizeof(*k));
	o->ep.reserved = false;
	o->ep.may_tell += o->uses[USE_SRQ] >= 0;
	o->ep.conn = (int16_t)m->n_conn++;
	o->ep.side = 0;
	k->ep[0] = c->h[0];
	k->ep[1] = k->sp = k->cr = k->cr_evd = k->evd[1] = -1;
	k->evd[0] = o->uses[USE_CONN];
	k->when[0] = ++m->clock;
	k->serial = (uint32_t)c->n[3];
	k->size[0] = (int)c->n[2];
	k->qual = c->n[0];
	if (c->op != OP_EP_DUP_CONNECT) {
		k->to = m->obj[c->h[1]].address;
	} else {
		k->qual = see_conn(m, c->h[1])->qual;
		k->to = see_conn(m, c->h[1])->to;
	}
	if (c->n[1] < PATIENCE_US) {
		k->may[0] = EV_BIT(TIMED_OUT);
		k->first[0] = true;
	}
	k->at = k->qual;
	sp = listener(m, &k->to, k->qual, &id);
	if (!sp) {
		k->phase = NOBODY;
		k->may[0] |= EV_BIT(NON_PEER_REJECTED);
		k->first[0] = true;
		return;
	}
	k->phase = ASKING;
	k->sp = (int16_t)id;
	k->cr_evd = sp->uses[USE_EVD];
	k->request_may = true;
	k->request_owed = !k->first[0];
	if (sp->kind == K_RSP && sp->sp.spent) {
		/* Which of the two comes first is not known. */
		k->may[0] |= EV_REFUSED;
		k->request_owed = false;
		for (int i = 0; i < m->n_conn - 1; i++)
			if (m->conn[i].sp == id && m->conn[i].request_may) {
				m->conn[i].request_owed = false;
				m->conn[i].may[0] |= EV_REFUSED;
			}
	}
	m->obj[id].sp.spent = sp->kind == K_RSP;
}

static void take_disconnect(struct model *m, const struct call *c)
{
	struct conn *k = conn_of(m, c->h[0]);
	int s = m->obj[c->h[0]].ep.side;

	if (!k || k->over[s])
		return;
	/* "graceful without effect while DISCONNECT_PENDING" */
	if (c->n[0] == DAT_CLOSE_GRACEFUL_FLAG && k->closing[s])
		return;
	k->raced[s] |= !k->closing[s] && (!k->up[s] || k->may[s] & EV_LAST);
	k->closing[s] = true;
	/* Who has requests is up; another one gives up at once. */
	k->draining[s] = c->n[0] == DAT_CLOSE_GRACEFUL_FLAG;
	if (k->draining[s]) {
		drain(m, k, s);
		return;
	}
	k->may[s] |= EV_DISCONNECTED;
	k->last[s] = true;
	end_side(m, k, s);
	dto_end(m, c->h[0]);
	/* While it comes up its queue pair may be on its way. */
	if (k->up[s])
		cut(m, k);
}

void conn_seen_over(struct model *m, int ep)
{
	struct conn *k = conn_of(m, ep);
	int s = m->obj[ep].ep.side;

	if (!k || k->over[s])
		return;
	/* The state follows, with the event. */
	k->last[s] = true;
	dto_end(m, ep);
	cut(m, k);
}

static void take_reset(struct model *m, const struct call *c)
{
	struct obj *o = &m->obj[c->h[0]];
	struct conn *k = conn_of(m, c->h[0]);

	if (!k)
		return;
	/* It was DISCONNECTED: the event is there, or has been read. */
	if (!k->over[o->ep.side]) {
		k->last[o->ep.side] = true;
		dto_end(m, c->h[0]);
	}
	cut(m, k);
	/* and what was posted since */
	dto_cut(m, c->h[0]);
	dto_reset(m, c->h[0]);
	o->ep.conn = -1;
}

static void take_accept(struct model *m, const struct call *c)
{
	struct obj *cr = &m->obj[c->h[0]];
	struct conn *k = &m->conn[cr->cr.conn];
	int ep = cr->uses[USE_EP] >= 0 ? cr->uses[USE_EP] : c->h[1];
	struct obj *o = &m->obj[ep];
	bool gone = k->over[0] || k->ghost[0] || k->closing[0];

	k->phase = ACCEPTED;
	k->cut = gone;
	k->ep[1] = (int16_t)ep;
	k->evd[1] = o->uses[USE_CONN];
	k->when[1] = ++m->clock;
	k->size[1] = (int)c->n[0];
	k->answer = (uint32_t)c->n[1];
	o->ep.conn = cr->cr.conn;
	o->ep.side = 1;
	o->ep.reserved = o->ep.asked = o->ep.tentative = false;
	o->ep.may_tell += o->uses[USE_SRQ] >= 0;
	cr->live = false;
	k->first[1] = true;
	k->may[1] = EV_ESTABLISHED;
	if (gone || k->may[0])
		k->may[1] |= EV_BIT(ACCEPT_COMPLETION_ERROR) | EV_DISCONNECTED;
	k->last[1] = gone;
	if (!gone) {
		k->may[0] |= EV_ESTABLISHED;
		k->first[0] = true;
	}
	dto_progress(m, ep);
	if (gone)
		dto_end(m, ep);
}

/* RSP's endpoint goes back to its owner, the provider's to the provider. */
static void cr_over(struct model *m, int id)
{
	struct obj *cr = &m->obj[id];
	int ep = cr->uses[USE_EP];

	cr->live = false;
	if (ep < 0)
		return;
	if (m->obj[ep].ep.tentative) {
		dto_forget(m, ep);
		m->obj[ep].live = false;
	}
	m->obj[ep].ep.reserved = m->obj[ep].ep.asked = false;
}

static void take_reject(struct model *m, const struct call *c)
{
	struct obj *cr = &m->obj[c->h[0]];
	struct conn *k = &m->conn[cr->cr.conn];

	k->phase = REJECTED;
	k->size[1] = (int)c->n[0];
	k->answer = (uint32_t)c->n[1];
	if (!k->over[0] && !k->closing[0]) {
		k->may[0] |= EV_BIT(PEER_REJECTED);
		k->first[0] = true;
	}
	cr_over(m, c->h[0]);
}

/* The request comes again, to another one. */
static void take_handoff(struct model *m, const struct call *c)
{
	struct obj *cr = &m->obj[c->h[0]];
	struct conn *k = &m->conn[cr->cr.conn];

	k->phase = ASKING;
	k->at = c->n[0];
	k->sp = (int16_t)psp_of(m, cr->ia, c->n[0]);
	k->cr_evd = m->obj[k->sp].uses[USE_EVD];
	k->cr = -1;
	k->request_may = k->request_owed = true;
	cr_over(m, c->h[0]);
}

void conn_refused(struct model *m, const struct call *c)
{
	m->conn[m->obj[c->h[0]].cr.conn].phase = DROPPED;
	cr_over(m, c->h[0]);
}

/* A request that is still on its way may meet who listens from now on. */
void conn_meet_late(struct model *m, int sp)
{
	struct obj *o = &m->obj[sp];

	for (int i = 0; i < m->n_conn; i++) {
		struct conn *k = &m->conn[i];

		if (k->at != o->sp.qual ||
		    memcmp(&k->to, &m->obj[o->ia].address, sizeof(k->to)) != 0)
			continue;
		if (k->request_may && !m->obj[k->sp].live)
			o->sp.spent = o->kind == K_RSP;
		if (k->phase != NOBODY)
			continue;
		k->phase = ASKING;
		k->sp = (int16_t)sp;
		k->cr_evd = o->uses[USE_EVD];
		k->request_may = true;
		k->first[0] = false;
		/* Of those who met an RSP one is taken. */
		if (o->kind == K_RSP)
			k->may[0] |= EV_REFUSED;
		o->sp.spent = o->kind == K_RSP;
	}
}

static void take_sp(struct model *m, const struct call *c,
		    const struct result *r)
{
	bool rsp = c->op == OP_RSP_CREATE;
	struct obj *o;

	new_object(m, c->out, rsp ? K_RSP : K_PSP, c->h[0], r->made);
	o = &m->obj[c->out];
	o->sp.qual = c->n[0];
	o->sp.flags = rsp ? 0 : (unsigned)c->n[1];
	o->uses[USE_EVD] = c->h[rsp ? 2 : 1];
	conn_meet_late(m, c->out);
	if (!rsp)
		return;
	o->uses[USE_EP] = c->h[1];
	if (c->h[1] >= 0)
		m->obj[c->h[1]].ep.reserved = true;
}

static bool private_data_came(struct model *m, uint32_t got, int got_size,
			      uint32_t serial, int size)
{
	/* Transports that pad say the padded size. */
	if (got_size < size || (size >= 4 && got != serial))
		return model_wrong(m,
				   "private data: %d bytes of %u, sent were "
				   "%d of %u",
				   got_size, got, size, serial);
	return true;
}

static DAT_HANDLE handle_of(const struct model *m, int id)
{
	return id < 0 ? DAT_HANDLE_NULL : m->obj[id].handle;
}

static void take_sp_query(struct model *m, const struct world *w,
			  const struct call *c, const struct result *r)
{
	const struct obj *o = &m->obj[c->h[0]];
	const DAT_PSP_PARAM *psp = &r->psp_param;
	const DAT_RSP_PARAM *rsp = &r->rsp_param;

	if (c->n[0] != 0xf)
		return;
	if (c->op == OP_PSP_QUERY &&
	    (psp->ia_handle != handle_of(m, o->ia) ||
	     psp->conn_qual != w->qual + o->sp.qual ||
	     psp->evd_handle != handle_of(m, o->uses[USE_EVD]) ||
	     psp->psp_flags != (DAT_PSP_FLAGS)o->sp.flags))
		model_wrong(m, "the PSP is not what was made");
	if (c->op == OP_RSP_QUERY &&
	    (rsp->ia_handle != handle_of(m, o->ia) ||
	     rsp->conn_qual != w->qual + o->sp.qual ||
	     rsp->evd_handle != handle_of(m, o->uses[USE_EVD]) ||
	     rsp->ep_handle != handle_of(m, o->uses[USE_EP])))
		model_wrong(m, "the RSP is not what was made");
}

/* What makes an address another host's: the port is not of it. */
static bool same_host(const struct sockaddr_storage *a, const void *b)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)a;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;
	DAT_SOCK_ADDR6 other;

	memcpy(&other, b, sizeof(other));
	if (a->ss_family == AF_INET)
		return !memcmp(&in->sin_addr,
			       &((struct sockaddr_in *)&other)->sin_addr,
			       sizeof(in->sin_addr));
	return !memcmp(&in6->sin6_addr,
		       &((struct sockaddr_in6 *)&other)->sin6_addr,
		       sizeof(in6->sin6_addr));
}

static void take_cr_query(struct model *m, const struct call *c,
			  const struct result *r)
{
	const struct obj *o = &m->obj[c->h[0]];
	const struct conn *k = &m->conn[o->cr.conn];
	const DAT_CR_PARAM *p = &r->cr_param;
	uint32_t got = 0;

	if (c->n[0] != DAT_CR_FIELD_ALL)
		return;
	if (p->local_ep_handle != handle_of(m, o->uses[USE_EP]))
		model_wrong(m, "the request has another endpoint");
	if (p->private_data_size >= 4)
		memcpy(&got, p->private_data, 4);
	private_data_came(m, got, p->private_data_size, k->serial, k->size[0]);
	if (k->ep[0] >= 0 && !same_host(&m->obj[m->obj[k->ep[0]].ia].address,
					p->remote_ia_address_ptr))
		model_wrong(m, "the request is another adapter's");
}

void conn_take(struct model *m, const struct world *w, const struct call *c,
	       const struct result *r)
{
	switch (c->op) {
	case OP_PSP_QUERY:
	case OP_RSP_QUERY:
		take_sp_query(m, w, c, r);
		break;
	case OP_CR_QUERY:
		take_cr_query(m, c, r);
		break;
	case OP_EP_CONNECT:
	case OP_EP_DUP_CONNECT:
	case OP_EP_COMMON_CONNECT:
		m->csps |= c->op == OP_EP_COMMON_CONNECT;
		take_connect(m, c);
		break;
	case OP_EP_DISCONNECT:
		take_disconnect(m, c);
		break;
	case OP_EP_RESET:
		take_reset(m, c);
		break;
	case OP_PSP_CREATE:
	case OP_RSP_CREATE:
		take_sp(m, c, r);
		break;
	case OP_PSP_FREE:
	case OP_RSP_FREE:
		object_dies(m, c->h[0]);
		m->obj[c->h[0]].sp.spent = false;
		break;
	case OP_CR_ACCEPT:
		take_accept(m, c);
		break;
	case OP_CR_REJECT:
		take_reject(m, c);
		break;
	case OP_CR_HANDOFF:
		take_handoff(m, c);
		break;
	}
}

/* ----------------------------------------------- objects that go away */

void conn_ep_gone(struct model *m, int ep)
{
	struct conn *k;

	for (int i = 0; i < m->n_conn; i++) {
		k = &m->conn[i];
		for (int s = 0; s < 2; s++)
			if (k->ep[s] == ep)
				k->ghost[s] = true;
	}
	k = conn_of(m, ep);
	if (!k)
		return;
	end_side(m, k, m->obj[ep].ep.side);
	cut(m, k);
}

/* With its adapter: nobody will answer. */
void conn_cr_gone(struct model *m, int cr)
{
	struct conn *k = &m->conn[m->obj[cr].cr.conn];

	k->phase = DROPPED;
	k->may[0] |= EV_DROPPED;
	k->first[0] = true;
}

/*
 * Who asks an address that is gone hears nothing, and not soon; an answer that
 * is on its way may be lost.
 */
void conn_ia_gone(struct model *m, int ia)
{
	const struct sockaddr_storage *gone = &m->obj[ia].address;

	for (int i = 0; i < m->n_conn; i++)
		if (m->conn[i].phase == REJECTED && !m->conn[i].over[0] &&
		    m->obj[m->conn[i].sp].ia == ia)
			m->conn[i].may[0] |= EV_DROPPED;
	for (int i = 0; i < m->n_obj; i++)
		if (i != ia && m->obj[i].live && m->obj[i].kind == K_IA &&
		    !memcmp(&m->obj[i].address, gone, sizeof(*gone)))
			return;
	for (int i = 0; i < m->n_conn; i++)
		if ((m->conn[i].phase <= NOBODY ||
		     (m->loses && m->conn[i].phase != ACCEPTED)) &&
		    !memcmp(&m->conn[i].to, gone, sizeof(*gone)))
			m->conn[i].first[0] = false;
}

void conn_sp_gone(struct model *m, int sp)
{
	struct obj *o = &m->obj[sp];

	for (int i = 0; i < m->n_conn; i++)
		if (m->conn[i].sp == sp && m->conn[i].request_may) {
			m->conn[i].request_owed = false;
			m->conn[i].may[0] |= EV_DROPPED;
		}
	/* An endpoint whose request is on the EVD stays with that. */
	if (o->kind == K_RSP && o->uses[USE_EP] >= 0 &&
	    m->obj[o->uses[USE_EP]].live && !o->sp.spent)
		m->obj[o->uses[USE_EP]].ep.reserved = false;
}

/* Those on it are answered when the adapter is closed, and no sooner. */
void conn_evd_gone(struct model *m, int evd)
{
	for (int i = 0; i < m->n_conn; i++)
		if (m->conn[i].request_may && m->conn[i].cr_evd == evd) {
			m->conn[i].request_owed = false;
			m->conn[i].cr_evd = -1;
			m->conn[i].may[0] |= EV_DROPPED;
		}
	/* Its request has come: that is why it could go. */
	for (int i = 0; i < m->n_obj; i++)
		if (obj_of(m, i, K_RSP) && m->obj[i].uses[USE_EVD] == evd)
			m->obj[i].live = false;
}

bool conn_may_let_go(const struct model *m, int evd)
{
	for (int i = 0; i < m->n_obj; i++)
		for (int u = 0; m->obj[i].live && u < USES; u++)
			if (m->obj[i].uses[u] == evd &&
			    (m->obj[i].kind != K_RSP || !m->obj[i].sp.spent))
				return false;
	return true;
}

/* ------------------------------------------------------------- events */

static bool owes_side(const struct conn *k, int s)
{
	return !k->ghost[s] && !k->over[s] &&
	       (k->last[s] || (k->first[s] && !k->up[s]));
}

bool conn_owes(const struct model *m, int evd)
{
	for (int i = 0; i < m->n_conn; i++) {
		const struct conn *k = &m->conn[i];

		if (k->request_owed && k->cr_evd == evd)
			return true;
		for (int s = 0; s < 2; s++)
			if (k->evd[s] == evd && owes_side(k, s))
				return true;
	}
	return false;
}

bool conn_owed(const struct model *m, int evd, char *text, size_t size)
{
	for (int i = 0; i < m->n_conn; i++) {
		const struct conn *k = &m->conn[i];

		if (k->request_owed && k->cr_evd == evd) {
			snprintf(text, size, "the request of connection %u",
				 k->serial);
			return true;
		}
		for (int s = 0; s < 2; s++)
			if (k->evd[s] == evd && owes_side(k, s)) {
				snprintf(text, size,
					 "one of events 0x%x to side %d of "
					 "connection %u (phase %d, up %d %d, "
					 "closing %d %d, over %d %d, gone "
					 "%d %d)",
					 k->may[s], s, k->serial, k->phase,
					 k->up[0], k->up[1], k->closing[0],
					 k->closing[1], k->over[0], k->over[1],
					 k->ghost[0], k->ghost[1]);
				return true;
			}
	}
	return false;
}

int conn_may_have(const struct model *m, int evd)
{
	int n = 0;

	for (int i = 0; i < m->n_conn; i++) {
		const struct conn *k = &m->conn[i];

		/* Whoever listens there now may have got it. */
		n += k->request_may &&
		     (k->cr_evd == evd ||
		      (m->obj[evd].evd.flags & DAT_EVD_CR_FLAG && k->sp >= 0 &&
		       !m->obj[k->sp].live));
		for (int s = 0; s < 2; s++) {
			if (k->evd[s] != evd || k->over[s])
				continue;
			n += !!(k->may[s] & EV_ESTABLISHED);
			n += !!(k->may[s] & EV_LAST);
		}
	}
	return n;
}

/* It "lives until the endpoint is reset or freed". */
static bool answer_came(struct model *m, const struct conn *k,
			const DAT_CONNECTION_EVENT_DATA *d)
{
	uint32_t got = 0;

	if (!current(m, k, 0))
		return true;
	if (d->private_data_size >= 4)
		memcpy(&got, d->private_data, 4);
	return private_data_came(m, got, d->private_data_size, k->answer,
				 k->size[1]);
}

static bool is_point(const struct model *m, int id, DAT_HANDLE sp, uint64_t at)
{
	const struct obj *o = &m->obj[id];

	return id >= 0 && o->handle == sp && o->sp.qual == at &&
	       (o->kind == K_PSP || o->kind == K_RSP || o->kind == K_CSP);
}

/* Whom it meant may have gone, and another one have come. */
static bool reached(const struct model *m, struct conn *k, DAT_HANDLE sp)
{
	int id = -1;

	if (is_point(m, k->sp, sp, k->at))
		return true;
	/* of those that have had the handle, the one that lives */
	for (int i = 0; i < m->n_obj; i++)
		if (is_point(m, i, sp, k->at) && (id < 0 || m->obj[i].live))
			id = i;
	if (id >= 0)
		k->sp = (int16_t)id;
	return id >= 0;
}

bool conn_request(struct model *m, int evd, const struct result *r, int out)
{
	struct conn *k = NULL;
	const struct obj *sp;
	struct obj *cr;
	int rsp_ep;

	for (int i = 0; i < m->n_conn && !k; i++)
		if (m->conn[i].request_may &&
		    (m->conn[i].cr_evd == evd || !m->obj[m->conn[i].sp].live) &&
		    (m->conn[i].size[0] < 4 ? r->serial == 0
					    : r->serial == m->conn[i].serial))
			k = &m->conn[i];
	if (!k)
		return model_wrong(m, "a request (%u) that nobody made",
				   r->serial);
	private_data_came(m, r->serial, r->size, k->serial, k->size[0]);
	if (!reached(m, k,
		     r->ev.event_data.cr_arrival_event_data.sp_handle
			     .psp_handle))
		model_wrong(m, "a request at another service point");
	sp = &m->obj[k->sp];
	k->request_may = k->request_owed = false;
	k->phase = PENDING;
	if (!k->closing[0] && !k->over[0])
		k->may[0] &= ~EV_DROPPED;
	new_object(m, out, K_CR, m->obj[evd].ia, r->made);
	cr = &m->obj[out];
	cr->cr.conn = (int16_t)(k - m->conn);
	k->cr = (int16_t)out;
	rsp_ep = sp->kind == K_RSP ? sp->uses[USE_EP] : OBJ_NULL;
	if (r->brought && rsp_ep < 0) {
		rsp_ep = new_object(m, out + 1, K_EP, cr->ia, r->brought);
		m->obj[rsp_ep].ep.conn = -1;
		m->obj[rsp_ep].ep.tentative = true;
	}
	cr->uses[USE_EP] = (int16_t)rsp_ep;
	if (sp->kind == K_RSP) {
		m->obj[k->sp].live = false;
		if (sp->uses[USE_EP] >= 0)
			m->obj[rsp_ep].ep.asked = true;
	}
	if ((rsp_ep >= 0 && m->obj[rsp_ep].handle != r->brought) ||
	    (rsp_ep < 0 && r->brought))
		return model_wrong(m, "the request brings another endpoint");
	return true;
}

/* Whether another request may have come to the same service point. */
static bool others_ask(const struct model *m, const struct conn *k)
{
	for (int i = 0; i < m->n_conn; i++)
		if (&m->conn[i] != k && m->conn[i].request_may &&
		    m->conn[i].sp == k->sp)
			return true;
	return false;
}

/* The request was refused instead of delivered. */
static void not_delivered(struct model *m, struct conn *k)
{
	int ep = k->sp >= 0 && m->obj[k->sp].kind == K_RSP
			 ? m->obj[k->sp].uses[USE_EP]
			 : OBJ_NULL;

	/* It may be another RSP's by now, or another request's. */
	if (k->request_may && ep >= 0 && !m->obj[ep].ep.asked &&
	    !m->obj[k->sp].live && !holder(m, ep) && !others_ask(m, k))
		m->obj[ep].ep.reserved = false;
	k->request_may = k->request_owed = false;
	k->phase = DROPPED;
}

/* "On an EVD that has both, what had completed before comes before" it. */
static void completions_first(struct model *m, const struct conn *k, int s)
{
	const struct dto *d = dto_unread(m, k->ep[s], k->evd[s]);

	if (d)
		model_wrong(m, "the end comes before %s %llu, which is done",
			    call_name(d->op), (unsigned long long)d->cookie);
}

static bool end_event(struct model *m, struct conn *k, int s, unsigned bit)
{
	if (current(m, k, s) && bit & (EV_DISCONNECTED | EV_BIT(BROKEN)))
		completions_first(m, k, s);
	/* It took nothing from its SRQ, and does not say so. */
	else if (k->ep[s] >= 0 && m->obj[k->ep[s]].ep.may_tell &&
		 !(bit & (EV_DISCONNECTED | EV_BIT(BROKEN))))
		m->obj[k->ep[s]].ep.may_tell--;
	if (bit & EV_DROPPED && s == 0)
		not_delivered(m, k);
	k->over[s] = true;
	k->may[s] = 0;
	k->first[s] = k->last[s] = false;
	if (current(m, k, s))
		dto_end(m, k->ep[s]);
	/* The other end learns what this one was not told by its consumer. */
	if (bit == EV_BIT(TIMED_OUT))
		end_side(m, k, s);
	cut(m, k);
	return true;
}

static bool take_conn_event(struct model *m, struct conn *k, int s,
			    unsigned bit, const DAT_CONNECTION_EVENT_DATA *d)
{
	if ((bit == EV_BIT(PEER_REJECTED) && WALK_REJECT_MAX > 0) ||
	    (bit == EV_ESTABLISHED && !s))
		answer_came(m, k, d);
	if (bit != EV_ESTABLISHED)
		return end_event(m, k, s, bit);
	if (s && d->private_data_size)
		model_wrong(m, "private data where none is sent");
	k->up[s] = true;
	k->first[s] = false;
	k->may[s] &= EV_DISCONNECTED | EV_BIT(BROKEN);
	if (current(m, k, s))
		dto_progress(m, k->ep[s]);
	return true;
}

/* Whether side S of K is one whose event that is, or ought to be. */
static bool sooner(const struct model *m, const struct conn *k, int s, int evd,
		   unsigned bit, const DAT_CONNECTION_EVENT_DATA *d)
{
	return k->evd[s] == evd && !k->over[s] &&
	       m->obj[k->ep[s]].handle == d->ep_handle &&
	       (k->may[s] & bit || owes_side(k, s));
}

bool conn_event(struct model *m, int evd, const struct result *r)
{
	const DAT_CONNECTION_EVENT_DATA *d =
		&r->ev.event_data.connect_event_data;
	unsigned bit = 1u << (r->ev.event_number & 0xf);

	struct conn *k = NULL;
	int s = 0;

	for (int i = 0; i < m->n_conn; i++)
		for (int t = 0; t < 2; t++)
			if (sooner(m, &m->conn[i], t, evd, bit, d) &&
			    (!k || k->ghost[s] > m->conn[i].ghost[t] ||
			     (k->ghost[s] == m->conn[i].ghost[t] &&
			      k->when[s] > m->conn[i].when[t]))) {
				k = &m->conn[i];
				s = t;
			}
	if (k && k->may[s] & bit)
		return take_conn_event(m, k, s, bit, d);
	if (k)
		return model_wrong(m,
				   "event 0x%x, owed was one of 0x%x of "
				   "connection %u, side %d",
				   r->ev.event_number, k->may[s], k->serial, s);
	return model_wrong(m, "event 0x%x, which nothing brings",
			   r->ev.event_number);
}

void conn_purge(struct model *m)
{
	for (int i = 0; i < m->n_conn; i++)
		for (int s = 0; s < 2; s++)
			if (m->conn[i].ghost[s])
				m->conn[i].over[s] = true;
}
