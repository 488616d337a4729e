/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_entry.c - the plugin libdaploscm.so.2: table of operations and entry
 * points. Contains no logic.
 */
#include "dapl/common/plugin/dapl_register.h"
#include "dapl/openib_scm/scm.h"

const struct dapl_cm_ops scm_ops = {
	.name = "SCM",
	.default_inline = 200,
	.any_qual_last = SCM_ANY_QUAL_LAST,
	.params = &scm_param_table,
	.open = scm_open,
	.close = scm_close,
	.device_event = dcm_device_event,
	.datagrams = DAPL_PLUGIN_DATAGRAMS,
	DCM_OPS,
};

DAPL_CM_PLUGIN(scm_ops)
