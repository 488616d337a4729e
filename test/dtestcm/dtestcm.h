/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dtestcm.h - what the parts of dtestcm share: options, connections, steps.
 *
 * Does not move data: only connections are made, held and ended.
 * Threads: one. Ownership: struct dtcm owns every object; dtcm_close()
 * releases what there is, at any point.
 * Rule: qualifiers, private data and the order of what travels are those of
 * the historic tool, so that either side may be replaced by it.
 * What returns int returns 0 or an exit status, having reported it.
 */
#ifndef DTESTCM_DTESTCM_H
#define DTESTCM_DTESTCM_H

#include "test/dtest/common/dt_meet.h"
#include "test/dtest/common/dt_run.h"
#include "test/dtest/common/dt_stats.h"
#include "test/dtest/common/dt_ud.h"

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

#define DTCM_PROVIDER "ofa-v2-ib0"
#define DTCM_COUNT    1000u
#define DTCM_BURST    100u
#define DTCM_MAX      100000u
/* What its servers say they run, beside the modes of dtest. */
#define DTCM_MODE    16
#define DTCM_MODE_UD 17
#define DTCM_UD_SIZE 2048 /* of messages that datagram endpoints may send */

struct dtcm_opts {
	struct dt_run_opts run;
	uint32_t count;
	uint32_t burst;
	bool burst_given;
	bool window;	 /* keep a burst under way, not one after another */
	bool many_ports; /* one listener per slot of a burst */
	bool wait;
	bool ud;
	uint32_t delay_s;
	struct dt_opt_list ramp; /* bursts of steps; n 0: one step */
	uint32_t reject;	 /* percent of requests the server turns down */
	uint32_t hold_s;
	uint32_t warmup;
};

enum dtcm_state {
	DTCM_IDLE,
	DTCM_ASKED, /* connected or accepted, event to come */
	DTCM_UP,
	DTCM_LEAVING, /* disconnected, event to come */
	DTCM_DOWN,
	DTCM_REJECTED,
	DTCM_FAILED,
	DTCM_STATE_N,
};

struct dtcm_conn {
	DAT_EP_HANDLE ep;
	enum dtcm_state state;
	uint64_t mark;		/* when it was asked to do what it does */
	struct dt_ud_peer peer; /* of a datagram endpoint that is UP */
};

/* Set-up times beside those of struct dt_run. */
struct dtcm_times {
	uint64_t ep_create_ns; /* of all */
	uint64_t ep_free_ns;
	uint64_t connect_ns; /* of the steps together */
};

struct dtcm {
	struct dt_run run;
	const struct dtcm_opts *o;
	DAT_EVD_HANDLE cm_evd; /* requests and connections */
	DAT_EVD_HANDLE req_evd;
	DAT_EVD_HANDLE rcv_evd;
	DAT_PSP_HANDLE *psps;
	uint32_t psp_count;
	struct dtcm_conn *conns;
	uint32_t states[DTCM_STATE_N]; /* how many connections are in each */
	DAT_CR_HANDLE *requests;       /* arrived and not yet answered */
	uint32_t request_count;
	uint32_t request_first; /* of a ring of 2 * count */
	uint32_t burst;		/* of this step */
	bool met;		/* a request came, or the server was found */
	uint64_t connect_ns;
	uint64_t leave_ns;
	struct dt_samples connects;
	struct dt_samples leaves;
	long kb_before, kb_after;
	struct dtcm_times total;
};

/* options.c */

/* As dt_opt_parse(). */
int dtcm_parse(int argc, char **argv, FILE *out, FILE *err,
	       struct dtcm_opts *ret_opts);
/* How many steps there are, and the burst of one. */
uint32_t dtcm_steps(const struct dtcm_opts *o);
uint32_t dtcm_burst(const struct dtcm_opts *o, uint32_t step);
/* Whether the server turns down request `index` of a step. */
bool dtcm_rejects(uint32_t percent, uint32_t index);
/* What the server tells, and what a client makes of it: NULL, or why not. */
struct dt_oob_params dtcm_params(const struct dtcm_opts *o);
const char *dtcm_mismatch(const struct dtcm_opts *o,
			  const struct dt_oob_params *theirs);

/* setup.c */

int dtcm_open(struct dtcm *c);
int dtcm_close(struct dtcm *c, int rc);
/* The endpoints of a step. */
int dtcm_make_eps(struct dtcm *c);
int dtcm_free_eps(struct dtcm *c, int rc);

/* conn.c: events and what they do to connections. */

void dtcm_set(struct dtcm *c, struct dtcm_conn *conn, enum dtcm_state state);
/* Takes what is there without waiting; then at least one event. */
int dtcm_take(struct dtcm *c);
int dtcm_wait(struct dtcm *c, uint64_t limit_ns, const char *what);
/* Connections of which no event is to come in this phase. */
uint32_t dtcm_settled(const struct dtcm *c);
/* All are down; `limit_ns` for each event. */
int dtcm_wait_down(struct dtcm *c, uint64_t limit_ns);
/* Datagram endpoints: gives back what they found, which is their end. */
int dtcm_forget(struct dtcm *c);
/* Ends what an error left behind, without insisting. */
void dtcm_hang_up(struct dtcm *c);

/* server.c, client.c: one step, its endpoints made. */

int dtcm_listen(struct dtcm *c);
int dtcm_serve(struct dtcm *c);
int dtcm_call(struct dtcm *c);

/* report.c */

long dtcm_private_kb(void);
void dtcm_report_step(struct dtcm *c);
void dtcm_print_times(struct dtcm *c);

#endif /* DTESTCM_DTESTCM_H */
