/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_cma_conn.c - connections of the CMA provider: prepare, connect, accept,
 * reject, disconnect, release, addrs, and the events of rdma_cm.
 *
 * Two instances meet over the fake rdma_cm. Names tell the situation; most come
 * from the table of situations that the historic provider was probed with.
 * The fixture takes the pair P as far as a case asks for, and releases what the
 * case has left of it, A first.
 * Everything waits for events; what must not come is checked by world_close().
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dapl/openib_cma/cma.h"
#include "dapl/openib_cma/cma_conn.h"
#include "test/unit/case.h"
#include "test/unit/cm_world.h"

#define QUAL 45248

static struct world world;
static struct pair p;

/* How far the fixture goes. */
enum stage {
	APART,
	LISTENING,
	MET,	  /* A has asked, B has heard of it */
	CONNECTED /* nobody listens any more */
};

struct fixture {
	enum fv_kind kind;
	enum stage stage;
};

static struct cma_params *params_a(void)
{
	return (struct cma_params *)world.a.params;
}

static int setup(void **state)
{
	const struct fixture *fixture = *state;

	world_open(&world, fixture->kind);
	memset(&p, 0, sizeof(p));
	if (fixture->stage == LISTENING)
		pair_listen(&world, &p, QUAL);
	if (fixture->stage == MET)
		pair_meet(&world, &p, QUAL);
	if (fixture->stage == CONNECTED)
		pair_open(&world, &p, QUAL);
	return 0;
}

/* A, or B, is released, and its endpoint comes back if it was taken. */
static void leave(struct dapl_cm_conn **conn, struct dapl_ep *ep)
{
	bool taken = ep->refs;

	if (*conn)
		world_release(*conn);
	if (*conn && taken)
		take(SEEN_GONE, ep);
	*conn = NULL;
}

static void leave_a(void)
{
	leave(&p.ca, p.ea);
}

static void leave_b(void)
{
	leave(&p.cb, p.eb);
}

/* Releases what a case has left. */
static int teardown(void **state)
{
	const struct fixture *fixture = *state;

	if (fixture->stage != APART) {
		bool up = ep_state(p.eb) == IBV_QPS_RTS;

		leave_a();
		leave_b();
		/* The end of A, if it was the quicker one. */
		if (up && pending(SEEN_EVENT, p.eb))
			take_event(p.eb, DAPL_CM_DISCONNECTED);
		if (fixture->stage == CONNECTED)
			pair_del(&p);
		else
			pair_end(&p);
	}
	world_close(&world);
	return 0;
}

#define T(name, kind, stage)                                          \
	static const struct fixture name##_from = {FV_##kind, stage}; \
	CASE_OF(name, void *no_state,                                 \
		CASE_ROW(name, "", setup, teardown, &name##_from))
static const struct fixture ib_listening = {FV_IB, LISTENING};
static const struct fixture iwarp_connected = {FV_IWARP, CONNECTED};

static struct ibv_qp_attr qp_attr(struct dapl_ep *ep)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(ep->qp, &attr,
				      IBV_QP_STATE | IBV_QP_ACCESS_FLAGS |
					      IBV_QP_TIMEOUT |
					      IBV_QP_MAX_QP_RD_ATOMIC |
					      IBV_QP_MAX_DEST_RD_ATOMIC,
				      &init),
			 0);
	return attr;
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
	while (size--)
		if (*bytes++)
			return false;
	return true;
}

/* Sizes that arrive: padded to the wire's on IB, as sent on iWARP. */
static void establish(size_t req_size, size_t rep_size)
{
	struct seen *req, est;
	struct sockaddr_storage peer;
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	DAT_PORT_QUAL far, near;

	pair_ask(&p, "question", 9);
	req = &p.request;
	assert_int_equal(cma_ops.addrs(p.ca, &peer, &far, &near), -ENOTCONN);
	assert_int_equal(req->size, req_size);
	assert_memory_equal(req->pdata, "question", 9);
	assert_true(all_zero(req->pdata + 9, req_size - 9));
	assert_int_equal(((struct sockaddr_in *)&req->peer)->sin_addr.s_addr,
			 inet_addr("10.0.0.1"));
	pair_accept(&p, "answer", 7);
	est = take(SEEN_EVENT, p.ea);
	assert_int_equal(est.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(est.size, rep_size);
	assert_memory_equal(est.pdata, "answer", 7);
	assert_true(all_zero(est.pdata + 7, rep_size - 7));
	est = take(SEEN_EVENT, p.eb);
	assert_int_equal(est.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(est.size, 0);
	assert_int_equal(ep_state(p.ea), IBV_QPS_RTS);
	assert_int_equal(ep_state(p.eb), IBV_QPS_RTS);

	assert_int_equal(cma_ops.addrs(p.ca, &peer, &far, &near), 0);
	assert_int_equal(in->sin_addr.s_addr, inet_addr("10.0.0.2"));
	assert_int_equal(far, QUAL);
	assert_int_equal(near, req->peer_port);
	assert_int_equal(cma_ops.addrs(p.cb, &peer, &far, &near), 0);
	assert_int_equal(in->sin_addr.s_addr, inet_addr("10.0.0.1"));
	assert_int_equal(far, req->peer_port);
	assert_int_equal(near, QUAL);
}

T(cma_connect__accepted, ROCE, LISTENING)
{
	establish(56, 196);
}

CASE_AGAIN(cma_connect__accepted, CASE_ROW(cma_connect__accepted, ".ib", setup,
					   teardown, &ib_listening))

T(connect__accepted_over_iwarp, IWARP, LISTENING)
{
	establish(9, 7);
}

T(connect__access_flags_and_depths, ROCE, LISTENING)
{
	struct ibv_qp_attr a, b;

	p.ea->cfg.responder_resources = 3;
	p.ea->cfg.initiator_depth = 7;
	p.eb->cfg.responder_resources = 5;
	p.eb->cfg.initiator_depth = 2;
	pair_ask(&p, NULL, 0);
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	a = qp_attr(p.ea);
	b = qp_attr(p.eb);
	assert_int_equal(a.max_rd_atomic, 5);
	assert_int_equal(b.max_dest_rd_atomic, 5);
	assert_int_equal(b.max_rd_atomic, 2);
	assert_int_equal(a.max_dest_rd_atomic, 2);
	assert_int_equal(a.qp_access_flags & (IBV_ACCESS_REMOTE_READ |
					      IBV_ACCESS_REMOTE_WRITE |
					      IBV_ACCESS_REMOTE_ATOMIC),
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(a.qp_access_flags, b.qp_access_flags);
}

/* rdma_cm's, on the fake as on Linux 6.1. */
#define ROCE_ACK_TIMER 19

/* Each end has its own process's. */
T(connect__ack_timer_of_either_end, ROCE, LISTENING)
{
	params_a()->ack_timer = 22;
	pair_ask(&p, NULL, 0);
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	assert_int_equal(qp_attr(p.ea).timeout, 22);
	assert_int_equal(qp_attr(p.eb).timeout, ROCE_ACK_TIMER);
}

T(connect__ack_timer_covers_the_ack_delay, ROCE, LISTENING)
{
	params_a()->ack_timer = 0;
	pair_ask(&p, NULL, 0);
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	assert_int_equal(qp_attr(p.ea).timeout,
			 world.a.dev.attr.local_ca_ack_delay);
}

/* Calls of NAME in the fake's trace. */
static int traced(const char *name)
{
	const char *at = fv_trace_get();
	int n = 0;

	while ((at = strstr(at, name))) {
		at += strlen(name);
		n++;
	}
	return n;
}

/* An attempt that ends in EVENT by itself. */
static void attempt(enum dapl_cm_event event)
{
	struct dapl_ep *ep = ep_new(&world.a);
	struct dapl_cm_conn *conn = begin(ep, QUAL, NULL, 0);
	struct seen s = take(SEEN_EVENT, ep);

	assert_int_equal(s.event, event);
	assert_int_equal(s.size, 0);
	assert_ptr_equal(s.conn, conn);
	finish(conn, ep);
	ep_del(ep);
}

T(connect__host_does_not_answer, ROCE, APART)
{
	fv_cm_set(FV_CM_ADDR_ERROR, -ETIMEDOUT);
	fv_trace(true);
	attempt(DAPL_CM_UNREACHABLE);
	assert_int_equal(traced("rdma_resolve_addr"),
			 params_a()->arp_retry_count);
}

T(connect__no_way_to_host, ROCE, APART)
{
	fv_cm_set(FV_CM_ADDR_ERROR, -EHOSTUNREACH);
	fv_trace(true);
	attempt(DAPL_CM_UNREACHABLE);
	assert_int_equal(traced("rdma_resolve_addr"), 1);
}

T(connect__no_way_to_host_known_at_once, ROCE, APART)
{
	fv_fail_call("rdma_resolve_addr", 1, ENETUNREACH);
	attempt(DAPL_CM_UNREACHABLE);
}

T(connect__route_does_not_answer, ROCE, APART)
{
	fv_cm_set(FV_CM_ROUTE_ERROR, -ETIMEDOUT);
	fv_trace(true);
	attempt(DAPL_CM_UNREACHABLE);
	assert_int_equal(traced("rdma_resolve_route"),
			 params_a()->route_retry_count);
}

T(connect__route_call_fails, ROCE, APART)
{
	fv_fail_call("rdma_resolve_route", 1, EINVAL);
	attempt(DAPL_CM_UNREACHABLE);
}

T(connect__request_call_fails, ROCE, APART)
{
	fv_fail_call("rdma_connect", 1, EINVAL);
	attempt(DAPL_CM_BROKEN);
}

/* iWARP shares its ports with TCP, and rdma_cm does not know of those. */
T(connect__port_is_taken, IWARP, LISTENING)
{
	fv_cm_set(FV_CM_PORT_TAKEN, 3);
	fv_trace(true);
	establish(9, 7);
	assert_int_equal(traced("rdma_connect"), 4);
	fv_trace(false);
}

T(connect__no_port_is_free, IWARP, APART)
{
	fv_cm_set(FV_CM_PORT_TAKEN, 1000);
	attempt(DAPL_CM_BROKEN);
}

T(connect__refused_inside_the_call, IWARP, APART)
{
	fv_cm_set(FV_CM_REFUSE_SYNC, 1);
	attempt(DAPL_CM_NON_PEER_REJECTED);
}

T(connect__request_unanswered, ROCE, APART)
{
	fv_cm_set(FV_CM_UNREACHABLE, -ETIMEDOUT);
	attempt(DAPL_CM_UNREACHABLE);
}

T(connect__rejected_for_other_reasons, ROCE, APART)
{
	static const int reasons[] = {1, 4, 8, 10, 28, 31};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		fv_cm_set(FV_CM_REJECT, reasons[i]);
		attempt(DAPL_CM_NON_PEER_REJECTED);
	}
}

/* Providers of DAT 1.2 refuse so, and programs of 1.2 hear who it was. */
T(connect__rejected_without_a_header, ROCE, APART)
{
	static const int others[] = {1, 4, 8, 10, 31};
	struct dapl_cm_ops ops = cma_ops;

	assert_false(ops.bare_rejects);
	ops.bare_rejects = true;
	world.a.cm->ops = &ops;
	fv_cm_set(FV_CM_REJECT, 28);
	attempt(DAPL_CM_PEER_REJECTED);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		fv_cm_set(FV_CM_REJECT, others[i]);
		attempt(DAPL_CM_NON_PEER_REJECTED);
	}
	world.a.cm->ops = &cma_ops;
}

T(connect__bad_arguments, ROCE, APART)
{
	struct dapl_ep *ep = ep_new(&world.a);
	struct sockaddr_storage addr;
	struct dapl_cm_connect req = {.qp = ep->cfg,
				      .addr = (struct sockaddr *)&addr,
				      .qual = QUAL,
				      .pdata = "x",
				      .pdata_size = 57};
	struct dapl_cm_conn *conn;

	peer_b(&addr);
	assert_int_equal(cma_ops.prepare(world.a.cm, ep, &conn), 0);
	ep->refs++;
	assert_int_equal(cma_ops.connect(conn, &req), -EINVAL);
	req.pdata_size = 0;
	req.qual = 0;
	assert_int_equal(cma_ops.connect(conn, &req), -EINVAL);
	req.qual = QUAL;
	addr.ss_family = AF_INET6;
	assert_int_equal(cma_ops.connect(conn, &req), -EAFNOSUPPORT);
	peer_b(&addr);
	((struct sockaddr_in *)&addr)->sin_addr.s_addr = 0;
	assert_int_equal(cma_ops.connect(conn, &req), -EADDRNOTAVAIL);
	finish(conn, ep);
	ep_del(ep);
}

T(connect__prepared_only, ROCE, APART)
{
	struct dapl_ep *ep = ep_new(&world.a);
	struct dapl_cm_conn *conn;

	assert_int_equal(cma_ops.prepare(world.a.cm, ep, &conn), 0);
	ep->refs++;
	assert_int_equal(cma_ops.disconnect(conn), -ENOTCONN);
	finish(conn, ep);
	ep_del(ep);
}

T(connect__tos_is_set, ROCE, APART)
{
	fv_trace(true);
	pair_open(&world, &p, QUAL);
	assert_int_equal(traced("rdma_set_option"), 0);
	pair_close(&p);
	params_a()->tos = 5;
	pair_open(&world, &p, QUAL);
	assert_int_equal(traced("rdma_set_option"), 1);
	pair_close(&p);
}

/* The consumer's timeout, or its dat_ep_free(), during each phase. */
static void release_during(enum fv_cm_option phase)
{
	struct dapl_ep *ep = ep_new(&world.a);
	struct dapl_cm_conn *conn;

	fv_cm_set(phase, 1);
	conn = begin(ep, QUAL, NULL, 0);
	finish(conn, ep);
	ep_del(ep);
}

T(release__resolving_address, ROCE, APART)
{
	release_during(FV_CM_ADDR_SILENT);
}

T(release__resolving_route, ROCE, APART)
{
	release_during(FV_CM_ROUTE_SILENT);
}

T(release__waiting_for_answer, ROCE, APART)
{
	release_during(FV_CM_BLACKHOLE);
}

/* rdma_destroy_id() would block there until the peer has answered. */
T(release__waiting_for_answer_over_iwarp, IWARP, MET)
{
	fv_trace(true);
	leave_a();
	assert_int_equal(traced("rdma_destroy_id"), 0);
}

T(release__accepted_afterwards_over_iwarp, IWARP, MET)
{
	leave_a();
	pair_accept(&p, NULL, 0);
	take_event(p.eb, DAPL_CM_ESTABLISHED);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

/* What comes between the call and the test. */
static __thread bool disconnected_here;
static __thread void (*after_disconnect)(void);
static sem_t *connect_entered, *connect_go;

int __real_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param);
int __wrap_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param);
int __wrap_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (connect_entered) {
		sem_post(connect_entered);
		sem_wait(connect_go);
	}
	return __real_rdma_connect(id, param);
}

int __real_rdma_disconnect(struct rdma_cm_id *id);
int __wrap_rdma_disconnect(struct rdma_cm_id *id);
int __wrap_rdma_disconnect(struct rdma_cm_id *id)
{
	int ret = __real_rdma_disconnect(id);

	disconnected_here = true;
	if (after_disconnect)
		after_disconnect();
	return ret;
}

/* The call connects at once, as that of soft iWARP, and fails. */
T(release__inside_a_request_that_fails, IWARP, APART)
{
	struct dapl_ep *ep = ep_new(&world.a);
	struct dapl_cm_conn *conn;
	sem_t entered, go;

	sem_init(&entered, 0, 0);
	sem_init(&go, 0, 0);
	connect_entered = &entered;
	connect_go = &go;
	fv_cm_set(FV_CM_REFUSE_SYNC, 1);
	fv_trace(true);
	conn = begin(ep, QUAL, NULL, 0);
	sem_wait(&entered);
	world_release(conn);
	connect_entered = NULL;
	sem_post(&go);
	take(SEEN_GONE, ep);
	/* Not kept for an answer that will not come. */
	assert_int_equal(traced("rdma_destroy_id"), 1);
	ep_del(ep);
	sem_destroy(&entered);
	sem_destroy(&go);
}

/* Who releases destroys the queue pair next, which must not be in use then. */
T(release__established_disconnects_at_once, IWARP, CONNECTED)
{
	disconnected_here = false;
	world_release(p.ca);
	assert_true(disconnected_here);
	take(SEEN_GONE, p.ea);
	p.ca = NULL;
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

/* Behind what the service thread hears of the disconnect. */
static void attempt_meanwhile(void)
{
	attempt(DAPL_CM_NON_PEER_REJECTED);
}

T(release__established_hears_of_nothing, IWARP, CONNECTED)
{
	after_disconnect = attempt_meanwhile;
	world_release(p.ca);
	after_disconnect = NULL;
	take(SEEN_GONE, p.ea);
	p.ca = NULL;
	assert_int_equal(pending(SEEN_EVENT, p.ea), 0);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

T(release__in_event_upcall, ROCE, APART)
{
	struct dapl_ep *ep = ep_new(&world.a);

	ep->drop = true;
	begin(ep, QUAL, NULL, 0);
	take_event(ep, DAPL_CM_NON_PEER_REJECTED);
	take(SEEN_GONE, ep);
	ep_del(ep);
}

T(release__established_tells_peer, ROCE, CONNECTED)
{
	leave_a();
	take_event(p.eb, DAPL_CM_DISCONNECTED);
	assert_int_equal(ep_state(p.eb), IBV_QPS_ERR);
}

/* The endpoint goes back although rdma_cm still waits for the peer. */
T(release__established_peer_never_answers, ROCE, CONNECTED)
{
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
}

T(release__while_disconnecting, ROCE, CONNECTED)
{
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
}

T(reject__by_consumer, ROCE, LISTENING)
{
	struct seen s;
	uint8_t data[56];

	memset(data, 0xa5, sizeof(data));
	pair_ask(&p, NULL, 0);
	assert_int_equal(cma_ops.reject(p.cb, data, 57), -EINVAL);
	assert_int_equal(cma_ops.reject(p.cb, data, 56), 0);
	leave_b();
	s = take(SEEN_EVENT, p.ea);
	assert_int_equal(s.event, DAPL_CM_PEER_REJECTED);
	assert_true(s.size >= 56);
	assert_memory_equal(s.pdata, data, 56);
	assert_true(all_zero(s.pdata + 56, s.size - 56));
}

T(reject__header_as_sent_by_the_historic_provider, ROCE, MET)
{
	struct seen s;

	assert_int_equal(cma_ops.reject(p.cb, NULL, 0), 0);
	leave_b();
	s = take(SEEN_EVENT, p.ea);
	assert_int_equal(s.event, DAPL_CM_PEER_REJECTED);
	/* 148 on the wire, 4 of them the header. */
	assert_int_equal(s.size, 144);
	assert_true(all_zero(s.pdata, s.size));
}

T(reject__over_iwarp, IWARP, MET)
{
	struct seen s;

	assert_int_equal(cma_ops.reject(p.cb, "no", 3), 0);
	leave_b();
	s = take(SEEN_EVENT, p.ea);
	assert_int_equal(s.event, DAPL_CM_PEER_REJECTED);
	assert_int_equal(s.size, 3);
	assert_memory_equal(s.pdata, "no", 3);
}

/* A server that dies, or an SP that goes: no consumer said no. */
T(request__released_unanswered, ROCE, MET)
{
	leave_b();
	take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
}

T(request__released_inside_upcall, ROCE, APART)
{
	struct dapl_sp sp = {.side = &world.b, .refuse = true};
	struct dapl_cm_listener *l = listen_on(&sp, QUAL);

	attempt(DAPL_CM_NON_PEER_REJECTED);
	take(SEEN_REQUEST, &sp);
	unlisten(&sp, l);
}

/* A service point for one request: the upcall gives the listener up. */
T(request__unlistens_inside_upcall, ROCE, APART)
{
	struct dapl_sp sp = {.side = &world.b, .refuse = true, .once = true};

	listen_on(&sp, QUAL);
	attempt(DAPL_CM_NON_PEER_REJECTED);
	take(SEEN_REQUEST, &sp);
	take(SEEN_UNLISTENED, &sp);
	attempt(DAPL_CM_NON_PEER_REJECTED); /* nobody listens */
}

T(accept__client_has_gone, ROCE, MET)
{
	leave_a();
	assert_int_equal(cma_ops.accept(p.cb, &p.eb->cfg, p.eb, NULL, 0),
			 -ECONNABORTED);
	assert_int_equal(cma_ops.accept(p.cb, &p.eb->cfg, p.eb, NULL, 0),
			 -ECONNABORTED);
	assert_int_equal(cma_ops.reject(p.cb, NULL, 0), 0);
	assert_int_equal(ep_state(p.eb), IBV_QPS_INIT);
}

T(accept__too_much_private_data, ROCE, MET)
{
	uint8_t data[57] = {1};

	assert_int_equal(cma_ops.accept(p.cb, &p.eb->cfg, p.eb, data, 57),
			 -EINVAL);
	pair_accept(&p, data, 56);
	pair_established(&p);
}

/* The queue pair is refused in each of its three steps: both sides hear it. */
T(accept__queue_pair_refuses, ROCE, APART)
{
	for (int step = 1; step <= 3; step++) {
		pair_meet(&world, &p, QUAL);
		p.eb->fail_modify = step;
		pair_accept(&p, NULL, 0);
		take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
		take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
		finish(p.ca, p.ea);
		finish(p.cb, p.eb);
		pair_end(&p);
	}
}

T(accept__call_fails, ROCE, MET)
{
	fv_fail_call("rdma_accept", 1, ENOMEM);
	pair_accept(&p, NULL, 0);
	take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
	take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
}

/* Accepted, but the other side cannot use it: its provider refuses. */
T(accept__client_queue_pair_refuses, ROCE, LISTENING)
{
	p.ea->fail_modify = 2;
	pair_ask(&p, NULL, 0);
	pair_accept(&p, NULL, 0);
	take_event(p.ea, DAPL_CM_BROKEN);
	take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
}

T(accept__client_gives_up_before_ready, ROCE, LISTENING)
{
	fv_cm_set(FV_CM_LOSE_REP, 1);
	pair_ask(&p, NULL, 0);
	pair_accept(&p, NULL, 0);
	leave_a();
	take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
}

T(accept__released_before_ready, ROCE, LISTENING)
{
	fv_cm_set(FV_CM_LOSE_REP, 1);
	pair_ask(&p, NULL, 0);
	pair_accept(&p, NULL, 0);
	leave_b();
	take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
}

T(accept__endpoint_freed_meanwhile, ROCE, MET)
{
	struct ibv_qp *qp;

	qp = p.eb->qp;
	p.eb->qp = NULL;
	assert_int_equal(cma_ops.accept(p.cb, &p.eb->cfg, p.eb, NULL, 0),
			 -ENOTCONN);
	leave_b();
	take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
	leave_a();
	p.eb->qp = qp;
}

T(disconnect__by_active_side, ROCE, CONNECTED)
{
	struct seen s;

	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	s = take(SEEN_EVENT, p.ea);
	assert_int_equal(s.event, DAPL_CM_DISCONNECTED);
	assert_true(s.in_err);
	s = take(SEEN_EVENT, p.eb);
	assert_int_equal(s.event, DAPL_CM_DISCONNECTED);
	assert_true(s.in_err);
	assert_int_equal(cma_ops.disconnect(p.ca), -ENOTCONN);
}

CASE_AGAIN(disconnect__by_active_side,
	   CASE_ROW(disconnect__by_active_side, ".iwarp", setup, teardown,
		    &iwarp_connected))

T(cma_disconnect__by_both_at_once, ROCE, CONNECTED)
{
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	cma_ops.disconnect(p.cb); /* may be late: the peer's has arrived */
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

T(disconnect__twice_is_one, ROCE, CONNECTED)
{
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	assert_int_equal(ep_state(p.ea), IBV_QPS_ERR);
}

static struct cma *cma_a(void)
{
	return (struct cma *)world.a.cm;
}

/* rdma_cm could not say so even once, and tells nobody. */
T(disconnect__goodbye_has_no_end, ROCE, CONNECTED)
{
	cma_a()->goodbye_ms = 20;
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
}

T(disconnect__inside_established_upcall, ROCE, LISTENING)
{
	struct seen s;

	p.ea->hang_up = true;
	pair_ask(&p, NULL, 0);
	pair_accept(&p, NULL, 0);
	take_event(p.ea, DAPL_CM_ESTABLISHED);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	s = take(SEEN_EVENT, p.eb);
	if (s.event == DAPL_CM_ESTABLISHED)
		s = take(SEEN_EVENT, p.eb);
	assert_int_equal(s.event, DAPL_CM_DISCONNECTED);
}

/* DREQ shows that the peer was connected, whatever became of its RTU. */
T(disconnect__rtu_lost, ROCE, MET)
{
	fv_cm_set(FV_CM_LOSE_RTU, 1);
	pair_accept(&p, NULL, 0);
	take_event(p.ea, DAPL_CM_ESTABLISHED);
	assert_int_equal(pending(SEEN_EVENT, p.eb), 0);
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	take_event(p.eb, DAPL_CM_ESTABLISHED);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
	assert_int_equal(ep_state(p.eb), IBV_QPS_ERR);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
}

T(disconnect__rtu_lost_and_released, ROCE, MET)
{
	fv_cm_set(FV_CM_LOSE_RTU, 1);
	pair_accept(&p, NULL, 0);
	take_event(p.ea, DAPL_CM_ESTABLISHED);
	leave_b();
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
}

T(disconnect__call_fails, ROCE, CONNECTED)
{
	fv_fail_call("rdma_disconnect", 1, EINVAL);
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	leave_a();
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

/* What A's questions are answered with, beside what connections are told. */
static enum fv_verdict count_answers(struct rdma_cm_event *ev, void *arg)
{
	if (ev->event == RDMA_CM_EVENT_REJECTED)
		sem_post(arg);
	return FV_DELIVER;
}

/* A asks each 60 ms, and B never; A has its N-th answer. */
static void ask_and_connect(sem_t *answers, int n)
{
	sem_init(answers, 0, 0);
	fv_cm_hook(count_answers, answers);
	cma_a()->alive.interval_ms = 60;
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	while (n--)
		sem_wait(answers);
}

T(alive__host_answers, ROCE, MET)
{
	sem_t answers;

	ask_and_connect(&answers, 5);
	assert_int_equal(pending(SEEN_EVENT, p.ea), 0);
	assert_int_equal(ep_state(p.ea), IBV_QPS_RTS);
}

T(alive__host_vanishes, ROCE, MET)
{
	sem_t answers;

	ask_and_connect(&answers, 1);
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	take_event(p.ea, DAPL_CM_BROKEN);
	assert_int_equal(ep_state(p.ea), IBV_QPS_ERR);
	assert_int_equal(cma_ops.disconnect(p.ca), -ENOTCONN);
	/* It was there after all. */
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

/* The kernel does so when the host's hardware address is another. */
T(unreachable__peer_is_told, ROCE, CONNECTED)
{
	fv_cm_inject(dapl_container_of(p.ca, struct cma_conn, base)->id,
		     RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

static enum fv_verdict count_ends(struct rdma_cm_event *ev, void *arg)
{
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED)
		++*(int *)arg;
	return FV_DELIVER;
}

/*
 * The goodbye to a host that may come back goes on when the consumer has let
 * go: its id, which rdma_cm repeats it for, is there until rdma_cm gives up.
 */
T(alive__goodbye_goes_on, ROCE, MET)
{
	sem_t answers;
	int ends = 0;

	ask_and_connect(&answers, 1);
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	take_event(p.ea, DAPL_CM_BROKEN);
	leave_a();
	dapl_loop_barrier(world.a.loop);
	fv_cm_hook(count_ends, &ends);
	fv_cm_give_up();
	assert_int_equal(ends, 1);
}

/* Nor does another hardware address of the host end it. */
T(unreachable__goodbye_goes_on, ROCE, CONNECTED)
{
	struct rdma_cm_id *id =
		dapl_container_of(p.ca, struct cma_conn, base)->id;
	int ends = 0;

	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	fv_cm_inject(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
	fv_cm_inject(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	leave_a();
	fv_cm_inject(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	dapl_loop_barrier(world.a.loop);
	fv_cm_hook(count_ends, &ends);
	fv_cm_give_up();
	assert_int_equal(ends, 1);
}

struct past {
	struct dapl_timer timer;
	sem_t sem;
};

static void is_past(struct dapl_timer *timer)
{
	sem_post(&dapl_container_of(timer, struct past, timer)->sem);
}

T(release__goodbye_has_no_end, ROCE, CONNECTED)
{
	struct past past;
	int ends = 0;

	cma_a()->goodbye_ms = 20;
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	leave_a();
	sem_init(&past.sem, 0, 0);
	dapl_timer_init(&past.timer, is_past);
	assert_int_equal(dapl_timer_arm(world.a.loop, &past.timer,
					dapl_now_us() + 20000),
			 0);
	sem_wait(&past.sem);
	dapl_loop_barrier(world.a.loop);
	/* Of an id that is still there there would be an event. */
	fv_cm_hook(count_ends, &ends);
	fv_cm_give_up();
	assert_int_equal(ends, 0);
}

T(alive__host_vanishes_while_disconnecting, ROCE, MET)
{
	sem_t answers;

	ask_and_connect(&answers, 1);
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	assert_int_equal(cma_ops.disconnect(p.ca), 0);
	take_event(p.ea, DAPL_CM_DISCONNECTED);
}

T(alive__address_not_found_any_more, ROCE, MET)
{
	sem_t answers;

	ask_and_connect(&answers, 1);
	fv_cm_set(FV_CM_ADDR_ERROR, -ETIMEDOUT);
	take_event(p.ea, DAPL_CM_BROKEN);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

/* Less than what makes a host count as vanished. */
T(alive__answer_after_silence, ROCE, MET)
{
	sem_t answers;

	ask_and_connect(&answers, 1);
	fv_fail_call("rdma_connect", 1, EHOSTUNREACH);
	for (int i = 0; i < 3; i++)
		sem_wait(&answers);
	assert_int_equal(pending(SEEN_EVENT, p.ea), 0);
}

/* Who has never answered is not judged: an endpoint asks on. */
static enum fv_verdict drop_answers(struct rdma_cm_event *ev, void *arg)
{
	if (ev->event != RDMA_CM_EVENT_REJECTED)
		return FV_DELIVER;
	sem_post(arg);
	return FV_DROP;
}

T(alive__host_that_never_answers, ROCE, MET)
{
	sem_t asked;

	sem_init(&asked, 0, 0);
	fv_cm_hook(drop_answers, &asked);
	cma_a()->alive.interval_ms = 30;
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	for (int i = 0; i < 12; i++)
		sem_wait(&asked);
	assert_int_equal(pending(SEEN_EVENT, p.ea), 0);
	assert_int_equal(ep_state(p.ea), IBV_QPS_RTS);
}

/* One question for a host, however many its connections: all of them end. */
T(alive__all_connections_of_a_host, ROCE, MET)
{
	struct dapl_ep *ep = ep_new(&world.a);
	struct dapl_cm_conn *second;
	sem_t answers;

	ask_and_connect(&answers, 1);
	second = begin(ep, QUAL, NULL, 0);
	world_release(take(SEEN_REQUEST, &p.sp).conn);
	take_event(ep, DAPL_CM_NON_PEER_REJECTED);
	finish(second, ep);
	ep_del(ep);
	/* The other one is watched as before. */
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	take_event(p.ea, DAPL_CM_BROKEN);
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

T(alive__released_while_asked, ROCE, MET)
{
	sem_t answers;

	ask_and_connect(&answers, 1);
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	leave_a();
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

/* Where it is not set: what each question costs decides. */
T(alive__default_of_roce, ROCE, APART)
{
	assert_int_equal(cma_a()->alive.interval_ms, 30000);
}

T(alive__default_of_infiniband, IB, APART)
{
	assert_int_equal(cma_a()->alive.interval_ms, 0);
	params_a()->keepalive_ms = 5000;
	cma_alive_start(cma_a());
	assert_int_equal(cma_a()->alive.interval_ms, 5000);
}

T(alive__default_of_iwarp, IWARP, APART)
{
	assert_int_equal(cma_a()->alive.interval_ms, 0);
	params_a()->keepalive_ms = 5000;
	cma_alive_start(cma_a());
	assert_int_equal(cma_a()->alive.interval_ms, 5000);
}

/*
 * Over iWARP it is the system's TCP that asks. The fake devices' addresses are
 * none of this host: what is sent there goes to `host`.
 */
enum {
	HOST_REFUSES,
	HOST_TAKES,
	HOST_SILENT,
	HOST_NO_WAY,
	HOST_UNASKED
};

static struct {
	_Atomic int does;
	_Atomic uint16_t asked_port;
	/* Takes what comes; and one whose queue is full, so that no SYN is
	 * answered.
	 */
	int listener, full, fills[2];
	sem_t asked;
} host;

int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

	if (addr->sa_family != AF_INET ||
	    in->sin_addr.s_addr != inet_addr("10.0.0.1"))
		return __real_bind(fd, addr, len);
	return 0;
}

static int listener_at(struct sockaddr_in *ret_addr, int backlog)
{
	struct sockaddr *addr = (struct sockaddr *)ret_addr;
	socklen_t len = sizeof(*ret_addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(ret_addr, 0, sizeof(*ret_addr));
	ret_addr->sin_family = AF_INET;
	ret_addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(__real_bind(fd, addr, len), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, addr, &len), 0);
	return fd;
}

int __real_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_in to = *(const struct sockaddr_in *)addr;
	int ret;

	if (to.sin_family != AF_INET ||
	    to.sin_addr.s_addr != inet_addr("10.0.0.2"))
		return __real_connect(fd, addr, len);
	host.asked_port = ntohs(to.sin_port);
	len = sizeof(to);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (host.does == HOST_TAKES)
		getsockname(host.listener, (struct sockaddr *)&to, &len);
	if (host.does == HOST_SILENT)
		getsockname(host.full, (struct sockaddr *)&to, &len);
	if (host.does == HOST_NO_WAY || host.does == HOST_UNASKED) {
		errno = host.does == HOST_NO_WAY ? EHOSTUNREACH : EADDRNOTAVAIL;
		ret = -1;
	} else {
		ret = __real_connect(fd, (struct sockaddr *)&to, len);
	}
	sem_post(&host.asked);
	return ret;
}

static void asked_often(int n)
{
	while (n--)
		sem_wait(&host.asked);
}

/* A asks each 60 ms, and was answered; from now on the host DOES so. */
static void host_begin(int does)
{
	struct sockaddr_in to;
	int i;

	sem_init(&host.asked, 0, 0);
	host.does = HOST_REFUSES;
	host.listener = listener_at(&to, 100);
	host.full = listener_at(&to, 0);
	for (i = 0; i < 2; i++) {
		host.fills[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		__real_connect(host.fills[i], (struct sockaddr *)&to,
			       sizeof(to));
	}
	cma_a()->alive.interval_ms = 60;
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	asked_often(3);
	assert_int_equal(host.asked_port, 0);
	host.does = does;
}

static void host_end(void)
{
	close(host.listener);
	close(host.full);
	close(host.fills[0]);
	close(host.fills[1]);
	sem_destroy(&host.asked);
}

static void a_leaves_host(void)
{
	leave_a();
	take_event(p.eb, DAPL_CM_DISCONNECTED);
	host_end();
}

static void host_is_there(void)
{
	asked_often(10);
	assert_int_equal(pending(SEEN_EVENT, p.ea), 0);
	assert_int_equal(ep_state(p.ea), IBV_QPS_RTS);
	a_leaves_host();
}

static void host_is_gone(void)
{
	take_event(p.ea, DAPL_CM_BROKEN);
	assert_int_equal(ep_state(p.ea), IBV_QPS_ERR);
	/* It was there after all. */
	take_event(p.eb, DAPL_CM_DISCONNECTED);
	host_end();
}

T(alive__iwarp_host_refuses, IWARP, MET)
{
	host_begin(HOST_REFUSES);
	host_is_there();
}

T(alive__iwarp_host_takes, IWARP, MET)
{
	host_begin(HOST_TAKES);
	host_is_there();
}

T(alive__iwarp_host_vanishes, IWARP, MET)
{
	host_begin(HOST_SILENT);
	host_is_gone();
}

T(alive__iwarp_no_way_any_more, IWARP, MET)
{
	host_begin(HOST_NO_WAY);
	host_is_gone();
}

/* What is missing here says nothing of the host. */
T(alive__iwarp_cannot_be_asked, IWARP, MET)
{
	host_begin(HOST_UNASKED);
	host_is_there();
}

T(alive__iwarp_released_while_asked, IWARP, MET)
{
	host_begin(HOST_SILENT);
	asked_often(2);
	a_leaves_host();
}

/* The adapter closes while a question is under way. */
T(alive__iwarp_stopped_while_asked, IWARP, MET)
{
	host_begin(HOST_SILENT);
	asked_often(2);
	cma_ops.stop(world.a.cm);
	take(SEEN_GONE, p.ea);
	a_leaves_host();
}

T(alive__off, ROCE, MET)
{
	cma_a()->alive.interval_ms = 0;
	pair_accept(&p, NULL, 0);
	pair_established(&p);
	/* No descriptor, no timer: nothing was begun. */
	assert_null(cma_a()->alive.chan);
	assert_true(dapl_list_empty(&cma_a()->alive.base.peers));
}

T(removal__of_device, ROCE, CONNECTED)
{
	fv_cm_device_removal(world.a.dev.ctx->device);
	take_event(p.ea, DAPL_CM_BROKEN);
	assert_int_equal(cma_ops.disconnect(p.ca), -ENOTCONN);
	leave_a();
	take_event(p.eb, DAPL_CM_DISCONNECTED);
}

T(removal__while_listening_and_connecting, ROCE, APART)
{
	struct dapl_sp sp = {.side = &world.a};
	struct dapl_cm_listener *l = listen_on(&sp, QUAL);
	struct dapl_ep *ep = ep_new(&world.a);
	struct dapl_cm_conn *conn;

	fv_cm_set(FV_CM_BLACKHOLE, 1);
	conn = begin(ep, QUAL, NULL, 0);
	fv_cm_device_removal(world.a.dev.ctx->device);
	take_event(ep, DAPL_CM_BROKEN);
	finish(conn, ep);
	unlisten(&sp, l);
	ep_del(ep);
}

T(prepare__nth_call_fails, ROCE, APART)
{
	struct dapl_ep *ep;
	struct seen s;
	bool failed;
	int ret;

	for (unsigned n = 1;; n++) {
		struct sockaddr_storage addr;
		struct dapl_cm_connect req = {.addr = (struct sockaddr *)&addr,
					      .qual = QUAL};
		struct dapl_cm_conn *conn;

		peer_b(&addr);
		ep = ep_new(&world.a);
		req.qp = ep->cfg;
		fv_fail_at(n, ENOMEM);
		assert_int_equal(cma_ops.prepare(world.a.cm, ep, &conn), 0);
		ep->refs++;
		ret = cma_ops.connect(conn, &req);
		if (!ret) {
			s = take(SEEN_EVENT, ep);
			assert_int_not_equal(s.event, DAPL_CM_ESTABLISHED);
		}
		finish(conn, ep);
		failed = fv_fail_hit();
		fv_fail_at(0, 0);
		ep_del(ep);
		if (!failed)
			break;
		assert_true(n < 100);
	}
}

T(establish__nth_call_fails, ROCE, APART)
{
	struct seen s;
	bool failed;

	for (unsigned n = 1;; n++) {
		int ret;

		pair_meet(&world, &p, QUAL);
		fv_fail_at(n, ENOMEM);
		ret = cma_ops.accept(p.cb, &p.eb->cfg, p.eb, NULL, 0);
		if (ret) {
			world_release(p.cb);
			take_event(p.ea, DAPL_CM_NON_PEER_REJECTED);
		} else {
			p.eb->refs++;
			s = take(SEEN_EVENT, p.ea);
			if (s.event == DAPL_CM_ESTABLISHED)
				take_event(p.eb, DAPL_CM_ESTABLISHED);
			else
				take_event(p.eb, DAPL_CM_ACCEPT_FAILED);
		}
		failed = fv_fail_hit();
		fv_fail_at(0, 0);
		finish(p.ca, p.ea);
		if (!ret)
			finish(p.cb, p.eb);
		/* One side may have heard of the other's release. */
		if (pending(SEEN_EVENT, p.eb))
			take_event(p.eb, DAPL_CM_DISCONNECTED);
		pair_end(&p);
		if (!failed)
			break;
		assert_true(n < 100);
	}
}

#define RUNS	50
#define WORKERS 4

struct worker {
	pthread_t thread;
	int n;
	struct dapl_ep *ea[RUNS], *eb[RUNS];
	struct dapl_cm_conn *ca[RUNS];
};

static struct dapl_sp crowd_sp;

/* Starts attempts and gives up each third at once. */
static void *crowd_active(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < RUNS; i++) {
		w->ca[i] = begin(w->ea[i], QUAL, NULL, 0);
		if (i % 3 == 0)
			world_release(w->ca[i]);
	}
	return NULL;
}

static void crowd_join(struct worker *w)
{
	for (int i = 0; i < WORKERS; i++)
		pthread_join(w[i].thread, NULL);
}

/* Every upcall that has come so far for EP, in any order. */
static int drain(struct dapl_ep *ep)
{
	int n = 0;

	while (pending(SEEN_EVENT, ep)) {
		take(SEEN_EVENT, ep);
		n++;
	}
	return n;
}

/*
 * Many threads begin, abandon and release attempts while the service threads
 * work on their events; requests are answered as they come. Each endpoint must
 * come back exactly once.
 */
T(crowd__begin_and_release, ROCE, APART)
{
	struct worker *w = calloc(WORKERS, sizeof(*w));
	struct dapl_cm_listener *l;

	assert_non_null(w);
	crowd_sp = (struct dapl_sp){.side = &world.b, .refuse = true};
	l = listen_on(&crowd_sp, QUAL);
	for (int t = 0; t < WORKERS; t++)
		for (int i = 0; i < RUNS; i++)
			w[t].ea[i] = ep_new(&world.a);
	for (int t = 0; t < WORKERS; t++)
		assert_int_equal(
			pthread_create(&w[t].thread, NULL, crowd_active, &w[t]),
			0);
	crowd_join(w);
	for (int t = 0; t < WORKERS; t++)
		for (int i = 0; i < RUNS; i++) {
			if (i % 3) {
				take_event(w[t].ea[i],
					   DAPL_CM_NON_PEER_REJECTED);
				world_release(w[t].ca[i]);
			}
			take(SEEN_GONE, w[t].ea[i]);
			assert_true(drain(w[t].ea[i]) <= 1);
			ep_del(w[t].ea[i]);
		}
	unlisten(&crowd_sp, l);
	while (pending(SEEN_REQUEST, &crowd_sp))
		take(SEEN_REQUEST, &crowd_sp);
	free(w);
}

static void *crowd_disconnect(void *arg)
{
	struct dapl_cm_conn **conn = arg;

	for (int i = 0; i < RUNS; i++)
		cma_ops.disconnect(conn[i]);
	return NULL;
}

/* Both ends hang up at the same time, again and again. */
T(crowd__disconnect_from_both_ends, ROCE, APART)
{
	struct dapl_cm_conn *ca[RUNS], *cb[RUNS];
	struct pair pairs[RUNS];
	pthread_t ta, tb;

	for (int i = 0; i < RUNS; i++) {
		pair_open(&world, &pairs[i], QUAL);
		ca[i] = pairs[i].ca;
		cb[i] = pairs[i].cb;
	}
	assert_int_equal(pthread_create(&ta, NULL, crowd_disconnect, ca), 0);
	assert_int_equal(pthread_create(&tb, NULL, crowd_disconnect, cb), 0);
	pthread_join(ta, NULL);
	pthread_join(tb, NULL);
	for (int i = 0; i < RUNS; i++) {
		take_event(pairs[i].ea, DAPL_CM_DISCONNECTED);
		take_event(pairs[i].eb, DAPL_CM_DISCONNECTED);
		pair_close(&pairs[i]);
	}
}

RUN_CASES(NULL, NULL)
