/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_alive.h - hosts that vanish.
 *
 * A host with connections is asked (dapl_cm_alive.h) for one to a port where
 * nobody can listen, 0, which its kernel refuses. No process there sees it, no
 * queue pair is needed, and hosts without this library answer too. Over iWARP
 * it is TCP's port 0.
 *
 * By default only RoCE's are. InfiniBand's question asks the subnet manager for
 * the way, each time; and iWARP's may take another way through filters than the
 * connections, which would end with the first filter that begins to drop it.
 *
 * All but init, start and stop runs on the service thread.
 */
#ifndef CMA_ALIVE_H
#define CMA_ALIVE_H

#include "dapl/common/cm/base/dapl_cm_alive.h"

struct cma;
struct cma_conn;
struct rdma_event_channel;

struct cma_alive {
	struct dapl_cm_alive base;
	struct rdma_event_channel *chan; /* NULL until somebody is asked */
	struct dapl_watch watch;
	int interval_ms; /* written by start() */
};

void cma_alive_init(struct cma *cm);
/* The device is open. */
void cma_alive_start(struct cma *cm);
/* Nobody is asked any more. On the thread of dapl_cm_stop(). */
void cma_alive_stop(struct cma *cm);

/* CONN is established. It ends as broken when its host has vanished. */
void cma_alive_join(struct cma_conn *conn);
/* Once more does nothing. Also after stop(), on its thread. */
void cma_alive_leave(struct cma_conn *conn);

#endif
