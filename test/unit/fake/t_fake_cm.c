/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_fake_cm.c: the fake rdma_cm behaves as librdmacm and the kernel do.
 * Queue pairs are external (id->qp NULL) unless a case says otherwise.
 * Threads: one case blocks in rdma_get_cm_event from a second thread.
 * The fixture takes two sides, A and B, as far as a case asks for.
 * Ownership: every case must destroy what it made beside them; teardown asserts
 * it.
 * Rules: rdma_cm man pages; private data sizes of the IP port space.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_test.h"
#include "fake_verbs.h"

#define PORT 7000

/* one side: a device, a channel, a queue pair of its own */
struct side {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id; /* of the connection */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct side a, b; /* on fake0 and fake1: asks, and is asked */
static struct rdma_cm_id *listener;

/* How far the fixture goes. */
enum stage {
	DEVICES,
	SIDES,	   /* no ids but the channels */
	RESOLVED,  /* A has an address and a route; nobody listens */
	REQUESTED, /* A's request waits for B to read it */
	TAKEN,	   /* B has read it */
	CONNECTED,
};

struct fixture {
	enum fv_kind kind;
	enum stage stage;
};

static struct sockaddr_storage addr4(const char *text, int port)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)port);
	assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
	return ss;
}

static struct sockaddr_storage addr6(const char *text, int port, uint32_t scope)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)port);
	in6->sin6_scope_id = scope;
	assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	return ss;
}

static int bind_to(struct rdma_cm_id *id, struct sockaddr_storage ss)
{
	return rdma_bind_addr(id, (struct sockaddr *)&ss);
}

static int bind4(struct rdma_cm_id *id, const char *text, int port)
{
	return bind_to(id, addr4(text, port));
}

static struct rdma_cm_id *new_id(struct rdma_event_channel *ch)
{
	struct rdma_cm_id *id = NULL;

	assert_ok(rdma_create_id(ch, &id, ch, RDMA_PS_TCP));
	return id;
}

static void side_qp(struct side *s)
{
	struct ibv_qp_init_attr in = {.cap = {.max_send_wr = 4,
					      .max_recv_wr = 4,
					      .max_send_sge = 1,
					      .max_recv_sge = 1},
				      .send_cq = s->cq,
				      .recv_cq = s->cq,
				      .qp_type = IBV_QPT_RC};

	s->qp = ibv_create_qp(s->pd, &in);
	assert_non_null(s->qp);
}

static void side_open(struct side *s, int dev)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	memset(s, 0, sizeof(*s));
	s->ch = rdma_create_event_channel();
	s->ctx = ibv_open_device(list[dev]);
	ibv_free_device_list(list);
	s->pd = ibv_alloc_pd(s->ctx);
	s->cq = ibv_create_cq(s->ctx, 16, NULL, NULL, 0);
	side_qp(s);
	/* a channel that has nothing to say must not hang the test */
	assert_ok(fcntl(s->ch->fd, F_SETFL, O_NONBLOCK));
}

static void side_close(struct side *s)
{
	if (s->id)
		assert_ok(rdma_destroy_id(s->id));
	assert_ok(ibv_destroy_qp(s->qp));
	assert_ok(ibv_destroy_cq(s->cq));
	assert_ok(ibv_dealloc_pd(s->pd));
	assert_ok(ibv_close_device(s->ctx));
	rdma_destroy_event_channel(s->ch);
}

static struct rdma_cm_event *take(struct rdma_event_channel *ch,
				  enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *ev = NULL;

	assert_ok(rdma_get_cm_event(ch, &ev));
	assert_int_equal(ev->event, type);
	assert_int_equal(ev->status, status);
	return ev;
}

static void expect(struct side *s, enum rdma_cm_event_type type, int status)
{
	assert_ok(rdma_ack_cm_event(take(s->ch, type, status)));
}

static void expect_silence(struct side *s)
{
	struct rdma_cm_event *ev;

	assert_errno(rdma_get_cm_event(s->ch, &ev), EAGAIN);
}

static int move_qp(struct side *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask;

	if (rdma_init_qp_attr(s->id, &attr, &mask))
		return errno;
	return ibv_modify_qp(s->qp, &attr, mask);
}

static void move_all(struct side *s)
{
	assert_ok(move_qp(s, IBV_QPS_INIT));
	assert_ok(move_qp(s, IBV_QPS_RTR));
	assert_ok(move_qp(s, IBV_QPS_RTS));
}

static struct rdma_conn_param param(struct side *s, const void *data,
				    uint8_t len)
{
	struct rdma_conn_param p = {.private_data = data,
				    .private_data_len = len,
				    .responder_resources = 3,
				    .initiator_depth = 5,
				    .retry_count = 7,
				    .rnr_retry_count = 7,
				    .qp_num = s->qp->qp_num};
	return p;
}

/* A gets an address and a route to B. */
static void resolve(void)
{
	struct sockaddr_storage from = addr4("10.0.0.1", 0);
	struct sockaddr_storage to = addr4("10.0.0.2", PORT);

	a.id = new_id(a.ch);
	assert_ok(rdma_resolve_addr(a.id, (struct sockaddr *)&from,
				    (struct sockaddr *)&to, 1000));
	expect(&a, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ok(rdma_resolve_route(a.id, 1000));
	expect(&a, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static void ask(const void *data, uint8_t len)
{
	struct rdma_conn_param p = param(&a, data, len);

	assert_ok(rdma_connect(a.id, &p));
}

static void listen_at_b(int backlog)
{
	listener = new_id(b.ch);
	assert_ok(bind4(listener, "10.0.0.2", PORT));
	assert_ok(rdma_listen(listener, backlog));
}

/* a request of A's, which waits at B */
static void request(const void *data, uint8_t len)
{
	listen_at_b(0);
	resolve();
	ask(data, len);
}

static void take_request(void)
{
	struct rdma_cm_event *ev = take(b.ch, RDMA_CM_EVENT_CONNECT_REQUEST, 0);

	b.id = ev->id;
	assert_ptr_equal(ev->listen_id, listener);
	assert_ok(rdma_ack_cm_event(ev));
}

static void accept_it(void)
{
	struct rdma_conn_param p = param(&b, NULL, 0);

	assert_ok(rdma_accept(b.id, &p));
}

static void become_connected(void)
{
	if (b.ctx->device->transport_type == IBV_TRANSPORT_IWARP) {
		accept_it();
		expect(&a, RDMA_CM_EVENT_ESTABLISHED, 0);
		expect(&b, RDMA_CM_EVENT_ESTABLISHED, 0);
		return;
	}
	move_all(&b);
	accept_it();
	expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	move_all(&a);
	assert_ok(rdma_establish(a.id));
	expect(&b, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void sides_open(void)
{
	side_open(&a, 0);
	side_open(&b, 1);
}

static void sides_close(void)
{
	if (listener)
		assert_ok(rdma_destroy_id(listener));
	listener = NULL;
	side_close(&a);
	side_close(&b);
}

static int setup(void **state)
{
	const struct fixture *fixture = *state;

	fv_reset();
	fv_devices_default(fixture->kind, 2);
	listener = NULL;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (fixture->stage >= SIDES)
		sides_open();
	if (fixture->stage == RESOLVED)
		resolve();
	if (fixture->stage >= REQUESTED)
		request(NULL, 0);
	if (fixture->stage >= TAKEN)
		take_request();
	if (fixture->stage >= CONNECTED)
		become_connected();
	return 0;
}

static int teardown(void **state)
{
	if (a.ctx)
		sides_close();
	return fv_nothing_left(state);
}

#define T(name, kind, stage)                                          \
	static const struct fixture name##_from = {FV_##kind, stage}; \
	CASE_OF(name, void *no_state,                                 \
		CASE_ROW(name, "", setup, teardown, &name##_from))

/* ---- addresses ---- */

T(bind_addr__shows_device_and_port, IB, SIDES)
{
	a.id = new_id(a.ch);
	assert_null(a.id->verbs);
	assert_ok(bind4(a.id, "10.0.0.2", 0));
	assert_string_equal(a.id->verbs->device->name, "fake1");
	assert_int_equal(a.id->port_num, 1);
	assert_true(rdma_get_src_port(a.id) != 0);
	assert_errno(bind4(a.id, "10.0.0.2", 0), EINVAL);
}

T(bind_addr__not_an_rdma_address, IB, SIDES)
{
	struct sockaddr sa = {.sa_family = AF_UNIX};

	a.id = new_id(a.ch);
	fv_cm_host_addr("192.168.1.1");
	assert_errno(bind4(a.id, "192.168.1.1", 0), ENODEV);
	assert_errno(bind4(a.id, "127.0.0.1", 0), ENODEV);
	assert_errno(bind4(a.id, "192.168.1.2", 0), EADDRNOTAVAIL);
	assert_errno(rdma_bind_addr(a.id, &sa), EAFNOSUPPORT);
	assert_ok(bind4(a.id, "0.0.0.0", PORT));
	assert_null(a.id->verbs);
}

T(bind_addr__ipv6_and_link_local_scope, IB, SIDES)
{
	struct fv_device_cfg cfg;

	a.id = new_id(a.ch);
	fv_device_cfg_init(&cfg, FV_ROCE, "six", "fd00::7");
	cfg.port[0].addr[1] = "fe80::7";
	cfg.port[0].scope_id = 3;
	fv_device_add(&cfg);
	assert_errno(bind_to(a.id, addr6("fe80::7", 0, 0)), EINVAL);
	assert_int_equal(bind_to(a.id, addr6("fe80::7", 0, 4)), -1);
	assert_ok(bind_to(a.id, addr6("fe80::7", 0, 3)));
	assert_string_equal(a.id->verbs->device->name, "six");
	assert_ok(rdma_destroy_id(a.id));
	a.id = new_id(a.ch);
	assert_ok(bind_to(a.id, addr6("fd00::7", PORT, 0)));
	assert_int_equal(ntohs(rdma_get_src_port(a.id)), PORT);
}

T(bind_addr__port_in_use, IB, SIDES)
{
	struct rdma_cm_id *first = new_id(a.ch), *second = new_id(a.ch);

	assert_ok(bind4(first, "10.0.0.1", PORT));
	assert_errno(bind4(second, "10.0.0.1", PORT), EADDRINUSE);
	assert_errno(bind4(second, "0.0.0.0", PORT), EADDRINUSE);
	assert_ok(bind4(second, "10.0.0.2", PORT));
	assert_ok(rdma_destroy_id(first));
	a.id = new_id(a.ch);
	assert_ok(bind4(a.id, "10.0.0.1", PORT));
	assert_ok(rdma_destroy_id(second));
}

T(resolve_addr__nobody_and_silence, IB, SIDES)
{
	struct sockaddr_storage far = addr4("10.9.9.9", PORT);
	struct sockaddr_storage near = addr4("10.0.0.2", PORT);

	a.id = new_id(a.ch);
	assert_ok(bind4(a.id, "10.0.0.1", 0));
	assert_errno(rdma_resolve_route(a.id, 10), EINVAL);
	assert_ok(rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&far, 10));
	expect(&a, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	/* it may be tried again */
	assert_ok(rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&near, 10));
	expect(&a, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	fv_cm_set(FV_CM_ROUTE_SILENT, 1);
	assert_ok(rdma_resolve_route(a.id, 10));
	expect_silence(&a);
}

T(channel__empty_and_pollable, IB, SIDES)
{
	struct sockaddr_storage near = addr4("10.0.0.2", PORT);
	struct pollfd pfd = {.events = POLLIN};

	expect_silence(&a);
	pfd.fd = a.ch->fd;
	assert_int_equal(poll(&pfd, 1, 0), 0);
	a.id = new_id(a.ch);
	rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&near, 10);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	/* the library tells the id its device only when the event is read */
	assert_null(a.id->verbs);
	expect(&a, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_non_null(a.id->verbs);
	assert_int_equal(poll(&pfd, 1, 0), 0);
}

static void *blocking_reader(void *arg)
{
	struct rdma_cm_event *ev = NULL;
	struct side *s = arg;

	if (!rdma_get_cm_event(s->ch, &ev))
		rdma_ack_cm_event(ev);
	return ev ? s : NULL;
}

T(channel__blocking_reader_wakes, IB, SIDES)
{
	struct sockaddr_storage near = addr4("10.0.0.2", PORT);
	void *got = NULL;
	pthread_t t;

	assert_ok(fcntl(a.ch->fd, F_SETFL, 0));
	a.id = new_id(a.ch);
	assert_ok(pthread_create(&t, NULL, blocking_reader, &a));
	rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&near, 10);
	assert_ok(pthread_join(t, &got));
	assert_ptr_equal(got, &a);
}

/* ---- connecting, InfiniBand ---- */

T(connect__57_bytes_are_too_many, IB, RESOLVED)
{
	char data[57] = {0};
	struct rdma_conn_param p = param(&a, data, 57);

	assert_errno(rdma_connect(a.id, &p), EINVAL);
	p.private_data_len = 56;
	p.initiator_depth = 17; /* more than the device has */
	assert_errno(rdma_connect(a.id, &p), EINVAL);
	p.initiator_depth = 1;
	assert_ok(rdma_connect(a.id, &p));
	assert_int_equal(rdma_connect(a.id, &p), -1);
}

T(fake_cm_connect__nobody_listens, IB, RESOLVED)
{
	struct rdma_cm_event *ev;

	ask(NULL, 0);
	ev = take(a.ch, RDMA_CM_EVENT_REJECTED, 8);
	assert_int_equal(ev->param.conn.private_data_len, 148);
	rdma_ack_cm_event(ev);
}

T(connect__swallowed, IB, RESOLVED)
{
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	ask(NULL, 0);
	expect_silence(&a);
	fv_cm_give_up();
	expect(&a, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}

T(accept__too_long_rejects, IB, TAKEN)
{
	char data[197] = {0};
	struct rdma_conn_param p = param(&b, data, 197);

	assert_errno(rdma_accept(b.id, &p), EINVAL);
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
}

T(reject__only_once, IB, TAKEN)
{
	assert_ok(rdma_reject(b.id, NULL, 0));
	assert_int_equal(rdma_reject(b.id, NULL, 0), -1);
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
}

T(reject__request_id_destroyed_or_never_read, IB, TAKEN)
{
	assert_ok(rdma_destroy_id(b.id));
	b.id = NULL;
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
	sides_close();
	sides_open();

	request(NULL, 0);
	assert_ok(rdma_destroy_id(listener));
	listener = NULL;
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
}

T(request__client_gone_before_accept, IB, TAKEN)
{
	struct rdma_conn_param p = param(&b, NULL, 0);

	assert_ok(rdma_destroy_id(a.id));
	a.id = NULL;
	expect(&b, RDMA_CM_EVENT_REJECTED, 4);
	assert_errno(rdma_accept(b.id, &p), EINVAL);
}

T(listen__backlog_overflow, IB, SIDES)
{
	struct rdma_cm_id *first;

	listen_at_b(1);
	resolve();
	ask(NULL, 0);
	first = a.id;
	resolve();
	ask(NULL, 0);
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
	/* once the first request is read there is room again */
	take_request();
	assert_ok(rdma_destroy_id(a.id));
	resolve();
	ask(NULL, 0);
	expect_silence(&a);
	assert_ok(rdma_destroy_id(first));
}

T(establish__wrong_moment, IB, REQUESTED)
{
	assert_errno(rdma_establish(a.id), EINVAL);
	assert_ok(move_qp(&a, IBV_QPS_INIT));
	assert_int_equal(move_qp(&a, IBV_QPS_RTR), EINVAL);
}

T(notify__comm_est_replaces_a_lost_rtu, IB, TAKEN)
{
	move_all(&b);
	accept_it();
	expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	move_all(&a);
	fv_cm_set(FV_CM_LOSE_RTU, 1);
	assert_ok(rdma_establish(a.id));
	expect_silence(&b);
	assert_ok(rdma_notify(b.id, IBV_EVENT_COMM_EST));
	expect(&b, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_errno(rdma_notify(b.id, IBV_EVENT_COMM_EST), EISCONN);
}

T(init_qp_attr__masks_and_values, ROCE, TAKEN)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_INIT};
	uint8_t tos = 0x20;
	int mask;

	assert_ok(rdma_set_option(b.id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
				  &tos, 1));
	assert_errno(rdma_set_option(b.id, RDMA_OPTION_ID, 99, &tos, 1),
		     ENOSYS);
	assert_ok(rdma_init_qp_attr(b.id, &at, &mask));
	assert_int_equal(mask, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS |
				       IBV_QP_PKEY_INDEX | IBV_QP_PORT);
	assert_int_equal(at.qp_access_flags, IBV_ACCESS_REMOTE_WRITE |
						     IBV_ACCESS_REMOTE_READ |
						     IBV_ACCESS_REMOTE_ATOMIC);
	at.qp_state = IBV_QPS_RTR;
	assert_ok(rdma_init_qp_attr(b.id, &at, &mask));
	assert_int_equal(mask, 0x129181);
	assert_int_equal(at.dest_qp_num, a.qp->qp_num);
	assert_int_equal(at.max_dest_rd_atomic, 5);
	assert_int_equal(at.min_rnr_timer, 0);
	assert_int_equal(at.ah_attr.is_global, 1);
	assert_int_equal(at.ah_attr.grh.sgid_index, 3);
	assert_int_equal(at.ah_attr.grh.hop_limit, 64);
	assert_int_equal(at.ah_attr.grh.traffic_class, 0x20);
	at.qp_state = IBV_QPS_RTS;
	assert_ok(rdma_init_qp_attr(b.id, &at, &mask));
	assert_int_equal(mask, 0x12e01);
	assert_int_equal(at.timeout, 19);
	assert_int_equal(at.rnr_retry, 7);
	assert_int_equal(at.max_rd_atomic, 3);
}

/* ---- disconnecting, InfiniBand ---- */

T(disconnect__initiator_hears_when_peer_answers, IB, CONNECTED)
{
	assert_ok(rdma_disconnect(a.id));
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_silence(&a);
	assert_ok(rdma_disconnect(b.id));
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(&a, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	expect(&b, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	/* again is harmless, and external QPs are not touched */
	assert_ok(rdma_disconnect(a.id));
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_RTS);
	expect_silence(&a);
}

T(disconnect__before_connect, IB, SIDES)
{
	a.id = new_id(a.ch);
	assert_errno(rdma_disconnect(a.id), EINVAL);
}

T(disconnect__request_lost, IB, CONNECTED)
{
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	assert_ok(rdma_disconnect(a.id));
	expect_silence(&a);
	expect_silence(&b);
	fv_cm_give_up();
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT);
	expect(&a, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	expect_silence(&b);
}

/* ---- iWARP ---- */

T(iwarp__reject_and_refuse, IWARP, TAKEN)
{
	struct rdma_cm_event *ev;
	struct rdma_conn_param p = param(&a, NULL, 0);

	assert_ok(rdma_reject(b.id, "no", 2));
	ev = take(a.ch, RDMA_CM_EVENT_REJECTED, -ECONNRESET);
	assert_int_equal(ev->param.conn.private_data_len, 2);
	rdma_ack_cm_event(ev);
	assert_ok(rdma_destroy_id(listener));
	listener = NULL;
	assert_ok(rdma_destroy_id(a.id));
	resolve();
	fv_cm_set(FV_CM_REFUSE_SYNC, 1);
	assert_errno(rdma_connect(a.id, &p), ECONNREFUSED);
	fv_cm_set(FV_CM_REFUSE_SYNC, 0);
	assert_ok(rdma_connect(a.id, &p));
	expect(&a, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED);
}

T(iwarp__unknown_queue_pair, IWARP, RESOLVED)
{
	struct rdma_conn_param p = param(&a, NULL, 0);

	p.qp_num = 0x7777;
	assert_errno(rdma_connect(a.id, &p), EINVAL);
}

T(iwarp__disconnect_is_both_at_once, IWARP, CONNECTED)
{
	assert_ok(rdma_disconnect(a.id));
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(fv_qp_state(b.qp), IBV_QPS_ERR);
	assert_errno(rdma_disconnect(b.id), EINVAL);
	expect_silence(&a);
}

T(iwarp__number_that_was_anothers, IWARP, TAKEN)
{
	struct rdma_conn_param p = param(&b, NULL, 0);
	uint32_t num = a.qp->qp_num;

	assert_ok(ibv_destroy_qp(a.qp));
	side_qp(&a);
	assert_int_equal(a.qp->qp_num, num);
	assert_ok(rdma_accept(b.id, &p));
	expect(&a, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect(&b, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_RESET);
}

/* siw's way: the kernel says that it is up, and nothing moves. */
T(iwarp__a_queue_pair_in_error_stays_there, IWARP, TAKEN)
{
	struct rdma_conn_param p = param(&b, NULL, 0);
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_ERR};

	assert_ok(ibv_modify_qp(a.qp, &at, IBV_QP_STATE));
	assert_ok(rdma_accept(b.id, &p));
	expect(&a, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect(&b, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_ERR);
	assert_int_equal(fv_qp_state(b.qp), IBV_QPS_RTS);
}

T(iwarp__to_error_again_flushes, IWARP, CONNECTED)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_ERR};
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;

	fv_device_cfg_get(a.ctx->device)->err_recv_stays = true;
	assert_ok(rdma_disconnect(a.id));
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_ok(ibv_post_recv(a.qp, &wr, &bad));
	assert_int_equal(fv_cq_depth(a.cq), 0);
	assert_ok(ibv_modify_qp(a.qp, &at, IBV_QP_STATE));
	assert_int_equal(fv_cq_depth(a.cq), 1);
}

T(iwarp__caller_cannot_go_to_rts, IWARP, RESOLVED)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_INIT};
	int mask;

	assert_ok(rdma_init_qp_attr(a.id, &at, &mask));
	assert_int_equal(mask,
			 IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT);
	assert_ok(ibv_modify_qp(a.qp, &at, mask));
	at.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(a.qp, &at, IBV_QP_STATE), EINVAL);
}

/* ---- ids, channels, events ---- */

static void destroy_id_deadly(void *arg)
{
	struct side *s = arg;
	struct rdma_cm_event *ev;

	rdma_get_cm_event(s->ch, &ev);
	rdma_destroy_id(s->id);
}

T(destroy_id__unacked_event_aborts, IB, SIDES)
{
	a.id = new_id(a.ch);
	fv_cm_inject(a.id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	assert_true(dies(destroy_id_deadly, &a));
	/* unread: gone with the id */
	assert_ok(rdma_destroy_id(a.id));
	a.id = NULL;
	expect_silence(&a);
}

static void destroy_channel_deadly(void *arg)
{
	rdma_destroy_event_channel(arg);
}

T(destroy_channel__with_ids_aborts, IB, SIDES)
{
	a.id = new_id(a.ch);
	assert_true(dies(destroy_channel_deadly, a.ch));
}

T(migrate_id__takes_unread_events_along, IB, SIDES)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	a.id = new_id(a.ch);
	fv_cm_inject(a.id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	assert_ok(rdma_migrate_id(a.id, ch));
	assert_ptr_equal(a.id->channel, ch);
	expect_silence(&a);
	rdma_ack_cm_event(take(ch, RDMA_CM_EVENT_ADDR_CHANGE, 0));
	assert_ok(rdma_destroy_id(a.id));
	a.id = NULL;
	rdma_destroy_event_channel(ch);
}

static enum fv_verdict drop_response(struct rdma_cm_event *ev, void *arg)
{
	const enum fv_verdict *v = arg;

	return ev->event == RDMA_CM_EVENT_CONNECT_RESPONSE ? *v : FV_DELIVER;
}

T(hook__drops_and_holds, IB, TAKEN)
{
	/* Asked until the ids are gone. */
	static enum fv_verdict v;

	v = FV_HOLD;
	fv_cm_hook(drop_response, &v);
	accept_it();
	expect_silence(&a);
	assert_int_equal(fv_cm_release(5), 1);
	expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	sides_close();
	sides_open();
	v = FV_DROP;
	request(NULL, 0);
	take_request();
	accept_it();
	expect_silence(&a);
	assert_int_equal(fv_cm_release(5), 0);
}

T(create_qp__library_moves_it, IB, SIDES)
{
	struct ibv_qp_init_attr in = {.cap = {4, 4, 1, 1, 0},
				      .qp_type = IBV_QPT_RC};
	struct rdma_conn_param p = {.responder_resources = 1};
	struct ibv_cq *cq;
	struct ibv_pd *pd;

	listen_at_b(0);
	resolve();
	pd = ibv_alloc_pd(a.id->verbs);
	cq = ibv_create_cq(a.id->verbs, 8, NULL, NULL, 0);
	in.send_cq = in.recv_cq = cq;
	assert_errno(rdma_create_qp(a.id, a.pd, &in), EINVAL);
	assert_ok(rdma_create_qp(a.id, pd, &in));
	assert_int_equal(fv_qp_state(a.id->qp), IBV_QPS_INIT);
	assert_ok(rdma_connect(a.id, &p));
	take_request();
	move_all(&b);
	accept_it();
	expect(&a, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect(&b, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(fv_qp_state(a.id->qp), IBV_QPS_RTS);
	assert_ok(rdma_disconnect(a.id));
	assert_int_equal(fv_qp_state(a.id->qp), IBV_QPS_ERR);
	rdma_destroy_qp(a.id);
	assert_ok(ibv_destroy_cq(cq));
	assert_ok(ibv_dealloc_pd(pd));
}

T(getaddrinfo__numeric_both_ways, IB, DEVICES)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST | RAI_PASSIVE,
				      .ai_port_space = RDMA_PS_TCP};
	struct rdma_addrinfo *res;
	struct sockaddr_in *in;

	assert_ok(rdma_getaddrinfo("10.0.0.1", "7000", &hints, &res));
	in = (struct sockaddr_in *)res->ai_src_addr;
	assert_int_equal(ntohs(in->sin_port), 7000);
	assert_null(res->ai_dst_addr);
	rdma_freeaddrinfo(res);
	hints.ai_flags = RAI_NUMERICHOST;
	assert_ok(rdma_getaddrinfo("::1", "1", &hints, &res));
	assert_int_equal(res->ai_dst_addr->sa_family, AF_INET6);
	rdma_freeaddrinfo(res);
	assert_true(rdma_getaddrinfo("not numeric", "1", &hints, &res) != 0);
}

T(get_devices__one_context_each, IB, DEVICES)
{
	struct ibv_context **list;
	int n = 0;

	list = rdma_get_devices(&n);
	assert_non_null(list);
	assert_int_equal(n, 2);
	assert_string_equal(list[1]->device->name, "fake1");
	assert_null(list[2]);
	rdma_free_devices(list);
}

/* an exchange in which any call may fail must leave nothing behind */
static bool attempt(void)
{
	struct sockaddr_storage ss = addr4("10.0.0.1", PORT);
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL;
	bool ok = false;

	if (ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP))
		ok = !rdma_bind_addr(id, (struct sockaddr *)&ss) &&
		     !rdma_listen(id, 1);
	if (id)
		rdma_destroy_id(id);
	if (ch)
		rdma_destroy_event_channel(ch);
	return ok;
}

T(fake_cm_fail_at__every_call_once, IB, DEVICES)
{
	unsigned int n;

	for (n = 1; n < 50; n++) {
		bool ok;

		fv_fail_at(n, ENOMEM);
		ok = attempt();
		assert_int_equal(ok, !fv_fail_hit());
		assert_int_equal(fv_live(), 0);
		if (!fv_fail_hit())
			break;
	}
	assert_int_equal(n, 5);
}

RUN_CASES(NULL, NULL)
