/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pair.c - a test tool's server and client in one process, on the fake device.
 *
 *   pair_TOOL KIND SERVER-OPTION... -- CLIENT-OPTION...
 *
 * KIND is a kind of device that the fake knows. The program's own symbols
 * stand in for libibverbs and librdmacm below the provider that dat.conf
 * names; the sides are two threads that run the tool's main(). A line
 * "pair: SERVER CLIENT" with their exit statuses is the last one, on standard
 * error. The sides share what a process has: one watchdog, one set of signals.
 * Rule: test/unit/fake/fake_verbs.h.
 */
#undef main /* what the tool's own file is compiled with */

#include "test/unit/fake/fake_verbs.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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

static bool make_device(const char *kind)
{
	static const struct {
		const char *name;
		enum fv_kind kind;
	} kinds[] = {{"ib", FV_IB},
		     {"roce", FV_ROCE},
		     {"iwarp", FV_IWARP},
		     {"siw", FV_SIW}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kind, kinds[i].name))
			continue;
		fv_reset();
		fv_devices_default(kinds[i].kind, 1);
		return true;
	}
	return false;
}

/* One that nobody has, below those that the system gives to clients. */
static unsigned int free_port(void)
{
	unsigned int port = 20000 + (unsigned int)getpid() % 10000;
	struct sockaddr_in in = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < 1000; i++) {
		in.sin_port = htons((uint16_t)++port);
		if (!bind(fd, (struct sockaddr *)&in, sizeof(in)))
			break;
	}
	close(fd);
	return port;
}

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

int main(int argc, char **argv)
{
	struct side server = {.rc = -1}, client = {.rc = -1}, *s = &server;
	unsigned int port = free_port();
	pthread_t thread;
	char text[24];

	if (argc < 2 || !make_device(argv[1])) {
		fprintf(stderr, "usage: pair KIND OPTION... -- OPTION...\n");
		return 2;
	}
	snprintf(text, sizeof(text), "--oob-port=%u", port);
	add(&server, argv[0]);
	add(&server, text);
	add(&client, argv[0]);
	add(&client, text);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--"))
			s = &client;
		else
			add(s, argv[i]);
	}
	if (pthread_create(&thread, NULL, run, &server))
		return 2;
	if (wait_for_server(&server, port))
		run(&client);
	pthread_join(thread, NULL);
	fflush(stdout);
	fprintf(stderr, "pair: %d %d\n", server.rc, client.rc);
	return 0;
}
