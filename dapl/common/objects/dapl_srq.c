/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_srq.c - dat_srq_*: shared receive queues.
 *
 * Slots come in chunks, each a struct dapl_wq, so that a growing queue moves
 * none that the device knows. Free slots are a list through their cookies.
 * Endpoints are found by queue pair number in a small open hash table that
 * grows with the number of endpoints. The lock (role WQ) guards slots and
 * table; ctl (role SRQ) the size, and with it the room that is reserved on the
 * EVDs: any buffer may complete on any of them, so each has room for all.
 * Rules: DAT 2.0 dat_srq_*.
 */
#include "dapl/common/objects/dapl_srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/objects/dapl_pz.h"

struct srq_user {
	uint32_t qp_num;
	struct dapl_ep *ep; /* NULL: free */
};

/* Slots of a queue, and the EVDs it completes on: short lists. */
struct srq_chunk {
	struct srq_chunk *next;
	struct dapl_wq *wq;
};

struct srq_evd {
	struct srq_evd *next;
	struct dapl_evd *evd;
	int endpoints;
};

struct dapl_srq {
	struct dapl_obj obj;
	struct ibv_srq *srq;
	struct dapl_pz *pz;
	DAT_COUNT max_recv_iov;

	struct dapl_lock ctl;	  /* role SRQ: sizes, and what is next */
	struct srq_chunk *chunks; /* only ever more */
	struct srq_evd *evds;
	uint32_t slots; /* in all chunks */

	struct dapl_lock lock;	 /* role WQ: what follows */
	struct dapl_slot *free;	 /* linked through cookie.as_ptr */
	uint32_t outstanding;	 /* posted and not yet completed */
	DAT_COUNT max_recv_dtos; /* written with ctl as well */
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

	dapl_lock_assert_held(&srq->lock);
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
	struct srq_user *user;
	int ret;

	dapl_lock(&srq->lock);
	ret = users_grow_locked(srq);
	if (!ret) {
		user = user_find(srq->users, srq->users_size, qp_num);
		/* Else that of a queue pair whose endpoint has yet to leave. */
		if (!user->ep)
			srq->users_count++;
		*user = (struct srq_user){qp_num, ep};
	}
	dapl_unlock(&srq->lock);
	return ret;
}

void dapl_srq_qp_leave(struct dapl_srq *srq, struct dapl_ep *ep)
{
	struct srq_user *hole, *next;
	uint32_t i = 0;

	dapl_lock(&srq->lock);
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
	dapl_unlock(&srq->lock);
}

/* ----------------------------------------- room on EVDs */

static struct srq_evd **evd_find(struct dapl_srq *srq,
				 const struct dapl_evd *evd)
{
	struct srq_evd **at = &srq->evds;

	while (*at && (*at)->evd != evd)
		at = &(*at)->next;
	return at;
}

static int evd_attach_ctl(struct dapl_srq *srq, struct dapl_evd *evd)
{
	struct srq_evd *user = *evd_find(srq, evd);
	int ret;

	if (user) {
		user->endpoints++;
		return 0;
	}
	user = malloc(sizeof(*user));
	if (!user)
		return -ENOMEM;
	/* A buffer's EVD is not known when it is posted: no credits. */
	ret = dapl_evd_attach(evd, srq->max_recv_dtos, NULL);
	if (ret) {
		free(user);
		return ret;
	}
	*user = (struct srq_evd){srq->evds, evd, 1};
	srq->evds = user;
	return 0;
}

int dapl_srq_evd_attach(struct dapl_srq *srq, struct dapl_evd *evd)
{
	int ret;

	dapl_lock(&srq->ctl);
	ret = evd_attach_ctl(srq, evd);
	dapl_unlock(&srq->ctl);
	return ret;
}

void dapl_srq_evd_detach(struct dapl_srq *srq, struct dapl_evd *evd)
{
	struct srq_evd **at, *user;

	dapl_lock(&srq->ctl);
	at = evd_find(srq, evd);
	user = *at;
	if (user && !--user->endpoints) {
		*at = user->next;
		dapl_evd_detach(evd, srq->max_recv_dtos, NULL);
		free(user);
	}
	dapl_unlock(&srq->ctl);
}

/* N more completions (or fewer) may come to each EVD: on all or on none. */
static int evds_reserve_ctl(struct dapl_srq *srq, int n)
{
	struct srq_evd *user, *undo;
	int ret = 0;

	for (user = srq->evds; user && !ret; user = user->next)
		ret = dapl_evd_reserve(user->evd, n);
	if (!ret)
		return 0;
	for (undo = srq->evds; undo->next != user; undo = undo->next)
		dapl_evd_reserve(undo->evd, -n);
	return ret;
}

/* ------------------------------------------------- slots */

/* Makes sure that there are COUNT slots. 0 or -ENOMEM. */
static int slots_add_ctl(struct dapl_srq *srq, uint32_t count)
{
	struct srq_chunk *chunk;
	struct dapl_slot *slot;

	if (count <= srq->slots)
		return 0;
	chunk = malloc(sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	chunk->wq = dapl_wq_new(DAPL_WQ_SRQ, count - srq->slots, srq);
	if (!chunk->wq) {
		free(chunk);
		return -ENOMEM;
	}
	chunk->next = srq->chunks;
	srq->chunks = chunk;
	dapl_lock(&srq->lock);
	for (uint32_t i = chunk->wq->mask + 1; i--;) {
		slot = &chunk->wq->slots[i];
		slot->what |= DAPL_OP_CAREFUL;
		slot->cookie.as_ptr = srq->free;
		srq->free = slot;
	}
	dapl_unlock(&srq->lock);
	srq->slots += chunk->wq->mask + 1;
	return 0;
}

/* The next free slot, or NULL when as many are out as may be. */
static inline struct dapl_slot *slot_take_locked(struct dapl_srq *srq)
{
	struct dapl_slot *slot = srq->free;

	dapl_lock_assert_held(&srq->lock);
	if (srq->outstanding >= (uint32_t)srq->max_recv_dtos)
		return NULL;
	srq->free = slot->cookie.as_ptr;
	srq->outstanding++;
	return slot;
}

static inline void slot_return_locked(struct dapl_srq *srq,
				      struct dapl_slot *slot)
{
	dapl_lock_assert_held(&srq->lock);
	slot->cookie.as_ptr = srq->free;
	srq->free = slot;
	srq->outstanding--;
}

struct dapl_ep *dapl_srq_complete(struct dapl_wq *wq, struct dapl_slot *slot,
				  uint32_t qp_num)
{
	struct dapl_srq *srq = wq->owner;
	struct dapl_ep *ep = NULL;

	dapl_lock(&srq->lock);
	slot_return_locked(srq, slot);
	if (srq->users_size)
		ep = user_find(srq->users, srq->users_size, qp_num)->ep;
	dapl_unlock(&srq->lock);
	return ep;
}

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

	vb_srq_destroy(srq->srq);
	dapl_obj_unuse(&srq->pz->obj);
}

static void srq_destroy(struct dapl_obj *obj)
{
	struct dapl_srq *srq = (struct dapl_srq *)obj;
	struct srq_chunk *chunk;

	while ((chunk = srq->chunks)) {
		srq->chunks = chunk->next;
		dapl_lock_fini(&chunk->wq->lock);
		free(chunk->wq);
		free(chunk);
	}
	free(srq->users);
	dapl_lock_fini(&srq->ctl);
	dapl_lock_fini(&srq->lock);
	dapl_obj_release(obj);
}

static const struct dapl_obj_ops srq_ops = {
	.type = DAT_HANDLE_TYPE_SRQ,
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
	dapl_lock_init(&srq->lock, DAPL_LOCK_WQ);
	srq->max_recv_dtos = attr->max_recv_dtos;
	srq->max_recv_iov = attr->max_recv_iov;
	srq->state = DAT_SRQ_STATE_OPERATIONAL;
	dapl_lock(&srq->ctl);
	ret = slots_add_ctl(srq, (uint32_t)attr->max_recv_dtos);
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
			    (uint32_t)attr->max_recv_iov, srq, &srq->srq);
	if (err) {
		dapl_obj_unuse(&pz->obj);
		dapl_obj_put(&srq->obj);
		return dapl_fail(dapl_err_dat(err),
				 "srq: %s gave no queue of %d buffers: %s",
				 ia->dev.name, attr->max_recv_dtos,
				 strerror(-err));
	}
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

DAT_RETURN dapl_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
			      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	struct dapl_srq *srq = (struct dapl_srq *)handle;
	struct ibv_recv_wr wr, *bad;
	struct dapl_slot *slot;
	int ret = -ENOBUFS;

	if (!dapl_obj_is(handle, DAT_HANDLE_TYPE_SRQ))
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (segments < 0 || segments > srq->max_recv_iov)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "srq %p: %d segments, %d are possible",
				 (void *)srq, segments, srq->max_recv_iov);
	if (segments && !iov)
		return dapl_fail(DAPL_BAD_ARG(3), "srq %p: no segments",
				 (void *)srq);
	wr.next = NULL;
	wr.sg_list = (struct ibv_sge *)iov;
	wr.num_sge = segments;
	dapl_lock(&srq->lock);
	slot = slot_take_locked(srq);
	if (slot) {
		slot->cookie = cookie;
		wr.wr_id = (uintptr_t)slot;
		ret = ibv_post_srq_recv(srq->srq, &wr, &bad);
		if (ret)
			slot_return_locked(srq, slot);
	}
	dapl_unlock(&srq->lock);
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

	ret = slots_add_ctl(srq, (uint32_t)size);
	if (ret)
		return ret;
	ret = evds_reserve_ctl(srq, more);
	if (ret)
		return ret;
	ret = vb_srq_resize(srq->srq, (uint32_t)size);
	if (ret) {
		evds_reserve_ctl(srq, -more);
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
	evds_reserve_ctl(srq, -less);
	/* Where the device cannot, its queue serves a smaller one as well. */
	ret = vb_srq_resize(srq->srq, (uint32_t)size);
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
	ret = vb_srq_arm(srq->srq, (uint32_t)low_watermark);
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
