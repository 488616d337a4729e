/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dtestsrq.h - what the parts of dtestsrq share: options, endpoints, phases.
 *
 * Threads: one. Ownership: struct dsrq owns every object; dsrq_close()
 * releases what there is, at any point.
 * Rule: qualifier, private data, messages and their order are those of the
 * historic tool, so that either side may be replaced by it.
 * What returns int returns 0 or an exit status, having reported it.
 */
#ifndef DTESTSRQ_DTESTSRQ_H
#define DTESTSRQ_DTESTSRQ_H

#include "test/dtest/common/dt_meet.h"
#include "test/dtest/common/dt_run.h"
#include "test/dtest/common/dt_stats.h"
#include "test/dtest/common/dt_ud.h"

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

#define DSRQ_PROVIDER	"ofa-v2-ib0"
#define DSRQ_COUNT	1u
#define DSRQ_MESSAGES	1u
#define DSRQ_BURSTS	3u
#define DSRQ_MAX	100u
#define DSRQ_BURSTS_MAX 65535u
#define DSRQ_HEADER	12   /* bytes at the start of each message */
#define DSRQ_SIZE	1024 /* where the provider does not tell its MTU */
/* What its servers say they run, beside the modes of the other tools. */
#define DSRQ_MODE    32
#define DSRQ_MODE_UD 33

enum dsrq_last {
	DSRQ_LAST_NONE, /* do not look for it */
	DSRQ_LAST_TRY,	/* say whether it came */
	DSRQ_LAST_NEED, /* fail without it */
};

struct dsrq_opts {
	struct dt_run_opts run;
	uint32_t count;	   /* connections */
	uint32_t messages; /* per connection and burst */
	uint32_t bursts;
	uint32_t size; /* 0: MTU */
	uint32_t srq;  /* 0: each endpoint receives for itself */
	bool ud;
	bool direct; /* no rendezvous: the address of -h */
	bool poll;
	uint32_t low_water; /* 0: no */
	uint32_t resize;    /* 0: no */
	uint32_t last;	    /* enum dsrq_last */
	uint32_t warmup;
};

/* One end of a connection. */
struct dsrq_ep {
	DAT_EP_HANDLE ep; /* of datagrams, and a client: that of the first */
	bool asked;
	bool up;
	bool last_seen;		/* the event of its last receive */
	uint32_t sent;		/* messages */
	uint32_t received;	/* messages */
	struct dt_ud_peer peer; /* of datagrams that are up */
};

struct dsrq {
	struct dt_run run;
	const struct dsrq_opts *o;
	uint32_t size;	/* of a message */
	uint32_t flow;	/* messages of a burst, over all connections */
	uint32_t slots; /* receive buffers */
	uint32_t grh;	/* bytes in front of what is received */
	DAT_EVD_HANDLE cm_evd;
	DAT_EVD_HANDLE req_evd;
	DAT_EVD_HANDLE rcv_evd;
	DAT_SRQ_HANDLE srq;
	DAT_PSP_HANDLE psp;
	struct dsrq_ep eps[DSRQ_MAX];
	uint32_t ep_count; /* endpoints that there are: all, or the first */
	uint32_t up;	   /* connections */
	struct dt_region rbuf;
	struct dt_region sbuf;
	uint32_t *taken; /* slots to be posted again */
	uint32_t taken_count;
	bool met; /* a client came */
	struct dt_samples bursts;
};

/* options.c */

/* As dt_opt_parse(). */
int dsrq_parse(int argc, char **argv, FILE *out, FILE *err,
	       struct dsrq_opts *ret_opts);
/* What the server tells, and what a client makes of it: NULL, or why not. */
struct dt_oob_params dsrq_params(const struct dsrq_opts *o, uint32_t size);
const char *dsrq_mismatch(const struct dsrq_opts *o,
			  const struct dt_oob_params *theirs);

/* message.c: pure. */

/* What is wrong with a message; what is "" if nothing is. */
struct dsrq_fault {
	const char *what;
	uint32_t got, want;
};

/* Message `number` (from 1) of endpoint `ep`. */
void dsrq_fill(uint8_t *msg, uint32_t size, bool server, uint32_t ep,
	       uint32_t number);
struct dsrq_fault dsrq_check(const uint8_t *msg, uint32_t size,
			     bool from_server, uint32_t ep, uint32_t number);
/* The endpoint that it names. */
uint32_t dsrq_sender(const uint8_t *msg);

/* setup.c */

int dsrq_open(struct dsrq *d);
int dsrq_close(struct dsrq *d, int rc);

/* connect.c */

int dsrq_connect(struct dsrq *d);
int dsrq_disconnect(struct dsrq *d);
/* Ends what an error left behind, without insisting. */
void dsrq_hang_up(struct dsrq *d);
/* Whether all messages come to one endpoint. */
bool dsrq_shares_ep(const struct dsrq *d);
/* The endpoint's number, or -1. */
int dsrq_index(struct dsrq *d, DAT_EP_HANDLE ep);

/* queue.c: receives, and what only a shared queue can do. */

int dsrq_post_recv(struct dsrq *d, uint32_t slot);
/* Posts again what was taken. */
int dsrq_refill(struct dsrq *d);
int dsrq_arm_low_water(struct dsrq *d);
int dsrq_check_low_water(struct dsrq *d);
int dsrq_resize(struct dsrq *d);
int dsrq_check_last(struct dsrq *d);

/* exchange.c */

int dsrq_exchange(struct dsrq *d);

#endif /* DTESTSRQ_DTESTSRQ_H */
