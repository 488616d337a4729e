/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_jobs.h - calls that may sleep in the kernel, off the service thread.
 *
 * On Ethernet the kernel looks for a peer's hardware address inside
 * ibv_create_ah() and ibv_modify_qp(), which takes a second or more when nobody
 * answers. Such a call is the run() of a job: a helper thread makes it, and
 * done() follows on the service thread.
 *
 * The helpers belong to the loop of an IA: none until there is a job, as many
 * as jobs that sleep need, at most DAPL_JOBS_HELPERS, and all ended when the
 * loop is closed. Where no helper can be made the service thread does it
 * itself, so that a job always comes to its done().
 *
 * A job that may have the kernel look for somebody says for whom. Jobs for one
 * peer have at most DAPL_JOBS_FOR_ONE helpers at a time, so that a host that
 * has vanished does not hold up the others, if the system has threads for more
 * of them. Two such hosts have them all. Jobs begin in the order in which they
 * were started; those that have to wait for their peer's let others pass.
 *
 * A job that takes no time otherwise says so too. Of these, the service thread
 * runs the ones that soon follow a quick one for the same peer, or wait when it
 * has ended: a helper would cost more than the job.
 *
 * Memory of a job is its owner's, valid from start to done() or cancel.
 * Any thread; internally one lock of role JOBS.
 */
#ifndef DAPL_JOBS_H
#define DAPL_JOBS_H

#include "dapl/common/services/dapl_loop.h"

#define DAPL_JOBS_HELPERS 16
#define DAPL_JOBS_FOR_ONE (DAPL_JOBS_HELPERS / 2)

struct dapl_jobs;

/* A GID. All zero: nobody. */
struct dapl_job_peer {
	uint64_t half[2];
};

struct dapl_job {
	void (*run)(struct dapl_job *job);  /* helper; may block */
	void (*done)(struct dapl_job *job); /* service thread */
	/* Set after dapl_job_init(), where it is so: */
	struct dapl_job_peer peer; /* whom it looks for */
	bool light;		   /* it takes no time when he is found */
	/* The rest is dapl_jobs.c's. */
	struct dapl_jobs *jobs;
	struct dapl_list link;
	struct dapl_work work;
	bool queued;	/* no helper has taken it yet */
	bool held;	/* and none may, until one for its peer has ended */
	bool here;	/* the service thread is to run it */
	bool quick;	/* that is, as long as its peer is */
	bool cancelled; /* nothing is to come of it */
};

void dapl_job_init(struct dapl_job *job, void (*run)(struct dapl_job *job),
		   void (*done)(struct dapl_job *job));
/* JOB is not under way. In a child of fork() this does nothing. */
void dapl_job_start(struct dapl_loop *loop, struct dapl_job *job);
/*
 * If JOB has not begun, it never will: done() follows without run(), and the
 * result is true. In a child of fork(), where nothing runs, always.
 */
bool dapl_job_skip(struct dapl_job *job);
/*
 * After this neither run() nor done() is running or will run. Waits for a
 * run() in progress, and on another thread for a done(). Harmless for a job
 * that is not under way.
 */
void dapl_job_cancel(struct dapl_job *job);

/* For dapl_loop.c: the helpers of LOOP. 0 or -ENOMEM. */
int dapl_jobs_open(struct dapl_loop *loop, struct dapl_jobs **ret_jobs);
/* Ends and joins the helpers; no job is queued. */
void dapl_jobs_close(struct dapl_jobs *jobs);

#endif
