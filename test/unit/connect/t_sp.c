/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_sp.c - service points: dat_psp_*, dat_rsp_*, dat_csp_*.
 *
 * What becomes of a request is in t_cr.c.
 * Rules: DAT 2.0 dat_psp_*, dat_rsp_*, in the order of their errors.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#include "dapl/common/event/dapl_evd.h"
#include "test/unit/kit.h"

static DAT_RETURN psp_create(struct world_side *s, DAT_CONN_QUAL qual,
			     DAT_PSP_HANDLE *ret_psp)
{
	return V(psp_create)(s->ia, qual, s->cr_evd, DAT_PSP_CONSUMER_FLAG,
			     ret_psp);
}

/* ----------------------------------------------------- PSP */

static void psp_create__refused_keeps_nothing(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_PSP_HANDLE psp = (DAT_PSP_HANDLE)w;

	assert_refused(V(psp_create)(s->ia, WORLD_QUAL, s->cr_evd,
				     (DAT_PSP_FLAGS)7, &psp),
		       DAPL_BAD_ARG(4));
	assert_refused(psp_create(s, 0, &psp), DAPL_BAD_ARG(2));
	assert_ptr_equal(psp, w);
	assert_dat_ok(V(evd_free)(s->cr_evd));
}

static void psp_create__nth_failure(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_PSP_HANDLE psp;

	for (unsigned n = 1;; n++) {
		unsigned live = fv_live();
		DAT_RETURN ret;

		assert_in_range(n, 1, 20);
		fv_fail_at(n, ENOMEM);
		ret = psp_create(s, 5000, &psp);
		fv_fail_at(0, 0);
		if (ret == DAT_SUCCESS)
			break;
		assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
		assert_string_not_equal(dapl__fail_text(), "");
		assert_int_equal(fv_live(), live);
		assert_dat_ok(psp_create(s, 5000, &psp));
		assert_dat_ok(V(psp_free)(psp));
	}
	assert_refused(V(evd_free)(s->cr_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_dat_ok(V(psp_free)(psp));
	assert_dat_ok(V(evd_free)(s->cr_evd));
}

/* A failure that is not "taken" ends the search at once. */
static void psp_create_any__no_memory(void **state)
{
	struct world *w = *state;
	DAT_CONN_QUAL qual = 7;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	fv_fail_call("rdma_listen", 1, ENOMEM);
	ret = V(psp_create_any)(w->server.ia, &qual, w->server.cr_evd, 0, &psp);
	fv_fail_at(0, 0);
	assert_int_equal(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	assert_int_equal(qual, 7);
}

static void psp__many_requests(void **state)
{
	struct world *w = *state;
	DAT_EP_HANDLE client[8], server[8];
	DAT_CR_HANDLE cr[8];
	DAT_EVENT ev;

	kit_listen(w);
	for (int i = 0; i < 8; i++) {
		client[i] = world_ep(&w->client, NULL);
		server[i] = world_ep(&w->server, NULL);
		assert_dat_ok(
			kit_connect(client[i], DAT_TIMEOUT_INFINITE, NULL, 0));
	}
	for (int i = 0; i < 8; i++)
		cr[i] = kit_request(w);
	for (int i = 7; i >= 0; i--)
		assert_dat_ok(V(cr_accept)(cr[i], server[i], 0, NULL));
	for (int i = 0; i < 8; i++) {
		ev = expect_event(w->client.conn_evd,
				  DAT_CONNECTION_EVENT_ESTABLISHED);
		kit_state(ev.event_data.connect_event_data.ep_handle,
			  DAT_EP_STATE_CONNECTED);
		expect_event(w->server.conn_evd,
			     DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	expect_empty(w->client.conn_evd);
	expect_empty(w->server.conn_evd);
}

/* An SRQ is chosen when an endpoint is created, and never later. */
static void psp_create__provider_endpoint_has_no_srq(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_EP_PARAM param;
	DAT_SRQ_HANDLE srq;

	kit_listen_provider(w);
	w->client.ep = world_ep(&w->client, NULL);
	s->ep = kit_brought(kit_meet(w));
	assert_dat_ok(V(srq_create)(s->ia, s->pz, &attr, &srq));
	param = kit_query(s->ep);
	assert_null(param.srq_handle);
	param.srq_handle = srq;
	assert_refused(V(ep_modify)(s->ep, DAT_EP_FIELD_SRQ_HANDLE, &param),
		       DAPL_BAD_ARG(2));
}

/* A request that was delivered stays valid, with its endpoint. */
/* Closing takes the endpoint of an unanswered request along. */
static void ia_close__provider_endpoint_pending(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EP_HANDLE bare, furnished;

	kit_listen_provider(w);
	w->client.ep = world_ep(&w->client, NULL);
	bare = kit_brought(kit_meet(w));
	w->client.ep = world_ep(&w->client, NULL);
	furnished = kit_brought(kit_meet(w));
	assert_dat_ok(kit_furnish(s, furnished));
	s->ep = furnished;
	world_recv(s, 0, 64, 1);
	assert_refused(V(ia_close)(s->ia, DAT_CLOSE_GRACEFUL_FLAG),
		       DAPL_BAD_STATE(IA_IN_USE));
	assert_dat_ok(V(ia_close)(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	world_forget_ia(s->ia);
	s->ia = DAT_HANDLE_NULL;
	assert_refused(V(ep_free)(bare), DAPL_BAD_HANDLE(EP));
	assert_refused(V(ep_free)(furnished), DAPL_BAD_HANDLE(EP));
}

/* ----------------------------------------------------- RSP */

static void rsp_create__nth_failure(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_RSP_HANDLE rsp;
	DAT_RETURN ret;

	world_eps(w);
	for (unsigned n = 1;; n++) {
		unsigned live = fv_live();

		assert_in_range(n, 1, 20);
		fv_fail_at(n, ENOMEM);
		ret = V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &rsp);
		fv_fail_at(0, 0);
		if (ret == DAT_SUCCESS)
			break;
		assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
		assert_int_equal(fv_live(), live);
		kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
	}
	kit_state(s->ep, DAT_EP_STATE_RESERVED);
}

/* Where the service thread can be held that is about to post a request. */
static int held_post; /* atomic; 1: hold it, 2: it is held, 0: let it go */

bool __real_dapl_evd_post(struct dapl_evd *evd, const DAT_EVENT *event);
bool __wrap_dapl_evd_post(struct dapl_evd *evd, const DAT_EVENT *event);

bool __wrap_dapl_evd_post(struct dapl_evd *evd, const DAT_EVENT *event)
{
	int one = 1;

	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT &&
	    __atomic_compare_exchange_n(&held_post, &one, 2, 0,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&held_post, __ATOMIC_ACQUIRE))
			world_pause();
	return __real_dapl_evd_post(evd, event);
}

struct freeing {
	DAT_RSP_HANDLE rsp;
	DAT_EVD_HANDLE evd;
	pid_t tid; /* atomic */
	DAT_RETURN ret;
	DAT_RETURN dequeued; /* right after it */
	DAT_EVENT ev;
	bool over; /* atomic */
};

static void *free_and_look(void *arg)
{
	struct freeing *f = arg;

	__atomic_store_n(&f->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	f->ret = V(rsp_free)(f->rsp);
	f->dequeued = V(evd_dequeue)(f->evd, &f->ev);
	__atomic_store_n(&f->over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The RSP that its request has used up is free when the event is there. */
static void rsp_free__while_its_request_arrives(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	struct freeing f = {.evd = s->cr_evd};
	pthread_t thread;

	world_eps(w);
	assert_dat_ok(
		V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &f.rsp));
	__atomic_store_n(&held_post, 1, __ATOMIC_RELEASE);
	kit_ask(w);
	world_until(__atomic_load_n(&held_post, __ATOMIC_ACQUIRE) == 2);
	assert_int_equal(pthread_create(&thread, NULL, free_and_look, &f), 0);
	world_until(__atomic_load_n(&f.over, __ATOMIC_ACQUIRE) ||
		    world_thread_is(__atomic_load_n(&f.tid, __ATOMIC_ACQUIRE),
				    'S'));
	__atomic_store_n(&held_post, 0, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(f.ret, DAT_SUCCESS);
	assert_int_equal(f.dequeued, DAT_SUCCESS);
	assert_int_equal(f.ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
	assert_dat_ok(V(cr_reject)(
		f.ev.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	assert_refused(V(rsp_free)(f.rsp), DAPL_BAD_HANDLE(RSP));
}

/* The qualifier is free when the consumer hears of the request. */
static void rsp__listens_again_at_once(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_RSP_HANDLE rsp;

	for (int i = 0; i < 20; i++) {
		assert_dat_ok(V(rsp_create)(s->ia, WORLD_QUAL, DAT_HANDLE_NULL,
					    s->cr_evd, &rsp));
		w->client.ep = world_ep(&w->client, NULL);
		kit_meet(w);
	}
}

static void rsp_provider__never_asked(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_RSP_HANDLE rsp;

	assert_nth_failure(V(rsp_create)(s->ia, WORLD_QUAL, DAT_HANDLE_NULL,
					 s->cr_evd, &rsp),
			   assert_dat_ok(V(rsp_free)(rsp)));
	assert_dat_ok(V(evd_free)(s->cr_evd));
}

static void rsp_provider__rejected(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;

	assert_dat_ok(V(rsp_create)(s->ia, WORLD_QUAL, DAT_HANDLE_NULL,
				    s->cr_evd, &rsp));
	w->client.ep = world_ep(&w->client, NULL);
	cr = kit_meet(w);
	ep = kit_brought(cr);
	assert_dat_ok(V(cr_reject)(cr, 0, NULL));
	assert_refused(V(ep_free)(ep), DAPL_BAD_HANDLE(EP));
	kit_conn(&w->client, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/* ----------------------------------------------------- CSP */

static void csp__life(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};
	DAT_COMM odd = {.domain = AF_INET, .type = SOCK_DGRAM};
	struct sockaddr_in addr = *(struct sockaddr_in *)world_addr();
	DAT_IA_ADDRESS_PTR at = (DAT_IA_ADDRESS_PTR)&addr;
	DAT_CSP_HANDLE csp, other;
	DAT_CSP_PARAM param;

	addr.sin_port = htons(WORLD_QUAL);
#define CREATE(comm, at, evd, ret) V(csp_create)(s->ia, comm, at, evd, ret)
	assert_refused(CREATE(&odd, at, s->cr_evd, &csp),
		       DAPL_ERR(DAT_COMM_NOT_SUPPORTED, 0));
	assert_dat_ok(CREATE(&comm, at, s->cr_evd, &csp));
	assert_refused(CREATE(&comm, at, s->cr_evd, &other),
		       DAPL_ERR(DAT_PORT_IN_USE, 0));
#undef CREATE
	assert_dat_ok(V(csp_query)(csp, DAT_CSP_FIELD_ALL, &param));
	assert_int_equal(param.comm->domain, AF_INET);
	assert_int_equal(((struct sockaddr_in *)param.address_ptr)->sin_port,
			 addr.sin_port);
	assert_ptr_equal(param.evd_handle, s->cr_evd);
	assert_dat_ok(V(csp_free)(csp));
	assert_refused(V(csp_free)(csp), DAPL_BAD_HANDLE(CSP));
	assert_refused(V(csp_query)(csp, DAT_CSP_FIELD_ALL, &param),
		       DAPL_BAD_HANDLE(CSP));
}

static void requests__more_than_the_queue_is_long(void **state)
{
	kit_crowd(*state);
}

static void psp_create_any__all_round(void **state)
{
	kit_listen_all_round(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_ib(psp_create__refused_keeps_nothing),
		on_each(psp_create__nth_failure),
		on_ib(psp_create_any__no_memory),
		on_ib(psp_create_any__all_round),
		on_ib(requests__more_than_the_queue_is_long),
		on_each(psp__many_requests),
		on_ib(psp_create__provider_endpoint_has_no_srq),
		on_each(ia_close__provider_endpoint_pending),
		on_ib(rsp_create__nth_failure),
		on_ib(rsp_free__while_its_request_arrives),
		on_each(rsp__listens_again_at_once),
		on_ib(rsp_provider__never_asked),
		on_each(rsp_provider__rejected),
		on_ib(csp__life),
	};

	return world_run(tests);
}
