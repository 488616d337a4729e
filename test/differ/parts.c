/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * parts.c - lines and parts, see parts.h.
 *
 * Each line goes out at once: the next call may be the one that crashes.
 */
#include "test/differ/parts.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void say(const char *what, const char *fmt, ...)
{
	va_list ap;

	flockfile(stdout);
	printf("%s\t", what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	funlockfile(stdout);
}

DAT_RETURN answer(const char *call, DAT_RETURN ret)
{
	const char *major, *minor;

	if (ret == DAT_SUCCESS)
		say(call, "DAT_SUCCESS");
	else if (dat_strerror(ret, &major, &minor) == DAT_SUCCESS)
		say(call, "0x%08x %s %s", (unsigned)ret, major, minor);
	else
		say(call, "0x%08x", (unsigned)ret);
	return ret;
}

void must(const char *call, DAT_RETURN ret)
{
	if (answer(call, ret) != DAT_SUCCESS)
		exit(0);
}

const char *run_child(unsigned int seconds, void (*part)(void *arg), void *arg)
{
	static char how[64];
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		alarm(seconds);
		part(arg);
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		exit(2);
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "ended by %s",
			 WTERMSIG(status) == SIGALRM
				 ? "its time limit"
				 : strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		snprintf(how, sizeof(how), "ended with %d",
			 WEXITSTATUS(status));
	else
		return NULL;
	return how;
}

void run_part(const char *name, unsigned int seconds, void (*part)(void *arg),
	      void *arg)
{
	const char *how;

	say("part", "%s", name);
	how = run_child(seconds, part, arg);
	if (how)
		say(name, "%s", how);
}

const char *adapter;
DAT_CONN_QUAL qual;

static void run_one(void *arg)
{
	((const struct part *)arg)->run();
}

int parts_main(int argc, char **argv, const struct part *parts, size_t n,
	       unsigned int seconds)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s ADAPTER QUALIFIER\n", argv[0]);
		return 2;
	}
	adapter = argv[1];
	qual = strtoull(argv[2], NULL, 0);
	for (size_t i = 0; i < n; i++)
		run_part(parts[i].name, seconds, run_one, (void *)&parts[i]);
	return 0;
}
