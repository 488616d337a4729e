/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_qp.c - moving a queue pair that rdma_cm does not own; see the header.
 *
 * Decides nothing about connections. All changes go through
 * dapl_cm_qp_modify(), because the endpoint may be freed at any time.
 * The order of the steps is that of librdmacm for a queue pair of its own.
 */
#include "dapl/openib_cma/cma_qp.h"

#include <errno.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"

/* Attribute bits beyond IBV_QP_DEST_QPN that old kernels set by mistake. */
#define STRAY_MASK 0x1e00000

/* 255 would mean "what the device can" to librdmacm; it is a true limit here.
 */
static uint8_t lesser(uint8_t wanted, int limit)
{
	if (limit < 0)
		return 0;
	return limit < wanted ? limit : wanted;
}

struct cma_depths cma_depths_own(const struct vb_dev *dev,
				 const struct dapl_cm_qp *qp)
{
	return (struct cma_depths){
		.in = lesser(qp->rd_in, dev->attr.max_qp_rd_atom),
		.out = lesser(qp->rd_out, dev->attr.max_qp_init_rd_atom),
	};
}

/* INIT, RTR, RTS */
#define STEPS 3

struct step {
	struct ibv_qp_attr attr;
	int mask;
};

static int fetch(struct rdma_cm_id *id, enum ibv_qp_state state,
		 struct step *ret_step)
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
static void open_access(const struct vb_dev *dev, struct step *init)
{
	init->attr.qp_access_flags |=
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	if (!dev->iwarp && dev->attr.atomic_cap != IBV_ATOMIC_NONE)
		init->attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
}

static int fetch_all(const struct vb_dev *dev, struct rdma_cm_id *id, int n,
		     struct step *ret_steps)
{
	static const enum ibv_qp_state states[STEPS] = {
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

int cma_qp_ready(const struct vb_dev *dev, struct rdma_cm_id *id,
		 struct dapl_ep *ep, const struct dapl_cm_conn *conn,
		 struct cma_depths max)
{
	int n = dev->iwarp ? 1 : STEPS;
	struct step step[STEPS];
	int i, ret;

	/* All of it before the first change, so that most failures leave none.
	 */
	ret = fetch_all(dev, id, n, step);
	if (ret)
		return ret;
	open_access(dev, &step[0]);
	if (n == STEPS) {
		struct ibv_qp_attr *rtr = &step[1].attr, *rts = &step[2].attr;

		rtr->max_dest_rd_atomic =
			lesser(rtr->max_dest_rd_atomic, max.in);
		rts->max_rd_atomic = lesser(rts->max_rd_atomic, max.out);
	}
	for (i = 0; i < n; i++) {
		ret = dapl_cm_qp_modify(ep, conn, &step[i].attr, step[i].mask);
		if (ret)
			goto err_moved;
	}
	return 0;

err_moved:
	dapl_log(DAPL_LOG_ERR, "ep %p: queue pair refuses state %d: %s",
		 (void *)ep, step[i].attr.qp_state, strerror(-ret));
	/* A refused change leaves the state; RTR and RTS cannot go back. */
	if (i > 1)
		cma_qp_error(ep, conn);
	return ret;
}

void cma_qp_error(struct dapl_ep *ep, const struct dapl_cm_conn *conn)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	int ret = dapl_cm_qp_modify(ep, conn, &attr, IBV_QP_STATE);

	if (ret && ret != -ENOTCONN)
		dapl_log(DAPL_LOG_WARN, "ep %p: queue pair refuses ERR: %s",
			 (void *)ep, strerror(-ret));
}
