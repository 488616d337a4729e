/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sched.c - who runs next; see the header.
 */
#include "test/sched/sched.h"

#include <errno.h>
#include <execinfo.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The batons are the only atomics that are no points. */
#undef __atomic_load_n
#undef __atomic_store_n

#define THREADS_MAX 128
#define STEPS_MAX   300000
#define CHANGES_MAX 4	 /* of priorities, in a run */
#define STARVED	    5000 /* points that a thread could run at and did not */
#define YIELDED	    64	 /* points of others, by who has nothing to do */
#define FRAMES	    24

extern const char __executable_start;

enum state {
	RUNNABLE,
	BLOCKED,
	ENDED
};

struct thread {
	int baton; /* futex; 1: may run */
	enum state state;
	const char *what; /* its point */
	const void *at;
	struct sched_wait wait; /* while blocked */
	enum sched_woken woken;
	uint64_t looked; /* at its descriptors: the count of their changes */
	unsigned priority;
	uint64_t ready_since; /* the point at which it could run */
	bool cancelled, uncancellable, at_any_time;
	uint64_t stopped_until_us;
	bool stopped_asleep; /* its wait has yet to hear of it */
	void (*handler)(void);
	pthread_t thread;
	void *(*fn)(void *arg);
	void *arg;
};

static struct {
	bool on;
	bool calm;
	bool trace;
	bool failing;
	bool quiet;
	bool pct;
	uint64_t random;
	unsigned odds;	       /* one of so many points gives the baton away */
	unsigned us_per_point; /* virtual */
	uint64_t now_us;
	uint64_t wild; /* points that were not calm */
	uint64_t change[CHANGES_MAX];
	int changes;
	uint64_t stop; /* such a point; 0: none */
	uint64_t stop_us;
	uint64_t fd_changes;
	struct thread threads[THREADS_MAX];
	int n;
	long leaving; /* the thread that is about to be gone */
	long pid;
	struct thread *asks; /* the one that has a report made of all */
	struct sched_result *result;
	char *text; /* the shared one, of a child, too */
} s;

static __thread struct thread *me;

/* ----------------------------------------------------- choices */

static uint64_t next_random(void)
{
	s.random ^= s.random << 13;
	s.random ^= s.random >> 7;
	s.random ^= s.random << 17;
	return s.random >> 11;
}

unsigned sched_dice(unsigned n)
{
	return (unsigned)(next_random() % n);
}

uint64_t sched_now_us(void)
{
	return s.now_us;
}

bool sched_on(void)
{
	return s.on && me;
}

/* FNV-1a, of a word. */
static void remember(uint64_t word)
{
	s.result->hash = (s.result->hash ^ word) * 0x100000001b3u;
}

static uint64_t offset_of(const void *at)
{
	return (uint64_t)((const char *)at - &__executable_start);
}

/* Above all that changes give, so that these are below. */
static unsigned new_priority(void)
{
	return CHANGES_MAX + 1 + sched_dice(1000000);
}

/* ------------------------------------------------------ batons */

static void report_me(void);

static void baton_give(struct thread *to)
{
	__atomic_store_n(&to->baton, 1, __ATOMIC_RELEASE);
	__real_syscall(SYS_futex, &to->baton, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
		       0);
}

/* A thread that has ended gives memory back; others would find it, or not. */
static void await_gone(void)
{
	while (s.leaving && !__real_syscall(SYS_tgkill, s.pid, s.leaving, 0))
		__real_sched_yield();
	s.leaving = 0;
}

static void baton_await(void)
{
	for (;;) {
		while (!__atomic_load_n(&me->baton, __ATOMIC_ACQUIRE))
			__real_syscall(SYS_futex, &me->baton,
				       FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		me->baton = 0;
		if (!s.asks) {
			await_gone();
			return;
		}
		report_me();
		baton_give(s.asks);
	}
}

static void hand_over(struct thread *to)
{
	me->ready_since = s.result->steps;
	remember((uint64_t)(to - s.threads));
	if (to == me)
		return;
	baton_give(to);
	if (me->state != ENDED)
		baton_await();
}

/* ------------------------------------------------------ reports */

static void report_me(void)
{
	void *frames[FRAMES];
	int n = backtrace(frames, FRAMES);

	fprintf(stderr, "thread %d, %s, at %s:\n@", (int)(me - s.threads),
		me->state == BLOCKED ? "blocked" : "runnable",
		me->what ? me->what : "its beginning");
	for (int i = 2; i < n; i++)
		fprintf(stderr, " 0x%llx",
			(unsigned long long)offset_of(frames[i]) - 1);
	fputc('\n', stderr);
	fflush(stderr);
}

/* Each thread tells for itself. */
static void report_all(void)
{
	report_me();
	for (int i = 0; i < s.n; i++) {
		if (s.threads + i == me || s.threads[i].state == ENDED)
			continue;
		s.asks = me;
		baton_give(&s.threads[i]);
		while (!__atomic_load_n(&me->baton, __ATOMIC_ACQUIRE))
			__real_syscall(SYS_futex, &me->baton,
				       FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		me->baton = 0;
	}
}

_Noreturn void sched_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!s.text[0])
		vsnprintf(s.text, SCHED_TEXT, fmt, args);
	va_end(args);
	if (sched_on() && !s.failing) {
		s.failing = true;
		report_all();
	}
	_exit(1);
}

/* -------------------------------------------------- who can run */

static void wakes(struct thread *t, enum sched_woken why)
{
	t->state = RUNNABLE;
	t->woken = why;
	t->stopped_asleep = false;
	t->ready_since = s.result->steps;
}

static bool is_cancelled(const struct thread *t)
{
	return t->cancelled && !t->uncancellable;
}

static void look(struct thread *t)
{
	if (t->wait.cancellable && is_cancelled(t)) {
		wakes(t, SCHED_READY);
		return;
	}
	if ((t->wait.signals && t->handler) ||
	    (t->wait.stops && t->stopped_asleep)) {
		wakes(t, SCHED_SIGNAL);
		return;
	}
	if (t->wait.ready && t->looked != s.fd_changes) {
		t->looked = s.fd_changes;
		if (t->wait.ready(t->wait.arg)) {
			wakes(t, SCHED_READY);
			return;
		}
	}
	if (t->wait.deadline_us <= s.now_us)
		wakes(t, SCHED_TIMEOUT);
}

static bool is_stopped(const struct thread *t)
{
	return t->stopped_until_us > s.now_us;
}

/* How many can run; RET are they. */
static int runnable(struct thread **ret)
{
	int n = 0;

	for (int i = 0; i < s.n; i++) {
		struct thread *t = &s.threads[i];

		if (is_stopped(t))
			continue;
		if (t->state == BLOCKED)
			look(t);
		if (t->state == RUNNABLE)
			ret[n++] = t;
	}
	return n;
}

/* When T could go on by itself. */
static uint64_t deadline_of(const struct thread *t)
{
	if (t->state != ENDED && is_stopped(t))
		return t->stopped_until_us;
	return t->state == BLOCKED ? t->wait.deadline_us : SCHED_NEVER;
}

/* Nobody can run: the next deadline comes. */
static bool time_passes(void)
{
	uint64_t next = SCHED_NEVER;

	for (int i = 0; i < s.n; i++)
		if (deadline_of(&s.threads[i]) < next)
			next = deadline_of(&s.threads[i]);
	if (next == SCHED_NEVER)
		return false;
	s.now_us = next;
	return true;
}

/* Others may go round until one has run that never gets that far. */
static bool is_starved(const struct thread *t)
{
	return s.result->steps - t->ready_since > STARVED && t != me;
}

static struct thread *highest(struct thread **of, int n)
{
	struct thread *best = of[0];

	for (int i = 0; i < n; i++)
		if (is_starved(of[i]))
			return of[i];
	for (int i = 1; i < n; i++)
		if (of[i]->priority > best->priority)
			best = of[i];
	return best;
}

/* A change of priorities, where one is due; WHO loses its own. */
static void change_priority(struct thread *who)
{
	for (int i = 0; i < s.changes; i++)
		if (s.change[i] == s.wild)
			who->priority = (unsigned)i;
}

static struct thread *choose(struct thread **of, int n)
{
	if (s.calm) {
		for (int i = 0; i < n; i++)
			if (of[i] == me)
				return me;
		return of[0];
	}
	return s.pct ? highest(of, n) : of[sched_dice((unsigned)n)];
}

static struct thread *next_thread(void)
{
	struct thread *can[THREADS_MAX];
	int n;

	while (!(n = runnable(can)))
		if (!time_passes())
			sched_fail("deadlock: nobody can run, and nobody "
				   "waits for a time");
	return choose(can, n);
}

/* As SIGSTOP does, and SIGCONT a while later: to any thread, wherever it is. */
static void stop_some(void)
{
	struct thread *t = &s.threads[sched_dice((unsigned)s.n)];

	t->stopped_until_us = s.now_us + s.stop_us;
	t->stopped_asleep = t->state == BLOCKED;
}

/* Whether somebody else may go on here, although this thread could. */
static bool is_disturbed(void)
{
	if (s.calm)
		return false;
	if (++s.wild == s.stop) {
		stop_some();
		return true;
	}
	if (s.pct) {
		change_priority(me);
		return true;
	}
	return !sched_dice(s.odds);
}

/* ------------------------------------------------------ points */

/* To print is a cancellation point, which the run without it has not. */
static void trace(void)
{
	int was;

	__real_pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	fprintf(stderr, "%llu: thread %d: %s\n@ 0x%llx\n",
		(unsigned long long)s.result->steps, (int)(me - s.threads),
		me->what, (unsigned long long)offset_of(me->at) - 1);
	__real_pthread_setcancelstate(was, NULL);
}

static void pass(const char *what, const void *at)
{
	me->what = what;
	me->at = at;
	s.now_us += s.us_per_point;
	remember(offset_of(at));
	if (s.trace)
		trace();
	if (++s.result->steps > STEPS_MAX)
		sched_fail("no end within %d points", STEPS_MAX);
}

static void handle_signal(void)
{
	void (*handler)(void) = me->handler;

	me->handler = NULL;
	if (handler)
		handler();
}

void sched_point_at(const char *what, const void *at)
{
	/* Who passes one may be about to read what a call has left there. */
	int saved = errno;

	if (!sched_on() || s.failing || s.quiet)
		return;
	pass(what, at);
	if (is_disturbed())
		hand_over(next_thread());
	handle_signal();
	sched_thread_may_end();
	errno = saved;
}

void sched_point(const char *what)
{
	sched_point_at(what, __builtin_return_address(0));
}

enum sched_woken sched_block(const struct sched_wait *wait, const void *at)
{
	pass(wait->what, at);
	me->wait = *wait;
	me->looked = s.fd_changes - 1;
	me->state = BLOCKED;
	hand_over(next_thread());
	handle_signal();
	return me->woken;
}

void sched_yield_at(const void *at)
{
	const struct sched_wait wait = {
		.what = "sched_yield",
		.deadline_us = s.now_us + (uint64_t)YIELDED * s.us_per_point,
	};

	sched_block(&wait, at);
}

int sched_wake(const void *address, int n)
{
	struct thread *of[THREADS_MAX];
	int found = 0, woken = 0;

	for (int i = 0; i < s.n; i++)
		if (s.threads[i].state == BLOCKED &&
		    s.threads[i].wait.on == address)
			of[found++] = &s.threads[i];
	for (; found && woken < n; woken++) {
		int i = found > 1 ? (int)sched_dice((unsigned)found) : 0;

		wakes(of[i], SCHED_READY);
		of[i] = of[--found];
	}
	return woken;
}

void sched_fds_changed(void)
{
	s.fd_changes++;
}

/* ----------------------------------------------------- threads */

static struct thread *thread_new(void)
{
	struct thread *t = &s.threads[s.n];

	if (s.n == THREADS_MAX)
		sched_fail("more than %d threads", THREADS_MAX);
	memset(t, 0, sizeof(*t));
	t->priority = new_priority();
	t->ready_since = s.result->steps;
	s.n++;
	return t;
}

static struct thread *thread_of(pthread_t thread)
{
	for (int i = s.n; i--;)
		if (pthread_equal(s.threads[i].thread, thread))
			return &s.threads[i];
	sched_fail("a thread that is not known");
}

static void thread_ends(void *arg)
{
	(void)arg;
	pass("its end", &__executable_start);
	me->state = ENDED;
	s.leaving = __real_syscall(SYS_gettid);
	sched_wake(me, THREADS_MAX);
	hand_over(next_thread());
}

static void *thread_main(void *arg)
{
	void *ret;

	me = arg;
	baton_await();
	pthread_cleanup_push(thread_ends, NULL);
	ret = me->fn(me->arg);
	pthread_cleanup_pop(1);
	return ret;
}

int sched_thread_create(pthread_t *ret, const pthread_attr_t *attr,
			void *(*fn)(void *arg), void *arg, const void *at)
{
	struct thread *t = thread_new();
	int err;

	t->fn = fn;
	t->arg = arg;
	err = __real_pthread_create(ret, attr, thread_main, t);
	if (err) {
		s.n--;
		return err;
	}
	t->thread = *ret;
	sched_point_at("pthread_create", at);
	return 0;
}

void sched_thread_wait(pthread_t thread, const void *at)
{
	struct thread *t = thread_of(thread);
	const struct sched_wait wait = {
		.what = "pthread_join",
		.on = t,
		.deadline_us = SCHED_NEVER,
	};

	while (t->state != ENDED)
		sched_block(&wait, at);
}

void sched_thread_cancel(pthread_t thread)
{
	thread_of(thread)->cancelled = true;
}

void sched_thread_cancel_state(int state)
{
	me->uncancellable = state == PTHREAD_CANCEL_DISABLE;
}

int sched_thread_cancel_type(int type)
{
	bool was = me->at_any_time;

	me->at_any_time = type == PTHREAD_CANCEL_ASYNCHRONOUS;
	return was ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
}

/* To the C library it is deferred always: its end is the run's to choose. */
void sched_thread_may_end(void)
{
	if (sched_on() && me->at_any_time && is_cancelled(me))
		pthread_testcancel();
}

bool sched_cancelled(void)
{
	return is_cancelled(me);
}

void sched_thread_signal(pthread_t thread, void (*handler)(void))
{
	thread_of(thread)->handler = handler;
}

/* ------------------------------------------------------- a run */

/*
 * In the child of a fork() there is nobody else. It runs beside its parent
 * until this waits for it, so what it counts would come in any order; what it
 * finds is told.
 */
static void forked(void)
{
	static struct sched_result own;

	if (s.on) {
		own = *s.result;
		s.result = &own;
	}
	s.pid = __real_syscall(SYS_getpid);
	for (int i = 0; i < s.n; i++)
		if (s.threads + i != me)
			s.threads[i].state = ENDED;
}

/* Before all others, since theirs pass points. */
__attribute__((constructor(101))) static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, forked);
}

static void choose_changes(void)
{
	uint64_t within = (uint64_t)32 << sched_dice(7);

	s.changes = 1 + (int)sched_dice(CHANGES_MAX);
	for (int i = 0; i < s.changes; i++)
		s.change[i] = 1 + next_random() % within;
}

/* In one run of four a thread stands still for a while. */
static void choose_stop(void)
{
	static const unsigned us[] = {200, 2000, 20000};

	if (sched_dice(4))
		return;
	s.stop = 1 + next_random() % ((uint64_t)32 << sched_dice(7));
	s.stop_us = us[sched_dice(3)];
}

void sched_begin(uint64_t seed, enum sched_strategy strategy, bool trace,
		 struct sched_result *result)
{
	static const unsigned odds[] = {2, 4, 12, 40};
	static const unsigned us[] = {1, 5, 25};

	memset(&s, 0, sizeof(s));
	s.random = (seed + 1) * 0x9e3779b97f4a7c15u;
	for (int i = 0; i < 8; i++)
		next_random();
	s.result = result;
	s.text = result->text;
	s.trace = trace;
	s.calm = true;
	s.now_us = 1000000000;
	s.pct = strategy == SCHED_MIX ? sched_dice(2) : strategy == SCHED_PCT;
	s.odds = odds[sched_dice(4)];
	s.us_per_point = us[sched_dice(3)];
	choose_changes();
	choose_stop();
	s.pid = __real_syscall(SYS_getpid);
	me = thread_new();
	me->thread = pthread_self();
	s.on = true;
}

void sched_quiet(bool quiet)
{
	s.quiet = quiet;
}

void sched_calm(bool calm)
{
	s.calm = calm;
}
