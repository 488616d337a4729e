/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * attack_scm.c - one stream, or one thing done to one that is kept: silent
 * ones, and ones that send a request byte by byte. Nothing is waited for, and
 * most streams are reset, or the host would run out of ports.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/hostile/hostile.h"

/* Connecting, or connected; -1: the host has no more ports or descriptors. */
static int dial(struct attacker *a)
{
	struct linger reset = {.l_onoff = 1};
	struct sockaddr_in from = {.sin_family = AF_INET}, to;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	/* Others of this host are no neighbours: each has ports of its own. */
	from.sin_addr.s_addr = htonl(0x7f000002 + a->number);
	memcpy(&to, a->server.b, sizeof(to));
	to.sin_port = htons(a->port);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    (connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
	     errno != EINPROGRESS)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void send_and_leave(struct attacker *a)
{
	struct linger linger = {.l_onoff = 0};
	uint8_t bytes[ATTACK_BYTES];
	enum attack_kind kind;
	size_t len;
	int fd = dial(a);

	if (fd < 0)
		return;
	kind = attack_make(a, bytes, &len);
	if (send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len)
		attack_count(a, kind);
	/* What is reset may never be read. */
	if (attack_random(a) % 2)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

/* The oldest one makes room. */
static void hold(struct attacker *a)
{
	unsigned i = a->held_next++ % a->held_max;

	if (a->held[i].fd >= 0)
		close(a->held[i].fd);
	a->held[i].fd = dial(a);
	a->held[i].said = 0;
	if (a->held[i].fd >= 0)
		attack_count(a, ATTACK_HALF_OPEN);
}

static void say_one_byte(struct attacker *a)
{
	struct wire_msg msg = attack_request(a, "slowly");
	uint8_t bytes[WIRE_HEADER + WIRE_PDATA];
	unsigned i = attack_random(a) % a->held_max;
	size_t len = wire_encode(&msg, bytes);

	if (a->held[i].fd < 0 || a->held[i].said >= len)
		return;
	if (send(a->held[i].fd, bytes + a->held[i].said, 1, MSG_NOSIGNAL) != 1)
		return;
	a->held[i].said++;
	attack_count(a, ATTACK_SLOW);
}

void attack_scm_step(struct attacker *a)
{
	unsigned what = attack_random(a) % 8;

	if (what == 0)
		hold(a);
	else if (what < 4)
		say_one_byte(a);
	else
		send_and_leave(a);
}

void attack_scm_pause(struct attacker *a)
{
	for (unsigned i = 0; i < HELD_MAX; i++) {
		if (a->held[i].fd >= 0)
			close(a->held[i].fd);
		a->held[i].fd = -1;
	}
}
