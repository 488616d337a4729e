/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_meet.h - how the two sides of a test tool find each other: rendezvous,
 * addresses, private data, and connection events in words.
 *
 * Does not connect endpoints. Threads: one.
 * Ownership: sockets and addresses are those of struct dt_run.
 * Rule: the 48 bytes that dtest and dtestcm exchange are historic. What takes
 * a struct dt_run returns 0 or an exit status, having reported it.
 */
#ifndef DTEST_DT_MEET_H
#define DTEST_DT_MEET_H

#include "test/dtest/common/dt_oob.h"
#include "test/dtest/common/dt_report.h"
#include "test/dtest/common/dt_run.h"
#include "test/dtest/common/dt_tool.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define DT_PDATA	48
#define DT_PDATA_CLIENT 1 /* first value of what the client sends */
#define DT_PDATA_SERVER 2 /* and of the answer */

struct dt_address_text {
	char s[INET6_ADDRSTRLEN + 32];
};

struct dt_address_text dt_address_show(const struct sockaddr *addr);

/* Values first, first + 1, ... */
void dt_pdata_fill(uint8_t pdata[DT_PDATA], uint8_t first);
/* Transports may pad, so more than was sent is fine. */
bool dt_pdata_ok(const void *pdata, DAT_COUNT size, uint8_t first);

/*
 * Reports a connection event that is not ESTABLISHED, with what it mostly
 * means. Returns the exit status.
 */
int dt_not_connected(struct dt_report *r, DAT_EVENT_NUMBER number);

/*
 * Server: says where it is. dt_run_listen() comes first, so that a port that
 * is taken shows early; dt_run_answer() waits for a client;
 * dt_run_try_answer() does not, it returns 0 also if there is none.
 */
int dt_run_listen(struct dt_run *run);
int dt_run_answer(struct dt_run *run, const struct dt_oob_params *params);
int dt_run_try_answer(struct dt_run *run, const struct dt_oob_params *params);

/* Whether that client said that it will not connect. Returns 0 or a status. */
int dt_run_declined(struct dt_run *run);

/* Client: where the server is, what it is called, what it runs. */
int dt_run_ask(struct dt_run *run, struct dt_oob_params *ret_params);
/*
 * Where the rendezvous goes both ways: the client tells where it is and what it
 * runs, and the server hears it.
 */
int dt_run_tell(struct dt_run *run, const struct dt_oob_params *params);
int dt_run_hear(struct dt_run *run, struct dt_oob_params *ret_params);
/*
 * Until the server has ended, which may still want an answer of the adapter:
 * what this side sent last may be lost. At once without a rendezvous.
 */
int dt_run_await_server(struct dt_run *run);
/* The server's address is what the name of -h stands for. */
int dt_run_resolve(struct dt_run *run);

#endif /* DTEST_DT_MEET_H */
