/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_lock.c - tests of the lock and of the checker of lock order.
 *
 * Calls covered: dapl_lock_init, dapl_lock, dapl_unlock, dapl_lock_fini,
 * dapl__futex_*, dapl__lock_order_*, dapl__lock_assert_none,
 * dapl_lock_assert_held.
 * Built with DAPL_DEBUG and its own copy of dapl_lock.c, so that the checker
 * is tested whatever the library was configured with. What aborts runs in a
 * child, whose stderr is compared.
 */
#include "dapl/common/services/dapl_lock.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
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
