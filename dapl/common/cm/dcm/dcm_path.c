/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_path.c - GIDs, path MTU and queue pair attributes; see the header.
 *
 * Threads and locks: path->lock guards the GIDs, which may be read anew.
 * Ownership: path->gid.
 */
#include "dapl/common/cm/dcm/dcm_path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/cm/base/dapl_addr.h"
#include "dapl/common/services/dapl_log.h"

#define MTU_UNTOLD  IBV_MTU_2048 /* of peers that do not say */
#define GID_INDEXES 256		 /* an address vector has 8 bits */

/* ---------------------------------------------------- MTU */

static uint8_t mtu_of_bytes(int bytes)
{
	for (uint8_t mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		if (bytes == 128 << mtu)
			return mtu;
	dapl_log(DAPL_LOG_WARN,
		 "DAPL_IB_MTU: %d is not 256, 512, 1024, 2048 or 4096; using "
		 "1024",
		 bytes);
	return IBV_MTU_1024;
}

#define FIELD(f) offsetof(struct dcm_path_params, f)

/* clang-format off */
static const struct dapl_param rows[] = {
	{"DAPL_ACK_RETRY", DAPL_PARAM_INT, FIELD(ack_retry), 0, 7, 7,
	 "transport retries before a connection breaks"},
	{"DAPL_ACK_TIMER", DAPL_PARAM_INT, FIELD(ack_timer), 0, 31, 20,
	 "transport timeout, 4.096 us times 2 to this power"},
	{"DAPL_GID_INDEX", DAPL_PARAM_INT, FIELD(gid_index), 0, 255, -1,
	 "entry of the port's GID table to use"},
	{"DAPL_GLOBAL_ROUTING", DAPL_PARAM_INT, FIELD(global_routing),
	 0, INT_MAX, 0, "not 0: global route header on InfiniBand too"},
	{"DAPL_HOP_LIMIT", DAPL_PARAM_INT, FIELD(hop_limit), 0, 255, 64,
	 "hop limit of the global route header"},
	{"DAPL_IB_MTU", DAPL_PARAM_INT, FIELD(mtu), 1, 65535, -1,
	 "upper limit of the path MTU, bytes"},
	{"DAPL_IB_SL", DAPL_PARAM_INT, FIELD(sl), 0, 15, 0,
	 "service level"},
	{"DAPL_RNR_RETRY", DAPL_PARAM_INT, FIELD(rnr_retry), 0, 7, 7,
	 "retries while the peer has no receive posted; 7: endless"},
	{"DAPL_RNR_TIMER", DAPL_PARAM_INT, FIELD(rnr_timer), 0, 31, 12,
	 "code of the pause the peer shall make before these"},
	{"DAPL_TCLASS", DAPL_PARAM_INT, FIELD(tclass), 0, 255, 0,
	 "traffic class of the global route header"},
};
/* clang-format on */

const struct dapl_param_table dcm_path_param_table = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.size = sizeof(struct dcm_path_params),
};

static uint8_t mtu_own(const struct dcm_path_params *params,
		       const struct vb_dev *dev)
{
	uint8_t active = (uint8_t)dev->port_attr.active_mtu;

	if (params->mtu < 0)
		return active;
	return dapl_cm_lesser(active, mtu_of_bytes(params->mtu));
}

uint8_t dcm_path_mtu(const struct dcm_path *path, uint8_t offer)
{
	if (offer)
		return dapl_cm_lesser(path->mtu, offer);
	/* Whoever sets a limit knows his peers better than a guess does. */
	if (path->params->mtu >= 0)
		return path->mtu;
	return dapl_cm_lesser(path->mtu, MTU_UNTOLD);
}

/* --------------------------------------------------- GIDs */

/* Which GIDs reach one another, as far as their bytes show it. */
enum gid_kind {
	GID_IPV4,   /* mapped into IPv6 */
	GID_GLOBAL, /* other routable ones, unique local ones too */
	GID_LINK_LOCAL,
};

static enum gid_kind gid_kind(const uint8_t *raw)
{
	if (dapl_addr_gid_is_v4(raw))
		return GID_IPV4;
	if (raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80)
		return GID_LINK_LOCAL;
	return GID_GLOBAL;
}

/*
 * Less is better. RoCE v2 before v1, which no router passes. Of v2 the
 * address by which the consumer knows the adapter; then IPv4 before IPv6,
 * since two ends meet only on a kind that both have: there is hardly a RoCE
 * network without IPv4, rdma_cm takes it for IPv4 addresses too, and IPv6
 * addresses may have come up by themselves on one end only.
 */
static int gid_rank(const struct ibv_gid_entry *entry,
		    const struct sockaddr_storage *addr)
{
	if (entry->gid_type != IBV_GID_TYPE_ROCE_V2)
		return 4;
	if (addr->ss_family == AF_INET &&
	    dapl_addr_is_gid(addr, entry->gid.raw))
		return 0;
	return 1 + (int)gid_kind(entry->gid.raw);
}

/* In the order of their index where nothing else distinguishes them. */
static void gids_sort(struct ibv_gid_entry *gid, int n,
		      const struct sockaddr_storage *addr)
{
	for (int i = 1; i < n; i++) {
		struct ibv_gid_entry entry = gid[i];
		int rank = gid_rank(&entry, addr);
		int k = i;

		for (; k > 0 && gid_rank(&gid[k - 1], addr) > rank; k--)
			gid[k] = gid[k - 1];
		gid[k] = entry;
	}
}

/* Keeps only the one with INDEX, which WHO asks for. */
static int gids_pick(struct dcm_path *path, int index, const char *who)
{
	const struct vb_dev *dev = path->dev;

	for (int i = 0; i < path->n; i++) {
		if (path->gid[i].gid_index != (uint32_t)index)
			continue;
		path->gid[0] = path->gid[i];
		path->n = 1;
		return 0;
	}
	return dapl_fail_errno(-EADDRNOTAVAIL,
			       "write an index that ibv_devinfo -v has: %s "
			       "port %u has no GID at index %d, which %s asks "
			       "for; its table has %d, %d of them in use",
			       dev->name, dev->port, index, who,
			       dev->port_attr.gid_tbl_len, path->n);
}

static void gids_trim(struct dcm_path *path)
{
	int n = 0;

	for (int i = 0; i < path->n; i++)
		if (path->gid[i].gid_index < GID_INDEXES)
			path->gid[n++] = path->gid[i];
	path->n = n;
}

/* Leaves in path->gid those that may be used, at least one. */
static int gids_choose(struct dcm_path *path)
{
	const struct vb_dev *dev = path->dev;

	gids_trim(path);
	if (path->wish.gid_index >= 0)
		return gids_pick(path, path->wish.gid_index, "ia_params");
	if (path->params->gid_index >= 0)
		return gids_pick(path, path->params->gid_index,
				 "DAPL_GID_INDEX");
	if (!path->dev->ethernet)
		return gids_pick(path, 0, "InfiniBand");
	if (!path->n)
		return dapl_fail_errno(-EADDRNOTAVAIL,
				       "bring up the network interface of %s "
				       "port %u: it has no GID",
				       dev->name, dev->port);
	gids_sort(path->gid, path->n, path->addr);
	return 0;
}

/* Into a PATH that has none. */
static int gids_read(struct dcm_path *path)
{
	const struct vb_dev *dev = path->dev;
	int n, ret;

	n = vb_gid_table(dev, &path->gid);
	if (n < 0)
		return dapl_fail_errno(n,
				       "%s port %u: cannot read the GIDs: %s",
				       dev->name, dev->port, strerror(-n));
	path->n = n;
	ret = gids_choose(path);
	if (ret)
		free(path->gid);
	return ret;
}

int dcm_path_init(struct dcm_path *path, const struct dapl_cm *cm,
		  const struct dcm_path_wish *wish)
{
	const struct vb_dev *dev = cm->dev;
	int ret;

	memset(path, 0, sizeof(*path));
	if (dev->iw_cm)
		return dapl_fail_errno(
			-EADDRNOTAVAIL,
			"use libdaplofa: %s is an iWARP device, which only "
			"rdma_cm can connect",
			dev->name);
	path->params = cm->params;
	path->dev = dev;
	path->addr = &cm->addr;
	path->wish = *wish;
	path->mtu = mtu_own(path->params, dev);
	ret = gids_read(path);
	if (ret)
		memset(path, 0, sizeof(*path));
	else
		dapl_lock_init(&path->lock, DAPL_LOCK_LEAF);
	return ret;
}

void dcm_path_renew(struct dcm_path *path)
{
	struct dcm_path now = {
		.params = path->params,
		.dev = path->dev,
		.addr = path->addr,
		.wish = path->wish,
	};
	struct ibv_gid_entry *old = path->gid;

	/* If they cannot be used, the log has said so. */
	if (gids_read(&now))
		return;
	dapl_lock(&path->lock);
	path->gid = now.gid;
	path->n = now.n;
	dapl_unlock(&path->lock);
	free(old);
}

void dcm_path_fini(struct dcm_path *path)
{
	if (!path->gid)
		return;
	dapl_lock_fini(&path->lock);
	free(path->gid);
	path->gid = NULL;
	path->n = 0;
}

/* How many bits from the left A and B have in common. */
static int common_bits(const uint8_t *a, const uint8_t *b)
{
	int i = 0, bit = 0;

	while (i < 16 && a[i] == b[i])
		i++;
	if (i == 16)
		return 128;
	while (!((a[i] ^ b[i]) & 0x80 >> bit))
		bit++;
	return 8 * i + bit;
}

/*
 * Of the routable ones the nearest, which is the one in the same network if
 * there is one. A link-local GID says nothing of the RoCE version: a peer that
 * has the like of our best but does not name it is one that knows only index
 * 0, so ours of the least index is what goes with it.
 */
static bool gid_goes_better(const struct ibv_gid_entry *a,
			    const struct ibv_gid_entry *b, const uint8_t *peer)
{
	if (gid_kind(peer) == GID_LINK_LOCAL)
		return a->gid_index < b->gid_index;
	return common_bits(a->gid.raw, peer) > common_bits(b->gid.raw, peer);
}

static const struct ibv_gid_entry *gid_for_locked(const struct dcm_path *path,
						  const uint8_t *peer)
{
	const struct ibv_gid_entry *best = path->gid, *found = NULL;

	if (!peer || !path->dev->ethernet)
		return best;
	if (gid_kind(peer) == GID_LINK_LOCAL &&
	    gid_kind(best->gid.raw) == GID_LINK_LOCAL)
		return best;
	for (int i = 0; i < path->n; i++) {
		const struct ibv_gid_entry *entry = &path->gid[i];

		if (gid_kind(entry->gid.raw) != gid_kind(peer))
			continue;
		if (!found || gid_goes_better(entry, found, peer))
			found = entry;
	}
	return found ? found : best;
}

static void own_end(const struct dcm_path *path, uint32_t qpn,
		    const struct ibv_gid_entry *entry,
		    struct dcm_path_ends *ret_ends)
{
	struct dcm_ib *own = &ret_ends->own;

	memset(own, 0, sizeof(*own));
	own->lid = path->dev->port_attr.lid;
	own->qpn = qpn;
	own->sl = (uint8_t)path->params->sl;
	own->qp_type = DCM_QP_RC;
	memcpy(own->gid, entry->gid.raw, sizeof(own->gid));
	ret_ends->own_index = (int)entry->gid_index;
}

void dcm_path_own(struct dcm_path *path, uint32_t qpn, const uint8_t *peer_gid,
		  struct dcm_path_ends *ret_ends)
{
	dapl_lock(&path->lock);
	own_end(path, qpn, gid_for_locked(path, peer_gid), ret_ends);
	dapl_unlock(&path->lock);
}

/* The only one that old peers know, of those that may be used. */
static const struct ibv_gid_entry *gid_least_locked(const struct dcm_path *path)
{
	const struct ibv_gid_entry *least = path->gid;

	for (int i = 1; i < path->n; i++)
		if (path->gid[i].gid_index < least->gid_index)
			least = &path->gid[i];
	return least;
}

/* The best one, if it is of another kind than that; else NULL. */
static const struct ibv_gid_entry *
gid_better_locked(const struct dcm_path *path)
{
	const struct ibv_gid_entry *best = path->gid;
	const struct ibv_gid_entry *least = gid_least_locked(path);

	return gid_kind(best->gid.raw) == gid_kind(least->gid.raw) ? NULL
								   : best;
}

void dcm_path_offer(struct dcm_path *path, uint32_t qpn,
		    struct dcm_path_ends *ret_ends, struct dcm_block *ret_alt)
{
	const struct ibv_gid_entry *better;
	struct dcm_path_ends alt;

	memset(ret_alt, 0, sizeof(*ret_alt));
	dapl_lock(&path->lock);
	own_end(path, qpn, gid_least_locked(path), ret_ends);
	better = gid_better_locked(path);
	if (better) {
		own_end(path, qpn, better, &alt);
		/* Tells it from what old peers may have left there. */
		alt.own.family = AF_INET6;
		dcm_block_set_ib(ret_alt, &alt.own);
	}
	dapl_unlock(&path->lock);
}

void dcm_path_offered(struct dcm_path *path, uint32_t qpn,
		      const uint8_t *peer_gid, struct dcm_path_ends *ret_ends)
{
	const struct ibv_gid_entry *better;

	dapl_lock(&path->lock);
	better = gid_better_locked(path);
	if (!better || gid_kind(better->gid.raw) != gid_kind(peer_gid))
		better = gid_least_locked(path);
	own_end(path, qpn, better, ret_ends);
	dapl_unlock(&path->lock);
}

static bool alt_means(const struct dcm_ib *alt, const struct dcm_ib *saddr)
{
	return alt->family == AF_INET6 && alt->qpn == saddr->qpn &&
	       alt->qp_type == DCM_QP_RC;
}

void dcm_path_meet(struct dcm_path *path, uint32_t qpn,
		   const struct dcm_ib *saddr, const struct dcm_block *alt,
		   struct dcm_path_ends *ret_ends)
{
	const struct ibv_gid_entry *entry;
	struct dcm_ib ib;

	dcm_block_get_ib(alt, &ib);
	dapl_lock(&path->lock);
	entry = gid_for_locked(path, ib.gid);
	if (!path->dev->ethernet || !alt_means(&ib, saddr) ||
	    gid_kind(entry->gid.raw) != gid_kind(ib.gid)) {
		ib = *saddr;
		entry = gid_for_locked(path, ib.gid);
	}
	own_end(path, qpn, entry, ret_ends);
	dapl_unlock(&path->lock);
	ret_ends->peer = ib;
}

/* ------------------------------------------------- depths */

void dcm_path_agree(struct dapl_cm_depths *depths, uint16_t version,
		    uint8_t peer_responder_resources)
{
	if (version >= DCM_VERSION_RD_IN)
		depths->initiator_depth = dapl_cm_lesser(
			depths->initiator_depth, peer_responder_resources);
}

/* --------------------------------------------- queue pair */

void dcm_path_av(const struct dcm_path *path, int own_index,
		 const struct dcm_ib *peer, struct ibv_ah_attr *ret_av)
{
	const struct dcm_path_params *params = path->params;

	memset(ret_av, 0, sizeof(*ret_av));
	ret_av->dlid = peer->lid;
	ret_av->sl = (uint8_t)params->sl;
	ret_av->port_num = path->dev->port;
	if (!dcm_path_by_gid(path))
		return;
	ret_av->is_global = 1;
	memcpy(ret_av->grh.dgid.raw, peer->gid, sizeof(peer->gid));
	ret_av->grh.sgid_index = (uint8_t)own_index;
	ret_av->grh.hop_limit = (uint8_t)params->hop_limit;
	ret_av->grh.traffic_class = (uint8_t)params->tclass;
}

const char *dcm_path_wrong(const struct dcm_path *path,
			   const struct dcm_ib *peer)
{
	struct ibv_ah_attr av;

	dcm_path_av(path, 0, peer, &av);
	return dapl_cm_av_wrong(path->dev, &av, peer->qpn);
}

static void log_refusal(const struct dcm_path_ends *ends, const char *why)
{
	char own[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, ends->own.gid, own, sizeof(own));
	inet_ntop(AF_INET6, ends->peer.gid, peer, sizeof(peer));
	dapl_log(DAPL_LOG_ERR,
		 "no way for queue pair 0x%x, from GID %s (index %d) to GID "
		 "%s, LID %u, QPN 0x%x, MTU code %u: %s",
		 ends->own.qpn, own, ends->own_index, peer, ends->peer.lid,
		 ends->peer.qpn, ends->mtu, why);
}

int dcm_path_is_wrong(const struct dcm_path_ends *ends, const char *wrong)
{
	log_refusal(ends, wrong);
	return -EINVAL;
}

int dcm_path_steps(const struct dcm_path *path,
		   const struct dcm_path_ends *ends,
		   const struct dapl_cm_depths *depths,
		   struct vb_qp_step *ret_steps)
{
	const char *wrong = dcm_path_wrong(path, &ends->peer);
	const struct dcm_path_params *params = path->params;
	struct dapl_cm_way way = {
		.qpn = ends->peer.qpn,
		.mtu = ends->mtu,
		.ack_timer = (uint8_t)params->ack_timer,
		.ack_retry = (uint8_t)params->ack_retry,
		.rnr_timer = (uint8_t)params->rnr_timer,
		.rnr_retry = (uint8_t)params->rnr_retry,
	};

	if (wrong)
		return dcm_path_is_wrong(ends, wrong);
	dcm_path_av(path, ends->own_index, &ends->peer, &way.av);
	dapl_cm_way_steps(path->dev, &way, *depths, ret_steps);
	return 0;
}

void dcm_path_refused(const struct dcm_path_ends *ends, int err)
{
	log_refusal(ends, strerror(-err));
}
