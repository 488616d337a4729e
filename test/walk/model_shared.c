/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_shared.c - messages that come into the buffers of a shared receive
 * queue.
 *
 * Which buffer a message takes nobody says. So the endpoint has a record for
 * each message that may have come (q[1], with no cookie), the queue has its
 * buffers, and a completion brings one of either together: the data tells which
 * message it was, and messages of one connection come in their order.
 * Where there may be fewer buffers than messages each of them may have found
 * none (contended). Buffers are not flushed when a connection ends.
 * Threads, ownership: model.h. Rule: DAT, dat_srq_*, dat_ep_create_with_srq.
 */
#include "test/walk/model.h"

#include "test/walk/face.h"

/* Messages that may have taken a buffer of SRQ, or those that surely have. */
static int taken(const struct model *m, int srq, bool sure)
{
	int n = 0;

	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		if (o->kind != K_EP || o->uses[USE_SRQ] != srq)
			continue;
		for (int j = 0; j < o->ep.n[1]; j++)
			n += !sure || o->ep.q[1][j].done;
	}
	return n;
}

bool shared_has_buffer(const struct model *m, int ep)
{
	int srq = m->obj[ep].uses[USE_SRQ];

	return m->obj[srq].srq.n - m->obj[srq].srq.lost > taken(m, srq, false);
}

/* The send that brought message R, and those behind it. */
static void contend(struct model *m, struct dto *r)
{
	r->contended = true;
	for (int i = 0; i < m->n_obj; i++) {
		struct ep *e = &m->obj[i].ep;
		bool behind = false;

		for (int j = 0; m->obj[i].kind == K_EP && j < e->n[0]; j++) {
			behind |= e->q[0][j].cookie == r->match;
			e->q[0][j].contended |= behind && !e->q[0][j].done;
		}
	}
}

/* Who is not known to have a buffer may have to leave it to another one. */
static void contend_others(struct model *m, int ep)
{
	for (int i = 0; i < m->n_obj; i++) {
		struct obj *o = &m->obj[i];

		if (i == ep || o->kind != K_EP ||
		    o->uses[USE_SRQ] != m->obj[ep].uses[USE_SRQ])
			continue;
		for (int j = 0; j < o->ep.n[1]; j++)
			if (!o->ep.q[1][j].done)
				contend(m, &o->ep.q[1][j]);
	}
}

struct dto *shared_meet(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;
	struct srq *s = &m->obj[m->obj[ep].uses[USE_SRQ]].srq;
	bool contended = s->rush || !shared_has_buffer(m, ep);
	struct dto *r = &e->q[1][e->n[1]];

	if (e->n[1] >= MAX_DTO ||
	    s->n - taken(m, m->obj[ep].uses[USE_SRQ], true) <= 0)
		return NULL;
	if (contended)
		contend_others(m, ep);
	e->n[1]++;
	*r = (struct dto){
		.op = OP_SRQ_POST_RECV,
		.contended = contended,
		.lmr = OBJ_NULL,
		.remote = OBJ_NULL,
		.window = OBJ_NULL,
	};
	return r;
}

/* Posted, and no message may have come. */
int shared_least(const struct model *m, int srq)
{
	int n = m->obj[srq].srq.n - m->obj[srq].srq.lost - taken(m, srq, false);

	return n < 0 ? 0 : n;
}

/* As many buffers as messages: none of them has to wait. */
static void settle(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;
	int peer = conn_peer(m, ep);

	for (int i = 0; i < e->n[1]; i++)
		e->q[1][i].contended &= e->q[1][i].dead;
	for (int i = 0; peer >= 0 && i < m->obj[peer].ep.n[0]; i++)
		m->obj[peer].ep.q[0][i].contended = false;
}

/* Whether more messages wait than there are buffers, of several connections. */
static bool is_rush(const struct model *m, int srq)
{
	int n = 0, senders = 0, peer;

	for (int i = 0; i < m->n_obj; i++) {
		peer = obj_of(m, i, K_EP) && m->obj[i].uses[USE_SRQ] == srq
			       ? conn_peer(m, i)
			       : -1;
		senders += peer >= 0 && dto_waits(m, peer);
		for (int j = 0; peer >= 0 && j < m->obj[peer].ep.n[0]; j++)
			n += !m->obj[peer].ep.q[0][j].tried;
	}
	return senders > 1 && shared_least(m, srq) < n;
}

/* There is a buffer more: who waits for one may go on. */
void shared_progress(struct model *m, int srq)
{
	struct srq *s = &m->obj[srq].srq;
	bool enough = s->n - s->lost >= taken(m, srq, false);

	s->rush = is_rush(m, srq);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < m->n_obj; i++) {
			if (!obj_of(m, i, K_EP) ||
			    m->obj[i].uses[USE_SRQ] != srq)
				continue;
			if (pass)
				dto_progress(m, i);
			else if (enough)
				settle(m, i);
		}
	s->rush = false;
}

/* With the EVD go completions, and buffers that may not come back. */
void shared_evd_gone(struct model *m, int evd)
{
	for (int i = 0; i < m->n_obj; i++) {
		struct obj *o = &m->obj[i];

		if (o->kind != K_EP || o->uses[USE_SRQ] < 0 ||
		    o->uses[USE_RECV] != evd)
			continue;
		m->obj[o->uses[USE_SRQ]].srq.lost += o->ep.n[1];
		o->ep.n[1] = 0;
	}
}

static bool find(const struct model *m, uint64_t cookie, int *srq, int *at)
{
	for (int i = 0; i < m->n_obj; i++)
		for (int j = 0; m->obj[i].kind == K_SRQ && j < m->obj[i].srq.n;
		     j++)
			if (m->obj[i].srq.q[j].cookie == cookie) {
				*srq = i;
				*at = j;
				return true;
			}
	return false;
}

/* Whether message R is what came into buffer B. */
static bool is_it(const struct world *w, const struct dto *r,
		  const struct dto *b, uint64_t len)
{
	const uint8_t *at;

	if (r->len != len)
		return false;
	if (b->lmr < 0)
		return true;
	at = w->mem[b->lmr] + b->chunk * WALK_CHUNK;
	for (uint32_t i = 0; i < WALK_CHUNK; i++)
		if (at[i] != (i < len ? call_byte(r->match, i) : FRAME))
			return false;
	return true;
}

/* Message I of endpoint O is of an old connection, or of none, and may not have
 * come.
 */
static bool may_miss(const struct obj *o, int i)
{
	return !o->live || (o->ep.q[1][i].dead && !o->ep.q[1][i].done);
}

/* Takes the message off EP; false: it has no such one, or another comes first.
 */
static bool took(struct model *m, const struct world *w, int ep,
		 const struct dto *buffer, uint64_t len)
{
	struct obj *o = &m->obj[ep];
	int i = 0;

	while (i < o->ep.n[1] && !is_it(w, &o->ep.q[1][i], buffer, len)) {
		if (!may_miss(o, i))
			return false;
		i++;
	}
	if (i >= o->ep.n[1])
		return false;
	/* Empty messages are all alike: it may have been a later one. */
	for (int j = i + 1; may_miss(o, i) && j < o->ep.n[1]; j++)
		if (is_it(w, &o->ep.q[1][j], buffer, len)) {
			o->ep.q[1][j].done = false;
			o->ep.q[1][j].dead = true;
			break;
		}
	o->ep.n[1] -= i + 1;
	for (int j = 0; j < o->ep.n[1]; j++)
		o->ep.q[1][j] = o->ep.q[1][i + 1 + j];
	return true;
}

static bool came(struct model *m, const struct world *w, int evd, int srq,
		 const struct dto *buffer, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&ev->event_data.dto_completion_event_data;

	if (data->status != DAT_DTO_SUCCESS)
		return model_wrong(m, "buffer %llu of an SRQ: status %d",
				   (unsigned long long)buffer->cookie,
				   (int)data->status);
	if (!walk_operation_is(data, OP_POST_RECV))
		return model_wrong(m, "a receive is called another operation");
	for (int i = 0; i < m->n_obj; i++) {
		const struct obj *o = &m->obj[i];

		if (o->kind == K_EP && o->uses[USE_SRQ] == srq &&
		    o->uses[USE_RECV] == evd && o->handle == data->ep_handle &&
		    took(m, w, i, buffer, data->transfered_length))
			return true;
	}
	return model_wrong(m,
			   "buffer %llu of an SRQ: %llu bytes that are not the "
			   "next message of the endpoint",
			   (unsigned long long)buffer->cookie,
			   (unsigned long long)data->transfered_length);
}

bool shared_event(struct model *m, const struct world *w, int evd,
		  const DAT_EVENT *ev, bool *ok)
{
	uint64_t cookie =
		ev->event_data.dto_completion_event_data.user_cookie.as_64;
	struct dto buffer;
	struct srq *s;
	int srq, at;

	if (!find(m, cookie, &srq, &at))
		return false;
	s = &m->obj[srq].srq;
	buffer = s->q[at];
	*ok = came(m, w, evd, srq, &buffer, ev);
	if (buffer.lmr >= 0)
		m->obj[buffer.lmr].lmr.busy[buffer.chunk]--;
	for (s->n--; at < s->n; at++)
		s->q[at] = s->q[at + 1];
	return true;
}

/* ---------------------------------- what an adapter says of endpoints */

static bool is_async(const struct model *m, int evd)
{
	return m->obj[m->obj[evd].ia].uses[USE_EVD] == evd;
}

int shared_may_tell(const struct model *m, int evd)
{
	int n = 0;

	for (int i = 0; is_async(m, evd) && i < m->n_obj; i++)
		if (m->obj[i].kind == K_EP && m->obj[i].ia == m->obj[evd].ia)
			n += m->obj[i].ep.may_tell;
	return n;
}

/* "it takes no more from its SRQ" */
bool shared_tells(struct model *m, int evd, const DAT_EVENT *ev)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *d =
		&ev->event_data.asynch_error_event_data;

	if (ev->event_number != DAT_ASYNC_ERROR_EP_BROKEN ||
	    d->reason != DAT_EP_OTHER_ERROR)
		return false;
	for (int i = 0; is_async(m, evd) && i < m->n_obj; i++) {
		struct ep *e = &m->obj[i].ep;

		if (m->obj[i].kind != K_EP || m->obj[i].ia != m->obj[evd].ia ||
		    m->obj[i].handle != d->dat_handle || !e->may_tell)
			continue;
		e->may_tell--;
		return true;
	}
	return false;
}
