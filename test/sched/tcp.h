/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tcp.h - a small TCP of one host, inside the run, in place of the kernel's.
 *
 * A socket is an eventfd, whose count makes epoll say what is true of the
 * socket. What is sent is on its way until the wire, a thread of the run,
 * carries it: the seed decides when, in pieces of which size, and which stream
 * is next. The end of a stream and a reset go the same way, behind what was
 * sent before.
 *
 * As Linux has it: a listener takes whoever comes, and resets at its end those
 * that it has not accepted; where nobody listens a connection is refused; to
 * close with something unread is a reset, as is the answer to what comes for
 * a socket that is closed; what came before a reset can still be read. Not
 * played: more than one address, ports in time-wait, a socket that connects to
 * itself, loss that TCP repairs.
 * Threads: all is the running one's (sched.h).
 */
#ifndef SCHED_TCP_H
#define SCHED_TCP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Nothing is carried any more: who has sent something or keeps its stream alive
 * hears of it after TCP's time, who connects does not get through.
 */
void tcp_cut(void);
/* So many bytes are taken by a stream, and may wait at its end, from now on. */
void tcp_set_room(size_t bytes);
/* There is no descriptor for a socket. */
void tcp_set_full(bool full);
/* Sockets that are not closed. */
int tcp_open(void);

/* For wrap.c: FD is about to be closed, and may be a socket. */
void tcp_closes(int fd);

#endif
