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
#include "dapl/common/transfer/dapl_ep_post.h"
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

ON_EACH(connect__private_data)
{
	static const DAT_COUNT sizes[] = {0, 1, 55, 56};
	kit_ready(w);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		private_data_of(w, sizes[i]);
		kit_disconnect(w);
		kit_reset(w);
	}
}

ON_EACH(connect__long_timeout_does_not_wrap)
{
	kit_long_timeouts(w);
}

/* An address that no attempt can be made to leaves nothing behind. */
ON_EACH(connect__unusable_address, world_eps)
{
	struct sockaddr_storage addr = {.ss_family = AF_UNIX};
	DAT_EP_PARAM param;
	DAT_RETURN ret;

	ret = V(ep_connect)(c->ep, (DAT_IA_ADDRESS_PTR)&addr, WORLD_QUAL,
			    DAT_TIMEOUT_INFINITE, 0, NULL, 0, 0);
	assert_int_equal(DAT_GET_TYPE(ret), DAT_INVALID_ADDRESS);
	/* In the words of the provider. */
	assert_non_null(strstr(dapl__fail_text(), "that address"));
	param = kit_query(c->ep);
	assert_int_equal(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_int_equal(param.remote_ia_address_ptr->sa_family, AF_UNSPEC);
	assert_int_equal(param.remote_port_qual, 0);
	expect_empty(c->conn_evd);
	world_connect(w);
}

ON_EACH(connect__nobody_listens)
{
	attempt_ends(w, EV(NON_PEER_REJECTED));
}

ON_EACH(connect__no_address)
{
	fv_cm_set(FV_CM_ADDR_ERROR, -ETIMEDOUT);
	attempt_ends(w, EV(UNREACHABLE));
}

ON_EACH(connect__no_route)
{
	fv_cm_set(FV_CM_ROUTE_ERROR, -EHOSTUNREACH);
	attempt_ends(w, EV(UNREACHABLE));
}

ON_EACH(connect__no_answer_from_the_network)
{
	fv_cm_set(FV_CM_UNREACHABLE, -ETIMEDOUT);
	attempt_ends(w, EV(UNREACHABLE));
}

ON_EACH(connect__local_failure)
{
	fv_fail_call("rdma_connect", 1, ENOMEM);
	attempt_ends(w, EV(BROKEN));
}

ON_EACH(connect__consumers_timeout)
{
	enum {
		TIMEOUT_US = 1000000 /* the request has to arrive in it */
	};
	uint64_t begin = world_now_us(), took;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;
	DAT_RETURN ret;

	kit_ready(w);
	assert_dat_ok(kit_connect(c->ep, TIMEOUT_US, "x", 1));
	cr = kit_request(w);
	ev = kit_conn(c, EV(TIMED_OUT));
	took = world_now_us() - begin;
	assert_true(took >= TIMEOUT_US);
	assert_null(ev.event_data.connect_event_data.private_data);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
	/* An answer that is too late connects nobody. */
	ret = V(cr_accept)(cr, s->ep, 0, NULL);
	if (ret == DAT_SUCCESS)
		world_until(world_ep_state(s->ep) == DAT_EP_STATE_DISCONNECTED);
	else
		kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
	expect_empty(c->conn_evd);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
}

ON_EACH(common_connect__to_a_csp)
{
	DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};
	struct sockaddr_in addr = *(struct sockaddr_in *)world_addr();
	DAT_CSP_HANDLE csp;

	world_eps(w);
	addr.sin_port = htons(WORLD_QUAL);
	assert_dat_ok(V(csp_create)(s->ia, &comm, (DAT_IA_ADDRESS_PTR)&addr,
				    s->cr_evd, &csp));
	assert_dat_ok(V(ep_common_connect)(c->ep, (DAT_IA_ADDRESS_PTR)&addr,
					   DAT_TIMEOUT_INFINITE, 0, NULL));
	kit_accept(w, kit_request(w));
	kit_established(w);
	addr.sin_family = AF_UNIX;
	assert_dat_ok(V(ep_free)(c->ep));
	c->ep = world_ep(c, NULL);
	assert_refused(
		V(ep_common_connect)(c->ep, (DAT_IA_ADDRESS_PTR)&addr, 1000, 0,
				     NULL),
		DAPL_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED));
}

ON_EACH(connect__nth_failure)
{
	unsigned n;
	bool hit;

	kit_ready(w);
	for (n = 1, hit = true; hit; n++) {
		DAT_RETURN ret;
		DAT_EVENT ev;

		assert_in_range(n, 1, 60);
		fv_fail_at(n, ENOMEM);
		ret = kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0);
		if (ret != DAT_SUCCESS) {
			assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
			kit_state(c->ep, DAT_EP_STATE_UNCONNECTED);
			expect_empty(c->conn_evd);
			continue;
		}
		/* Either the request comes or the attempt ends. */
		world_until(fv_fail_hit() ||
			    V(evd_dequeue)(s->cr_evd, &ev) == DAT_SUCCESS);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		if (hit)
			next_event(c->conn_evd, WORLD_PATIENCE_US);
		else
			V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG);
		kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
		assert_dat_ok(V(ep_reset)(c->ep));
	}
	assert_true(n > 3);
}

/* ---------------------------------------------- disconnect */

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

ON_EACH(disconnect__graceful_drains, world_connect)
{
	drained(w, 3, 0);
}

ON_EACH(disconnect__graceful_drains_suppressed, world_connect)
{
	drained(w, 3, DAT_COMPLETION_SUPPRESS_FLAG);
}

ON_EACH(disconnect__graceful_drains_only_suppressed, world_connect)
{
	drained(w, 1, DAT_COMPLETION_SUPPRESS_FLAG);
}

/*
 * What another thread has begun to post before, and gets to the queue behind
 * the marker: a suppressed request, so that nothing else tells of its end.
 */
ON_EACH(disconnect__graceful_drains_what_came_late, world_connect)
{
	struct ibv_sge seg = {(uintptr_t)c->mem.buf, 8, c->mem.lkey};
	DAT_RMR_TRIPLET to = world_target(s, 0, 8);
	struct ibv_send_wr wr = {
		.sg_list = &seg, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
	struct dapl_qp *qp = &((struct dapl_ep *)c->ep)->qp;
	DAT_EP_STATE state;

	wr.wr.rdma.remote_addr = to.virtual_address;
	wr.wr.rdma.rkey = to.rmr_context;
	fv_pause(true);
	world_recv(s, 0, 256, 100);
	world_send(c, 0, 200, 1, 0);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_state(c->ep, DAT_EP_STATE_DISCONNECT_PENDING);
	state = __atomic_exchange_n(&qp->state, DAT_EP_STATE_CONNECTED,
				    __ATOMIC_RELAXED);
	assert_dat_ok(dapl_qp_post_request(qp, &wr, DAT_DTO_RDMA_WRITE, 8,
					   world_cookie(2),
					   DAT_COMPLETION_SUPPRESS_FLAG));
	__atomic_store_n(&qp->state, state, __ATOMIC_RELAXED);
	fv_pause(false);
	expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
	kit_conn(c, EV(DISCONNECTED));
	expect_empty(c->req_evd);
	assert_int_equal(dapl_wq_used(qp->sq), 0);
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

ON_IB(disconnect__graceful_drains_a_full_queue)
{
	drain_full_queue(w, false);
}

ON_IB(disconnect__graceful_drains_a_silent_queue)
{
	drain_full_queue(w, true);
}

ON_EACH(disconnect__abrupt_after_graceful, world_connect)
{
	fv_pause(true);
	world_send(c, 0, 200, 1, 0);
	world_send(c, 0, 200, 2, 0);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_disconnect(w);
	expect_dto(c->req_evd, 1, DAT_DTO_ERR_FLUSHED);
	expect_dto(c->req_evd, 2, DAT_DTO_ERR_FLUSHED);
	expect_empty(c->req_evd);
}

ON_EACH(disconnect__while_connecting)
{
	DAT_CR_HANDLE cr;

	kit_ready(w);
	cr = kit_meet(w);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_conn(c, EV(DISCONNECTED));
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
	if (V(cr_accept)(cr, s->ep, 0, NULL) == DAT_SUCCESS)
		world_until(world_ep_state(s->ep) == DAT_EP_STATE_DISCONNECTED);
	/* No ESTABLISHED may follow. */
	assert_dat_ok(V(ep_reset)(c->ep));
	expect_empty(c->conn_evd);
}

ON_EACH(disconnect__while_accepting)
{
	fv_cm_set(FV_CM_LOSE_REP, 1);
	kit_ready(w);
	kit_accept(w, kit_meet(w));
	if (w->kind != FV_IWARP)
		kit_state(s->ep, DAT_EP_STATE_COMPLETION_PENDING);
	assert_dat_ok(V(ep_disconnect)(s->ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_conn(s, EV(DISCONNECTED));
	kit_state(s->ep, DAT_EP_STATE_DISCONNECTED);
	expect_empty(s->conn_evd);
}

ON_EACH(disconnect__peer_never_answers, world_connect)
{
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	kit_abort(c->ep);
	kit_conn(c, EV(DISCONNECTED));
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
	assert_dat_ok(V(ep_reset)(c->ep));
}

ON_EACH(disconnect__device_goes, world_connect)
{
	fv_cm_device_removal(w->dev);
	kit_conn(c, EV(BROKEN));
	kit_conn(s, EV(BROKEN));
	expect_empty(c->conn_evd);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
	expect_event(s->async_evd, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	expect_event(c->async_evd, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	expect_empty(s->async_evd);
	expect_empty(c->async_evd);
}

/*
 * The driver's kernel part holds a queue pair that connects, and who destroyed
 * it would wait: it is there yet when the consumer is told.
 */
ON_SIW(connect__times_out_before_the_kernel_lets_go, world_eps)
{
	DAT_PSP_HANDLE psp = kit_listen(w);

	fv_cm_set(FV_CM_BLACKHOLE, 1);
	world_recv(c, 0, 64, 1);
	assert_dat_ok(kit_connect(c->ep, 10000, NULL, 0));
	kit_conn(c, EV(TIMED_OUT));
	assert_non_null(world_qp(c->ep));
	expect_dto(c->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
	world_recv(c, 0, 64, 2);
	expect_dto(c->recv_evd, 2, DAT_DTO_ERR_FLUSHED);
	assert_dat_ok(V(ep_reset)(c->ep));
	assert_dat_ok(V(psp_free)(psp));
}

/* Who only listens hears of it, too. */
ON_EACH(listen__device_goes)
{
	DAT_PSP_HANDLE psp;

	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL, s->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	fv_cm_device_removal(w->dev);
	expect_event(s->async_evd, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	assert_dat_ok(V(psp_free)(psp));
	expect_empty(s->async_evd);
	expect_empty(c->async_evd);
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
ON_EACH(disconnect__abrupt_waits_for_no_answer)
{
	DAT_EVENT ev;

	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	world_connect(w);
	post_receives(w, 0, 8);
	kit_abort(c->ep);
	assert_dat_ok(V(evd_dequeue)(c->conn_evd, &ev));
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
ON_EACH(reset__former_connection_has_no_say, world_connect)
{
	struct vb_qp_step step = {.attr.qp_state = IBV_QPS_ERR,
				  .mask = IBV_QP_STATE};
	struct dapl_cm_conn *former;
	struct dapl_ep *ep;

	ep = (struct dapl_ep *)c->ep;
	former = ep->conn;
	assert_non_null(former);
	kit_disconnect(w);
	assert_int_equal(dapl_ep_cm_qp_move(ep, former, &step, 1, never_moved),
			 -ENOTCONN);
	assert_dat_ok(V(ep_reset)(c->ep));
	assert_int_equal(dapl_ep_cm_qp_move(ep, former, &step, 1, never_moved),
			 -ENOTCONN);
	dapl_ep_cm_qp_error(ep, former);
	assert_int_equal(fv_qp_state(ep->qp.ibv), IBV_QPS_INIT);
}

/* Each receive ends once, whatever resets lie between its post and the end. */
ON_EACH(reset__receives_posted_then_disconnect, world_eps)
{
	post_receives(w, 0, 4);
	/* No effect: the endpoint has not been connected. */
	assert_dat_ok(V(ep_reset)(c->ep));
	expect_empty(c->recv_evd);
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

ON_EACH(reset__nth_failure, world_connect)
{
	DAT_RETURN ret;

	kit_disconnect(w);
	assert_dat_ok(V(ep_reset)(s->ep));
	for (unsigned n = 1;; n++) {
		assert_in_range(n, 1, 20);
		fv_fail_at(n, ENOMEM);
		ret = V(ep_reset)(c->ep);
		fv_fail_at(0, 0);
		if (ret == DAT_SUCCESS)
			break;
		assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
		kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
	}
	world_connect(w);
}

ON_EACH(free__connecting)
{
	kit_ready(w);
	kit_meet(w);
	assert_dat_ok(V(ep_free)(c->ep));
	/* An event would name a handle that is no more. */
	expect_empty(c->conn_evd);
	assert_dat_ok(V(evd_free)(c->conn_evd));
}

ON_EACH(free__connected, world_connect)
{
	world_recv(c, 0, 8, 1);
	assert_dat_ok(V(ep_free)(c->ep));
	kit_conn(s, EV(DISCONNECTED));
	expect_empty(c->conn_evd);
	assert_dat_ok(V(evd_free)(c->conn_evd));
	assert_dat_ok(V(evd_free)(c->recv_evd));
	assert_dat_ok(V(evd_free)(c->req_evd));
}

/* The drain must not look at an EVD that went with the endpoint. */
ON_EACH(free__disconnect_pending, world_connect)
{
	fv_pause(true);
	world_send(c, 0, 200, 1, 0);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_GRACEFUL_FLAG));
	assert_dat_ok(V(ep_free)(c->ep));
	assert_dat_ok(V(evd_free)(c->req_evd));
	kit_conn(s, EV(DISCONNECTED));
	expect_empty(c->conn_evd);
}

ON_EACH(free__accepting)
{
	fv_cm_set(FV_CM_LOSE_REP, 1);
	kit_ready(w);
	kit_accept(w, kit_meet(w));
	assert_dat_ok(V(ep_free)(s->ep));
	expect_empty(s->conn_evd);
	assert_dat_ok(V(evd_free)(s->conn_evd));
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

ON_EACH(disconnect__graceful_before_accept_returns)
{
	disconnect_in_accept(w, DAT_CLOSE_GRACEFUL_FLAG);
}

ON_EACH(disconnect__abrupt_before_accept_returns)
{
	disconnect_in_accept(w, DAT_CLOSE_ABRUPT_FLAG);
}

static void *disconnect_thread(void *arg)
{
	V(ep_disconnect)((DAT_EP_HANDLE)arg, DAT_CLOSE_ABRUPT_FLAG);
	return NULL;
}

/* ESTABLISHED may come first or not at all; then one end, then nothing. */
ON_EACH(race__disconnect_against_established)
{
	kit_listen(w);
	for (int i = 0; i < 60; i++) {
		DAT_CR_HANDLE cr;
		DAT_EVENT ev;
		pthread_t t;

		c->ep = s->ep = NULL;
		world_eps(w);
		cr = kit_meet(w);
		assert_int_equal(
			pthread_create(&t, NULL, disconnect_thread, c->ep), 0);
		V(cr_accept)(cr, s->ep, 0, NULL);
		pthread_join(t, NULL);
		ev = next_event(c->conn_evd, WORLD_PATIENCE_US);
		if ((unsigned)ev.event_number == EV(ESTABLISHED))
			ev = next_event(c->conn_evd, WORLD_PATIENCE_US);
		assert_int_equal(ev.event_number, EV(DISCONNECTED));
		world_until(world_ep_state(s->ep) ==
				    DAT_EP_STATE_DISCONNECTED ||
			    world_ep_state(s->ep) == DAT_EP_STATE_UNCONNECTED);
		assert_dat_ok(V(ep_free)(s->ep));
		expect_empty(c->conn_evd);
		assert_dat_ok(V(ep_free)(c->ep));
		while (V(evd_dequeue)(s->conn_evd, &ev) == DAT_SUCCESS)
			;
	}
}

static void *free_thread(void *arg)
{
	V(ep_free)((DAT_EP_HANDLE)arg);
	return NULL;
}

ON_EACH(race__free_against_events)
{
	for (int i = 0; i < 60; i++) {
		DAT_EVENT ev;
		pthread_t t;

		c->ep = s->ep = NULL;
		world_connect(w);
		world_recv(c, 0, 8, 1);
		assert_int_equal(pthread_create(&t, NULL, free_thread, c->ep),
				 0);
		kit_abort(s->ep);
		pthread_join(t, NULL);
		kit_conn(s, EV(DISCONNECTED));
		assert_dat_ok(V(ep_free)(s->ep));
		while (V(evd_dequeue)(c->conn_evd, &ev) == DAT_SUCCESS)
			assert_int_equal(ev.event_number, EV(DISCONNECTED));
		while (V(evd_dequeue)(c->recv_evd, &ev) == DAT_SUCCESS)
			;
	}
}

RUN_CASES_TWICE()
