/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_net.c - the network: datagrams that are lost, doubled, late and out of
 * order; streams that are slow, but deliver everything in order and say when
 * they end.
 *
 * Every node has a receive queue with an end, and takes its time for each
 * message; what does not fit is dropped, as on a queue pair without a posted
 * receive. What a node has to send waits for credits, and is dropped when too
 * much does. Messages cross as bytes: the codec is part of what is tested.
 */
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim.h"

static bool reachable(const struct sim *sim, unsigned a, unsigned b)
{
	return sim->clock.now_us >= sim->heal_us ||
	       (a < sim->half) == (b < sim->half);
}

static uint64_t flight_us(struct sim *sim)
{
	const struct sim_options *o = &sim->opt;
	uint64_t us = o->delay_us + sim_below(&sim->rng, o->jitter_us + 1);

	if (o->spike_us && sim_chance(&sim->rng, 0.01))
		us += sim_below(&sim->rng, o->spike_us);
	return us;
}

/* --------------------------------------------------- datagrams */

struct packet {
	struct sim_node *to;
	struct dcm_source src;
	size_t len;
	uint8_t bytes[DCM_MSG];
};

/*
 * Old peers leave a DREQ without an answer while they wait for an RTU or a
 * REP (doc/cm-protocol.md).
 */
static bool old_peer_ignores(const struct sim_node *node,
			     const struct packet *p)
{
	struct dcm_map_node *found;
	struct dcm_conn *conn;
	struct dcm_msg msg;

	if (!node->old || dcm_msg_decode(p->bytes, p->len, &msg) ||
	    msg.op != DCM_DREQ)
		return false;
	found = dcm_map_find(&node->eng.conns, msg.d_id);
	if (!found)
		return true;
	conn = dapl_container_of(found, struct dcm_conn, by_id);
	return conn->proto.state == DCM_REP_SENT ||
	       conn->proto.state == DCM_REQ_SENT ||
	       conn->proto.state == DCM_REQ_RCVD;
}

static void packet_served(struct sim *sim, void *arg, uint64_t tag)
{
	struct packet *p = arg;
	struct sim_node *node = p->to;

	node->queued--;
	if (!node->dead && !old_peer_ignores(node, p)) {
		sim->stats.delivered++;
		dcm_engine_datagram(&node->eng, p->bytes, p->len, &p->src,
				    sim->clock.now_us);
	}
	free(p);
}

static void packet_arrived(struct sim *sim, void *arg, uint64_t tag)
{
	struct packet *p = arg;
	struct sim_node *node = p->to;

	if (node->dead || node->queued >= sim->opt.queue) {
		sim->stats.overrun += !node->dead;
		free(p);
		return;
	}
	node->queued++;
	if (node->queued > sim->stats.most_waiting)
		sim->stats.most_waiting = node->queued;
	if (node->busy_until_us < sim->clock.now_us)
		node->busy_until_us = sim->clock.now_us;
	node->busy_until_us += sim->opt.service_us;
	sim_at(sim, node->busy_until_us, packet_served, p, 0);
}

/* When a message of FROM leaves. False: there is no room for it to wait. */
static bool leave(struct sim_node *from, uint64_t *ret_at_us)
{
	const struct sim_options *o = &from->sim->opt;
	uint64_t now = from->sim->clock.now_us;

	if (from->sends_until_us < now)
		from->sends_until_us = now;
	if (from->sends_until_us - now > o->credits * o->send_us)
		return false;
	from->sends_until_us += o->send_us;
	*ret_at_us = from->sends_until_us;
	return true;
}

static void fly(struct sim *sim, const struct packet *p, uint64_t from_us)
{
	struct packet *copy = malloc(sizeof(*copy));

	if (!copy)
		sim_fail("no memory");
	*copy = *p;
	sim_at(sim, from_us + flight_us(sim), packet_arrived, copy, 0);
}

/* Some devices tell the GID, some a LID, which others have too. */
static struct dcm_source source_of(const struct dcm_ib *self)
{
	struct dcm_source src = {.qpn = self->qpn, .lid = self->lid};

	src.has_gid = !self->lid;
	memcpy(src.gid, self->gid, sizeof(src.gid));
	return src;
}

static bool is_at(const struct sim_node *node, const struct dcm_peer *to)
{
	const struct dcm_ib *self = &node->eng.self;

	return self->lid == to->lid &&
	       !memcmp(self->gid, to->gid, sizeof(to->gid));
}

/*
 * Somebody who knows all of MSG and has a queue pair of the same number, on
 * another host: he says that something is over that is not. Half of those that
 * have a LID do not hide where they are.
 */
static void forge(struct sim *sim, const struct packet *p,
		  const struct dcm_msg *msg)
{
	static const uint16_t ops[] = {DCM_DREQ, DCM_DREP, DCM_REJ_CM,
				       DCM_REJ_USER, DCM_RTU};
	struct dcm_msg lie = *msg;
	struct packet false_one = *p;
	struct dcm_ib ib;

	lie.op = ops[sim_below(&sim->rng, 5)];
	if (sim_chance(&sim->rng, 0.3))
		lie.d_id = 0;
	false_one.src.lid += p->src.lid ? 16 : 0;
	false_one.src.gid[0] ^= 1;
	if (p->src.lid && sim_chance(&sim->rng, 0.5)) {
		dcm_block_get_ib(&lie.saddr, &ib);
		ib.lid = false_one.src.lid;
		memcpy(ib.gid, false_one.src.gid, sizeof(ib.gid));
		dcm_block_set_ib(&lie.saddr, &ib);
	}
	false_one.len = dcm_msg_encode(&lie, false_one.bytes);
	fly(sim, &false_one, sim->clock.now_us);
}

void sim_net_datagram(struct sim_node *from, const struct dcm_peer *to,
		      const struct dcm_msg *msg)
{
	struct sim *sim = from->sim;
	unsigned index = to->qpn - SIM_QPN(0);
	struct packet p = {.src = source_of(&from->eng.self)};
	uint64_t at_us;

	sim->stats.sent++;
	if (msg->op < DCM_OP_N)
		sim->stats.op[msg->op]++;
	SIM_REQUIRE(msg->dqpn == to->qpn && msg->sqpn == p.src.qpn,
		    "a message names the queue pairs that it goes between");
	p.len = dcm_msg_encode(msg, p.bytes);
	if (!leave(from, &at_us)) {
		sim->stats.crowded++;
		return;
	}
	if (index >= sim->opt.nodes || !is_at(&sim->node[index], to) ||
	    !reachable(sim, from->index, index) ||
	    sim_chance(&sim->rng, sim->opt.loss)) {
		sim->stats.lost++;
		return;
	}
	p.to = &sim->node[index];
	fly(sim, &p, at_us);
	if (sim_chance(&sim->rng, sim->opt.dup))
		fly(sim, &p, at_us);
	if (sim_chance(&sim->rng, sim->opt.forged))
		forge(sim, &p, msg);
}

/* ----------------------------------------------------- streams */

struct side {
	struct sim_node *node;
	struct sim_conn *conn; /* NULL: none yet, or hung up */
	bool closed;
	uint64_t last_us; /* when the last thing for it arrives */
};

struct sim_stream {
	struct sim_stream *next;
	struct sim *sim;
	bool connected;
	bool saw_request;
	bool held; /* the passive side has no room for its request */
	struct thing *unread, **unread_end; /* since then */
	struct side side[2];		    /* 0 dialed */
	uint32_t port;
};

/* What arrives at one end: the stream itself, a message, or the end of it. */
enum thing_type {
	THING_DIALED,
	THING_MSG,
	THING_END
};

struct thing {
	struct thing *next; /* st->unread */
	enum thing_type type;
	struct sim_stream *stream;
	int end;
	bool filler;
	struct dcm_msg msg;
};

static void thing_arrived(struct sim *sim, void *arg, uint64_t tag);

static void lay(struct sim_stream *st, int end, enum thing_type type,
		const struct dcm_msg *msg, bool filler)
{
	struct sim *sim = st->sim;
	struct side *to = &st->side[end];
	struct thing *t = calloc(1, sizeof(*t));
	uint64_t at = sim->clock.now_us + flight_us(sim);

	if (!t)
		sim_fail("no memory");
	t->type = type;
	t->stream = st;
	t->end = end;
	t->filler = filler;
	if (msg)
		t->msg = *msg;
	/* What is lost in between is repeated below, until it arrives. */
	if (!reachable(sim, st->side[0].node->index, st->side[1].node->index))
		at = sim->heal_us + flight_us(sim);
	if (to->last_us < at)
		to->last_us = at;
	sim_at(sim, to->last_us, thing_arrived, t, 0);
}

/* The end that did this is closed for what was sent before, too. */
static void close_side(struct sim_stream *st, int end)
{
	struct side *s = &st->side[end];

	if (s->closed)
		return;
	s->closed = true;
	if (s->conn)
		s->conn->stream = NULL;
	s->conn = NULL;
	if (!s->node->silent)
		lay(st, !end, THING_END, NULL, false);
}

void sim_net_dial(struct sim_conn *conn)
{
	struct sim *sim = conn->node->sim;
	struct sim_stream *st = calloc(1, sizeof(*st));

	if (!st)
		sim_fail("no memory");
	SIM_REQUIRE(!conn->stream, "dialed with a stream at hand");
	st->sim = sim;
	st->unread_end = &st->unread;
	st->next = sim->streams;
	sim->streams = st;
	st->side[0].node = conn->node;
	st->side[0].conn = conn;
	st->side[1].node = &sim->node[conn->target];
	st->port = conn->port;
	conn->stream = st;
	conn->end = 0;
	lay(st, 1, THING_DIALED, NULL, false);
}

void sim_net_send(struct sim_conn *conn, const struct dcm_msg *msg, bool filler)
{
	struct sim *sim = conn->node->sim;
	uint8_t bytes[DCM_MSG];
	struct dcm_msg copy;

	sim->stats.sent++;
	if (msg->op < DCM_OP_N)
		sim->stats.op[msg->op]++;
	if (!conn->stream)
		return;
	if (dcm_msg_decode(bytes, dcm_msg_encode(msg, bytes), &copy))
		sim_fail("a message of our own does not decode");
	lay(conn->stream, !conn->end, THING_MSG, &copy, filler);
}

void sim_net_hangup(struct sim_conn *conn)
{
	if (conn->stream)
		close_side(conn->stream, conn->end);
}

static struct dcm_listener *listener_at(struct sim_node *node, uint32_t port)
{
	size_t i;

	for (i = 0; i < 2; i++)
		if (port == SIM_PORT + i)
			return &node->listener[i];
	return NULL;
}

/* False: not read, for want of room. */
static bool on_request(struct sim_stream *st, const struct thing *t)
{
	struct sim_node *node = st->side[1].node;
	struct sim_conn *conn;

	/* A peer of version 7 hangs up on what it cannot read. */
	if (st->saw_request || t->msg.op != DCM_REQ ||
	    (node->old && !t->filler)) {
		close_side(st, 1);
		return true;
	}
	if (!dcm_engine_room(&node->eng, listener_at(node, st->port))) {
		node->sim->stats.held++;
		return false;
	}
	st->saw_request = true;
	conn = sim_conn_new(node);
	conn->stream = st;
	conn->end = 1;
	st->side[1].conn = conn;
	conn->fake.check.passive = true;
	if (!dcm_engine_stream_request(&node->eng, listener_at(node, st->port),
				       &conn->fake.dcm, &t->msg,
				       node->sim->clock.now_us))
		return true;
	/* Refused: the engine never knew it. */
	node->sim->stats.refused++;
	close_side(st, 1);
	conn->fake.check.released = true;
	sim_engine_ops.freed(&conn->fake.dcm);
	return true;
}

static bool msg_arrived(struct sim_stream *st, const struct thing *t)
{
	struct sim_conn *conn = st->side[t->end].conn;

	if (!conn)
		return on_request(st, t);
	st->sim->stats.delivered++;
	switch (t->msg.op) {
	case DCM_RTU:
		sim_conn_input(conn, DCM_IN_RTU, NULL);
		break;
	case DCM_DREQ:
	case DCM_DREP: /* the same four bytes */
		sim_conn_input(conn, DCM_IN_DREQ, NULL);
		break;
	default:
		sim_conn_input(conn, dcm_input_of(t->msg.op), &t->msg);
	}
	return true;
}

static void dialed(struct sim_stream *st)
{
	struct sim_node *node = st->side[1].node;

	if (st->side[0].closed || node->silent)
		return;
	if (node->dead || !listener_at(node, st->port)) {
		st->side[1].closed = true;
		lay(st, 0, THING_END, NULL, false);
		return;
	}
	st->connected = true;
	lay(st, 0, THING_DIALED, NULL, false);
}

/* False: T was not read. */
static bool read_thing(struct sim_stream *st, const struct thing *t)
{
	struct side *s = &st->side[t->end];

	if (t->type == THING_DIALED && t->end == 1)
		dialed(st);
	else if (s->node->dead || s->closed)
		; /* nobody is there */
	else if (t->type == THING_MSG)
		return msg_arrived(st, t);
	else if (t->type == THING_DIALED)
		sim_conn_input(s->conn, DCM_IN_DIALED, NULL);
	else if (s->conn)
		sim_conn_input(s->conn, DCM_IN_LOST, NULL);
	else
		close_side(st, t->end);
	return true;
}

/* What comes to a passive side that does not read waits there, in order. */
static void keep_unread(struct sim_stream *st, struct thing *t)
{
	t->next = NULL;
	*st->unread_end = t;
	st->unread_end = &t->next;
}

static void read_on(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_stream *st = arg;
	struct thing *t;

	while ((t = st->unread) && read_thing(st, t)) {
		st->unread = t->next;
		if (!st->unread)
			st->unread_end = &st->unread;
		free(t);
	}
	st->held = st->unread;
}

static void thing_arrived(struct sim *sim, void *arg, uint64_t tag)
{
	struct thing *t = arg;
	struct sim_stream *st = t->stream;

	if (t->end == 1 && st->held)
		keep_unread(st, t);
	else if (read_thing(st, t))
		free(t);
	else {
		keep_unread(st, t);
		st->held = true;
	}
}

void sim_net_room(struct sim_node *node)
{
	struct sim *sim = node->sim;
	struct sim_stream *st;

	for (st = sim->streams; st; st = st->next)
		if (st->held && st->side[1].node == node)
			sim_at(sim, sim->clock.now_us, read_on, st, 0);
}

static void drop_unread(struct sim_stream *st)
{
	struct thing *t;

	while ((t = st->unread)) {
		st->unread = t->next;
		free(t);
	}
	st->unread_end = &st->unread;
	st->held = false;
}

void sim_net_crash(struct sim_node *node)
{
	struct sim_stream *st;

	for (st = node->sim->streams; st; st = st->next)
		if (st->held && st->side[1].node == node) {
			drop_unread(st);
			close_side(st, 1);
		}
}

void sim_net_fini(struct sim *sim)
{
	struct sim_stream *st;

	while ((st = sim->streams)) {
		SIM_REQUIRE(!st->held, "node %u does not read a stream",
			    st->side[1].node->index);
		sim->streams = st->next;
		free(st);
	}
}
