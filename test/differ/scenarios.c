/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scenarios.c - scenarios ADAPTER QUALIFIER: what programs do to a library
 * with threads, signals and flags that no walk has, and once broke: each a part
 * that prints what its calls answer.
 *
 * Knows the public API only and judges nothing. Threads: one that waits, and
 * is cancelled; whether it sleeps by then makes no difference where it is
 * cancelled at certain points only.
 */
#include "test/differ/parts.h"

#include <dat2/dat_ib_extensions.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PART_SECONDS 10
#define STOPPED_US   1500000 /* a wait that is stopped and goes on */

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd;

static void open_ia(void)
{
	must("dat_ia_open",
	     dat_ia_open((char *)(uintptr_t)adapter, 8, &async_evd, &ia));
}

static DAT_EVD_HANDLE new_evd(unsigned flags, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	must("dat_evd_create",
	     dat_evd_create(ia, 16, cno, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

/* Endpoints of one EVD whose directions disagree on what notifies. */
static void mixed_flags(void)
{
	static const unsigned flags[][2] = {
		{DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG},
		{DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		 DAT_COMPLETION_DEFAULT_FLAG},
		{DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		 DAT_COMPLETION_UNSIGNALLED_FLAG},
	};
	DAT_EVD_HANDLE dto, conn;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;

	open_ia();
	must("dat_pz_create", dat_pz_create(ia, &pz));
	dto = new_evd(DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	conn = new_evd(DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		memset(&attr, 0, sizeof(attr));
		attr.max_message_size = attr.max_rdma_size = 4096;
		attr.max_recv_dtos = attr.max_request_dtos = 4;
		attr.max_recv_iov = attr.max_request_iov = 1;
		attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)flags[i][0];
		attr.request_completion_flags =
			(DAT_COMPLETION_FLAGS)flags[i][1];
		answer("dat_ep_create",
		       dat_ep_create(ia, pz, dto, dto, conn, &attr, &ep));
	}
}

/* One that waits for ever: an EVD, or the CNO. */
struct waiter {
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	bool anywhere; /* lets itself be cancelled at any time */
	pid_t tid;
};

static void *waits(void *arg)
{
	struct waiter *w = arg;
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;
	DAT_RETURN ret;
	DAT_EVENT ev;

	__atomic_store_n(&w->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (w->anywhere)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	ret = w->cno ? dat_cno_wait(w->cno, DAT_TIMEOUT_INFINITE, &evd)
		     : dat_evd_wait(w->evd, DAT_TIMEOUT_INFINITE, 1, &ev,
				    &more);
	/* Who ends while it prints leaves the stream locked. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	answer(w->cno ? "dat_cno_wait" : "dat_evd_wait", ret);
	return NULL;
}

/* Until the process, or thread, is in that state: there is no event to wait
 * for. */
static void until(pid_t pid, char state)
{
	static const struct timespec tick = {.tv_nsec = 10000000};
	char name[64], now = 0;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	while (now != state) {
		FILE *f = fopen(name, "r");

		if (!f)
			_exit(1);
		if (fscanf(f, "%*d (%*[^)]) %c", &now) != 1)
			now = 0;
		fclose(f);
		nanosleep(&tick, NULL);
	}
}

static void cancel(struct waiter *w)
{
	pid_t tid = 0;
	void *result = NULL;
	pthread_t thread;

	if (pthread_create(&thread, NULL, waits, w) != 0)
		exit(2);
	/* At any time is not before the wait. */
	while (w->anywhere && !tid)
		tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);
	if (tid)
		until(tid, 'S');
	pthread_cancel(thread);
	pthread_join(thread, &result);
	say("thread", result == PTHREAD_CANCELED ? "cancelled" : "ended");
}

/* After each the object is there for the next who waits. */
static void cancel_twice(struct waiter w)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++) {
		cancel(&w);
		if (w.cno)
			answer("dat_cno_wait then",
			       dat_cno_wait(w.cno, 0, &evd));
		else
			answer("dat_evd_wait then",
			       dat_evd_wait(w.evd, 0, 1, &ev, &more));
	}
	if (w.cno)
		answer("dat_cno_free", dat_cno_free(w.cno));
	else
		answer("dat_evd_free", dat_evd_free(w.evd));
	answer("dat_ia_close", dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void cancelled_transfers(void)
{
	open_ia();
	cancel_twice((struct waiter){
		.evd = new_evd(DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL)});
}

static void cancelled_connections(void)
{
	open_ia();
	cancel_twice((struct waiter){
		.evd = new_evd(DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL)});
}

static void cancelled_cno(void)
{
	struct waiter w = {0};

	open_ia();
	must("dat_cno_create",
	     dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &w.cno));
	cancel_twice(w);
}

/* The one who waits for requests is cancelled, and all is taken down. */
static void end_listener(struct waiter w, DAT_CONN_QUAL at)
{
	DAT_PSP_HANDLE psp;

	open_ia();
	w.evd = new_evd(DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	must("dat_psp_create",
	     dat_psp_create(ia, at, w.evd, DAT_PSP_CONSUMER_FLAG, &psp));
	cancel(&w);
	answer("dat_psp_free", dat_psp_free(psp));
	answer("dat_evd_free", dat_evd_free(w.evd));
	answer("dat_ia_close", dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void cancelled_listener(void)
{
	end_listener((struct waiter){0}, qual);
}

static void cancelled_anywhere(void)
{
	end_listener((struct waiter){.anywhere = true}, qual + 1);
}

static pid_t stop_when_asleep(void)
{
	pid_t me = getpid(), child;

	fflush(stdout);
	child = fork();
	if (child != 0)
		return child;
	alarm(PART_SECONDS);
	until(me, 'S');
	kill(me, SIGSTOP);
	until(me, 'T');
	kill(me, SIGCONT);
	_exit(0);
}

/* No handler runs: who waits has nothing to hear of. */
static void stopped(void)
{
	DAT_EVD_HANDLE evd, dto;
	DAT_CNO_HANDLE cno;
	DAT_COUNT more;
	DAT_EVENT ev;
	pid_t child;

	open_ia();
	must("dat_cno_create",
	     dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	child = stop_when_asleep();
	answer("dat_cno_wait", dat_cno_wait(cno, STOPPED_US, &evd));
	waitpid(child, NULL, 0);
	dto = new_evd(DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	child = stop_when_asleep();
	answer("dat_evd_wait", dat_evd_wait(dto, STOPPED_US, 1, &ev, &more));
	waitpid(child, NULL, 0);
}

static void open_query(void)
{
	DAT_HANDLE query = DAT_HANDLE_NULL;
	DAT_IA_ATTR attr;

	open_ia();
	memset(&attr, 0, sizeof(attr));
	must("dat_ib_open_query",
	     dat_ib_open_query((char *)(uintptr_t)adapter, &query,
			       DAT_IA_FIELD_ALL, &attr, 0, NULL));
	say("adapter_name", "%s", attr.adapter_name);
	answer("dat_ib_close_query", dat_ib_close_query(query));
	answer("dat_ia_close", dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static const struct part parts[] = {
	{"mixed flags", mixed_flags},
	{"cancelled, transfers", cancelled_transfers},
	{"cancelled, connections", cancelled_connections},
	{"cancelled, CNO", cancelled_cno},
	{"cancelled listener", cancelled_listener},
	{"cancelled listener, anywhere", cancelled_anywhere},
	{"stopped", stopped},
	{"open_query", open_query},
};

int main(int argc, char **argv)
{
	return parts_main(argc, argv, parts, sizeof(parts) / sizeof(parts[0]),
			  PART_SECONDS);
}
