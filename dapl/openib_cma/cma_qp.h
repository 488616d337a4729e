/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_qp.h - how a queue pair is moved that rdma_cm does not own.
 *
 * The endpoint owns its queue pair, on a device context of its own, so an
 * rdma_cm id never has one: librdmacm moves nothing, and we apply the
 * attributes that it has for each state, as it would have done.
 * Any thread, no lock held.
 */
#ifndef CMA_QP_H
#define CMA_QP_H

#include <rdma/rdma_cma.h>

#include "dapl/common/cm/base/dapl_cm_qp.h"

/*
 * The steps, *RET_N of them, that make a queue pair ready for the connection
 * of ID: INIT again, RTR and RTS. On iWARP it stays in INIT, the kernel moves
 * it later. -ECONNABORTED: rdma_cm knows of no connection any more.
 */
int cma_qp_steps(const struct vb_dev *dev, struct rdma_cm_id *id,
		 struct dapl_cm_depths max, struct vb_qp_step *ret_steps,
		 int *ret_n);

#endif
