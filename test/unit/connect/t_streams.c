/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_streams.c - EVDs that hear of several things: requests, connections, their
 * ends and data, in which order, and how many; and the adapter's errors.
 *
 * Threads: waiters. Rules: "Order of events", doc/locking.md; uDAPL 1.2
 * specification, merging of event streams.
 */
#include "test/unit/world.h"

#include <poll.h>
#include <pthread.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"

#define STREAMS_ALL 0x1f1 /* every flag but the extension's */

/* Requests that wait do not take the places of others. */
ON_IB(evd_overflow__not_by_connection_requests)
{
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	assert_dat_ok(V(evd_create)(s->ia, 2, NULL,
				    DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
				    &evd));
	s->conn_evd = evd;
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL, evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < 5; i++)
		assert_dat_ok(V(ep_connect)(world_ep(c, NULL), world_addr(),
					    WORLD_QUAL, WORLD_PATIENCE_US, 0,
					    NULL, DAT_QOS_BEST_EFFORT,
					    DAT_CONNECT_DEFAULT_FLAG));
	/* Two ends of connections and three requests: as many as fit. */
	for (int i = 0, requests = 0; i < 7; i++) {
		ev = next_event(evd, WORLD_PATIENCE_US);
		if (ev.event_number != DAT_CONNECTION_REQUEST_EVENT ||
		    requests++ >= 2)
			continue;
		assert_dat_ok(V(cr_accept)(
			ev.event_data.cr_arrival_event_data.cr_handle,
			world_ep(s, NULL), 0, NULL));
		expect_event(c->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	expect_empty(evd);
	expect_empty(s->async_evd);
}

/* The device gives the queue up: one alarm, whoever notices first. */
ON_IB(evd_overflow__completion_queue)
{
	struct dapl_evd *evd = (struct dapl_evd *)s->recv_evd;
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS};
	DAT_EVENT ev;

	for (int i = 0; i <= WORLD_QLEN; i++)
		fv_cq_push(evd->cq, &wc, false);
	ev = expect_event(s->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	assert_ptr_equal(ev.event_data.asynch_error_event_data.dat_handle, evd);
	/* They are none of ours: only the device may look at them. */
	for (int i = 0; i < WORLD_QLEN; i++)
		assert_int_equal(ibv_poll_cq(evd->cq, 1, &wc), 1);
	expect_empty(s->recv_evd);
	expect_empty(s->recv_evd);
	expect_empty(s->async_evd);
}

/* N errors of the server's port, all taken by the service thread. */
static void port_errors(struct world *w, int n)
{
	struct dapl_ia *ia = (struct dapl_ia *)w->server.ia;
	struct pollfd pfd = {.fd = ia->dev.ctx->async_fd, .events = POLLIN};

	for (int i = 0; i < n; i++)
		fv_inject_async(ia->dev.ctx, IBV_EVENT_PORT_ERR, ia->dev.port);
	world_until(!poll(&pfd, 1, 0));
	dapl_loop_barrier(ia->loop);
}

/* Nobody reads it, the device goes on: it is full, and says so once. */
ON_IB(async_evd__is_bounded)
{
	struct dapl_evd *evd = (struct dapl_evd *)s->async_evd;
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT ev;

	for (int round = 0; round < 2; round++) {
		port_errors(w, 3 * evd->qlen);
		for (int i = 0; i < evd->qlen; i++)
			expect_event(s->async_evd,
				     DAT_ASYNC_ERROR_IA_CATASTROPHIC);
		ev = expect_event(s->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
		data = &ev.event_data.asynch_error_event_data;
		assert_ptr_equal(data->dat_handle, s->async_evd);
		expect_empty(s->async_evd);
	}
}

ON_IB_IWARP(merged_streams__all_on_one)
{
	DAT_EVD_HANDLE all = world_evd(s->ia, STREAMS_ALL);
	DAT_EVENT ev;
	DAT_PSP_HANDLE psp;

	s->recv_evd = s->req_evd = s->conn_evd = all;
	world_eps(w);
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL, all,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	world_recv(s, 0, 64, 1);
	world_post_se(all, w);
	assert_dat_ok(V(ep_connect)(
		c->ep, world_addr(), WORLD_QUAL, WORLD_PATIENCE_US, 0, NULL,
		DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	expect_event(all, DAT_SOFTWARE_EVENT);
	ev = expect_event(all, DAT_CONNECTION_REQUEST_EVENT);
	assert_dat_ok(V(cr_accept)(
		ev.event_data.cr_arrival_event_data.cr_handle, s->ep, 0, NULL));
	expect_event(all, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_event(c->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	world_send(c, 0, 64, 9, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(all, 1, DAT_DTO_SUCCESS);
	world_recv(c, 0, 64, 3);
	world_send(s, 0, 64, 4, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(all, 4, DAT_DTO_SUCCESS);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_event(all, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(all);
}

/*
 * A server whose one EVD has everything, with four receives posted, two of
 * which have been used by messages that nobody has read.
 */
static void two_messages(struct world *w, DAT_CNO_HANDLE cno, bool late)
{
	struct world_side *s = &w->server;

	s->recv_evd = s->req_evd = s->conn_evd = world_evd_cno(
		s->ia, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, cno);
	world_connect(w);
	fv_device_cfg_get(w->dev)->late_completions = late;
	for (uint64_t i = 0; i < 4; i++)
		world_recv(s, 0, 64, i);
	for (uint64_t i = 0; i < 2; i++)
		world_send(&w->client, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Both messages, and some time after them the end of the connection. */
static void expect_messages_and_end(struct world *w)
{
	DAT_EVD_HANDLE evd = w->server.recv_evd;
	DAT_EVENT ev;

	expect_dto(evd, 0, DAT_DTO_SUCCESS);
	expect_dto(evd, 1, DAT_DTO_SUCCESS);
	do
		ev = next_event(evd, WORLD_PATIENCE_US);
	while (ev.event_number == DAT_DTO_COMPLETION_EVENT);
	assert_int_equal(ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void check_data_before_the_end(struct world *w, bool late)
{
	/* Ours, which is there when the call returns. */
	two_messages(w, DAT_HANDLE_NULL, late);
	assert_dat_ok(V(ep_disconnect)(w->server.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_messages_and_end(w);
	/* The peer's, which is there when the client has been told as well. */
	w->server.ep = w->client.ep = NULL;
	expect_event(w->client.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	two_messages(w, DAT_HANDLE_NULL, late);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
	world_until(world_ep_state(w->server.ep) == DAT_EP_STATE_DISCONNECTED);
	expect_messages_and_end(w);
}

ON_IB_IWARP(merged_streams__data_before_the_end)
{
	check_data_before_the_end(w, false);
}

ON_IB(merged_streams__late_data_before_the_end)
{
	check_data_before_the_end(w, true);
}

/* Who waits for as many events as the end brings along is woken by it. */
ON_IB(merged_streams__the_end_wakes)
{
	struct waiter g;

	two_messages(w, DAT_HANDLE_NULL, true);
	waiter_start(&g, s->recv_evd, WORLD_PATIENCE_US, 3);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	waiter_end(&g, DAT_SUCCESS);
	assert_true(g.more >= 2);
	assert_int_equal(g.ev.event_number, DAT_DTO_COMPLETION_EVENT);
	assert_int_equal(
		g.ev.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	expect_dto(g.evd, 1, DAT_DTO_SUCCESS);
}

ON_IB(merged_streams__the_end_triggers)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);
	DAT_EVD_HANDLE got = NULL;

	two_messages(w, cno, true);
	/* That of the connection, if nobody slept on the EVD when it came. */
	V(cno_wait)(cno, 0, &got);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	assert_dat_ok(V(cno_wait)(cno, WORLD_PATIENCE_US, &got));
	assert_ptr_equal(got, s->recv_evd);
	expect_messages_and_end(w);
}

RUN_CASES(NULL, NULL)
