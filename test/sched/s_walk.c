/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_walk.c - two to four threads make random calls on objects that they share.
 *
 * Each answer is one that the public headers document for the call, a freed
 * object's handle is none, a request that was refused does not complete and no
 * other does so twice; what ends, and that nothing is left, is the frame's.
 * What the calls do is known to nobody: test/walk has a model, for one thread.
 * The end of an object is ordered with calls on it as doc/thread-safety.md
 * wants, and not beyond that.
 */
#include "test/sched/scenario.h"

#define OBJS	24 /* of a kind: no handle is used again, see dapl_obj.c */
#define NAMED	4  /* objects that a call names */
#define COOKIES 512

#define NO_CALL ((DAT_RETURN)-1) /* there is nothing to make it with */

enum kind {
	PZ,
	EVD,
	CNO,
	LMR,
	RMR,
	EP,
	PSP,
	RSP,
	SRQ,
	CR,
	KINDS
};

struct obj {
	DAT_HANDLE handle;
	struct world_side *side;
	int calls;  /* that are under way, and that an end would meet */
	bool alone; /* one is under way that is to meet no other */
	bool gone;
};

/* A thread, between two calls and in one. */
struct walker {
	struct world_side *s;
	struct obj *named[NAMED];
	int n;
	struct obj *first; /* if it was gone before the call */
	struct obj *ended; /* if the call succeeds */
};

static struct {
	struct world *w;
	struct obj obj[KINDS][OBJS];
	int n[KINDS];
	struct {
		bool posted, back;
	} cookie[COOKIES];
	unsigned cookies;
	int calls; /* of a thread */
} st;

/* ----------------------------------------------------- objects */

static void know(enum kind kind, struct world_side *side, DAT_HANDLE handle)
{
	st.obj[kind][st.n[kind]++] =
		(struct obj){handle, side, 0, false, false};
}

/* One that was freed now and then. */
static struct obj *some(enum kind kind)
{
	struct obj *o = NULL;

	for (int i = 0; i < 4 && st.n[kind]; i++) {
		o = &st.obj[kind][sched_dice((unsigned)st.n[kind])];
		if (!o->gone)
			break;
	}
	return o && !o->alone ? o : NULL;
}

static DAT_HANDLE name(struct walker *k, struct obj *o)
{
	if (!o)
		return DAT_HANDLE_NULL;
	if (!k->n && o->gone)
		k->first = o;
	o->calls++;
	k->named[k->n++] = o;
	return o->handle;
}

/* For a call that no end may meet. */
static DAT_HANDLE with(struct walker *k, enum kind kind)
{
	return name(k, some(kind));
}

/* The one that requests come to is asked more often than others. */
static DAT_EVD_HANDLE busy_evd(struct walker *k)
{
	return sched_dice(3) ? with(k, EVD) : name(k, &st.obj[EVD][0]);
}

/* For a call that meets none on the same object. */
static DAT_HANDLE alone(struct walker *k, enum kind kind)
{
	struct obj *o = some(kind);

	if (!o || o->calls)
		return DAT_HANDLE_NULL;
	o->alone = true;
	return name(k, o);
}

static DAT_HANDLE to_end(struct walker *k, enum kind kind)
{
	DAT_HANDLE handle = alone(k, kind);

	if (handle)
		k->ended = k->named[0];
	return handle;
}

/* As the argument of a call that makes something: its end may come first. */
static DAT_HANDLE from(enum kind kind)
{
	struct obj *o = some(kind);

	return o ? o->handle : DAT_HANDLE_NULL;
}

static bool has_room(enum kind kind)
{
	return st.n[kind] < OBJS;
}

/* The side whose memory and queues suit what was named first. */
static struct world_side *side(struct walker *k)
{
	return k->n ? k->named[0]->side : k->s;
}

/* ------------------------------------------------------ events */

static DAT_DTO_COOKIE cookie_out(void)
{
	need(st.cookies < COOKIES);
	st.cookie[st.cookies].posted = true;
	return world_cookie(st.cookies++);
}

/* RET of the post that COOKIE was for. */
static DAT_RETURN posted(DAT_DTO_COOKIE cookie, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS) {
		need(!st.cookie[cookie.as_64].back);
		st.cookie[cookie.as_64].posted = false;
	}
	return ret;
}

static void cookie_back(uint64_t cookie)
{
	need(cookie < st.cookies);
	need(st.cookie[cookie].posted && !st.cookie[cookie].back);
	st.cookie[cookie].back = true;
}

/* Answered at once where no more of them can be kept. */
static void request_came(struct walker *k, DAT_CR_HANDLE cr)
{
	if (has_room(CR))
		know(CR, side(k), cr);
	else
		need_type(V(cr_reject)(cr, 0, NULL), DAT_SUCCESS);
}

static DAT_RETURN took(struct walker *k, const DAT_EVENT *ev, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		return ret;
	need(ev->evd_handle == k->named[0]->handle);
	switch ((unsigned)ev->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		cookie_back(ev->event_data.dto_completion_event_data.user_cookie
				    .as_64);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		cookie_back(ev->event_data.rmr_completion_event_data.user_cookie
				    .as_64);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		request_came(k, ev->event_data.cr_arrival_event_data.cr_handle);
		break;
	}
	return ret;
}

static DAT_RETURN evd_dequeue(struct walker *k)
{
	DAT_EVD_HANDLE evd = busy_evd(k);
	DAT_EVENT ev;

	return evd ? took(k, &ev, V(evd_dequeue)(evd, &ev)) : NO_CALL;
}

static DAT_RETURN evd_wait(struct walker *k)
{
	DAT_TIMEOUT timeout_us = sched_dice(3) * sched_dice(1000);
	DAT_COUNT threshold = sched_dice(4) ? 1 : 2, more;
	DAT_EVD_HANDLE evd = busy_evd(k);
	DAT_EVENT ev;

	return evd ? took(k, &ev,
			  V(evd_wait)(evd, timeout_us, threshold, &ev, &more))
		   : NO_CALL;
}

/* A call on HANDLE, and what it is given besides: libdat2 refuses NULL. */
#define ON(call, handle, ...)                                     \
	static DAT_RETURN call(struct walker *k)                  \
	{                                                         \
		DAT_HANDLE on = (handle);                         \
                                                                  \
		return on ? V(call)(on, ##__VA_ARGS__) : NO_CALL; \
	}

/* A call that makes an object, which it writes to HANDLE. */
#define MAKES(kind, call, ...)                       \
	static DAT_RETURN call(struct walker *k)     \
	{                                            \
		DAT_HANDLE handle = DAT_HANDLE_NULL; \
		DAT_RETURN ret;                      \
                                                     \
		if (!has_room(kind))                 \
			return NO_CALL;              \
		ret = V(call)(__VA_ARGS__);          \
		if (ret == DAT_SUCCESS)              \
			know(kind, side(k), handle); \
		return ret;                          \
	}

/* -------------------------------------------- EVDs and CNOs */

static DAT_EVD_FLAGS some_streams(void)
{
	static const unsigned flags[] = {
		DAT_EVD_SOFTWARE_FLAG,
		DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG,
		DAT_EVD_DTO_FLAG,
		DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
		DAT_EVD_CONNECTION_FLAG,
		DAT_EVD_CR_FLAG,
	};

	return (DAT_EVD_FLAGS)flags[sched_dice(6)];
}

MAKES(EVD, evd_create, k->s->ia, 8, sched_dice(2) ? from(CNO) : NULL,
      some_streams(), &handle)
ON(evd_post_se, with(k, EVD), &(DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT})
ON(evd_query, with(k, EVD), DAT_EVD_FIELD_ALL, &(DAT_EVD_PARAM){0})
ON(evd_modify_cno, with(k, EVD), sched_dice(3) ? from(CNO) : NULL)
ON(evd_enable, with(k, EVD))
ON(evd_disable, with(k, EVD))
ON(evd_set_unwaitable, with(k, EVD))
ON(evd_clear_unwaitable, with(k, EVD))
ON(evd_resize, with(k, EVD), 1 + (DAT_COUNT)sched_dice(100))

/* With every call on it. */
static DAT_RETURN evd_free(struct walker *k)
{
	DAT_EVD_HANDLE evd = with(k, EVD);

	k->ended = k->n ? k->named[0] : NULL;
	return evd ? V(evd_free)(evd) : NO_CALL;
}

MAKES(CNO, cno_create, k->s->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &handle)
ON(cno_query, with(k, CNO), DAT_CNO_FIELD_ALL, &(DAT_CNO_PARAM){0})
ON(cno_wait, with(k, CNO), sched_dice(3) * sched_dice(1000),
   &(DAT_EVD_HANDLE){NULL})
ON(cno_free, to_end(k, CNO))

/* ----------------------------------- memory, and who may use it */

static DAT_PZ_HANDLE some_pz(struct walker *k)
{
	return sched_dice(3) ? k->s->pz : from(PZ);
}

static DAT_REGION_DESCRIPTION region(struct walker *k)
{
	return (DAT_REGION_DESCRIPTION){.for_va = k->s->mem.buf};
}

MAKES(PZ, pz_create, k->s->ia, &handle)
ON(pz_query, with(k, PZ), DAT_PZ_FIELD_ALL, &(DAT_PZ_PARAM){0})
ON(pz_free, to_end(k, PZ))
MAKES(LMR, lmr_create, k->s->ia, DAT_MEM_TYPE_VIRTUAL, region(k), 4096,
      some_pz(k), WORLD_PRIV_ALL, DAT_VA_TYPE_VA, &handle, NULL, NULL, NULL,
      NULL)
ON(lmr_query, with(k, LMR), DAT_LMR_FIELD_ALL, &(DAT_LMR_PARAM){0})
ON(lmr_free, to_end(k, LMR))

static DAT_RETURN rmr_create(struct walker *k)
{
	DAT_PZ_HANDLE pz = sched_dice(3) ? k->s->pz : with(k, PZ);
	DAT_RMR_HANDLE rmr = NULL;
	DAT_RETURN ret;

	if (!pz || !has_room(RMR))
		return NO_CALL;
	ret = V(rmr_create)(pz, &rmr);
	if (ret == DAT_SUCCESS)
		know(RMR, side(k), rmr);
	return ret;
}

ON(rmr_query, with(k, RMR), DAT_RMR_FIELD_ALL, &(DAT_RMR_PARAM){0})
ON(rmr_free, to_end(k, RMR))

static DAT_RETURN rmr_bind(struct walker *k)
{
	DAT_RMR_HANDLE rmr = alone(k, RMR);
	struct world_side *s = side(k);
	DAT_LMR_TRIPLET seg = world_seg(s, 0, sched_dice(2) * 64);
	DAT_LMR_HANDLE lmr = sched_dice(2) ? s->mem.lmr : with(k, LMR);
	DAT_EP_HANDLE ep = with(k, EP);
	DAT_RMR_CONTEXT context;
	DAT_DTO_COOKIE cookie;

	if (!k->n)
		return NO_CALL;
	cookie = cookie_out();
	return posted(cookie,
		      V(rmr_bind)(rmr, lmr, &seg, WORLD_PRIV_ALL,
				  DAT_VA_TYPE_VA, ep, cookie, 0, &context));
}

/* --------------------------------------------------- endpoints */

/* Mostly that where somebody listened in the beginning. */
static DAT_CONN_QUAL some_qual(void)
{
	return WORLD_QUAL + !sched_dice(4);
}

MAKES(EP, ep_create, k->s->ia, some_pz(k),
      sched_dice(3) ? k->s->recv_evd : from(EVD),
      sched_dice(3) ? k->s->req_evd : from(EVD),
      sched_dice(3) ? k->s->conn_evd : from(EVD), NULL, &handle)
MAKES(EP, ep_create_with_srq, k->s->ia, some_pz(k), k->s->recv_evd,
      sched_dice(3) ? k->s->req_evd : from(EVD), k->s->conn_evd, from(SRQ),
      NULL, &handle)
ON(ep_query, with(k, EP), DAT_EP_FIELD_ALL, &(DAT_EP_PARAM){0})
ON(ep_get_status, with(k, EP), &(DAT_EP_STATE){0}, &(DAT_BOOLEAN){0},
   &(DAT_BOOLEAN){0})
ON(ep_recv_query, with(k, EP), &(DAT_COUNT){0}, &(DAT_COUNT){0})
ON(ep_reset, alone(k, EP))
ON(ep_free, to_end(k, EP))
ON(ep_disconnect, with(k, EP),
   sched_dice(2) ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG)
ON(ep_connect, with(k, EP), world_addr(), some_qual(),
   sched_dice(2) ? DAT_TIMEOUT_INFINITE : 1 + sched_dice(4000), 0, NULL,
   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)

static DAT_RETURN ep_modify(struct walker *k)
{
	DAT_EP_HANDLE ep = alone(k, EP);
	DAT_EP_PARAM param = {.connect_evd_handle = side(k)->conn_evd};

	if (!ep)
		return NO_CALL;
	return V(ep_modify)(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param);
}

/* A post of BYTES, and what else CALL takes behind the cookie. */
#define POSTS(call, kind, bytes, ...)                                       \
	static DAT_RETURN call(struct walker *k)                            \
	{                                                                   \
		DAT_HANDLE on = with(k, kind);                              \
		DAT_LMR_TRIPLET seg = world_seg(side(k), 0, bytes);         \
		DAT_DTO_COOKIE cookie;                                      \
                                                                            \
		if (!k->n)                                                  \
			return NO_CALL;                                     \
		cookie = cookie_out();                                      \
		return posted(cookie,                                       \
			      V(call)(on, 1, &seg, cookie, ##__VA_ARGS__)); \
	}
#define REMOTE                             \
	(DAT_RMR_TRIPLET[])                \
	{                                  \
		world_target(k->s, 64, 32) \
	}

POSTS(ep_post_recv, EP, 64, 0)
POSTS(ep_post_send, EP, 32, 0)
POSTS(ep_post_rdma_write, EP, 32, REMOTE, 0)
POSTS(ep_post_rdma_read, EP, 32, REMOTE, 0)

/* --------------------------------------- shared receive queues */

MAKES(SRQ, srq_create, k->s->ia, some_pz(k),
      (&(DAT_SRQ_ATTR){.max_recv_dtos = 4, .max_recv_iov = 1}), &handle)
ON(srq_query, with(k, SRQ), DAT_SRQ_FIELD_ALL, &(DAT_SRQ_PARAM){0})
ON(srq_resize, with(k, SRQ), 1 + (DAT_COUNT)sched_dice(16))
ON(srq_free, to_end(k, SRQ))

POSTS(srq_post_recv, SRQ, 64)

/* ------------------------------------- service points, requests */

MAKES(PSP, psp_create, k->s->ia, some_qual(),
      sched_dice(3) ? k->s->cr_evd : from(EVD), DAT_PSP_CONSUMER_FLAG, &handle)
ON(psp_query, with(k, PSP), DAT_PSP_FIELD_ALL, &(DAT_PSP_PARAM){0})
ON(psp_free, to_end(k, PSP))

/* The endpoint is its own until it ends, which may be at once. */
static DAT_RETURN rsp_create(struct walker *k)
{
	DAT_EP_HANDLE ep = with(k, EP);
	struct world_side *s = side(k);
	DAT_RSP_HANDLE rsp = NULL;
	DAT_RETURN ret;

	if (!has_room(RSP))
		return NO_CALL;
	ret = V(rsp_create)(s->ia, some_qual(), ep, s->cr_evd, &rsp);
	if (ret == DAT_SUCCESS)
		know(RSP, s, rsp);
	return ret;
}

ON(rsp_query, with(k, RSP), DAT_RSP_FIELD_ALL, &(DAT_RSP_PARAM){0})
ON(rsp_free, to_end(k, RSP))
ON(cr_query, with(k, CR), DAT_CR_FIELD_ALL, &(DAT_CR_PARAM){0})
ON(cr_reject, to_end(k, CR), 0, NULL)

static DAT_RETURN cr_accept(struct walker *k)
{
	DAT_CR_HANDLE cr = to_end(k, CR);

	if (!cr)
		return NO_CALL;
	return V(cr_accept)(cr, sched_dice(6) ? with(k, EP) : NULL, 0, NULL);
}

/* ---------------------------------------------------- adapters */

ON(ia_query, k->s->ia, NULL, DAT_IA_FIELD_ALL, &(DAT_IA_ATTR){0},
   DAT_PROVIDER_FIELD_ALL, &(DAT_PROVIDER_ATTR){0})

/* One of the thread's own, beside the others. */
static DAT_RETURN ia_close(struct walker *k)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	need_ok(V(ia_open)(WORLD_IA_NAME, 8, &async, &ia));
	need_ok(V(pz_create)(ia, &pz));
	world_evd(ia, DAT_EVD_DTO_FLAG);
	need_type(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	return V(ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* --------------------------------------------------- the walk */

/* What the headers say; made by documented.awk. */
static const struct {
	const char *call;
	DAT_RETURN types[16]; /* besides DAT_SUCCESS, which ends them */
} documented[] = {
#include "test/sched/documented.h"
};

#define CALL(name, often)                   \
	{                                   \
		"dat_" #name, name, (often) \
	}

static const struct {
	const char *name;
	DAT_RETURN (*make)(struct walker *k);
	unsigned often;
} calls[] = {
	CALL(evd_dequeue, 8),
	CALL(evd_wait, 8),
	CALL(evd_post_se, 3),
	CALL(evd_create, 2),
	CALL(evd_query, 1),
	CALL(evd_modify_cno, 2),
	CALL(evd_enable, 2),
	CALL(evd_disable, 1),
	CALL(evd_set_unwaitable, 1),
	CALL(evd_clear_unwaitable, 2),
	CALL(evd_resize, 2),
	CALL(evd_free, 2),
	CALL(cno_create, 1),
	CALL(cno_query, 1),
	CALL(cno_wait, 3),
	CALL(cno_free, 1),
	CALL(pz_create, 1),
	CALL(pz_query, 1),
	CALL(pz_free, 1),
	CALL(lmr_create, 1),
	CALL(lmr_query, 1),
	CALL(lmr_free, 1),
	CALL(rmr_create, 1),
	CALL(rmr_query, 1),
	CALL(rmr_free, 1),
	CALL(rmr_bind, 2),
	CALL(ep_create, 2),
	CALL(ep_create_with_srq, 1),
	CALL(ep_query, 1),
	CALL(ep_get_status, 1),
	CALL(ep_recv_query, 1),
	CALL(ep_reset, 2),
	CALL(ep_free, 2),
	CALL(ep_disconnect, 4),
	CALL(ep_connect, 8),
	CALL(ep_modify, 1),
	CALL(ep_post_recv, 4),
	CALL(ep_post_send, 4),
	CALL(ep_post_rdma_write, 3),
	CALL(ep_post_rdma_read, 2),
	CALL(srq_create, 1),
	CALL(srq_query, 1),
	CALL(srq_resize, 2),
	CALL(srq_free, 1),
	CALL(srq_post_recv, 2),
	CALL(psp_create, 2),
	CALL(psp_query, 1),
	CALL(psp_free, 1),
	CALL(rsp_create, 2),
	CALL(rsp_query, 1),
	CALL(rsp_free, 1),
	CALL(cr_query, 2),
	CALL(cr_reject, 1),
	CALL(cr_accept, 5),
	CALL(ia_query, 1),
	CALL(ia_close, 1),
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

static size_t choose(void)
{
	unsigned all = 0, at;
	size_t i;

	for (i = 0; i < N(calls); i++)
		all += calls[i].often;
	at = sched_dice(all);
	for (i = 0; at >= calls[i].often; i++)
		at -= calls[i].often;
	return i;
}

static bool is_documented(const char *call, DAT_RETURN ret)
{
	for (size_t i = 0; i < N(documented); i++)
		if (!strcmp(documented[i].call, call))
			for (const DAT_RETURN *t = documented[i].types; *t; t++)
				if (DAT_GET_TYPE(ret) == *t)
					return true;
	return false;
}

static void judge(const struct walker *k, const char *call, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS) {
		if (k->first)
			sched_fail("%s: success, on what was freed", call);
		if (k->ended)
			k->ended->gone = true;
	} else if (ret != NO_CALL && !is_documented(call, ret)) {
		sched_fail("%s: 0x%x is not documented", call, (unsigned)ret);
	}
}

static void walks(void *nr)
{
	for (int i = 0; i < st.calls; i++) {
		struct walker k = {.s = sched_dice(2) ? &st.w->server
						      : &st.w->client};
		size_t what = choose();
		DAT_RETURN ret = calls[what].make(&k);

		/* Shown when a walk fails. */
		printf("%d: %s: 0x%x\n", (int)(intptr_t)nr, calls[what].name,
		       (unsigned)ret);
		judge(&k, calls[what].name, ret);
		for (int o = 0; o < k.n; o++) {
			k.named[o]->calls--;
			k.named[o]->alone = false;
		}
	}
}

/* The world's own are what most calls can do something with. */
static void know_side(struct world_side *s)
{
	DAT_CNO_HANDLE cno = world_cno(s->ia);

	know(CNO, s, cno);
	need_ok(V(evd_modify_cno)(s->recv_evd, cno));
	know(EVD, s, s->cr_evd);
	know(EVD, s, s->recv_evd);
	know(EVD, s, s->req_evd);
	know(EVD, s, s->conn_evd);
	know(EVD, s, world_evd_cno(s->ia, DAT_EVD_SOFTWARE_FLAG, cno));
	know(EP, s, s->ep);
	know(EP, s, world_ep(s, NULL));
}

static void walk(struct world *w, int threads, int calls_each)
{
	st.w = w;
	st.calls = calls_each;
	if (sched_dice(2))
		world_connect(w);
	else
		world_eps(w);
	know_side(&w->server);
	know_side(&w->client);
	know(PSP, &w->server, kit_listen(w));
	for (int i = 0; i < threads; i++)
		actor(walks, (void *)(intptr_t)i);
	play();
}

SCENARIO(walk__of_two)
{
	walk(w, 2, 60);
}

SCENARIO(walk__of_three)
{
	walk(w, 3, 40);
}

SCENARIO(walk__of_four)
{
	walk(w, 4, 30);
}
