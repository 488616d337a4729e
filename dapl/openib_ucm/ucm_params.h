/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_params.h - what the environment says of the provider; its table is in
 * ucm.c. Constant once an IA is open.
 */
#ifndef UCM_PARAMS_H
#define UCM_PARAMS_H

#include "dapl/common/cm/dcm/dcm_path.h"

struct ucm_params {
	struct dcm_path_params path; /* must stay first */
	int retry;	  /* tries; -1: as long as the defaults say */
	int rep_time_ms;  /* -1: adapts */
	int rtu_time_ms;  /* -1: adapts */
	int drep_time_ms; /* -1: adapts */
	int dreq_retry;
	int wait_time_ms;
	int qp_size; /* -1: the provider's own */
	int cq_size; /* -1: what the queue pair needs */
	int tx_burst;
	int array_bits;
};

extern const struct dapl_param_table ucm_param_table;

#endif
