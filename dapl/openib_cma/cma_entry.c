/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_entry.c - the plugin libdaplofa.so.2: table of operations and entry
 * points. Contains no logic.
 */
#include "dapl/common/plugin/dapl_register.h"
#include "dapl/openib_cma/cma.h"

const struct dapl_cm_ops cma_ops = {
	.name = "CMA",
	.default_inline = 64,
	.datagrams = DAPL_PLUGIN_DATAGRAMS,
	.any_qual_last = UINT16_MAX,
	.bare_rejects = DAPL_PLUGIN_BARE_REJECTS,
	.params = &cma_param_table,
	.open = cma_open,
	.close = cma_close,
	DAPL_CM_BASE_OPS,
	.connect = cma_connect,
	.accept = cma_accept,
	.reject = cma_reject,
	.disconnect = cma_disconnect,
	.release = cma_release,
	.addrs = cma_addrs,
};

DAPL_CM_PLUGIN(cma_ops)
