/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sched.h - one thread runs at a time, and a seed decides which.
 *
 * Threads are real ones, each with a baton of its own. The one that has it
 * runs until its next point; there the scheduler, on that same thread, decides
 * who goes on. Who would block is not asked until what it waits for is there:
 * somebody has woken the address, the descriptors are ready (they are the
 * kernel's, and looked at without waiting), or virtual time has come to its
 * deadline. Time passes a little with each point; when nobody can run, it jumps
 * to the next deadline; without one that is a deadlock, and each thread tells
 * where it is. A run that does not end within a number of points is a fault,
 * too.
 *
 * Not played: the order in which memory of one processor shows on another, and
 * wake-ups without a reason.
 * Used by wrap.c (in place of the C library), scenario.h and main.c. Everything
 * here is called by the thread that runs, so nothing needs a lock.
 * Rule: Burckhardt et al., "A Randomized Scheduler with Probabilistic
 * Guarantees of Finding Bugs" (priorities with few changes, PCT).
 */
#ifndef TEST_SCHED_H
#define TEST_SCHED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCHED_NEVER UINT64_MAX
#define SCHED_TEXT  512

enum sched_strategy {
	SCHED_MIX,    /* the seed decides */
	SCHED_RANDOM, /* at any point anybody, with one probability for a run */
	SCHED_PCT,    /* priorities that change a few times */
};

/* What a run was, in memory that outlives its process. */
struct sched_result {
	bool ended;	       /* the scenario came to its end */
	uint64_t steps;	       /* points passed */
	uint64_t hash;	       /* of all that was decided, and where */
	char text[SCHED_TEXT]; /* why it failed, or empty */
};

/* The calling thread is the first; the run is calm. */
void sched_begin(uint64_t seed, enum sched_strategy strategy, bool trace,
		 struct sched_result *result);
/* While it is calm nobody loses the baton but who would block. */
void sched_calm(bool calm);
/* While it is quiet there are no points. */
void sched_quiet(bool quiet);
/* A choice of the seed: 0 to N - 1. */
unsigned sched_dice(unsigned n);
uint64_t sched_now_us(void);
/* Tells WHY, and where all threads are; the process ends. */
_Noreturn void sched_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
/* Is called before anything that is played, to be seen in reports. */
void sched_point(const char *what);

/* ---------------------------------------- for wrap.c and tcp.c */

/* NAME is played, and what it really is has the same arguments. */
#define WRAP(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

#define HERE __builtin_return_address(0)

enum sched_woken {
	SCHED_READY,
	SCHED_TIMEOUT,
	SCHED_SIGNAL, /* a handler ran, or the thread was stopped */
};

struct sched_wait {
	const char *what;
	const void *on;		  /* an address that sched_wake() names, or */
	bool (*ready)(void *arg); /* descriptors; both NULL: time alone */
	void *arg;
	uint64_t deadline_us;
	bool cancellable; /* ready if the thread is cancelled, too */
	bool signals;	  /* ends when a handler ran */
	bool stops;	  /* ends when the thread was stopped, and goes on */
};

/* False: the calling thread is none of this run's. */
bool sched_on(void);
void sched_point_at(const char *what, const void *at);
enum sched_woken sched_block(const struct sched_wait *wait, const void *at);
/* The others pass some points first, if they can. */
void sched_yield_at(const void *at);
/* Lets up to N of those go on that wait on ADDRESS, chosen by the seed. */
int sched_wake(const void *address, int n);
/* Descriptors may be ready now, or not any more. */
void sched_fds_changed(void);

int sched_thread_create(pthread_t *ret, const pthread_attr_t *attr,
			void *(*fn)(void *arg), void *arg, const void *at);
/* Waits for its end. */
void sched_thread_wait(pthread_t thread, const void *at);
void sched_thread_cancel(pthread_t thread);
void sched_thread_cancel_state(int state);
/* Returns the one before. */
int sched_thread_cancel_type(int type);
/* The calling thread ends here if it is cancelled, and may be at any time. */
void sched_thread_may_end(void);
/* The calling thread ends at its next cancellation point. */
bool sched_cancelled(void);
/* HANDLER runs on THREAD at its next point, and ends a sleep. */
void sched_thread_signal(pthread_t thread, void (*handler)(void));

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*fn)(void *arg), void *arg);
int __real_pthread_setcancelstate(int state, int *was);
int __real_sched_yield(void);
long __real_syscall(long number, ...);

#endif
