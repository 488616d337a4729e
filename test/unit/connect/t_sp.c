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

ON_IB(psp_create__refused_keeps_nothing)
{
	DAT_PSP_HANDLE psp = (DAT_PSP_HANDLE)w;

	assert_refused(V(psp_create)(s->ia, WORLD_QUAL, s->cr_evd,
				     (DAT_PSP_FLAGS)7, &psp),
		       DAPL_BAD_ARG(4));
	assert_refused(psp_create(s, 0, &psp), DAPL_BAD_ARG(2));
	assert_ptr_equal(psp, w);
	assert_dat_ok(V(evd_free)(s->cr_evd));
}

ON_EACH(psp_create__nth_failure)
{
	DAT_PSP_HANDLE psp;

	/* The qualifier is free after each failure. */
	assert_nth_failure(psp_create(s, 5000, &psp),
			   assert_dat_ok(V(psp_free)(psp)));
	assert_dat_ok(V(evd_free)(s->cr_evd));
}

/* A failure that is not "taken" ends the search at once. */
ON_IB(psp_create_any__no_memory)
{
	DAT_CONN_QUAL qual = 7;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	fv_fail_call("rdma_listen", 1, ENOMEM);
	ret = V(psp_create_any)(s->ia, &qual, s->cr_evd, 0, &psp);
	fv_fail_at(0, 0);
	assert_int_equal(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	assert_int_equal(qual, 7);
}

/* An SRQ is chosen when an endpoint is created, and never later. */
ON_IB(psp_create__provider_endpoint_has_no_srq)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_EP_PARAM param;
	DAT_SRQ_HANDLE srq;

	kit_listen_provider(w);
	c->ep = world_ep(c, NULL);
	s->ep = kit_brought(kit_meet(w));
	assert_dat_ok(V(srq_create)(s->ia, s->pz, &attr, &srq));
	param = kit_query(s->ep);
	assert_null(param.srq_handle);
	param.srq_handle = srq;
	assert_refused(V(ep_modify)(s->ep, DAT_EP_FIELD_SRQ_HANDLE, &param),
		       DAPL_BAD_ARG(2));
}

/* Closing takes the endpoint of an unanswered request along. */
ON_EACH(ia_close__provider_endpoint_pending)
{
	DAT_EP_HANDLE bare, furnished;

	kit_listen_provider(w);
	c->ep = world_ep(c, NULL);
	bare = kit_brought(kit_meet(w));
	c->ep = world_ep(c, NULL);
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

/*
 * Requests without an answer are refused, and what came with them is none of
 * the consumer's: if the event went with its EVD, he never had it.
 */
ON_EACH(ia_close__requests_have_brought_endpoints)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_IA_HANDLE ia;

	ia = world_ia_open(NULL);
	cr_evd = world_evd(ia, DAT_EVD_CR_FLAG);
	assert_dat_ok(V(psp_create)(ia, WORLD_QUAL, cr_evd,
				    DAT_PSP_PROVIDER_FLAG, &psp));
	c->ep = world_ep(c, NULL);
	kit_ask(w);
	kit_brought(world_request(cr_evd));
	assert_dat_ok(V(psp_free)(psp));
	assert_dat_ok(V(evd_free)(cr_evd));
	world_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	kit_conn(c, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* ----------------------------------------------------- RSP */

ON_IB(rsp_create__nth_failure, world_eps)
{
	DAT_RSP_HANDLE rsp;

	assert_nth_failure(
		V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &rsp),
		assert_dat_ok(V(rsp_free)(rsp)));
	kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
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
ON_IB(rsp_free__while_its_request_arrives, world_eps)
{
	struct freeing f = {.evd = s->cr_evd};
	pthread_t thread;

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
ON_EACH(rsp__listens_again_at_once)
{
	DAT_RSP_HANDLE rsp;

	for (int i = 0; i < 20; i++) {
		assert_dat_ok(V(rsp_create)(s->ia, WORLD_QUAL, DAT_HANDLE_NULL,
					    s->cr_evd, &rsp));
		c->ep = world_ep(c, NULL);
		kit_meet(w);
	}
}

ON_IB(rsp_provider__never_asked)
{
	DAT_RSP_HANDLE rsp;

	assert_nth_failure(V(rsp_create)(s->ia, WORLD_QUAL, DAT_HANDLE_NULL,
					 s->cr_evd, &rsp),
			   assert_dat_ok(V(rsp_free)(rsp)));
	assert_dat_ok(V(evd_free)(s->cr_evd));
}

/* ----------------------------------------------------- CSP */

ON_IB(csp__life)
{
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
}

ON_EACH(requests__more_than_the_queue_is_long)
{
	kit_crowd(w);
}

ON_IB(psp_create_any__all_round)
{
	kit_listen_all_round(w);
}

RUN_CASES(NULL, NULL)
