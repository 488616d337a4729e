/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_path.h - the way to a peer: which GID is ours, and the attributes that
 * take a queue pair there.
 *
 * Decides nothing about connections. Any thread may call for it; the GIDs may
 * be read anew meanwhile, all else is constant after dcm_path_init().
 *
 * On RoCE every message names the GID that its sender's queue pair uses, and
 * the two GIDs must be of one kind (IPv4, other routable, link-local) to reach
 * one another. Old peers use the one of index 0, a link-local one nearly
 * always, whatever the other side names. So a request that an old peer may get
 * names index 0 where they look, and the best one where they do not; a peer
 * that understands takes that and answers with its own of that kind. New peers
 * meet on routable addresses, and old ones are met on index 0.
 */
#ifndef DCM_PATH_H
#define DCM_PATH_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "dapl/common/cm/base/dapl_cm_qp.h"
#include "dapl/common/cm/dcm/dcm_msg.h"
#include "dapl/common/services/dapl_lock.h"

/* What ia_params said; goes before DAPL_GID_INDEX. */
struct dcm_path_wish {
	int gid_index; /* -1: nothing */
};

/* The two ends of one connection, as agreed so far. */
struct dcm_path_ends {
	struct dcm_ib own;
	int own_index; /* of own.gid */
	struct dcm_ib peer;
	uint8_t mtu; /* enum ibv_mtu */
};

/*
 * What the environment says of paths. The params of a provider begin with
 * this: dcm_path_init() takes those of the struct dapl_cm.
 */
struct dcm_path_params {
	int mtu; /* bytes; -1: active MTU */
	int sl;
	int ack_timer;
	int ack_retry;
	int rnr_timer;
	int rnr_retry;
	int gid_index; /* -1: the best one */
	int global_routing;
	int hop_limit;
	int tclass;
};

extern const struct dapl_param_table dcm_path_param_table;

struct dcm_path {
	const struct dcm_path_params *params;
	const struct vb_dev *dev;
	const struct sockaddr_storage *addr; /* of the adapter */
	struct dcm_path_wish wish;
	uint8_t mtu; /* enum ibv_mtu: the most this side can, or was told to */
	struct dapl_lock lock;	   /* role LEAF; guards what follows */
	int n;			   /* GIDs to choose from, at least 1 */
	struct ibv_gid_entry *gid; /* best first */
};

/*
 * Takes the port's MTU, reads its GIDs and ranks these. Errors with
 * their reason: no GID, a wish that is not there or null, iWARP. CM's device
 * must be open.
 */
int dcm_path_init(struct dcm_path *path, const struct dapl_cm *cm,
		  const struct dcm_path_wish *wish);
void dcm_path_fini(struct dcm_path *path);
/*
 * The port's GIDs have changed, and may be at other indexes now: reads them
 * anew. If none can be used, those of before stay.
 */
void dcm_path_renew(struct dcm_path *path);

/*
 * Our end: LID, GID, service level, with QPN and type RC. PEER_GID (16 bytes)
 * is the peer's if it is known already, else NULL.
 */
void dcm_path_own(struct dcm_path *path, uint32_t qpn, const uint8_t *peer_gid,
		  struct dcm_path_ends *ret_ends);

/*
 * Active side, where the peer may be an old one: our end as such a peer has to
 * see it, and in *RET_ALT the best end if that is of another kind (else zero).
 * Once the peer has answered from PEER_GID, dcm_path_offered() is the one of
 * the two that was meant.
 */
void dcm_path_offer(struct dcm_path *path, uint32_t qpn,
		    struct dcm_path_ends *ret_ends, struct dcm_block *ret_alt);
void dcm_path_offered(struct dcm_path *path, uint32_t qpn,
		      const uint8_t *peer_gid, struct dcm_path_ends *ret_ends);
/*
 * Passive side: both ends, from the peer's SADDR and ALT (any bytes). Where
 * there is nothing to choose this is dcm_path_own() with the peer's GID.
 */
void dcm_path_meet(struct dcm_path *path, uint32_t qpn,
		   const struct dcm_ib *saddr, const struct dcm_block *alt,
		   struct dcm_path_ends *ret_ends);

/* What both sides can: OFFER is the peer's, any byte, 0: it did not say. */
uint8_t dcm_path_mtu(const struct dcm_path *path, uint8_t offer);

/* What the peer (if VERSION says it) allows. */
void dcm_path_agree(struct dapl_cm_depths *depths, uint16_t version,
		    uint8_t peer_responder_resources);

/* Whether a path is found by the GIDs, or else by the LID alone. */
static inline bool dcm_path_by_gid(const struct dcm_path *path)
{
	return path->dev->ethernet || path->params->global_routing;
}

/* Why nothing can be sent to PEER, as dapl_cm_av_wrong(). */
const char *dcm_path_wrong(const struct dcm_path *path,
			   const struct dcm_ib *peer);

/* The address vector to PEER, from our GID OWN_INDEX. */
void dcm_path_av(const struct dcm_path *path, int own_index,
		 const struct dcm_ib *peer, struct ibv_ah_attr *ret_av);

/*
 * The steps, DAPL_CM_WAY_STEPS, that take a queue pair from INIT to RTS. 0, or
 * -EINVAL with a log line: what the peer says of itself cannot be.
 */
int dcm_path_steps(const struct dcm_path *path,
		   const struct dcm_path_ends *ends,
		   const struct dapl_cm_depths *depths,
		   struct vb_qp_step *ret_steps);
/* The log line of what dcm_path_wrong() says of the peer; -EINVAL. */
int dcm_path_is_wrong(const struct dcm_path_ends *ends, const char *wrong);
/* Says in the log what way it was that a device has refused with ERR. */
void dcm_path_refused(const struct dcm_path_ends *ends, int err);

#endif
