/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_pair.c - one pair of nodes, and every sequence of inputs that the layers
 * above and below may make, to a depth: with consumers that call the engine
 * itself, and with the table of endpoints above both ends (pair_ep.h).
 *
 * Inputs are what a consumer may call at that point (dapl_cm.h), what the
 * network may do with what is under way (deliver, deliver and keep, lose; cut a
 * stream), a timer that is due, and whether a queue pair can be moved. The good
 * case is cut into stations, and each is a start. After the last input both
 * consumers release, and the network delivers everything, or nothing any more:
 * then everything must come to its end. With endpoints their consumers first
 * wait until nothing happens any more, and must not be waiting then.
 * Every sequence is played from its beginning, so nothing has to be undone.
 */
#include <errno.h>
#include <string.h>

#include "test/sim/pair_ep.h"
#include "test/sim/sim.h"

#define CONNS_MAX    8 /* per sequence */
#define FLIGHT_MAX   24
#define MOVES_MAX    128
#define CHOICES_MAX  256
#define ATTEMPTS_MAX 2
#define EP_OP1	     PAIR_EP_OPS /* the passive endpoint's */

/* ------------------------------------------------------------ choices */

/* All combinations of choices, like an odometer (the last one turns first). */
static struct {
	unsigned value[CHOICES_MAX], last[CHOICES_MAX];
	int n, at;
	bool fixed; /* not now: the first of each */
} choices;

static unsigned choose(unsigned n)
{
	if (choices.fixed)
		return 0;
	if (choices.at == choices.n) {
		SIM_REQUIRE(choices.n < CHOICES_MAX, "too many choices");
		choices.value[choices.n] = 0;
		choices.last[choices.n++] = n - 1;
	}
	SIM_REQUIRE(choices.last[choices.at] == n - 1, "choices differ");
	return choices.value[choices.at++];
}

static bool next_choices(void)
{
	choices.at = 0;
	while (choices.n &&
	       choices.value[choices.n - 1] == choices.last[choices.n - 1])
		choices.n--;
	if (!choices.n)
		return false;
	choices.value[choices.n - 1]++;
	return true;
}

/* --------------------------------------------------------------- pair */

struct side {
	struct dcm_engine eng;
	struct dcm_listener listener;
};

struct pair_conn {
	struct fake_conn fake; /* must stay first */
	struct side *side;
	unsigned pipe; /* which one: an attempt may need a second */
	bool asked;    /* by its endpoint: to be released */
};

/* Something under way. Streams: of PIPE, and in order. */
struct flight {
	unsigned to;
	bool is_msg;
	bool dialed; /* else, if it is no message: the end of the stream */
	unsigned pipe;
	uint64_t sent_us;
	struct dcm_msg msg;
};

static struct {
	bool stream;
	bool table;
	bool silent; /* the network swallows all from here on */
	struct dcm_rules rules;
	struct sim_checks checks;
	uint64_t now_us;
	unsigned pipes;
	bool half_open; /* the newest pipe has no passive side yet */
	struct side side[2];
	struct pair_ep ep[2];
	struct pair_conn conn[CONNS_MAX];
	int conns;
	struct flight flight[FLIGHT_MAX];
	int flights;
} pair;

static struct pair_conn *conn_of(struct dcm_conn *dcm)
{
	return (struct pair_conn *)dcm;
}

static unsigned index_of(const struct side *side)
{
	return (unsigned)(side - pair.side);
}

static struct pair_conn *conn_new(struct side *side)
{
	struct pair_conn *conn = &pair.conn[pair.conns++];

	SIM_REQUIRE(pair.conns <= CONNS_MAX, "one request, many connections");
	memset(conn, 0, sizeof(*conn));
	fake_conn_init(&conn->fake, &side->eng, &pair.checks);
	conn->side = side;
	return conn;
}

static void take_off(const struct flight *f)
{
	if (pair.silent)
		return;
	SIM_REQUIRE(pair.flights < FLIGHT_MAX, "a storm of messages");
	pair.flight[pair.flights] = *f;
	pair.flight[pair.flights++].sent_us = pair.now_us;
}

static void land(int i)
{
	memmove(&pair.flight[i], &pair.flight[i + 1],
		(size_t)(--pair.flights - i) * sizeof(pair.flight[0]));
}

/* -------------------------------------------------- the engine's table */

static int on_dial(struct dcm_conn *dcm)
{
	struct pair_conn *conn = conn_of(dcm);
	struct flight f = {.to = 0, .dialed = true};

	if (choose(2))
		return -ENETUNREACH;
	fake_dial(dcm);
	conn->pipe = ++pair.pipes;
	pair.half_open = true;
	f.pipe = conn->pipe;
	take_off(&f);
	return 0;
}

static void on_send(struct dcm_engine *eng, struct dcm_conn *dcm,
		    const struct dcm_peer *to, const struct dcm_msg *msg,
		    bool filler)
{
	struct side *side = dapl_container_of(eng, struct side, eng);
	struct flight f = {.to = !index_of(side), .is_msg = true, .msg = *msg};

	if (pair.stream) {
		if (!dcm || !conn_of(dcm)->fake.open)
			return;
		f.pipe = conn_of(dcm)->pipe;
	}
	take_off(&f);
}

static void on_hangup(struct dcm_conn *dcm)
{
	struct pair_conn *conn = conn_of(dcm);
	struct flight f = {.to = !index_of(conn->side), .pipe = conn->pipe};

	if (!conn->fake.open)
		return;
	fake_hangup(dcm);
	take_off(&f);
}

static struct dcm_conn *on_conn_new(struct dcm_engine *eng)
{
	return &conn_new(dapl_container_of(eng, struct side, eng))->fake.dcm;
}

static struct pair_ep *ep_of(const struct pair_conn *conn)
{
	return &pair.ep[index_of(conn->side)];
}

static void on_event(struct dcm_conn *dcm, enum dapl_cm_event event,
		     const void *pdata, size_t size)
{
	fake_event(dcm, event, pdata, size);
	if (pair.table)
		pair_ep_event(ep_of(conn_of(dcm)), fake_conn_of(dcm), event);
}

static int on_qp_connect(struct dcm_conn *dcm)
{
	if (pair.table &&
	    !pair_ep_move_begins(ep_of(conn_of(dcm)), fake_conn_of(dcm)))
		return -ENOTCONN;
	return fake_qp_connect(dcm);
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
	.request = fake_request,
	.request_gone = fake_request_gone,
	.event = on_event,
	.room = fake_room,
	.freed = fake_freed,
};

/* --------------------------------------------------- what may happen */

enum move_type {
	MOVE_CONNECT,
	MOVE_ACCEPT,
	MOVE_REJECT,
	MOVE_DISCONNECT,
	MOVE_RELEASE,
	MOVE_TIMER,
	MOVE_DELIVER,
	MOVE_DOUBLE, /* deliver, and keep for later */
	MOVE_LOSE,
	MOVE_CUT, /* a stream */
	MOVE_QP_READY,
	MOVE_QP_FAILED,
	MOVE_QP_SILENT,
	/* Of an endpoint. */
	MOVE_EP_CONNECT,
	MOVE_EP_ACCEPT, /* of the passive one, with a request */
	MOVE_EP_DISCONNECT,
	MOVE_EP_ABORT,
	MOVE_EP_RESET,
	MOVE_EP_FREE,
	MOVE_EP_MODIFY,
	MOVE_EP_MODIFIED,
	MOVE_EP_TIMER,
	MOVE_EP_WORK,
	MOVE_EP_OP, /* returns; of: the end, times PAIR_EP_OPS, and which */
	MOVE_N
};

struct move {
	enum move_type type;
	int of; /* a connection, or what is under way; an end */
};

static const char *const move_names[MOVE_N] = {
	"connect",	 "accept",   "reject",	 "disconnect",	  "release",
	"timer",	 "deliver",  "double",	 "lose",	  "cut",
	"ready",	 "failed",   "silent",	 "ep connect",	  "ep accept",
	"ep disconnect", "ep abort", "ep reset", "ep free",	  "ep modify",
	"ep modified",	 "ep timer", "ep work",	 "ep op returns",
};

static void connect_now(struct fake_conn *conn)
{
	struct dcm_ib ib = fake_qp_new(conn, SIM_QP_ACTIVE);
	struct dcm_msg *own = &conn->dcm.own;

	conn->began = true;
	dcm_block_set_ib(&own->saddr, &ib);
	conn->dcm.peer.qpn = pair.side[1].eng.self.qpn;
	conn->dcm.peer.lid = pair.side[1].eng.self.lid;
	own->p_size = (uint16_t)sim_pdata(DCM_REQ, ib.qpn, own->pdata);
	dcm_engine_connect(conn->dcm.eng, &conn->dcm, SIM_PORT, pair.now_us);
}

static void accept_now(struct fake_conn *conn)
{
	struct dcm_answer answer = fake_answer(conn);

	answer.p_size =
		(uint16_t)sim_pdata(DCM_REP, answer.ib.qpn, answer.pdata);
	dcm_engine_accept(&conn->dcm, &answer, pair.now_us);
}

static void reject_now(struct fake_conn *conn)
{
	uint8_t pdata[DCM_PDATA];
	size_t size = sim_pdata(DCM_REJ_USER, conn->check.peer_qpn, pdata);

	fake_reject(conn, pdata, size, pair.now_us);
}

static void on_op(struct fake_conn *conn, enum dapl_ep_input in)
{
	if (in == DAPL_EP_IN_CONNECT)
		connect_now(conn);
	else if (in == DAPL_EP_IN_ACCEPT)
		accept_now(conn);
	else
		fake_disconnect(conn, pair.now_us);
}

/* Not at once: the engine may be the one who calls. */
static void on_release(struct fake_conn *conn)
{
	struct pair_conn *pc = conn_of(&conn->dcm);

	SIM_REQUIRE(!pc->asked, "asked to be released twice");
	pc->asked = true;
}

static bool on_is_busy(void)
{
	return choose(2);
}

static const struct pair_ep_ops ep_ops = {
	.op = on_op,
	.release = on_release,
	.is_busy = on_is_busy,
};

static struct pair_conn *end_of(const struct flight *f)
{
	int i;

	for (i = 0; i < pair.conns; i++) {
		struct pair_conn *conn = &pair.conn[i];

		if (index_of(conn->side) == f->to && conn->fake.open &&
		    conn->pipe == f->pipe)
			return conn;
	}
	return NULL;
}

/* The first message of a pipe makes its passive side. */
static void stream_request(const struct flight *f)
{
	struct pair_conn *conn = conn_new(&pair.side[1]);

	pair.half_open = false;
	conn->fake.open = true;
	conn->pipe = f->pipe;
	if (!dcm_engine_stream_request(&pair.side[1].eng,
				       &pair.side[1].listener, &conn->fake.dcm,
				       &f->msg, pair.now_us))
		return;
	conn->fake.check.released = true;
	on_hangup(&conn->fake.dcm);
	fake_freed(&conn->fake.dcm);
}

static enum dcm_input stream_input(const struct flight *f)
{
	if (!f->is_msg)
		return f->dialed ? DCM_IN_DIALED : DCM_IN_LOST;
	/* The four bytes that say goodbye and answer that are the same. */
	return f->msg.op == DCM_DREP ? DCM_IN_DREQ : dcm_input_of(f->msg.op);
}

static void deliver_stream(const struct flight *f)
{
	struct pair_conn *conn = end_of(f);
	enum dcm_input in = stream_input(f);
	bool words = in == DCM_IN_RTU || in == DCM_IN_DREQ;

	if (conn)
		dcm_engine_input(&conn->fake.dcm, in,
				 f->is_msg && !words ? &f->msg : NULL,
				 pair.now_us);
	else if (f->to == 1 && f->is_msg && f->msg.op == DCM_REQ &&
		 f->pipe == pair.pipes && pair.half_open)
		stream_request(f);
}

static void deliver(const struct flight *f)
{
	struct side *side = &pair.side[f->to];
	const struct dcm_ib *from = &pair.side[!f->to].eng.self;
	const struct dcm_source src = {.qpn = from->qpn, .lid = from->lid};
	uint8_t bytes[DCM_MSG];
	size_t len;

	if (pair.stream) {
		deliver_stream(f);
		return;
	}
	if (pair.now_us - f->sent_us >= DCM_LIFETIME_US)
		return;
	len = dcm_msg_encode(&f->msg, bytes);
	dcm_engine_datagram(&side->eng, bytes, len, &src, pair.now_us);
}

/* The stream of CONN breaks: nothing more arrives but that. */
static void cut(struct pair_conn *conn)
{
	int i;

	for (i = 0; i < pair.flights;)
		if (pair.flight[i].pipe == conn->pipe)
			land(i);
		else
			i++;
	take_off(&(struct flight){.to = 0, .pipe = conn->pipe});
	take_off(&(struct flight){.to = 1, .pipe = conn->pipe});
}

static void release(struct pair_conn *conn)
{
	if (pair.table)
		pair_ep_check_release(ep_of(conn), &conn->fake);
	conn->asked = false;
	fake_release(&conn->fake, pair.now_us);
}

/* A queue pair that is the connection's no more gets nowhere. */
static void moved(struct pair_conn *conn, enum dcm_input in)
{
	struct pair_ep *ep = ep_of(conn);

	if (pair.table && ep->conn != &conn->fake)
		in = DCM_IN_QP_FAILED;
	fake_moved(&conn->fake, in, pair.now_us);
	if (pair.table)
		pair_ep_move_ends(ep, &conn->fake);
}

static void make_ep(const struct move *m)
{
	struct pair_ep *ep =
		&pair.ep[m->type == MOVE_EP_ACCEPT ? 1
			 : m->type == MOVE_EP_OP   ? m->of / PAIR_EP_OPS
						   : m->of];

	switch (m->type) {
	case MOVE_EP_CONNECT:
		pair_ep_call(ep, DAPL_EP_IN_CONNECT,
			     &conn_new(&pair.side[0])->fake);
		break;
	case MOVE_EP_ACCEPT:
		pair_ep_call(ep, DAPL_EP_IN_ACCEPT, &pair.conn[m->of].fake);
		break;
	case MOVE_EP_DISCONNECT:
		pair_ep_call(ep, DAPL_EP_IN_DISCONNECT, NULL);
		break;
	case MOVE_EP_ABORT:
		pair_ep_call(ep, DAPL_EP_IN_ABORT, NULL);
		break;
	case MOVE_EP_RESET:
		pair_ep_call(ep, DAPL_EP_IN_RESET, NULL);
		break;
	case MOVE_EP_FREE:
		pair_ep_call(ep, DAPL_EP_IN_CLOSE, NULL);
		break;
	case MOVE_EP_MODIFY:
	case MOVE_EP_MODIFIED:
		ep->modifying = m->type == MOVE_EP_MODIFY;
		pair_ep_call(ep,
			     ep->modifying ? DAPL_EP_IN_MODIFY
					   : DAPL_EP_IN_MODIFIED,
			     NULL);
		break;
	case MOVE_EP_TIMER:
		pair_ep_timer(ep);
		break;
	case MOVE_EP_WORK:
		pair_ep_work(ep);
		break;
	default:
		pair_ep_op_returns(ep, m->of % PAIR_EP_OPS);
		break;
	}
}

static void make(const struct move *m)
{
	struct pair_conn *pc;
	struct fake_conn *conn;
	struct flight f;

	sim_story_add(move_names[m->type], m->of);
	/* Time passes: nothing happens at once. */
	pair.now_us += 10;
	if (m->type >= MOVE_EP_CONNECT) {
		make_ep(m);
		return;
	}
	pc = &pair.conn[m->of < CONNS_MAX ? m->of : 0];
	conn = &pc->fake;
	switch (m->type) {
	case MOVE_CONNECT:
		connect_now(conn);
		break;
	case MOVE_ACCEPT:
		accept_now(conn);
		break;
	case MOVE_REJECT:
		reject_now(conn);
		break;
	case MOVE_DISCONNECT:
		fake_disconnect(conn, pair.now_us);
		break;
	case MOVE_RELEASE:
		release(pc);
		break;
	case MOVE_TIMER:
		fake_timer(conn, &pair.now_us);
		break;
	case MOVE_DELIVER:
	case MOVE_DOUBLE:
		f = pair.flight[m->of];
		if (m->type == MOVE_DELIVER)
			land(m->of);
		deliver(&f);
		break;
	case MOVE_LOSE:
		land(m->of);
		break;
	case MOVE_CUT:
		cut(pc);
		break;
	case MOVE_QP_READY:
		moved(pc, DCM_IN_QP_READY);
		break;
	case MOVE_QP_FAILED:
		moved(pc, DCM_IN_QP_FAILED);
		break;
	case MOVE_QP_SILENT:
		moved(pc, DCM_IN_QP_SILENT);
		break;
	default:
		break;
	}
}

static int add_move(struct move *moves, int n, enum move_type type, int of)
{
	SIM_REQUIRE(n < MOVES_MAX, "too many moves");
	moves[n] = (struct move){.type = type, .of = of};
	return n + 1;
}

/* What the consumer of connection I may call. */
static int consumer_moves(struct move *moves, int n, int i)
{
	const struct fake_conn *conn = &pair.conn[i].fake;
	const struct sim_check *c = &conn->check;

	if (!conn->began)
		n = add_move(moves, n, MOVE_CONNECT, i);
	/* Also one that crosses the end, or what withdraws it. */
	if (c->passive && !conn->answered) {
		n = add_move(moves, n, MOVE_ACCEPT, i);
		n = add_move(moves, n, MOVE_REJECT, i);
	}
	if (c->established && !conn->disconnected)
		n = add_move(moves, n, MOVE_DISCONNECT, i);
	/* Of a move: the whole instance is being stopped. */
	return add_move(moves, n, MOVE_RELEASE, i);
}

/* The same where it has endpoints; and what these have asked for. */
static int request_moves(struct move *moves, int n, int i)
{
	const struct fake_conn *conn = &pair.conn[i].fake;

	if (conn->check.passive && !conn->answered) {
		if (pair_ep_would(&pair.ep[1], DAPL_EP_IN_ACCEPT))
			n = add_move(moves, n, MOVE_EP_ACCEPT, i);
		n = add_move(moves, n, MOVE_REJECT, i);
		n = add_move(moves, n, MOVE_RELEASE, i);
	}
	if (pair.conn[i].asked)
		n = add_move(moves, n, MOVE_RELEASE, i);
	return n;
}

static int ep_moves(struct move *moves, int n, int end)
{
	static const struct {
		enum move_type type;
		enum dapl_ep_input in;
	} calls[] = {{MOVE_EP_DISCONNECT, DAPL_EP_IN_DISCONNECT},
		     {MOVE_EP_ABORT, DAPL_EP_IN_ABORT},
		     {MOVE_EP_RESET, DAPL_EP_IN_RESET},
		     {MOVE_EP_MODIFY, DAPL_EP_IN_MODIFY}};
	const struct pair_ep *ep = &pair.ep[end];
	size_t call;
	int i;

	if (!end && ep->attempts < ATTEMPTS_MAX &&
	    pair_ep_would(ep, DAPL_EP_IN_CONNECT))
		n = add_move(moves, n, MOVE_EP_CONNECT, end);
	for (call = 0; call < sizeof(calls) / sizeof(calls[0]); call++)
		if (pair_ep_would(ep, calls[call].in))
			n = add_move(moves, n, calls[call].type, end);
	if (pair_ep_may_free(ep))
		n = add_move(moves, n, MOVE_EP_FREE, end);
	if (ep->modifying)
		n = add_move(moves, n, MOVE_EP_MODIFIED, end);
	if (ep->armed)
		n = add_move(moves, n, MOVE_EP_TIMER, end);
	if (ep->work)
		n = add_move(moves, n, MOVE_EP_WORK, end);
	for (i = 0; i < PAIR_EP_OPS; i++)
		if (ep->op[i].conn)
			n = add_move(moves, n, MOVE_EP_OP,
				     end * PAIR_EP_OPS + i);
	return n;
}

/* What may happen to connection I, with its timer. */
static int conn_moves(struct move *moves, int n, int i)
{
	const struct fake_conn *conn = &pair.conn[i].fake;
	const struct sim_check *c = &conn->check;

	if (c->forgotten)
		return n;
	if (!c->released)
		n = pair.table ? request_moves(moves, n, i)
			       : consumer_moves(moves, n, i);
	if (c->moving) {
		n = add_move(moves, n, MOVE_QP_READY, i);
		n = add_move(moves, n, MOVE_QP_FAILED, i);
		n = add_move(moves, n, MOVE_QP_SILENT, i);
	}
	if (conn->armed)
		n = add_move(moves, n, MOVE_TIMER, i);
	if (pair.stream && conn->open)
		n = add_move(moves, n, MOVE_CUT, i);
	return n;
}

static bool first_of_pipe(int i)
{
	int j;

	for (j = 0; j < i; j++)
		if (pair.flight[j].to == pair.flight[i].to &&
		    pair.flight[j].pipe == pair.flight[i].pipe)
			return false;
	return true;
}

static int all_moves(struct move *moves)
{
	int i, n = 0;

	for (i = 0; i < pair.conns; i++)
		n = conn_moves(moves, n, i);
	for (i = 0; i < 2 && pair.table; i++)
		n = ep_moves(moves, n, i);
	for (i = 0; i < pair.flights; i++) {
		if (pair.stream) {
			if (first_of_pipe(i))
				n = add_move(moves, n, MOVE_DELIVER, i);
			continue;
		}
		n = add_move(moves, n, MOVE_DELIVER, i);
		n = add_move(moves, n, MOVE_DOUBLE, i);
		n = add_move(moves, n, MOVE_LOSE, i);
	}
	return n;
}

/* ---------------------------------------------------------- sequences */

static void pair_begin(bool stream, bool table)
{
	struct sim_options opt;
	int i;

	sim_defaults(&opt);
	opt.stream = stream;
	sim_checks_fini(&pair.checks);
	memset(&pair, 0, sizeof(pair));
	pair.stream = stream;
	pair.table = table;
	pair.checks.cut = stream;
	pair.now_us = SIM_S;
	sim_rules(&opt, &pair.rules);
	for (i = 0; i < 2; i++) {
		struct dcm_engine *eng = &pair.side[i].eng;

		dcm_engine_init(eng, &ops, &pair.rules, 1);
		eng->self.qpn = SIM_QPN(i);
		eng->self.lid = (uint16_t)(i + 1);
		eng->self.qp_type = DCM_QP_RC;
		pair_ep_init(&pair.ep[i], &ep_ops);
	}
	dcm_engine_listen(&pair.side[1].eng, &pair.side[1].listener,
			  stream ? 0 : SIM_PORT);
	if (!table)
		conn_new(&pair.side[0]);
	sim_story_begin();
}

/* Goes through the good case as far as STATION. */
static void go_to(int station)
{
	static const struct move datagram[] = {
		{MOVE_CONNECT, 0},  {MOVE_DELIVER, 0},	  {MOVE_ACCEPT, 1},
		{MOVE_QP_READY, 1}, {MOVE_DELIVER, 0},	  {MOVE_QP_READY, 0},
		{MOVE_DELIVER, 0},  {MOVE_DISCONNECT, 0}, {MOVE_DELIVER, 0},
		{MOVE_DELIVER, 0},
	};
	static const struct move stream[] = {
		{MOVE_CONNECT, 0},  {MOVE_DELIVER, 0},	{MOVE_DELIVER, 0},
		{MOVE_ACCEPT, 1},   {MOVE_QP_READY, 1}, {MOVE_DELIVER, 0},
		{MOVE_QP_READY, 0}, {MOVE_DELIVER, 0},	{MOVE_DISCONNECT, 1},
		{MOVE_DELIVER, 0},
	};
	/* The same with endpoints, whose ops return late. */
	static const struct move datagram_eps[] = {
		{MOVE_EP_CONNECT, 0}, {MOVE_DELIVER, 0},
		{MOVE_EP_ACCEPT, 1},  {MOVE_QP_READY, 1},
		{MOVE_DELIVER, 0},    {MOVE_QP_READY, 0},
		{MOVE_EP_OP, 0},      {MOVE_DELIVER, 0},
		{MOVE_EP_OP, EP_OP1}, {MOVE_EP_DISCONNECT, 0},
		{MOVE_DELIVER, 0},    {MOVE_DELIVER, 0},
		{MOVE_EP_OP, 0},      {MOVE_RELEASE, 0},
	};
	static const struct move stream_eps[] = {
		{MOVE_EP_CONNECT, 0},	 {MOVE_DELIVER, 0},
		{MOVE_DELIVER, 0},	 {MOVE_EP_ACCEPT, 1},
		{MOVE_QP_READY, 1},	 {MOVE_DELIVER, 0},
		{MOVE_QP_READY, 0},	 {MOVE_EP_OP, 0},
		{MOVE_DELIVER, 0},	 {MOVE_EP_OP, EP_OP1},
		{MOVE_EP_DISCONNECT, 1}, {MOVE_DELIVER, 0},
		{MOVE_EP_OP, EP_OP1},	 {MOVE_RELEASE, 0},
	};
	const struct move *good =
		pair.table    ? pair.stream ? stream_eps : datagram_eps
		: pair.stream ? stream
			      : datagram;
	int i;

	choices.fixed = true;
	for (i = 0; i < station; i++)
		make(&good[i]);
	choices.fixed = false;
}

#define STATIONS     11
#define STATIONS_EPS 15

static void all_release(void)
{
	int i;

	for (i = 0; i < pair.conns; i++)
		if (!pair.conn[i].fake.check.released &&
		    (!pair.table || pair.conn[i].asked))
			make(&(struct move){.type = MOVE_RELEASE, .of = i});
}

/* Endpoints do what they have to do yet, and call nobody. */
static void eps_go_on(void)
{
	struct move moves[MOVES_MAX];
	int i, n, end;

	for (end = 0; end < 2 && pair.table; end++) {
		n = ep_moves(moves, 0, end);
		for (i = 0; i < n; i++)
			if (moves[i].type == MOVE_EP_OP ||
			    moves[i].type == MOVE_EP_WORK ||
			    moves[i].type == MOVE_EP_MODIFIED)
				make(&moves[i]);
	}
}

static bool next_timer(void)
{
	struct move m = {.type = MOVE_TIMER, .of = -1};
	int i;

	for (i = 0; i < pair.conns; i++)
		if (pair.conn[i].fake.armed &&
		    (m.of < 0 || pair.conn[i].fake.deadline_us <
					 pair.conn[m.of].fake.deadline_us))
			m.of = i;
	if (m.of >= 0)
		make(&m);
	return m.of >= 0;
}

/* Of a connection that was released when it had begun. */
static bool next_move(void)
{
	int i;

	for (i = 0; i < pair.conns; i++) {
		if (!pair.conn[i].fake.check.moving)
			continue;
		make(&(struct move){MOVE_QP_READY, i});
		return true;
	}
	return false;
}

/* A consumer's patience is at its end. */
static bool next_deadline(void)
{
	int end;

	for (end = 0; end < 2; end++)
		if (pair.ep[end].armed) {
			make(&(struct move){MOVE_EP_TIMER, end});
			return true;
		}
	return false;
}

static void rest(void)
{
	int steps = 0;

	do {
		SIM_REQUIRE(++steps < 2000, "does not come to rest");
		eps_go_on();
		all_release();
		while (pair.flights)
			make(&(struct move){.type = MOVE_DELIVER});
		eps_go_on();
		all_release();
	} while (pair.flights || next_move() || next_timer() ||
		 next_deadline());
}

/* The consumers wait for all that is due to them; then they end it. */
static void eps_end(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		pair_ep_check_rest(&pair.ep[i]);
		if (!pair.ep[i].check.closed)
			make(&(struct move){MOVE_EP_FREE, i});
	}
	for (i = 0; i < pair.conns; i++)
		if (!pair.conn[i].fake.check.released)
			pair.conn[i].asked = true;
	rest();
}

static void come_to_rest(void)
{
	int i;

	pair.silent = choose(2);
	if (pair.silent && pair.stream) {
		/* Not for ever: a dead host's streams end, too. */
		pair.silent = false;
		for (i = 0; i < pair.conns; i++)
			if (pair.conn[i].fake.open)
				make(&(struct move){MOVE_CUT, i});
	}
	if (pair.silent)
		pair.flights = 0;
	rest();
	if (pair.table)
		eps_end();
	for (i = 0; i < pair.conns; i++)
		SIM_REQUIRE(pair.conn[i].fake.check.forgotten,
			    "connection %d is left, %s", i,
			    dcm_state_name(pair.conn[i].fake.dcm.proto.state));
	for (i = 0; i < 2; i++) {
		SIM_REQUIRE(!pair.side[i].eng.conns.n &&
				    !pair.side[i].eng.timewait_n &&
				    !pair.side[i].listener.waiting_n,
			    "node %d still knows of it", i);
		dcm_engine_fini(&pair.side[i].eng);
	}
}

static void play(bool stream, bool table, int station, int depth)
{
	struct move moves[MOVES_MAX];
	int n;

	pair_begin(stream, table);
	go_to(station);
	for (; depth; depth--) {
		n = all_moves(moves);
		if (!n)
			break;
		make(&moves[choose((unsigned)n)]);
	}
	come_to_rest();
}

uint64_t sim_pair_all(bool stream, bool table, int depth)
{
	uint64_t n = 0;
	int station;

	for (station = 0; station < (table ? STATIONS_EPS : STATIONS);
	     station++) {
		choices.n = choices.at = 0;
		do {
			play(stream, table, station, depth);
			n++;
		} while (next_choices());
	}
	sim_checks_fini(&pair.checks);
	return n;
}
