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

#include "dapl/openib_scm/scm.h"
#include "test/unit/cm_world.h"
#include "test/unit/openib_scm/scm_raw.h"

static struct world world;
static int files;

static int setup(void **state)
{
	files = raw_open_files();
	world_open(&world, FV_ROCE);
	return 0;
}

static int teardown(void **state)
{
	world_close(&world);
	assert_int_equal(raw_open_files(), files);
	return 0;
}

static DAT_CONN_QUAL qual_of(uint16_t port)
{
	return (DAT_CONN_QUAL)(uint16_t)(port - RAW_QUAL_BASE);
}

static struct scm *passive(void)
{
	return (struct scm *)world.b.cm;
}

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

struct server {
	struct dapl_sp sp;
	struct dapl_ep *ep;
	uint16_t port;
};

static void server_open(struct server *s)
{
	memset(s, 0, sizeof(*s));
	s->sp.side = &world.b;
	s->port = raw_free_port();
	s->ep = ep_new(&world.b);
	listen_on(&s->sp, qual_of(s->port));
}

static void server_close(struct server *s)
{
	unlisten(&s->sp, s->sp.listener);
	ep_del(s->ep);
}

static struct dapl_cm_conn *server_accept(struct server *s, size_t pdata_size)
{
	struct seen r = take(SEEN_REQUEST, &s->sp);

	assert_int_equal(r.size, pdata_size);
	for (size_t i = 0; i < pdata_size; i++)
		assert_int_equal(r.pdata[i], 0x50 + i % 16);
	assert_int_equal(scm_ops.accept(r.conn, &s->ep->cfg, s->ep, "yes", 3),
			 0);
	s->ep->refs++;
	return r.conn;
}

static void is_rep(struct server *s, const struct dcm_msg *msg)
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
	assert_int_equal(ib.qpn, s->ep->cfg.qp_num);
	assert_int_equal(ib.qp_type, DCM_QP_RC);
	assert_true(dcm_block_get_sockaddr(&msg->daddr, &own));
	assert_int_equal(dapl_addr_port(&own), s->port);
}

static void server__every_byte(void **state)
{
	struct dapl_cm_conn *conn;
	struct server s;
	struct dcm_msg msg;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	conn = server_accept(&s, 20);
	msg = raw_msg(fd, 0);
	is_rep(&s, &msg);
	raw_send_file(fd, "scm-rtu");
	take_event(s.ep, DAPL_CM_ESTABLISHED);
	raw_send_file(fd, "scm-bye");
	take_event(s.ep, DAPL_CM_DISCONNECTED);
	raw_word(fd, RAW_BYE);
	raw_ended(fd);
	finish(conn, s.ep);
	close(fd);
	server_close(&s);
}

static void server__disconnects(void **state)
{
	struct dapl_cm_conn *conn;
	struct server s;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	conn = server_accept(&s, 20);
	raw_msg(fd, 0);
	raw_send_file(fd, "scm-rtu");
	take_event(s.ep, DAPL_CM_ESTABLISHED);
	assert_int_equal(scm_ops.disconnect(conn), 0);
	take_event(s.ep, DAPL_CM_DISCONNECTED);
	raw_word(fd, RAW_BYE);
	raw_ended(fd);
	finish(conn, s.ep);
	close(fd);
	server_close(&s);
}

static void reject_is(bool consumer, unsigned op, size_t size)
{
	uint8_t sent[SCM_FRAME_MAX], got[SCM_FRAME_MAX];
	struct seen r;
	struct server s;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	r = take(SEEN_REQUEST, &s.sp);
	if (consumer)
		scm_ops.reject(r.conn, "\xa0\xa1\xa2", size);
	world_release(r.conn);
	/* The request's header with another op and size. */
	wire_load("scm-req", sent, sizeof(sent));
	sent[3] = (uint8_t)op;
	sent[17] = (uint8_t)size;
	raw_read(fd, got, DCM_HEADER + size);
	assert_memory_equal(got, sent, DCM_HEADER);
	assert_memory_equal(got + DCM_HEADER, "\xa0\xa1\xa2", size);
	raw_ended(fd);
	close(fd);
	server_close(&s);
}

static void server__rejects(void **state)
{
	reject_is(true, DCM_REJ_USER, 3);
	reject_is(true, DCM_REJ_USER, 0);
	reject_is(false, DCM_REJ_CM, 0);
}

static void server__old_client(void **state)
{
	struct dapl_cm_conn *conn;
	struct server s;
	struct dcm_msg msg;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-v7-req");
	conn = server_accept(&s, 20);
	msg = raw_msg(fd, SCM_FILLER);
	is_rep(&s, &msg);
	raw_write(fd, "\0\7\0\5", 4);
	take_event(s.ep, DAPL_CM_ESTABLISHED);
	finish(conn, s.ep);
	raw_word(fd, RAW_BYE);
	close(fd);
	server_close(&s);
}

static void server__client_with_filler(void **state)
{
	struct dapl_cm_conn *conn;
	struct server s;
	struct dcm_msg msg;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req-filler");
	conn = server_accept(&s, 20);
	msg = raw_msg(fd, 0);
	is_rep(&s, &msg);
	raw_send_file(fd, "scm-rtu");
	take_event(s.ep, DAPL_CM_ESTABLISHED);
	finish(conn, s.ep);
	close(fd);
	server_close(&s);
}

static void server__slow_client(void **state)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load("scm-req", buf, sizeof(buf));
	struct dapl_cm_conn *conn;
	struct server s;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	for (size_t i = 0; i < len; i++)
		raw_write(fd, buf + i, 1);
	conn = server_accept(&s, 20);
	raw_msg(fd, 0);
	wire_load("scm-rtu", buf, sizeof(buf));
	for (int i = 0; i < 4; i++)
		raw_write(fd, buf + i, 1);
	take_event(s.ep, DAPL_CM_ESTABLISHED);
	finish(conn, s.ep);
	close(fd);
	server_close(&s);
}

/* Address handles for datagrams are not offered. */
static void server__datagram_request(void **state)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load("scm-req", buf, sizeof(buf));
	struct dcm_msg msg;
	struct server s;
	int fd;

	server_open(&s);
	buf[63] = DCM_QP_UD;
	fd = raw_connect(s.port);
	raw_write(fd, buf, len);
	msg = raw_msg(fd, 0);
	assert_int_equal(msg.op, DCM_REJ_CM);
	raw_ended(fd);
	close(fd);
	server_close(&s);
}

static void server__address_that_is_not_the_peers(void **state)
{
	uint8_t buf[SCM_FRAME_MAX];
	size_t len = wire_load("scm-req", buf, sizeof(buf));
	struct sockaddr_in own, *peer;
	socklen_t size;
	struct server s;
	struct seen r;
	int fd;

	server_open(&s);
	for (int i = 0; i < 2; i++) {
		/* 10.0.2.15 port 34332, and nothing. */
		if (i)
			memset(buf + 64, 0, 28);
		fd = raw_connect(s.port);
		size = sizeof(own);
		getsockname(fd, (struct sockaddr *)&own, &size);
		raw_write(fd, buf, len);
		r = take(SEEN_REQUEST, &s.sp);
		peer = (struct sockaddr_in *)&r.peer;
		assert_int_equal(peer->sin_addr.s_addr, own.sin_addr.s_addr);
		assert_int_equal(peer->sin_port, own.sin_port);
		assert_int_equal(r.peer_port, ntohs(own.sin_port));
		world_release(r.conn);
		raw_msg(fd, 0);
		close(fd);
	}
	server_close(&s);
}

/* Every way in which a client can end an attempt that was accepted. */
static void accept_in_vain(const char *last, bool reset)
{
	struct dapl_cm_conn *conn;
	struct server s;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	conn = server_accept(&s, 20);
	raw_msg(fd, 0);
	if (last)
		raw_write(fd, last, 4);
	if (reset)
		raw_reset(fd);
	else
		close(fd);
	take_event(s.ep, DAPL_CM_ACCEPT_FAILED);
	finish(conn, s.ep);
	server_close(&s);
}

static void server__client_ends_before_rtu(void **state)
{
	accept_in_vain(NULL, false);
	accept_in_vain(NULL, true);
	accept_in_vain("junk", false);
	accept_in_vain("\0\0\xde\xad", false);
}

static void established_then(const char *last, size_t n, bool reset)
{
	struct dapl_cm_conn *conn;
	struct server s;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	conn = server_accept(&s, 20);
	raw_msg(fd, 0);
	raw_send_file(fd, "scm-rtu");
	if (n)
		raw_write(fd, last, n);
	if (reset)
		raw_reset(fd);
	else
		close(fd);
	take_event(s.ep, DAPL_CM_ESTABLISHED);
	take_event(s.ep, DAPL_CM_DISCONNECTED);
	assert_int_equal(ep_state(s.ep), IBV_QPS_ERR);
	finish(conn, s.ep);
	server_close(&s);
}

static void server__client_ends_without_a_word(void **state)
{
	established_then(NULL, 0, false);
	established_then("jun", 3, false);
	established_then("junk", 4, false);
	established_then("\0\0\xde\xad junk", 9, false);
}

/*
 * A client that ends a connection once it has another too: who hears of all at
 * once hears of the other first. LATE: the service thread is at the first word
 * when the others come.
 */
static void in_order(bool late)
{
	struct dapl_cm_conn *conn, *other_conn;
	struct seen established, disconnected;
	struct dapl_ep *ep, *other;
	int fd, other_fd;
	struct server s;

	server_open(&s);
	ep = s.ep;
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	conn = server_accept(&s, 20);
	raw_msg(fd, 0);
	s.ep = other = ep_new(&world.b);
	other_fd = raw_connect(s.port);
	raw_send_file(other_fd, "scm-req");
	other_conn = server_accept(&s, 20);
	raw_msg(other_fd, 0);

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
	established = take(SEEN_EVENT, other);
	assert_int_equal(established.event, DAPL_CM_ESTABLISHED);
	disconnected = take(SEEN_EVENT, ep);
	assert_int_equal(disconnected.event, DAPL_CM_DISCONNECTED);
	assert_true(established.nth < disconnected.nth);
	finish(conn, ep);
	finish(other_conn, other);
	close(fd);
	close(other_fd);
	ep_del(ep);
	server_close(&s);
}

static void server__hears_in_the_order_of_the_words(void **state)
{
	in_order(false);
	in_order(true);
}

static void server__client_gone_before_the_answer(void **state)
{
	struct server s;
	struct seen r;
	int fd;

	server_open(&s);
	for (int i = 0; i < 2; i++) {
		fd = raw_connect(s.port);
		raw_send_file(fd, "scm-req");
		r = take(SEEN_REQUEST, &s.sp);
		if (i)
			raw_reset(fd);
		else
			close(fd);
		/* Whether that was seen yet or not, nothing may follow. */
		assert_int_equal(scm_ops.reject(r.conn, NULL, 0), 0);
		world_release(r.conn);
	}
	server_close(&s);
}

/* ----------------------------------------------------- half-open sockets */

static void half__time_is_over(void **state)
{
	struct server s;
	int fd[3];

	passive()->limits.half_open_us = 1000000;
	server_open(&s);
	for (int i = 0; i < 3; i++)
		fd[i] = raw_connect(s.port);
	raw_write(fd[1], "\0\11\0\1", 4);
	for (int i = 0; i < 3; i++) {
		raw_ended(fd[i]);
		close(fd[i]);
	}
	server_close(&s);
}

static void half__oldest_makes_room(void **state)
{
	struct dapl_cm_conn *conn;
	struct server s;
	int fd[6], good;

	passive()->limits.half_open_max = 3;
	passive()->limits.half_open_grace_us = 0;
	server_open(&s);
	for (int i = 0; i < 6; i++)
		fd[i] = raw_connect(s.port);
	good = raw_connect(s.port);
	raw_send_file(good, "scm-req");
	conn = server_accept(&s, 20);
	for (int i = 0; i < 4; i++)
		raw_ended(fd[i]);
	/* The last two still have their chance. */
	for (int i = 4; i < 6; i++) {
		raw_send_file(fd[i], "scm-req");
		world_release(take(SEEN_REQUEST, &s.sp).conn);
		raw_msg(fd[i], 0);
	}
	for (int i = 0; i < 6; i++)
		close(fd[i]);
	finish(conn, s.ep);
	close(good);
	server_close(&s);
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
static void half__crowd_waits(void **state)
{
	struct server s;
	int fd[20];

	slept = false;
	passive()->limits.half_open_max = 3;
	passive()->limits.half_open_grace_us = RAW_PATIENCE_S * 1000000;
	server_open(&s);
	for (int i = 0; i < 20; i++)
		fd[i] = raw_connect(s.port);
	for (int i = 0; i < 20; i++)
		raw_send_file(fd[i], "scm-req");
	for (int i = 0; i < 20; i++) {
		struct seen r = take(SEEN_REQUEST, &s.sp);

		scm_ops.reject(r.conn, NULL, 0);
		world_release(r.conn);
	}
	for (int i = 0; i < 20; i++) {
		assert_int_equal(raw_msg(fd[i], 0).op, DCM_REJ_USER);
		close(fd[i]);
	}
	/* For room, which is an event, and not for a time. */
	assert_false(slept);
	server_close(&s);
}

/* While the service thread stands still. */
static unsigned half_open(void)
{
	unsigned n;

	gate_shut_to(&world.b);
	n = passive()->half_open_n;
	gate_open();
	return n;
}

static void set_limits(uint64_t half_open_us, size_t listener_max)
{
	gate_shut_to(&world.b);
	passive()->limits.half_open_us = half_open_us;
	passive()->dcm.eng.listener_max = listener_max;
	gate_open();
}

#define PARKED 4

/*
 * PARKED sockets whose request there is no room for, as long as *RET_CONN is
 * not answered, which that on *RET_FD made.
 */
static void park(struct server *s, int *fd, int *ret_fd,
		 struct dapl_cm_conn **ret_conn)
{
	passive()->dcm.eng.listener_max = 1;
	server_open(s);
	for (int i = 0; i < PARKED; i++)
		fd[i] = raw_connect(s->port);
	/* Sockets are accepted in their order. */
	*ret_fd = raw_connect(s->port);
	raw_send_file(*ret_fd, "scm-req");
	*ret_conn = take(SEEN_REQUEST, &s->sp).conn;
	for (int i = 0; i < PARKED; i++)
		raw_send_file(fd[i], "scm-req");
	while (half_open())
		usleep(1000);
}

static void half__request_waits_for_room(void **state)
{
	int fd[PARKED], first, silent;
	struct dapl_cm_conn *conn;
	struct server s;

	park(&s, fd, &first, &conn);
	/* The time of silent ones passes; these do not count as such. */
	set_limits(200000, 2);
	silent = raw_connect(s.port);
	raw_ended(silent);
	assert_int_equal(pending(SEEN_REQUEST, &s.sp), 0);
	set_limits(RAW_PATIENCE_S * 1000000ull, 1);
	world_release(conn);
	assert_int_equal(raw_msg(first, 0).op, DCM_REJ_CM);
	for (int i = 0; i < PARKED; i++) {
		conn = take(SEEN_REQUEST, &s.sp).conn;
		assert_int_equal(pending(SEEN_REQUEST, &s.sp), 0);
		world_release(conn);
	}
	for (int i = 0; i < PARKED; i++) {
		assert_int_equal(raw_msg(fd[i], 0).op, DCM_REJ_CM);
		close(fd[i]);
	}
	close(first);
	close(silent);
	server_close(&s);
}

static void half__no_room_and_the_listener_goes(void **state)
{
	int fd[PARKED], first;
	struct dapl_cm_conn *conn;
	struct server s;

	park(&s, fd, &first, &conn);
	unlisten(&s.sp, s.sp.listener);
	for (int i = 0; i < PARKED; i++) {
		raw_ended(fd[i]);
		close(fd[i]);
	}
	/* The request that was shown goes on. */
	world_release(conn);
	assert_int_equal(raw_msg(first, 0).op, DCM_REJ_CM);
	close(first);
	ep_del(s.ep);
}

static void half__no_room_and_the_end(void **state)
{
	int fd[PARKED], first;
	struct dapl_cm_conn *conn;
	struct server s;

	park(&s, fd, &first, &conn);
	scm_ops.stop(world.b.cm);
	take(SEEN_UNLISTENED, &s.sp);
	for (int i = 0; i < PARKED; i++) {
		raw_ended(fd[i]);
		close(fd[i]);
	}
	assert_int_equal(raw_msg(first, 0).op, DCM_REJ_CM);
	close(first);
	ep_del(s.ep);
}

static void half__listener_gone(void **state)
{
	struct server s;
	int fd, other;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_write(fd, "\0\11\0\1", 4);
	/* Sockets are accepted in their order. */
	other = raw_connect(s.port);
	raw_send_file(other, "scm-req");
	world_release(take(SEEN_REQUEST, &s.sp).conn);
	unlisten(&s.sp, s.sp.listener);
	raw_send_file(fd, "scm-req");
	raw_ended(fd);
	close(fd);
	close(other);
	ep_del(s.ep);
}

static void half__hostile_bytes(void **state)
{
	uint8_t buf[600];
	struct server s;
	unsigned x = 1;
	int fd;

	server_open(&s);
	s.sp.refuse = true;
	for (int round = 0; round < 200; round++) {
		size_t n = wire_load("scm-req", buf, sizeof(buf));

		/* A good request with junk behind it, or with a few wrong
		 * bytes. */
		for (size_t i = round % 2 ? 0 : n; i < sizeof(buf); i++) {
			x = x * 1664525 + 1013904223;
			if (round % 2 == 0 || x >> 28 == 0)
				buf[i] = (uint8_t)(x >> 20);
		}
		fd = raw_connect(s.port);
		send(fd, buf, round % 3 ? sizeof(buf) : n, MSG_NOSIGNAL);
		close(fd);
	}
	/* It still serves. */
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	assert_int_equal(raw_msg(fd, 0).op, DCM_REJ_CM);
	close(fd);
	server_close(&s);
	while (pending(SEEN_REQUEST, &s.sp))
		take(SEEN_REQUEST, &s.sp);
}

/* ---------------------------------------------- the provider as client */

struct client {
	struct dapl_ep *ep;
	struct dapl_cm_conn *conn;
	int listener;
	uint16_t port;
};

/* Asks us, with five bytes of private data. */
static void client_open(struct client *c)
{
	c->listener = raw_listen(8, &c->port);
	c->ep = ep_new(&world.a);
	c->conn = begin(c->ep, qual_of(c->port), "hello", 5);
}

static void client_close(struct client *c)
{
	finish(c->conn, c->ep);
	ep_del(c->ep);
	close(c->listener);
}

static void is_req(struct client *c, int fd, const struct dcm_msg *msg)
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
	assert_int_equal(ib.qpn, c->ep->cfg.qp_num);
	assert_int_equal(ib.qp_type, DCM_QP_RC);
	assert_true(dcm_block_get_sockaddr(&msg->daddr, &named));
	getpeername(fd, (struct sockaddr *)&peer, &len);
	assert_int_equal(dapl_addr_port(&named), dapl_addr_port(&peer));
	assert_true(dapl_addr_same_host((struct sockaddr *)&named,
					(struct sockaddr *)&peer));
}

/* MSG, a request, answered with a yes of VERSION from some queue pair. */
static void say_yes(int fd, struct dcm_msg msg, unsigned version, bool filler)
{
	uint8_t buf[SCM_FRAME_MAX];

	msg.version = (uint16_t)version;
	msg.op = DCM_REP;
	msg.p_size = 2;
	memcpy(msg.pdata, "ok", 2);
	raw_write(fd, buf, scm_frame_encode(&msg, filler, buf));
}

static void client__every_byte(void **state)
{
	struct client c;
	struct dcm_msg msg;
	struct seen s;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	msg = raw_msg(fd, 0);
	is_req(&c, fd, &msg);
	say_yes(fd, msg, 9, false);
	raw_word(fd, RAW_RTU9);
	s = take(SEEN_EVENT, c.ep);
	assert_int_equal(s.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(s.size, 2);
	assert_memory_equal(s.pdata, "ok", 2);
	assert_int_equal(scm_ops.disconnect(c.conn), 0);
	take_event(c.ep, DAPL_CM_DISCONNECTED);
	raw_word(fd, RAW_BYE);
	raw_ended(fd);
	close(fd);
	client_close(&c);
}

static void client__answer_in_pieces(void **state)
{
	uint8_t buf[SCM_FRAME_MAX];
	struct client c;
	struct dcm_msg msg;
	size_t n;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	msg = raw_msg(fd, 0);
	msg.op = DCM_REP;
	n = scm_frame_encode(&msg, false, buf);
	for (size_t i = 0; i < n; i++)
		raw_write(fd, buf + i, 1);
	raw_word(fd, RAW_RTU9);
	take_event(c.ep, DAPL_CM_ESTABLISHED);
	raw_send_file(fd, "scm-bye");
	raw_word(fd, RAW_BYE);
	take_event(c.ep, DAPL_CM_DISCONNECTED);
	close(fd);
	client_close(&c);
}

/* A server of version 7 hangs up on the current form and takes the other. */
static void client__old_server(void **state)
{
	struct client c;
	struct dcm_msg msg;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	raw_msg(fd, 0);
	close(fd);
	fd = raw_accept(c.listener);
	msg = raw_msg(fd, SCM_FILLER);
	is_req(&c, fd, &msg);
	say_yes(fd, msg, 7, true);
	raw_word(fd, RAW_RTU7);
	take_event(c.ep, DAPL_CM_ESTABLISHED);
	close(fd);
	take_event(c.ep, DAPL_CM_DISCONNECTED);
	client_close(&c);
}

static void hung_up_on(bool reset, bool short_answer)
{
	struct client c;
	int fd;

	client_open(&c);
	for (int i = 0; i < 2; i++) {
		fd = raw_accept(c.listener);
		raw_msg(fd, i ? SCM_FILLER : 0);
		if (short_answer)
			raw_write(fd, "\0\11\0\2", 4);
		if (reset)
			raw_reset(fd);
		else
			close(fd);
	}
	take_event(c.ep, DAPL_CM_BROKEN);
	client_close(&c);
}

static void client__server_ends_without_a_word(void **state)
{
	hung_up_on(false, false);
	hung_up_on(true, false);
	hung_up_on(false, true);
}

static void client__server_process_dies(void **state)
{
	struct client c;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	raw_msg(fd, 0);
	close(c.listener);
	c.listener = -1;
	close(fd);
	take_event(c.ep, DAPL_CM_NON_PEER_REJECTED);
	finish(c.conn, c.ep);
	ep_del(c.ep);
}

static void answered(unsigned op, unsigned size, enum dapl_cm_event event)
{
	uint8_t buf[SCM_FRAME_MAX];
	struct client c;
	struct dcm_msg msg;
	size_t n;
	struct seen s;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	msg = raw_msg(fd, 0);
	n = scm_frame_encode(&msg, false, buf);
	buf[3] = (uint8_t)op;
	buf[17] = (uint8_t)size;
	raw_write(fd, buf, n);
	s = take(SEEN_EVENT, c.ep);
	assert_int_equal(s.event, event);
	assert_int_equal(s.size,
			 event == DAPL_CM_PEER_REJECTED ? msg.p_size : 0);
	close(fd);
	client_close(&c);
}

static void client__answers_no(void **state)
{
	answered(DCM_REJ_USER, 5, DAPL_CM_PEER_REJECTED);
	answered(DCM_REJ_CM, 5, DAPL_CM_NON_PEER_REJECTED);
	answered(0x55, 0, DAPL_CM_NON_PEER_REJECTED);
}

static void client__hostile_answers(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} rows[] = {{1, 5}, {17, 69}, {16, 0xff}};
	uint8_t buf[SCM_FRAME_MAX];
	struct client c;
	int fd;

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		client_open(&c);
		for (int i = 0; i < 2; i++) {
			struct dcm_msg msg;

			fd = raw_accept(c.listener);
			msg = raw_msg(fd, i ? SCM_FILLER : 0);
			msg.op = DCM_REP;
			scm_frame_encode(&msg, false, buf);
			buf[rows[r].at] = rows[r].byte;
			raw_write(fd, buf, DCM_HEADER);
			raw_ended(fd);
			close(fd);
		}
		take_event(c.ep, DAPL_CM_BROKEN);
		client_close(&c);
	}
}

static void client__released_while_the_server_thinks(void **state)
{
	struct client c;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	raw_msg(fd, 0);
	finish(c.conn, c.ep);
	raw_ended(fd);
	close(fd);
	close(c.listener);
	ep_del(c.ep);
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
static void stop__while_a_callback_goes_on(void **state)
{
	struct dcm_msg req;
	struct client c;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	req = raw_msg(fd, 0);
	sem_init(&at_barrier, 0, 0);
	barrier_came = false;
	c.ep->and_then = until_barrier;
	gate_shut_to(&world.a);
	say_yes(fd, req, 9, false);
	world_release(c.conn);
	gate_open();
	take(SEEN_GONE, c.ep);
	scm_ops.stop(world.a.cm);
	assert_true(barrier_came);
	sem_destroy(&at_barrier);
	close(fd);
	close(c.listener);
	ep_del(c.ep);
}

#define DIALED 50

/*
 * dat_ep_connect() dials by itself: the streams of many are not set up in the
 * service thread's time, which others' requests would wait for.
 */
static void client__dials_without_the_service_thread(void **state)
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
	for (int i = 0; i < DIALED; i++) {
		close(fd[i]);
		ep_del(ep[i]);
	}
	close(listener);
}

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void socket__options(void **state)
{
	struct scm_conn *conn;
	struct client c;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	raw_msg(fd, 0);
	conn = (struct scm_conn *)c.conn;
	assert_int_equal(option_of(conn->fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option_of(conn->fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(option_of(conn->fd, IPPROTO_TCP, TCP_KEEPIDLE), 60);
	assert_int_equal(option_of(conn->fd, IPPROTO_TCP, TCP_KEEPINTVL), 10);
	assert_int_equal(option_of(conn->fd, IPPROTO_TCP, TCP_KEEPCNT), 6);
	client_close(&c);
	close(fd);
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

static void fork__peer_hears_of_a_release(void **state)
{
	struct client c;
	int fd;

	client_open(&c);
	fd = raw_accept(c.listener);
	raw_msg(fd, 0);
	child_begin();
	finish(c.conn, c.ep);
	raw_ended(fd);
	child_end();
	close(fd);
	close(c.listener);
	ep_del(c.ep);
}

static void fork__peer_hears_of_a_reject(void **state)
{
	struct server s;
	struct seen r;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	r = take(SEEN_REQUEST, &s.sp);
	child_begin();
	world_release(r.conn);
	assert_int_equal(raw_msg(fd, 0).op, DCM_REJ_CM);
	raw_ended(fd);
	child_end();
	close(fd);
	server_close(&s);
}

static void fork__peer_hears_of_a_stop(void **state)
{
	struct server s;
	int fd;

	server_open(&s);
	fd = raw_connect(s.port);
	raw_send_file(fd, "scm-req");
	take(SEEN_REQUEST, &s.sp);
	child_begin();
	scm_ops.stop(world.b.cm);
	assert_int_equal(raw_msg(fd, 0).op, DCM_REJ_CM);
	raw_ended(fd);
	child_end();
	close(fd);
	take(SEEN_UNLISTENED, &s.sp);
	ep_del(s.ep);
}

static void fork__port_is_free_after_unlisten(void **state)
{
	struct sockaddr_in addr;
	struct server s;
	int fd = raw_socket();

	server_open(&s);
	addr = raw_addr(s.port);
	child_begin();
	unlisten(&s.sp, s.sp.listener);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 -1);
	assert_int_equal(errno, ECONNREFUSED);
	listen_on(&s.sp, qual_of(s.port));
	child_end();
	close(fd);
	server_close(&s);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(server__every_byte),
		test(server__disconnects),
		test(server__rejects),
		test(server__old_client),
		test(server__client_with_filler),
		test(server__slow_client),
		test(server__datagram_request),
		test(server__address_that_is_not_the_peers),
		test(server__client_ends_before_rtu),
		test(server__client_ends_without_a_word),
		test(server__hears_in_the_order_of_the_words),
		test(server__client_gone_before_the_answer),
		test(half__time_is_over),
		test(half__oldest_makes_room),
		test(half__crowd_waits),
		test(half__request_waits_for_room),
		test(half__no_room_and_the_listener_goes),
		test(half__no_room_and_the_end),
		test(half__listener_gone),
		test(half__hostile_bytes),
		test(client__every_byte),
		test(client__answer_in_pieces),
		test(client__old_server),
		test(client__server_ends_without_a_word),
		test(client__server_process_dies),
		test(client__answers_no),
		test(client__hostile_answers),
		test(client__released_while_the_server_thinks),
		test(stop__while_a_callback_goes_on),
		test(client__dials_without_the_service_thread),
		test(socket__options),
		test(fork__peer_hears_of_a_release),
		test(fork__peer_hears_of_a_reject),
		test(fork__peer_hears_of_a_stop),
		test(fork__port_is_free_after_unlisten),
	};

	alarm(300);
	return cmocka_run_group_tests_name("t_scm_peer", tests, NULL, NULL);
}
