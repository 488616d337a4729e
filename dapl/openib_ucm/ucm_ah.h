/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_ah.h - address handles of the CM's queue pair, by where they lead.
 *
 * Kept after use, since peers are talked to again; the least recently used go
 * when there are more than the bound. One that somebody holds, which a send
 * under way does, is never destroyed, so that many holders can exceed the
 * bound for a while.
 * Any thread. cache->lock (LEAF) guards the table; the device is called
 * without it.
 */
#ifndef UCM_AH_H
#define UCM_AH_H

#include "dapl/common/cm/dcm_engine.h"
#include "dapl/common/cm/dcm_map.h"
#include "dapl/common/cm/dcm_path.h"
#include "dapl/common/services/dapl_list.h"
#include "dapl/common/services/dapl_lock.h"

struct ucm_ah {
	struct ibv_ah *verbs;
	/* The rest is the cache's; lock. */
	struct dcm_map_node by_way;
	struct dapl_list idle; /* on cache->idle while nobody holds it */
	int holders;
	uint8_t gid[16];
	uint16_t lid;
};

struct ucm_ah_cache {
	const struct dcm_path *path;
	struct ibv_pd *pd;
	size_t max;
	struct dapl_lock lock;
	struct dcm_map ways;   /* lock; all of them */
	struct dapl_list idle; /* lock; the one used longest ago first */
};

void ucm_ah_cache_init(struct ucm_ah_cache *cache, const struct dcm_path *path,
		       struct ibv_pd *pd, size_t max);
/* Nobody holds any. */
void ucm_ah_cache_fini(struct ucm_ah_cache *cache);

/*
 * The handle to PEER, held. 0 or -errno, with the reason by dapl_fail(). On
 * Ethernet an address that is not known yet takes the kernel some time.
 */
int ucm_ah_get(struct ucm_ah_cache *cache, const struct dcm_peer *peer,
	       struct ucm_ah **ret_ah);
void ucm_ah_put(struct ucm_ah_cache *cache, struct ucm_ah *ah);

#endif
