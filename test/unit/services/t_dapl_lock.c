/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_lock.c - tests of the lock and of the checker of lock order.
 *
 * Calls covered: dapl_lock_init, dapl_lock, dapl_lock_hot, dapl_lock_mine,
 * dapl_lock_plain, dapl_lock_keep, dapl_unlock, dapl_unlock_mine,
 * dapl_lock_fini, dapl__futex_*, dapl__lock_order_*, dapl__lock_assert_none,
 * dapl_lock_assert_held.
 * Built with DAPL_DEBUG and its own copy of dapl_lock.c, so that the checker
 * is tested whatever the library was configured with. What aborts runs in a
 * child, whose stderr is compared.
 */
#include "dapl/common/services/dapl_lock.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/unit/case.h"

#define THREADS 4
#define ROUNDS	20000

static struct dapl_lock lock;
static long counter; /* plain on purpose: the lock is what is tested */

static void *count_up(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		dapl_lock(&lock);
		counter++;
		dapl_unlock(&lock);
	}
	return NULL;
}

CASE(lock__excludes_other_threads)
{
	pthread_t t[THREADS];

	counter = 0;
	dapl_lock_init(&lock, DAPL_LOCK_EP);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count_up, NULL),
				 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	assert_int_equal(counter, (long)THREADS * ROUNDS);
	dapl_lock_fini(&lock);
}

#ifndef DAPL_PTHREAD_LOCKS
static void *take_and_leave(void *arg)
{
	errno = EXDEV;
	dapl_lock(&lock);
	counter = 1;
	dapl_unlock(&lock);
	return (void *)(intptr_t)errno;
}

/* The word says 2 once the other thread is in the slow path. */
CASE(unlock__wakes_a_sleeper)
{
	void *err;
	pthread_t t;

	counter = 0;
	dapl_lock_init(&lock, DAPL_LOCK_EP);
	dapl_lock(&lock);
	assert_int_equal(pthread_create(&t, NULL, take_and_leave, NULL), 0);
	while (__atomic_load_n(&lock.word, __ATOMIC_RELAXED) != 2)
		sched_yield();
	assert_int_equal(counter, 0);
	dapl_unlock(&lock);
	assert_int_equal(pthread_join(t, &err), 0);
	assert_int_equal(counter, 1);
	assert_int_equal((intptr_t)err, EXDEV); /* errno was preserved */
	assert_int_equal(lock.word, 0);
	dapl_lock_fini(&lock);
}
#endif

#ifndef DAPL_PTHREAD_LOCKS
/* ------------------------------------------------------ the bias */

/* More than enough to become the owner, or to end the bias for good. */
#define HABIT 20
#define OFTEN 100

static bool no_membarrier;
static unsigned registers; /* calls that register the process */
static int naps;	   /* atomic */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_membarrier &&
	    arg[0] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
		__atomic_add_fetch(&registers, 1, __ATOMIC_RELAXED);
	if (number == SYS_membarrier &&
	    __atomic_load_n(&no_membarrier, __ATOMIC_RELAXED)) {
		errno = ENOSYS;
		return -1;
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}

int __real_nanosleep(const struct timespec *ts, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *ts, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *ts, struct timespec *rest)
{
	__atomic_add_fetch(&naps, 1, __ATOMIC_RELAXED);
	return __real_nanosleep(ts, rest);
}

/* A new lock of the data path. */
static void biased_begin(void)
{
	dapl_lock_init(&lock, DAPL_LOCK_WQ);
	if (!lock.bias)
		skip_case("no membarrier(2), or a build without bias");
}

static void take_often(int n)
{
	while (n--) {
		dapl_lock_hot(&lock);
		dapl_unlock(&lock);
	}
}

static void *takes_once(void *arg)
{
	dapl_lock(&lock);
	counter++;
	dapl_unlock(&lock);
	return NULL;
}

static void *tries(void *arg)
{
	bool got = dapl_lock_mine(&lock);

	if (got)
		dapl_unlock_mine(&lock);
	return (void *)(intptr_t)got;
}

static void *tries_plain(void *arg)
{
	bool got = dapl_lock_plain(&lock);

	if (got)
		dapl_unlock(&lock);
	return (void *)(intptr_t)got;
}

static void *in_thread(void *(*fn)(void *arg))
{
	pthread_t t;
	void *ret;

	assert_int_equal(pthread_create(&t, NULL, fn, NULL), 0);
	assert_int_equal(pthread_join(t, &ret), 0);
	return ret;
}

/* Whether this thread takes the lock without the word. */
static bool is_biased(void)
{
	bool biased;

	dapl_lock(&lock);
	dapl_lock_assert_held(&lock);
	biased = !lock.word && lock.busy == DAPL_LOCK_HELD;
	dapl_unlock(&lock);
	return biased;
}

/* The first of them: a process that is registered remains so. */
CASE(bias__none_without_membarrier)
{
	__atomic_store_n(&no_membarrier, true, __ATOMIC_RELAXED);
	dapl_lock_init(&lock, DAPL_LOCK_EVD);
	take_often(HABIT);
	assert_false(is_biased());
	assert_null(in_thread(tries));
	assert_non_null(in_thread(tries_plain));
	assert_true(dapl_lock_plain(&lock));
	dapl_lock_assert_held(&lock);
	assert_null(in_thread(tries_plain)); /* it is not free */
	dapl_unlock(&lock);
	dapl_lock_fini(&lock);
	__atomic_store_n(&no_membarrier, false, __ATOMIC_RELAXED);
}

CASE(bias__is_registered_for_once)
{
	unsigned before;

	biased_begin();
	dapl_lock_fini(&lock);
	before = __atomic_load_n(&registers, __ATOMIC_RELAXED);
	assert_true(before > 0);
	biased_begin();
	dapl_lock_fini(&lock);
	assert_int_equal(__atomic_load_n(&registers, __ATOMIC_RELAXED), before);
}

CASE(bias__is_of_who_takes_it_on_the_data_path)
{
	biased_begin();
	for (int i = 0; i < HABIT; i++) {
		dapl_lock(&lock);
		dapl_unlock(&lock);
	}
	assert_false(is_biased());
	assert_false(dapl_lock_mine(&lock)); /* it has yet to learn */
	take_often(HABIT);
	assert_true(is_biased());
	assert_true(dapl_lock_mine(&lock));
	dapl_lock_assert_held(&lock);
	dapl_unlock_mine(&lock);
	assert_true(dapl_lock_mine(&lock));
	dapl_lock_keep(&lock);
	dapl_lock_assert_held(&lock);
	dapl_unlock(&lock);
	assert_int_equal(lock.busy, DAPL_LOCK_FREE);
	dapl_lock_fini(&lock);
}

CASE(bias__is_of_the_data_path_alone)
{
	dapl_lock_init(&lock, DAPL_LOCK_EP);
	take_often(HABIT);
	assert_false(is_biased());
	dapl_lock_fini(&lock);
}

CASE(bias__another_takes_it_away_and_it_comes_back)
{
	biased_begin();
	take_often(HABIT);
	counter = 0;
	in_thread(takes_once);
	assert_int_equal(counter, 1);
	assert_false(is_biased());
	take_often(HABIT);
	assert_true(is_biased());
	dapl_lock_fini(&lock);
}

CASE(bias__others_cannot_try)
{
	biased_begin();
	take_often(HABIT);
	assert_null(in_thread(tries));
	assert_null(in_thread(tries_plain));
	assert_true(is_biased()); /* and take nothing away */
	dapl_lock_fini(&lock);
}

CASE(bias__ends_where_it_is_often_taken_away)
{
	biased_begin();
	for (int i = 0; i < OFTEN; i++) {
		take_often(HABIT);
		in_thread(takes_once);
	}
	take_often(HABIT);
	assert_false(is_biased()); /* an ordinary lock from here on */
	assert_int_equal(lock.bias, 0);
	dapl_lock_fini(&lock);
}

static void *takes_hot(void *arg)
{
	take_often(1);
	return NULL;
}

/* Of two that take turns none has it. */
CASE(bias__ends_between_two)
{
	biased_begin();
	for (int i = 0; i < OFTEN; i++) {
		take_often(1);
		in_thread(takes_hot);
	}
	assert_false(dapl_lock_mine(&lock));
	assert_int_equal(lock.bias, 0);
	assert_int_equal(lock.busy, DAPL_LOCK_FREE);
	assert_true(dapl_lock_plain(&lock));
	dapl_unlock(&lock);
	dapl_lock_fini(&lock);
}

/* As a filter does that came later. */
CASE(bias__goes_away_without_membarrier)
{
	biased_begin();
	take_often(HABIT);
	__atomic_store_n(&no_membarrier, true, __ATOMIC_RELAXED);
	counter = 0;
	in_thread(takes_once);
	__atomic_store_n(&no_membarrier, false, __ATOMIC_RELAXED);
	assert_int_equal(counter, 1);
	assert_false(is_biased());
	dapl_lock_fini(&lock);
}

/* An owner that has the lock for long costs who waits no processor. */
CASE(bias__who_takes_it_away_sleeps)
{
	pthread_t t;
	int before;

	biased_begin();
	take_often(HABIT);
	counter = 0;
	dapl_lock(&lock);
	before = __atomic_load_n(&naps, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&t, NULL, takes_once, NULL), 0);
	while (__atomic_load_n(&naps, __ATOMIC_RELAXED) < before + 3)
		sched_yield();
	assert_int_equal(counter, 0);
	dapl_unlock(&lock);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(counter, 1);
	dapl_lock_fini(&lock);
}

/*
 * Owner and others meet: each of these takes the bias away whenever it is on,
 * on one lock after the other, since each bias ends.
 */
#define LOCKS  20
#define OTHERS 3

static struct dapl_lock many[LOCKS];
static long counted[LOCKS]; /* plain on purpose */
static int at;		    /* atomic; the lock that the owner is at */

static uintptr_t bias_of(int i)
{
	return __atomic_load_n(&many[i].bias, __ATOMIC_RELAXED);
}

static void *disturb(void *arg)
{
	long *mine = arg;
	int i;

	while ((i = __atomic_load_n(&at, __ATOMIC_ACQUIRE)) < LOCKS) {
		if (bias_of(i) & DAPL_LOCK_OFF) {
			sched_yield();
			continue;
		}
		dapl_lock(&many[i]);
		counted[i]++;
		dapl_unlock(&many[i]);
		(*mine)++;
	}
	return NULL;
}

static long own(int i)
{
	long n;

	for (n = 0; bias_of(i); n++) {
		bool mine = dapl_lock_mine(&many[i]);

		if (!mine)
			dapl_lock_hot(&many[i]);
		counted[i]++;
		if (mine)
			dapl_unlock_mine(&many[i]);
		else
			dapl_unlock(&many[i]);
	}
	return n;
}

CASE(bias__excludes_other_threads)
{
	long others[OTHERS] = {0}, all = 0, sum = 0;
	pthread_t t[OTHERS];

	biased_begin();
	for (int i = 0; i < LOCKS; i++)
		dapl_lock_init(&many[i], DAPL_LOCK_EVD);
	for (int i = 0; i < OTHERS; i++)
		assert_int_equal(
			pthread_create(&t[i], NULL, disturb, &others[i]), 0);
	for (int i = 0; i < LOCKS; i++) {
		all += own(i);
		__atomic_store_n(&at, i + 1, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < OTHERS; i++) {
		assert_int_equal(pthread_join(t[i], NULL), 0);
		all += others[i];
	}
	for (int i = 0; i < LOCKS; i++) {
		sum += counted[i];
		dapl_lock_fini(&many[i]);
	}
	assert_int_equal(sum, all);
	print_message("# %ld takes\n", all);
}
#endif

static int gate;

static void *open_gate(void *arg)
{
	__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
	dapl__futex_wake_all(&gate);
	return NULL;
}

CASE(futex_wait__ends_when_the_word_changes)
{
	pthread_t t;

	gate = 0;
	assert_int_equal(pthread_create(&t, NULL, open_gate, NULL), 0);
	while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
		dapl__futex_wait(&gate, 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	errno = EXDEV;
	dapl__futex_wait(&gate, 0); /* not 0: returns at once */
	assert_int_equal(errno, EXDEV);
}

/* Runs FN in a child that must abort, and say SO on stderr. */
static void aborts(void (*fn)(void), const char *so)
{
	struct rlimit no_core = {0, 0};
	char text[512];
	size_t len = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		dup2(fds[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(fds[1]);
	while (len + 1 < sizeof(text) &&
	       (n = read(fds[0], text + len, sizeof(text) - len - 1)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	if (!strstr(text, so))
		fail_msg("'%s' is not in '%s'", so, text);
}

static void two(enum dapl_lock_role first, enum dapl_lock_role second)
{
	static struct dapl_lock a, b;

	dapl_lock_init(&a, first);
	dapl_lock_init(&b, second);
	dapl_lock(&a);
	dapl_lock(&b);
	dapl_unlock(&b);
	dapl_unlock(&a);
}

static void inverted(void)
{
	two(DAPL_LOCK_CNO, DAPL_LOCK_EP);
}

static void same_role(void)
{
	two(DAPL_LOCK_EVD, DAPL_LOCK_EVD);
}

CASE(order__inversion_aborts_and_names_both)
{
	aborts(inverted, "'ep' taken while role 'cno' is held");
}

CASE(order__two_of_a_role_abort)
{
	aborts(same_role, "'evd' taken while role 'evd' is held");
}

static void upcall(void)
{
	static struct dapl_lock a;

	dapl_lock_init(&a, DAPL_LOCK_CONN);
	dapl_lock(&a);
	dapl__lock_assert_none();
}

CASE(order__assert_none_aborts_under_a_lock)
{
	aborts(upcall, "'conn'");
}

static void foreign_unlock(void)
{
	static struct dapl_lock a;

	dapl_lock_init(&a, DAPL_LOCK_IA);
	dapl_unlock(&a);
}

CASE(order__unlock_without_lock_aborts)
{
	aborts(foreign_unlock, "'ia'");
}

static void not_held(void)
{
	static struct dapl_lock held, other;

	dapl_lock_init(&held, DAPL_LOCK_EP);
	dapl_lock_init(&other, DAPL_LOCK_EP);
	dapl_lock(&held);
	dapl_lock_assert_held(&held);
	dapl_lock_assert_held(&other);
}

static void not_any_more(void)
{
	static struct dapl_lock a;

	dapl_lock_init(&a, DAPL_LOCK_EP);
	dapl_lock(&a);
	dapl_unlock(&a);
	dapl_lock_assert_held(&a);
}

CASE(order__assert_held_aborts_without_the_lock)
{
	aborts(not_held, "without the lock of role 'ep'");
	aborts(not_any_more, "without the lock of role 'ep'");
}

static void no_role(void)
{
	static struct dapl_lock a;

	dapl_lock_init(&a, DAPL_LOCK_N);
	dapl_lock(&a);
}

CASE(order__lock_without_init_aborts)
{
	aborts(no_role, "not initialised");
}

/* Every ascending pair is fine, in either order of release. */
CASE(order__ascending_is_fine)
{
	struct dapl_lock l[DAPL_LOCK_N];

	for (int i = 0; i < DAPL_LOCK_N; i++) {
		dapl_lock_init(&l[i], (enum dapl_lock_role)i);
		dapl_lock(&l[i]);
	}
	for (int i = 0; i < DAPL_LOCK_N; i++)
		dapl_unlock(&l[i]);
	dapl__lock_assert_none();
	for (int i = 0; i + 1 < DAPL_LOCK_N; i++)
		two((enum dapl_lock_role)i, (enum dapl_lock_role)(i + 1));
	for (int i = 0; i < DAPL_LOCK_N; i++)
		dapl_lock_fini(&l[i]);
}

static void *leaf_only(void *arg)
{
	two(DAPL_LOCK_PROVIDER, DAPL_LOCK_LEAF);
	return NULL;
}

CASE(order__is_per_thread)
{
	struct dapl_lock cno;
	pthread_t t;

	dapl_lock_init(&cno, DAPL_LOCK_CNO);
	dapl_lock(&cno);
	assert_int_equal(pthread_create(&t, NULL, leaf_only, NULL), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	dapl_unlock(&cno);
	dapl_lock_fini(&cno);
}

RUN_CASES(NULL, NULL)
