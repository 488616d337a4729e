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

#define T(name) static void name(struct conf *c)

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

T(evd_wait__timeout_0_polls)
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

T(evd_wait__timeout_software)
{
	times_out(software(c));
}

T(evd_wait__timeout_dto)
{
	times_out(c->a.recv_evd);
}

T(evd_wait__timeout_connection)
{
	times_out(c->a.conn_evd);
}

/* The whole value: an old program compares it. */
T(evd_wait__timeout_dto_has_no_class)
{
	DAT_COUNT more;

	EXPECT_EQ(wait_for(c->a.recv_evd, 0, 1, &more), DAT_TIMEOUT_EXPIRED);
}

T(evd_wait__nmore_counts_what_is_left)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_COUNT more = -1;

	for (int i = 0; i < 3; i++)
		EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_OK(wait_for(evd, 0, 1, &more));
	EXPECT_EQ(more, 2);
}

T(evd_wait__nmore_after_timeout)
{
	DAT_EVD_HANDLE evd = software(c);
	DAT_COUNT more = -1;

	EXPECT_OK(conf_post_se(evd, NULL));
	EXPECT_TYPE(wait_for(evd, SHORT, 2, &more), DAT_TIMEOUT_EXPIRED);
	EXPECT_EQ(more, 1);
}

T(evd_wait__threshold)
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

T(evd_wait__woken_by_event)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
	EXPECT_OK(w.ret);
}

T(evd_wait__disabled_still_waits)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	EXPECT_OK(dat_evd_disable(evd));
	start(&w, evd, 1);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
	EXPECT_OK(w.ret);
}

T(evd_wait__second_waiter)
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

T(evd_resize__thread_waits)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_TYPE(dat_evd_resize(evd, 64), DAT_INVALID_STATE);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
}

T(evd_free__thread_waits)
{
	DAT_EVD_HANDLE evd = software(c);
	struct conf_waiter w;

	start(&w, evd, 1);
	EXPECT_TYPE(dat_evd_free(evd), DAT_INVALID_STATE);
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_woken(&w);
	EXPECT_OK(dat_evd_free(evd));
}

T(evd_wait__unwaitable_at_entry)
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

T(evd_wait__made_unwaitable_software)
{
	made_unwaitable(software(c));
}

T(evd_wait__made_unwaitable_dto)
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

T(evd_wait__ia_closed_software)
{
	aborted(c, software(c));
}

T(evd_wait__ia_closed_dto)
{
	aborted(c, c->a.recv_evd);
}

T(evd_wait__ia_closed_async)
{
	aborted(c, c->a.async_evd);
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

T(evd_wait__signal_software)
{
	interrupted(software(c));
}

T(evd_wait__signal_dto)
{
	interrupted(c->a.recv_evd);
}

T(evd_wait__takes_what_dto_brought)
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

#define WAIT(x) CASE(evd_wait__##x, "4 dat_evd_wait", NEED_IA)

const struct conf_case cases_evd_wait[] = {
	WAIT(timeout_0_polls),
	WAIT(timeout_software),
	WAIT(timeout_dto),
	WAIT(timeout_connection),
	WAIT(timeout_dto_has_no_class),
	WAIT(nmore_counts_what_is_left),
	WAIT(nmore_after_timeout),
	WAIT(threshold),
	WAIT(woken_by_event),
	WAIT(disabled_still_waits),
	WAIT(second_waiter),
	CASE(evd_resize__thread_waits, "4 dat_evd_resize", NEED_IA),
	CASE(evd_free__thread_waits, "4 dat_evd_free", NEED_IA),
	WAIT(unwaitable_at_entry),
	WAIT(made_unwaitable_software),
	WAIT(made_unwaitable_dto),
	WAIT(ia_closed_software),
	WAIT(ia_closed_dto),
	WAIT(ia_closed_async),
	WAIT(signal_software),
	WAIT(signal_dto),
	CASE(evd_wait__takes_what_dto_brought, "4 dat_evd_wait",
	     NEED_CONNECTED),
	{0},
};
