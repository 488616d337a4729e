/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_fake_cm.c: the fake rdma_cm behaves as librdmacm and the kernel do.
 * Queue pairs are external (id->qp NULL) unless a case says otherwise.
 * Threads: one case blocks in rdma_get_cm_event from a second thread.
 * Ownership: every case must destroy what it made; teardown asserts it.
 * Rules: rdma_cm man pages; private data sizes of the IP port space.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_verbs.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

static struct rdma_cm_id *listener;

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

	assert_int_equal(rdma_create_id(ch, &id, ch, RDMA_PS_TCP), 0);
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
	assert_int_equal(fcntl(s->ch->fd, F_SETFL, O_NONBLOCK), 0);
}

static void side_close(struct side *s)
{
	if (s->id)
		assert_int_equal(rdma_destroy_id(s->id), 0);
	assert_int_equal(ibv_destroy_qp(s->qp), 0);
	assert_int_equal(ibv_dereg_mr(s->mr), 0);
	assert_int_equal(ibv_destroy_cq(s->cq), 0);
	assert_int_equal(ibv_dealloc_pd(s->pd), 0);
	assert_int_equal(ibv_close_device(s->ctx), 0);
	rdma_destroy_event_channel(s->ch);
}

static struct rdma_cm_event *take(struct rdma_event_channel *ch,
				  enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *ev = NULL;

	assert_int_equal(rdma_get_cm_event(ch, &ev), 0);
	assert_int_equal(ev->event, type);
	assert_int_equal(ev->status, status);
	return ev;
}

static void expect(struct side *s, enum rdma_cm_event_type type, int status)
{
	assert_int_equal(rdma_ack_cm_event(take(s->ch, type, status)), 0);
}

static void expect_silence(struct side *s)
{
	struct rdma_cm_event *ev;

	assert_int_equal(rdma_get_cm_event(s->ch, &ev), -1);
	assert_int_equal(errno, EAGAIN);
}

static int move_qp(struct side *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};
	int mask;

	if (rdma_init_qp_attr(s->id, &a, &mask))
		return errno;
	return ibv_modify_qp(s->qp, &a, mask);
}

static void move_all(struct side *s)
{
	assert_int_equal(move_qp(s, IBV_QPS_INIT), 0);
	assert_int_equal(move_qp(s, IBV_QPS_RTR), 0);
	assert_int_equal(move_qp(s, IBV_QPS_RTS), 0);
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

static void resolve(struct side *s, const char *dst)
{
	struct sockaddr_storage own = addr4("10.0.0.1", 0);
	struct sockaddr_storage ss = addr4(dst, PORT);
	struct sockaddr *from = (struct sockaddr *)&own;
	struct sockaddr *to = (struct sockaddr *)&ss;

	s->id = new_id(s->ch);
	assert_int_equal(rdma_resolve_addr(s->id, from, to, 1000), 0);
	expect(s, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(rdma_resolve_route(s->id, 1000), 0);
	expect(s, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static void listen_on(struct side *s, int backlog)
{
	listener = new_id(s->ch);
	assert_int_equal(bind4(listener, "10.0.0.2", PORT), 0);
	assert_int_equal(rdma_listen(listener, backlog), 0);
}

/* both sides up to the request waiting at the passive one */
static void request(struct side *a, struct side *b, const void *data,
		    uint8_t len)
{
	struct rdma_conn_param p;

	side_open(a, 0);
	side_open(b, 1);
	listen_on(b, 0);
	resolve(a, "10.0.0.2");
	p = param(a, data, len);
	assert_int_equal(rdma_connect(a->id, &p), 0);
}

static void take_request(struct side *b)
{
	struct rdma_cm_event *ev =
		take(b->ch, RDMA_CM_EVENT_CONNECT_REQUEST, 0);

	b->id = ev->id;
	assert_ptr_equal(ev->listen_id, listener);
	assert_int_equal(rdma_ack_cm_event(ev), 0);
}

static void accept_it(struct side *b)
{
	struct rdma_conn_param p = param(b, NULL, 0);

	assert_int_equal(rdma_accept(b->id, &p), 0);
}

static void connected(struct side *a, struct side *b)
{
	request(a, b, NULL, 0);
	take_request(b);
	if (b->ctx->device->transport_type == IBV_TRANSPORT_IWARP) {
		accept_it(b);
		expect(a, RDMA_CM_EVENT_ESTABLISHED, 0);
		expect(b, RDMA_CM_EVENT_ESTABLISHED, 0);
		return;
	}
	move_all(b);
	accept_it(b);
	expect(a, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	move_all(a);
	assert_int_equal(rdma_establish(a->id), 0);
	expect(b, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void finish(struct side *a, struct side *b)
{
	if (listener)
		assert_int_equal(rdma_destroy_id(listener), 0);
	listener = NULL;
	side_close(a);
	side_close(b);
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
	assert_int_equal(ibv_post_recv(to->qp, &rwr, &rbad), 0);
	assert_int_equal(ibv_post_send(from->qp, &swr, &sbad), 0);
	assert_int_equal(ibv_poll_cq(to->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(to->buf[0], '!');
}

static bool dies(void (*fn)(void *), void *arg)
{
	struct rlimit none = {0, 0};
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		close(2);
		fv_ack_patience(50);
		fn(arg);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static int setup_ib(void **state)
{
	(void)state;
	fv_reset();
	listener = NULL;
	fv_devices_default(FV_IB, 2);
	return 0;
}

static int setup_roce(void **state)
{
	(void)state;
	fv_reset();
	listener = NULL;
	fv_devices_default(FV_ROCE, 2);
	return 0;
}

static int setup_iwarp(void **state)
{
	(void)state;
	fv_reset();
	listener = NULL;
	fv_devices_default(FV_IWARP, 2);
	return 0;
}

static int teardown(void **state)
{
	unsigned int n = fv_live();

	(void)state;
	if (n)
		fv_live_dump(stderr);
	fv_reset();
	return n ? -1 : 0;
}

/* ---- addresses ---- */

static void bind_addr__shows_device_and_port(void **state)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	(void)state;
	assert_null(id->verbs);
	assert_int_equal(bind4(id, "10.0.0.2", 0), 0);
	assert_string_equal(id->verbs->device->name, "fake1");
	assert_int_equal(id->port_num, 1);
	assert_true(rdma_get_src_port(id) != 0);
	assert_int_equal(bind4(id, "10.0.0.2", 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static void bind_addr__not_an_rdma_address(void **state)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct sockaddr sa = {.sa_family = AF_UNIX};

	(void)state;
	fv_cm_host_addr("192.168.1.1");
	assert_int_equal(bind4(id, "192.168.1.1", 0), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(bind4(id, "127.0.0.1", 0), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(bind4(id, "192.168.1.2", 0), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	assert_int_equal(rdma_bind_addr(id, &sa), -1);
	assert_int_equal(errno, EAFNOSUPPORT);
	assert_int_equal(bind4(id, "0.0.0.0", PORT), 0);
	assert_null(id->verbs);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static void bind_addr__ipv6_and_link_local_scope(void **state)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct fv_device_cfg cfg;

	(void)state;
	fv_device_cfg_init(&cfg, FV_ROCE, "six", "fd00::7");
	cfg.port[0].addr[1] = "fe80::7";
	cfg.port[0].scope_id = 3;
	fv_device_add(&cfg);
	assert_int_equal(bind_to(id, addr6("fe80::7", 0, 0)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(bind_to(id, addr6("fe80::7", 0, 4)), -1);
	assert_int_equal(bind_to(id, addr6("fe80::7", 0, 3)), 0);
	assert_string_equal(id->verbs->device->name, "six");
	assert_int_equal(rdma_destroy_id(id), 0);
	id = new_id(ch);
	assert_int_equal(bind_to(id, addr6("fd00::7", PORT, 0)), 0);
	assert_int_equal(ntohs(rdma_get_src_port(id)), PORT);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static void bind_addr__port_in_use(void **state)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *a = new_id(ch), *b = new_id(ch), *c = new_id(ch);

	(void)state;
	assert_int_equal(bind4(a, "10.0.0.1", PORT), 0);
	assert_int_equal(bind4(b, "10.0.0.1", PORT), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(bind4(b, "0.0.0.0", PORT), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(bind4(b, "10.0.0.2", PORT), 0);
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(bind4(c, "10.0.0.1", PORT), 0);
	assert_int_equal(rdma_destroy_id(b), 0);
	assert_int_equal(rdma_destroy_id(c), 0);
	rdma_destroy_event_channel(ch);
}

static void resolve_addr__errors_and_silence(void **state)
{
	struct sockaddr_storage far = addr4("10.9.9.9", PORT);
	struct sockaddr_storage near = addr4("10.0.0.2", PORT);
	struct side a;

	(void)state;
	side_open(&a, 0);
	a.id = new_id(a.ch);
	assert_int_equal(bind4(a.id, "10.0.0.1", 0), 0);
	assert_int_equal(rdma_resolve_route(a.id, 10), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(
		rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&far, 10), 0);
	expect(&a, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	/* it may be tried again */
	fv_cm_set(FV_CM_ADDR_ERROR, -ENETUNREACH);
	assert_int_equal(
		rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&near, 10), 0);
	expect(&a, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
	fv_cm_set(FV_CM_ADDR_ERROR, 0);
	assert_int_equal(
		rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&near, 10), 0);
	expect(&a, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(a.id->verbs->device->name, "fake0");
	fv_cm_set(FV_CM_ROUTE_ERROR, -ETIMEDOUT);
	assert_int_equal(rdma_resolve_route(a.id, 10), 0);
	expect(&a, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
	fv_cm_set(FV_CM_ROUTE_ERROR, 0);
	fv_cm_set(FV_CM_ROUTE_SILENT, 1);
	assert_int_equal(rdma_resolve_route(a.id, 10), 0);
	expect_silence(&a);
	side_close(&a);
}

static void channel__empty_and_pollable(void **state)
{
	struct sockaddr_storage near = addr4("10.0.0.2", PORT);
	struct pollfd pfd = {.events = POLLIN};
	struct side a;

	(void)state;
	side_open(&a, 0);
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
	side_close(&a);
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
	struct side a;
	pthread_t t;

	(void)state;
	side_open(&a, 0);
	assert_int_equal(fcntl(a.ch->fd, F_SETFL, 0), 0);
	a.id = new_id(a.ch);
	assert_int_equal(pthread_create(&t, NULL, blocking_reader, &a), 0);
	rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&near, 10);
	assert_int_equal(pthread_join(t, &got), 0);
	assert_ptr_equal(got, &a);
	side_close(&a);
}

/* ---- connecting, InfiniBand ---- */

static void connect__full_exchange_moves_data(void **state)
{
	struct side a, b;

	(void)state;
	connected(&a, &b);
	expect_silence(&a);
	send_a_byte(&a, &b);
	send_a_byte(&b, &a);
	assert_int_equal(b.id->port_num, 1);
	assert_ptr_equal(b.id->context, b.ch);
	assert_int_equal(rdma_get_src_port(b.id), htons(PORT));
	assert_int_equal(rdma_get_dst_port(b.id), rdma_get_src_port(a.id));
	finish(&a, &b);
}

static void connect__request_is_padded_to_56(void **state)
{
	struct rdma_cm_event *ev;
	const uint8_t *d;
	struct side a, b;

	(void)state;
	request(&a, &b, "abc", 3);
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
	finish(&a, &b);
}

static void connect__57_bytes_are_too_many(void **state)
{
	struct rdma_conn_param p;
	char data[57] = {0};
	struct side a;

	(void)state;
	side_open(&a, 0);
	resolve(&a, "10.0.0.2");
	p = param(&a, data, 57);
	assert_int_equal(rdma_connect(a.id, &p), -1);
	assert_int_equal(errno, EINVAL);
	p.private_data_len = 56;
	p.initiator_depth = 17; /* more than the device has */
	assert_int_equal(rdma_connect(a.id, &p), -1);
	assert_int_equal(errno, EINVAL);
	p.initiator_depth = 1;
	assert_int_equal(rdma_connect(a.id, &p), 0);
	assert_int_equal(rdma_connect(a.id, &p), -1);
	side_close(&a);
}

static void fake_cm_connect__nobody_listens(void **state)
{
	struct rdma_cm_event *ev;
	struct rdma_conn_param p;
	struct side a;

	(void)state;
	side_open(&a, 0);
	resolve(&a, "10.0.0.2");
	p = param(&a, NULL, 0);
	assert_int_equal(rdma_connect(a.id, &p), 0);
	ev = take(a.ch, RDMA_CM_EVENT_REJECTED, 8);
	assert_int_equal(ev->param.conn.private_data_len, 148);
	rdma_ack_cm_event(ev);
	side_close(&a);
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
	struct rdma_conn_param p;
	struct side a;

	(void)state;
	side_open(&a, 0);
	for (int i = 0; i < 2; i++) {
		resolve(&a, "10.0.0.2");
		fv_cm_set(row[i].opt, row[i].value);
		p = param(&a, NULL, 0);
		assert_int_equal(rdma_connect(a.id, &p), 0);
		expect(&a, row[i].type, row[i].value);
		fv_cm_set(row[i].opt, 0);
		assert_int_equal(rdma_destroy_id(a.id), 0);
	}
	resolve(&a, "10.0.0.2");
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	assert_int_equal(rdma_connect(a.id, &p), 0);
	expect_silence(&a);
	fv_cm_inject(a.id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	expect(&a, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	side_close(&a);
}

static void accept__reply_is_padded_to_196(void **state)
{
	struct rdma_conn_param p;
	struct rdma_cm_event *ev;
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	move_all(&b);
	p = param(&b, "xy", 2);
	p.responder_resources = 1;
	p.initiator_depth = 2;
	assert_int_equal(rdma_accept(b.id, &p), 0);
	ev = take(a.ch, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(ev->param.conn.private_data_len, 196);
	assert_memory_equal(ev->param.conn.private_data, "xy", 3);
	assert_int_equal(ev->param.conn.initiator_depth, 1);
	assert_int_equal(ev->param.conn.responder_resources, 2);
	rdma_ack_cm_event(ev);
	finish(&a, &b);
}

static void accept__too_long_rejects(void **state)
{
	struct rdma_conn_param p;
	char data[197] = {0};
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	p = param(&b, data, 197);
	assert_int_equal(rdma_accept(b.id, &p), -1);
	assert_int_equal(errno, EINVAL);
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
	finish(&a, &b);
}

static void fake_cm_reject__by_the_consumer(void **state)
{
	struct rdma_cm_event *ev;
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	assert_int_equal(rdma_reject(b.id, "no", 2), 0);
	ev = take(a.ch, RDMA_CM_EVENT_REJECTED, 28);
	assert_int_equal(ev->param.conn.private_data_len, 148);
	assert_memory_equal(ev->param.conn.private_data, "no", 3);
	rdma_ack_cm_event(ev);
	assert_int_equal(rdma_reject(b.id, NULL, 0), -1);
	finish(&a, &b);
}

static void reject__request_id_destroyed_or_never_read(void **state)
{
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	assert_int_equal(rdma_destroy_id(b.id), 0);
	b.id = NULL;
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
	finish(&a, &b);

	request(&a, &b, NULL, 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
	listener = NULL;
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
	finish(&a, &b);
}

static void request__client_gone_before_accept(void **state)
{
	struct rdma_conn_param p;
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	assert_int_equal(rdma_destroy_id(a.id), 0);
	a.id = NULL;
	expect(&b, RDMA_CM_EVENT_REJECTED, 4);
	p = param(&b, NULL, 0);
	assert_int_equal(rdma_accept(b.id, &p), -1);
	assert_int_equal(errno, EINVAL);
	finish(&a, &b);
}

static void listen__backlog_overflow(void **state)
{
	struct rdma_conn_param p;
	struct rdma_cm_id *first;
	struct side a, b;

	(void)state;
	side_open(&a, 0);
	side_open(&b, 1);
	listen_on(&b, 1);
	resolve(&a, "10.0.0.2");
	p = param(&a, NULL, 0);
	assert_int_equal(rdma_connect(a.id, &p), 0);
	first = a.id;
	resolve(&a, "10.0.0.2");
	assert_int_equal(rdma_connect(a.id, &p), 0);
	expect(&a, RDMA_CM_EVENT_REJECTED, 28);
	/* once the first request is read there is room again */
	take_request(&b);
	assert_int_equal(rdma_destroy_id(a.id), 0);
	resolve(&a, "10.0.0.2");
	assert_int_equal(rdma_connect(a.id, &p), 0);
	expect_silence(&a);
	assert_int_equal(rdma_destroy_id(first), 0);
	finish(&a, &b);
}

static void establish__wrong_moment(void **state)
{
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	assert_int_equal(rdma_establish(a.id), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(move_qp(&a, IBV_QPS_INIT), 0);
	assert_int_equal(move_qp(&a, IBV_QPS_RTR), EINVAL);
	finish(&a, &b);
}

static void notify__comm_est_replaces_a_lost_rtu(void **state)
{
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	move_all(&b);
	accept_it(&b);
	expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	move_all(&a);
	fv_cm_set(FV_CM_LOSE_RTU, 1);
	assert_int_equal(rdma_establish(a.id), 0);
	expect_silence(&b);
	assert_int_equal(rdma_notify(b.id, IBV_EVENT_COMM_EST), 0);
	expect(&b, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(rdma_notify(b.id, IBV_EVENT_COMM_EST), -1);
	assert_int_equal(errno, EISCONN);
	finish(&a, &b);
}

static void init_qp_attr__masks_and_values(void **state)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_INIT};
	uint8_t tos = 0x20;
	struct side a, b;
	int mask;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	assert_int_equal(rdma_set_option(b.id, RDMA_OPTION_ID,
					 RDMA_OPTION_ID_TOS, &tos, 1),
			 0);
	assert_int_equal(rdma_set_option(b.id, RDMA_OPTION_ID, 99, &tos, 1),
			 -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(rdma_init_qp_attr(b.id, &at, &mask), 0);
	assert_int_equal(mask, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS |
				       IBV_QP_PKEY_INDEX | IBV_QP_PORT);
	assert_int_equal(at.qp_access_flags, IBV_ACCESS_REMOTE_WRITE |
						     IBV_ACCESS_REMOTE_READ |
						     IBV_ACCESS_REMOTE_ATOMIC);
	at.qp_state = IBV_QPS_RTR;
	assert_int_equal(rdma_init_qp_attr(b.id, &at, &mask), 0);
	assert_int_equal(mask, 0x129181);
	assert_int_equal(at.dest_qp_num, a.qp->qp_num);
	assert_int_equal(at.max_dest_rd_atomic, 5);
	assert_int_equal(at.min_rnr_timer, 0);
	assert_int_equal(at.ah_attr.is_global, 1);
	assert_int_equal(at.ah_attr.grh.sgid_index, 3);
	assert_int_equal(at.ah_attr.grh.hop_limit, 64);
	assert_int_equal(at.ah_attr.grh.traffic_class, 0x20);
	at.qp_state = IBV_QPS_RTS;
	assert_int_equal(rdma_init_qp_attr(b.id, &at, &mask), 0);
	assert_int_equal(mask, 0x12e01);
	assert_int_equal(at.timeout, 19);
	assert_int_equal(at.rnr_retry, 7);
	assert_int_equal(at.max_rd_atomic, 3);
	finish(&a, &b);
}

/* ---- disconnecting, InfiniBand ---- */

static void disconnect__initiator_hears_when_peer_answers(void **state)
{
	struct side a, b;

	(void)state;
	connected(&a, &b);
	assert_int_equal(rdma_disconnect(a.id), 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_silence(&a);
	assert_int_equal(rdma_disconnect(b.id), 0);
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(&a, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	expect(&b, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	/* again is harmless, and external QPs are not touched */
	assert_int_equal(rdma_disconnect(a.id), 0);
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_RTS);
	expect_silence(&a);
	finish(&a, &b);
}

static void disconnect__before_connect(void **state)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	(void)state;
	assert_int_equal(rdma_disconnect(id), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static void disconnect__destroying_the_id(void **state)
{
	struct side a, b;

	(void)state;
	connected(&a, &b);
	assert_int_equal(rdma_destroy_id(b.id), 0);
	b.id = NULL;
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(rdma_disconnect(a.id), 0);
	finish(&a, &b);
}

static void disconnect__request_lost(void **state)
{
	struct side a, b;

	(void)state;
	connected(&a, &b);
	fv_cm_set(FV_CM_LOSE_DREQ, 1);
	assert_int_equal(rdma_disconnect(a.id), 0);
	expect_silence(&a);
	expect_silence(&b);
	fv_cm_inject(a.id, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT);
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT);
	finish(&a, &b);
}

/* ---- iWARP ---- */

static void iwarp__cm_moves_the_queue_pairs(void **state)
{
	struct side a, b;

	(void)state;
	connected(&a, &b);
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_RTS);
	assert_int_equal(fv_qp_state(b.qp), IBV_QPS_RTS);
	send_a_byte(&a, &b);
	assert_int_equal(rdma_establish(a.id), -1);
	finish(&a, &b);
}

static void iwarp__private_data_is_exact(void **state)
{
	struct rdma_conn_param p;
	struct rdma_cm_event *ev;
	char data[200] = {1};
	struct side a, b;

	(void)state;
	request(&a, &b, data, sizeof(data));
	ev = take(b.ch, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(ev->param.conn.private_data_len, sizeof(data));
	b.id = ev->id;
	rdma_ack_cm_event(ev);
	p = param(&b, "ok", 2);
	assert_int_equal(rdma_accept(b.id, &p), 0);
	ev = take(a.ch, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(ev->param.conn.private_data_len, 2);
	rdma_ack_cm_event(ev);
	ev = take(b.ch, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(ev->param.conn.private_data_len, 0);
	assert_null(ev->param.conn.private_data);
	rdma_ack_cm_event(ev);
	finish(&a, &b);
}

static void iwarp__reject_and_refuse(void **state)
{
	struct rdma_conn_param p;
	struct rdma_cm_event *ev;
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	assert_int_equal(rdma_reject(b.id, "no", 2), 0);
	ev = take(a.ch, RDMA_CM_EVENT_REJECTED, -ECONNRESET);
	assert_int_equal(ev->param.conn.private_data_len, 2);
	rdma_ack_cm_event(ev);
	assert_int_equal(rdma_destroy_id(listener), 0);
	listener = NULL;
	assert_int_equal(rdma_destroy_id(a.id), 0);
	resolve(&a, "10.0.0.2");
	p = param(&a, NULL, 0);
	fv_cm_set(FV_CM_REFUSE_SYNC, 1);
	assert_int_equal(rdma_connect(a.id, &p), -1);
	assert_int_equal(errno, ECONNREFUSED);
	fv_cm_set(FV_CM_REFUSE_SYNC, 0);
	assert_int_equal(rdma_connect(a.id, &p), 0);
	expect(&a, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED);
	finish(&a, &b);
}

static void iwarp__unknown_queue_pair(void **state)
{
	struct rdma_conn_param p;
	struct side a;

	(void)state;
	side_open(&a, 0);
	resolve(&a, "10.0.0.2");
	p = param(&a, NULL, 0);
	p.qp_num = 0x7777;
	assert_int_equal(rdma_connect(a.id, &p), -1);
	assert_int_equal(errno, EINVAL);
	side_close(&a);
}

static void iwarp__disconnect_is_both_at_once(void **state)
{
	struct side a, b;

	(void)state;
	connected(&a, &b);
	assert_int_equal(rdma_disconnect(a.id), 0);
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(fv_qp_state(b.qp), IBV_QPS_ERR);
	assert_int_equal(rdma_disconnect(b.id), -1);
	assert_int_equal(errno, EINVAL);
	expect_silence(&a);
	finish(&a, &b);
}

static void iwarp__queue_pair_error_ends_the_connection(void **state)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_RTS};
	struct side a, b;

	(void)state;
	connected(&a, &b);
	at.qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(a.qp, &at, IBV_QP_STATE), 0);
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 0);
	finish(&a, &b);
}

static void iwarp__caller_cannot_go_to_rts(void **state)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_INIT};
	struct side a;
	int mask;

	(void)state;
	side_open(&a, 0);
	resolve(&a, "10.0.0.2");
	assert_int_equal(rdma_init_qp_attr(a.id, &at, &mask), 0);
	assert_int_equal(mask,
			 IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT);
	assert_int_equal(ibv_modify_qp(a.qp, &at, mask), 0);
	at.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(a.qp, &at, IBV_QP_STATE), EINVAL);
	side_close(&a);
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
	struct side a;

	(void)state;
	side_open(&a, 0);
	a.id = new_id(a.ch);
	fv_cm_inject(a.id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	assert_true(dies(destroy_id_deadly, &a));
	/* unread: gone with the id */
	assert_int_equal(rdma_destroy_id(a.id), 0);
	a.id = NULL;
	expect_silence(&a);
	side_close(&a);
}

static void destroy_channel_deadly(void *arg)
{
	rdma_destroy_event_channel(arg);
}

static void destroy_channel__with_ids_aborts(void **state)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	(void)state;
	assert_true(dies(destroy_channel_deadly, ch));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static void migrate_id__takes_unread_events_along(void **state)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct side a;

	(void)state;
	side_open(&a, 0);
	a.id = new_id(a.ch);
	fv_cm_inject(a.id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	assert_int_equal(rdma_migrate_id(a.id, ch), 0);
	assert_ptr_equal(a.id->channel, ch);
	expect_silence(&a);
	rdma_ack_cm_event(take(ch, RDMA_CM_EVENT_ADDR_CHANGE, 0));
	assert_int_equal(rdma_destroy_id(a.id), 0);
	a.id = NULL;
	rdma_destroy_event_channel(ch);
	side_close(&a);
}

static void device_removal__reaches_every_id(void **state)
{
	struct side a, b;

	(void)state;
	connected(&a, &b);
	fv_cm_device_removal(a.ctx->device);
	expect(&a, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	expect_silence(&b);
	finish(&a, &b);
}

static enum fv_verdict drop_response(struct rdma_cm_event *ev, void *arg)
{
	const enum fv_verdict *v = arg;

	return ev->event == RDMA_CM_EVENT_CONNECT_RESPONSE ? *v : FV_DELIVER;
}

static void hook__drops_and_holds(void **state)
{
	enum fv_verdict v = FV_HOLD;
	struct side a, b;

	(void)state;
	request(&a, &b, NULL, 0);
	take_request(&b);
	fv_cm_hook(drop_response, &v);
	accept_it(&b);
	expect_silence(&a);
	assert_int_equal(fv_cm_release(5), 1);
	expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	finish(&a, &b);
	v = FV_DROP;
	request(&a, &b, NULL, 0);
	take_request(&b);
	accept_it(&b);
	expect_silence(&a);
	assert_int_equal(fv_cm_release(5), 0);
	finish(&a, &b);
}

static void create_qp__library_moves_it(void **state)
{
	struct ibv_qp_init_attr in = {.cap = {4, 4, 1, 1, 0},
				      .qp_type = IBV_QPT_RC};
	struct rdma_conn_param p = {.responder_resources = 1};
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct side a, b;

	(void)state;
	side_open(&a, 0);
	side_open(&b, 1);
	listen_on(&b, 0);
	resolve(&a, "10.0.0.2");
	pd = ibv_alloc_pd(a.id->verbs);
	cq = ibv_create_cq(a.id->verbs, 8, NULL, NULL, 0);
	in.send_cq = in.recv_cq = cq;
	assert_int_equal(rdma_create_qp(a.id, a.pd, &in), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_create_qp(a.id, pd, &in), 0);
	assert_int_equal(fv_qp_state(a.id->qp), IBV_QPS_INIT);
	assert_int_equal(rdma_connect(a.id, &p), 0);
	take_request(&b);
	move_all(&b);
	accept_it(&b);
	expect(&a, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect(&b, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(fv_qp_state(a.id->qp), IBV_QPS_RTS);
	assert_int_equal(rdma_disconnect(a.id), 0);
	assert_int_equal(fv_qp_state(a.id->qp), IBV_QPS_ERR);
	rdma_destroy_qp(a.id);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	finish(&a, &b);
}

static void getaddrinfo__numeric_both_ways(void **state)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST | RAI_PASSIVE,
				      .ai_port_space = RDMA_PS_TCP};
	struct rdma_addrinfo *res;
	struct sockaddr_in *in;

	(void)state;
	assert_int_equal(rdma_getaddrinfo("10.0.0.1", "7000", &hints, &res), 0);
	in = (struct sockaddr_in *)res->ai_src_addr;
	assert_int_equal(ntohs(in->sin_port), 7000);
	assert_null(res->ai_dst_addr);
	rdma_freeaddrinfo(res);
	hints.ai_flags = RAI_NUMERICHOST;
	assert_int_equal(rdma_getaddrinfo("::1", "1", &hints, &res), 0);
	assert_int_equal(res->ai_dst_addr->sa_family, AF_INET6);
	rdma_freeaddrinfo(res);
	assert_true(rdma_getaddrinfo("not numeric", "1", &hints, &res) != 0);
}

static void get_devices__one_context_each(void **state)
{
	struct ibv_context **list;
	int n = 0;

	(void)state;
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

	(void)state;
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

#define T(name)	     cmocka_unit_test_setup_teardown(name, setup_ib, teardown)
#define T_ROCE(name) cmocka_unit_test_setup_teardown(name, setup_roce, teardown)
#define T_IWARP(name) \
	cmocka_unit_test_setup_teardown(name, setup_iwarp, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(bind_addr__shows_device_and_port),
		T(bind_addr__not_an_rdma_address),
		T(bind_addr__ipv6_and_link_local_scope),
		T(bind_addr__port_in_use),
		T(resolve_addr__errors_and_silence),
		T(channel__empty_and_pollable),
		T(channel__blocking_reader_wakes),
		T(connect__full_exchange_moves_data),
		T_ROCE(connect__full_exchange_moves_data),
		T(connect__request_is_padded_to_56),
		T(connect__57_bytes_are_too_many),
		T(fake_cm_connect__nobody_listens),
		T(connect__told_outcomes),
		T(accept__reply_is_padded_to_196),
		T(accept__too_long_rejects),
		T(fake_cm_reject__by_the_consumer),
		T(reject__request_id_destroyed_or_never_read),
		T(request__client_gone_before_accept),
		T(listen__backlog_overflow),
		T(establish__wrong_moment),
		T(notify__comm_est_replaces_a_lost_rtu),
		T_ROCE(init_qp_attr__masks_and_values),
		T(disconnect__initiator_hears_when_peer_answers),
		T(disconnect__before_connect),
		T(disconnect__destroying_the_id),
		T(disconnect__request_lost),
		T_IWARP(iwarp__cm_moves_the_queue_pairs),
		T_IWARP(iwarp__private_data_is_exact),
		T_IWARP(iwarp__reject_and_refuse),
		T_IWARP(iwarp__unknown_queue_pair),
		T_IWARP(iwarp__disconnect_is_both_at_once),
		T_IWARP(iwarp__queue_pair_error_ends_the_connection),
		T_IWARP(iwarp__caller_cannot_go_to_rts),
		T(destroy_id__unacked_event_aborts),
		T(destroy_channel__with_ids_aborts),
		T(migrate_id__takes_unread_events_along),
		T(device_removal__reaches_every_id),
		T(hook__drops_and_holds),
		T(create_qp__library_moves_it),
		T(getaddrinfo__numeric_both_ways),
		T(get_devices__one_context_each),
		T(fake_cm_fail_at__every_call_once),
	};

	return cmocka_run_group_tests_name("fake rdma_cm", tests, NULL, NULL);
}
