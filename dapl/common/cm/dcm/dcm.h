/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm.h - connection managers with messages of their own, whatever these travel
 * by: the operations of dapl_cm.h over an engine, and the table that a
 * transport fills.
 *
 * A provider embeds struct dcm first in its instance, struct dcm_cm_conn first
 * in its connections and struct dcm_cm_listener first in its listeners; it says
 * how large they are. Its table of dapl_cm_ops has DCM_OPS, its own open(),
 * close() and perhaps device_event(), and nothing else of its own.
 *
 * Threads. The engine belongs to the service thread. Operations that the
 * objects call on any thread ask, and have the service thread
 * look at the connection; so they never block, and nothing happens to a
 * connection while the engine is at it. Queue pairs are moved by helpers
 * (qp_move() of struct dapl_cm_up), whose result is an input of the engine.
 */
#ifndef DCM_H
#define DCM_H

#include <semaphore.h>

#include "dapl/common/cm/base/dapl_cm_alive.h"
#include "dapl/common/cm/base/dapl_cm_base.h"
#include "dapl/common/cm/dcm/dcm_engine.h"
#include "dapl/common/cm/dcm/dcm_path.h"
#include "dapl/common/services/dapl_list.h"
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_log.h"
#include "dapl/common/services/dapl_loop.h"

struct dcm;

/* What the service thread is asked to do beside dapl_cm_ask. */
enum dcm_ask {
	DCM_ASK_CONNECT = DAPL_CM_ASK_OWN << 0,
	DCM_ASK_ACCEPT = DAPL_CM_ASK_OWN << 1,
	DCM_ASK_REJECT = DAPL_CM_ASK_OWN << 2,
	DCM_ASK_DISCONNECT = DAPL_CM_ASK_OWN << 3,
	DCM_ASK_LISTEN = DAPL_CM_ASK_OWN << 4,
};

struct dcm_cm_conn {
	struct dapl_cm_conn base; /* must stay first */
	struct dcm_conn dcm;	  /* the service thread's */
	struct dapl_timer timer;
	struct dapl_cm_peer_conn alive;
	/*
	 * Written by connect() or accept() before word is left; constant then.
	 * So is the answer, also of a reject, in dcm.then.
	 */
	uint32_t port; /* of the peer's listener */
	struct dcm_path_ends ends;
	struct sockaddr_storage peer_addr;
	DAT_PORT_QUAL peer_port, local_port;

	bool answered; /* lock; accept() or reject() was called */
	bool gone;     /* lock; the peer withdrew its request */
	bool up;       /* lock; established, so addresses are known */
};

struct dcm_cm_listener {
	struct dapl_cm_listener base; /* must stay first */
	struct dcm_listener dcm;      /* the service thread's */
	struct dcm_map_node taken;    /* lock; in dcm->ports */
};

struct dcm_transport {
	struct dapl_cm_sizes sizes;

	/*
	 * Any thread. Checks ADDR (hostile, of a family not checked yet) and
	 * QUAL; fills conn->port and, for datagrams, conn->dcm.peer and
	 * conn->dcm.own.daddr, and what else of CONN dial() needs; and
	 * conn->peer_addr, conn->peer_port. May begin what dial() finishes;
	 * hangup() undoes it. -EAFNOSUPPORT, -EADDRNOTAVAIL, -EINVAL, or what
	 * this host lacks; reason by dapl_fail_errno().
	 */
	int (*target)(struct dcm *dcm, struct dcm_cm_conn *conn,
		      const struct sockaddr *addr, DAT_CONN_QUAL qual);
	/*
	 * Any thread. Begins to listen; requests may be reported at once, to
	 * dcm_request() or by dcm_datagram(). Datagrams: only writes
	 * *RET_PORT; 0 means that the transport listens itself. Errors as in
	 * dapl_cm_ops.
	 */
	int (*listen)(struct dcm *dcm, struct dcm_cm_listener *l,
		      DAT_CONN_QUAL qual, uint32_t *ret_port);
	/* Any thread; after it returns the qualifier is free. Optional. */
	void (*unlisten)(struct dcm_cm_listener *l);
	/* Service thread. Addresses of a peer whose request came: fills
	 * peer_addr and peer_port of CONN. Optional: who knew them before. */
	void (*peer)(struct dcm_cm_conn *conn, const struct dcm_msg *req);

	/* As in struct dcm_engine_ops; service thread. */
	int (*dial)(struct dcm_conn *conn);
	void (*send)(struct dcm_engine *eng, struct dcm_conn *conn,
		     const struct dcm_peer *to, const struct dcm_msg *msg,
		     bool filler);
	void (*hangup)(struct dcm_conn *conn);
	/* As well, but L may not be listened on any more. Streams only. */
	void (*room)(struct dcm *dcm, struct dcm_cm_listener *l);

	/* The device is open: fill the adapter's address. Optional. */
	int (*place)(struct dcm *dcm);
	/*
	 * The device is open and the path known: begin to use the loop. As
	 * start() of dapl_cm_ops. Optional.
	 */
	int (*start)(struct dcm *dcm);
	/*
	 * No more input from here on: watches deleted, timers cancelled; those
	 * of the engine are off already, so that nothing but these can be
	 * running. Sends may follow, for goodbyes; what they leave unsent is
	 * lost.
	 */
	void (*stop)(struct dcm *dcm);
};

struct dcm {
	struct dapl_cm base; /* must stay first */
	const struct dcm_transport *tp;
	struct dcm_rules rules;
	struct dcm_engine eng;
	struct dcm_path path;
	struct dcm_path_wish wish;

	/* stop() waits here for the peers. */
	sem_t left;
	struct dapl_timer leave_over;

	struct dapl_cm_alive alive;
	struct dcm_map ports; /* lock; datagrams: those listened on */
};

/*
 * For a provider's open(): ia_params (hostile; NULL is empty) that name a
 * device, "<device> <port> [gid=<index>]", into RET_CM's dev_name and port and
 * *RET_WISH. 0, or -EINVAL with the reason. Text only: whether there is such a
 * device shows when it is opened.
 */
int dcm_device_parse(const char *ia_params, struct dapl_cm *ret_cm,
		     struct dcm_path_wish *ret_wish);
/*
 * For a provider's open() and close(): the shared part of an instance whose
 * RULES are constant from here on. PATH_WISH is what ia_params said about the
 * path (dcm_path.h).
 */
void dcm_init(struct dcm *dcm, const struct dapl_cm *base,
	      const struct dcm_transport *tp, const struct dcm_rules *rules,
	      const struct dcm_path_wish *wish);
/* Stops, if that was not done, and frees all but the instance itself. */
void dcm_fini(struct dcm *dcm);

/*
 * A transport calls dapl_cm_run() before it takes input of its own: so that
 * whatever was asked before that input was caused has been done.
 */

/*
 * Memory for a passive connection of a stream; NULL: none, or stopped. One that
 * the engine does not know goes back by dapl_cm_conn_del().
 */
struct dcm_cm_conn *dcm_conn_new(struct dcm *dcm);
/* As dcm_engine_room(). */
bool dcm_room(struct dcm_cm_listener *l);
/* A datagram from SRC, any bytes. Service thread. */
void dcm_datagram(struct dcm *dcm, const uint8_t *buf, size_t len,
		  const struct dcm_source *src);
/*
 * Stream: MSG, a REQ, came on CONN for L. As dcm_engine_stream_request(); also
 * -ECANCELED, when L has been closed: the transport hangs up then.
 */
int dcm_request(struct dcm_cm_listener *l, struct dcm_cm_conn *conn,
		const struct dcm_msg *msg);
/* dcm_engine_input() with the time. CONN may be gone after this. */
void dcm_input(struct dcm_cm_conn *conn, enum dcm_input in,
	       const struct dcm_msg *msg);

static inline struct dcm *dcm_from(struct dapl_cm *base)
{
	return (struct dcm *)base;
}

static inline struct dcm *dcm_of_engine(struct dcm_engine *eng)
{
	return dapl_container_of(eng, struct dcm, eng);
}

static inline struct dcm_cm_conn *dcm_conn_from(struct dcm_conn *conn)
{
	return dapl_container_of(conn, struct dcm_cm_conn, dcm);
}

static inline struct dcm *dcm_of(const struct dcm_cm_conn *conn)
{
	return dcm_from(conn->base.node.cm);
}

static inline struct dcm *dcm_of_listener(const struct dcm_cm_listener *l)
{
	return dcm_from(l->base.node.cm);
}

/*
 * device_event(), of what is not about a queue pair: who has none of his own
 * has it in his table, and others call it.
 */
void dcm_device_event(struct dapl_cm *cm, const struct ibv_async_event *event);

/* Entries of struct dapl_cm_ops: all but open(), close() and device_event(). */
#define DCM_OPS                                                             \
	.connect = dcm_connect, .accept = dcm_accept, .reject = dcm_reject, \
	.disconnect = dcm_disconnect, .release = dapl_cm_release,           \
	.addrs = dcm_addrs, DAPL_CM_BASE_OPS

int dcm_connect(struct dapl_cm_conn *conn, const struct dapl_cm_connect *req);
int dcm_accept(struct dapl_cm_conn *conn, const struct dapl_cm_qp *qp,
	       struct dapl_ep *ep, const void *pdata, size_t size);
int dcm_reject(struct dapl_cm_conn *conn, const void *pdata, size_t size);
int dcm_disconnect(struct dapl_cm_conn *conn);
int dcm_addrs(const struct dapl_cm_conn *conn,
	      struct sockaddr_storage *ret_peer, DAT_PORT_QUAL *ret_peer_port,
	      DAT_PORT_QUAL *ret_local_port);

#endif
