/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_loop.h - the service thread of one open IA.
 *
 * One thread in epoll_wait(): file descriptors, timers and deferred work. It
 * sleeps without wake-ups while there is nothing to do. What may sleep in the
 * kernel is a job (dapl_jobs.h), made by helper threads of the loop.
 *
 * Callbacks run on the service thread with none of our locks held. They must
 * not block. They may call everything in this header.
 * Any thread may call the functions here; internally they take one leaf lock.
 *
 * After dapl_loop_del() or dapl_timer_cancel() returns on another thread, the
 * callback is not running and will not run: a call made on a foreign thread
 * waits for a callback in progress (callbacks do not block, so the wait is
 * short); a call on the service thread returns at once. So a caller must hold
 * no lock that its callback takes.
 */
#ifndef DAPL_LOOP_H
#define DAPL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl/common/services/dapl_list.h"

struct dapl_loop;
struct dapl_jobs;

/* Embedded in its owner; memory stays valid from add to del. */
struct dapl_watch {
	void (*fn)(struct dapl_watch *w, uint32_t epoll_events);
	int fd;	       /* -1 while not added */
	uint32_t slot; /* the loop's own */
};

/* Embedded in its owner; zero it or call dapl_timer_init() before use. */
struct dapl_timer {
	void (*fn)(struct dapl_timer *t);
	uint64_t deadline_us; /* dapl_now_us() clock */
	uint32_t heap_index;  /* 1-based place in the heap; 0: not armed */
};

struct dapl_work {
	void (*fn)(struct dapl_work *w);
	struct dapl_list link;
	bool queued;
	bool at_end;
};

/* CLOCK_MONOTONIC in microseconds. */
uint64_t dapl_now_us(void);

/*
 * Starts the thread. 0 or -errno; on failure nothing is left behind. The
 * thread takes no signals but those for its own faults.
 */
int dapl_loop_open(const char *thread_name, struct dapl_loop **ret_loop);

/*
 * Runs deferred work that is still queued (work that always queues itself
 * again never ends), ends the thread, joins it and frees the loop. Watches
 * must have been deleted, timers and jobs cancelled. Not to be called on the
 * service thread. LOOP may be NULL.
 *
 * A child made by fork() has no service thread. There add, mod and arm fail
 * with -EOPNOTSUPP, defer and barrier do nothing, del and cancel only reset
 * their object, and close frees the memory: none of them touches the parent's
 * descriptors or waits.
 */
void dapl_loop_close(struct dapl_loop *loop);

/* True on the service thread of LOOP. */
bool dapl_loop_here(const struct dapl_loop *loop);
/* True in a child of the process that opened LOOP: it has no thread there. */
bool dapl_loop_forked(const struct dapl_loop *loop);
/* The helpers of LOOP, for dapl_jobs.c. */
struct dapl_jobs *dapl_loop_jobs(const struct dapl_loop *loop);

/*
 * Level triggered; EVENTS as for epoll_ctl(). 0 or -errno. A callback may see
 * an event that was on its way when dapl_loop_mod() took it off. Del of a
 * watch that is not added does nothing.
 */
int dapl_loop_add(struct dapl_loop *loop, struct dapl_watch *w, int fd,
		  uint32_t events);
int dapl_loop_mod(struct dapl_loop *loop, struct dapl_watch *w,
		  uint32_t events);
void dapl_loop_del(struct dapl_loop *loop, struct dapl_watch *w);

void dapl_timer_init(struct dapl_timer *t, void (*fn)(struct dapl_timer *t));
/* Arms or re-arms; a deadline in the past fires soon. 0 or -ENOMEM. */
int dapl_timer_arm(struct dapl_loop *loop, struct dapl_timer *t,
		   uint64_t deadline_us);
void dapl_timer_cancel(struct dapl_loop *loop, struct dapl_timer *t);

/* Runs W once on the service thread; queueing it twice is one run. */
void dapl_work_init(struct dapl_work *w, void (*fn)(struct dapl_work *w));
/* The same, but each time W comes after all else that the round brings. */
void dapl_work_init_at_end(struct dapl_work *w,
			   void (*fn)(struct dapl_work *w));
void dapl_loop_defer(struct dapl_loop *loop, struct dapl_work *w);
/* Takes W off the queue, or waits for its run to end (see above). */
void dapl_work_cancel(struct dapl_loop *loop, struct dapl_work *w);

/*
 * Waits for the end of the callback that runs now, if one does, though its
 * object may be gone. On the service thread it returns at once.
 */
void dapl_loop_barrier(struct dapl_loop *loop);

#endif
