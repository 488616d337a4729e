/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_ah.h - ways from the CM's queue pair: address handles, by where they
 * lead.
 *
 * On Ethernet the kernel looks for the peer's hardware address while it makes a
 * handle, a second or more if nobody answers; so helpers make them
 * (dapl_jobs.h), few at a time and fewer for strangers, so that peers of
 * somebody's invention take nothing away from those that are there. What is to
 * be sent meanwhile waits with the way. A failure is remembered for a while.
 *
 * Ways are kept after use, since peers are talked to again. When there are more
 * than the bound, one that was not used for long goes, or, more often than not,
 * the new one: so that somebody who talks to more peers in turn than there is
 * room for still finds most of them. A handle goes when no send holds it.
 *
 * Service thread, or the thread that has taken its place; no lock.
 */
#ifndef UCM_AH_H
#define UCM_AH_H

#include "dapl/common/cm/dcm/dcm_engine.h"
#include "dapl/common/cm/dcm/dcm_map.h"
#include "dapl/common/cm/dcm/dcm_path.h"
#include "dapl/common/services/dapl_jobs.h"
#include "dapl/common/services/dapl_list.h"

struct ucm_ah_cache;

/* An address handle; held by its way and by each send under way. */
struct ucm_ah {
	struct ibv_ah *verbs;
	int holders;
};

/* Where messages go. */
struct ucm_way {
	struct ucm_ah *ah; /* NULL: none */
	/* Messages that wait for it; the user's, who takes them in ready(). */
	struct dapl_list wait;
	size_t wait_n;
	/* The rest is the cache's. */
	bool is_making; /* one is to come */
	bool stranger;	/* on whose behalf */
	uint64_t made_us, err_until_us;
	struct dcm_map_node by_way;
	struct dapl_list used;	  /* cache->used */
	struct dapl_list to_make; /* cache->to_make */
	uint8_t gid[16];
	uint16_t lid;
};

/* One that is being made. */
struct ucm_ah_job {
	struct dapl_job job; /* must stay first */
	struct ucm_ah_cache *cache;
	struct ucm_way *way; /* NULL: free */
	struct ibv_ah_attr attr;
	struct ibv_ah *verbs; /* result */
	int ret;
	unsigned table; /* of the cache when it began */
};

/* At a time: half of the helpers are for queue pairs. */
#define UCM_AH_JOBS (DAPL_JOBS_HELPERS / 2)

struct ucm_ah_cache {
	struct dcm_path *path;
	struct ibv_pd *pd;
	struct dapl_loop *loop;
	size_t max;
	/* WAY has a handle; or ERR says why not. */
	void (*ready)(struct ucm_ah_cache *cache, struct ucm_way *way, int err);
	bool stopped; /* atomic */
	uint64_t stopped_us;
	struct dcm_map ways;
	struct dapl_list used;	  /* all of them, the next to go first */
	struct dapl_list to_make; /* that wait for a job */
	struct ucm_ah_job jobs[UCM_AH_JOBS];
	unsigned strangers_n; /* made or to be made on their behalf */
	unsigned table;	      /* of GIDs: counts those there have been */
	uint32_t random;
};

void ucm_ah_cache_init(struct ucm_ah_cache *cache, struct dcm_path *path,
		       struct ibv_pd *pd, struct dapl_loop *loop, size_t max);
/*
 * No job from now on, and after a moment no handle where that could block;
 * waits for those that are being made. Any thread; then the service thread does
 * nothing more here.
 */
void ucm_ah_cache_stop(struct ucm_ah_cache *cache);
/* Stopped, and nobody holds any. */
void ucm_ah_cache_fini(struct ucm_ah_cache *cache);

/*
 * The way to PEER. If it has no handle, one may be to come, and then ready();
 * else there was none to be had a moment ago. NULL: there is no memory, or, for
 * a STRANGER, others are being served.
 */
struct ucm_way *ucm_ah_way(struct ucm_ah_cache *cache,
			   const struct dcm_peer *peer, bool stranger);
/*
 * Nobody answers what goes this way: perhaps the hardware address is another
 * one by now. It is looked for once more, unless that was done just now; until
 * then the old handle serves.
 */
void ucm_ah_doubt(struct ucm_ah_cache *cache, struct ucm_way *way);
/* Our own GIDs are at other indexes now: no handle is used any more. */
void ucm_ah_forget(struct ucm_ah_cache *cache);

/* Whether what is to be sent there has to wait. */
static inline bool ucm_way_is_to_come(const struct ucm_way *way)
{
	return !way->ah && way->is_making;
}

static inline struct ucm_ah *ucm_ah_hold(struct ucm_way *way)
{
	way->ah->holders++;
	return way->ah;
}

void ucm_ah_put(struct ucm_ah *ah);

#endif
