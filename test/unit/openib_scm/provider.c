/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* provider.c - how tests open SCM; see provider.h. */
#include "test/unit/provider.h"
#include "dapl/openib_scm/scm.h"

#include <unistd.h>

/* A TCP port, and other programs run at the same time. */
static DAT_CONN_QUAL qual(void)
{
	return (DAT_CONN_QUAL)(10000 + getpid() % 1000 * 20);
}

struct world_provider world_provider = {
	.ops = &scm_ops,
	.params_a = "fake0 1",
	.params_b = "fake1 1",
	.addr_b = "127.0.0.1",
	.qual = qual,
};
