/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_notify.c - which completions wake a waiter or trigger a CNO, as the
 * completion flags of the endpoints that use the EVD say.
 *
 * That an event wakes nobody is shown by letting it arrive while a waiter
 * sleeps, and then something that wakes: the waiter returns only for that.
 * Threads: one waiter; that it is asleep is seen in evd->waiting.
 * Rules: uDAPL 1.2 specification, completion flags of EP attributes.
 */
#include "test/unit/world.h"

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
	DAT_EVD_PARAM param;

	assert_dat_ok(V(evd_query)(evd, DAT_EVD_FIELD_ALL, &param));
	return (unsigned)param.evd_state & DAT_EVD_STATE_CONFIG_THRESHOLD;
}

static DAT_RETURN create(struct world_side *s, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ret_ep)
{
	return V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd, s->conn_evd,
			    attr, ret_ep);
}

struct waiter {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_RETURN ret;
	DAT_EVENT ev;
	DAT_COUNT more;
};

static void *run_waiter(void *arg)
{
	struct waiter *t = arg;

	t->ret = V(evd_wait)(t->evd, t->timeout, 1, &t->ev, &t->more);
	return NULL;
}

static void start_for(struct waiter *t, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout)
{
	memset(t, 0, sizeof(*t));
	t->evd = evd;
	t->timeout = timeout;
	assert_int_equal(pthread_create(&t->thread, NULL, run_waiter, t), 0);
	world_until(__atomic_load_n(&((struct dapl_evd *)evd)->waiting,
				    __ATOMIC_ACQUIRE));
	/* It has armed the queue when it let the lock go. */
	dapl_lock(&((struct dapl_evd *)evd)->lock);
	dapl_unlock(&((struct dapl_evd *)evd)->lock);
}

static void start(struct waiter *t, DAT_EVD_HANDLE evd)
{
	start_for(t, evd, WORLD_PATIENCE_US);
}

static bool asleep(struct waiter *t)
{
	return __atomic_load_n(&((struct dapl_evd *)t->evd)->waiting,
			       __ATOMIC_ACQUIRE);
}

static void finish(struct waiter *t, uint64_t cookie, DAT_COUNT more)
{
	pthread_join(t->thread, NULL);
	assert_dat_ok(t->ret);
	assert_int_equal(
		t->ev.event_data.dto_completion_event_data.user_cookie.as_64,
		cookie);
	assert_int_equal(t->more, more);
}

/* --------------------------------------------------- state */

static void evd_query__config(void **state)
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
		/* Odd, but programs exist. */
		{0x38, SOLICITED | 0x39, 0x30, 0x30},
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		DAT_EP_ATTR attr = attr_with(w, rows[i].recv, rows[i].request);
		DAT_EP_HANDLE ep = world_ep(&w->server, &attr);

		assert_int_equal(config_of(w->server.recv_evd),
				 rows[i].recv_config);
		assert_int_equal(config_of(w->server.req_evd),
				 rows[i].request_config);
		assert_dat_ok(V(ep_free)(ep));
		assert_int_equal(config_of(w->server.recv_evd), 0);
		assert_int_equal(config_of(w->server.req_evd), 0);
	}
}

static void provider_query__completion_flags(void **state)
{
	struct world *w = *state;
	DAT_PROVIDER_ATTR attr;

	assert_dat_ok(V(ia_query)(w->server.ia, NULL, DAT_IA_FIELD_NONE, NULL,
				  DAT_PROVIDER_FIELD_ALL, &attr));
	assert_true((unsigned)attr.completion_flags_supported & UNSIGNALED);
	assert_true((unsigned)attr.completion_flags_supported & SOLICITED);
	assert_true((unsigned)attr.completion_flags_supported & THRESHOLD);
}

/* Where nobody can tell solicited messages apart, all of them notify. */
static void evd_wait__solicited_on_a_deaf_device(void **state)
{
	struct world *w = *state;
	DAT_PROVIDER_ATTR attr;
	struct waiter t;

	assert_dat_ok(V(ia_query)(w->server.ia, NULL, DAT_IA_FIELD_NONE, NULL,
				  DAT_PROVIDER_FIELD_ALL, &attr));
	assert_false((unsigned)attr.completion_flags_supported & SOLICITED);
	assert_true((unsigned)attr.completion_flags_supported & UNSIGNALED);
	connect_with(w, SOLICITED, DEFAULT);
	assert_int_equal(config_of(w->server.recv_evd), 0x30);
	world_recv(&w->server, 0, 64, 0);
	world_recv(&w->server, 64, 64, 1);
	start(&t, w->server.recv_evd);
	world_send(&w->client, 0, 8, 10, DEFAULT);
	finish(&t, 0, 0);
	start(&t, w->server.recv_evd);
	world_send(&w->client, 0, 8, 11, SOLICITED);
	finish(&t, 1, 0);
	assert_dat_ok(V(ep_free)(w->server.ep));
	assert_int_equal(config_of(w->server.recv_evd), 0);
}

/* Whom an event has to wake is not known any more: it wakes everybody. */
static void ep_create__flags_disagree(void **state)
{
	static const struct {
		unsigned recv[2], request[2], recv_config, request_config;
	} rows[] = {
		{{DEFAULT, THRESHOLD}, {THRESHOLD, DEFAULT}, 0x30, 0x30},
		{{SOLICITED, DEFAULT}, {DEFAULT, UNSIGNALED}, 0x30, 0x30},
		{{SOLICITED, UNSIGNALED}, {UNSIGNALED, DEFAULT}, 0x30, 0x30},
		{{SOLICITED, SOLICITED}, {UNSIGNALED, UNSIGNALED}, 0x20, 0x10},
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		DAT_EP_ATTR attr[2];
		DAT_EP_HANDLE ep[2];

		for (int j = 0; j < 2; j++) {
			attr[j] = attr_with(w, rows[i].recv[j],
					    rows[i].request[j]);
			assert_dat_ok(create(&w->server, &attr[j], &ep[j]));
		}
		assert_int_equal(config_of(w->server.recv_evd),
				 rows[i].recv_config);
		assert_int_equal(config_of(w->server.req_evd),
				 rows[i].request_config);
		/* Who stays behind has the queue for itself. */
		assert_dat_ok(V(ep_free)(ep[0]));
		assert_int_equal(config_of(w->server.recv_evd),
				 rows[i].recv[1] == SOLICITED	 ? 0x20
				 : rows[i].recv[1] == UNSIGNALED ? 0x10
								 : 0x30);
		assert_dat_ok(V(ep_free)(ep[1]));
		assert_int_equal(config_of(w->server.recv_evd), 0);
		assert_int_equal(config_of(w->server.req_evd), 0);
	}
}

/*
 * As MPI libraries make their endpoints: one EVD for both directions, and only
 * the requests may be posted UNSIGNALLED. All of it notifies.
 */
static void ep_create__one_evd_flags_disagree(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EP_ATTR attr = attr_with(w, DEFAULT, UNSIGNALED);
	DAT_EVD_HANDLE evd =
		world_evd(s->ia, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	struct waiter t;

	assert_dat_ok(V(ep_create)(s->ia, s->pz, evd, evd, s->conn_evd, &attr,
				   &s->ep));
	assert_int_equal(config_of(evd), 0x30);
	world_connect(w);
	world_recv(&w->client, 0, 64, 1);
	world_recv(&w->client, 64, 64, 2);
	world_recv(s, 0, 64, 3);
	start(&t, evd);
	world_send(s, 0, 8, 4, DEFAULT);
	finish(&t, 4, 0);
	start(&t, evd);
	world_send(s, 0, 8, 5, UNSIGNALED);
	finish(&t, 5, 0);
	start(&t, evd);
	world_send(&w->client, 0, 8, 6, DEFAULT);
	finish(&t, 3, 0);
}

/* An endpoint that shares with others hears what those do not want to. */
static void evd_wait__flags_disagree(void **state)
{
	struct world *w = *state;
	DAT_EP_HANDLE other;
	struct waiter t;

	connect_with(w, DEFAULT, UNSIGNALED);
	other = world_ep(&w->server, NULL);
	start(&t, w->server.req_evd);
	world_send(&w->server, 0, 8, 1, UNSIGNALED);
	finish(&t, 1, 0);
	/* Nor is a sleeper lost when the other one goes. */
	start(&t, w->server.req_evd);
	assert_dat_ok(V(ep_free)(other));
	assert_int_equal(config_of(w->server.req_evd), 0x10);
	world_send(&w->server, 0, 8, 2, UNSIGNALED);
	expect_dto(w->client.recv_evd, 100, DAT_DTO_SUCCESS);
	expect_dto(w->client.recv_evd, 101, DAT_DTO_SUCCESS);
	assert_true(asleep(&t));
	world_send(&w->server, 0, 8, 3, DEFAULT);
	finish(&t, 2, 1);
}

/* No sender solicits an event of another stream: those notify too. */
static void ep_create__solicited_with_other_streams(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EP_ATTR attr = attr_with(w, SOLICITED, DEFAULT);
	DAT_EVD_HANDLE merged =
		world_evd(s->ia, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	struct waiter t;

	assert_dat_ok(V(ep_create)(s->ia, s->pz, merged, s->req_evd,
				   s->conn_evd, &attr, &s->ep));
	assert_int_equal(config_of(merged), 0x30);
	world_connect(w);
	world_recv(s, 0, 64, 1);
	start(&t, merged);
	world_post_se(merged, w);
	pthread_join(t.thread, NULL);
	assert_dat_ok(t.ret);
	assert_int_equal(t.ev.event_number, DAT_SOFTWARE_EVENT);
	start(&t, merged);
	world_send(&w->client, 0, 8, 2, DEFAULT);
	finish(&t, 1, 0);
}

static DAT_RETURN modify_request(DAT_EP_HANDLE ep, unsigned flags)
{
	DAT_EP_PARAM param = {0};

	param.ep_attr.request_completion_flags = (DAT_COMPLETION_FLAGS)flags;
	return V(ep_modify)(ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
			    &param);
}

static void notify_ep_modify__completion_flags(void **state)
{
	struct world *w = *state;
	DAT_EP_HANDLE a = world_ep(&w->server, NULL), b;

	assert_dat_ok(modify_request(a, UNSIGNALED));
	assert_int_equal(config_of(w->server.req_evd), 0x10);
	assert_dat_ok(modify_request(a, DEFAULT));
	assert_int_equal(config_of(w->server.req_evd), 0x30);
	b = world_ep(&w->server, NULL);
	assert_dat_ok(modify_request(a, UNSIGNALED));
	assert_int_equal(config_of(w->server.req_evd), 0x30);
	assert_dat_ok(V(ep_free)(b));
	assert_int_equal(config_of(w->server.req_evd), 0x10);
	assert_dat_ok(V(ep_free)(a));
	assert_int_equal(config_of(w->server.req_evd), 0);
}

static void notify_ep_create__nth_failure(void **state)
{
	struct world *w = *state;
	DAT_EP_ATTR attr = attr_with(w, SOLICITED, UNSIGNALED);
	DAT_EP_HANDLE ep;

	assert_nth_failure(create(&w->server, &attr, &ep), V(ep_free)(ep));
	assert_int_equal(config_of(w->server.recv_evd), 0);
	assert_int_equal(config_of(w->server.req_evd), 0);
}

static void notify_evd_wait__threshold(void **state)
{
	struct world *w = *state;
	DAT_EP_ATTR attr = attr_with(w, SOLICITED, UNSIGNALED);
	DAT_EP_HANDLE ep = world_ep(&w->server, &attr);
	DAT_COUNT more;
	DAT_EVENT ev;

	assert_refused(V(evd_wait)(w->server.recv_evd, 0, 2, &ev, &more),
		       DAPL_BAD_STATE(EVD_CONFIG_SOLICITED));
	assert_refused(V(evd_wait)(w->server.req_evd, 0, 2, &ev, &more),
		       DAPL_BAD_STATE(EVD_CONFIG_NOTIFY));
	assert_dat_ok(V(ep_free)(ep));
	ep = world_ep(&w->server, NULL);
	assert_int_equal(
		DAT_GET_TYPE(V(evd_wait)(w->server.recv_evd, 0, 2, &ev, &more)),
		DAT_TIMEOUT_EXPIRED);
}

/* ------------------------------------------------- waiting */

static void notify_evd_wait__unsignalled_request(void **state)
{
	struct world *w = *state;
	DAT_COUNT more;
	DAT_EVENT ev;
	struct waiter t;

	connect_with(w, DEFAULT, UNSIGNALED);
	start(&t, w->server.req_evd);
	world_send(&w->server, 0, 8, 1, UNSIGNALED);
	world_send(&w->server, 0, 8, 2, UNSIGNALED);
	expect_dto(w->client.recv_evd, 100, DAT_DTO_SUCCESS);
	expect_dto(w->client.recv_evd, 101, DAT_DTO_SUCCESS);
	assert_true(asleep(&t));
	world_send(&w->server, 0, 8, 3, DEFAULT);
	finish(&t, 1, 2);
	expect_dto(w->server.req_evd, 2, DAT_DTO_SUCCESS);
	expect_dto(w->server.req_evd, 3, DAT_DTO_SUCCESS);
	expect_empty(w->server.req_evd);

	/* It is no news to a wait that begins when it is there. */
	world_send(&w->server, 0, 8, 4, UNSIGNALED);
	expect_dto(w->client.recv_evd, 102, DAT_DTO_SUCCESS);
	expect_dto(w->client.recv_evd, 103, DAT_DTO_SUCCESS);
	world_until(V(evd_wait)(w->server.req_evd, 0, 1, &ev, &more) ==
		    DAT_SUCCESS);
}

static void evd_wait__unsignalled_unwaitable(void **state)
{
	struct world *w = *state;
	struct waiter t;
	DAT_COUNT more;
	DAT_EVENT ev;

	connect_with(w, DEFAULT, UNSIGNALED);
	fv_pause(true);
	world_send(&w->server, 0, 8, 1, UNSIGNALED);
	start(&t, w->server.req_evd);
	fv_pause(false);
	expect_dto(w->client.recv_evd, 100, DAT_DTO_SUCCESS);
	assert_true(asleep(&t));
	assert_dat_ok(V(evd_set_unwaitable)(w->server.req_evd));
	pthread_join(t.thread, NULL);
	assert_int_equal(t.ret, DAPL_BAD_STATE(EVD_UNWAITABLE));
	assert_dat_ok(V(evd_clear_unwaitable)(w->server.req_evd));
	assert_dat_ok(V(evd_wait)(w->server.req_evd, 0, 1, &ev, &more));
	assert_int_equal(more, 0);
}

/* It is counted, but no reason to return an event. */
static void evd_wait__unsignalled_timeout(void **state)
{
	struct world *w = *state;
	struct waiter t;

	connect_with(w, DEFAULT, UNSIGNALED);
	start_for(&t, w->server.req_evd, 1000000);
	world_send(&w->server, 0, 8, 1, UNSIGNALED);
	pthread_join(t.thread, NULL);
	assert_int_equal(t.ret, DAT_TIMEOUT_EXPIRED);
	assert_int_equal(t.more, 1);
	expect_dto(w->server.req_evd, 1, DAT_DTO_SUCCESS);
}

static void notify_evd_wait__unsignalled_not_configured(void **state)
{
	struct world *w = *state;
	struct waiter t;

	connect_with(w, DEFAULT, DEFAULT);
	start(&t, w->server.req_evd);
	world_send(&w->server, 0, 8, 1, UNSIGNALED);
	finish(&t, 1, 0);
}

static void evd_wait__unsignalled_flushed(void **state)
{
	struct world *w = *state;
	struct waiter t;

	connect_with(w, DEFAULT, UNSIGNALED);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_event(w->server.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	start(&t, w->server.req_evd);
	world_send(&w->server, 0, 8, 1, UNSIGNALED);
	finish(&t, 1, 0);
	assert_int_equal(t.ev.event_data.dto_completion_event_data.status,
			 DAT_DTO_ERR_FLUSHED);
}

static void recv_flags(struct world_side *s, uint64_t cookie, unsigned flags)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);

	assert_dat_ok(V(ep_post_recv)(s->ep, 1, &seg, world_cookie(cookie),
				      (DAT_COMPLETION_FLAGS)flags));
}

static void notify_evd_wait__unsignalled_receive(void **state)
{
	struct world *w = *state;
	struct waiter t;

	connect_with(w, UNSIGNALED, DEFAULT);
	/* More than the ring has slots: the mark must not stick to one. */
	for (unsigned i = 0; i < 40; i++) {
		recv_flags(&w->server, 2 * i, UNSIGNALED);
		recv_flags(&w->server, 2 * i + 1, DEFAULT);
		start(&t, w->server.recv_evd);
		world_send(&w->client, 0, 8, 1, DEFAULT);
		expect_dto(w->client.req_evd, 1, DAT_DTO_SUCCESS);
		assert_true(asleep(&t));
		world_send(&w->client, 0, 8, 2, DEFAULT);
		expect_dto(w->client.req_evd, 2, DAT_DTO_SUCCESS);
		finish(&t, 2 * i, 1);
		expect_dto(w->server.recv_evd, 2 * i + 1, DAT_DTO_SUCCESS);
	}
	for (unsigned i = 0; i < 16; i++)
		recv_flags(&w->server, i, UNSIGNALED * (i & 1));
	assert_true(V(ep_post_recv)(w->server.ep, 0, NULL, world_cookie(0),
				    DAT_COMPLETION_DEFAULT_FLAG) ==
		    DAPL_NO_MEM);
}

static void notify_evd_wait__solicited(void **state)
{
	struct world *w = *state;
	struct waiter t;

	connect_with(w, SOLICITED, DEFAULT);
	for (unsigned i = 0; i < 4; i++)
		world_recv(&w->server, i * 64, 64, i);
	start(&t, w->server.recv_evd);
	/* Arming comes after the look: wait until it sleeps for good. */
	world_pause();
	world_send(&w->client, 0, 8, 10, DEFAULT);
	world_send(&w->client, 0, 8, 11, DEFAULT);
	expect_dto(w->client.req_evd, 10, DAT_DTO_SUCCESS);
	expect_dto(w->client.req_evd, 11, DAT_DTO_SUCCESS);
	assert_true(asleep(&t));
	world_send(&w->client, 0, 8, 12, SOLICITED);
	finish(&t, 0, 2);
	expect_dto(w->server.recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(w->server.recv_evd, 2, DAT_DTO_SUCCESS);

	/* Errors wake as well. */
	start(&t, w->server.recv_evd);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
	finish(&t, 3, 0);
	assert_int_equal(t.ev.event_data.dto_completion_event_data.status,
			 DAT_DTO_ERR_FLUSHED);
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
static void evd_wait__unsignalled_bind(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
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
		expect_dto(w->client.recv_evd, 100 + i, DAT_DTO_SUCCESS);
		assert_true(asleep(&t));
		bind_window(s, rmr, 4 * i + 2, DEFAULT);
		pthread_join(t.thread, NULL);
		assert_dat_ok(t.ret);
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

static void evd_wait__solicited_srq(void **state)
{
	struct world *w = *state;
	struct waiter t;

	connect_srq_with(w, SOLICITED);
	assert_int_equal(config_of(w->server.recv_evd), 0x20);
	start(&t, w->server.recv_evd);
	world_send(&w->client, 0, 8, 10, DEFAULT);
	world_send(&w->client, 0, 8, 11, DEFAULT);
	expect_dto(w->client.req_evd, 10, DAT_DTO_SUCCESS);
	expect_dto(w->client.req_evd, 11, DAT_DTO_SUCCESS);
	assert_true(asleep(&t));
	world_send(&w->client, 0, 8, 12, SOLICITED);
	finish(&t, 0, 2);
	expect_dto(w->server.recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(w->server.recv_evd, 2, DAT_DTO_SUCCESS);
}

/* A buffer of an SRQ is posted without flags: each notifies. */
static void evd_wait__unsignalled_srq(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_SRQ_HANDLE srq = connect_srq_with(w, UNSIGNALED);
	DAT_EP_ATTR attr = attr_with(w, SOLICITED, DEFAULT);
	struct waiter t;
	DAT_EP_HANDLE ep;
	DAT_COUNT more;
	DAT_EVENT ev;

	assert_int_equal(config_of(s->recv_evd), 0x10);
	for (unsigned i = 0; i < 3; i++) {
		start(&t, s->recv_evd);
		world_send(&w->client, 0, 8, 10, UNSIGNALED);
		expect_dto(w->client.req_evd, 10, DAT_DTO_SUCCESS);
		finish(&t, i, 0);
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
static void evd_wait__configured_later(void **state)
{
	struct world *w = *state;
	struct waiter t;

	start(&t, w->server.recv_evd);
	connect_with(w, SOLICITED, DEFAULT);
	world_recv(&w->server, 0, 64, 1);
	world_recv(&w->server, 64, 64, 2);
	world_send(&w->client, 0, 8, 10, DEFAULT);
	expect_dto(w->client.req_evd, 10, DAT_DTO_SUCCESS);
	world_send(&w->client, 0, 8, 11, SOLICITED);
	finish(&t, 1, 1);
}

/* ---------------------------------------------------- CNOs */

static DAT_CNO_HANDLE cno_on(struct world *w, DAT_EVD_HANDLE evd)
{
	DAT_CNO_HANDLE cno = NULL;

	assert_dat_ok(V(cno_create)(w->server.ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				    &cno));
	assert_dat_ok(V(evd_modify_cno)(evd, cno));
	return cno;
}

static void expect_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE got = NULL;

	assert_dat_ok(V(cno_wait)(cno, WORLD_PATIENCE_US, &got));
	assert_ptr_equal(got, evd);
}

static void expect_no_trigger(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE got;

	assert_int_equal(DAT_GET_TYPE(V(cno_wait)(cno, QUIET_US, &got)),
			 DAT_QUEUE_EMPTY);
}

static void cno_wait__unsignalled(void **state)
{
	struct world *w = *state;
	DAT_CNO_HANDLE cno = cno_on(w, w->server.req_evd);

	connect_with(w, DEFAULT, UNSIGNALED);
	world_send(&w->server, 0, 8, 1, UNSIGNALED);
	expect_dto(w->client.recv_evd, 100, DAT_DTO_SUCCESS);
	expect_no_trigger(cno);
	world_send(&w->server, 0, 8, 2, DEFAULT);
	expect_trigger(cno, w->server.req_evd);
	expect_no_trigger(cno);
	expect_dto(w->server.req_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(w->server.req_evd, 2, DAT_DTO_SUCCESS);
	expect_empty(w->server.req_evd);
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
static void evd_wait__suppressed(void **state)
{
	struct world *w = *state;
	struct waiter t;

	world_connect(w);
	start(&t, w->server.req_evd);
	send_suppressed(w, 100);
	assert_true(asleep(&t));
	world_recv(&w->client, 0, 64, 1);
	world_send(&w->server, 0, 8, 200, 0);
	finish(&t, 200, 0);
	expect_empty(w->server.req_evd);
}

static void cno_wait__suppressed(void **state)
{
	struct world *w = *state;
	DAT_CNO_HANDLE cno = cno_on(w, w->server.req_evd);

	world_connect(w);
	send_suppressed(w, 100);
	expect_no_trigger(cno);
	world_recv(&w->client, 0, 64, 1);
	world_send(&w->server, 0, 8, 200, 0);
	expect_trigger(cno, w->server.req_evd);
	expect_no_trigger(cno);
	expect_dto(w->server.req_evd, 200, DAT_DTO_SUCCESS);
	expect_empty(w->server.req_evd);
}

static void notify_cno_wait__solicited(void **state)
{
	struct world *w = *state;
	DAT_CNO_HANDLE cno;

	connect_with(w, SOLICITED, DEFAULT);
	cno = cno_on(w, w->server.recv_evd);
	for (unsigned i = 0; i < 3; i++)
		world_recv(&w->server, i * 64, 64, i);
	world_send(&w->client, 0, 8, 10, DEFAULT);
	expect_dto(w->client.req_evd, 10, DAT_DTO_SUCCESS);
	expect_no_trigger(cno);
	world_send(&w->client, 0, 8, 11, SOLICITED);
	expect_trigger(cno, w->server.recv_evd);
	world_send(&w->client, 0, 8, 12, DEFAULT);
	expect_dto(w->client.req_evd, 11, DAT_DTO_SUCCESS);
	expect_dto(w->client.req_evd, 12, DAT_DTO_SUCCESS);
	expect_no_trigger(cno);
	for (unsigned i = 0; i < 3; i++)
		expect_dto(w->server.recv_evd, i, DAT_DTO_SUCCESS);
}

static void cno_wait__solicited_srq(void **state)
{
	struct world *w = *state;
	DAT_CNO_HANDLE cno;

	connect_srq_with(w, SOLICITED);
	cno = cno_on(w, w->server.recv_evd);
	world_send(&w->client, 0, 8, 10, DEFAULT);
	expect_dto(w->client.req_evd, 10, DAT_DTO_SUCCESS);
	expect_no_trigger(cno);
	world_send(&w->client, 0, 8, 11, SOLICITED);
	expect_dto(w->client.req_evd, 11, DAT_DTO_SUCCESS);
	expect_trigger(cno, w->server.recv_evd);
	expect_no_trigger(cno);
	expect_dto(w->server.recv_evd, 0, DAT_DTO_SUCCESS);
	expect_dto(w->server.recv_evd, 1, DAT_DTO_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ib_test(evd_query__config),
		ib_test(provider_query__completion_flags),
		ib_test(ep_create__flags_disagree),
		ib_test(ep_create__one_evd_flags_disagree),
		iwarp_test(ep_create__one_evd_flags_disagree),
		ib_test(evd_wait__flags_disagree),
		ib_test(ep_create__solicited_with_other_streams),
		ib_test(notify_ep_modify__completion_flags),
		ib_test(notify_ep_create__nth_failure),
		ib_test(notify_evd_wait__threshold),
		ib_test(notify_evd_wait__unsignalled_request),
		iwarp_test(notify_evd_wait__unsignalled_request),
		ib_test(evd_wait__unsignalled_unwaitable),
		ib_test(evd_wait__unsignalled_timeout),
		ib_test(notify_evd_wait__unsignalled_not_configured),
		ib_test(evd_wait__unsignalled_flushed),
		ib_test(notify_evd_wait__unsignalled_receive),
		iwarp_test(notify_evd_wait__unsignalled_receive),
		ib_test(notify_evd_wait__solicited),
		iwarp_test(notify_evd_wait__solicited),
		ib_test(evd_wait__unsignalled_bind),
		iwarp_test(evd_wait__unsignalled_bind),
		ib_test(evd_wait__solicited_srq),
		iwarp_test(evd_wait__solicited_srq),
		ib_test(evd_wait__unsignalled_srq),
		ib_test(evd_wait__configured_later),
		siw_test(evd_wait__solicited_on_a_deaf_device),
		ib_test(evd_wait__suppressed),
		iwarp_test(evd_wait__suppressed),
		ib_test(cno_wait__unsignalled),
		ib_test(cno_wait__suppressed),
		iwarp_test(cno_wait__suppressed),
		ib_test(notify_cno_wait__solicited),
		ib_test(cno_wait__solicited_srq),
	};

	return world_run_both(tests);
}
