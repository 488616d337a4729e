/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_path.h - the way to a peer: which GID is ours, and the attributes that
 * take a queue pair there.
 *
 * Decides nothing about connections. Constant after dcm_path_init(), so any
 * thread may read it; dcm_path_connect() sleeps in the kernel.
 *
 * On RoCE every message names the GID that its sender's queue pair uses. Two
 * GIDs reach one another only if both are IPv4 or both IPv6 (kernels refuse
 * other paths with EINVAL) and both of one RoCE version. The active side names
 * its best one, unless it knows the peer's GID; the passive side takes the best
 * of its own that goes with it. So new peers meet on routable addresses.
 *
 * An old peer uses index 0 of its table, as a rule a link-local GID, whatever
 * it is told. As the active side it is met there. As the passive side it
 * cannot accept a request that names an IPv4 GID: dat_cr_accept() fails there.
 */
#ifndef DCM_PATH_H
#define DCM_PATH_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "dapl/common/cm/dapl_cm.h"
#include "dapl/common/cm/dcm_msg.h"

/* What ia_params said; goes before DAPL_GID_INDEX. */
struct dcm_path_wish {
	int gid_index; /* -1: nothing */
};

/* Depths of RDMA reads that a connection may use at most. */
struct dcm_depths {
	uint8_t in;  /* the peer's reads here: max_dest_rd_atomic */
	uint8_t out; /* our reads there: max_rd_atomic */
};

/* The two ends of one connection, as agreed so far. */
struct dcm_path_ends {
	struct dcm_ib own;
	int own_index; /* of own.gid */
	struct dcm_ib peer;
	uint8_t mtu; /* enum ibv_mtu */
};

struct dcm_path {
	const struct dapl_params *params;
	const struct vb_dev *dev;
	uint16_t lid;
	uint8_t mtu; /* enum ibv_mtu: the most this side can, or was told to */
	bool ethernet;
	int n;			   /* GIDs to choose from, at least 1 */
	struct ibv_gid_entry *gid; /* best first */
};

/*
 * Takes the port's LID and MTU, reads its GIDs and ranks these. Errors with
 * their reason: no GID, a wish that is not there or null, iWARP. CM's device
 * must be open.
 */
DAT_RETURN dcm_path_init(struct dcm_path *path, const struct dapl_cm *cm,
			 const struct dcm_path_wish *wish);
void dcm_path_fini(struct dcm_path *path);

/*
 * Our end: LID, GID, service level, with QPN and type RC. PEER_GID (16 bytes)
 * is the peer's if it is known already, else NULL.
 */
void dcm_path_own(const struct dcm_path *path, uint32_t qpn,
		  const uint8_t *peer_gid, struct dcm_path_ends *ret_ends);

/* What both sides can: OFFER is the peer's, any byte, 0: it did not say. */
uint8_t dcm_path_mtu(const struct dcm_path *path, uint8_t offer);

/* What EP and device allow, and what the peer (if VERSION says it) allows. */
struct dcm_depths dcm_path_depths(const struct dcm_path *path,
				  const struct dapl_cm_qp *qp);
void dcm_path_agree(struct dcm_depths *depths, uint16_t version,
		    uint8_t peer_rd_in);

/* The address vector to PEER, from our GID OWN_INDEX. */
void dcm_path_av(const struct dcm_path *path, int own_index,
		 const struct dcm_ib *peer, struct ibv_ah_attr *ret_av);

/*
 * EP's queue pair QP_NUM from INIT to RTS. 0 or -errno with a log line, as of
 * dapl_cm_qp_modify(), -EINVAL also for a peer that cannot be one; after a
 * failure it may be in INIT or RTR. Takes the CTL role.
 */
int dcm_path_connect(const struct dcm_path *path,
		     const struct dcm_path_ends *ends,
		     const struct dcm_depths *depths, struct dapl_ep *ep,
		     uint32_t qp_num);
/* EP's queue pair QP_NUM to ERR, from any state. Nothing if it is gone. */
void dcm_path_error(struct dapl_ep *ep, uint32_t qp_num);

#endif
