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
 *
 * Where jobs never sleep one helper does them all, and more would only take the
 * processor from each other. There are more of them once most jobs have been
 * seen to sleep, which the kernel tells, and whenever nobody has ended a job
 * for a while: the others may be where that takes long.
 *
 * A job whose peer has all the helpers that one may have is put aside when it
 * is met, and taken by who ends one for that peer. So nobody is woken in vain,
 * and none of them is looked at twice.
 *
 * How long a job took is kept by whom it looked for, in a table of few places;
 * one who is driven out of it, or was looked for in vain, is a helper's again.
 * A helper that meets a job of one who was found meanwhile gives it away.
 */
#include "dapl/common/services/dapl_jobs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_thread.h"

#define STUCK_US   10000 /* nobody ends a job for so long: one helper more */
#define SLEEPS_MIN 4	 /* so many that have slept say something */
#define RAN_MAX	   64	 /* what was before these counts half */

#define PEERS_SHIFT 5	     /* log2 of those that are known */
#define QUICK_US    10000    /* who takes longer was looked for */
#define KNOWN_US    10000000 /* the kernel keeps an address for longer */

/* Peers that can have all the helpers that one may have. */
#define FULL_MAX (DAPL_JOBS_HELPERS / DAPL_JOBS_FOR_ONE)

struct quick {
	struct dapl_job_peer peer;
	uint64_t until_us;
};

struct dapl_jobs {
	struct dapl_loop *loop;
	struct dapl_lock lock; /* role JOBS */
	struct dapl_list queue;
	unsigned queued_n;
	unsigned unheard; /* of these, that no helper was woken for */
	/* Met in the queue when their peer had all the helpers he may have. */
	struct {
		struct dapl_job_peer peer;
		struct dapl_list jobs;
	} held[FULL_MAX];
	struct dapl_work wake_work;
	/* Helpers that wait for a job are idle, or woken and on their way. */
	unsigned idle;
	unsigned woken;
	unsigned made;	     /* helpers that have not begun */
	unsigned ran, slept; /* late jobs, and such as slept in the kernel */
	unsigned ended;	     /* jobs of helpers, ever */
	unsigned ended_then; /* the same when STUCK was armed */
	bool stuck_armed;    /* or its callback is to be */
	struct dapl_timer stuck;
	bool stop;
	int queue_seq; /* futex: idle helpers sleep until it moves */
	int end_seq;   /* futex: so do those who wait for the end of a run */
	unsigned end_waits;  /* of these */
	struct quick *quick; /* 1 << PEERS_SHIFT, once there is a peer */
	unsigned helpers;
	struct helper {
		struct dapl_jobs *jobs;
		pthread_t thread;
		bool made;
		const struct dapl_job *runs; /* or NULL */
		struct dapl_job_peer peer;   /* of what it runs; or nobody */
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
	if (!job->held)
		job->jobs->queued_n--;
	job->held = false;
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

/* ------------------------------------------------- who is found quickly */

static struct quick *place_locked(struct dapl_jobs *jobs,
				  const struct dapl_job_peer *peer)
{
	uint64_t mix = peer->half[0] * 31 ^ peer->half[1];

	dapl_lock_assert_held(&jobs->lock);
	return &jobs->quick[mix * 0x9e3779b97f4a7c15 >> (64 - PEERS_SHIFT)];
}

static bool is_same(const struct dapl_job_peer *a,
		    const struct dapl_job_peer *b)
{
	return a->half[0] == b->half[0] && a->half[1] == b->half[1];
}

static bool is_nobody(const struct dapl_job_peer *peer)
{
	return !peer->half[0] && !peer->half[1];
}

static bool is_quick_locked(struct dapl_jobs *jobs, const struct dapl_job *job)
{
	const struct quick *q;

	if (!job->light || is_nobody(&job->peer) || !jobs->quick)
		return false;
	q = place_locked(jobs, &job->peer);
	return is_same(&q->peer, &job->peer) && dapl_now_us() < q->until_us;
}

/* JOB has looked for its peer since BEGAN_US. No memory: nothing is learned. */
static void learn_locked(struct dapl_jobs *jobs, const struct dapl_job *job,
			 uint64_t began_us)
{
	const struct dapl_job_peer *peer = &job->peer;
	uint64_t now = dapl_now_us();
	struct quick *q;

	if (!job->light || is_nobody(peer))
		return;
	if (!jobs->quick)
		jobs->quick = calloc(1 << PEERS_SHIFT, sizeof(*q));
	if (!jobs->quick)
		return;
	q = place_locked(jobs, peer);
	if (now - began_us < QUICK_US)
		*q = (struct quick){.peer = *peer, .until_us = now + KNOWN_US};
	else if (is_same(&q->peer, peer))
		q->until_us = 0;
}

static void run_it(struct dapl_job *job)
{
	uint64_t began_us = dapl_now_us();

	job->run(job);
	dapl_lock(&job->jobs->lock);
	learn_locked(job->jobs, job, began_us);
	dapl_unlock(&job->jobs->lock);
}

/* ------------------------------------------------------- the helpers */

/* How often the kernel has put this thread to sleep. */
static long sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

/* Whether jobs mostly sleep: then each has a helper of its own. */
static bool they_sleep_locked(const struct dapl_jobs *jobs)
{
	dapl_lock_assert_held(&jobs->lock);
	return jobs->slept >= SLEEPS_MIN && jobs->slept * 2 > jobs->ran;
}

/* A job has run. */
static void count_locked(struct dapl_jobs *jobs, bool slept)
{
	dapl_lock_assert_held(&jobs->lock);
	if (jobs->ran == RAN_MAX) {
		jobs->ran /= 2;
		jobs->slept /= 2;
	}
	jobs->ran++;
	jobs->slept += slept;
}

/* Whether so many look for PEER that one more has to wait for one of them. */
static bool is_full_locked(const struct dapl_jobs *jobs,
			   const struct dapl_job_peer *peer)
{
	int n = 0;

	dapl_lock_assert_held(&jobs->lock);
	if (is_nobody(peer))
		return false;
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		n += is_same(&jobs->helper[i].peer, peer);
	return n >= DAPL_JOBS_FOR_ONE;
}

/* Its peer is full. Others that are have a list each; one is left for it. */
static void hold_locked(struct dapl_jobs *jobs, struct dapl_job *job)
{
	int i;

	dapl_lock_assert_held(&jobs->lock);
	for (i = 0; i < FULL_MAX; i++)
		if (is_same(&jobs->held[i].peer, &job->peer))
			break;
	for (int k = 0; i == FULL_MAX; k++) {
		assert(k < FULL_MAX);
		if (dapl_list_empty(&jobs->held[k].jobs))
			i = k;
	}
	dequeue_locked(job);
	job->queued = true;
	job->held = true;
	jobs->held[i].peer = job->peer;
	dapl_list_add_tail(&jobs->held[i].jobs, &job->link);
}

/*
 * The first that may begin, or NULL. Those before it may not, and need not be
 * looked at again: who ends one for their peer takes the next of them.
 */
static struct dapl_job *first_locked(struct dapl_jobs *jobs)
{
	struct dapl_job *job;

	dapl_lock_assert_held(&jobs->lock);
	while (!dapl_list_empty(&jobs->queue)) {
		job = dapl_list_first(&jobs->queue, struct dapl_job, link);
		if (!is_full_locked(jobs, &job->peer))
			return job;
		hold_locked(jobs, job);
	}
	return NULL;
}

/* H has ended one for its peer, if it had one: the next of them, or NULL. */
static struct dapl_job *next_held_locked(struct helper *h)
{
	struct dapl_job_peer peer = h->peer;
	struct dapl_jobs *jobs = h->jobs;

	dapl_lock_assert_held(&jobs->lock);
	h->peer = (struct dapl_job_peer){{0}};
	for (int i = 0; i < FULL_MAX; i++)
		if (is_same(&jobs->held[i].peer, &peer) &&
		    !dapl_list_empty(&jobs->held[i].jobs))
			return dapl_list_first(&jobs->held[i].jobs,
					       struct dapl_job, link);
	return NULL;
}

/* The service thread runs it. */
static void to_service_thread_locked(struct dapl_job *job, bool quick)
{
	dapl_lock_assert_held(&job->jobs->lock);
	dequeue_locked(job);
	job->here = true;
	job->quick = quick;
	dapl_loop_defer(job->jobs->loop, &job->work);
}

/* Sleeps until there is one; NULL: the end. */
static struct dapl_job *await_locked(struct helper *h)
{
	struct dapl_jobs *jobs = h->jobs;
	struct dapl_job *job = next_held_locked(h);

	dapl_lock_assert_held(&jobs->lock);
	while (!job && !(job = first_locked(jobs)) && !jobs->stop) {
		jobs->idle++;
		wait_locked(jobs, &jobs->queue_seq);
		/* One that wakes by itself is as good as the one that was. */
		if (jobs->woken)
			jobs->woken--;
		else
			jobs->idle--;
	}
	return job;
}

/*
 * Of many for one peer that were started at once the first may have found him:
 * the others are no longer for us. PEER is set for them, too, as it leads to
 * such as are held.
 */
static struct dapl_job *next_locked(struct helper *h)
{
	struct dapl_job *job;

	while ((job = await_locked(h))) {
		h->peer = job->peer;
		if (!is_quick_locked(h->jobs, job))
			break;
		to_service_thread_locked(job, true);
	}
	if (!job)
		return NULL;
	dequeue_locked(job);
	h->runs = job;
	return job;
}

static void ran_locked(struct helper *h)
{
	struct dapl_jobs *jobs = h->jobs;

	dapl_lock_assert_held(&jobs->lock);
	h->runs = NULL;
	jobs->ended++;
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
	long before, slept;

	dapl_lock(&jobs->lock);
	jobs->made--;
	while ((job = next_locked(h))) {
		dapl_unlock(&jobs->lock);
		before = sleeps();
		run_it(job);
		slept = sleeps() - before;
		dapl__lock_assert_none();
		/* The service thread may be at it from here on, and free it;
		 * who cancels it waits until its place is cleared. */
		dapl_loop_defer(jobs->loop, &job->work);
		dapl_lock(&jobs->lock);
		count_locked(jobs, slept > 0);
		ran_locked(h);
	}
	dapl_unlock(&jobs->lock);
	return NULL;
}

/* Whether there are jobs that no helper is idle or on its way for. */
static bool some_wait_locked(const struct dapl_jobs *jobs)
{
	dapl_lock_assert_held(&jobs->lock);
	return jobs->queued_n > jobs->idle + jobs->woken + jobs->made;
}

/* A place for one more helper, if it is needed. STUCK: the others may be. */
static struct helper *reserve_locked(struct dapl_jobs *jobs, bool stuck)
{
	struct helper *h = jobs->helper;

	dapl_lock_assert_held(&jobs->lock);
	if (!some_wait_locked(jobs) || jobs->helpers == DAPL_JOBS_HELPERS)
		return NULL;
	if (jobs->helpers && !stuck && !they_sleep_locked(jobs))
		return NULL;
	while (h->made)
		h++;
	h->made = true;
	jobs->helpers++;
	jobs->made++;
	return h;
}

/* There is no thread to be had: what waits goes to the service thread. */
static void give_up(struct dapl_jobs *jobs, struct helper *h)
{
	struct dapl_job *job;

	dapl_lock(&jobs->lock);
	h->made = false;
	jobs->helpers--;
	jobs->made--;
	while (!jobs->helpers && !dapl_list_empty(&jobs->queue)) {
		job = dapl_list_first(&jobs->queue, struct dapl_job, link);
		to_service_thread_locked(job, false);
	}
	dapl_unlock(&jobs->lock);
}

/* --------------------------------------------------------------- jobs */

static void queue_locked(struct dapl_job *job)
{
	struct dapl_jobs *jobs = job->jobs;

	dapl_lock_assert_held(&jobs->lock);
	job->queued = true;
	dapl_list_add_tail(&jobs->queue, &job->link);
	jobs->queued_n++;
	/* Nobody could begin it; who ends one for its peer looks here next. */
	if (!is_full_locked(jobs, &job->peer))
		jobs->unheard++;
}

/* Many of one peer may wait for us, and the first has just missed it. */
static bool to_helpers_locked(struct dapl_job *job)
{
	struct dapl_jobs *jobs = job->jobs;

	dapl_lock_assert_held(&jobs->lock);
	if (!job->here || !job->quick || is_quick_locked(jobs, job))
		return false;
	job->here = false;
	job->quick = false;
	queue_locked(job);
	dapl_loop_defer(jobs->loop, &jobs->wake_work);
	return true;
}

static void on_work(struct dapl_work *work)
{
	struct dapl_job *job = dapl_container_of(work, struct dapl_job, work);
	struct dapl_jobs *jobs = job->jobs;
	bool here, away;

	dapl_lock(&jobs->lock);
	away = job->cancelled || to_helpers_locked(job);
	here = job->here;
	job->here = false;
	dapl_unlock(&jobs->lock);
	if (away)
		return;
	if (here)
		run_it(job);
	job->done(job);
}

void dapl_job_init(struct dapl_job *job, void (*run)(struct dapl_job *job),
		   void (*done)(struct dapl_job *job))
{
	job->run = run;
	job->done = done;
	job->peer = (struct dapl_job_peer){{0}};
	job->light = false;
	job->jobs = NULL;
	dapl_list_init(&job->link);
	dapl_work_init(&job->work, on_work);
	job->queued = false;
	job->held = false;
	job->here = false;
	job->quick = false;
	job->cancelled = false;
}

/* One more helper, if it is needed. False: it is not, or cannot be had. */
static bool add_helper(struct dapl_jobs *jobs, bool stuck)
{
	struct helper *h;

	dapl_lock(&jobs->lock);
	h = reserve_locked(jobs, stuck);
	dapl_unlock(&jobs->lock);
	if (!h)
		return false;
	if (!dapl_thread_start(&h->thread, "dapl-helper", helper_main, h))
		return true;
	give_up(jobs, h);
	return false;
}

/* What waits now is to be looked after. False: nobody will. */
static bool watch_locked(struct dapl_jobs *jobs)
{
	dapl_lock_assert_held(&jobs->lock);
	if (jobs->stuck_armed || jobs->stop || !some_wait_locked(jobs) ||
	    jobs->helpers == DAPL_JOBS_HELPERS)
		return true;
	jobs->ended_then = jobs->ended;
	jobs->stuck_armed = !dapl_timer_arm(jobs->loop, &jobs->stuck,
					    dapl_now_us() + STUCK_US);
	return jobs->stuck_armed;
}

static void watch(struct dapl_jobs *jobs)
{
	bool watched;

	dapl_lock(&jobs->lock);
	watched = watch_locked(jobs);
	dapl_unlock(&jobs->lock);
	if (!watched)
		add_helper(jobs, true);
}

static void on_stuck(struct dapl_timer *timer)
{
	struct dapl_jobs *jobs =
		dapl_container_of(timer, struct dapl_jobs, stuck);
	bool stuck;

	dapl_lock(&jobs->lock);
	jobs->stuck_armed = false;
	stuck = jobs->ended == jobs->ended_then;
	dapl_unlock(&jobs->lock);
	add_helper(jobs, stuck);
	watch(jobs);
}

/* For those that no helper was woken for. */
static void wake_helpers(struct dapl_jobs *jobs)
{
	unsigned n;

	dapl_lock(&jobs->lock);
	n = jobs->unheard < jobs->idle ? jobs->unheard : jobs->idle;
	jobs->unheard = 0;
	jobs->idle -= n;
	jobs->woken += n;
	if (n)
		move_on(&jobs->queue_seq);
	dapl_unlock(&jobs->lock);
	/* Without the lock, which is the first that the helper wants. */
	while (n--)
		dapl__futex_wake_one(&jobs->queue_seq);
	while (add_helper(jobs, false))
		;
	watch(jobs);
}

static void on_wake_work(struct dapl_work *work)
{
	wake_helpers(dapl_container_of(work, struct dapl_jobs, wake_work));
}

void dapl_job_start(struct dapl_loop *loop, struct dapl_job *job)
{
	struct dapl_jobs *jobs = dapl_loop_jobs(loop);
	bool quick;

	job->jobs = jobs;
	job->cancelled = false;
	if (forked(jobs))
		return;
	dapl_lock(&jobs->lock);
	quick = is_quick_locked(jobs, job);
	job->quick = quick;
	job->here = quick;
	if (quick)
		dapl_loop_defer(loop, &job->work);
	else
		queue_locked(job);
	dapl_unlock(&jobs->lock);
	if (quick)
		return;
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
		job->here = false;
		/* The service thread may have come to it just now. */
		job->cancelled = true;
		jobs->end_waits++;
		while (runs_locked(jobs, job))
			wait_locked(jobs, &jobs->end_seq);
		jobs->end_waits--;
		dapl_unlock(&jobs->lock);
	}
	dapl_work_cancel(jobs->loop, &job->work);
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
	for (int i = 0; i < FULL_MAX; i++)
		dapl_list_init(&jobs->held[i].jobs);
	dapl_work_init_at_end(&jobs->wake_work, on_wake_work);
	dapl_timer_init(&jobs->stuck, on_stuck);
	for (int i = 0; i < DAPL_JOBS_HELPERS; i++)
		jobs->helper[i].jobs = jobs;
	*ret_jobs = jobs;
	return 0;
}

void dapl_jobs_close(struct dapl_jobs *jobs)
{
	dapl_work_cancel(jobs->loop, &jobs->wake_work);
	dapl_timer_cancel(jobs->loop, &jobs->stuck);
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
	free(jobs->quick);
	free(jobs);
}
