/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_jobs.c - helper threads for calls that may sleep; see the header.
 *
 * One lock guards everything; it is free while a job runs. Each helper has a
 * place that names the job it runs; as it is cleared, done() is deferred, and
 * from then on the job's memory may be gone. Who waits, for a job to begin or
 * to end, sleeps until "seq" moves.
 */
#include "dapl/common/services/dapl_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_thread.h"

struct dapl_jobs {
	struct dapl_loop *loop;
	struct dapl_lock lock; /* role JOBS */
	pid_t pid;	       /* of the process that has the threads */
	struct dapl_list queue;
	unsigned queued_n;
	unsigned idle;
	bool stop;
	int seq; /* futex */
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
	return jobs->pid != getpid();
}

static void changed_locked(struct dapl_jobs *jobs)
{
	dapl_lock_assert_held(&jobs->lock);
	__atomic_store_n(&jobs->seq, jobs->seq + 1, __ATOMIC_RELEASE);
	dapl__futex_wake_all(&jobs->seq);
}

/* Gives the lock up until something has changed. */
static void wait_locked(struct dapl_jobs *jobs)
{
	int seq = jobs->seq;

	dapl_lock_assert_held(&jobs->lock);
	dapl_unlock(&jobs->lock);
	dapl__futex_wait(&jobs->seq, seq);
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
		wait_locked(jobs);
	jobs->idle--;
	if (dapl_list_empty(&jobs->queue))
		return NULL;
	job = dapl_list_first(&jobs->queue, struct dapl_job, link);
	dequeue_locked(job);
	h->runs = job;
	return job;
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
		dapl_lock(&jobs->lock);
		h->runs = NULL;
		dapl_loop_defer(jobs->loop, &job->work);
		changed_locked(jobs);
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

void dapl_job_start(struct dapl_loop *loop, struct dapl_job *job)
{
	struct dapl_jobs *jobs = dapl_loop_jobs(loop);
	struct helper *h;

	job->jobs = jobs;
	if (forked(jobs))
		return;
	dapl_lock(&jobs->lock);
	job->queued = true;
	dapl_list_add_tail(&jobs->queue, &job->link);
	jobs->queued_n++;
	changed_locked(jobs);
	h = reserve_locked(jobs);
	dapl_unlock(&jobs->lock);
	if (h && dapl_thread_start(&h->thread, "dapl-helper", helper_main, h))
		give_up(jobs, h);
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
		while (runs_locked(jobs, job))
			wait_locked(jobs);
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
	jobs->pid = getpid();
	dapl_lock_init(&jobs->lock, DAPL_LOCK_JOBS);
	dapl_list_init(&jobs->queue);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		jobs->helper[i].jobs = jobs;
	*ret_jobs = jobs;
	return 0;
}

void dapl_jobs_close(struct dapl_jobs *jobs)
{
	if (!forked(jobs)) {
		dapl_lock(&jobs->lock);
		jobs->stop = true;
		changed_locked(jobs);
		dapl_unlock(&jobs->lock);
		for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
			if (jobs->helper[i].made)
				pthread_join(jobs->helper[i].thread, NULL);
		dapl_lock_fini(&jobs->lock);
	}
	free(jobs);
}
