/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ib_op.h - the operations of the InfiniBand extension in one table: what
 * each is to verbs, what its completion is called, and what the device must be
 * able to do.
 *
 * Rows of requests are told by what a slot keeps, their DTO operation; those of
 * receives by what arrived.
 * Rule: IB extension 2.0.9.
 */
#ifndef DAPL_IB_OP_H
#define DAPL_IB_OP_H

#include <dat2/dat_ib_extensions.h>
#include <infiniband/verbs.h>
#include <stddef.h>

#include "dapl/common/verbs/vb.h"

enum dapl_ib_op_id {
	DAPL_IB_WRITE_IMMED,
	DAPL_IB_FETCH_ADD,
	DAPL_IB_CMP_SWAP,
	DAPL_IB_SEND_UD,
	DAPL_IB_REQUESTS, /* so many; receives follow */
	DAPL_IB_WRITE_ARRIVED = DAPL_IB_REQUESTS,
	DAPL_IB_MESSAGE_ARRIVED,
	DAPL_IB_UD_ARRIVED,
	DAPL_IB_UD_IMMED_ARRIVED,
};

struct dapl_ib_op {
	unsigned dto;	      /* DAT_IB_DTO_* of its completion */
	DAT_IB_EXT_TYPE type; /* of the event */
	/* Requests: */
	enum ibv_wr_opcode opcode;
	size_t needs; /* a bool of struct vb_dev */
	const char *what;
};

#define DAPL_IB_NEEDS(flag) offsetof(struct vb_dev, flag)

static const struct dapl_ib_op dapl_ib_ops[] = {
	[DAPL_IB_WRITE_IMMED] = {.dto = DAT_IB_DTO_RDMA_WRITE_IMMED,
				 .type = DAT_IB_RDMA_WRITE_IMMED,
				 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				 .needs = DAPL_IB_NEEDS(immediate),
				 .what = "immediate data"},
	[DAPL_IB_FETCH_ADD] = {.dto = DAT_IB_DTO_FETCH_ADD,
			       .type = DAT_IB_FETCH_AND_ADD,
			       .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			       .needs = DAPL_IB_NEEDS(atomics),
			       .what = "atomics"},
	[DAPL_IB_CMP_SWAP] = {.dto = DAT_IB_DTO_CMP_SWAP,
			      .type = DAT_IB_CMP_AND_SWAP,
			      .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
			      .needs = DAPL_IB_NEEDS(atomics),
			      .what = "atomics"},
	[DAPL_IB_SEND_UD] = {.dto = DAT_IB_DTO_SEND_UD,
			     .type = DAT_IB_UD_SEND,
			     .opcode = IBV_WR_SEND,
			     .needs = DAPL_IB_NEEDS(datagrams),
			     .what = "datagrams"},
	[DAPL_IB_WRITE_ARRIVED] = {.dto = DAT_IB_DTO_RECV_IMMED,
				   .type = DAT_IB_RDMA_WRITE_IMMED_DATA},
	/* No call posts such a message; other programs may send one. */
	[DAPL_IB_MESSAGE_ARRIVED] = {.dto = DAT_IB_DTO_RECV_MSG_IMMED,
				     .type = DAT_IB_RECV_IMMED_DATA},
	[DAPL_IB_UD_ARRIVED] = {.dto = DAT_IB_DTO_RECV_UD,
				.type = DAT_IB_UD_RECV},
	[DAPL_IB_UD_IMMED_ARRIVED] = {.dto = DAT_IB_DTO_RECV_UD_IMMED,
				      .type = DAT_IB_UD_RECV},
};

static inline bool dapl_ib_op_on(const struct dapl_ib_op *op,
				 const struct vb_dev *dev)
{
	return *(const bool *)((const char *)dev + op->needs);
}

/* The request whose DTO operation is DTO; NULL: one of DAT itself. */
static inline const struct dapl_ib_op *dapl_ib_request(unsigned dto)
{
	for (int i = 0; i < DAPL_IB_REQUESTS; i++)
		if (dapl_ib_ops[i].dto == dto)
			return &dapl_ib_ops[i];
	return NULL;
}

#endif
