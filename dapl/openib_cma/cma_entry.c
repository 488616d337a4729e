/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_entry.c - the plugin libdaplofa.so.2: table of operations and entry
 * points.
 *
 * Contains no logic. libdat2 never calls the entry points for one name on two
 * threads at once; the table is constant. What the entry points must do is in
 * dat_registry.h.
 */
#include <dat2/udat.h>

#include <dat2/dat_registry.h>

#include "dapl/openib_cma/cma.h"

const struct dapl_cm_ops cma_ops = {
	.name = "CMA",
	.default_inline = 64,
	.any_qual_last = UINT16_MAX,
	.params = &cma_param_table,
	.open = cma_open,
	.start = dapl_cm_start,
	.stop = dapl_cm_stop,
	.close = cma_close,
	.max_pdata = dapl_cm_max_pdata,
	.listen = dapl_cm_listen,
	.unlisten = dapl_cm_unlisten,
	.prepare = dapl_cm_prepare,
	.connect = cma_connect,
	.accept = cma_accept,
	.reject = cma_reject,
	.disconnect = cma_disconnect,
	.release = cma_release,
	.addrs = cma_addrs,
};

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	dapl_provider_register(&cma_ops, info, instance_data);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	dapl_provider_unregister(&cma_ops, info);
}
