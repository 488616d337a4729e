/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_process.h - what belongs to the process and to no adapter: one
 * structure, of which each plugin has its own.
 *
 * It is there before the first call and never given back: adapters may be open
 * when the process ends, and their service threads, the program's threads and
 * later destructors go on. Logging is the services' own (dapl_log.c), which
 * know no adapter; what belongs to a thread is the thread's.
 */
#ifndef DAPL_PROCESS_H
#define DAPL_PROCESS_H

#include <pthread.h>

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/services/dapl_list.h"
#include "dapl/common/services/dapl_lock.h"

/* Memory of objects of one type that were freed, the oldest first. */
struct dapl_obj_pool {
	struct dapl_list free;
	unsigned count;
};

struct dapl_counts;    /* see dapl_counters.h */
struct dapl_obj_known; /* see dapl_obj.c */

struct dapl_process {
	struct dapl_lock lock;	   /* role PROVIDER: both lists */
	struct dapl_list names;	   /* all registrations there ever were */
	struct dapl_list adapters; /* that are open, to find one on a device */

	struct dapl_lock pool_lock; /* role LEAF */
	struct dapl_obj_pool pools[DAPL_OBJ_TYPES];
	struct dapl_counts *counts;   /* pool_lock; free ones */
	struct dapl_obj_known *known; /* atomic, stored with pool_lock held */
	size_t known_count;	      /* pool_lock */
	int adapter_count;	      /* atomic: there are, in whatever state */
	bool forked;		      /* set while there is one thread */

	/* A thread that slept on an object that has ended has left it. */
	pthread_mutex_t left_mutex;
	pthread_cond_t left;

	uint64_t last_qp_id;	/* atomic; see dapl_qp_id() */
	uint64_t last_peer_id;	/* atomic; of datagram endpoints, from 1 */
	uint32_t next_any_qual; /* atomic; see dat_psp_create_any() */
};

extern struct dapl_process dapl_process;

#endif
