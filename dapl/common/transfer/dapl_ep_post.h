/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ep_post.h - posting requests and receives. The handle of an endpoint is
 * that of the struct dapl_qp it begins with.
 */
#ifndef DAPL_EP_POST_H
#define DAPL_EP_POST_H

#include <dat2/dat_ib_extensions.h>

#include "dapl/common/transfer/dapl_qp.h"

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT segments,
				  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT segments,
				   DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_send_with_invalidate(
	DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
	DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
	DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT rmr_context);
DAT_RETURN dapl_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE handle,
					 const DAT_RMR_TRIPLET *local,
					 DAT_DTO_COOKIE cookie,
					 const DAT_RMR_TRIPLET *remote,
					 DAT_COMPLETION_FLAGS flags);

/* RDMA write that carries a number to the peer's receive (IB extension). */
DAT_RETURN dapl_ep_post_write_immed(DAT_EP_HANDLE handle, DAT_COUNT segments,
				    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote, uint32_t imm,
				    DAT_COMPLETION_FLAGS flags);

/* A datagram (IB extension); to whom is not checked but for NULL. */
DAT_RETURN dapl_ep_post_send_ud(DAT_EP_HANDLE handle, DAT_COUNT segments,
				DAT_LMR_TRIPLET *iov,
				const DAT_IB_ADDR_HANDLE *to,
				DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);

struct ibv_send_wr;
/*
 * Posts WR (opcode, remote part and segments filled in) as operation OP with
 * LENGTH bytes. For the extension operations and binds.
 */
DAT_RETURN dapl_qp_post_request(struct dapl_qp *qp, struct ibv_send_wr *wr,
				unsigned op, uint32_t length,
				DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);
/* Binds MW (type 1) as BIND says; its new key is known at once. */
DAT_RETURN dapl_qp_post_bind(struct dapl_qp *qp, struct ibv_mw *mw,
			     struct ibv_mw_bind *bind, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags,
			     DAT_RMR_CONTEXT *ret_key);
/* Whether N requests can be posted, or need no place since they are flushed. */
bool dapl_qp_has_room(struct dapl_qp *qp, uint32_t n);
/*
 * A request of our own whose completion proves that all before it are done;
 * none, while there is one.
 */
int dapl_qp_post_marker(struct dapl_qp *qp);

#endif
