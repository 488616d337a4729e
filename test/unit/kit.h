/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kit.h - what the tests of endpoints, service points and requests share on
 * top of world.h: the steps of making a connection, one by one.
 *
 * Contains no test. Threads and ownership as in world.h.
 */
#ifndef KIT_H
#define KIT_H

#include "test/unit/world.h"

/* A code of EPst: INVALID_STATE with the subtype that names the state. */
#define BAD_EP_STATE(x) DAPL_BAD_STATE(EP_##x)

static inline DAT_PSP_HANDLE kit_listen(struct world *w)
{
	DAT_PSP_HANDLE psp = NULL;

	assert_dat_ok(V(psp_create)(w->server.ia, WORLD_QUAL, w->server.cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	return psp;
}

/* The server listens, and both sides have an endpoint. */
static inline DAT_PSP_HANDLE kit_ready(struct world *w)
{
	DAT_PSP_HANDLE psp = kit_listen(w);

	world_eps(w);
	return psp;
}

/* A PSP whose requests bring endpoints of the provider's. */
static inline DAT_PSP_HANDLE kit_listen_provider(struct world *w)
{
	DAT_PSP_HANDLE psp = NULL;

	assert_dat_ok(V(psp_create)(w->server.ia, WORLD_QUAL, w->server.cr_evd,
				    DAT_PSP_PROVIDER_FLAG, &psp));
	return psp;
}

/* Each qualifier of dat_psp_create_any() can be had, when its turn comes. */
static inline void kit_listen_all_round(struct world *w)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	for (int i = 1024; i <= 65535; i++) {
		assert_dat_ok(V(psp_create_any)(w->server.ia, &qual,
						w->server.cr_evd,
						DAT_PSP_CONSUMER_FLAG, &psp));
		assert_in_range(qual, 1024, 65535);
		assert_dat_ok(V(psp_free)(psp));
	}
}

static inline DAT_RETURN kit_connect(DAT_EP_HANDLE ep, DAT_TIMEOUT timeout_us,
				     const void *pdata, DAT_COUNT size)
{
	return V(ep_connect)(ep, world_addr(), WORLD_QUAL, timeout_us, size,
			     (DAT_PVOID)(uintptr_t)pdata, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
}

/* The request that has come or is about to come to the server. */
static inline DAT_CR_HANDLE kit_request(struct world *w)
{
	return world_request(w->server.cr_evd);
}

/* The client's endpoint asks, for as long as it takes. */
static inline void kit_ask(struct world *w)
{
	assert_dat_ok(kit_connect(w->client.ep, DAT_TIMEOUT_INFINITE, NULL, 0));
}

static inline DAT_CR_HANDLE kit_meet(struct world *w)
{
	kit_ask(w);
	return kit_request(w);
}

static inline void kit_accept(struct world *w, DAT_CR_HANDLE cr)
{
	assert_dat_ok(V(cr_accept)(cr, w->server.ep, 0, NULL));
}

/* A connection event of the side's EP. */
static inline DAT_EVENT kit_conn(struct world_side *s, unsigned number)
{
	DAT_EVENT ev = expect_event(s->conn_evd, number);

	assert_ptr_equal(ev.event_data.connect_event_data.ep_handle, s->ep);
	return ev;
}

static inline void kit_state(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	assert_int_equal(world_ep_state(ep), state);
}

static inline void kit_established(struct world *w)
{
	kit_conn(&w->client, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(&w->server, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* The connection of both ends is over, each has heard so once. */
static inline void kit_over(struct world *w)
{
	kit_conn(&w->client, DAT_CONNECTION_EVENT_DISCONNECTED);
	kit_conn(&w->server, DAT_CONNECTION_EVENT_DISCONNECTED);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	kit_state(w->server.ep, DAT_EP_STATE_DISCONNECTED);
	expect_empty(w->client.conn_evd);
	expect_empty(w->server.conn_evd);
}

/* BROKEN, or, when the other side was quicker to end it, DISCONNECTED. */
static inline DAT_EP_HANDLE kit_ended(DAT_EVD_HANDLE evd, bool broken)
{
	DAT_EVENT ev = next_event(evd, WORLD_PATIENCE_US);

	if (broken ||
	    (unsigned)ev.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		assert_int_equal(ev.event_number, DAT_CONNECTION_EVENT_BROKEN);
	return ev.event_data.connect_event_data.ep_handle;
}

/* A failed queue pair of an RNIC closes its connection by itself. */
static inline void kit_broken(struct world *w, bool client_first)
{
	kit_ended(w->client.conn_evd, client_first && w->kind != FV_IWARP);
	kit_ended(w->server.conn_evd, false);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	kit_state(w->server.ep, DAT_EP_STATE_DISCONNECTED);
	expect_empty(w->client.conn_evd);
	expect_empty(w->server.conn_evd);
}

static inline void kit_abort(DAT_EP_HANDLE ep)
{
	assert_dat_ok(V(ep_disconnect)(ep, DAT_CLOSE_ABRUPT_FLAG));
}

/* The client ends the connection. */
static inline void kit_disconnect(struct world *w)
{
	kit_abort(w->client.ep);
	kit_over(w);
}

/* Both endpoints can be connected again. */
static inline void kit_reset(struct world *w)
{
	assert_dat_ok(V(ep_reset)(w->client.ep));
	assert_dat_ok(V(ep_reset)(w->server.ep));
}

/* The endpoint that a request brought, or NULL. */
static inline DAT_EP_HANDLE kit_brought(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	assert_dat_ok(V(cr_query)(cr, DAT_CR_FIELD_ALL, &param));
	return param.local_ep_handle;
}

/* Gives the side's PZ and EVDs to EP. */
static inline DAT_RETURN kit_furnish(struct world_side *s, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = {
		.pz_handle = s->pz,
		.recv_evd_handle = s->recv_evd,
		.request_evd_handle = s->req_evd,
		.connect_evd_handle = s->conn_evd,
	};

	return V(ep_modify)(ep,
			    DAT_EP_FIELD_PZ_HANDLE |
				    DAT_EP_FIELD_RECV_EVD_HANDLE |
				    DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				    DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			    &param);
}

/*
 * More clients than the queue of requests has places, before any of them is
 * answered: all come up, and nobody hears of an overflow.
 */
static inline void kit_crowd(struct world *w)
{
	enum {
		CLIENTS = 64,
		PLACES = 8
	};
	DAT_CR_HANDLE cr[CLIENTS];
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;

	assert_dat_ok(V(evd_create)(w->server.ia, PLACES, DAT_HANDLE_NULL,
				    DAT_EVD_CR_FLAG, &evd));
	assert_dat_ok(V(psp_create)(w->server.ia, WORLD_QUAL, evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < CLIENTS; i++)
		assert_dat_ok(kit_connect(world_ep(&w->client, NULL),
					  DAT_TIMEOUT_INFINITE, NULL, 0));
	for (int i = 0; i < CLIENTS; i++) {
		cr[i] = world_request(evd);
	}
	for (int i = 0; i < CLIENTS; i++) {
		assert_dat_ok(V(cr_accept)(cr[i], world_ep(&w->server, NULL), 0,
					   NULL));
		expect_event(w->client.conn_evd,
			     DAT_CONNECTION_EVENT_ESTABLISHED);
		expect_event(w->server.conn_evd,
			     DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	assert_dat_ok(V(psp_free)(psp));
	expect_empty(w->server.async_evd);
	expect_empty(w->client.async_evd);
}

/* Connects with the longest timeouts, which must not become short ones. */
static inline void kit_long_timeouts(struct world *w)
{
	static const DAT_TIMEOUT timeouts[] = {0x7fffffff, 0x80000000,
					       0xfffffffe};
	DAT_CR_HANDLE cr;
	DAT_COUNT more;
	DAT_EVENT ev;

	kit_listen(w);
	for (size_t i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++) {
		world_eps(w);
		assert_dat_ok(kit_connect(w->client.ep, timeouts[i], NULL, 0));
		cr = kit_request(w);
		/* Long enough for a deadline in the past to be noticed. */
		assert_int_equal(
			DAT_GET_TYPE(V(evd_wait)(w->client.conn_evd, 20000, 1,
						 &ev, &more)),
			DAT_TIMEOUT_EXPIRED);
		kit_accept(w, cr);
		kit_established(w);
		kit_disconnect(w);
		kit_reset(w);
	}
}

static inline DAT_EP_PARAM kit_query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	assert_dat_ok(V(ep_query)(ep, DAT_EP_FIELD_ALL, &param));
	return param;
}

#endif
