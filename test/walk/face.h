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
#define WALK_SKIPS	 true /* segments of no bytes */
#define WALK_RMR_FIELDS	 UINT64_MAX
/* Of dat_rmr_bind(), which goes by the segment's context. */
#define WALK_BIND_RANGE DAT_INVALID_ARG2
#define WALK_BIND_PRIV	DAT_INVALID_ARG3
#define WALK_BIND_EP	DAT_INVALID_ARG4
#define WALK_BY_CONTEXT true
/* There are no common service points. */
#define WALK_CSP_FIELDS 0
#define WALK_LIST_PART	true /* of the adapters, when there are more */
#define WALK_TYPE_LAST	DAT_CONN_QUAL_UNAVAILABLE
#define WALK_TYPE_NEXT	DAT_GET_TYPE(DAT_NOT_IMPLEMENTED)
#define WALK_CSP_TYPE	DAT_HANDLE_TYPE_PSP
#define WALK_CSP_MEMBER ""
#define WALK_LONG	(UINT64_C(1) << 32) /* bytes: too many */
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
#define WALK_RMR_FIELDS	 DAT_RMR_FIELD_ALL
#define WALK_BIND_RANGE	 DAT_INVALID_ARG3
#define WALK_BIND_PRIV	 DAT_INVALID_ARG4
#define WALK_BIND_EP	 DAT_INVALID_ARG6
#define WALK_BY_CONTEXT	 false
#define WALK_CSP_FIELDS	 DAT_CSP_FIELD_ALL
#define WALK_LIST_PART	 false
#define WALK_TYPE_LAST	 DAT_COMM_NOT_SUPPORTED
#define WALK_TYPE_NEXT	 DAT_EXTENSION_BASE
#define WALK_CSP_TYPE	 DAT_HANDLE_TYPE_CSP
#define WALK_CSP_MEMBER	 "\tDAT_CSP_PARAM csp;\n"
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
		[OP_READ_TO_RMR] = DAT_DTO_RDMA_READ,
		[OP_SEND_INV] = DAT_DTO_SEND,
	};

	return data->operation == kinds[op];
#else
	(void)data;
	(void)op;
	return true;
#endif
}

/* Whether a receive says that the peer has taken CONTEXT back: only in 2.0. */
static inline bool walk_takes_back(const DAT_DTO_COMPLETION_EVENT_DATA *data,
				   DAT_RMR_CONTEXT context)
{
#if DAT_FACE == 2
	return data->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE &&
	       data->rmr_context == context;
#else
	(void)data;
	(void)context;
	return false;
#endif
}

/* What 2.0 added to regions and windows; in 1.2 they are as they have to be. */
#if DAT_FACE == 2
static inline bool walk_no_zero_based(const DAT_IA_ATTR *a, uint64_t va_type)
{
	return va_type == DAT_VA_TYPE_ZB && !a->zb_supported;
}

static inline bool walk_va_type_is(const DAT_LMR_PARAM *p, unsigned va_type)
{
	return p->va_type == (DAT_VA_TYPE)va_type;
}

/* Whether windows are for a zone, and maybe not for an endpoint. */
static inline bool walk_scope_is_pz(const DAT_PROVIDER_ATTR *a)
{
	return a->rmr_scope_supported == DAT_RMR_SCOPE_PZ;
}

static inline bool walk_scope_is(const DAT_RMR_PARAM *p, bool for_ep)
{
	return (p->rmr_scope == DAT_RMR_SCOPE_EP) == for_ep;
}
#else
static inline bool walk_no_zero_based(const DAT_IA_ATTR *a, uint64_t va_type)
{
	(void)a;
	(void)va_type;
	return false;
}

static inline bool walk_va_type_is(const DAT_LMR_PARAM *p, unsigned va_type)
{
	(void)p;
	(void)va_type;
	return true;
}

static inline bool walk_scope_is_pz(const DAT_PROVIDER_ATTR *a)
{
	(void)a;
	return true;
}

static inline bool walk_scope_is(const DAT_RMR_PARAM *p, bool for_ep)
{
	(void)p;
	return !for_ep;
}
#endif

#endif /* WALK_FACE_H */
