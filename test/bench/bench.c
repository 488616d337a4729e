/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench.c - what the measuring programs share; see the header.
 */
#include "test/bench/bench.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *program = "bench";

void bench_name(const char *name)
{
	program = name;
}

/* Not exit(): an adapter in the middle of something may have no end. */
void bench_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	/* Of two threads that die the first says why, in one piece. */
	flockfile(stderr);
	fprintf(stderr, "%s: ", program);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(1);
}

static void on_alarm(int sig)
{
	static const char text[] = "no end within its time\n";

	(void)sig;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(4);
}

void bench_alarm(unsigned int seconds)
{
	signal(SIGALRM, on_alarm);
	alarm(seconds);
}

void bench_need(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	bench_die("%s: %s %s", call, major, minor);
}

int64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int bench_number(const char *text, int min, int max)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max) {
		fprintf(stderr, "%s: '%s' is not a number from %d to %d\n",
			program, text, min, max);
		exit(2);
	}
	return (int)v;
}

/* ------------------------------------------------------ the other side */

void bench_tell(int fd, const void *buf, size_t size)
{
	if (send(fd, buf, size, MSG_NOSIGNAL) != (ssize_t)size)
		bench_die("the other side is gone");
}

void bench_hear(int fd, void *buf, size_t size)
{
	if (recv(fd, buf, size, MSG_WAITALL) != (ssize_t)size)
		bench_die("the other side is gone");
}

/* Both get here before either goes on. */
void bench_meet(int fd)
{
	char c = 'm';

	bench_tell(fd, &c, 1);
	bench_hear(fd, &c, 1);
}

/* --------------------------------------------------- to a connection */

static DAT_EVD_HANDLE evd_make(const struct bench_ia *a, int events,
			       DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	bench_need(dat_evd_create(a->ia, events, DAT_HANDLE_NULL, flags, &evd),
		   "dat_evd_create");
	return evd;
}

void bench_ia_open(struct bench_ia *ret_a, const char *name, int events)
{
	DAT_IA_ATTR attr;

	memset(ret_a, 0, sizeof(*ret_a));
	ret_a->async = DAT_HANDLE_NULL;
	bench_need(
		dat_ia_open((DAT_NAME_PTR)name, 8, &ret_a->async, &ret_a->ia),
		"dat_ia_open");
	bench_need(dat_ia_query(ret_a->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
				&attr, 0, NULL),
		   "dat_ia_query");
	memcpy(ret_a->addr.b, attr.ia_address_ptr, ADDR_SIZE);
	bench_need(dat_pz_create(ret_a->ia, &ret_a->pz), "dat_pz_create");
	ret_a->conn = evd_make(ret_a, events, DAT_EVD_CONNECTION_FLAG);
	ret_a->cr = evd_make(ret_a, events, DAT_EVD_CR_FLAG);
}

void bench_ia_close(struct bench_ia *a)
{
	dat_ia_close(a->ia, DAT_CLOSE_ABRUPT_FLAG);
}

DAT_EVD_HANDLE bench_dto_evd(const struct bench_ia *a, int events)
{
	return evd_make(a, events, DAT_EVD_DTO_FLAG);
}

DAT_EP_HANDLE bench_ep(const struct bench_ia *a, DAT_EVD_HANDLE rcv,
		       DAT_EVD_HANDLE req, int recvs, int requests,
		       uint32_t bytes)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = bytes,
		.max_rdma_size = bytes,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = recvs,
		.max_request_dtos = requests,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	bench_need(dat_ep_create(a->ia, a->pz, rcv, req, a->conn, &attr, &ep),
		   "dat_ep_create");
	return ep;
}

DAT_PSP_HANDLE bench_listen(const struct bench_ia *a, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

	bench_need(
		dat_psp_create(a->ia, qual, a->cr, DAT_PSP_CONSUMER_FLAG, &psp),
		"dat_psp_create");
	return psp;
}

void bench_connect(DAT_EP_HANDLE ep, const void *addr, DAT_CONN_QUAL qual)
{
	bench_need(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)addr, qual,
				  PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
}

void bench_accept(const DAT_EVENT *request, DAT_EP_HANDLE ep)
{
	bench_need(dat_cr_accept(
			   request->event_data.cr_arrival_event_data.cr_handle,
			   ep, 0, NULL),
		   "dat_cr_accept");
}

void bench_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
		 DAT_EVENT *ret_event)
{
	DAT_COUNT more;

	bench_need(dat_evd_wait(evd, PATIENCE_US, 1, ret_event, &more),
		   "dat_evd_wait");
	if (ret_event->event_number != number)
		bench_die("event 0x%x in place of 0x%x",
			  (unsigned int)ret_event->event_number,
			  (unsigned int)number);
}
