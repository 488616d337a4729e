/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fuzz_dcm_engine.c - an engine in a world that is out to get it.
 *
 * The input is a script: what comes from the network (any bytes, messages with
 * forged fields, floods of requests), what the consumers do, when timers are
 * due, and what fails. Consumers keep to dapl_cm.h, the network to nothing.
 * Checks the rules of sim_check.c that do not need an honest peer, that our
 * own messages are well formed and few, that memory is bounded, and that in the
 * end nothing is left.
 * One thread.
 */
#include <errno.h>
#include <string.h>

#include "dapl/common/cm/dcm/dcm_engine.h"
#include "test/fuzz/fuzz.h"
#include "test/sim/fake_engine.h"

#define IDS	   48 /* of the engine */
#define CONNS	   64 /* of the world: streams have no ids */
#define WAITING	   8  /* requests without an answer */
#define OWN_QPN	   0x15
#define PORT	   100
#define STEPS_MAX  128
#define TIMERS_MAX 4000

struct conn {
	struct fake_conn fake; /* must stay first */
	bool dialing;	       /* stream */
	struct dapl_list link;
};

static struct {
	const uint8_t *script;
	size_t left;
	struct dcm_rules rules;
	struct dcm_engine eng;
	struct dcm_listener listener;
	bool listening, qp_fails, no_memory, dial_fails;
	uint64_t now_us;
	struct sim_checks checks;
	struct dapl_list conns;
	unsigned live;
	unsigned sent;	  /* in answer to one message */
	uint16_t src_lid; /* where messages come from; 0: is not told */
} w;

/* ------------------------------------------------------------ script */

static uint8_t byte(void)
{
	if (!w.left)
		return 0;
	w.left--;
	return *w.script++;
}

static uint32_t word(void)
{
	uint32_t high = byte();

	return high << 24 | (uint32_t)byte() << 16 | (uint32_t)byte() << 8 |
	       byte();
}

static struct conn *pick(void)
{
	struct conn *conn;
	unsigned i;

	if (!w.live)
		return NULL;
	i = byte() % w.live;
	dapl_list_for_each(conn, &w.conns, link)
		if (!i--)
			return conn;
	return NULL;
}

/* ------------------------------------------------------- connections */

static struct conn *conn_new(void)
{
	struct conn *conn;

	if (w.live >= CONNS)
		return NULL;
	conn = calloc(1, sizeof(*conn));
	REQUIRE(conn);
	fake_conn_init(&conn->fake, &w.eng, &w.checks);
	dapl_list_add_tail(&w.conns, &conn->link);
	w.live++;
	return conn;
}

static struct conn *conn_of(struct dcm_conn *dcm)
{
	return (struct conn *)dcm;
}

static void conn_free(struct conn *conn)
{
	dapl_list_del(&conn->link);
	w.live--;
	free(conn);
}

/* -------------------------------------------------- the engine's table */

static int on_dial(struct dcm_conn *dcm)
{
	if (w.dial_fails)
		return -ENETUNREACH;
	conn_of(dcm)->dialing = true;
	return fake_dial(dcm);
}

static void on_send(struct dcm_engine *eng, struct dcm_conn *dcm,
		    const struct dcm_peer *to, const struct dcm_msg *msg,
		    bool filler)
{
	uint8_t bytes[DCM_MSG];
	struct dcm_msg copy;

	REQUIRE(!dcm_msg_decode(bytes, dcm_msg_encode(msg, bytes), &copy));
	REQUIRE(msg->op >= DCM_REQ && msg->op < DCM_OP_N);
	REQUIRE(w.rules.stream || (msg->sqpn == OWN_QPN && to));
	REQUIRE(!w.rules.stream || dcm);
	w.sent++;
}

static void on_hangup(struct dcm_conn *dcm)
{
	conn_of(dcm)->dialing = false;
	fake_hangup(dcm);
}

static int on_qp_connect(struct dcm_conn *dcm)
{
	return w.qp_fails ? -EIO : fake_qp_connect(dcm);
}

static struct dcm_conn *on_conn_new(struct dcm_engine *eng)
{
	struct conn *conn = w.no_memory ? NULL : conn_new();

	return conn ? &conn->fake.dcm : NULL;
}

static void on_request(struct dcm_listener *l, struct dcm_conn *dcm,
		       const struct dcm_msg *msg)
{
	REQUIRE(w.listening && l == &w.listener);
	REQUIRE(l->waiting_n <= WAITING);
	fake_request(l, dcm, msg);
}

static void on_event(struct dcm_conn *dcm, enum dapl_cm_event event,
		     const void *pdata, size_t size)
{
	REQUIRE(size <= DCM_PDATA && (!size || pdata));
	fake_event(dcm, event, pdata, size);
}

static void on_room(struct dcm_engine *eng, struct dcm_listener *l)
{
	REQUIRE(!l || l == &w.listener);
}

static void on_freed(struct dcm_conn *dcm)
{
	fake_freed(dcm);
	conn_free(conn_of(dcm));
}

static const struct dcm_engine_ops ops = {
	.dial = on_dial,
	.send = on_send,
	.hangup = on_hangup,
	.arm = fake_arm,
	.disarm = fake_disarm,
	.qp_connect = on_qp_connect,
	.qp_error = fake_qp_error,
	.conn_new = on_conn_new,
	.request = on_request,
	.request_gone = fake_request_gone,
	.event = on_event,
	.room = on_room,
	.freed = on_freed,
};

/* ------------------------------------------------------- the consumers */

static void do_connect(void)
{
	struct conn *conn = conn_new();
	struct fake_conn *fake;
	struct dcm_ib ib;

	if (!conn)
		return;
	fake = &conn->fake;
	ib = fake_qp_new(fake, SIM_QP_ACTIVE);
	fake->began = true;
	dcm_block_set_ib(&fake->dcm.own.saddr, &ib);
	fake->dcm.own.p_size = byte() % (DCM_PDATA + 1);
	fake->dcm.peer.qpn = byte();
	fake->dcm.peer.lid = byte() & 3;
	if (dcm_engine_connect(&w.eng, &fake->dcm, byte(), w.now_us))
		REQUIRE(w.eng.conns.n >= IDS && !w.eng.timewait_n);
}

static bool may_answer(const struct fake_conn *conn)
{
	return conn->check.passive && !conn->answered && !conn->check.released;
}

static void do_accept(struct fake_conn *conn)
{
	struct dcm_answer answer;

	if (!may_answer(conn))
		return;
	answer = fake_answer(conn);
	answer.p_size = byte() % (DCM_PDATA + 1);
	dcm_engine_accept(&conn->dcm, &answer, w.now_us);
}

static void do_reject(struct fake_conn *conn)
{
	static const uint8_t pdata[DCM_PDATA];

	if (may_answer(conn))
		fake_reject(conn, pdata, byte() % (DCM_PDATA + 1), w.now_us);
}

static void do_disconnect(struct fake_conn *conn)
{
	if (conn->check.established && !conn->disconnected &&
	    !conn->check.released)
		fake_disconnect(conn, w.now_us);
}

/* While its queue pair is moved, and then that has no end: as at a stop. */
static void do_release(struct fake_conn *conn)
{
	if (!conn->check.released)
		fake_release(conn, w.now_us);
}

static void do_moved(struct fake_conn *conn)
{
	static const enum dcm_input outcomes[] = {
		DCM_IN_QP_READY, DCM_IN_QP_FAILED, DCM_IN_QP_SILENT};

	if (conn->check.moving)
		fake_moved(conn, outcomes[byte() % 3], w.now_us);
}

static void do_timer(struct fake_conn *conn)
{
	if (conn->armed)
		fake_timer(conn, &w.now_us);
}

static void do_listen(void)
{
	if (w.listening)
		dcm_engine_unlisten(&w.eng, &w.listener);
	else if (dcm_engine_listen(&w.eng, &w.listener,
				   w.rules.stream ? 0 : PORT))
		return;
	w.listening = !w.listening;
}

/* --------------------------------------------------------- the network */

/* What a peer of CONN would say, or of nobody; then some of it is forged. */
static void forge(const struct dcm_conn *conn, struct dcm_msg *ret_msg)
{
	struct dcm_msg msg = {.version = 9, .dqpn = OWN_QPN, .dport = PORT};
	struct dcm_ib ib = {.qp_type = DCM_QP_RC, .qpn = 1 + byte() % 4u};
	uint8_t lies;

	msg.op = byte() % (DCM_OP_N + 1);
	lies = byte();
	msg.sqpn = 0x10;
	msg.s_id = ib.qpn;
	msg.sport = ib.qpn;
	dcm_block_set_ib(&msg.saddr, &ib);
	if (conn) {
		msg.sport = conn->own.dport;
		msg.dport = conn->own.sport;
		msg.sqpn = conn->own.dqpn;
		msg.s_id = conn->own.d_id;
		msg.d_id = conn->own.s_id;
		msg.daddr = conn->own.saddr;
		ib.lid = conn->peer.lid;
		if (conn->remote.ib.qpn)
			ib.qpn = conn->remote.ib.qpn;
		dcm_block_set_ib(&msg.saddr, &ib);
	}
	if (lies & 1)
		msg.sport = byte();
	if (lies & 2)
		msg.dport = byte();
	if (lies & 4)
		msg.sqpn = byte();
	if (lies & 8)
		msg.s_id = word();
	if (lies & 16)
		msg.d_id = byte();
	if (lies & 32)
		memset(&msg.saddr, byte(), sizeof(msg.saddr));
	if (lies & 64)
		memset(&msg.daddr, byte(), sizeof(msg.daddr));
	if (lies & 128) {
		msg.rtns = byte();
		msg.version = 6 + byte() % 5u;
		msg.p_size = byte() % (DCM_PDATA + 1);
	}
	*ret_msg = msg;
}

static void datagram(const uint8_t *buf, size_t len, uint32_t src_qpn)
{
	/* Exactly as large, so that reading past the end is noticed. */
	uint8_t *copy = malloc(len ? len : 1);
	struct dcm_source src = {.qpn = src_qpn};

	REQUIRE(copy);
	memcpy(copy, buf, len);
	w.sent = 0;
	src.lid = w.src_lid;
	dcm_engine_datagram(&w.eng, copy, len, &src, w.now_us);
	/* No one can make it send much for little. */
	REQUIRE(w.sent <= 2);
	free(copy);
}

static void datagram_of(const struct dcm_msg *msg)
{
	uint64_t malformed = w.eng.stats.malformed;
	uint8_t bytes[DCM_MSG];
	struct dcm_ib from;

	datagram(bytes, dcm_msg_encode(msg, bytes), msg->sqpn);
	dcm_block_get_ib(&msg->saddr, &from);
	/* Whoever says that he is another is not heard. */
	REQUIRE(!w.src_lid || w.src_lid == from.lid ||
		(!w.sent && w.eng.stats.malformed == malformed + 1));
}

static void raw_datagram(void)
{
	uint32_t src_qpn = word();
	size_t len = byte();

	if (len > w.left)
		len = w.left;
	datagram(w.script, len, src_qpn);
	w.script += len;
	w.left -= len;
}

static void stream_request(const struct dcm_msg *msg)
{
	struct dcm_msg req = *msg;
	struct conn *conn;

	if (!w.listening || !dcm_engine_room(&w.eng, &w.listener))
		return;
	conn = conn_new();
	if (!conn)
		return;
	req.op = DCM_REQ;
	conn->fake.open = true;
	if (!dcm_engine_stream_request(&w.eng, &w.listener, &conn->fake.dcm,
				       &req, w.now_us))
		return;
	conn_free(conn);
}

static void stream_input(struct conn *conn, const struct dcm_msg *msg)
{
	enum dcm_input in = dcm_input_of(msg->op);

	if (!conn->fake.open)
		return;
	if (in == DCM_IN_N || (conn->dialing && msg->op == DCM_REQ)) {
		conn->fake.open = conn->dialing = false;
		/* The transport's own: closed before it is told. */
		in = DCM_IN_LOST;
	} else if (conn->dialing) {
		conn->dialing = false;
		in = DCM_IN_DIALED;
	} else if (in == DCM_IN_DREP) {
		in = DCM_IN_DREQ;
	}
	dcm_engine_input(&conn->fake.dcm, in,
			 in == DCM_IN_DREQ || in == DCM_IN_RTU ? NULL : msg,
			 w.now_us);
}

static void do_message(void)
{
	struct conn *conn = byte() & 1 ? pick() : NULL;
	struct dcm_msg msg;

	forge(conn ? &conn->fake.dcm : NULL, &msg);
	if (!w.rules.stream)
		datagram_of(&msg);
	else if (conn)
		stream_input(conn, &msg);
	else
		stream_request(&msg);
}

static void do_flood(void)
{
	unsigned i, n = byte() % 64u;
	struct dcm_msg msg;

	forge(NULL, &msg);
	msg.op = DCM_REQ;
	for (i = 0; i < n; i++) {
		msg.s_id++;
		msg.sport = msg.s_id & 0xffff;
		if (w.rules.stream)
			stream_request(&msg);
		else
			datagram_of(&msg);
	}
}

/* ---------------------------------------------------------------- run */

static void one_conn_step(uint8_t what, struct fake_conn *conn)
{
	switch (what) {
	case 0:
		do_accept(conn);
		break;
	case 1:
		do_reject(conn);
		break;
	case 2:
		do_disconnect(conn);
		break;
	case 3:
		do_release(conn);
		break;
	case 4:
		do_moved(conn);
		break;
	default:
		do_timer(conn);
		break;
	}
}

static void step(void)
{
	uint8_t what = byte() % 16;
	struct conn *conn;

	if (what < 6) {
		conn = pick();
		if (conn)
			one_conn_step(what, &conn->fake);
	} else if (what < 8) {
		do_connect();
	} else if (what < 12) {
		do_message();
	} else if (what == 12) {
		if (!w.rules.stream)
			raw_datagram();
	} else if (what == 13) {
		do_flood();
	} else if (what == 14) {
		do_listen();
	} else {
		what = byte();
		w.qp_fails = what & 1;
		w.no_memory = what & 2;
		w.dial_fails = what & 4;
		w.now_us += 1ull << (what >> 3);
		w.src_lid = byte() & 3;
	}
	REQUIRE(w.eng.conns.n <= IDS);
	REQUIRE(w.eng.passive.n <= w.eng.conns.n);
	REQUIRE(w.eng.up.n <= w.eng.conns.n);
	REQUIRE(w.eng.timewait_n <= w.live);
	REQUIRE(!w.listening || w.listener.waiting_n <= WAITING);
	REQUIRE(w.eng.waiting_n == (w.listening ? w.listener.waiting_n : 0));
}

static void begin(void)
{
	const uint8_t options = byte();

	w.rules = (struct dcm_rules){
		.stream = options & 1,
		.rep_wait_us = options & 2 ? 800000 : 0,
		.rtu_wait_us = options & 2 ? 800000 : 0,
		.drep_wait_us = options & 4 ? 200000 : 0,
		.rep_patience_us = 409600000,
		.rtu_patience_us = 409600000,
		.dreq_repeats = options >> 3 & 3,
		.timewait_us = 60000000,
	};
	dcm_engine_init(&w.eng, &ops, &w.rules, options);
	w.eng.conns_max = IDS;
	w.eng.listener_max = WAITING;
	w.eng.self.qpn = OWN_QPN;
	w.eng.self.qp_type = DCM_QP_RC;
	w.checks.hostile = true;
	w.now_us = 1000000;
	dapl_list_init(&w.conns);
	do_listen();
}

/* All consumers leave, nobody answers any more: everything comes to its end. */
static void end(void)
{
	struct conn *conn, *tmp;

	dapl_list_for_each_safe(conn, tmp, &w.conns, link)
		do_release(&conn->fake);
	for (int i = 0; w.live; i++) {
		REQUIRE(i < TIMERS_MAX);
		conn = dapl_list_first(&w.conns, struct conn, link);
		REQUIRE(conn->fake.armed);
		do_timer(&conn->fake);
	}
	REQUIRE(!w.eng.conns.n && !w.eng.timewait_n);
	dcm_engine_fini(&w.eng);
	sim_checks_fini(&w.checks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(&w, 0, sizeof(w));
	w.script = data;
	w.left = size;
	begin();
	for (int i = 0; w.left && i < STEPS_MAX; i++)
		step();
	end();
	return 0;
}
