/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gen_pair.c - the shortest way to two endpoints that are connected, from
 * wherever a walk is.
 *
 * What it asks for is right, and there is room for all events. Nothing here is
 * random: the walk around it is. Threads, ownership: gen.h. Rule: what callers
 * may do, DAT.
 */
#include "test/walk/gen.h"

#include <string.h>

#include "test/walk/face.h"

#define PAIR_EVENTS 100 /* room in an EVD */
#define PAIR_EPS    4
#define PAIR_LMRS   2

static void blank(struct call *c, int op, int h0)
{
	memset(c, 0, sizeof(*c));
	c->op = (uint8_t)op;
	for (int i = 0; i < 6; i++)
		c->h[i] = OBJ_NULL;
	c->h[0] = (int16_t)h0;
}

static bool makes(struct gen *g, struct call *c)
{
	c->out = (int16_t)g->next;
	return true;
}

/* What it is made of. */
struct parts {
	int ia, pz, dto, conn, cr;
};

static int evd_of(const struct model *m, int ia, unsigned flags)
{
	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = of_ia(m, i, K_EVD, ia);

		if (o && o->evd.flags == flags && !o->evd.unwaitable &&
		    o->evd.asked >= PAIR_EVENTS)
			return i;
	}
	return OBJ_NULL;
}

static bool want_evd(struct gen *g, const struct model *m, struct call *c,
		     int ia, unsigned flags, int *evd)
{
	*evd = evd_of(m, ia, flags);
	if (*evd >= 0)
		return false;
	blank(c, OP_EVD_CREATE, ia);
	c->n[0] = PAIR_EVENTS;
	c->n[1] = flags;
	return makes(g, c);
}

static int first(const struct model *m, int kind, int ia)
{
	for (int i = 0; i < m->n_obj; i++)
		if (obj_of(m, i, (enum kind)kind) &&
		    (ia < 0 || m->obj[i].ia == ia))
			return i;
	return OBJ_NULL;
}

static bool want_region(struct gen *g, const struct model *m, struct call *c,
			const struct parts *p)
{
	const unsigned priv = DAT_MEM_PRIV_ALL_FLAG;
	int n = 0;

	for (int i = 0; i < m->n_obj; i++)
		n += obj_of(m, i, K_LMR) && region_can(m, i, p->pz, priv);
	if (n >= PAIR_LMRS)
		return false;
	blank(c, OP_LMR_CREATE, p->ia);
	c->h[1] = (int16_t)p->pz;
	c->n[0] = DAT_MEM_TYPE_VIRTUAL;
	c->n[1] = WALK_MEM;
	c->n[2] = priv;
	return makes(g, c);
}

/* True: C makes something that is not there yet. */
static bool want_parts(struct gen *g, const struct model *m, struct call *c,
		       struct parts *p)
{
	p->ia = first(m, K_IA, OBJ_NULL);
	if (p->ia < 0) {
		blank(c, OP_IA_OPEN, OBJ_NULL);
		c->n[0] = 8;
		return makes(g, c);
	}
	p->pz = first(m, K_PZ, p->ia);
	if (p->pz < 0) {
		blank(c, OP_PZ_CREATE, p->ia);
		return makes(g, c);
	}
	return want_evd(g, m, c, p->ia,
			DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &p->dto) ||
	       want_evd(g, m, c, p->ia, DAT_EVD_CONNECTION_FLAG, &p->conn) ||
	       want_evd(g, m, c, p->ia, DAT_EVD_CR_FLAG, &p->cr) ||
	       want_region(g, m, c, p);
}

static bool is_part(const struct model *m, int ep, const struct parts *p)
{
	const struct obj *o = obj_of(m, ep, K_EP);

	return o && o->uses[USE_PZ] == p->pz && o->uses[USE_SRQ] < 0 &&
	       o->uses[USE_RECV] == p->dto && o->uses[USE_REQUEST] == p->dto &&
	       o->uses[USE_CONN] == p->conn;
}

/* One of those that are in one of STATES, for sure. */
static int ep_in(const struct model *m, const struct parts *p, unsigned states,
		 int *n)
{
	int found = OBJ_NULL;

	*n = 0;
	for (int i = 0; i < m->n_obj; i++)
		if (is_part(m, i, p) && !(model_states(m, i) & ~states)) {
			found = i;
			++*n;
		}
	return found;
}

/* The event that an EVD owes, which others wait for. */
static bool wait_for(struct gen *g, const struct model *m, struct call *c,
		     int evd)
{
	if (!model_owes(m, evd))
		return false;
	blank(c, OP_EVD_WAIT, evd);
	c->n[0] = PATIENCE_US;
	c->n[1] = 1;
	if (m->obj[evd].evd.flags & DAT_EVD_CR_FLAG)
		c->out = (int16_t)g->next;
	return true;
}

static bool accept_one(const struct model *m, struct call *c,
		       const struct parts *p, int ready)
{
	for (int i = 0; ready >= 0 && i < m->n_obj; i++) {
		const struct obj *o = of_ia(m, i, K_CR, p->ia);

		if (!o || o->uses[USE_EP] >= 0 || conn_doubtful(m, i))
			continue;
		blank(c, OP_CR_ACCEPT, i);
		c->h[1] = (int16_t)ready;
		c->n[0] = 4;
		c->n[1] = m->conn[o->cr.conn].serial;
		return true;
	}
	return false;
}

static bool ask_for_one(struct gen *g, const struct model *m, struct call *c,
			const struct parts *p, int ready)
{
	int sp = OBJ_NULL;

	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = of_ia(m, i, K_PSP, p->ia);

		if (o && o->uses[USE_EVD] == p->cr && !o->sp.flags)
			sp = i;
	}
	if (sp < 0) {
		blank(c, OP_PSP_CREATE, p->ia);
		c->h[1] = (int16_t)p->cr;
		c->n[0] = gen_below(g, WALK_QUALS);
		return makes(g, c);
	}
	if (m->n_conn >= MAX_CONNS - 1)
		return false;
	blank(c, OP_EP_CONNECT, ready);
	c->h[1] = (int16_t)p->ia;
	c->n[0] = m->obj[sp].sp.qual;
	c->n[1] = DAT_TIMEOUT_INFINITE;
	c->n[2] = 4;
	c->n[3] = g->serial + 1;
	return true;
}

bool gen_pair(struct gen *g, const struct model *m, struct call *c)
{
	int n_ready, n_down, n, ready, down;
	struct parts p;

	if (want_parts(g, m, c, &p))
		return true;
	for (int i = 0; i < m->n_obj; i++)
		if (is_part(m, i, &p) && dto_is_certain(m, i))
			return false;
	ready = ep_in(m, &p, ST(UNCONNECTED), &n_ready);
	down = ep_in(m, &p, ST(DISCONNECTED), &n_down);
	if (accept_one(m, c, &p, ready) || wait_for(g, m, c, p.cr) ||
	    wait_for(g, m, c, p.conn))
		return true;
	if (n_ready > 1)
		return ask_for_one(g, m, c, &p, ready);
	if (down >= 0) {
		blank(c, OP_EP_RESET, down);
		return true;
	}
	ep_in(m, &p, ~0u, &n);
	if (n >= PAIR_EPS)
		return false;
	blank(c, OP_EP_CREATE, p.ia);
	c->h[1] = (int16_t)p.pz;
	c->h[2] = c->h[3] = (int16_t)p.dto;
	c->h[4] = (int16_t)p.conn;
	c->n[0] = ATTR_NULL;
	return makes(g, c);
}
