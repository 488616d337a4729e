/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dcm_proto.c - the table of one connection: situations that have a name, and
 * times. All sequences of inputs are the simulator's; what a stream says, byte
 * by byte, is in t_scm_peer.c.
 *
 * Calls covered: dcm_proto_step, dcm_rtt_sample, dcm_input_of, the two names.
 * Each case reads as a talk: does(INPUT, EFFECTS) makes a step and compares
 * what came of it, as text. Times are milliseconds from the beginning; the
 * waiting times are those of old peers, unless the case is about others.
 * Situations and times: doc/cm-protocol.md. One thread.
 */
#include "dapl/common/cm/dcm/dcm_proto.h"

#include <stdio.h>
#include <string.h>

#include "test/unit/case.h"

#define MS    1000ull
#define BEGIN (7000 * MS)

static const struct dcm_rules historic = {
	.rep_wait_us = 800 * MS,
	.rtu_wait_us = 800 * MS,
	.drep_wait_us = 200 * MS,
	.rep_patience_us = 409600 * MS,
	.rtu_patience_us = 409600 * MS,
	.dreq_repeats = 1,
	.timewait_us = 60000 * MS,
};

static const struct dcm_rules over_stream = {
	.stream = true,
	.rtu_patience_us = 30000 * MS,
};

static struct {
	struct dcm_proto p;
	struct dcm_rules rules;
	struct dcm_rtt consumer, peer;
	struct dcm_msg msg;
	uint64_t now_us;
	uint64_t deadline_us; /* 0: not armed */
	struct dcm_effects out;
} t;

/* ----------------------------------------------------- helpers */

static int begin(void **state)
{
	memset(&t, 0, sizeof(t));
	t.rules = historic;
	t.now_us = BEGIN;
	return 0;
}

/* The passive side of it, as if the engine had made it so. */
static int begin_passive(void **state)
{
	begin(state);
	t.p.passive = true;
	t.p.state = DCM_REQ_RCVD;
	return 0;
}

static int begin_stream(void **state)
{
	begin(state);
	t.rules = over_stream;
	return 0;
}

static int begin_stream_passive(void **state)
{
	begin_passive(state);
	t.rules = over_stream;
	return 0;
}

#define ACTIVE(name)	     CASE_WITH(name, begin, NULL)
#define PASSIVE(name)	     CASE_WITH(name, begin_passive, NULL)
#define STREAM(name)	     CASE_WITH(name, begin_stream, NULL)
#define PASSIVE_STREAM(name) CASE_WITH(name, begin_stream_passive, NULL)

static unsigned ms_of(uint64_t us)
{
	return (unsigned)((us - BEGIN) / MS);
}

static const char *event_name(enum dapl_cm_event event)
{
	static const char *const names[DAPL_CM_EVENT_N] = {
		"ESTABLISHED", "PEER_REJECTED", "NON_PEER_REJECTED",
		"UNREACHABLE", "ACCEPT_FAILED", "DISCONNECTED",
		"BROKEN",
	};

	return names[event];
}

static int print_send(char *text, size_t size, const struct dcm_effect *e)
{
	char repeat[8] = "";

	if (e->send.rtns)
		snprintf(repeat, sizeof(repeat), " %u", e->send.rtns);
	return snprintf(text, size, "send %s%s%s", dcm_op_name(e->send.op),
			repeat, e->send.filler ? " filler" : "");
}

static int print_effect(char *text, size_t size, const struct dcm_effect *e)
{
	switch (e->type) {
	case DCM_DO_DIAL:
		return snprintf(text, size, "dial");
	case DCM_DO_SEND:
		return print_send(text, size, e);
	case DCM_DO_ARM:
		return snprintf(text, size, "arm %u", ms_of(e->deadline_us));
	case DCM_DO_DISARM:
		return snprintf(text, size, "disarm");
	case DCM_DO_QP_CONNECT:
		return snprintf(text, size, "qp connect");
	case DCM_DO_QP_ERROR:
		return snprintf(text, size, "qp error");
	case DCM_DO_EVENT:
		return snprintf(text, size, "%s", event_name(e->event));
	case DCM_DO_GONE:
		return snprintf(text, size, "gone");
	case DCM_DO_HANGUP:
		return snprintf(text, size, "hangup");
	case DCM_DO_SAMPLE:
		return snprintf(text, size, "sample %s %u",
				e->sample.consumer ? "consumer" : "peer",
				(unsigned)(e->sample.us / MS));
	case DCM_DO_FREE:
		return snprintf(text, size, "free");
	}
	return 0;
}

static void step(enum dcm_input in)
{
	const struct dcm_step s = {
		.rules = &t.rules,
		.rtt_consumer = &t.consumer,
		.rtt_peer = &t.peer,
		.now_us = t.now_us,
		.msg = in >= DCM_IN_REQ ? &t.msg : NULL,
	};

	dcm_proto_step(&t.p, in, &s, &t.out);
	for (int i = 0; i < t.out.n; i++) {
		if (t.out.e[i].type == DCM_DO_ARM)
			t.deadline_us = t.out.e[i].deadline_us;
		if (t.out.e[i].type == DCM_DO_DISARM)
			t.deadline_us = 0;
	}
}

/* IN has these EFFECTS, separated by commas. */
static void does(enum dcm_input in, const char *effects)
{
	char text[256] = "";
	size_t used = 0;

	step(in);
	for (int i = 0; i < t.out.n; i++) {
		if (i)
			used += (size_t)snprintf(text + used,
						 sizeof(text) - used, ", ");
		used += (size_t)print_effect(text + used, sizeof(text) - used,
					     &t.out.e[i]);
	}
	assert_string_equal(text, effects);
}

/* The consumer does, and its queue pair is moved, with these EFFECTS. */
static void accepts(const char *effects)
{
	does(DCM_IN_ACCEPT, "qp connect");
	does(DCM_IN_QP_READY, effects);
}

static void at(unsigned ms)
{
	t.now_us = BEGIN + ms * MS;
}

/* The timer fires, MS from the beginning. */
static void due(unsigned ms, const char *effects)
{
	assert_int_equal(ms_of(t.deadline_us), ms);
	t.now_us = t.deadline_us;
	t.deadline_us = 0;
	does(DCM_IN_TIMER, effects);
}

/* No hardware address was found: a pause of about a second. */
static void silent(void)
{
	step(DCM_IN_QP_SILENT);
	assert_int_equal(t.out.n, 1);
	assert_int_equal(t.out.e[0].type, DCM_DO_ARM);
	assert_in_range(t.deadline_us - t.now_us, 1000 * MS, 1250 * MS);
}

/* The timer fires, whenever that is. */
static void fire(const char *effects)
{
	due(ms_of(t.deadline_us), effects);
}

static void be_answered(void)
{
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	at(10);
	does(DCM_IN_REP, "sample consumer 10, disarm, qp connect");
}

static void be_up_active(void)
{
	be_answered();
	does(DCM_IN_QP_READY, "send RTU, ESTABLISHED");
}

static void be_up_passive(void)
{
	accepts("send REP, arm 800");
	at(10);
	does(DCM_IN_RTU, "sample peer 10, disarm, ESTABLISHED");
}

/* OP is repeated at 0.8, 1.6, 3.2 ... s, as by old peers, until 409.6 s. */
static void repeats(const char *op)
{
	unsigned ms = 800;
	char text[64];

	for (unsigned k = 1; k <= 9; k++, ms *= 2) {
		snprintf(text, sizeof(text), "send %s %u, arm %u", op, k,
			 2 * ms);
		due(ms, text);
	}
}

/* Nobody answers the goodbye; how often that was noticed. */
static int say_goodbye_in_vain(unsigned *ret_told)
{
	int n = 0;

	*ret_told = 0;
	does(DCM_IN_DISCONNECT, "qp error, send DREQ, arm 210");
	for (; t.p.state == DCM_DREQ_SENT && n < 100; n++) {
		t.now_us = t.deadline_us;
		step(DCM_IN_TIMER);
		for (int i = 0; i < t.out.n; i++)
			*ret_told += t.out.e[i].type == DCM_DO_EVENT;
	}
	return n;
}

/* ------------------------------------------------- active side */

ACTIVE(connect__accepted)
{
	be_up_active();
	assert_int_equal(t.p.state, DCM_UP);
}

ACTIVE(connect__nobody_answers)
{
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	repeats("REQ");
	due(409600, "UNREACHABLE, disarm");
	assert_int_equal(t.p.state, DCM_CLOSED);
	does(DCM_IN_RELEASE, "free");
}

/* DAPL_UCM_RETRY=2: one repeat at 0.8 s, failure at 1.6 s. */
ACTIVE(connect__two_tries)
{
	t.rules.rep_patience_us = 1600 * MS;
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	due(800, "send REQ 1, arm 1600");
	due(1600, "UNREACHABLE, disarm");
}

ACTIVE(connect__req_lost_twice)
{
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	due(800, "send REQ 1, arm 1600");
	due(1600, "send REQ 2, arm 3200");
	at(1700);
	/* To which of them this is the answer cannot be known: no sample. */
	does(DCM_IN_REP, "disarm, qp connect");
	does(DCM_IN_QP_READY, "send RTU, ESTABLISHED");
}

ACTIVE(connect__refused)
{
	static const struct {
		enum dcm_input in;
		const char *effects;
	} rows[] = {
		{DCM_IN_REJ_USER, "PEER_REJECTED, disarm"},
		{DCM_IN_REJ_CM, "NON_PEER_REJECTED, disarm"},
		{DCM_IN_NO_WAY, "UNREACHABLE, disarm"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin(NULL);
		does(DCM_IN_CONNECT, "send REQ, arm 800");
		does(rows[i].in, rows[i].effects);
		does(DCM_IN_REJ_USER, ""); /* repeated */
		does(DCM_IN_RELEASE, "free");
	}
}

ACTIVE(proto_connect__queue_pair_fails)
{
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	does(DCM_IN_REP, "disarm, qp connect");
	does(DCM_IN_QP_FAILED, "qp error, BROKEN, send REJ_CM, arm 60000");
	/* The peer never had the reject, and repeats its REP. */
	does(DCM_IN_REP, "send REJ_CM");
	does(DCM_IN_RELEASE, "");
	due(60000, "free");
}

ACTIVE(connect__rtu_lost)
{
	be_up_active();
	does(DCM_IN_REP, "send RTU");
	does(DCM_IN_REP, "send RTU");
}

/* The peer accepted, its REP was lost, and it has had enough already. */
ACTIVE(connect__disconnected_before_rep)
{
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	does(DCM_IN_DREQ, "NON_PEER_REJECTED, send DREP, arm 60000");
	does(DCM_IN_REP, "send DREQ");
}

/* The consumer's own timeout, or dat_ep_free() while connecting. */
ACTIVE(connect__given_up)
{
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	at(100);
	does(DCM_IN_RELEASE, "send DREQ, arm 300");
	does(DCM_IN_DREP, "arm 60100");
	at(101);
	does(DCM_IN_DREQ, "send DREP");
	due(60100, "free");
}

ACTIVE(connect__given_up_but_accepted)
{
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	does(DCM_IN_RELEASE, "send DREQ, arm 200");
	/* A peer that takes a DREQ ends it at the first. */
	does(DCM_IN_REP, "send DREQ");
	/* One that does not, shows by repeating its REP. */
	t.msg.rtns = 3;
	does(DCM_IN_REP, "send RTU, send DREQ");
	does(DCM_IN_DREP, "arm 60000");
	does(DCM_IN_REP, "send RTU, send DREQ");
}

ACTIVE(connect__rejected_after_it_was_given_up)
{
	does(DCM_IN_CONNECT, "send REQ, arm 800");
	does(DCM_IN_RELEASE, "send DREQ, arm 200");
	does(DCM_IN_REJ_USER, "arm 60000");
	due(60000, "free");
}

ACTIVE(release__of_what_never_began)
{
	does(DCM_IN_RELEASE, "free");
}

/* ------------------------------------------------ passive side */

PASSIVE(accept__rtu_comes)
{
	be_up_passive();
	assert_int_equal(t.p.state, DCM_UP);
	does(DCM_IN_REQ, "");
	does(DCM_IN_RTU, "");
}

PASSIVE(request__repeated_before_the_answer)
{
	does(DCM_IN_REQ, "");
	does(DCM_IN_REQ, "");
	accepts("send REP, arm 800");
}

PASSIVE(accept__rep_lost)
{
	accepts("send REP, arm 800");
	at(300);
	/* The client asks again: it has the answer at once. */
	does(DCM_IN_REQ, "send REP 1");
	due(800, "send REP 2, arm 1600");
	at(900);
	does(DCM_IN_RTU, "disarm, ESTABLISHED");
}

PASSIVE(accept__nobody_answers)
{
	accepts("send REP, arm 800");
	repeats("REP");
	/* The RTUs may have been lost: the peer is told. */
	due(409600, "qp error, ACCEPT_FAILED, send DREQ, arm 409800");
	does(DCM_IN_RELEASE, "");
	does(DCM_IN_DREP, "arm 469600");
}

/* Lost RTU, and the peer disconnects: for it the connection existed. */
PASSIVE(accept__rtu_lost_then_dreq)
{
	accepts("send REP, arm 800");
	t.msg.d_id = 2;
	does(DCM_IN_DREQ, "ESTABLISHED, qp error, DISCONNECTED, send DREP, "
			  "arm 60000");
	does(DCM_IN_DREQ, "send DREP");
	does(DCM_IN_RTU, "");
	does(DCM_IN_RELEASE, "");
	due(60000, "free");
}

/* The same from a peer that never had the REP: it had given up. */
PASSIVE(accept__given_up_by_the_peer)
{
	accepts("send REP, arm 800");
	t.msg.d_id = 0;
	does(DCM_IN_DREQ, "qp error, ACCEPT_FAILED, send DREP, arm 60000");
}

PASSIVE(accept__queue_pair_of_the_peer_fails)
{
	accepts("send REP, arm 800");
	does(DCM_IN_REJ_CM, "qp error, ACCEPT_FAILED, arm 60000");
}

PASSIVE(request__withdrawn)
{
	does(DCM_IN_DREQ, "gone, send DREP, arm 60000");
	/* The consumer was about to accept. */
	does(DCM_IN_ACCEPT, "qp error, ACCEPT_FAILED");
	does(DCM_IN_RELEASE, "");
	due(60000, "free");
}

PASSIVE(reject__lost)
{
	does(DCM_IN_REJECT, "send REJ_USER, arm 60000");
	does(DCM_IN_RELEASE, "");
	does(DCM_IN_REQ, "send REJ_USER");
	due(60000, "free");
}

PASSIVE(request__dropped_by_the_consumer)
{
	does(DCM_IN_RELEASE, "send REJ_CM, arm 60000");
	does(DCM_IN_REQ, "send REJ_CM");
	due(60000, "free");
}

/* The consumer leaves between its accept and the RTU. */
PASSIVE(accept__released_at_once)
{
	accepts("send REP, arm 800");
	does(DCM_IN_RELEASE, "send DREQ, arm 200");
	/* The peer never had our REP: it must not wait for one. */
	does(DCM_IN_REQ, "send REJ_CM, arm 60000");
	due(60000, "free");
}

/* -------------------------------------------------- disconnect */

ACTIVE(disconnect__answered)
{
	be_up_active();
	does(DCM_IN_DISCONNECT, "qp error, send DREQ, arm 210");
	at(15);
	does(DCM_IN_DREP, "sample peer 5, DISCONNECTED, arm 60015");
	does(DCM_IN_RELEASE, "");
	due(60015, "free");
}

/* A copy of the request that was long under way is no answer. */
PASSIVE(disconnect__late_request)
{
	be_up_passive();
	does(DCM_IN_RELEASE, "send DREQ, arm 210");
	does(DCM_IN_REQ, "");
	due(210, "send DREQ 1, arm 410");
}

PASSIVE(disconnect__by_the_peer)
{
	be_up_passive();
	does(DCM_IN_DREQ, "qp error, DISCONNECTED, send DREP, arm 60010");
	/* Our DREP was lost. */
	does(DCM_IN_DREQ, "send DREP");
	/* The consumer's own call crossed it. */
	does(DCM_IN_DISCONNECT, "");
	due(60010, "");
	does(DCM_IN_RELEASE, "free");
}

ACTIVE(disconnect__crossing)
{
	be_up_active();
	does(DCM_IN_DISCONNECT, "qp error, send DREQ, arm 210");
	does(DCM_IN_DREQ, "DISCONNECTED, send DREP, arm 60010");
	does(DCM_IN_DREP, "");
}

/* Old: two tries; the consumer hears of it right after the second. */
ACTIVE(disconnect__nobody_answers)
{
	be_up_active();
	does(DCM_IN_DISCONNECT, "qp error, send DREQ, arm 210");
	due(210, "send DREQ 1, arm 410, DISCONNECTED");
	/* The peer is told for some time longer. */
	due(410, "send DREQ 2, arm 810");
	due(810, "send DREQ 3, arm 1610");
	does(DCM_IN_RELEASE, "");
	does(DCM_IN_DREP, "arm 60810");
}

ACTIVE(disconnect__more_tries_than_there_are)
{
	unsigned told;

	t.rules.dreq_repeats = 100;
	be_up_active();
	say_goodbye_in_vain(&told);
	assert_int_equal(told, 1);
}

ACTIVE(disconnect__without_waiting)
{
	t.rules.dreq_repeats = 0;
	be_up_active();
	does(DCM_IN_DISCONNECT, "qp error, send DREQ, arm 210, DISCONNECTED");
	does(DCM_IN_DREP, "arm 60010");
}

ACTIVE(disconnect__peer_is_dead)
{
	unsigned told;

	be_up_active();
	assert_int_equal(say_goodbye_in_vain(&told), 9); /* the last ends it */
	assert_int_equal(told, 1);
	assert_int_equal(t.p.state, DCM_TIMEWAIT);
	does(DCM_IN_RELEASE, "");
	t.now_us = t.deadline_us;
	does(DCM_IN_TIMER, "free");
}

ACTIVE(disconnect__peer_has_not_had_the_rtu)
{
	be_up_active();
	does(DCM_IN_DISCONNECT, "qp error, send DREQ, arm 210");
	/* It has to have the RTU to understand the DREQ, if it is old. */
	does(DCM_IN_REP, "send RTU, send DREQ");
	does(DCM_IN_DREP, "DISCONNECTED, arm 60010");
}

PASSIVE(release__of_an_established_one)
{
	be_up_passive();
	/* Its queue pair is the consumer's, and no event comes. */
	does(DCM_IN_RELEASE, "send DREQ, arm 210");
	does(DCM_IN_DREQ, "send DREP, arm 60010");
	due(60010, "free");
}

ACTIVE(up__messages_that_mean_nothing)
{
	be_up_active();
	does(DCM_IN_DREP, "");
	does(DCM_IN_RTU, "");
	does(DCM_IN_REJ_USER, "");
	does(DCM_IN_REJ_CM, "");
	does(DCM_IN_REQ, "");
	does(DCM_IN_TIMER, ""); /* stale */
}

/* A message with this count. */
static void comes_with(enum dcm_input in, uint8_t rtns, const char *effects)
{
	t.msg.rtns = rtns;
	does(in, effects);
	t.msg.rtns = 0;
}

PASSIVE(alive__side_that_accepted)
{
	be_up_passive();
	does(DCM_IN_ASK, "send REP 255");
	does(DCM_IN_RTU, ""); /* the answer of old peers and new */
	/* The peer asks; what is no question has no answer. */
	comes_with(DCM_IN_RTU, DCM_RTNS_ASK, "send REP 254");
	comes_with(DCM_IN_RTU, 3, "");
	does(DCM_IN_VANISHED, "qp error, BROKEN, send DREQ, arm 210");
	does(DCM_IN_DREP, "arm 60010");
	does(DCM_IN_RELEASE, "");
}

ACTIVE(alive__side_that_connected)
{
	be_up_active();
	does(DCM_IN_ASK, "send RTU 255");
	comes_with(DCM_IN_REP, DCM_RTNS_ANSWER, "");
	comes_with(DCM_IN_REP, DCM_RTNS_ASK, "send RTU");
	/* An RTU that was lost. */
	comes_with(DCM_IN_REP, 2, "send RTU");
	does(DCM_IN_VANISHED, "qp error, BROKEN, send DREQ, arm 210");
	/* It was there after all: the end is what both have heard. */
	does(DCM_IN_DREQ, "send DREP, arm 60010");
}

/* It was about to be asked, or to be taken for dead, when it ended. */
ACTIVE(alive__over_meanwhile)
{
	be_up_active();
	does(DCM_IN_DISCONNECT, "qp error, send DREQ, arm 210");
	does(DCM_IN_ASK, "");
	does(DCM_IN_VANISHED, "");
	does(DCM_IN_DREP, "DISCONNECTED, arm 60010");
}

/* However often something is repeated, it is no question. */
PASSIVE(alive__repeats_are_no_questions)
{
	accepts("send REP, arm 800");
	t.p.repeats = 1000;
	does(DCM_IN_REQ, "send REP 253");
}

/* ----------------------------------------------- adaptive waits */

static void be_adaptive(void)
{
	t.rules.rep_wait_us = 0;
	t.rules.rtu_wait_us = 0;
	t.rules.drep_wait_us = 0;
}

/* The time that a first REQ waits, with what was measured so far. */
static unsigned first_wait(uint32_t random)
{
	memset(&t.p, 0, sizeof(t.p));
	t.p.random = random;
	t.now_us = BEGIN;
	step(DCM_IN_CONNECT);
	return ms_of(t.deadline_us);
}

ACTIVE(adaptive__before_anything_was_measured)
{
	uint32_t random;

	be_adaptive();
	for (random = 1; random < 1000; random++)
		assert_in_range(first_wait(random * 2654435761u), 400, 500);
	/* Those that start together do not repeat together. */
	assert_int_not_equal(first_wait(1u << 20), first_wait(77u << 20));
}

ACTIVE(adaptive__follows_the_answers)
{
	be_adaptive();
	for (int i = 0; i < 100; i++)
		dcm_rtt_sample(&t.consumer, 200 * MS, BEGIN);
	assert_in_range(t.consumer.mean_us, 190 * MS, 210 * MS);
	assert_in_range(t.consumer.dev_us, 0, 5 * MS);
	assert_in_range(first_wait(5), 295, 380);
	/* Faster than this is no reason to hurry: it waits for people. */
	for (int i = 0; i < 200; i++)
		dcm_rtt_sample(&t.consumer, 1, BEGIN);
	assert_in_range(first_wait(5), 50, 63);
	for (int i = 0; i < 200; i++)
		dcm_rtt_sample(&t.consumer, 100000 * MS, 200000 * MS);
	assert_in_range(first_wait(5), 4000, 5000);
}

ACTIVE(adaptive__pauses_are_bounded_and_so_is_patience)
{
	uint64_t last = BEGIN, pause;
	int repeats = 0;

	be_adaptive();
	step(DCM_IN_CONNECT);
	while (t.p.state == DCM_REQ_SENT) {
		pause = t.deadline_us - last;
		assert_true(pause <= 20000 * MS);
		assert_true(t.deadline_us <= BEGIN + 409600 * MS);
		last = t.now_us = t.deadline_us;
		step(DCM_IN_TIMER);
		repeats++;
	}
	assert_int_equal(ms_of(t.now_us), 409600);
	assert_in_range(repeats, 20, 40);
}

/* What the next answer of the peer, MS after what it answers, does to REP. */
static void peer_answers(unsigned sent_ms, unsigned now_ms)
{
	t.now_us = BEGIN + now_ms * MS;
	dcm_rtt_sample(&t.peer, (now_ms - sent_ms) * MS, t.now_us);
}

/* A REP is sent at 100 ms to a peer that took 10 ms for the one before. */
static void rep_to_a_quick_peer(void)
{
	be_adaptive();
	peer_answers(80, 90);
	does(DCM_IN_ACCEPT, "qp connect");
	t.now_us = BEGIN + 100 * MS;
	step(DCM_IN_QP_READY);
	assert_in_range(ms_of(t.deadline_us), 120, 145);
}

/* The timer is due: says whether that repeats the REP. */
static bool is_repeated(void)
{
	int repeats = t.p.repeats;

	t.now_us = t.deadline_us;
	step(DCM_IN_TIMER);
	assert_true(t.deadline_us > t.now_us);
	return t.p.repeats > repeats;
}

PASSIVE(progress__none_since_the_message)
{
	rep_to_a_quick_peer();
	assert_true(is_repeated());
}

/* Answers to what was sent before, one after the other: then silence. */
PASSIVE(progress__peer_has_not_come_to_it)
{
	rep_to_a_quick_peer();
	for (unsigned ms = 118; ms < 300; ms += 10) {
		peer_answers(100 - 1, ms);
		if (t.deadline_us <= BEGIN + (ms + 9) * MS)
			assert_false(is_repeated());
	}
	while (!is_repeated())
		;
	assert_in_range(ms_of(t.now_us), 300, 1100);
	/* As what was repeated is no measurement, it is no sign of life. */
	peer_answers(100 - 1, ms_of(t.deadline_us) - 1);
	assert_true(is_repeated());
}

PASSIVE(progress__peer_has_answered_something_later)
{
	rep_to_a_quick_peer();
	peer_answers(110, 119);
	assert_true(is_repeated());
}

/* What other peers do says nothing of this one. */
PASSIVE(progress__of_peers_in_general)
{
	rep_to_a_quick_peer();
	t.peer.of_all = true;
	peer_answers(100 - 1, 119);
	assert_true(is_repeated());
}

PASSIVE(progress__is_nothing_to_a_time_that_is_set)
{
	rep_to_a_quick_peer();
	t.rules.rtu_wait_us = 20 * MS;
	peer_answers(100 - 1, 119);
	assert_true(is_repeated());
}

/* Answers to something old come just before each timer. */
static void answer_old_until_repeated(void)
{
	do
		peer_answers(100 - 1, ms_of(t.deadline_us) - 1);
	while (!is_repeated());
}

/* Somebody who always does that does not say how long we wait. */
PASSIVE(progress__puts_off_by_a_second_at_most)
{
	rep_to_a_quick_peer();
	answer_old_until_repeated();
	assert_int_equal(ms_of(t.now_us), 100 + 1000);
	/* And then as always. */
	assert_in_range(ms_of(t.deadline_us), 100 + 2000, 100 + 2250);
}

/* An adapter that is closed waits for two seconds. */
PASSIVE(progress__puts_off_a_goodbye_by_a_second_at_most)
{
	be_up_passive();
	be_adaptive();
	peer_answers(80, 90);
	t.now_us = BEGIN + 100 * MS;
	step(DCM_IN_DISCONNECT);
	answer_old_until_repeated();
	assert_int_equal(ms_of(t.now_us), 100 + 1000);
}

ACTIVE(rtt__first_sample_and_zero)
{
	struct dcm_rtt rtt = {0};

	dcm_rtt_sample(&rtt, 0, BEGIN); /* still counts as one */
	assert_int_equal(rtt.mean_us, 1);
	memset(&rtt, 0, sizeof(rtt));
	dcm_rtt_sample(&rtt, 100, BEGIN);
	assert_int_equal(rtt.mean_us, 100);
	assert_int_equal(rtt.dev_us, 50);
}

/* ------------------------------------------------------ stream */

static void be_asking(void)
{
	does(DCM_IN_CONNECT, "dial");
	does(DCM_IN_DIALED, "send REQ");
}

STREAM(stream__nobody_listens)
{
	does(DCM_IN_CONNECT, "dial");
	does(DCM_IN_LOST, "NON_PEER_REJECTED, hangup");
	does(DCM_IN_RELEASE, "free");
}

STREAM(stream__queue_pair_fails)
{
	be_asking();
	does(DCM_IN_REP, "qp connect");
	/* The end of the stream tells the peer. */
	does(DCM_IN_QP_FAILED, "qp error, BROKEN, disarm, hangup");
}

PASSIVE_STREAM(stream__client_leaves_before_the_rtu)
{
	accepts("send REP, arm 30000");
	t.msg.d_id = 0;
	does(DCM_IN_DREQ, "qp error, ACCEPT_FAILED, send DREP, disarm, hangup");
	does(DCM_IN_LOST, "");
	does(DCM_IN_RELEASE, "free");
}

PASSIVE_STREAM(stream__no_rtu)
{
	accepts("send REP, arm 30000");
	due(30000, "qp error, ACCEPT_FAILED, send DREQ, disarm, hangup");
	does(DCM_IN_RELEASE, "free");
}

/* ------------------------------- while the queue pair is being moved */

ACTIVE(moving__rep_repeated)
{
	be_answered();
	does(DCM_IN_REP, "");
	does(DCM_IN_QP_READY, "send RTU, ESTABLISHED");
}

ACTIVE(moving__peer_ends_it)
{
	be_answered();
	does(DCM_IN_DREQ, "qp error, NON_PEER_REJECTED, send DREP, arm 60010");
	/* What becomes of the queue pair matters no more. */
	does(DCM_IN_QP_READY, "");
	does(DCM_IN_REP, "send DREQ");
	does(DCM_IN_RELEASE, "");
	due(60010, "free");
}

ACTIVE(moving__peer_rejects_after_all)
{
	be_answered();
	does(DCM_IN_REJ_CM, "qp error, NON_PEER_REJECTED, arm 60010");
	does(DCM_IN_QP_FAILED, "");
}

ACTIVE(moving__all_is_stopped)
{
	be_answered();
	does(DCM_IN_RELEASE, "send DREQ, arm 210");
	does(DCM_IN_REP, "send DREQ");
}

/* No hardware address: once more, as long as the peer waits for the RTU. */
ACTIVE(moving__silent_then_ready)
{
	be_answered();
	at(1010);
	silent();
	fire("qp connect");
	does(DCM_IN_REP, "");
	does(DCM_IN_QP_READY, "send RTU, ESTABLISHED");
}

ACTIVE(moving__silent_for_ever)
{
	be_answered();
	at(1010);
	while (t.now_us < BEGIN + 409000 * MS) {
		silent();
		fire("qp connect");
		t.now_us += 1000 * MS;
	}
	at(409610);
	does(DCM_IN_QP_SILENT,
	     "qp error, UNREACHABLE, send REJ_CM, arm 469610");
}

ACTIVE(moving__peer_ends_it_between_two_tries)
{
	be_answered();
	silent();
	does(DCM_IN_DREQ, "qp error, NON_PEER_REJECTED, send DREP, arm 60010");
}

ACTIVE(moving__released_between_two_tries)
{
	be_answered();
	silent();
	does(DCM_IN_RELEASE, "send DREQ, arm 210");
}

PASSIVE(proto_accept__queue_pair_fails)
{
	does(DCM_IN_ACCEPT, "qp connect");
	does(DCM_IN_REQ, "");
	does(DCM_IN_QP_FAILED,
	     "qp error, ACCEPT_FAILED, send REJ_CM, arm 60000");
	does(DCM_IN_REQ, "send REJ_CM");
}

PASSIVE(accept__given_up_while_moving)
{
	does(DCM_IN_ACCEPT, "qp connect");
	t.msg.d_id = 0;
	does(DCM_IN_DREQ, "qp error, ACCEPT_FAILED, send DREP, arm 60000");
	does(DCM_IN_QP_READY, "");
}

PASSIVE(accept__silent_then_ready)
{
	does(DCM_IN_ACCEPT, "qp connect");
	silent();
	fire("qp connect");
	at(2000);
	does(DCM_IN_QP_READY, "send REP, arm 2800");
}

STREAM(stream__lost_while_moving)
{
	be_asking();
	does(DCM_IN_REP, "qp connect");
	does(DCM_IN_LOST, "qp error, NON_PEER_REJECTED, disarm, hangup");
	does(DCM_IN_QP_FAILED, "");
	does(DCM_IN_RELEASE, "free");
}

PASSIVE_STREAM(stream__client_dies_while_moving)
{
	does(DCM_IN_ACCEPT, "qp connect");
	does(DCM_IN_LOST, "qp error, ACCEPT_FAILED, disarm, hangup");
	does(DCM_IN_QP_READY, "");
	does(DCM_IN_RELEASE, "free");
}

/* --------------------------------------------------- datagrams */

static int begin_datagram(void **state)
{
	begin(state);
	t.p.datagram = true;
	return 0;
}

static int begin_datagram_passive(void **state)
{
	begin_passive(state);
	t.p.datagram = true;
	return 0;
}

static int begin_datagram_stream(void **state)
{
	begin_stream(state);
	t.p.datagram = true;
	return 0;
}

static int begin_datagram_stream_passive(void **state)
{
	begin_stream_passive(state);
	t.p.datagram = true;
	return 0;
}

CASE_WITH(datagram__over_when_found, begin_datagram, NULL)
{
	be_answered();
	does(DCM_IN_QP_READY, "send RTU, ESTABLISHED, arm 60010");
	/* RTU lost: for the peer it is not over. */
	does(DCM_IN_REP, "send RTU");
	does(DCM_IN_DREQ, "send DREP");
	does(DCM_IN_RELEASE, "");
	does(DCM_IN_REP, "send RTU");
	due(60010, "free");
}

CASE_WITH(datagram__passive_over_when_found, begin_datagram_passive, NULL)
{
	accepts("send REP, arm 800");
	at(10);
	does(DCM_IN_RTU, "sample peer 10, ESTABLISHED, arm 60010");
	/* late copies: it has had the answer */
	does(DCM_IN_REQ, "");
	does(DCM_IN_RTU, "");
	does(DCM_IN_RELEASE, "");
	due(60010, "free");
}

CASE_WITH(datagram__no_queue_pair_is_touched, begin_datagram_passive, NULL)
{
	does(DCM_IN_ACCEPT, "qp connect");
	does(DCM_IN_QP_FAILED, "ACCEPT_FAILED, send REJ_CM, arm 60000");
	does(DCM_IN_REQ, "send REJ_CM");
}

CASE_WITH(datagram__nobody_answers_the_rep, begin_datagram_passive, NULL)
{
	accepts("send REP, arm 800");
	repeats("REP");
	due(409600, "ACCEPT_FAILED, arm 469600");
	does(DCM_IN_RELEASE, "");
	due(469600, "free");
}

CASE_WITH(datagram__given_up, begin_datagram, NULL)
{
	be_answered();
	does(DCM_IN_RELEASE, "send DREQ, arm 210");
	does(DCM_IN_QP_READY, "");
	at(20);
	does(DCM_IN_DREP, "sample peer 10, arm 60020");
}

CASE_WITH(datagram__stream_hangs_up_when_found, begin_datagram_stream, NULL)
{
	does(DCM_IN_CONNECT, "dial");
	does(DCM_IN_DIALED, "send REQ");
	does(DCM_IN_REP, "qp connect");
	does(DCM_IN_QP_READY, "send RTU, ESTABLISHED, disarm, hangup");
	does(DCM_IN_RELEASE, "free");
}

CASE_WITH(datagram__passive_stream_hangs_up, begin_datagram_stream_passive,
	  NULL)
{
	accepts("send REP, arm 30000");
	does(DCM_IN_RTU, "ESTABLISHED, disarm, hangup");
	does(DCM_IN_LOST, "");
	does(DCM_IN_RELEASE, "free");
}

/* ------------------------------------------------------- names */

ACTIVE(proto_names__of_all)
{
	for (int i = 0; i < DCM_STATE_N; i++)
		assert_string_not_equal(dcm_state_name(i), "?");
	assert_string_equal(dcm_state_name(DCM_STATE_N), "?");
	for (int i = 0; i < DCM_IN_N; i++)
		assert_string_not_equal(dcm_input_name(i), "?");
	assert_string_equal(dcm_input_name(DCM_IN_N), "?");
	assert_int_equal(dcm_input_of(0), DCM_IN_N);
	assert_int_equal(dcm_input_of(UINT16_MAX), DCM_IN_N);
	for (int i = DCM_REQ; i < DCM_OP_N; i++)
		assert_string_equal(dcm_input_name(dcm_input_of((uint16_t)i)),
				    dcm_op_name((uint16_t)i));
}

RUN_CASES(NULL, NULL)
