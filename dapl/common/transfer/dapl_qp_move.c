/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_qp_move.c - a queue pair in the hands of another thread; see
 * dapl_qp.h. Who has it moved, and why, is unknown here.
 */
#include <errno.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/transfer/dapl_qp.h"

static void wake_locked(struct dapl_qp *qp)
{
	dapl_lock_assert_held(&qp->ctl);
	__atomic_store_n(&qp->busy_seq, qp->busy_seq + 1, __ATOMIC_RELEASE);
	if (qp->busy_waits)
		dapl__futex_wake_all(&qp->busy_seq);
}

static void let_go_locked(struct dapl_qp *qp)
{
	qp->move = NULL;
	wake_locked(qp);
}

/* Whether a job has it in hand; one that is only to come has not. */
static bool moving_locked(struct dapl_qp *qp)
{
	dapl_lock_assert_held(&qp->ctl);
	if (qp->move && dapl_job_skip(&qp->move->job))
		let_go_locked(qp);
	return qp->move != NULL;
}

bool dapl_qp_move_to_error_locked(struct dapl_qp *qp)
{
	dapl_lock_assert_held(&qp->ctl);
	if (!moving_locked(qp))
		return false;
	qp->move->to_error = true;
	return true;
}

static void wait_locked(struct dapl_qp *qp)
{
	int seq = qp->busy_seq;

	dapl_lock_assert_held(&qp->ctl);
	qp->busy_waits++;
	dapl_unlock(&qp->ctl);
	dapl__futex_wait(&qp->busy_seq, seq);
	dapl_lock(&qp->ctl);
	qp->busy_waits--;
}

void dapl_qp_move_wait_locked(struct dapl_qp *qp)
{
	while (dapl_qp_move_to_error_locked(qp))
		wait_locked(qp);
}

void dapl_qp_end_wait_locked(struct dapl_qp *qp)
{
	while (qp->ending)
		wait_locked(qp);
}

void dapl_qp_ended(struct dapl_qp *qp)
{
	dapl_lock(&qp->ctl);
	qp->ending = false;
	wake_locked(qp);
	dapl_unlock(&qp->ctl);
}

static bool may_go_on(struct dapl_qp_move *m)
{
	bool to_error;

	dapl_lock(&m->qp->ctl);
	to_error = m->to_error;
	dapl_unlock(&m->qp->ctl);
	return !to_error;
}

/* On the helper, or the service thread. */
static void run_move(struct dapl_job *job)
{
	struct dapl_qp_move *m = (struct dapl_qp_move *)job;
	struct dapl_qp *qp = m->qp;
	int i, ret = 0;

	/* Nobody but us touches the queue pair: see dapl_qp.h. */
	for (i = 0; i < m->n && !ret; i++)
		ret = may_go_on(m) ? vb_qp_modify(qp->ibv, &m->step[i].attr,
						  m->step[i].mask)
				   : -ECANCELED;
	m->ret = ret;
	dapl_lock(&qp->ctl);
	let_go_locked(qp);
	if (m->to_error)
		dapl_qp_error_locked(qp);
	dapl_unlock(&qp->ctl);
}

/* A peer that has vanished must be found missing some day. */
static void end_retries(const struct vb_dev *dev, struct vb_qp_step *step)
{
	if (dev->retry_7_infinite && (step->mask & IBV_QP_RETRY_CNT) &&
	    step->attr.retry_cnt == 7)
		step->attr.retry_cnt = 6;
}

/*
 * The kernel may have to look for the peer's address. Where no hardware is
 * told, nothing else takes long.
 */
static void look_for(struct dapl_job *job, const struct vb_dev *dev,
		     const struct vb_qp_step *step)
{
	if (!(step->mask & IBV_QP_AV))
		return;
	job->light = dev->posts_enter_kernel;
	memcpy(&job->peer, &step->attr.ah_attr.grh.dgid, sizeof(job->peer));
}

void dapl_qp_move_init(struct dapl_qp_move *move, struct dapl_qp *qp,
		       const struct vb_qp_step *steps, int n,
		       void (*done)(struct dapl_job *job))
{
	dapl_job_init(&move->job, run_move, done);
	move->qp = qp;
	move->to_error = false;
	move->ret = -ECANCELED;
	move->n = n;
	memcpy(move->step, steps, (size_t)n * sizeof(*steps));
	for (int i = 0; i < n; i++) {
		end_retries(&qp->obj.ia->dev, &move->step[i]);
		look_for(&move->job, &qp->obj.ia->dev, &steps[i]);
	}
}

void dapl_qp_move_start_locked(struct dapl_qp_move *move)
{
	dapl_lock_assert_held(&move->qp->ctl);
	move->qp->move = move;
	dapl_job_start(move->qp->obj.ia->loop, &move->job);
}

void dapl_qp_move_cancel(struct dapl_qp_move *move)
{
	struct dapl_qp *qp = move->qp;

	dapl_lock(&qp->ctl);
	move->to_error = true;
	dapl_unlock(&qp->ctl);
	dapl_job_cancel(&move->job);
	dapl_lock(&qp->ctl);
	if (qp->move == move)
		let_go_locked(qp);
	dapl_unlock(&qp->ctl);
}
