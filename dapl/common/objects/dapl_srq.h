/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_srq.h - dat_srq_*: shared receive queues. */
#ifndef DAPL_SRQ_H
#define DAPL_SRQ_H

#include "dapl/common/transfer/dapl_srq_queue.h"

/* A verbs async event about SRQ. */
void dapl_srq_async(struct dapl_srq *srq, enum ibv_event_type type);

DAT_RETURN dapl_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			   DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *ret_srq);
DAT_RETURN dapl_srq_free(DAT_SRQ_HANDLE handle);
DAT_RETURN dapl_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask,
			  DAT_SRQ_PARAM *ret_param);
DAT_RETURN dapl_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_recv_dtos);
DAT_RETURN dapl_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark);

#endif
