/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * adapters.c - adapters NAME SOFT HARD: opens adapter NAME 400 times in turn
 * and up to 200 times at once, with these limits on file descriptors (0: as
 * they are). It works, or says what was missing; no descriptor stays behind.
 *
 * Knows the public API only. Exit status 0, or 1 with a line that says why not.
 */
#include <dat2/udat.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define IN_TURN 400
#define AT_ONCE 200

static char *name;

__attribute__((noreturn, format(printf, 1, 2))) static void
give_up(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(1);
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

	return dat_ia_open(name, 8, &evd, ret_ia);
}

static void close_ia(DAT_IA_HANDLE ia)
{
	DAT_RETURN ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);

	if (ret != DAT_SUCCESS)
		give_up("close: 0x%x: %s", ret, dat_error_detail());
}

static void in_turn(int n)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	for (int i = 0; i < n; i++) {
		ret = open_ia(&ia);
		if (ret != DAT_SUCCESS)
			give_up("open %d in turn: 0x%x: %s", i, ret,
				dat_error_detail());
		close_ia(ia);
	}
}

static void at_once(void)
{
	DAT_IA_HANDLE ia[AT_ONCE];
	DAT_RETURN ret = DAT_SUCCESS;
	int n = 0;

	while (n < AT_ONCE && (ret = open_ia(&ia[n])) == DAT_SUCCESS)
		n++;
	if (ret == DAT_SUCCESS)
		printf("%d at once\n", n);
	else
		printf("%d at once, then: %s\n", n, dat_error_detail());
	if (!n || (ret != DAT_SUCCESS &&
		   DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES))
		give_up("open %d at once: 0x%x", n, ret);
	while (n)
		close_ia(ia[--n]);
}

static void set_limits(rlim_t soft, rlim_t hard)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (hard)
		limit.rlim_max = hard;
	if (soft)
		limit.rlim_cur = soft;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		give_up("setrlimit: %m");
}

int main(int argc, char **argv)
{
	int before, after;

	if (argc != 4)
		give_up("usage: adapters NAME SOFT HARD");
	name = argv[1];
	set_limits(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	/* What stays open now is what a library opens once. */
	in_turn(1);
	before = open_files();
	in_turn(IN_TURN);
	at_once();
	after = open_files();
	if (after != before)
		give_up("%d descriptors, %d before", after, before);
	return 0;
}
