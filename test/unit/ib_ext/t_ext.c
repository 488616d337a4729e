/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ext.c - the IB extension: RDMA write with immediate data, fetch and add,
 * compare and swap, through the vector's dat_extension_op() slot.
 *
 * Rules: dat_ib_extensions.h: order of the arguments, events 0x40000 with
 * their extension data.
 */
#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <string.h>

#include "dapl/common/ib_ext/dapl_ext.h"
#include "test/unit/kit.h"

static DAT_RETURN write_immed(struct world *w, size_t length, uint64_t cookie,
			      uint32_t imm, unsigned flags)
{
	DAT_LMR_TRIPLET seg = world_seg(&w->client, 0, length);
	DAT_RMR_TRIPLET to = world_target(&w->server, 0, length);

	return world_op(w->client.ep, DAT_IB_RDMA_WRITE_IMMED_OP, (DAT_COUNT)1,
			&seg, world_cookie(cookie), &to, (DAT_UINT32)imm,
			(DAT_COMPLETION_FLAGS)flags);
}

static DAT_EVENT expect_ext(DAT_EVD_HANDLE evd, uint64_t cookie, int dto_op,
			    int type, unsigned status)
{
	DAT_EVENT ev = expect_event(evd, DAT_IB_DTO_EVENT);
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev.event_data.dto_completion_event_data;
	DAT_IB_EXTENSION_EVENT_DATA *ext =
		(DAT_IB_EXTENSION_EVENT_DATA *)ev.event_extension_data;

	assert_int_equal(dto->user_cookie.as_64, cookie);
	assert_int_equal(dto->status, status);
	assert_int_equal(dto->operation, dto_op);
	assert_int_equal(ext->type, type);
	assert_int_equal(ext->status, status);
	return ev;
}

ON_IB_ROCE(write_immed__arrives, world_connect)
{
	DAT_IB_EXTENSION_EVENT_DATA *ext;
	DAT_EVENT ev;

	for (unsigned i = 0; i < 2; i++) {
		memset(c->mem.buf, 3 + (int)i, 4096);
		world_recv(s, 8192, 64, 10);
		assert_dat_ok(write_immed(w, i ? 4000 : 20, 1, 0x12345678, 0));
		expect_ext(c->req_evd, 1, DAT_IB_DTO_RDMA_WRITE_IMMED,
			   DAT_IB_RDMA_WRITE_IMMED, 0);
		ev = expect_ext(s->recv_evd, 10, DAT_IB_DTO_RECV_IMMED,
				DAT_IB_RDMA_WRITE_IMMED_DATA, 0);
		ext = (DAT_IB_EXTENSION_EVENT_DATA *)ev.event_extension_data;
		assert_int_equal(ext->val.immed.data, 0x12345678);
		assert_int_equal(ev.event_data.dto_completion_event_data
					 .transfered_length,
				 i ? 4000 : 20);
		assert_int_equal(s->mem.buf[19], 3 + i);
	}
	world_recv(s, 8192, 64, 11);
	assert_dat_ok(write_immed(w, 8, 2, 7, DAT_COMPLETION_SUPPRESS_FLAG));
	expect_ext(s->recv_evd, 11, DAT_IB_DTO_RECV_IMMED,
		   DAT_IB_RDMA_WRITE_IMMED_DATA, 0);
	expect_empty(c->req_evd);
}

ON_IB_ROCE(atomics__change_the_peers_memory)
{
	uint64_t *there = (uint64_t *)(void *)s->mem.buf;
	uint64_t *here = (uint64_t *)(void *)c->mem.buf;
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 8);
	DAT_RMR_TRIPLET to = world_target(s, 0, 8);

	world_connect(w);
	*there = 40;
	assert_dat_ok(world_op(c->ep, DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)2,
			       &seg, world_cookie(1), &to, 0));
	expect_ext(c->req_evd, 1, DAT_IB_DTO_FETCH_ADD, DAT_IB_FETCH_AND_ADD,
		   0);
	assert_int_equal(*here, 40);
	assert_int_equal(*there, 42);
	assert_dat_ok(world_op(c->ep, DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)42,
			       (DAT_UINT64)7, &seg, world_cookie(2), &to, 0));
	expect_ext(c->req_evd, 2, DAT_IB_DTO_CMP_SWAP, DAT_IB_CMP_AND_SWAP, 0);
	assert_int_equal(*here, 42);
	assert_int_equal(*there, 7);
	assert_dat_ok(world_op(c->ep, DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)1,
			       (DAT_UINT64)9, &seg, world_cookie(3), &to, 0));
	expect_ext(c->req_evd, 3, DAT_IB_DTO_CMP_SWAP, DAT_IB_CMP_AND_SWAP, 0);
	assert_int_equal(*here, 7);
	assert_int_equal(*there, 7);
}

ON_IB(op__bad_arguments)
{
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 8);
	DAT_RMR_TRIPLET to = world_target(s, 0, 8);
	DAT_HANDLE bad = c->pz;

	world_eps(w);
	assert_refused(write_immed(w, 8, 1, 1, 0), BAD_EP_STATE(UNCONNECTED));
	world_connect(w);
	assert_refused(world_op(c->ep, 999), DAPL_ERR(DAT_NOT_IMPLEMENTED, 0));
	assert_refused(world_op(bad, DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)2,
				&seg, world_cookie(1), &to, 0),
		       DAPL_BAD_HANDLE(EP));
	assert_refused(world_op(c->ep, DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)2,
				NULL, world_cookie(1), &to, 0),
		       DAPL_BAD_ARG(4));
	assert_refused(world_op(c->ep, DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)2,
				&seg, world_cookie(1), NULL, 0),
		       DAPL_BAD_ARG(6));
	assert_refused(world_op(c->ep, DAT_IB_RDMA_WRITE_IMMED_OP,
				(DAT_COUNT)-1, &seg, world_cookie(1), &to,
				(DAT_UINT32)1, 0),
		       DAPL_BAD_ARG(2));
	expect_empty(c->req_evd);
}

/* Those of datagram endpoints, on a connected one. */
ON_IB(op__of_datagrams, world_eps)
{
	for (int n = DAT_IB_UD_CM_FREE_OP; n <= DAT_IB_UD_AH_FREE_OP; n++)
		assert_refused(world_op(c->ep, n, NULL, NULL, NULL),
			       DAPL_BAD_HANDLE(EP));
	assert_refused(world_op(c->ep, DAT_IB_UD_SEND_OP, (DAT_COUNT)1, NULL,
				NULL, world_cookie(1), 0),
		       DAPL_BAD_HANDLE(EP));
}

/* In the events of flushes too the operation is told. */
ON_IB(flush__keeps_the_operation)
{
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 8);
	DAT_RMR_TRIPLET to = world_target(s, 0, 8);

	world_connect(w);
	kit_disconnect(w);
	for (int i = 0; i < 2; i++) {
		/* The second time the device takes no post any more. */
		if (i)
			fv_fail_from(1, EINVAL);
		assert_dat_ok(write_immed(w, 8, 1, 1, 0));
		assert_dat_ok(world_op(c->ep, DAT_IB_FETCH_AND_ADD_OP,
				       (DAT_UINT64)2, &seg, world_cookie(2),
				       &to, 0));
		fv_fail_at(0, 0);
		expect_ext(c->req_evd, 1, DAT_IB_DTO_RDMA_WRITE_IMMED,
			   DAT_IB_RDMA_WRITE_IMMED, DAT_DTO_ERR_FLUSHED);
		expect_ext(c->req_evd, 2, DAT_IB_DTO_FETCH_ADD,
			   DAT_IB_FETCH_AND_ADD, DAT_DTO_ERR_FLUSHED);
	}
}

ON_IWARP(op__iwarp_has_none)
{
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 8);
	DAT_RMR_TRIPLET to = world_target(s, 0, 8);

	world_connect(w);
	assert_refused(write_immed(w, 8, 1, 1, 0),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	assert_refused(world_op(c->ep, DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)2,
				&seg, world_cookie(1), &to, 0),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
}

RUN_CASES_TWICE()
