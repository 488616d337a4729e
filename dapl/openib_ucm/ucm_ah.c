/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_ah.c - ways and their address handles; see the header.
 *
 * On InfiniBand nothing is looked for, and a handle is made at once.
 */
#include "dapl/openib_ucm/ucm_ah.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"

#define STRANGERS_MAX 2
/* For how long a failure is remembered, and a handle not doubted. */
#define ERR_US	 1000000
#define DOUBT_US 2000000
/* For how long a stopped cache makes handles for those who wait for them. */
#define LAST_US 1000000
/* When there is no room, one new way in so many takes an old one's place. */
#define STAYS_ONE_IN 4

/* Our own end, GID and service level, follows from the peer's GID. */
static uint64_t way_key(const struct dcm_peer *peer)
{
	uint64_t half[2];

	memcpy(half, peer->gid, sizeof(half));
	return half[0] * 31 ^ half[1] ^ (uint64_t)peer->lid << 48;
}

static struct ucm_way *find(const struct ucm_ah_cache *cache,
			    const struct dcm_peer *peer)
{
	struct dcm_map_node *node = dcm_map_find(&cache->ways, way_key(peer));

	for (; node; node = dcm_map_next(node)) {
		struct ucm_way *way =
			dapl_container_of(node, struct ucm_way, by_way);

		if (way->lid == peer->lid &&
		    !memcmp(way->gid, peer->gid, sizeof(way->gid)))
			return way;
	}
	return NULL;
}

static bool is_stopped(const struct ucm_ah_cache *cache)
{
	return __atomic_load_n(&cache->stopped, __ATOMIC_ACQUIRE);
}

void ucm_ah_put(struct ucm_ah *ah)
{
	if (!ah || --ah->holders)
		return;
	vb_ah_destroy(ah->verbs);
	free(ah);
}

static void way_free(struct ucm_ah_cache *cache, struct ucm_way *way)
{
	dcm_map_del(&cache->ways, &way->by_way);
	dapl_list_del(&way->used);
	ucm_ah_put(way->ah);
	free(way);
}

static void trim(struct ucm_ah_cache *cache, size_t max)
{
	struct ucm_way *way, *tmp;

	dapl_list_for_each_safe(way, tmp, &cache->used, used) {
		if (cache->ways.n <= max)
			return;
		if (!way->is_making && !way->wait_n)
			way_free(cache, way);
	}
}

/* ------------------------------------------------------------- making */

static void log_no_way(const struct ucm_ah_cache *cache,
		       const struct ucm_way *way, int err)
{
	const struct vb_dev *dev = cache->path->dev;
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, way->gid, gid, sizeof(gid));
	dapl_log(DAPL_LOG_CM_WARN,
		 "no way to GID %s, LID %u from %s port %u: %s", gid, way->lid,
		 dev->name, dev->port, strerror(-err));
}

static void set_attr(const struct ucm_ah_cache *cache,
		     const struct ucm_way *way, struct ibv_ah_attr *ret_attr)
{
	struct dcm_ib ib = {.lid = way->lid};
	struct dcm_path_ends ends;

	memcpy(ib.gid, way->gid, sizeof(ib.gid));
	dcm_path_own(cache->path, 0, way->gid, &ends);
	dcm_path_av(cache->path, ends.own_index, &ib, ret_attr);
}

/* The device has made VERBS, or said RET. A handle that is there stays then. */
static int made(struct ucm_ah_cache *cache, struct ucm_way *way,
		struct ibv_ah *verbs, int ret)
{
	struct ucm_ah *ah;

	way->made_us = dapl_now_us();
	if (ret)
		goto err_log;
	ah = malloc(sizeof(*ah));
	if (!ah) {
		vb_ah_destroy(verbs);
		ret = -ENOMEM;
		goto err_log;
	}
	ah->verbs = verbs;
	ah->holders = 1;
	ucm_ah_put(way->ah);
	way->ah = ah;
	return 0;

err_log:
	log_no_way(cache, way, ret);
	if (cache->path->dev->ethernet)
		way->err_until_us = way->made_us + ERR_US;
	return ret;
}

static void run_job(struct dapl_job *job)
{
	struct ucm_ah_job *j = (struct ucm_ah_job *)job;

	j->ret = vb_ah_create(j->cache->pd, &j->attr, &j->verbs);
}

static void start_more(struct ucm_ah_cache *cache)
{
	struct ucm_way *way;

	for (int i = 0; i < UCM_AH_JOBS && !is_stopped(cache); i++) {
		struct ucm_ah_job *j = &cache->jobs[i];

		if (dapl_list_empty(&cache->to_make))
			return;
		if (j->way)
			continue;
		way = dapl_list_first(&cache->to_make, struct ucm_way, to_make);
		dapl_list_del(&way->to_make);
		j->way = way;
		j->verbs = NULL;
		j->ret = -ECANCELED;
		j->table = cache->table;
		set_attr(cache, way, &j->attr);
		memcpy(&j->job.peer, &j->attr.grh.dgid, sizeof(j->job.peer));
		dapl_job_start(cache->loop, &j->job);
	}
}

/* It was begun from a GID that may have moved since. */
static bool begin_again(struct ucm_ah_cache *cache, struct ucm_ah_job *j,
			struct ucm_way *way)
{
	if (j->ret || j->table == cache->table || is_stopped(cache))
		return false;
	vb_ah_destroy(j->verbs);
	j->verbs = NULL;
	dapl_list_add_tail(&cache->to_make, &way->to_make);
	start_more(cache);
	return true;
}

static void job_done(struct dapl_job *job)
{
	struct ucm_ah_job *j = (struct ucm_ah_job *)job;
	struct ucm_ah_cache *cache = j->cache;
	struct ucm_way *way = j->way;
	int ret;

	j->way = NULL;
	if (begin_again(cache, j, way))
		return;
	way->is_making = false;
	cache->strangers_n -= way->stranger;
	way->stranger = false;
	ret = made(cache, way, j->verbs, j->ret);
	j->verbs = NULL;
	start_more(cache);
	cache->ready(cache, way, ret);
	trim(cache, cache->max);
}

static void make(struct ucm_ah_cache *cache, struct ucm_way *way, bool stranger)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *verbs;
	int ret;

	/* Last words may be worth a moment, but not one for each peer. */
	if (!cache->path->dev->ethernet ||
	    (is_stopped(cache) &&
	     dapl_now_us() < cache->stopped_us + LAST_US)) {
		set_attr(cache, way, &attr);
		ret = vb_ah_create(cache->pd, &attr, &verbs);
		made(cache, way, verbs, ret);
		return;
	}
	if (is_stopped(cache))
		return;
	way->is_making = true;
	way->stranger = stranger;
	cache->strangers_n += stranger;
	dapl_list_add_tail(&cache->to_make, &way->to_make);
	start_more(cache);
}

/* ------------------------------------------------------------------ use */

/* Any spread will do. */
static bool stays(struct ucm_ah_cache *cache)
{
	cache->random = cache->random * 1664525 + 1013904223;
	return (cache->random >> 16) % STAYS_ONE_IN == 0;
}

static struct ucm_way *way_new(struct ucm_ah_cache *cache,
			       const struct dcm_peer *peer)
{
	struct ucm_way *way = calloc(1, sizeof(*way));
	bool full = cache->ways.n >= cache->max;

	if (!way)
		return NULL;
	if (full)
		trim(cache, cache->max ? cache->max - 1 : 0);
	memcpy(way->gid, peer->gid, sizeof(way->gid));
	way->lid = peer->lid;
	dapl_list_init(&way->wait);
	dapl_list_init(&way->to_make);
	dcm_map_add(&cache->ways, &way->by_way, way_key(peer));
	/* At the front it is the next to go. */
	dapl_list_add_tail(full && !stays(cache) ? cache->used.next
						 : &cache->used,
			   &way->used);
	return way;
}

struct ucm_way *ucm_ah_way(struct ucm_ah_cache *cache,
			   const struct dcm_peer *peer, bool stranger)
{
	struct ucm_way *way = find(cache, peer);

	stranger = stranger && cache->path->dev->ethernet;
	if (way) {
		dapl_list_del(&way->used);
		dapl_list_add_tail(&cache->used, &way->used);
		if (way->ah || way->is_making ||
		    dapl_now_us() < way->err_until_us)
			return way;
	}
	if (stranger && cache->strangers_n >= STRANGERS_MAX)
		return NULL;
	if (!way)
		way = way_new(cache, peer);
	if (way)
		make(cache, way, stranger);
	return way;
}

void ucm_ah_doubt(struct ucm_ah_cache *cache, struct ucm_way *way)
{
	if (way->ah && !way->is_making && cache->path->dev->ethernet &&
	    dapl_now_us() >= way->made_us + DOUBT_US)
		make(cache, way, false);
}

void ucm_ah_forget(struct ucm_ah_cache *cache)
{
	struct ucm_way *way;

	cache->table++;
	dapl_list_for_each(way, &cache->used, used) {
		ucm_ah_put(way->ah);
		way->ah = NULL;
		way->err_until_us = 0;
	}
}

/* ----------------------------------------------------- begin and end */

void ucm_ah_cache_init(struct ucm_ah_cache *cache, struct dcm_path *path,
		       struct ibv_pd *pd, struct dapl_loop *loop, size_t max)
{
	memset(cache, 0, sizeof(*cache));
	cache->path = path;
	cache->pd = pd;
	cache->loop = loop;
	cache->max = max;
	cache->random = 1;
	dapl_list_init(&cache->used);
	dapl_list_init(&cache->to_make);
	for (int i = 0; i < UCM_AH_JOBS; i++) {
		cache->jobs[i].cache = cache;
		dapl_job_init(&cache->jobs[i].job, run_job, job_done);
	}
}

static void cancel_jobs(struct ucm_ah_cache *cache)
{
	for (int i = 0; i < UCM_AH_JOBS; i++)
		dapl_job_cancel(&cache->jobs[i].job);
}

void ucm_ah_cache_stop(struct ucm_ah_cache *cache)
{
	struct ucm_way *way;

	if (is_stopped(cache))
		return;
	cache->stopped_us = dapl_now_us();
	__atomic_store_n(&cache->stopped, true, __ATOMIC_RELEASE);
	cancel_jobs(cache);
	/* The end of one may just have begun another. */
	dapl_loop_barrier(cache->loop);
	cancel_jobs(cache);
	for (int i = 0; i < UCM_AH_JOBS; i++) {
		if (cache->jobs[i].verbs)
			vb_ah_destroy(cache->jobs[i].verbs);
		cache->jobs[i].verbs = NULL;
	}
	dapl_list_for_each(way, &cache->used, used)
		way->is_making = false;
}

void ucm_ah_cache_fini(struct ucm_ah_cache *cache)
{
	struct ucm_way *way, *tmp;

	dapl_list_for_each_safe(way, tmp, &cache->used, used)
		way_free(cache, way);
	dcm_map_fini(&cache->ways);
}
