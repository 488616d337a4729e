/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_scm_dat.c - the SCM provider below the real objects: receives over a reset,
 * timeouts of the consumer, and everything it does without a peer that helps.
 *
 * The world of the objects' tests, with sockets on the loopback address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/kit.h"
#include "test/unit/openib_scm/scm_raw.h"

/* Each receive ends once, whatever resets lie between its post and the end. */
CASE_ROCE(scm_reset__receives_posted_then_disconnect, world_eps)
{
	for (int i = 0; i < 3; i++) {
		world_recv(c, 0, 64, 1);
		world_connect(w);
		world_recv(c, 64, 64, 2);
		assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
		kit_over(w);
		expect_dto(c->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
		expect_dto(c->recv_evd, 2, DAT_DTO_ERR_FLUSHED);
		world_recv(c, 0, 64, 3);
		assert_dat_ok(V(ep_reset)(c->ep));
		assert_dat_ok(V(ep_reset)(s->ep));
		expect_dto(c->recv_evd, 3, DAT_DTO_ERR_FLUSHED);
		expect_empty(c->recv_evd);
	}
}

CASE_ROCE(scm_connect__long_timeout_does_not_wrap)
{
	kit_long_timeouts(w);
}

static DAT_RETURN connect_to(struct world *w, uint16_t port,
			     DAT_TIMEOUT timeout_us)
{
	return V(ep_connect)(w->client.ep, world_addr(),
			     (DAT_CONN_QUAL)(port - RAW_QUAL_BASE), timeout_us,
			     0, NULL, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
}

static void connect__timed_out(struct world *w, uint16_t port)
{
	assert_dat_ok(connect_to(w, port, 100000));
	kit_conn(&w->client, DAT_CONNECTION_EVENT_TIMED_OUT);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	assert_dat_ok(V(ep_reset)(w->client.ep));
}

/* A listening socket with a full queue: the system drops what comes. */
CASE_ROCE(timeout__nothing_answers, world_eps)
{
	uint16_t port;
	int hole, filler;

	hole = raw_listen(0, &port);
	filler = raw_connect(port);
	connect__timed_out(w, port);
	raw_close(filler);
	raw_close(hole);
}

CASE_ROCE(timeout__connected_but_never_answered, world_eps)
{
	uint16_t port;
	int fd;

	fd = raw_listen(8, &port);
	connect__timed_out(w, port);
	raw_close(fd);
}

/* Time enough for the request to arrive, even if the machine stands still. */
#define THINKS_US 2000000

CASE_ROCE(timeout__consumer_there_thinks, world_eps)
{
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	psp = kit_listen(w);
	assert_dat_ok(kit_connect(c->ep, THINKS_US, NULL, 0));
	cr = kit_request(w);
	kit_conn(c, DAT_CONNECTION_EVENT_TIMED_OUT);
	/* Whoever accepts now learns soon, or at once and the request is gone.
	 */
	ret = V(cr_accept)(cr, s->ep, 0, NULL);
	if (ret == DAT_SUCCESS)
		kit_conn(s, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	assert_dat_ok(V(psp_free)(psp));
}

CASE_ROCE(free__while_connecting, world_eps)
{
	uint16_t port;
	int fd;

	fd = raw_listen(8, &port);
	assert_dat_ok(connect_to(w, port, DAT_TIMEOUT_INFINITE));
	assert_dat_ok(V(ep_free)(c->ep));
	c->ep = NULL;
	raw_close(fd);
}

CASE_ROCE(query__names_the_provider)
{
	DAT_PROVIDER_ATTR attr;
	DAT_IA_ATTR ia;
	DAT_EVD_HANDLE evd;
	struct sockaddr_in *addr;

	assert_dat_ok(V(ia_query)(s->ia, &evd, DAT_IA_FIELD_ALL, &ia,
				  DAT_PROVIDER_FIELD_ALL, &attr));
	assert_int_equal(attr.max_private_data_size, DCM_PDATA);
	addr = (struct sockaddr_in *)ia.ia_address_ptr;
	assert_int_equal(addr->sin_family, AF_INET);
	assert_int_equal(ntohl(addr->sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_equal(addr->sin_port, 0);
}

CASE_ROCE(scm_requests__more_than_the_queue_is_long)
{
	kit_crowd(w);
}

CASE_ROCE(scm_psp_create_any__all_round)
{
	kit_listen_all_round(w);
}

RUN_CASES(NULL, NULL)
