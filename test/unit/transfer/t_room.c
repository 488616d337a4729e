/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_room.c - room for completions: that of EVDs for work queues that come and
 * go, credits where a queue cannot grow, and the ring without memory.
 *
 * ibv_resize_cq() can be taken away, for devices that do not have it; so can
 * the memory for more of a ring.
 * Threads: the test's own. Rules: "A completion queue cannot overrun",
 * doc/architecture.md.
 */
#include "test/unit/world.h"

#include <errno.h>

#include "dapl/common/event/dapl_evd.h"

/* --wrap: no device of this program can resize while the first is set, nor, for
 * want of memory, while the other is. */
static bool no_resize, no_memory_now;
int __real_ibv_resize_cq(struct ibv_cq *cq, int cqe);
int __wrap_ibv_resize_cq(struct ibv_cq *cq, int cqe);

int __wrap_ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	if (no_memory_now)
		return ENOMEM;
	return no_resize ? ENOSYS : __real_ibv_resize_cq(cq, cqe);
}

static void ep_with(struct world_side *s, DAT_EVD_HANDLE evd, DAT_COUNT recvs,
		    DAT_COUNT sends, DAT_EP_HANDLE *ret_ep)
{
	DAT_EP_ATTR attr = world_ep_attr(s);

	attr.max_recv_dtos = recvs;
	attr.max_request_dtos = sends;
	assert_dat_ok(V(ep_create)(s->ia, s->pz, evd, evd, s->conn_evd, &attr,
				   ret_ep));
}

ON_IB(ep_create__grows_the_queue)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep[8];
	struct ibv_cq *cq;

	assert_dat_ok(V(evd_create)(s->ia, 1, NULL, DAT_EVD_DTO_FLAG, &evd));
	cq = ((struct dapl_evd *)evd)->cq;
	for (int i = 0; i < 8; i++) {
		ep_with(s, evd, 20, 20, &ep[i]);
		assert_true(cq->cqe >= 40 * (i + 1));
		assert_true(world_evd_param(evd).evd_qlen >= cq->cqe);
	}
	for (int i = 0; i < 8; i++)
		assert_dat_ok(V(ep_free)(ep[i]));
	assert_dat_ok(V(evd_free)(evd));
}

/* What lacks now is no reason to make do with less for ever. */
ON_IB(ep_create__no_memory_to_grow_the_queue)
{
	DAT_EP_ATTR attr = world_ep_attr(s);
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	assert_dat_ok(V(evd_create)(s->ia, 1, NULL, DAT_EVD_DTO_FLAG, &evd));
	no_memory_now = true;
	assert_int_equal(DAT_GET_TYPE(V(ep_create)(s->ia, s->pz, evd, evd,
						   s->conn_evd, &attr, &ep)),
			 DAT_INSUFFICIENT_RESOURCES);
	no_memory_now = false;
	ep_with(s, evd, 20, 20, &ep);
	assert_true(((struct dapl_evd *)evd)->cq->cqe >= 40);
	assert_dat_ok(V(ep_free)(ep));
	assert_dat_ok(V(evd_free)(evd));
}

ON_IB(ep_create__nth_failure_gives_room_back)
{
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
ON_IB(ep_post__credits_of_suppressed_requests)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);
	DAT_RMR_TRIPLET to = world_target(c, 0, 64);
	DAT_EP_HANDLE first, second;
	DAT_EVD_HANDLE evd;

	no_resize = true;
	assert_dat_ok(V(evd_create)(s->ia, 40, NULL, DAT_EVD_DTO_FLAG, &evd));
	ep_with(s, evd, 16, 16, &first);
	ep_with(s, evd, 16, 16, &second);
	world_connect_pair(w, second, c->ep = world_ep(c, NULL));
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
ON_IB(ep_post__credits_of_a_fixed_queue)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 64);
	DAT_EP_HANDLE first, second;
	DAT_EVD_HANDLE evd;
	int posted = 0;
	DAT_RETURN ret;

	no_resize = true;
	assert_dat_ok(V(evd_create)(s->ia, 40, NULL, DAT_EVD_DTO_FLAG, &evd));
	ep_with(s, evd, 16, 16, &first);
	ep_with(s, evd, 16, 16, &second);
	assert_int_equal(world_evd_param(evd).evd_qlen, 40);
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
	world_connect_pair(w, second, c->ep = world_ep(c, NULL));
	world_send(c, 0, 64, 7, DAT_COMPLETION_DEFAULT_FLAG);
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
ON_IWARP(ep_create__many_on_a_fixed_queue)
{
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

/* ------------------------------------------- no memory */

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
ON_IB(ep_reset__no_memory_loses_nothing)
{
	receive_many(w);
	assert_dat_ok(V(ep_disconnect)(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	no_memory = true;
	assert_dat_ok(V(ep_reset)(s->ep));
	no_memory = false;
	expect_many(w);
}

/* Nor to tell of what has not been heard of. */
ON_IB(ep_reset__no_memory_for_flushes)
{
	fv_device_cfg_get(w->dev)->flushes_late = true;
	post_receives(w);
	assert_dat_ok(V(ep_disconnect)(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	no_memory = true;
	assert_dat_ok(V(ep_reset)(s->ep));
	no_memory = false;
	for (uint64_t i = 0; i < MANY; i++)
		expect_dto(s->recv_evd, i, DAT_DTO_ERR_FLUSHED);
	expect_empty(s->recv_evd);
}

/* Nor does a waiter lose what he cannot gather. */
ON_IB(evd_wait__no_memory_loses_nothing)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	receive_many(w);
	no_memory = true;
	assert_refused(
		V(evd_wait)(s->recv_evd, WORLD_PATIENCE_US, MANY, &ev, &more),
		DAPL_NO_MEM);
	no_memory = false;
	expect_many(w);
}

ON_IB(ep_create__no_memory_for_the_ring)
{
	DAT_EP_HANDLE ep = NULL;
	unsigned live = fv_live();

	no_memory = true;
	assert_refused(V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd,
				    s->conn_evd, NULL, &ep),
		       DAPL_NO_MEM);
	no_memory = false;
	assert_int_equal(fv_live(), live);
	world_connect(w);
}

RUN_CASES(NULL, NULL)
