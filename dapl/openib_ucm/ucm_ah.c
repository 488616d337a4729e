/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_ah.c - cache of address handles; see the header.
 *
 * Two threads that miss the same one may both make it; the later gives its own
 * back. Does not notice when a way changes below it: as with a queue pair, the
 * hardware address of a RoCE peer is looked up once.
 */
#include "dapl/openib_ucm/ucm_ah.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"

/* Our own end, GID and service level, follows from the peer's GID. */
static uint64_t way_key(const struct dcm_peer *peer)
{
	uint64_t half[2];

	memcpy(half, peer->gid, sizeof(half));
	return half[0] * 31 ^ half[1] ^ (uint64_t)peer->lid << 48;
}

static struct ucm_ah *find_locked(const struct ucm_ah_cache *cache,
				  const struct dcm_peer *peer)
{
	struct dcm_map_node *node = dcm_map_find(&cache->ways, way_key(peer));

	for (; node; node = dcm_map_next(node)) {
		struct ucm_ah *ah =
			dapl_container_of(node, struct ucm_ah, by_way);

		if (ah->lid == peer->lid &&
		    !memcmp(ah->gid, peer->gid, sizeof(ah->gid)))
			return ah;
	}
	return NULL;
}

/* The handle to PEER, held, if it is there. */
static struct ucm_ah *hold_locked(struct ucm_ah_cache *cache,
				  const struct dcm_peer *peer)
{
	struct ucm_ah *ah = find_locked(cache, peer);

	if (ah) {
		ah->holders++;
		dapl_list_del(&ah->idle);
	}
	return ah;
}

static void destroy(struct ucm_ah *ah)
{
	vb_ah_destroy(ah->verbs);
	free(ah);
}

/* One that is too many, taken out of the cache; or NULL. */
static struct ucm_ah *surplus(struct ucm_ah_cache *cache)
{
	struct ucm_ah *ah = NULL;

	dapl_lock(&cache->lock);
	if (cache->ways.n > cache->max && !dapl_list_empty(&cache->idle)) {
		ah = dapl_list_first(&cache->idle, struct ucm_ah, idle);
		dapl_list_del(&ah->idle);
		dcm_map_del(&cache->ways, &ah->by_way);
	}
	dapl_unlock(&cache->lock);
	return ah;
}

static void trim(struct ucm_ah_cache *cache)
{
	struct ucm_ah *ah;

	while ((ah = surplus(cache)))
		destroy(ah);
}

static int make(const struct ucm_ah_cache *cache, const struct dcm_peer *peer,
		struct ucm_ah **ret_ah)
{
	struct dcm_ib ib = {.lid = peer->lid};
	struct ucm_ah *ah = calloc(1, sizeof(*ah));
	struct dcm_path_ends ends;
	struct ibv_ah_attr attr;
	char gid[INET6_ADDRSTRLEN];
	int ret = -ENOMEM;

	memcpy(ib.gid, peer->gid, sizeof(ib.gid));
	if (ah) {
		dcm_path_own(cache->path, 0, peer->gid, &ends);
		dcm_path_av(cache->path, ends.own_index, &ib, &attr);
		ret = vb_ah_create(cache->pd, &attr, &ah->verbs);
	}
	if (ret) {
		free(ah);
		inet_ntop(AF_INET6, peer->gid, gid, sizeof(gid));
		dapl_fail(dapl_err_dat(ret),
			  "no way to GID %s, LID %u from %s port %u: %s", gid,
			  peer->lid, cache->path->dev->name,
			  cache->path->dev->port, strerror(-ret));
		return ret;
	}
	memcpy(ah->gid, peer->gid, sizeof(ah->gid));
	ah->lid = peer->lid;
	ah->holders = 1;
	dapl_list_init(&ah->idle);
	*ret_ah = ah;
	return 0;
}

/* Puts AH into the cache, unless the like of it came there meanwhile. */
static struct ucm_ah *enter(struct ucm_ah_cache *cache,
			    const struct dcm_peer *peer, struct ucm_ah *ah)
{
	struct ucm_ah *there;

	dapl_lock(&cache->lock);
	there = hold_locked(cache, peer);
	if (!there)
		dcm_map_add(&cache->ways, &ah->by_way, way_key(peer));
	dapl_unlock(&cache->lock);
	if (!there)
		return ah;
	destroy(ah);
	return there;
}

int ucm_ah_get(struct ucm_ah_cache *cache, const struct dcm_peer *peer,
	       struct ucm_ah **ret_ah)
{
	struct ucm_ah *ah;
	int ret;

	dapl_lock(&cache->lock);
	ah = hold_locked(cache, peer);
	dapl_unlock(&cache->lock);
	if (!ah) {
		ret = make(cache, peer, &ah);
		if (ret)
			return ret;
		ah = enter(cache, peer, ah);
		trim(cache);
	}
	*ret_ah = ah;
	return 0;
}

void ucm_ah_put(struct ucm_ah_cache *cache, struct ucm_ah *ah)
{
	bool over;

	dapl_lock(&cache->lock);
	ah->holders--;
	if (!ah->holders)
		dapl_list_add_tail(&cache->idle, &ah->idle);
	over = cache->ways.n > cache->max;
	dapl_unlock(&cache->lock);
	if (over)
		trim(cache);
}

void ucm_ah_cache_init(struct ucm_ah_cache *cache, const struct dcm_path *path,
		       struct ibv_pd *pd, size_t max)
{
	memset(cache, 0, sizeof(*cache));
	cache->path = path;
	cache->pd = pd;
	cache->max = max;
	dapl_lock_init(&cache->lock, DAPL_LOCK_LEAF);
	dapl_list_init(&cache->idle);
}

void ucm_ah_cache_fini(struct ucm_ah_cache *cache)
{
	cache->max = 0;
	trim(cache);
	dcm_map_fini(&cache->ways);
	dapl_lock_fini(&cache->lock);
}
