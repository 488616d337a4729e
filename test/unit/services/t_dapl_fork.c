/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_fork.c - tests of how a process knows that it is a child.
 *
 * Calls covered: dapl_fork_watch, dapl_fork_count.
 */
#include "dapl/common/services/dapl_fork.h"

#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/case.h"

#define GENERATIONS 3

/* In a child, whose children do the same: 0 if each counts one more. */
static int count_children(unsigned before, int generations)
{
	int status;
	pid_t pid;

	if (!generations)
		return 0;
	pid = fork();
	if (pid < 0)
		return 2;
	if (!pid)
		_exit(dapl_fork_count() == before + 1
			      ? count_children(before + 1, generations - 1)
			      : 1);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 3;
	return WEXITSTATUS(status);
}

CASE(fork__is_counted_in_the_child)
{
	unsigned before;

	assert_int_equal(dapl_fork_watch(), 0);
	before = dapl_fork_count();
	assert_int_equal(count_children(before, GENERATIONS), 0);
	assert_int_equal(dapl_fork_count(), before);
}

CASE(watch__twice_counts_once)
{
	assert_int_equal(dapl_fork_watch(), 0);
	assert_int_equal(dapl_fork_watch(), 0);
	assert_int_equal(count_children(dapl_fork_count(), 1), 0);
}

RUN_CASES(NULL, NULL)
