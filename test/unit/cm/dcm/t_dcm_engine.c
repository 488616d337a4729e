/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dcm_engine.c - one engine, and old peers played by captured messages.
 *
 * Calls covered: all of dcm_engine.h. What a connection does is tested with
 * the table (t_dcm_proto) and the simulator; here it is whose message it is,
 * and what exactly is sent. Operations are those of fake_engine.h; what they
 * are asked is recorded. A case finds one engine, and may leave its connections
 * as they are: their consumers release them at the end, and all that is left
 * must go by itself. One thread.
 */
#include "dapl/common/cm/dcm/dcm_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/fake_engine.h"
#include "test/unit/case.h"
#include "test/wire/wire.h"

#define CLIENT 0x18 /* CM queue pairs of the captured exchange */
#define SERVER 0x15
#define PORT   0xb0c0
#define IDS    64
#define QP_UC  3 /* a type that no endpoint has */

/* Where fields are that a peer might forge. */
enum {
	AT_VERSION = 1,
	AT_OP = 3,
	AT_SPORT = 5,
	AT_DPORT = 7,
	AT_SQPN = 11,
	AT_DQPN = 15,
	AT_P_SIZE = 17,
	AT_S_ID = 23,
	AT_D_ID = 27,
	AT_SPORT_HIGH = 29,
	AT_RTNS = 31,
	AT_SADDR_LID = 39,
	AT_SADDR_QPN = 43,
	AT_SADDR_GID = 59,
	AT_SADDR_TYPE = 63,
	AT_DADDR_QPN = 71,
};

/* A datagram, to be changed before it is fed. */
struct packet {
	uint8_t b[256];
	size_t len;
};

struct conn {
	struct fake_conn fake; /* must stay first */
	struct dapl_list link;
};

struct sent {
	uint8_t bytes[DCM_MSG];
	size_t len;
	struct dcm_msg msg;
	struct dcm_peer to;
};

static const uint8_t gid[16] = {0xfe, 0x80, 0, 0,    0,	   0,	 0,    0,
				0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 0x56};

static struct {
	struct dcm_engine eng;
	struct dcm_rules rules;
	struct sim_checks checks;
	struct dcm_listener listener;
	struct sent sent[8]; /* the first of them */
	int sent_n;
	int requests, gone, events, qps, hangups, rooms;
	uint64_t now_us, deadline_us;
	struct dcm_listener *room; /* the last that there was room for again */
	struct dapl_list conns;
	size_t live;
	enum dapl_cm_event event;
	uint8_t pdata[DCM_PDATA];
	size_t size;
	enum dcm_input came; /* last, and the state that it found */
	enum dcm_state found;
	struct dcm_conn *conn; /* of the last request */
	struct dcm_conn *moving;
	bool no_memory;
} w;

/* ------------------------------------------------------- memory */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool rtt_without_memory;

void *__wrap_calloc(size_t n, size_t size)
{
	if (rtt_without_memory && n == DCM_PEER_RTTS &&
	    size == sizeof(struct dcm_peer_rtt))
		return NULL;
	return __real_calloc(n, size);
}

/* ------------------------------------------------------- recorder */

static void on_send(struct dcm_engine *eng, struct dcm_conn *conn,
		    const struct dcm_peer *to, const struct dcm_msg *msg,
		    bool filler)
{
	struct sent *s = &w.sent[w.sent_n % 8];

	s->len = dcm_msg_encode(msg, s->bytes);
	s->msg = *msg;
	s->to = *to;
	w.sent_n++;
}

static void on_hangup(struct dcm_conn *conn)
{
	fake_hangup(conn);
	w.hangups++;
}

static void on_arm(struct dcm_conn *conn, uint64_t deadline_us)
{
	fake_arm(conn, deadline_us);
	w.deadline_us = deadline_us;
}

static int on_qp_connect(struct dcm_conn *conn)
{
	w.qps++;
	w.moving = conn;
	return fake_qp_connect(conn);
}

/* The queue pair that was to be moved is ready. */
static void qp_ready(void)
{
	struct dcm_conn *conn = w.moving;

	w.moving = NULL;
	if (conn)
		fake_moved(fake_conn_of(conn), DCM_IN_QP_READY, 3);
}

/* With the memory that everybody has. */
static struct dcm_conn *conn_new(void)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	assert_non_null(conn);
	fake_conn_init(&conn->fake, &w.eng, &w.checks);
	dapl_list_add_tail(&w.conns, &conn->link);
	w.live++;
	return &conn->fake.dcm;
}

static struct dcm_conn *on_conn_new(struct dcm_engine *eng)
{
	return w.no_memory ? NULL : conn_new();
}

static void on_request(struct dcm_listener *l, struct dcm_conn *conn,
		       const struct dcm_msg *msg)
{
	fake_request(l, conn, msg);
	w.requests++;
	w.conn = conn;
	w.size = msg->p_size;
	memcpy(w.pdata, msg->pdata, msg->p_size);
}

static void on_request_gone(struct dcm_conn *conn)
{
	fake_request_gone(conn);
	w.gone++;
}

static void on_event(struct dcm_conn *conn, enum dapl_cm_event event,
		     const void *pdata, size_t size)
{
	fake_event(conn, event, pdata, size);
	w.events++;
	w.event = event;
	w.size = size;
	if (size)
		memcpy(w.pdata, pdata, size);
}

static void on_room(struct dcm_engine *eng, struct dcm_listener *l)
{
	w.rooms++;
	w.room = l;
}

static void conn_free(struct dcm_conn *dcm)
{
	struct conn *conn = (struct conn *)dcm;

	dapl_list_del(&conn->link);
	w.live--;
	free(conn);
}

static void on_freed(struct dcm_conn *conn)
{
	fake_freed(conn);
	conn_free(conn);
}

static void on_comes(struct dcm_conn *conn, enum dcm_input in,
		     const struct dcm_msg *msg)
{
	w.came = in;
	w.found = conn->proto.state;
}

static const struct dcm_engine_ops ops = {
	.dial = fake_dial,
	.send = on_send,
	.hangup = on_hangup,
	.arm = on_arm,
	.disarm = fake_disarm,
	.qp_connect = on_qp_connect,
	.qp_error = fake_qp_error,
	.conn_new = on_conn_new,
	.request = on_request,
	.request_gone = on_request_gone,
	.event = on_event,
	.room = on_room,
	.freed = on_freed,
	.comes = on_comes,
};

/* -------------------------------------------------------- helpers */

static void start(uint32_t qpn, bool stream)
{
	memset(&w, 0, sizeof(w));
	dapl_list_init(&w.conns);
	w.now_us = 5;
	w.rules = (struct dcm_rules){
		.stream = stream,
		.rep_wait_us = 800000,
		.rtu_wait_us = 800000,
		.drep_wait_us = 200000,
		.rep_patience_us = 409600000,
		.rtu_patience_us = 409600000,
		.dreq_repeats = 1,
		.timewait_us = 60000000,
	};
	dcm_engine_init(&w.eng, &ops, &w.rules, 1);
	w.eng.conns_max = IDS;
	w.eng.last_id = 0; /* as captured */
	w.eng.self.qpn = qpn;
	w.eng.self.qp_type = DCM_QP_RC;
	memcpy(w.eng.self.gid, gid, sizeof(gid));
	w.checks.hostile = true; /* peers are captured, or lie */
}

static void release(struct dcm_conn *conn)
{
	fake_release(fake_conn_of(conn), 10);
}

/* Released, it is forgotten: there is nothing to wait for. */
static void release_all_over(struct dcm_conn *conn)
{
	size_t live = w.live;

	release(conn);
	assert_int_equal(w.live, live - 1);
}

/* Released, if it is not yet, it waits for its peer, and then is forgotten. */
static void finish(struct dcm_conn *conn)
{
	size_t live = w.live;
	uint64_t now_us = 0;

	if (!fake_conn_of(conn)->check.released)
		release(conn);
	assert_int_equal(w.live, live);
	while (w.live == live)
		fake_timer(fake_conn_of(conn), &now_us);
}

static int stop(void **state)
{
	while (!dapl_list_empty(&w.conns))
		finish(&dapl_list_first(&w.conns, struct conn, link)->fake.dcm);
	assert_int_equal(w.live, 0);
	assert_int_equal(w.eng.conns.n, 0);
	assert_int_equal(w.eng.timewait_n, 0);
	assert_int_equal(w.eng.waiting_n, 0);
	dcm_engine_fini(&w.eng);
	sim_checks_fini(&w.checks);
	return 0;
}

static struct packet load(const char *name)
{
	struct packet p;

	p.len = wire_load(name, p.b, sizeof(p.b));
	return p;
}

static void feed_from(const struct packet *p, const struct dcm_source *src)
{
	dcm_engine_datagram(&w.eng, p->b, p->len, src, w.now_us);
	qp_ready();
}

/* From a device that tells no more than the queue pair. */
static void feed(const struct packet *p, uint32_t src_qpn)
{
	const struct dcm_source src = {.qpn = src_qpn};

	feed_from(p, &src);
}

static void feed_msg(const struct dcm_msg *msg, uint32_t src_qpn)
{
	struct packet p;

	p.len = dcm_msg_encode(msg, p.b);
	feed(&p, src_qpn);
}

static void feed_golden(const char *name, uint32_t src_qpn)
{
	const struct packet p = load(name);

	feed(&p, src_qpn);
}

/* The last message sent is that of the file. */
static void assert_sent(const char *name)
{
	const struct sent *s = &w.sent[(w.sent_n - 1) % 8];
	struct packet want = load(name);

	assert_true(w.sent_n > 0);
	assert_int_equal(s->len, want.len);
	/* A size without data means nothing, and need not be alike. */
	if (!dcm_op_has_pdata(s->msg.op))
		want.b[AT_P_SIZE] = s->bytes[AT_P_SIZE];
	assert_memory_equal(s->bytes, want.b, want.len);
}

static const struct dcm_msg *last_sent(void)
{
	assert_true(w.sent_n > 0);
	return &w.sent[(w.sent_n - 1) % 8].msg;
}

/* The client of the captured exchange, up to its REQ. */
static struct dcm_conn *client(void)
{
	struct dcm_conn *conn = conn_new();
	struct dcm_ib ib = {.qpn = 0x19, .qp_type = DCM_QP_RC};

	fake_qp_new(fake_conn_of(conn), SIM_QP_ACTIVE);
	memcpy(ib.gid, gid, sizeof(gid));
	dcm_block_set_ib(&conn->own.saddr, &ib);
	ib.family = AF_INET6;
	ib.qpn = 0;
	ib.qp_type = DCM_QP_UD;
	dcm_block_set_ib(&conn->own.daddr, &ib);
	conn->own.responder_resources = 4;
	conn->own.mtu = 3;
	conn->own.p_size = 20;
	for (int i = 0; i < 20; i++)
		conn->own.pdata[i] = (uint8_t)(0x50 + i % 16);
	conn->peer.qpn = SERVER;
	assert_int_equal(dcm_engine_connect(&w.eng, conn, PORT, 1), 0);
	return conn;
}

static int start_client(void **state)
{
	start(CLIENT, false);
	return 0;
}

static int start_server(void **state)
{
	start(SERVER, false);
	w.eng.last_id = 1; /* as captured */
	assert_int_equal(dcm_engine_listen(&w.eng, &w.listener, PORT), 0);
	return 0;
}

/* A stream's, which has a listener without a port. */
static int start_stream(void **state)
{
	start(0, true);
	assert_int_equal(dcm_engine_listen(&w.eng, &w.listener, 0), 0);
	return 0;
}

#define AS_CLIENT(name) CASE_WITH(name, start_client, stop)
#define AS_SERVER(name) CASE_WITH(name, start_server, stop)
#define AS_STREAM(name) CASE_WITH(name, start_stream, stop)

static void start_server_again(void)
{
	stop(NULL);
	start_server(NULL);
}

/* The request of the captured exchange, and its connection. */
static struct dcm_conn *requested(void)
{
	int requests = w.requests;

	feed_golden("ucm-req", CLIENT);
	assert_int_equal(w.requests, requests + 1);
	return w.conn;
}

/* The same with another number of the client's. */
static struct packet request_of_id(uint8_t id)
{
	struct packet req = load("ucm-req");

	req.b[AT_S_ID] = req.b[AT_SPORT] = id;
	return req;
}

static void accept_with(struct dcm_conn *conn, uint32_t qpn)
{
	struct dcm_answer answer = fake_answer(fake_conn_of(conn));

	answer.responder_resources = 4;
	answer.mtu = 3;
	answer.p_size = 10;
	answer.ib.qpn = qpn;
	for (int i = 0; i < 10; i++)
		answer.pdata[i] = (uint8_t)(0xa0 + i);
	dcm_engine_accept(conn, &answer, 3);
	qp_ready();
}

/* -------------------------------------------- the captured exchange */

AS_CLIENT(client__of_the_captured_exchange)
{
	struct dcm_conn *conn = client();

	assert_int_equal(w.came, DCM_IN_CONNECT);
	assert_int_equal(w.found, DCM_IDLE);
	assert_sent("ucm-req");
	assert_int_equal(w.sent[0].to.qpn, SERVER);
	feed_golden("ucm-rep", SERVER);
	assert_int_equal(w.qps, 1);
	assert_int_equal(conn->remote.ib.qpn, 0x16);
	assert_int_equal(conn->remote.responder_resources, 4);
	assert_int_equal(conn->remote.mtu, 3);
	assert_sent("ucm-rtu");
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(w.size, 10);
	assert_int_equal(w.pdata[9], 0xa9);
	fake_disconnect(fake_conn_of(conn), 10);
	assert_sent("ucm-dreq");
	feed_golden("ucm-drep", SERVER);
	assert_int_equal(w.came, DCM_IN_DREP);
	assert_int_equal(w.found, DCM_DREQ_SENT);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
}

AS_SERVER(server__of_the_captured_exchange)
{
	struct dcm_conn *conn = requested();

	assert_int_equal(w.size, 20);
	assert_int_equal(w.pdata[0], 0x50);
	assert_int_equal(conn->remote.ib.qpn, 0x19);
	accept_with(conn, 0x16);
	assert_sent("ucm-rep");
	assert_int_equal(w.sent[0].to.qpn, CLIENT);
	feed_golden("ucm-rtu", CLIENT);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(w.size, 0);
	feed_golden("ucm-dreq", CLIENT);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	assert_sent("ucm-drep");
}

AS_SERVER(server__rejects_as_captured)
{
	struct packet req = load("ucm-req");
	uint8_t pdata[12];

	w.eng.self.qpn = 0x18;
	req.b[AT_SQPN] = 0x1b;
	req.b[AT_DQPN] = 0x18;
	req.b[AT_SADDR_QPN] = 0x1c;
	feed(&req, 0x1b);
	for (size_t i = 0; i < sizeof(pdata); i++)
		pdata[i] = (uint8_t)(0xa0 + i);
	dcm_engine_reject(w.conn, pdata, sizeof(pdata), 3);
	assert_sent("ucm-rej-user");
}

/* As captured, but of the type that was asked for: old clients go by that. */
AS_CLIENT(server__nobody_listens)
{
	struct packet req = load("ucm-req"), want = load("ucm-rej-no-listener");

	w.eng.self.qpn = 0x12;
	req.b[6] = 0xa0;
	req.b[AT_DPORT] = 0x28;
	req.b[AT_SQPN] = 0x15;
	req.b[AT_DQPN] = 0x12;
	req.b[AT_SADDR_QPN] = 0x16;
	feed(&req, 0x15);
	assert_int_equal(w.sent_n, 1);
	assert_int_equal(w.eng.stats.refused, 1);
	want.b[AT_SADDR_TYPE] = DCM_QP_RC;
	assert_int_equal(w.sent[0].len, want.len);
	assert_memory_equal(w.sent[0].bytes, want.b, want.len);
}

AS_CLIENT(client__nobody_listens)
{
	struct packet rej = load("ucm-rej-no-listener");
	struct dcm_conn *conn = client();

	/* The capture is of another pair. */
	rej.b[4] = PORT >> 8;
	rej.b[AT_SPORT] = PORT & 0xff;
	rej.b[AT_SQPN] = SERVER;
	rej.b[AT_DQPN] = CLIENT;
	rej.b[AT_DADDR_QPN] = 0x19;
	feed(&rej, SERVER);
	assert_int_equal(w.event, DAPL_CM_NON_PEER_REJECTED);
	release_all_over(conn);
}

/* Version 7 leaves the upper bits of ports and the repeats as they were. */
AS_SERVER(server__request_of_version_7)
{
	struct packet req = load("ucm-v7-req");

	feed(&req, CLIENT);
	assert_int_equal(w.requests, 1);
	req.b[AT_SPORT_HIGH] ^= 0xff;
	req.b[AT_RTNS] = 0;
	feed(&req, CLIENT);
	assert_int_equal(w.requests, 1);
	assert_int_equal(w.eng.stats.repeated, 1);
	assert_int_equal(w.conn->remote.mtu, 0);
	assert_int_equal(w.conn->remote.version, 7);
}

/* ------------------------------------------------ whose message it is */

struct lie {
	size_t at;
	uint8_t value;
	uint32_t src_qpn;
};

static void feed_lie(const char *name, const struct lie *lie)
{
	struct packet p = load(name);

	print_message("# byte %zu is 0x%x, from 0x%x\n", lie->at, lie->value,
		      lie->src_qpn);
	p.b[lie->at] = lie->value;
	feed(&p, lie->src_qpn);
}

AS_CLIENT(reply__forged_is_not_believed)
{
	static const struct lie lies[] = {
		{AT_VERSION, 5, SERVER},      {AT_SPORT, 0xc1, SERVER},
		{AT_DPORT, 2, SERVER},	      {AT_SQPN, 0x77, SERVER},
		{AT_SQPN, 0x77, 0x77},	      {AT_VERSION, 9, 0x77},
		{AT_DQPN, 0x77, SERVER},      {AT_SADDR_LID, 7, SERVER},
		{AT_DADDR_QPN, 0x77, SERVER}, {AT_OP, 99, SERVER},
		{AT_P_SIZE, 69, SERVER},
	};
	struct dcm_conn *conn = client();

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		feed_lie("ucm-rep", &lies[i]);
		assert_int_equal(w.events, 0);
		assert_int_equal(conn->proto.state, DCM_REQ_SENT);
		assert_int_equal(conn->remote.ib.qpn, 0);
	}
	feed_golden("ucm-rep", SERVER);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
}

/* What a message says of its sender, and what the device does. */
AS_SERVER(source__that_the_message_does_not_name)
{
	static const struct {
		uint16_t lid; /* the device's word; 0: none, as on Ethernet */
		bool has_gid; /* behind a router, perhaps, and its LID then */
		uint8_t said_lid, said_gid;
		bool believed;
	} rows[] = {
		{0, false, 7, 0x99, true}, /* nothing is known */
		{7, false, 7, 0x99, true},  {7, false, 8, 0x56, false},
		{7, false, 0, 0x56, false}, {7, true, 8, 0x56, true},
		{7, true, 7, 0x99, false},  {0, true, 0, 0x56, true},
		{0, true, 0, 0x57, false},
	};
	struct dcm_source src = {.qpn = CLIENT};
	struct packet req = load("ucm-req");
	uint64_t malformed = 0;
	int requests = 0;

	memcpy(src.gid, gid, sizeof(gid));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		src.lid = rows[i].lid;
		src.has_gid = rows[i].has_gid;
		req.b[AT_SADDR_LID] = rows[i].said_lid;
		req.b[AT_SADDR_GID] = rows[i].said_gid;
		feed_from(&req, &src);
		requests += rows[i].believed;
		malformed += !rows[i].believed;
		assert_int_equal(w.requests, requests);
		assert_int_equal(w.eng.stats.malformed, malformed);
		if (rows[i].believed)
			finish(w.conn);
	}
}

/* Who was told a number names it. */
AS_SERVER(goodbye__forged_is_not_believed)
{
	static const struct lie lies[] = {
		{AT_D_ID, 0, CLIENT},	   {AT_D_ID, 3, CLIENT},
		{AT_SADDR_QPN, 0, CLIENT}, {AT_SADDR_QPN, 0x77, CLIENT},
		{AT_DADDR_QPN, 0, CLIENT}, {AT_DADDR_QPN, 0x77, CLIENT},
		{AT_SADDR_LID, 7, CLIENT}, {AT_SADDR_GID, 0x77, CLIENT},
	};
	struct dcm_conn *conn = requested();

	accept_with(conn, 0x16);
	feed_golden("ucm-rtu", CLIENT);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		feed_lie("ucm-dreq", &lies[i]);
		assert_int_equal(conn->proto.state, DCM_UP);
		assert_int_equal(w.events, 1);
	}
	feed_golden("ucm-dreq", CLIENT);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
}

/* From the other side: the GID of the answer is the peer's from then on. */
AS_CLIENT(goodbye__to_the_active_side)
{
	static const struct lie lies[] = {
		{AT_D_ID, 0, SERVER},	      {AT_SADDR_QPN, 0, SERVER},
		{AT_DADDR_QPN, 0, SERVER},    {AT_SADDR_LID, 7, SERVER},
		{AT_SADDR_GID, 0x56, SERVER}, /* of the request */
		{AT_SADDR_GID, 0, SERVER},
	};
	struct packet rep = load("ucm-rep"), dreq;
	struct dcm_conn *conn = client();

	rep.b[AT_SADDR_GID] = 0x99;
	feed(&rep, SERVER);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	rep.b[AT_OP] = DCM_DREQ;
	rep.len = DCM_HEADER;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		dreq = rep;
		dreq.b[lies[i].at] = lies[i].value;
		feed(&dreq, lies[i].src_qpn);
		assert_int_equal(conn->proto.state, DCM_UP);
	}
	feed(&rep, SERVER);
	assert_int_equal(conn->proto.state, DCM_TIMEWAIT);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
}

/* Old peers go on until they hear of a connection: it is theirs, then. */
AS_CLIENT(reply__to_what_was_given_up)
{
	struct packet rep = load("ucm-rep");
	struct dcm_conn *conn = client();

	release(conn);
	for (rep.b[AT_RTNS] = 0; rep.b[AT_RTNS] < 3; rep.b[AT_RTNS]++) {
		feed(&rep, SERVER);
		assert_int_equal(last_sent()->op, DCM_DREQ);
		assert_int_equal(last_sent()->d_id, 0);
	}
	feed(&rep, SERVER);
	assert_int_equal(last_sent()->op, DCM_DREQ);
	assert_int_equal(last_sent()->d_id, 2);
	assert_int_equal(w.sent[(w.sent_n - 2) % 8].msg.op, DCM_RTU);
	assert_int_equal(w.sent[(w.sent_n - 2) % 8].msg.d_id, 2);
	feed_golden("ucm-drep", SERVER);
	assert_int_equal(conn->proto.state, DCM_TIMEWAIT);
}

/* Old peers match such, too. */
AS_CLIENT(reply__without_our_id_is_matched_by_the_port)
{
	struct packet rep = load("ucm-rep");

	client();
	rep.b[AT_D_ID] = 0;
	rep.b[AT_SPORT_HIGH] = 0x12; /* carried, but not compared */
	rep.b[AT_SADDR_GID] = 0x99;  /* answers from another GID */
	feed(&rep, SERVER);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
}

/* What the connection is does not change by a late or forged copy. */
AS_CLIENT(reply__second_one_changes_nothing)
{
	struct packet rep = load("ucm-rep");
	struct dcm_conn *conn = client();

	feed(&rep, SERVER);
	rep.b[AT_SADDR_QPN] = 0x77;
	rep.b[AT_S_ID] = 0x77;
	feed(&rep, SERVER);
	rep.b[AT_SADDR_QPN] = 0;
	feed(&rep, SERVER);
	assert_int_equal(conn->remote.ib.qpn, 0x16);
	assert_int_equal(conn->own.d_id, 2);
	assert_int_equal(w.qps, 1);
}

/* A reject of the attempt before, that had the same id. */
AS_CLIENT(reply__of_an_id_used_before)
{
	struct packet rej = load("ucm-rej-user");
	struct dcm_conn *conn = client();

	rej.b[AT_SQPN] = SERVER;
	rej.b[AT_DQPN] = CLIENT;
	feed(&rej, SERVER); /* for data queue pair 0x1c */
	assert_int_equal(w.events, 0);
	rej.b[AT_DADDR_QPN] = 0x19;
	feed(&rej, SERVER);
	assert_int_equal(w.event, DAPL_CM_PEER_REJECTED);
	assert_int_equal(w.size, 12);
	release_all_over(conn);
}

AS_CLIENT(nobody__knows_the_connection)
{
	feed_golden("ucm-rtu", SERVER);
	feed_golden("ucm-drep", SERVER);
	assert_int_equal(w.sent_n, 0);
	/* It accepts what is long given up; there was no connection. */
	feed_golden("ucm-rep", SERVER);
	assert_int_equal(last_sent()->op, DCM_DREQ);
	assert_int_equal(last_sent()->d_id, 0);
	assert_int_equal(last_sent()->s_id, 1);
	assert_int_equal(w.eng.stats.unmatched, 2);
	/* So that the peer need not repeat it. */
	start_server_again();
	feed_golden("ucm-dreq", CLIENT);
	assert_int_equal(last_sent()->op, DCM_DREP);
	assert_int_equal(last_sent()->s_id, 2);
	assert_int_equal(last_sent()->d_id, 1);
	assert_int_equal(last_sent()->sport, PORT);
	assert_int_equal(last_sent()->dport, 1);
}

/* ---------------------------------------------------------- requests */

AS_SERVER(request__repeated)
{
	struct packet req = load("ucm-req");

	feed(&req, CLIENT);
	feed(&req, CLIENT); /* doubled by the network */
	req.b[AT_RTNS] = 1;
	feed(&req, CLIENT);
	assert_int_equal(w.requests, 1);
	assert_int_equal(w.sent_n, 0);
	assert_int_equal(w.eng.stats.repeated, 2);
	accept_with(w.conn, 0x16);
	feed(&req, CLIENT);
	assert_int_equal(w.sent_n, 2);
	assert_int_equal(last_sent()->op, DCM_REP);
}

/* A peer that started anew counts from 1 again. */
AS_SERVER(request__of_another_endpoint_with_the_same_id)
{
	struct packet req = load("ucm-req");
	struct dcm_conn *first = requested();

	req.b[AT_SADDR_QPN] = 0x20;
	feed(&req, CLIENT);
	assert_int_equal(w.requests, 2);
	assert_ptr_not_equal(first, w.conn);
	/* Which one is meant, is known from here on. */
	feed(&req, CLIENT);
	assert_int_equal(w.requests, 2);
}

/* ------------------------------------------------- peers begin anew */

/* The request of the captured exchange as a life's copy number REPEAT. */
static void feed_life(uint8_t life, uint8_t repeat)
{
	struct packet req = load("ucm-req");

	req.b[DCM_HEADER] = life;
	req.b[AT_RTNS] = repeat;
	feed(&req, CLIENT);
}

static struct dcm_conn *first_life(void)
{
	feed_life(1, 0);
	assert_int_equal(w.requests, 1);
	return w.conn;
}

static struct dcm_conn *first_life_up(void)
{
	struct dcm_conn *conn = first_life();

	accept_with(conn, 0x16);
	feed_golden("ucm-rtu", CLIENT);
	assert_int_equal(conn->proto.state, DCM_UP);
	return conn;
}

/* CONN is accepted, and the answer to that comes from the client's id ID. */
static void accept_and_hear(struct dcm_conn *conn, uint8_t id)
{
	struct packet rtu = load("ucm-rtu");
	int sent = w.sent_n;

	accept_with(conn, 0x17);
	assert_int_equal(w.sent_n, sent + 1);
	assert_int_equal(last_sent()->op, DCM_REP);
	rtu.b[AT_S_ID] = rtu.b[AT_SPORT] = id;
	rtu.b[AT_D_ID] = (uint8_t)conn->id;
	rtu.b[AT_DADDR_QPN] = 0x17;
	rtu.len = DCM_HEADER;
	feed(&rtu, CLIENT);
	assert_int_equal(conn->proto.state, DCM_UP);
}

/* The second life has been reported, goes its way, and is the only one. */
static void expect_second_life(struct dcm_conn *first, uint8_t life)
{
	assert_int_equal(w.requests, 2);
	assert_ptr_not_equal(w.conn, first);
	assert_int_equal(w.pdata[0], life);
	assert_int_equal(w.live, 1);
	accept_and_hear(w.conn, 1);
}

AS_SERVER(life__new_while_the_old_is_up)
{
	struct dcm_conn *conn = first_life_up();

	/* Doubled by the network, and late. */
	w.now_us += DCM_LIFETIME_US - 1;
	feed_life(1, 0);
	assert_int_equal(w.requests, 1);
	assert_int_equal(conn->proto.state, DCM_UP);
	w.now_us += 1;
	feed_life(1, 0);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	assert_int_equal(w.events, 2);
	release(conn);
	expect_second_life(conn, 1);
}

/* Its first request was lost. */
AS_SERVER(life__new_by_a_repeat)
{
	struct dcm_conn *conn = first_life();

	w.now_us += DCM_LIFETIME_US;
	/* The old one goes on asking: its consumer is slow. */
	feed_life(1, 7);
	assert_int_equal(w.requests, 1);
	accept_with(conn, 0x16);
	feed_golden("ucm-rtu", CLIENT);
	w.now_us += DCM_LIFETIME_US - 1;
	feed_life(1, 8); /* sent before its RTU, perhaps */
	assert_int_equal(conn->proto.state, DCM_UP);
	w.now_us += 1;
	feed_life(1, 1);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	release(conn);
	expect_second_life(conn, 1);
}

AS_SERVER(life__new_by_what_it_says)
{
	struct dcm_conn *conn = first_life();

	dcm_engine_reject(conn, NULL, 0, 3);
	release(conn);
	w.now_us += DCM_LIFETIME_US;
	feed_life(1, 3);
	assert_int_equal(last_sent()->op, DCM_REJ_USER);
	assert_int_equal(w.requests, 1);
	feed_life(2, 3); /* the old one is forgotten */
	expect_second_life(NULL, 2);
}

AS_SERVER(life__new_while_the_old_ends)
{
	struct dcm_conn *conn = first_life_up();

	release(conn);
	assert_int_equal(conn->proto.state, DCM_DREQ_SENT);
	w.now_us += DCM_LIFETIME_US;
	feed_life(2, 0);
	expect_second_life(NULL, 2);

	start_server_again();
	conn = first_life_up();
	feed_golden("ucm-dreq", CLIENT);
	assert_int_equal(conn->proto.state, DCM_TIMEWAIT);
	w.now_us += DCM_LIFETIME_US;
	feed_life(2, 0);
	assert_int_equal(w.events, 2); /* no more than it has heard */
	release(conn);
	expect_second_life(NULL, 2);
}

AS_SERVER(life__new_before_the_old_is_answered)
{
	struct dcm_conn *conn = first_life();

	w.now_us += DCM_LIFETIME_US;
	feed_life(2, 0);
	assert_int_equal(w.gone, 1);
	/* Its consumer may have been about to. */
	accept_with(conn, 0x16);
	assert_int_equal(w.event, DAPL_CM_ACCEPT_FAILED);
	assert_int_equal(w.sent_n, 0);
	release(conn);
	expect_second_life(conn, 2);

	start_server_again();
	conn = first_life();
	accept_with(conn, 0x16);
	w.now_us += DCM_LIFETIME_US;
	feed_life(2, 0);
	assert_int_equal(w.event, DAPL_CM_ACCEPT_FAILED);
	assert_int_equal(w.sent_n, 1); /* nobody gets the old one's answer */
	release(conn);
	expect_second_life(conn, 2);
}

/* Such do not count what they repeat. */
AS_SERVER(life__of_a_peer_of_version_7)
{
	feed_golden("ucm-v7-req", CLIENT);
	w.now_us += DCM_LIFETIME_US;
	feed_golden("ucm-v7-req", CLIENT);
	assert_int_equal(w.requests, 1);
}

/* New peers begin anywhere; but the queue pair may be the same. */
AS_SERVER(life__new_with_another_id)
{
	struct dcm_conn *conn = first_life_up();
	struct packet req = request_of_id(9);

	feed(&req, CLIENT);
	assert_int_equal(w.requests, 2);
	/* The request may be one of long ago; its answer's answer is not. */
	assert_int_equal(conn->proto.state, DCM_UP);
	accept_and_hear(w.conn, 9);
	assert_int_equal(conn->proto.state, DCM_CLOSED);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	release_all_over(conn);
}

/* The same of a server: its queue pair has another peer now. */
AS_CLIENT(life__new_of_the_passive_side)
{
	struct packet rep = load("ucm-rep");
	struct dcm_conn *first = client(), *second;

	feed(&rep, SERVER);
	second = client();
	rep.b[AT_D_ID] = rep.b[AT_DPORT] = (uint8_t)second->id;
	feed(&rep, SERVER);
	assert_int_equal(second->proto.state, DCM_UP);
	assert_int_equal(first->proto.state, DCM_CLOSED);
	release_all_over(first);
}

AS_CLIENT(connect__ids_begin_anywhere)
{
	uint32_t first[8];
	unsigned same = 0;

	for (unsigned i = 0; i < 8; i++) {
		struct dcm_engine eng;
		struct fake_conn conn = {.armed = false};

		dcm_engine_init(&eng, &ops, &w.rules, i);
		eng.self.qpn = CLIENT;
		fake_conn_init(&conn, &eng, &w.checks);
		assert_int_equal(dcm_engine_connect(&eng, &conn.dcm, PORT, 1),
				 0);
		first[i] = conn.dcm.id;
		/* As a port is: old peers answer to that. */
		assert_in_range(first[i], 1, 0x8000);
		same += i && first[i] == first[0];
		dcm_engine_fini(&eng);
	}
	assert_int_equal(same, 0);
}

AS_SERVER(request__of_another_host_with_the_same_numbers)
{
	static const size_t at[] = {AT_SADDR_LID, AT_SADDR_GID};

	requested();
	for (int i = 0; i < 2; i++) {
		struct packet req = load("ucm-req");

		req.b[at[i]] = 0x33;
		feed(&req, CLIENT);
		assert_int_equal(w.requests, i + 2);
	}
	assert_int_equal(w.live, 3);
}

/* In another subnet. */
AS_SERVER(request__of_another_host_with_the_same_lid)
{
	struct packet req = load("ucm-req");

	req.b[AT_SADDR_LID] = 7;
	feed(&req, CLIENT);
	req.b[AT_SADDR_GID] ^= 1;
	feed(&req, CLIENT);
	assert_int_equal(w.requests, 2);
}

/* Nothing is said: the request comes again. */
static void expect_silence(const struct packet *req)
{
	uint64_t held = w.eng.stats.held;
	int sent = w.sent_n, requests = w.requests;

	feed(req, CLIENT);
	assert_int_equal(w.sent_n, sent);
	assert_int_equal(w.requests, requests);
	assert_int_equal(w.eng.stats.held, held + 1);
	assert_int_equal(w.eng.stats.refused, 0);
}

/* The copy that comes when there is room is a request like any. */
static void expect_taken(const struct packet *req)
{
	int requests = w.requests;

	feed(req, CLIENT);
	assert_int_equal(w.requests, requests + 1);
}

AS_SERVER(request__no_room_for_it)
{
	struct packet req = request_of_id(9);

	w.eng.listener_max = 1;
	requested();
	expect_silence(&req);
	req.b[AT_RTNS]++;
	expect_silence(&req);
	accept_with(w.conn, 0x16);
	assert_int_equal(w.listener.waiting_n, 0);
	w.no_memory = true;
	expect_silence(&req);
	w.no_memory = false;
	w.eng.conns_max = 1;
	expect_silence(&req);
	w.eng.conns_max = IDS;
	req.b[AT_RTNS]++;
	expect_taken(&req);
}

/* One listener that nobody serves leaves room for another. */
AS_SERVER(request__room_of_one_listener_and_of_all)
{
	struct packet first = request_of_id(10), second = request_of_id(11),
		      third = request_of_id(20), fourth = request_of_id(21);
	struct dcm_listener other;

	assert_int_equal(dcm_engine_listen(&w.eng, &other, PORT + 1), 0);
	w.eng.listener_max = 2;
	w.eng.waiting_max = 3;
	expect_taken(&first);
	expect_taken(&second);
	expect_silence(&third);
	third.b[AT_DPORT]++;
	fourth.b[AT_DPORT]++;
	expect_taken(&third);
	expect_silence(&fourth);
	dcm_engine_unlisten(&w.eng, &w.listener);
	assert_int_equal(w.eng.waiting_n, 1);
	expect_taken(&fourth);
	dcm_engine_unlisten(&w.eng, &other);
	assert_int_equal(w.eng.waiting_n, 0);
}

/* Of a queue pair that no endpoint has. */
AS_SERVER(request__for_an_unreliable_connection)
{
	struct packet req = load("ucm-req");

	req.b[AT_SADDR_TYPE] = QP_UC;
	feed(&req, CLIENT);
	assert_int_equal(w.requests, 0);
	assert_int_equal(w.eng.stats.refused, 1);
	assert_int_equal(w.sent_n, 1);
	assert_int_equal(last_sent()->op, DCM_REJ_CM);
	assert_int_equal(w.sent[0].bytes[AT_SADDR_TYPE], QP_UC);
}

AS_SERVER(request__of_a_datagram_endpoint)
{
	struct packet req = load("ucm-req");

	req.b[AT_SADDR_TYPE] = DCM_QP_UD;
	feed(&req, CLIENT);
	assert_int_equal(w.requests, 1);
	assert_true(w.conn->proto.datagram);
	/* A no is of the type that was asked with. */
	dcm_engine_reject(w.conn, NULL, 0, 2);
	assert_int_equal(last_sent()->op, DCM_REJ_USER);
	assert_int_equal(w.sent[0].bytes[AT_SADDR_TYPE], DCM_QP_UD);
}

AS_SERVER(listen__twice_and_not_any_more)
{
	struct dcm_listener other;

	assert_int_equal(dcm_engine_listen(&w.eng, &other, PORT), -EADDRINUSE);
	requested();
	/* The listener's memory is free, but the request goes on. */
	dcm_engine_unlisten(&w.eng, &w.listener);
	memset(&w.listener, 0xee, sizeof(w.listener));
	accept_with(w.conn, 0x16);
	feed_golden("ucm-rtu", CLIENT);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(dcm_engine_listen(&w.eng, &other, PORT), 0);
	dcm_engine_unlisten(&w.eng, &other);
}

/* ------------------------------------------------------------ bounds */

AS_CLIENT(connect__ids_are_used_up_and_left_free_for_listeners)
{
	struct dcm_listener listener;
	struct dcm_conn *more;

	w.eng.conns_max = 4;
	assert_int_equal(dcm_engine_listen(&w.eng, &listener, 3), 0);
	for (int i = 0; i < 3; i++)
		assert_int_not_equal(client()->id, 3);
	more = conn_new();
	assert_int_equal(dcm_engine_connect(&w.eng, more, PORT, 1), -EAGAIN);
	release_all_over(more);
	dcm_engine_unlisten(&w.eng, &listener);
}

/* All ids are of connections that are over: the oldest one's is taken. */
AS_SERVER(connect__ids_are_in_timewait)
{
	struct dcm_conn *slow = NULL;
	struct packet req;

	w.eng.conns_max = 4;
	for (uint8_t i = 0; i < 4; i++) {
		req = request_of_id(10 + i);
		feed(&req, CLIENT);
		dcm_engine_reject(w.conn, NULL, 0, 3);
		/* One consumer takes his time: its memory stays, not the id. */
		if (slow)
			release(w.conn);
		else
			slow = w.conn;
	}
	assert_int_equal(w.eng.timewait_n, 4);
	client();
	assert_int_equal(w.eng.timewait_n, 3);
	assert_int_equal(w.live, 5);
	req = request_of_id(20);
	feed(&req, CLIENT);
	assert_int_equal(w.requests, 5);
	assert_int_equal(w.eng.timewait_n, 2);
	assert_int_equal(w.live, 5);
	release_all_over(slow);
}

/* Requests that are refused by the consumer leave no more than so many. */
AS_SERVER(timewait__is_bounded)
{
	struct packet golden = load("ucm-req");
	struct dcm_msg req;

	w.eng.conns_max = DCM_CONNS_MAX;
	dcm_msg_decode(golden.b, golden.len, &req);
	for (uint32_t i = 1; i <= DCM_TIMEWAIT_MAX + 100; i++) {
		req.s_id = req.sport = i;
		feed_msg(&req, CLIENT);
		assert_int_equal(w.requests, i);
		release(w.conn);
	}
	assert_int_equal(w.eng.timewait_n, DCM_TIMEWAIT_MAX);
	assert_int_equal(w.live, DCM_TIMEWAIT_MAX);
}

/* ------------------------------------------------------------- waits */

/* A connection to the CM queue pair QPN; how long its answer is waited for. */
static uint64_t first_wait_for(uint32_t qpn, struct dcm_conn **ret_conn)
{
	struct dcm_conn *conn = conn_new();
	struct dcm_ib ib = {.qpn = 0x19, .qp_type = DCM_QP_RC};

	fake_qp_new(fake_conn_of(conn), SIM_QP_ACTIVE);
	dcm_block_set_ib(&conn->own.saddr, &ib);
	conn->peer.qpn = qpn;
	assert_int_equal(dcm_engine_connect(&w.eng, conn, PORT, w.now_us), 0);
	*ret_conn = conn;
	return w.deadline_us - w.now_us;
}

/* The consumer of QPN says yes to CONN. */
static void accepted_by(uint32_t qpn, struct dcm_conn *conn)
{
	struct dcm_msg rep = {.version = 9,
			      .op = DCM_REP,
			      .sport = PORT,
			      .sqpn = qpn,
			      .dqpn = CLIENT,
			      .s_id = 7};
	/* Each has a queue pair of its own. */
	struct dcm_ib ib = {.qpn = 0x1000 + conn->id, .qp_type = DCM_QP_RC};

	dcm_block_set_ib(&rep.saddr, &ib);
	rep.daddr = conn->own.saddr;
	rep.dport = conn->own.sport;
	rep.d_id = conn->id;
	feed_msg(&rep, qpn);
	assert_int_equal(conn->proto.state, DCM_UP);
}

/* It takes US for that. */
static uint64_t connect_and_wait(uint32_t qpn, uint64_t us)
{
	struct dcm_conn *conn;
	uint64_t wait = first_wait_for(qpn, &conn);

	w.now_us += us;
	accepted_by(qpn, conn);
	finish(conn);
	return wait;
}

/* The first waits before anything was measured, and a quarter by chance. */
#define FIRST_US 400000
#define MOST_US	 (FIRST_US * 5 / 4)

AS_CLIENT(wait__for_a_slow_consumer_is_its_own)
{
	struct dcm_conn *conn;

	w.rules.rep_wait_us = 0;
	assert_in_range(connect_and_wait(0x30, 3000000), FIRST_US, MOST_US);
	for (int i = 0; i < 20; i++)
		assert_in_range(connect_and_wait(0x30, 3000000), 3000000,
				4000000 * 5ull / 4);
	/* Nobody else is waited for longer than without it. */
	assert_in_range(connect_and_wait(0x31, 1000), 1, MOST_US);
	assert_in_range(connect_and_wait(0x31, 1000), 50000, 50000 * 5 / 4);
	/* Nor does it weigh more than others for who is not known. */
	for (uint32_t qpn = 0x100; qpn < 0x128; qpn++)
		connect_and_wait(qpn, 1000);
	for (int i = 0; i < 20; i++)
		assert_in_range(connect_and_wait(0x30, 3000000), 3000000,
				4000000 * 5ull / 4);
	assert_in_range(first_wait_for(0x60, &conn), 50000, FIRST_US - 1);
}

/* Who has just answered one request is not asked again for the one behind it.
 */
AS_CLIENT(wait__while_others_are_answered)
{
	struct dcm_conn *first, *second;
	uint64_t deadline_us;
	int sent;

	w.rules.rep_wait_us = 0;
	for (int i = 0; i < 10; i++)
		connect_and_wait(0x30, 60000);
	first_wait_for(0x30, &first);
	w.now_us += 1000;
	first_wait_for(0x30, &second);
	deadline_us = w.deadline_us;
	w.now_us += 60000;
	assert_true(w.now_us < deadline_us);
	accepted_by(0x30, first);
	sent = w.sent_n;
	fake_timer(fake_conn_of(second), &w.now_us);
	assert_int_equal(w.sent_n, sent);
	assert_true(w.deadline_us > deadline_us);
	/* It has fallen silent. */
	fake_timer(fake_conn_of(second), &w.now_us);
	assert_int_equal(w.sent_n, sent + 1);
	assert_int_equal(last_sent()->op, DCM_REQ);
	accepted_by(0x30, second);
	finish(first);
	finish(second);
}

AS_CLIENT(wait__without_memory_to_learn)
{
	w.rules.rep_wait_us = 0;
	rtt_without_memory = true;
	connect_and_wait(0x30, 1000);
	assert_in_range(connect_and_wait(0x30, 1000), FIRST_US, MOST_US);
	rtt_without_memory = false;
	assert_in_range(connect_and_wait(0x30, 1000), FIRST_US, MOST_US);
	assert_in_range(connect_and_wait(0x30, 1000), 50000, 50000 * 5 / 4);
}

/* ----------------------------------------------------------- streams */

static struct dcm_msg stream_req(void)
{
	struct dcm_msg req = {.version = 8,
			      .op = DCM_REQ,
			      .responder_resources = 3,
			      .p_size = 20};
	struct dcm_ib ib = {.qpn = 0x14, .qp_type = DCM_QP_RC};

	dcm_block_set_ib(&req.saddr, &ib);
	memset(&req.daddr, 0x22, sizeof(req.daddr));
	memset(req.pdata, 0x33, 20);
	return req;
}

static struct dcm_conn *stream_requested(const struct dcm_msg *req)
{
	struct dcm_conn *conn = conn_new();

	assert_int_equal(
		dcm_engine_stream_request(&w.eng, &w.listener, conn, req, 1),
		0);
	return conn;
}

/* The request, sent back. */
AS_STREAM(stream__reject)
{
	struct dcm_msg req = stream_req();
	struct dcm_conn *conn = stream_requested(&req);

	dcm_engine_reject(conn, "no", 2, 2);
	assert_int_equal(last_sent()->version, 8);
	assert_memory_equal(&last_sent()->saddr, &req.saddr, 28);
	assert_memory_equal(&last_sent()->daddr, &req.daddr, 28);
	assert_int_equal(last_sent()->op, DCM_REJ_USER);
	assert_int_equal(last_sent()->responder_resources, 3);
	assert_int_equal(last_sent()->p_size, 2);
	assert_memory_equal(last_sent()->pdata, "no", 2);
	release_all_over(conn);
}

AS_STREAM(stream__refused)
{
	struct dcm_conn *conn = conn_new();
	struct dcm_msg uc = stream_req();

	uc.saddr.b[27] = QP_UC;
	assert_int_equal(
		dcm_engine_stream_request(&w.eng, &w.listener, conn, &uc, 1),
		-EPROTO);
	assert_int_equal(last_sent()->op, DCM_REJ_CM);
	assert_int_equal(last_sent()->p_size, 0);
	assert_int_equal(w.sent_n, 1);
	conn_free(conn); /* the engine knows nothing of it */
}

/* Room is announced once to whom it was refused, and some at a time. */
AS_STREAM(stream__waits_for_room)
{
	struct dcm_msg req = stream_req();
	struct dcm_conn *conn[16];

	w.eng.listener_max = 16;
	for (int i = 0; i < 16; i++) {
		assert_true(dcm_engine_room(&w.eng, &w.listener));
		conn[i] = stream_requested(&req);
	}
	assert_false(dcm_engine_room(&w.eng, &w.listener));
	release_all_over(conn[0]);
	assert_int_equal(w.rooms, 0);
	assert_true(dcm_engine_room(&w.eng, &w.listener));
	dcm_engine_reject(conn[1], NULL, 0, 2);
	assert_int_equal(w.rooms, 1);
	assert_ptr_equal(w.room, &w.listener);
	release_all_over(conn[1]);
	release_all_over(conn[2]);
	assert_int_equal(w.rooms, 1);
	/* Of all listeners. */
	w.eng.waiting_max = 13;
	assert_false(dcm_engine_room(&w.eng, &w.listener));
	release_all_over(conn[3]);
	release_all_over(conn[4]);
	assert_int_equal(w.rooms, 2);
	assert_null(w.room);
	/* Who waits for a listener that goes waits in vain. */
	dcm_engine_unlisten(&w.eng, &w.listener);
	assert_int_equal(w.rooms, 3);
	assert_ptr_equal(w.room, &w.listener);
	for (int i = 5; i < 16; i++)
		release_all_over(conn[i]);
}

AS_STREAM(stream__rtu_has_the_version_of_the_rep)
{
	struct dcm_conn *conn = client();
	struct dcm_msg rep = stream_req();

	rep.op = DCM_REP;
	rep.version = 7;
	dcm_engine_input(conn, DCM_IN_DIALED, NULL, 1);
	assert_int_equal(last_sent()->op, DCM_REQ);
	assert_int_equal(last_sent()->version, DCM_VERSION);
	assert_int_equal(last_sent()->sport, 0);
	assert_int_equal(last_sent()->s_id, 0);
	dcm_engine_input(conn, DCM_IN_REP, &rep, 2);
	qp_ready();
	assert_int_equal(last_sent()->op, DCM_RTU);
	assert_int_equal(last_sent()->version, 7);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(w.size, 20);
	dcm_engine_input(conn, DCM_IN_LOST, NULL, 3);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	assert_int_equal(w.hangups, 1);
	release_all_over(conn);
}

RUN_CASES(NULL, NULL)
