/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_qp.c - how a queue pair is moved that rdma_cm does not own. Decides
 * nothing about connections.
 *
 * The endpoint owns its queue pair, on a device context of its own, so an
 * rdma_cm id never has one: librdmacm moves nothing, and we apply the
 * attributes that it has for each state, in the order in which it would.
 */
#include "dapl/openib_cma/cma_conn.h"

#include <errno.h>
#include <string.h>

/* Attribute bits beyond IBV_QP_DEST_QPN that old kernels set by mistake. */
#define STRAY_MASK 0x1e00000

static int fetch(struct rdma_cm_id *id, enum ibv_qp_state state,
		 struct vb_qp_step *ret_step)
{
	memset(ret_step, 0, sizeof(*ret_step));
	ret_step->attr.qp_state = state;
	return rdma_init_qp_attr(id, &ret_step->attr, &ret_step->mask) ? -errno
								       : 0;
}

/*
 * rdma_cm allows remote writes only, and reads if the peer asked for some;
 * what a peer may do with our memory is up to the regions' rights instead.
 */
static void open_access(const struct vb_dev *dev, struct vb_qp_step *init)
{
	init->attr.qp_access_flags |=
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	if (dev->atomics)
		init->attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
}

static int fetch_all(const struct vb_dev *dev, struct rdma_cm_id *id, int n,
		     struct vb_qp_step *ret_steps)
{
	static const enum ibv_qp_state states[VB_QP_STEPS] = {
		IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
	int i, ret;

	for (i = 0; i < n; i++) {
		ret = fetch(id, states[i], &ret_steps[i]);
		if (ret) {
			dapl_log(DAPL_LOG_CM_WARN,
				 "id %p: no attributes for state %d: %s",
				 (void *)id, states[i], strerror(-ret));
			/* This is how a connection that is gone shows. */
			return ret == -EINVAL ? -ECONNABORTED : ret;
		}
		if (!dev->ethernet)
			ret_steps[i].mask &= ~STRAY_MASK;
	}
	return 0;
}

/*
 * The peer need not be asked: each end waits for its own requests. An adapter
 * like this one may take as long as the device says.
 */
static void set_ack_timer(const struct vb_dev *dev, int timer,
			  struct ibv_qp_attr *rts)
{
	if (timer < 0)
		return;
	if (timer < dev->attr.local_ca_ack_delay)
		timer = dev->attr.local_ca_ack_delay;
	rts->timeout = (uint8_t)timer;
}

int cma_qp_steps(const struct cma_conn *conn, struct vb_qp_step *ret_steps,
		 int *ret_n)
{
	const struct vb_dev *dev = cma_conn_dev(conn);
	struct dapl_cm_depths max = conn->base.depths;
	int n = dev->iw_cm ? 1 : VB_QP_STEPS;
	int ret = fetch_all(dev, conn->id, n, ret_steps);

	if (ret)
		return ret;
	open_access(dev, &ret_steps[0]);
	if (n == VB_QP_STEPS) {
		struct ibv_qp_attr *rtr = &ret_steps[1].attr;
		struct ibv_qp_attr *rts = &ret_steps[2].attr;

		rtr->max_dest_rd_atomic = dapl_cm_lesser(
			rtr->max_dest_rd_atomic, max.responder_resources);
		rts->max_rd_atomic =
			dapl_cm_lesser(rts->max_rd_atomic, max.initiator_depth);
		set_ack_timer(dev, cma_params(conn)->ack_timer, rts);
	}
	*ret_n = n;
	return 0;
}
