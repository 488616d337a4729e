/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_engine.c - carries out the protocol's effects, and finds the connection
 * or listener that a message is for.
 *
 * Decides nothing that dcm_proto.c could. Each call ends with the table's
 * effects done; a connection that was forgotten is not touched again.
 *
 * Datagrams are matched as old peers do it (doc/cm-protocol.md): a request by
 * its sender, everything else by our id, and if that leads nowhere by our
 * port, which is the id too on the active side. Ids are never believed: CM
 * queue pair and address of the sender must be the connection's.
 */
#include "dapl/common/cm/dcm/dcm_engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ports are compared as old peers fill them in. */
#define PORT_MASK 0xffff
#define ID_MASK	  0xffffff /* what a port field holds */

/* ----------------------------------------------------- connections */

static struct dcm_conn *by_id(const struct dcm_engine *eng, uint32_t id)
{
	struct dcm_map_node *node = id ? dcm_map_find(&eng->conns, id) : NULL;

	return node ? dapl_container_of(node, struct dcm_conn, by_id) : NULL;
}

static struct dcm_listener *by_port(const struct dcm_engine *eng, uint32_t port)
{
	struct dcm_map_node *node =
		dcm_map_find(&eng->listeners, port & PORT_MASK);

	return node ? dapl_container_of(node, struct dcm_listener, by_port)
		    : NULL;
}

/*
 * The next id, round robin, so that one that was just used is not used again
 * soon. Those of listeners are left out: on the active side the id is the port
 * that answers come to.
 */
static uint32_t free_id(struct dcm_engine *eng)
{
	uint32_t tries;

	if (eng->conns.n >= eng->conns_max)
		return 0;
	for (tries = 0; tries <= eng->conns_max; tries++) {
		eng->last_id = eng->last_id % eng->conns_max + 1;
		if (!by_id(eng, eng->last_id) && !by_port(eng, eng->last_id))
			return eng->last_id;
	}
	return 0;
}

/* Time-wait is a courtesy to peers that are late. */
static bool end_oldest(struct dcm_engine *eng, uint64_t now_us)
{
	struct dcm_conn *oldest;

	if (dapl_list_empty(&eng->timewait))
		return false;
	oldest = dapl_list_first(&eng->timewait, struct dcm_conn, queue);
	eng->ops->disarm(oldest);
	dcm_engine_input(oldest, DCM_IN_TIMER, NULL, now_us);
	return true;
}

/* Those in time-wait come after whoever wants to connect. 0: none is free. */
static uint32_t new_id(struct dcm_engine *eng, uint64_t now_us)
{
	uint32_t id;

	do
		id = free_id(eng);
	while (!id && end_oldest(eng, now_us));
	return id;
}

void dcm_conn_init(struct dcm_conn *conn, struct dcm_engine *eng)
{
	conn->eng = eng;
	dapl_list_init(&conn->queue);
}

/* Any spread will do. */
static uint32_t new_random(struct dcm_engine *eng)
{
	eng->random = eng->random * 1664525 + 1013904223;
	return eng->random;
}

/* Not at the first free place: who waits should find more than one. */
static bool has_drained(size_t n, size_t max)
{
	return n <= max - (max + 7) / 8;
}

static void made_room(struct dcm_engine *eng, struct dcm_listener *l)
{
	if (eng->held && has_drained(eng->waiting_n, eng->waiting_max)) {
		eng->held = false;
		eng->ops->room(eng, NULL);
	}
	if (l->held && has_drained(l->waiting_n, eng->listener_max)) {
		l->held = false;
		eng->ops->room(eng, l);
	}
}

/* Takes CONN from where it waits: for its consumer, or the end of its time. */
static void dequeue(struct dcm_conn *conn)
{
	struct dcm_engine *eng = conn->eng;
	struct dcm_listener *l = conn->listener;

	if (dapl_list_empty(&conn->queue))
		return;
	dapl_list_del(&conn->queue);
	conn->listener = NULL;
	if (!l) {
		eng->timewait_n--;
		return;
	}
	l->waiting_n--;
	eng->waiting_n--;
	made_room(eng, l);
}

/* No message leads to CONN any more, and its id is free. */
static void unmap(struct dcm_conn *conn)
{
	struct dcm_engine *eng = conn->eng;

	dcm_map_del(&eng->conns, &conn->by_id);
	dcm_map_del(&eng->passive, &conn->by_peer);
	dcm_map_del(&eng->up, &conn->by_qp);
}

static void set_leaving(struct dcm_conn *conn, bool leaving)
{
	struct dcm_engine *eng = conn->eng;

	if (conn->leaving == leaving)
		return;
	conn->leaving = leaving;
	eng->leaving_n += leaving ? 1 : -(size_t)1;
	if (!eng->leaving_n && eng->ops->left)
		eng->ops->left(eng);
}

static void forget(struct dcm_conn *conn)
{
	struct dcm_engine *eng = conn->eng;

	set_leaving(conn, false);
	dequeue(conn);
	unmap(conn);
	eng->ops->disarm(conn);
	eng->ops->freed(conn);
}

/* --------------------------------------------------------- effects */

/* From now on our messages are those of the consumer's endpoint. */
static void begin_to_answer(struct dcm_conn *conn)
{
	const struct dcm_answer *answer = &conn->then.answer;
	struct dcm_msg *own = &conn->own;

	if (conn->eng->rules->stream) {
		memset(own, 0, sizeof(*own));
		own->daddr = conn->local;
	}
	own->version = DCM_VERSION;
	dcm_block_set_ib(&own->saddr, &answer->ib);
	own->responder_resources = answer->responder_resources;
	own->mtu = answer->mtu;
	own->p_size = answer->p_size;
	memcpy(own->pdata, answer->pdata, answer->p_size);
}

static void send_msg(struct dcm_conn *conn, const struct dcm_effect *e)
{
	struct dcm_msg *own = &conn->own;

	own->op = e->send.op;
	own->rtns = e->send.rtns;
	conn->eng->ops->send(conn->eng, conn, &conn->peer, own, e->send.filler);
}

static void send_event(struct dcm_conn *conn, enum dapl_cm_event event,
		       const struct dcm_msg *msg)
{
	const void *pdata = NULL;
	size_t size = 0;

	if (event == DAPL_CM_PEER_REJECTED && msg) {
		pdata = msg->pdata;
		size = msg->p_size;
	} else if (event == DAPL_CM_ESTABLISHED && !conn->proto.passive) {
		pdata = conn->then.rep.pdata;
		size = conn->then.rep.p_size;
	}
	conn->eng->ops->event(conn, event, size ? pdata : NULL, size);
}

/* Never 0. Two peers of one key have an estimate in common, no more. */
static uint64_t rtt_key(const struct dcm_peer *peer)
{
	uint64_t half[2];

	memcpy(half, peer->gid, sizeof(half));
	return (half[0] * 31 + half[1] + ((uint64_t)peer->lid << 32) +
		peer->qpn) *
		       0x9e3779b97f4a7c15ull |
	       1;
}

static struct dcm_peer_rtt *rtt_slot(struct dcm_engine *eng, uint64_t key)
{
	return &eng->rtt[(key >> 32) % DCM_PEER_RTTS];
}

static struct dcm_rtt *rtt_in(struct dcm_peer_rtt *rtt, bool consumer)
{
	return consumer ? &rtt->consumer : &rtt->peer;
}

/* What CONN's peer takes or, if that is not known, peers in general. */
static const struct dcm_rtt *rtt_of(const struct dcm_conn *conn, bool consumer)
{
	struct dcm_engine *eng = conn->eng;
	uint64_t key = rtt_key(&conn->peer);
	struct dcm_peer_rtt *slot = eng->rtt ? rtt_slot(eng, key) : NULL;

	if (!slot || slot->key != key || !rtt_in(slot, consumer)->mean_us)
		slot = &eng->rtt_all;
	return rtt_in(slot, consumer);
}

/* Without memory nothing is learned. */
static void take_sample(struct dcm_conn *conn, bool consumer, uint64_t us,
			uint64_t now_us)
{
	struct dcm_engine *eng = conn->eng;
	uint64_t key = rtt_key(&conn->peer);
	struct dcm_peer_rtt *slot;

	if (!eng->rtt)
		eng->rtt = calloc(DCM_PEER_RTTS, sizeof(*eng->rtt));
	if (!eng->rtt)
		return;
	slot = rtt_slot(eng, key);
	if (slot->key != key)
		*slot = (struct dcm_peer_rtt){.key = key};
	/* A peer that is often slow has no more weight than others. */
	if (!rtt_in(slot, consumer)->mean_us)
		dcm_rtt_sample(rtt_in(&eng->rtt_all, consumer), us, now_us);
	dcm_rtt_sample(rtt_in(slot, consumer), us, now_us);
}

/* Carries out E; the input that follows from it, or DCM_IN_N. */
static enum dcm_input perform(struct dcm_conn *conn, const struct dcm_effect *e,
			      const struct dcm_msg *msg)
{
	struct dcm_engine *eng = conn->eng;

	switch (e->type) {
	case DCM_DO_DIAL:
		if (eng->ops->dial(conn))
			return DCM_IN_LOST;
		break;
	case DCM_DO_SEND:
		send_msg(conn, e);
		break;
	case DCM_DO_ARM:
		eng->ops->arm(conn, e->deadline_us);
		break;
	case DCM_DO_DISARM:
		eng->ops->disarm(conn);
		break;
	case DCM_DO_QP_CONNECT:
		if (eng->ops->qp_connect(conn))
			return DCM_IN_QP_FAILED;
		break;
	case DCM_DO_QP_ERROR:
		eng->ops->qp_error(conn);
		break;
	case DCM_DO_EVENT:
		send_event(conn, e->event, msg);
		break;
	case DCM_DO_GONE:
		eng->ops->request_gone(conn);
		break;
	case DCM_DO_HANGUP:
		eng->ops->hangup(conn);
		break;
	case DCM_DO_SAMPLE:
		take_sample(conn, e->sample.consumer, e->sample.us,
			    e->sample.now_us);
		break;
	case DCM_DO_FREE:
		forget(conn);
		break;
	}
	return DCM_IN_N;
}

/* A connection that is up with the queue pair that CONN's peer has; or NULL. */
static struct dcm_conn *by_qp(const struct dcm_conn *conn, uint64_t key)
{
	const struct dcm_ib *mine = &conn->remote.ib;
	struct dcm_map_node *node = dcm_map_find(&conn->eng->up, key);

	for (; node; node = dcm_map_next(node)) {
		struct dcm_conn *other =
			dapl_container_of(node, struct dcm_conn, by_qp);
		const struct dcm_ib *its = &other->remote.ib;

		if (mine->lid == its->lid &&
		    !memcmp(mine->gid, its->gid, sizeof(its->gid)))
			return other;
	}
	return NULL;
}

/*
 * A queue pair has one peer at a time: another connection to it ended without
 * a word that came here, perhaps with the process that it was of.
 */
static void came_up(struct dcm_conn *conn, uint64_t now_us)
{
	uint64_t key = (uint64_t)conn->own.dqpn << 32 | conn->remote.ib.qpn;
	struct dcm_conn *other;

	conn->up_us = now_us;
	while ((other = by_qp(conn, key)))
		dcm_engine_input(other, DCM_IN_LOST, NULL, now_us);
	dcm_map_add(&conn->eng->up, &conn->by_qp, key);
}

/* Keeps queues and tables true to the state. */
static void after_step(struct dcm_conn *conn, uint64_t now_us)
{
	struct dcm_engine *eng = conn->eng;
	enum dcm_state state = conn->proto.state;

	if (state != DCM_UP)
		dcm_map_del(&eng->up, &conn->by_qp);
	else if (!eng->rules->stream && !conn->by_qp.in)
		came_up(conn, now_us);
	if (state == DCM_CLOSED)
		unmap(conn);
	set_leaving(conn, state == DCM_DREQ_SENT &&
				  (conn->proto.passive || conn->proto.up));
	if (conn->listener ? state != DCM_REQ_RCVD : state != DCM_TIMEWAIT)
		dequeue(conn);
	if (state != DCM_TIMEWAIT || !dapl_list_empty(&conn->queue))
		return;
	dapl_list_add_tail(&eng->timewait, &conn->queue);
	eng->timewait_n++;
	if (eng->timewait_n > DCM_TIMEWAIT_MAX)
		end_oldest(eng, now_us);
}

/* What the peer says of its end, from REQ or REP. */
static void learn(struct dcm_conn *conn, const struct dcm_msg *msg)
{
	conn->remote.version = msg->version;
	conn->remote.responder_resources = msg->responder_resources;
	conn->remote.mtu = msg->mtu;
	dcm_block_get_ib(&msg->saddr, &conn->remote.ib);
	conn->remote.alt = msg->saddr_alt;
	if (msg->op == DCM_REP) {
		conn->then.rep.p_size = msg->p_size;
		memcpy(conn->then.rep.pdata, msg->pdata, msg->p_size);
	}
	if (conn->eng->rules->stream) {
		/* The four bytes of RTU repeat the version that answered. */
		conn->own.version = msg->version;
		return;
	}
	conn->own.d_id = msg->s_id;
	conn->own.daddr = msg->saddr;
}

/*
 * One step, and those that follow from its effects. CONN is not to be used
 * afterwards.
 */
void dcm_engine_input(struct dcm_conn *conn, enum dcm_input in,
		      const struct dcm_msg *msg, uint64_t now_us)
{
	struct dcm_engine *eng = conn->eng;
	const struct dcm_step step = {
		.rules = eng->rules,
		.rtt_consumer = rtt_of(conn, true),
		.rtt_peer = rtt_of(conn, false),
		.now_us = now_us,
		.msg = msg,
	};
	struct dcm_effects out;
	enum dcm_input next;
	int i;

	while (in != DCM_IN_N) {
		if (in == DCM_IN_REP && conn->proto.state == DCM_REQ_SENT)
			learn(conn, msg);
		if (in == DCM_IN_QP_READY && conn->proto.state == DCM_ACCEPTED)
			begin_to_answer(conn);
		/* A DREQ that names the peer's id would say that there was a
		 * connection. */
		if (in == DCM_IN_RELEASE && conn->proto.state == DCM_REP_RCVD)
			conn->own.d_id = 0;
		if (eng->ops->comes)
			eng->ops->comes(conn, in, msg);
		dcm_proto_step(&conn->proto, in, &step, &out);
		/* Given up without knowing the peer; who hears of a connection
		 * after all is to be named. */
		if (in == DCM_IN_REP && conn->proto.up && !conn->remote.version)
			learn(conn, msg);
		next = DCM_IN_N;
		for (i = 0; i < out.n; i++) {
			assert(next == DCM_IN_N);
			next = perform(conn, &out.e[i], msg);
			if (out.e[i].type == DCM_DO_FREE)
				return;
		}
		in = next;
	}
	after_step(conn, now_us);
}

/* ------------------------------------------------ set up and tear down */

void dcm_engine_init(struct dcm_engine *eng, const struct dcm_engine_ops *ops,
		     const struct dcm_rules *rules, uint32_t seed)
{
	memset(eng, 0, sizeof(*eng));
	eng->ops = ops;
	eng->rules = rules;
	eng->random = seed;
	eng->conns_max = DCM_CONNS_MAX;
	eng->rtt_all.consumer.of_all = true;
	eng->rtt_all.peer.of_all = true;
	eng->waiting_max = DCM_WAITING_MAX;
	eng->listener_max = DCM_LISTENER_MAX;
	/*
	 * Whoever starts again should not seem to go on. Not far up: old peers
	 * know 16 bits of an id where it stands for the port.
	 */
	eng->last_id = new_random(eng) >> 17;
	dapl_list_init(&eng->timewait);
}

void dcm_engine_fini(struct dcm_engine *eng)
{
	dcm_map_fini(&eng->conns);
	dcm_map_fini(&eng->passive);
	dcm_map_fini(&eng->up);
	dcm_map_fini(&eng->listeners);
	free(eng->rtt);
	eng->rtt = NULL;
}

int dcm_engine_listen(struct dcm_engine *eng, struct dcm_listener *l,
		      uint32_t port)
{
	if (port && by_port(eng, port))
		return -EADDRINUSE;
	l->port = port;
	l->held = false;
	l->waiting_n = 0;
	dapl_list_init(&l->waiting);
	if (port)
		dcm_map_add(&eng->listeners, &l->by_port, port & PORT_MASK);
	return 0;
}

void dcm_engine_unlisten(struct dcm_engine *eng, struct dcm_listener *l)
{
	dcm_map_del(&eng->listeners, &l->by_port);
	while (!dapl_list_empty(&l->waiting))
		dequeue(dapl_list_first(&l->waiting, struct dcm_conn, queue));
	/* Those it held back are for nobody. */
	eng->ops->room(eng, l);
}

/* ------------------------------------------------ calls of the consumer */

int dcm_engine_connect(struct dcm_engine *eng, struct dcm_conn *conn,
		       uint32_t port, uint64_t now_us)
{
	struct dcm_msg *own = &conn->own;

	conn->proto.random = new_random(eng);
	own->version = DCM_VERSION;
	if (!eng->rules->stream) {
		conn->id = new_id(eng, now_us);
		if (!conn->id)
			return -EAGAIN;
		dcm_map_add(&eng->conns, &conn->by_id, conn->id);
		own->sport = conn->id;
		own->s_id = conn->id;
		own->dport = port;
		own->sqpn = eng->self.qpn;
		own->dqpn = conn->peer.qpn;
	}
	dcm_engine_input(conn, DCM_IN_CONNECT, NULL, now_us);
	return 0;
}

void dcm_engine_accept(struct dcm_conn *conn, const struct dcm_answer *answer,
		       uint64_t now_us)
{
	conn->then.answer = *answer;
	dcm_engine_input(conn, DCM_IN_ACCEPT, NULL, now_us);
}

void dcm_engine_reject(struct dcm_conn *conn, const void *pdata, size_t size,
		       uint64_t now_us)
{
	if (conn->proto.state == DCM_REQ_RCVD) {
		assert(size <= DCM_PDATA);
		conn->own.p_size = (uint16_t)size;
		if (size)
			memcpy(conn->own.pdata, pdata, size);
	}
	dcm_engine_input(conn, DCM_IN_REJECT, NULL, now_us);
}

void dcm_engine_no_way(struct dcm_engine *eng, uint32_t id, uint64_t now_us)
{
	struct dcm_conn *conn = by_id(eng, id);

	if (conn && conn->proto.state == DCM_REQ_SENT)
		dcm_engine_input(conn, DCM_IN_NO_WAY, NULL, now_us);
}

/* ---------------------------------------------------------- requests */

static uint8_t type_of(const struct dcm_msg *msg)
{
	struct dcm_ib ib;

	dcm_block_get_ib(&msg->saddr, &ib);
	return ib.qp_type;
}

/* Of queue pairs of other types there are no endpoints. */
static bool is_of_endpoint(const struct dcm_msg *msg)
{
	return type_of(msg) == DCM_QP_RC || type_of(msg) == DCM_QP_UD;
}

bool dcm_engine_room(struct dcm_engine *eng, struct dcm_listener *l)
{
	if (eng->waiting_n >= eng->waiting_max)
		eng->held = true;
	else if (l->waiting_n >= eng->listener_max)
		l->held = true;
	else
		return true;
	return false;
}

/* CONN, whose messages can be told already, waits for L's consumer. */
static void report(struct dcm_listener *l, struct dcm_conn *conn,
		   const struct dcm_msg *msg)
{
	conn->proto.passive = true;
	conn->proto.datagram = type_of(msg) == DCM_QP_UD;
	conn->proto.random = new_random(conn->eng);
	conn->proto.state = DCM_REQ_RCVD;
	conn->listener = l;
	dapl_list_add_tail(&l->waiting, &conn->queue);
	l->waiting_n++;
	conn->eng->waiting_n++;
	conn->eng->ops->request(l, conn, msg);
}

int dcm_engine_stream_request(struct dcm_engine *eng, struct dcm_listener *l,
			      struct dcm_conn *conn, const struct dcm_msg *msg,
			      uint64_t now_us)
{
	struct dcm_msg no = *msg;

	eng->stats.received++;
	if (!is_of_endpoint(msg)) {
		eng->stats.refused++;
		no.op = DCM_REJ_CM;
		no.p_size = 0;
		eng->ops->send(eng, conn, &conn->peer, &no, false);
		return -EPROTO;
	}
	dcm_conn_init(conn, eng);
	learn(conn, msg);
	/* A reject is the request, sent back. */
	conn->own = *msg;
	conn->own.p_size = 0;
	report(l, conn, msg);
	return 0;
}

/* ---------------------------------------------------------- datagrams */

static void peer_of(const struct dcm_msg *msg, struct dcm_peer *ret_peer)
{
	struct dcm_ib ib;

	dcm_block_get_ib(&msg->saddr, &ib);
	memcpy(ret_peer->gid, ib.gid, sizeof(ret_peer->gid));
	ret_peer->lid = ib.lid;
	ret_peer->sl = ib.sl;
	ret_peer->qpn = msg->sqpn;
}

/* LIDs repeat in other subnets, and there are none on Ethernet. */
static bool same_peer(const struct dcm_peer *a, const struct dcm_peer *b)
{
	return a->qpn == b->qpn && a->lid == b->lid &&
	       !memcmp(a->gid, b->gid, sizeof(a->gid));
}

static uint64_t peer_key(const struct dcm_msg *msg)
{
	return (uint64_t)msg->sqpn << 32 | msg->s_id;
}

/* The connection of an earlier copy of the request MSG. */
static struct dcm_conn *by_request(const struct dcm_engine *eng,
				   const struct dcm_msg *msg)
{
	struct dcm_map_node *node = dcm_map_find(&eng->passive, peer_key(msg));
	struct dcm_peer peer;

	peer_of(msg, &peer);
	for (; node; node = dcm_map_next(node)) {
		struct dcm_conn *conn =
			dapl_container_of(node, struct dcm_conn, by_peer);

		if (same_peer(&conn->peer, &peer) &&
		    conn->own.dport == msg->sport)
			return conn;
	}
	return NULL;
}

/*
 * Who has been told an id names it, and everybody has once there was a
 * connection. Before, an attempt that is given up, or refused by who keeps
 * nothing of it, has none to name.
 */
static bool same_id(const struct dcm_conn *conn, const struct dcm_msg *msg)
{
	return msg->d_id == conn->id || (!msg->d_id && !conn->proto.up);
}

/*
 * The queue pairs of the data tell a late message from an id used again. The
 * active side's is in every message but that of an attempt given up before it
 * knew the other; the passive side's only once it has accepted.
 */
static bool same_qps(const struct dcm_conn *conn, const struct dcm_msg *msg)
{
	bool untold = conn->proto.passive && !msg->d_id;
	struct dcm_ib own, to, from;

	dcm_block_get_ib(&conn->own.saddr, &own);
	dcm_block_get_ib(&msg->daddr, &to);
	dcm_block_get_ib(&msg->saddr, &from);
	return (to.qpn == own.qpn || !own.qpn || (untold && !to.qpn)) &&
	       (from.qpn == conn->remote.ib.qpn || !conn->remote.ib.qpn);
}

/*
 * The active side asked for an address, of which programs may keep a part, and
 * is answered from one that goes with its own: only the LID can be compared
 * until then.
 */
static bool same_place(const struct dcm_conn *conn, const struct dcm_msg *msg)
{
	struct dcm_peer peer, known = conn->peer;

	peer_of(msg, &peer);
	if (!conn->proto.passive)
		memcpy(known.gid,
		       conn->remote.version ? conn->remote.ib.gid : peer.gid,
		       sizeof(known.gid));
	return same_peer(&known, &peer);
}

static bool belongs(const struct dcm_conn *conn, const struct dcm_msg *msg)
{
	return same_place(conn, msg) && same_id(conn, msg) &&
	       same_qps(conn, msg) &&
	       !((conn->own.sport ^ msg->dport) & PORT_MASK) &&
	       !((conn->own.dport ^ msg->sport) & PORT_MASK);
}

static struct dcm_conn *by_message(const struct dcm_engine *eng,
				   const struct dcm_msg *msg)
{
	struct dcm_conn *conn = by_id(eng, msg->d_id);

	if (conn && belongs(conn, msg))
		return conn;
	/* A peer that knows no id of ours: a reject, or a DREQ of one that
	 * never had our REP. */
	conn = by_id(eng, msg->dport & ID_MASK);
	if (conn && belongs(conn, msg))
		return conn;
	conn = by_request(eng, msg);
	return conn && belongs(conn, msg) ? conn : NULL;
}

/* Our end towards PEER: where it will see our messages come from. */
static void own_place(struct dcm_engine *eng, const struct dcm_peer *peer,
		      struct dcm_ib *ib)
{
	ib->lid = eng->self.lid;
	if (eng->ops->own_gid)
		eng->ops->own_gid(eng, peer, ib->gid);
	else
		memcpy(ib->gid, eng->self.gid, sizeof(ib->gid));
}

/*
 * Answers MSG without a connection. A reject of this kind tells nothing but
 * who was asked; SADDR is what the peer takes us for, with the type that it
 * asked for, since old clients go by that.
 */
static void answer(struct dcm_engine *eng, const struct dcm_msg *msg,
		   enum dcm_op op)
{
	struct dcm_msg no = {
		.version = DCM_VERSION,
		.op = (uint16_t)op,
		.sport = msg->dport,
		.dport = msg->sport,
		.sqpn = msg->dqpn,
		.dqpn = msg->sqpn,
		.daddr = msg->saddr,
	};
	struct dcm_peer peer;
	struct dcm_ib ib, from;

	dcm_block_get_ib(&msg->saddr, &from);
	dcm_block_get_ib(&msg->daddr, &ib);
	peer_of(msg, &peer);
	own_place(eng, &peer, &ib);
	ib.qp_type = from.qp_type;
	dcm_block_set_ib(&no.saddr, &ib);
	if (op != DCM_REJ_CM)
		no.s_id = msg->d_id;
	/* A DREQ that names the peer's id says that it was connected. */
	if (op == DCM_DREP)
		no.d_id = msg->s_id;
	eng->ops->send(eng, NULL, &peer, &no, false);
}

static void refuse(struct dcm_engine *eng, const struct dcm_msg *msg)
{
	eng->stats.refused++;
	answer(eng, msg, DCM_REJ_CM);
}

static void own_of_request(struct dcm_engine *eng, struct dcm_conn *conn,
			   const struct dcm_msg *msg)
{
	struct dcm_msg *own = &conn->own;
	struct dcm_ib ib = eng->self;

	/* Until there is an endpoint. */
	own_place(eng, &conn->peer, &ib);
	ib.family = 0;
	ib.qpn = 0;
	ib.qp_type = type_of(msg);
	own->version = DCM_VERSION;
	own->sport = msg->dport;
	own->dport = msg->sport;
	own->sqpn = msg->dqpn;
	own->dqpn = msg->sqpn;
	own->s_id = conn->id;
	own->responder_resources = msg->responder_resources;
	own->mtu = msg->mtu;
	dcm_block_set_ib(&own->saddr, &ib);
}

/* Of all but what distinguishes copies (FNV-1a). */
static uint64_t digest(const struct dcm_msg *req)
{
	struct dcm_msg msg = *req;
	uint64_t sum = 0xcbf29ce484222325ull;
	uint8_t buf[DCM_MSG];
	size_t i, len;

	msg.rtns = 0;
	len = dcm_msg_encode(&msg, buf);
	for (i = 0; i < len; i++)
		sum = (sum ^ buf[i]) * 0x100000001b3ull;
	return sum;
}

/* A place for a request to L; NULL: none for now. */
static struct dcm_conn *new_passive(struct dcm_engine *eng,
				    struct dcm_listener *l, uint32_t *ret_id,
				    uint64_t now_us)
{
	if (!dcm_engine_room(eng, l))
		return NULL;
	*ret_id = new_id(eng, now_us);
	return *ret_id ? eng->ops->conn_new(eng) : NULL;
}

/*
 * For want of room a peer is told nothing, since a no would be taken for the
 * last word: it repeats its request, and there may be room by then.
 */
static void new_request(struct dcm_engine *eng, const struct dcm_msg *msg,
			uint64_t now_us)
{
	struct dcm_listener *l = by_port(eng, msg->dport);
	struct dcm_conn *conn;
	uint32_t id;

	if (!l || !is_of_endpoint(msg)) {
		refuse(eng, msg);
		return;
	}
	conn = new_passive(eng, l, &id, now_us);
	if (!conn) {
		eng->stats.held++;
		return;
	}
	dcm_conn_init(conn, eng);
	conn->id = id;
	conn->born_us = now_us;
	conn->request = digest(msg);
	dcm_map_add(&eng->conns, &conn->by_id, id);
	dcm_map_add(&eng->passive, &conn->by_peer, peer_key(msg));
	peer_of(msg, &conn->peer);
	learn(conn, msg);
	own_of_request(eng, conn, msg);
	conn->own.d_id = msg->s_id;
	report(l, conn, msg);
}

/*
 * Whether the request MSG, with the numbers of CONN's, is no copy of that but
 * of somebody who has begun anew with the same numbers. Copies say the same,
 * but for the count of repeats; only the first has none, and none is sent
 * once there is a connection. What was sent before CONN's own first copy came
 * has been lost or read by now, once CONN is older than any datagram.
 */
static bool is_new_life(const struct dcm_conn *conn, const struct dcm_msg *msg,
			uint64_t now_us)
{
	if (now_us - conn->born_us < DCM_LIFETIME_US)
		return false;
	if (!msg->rtns && msg->version >= DCM_VERSION_EXT)
		return true;
	if (conn->request != digest(msg))
		return true;
	return conn->proto.up && now_us - conn->up_us >= DCM_LIFETIME_US;
}

static void on_request(struct dcm_engine *eng, const struct dcm_msg *msg,
		       uint64_t now_us)
{
	struct dcm_conn *conn = by_request(eng, msg);
	bool again = conn && is_new_life(conn, msg, now_us);
	struct dcm_ib ib;

	dcm_block_get_ib(&msg->saddr, &ib);
	if (conn && !again && conn->remote.ib.qpn == ib.qpn) {
		eng->stats.repeated++;
		dcm_engine_input(conn, DCM_IN_REQ, msg, now_us);
		return;
	}
	/*
	 * Or the peer's ids have come round, in a moment: then it cannot be
	 * told which of the two is the later one.
	 */
	if (conn)
		dcm_map_del(&eng->passive, &conn->by_peer);
	if (again)
		dcm_engine_input(conn, DCM_IN_LOST, NULL, now_us);
	new_request(eng, msg, now_us);
}

/*
 * A disconnect of what is not known any more is answered, so that the peer
 * need not repeat it; and one that accepts what is long given up is told.
 */
static void on_unmatched(struct dcm_engine *eng, const struct dcm_msg *msg)
{
	eng->stats.unmatched++;
	if (msg->op == DCM_DREQ)
		answer(eng, msg, DCM_DREP);
	else if (msg->op == DCM_REP)
		answer(eng, msg, DCM_DREQ);
}

/* A datagram that came through a router has a LID of that. */
static bool is_from(const struct dcm_msg *msg, const struct dcm_source *src)
{
	struct dcm_peer peer;

	peer_of(msg, &peer);
	if (peer.qpn != src->qpn)
		return false;
	if (src->has_gid)
		return !memcmp(peer.gid, src->gid, sizeof(src->gid));
	return !src->lid || peer.lid == src->lid;
}

void dcm_engine_datagram(struct dcm_engine *eng, const uint8_t *buf, size_t len,
			 const struct dcm_source *src, uint64_t now_us)
{
	struct dcm_msg msg;
	enum dcm_input in;
	struct dcm_conn *conn;

	eng->stats.received++;
	if (dcm_msg_decode(buf, len, &msg) || !is_from(&msg, src) ||
	    msg.dqpn != eng->self.qpn) {
		eng->stats.malformed++;
		return;
	}
	in = dcm_input_of(msg.op);
	if (in == DCM_IN_REQ) {
		on_request(eng, &msg, now_us);
		return;
	}
	if (in == DCM_IN_N) {
		eng->stats.malformed++;
		return;
	}
	conn = by_message(eng, &msg);
	if (conn)
		dcm_engine_input(conn, in, &msg, now_us);
	else
		on_unmatched(eng, &msg);
}
