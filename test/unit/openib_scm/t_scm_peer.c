/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_scm_peer.c - the SCM provider against hand-written peers: what it says
 * byte by byte, old versions, peers that are slow, silent, rude or hostile.
 *
 * World and recorder as in t_scm_conn.c; only one side of it is used.
 */
#include <netinet/tcp.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "test/unit/openib_scm/scm_world.h"

/* Holds the service thread of a side. */
static struct gate {
	struct dapl_work work;
	sem_t entered, open, left;
} gate;

static void stand_at_gate(void)
{
	sem_post(&gate.entered);
	sem_wait(&gate.open);
	sem_post(&gate.left);
}

static void gate_work(struct dapl_work *work)
{
	stand_at_gate();
}

static void gate_shut(void)
{
	sem_init(&gate.entered, 0, 0);
	sem_init(&gate.open, 0, 0);
	sem_init(&gate.left, 0, 0);
}

static void gate_shut_to(struct side *side)
{
	gate_shut();
	dapl_work_init(&gate.work, gate_work);
	dapl_loop_defer(side->loop, &gate.work);
	sem_wait(&gate.entered);
}

static void gate_open(void)
{
	sem_post(&gate.open);
	sem_wait(&gate.left);
	sem_destroy(&gate.entered);
	sem_destroy(&gate.open);
	sem_destroy(&gate.left);
}

/* ---------------------------------------------- the provider as server */

static struct {
	struct dapl_sp sp;
	uint16_t port;
	/* The connection that was accepted last. */
	struct dapl_ep *ep;
	struct dapl_cm_conn *conn;
} server;

static int setup_server(void **state)
{
	setup(state);
	memset(&server, 0, sizeof(server));
	server.sp.side = &world.b;
	server.port = raw_free_port();
	listen_on(&server.sp, qual_of(server.port));
	return 0;
}

static void server_unlisten(void)
{
	unlisten(&server.sp, server.sp.listener);
	server.sp.listener = NULL;
}

/* All of it ends, and the listener with it. */
static void server_stop(void)
{
	scm_ops.stop(world.b.cm);
	take(SEEN_UNLISTENED, &server.sp);
	server.sp.listener = NULL;
}

/* The consumer has done with the connection. */
static void server_release(void)
{
	finish(server.conn, server.ep);
	ep_del(server.ep);
	server.conn = NULL;
}

static int teardown_server(void **state)
{
	if (server.conn)
		server_release();
	if (server.sp.listener)
		server_unlisten();
	return teardown(state);
}

#define AS_SERVER(name) CASE_WITH(name, setup_server, teardown_server)

/* A client that says what is in the file NAME; its socket. */
static int ask(const char *name)
{
	int fd = raw_connect(server.port);

	raw_send_file(fd, name);
	return fd;
}

/* The consumer accepts the request, which is of a file. */
static void server_accept(void)
{
	struct seen r = take(SEEN_REQUEST, &server.sp);

	assert_int_equal(r.size, 20);
	for (size_t i = 0; i < r.size; i++)
		assert_int_equal(r.pdata[i], 0x50 + i % 16);
	server.conn = r.conn;
	server.ep = ep_new(&world.b);
	assert_int_equal(
		scm_ops.accept(r.conn, &server.ep->cfg, server.ep, "yes", 3),
		0);
	server.ep->refs++;
}

/* A client whose request is accepted, and that has heard so; its socket. */
static int ask_and_hear(void)
{
	int fd = ask("scm-req");

	server_accept();
	raw_msg(fd, 0);
	return fd;
}

static int ask_until_established(void)
{
	int fd = ask_and_hear();

	raw_send_file(fd, "scm-rtu");
	take_event(server.ep, DAPL_CM_ESTABLISHED);
	return fd;
}

/* The next request is dropped by the consumer. */
static void server_drop(void)
{
	world_release(take(SEEN_REQUEST, &server.sp).conn);
}

static void hear_no(int fd)
{
	assert_int_equal(raw_msg(fd, 0).op, DCM_REJ_CM);
}

static void is_rep(const struct dcm_msg *msg)
{
	struct sockaddr_storage own;
	struct dcm_ib ib;

	assert_int_equal(msg->version, 9);
	assert_int_equal(msg->op, DCM_REP);
	assert_int_equal(msg->p_size, 3);
	assert_memory_equal(msg->pdata, "yes", 3);
	assert_int_equal(msg->responder_resources, 4);
	assert_int_equal(msg->sport | msg->dport | msg->sqpn | msg->dqpn |
				 msg->s_id | msg->d_id | msg->rtns,
			 0);
	dcm_block_get_ib(&msg->saddr, &ib);
	assert_int_equal(ib.family, 0);
	assert_int_equal(ib.qpn, server.ep->cfg.qp_num);
	assert_int_equal(ib.qp_type, DCM_QP_RC);
	memcpy(&own, msg->daddr.b, sizeof(msg->daddr.b));
	assert_int_equal(dapl_addr_port(&own), server.port);
}

static void hear_every_byte(int fd, size_t filler)
{
	struct dcm_msg msg = raw_msg(fd, filler);

	is_rep(&msg);
}

AS_SERVER(server__every_byte)
{
	int fd = ask("scm-req");

	server_accept();
	hear_every_byte(fd, 0);
	raw_send_file(fd, "scm-rtu");
	take_event(server.ep, DAPL_CM_ESTABLISHED);
	raw_send_file(fd, "scm-bye");
	take_event(server.ep, DAPL_CM_DISCONNECTED);
	raw_word(fd, RAW_BYE);
	raw_ended(fd);
}

AS_SERVER(server__disconnects)
{
	int fd = ask_until_established();

	assert_int_equal(scm_ops.disconnect(server.conn), 0);
	take_event(server.ep, DAPL_CM_DISCONNECTED);
	raw_word(fd, RAW_BYE);
	raw_ended(fd);
}

AS_SERVER(server__rejects)
{
	static const struct {
		bool by_consumer;
		uint8_t op, size;
	} rows[] = {
		{true, DCM_REJ_USER, 3},
		{true, DCM_REJ_USER, 0},
		{false, DCM_REJ_CM, 0},
	};
	uint8_t want[SCM_FRAME_MAX], got[SCM_FRAME_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int fd = ask("scm-req");
		struct seen r = take(SEEN_REQUEST, &server.sp);

		if (rows[i].by_consumer)
			scm_ops.reject(r.conn, "\xa0\xa1\xa2", rows[i].size);
		world_release(r.conn);
		/* The request's header with another op and size. */
		wire_load("scm-req", want, sizeof(want));
		want[3] = rows[i].op;
		want[17] = rows[i].size;
		memcpy(want + DCM_HEADER, "\xa0\xa1\xa2", rows[i].size);
		raw_read(fd, got, DCM_HEADER + rows[i].size);
		assert_memory_equal(got, want, DCM_HEADER + rows[i].size);
		raw_ended(fd);
	}
}

AS_SERVER(server__old_client)
{
	int fd = ask("scm-v7-req");

	server_accept();
	hear_every_byte(fd, SCM_FILLER);
	raw_write(fd, "\0\7\0\5", 4);
	take_event(server.ep, DAPL_CM_ESTABLISHED);
	server_release();
	raw_word(fd, RAW_BYE);
}

AS_SERVER(server__client_with_filler)
{
	int fd = ask("scm-req-filler");

	server_accept();
	hear_every_byte(fd, 0);
	raw_send_file(fd, "scm-rtu");
	take_event(server.ep, DAPL_CM_ESTABLISHED);
}

AS_SERVER(server__slow_client)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load("scm-req", buf, sizeof(buf));
	int fd = raw_connect(server.port);

	raw_write_slowly(fd, buf, len);
	server_accept();
	raw_msg(fd, 0);
	wire_load("scm-rtu", buf, sizeof(buf));
	raw_write_slowly(fd, buf, 4);
	take_event(server.ep, DAPL_CM_ESTABLISHED);
}

/* Of a queue pair that no endpoint has: UC. */
AS_SERVER(server__request_of_another_kind)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load("scm-req", buf, sizeof(buf));
	int fd = raw_connect(server.port);

	buf[63] = 3;
	raw_write(fd, buf, len);
	hear_no(fd);
	raw_ended(fd);
}

AS_SERVER(server__address_that_is_not_the_peers)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load("scm-req", buf, sizeof(buf));
	struct sockaddr_in own, *peer;
	socklen_t size = sizeof(own);
	struct seen r;
	int fd;

	for (int i = 0; i < 2; i++) {
		/* 10.0.2.15 port 34332, and nothing. */
		if (i)
			memset(buf + 64, 0, 28);
		fd = raw_connect(server.port);
		getsockname(fd, (struct sockaddr *)&own, &size);
		raw_write(fd, buf, len);
		r = take(SEEN_REQUEST, &server.sp);
		peer = (struct sockaddr_in *)&r.peer;
		assert_int_equal(peer->sin_addr.s_addr, own.sin_addr.s_addr);
		assert_int_equal(peer->sin_port, own.sin_port);
		assert_int_equal(r.peer_port, ntohs(own.sin_port));
		world_release(r.conn);
		raw_msg(fd, 0);
	}
}

/* How a client ends: with a last WORD, by FIN or by RST. */
struct ending {
	const char *word;
	size_t n;
	bool reset;
};

static void end(int fd, const struct ending *e)
{
	if (e->n)
		raw_write(fd, e->word, e->n);
	if (e->reset)
		raw_reset(fd);
	else
		raw_close(fd);
}

/* After its request was accepted. */
AS_SERVER(server__client_ends_before_rtu)
{
	static const struct ending rows[] = {
		{NULL, 0, false},
		{NULL, 0, true},
		{"junk", 4, false},
		{"\0\0\xde\xad", 4, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		end(ask_and_hear(), &rows[i]);
		take_event(server.ep, DAPL_CM_ACCEPT_FAILED);
		server_release();
	}
}

AS_SERVER(server__client_ends_without_a_word)
{
	static const struct ending rows[] = {
		{NULL, 0, false},
		{"jun", 3, false},
		{"junk", 4, false},
		{"\0\0\xde\xad junk", 9, false},
	};
	int fd;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fd = ask_and_hear();
		raw_send_file(fd, "scm-rtu");
		end(fd, &rows[i]);
		take_event(server.ep, DAPL_CM_ESTABLISHED);
		take_event(server.ep, DAPL_CM_DISCONNECTED);
		assert_int_equal(ep_state(server.ep), IBV_QPS_ERR);
		server_release();
	}
}

/*
 * A client that ends a connection once it has another too: who hears of all at
 * once hears of the other first. LATE: the service thread is at the first word
 * when the others come.
 */
static void in_order(bool late)
{
	int fd = ask_and_hear(), other_fd;
	struct dapl_cm_conn *conn = server.conn;
	struct seen established, disconnected;
	struct dapl_ep *ep = server.ep;

	other_fd = ask_and_hear();
	if (late) {
		gate_shut();
		ep->and_then = stand_at_gate;
		raw_send_file(fd, "scm-rtu");
		sem_wait(&gate.entered);
		ep->and_then = NULL;
	} else {
		gate_shut_to(&world.b);
		raw_send_file(fd, "scm-rtu");
	}
	raw_send_file(other_fd, "scm-rtu");
	raw_send_file(fd, "scm-bye");
	gate_open();

	take_event(ep, DAPL_CM_ESTABLISHED);
	established = take(SEEN_EVENT, server.ep);
	assert_int_equal(established.event, DAPL_CM_ESTABLISHED);
	disconnected = take(SEEN_EVENT, ep);
	assert_int_equal(disconnected.event, DAPL_CM_DISCONNECTED);
	assert_true(established.nth < disconnected.nth);
	finish(conn, ep);
	ep_del(ep);
	server_release();
}

AS_SERVER(server__hears_in_the_order_of_the_words)
{
	in_order(false);
	in_order(true);
}

AS_SERVER(server__client_gone_before_the_answer)
{
	static const struct ending rows[] = {{.reset = false}, {.reset = true}};
	struct seen r;
	int fd;

	for (int i = 0; i < 2; i++) {
		fd = ask("scm-req");
		r = take(SEEN_REQUEST, &server.sp);
		end(fd, &rows[i]);
		/* Whether that was seen yet or not, nothing may follow. */
		assert_int_equal(scm_ops.reject(r.conn, NULL, 0), 0);
		world_release(r.conn);
	}
}

/* ----------------------------------------------------- half-open sockets */

/* The instance, whose service thread stands still until gate_open(). */
static struct scm *hold(void)
{
	gate_shut_to(&world.b);
	return (struct scm *)world.b.cm;
}

static void set_half_open(size_t max, uint64_t grace_us)
{
	struct scm *scm = hold();

	scm->limits.half_open_max = max;
	scm->limits.half_open_grace_us = grace_us;
	gate_open();
}

AS_SERVER(half__time_is_over)
{
	int fd[3];

	hold()->limits.half_open_us = 1000000;
	gate_open();
	for (int i = 0; i < 3; i++)
		fd[i] = raw_connect(server.port);
	raw_write(fd[1], "\0\11\0\1", 4);
	for (int i = 0; i < 3; i++)
		raw_ended(fd[i]);
}

AS_SERVER(half__oldest_makes_room)
{
	int fd[6];

	set_half_open(3, 0);
	for (int i = 0; i < 6; i++)
		fd[i] = raw_connect(server.port);
	ask("scm-req");
	server_accept();
	for (int i = 0; i < 4; i++)
		raw_ended(fd[i]);
	/* The last two still have their chance. */
	for (int i = 4; i < 6; i++) {
		raw_send_file(fd[i], "scm-req");
		server_drop();
		raw_msg(fd[i], 0);
	}
}

/* Whether somebody waits for a time that is shorter than those of a test. */
static bool slept;

int __real_dapl_timer_arm(struct dapl_loop *loop, struct dapl_timer *t,
			  uint64_t deadline_us);
int __wrap_dapl_timer_arm(struct dapl_loop *loop, struct dapl_timer *t,
			  uint64_t deadline_us);
int __wrap_dapl_timer_arm(struct dapl_loop *loop, struct dapl_timer *t,
			  uint64_t deadline_us)
{
	if (deadline_us < dapl_now_us() + 1000000)
		__atomic_store_n(&slept, true, __ATOMIC_RELAXED);
	return __real_dapl_timer_arm(loop, t, deadline_us);
}

/* A crowd that came at once waits in the system's queue; nobody is lost. */
AS_SERVER(half__crowd_waits)
{
	int fd[20];

	slept = false;
	set_half_open(3, RAW_PATIENCE_S * 1000000);
	for (int i = 0; i < 20; i++)
		fd[i] = raw_connect(server.port);
	for (int i = 0; i < 20; i++)
		raw_send_file(fd[i], "scm-req");
	for (int i = 0; i < 20; i++) {
		struct seen r = take(SEEN_REQUEST, &server.sp);

		scm_ops.reject(r.conn, NULL, 0);
		world_release(r.conn);
	}
	for (int i = 0; i < 20; i++)
		assert_int_equal(raw_msg(fd[i], 0).op, DCM_REJ_USER);
	/* For room, which is an event, and not for a time. */
	assert_false(slept);
}

static unsigned half_open(void)
{
	unsigned n = hold()->half_open_n;

	gate_open();
	return n;
}

static void set_limits(uint64_t half_open_us, size_t listener_max)
{
	struct scm *scm = hold();

	scm->limits.half_open_us = half_open_us;
	scm->dcm.eng.listener_max = listener_max;
	gate_open();
}

#define PARKED 4

/*
 * Sockets whose request there is no room for, as long as CONN is not answered,
 * which the FIRST made.
 */
static struct {
	int fd[PARKED], first;
	struct dapl_cm_conn *conn;
} parked;

static int setup_parked(void **state)
{
	setup_server(state);
	hold()->dcm.eng.listener_max = 1;
	gate_open();
	for (int i = 0; i < PARKED; i++)
		parked.fd[i] = raw_connect(server.port);
	/* Sockets are accepted in their order. */
	parked.first = ask("scm-req");
	parked.conn = take(SEEN_REQUEST, &server.sp).conn;
	for (int i = 0; i < PARKED; i++)
		raw_send_file(parked.fd[i], "scm-req");
	while (half_open())
		usleep(1000);
	return 0;
}

#define WITH_PARKED(name) CASE_WITH(name, setup_parked, teardown_server)

WITH_PARKED(half__request_waits_for_room)
{
	/* The time of silent ones passes; these do not count as such. */
	set_limits(200000, 2);
	raw_ended(raw_connect(server.port));
	assert_int_equal(pending(SEEN_REQUEST, &server.sp), 0);
	set_limits(RAW_PATIENCE_S * 1000000ull, 1);
	world_release(parked.conn);
	hear_no(parked.first);
	for (int i = 0; i < PARKED; i++) {
		struct seen r = take(SEEN_REQUEST, &server.sp);

		assert_int_equal(pending(SEEN_REQUEST, &server.sp), 0);
		world_release(r.conn);
	}
	for (int i = 0; i < PARKED; i++)
		hear_no(parked.fd[i]);
}

WITH_PARKED(half__no_room_and_the_listener_goes)
{
	server_unlisten();
	for (int i = 0; i < PARKED; i++)
		raw_ended(parked.fd[i]);
	/* The request that was shown goes on. */
	world_release(parked.conn);
	hear_no(parked.first);
}

WITH_PARKED(half__no_room_and_the_end)
{
	server_stop();
	for (int i = 0; i < PARKED; i++)
		raw_ended(parked.fd[i]);
	hear_no(parked.first);
}

AS_SERVER(half__listener_gone)
{
	int fd = raw_connect(server.port);

	raw_write(fd, "\0\11\0\1", 4);
	/* Sockets are accepted in their order. */
	ask("scm-req");
	server_drop();
	server_unlisten();
	raw_send_file(fd, "scm-req");
	raw_ended(fd);
}

AS_SERVER(half__hostile_bytes)
{
	uint8_t buf[600];
	unsigned x = 1;
	int fd;

	server.sp.refuse = true;
	for (int round = 0; round < 200; round++) {
		size_t n = wire_load("scm-req", buf, sizeof(buf));

		/* A good request with junk behind it, or with a few wrong
		 * bytes. */
		for (size_t i = round % 2 ? 0 : n; i < sizeof(buf); i++) {
			x = x * 1664525 + 1013904223;
			if (round % 2 == 0 || x >> 28 == 0)
				buf[i] = (uint8_t)(x >> 20);
		}
		fd = raw_connect(server.port);
		send(fd, buf, round % 3 ? sizeof(buf) : n, MSG_NOSIGNAL);
		raw_close(fd);
	}
	/* It still serves. */
	hear_no(ask("scm-req"));
	server_unlisten();
	while (pending(SEEN_REQUEST, &server.sp))
		take(SEEN_REQUEST, &server.sp);
}

/* ---------------------------------------------- the provider as client */

/* It asks us, with five bytes of private data. */
static struct {
	uint16_t port;
	int listener;
	struct dapl_ep *ep;
	struct dapl_cm_conn *conn;
	/* As we have it: the last attempt, and what it asked. */
	int fd;
	struct dcm_msg req;
} client;

/* The next attempt, with FILLER bytes between header and data. */
static void client_dials(size_t filler)
{
	client.fd = raw_accept(client.listener);
	client.req = raw_msg(client.fd, filler);
}

static void client_connect(void)
{
	client.ep = ep_new(&world.a);
	client.conn = begin(client.ep, qual_of(client.port), "hello", 5);
	client_dials(0);
}

/* The consumer has done with the connection. */
static void client_release(void)
{
	finish(client.conn, client.ep);
	ep_del(client.ep);
	client.conn = NULL;
}

static int setup_client(void **state)
{
	setup(state);
	client.listener = raw_listen(8, &client.port);
	client_connect();
	return 0;
}

static int teardown_client(void **state)
{
	if (client.conn)
		client_release();
	return teardown(state);
}

#define AS_CLIENT(name) CASE_WITH(name, setup_client, teardown_client)

static void is_req(const struct dcm_msg *msg)
{
	struct sockaddr_storage named, peer;
	socklen_t len = sizeof(peer);
	struct dcm_ib ib;

	assert_int_equal(msg->version, 9);
	assert_int_equal(msg->op, DCM_REQ);
	assert_int_equal(msg->p_size, 5);
	assert_memory_equal(msg->pdata, "hello", 5);
	assert_int_equal(msg->responder_resources, 4);
	assert_int_equal(msg->sport | msg->dport | msg->sqpn | msg->dqpn |
				 msg->s_id | msg->d_id | msg->rtns,
			 0);
	dcm_block_get_ib(&msg->saddr, &ib);
	assert_int_equal(ib.qpn, client.ep->cfg.qp_num);
	assert_int_equal(ib.qp_type, DCM_QP_RC);
	memcpy(&named, msg->daddr.b, sizeof(msg->daddr.b));
	getpeername(client.fd, (struct sockaddr *)&peer, &len);
	assert_int_equal(dapl_addr_port(&named), dapl_addr_port(&peer));
	assert_true(dapl_addr_same_host((struct sockaddr *)&named,
					(struct sockaddr *)&peer));
}

/* The request answered with a yes of VERSION from some queue pair. */
static void say_yes(unsigned version, bool filler)
{
	struct dcm_msg rep = client.req;
	uint8_t buf[SCM_FRAME_MAX];

	rep.version = (uint16_t)version;
	rep.op = DCM_REP;
	rep.p_size = 2;
	memcpy(rep.pdata, "ok", 2);
	raw_write(client.fd, buf, scm_frame_encode(&rep, filler, buf));
}

AS_CLIENT(client__every_byte)
{
	struct seen s;

	is_req(&client.req);
	say_yes(9, false);
	raw_word(client.fd, RAW_RTU9);
	s = take(SEEN_EVENT, client.ep);
	assert_int_equal(s.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(s.size, 2);
	assert_memory_equal(s.pdata, "ok", 2);
	assert_int_equal(scm_ops.disconnect(client.conn), 0);
	take_event(client.ep, DAPL_CM_DISCONNECTED);
	raw_word(client.fd, RAW_BYE);
	raw_ended(client.fd);
}

AS_CLIENT(client__answer_in_pieces)
{
	uint8_t buf[SCM_FRAME_MAX];

	client.req.op = DCM_REP;
	raw_write_slowly(client.fd, buf,
			 scm_frame_encode(&client.req, false, buf));
	raw_word(client.fd, RAW_RTU9);
	take_event(client.ep, DAPL_CM_ESTABLISHED);
	raw_send_file(client.fd, "scm-bye");
	raw_word(client.fd, RAW_BYE);
	take_event(client.ep, DAPL_CM_DISCONNECTED);
}

/* A server of version 7 hangs up on the current form and takes the other. */
AS_CLIENT(client__old_server)
{
	raw_close(client.fd);
	client_dials(SCM_FILLER);
	is_req(&client.req);
	say_yes(7, true);
	raw_word(client.fd, RAW_RTU7);
	take_event(client.ep, DAPL_CM_ESTABLISHED);
	raw_close(client.fd);
	take_event(client.ep, DAPL_CM_DISCONNECTED);
}

AS_CLIENT(client__server_ends_without_a_word)
{
	static const struct ending rows[] = {
		{NULL, 0, false},
		{NULL, 0, true},
		{"\0\11\0\2", 4, false}, /* the begin of an answer */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		end(client.fd, &rows[i]);
		client_dials(SCM_FILLER);
		end(client.fd, &rows[i]);
		take_event(client.ep, DAPL_CM_BROKEN);
		client_release();
		client_connect();
	}
}

AS_CLIENT(client__server_process_dies)
{
	raw_close(client.listener);
	raw_close(client.fd);
	take_event(client.ep, DAPL_CM_NON_PEER_REJECTED);
}

AS_CLIENT(client__answers_no)
{
	static const struct {
		uint8_t op, size;
		enum dapl_cm_event event;
		size_t told; /* of the private data */
	} rows[] = {
		{DCM_REJ_USER, 5, DAPL_CM_PEER_REJECTED, 5},
		{DCM_REJ_CM, 5, DAPL_CM_NON_PEER_REJECTED, 0},
		{0x55, 0, DAPL_CM_NON_PEER_REJECTED, 0},
	};
	uint8_t buf[SCM_FRAME_MAX];
	struct seen s;
	size_t n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		n = scm_frame_encode(&client.req, false, buf);
		buf[3] = rows[i].op;
		buf[17] = rows[i].size;
		raw_write(client.fd, buf, n);
		s = take(SEEN_EVENT, client.ep);
		assert_int_equal(s.event, rows[i].event);
		assert_int_equal(s.size, rows[i].told);
		client_release();
		client_connect();
	}
}

/* The answer's header with one byte that cannot be. */
static void say_nonsense(size_t at, uint8_t byte)
{
	uint8_t buf[SCM_FRAME_MAX];

	client.req.op = DCM_REP;
	scm_frame_encode(&client.req, false, buf);
	buf[at] = byte;
	raw_write(client.fd, buf, DCM_HEADER);
	raw_ended(client.fd);
}

AS_CLIENT(client__hostile_answers)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} rows[] = {{1, 5}, {17, 69}, {16, 0xff}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		say_nonsense(rows[i].at, rows[i].byte);
		client_dials(SCM_FILLER);
		say_nonsense(rows[i].at, rows[i].byte);
		take_event(client.ep, DAPL_CM_BROKEN);
		client_release();
		client_connect();
	}
}

AS_CLIENT(client__released_while_the_server_thinks)
{
	client_release();
	raw_ended(client.fd);
}

static sem_t at_barrier;
static bool barrier_came;

void __real_dapl_loop_barrier(struct dapl_loop *loop);
void __wrap_dapl_loop_barrier(struct dapl_loop *loop);
void __wrap_dapl_loop_barrier(struct dapl_loop *loop)
{
	sem_post(&at_barrier);
	__real_dapl_loop_barrier(loop);
}

static void until_barrier(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += RAW_PATIENCE_S;
	barrier_came = !sem_timedwait(&at_barrier, &until);
}

/*
 * What the consumer hears last comes in the middle of a callback, which frees
 * its own connection and then goes on with the instance.
 */
AS_CLIENT(stop__while_a_callback_goes_on)
{
	sem_init(&at_barrier, 0, 0);
	barrier_came = false;
	client.ep->and_then = until_barrier;
	gate_shut_to(&world.a);
	say_yes(9, false);
	world_release(client.conn);
	gate_open();
	take(SEEN_GONE, client.ep);
	client.conn = NULL;
	scm_ops.stop(world.a.cm);
	assert_true(barrier_came);
	sem_destroy(&at_barrier);
	ep_del(client.ep);
}

#define DIALED 50

/*
 * dat_ep_connect() dials by itself: the streams of many are not set up in the
 * service thread's time, which others' requests would wait for.
 */
CASE_WITH(client__dials_without_the_service_thread, setup, teardown)
{
	struct dapl_ep *ep[DIALED];
	struct dapl_cm_conn *conn[DIALED];
	int fd[DIALED], listener;
	uint16_t port;

	listener = raw_listen(DIALED, &port);
	gate_shut_to(&world.a);
	for (int i = 0; i < DIALED; i++) {
		ep[i] = ep_new(&world.a);
		conn[i] = begin(ep[i], qual_of(port), NULL, 0);
	}
	for (int i = 0; i < DIALED; i++)
		fd[i] = raw_accept(listener);
	/* One is given up before the service thread has heard of it. */
	world_release(conn[0]);
	gate_open();
	take(SEEN_GONE, ep[0]);
	for (int i = 1; i < DIALED; i++)
		assert_int_equal(raw_msg(fd[i], 0).op, DCM_REQ);
	raw_ended(fd[0]);
	for (int i = 1; i < DIALED; i++)
		finish(conn[i], ep[i]);
	for (int i = 0; i < DIALED; i++)
		ep_del(ep[i]);
}

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void check_options(int fd, int idle_s, int interval_s)
{
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), idle_s);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), interval_s);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT),
			 (idle_s + 6 * interval_s) * 1000);
}

/* Of AS_CLIENT's next connection, for which that is set. */
static int fd_of_next_client(int keepalive_ms)
{
	client_release();
	raw_close(client.fd);
	((struct scm_params *)world.a.params)->keepalive_ms = keepalive_ms;
	client_connect();
	return ((struct scm_conn *)client.conn)->fd;
}

AS_CLIENT(socket__options)
{
	int fd;

	check_options(((struct scm_conn *)client.conn)->fd, 60, 10);
	check_options(fd_of_next_client(1), 1, 1);
	check_options(fd_of_next_client(6001), 7, 2);
	fd = fd_of_next_client(0);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
}

/* And its address is what the listener is bound to. */
AS_SERVER(socket__options_of_an_accepted_one)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load("scm-req", buf, sizeof(buf));
	struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
	socklen_t size = sizeof(own);
	int fd = raw_connect(server.port);
	struct dcm_block block;
	struct scm_conn *conn;
	struct seen r;

	raw_write(fd, buf, len);
	r = take(SEEN_REQUEST, &server.sp);
	conn = (struct scm_conn *)r.conn;
	check_options(conn->fd, 60, 10);
	assert_int_equal(getsockname(conn->fd, (struct sockaddr *)&own, &size),
			 0);
	dcm_block_set_sockaddr(&block, (struct sockaddr *)&own);
	assert_memory_equal(&conn->base.dcm.local, &block, sizeof(block));
	world_release(r.conn);
	raw_msg(fd, 0);
}

/* ------------------------------------------------ with a forked child */

/* A child that has a copy of every descriptor, until child_end(). */
static struct child {
	pid_t pid;
	int life[2];
} child;

static void child_begin(void)
{
	char byte;

	assert_int_equal(pipe(child.life), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid)
		return;
	/* Ends with this process, too, should the test fail. */
	close(child.life[1]);
	_exit(read(child.life[0], &byte, 1) != 0);
}

static void child_end(void)
{
	int status;

	close(child.life[1]);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	assert_int_equal(status, 0);
	close(child.life[0]);
}

AS_CLIENT(fork__peer_hears_of_a_release)
{
	child_begin();
	client_release();
	raw_ended(client.fd);
	child_end();
}

AS_SERVER(fork__peer_hears_of_a_reject)
{
	int fd = ask("scm-req");
	struct seen r = take(SEEN_REQUEST, &server.sp);

	child_begin();
	world_release(r.conn);
	hear_no(fd);
	raw_ended(fd);
	child_end();
}

AS_SERVER(fork__peer_hears_of_a_stop)
{
	int fd = ask("scm-req");

	take(SEEN_REQUEST, &server.sp);
	child_begin();
	server_stop();
	hear_no(fd);
	raw_ended(fd);
	child_end();
}

AS_SERVER(fork__port_is_free_after_unlisten)
{
	struct sockaddr_in addr = raw_addr(server.port);
	int fd = raw_socket();

	child_begin();
	server_unlisten();
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, ECONNREFUSED);
	listen_on(&server.sp, qual_of(server.port));
	child_end();
}

RUN_CASES(NULL, NULL)
