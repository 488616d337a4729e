/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_entry.c - the plugin libdaploucm.so.2: table of operations and entry
 * points. Contains no logic.
 */
#include "dapl/common/plugin/dapl_register.h"
#include "dapl/openib_ucm/ucm.h"

const struct dapl_cm_ops ucm_ops = {
	.name = "UCM",
	.default_inline = 64,
	.addr_without_port = true,
	.any_qual_last = UINT16_MAX,
	.params = &ucm_param_table,
	.open = ucm_open,
	.close = ucm_close,
	.device_event = ucm_device_event,
	.datagrams = DAPL_PLUGIN_DATAGRAMS,
	DCM_OPS,
};

DAPL_CM_PLUGIN(ucm_ops)
