/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_evd.c - dat_evd_create, query, resize, post_se, dequeue, enable, disable,
 * set/clear_unwaitable, modify_cno, free; overflow; streams that share an EVD;
 * room in the completion queue.
 *
 * Waiting is in t_evd_wait.c, what a CNO makes of an EVD in t_cno.c.
 * ibv_resize_cq() can be taken away, for devices that do not have it.
 * Threads: those that a test starts. Rules: uDAPL 1.2 specification, dat_evd_*.
 */
#include "test/unit/world.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"

#define STREAMS_ALL 0x1f1 /* every flag but the extension's */

/* --wrap: no device of this program can resize while it is set. */
static bool no_resize;
int __real_ibv_resize_cq(struct ibv_cq *cq, int cqe);
int __wrap_ibv_resize_cq(struct ibv_cq *cq, int cqe);

int __wrap_ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	return no_resize ? ENOSYS : __real_ibv_resize_cq(cq, cqe);
}

static DAT_EVD_PARAM query(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM p;

	memset(&p, 0xa5, sizeof(p));
	assert_dat_ok(V(evd_query)(evd, DAT_EVD_FIELD_ALL, &p));
	return p;
}

static void *next_se(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	assert_dat_ok(V(evd_dequeue)(evd, &ev));
	assert_int_equal(ev.event_number, DAT_SOFTWARE_EVENT);
	assert_ptr_equal(ev.evd_handle, evd);
	return ev.event_data.software_event_data.pointer;
}

/* ------------------------------------------------ create */

static void evd_create__query(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = world_evd(w->client.ia, DAT_EVD_CR_FLAG);
	DAT_EVD_PARAM p = query(evd);

	assert_ptr_equal(p.ia_handle, world_user_ia(w->client.ia));
	assert_int_equal(p.evd_qlen, WORLD_QLEN);
	assert_int_equal(p.evd_state,
			 DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	assert_null(p.cno_handle);
	assert_int_equal(p.evd_flags, DAT_EVD_CR_FLAG);
	assert_dat_ok(V(evd_free)(evd));
}

static void evd_create__any_streams(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd;
	unsigned n = 0;

	for (unsigned flags = 1; flags <= 0x3f1; flags++) {
		if (flags & ~0x3f1u)
			continue;
		evd = world_evd(w->server.ia, flags);
		assert_int_equal(query(evd).evd_flags, flags);
		expect_empty(evd);
		assert_dat_ok(V(evd_free)(evd));
		n++;
	}
	assert_int_equal(n, 127);
}

static void evd_create__too_long(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = NULL;

	assert_refused(
		V(evd_create)(w->server.ia, 8193, NULL, DAT_EVD_DTO_FLAG, &evd),
		DAPL_NO_RES(TEVD));
	assert_null(evd);
}

static void evd_create__nth_failure(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = NULL;

	assert_nth_failure(V(evd_create)(w->server.ia, 8, NULL,
					 (DAT_EVD_FLAGS)STREAMS_ALL, &evd),
			   assert_dat_ok(V(evd_free)(evd)));
}

static void evd_create__largest(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd;

	assert_dat_ok(V(evd_create)(w->server.ia, 8192, NULL, DAT_EVD_DTO_FLAG,
				    &evd));
	assert_int_equal(query(evd).evd_qlen, 8192);
}

/* ----------------------------------------------- post_se */

static void evd_post_se__ring_turns_and_grows(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = world_evd(w->server.ia, DAT_EVD_SOFTWARE_FLAG);

	/* In and out at different speeds, so that the ring turns and grows. */
	for (uintptr_t in = 1, out = 1; out < 500;) {
		for (int i = 0; i < 3 && in < 500; i++, in++)
			world_post_se(evd, (void *)in);
		for (int i = 0; i < (in < 60 ? 2 : 3) && out < in; i++, out++)
			assert_ptr_equal(next_se(evd), (void *)out);
	}
	expect_empty(evd);
}

static void evd_post_se__full_then_goes_on(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = world_evd(w->server.ia, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (uintptr_t i = 0; i < WORLD_QLEN; i++)
		world_post_se(evd, (void *)i);
	assert_refused(V(evd_post_se)(evd, &ev), DAPL_ERR(DAT_QUEUE_FULL, 0));
	/* By specification that is no overflow. */
	expect_empty(w->server.async_evd);
	assert_ptr_equal(next_se(evd), (void *)0);
	world_post_se(evd, (void *)WORLD_QLEN);
	for (uintptr_t i = 1; i <= WORLD_QLEN; i++)
		assert_ptr_equal(next_se(evd), (void *)i);
	expect_empty(evd);
}

static void evd_dequeue__unwaitable_and_disabled(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = world_evd(w->server.ia, DAT_EVD_SOFTWARE_FLAG);

	assert_dat_ok(V(evd_set_unwaitable)(evd));
	assert_dat_ok(V(evd_disable)(evd));
	world_post_se(evd, w);
	assert_ptr_equal(next_se(evd), w);
}

/* --------------------------------------------- switches */

static void evd_switches__state(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = w->server.recv_evd;

	for (int i = 0; i < 2; i++) {
		assert_dat_ok(V(evd_disable)(evd));
		assert_int_equal(query(evd).evd_state,
				 DAT_EVD_STATE_DISABLED |
					 DAT_EVD_STATE_WAITABLE);
	}
	for (int i = 0; i < 2; i++) {
		assert_dat_ok(V(evd_set_unwaitable)(evd));
		assert_int_equal(query(evd).evd_state,
				 DAT_EVD_STATE_DISABLED |
					 DAT_EVD_STATE_UNWAITABLE);
	}
	for (int i = 0; i < 2; i++) {
		assert_dat_ok(V(evd_enable)(evd));
		assert_int_equal(query(evd).evd_state,
				 DAT_EVD_STATE_ENABLED |
					 DAT_EVD_STATE_UNWAITABLE);
	}
	for (int i = 0; i < 2; i++) {
		assert_dat_ok(V(evd_clear_unwaitable)(evd));
		assert_int_equal(query(evd).evd_state,
				 DAT_EVD_STATE_ENABLED |
					 DAT_EVD_STATE_WAITABLE);
	}
}

static void evd_modify_cno__query(void **state)
{
	struct world *w = *state;
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_CNO_HANDLE a, b;
	DAT_EVD_HANDLE evd;

	assert_dat_ok(V(cno_create)(w->server.ia, agent, &a));
	assert_dat_ok(V(cno_create)(w->server.ia, agent, &b));
	evd = world_evd_cno(w->server.ia, DAT_EVD_DTO_FLAG, a);
	assert_ptr_equal(query(evd).cno_handle, a);
	assert_refused(V(cno_free)(a), DAPL_BAD_STATE(CNO_IN_USE));
	assert_dat_ok(V(evd_modify_cno)(evd, b));
	assert_dat_ok(V(evd_modify_cno)(evd, b));
	assert_ptr_equal(query(evd).cno_handle, b);
	assert_dat_ok(V(cno_free)(a));
	assert_refused(V(evd_modify_cno)(evd, a), DAPL_BAD_HANDLE(CNO));
	assert_ptr_equal(query(evd).cno_handle, b);
	assert_dat_ok(V(evd_modify_cno)(evd, DAT_HANDLE_NULL));
	assert_null(query(evd).cno_handle);
	assert_dat_ok(V(cno_free)(b));
}

static void evd_free__in_use(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_PSP_HANDLE psp;

	world_eps(w);
	assert_refused(V(evd_free)(s->recv_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_refused(V(evd_free)(s->req_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_refused(V(evd_free)(s->conn_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL, s->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	assert_refused(V(evd_free)(s->cr_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_dat_ok(V(psp_free)(psp));
	assert_dat_ok(V(evd_free)(s->cr_evd));
	assert_dat_ok(V(ep_free)(s->ep));
	assert_dat_ok(V(evd_free)(s->recv_evd));
	assert_dat_ok(V(evd_free)(s->req_evd));
	assert_dat_ok(V(evd_free)(s->conn_evd));
}

static void evd_free__with_events(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = world_evd(w->server.ia, STREAMS_ALL);

	for (uintptr_t i = 0; i < 20; i++)
		world_post_se(evd, (void *)i);
	assert_dat_ok(V(evd_free)(evd));
	assert_refused(V(evd_free)(evd), DAPL_ERR(DAT_INVALID_HANDLE, 0));
}

/* ----------------------------------------------- resize */

static void evd_resize__software(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = world_evd(w->server.ia, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (uintptr_t i = 0; i < WORLD_QLEN; i++)
		world_post_se(evd, (void *)i);
	assert_refused(V(evd_resize)(evd, WORLD_QLEN - 1),
		       DAPL_ERR(DAT_INVALID_STATE, 0));
	assert_int_equal(query(evd).evd_qlen, WORLD_QLEN);
	assert_dat_ok(V(evd_resize)(evd, WORLD_QLEN));
	assert_dat_ok(V(evd_resize)(evd, 200));
	assert_int_equal(query(evd).evd_qlen, 200);
	for (uintptr_t i = WORLD_QLEN; i < 200; i++)
		world_post_se(evd, (void *)i);
	assert_refused(V(evd_post_se)(evd, &ev), DAPL_ERR(DAT_QUEUE_FULL, 0));
	for (uintptr_t i = 0; i < 190; i++)
		assert_ptr_equal(next_se(evd), (void *)i);
	assert_dat_ok(V(evd_resize)(evd, 10));
	assert_refused(V(evd_post_se)(evd, &ev), DAPL_ERR(DAT_QUEUE_FULL, 0));
	for (uintptr_t i = 190; i < 200; i++)
		assert_ptr_equal(next_se(evd), (void *)i);
	expect_empty(evd);
}

static void evd_resize__too_long(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = w->server.recv_evd;

	assert_refused(V(evd_resize)(evd, 8193), DAPL_NO_RES(TEVD));
	assert_int_equal(query(evd).evd_qlen, WORLD_QLEN);
}

static void evd_resize__device_fails(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = w->server.recv_evd;
	DAT_RETURN ret;

	fv_fail_at(1, ENOMEM);
	ret = V(evd_resize)(evd, 500);
	assert_int_equal(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
	assert_int_equal(query(evd).evd_qlen, WORLD_QLEN);
	assert_dat_ok(V(evd_resize)(evd, 500));
	assert_int_equal(query(evd).evd_qlen, 500);
}

static void evd_resize__device_cannot(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = w->server.recv_evd;

	no_resize = true;
	assert_refused(V(evd_resize)(evd, 500),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	/* What it has is enough for less. */
	assert_dat_ok(V(evd_resize)(evd, 5));
	no_resize = false;
	assert_int_equal(query(evd).evd_qlen, WORLD_QLEN);
}

/* Completions in the queue survive a growing and a shrinking. */
static void evd_resize__with_completions(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = w->client.req_evd;

	world_connect(w);
	for (uint64_t i = 0; i < 8; i++)
		world_recv(&w->server, 0, 64, i);
	for (uint64_t i = 0; i < 8; i++)
		world_send(&w->client, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
	world_until(fv_cq_depth(((struct dapl_evd *)evd)->cq) == 8);
	assert_refused(V(evd_resize)(evd, 4), DAPL_ERR(DAT_INVALID_STATE, 0));
	assert_dat_ok(V(evd_resize)(evd, 300));
	expect_dto(evd, 0, DAT_DTO_SUCCESS);
	assert_dat_ok(V(evd_resize)(evd, 40));
	for (uint64_t i = 1; i < 8; i++)
		expect_dto(evd, i, DAT_DTO_SUCCESS);
	expect_empty(evd);
}

/* ------------------------------------------- overflow */

/* More events than the length of the queue: all of them come, and one alarm. */
static void evd_overflow__connection_events(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	assert_dat_ok(
		V(evd_create)(s->ia, 2, NULL, DAT_EVD_CONNECTION_FLAG, &evd));
	w->client.conn_evd = world_evd(w->client.ia, DAT_EVD_CONNECTION_FLAG);
	s->conn_evd = evd;
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL, s->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < 5; i++) {
		assert_dat_ok(V(ep_connect)(
			world_ep(&w->client, NULL), world_addr(), WORLD_QUAL,
			WORLD_PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			DAT_CONNECT_DEFAULT_FLAG));
		ev = expect_event(s->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
		assert_dat_ok(V(cr_accept)(
			ev.event_data.cr_arrival_event_data.cr_handle,
			world_ep(s, NULL), 0, NULL));
		expect_event(w->client.conn_evd,
			     DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	ev = expect_event(s->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	assert_ptr_equal(ev.event_data.asynch_error_event_data.dat_handle, evd);
	assert_int_equal(ev.event_data.asynch_error_event_data.reason,
			 DAT_EVD_OVERFLOW_ERROR);
	for (int i = 0; i < 5; i++)
		expect_event(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_empty(evd);
	expect_empty(s->async_evd);
}

/* Requests that wait do not take the places of others. */
static void evd_overflow__not_by_connection_requests(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	assert_dat_ok(V(evd_create)(s->ia, 2, NULL,
				    DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
				    &evd));
	s->conn_evd = evd;
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL, evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < 5; i++)
		assert_dat_ok(V(ep_connect)(
			world_ep(&w->client, NULL), world_addr(), WORLD_QUAL,
			WORLD_PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			DAT_CONNECT_DEFAULT_FLAG));
	/* Two ends of connections and three requests: as many as fit. */
	for (int i = 0, requests = 0; i < 7; i++) {
		ev = next_event(evd, WORLD_PATIENCE_US);
		if (ev.event_number != DAT_CONNECTION_REQUEST_EVENT ||
		    requests++ >= 2)
			continue;
		assert_dat_ok(V(cr_accept)(
			ev.event_data.cr_arrival_event_data.cr_handle,
			world_ep(s, NULL), 0, NULL));
		expect_event(w->client.conn_evd,
			     DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	expect_empty(evd);
	expect_empty(s->async_evd);
}

/* The device gives the queue up: one alarm, whoever notices first. */
static void evd_overflow__completion_queue(void **state)
{
	struct world *w = *state;
	struct dapl_evd *evd = (struct dapl_evd *)w->server.recv_evd;
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS};
	DAT_EVENT ev;

	for (int i = 0; i <= WORLD_QLEN; i++)
		fv_cq_push(evd->cq, &wc, false);
	ev = expect_event(w->server.async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	assert_ptr_equal(ev.event_data.asynch_error_event_data.dat_handle, evd);
	/* They are none of ours: only the device may look at them. */
	for (int i = 0; i < WORLD_QLEN; i++)
		assert_int_equal(ibv_poll_cq(evd->cq, 1, &wc), 1);
	expect_empty(w->server.recv_evd);
	expect_empty(w->server.recv_evd);
	expect_empty(w->server.async_evd);
}

/* ----------------------------------- room for completions */

static void ep_with(struct world_side *s, DAT_EVD_HANDLE evd, DAT_COUNT recvs,
		    DAT_COUNT sends, DAT_EP_HANDLE *ret_ep)
{
	DAT_EP_ATTR attr = world_ep_attr(s);

	attr.max_recv_dtos = recvs;
	attr.max_request_dtos = sends;
	assert_dat_ok(V(ep_create)(s->ia, s->pz, evd, evd, s->conn_evd, &attr,
				   ret_ep));
}

static void ep_create__grows_the_queue(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep[8];
	struct ibv_cq *cq;

	assert_dat_ok(V(evd_create)(s->ia, 1, NULL, DAT_EVD_DTO_FLAG, &evd));
	cq = ((struct dapl_evd *)evd)->cq;
	for (int i = 0; i < 8; i++) {
		ep_with(s, evd, 20, 20, &ep[i]);
		assert_true(cq->cqe >= 40 * (i + 1));
		assert_true(query(evd).evd_qlen >= cq->cqe);
	}
	for (int i = 0; i < 8; i++)
		assert_dat_ok(V(ep_free)(ep[i]));
	assert_dat_ok(V(evd_free)(evd));
}

static void ep_create__nth_failure_gives_room_back(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	struct dapl_evd *evd = (struct dapl_evd *)s->recv_evd;
	DAT_EP_HANDLE ep;

	assert_nth_failure(V(ep_create)(s->ia, s->pz, s->recv_evd, s->recv_evd,
					s->conn_evd, NULL, &ep),
			   assert_dat_ok(V(ep_free)(ep)));
	assert_int_equal(evd->users_dto, 0);
	assert_int_equal(evd->cq_reserved, 0);
	assert_dat_ok(V(evd_free)(s->recv_evd));
}

/* Credits are few: also the suppressed requests bring theirs back. */
static void ep_post__credits_of_suppressed_requests(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);
	DAT_RMR_TRIPLET to = world_target(&w->client, 0, 64);
	DAT_EP_HANDLE first, second;
	DAT_EVD_HANDLE evd;

	no_resize = true;
	assert_dat_ok(V(evd_create)(s->ia, 40, NULL, DAT_EVD_DTO_FLAG, &evd));
	ep_with(s, evd, 16, 16, &first);
	ep_with(s, evd, 16, 16, &second);
	world_connect_pair(w, second,
			   w->client.ep = world_ep(&w->client, NULL));
	for (int i = 0; i < 1000; i++)
		assert_dat_ok(V(ep_post_rdma_write)(
			second, 1, &seg, world_cookie(1), &to,
			DAT_COMPLETION_SUPPRESS_FLAG));
	expect_empty(evd);
	assert_dat_ok(V(ep_free)(second));
	assert_dat_ok(V(ep_free)(first));
	no_resize = false;
}

/*
 * A queue of 40 that cannot grow, for two EPs of 16 and 16 requests: posts are
 * refused before it overruns, and go on as soon as events were taken.
 */
static void ep_post__credits_of_a_fixed_queue(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);
	DAT_EP_HANDLE first, second;
	DAT_EVD_HANDLE evd;
	int posted = 0;
	DAT_RETURN ret;

	no_resize = true;
	assert_dat_ok(V(evd_create)(s->ia, 40, NULL, DAT_EVD_DTO_FLAG, &evd));
	ep_with(s, evd, 16, 16, &first);
	ep_with(s, evd, 16, 16, &second);
	assert_int_equal(query(evd).evd_qlen, 40);
	for (ret = DAT_SUCCESS; posted < 17; posted++) {
		ret = V(ep_post_recv)(second, 1, &seg, world_cookie(posted),
				      DAT_COMPLETION_DEFAULT_FLAG);
		if (ret != DAT_SUCCESS)
			break;
	}
	assert_in_range(posted, 1, 8);
	assert_int_equal(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	/* The other one has what it was promised. */
	for (int i = 0; i < 16; i++)
		assert_dat_ok(V(ep_post_recv)(first, 1, &seg, world_cookie(100),
					      DAT_COMPLETION_DEFAULT_FLAG));
	world_connect_pair(w, second,
			   w->client.ep = world_ep(&w->client, NULL));
	world_send(&w->client, 0, 64, 7, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(evd, 0, DAT_DTO_SUCCESS);
	assert_dat_ok(V(ep_post_recv)(second, 1, &seg, world_cookie(50),
				      DAT_COMPLETION_DEFAULT_FLAG));
	assert_int_not_equal(V(ep_post_recv)(second, 1, &seg, world_cookie(51),
					     DAT_COMPLETION_DEFAULT_FLAG),
			     DAT_SUCCESS);
	assert_dat_ok(V(ep_free)(second));
	assert_dat_ok(V(ep_free)(first));
	expect_empty(s->async_evd);
	/* The room is whole again. */
	ep_with(s, evd, 18, 18, &first);
	for (int i = 0; i < 18; i++)
		assert_dat_ok(V(ep_post_recv)(first, 1, &seg, world_cookie(1),
					      DAT_COMPLETION_DEFAULT_FLAG));
	assert_dat_ok(V(ep_free)(first));
	assert_dat_ok(V(evd_free)(evd));
	no_resize = false;
}

/* More endpoints than there are promises of room: they can be made. */
static void ep_create__many_on_a_fixed_queue(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);
	DAT_EP_HANDLE ep[300];
	DAT_EVD_HANDLE evd;

	no_resize = true;
	assert_dat_ok(V(evd_create)(s->ia, 40, NULL, DAT_EVD_DTO_FLAG, &evd));
	for (int i = 0; i < 300; i++)
		ep_with(s, evd, 16, 16, &ep[i]);
	for (int i = 0; i < 300; i++)
		assert_dat_ok(V(ep_post_recv)(ep[i], 1, &seg, world_cookie(1),
					      DAT_COMPLETION_DEFAULT_FLAG));
	for (int i = 0; i < 300; i++)
		assert_dat_ok(V(ep_free)(ep[i]));
	assert_dat_ok(V(evd_free)(evd));
	no_resize = false;
}

/* ------------------------------------- streams that share */

/* From here on the ring of an EVD finds no memory, or finds it again. */
static bool no_memory;

void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return no_memory ? NULL : __real_reallocarray(p, n, size);
}

#define MANY 40 /* more completions than a ring begins with */

/* MANY receives are posted on the connected server. */
static void post_receives(struct world *w)
{
	DAT_EP_ATTR attr = world_ep_attr(&w->server);

	attr.max_recv_dtos = MANY;
	attr.max_request_dtos = MANY;
	w->server.ep = world_ep(&w->server, &attr);
	w->client.ep = world_ep(&w->client, &attr);
	world_connect(w);
	for (uint64_t i = 0; i < MANY; i++)
		world_recv(&w->server, 0, 8, i);
}

/* And their completions lie in the server's completion queue. */
static void receive_many(struct world *w)
{
	post_receives(w);
	for (uint64_t i = 0; i < MANY; i++)
		world_send(&w->client, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG);
}

static void expect_many(struct world *w)
{
	for (uint64_t i = 0; i < MANY; i++)
		expect_dto(w->server.recv_evd, i, DAT_DTO_SUCCESS);
	expect_empty(w->server.recv_evd);
}

/* The end of a queue pair needs no memory to keep what has arrived. */
static void ep_reset__no_memory_loses_nothing(void **state)
{
	struct world *w = *state;

	receive_many(w);
	assert_dat_ok(V(ep_disconnect)(w->server.ep, DAT_CLOSE_ABRUPT_FLAG));
	no_memory = true;
	assert_dat_ok(V(ep_reset)(w->server.ep));
	no_memory = false;
	expect_many(w);
}

/* Nor to tell of what has not been heard of. */
static void ep_reset__no_memory_for_flushes(void **state)
{
	struct world *w = *state;

	fv_device_cfg_get(w->dev)->flushes_late = true;
	post_receives(w);
	assert_dat_ok(V(ep_disconnect)(w->server.ep, DAT_CLOSE_ABRUPT_FLAG));
	no_memory = true;
	assert_dat_ok(V(ep_reset)(w->server.ep));
	no_memory = false;
	for (uint64_t i = 0; i < MANY; i++)
		expect_dto(w->server.recv_evd, i, DAT_DTO_ERR_FLUSHED);
	expect_empty(w->server.recv_evd);
}

/* Nor does a waiter lose what he cannot gather. */
static void evd_wait__no_memory_loses_nothing(void **state)
{
	struct world *w = *state;
	DAT_COUNT more;
	DAT_EVENT ev;

	receive_many(w);
	no_memory = true;
	assert_refused(V(evd_wait)(w->server.recv_evd, WORLD_PATIENCE_US, MANY,
				   &ev, &more),
		       DAPL_NO_MEM);
	no_memory = false;
	expect_many(w);
}

static void ep_create__no_memory_for_the_ring(void **state)
{
	struct world *w = *state;
	DAT_EP_HANDLE ep = NULL;
	struct world_side *s = &w->server;
	unsigned live = fv_live();

	no_memory = true;
	assert_refused(V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd,
				    s->conn_evd, NULL, &ep),
		       DAPL_NO_MEM);
	no_memory = false;
	assert_int_equal(fv_live(), live);
	world_connect(w);
}

/* N errors of the server's port, all taken by the service thread. */
static void port_errors(struct world *w, int n)
{
	struct dapl_ia *ia = (struct dapl_ia *)w->server.ia;
	struct pollfd pfd = {.fd = ia->dev.ctx->async_fd, .events = POLLIN};

	for (int i = 0; i < n; i++)
		fv_inject_async(ia->dev.ctx, IBV_EVENT_PORT_ERR, ia->dev.port);
	world_until(!poll(&pfd, 1, 0));
	dapl_loop_barrier(ia->loop);
}

/* Nobody reads it, the device goes on: it is full, and says so once. */
static void async_evd__is_bounded(void **state)
{
	struct world *w = *state;
	struct dapl_evd *evd = (struct dapl_evd *)w->server.async_evd;
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT ev;

	for (int round = 0; round < 2; round++) {
		port_errors(w, 3 * evd->qlen);
		for (int i = 0; i < evd->qlen; i++)
			expect_event(w->server.async_evd,
				     DAT_ASYNC_ERROR_IA_CATASTROPHIC);
		ev = expect_event(w->server.async_evd,
				  DAT_ASYNC_ERROR_EVD_OVERFLOW);
		data = &ev.event_data.asynch_error_event_data;
		assert_ptr_equal(data->dat_handle, w->server.async_evd);
		expect_empty(w->server.async_evd);
	}
}

static void merged_streams__all_on_one(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EVD_HANDLE all = world_evd(s->ia, STREAMS_ALL);
	DAT_EVENT ev;
	DAT_PSP_HANDLE psp;

	s->recv_evd = s->req_evd = s->conn_evd = all;
	world_eps(w);
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL, all,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	world_recv(s, 0, 64, 1);
	world_post_se(all, w);
	assert_dat_ok(V(ep_connect)(
		w->client.ep, world_addr(), WORLD_QUAL, WORLD_PATIENCE_US, 0,
		NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	expect_event(all, DAT_SOFTWARE_EVENT);
	ev = expect_event(all, DAT_CONNECTION_REQUEST_EVENT);
	assert_dat_ok(V(cr_accept)(
		ev.event_data.cr_arrival_event_data.cr_handle, s->ep, 0, NULL));
	expect_event(all, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_event(w->client.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	world_send(&w->client, 0, 64, 9, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(all, 1, DAT_DTO_SUCCESS);
	world_recv(&w->client, 0, 64, 3);
	world_send(s, 0, 64, 4, DAT_COMPLETION_DEFAULT_FLAG);
	expect_dto(all, 4, DAT_DTO_SUCCESS);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_event(all, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(all);
}

/* One EVD for both directions of two EPs that talk to each other. */
static void merged_streams__two_eps(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EVENT ev;
	unsigned sends = 0, recvs = 0;

	s->req_evd = s->recv_evd;
	world_connect(w);
	for (int i = 0; i < 8; i++) {
		world_recv(s, 64 * (size_t)i, 64, 100);
		world_recv(&w->client, 64 * (size_t)i, 64, 100);
	}
	for (int i = 0; i < 8; i++) {
		world_send(s, 0, 64, 200, DAT_COMPLETION_DEFAULT_FLAG);
		world_send(&w->client, 0, 64, 200, DAT_COMPLETION_DEFAULT_FLAG);
	}
	for (int i = 0; i < 16; i++) {
		ev = expect_event(s->recv_evd, DAT_DTO_COMPLETION_EVENT);
		if (ev.event_data.dto_completion_event_data.user_cookie.as_64 ==
		    100)
			recvs++;
		else
			sends++;
	}
	assert_int_equal(recvs, 8);
	assert_int_equal(sends, 8);
	expect_empty(s->recv_evd);
}

/* ------------------------------------------------ threads */

struct poster {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	uintptr_t base;
};

#define POSTS 500

/*
 * A server whose one EVD has everything, with four receives posted, two of
 * which have been used by messages that nobody has read.
 */
static void two_messages(struct world *w, DAT_CNO_HANDLE cno, bool late)
{
	struct world_side *s = &w->server;

	s->recv_evd = s->req_evd = s->conn_evd = world_evd_cno(
		s->ia, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, cno);
	world_connect(w);
	fv_device_cfg_get(w->dev)->late_completions = late;
	for (uint64_t i = 0; i < 4; i++)
		world_recv(s, 0, 64, i);
	for (uint64_t i = 0; i < 2; i++)
		world_send(&w->client, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Both messages, and some time after them the end of the connection. */
static void expect_messages_and_end(struct world *w)
{
	DAT_EVD_HANDLE evd = w->server.recv_evd;
	DAT_EVENT ev;

	expect_dto(evd, 0, DAT_DTO_SUCCESS);
	expect_dto(evd, 1, DAT_DTO_SUCCESS);
	do
		ev = next_event(evd, WORLD_PATIENCE_US);
	while (ev.event_number == DAT_DTO_COMPLETION_EVENT);
	assert_int_equal(ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void check_data_before_the_end(struct world *w, bool late)
{
	/* Ours, which is there when the call returns. */
	two_messages(w, DAT_HANDLE_NULL, late);
	assert_dat_ok(V(ep_disconnect)(w->server.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_messages_and_end(w);
	/* The peer's, which is there when the client has been told as well. */
	w->server.ep = w->client.ep = NULL;
	expect_event(w->client.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	two_messages(w, DAT_HANDLE_NULL, late);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
	world_until(world_ep_state(w->server.ep) == DAT_EP_STATE_DISCONNECTED);
	expect_messages_and_end(w);
}

static void merged_streams__data_before_the_end(void **state)
{
	check_data_before_the_end(*state, false);
}

static void merged_streams__late_data_before_the_end(void **state)
{
	check_data_before_the_end(*state, true);
}

struct gatherer {
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	DAT_EVENT ev;
	DAT_COUNT more;
};

static void *gather_three(void *arg)
{
	struct gatherer *g = arg;

	g->ret = V(evd_wait)(g->evd, WORLD_PATIENCE_US, 3, &g->ev, &g->more);
	return NULL;
}

/* Who waits for as many events as the end brings along is woken by it. */
static void merged_streams__the_end_wakes(void **state)
{
	struct world *w = *state;
	struct gatherer g;
	pthread_t thread;

	two_messages(w, DAT_HANDLE_NULL, true);
	g.evd = w->server.recv_evd;
	assert_int_equal(pthread_create(&thread, NULL, gather_three, &g), 0);
	world_until(__atomic_load_n(&((struct dapl_evd *)g.evd)->waiting,
				    __ATOMIC_ACQUIRE));
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
	pthread_join(thread, NULL);
	assert_int_equal(g.ret, DAT_SUCCESS);
	assert_true(g.more >= 2);
	assert_int_equal(g.ev.event_number, DAT_DTO_COMPLETION_EVENT);
	assert_int_equal(
		g.ev.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	expect_dto(g.evd, 1, DAT_DTO_SUCCESS);
}

static void merged_streams__the_end_triggers(void **state)
{
	static const DAT_OS_WAIT_PROXY_AGENT no_agent;
	struct world *w = *state;
	DAT_CNO_HANDLE cno = NULL;
	DAT_EVD_HANDLE got = NULL;

	assert_dat_ok(V(cno_create)(w->server.ia, no_agent, &cno));
	two_messages(w, cno, true);
	/* That of the connection, if nobody slept on the EVD when it came. */
	V(cno_wait)(cno, 0, &got);
	assert_dat_ok(V(ep_disconnect)(w->client.ep, DAT_CLOSE_ABRUPT_FLAG));
	assert_dat_ok(V(cno_wait)(cno, WORLD_PATIENCE_US, &got));
	assert_ptr_equal(got, w->server.recv_evd);
	expect_messages_and_end(w);
}

static void *post_many(void *arg)
{
	struct poster *p = arg;
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (uintptr_t i = 0; i < POSTS;) {
		ev.event_data.software_event_data.pointer =
			(void *)(p->base + i);
		if (V(evd_post_se)(p->evd, &ev) == DAT_SUCCESS)
			i++;
		else
			sched_yield(); /* full: the reader is at it */
	}
	return NULL;
}

static void evd_post_se__threads(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE evd = world_evd(w->server.ia, DAT_EVD_SOFTWARE_FLAG);
	struct poster p[3];
	uintptr_t next[3] = {0};

	for (uintptr_t i = 0; i < 3; i++) {
		p[i].evd = evd;
		p[i].base = i << 16;
		pthread_create(&p[i].thread, NULL, post_many, &p[i]);
	}
	for (int n = 0; n < 3 * POSTS; n++) {
		DAT_EVENT ev = expect_event(evd, DAT_SOFTWARE_EVENT);
		uintptr_t v =
			(uintptr_t)ev.event_data.software_event_data.pointer;

		/* Nothing lost, nothing twice, each thread's in its order. */
		assert_int_equal(v & 0xffff, next[v >> 16]++);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(p[i].thread, NULL);
	expect_empty(evd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ib_test(evd_create__query),
		ib_test(evd_create__any_streams),
		ib_test(evd_create__too_long),
		ib_test(evd_create__nth_failure),
		iwarp_test(evd_create__nth_failure),
		ib_test(evd_create__largest),
		ib_test(evd_post_se__ring_turns_and_grows),
		ib_test(evd_post_se__full_then_goes_on),
		ib_test(evd_dequeue__unwaitable_and_disabled),
		ib_test(evd_switches__state),
		ib_test(evd_modify_cno__query),
		ib_test(evd_free__in_use),
		ib_test(evd_free__with_events),
		ib_test(evd_resize__software),
		ib_test(evd_resize__too_long),
		ib_test(evd_resize__device_fails),
		ib_test(evd_resize__device_cannot),
		ib_test(evd_resize__with_completions),
		ib_test(evd_overflow__connection_events),
		ib_test(evd_overflow__not_by_connection_requests),
		ib_test(evd_overflow__completion_queue),
		ib_test(ep_create__grows_the_queue),
		ib_test(ep_create__nth_failure_gives_room_back),
		ib_test(ep_post__credits_of_a_fixed_queue),
		ib_test(ep_post__credits_of_suppressed_requests),
		iwarp_test(ep_create__many_on_a_fixed_queue),
		ib_test(ep_reset__no_memory_loses_nothing),
		ib_test(ep_reset__no_memory_for_flushes),
		ib_test(evd_wait__no_memory_loses_nothing),
		ib_test(ep_create__no_memory_for_the_ring),
		ib_test(async_evd__is_bounded),
		ib_test(merged_streams__all_on_one),
		iwarp_test(merged_streams__all_on_one),
		ib_test(merged_streams__two_eps),
		ib_test(merged_streams__data_before_the_end),
		iwarp_test(merged_streams__data_before_the_end),
		ib_test(merged_streams__late_data_before_the_end),
		ib_test(merged_streams__the_end_wakes),
		ib_test(merged_streams__the_end_triggers),
		ib_test(evd_post_se__threads),
	};

	return world_run(tests);
}
