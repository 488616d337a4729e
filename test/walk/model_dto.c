/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_dto.c - transfers: which meet, what they carry, which completions are
 * owed in which order.
 *
 * Requests of an endpoint complete in order, so do its receives. A send meets
 * the oldest receive of the peer. While both ends are known to be connected
 * and nothing has ended that, what can succeed has succeeded: the device moves
 * data at once. Everything else is flushed when the connection ends. What
 * fails, and what that does to both ends, says model_fault.c; it is walked
 * where both ends are known to be connected. Not walked: transfers of memory
 * that is gone. Threads, ownership: model.h. Rule: DAT, posting and
 * completions.
 */
#include "test/walk/model.h"

#include <string.h>

#include "test/walk/face.h"

#define is_recv(op) ((op) == OP_POST_RECV)
/* A message for a shared queue, whose buffers are not flushed. */
#define is_shared(op) ((op) == OP_SRQ_POST_RECV)

/* A length that no device has, of a segment or of the remote part. */
static bool too_long(const struct call *c)
{
	bool rdma = call_reaches(c->op);

	return WALK_LONG != 0 && (c->n[2] > UINT32_MAX ||
				  (rdma && c->n[0] * c->n[2] > UINT32_MAX));
}

/* A place that a new bind of a window takes besides, to close it first. */
static int hidden(const struct model *m, const struct ep *e)
{
	int n = 0;

	for (int i = 0; i < e->n[0]; i++)
		n += e->q[0][i].op == OP_RMR_BIND &&
		     m->obj[e->q[0][i].window].rmr.for_ep;
	return n;
}

/* Whether there is no room for one more, or N; Q as in struct ep. */
void dto_ask_room(struct model *m, int ep, int q, int more, struct answers *a)
{
	const struct ep *e = &m->obj[ep].ep;
	int n = e->n[q], done = 0;

	for (int i = 0; i < n; i++)
		done += e->q[q][i].done || e->q[q][i].tried ||
			e->q[q][i].may_flush;
	if (model_states(m, ep) & ST(DISCONNECTED))
		done = n;
	if (n - done >= e->depth[q])
		refuse(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	else if (n + more + (q ? 0 : hidden(m, e)) > e->depth[q])
		maybe(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* ------------------------------------------------ what is walked */

/*
 * What its own memory is used for that it does not allow. What is sent may be
 * copied when it is posted: then nobody asks where it was.
 */
static enum fault local_fault(const struct model *m, const struct call *c)
{
	unsigned priv = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	if (m->sink_rw && call_reads(c->op))
		priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	return call_gives(c->op) ||
			       region_can(m, c->h[1],
					  m->obj[c->h[0]].uses[USE_PZ], priv)
		       ? FAULT_NONE
		       : FAULT_LOCAL;
}

/* Memory that has an address, and a context that leads to it. */
static bool has_place(const struct model *m, int id, int ia)
{
	const struct obj *o = obj_of(m, id, K_LMR);

	return o && o->ia == ia && region_can(m, id, o->uses[USE_PZ], 0);
}

static bool window_can(const struct model *m, const struct call *c, int peer)
{
	const struct obj *o = c->h[3] < 0 ? NULL : &m->obj[c->h[3]];

	if (c->op == OP_SEND_INV && (!o || o->kind != K_RMR))
		return false;
	if (!o || peer < 0)
		return true;
	return o->ia == m->obj[peer].ia && rmr_can_name(m, c);
}

/* A send that finds no receive, where that ends the connection. */
static bool is_bare(const struct model *m, const struct call *c)
{
	return m->iwarp && call_sends(c->op) && !dto_is_received(m, c->h[0]);
}

/* Whether it fails for nothing that is in the call. */
bool dto_is_sound(const struct model *m, const struct call *c)
{
	int peer = conn_peer(m, c->h[0]);
	unsigned priv = call_reads(c->op) ? DAT_MEM_PRIV_REMOTE_READ_FLAG
					  : DAT_MEM_PRIV_REMOTE_WRITE_FLAG;

	if (is_bare(m, c) || local_fault(m, c) != FAULT_NONE || c->h[3] >= 0 ||
	    (is_recv(c->op) && c->n[0] * c->n[2] < WALK_MESSAGE))
		return false;
	return peer < 0 || !call_reaches(c->op) ||
	       region_can(m, c->h[2], m->obj[peer].uses[USE_PZ], priv);
}

/* Both ends are up, and who has a buffer of a shared queue is no question. */
bool dto_is_certain(const struct model *m, int ep)
{
	return conn_sure(m, ep) && m->obj[ep].uses[USE_SRQ] < 0 &&
	       m->obj[conn_peer(m, ep)].uses[USE_SRQ] < 0;
}

static bool has_risky(const struct model *m, int ep)
{
	const struct ep *e = &m->obj[ep].ep;

	for (int q = 0; q < 2; q++)
		for (int i = 0; i < e->n[q]; i++) {
			const struct dto *d = &e->q[q][i];

			if (d->risky && !d->tried && !d->dead)
				return true;
		}
	return false;
}

/*
 * While a connection ends gracefully what is posted may be carried out or not:
 * what fails, and what windows are, could not be told. And which event comes
 * of it when the other end has gone already is not known.
 */
bool dto_can_drain(const struct model *m, int ep)
{
	int peer = conn_peer(m, ep);

	return !conn_deserted(m, ep) && !has_risky(m, ep) &&
	       (peer < 0 || !has_risky(m, peer));
}

static bool reach_can(const struct model *m, const struct call *c, int peer)
{
	if (!call_reaches(c->op))
		return true;
	return obj_of(m, c->h[2], K_LMR) &&
	       (peer < 0 || has_place(m, c->h[2], m->obj[peer].ia));
}

bool dto_can(const struct model *m, const struct call *c)
{
	const struct obj *ep = obj_of(m, c->h[0], K_EP);
	int peer;

	if (!ep) /* refused: the rest does not matter */
		return obj_of(m, c->h[1], K_LMR) &&
		       (c->h[2] < 0 || obj_of(m, c->h[2], K_LMR));
	peer = conn_peer(m, c->h[0]);
	if (!has_place(m, c->h[1], ep->ia) ||
	    (call_gives(c->op) &&
	     !region_can(m, c->h[1], ep->uses[USE_PZ], 0)) ||
	    ep->ep.n[is_recv(c->op)] >= MAX_DTO || !window_can(m, c, peer) ||
	    !reach_can(m, c, peer))
		return false;
	/* What may fail has to do so for sure. */
	return dto_is_sound(m, c) || dto_is_certain(m, c->h[0]);
}

/* -------------------------------------------------------- asking */

void dto_ask(struct model *m, const struct call *c, struct answers *a)
{
	const struct obj *o = obj_of(m, c->h[0], K_EP);
	int q = is_recv(c->op), segments = (int32_t)c->n[0];

	if (too_long(c))
		refuse(a, DAT_LENGTH_ERROR, 0);
	if (!o) {
		refuse(a, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		return;
	}
	if (q && o->uses[USE_SRQ] >= 0) {
		BAD_STATE(SRQ_IN_USE);
		maybe(a, DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		return;
	}
	if (WALK_SKIPS && segments > 0 && !c->n[2])
		segments = 0;
	if (c->op == OP_READ_TO_RMR)
		segments = 1;
	if (segments < 0 || segments > o->ep.iov[q])
		refuse(a, DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	/* "provider or adapter cannot" */
	if (c->op == OP_READ_TO_RMR || (c->op == OP_SEND_INV && c->n[5]))
		maybe(a, DAT_MODEL_NOT_SUPPORTED, ANY_SUB);
	dto_ask_room(m, c->h[0], q, 1, a);
	if (!q)
		refuse_states(a, model_states(m, c->h[0]),
			      ST(CONNECTED) | ST(DISCONNECTED));
}

static void chunks(struct model *m, const struct dto *d, int by)
{
	if (d->lmr >= 0)
		m->obj[d->lmr].lmr.busy[d->chunk] += (uint8_t)by;
	if (d->remote >= 0)
		m->obj[d->remote].lmr.busy[d->remote_chunk] += (uint8_t)by;
}

/* The oldest receive of EP that no send has met. */
static struct dto *oldest_receive(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;

	if (m->obj[ep].uses[USE_SRQ] >= 0)
		return shared_meet(m, ep);
	for (int i = 0; i < e->n[1]; i++)
		if (!e->q[1][i].match && !e->q[1][i].dead)
			return &e->q[1][i];
	return NULL;
}

/* A send meets receive R, which it takes unless memory is in its way. */
static enum fault meet(struct model *m, int peer, struct dto *d, struct dto *r)
{
	if (d->takes_back && !rmr_taken_back(m, peer, d))
		return FAULT_REMOTE;
	if (!is_shared(r->op) && r->room < d->len)
		return FAULT_LENGTH;
	/* The device looks at all of the buffer, whatever comes. */
	if (r->fault)
		return FAULT_SINK;
	r->match = d->cookie;
	r->len = d->len;
	r->tried = true;
	r->takes_back = d->takes_back;
	r->window = d->window;
	r->context = d->context;
	return FAULT_NONE;
}

/* What a request names at the peer. */
static enum fault reach(struct model *m, int peer, const struct dto *d)
{
	unsigned priv = call_reads(d->op) ? DAT_MEM_PRIV_REMOTE_READ_FLAG
					  : DAT_MEM_PRIV_REMOTE_WRITE_FLAG;

	if (!d->len ||
	    (d->window >= 0 ? rmr_opens(m, peer, d, priv)
			    : region_can(m, d->remote,
					 m->obj[peer].uses[USE_PZ], priv)))
		return FAULT_NONE;
	return FAULT_REMOTE;
}

/*
 * The next request of EP; false: it waits, or it was the last. *CONTENDED: one
 * before it may wait, and so may this one.
 */
static bool carry_out(struct model *m, int ep, int peer, struct dto *d,
		      bool *contended)
{
	enum fault f = d->len ? (enum fault)d->fault : FAULT_NONE;
	struct dto *r = NULL;

	if (f == FAULT_NONE && call_sends(d->op)) {
		r = oldest_receive(m, peer);
		if (!r && !m->iwarp)
			return false;
		f = r ? meet(m, peer, d, r) : FAULT_BARE;
		*contended |= r && r->contended;
	} else if (f == FAULT_NONE && call_reaches(d->op)) {
		f = reach(m, peer, d);
	}
	if (f != FAULT_NONE) {
		fault_happens(m, ep, peer, f, d, f == FAULT_REMOTE ? NULL : r);
		return false;
	}
	if (d->op == OP_RMR_BIND)
		rmr_carried_out(m, ep, d);
	d->contended = *contended;
	d->tried = true;
	return true;
}

static void push(struct model *m, int ep)
{
	int peer = conn_peer(m, ep);
	bool sure = conn_sure(m, ep), contended = false;
	struct ep *e = &m->obj[ep].ep;

	for (int i = 0; peer >= 0 && i < e->n[0]; i++) {
		struct dto *d = &e->q[0][i];

		if (d->dead)
			continue;
		if (!d->tried && !carry_out(m, ep, peer, d, &contended))
			return;
		d->done |= sure && !d->contended;
		contended = d->contended;
	}
}

/* Once both ends are known to be up, what may have come has come. */
static void confirm(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;

	for (int q = 0; q < 2 && conn_sure(m, ep); q++)
		for (int i = 0; i < e->n[q]; i++) {
			struct dto *d = &e->q[q][i];

			d->done |= d->tried && !d->contended && !d->dead;
		}
}

void dto_progress(struct model *m, int ep)
{
	int peer = conn_peer(m, ep);

	if (peer < 0)
		return;
	push(m, ep);
	push(m, peer);
	confirm(m, ep);
	confirm(m, peer);
	conn_drained(m, ep);
	conn_drained(m, peer);
}

void dto_post(struct model *m, int ep, int q, const struct dto *posted)
{
	struct ep *e = &m->obj[ep].ep;
	unsigned st = model_states(m, ep);
	struct dto *d = &e->q[q][e->n[q]++];

	*d = *posted;
	e->unheard |= d->suppressed;
	chunks(m, d, 1);
	d->may_flush = conn_flushes(m, ep);
	d->late = st & ST(DISCONNECTED);
	d->may_fail = conn_deserted(m, ep);
	if (d->may_fail && e->conn >= 0)
		m->conn[e->conn].may[e->side] |= EV_BIT(BROKEN);
	dto_progress(m, ep);
}

void dto_take(struct model *m, const struct world *w, const struct call *c)
{
	int q = is_recv(c->op);
	bool moves = call_reaches(c->op);
	struct dto d = {
		.cookie = c->n[3],
		.op = c->op,
		.suppressed = !q && c->n[4] & DAT_COMPLETION_SUPPRESS_FLAG,
		.lmr = c->h[1],
		.chunk = (uint8_t)(c->n[1] / WALK_CHUNK),
		.remote = moves ? c->h[2] : OBJ_NULL,
		.remote_chunk = (uint8_t)(c->n[5] / WALK_CHUNK),
		.window = c->h[3],
		.fault = (uint8_t)local_fault(m, c),
		.takes_back = c->op == OP_SEND_INV && c->n[5],
		.risky = !dto_is_sound(m, c),
	};

	d.silent = d.suppressed;
	d.len = d.room = (uint32_t)(c->n[0] * c->n[2]);
	if (d.window >= 0) {
		d.bind = m->obj[d.window].rmr.of[c->h[4] == OBJ_OLDER];
		d.context = w->rkey[call_context(c)];
	}
	dto_post(m, c->h[0], q, &d);
}

/* Its connection is over: what has not been moved is flushed. */
void dto_end(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;

	for (int q = 0; q < 2; q++)
		for (int i = 0; i < e->n[q]; i++)
			e->q[q][i].may_flush = true;
}

void dto_receives_end(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;

	for (int i = 0; i < e->n[1]; i++)
		e->q[1][i].may_flush = true;
}

void dto_cut(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;

	for (int q = 0; q < 2; q++)
		for (int i = 0; i < e->n[q]; i++)
			e->q[q][i].dead = true;
}

/*
 * Flushes that the device has not told yet go with the queue pair. Whether
 * suppressed requests have succeeded before the first that is flushed, or has
 * failed, nobody can say then.
 */
void dto_reset(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;
	bool told = false;

	e->unheard = false;
	for (int i = 0; i < e->n[0]; i++) {
		struct dto *d = &e->q[0][i];

		if (d->past)
			continue;
		d->past = true;
		told |= !d->suppressed && (d->want || !(d->done || d->tried));
		if (d->suppressed && m->flushes_late && !told)
			d->silent = d->tried = true;
	}
}

bool dto_waits(const struct model *m, int ep)
{
	const struct ep *e = &m->obj[ep].ep;

	for (int i = 0; i < e->n[0]; i++)
		if (!e->q[0][i].tried && !e->q[0][i].dead)
			return true;
	return false;
}

bool dto_may_wait(const struct model *m, int ep)
{
	const struct ep *e = &m->obj[ep].ep;

	for (int i = 0; i < e->n[0]; i++)
		if (e->q[0][i].contended && !e->q[0][i].dead)
			return true;
	return dto_waits(m, ep);
}

const struct dto *dto_unread(const struct model *m, int ep, int evd)
{
	const struct obj *o = &m->obj[ep];

	for (int q = 0; q < 2; q++)
		for (int i = 0; o->uses[q ? USE_RECV : USE_REQUEST] == evd &&
				i < o->ep.n[q];
		     i++)
			if (o->ep.q[q][i].done && !o->ep.q[q][i].silent)
				return &o->ep.q[q][i];
	return NULL;
}

bool dto_is_received(const struct model *m, int ep)
{
	int peer = conn_peer(m, ep);

	if (peer < 0)
		return !(model_states(m, ep) & ST(CONNECTED));
	if (dto_waits(m, ep))
		return false;
	if (m->obj[peer].uses[USE_SRQ] >= 0)
		return shared_has_buffer(m, peer);
	return oldest_receive((struct model *)(uintptr_t)m, peer);
}

/*
 * The peer has left: what has not been answered may fail for want of an
 * answer, before the end is heard of. True if there is such.
 */
bool dto_deserted(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;
	bool any = false;

	for (int i = 0; i < e->n[0]; i++) {
		e->q[0][i].may_fail |= !e->q[0][i].done;
		any |= !e->q[0][i].done;
	}
	return any;
}

void dto_forget(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;

	/* "Buffers are the consumer's again on return." */
	for (int q = 0; q < 2; q++)
		for (int i = 0; i < e->n[q]; i++) {
			chunks(m, &e->q[q][i], -1);
			e->q[q][i].lmr = e->q[q][i].remote = OBJ_NULL;
		}
}

void dto_purge(struct model *m)
{
	for (int i = 0; i < m->n_obj; i++)
		if (m->obj[i].kind == K_EP && !m->obj[i].live)
			m->obj[i].ep.n[0] = m->obj[i].ep.n[1] = 0;
}

/* Some devices keep what they got when they knew of the end, and DAT did not.
 */
static bool is_flushed(const struct model *m, const struct dto *d)
{
	return d->may_flush && !is_shared(d->op) && !(m->withholds && d->late);
}

/* What an EVD has of transfers: *now for sure, *most at most. */
bool dto_owes(const struct model *m, int evd, int *now, int *most)
{
	bool owes = false;

	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		if (o->kind != K_EP)
			continue;
		for (int q = 0; q < 2; q++) {
			if (o->uses[q ? USE_RECV : USE_REQUEST] != evd)
				continue;
			*most += o->ep.n[q];
			for (int j = 0; o->live && j < o->ep.n[q]; j++) {
				const struct dto *d = &o->ep.q[q][j];
				bool quiet = d->silent && (d->done || d->tried);

				*now += d->done && !quiet;
				owes |= (d->done || is_flushed(m, d)) && !quiet;
			}
		}
	}
	return owes;
}

/* The first one that is owed, though others may come before it. */
static const struct dto *first_owed(const struct model *m, const struct ep *e,
				    int q)
{
	for (int i = 0; i < e->n[q]; i++) {
		const struct dto *d = &e->q[q][i];
		bool quiet = d->silent && (d->done || d->tried);

		if ((d->done || is_flushed(m, d)) && !quiet)
			return d;
	}
	return NULL;
}

bool dto_owed(const struct model *m, int evd, char *text, size_t size)
{
	for (int i = 0; i < m->n_obj; i++)
		for (int q = 0; m->obj[i].kind == K_EP && q < 2; q++) {
			const struct obj *o = &m->obj[i];
			const struct dto *d = first_owed(m, &o->ep, q);

			if (o->live && d &&
			    o->uses[q ? USE_RECV : USE_REQUEST] == evd) {
				snprintf(
					text, size,
					"%s %llu%s%s%s of endpoint %d",
					call_name(d->op),
					(unsigned long long)(is_shared(d->op)
								     ? d->match
								     : d->cookie),
					d->done ? ", done" : "",
					d->tried ? ", tried" : "",
					d->may_flush ? ", to be flushed" : "",
					i);
				return true;
			}
		}
	return false;
}

/* -------------------------------------------------------- completions */

static bool find(struct model *m, uint64_t cookie, int *ep, int *q, int *at)
{
	for (int i = 0; i < m->n_obj; i++)
		for (int k = 0; m->obj[i].kind == K_EP && k < 2; k++)
			for (int j = 0; j < m->obj[i].ep.n[k]; j++)
				if (cookie &&
				    m->obj[i].ep.q[k][j].cookie == cookie) {
					*ep = i;
					*q = k;
					*at = j;
					return true;
				}
	return false;
}

static bool bytes_are(struct model *m, const uint8_t *at, uint64_t cookie,
		      uint32_t len, const char *what)
{
	for (uint32_t i = 0; i < WALK_CHUNK; i++) {
		uint8_t want = i < len ? call_byte(cookie, i) : FRAME;

		if (at[i] != want)
			return model_wrong(m,
					   "%s: byte %u of %u is 0x%02x, "
					   "should be 0x%02x",
					   what, i, len, at[i], want);
	}
	return true;
}

static bool data_came(struct model *m, const struct world *w,
		      const struct dto *d, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&ev->event_data.dto_completion_event_data;
	const uint8_t *local = NULL, *remote = NULL;

	if (d->op == OP_RMR_BIND)
		return true;
	if (d->op == OP_POST_RECV && d->takes_back
		    ? !walk_takes_back(data, d->context)
		    : !walk_operation_is(data, d->op))
		return model_wrong(m, "another operation, posted was %s",
				   call_name(d->op));
	if (data->transfered_length != d->len)
		return model_wrong(m, "%llu bytes came, %u were sent",
				   (unsigned long long)data->transfered_length,
				   d->len);
	if (d->lmr >= 0)
		local = w->mem[d->lmr] + d->chunk * WALK_CHUNK;
	if (d->remote >= 0)
		remote = w->mem[d->remote] + d->remote_chunk * WALK_CHUNK;
	switch (d->op) {
	case OP_POST_RECV:
		return !local ||
		       bytes_are(m, local, d->match, d->len, "receive");
	case OP_POST_READ:
	case OP_READ_TO_RMR:
		return !local || bytes_are(m, local, d->cookie, d->len, "read");
	case OP_POST_WRITE:
		return !remote ||
		       bytes_are(m, remote, d->cookie, d->len, "write");
	}
	return true;
}

/* What failed has changed nothing. */
static bool nothing_came(struct model *m, const struct world *w,
			 const struct dto *d)
{
	if (call_reads(d->op) && d->lmr >= 0)
		return bytes_are(m, w->mem[d->lmr] + d->chunk * WALK_CHUNK, 0,
				 0, "failed read");
	if (d->op == OP_POST_WRITE && d->remote >= 0)
		return bytes_are(
			m, w->mem[d->remote] + d->remote_chunk * WALK_CHUNK, 0,
			0, "failed write");
	return true;
}

/* Those before AT are done: they have to be such as give no event. */
static bool in_order(struct model *m, const struct obj *o, int q, int at)
{
	for (int i = 0; i < at; i++) {
		const struct dto *d = &o->ep.q[q][i];

		if (o->live && !(d->silent && (d->done || d->tried)))
			return model_wrong(
				m, "%s %llu before %s %llu",
				call_name(o->ep.q[q][at].op),
				(unsigned long long)o->ep.q[q][at].cookie,
				call_name(d->op),
				(unsigned long long)d->cookie);
	}
	return true;
}

static bool may_be_over(const struct model *m, const struct obj *o)
{
	return model_states(m, (int)(o - m->obj)) & ST(DISCONNECTED);
}

static bool status_ok(struct model *m, const struct obj *o, const struct dto *d,
		      int status)
{
	if (!o->live)
		return true; /* lost, flushed, or what it was */
	if (d->want) {
		if (d->want & 1u << status)
			return true;
	} else if (status == DAT_DTO_SUCCESS ? d->done || d->tried
		   : status == DAT_DTO_ERR_FLUSHED
			   ? !d->done && (d->may_flush || may_be_over(m, o))
			   : !d->done && d->may_fail)
		return true;
	return model_wrong(m, "%s %llu: status %d%s%s%s", call_name(d->op),
			   (unsigned long long)d->cookie, status,
			   d->done ? ", has succeeded" : "",
			   d->tried ? ", may have succeeded" : "",
			   d->may_flush ? ", may be flushed" : "");
}

/* The fields that completions of transfers and of binds have alike. */
struct completion {
	DAT_HANDLE of; /* endpoint, or window */
	uint64_t cookie;
	int status;
};

static struct completion completion_of(const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&ev->event_data.rmr_completion_event_data;

	if (ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		return (struct completion){bind->rmr_handle,
					   bind->user_cookie.as_64,
					   (int)bind->status};
	return (struct completion){dto->ep_handle, dto->user_cookie.as_64,
				   (int)dto->status};
}

static bool is_its(struct model *m, int evd, const DAT_EVENT *ev,
		   const struct completion *is, int ep, int q,
		   const struct dto *d)
{
	bool bind = ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT;
	const struct obj *o = &m->obj[ep];

	if (bind != (d->op == OP_RMR_BIND))
		return model_wrong(m, "event 0x%x of %s", ev->event_number,
				   call_name(d->op));
	if (is->of != (bind ? m->obj[d->window].handle : o->handle))
		return model_wrong(m, "a completion of another %s",
				   bind ? "window" : "endpoint");
	if (o->uses[q ? USE_RECV : USE_REQUEST] != evd)
		return model_wrong(m, "a completion on another EVD");
	return true;
}

/* What the model knows better now. */
static void learn(struct model *m, int ep, const struct dto *d, int status)
{
	if (d->op == OP_RMR_BIND && status == DAT_DTO_SUCCESS)
		rmr_bind_read(m, d);
	if (d->op == OP_POST_RECV && d->takes_back)
		m->obj[d->window].rmr.unread = false;
	if (status == DAT_DTO_SUCCESS)
		return;
	if (d->want && !d->may_flush)
		fault_seen(m, ep);
	else if (!d->want && !d->dead && !conn_is_doomed(m, ep))
		conn_seen_over(m, ep);
}

bool dto_event(struct model *m, const struct world *w, int evd,
	       const DAT_EVENT *ev)
{
	struct completion is = completion_of(ev);
	int id, q, at, first;
	struct obj *o;
	struct dto d;
	bool early, ok;

	if (ev->event_number == DAT_DTO_COMPLETION_EVENT &&
	    shared_event(m, w, evd, ev, &ok))
		return ok;
	if (!find(m, is.cookie, &id, &q, &at))
		return model_wrong(m, "a completion of nothing, cookie %llu",
				   (unsigned long long)is.cookie);
	o = &m->obj[id];
	d = o->ep.q[q][at];
	if (!is_its(m, evd, ev, &is, id, q, &d))
		return false;
	/* DAT wants another order; README.md. */
	early = m->flushes_late && d.late && is.status == DAT_DTO_ERR_FLUSHED;
	if ((!early && !in_order(m, o, q, at)) ||
	    !status_ok(m, o, &d, is.status))
		return false;
	if (o->live &&
	    !(is.status == DAT_DTO_SUCCESS ? data_came(m, w, &d, ev)
					   : !d.want || nothing_came(m, w, &d)))
		return false;
	if (o->live)
		learn(m, id, &d, is.status);
	/* Those before it were silent. */
	first = early ? at : 0;
	for (int i = first; i <= at && o->live; i++)
		chunks(m, &o->ep.q[q][i], -1);
	memmove(o->ep.q[q] + first, o->ep.q[q] + at + 1,
		(size_t)(o->ep.n[q] - at - 1) * sizeof(d));
	o->ep.n[q] -= at + 1 - first;
	return true;
}
