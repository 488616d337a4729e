/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_proto.h - the protocol of one connection, as a pure table.
 *
 * (state, input, now) -> (state, effects). No lock, clock, allocation or I/O:
 * a simulation drives it with the very code that runs in a provider. Demands
 * no more of its surroundings than that effects are carried out in order
 * before the next input, and that a message that is sent may be lost (or not,
 * when the rules say stream).
 *
 * What each state means to the peer is in doc/cm-protocol.md.
 */
#ifndef DCM_PROTO_H
#define DCM_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl/common/cm/base/dapl_cm_event.h"
#include "dapl/common/cm/dcm/dcm_msg.h"

/* Constant for all connections of an instance. Times in microseconds. */
struct dcm_rules {
	/*
	 * Messages arrive once and in order or not at all, the end of the
	 * stream says goodbye, and nothing is repeated.
	 */
	bool stream;
	/* First wait for an answer; 0: adapts to what answers take. */
	uint64_t rep_wait_us;
	uint64_t rtu_wait_us;
	uint64_t drep_wait_us;
	/* How long an answer is waited for in all. */
	uint64_t rep_patience_us;
	uint64_t rtu_patience_us;
	/* Until the consumer is told without an answer; at most 8 count. */
	int dreq_repeats;
	uint64_t timewait_us;
	/* From one question whether a peer is there to the next; 0: none. */
	int keepalive_ms;
};

/* How long answers take: smoothed mean and deviation, as TCP has them. */
struct dcm_rtt {
	uint64_t mean_us; /* 0: nothing measured yet */
	uint64_t dev_us;
	uint64_t last_us;   /* when the last answer came */
	uint64_t newest_us; /* when what was sent last of all answered was */
	bool of_all; /* of peers in general: shortens a wait, lengthens none */
};

enum dcm_state {
	DCM_IDLE,
	DCM_DIALING,   /* active, stream: the stream is being set up */
	DCM_REQ_SENT,  /* active: REQ under way */
	DCM_REP_RCVD,  /* active: the queue pair is being moved */
	DCM_REQ_RCVD,  /* passive: the consumer has the request */
	DCM_ACCEPTED,  /* passive: the queue pair is being moved */
	DCM_REP_SENT,  /* passive: accepted, REP under way */
	DCM_UP,	       /* established */
	DCM_DREQ_SENT, /* DREQ under way */
	DCM_TIMEWAIT,  /* over; late messages are still answered */
	DCM_CLOSED,    /* over */
	DCM_STATE_N
};

enum dcm_input {
	DCM_IN_CONNECT, /* calls of the consumer */
	DCM_IN_ACCEPT,
	DCM_IN_REJECT,
	DCM_IN_DISCONNECT,
	DCM_IN_RELEASE, /* no more upcalls, nor the result of a move */
	DCM_IN_DIALED,	/* stream: set up */
	/* Stream: ended, or could not be set up. Datagrams: the peer that was
	 * is no more. */
	DCM_IN_LOST,
	DCM_IN_QP_READY, /* results of DCM_DO_QP_CONNECT */
	DCM_IN_QP_FAILED,
	DCM_IN_QP_SILENT, /* no hardware address of the peer, in time */
	DCM_IN_NO_WAY,	  /* datagrams: none leads to the peer, nor will */
	DCM_IN_TIMER,
	DCM_IN_ASK,	 /* datagrams: whether the peer is there */
	DCM_IN_VANISHED, /* it is not */
	DCM_IN_REQ,	 /* messages; REQ only as a repeat */
	DCM_IN_REP,
	DCM_IN_REJ_USER,
	DCM_IN_REJ_CM,
	DCM_IN_RTU,
	DCM_IN_DREQ,
	DCM_IN_DREP,
	DCM_IN_N
};

/* The input that a message of OP is; DCM_IN_N when it is none. */
enum dcm_input dcm_input_of(uint16_t op);

enum dcm_effect_type {
	DCM_DO_DIAL,
	DCM_DO_SEND,
	DCM_DO_ARM, /* the one timer, anew */
	DCM_DO_DISARM,
	/* Begin to move the queue pair to RTS; of datagrams, to find the peer.
	 * The result is an input, once, after whatever may come in between.
	 * Always the last effect. */
	DCM_DO_QP_CONNECT,
	DCM_DO_QP_ERROR,
	DCM_DO_EVENT,
	DCM_DO_GONE, /* the peer of an unanswered request went away */
	DCM_DO_HANGUP,
	DCM_DO_SAMPLE, /* an answer took that long */
	DCM_DO_FREE,   /* released and over: the last effect ever */
};

struct dcm_effect {
	enum dcm_effect_type type;
	union {
		struct {
			enum dcm_op op;
			uint8_t rtns;
			/* The other header for peers of version 7 and less. */
			bool filler;
		} send;
		uint64_t deadline_us;
		enum dapl_cm_event event;
		struct {
			bool consumer; /* includes the peer's consumer's time */
			uint64_t us, now_us;
		} sample;
	};
};

#define DCM_EFFECTS_MAX 6

struct dcm_effects {
	int n;
	struct dcm_effect e[DCM_EFFECTS_MAX];
};

/* One connection. All zero is DCM_IDLE; set the fields of the first group. */
struct dcm_proto {
	bool passive;
	/*
	 * Between datagram endpoints: what is set up is how each finds the
	 * other. It is over then, with ESTABLISHED as its last event, and a
	 * queue pair has no part in it but to be named.
	 */
	bool datagram;
	uint32_t random; /* state of the jitter's generator; any value */

	enum dcm_state state;
	bool released;
	bool told;	 /* the last event was made */
	bool up;	 /* RTU was sent or came, so there was a connection */
	bool filler;	 /* stream, active: second attempt */
	bool moving;	 /* the result of DCM_DO_QP_CONNECT is to come */
	uint8_t last_op; /* last message sent */
	int repeats;
	uint64_t first_us; /* when what is under way was first sent */
	uint64_t wait_us;  /* time between that and the next repeat */
};

/* What a step looks at beside the connection. MSG with inputs that are one. */
struct dcm_step {
	const struct dcm_rules *rules;
	const struct dcm_rtt *rtt_consumer; /* REQ to REP */
	const struct dcm_rtt *rtt_peer;	    /* REP to RTU, DREQ to DREP */
	uint64_t now_us;
	const struct dcm_msg *msg;
};

void dcm_proto_step(struct dcm_proto *p, enum dcm_input in,
		    const struct dcm_step *step, struct dcm_effects *ret_out);

/* An answer that came at NOW_US took US. */
void dcm_rtt_sample(struct dcm_rtt *rtt, uint64_t us, uint64_t now_us);

const char *dcm_state_name(enum dcm_state state);
const char *dcm_input_name(enum dcm_input in);

#endif
