/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_adapters.c - many adapters, one after the other and at once, where file
 * descriptors are few: it works, or the call says what was missing; and nothing
 * is left behind. Over each provider (Makefile.inc).
 *
 * Limits of a process cannot all be undone, so each test runs in a child, which
 * is judged by its exit status.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "test/unit/kit.h"

#define IN_TURN 400
#define AT_ONCE 200
#define FEW	44

/* In the child: a line that was not met is its exit status. */
#define needs(cond)                                                   \
	do {                                                          \
		if (!(cond))                                          \
			_exit(__LINE__ & 0xff ? __LINE__ & 0xff : 1); \
	} while (0)

static void set_limits(rlim_t soft, rlim_t hard)
{
	const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};

	needs(!setrlimit(RLIMIT_NOFILE, &limit));
}

static rlim_t hard_limit(void)
{
	struct rlimit limit;

	needs(!getrlimit(RLIMIT_NOFILE, &limit));
	return limit.rlim_max;
}

static int open_files(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 65536; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static DAT_RETURN open_ia(DAT_IA_HANDLE *ret_ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	dapl_fail(DAT_SUCCESS, "%s", "");
	return V(ia_open)(WORLD_IA_NAME, 8, &evd, ret_ia);
}

static void close_ia(DAT_IA_HANDLE ia)
{
	needs(V(ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

static void in_turn(void)
{
	DAT_IA_HANDLE ia;
	int before;

	/* What stays is what a library opens once. */
	needs(open_ia(&ia) == DAT_SUCCESS);
	close_ia(ia);
	before = open_files();
	for (int i = 0; i < IN_TURN; i++) {
		needs(open_ia(&ia) == DAT_SUCCESS);
		close_ia(ia);
	}
	needs(open_files() == before);
}

/* Opens up to AT_ONCE, as many as can be had; returns how many. */
static int fill(DAT_IA_HANDLE *ia)
{
	int n;

	for (n = 0; n < AT_ONCE; n++)
		if (open_ia(&ia[n]) != DAT_SUCCESS)
			break;
	return n;
}

static void at_once(bool all)
{
	DAT_IA_HANDLE ia[AT_ONCE];
	int before, files, n;

	needs(open_ia(&ia[0]) == DAT_SUCCESS);
	close_ia(ia[0]);
	before = open_files();
	n = fill(ia);
	needs(all ? n == AT_ONCE : n > 0 && n < AT_ONCE);
	if (!all) {
		files = open_files();
		needs(DAT_GET_TYPE(open_ia(&ia[n])) ==
		      DAT_INSUFFICIENT_RESOURCES);
		needs(strstr(dapl__fail_text(), "ulimit -n"));
		needs(open_files() == files);
		/* One place is room for one again. */
		close_ia(ia[--n]);
		needs(open_ia(&ia[n++]) == DAT_SUCCESS);
	}
	while (n > 0)
		close_ia(ia[--n]);
	needs(open_files() == before);
}

/* More than FEW: an adapter takes several, and each is the last one once. */
static unsigned more;

/* The child's part, with limits of its own. */
static void few(void)
{
	const rlim_t limit = open_files() + FEW + more;

	set_limits(limit, limit);
	in_turn();
	at_once(false);
}

static void few_of_many(void)
{
	set_limits(open_files() + FEW, hard_limit());
	in_turn();
	at_once(hard_limit() >= 4096);
}

static void usual(void)
{
	in_turn();
	at_once(hard_limit() >= 4096);
}

static void in_child(void (*test)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		alarm(200);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("the child died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		fail_msg("the child failed, line %d modulo 256",
			 WEXITSTATUS(status));
}

static int load(void **state)
{
	/* How deep the CM's own queues are makes no difference here. */
	setenv("DAPL_UCM_QP_SIZE", "16", 1);
	world_load(FV_ROCE);
	return 0;
}

static int unload(void **state)
{
	world_unload();
	return 0;
}

#define T(name) CASE_WITH(name, load, unload)

T(adapters__few_descriptors)
{
	for (more = 0; more < 8; more++)
		in_child(few);
}

T(adapters__low_soft_limit)
{
	in_child(few_of_many);
}

T(adapters__usual_limits)
{
	in_child(usual);
}

RUN_CASES(NULL, NULL)
