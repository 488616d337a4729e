/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_dto.c - transfers: which meet, what they carry, which completions are
 * owed in which order.
 *
 * Requests of an endpoint complete in order, so do its receives. A send meets
 * the oldest receive of the peer. While both ends are known to be connected
 * and nothing has ended that, what can succeed has succeeded: the device moves
 * data at once. Everything else is flushed when the connection ends.
 * Not walked: transfers of memory that is gone, too short or not theirs.
 * Threads, ownership: model.h. Rule: DAT, posting and completions.
 */
#include "test/walk/model.h"

#include <string.h>

#include "test/walk/face.h"

#define is_recv(op) ((op) == OP_POST_RECV)

/* A length that no device has, of a segment or of the remote part. */
static bool too_long(const struct call *c)
{
	bool rdma = c->op == OP_POST_WRITE || c->op == OP_POST_READ;

	return WALK_LONG != 0 && (c->n[2] > UINT32_MAX ||
				  (rdma && c->n[0] * c->n[2] > UINT32_MAX));
}

/* Whether there is no room for one more; Q as in struct ep. */
static void ask_room(struct model *m, int ep, int q, struct answers *a)
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
	else if (n >= e->depth[q])
		maybe(a, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

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
	if (segments < 0 || segments > o->ep.iov[q])
		refuse(a, DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ask_room(m, c->h[0], q, a);
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

	for (int i = 0; i < e->n[1]; i++)
		if (!e->q[1][i].match && !e->q[1][i].may_flush)
			return &e->q[1][i];
	return NULL;
}

static void push(struct model *m, int ep)
{
	int peer = conn_peer(m, ep);
	bool sure = conn_sure(m, ep);
	struct ep *e = &m->obj[ep].ep;

	for (int i = 0; i < e->n[0]; i++) {
		struct dto *d = &e->q[0][i], *r;

		if (d->tried) {
			d->done |= sure;
			continue;
		}
		if (d->may_flush)
			continue;
		if (d->op == OP_POST_SEND) {
			r = oldest_receive(m, peer);
			if (!r)
				return;
			r->match = d->cookie;
			r->len = d->len;
			r->tried = true;
		}
		d->tried = true;
		d->done = sure;
	}
}

/* Once both ends are known to be up, what may have come has come. */
static void confirm(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;

	for (int q = 0; q < 2 && conn_sure(m, ep); q++)
		for (int i = 0; i < e->n[q]; i++)
			e->q[q][i].done |= e->q[q][i].tried;
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
}

void dto_take(struct model *m, const struct world *w, const struct call *c)
{
	struct ep *e = &m->obj[c->h[0]].ep;
	int q = is_recv(c->op);
	bool moves = c->op == OP_POST_WRITE || c->op == OP_POST_READ;
	unsigned st = model_states(m, c->h[0]);
	struct dto *d = &e->q[q][e->n[q]++];

	(void)w;
	memset(d, 0, sizeof(*d));
	d->cookie = c->n[3];
	d->op = c->op;
	d->silent = !q && c->n[4] & DAT_COMPLETION_SUPPRESS_FLAG;
	d->lmr = c->h[1];
	d->chunk = (uint8_t)(c->n[1] / WALK_CHUNK);
	d->remote = moves ? c->h[2] : OBJ_NULL;
	d->remote_chunk = (uint8_t)(c->n[5] / WALK_CHUNK);
	d->len = d->room = (uint32_t)(c->n[0] * c->n[2]);
	chunks(m, d, 1);
	d->may_flush = !(st & ~(ST(DISCONNECTED) | ST(DISCONNECT_PENDING)));
	d->late = st & ST(DISCONNECTED);
	d->may_fail = conn_deserted(m, c->h[0]);
	if (d->may_fail && m->obj[c->h[0]].ep.conn >= 0)
		m->conn[e->conn].may[e->side] |= EV_BIT(BROKEN);
	dto_progress(m, c->h[0]);
}

/* Its connection is over: what has not been moved is flushed. */
void dto_end(struct model *m, int ep)
{
	struct ep *e = &m->obj[ep].ep;

	for (int q = 0; q < 2; q++)
		for (int i = 0; i < e->n[q]; i++)
			e->q[q][i].may_flush = true;
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
				owes |= (d->done || d->may_flush) && !quiet;
			}
		}
	}
	return owes;
}

bool dto_owed(const struct model *m, int evd, char *text, size_t size)
{
	for (int i = 0; i < m->n_obj; i++)
		for (int q = 0; m->obj[i].kind == K_EP && q < 2; q++) {
			const struct obj *o = &m->obj[i];
			const struct dto *d = &o->ep.q[q][0];

			if (o->live && o->ep.n[q] &&
			    o->uses[q ? USE_RECV : USE_REQUEST] == evd) {
				snprintf(text, size,
					 "%s %llu%s%s%s of endpoint %d",
					 call_name(d->op),
					 (unsigned long long)d->cookie,
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
				if (m->obj[i].ep.q[k][j].cookie == cookie) {
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

	if (!walk_operation_is(data, d->op))
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
		return !local || bytes_are(m, local, d->cookie, d->len, "read");
	case OP_POST_WRITE:
		return !remote ||
		       bytes_are(m, remote, d->cookie, d->len, "write");
	}
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
	if (status == DAT_DTO_SUCCESS ? d->done || d->tried
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

bool dto_event(struct model *m, const struct world *w, int evd,
	       const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&ev->event_data.dto_completion_event_data;
	int id, q, at, first;
	struct obj *o;
	struct dto d;
	bool early;

	if (!find(m, data->user_cookie.as_64, &id, &q, &at))
		return model_wrong(m, "a completion of nothing, cookie %llu",
				   (unsigned long long)data->user_cookie.as_64);
	o = &m->obj[id];
	d = o->ep.q[q][at];
	if (data->ep_handle != o->handle ||
	    o->uses[q ? USE_RECV : USE_REQUEST] != evd)
		return model_wrong(m, "a completion of another endpoint");
	/* DAT wants another order; README.md. */
	early = m->flushes_late && d.late &&
		data->status == DAT_DTO_ERR_FLUSHED;
	if ((!early && !in_order(m, o, q, at)) ||
	    !status_ok(m, o, &d, (int)data->status))
		return false;
	if (data->status == DAT_DTO_SUCCESS && o->live &&
	    !data_came(m, w, &d, ev))
		return false;
	if (data->status != DAT_DTO_SUCCESS && o->live && !d.may_flush)
		conn_seen_over(m, id);
	/* Those before it were silent. */
	first = early ? at : 0;
	for (int i = first; i <= at && o->live; i++)
		chunks(m, &o->ep.q[q][i], -1);
	memmove(o->ep.q[q] + first, o->ep.q[q] + at + 1,
		(size_t)(o->ep.n[q] - at - 1) * sizeof(d));
	o->ep.n[q] -= at + 1 - first;
	return true;
}
