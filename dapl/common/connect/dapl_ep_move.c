/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_move.c - moving an endpoint's queue pair for its connection manager.
 *
 * The queue pair is then in a job's hands, as dapl_qp.h tells. Who wants it
 * in ERR meanwhile, since the connection has ended, is told at the end of the
 * move: so it is there before the event is posted.
 *
 * To the connection a move is somebody inside: its release comes afterwards.
 * Each move is on ep->moves (lock) until it is over; who takes it off, the
 * service thread or stop(), ends it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/common/connect/dapl_ep_ud.h"

struct dapl_ep_move {
	struct dapl_qp_move qp; /* must stay first */
	struct dapl_ep *ep;	/* a reference */
	struct dapl_ep_use use; /* of the connection; lock */
	dapl_cm_moved_fn *moved;
	struct dapl_list link; /* ep->moves; lock */
	bool tells;	       /* ctl; that the queue pair is in ERR */
};

bool dapl_ep_move_ends(struct dapl_ep *ep)
{
	bool later;

	dapl_lock(&ep->qp.ctl);
	later = dapl_qp_move_to_error_locked(&ep->qp);
	/* Nobody else has it moved. */
	if (later)
		((struct dapl_ep_move *)ep->qp.move)->tells = true;
	dapl_unlock(&ep->qp.ctl);
	return later;
}

/* ------------------------------------------------------------- its end */

/* Tells the connection manager, if TELL, and does what had to wait. */
static void finish(struct dapl_ep_move *m, bool tell, int ret)
{
	struct dapl_ep *ep = m->ep;

	if (tell)
		m->moved(m->use.conn, ret);
	if (m->tells)
		dapl_ep_qp_in_error(ep);
	dapl_ep_leave(ep, &m->use);
	dapl_obj_put(&ep->obj);
	free(m);
}

static void move_done(struct dapl_job *job)
{
	struct dapl_ep_move *m = (struct dapl_ep_move *)job;
	struct dapl_ep *ep = m->ep;
	bool taken;
	int ret = m->qp.ret;

	dapl_lock(&ep->lock);
	taken = dapl_list_empty(&m->link);
	dapl_list_del(&m->link);
	if (ep->conn != m->use.conn)
		ret = -ENOTCONN;
	dapl_unlock(&ep->lock);
	if (!taken)
		finish(m, true, ret);
}

/* ------------------------------------------ for connection managers */

int dapl_ep_cm_qp_move(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		       const struct vb_qp_step *steps, int n,
		       dapl_cm_moved_fn *moved)
{
	struct dapl_ep_move *m = calloc(1, sizeof(*m));
	bool ok;

	if (!m)
		return -ENOMEM;
	dapl_qp_move_init(&m->qp, &ep->qp, steps, n, move_done);
	m->ep = ep;
	m->moved = moved;
	dapl_lock(&ep->qp.ctl);
	dapl_lock(&ep->lock);
	/* Who takes the connection away ends its queue pair next: with ctl. */
	ok = ep->qp.ibv && !ep->qp.move && ep->conn == conn;
	if (ok) {
		dapl_list_add_tail(&ep->moves, &m->link);
		dapl_ep_use_begin(&ep->uses, &m->use, conn);
		dapl_obj_get(&ep->obj);
	}
	dapl_unlock(&ep->lock);
	if (ok)
		dapl_qp_move_start_locked(&m->qp);
	dapl_unlock(&ep->qp.ctl);
	if (!ok)
		free(m);
	return ok ? 0 : -ENOTCONN;
}

void dapl_ep_cm_qp_error(struct dapl_ep *ep, const struct dapl_cm_conn *conn)
{
	bool mine;

	dapl_lock(&ep->qp.ctl);
	dapl_lock(&ep->lock);
	mine = ep->conn == conn;
	dapl_unlock(&ep->lock);
	if (mine)
		dapl_qp_error_locked(&ep->qp);
	dapl_unlock(&ep->qp.ctl);
}

void dapl_ep_cm_qp_stop(struct dapl_ep *ep, const struct dapl_cm_conn *conn)
{
	struct dapl_ep_move *m, *found = NULL;

	if (ep->qp.ud) {
		dapl_ep_ud_stop(ep, conn);
		return;
	}
	dapl_lock(&ep->lock);
	dapl_list_for_each(m, &ep->moves, link) {
		if (m->use.conn != conn)
			continue;
		found = m;
		dapl_list_del(&m->link);
		break;
	}
	dapl_unlock(&ep->lock);
	if (!found)
		return;
	dapl_qp_move_cancel(&found->qp);
	finish(found, false, 0);
}
