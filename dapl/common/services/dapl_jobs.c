/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_jobs.c - helper threads for calls that may sleep; see the header.
 *
 * One lock guards everything; it is free while a job runs. Each helper has a
 * place that names the job it runs; before that is cleared, done() is deferred,
 * and from then on the job's memory may be gone. A job that is queued wakes one
 * idle helper and no more: they are many, and each would look for itself. The
 * service thread does so at the end of its round, or each helper would take the
 * processor away from the next job's start. Who waits for the end of a run is
 * somebody else, and sleeps elsewhere.
 */
#include "dapl/common/services/dapl_jobs.h"

#include <errno.h>
#include <stdlib.h>

#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_thread.h"

struct dapl_jobs {
	struct dapl_loop *loop;
	struct dapl_lock lock; /* role JOBS */
	struct dapl_list queue;
	unsigned queued_n;
	unsigned unheard; /* of these, that no helper was woken for */
	struct dapl_work wake_work;
	unsigned idle;
	bool stop;
	int queue_seq; /* futex: idle helpers sleep until it moves */
	int end_seq;   /* futex: so do those who wait for the end of a run */
	unsigned end_waits; /* of these */
	unsigned helpers;
	struct helper {
		struct dapl_jobs *jobs;
		pthread_t thread;
		bool made;
		const struct dapl_job *runs; /* or NULL */
	} helper[DAPL_JOBS_HELPERS];
};

static bool forked(const struct dapl_jobs *jobs)
{
	return dapl_loop_forked(jobs->loop);
}

static void move_on(int *seq)
{
	__atomic_store_n(seq, *seq + 1, __ATOMIC_RELEASE);
}

/* Gives the lock up until SEQ, one of the two, has moved. */
static void wait_locked(struct dapl_jobs *jobs, const int *seq)
{
	int was = *seq;

	dapl_lock_assert_held(&jobs->lock);
	dapl_unlock(&jobs->lock);
	dapl__futex_wait(seq, was);
	dapl_lock(&jobs->lock);
}

static void dequeue_locked(struct dapl_job *job)
{
	dapl_lock_assert_held(&job->jobs->lock);
	dapl_list_del(&job->link);
	job->queued = false;
	job->jobs->queued_n--;
}

static bool runs_locked(const struct dapl_jobs *jobs,
			const struct dapl_job *job)
{
	dapl_lock_assert_held(&jobs->lock);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		if (jobs->helper[i].runs == job)
			return true;
	return false;
}

/* ------------------------------------------------------- the helpers */

static struct dapl_job *next_locked(struct helper *h)
{
	struct dapl_jobs *jobs = h->jobs;
	struct dapl_job *job;

	dapl_lock_assert_held(&jobs->lock);
	jobs->idle++;
	while (dapl_list_empty(&jobs->queue) && !jobs->stop)
		wait_locked(jobs, &jobs->queue_seq);
	jobs->idle--;
	if (dapl_list_empty(&jobs->queue))
		return NULL;
	job = dapl_list_first(&jobs->queue, struct dapl_job, link);
	dequeue_locked(job);
	h->runs = job;
	return job;
}

static void ran_locked(struct helper *h)
{
	struct dapl_jobs *jobs = h->jobs;

	dapl_lock_assert_held(&jobs->lock);
	h->runs = NULL;
	if (!jobs->end_waits)
		return;
	move_on(&jobs->end_seq);
	dapl__futex_wake_all(&jobs->end_seq);
}

static void *helper_main(void *arg)
{
	struct helper *h = arg;
	struct dapl_jobs *jobs = h->jobs;
	struct dapl_job *job;

	dapl_lock(&jobs->lock);
	while ((job = next_locked(h))) {
		dapl_unlock(&jobs->lock);
		job->run(job);
		dapl__lock_assert_none();
		/* The service thread may be at it from here on, and free it;
		 * who cancels it waits until its place is cleared. */
		dapl_loop_defer(jobs->loop, &job->work);
		dapl_lock(&jobs->lock);
		ran_locked(h);
	}
	dapl_unlock(&jobs->lock);
	return NULL;
}

/* A place for one more helper, if it is needed. */
static struct helper *reserve_locked(struct dapl_jobs *jobs)
{
	struct helper *h = jobs->helper;

	dapl_lock_assert_held(&jobs->lock);
	if (jobs->queued_n <= jobs->idle || jobs->helpers == DAPL_JOBS_HELPERS)
		return NULL;
	while (h->made)
		h++;
	h->made = true;
	jobs->helpers++;
	return h;
}

/* There is no thread to be had: what waits goes to the service thread. */
static void give_up(struct dapl_jobs *jobs, struct helper *h)
{
	struct dapl_job *job;

	dapl_lock(&jobs->lock);
	h->made = false;
	jobs->helpers--;
	while (!jobs->helpers && !dapl_list_empty(&jobs->queue)) {
		job = dapl_list_first(&jobs->queue, struct dapl_job, link);
		dequeue_locked(job);
		job->here = true;
		dapl_loop_defer(jobs->loop, &job->work);
	}
	dapl_unlock(&jobs->lock);
}

/* --------------------------------------------------------------- jobs */

static void on_work(struct dapl_work *work)
{
	struct dapl_job *job = dapl_container_of(work, struct dapl_job, work);
	bool here;

	dapl_lock(&job->jobs->lock);
	here = job->here;
	job->here = false;
	dapl_unlock(&job->jobs->lock);
	if (here)
		job->run(job);
	job->done(job);
}

void dapl_job_init(struct dapl_job *job, void (*run)(struct dapl_job *job),
		   void (*done)(struct dapl_job *job))
{
	job->run = run;
	job->done = done;
	job->jobs = NULL;
	dapl_list_init(&job->link);
	dapl_work_init(&job->work, on_work);
	job->queued = false;
	job->here = false;
}

/* For one of those that no helper was woken for; false: there is none. */
static bool wake_helper(struct dapl_jobs *jobs)
{
	struct helper *h = NULL;
	bool some, idle;

	dapl_lock(&jobs->lock);
	some = jobs->unheard > 0;
	idle = some && jobs->idle;
	if (some) {
		jobs->unheard--;
		move_on(&jobs->queue_seq);
		h = reserve_locked(jobs);
	}
	dapl_unlock(&jobs->lock);
	/* Without the lock, which is the first that the helper wants. */
	if (idle)
		dapl__futex_wake_one(&jobs->queue_seq);
	if (h && dapl_thread_start(&h->thread, "dapl-helper", helper_main, h))
		give_up(jobs, h);
	return some;
}

static void wake_helpers(struct dapl_jobs *jobs)
{
	while (wake_helper(jobs))
		;
}

static void on_wake_work(struct dapl_work *work)
{
	wake_helpers(dapl_container_of(work, struct dapl_jobs, wake_work));
}

void dapl_job_start(struct dapl_loop *loop, struct dapl_job *job)
{
	struct dapl_jobs *jobs = dapl_loop_jobs(loop);

	job->jobs = jobs;
	if (forked(jobs))
		return;
	dapl_lock(&jobs->lock);
	job->queued = true;
	dapl_list_add_tail(&jobs->queue, &job->link);
	jobs->queued_n++;
	jobs->unheard++;
	dapl_unlock(&jobs->lock);
	if (dapl_loop_here(loop))
		dapl_loop_defer(loop, &jobs->wake_work);
	else
		wake_helpers(jobs);
}

bool dapl_job_skip(struct dapl_job *job)
{
	struct dapl_jobs *jobs = job->jobs;
	bool skipped;

	if (forked(jobs))
		return true;
	dapl_lock(&jobs->lock);
	skipped = job->queued || job->here;
	if (job->queued) {
		dequeue_locked(job);
		dapl_loop_defer(jobs->loop, &job->work);
	}
	job->here = false;
	dapl_unlock(&jobs->lock);
	return skipped;
}

void dapl_job_cancel(struct dapl_job *job)
{
	struct dapl_jobs *jobs = job->jobs;

	if (!jobs)
		return;
	if (!forked(jobs)) {
		dapl_lock(&jobs->lock);
		if (job->queued)
			dequeue_locked(job);
		jobs->end_waits++;
		while (runs_locked(jobs, job))
			wait_locked(jobs, &jobs->end_seq);
		jobs->end_waits--;
		dapl_unlock(&jobs->lock);
	}
	dapl_work_cancel(jobs->loop, &job->work);
	job->here = false;
}

/* -------------------------------------------------- open and close */

int dapl_jobs_open(struct dapl_loop *loop, struct dapl_jobs **ret_jobs)
{
	struct dapl_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	jobs->loop = loop;
	dapl_lock_init(&jobs->lock, DAPL_LOCK_JOBS);
	dapl_list_init(&jobs->queue);
	dapl_work_init_at_end(&jobs->wake_work, on_wake_work);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		jobs->helper[i].jobs = jobs;
	*ret_jobs = jobs;
	return 0;
}

void dapl_jobs_close(struct dapl_jobs *jobs)
{
	dapl_work_cancel(jobs->loop, &jobs->wake_work);
	if (!forked(jobs)) {
		dapl_lock(&jobs->lock);
		jobs->stop = true;
		move_on(&jobs->queue_seq);
		dapl__futex_wake_all(&jobs->queue_seq);
		dapl_unlock(&jobs->lock);
		for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
			if (jobs->helper[i].made)
				pthread_join(jobs->helper[i].thread, NULL);
		dapl_lock_fini(&jobs->lock);
	}
	free(jobs);
}
