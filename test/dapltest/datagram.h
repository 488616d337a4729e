/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * datagram.h - what is different where the ends of a test are datagram
 * endpoints (UD).
 *
 * Not in dapltest1: DAT 1.2 has none. Threads, ownership: see end.h.
 * Rule: IB extension 2.0.9, datagrams.
 */
#ifndef DAPLTEST_DATAGRAM_H
#define DAPLTEST_DATAGRAM_H

#include "test/dapltest/end.h"

/* Whether E is one; a constant in dapltest1, which so needs none of these. */
#define DPT_IS_UD(e) (DAT_FACE == 2 && (e)->ud)

void dpt_ud_attr(DAT_EP_ATTR *attr);
/* Makes an event that of a connected endpoint, the length what was sent. */
void dpt_ud_as_plain(DAT_EVENT *event);
/* The event, as it came, tells of the peer. */
int dpt_ud_found(struct dpt *d, struct dpt_end *e, const DAT_EVENT *event);
int dpt_ud_forget(struct dpt *d, struct dpt_end *e);
DAT_RETURN dpt_ud_post_send(struct dpt_end *e, DAT_COUNT segs,
			    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie);

#endif /* DAPLTEST_DATAGRAM_H */
