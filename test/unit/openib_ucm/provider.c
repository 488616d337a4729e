/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* provider.c - how tests open UCM; see provider.h. */
#include "test/unit/provider.h"
#include "dapl/openib_ucm/ucm.h"

static DAT_CONN_QUAL qual(void)
{
	return 5000;
}

struct world_provider world_provider = {
	.ops = &ucm_ops,
	.params_a = "fake0 1",
	.params_b = "fake1 1",
	.addr_b = "",
	.qual = qual,
};
