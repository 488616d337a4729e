/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ep_conn.c - connections of endpoints: dat_ep_connect, dup_connect,
 * common_connect, disconnect, reset, and free in every state; the events of
 * both sides, each exactly once.
 *
 * The request's side is in t_cr.c. Threads: the last tests race two of them;
 * only the main one asserts.
 * Rules: DAT 2.0 endpoint states.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/connect/dapl_ep.h"
#include "test/unit/kit.h"

#define EV(x) DAT_CONNECTION_EVENT_##x

/* The attempt of W's client ends in NUMBER, once, and can be made again. */
static void attempt_ends(struct world *w, unsigned number)
{
	DAT_EVENT ev;

	world_eps(w);
	kit_ask(w);
	ev = kit_conn(&w->client, number);
	assert_int_equal(ev.event_data.connect_event_data.private_data_size, 0);
	assert_null(ev.event_data.connect_event_data.private_data);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	expect_empty(w->client.conn_evd);
	for (int i = 0; i < FV_CM_OPTION_N; i++)
		if (i != FV_CM_TIMEWAIT)
			fv_cm_set((enum fv_cm_option)i, 0);
	assert_dat_ok(V(ep_reset)(w->client.ep));
	world_connect(w);
}

/* ------------------------------------------------- connect */

static void private_data_of(struct world *w, DAT_COUNT size)
{
	uint8_t out[56], back[56];
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	memset(out, 0x11 + size, sizeof(out));
	memset(back, 0x77 - size, sizeof(back));
	assert_dat_ok(
		kit_connect(w->client.ep, DAT_TIMEOUT_INFINITE, out, size));
	cr = kit_request(w);
	assert_dat_ok(V(cr_query)(cr, DAT_CR_FIELD_ALL, &param));
	/* IB pads to the size of its messages, iWARP has exact sizes. */
	if (w->kind == FV_IWARP)
		assert_int_equal(param.private_data_size, size);
	assert_in_range(param.private_data_size, size, DAPL_CM_PDATA_MAX);
	if (size)
		assert_memory_equal(param.private_data, out, size);
	assert_dat_ok(V(cr_accept)(cr, w->server.ep, size, back));
	memset(back, 0, sizeof(back)); /* ours again */
	ev = kit_conn(&w->client, EV(ESTABLISHED));
	data = &ev.event_data.connect_event_data;
	assert_in_range(data->private_data_size, size, DAPL_CM_PDATA_MAX);
	memset(back, 0x77 - size, sizeof(back));
	if (size)
		assert_memory_equal(data->private_data, back, size);
	ev = kit_conn(&w->server, EV(ESTABLISHED));
	data = &ev.event_data.connect_event_data;
	assert_int_equal(data->private_data_size, 0);
	assert_null(data->private_data);
}

static void connect__private_data(void **state)
{
	static const DAT_COUNT sizes[] = {0, 1, 55, 56};
	struct world *w = *state;

	kit_ready(w);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		private_data_of(w, sizes[i]);
		kit_disconnect(w);
		kit_reset(w);
	}
}

static void connect__other_models(void **state)
{
	struct world *w = *state;
	DAT_EP_HANDLE ep;

	world_eps(w);
	ep = w->client.ep;
#define CONNECT(qos, flags) \
	V(ep_connect)       \
	(ep, world_addr(), WORLD_QUAL, 1000, 0, NULL, qos, flags)
	assert_refused(CONNECT(DAT_QOS_HIGH_THROUGHPUT, 0),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	assert_refused(CONNECT(0, DAT_CONNECT_MULTIPATH_REQUESTED_FLAG),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
#undef CONNECT
	kit_state(ep, DAT_EP_STATE_UNCONNECTED);
	expect_empty(w->client.conn_evd);
}

static void connect__long_timeout_does_not_wrap(void **state)
{
	kit_long_timeouts(*state);
}

/* An address that no attempt can be made to leaves nothing behind. */
static void connect__unusable_address(void **state)
{
	struct world *w = *state;
	struct sockaddr_storage addr = {.ss_family = AF_UNIX};
	DAT_EP_PARAM param;
	DAT_RETURN ret;

	world_eps(w);
	ret = V(ep_connect)(w->client.ep, (DAT_IA_ADDRESS_PTR)&addr, WORLD_QUAL,
			    DAT_TIMEOUT_INFINITE, 0, NULL, 0, 0);
	assert_int_equal(DAT_GET_TYPE(ret), DAT_INVALID_ADDRESS);
	/* In the words of the provider. */
	assert_non_null(strstr(dapl__fail_text(), "that address"));
	param = kit_query(w->client.ep);
	assert_int_equal(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_null(param.remote_ia_address_ptr);
	assert_int_equal(param.remote_port_qual, 0);
	expect_empty(w->client.conn_evd);
	world_connect(w);
}

static void connect__nobody_listens(void **state)
{
	attempt_ends(*state, EV(NON_PEER_REJECTED));
}

static void connect__no_address(void **state)
{
	fv_cm_set(FV_CM_ADDR_ERROR, -ETIMEDOUT);
	attempt_ends(*state, EV(UNREACHABLE));
}

static void connect__no_route(void **state)
{
	fv_cm_set(FV_CM_ROUTE_ERROR, -EHOSTUNREACH);
	attempt_ends(*state, EV(UNREACHABLE));
}

static void connect__no_answer_from_the_network(void **state)
{
	fv_cm_set(FV_CM_UNREACHABLE, -ETIMEDOUT);
	attempt_ends(*state, EV(UNREACHABLE));
}

static void connect__local_failure(void **state)
{
	fv_fail_call("rdma_connect", 1, ENOMEM);
	attempt_ends(*state, EV(BROKEN));
}

static void connect__consumers_timeout(void **state)
{
	enum {
		TIMEOUT_US = 1000000 /* the request has to arrive in it */
	};
	struct world *w = *state;
	uint64_t begin = world_now_us(), took;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;
	DAT_RETURN ret;

	kit_ready(w);
	assert_dat_ok(kit_connect(w->client.ep, TIMEOUT_US, "x", 1));
	cr = kit_request(w);
	ev = kit_conn(&w->client, EV(TIMED_OUT));
	took = world_now_us() - begin;
	assert_true(took >= TIMEOUT_US);
	assert_null(ev.event_data.connect_event_data.private_data);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	/* An answer that is too late connects nobody. */
	ret = V(cr_accept)(cr, w->server.ep, 0, NULL);
	if (ret == DAT_SUCCESS)
		world_until(world_ep_state(w->server.ep) ==
			    DAT_EP_STATE_DISCONNECTED);
	else
		kit_state(w->server.ep, DAT_EP_STATE_UNCONNECTED);
	expect_empty(w->client.conn_evd);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
}

static void common_connect__to_a_csp(void **state)
{
	struct world *w = *state;
	DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};
	struct sockaddr_in addr = *(struct sockaddr_in *)world_addr();
	DAT_CSP_HANDLE csp;

	world_eps(w);
	addr.sin_port = htons(WORLD_QUAL);
	assert_dat_ok(V(csp_create)(w->server.ia, &comm,
				    (DAT_IA_ADDRESS_PTR)&addr, w->server.cr_evd,
				    &csp));
	assert_dat_ok(V(ep_common_connect)(w->client.ep,
					   (DAT_IA_ADDRESS_PTR)&addr,
					   DAT_TIMEOUT_INFINITE, 0, NULL));
	kit_accept(w, kit_request(w));
	kit_established(w);
	addr.sin_family = AF_UNIX;
	assert_dat_ok(V(ep_free)(w->client.ep));
	w->client.ep = world_ep(&w->client, NULL);
	assert_refused(
		V(ep_common_connect)(w->client.ep, (DAT_IA_ADDRESS_PTR)&addr,
				     1000, 0, NULL),
		DAPL_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED));
}

static void connect__nth_failure(void **state)
{
	struct world *w = *state;
	unsigned n;
	bool hit;

	kit_ready(w);
	for (n = 1, hit = true; hit; n++) {
		DAT_RETURN ret;
		DAT_EVENT ev;

		assert_in_range(n, 1, 60);
		fv_fail_at(n, ENOMEM);
		ret = kit_connect(w->client.ep, DAT_TIMEOUT_INFINITE, NULL, 0);
		if (ret != DAT_SUCCESS) {
			assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
			kit_state(w->client.ep, DAT_EP_STATE_UNCONNECTED);
			expect_empty(w->client.conn_evd);
			continue;
		}
		/* Either the request comes or the attempt ends. */
		world_until(fv_fail_hit() ||
			    V(evd_dequeue)(w->server.cr_evd, &ev) ==
				    DAT_SUCCESS);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		if (hit)
			next_event(w->client.conn_evd, WORLD_PATIENCE_US);
		else
			V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG);
		kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
		assert_dat_ok(V(ep_reset)(w->client.ep));
	}
	assert_true(n > 3);
}

/* ---------------------------------------------- disconnect */

static void disconnect__both_flags(void **state)
{
	static const DAT_CLOSE_FLAGS flags[] = {DAT_CLOSE_GRACEFUL_FLAG,
						DAT_CLOSE_ABRUPT_FLAG};
	struct world *w = *state;

	for (int i = 0; i < 4; i++) {
		struct world_side *s = i & 1 ? &w->client : &w->server;

		world_connect(w);
		assert_dat_ok(V(ep_disconnect)(s->ep, flags[i / 2]));
		kit_over(w);
		assert_dat_ok(V(ep_disconnect)(s->ep, flags[i / 2]));
		expect_empty(s->conn_evd);
		kit_reset(w);
		kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
		assert_null(kit_query(s->ep).remote_ia_address_ptr);
	}
}

/* What was posted before a graceful disconnect still arrives. */
static void drained(struct world *w, int sends, unsigned last_flags)
{
	DAT_EVENT ev;

	for (int i = 0; i < sends; i++)
		world_recv(&w->server, 256 * (size_t)i, 256, 100 + (unsigned)i);
	fv_pause(true);
	for (int i = 0; i < sends; i++)
		world_send(&w->client, 256 * (size_t)i, 200, (unsigned)i,
			   i == sends - 1 ? last_flags : 0);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	/* Again: no effect; posts are over. */
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_GRACEFUL_FLAG));
	assert_refused(
		V(ep_post_send)(w->client.ep, 0, NULL, world_cookie(9), 0),
		BAD_EP_STATE(DISCPENDING));
	expect_empty(w->client.conn_evd);
	expect_empty(w->server.conn_evd);
	fv_pause(false);
	for (int i = 0; i < sends; i++)
		expect_dto(w->server.recv_evd, 100 + (unsigned)i,
			   DAT_DTO_SUCCESS);
	for (int i = 0; i < sends - (last_flags ? 1 : 0); i++)
		expect_dto(w->client.req_evd, (unsigned)i, DAT_DTO_SUCCESS);
	ev = kit_conn(&w->client, EV(DISCONNECTED));
	(void)ev;
	kit_conn(&w->server, EV(DISCONNECTED));
	/* The marker is nobody's business. */
	expect_empty(w->client.req_evd);
	expect_empty(w->client.conn_evd);
	expect_empty(w->server.conn_evd);
}

static void disconnect__graceful_drains(void **state)
{
	world_connect(*state);
	drained(*state, 3, 0);
}

static void disconnect__graceful_drains_suppressed(void **state)
{
	world_connect(*state);
	drained(*state, 3, DAT_COMPLETION_SUPPRESS_FLAG);
}

static void disconnect__graceful_drains_only_suppressed(void **state)
{
	world_connect(*state);
	drained(*state, 1, DAT_COMPLETION_SUPPRESS_FLAG);
}

/* With every place taken there is none for a marker, until some complete. */
static void drain_full_queue(struct world *w, bool all_suppressed)
{
	struct world_side *s = &w->client;
	DAT_EP_ATTR attr = world_ep_attr(s);

	/* The device has no place beyond what the consumer asked for. */
	attr.max_request_dtos = 4096;
	s->ep = world_ep(s, &attr);
	world_eps(w);
	world_connect(w);
	fv_pause(true);
	for (unsigned i = 0; i < 4096; i++) {
		DAT_RMR_TRIPLET to = world_target(&w->server, 0, 8);
		DAT_LMR_TRIPLET seg = world_seg(s, 0, 8);

		assert_dat_ok(V(ep_post_rdma_write)(
			s->ep, 1, &seg, world_cookie(i), &to,
			i % 2 && !all_suppressed
				? 0
				: DAT_COMPLETION_SUPPRESS_FLAG));
	}
	assert_dat_ok(V(ep_disconnect)(s->ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_state(s->ep, DAT_EP_STATE_DISCONNECT_PENDING);
	fv_pause(false);
	kit_conn(s, EV(DISCONNECTED));
	for (unsigned i = 1; i < 4096 && !all_suppressed; i += 2)
		expect_dto(s->req_evd, i, DAT_DTO_SUCCESS);
	expect_empty(s->req_evd);
}

static void disconnect__graceful_drains_a_full_queue(void **state)
{
	drain_full_queue(*state, false);
}

static void disconnect__graceful_drains_a_silent_queue(void **state)
{
	drain_full_queue(*state, true);
}

static void disconnect__abrupt_after_graceful(void **state)
{
	struct world *w = *state;

	world_connect(w);
	fv_pause(true);
	world_send(&w->client, 0, 200, 1, 0);
	world_send(&w->client, 0, 200, 2, 0);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_disconnect(w);
	expect_dto(w->client.req_evd, 1, DAT_DTO_ERR_FLUSHED);
	expect_dto(w->client.req_evd, 2, DAT_DTO_ERR_FLUSHED);
	expect_empty(w->client.req_evd);
}

static void disconnect__while_connecting(void **state)
{
	struct world *w = *state;
	DAT_CR_HANDLE cr;

	kit_ready(w);
	cr = kit_meet(w);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_conn(&w->client, EV(DISCONNECTED));
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	if (V(cr_accept)(cr, w->server.ep, 0, NULL) == DAT_SUCCESS)
		world_until(world_ep_state(w->server.ep) ==
			    DAT_EP_STATE_DISCONNECTED);
	/* No ESTABLISHED may follow. */
	assert_dat_ok(V(ep_reset)(w->client.ep));
	expect_empty(w->client.conn_evd);
}

static void disconnect__while_accepting(void **state)
{
	struct world *w = *state;

	fv_cm_set(FV_CM_LOSE_REP, 1);
	kit_ready(w);
	kit_accept(w, kit_meet(w));
	if (w->kind != FV_IWARP)
		kit_state(w->server.ep, DAT_EP_STATE_COMPLETION_PENDING);
	assert_dat_ok(V(ep_disconnect)(w->server.ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_conn(&w->server, EV(DISCONNECTED));
	kit_state(w->server.ep, DAT_EP_STATE_DISCONNECTED);
	expect_empty(w->server.conn_evd);
}

static void disconnect__peer_never_answers(void **state)
{
	struct world *w = *state;

	world_connect(w);
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	kit_abort(w->client.ep);
	kit_conn(&w->client, EV(DISCONNECTED));
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	assert_dat_ok(V(ep_reset)(w->client.ep));
}

static void disconnect__device_goes(void **state)
{
	struct world *w = *state;

	world_connect(w);
	fv_cm_device_removal(w->dev);
	kit_conn(&w->client, EV(BROKEN));
	kit_conn(&w->server, EV(BROKEN));
	expect_empty(w->client.conn_evd);
	kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
}

static void post_receives(struct world *w, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++)
		world_recv(&w->client, 64 * (size_t)i, 64, i);
}

static void expect_flushed(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		expect_dto(w->client.recv_evd, i, DAT_DTO_ERR_FLUSHED);
	expect_empty(w->client.recv_evd);
}

/* The event is there when the call returns, whether the peer answers or not. */
static void disconnect__abrupt_waits_for_no_answer(void **state)
{
	struct world *w = *state;
	DAT_EVENT ev;

	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	world_connect(w);
	post_receives(w, 0, 8);
	kit_abort(w->client.ep);
	assert_dat_ok(V(evd_dequeue)(w->client.conn_evd, &ev));
	assert_int_equal(ev.event_number, EV(DISCONNECTED));
	expect_flushed(w, 8);
}

/* ------------------------------------------- reset and free */

static void never_moved(struct dapl_cm_conn *conn, int ret)
{
	abort();
}

/*
 * A connection manager that still works on the end of a connection must leave
 * the next queue pair alone, though some devices give it the same number.
 */
static void reset__former_connection_has_no_say(void **state)
{
	struct vb_qp_step step = {.attr.qp_state = IBV_QPS_ERR,
				  .mask = IBV_QP_STATE};
	struct dapl_cm_conn *former;
	struct world *w = *state;
	struct dapl_ep *ep;

	world_connect(w);
	ep = (struct dapl_ep *)w->client.ep;
	former = ep->conn;
	assert_non_null(former);
	kit_disconnect(w);
	assert_int_equal(dapl_ep_cm_qp_move(ep, former, &step, 1, never_moved),
			 -ENOTCONN);
	assert_dat_ok(V(ep_reset)(w->client.ep));
	assert_int_equal(dapl_ep_cm_qp_move(ep, former, &step, 1, never_moved),
			 -ENOTCONN);
	dapl_ep_cm_qp_error(ep, former);
	assert_int_equal(fv_qp_state(ep->qp.ibv), IBV_QPS_INIT);
}

/* Each receive ends once, whatever resets lie between its post and the end. */
static void reset__receives_posted_then_disconnect(void **state)
{
	struct world *w = *state;

	world_eps(w);
	post_receives(w, 0, 4);
	/* No effect: the endpoint has not been connected. */
	assert_dat_ok(V(ep_reset)(w->client.ep));
	expect_empty(w->client.recv_evd);
	for (int i = 0; i < 2; i++) {
		world_connect(w);
		post_receives(w, 4, 6);
		kit_disconnect(w);
		expect_flushed(w, 10);
		post_receives(w, 0, 3);
		kit_reset(w);
		expect_flushed(w, 3);
		post_receives(w, 0, 4);
	}
}

static void reset__nth_failure(void **state)
{
	struct world *w = *state;
	DAT_RETURN ret;

	world_connect(w);
	kit_disconnect(w);
	assert_dat_ok(V(ep_reset)(w->server.ep));
	for (unsigned n = 1;; n++) {
		assert_in_range(n, 1, 20);
		fv_fail_at(n, ENOMEM);
		ret = V(ep_reset)(w->client.ep);
		fv_fail_at(0, 0);
		if (ret == DAT_SUCCESS)
			break;
		assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
		kit_state(w->client.ep, DAT_EP_STATE_DISCONNECTED);
	}
	world_connect(w);
}

/* The QP number of an accepted request changes with each reset. */
static void reset__connect_again(void **state)
{
	struct world *w = *state;

	world_eps(w);
	for (int i = 0; i < 5; i++) {
		world_connect(w);
		world_recv(&w->server, 0, 64, 1);
		world_send(&w->client, 0, 64, 2, 0);
		expect_dto(w->server.recv_evd, 1, DAT_DTO_SUCCESS);
		expect_dto(w->client.req_evd, 2, DAT_DTO_SUCCESS);
		kit_abort(w->server.ep);
		kit_over(w);
		assert_dat_ok(V(ep_reset)(w->server.ep));
		assert_dat_ok(V(ep_reset)(w->client.ep));
	}
}

static void free__connecting(void **state)
{
	struct world *w = *state;

	kit_ready(w);
	kit_meet(w);
	assert_dat_ok(V(ep_free)(w->client.ep));
	/* An event would name a handle that is no more. */
	expect_empty(w->client.conn_evd);
	assert_dat_ok(V(evd_free)(w->client.conn_evd));
}

static void free__connected(void **state)
{
	struct world *w = *state;

	world_connect(w);
	world_recv(&w->client, 0, 8, 1);
	assert_dat_ok(V(ep_free)(w->client.ep));
	kit_conn(&w->server, EV(DISCONNECTED));
	expect_empty(w->client.conn_evd);
	assert_dat_ok(V(evd_free)(w->client.conn_evd));
	assert_dat_ok(V(evd_free)(w->client.recv_evd));
	assert_dat_ok(V(evd_free)(w->client.req_evd));
}

/* The drain must not look at an EVD that went with the endpoint. */
static void free__disconnect_pending(void **state)
{
	struct world *w = *state;

	world_connect(w);
	fv_pause(true);
	world_send(&w->client, 0, 200, 1, 0);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_GRACEFUL_FLAG));
	assert_dat_ok(V(ep_free)(w->client.ep));
	assert_dat_ok(V(evd_free)(w->client.req_evd));
	kit_conn(&w->server, EV(DISCONNECTED));
	expect_empty(w->client.conn_evd);
}

static void free__accepting(void **state)
{
	struct world *w = *state;

	fv_cm_set(FV_CM_LOSE_REP, 1);
	kit_ready(w);
	kit_accept(w, kit_meet(w));
	assert_dat_ok(V(ep_free)(w->server.ep));
	expect_empty(w->server.conn_evd);
	assert_dat_ok(V(evd_free)(w->server.conn_evd));
}

/* --------------------------------------------------- races */

static struct dapl_cm_ops slow_ops;
static const struct dapl_cm_ops *real_ops;
static sem_t in_accept, go_on;

/* An accept whose caller is off the processor when the peer is quick. */
static int slow_accept(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp,
		       struct dapl_ep *ep, const void *pdata, size_t size)
{
	int ret = real_ops->accept(conn, qp, ep, pdata, size);

	sem_post(&in_accept);
	sem_wait(&go_on);
	return ret;
}

struct accept_args {
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;
};

static void *accept_thread(void *arg)
{
	struct accept_args *a = arg;

	a->ret = V(cr_accept)(a->cr, a->ep, 0, NULL);
	return NULL;
}

static void disconnect_in_accept(struct world *w, DAT_CLOSE_FLAGS flags)
{
	struct dapl_cm *cm = ((struct dapl_ia *)w->server.ia)->cm;
	struct accept_args args;
	pthread_t t;

	world_eps(w);
	real_ops = cm->ops;
	slow_ops = *real_ops;
	slow_ops.accept = slow_accept;
	/* For good: the service thread must not see it change. */
	cm->ops = &slow_ops;
	sem_init(&in_accept, 0, 0);
	sem_init(&go_on, 0, 0);
	kit_listen(w);
	args.cr = kit_meet(w);
	args.ep = w->server.ep;
	assert_int_equal(pthread_create(&t, NULL, accept_thread, &args), 0);
	sem_wait(&in_accept);
	kit_conn(&w->server, EV(ESTABLISHED));
	kit_conn(&w->client, EV(ESTABLISHED));
	assert_dat_ok(V(ep_disconnect)(w->server.ep, flags));
	sem_post(&go_on);
	pthread_join(t, NULL);
	assert_dat_ok(args.ret);
	kit_over(w);
	sem_destroy(&in_accept);
	sem_destroy(&go_on);
}

static void disconnect__graceful_before_accept_returns(void **state)
{
	disconnect_in_accept(*state, DAT_CLOSE_GRACEFUL_FLAG);
}

static void disconnect__abrupt_before_accept_returns(void **state)
{
	disconnect_in_accept(*state, DAT_CLOSE_ABRUPT_FLAG);
}

static void *disconnect_thread(void *arg)
{
	V(ep_disconnect)((DAT_EP_HANDLE)arg, DAT_CLOSE_ABRUPT_FLAG);
	return NULL;
}

/* ESTABLISHED may come first or not at all; then one end, then nothing. */
static void race__disconnect_against_established(void **state)
{
	struct world *w = *state;

	kit_listen(w);
	for (int i = 0; i < 60; i++) {
		DAT_CR_HANDLE cr;
		DAT_EVENT ev;
		pthread_t t;

		w->client.ep = w->server.ep = NULL;
		world_eps(w);
		cr = kit_meet(w);
		assert_int_equal(pthread_create(&t, NULL, disconnect_thread,
						w->client.ep),
				 0);
		V(cr_accept)(cr, w->server.ep, 0, NULL);
		pthread_join(t, NULL);
		ev = next_event(w->client.conn_evd, WORLD_PATIENCE_US);
		if ((unsigned)ev.event_number == EV(ESTABLISHED))
			ev = next_event(w->client.conn_evd, WORLD_PATIENCE_US);
		assert_int_equal(ev.event_number, EV(DISCONNECTED));
		world_until(world_ep_state(w->server.ep) ==
				    DAT_EP_STATE_DISCONNECTED ||
			    world_ep_state(w->server.ep) ==
				    DAT_EP_STATE_UNCONNECTED);
		assert_dat_ok(V(ep_free)(w->server.ep));
		expect_empty(w->client.conn_evd);
		assert_dat_ok(V(ep_free)(w->client.ep));
		while (V(evd_dequeue)(w->server.conn_evd, &ev) == DAT_SUCCESS)
			;
	}
}

static void *free_thread(void *arg)
{
	V(ep_free)((DAT_EP_HANDLE)arg);
	return NULL;
}

static void race__free_against_events(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 60; i++) {
		DAT_EVENT ev;
		pthread_t t;

		w->client.ep = w->server.ep = NULL;
		world_connect(w);
		world_recv(&w->client, 0, 8, 1);
		assert_int_equal(
			pthread_create(&t, NULL, free_thread, w->client.ep), 0);
		kit_abort(w->server.ep);
		pthread_join(t, NULL);
		kit_conn(&w->server, EV(DISCONNECTED));
		assert_dat_ok(V(ep_free)(w->server.ep));
		while (V(evd_dequeue)(w->client.conn_evd, &ev) == DAT_SUCCESS)
			assert_int_equal(ev.event_number, EV(DISCONNECTED));
		while (V(evd_dequeue)(w->client.recv_evd, &ev) == DAT_SUCCESS)
			;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each(connect__private_data),
		on_ib(connect__other_models),
		on_each(connect__long_timeout_does_not_wrap),
		on_each(connect__unusable_address),
		on_each(connect__nobody_listens),
		on_each(connect__no_address),
		on_each(connect__no_route),
		on_each(connect__no_answer_from_the_network),
		on_each(connect__local_failure),
		on_each(connect__consumers_timeout),
		on_each(common_connect__to_a_csp),
		on_each(connect__nth_failure),
		on_each(disconnect__both_flags),
		on_each(disconnect__graceful_drains),
		on_each(disconnect__graceful_drains_suppressed),
		on_each(disconnect__graceful_drains_only_suppressed),
		on_ib(disconnect__graceful_drains_a_full_queue),
		on_ib(disconnect__graceful_drains_a_silent_queue),
		on_each(disconnect__abrupt_after_graceful),
		on_each(disconnect__while_connecting),
		on_each(disconnect__while_accepting),
		on_each(disconnect__peer_never_answers),
		on_each(disconnect__device_goes),
		on_each(disconnect__abrupt_waits_for_no_answer),
		on_each(reset__former_connection_has_no_say),
		on_each(reset__receives_posted_then_disconnect),
		on_each(reset__nth_failure),
		on_each(reset__connect_again),
		on_each(free__connecting),
		on_each(free__connected),
		on_each(free__disconnect_pending),
		on_each(free__accepting),
		on_each(disconnect__graceful_before_accept_returns),
		on_each(disconnect__abrupt_before_accept_returns),
		on_each(race__disconnect_against_established),
		on_each(race__free_against_events),
	};

	return world_run_both(tests);
}
