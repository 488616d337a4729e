/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile.h - strangers who talk to a server of dapltest, for the tests.
 * Rule: see hostile.c.
 */
#ifndef DAPLTEST_HOSTILE_H
#define DAPLTEST_HOSTILE_H

#include "test/dapltest/dapltest.h"

/*
 * Talks to the server at d->server, on the port of the options, in each way.
 * Fails only if there is nobody to talk to.
 */
int dpt_hostile(struct dpt *d);

#endif /* DAPLTEST_HOSTILE_H */
