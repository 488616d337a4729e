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
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4
#define ROUNDS	20000

static struct dapl_lock lock;
static long counter; /* plain on purpose: the lock is what is tested */

static void *count_up(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		dapl_lock(&lock);
		counter++;
		dapl_unlock(&lock);
	}
	return NULL;
}

static void lock__excludes_other_threads(void **state)
{
	pthread_t t[THREADS];
	int i;

	counter = 0;
	dapl_lock_init(&lock, DAPL_LOCK_EP);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count_up, NULL),
				 0);
	for (i = 0; i < THREADS; i++)
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
static void unlock__wakes_a_sleeper(void **state)
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

static void futex_wait__ends_when_the_word_changes(void **state)
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

/* Runs FN in a child that must abort; its stderr goes to TEXT. */
static void aborts(void (*fn)(void), char *text, size_t size)
{
	struct rlimit no_core = {0, 0};
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
	while (len + 1 < size &&
	       (n = read(fds[0], text + len, size - len - 1)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
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

static void order__inversion_aborts_and_names_both(void **state)
{
	char text[512];

	aborts(inverted, text, sizeof(text));
	assert_non_null(strstr(text, "'ep' taken while role 'cno' is held"));
}

static void order__two_of_a_role_abort(void **state)
{
	char text[512];

	aborts(same_role, text, sizeof(text));
	assert_non_null(strstr(text, "'evd' taken while role 'evd' is held"));
}

static void upcall(void)
{
	static struct dapl_lock a;

	dapl_lock_init(&a, DAPL_LOCK_CONN);
	dapl_lock(&a);
	dapl__lock_assert_none();
}

static void order__assert_none_aborts_under_a_lock(void **state)
{
	char text[512];

	aborts(upcall, text, sizeof(text));
	assert_non_null(strstr(text, "'conn'"));
}

static void foreign_unlock(void)
{
	static struct dapl_lock a;

	dapl_lock_init(&a, DAPL_LOCK_IA);
	dapl_unlock(&a);
}

static void order__unlock_without_lock_aborts(void **state)
{
	char text[512];

	aborts(foreign_unlock, text, sizeof(text));
	assert_non_null(strstr(text, "'ia'"));
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

static void order__assert_held_aborts_without_the_lock(void **state)
{
	char text[512];

	aborts(not_held, text, sizeof(text));
	assert_non_null(strstr(text, "without the lock of role 'ep'"));
	aborts(not_any_more, text, sizeof(text));
	assert_non_null(strstr(text, "without the lock of role 'ep'"));
}

static void no_role(void)
{
	static struct dapl_lock a;

	dapl_lock_init(&a, DAPL_LOCK_N);
	dapl_lock(&a);
}

static void order__lock_without_init_aborts(void **state)
{
	char text[512];

	aborts(no_role, text, sizeof(text));
	assert_non_null(strstr(text, "not initialised"));
}

/* Every ascending pair is fine, in either order of release. */
static void order__ascending_is_fine(void **state)
{
	struct dapl_lock l[DAPL_LOCK_N];
	int i;

	for (i = 0; i < DAPL_LOCK_N; i++) {
		dapl_lock_init(&l[i], (enum dapl_lock_role)i);
		dapl_lock(&l[i]);
	}
	for (i = 0; i < DAPL_LOCK_N; i++)
		dapl_unlock(&l[i]);
	dapl__lock_assert_none();
	for (i = 0; i + 1 < DAPL_LOCK_N; i++)
		two((enum dapl_lock_role)i, (enum dapl_lock_role)(i + 1));
	for (i = 0; i < DAPL_LOCK_N; i++)
		dapl_lock_fini(&l[i]);
}

static void *leaf_only(void *arg)
{
	two(DAPL_LOCK_PROVIDER, DAPL_LOCK_LEAF);
	return NULL;
}

static void order__is_per_thread(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock__excludes_other_threads),
#ifndef DAPL_PTHREAD_LOCKS
		cmocka_unit_test(unlock__wakes_a_sleeper),
#endif
		cmocka_unit_test(futex_wait__ends_when_the_word_changes),
		cmocka_unit_test(order__inversion_aborts_and_names_both),
		cmocka_unit_test(order__two_of_a_role_abort),
		cmocka_unit_test(order__assert_none_aborts_under_a_lock),
		cmocka_unit_test(order__assert_held_aborts_without_the_lock),
		cmocka_unit_test(order__unlock_without_lock_aborts),
		cmocka_unit_test(order__lock_without_init_aborts),
		cmocka_unit_test(order__ascending_is_fine),
		cmocka_unit_test(order__is_per_thread),
	};

	alarm(300); /* a lost wake-up must not hang the run */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
