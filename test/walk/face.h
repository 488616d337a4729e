/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * face.h - what the walks of DAT 2.0 and 1.2 have apart, beside test/face.h:
 * the rest of their source is the same.
 *
 * A line of call.c that only one version has begins with CALL_20 or CALL_12; a
 * call that has no line is not walked. Rule: doc/conformance.md, DAT 1.2.
 */
#ifndef WALK_FACE_H
#define WALK_FACE_H

#include "test/walk/call.h"

#if DAT_FACE == 1
#define WALK_NAME    "walk1"
#define WALK_HEADER  "dat/udat.h" /* of printed programs */
#define WALK_LIBRARY "-ldat"
#define WALK_TARGET  "target_address"
#define CALL_12	     CALL
#define CALL_20(...)
/* Bits that are refused beyond these; what is not an argument refuses none. */
#define WALK_EVD_FLAGS	UINT64_C(0x1f1)
#define WALK_LMR_FIELDS UINT64_MAX
#define WALK_CNO_FIELDS (UINT64_MAX / 2)
#define WALK_PRIVS	UINT64_MAX
#define WALK_VA_TYPES	UINT64_MAX
/* Of the privileges, those that a region can have. */
#define WALK_PRIVS_KEPT UINT64_C(0x33)
#define WALK_LMR_OUT	DAT_INVALID_ARG7 /* of dat_lmr_create() */
#define WALK_REJECT_MAX 0		 /* private data of a reject */
/* Of who was refused by nobody's wish, too: a reject may be bare. */
#define WALK_BARE_REJECT EV_BIT(PEER_REJECTED)
#define WALK_SKIPS	 true		     /* segments of no bytes */
#define WALK_LONG	 (UINT64_C(1) << 32) /* bytes: too many */
#else
#define WALK_NAME    "walk"
#define WALK_HEADER  "dat2/udat.h"
#define WALK_LIBRARY "-ldat2"
#define WALK_TARGET  "virtual_address"
#define CALL_12(...)
#define CALL_20		 CALL
#define WALK_EVD_FLAGS	 UINT64_C(0x3f1)
#define WALK_LMR_FIELDS	 DAT_LMR_FIELD_ALL
#define WALK_CNO_FIELDS	 DAT_CNO_FIELD_ALL /* the last one, no mask */
#define WALK_PRIVS	 UINT64_C(0x73)
#define WALK_VA_TYPES	 UINT64_C(1)
#define WALK_PRIVS_KEPT	 UINT64_MAX
#define WALK_LMR_OUT	 DAT_INVALID_ARG8
#define WALK_REJECT_MAX	 INT32_MAX
#define WALK_BARE_REJECT 0u
#define WALK_SKIPS	 false
#define WALK_LONG	 UINT64_C(0) /* cannot be said in 32 bits */
#endif

/* Whether a completion says that it is of OP: 1.2 does not tell. */
static inline bool walk_operation_is(const DAT_DTO_COMPLETION_EVENT_DATA *data,
				     int op)
{
#if DAT_FACE == 2
	static const DAT_DTOS kinds[] = {
		[OP_POST_SEND] = DAT_DTO_SEND,
		[OP_POST_RECV] = DAT_DTO_RECEIVE,
		[OP_POST_WRITE] = DAT_DTO_RDMA_WRITE,
		[OP_POST_READ] = DAT_DTO_RDMA_READ,
	};

	return data->operation == kinds[op];
#else
	(void)data;
	(void)op;
	return true;
#endif
}

#endif /* WALK_FACE_H */
