/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* provider.c - how tests open CMA; see provider.h. */
#include "test/unit/provider.h"
#include "dapl/openib_cma/cma.h"

static DAT_CONN_QUAL qual(void)
{
	return 5000;
}

struct world_provider world_provider = {
	.ops = &cma_ops,
	.params_a = "10.0.0.1 0",
	.params_b = "10.0.0.2 0",
	.addr_b = "10.0.0.2",
	.qual = qual,
};
