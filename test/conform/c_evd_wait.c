/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_evd_wait.c - cases of waiting for events.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_evd_wait; conformance.md for bare codes.
 */
#include "test/conform/conform.h"

#include <pthread.h>
#include <signal.h>

#define SHORT 50000    /* us; long enough to see that it was waited */
#define LONG  10000000 /* us; never reached */

static DAT_EVD_HANDLE software(struct conf *c)
{
	return conf_evd(&c->a, DAT_EVD_SOFTWARE_FLAG);
}

static DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
			   DAT_COUNT threshold, DAT_COUNT *more)
{
	DAT_EVENT ev;

	return dat_evd_wait(evd, timeout, threshold, &ev, more);
}

static void start(struct conf_waiter *w, DAT_EVD_HANDLE evd,
		  DAT_COUNT threshold)
{
	conf_wait(w, evd, threshold, LONG);
}

CASE(evd_wait__timeout_0_polls, "4 dat_evd_wait", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_COUNT more = -1;

	EXPECT_TYPE(wait_for(evd, 0, 1, &more), DAT_TIMEOUT_EXPIRED);
	EXPECT_EQ(more, 0);
	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_OK(wait_for(evd, 0, 1, &more));
	EXPECT_EQ(more, 0);
}

static void times_out(DAT_EVD_HANDLE evd)
{
	uint64_t begin = conf_now_us();
	DAT_COUNT more = -1;

	EXPECT_TYPE(wait_for(evd, SHORT, 1, &more), DAT_TIMEOUT_EXPIRED);
	EXPECT(conf_now_us() - begin >= SHORT);
	EXPECT_EQ(more, 0);
}

CASE(evd_wait__timeout_software, "4 dat_evd_wait", NEED_IA)
{
	times_out(software(c));
}

CASE(evd_wait__timeout_dto, "4 dat_evd_wait", NEED_IA)
{
	times_out(c->a.recv_evd);
}

CASE(evd_wait__timeout_connection, "4 dat_evd_wait", NEED_IA)
{
	times_out(c->a.conn_evd);
}

/* The whole value: an old program compares it. */
CASE(evd_wait__timeout_dto_has_no_class, "4 dat_evd_wait", NEED_IA)
{
	DAT_COUNT more;

	EXPECT_EQ(wait_for(c->a.recv_evd, 0, 1, &more), DAT_TIMEOUT_EXPIRED);
}

CASE(evd_wait__nmore_counts_what_is_left, "4 dat_evd_wait", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_COUNT more = -1;

	for (int i = 0; i < 3; i++)
		EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_OK(wait_for(evd, 0, 1, &more));
	EXPECT_EQ(more, 2);
}

CASE(evd_wait__nmore_after_timeout, "4 dat_evd_wait", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_COUNT more = -1;

	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_TYPE(wait_for(evd, SHORT, 2, &more), DAT_TIMEOUT_EXPIRED);
	EXPECT_EQ(more, 1);
}

CASE(evd_wait__threshold, "4 dat_evd_wait", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	start(&w, evd, 3);
	for (int i = 0; i < 3; i++)
		EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
	EXPECT_OK(w.ret);
	EXPECT_EQ(w.more, 2);
}

CASE(evd_wait__woken_by_event, "4 dat_evd_wait", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
	EXPECT_OK(w.ret);
}

CASE(evd_wait__disabled_still_waits, "4 dat_evd_wait", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	EXPECT_OK(dat_evd_disable(evd));
	start(&w, evd, 1);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
	EXPECT_OK(w.ret);
}

CASE(evd_wait__second_waiter, "4 dat_evd_wait", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_COUNT more;
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_TYPE(wait_for(evd, 0, 1, &more), DAT_INVALID_STATE);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
	EXPECT_OK(w.ret);
}

CASE(evd_resize__thread_waits, "4 dat_evd_resize", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_TYPE(dat_evd_resize(evd, 64), DAT_INVALID_STATE);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
}

CASE(evd_free__thread_waits, "4 dat_evd_free", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_TYPE(dat_evd_free(evd), DAT_INVALID_STATE);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
	EXPECT_OK(dat_evd_free(evd));
}

CASE(evd_wait__unwaitable_at_entry, "4 dat_evd_wait", NEED_IA)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_COUNT more;

	EXPECT_OK(dat_evd_set_unwaitable(evd));
	EXPECT_OK(conf_post_se(evd, NULL));
	BAD_STATE(wait_for(evd, 0, 1, &more), EVD_UNWAITABLE);
	EXPECT_OK(dat_evd_clear_unwaitable(evd));
	EXPECT_OK(wait_for(evd, 0, 1, &more));
}

static void made_unwaitable(DAT_EVD_HANDLE evd)
{
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_OK(dat_evd_set_unwaitable(evd));
	conf_woken(&w);
	EXPECT_TYPE(w.ret, DAT_INVALID_STATE);
}

CASE(evd_wait__made_unwaitable_software, "4 dat_evd_wait", NEED_IA)
{
	made_unwaitable(software(c));
}

CASE(evd_wait__made_unwaitable_dto, "4 dat_evd_wait", NEED_IA)
{
	made_unwaitable(c->a.recv_evd);
}

static void aborted(struct conf *c, DAT_EVD_HANDLE evd)
{
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_OK(dat_ia_close(c->a.ia, DAT_CLOSE_ABRUPT_FLAG));
	c->a.ia = DAT_HANDLE_NULL;
	conf_woken(&w);
	EXPECT_TYPE(w.ret, DAT_ABORT);
}

CASE(evd_wait__ia_closed_software, "4 dat_evd_wait", NEED_IA)
{
	aborted(c, software(c));
}

CASE(evd_wait__ia_closed_dto, "4 dat_evd_wait", NEED_IA)
{
	aborted(c, c->a.recv_evd);
}

CASE(evd_wait__ia_closed_async, "4 dat_evd_wait", NEED_IA)
{
	aborted(c, c->a.async_evd);
}

/* It holds nothing that others need, and what came stays for them. */
CASE(evd_wait__thread_is_cancelled, "4 dat_evd_wait", NEED_EPS)
{
	struct conf_waiter w;

	start(&w, c->a.cr_evd, 1);
	EXPECT_EQ(pthread_cancel(w.thread), 0);
	conf_woken(&w);
	conf_connect(c);
}

static void nothing(int sig)
{
}

static void interrupted(DAT_EVD_HANDLE evd)
{
	struct sigaction act = {.sa_handler = nothing};
	struct conf_waiter w;

	EXPECT_EQ(sigaction(SIGUSR1, &act, NULL), 0);
	start(&w, evd, 1);
	EXPECT_EQ(pthread_kill(w.thread, SIGUSR1), 0);
	conf_woken(&w);
	EXPECT_TYPE(w.ret, DAT_INTERRUPTED_CALL);
}

CASE(evd_wait__signal_software, "4 dat_evd_wait", NEED_IA)
{
	interrupted(software(c));
}

CASE(evd_wait__signal_dto, "4 dat_evd_wait", NEED_IA)
{
	interrupted(c->a.recv_evd);
}

CASE(evd_wait__takes_what_dto_brought, "4 dat_evd_wait", NEED_CONNECTED)
{
	DAT_COUNT more = -1;
	DAT_EVENT ev;

	for (int i = 0; i < 3; i++)
		conf_post_recv(&c->a, 64 * (size_t)i, 64, (uint64_t)i);
	for (int i = 0; i < 3; i++)
		conf_post_send(&c->b, 0, 8, (uint64_t)i);
	EXPECT_OK(dat_evd_wait(c->a.recv_evd, LONG, 3, &ev, &more));
	EXPECT_EQ(more, 2);
	EXPECT_EQ(ev.event_data.dto_completion_event_data.user_cookie.as_64, 0);
}
