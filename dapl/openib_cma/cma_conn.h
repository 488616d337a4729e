/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_conn.h - one connection, as cma_conn.c (calls of the objects, end of
 * life) and cma_event.c (events of rdma_cm) share it.
 *
 * Who changes the state under the lock owns the step that follows; the rest of
 * the rules is at the top of cma_conn.c.
 */
#ifndef CMA_CONN_H
#define CMA_CONN_H

#include <dat2/dat_ib_extensions.h>
#include <netinet/in.h>

#include "dapl/common/services/dapl_count.h"
#include "dapl/openib_cma/cma.h"

enum cma_state {
	CMA_IDLE,	  /* prepared */
	CMA_ADDR,	  /* active: resolving the address */
	CMA_ROUTE,	  /* active: resolving the route */
	CMA_CONNECT,	  /* active: request sent */
	CMA_CONNECT_MOVE, /* active: answered, the queue pair is being moved */
	CMA_REQUEST,	  /* passive: not answered yet */
	CMA_ACCEPT_MOVE,  /* passive: accept() was called, as CONNECT_MOVE */
	CMA_ACCEPT,	  /* passive: accepted */
	CMA_UP,		  /* established */
	CMA_DOWN,	  /* disconnect() was called */
	CMA_FOUND,	  /* datagrams: established, which is all there is */
	CMA_OVER,	  /* nothing more will be reported */
	CMA_LINGER,	  /* released while rdma_cm tells the peer */
	CMA_STATE_N
};

struct cma_conn {
	struct dapl_cm_conn base; /* must stay first */
	struct rdma_cm_id *id;
	/* Given up for its port. connect() may still be inside a call of it. */
	struct rdma_cm_id *first_id;
	enum cma_state state; /* lock */
	bool released;	      /* lock */
	bool parting; /* lock; rdma_cm repeats the goodbye to the peer */
	/* To be reported by the service thread; DAPL_CM_EVENT_N: nothing. */
	enum dapl_cm_event late; /* lock */

	/* Written by connect(), accept() or the request; constant then. */
	struct dapl_cm_qp qp;
	struct sockaddr_in6 peer; /* or an IPv4 address */
	struct cma_ud_peer ud;	  /* datagrams; active: from the answer on */
	/* Of the request or the answer that is to be sent; or, while the queue
	 * pair of an active side is moved, of the answer that came. */
	size_t pdata_size;
	uint8_t pdata[CMA_PDATA_CAME];

	/* Service thread. */
	struct dapl_cm_peer_conn alive;
	struct dapl_timer goodbye;
	int tries; /* of the resolution under way */
	int ports; /* that were taken */
	int moves; /* of the queue pair, in vain */
};

/* What the service thread is asked to do: report what is late. */
#define CMA_ASK_LATE DAPL_CM_ASK_OWN

#define CMA_REJECT_HEADER 4
extern const uint8_t cma_reject_header[CMA_REJECT_HEADER];

static inline struct vb_dev *cma_conn_dev(const struct cma_conn *conn)
{
	return conn->base.node.cm->dev;
}

static inline struct cma *cma_conn_cm(const struct cma_conn *conn)
{
	return cma_from(conn->base.node.cm);
}

static inline const struct cma_params *cma_params(const struct cma_conn *conn)
{
	return conn->base.node.cm->params;
}

/* Something happened on the wire; ID: DCNT_IA_CM_*. */
static inline void cma_count(const struct cma_conn *conn, int id)
{
	dapl_count(conn->base.node.cm->counts, id);
}

/* FROM to TO; false when the state is another one, or after release(). */
bool cma_conn_advance(struct cma_conn *conn, enum cma_state from,
		      enum cma_state to);
/*
 * rdma_disconnect(), whose end is an event. False: there will be none, and
 * errno tells why. Any thread.
 */
bool cma_conn_goodbye(struct cma_conn *conn);
/*
 * Begins to move the queue pair for a connection in CMA_ACCEPT_MOVE or
 * CMA_CONNECT_MOVE; or, of datagrams, to make the address handle. 0 or -errno.
 * What follows is in cma_event.c.
 */
int cma_conn_move(struct cma_conn *conn);
/*
 * CMA_ACCEPT_MOVE is over, so that events are reported at once from now on.
 * Returns one that had to wait, or DAPL_CM_EVENT_N. Service thread.
 */
enum dapl_cm_event cma_conn_accepted(struct cma_conn *conn);
/* The move is over. Service thread. */
void cma_conn_moved(struct dapl_cm_conn *base, int ret);
/* The state; CMA_OVER after release(). */
enum cma_state cma_conn_state(struct cma_conn *conn);
/* Reports the last event, unless there was one. Service thread. */
void cma_conn_finish(struct cma_conn *conn, enum dapl_cm_event event,
		     const void *pdata, size_t size);
/*
 * False unless CONN was released. Then an event means nothing, but that its
 * TYPE may end the wait for an orderly end, and CONN with it. Service thread.
 */
bool cma_conn_released_event(struct cma_conn *conn,
			     enum rdma_cm_event_type type);
/*
 * Starts once more with another id, and so another local port. 0 or -errno.
 * Service thread.
 */
int cma_conn_another_port(struct cma_conn *conn);
/* Parameters of a request or accept. */
void cma_conn_param(const struct cma_conn *conn, const void *pdata, size_t size,
		    struct rdma_conn_param *ret_param);
/* Begins to resolve the peer's address, once more or for the first time. */
int cma_conn_resolve(struct cma_conn *conn);

/* cma_qp.c; any thread, no lock held */

/*
 * The steps, *RET_N of them, that make a queue pair ready for the connection
 * of CONN: INIT again, RTR and RTS. On iWARP it stays in INIT, the kernel moves
 * it later. -ECONNABORTED: rdma_cm knows of no connection any more.
 */
int cma_qp_steps(const struct cma_conn *conn, struct vb_qp_step *ret_steps,
		 int *ret_n);

#endif
