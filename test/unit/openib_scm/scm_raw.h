/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_raw.h - hand-written peers of the SCM provider: plain sockets on the
 * loopback address, for the t_scm_* tests.
 *
 * Blocking, with a limit of RAW_PATIENCE_S for every wait; when it passes, the
 * test fails. What a test does not close, raw_close_all() does.
 */
#ifndef SCM_RAW_H
#define SCM_RAW_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "dapl/common/cm/dcm/dcm_msg.h"
#include "dapl/openib_scm/scm_frame.h"
#include "test/unit/case.h"
#include "test/wire/wire.h"

#define RAW_PATIENCE_S 30
#define RAW_QUAL_BASE  1000
#define RAW_FDS	       128

static int raw_fds[RAW_FDS]; /* the open ones */
static int raw_fds_n;

static inline int raw_keep(int fd)
{
	assert_true(fd >= 0);
	assert_true(raw_fds_n < RAW_FDS);
	raw_fds[raw_fds_n++] = fd;
	return fd;
}

static inline void raw_close(int fd)
{
	int i = 0;

	while (i < raw_fds_n && raw_fds[i] != fd)
		i++;
	assert_true(i < raw_fds_n);
	raw_fds[i] = raw_fds[--raw_fds_n];
	close(fd);
}

static inline void raw_close_all(void)
{
	while (raw_fds_n)
		raw_close(raw_fds[0]);
}

static inline struct sockaddr_in raw_addr(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static inline int raw_socket(void)
{
	const struct timeval limit = {.tv_sec = RAW_PATIENCE_S};
	int fd = raw_keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	int one = 1;

	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
		0);
	assert_int_equal(
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	return fd;
}

/* A listening socket on a port that the system chose. */
static inline int raw_listen(int backlog, uint16_t *ret_port)
{
	struct sockaddr_in addr = raw_addr(0);
	socklen_t len = sizeof(addr);
	int fd = raw_socket();

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

/* A port that nobody listens on, and will not get by chance soon. */
static inline uint16_t raw_free_port(void)
{
	uint16_t port;

	raw_close(raw_listen(1, &port));
	return port;
}

static inline int raw_accept(int fd)
{
	const struct timeval limit = {.tv_sec = RAW_PATIENCE_S};
	int peer = raw_keep(accept(fd, NULL, NULL));

	assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit,
				    sizeof(limit)),
			 0);
	return peer;
}

static inline int raw_connect(uint16_t port)
{
	struct sockaddr_in addr = raw_addr(port);
	int fd = raw_socket();

	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	return fd;
}

static inline void raw_write(int fd, const void *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

/* Byte by byte. */
static inline void raw_write_slowly(int fd, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		raw_write(fd, bytes + i, 1);
}

/* Exactly N bytes. */
static inline void raw_read(int fd, void *buf, size_t n)
{
	size_t at = 0;

	while (at < n) {
		ssize_t got = recv(fd, (uint8_t *)buf + at, n - at, 0);

		if (got <= 0)
			fail_msg("%zu of %zu bytes came", at, n);
		at += (size_t)got;
	}
}

/* The peer says no more: end of the stream, orderly or not. */
static inline void raw_ended(int fd)
{
	uint8_t byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	if (n > 0 || (n < 0 && errno != ECONNRESET))
		fail_msg("the stream did not end: %zd", n);
}

/* Ends the stream with RST in place of FIN. */
static inline void raw_reset(int fd)
{
	const struct linger now = {.l_onoff = 1};

	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	raw_close(fd);
}

static inline void raw_send_file(int fd, const char *name)
{
	uint8_t buf[SCM_FRAME_MAX];

	raw_write(fd, buf, wire_load(name, buf, sizeof(buf)));
}

/* The next message, FILLER bytes between header and data. */
static inline struct dcm_msg raw_msg(int fd, size_t filler)
{
	uint8_t buf[SCM_FRAME_MAX];
	struct dcm_msg msg;

	raw_read(fd, buf, DCM_HEADER + filler);
	assert_int_equal(dcm_msg_decode_header(buf, &msg), 0);
	memset(msg.pdata, 0, sizeof(msg.pdata));
	raw_read(fd, msg.pdata, msg.p_size);
	return msg;
}

static inline void raw_word(int fd, uint32_t word)
{
	uint32_t got;

	raw_read(fd, &got, sizeof(got));
	assert_int_equal(ntohl(got), word);
}

#define RAW_BYE	 0x0000deadu
#define RAW_RTU9 0x00090005u
#define RAW_RTU7 0x00070005u

static inline int raw_open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif
