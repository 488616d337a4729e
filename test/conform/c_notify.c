/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_notify.c - cases of completion flags: which events wake a waiter or
 * trigger a CNO.
 *
 * Does not look below the public interface. That an event wakes nobody is
 * shown by what comes behind it on the same connection and is over: by then it
 * would have. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, completion flags of EP attributes and posts;
 * doc/conformance.md.
 */
#include "test/conform/conform.h"

#define SHORT 50000   /* us; for nothing to come */
#define SOME  3000000 /* us; for one message to come */

#define DEFAULT	   0u
#define THRESHOLD  ((unsigned)DAT_COMPLETION_EVD_THRESHOLD_FLAG)
#define SOLICITED  ((unsigned)DAT_COMPLETION_SOLICITED_WAIT_FLAG)
#define UNSIGNALED ((unsigned)DAT_COMPLETION_UNSIGNALLED_FLAG)

static bool supported(const struct conf *c, unsigned flags)
{
	unsigned all = (unsigned)c->prov_attr.completion_flags_supported;

	return (all & flags) == flags;
}

static void need(const struct conf *c, unsigned flags)
{
	if (!supported(c, flags & UNSIGNALED))
		conf_skip("every completion notifies, UNSIGNALLED or not");
	if (!supported(c, flags & SOLICITED))
		conf_skip("the adapter cannot tell solicited messages apart");
}

static DAT_EP_ATTR attr_with(struct conf_side *s, unsigned recv,
			     unsigned request)
{
	DAT_EP_ATTR attr = conf_ep_attr(s);

	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv;
	attr.request_completion_flags = (DAT_COMPLETION_FLAGS)request;
	return attr;
}

static DAT_RETURN create(struct conf_side *s, unsigned recv, unsigned request,
			 DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = attr_with(s, recv, request);

	return dat_ep_create(s->ia, s->pz, s->recv_evd, s->req_evd, s->conn_evd,
			     &attr, ep);
}

/* Receives of a and requests of b with these flags; connected. */
static void connect_with(struct conf *c, unsigned recv, unsigned request)
{
	need(c, recv | request);
	EXPECT_OK(create(&c->a, recv, DEFAULT, &c->a.ep));
	EXPECT_OK(create(&c->b, DEFAULT, request, &c->b.ep));
	conf_connect(c);
}

static void post_recv(struct conf_side *s, uint64_t cookie, unsigned flags)
{
	DAT_LMR_TRIPLET seg = conf_seg(s, 64 * cookie, 64);

	EXPECT_OK(dat_ep_post_recv(s->ep, 1, &seg, conf_cookie(cookie),
				   (DAT_COMPLETION_FLAGS)flags));
}

static void post_send(struct conf_side *s, uint64_t cookie, unsigned flags)
{
	DAT_LMR_TRIPLET seg = conf_seg(s, 0, 8);

	EXPECT_OK(dat_ep_post_send(s->ep, 1, &seg, conf_cookie(cookie),
				   (DAT_COMPLETION_FLAGS)flags));
}

/* When b has read, what it sent before is complete at a. */
static void read_behind(struct conf *c, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 8192, 8);
	DAT_RMR_TRIPLET from = conf_target(&c->a, 8192, 8);

	EXPECT_OK(dat_ep_post_rdma_read(c->b.ep, 1, &seg, conf_cookie(cookie),
					&from, DAT_COMPLETION_DEFAULT_FLAG));
	conf_dto(c->b.req_evd, cookie, DAT_DTO_SUCCESS);
}

/* When b has a's answer to N messages, what it sent is complete at b. */
static void answer_behind(struct conf *c, uint64_t n)
{
	post_recv(&c->b, 40, DEFAULT);
	for (uint64_t i = 0; i < n; i++)
		conf_event(c->a.recv_evd, DAT_DTO_COMPLETION_EVENT);
	post_send(&c->a, 41, DEFAULT);
	conf_dto(c->a.req_evd, 41, DAT_DTO_SUCCESS);
	conf_dto(c->b.recv_evd, 40, DAT_DTO_SUCCESS);
}

static void expect_woken(struct conf_waiter *w, uint64_t cookie, DAT_COUNT more)
{
	conf_woken(w);
	EXPECT_OK(w->ret);
	EXPECT_EQ(w->ev.event_number, DAT_DTO_COMPLETION_EVENT);
	EXPECT_EQ(w->ev.event_data.dto_completion_event_data.user_cookie.as_64,
		  cookie);
	EXPECT_EQ(w->more, more);
}

static unsigned config_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	EXPECT_OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	return (unsigned)param.evd_state & DAT_EVD_STATE_CONFIG_THRESHOLD;
}

/* --------------------------------------------------- state */

CASE(evd_query__config_of_its_endpoints, "15.2 completion flags", NEED_BOTH)
{
	static const struct {
		unsigned recv, request, recv_config, request_config;
	} rows[] = {
		{DEFAULT, DEFAULT, 0x30, 0x30},
		{THRESHOLD, THRESHOLD, 0x30, 0x30},
		{SOLICITED, DEFAULT, 0x20, 0x30},
		{DEFAULT, UNSIGNALED, 0x30, 0x10},
		{UNSIGNALED, THRESHOLD, 0x10, 0x30},
		{SOLICITED | UNSIGNALED, UNSIGNALED, 0x20, 0x10},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!supported(c, rows[i].recv | rows[i].request))
			continue;
		EXPECT_OK(
			create(&c->a, rows[i].recv, rows[i].request, &c->a.ep));
		EXPECT_EQ(config_of(c->a.recv_evd), rows[i].recv_config);
		EXPECT_EQ(config_of(c->a.req_evd), rows[i].request_config);
		EXPECT_OK(dat_ep_free(c->a.ep));
		EXPECT_EQ(config_of(c->a.recv_evd), 0);
	}
}

/* Endpoints that share a queue want different things: every event notifies. */
CASE(ep_create__completion_flags_disagree, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;
	DAT_EP_HANDLE ep;

	need(c, UNSIGNALED);
	connect_with(c, DEFAULT, UNSIGNALED);
	EXPECT_OK(create(&c->b, DEFAULT, DEFAULT, &ep));
	EXPECT_EQ(config_of(c->b.req_evd), 0x30);
	post_recv(&c->a, 0, DEFAULT);
	conf_wait(&w, c->b.req_evd, 1, CONF_PATIENCE);
	post_send(&c->b, 1, UNSIGNALED);
	expect_woken(&w, 1, 0);
	EXPECT_OK(dat_ep_free(ep));
	EXPECT_EQ(config_of(c->b.req_evd), 0x10);
}

/* As MPI libraries make their endpoints. */
CASE(ep_create__one_evd_completion_flags_disagree, "15.2 completion flags",
     NEED_BOTH)
{
	DAT_EP_ATTR attr = attr_with(&c->b, DEFAULT, UNSIGNALED);
	struct conf_waiter w;

	c->b.recv_evd = c->b.req_evd;
	EXPECT_OK(create(&c->a, DEFAULT, DEFAULT, &c->a.ep));
	EXPECT_OK(dat_ep_create(c->b.ia, c->b.pz, c->b.recv_evd, c->b.req_evd,
				c->b.conn_evd, &attr, &c->b.ep));
	conf_connect(c);
	post_recv(&c->a, 0, DEFAULT);
	post_recv(&c->b, 1, DEFAULT);
	conf_wait(&w, c->b.req_evd, 1, CONF_PATIENCE);
	post_send(&c->b, 2, DEFAULT);
	expect_woken(&w, 2, 0);
	conf_wait(&w, c->b.recv_evd, 1, CONF_PATIENCE);
	post_send(&c->a, 3, DEFAULT);
	expect_woken(&w, 1, 0);
}

CASE(ep_create__solicited_on_a_shared_evd, "15.2 completion flags", NEED_BOTH)
{
	DAT_EP_ATTR attr = attr_with(&c->a, SOLICITED, DEFAULT);
	DAT_EVD_HANDLE evd =
		conf_evd(&c->a, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);

	need(c, SOLICITED);
	EXPECT_OK(dat_ep_create(c->a.ia, c->a.pz, evd, c->a.req_evd,
				c->a.conn_evd, &attr, &c->a.ep));
	EXPECT_EQ(config_of(evd), 0x30);
	EXPECT_OK(dat_ep_free(c->a.ep));
	c->a.ep = DAT_HANDLE_NULL;
	EXPECT_OK(dat_evd_free(evd));
}

CASE(ep_modify__completion_flags, "15.2 completion flags", NEED_BOTH)
{
	DAT_EP_PARAM param = {0};

	need(c, UNSIGNALED);
	EXPECT_OK(create(&c->a, DEFAULT, DEFAULT, &c->a.ep));
	param.ep_attr.request_completion_flags =
		(DAT_COMPLETION_FLAGS)UNSIGNALED;
	EXPECT_OK(dat_ep_modify(c->a.ep,
				DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
				&param));
	EXPECT_EQ(config_of(c->a.req_evd), 0x10);
}

CASE(evd_wait__threshold_of_a_selective_evd, "15.2 completion flags", NEED_BOTH)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	need(c, SOLICITED | UNSIGNALED);
	EXPECT_OK(create(&c->a, SOLICITED, UNSIGNALED, &c->a.ep));
	BAD_STATE(dat_evd_wait(c->a.recv_evd, 0, 2, &ev, &more),
		  EVD_CONFIG_SOLICITED);
	BAD_STATE(dat_evd_wait(c->a.req_evd, 0, 2, &ev, &more),
		  EVD_CONFIG_NOTIFY);
	EXPECT_TYPE(dat_evd_wait(c->a.recv_evd, 0, 1, &ev, &more),
		    DAT_TIMEOUT_EXPIRED);
}

/* ------------------------------------------------- waiting */

CASE(evd_wait__unsignalled_request, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;

	connect_with(c, DEFAULT, UNSIGNALED);
	for (uint64_t i = 0; i < 3; i++)
		post_recv(&c->a, i, DEFAULT);
	conf_wait(&w, c->b.req_evd, 1, CONF_PATIENCE);
	post_send(&c->b, 1, UNSIGNALED);
	post_send(&c->b, 2, UNSIGNALED);
	answer_behind(c, 2);
	conf_still_asleep(&w);
	post_send(&c->b, 3, DEFAULT);
	expect_woken(&w, 1, 2);
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	conf_dto(c->b.req_evd, 3, DAT_DTO_SUCCESS);
}

CASE(evd_wait__unsignalled_before_the_wait, "15.2 completion flags", NEED_BOTH)
{
	connect_with(c, DEFAULT, UNSIGNALED);
	post_recv(&c->a, 0, DEFAULT);
	post_send(&c->b, 1, UNSIGNALED);
	answer_behind(c, 1);
	conf_dto(c->b.req_evd, 1, DAT_DTO_SUCCESS);
}

/* It is counted, but no reason to come back. */
CASE(evd_wait__unsignalled_until_timeout, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;

	connect_with(c, DEFAULT, UNSIGNALED);
	post_recv(&c->a, 0, DEFAULT);
	conf_wait(&w, c->b.req_evd, 1, SOME);
	post_send(&c->b, 1, UNSIGNALED);
	conf_woken(&w);
	EXPECT_TYPE(w.ret, DAT_TIMEOUT_EXPIRED);
	EXPECT_EQ(w.more, 1);
	conf_dto(c->b.req_evd, 1, DAT_DTO_SUCCESS);
}

CASE(evd_wait__unsignalled_not_configured, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;

	connect_with(c, DEFAULT, DEFAULT);
	post_recv(&c->a, 0, DEFAULT);
	conf_wait(&w, c->b.req_evd, 1, CONF_PATIENCE);
	post_send(&c->b, 1, UNSIGNALED);
	expect_woken(&w, 1, 0);
}

CASE(evd_wait__unsignalled_receive, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;

	connect_with(c, UNSIGNALED, DEFAULT);
	post_recv(&c->a, 1, UNSIGNALED);
	post_recv(&c->a, 2, DEFAULT);
	conf_wait(&w, c->a.recv_evd, 1, CONF_PATIENCE);
	conf_post_send(&c->b, 0, 8, 3);
	conf_dto(c->b.req_evd, 3, DAT_DTO_SUCCESS);
	read_behind(c, 4);
	conf_still_asleep(&w);
	conf_post_send(&c->b, 0, 8, 5);
	expect_woken(&w, 1, 1);
	conf_dto(c->a.recv_evd, 2, DAT_DTO_SUCCESS);
}

CASE(evd_wait__unsignalled_but_failed, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;

	connect_with(c, UNSIGNALED, DEFAULT);
	post_recv(&c->a, 1, UNSIGNALED);
	conf_wait(&w, c->a.recv_evd, 1, CONF_PATIENCE);
	EXPECT_OK(dat_ep_disconnect(c->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_woken(&w, 1, 0);
	EXPECT_EQ(w.ev.event_data.dto_completion_event_data.status,
		  DAT_DTO_ERR_FLUSHED);
}

CASE(evd_wait__solicited, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;

	connect_with(c, SOLICITED, DEFAULT);
	for (uint64_t i = 1; i <= 3; i++)
		post_recv(&c->a, i, DEFAULT);
	conf_wait(&w, c->a.recv_evd, 1, CONF_PATIENCE);
	for (uint64_t i = 1; i <= 2; i++) {
		post_send(&c->b, i, DEFAULT);
		conf_dto(c->b.req_evd, i, DAT_DTO_SUCCESS);
	}
	read_behind(c, 3);
	conf_still_asleep(&w);
	post_send(&c->b, 4, SOLICITED);
	expect_woken(&w, 1, 2);
	conf_dto(c->a.recv_evd, 2, DAT_DTO_SUCCESS);
	conf_dto(c->a.recv_evd, 3, DAT_DTO_SUCCESS);
}

CASE(evd_wait__unsolicited_but_failed, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;

	connect_with(c, SOLICITED, DEFAULT);
	post_recv(&c->a, 1, DEFAULT);
	conf_wait(&w, c->a.recv_evd, 1, CONF_PATIENCE);
	EXPECT_OK(dat_ep_disconnect(c->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_woken(&w, 1, 0);
	EXPECT_EQ(w.ev.event_data.dto_completion_event_data.status,
		  DAT_DTO_ERR_FLUSHED);
}

/*
 * The waiter sleeps before an endpoint says what is to wake it. Once it may be
 * woken by any message then, since devices do not take back what was asked of
 * them; but it must be by this one.
 */
CASE(evd_wait__solicited_since_it_waits, "15.2 completion flags", NEED_BOTH)
{
	struct conf_waiter w;

	need(c, SOLICITED);
	conf_wait(&w, c->a.recv_evd, 1, CONF_PATIENCE);
	connect_with(c, SOLICITED, DEFAULT);
	post_recv(&c->a, 1, DEFAULT);
	post_send(&c->b, 2, SOLICITED);
	expect_woken(&w, 1, 0);
}

/* ---------------------------------------------------- CNOs */

static DAT_CNO_HANDLE cno_on(struct conf_side *s, DAT_EVD_HANDLE evd)
{
	DAT_CNO_HANDLE cno = conf_cno(s);

	EXPECT_OK(dat_evd_modify_cno(evd, cno));
	return cno;
}

static void expect_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE got = DAT_HANDLE_NULL;

	EXPECT_OK(dat_cno_wait(cno, CONF_PATIENCE, &got));
	EXPECT(got == evd);
}

static void expect_none(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE got;

	EXPECT_TYPE(dat_cno_wait(cno, SHORT, &got), DAT_QUEUE_EMPTY);
}

CASE(cno_wait__unsignalled_request, "15.2 completion flags", NEED_BOTH)
{
	DAT_CNO_HANDLE cno;

	connect_with(c, DEFAULT, UNSIGNALED);
	cno = cno_on(&c->b, c->b.req_evd);
	post_recv(&c->a, 0, DEFAULT);
	post_recv(&c->a, 1, DEFAULT);
	post_send(&c->b, 1, UNSIGNALED);
	answer_behind(c, 1);
	expect_none(cno);
	post_send(&c->b, 2, DEFAULT);
	expect_trigger(cno, c->b.req_evd);
	conf_dto(c->b.req_evd, 1, DAT_DTO_SUCCESS);
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
}

CASE(cno_wait__solicited, "15.2 completion flags", NEED_BOTH)
{
	DAT_CNO_HANDLE cno;

	connect_with(c, SOLICITED, DEFAULT);
	cno = cno_on(&c->a, c->a.recv_evd);
	post_recv(&c->a, 1, DEFAULT);
	post_recv(&c->a, 2, DEFAULT);
	conf_post_send(&c->b, 0, 8, 3);
	conf_dto(c->b.req_evd, 3, DAT_DTO_SUCCESS);
	read_behind(c, 4);
	expect_none(cno);
	post_send(&c->b, 5, SOLICITED);
	expect_trigger(cno, c->a.recv_evd);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	conf_dto(c->a.recv_evd, 2, DAT_DTO_SUCCESS);
}
