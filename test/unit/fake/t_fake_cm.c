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
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_test.h"
#include "fake_verbs.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PORT 7000

/* one side: a device, a channel, a queue pair of its own */
struct side {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id; /* of the connection */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char buf[256];
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

static void side_open(struct side *s, int dev)
{
	struct ibv_qp_init_attr in = {.cap = {.max_send_wr = 4,
					      .max_recv_wr = 4,
					      .max_send_sge = 1,
					      .max_recv_sge = 1},
				      .qp_type = IBV_QPT_RC};
	struct ibv_device **list = ibv_get_device_list(NULL);

	memset(s, 0, sizeof(*s));
	s->ch = rdma_create_event_channel();
	s->ctx = ibv_open_device(list[dev]);
	ibv_free_device_list(list);
	s->pd = ibv_alloc_pd(s->ctx);
	s->cq = ibv_create_cq(s->ctx, 16, NULL, NULL, 0);
	s->mr = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf),
			   IBV_ACCESS_LOCAL_WRITE);
	in.send_cq = in.recv_cq = s->cq;
	s->qp = ibv_create_qp(s->pd, &in);
	assert_non_null(s->qp);
	/* a channel that has nothing to say must not hang the test */
	assert_ok(fcntl(s->ch->fd, F_SETFL, O_NONBLOCK));
}

static void side_close(struct side *s)
{
	if (s->id)
		assert_ok(rdma_destroy_id(s->id));
	assert_ok(ibv_destroy_qp(s->qp));
	assert_ok(ibv_dereg_mr(s->mr));
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

static void send_a_byte(struct side *from, struct side *to)
{
	struct ibv_sge rs = {(uintptr_t)to->buf, 8, to->mr->lkey};
	struct ibv_sge ss = {(uintptr_t)from->buf, 1, from->mr->lkey};
	struct ibv_recv_wr rwr = {.wr_id = 2, .sg_list = &rs, .num_sge = 1};
	struct ibv_send_wr swr = {.wr_id = 1,
				  .sg_list = &ss,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND};
	struct ibv_recv_wr *rbad;
	struct ibv_send_wr *sbad;
	struct ibv_wc wc;

	from->buf[0] = '!';
	assert_ok(ibv_post_recv(to->qp, &rwr, &rbad));
	assert_ok(ibv_post_send(from->qp, &swr, &sbad));
	assert_int_equal(ibv_poll_cq(to->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(to->buf[0], '!');
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
	unsigned int n;

	if (a.ctx)
		sides_close();
	n = fv_live();
	if (n)
		fv_live_dump(stderr);
	fv_reset();
	return n ? -1 : 0;
}

/* ---- addresses ---- */

static void bind_addr__shows_device_and_port(void **state)
{
	a.id = new_id(a.ch);
	assert_null(a.id->verbs);
	assert_ok(bind4(a.id, "10.0.0.2", 0));
	assert_string_equal(a.id->verbs->device->name, "fake1");
	assert_int_equal(a.id->port_num, 1);
	assert_true(rdma_get_src_port(a.id) != 0);
	assert_errno(bind4(a.id, "10.0.0.2", 0), EINVAL);
}

static void bind_addr__not_an_rdma_address(void **state)
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

static void bind_addr__ipv6_and_link_local_scope(void **state)
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

static void bind_addr__port_in_use(void **state)
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

static void resolve_addr__errors_and_silence(void **state)
{
	struct sockaddr_storage far = addr4("10.9.9.9", PORT);
	struct sockaddr_storage near = addr4("10.0.0.2", PORT);

	a.id = new_id(a.ch);
	assert_ok(bind4(a.id, "10.0.0.1", 0));
	assert_errno(rdma_resolve_route(a.id, 10), EINVAL);
	assert_ok(rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&far, 10));
	expect(&a, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	/* it may be tried again */
	fv_cm_set(FV_CM_ADDR_ERROR, -ENETUNREACH);
	assert_ok(rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&near, 10));
	expect(&a, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
	fv_cm_set(FV_CM_ADDR_ERROR, 0);
	assert_ok(rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&near, 10));
	expect(&a, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(a.id->verbs->device->name, "fake0");
	fv_cm_set(FV_CM_ROUTE_ERROR, -ETIMEDOUT);
	assert_ok(rdma_resolve_route(a.id, 10));
	expect(&a, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
	fv_cm_set(FV_CM_ROUTE_ERROR, 0);
	fv_cm_set(FV_CM_ROUTE_SILENT, 1);
	assert_ok(rdma_resolve_route(a.id, 10));
	expect_silence(&a);
}

static void channel__empty_and_pollable(void **state)
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

static void channel__blocking_reader_wakes(void **state)
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

static void connect__full_exchange_moves_data(void **state)
{
	expect_silence(&a);
	send_a_byte(&a, &b);
	send_a_byte(&b, &a);
	assert_int_equal(b.id->port_num, 1);
	assert_ptr_equal(b.id->context, b.ch);
	assert_int_equal(rdma_get_src_port(b.id), htons(PORT));
	assert_int_equal(rdma_get_dst_port(b.id), rdma_get_src_port(a.id));
}

static void connect__request_is_padded_to_56(void **state)
{
	struct rdma_cm_event *ev;
	const uint8_t *d;

	request("abc", 3);
	ev = take(b.ch, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	b.id = ev->id;
	d = ev->param.conn.private_data;
	assert_int_equal(ev->param.conn.private_data_len, 56);
	assert_memory_equal(d, "abc", 3);
	assert_int_equal(d[3], 0);
	assert_int_equal(d[55], 0);
	/* what one side answers the other may ask */
	assert_int_equal(ev->param.conn.responder_resources, 5);
	assert_int_equal(ev->param.conn.initiator_depth, 3);
	assert_int_equal(ev->param.conn.qp_num, a.qp->qp_num);
	rdma_ack_cm_event(ev);
}

static void connect__57_bytes_are_too_many(void **state)
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

static void fake_cm_connect__nobody_listens(void **state)
{
	struct rdma_cm_event *ev;

	ask(NULL, 0);
	ev = take(a.ch, RDMA_CM_EVENT_REJECTED, 8);
	assert_int_equal(ev->param.conn.private_data_len, 148);
	rdma_ack_cm_event(ev);
}

static void connect__told_outcomes(void **state)
{
	static const struct {
		enum fv_cm_option opt;
		int value;
		enum rdma_cm_event_type type;
	} row[] = {
		{FV_CM_UNREACHABLE, -ETIMEDOUT, RDMA_CM_EVENT_UNREACHABLE},
		{FV_CM_REJECT, 24, RDMA_CM_EVENT_REJECTED},
	};

	for (int i = 0; i < 2; i++) {
		resolve();
		fv_cm_set(row[i].opt, row[i].value);
		ask(NULL, 0);
		expect(&a, row[i].type, row[i].value);
		fv_cm_set(row[i].opt, 0);
		assert_ok(rdma_destroy_id(a.id));
	}
	resolve();
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	ask(NULL, 0);
	expect_silence(&a);
	fv_cm_inject(a.id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	expect(&a, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}

static void accept__reply_is_padded_to_196(void **state)
{
	struct rdma_cm_event *ev;
	struct rdma_conn_param p = param(&b, "xy", 2);

	move_all(&b);
	p.responder_resources = 1;
	p.initiator_depth = 2;
	assert_ok(rdma_accept(b.id, &p));
	ev = take(a.ch, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(ev->param.conn.private_data_len, 196);
	assert_memory_equal(ev->param.conn.private_data, "xy", 3);
	assert_int_equal(ev->param.conn.initiator_depth, 1);
	assert_int_equal(ev->param.conn.responder_resources, 2);
	rdma_ack_cm_event(ev);
}

static void accept__too_long_rejects(void **state)
{
	char data[197] = {0};
	struct rdma_conn_param p = param(&b, data, 197);

	assert_errno(rdma_accept(b.id, &p), EINVAL);
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
}

static void fake_cm_reject__by_the_consumer(void **state)
{
	struct rdma_cm_event *ev;

	assert_ok(rdma_reject(b.id, "no", 2));
	ev = take(a.ch, RDMA_CM_EVENT_REJECTED, 28);
	assert_int_equal(ev->param.conn.private_data_len, 148);
	assert_memory_equal(ev->param.conn.private_data, "no", 3);
	rdma_ack_cm_event(ev);
	assert_int_equal(rdma_reject(b.id, NULL, 0), -1);
}

static void reject__request_id_destroyed_or_never_read(void **state)
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

static void request__client_gone_before_accept(void **state)
{
	struct rdma_conn_param p = param(&b, NULL, 0);

	assert_ok(rdma_destroy_id(a.id));
	a.id = NULL;
	expect(&b, RDMA_CM_EVENT_REJECTED, 4);
	assert_errno(rdma_accept(b.id, &p), EINVAL);
}

static void listen__backlog_overflow(void **state)
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

static void establish__wrong_moment(void **state)
{
	assert_errno(rdma_establish(a.id), EINVAL);
	assert_ok(move_qp(&a, IBV_QPS_INIT));
	assert_int_equal(move_qp(&a, IBV_QPS_RTR), EINVAL);
}

static void notify__comm_est_replaces_a_lost_rtu(void **state)
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

static void init_qp_attr__masks_and_values(void **state)
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

static void disconnect__initiator_hears_when_peer_answers(void **state)
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

static void disconnect__before_connect(void **state)
{
	a.id = new_id(a.ch);
	assert_errno(rdma_disconnect(a.id), EINVAL);
}

static void disconnect__destroying_the_id(void **state)
{
	assert_ok(rdma_destroy_id(b.id));
	b.id = NULL;
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_ok(rdma_disconnect(a.id));
}

static void disconnect__request_lost(void **state)
{
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	assert_ok(rdma_disconnect(a.id));
	expect_silence(&a);
	expect_silence(&b);
	fv_cm_inject(a.id, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT);
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT);
}

/* ---- iWARP ---- */

static void iwarp__cm_moves_the_queue_pairs(void **state)
{
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_RTS);
	assert_int_equal(fv_qp_state(b.qp), IBV_QPS_RTS);
	send_a_byte(&a, &b);
	assert_int_equal(rdma_establish(a.id), -1);
}

static void iwarp__private_data_is_exact(void **state)
{
	struct rdma_cm_event *ev;
	char data[200] = {1};
	struct rdma_conn_param p = param(&b, "ok", 2);

	request(data, sizeof(data));
	ev = take(b.ch, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(ev->param.conn.private_data_len, sizeof(data));
	b.id = ev->id;
	rdma_ack_cm_event(ev);
	assert_ok(rdma_accept(b.id, &p));
	ev = take(a.ch, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(ev->param.conn.private_data_len, 2);
	rdma_ack_cm_event(ev);
	ev = take(b.ch, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(ev->param.conn.private_data_len, 0);
	assert_null(ev->param.conn.private_data);
	rdma_ack_cm_event(ev);
}

static void iwarp__reject_and_refuse(void **state)
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

static void iwarp__unknown_queue_pair(void **state)
{
	struct rdma_conn_param p = param(&a, NULL, 0);

	p.qp_num = 0x7777;
	assert_errno(rdma_connect(a.id, &p), EINVAL);
}

static void iwarp__disconnect_is_both_at_once(void **state)
{
	assert_ok(rdma_disconnect(a.id));
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(fv_qp_state(b.qp), IBV_QPS_ERR);
	assert_errno(rdma_disconnect(b.id), EINVAL);
	expect_silence(&a);
}

static void iwarp__queue_pair_error_ends_the_connection(void **state)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_ERR};

	assert_ok(ibv_modify_qp(a.qp, &at, IBV_QP_STATE));
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 0);
}

static void iwarp__caller_cannot_go_to_rts(void **state)
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

static void destroy_id__unacked_event_aborts(void **state)
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

static void destroy_channel__with_ids_aborts(void **state)
{
	a.id = new_id(a.ch);
	assert_true(dies(destroy_channel_deadly, a.ch));
}

static void migrate_id__takes_unread_events_along(void **state)
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

static void device_removal__reaches_every_id(void **state)
{
	fv_cm_device_removal(a.ctx->device);
	expect(&a, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	expect_silence(&b);
}

static enum fv_verdict drop_response(struct rdma_cm_event *ev, void *arg)
{
	const enum fv_verdict *v = arg;

	return ev->event == RDMA_CM_EVENT_CONNECT_RESPONSE ? *v : FV_DELIVER;
}

static void hook__drops_and_holds(void **state)
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

static void create_qp__library_moves_it(void **state)
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

static void getaddrinfo__numeric_both_ways(void **state)
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

static void get_devices__one_context_each(void **state)
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

static void fake_cm_fail_at__every_call_once(void **state)
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

static struct fixture ib_connected = {FV_IB, CONNECTED};
static struct fixture ib_devices = {FV_IB, DEVICES};
static struct fixture ib_requested = {FV_IB, REQUESTED};
static struct fixture ib_resolved = {FV_IB, RESOLVED};
static struct fixture ib_sides = {FV_IB, SIDES};
static struct fixture ib_taken = {FV_IB, TAKEN};
static struct fixture iwarp_connected = {FV_IWARP, CONNECTED};
static struct fixture iwarp_resolved = {FV_IWARP, RESOLVED};
static struct fixture iwarp_sides = {FV_IWARP, SIDES};
static struct fixture iwarp_taken = {FV_IWARP, TAKEN};
static struct fixture roce_connected = {FV_ROCE, CONNECTED};
static struct fixture roce_taken = {FV_ROCE, TAKEN};

#define T(name, fixture)                                                \
	cmocka_unit_test_prestate_setup_teardown(name, setup, teardown, \
						 &(fixture))

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(bind_addr__shows_device_and_port, ib_sides),
		T(bind_addr__not_an_rdma_address, ib_sides),
		T(bind_addr__ipv6_and_link_local_scope, ib_sides),
		T(bind_addr__port_in_use, ib_sides),
		T(resolve_addr__errors_and_silence, ib_sides),
		T(channel__empty_and_pollable, ib_sides),
		T(channel__blocking_reader_wakes, ib_sides),
		T(connect__full_exchange_moves_data, ib_connected),
		{"connect__full_exchange_moves_data.roce",
		 connect__full_exchange_moves_data, setup, teardown,
		 &roce_connected},
		T(connect__request_is_padded_to_56, ib_sides),
		T(connect__57_bytes_are_too_many, ib_resolved),
		T(fake_cm_connect__nobody_listens, ib_resolved),
		T(connect__told_outcomes, ib_sides),
		T(accept__reply_is_padded_to_196, ib_taken),
		T(accept__too_long_rejects, ib_taken),
		T(fake_cm_reject__by_the_consumer, ib_taken),
		T(reject__request_id_destroyed_or_never_read, ib_taken),
		T(request__client_gone_before_accept, ib_taken),
		T(listen__backlog_overflow, ib_sides),
		T(establish__wrong_moment, ib_requested),
		T(notify__comm_est_replaces_a_lost_rtu, ib_taken),
		T(init_qp_attr__masks_and_values, roce_taken),
		T(disconnect__initiator_hears_when_peer_answers, ib_connected),
		T(disconnect__before_connect, ib_sides),
		T(disconnect__destroying_the_id, ib_connected),
		T(disconnect__request_lost, ib_connected),
		T(iwarp__cm_moves_the_queue_pairs, iwarp_connected),
		T(iwarp__private_data_is_exact, iwarp_sides),
		T(iwarp__reject_and_refuse, iwarp_taken),
		T(iwarp__unknown_queue_pair, iwarp_resolved),
		T(iwarp__disconnect_is_both_at_once, iwarp_connected),
		T(iwarp__queue_pair_error_ends_the_connection, iwarp_connected),
		T(iwarp__caller_cannot_go_to_rts, iwarp_resolved),
		T(destroy_id__unacked_event_aborts, ib_sides),
		T(destroy_channel__with_ids_aborts, ib_sides),
		T(migrate_id__takes_unread_events_along, ib_sides),
		T(device_removal__reaches_every_id, ib_connected),
		T(hook__drops_and_holds, ib_taken),
		T(create_qp__library_moves_it, ib_sides),
		T(getaddrinfo__numeric_both_ways, ib_devices),
		T(get_devices__one_context_each, ib_devices),
		T(fake_cm_fail_at__every_call_once, ib_devices),
	};

	return cmocka_run_group_tests_name("fake rdma_cm", tests, NULL, NULL);
}
