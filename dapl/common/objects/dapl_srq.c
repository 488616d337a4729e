/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_srq.c - dat_srq_*: shared receive queues.
 *
 * Endpoints are found by queue pair number in a small open hash table that
 * grows with the number of endpoints; one lock guards table and slots.
 * Rules: DAT 2.0 dat_srq_*.
 */
#include "dapl/common/objects/dapl_srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/objects/dapl_ep.h"
#include "dapl/common/objects/dapl_evd.h"
#include "dapl/common/objects/dapl_ia.h"
#include "dapl/common/objects/dapl_pz.h"

struct srq_user {
	uint32_t qp_num;
	struct dapl_ep *ep; /* NULL: free */
};

struct dapl_srq {
	struct dapl_obj obj;
	struct ibv_srq *srq;
	struct dapl_pz *pz;
	struct dapl_wq *wq; /* slots; its lock guards what follows */
	uint32_t *free;	    /* stack of free slot numbers */
	uint32_t free_count;
	uint32_t outstanding; /* posted and not yet completed */
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark; /* armed, or 0 */
	DAT_SRQ_STATE state;
	struct srq_user *users;
	uint32_t users_size; /* power of two */
	uint32_t users_count;
};

struct dapl_srq *dapl_srq_from(DAT_SRQ_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_SRQ);
}

struct dapl_obj *dapl_srq_obj(struct dapl_srq *srq)
{
	return &srq->obj;
}

struct ibv_srq *dapl_srq_verbs(struct dapl_srq *srq)
{
	return srq->srq;
}

struct dapl_pz *dapl_srq_pz(const struct dapl_srq *srq)
{
	return srq->pz;
}

/* -------------------------------- endpoints by QP number */

static struct srq_user *user_find(struct srq_user *users, uint32_t size,
				  uint32_t qp_num)
{
	uint32_t i = qp_num;

	while (users[i & (size - 1)].ep &&
	       users[i & (size - 1)].qp_num != qp_num)
		i++;
	return &users[i & (size - 1)];
}

/* At most half full, so that a search ends soon. */
static int users_grow_locked(struct dapl_srq *srq)
{
	uint32_t size = srq->users_size ? srq->users_size * 2 : 8;
	struct srq_user *users;

	if (srq->users_count * 2 < srq->users_size)
		return 0;
	users = calloc(size, sizeof(*users));
	if (!users)
		return -ENOMEM;
	for (uint32_t i = 0; i < srq->users_size; i++)
		if (srq->users[i].ep)
			*user_find(users, size, srq->users[i].qp_num) =
				srq->users[i];
	free(srq->users);
	srq->users = users;
	srq->users_size = size;
	return 0;
}

int dapl_srq_qp_enter(struct dapl_srq *srq, struct dapl_ep *ep, uint32_t qp_num)
{
	int ret;

	dapl_lock(&srq->wq->lock);
	ret = users_grow_locked(srq);
	if (!ret) {
		*user_find(srq->users, srq->users_size, qp_num) =
			(struct srq_user){qp_num, ep};
		srq->users_count++;
	}
	dapl_unlock(&srq->wq->lock);
	return ret;
}

void dapl_srq_qp_leave(struct dapl_srq *srq, struct dapl_ep *ep)
{
	struct srq_user *hole, *next;
	uint32_t i = 0;

	dapl_lock(&srq->wq->lock);
	/* Not by number: another queue pair may have got it already. */
	while (i < srq->users_size && srq->users[i].ep != ep)
		i++;
	if (i < srq->users_size) {
		hole = &srq->users[i];
		hole->ep = NULL;
		srq->users_count--;
		/* Entries behind the hole may have been displaced by it. */
		i = (uint32_t)(hole - srq->users) + 1;
		for (; srq->users[i & (srq->users_size - 1)].ep; i++) {
			struct srq_user moved;

			next = &srq->users[i & (srq->users_size - 1)];
			moved = *next;
			next->ep = NULL;
			*user_find(srq->users, srq->users_size, moved.qp_num) =
				moved;
		}
	}
	dapl_unlock(&srq->wq->lock);
}

int dapl_srq_evd_attach(struct dapl_srq *srq, struct dapl_evd *evd)
{
	int *credits, ret;

	/* Any buffer may end up at any endpoint, so on any EVD. */
	ret = dapl_evd_attach(evd, srq->max_recv_dtos, &credits);
	if (ret || !credits)
		return ret;
	/* A buffer's EVD is not known when it is posted: no credit to take. */
	dapl_evd_detach(evd, srq->max_recv_dtos, credits);
	return -ENOMEM;
}

void dapl_srq_evd_detach(struct dapl_srq *srq, struct dapl_evd *evd)
{
	dapl_evd_detach(evd, srq->max_recv_dtos, NULL);
}

struct dapl_ep *dapl_srq_complete(struct dapl_wq *wq, struct dapl_slot *slot,
				  uint32_t qp_num)
{
	struct dapl_srq *srq = wq->owner;
	struct dapl_ep *ep = NULL;

	dapl_lock(&wq->lock);
	srq->free[srq->free_count++] = dapl_slot_index(slot);
	srq->outstanding--;
	if (srq->users_size)
		ep = user_find(srq->users, srq->users_size, qp_num)->ep;
	dapl_unlock(&wq->lock);
	return ep;
}

void dapl_srq_async(struct dapl_srq *srq, enum ibv_event_type type)
{
	bool limit = type == IBV_EVENT_SRQ_LIMIT_REACHED;

	dapl_lock(&srq->wq->lock);
	if (limit)
		srq->low_watermark = 0;
	else
		srq->state = DAT_SRQ_STATE_ERROR;
	dapl_unlock(&srq->wq->lock);
	/* The 2.0 events have no number of their own for an SRQ. */
	dapl_ia_async(srq->obj.ia,
		      limit ? DAT_ASYNC_ERROR_EP_BROKEN
			    : DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		      (DAT_HANDLE)srq,
		      limit ? DAT_SRQ_LOW_WATERMARK_EVENT
			    : DAT_SRQ_TRANSFER_TO_ERROR);
}

/* ---------------------------------------------------- life */

static void srq_free_memory(struct dapl_srq *srq)
{
	if (srq->wq)
		dapl_lock_fini(&srq->wq->lock);
	free(srq->wq);
	free(srq->free);
	free(srq->users);
	dapl_obj_release(&srq->obj);
}

static struct dapl_srq *srq_alloc(struct dapl_ia *ia, const DAT_SRQ_ATTR *attr)
{
	struct dapl_srq *srq;

	srq = dapl_obj_new(ia, DAT_HANDLE_TYPE_SRQ, sizeof(*srq));
	if (!srq)
		return NULL;
	srq->max_recv_dtos = attr->max_recv_dtos;
	srq->max_recv_iov = attr->max_recv_iov;
	srq->state = DAT_SRQ_STATE_OPERATIONAL;
	srq->wq = dapl_wq_new(DAPL_WQ_SRQ, (uint32_t)attr->max_recv_dtos, srq);
	srq->free = calloc((size_t)attr->max_recv_dtos, sizeof(*srq->free));
	if (!srq->wq || !srq->free) {
		srq_free_memory(srq);
		return NULL;
	}
	for (uint32_t i = 0; i <= srq->wq->mask; i++)
		srq->wq->slots[i].what |= DAPL_OP_CAREFUL;
	while (srq->free_count < (uint32_t)attr->max_recv_dtos) {
		srq->free[srq->free_count] = srq->free_count;
		srq->free_count++;
	}
	return srq;
}

static DAT_RETURN check_srq_attr(struct dapl_ia *ia, const DAT_SRQ_ATTR *attr)
{
	if (!attr)
		return dapl_fail(DAPL_BAD_ARG(3), "srq: no attributes");
	if (attr->max_recv_dtos <= 0 || attr->max_recv_iov <= 0)
		return dapl_fail(DAPL_BAD_ARG(3),
				 "srq: %d buffers of %d segments",
				 attr->max_recv_dtos, attr->max_recv_iov);
	if (attr->low_watermark != DAT_SRQ_LW_DEFAULT)
		return dapl_fail(DAPL_BAD_ARG(3),
				 "srq: a low watermark is set by "
				 "dat_srq_set_lw(), not at creation");
	if (!ia->dev.attr.max_srq)
		return dapl_fail(DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0),
				 "srq: %s has none", ia->dev.name);
	if (attr->max_recv_dtos > ia->dev.attr.max_srq_wr ||
	    attr->max_recv_iov > ia->dev.attr.max_srq_sge)
		return dapl_fail(DAPL_NO_RES(SRQ),
				 "srq: %s offers %d buffers of %d segments",
				 ia->dev.name, ia->dev.attr.max_srq_wr,
				 ia->dev.attr.max_srq_sge);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			   DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *ret_srq)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct dapl_pz *pz = dapl_pz_from(pz_handle);
	struct dapl_srq *srq;
	DAT_RETURN ret;
	int err;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (!pz || pz->obj.ia != ia)
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "no such PZ");
	ret = check_srq_attr(ia, attr);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!ret_srq)
		return dapl_fail(DAPL_BAD_ARG(4), "no place for the handle");
	srq = srq_alloc(ia, attr);
	if (!srq)
		return dapl_fail(DAPL_NO_MEM, "srq: no memory for %d buffers",
				 attr->max_recv_dtos);
	if (!dapl_obj_use(&pz->obj)) {
		srq_free_memory(srq);
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "the PZ was freed");
	}
	srq->pz = pz;
	err = vb_srq_create(pz->pd, (uint32_t)attr->max_recv_dtos,
			    (uint32_t)attr->max_recv_iov, srq, &srq->srq);
	if (err) {
		dapl_obj_unuse(&pz->obj);
		srq_free_memory(srq);
		return dapl_fail(dapl_err_dat(err),
				 "srq: %s gave no queue of %d buffers: %s",
				 ia->dev.name, attr->max_recv_dtos,
				 strerror(-err));
	}
	dapl_obj_enlist(&srq->obj);
	*ret_srq = (DAT_SRQ_HANDLE)srq;
	return DAT_SUCCESS;
}

void dapl_srq_shutdown(struct dapl_srq *srq)
{
	vb_srq_destroy(srq->srq);
	dapl_obj_unuse(&srq->pz->obj);
	if (dapl_obj_put(&srq->obj))
		srq_free_memory(srq);
}

DAT_RETURN dapl_srq_free(DAT_SRQ_HANDLE handle)
{
	struct dapl_srq *srq = dapl_srq_from(handle);

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (!dapl_obj_retire(&srq->obj, false))
		return dapl_fail(DAPL_BAD_STATE(SRQ_IN_USE),
				 "srq %p: endpoints still use it", (void *)srq);
	dapl_srq_shutdown(srq);
	return DAT_SUCCESS;
}

/* --------------------------------------------------- calls */

DAT_RETURN dapl_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
			      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	struct dapl_srq *srq = dapl_srq_from(handle);
	struct ibv_recv_wr wr, *bad;
	struct dapl_slot *slot;
	struct dapl_wq *wq;
	int ret = -ENOBUFS;

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (segments < 0 || segments > srq->max_recv_iov)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "srq %p: %d segments, %d are possible",
				 (void *)srq, segments, srq->max_recv_iov);
	if (segments && !iov)
		return dapl_fail(DAPL_BAD_ARG(3), "srq %p: no segments",
				 (void *)srq);
	wq = srq->wq;
	wr.next = NULL;
	wr.sg_list = (struct ibv_sge *)iov;
	wr.num_sge = segments;
	dapl_lock(&wq->lock);
	if (srq->free_count) {
		slot = &wq->slots[srq->free[--srq->free_count]];
		slot->cookie = cookie;
		wr.wr_id = (uintptr_t)slot;
		srq->outstanding++;
		ret = ibv_post_srq_recv(srq->srq, &wr, &bad);
		if (ret) {
			srq->free[srq->free_count++] = dapl_slot_index(slot);
			srq->outstanding--;
		}
	}
	dapl_unlock(&wq->lock);
	if (!ret)
		return DAT_SUCCESS;
	if (ret == -ENOBUFS)
		return dapl_fail(DAPL_NO_MEM,
				 "srq %p: all %d buffers are posted",
				 (void *)srq, srq->max_recv_dtos);
	return dapl_fail(dapl_err_dat(ret > 0 ? -ret : ret),
			 "srq %p: %s refused the post: %s", (void *)srq,
			 srq->obj.ia->dev.name, strerror(ret > 0 ? ret : -ret));
}

DAT_RETURN dapl_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask,
			  DAT_SRQ_PARAM *ret_param)
{
	struct dapl_srq *srq = dapl_srq_from(handle);

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (mask & ~(unsigned)DAT_SRQ_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	ret_param->ia_handle = dapl_obj_ia_handle(&srq->obj);
	ret_param->pz_handle = (DAT_PZ_HANDLE)srq->pz;
	dapl_lock(&srq->wq->lock);
	ret_param->srq_state = srq->state;
	ret_param->max_recv_dtos = srq->max_recv_dtos;
	ret_param->max_recv_iov = srq->max_recv_iov;
	ret_param->low_watermark = srq->low_watermark;
	/* Buffers that the device holds are not counted by verbs. */
	ret_param->available_dto_count = DAT_VALUE_UNKNOWN;
	ret_param->outstanding_dto_count = (DAT_COUNT)srq->outstanding;
	dapl_unlock(&srq->wq->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_recv_dtos)
{
	struct dapl_srq *srq = dapl_srq_from(handle);
	bool busy;

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (max_recv_dtos <= 0)
		return dapl_fail(DAPL_BAD_ARG(2), "srq: %d buffers",
				 max_recv_dtos);
	dapl_lock(&srq->wq->lock);
	busy = max_recv_dtos < (DAT_COUNT)srq->outstanding ||
	       max_recv_dtos < srq->low_watermark;
	dapl_unlock(&srq->wq->lock);
	if (busy)
		return dapl_fail(DAPL_ERR(DAT_INVALID_STATE, 0),
				 "srq %p: %d buffers are fewer than are posted "
				 "or than the low watermark",
				 (void *)srq, max_recv_dtos);
	/* Room for more slots while old ones are in the device comes later; */
	/* shrinking is satisfied by the queue that is there. */
	if (max_recv_dtos > srq->max_recv_dtos)
		return dapl_fail(DAPL_NO_RES(SRQ),
				 "srq %p cannot grow beyond %d buffers",
				 (void *)srq, srq->max_recv_dtos);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark)
{
	struct dapl_srq *srq = dapl_srq_from(handle);
	int err;

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (low_watermark < 0 || low_watermark > srq->max_recv_dtos)
		return dapl_fail(
			DAPL_BAD_ARG(2), "srq %p: watermark %d of %d buffers",
			(void *)srq, low_watermark, srq->max_recv_dtos);
	err = vb_srq_arm(srq->srq, (uint32_t)low_watermark);
	if (err)
		return dapl_fail(dapl_err_dat(err),
				 "srq %p: cannot arm the watermark: %s",
				 (void *)srq, strerror(-err));
	dapl_lock(&srq->wq->lock);
	srq->low_watermark = low_watermark;
	dapl_unlock(&srq->wq->lock);
	return DAT_SUCCESS;
}
