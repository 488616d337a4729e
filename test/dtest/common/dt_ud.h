/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_ud.h - datagram endpoints for the test tools: whether there are any, the
 * peers that they find, and how these are given back.
 *
 * Does not make endpoints, and is only for tools of DAT 2.0.
 * Threads: one. Ownership: a peer's address handle is the endpoint's.
 * Rule: IB extension 2.0.9, datagrams. Which provider has them is known by its
 * attribute alone. What returns int returns 0 or an exit status, having
 * reported it.
 */
#ifndef DTEST_DT_UD_H
#define DTEST_DT_UD_H

#include "test/dtest/common/dt_run.h"

#include <dat2/dat_ib_extensions.h>
#include <stdbool.h>

#define DT_UD_GRH 40u /* bytes in front of what is received */

struct dt_ud_peer {
	DAT_IB_ADDR_HANDLE to;
	DAT_CONTEXT context;
};

/* The numbers of connection events: [1] those of datagram endpoints. */
struct dt_ud_numbers {
	DAT_EVENT_NUMBER request, established, rejected;
};
extern const struct dt_ud_numbers dt_ud_numbers[2];

/* The adapter, which is open, has datagram endpoints. */
int dt_ud_need(struct dt_run *run);

/* What an event says that tells of a peer found. PASSIVE: by its request. */
int dt_ud_found(struct dt_report *r, bool passive, const DAT_EVENT *event,
		struct dt_ud_peer *ret_peer);

/* Frees the address handle and the record of its connection. */
int dt_ud_forget(struct dt_report *r, DAT_EP_HANDLE ep,
		 struct dt_ud_peer *peer);

#endif /* DTEST_DT_UD_H */
