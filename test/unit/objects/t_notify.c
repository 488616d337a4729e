/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_notify.c - which completions wake a waiter or trigger a CNO, as the
 * completion flags of the endpoints that use the EVD say.
 *
 * That an event wakes nobody is shown by letting it arrive while a waiter
 * sleeps, and then something that wakes: the waiter returns only for that.
 * Threads: one waiter; that it is asleep is seen in the EVD.
 * Rules: uDAPL 1.2 specification, completion flags of EP attributes.
 */
#include "test/unit/world.h"

#include <dat2/dat_ib_extensions.h>
#include <pthread.h>
#include <string.h>

#include "dapl/common/event/dapl_evd.h"

#define DEFAULT	   0u
#define THRESHOLD  ((unsigned)DAT_COMPLETION_EVD_THRESHOLD_FLAG)
#define SOLICITED  ((unsigned)DAT_COMPLETION_SOLICITED_WAIT_FLAG)
#define UNSIGNALED ((unsigned)DAT_COMPLETION_UNSIGNALLED_FLAG)

/* How long nothing happens where nothing is to happen. */
#define QUIET_US 30000

static DAT_EP_ATTR attr_with(struct world *w, unsigned recv, unsigned request)
{
	/* The server's EVDs must not be armed for other endpoints before. */
	DAT_EP_ATTR attr = world_ep_attr(&w->client);

	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv;
	attr.request_completion_flags = (DAT_COMPLETION_FLAGS)request;
	return attr;
}

/* Both sides with these flags on the server, connected, 8 receives each. */
static void connect_with(struct world *w, unsigned recv, unsigned request)
{
	DAT_EP_ATTR attr = attr_with(w, recv, request);

	w->server.ep = world_ep(&w->server, &attr);
	world_connect(w);
	for (unsigned i = 0; i < 8; i++)
		world_recv(&w->client, i * 64, 64, 100 + i);
}

static unsigned config_of(DAT_EVD_HANDLE evd)
{
	return (unsigned)world_evd_param(evd).evd_state &
	       DAT_EVD_STATE_CONFIG_THRESHOLD;
}

static DAT_RETURN create(struct world_side *s, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ret_ep)
{
	return V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd, s->conn_evd,
			    attr, ret_ep);
}

static void start(struct waiter *t, DAT_EVD_HANDLE evd)
{
	waiter_start(t, evd, WORLD_PATIENCE_US, 1);
}

static bool asleep(struct waiter *t)
{
	return world_evd_is_waited_for(t->evd);
}

/* --------------------------------------------------- state */

ON_IB(provider_query__completion_flags)
{
	DAT_PROVIDER_ATTR attr;

	assert_dat_ok(V(ia_query)(s->ia, NULL, DAT_IA_FIELD_NONE, NULL,
				  DAT_PROVIDER_FIELD_ALL, &attr));
	assert_true((unsigned)attr.completion_flags_supported & UNSIGNALED);
	assert_true((unsigned)attr.completion_flags_supported & SOLICITED);
	assert_true((unsigned)attr.completion_flags_supported & THRESHOLD);
}

/* Where nobody can tell solicited messages apart, all of them notify. */
ON_SIW(evd_wait__solicited_on_a_deaf_device)
{
	DAT_PROVIDER_ATTR attr;
	struct waiter t;

	assert_dat_ok(V(ia_query)(s->ia, NULL, DAT_IA_FIELD_NONE, NULL,
				  DAT_PROVIDER_FIELD_ALL, &attr));
	assert_false((unsigned)attr.completion_flags_supported & SOLICITED);
	assert_true((unsigned)attr.completion_flags_supported & UNSIGNALED);
	connect_with(w, SOLICITED, DEFAULT);
	assert_int_equal(config_of(s->recv_evd), 0x30);
	world_recv(s, 0, 64, 0);
	world_recv(s, 64, 64, 1);
	start(&t, s->recv_evd);
	world_send(c, 0, 8, 10, DEFAULT);
	waiter_got(&t, 0, 0);
	start(&t, s->recv_evd);
	world_send(c, 0, 8, 11, SOLICITED);
	waiter_got(&t, 1, 0);
	assert_dat_ok(V(ep_free)(s->ep));
	assert_int_equal(config_of(s->recv_evd), 0);
}

/* Whom an event has to wake is not known any more: it wakes everybody. */
ON_IB(ep_create__flags_disagree)
{
	static const struct {
		unsigned recv[2], request[2], recv_config, request_config;
	} rows[] = {
		{{DEFAULT, THRESHOLD}, {THRESHOLD, DEFAULT}, 0x30, 0x30},
		{{SOLICITED, DEFAULT}, {DEFAULT, UNSIGNALED}, 0x30, 0x30},
		{{SOLICITED, UNSIGNALED}, {UNSIGNALED, DEFAULT}, 0x30, 0x30},
		{{SOLICITED, SOLICITED}, {UNSIGNALED, UNSIGNALED}, 0x20, 0x10},
		/* Odd, but programs exist. */
		{{0x38, 0x38}, {SOLICITED | 0x39, DEFAULT}, 0x30, 0x30},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		DAT_EP_ATTR attr[2];
		DAT_EP_HANDLE ep[2];

		for (int j = 0; j < 2; j++) {
			attr[j] = attr_with(w, rows[i].recv[j],
					    rows[i].request[j]);
			assert_dat_ok(create(s, &attr[j], &ep[j]));
		}
		assert_int_equal(config_of(s->recv_evd), rows[i].recv_config);
		assert_int_equal(config_of(s->req_evd), rows[i].request_config);
		/* Who stays behind has the queue for itself. */
		assert_dat_ok(V(ep_free)(ep[0]));
		assert_int_equal(config_of(s->recv_evd),
				 rows[i].recv[1] == SOLICITED	 ? 0x20
				 : rows[i].recv[1] == UNSIGNALED ? 0x10
								 : 0x30);
		assert_dat_ok(V(ep_free)(ep[1]));
		assert_int_equal(config_of(s->recv_evd), 0);
		assert_int_equal(config_of(s->req_evd), 0);
	}
}

/*
 * As MPI libraries make their endpoints: one EVD for both directions, and only
 * the requests may be posted UNSIGNALLED. All of it notifies.
 */
ON_IB_IWARP(ep_create__one_evd_flags_disagree)
{
	DAT_EP_ATTR attr = attr_with(w, DEFAULT, UNSIGNALED);
	DAT_EVD_HANDLE evd =
		world_evd(s->ia, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	struct waiter t;

	assert_dat_ok(V(ep_create)(s->ia, s->pz, evd, evd, s->conn_evd, &attr,
				   &s->ep));
	assert_int_equal(config_of(evd), 0x30);
	world_connect(w);
	world_recv(c, 0, 64, 1);
	world_recv(c, 64, 64, 2);
	world_recv(s, 0, 64, 3);
	start(&t, evd);
	world_send(s, 0, 8, 4, DEFAULT);
	waiter_got(&t, 4, 0);
	start(&t, evd);
	world_send(s, 0, 8, 5, UNSIGNALED);
	waiter_got(&t, 5, 0);
	start(&t, evd);
	world_send(c, 0, 8, 6, DEFAULT);
	waiter_got(&t, 3, 0);
}

/* An endpoint that shares with others hears what those do not want to. */
ON_IB(evd_wait__flags_disagree)
{
	DAT_EP_HANDLE other;
	struct waiter t;

	connect_with(w, DEFAULT, UNSIGNALED);
	other = world_ep(s, NULL);
	start(&t, s->req_evd);
	world_send(s, 0, 8, 1, UNSIGNALED);
	waiter_got(&t, 1, 0);
	/* Nor is a sleeper lost when the other one goes. */
	start(&t, s->req_evd);
	assert_dat_ok(V(ep_free)(other));
	assert_int_equal(config_of(s->req_evd), 0x10);
	world_send(s, 0, 8, 2, UNSIGNALED);
	expect_dto(c->recv_evd, 100, DAT_DTO_SUCCESS);
	expect_dto(c->recv_evd, 101, DAT_DTO_SUCCESS);
	assert_true(asleep(&t));
	world_send(s, 0, 8, 3, DEFAULT);
	waiter_got(&t, 2, 1);
}

static DAT_RETURN modify_request(DAT_EP_HANDLE ep, unsigned flags)
{
	DAT_EP_PARAM param = {0};

	param.ep_attr.request_completion_flags = (DAT_COMPLETION_FLAGS)flags;
	return V(ep_modify)(ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
			    &param);
}

ON_IB(notify_ep_modify__completion_flags)
{
	DAT_EP_HANDLE a = world_ep(s, NULL), b;

	assert_dat_ok(modify_request(a, UNSIGNALED));
	assert_int_equal(config_of(s->req_evd), 0x10);
	assert_dat_ok(modify_request(a, DEFAULT));
	assert_int_equal(config_of(s->req_evd), 0x30);
	b = world_ep(s, NULL);
	assert_dat_ok(modify_request(a, UNSIGNALED));
	assert_int_equal(config_of(s->req_evd), 0x30);
	assert_dat_ok(V(ep_free)(b));
	assert_int_equal(config_of(s->req_evd), 0x10);
	assert_dat_ok(V(ep_free)(a));
	assert_int_equal(config_of(s->req_evd), 0);
}

ON_IB(notify_ep_create__nth_failure)
{
	DAT_EP_ATTR attr = attr_with(w, SOLICITED, UNSIGNALED);
	DAT_EP_HANDLE ep;

	assert_nth_failure(create(s, &attr, &ep), V(ep_free)(ep));
	assert_int_equal(config_of(s->recv_evd), 0);
	assert_int_equal(config_of(s->req_evd), 0);
}

/* ------------------------------------------------- waiting */

ON_IB(evd_wait__unsignalled_unwaitable)
{
	struct waiter t;
	DAT_COUNT more;
	DAT_EVENT ev;

	connect_with(w, DEFAULT, UNSIGNALED);
	fv_pause(true);
	world_send(s, 0, 8, 1, UNSIGNALED);
	start(&t, s->req_evd);
	fv_pause(false);
	expect_dto(c->recv_evd, 100, DAT_DTO_SUCCESS);
	assert_true(asleep(&t));
	assert_dat_ok(V(evd_set_unwaitable)(s->req_evd));
	pthread_join(t.thread, NULL);
	assert_int_equal(t.ret, DAPL_BAD_STATE(EVD_UNWAITABLE));
	assert_dat_ok(V(evd_clear_unwaitable)(s->req_evd));
	assert_dat_ok(V(evd_wait)(s->req_evd, 0, 1, &ev, &more));
	assert_int_equal(more, 0);
}

ON_IB(evd_wait__unsignalled_flushed)
{
	struct waiter t;

	connect_with(w, DEFAULT, UNSIGNALED);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_event(s->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	start(&t, s->req_evd);
	world_send(s, 0, 8, 1, UNSIGNALED);
	waiter_got(&t, 1, 0);
	assert_int_equal(t.ev.event_data.dto_completion_event_data.status,
			 DAT_DTO_ERR_FLUSHED);
}

static void recv_flags(struct world_side *s, uint64_t cookie, unsigned flags)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);

	assert_dat_ok(V(ep_post_recv)(s->ep, 1, &seg, world_cookie(cookie),
				      (DAT_COMPLETION_FLAGS)flags));
}

ON_IB_IWARP(notify_evd_wait__unsignalled_receive)
{
	struct waiter t;

	connect_with(w, UNSIGNALED, DEFAULT);
	/* More than the ring has slots: the mark must not stick to one. */
	for (unsigned i = 0; i < 40; i++) {
		recv_flags(s, 2 * i, UNSIGNALED);
		recv_flags(s, 2 * i + 1, DEFAULT);
		start(&t, s->recv_evd);
		world_send(c, 0, 8, 1, DEFAULT);
		expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
		assert_true(asleep(&t));
		world_send(c, 0, 8, 2, DEFAULT);
		expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
		waiter_got(&t, 2 * i, 1);
		expect_dto(s->recv_evd, 2 * i + 1, DAT_DTO_SUCCESS);
	}
	for (unsigned i = 0; i < 16; i++)
		recv_flags(s, i, UNSIGNALED * (i & 1));
	assert_true(V(ep_post_recv)(s->ep, 0, NULL, world_cookie(0),
				    DAT_COMPLETION_DEFAULT_FLAG) ==
		    DAPL_NO_MEM);
}

static void bind_window(struct world_side *s, DAT_RMR_HANDLE rmr,
			uint64_t cookie, unsigned flags)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);
	DAT_RMR_COOKIE c = {.as_64 = cookie};
	DAT_RMR_CONTEXT key;

	assert_dat_ok(V(rmr_bind)(
		rmr, s->mem.lmr, &seg,
		(DAT_MEM_PRIV_FLAGS)DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		DAT_VA_TYPE_VA, s->ep, c, (DAT_COMPLETION_FLAGS)flags, &key));
}

static void expect_bind(const DAT_EVENT *ev, uint64_t cookie)
{
	assert_int_equal(ev->event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	assert_int_equal(
		ev->event_data.rmr_completion_event_data.user_cookie.as_64,
		cookie);
}

/* A bind is a request like the others. */
ON_IB_IWARP(evd_wait__unsignalled_bind)
{
	DAT_RMR_HANDLE rmr;
	struct waiter t;
	DAT_EVENT ev;

	connect_with(w, DEFAULT, UNSIGNALED);
	assert_dat_ok(V(rmr_create)(s->pz, &rmr));
	/* The second round finds slots that were marked. */
	for (unsigned i = 0; i < 8; i++) {
		start(&t, s->req_evd);
		bind_window(s, rmr, 4 * i, UNSIGNALED);
		world_send(s, 0, 8, 4 * i + 1, UNSIGNALED);
		expect_dto(c->recv_evd, 100 + i, DAT_DTO_SUCCESS);
		assert_true(asleep(&t));
		bind_window(s, rmr, 4 * i + 2, DEFAULT);
		waiter_end(&t, DAT_SUCCESS);
		assert_int_equal(t.more, 2);
		expect_bind(&t.ev, 4 * i);
		expect_dto(s->req_evd, 4 * i + 1, DAT_DTO_SUCCESS);
		ev = expect_event(s->req_evd, DAT_RMR_BIND_COMPLETION_EVENT);
		expect_bind(&ev, 4 * i + 2);
	}
	assert_dat_ok(V(rmr_free)(rmr));
}

/* As connect_with(), with 4 buffers in an SRQ for the server. */
static DAT_SRQ_HANDLE connect_srq_with(struct world *w, unsigned recv)
{
	DAT_EP_ATTR attr = attr_with(w, recv, DEFAULT);
	DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
	struct world_side *s = &w->server;
	DAT_SRQ_HANDLE srq;

	assert_dat_ok(V(srq_create)(s->ia, s->pz, &srq_attr, &srq));
	assert_dat_ok(V(ep_create_with_srq)(s->ia, s->pz, s->recv_evd,
					    s->req_evd, s->conn_evd, srq, &attr,
					    &s->ep));
	world_connect(w);
	for (unsigned i = 0; i < 4; i++) {
		DAT_LMR_TRIPLET seg = world_seg(s, i * 64, 64);

		assert_dat_ok(V(srq_post_recv)(srq, 1, &seg, world_cookie(i)));
	}
	return srq;
}

ON_IB_IWARP(evd_wait__solicited_srq)
{
	struct waiter t;

	connect_srq_with(w, SOLICITED);
	assert_int_equal(config_of(s->recv_evd), 0x20);
	start(&t, s->recv_evd);
	world_send(c, 0, 8, 10, DEFAULT);
	world_send(c, 0, 8, 11, DEFAULT);
	expect_dto(c->req_evd, 10, DAT_DTO_SUCCESS);
	expect_dto(c->req_evd, 11, DAT_DTO_SUCCESS);
	assert_true(asleep(&t));
	world_send(c, 0, 8, 12, SOLICITED);
	waiter_got(&t, 0, 2);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(s->recv_evd, 2, DAT_DTO_SUCCESS);
}

/* A buffer of an SRQ is posted without flags: each notifies. */
ON_IB(evd_wait__unsignalled_srq)
{
	DAT_SRQ_HANDLE srq = connect_srq_with(w, UNSIGNALED);
	DAT_EP_ATTR attr = attr_with(w, SOLICITED, DEFAULT);
	struct waiter t;
	DAT_EP_HANDLE ep;
	DAT_COUNT more;
	DAT_EVENT ev;

	assert_int_equal(config_of(s->recv_evd), 0x10);
	for (unsigned i = 0; i < 3; i++) {
		start(&t, s->recv_evd);
		world_send(c, 0, 8, 10, UNSIGNALED);
		expect_dto(c->req_evd, 10, DAT_DTO_SUCCESS);
		waiter_got(&t, i, 0);
	}
	assert_refused(V(evd_wait)(s->recv_evd, 0, 2, &ev, &more),
		       DAPL_BAD_STATE(EVD_CONFIG_NOTIFY));
	/* Flags of endpoints meet on an EVD, not on an SRQ. */
	assert_dat_ok(V(ep_create_with_srq)(
		s->ia, s->pz, world_evd(s->ia, DAT_EVD_DTO_FLAG), s->req_evd,
		s->conn_evd, srq, &attr, &ep));
	assert_int_equal(config_of(s->recv_evd), 0x10);
	assert_dat_ok(V(ep_create_with_srq)(s->ia, s->pz, s->recv_evd,
					    s->req_evd, s->conn_evd, srq, &attr,
					    &ep));
	assert_int_equal(config_of(s->recv_evd), 0x30);
}

/* A waiter sleeps before an endpoint says what is to wake it. */
ON_IB(evd_wait__configured_later)
{
	struct waiter t;

	start(&t, s->recv_evd);
	connect_with(w, SOLICITED, DEFAULT);
	world_recv(s, 0, 64, 1);
	world_recv(s, 64, 64, 2);
	world_send(c, 0, 8, 10, DEFAULT);
	expect_dto(c->req_evd, 10, DAT_DTO_SUCCESS);
	world_send(c, 0, 8, 11, SOLICITED);
	waiter_got(&t, 1, 1);
}

/* ------------------------------------------- what is flushed */

/*
 * Its receive is flushed, of which the completion queue does not tell who waits
 * for solicited ones; then it is read beside him, for another endpoint.
 */
static void flush_beside(struct world_side *s, DAT_EP_HANDLE other)
{
	assert_int_equal(vb_qp_error(world_qp(s->ep)), 0);
	assert_dat_ok(V(ep_free)(other));
}

static DAT_EP_HANDLE solicited_pair(struct world *w)
{
	DAT_EP_ATTR attr = attr_with(w, SOLICITED, DEFAULT);
	DAT_EP_HANDLE other;

	connect_with(w, SOLICITED, DEFAULT);
	assert_dat_ok(create(&w->server, &attr, &other));
	world_recv(&w->server, 0, 64, 1);
	return other;
}

static DAT_DTO_COMPLETION_STATUS status_of(const struct waiter *t)
{
	return t->ev.event_data.dto_completion_event_data.status;
}

ON_IB(evd_wait__flushed_beside)
{
	DAT_EP_HANDLE other = solicited_pair(w);
	struct waiter t;

	start(&t, s->recv_evd);
	flush_beside(s, other);
	waiter_got(&t, 1, 0);
	assert_int_equal(status_of(&t), DAT_DTO_ERR_FLUSHED);
}

ON_IB(cno_wait__flushed_beside)
{
	DAT_EP_HANDLE other = solicited_pair(w);
	DAT_CNO_HANDLE cno = world_cno(s->ia);

	assert_dat_ok(V(evd_modify_cno)(s->recv_evd, cno));
	flush_beside(s, other);
	expect_trigger(cno, s->recv_evd);
	expect_dto(s->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
}

/* The end of a connection tells who sleeps, and leaves the EVD as it was. */
ON_IB(evd_wait__flushed_at_the_end)
{
	DAT_EP_HANDLE other = solicited_pair(w);
	struct waiter t;
	DAT_COUNT more;
	DAT_EVENT ev;

	world_recv(s, 64, 64, 2);
	start(&t, s->recv_evd);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	waiter_end(&t, DAT_SUCCESS);
	assert_int_equal(status_of(&t), DAT_DTO_ERR_FLUSHED);
	assert_int_equal(config_of(s->recv_evd), 0x20);
	assert_refused(V(evd_wait)(s->recv_evd, 0, 2, &ev, &more),
		       DAPL_BAD_STATE(EVD_CONFIG_SOLICITED));
	world_until(world_ep_state(s->ep) == DAT_EP_STATE_DISCONNECTED);
	expect_dto(s->recv_evd, 2, DAT_DTO_ERR_FLUSHED);
	assert_dat_ok(V(ep_reset)(s->ep));
	assert_int_equal(config_of(s->recv_evd), 0x20);
	assert_dat_ok(V(ep_free)(other));
}

ON_IB(ep_reset__flushes_datagrams)
{
	DAT_EP_ATTR attr = attr_with(w, SOLICITED, DEFAULT);
	struct waiter t;

	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr.max_message_size = 256;
	attr.max_rdma_size = 0;
	attr.max_rdma_read_in = 0;
	attr.max_rdma_read_out = 0;
	s->ep = world_ep(s, &attr);
	world_recv(s, 0, 256, 1);
	start(&t, s->recv_evd);
	assert_dat_ok(V(ep_reset)(s->ep));
	waiter_got(&t, 1, 0);
	assert_int_equal(status_of(&t), DAT_DTO_ERR_FLUSHED);
}

/* ---------------------------------------------------- CNOs */

static DAT_CNO_HANDLE cno_on(struct world *w, DAT_EVD_HANDLE evd)
{
	DAT_CNO_HANDLE cno = world_cno(w->server.ia);

	assert_dat_ok(V(evd_modify_cno)(evd, cno));
	return cno;
}

static void send_suppressed(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		world_recv(&w->client, 0, 64, i);
		world_send(&w->server, 0, 8, i, DAT_COMPLETION_SUPPRESS_FLAG);
		expect_dto(w->client.recv_evd, i, DAT_DTO_SUCCESS);
	}
}

/* Some suppressed requests do complete at the device, but for nobody. */
ON_IB_IWARP(evd_wait__suppressed, world_connect)
{
	struct waiter t;

	start(&t, s->req_evd);
	send_suppressed(w, 100);
	assert_true(asleep(&t));
	world_recv(c, 0, 64, 1);
	world_send(s, 0, 8, 200, 0);
	waiter_got(&t, 200, 0);
	expect_empty(s->req_evd);
}

ON_IB_IWARP(cno_wait__suppressed)
{
	DAT_CNO_HANDLE cno = cno_on(w, s->req_evd);

	world_connect(w);
	send_suppressed(w, 100);
	expect_no_trigger(cno, QUIET_US);
	world_recv(c, 0, 64, 1);
	world_send(s, 0, 8, 200, 0);
	expect_trigger(cno, s->req_evd);
	expect_no_trigger(cno, QUIET_US);
	expect_dto(s->req_evd, 200, DAT_DTO_SUCCESS);
	expect_empty(s->req_evd);
}

ON_IB(cno_wait__solicited_srq)
{
	DAT_CNO_HANDLE cno;

	connect_srq_with(w, SOLICITED);
	cno = cno_on(w, s->recv_evd);
	world_send(c, 0, 8, 10, DEFAULT);
	expect_dto(c->req_evd, 10, DAT_DTO_SUCCESS);
	expect_no_trigger(cno, QUIET_US);
	world_send(c, 0, 8, 11, SOLICITED);
	expect_dto(c->req_evd, 11, DAT_DTO_SUCCESS);
	expect_trigger(cno, s->recv_evd);
	expect_no_trigger(cno, QUIET_US);
	expect_dto(s->recv_evd, 0, DAT_DTO_SUCCESS);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
}

RUN_CASES_TWICE()
