/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_obj.c - handles: every call of the vector with one that is none, freed, of
 * another type or of another IA, in whichever argument; contexts.
 *
 * What the calls do with good handles is in the other t_ files. Each row of
 * the table below is one call with plausible other arguments.
 * Threads: the test's own. Rules: uDAPL 1.2 specification, handle checks come
 * first; a handle that was freed answers as one that never was.
 */
#include "test/unit/world.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define IH(x) DAPL_BAD_HANDLE(x)
#define IH_0  DAPL_ERR(DAT_INVALID_HANDLE, 0)
#define IH_1  DAPL_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)

/* Places for results and arguments that are never looked at. */
static struct {
	uint8_t out[1024];
	DAT_EVENT ev;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET target;
	DAT_OS_WAIT_PROXY_AGENT agent;
	DAT_REGION_DESCRIPTION desc;
	DAT_DTO_COOKIE cookie;
} x;

#define PLACE(type) ((type *)x.out)

/* call, type of its handle, code for a bad one, further arguments */
#define CALLS(X)                                                              \
	X(ia_query, IA, IH(IA), NULL, 0, NULL, 0, NULL)                       \
	X(ia_close, IA, IH(IA), DAT_CLOSE_ABRUPT_FLAG)                        \
	X(ia_ha_related, IA, IH(IA), WORLD_IA_NAME, PLACE(DAT_BOOLEAN))       \
	X(cno_create, IA, IH(IA), x.agent, PLACE(DAT_CNO_HANDLE))             \
	X(cno_fd_create, IA, IH(IA), PLACE(DAT_FD), PLACE(DAT_CNO_HANDLE))    \
	X(cno_modify_agent, CNO, IH(CNO), x.agent)                            \
	X(cno_query, CNO, IH(CNO), DAT_CNO_FIELD_ALL, PLACE(DAT_CNO_PARAM))   \
	X(cno_wait, CNO, IH(CNO), 0, PLACE(DAT_EVD_HANDLE))                   \
	X(cno_trigger, CNO, IH(CNO), PLACE(DAT_EVD_HANDLE))                   \
	X(cr_query, CR, IH(CR), DAT_CR_FIELD_ALL, PLACE(DAT_CR_PARAM))        \
	X(cr_accept, CR, IH(CR), NULL, 0, NULL)                               \
	X(cr_reject, CR, IH(CR), 0, NULL)                                     \
	X(evd_create, IA, IH(IA), 8, NULL, DAT_EVD_DTO_FLAG,                  \
	  PLACE(DAT_EVD_HANDLE))                                              \
	X(evd_query, EVD, IH_0, DAT_EVD_FIELD_ALL, PLACE(DAT_EVD_PARAM))      \
	X(evd_modify_cno, EVD, IH_0, NULL)                                    \
	X(evd_wait, EVD, IH_0, 0, 1, &x.ev, PLACE(DAT_COUNT))                 \
	X(evd_resize, EVD, IH_1, 8)                                           \
	X(evd_post_se, EVD, IH_0, &x.ev)                                      \
	X(evd_dequeue, EVD, IH_0, &x.ev)                                      \
	X(ep_create, IA, IH(IA), NULL, NULL, NULL, NULL, NULL,                \
	  PLACE(DAT_EP_HANDLE))                                               \
	X(ep_create_with_srq, IA, IH(IA), NULL, NULL, NULL, NULL, NULL, NULL, \
	  PLACE(DAT_EP_HANDLE))                                               \
	X(ep_query, EP, IH(EP), DAT_EP_FIELD_ALL, PLACE(DAT_EP_PARAM))        \
	X(ep_modify, EP, IH(EP), DAT_EP_FIELD_PZ_HANDLE, PLACE(DAT_EP_PARAM)) \
	X(ep_connect, EP, IH(EP), world_addr(), 1, 1000, 0, NULL,             \
	  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)                      \
	X(ep_common_connect, EP, IH(EP), world_addr(), 1000, 0, NULL)         \
	X(ep_dup_connect, EP, IH(EP), NULL, 1000, 0, NULL,                    \
	  DAT_QOS_BEST_EFFORT)                                                \
	X(ep_disconnect, EP, IH(EP), DAT_CLOSE_ABRUPT_FLAG)                   \
	X(ep_post_send, EP, IH(EP), 1, &x.seg, x.cookie, 0)                   \
	X(ep_post_recv, EP, IH(EP), 1, &x.seg, x.cookie, 0)                   \
	X(ep_post_rdma_read, EP, IH(EP), 1, &x.seg, x.cookie, &x.target, 0)   \
	X(ep_post_rdma_write, EP, IH(EP), 1, &x.seg, x.cookie, &x.target, 0)  \
	X(ep_post_send_with_invalidate, EP, IH(EP), 1, &x.seg, x.cookie, 0,   \
	  DAT_FALSE, 0)                                                       \
	X(ep_post_rdma_read_to_rmr, EP, IH(EP), &x.target, x.cookie,          \
	  &x.target, 0)                                                       \
	X(ep_get_status, EP, IH(EP), PLACE(DAT_EP_STATE), NULL, NULL)         \
	X(ep_recv_query, EP, IH(EP), PLACE(DAT_COUNT), NULL)                  \
	X(ep_set_watermark, EP, IH(EP), 1, 2)                                 \
	X(lmr_create, IA, IH(IA), DAT_MEM_TYPE_VIRTUAL, x.desc, 64, NULL,     \
	  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, PLACE(DAT_LMR_HANDLE), NULL, \
	  NULL, NULL, NULL)                                                   \
	X(lmr_query, LMR, IH(LMR), DAT_LMR_FIELD_ALL, PLACE(DAT_LMR_PARAM))   \
	X(lmr_sync_rdma_read, IA, IH(IA), &x.seg, 1)                          \
	X(lmr_sync_rdma_write, IA, IH(IA), &x.seg, 1)                         \
	X(rmr_create, PZ, IH(PZ), PLACE(DAT_RMR_HANDLE))                      \
	X(rmr_query, RMR, IH(RMR), DAT_RMR_FIELD_ALL, PLACE(DAT_RMR_PARAM))   \
	X(psp_create, IA, IH(IA), 1, NULL, DAT_PSP_CONSUMER_FLAG,             \
	  PLACE(DAT_PSP_HANDLE))                                              \
	X(psp_create_any, IA, IH(IA), PLACE(DAT_CONN_QUAL), NULL,             \
	  DAT_PSP_CONSUMER_FLAG, PLACE(DAT_PSP_HANDLE))                       \
	X(psp_query, PSP, IH(PSP), DAT_PSP_FIELD_ALL, PLACE(DAT_PSP_PARAM))   \
	X(rsp_create, IA, IH(IA), 1, NULL, NULL, PLACE(DAT_RSP_HANDLE))       \
	X(rsp_query, RSP, IH(RSP), DAT_RSP_FIELD_ALL, PLACE(DAT_RSP_PARAM))   \
	X(pz_create, IA, IH(IA), PLACE(DAT_PZ_HANDLE))                        \
	X(pz_query, PZ, IH(PZ), DAT_PZ_FIELD_ALL, PLACE(DAT_PZ_PARAM))        \
	X(srq_create, IA, IH(IA), NULL, PLACE(DAT_SRQ_ATTR),                  \
	  PLACE(DAT_SRQ_HANDLE))                                              \
	X(srq_post_recv, SRQ, IH(SRQ), 1, &x.seg, x.cookie)                   \
	X(srq_query, SRQ, IH(SRQ), DAT_SRQ_FIELD_ALL, PLACE(DAT_SRQ_PARAM))   \
	X(srq_resize, SRQ, IH(SRQ), 8)                                        \
	X(srq_set_lw, SRQ, IH(SRQ), 1)                                        \
	X(set_consumer_context, ANY, IH_1, (DAT_CONTEXT){.as_64 = 1})         \
	X(get_consumer_context, ANY, IH_1, PLACE(DAT_CONTEXT))                \
	X(get_handle_type, ANY, IH_1, PLACE(DAT_HANDLE_TYPE))

/* The same for calls that have no further argument. */
#define SHORT_CALLS(X)                     \
	X(cno_free, CNO, IH(CNO))          \
	X(evd_enable, EVD, IH_0)           \
	X(evd_disable, EVD, IH_0)          \
	X(evd_set_unwaitable, EVD, IH_0)   \
	X(evd_clear_unwaitable, EVD, IH_0) \
	X(evd_free, EVD, IH_0)             \
	X(ep_reset, EP, IH(EP))            \
	X(ep_free, EP, IH(EP))             \
	X(lmr_free, LMR, IH(LMR))          \
	X(rmr_free, RMR, IH(RMR))          \
	X(psp_free, PSP, IH(PSP))          \
	X(rsp_free, RSP, IH(RSP))          \
	X(pz_free, PZ, IH(PZ))             \
	X(srq_free, SRQ, IH(SRQ))          \
	X(csp_free, CSP, IH(CSP))

#define DAT_HANDLE_TYPE_ANY -1

#define THUNK(call, type, code, ...)               \
	static DAT_RETURN try_##call(DAT_HANDLE h) \
	{                                          \
		return V(call)(h, __VA_ARGS__);    \
	}
#define SHORT_THUNK(call, type, code)              \
	static DAT_RETURN try_##call(DAT_HANDLE h) \
	{                                          \
		return V(call)(h);                 \
	}
CALLS(THUNK)
SHORT_CALLS(SHORT_THUNK)

#define ROW(call, type, code, ...) \
	{#call, DAT_HANDLE_TYPE_##type, code, try_##call},

static const struct row {
	const char *name;
	int type;
	DAT_RETURN code;
	DAT_RETURN (*fn)(DAT_HANDLE h);
} rows[] = {CALLS(ROW) SHORT_CALLS(ROW)};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* One live object of each type. */
struct zoo {
	DAT_HANDLE h[DAT_HANDLE_TYPE_CSP + 1];
	DAT_EP_HANDLE client_ep; /* of the request that the CR stands for */
};

static void zoo_fill(struct world *w, struct zoo *z)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	struct world_side *s = &w->server;
	DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};
	struct sockaddr_in addr = *(struct sockaddr_in *)world_addr();
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;

	memset(z, 0, sizeof(*z));
	addr.sin_port = htons(6001);
	z->h[DAT_HANDLE_TYPE_IA] = s->ia;
	z->h[DAT_HANDLE_TYPE_PZ] = s->pz;
	z->h[DAT_HANDLE_TYPE_LMR] = s->mem.lmr;
	z->h[DAT_HANDLE_TYPE_EVD] = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
	z->h[DAT_HANDLE_TYPE_EP] = world_ep(s, NULL);
	z->h[DAT_HANDLE_TYPE_CNO] = world_cno(s->ia);
	assert_dat_ok(V(rmr_create)(s->pz, (void *)&z->h[DAT_HANDLE_TYPE_RMR]));
	assert_dat_ok(V(srq_create)(s->ia, s->pz, &attr,
				    (void *)&z->h[DAT_HANDLE_TYPE_SRQ]));
	ep = world_ep(s, NULL);
	assert_dat_ok(V(rsp_create)(s->ia, 6000, ep, s->cr_evd,
				    (void *)&z->h[DAT_HANDLE_TYPE_RSP]));
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL, s->cr_evd,
				    DAT_PSP_CONSUMER_FLAG,
				    (void *)&z->h[DAT_HANDLE_TYPE_PSP]));
	assert_dat_ok(V(csp_create)(s->ia, &comm, (DAT_IA_ADDRESS_PTR)&addr,
				    s->cr_evd,
				    (void *)&z->h[DAT_HANDLE_TYPE_CSP]));
	z->client_ep = world_ep(&w->client, NULL);
	assert_dat_ok(V(ep_connect)(
		z->client_ep, world_addr(), WORLD_QUAL, WORLD_PATIENCE_US, 0,
		NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ev = expect_event(s->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	z->h[DAT_HANDLE_TYPE_CR] =
		ev.event_data.cr_arrival_event_data.cr_handle;
}

/* All but the IA, which the fixture closes. */
static void zoo_free(struct world *w, struct zoo *z)
{
	assert_dat_ok(V(cr_reject)(z->h[DAT_HANDLE_TYPE_CR], 0, NULL));
	assert_dat_ok(V(csp_free)(z->h[DAT_HANDLE_TYPE_CSP]));
	assert_dat_ok(V(psp_free)(z->h[DAT_HANDLE_TYPE_PSP]));
	assert_dat_ok(V(rsp_free)(z->h[DAT_HANDLE_TYPE_RSP]));
	assert_dat_ok(V(rmr_free)(z->h[DAT_HANDLE_TYPE_RMR]));
	assert_dat_ok(V(ep_free)(z->h[DAT_HANDLE_TYPE_EP]));
	assert_dat_ok(V(srq_free)(z->h[DAT_HANDLE_TYPE_SRQ]));
	assert_dat_ok(V(cno_free)(z->h[DAT_HANDLE_TYPE_CNO]));
	assert_dat_ok(V(evd_free)(z->h[DAT_HANDLE_TYPE_EVD]));
	assert_dat_ok(V(lmr_free)(z->h[DAT_HANDLE_TYPE_LMR]));
}

static void refuses(const struct row *row, DAT_HANDLE h)
{
	DAT_RETURN ret;

	dapl_fail(DAT_SUCCESS, "%s", "");
	ret = row->fn(h);
	if (ret != row->code)
		fail_msg("%s(%p): 0x%x, not 0x%x", row->name, h, ret,
			 row->code);
	if (!dapl__fail_text()[0])
		fail_msg("%s: no reason given", row->name);
}

/*
 * Calls of the data path rely on libdat2, and on the redirection macros, which
 * have read the vector that the handle points to.
 */
static bool needs_memory(const struct row *row)
{
	return !strncmp(row->name, "ep_post_", 8) ||
	       !strcmp(row->name, "srq_post_recv") ||
	       !strcmp(row->name, "evd_wait") ||
	       !strcmp(row->name, "evd_dequeue");
}

ON_IB(any_call__no_handle)
{
	static uint64_t zeros[512], ones[512];
	DAT_HANDLE garbage[] = {
		zeros,	       ones, /* memory without a handle in it */
		NULL,	       (DAT_HANDLE)1,
		(DAT_HANDLE)2, (DAT_HANDLE)((uintptr_t)zeros + 1),
	};

	memset(ones, 0xff, sizeof(ones));
	for (size_t i = 0; i < ROWS; i++)
		for (int g = 0; g < (needs_memory(&rows[i]) ? 2 : 6); g++)
			refuses(&rows[i], garbage[g]);
}

ON_IB(any_call__handle_of_other_type)
{
	struct zoo z;

	zoo_fill(w, &z);
	for (size_t i = 0; i < ROWS; i++)
		for (int t = 0; t <= DAT_HANDLE_TYPE_CSP; t++)
			if (rows[i].type != DAT_HANDLE_TYPE_ANY &&
			    rows[i].type != t)
				refuses(&rows[i], z.h[t]);
	zoo_free(w, &z); /* and nothing has happened to any */
}

ON_IB(any_call__freed_handle)
{
	struct zoo z;

	zoo_fill(w, &z);
	zoo_free(w, &z);
	for (size_t i = 0; i < ROWS; i++)
		for (int t = 0; t <= DAT_HANDLE_TYPE_CSP; t++)
			if (t != DAT_HANDLE_TYPE_IA && t != DAT_HANDLE_TYPE_PZ)
				refuses(&rows[i], z.h[t]);
}

CASE(any_call__closed_ia)
{
	struct zoo z;
	struct world w;

	world_open(&w, FV_IB);
	zoo_fill(&w, &z);
	world_ia_close(w.server.ia, DAT_CLOSE_ABRUPT_FLAG);
	w.server.ia = NULL;
	for (size_t i = 0; i < ROWS; i++)
		for (int t = 0; t <= DAT_HANDLE_TYPE_CSP; t++)
			refuses(&rows[i], z.h[t]);
	world_close(&w);
}

/* Handles that are not a call's first argument, which nothing has looked at. */

/* What the calls below need; set by the test. */
static struct world_side *side;
static struct zoo *zoo;

static DAT_RETURN ia_open_async(DAT_HANDLE h)
{
	DAT_EVD_HANDLE evd = h;
	DAT_IA_HANDLE ia;

	return V(ia_open)(WORLD_IA_NAME, 8, &evd, &ia);
}

static DAT_RETURN ep_modify_with(DAT_HANDLE h, DAT_EP_PARAM_MASK mask)
{
	DAT_EP_PARAM param = {.pz_handle = h,
			      .recv_evd_handle = h,
			      .request_evd_handle = h,
			      .connect_evd_handle = h};

	return V(ep_modify)(zoo->h[DAT_HANDLE_TYPE_EP], mask, &param);
}

static DAT_RETURN lmr_of_lmr(DAT_HANDLE h)
{
	DAT_REGION_DESCRIPTION desc = {.for_lmr_handle = h};

	return V(lmr_create)(side->ia, DAT_MEM_TYPE_LMR, desc, 64, side->pz,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			     PLACE(DAT_LMR_HANDLE), NULL, NULL, NULL, NULL);
}

static DAT_RETURN lmr_of_pz(DAT_HANDLE h)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = side->mem.buf};

	return V(lmr_create)(side->ia, DAT_MEM_TYPE_VIRTUAL, desc, 64, h,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			     PLACE(DAT_LMR_HANDLE), NULL, NULL, NULL, NULL);
}

static DAT_RETURN bind_with(DAT_HANDLE lmr, DAT_HANDLE ep)
{
	DAT_LMR_TRIPLET seg = world_seg(side, 0, 8);

	return V(rmr_bind)(zoo->h[DAT_HANDLE_TYPE_RMR], lmr, &seg,
			   DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, ep,
			   x.cookie, 0, PLACE(DAT_RMR_CONTEXT));
}

static DAT_RETURN csp_with(DAT_HANDLE h)
{
	DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};
	struct sockaddr_in addr = *(struct sockaddr_in *)world_addr();

	addr.sin_port = htons(6002);
	return V(csp_create)(side->ia, &comm, (DAT_IA_ADDRESS_PTR)&addr, h,
			     PLACE(DAT_CSP_HANDLE));
}

static DAT_RETURN srq_with(DAT_HANDLE h)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};

	return V(srq_create)(side->ia, h, &attr, PLACE(DAT_SRQ_HANDLE));
}

#define EP_OUT PLACE(DAT_EP_HANDLE)
#define EP_CREATE(pz, recv, req, conn) \
	V(ep_create)(side->ia, pz, recv, req, conn, NULL, EP_OUT)
#define EP_SRQ(pz, recv, req, conn, srq) \
	V(ep_create_with_srq)(side->ia, pz, recv, req, conn, srq, NULL, EP_OUT)
#define MODIFY(part) ep_modify_with(h, DAT_EP_FIELD_##part##_HANDLE)

/* name, type that would be right, code, call with the handle h */
#define OTHER_CALLS(X)                                                         \
	X(ia_open__async_evd, EVD, IH(EVD_ASYNC), ia_open_async(h))            \
	X(evd_create__cno, CNO, IH(CNO),                                       \
	  V(evd_create)(side->ia, 8, h, DAT_EVD_DTO_FLAG,                      \
			PLACE(DAT_EVD_HANDLE)))                                \
	X(evd_modify_cno__cno, CNO, IH(CNO),                                   \
	  V(evd_modify_cno)(side->conn_evd, h))                                \
	X(ep_create__pz, PZ, IH(PZ), EP_CREATE(h, NULL, NULL, NULL))           \
	X(ep_create__recv, EVD, IH(EVD_RECV),                                  \
	  EP_CREATE(side->pz, h, NULL, NULL))                                  \
	X(ep_create__request, EVD, IH(EVD_REQUEST),                            \
	  EP_CREATE(side->pz, NULL, h, NULL))                                  \
	X(ep_create__connect, EVD, IH(EVD_CONN),                               \
	  EP_CREATE(side->pz, NULL, NULL, h))                                  \
	X(ep_create_with_srq__pz, PZ, IH(PZ),                                  \
	  EP_SRQ(h, NULL, NULL, NULL, zoo->h[DAT_HANDLE_TYPE_SRQ]))            \
	X(ep_create_with_srq__recv, EVD, IH(EVD_RECV),                         \
	  EP_SRQ(side->pz, h, NULL, NULL, zoo->h[DAT_HANDLE_TYPE_SRQ]))        \
	X(ep_create_with_srq__srq, SRQ, IH(SRQ),                               \
	  EP_SRQ(side->pz, side->recv_evd, NULL, NULL, h))                     \
	X(ep_modify__pz, PZ, DAPL_BAD_ARG(3), MODIFY(PZ))                      \
	X(ep_modify__recv, EVD, DAPL_BAD_ARG(3), MODIFY(RECV_EVD))             \
	X(ep_modify__request, EVD, DAPL_BAD_ARG(3), MODIFY(REQUEST_EVD))       \
	X(ep_modify__connect, EVD, DAPL_BAD_ARG(3), MODIFY(CONNECT_EVD))       \
	X(ep_dup_connect__dup, EP, IH(EP),                                     \
	  V(ep_dup_connect)(zoo->h[DAT_HANDLE_TYPE_EP], h, 1000, 0, NULL,      \
			    DAT_QOS_BEST_EFFORT))                              \
	X(psp_create__evd, EVD, IH(EVD_CR),                                    \
	  V(psp_create)(side->ia, 6003, h, DAT_PSP_CONSUMER_FLAG,              \
			PLACE(DAT_PSP_HANDLE)))                                \
	X(psp_create_any__evd, EVD, IH(EVD_CR),                                \
	  V(psp_create_any)(side->ia, (DAT_CONN_QUAL *)(x.out + 64), h,        \
			    DAT_PSP_CONSUMER_FLAG, PLACE(DAT_PSP_HANDLE)))     \
	X(rsp_create__ep, EP, IH(EP),                                          \
	  V(rsp_create)(side->ia, 6004, h, side->cr_evd,                       \
			PLACE(DAT_RSP_HANDLE)))                                \
	X(rsp_create__evd, EVD, IH(EVD_CR),                                    \
	  V(rsp_create)(side->ia, 6004, zoo->h[DAT_HANDLE_TYPE_EP], h,         \
			PLACE(DAT_RSP_HANDLE)))                                \
	X(csp_create__evd, EVD, IH(EVD_CR), csp_with(h))                       \
	X(cr_accept__ep, EP, IH(EP),                                           \
	  V(cr_accept)(zoo->h[DAT_HANDLE_TYPE_CR], h, 0, NULL))                \
	X(lmr_create__pz, PZ, IH(PZ), lmr_of_pz(h))                            \
	X(lmr_create__lmr, LMR, IH(LMR), lmr_of_lmr(h))                        \
	X(rmr_bind__lmr, LMR, IH(LMR),                                         \
	  bind_with(h, zoo->h[DAT_HANDLE_TYPE_EP]))                            \
	X(rmr_bind__ep, EP, IH(EP), bind_with(zoo->h[DAT_HANDLE_TYPE_LMR], h)) \
	X(srq_create__pz, PZ, IH(PZ), srq_with(h))

#define OTHER_THUNK(name, type, code, call)        \
	static DAT_RETURN try_##name(DAT_HANDLE h) \
	{                                          \
		return call;                       \
	}
OTHER_CALLS(OTHER_THUNK)

static const struct row other_rows[] = {OTHER_CALLS(ROW)};

#define OTHER_ROWS (sizeof(other_rows) / sizeof(other_rows[0]))

/*
 * Whatever may stand there, its memory is not looked at, as there may be none;
 * and only a handle's own address is a handle, not that of a copy.
 */
ON_IB(other_argument__no_handle)
{
	uintptr_t values[] = {
		8,
		64,
		4095,
		4096,
		65536,
		UINTPTR_MAX,
		UINTPTR_MAX - 7,
		UINTPTR_MAX / 2 + 1,	   /* the first of the kernel's half */
		(uintptr_t)0x5a5a5a5a5a5a, /* of nothing */
		0,			   /* a page that cannot be read */
		0,			   /* a copy */
		0,			   /* behind the beginning */
		0,
	};
	const size_t n = sizeof(values) / sizeof(values[0]);
	static _Alignas(16) uint8_t copy[sizeof(struct dapl_obj)];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *closed =
		mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct zoo z;

	assert_ptr_not_equal(closed, MAP_FAILED);
	zoo_fill(w, &z);
	side = s;
	zoo = &z;
	for (size_t i = 0; i < OTHER_ROWS; i++) {
		DAT_HANDLE good = z.h[other_rows[i].type];

		memcpy(copy, good, sizeof(copy));
		values[n - 4] = (uintptr_t)closed;
		values[n - 3] = (uintptr_t)copy;
		values[n - 2] = (uintptr_t)good + 8;
		values[n - 1] = (uintptr_t)good + 1;
		for (size_t v = 0; v < n; v++)
			refuses(&other_rows[i], (DAT_HANDLE)values[v]);
		for (int t = 0; t <= DAT_HANDLE_TYPE_CSP; t++)
			if (t != other_rows[i].type)
				refuses(&other_rows[i], z.h[t]);
	}
	munmap(closed, page);
	zoo_free(w, &z);
}

/* However many there are, each is found, and nothing between them. */
ON_IB(any_call__thousands_of_handles)
{
	static DAT_EVD_HANDLE evd[5000];
	const size_t n = sizeof(evd) / sizeof(evd[0]);
	DAT_HANDLE_TYPE type;

	for (size_t i = 0; i < n; i++)
		evd[i] = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
	for (size_t i = 0; i < n; i++) {
		assert_dat_ok(V(get_handle_type)(evd[i], &type));
		assert_int_equal(type, DAT_HANDLE_TYPE_EVD);
		assert_int_equal(V(get_handle_type)((char *)evd[i] + 16, &type),
				 IH_1);
		assert_dat_ok(V(evd_free)(evd[i]));
		assert_int_equal(V(evd_free)(evd[i]), IH_0);
	}
}

/* Objects of two IAs do not go together, but this: dapltest shares one. */
ON_IB(ep_create__connection_evd_of_other_ia)
{
	DAT_EP_HANDLE ep = NULL;

	assert_dat_ok(V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd,
				   c->conn_evd, NULL, &ep));
	assert_refused(V(evd_free)(c->conn_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_dat_ok(V(ep_free)(ep));
}

/* An object made from the memory of a freed one has nothing of it. */
ON_IB(consumer_context__of_reused_memory)
{
	DAT_CONTEXT context = {.as_64 = 1};
	DAT_PZ_HANDLE pz;
	bool reused = false;

	for (int i = 0; i < 200; i++) {
		static DAT_PZ_HANDLE seen[200];

		pz = world_pz(s->ia);
		for (int j = 0; j < i; j++)
			reused |= seen[j] == pz;
		seen[i] = pz;
		assert_dat_ok(V(get_consumer_context)(pz, &context));
		assert_int_equal(context.as_64, 0);
		context.as_64 = 1;
		assert_dat_ok(V(set_consumer_context)(pz, context));
		assert_dat_ok(V(pz_free)(pz));
	}
	assert_true(reused);
}

RUN_CASES(NULL, NULL)
