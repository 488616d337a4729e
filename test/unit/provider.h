/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * provider.h - what the fixtures, world.h and cm_world.h, need to know of the
 * provider under test. Each provider's folder has one provider.c, and a test
 * program links that of its provider and no other (but for test/sched).
 */
#ifndef PROVIDER_H
#define PROVIDER_H

#include "dapl/common/cm/base/dapl_cm.h"

struct world_provider {
	const struct dapl_cm_ops *ops;
	/* How its instances on two devices are opened. */
	const char *params_a, *params_b;
	const char *addr_b; /* of the second, where others reach it */
	/* Where a test may listen, on a system with other tests. */
	DAT_CONN_QUAL (*qual)(void);
};

/* Not constant: test/sched links all of them, and each run chooses. */
extern struct world_provider world_provider;

#endif
