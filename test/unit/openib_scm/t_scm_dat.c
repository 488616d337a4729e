/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_scm_dat.c - the SCM provider below the real objects: data both ways,
 * timeouts of the consumer, and everything it does without a peer that helps.
 *
 * The world of the objects' tests, with sockets on the loopback address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/kit.h"
#include "test/unit/openib_scm/scm_raw.h"

static void data__both_ways(void **state)
{
	struct world *w = *state;

	world_connect(w);
	memcpy(w->client.mem.buf, "from the client", 16);
	memcpy(w->server.mem.buf, "from the server", 16);
	world_recv(&w->server, 1024, 64, 1);
	world_recv(&w->client, 1024, 64, 2);
	world_send(&w->client, 0, 16, 3, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(w->server.recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(w->client.req_evd, 3, DAT_DTO_SUCCESS);
	world_send(&w->server, 0, 16, 4, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(w->client.recv_evd, 2, DAT_DTO_SUCCESS);
	expect_dto(w->server.req_evd, 4, DAT_DTO_SUCCESS);
	assert_string_equal((char *)w->server.mem.buf + 1024,
			    "from the client");
	assert_string_equal((char *)w->client.mem.buf + 1024,
			    "from the server");
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_over(w);
}

static void disconnect__abrupt_by_the_server(void **state)
{
	struct world *w = *state;

	world_connect(w);
	assert_dat_ok(V(ep_disconnect)(w->server.ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
}

static void reset__and_connect_again(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		world_connect(w);
		assert_dat_ok(
			V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
		kit_over(w);
		assert_dat_ok(V(ep_reset)(w->client.ep));
		assert_dat_ok(V(ep_reset)(w->server.ep));
	}
}

/* Each receive ends once, whatever resets lie between its post and the end. */
static void scm_reset__receives_posted_then_disconnect(void **state)
{
	struct world *w = *state;

	world_eps(w);
	for (int i = 0; i < 3; i++) {
		world_recv(&w->client, 0, 64, 1);
		world_connect(w);
		world_recv(&w->client, 64, 64, 2);
		assert_dat_ok(
			V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
		kit_over(w);
		expect_dto(w->client.recv_evd, 1, DAT_DTO_ERR_FLUSHED);
		expect_dto(w->client.recv_evd, 2, DAT_DTO_ERR_FLUSHED);
		world_recv(&w->client, 0, 64, 3);
		assert_dat_ok(V(ep_reset)(w->client.ep));
		assert_dat_ok(V(ep_reset)(w->server.ep));
		expect_dto(w->client.recv_evd, 3, DAT_DTO_ERR_FLUSHED);
		expect_empty(w->client.recv_evd);
	}
}

static void scm_connect__long_timeout_does_not_wrap(void **state)
{
	kit_long_timeouts(*state);
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
static void timeout__nothing_answers(void **state)
{
	struct world *w = *state;
	uint16_t port;
	int hole, filler;

	world_eps(w);
	hole = raw_listen(0, &port);
	filler = raw_connect(port);
	connect__timed_out(w, port);
	raw_close(filler);
	raw_close(hole);
}

static void timeout__connected_but_never_answered(void **state)
{
	struct world *w = *state;
	uint16_t port;
	int fd;

	world_eps(w);
	fd = raw_listen(8, &port);
	connect__timed_out(w, port);
	raw_close(fd);
}

/* Time enough for the request to arrive, even if the machine stands still. */
#define THINKS_US 2000000

static void timeout__consumer_there_thinks(void **state)
{
	struct world *w = *state;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	world_eps(w);
	psp = kit_listen(w);
	assert_dat_ok(kit_connect(w->client.ep, THINKS_US, NULL, 0));
	cr = kit_request(w);
	kit_conn(&w->client, DAT_CONNECTION_EVENT_TIMED_OUT);
	/* Whoever accepts now learns soon, or at once and the request is gone.
	 */
	ret = V(cr_accept)(cr, w->server.ep, 0, NULL);
	if (ret == DAT_SUCCESS)
		kit_conn(&w->server,
			 DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	assert_dat_ok(V(psp_free)(psp));
}

static void scm_dat_connect__nobody_listens(void **state)
{
	struct world *w = *state;

	world_eps(w);
	assert_dat_ok(connect_to(w, raw_free_port(), WORLD_PATIENCE_US));
	kit_conn(&w->client, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
}

static void free__while_connecting(void **state)
{
	struct world *w = *state;
	uint16_t port;
	int fd;

	world_eps(w);
	fd = raw_listen(8, &port);
	assert_dat_ok(connect_to(w, port, DAT_TIMEOUT_INFINITE));
	assert_dat_ok(V(ep_free)(w->client.ep));
	w->client.ep = NULL;
	raw_close(fd);
}

static void query__names_the_provider(void **state)
{
	struct world *w = *state;
	DAT_PROVIDER_ATTR attr;
	DAT_IA_ATTR ia;
	DAT_EVD_HANDLE evd;
	struct sockaddr_in *addr;

	assert_dat_ok(V(ia_query)(w->server.ia, &evd, DAT_IA_FIELD_ALL, &ia,
				  DAT_PROVIDER_FIELD_ALL, &attr));
	assert_int_equal(attr.max_private_data_size, DCM_PDATA);
	addr = (struct sockaddr_in *)ia.ia_address_ptr;
	assert_int_equal(addr->sin_family, AF_INET);
	assert_int_equal(ntohl(addr->sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_equal(addr->sin_port, 0);
}

static void scm_requests__more_than_the_queue_is_long(void **state)
{
	kit_crowd(*state);
}

static void scm_psp_create_any__all_round(void **state)
{
	kit_listen_all_round(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each(data__both_ways),
		on_each(disconnect__abrupt_by_the_server),
		roce_test(reset__and_connect_again),
		roce_test(scm_reset__receives_posted_then_disconnect),
		roce_test(scm_connect__long_timeout_does_not_wrap),
		roce_test(timeout__nothing_answers),
		roce_test(timeout__connected_but_never_answered),
		roce_test(timeout__consumer_there_thinks),
		roce_test(scm_dat_connect__nobody_listens),
		roce_test(free__while_connecting),
		roce_test(query__names_the_provider),
		roce_test(scm_psp_create_any__all_round),
		roce_test(scm_requests__more_than_the_queue_is_long),
	};

	return world_run(tests);
}
