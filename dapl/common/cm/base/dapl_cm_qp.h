/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_qp.h - what a queue pair needs to get to RTR and RTS: depths of
 * reads, and the steps.
 *
 * Pure: functions of their arguments and of what the device says of itself.
 */
#ifndef DAPL_CM_QP_H
#define DAPL_CM_QP_H

#include "dapl/common/cm/base/dapl_cm.h"

/* Depths of RDMA reads that a connection may use at most. */
struct dapl_cm_depths {
	uint8_t responder_resources; /* the peer's reads here:
					max_dest_rd_atomic */
	uint8_t initiator_depth;     /* our reads there: max_rd_atomic */
};

/* What EP and device allow. */
struct dapl_cm_depths dapl_cm_depths_own(const struct vb_dev *dev,
					 const struct dapl_cm_qp *qp);

/* Where a queue pair is to be connected to, and with how much patience. */
struct dapl_cm_way {
	struct ibv_ah_attr av;
	uint32_t qpn;
	uint8_t mtu; /* enum ibv_mtu */
	uint8_t ack_timer, ack_retry;
	uint8_t rnr_timer, rnr_retry;
};

/*
 * From INIT to RTR and RTS, for connection managers that have nobody to tell
 * them the attributes. Packets are numbered from the same in both directions,
 * since the two sides never tell one another.
 */
#define DAPL_CM_FIRST_PSN 1
#define DAPL_CM_WAY_STEPS 2
void dapl_cm_way_steps(const struct vb_dev *dev, const struct dapl_cm_way *way,
		       struct dapl_cm_depths depths,
		       struct vb_qp_step *ret_steps);

/*
 * Why nothing can be sent to queue pair QPN by AV; NULL: it can. What a peer
 * says of itself is not to be trusted: drivers differ in what they check, and
 * a group or nothing is nowhere to send to.
 */
const char *dapl_cm_av_wrong(const struct vb_dev *dev,
			     const struct ibv_ah_attr *av, uint32_t qpn);

static inline uint8_t dapl_cm_lesser(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

#endif
