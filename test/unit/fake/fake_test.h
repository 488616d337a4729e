/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_test.h - how the tests of the fake device and of the fake rdma_cm look
 * at what a call answers.
 *
 * Contains no test. Threads: dies() forks, so the caller's only.
 */
#ifndef FAKE_TEST_H
#define FAKE_TEST_H

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "fake_verbs.h"
#include "test/unit/case.h"

#define assert_ok(call) assert_int_equal((call), 0)

/* CALL returns -1, or NULL, and leaves ERROR in errno. */
#define assert_errno(call, error)               \
	do {                                    \
		assert_int_equal((call), -1);   \
		assert_int_equal(errno, error); \
	} while (0)
#define assert_null_errno(call, error)          \
	do {                                    \
		assert_null(call);              \
		assert_int_equal(errno, error); \
	} while (0)

/*
 * What the real library would hang or crash in: runs FN(ARG) in a child, true
 * when the fake aborted it.
 */
static inline bool dies(void (*fn)(void *), void *arg)
{
	struct rlimit none = {0, 0};
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		close(2);
		fv_ack_patience(50);
		fn(arg);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif
