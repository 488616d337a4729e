/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_move.c - moving an endpoint's queue pair for its connection manager.
 *
 * The kernel may sleep a second or more inside such a change, so a helper
 * makes it (dapl_jobs.h), with no lock held: ep->move (lock ctl) says that the
 * queue pair is in its hands. Meanwhile
 *  - nobody else calls verbs for it: who wants it in ERR notes that, and the
 *    helper does it as soon as the kernel lets go;
 *  - who ends the connection leaves the rest of that to the end of the move, so
 *    that the queue pair is in ERR before the event is posted;
 *  - who destroys it waits, and only he does.
 * A move that has not begun is called off at once.
 *
 * To the connection a move is an op that runs: its release comes afterwards.
 * Each move is on ep->moves (lock) until it is over; who takes it off, the
 * service thread or stop(), ends it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/common/services/dapl_jobs.h"

struct dapl_ep_move {
	struct dapl_job job;
	struct dapl_ep *ep; /* a reference */
	struct dapl_cm_conn *conn;
	dapl_cm_moved_fn *moved;
	struct dapl_list link; /* ep->moves; lock */
	bool abandoned;	       /* lock; CONN is to be released at the end */
	bool to_error;	       /* ctl; ERR is wanted, and no further step */
	bool ends;	       /* ctl; END is to be reported */
	struct dapl_ep_end end;
	int ret;
	int n;
	struct dapl_cm_step step[DAPL_CM_STEPS];
};

static void let_go_locked(struct dapl_ep *ep)
{
	dapl_lock_assert_held(&ep->ctl);
	ep->move = NULL;
	__atomic_store_n(&ep->move_seq, ep->move_seq + 1, __ATOMIC_RELEASE);
	dapl__futex_wake_all(&ep->move_seq);
}

/* Whether a helper has EP's queue pair; one that is only to come has not. */
static bool moving_locked(struct dapl_ep *ep)
{
	dapl_lock_assert_held(&ep->ctl);
	if (ep->move && dapl_job_skip(&ep->move->job))
		let_go_locked(ep);
	return ep->move != NULL;
}

bool dapl_ep_move_to_error_locked(struct dapl_ep *ep)
{
	dapl_lock_assert_held(&ep->ctl);
	if (!moving_locked(ep))
		return false;
	ep->move->to_error = true;
	return true;
}

void dapl_ep_move_wait_locked(struct dapl_ep *ep)
{
	dapl_lock_assert_held(&ep->ctl);
	while (dapl_ep_move_to_error_locked(ep)) {
		int seq = ep->move_seq;

		dapl_unlock(&ep->ctl);
		dapl__futex_wait(&ep->move_seq, seq);
		dapl_lock(&ep->ctl);
	}
}

bool dapl_ep_move_ends(struct dapl_ep *ep, const struct dapl_ep_end *end)
{
	bool later;

	dapl_lock(&ep->ctl);
	later = dapl_ep_move_to_error_locked(ep);
	if (later) {
		ep->move->ends = true;
		ep->move->end = *end;
	}
	dapl_unlock(&ep->ctl);
	return later;
}

bool dapl_ep_move_abandon_locked(struct dapl_ep *ep,
				 const struct dapl_cm_conn *conn)
{
	struct dapl_ep_move *m;

	dapl_lock_assert_held(&ep->lock);
	dapl_list_for_each(m, &ep->moves, link) {
		if (m->conn != conn)
			continue;
		m->abandoned = true;
		return true;
	}
	return false;
}

/* ------------------------------------------------------ on the helper */

static bool may_go_on(struct dapl_ep_move *m)
{
	bool to_error;

	dapl_lock(&m->ep->ctl);
	to_error = m->to_error;
	dapl_unlock(&m->ep->ctl);
	return !to_error;
}

static void run_move(struct dapl_job *job)
{
	struct dapl_ep_move *m = (struct dapl_ep_move *)job;
	struct dapl_ep *ep = m->ep;
	int i, ret = 0;

	/* Nobody but us touches the queue pair: see the top. */
	for (i = 0; i < m->n && !ret; i++)
		ret = may_go_on(m) ? vb_qp_modify(ep->qp, &m->step[i].attr,
						  m->step[i].mask)
				   : -ECANCELED;
	m->ret = ret;
	dapl_lock(&ep->ctl);
	let_go_locked(ep);
	if (m->to_error)
		dapl_ep_qp_error_locked(ep);
	dapl_unlock(&ep->ctl);
}

/* ------------------------------------------------------------- its end */

/* Tells the connection manager, if TELL, and does what had to wait. */
static void finish(struct dapl_ep_move *m, bool tell, int ret)
{
	struct dapl_ep *ep = m->ep;

	if (tell)
		m->moved(m->conn, ret);
	if (m->ends)
		dapl_ep_ended(ep, &m->end);
	if (m->abandoned)
		dapl_ep_conn_release(ep, m->conn);
	dapl_obj_put(&ep->obj);
	free(m);
}

static void move_done(struct dapl_job *job)
{
	struct dapl_ep_move *m = (struct dapl_ep_move *)job;
	struct dapl_ep *ep = m->ep;
	bool taken;
	int ret = m->ret;

	dapl_lock(&ep->lock);
	taken = dapl_list_empty(&m->link);
	dapl_list_del(&m->link);
	if (ep->conn != m->conn)
		ret = -ENOTCONN;
	dapl_unlock(&ep->lock);
	if (!taken)
		finish(m, true, ret);
}

/* ------------------------------------------ for connection managers */

/* A peer that has vanished must be found missing some day. */
static void end_retries(const struct vb_dev *dev, struct dapl_cm_step *step)
{
	if (dev->seven_is_endless && (step->mask & IBV_QP_RETRY_CNT) &&
	    step->attr.retry_cnt == 7)
		step->attr.retry_cnt = 6;
}

int dapl_ep_cm_qp_move(struct dapl_ep *ep, struct dapl_cm_conn *conn,
		       const struct dapl_cm_step *steps, int n,
		       dapl_cm_moved_fn *moved)
{
	struct dapl_ep_move *m = calloc(1, sizeof(*m));
	bool ok;

	if (!m)
		return -ENOMEM;
	dapl_job_init(&m->job, run_move, move_done);
	m->ep = ep;
	m->conn = conn;
	m->moved = moved;
	m->ret = -ECANCELED;
	m->n = n;
	memcpy(m->step, steps, (size_t)n * sizeof(*steps));
	for (int i = 0; i < n; i++)
		end_retries(&ep->obj.ia->dev, &m->step[i]);
	dapl_lock(&ep->ctl);
	dapl_lock(&ep->lock);
	/* Who takes the connection away ends its queue pair next: with ctl. */
	ok = ep->qp && !ep->move && ep->conn == conn;
	if (ok) {
		dapl_list_add_tail(&ep->moves, &m->link);
		dapl_obj_get(&ep->obj);
	}
	dapl_unlock(&ep->lock);
	if (ok) {
		ep->move = m;
		dapl_job_start(ep->obj.ia->loop, &m->job);
	}
	dapl_unlock(&ep->ctl);
	if (!ok)
		free(m);
	return ok ? 0 : -ENOTCONN;
}

void dapl_ep_cm_qp_error(struct dapl_ep *ep, const struct dapl_cm_conn *conn)
{
	bool mine;

	dapl_lock(&ep->ctl);
	dapl_lock(&ep->lock);
	mine = ep->conn == conn;
	dapl_unlock(&ep->lock);
	if (mine)
		dapl_ep_qp_error_locked(ep);
	dapl_unlock(&ep->ctl);
}

void dapl_ep_cm_qp_stop(struct dapl_ep *ep, const struct dapl_cm_conn *conn)
{
	struct dapl_ep_move *m, *found = NULL;

	dapl_lock(&ep->lock);
	dapl_list_for_each(m, &ep->moves, link) {
		if (m->conn != conn)
			continue;
		found = m;
		dapl_list_del(&m->link);
		break;
	}
	dapl_unlock(&ep->lock);
	if (!found)
		return;
	dapl_lock(&ep->ctl);
	found->to_error = true;
	dapl_unlock(&ep->ctl);
	dapl_job_cancel(&found->job);
	dapl_lock(&ep->ctl);
	if (ep->move == found)
		let_go_locked(ep);
	dapl_unlock(&ep->ctl);
	finish(found, false, 0);
}
