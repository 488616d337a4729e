/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_fault.c - what a fault does that a walk brings about: which answers and
 * events it may cause. All else stays as it is judged without it.
 *
 * A transfer that fails ends the connection, at both ends by one event. That is
 * owed once a consumer has read the failure, and may come before. What else is
 * posted may fail until then, or be flushed. A call of the device that fails
 * may have the call of DAT refused, with nothing changed. Threads, ownership:
 * model.h. Rule: DAT, statuses of completions; InfiniBand, which end's device
 * tells of it.
 */
#include "test/walk/model.h"

/* Statuses of the request and of the receive that it met. */
static const struct {
	uint8_t request, receive;
	bool tells; /* the peer's device, by an asynchronous event */
	bool there; /* the peer's device decides */
} rows[] = {
	[FAULT_LOCAL] = {.request = DAT_DTO_ERR_LOCAL_PROTECTION},
	[FAULT_REMOTE] = {.request = DAT_DTO_ERR_REMOTE_ACCESS,
			  .tells = true,
			  .there = true},
	[FAULT_LENGTH] = {.request = DAT_DTO_ERR_REMOTE_RESPONDER,
			  .receive = DAT_DTO_ERR_LOCAL_LENGTH,
			  .there = true},
	[FAULT_SINK] = {.request = DAT_DTO_ERR_REMOTE_RESPONDER,
			.receive = DAT_DTO_ERR_LOCAL_PROTECTION,
			.there = true},
	[FAULT_TIRED] = {.request = DAT_DTO_ERR_RECEIVER_NOT_READY},
	[FAULT_LOST] = {.request = DAT_DTO_ERR_TRANSPORT},
	[FAULT_BARE] = {.request = DAT_DTO_ERR_REMOTE_RESPONDER, .there = true},
};

static void fails(struct dto *d, uint8_t status)
{
	d->want = (uint16_t)(1u << status);
	d->done = true;
	d->silent = false;
}

void fault_happens(struct model *m, int ep, int peer, enum fault f,
		   struct dto *request, struct dto *receive)
{
	fails(request, rows[f].request);
	if (receive && rows[f].receive)
		fails(receive, rows[f].receive);
	m->obj[peer].ep.may_break += rows[f].tells;
	conn_fails(m, ep);
	dto_deserted(m, ep);
	dto_deserted(m, peer);
	if (!m->iwarp)
		return;
	/* The connection is gone, and with it who could say why. */
	if (rows[f].there) {
		request->want |= 1u << DAT_DTO_ERR_FLUSHED;
		request->done = false;
	}
	fault_seen(m, ep);
}

struct dto *fault_waits(const struct model *m, int ep)
{
	const struct obj *o = obj_of(m, ep, K_EP);

	for (int i = 0; o && dto_is_certain(m, ep) && i < o->ep.n[0]; i++) {
		const struct dto *d = &o->ep.q[0][i];

		/* what is empty has no place by which it is found */
		if (!d->tried && !d->dead)
			return d->len && d->lmr >= 0
				       ? (struct dto *)(uintptr_t)d
				       : NULL;
	}
	return NULL;
}

void fault_seen(struct model *m, int ep)
{
	int conn = m->obj[ep].ep.conn;
	struct conn *k = &m->conn[conn];

	for (int s = 0; s < 2; s++) {
		if (k->over[s] || k->ghost[s])
			continue;
		k->last[s] = true;
		if (m->obj[k->ep[s]].ep.conn == conn)
			dto_end(m, k->ep[s]);
	}
}

/* ------------------------------------------------ calls of the device */

#define NO_WAY 1u /* around it: the call of DAT is refused */
#define STILL  2u /* other threads make it, too, for connections */

static const struct {
	uint8_t op;
	const char *call;
	unsigned how;
} calls[] = {
	{OP_PZ_CREATE, "ibv_alloc_pd", NO_WAY},
	{OP_EVD_RESIZE, "ibv_resize_cq", 0},
	{OP_LMR_CREATE, "ibv_reg_mr", NO_WAY},
	{OP_RMR_CREATE, "ibv_alloc_mw", NO_WAY},
	{OP_RMR_CREATE_EP, "ibv_alloc_mw", NO_WAY},
	{OP_SRQ_CREATE, "ibv_create_srq", NO_WAY},
	{OP_SRQ_RESIZE, "ibv_modify_srq", 0},
	{OP_SRQ_SET_LW, "ibv_modify_srq", NO_WAY},
	{OP_SRQ_POST_RECV, "ibv_post_srq_recv", NO_WAY},
	{OP_EVD_CREATE, "ibv_create_cq", NO_WAY},
	{OP_EVD_CREATE, "ibv_create_comp_channel", 0},
	{OP_EP_CREATE, "ibv_modify_qp", NO_WAY | STILL},
	{OP_EP_CREATE, "ibv_create_qp", 0},
	{OP_EP_CREATE, "ibv_resize_cq", 0},
	{OP_EP_CREATE_SRQ, "ibv_modify_qp", NO_WAY | STILL},
	{OP_EP_CREATE_SRQ, "ibv_create_qp", 0},
	{OP_EP_CREATE_SRQ, "ibv_resize_cq", 0},
	{OP_EP_MODIFY, "ibv_create_qp", 0},
	{OP_EP_RESET, "ibv_create_qp", 0},
	{OP_EP_MODIFY, "ibv_resize_cq", 0},
	{OP_POST_SEND, "ibv_post_send", 0},
	{OP_POST_WRITE, "ibv_post_send", 0},
	{OP_POST_READ, "ibv_post_send", 0},
	{OP_POST_RECV, "ibv_post_recv", 0},
	{OP_RMR_BIND, "ibv_post_send", 0},
};
#define CALLS (int)(sizeof(calls) / sizeof(*calls))

const char *fault_call(const struct model *m, const struct call *c, int n)
{
	bool posts = call_posts(c->op) && c->op != OP_SRQ_POST_RECV;

	for (int i = 0; i < CALLS; i++)
		if (calls[i].op == c->op && --n == 0)
			return m->n_conn && (calls[i].how & STILL ||
					     (posts && m->cm_posts))
				       ? NULL
				       : calls[i].call;
	return NULL;
}

void fault_excuses(const struct call *c, struct answers *a)
{
	int n = c->fails;

	for (int i = 0; i < CALLS; i++)
		if (calls[i].op == c->op && --n == 0)
			a->sure |= calls[i].how & NO_WAY;
	maybe(a, DAT_INSUFFICIENT_RESOURCES, ANY_SUB);
}
