/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dcm_engine.c - one engine, and old peers played by captured messages.
 *
 * Calls covered: all of dcm_engine.h. What a connection does is tested with
 * the table (t_dcm_proto) and the simulator; here it is whose message it is,
 * and what exactly is sent. The table of operations records what it is asked.
 * One thread.
 */
#include "dapl/common/cm/dcm/dcm_engine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/wire/wire.h"

#define CLIENT 0x18 /* CM queue pairs of the captured exchange */
#define SERVER 0x15
#define PORT   0xb0c0
#define IDS    64

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
	struct dcm_listener listener;
	struct sent sent[8]; /* the first of them */
	int sent_n;
	int requests, gone, events, qps, hangups, rooms;
	uint64_t now_us, deadline_us;
	struct dcm_listener *room; /* the last that there was room for again */
	size_t live;
	enum dapl_cm_event event;
	uint8_t pdata[DCM_PDATA];
	size_t size;
	struct dcm_conn *conn; /* of the last request */
	struct dcm_conn *moving;
	bool no_memory;
} w;

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

static int on_dial(struct dcm_conn *conn)
{
	return 0;
}

static void on_hangup(struct dcm_conn *conn)
{
	w.hangups++;
}

static void on_arm(struct dcm_conn *conn, uint64_t deadline_us)
{
	w.deadline_us = deadline_us;
}

static void on_disarm(struct dcm_conn *conn)
{
}

static int on_qp_connect(struct dcm_conn *conn)
{
	w.qps++;
	w.moving = conn;
	return 0;
}

/* The queue pair that was to be moved is ready. */
static void qp_ready(void)
{
	struct dcm_conn *conn = w.moving;

	w.moving = NULL;
	if (conn)
		dcm_engine_input(conn, DCM_IN_QP_READY, NULL, 3);
}

static void on_qp_error(struct dcm_conn *conn)
{
}

static struct dcm_conn *on_conn_new(struct dcm_engine *eng)
{
	struct dcm_conn *conn;

	if (w.no_memory)
		return NULL;
	conn = calloc(1, sizeof(*conn));
	w.live++;
	return conn;
}

static void on_request(struct dcm_listener *l, struct dcm_conn *conn,
		       const struct dcm_msg *msg)
{
	w.requests++;
	w.conn = conn;
	w.size = msg->p_size;
	memcpy(w.pdata, msg->pdata, msg->p_size);
}

static void on_request_gone(struct dcm_conn *conn)
{
	w.gone++;
}

static void on_event(struct dcm_conn *conn, enum dapl_cm_event event,
		     const void *pdata, size_t size)
{
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

static void on_freed(struct dcm_conn *conn)
{
	w.live--;
	free(conn);
}

static const struct dcm_engine_ops ops = {
	.dial = on_dial,
	.send = on_send,
	.hangup = on_hangup,
	.arm = on_arm,
	.disarm = on_disarm,
	.qp_connect = on_qp_connect,
	.qp_error = on_qp_error,
	.conn_new = on_conn_new,
	.request = on_request,
	.request_gone = on_request_gone,
	.event = on_event,
	.room = on_room,
	.freed = on_freed,
};

/* -------------------------------------------------------- helpers */

static void start(uint32_t qpn, bool stream)
{
	memset(&w, 0, sizeof(w));
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
}

static void release(struct dcm_conn *conn)
{
	dcm_engine_input(conn, DCM_IN_RELEASE, NULL, 10);
}

/* Ends CONN, which was released, whatever there is still to do. */
static void finish(struct dcm_conn *conn)
{
	size_t live = w.live;
	uint64_t now_us = 1000000;

	while (w.live == live) {
		dcm_engine_input(conn, DCM_IN_TIMER, NULL, now_us);
		now_us *= 2;
	}
}

static void stop(void)
{
	assert_int_equal(w.live, 0);
	assert_int_equal(w.eng.conns.n, 0);
	assert_int_equal(w.eng.timewait_n, 0);
	dcm_engine_fini(&w.eng);
}

static void feed_from(const uint8_t *bytes, size_t len,
		      const struct dcm_source *src)
{
	dcm_engine_datagram(&w.eng, bytes, len, src, w.now_us);
	qp_ready();
}

/* From a device that tells no more than the queue pair. */
static void feed(const uint8_t *bytes, size_t len, uint32_t src_qpn)
{
	const struct dcm_source src = {.qpn = src_qpn};

	feed_from(bytes, len, &src);
}

static void feed_golden(const char *name, uint32_t src_qpn)
{
	uint8_t bytes[DCM_MSG];

	feed(bytes, wire_load(name, bytes, sizeof(bytes)), src_qpn);
}

/* The last message sent is that of the file. */
static void assert_sent(const char *name)
{
	const struct sent *s = &w.sent[(w.sent_n - 1) % 8];
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load(name, bytes, sizeof(bytes));

	assert_true(w.sent_n > 0);
	assert_int_equal(s->len, len);
	/* A size without data means nothing, and need not be alike. */
	if (!dcm_op_has_pdata(s->msg.op))
		bytes[AT_P_SIZE] = s->bytes[AT_P_SIZE];
	assert_memory_equal(s->bytes, bytes, len);
}

static const struct dcm_msg *last_sent(void)
{
	assert_true(w.sent_n > 0);
	return &w.sent[(w.sent_n - 1) % 8].msg;
}

/* The client of the captured exchange, up to its REQ. */
static struct dcm_conn *client(void)
{
	struct dcm_conn *conn = calloc(1, sizeof(*conn));
	struct dcm_ib ib = {.qpn = 0x19, .qp_type = DCM_QP_RC};
	int i;

	assert_non_null(conn);
	w.live++;
	dcm_conn_init(conn, &w.eng);
	memcpy(ib.gid, gid, sizeof(gid));
	dcm_block_set_ib(&conn->own.saddr, &ib);
	ib.family = AF_INET6;
	ib.qpn = 0;
	ib.qp_type = DCM_QP_UD;
	dcm_block_set_ib(&conn->own.daddr, &ib);
	conn->own.responder_resources = 4;
	conn->own.mtu = 3;
	conn->own.p_size = 20;
	for (i = 0; i < 20; i++)
		conn->own.pdata[i] = (uint8_t)(0x50 + i % 16);
	conn->peer.qpn = SERVER;
	assert_int_equal(dcm_engine_connect(&w.eng, conn, PORT, 1), 0);
	return conn;
}

static void server(uint32_t qpn)
{
	start(qpn, false);
	w.eng.last_id = 1; /* as captured */
	assert_int_equal(dcm_engine_listen(&w.eng, &w.listener, PORT), 0);
}

static void accept_with(struct dcm_conn *conn, uint32_t qpn)
{
	struct dcm_answer answer = {
		.responder_resources = 4, .mtu = 3, .p_size = 10};
	int i;

	answer.ib = w.eng.self;
	answer.ib.qpn = qpn;
	for (i = 0; i < 10; i++)
		answer.pdata[i] = (uint8_t)(0xa0 + i);
	dcm_engine_accept(conn, &answer, 3);
	qp_ready();
}

/* -------------------------------------------- the captured exchange */

static void client__of_the_captured_exchange(void **state)
{
	struct dcm_conn *conn;

	start(CLIENT, false);
	conn = client();
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
	dcm_engine_input(conn, DCM_IN_DISCONNECT, NULL, 10);
	assert_sent("ucm-dreq");
	feed_golden("ucm-drep", SERVER);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	release(conn);
	finish(conn);
	stop();
}

static void server__of_the_captured_exchange(void **state)
{
	struct dcm_conn *conn;

	server(SERVER);
	feed_golden("ucm-req", CLIENT);
	assert_int_equal(w.requests, 1);
	assert_int_equal(w.size, 20);
	assert_int_equal(w.pdata[0], 0x50);
	conn = w.conn;
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
	release(conn);
	finish(conn);
	stop();
}

static void server__rejects_as_captured(void **state)
{
	uint8_t bytes[DCM_MSG], pdata[12];
	size_t i, len = wire_load("ucm-req", bytes, sizeof(bytes));
	struct dcm_conn *conn;

	server(0x18);
	bytes[AT_SQPN] = 0x1b;
	bytes[AT_DQPN] = 0x18;
	bytes[AT_SADDR_QPN] = 0x1c;
	feed(bytes, len, 0x1b);
	conn = w.conn;
	for (i = 0; i < sizeof(pdata); i++)
		pdata[i] = (uint8_t)(0xa0 + i);
	dcm_engine_reject(conn, pdata, sizeof(pdata), 3);
	assert_sent("ucm-rej-user");
	release(conn);
	finish(conn);
	stop();
}

/* As captured, but of the type that was asked for: old clients go by that. */
static void server__nobody_listens(void **state)
{
	uint8_t bytes[DCM_MSG], want[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));

	start(0x12, false);
	bytes[6] = 0xa0;
	bytes[7] = 0x28;
	bytes[AT_SQPN] = 0x15;
	bytes[AT_DQPN] = 0x12;
	bytes[AT_SADDR_QPN] = 0x16;
	feed(bytes, len, 0x15);
	assert_int_equal(w.sent_n, 1);
	assert_int_equal(w.eng.stats.refused, 1);
	len = wire_load("ucm-rej-no-listener", want, sizeof(want));
	want[AT_SADDR_TYPE] = DCM_QP_RC;
	assert_int_equal(w.sent[0].len, len);
	assert_memory_equal(w.sent[0].bytes, want, len);
	stop();
}

static void client__nobody_listens(void **state)
{
	struct dcm_conn *conn;
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-rej-no-listener", bytes, sizeof(bytes));

	/* The capture is of another pair. */
	bytes[4] = PORT >> 8;
	bytes[5] = PORT & 0xff;
	bytes[AT_SQPN] = SERVER;
	bytes[AT_DQPN] = CLIENT;
	bytes[AT_DADDR_QPN] = 0x19;
	start(CLIENT, false);
	conn = client();
	feed(bytes, len, SERVER);
	assert_int_equal(w.event, DAPL_CM_NON_PEER_REJECTED);
	release(conn);
	stop();
}

/* Version 7 leaves the upper bits of ports and the repeats as they were. */
static void server__request_of_version_7(void **state)
{
	uint8_t bytes[256];
	size_t len = wire_load("ucm-v7-req", bytes, sizeof(bytes));
	struct dcm_conn *conn;

	server(SERVER);
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 1);
	conn = w.conn;
	bytes[AT_SPORT_HIGH] ^= 0xff;
	bytes[AT_RTNS] = 0;
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 1);
	assert_int_equal(w.eng.stats.repeated, 1);
	assert_int_equal(conn->remote.mtu, 0);
	assert_int_equal(conn->remote.version, 7);
	release(conn);
	finish(conn);
	stop();
}

/* ------------------------------------------------ whose message it is */

struct lie {
	size_t at;
	uint8_t value;
	uint32_t src_qpn;
};

static void reply__forged_is_not_believed(void **state)
{
	static const struct lie lies[] = {
		{AT_VERSION, 5, SERVER},      {AT_SPORT, 0xc1, SERVER},
		{AT_DPORT, 2, SERVER},	      {AT_SQPN, 0x77, SERVER},
		{AT_SQPN, 0x77, 0x77},	      {AT_VERSION, 9, 0x77},
		{AT_DQPN, 0x77, SERVER},      {AT_SADDR_LID, 7, SERVER},
		{AT_DADDR_QPN, 0x77, SERVER}, {AT_OP, 99, SERVER},
		{AT_P_SIZE, 69, SERVER},
	};
	uint8_t bytes[DCM_MSG];
	struct dcm_conn *conn;
	size_t i, len;

	start(CLIENT, false);
	conn = client();
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		print_message("# byte %zu, from 0x%x\n", lies[i].at,
			      lies[i].src_qpn);
		len = wire_load("ucm-rep", bytes, sizeof(bytes));
		bytes[lies[i].at] = lies[i].value;
		feed(bytes, len, lies[i].src_qpn);
		assert_int_equal(w.events, 0);
		assert_int_equal(conn->proto.state, DCM_REQ_SENT);
		assert_int_equal(conn->remote.ib.qpn, 0);
	}
	feed_golden("ucm-rep", SERVER);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	release(conn);
	finish(conn);
	stop();
}

/* SRC can have sent what says LID and GID, and so says the engine. */
static void expect_belief(const struct dcm_source *src, uint8_t lid,
			  uint8_t gid_end, bool believed)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));
	uint64_t malformed = w.eng.stats.malformed;
	int requests = w.requests;

	bytes[AT_SADDR_LID] = lid;
	bytes[AT_SADDR_GID] = gid_end;
	feed_from(bytes, len, src);
	assert_int_equal(w.requests, requests + believed);
	assert_int_equal(w.eng.stats.malformed, malformed + !believed);
	if (believed) {
		struct dcm_conn *conn = w.conn;

		release(conn);
		finish(conn);
	}
}

/* What a message says of its sender, and what the device does. */
static void source__that_the_message_does_not_name(void **state)
{
	struct dcm_source src = {.qpn = CLIENT};

	server(SERVER);
	memcpy(src.gid, gid, sizeof(gid));
	expect_belief(&src, 7, 0x99, true); /* nothing is known */
	src.lid = 7;
	expect_belief(&src, 7, 0x99, true);
	expect_belief(&src, 8, 0x56, false);
	expect_belief(&src, 0, 0x56, false);
	src.has_gid = true; /* a router's LID then, perhaps */
	expect_belief(&src, 8, 0x56, true);
	expect_belief(&src, 7, 0x99, false);
	src.lid = 0; /* Ethernet */
	expect_belief(&src, 0, 0x56, true);
	expect_belief(&src, 0, 0x57, false);
	stop();
}

/* Who was told a number names it. */
static void goodbye__forged_is_not_believed(void **state)
{
	static const struct lie lies[] = {
		{AT_D_ID, 0, CLIENT},	   {AT_D_ID, 3, CLIENT},
		{AT_SADDR_QPN, 0, CLIENT}, {AT_SADDR_QPN, 0x77, CLIENT},
		{AT_DADDR_QPN, 0, CLIENT}, {AT_DADDR_QPN, 0x77, CLIENT},
		{AT_SADDR_LID, 7, CLIENT}, {AT_SADDR_GID, 0x77, CLIENT},
	};
	uint8_t bytes[DCM_MSG];
	struct dcm_conn *conn;
	size_t i, len;

	server(SERVER);
	feed_golden("ucm-req", CLIENT);
	conn = w.conn;
	accept_with(conn, 0x16);
	feed_golden("ucm-rtu", CLIENT);
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		print_message("# byte %zu is 0x%x\n", lies[i].at,
			      lies[i].value);
		len = wire_load("ucm-dreq", bytes, sizeof(bytes));
		bytes[lies[i].at] = lies[i].value;
		feed(bytes, len, lies[i].src_qpn);
		assert_int_equal(conn->proto.state, DCM_UP);
		assert_int_equal(w.events, 1);
	}
	feed_golden("ucm-dreq", CLIENT);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	release(conn);
	finish(conn);
	stop();
}

/* From the other side: the GID of the answer is the peer's from then on. */
static void goodbye__to_the_active_side(void **state)
{
	static const size_t at[] = {AT_D_ID,	  AT_SADDR_QPN, AT_DADDR_QPN,
				    AT_SADDR_LID, AT_SADDR_GID, AT_SADDR_GID};
	uint8_t rep[DCM_MSG], bytes[DCM_MSG];
	size_t i, len = wire_load("ucm-rep", rep, sizeof(rep));
	struct dcm_conn *conn;

	start(CLIENT, false);
	conn = client();
	rep[AT_SADDR_GID] = 0x99;
	feed(rep, len, SERVER);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	for (i = 0; i <= sizeof(at) / sizeof(at[0]); i++) {
		memcpy(bytes, rep, DCM_HEADER);
		bytes[AT_OP] = DCM_DREQ;
		if (i < sizeof(at) / sizeof(at[0]))
			bytes[at[i]] = i == 4 ? gid[15] : 0;
		if (i == 3)
			bytes[at[i]] = 7;
		feed(bytes, DCM_HEADER, SERVER);
		assert_int_equal(conn->proto.state,
				 i < sizeof(at) / sizeof(at[0]) ? DCM_UP
								: DCM_TIMEWAIT);
	}
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	release(conn);
	finish(conn);
	stop();
}

/* Old peers go on until they hear of a connection: it is theirs, then. */
static void reply__to_what_was_given_up(void **state)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-rep", bytes, sizeof(bytes));
	struct dcm_conn *conn;
	int i;

	start(CLIENT, false);
	conn = client();
	release(conn);
	for (i = 0; i < 3; i++) {
		bytes[AT_RTNS] = (uint8_t)i;
		feed(bytes, len, SERVER);
		assert_int_equal(last_sent()->op, DCM_DREQ);
		assert_int_equal(last_sent()->d_id, 0);
	}
	bytes[AT_RTNS] = 3;
	feed(bytes, len, SERVER);
	assert_int_equal(last_sent()->op, DCM_DREQ);
	assert_int_equal(last_sent()->d_id, 2);
	assert_int_equal(w.sent[(w.sent_n - 2) % 8].msg.op, DCM_RTU);
	assert_int_equal(w.sent[(w.sent_n - 2) % 8].msg.d_id, 2);
	feed_golden("ucm-drep", SERVER);
	assert_int_equal(conn->proto.state, DCM_TIMEWAIT);
	finish(conn);
	stop();
}

/* Old peers match such, too. */
static void reply__without_our_id_is_matched_by_the_port(void **state)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-rep", bytes, sizeof(bytes));
	struct dcm_conn *conn;

	start(CLIENT, false);
	conn = client();
	bytes[AT_D_ID] = 0;
	bytes[AT_SPORT_HIGH] = 0x12; /* carried, but not compared */
	bytes[AT_SADDR_GID] = 0x99;  /* answers from another GID */
	feed(bytes, len, SERVER);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	release(conn);
	finish(conn);
	stop();
}

/* What the connection is does not change by a late or forged copy. */
static void reply__second_one_changes_nothing(void **state)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-rep", bytes, sizeof(bytes));
	struct dcm_conn *conn;

	start(CLIENT, false);
	conn = client();
	feed_golden("ucm-rep", SERVER);
	bytes[AT_SADDR_QPN] = 0x77;
	bytes[AT_S_ID] = 0x77;
	feed(bytes, len, SERVER);
	bytes[AT_SADDR_QPN] = 0;
	feed(bytes, len, SERVER);
	assert_int_equal(conn->remote.ib.qpn, 0x16);
	assert_int_equal(conn->own.d_id, 2);
	assert_int_equal(w.qps, 1);
	release(conn);
	finish(conn);
	stop();
}

/* A reject of the attempt before, that had the same id. */
static void reply__of_an_id_used_before(void **state)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-rej-user", bytes, sizeof(bytes));
	struct dcm_conn *conn;

	bytes[AT_SQPN] = SERVER;
	bytes[AT_DQPN] = CLIENT;
	start(CLIENT, false);
	conn = client();
	feed(bytes, len, SERVER); /* for data queue pair 0x1c */
	assert_int_equal(w.events, 0);
	bytes[AT_DADDR_QPN] = 0x19;
	feed(bytes, len, SERVER);
	assert_int_equal(w.event, DAPL_CM_PEER_REJECTED);
	assert_int_equal(w.size, 12);
	release(conn);
	stop();
}

static void nobody__knows_the_connection(void **state)
{
	start(CLIENT, false);
	feed_golden("ucm-rtu", SERVER);
	feed_golden("ucm-drep", SERVER);
	assert_int_equal(w.sent_n, 0);
	stop();
	/* So that the peer need not repeat it. */
	server(SERVER);
	feed_golden("ucm-dreq", CLIENT);
	assert_int_equal(last_sent()->op, DCM_DREP);
	assert_int_equal(last_sent()->s_id, 2);
	assert_int_equal(last_sent()->d_id, 1);
	assert_int_equal(last_sent()->sport, PORT);
	assert_int_equal(last_sent()->dport, 1);
	stop();
	/* It accepts what is long given up; there was no connection. */
	start(CLIENT, false);
	feed_golden("ucm-rep", SERVER);
	assert_int_equal(last_sent()->op, DCM_DREQ);
	assert_int_equal(last_sent()->d_id, 0);
	assert_int_equal(last_sent()->s_id, 1);
	assert_int_equal(w.eng.stats.unmatched, 1);
	stop();
}

/* ---------------------------------------------------------- requests */

static void request__repeated(void **state)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));
	struct dcm_conn *conn;

	server(SERVER);
	feed(bytes, len, CLIENT);
	conn = w.conn;
	feed(bytes, len, CLIENT); /* doubled by the network */
	bytes[AT_RTNS] = 1;
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 1);
	assert_int_equal(w.sent_n, 0);
	assert_int_equal(w.eng.stats.repeated, 2);
	accept_with(conn, 0x16);
	feed(bytes, len, CLIENT);
	assert_int_equal(w.sent_n, 2);
	assert_int_equal(last_sent()->op, DCM_REP);
	release(conn);
	finish(conn);
	stop();
}

/* A peer that started anew counts from 1 again. */
static void request__of_another_endpoint_with_the_same_id(void **state)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));
	struct dcm_conn *first, *second;

	server(SERVER);
	feed(bytes, len, CLIENT);
	first = w.conn;
	bytes[AT_SADDR_QPN] = 0x20;
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 2);
	second = w.conn;
	assert_ptr_not_equal(first, second);
	/* Which one is meant, is known from here on. */
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 2);
	release(first);
	finish(first);
	release(second);
	finish(second);
	stop();
}

/* ------------------------------------------------- peers begin anew */

/* The request of the captured exchange as a life's copy number REPEAT. */
static void feed_life(uint8_t life, uint8_t repeat)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));

	bytes[DCM_HEADER] = life;
	bytes[AT_RTNS] = repeat;
	feed(bytes, len, CLIENT);
}

static struct dcm_conn *first_life_up(void)
{
	struct dcm_conn *conn;

	server(SERVER);
	feed_life(1, 0);
	conn = w.conn;
	accept_with(conn, 0x16);
	feed_golden("ucm-rtu", CLIENT);
	assert_int_equal(conn->proto.state, DCM_UP);
	return conn;
}

/* The second life has been reported, and goes its way. */
static void expect_second_life(struct dcm_conn *first, uint8_t life)
{
	struct dcm_conn *second = w.conn;
	uint8_t rtu[DCM_MSG];
	int sent;

	assert_int_equal(w.requests, 2);
	assert_ptr_not_equal(second, first);
	assert_int_equal(w.pdata[0], life);
	sent = w.sent_n;
	accept_with(second, 0x17);
	assert_int_equal(w.sent_n, sent + 1);
	assert_int_equal(last_sent()->op, DCM_REP);
	wire_load("ucm-rtu", rtu, sizeof(rtu));
	rtu[AT_D_ID] = (uint8_t)second->id;
	rtu[AT_DADDR_QPN] = 0x17;
	feed(rtu, DCM_HEADER, CLIENT);
	assert_int_equal(second->proto.state, DCM_UP);
	release(second);
	finish(second);
	stop();
}

static void life__new_while_the_old_is_up(void **state)
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
static void life__new_by_a_repeat(void **state)
{
	struct dcm_conn *conn;

	server(SERVER);
	feed_life(1, 0);
	conn = w.conn;
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

static void life__new_by_what_it_says(void **state)
{
	struct dcm_conn *conn;

	server(SERVER);
	feed_life(1, 0);
	conn = w.conn;
	dcm_engine_reject(conn, NULL, 0, 3);
	release(conn);
	w.now_us += DCM_LIFETIME_US;
	feed_life(1, 3);
	assert_int_equal(last_sent()->op, DCM_REJ_USER);
	assert_int_equal(w.requests, 1);
	feed_life(2, 3);
	assert_int_equal(w.live, 1); /* the old one is forgotten */
	expect_second_life(NULL, 2);
}

static void life__new_while_the_old_ends(void **state)
{
	struct dcm_conn *conn = first_life_up();

	release(conn);
	assert_int_equal(conn->proto.state, DCM_DREQ_SENT);
	w.now_us += DCM_LIFETIME_US;
	feed_life(2, 0);
	assert_int_equal(w.live, 1);
	expect_second_life(NULL, 2);

	conn = first_life_up();
	feed_golden("ucm-dreq", CLIENT);
	assert_int_equal(conn->proto.state, DCM_TIMEWAIT);
	w.now_us += DCM_LIFETIME_US;
	feed_life(2, 0);
	assert_int_equal(w.events, 2); /* no more than it has heard */
	release(conn);
	expect_second_life(NULL, 2);
}

static void life__new_before_the_old_is_answered(void **state)
{
	struct dcm_conn *conn;

	server(SERVER);
	feed_life(1, 0);
	conn = w.conn;
	w.now_us += DCM_LIFETIME_US;
	feed_life(2, 0);
	assert_int_equal(w.gone, 1);
	/* Its consumer may have been about to. */
	accept_with(conn, 0x16);
	assert_int_equal(w.event, DAPL_CM_ACCEPT_FAILED);
	assert_int_equal(w.sent_n, 0);
	release(conn);
	expect_second_life(conn, 2);

	server(SERVER);
	feed_life(1, 0);
	conn = w.conn;
	accept_with(conn, 0x16);
	w.now_us += DCM_LIFETIME_US;
	feed_life(2, 0);
	assert_int_equal(w.event, DAPL_CM_ACCEPT_FAILED);
	assert_int_equal(w.sent_n, 1); /* nobody gets the old one's answer */
	release(conn);
	expect_second_life(conn, 2);
}

/* Such do not count what they repeat. */
static void life__of_a_peer_of_version_7(void **state)
{
	uint8_t bytes[256];
	size_t len = wire_load("ucm-v7-req", bytes, sizeof(bytes));
	struct dcm_conn *conn;

	server(SERVER);
	feed(bytes, len, CLIENT);
	conn = w.conn;
	w.now_us += DCM_LIFETIME_US;
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 1);
	release(conn);
	finish(conn);
	stop();
}

/* New peers begin anywhere; but the queue pair may be the same. */
static void life__new_with_another_id(void **state)
{
	struct dcm_conn *conn = first_life_up(), *second;
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));

	bytes[AT_S_ID] = bytes[AT_SPORT] = 9;
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 2);
	second = w.conn;
	accept_with(second, 0x17);
	/* The request may be one of long ago; its answer's answer is not. */
	assert_int_equal(conn->proto.state, DCM_UP);
	wire_load("ucm-rtu", bytes, sizeof(bytes));
	bytes[AT_S_ID] = bytes[AT_SPORT] = 9;
	bytes[AT_D_ID] = (uint8_t)second->id;
	bytes[AT_DADDR_QPN] = 0x17;
	feed(bytes, DCM_HEADER, CLIENT);
	assert_int_equal(second->proto.state, DCM_UP);
	assert_int_equal(conn->proto.state, DCM_CLOSED);
	assert_int_equal(w.event, DAPL_CM_DISCONNECTED);
	release(conn);
	release(second);
	finish(second);
	stop();
}

/* The same of a server: its queue pair has another peer now. */
static void life__new_of_the_passive_side(void **state)
{
	uint8_t rep[DCM_MSG];
	size_t len = wire_load("ucm-rep", rep, sizeof(rep));
	struct dcm_conn *first, *second;

	start(CLIENT, false);
	first = client();
	feed(rep, len, SERVER);
	second = client();
	rep[AT_D_ID] = rep[AT_DPORT] = (uint8_t)second->id;
	feed(rep, len, SERVER);
	assert_int_equal(second->proto.state, DCM_UP);
	assert_int_equal(first->proto.state, DCM_CLOSED);
	release(first);
	release(second);
	finish(second);
	stop();
}

static void connect__ids_begin_anywhere(void **state)
{
	uint32_t first[8];
	unsigned i, same = 0;

	for (i = 0; i < 8; i++) {
		struct dcm_conn conn = {.eng = NULL};

		start(CLIENT, false);
		dcm_engine_fini(&w.eng);
		dcm_engine_init(&w.eng, &ops, &w.rules, i);
		w.eng.self.qpn = CLIENT;
		dcm_conn_init(&conn, &w.eng);
		assert_int_equal(dcm_engine_connect(&w.eng, &conn, PORT, 1), 0);
		first[i] = conn.id;
		/* As a port is: old peers answer to that. */
		assert_in_range(conn.id, 1, 0x8000);
		same += i && first[i] == first[0];
		dcm_engine_fini(&w.eng);
	}
	assert_int_equal(same, 0);
}

static void request__of_another_host_with_the_same_numbers(void **state)
{
	static const size_t at[] = {AT_SADDR_LID, AT_SADDR_GID};
	struct dcm_conn *conn[3];
	uint8_t bytes[DCM_MSG];
	size_t i, len = 0;

	server(SERVER);
	feed_golden("ucm-req", CLIENT);
	conn[0] = w.conn;
	for (i = 0; i < 2; i++) {
		len = wire_load("ucm-req", bytes, sizeof(bytes));
		bytes[at[i]] = 0x33;
		feed(bytes, len, CLIENT);
		assert_int_equal(w.requests, i + 2);
		conn[i + 1] = w.conn;
	}
	assert_int_equal(w.live, 3);
	for (i = 0; i < 3; i++) {
		release(conn[i]);
		finish(conn[i]);
	}
	stop();
}

/* In another subnet. */
static void request__of_another_host_with_the_same_lid(void **state)
{
	struct dcm_conn *conn[2];
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));

	server(SERVER);
	bytes[AT_SADDR_LID] = 7;
	feed(bytes, len, CLIENT);
	conn[0] = w.conn;
	bytes[AT_SADDR_GID] ^= 1;
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 2);
	conn[1] = w.conn;
	for (int i = 0; i < 2; i++) {
		release(conn[i]);
		finish(conn[i]);
	}
	stop();
}

static void expect_refusal(const uint8_t *bytes, size_t len)
{
	uint64_t refused = w.eng.stats.refused;
	int sent = w.sent_n;

	feed(bytes, len, CLIENT);
	assert_int_equal(w.sent_n, sent + 1);
	assert_int_equal(last_sent()->op, DCM_REJ_CM);
	assert_int_equal(w.eng.stats.refused, refused + 1);
}

/* Nothing is said: the request comes again. */
static void expect_silence(const uint8_t *bytes, size_t len)
{
	uint64_t held = w.eng.stats.held;
	int sent = w.sent_n, requests = w.requests;

	feed(bytes, len, CLIENT);
	assert_int_equal(w.sent_n, sent);
	assert_int_equal(w.requests, requests);
	assert_int_equal(w.eng.stats.held, held + 1);
	assert_int_equal(w.eng.stats.refused, 0);
}

/* The copy that comes when there is room is a request like any. */
static void expect_taken(const uint8_t *bytes, size_t len)
{
	int requests = w.requests;

	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, requests + 1);
}

static void request__no_room_for_it(void **state)
{
	struct dcm_conn *conn[2];
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));

	server(SERVER);
	w.eng.listener_max = 1;
	feed(bytes, len, CLIENT);
	conn[0] = w.conn;
	bytes[AT_S_ID] = bytes[AT_SPORT] = 9;
	expect_silence(bytes, len);
	bytes[AT_RTNS]++;
	expect_silence(bytes, len);
	accept_with(conn[0], 0x16);
	assert_int_equal(w.listener.waiting_n, 0);
	w.no_memory = true;
	expect_silence(bytes, len);
	w.no_memory = false;
	w.eng.conns_max = 1;
	expect_silence(bytes, len);
	w.eng.conns_max = IDS;
	bytes[AT_RTNS]++;
	expect_taken(bytes, len);
	conn[1] = w.conn;
	for (int i = 0; i < 2; i++) {
		release(conn[i]);
		finish(conn[i]);
	}
	assert_int_equal(w.eng.waiting_n, 0);
	stop();
}

/* One listener that nobody serves leaves room for another. */
static void request__room_of_one_listener_and_of_all(void **state)
{
	struct dcm_listener other;
	struct dcm_conn *conn[3];
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));

	server(SERVER);
	assert_int_equal(dcm_engine_listen(&w.eng, &other, PORT + 1), 0);
	w.eng.listener_max = 2;
	w.eng.waiting_max = 3;
	for (int i = 0; i < 3; i++) {
		bytes[AT_S_ID] = bytes[AT_SPORT] = (uint8_t)(10 + i);
		if (i == 2) {
			bytes[AT_S_ID] = bytes[AT_SPORT] = 20;
			expect_silence(bytes, len);
			bytes[AT_DPORT]++;
		}
		expect_taken(bytes, len);
		conn[i] = w.conn;
	}
	bytes[AT_S_ID] = bytes[AT_SPORT] = 21;
	expect_silence(bytes, len);
	dcm_engine_unlisten(&w.eng, &w.listener);
	assert_int_equal(w.eng.waiting_n, 1);
	expect_taken(bytes, len);
	release(w.conn);
	finish(w.conn);
	for (int i = 0; i < 3; i++) {
		release(conn[i]);
		finish(conn[i]);
	}
	dcm_engine_unlisten(&w.eng, &other);
	assert_int_equal(w.eng.waiting_n, 0);
	stop();
}

static void request__for_an_unreliable_endpoint(void **state)
{
	uint8_t bytes[DCM_MSG];
	size_t len = wire_load("ucm-req", bytes, sizeof(bytes));

	server(SERVER);
	bytes[AT_SADDR_TYPE] = DCM_QP_UD;
	expect_refusal(bytes, len);
	assert_int_equal(w.requests, 0);
	assert_int_equal(w.sent[0].bytes[AT_SADDR_TYPE], DCM_QP_UD);
	stop();
}

static void listen__twice_and_not_any_more(void **state)
{
	struct dcm_listener other;
	struct dcm_conn *conn;

	server(SERVER);
	assert_int_equal(dcm_engine_listen(&w.eng, &other, PORT), -EADDRINUSE);
	feed_golden("ucm-req", CLIENT);
	conn = w.conn;
	/* The listener's memory is free, but the request goes on. */
	dcm_engine_unlisten(&w.eng, &w.listener);
	memset(&w.listener, 0xee, sizeof(w.listener));
	accept_with(conn, 0x16);
	feed_golden("ucm-rtu", CLIENT);
	assert_int_equal(w.event, DAPL_CM_ESTABLISHED);
	assert_int_equal(dcm_engine_listen(&w.eng, &other, PORT), 0);
	dcm_engine_unlisten(&w.eng, &other);
	release(conn);
	finish(conn);
	stop();
}

/* ------------------------------------------------------------ bounds */

static void connect__ids_are_used_up_and_left_free_for_listeners(void **state)
{
	struct dcm_listener listener;
	struct dcm_conn *conn[IDS], *more;
	int i;

	start(CLIENT, false);
	w.eng.conns_max = 4;
	assert_int_equal(dcm_engine_listen(&w.eng, &listener, 3), 0);
	for (i = 0; i < 3; i++) {
		conn[i] = client();
		assert_int_not_equal(conn[i]->id, 3);
	}
	more = calloc(1, sizeof(*more));
	assert_non_null(more);
	w.live++;
	dcm_conn_init(more, &w.eng);
	assert_int_equal(dcm_engine_connect(&w.eng, more, PORT, 1), -EAGAIN);
	release(more);
	for (i = 0; i < 3; i++) {
		release(conn[i]);
		finish(conn[i]);
	}
	dcm_engine_unlisten(&w.eng, &listener);
	stop();
}

/* All ids are of connections that are over: the oldest one's is taken. */
static void connect__ids_are_in_timewait(void **state)
{
	struct dcm_conn *conn[IDS], *one;
	uint8_t bytes[DCM_MSG];
	size_t len;
	int i;

	server(SERVER);
	w.eng.conns_max = 4;
	for (i = 0; i < 4; i++) {
		len = wire_load("ucm-req", bytes, sizeof(bytes));
		bytes[AT_S_ID] = bytes[AT_SPORT] = (uint8_t)(10 + i);
		feed(bytes, len, CLIENT);
		conn[i] = w.conn;
		dcm_engine_reject(conn[i], NULL, 0, 3);
		/* One consumer takes his time: its memory stays, not the id. */
		if (i)
			release(conn[i]);
	}
	assert_int_equal(w.eng.timewait_n, 4);
	one = client();
	assert_int_equal(w.eng.timewait_n, 3);
	assert_int_equal(w.live, 5);
	bytes[AT_S_ID] = bytes[AT_SPORT] = 20;
	feed(bytes, len, CLIENT);
	assert_int_equal(w.requests, 5);
	assert_int_equal(w.eng.timewait_n, 2);
	assert_int_equal(w.live, 5);
	release(conn[0]);
	release(w.conn);
	release(one);
	while (!dapl_list_empty(&w.eng.timewait))
		dcm_engine_input(dapl_list_first(&w.eng.timewait,
						 struct dcm_conn, queue),
				 DCM_IN_TIMER, NULL, 100000000);
	finish(one);
	stop();
}

/* Requests that are refused by the consumer leave no more than so many. */
static void timewait__is_bounded(void **state)
{
	struct dcm_conn *first = NULL;
	struct dcm_msg req;
	uint8_t bytes[DCM_MSG];
	uint32_t i;

	server(SERVER);
	w.eng.conns_max = DCM_CONNS_MAX;
	dcm_msg_decode(bytes, wire_load("ucm-req", bytes, sizeof(bytes)), &req);
	for (i = 1; i <= DCM_TIMEWAIT_MAX + 100; i++) {
		req.s_id = req.sport = i;
		feed(bytes, dcm_msg_encode(&req, bytes), CLIENT);
		assert_int_equal(w.requests, i);
		first = first ? first : w.conn;
		release(w.conn);
	}
	assert_int_equal(w.eng.timewait_n, DCM_TIMEWAIT_MAX);
	assert_int_equal(w.live, DCM_TIMEWAIT_MAX);
	while (!dapl_list_empty(&w.eng.timewait))
		dcm_engine_input(dapl_list_first(&w.eng.timewait,
						 struct dcm_conn, queue),
				 DCM_IN_TIMER, NULL, 100000000);
	stop();
}

/* ------------------------------------------------------------- waits */

/* A connection to the CM queue pair QPN; how long its answer is waited for. */
static uint64_t first_wait_for(uint32_t qpn, struct dcm_conn **ret_conn)
{
	struct dcm_conn *conn = calloc(1, sizeof(*conn));
	struct dcm_ib ib = {.qpn = 0x19, .qp_type = DCM_QP_RC};

	assert_non_null(conn);
	w.live++;
	dcm_conn_init(conn, &w.eng);
	dcm_block_set_ib(&conn->own.saddr, &ib);
	conn->peer.qpn = qpn;
	assert_int_equal(dcm_engine_connect(&w.eng, conn, PORT, w.now_us), 0);
	*ret_conn = conn;
	return w.deadline_us - w.now_us;
}

/* The consumer of QPN takes US to say no. */
static uint64_t connect_and_wait(uint32_t qpn, uint64_t us)
{
	struct dcm_msg rep = {.version = 9,
			      .op = DCM_REP,
			      .sport = PORT,
			      .sqpn = qpn,
			      .dqpn = CLIENT,
			      .s_id = 7};
	struct dcm_ib ib = {.qpn = 0x16, .qp_type = DCM_QP_RC};
	struct dcm_conn *conn;
	uint64_t wait = first_wait_for(qpn, &conn);
	uint8_t bytes[DCM_MSG];

	dcm_block_set_ib(&rep.saddr, &ib);
	rep.daddr = conn->own.saddr;
	rep.dport = conn->own.sport;
	rep.d_id = conn->id;
	w.now_us += us;
	feed(bytes, dcm_msg_encode(&rep, bytes), qpn);
	assert_int_equal(conn->proto.state, DCM_UP);
	release(conn);
	finish(conn);
	return wait;
}

/* The first waits before anything was measured, and a quarter by chance. */
#define FIRST_US 400000
#define MOST_US	 (FIRST_US * 5 / 4)

static void wait__for_a_slow_consumer_is_its_own(void **state)
{
	struct dcm_conn *conn;
	uint64_t wait;

	start(CLIENT, false);
	w.rules.rep_wait_us = 0;
	assert_in_range(connect_and_wait(0x30, 3000000), FIRST_US, MOST_US);
	for (int i = 0; i < 20; i++)
		assert_in_range(connect_and_wait(0x30, 3000000), 3000000,
				4000000 * 5ull / 4);
	/* Nobody else is waited for longer than without it. */
	assert_in_range(connect_and_wait(0x31, 1000), 1, MOST_US);
	wait = connect_and_wait(0x31, 1000);
	assert_in_range(wait, 50000, 50000 * 5 / 4);
	/* Nor does it weigh more than others for who is not known. */
	for (uint32_t qpn = 0x100; qpn < 0x128; qpn++)
		connect_and_wait(qpn, 1000);
	for (int i = 0; i < 20; i++)
		assert_in_range(connect_and_wait(0x30, 3000000), 3000000,
				4000000 * 5ull / 4);
	wait = first_wait_for(0x60, &conn);
	assert_in_range(wait, 50000, FIRST_US - 1);
	release(conn);
	finish(conn);
	stop();
}

/* ----------------------------------------------------------- streams */

static struct dcm_conn *stream_conn(void)
{
	struct dcm_conn *conn = calloc(1, sizeof(*conn));

	assert_non_null(conn);
	w.live++;
	return conn;
}

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

/* The request, sent back. */
static void stream__reject(void **state)
{
	struct dcm_conn *conn = stream_conn();
	struct dcm_msg req = stream_req(), want = req;

	start(0, true);
	w.live = 1;
	dcm_engine_listen(&w.eng, &w.listener, 0);
	assert_int_equal(
		dcm_engine_stream_request(&w.eng, &w.listener, conn, &req, 1),
		0);
	dcm_engine_reject(conn, "no", 2, 2);
	want.op = DCM_REJ_USER;
	want.p_size = 2;
	assert_int_equal(last_sent()->version, 8);
	assert_memory_equal(&last_sent()->saddr, &want.saddr, 28);
	assert_memory_equal(&last_sent()->daddr, &want.daddr, 28);
	assert_int_equal(last_sent()->op, DCM_REJ_USER);
	assert_int_equal(last_sent()->responder_resources, 3);
	assert_int_equal(last_sent()->p_size, 2);
	assert_memory_equal(last_sent()->pdata, "no", 2);
	release(conn);
	stop();
}

static void stream__refused(void **state)
{
	struct dcm_conn *conn = stream_conn();
	struct dcm_msg ud = stream_req();

	start(0, true);
	dcm_engine_listen(&w.eng, &w.listener, 0);
	ud.saddr.b[27] = DCM_QP_UD;
	assert_int_equal(
		dcm_engine_stream_request(&w.eng, &w.listener, conn, &ud, 1),
		-EPROTO);
	assert_int_equal(last_sent()->op, DCM_REJ_CM);
	assert_int_equal(last_sent()->p_size, 0);
	assert_int_equal(w.sent_n, 1);
	free(conn); /* the engine knows nothing of it */
	stop();
}

/* Room is announced once to whom it was refused, and some at a time. */
static void stream__waits_for_room(void **state)
{
	struct dcm_msg req = stream_req();
	struct dcm_conn *conn[16];

	start(0, true);
	w.eng.listener_max = 16;
	dcm_engine_listen(&w.eng, &w.listener, 0);
	for (int i = 0; i < 16; i++) {
		conn[i] = stream_conn();
		assert_true(dcm_engine_room(&w.eng, &w.listener));
		assert_int_equal(dcm_engine_stream_request(&w.eng, &w.listener,
							   conn[i], &req, 1),
				 0);
	}
	assert_false(dcm_engine_room(&w.eng, &w.listener));
	release(conn[0]);
	assert_int_equal(w.rooms, 0);
	assert_true(dcm_engine_room(&w.eng, &w.listener));
	dcm_engine_reject(conn[1], NULL, 0, 2);
	assert_int_equal(w.rooms, 1);
	assert_ptr_equal(w.room, &w.listener);
	release(conn[1]);
	release(conn[2]);
	assert_int_equal(w.rooms, 1);
	/* Of all listeners. */
	w.eng.waiting_max = 13;
	assert_false(dcm_engine_room(&w.eng, &w.listener));
	for (int i = 3; i < 5; i++)
		release(conn[i]);
	assert_int_equal(w.rooms, 2);
	assert_null(w.room);
	/* Who waits for a listener that goes waits in vain. */
	dcm_engine_unlisten(&w.eng, &w.listener);
	assert_int_equal(w.rooms, 3);
	assert_ptr_equal(w.room, &w.listener);
	for (int i = 5; i < 16; i++)
		release(conn[i]);
	stop();
}

static void stream__rtu_has_the_version_of_the_rep(void **state)
{
	struct dcm_msg rep = stream_req();
	struct dcm_conn *conn;

	rep.op = DCM_REP;
	rep.version = 7;
	start(0, true);
	conn = client();
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
	release(conn);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client__of_the_captured_exchange),
		cmocka_unit_test(server__of_the_captured_exchange),
		cmocka_unit_test(server__rejects_as_captured),
		cmocka_unit_test(server__nobody_listens),
		cmocka_unit_test(client__nobody_listens),
		cmocka_unit_test(server__request_of_version_7),
		cmocka_unit_test(reply__forged_is_not_believed),
		cmocka_unit_test(source__that_the_message_does_not_name),
		cmocka_unit_test(goodbye__forged_is_not_believed),
		cmocka_unit_test(goodbye__to_the_active_side),
		cmocka_unit_test(reply__to_what_was_given_up),
		cmocka_unit_test(reply__without_our_id_is_matched_by_the_port),
		cmocka_unit_test(reply__second_one_changes_nothing),
		cmocka_unit_test(reply__of_an_id_used_before),
		cmocka_unit_test(nobody__knows_the_connection),
		cmocka_unit_test(request__repeated),
		cmocka_unit_test(request__of_another_endpoint_with_the_same_id),
		cmocka_unit_test(
			request__of_another_host_with_the_same_numbers),
		cmocka_unit_test(request__of_another_host_with_the_same_lid),
		cmocka_unit_test(life__new_while_the_old_is_up),
		cmocka_unit_test(life__new_by_a_repeat),
		cmocka_unit_test(life__new_by_what_it_says),
		cmocka_unit_test(life__new_while_the_old_ends),
		cmocka_unit_test(life__new_before_the_old_is_answered),
		cmocka_unit_test(life__of_a_peer_of_version_7),
		cmocka_unit_test(life__new_with_another_id),
		cmocka_unit_test(life__new_of_the_passive_side),
		cmocka_unit_test(connect__ids_begin_anywhere),
		cmocka_unit_test(request__no_room_for_it),
		cmocka_unit_test(request__room_of_one_listener_and_of_all),
		cmocka_unit_test(request__for_an_unreliable_endpoint),
		cmocka_unit_test(listen__twice_and_not_any_more),
		cmocka_unit_test(
			connect__ids_are_used_up_and_left_free_for_listeners),
		cmocka_unit_test(connect__ids_are_in_timewait),
		cmocka_unit_test(timewait__is_bounded),
		cmocka_unit_test(wait__for_a_slow_consumer_is_its_own),
		cmocka_unit_test(stream__reject),
		cmocka_unit_test(stream__refused),
		cmocka_unit_test(stream__waits_for_room),
		cmocka_unit_test(stream__rtu_has_the_version_of_the_rep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
