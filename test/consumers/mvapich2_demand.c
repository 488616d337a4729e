/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mvapich2_demand.c - how MVAPICH2 (udapl channel, 1.7) connects when somebody
 * has something to say.
 *
 * A thread sleeps for requests without a limit, with asynchronous cancellation,
 * and is cancelled there in the end; the other asks peers and polls. Both ends
 * may ask at once: the greater number refuses, the smaller accepts with the
 * endpoint that still asks, which fails, and again when its refusal has come
 * and it has been reset. The two sides of a connection tell themselves apart by
 * whether there is private data.
 * Not here: the message queue whose head asks. What all its ways share is in
 * mvapich2.c. Facts: MVAPICH2's calls, flags and orders, none of its text.
 * The lock is its own: the library is used by two threads on different queues
 * of an adapter that was opened for one.
 */
#include "test/consumers/mvapich2.h"

#include <pthread.h>
#include <stdlib.h>

/* The mask that it asks with; more than there is. */
#define EP_STATE_MASK 0xffff

enum vc {
	VC_IDLE,
	VC_ASKED,
	VC_ACCEPTED,
	VC_UP
};

struct demand {
	struct mv *m;
	struct mv_set *s;
	pthread_mutex_t lock;
	enum vc vc[RANKS_MAX];
	pthread_t server;
	int refused; /* of ours, by those above */
};

static DAT_EP_STATE state_of(struct demand *d, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	OK(d->m->r, dat_ep_query(ep, EP_STATE_MASK, &param));
	return param.ep_state;
}

static DAT_RETURN accept_with(struct demand *d, DAT_CR_HANDLE cr, int from)
{
	return dat_cr_accept(cr, d->s->ep[from], sizeof(d->m->r->id),
			     &d->m->r->id);
}

/* Theirs wins, once ours has been refused and the other thread has reset. */
static void give_way(struct demand *d, DAT_CR_HANDLE cr, int from)
{
	DAT_RETURN ret = accept_with(d, cr, from);

	while (ret != DAT_SUCCESS) {
		if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
			OK(d->m->r, ret);
		while (state_of(d, d->s->ep[from]) != DAT_EP_STATE_UNCONNECTED)
			rank_spin();
		ret = accept_with(d, cr, from);
	}
}

static void on_request(struct demand *d, DAT_CR_HANDLE cr)
{
	struct rank *r = d->m->r;
	DAT_CR_PARAM param;
	enum vc was;
	int from;

	OK(r, dat_cr_query(cr, DAT_CR_FIELD_PRIVATE_DATA, &param));
	memcpy(&from, param.private_data, sizeof(from));
	EXPECT(r, from >= 0 && from < r->n && from != r->id);
	pthread_mutex_lock(&d->lock);
	was = d->vc[from];
	if (was == VC_IDLE || from > r->id)
		d->vc[from] = VC_ACCEPTED;
	pthread_mutex_unlock(&d->lock);
	if (was == VC_IDLE)
		OK(r, accept_with(d, cr, from));
	else if (from > r->id)
		give_way(d, cr, from);
	else
		OK(r, face_cr_reject(cr));
}

static void *serve(void *arg)
{
	struct demand *d = arg;
	DAT_COUNT more;
	DAT_EVENT ev;
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	for (;;) {
		OK(d->m->r,
		   dat_evd_wait(d->s->cr, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
		EXPECT_EQ(d->m->r, ev.event_number,
			  DAT_CONNECTION_REQUEST_EVENT);
		on_request(d, ev.event_data.cr_arrival_event_data.cr_handle);
	}
	return NULL;
}

static void ask(struct demand *d, int to)
{
	bool idle;

	pthread_mutex_lock(&d->lock);
	idle = d->vc[to] == VC_IDLE;
	if (idle)
		d->vc[to] = VC_ASKED;
	/* Before the other thread can mean to accept with it. */
	if (idle)
		mv_connect(d->m, d->s, to, &d->m->r->id);
	pthread_mutex_unlock(&d->lock);
}

static int peer_of(struct demand *d, DAT_EP_HANDLE ep)
{
	for (int i = 0; i < d->m->r->n; i++)
		if (i != d->m->r->id && d->s->ep[i] == ep)
			return i;
	RANK_FAIL(d->m->r, "an event of no endpoint");
}

/* Who asked is told by whom; who was asked gets nothing. */
static void on_established(struct demand *d,
			   const DAT_CONNECTION_EVENT_DATA *conn)
{
	int peer = peer_of(d, conn->ep_handle), said;
	enum vc was;

	pthread_mutex_lock(&d->lock);
	was = d->vc[peer];
	d->vc[peer] = VC_UP;
	pthread_mutex_unlock(&d->lock);
	if (conn->private_data_size == 0) {
		EXPECT_EQ(d->m->r, was, VC_ACCEPTED);
		return;
	}
	EXPECT_EQ(d->m->r, was, VC_ASKED);
	memcpy(&said, conn->private_data, sizeof(said));
	EXPECT_EQ(d->m->r, said, peer);
}

static void on_refused(struct demand *d, const DAT_CONNECTION_EVENT_DATA *conn)
{
	int peer = peer_of(d, conn->ep_handle);

	EXPECT(d->m->r, peer > d->m->r->id);
	d->refused++;
	OK(d->m->r, dat_ep_reset(conn->ep_handle));
}

static void connect_to_all(struct demand *d)
{
	struct rank *r = d->m->r;

	for (int i = 1; i < r->n; i++)
		ask(d, (r->id + i) % r->n);
	for (int up = 0; up < r->n - 1;) {
		DAT_EVENT ev = calls_poll(r, d->s->conn, "connections");

		if (ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			on_established(d, &ev.event_data.connect_event_data);
			up++;
			continue;
		}
		EXPECT_EQ(r, ev.event_number,
			  DAT_CONNECTION_EVENT_PEER_REJECTED);
		on_refused(d, &ev.event_data.connect_event_data);
	}
}

/* A message each way; the sender does not know whether one waits for it. */
static void talk(struct demand *d)
{
	struct mv *m = d->m;
	int left = 2 * (m->r->n - 1);

	for (int i = 0; i < m->r->n; i++)
		if (i != m->r->id && m->r->iwarp)
			mv_post_recvs(m, d->s, i);
	if (m->r->iwarp)
		rank_barrier(m->r);
	for (int i = 0; i < m->r->n; i++) {
		if (i == m->r->id)
			continue;
		mv_send(m, d->s, i, 1);
		if (!m->r->iwarp)
			mv_post_recvs(m, d->s, i);
	}
	while (left--) {
		DAT_EVENT ev = calls_poll(m->r, d->s->dto, "messages");
		const uint8_t *at = calls_done(m->r, &ev);
		size_t place = (size_t)(at - m->mem) / MV_MEM;

		if (place % MV_USES == MV_RECV)
			rank_check(m->r, at, MV_ONLINE, (int)place / MV_USES,
				   m->r->id, 1);
	}
}

void mvapich2_demand(struct rank *r)
{
	struct demand d = {.m = mv_begin(r, 1)};
	void *result;

	d.s = &d.m->set[0];
	pthread_mutex_init(&d.lock, NULL);
	EXPECT_EQ(r, pthread_create(&d.server, NULL, serve, &d), 0);
	rank_barrier(r);
	connect_to_all(&d);
	talk(&d);
	rank_barrier(r);
	rank_waits(r, "the end of a thread that is cancelled asleep");
	EXPECT_EQ(r, pthread_cancel(d.server), 0);
	EXPECT_EQ(r, pthread_join(d.server, &result), 0);
	EXPECT(r, result == PTHREAD_CANCELED);
	mv_disconnect_all(d.m, d.s);
	mv_free_set(d.m, d.s, true);
	mv_end(d.m);
	pthread_mutex_destroy(&d.lock);
}
