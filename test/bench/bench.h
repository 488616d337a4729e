/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench.h - what the measuring programs share: dying with a reason, clocks,
 * two sides that meet over a socket pair, and the steps to a connected
 * endpoint. Public calls only, so that they run on any libdat2.
 *
 * Every wait but a measured one ends within PATIENCE_US, and bench_alarm() ends
 * the program.
 * Threads: any; nothing here has state but the program's name.
 */
#ifndef BENCH_H
#define BENCH_H

#include <dat2/udat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATIENCE_US 60000000
#define ADDR_SIZE   28 /* the longest address of any provider: sockaddr_in6 */

/* Both before anything else, on the first thread. */
void bench_name(const char *name);
void bench_alarm(unsigned int seconds);

_Noreturn void bench_die(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), cold));
void bench_need(DAT_RETURN ret, const char *call);

int64_t bench_now_ns(void);
int bench_number(const char *text, int min, int max);

/* Over a socket; the other side gone is a reason to die. */
void bench_tell(int fd, const void *buf, size_t size);
void bench_hear(int fd, void *buf, size_t size);
void bench_meet(int fd);

struct bench_ia {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, conn, cr;
	union {
		struct sockaddr sa;
		uint8_t b[ADDR_SIZE];
	} addr;
};

/* NAME of dat.conf; its two EVDs of connections hold EVENTS. */
void bench_ia_open(struct bench_ia *ret_a, const char *name, int events);
void bench_ia_close(struct bench_ia *a);
DAT_EVD_HANDLE bench_dto_evd(const struct bench_ia *a, int events);
DAT_EP_HANDLE bench_ep(const struct bench_ia *a, DAT_EVD_HANDLE rcv,
		       DAT_EVD_HANDLE req, int recvs, int requests,
		       uint32_t bytes);
DAT_PSP_HANDLE bench_listen(const struct bench_ia *a, DAT_CONN_QUAL qual);
void bench_connect(DAT_EP_HANDLE ep, const void *addr, DAT_CONN_QUAL qual);
void bench_accept(const DAT_EVENT *request, DAT_EP_HANDLE ep);
/* The next event, which must be that one. */
void bench_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
		 DAT_EVENT *ret_event);

#endif
