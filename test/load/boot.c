/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * boot.c - ranks meet, as those of an MPI job do, by a service of their own:
 * each has a TCP connection to rank 0, which gathers what all say and tells
 * all.
 *
 * Not for speed. Everything that is waited for has a limit, twice that of a
 * rank's patience, so that who is stuck says so before those who wait for it.
 * Called by a rank's own thread.
 */
#include "test/load/load.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RETRY_MS 100

/* HOST:PORT, of IPv4 or IPv6; HOST may be empty. NULL: no such thing. */
static struct addrinfo *resolve(const char *root, int flags)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
	const char *colon = strrchr(root, ':');
	struct addrinfo *ai;
	char host[256];

	if (!colon || (size_t)(colon - root) >= sizeof(host))
		return NULL;
	memcpy(host, root, (size_t)(colon - root));
	host[colon - root] = 0;
	if (getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &ai))
		return NULL;
	return ai;
}

int boot_listen(const char *root, int *ret_port)
{
	struct addrinfo *ai = resolve(root ? root : "127.0.0.1:0", AI_PASSIVE);
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);
	int fd, on = 1;

	if (!ai) {
		fprintf(stderr, "load: not HOST:PORT: %s\n", root);
		return -1;
	}
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, LOAD_RANKS) ||
	    getsockname(fd, (struct sockaddr *)&at, &size)) {
		fprintf(stderr, "load: cannot listen at %s: %m\n",
			root ? root : "127.0.0.1");
		freeaddrinfo(ai);
		return -1;
	}
	freeaddrinfo(ai);
	*ret_port = at.ss_family == AF_INET6
			    ? ((struct sockaddr_in6 *)(void *)&at)->sin6_port
			    : ((struct sockaddr_in *)(void *)&at)->sin_port;
	*ret_port = ntohs((uint16_t)*ret_port);
	return fd;
}

static void prepare(struct boot *b, int fd)
{
	struct timeval limit = {.tv_sec = 2 * b->timeout_s};
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void put(struct boot *b, int i, const void *buf, size_t size)
{
	const char *p = buf;
	ssize_t n;

	while (size) {
		n = send(b->fd[i], p, size, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			RANK_FAIL(b->r, "bootstrap, to rank %d: %m", i);
		p += n;
		size -= (size_t)n;
	}
}

static void get(struct boot *b, int i, void *buf, size_t size)
{
	char *p = buf;
	ssize_t n;

	while (size) {
		n = recv(b->fd[i], p, size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (!n || (n < 0 && errno == ECONNRESET))
			RANK_FAIL(b->r, "bootstrap: rank %d has gone", i);
		if (n < 0)
			RANK_FAIL(b->r, "bootstrap, from rank %d: %m", i);
		p += n;
		size -= (size_t)n;
	}
}

static void meet_all(struct boot *b)
{
	struct timeval limit = {.tv_sec = b->timeout_s};
	int fd, id;

	setsockopt(b->listen, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (int i = 1; i < b->r->n; i++) {
		rank_waits(b->r, "%d more ranks to call", b->r->n - i);
		fd = accept4(b->listen, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			RANK_FAIL(b->r, "%d of %d ranks have not called: %m",
				  b->r->n - i, b->r->n);
		prepare(b, fd);
		b->fd[0] = fd;
		get(b, 0, &id, sizeof(id));
		if (id < 1 || id >= b->r->n || b->fd[id] >= 0)
			RANK_FAIL(b->r, "two ranks %d, or none such", id);
		b->fd[id] = fd;
	}
	b->fd[0] = -1;
	close(b->listen);
}

/* It may not be there yet, of which nothing tells but another try. */
static int call(struct boot *b, const char *root)
{
	uint64_t until = load_now_us() + (uint64_t)b->timeout_s * 1000000;
	struct addrinfo *ai = resolve(root, 0);
	int fd;

	if (!ai)
		RANK_FAIL(b->r, "no address of rank 0: %s", root);
	rank_waits(b->r, "rank 0 at %s", root);
	for (;;) {
		fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		prepare(b, fd);
		if (!connect(fd, ai->ai_addr, ai->ai_addrlen))
			break;
		if (load_now_us() > until)
			RANK_FAIL(b->r, "rank 0 at %s: %m", root);
		close(fd);
		poll(NULL, 0, RETRY_MS);
	}
	freeaddrinfo(ai);
	return fd;
}

void boot_meet(struct boot *b, const char *root)
{
	char here[32];

	for (int i = 0; i < LOAD_RANKS; i++)
		b->fd[i] = -1;
	snprintf(here, sizeof(here), "127.0.0.1:%d", b->port);
	if (!b->r->id) {
		meet_all(b);
		return;
	}
	b->fd[0] = call(b, root ? root : here);
	put(b, 0, &b->r->id, sizeof(b->r->id));
}

void boot_allgather(struct boot *b, const void *mine, size_t size, void *all)
{
	size_t n = (size_t)b->r->n;
	char *p = all;

	if (b->r->id) {
		put(b, 0, mine, size);
		get(b, 0, all, n * size);
		return;
	}
	memcpy(p, mine, size);
	for (int i = 1; i < b->r->n; i++)
		get(b, i, p + (size_t)i * size, size);
	for (int i = 1; i < b->r->n; i++)
		put(b, i, all, n * size);
}

void boot_barrier(struct boot *b)
{
	char all[LOAD_RANKS], mine = 0;
	char before[RANK_NOTE];

	memcpy(before, b->r->note->waits_for, sizeof(before));
	rank_waits(b->r, "the other ranks, after: %.200s", before);
	boot_allgather(b, &mine, 1, all);
}

void boot_part(struct boot *b)
{
	for (int i = 0; i < LOAD_RANKS; i++)
		if (b->fd[i] >= 0)
			close(b->fd[i]);
}
