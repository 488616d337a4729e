/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_stress_objs.c - t_stress.c for the rest of the objects: service points of
 * all kinds, windows, one SRQ that endpoints of several threads share while it
 * is resized, the IB extension, and a CNO whose agent sets itself again.
 *
 * It looks for no particular interleaving; see t_stress.c. Each thread connects
 * endpoints of its own, which share IAs, PZs, memory, the SRQ and the service
 * thread. A buffer of the SRQ is posted before each message, so there is always
 * one for it, though perhaps another thread's.
 */
#include <arpa/inet.h>
#include <dat2/dat_ib_extensions.h>
#include <string.h>

#include "test/unit/stress.h"

#define SRQ_MIN	 32
#define SRQ_MAX	 200
#define LIMIT_US 40000000
#define COUNTER	 0 /* offset in the server's memory */
#define SCRATCH	 4096

struct stress {
	struct stress_run run;
	struct world *w;
	DAT_SRQ_HANDLE srq;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE agent_evd;
	DAT_IA_ADDRESS_PTR addr;
	int posted;    /* atomic: buffers given to the SRQ */
	int taken;     /* atomic: those that came back */
	int added;     /* atomic: to the counter in the server's memory */
	int triggered; /* atomic: calls of the agent */
	int turns;     /* of a thread */
};

/* A thread's own EVDs, and the pair of the moment. */
struct pair {
	struct stress_worker *me;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE server_dto, client_dto, server_conn, client_conn, cr_evd;
	DAT_EP_HANDLE server, client;
};

static bool own_dto(struct stress *st, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep)
{
	DAT_EVENT ev;

	return need(st, own_event(st, evd, &ev) == DAT_DTO_COMPLETION_EVENT) &&
	       need(st, ev.event_data.dto_completion_event_data.status ==
				DAT_DTO_SUCCESS) &&
	       need(st,
		    ev.event_data.dto_completion_event_data.ep_handle == ep);
}

/* ------------------------------- connections of all kinds */

enum point {
	PSP,
	RSP_EP,	  /* with an endpoint */
	RSP_NONE, /* the provider makes one */
	CSP,
	POINTS
};

static DAT_RETURN listen_at(struct pair *p, enum point kind, DAT_HANDLE *ret_sp)
{
	struct world_side *s = &p->me->st->w->server;
	struct sockaddr_in addr = *(struct sockaddr_in *)p->me->st->addr;
	DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};

	switch (kind) {
	case PSP:
		return V(psp_create)(s->ia, p->qual, p->cr_evd,
				     DAT_PSP_CONSUMER_FLAG,
				     (DAT_PSP_HANDLE *)ret_sp);
	case RSP_EP:
	case RSP_NONE:
		return V(rsp_create)(s->ia, p->qual,
				     kind == RSP_EP ? p->server
						    : DAT_HANDLE_NULL,
				     p->cr_evd, (DAT_RSP_HANDLE *)ret_sp);
	default:
		addr.sin_port = htons((uint16_t)p->qual);
		return V(csp_create)(s->ia, &comm, (DAT_IA_ADDRESS_PTR)&addr,
				     p->cr_evd, (DAT_CSP_HANDLE *)ret_sp);
	}
}

static void unlisten(struct stress *st, enum point kind, DAT_HANDLE sp)
{
	switch (kind) {
	case PSP:
		ok(st, V(psp_free)((DAT_PSP_HANDLE)sp));
		break;
	case CSP:
		ok(st, V(csp_free)((DAT_CSP_HANDLE)sp));
		break;
	default:
		/* Went with its request; may be another thread's by now. */
		break;
	}
}

/* The endpoint that a request brought gets what accepting needs. */
static bool furnish(struct pair *p, DAT_CR_HANDLE cr)
{
	struct stress *st = p->me->st;
	DAT_EP_PARAM param = {
		.pz_handle = st->w->server.pz,
		.recv_evd_handle = p->server_dto,
		.request_evd_handle = p->server_dto,
		.connect_evd_handle = p->server_conn,
	};
	DAT_CR_PARAM cr_param;

	if (!ok(st, V(cr_query)(cr, DAT_CR_FIELD_ALL, &cr_param)))
		return false;
	p->server = cr_param.local_ep_handle;
	return ok(st, V(ep_modify)(p->server,
				   DAT_EP_FIELD_PZ_HANDLE |
					   DAT_EP_FIELD_RECV_EVD_HANDLE |
					   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					   DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				   &param));
}

static bool make_ends(struct pair *p, enum point kind)
{
	struct stress *st = p->me->st;
	struct world_side *s = &st->w->server, *c = &st->w->client;

	p->server = DAT_HANDLE_NULL;
	return (kind == RSP_NONE ||
		ok(st, V(ep_create_with_srq)(s->ia, s->pz, p->server_dto,
					     p->server_dto, p->server_conn,
					     st->srq, NULL, &p->server))) &&
	       ok(st, V(ep_create)(c->ia, c->pz, p->client_dto, p->client_dto,
				   p->client_conn, NULL, &p->client));
}

static bool connect_by(struct pair *p, enum point kind)
{
	struct stress *st = p->me->st;
	DAT_CR_HANDLE cr;
	DAT_HANDLE sp;
	DAT_EVENT ev;

	if (!make_ends(p, kind) || !ok(st, listen_at(p, kind, &sp)) ||
	    !ok(st,
		V(ep_connect)(p->client, st->addr, p->qual,
			      DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)) ||
	    !need(st, own_event(st, p->cr_evd, &ev) ==
			      DAT_CONNECTION_REQUEST_EVENT))
		return false;
	cr = ev.event_data.cr_arrival_event_data.cr_handle;
	unlisten(st, kind, sp);
	if (kind == RSP_NONE && !furnish(p, cr))
		return false;
	return ok(st, V(cr_accept)(cr,
				   kind == PSP || kind == CSP ? p->server
							      : DAT_HANDLE_NULL,
				   0, NULL)) &&
	       stress_told(&st->run, p->client_conn, p->server_conn,
			   DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void end_pair(struct pair *p)
{
	struct stress *st = p->me->st;

	ok(st, V(ep_disconnect)(dice(p->me, 2) ? p->client : p->server,
				DAT_CLOSE_ABRUPT_FLAG));
	stress_told(&st->run, p->client_conn, p->server_conn,
		    DAT_CONNECTION_EVENT_DISCONNECTED);
	ok(st, V(ep_free)(p->client));
	ok(st, V(ep_free)(p->server));
}

/* ---------------------------------- what a pair is used for */

static bool give_buffer(struct stress *st)
{
	DAT_LMR_TRIPLET seg = world_seg(&st->w->server, SCRATCH, 64);
	DAT_RETURN ret;
	int n = __atomic_fetch_add(&st->posted, 1, __ATOMIC_RELAXED);

	while ((ret = V(srq_post_recv)(st->srq, 1, &seg,
				       world_cookie((uint64_t)n))) !=
		       DAT_SUCCESS &&
	       !late(st) &&
	       need(st, DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES))
		world_pause();
	return ret == DAT_SUCCESS;
}

/* A message into a buffer that some thread gave. */
static void use_srq(struct pair *p)
{
	struct stress *st = p->me->st;
	DAT_LMR_TRIPLET seg = world_seg(&st->w->client, SCRATCH, 32);

	for (unsigned n = 1 + dice(p->me, 6); n-- && give_buffer(st);) {
		if (!ok(st, V(ep_post_send)(p->client, 1, &seg, world_cookie(1),
					    0)) ||
		    !own_dto(st, p->client_dto, p->client) ||
		    !own_dto(st, p->server_dto, p->server))
			return;
		__atomic_add_fetch(&st->taken, 1, __ATOMIC_RELAXED);
	}
}

static void use_extension(struct pair *p)
{
	struct stress *st = p->me->st;
	DAT_LMR_TRIPLET seg =
		world_seg(&st->w->client, 64 + (size_t)p->me->nr * 8, 8);
	DAT_RMR_TRIPLET to = world_target(&st->w->server, COUNTER, 8);
	DAT_EVENT ev;

	if (!ok(st, world_op(p->client, DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)1,
			     &seg, world_cookie(2), &to, 0)))
		return;
	need(st,
	     own_event(st, p->client_dto, &ev) == (unsigned)DAT_IB_DTO_EVENT);
	need(st,
	     ev.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
	__atomic_add_fetch(&st->added, 1, __ATOMIC_RELAXED);
}

/* The client writes through a window that the server has opened to it. */
static void use_window(struct pair *p)
{
	struct stress *st = p->me->st;
	struct world_side *s = &st->w->server;
	size_t at = 8192 + (size_t)p->me->nr * 64;
	DAT_LMR_TRIPLET seg = world_seg(s, at, 16);
	DAT_RMR_TRIPLET to = world_target(s, at, 16);
	DAT_RMR_COOKIE cookie = {.as_64 = 3};
	DAT_RMR_HANDLE rmr;
	DAT_EVENT ev;

	if (!ok(st, dice(p->me, 2) ? V(rmr_create)(s->pz, &rmr)
				   : V(rmr_create_for_ep)(s->pz, &rmr)))
		return;
	if (!ok(st,
		V(rmr_bind)(rmr, s->mem.lmr, &seg,
			    (DAT_MEM_PRIV_FLAGS)DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			    DAT_VA_TYPE_VA, p->server, cookie, 0,
			    &to.rmr_context)) ||
	    !need(st, own_event(st, p->server_dto, &ev) ==
			      DAT_RMR_BIND_COMPLETION_EVENT))
		return;
	seg = world_seg(&st->w->client, SCRATCH, 16);
	ok(st,
	   V(ep_post_rdma_write)(p->client, 1, &seg, world_cookie(4), &to, 0));
	own_dto(st, p->client_dto, p->client);
	ok(st, V(rmr_free)(rmr));
}

static bool own_evd(struct pair *p, struct world_side *s, unsigned flags,
		    DAT_EVD_HANDLE *ret_evd)
{
	return ok(p->me->st, V(evd_create)(s->ia, 8, DAT_HANDLE_NULL,
					   (DAT_EVD_FLAGS)flags, ret_evd));
}

static bool pair_evds(struct pair *p)
{
	struct world *w = p->me->st->w;
	unsigned dto = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG |
		       (unsigned)DAT_EVD_EXTENSION_BASE;

	return own_evd(p, &w->server, dto, &p->server_dto) &&
	       own_evd(p, &w->client, dto, &p->client_dto) &&
	       own_evd(p, &w->server, DAT_EVD_CONNECTION_FLAG,
		       &p->server_conn) &&
	       own_evd(p, &w->client, DAT_EVD_CONNECTION_FLAG,
		       &p->client_conn) &&
	       own_evd(p, &w->server, DAT_EVD_CR_FLAG, &p->cr_evd);
}

static void pairs(struct stress_worker *me)
{
	struct stress *st = me->st;
	struct pair p = {.me = me, .qual = WORLD_QUAL + 100 + me->nr};

	for (int i = 0; i < st->turns && !late(st); i++) {
		enum point kind = (enum point)dice(me, POINTS);

		/* EVDs that are new: their queues grow with the SRQ. */
		if (!pair_evds(&p) || !connect_by(&p, kind))
			break;
		for (unsigned n = dice(me, 4); n-- && !late(st);) {
			if (kind != RSP_NONE)
				use_srq(&p);
			if (st->w->kind != FV_IWARP)
				use_extension(&p);
			use_window(&p);
		}
		if (stress_stopped(&st->run))
			break; /* closing the IA cleans up */
		end_pair(&p);
		ok(st, V(evd_free)(p.server_dto));
		ok(st, V(evd_free)(p.client_dto));
		ok(st, V(evd_free)(p.server_conn));
		ok(st, V(evd_free)(p.client_conn));
		ok(st, V(evd_free)(p.cr_evd));
	}
}

/* ------------------------------------------ beside them */

static bool working(struct stress *st)
{
	return __atomic_load_n(&st->run.working, __ATOMIC_ACQUIRE) && !late(st);
}

static void resizes(struct stress_worker *me)
{
	struct stress *st = me->st;
	DAT_SRQ_PARAM param;
	DAT_RETURN ret;
	DAT_EVENT ev;

	while (working(st)) {
		ret = V(srq_resize)(st->srq, SRQ_MIN + (int)dice(me, SRQ_MAX));
		need(st,
		     ret == DAT_SUCCESS ||
			     DAT_GET_TYPE(ret) == DAT_INVALID_STATE ||
			     (st->w->kind == FV_IWARP &&
			      DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES));
		ok(st, V(srq_query)(st->srq, DAT_SRQ_FIELD_ALL, &param));
		need(st, param.outstanding_dto_count <= param.max_recv_dtos);
		ok(st, V(srq_set_lw)(st->srq, (int)dice(me, 2) * 4));
		/* It fires, and each endpoint says that it has left. */
		while (V(evd_dequeue)(st->w->server.async_evd, &ev) ==
		       DAT_SUCCESS)
			;
		world_pause();
	}
}

/* Runs on the service thread; sets itself again. */
static void agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct stress *st = instance;
	DAT_OS_WAIT_PROXY_AGENT again = {st, agent};
	DAT_EVENT ev;

	need(st, evd == st->agent_evd);
	while (V(evd_dequeue)(evd, &ev) == DAT_SUCCESS)
		;
	__atomic_add_fetch(&st->triggered, 1, __ATOMIC_RELEASE);
	ok(st, V(cno_modify_agent)(st->cno, again));
}

static void post_to_agent(struct stress_worker *me)
{
	struct stress *st = me->st;
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};
	DAT_OS_WAIT_PROXY_AGENT again = {st, agent};
	DAT_RETURN ret;

	while (working(st)) {
		ret = V(evd_post_se)(st->agent_evd, &ev);
		need(st,
		     ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_QUEUE_FULL);
		if (!dice(me, 8))
			ok(st, V(cno_modify_agent)(st->cno, again));
		world_pause();
	}
}

/* ------------------------------------------------ the test */

static const stress_fn crew[] = {
	pairs, pairs, pairs, resizes, post_to_agent, post_to_agent,
};

#define CREW   ((int)(sizeof(crew) / sizeof(crew[0])))
#define BESIDE 3 /* at its end */

ON_EACH(all_objects__from_many_threads)
{
	/* A call of the agent may outlast the case, up to the adapter's end. */
	static struct stress st;
	DAT_SRQ_ATTR attr = {.max_recv_dtos = SRQ_MIN, .max_recv_iov = 1};
	DAT_OS_WAIT_PROXY_AGENT start = {&st, agent};
	DAT_SRQ_PARAM param;
	uint64_t count;

	st = (struct stress){.w = w, .turns = stress_portion(300)};
	assert_dat_ok(V(srq_create)(s->ia, s->pz, &attr, &st.srq));
	st.cno = world_cno(s->ia);
	st.agent_evd = world_evd_cno(s->ia, DAT_EVD_SOFTWARE_FLAG, st.cno);
	assert_dat_ok(V(cno_modify_agent)(st.cno, start));
	st.addr = world_addr();
	st.run.deadline_us = world_now_us() + LIMIT_US;

	stress_crew(&st, crew, CREW, BESIDE, stress_seed());
	assert_true(__atomic_load_n(&st.triggered, __ATOMIC_ACQUIRE) > 0);
	assert_int_equal(st.posted, st.taken);
	assert_dat_ok(V(srq_query)(st.srq, DAT_SRQ_FIELD_ALL, &param));
	assert_int_equal(param.outstanding_dto_count, 0);
	memcpy(&count, s->mem.buf + COUNTER, sizeof(count));
	assert_int_equal(count, st.added);
	assert_dat_ok(V(srq_free)(st.srq));
	assert_dat_ok(V(evd_free)(st.agent_evd));
	assert_dat_ok(
		V(cno_modify_agent)(st.cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
}

RUN_CASES(NULL, NULL)
