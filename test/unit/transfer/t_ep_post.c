/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ep_post.c - transfers: dat_ep_post_send, recv, rdma_read, rdma_write,
 * send_with_invalidate, rdma_read_to_rmr, and their completions.
 *
 * Bind and invalidation are in t_rmr.c, the IB operations in t_ext.c, failures
 * of the peer in connect/t_broken.c. fv_pause() keeps requests outstanding
 * where a test needs that. Rules: DAT 2.0 dat_ep_post_*, completion statuses of
 * DTO events.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/transfer/dapl_qp.h"
#include "test/unit/kit.h"

static DAT_RETURN post_send(struct world_side *s, size_t length,
			    uint64_t cookie, unsigned flags)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, length);

	return V(ep_post_send)(s->ep, 1, &seg, world_cookie(cookie),
			       (DAT_COMPLETION_FLAGS)flags);
}

static DAT_RETURN post_recv(struct world_side *s, size_t length,
			    uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, length);

	return V(ep_post_recv)(s->ep, 1, &seg, world_cookie(cookie), 0);
}

static void check_dto(const DAT_EVENT *ev, DAT_EP_HANDLE ep, DAT_DTOS op,
		      size_t length)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;

	assert_ptr_equal(dto->ep_handle, ep);
	assert_int_equal(dto->operation, op);
	assert_int_equal(dto->transfered_length, length);
	assert_int_equal(dto->rmr_context, 0);
}

static void fill(struct world_side *s, uint8_t byte)
{
	memset(s->mem.buf, byte, WORLD_MEM_SIZE);
}

/* --------------------------------------------- good cases */

/* How much it was is told for requests as well. */
ON_EACH(post__lengths, world_connect)
{
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET remote;
	DAT_EVENT ev;

	world_recv(s, 0, WORLD_MEM_SIZE, 3);
	world_send(c, 0, WORLD_MEM_SIZE, 4, 0);
	ev = expect_dto(s->recv_evd, 3, DAT_DTO_SUCCESS);
	check_dto(&ev, s->ep, DAT_DTO_RECEIVE, WORLD_MEM_SIZE);
	ev = expect_dto(c->req_evd, 4, DAT_DTO_SUCCESS);
	check_dto(&ev, c->ep, DAT_DTO_SEND, WORLD_MEM_SIZE);
	fill(c, 7);
	seg = world_seg(c, 0, 3000);
	remote = world_target(s, 1000, 3000);
	assert_dat_ok(V(ep_post_rdma_write)(c->ep, 1, &seg, world_cookie(1),
					    &remote, 0));
	ev = expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
	check_dto(&ev, c->ep, DAT_DTO_RDMA_WRITE, 3000);
	assert_int_equal(s->mem.buf[999], 0);
	assert_int_equal(s->mem.buf[1000], 7);
	assert_int_equal(s->mem.buf[3999], 7);
	assert_int_equal(s->mem.buf[4000], 0);

	fill(s, 9);
	seg = world_seg(c, 100, 32); /* not to be taken inline */
	assert_dat_ok(V(ep_post_rdma_read)(c->ep, 1, &seg, world_cookie(2),
					   &remote,
					   DAT_COMPLETION_BARRIER_FENCE_FLAG));
	ev = expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
	check_dto(&ev, c->ep, DAT_DTO_RDMA_READ, 32);
	assert_int_equal(c->mem.buf[100], 9);
	assert_int_equal(c->mem.buf[132], 7);
	expect_empty(s->recv_evd);
}

/* The device would refuse the fence. */
ON_SIW(rdma_read__fenced)
{
	DAT_RMR_TRIPLET remote = world_target(s, 0, 32);
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 32);

	c->ep = world_ep(c, NULL);
	s->ep = world_ep(s, NULL);
	world_connect(w);
	fill(s, 9);
	assert_dat_ok(V(ep_post_rdma_read)(c->ep, 1, &seg, world_cookie(1),
					   &remote,
					   DAT_COMPLETION_BARRIER_FENCE_FLAG));
	expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
	assert_memory_equal(c->mem.buf, s->mem.buf, 32);
}

/* No empty segment gets to the device: its kernel would fall over it. */
ON_SIW(post__empty_segments, world_connect)
{
	DAT_RMR_TRIPLET remote = world_target(s, 600, 400);
	DAT_LMR_TRIPLET seg[3];
	DAT_EVENT ev;

	fill(c, 7);
	for (unsigned empty = 0; empty < 8; empty++) {
		DAT_COUNT length = 0;

		for (unsigned i = 0; i < 3; i++) {
			seg[i] =
				world_seg(c, i * 100, empty >> i & 1 ? 0 : 100);
			length += (DAT_COUNT)seg[i].segment_length;
		}
		fill(s, 0);
		world_recv(s, 0, 512, 9);
		assert_dat_ok(
			V(ep_post_send)(c->ep, 3, seg, world_cookie(1),
					DAT_COMPLETION_BARRIER_FENCE_FLAG));
		expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
		ev = expect_dto(s->recv_evd, 9, DAT_DTO_SUCCESS);
		check_dto(&ev, s->ep, DAT_DTO_RECEIVE, length);
		assert_dat_ok(V(ep_post_rdma_write)(
			c->ep, 3, seg, world_cookie(2), &remote,
			DAT_COMPLETION_BARRIER_FENCE_FLAG));
		ev = expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
		check_dto(&ev, c->ep, DAT_DTO_RDMA_WRITE, length);
		assert_memory_equal(s->mem.buf, s->mem.buf + 600,
				    (size_t)length);
	}
}

/* The device would take the segment that another request has left there. */
ON_SIW(rdma_read__of_nothing, world_connect)
{
	DAT_RMR_TRIPLET remote = world_target(s, 600, 0);
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 0);
	DAT_EVENT ev;

	for (DAT_COUNT n = 0; n < 2; n++) {
		assert_dat_ok(V(ep_post_rdma_read)(
			c->ep, n, &seg, world_cookie(1), &remote, 0));
		ev = expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
		check_dto(&ev, c->ep, DAT_DTO_RDMA_READ, 0);
	}
}

/* The device completes what was sent, and a read when its answer comes. */
ON_SIW(request__stays_behind_a_read)
{
	DAT_RMR_TRIPLET from = world_target(s, 0, 32);
	DAT_RMR_TRIPLET to = world_target(s, 64, 32);
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 32);

	c->ep = world_ep(c, NULL);
	s->ep = world_ep(s, NULL);
	world_connect(w);
	world_recv(s, 128, 64, 9);
	fv_pause(true);
	assert_dat_ok(V(ep_post_rdma_read)(c->ep, 1, &seg, world_cookie(1),
					   &from, 0));
	assert_dat_ok(
		V(ep_post_rdma_write)(c->ep, 1, &seg, world_cookie(2), &to, 0));
	assert_dat_ok(V(ep_post_rdma_read)(c->ep, 1, &seg, world_cookie(3),
					   &from, 0));
	world_send(c, 0, 32, 4, 0);
	fv_pause(false);
	for (unsigned i = 1; i <= 4; i++)
		expect_dto(c->req_evd, i, DAT_DTO_SUCCESS);
	expect_dto(s->recv_evd, 9, DAT_DTO_SUCCESS);
}

/* Devices would break the connection, let it hang, or read all the same. */
ON_EACH(rdma_read__endpoint_without)
{
	const DAT_RETURN none = DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	DAT_RMR_TRIPLET remote = world_target(s, 0, 32);
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 32);
	DAT_EP_ATTR attr = world_ep_attr(c);

	attr.max_rdma_read_out = 0;
	c->ep = world_ep(c, &attr);
	world_connect(w);
	assert_refused(V(ep_post_rdma_read)(c->ep, 1, &seg, world_cookie(1),
					    &remote, 0),
		       none);
	assert_dat_ok(V(ep_post_rdma_write)(c->ep, 1, &seg, world_cookie(2),
					    &remote, 0));
	expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
	expect_empty(c->req_evd);
}

/* Drivers may take a segment where there is none, too. */
ON_EACH(rdma_read__no_segments, world_connect)
{
	DAT_LMR_TRIPLET seg = world_seg(c, 100, 32);
	DAT_RMR_TRIPLET remote = world_target(s, 0, 32);
	DAT_EVENT ev;

	fv_device_cfg_get(w->dev)->read_has_segment = true;
	fill(s, 9);
	for (int i = 0; i < 2; i++) {
		assert_dat_ok(V(ep_post_rdma_read)(c->ep, 0, i ? NULL : &seg,
						   world_cookie(1), &remote,
						   0));
		ev = expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
		check_dto(&ev, c->ep, DAT_DTO_RDMA_READ, 0);
	}
	assert_int_equal(c->mem.buf[100], 0);
}

ON_EACH(rdma_read_to_rmr__by_context, world_connect)
{
	DAT_RMR_TRIPLET local, remote;

	fill(s, 5);
	local = world_target(c, 64, 128);
	remote = world_target(s, 0, 128);
	assert_dat_ok(V(ep_post_rdma_read_to_rmr)(c->ep, &local,
						  world_cookie(1), &remote, 0));
	expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
	assert_int_equal(c->mem.buf[64], 5);
	assert_int_equal(c->mem.buf[191], 5);
	assert_int_equal(c->mem.buf[192], 0);
}

/* Short messages are taken at once, long ones only when they leave. */
ON_EACH(send__inline, world_connect)
{
	uint32_t max;

	max = ((struct dapl_qp *)c->ep)->max_inline;
	/* As asked for, though some devices grant more. */
	assert_int_equal(max, 64);
	world_recv(s, 0, 4096, 1);
	world_recv(s, 8192, 4096, 2);
	fv_pause(true);
	fill(c, 1);
	world_send(c, 0, max, 3, 0);
	world_send(c, 0, max + 1, 4, 0);
	fill(c, 2);
	fv_pause(false);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(s->recv_evd, 2, DAT_DTO_SUCCESS);
	assert_int_equal(s->mem.buf[max - 1], 1);
	assert_int_equal(s->mem.buf[8192 + max], 2);
}

/* Nor are short ones that are to go out behind what a read brings. */
ON_EACH(send__fenced_is_not_inline, world_connect)
{
	DAT_RMR_TRIPLET from = world_target(s, 0, 8);
	DAT_RMR_TRIPLET to = world_target(s, 64, 8);
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 8);

	memset(s->mem.buf, 5, 8);
	world_recv(s, 128, 64, 1);
	fv_pause(true);
	assert_dat_ok(V(ep_post_rdma_read)(c->ep, 1, &seg, world_cookie(2),
					   &from, 0));
	assert_dat_ok(post_send(c, 8, 3, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	assert_dat_ok(V(ep_post_rdma_write)(c->ep, 1, &seg, world_cookie(4),
					    &to,
					    DAT_COMPLETION_BARRIER_FENCE_FLAG));
	fv_pause(false);
	for (unsigned i = 2; i < 5; i++)
		expect_dto(c->req_evd, i, DAT_DTO_SUCCESS);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
	assert_memory_equal(s->mem.buf + 64, s->mem.buf, 8);
	assert_memory_equal(s->mem.buf + 128, s->mem.buf, 8);
}

/* ----------------------------------------------- arguments */

/* Old programs leave it unset; the peer's device knows its region. */
ON_EACH(rdma__remote_length_is_not_looked_at, world_connect)
{
	static const DAT_VLEN lengths[] = {0, 1, UINT32_MAX};
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET remote;

	seg = world_seg(c, 0, 64);
	remote = world_target(s, 0, 64);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		remote.segment_length = (DAT_SEG_LENGTH)lengths[i];
		fill(c, (uint8_t)(20 + i));
		assert_dat_ok(V(ep_post_rdma_write)(
			c->ep, 1, &seg, world_cookie(1), &remote, 0));
		expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
		assert_memory_equal(s->mem.buf, c->mem.buf, 64);
		assert_dat_ok(V(ep_post_rdma_read)(
			c->ep, 1, &seg, world_cookie(2), &remote, 0));
		expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
	}
}

/*
 * Of an iWARP read's segments the device fills the first, and may say that it
 * has filled all.
 */
ON_IWARP(rdma_read__of_more_segments_than_the_adapter_takes, world_connect)
{
	DAT_RMR_TRIPLET remote = world_target(s, 0, 64);
	DAT_LMR_TRIPLET seg[2];

	seg[0] = world_seg(c, 0, 32);
	seg[1] = world_seg(c, 64, 32);
	assert_refused(V(ep_post_rdma_read)(c->ep, 2, seg, world_cookie(1),
					    &remote, 0),
		       DAPL_BAD_ARG(2));
	assert_non_null(strstr(dapl__fail_text(), "up to 1"));
	assert_dat_ok(V(ep_post_rdma_write)(c->ep, 2, seg, world_cookie(2),
					    &remote, 0));
	expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
	assert_dat_ok(V(ep_post_rdma_read)(c->ep, 1, seg, world_cookie(3),
					   &remote, 0));
	expect_dto(c->req_evd, 3, DAT_DTO_SUCCESS);
}

/* The historic dapltest has no attributes and posts as many. */
ON_EACH(rdma__eight_segments_without_attributes, world_connect)
{
	DAT_LMR_TRIPLET seg[8];
	DAT_RMR_TRIPLET remote;
	DAT_EVENT ev;

	fill(c, 30);
	for (uint32_t i = 0; i < 8; i++)
		seg[i] = world_seg(c, i * 8, 8);
	remote = world_target(s, 0, 64);
	assert_dat_ok(V(ep_post_rdma_write)(c->ep, 8, seg, world_cookie(1),
					    &remote, 0));
	ev = expect_dto(c->req_evd, 1, DAT_DTO_SUCCESS);
	check_dto(&ev, c->ep, DAT_DTO_RDMA_WRITE, 64);
	assert_memory_equal(s->mem.buf, c->mem.buf, 64);
}

/* In 32 bits these are 8 bytes. A state in which posts go slowly is the same.
 */
ON_EACH(post__segments_of_too_many_bytes, world_connect)
{
	const DAT_RETURN too_long = DAPL_ERR(DAT_LENGTH_ERROR, 0);
	const bool many = ((struct dapl_ia *)c->ia)->dev.max_read_sge >
			  1; /* segments of a read */
	DAT_RMR_TRIPLET remote = world_target(s, 0, 8);
	DAT_LMR_TRIPLET seg[3];

	for (int i = 0; i < 3; i++)
		seg[i] = world_seg(c, 0, 8);
	seg[0].segment_length = seg[1].segment_length = 0x80000000U;
	for (int round = 0; round < 2; round++) {
		assert_refused(
			V(ep_post_send)(c->ep, 3, seg, world_cookie(1), 0),
			too_long);
		assert_refused(V(ep_post_rdma_write)(c->ep, 3, seg,
						     world_cookie(1), &remote,
						     0),
			       too_long);
		assert_refused(V(ep_post_rdma_read)(c->ep, 3, seg,
						    world_cookie(1), &remote,
						    0),
			       many ? too_long : DAPL_BAD_ARG(2));
		expect_empty(c->req_evd);
		if (round)
			break;
		assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
		kit_over(w);
	}
}

/* Exactly as many as were asked for, and all of them again afterwards. */
ON_EACH(post__limits_are_exact)
{
	DAT_EP_ATTR attr = world_ep_attr(c);

	attr.max_request_dtos = 3;
	attr.max_recv_dtos = 5;
	c->ep = world_ep(c, &attr);
	world_connect(w);
	for (int round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 3; i++)
			world_recv(s, 0, 64, 50 + i);
		fv_pause(true);
		for (unsigned i = 0; i < 3; i++)
			assert_dat_ok(post_send(c, 64, i, 0));
		assert_refused(post_send(c, 64, 9, 0), DAPL_NO_MEM);
		fv_pause(false);
		/* Completed but not seen yet is still outstanding. */
		assert_refused(post_send(c, 64, 9, 0), DAPL_NO_MEM);
		for (unsigned i = 0; i < 3; i++) {
			expect_dto(s->recv_evd, 50 + i, 0);
			expect_dto(c->req_evd, i, DAT_DTO_SUCCESS);
		}
	}
	for (unsigned i = 0; i < 5; i++)
		assert_dat_ok(post_recv(c, 8, i));
	assert_refused(post_recv(c, 8, 9), DAPL_NO_MEM);
}

ON_EACH(post__without_an_evd)
{
	DAT_EP_ATTR attr = world_ep_attr(c);

	attr.max_request_dtos = attr.max_request_iov = 0;
	attr.max_recv_dtos = attr.max_recv_iov = 0;
	assert_dat_ok(V(ep_create)(c->ia, c->pz, DAT_HANDLE_NULL,
				   DAT_HANDLE_NULL, c->conn_evd, &attr,
				   &c->ep));
	world_connect(w);
	assert_refused(V(ep_post_send)(c->ep, 0, NULL, world_cookie(1), 0),
		       DAPL_NO_MEM);
	assert_refused(V(ep_post_recv)(c->ep, 0, NULL, world_cookie(1), 0),
		       DAPL_NO_MEM);
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_GRACEFUL_FLAG));
	kit_over(w);
}

/*
 * A suppressed request gives its place back with a later completion, and that
 * need not have been read for it.
 */
ON_EACH(post__suppressed)
{
	DAT_EP_ATTR attr = world_ep_attr(c);

	attr.max_request_dtos = 4;
	c->ep = world_ep(c, &attr);
	world_connect(w);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 5; i++)
			world_recv(s, 0, 64, i);
		fv_pause(true);
		for (unsigned i = 0; i < 3; i++)
			assert_dat_ok(post_send(c, 64, 10 + i,
						DAT_COMPLETION_SUPPRESS_FLAG));
		expect_empty(c->req_evd);
		assert_dat_ok(post_send(c, 64, 20 + round, 0));
		assert_refused(post_send(c, 64, 9, 0), DAPL_NO_MEM);
		fv_pause(false);
		assert_dat_ok(post_send(c, 64, 9, 0));
		expect_dto(c->req_evd, 20 + round, DAT_DTO_SUCCESS);
		expect_dto(c->req_evd, 9, DAT_DTO_SUCCESS);
		expect_empty(c->req_evd);
		for (unsigned i = 0; i < 5; i++)
			expect_dto(s->recv_evd, i, DAT_DTO_SUCCESS);
	}
}

static DAT_RETURN post_write(struct world *w, uint8_t value, uint64_t cookie,
			     unsigned flags)
{
	DAT_RMR_TRIPLET to = world_target(&w->server, 0, 8);
	DAT_LMR_TRIPLET seg = world_seg(&w->client, 0, 8);

	memset(w->client.mem.buf, value, 8);
	return V(ep_post_rdma_write)(w->client.ep, 1, &seg,
				     world_cookie(cookie), &to,
				     (DAT_COMPLETION_FLAGS)flags);
}

/*
 * As programs do that look at the memory alone: nothing is ever read from the
 * EVD, and there is nothing to be read.
 */
ON_EACH(post__suppressed_only)
{
	static const DAT_COUNT depths[] = {1, 2, 3, 4, 5, 16, 100};
	DAT_EP_ATTR attr = world_ep_attr(c);

	for (size_t d = 0; d < sizeof(depths) / sizeof(*depths); d++) {
		attr.max_request_dtos = depths[d];
		c->ep = world_ep(c, &attr);
		world_connect(w);
		for (int i = 0; i < 20 * depths[d]; i++) {
			assert_dat_ok(post_write(w, (uint8_t)i, 1,
						 DAT_COMPLETION_SUPPRESS_FLAG));
			assert_int_equal(s->mem.buf[7], (uint8_t)i);
		}
		expect_empty(c->req_evd);
		assert_dat_ok(post_write(w, 0, 2, 0));
		expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
		expect_empty(c->req_evd);
		/* Full is full. */
		fv_pause(true);
		for (int i = 0; i < depths[d]; i++)
			assert_dat_ok(post_write(w, 3, 3,
						 DAT_COMPLETION_SUPPRESS_FLAG));
		assert_refused(
			post_write(w, 4, 4, DAT_COMPLETION_SUPPRESS_FLAG),
			DAPL_NO_MEM);
		fv_pause(false);
		assert_dat_ok(
			post_write(w, 5, 5, DAT_COMPLETION_SUPPRESS_FLAG));
		assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
		kit_over(w);
		assert_dat_ok(V(ep_free)(c->ep));
		assert_dat_ok(V(ep_free)(s->ep));
		c->ep = s->ep = NULL;
	}
}

/* Takes the oldest completion and no other: a wait reads ahead. */
static void take_one(struct world_side *s, uint64_t cookie)
{
	DAT_EVENT ev;

	assert_dat_ok(V(evd_dequeue)(s->req_evd, &ev));
	assert_int_equal(
		ev.event_data.dto_completion_event_data.user_cookie.as_64,
		cookie);
}

/* Wherever in its ring a queue is full, or the device refuses a post. */
ON_EACH(post__no_place_is_lost)
{
	DAT_EP_ATTR attr = world_ep_attr(c);

	for (DAT_COUNT depth = 1; depth < 10; depth++) {
		unsigned posted = 0, seen = 0, n = (unsigned)depth;

		attr.max_request_dtos = depth;
		c->ep = world_ep(c, &attr);
		world_connect(w);
		for (unsigned round = 0; round < 4 * n; round++) {
			fv_pause(true);
			while (posted - seen < n) {
				fv_fail_call("ibv_post_send", 1, ENOMEM);
				assert_refused(post_write(w, 0, 99, 0),
					       DAPL_NO_MEM);
				assert_true(fv_fail_hit());
				assert_dat_ok(post_write(w, 0, posted++, 0));
			}
			assert_refused(post_write(w, 0, 99, 0), DAPL_NO_MEM);
			fv_pause(false);
			for (unsigned i = 0; i <= round % n; i++)
				take_one(c, seen++);
		}
		while (seen < posted)
			take_one(c, seen++);
		expect_empty(c->req_evd);
		assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
		kit_over(w);
		assert_dat_ok(V(ep_free)(c->ep));
		assert_dat_ok(V(ep_free)(s->ep));
		c->ep = s->ep = NULL;
	}
}

/* Who lets events lie is told so, and finds each of them later. */
ON_EACH(post__suppressed_and_never_read, world_connect)
{
	unsigned posted = 0, limit;

	limit = 4 * ((unsigned)world_evd_param(c->req_evd).evd_qlen + 16);
	while (posted < limit &&
	       post_write(w, 1, posted,
			  posted % 2 ? 0 : DAT_COMPLETION_SUPPRESS_FLAG) ==
		       DAT_SUCCESS)
		posted++;
	assert_in_range(posted, 17, limit - 1);
	for (unsigned i = 1; i < posted; i += 2)
		expect_dto(c->req_evd, i, DAT_DTO_SUCCESS);
	expect_empty(c->req_evd);
	assert_dat_ok(post_write(w, 1, 7, 0));
	expect_dto(c->req_evd, 7, DAT_DTO_SUCCESS);
}

ON_EACH(post__every_completion_flag, world_connect)
{
	for (unsigned flags = 0; flags < 64; flags++) {
		bool quiet = flags & DAT_COMPLETION_SUPPRESS_FLAG;

		world_recv(s, 0, 64, flags);
		assert_dat_ok(post_send(c, 64, flags, flags));
		expect_dto(s->recv_evd, flags, DAT_DTO_SUCCESS);
		if (!quiet)
			expect_dto(c->req_evd, flags, DAT_DTO_SUCCESS);
		expect_empty(c->req_evd);
	}
}

ON_IB(post__refused_by_the_device, world_connect)
{
	fv_fail_call("ibv_post_send", 1, EINVAL);
	assert_int_equal(DAT_GET_TYPE(post_send(c, 64, 1, 0)),
			 DAT_INVALID_PARAMETER);
	fv_fail_call("ibv_post_recv", 1, ENOMEM);
	assert_int_equal(DAT_GET_TYPE(post_recv(c, 64, 1)),
			 DAT_INSUFFICIENT_RESOURCES);
	fv_fail_at(0, 0);
	expect_empty(c->req_evd);
	expect_empty(c->recv_evd);
	/* Their places are free: all of them can be used. */
	for (unsigned i = 0; i < 16; i++)
		assert_dat_ok(post_recv(c, 64, i));
}

static void is_free(const struct dapl_lock *l)
{
#ifndef DAPL_PTHREAD_LOCKS
	assert_int_equal(l->busy, DAPL_LOCK_FREE);
	assert_int_equal(l->word, 0);
#endif
}

static void *posts_one(void *side)
{
	assert_dat_ok(post_recv(side, 64, 100));
	return NULL;
}

/* By whom the queue has come to belong to; then it is another one's turn. */
ON_IB(post__refused_on_the_fast_way, world_connect)
{
	struct dapl_qp *qp = (struct dapl_qp *)c->ep;
	pthread_t other;

	for (unsigned i = 0; i < 12; i++) {
		world_recv(s, 0, 64, i);
		assert_dat_ok(post_send(c, 64, i, 0));
		expect_dto(c->req_evd, i, DAT_DTO_SUCCESS);
		assert_dat_ok(post_recv(c, 64, i));
	}
	fv_fail_call("ibv_post_send", 1, EINVAL);
	assert_int_equal(DAT_GET_TYPE(post_send(c, 64, 1, 0)),
			 DAT_INVALID_PARAMETER);
	is_free(&qp->sq->lock);
	fv_fail_call("ibv_post_recv", 1, ENOMEM);
	assert_int_equal(DAT_GET_TYPE(post_recv(c, 64, 1)),
			 DAT_INSUFFICIENT_RESOURCES);
	is_free(&qp->rq->lock);
	fv_fail_at(0, 0);
	for (unsigned i = 12; i < 15; i++)
		assert_dat_ok(post_recv(c, 64, i));
	assert_int_equal(pthread_create(&other, NULL, posts_one, c), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	/* A full one. */
	assert_int_equal(DAT_GET_TYPE(post_recv(c, 64, 1)),
			 DAT_INSUFFICIENT_RESOURCES);
	is_free(&qp->rq->lock);
}

/* --------------------------------------------------- states */

ON_EACH(post__disconnected, world_connect)
{
	DAT_EVENT ev;

	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	/* The device takes no posts in the error state. */
	fv_fail_from(1, EINVAL);
	assert_dat_ok(post_send(c, 64, 3, 0));
	assert_dat_ok(post_recv(c, 64, 4));
	fv_fail_at(0, 0);
	ev = expect_dto(c->req_evd, 3, DAT_DTO_ERR_FLUSHED);
	assert_ptr_equal(ev.event_data.dto_completion_event_data.ep_handle,
			 c->ep);
	assert_int_equal(ev.event_data.dto_completion_event_data.operation,
			 DAT_DTO_SEND);
	ev = expect_dto(c->recv_evd, 4, DAT_DTO_ERR_FLUSHED);
	assert_int_equal(ev.event_data.dto_completion_event_data.operation,
			 DAT_DTO_RECEIVE);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
}

/* Each comes back once and in order, and not again after a reset. */
ON_EACH(post__before_and_after_the_end, world_connect)
{
	for (unsigned i = 0; i < 3; i++)
		assert_dat_ok(post_recv(c, 64, i));
	assert_dat_ok(V(ep_disconnect)(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_conn(c, DAT_CONNECTION_EVENT_DISCONNECTED);
	kit_conn(s, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (unsigned i = 3; i < 6; i++) {
		assert_dat_ok(post_recv(c, 64, i));
		assert_dat_ok(post_send(
			c, 64, i, i == 4 ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
	}
	for (unsigned i = 0; i < 6; i++)
		expect_dto(c->recv_evd, i, DAT_DTO_ERR_FLUSHED);
	for (unsigned i = 3; i < 6; i++)
		expect_dto(c->req_evd, i, DAT_DTO_ERR_FLUSHED);
	assert_dat_ok(post_recv(c, 64, 6));
	assert_dat_ok(V(ep_reset)(c->ep));
	assert_dat_ok(V(ep_reset)(s->ep));
	expect_dto(c->recv_evd, 6, DAT_DTO_ERR_FLUSHED);
	expect_empty(c->recv_evd);
	expect_empty(c->req_evd);
	assert_dat_ok(post_recv(c, 64, 7));
	world_connect(w);
	world_send(s, 0, 64, 8, 0);
	expect_dto(c->recv_evd, 7, DAT_DTO_SUCCESS);
	expect_empty(c->recv_evd);
}

/* ----------------------------------------------- flushing */

/* Every cookie once, in order; the suppressed ones too, as they failed. */
static void flushed_by(struct world *w, bool by_peer, bool reset)
{
	struct world_side *c = &w->client;

	world_connect(w);
	for (unsigned i = 0; i < 16; i++)
		assert_dat_ok(post_recv(c, 64, i));
	fv_pause(true);
	for (unsigned i = 0; i < 16; i++)
		assert_dat_ok(post_send(
			c, 200, i,
			i % 3 == 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
	assert_dat_ok(V(ep_disconnect)(by_peer ? w->server.ep : c->ep,
				       DAT_CLOSE_ABRUPT_FLAG));
	kit_conn(c, DAT_CONNECTION_EVENT_DISCONNECTED);
	kit_conn(&w->server, DAT_CONNECTION_EVENT_DISCONNECTED);
	if (reset)
		assert_dat_ok(V(ep_reset)(c->ep));
	for (unsigned i = 0; i < 16; i++)
		expect_dto(c->recv_evd, i, DAT_DTO_ERR_FLUSHED);
	for (unsigned i = 0; i < 16; i++)
		expect_dto(c->req_evd, i, DAT_DTO_ERR_FLUSHED);
	expect_empty(c->recv_evd);
	expect_empty(c->req_evd);
	fv_pause(false);
}

ON_EACH(flush__own_disconnect)
{
	flushed_by(w, false, false);
}

ON_EACH(flush__peers_disconnect)
{
	flushed_by(w, true, false);
}

ON_EACH(flush__reset)
{
	flushed_by(w, false, true);
	/* All places are free again. */
	assert_dat_ok(V(ep_free)(s->ep));
	s->ep = NULL;
	world_connect(w);
	for (unsigned i = 0; i < 16; i++)
		assert_dat_ok(post_recv(c, 64, i));
}

/*
 * The device has not flushed yet when the queue pair is destroyed: successes
 * stay successes, what is silent stays so, and all the rest is flushed, once.
 */
ON_EACH(flush__reset_before_it_came, world_connect)
{
	fv_device_cfg_get(w->dev)->flushes_late = true;
	for (unsigned i = 0; i < 3; i++)
		assert_dat_ok(post_recv(c, 64, i));
	for (unsigned i = 0; i < 3; i++)
		world_recv(s, 512, 512, i);
	world_send(s, 0, 64, 9, 0);
	assert_dat_ok(post_send(c, 8, 10, 0));
	assert_dat_ok(post_send(c, 8, 11, DAT_COMPLETION_SUPPRESS_FLAG));
	assert_dat_ok(post_send(c, 8, 12, DAT_COMPLETION_SUPPRESS_FLAG));
	expect_dto(s->recv_evd, 0, DAT_DTO_SUCCESS);
	fv_pause(true);
	for (unsigned i = 0; i < 6; i++)
		assert_dat_ok(post_send(
			c, 200, 20 + i,
			i % 3 == 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	assert_dat_ok(V(ep_reset)(c->ep));
	expect_dto(c->recv_evd, 0, DAT_DTO_SUCCESS);
	for (unsigned i = 1; i < 3; i++)
		expect_dto(c->recv_evd, i, DAT_DTO_ERR_FLUSHED);
	expect_dto(c->req_evd, 10, DAT_DTO_SUCCESS);
	for (unsigned i = 0; i < 6; i++)
		expect_dto(c->req_evd, 20 + i, DAT_DTO_ERR_FLUSHED);
	expect_empty(c->recv_evd);
	expect_empty(c->req_evd);
	fv_pause(false);
}

/* The first flush has been read, and with it that there is no more success. */
ON_EACH(flush__reset_while_it_comes, world_connect)
{
	fv_device_cfg_get(w->dev)->flushes_late = true;
	fv_pause(true);
	assert_dat_ok(post_send(c, 8, 1, 0));
	assert_dat_ok(post_send(c, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	assert_dat_ok(post_send(c, 8, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	expect_dto(c->req_evd, 1, DAT_DTO_ERR_FLUSHED);
	assert_dat_ok(V(ep_reset)(c->ep));
	expect_dto(c->req_evd, 2, DAT_DTO_ERR_FLUSHED);
	expect_dto(c->req_evd, 3, DAT_DTO_ERR_FLUSHED);
	expect_empty(c->req_evd);
	fv_pause(false);
}

/* What is posted when the device has yet to flush what came before. */
static void post_while_it_flushes(struct world *w)
{
	struct world_side *c = &w->client;

	fv_device_cfg_get(w->dev)->flushes_late = true;
	fv_pause(true);
	for (unsigned i = 0; i < 3; i++) {
		assert_dat_ok(post_recv(c, 64, i));
		assert_dat_ok(post_send(c, 8, i,
					i ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
	}
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	for (unsigned i = 3; i < 6; i++) {
		assert_dat_ok(post_recv(c, 64, i));
		assert_dat_ok(post_send(
			c, 8, i, i == 4 ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
	}
}

static void flushed_in_order(struct world *w)
{
	for (unsigned i = 0; i < 6; i++)
		expect_dto(w->client.recv_evd, i, DAT_DTO_ERR_FLUSHED);
	for (unsigned i = 0; i < 6; i++)
		expect_dto(w->client.req_evd, i, DAT_DTO_ERR_FLUSHED);
	expect_empty(w->client.recv_evd);
	expect_empty(w->client.req_evd);
	fv_pause(false);
}

ON_EACH(flush__behind_those_to_come, world_connect)
{
	post_while_it_flushes(w);
	flushed_in_order(w);
	/* Nothing is left to wait for. */
	for (unsigned i = 0; i < 40; i++) {
		assert_dat_ok(post_recv(c, 64, i));
		expect_dto(c->recv_evd, i, DAT_DTO_ERR_FLUSHED);
		assert_dat_ok(post_send(c, 8, i, 0));
		expect_dto(c->req_evd, i, DAT_DTO_ERR_FLUSHED);
	}
	assert_dat_ok(V(ep_reset)(c->ep));
	assert_dat_ok(V(ep_reset)(s->ep));
	world_connect(w);
	for (unsigned i = 0; i < 16; i++) {
		assert_dat_ok(post_recv(c, 64, i));
		world_send(s, 0, 8, i, 0);
		expect_dto(c->recv_evd, i, DAT_DTO_SUCCESS);
	}
}

ON_EACH(flush__behind_those_that_a_reset_flushes, world_connect)
{
	post_while_it_flushes(w);
	assert_dat_ok(V(ep_reset)(c->ep));
	flushed_in_order(w);
}

static bool requests_idle(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN receives, requests;
	DAT_EP_STATE state;

	assert_dat_ok(V(ep_get_status)(ep, &state, &receives, &requests));
	return requests;
}

/* Nobody knows whether it will be heard of: it is not waited for. */
ON_EACH(flush__behind_a_silent_request, world_connect)
{
	fv_device_cfg_get(w->dev)->flushes_late = true;
	world_recv(s, 0, 64, 1);
	world_recv(s, 0, 64, 2);
	assert_dat_ok(post_send(c, 8, 3, 0));
	assert_dat_ok(post_send(c, 8, 4, DAT_COMPLETION_SUPPRESS_FLAG));
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	assert_dat_ok(post_send(c, 8, 5, 0));
	expect_dto(c->req_evd, 3, DAT_DTO_SUCCESS);
	expect_dto(c->req_evd, 5, DAT_DTO_ERR_FLUSHED);
	expect_empty(c->req_evd);
	assert_true(requests_idle(c->ep));
}

/* Posts have an end although none is outstanding, and go on where it is read.
 */
static void flushed_up_to_a_limit(struct world_side *s)
{
	unsigned most = (unsigned)world_evd_param(s->recv_evd).evd_qlen + 16;
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned n = 0;

	while (n < 2 * most && (ret = post_recv(s, 64, n)) == DAT_SUCCESS)
		n++;
	assert_int_equal(ret, DAPL_NO_MEM);
	assert_in_range(n, 16, most);
	expect_dto(s->recv_evd, 0, DAT_DTO_ERR_FLUSHED);
	assert_dat_ok(post_recv(s, 64, n));
	for (unsigned i = 1; i <= n; i++)
		expect_dto(s->recv_evd, i, DAT_DTO_ERR_FLUSHED);
	expect_empty(s->recv_evd);
}

ON_EACH(flush__has_a_limit, world_connect)
{
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	flushed_up_to_a_limit(c);
	flushed_up_to_a_limit(c);
}

/* A driver knows that the connection has ended before its event does. */
ON_EACH(flush__device_refuses_what_comes_late, world_connect)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(w->dev);

	fv_qp_error(world_qp(c->ep));
	for (unsigned i = 0; i < 4; i++) {
		cfg->err_refuses_posts = i < 2 ? EINVAL : EIO;
		cfg->negative_errors = i % 2;
		assert_dat_ok(post_recv(c, 64, 1));
		assert_dat_ok(post_send(c, 8, 2, 0));
		assert_dat_ok(post_send(c, 8, 3, DAT_COMPLETION_SUPPRESS_FLAG));
		expect_dto(c->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
		expect_dto(c->req_evd, 2, DAT_DTO_ERR_FLUSHED);
		expect_dto(c->req_evd, 3, DAT_DTO_ERR_FLUSHED);
	}
	cfg->err_refuses_posts = 0;
}

/* Its flushes of what it has taken before may come late, and do come first. */
WORLD_CASE(flush__refused_before_the_flushes_come, WORLD_STEPS(world_connect),
	   WORLD_ROW(flush__refused_before_the_flushes_come, ".cxgb4", CXGB4),
	   WORLD_ROW(flush__refused_before_the_flushes_come, ".mlx5", MLX5))
{
	for (unsigned i = 0; i < 3; i++)
		assert_dat_ok(post_recv(c, 64, i));
	fv_pause(true);
	for (unsigned i = 0; i < 3; i++)
		assert_dat_ok(post_send(c, 8, i, 0));
	fv_qp_error(world_qp(c->ep));
	for (unsigned i = 3; i < 6; i++) {
		assert_dat_ok(post_recv(c, 64, i));
		assert_dat_ok(post_send(c, 8, i, 0));
	}
	fv_pause(false);
	for (unsigned i = 0; i < 6; i++) {
		expect_dto(c->recv_evd, i, DAT_DTO_ERR_FLUSHED);
		expect_dto(c->req_evd, i, DAT_DTO_ERR_FLUSHED);
	}
	expect_empty(c->recv_evd);
	expect_empty(c->req_evd);
	(void)s;
}

/*
 * The device knows that the connection has ended before we do. What is posted
 * meanwhile stays in its queues, and is flushed before the event.
 */
ON_SIW(flush__posted_before_the_end_is_heard_of, world_connect)
{
	assert_dat_ok(post_recv(c, 64, 0));
	fv_qp_error(world_qp(c->ep));
	for (unsigned i = 1; i < 4; i++) {
		assert_dat_ok(post_recv(c, 64, i));
		assert_dat_ok(post_send(
			c, 8, i, i == 2 ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
	}
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	for (unsigned i = 0; i < 4; i++)
		expect_dto(c->recv_evd, i, DAT_DTO_ERR_FLUSHED);
	for (unsigned i = 1; i < 4; i++)
		expect_dto(c->req_evd, i, DAT_DTO_ERR_FLUSHED);
	assert_dat_ok(post_recv(c, 64, 4));
	assert_dat_ok(post_send(c, 8, 4, 0));
	expect_dto(c->recv_evd, 4, DAT_DTO_ERR_FLUSHED);
	expect_dto(c->req_evd, 4, DAT_DTO_ERR_FLUSHED);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
	assert_dat_ok(V(ep_reset)(c->ep));
	assert_dat_ok(V(ep_reset)(s->ep));
	expect_empty(c->recv_evd);
	expect_empty(c->req_evd);
	world_connect(w);
	world_recv(s, 0, 64, 5);
	world_send(c, 0, 64, 6, 0);
	expect_dto(c->req_evd, 6, DAT_DTO_SUCCESS);
}

/*
 * A request has entered the queue when the kernel says that there is no
 * connection: it comes back as any other, and once.
 */
ON_SIW(flush__in_the_queue_and_refused, world_connect)
{
	fv_qp_error(world_qp(c->ep));
	for (unsigned i = 0; i < 8; i++) {
		fv_doorbell_fails(EPERM);
		assert_dat_ok(post_send(c, 8, i, 0));
	}
	assert_dat_ok(V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	for (unsigned i = 0; i < 8; i++)
		expect_dto(c->req_evd, i, DAT_DTO_ERR_FLUSHED);
	expect_empty(c->req_evd);
	assert_dat_ok(V(ep_reset)(c->ep));
	expect_empty(c->req_evd);
}

/* The device ends it, and says nothing but flushes: that is all there is. */
ON_IB_ROCE(flush__is_the_end_if_nobody_asked_for_it, world_connect)
{
	assert_dat_ok(post_recv(c, 64, 1));
	assert_dat_ok(post_recv(c, 64, 2));
	fv_qp_error(world_qp(c->ep));
	expect_dto(c->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
	expect_dto(c->recv_evd, 2, DAT_DTO_ERR_FLUSHED);
	kit_conn(c, DAT_CONNECTION_EVENT_BROKEN);
	expect_empty(c->conn_evd);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
}

/* What is wrong with the request itself stays wrong. */
ON_EACH(error__device_refuses_a_request, world_connect)
{
	fv_fail_call("ibv_post_send", 1, EINVAL);
	assert_refused(post_send(c, 8, 1, 0),
		       DAT_CLASS_ERROR | DAT_INVALID_PARAMETER);
	fv_fail_call("ibv_post_recv", 1, EINVAL);
	assert_refused(post_recv(c, 64, 1),
		       DAT_CLASS_ERROR | DAT_INVALID_PARAMETER);
	expect_empty(c->req_evd);
	expect_empty(c->recv_evd);
}

ON_EACH(flush__free, world_connect)
{
	fv_pause(true);
	for (unsigned i = 0; i < 5; i++) {
		assert_dat_ok(post_recv(c, 64, i));
		assert_dat_ok(post_send(c, 200, i, 0));
	}
	assert_dat_ok(V(ep_free)(c->ep));
	expect_empty(c->recv_evd);
	expect_empty(c->req_evd);
	/* And the EVD is good for another. */
	fv_pause(false);
	kit_conn(s, DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_dat_ok(V(ep_free)(s->ep));
	c->ep = s->ep = NULL;
	world_connect(w);
	world_recv(s, 0, 64, 1);
	world_send(c, 0, 64, 2, 0);
	expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
}

/* -------------------------------------------------- errors */

ON_EACH(error__local_protection, world_connect)
{
	DAT_LMR_TRIPLET seg;

	world_recv(s, 0, 4096, 1);
	seg = world_seg(c, 0, 2000);
	seg.lmr_context ^= 0x100000;
	/* Suppressed or not: failures are reported. */
	assert_dat_ok(V(ep_post_send)(c->ep, 1, &seg, world_cookie(2),
				      DAT_COMPLETION_SUPPRESS_FLAG));
	expect_dto(c->req_evd, 2, DAT_DTO_ERR_LOCAL_PROTECTION);
	kit_broken(w, true);
}

/* Rule: DAT 2.0, DAT_DTO_COMPLETION_STATUS. */
ON_IB(error__every_status)
{
	static const struct {
		enum ibv_wc_status verbs;
		DAT_DTO_COMPLETION_STATUS dat;
	} rows[] = {
		{IBV_WC_LOC_LEN_ERR, DAT_DTO_ERR_LOCAL_LENGTH},
		{IBV_WC_LOC_QP_OP_ERR, DAT_DTO_ERR_LOCAL_EP},
		{IBV_WC_LOC_EEC_OP_ERR, DAT_DTO_ERR_LOCAL_EP},
		{IBV_WC_LOC_PROT_ERR, DAT_DTO_ERR_LOCAL_PROTECTION},
		{IBV_WC_WR_FLUSH_ERR, DAT_DTO_ERR_FLUSHED},
		{IBV_WC_MW_BIND_ERR, DAT_RMR_OPERATION_FAILED},
		{IBV_WC_BAD_RESP_ERR, DAT_DTO_ERR_BAD_RESPONSE},
		{IBV_WC_LOC_ACCESS_ERR, DAT_DTO_ERR_LOCAL_PROTECTION},
		{IBV_WC_REM_INV_REQ_ERR, DAT_DTO_ERR_REMOTE_RESPONDER},
		{IBV_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS},
		{IBV_WC_REM_OP_ERR, DAT_DTO_ERR_REMOTE_RESPONDER},
		{IBV_WC_RETRY_EXC_ERR, DAT_DTO_ERR_TRANSPORT},
		{IBV_WC_RNR_RETRY_EXC_ERR, DAT_DTO_ERR_RECEIVER_NOT_READY},
		{IBV_WC_LOC_RDD_VIOL_ERR, DAT_DTO_ERR_LOCAL_PROTECTION},
		{IBV_WC_REM_INV_RD_REQ_ERR, DAT_DTO_ERR_REMOTE_RESPONDER},
		{IBV_WC_REM_ABORT_ERR, DAT_DTO_ERR_REMOTE_RESPONDER},
		{IBV_WC_INV_EECN_ERR, DAT_DTO_ERR_TRANSPORT},
		{IBV_WC_INV_EEC_STATE_ERR, DAT_DTO_ERR_TRANSPORT},
		{IBV_WC_FATAL_ERR, DAT_DTO_ERR_TRANSPORT},
		{IBV_WC_RESP_TIMEOUT_ERR, DAT_DTO_ERR_RECEIVER_NOT_READY},
		{IBV_WC_GENERAL_ERR, DAT_DTO_ERR_TRANSPORT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		c->ep = s->ep = NULL;
		world_connect(w);
		fv_pause(true);
		assert_dat_ok(post_send(c, 64, i, 0));
		fv_request_fails(world_qp(c->ep), rows[i].verbs);
		expect_dto(c->req_evd, i, rows[i].dat);
		fv_pause(false);
		kit_broken(w, true);
	}
}

/* -------------------------------------------------- threads */

#define ROUNDS 300

struct poster {
	struct world_side *s;
};

static void *post_receives(void *arg)
{
	struct poster *p = arg;

	for (unsigned i = 0; i < ROUNDS; i++)
		while (post_recv(p->s, 64, i) != DAT_SUCCESS)
			world_pause();
	return NULL;
}

static void *post_sends(void *arg)
{
	struct poster *p = arg;

	for (unsigned i = 0; i < ROUNDS; i++)
		while (post_send(p->s, 64, i, 0) != DAT_SUCCESS)
			world_pause();
	return NULL;
}

ON_IB(threads__post_and_reap)
{
	struct poster to = {.s = s}, from = {.s = c};
	unsigned sent = 0, received = 0;
	uint64_t end = world_now_us() + WORLD_PATIENCE_US;
	pthread_t t[2];
	DAT_EVENT ev;

	world_connect(w);
	assert_int_equal(pthread_create(&t[0], NULL, post_receives, &to), 0);
	assert_int_equal(pthread_create(&t[1], NULL, post_sends, &from), 0);
	while ((sent < ROUNDS || received < ROUNDS) && world_now_us() < end) {
		while (V(evd_dequeue)(c->req_evd, &ev) == DAT_SUCCESS) {
			assert_int_equal(ev.event_data.dto_completion_event_data
						 .user_cookie.as_64,
					 sent);
			sent++;
		}
		while (V(evd_dequeue)(s->recv_evd, &ev) == DAT_SUCCESS) {
			assert_int_equal(ev.event_data.dto_completion_event_data
						 .user_cookie.as_64,
					 received);
			received++;
		}
	}
	assert_int_equal(sent, ROUNDS);
	assert_int_equal(received, ROUNDS);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

RUN_CASES_TWICE()
