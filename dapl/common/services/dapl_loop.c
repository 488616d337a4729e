/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_loop.c - the service thread: descriptors, timers, deferred work.
 *
 * Knows nothing of its users and holds no reference on what it calls.
 * One leaf lock guards everything; it is free while a callback runs. "running"
 * names the object whose callback that is. A foreign thread that deletes or
 * cancels it counts itself in run_waiters and sleeps until run_seq moves.
 * After a callback its object is touched only if somebody waits for it: else
 * the callback may have freed it. dapl_loop_barrier() waits for no object, only
 * for the end of what runs.
 * Descriptors reach epoll as (generation, slot), never as a pointer: an event
 * that epoll_wait() has already fetched when its watch is deleted finds the
 * generation gone.
 */
#include "config.h"

#include "dapl/common/services/dapl_loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "dapl/common/services/dapl_cancel.h"
#include "dapl/common/services/dapl_fork.h"
#include "dapl/common/services/dapl_jobs.h"
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_log.h"
#include "dapl/common/services/dapl_thread.h"

#define BATCH	    16 /* events of one epoll_wait() */
#define FIRST_ALLOC 16
#define NO_SLOT	    UINT32_MAX
#define WAKE_ID	    UINT64_MAX

struct slot {
	struct dapl_watch *w; /* NULL: free */
	uint32_t gen;
	uint32_t next_free;
};

struct dapl_loop {
	struct dapl_lock lock; /* role LEAF; guards all that changes */
	int epoll_fd;
	int wake_fd;
	unsigned forks; /* dapl_fork_count() of the process with the thread */
	pthread_t thread;
	struct dapl_jobs *jobs;
	bool stop;
	bool asleep; /* in epoll_wait(), and nobody has woken it yet */

	struct slot *slots;
	uint32_t slot_count;
	uint32_t slot_free;
	uint32_t watch_count;

	struct dapl_timer **heap; /* 1-based, earliest first */
	uint32_t heap_len;
	uint32_t heap_size;

	struct dapl_list works;
	struct dapl_list at_end; /* those of the end of a round */

	const void *running;
	unsigned run_waiters; /* for the end of that; it is alive then */
	unsigned run_others;  /* who wait whatever it is */
	int run_seq;	      /* futex */
};

static __thread struct dapl_loop *here;

uint64_t dapl_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

bool dapl_loop_here(const struct dapl_loop *loop)
{
	return loop && here == loop;
}

struct dapl_jobs *dapl_loop_jobs(const struct dapl_loop *loop)
{
	return loop->jobs;
}

/*
 * In a forked child the lock may be held forever by a thread that is not
 * there, and the epoll set is the parent's: neither may be touched.
 */
bool dapl_loop_forked(const struct dapl_loop *loop)
{
	return loop->forks != dapl_fork_count();
}

/* Doubles an array of SIZE-byte elements that is full. 0 or -ENOMEM. */
static int grow(void *array, uint32_t *count, size_t size)
{
	uint32_t n = *count ? *count * 2 : FIRST_ALLOC;
	void *p;

	if (n < *count || n >= NO_SLOT)
		return -ENOMEM;
	memcpy(&p, array, sizeof(p));
	p = reallocarray(p, n, size);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	*count = n;
	return 0;
}

/* Whether the thread sleeps and this caller is to wake it. */
static bool asleep_locked(struct dapl_loop *loop)
{
	bool was = loop->asleep;

	dapl_lock_assert_held(&loop->lock);
	loop->asleep = false;
	return was;
}

/* Without the lock, which is the first that the thread wants when it wakes. */
static void wake(struct dapl_loop *loop)
{
	static const uint64_t one = 1;
	int saved = errno;
	ssize_t n;

	n = dapl_fd_write(loop->wake_fd, &one, sizeof(one));
	(void)n; /* fails only if the counter is full: then it is awake */
	errno = saved;
}

static void run_begin_locked(struct dapl_loop *loop, const void *obj)
{
	dapl_lock_assert_held(&loop->lock);
	loop->running = obj;
	dapl_unlock(&loop->lock);
}

/* Takes the lock again; true if somebody waits, so the object is alive. */
static bool run_return(struct dapl_loop *loop)
{
	dapl__lock_assert_none();
	dapl_lock(&loop->lock);
	return loop->run_waiters > 0;
}

static void run_end_locked(struct dapl_loop *loop)
{
	dapl_lock_assert_held(&loop->lock);
	loop->running = NULL;
	if (!loop->run_waiters && !loop->run_others)
		return;
	loop->run_waiters = 0;
	loop->run_others = 0;
	__atomic_store_n(&loop->run_seq, loop->run_seq + 1, __ATOMIC_RELEASE);
	dapl__futex_wake_all(&loop->run_seq);
}

/* Gives up the lock until the callback that runs has ended. */
static void unlock_for_run(struct dapl_loop *loop)
{
	int seq = loop->run_seq;

	dapl_unlock(&loop->lock);
	while (__atomic_load_n(&loop->run_seq, __ATOMIC_ACQUIRE) == seq)
		dapl__futex_wait(&loop->run_seq, seq);
	/* Says the same to tools that follow locks only. */
	dapl_lock(&loop->lock);
}

/* Gives up the lock and waits for the end of OBJ's callback, if it runs. */
static void unlock_and_wait(struct dapl_loop *loop, const void *obj)
{
	if (loop->running == obj && !dapl_loop_here(loop)) {
		loop->run_waiters++;
		unlock_for_run(loop);
	}
	dapl_unlock(&loop->lock);
}

void dapl_loop_barrier(struct dapl_loop *loop)
{
	if (dapl_loop_forked(loop) || dapl_loop_here(loop))
		return;
	dapl_lock(&loop->lock);
	if (loop->running) {
		loop->run_others++;
		unlock_for_run(loop);
	}
	dapl_unlock(&loop->lock);
}

/* Descriptors. */

static int slot_take_locked(struct dapl_loop *loop, uint32_t *ret_slot)
{
	uint32_t i = loop->slot_count;
	int ret;

	dapl_lock_assert_held(&loop->lock);
	if (loop->slot_free == NO_SLOT) {
		ret = grow(&loop->slots, &loop->slot_count,
			   sizeof(*loop->slots));
		if (ret)
			return ret;
		for (; i < loop->slot_count; i++) {
			loop->slots[i] =
				(struct slot){.next_free = loop->slot_free};
			loop->slot_free = i;
		}
	}
	*ret_slot = loop->slot_free;
	loop->slot_free = loop->slots[*ret_slot].next_free;
	loop->watch_count++;
	return 0;
}

static void slot_put_locked(struct dapl_loop *loop, uint32_t i)
{
	dapl_lock_assert_held(&loop->lock);
	loop->slots[i].w = NULL;
	loop->slots[i].gen++;
	loop->slots[i].next_free = loop->slot_free;
	loop->slot_free = i;
	loop->watch_count--;
}

static bool added_locked(const struct dapl_loop *loop,
			 const struct dapl_watch *w)
{
	dapl_lock_assert_held(&loop->lock);
	return w->slot < loop->slot_count && loop->slots[w->slot].w == w;
}

static int control_locked(struct dapl_loop *loop, int op, uint32_t slot, int fd,
			  uint32_t events)
{
	struct epoll_event ev = {.events = events};

	dapl_lock_assert_held(&loop->lock);
	ev.data.u64 = (uint64_t)loop->slots[slot].gen << 32 | slot;
	return epoll_ctl(loop->epoll_fd, op, fd, &ev) ? -errno : 0;
}

static int add_locked(struct dapl_loop *loop, struct dapl_watch *w, int fd,
		      uint32_t events)
{
	uint32_t slot;
	int ret;

	dapl_lock_assert_held(&loop->lock);
	if (added_locked(loop, w))
		return -EALREADY;
	ret = slot_take_locked(loop, &slot);
	if (ret)
		return ret;
	ret = control_locked(loop, EPOLL_CTL_ADD, slot, fd, events);
	if (ret) {
		slot_put_locked(loop, slot);
		return ret;
	}
	loop->slots[slot].w = w;
	w->slot = slot;
	w->fd = fd;
	return 0;
}

int dapl_loop_add(struct dapl_loop *loop, struct dapl_watch *w, int fd,
		  uint32_t events)
{
	int ret;

	if (dapl_loop_forked(loop))
		return -EOPNOTSUPP;
	dapl_lock(&loop->lock);
	ret = add_locked(loop, w, fd, events);
	dapl_unlock(&loop->lock);
	return ret;
}

int dapl_loop_mod(struct dapl_loop *loop, struct dapl_watch *w, uint32_t events)
{
	int ret = -ENOENT;

	if (dapl_loop_forked(loop))
		return -EOPNOTSUPP;
	dapl_lock(&loop->lock);
	if (added_locked(loop, w))
		ret = control_locked(loop, EPOLL_CTL_MOD, w->slot, w->fd,
				     events);
	dapl_unlock(&loop->lock);
	return ret;
}

void dapl_loop_del(struct dapl_loop *loop, struct dapl_watch *w)
{
	int ret = 0;

	if (!dapl_loop_forked(loop)) {
		dapl_lock(&loop->lock);
		if (added_locked(loop, w)) {
			ret = control_locked(loop, EPOLL_CTL_DEL, w->slot,
					     w->fd, 0);
			slot_put_locked(loop, w->slot);
		}
		unlock_and_wait(loop, w);
	}
	if (ret)
		dapl_log(DAPL_LOG_WARN,
			 "loop %p: descriptor %d was closed before it was "
			 "taken off",
			 (void *)loop, w->fd);
	/* Last: a callback that was running may have used it. */
	w->fd = -1;
}

static void run_event(struct dapl_loop *loop, const struct epoll_event *ev)
{
	uint32_t i = (uint32_t)ev->data.u64;
	uint32_t gen = (uint32_t)(ev->data.u64 >> 32);
	struct dapl_watch *w = NULL;

	dapl_lock(&loop->lock);
	if (i < loop->slot_count && loop->slots[i].gen == gen)
		w = loop->slots[i].w;
	if (w) {
		run_begin_locked(loop, w);
		w->fn(w, ev->events);
		run_return(loop);
		run_end_locked(loop);
	}
	dapl_unlock(&loop->lock);
}

/* Timers: a binary heap whose elements know their place. */

static void heap_set(struct dapl_loop *loop, uint32_t i, struct dapl_timer *t)
{
	loop->heap[i - 1] = t;
	t->heap_index = i;
}

static uint64_t heap_key(const struct dapl_loop *loop, uint32_t i)
{
	return loop->heap[i - 1]->deadline_us;
}

/* Puts T at the place I or where it belongs above it. */
static void heap_up(struct dapl_loop *loop, uint32_t i, struct dapl_timer *t)
{
	while (i > 1 && heap_key(loop, i / 2) > t->deadline_us) {
		heap_set(loop, i, loop->heap[i / 2 - 1]);
		i /= 2;
	}
	heap_set(loop, i, t);
}

/* Puts T at the place I or where it belongs below it. */
static void heap_down(struct dapl_loop *loop, uint32_t i, struct dapl_timer *t)
{
	uint32_t child;

	for (;;) {
		child = i * 2;
		if (child > loop->heap_len)
			break;
		if (child < loop->heap_len &&
		    heap_key(loop, child + 1) < heap_key(loop, child))
			child++;
		if (heap_key(loop, child) >= t->deadline_us)
			break;
		heap_set(loop, i, loop->heap[child - 1]);
		i = child;
	}
	heap_set(loop, i, t);
}

static void heap_remove_locked(struct dapl_loop *loop, struct dapl_timer *t)
{
	uint32_t i = t->heap_index;
	struct dapl_timer *last;

	dapl_lock_assert_held(&loop->lock);
	if (!i)
		return;
	t->heap_index = 0;
	last = loop->heap[--loop->heap_len];
	if (last == t)
		return;
	if (i > 1 && heap_key(loop, i / 2) > last->deadline_us)
		heap_up(loop, i, last);
	else
		heap_down(loop, i, last);
}

static int arm_locked(struct dapl_loop *loop, struct dapl_timer *t,
		      uint64_t deadline_us)
{
	int ret;

	dapl_lock_assert_held(&loop->lock);
	if (!t->heap_index && loop->heap_len == loop->heap_size) {
		ret = grow(&loop->heap, &loop->heap_size, sizeof(*loop->heap));
		if (ret)
			return ret;
	}
	heap_remove_locked(loop, t);
	t->deadline_us = deadline_us;
	heap_up(loop, ++loop->heap_len, t);
	return 0;
}

void dapl_timer_init(struct dapl_timer *t, void (*fn)(struct dapl_timer *t))
{
	t->fn = fn;
	t->deadline_us = 0;
	t->heap_index = 0;
}

int dapl_timer_arm(struct dapl_loop *loop, struct dapl_timer *t,
		   uint64_t deadline_us)
{
	bool wakes;
	int ret;

	if (dapl_loop_forked(loop))
		return -EOPNOTSUPP;
	dapl_lock(&loop->lock);
	ret = arm_locked(loop, t, deadline_us);
	wakes = !ret && t->heap_index == 1 && asleep_locked(loop);
	dapl_unlock(&loop->lock);
	if (wakes)
		wake(loop);
	return ret;
}

void dapl_timer_cancel(struct dapl_loop *loop, struct dapl_timer *t)
{
	if (dapl_loop_forked(loop)) {
		t->heap_index = 0;
		return;
	}
	dapl_lock(&loop->lock);
	heap_remove_locked(loop, t);
	unlock_and_wait(loop, t);
}

/*
 * Each timer that is due once; one that its callback arms again for the past
 * gets its turn after descriptors and work.
 */
static void run_timers(struct dapl_loop *loop)
{
	uint64_t now = dapl_now_us();
	struct dapl_timer *t;
	uint32_t turns;

	dapl_lock(&loop->lock);
	turns = loop->heap_len;
	while (turns-- && loop->heap_len && heap_key(loop, 1) <= now) {
		t = loop->heap[0];
		heap_remove_locked(loop, t);
		run_begin_locked(loop, t);
		t->fn(t);
		if (run_return(loop))
			heap_remove_locked(loop, t);
		run_end_locked(loop);
	}
	dapl_unlock(&loop->lock);
}

/* Deferred work. */

void dapl_work_init(struct dapl_work *w, void (*fn)(struct dapl_work *w))
{
	w->fn = fn;
	w->queued = false;
	w->at_end = false;
	dapl_list_init(&w->link);
}

static void dequeue_locked(struct dapl_work *w)
{
	if (!w->queued)
		return;
	dapl_list_del(&w->link);
	w->queued = false;
}

void dapl_work_init_at_end(struct dapl_work *w, void (*fn)(struct dapl_work *w))
{
	dapl_work_init(w, fn);
	w->at_end = true;
}

void dapl_loop_defer(struct dapl_loop *loop, struct dapl_work *w)
{
	bool wakes;

	if (dapl_loop_forked(loop))
		return;
	dapl_lock(&loop->lock);
	wakes = !w->queued && asleep_locked(loop);
	if (!w->queued) {
		w->queued = true;
		dapl_list_add_tail(w->at_end ? &loop->at_end : &loop->works,
				   &w->link);
	}
	dapl_unlock(&loop->lock);
	if (wakes)
		wake(loop);
}

void dapl_work_cancel(struct dapl_loop *loop, struct dapl_work *w)
{
	if (dapl_loop_forked(loop)) {
		dapl_list_init(&w->link);
		w->queued = false;
		return;
	}
	dapl_lock(&loop->lock);
	dequeue_locked(w);
	unlock_and_wait(loop, w);
}

/* What is queued now; what that queues comes after descriptors and timers. */
static void run_works(struct dapl_loop *loop, struct dapl_list *works)
{
	struct dapl_list end;
	struct dapl_work *w;

	dapl_lock(&loop->lock);
	dapl_list_add_tail(works, &end);
	while (works->next != &end) {
		w = dapl_list_first(works, struct dapl_work, link);
		dequeue_locked(w);
		run_begin_locked(loop, w);
		w->fn(w);
		if (run_return(loop))
			dequeue_locked(w);
		run_end_locked(loop);
	}
	dapl_list_del(&end);
	dapl_unlock(&loop->lock);
}

static void run_all_works(struct dapl_loop *loop)
{
	run_works(loop, &loop->works);
	run_works(loop, &loop->at_end);
}

static bool has_works(const struct dapl_loop *loop)
{
	return !dapl_list_empty(&loop->works) ||
	       !dapl_list_empty(&loop->at_end);
}

/* The thread. */

/* Milliseconds for epoll_wait(), rounded up: no timer fires early. */
static int timeout_locked(const struct dapl_loop *loop)
{
	uint64_t now, ms;

	dapl_lock_assert_held(&loop->lock);
	if (loop->stop || has_works(loop))
		return 0;
	if (!loop->heap_len)
		return -1;
	now = dapl_now_us();
	if (heap_key(loop, 1) <= now)
		return 0;
	ms = (heap_key(loop, 1) - now - 1) / 1000 + 1;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Number of events, or -1 to end the thread. */
static int sleep_once(struct dapl_loop *loop, struct epoll_event *events)
{
	int timeout, n;

	dapl_lock(&loop->lock);
	if (loop->stop && !has_works(loop)) {
		dapl_unlock(&loop->lock);
		return -1;
	}
	timeout = timeout_locked(loop);
	loop->asleep = timeout != 0;
	dapl_unlock(&loop->lock);
	n = epoll_wait(loop->epoll_fd, events, BATCH, timeout);
	if (n < 0 && errno == EINTR)
		n = 0;
	/* Somebody closed our descriptors; to try again would be to spin. */
	if (n < 0)
		dapl_log(DAPL_LOG_ERR, "service thread: epoll_wait: %m");
	dapl_lock(&loop->lock);
	loop->asleep = false;
	dapl_unlock(&loop->lock);
	return n;
}

static void *loop_main(void *arg)
{
	struct dapl_loop *loop = arg;
	struct epoll_event events[BATCH];
	uint64_t count;
	int n, i;

	here = loop;
	while ((n = sleep_once(loop, events)) >= 0) {
		for (i = 0; i < n; i++) {
			if (events[i].data.u64 != WAKE_ID)
				run_event(loop, &events[i]);
			else if (read(loop->wake_fd, &count, sizeof(count)) < 0)
				continue; /* no count is there: fine too */
		}
		run_timers(loop);
		run_all_works(loop);
	}
	return NULL;
}

int dapl_loop_open(const char *thread_name, struct dapl_loop **ret_loop)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = WAKE_ID};
	struct dapl_loop *loop;
	int ret;

	ret = dapl_fork_watch();
	if (ret)
		return ret;
	loop = calloc(1, sizeof(*loop));
	if (!loop)
		return -ENOMEM;
	dapl_lock_init(&loop->lock, DAPL_LOCK_LEAF);
	dapl_list_init(&loop->works);
	dapl_list_init(&loop->at_end);
	loop->slot_free = NO_SLOT;
	loop->forks = dapl_fork_count();
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		ret = -errno;
		goto err_free;
	}
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->wake_fd < 0) {
		ret = -errno;
		goto err_close_epoll;
	}
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &ev)) {
		ret = -errno;
		goto err_close_wake;
	}
	ret = dapl_jobs_open(loop, &loop->jobs);
	if (ret)
		goto err_close_wake;
	ret = dapl_thread_start(&loop->thread, thread_name, loop_main, loop);
	if (ret)
		goto err_close_jobs;
	*ret_loop = loop;
	return 0;
err_close_jobs:
	dapl_jobs_close(loop->jobs);
err_close_wake:
	close(loop->wake_fd);
err_close_epoll:
	close(loop->epoll_fd);
err_free:
	free(loop);
	return ret;
}

static void loop_free(struct dapl_loop *loop)
{
	close(loop->wake_fd);
	close(loop->epoll_fd);
	free(loop->heap);
	free(loop->slots);
	free(loop);
}

static void thread_stop(struct dapl_loop *loop)
{
	struct dapl_loop *outer = here;
	bool wakes;

	assert(!dapl_loop_here(loop));
	dapl_lock(&loop->lock);
	loop->stop = true;
	wakes = asleep_locked(loop);
	dapl_unlock(&loop->lock);
	if (wakes)
		wake(loop);
	pthread_join(loop->thread, NULL);
	/* Left over only if the thread had to give up. */
	here = loop;
	while (has_works(loop))
		run_all_works(loop);
	here = outer;
	assert(!loop->watch_count && !loop->heap_len);
}

void dapl_loop_close(struct dapl_loop *loop)
{
	if (!loop)
		return;
	dapl_jobs_close(loop->jobs);
	if (!dapl_loop_forked(loop)) {
		thread_stop(loop);
		dapl_lock_fini(&loop->lock);
	}
	loop_free(loop);
}
