/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mesh.c - connections: all at once or on demand, and their end.
 *
 * All at once, the smaller number asks. On demand either may, and both: then
 * the smaller one refuses, and the greater accepts with the endpoint whose own
 * attempt was refused, as MPI libraries do.
 * At the end ranks leave in any order: some disconnect, some close the adapter
 * over their connections. Each of the others hears of it once.
 * Called by the rank's own thread.
 */
#include "test/load/load.h"

#include <stdlib.h>

#define MAGIC 0x64616f6cu

/* Private data, both ways. */
struct hello {
	uint32_t magic, cycle;
	uint16_t from, number;
};

static bool to_itself(const struct load *l)
{
	return l->r.n == 1;
}

void mesh_layout(struct load *l)
{
	int per = l->o->links, me = l->r.id;

	l->links = to_itself(l) ? 2 * per : (l->r.n - 1) * per;
	l->link = calloc((size_t)l->links, sizeof(*l->link));
	l->order = calloc((size_t)l->links, sizeof(*l->order));
	l->psp = calloc((size_t)l->o->listeners, sizeof(*l->psp));
	l->cards = calloc((size_t)l->r.n, sizeof(*l->cards));
	l->queues = (l->links + QUEUE_LINKS - 1) / QUEUE_LINKS;
	l->req = calloc((size_t)l->queues, sizeof(DAT_EVD_HANDLE));
	EXPECT(&l->r, l->link && l->order && l->psp && l->cards && l->req);
	for (int i = 0; i < l->links; i++) {
		struct link *k = &l->link[i];
		int place = i / per;

		l->order[i] = i;
		k->index = i;
		k->number = i % per;
		if (to_itself(l)) {
			k->asks = !place;
			k->mirror = (1 - place) * per + k->number;
			continue;
		}
		k->peer = place + (place >= me);
		k->asks = me < k->peer;
		k->mirror = (me - (me > k->peer)) * per + k->number;
	}
}

static struct link *by_ep(struct load *l, DAT_EP_HANDLE ep)
{
	for (int i = 0; i < l->links; i++)
		if (l->link[i].ep == ep)
			return &l->link[i];
	RANK_FAIL(&l->r, "an event of no endpoint of ours");
}

int mesh_count(const struct load *l, enum link_state state)
{
	int n = 0;

	for (int i = 0; i < l->links; i++)
		n += l->link[i].state == state;
	return n;
}

/* ---------------------------------------------------------------- asking */

static struct hello hello_of(const struct load *l, const struct link *k)
{
	return (struct hello){MAGIC, (uint32_t)l->cycle, (uint16_t)l->r.id,
			      (uint16_t)k->number};
}

static void check_hello(struct load *l, const void *data, DAT_COUNT size,
			struct hello *ret_h)
{
	EXPECT(&l->r, size >= (DAT_COUNT)sizeof(*ret_h));
	memcpy(ret_h, data, sizeof(*ret_h));
	EXPECT_EQ(&l->r, ret_h->magic, MAGIC);
	EXPECT_EQ(&l->r, ret_h->cycle, l->cycle);
	EXPECT(&l->r, ret_h->from < l->r.n);
	EXPECT(&l->r, ret_h->number < l->o->links);
}

static void ask(struct load *l, struct link *k)
{
	const struct card *to = &l->cards[k->peer];
	unsigned int which = (unsigned int)(k->number % l->o->listeners);
	struct calls_addr a = to->addr;
	struct hello h = hello_of(l, k);

	OK(&l->r,
	   dat_ep_connect(k->ep, (DAT_IA_ADDRESS_PTR)(void *)a.bytes,
			  to->qual + which,
			  (DAT_TIMEOUT)l->o->timeout_s * 1000000, sizeof(h), &h,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	k->state = ASKED;
	k->asked = true;
	l->asking++;
}

static bool ask_on_demand(struct load *l)
{
	struct link *k;

	if (l->asking >= l->o->window)
		return false;
	for (int i = 0; i < l->links; i++) {
		k = &l->link[l->order[i]];
		if (k->state != IDLE || (to_itself(l) && !k->asks))
			continue;
		ask(l, k);
		return true;
	}
	return false;
}

/* --------------------------------------------------------------- requests */

static void take(struct load *l, struct link *k, DAT_CR_HANDLE cr)
{
	struct hello h = hello_of(l, k);

	OK(&l->r, dat_cr_accept(cr, k->ep, sizeof(h), &h));
	k->state = ACCEPTED;
	k->asked = false;
}

static void on_request(struct load *l, const DAT_CR_ARRIVAL_EVENT_DATA *ev)
{
	int which = (int)(ev->conn_qual - l->mine.qual);
	DAT_CR_PARAM param;
	struct hello h;
	struct link *k;
	int place;

	OK(&l->r, dat_cr_query(ev->cr_handle, DAT_CR_FIELD_ALL, &param));
	check_hello(l, param.private_data, param.private_data_size, &h);
	EXPECT_EQ(&l->r, which, h.number % l->o->listeners);
	EXPECT(&l->r, ev->sp_handle.psp_handle == l->psp[which]);
	place = to_itself(l) ? 1 : h.from - (h.from > l->r.id);
	k = &l->link[place * l->o->links + h.number];
	EXPECT_EQ(&l->r, k->peer, h.from);
	if (k->state == IDLE || k->state == REFUSED) {
		take(l, k, ev->cr_handle);
	} else if (k->state == ASKED && l->demand) {
		EXPECT(&l->r, !k->held);
		if (l->r.id < k->peer)
			OK(&l->r, dat_cr_reject(ev->cr_handle, 0, NULL));
		else
			k->held = ev->cr_handle;
	} else {
		RANK_FAIL(&l->r, "rank %d asks for link %d, which is %d",
			  h.from, h.number, (int)k->state);
	}
}

/* ------------------------------------------------------ connection events */

static void on_established(struct load *l, struct link *k,
			   const DAT_CONNECTION_EVENT_DATA *ev)
{
	struct hello h;

	if (k->state == ASKED) {
		check_hello(l, ev->private_data, ev->private_data_size, &h);
		EXPECT_EQ(&l->r, h.from, k->peer);
		EXPECT_EQ(&l->r, h.number, k->number);
		EXPECT(&l->r, !k->held);
		l->asking--;
	} else {
		EXPECT_EQ(&l->r, k->state, ACCEPTED);
	}
	k->state = UP;
	l->tally->connections++;
}

/* Both have asked, and theirs is what is left. */
static void on_refused(struct load *l, struct link *k)
{
	EXPECT(&l->r, l->demand);
	EXPECT(&l->r, l->r.id > k->peer);
	EXPECT_EQ(&l->r, k->state, ASKED);
	l->asking--;
	l->tally->refused++;
	OK(&l->r, dat_ep_reset(k->ep));
	k->state = REFUSED;
	if (k->held)
		take(l, k, k->held);
	k->held = DAT_HANDLE_NULL;
}

static void on_end(struct load *l, struct link *k)
{
	if (!l->leaving)
		RANK_FAIL(&l->r, "link %d to rank %d has ended before its time",
			  k->number, k->peer);
	if (++k->ends > 1)
		RANK_FAIL(&l->r, "link %d to rank %d has ended %d times",
			  k->number, k->peer, k->ends);
	EXPECT(&l->r, k->state == UP || k->state == LEFT);
	k->state = LEFT;
}

static void on_connection(struct load *l, const DAT_EVENT *ev)
{
	const DAT_CONNECTION_EVENT_DATA *c = &ev->event_data.connect_event_data;
	struct link *k = by_ep(l, c->ep_handle);

	switch (ev->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		on_established(l, k, c);
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		on_refused(l, k);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		on_end(l, k);
		break;
	default:
		RANK_FAIL(&l->r, "link %d to rank %d, in state %d: event 0x%x",
			  k->number, k->peer, (int)k->state, ev->event_number);
	}
}

/* An endpoint that takes no more from its SRQ says so, once, after its end. */
static bool last_receives(struct load *l)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *a;
	bool moved = false;
	struct link *k;
	DAT_EVENT ev;

	while (dat_evd_dequeue(l->async, &ev) == DAT_SUCCESS) {
		a = &ev.event_data.asynch_error_event_data;
		if (ev.event_number != DAT_ASYNC_ERROR_EP_BROKEN ||
		    a->reason != DAT_EP_OTHER_ERROR || !l->o->ways[SRQ])
			RANK_FAIL(&l->r, "asynchronous event 0x%x, reason %d",
				  ev.event_number, (int)a->reason);
		k = by_ep(l, a->dat_handle);
		if (++k->lasts > 1)
			RANK_FAIL(&l->r, "link %d to rank %d: %d last receives",
				  k->number, k->peer, k->lasts);
		moved = true;
	}
	return moved;
}

bool mesh_step(struct load *l)
{
	bool moved = false;
	DAT_EVENT ev;

	while (dat_evd_dequeue(l->conn, &ev) == DAT_SUCCESS) {
		on_connection(l, &ev);
		moved = true;
	}
	while (dat_evd_dequeue(l->cr, &ev) == DAT_SUCCESS) {
		EXPECT_EQ(&l->r, ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
		on_request(l, &ev.event_data.cr_arrival_event_data);
		moved = true;
	}
	if (l->leaving)
		moved |= last_receives(l);
	else if (l->demand)
		moved |= ask_on_demand(l);
	if (moved)
		load_moved(l);
	return moved;
}

/* ------------------------------------------------- beginning and leaving */

void mesh_begin(struct load *l)
{
	l->leaving = false;
	l->asking = 0;
	l->demand = l->o->connect == DEMAND ||
		    (l->o->connect == MIXED && l->cycle % 2 == 0);
	for (int i = 0; i < l->links; i++) {
		struct link *k = &l->link[i];

		if (!k->ep)
			objects_ep(l, k);
		k->state = IDLE;
		k->ends = k->lasts = 0;
	}
	load_shuffle(l, l->order, l->links);
	rank_waits(&l->r, "the others' addresses");
	boot_allgather(&l->boot, &l->mine, sizeof(l->mine), l->cards);
	load_moved(l);
	if (l->demand)
		return;
	for (int i = 0; i < l->links; i++)
		if (l->link[l->order[i]].asks)
			ask(l, &l->link[l->order[i]]);
	while (mesh_count(l, UP) < l->links) {
		if (mesh_step(l))
			continue;
		rank_waits(&l->r, "connections: %d of %d, %d asked for",
			   mesh_count(l, UP), l->links, l->asking);
		load_idle(l);
	}
}

static void disconnect_all(struct load *l)
{
	load_shuffle(l, l->order, l->links);
	for (int i = 0; i < l->links; i++) {
		struct link *k = &l->link[l->order[i]];

		OK(&l->r,
		   dat_ep_disconnect(k->ep, load_random(l, 2)
						    ? DAT_CLOSE_ABRUPT_FLAG
						    : DAT_CLOSE_GRACEFUL_FLAG));
		k->state = LEFT;
		mesh_step(l);
	}
}

static int ended(const struct load *l)
{
	int n = 0;

	for (int i = 0; i < l->links; i++)
		n += l->link[i].ends && (!l->o->ways[SRQ] || l->link[i].lasts);
	return n;
}

/* The endpoints are as new: the same or others. */
static void renew(struct load *l)
{
	bool again = load_random(l, 2);

	for (int i = 0; i < l->links; i++) {
		struct link *k = &l->link[i];

		if (again) {
			OK(&l->r, dat_ep_reset(k->ep));
			continue;
		}
		OK(&l->r, dat_ep_free(k->ep));
		k->ep = DAT_HANDLE_NULL;
	}
}

bool mesh_leave(struct load *l)
{
	uint64_t until;
	bool closes = load_random(l, 4) == 0, stays = load_random(l, 2);

	boot_barrier(&l->boot);
	l->leaving = true;
	load_moved(l);
	until = load_now_us() +
		load_random(l, (unsigned int)l->o->spread_ms + 1) * 1000;
	rank_waits(&l->r, "its time to leave");
	while (load_now_us() < until)
		if (!mesh_step(l))
			load_idle(l);
	if (closes) {
		objects_close(l, true);
		boot_barrier(&l->boot);
		return true;
	}
	disconnect_all(l);
	while (ended(l) < l->links) {
		if (mesh_step(l))
			continue;
		rank_waits(&l->r, "ends of connections: %d of %d", ended(l),
			   l->links);
		load_idle(l);
	}
	/* Who stays until all have left hears whatever they say. */
	if (stays)
		boot_barrier(&l->boot);
	objects_quiet(l);
	renew(l);
	if (!stays)
		boot_barrier(&l->boot);
	return false;
}
