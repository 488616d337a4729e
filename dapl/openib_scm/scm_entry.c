/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_entry.c - the plugin libdaploscm.so.2: table of operations and entry
 * points.
 *
 * Contains no logic. libdat2 never calls the entry points for one name on two
 * threads at once; the table is constant. What the entry points must do is in
 * dat_registry.h.
 */
#include <dat2/udat.h>

#include <dat2/dat_registry.h>

#include "dapl/openib_scm/scm.h"

const struct dapl_cm_ops scm_ops = {
	.name = "SCM",
	.default_inline = 200,
	.any_qual_last = SCM_ANY_QUAL_LAST,
	.params = &scm_param_table,
	.open = scm_open,
	.start = dapl_cm_start,
	.stop = dapl_cm_stop,
	.close = scm_close,
	.max_pdata = dapl_cm_max_pdata,
	.listen = dapl_cm_listen,
	.unlisten = dapl_cm_unlisten,
	.prepare = dapl_cm_prepare,
	.connect = dcm_connect,
	.accept = dcm_accept,
	.reject = dcm_reject,
	.disconnect = dcm_disconnect,
	.release = dcm_release,
	.addrs = dcm_addrs,
};

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	dapl_provider_register(&scm_ops, info, instance_data);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	dapl_provider_unregister(&scm_ops, info);
}
