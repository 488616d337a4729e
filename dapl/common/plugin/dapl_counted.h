/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_counted.h - the calls of the data path as they are while they count.
 *
 * Each is the call that it is named for and counts what that did, with the
 * endpoint or the EVD: the fast ways while they have the lock, the others
 * afterwards. Numbers are exact, also where threads post to one endpoint; what
 * failed is not counted.
 */
#ifndef DAPL_COUNTED_H
#define DAPL_COUNTED_H

#include <dat2/udat.h>

/* Puts them into VECTOR, which programs may be calling through. */
void dapl_counted(DAT_PROVIDER *vector);

/* Stores CALL in a slot of a vector that is in use. */
#define DAPL_SLOT_SET(vector, slot, call) \
	__atomic_store_n(&(vector)->slot##_func, (call), __ATOMIC_RELEASE)

DAT_RETURN dapl_counted_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments,
				     DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie,
				     DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_counted_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments,
				     DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie,
				     DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_counted_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments,
					  DAT_LMR_TRIPLET *iov,
					  DAT_DTO_COOKIE cookie,
					  const DAT_RMR_TRIPLET *remote,
					  DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_counted_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments,
					   DAT_LMR_TRIPLET *iov,
					   DAT_DTO_COOKIE cookie,
					   const DAT_RMR_TRIPLET *remote,
					   DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_counted_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
				 DAT_COUNT threshold, DAT_EVENT *event,
				 DAT_COUNT *nmore);
DAT_RETURN dapl_counted_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);

#endif
