/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_oob.c - the rendezvous over TCP that tells a client where the server is.
 *
 * Does not trust a byte of what it reads.
 * Threads, ownership: see dt_oob.h.
 * Rule: fields travel as text of host integers, so both ends must have the
 * same byte order, as ever; our own 32 bytes are in network order.
 */
#include "test/dtest/common/dt_oob.h"

#include "test/dtest/common/dt_time.h"
#include "test/dtest/common/dt_watch.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pauses between two attempts to connect; bounds how long a signal waits. */
#define RETRY_NS (100 * DT_NS_PER_MS)
#define SLICE_MS 250
/* Clients that come at once; more of them try again. */
#define BACKLOG 16

/* clang-format off */
struct oob_tail {
	uint8_t magic[4];
	uint8_t mode;
	uint8_t flags;
	uint8_t family;		/* 6: addr is valid */
	uint8_t zero;
	uint32_t size;		/* network order */
	uint32_t count;		/* network order */
	uint8_t addr[16];
};
/* clang-format on */
_Static_assert(sizeof(struct oob_tail) == DT_OOB_SIZE - DT_OOB_TAIL_AT,
	       "fills the message");

static const uint8_t oob_magic[4] = {0xda, 0x71, 'd', 1};

int dt_oob_encode(const struct dt_oob_info *info, uint8_t msg[DT_OOB_SIZE])
{
	const struct sockaddr_in *in = (const void *)&info->addr;
	const struct sockaddr_in6 *in6 = (const void *)&info->addr;
	bool v4 = info->addr.ss_family == AF_INET;
	struct oob_tail tail = {.zero = 0};

	if (!v4 && info->addr.ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	memset(msg, 0, DT_OOB_SIZE);
	snprintf((char *)msg, DT_OOB_TAIL_AT, "%04x:%08x:%08x:%08x:%.*s",
		 v4 ? 0 : in6->sin6_port, v4 ? 0 : in6->sin6_flowinfo,
		 v4 ? 0 : htonl(in6->sin6_scope_id),
		 v4 ? in->sin_addr.s_addr : 0, DT_OOB_NAME - 1, info->provider);
	memcpy(tail.magic, oob_magic, sizeof(tail.magic));
	tail.mode = info->params.mode;
	tail.flags = info->params.flags;
	tail.size = htonl(info->params.size);
	tail.count = htonl(info->params.count);
	if (!v4) {
		tail.family = 6;
		memcpy(tail.addr, &in6->sin6_addr, sizeof(tail.addr));
	}
	memcpy(msg + DT_OOB_TAIL_AT, &tail, sizeof(tail));
	return 0;
}

/* One hexadecimal field up to ':'. Returns what follows, or NULL. */
static const char *hex_field(const char *p, uint32_t max, uint32_t *ret_value)
{
	unsigned long value;
	char *end;

	if (!isxdigit((unsigned char)*p))
		return NULL;
	errno = 0;
	value = strtoul(p, &end, 16);
	if (*end != ':' || errno || value > max)
		return NULL;
	*ret_value = (uint32_t)value;
	return end + 1;
}

/* A name goes into messages and to dat_ia_open(): printable, no blanks. */
static int take_provider(const char *p, char *ret_name)
{
	size_t n = strlen(p);

	if (!n || n >= DT_OOB_NAME)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)p[i]))
			return -EBADMSG;
	memcpy(ret_name, p, n + 1);
	return 0;
}

static int take_address(const uint32_t field[4], const struct oob_tail *tail,
			struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in *in = (void *)ret_addr;
	struct sockaddr_in6 *in6 = (void *)ret_addr;

	if (field[3]) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = field[3];
		return 0;
	}
	if (!(tail && tail->family == 6) && !(field[0] && field[1]))
		return -EADDRNOTAVAIL;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = (uint16_t)field[0];
	in6->sin6_flowinfo = field[1];
	in6->sin6_scope_id = ntohl(field[2]);
	if (tail && tail->family == 6)
		memcpy(&in6->sin6_addr, tail->addr, sizeof(tail->addr));
	return 0;
}

int dt_oob_decode(const uint8_t msg[DT_OOB_SIZE], struct dt_oob_info *ret_info)
{
	static const uint32_t max[4] = {0xffff, UINT32_MAX, UINT32_MAX,
					UINT32_MAX};
	struct dt_oob_info info;
	struct oob_tail tail;
	const char *p = (const char *)msg;
	uint32_t field[4];
	bool ours;
	int rc;

	memset(&info, 0, sizeof(info));
	if (!memchr(msg, 0, DT_OOB_SIZE))
		return -EBADMSG;
	for (int i = 0; i < 4; i++) {
		p = hex_field(p, max[i], &field[i]);
		if (!p)
			return -EBADMSG;
	}
	rc = take_provider(p, info.provider);
	if (rc)
		return rc;
	memcpy(&tail, msg + DT_OOB_TAIL_AT, sizeof(tail));
	ours = !memcmp(tail.magic, oob_magic, sizeof(tail.magic));
	if (ours) {
		info.params.known = true;
		info.params.mode = tail.mode;
		info.params.flags = tail.flags;
		info.params.size = ntohl(tail.size);
		info.params.count = ntohl(tail.count);
	}
	rc = take_address(field, ours ? &tail : NULL, &info.addr);
	if (rc)
		return rc;
	*ret_info = info;
	return 0;
}

static int listen_on(const struct sockaddr *addr, socklen_t len)
{
	int fd, one = 1, rc;

	fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (addr->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, addr, len) || listen(fd, BACKLOG)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int dt_oob_listen(uint16_t port, int ret_fds[DT_OOB_SOCKETS])
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(port)};
	int fd = listen_on((struct sockaddr *)&in, sizeof(in));

	if (fd < 0)
		return fd;
	ret_fds[0] = fd;
	/* Without IPv6 in the kernel the other one serves alone. */
	ret_fds[1] = listen_on((struct sockaddr *)&in6, sizeof(in6));
	return 0;
}

void dt_oob_close(int fds[DT_OOB_SOCKETS])
{
	for (int i = 0; i < DT_OOB_SOCKETS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Waits for one of the descriptors. Returns 0, -ETIMEDOUT or -EINTR. */
static int wait_ready(struct pollfd *pfd, nfds_t n, uint64_t deadline)
{
	for (;;) {
		uint64_t left = dt_left_ns(deadline) / DT_NS_PER_MS;
		int rc = poll(pfd, n, left < SLICE_MS ? (int)left : SLICE_MS);

		dt_alive();
		if (dt_stopped())
			return -EINTR;
		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return -errno;
		if (!dt_left_ns(deadline))
			return -ETIMEDOUT;
	}
}

static int accept_one(int fds[DT_OOB_SOCKETS], uint64_t deadline)
{
	struct pollfd pfd[DT_OOB_SOCKETS];

	for (int i = 0; i < DT_OOB_SOCKETS; i++)
		pfd[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	for (;;) {
		int rc = wait_ready(pfd, DT_OOB_SOCKETS, deadline);

		if (rc)
			return rc;
		for (int i = 0; i < DT_OOB_SOCKETS; i++) {
			int fd = pfd[i].revents ? accept4(pfd[i].fd, NULL, NULL,
							  SOCK_CLOEXEC)
						: -1;

			if (fd >= 0)
				return fd;
			/* One that gave up again is no reason to end. */
			if (pfd[i].revents && errno != EAGAIN &&
			    errno != ECONNABORTED && errno != EINTR)
				return -errno;
		}
	}
}

int dt_oob_tell(int fd, const uint8_t msg[DT_OOB_SIZE])
{
	/* 128 bytes always fit into the send buffer of a new connection. */
	if (send(fd, msg, DT_OOB_SIZE, MSG_NOSIGNAL) != DT_OOB_SIZE)
		return errno ? -errno : -EIO;
	return 0;
}

static int greet(int fd, const uint8_t msg[DT_OOB_SIZE])
{
	int rc = dt_oob_tell(fd, msg);

	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int dt_oob_answer_next(int fds[DT_OOB_SOCKETS], const uint8_t msg[DT_OOB_SIZE],
		       uint64_t deadline)
{
	int fd = accept_one(fds, deadline);

	return fd < 0 ? fd : greet(fd, msg);
}

int dt_oob_answer(int fds[DT_OOB_SOCKETS], const uint8_t msg[DT_OOB_SIZE],
		  uint64_t deadline)
{
	int fd = accept_one(fds, deadline);

	dt_oob_close(fds);
	return fd < 0 ? fd : greet(fd, msg);
}

int dt_oob_try_answer(int fds[DT_OOB_SOCKETS], const uint8_t msg[DT_OOB_SIZE])
{
	int fd = accept_one(fds, 0);

	if (fd == -ETIMEDOUT)
		return -EAGAIN;
	dt_oob_close(fds);
	return fd < 0 ? fd : greet(fd, msg);
}

static int connect_once(const struct addrinfo *ai, uint64_t deadline)
{
	struct pollfd pfd = {.events = POLLOUT};
	socklen_t len = sizeof(int);
	int rc = 0;

	pfd.fd = socket(ai->ai_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (pfd.fd < 0)
		return -errno;
	if (connect(pfd.fd, ai->ai_addr, ai->ai_addrlen) &&
	    errno != EINPROGRESS) {
		rc = -errno;
	} else {
		rc = wait_ready(&pfd, 1, deadline);
		if (!rc && !getsockopt(pfd.fd, SOL_SOCKET, SO_ERROR, &rc, &len))
			rc = -rc;
	}
	if (rc) {
		close(pfd.fd);
		return rc;
	}
	return pfd.fd;
}

static int read_message(int fd, uint64_t deadline, uint8_t msg[DT_OOB_SIZE])
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	size_t got = 0;

	while (got < DT_OOB_SIZE) {
		int rc = wait_ready(&pfd, 1, deadline);
		ssize_t n;

		if (rc)
			return rc;
		n = recv(fd, msg + got, DT_OOB_SIZE - got, 0);
		if (n > 0)
			got += (size_t)n;
		else if (!n)
			return -ECONNRESET;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Tries each address once. Returns the connection, or the last error. */
static int ask_once(const struct addrinfo *list, uint64_t deadline,
		    uint8_t msg[DT_OOB_SIZE])
{
	int rc = -EHOSTUNREACH;

	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		int fd = connect_once(ai, deadline);

		rc = fd;
		if (fd >= 0) {
			rc = read_message(fd, deadline, msg);
			if (!rc)
				return fd;
			close(fd);
		}
		if (rc == -EINTR || rc == -ETIMEDOUT)
			break;
	}
	return rc;
}

int dt_oob_ask(const char *host, uint16_t port, uint64_t deadline,
	       uint8_t ret_msg[DT_OOB_SIZE])
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &list))
		return -EHOSTUNREACH;
	for (;;) {
		rc = ask_once(list, deadline, ret_msg);
		if (rc >= 0 || rc == -EINTR || rc == -ETIMEDOUT ||
		    rc == -ECONNRESET)
			break;
		if (!dt_left_ns(deadline)) {
			rc = -ETIMEDOUT;
			break;
		}
		if (!dt_pause(RETRY_NS)) {
			rc = -EINTR;
			break;
		}
	}
	freeaddrinfo(list);
	return rc;
}

void dt_oob_decline(int fd, enum dt_oob_word why)
{
	char c = (char)why;

	/* Only a courtesy: without it the server waits for its time limit. */
	if (send(fd, &c, 1, MSG_NOSIGNAL) != 1)
		return;
}

static enum dt_oob_word word_of(uint8_t c)
{
	return c == DT_OOB_GAVE_UP ? DT_OOB_GAVE_UP : DT_OOB_MISMATCH;
}

enum dt_oob_word dt_oob_declined(int fd)
{
	uint8_t c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 1 ? word_of(c) : DT_OOB_NOTHING;
}

int dt_oob_hear(int fd, uint64_t deadline, uint8_t ret_msg[DT_OOB_SIZE],
		enum dt_oob_word *ret_word)
{
	int rc;

	memset(ret_msg, 0, DT_OOB_SIZE);
	rc = read_message(fd, deadline, ret_msg);
	*ret_word = rc == -ECONNRESET && ret_msg[0] ? word_of(ret_msg[0])
						    : DT_OOB_NOTHING;
	return rc;
}

int dt_oob_await_end(int fd, uint64_t deadline)
{
	uint8_t msg[DT_OOB_SIZE];
	int rc;

	do {
		rc = read_message(fd, deadline, msg);
	} while (!rc);
	return rc == -ETIMEDOUT || rc == -EINTR ? rc : 0;
}
