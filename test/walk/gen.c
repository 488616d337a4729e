/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gen.c - random calls.
 *
 * One function per kind of object fills in a sensible call; spoil() then takes
 * one of its handles away now and then: NULL, a small number, one that was
 * freed, one of another kind or of another adapter. Numbers that are wrong are
 * among those that are drawn.
 * Threads, ownership: gen.h. Rule: what callers may do, DAT; what the model
 * cannot judge is not done: model_can().
 */
#include "test/walk/gen.h"

#include <string.h>

#include "test/walk/face.h"

uint32_t gen_below(struct gen *g, uint32_t n)
{
	g->state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = g->state;

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) >> 16) % n;
}

static bool one_in(struct gen *g, uint32_t n)
{
	return gen_below(g, n) == 0;
}

#define PICK(g, ...)                                \
	((const uint64_t[]){__VA_ARGS__}[gen_below( \
		g, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)])

/* ---------------------------------------------------- finding objects */

struct want {
	enum kind kind;
	int ia;		/* or OBJ_NULL: any */
	unsigned flags; /* of an EVD */
	int pz;		/* of a region, an endpoint; OBJ_NULL: any */
};

static bool fits(const struct obj *o, const struct want *want)
{
	if (!o->live || o->kind != want->kind)
		return false;
	if (want->ia != OBJ_NULL && o->ia != want->ia)
		return false;
	if (want->flags && !(o->evd.flags & want->flags))
		return false;
	return want->pz == OBJ_NULL || o->uses[USE_PZ] == want->pz;
}

static int count(const struct model *m, const struct want *want)
{
	int n = 0;

	for (int i = 0; i < m->n_obj; i++)
		n += fits(&m->obj[i], want);
	return n;
}

static int find(struct gen *g, const struct model *m, struct want want)
{
	int n = count(m, &want), at;

	if (!n)
		return OBJ_NULL;
	at = (int)gen_below(g, (uint32_t)n);
	for (int i = 0; i < m->n_obj; i++)
		if (fits(&m->obj[i], &want) && !at--)
			return i;
	return OBJ_NULL;
}

#define ANY(kind)      ((struct want){kind, OBJ_NULL, 0, OBJ_NULL})
#define OF(kind, ia)   ((struct want){kind, ia, 0, OBJ_NULL})
#define EVD(ia, flags) ((struct want){K_EVD, ia, flags, OBJ_NULL})

static int how_many(const struct model *m, enum kind kind, int ia)
{
	struct want want = OF(kind, ia);

	return count(m, &want);
}

/* ------------------------------------------------------ sensible calls */

static bool gen_ia(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_IA));
	switch (c->op) {
	case OP_IA_OPEN:
		c->h[0] = OBJ_NULL;
		c->n[0] = PICK(g, 1, 8, 8, 8, 0);
		c->no_out = one_in(g, 20);
		c->out = (int16_t)g->next;
		return how_many(m, K_IA, OBJ_NULL) < 3;
	case OP_IA_CLOSE:
		c->n[0] = PICK(g, DAT_CLOSE_GRACEFUL_FLAG, 2,
			       DAT_CLOSE_GRACEFUL_FLAG, DAT_CLOSE_GRACEFUL_FLAG,
			       DAT_CLOSE_ABRUPT_FLAG);
		break;
	}
	return true;
}

static bool gen_ia_query(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_IA));
	c->n[0] = PICK(g, DAT_IA_FIELD_ALL, DAT_IA_FIELD_ALL, 0,
		       DAT_IA_FIELD_IA_MAX_EPS, UINT64_C(1) << 38);
	c->n[1] = PICK(g, DAT_PROVIDER_FIELD_ALL, DAT_PROVIDER_FIELD_ALL, 0,
		       UINT64_C(1) << 31);
	c->no_out = one_in(g, 20);
	return c->h[0] >= 0;
}

static bool gen_any(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(
		g, m, ANY((enum kind)(K_IA + gen_below(g, K_CR - K_IA + 1))));
	c->n[0] = gen_below(g, 1000);
	c->no_out = one_in(g, 30);
	return c->h[0] >= 0;
}

static bool gen_pz(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_PZ));
	c->no_out = one_in(g, 20);
	if (c->op == OP_PZ_CREATE) {
		c->h[0] = (int16_t)find(g, m, ANY(K_IA));
		c->out = (int16_t)g->next;
		return how_many(m, K_PZ, c->h[0]) < 2;
	}
	c->n[0] = PICK(g, 0, 1, 1, 2);
	return true;
}

static bool gen_evd_create(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_IA));
	c->h[1] = one_in(g, 3) ? (int16_t)find(g, m, OF(K_CNO, c->h[0]))
			       : OBJ_NULL;
	c->n[0] =
		PICK(g, 24, 24, 24, 24, 24, 4, 1, 0, (uint64_t)-1, 0x7fffffff);
	c->n[1] = PICK(g, DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
		       DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_DTO_FLAG,
		       DAT_EVD_CONNECTION_FLAG, DAT_EVD_CONNECTION_FLAG,
		       DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
		       DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
		       DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG,
		       DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG,
		       DAT_EVD_DEFAULT_FLAG, 0, 0x200, 0x800);
	if (g->spills &&
	    (c->n[1] == DAT_EVD_CONNECTION_FLAG ||
	     c->n[1] == DAT_EVD_CR_FLAG) &&
	    !one_in(g, 3))
		c->n[0] = PICK(g, 1, 1, 2, 3);
	c->no_out = one_in(g, 30);
	c->out = (int16_t)g->next;
	return how_many(m, K_EVD, c->h[0]) < 10;
}

/* Mostly one that has something. */
static int busy_evd(struct gen *g, const struct model *m)
{
	int id = OBJ_NULL;

	for (int i = 0; i < 4; i++) {
		id = find(g, m, ANY(K_EVD));
		if (id >= 0 && model_may_have(m, id))
			break;
	}
	return id;
}

static bool gen_take(struct gen *g, const struct model *m, struct call *c)
{
	const struct obj *o;

	c->h[0] = (int16_t)busy_evd(g, m);
	if (c->h[0] < 0)
		return false;
	o = &m->obj[c->h[0]];
	c->no_out = one_in(g, 40);
	if (o->evd.flags & DAT_EVD_CR_FLAG)
		c->out = (int16_t)g->next;
	c->n[1] = one_in(g, 8) ? PICK(g, 0, 2, 3, (uint64_t)-1, 1000) : 1;
	c->n[0] = one_in(g, 30) ? 1000 : 0;
	if (model_owes(m, c->h[0]) && c->n[1] == 1)
		c->n[0] = PICK(g, 0, PATIENCE_US);
	return true;
}

static bool gen_evd(struct gen *g, const struct model *m, struct call *c)
{
	if (c->op == OP_EVD_CREATE)
		return gen_evd_create(g, m, c);
	if (c->op == OP_EVD_WAIT || c->op == OP_EVD_DEQUEUE)
		return gen_take(g, m, c);
	c->h[0] = (int16_t)find(g, m, ANY(K_EVD));
	c->no_out = one_in(g, 30);
	switch (c->op) {
	case OP_EVD_QUERY:
		c->n[0] =
			PICK(g, DAT_EVD_FIELD_ALL, DAT_EVD_FIELD_ALL, 0, 0x80);
		break;
	case OP_EVD_RESIZE:
		c->n[0] = PICK(g, 24, 30, 40, 0, (uint64_t)-1, 0x7fffffff);
		break;
	case OP_EVD_POST_SE:
		c->h[0] = (int16_t)find(
			g, m,
			EVD(OBJ_NULL,
			    one_in(g, 20) ? 0 : DAT_EVD_SOFTWARE_FLAG));
		c->n[0] = gen_below(g, 100000);
		c->n[1] = one_in(g, 30) ? DAT_DTO_COMPLETION_EVENT
					: DAT_SOFTWARE_EVENT;
		break;
	case OP_EVD_MODIFY_CNO:
		if (c->h[0] >= 0 && !one_in(g, 3))
			c->h[1] = (int16_t)find(g, m,
						OF(K_CNO, m->obj[c->h[0]].ia));
		break;
	}
	return c->h[0] >= 0;
}

static bool gen_cno(struct gen *g, const struct model *m, struct call *c)
{
	c->no_out = one_in(g, 30);
	c->h[0] = (int16_t)find(g, m, ANY(K_CNO));
	c->n[0] = 0;
	if (c->op == OP_CNO_CREATE || c->op == OP_CNO_FD_CREATE) {
		c->h[0] = (int16_t)find(g, m, ANY(K_IA));
		c->out = (int16_t)g->next;
		return how_many(m, K_CNO, c->h[0]) < 3;
	}
	if (c->op == OP_CNO_QUERY)
		c->n[0] = PICK(g, DAT_CNO_FIELD_ALL, DAT_CNO_FIELD_ALL, 1, 9);
	if (c->op == OP_CNO_WAIT && one_in(g, 30))
		c->n[0] = 1000;
	return c->h[0] >= 0;
}

static bool gen_lmr(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_LMR));
	c->no_out = one_in(g, 30);
	if (c->op == OP_LMR_CREATE) {
		c->h[0] = (int16_t)find(g, m, ANY(K_IA));
		c->h[1] = (int16_t)find(g, m, OF(K_PZ, c->h[0]));
		c->n[0] = one_in(g, 40)	 ? 9
			  : one_in(g, 6) ? PICK(g, DAT_MEM_TYPE_LMR,
						DAT_MEM_TYPE_SHARED_VIRTUAL)
					 : DAT_MEM_TYPE_VIRTUAL;
		if (c->n[0] == DAT_MEM_TYPE_LMR)
			c->h[2] = (int16_t)find(g, m, OF(K_LMR, c->h[0]));
		c->n[1] = one_in(g, 40) ? 0 : WALK_MEM;
		c->n[2] = PICK(g, DAT_MEM_PRIV_ALL_FLAG, DAT_MEM_PRIV_ALL_FLAG,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_MEM_PRIV_ALL_FLAG,
			       DAT_MEM_PRIV_LOCAL_READ_FLAG,
			       DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_READ_FLAG,
			       DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0x800);
		/* DAT_VA_TYPE_ZB, DAT_VA_TYPE_VA */
		c->n[3] = one_in(g, 10) ? PICK(g, 7, 1) : 0;
		c->out = (int16_t)g->next;
		return how_many(m, K_LMR, c->h[0]) < 4;
	}
	c->n[0] = PICK(g, DAT_LMR_FIELD_ALL, DAT_LMR_FIELD_ALL, 0, 0x8000);
	return c->h[0] >= 0;
}

static void ep_parts(struct gen *g, const struct model *m, struct call *c,
		     int ia)
{
	c->h[1] = (int16_t)find(g, m, OF(K_PZ, ia));
	c->h[2] = (int16_t)find(g, m, EVD(ia, DAT_EVD_DTO_FLAG));
	c->h[3] = (int16_t)find(g, m, EVD(ia, DAT_EVD_DTO_FLAG));
	c->h[4] = (int16_t)find(g, m, EVD(ia, DAT_EVD_CONNECTION_FLAG));
	if (one_in(g, 8))
		c->h[1 + gen_below(g, 4)] = OBJ_NULL;
}

static bool gen_ep(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_EP));
	c->no_out = one_in(g, 40);
	switch (c->op) {
	case OP_EP_CREATE:
		c->h[0] = (int16_t)find(g, m, ANY(K_IA));
		ep_parts(g, m, c, c->h[0]);
		c->n[0] = PICK(g, ATTR_NULL, ATTR_NULL, ATTR_SMALL, ATTR_SMALL,
			       ATTR_SMALL, ATTR_NO_RECV, ATTR_SUPPRESS_RECV,
			       ATTR_HUGE);
		c->out = (int16_t)g->next;
		return how_many(m, K_EP, c->h[0]) < 6;
	case OP_EP_QUERY:
		c->n[0] = PICK(g, DAT_EP_FIELD_ALL, DAT_EP_FIELD_ALL, 0,
			       UINT64_C(1) << 40);
		break;
	case OP_EP_MODIFY:
		if (c->h[0] < 0)
			return false;
		ep_parts(g, m, c, m->obj[c->h[0]].ia);
		c->n[0] = PICK(
			g, DAT_EP_FIELD_PZ_HANDLE, DAT_EP_FIELD_RECV_EVD_HANDLE,
			DAT_EP_FIELD_REQUEST_EVD_HANDLE,
			DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			DAT_EP_FIELD_EP_STATE, DAT_EP_FIELD_SRQ_HANDLE);
		break;
	case OP_EP_DISCONNECT:
		c->n[0] = one_in(g, 30) ? 2
					: PICK(g, DAT_CLOSE_ABRUPT_FLAG,
					       DAT_CLOSE_GRACEFUL_FLAG);
		break;
	}
	return c->h[0] >= 0;
}

/* Whose private data cannot say whose it is: one at a time. */
static bool nameless_asks(const struct model *m)
{
	for (int i = 0; i < m->n_conn; i++)
		if (m->conn[i].size[0] < 4 &&
		    (m->conn[i].request_may || m->conn[i].phase <= NOBODY))
			return true;
	return false;
}

static uint64_t private_size(struct gen *g, const struct model *m, bool named)
{
	uint64_t max = (uint64_t)m->prov.max_private_data_size;

	return one_in(g, 30)   ? max + 1
	       : one_in(g, 40) ? (uint64_t)-1
			       : PICK(g, 4, 8, 20, max, named ? 4 : 0);
}

static bool rsp_is_asked(const struct model *m, uint64_t qual)
{
	for (int i = 0; i < m->n_obj; i++)
		if (m->obj[i].live && m->obj[i].kind == K_RSP &&
		    m->obj[i].sp.qual == qual && m->obj[i].sp.spent)
			return true;
	return false;
}

static bool gen_connect(struct gen *g, const struct model *m, struct call *c)
{
	int sp;

	c->h[0] = (int16_t)find(g, m, ANY(K_EP));
	if (c->h[0] < 0 || m->n_conn >= MAX_CONNS - 1)
		return false;
	sp = find(g, m, ANY(one_in(g, 3) ? K_RSP : K_PSP));
	if (g->common && how_many(m, K_CSP, OBJ_NULL) && !one_in(g, 3))
		sp = find(g, m, ANY(K_CSP));
	c->n[0] = sp < 0 || one_in(g, 12) ? gen_below(g, WALK_QUALS)
					  : m->obj[sp].sp.qual;
	c->h[1] = (int16_t)(sp < 0 || one_in(g, 12) ? find(g, m, ANY(K_IA))
						    : m->obj[sp].ia);
	c->n[1] = one_in(g, 30)	  ? 0
		  : one_in(g, 60) ? 3000
				  : PICK(g, DAT_TIMEOUT_INFINITE, 60000000);
	c->n[2] = private_size(g, m, nameless_asks(m));
	c->n[3] = g->serial + 1;
	c->n[4] = one_in(g, 40) ? DAT_QOS_PREMIUM : 0;
	c->n[5] = one_in(g, 40) ? 1 : 0;
	c->no_out = one_in(g, 40);
	if (g->common && c->op == OP_EP_CONNECT && !one_in(g, 3)) {
		c->op = OP_EP_COMMON_CONNECT;
		c->n[4] = c->n[5] = 0; /* there are none */
	}
	return !rsp_is_asked(m, c->n[0]);
}

static bool gen_dup(struct gen *g, const struct model *m, struct call *c)
{
	if (!gen_connect(g, m, c))
		return false;
	c->h[1] = (int16_t)find(g, m, ANY(K_EP));
	c->no_out = false; /* there is none */
	/* What a passive end is connected to has no qualifier. */
	if (m->obj[c->h[1]].ep.conn < 0)
		return true;
	return !m->obj[c->h[1]].ep.side &&
	       !rsp_is_asked(m, m->conn[m->obj[c->h[1]].ep.conn].qual);
}

static bool gen_sp(struct gen *g, const struct model *m, struct call *c)
{
	bool psp = c->op >= OP_PSP_CREATE && c->op <= OP_PSP_FREE;

	c->no_out = one_in(g, 40);
	c->h[0] = (int16_t)find(g, m, ANY(psp ? K_PSP : K_RSP));
	c->n[0] = PICK(g, 0, 0xf, 0xf, 0x10);
	if (c->op != OP_PSP_CREATE && c->op != OP_RSP_CREATE)
		return c->h[0] >= 0;
	c->h[0] = (int16_t)find(g, m, ANY(K_IA));
	c->n[0] = gen_below(g, WALK_QUALS);
	c->h[psp ? 1 : 2] = (int16_t)find(g, m, EVD(c->h[0], DAT_EVD_CR_FLAG));
	c->out = (int16_t)g->next;
	if (psp)
		c->n[1] = one_in(g, 30) ? 2 : PICK(g, 0, 0, 1);
	else if (!one_in(g, 4))
		c->h[1] = (int16_t)find(g, m, OF(K_EP, c->h[0]));
	return how_many(m, psp ? K_PSP : K_RSP, OBJ_NULL) < 3;
}

static bool gen_cr(struct gen *g, const struct model *m, struct call *c)
{
	const struct obj *o;

	c->h[0] = (int16_t)find(g, m, ANY(K_CR));
	if (c->h[0] < 0)
		return false;
	o = &m->obj[c->h[0]];
	c->no_out = false;
	c->n[0] = c->op == OP_CR_QUERY ? PICK(g, 0x1f, 0x1f, 0x20)
				       : private_size(g, m, false);
	if (c->op == OP_CR_REJECT && c->n[0] > WALK_REJECT_MAX)
		c->n[0] = 0;
	c->n[1] = m->conn[o->cr.conn].serial;
	if (c->op != OP_CR_ACCEPT)
		return true;
	if (o->uses[USE_EP] < 0 || one_in(g, 10))
		c->h[1] = (int16_t)find(g, m, OF(K_EP, o->ia));
	return true;
}

static int free_chunk(struct gen *g, const struct model *m, int lmr)
{
	int at = (int)gen_below(g, CHUNKS);

	for (int i = 0; i < CHUNKS; i++, at = (at + 1) % CHUNKS)
		if (!m->obj[lmr].lmr.busy[at])
			return at;
	return -1;
}

/* An endpoint that is connected, if there is one; often one that may do all. */
static int connected(struct gen *g, const struct model *m)
{
	int id = OBJ_NULL, n = 0;

	for (int i = 0; i < m->n_obj; i++)
		if (obj_of(m, i, K_EP) && dto_is_certain(m, i) &&
		    gen_below(g, (uint32_t)++n) == 0)
			id = i;
	if (n && !one_in(g, 3))
		return id;
	for (int i = 0; i < 5; i++) {
		id = find(g, m, ANY(K_EP));
		if (id >= 0 && model_states(m, id) & ST(CONNECTED))
			break;
	}
	return id;
}

/* A region for EP; now and then one that its transfers may not use. */
static int region_for(struct gen *g, const struct model *m, int ep)
{
	const struct obj *o = &m->obj[ep];

	return find(g, m,
		    (struct want){K_LMR, o->ia, 0,
				  one_in(g, 40) ? OBJ_NULL : o->uses[USE_PZ]});
}

/* A window that is open to the peer of EP, maybe there only. */
static int open_window(struct gen *g, const struct model *m, int ep, bool only)
{
	int found = OBJ_NULL, n = 0;

	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = obj_of(m, i, K_RMR);

		if (o && (o->rmr.for_ep || !only) && o->rmr.ep == ep &&
		    o->rmr.to.len && obj_of(m, o->rmr.to.lmr, K_LMR) &&
		    rmr_is_known(m, i) && one_in(g, (uint32_t)++n))
			found = i;
	}
	return found;
}

/* One that a bind through EP is to open or close, when its turn comes. */
static int waiting_window(struct gen *g, const struct model *m, int ep)
{
	int found = OBJ_NULL, n = 0;

	for (int i = 0; i < m->n_obj; i++)
		if (obj_of(m, i, K_RMR) && rmr_waits_at(m, i) == ep &&
		    one_in(g, (uint32_t)++n))
			found = i;
	return found;
}

/* One that was, and is closed or gone. */
static int shut_window(struct gen *g, const struct model *m, int ep)
{
	int found = OBJ_NULL, n = 0;

	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		if (o->kind == K_RMR && o->rmr.done &&
		    (!o->live || !o->rmr.to.len) &&
		    o->uses[USE_PZ] == m->obj[ep].uses[USE_PZ] &&
		    obj_of(m, o->rmr.to.lmr, K_LMR) && rmr_is_known(m, i) &&
		    !model_aliased(m, i) && one_in(g, (uint32_t)++n))
			found = i;
	}
	return found;
}

/* A window that the peer may look through, and a place behind it, or beside. */
static int through(struct gen *g, const struct model *m, struct call *c,
		   int peer)
{
	struct want want = {K_RMR, m->obj[peer].ia, 0,
			    m->obj[peer].uses[USE_PZ]};
	int chunk, shut = one_in(g, 2) ? shut_window(g, m, peer) : OBJ_NULL;
	const struct range *to;

	c->h[3] = (int16_t)(shut >= 0 ? shut
			    : one_in(g, 20)
				    ? (int)gen_below(g, (uint32_t)m->n_obj)
				    : find(g, m, want));
	if (c->h[3] < 0)
		return -1;
	if (m->obj[c->h[3]].kind != K_RMR)
		return -1;
	to = &m->obj[c->h[3]].rmr.to;
	if (one_in(g, 8))
		c->h[4] = OBJ_OLDER;
	/* What is closed breaks the connection. */
	if (!to->len && shut < 0 && !one_in(g, 4))
		return -1;
	if (!obj_of(m, to->lmr, K_LMR) || one_in(g, 10))
		return free_chunk(g, m, c->h[2]);
	c->h[2] = to->lmr;
	chunk = (int)(to->at / WALK_CHUNK + gen_below(g, 2)) % CHUNKS;
	return m->obj[c->h[2]].lmr.busy[chunk] ? -1 : chunk;
}

static bool gen_reach(struct gen *g, const struct model *m, struct call *c)
{
	int chunk, peer = conn_peer(m, c->h[0]);

	c->h[2] = (int16_t)(peer < 0 ? find(g, m, ANY(K_LMR))
				     : region_for(g, m, peer));
	if (c->h[2] < 0)
		return false;
	if (call_reads(c->op))
		c->n[0] = 1;
	chunk = peer >= 0 && !one_in(g, 3) ? through(g, m, c, peer) : -1;
	if (chunk < 0) {
		c->h[3] = OBJ_NULL;
		chunk = free_chunk(g, m, c->h[2]);
	}
	c->n[5] = (uint64_t)chunk * WALK_CHUNK;
	return chunk >= 0 && !(c->h[2] == c->h[1] && c->n[5] == c->n[1]);
}

/* A window to take back: if there is one, that the peer has open. */
static void take_back(struct gen *g, const struct model *m, struct call *c)
{
	int peer = conn_peer(m, c->h[0]);
	int open = peer < 0 ? OBJ_NULL : open_window(g, m, peer, true);

	c->h[3] =
		(int16_t)(open >= 0 && !one_in(g, 10) ? open
						      : find(g, m, ANY(K_RMR)));
	/* What is not open breaks the connection. */
	c->n[5] = open >= 0 || one_in(g, 10);
}

static bool gen_post(struct gen *g, const struct model *m, struct call *c)
{
	bool recv = c->op == OP_POST_RECV;
	int chunk;

	c->h[0] = (int16_t)connected(g, m);
	if (c->h[0] < 0 || m->obj[c->h[0]].uses[USE_PZ] < 0)
		return false;
	c->h[1] = (int16_t)region_for(g, m, c->h[0]);
	if (c->h[1] < 0)
		return false;
	chunk = free_chunk(g, m, c->h[1]);
	c->n[0] =
		one_in(g, 50) ? PICK(g, 9, (uint64_t)-1) : 1 + gen_below(g, 2);
	/* Receives are for whatever may come, or too short. */
	c->n[2] = !recv		  ? gen_below(g, WALK_MESSAGE / 2)
		  : one_in(g, 40) ? 4
				  : WALK_CHUNK / c->n[0];
	if (WALK_LONG != 0 && one_in(g, 50))
		c->n[2] = WALK_LONG;
	if (c->n[0] > 2)
		c->n[2] = 1;
	c->n[1] = (uint64_t)chunk * WALK_CHUNK;
	c->n[3] = m->cookies;
	c->n[4] = recv ? 0
		       : PICK(g, 0, 0, 0, DAT_COMPLETION_SUPPRESS_FLAG,
			      DAT_COMPLETION_SOLICITED_WAIT_FLAG,
			      DAT_COMPLETION_BARRIER_FENCE_FLAG);
	if (c->op == OP_SEND_INV)
		take_back(g, m, c);
	if (call_reaches(c->op) && chunk >= 0)
		return gen_reach(g, m, c);
	return chunk >= 0;
}

static bool gen_rmr(struct gen *g, const struct model *m, struct call *c)
{
	int ep;

	c->h[0] = (int16_t)find(g, m, ANY(K_RMR));
	c->no_out = one_in(g, 30);
	c->n[0] = PICK(g, DAT_RMR_FIELD_ALL, DAT_RMR_FIELD_ALL, 0, 0x8000);
	if (c->op != OP_RMR_CREATE && c->op != OP_RMR_CREATE_EP)
		return c->h[0] >= 0;
	ep = connected(g, m);
	c->h[0] = (int16_t)(ep < 0 || one_in(g, 3) ? find(g, m, ANY(K_PZ))
						   : m->obj[ep].uses[USE_PZ]);
	c->out = (int16_t)g->next;
	return how_many(m, K_RMR, OBJ_NULL) < 6;
}

static bool gen_bind(struct gen *g, const struct model *m, struct call *c)
{
	int pz, open, waits;

	c->h[2] = (int16_t)connected(g, m);
	pz = c->h[2] < 0 || one_in(g, 10) ? OBJ_NULL
					  : m->obj[c->h[2]].uses[USE_PZ];
	c->h[0] = (int16_t)find(g, m, (struct want){K_RMR, OBJ_NULL, 0, pz});
	c->h[1] = (int16_t)find(g, m, (struct want){K_LMR, OBJ_NULL, 0, pz});
	if (c->h[0] < 0 || c->h[2] < 0)
		return false;
	c->n[1] = gen_below(g, CHUNKS) * WALK_CHUNK;
	c->n[2] = PICK(g, 0, WALK_CHUNK, WALK_CHUNK, 2 * WALK_CHUNK, WALK_MEM);
	if (c->n[2] == WALK_MEM)
		c->n[1] = one_in(g, 4) ? 1 : 0;
	open = c->h[2] >= 0 && one_in(g, g->windows ? 2 : 3)
		       ? open_window(g, m, c->h[2], false)
		       : OBJ_NULL;
	if (open >= 0) {
		c->h[0] = (int16_t)open;
		if (!one_in(g, 3))
			c->n[2] = 0;
	}
	waits = one_in(g, 3) ? waiting_window(g, m, c->h[2]) : OBJ_NULL;
	if (waits >= 0)
		c->h[0] = (int16_t)waits;
	c->n[3] = m->cookies;
	c->n[4] = PICK(g, 0, 0, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	c->n[5] = PICK(g, DAT_MEM_PRIV_ALL_FLAG, DAT_MEM_PRIV_ALL_FLAG,
		       DAT_MEM_PRIV_ALL_FLAG, DAT_MEM_PRIV_REMOTE_READ_FLAG,
		       DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0x800);
	return true;
}

static bool gen_sync(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_IA));
	c->h[1] = one_in(g, 20) ? OBJ_NULL
				: (int16_t)find(g, m, OF(K_LMR, c->h[0]));
	c->n[0] = PICK(g, 0, 1, 1, 2, 16);
	c->n[1] = PICK(g, 0, 64, WALK_MEM - 64, WALK_MEM);
	c->n[2] = PICK(g, 0, 1, 64, 256);
	return c->h[0] >= 0;
}

static bool gen_srq(struct gen *g, const struct model *m, struct call *c)
{
	int chunk, iov = m->ia_attr.max_iov_segments_per_dto < 2 ? 1 : 2;

	c->h[0] = (int16_t)find(g, m, ANY(K_SRQ));
	c->no_out = one_in(g, 30);
	switch (c->op) {
	case OP_SRQ_CREATE:
		c->h[0] = (int16_t)find(g, m, ANY(K_IA));
		c->h[1] = (int16_t)find(g, m, OF(K_PZ, c->h[0]));
		c->n[0] = PICK(g, 1, 4, 4, 4, 12, 0, (uint64_t)-1, 0x7fffffff);
		c->n[1] = one_in(g, 20) ? PICK(g, 0, (uint64_t)-1, 10000)
					: (uint64_t)iov;
		c->n[2] = one_in(g, 20);
		c->n[3] = one_in(g, 30);
		c->out = (int16_t)g->next;
		return how_many(m, K_SRQ, OBJ_NULL) < 4;
	case OP_SRQ_QUERY:
		c->n[0] = PICK(g, DAT_SRQ_FIELD_ALL, DAT_SRQ_FIELD_ALL,
			       DAT_SRQ_FIELD_ALL, 0, 0x8000);
		break;
	case OP_SRQ_POST_RECV:
		if (c->h[0] < 0)
			return false;
		c->h[1] = (int16_t)find(
			g, m,
			(struct want){K_LMR, OBJ_NULL, 0,
				      m->obj[c->h[0]].uses[USE_PZ]});
		chunk = c->h[1] < 0 ? -1 : free_chunk(g, m, c->h[1]);
		c->n[0] = one_in(g, 20) ? PICK(g, 9, (uint64_t)-1) : 1;
		c->n[1] = (uint64_t)chunk * WALK_CHUNK;
		c->n[2] = WALK_CHUNK;
		c->n[3] = m->cookies;
		return chunk >= 0;
	case OP_SRQ_RESIZE:
		c->n[0] = PICK(g, 1, 2, 4, 6, 20, 0, (uint64_t)-1, 0x7fffffff);
		break;
	case OP_SRQ_SET_LW:
		c->n[0] = PICK(g, 0, 1, 2, 4, 13, 1000000, (uint64_t)-1);
		break;
	}
	return c->h[0] >= 0;
}

static bool gen_ep_srq(struct gen *g, const struct model *m, struct call *c)
{
	int srq = find(g, m, ANY(K_SRQ));

	c->h[0] = (int16_t)(srq < 0 || one_in(g, 20) ? find(g, m, ANY(K_IA))
						     : m->obj[srq].ia);
	ep_parts(g, m, c, c->h[0]);
	if (srq >= 0 && !one_in(g, 8))
		c->h[1] = m->obj[srq].uses[USE_PZ];
	c->h[5] = (int16_t)(one_in(g, 20) ? OBJ_NULL : srq);
	c->n[0] = PICK(g, ATTR_NULL, ATTR_NULL, ATTR_SMALL, ATTR_SMALL,
		       ATTR_SMALL, ATTR_NO_RECV, ATTR_SUPPRESS_RECV, ATTR_HUGE);
	c->no_out = one_in(g, 40);
	c->out = (int16_t)g->next;
	return how_many(m, K_EP, c->h[0]) < 7;
}

static bool gen_ep_recv(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_EP));
	c->n[0] = PICK(g, (uint64_t)-1, (uint64_t)-1, 1, (uint64_t)-7);
	c->n[1] = PICK(g, (uint64_t)-1, (uint64_t)-1, 1, (uint64_t)-7);
	c->no_out = one_in(g, 4);
	return c->h[0] >= 0;
}

static bool gen_csp(struct gen *g, const struct model *m, struct call *c)
{
	c->h[0] = (int16_t)find(g, m, ANY(K_CSP));
	c->no_out = one_in(g, 30);
	c->n[0] = PICK(g, WALK_CSP_FIELDS, WALK_CSP_FIELDS, 0, 0x8000);
	if (c->op != OP_CSP_CREATE)
		return c->h[0] >= 0;
	c->h[0] = (int16_t)find(g, m, ANY(K_IA));
	c->h[1] = (int16_t)find(g, m, EVD(c->h[0], DAT_EVD_CR_FLAG));
	c->h[2] = one_in(g, 30) ? OBJ_NULL : c->h[0];
	c->n[0] = WALK_PORT + gen_below(g, 2);
	c->n[1] = one_in(g, 20) ? PICK(g, 0, SOCK_DGRAM) : SOCK_STREAM;
	c->out = (int16_t)g->next;
	return c->h[0] >= 0 && how_many(m, K_CSP, OBJ_NULL) < 3;
}

static bool gen_handoff(struct gen *g, const struct model *m, struct call *c)
{
	int to;

	c->h[0] = (int16_t)find(g, m, ANY(one_in(g, 20) ? K_PSP : K_CR));
	to = c->h[0] < 0 ? OBJ_NULL : find(g, m, OF(K_PSP, m->obj[c->h[0]].ia));
	c->n[0] = to < 0 || one_in(g, 8) ? gen_below(g, WALK_QUALS)
					 : m->obj[to].sp.qual;
	return c->h[0] >= 0;
}

static bool gen_lib(struct gen *g, const struct model *m, struct call *c)
{
	(void)m;
	c->no_out = one_in(g, 20);
	if (c->op == OP_LIST_PROVIDERS)
		c->n[0] = PICK(g, 0, 1, 4, 16, 16, (uint64_t)-1);
	else
		c->n[0] = PICK(g, 0, DAT_CLASS_ERROR) |
			  PICK(g, gen_below(g, 0x18), 0x3fff, 0x1ff) << 16 |
			  PICK(g, gen_below(g, 0x68), 0, 0xfff);
	return true;
}

/* What waits for a receive waits no longer. */
static bool gen_trouble(struct gen *g, const struct model *m, struct call *c)
{
	int n = 0;

	for (int i = 0; i < m->n_obj; i++)
		if (fault_waits(m, i) && one_in(g, (uint32_t)++n))
			c->h[0] = (int16_t)i;
	c->n[0] = gen_below(g, 2);
	return n;
}

/* ------------------------------------------------- room for its events */

static bool has_room(const struct gen *g, const struct model *m, int evd,
		     int events)
{
	if (evd < 0 ||
	    (g->spills &&
	     (spill_can(m, evd) || m->obj[evd].evd.flags == DAT_EVD_CR_FLAG)))
		return true;
	/* Those of connections that nothing can come of yet will come. */
	for (int i = 0; i < m->n_conn; i++)
		for (int s = 0; s < 2; s++)
			if (m->conn[i].evd[s] == evd && !m->conn[i].over[s])
				events += 2;
	return model_may_have(m, evd) + events <= m->obj[evd].evd.asked;
}

static bool ep_has_room(const struct gen *g, const struct model *m, int ep,
			int use, int events)
{
	return ep < 0 || has_room(g, m, m->obj[ep].uses[use], events);
}

/* Where who listens takes the requests to QUAL. */
static bool sp_has_room(const struct gen *g, const struct model *m,
			uint64_t qual)
{
	for (int i = 0; i < m->n_obj; i++)
		if (m->obj[i].live && m->obj[i].sp.qual == qual &&
		    (m->obj[i].kind == K_PSP || m->obj[i].kind == K_RSP ||
		     m->obj[i].kind == K_CSP) &&
		    !has_room(g, m, m->obj[i].uses[USE_EVD], 1))
			return false;
	return true;
}

/* The endpoint that a request is accepted with. */
static int accepts_with(const struct model *m, const struct call *c)
{
	const struct obj *cr = obj_of(m, c->h[0], K_CR);

	return cr && cr->uses[USE_EP] >= 0 ? cr->uses[USE_EP]
	       : obj_of(m, c->h[1], K_EP)  ? c->h[1]
					   : OBJ_NULL;
}

/* Its end is told on the asynchronous EVD. */
static bool tells_too_much(const struct gen *g, const struct model *m, int ep)
{
	const struct obj *o = obj_of(m, ep, K_EP);

	return o && o->uses[USE_SRQ] >= 0 &&
	       !has_room(g, m, m->obj[o->ia].uses[USE_EVD], 1);
}

/* Completions are not to overflow; the rest is, in some walks. */
static bool overflows(const struct gen *g, const struct model *m,
		      const struct call *c)
{
	int ep = obj_of(m, c->h[0], K_EP) ? c->h[0] : OBJ_NULL;

	switch (c->op) {
	case OP_EVD_POST_SE:
		return obj_of(m, c->h[0], K_EVD) &&
		       m->obj[c->h[0]].evd.flags != DAT_EVD_SOFTWARE_FLAG &&
		       !has_room(g, m, c->h[0], 1);
	case OP_EP_CONNECT:
	case OP_EP_COMMON_CONNECT:
		return tells_too_much(g, m, ep) ||
		       !ep_has_room(g, m, ep, USE_CONN, 3) ||
		       !sp_has_room(g, m, c->n[0]);
	case OP_EP_DUP_CONNECT:
		return tells_too_much(g, m, ep) ||
		       !ep_has_room(g, m, ep, USE_CONN, 3) ||
		       (obj_of(m, c->h[1], K_EP) &&
			m->obj[c->h[1]].ep.conn >= 0 &&
			!sp_has_room(g, m,
				     m->conn[m->obj[c->h[1]].ep.conn].qual));
	case OP_CR_HANDOFF:
		return !sp_has_room(g, m, c->n[0]);
	case OP_CR_ACCEPT:
		return tells_too_much(g, m, accepts_with(m, c)) ||
		       !ep_has_room(g, m, accepts_with(m, c), USE_CONN, 3);
	case OP_POST_SEND:
	case OP_POST_WRITE:
	case OP_POST_READ:
	case OP_SEND_INV:
	case OP_READ_TO_RMR:
		return !ep_has_room(g, m, ep, USE_REQUEST, 1);
	case OP_POST_RECV:
		return !ep_has_room(g, m, ep, USE_RECV, 1);
	case OP_RMR_BIND:
		return obj_of(m, c->h[2], K_EP) &&
		       !ep_has_room(g, m, c->h[2], USE_REQUEST, 1);
	case OP_SRQ_SET_LW:
		return obj_of(m, c->h[0], K_SRQ) &&
		       !has_room(g, m, m->obj[m->obj[c->h[0]].ia].uses[USE_EVD],
				 1);
	default:
		return false;
	}
}

/* --------------------------------------------------------- choosing */

static const struct {
	uint8_t op, weight;
	bool (*fill)(struct gen *g, const struct model *m, struct call *c);
} menu[] = {
	{OP_IA_OPEN, 4, gen_ia},
	{OP_IA_QUERY, 4, gen_ia_query},
	{OP_IA_CLOSE, 1, gen_ia},
	{OP_SET_CONTEXT, 4, gen_any},
	{OP_GET_CONTEXT, 4, gen_any},
	{OP_HANDLE_TYPE, 4, gen_any},
	{OP_PZ_CREATE, 12, gen_pz},
	{OP_PZ_QUERY, 2, gen_pz},
	{OP_PZ_FREE, 3, gen_pz},
	{OP_EVD_CREATE, 24, gen_evd},
	{OP_EVD_QUERY, 5, gen_evd},
	{OP_EVD_RESIZE, 5, gen_evd},
	{OP_EVD_POST_SE, 24, gen_evd},
	{OP_EVD_DEQUEUE, 40, gen_evd},
	{OP_EVD_WAIT, 40, gen_evd},
	{OP_EVD_ENABLE, 4, gen_evd},
	{OP_EVD_DISABLE, 2, gen_evd},
	{OP_EVD_SET_UNWAITABLE, 2, gen_evd},
	{OP_EVD_CLEAR_UNWAITABLE, 5, gen_evd},
	{OP_EVD_MODIFY_CNO, 6, gen_evd},
	{OP_EVD_FREE, 5, gen_evd},
	{OP_CNO_CREATE, 6, gen_cno},
	{OP_CNO_FD_CREATE, 4, gen_cno},
	{OP_CNO_QUERY, 2, gen_cno},
	{OP_CNO_WAIT, 10, gen_cno},
	{OP_CNO_TRIGGER, 8, gen_cno},
	{OP_CNO_FREE, 3, gen_cno},
	{OP_LMR_CREATE, 14, gen_lmr},
	{OP_LMR_QUERY, 2, gen_lmr},
	{OP_LMR_FREE, 3, gen_lmr},
	{OP_EP_CREATE, 24, gen_ep},
	{OP_EP_QUERY, 6, gen_ep},
	{OP_EP_MODIFY, 8, gen_ep},
	{OP_EP_STATUS, 8, gen_ep},
	{OP_EP_CONNECT, 40, gen_connect},
	{OP_EP_DUP_CONNECT, 8, gen_dup},
	{OP_EP_DISCONNECT, 10, gen_ep},
	{OP_EP_RESET, 14, gen_ep},
	{OP_EP_FREE, 5, gen_ep},
	{OP_POST_SEND, 30, gen_post},
	{OP_POST_RECV, 36, gen_post},
	{OP_POST_WRITE, 14, gen_post},
	{OP_POST_READ, 14, gen_post},
	{OP_PSP_CREATE, 12, gen_sp},
	{OP_PSP_QUERY, 2, gen_sp},
	{OP_PSP_FREE, 3, gen_sp},
	{OP_RSP_CREATE, 10, gen_sp},
	{OP_RSP_QUERY, 2, gen_sp},
	{OP_RSP_FREE, 3, gen_sp},
	{OP_CR_QUERY, 4, gen_cr},
	{OP_CR_ACCEPT, 40, gen_cr},
	{OP_CR_REJECT, 5, gen_cr},
	{OP_RMR_CREATE, 8, gen_rmr},
	{OP_RMR_CREATE_EP, 4, gen_rmr},
	{OP_RMR_QUERY, 4, gen_rmr},
	{OP_RMR_BIND, 14, gen_bind},
	{OP_RMR_FREE, 3, gen_rmr},
	{OP_LMR_SYNC_READ, 3, gen_sync},
	{OP_LMR_SYNC_WRITE, 3, gen_sync},
	{OP_SEND_INV, 8, gen_post},
	{OP_READ_TO_RMR, 5, gen_post},
	{OP_SRQ_CREATE, 8, gen_srq},
	{OP_SRQ_QUERY, 6, gen_srq},
	{OP_SRQ_POST_RECV, 14, gen_srq},
	{OP_SRQ_RESIZE, 4, gen_srq},
	{OP_SRQ_SET_LW, 4, gen_srq},
	{OP_SRQ_FREE, 3, gen_srq},
	{OP_EP_CREATE_SRQ, 10, gen_ep_srq},
	{OP_EP_SET_WATERMARK, 3, gen_ep_recv},
	{OP_EP_RECV_QUERY, 4, gen_ep_recv},
	{OP_CSP_CREATE, 6, gen_csp},
	{OP_CSP_QUERY, 2, gen_csp},
	{OP_CSP_FREE, 2, gen_csp},
	{OP_CR_HANDOFF, 6, gen_handoff},
	{OP_STRERROR, 4, gen_lib},
	{OP_LIST_PROVIDERS, 2, gen_lib},
	{OP_SETTLE, 8, NULL},
	{OP_TROUBLE, 10, gen_trouble},
};
#define MENU (int)(sizeof(menu) / sizeof(*menu))

/* How many of h[] the call has, from the first one on. */
static int handles(int op)
{
	switch (op) {
	case OP_IA_OPEN:
	case OP_STRERROR:
	case OP_LIST_PROVIDERS:
	case OP_SETTLE:
	case OP_TROUBLE:
		return 0;
	case OP_EVD_CREATE:
	case OP_EVD_MODIFY_CNO:
	case OP_LMR_CREATE:
	case OP_PSP_CREATE:
	case OP_CR_ACCEPT:
	case OP_SRQ_CREATE:
	case OP_CSP_CREATE:
		return 2;
	case OP_RSP_CREATE:
	case OP_RMR_BIND:
		return 3;
	case OP_EP_CREATE:
	case OP_EP_CREATE_SRQ:
		return 4; /* not the connect EVD, which may be another IA's */
	default:
		return 1;
	}
}

/* A freed CR or endpoint may be alive again, and not be known yet. */
static bool may_be_new(const struct model *m, int id)
{
	return m->obj[id].kind == K_CR || m->obj[id].kind == K_EP;
}

/* What the call changes whatever is answered, if there is such an object. */
static bool must_miss(int op)
{
	return op == OP_EP_DUP_CONNECT || op == OP_IA_CLOSE ||
	       op == OP_EVD_WAIT || op == OP_EVD_DEQUEUE;
}

static void spoil(struct gen *g, const struct model *m, struct call *c)
{
	int n = handles(c->op), id;

	if (!n || !m->n_obj)
		return;
	n = (int)gen_below(g, (uint32_t)n);
	id = (int)gen_below(g, (uint32_t)m->n_obj);
	if (one_in(g, 4))
		id = one_in(g, 2) ? OBJ_NULL
				  : OBJ_SMALL_FIRST -
					    (int)gen_below(
						    g, OBJ_SMALL_FIRST -
							       OBJ_SMALL_LAST);
	else if (m->obj[id].kind == K_NONE ||
		 (must_miss(c->op) && m->obj[id].live &&
		  m->obj[id].kind == m->obj[c->h[n]].kind) ||
		 (!m->obj[id].live &&
		  (model_aliased(m, id) || may_be_new(m, id))))
		return;
	c->h[n] = (int16_t)id;
}

static void blank(struct call *c, int op)
{
	memset(c, 0, sizeof(*c));
	c->op = (uint8_t)op;
	for (int i = 0; i < 6; i++)
		c->h[i] = OBJ_NULL;
}

static int choose(struct gen *g)
{
	uint32_t sum = 0;

	for (int i = 0; i < MENU; i++)
		sum += menu[i].weight;
	sum = gen_below(g, sum);
	for (int i = 0; i < MENU; i++) {
		if (sum < menu[i].weight)
			return i;
		sum -= menu[i].weight;
	}
	return 0;
}

/* ------------------------------------------------- towards a connection */

/*
 * Calls that are drawn blindly seldom connect two endpoints, and then nothing
 * is sent. So in most walks many a call is the next one that is wanted for it.
 */
#define STEP_TRIES 12

/* It may succeed. */
static bool is_sound(const struct model *m, const struct call *c)
{
	struct answers a;

	model_ask((struct model *)(uintptr_t)m, c, &a);
	return !a.sure;
}

/* An endpoint of IA, or of any, and how many there are. */
static int with_states(struct gen *g, const struct model *m, int ia,
		       unsigned states, int *n)
{
	int id = OBJ_NULL;

	*n = 0;
	for (int i = 0; i < m->n_obj; i++)
		if (obj_of(m, i, K_EP) && (ia < 0 || m->obj[i].ia == ia) &&
		    m->obj[i].uses[USE_PZ] >= 0 &&
		    m->obj[i].uses[USE_CONN] >= 0 &&
		    !(model_states(m, i) & ~states) &&
		    gen_below(g, (uint32_t)++ * n) == 0)
			id = i;
	return id;
}

/* Windows are opened, used, closed and used again. */
static int work_of_windows(struct gen *g)
{
	return (int)PICK(g, OP_POST_RECV, OP_POST_SEND, OP_POST_WRITE,
			 OP_POST_WRITE, OP_POST_WRITE, OP_POST_READ,
			 OP_RMR_BIND, OP_RMR_BIND, OP_RMR_BIND, OP_RMR_BIND,
			 OP_SEND_INV, OP_RMR_CREATE_EP, OP_RMR_CREATE_EP,
			 OP_RMR_FREE);
}

static int work(struct gen *g)
{
	if (g->windows && !one_in(g, 3))
		return work_of_windows(g);
	return (int)PICK(g, OP_POST_RECV, OP_POST_RECV, OP_POST_RECV,
			 OP_SRQ_POST_RECV, OP_POST_SEND, OP_POST_SEND,
			 OP_POST_SEND, OP_POST_WRITE, OP_POST_WRITE,
			 OP_POST_READ, OP_POST_READ, OP_RMR_BIND, OP_RMR_BIND,
			 OP_RMR_BIND, OP_RMR_BIND, OP_SEND_INV, OP_READ_TO_RMR,
			 OP_RMR_CREATE, OP_RMR_CREATE_EP, OP_EVD_DEQUEUE,
			 OP_EP_DISCONNECT, OP_TROUBLE, OP_TROUBLE);
}

static int part(struct gen *g)
{
	/* Where an end has a shared queue little is known of windows. */
	if (g->windows)
		return (int)PICK(g, OP_PZ_CREATE, OP_EVD_CREATE, OP_EVD_CREATE,
				 OP_LMR_CREATE, OP_LMR_CREATE, OP_EP_CREATE,
				 OP_EP_CREATE, OP_PSP_CREATE, OP_RSP_CREATE);
	return (int)PICK(g, OP_PZ_CREATE, OP_EVD_CREATE, OP_EVD_CREATE,
			 OP_EVD_CREATE, OP_LMR_CREATE, OP_EP_CREATE,
			 OP_EP_CREATE, OP_EP_CREATE_SRQ, OP_SRQ_CREATE,
			 OP_PSP_CREATE, OP_PSP_CREATE, OP_RSP_CREATE);
}

static int wanted(struct gen *g, const struct model *m)
{
	int up, down, ready;

	with_states(g, m, OBJ_NULL, ST(CONNECTED), &up);
	with_states(g, m, OBJ_NULL, ST(DISCONNECTED), &down);
	with_states(g, m, OBJ_NULL, ST(UNCONNECTED), &ready);
	if (how_many(m, K_CR, OBJ_NULL) && ready && !one_in(g, 3))
		return OP_CR_ACCEPT;
	if (one_in(g, 3))
		return OP_EVD_WAIT;
	if (up && !one_in(g, 3))
		return work(g);
	if (down && one_in(g, 3))
		return OP_EP_RESET;
	if (ready > 1 &&
	    how_many(m, K_PSP, OBJ_NULL) + how_many(m, K_RSP, OBJ_NULL))
		return OP_EP_CONNECT;
	if (g->common && ready && !how_many(m, K_CSP, OBJ_NULL))
		return OP_CSP_CREATE;
	return part(g);
}

/* An EVD that something is owed to. */
static bool await(struct gen *g, const struct model *m, struct call *c)
{
	int n = 0;

	for (int i = 0; i < m->n_obj; i++)
		if (obj_of(m, i, K_EVD) && model_owes(m, i) &&
		    !m->obj[i].evd.unwaitable &&
		    gen_below(g, (uint32_t)++n) == 0)
			c->h[0] = (int16_t)i;
	c->n[0] = PATIENCE_US;
	c->n[1] = 1;
	c->no_out = false;
	c->out = 0;
	if (n && m->obj[c->h[0]].evd.flags & DAT_EVD_CR_FLAG)
		c->out = (int16_t)g->next;
	return n;
}

static bool fill_in(struct gen *g, const struct model *m, int op,
		    struct call *c)
{
	int n;

	blank(c, op);
	if (op == OP_EVD_WAIT)
		return await(g, m, c);
	for (int i = 0; i < MENU; i++)
		if (menu[i].op == op && !menu[i].fill(g, m, c))
			return false;
	switch (op) {
	case OP_CR_ACCEPT:
		if (m->obj[c->h[0]].uses[USE_EP] < 0)
			c->h[1] = (int16_t)with_states(g, m, m->obj[c->h[0]].ia,
						       ST(UNCONNECTED), &n);
		break;
	case OP_EP_CONNECT:
		c->h[0] = (int16_t)with_states(g, m, OBJ_NULL, ST(UNCONNECTED),
					       &n);
		break;
	case OP_EP_CREATE:
	case OP_EP_CREATE_SRQ:
		return c->h[1] >= 0 && c->h[2] >= 0 && c->h[3] >= 0 &&
		       c->h[4] >= 0;
	}
	return true;
}

static bool step(struct gen *g, const struct model *m, struct call *c)
{
	int op = wanted(g, m);

	for (int i = 0; (op == OP_TROUBLE || call_exists(op)) && i < STEP_TRIES;
	     i++)
		if (fill_in(g, m, op, c) && model_can(m, c) &&
		    !overflows(g, m, c) &&
		    (op == OP_EVD_WAIT || is_sound(m, c)))
			return true;
	return false;
}

void gen_next(struct gen *g, const struct model *m, struct call *c)
{
	if (g->windows && !one_in(g, 16) && gen_pair(g, m, c) &&
	    model_can(m, c) && !overflows(g, m, c))
		return;
	if (g->eager && how_many(m, K_IA, OBJ_NULL) &&
	    !one_in(g, g->windows ? 16 : 3) && step(g, m, c))
		return;
	for (;;) {
		int i = choose(g);

		/* Without an adapter little can be done. */
		if (!how_many(m, K_IA, OBJ_NULL) && !one_in(g, 4))
			i = 0;
		if (g->still && (menu[i].op == OP_EP_CONNECT ||
				 menu[i].op == OP_EP_DUP_CONNECT))
			continue;
		if (menu[i].op == OP_TROUBLE
			    ? g->sound
			    : menu[i].fill && !call_exists(menu[i].op))
			continue;
		blank(c, menu[i].op);
		if (menu[i].fill && !menu[i].fill(g, m, c))
			continue;
		if (one_in(g, 15))
			spoil(g, m, c);
		if (!model_can(m, c) || overflows(g, m, c))
			continue;
		if (!g->sound && one_in(g, 12)) {
			c->fails = (uint8_t)(1 + gen_below(g, 3));
			if (!fault_call(m, c, c->fails))
				c->fails = 0;
		}
		return;
	}
}

/* ------------------------------------------------------------ the end */

bool gen_end(struct gen *g, const struct model *m, bool graceful,
	     struct call *c)
{
	static const struct {
		uint8_t kind, op;
	} order[] = {
		{K_CR, OP_CR_REJECT}, {K_RSP, OP_RSP_FREE},
		{K_PSP, OP_PSP_FREE}, {K_CSP, OP_CSP_FREE},
		{K_EP, OP_EP_FREE},   {K_SRQ, OP_SRQ_FREE},
		{K_RMR, OP_RMR_FREE}, {K_LMR, OP_LMR_FREE},
		{K_EVD, OP_EVD_FREE}, {K_CNO, OP_CNO_FREE},
		{K_PZ, OP_PZ_FREE},
	};

	for (size_t i = 0; graceful && i < sizeof(order) / sizeof(*order); i++)
		for (int id = 0; id < m->n_obj; id++) {
			const struct obj *o = &m->obj[id];

			bool stays = m->obj[o->ia].uses[USE_EVD] == id;

			if (!o->live || o->kind != order[i].kind ||
			    (stays && o->uses[USE_CNO] < 0) ||
			    (o->kind == K_EP && o->ep.reserved) ||
			    (!stays && model_in_use(m, id)))
				continue;
			/* The asynchronous EVD only lets its CNO go. */
			blank(c, stays ? OP_EVD_MODIFY_CNO : order[i].op);
			c->h[0] = (int16_t)id;
			if (model_can(m, c))
				return true;
		}
	blank(c, OP_IA_CLOSE);
	c->h[0] = (int16_t)find(g, m, ANY(K_IA));
	for (int id = 0; id < m->n_obj; id++)
		if (m->obj[id].live && m->obj[id].ia == c->h[0] &&
		    id != c->h[0] && m->obj[c->h[0]].uses[USE_EVD] != id)
			graceful = false;
	c->n[0] = graceful ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG;
	return c->h[0] >= 0;
}
