/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_args.c - every call with one bad argument: the table of what is bad and
 * which code says so. Each row is a case, and t_arguments.sh compares the rows
 * with what the public headers document; a code that a header gives a call has
 * a row here, and the other way round.
 *
 * Beside its code a refused call gives a reason, writes no result, leaves the
 * endpoint in its state and a request there to be accepted, and brings no
 * event.
 *
 * Arguments that are bad only in some state of an object are in the files of
 * the objects. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification; which number an argument has is its place in
 * the call (doc/conformance.md).
 */
#include "test/conform/conform.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Where results go that are not there to be looked at. */
static union {
	unsigned char bytes[2048];
	void *pointer;
} place;

#define INTO(type)   ((type *)(void *)&place)
#define NONE	     DAT_HANDLE_NULL
#define NUMBER	     ((DAT_HANDLE)(uintptr_t)40)
#define BIT(mask, n) ((mask)(UINT64_C(1) << (n)))

/* What is wrong with attributes, and the rest of them is right. */
enum flaw {
	RECVS_SUPPRESSED,
	RECVS_WITHOUT_EVD,
	RECVS_NEGATIVE,
	RECVS_NONE,
	REQUESTS_TOO_MANY,
	REQUESTS_WITHOUT_EVD,
};

static DAT_RETURN ep_create(struct conf *c, enum flaw flaw, DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr = conf_ep_attr(&c->a);
	DAT_EVD_HANDLE recv = c->a.recv_evd, req = c->a.req_evd;

	switch (flaw) {
	case RECVS_SUPPRESSED:
		attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
		break;
	case RECVS_WITHOUT_EVD:
		recv = NONE;
		break;
	case RECVS_NEGATIVE:
		attr.max_recv_dtos = -1;
		break;
	case RECVS_NONE:
		attr.max_recv_dtos = 0;
		break;
	case REQUESTS_TOO_MANY:
		attr.max_request_dtos = 0x7fffffff;
		break;
	case REQUESTS_WITHOUT_EVD:
		req = NONE;
		break;
	}
	if (srq)
		return dat_ep_create_with_srq(c->a.ia, c->a.pz, recv, req,
					      c->a.conn_evd, srq, &attr,
					      INTO(DAT_EP_HANDLE));
	return dat_ep_create(c->a.ia, c->a.pz, recv, req, c->a.conn_evd, &attr,
			     INTO(DAT_EP_HANDLE));
}

static DAT_SRQ_HANDLE an_srq_of(struct conf_side *s)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq = NONE;

	EXPECT_OK(dat_srq_create(s->ia, s->pz, &attr, &srq));
	return srq;
}

static DAT_SRQ_HANDLE an_srq(struct conf *c)
{
	return an_srq_of(&c->a);
}

static DAT_RETURN srq_create(struct conf *c, DAT_PZ_HANDLE pz, DAT_COUNT dtos,
			     DAT_COUNT low, DAT_SRQ_HANDLE *out)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = dtos, .max_recv_iov = 1, .low_watermark = low};

	return dat_srq_create(c->a.ia, pz, &attr, out);
}

static DAT_RMR_HANDLE an_rmr(DAT_PZ_HANDLE pz)
{
	DAT_RMR_HANDLE rmr = NONE;

	EXPECT_OK(dat_rmr_create(pz, &rmr));
	return rmr;
}

static DAT_PZ_HANDLE a_pz(struct conf *c)
{
	DAT_PZ_HANDLE pz = NONE;

	EXPECT_OK(dat_pz_create(c->a.ia, &pz));
	return pz;
}

static DAT_RETURN bind_rmr(struct conf *c, DAT_RMR_HANDLE rmr,
			   DAT_LMR_HANDLE lmr, size_t offset, unsigned priv,
			   DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, offset, 64);

	return face_rmr_bind(rmr, lmr, &seg, (DAT_MEM_PRIV_FLAGS)priv, ep,
			     conf_cookie(1), DAT_COMPLETION_DEFAULT_FLAG,
			     INTO(DAT_RMR_CONTEXT));
}

static DAT_RETURN lmr_create(struct conf *c, int type, DAT_HANDLE source,
			     DAT_PZ_HANDLE pz, unsigned priv,
			     DAT_LMR_HANDLE *out)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = source ? source : c->a.buf};

	return face_lmr_create(c->a.ia, (DAT_MEM_TYPE)type, desc, 64, pz,
			       (DAT_MEM_PRIV_FLAGS)priv, out, NULL, NULL, NULL,
			       NULL);
}

static DAT_RETURN modify(struct conf *c, DAT_EP_PARAM_MASK mask, DAT_HANDLE h)
{
	DAT_EP_PARAM param;

	EXPECT_OK(dat_ep_query(c->a.ep, DAT_EP_FIELD_ALL, &param));
	param.pz_handle = h;
	param.recv_evd_handle = h;
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	param.ep_attr.max_recv_dtos = 0x7fffffff;
	return dat_ep_modify(c->a.ep, mask, &param);
}

static DAT_EP_ATTR attr_of(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	EXPECT_OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	return param.ep_attr;
}

static DAT_EP_HANDLE ep_without_evds(struct conf *c)
{
	DAT_EP_HANDLE ep = NONE;

	EXPECT_OK(dat_ep_create(c->a.ia, c->a.pz, NONE, NONE, NONE, NULL, &ep));
	return ep;
}

/* As many as no endpoint takes: 1.2 drops those without bytes. */
static DAT_LMR_TRIPLET *segments(struct conf *c)
{
	static DAT_LMR_TRIPLET iov[256];
	DAT_COUNT n = c->ia_attr.max_iov_segments_per_dto;

	EXPECT(n < 256);
	for (int i = 0; i <= n; i++)
		iov[i] = conf_seg(&c->a, 0, 8);
	return iov;
}

static DAT_RSP_HANDLE an_rsp(struct conf *c)
{
	DAT_RSP_HANDLE rsp = NONE;

	EXPECT_OK(dat_rsp_create(c->a.ia, c->qual, c->a.ep, c->a.cr_evd, &rsp));
	return rsp;
}

static DAT_RETURN connect_with(struct conf *c, DAT_EP_HANDLE ep,
			       DAT_IA_ADDRESS_PTR addr, DAT_TIMEOUT timeout,
			       DAT_COUNT size, DAT_PVOID data)
{
	return dat_ep_connect(ep, addr, c->qual, timeout, size, data,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN dup_with(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup,
			   DAT_TIMEOUT timeout, DAT_COUNT size, DAT_PVOID data)
{
	return dat_ep_dup_connect(ep, dup, timeout, size, data,
				  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN open_with(const char *name, DAT_COUNT qlen,
			    DAT_EVD_HANDLE evd, DAT_IA_HANDLE *ret_ia)
{
	return dat_ia_openv((DAT_NAME_PTR)(uintptr_t)name, qlen, &evd, ret_ia,
			    DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
}

static DAT_RETURN post_se(DAT_EVD_HANDLE evd, int number)
{
	DAT_EVENT ev = {.event_number = (DAT_EVENT_NUMBER)number};

	return dat_evd_post_se(evd, &ev);
}

static DAT_EVD_HANDLE freed_evd(struct conf *c)
{
	DAT_EVD_HANDLE evd = conf_evd(&c->a, DAT_EVD_ASYNC_FLAG);

	EXPECT_OK(dat_evd_free(evd));
	return evd;
}

static const char *long_name(void)
{
	static char name[DAT_NAME_MAX_LENGTH + 1];

	memset(name, 'x', sizeof(name) - 1);
	return name;
}

/* The request of b that a row is about; it must come to no harm. */
static DAT_CR_HANDLE met;

static DAT_CR_HANDLE meet(struct conf *c)
{
	met = conf_meet(c);
	return met;
}

static DAT_PROVIDER_INFO *some_info(void)
{
	static DAT_PROVIDER_INFO info = {"conform-arguments", DAT_VERSION_MAJOR,
					 DAT_VERSION_MINOR, DAT_TRUE};

	return &info;
}

#define SOFTWARE     conf_evd(&c->a, DAT_EVD_SOFTWARE_FLAG)
#define AGENT	     DAT_OS_WAIT_PROXY_AGENT_NULL
#define SEG	     (&(DAT_LMR_TRIPLET){0})
#define SEGS	     segments(c)
#define THERE	     (&(DAT_RMR_TRIPLET){0})
#define COOKIE	     conf_cookie(1)
#define ABRUPT	     DAT_CLOSE_ABRUPT_FLAG
#define DATA	     ((DAT_PVOID)place.bytes)
#define TOO_LONG     (c->prov_attr.max_private_data_size + 1)
#define TOO_MANY     (c->ia_attr.max_iov_segments_per_dto + 1)
#define LATER	     1000000
#define VIRTUAL	     DAT_MEM_TYPE_VIRTUAL
#define ALL_PRIV     DAT_MEM_PRIV_ALL_FLAG
#define READ_PRIV    DAT_MEM_PRIV_REMOTE_READ_FLAG
#define CONSUMER     DAT_PSP_CONSUMER_FLAG
#define A	     (c->a)
#define B	     (c->b)
#define FLAGS0	     DAT_COMPLETION_DEFAULT_FLAG
#define IA_AND_SRQ   (NEED_IA | NEED_SRQ)
#define IA_AND_RMR   (NEED_IA | NEED_RMR)
#define LINK_AND_RMR (NEED_CONNECTED | NEED_RMR)

#define CODE_H(sub)   DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##sub
#define CODE_ONE(sub) DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1
#define CODE_ANY(sub) DAT_INVALID_HANDLE, ANY_SUBTYPE
#define CODE_P(sub)   DAT_INVALID_PARAMETER, DAT_INVALID_ARG##sub
#define TEXT_H(sub)   "INVALID_HANDLE/" #sub
#define TEXT_ONE(sub) "INVALID_HANDLE/HANDLE1"
#define TEXT_ANY(sub) "INVALID_HANDLE"
#define TEXT_P(sub)   "INVALID_PARAMETER/ARG" #sub

/* What a refused call must leave as it was. */
struct before {
	bool a, ep;
	DAT_EP_STATE state;
};

static struct before look(const struct conf *c)
{
	struct before b = {.a = c->a.ia != NONE, .ep = c->a.ep != NONE};

	if (b.ep)
		b.state = conf_ep_state(c->a.ep);
	return b;
}

static void nothing_happened(struct conf *c, const struct before *b)
{
	static const unsigned char zeros[sizeof(place)];
	DAT_EP_STATE state;

	EXPECT(dat_error_detail()[0]);
	EXPECT(memcmp(&place, zeros, sizeof(place)) == 0);
	if (b->ep) {
		state = conf_ep_state(c->a.ep);
		/* an_rsp() has reserved it */
		if (state != DAT_EP_STATE_RESERVED)
			EXPECT_EQ(state, b->state);
	}
	if (met) {
		EXPECT_OK(dat_cr_accept(met, c->a.ep, 0, NULL));
		conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	if (b->a) {
		conf_no_event(c->a.conn_evd);
		conf_no_event(c->a.recv_evd);
		conf_no_event(c->a.req_evd);
	}
}

/*
 * call, number of the argument, what it is, code (H: INVALID_HANDLE/sub, ONE:
 * INVALID_HANDLE/HANDLE1, ANY: that with whatever subtype, P:
 * INVALID_PARAMETER/ARGsub), needs, the call itself
 */
#define ARG(...) ARG_ROW(__VA_ARGS__)
#define ARG_ROW(call, n, wrong, kind, sub, need, expr)                    \
	static void call##__arg##n##_##wrong(struct conf *c)              \
	{                                                                 \
		struct before before = look(c);                           \
		conf_expect_ret(__FILE__, __LINE__, "dat_" #call, (expr), \
				CODE_##kind(sub));                        \
		nothing_happened(c, &before);                             \
	}                                                                 \
	CONF_ROW(.name = #call "__arg" #n "_" #wrong,                     \
		 .clause = "1 dat_" #call, .needs = (need),               \
		 .run = call##__arg##n##_##wrong,                         \
		 .refusal = "dat_" #call " " TEXT_##kind(sub))

/* Places of arguments behind those that 2.0 has put in. */
#if DAT_FACE == 2
#define LMR_RESULT 8
#define BIND_SEG   3
#define BIND_PRIV  4
#define BIND_EP	   6
#else
#define LMR_RESULT 7
#define BIND_SEG   2
#define BIND_PRIV  3
#define BIND_EP	   4
#endif

/* The handle that a call works on: OTHER is one of another kind. */
#define FIRST_BY(fn, call, kind, sub, other, ...)                         \
	ARG(call, 1, null, kind, sub, NEED_IA, fn(NONE __VA_ARGS__));     \
	ARG(call, 1, number, kind, sub, NEED_IA, fn(NUMBER __VA_ARGS__)); \
	ARG(call, 1, other_kind, kind, sub, NEED_IA, fn(other __VA_ARGS__))
#define FIRST(call, ...) FIRST_BY(dat_##call, call, __VA_ARGS__)

#define EP_OF(pz, recv, req, conn) \
	dat_ep_create(A.ia, pz, recv, req, conn, NULL, INTO(DAT_EP_HANDLE))
#define SRQ_EP(pz, recv, req, conn, srq)                             \
	dat_ep_create_with_srq(A.ia, pz, recv, req, conn, srq, NULL, \
			       INTO(DAT_EP_HANDLE))

/* Fields of an endpoint that are not the consumer's to change. */
#define NEVER(field)                                     \
	ARG(ep_modify, 2, never_##field, P, 2, NEED_EPS, \
	    modify(c, DAT_EP_FIELD_##field, A.pz))

#define POST(call, ep, n, iov) dat_##call(ep, n, iov, COOKIE, FLAGS0)
#define RDMA(call, ep, n, iov, there) \
	dat_##call(ep, n, iov, COOKIE, there, FLAGS0)
#define SEGS_TOO_MANY(of) (attr_of(A.ep).max_##of##_iov + 1)
#define ROWS_POST_OF(call, of)                              \
	FIRST(call, H, EP, A.pz, , 1, SEG, COOKIE, FLAGS0); \
	ARG(call, 2, negative, P, 2, NEED_CONNECTED,        \
	    POST(call, A.ep, -1, SEG));                     \
	ARG(call, 2, too_many, P, 2, NEED_CONNECTED,        \
	    POST(call, A.ep, SEGS_TOO_MANY(of), SEGS));     \
	ARG(call, 3, null, P, 3, NEED_CONNECTED, POST(call, A.ep, 1, NULL))
#define ROWS_RDMA_OF(call)                                          \
	FIRST(call, H, EP, A.pz, , 1, SEG, COOKIE, THERE, FLAGS0);  \
	ARG(call, 2, negative, P, 2, NEED_CONNECTED,                \
	    RDMA(call, A.ep, -1, SEG, THERE));                      \
	ARG(call, 2, too_many, P, 2, NEED_CONNECTED,                \
	    RDMA(call, A.ep, SEGS_TOO_MANY(request), SEGS, THERE)); \
	ARG(call, 3, null, P, 3, NEED_CONNECTED,                    \
	    RDMA(call, A.ep, 1, NULL, THERE));                      \
	ARG(call, 5, null, P, 5, NEED_CONNECTED, RDMA(call, A.ep, 1, SEG, NULL))

/* The registry and adapters. */
ARG(ia_openv, 1, null, P, 1, NEED_NOTHING,
    open_with(NULL, 8, NONE, INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 1, too_long, P, 1, NEED_NOTHING,
    open_with(long_name(), 8, NONE, INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 2, zero, P, 2, NEED_NOTHING,
    open_with(c->name, 0, NONE, INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 2, negative, P, 2, NEED_NOTHING,
    open_with(c->name, -1, NONE, INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 3, null, P, 3, NEED_NOTHING,
    dat_ia_openv((DAT_NAME_PTR)(uintptr_t)c->name, 8, NULL, INTO(DAT_IA_HANDLE),
		 DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE));
ARG(ia_openv, 3, number, H, EVD_ASYNC, NEED_NOTHING,
    open_with(c->name, 8, NUMBER, INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 3, other_kind, H, EVD_ASYNC, NEED_IA,
    open_with(c->name, 8, A.pz, INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 3, other_flags, H, EVD_ASYNC, NEED_IA,
    open_with(c->name, 8, A.cr_evd, INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 3, out_of_scope, H, EVD_ASYNC, NEED_NOTHING,
    open_with(c->name, 8, DAT_EVD_OUT_OF_SCOPE, INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 3, freed, H, EVD_ASYNC, NEED_IA,
    open_with(c->name, 8, freed_evd(c), INTO(DAT_IA_HANDLE)));
ARG(ia_openv, 4, null, H, IA, NEED_NOTHING, open_with(c->name, 8, NONE, NULL));
FIRST(ia_query, H, IA, A.pz, , NULL, 0, NULL, 0, NULL);
ARG(ia_query, 3, unknown, P, 3, NEED_IA,
    dat_ia_query(A.ia, NULL, BIT(DAT_IA_ATTR_MASK, 63), INTO(DAT_IA_ATTR), 0,
		 NULL));
ARG(ia_query, 4, null, P, 4, NEED_IA,
    dat_ia_query(A.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL));
ARG(ia_query, 5, unknown, P, 5, NEED_IA,
    dat_ia_query(A.ia, NULL, 0, NULL, BIT(DAT_PROVIDER_ATTR_MASK, 63),
		 INTO(DAT_PROVIDER_ATTR)));
ARG(ia_query, 6, null, P, 6, NEED_IA,
    dat_ia_query(A.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL));
FIRST(ia_close, H, IA, A.pz, , ABRUPT);
ARG(ia_close, 2, unknown, P, 2, NEED_IA,
    dat_ia_close(A.ia, (DAT_CLOSE_FLAGS)5));
ARG(registry_list_providers, 1, negative, P, 1, NEED_NOTHING,
    dat_registry_list_providers(-1, INTO(DAT_COUNT), NULL));
ARG(registry_list_providers, 2, null, P, 2, NEED_NOTHING,
    dat_registry_list_providers(0, NULL, NULL));
ARG(registry_list_providers, 3, null, P, 3, NEED_NOTHING,
    dat_registry_list_providers(1, INTO(DAT_COUNT), NULL));
ARG(registry_list_providers, 3, null_element, P, 3, NEED_NOTHING,
    dat_registry_list_providers(64, &(DAT_COUNT){0},
				INTO(DAT_PROVIDER_INFO *)));
ARG(registry_add_provider, 1, null, P, 1, NEED_NOTHING,
    dat_registry_add_provider(NULL, some_info()));
ARG(registry_add_provider, 2, null, P, 2, NEED_NOTHING,
    dat_registry_add_provider(INTO(DAT_PROVIDER), NULL));
ARG(registry_remove_provider, 1, null, P, 1, NEED_NOTHING,
    dat_registry_remove_provider(NULL, some_info()));
ARG(registry_remove_provider, 2, null, P, 2, NEED_NOTHING,
    dat_registry_remove_provider(INTO(DAT_PROVIDER), NULL));
ARG(set_consumer_context, 1, null, ONE, 0, NEED_NOTHING,
    dat_set_consumer_context(NONE, COOKIE));
ARG(set_consumer_context, 1, number, ANY, 0, NEED_IA,
    dat_set_consumer_context(NUMBER, COOKIE));
ARG(get_consumer_context, 1, null, ONE, 0, NEED_NOTHING,
    dat_get_consumer_context(NONE, INTO(DAT_CONTEXT)));
ARG(get_consumer_context, 1, number, ANY, 0, NEED_IA,
    dat_get_consumer_context(NUMBER, INTO(DAT_CONTEXT)));
ARG(get_consumer_context, 2, null, P, 2, NEED_IA,
    dat_get_consumer_context(A.pz, NULL));
ARG(get_handle_type, 1, null, ONE, 0, NEED_NOTHING,
    dat_get_handle_type(NONE, INTO(DAT_HANDLE_TYPE)));
ARG(get_handle_type, 1, number, ANY, 0, NEED_IA,
    dat_get_handle_type(NUMBER, INTO(DAT_HANDLE_TYPE)));
ARG(get_handle_type, 2, null, P, 2, NEED_IA, dat_get_handle_type(A.pz, NULL));
FIRST(evd_create, H, IA, A.pz, , 4, NONE, DAT_EVD_SOFTWARE_FLAG,
      INTO(DAT_EVD_HANDLE));
ARG(evd_create, 2, zero, P, 2, NEED_IA,
    dat_evd_create(A.ia, 0, NONE, DAT_EVD_SOFTWARE_FLAG, INTO(DAT_EVD_HANDLE)));
ARG(evd_create, 2, negative, P, 2, NEED_IA,
    dat_evd_create(A.ia, -1, NONE, DAT_EVD_DTO_FLAG, INTO(DAT_EVD_HANDLE)));
ARG(evd_create, 3, number, H, CNO, NEED_IA,
    dat_evd_create(A.ia, 4, NUMBER, DAT_EVD_SOFTWARE_FLAG,
		   INTO(DAT_EVD_HANDLE)));
ARG(evd_create, 3, other_kind, H, CNO, NEED_IA,
    dat_evd_create(A.ia, 4, A.pz, DAT_EVD_SOFTWARE_FLAG, INTO(DAT_EVD_HANDLE)));
ARG(evd_create, 4, zero, P, 4, NEED_IA,
    dat_evd_create(A.ia, 4, NONE, (DAT_EVD_FLAGS)0, INTO(DAT_EVD_HANDLE)));
ARG(evd_create, 4, unknown, P, 4, NEED_IA,
    dat_evd_create(A.ia, 4, NONE, (DAT_EVD_FLAGS)0x4000, INTO(DAT_EVD_HANDLE)));
ARG(evd_create, 4, known_and_unknown, P, 4, NEED_IA,
    dat_evd_create(A.ia, 4, NONE, (DAT_EVD_FLAGS)(0x4000 | DAT_EVD_DTO_FLAG),
		   INTO(DAT_EVD_HANDLE)));
ARG(evd_create, 5, null, P, 5, NEED_IA,
    dat_evd_create(A.ia, 4, NONE, DAT_EVD_SOFTWARE_FLAG, NULL));
FIRST(evd_query, ANY, 0, A.pz, , DAT_EVD_FIELD_ALL, INTO(DAT_EVD_PARAM));
ARG(evd_query, 2, unknown, P, 2, NEED_IA,
    dat_evd_query(A.cr_evd, BIT(DAT_EVD_PARAM_MASK, 15), INTO(DAT_EVD_PARAM)));
ARG(evd_query, 3, null, P, 3, NEED_IA,
    dat_evd_query(A.cr_evd, DAT_EVD_FIELD_ALL, NULL));
FIRST(evd_resize, ANY, 0, A.pz, , 8);
ARG(evd_resize, 2, zero, P, 2, NEED_IA, dat_evd_resize(SOFTWARE, 0));
ARG(evd_resize, 2, negative, P, 2, NEED_IA, dat_evd_resize(SOFTWARE, -1));
ARG(evd_resize, 2, zero_for_dtos, P, 2, NEED_IA, dat_evd_resize(A.recv_evd, 0));
ARG(evd_resize, 2, negative_for_dtos, P, 2, NEED_IA,
    dat_evd_resize(A.recv_evd, -5));
FIRST(evd_post_se, ANY, 0, A.pz, , INTO(DAT_EVENT));
ARG(evd_post_se, 1, other_flags, P, 1, NEED_IA,
    post_se(A.conn_evd, DAT_SOFTWARE_EVENT));
ARG(evd_post_se, 2, null, P, 2, NEED_IA, dat_evd_post_se(SOFTWARE, NULL));
ARG(evd_post_se, 2, other_event, P, 2, NEED_IA,
    post_se(SOFTWARE, DAT_DTO_COMPLETION_EVENT));
FIRST(evd_dequeue, ANY, 0, A.pz, , INTO(DAT_EVENT));
ARG(evd_dequeue, 2, null, P, 2, NEED_IA, dat_evd_dequeue(SOFTWARE, NULL));
FIRST(evd_wait, ANY, 0, A.pz, , 0, 1, INTO(DAT_EVENT), &(DAT_COUNT){0});
ARG(evd_wait, 3, zero, P, 3, NEED_IA,
    dat_evd_wait(SOFTWARE, 0, 0, INTO(DAT_EVENT), &(DAT_COUNT){0}));
ARG(evd_wait, 3, negative, P, 3, NEED_IA,
    dat_evd_wait(SOFTWARE, 0, -1, INTO(DAT_EVENT), &(DAT_COUNT){0}));
ARG(evd_wait, 3, too_many, P, 3, NEED_IA,
    dat_evd_wait(SOFTWARE, 0, 100000, INTO(DAT_EVENT), &(DAT_COUNT){0}));
ARG(evd_wait, 4, null, P, 4, NEED_IA,
    dat_evd_wait(SOFTWARE, 0, 1, NULL, &(DAT_COUNT){0}));
ARG(evd_wait, 5, null, P, 5, NEED_IA,
    dat_evd_wait(SOFTWARE, 0, 1, INTO(DAT_EVENT), NULL));
FIRST(evd_modify_cno, ANY, 0, A.pz, , NONE);
ARG(evd_modify_cno, 2, number, H, CNO, NEED_IA,
    dat_evd_modify_cno(SOFTWARE, NUMBER));
ARG(evd_modify_cno, 2, other_kind, H, CNO, NEED_IA,
    dat_evd_modify_cno(SOFTWARE, A.pz));
FIRST(evd_enable, ANY, 0, A.pz);
FIRST(evd_disable, ANY, 0, A.pz);
FIRST(evd_set_unwaitable, ANY, 0, A.pz);
FIRST(evd_clear_unwaitable, ANY, 0, A.pz);
FIRST(evd_free, ANY, 0, A.pz);
FIRST(cno_create, H, IA, A.pz, , AGENT, INTO(DAT_CNO_HANDLE));
ARG(cno_create, 3, null, P, 3, NEED_IA, dat_cno_create(A.ia, AGENT, NULL));
FIRST(cno_modify_agent, H, CNO, A.pz, , AGENT);
FIRST(cno_query, H, CNO, A.pz, , DAT_CNO_FIELD_ALL, INTO(DAT_CNO_PARAM));
ARG(cno_query, 3, null, P, 3, NEED_IA,
    dat_cno_query(conf_cno(&A), DAT_CNO_FIELD_ALL, NULL));
FIRST(cno_wait, H, CNO, A.pz, , 0, INTO(DAT_EVD_HANDLE));
ARG(cno_wait, 3, null, P, 3, NEED_IA, dat_cno_wait(conf_cno(&A), 0, NULL));
FIRST(cno_free, H, CNO, A.pz);
FIRST(ep_create, H, IA, A.pz, , NONE, NONE, NONE, NONE, NULL,
      INTO(DAT_EP_HANDLE));
ARG(ep_create, 2, number, H, PZ, NEED_IA, EP_OF(NUMBER, NONE, NONE, NONE));
ARG(ep_create, 2, other_kind, H, PZ, NEED_IA,
    EP_OF(A.cr_evd, NONE, NONE, NONE));
ARG(ep_create, 3, number, H, EVD_RECV, NEED_IA,
    EP_OF(A.pz, NUMBER, NONE, NONE));
ARG(ep_create, 3, other_flags, H, EVD_RECV, NEED_IA,
    EP_OF(A.pz, A.cr_evd, NONE, NONE));
ARG(ep_create, 4, number, H, EVD_REQUEST, NEED_IA,
    EP_OF(A.pz, NONE, NUMBER, NONE));
ARG(ep_create, 4, other_flags, H, EVD_REQUEST, NEED_IA,
    EP_OF(A.pz, NONE, A.cr_evd, NONE));
ARG(ep_create, 5, number, H, EVD_CONN, NEED_IA,
    EP_OF(A.pz, NONE, NONE, NUMBER));
ARG(ep_create, 5, other_flags, H, EVD_CONN, NEED_IA,
    EP_OF(A.pz, NONE, NONE, A.cr_evd));
ARG(ep_create, 6, suppressed, P, 6, NEED_IA,
    ep_create(c, RECVS_SUPPRESSED, NONE));
ARG(ep_create, 6, no_evd, P, 6, NEED_IA, ep_create(c, RECVS_WITHOUT_EVD, NONE));
ARG(ep_create, 6, negative, P, 6, NEED_IA, ep_create(c, RECVS_NEGATIVE, NONE));
ARG(ep_create, 6, evd_for_nothing, P, 6, NEED_IA,
    ep_create(c, RECVS_NONE, NONE));
ARG(ep_create, 6, no_request_evd, P, 6, NEED_IA,
    ep_create(c, REQUESTS_WITHOUT_EVD, NONE));
ARG(ep_create, 6, too_many, P, 6, NEED_IA,
    ep_create(c, REQUESTS_TOO_MANY, NONE));
ARG(ep_create, 7, null, P, 7, NEED_IA,
    dat_ep_create(A.ia, A.pz, NONE, NONE, NONE, NULL, NULL));
FIRST(ep_create_with_srq, H, IA, A.pz, , NONE, NONE, NONE, NONE, NONE, NULL,
      INTO(DAT_EP_HANDLE));
ARG(ep_create_with_srq, 2, number, H, PZ, IA_AND_SRQ,
    SRQ_EP(NUMBER, A.recv_evd, NONE, NONE, an_srq(c)));
ARG(ep_create_with_srq, 3, null, H, EVD_RECV, IA_AND_SRQ,
    SRQ_EP(A.pz, NONE, NONE, NONE, an_srq(c)));
ARG(ep_create_with_srq, 3, number, H, EVD_RECV, IA_AND_SRQ,
    SRQ_EP(A.pz, NUMBER, NONE, NONE, an_srq(c)));
ARG(ep_create_with_srq, 4, number, H, EVD_REQUEST, IA_AND_SRQ,
    SRQ_EP(A.pz, A.recv_evd, NUMBER, NONE, an_srq(c)));
ARG(ep_create_with_srq, 5, number, H, EVD_CONN, IA_AND_SRQ,
    SRQ_EP(A.pz, A.recv_evd, NONE, NUMBER, an_srq(c)));
ARG(ep_create_with_srq, 6, null, H, SRQ, NEED_IA,
    SRQ_EP(A.pz, A.recv_evd, NONE, NONE, NONE));
ARG(ep_create_with_srq, 6, number, H, SRQ, NEED_IA,
    SRQ_EP(A.pz, A.recv_evd, NONE, NONE, NUMBER));
ARG(ep_create_with_srq, 6, other_kind, H, SRQ, NEED_IA,
    SRQ_EP(A.pz, A.recv_evd, NONE, NONE, A.pz));
ARG(ep_create_with_srq, 7, suppressed, P, 7, IA_AND_SRQ,
    ep_create(c, RECVS_SUPPRESSED, an_srq(c)));
ARG(ep_create_with_srq, 7, too_many, P, 7, IA_AND_SRQ,
    ep_create(c, REQUESTS_TOO_MANY, an_srq(c)));
ARG(ep_create_with_srq, 8, null, P, 8, IA_AND_SRQ,
    dat_ep_create_with_srq(A.ia, A.pz, A.recv_evd, NONE, NONE, an_srq(c), NULL,
			   NULL));
FIRST(ep_query, H, EP, A.pz, , DAT_EP_FIELD_ALL, INTO(DAT_EP_PARAM));
ARG(ep_query, 3, null, P, 3, NEED_EPS,
    dat_ep_query(A.ep, DAT_EP_FIELD_ALL, NULL));
FIRST(ep_modify, H, EP, A.pz, , DAT_EP_FIELD_PZ_HANDLE, INTO(DAT_EP_PARAM));
ARG(ep_modify, 2, never, P, 2, NEED_EPS,
    modify(c, DAT_EP_FIELD_IA_HANDLE, A.pz));
NEVER(EP_STATE);
NEVER(LOCAL_IA_ADDRESS_PTR);
NEVER(LOCAL_PORT_QUAL);
NEVER(REMOTE_IA_ADDRESS_PTR);
NEVER(REMOTE_PORT_QUAL);
NEVER(SRQ_HANDLE);
ARG(ep_modify, 3, pz_other_kind, P, 3, NEED_EPS,
    modify(c, DAT_EP_FIELD_PZ_HANDLE, A.recv_evd));
ARG(ep_modify, 3, evd_other_flags, P, 3, NEED_EPS,
    modify(c, DAT_EP_FIELD_RECV_EVD_HANDLE, A.conn_evd));
ARG(ep_modify, 3, suppressed, P, 3, NEED_EPS,
    modify(c, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, A.pz));
ARG(ep_modify, 3, too_many, P, 3, NEED_EPS,
    modify(c, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, A.pz));
ARG(ep_modify, 3, null, P, 3, NEED_EPS,
    dat_ep_modify(A.ep, DAT_EP_FIELD_PZ_HANDLE, NULL));
ARG(ep_modify, 3, pz_number, P, 3, NEED_EPS,
    modify(c, DAT_EP_FIELD_PZ_HANDLE, NUMBER));
ARG(ep_modify, 3, evd_other_kind, P, 3, NEED_EPS,
    modify(c, DAT_EP_FIELD_RECV_EVD_HANDLE, A.pz));
FIRST(ep_connect, H, EP, A.pz, , conf_address(c), 1, LATER, 0, NULL,
      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
ARG(ep_connect, 1, before_the_address, H, EP, NEED_IA,
    connect_with(c, A.pz, NULL, LATER, 0, NULL));
ARG(ep_connect, 1, no_connect_evd, H, EVD_CONN, NEED_IA,
    connect_with(c, ep_without_evds(c), conf_address(c), LATER, 0, NULL));
ARG(ep_connect, 2, null, P, 2, NEED_EPS,
    connect_with(c, A.ep, NULL, LATER, 0, NULL));
ARG(ep_connect, 4, zero, P, 4, NEED_EPS,
    connect_with(c, A.ep, conf_address(c), 0, 0, NULL));
ARG(ep_connect, 5, too_long, P, 5, NEED_EPS,
    connect_with(c, A.ep, conf_address(c), LATER, TOO_LONG, DATA));
ARG(ep_connect, 5, negative, P, 5, NEED_EPS,
    connect_with(c, A.ep, conf_address(c), LATER, -1, DATA));
ARG(ep_connect, 6, null, P, 6, NEED_EPS,
    connect_with(c, A.ep, conf_address(c), LATER, 8, NULL));
FIRST(ep_dup_connect, H, EP, A.pz, , A.pz, LATER, 0, NULL, DAT_QOS_BEST_EFFORT);
ARG(ep_dup_connect, 1, no_connect_evd, H, EVD_CONN, NEED_CONNECTED,
    dup_with(ep_without_evds(c), A.ep, LATER, 0, NULL));
ARG(ep_dup_connect, 2, number, H, EP, NEED_EPS,
    dup_with(A.ep, NUMBER, LATER, 0, NULL));
ARG(ep_dup_connect, 2, other_kind, H, EP, NEED_EPS,
    dup_with(A.ep, A.pz, LATER, 0, NULL));
ARG(ep_dup_connect, 3, zero, P, 3, NEED_EPS, dup_with(A.ep, A.ep, 0, 0, NULL));
ARG(ep_dup_connect, 4, too_long, P, 4, NEED_EPS,
    dup_with(A.ep, A.ep, LATER, TOO_LONG, DATA));
ARG(ep_dup_connect, 4, negative, P, 4, NEED_EPS,
    dup_with(A.ep, A.ep, LATER, -1, DATA));
ARG(ep_dup_connect, 5, null, P, 5, NEED_EPS,
    dup_with(A.ep, A.ep, LATER, 8, NULL));
FIRST(ep_disconnect, H, EP, A.pz, , ABRUPT);
ARG(ep_disconnect, 2, unknown, P, 2, NEED_EPS,
    dat_ep_disconnect(A.ep, (DAT_CLOSE_FLAGS)6));
FIRST(ep_get_status, H, EP, A.pz, , NULL, NULL, NULL);
FIRST(ep_recv_query, H, EP, A.pz, , INTO(DAT_COUNT), NULL);
FIRST(ep_set_watermark, H, EP, A.pz, , -1, -1);
ARG(ep_set_watermark, 2, negative, P, 2, NEED_EPS,
    dat_ep_set_watermark(A.ep, -7, DAT_HW_DEFAULT));
ARG(ep_set_watermark, 3, negative, P, 3, NEED_EPS,
    dat_ep_set_watermark(A.ep, DAT_HW_DEFAULT, -7));
FIRST(ep_reset, H, EP, A.pz);
FIRST(ep_free, H, EP, A.pz);
ROWS_POST_OF(ep_post_send, request);
ROWS_POST_OF(ep_post_recv, recv);
ROWS_RDMA_OF(ep_post_rdma_read);
ROWS_RDMA_OF(ep_post_rdma_write);
FIRST(psp_create, H, IA, A.pz, , c->qual, A.cr_evd, CONSUMER,
      INTO(DAT_PSP_HANDLE));
ARG(psp_create, 3, null, H, EVD_CR, NEED_IA,
    dat_psp_create(A.ia, c->qual, NONE, CONSUMER, INTO(DAT_PSP_HANDLE)));
ARG(psp_create, 3, number, H, EVD_CR, NEED_IA,
    dat_psp_create(A.ia, c->qual, NUMBER, CONSUMER, INTO(DAT_PSP_HANDLE)));
ARG(psp_create, 3, other_flags, H, EVD_CR, NEED_IA,
    dat_psp_create(A.ia, c->qual, A.conn_evd, CONSUMER, INTO(DAT_PSP_HANDLE)));
ARG(psp_create, 4, unknown, P, 4, NEED_IA,
    dat_psp_create(A.ia, c->qual, A.cr_evd, (DAT_PSP_FLAGS)9,
		   INTO(DAT_PSP_HANDLE)));
ARG(psp_create, 5, null, P, 5, NEED_IA,
    dat_psp_create(A.ia, c->qual, A.cr_evd, CONSUMER, NULL));
FIRST(psp_create_any, H, IA, A.pz, , INTO(DAT_CONN_QUAL), A.cr_evd, CONSUMER,
      &(DAT_PSP_HANDLE){0});
ARG(psp_create_any, 2, null, P, 2, NEED_IA,
    dat_psp_create_any(A.ia, NULL, A.cr_evd, CONSUMER, INTO(DAT_PSP_HANDLE)));
ARG(psp_create_any, 3, number, H, EVD_CR, NEED_IA,
    dat_psp_create_any(A.ia, INTO(DAT_CONN_QUAL), NUMBER, CONSUMER,
		       &(DAT_PSP_HANDLE){0}));
ARG(psp_create_any, 4, unknown, P, 4, NEED_IA,
    dat_psp_create_any(A.ia, INTO(DAT_CONN_QUAL), A.cr_evd, (DAT_PSP_FLAGS)9,
		       &(DAT_PSP_HANDLE){0}));
ARG(psp_create_any, 5, null, P, 5, NEED_IA,
    dat_psp_create_any(A.ia, INTO(DAT_CONN_QUAL), A.cr_evd, CONSUMER, NULL));
FIRST(psp_query, H, PSP, A.pz, , DAT_PSP_FIELD_ALL, INTO(DAT_PSP_PARAM));
ARG(psp_query, 2, unknown, P, 2, NEED_IA,
    dat_psp_query(conf_listen(c), BIT(DAT_PSP_PARAM_MASK, 15),
		  INTO(DAT_PSP_PARAM)));
ARG(psp_query, 3, null, P, 3, NEED_IA,
    dat_psp_query(conf_listen(c), DAT_PSP_FIELD_ALL, NULL));
FIRST(psp_free, H, PSP, A.pz);
FIRST(rsp_create, H, IA, A.pz, , c->qual, NONE, A.cr_evd, INTO(DAT_RSP_HANDLE));
ARG(rsp_create, 3, number, H, EP, NEED_IA,
    dat_rsp_create(A.ia, c->qual, NUMBER, A.cr_evd, INTO(DAT_RSP_HANDLE)));
ARG(rsp_create, 3, other_kind, H, EP, NEED_IA,
    dat_rsp_create(A.ia, c->qual, A.pz, A.cr_evd, INTO(DAT_RSP_HANDLE)));
ARG(rsp_create, 4, null, H, EVD_CR, NEED_EPS,
    dat_rsp_create(A.ia, c->qual, A.ep, NONE, INTO(DAT_RSP_HANDLE)));
ARG(rsp_create, 4, number, H, EVD_CR, NEED_EPS,
    dat_rsp_create(A.ia, c->qual, A.ep, NUMBER, INTO(DAT_RSP_HANDLE)));
ARG(rsp_create, 4, other_flags, H, EVD_CR, NEED_EPS,
    dat_rsp_create(A.ia, c->qual, A.ep, A.conn_evd, INTO(DAT_RSP_HANDLE)));
ARG(rsp_create, 5, null, P, 5, NEED_EPS,
    dat_rsp_create(A.ia, c->qual, A.ep, A.cr_evd, NULL));
FIRST(rsp_query, H, RSP, A.pz, , DAT_RSP_FIELD_ALL, INTO(DAT_RSP_PARAM));
ARG(rsp_query, 2, unknown, P, 2, NEED_EPS,
    dat_rsp_query(an_rsp(c), BIT(DAT_RSP_PARAM_MASK, 15), INTO(DAT_RSP_PARAM)));
ARG(rsp_query, 3, null, P, 3, NEED_EPS,
    dat_rsp_query(an_rsp(c), DAT_RSP_FIELD_ALL, NULL));
FIRST(rsp_free, H, RSP, A.pz);
FIRST(cr_query, H, CR, A.pz, , DAT_CR_FIELD_ALL, INTO(DAT_CR_PARAM));
ARG(cr_query, 2, unknown, P, 2, NEED_EPS,
    dat_cr_query(meet(c), BIT(DAT_CR_PARAM_MASK, 15), INTO(DAT_CR_PARAM)));
ARG(cr_query, 3, null, P, 3, NEED_EPS,
    dat_cr_query(meet(c), DAT_CR_FIELD_ALL, NULL));
FIRST(cr_accept, H, CR, A.pz, , NONE, 0, NULL);
ARG(cr_accept, 2, null, H, EP, NEED_EPS, dat_cr_accept(meet(c), NONE, 0, NULL));
ARG(cr_accept, 2, number, H, EP, NEED_EPS,
    dat_cr_accept(meet(c), NUMBER, 0, NULL));
ARG(cr_accept, 2, other_kind, H, EP, NEED_EPS,
    dat_cr_accept(meet(c), A.pz, 0, NULL));
ARG(cr_accept, 3, too_long, P, 3, NEED_EPS,
    dat_cr_accept(meet(c), A.ep, sizeof(place), DATA));
ARG(cr_accept, 3, negative, P, 3, NEED_EPS,
    dat_cr_accept(meet(c), A.ep, -1, DATA));
ARG(cr_accept, 4, null, P, 4, NEED_EPS, dat_cr_accept(meet(c), A.ep, 8, NULL));
FIRST_BY(face_cr_reject, cr_reject, H, CR, A.pz, );
FIRST(cr_handoff, H, CR, A.pz, , c->qual);
ARG(cr_handoff, 2, nobody_listens, P, 2, NEED_EPS,
    dat_cr_handoff(meet(c), c->qual + 1));
FIRST(pz_create, H, IA, A.pz, , INTO(DAT_PZ_HANDLE));
ARG(pz_create, 2, null, P, 2, NEED_IA, dat_pz_create(A.ia, NULL));
FIRST(pz_query, H, PZ, A.lmr, , DAT_PZ_FIELD_ALL, INTO(DAT_PZ_PARAM));
ARG(pz_query, 2, unknown, P, 2, NEED_IA,
    dat_pz_query(A.pz, BIT(DAT_PZ_PARAM_MASK, 15), INTO(DAT_PZ_PARAM)));
ARG(pz_query, 3, null, P, 3, NEED_IA,
    dat_pz_query(A.pz, DAT_PZ_FIELD_ALL, NULL));
FIRST(pz_free, H, PZ, A.lmr);
ARG(lmr_create, 1, null, H, IA, NEED_NOTHING,
    lmr_create(c, VIRTUAL, place.bytes, NONE, ALL_PRIV, INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, 1, other_kind, H, IA, NEED_IA,
    face_lmr_create(A.pz, VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = A.buf},
		    64, A.pz, ALL_PRIV, INTO(DAT_LMR_HANDLE), NULL, NULL, NULL,
		    NULL));
ARG(lmr_create, 2, unknown, P, 2, NEED_IA,
    lmr_create(c, 77, NULL, A.pz, ALL_PRIV, INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, 3, number, H, LMR, NEED_IA,
    lmr_create(c, DAT_MEM_TYPE_LMR, NUMBER, A.pz, ALL_PRIV,
	       INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, 3, other_kind, H, LMR, NEED_IA,
    lmr_create(c, DAT_MEM_TYPE_LMR, A.pz, A.pz, ALL_PRIV,
	       INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, 3, not_mapped, P, 3, NEED_IA,
    lmr_create(c, VIRTUAL, (DAT_HANDLE)(uintptr_t)4096, A.pz, ALL_PRIV,
	       INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, 5, null, H, PZ, NEED_IA,
    lmr_create(c, VIRTUAL, NULL, NONE, ALL_PRIV, INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, 5, number, H, PZ, NEED_IA,
    lmr_create(c, VIRTUAL, NULL, NUMBER, ALL_PRIV, INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, LMR_RESULT, null, P, LMR_RESULT, NEED_IA,
    lmr_create(c, VIRTUAL, NULL, A.pz, ALL_PRIV, NULL));
FIRST(lmr_query, H, LMR, A.pz, , DAT_LMR_FIELD_ALL, INTO(DAT_LMR_PARAM));
ARG(lmr_query, 3, null, P, 3, NEED_IA,
    dat_lmr_query(A.lmr, DAT_LMR_FIELD_ALL, NULL));
FIRST(lmr_free, H, LMR, A.pz);
FIRST(lmr_sync_rdma_read, H, IA, A.pz, , SEG, 1);
ARG(lmr_sync_rdma_read, 2, outside, P, 2, NEED_IA,
    dat_lmr_sync_rdma_read(
	    A.ia, &(DAT_LMR_TRIPLET[]){conf_seg(&A, CONF_MEM - 8, 64)}[0], 1));
ARG(lmr_sync_rdma_read, 2, null, P, 2, NEED_IA,
    dat_lmr_sync_rdma_read(A.ia, NULL, 1));
FIRST(lmr_sync_rdma_write, H, IA, A.pz, , SEG, 1);
ARG(lmr_sync_rdma_write, 2, outside, P, 2, NEED_IA,
    dat_lmr_sync_rdma_write(
	    A.ia, &(DAT_LMR_TRIPLET[]){conf_seg(&A, CONF_MEM - 8, 64)}[0], 1));
ARG(lmr_sync_rdma_write, 2, null, P, 2, NEED_IA,
    dat_lmr_sync_rdma_write(A.ia, NULL, 1));
FIRST(rmr_create, H, PZ, A.lmr, , INTO(DAT_RMR_HANDLE));
ARG(rmr_create, 2, null, P, 2, IA_AND_RMR, dat_rmr_create(A.pz, NULL));
FIRST(rmr_query, H, RMR, A.pz, , DAT_RMR_FIELD_ALL, INTO(DAT_RMR_PARAM));
ARG(rmr_query, 3, null, P, 3, IA_AND_RMR,
    dat_rmr_query(an_rmr(A.pz), DAT_RMR_FIELD_ALL, NULL));
ARG(rmr_bind, 1, null, H, RMR, NEED_EPS,
    bind_rmr(c, NONE, A.lmr, 0, READ_PRIV, A.ep));
ARG(rmr_bind, 1, other_kind, H, RMR, NEED_EPS,
    bind_rmr(c, A.pz, A.lmr, 0, READ_PRIV, A.ep));
ARG(rmr_bind, BIND_SEG, null, P, BIND_SEG, LINK_AND_RMR,
    face_rmr_bind(an_rmr(A.pz), A.lmr, NULL, READ_PRIV, A.ep, COOKIE, FLAGS0,
		  INTO(DAT_RMR_CONTEXT)));
ARG(rmr_bind, BIND_SEG, outside, P, BIND_SEG, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), A.lmr, CONF_MEM - 8, READ_PRIV, A.ep));
ARG(rmr_bind, BIND_PRIV, unknown, P, BIND_PRIV, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), A.lmr, 0, 0x8000, A.ep));
ARG(rmr_bind, BIND_EP, null, H, EP, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), A.lmr, 0, READ_PRIV, NONE));
ARG(rmr_bind, BIND_EP, number, H, EP, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), A.lmr, 0, READ_PRIV, NUMBER));
ARG(rmr_bind, BIND_EP, other_kind, H, EP, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), A.lmr, 0, READ_PRIV, A.pz));
ARG(rmr_bind, BIND_EP, other_zone, P, BIND_EP, LINK_AND_RMR,
    bind_rmr(c, an_rmr(a_pz(c)), A.lmr, 0, READ_PRIV, A.ep));
FIRST(rmr_free, H, RMR, A.pz);
FIRST(srq_create, H, IA, A.pz, , A.pz, INTO(DAT_SRQ_ATTR),
      INTO(DAT_SRQ_HANDLE));
ARG(srq_create, 2, null, H, PZ, IA_AND_SRQ,
    srq_create(c, NONE, 4, 0, INTO(DAT_SRQ_HANDLE)));
ARG(srq_create, 2, number, H, PZ, IA_AND_SRQ,
    srq_create(c, NUMBER, 4, 0, INTO(DAT_SRQ_HANDLE)));
ARG(srq_create, 3, null, P, 3, IA_AND_SRQ,
    dat_srq_create(A.ia, A.pz, NULL, INTO(DAT_SRQ_HANDLE)));
ARG(srq_create, 3, zero, P, 3, IA_AND_SRQ,
    srq_create(c, A.pz, 0, 0, INTO(DAT_SRQ_HANDLE)));
ARG(srq_create, 3, negative, P, 3, IA_AND_SRQ,
    srq_create(c, A.pz, -1, 0, INTO(DAT_SRQ_HANDLE)));
ARG(srq_create, 3, watermark, P, 3, IA_AND_SRQ,
    srq_create(c, A.pz, 4, 2, INTO(DAT_SRQ_HANDLE)));
ARG(srq_create, 4, null, P, 4, IA_AND_SRQ, srq_create(c, A.pz, 4, 0, NULL));
FIRST(srq_query, H, SRQ, A.pz, , DAT_SRQ_FIELD_ALL, INTO(DAT_SRQ_PARAM));
ARG(srq_query, 2, unknown, P, 2, IA_AND_SRQ,
    dat_srq_query(an_srq(c), BIT(DAT_SRQ_PARAM_MASK, 15), INTO(DAT_SRQ_PARAM)));
ARG(srq_query, 3, null, P, 3, IA_AND_SRQ,
    dat_srq_query(an_srq(c), DAT_SRQ_FIELD_ALL, NULL));
FIRST(srq_post_recv, H, SRQ, A.pz, , 1, SEG, COOKIE);
ARG(srq_post_recv, 2, negative, P, 2, IA_AND_SRQ,
    dat_srq_post_recv(an_srq(c), -1, SEG, COOKIE));
ARG(srq_post_recv, 2, too_many, P, 2, IA_AND_SRQ,
    dat_srq_post_recv(an_srq(c), TOO_MANY, SEGS, COOKIE));
ARG(srq_post_recv, 3, null, P, 3, IA_AND_SRQ,
    dat_srq_post_recv(an_srq(c), 1, NULL, COOKIE));
FIRST(srq_resize, H, SRQ, A.pz, , 8);
ARG(srq_resize, 2, zero, P, 2, IA_AND_SRQ, dat_srq_resize(an_srq(c), 0));
ARG(srq_resize, 2, negative, P, 2, IA_AND_SRQ, dat_srq_resize(an_srq(c), -5));
FIRST(srq_set_lw, H, SRQ, A.pz, , 1);
ARG(srq_set_lw, 2, negative, P, 2, IA_AND_SRQ, dat_srq_set_lw(an_srq(c), -1));
FIRST(srq_free, H, SRQ, A.pz);
/* Objects of two adapters do not go together. */
ARG(evd_create, 3, other_ia, H, CNO, NEED_BOTH,
    dat_evd_create(A.ia, 4, conf_cno(&B), DAT_EVD_SOFTWARE_FLAG,
		   INTO(DAT_EVD_HANDLE)));
ARG(evd_modify_cno, 2, other_ia, H, CNO, NEED_BOTH,
    dat_evd_modify_cno(A.conn_evd, conf_cno(&B)));
ARG(ep_create, 2, other_ia, H, PZ, NEED_BOTH,
    EP_OF(B.pz, A.recv_evd, A.req_evd, A.conn_evd));
ARG(ep_create, 3, other_ia, H, EVD_RECV, NEED_BOTH,
    EP_OF(A.pz, B.recv_evd, A.req_evd, A.conn_evd));
ARG(ep_create, 4, other_ia, H, EVD_REQUEST, NEED_BOTH,
    EP_OF(A.pz, A.recv_evd, B.req_evd, A.conn_evd));
ARG(ep_create_with_srq, 6, other_ia, H, SRQ, NEED_BOTH | NEED_SRQ,
    SRQ_EP(A.pz, A.recv_evd, A.req_evd, A.conn_evd, an_srq_of(&B)));
ARG(psp_create, 3, other_ia, H, EVD_CR, NEED_BOTH,
    dat_psp_create(A.ia, c->qual, B.cr_evd, CONSUMER, INTO(DAT_PSP_HANDLE)));
ARG(rsp_create, 3, other_ia, H, EP, NEED_EPS,
    dat_rsp_create(A.ia, c->qual, B.ep, A.cr_evd, INTO(DAT_RSP_HANDLE)));
ARG(cr_accept, 2, other_ia, H, EP, NEED_EPS,
    dat_cr_accept(meet(c), B.ep, 0, NULL));
ARG(lmr_create, 3, other_ia, H, LMR, NEED_BOTH,
    lmr_create(c, DAT_MEM_TYPE_LMR, B.lmr, A.pz, ALL_PRIV,
	       INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, 5, other_ia, H, PZ, NEED_BOTH,
    lmr_create(c, VIRTUAL, NULL, B.pz, ALL_PRIV, INTO(DAT_LMR_HANDLE)));
ARG(rmr_bind, BIND_EP, other_ia, P, BIND_EP, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), A.lmr, 0, READ_PRIV, B.ep));
ARG(rmr_bind, BIND_EP, other_ia_to_unbind, P, BIND_EP, LINK_AND_RMR,
    face_rmr_bind(an_rmr(A.pz), NONE, SEG, (DAT_MEM_PRIV_FLAGS)0, B.ep, COOKIE,
		  FLAGS0, INTO(DAT_RMR_CONTEXT)));
ARG(srq_create, 2, other_ia, H, PZ, NEED_BOTH | NEED_SRQ,
    srq_create(c, B.pz, 4, 0, INTO(DAT_SRQ_HANDLE)));

/* What only 2.0 has, or refuses. */
#if DAT_FACE == 2
static DAT_RETURN bind_rmr_as(struct conf *c, int va_type)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 0, 64);

	return dat_rmr_bind(an_rmr(c->a.pz), c->a.lmr, &seg,
			    DAT_MEM_PRIV_REMOTE_READ_FLAG, (DAT_VA_TYPE)va_type,
			    c->a.ep, conf_cookie(1),
			    DAT_COMPLETION_DEFAULT_FLAG, INTO(DAT_RMR_CONTEXT));
}

/* Of another zone than c->a.pz; the region begins where that of a does. */
static DAT_LMR_HANDLE an_lmr(struct conf *c, DAT_PZ_HANDLE pz)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = c->a.buf};
	DAT_LMR_HANDLE lmr = NONE;

	EXPECT_OK(face_lmr_create(c->a.ia, DAT_MEM_TYPE_VIRTUAL, desc, CONF_MEM,
				  pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL,
				  NULL, NULL));
	return lmr;
}

static DAT_CNO_HANDLE cno_with_fd(struct conf *c)
{
	DAT_CNO_HANDLE cno = NONE;
	DAT_FD fd;

	EXPECT_OK(dat_cno_fd_create(c->a.ia, &fd, &cno));
	return cno;
}

static DAT_PSP_HANDLE a_csp_of(struct conf *c, DAT_EVD_HANDLE evd,
			       DAT_RETURN *ret_ret)
{
	DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};
	struct sockaddr_storage addr = {0};
	DAT_CSP_HANDLE csp = NONE;

	memcpy(&addr, conf_address(c), sizeof(struct sockaddr_in6));
	((struct sockaddr_in *)(void *)&addr)->sin_port =
		htons((uint16_t)c->qual);
	*ret_ret = dat_csp_create(c->a.ia, &comm, (DAT_IA_ADDRESS_PTR)&addr,
				  evd, &csp);
	return csp;
}

static DAT_RETURN csp_with(struct conf *c, DAT_EVD_HANDLE evd)
{
	DAT_RETURN ret;

	a_csp_of(c, evd, &ret);
	return ret;
}

static DAT_CSP_HANDLE a_csp(struct conf *c)
{
	DAT_RETURN ret;
	DAT_CSP_HANDLE csp = a_csp_of(c, c->a.cr_evd, &ret);

	if (ret)
		conf_skip("no common service points");
	return csp;
}

static DAT_RETURN lmr_create_as(struct conf *c, void *at, int va_type,
				DAT_LMR_HANDLE *out)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = at};

	return dat_lmr_create(A.ia, VIRTUAL, desc, 64, A.pz, ALL_PRIV,
			      (DAT_VA_TYPE)va_type, out, NULL, NULL, NULL,
			      NULL);
}

static DAT_LMR_HANDLE *need_zero_based(struct conf *c)
{
	if (!c->ia_attr.zb_supported)
		conf_skip("no zero-based regions");
	return INTO(DAT_LMR_HANDLE);
}

ARG(registry_providers_related, 1, null, P, 1, NEED_NOTHING,
    dat_registry_providers_related(NULL, some_info()->ia_name,
				   INTO(DAT_HA_RELATIONSHIP)));
ARG(registry_providers_related, 2, null, P, 2, NEED_NOTHING,
    dat_registry_providers_related(some_info()->ia_name, NULL,
				   INTO(DAT_HA_RELATIONSHIP)));
ARG(registry_providers_related, 3, null, P, 3, NEED_NOTHING,
    dat_registry_providers_related(some_info()->ia_name, some_info()->ia_name,
				   NULL));
ARG(extension_op, 1, null, ONE, 0, NEED_NOTHING,
    dat_extension_op(NONE, (DAT_EXTENDED_OP)77));
FIRST(cno_fd_create, H, IA, A.pz, , INTO(DAT_FD), &(DAT_CNO_HANDLE){0});
ARG(cno_fd_create, 2, null, P, 2, NEED_IA,
    dat_cno_fd_create(A.ia, NULL, INTO(DAT_CNO_HANDLE)));
ARG(cno_fd_create, 3, null, P, 3, NEED_IA,
    dat_cno_fd_create(A.ia, INTO(DAT_FD), NULL));
ARG(cno_query, 2, unknown, P, 2, NEED_IA,
    dat_cno_query(conf_cno(&A), (DAT_CNO_PARAM_MASK)0x8000,
		  INTO(DAT_CNO_PARAM)));
FIRST(cno_trigger, H, CNO, A.pz, , INTO(DAT_EVD_HANDLE));
ARG(cno_trigger, 1, without_fd, H, CNO, NEED_IA,
    dat_cno_trigger(conf_cno(&A), INTO(DAT_EVD_HANDLE)));
ARG(cno_trigger, 2, null, P, 2, NEED_IA, dat_cno_trigger(cno_with_fd(c), NULL));
ARG(ep_modify, 2, unknown, P, 2, NEED_EPS,
    modify(c, BIT(DAT_EP_PARAM_MASK, 62), A.pz));
FIRST(ep_common_connect, H, EP, A.pz, , conf_address(c), LATER, 0, NULL);
ARG(ep_common_connect, 1, no_connect_evd, H, EVD_CONN, NEED_IA,
    dat_ep_common_connect(ep_without_evds(c), conf_address(c), LATER, 0, NULL));
ARG(ep_common_connect, 2, null, P, 2, NEED_EPS,
    dat_ep_common_connect(A.ep, NULL, LATER, 0, NULL));
ARG(ep_common_connect, 3, zero, P, 3, NEED_EPS,
    dat_ep_common_connect(A.ep, conf_address(c), 0, 0, NULL));
ARG(ep_common_connect, 4, too_long, P, 4, NEED_EPS,
    dat_ep_common_connect(A.ep, conf_address(c), LATER, TOO_LONG, DATA));
ARG(ep_common_connect, 5, null, P, 5, NEED_EPS,
    dat_ep_common_connect(A.ep, conf_address(c), LATER, 8, NULL));
FIRST(ep_post_send_with_invalidate, H, EP, A.pz, , 1, SEG, COOKIE, FLAGS0,
      DAT_FALSE, 0);
ARG(ep_post_send_with_invalidate, 2, negative, P, 2, NEED_CONNECTED,
    dat_ep_post_send_with_invalidate(A.ep, -1, SEG, COOKIE, FLAGS0, DAT_FALSE,
				     0));
ARG(ep_post_send_with_invalidate, 3, null, P, 3, NEED_CONNECTED,
    dat_ep_post_send_with_invalidate(A.ep, 1, NULL, COOKIE, FLAGS0, DAT_FALSE,
				     0));
FIRST(ep_post_rdma_read_to_rmr, H, EP, A.pz, , THERE, COOKIE, THERE, FLAGS0);
ARG(ep_post_rdma_read_to_rmr, 2, null, P, 2, NEED_CONNECTED,
    dat_ep_post_rdma_read_to_rmr(A.ep, NULL, COOKIE, THERE, FLAGS0));
ARG(ep_post_rdma_read_to_rmr, 4, null, P, 4, NEED_CONNECTED,
    dat_ep_post_rdma_read_to_rmr(A.ep, THERE, COOKIE, NULL, FLAGS0));
FIRST(csp_create, H, IA, A.pz, , INTO(DAT_COMM), conf_address(c), A.cr_evd,
      &(DAT_CSP_HANDLE){0});
ARG(csp_create, 2, null, P, 2, NEED_IA,
    dat_csp_create(A.ia, NULL, conf_address(c), A.cr_evd,
		   INTO(DAT_CSP_HANDLE)));
ARG(csp_create, 3, null, P, 3, NEED_IA,
    dat_csp_create(A.ia, &(DAT_COMM){AF_INET, SOCK_STREAM, 0}, NULL, A.cr_evd,
		   INTO(DAT_CSP_HANDLE)));
ARG(csp_create, 4, number, H, EVD_CR, NEED_IA, csp_with(c, NUMBER));
ARG(csp_create, 4, other_flags, H, EVD_CR, NEED_IA, csp_with(c, A.conn_evd));
ARG(csp_create, 5, null, P, 5, NEED_IA,
    dat_csp_create(A.ia, &(DAT_COMM){AF_INET, SOCK_STREAM, 0}, conf_address(c),
		   A.cr_evd, NULL));
FIRST(csp_query, H, CSP, A.pz, , DAT_CSP_FIELD_ALL, INTO(DAT_CSP_PARAM));
ARG(csp_query, 2, unknown, P, 2, NEED_IA,
    dat_csp_query(a_csp(c), BIT(DAT_CSP_PARAM_MASK, 15), INTO(DAT_CSP_PARAM)));
ARG(csp_query, 3, null, P, 3, NEED_IA,
    dat_csp_query(a_csp(c), DAT_CSP_FIELD_ALL, NULL));
FIRST(csp_free, H, CSP, A.pz);
ARG(cr_reject, 2, too_long, P, 2, NEED_EPS,
    dat_cr_reject(meet(c), sizeof(place), DATA));
ARG(cr_reject, 2, negative, P, 2, NEED_EPS, dat_cr_reject(meet(c), -1, DATA));
ARG(cr_reject, 3, null, P, 3, NEED_EPS, dat_cr_reject(meet(c), 8, NULL));
ARG(lmr_create, 3, no_page, P, 3, NEED_IA,
    lmr_create_as(c, A.buf + 8, DAT_VA_TYPE_ZB, need_zero_based(c)));
ARG(lmr_create, 6, unknown, P, 6, NEED_IA,
    lmr_create(c, VIRTUAL, NULL, A.pz, 0x8000, INTO(DAT_LMR_HANDLE)));
ARG(lmr_create, 7, unknown, P, 7, NEED_IA,
    lmr_create_as(c, A.buf, 77, INTO(DAT_LMR_HANDLE)));
ARG(lmr_query, 2, unknown, P, 2, NEED_IA,
    dat_lmr_query(A.lmr, BIT(DAT_LMR_PARAM_MASK, 15), INTO(DAT_LMR_PARAM)));
FIRST(rmr_create_for_ep, H, PZ, A.lmr, , INTO(DAT_RMR_HANDLE));
ARG(rmr_create_for_ep, 2, null, P, 2, IA_AND_RMR,
    dat_rmr_create_for_ep(A.pz, NULL));
ARG(rmr_query, 2, unknown, P, 2, IA_AND_RMR,
    dat_rmr_query(an_rmr(A.pz), BIT(DAT_RMR_PARAM_MASK, 15),
		  INTO(DAT_RMR_PARAM)));
ARG(rmr_bind, 2, number, H, LMR, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), NUMBER, 0, READ_PRIV, A.ep));
ARG(rmr_bind, 2, other_kind, H, LMR, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), A.pz, 0, READ_PRIV, A.ep));
ARG(rmr_bind, 2, other_zone, P, 2, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), an_lmr(c, a_pz(c)), 0, READ_PRIV, A.ep));
ARG(rmr_bind, 2, other_ia, P, 2, LINK_AND_RMR,
    bind_rmr(c, an_rmr(A.pz), B.lmr, 0, READ_PRIV, A.ep));
ARG(rmr_bind, 5, unknown, P, 5, LINK_AND_RMR, bind_rmr_as(c, 9));
ARG(rmr_bind, 5, from_zero, P, 5, LINK_AND_RMR, bind_rmr_as(c, DAT_VA_TYPE_ZB));
#endif
