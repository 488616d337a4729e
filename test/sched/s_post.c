/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_post.c - posts of several threads, whose slots are used again at once, and
 * the end of the connection in between: each request that was taken completes
 * once, with its own cookie.
 */
#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"
#include "test/sched/scenario.h"

#define POSTS	4 /* of a thread */
#define THREADS 2

static struct {
	struct world *w;
	int out[2][THREADS * POSTS]; /* requests, receives: posted, and back */
	uint64_t next[2];	     /* least cookie that may come next */
	bool patient;		     /* a full queue has room again */
	bool ordered;		     /* one thread's come in its order */
	int posters;
	int back;
} st;

static void read_all(struct world_side *s, DAT_EVD_HANDLE evd, int which)
{
	uint64_t cookie;
	DAT_EVENT ev;

	while (V(evd_dequeue)(evd, &ev) == DAT_SUCCESS) {
		need((unsigned)ev.event_number == DAT_DTO_COMPLETION_EVENT);
		cookie = ev.event_data.dto_completion_event_data.user_cookie
				 .as_64;
		need(cookie < THREADS * POSTS);
		need(st.out[which][cookie]-- == 1);
		need(!st.ordered || cookie >= st.next[which]);
		st.next[which] = cookie + 1;
		st.back++;
	}
}

static DAT_RETURN post_one(struct world_side *s, int which, unsigned nr)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 8);
	DAT_RMR_TRIPLET to = world_target(&st.w->server, 64, 8);
	DAT_DTO_COOKIE cookie = world_cookie(nr);

	return which ? V(ep_post_recv)(s->ep, 1, &seg, cookie, 0)
		     : V(ep_post_rdma_write)(s->ep, 1, &seg, cookie, &to, 0);
}

static void post(struct world_side *s, int which, unsigned nr)
{
	DAT_RETURN ret;

	st.out[which][nr] = 1;
	while ((ret = post_one(s, which, nr)) != DAT_SUCCESS) {
		need_type(ret, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_STATE);
		if (!st.patient ||
		    DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES) {
			st.out[which][nr] = 0;
			return;
		}
		world_pause();
	}
}

static void posts_requests(void *arg)
{
	unsigned nr = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < POSTS; i++)
		post(&st.w->client, 0, nr * POSTS + i);
	st.posters--;
}

static void posts_receives(void *arg)
{
	unsigned nr = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < POSTS; i++)
		post(&st.w->client, 1, nr * POSTS + i);
	st.posters--;
}

static void reads(void *arg)
{
	while (st.posters) {
		read_all(&st.w->client, st.w->client.req_evd, 0);
		read_all(&st.w->client, st.w->client.recv_evd, 1);
		world_pause();
	}
}

static void nothing_is_out(struct world_side *s)
{
	read_all(s, s->req_evd, 0);
	read_all(s, s->recv_evd, 1);
	for (int i = 0; i < THREADS * POSTS; i++)
		need(!st.out[0][i] && !st.out[1][i]);
}

static void make_of(struct world *w, DAT_COUNT depth)
{
	DAT_EP_ATTR attr = world_ep_attr(&w->client);

	st.w = w;
	attr.max_request_dtos = depth;
	attr.max_recv_dtos = depth;
	w->client.ep = world_ep(&w->client, &attr);
	world_connect(w);
}

/* A queue of two: each slot is another request's soon. */
static void make(struct world *w, bool patient)
{
	st.patient = patient;
	make_of(w, 2);
}

SCENARIO(post__of_two_threads_and_a_reader)
{
	make(w, true);
	st.posters = 2;
	actor(posts_requests, (void *)0);
	actor(posts_requests, (void *)1);
	actor(reads, NULL);
	play();
	nothing_is_out(c);
	need(st.back == THREADS * POSTS);
}

static void posts_suppressed(void *arg)
{
	struct world_side *s = &st.w->client;
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 8);
	DAT_RMR_TRIPLET to = world_target(&st.w->server, 64, 8);

	(void)arg;
	for (unsigned i = 0; i < 2 * POSTS; i++)
		need_ok(V(ep_post_rdma_write)(s->ep, 1, &seg, world_cookie(i),
					      &to,
					      DAT_COMPLETION_SUPPRESS_FLAG));
	st.posters--;
}

static void waits(void *arg)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	(void)arg;
	while (st.posters) {
		need(V(evd_wait)(st.w->client.req_evd, 0, 1, &ev, &more) ==
		     DAT_TIMEOUT_EXPIRED);
		world_pause();
	}
}

/* The device is through with each at once: no post has to wait for another. */
SCENARIO(post__suppressed_beside_a_waiter)
{
	make(w, false);
	st.posters = 1;
	actor(posts_suppressed, NULL);
	actor(waits, NULL);
	play();
}

static void disconnects(void *ep)
{
	need_ok(V(ep_disconnect)(ep, sched_dice(2) ? DAT_CLOSE_ABRUPT_FLAG
						   : DAT_CLOSE_GRACEFUL_FLAG));
}

SCENARIO(post__against_disconnect)
{
	make(w, false);
	st.posters = 2;
	actor(posts_requests, (void *)0);
	actor(posts_receives, (void *)1);
	actor(reads, NULL);
	actor(disconnects, c->ep);
	play();
	kit_over(w);
	/* What comes late from a device comes with the end of all. */
	need_ok(V(ep_reset)(c->ep));
	nothing_is_out(c);
}

SCENARIO(post__against_disconnect_of_the_peer)
{
	make(w, false);
	st.posters = 2;
	actor(posts_requests, (void *)0);
	actor(posts_receives, (void *)1);
	actor(disconnects, s->ep);
	play();
	/* A request may have failed before that was heard. */
	kit_ended(c->conn_evd, false);
	kit_ended(s->conn_evd, false);
	expect_empty(c->conn_evd);
	expect_empty(s->conn_evd);
	need_ok(V(ep_reset)(c->ep));
	nothing_is_out(c);
}

/*
 * What is posted while somebody moves the queue pair to ERR comes behind what
 * that flushes, on devices that do so at once.
 */
SCENARIO_IB(post__behind_what_a_disconnect_flushes)
{
	make(w, false);
	st.ordered = true;
	st.posters = 2;
	actor(posts_requests, (void *)0);
	actor(posts_receives, (void *)1);
	actor(reads, NULL);
	actor(disconnects, sched_dice(2) ? c->ep : s->ep);
	play();
	kit_ended(c->conn_evd, false);
	kit_ended(s->conn_evd, false);
	nothing_is_out(c);
}

/* ------------------------------ one queue for all of an endpoint */

/* Nothing that has succeeded comes behind the end of the connection. */
static void reads_to_the_end(void *evd)
{
	bool ended = false;

	for (int left = POSTS + 1; left; left--) {
		DAT_EVENT ev = await_event(evd);

		if ((unsigned)ev.event_number == DAT_DTO_COMPLETION_EVENT)
			need(!ended ||
			     ev.event_data.dto_completion_event_data.status !=
				     DAT_DTO_SUCCESS);
		else
			ended = true;
	}
	need(ended);
}

static void posts_and_disconnects(void *arg)
{
	struct world_side *c = &st.w->client;

	for (unsigned i = 0; i < POSTS; i++)
		need_ok(post_one(c, 0, i));
	for (unsigned n = sched_dice(4); n; n--)
		world_pause();
	disconnects(c->ep);
}

SCENARIO_IB(disconnect__behind_what_has_completed)
{
	st.w = w;
	c->recv_evd = c->req_evd = c->conn_evd =
		world_evd(c->ia, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	world_connect(w);
	actor(posts_and_disconnects, NULL);
	actor(reads_to_the_end, c->conn_evd);
	play();
}

static void posts_too_early(void *arg)
{
	struct world_side *s = &st.w->client;

	for (int i = 0; i < 8; i++) {
		DAT_RETURN ret = post_one(s, 0, 0);

		if (ret == DAT_SUCCESS)
			return;
		need_type(ret, DAT_INVALID_STATE);
		need(DAT_GET_SUBTYPE(ret) != DAT_INVALID_STATE_EP_CONNECTED &&
		     DAT_GET_SUBTYPE(ret) != DAT_INVALID_STATE_EP_DISCONNECTED);
	}
}

/* A refusal names the state that it is for, whatever comes meanwhile. */
SCENARIO(post__refused_while_the_attempt_fails)
{
	st.w = w;
	c->ep = world_ep(c, NULL);
	need_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, NULL, 0));
	actor(posts_too_early, NULL);
	play();
	need_ok(V(ep_free)(c->ep));
}

/* ------------------------------------ a shared receive queue */

#define DEPTH 4

static DAT_SRQ_HANDLE srq;
static int srq_posted;

static DAT_EP_HANDLE ep_on_srq(struct world_side *s)
{
	DAT_EP_HANDLE ep = NULL;

	need_ok(V(ep_create_with_srq)(s->ia, s->pz, s->recv_evd, s->req_evd,
				      s->conn_evd, srq, NULL, &ep));
	return ep;
}

static void resizes(void *arg)
{
	static const DAT_COUNT sizes[] = {3 * DEPTH, DEPTH, 5 * DEPTH,
					  2 * DEPTH};

	for (int i = 0; i < 4; i++)
		need_type(V(srq_resize)(srq, sizes[i]), DAT_SUCCESS,
			  DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES);
}

/* And joins again. */
static void joins_and_leaves(void *ret_ep)
{
	need_ok(V(ep_free)(ep_on_srq(&st.w->server)));
	*(DAT_EP_HANDLE *)ret_ep = ep_on_srq(&st.w->server);
}

static void posts_buffers(void *arg)
{
	for (unsigned i = 0; i < 3; i++) {
		DAT_LMR_TRIPLET seg = world_seg(&st.w->server, 0, 8);

		if (V(srq_post_recv)(srq, 1, &seg, world_cookie(i)) ==
		    DAT_SUCCESS)
			srq_posted++;
	}
}

static void make_srq(struct world *w)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = DEPTH, .max_recv_iov = 1};

	st.w = w;
	need_ok(V(srq_create)(w->server.ia, w->server.pz, &attr, &srq));
}

/* As many buffers as it is said to have. */
static void is_whole(void)
{
	DAT_SRQ_PARAM param;
	DAT_LMR_TRIPLET seg = world_seg(&st.w->server, 0, 8);

	need_ok(V(srq_query)(srq, DAT_SRQ_FIELD_ALL, &param));
	need(param.outstanding_dto_count == srq_posted);
	while (V(srq_post_recv)(srq, 1, &seg, world_cookie(9)) == DAT_SUCCESS)
		srq_posted++;
	need(param.max_recv_dtos == srq_posted);
	need_ok(V(srq_free)(srq));
}

SCENARIO_IB(srq_resize__against_join_and_leave)
{
	DAT_EP_HANDLE joined[2];
	DAT_SRQ_PARAM param;

	make_srq(w);
	actor(resizes, NULL);
	actor(joins_and_leaves, &joined[0]);
	actor(joins_and_leaves, &joined[1]);
	actor(posts_buffers, NULL);
	play();
	/* Their EVD has room for what the queue has, once. */
	need_ok(V(srq_query)(srq, DAT_SRQ_FIELD_ALL, &param));
	need(((struct dapl_evd *)s->recv_evd)->cq_reserved ==
	     param.max_recv_dtos);
	for (int i = 0; i < 2; i++)
		need_ok(V(ep_free)(joined[i]));
	is_whole();
	need_ok(V(evd_resize)(s->recv_evd, 1));
	need_ok(V(evd_free)(s->recv_evd));
}

static void sends(void *arg)
{
	for (unsigned i = 0; i < 3; i++)
		world_send(&st.w->client, 0, 8, i, 0);
}

static void receives(void *arg)
{
	for (unsigned i = 0; i < 3; i++) {
		DAT_EVENT ev = await_event(st.w->server.recv_evd);

		need(ev.event_data.dto_completion_event_data.status ==
		     DAT_DTO_SUCCESS);
		srq_posted--;
	}
}

SCENARIO_IB(srq__buffers_taken_while_it_is_resized)
{
	make_srq(w);
	s->ep = ep_on_srq(s);
	world_connect(w);
	actor(posts_buffers, NULL);
	actor(sends, NULL);
	actor(receives, NULL);
	actor(resizes, NULL);
	play();
	need_ok(V(ep_free)(s->ep));
	is_whole();
}

/*
 * A device that keeps to itself what reached it after the end: that is flushed
 * before the event and in order, whoever posts meanwhile.
 */
SCENARIO(post__against_the_end_of_the_queue_pair)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(w->dev);

	cfg->err_recv_stays = cfg->err_send_stays = cfg->err_is_final = true;
	((struct dapl_ia *)c->ia)->dev.withholds_flushes = true;
	make_of(w, 2 * POSTS);
	st.ordered = true;
	st.posters = 2;
	actor(posts_requests, (void *)0);
	actor(posts_receives, (void *)0);
	actor(disconnects, sched_dice(2) ? c->ep : s->ep);
	play();
	kit_ended(c->conn_evd, false);
	kit_ended(s->conn_evd, false);
	nothing_is_out(c);
}
