/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_cancel.c - threads that are cancelled: each call with a cancel pending,
 * and waits that are cancelled in their sleep.
 *
 * The fake device offers a cancellation point wherever a real one may enter
 * the kernel. Threads: one besides the test's, which is cancelled and joined.
 * Rule: doc/thread-safety.md, "Cancellation".
 */
#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#include "dapl/common/event/dapl_cno.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/services/dapl_cancel.h"
#include "test/unit/kit.h"

static const DAT_OS_WAIT_PROXY_AGENT no_agent;

/* What the calls below are made with, and what they make. */
static struct {
	struct world *w;
	struct world_side *s, *c;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, evd, evd2, got;
	DAT_CNO_HANDLE cno, fd_cno;
	DAT_FD fd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey, window_key;
	DAT_VLEN length;
	DAT_VADDR address;
	DAT_RMR_HANDLE rmr, rmr2;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep, srq_ep;
	DAT_PSP_HANDLE psp, psp_any;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;
	DAT_COUNT more;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET remote;
	char buf[256];
} o;

struct
try {
	const char *name;
	DAT_RETURN (*call)(void);
	DAT_RETURN ret;
	bool returned;
};

static void *run_try(void *arg)
{
	struct try *t = arg;

	pthread_cancel(pthread_self());
	t->ret = t->call();
	t->returned = true;
	pthread_testcancel();
	return NULL;
}

/* CALL returns as ever, and the thread ends where the program lets it. */
static void try(const char *name, DAT_RETURN (*call)(void), DAT_RETURN want)
{
	struct try t = {.name = name, .call = call};
	pthread_t thread;
	void *end = NULL;

	assert_int_equal(pthread_create(&thread, NULL, run_try, &t), 0);
	pthread_join(thread, &end);
	if (!t.returned)
		fail_msg("%s: the thread ended inside", name);
	if (DAT_GET_TYPE(t.ret) != DAT_GET_TYPE(want))
		fail_msg("%s: 0x%x, not 0x%x: %s", name, t.ret, want,
			 dapl__fail_text());
	assert_ptr_equal(end, PTHREAD_CANCELED);
}

static void begin(struct world *w)
{
	memset(&o, 0, sizeof(o));
	o.w = w;
	o.s = &w->server;
	o.c = &w->client;
}

#define CALL(name, expr)                    \
	static DAT_RETURN call_##name(void) \
	{                                   \
		return V(name) expr;        \
	}
#define TRY(name)	 try(#name, call_##name, DAT_SUCCESS)
#define TRY_FOR(name, x) try(#name, call_##name, x)

/* ------------------------------------------------ adapters */

CALL(ia_open, (WORLD_IA_NAME, 8, &o.async, &o.ia))
CALL(ia_close, (o.ia, DAT_CLOSE_ABRUPT_FLAG))
CALL(pz_create, (o.s->ia, &o.pz))
CALL(pz_free, (o.pz))
CALL(lmr_create,
     (o.s->ia, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = o.buf},
      sizeof(o.buf), o.pz, WORLD_PRIV_ALL, DAT_VA_TYPE_VA, &o.lmr, &o.lkey,
      &o.rkey, &o.length, &o.address))
CALL(lmr_free, (o.lmr))
CALL(rmr_create, (o.pz, &o.rmr))
CALL(rmr_create_for_ep, (o.pz, &o.rmr2))

static DAT_RETURN call_rmr_free(void)
{
	return V(rmr_free)(o.rmr) | V(rmr_free)(o.rmr2);
}

ON_EACH(calls__adapter, begin)
{
	TRY(ia_open);
	TRY(ia_close);
	TRY(pz_create);
	TRY(lmr_create);
	TRY(rmr_create);
	TRY(rmr_create_for_ep);
	TRY(rmr_free);
	TRY(lmr_free);
	TRY(pz_free);
}

/* --------------------------------------------- EVD and CNO */

CALL(cno_create, (o.s->ia, no_agent, &o.cno))
CALL(cno_fd_create, (o.s->ia, &o.fd, &o.fd_cno))
CALL(cno_modify_agent, (o.cno, no_agent))
CALL(cno_wait, (o.cno, DAT_TIMEOUT_INFINITE, &o.got))
CALL(cno_trigger, (o.fd_cno, &o.got))
CALL(cno_free, (o.cno))
CALL(evd_create,
     (o.s->ia, 8, o.cno, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &o.evd))
CALL(evd_modify_cno, (o.evd, o.fd_cno))
CALL(evd_enable, (o.evd))
CALL(evd_disable, (o.evd))
CALL(evd_set_unwaitable, (o.evd))
CALL(evd_clear_unwaitable, (o.evd))
CALL(evd_resize, (o.evd, 32))
CALL(evd_free, (o.evd))
CALL(evd_dequeue, (o.evd, &o.ev))
CALL(evd_wait, (o.evd, DAT_TIMEOUT_INFINITE, 1, &o.ev, &o.more))

static DAT_RETURN call_evd_post_se(void)
{
	DAT_EVENT se = {.event_number = DAT_SOFTWARE_EVENT};

	return V(evd_post_se)(o.evd, &se);
}

static DAT_RETURN call_evd_poll(void)
{
	return V(evd_wait)(o.evd, 0, 1, &o.ev, &o.more);
}

/* A reason is left behind, and a line logged. */
static DAT_RETURN call_a_failure(void)
{
	unsigned mask = dapl__log_mask;
	DAT_RETURN ret;

	dapl__log_mask = DAPL_LOG_ERR;
	ret = V(evd_dequeue)(o.evd, NULL);
	dapl__log_mask = mask;
	return ret;
}

ON_EACH(calls__events, begin)
{
	TRY(cno_create);
	TRY(cno_fd_create);
	TRY(cno_modify_agent);
	TRY(evd_create);
	TRY(evd_post_se);
	TRY(cno_wait);
	TRY(evd_dequeue);
	TRY_FOR(evd_dequeue, DAT_QUEUE_EMPTY);
	TRY_FOR(evd_poll, DAT_TIMEOUT_EXPIRED);
	TRY(evd_post_se);
	TRY(evd_wait);
	TRY(evd_modify_cno);
	TRY(evd_post_se);
	TRY(cno_trigger);
	TRY(evd_poll);
	TRY(evd_disable);
	TRY(evd_enable);
	TRY(evd_set_unwaitable);
	TRY(evd_clear_unwaitable);
	TRY(evd_resize);
	TRY_FOR(a_failure, DAT_INVALID_PARAMETER);
	TRY(evd_free);
	TRY(cno_free);
}

/* -------------------------------------------- connections */

CALL(ep_create, (o.s->ia, o.s->pz, o.s->recv_evd, o.s->req_evd, o.s->conn_evd,
		 NULL, &o.s->ep))
CALL(ep_free, (o.s->ep))
CALL(ep_reset, (o.s->ep))
CALL(ep_disconnect, (o.c->ep, DAT_CLOSE_ABRUPT_FLAG))
CALL(ep_connect, (o.c->ep, world_addr(), WORLD_QUAL, DAT_TIMEOUT_INFINITE, 0,
		  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG))
CALL(psp_create,
     (o.s->ia, WORLD_QUAL, o.s->cr_evd, DAT_PSP_CONSUMER_FLAG, &o.psp))
CALL(psp_create_any,
     (o.s->ia, &o.qual, o.s->cr_evd, DAT_PSP_CONSUMER_FLAG, &o.psp_any))
CALL(psp_free, (o.psp))
CALL(rsp_create, (o.s->ia, WORLD_QUAL + 1, o.s->ep, o.s->cr_evd, &o.rsp))
CALL(rsp_free, (o.rsp))
CALL(cr_accept, (o.cr, o.s->ep, 0, NULL))
CALL(cr_reject, (o.cr, 0, NULL))
CALL(cr_handoff, (o.cr, o.qual))
CALL(ep_post_recv,
     (o.s->ep, 1, &o.seg, world_cookie(1), DAT_COMPLETION_DEFAULT_FLAG))
CALL(ep_post_send,
     (o.c->ep, 1, &o.seg, world_cookie(2), DAT_COMPLETION_DEFAULT_FLAG))
CALL(ep_post_rdma_write, (o.c->ep, 1, &o.seg, world_cookie(3), &o.remote,
			  DAT_COMPLETION_DEFAULT_FLAG))
CALL(ep_post_rdma_read, (o.c->ep, 1, &o.seg, world_cookie(4), &o.remote,
			 DAT_COMPLETION_DEFAULT_FLAG))
CALL(rmr_bind, (o.rmr, o.c->mem.lmr, &o.seg, DAT_MEM_PRIV_REMOTE_READ_FLAG,
		DAT_VA_TYPE_VA, o.c->ep, world_cookie(5),
		DAT_COMPLETION_DEFAULT_FLAG, &o.window_key))

static DAT_RETURN call_ep_modify(void)
{
	DAT_EP_PARAM param = kit_query(o.s->ep);

	param.ep_attr.max_recv_dtos = 4;
	return V(ep_modify)(o.s->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
			    &param);
}

static void check_data(void)
{
	o.seg = world_seg(o.s, 0, 64);
	TRY(ep_post_recv);
	o.seg = world_seg(o.c, 0, 64);
	o.remote = world_target(o.s, 0, 64);
	TRY(ep_post_send);
	expect_dto(o.s->recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(o.c->req_evd, 2, DAT_DTO_SUCCESS);
	TRY(ep_post_rdma_write);
	expect_dto(o.c->req_evd, 3, DAT_DTO_SUCCESS);
	TRY(ep_post_rdma_read);
	expect_dto(o.c->req_evd, 4, DAT_DTO_SUCCESS);
	assert_dat_ok(V(rmr_create)(o.c->pz, &o.rmr));
	TRY(rmr_bind);
	expect_event(o.c->req_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	/* In DISCONNECTED as well. */
	TRY(ep_disconnect);
	expect_event(o.s->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	o.seg = world_seg(o.s, 0, 64);
	TRY(ep_post_recv);
	expect_dto(o.s->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
}

ON_EACH(calls__connection, begin)
{
	o.c->ep = world_ep(o.c, NULL);
	TRY(ep_create);
	TRY(ep_modify);
	TRY(rsp_create);
	TRY(rsp_free);
	TRY(psp_create);
	TRY(psp_create_any);
	TRY(ep_connect);
	o.cr = kit_request(o.w);
	TRY(cr_handoff);
	o.cr = kit_request(o.w);
	TRY(cr_reject);
	expect_event(o.c->conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	o.c->ep = world_ep(o.c, NULL);
	TRY(ep_connect);
	o.cr = kit_request(o.w);
	TRY(cr_accept);
	kit_conn(o.c, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(o.s, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_data();
	TRY(ep_reset);
	TRY(ep_free);
	o.s->ep = NULL;
	TRY(psp_free);
}

/* ---------------------------------------------- counters */

static DAT_RETURN call_query_counters(void)
{
	DAT_UINT64 values[DCNT_IA_ALL_COUNTERS];

	return world_op((DAT_HANDLE)o.s->ia, DAT_IB_QUERY_COUNTERS_OP,
			DCNT_IA_ALL_COUNTERS, values, 0);
}

static DAT_RETURN call_stop_counter(void)
{
	return world_op((DAT_HANDLE)o.s->ia, DAT_IB_STOP_COUNTERS_OP,
			DCNT_IA_LNK);
}

/* Those that post and read count from here on. */
ON_IB(calls__counters, begin)
{
	o.evd = o.s->recv_evd;
	TRY(query_counters);
	TRY(stop_counter);
	world_connect(o.w);
	check_data();
}

/* --------------------------------------------------- SRQ */

CALL(srq_free, (o.srq))
CALL(srq_resize, (o.srq, 32))
CALL(srq_set_lw, (o.srq, 2))
CALL(srq_post_recv, (o.srq, 1, &o.seg, world_cookie(6)))
CALL(ep_create_with_srq, (o.s->ia, o.s->pz, o.s->recv_evd, o.s->req_evd,
			  o.s->conn_evd, o.srq, NULL, &o.srq_ep))

static DAT_RETURN call_srq_create(void)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 8,
			     .max_recv_iov = 1,
			     .low_watermark = DAT_SRQ_LW_DEFAULT};

	return V(srq_create)(o.s->ia, o.s->pz, &attr, &o.srq);
}

ON_IB_ROCE(calls__srq, begin)
{
	TRY(srq_create);
	TRY(ep_create_with_srq);
	o.seg = world_seg(o.s, 0, 64);
	TRY(srq_post_recv);
	TRY(srq_set_lw);
	TRY(srq_resize);
	assert_dat_ok(V(ep_free)(o.srq_ep));
	TRY(srq_free);
}

/* --------------------------------------------------- sleep */

struct sleeper {
	pthread_t thread;
	pid_t tid; /* atomic */
	int type;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
};

static void *sleep_in_call(void *arg)
{
	struct sleeper *t = arg;
	DAT_COUNT more;
	DAT_EVENT ev;

	pthread_setcanceltype(t->type, NULL);
	__atomic_store_n(&t->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (t->evd)
		V(evd_wait)(t->evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more);
	else
		V(cno_wait)(t->cno, DAT_TIMEOUT_INFINITE, &t->evd);
	return NULL;
}

static bool in_call(const struct sleeper *t)
{
	return t->evd ? world_evd_is_waited_for(t->evd)
		      : world_cno_waiters(t->cno) == 1;
}

/* Cancels a thread that sleeps on either. */
static void cancel_sleeper(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno, int type)
{
	struct sleeper t = {.evd = evd, .cno = cno, .type = type};
	void *end = NULL;

	assert_int_equal(pthread_create(&t.thread, NULL, sleep_in_call, &t), 0);
	world_until(in_call(&t) &&
		    world_thread_is(__atomic_load_n(&t.tid, __ATOMIC_ACQUIRE),
				    'S'));
	assert_int_equal(pthread_cancel(t.thread), 0);
	pthread_join(t.thread, &end);
	assert_ptr_equal(end, PTHREAD_CANCELED);
}

/* In a call of another library: neither a sleep nor a return of ours. */
static void *cancelled_inside(void *arg)
{
	int was;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	was = dapl_cancel_off();
	pthread_cancel(pthread_self());
	dapl_cancel_restore(was);
	return arg;
}

/* Who joins it is told so, as with a thread that was asleep. */
ON_IB(cancel__inside_a_call)
{
	pthread_t thread;
	void *end = w;

#ifdef __SANITIZE_ADDRESS__
	skip_case("the address sanitizer takes left frames for an overrun");
#endif
	assert_int_equal(pthread_create(&thread, NULL, cancelled_inside, s), 0);
	pthread_join(thread, &end);
	assert_ptr_equal(end, PTHREAD_CANCELED);
}

static const int types[] = {PTHREAD_CANCEL_DEFERRED,
			    PTHREAD_CANCEL_ASYNCHRONOUS};

static void check_evd_wait(struct world *w, unsigned flags, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd, got = NULL;

	for (int i = 0; i < 2; i++) {
		evd = world_evd_cno(w->server.ia, flags, cno);
		cancel_sleeper(evd, NULL, types[i]);
		/* Nothing is left of it: others wait, dequeue, are triggered.
		 */
		expect_empty(evd);
		world_post_se(evd, w);
		if (cno) {
			assert_dat_ok(
				V(cno_wait)(cno, WORLD_PATIENCE_US, &got));
			assert_ptr_equal(got, evd);
		}
		cancel_sleeper(w->server.cr_evd, NULL, types[i]);
		expect_event(evd, DAT_SOFTWARE_EVENT);
		assert_dat_ok(V(evd_free)(evd));
	}
}

ON_IB_IWARP(evd_wait__cancelled)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);

	check_evd_wait(w, DAT_EVD_SOFTWARE_FLAG, NULL);
	check_evd_wait(w, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, NULL);
	check_evd_wait(w, DAT_EVD_SOFTWARE_FLAG, cno);
	check_evd_wait(w, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, cno);
	assert_dat_ok(V(cno_free)(cno));
}

ON_IB(cno_wait__cancelled)
{
	DAT_CNO_HANDLE cno = NULL;
	DAT_EVD_HANDLE evd, got;

	for (int i = 0; i < 2; i++) {
		cno = world_cno(s->ia);
		evd = world_evd_cno(s->ia, DAT_EVD_SOFTWARE_FLAG, cno);
		cancel_sleeper(NULL, cno, types[i]);
		assert_int_equal(world_cno_waiters(cno), 0);
		world_post_se(evd, w);
		assert_dat_ok(V(cno_wait)(cno, WORLD_PATIENCE_US, &got));
		assert_ptr_equal(got, evd);
		assert_dat_ok(V(evd_free)(evd));
		assert_dat_ok(V(cno_free)(cno));
	}
}

/* Closing abruptly does not wait for threads that are no more. */
ON_IB(ia_close__after_cancelled_waits)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);

	cancel_sleeper(s->cr_evd, NULL, PTHREAD_CANCEL_ASYNCHRONOUS);
	cancel_sleeper(s->recv_evd, NULL, PTHREAD_CANCEL_DEFERRED);
	cancel_sleeper(NULL, cno, PTHREAD_CANCEL_ASYNCHRONOUS);
	world_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG);
	s->ia = DAT_HANDLE_NULL;
}

static void *wait_uncancellable(void *arg)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return (void *)(uintptr_t)V(evd_wait)(arg, DAT_TIMEOUT_INFINITE, 1, &ev,
					      &more);
}

/* A thread that does not let itself be cancelled is not. */
ON_IB(evd_wait__not_cancellable)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
	pthread_t thread;
	void *end = w;

	assert_int_equal(pthread_create(&thread, NULL, wait_uncancellable, evd),
			 0);
	world_until(world_evd_is_waited_for(evd));
	assert_int_equal(pthread_cancel(thread), 0);
	world_post_se(evd, w);
	pthread_join(thread, &end);
	assert_int_equal((uintptr_t)end, DAT_SUCCESS);
}

RUN_CASES(NULL, NULL)
