/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pair.c - a test tool's server and client in one process, on the fake device.
 *
 *   pair_TOOL KIND SERVER-OPTION... -- CLIENT-OPTION...
 *
 * KIND is a kind of device that the fake knows (see
 * test/unit/fake/fake_kinds.c); both sides are told ports that no other run
 * has. The program's own symbols stand in for libibverbs and librdmacm below
 * the provider that dat.conf names; the sides are two threads that run the
 * tool's main(). A line "pair: SERVER CLIENT" with their exit statuses is the
 * last one, on standard error; if they left objects of the device behind, it
 * says how many. The sides share what a process has: one watchdog, one set of
 * signals. With HANG=CALL in the environment that call of libibverbs or
 * librdmacm never returns. Rule: test/unit/fake/fake_verbs.h.
 */
#undef main /* what the tool's own file is compiled with */

#include "test/conform/ports.h"
#include "test/device.h"
#include "test/unit/fake/fake_verbs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ARGS_MAX  32
#define TRIES_MAX 2000
#define STEP_NS	  5000000

int tool_main(int argc, char **argv);

struct side {
	int argc;
	char *argv[ARGS_MAX];
	int rc;
	bool done;
};

/* Is the TCP port in LISTEN state? */
static bool listening(unsigned int port)
{
	FILE *f = fopen("/proc/net/tcp", "re");
	unsigned int local, state;
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, " %*d: %*8x:%x %*8x:%*x %x", &local,
			       &state) == 2 &&
			local == port && state == 0x0a;
	if (f)
		fclose(f);
	return found;
}

static void *run(void *arg)
{
	struct side *s = arg;

	s->rc = tool_main(s->argc, s->argv);
	__atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The command line is read by then: getopt(3) is not for two threads. */
static bool wait_for_server(const struct side *s, unsigned int port)
{
	struct timespec step = {.tv_nsec = STEP_NS};

	for (int i = 0; i < TRIES_MAX; i++) {
		if (listening(port))
			return true;
		if (__atomic_load_n(&s->done, __ATOMIC_ACQUIRE))
			return false;
		nanosleep(&step, NULL);
	}
	return false;
}

static void add(struct side *s, char *arg)
{
	if (s->argc < ARGS_MAX - 1)
		s->argv[s->argc++] = arg;
}

/* Ports that are this run's alone. */
static void begin(struct side *s, char *name, char *qual, char *oob_port)
{
	add(s, name);
	add(s, qual);
	add(s, oob_port);
}

int main(int argc, char **argv)
{
	struct side server = {.rc = -1}, client = {.rc = -1}, *s = &server;
	unsigned int qual = ports_own(), oob_port = PORTS_OOB(qual);
	char qual_text[24], oob_text[24];
	pthread_t thread;

	if (argc < 2 || !device_make(argv[1])) {
		fprintf(stderr, "usage: pair KIND OPTION... -- OPTION...\n");
		return 2;
	}
	fv_hang(getenv("HANG"));
	snprintf(qual_text, sizeof(qual_text), "--port=%u", qual);
	snprintf(oob_text, sizeof(oob_text), "--oob-port=%u", oob_port);
	begin(&server, argv[0], qual_text, oob_text);
	begin(&client, argv[0], qual_text, oob_text);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--"))
			s = &client;
		else
			add(s, argv[i]);
	}
	if (pthread_create(&thread, NULL, run, &server))
		return 2;
	if (wait_for_server(&server, oob_port))
		run(&client);
	pthread_join(thread, NULL);
	fflush(stdout);
	fprintf(stderr, "pair: %d %d", server.rc, client.rc);
	if (fv_live())
		fprintf(stderr, ", %u objects left", fv_live());
	fputc('\n', stderr);
	fv_live_dump(stderr);
	return 0;
}
