/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * record.c - which calls of a walk are written down, to be played on any other
 * library (test/differ/replay.c).
 *
 * A call is one of them if the model knows its one answer, so that no clock
 * decides between two. And what the historic library is known to crash of, to
 * corrupt memory or to hang in, or has never built, is left out: nothing after
 * it could be compared. What it merely answers differently stays.
 * Threads, ownership: none. Rule: its behaviour, seen from outside.
 */
#include "test/walk/walk.h"

#include <string.h>

#define DULL	   8  /* one in so many stays */
#define SHORT_DATA 56 /* private data that all providers take */

/* Calls that it has not, or has but for show. */
static bool is_built(int op)
{
	switch (op) {
	case OP_CNO_FD_CREATE:
	case OP_CNO_TRIGGER:
	case OP_EVD_RESIZE: /* what was queued is read from freed memory */
	case OP_EP_MODIFY:  /* frees the queue pair twice */
	case OP_EP_CREATE_SRQ:
	case OP_SETTLE:
	case OP_TROUBLE:
		return false;
	}
	return op < OP_RMR_CREATE;
}

static bool takes_ia(int op)
{
	switch (op) {
	case OP_IA_QUERY:
	case OP_IA_CLOSE:
	case OP_SET_CONTEXT:
	case OP_GET_CONTEXT:
	case OP_HANDLE_TYPE:
	case OP_PZ_CREATE:
	case OP_EVD_CREATE:
	case OP_CNO_CREATE:
	case OP_LMR_CREATE:
	case OP_EP_CREATE:
	case OP_PSP_CREATE:
	case OP_RSP_CREATE:
		return true;
	}
	return false;
}

/*
 * Handles that lead somewhere: what is no object, or none any more, is read
 * there all the same, and so is an IA's handle, which is no address.
 */
static bool handles_lead(const struct model *m, const struct call *c)
{
	for (int i = 0; i < 6; i++) {
		int id = c->h[i];
		bool ia_place = (i == 0 && takes_ia(c->op)) ||
				(i == 1 && c->op == OP_EP_CONNECT);

		if (id == OBJ_NULL)
			continue;
		if (id < 0 || !m->obj[id].live ||
		    (m->obj[id].kind == K_IA && !ia_place))
			return false;
	}
	return true;
}

/*
 * Of one adapter: it takes those of another, too, and then all that hangs on
 * them differs. The connection EVD of an endpoint may be another's here as
 * well.
 */
static bool is_of_one(const struct model *m, const struct call *c)
{
	static const uint8_t places[OP_N] = {
		[OP_EVD_CREATE] = 2,	 [OP_EVD_MODIFY_CNO] = 2,
		[OP_PSP_CREATE] = 2,	 [OP_RSP_CREATE] = 3,
		[OP_EP_CREATE] = 4,	 [OP_CR_ACCEPT] = 2,
		[OP_EP_DUP_CONNECT] = 2,
	};
	int first = c->h[0];

	if (first >= 0 && m->obj[first].kind != K_IA)
		first = m->obj[first].ia;
	for (int i = 1; i < places[c->op]; i++)
		if (c->h[i] >= 0 && first >= 0 && m->obj[c->h[i]].ia != first)
			return false;
	return true;
}

/* An EVD that only this program posts to. */
static bool is_software(const struct model *m, int evd)
{
	return evd >= 0 && m->obj[evd].kind == K_EVD &&
	       m->obj[evd].evd.flags == DAT_EVD_SOFTWARE_FLAG;
}

static bool reads_well(const struct model *m, const struct call *c)
{
	bool owes = c->h[0] >= 0 && model_owes(m, c->h[0]);

	if (is_software(m, c->h[0]))
		return true;
	/* What is on its way comes when it does. */
	if (c->op == OP_EVD_DEQUEUE || c->n[0] != PATIENCE_US || c->n[1] != 1)
		return !owes;
	return owes;
}

static bool evd_well(const struct model *m, const struct call *c)
{
	const unsigned dto = DAT_EVD_DTO_FLAG;

	switch (c->op) {
	case OP_EVD_CREATE:
		/* Of these none, and who waits is not woken. */
		return c->n[1] && !(c->n[1] & ~UINT64_C(0x71)) &&
		       (c->n[1] == dto || !(c->n[1] & dto) ||
			c->n[1] == (dto | DAT_EVD_RMR_BIND_FLAG)) &&
		       (int32_t)c->n[0] > 0 && c->n[0] < 1000 &&
		       (c->h[1] < 0 || !(c->n[1] & dto));
	case OP_EVD_DEQUEUE:
	case OP_EVD_WAIT:
		return reads_well(m, c);
	case OP_EVD_POST_SE: /* a full one is reported twice */
		return c->h[0] < 0 || !is_software(m, c->h[0]) ||
		       m->obj[c->h[0]].evd.n_se < m->obj[c->h[0]].evd.asked;
	case OP_EVD_SET_UNWAITABLE:
	case OP_EVD_CLEAR_UNWAITABLE:
	case OP_EVD_DISABLE:
	case OP_EVD_MODIFY_CNO:
		return c->h[0] < 0 || m->obj[c->h[0]].kind != K_EVD ||
		       is_software(m, c->h[0]);
	}
	return true;
}

/* What it registers here it may refuse there, or the other way round. */
static bool lmr_well(const struct model *m, const struct call *c)
{
	const struct obj *pz = obj_of(m, c->h[1], K_PZ);

	return c->op != OP_LMR_CREATE ||
	       (c->n[0] == DAT_MEM_TYPE_VIRTUAL && c->n[1] &&
		!(c->n[2] & ~UINT64_C(0x73)) && !c->n[3] && /* VA */
		pz && pz->ia == c->h[0]);
}

static bool is_over(const struct model *m, int ep)
{
	return model_states(m, ep) == ST(DISCONNECTED) ||
	       model_states(m, ep) == ST(UNCONNECTED);
}

/* The peer has a receive for this, too: nothing waits for one. */
static bool is_received(const struct model *m, int ep)
{
	int peer = conn_peer(m, ep), room = 0;

	if (peer < 0)
		return model_states(m, ep) != ST(CONNECTED);
	for (int i = 0; i < m->obj[peer].ep.n[1]; i++)
		room += !m->obj[peer].ep.q[1][i].match;
	return room > 0;
}

static const struct conn *conn_of(const struct model *m, const struct obj *ep)
{
	return ep->ep.conn < 0 ? NULL : &m->conn[ep->ep.conn];
}

static bool has_posted(const struct obj *ep)
{
	return ep->ep.n[0] || ep->ep.n[1];
}

/*
 * What is posted to an endpoint whose connection fails before it is up is not
 * flushed, but stays for ever: there has to be somebody to accept it.
 */
static bool will_connect(const struct model *m, const struct call *c)
{
	if (c->op != OP_EP_CONNECT)
		return false;
	for (int i = 0; i < m->n_obj; i++)
		if (m->obj[i].live && m->obj[i].kind == K_PSP &&
		    m->obj[i].sp.qual == c->n[0])
			return true;
	return false;
}

/*
 * Receives of such an endpoint are counted wrongly, and the next disconnect
 * waits for them for ever; so are those that are flushed at once.
 */
static bool was_reset(const struct model *m, int ep)
{
	for (int i = 0; i < m->n_conn; i++)
		for (int s = 0; s < 2; s++)
			if (m->conn[i].ep[s] == ep && i != m->obj[ep].ep.conn)
				return true;
	return false;
}

static bool post_well(const struct model *m, const struct call *c)
{
	const struct obj *o = obj_of(m, c->h[0], K_EP);
	const struct conn *k = o ? conn_of(m, o) : NULL;
	unsigned states = o ? model_states(m, c->h[0]) : 0;

	if (c->n[0] > 2 || states & (states - 1) ||
	    (o && !dto_is_sound(m, c)) ||
	    (k && k->over[o->ep.side] && !k->up[o->ep.side]))
		return false;
	if (c->op == OP_POST_RECV && o &&
	    (states == ST(DISCONNECTED) || was_reset(m, c->h[0])))
		return false;
	return !o || c->op != OP_POST_SEND || is_received(m, c->h[0]);
}

static bool ep_well(const struct model *m, const struct call *c)
{
	const struct obj *o = obj_of(m, c->h[0], K_EP);
	unsigned states = o ? model_states(m, c->h[0]) : 0;

	if (c->op == OP_EP_CREATE)
		return c->n[0] != ATTR_HUGE && c->h[1] >= 0 && c->h[2] >= 0 &&
		       c->h[3] >= 0 && c->h[4] >= 0;
	if (c->op >= OP_POST_SEND && c->op <= OP_POST_READ)
		return post_well(m, c);
	switch (o ? c->op : OP_N) {
	case OP_EP_CONNECT:
	case OP_EP_DUP_CONNECT:
		return c->n[1] >= PATIENCE_US && c->n[2] <= SHORT_DATA &&
		       (!has_posted(o) || will_connect(m, c));
	case OP_EP_QUERY:
	case OP_EP_STATUS:
		return !(states & (states - 1));
	case OP_EP_RESET:
		return !has_posted(o);
	case OP_EP_DISCONNECT:
		/* gracefully it flushes; in time it crashes, of two events */
		return c->n[0] == DAT_CLOSE_ABRUPT_FLAG &&
		       states != ST_ACTIVE && states != ST(COMPLETION_PENDING);
	case OP_EP_FREE:
		return is_over(m, c->h[0]);
	}
	return true;
}

/* Who asked has posted what only an accept brings back. */
static bool asker_has_posted(const struct model *m, int cr)
{
	const struct obj *o = obj_of(m, cr, K_CR);
	const struct conn *k = o ? &m->conn[o->cr.conn] : NULL;

	return k && !k->ghost[0] && has_posted(&m->obj[k->ep[0]]);
}

/*
 * Where somebody has listened nobody can again, for a while: connections hold
 * the port, and a free returns before it is closed. What is refused since
 * another adapter listens there stays for ever.
 */
static bool is_fresh(const struct model *m, int ia, uint64_t qual)
{
	bool fresh = true;

	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		if ((o->kind != K_PSP && o->kind != K_RSP) ||
		    o->sp.qual != qual)
			continue;
		if (o->live) /* in use, which it says */
			return o->ia == ia;
		fresh = false;
	}
	return fresh;
}

static bool point_well(const struct model *m, const struct call *c)
{
	const struct obj *o = c->h[0] >= 0 ? &m->obj[c->h[0]] : NULL;

	switch (c->op) {
	case OP_PSP_CREATE:
		return c->n[1] == DAT_PSP_CONSUMER_FLAG &&
		       is_fresh(m, c->h[0], c->n[0]);
	case OP_RSP_CREATE:
		return c->h[1] >= 0 && is_fresh(m, c->h[0], c->n[0]);
	case OP_RSP_QUERY:
	case OP_RSP_FREE:
		return !o || o->kind != K_RSP || !o->sp.spent;
	case OP_CR_ACCEPT:
		return c->n[0] <= SHORT_DATA;
	case OP_CR_REJECT:
		return c->n[0] <= SHORT_DATA && !asker_has_posted(m, c->h[0]);
	}
	return true;
}

static bool record_can(const struct model *m, const struct call *c)
{
	struct answers a;

	if (!is_built(c->op) || c->no_out || !handles_lead(m, c) ||
	    !is_of_one(m, c) || !evd_well(m, c) || !lmr_well(m, c) ||
	    !ep_well(m, c) || !point_well(m, c))
		return false;
	if (c->op == OP_IA_OPEN && c->n[0] != 8)
		return false;
	if (c->op == OP_IA_QUERY &&
	    (c->n[0] != DAT_IA_FIELD_ALL || c->n[1] != DAT_PROVIDER_FIELD_ALL))
		return false;
	/* Only what is refused: the whole world goes with it. */
	model_ask((struct model *)(uintptr_t)m, c, &a);
	/* What is refused stays for ever, and its endpoint is reserved. */
	if (c->op == OP_RSP_CREATE && a.n)
		return false;
	if (c->op == OP_IA_CLOSE && !a.sure)
		return false;
	return a.n == 0 || (a.n == 1 && a.sure);
}

/* Of these most are left out: what is compared is what endpoints do. */
static bool is_dull(int op)
{
	switch (op) {
	case OP_IA_OPEN:
	case OP_PZ_CREATE:
	case OP_EVD_CREATE:
	case OP_EVD_POST_SE:
	case OP_LMR_CREATE:
	case OP_PSP_CREATE:
	case OP_RSP_CREATE:
	case OP_CR_ACCEPT:
	case OP_CR_REJECT:
		return false;
	}
	return op < OP_EP_CREATE || op > OP_POST_READ;
}

bool record_may(struct gen *g, const struct model *m, const struct call *c)
{
	return record_can(m, c) && (!is_dull(c->op) || !gen_below(g, DULL));
}

bool record_end(const struct model *m, struct call *c)
{
	for (int id = 0; id < m->n_obj; id++) {
		const struct obj *o = &m->obj[id];
		bool up =
			o->kind == K_EP && model_states(m, id) == ST(CONNECTED);

		if (!o->live ||
		    (!up && (o->kind != K_CR || asker_has_posted(m, id))))
			continue;
		memset(c, 0, sizeof(*c));
		for (int i = 0; i < 6; i++)
			c->h[i] = OBJ_NULL;
		c->op = up ? OP_EP_DISCONNECT : OP_CR_REJECT;
		c->h[0] = (int16_t)id;
		return true;
	}
	return false;
}
