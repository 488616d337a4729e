/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_srq.c - dat_srq_*: shared receive queues, but for their transfers, which
 * are in transfer/dapl_srq_queue.c. ctl (role SRQ) guards the size, and with it
 * the room that is reserved on the EVDs. Rules: DAT 2.0 dat_srq_*.
 */
#include "dapl/common/objects/dapl_srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/objects/dapl_pz.h"

void dapl_srq_async(struct dapl_srq *srq, enum ibv_event_type type)
{
	bool limit = type == IBV_EVENT_SRQ_LIMIT_REACHED;

	dapl_lock(&srq->lock);
	if (limit)
		srq->low_watermark = 0;
	else
		srq->state = DAT_SRQ_STATE_ERROR;
	dapl_unlock(&srq->lock);
	/* The 2.0 events have no number of their own for an SRQ. */
	dapl_ia_async(srq->obj.ia,
		      limit ? DAT_ASYNC_ERROR_EP_BROKEN
			    : DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		      (DAT_HANDLE)srq,
		      limit ? DAT_SRQ_LOW_WATERMARK_EVENT
			    : DAT_SRQ_TRANSFER_TO_ERROR);
}

/* ---------------------------------------------------- life */

static void srq_shutdown(struct dapl_obj *obj)
{
	struct dapl_srq *srq = (struct dapl_srq *)obj;

	vb_srq_destroy(srq->ibv);
	dapl_obj_unuse(&srq->pz->obj);
}

static void srq_destroy(struct dapl_obj *obj)
{
	struct dapl_srq *srq = (struct dapl_srq *)obj;
	dapl_srq_queue_fini(srq);
	dapl_lock_fini(&srq->ctl);
	dapl_obj_release(obj);
}

static const struct dapl_obj_ops srq_ops = {
	.type = DAT_HANDLE_TYPE_SRQ,
	.made = DCNT_IA_SRQ_CREATE,
	.ended = DCNT_IA_SRQ_FREE,
	.size = sizeof(struct dapl_srq),
	.shutdown = srq_shutdown,
	.destroy = srq_destroy,
};

static struct dapl_srq *srq_alloc(struct dapl_ia *ia, const DAT_SRQ_ATTR *attr)
{
	struct dapl_srq *srq;
	int ret;

	srq = dapl_obj_new(ia, &srq_ops);
	if (!srq)
		return NULL;
	dapl_lock_init(&srq->ctl, DAPL_LOCK_SRQ);
	dapl_srq_queue_init(srq);
	srq->max_recv_dtos = attr->max_recv_dtos;
	srq->max_recv_iov = attr->max_recv_iov;
	srq->state = DAT_SRQ_STATE_OPERATIONAL;
	dapl_lock(&srq->ctl);
	ret = dapl_srq_slots_add_ctl(srq, (uint32_t)attr->max_recv_dtos);
	dapl_unlock(&srq->ctl);
	if (ret) {
		dapl_obj_put(&srq->obj);
		return NULL;
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
		dapl_obj_put(&srq->obj);
		return dapl_fail(DAPL_BAD_HANDLE(PZ), "the PZ was freed");
	}
	srq->pz = pz;
	err = vb_srq_create(pz->pd, (uint32_t)attr->max_recv_dtos,
			    (uint32_t)attr->max_recv_iov, srq, &srq->ibv);
	if (err) {
		dapl_obj_unuse(&pz->obj);
		dapl_obj_put(&srq->obj);
		return dapl_fail(dapl_err_dat(err),
				 "srq: %s gave no queue of %d buffers: %s",
				 ia->dev.name, attr->max_recv_dtos,
				 strerror(-err));
	}
	srq->ops = vb_srq_ops_of(srq->ibv);
	dapl_obj_enlist(&srq->obj);
	*ret_srq = (DAT_SRQ_HANDLE)srq;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_srq_free(DAT_SRQ_HANDLE handle)
{
	struct dapl_srq *srq = dapl_srq_from(handle);

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (!dapl_obj_retire(&srq->obj, false))
		return dapl_fail(DAPL_BAD_STATE(SRQ_IN_USE),
				 "srq %p: endpoints still use it", (void *)srq);
	dapl_obj_end(&srq->obj);
	return DAT_SUCCESS;
}

/* --------------------------------------------------- calls */

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
	dapl_lock(&srq->lock);
	ret_param->srq_state = srq->state;
	ret_param->max_recv_dtos = srq->max_recv_dtos;
	ret_param->max_recv_iov = srq->max_recv_iov;
	ret_param->low_watermark = srq->low_watermark;
	/* Buffers that the device holds are not counted by verbs. */
	ret_param->available_dto_count = DAT_VALUE_UNKNOWN;
	ret_param->outstanding_dto_count = (DAT_COUNT)srq->outstanding;
	dapl_unlock(&srq->lock);
	return DAT_SUCCESS;
}

static int srq_grow_ctl(struct dapl_srq *srq, DAT_COUNT size)
{
	int ret, more = size - srq->max_recv_dtos;

	ret = dapl_srq_slots_add_ctl(srq, (uint32_t)size);
	if (ret)
		return ret;
	ret = dapl_srq_evds_reserve_ctl(srq, more);
	if (ret)
		return ret;
	ret = vb_srq_resize(srq->ibv, (uint32_t)size);
	if (ret) {
		dapl_srq_evds_reserve_ctl(srq, -more);
		return ret;
	}
	dapl_lock(&srq->lock);
	srq->max_recv_dtos = size;
	dapl_unlock(&srq->lock);
	return 0;
}

static DAT_RETURN srq_shrink_ctl(struct dapl_srq *srq, DAT_COUNT size)
{
	int ret, less = srq->max_recv_dtos - size;
	bool busy;

	dapl_lock(&srq->lock);
	busy = size < (DAT_COUNT)srq->outstanding || size < srq->low_watermark;
	if (!busy)
		srq->max_recv_dtos = size;
	dapl_unlock(&srq->lock);
	if (busy)
		return dapl_fail(DAPL_ERR(DAT_INVALID_STATE, 0),
				 "srq %p: %d buffers are fewer than are posted "
				 "or than the low watermark",
				 (void *)srq, size);
	dapl_srq_evds_reserve_ctl(srq, -less);
	/* Where the device cannot, its queue serves a smaller one as well. */
	ret = vb_srq_resize(srq->ibv, (uint32_t)size);
	if (ret)
		dapl_log(DAPL_LOG_SRQ, "srq %p: %s keeps its size: %s",
			 (void *)srq, srq->obj.ia->dev.name, strerror(-ret));
	return DAT_SUCCESS;
}

DAT_RETURN dapl_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_recv_dtos)
{
	struct dapl_srq *srq = dapl_srq_from(handle);
	DAT_RETURN ret = DAT_SUCCESS;
	int err = 0;

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (max_recv_dtos <= 0)
		return dapl_fail(DAPL_BAD_ARG(2), "srq: %d buffers",
				 max_recv_dtos);
	if (max_recv_dtos > srq->obj.ia->dev.attr.max_srq_wr)
		return dapl_fail(
			DAPL_NO_RES(SRQ), "srq %p: %d buffers, %s offers %d",
			(void *)srq, max_recv_dtos, srq->obj.ia->dev.name,
			srq->obj.ia->dev.attr.max_srq_wr);
	dapl_lock(&srq->ctl);
	if (max_recv_dtos > srq->max_recv_dtos)
		err = srq_grow_ctl(srq, max_recv_dtos);
	else
		ret = srq_shrink_ctl(srq, max_recv_dtos);
	dapl_unlock(&srq->ctl);
	if (err)
		return dapl_fail(DAPL_NO_RES(SRQ),
				 "srq %p: %s cannot enlarge it, or an EVD of "
				 "its endpoints, to %d buffers: %s",
				 (void *)srq, srq->obj.ia->dev.name,
				 max_recv_dtos, strerror(-err));
	return ret;
}

static int srq_arm_ctl(struct dapl_srq *srq, DAT_COUNT low_watermark)
{
	DAT_COUNT before;
	int ret;

	/* First: it may fire, and be off again, before the call returns. */
	dapl_lock(&srq->lock);
	before = srq->low_watermark;
	srq->low_watermark = low_watermark;
	dapl_unlock(&srq->lock);
	ret = vb_srq_arm(srq->ibv, (uint32_t)low_watermark);
	if (ret) {
		dapl_lock(&srq->lock);
		srq->low_watermark = before;
		dapl_unlock(&srq->lock);
	}
	return ret;
}

DAT_RETURN dapl_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark)
{
	struct dapl_srq *srq = dapl_srq_from(handle);
	DAT_COUNT size;
	int err = 0;

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	dapl_lock(&srq->ctl);
	size = srq->max_recv_dtos;
	if (low_watermark >= 0 && low_watermark <= size)
		err = srq_arm_ctl(srq, low_watermark);
	dapl_unlock(&srq->ctl);
	if (low_watermark < 0 || low_watermark > size)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "srq %p: watermark %d of %d buffers",
				 (void *)srq, low_watermark, size);
	if (err)
		return dapl_fail(dapl_err_dat(err),
				 "srq %p: cannot arm the watermark: %s",
				 (void *)srq, strerror(-err));
	return DAT_SUCCESS;
}
