/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c12_post.c - data transfers: segments of 24 bytes where 2.0 has 16.
 *
 * One segment, which is what nearly everybody posts, is converted on the stack
 * and posted by the core's fast path, which is inlined here (dapl_post.h), so
 * that there is no second call; more of them are for the core's own call. A
 * segment without bytes counts as none: 1.2 never looked at it.
 */
#include <stdint.h>

#include "dapl/common/objects/dapl_lmr.h"
#include "dapl/common/objects/dapl_rmr.h"
#include "dapl/common/objects/dapl_srq.h"
#include "dapl/common/plugin/dapl_counted.h"
#include "dapl/common/transfer/dapl_ep_post.h"
#include "dapl/common/transfer/dapl_post.h"
#include "dapl/compat12/c12.h"

_Static_assert(sizeof(struct c12_lmr_triplet) == 24, "of 1.2's segment");
_Static_assert(sizeof(struct c12_rmr_triplet) == 24, "of 1.2's remote part");

/* More segments than a work request of any device takes. */
#define SEGMENTS_MAX 256
/* A flag of 2.0 has no meaning in 1.2. */
#define FLAGS_12 0x1f

static inline DAT_COMPLETION_FLAGS flags_20(DAT_COMPLETION_FLAGS flags)
{
	return (DAT_COMPLETION_FLAGS)(flags & FLAGS_12);
}

/* Segments of 2.0; IOV is NULL where there were none to convert. */
struct segments {
	DAT_COUNT n;
	DAT_LMR_TRIPLET *iov;
	DAT_LMR_TRIPLET all[SEGMENTS_MAX];
};

static inline DAT_LMR_TRIPLET segment(const struct c12_lmr_triplet *from)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = from->virtual_address,
		.segment_length = (DAT_SEG_LENGTH)from->segment_length,
		.lmr_context = from->lmr_context,
	};
}

static inline bool fits(DAT_VLEN length)
{
	return length <= UINT32_MAX;
}

static DAT_RETURN too_long(DAT_VLEN length)
{
	return dapl_fail(DAPL_ERR(DAT_LENGTH_ERROR, 0),
			 "a segment of %llu bytes: verbs has 32 bits for it",
			 (unsigned long long)length);
}

/* The core has its own word on a number that no endpoint was made for. */
static DAT_RETURN segments_take(struct segments *s, DAT_COUNT n,
				const struct c12_lmr_triplet *iov)
{
	s->n = n;
	s->iov = NULL;
	if (n <= 0 || !iov)
		return DAT_SUCCESS;
	if (n > SEGMENTS_MAX)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "%d segments: no endpoint takes more than %d",
				 n, SEGMENTS_MAX);
	s->iov = s->all;
	s->n = 0;
	for (DAT_COUNT i = 0; i < n; i++) {
		if (!iov[i].segment_length)
			continue;
		if (!fits(iov[i].segment_length))
			return too_long(iov[i].segment_length);
		s->iov[s->n++] = segment(&iov[i]);
	}
	return DAT_SUCCESS;
}

static inline bool is_plain(DAT_COUNT n, const struct c12_lmr_triplet *iov)
{
	return __builtin_expect(n == 1, 1) && iov &&
	       iov->segment_length - 1 < UINT32_MAX;
}

/* -------------------------------------------------- sends and receives */

typedef DAT_RETURN (*post_fn)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *,
			      DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS);

static __attribute__((noinline)) DAT_RETURN
post_many(post_fn post, DAT_EP_HANDLE ep, DAT_COUNT n,
	  const struct c12_lmr_triplet *iov, DAT_DTO_COOKIE cookie,
	  DAT_COMPLETION_FLAGS flags)
{
	struct segments s;
	DAT_RETURN ret = segments_take(&s, n, iov);

	if (ret == DAT_SUCCESS)
		ret = post(ep, s.n, s.iov, cookie, flags_20(flags));
	return c12_ret(ret);
}

DAT_RETURN c12_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments,
			    struct c12_lmr_triplet *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET one;

	if (!is_plain(segments, iov))
		return post_many(dapl_ep_post_send, ep, segments, iov, cookie,
				 flags);
	one = segment(iov);
	return c12_ret(dapl_post_transfer(ep, IBV_WR_SEND, DAT_DTO_SEND, 1,
					  &one, cookie, NULL, 0,
					  flags_20(flags), DAPL_UNCOUNTED));
}

DAT_RETURN c12_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments,
			    struct c12_lmr_triplet *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET one;

	if (!is_plain(segments, iov))
		return post_many(dapl_ep_post_recv, ep, segments, iov, cookie,
				 flags);
	one = segment(iov);
	/* Of a receive's flags the core looks at none that 1.2 has not. */
	return c12_ret(
		dapl_post_recv(ep, 1, &one, cookie, flags, DAPL_UNCOUNTED));
}

static __attribute__((noinline)) DAT_RETURN
srq_post_many(DAT_SRQ_HANDLE srq, DAT_COUNT n,
	      const struct c12_lmr_triplet *iov, DAT_DTO_COOKIE cookie)
{
	struct segments s;
	DAT_RETURN ret = segments_take(&s, n, iov);

	if (ret == DAT_SUCCESS)
		ret = dapl_srq_post_recv(srq, s.n, s.iov, cookie);
	return c12_ret(ret);
}

DAT_RETURN c12_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT segments,
			     struct c12_lmr_triplet *iov, DAT_DTO_COOKIE cookie)
{
	DAT_LMR_TRIPLET one;

	if (!is_plain(segments, iov))
		return srq_post_many(srq, segments, iov, cookie);
	one = segment(iov);
	return c12_ret(dapl_srq_post(srq, 1, &one, cookie));
}

/* ------------------------------------------------------------------ RDMA */

typedef DAT_RETURN (*rdma_fn)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *,
			      DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *,
			      DAT_COMPLETION_FLAGS);

static inline DAT_RMR_TRIPLET remote_part(const struct c12_rmr_triplet *from)
{
	return (DAT_RMR_TRIPLET){
		.virtual_address = from->target_address,
		.segment_length = (DAT_SEG_LENGTH)from->segment_length,
		.rmr_context = from->rmr_context,
	};
}

static __attribute__((noinline)) DAT_RETURN
rdma_many(rdma_fn post, DAT_EP_HANDLE ep, DAT_COUNT n,
	  const struct c12_lmr_triplet *iov, DAT_DTO_COOKIE cookie,
	  const struct c12_rmr_triplet *remote, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET there;
	struct segments s;
	DAT_RETURN ret;

	if (remote && !fits(remote->segment_length))
		return c12_ret(too_long(remote->segment_length));
	ret = segments_take(&s, n, iov);
	if (ret == DAT_SUCCESS) {
		if (remote)
			there = remote_part(remote);
		ret = post(ep, s.n, s.iov, cookie, remote ? &there : NULL,
			   flags_20(flags));
	}
	return c12_ret(ret);
}

static inline bool is_plain_rdma(DAT_COUNT n, const struct c12_lmr_triplet *iov,
				 const struct c12_rmr_triplet *remote)
{
	return is_plain(n, iov) && remote && fits(remote->segment_length);
}

DAT_RETURN c12_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments,
				 struct c12_lmr_triplet *iov,
				 DAT_DTO_COOKIE cookie,
				 const struct c12_rmr_triplet *remote,
				 DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET there;
	DAT_LMR_TRIPLET one;

	if (!is_plain_rdma(segments, iov, remote))
		return rdma_many(dapl_ep_post_rdma_read, ep, segments, iov,
				 cookie, remote, flags);
	one = segment(iov);
	there = remote_part(remote);
	return c12_ret(dapl_post_transfer(
		ep, IBV_WR_RDMA_READ, DAT_DTO_RDMA_READ, 1, &one, cookie,
		&there, 0, flags_20(flags), DAPL_UNCOUNTED));
}

DAT_RETURN c12_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments,
				  struct c12_lmr_triplet *iov,
				  DAT_DTO_COOKIE cookie,
				  const struct c12_rmr_triplet *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET there;
	DAT_LMR_TRIPLET one;

	if (!is_plain_rdma(segments, iov, remote))
		return rdma_many(dapl_ep_post_rdma_write, ep, segments, iov,
				 cookie, remote, flags);
	one = segment(iov);
	there = remote_part(remote);
	return c12_ret(dapl_post_transfer(
		ep, IBV_WR_RDMA_WRITE, DAT_DTO_RDMA_WRITE, 1, &one, cookie,
		&there, 0, flags_20(flags), DAPL_UNCOUNTED));
}

/* ------------------------------------------ the same, while they count */

static DAT_RETURN counted_send(DAT_EP_HANDLE ep, DAT_COUNT segments,
			       struct c12_lmr_triplet *iov,
			       DAT_DTO_COOKIE cookie,
			       DAT_COMPLETION_FLAGS flags)
{
	return post_many(dapl_counted_ep_post_send, ep, segments, iov, cookie,
			 flags);
}

static DAT_RETURN counted_recv(DAT_EP_HANDLE ep, DAT_COUNT segments,
			       struct c12_lmr_triplet *iov,
			       DAT_DTO_COOKIE cookie,
			       DAT_COMPLETION_FLAGS flags)
{
	return post_many(dapl_counted_ep_post_recv, ep, segments, iov, cookie,
			 flags);
}

static DAT_RETURN counted_read(DAT_EP_HANDLE ep, DAT_COUNT segments,
			       struct c12_lmr_triplet *iov,
			       DAT_DTO_COOKIE cookie,
			       const struct c12_rmr_triplet *remote,
			       DAT_COMPLETION_FLAGS flags)
{
	return rdma_many(dapl_counted_ep_post_rdma_read, ep, segments, iov,
			 cookie, remote, flags);
}

static DAT_RETURN counted_write(DAT_EP_HANDLE ep, DAT_COUNT segments,
				struct c12_lmr_triplet *iov,
				DAT_DTO_COOKIE cookie,
				const struct c12_rmr_triplet *remote,
				DAT_COMPLETION_FLAGS flags)
{
	return rdma_many(dapl_counted_ep_post_rdma_write, ep, segments, iov,
			 cookie, remote, flags);
}

void c12_post_counted(DAT_PROVIDER *vector)
{
	DAPL_SLOT_SET(vector, ep_post_send, C12_AS(ep_post_send, counted_send));
	DAPL_SLOT_SET(vector, ep_post_recv, C12_AS(ep_post_recv, counted_recv));
	DAPL_SLOT_SET(vector, ep_post_rdma_read,
		      C12_AS(ep_post_rdma_read, counted_read));
	DAPL_SLOT_SET(vector, ep_post_rdma_write,
		      C12_AS(ep_post_rdma_write, counted_write));
}

/* --------------------------------------------------- regions and windows */

typedef DAT_RETURN (*sync_fn)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);

/* Any number of segments, some at a time. */
static DAT_RETURN sync_all(sync_fn sync, DAT_IA_HANDLE ia,
			   const struct c12_lmr_triplet *segments,
			   DAT_VLEN count)
{
	struct segments s;
	DAT_RETURN ret;

	if (!segments || !count)
		return c12_ret(sync(ia, NULL, count));
	do {
		DAT_COUNT n =
			count < SEGMENTS_MAX ? (DAT_COUNT)count : SEGMENTS_MAX;

		ret = segments_take(&s, n, segments);
		if (ret == DAT_SUCCESS)
			ret = sync(ia, s.iov, (DAT_VLEN)s.n);
		segments += n;
		count -= (DAT_VLEN)n;
	} while (ret == DAT_SUCCESS && count);
	return c12_ret(ret);
}

DAT_RETURN c12_lmr_sync_rdma_read(DAT_IA_HANDLE ia,
				  const struct c12_lmr_triplet *segments,
				  DAT_VLEN count)
{
	return sync_all(dapl_lmr_sync_rdma_read, ia, segments, count);
}

DAT_RETURN c12_lmr_sync_rdma_write(DAT_IA_HANDLE ia,
				   const struct c12_lmr_triplet *segments,
				   DAT_VLEN count)
{
	return sync_all(dapl_lmr_sync_rdma_write, ia, segments, count);
}

/* The region of the 1.2 call is named by the segment's context. */
DAT_RETURN c12_rmr_bind(DAT_RMR_HANDLE handle,
			const struct c12_lmr_triplet *segment12,
			DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *ret_context)
{
	struct dapl_obj *rmr = dapl_obj_from(handle, DAT_HANDLE_TYPE_RMR);
	struct dapl_lmr *lmr = NULL;
	DAT_LMR_TRIPLET there;
	DAT_RETURN ret;

	if (rmr && segment12 && segment12->segment_length) {
		if (!fits(segment12->segment_length))
			return c12_ret(too_long(segment12->segment_length));
		lmr = dapl_lmr_find(rmr->ia, segment12->lmr_context);
		if (!lmr)
			return c12_ret(dapl_fail(DAPL_BAD_ARG(2),
						 "rmr: no LMR has context 0x%x",
						 segment12->lmr_context));
	}
	if (segment12)
		there = segment(segment12);
	ret = dapl_rmr_bind(handle, (DAT_LMR_HANDLE)lmr,
			    segment12 ? &there : NULL, priv, DAT_VA_TYPE_VA, ep,
			    cookie, flags_20(flags), ret_context);
	/* 2.0 has the region in front, and the type of the addresses later. */
	return DAT_GET_SUBTYPE(ret) < DAT_INVALID_ARG5
		       ? c12_ret_moved(ret, 3, 4, 1)
		       : c12_ret_moved(ret, 6, 9, 2);
}
