/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pingpong_fake.c - both ends of doc/examples/pingpong.c in one process, on the
 * fake device below the real libraries: the program as it is, each end a
 * thread. The client is given what the server prints for it. A program that
 * fails ends the process, and then there is no plan. TAP.
 *
 * usage: pingpong_fake NAME KIND, the kind as fv_devices_named() knows it.
 * Input: DAT_OVERRIDE, with NAME in it.
 */
#include "test/device.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The program's own main() is compiled under another name. */
#undef main
int pingpong_main(int argc, char **argv);

static void *server(void *name)
{
	char *argv[] = {"pingpong", name, NULL};

	return pingpong_main(2, argv) ? "failed" : NULL;
}

/* The last word of the line that the server prints when it listens. */
static const char *address_of(FILE *out)
{
	static char line[256];
	char *last;

	if (!fgets(line, sizeof(line), out) || !strchr(line, '\n'))
		return NULL;
	*strchr(line, '\n') = '\0';
	last = strrchr(line, ' ');
	return last ? last + 1 : NULL;
}

int main(int argc, char **argv)
{
	char *client[] = {"pingpong", argc > 1 ? argv[1] : "", NULL, NULL};
	void *failed = NULL;
	const char *address;
	pthread_t thread;
	int pipes[2], tap, ret;
	char line[256];
	FILE *out;

	tap = dup(STDOUT_FILENO);
	if (argc != 3 || tap < 0 || !device_make(argv[2]) || pipe(pipes) ||
	    dup2(pipes[1], STDOUT_FILENO) < 0)
		return 99;
	out = fdopen(pipes[0], "r");
	if (!out || pthread_create(&thread, NULL, server, argv[1]))
		return 99;
	address = address_of(out);
	if (!address)
		return 1;
	client[2] = (char *)address;
	ret = pingpong_main(3, client);
	pthread_join(thread, &failed);
	fflush(stdout);
	if (!fgets(line, sizeof(line), out))
		return 1;
	dprintf(tap, "%s 1 - both ends, %s\n# %s1..1\n",
		ret || failed || !strstr(line, "1000 rounds") ? "not ok" : "ok",
		argv[2], line);
	return ret || failed;
}
