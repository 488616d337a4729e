/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_proto.c - the table of the connection protocol.
 *
 * A cell is a function of a few lines. Those shared by many cells come first:
 * ignore (late, repeated or harmless) and wrong (our own layers must not do
 * that; ignored in releases).
 * Nothing here knows a transport, a thread or a clock.
 * Rules: doc/cm-protocol.md. Tests: test/sim enumerates all sequences of
 * inputs to a depth, and runs thousands of pairs over a bad network.
 */
#include "dapl/common/cm/dcm/dcm_proto.h"

#include <assert.h>
#include <string.h>

#define MS 1000ull

/* Before anything was measured; and what adaptation never goes below. */
#define WAIT_FIRST_US	 (400 * MS)
#define WAIT_CONSUMER_US (50 * MS)
#define WAIT_PEER_US	 (20 * MS)
#define WAIT_MAX_US	 (4000 * MS)
/* For a peer that answers others meanwhile; less than a close waits. */
#define WAIT_TURN_US (1000 * MS)
/* The longest pause between two repeats. */
#define PAUSE_MAX_US (16000 * MS)
/* Repeats of DREQ in all: after that the peer is taken for dead. */
#define DREQ_REPEATS 8
/* From a move for which no hardware address was found to the next. */
#define QP_PAUSE_US (1000 * MS)
/* A peer that repeats a REP so often does not understand our DREQ to it. */
#define OLD_PEER_REPEATS 3

typedef void cell_fn(struct dcm_proto *p, const struct dcm_step *s,
		     struct dcm_effects *out);

/* ---------------------------------------------------- effects */

static struct dcm_effect *add(struct dcm_effects *out,
			      enum dcm_effect_type type)
{
	struct dcm_effect *e = &out->e[out->n];

	assert(out->n < DCM_EFFECTS_MAX);
	memset(e, 0, sizeof(*e));
	e->type = type;
	out->n++;
	return e;
}

static struct dcm_effect *emit(struct dcm_proto *p, enum dcm_op op,
			       struct dcm_effects *out)
{
	struct dcm_effect *e = add(out, DCM_DO_SEND);

	e->send.op = op;
	e->send.filler = p->filler;
	p->last_op = (uint8_t)op;
	return e;
}

/* At most one last event, and none after release. */
static void event(struct dcm_proto *p, enum dapl_cm_event ev,
		  struct dcm_effects *out)
{
	if (p->released || p->told)
		return;
	p->told = ev != DAPL_CM_ESTABLISHED;
	add(out, DCM_DO_EVENT)->event = ev;
}

/* The end of a connection whose queue pair may be in use. */
static void broken_off(struct dcm_proto *p, enum dapl_cm_event ev,
		       struct dcm_effects *out)
{
	/* After release the queue pair is not this connection's any more. */
	if (p->released || p->told)
		return;
	if (!p->datagram)
		add(out, DCM_DO_QP_ERROR);
	event(p, ev, out);
}

/* ----------------------------------------------------- timer */

static uint64_t jitter(struct dcm_proto *p, uint64_t us)
{
	uint32_t x = p->random ? p->random : 0x9e3779b9;

	/* xorshift: spreads peers that were started together. */
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	p->random = x;
	return us + us / 4 * (x >> 16) / 65536;
}

/* How the answer to a message is waited for. */
struct waiting {
	uint64_t fixed_us; /* until the first repeat; 0: that adapts */
	uint64_t least_us;
	uint64_t patience_us;
	const struct dcm_rtt *rtt;
};

static struct waiting waiting_for_answer(const struct dcm_step *s,
					 enum dcm_op op)
{
	const struct dcm_rules *rules = s->rules;

	switch (op) {
	case DCM_REQ:
		return (struct waiting){rules->rep_wait_us, WAIT_CONSUMER_US,
					rules->rep_patience_us,
					s->rtt_consumer};
	case DCM_REP:
		return (struct waiting){rules->rtu_wait_us, WAIT_PEER_US,
					rules->rtu_patience_us, s->rtt_peer};
	default: /* DREQ: repeats are counted */
		return (struct waiting){rules->drep_wait_us, WAIT_PEER_US,
					UINT64_MAX, s->rtt_peer};
	}
}

static uint64_t first_wait(struct dcm_proto *p, const struct waiting *w)
{
	const struct dcm_rtt *rtt = w->rtt;
	uint64_t us = WAIT_FIRST_US, max;

	if (w->fixed_us)
		return w->fixed_us;
	if (rtt->mean_us) {
		us = 4 * rtt->dev_us;
		/* Answers that always took the same may take longer once. */
		if (us < rtt->mean_us / 2)
			us = rtt->mean_us / 2;
		us += rtt->mean_us;
		if (us < w->least_us)
			us = w->least_us;
		max = rtt->of_all ? WAIT_FIRST_US : WAIT_MAX_US;
		if (us > max)
			us = max;
	}
	return jitter(p, us);
}

static void arm(uint64_t deadline_us, struct dcm_effects *out)
{
	add(out, DCM_DO_ARM)->deadline_us = deadline_us;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* WAIT_US after the first, at most. */
static void arm_waiting(const struct dcm_proto *p, const struct waiting *w,
			struct dcm_effects *out)
{
	arm(p->first_us + earlier(p->wait_us, w->patience_us), out);
}

/* Begins to wait for an answer to OP, which is sent now. */
static void await(struct dcm_proto *p, const struct dcm_step *s, enum dcm_op op,
		  struct dcm_effects *out)
{
	struct waiting w = waiting_for_answer(s, op);

	p->repeats = 0;
	p->first_us = s->now_us;
	p->wait_us = s->rules->stream ? w.patience_us : first_wait(p, &w);
	arm_waiting(p, &w, out);
}

/*
 * A peer that many ask at once answers one after the other, and may just have
 * begun: as long as it goes on, and has answered nothing that was sent later,
 * nothing is lost. What it took so far says how long the next answer may take;
 * but it is not for the peer to say how long we wait.
 */
static bool peer_is_at_it(struct dcm_proto *p, const struct dcm_step *s,
			  const struct waiting *w)
{
	uint64_t until;

	if (w->fixed_us || p->repeats || w->rtt->of_all || !w->rtt->last_us ||
	    w->rtt->newest_us >= p->first_us)
		return false;
	until = earlier(w->rtt->last_us + first_wait(p, w),
			p->first_us + WAIT_TURN_US);
	if (until <= s->now_us)
		return false;
	p->wait_us = until - p->first_us;
	return true;
}

static bool exhausted(const struct dcm_proto *p, const struct dcm_step *s,
		      uint64_t patience)
{
	return s->now_us - p->first_us >= patience;
}

static uint8_t repeats_told(const struct dcm_proto *p)
{
	return p->repeats < DCM_RTNS_MAX ? (uint8_t)p->repeats : DCM_RTNS_MAX;
}

/* Sends OP once more, if it is time, and waits for twice the time so far. */
static void repeat(struct dcm_proto *p, const struct dcm_step *s,
		   enum dcm_op op, struct dcm_effects *out)
{
	struct waiting w = waiting_for_answer(s, op);
	uint64_t more = p->wait_us;

	if (!peer_is_at_it(p, s, &w)) {
		if (!w.fixed_us)
			more = jitter(p, earlier(more, PAUSE_MAX_US));
		p->wait_us += more;
		p->repeats++;
		emit(p, op, out)->send.rtns = repeats_told(p);
	}
	arm_waiting(p, &w, out);
}

/* An answer to something repeated tells nothing: to which of them? */
static void sample(const struct dcm_proto *p, const struct dcm_step *s,
		   bool consumer, struct dcm_effects *out)
{
	struct dcm_effect *e;

	if (s->rules->stream || p->repeats || s->now_us <= p->first_us)
		return;
	e = add(out, DCM_DO_SAMPLE);
	e->sample.consumer = consumer;
	e->sample.us = s->now_us - p->first_us;
	e->sample.now_us = s->now_us;
}

void dcm_rtt_sample(struct dcm_rtt *rtt, uint64_t us, uint64_t now_us)
{
	uint64_t off;

	rtt->last_us = now_us;
	if (rtt->newest_us < now_us - us)
		rtt->newest_us = now_us - us;
	if (!rtt->mean_us) {
		rtt->mean_us = us ? us : 1;
		rtt->dev_us = us / 2;
		return;
	}
	off = us > rtt->mean_us ? us - rtt->mean_us : rtt->mean_us - us;
	rtt->dev_us = rtt->dev_us - rtt->dev_us / 4 + off / 4;
	rtt->mean_us = rtt->mean_us - rtt->mean_us / 8 + us / 8;
	if (!rtt->mean_us)
		rtt->mean_us = 1;
}

/* ------------------------------------------------------- ends */

static void closed(struct dcm_proto *p, struct dcm_effects *out)
{
	p->state = DCM_CLOSED;
	if (p->released)
		add(out, DCM_DO_FREE);
}

/* Streams: nothing can come any more. */
static void hang_up(struct dcm_proto *p, struct dcm_effects *out)
{
	/* The states of a stream that have a timer. */
	if (p->state == DCM_REP_SENT || p->state == DCM_REP_RCVD ||
	    p->state == DCM_ACCEPTED)
		add(out, DCM_DO_DISARM);
	add(out, DCM_DO_HANGUP);
	closed(p, out);
}

/* Over. Datagrams may still be under way, and the peer's may need an answer. */
static void over(struct dcm_proto *p, const struct dcm_step *s,
		 struct dcm_effects *out)
{
	if (s->rules->stream) {
		hang_up(p, out);
		return;
	}
	p->state = DCM_TIMEWAIT;
	arm(s->now_us + s->rules->timewait_us, out);
}

/* Over, and nobody out there believes otherwise. */
static void over_at_once(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	if (s->rules->stream) {
		hang_up(p, out);
		return;
	}
	add(out, DCM_DO_DISARM);
	closed(p, out);
}

/* Both ends know one another, which is all that datagrams need. */
static void established(struct dcm_proto *p, const struct dcm_step *s,
			struct dcm_effects *out)
{
	p->up = true;
	event(p, DAPL_CM_ESTABLISHED, out);
	if (p->datagram) {
		p->told = true;
		over(p, s, out);
	} else {
		p->state = DCM_UP;
	}
}

static void send_dreq(struct dcm_proto *p, const struct dcm_step *s,
		      struct dcm_effects *out)
{
	emit(p, DCM_DREQ, out);
	if (s->rules->stream) {
		over(p, s, out);
		return;
	}
	p->state = DCM_DREQ_SENT;
	await(p, s, DCM_DREQ, out);
}

/*
 * Whatever comes until the queue pair is moved, the effect DCM_DO_QP_ERROR is
 * for what it becomes, and the result of the move of no interest any more.
 */
static void move_qp(struct dcm_proto *p, struct dcm_effects *out)
{
	p->moving = true;
	add(out, DCM_DO_QP_CONNECT);
}

/* ------------------------------------------- cells: in general */

static void ignore(struct dcm_proto *p, const struct dcm_step *s,
		   struct dcm_effects *out)
{
}

static void wrong(struct dcm_proto *p, const struct dcm_step *s,
		  struct dcm_effects *out)
{
	assert(!"input that our own layers must not make in this state");
}

static void close_now(struct dcm_proto *p, const struct dcm_step *s,
		      struct dcm_effects *out)
{
	closed(p, out);
}

/* --------------------------------------------- cells: active side */

static void send_req(struct dcm_proto *p, const struct dcm_step *s,
		     struct dcm_effects *out)
{
	p->state = DCM_REQ_SENT;
	emit(p, DCM_REQ, out);
	if (!s->rules->stream)
		await(p, s, DCM_REQ, out);
}

static void idle_connect(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	if (!s->rules->stream) {
		send_req(p, s, out);
		return;
	}
	p->state = DCM_DIALING;
	add(out, DCM_DO_DIAL);
}

static void dialing_lost(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	event(p, DAPL_CM_NON_PEER_REJECTED, out);
	over_at_once(p, s, out);
}

/*
 * A peer that hangs up on a request without a word may be one of version 7,
 * which wants another header; so there is a second attempt.
 */
static void req_sent_lost(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	if (!p->filler) {
		p->filler = true;
		p->state = DCM_DIALING;
		add(out, DCM_DO_HANGUP);
		add(out, DCM_DO_DIAL);
		return;
	}
	event(p, DAPL_CM_BROKEN, out);
	over_at_once(p, s, out);
}

static void req_sent_no_way(struct dcm_proto *p, const struct dcm_step *s,
			    struct dcm_effects *out)
{
	event(p, DAPL_CM_UNREACHABLE, out);
	over_at_once(p, s, out);
}

static void req_sent_timer(struct dcm_proto *p, const struct dcm_step *s,
			   struct dcm_effects *out)
{
	if (exhausted(p, s, s->rules->rep_patience_us)) {
		req_sent_no_way(p, s, out);
		return;
	}
	repeat(p, s, DCM_REQ, out);
}

static void req_sent_rep(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	sample(p, s, true, out);
	if (!s->rules->stream)
		add(out, DCM_DO_DISARM);
	p->state = DCM_REP_RCVD;
	p->first_us = s->now_us;
	move_qp(p, out);
}

static void req_sent_rej_user(struct dcm_proto *p, const struct dcm_step *s,
			      struct dcm_effects *out)
{
	event(p, DAPL_CM_PEER_REJECTED, out);
	over_at_once(p, s, out);
}

static void req_sent_rej_cm(struct dcm_proto *p, const struct dcm_step *s,
			    struct dcm_effects *out)
{
	event(p, DAPL_CM_NON_PEER_REJECTED, out);
	over_at_once(p, s, out);
}

/* Accepted, REP lost, and ended by the peer before it was repeated. */
static void req_sent_dreq(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	event(p, DAPL_CM_NON_PEER_REJECTED, out);
	emit(p, DCM_DREP, out);
	over(p, s, out);
}

/*
 * The attempt is given up. Peers that have the request in hand should not
 * accept it in vain; those of the old kind ignore this, see dreq_sent_rep().
 * No answer has told their id, so the DREQ does not name one.
 */
static void req_sent_release(struct dcm_proto *p, const struct dcm_step *s,
			     struct dcm_effects *out)
{
	if (s->rules->stream) {
		over(p, s, out);
		return;
	}
	send_dreq(p, s, out);
}

/* ------------------------- cells: the queue pair is being moved */

static void qp_ready(struct dcm_proto *p, const struct dcm_step *s,
		     struct dcm_effects *out)
{
	emit(p, DCM_RTU, out);
	established(p, s, out);
}

static void no_way(struct dcm_proto *p, const struct dcm_step *s,
		   enum dapl_cm_event ev, struct dcm_effects *out)
{
	broken_off(p, p->passive ? DAPL_CM_ACCEPT_FAILED : ev, out);
	if (p->passive || !s->rules->stream)
		emit(p, DCM_REJ_CM, out);
	over(p, s, out);
}

static void qp_failed(struct dcm_proto *p, const struct dcm_step *s,
		      struct dcm_effects *out)
{
	no_way(p, s, DAPL_CM_BROKEN, out);
}

/*
 * Where many ask at once, or a switch has to learn, hardware addresses are not
 * found at the first try: worth another, for as long as a passive side waits
 * for its answer.
 */
static void qp_silent(struct dcm_proto *p, const struct dcm_step *s,
		      struct dcm_effects *out)
{
	if (exhausted(p, s, s->rules->rtu_patience_us))
		no_way(p, s, DAPL_CM_UNREACHABLE, out);
	else
		arm(s->now_us + jitter(p, QP_PAUSE_US), out);
}

static void moving_timer(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	if (!p->moving)
		move_qp(p, out);
}

static void moving_dreq(struct dcm_proto *p, const struct dcm_step *s,
			struct dcm_effects *out)
{
	broken_off(p,
		   p->passive ? DAPL_CM_ACCEPT_FAILED
			      : DAPL_CM_NON_PEER_REJECTED,
		   out);
	emit(p, DCM_DREP, out);
	over(p, s, out);
}

static void moving_rej(struct dcm_proto *p, const struct dcm_step *s,
		       struct dcm_effects *out)
{
	broken_off(p, DAPL_CM_NON_PEER_REJECTED, out);
	over(p, s, out);
}

static void moving_lost(struct dcm_proto *p, const struct dcm_step *s,
			struct dcm_effects *out)
{
	broken_off(p,
		   p->passive ? DAPL_CM_ACCEPT_FAILED
			      : DAPL_CM_NON_PEER_REJECTED,
		   out);
	over_at_once(p, s, out);
}

/* -------------------------------------------- cells: passive side */

static void req_rcvd_accept(struct dcm_proto *p, const struct dcm_step *s,
			    struct dcm_effects *out)
{
	p->state = DCM_ACCEPTED;
	p->first_us = s->now_us;
	move_qp(p, out);
}

static void accepted_ready(struct dcm_proto *p, const struct dcm_step *s,
			   struct dcm_effects *out)
{
	p->state = DCM_REP_SENT;
	emit(p, DCM_REP, out);
	await(p, s, DCM_REP, out);
}

static void req_rcvd_reject(struct dcm_proto *p, const struct dcm_step *s,
			    struct dcm_effects *out)
{
	emit(p, DCM_REJ_USER, out);
	over(p, s, out);
}

static void req_rcvd_release(struct dcm_proto *p, const struct dcm_step *s,
			     struct dcm_effects *out)
{
	emit(p, DCM_REJ_CM, out);
	over(p, s, out);
}

static void req_rcvd_lost(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	add(out, DCM_DO_GONE);
	over_at_once(p, s, out);
}

static void req_rcvd_dreq(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	add(out, DCM_DO_GONE);
	emit(p, DCM_DREP, out);
	over(p, s, out);
}

static void rep_sent_req(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	p->repeats++; /* of no use as a sample any more */
	emit(p, DCM_REP, out)->send.rtns = repeats_told(p);
}

static void rep_sent_rtu(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	sample(p, s, false, out);
	if (!p->datagram)
		add(out, DCM_DO_DISARM);
	established(p, s, out);
}

static void rep_sent_timer(struct dcm_proto *p, const struct dcm_step *s,
			   struct dcm_effects *out)
{
	if (exhausted(p, s, s->rules->rtu_patience_us)) {
		broken_off(p, DAPL_CM_ACCEPT_FAILED, out);
		/* It may be the RTUs that were lost: the peer is connected. */
		if (p->datagram)
			over(p, s, out);
		else
			send_dreq(p, s, out);
		return;
	}
	repeat(p, s, DCM_REP, out);
}

/* The peer's queue pair failed, or its consumer gave up. */
static void rep_sent_rej(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	broken_off(p, DAPL_CM_ACCEPT_FAILED, out);
	over(p, s, out);
}

/*
 * RTU lost. A peer that names our id has had REP and may have sent data: for
 * it the connection existed. One that does not gave up before.
 */
static void rep_sent_dreq(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	p->up = s->msg && s->msg->d_id;
	if (p->up)
		event(p, DAPL_CM_ESTABLISHED, out);
	broken_off(p, p->up ? DAPL_CM_DISCONNECTED : DAPL_CM_ACCEPT_FAILED,
		   out);
	emit(p, DCM_DREP, out);
	over(p, s, out);
}

static void rep_sent_lost(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	broken_off(p, DAPL_CM_ACCEPT_FAILED, out);
	over_at_once(p, s, out);
}

/* ------------------------------------------------- cells: established */

static void up_disconnect(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	add(out, DCM_DO_QP_ERROR);
	if (s->rules->stream)
		event(p, DAPL_CM_DISCONNECTED, out);
	send_dreq(p, s, out);
	if (!s->rules->stream && !s->rules->dreq_repeats)
		event(p, DAPL_CM_DISCONNECTED, out);
}

static void up_rep(struct dcm_proto *p, const struct dcm_step *s,
		   struct dcm_effects *out)
{
	if (!p->passive && !(s->msg && s->msg->rtns == DCM_RTNS_ANSWER))
		emit(p, DCM_RTU, out);
}

static void up_rtu(struct dcm_proto *p, const struct dcm_step *s,
		   struct dcm_effects *out)
{
	if (p->passive && s->msg && s->msg->rtns == DCM_RTNS_ASK)
		emit(p, DCM_REP, out)->send.rtns = DCM_RTNS_ANSWER;
}

/* What old peers answer, too, if it is they who asked for the connection. */
static void up_ask(struct dcm_proto *p, const struct dcm_step *s,
		   struct dcm_effects *out)
{
	emit(p, p->passive ? DCM_REP : DCM_RTU, out)->send.rtns = DCM_RTNS_ASK;
}

/* Should only the way to it be gone, it hears of the end. */
static void up_vanished(struct dcm_proto *p, const struct dcm_step *s,
			struct dcm_effects *out)
{
	broken_off(p, DAPL_CM_BROKEN, out);
	send_dreq(p, s, out);
}

static void up_dreq(struct dcm_proto *p, const struct dcm_step *s,
		    struct dcm_effects *out)
{
	broken_off(p, DAPL_CM_DISCONNECTED, out);
	emit(p, DCM_DREP, out);
	over(p, s, out);
}

static void up_lost(struct dcm_proto *p, const struct dcm_step *s,
		    struct dcm_effects *out)
{
	broken_off(p, DAPL_CM_DISCONNECTED, out);
	over_at_once(p, s, out);
}

/* ---------------------------------------------- cells: disconnecting */

static void dreq_sent_timer(struct dcm_proto *p, const struct dcm_step *s,
			    struct dcm_effects *out)
{
	if (p->repeats >= DREQ_REPEATS) {
		event(p, DAPL_CM_DISCONNECTED, out);
		over(p, s, out);
		return;
	}
	repeat(p, s, DCM_DREQ, out);
	/* The consumer waits no longer; the peer is told for a while yet. */
	if (p->repeats >= s->rules->dreq_repeats)
		event(p, DAPL_CM_DISCONNECTED, out);
}

static void dreq_sent_drep(struct dcm_proto *p, const struct dcm_step *s,
			   struct dcm_effects *out)
{
	sample(p, s, false, out);
	event(p, DAPL_CM_DISCONNECTED, out);
	over(p, s, out);
}

/* Both at once. */
static void dreq_sent_dreq(struct dcm_proto *p, const struct dcm_step *s,
			   struct dcm_effects *out)
{
	event(p, DAPL_CM_DISCONNECTED, out);
	emit(p, DCM_DREP, out);
	over(p, s, out);
}

/*
 * The peer has not had our RTU, or accepted what was given up. Its consumer
 * should not hear of a connection that never was; but old peers do not take a
 * DREQ in this state, and show it by repeating their REP: they get the RTU
 * first, since otherwise they would repeat it for minutes.
 */
static void rtu_and_dreq(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	if (s->msg && s->msg->rtns >= OLD_PEER_REPEATS)
		p->up = true;
	if (p->up)
		emit(p, DCM_RTU, out);
	emit(p, DCM_DREQ, out);
}

static void dreq_sent_rep(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	if (!p->passive)
		rtu_and_dreq(p, s, out);
}

/*
 * The peer never had our REP, and the connection is given up here. Where there
 * was a connection it is a late copy, and the peer must hear of the end.
 */
static void dreq_sent_req(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	if (p->up)
		return;
	emit(p, DCM_REJ_CM, out);
	event(p, DAPL_CM_DISCONNECTED, out);
	over(p, s, out);
}

static void dreq_sent_rej(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	event(p, DAPL_CM_DISCONNECTED, out);
	over(p, s, out);
}

static void dreq_sent_lost(struct dcm_proto *p, const struct dcm_step *s,
			   struct dcm_effects *out)
{
	event(p, DAPL_CM_DISCONNECTED, out);
	over_at_once(p, s, out);
}

/* ------------------------------------------------------- cells: over */

/* The peer still waits for what we said last, or should be told no. */
static void timewait_req(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	/* It has had the answer. */
	if (p->datagram && p->up)
		return;
	if (p->passive)
		emit(p, p->last_op == DCM_REJ_USER ? DCM_REJ_USER : DCM_REJ_CM,
		     out);
}

static void timewait_rep(struct dcm_proto *p, const struct dcm_step *s,
			 struct dcm_effects *out)
{
	if (p->passive)
		return;
	if (p->last_op == DCM_REJ_CM) {
		emit(p, DCM_REJ_CM, out);
		return;
	}
	/* Our RTU was lost. */
	if (p->datagram && p->up) {
		emit(p, DCM_RTU, out);
		return;
	}
	rtu_and_dreq(p, s, out);
}

static void timewait_dreq(struct dcm_proto *p, const struct dcm_step *s,
			  struct dcm_effects *out)
{
	emit(p, DCM_DREP, out);
}

/* The peer went away while the consumer was about to accept. */
static void over_accept(struct dcm_proto *p, const struct dcm_step *s,
			struct dcm_effects *out)
{
	broken_off(p, DAPL_CM_ACCEPT_FAILED, out);
}

/* The peer's end of it and the consumer's crossed. */
static void over_disconnect(struct dcm_proto *p, const struct dcm_step *s,
			    struct dcm_effects *out)
{
	event(p, DAPL_CM_DISCONNECTED, out);
}

/* -------------------------------------------------------- the table */

/* The move was still under way when the connection was over. */
#define QP_LATE                                                  \
	[DCM_IN_QP_READY] = ignore, [DCM_IN_QP_FAILED] = ignore, \
	[DCM_IN_QP_SILENT] = ignore

/*
 * What a state does not name: a message, or a timer that fired while it was
 * being taken off, is ignored there; of our own layers it is wrong.
 */
/* clang-format off */
static cell_fn *const table[DCM_STATE_N][DCM_IN_N] = {
	[DCM_IDLE] =
		{
			[DCM_IN_CONNECT] = idle_connect,
			[DCM_IN_RELEASE] = close_now,
		},
	[DCM_DIALING] =
		{
			[DCM_IN_RELEASE] = req_sent_release,
			[DCM_IN_DIALED] = send_req,
			[DCM_IN_LOST] = dialing_lost,
		},
	[DCM_REQ_SENT] =
		{
			[DCM_IN_RELEASE] = req_sent_release,
			[DCM_IN_LOST] = req_sent_lost,
			[DCM_IN_NO_WAY] = req_sent_no_way,
			[DCM_IN_TIMER] = req_sent_timer,
			[DCM_IN_REP] = req_sent_rep,
			[DCM_IN_REJ_USER] = req_sent_rej_user,
			[DCM_IN_REJ_CM] = req_sent_rej_cm,
			[DCM_IN_DREQ] = req_sent_dreq,
		},
	[DCM_REP_RCVD] =
		{
			[DCM_IN_RELEASE] = req_sent_release,
			[DCM_IN_LOST] = moving_lost,
			[DCM_IN_QP_READY] = qp_ready,
			[DCM_IN_QP_FAILED] = qp_failed,
			[DCM_IN_QP_SILENT] = qp_silent,
			[DCM_IN_TIMER] = moving_timer,
			[DCM_IN_REJ_USER] = moving_rej,
			[DCM_IN_REJ_CM] = moving_rej,
			[DCM_IN_DREQ] = moving_dreq,
		},
	[DCM_REQ_RCVD] =
		{
			[DCM_IN_ACCEPT] = req_rcvd_accept,
			[DCM_IN_REJECT] = req_rcvd_reject,
			[DCM_IN_RELEASE] = req_rcvd_release,
			[DCM_IN_LOST] = req_rcvd_lost,
			[DCM_IN_DREQ] = req_rcvd_dreq,
		},
	[DCM_ACCEPTED] =
		{
			[DCM_IN_RELEASE] = req_rcvd_release,
			[DCM_IN_LOST] = moving_lost,
			[DCM_IN_QP_READY] = accepted_ready,
			[DCM_IN_QP_FAILED] = qp_failed,
			[DCM_IN_QP_SILENT] = qp_silent,
			[DCM_IN_TIMER] = moving_timer,
			[DCM_IN_DREQ] = moving_dreq,
		},
	[DCM_REP_SENT] =
		{
			[DCM_IN_RELEASE] = send_dreq,
			[DCM_IN_LOST] = rep_sent_lost,
			[DCM_IN_TIMER] = rep_sent_timer,
			[DCM_IN_REQ] = rep_sent_req,
			[DCM_IN_REJ_USER] = rep_sent_rej,
			[DCM_IN_REJ_CM] = rep_sent_rej,
			[DCM_IN_RTU] = rep_sent_rtu,
			[DCM_IN_DREQ] = rep_sent_dreq,
		},
	[DCM_UP] =
		{
			[DCM_IN_DISCONNECT] = up_disconnect,
			[DCM_IN_RELEASE] = send_dreq,
			[DCM_IN_LOST] = up_lost,
			[DCM_IN_ASK] = up_ask,
			[DCM_IN_VANISHED] = up_vanished,
			[DCM_IN_REP] = up_rep,
			[DCM_IN_RTU] = up_rtu,
			[DCM_IN_DREQ] = up_dreq,
		},
	[DCM_DREQ_SENT] =
		{
			[DCM_IN_DISCONNECT] = ignore,
			[DCM_IN_RELEASE] = ignore,
			[DCM_IN_LOST] = dreq_sent_lost,
			QP_LATE,
			[DCM_IN_TIMER] = dreq_sent_timer,
			[DCM_IN_REQ] = dreq_sent_req,
			[DCM_IN_REP] = dreq_sent_rep,
			[DCM_IN_REJ_USER] = dreq_sent_rej,
			[DCM_IN_REJ_CM] = dreq_sent_rej,
			[DCM_IN_DREQ] = dreq_sent_dreq,
			[DCM_IN_DREP] = dreq_sent_drep,
		},
	[DCM_TIMEWAIT] =
		{
			[DCM_IN_ACCEPT] = over_accept,
			[DCM_IN_REJECT] = ignore,
			[DCM_IN_DISCONNECT] = over_disconnect,
			[DCM_IN_RELEASE] = ignore,
			[DCM_IN_LOST] = over_at_once,
			QP_LATE,
			[DCM_IN_TIMER] = close_now,
			[DCM_IN_REQ] = timewait_req,
			[DCM_IN_REP] = timewait_rep,
			[DCM_IN_DREQ] = timewait_dreq,
		},
	[DCM_CLOSED] =
		{
			[DCM_IN_ACCEPT] = over_accept,
			[DCM_IN_REJECT] = ignore,
			[DCM_IN_DISCONNECT] = over_disconnect,
			[DCM_IN_RELEASE] = close_now,
			[DCM_IN_DIALED] = ignore,
			[DCM_IN_LOST] = ignore,
			QP_LATE,
		},
};
/* clang-format on */

static cell_fn *cell_of(enum dcm_state state, enum dcm_input in)
{
	if (table[state][in])
		return table[state][in];
	return in < DCM_IN_TIMER ? wrong : ignore;
}

enum dcm_input dcm_input_of(uint16_t op)
{
	static const enum dcm_input inputs[DCM_OP_N] = {
		[0] = DCM_IN_N,
		[DCM_REQ] = DCM_IN_REQ,
		[DCM_REP] = DCM_IN_REP,
		[DCM_REJ_USER] = DCM_IN_REJ_USER,
		[DCM_REJ_CM] = DCM_IN_REJ_CM,
		[DCM_RTU] = DCM_IN_RTU,
		[DCM_DREQ] = DCM_IN_DREQ,
		[DCM_DREP] = DCM_IN_DREP,
	};

	return op < DCM_OP_N ? inputs[op] : DCM_IN_N;
}

void dcm_proto_step(struct dcm_proto *p, enum dcm_input in,
		    const struct dcm_step *step, struct dcm_effects *ret_out)
{
	ret_out->n = 0;
	assert(p->state < DCM_STATE_N && in < DCM_IN_N);
	if (in == DCM_IN_QP_READY || in == DCM_IN_QP_FAILED ||
	    in == DCM_IN_QP_SILENT)
		p->moving = false;
	cell_of(p->state, in)(p, step, ret_out);
	/*
	 * From here on no event; what the cell did for a release, it did as
	 * the last act of a connection that is its consumer's.
	 */
	if (in == DCM_IN_RELEASE && !p->released) {
		p->released = true;
		if (p->state == DCM_CLOSED)
			add(ret_out, DCM_DO_FREE);
	}
}

const char *dcm_state_name(enum dcm_state state)
{
	static const char *const names[DCM_STATE_N] = {
		"idle",		"dialing",  "req sent", "rep received",
		"req received", "accepted", "rep sent", "up",
		"dreq sent",	"timewait", "closed",
	};

	return state < DCM_STATE_N ? names[state] : "?";
}

const char *dcm_input_name(enum dcm_input in)
{
	static const char *const names[DCM_IN_N] = {
		"connect", "accept",   "reject",   "disconnect", "release",
		"dialed",  "lost",     "qp ready", "qp failed",	 "qp silent",
		"no way",  "timer",    "ask",	   "vanished",	 "REQ",
		"REP",	   "REJ_USER", "REJ_CM",   "RTU",	 "DREQ",
		"DREP",
	};

	return in < DCM_IN_N ? names[in] : "?";
}
