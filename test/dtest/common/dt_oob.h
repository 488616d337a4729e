/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_oob.h - the rendezvous over TCP that tells a client where the server is.
 *
 * Does not negotiate and does not authenticate: the client learns an address
 * and, from tools of this project, what the server is about to run.
 * Threads: none shared. Every wait has a deadline.
 * Ownership: descriptors are the caller's to close.
 * Rule: the historic message, 128 bytes from the server, a text that ends
 * with a NUL. Behind the longest historic text there is room for 32 bytes of
 * ours; old tools send there what was on their stack and never look.
 */
#ifndef DTEST_DT_OOB_H
#define DTEST_DT_OOB_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DT_OOB_PORT    15828
#define DT_OOB_SIZE    128
#define DT_OOB_NAME    64 /* bytes of a provider name with its NUL */
#define DT_OOB_TAIL_AT 96

/* Listening sockets: IPv4, and IPv6 where the system has it (else -1). */
#define DT_OOB_SOCKETS 2

/* What the server runs; valid only if `known`. */
struct dt_oob_params {
	bool known;
	uint8_t mode;
	uint8_t flags;
	uint32_t size;
	uint32_t count;
};

struct dt_oob_info {
	/* AF_INET, or AF_INET6 (then also the shape of a LID, QPN and GID) */
	struct sockaddr_storage addr;
	char provider[DT_OOB_NAME];
	struct dt_oob_params params;
};

/*
 * The message for a server at info->addr. Returns 0, or -EAFNOSUPPORT for an
 * address that is neither kind. All 128 bytes are defined.
 */
int dt_oob_encode(const struct dt_oob_info *info, uint8_t msg[DT_OOB_SIZE]);

/*
 * Understands a message from anybody. Returns 0, -EBADMSG (not five fields,
 * or a name that is no name) or -EADDRNOTAVAIL (no usable address in it).
 */
int dt_oob_decode(const uint8_t msg[DT_OOB_SIZE], struct dt_oob_info *ret_info);

/* Opens the listening sockets. Returns 0 or a negative errno. */
int dt_oob_listen(uint16_t port, int ret_fds[DT_OOB_SOCKETS]);

void dt_oob_close(int fds[DT_OOB_SOCKETS]);

/*
 * Waits for one client, sends it the message and closes the listeners.
 * Returns the connection, or -ETIMEDOUT, -EINTR, another negative errno.
 */
int dt_oob_answer(int fds[DT_OOB_SOCKETS], const uint8_t msg[DT_OOB_SIZE],
		  uint64_t deadline);

/* The same without waiting; -EAGAIN: nobody came, the listeners stay open. */
int dt_oob_try_answer(int fds[DT_OOB_SOCKETS], const uint8_t msg[DT_OOB_SIZE]);

/*
 * Waits for one client of many, and sends it the message: the listeners stay
 * open, whatever comes, for who closes them ends all that wait there. Returns
 * as dt_oob_answer() does.
 */
int dt_oob_answer_next(int fds[DT_OOB_SOCKETS], const uint8_t msg[DT_OOB_SIZE],
		       uint64_t deadline);

/*
 * Connects to the server, again and again until the deadline, and reads the
 * message. Returns the connection, or -ETIMEDOUT, -EINTR, -EHOSTUNREACH (no
 * such name), -ECONNRESET (closed before the message was whole).
 */
int dt_oob_ask(const char *host, uint16_t port, uint64_t deadline,
	       uint8_t ret_msg[DT_OOB_SIZE]);

/*
 * A client that will not connect after all tells so, and a server can see it.
 * Old tools neither send nor look; they find out by waiting.
 */
enum dt_oob_word {
	DT_OOB_NOTHING = 0,
	DT_OOB_MISMATCH = 'N', /* it runs another test than the server */
	DT_OOB_GAVE_UP = 'E',  /* something else is wrong there */
};

void dt_oob_decline(int fd, enum dt_oob_word why);
enum dt_oob_word dt_oob_declined(int fd);

/*
 * The client's own message, where the server wants one: sent without waiting
 * (0 or a negative errno), and read (0, -ETIMEDOUT, -EINTR, -ECONNRESET). One
 * that declines instead leaves -ECONNRESET and its word.
 */
int dt_oob_tell(int fd, const uint8_t msg[DT_OOB_SIZE]);
int dt_oob_hear(int fd, uint64_t deadline, uint8_t ret_msg[DT_OOB_SIZE],
		enum dt_oob_word *ret_word);

/*
 * Waits until the other side closes the connection, as old tools do by ending.
 * Returns 0, -ETIMEDOUT or -EINTR.
 */
int dt_oob_await_end(int fd, uint64_t deadline);

#endif /* DTEST_DT_OOB_H */
