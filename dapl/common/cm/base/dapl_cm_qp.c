/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_qp.c - depths of reads and steps of queue pairs; see the header.
 *
 * Does not look at partitions: a queue pair has its partition from the day it
 * was made. No lock, no state.
 * Rule: attributes are those of the historic providers, packet sequence
 * numbers included. The defaults that differ are told in doc/dapl-env.7.
 */
#include "dapl/common/cm/base/dapl_cm_qp.h"

#include <string.h>

#include "dapl/common/cm/base/dapl_addr.h"

#define QPN_MAX	   0xffffff
#define LID_GROUPS 0xc000 /* from here on */

static uint8_t limited(uint8_t wanted, int limit)
{
	if (limit < 0)
		return 0;
	return limit < wanted ? (uint8_t)limit : wanted;
}

struct dapl_cm_depths dapl_cm_depths_own(const struct vb_dev *dev,
					 const struct dapl_cm_qp *qp)
{
	return (struct dapl_cm_depths){
		.responder_resources = limited(qp->responder_resources,
					       dev->attr.max_qp_rd_atom),
		.initiator_depth = limited(qp->initiator_depth,
					   dev->attr.max_qp_init_rd_atom),
	};
}

void dapl_cm_way_steps(const struct vb_dev *dev, const struct dapl_cm_way *way,
		       struct dapl_cm_depths depths,
		       struct vb_qp_step *ret_steps)
{
	struct ibv_qp_attr *rts = &ret_steps[1].attr;

	ret_steps[0] = (struct vb_qp_step){
		.attr = {.qp_state = IBV_QPS_RTR,
			 .ah_attr = way->av,
			 .path_mtu = (enum ibv_mtu)way->mtu,
			 .dest_qp_num = way->qpn,
			 .rq_psn = DAPL_CM_FIRST_PSN,
			 .max_dest_rd_atomic = depths.responder_resources,
			 .min_rnr_timer = way->rnr_timer},
		.mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	};
	ret_steps[1] = (struct vb_qp_step){
		.attr = {.qp_state = IBV_QPS_RTS,
			 .timeout = way->ack_timer,
			 .retry_cnt = way->ack_retry,
			 .rnr_retry = way->rnr_retry,
			 .sq_psn = DAPL_CM_FIRST_PSN,
			 .max_rd_atomic = depths.initiator_depth},
		.mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC,
	};
	/* A peer like this device may take that long to acknowledge. */
	if (rts->timeout < dev->attr.local_ca_ack_delay)
		rts->timeout = dev->attr.local_ca_ack_delay;
}

const char *dapl_cm_av_wrong(const struct vb_dev *dev,
			     const struct ibv_ah_attr *av, uint32_t qpn)
{
	static const union ibv_gid null;
	const union ibv_gid *gid = &av->grh.dgid;

	if (qpn > QPN_MAX)
		return "no queue pair has its number";
	if (!dev->ethernet && av->dlid >= LID_GROUPS)
		return "its LID is a group's";
	if (!av->is_global)
		return av->dlid ? NULL : "it has no LID";
	if (!memcmp(gid, &null, sizeof(null)))
		return "it has no GID";
	if (gid->raw[0] == 0xff ||
	    (dapl_addr_gid_is_v4(gid->raw) && (gid->raw[12] & 0xf0) == 0xe0))
		return "its GID is a group's";
	return NULL;
}
