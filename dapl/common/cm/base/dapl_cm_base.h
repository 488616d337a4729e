/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_base.h - what every connection manager needs beside its protocol:
 * the lists of its connections and listeners, work that the service thread is
 * asked for, and the order in which all of them end.
 *
 * A connection manager embeds struct dapl_cm_conn first in its connections and
 * struct dapl_cm_listener first in its listeners, and fills a struct
 * dapl_cm_hooks with what it does otherwise than others. The functions that
 * say so below are entries of its dapl_cm_ops.
 *
 * Threads. cm->lock (role CONN) guards the lists, what is asked, and the fields
 * marked with it here and in what embeds these. Nothing is called under it but
 * what starts work of the loop (dapl_loop_defer(), dapl_timer_arm(),
 * dapl_loop_add(), dapl_loop_mod()), so that stop() cannot come between.
 *
 * End of life. A connection is freed after its release, and a listener after
 * its unlisten, by the service thread. From stop() on nothing is freed until
 * dapl_cm_fini(), since the objects may release later; and the list of nodes
 * does not change any more, so stop() and its hooks can walk it.
 */
#ifndef DAPL_CM_BASE_H
#define DAPL_CM_BASE_H

#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/cm/base/dapl_cm_qp.h"

/* What the service thread is asked to do with a connection or listener. */
enum dapl_cm_ask {
	DAPL_CM_ASK_RELEASE = 1 << 0,
	DAPL_CM_ASK_UNLISTEN = 1 << 1,
	DAPL_CM_ASK_OWN = 1 << 2, /* those of a connection manager begin here */
};

struct dapl_cm_node {
	struct dapl_cm *cm;
	bool is_listener;
	unsigned asked;	       /* lock */
	struct dapl_list link; /* lock; cm->nodes, or cm->dead */
	struct dapl_list todo; /* lock */
};

struct dapl_cm_conn {
	struct dapl_cm_node node; /* must stay first */
	/* lock; constant from the first event until the release */
	struct dapl_ep *ep;
	bool passive;		      /* constant */
	struct dapl_cm_depths depths; /* what both ends agreed on so far */
};

struct dapl_cm_listener {
	struct dapl_cm_node node; /* must stay first */
	struct dapl_sp *sp;
	bool starting; /* lock; a thread is inside listen() */
	bool closing;  /* lock */
	bool failed;   /* lock; listen() did: SP knows nothing of this one */
};

/*
 * What differs. Those that are optional say so. Service thread, which after
 * stop() has begun is the thread that stops.
 */
struct dapl_cm_hooks {
	/* Begins to use the loop; as start() of dapl_cm_ops. */
	int (*start)(struct dapl_cm *cm);
	/* Before anything is stopped, on stop()'s thread. Optional. */
	void (*leave)(struct dapl_cm *cm);
	/*
	 * Nothing of the connection manager's own runs after this: watches
	 * deleted, timers cancelled. On stop()'s thread.
	 */
	void (*quiesce)(struct dapl_cm *cm);
	/* A round of what was asked is over. Optional. */
	void (*ran)(struct dapl_cm *cm);

	/*
	 * Fills in what is not zero at the beginning: stop() may give CONN up
	 * as soon as this has returned. Any thread.
	 */
	void (*conn_init)(struct dapl_cm_conn *conn);
	/* Before the memory goes back. Optional. */
	void (*conn_fini)(struct dapl_cm_conn *conn);
	/* Does what was ASKED, all but the release. */
	void (*conn_run)(struct dapl_cm_conn *conn, unsigned asked);
	/*
	 * CONN has been released, and has no endpoint any more. It ends with
	 * dapl_cm_conn_del(), here or when the protocol allows it.
	 */
	void (*conn_released)(struct dapl_cm_conn *conn);
	/* Part of stop(): gives CONN up, released or not, without an event. */
	void (*conn_abandon)(struct dapl_cm_conn *conn);

	/*
	 * Begins to listen, as in dapl_cm_ops; L is zero so far. If it fails
	 * nothing may lead to L any more, but listener_run() comes all the
	 * same. Any thread.
	 */
	int (*listen)(struct dapl_cm_listener *l, DAT_CONN_QUAL qual);
	/*
	 * The qualifier is free after this, and DAPL_CM_ASK_UNLISTEN is asked
	 * for. Not while listen() is running, and once. Any thread.
	 */
	void (*unlisten)(struct dapl_cm_listener *l);
	/* Does what was ASKED; with DAPL_CM_ASK_UNLISTEN for the last time.
	 * Optional. */
	void (*listener_run)(struct dapl_cm_listener *l, unsigned asked);
};

struct dapl_cm_sizes {
	size_t conn; /* of what embeds struct dapl_cm_conn */
	size_t listener;
	size_t pdata; /* the most private data */
};

/*
 * For open() and close(): the shared part of an instance, BASE copied into it.
 * dapl_cm_fini() stops, if that was not done, and frees all but the instance.
 */
void dapl_cm_init(struct dapl_cm *cm, const struct dapl_cm *base,
		  const struct dapl_cm_hooks *hooks,
		  const struct dapl_cm_sizes *sizes);
void dapl_cm_fini(struct dapl_cm *cm);

/* Where numbers begin that an earlier process, or boot, must not have had. */
uint32_t dapl_cm_seed(void);

/* Has the service thread do WHAT. Nothing happens after stop(). */
void dapl_cm_ask(struct dapl_cm_node *node, unsigned what);
void dapl_cm_ask_locked(struct dapl_cm_node *node, unsigned what);
/* Does what was asked so far. Service thread. */
void dapl_cm_run(struct dapl_cm *cm);

/*
 * A connection; EP may be NULL: a passive one. -ENOMEM; -ECANCELED: stopped.
 * Also the entry prepare() of struct dapl_cm_ops.
 */
int dapl_cm_conn_new(struct dapl_cm *cm, struct dapl_ep *ep,
		     struct dapl_cm_conn **ret_conn);
/* Frees CONN, or leaves that to dapl_cm_fini(). */
void dapl_cm_conn_del(struct dapl_cm_conn *conn);

/*
 * The upcall request() for CONN, a passive one. Where L is closing there is
 * none, and CONN is released as by a consumer who takes no more.
 */
void dapl_cm_conn_request(struct dapl_cm_listener *l, struct dapl_cm_conn *conn,
			  const struct dapl_cm_request *req);
/* Upcalls for CONN, which has an endpoint; dapl_cm_conn_error(): or had. */
void dapl_cm_conn_event(struct dapl_cm_conn *conn, enum dapl_cm_event event,
			const void *pdata, size_t size);
int dapl_cm_conn_move(struct dapl_cm_conn *conn, const struct vb_qp_step *steps,
		      int n, dapl_cm_moved_fn *moved);
int dapl_cm_conn_ah(struct dapl_cm_conn *conn, const struct ibv_ah_attr *av,
		    uint32_t qpn, dapl_cm_moved_fn *moved);
void dapl_cm_conn_error(struct dapl_cm_conn *conn);

/* Whether private data of SIZE can be sent. */
int dapl_cm_check(const struct dapl_cm_conn *conn, size_t size);
/* RET, with the reason: why CONN cannot be what an op takes it for. */
int dapl_cm_not_accepted(const struct dapl_cm_conn *conn, int ret);
int dapl_cm_not_asking(const struct dapl_cm_conn *conn, int ret);
int dapl_cm_not_connected(const struct dapl_cm_conn *conn);

/* Entries of struct dapl_cm_ops, alike in every table; */
#define DAPL_CM_BASE_OPS                                          \
	.start = dapl_cm_start, .stop = dapl_cm_stop,             \
	.max_pdata = dapl_cm_max_pdata, .listen = dapl_cm_listen, \
	.unlisten = dapl_cm_unlisten, .prepare = dapl_cm_conn_new

int dapl_cm_start(struct dapl_cm *cm);
void dapl_cm_stop(struct dapl_cm *cm);
size_t dapl_cm_max_pdata(const struct dapl_cm *cm);
int dapl_cm_listen(struct dapl_cm *cm, DAT_CONN_QUAL qual, struct dapl_sp *sp,
		   struct dapl_cm_listener **ret_l);
void dapl_cm_unlisten(struct dapl_cm_listener *l);
/* and for those who leave all of a release to the service thread. */
void dapl_cm_release(struct dapl_cm_conn *conn);

#endif
