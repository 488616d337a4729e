/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_srq.h - shared receive queue.
 *
 * Buffers of an SRQ complete in any order and on the EVDs of several
 * endpoints, so its slots are a free list and not a ring, under a lock of role
 * WQ that the completing side takes as well (after the EVD's: see
 * doc/locking.md). Which endpoint took a buffer is known by its queue pair
 * number. A lock of role SRQ, taken before any CTL, orders what changes or
 * depends on the size: resizing and the endpoints that come and go.
 */
#ifndef DAPL_SRQ_H
#define DAPL_SRQ_H

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/transfer/dapl_wq.h"
#include "dapl/common/verbs/vb.h"

struct dapl_srq;
struct dapl_evd;
struct dapl_ep;
struct dapl_pz;

struct dapl_srq *dapl_srq_from(DAT_SRQ_HANDLE h);
struct dapl_obj *dapl_srq_obj(struct dapl_srq *srq);
struct ibv_srq *dapl_srq_verbs(struct dapl_srq *srq);
struct dapl_pz *dapl_srq_pz(const struct dapl_srq *srq);

/* A queue pair begins or ends to take buffers from SRQ. 0 or -ENOMEM. */
int dapl_srq_qp_enter(struct dapl_srq *srq, struct dapl_ep *ep,
		      uint32_t qp_num);
void dapl_srq_qp_leave(struct dapl_srq *srq, struct dapl_ep *ep);
/* Room on EVD for completions of all of SRQ's buffers, while it is attached. */
int dapl_srq_evd_attach(struct dapl_srq *srq, struct dapl_evd *evd);
void dapl_srq_evd_detach(struct dapl_srq *srq, struct dapl_evd *evd);

/* SLOT has completed on QP_NUM: it is free again. Returns the endpoint. */
struct dapl_ep *dapl_srq_complete(struct dapl_wq *wq, struct dapl_slot *slot,
				  uint32_t qp_num);
/* A verbs async event about SRQ. */
void dapl_srq_async(struct dapl_srq *srq, enum ibv_event_type type);

DAT_RETURN dapl_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			   DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *ret_srq);
DAT_RETURN dapl_srq_free(DAT_SRQ_HANDLE handle);
DAT_RETURN dapl_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
			      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie);
DAT_RETURN dapl_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask,
			  DAT_SRQ_PARAM *ret_param);
DAT_RETURN dapl_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_recv_dtos);
DAT_RETURN dapl_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark);

#endif
