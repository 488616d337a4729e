/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dtest_oob.c - tests of the rendezvous of the test tools.
 *
 * Calls covered: dt_oob_encode, dt_oob_decode, dt_oob_listen, dt_oob_answer,
 * dt_oob_answer_next, dt_oob_try_answer, dt_oob_ask, dt_oob_decline,
 * dt_oob_declined, dt_oob_tell, dt_oob_hear, dt_oob_await_end. Uses TCP on the
 * loopback address, ports chosen by the system. Rule: the text of the historic
 * tools, byte for byte; and nothing that somebody sends may do more than fail.
 */
#include "test/dtest/common/dt_oob.h"
#include "test/dtest/common/dt_time.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/case.h"

static struct dt_oob_info info_v4(const char *addr, const char *provider)
{
	struct dt_oob_info info;
	struct sockaddr_in *in = (void *)&info.addr;

	memset(&info, 0, sizeof(info));
	in->sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, addr, &in->sin_addr), 1);
	snprintf(info.provider, sizeof(info.provider), "%s", provider);
	return info;
}

/* A message of an old tool: text, NUL, and what was on its stack. */
static void old_message(const char *text, uint8_t msg[DT_OOB_SIZE])
{
	memset(msg, 0xa5, DT_OOB_SIZE);
	memcpy(msg, text, strlen(text) + 1);
}

CASE(encode__historic_text)
{
	struct dt_oob_info info = info_v4("10.0.2.15", "ofa-v2-scm");
	uint8_t msg[DT_OOB_SIZE];

	assert_int_equal(dt_oob_encode(&info, msg), 0);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	assert_string_equal((char *)msg,
			    "0000:00000000:00000000:0f02000a:ofa-v2-scm");
#else
	assert_string_equal((char *)msg,
			    "0000:00000000:00000000:0a00020f:ofa-v2-scm");
#endif
}

CASE(encode__lid_and_qpn_of_a_ucm_address)
{
	struct dt_oob_info info;
	struct sockaddr_in6 *in6 = (void *)&info.addr;
	uint8_t msg[DT_OOB_SIZE];

	memset(&info, 0, sizeof(info));
	in6->sin6_family = AF_INET6;
	in6->sin6_port = 0x0102;
	in6->sin6_flowinfo = 0x03040506;
	in6->sin6_scope_id = ntohl(0x0708090a);
	strcpy(info.provider, "x");
	assert_int_equal(dt_oob_encode(&info, msg), 0);
	assert_string_equal((char *)msg, "0102:03040506:0708090a:00000000:x");
}

CASE(encode__nothing_of_the_stack)
{
	struct dt_oob_info info = info_v4("1.2.3.4", "a");
	uint8_t one[DT_OOB_SIZE], two[DT_OOB_SIZE];

	memset(one, 0x11, sizeof(one));
	memset(two, 0xee, sizeof(two));
	assert_int_equal(dt_oob_encode(&info, one), 0);
	assert_int_equal(dt_oob_encode(&info, two), 0);
	assert_memory_equal(one, two, DT_OOB_SIZE);
	for (int i = 34; i < DT_OOB_TAIL_AT; i++)
		assert_int_equal(one[i], 0);
}

CASE(encode__no_address)
{
	struct dt_oob_info info = info_v4("1.2.3.4", "a");
	uint8_t msg[DT_OOB_SIZE];

	info.addr.ss_family = AF_UNSPEC;
	assert_int_equal(dt_oob_encode(&info, msg), -EAFNOSUPPORT);
}

CASE(encode__longest_name_leaves_the_tail_alone)
{
	struct dt_oob_info info = info_v4("255.255.255.255", ""), back;
	uint8_t msg[DT_OOB_SIZE];

	memset(info.provider, 'p', DT_OOB_NAME - 1);
	info.params.size = 77;
	assert_int_equal(dt_oob_encode(&info, msg), 0);
	assert_int_equal(msg[DT_OOB_TAIL_AT - 1], 0);
	assert_int_equal(dt_oob_decode(msg, &back), 0);
	assert_string_equal(back.provider, info.provider);
	assert_true(back.params.known);
	assert_int_equal(back.params.size, 77);
}

CASE(decode__own_message)
{
	struct dt_oob_info info = info_v4("10.0.3.15", "ofa-v2-eth0"), back;
	uint8_t msg[DT_OOB_SIZE];

	info.params.mode = 2;
	info.params.flags = 3;
	info.params.size = 4194304;
	info.params.count = 1000;
	assert_int_equal(dt_oob_encode(&info, msg), 0);
	assert_int_equal(dt_oob_decode(msg, &back), 0);
	assert_memory_equal(&back.addr, &info.addr, sizeof(back.addr));
	assert_string_equal(back.provider, "ofa-v2-eth0");
	assert_true(back.params.known);
	assert_int_equal(back.params.mode, 2);
	assert_int_equal(back.params.flags, 3);
	assert_int_equal(back.params.size, 4194304);
	assert_int_equal(back.params.count, 1000);
}

/* What an old tool could not say: IPv6, and ucm where there is no LID. */
CASE(decode__own_message_with_ipv6)
{
	struct dt_oob_info info, back;
	struct sockaddr_in6 *in6 = (void *)&info.addr;
	uint8_t msg[DT_OOB_SIZE];

	memset(&info, 0, sizeof(info));
	in6->sin6_family = AF_INET6;
	in6->sin6_flowinfo = htonl(17);
	in6->sin6_scope_id = 3;
	assert_int_equal(inet_pton(AF_INET6, "fd00:da1::15", &in6->sin6_addr),
			 1);
	strcpy(info.provider, "v6");
	assert_int_equal(dt_oob_encode(&info, msg), 0);
	assert_int_equal(dt_oob_decode(msg, &back), 0);
	assert_memory_equal(&back.addr, &info.addr, sizeof(*in6));
}

CASE(decode__old_message)
{
	struct dt_oob_info info;
	struct sockaddr_in *in = (void *)&info.addr;
	struct sockaddr_in6 *in6 = (void *)&info.addr;
	uint8_t msg[DT_OOB_SIZE];

	old_message("0000:00000000:00000000:0f02000a:ofa-v2-scm", msg);
	assert_int_equal(dt_oob_decode(msg, &info), 0);
	assert_int_equal(in->sin_family, AF_INET);
	assert_int_equal(in->sin_addr.s_addr, 0x0f02000a);
	assert_string_equal(info.provider, "ofa-v2-scm");
	assert_false(info.params.known);

	old_message("0102:03040506:0708090a:00000000:ucm", msg);
	assert_int_equal(dt_oob_decode(msg, &info), 0);
	assert_int_equal(in6->sin6_family, AF_INET6);
	assert_int_equal(in6->sin6_port, 0x0102);
	assert_int_equal(in6->sin6_flowinfo, 0x03040506);
	assert_int_equal(in6->sin6_scope_id, ntohl(0x0708090a));
}

CASE(decode__refused)
{
	static const struct {
		const char *text;
		int rc;
	} rows[] = {
		{"", -EBADMSG},
		{"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3", -EBADMSG},
		{"0000:00000000:00000000:0f02000a:", -EBADMSG},
		{"0000:00000000:00000000:0f02000a", -EBADMSG},
		{"0000:00000000:00000000", -EBADMSG},
		{"0000:00000000:00000000:0f02000a:two words", -EBADMSG},
		{"0000:00000000:00000000:0f02000a:esc\033[2J", -EBADMSG},
		{"0000:00000000:00000000:0f02000a:\xff\xfe", -EBADMSG},
		{"10000:00000000:00000000:0f02000a:x", -EBADMSG},
		{"0000:100000000:00000000:0f02000a:x", -EBADMSG},
		{"0000:00000000:00000000:fffffffffffffffffff:x", -EBADMSG},
		{"-001:00000000:00000000:0f02000a:x", -EBADMSG},
		{" 000:00000000:00000000:0f02000a:x", -EBADMSG},
		{"0000::00000000:0f02000a:x", -EBADMSG},
		{"zzzz:00000000:00000000:0f02000a:x", -EBADMSG},
		{"0000:00000000:00000000:0f02000a:"
		 "0123456789012345678901234567890123456789012345678901234567890"
		 "123",
		 -EBADMSG},
		{"0000:00000011:00000000:00000000:ucm-on-roce", -EADDRNOTAVAIL},
		{"0011:00000000:00000000:00000000:ucm", -EADDRNOTAVAIL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dt_oob_info info;
		uint8_t msg[DT_OOB_SIZE];
		int rc;

		old_message(rows[i].text, msg);
		rc = dt_oob_decode(msg, &info);
		if (rc != rows[i].rc)
			fail_msg("'%s': %d, wanted %d", rows[i].text, rc,
				 rows[i].rc);
	}
}

CASE(decode__without_end)
{
	struct dt_oob_info info;
	uint8_t msg[DT_OOB_SIZE];

	memset(msg, '0', sizeof(msg));
	assert_int_equal(dt_oob_decode(msg, &info), -EBADMSG);
	memcpy(msg, "0000:00000000:00000000:0f02000a:", 32);
	assert_int_equal(dt_oob_decode(msg, &info), -EBADMSG);
}

/* Every change of one byte of a good message is refused or understood. */
CASE(decode__every_byte_changed)
{
	struct dt_oob_info info = info_v4("10.0.3.15", "ofa-v2-eth0");
	uint8_t good[DT_OOB_SIZE], msg[DT_OOB_SIZE];
	int accepted = 0, refused = 0;

	assert_int_equal(dt_oob_encode(&info, good), 0);
	for (int at = 0; at < DT_OOB_SIZE; at++) {
		for (int value = 0; value < 256; value++) {
			struct dt_oob_info back;
			int rc;

			memcpy(msg, good, sizeof(msg));
			msg[at] = (uint8_t)value;
			rc = dt_oob_decode(msg, &back);
			if (rc) {
				refused++;
				continue;
			}
			accepted++;
			assert_in_range(strlen(back.provider), 1,
					DT_OOB_NAME - 1);
			assert_int_equal(back.addr.ss_family, AF_INET);
		}
	}
	assert_in_range(accepted, 1, INT32_MAX);
	assert_in_range(refused, 1, INT32_MAX);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	return ntohs(in.sin_port);
}

struct server {
	int fds[DT_OOB_SOCKETS];
	uint8_t msg[DT_OOB_SIZE];
	uint64_t deadline;
	int rc;
};

static void *serve(void *arg)
{
	struct server *s = arg;

	s->rc = dt_oob_answer(s->fds, s->msg, s->deadline);
	return NULL;
}

static void expect_declined(int client, int server, enum dt_oob_word why)
{
	struct pollfd pfd = {.fd = server, .events = POLLIN};

	dt_oob_decline(client, why);
	assert_int_equal(poll(&pfd, 1, 20000), 1);
	assert_int_equal(dt_oob_declined(server), why);
}

CASE(ask__gets_the_message)
{
	struct server s = {.deadline = dt_deadline(20 * DT_NS_PER_S)};
	uint8_t msg[DT_OOB_SIZE];
	pthread_t thread;
	uint16_t port;
	int fd;

	for (int i = 0; i < DT_OOB_SIZE; i++)
		s.msg[i] = (uint8_t)(i + 1);
	assert_int_equal(dt_oob_listen(0, s.fds), 0);
	port = port_of(s.fds[0]);
	assert_int_equal(pthread_create(&thread, NULL, serve, &s), 0);
	fd = dt_oob_ask("127.0.0.1", port, s.deadline, msg);
	assert_in_range(fd, 0, INT32_MAX);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_in_range(s.rc, 0, INT32_MAX);
	assert_int_equal(dt_oob_declined(s.rc), DT_OOB_NOTHING);
	expect_declined(fd, s.rc, DT_OOB_MISMATCH);
	expect_declined(fd, s.rc, DT_OOB_GAVE_UP);
	/* Leaving is not declining: old clients may close early. */
	close(fd);
	assert_int_equal(dt_oob_declined(s.rc), DT_OOB_NOTHING);
	close(s.rc);
	assert_memory_equal(msg, s.msg, DT_OOB_SIZE);
	/* The listeners are gone: somebody else may have the port. */
	assert_int_equal(s.fds[0], -1);
	assert_int_equal(s.fds[1], -1);
}

/* Sends less than a message and leaves. */
static void *serve_short(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	if (fd >= 0) {
		if (write(fd, "0000:0000", 9) != 9)
			perror("write");
		close(fd);
	}
	return NULL;
}

static int listen_plain(uint16_t *ret_port)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_in_range(fd, 0, INT32_MAX);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(fd, 1), 0);
	*ret_port = port_of(fd);
	return fd;
}

CASE(ask__short_message)
{
	uint8_t msg[DT_OOB_SIZE];
	pthread_t thread;
	uint16_t port;
	int fd = listen_plain(&port);

	assert_int_equal(pthread_create(&thread, NULL, serve_short, &fd), 0);
	assert_int_equal(dt_oob_ask("127.0.0.1", port,
				    dt_deadline(20 * DT_NS_PER_S), msg),
			 -ECONNRESET);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(fd);
}

CASE(ask__silent_server_times_out)
{
	uint8_t msg[DT_OOB_SIZE];
	uint16_t port;
	int fd = listen_plain(&port);
	uint64_t start = dt_now_ns();

	assert_int_equal(dt_oob_ask("127.0.0.1", port,
				    dt_deadline(200 * DT_NS_PER_MS), msg),
			 -ETIMEDOUT);
	assert_in_range(dt_now_ns() - start, 200 * DT_NS_PER_MS,
			20 * DT_NS_PER_S);
	close(fd);
}

CASE(ask__nobody_listens)
{
	uint8_t msg[DT_OOB_SIZE];
	uint16_t port;
	int fd = listen_plain(&port);

	close(fd);
	assert_int_equal(dt_oob_ask("127.0.0.1", port,
				    dt_deadline(250 * DT_NS_PER_MS), msg),
			 -ETIMEDOUT);
}

CASE(answer__nobody_comes)
{
	struct server s = {.deadline = dt_deadline(100 * DT_NS_PER_MS)};

	assert_int_equal(dt_oob_listen(0, s.fds), 0);
	assert_int_equal(dt_oob_answer(s.fds, s.msg, s.deadline), -ETIMEDOUT);
	assert_int_equal(s.fds[0], -1);
}

struct asker {
	uint16_t port;
	uint8_t msg[DT_OOB_SIZE];
	int rc;
};

static void *ask(void *arg)
{
	struct asker *a = arg;

	a->rc = dt_oob_ask("127.0.0.1", a->port, dt_deadline(20 * DT_NS_PER_S),
			   a->msg);
	return NULL;
}

CASE(try_answer__keeps_listening_until_somebody_comes)
{
	uint64_t deadline = dt_deadline(20 * DT_NS_PER_S);
	uint8_t msg[DT_OOB_SIZE] = "hello";
	int fds[DT_OOB_SOCKETS], rc;
	struct asker a = {.rc = -1};
	pthread_t thread;

	assert_int_equal(dt_oob_listen(0, fds), 0);
	assert_int_equal(dt_oob_try_answer(fds, msg), -EAGAIN);
	assert_in_range(fds[0], 0, INT32_MAX);
	a.port = port_of(fds[0]);
	assert_int_equal(pthread_create(&thread, NULL, ask, &a), 0);
	do {
		struct pollfd pfd = {.fd = fds[0], .events = POLLIN};

		poll(&pfd, 1, 100);
		rc = dt_oob_try_answer(fds, msg);
	} while (rc == -EAGAIN && dt_left_ns(deadline));
	assert_in_range(rc, 0, INT32_MAX);
	assert_int_equal(fds[0], -1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_in_range(a.rc, 0, INT32_MAX);
	assert_memory_equal(a.msg, msg, DT_OOB_SIZE);
	close(a.rc);
	close(rc);
}

/* Those that came while another was answered are answered too. */
CASE(answer_next__all_that_wait)
{
	uint64_t deadline = dt_deadline(20 * DT_NS_PER_S);
	uint8_t msg[DT_OOB_SIZE] = "hello";
	struct sockaddr_in in = {.sin_family = AF_INET};
	int fds[DT_OOB_SOCKETS], client[3], fd;
	uint8_t got[DT_OOB_SIZE];

	assert_int_equal(dt_oob_listen(0, fds), 0);
	in.sin_port = htons(port_of(fds[0]));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 3; i++) {
		client[i] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(
			connect(client[i], (struct sockaddr *)&in, sizeof(in)),
			0);
	}
	for (int i = 0; i < 3; i++) {
		fd = dt_oob_answer_next(fds, msg, deadline);
		assert_in_range(fd, 0, INT32_MAX);
		close(fd);
	}
	assert_int_equal(dt_oob_answer_next(fds, msg, dt_deadline(0)),
			 -ETIMEDOUT);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(recv(client[i], got, sizeof(got), MSG_WAITALL),
				 DT_OOB_SIZE);
		assert_memory_equal(got, msg, DT_OOB_SIZE);
		close(client[i]);
	}
	dt_oob_close(fds);
}

/* A server that listens to its client: message, word, silence, nonsense. */
CASE(hear__what_a_client_tells)
{
	static const struct {
		const char *sends;
		size_t length;
		enum dt_oob_word word;
	} rows[] = {
		{"", 0, DT_OOB_NOTHING},
		{"N", 1, DT_OOB_MISMATCH},
		{"E", 1, DT_OOB_GAVE_UP},
		{"NE", 2, DT_OOB_MISMATCH},
	};
	uint8_t msg[DT_OOB_SIZE], got[DT_OOB_SIZE];
	enum dt_oob_word word;
	int fd[2];

	for (int i = 0; i < DT_OOB_SIZE; i++)
		msg[i] = (uint8_t)(i + 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(dt_oob_hear(fd[1], dt_deadline(0), got, &word),
			 -ETIMEDOUT);
	assert_int_equal(word, DT_OOB_NOTHING);
	assert_int_equal(dt_oob_tell(fd[0], msg), 0);
	assert_int_equal(
		dt_oob_hear(fd[1], dt_deadline(DT_NS_PER_S), got, &word), 0);
	assert_int_equal(word, DT_OOB_NOTHING);
	assert_memory_equal(got, msg, DT_OOB_SIZE);
	close(fd[1]);
	assert_int_equal(dt_oob_tell(fd[0], msg), -EPIPE);
	close(fd[0]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
		assert_int_equal(send(fd[0], rows[i].sends, rows[i].length, 0),
				 rows[i].length);
		close(fd[0]);
		assert_int_equal(dt_oob_hear(fd[1], dt_deadline(DT_NS_PER_S),
					     got, &word),
				 -ECONNRESET);
		assert_int_equal(word, rows[i].word);
		close(fd[1]);
	}
}

CASE(await_end__whatever_comes_before)
{
	uint8_t msg[DT_OOB_SIZE] = {0};
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(dt_oob_await_end(fd[1], dt_deadline(0)), -ETIMEDOUT);
	assert_int_equal(dt_oob_tell(fd[0], msg), 0);
	dt_oob_decline(fd[0], DT_OOB_GAVE_UP);
	assert_int_equal(dt_oob_await_end(fd[1], dt_deadline(DT_NS_PER_MS)),
			 -ETIMEDOUT);
	assert_int_equal(dt_oob_tell(fd[0], msg), 0);
	close(fd[0]);
	assert_int_equal(dt_oob_await_end(fd[1], dt_deadline(DT_NS_PER_S)), 0);
	close(fd[1]);
}

CASE(listen__port_taken)
{
	int one[DT_OOB_SOCKETS], two[DT_OOB_SOCKETS] = {-1, -1};

	assert_int_equal(dt_oob_listen(0, one), 0);
	assert_int_equal(dt_oob_listen(port_of(one[0]), two), -EADDRINUSE);
	for (int i = 0; i < DT_OOB_SOCKETS; i++)
		if (one[i] >= 0)
			close(one[i]);
}

RUN_CASES(NULL, NULL)
