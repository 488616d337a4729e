/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_srq_queue.c - the queue of an SRQ: slots, the endpoints that take from
 * it, room on their EVDs, posting, completing.
 *
 * Slots come in chunks, each a struct dapl_wq, so that a growing queue moves
 * none that the device knows. Free slots are a list through their cookies.
 * Endpoints are found by queue pair number in a small open hash table that
 * grows with the number of endpoints. Any buffer may complete on any of their
 * EVDs, so each has room for all.
 */
#include "dapl/common/transfer/dapl_srq_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/event/dapl_evd_cq.h"
#include "dapl/common/transfer/dapl_completion.h"

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

void dapl_srq_queue_init(struct dapl_srq *srq)
{
	dapl_lock_init(&srq->lock, DAPL_LOCK_WQ);
}

void dapl_srq_queue_fini(struct dapl_srq *srq)
{
	struct srq_chunk *chunk;

	while ((chunk = srq->chunks)) {
		srq->chunks = chunk->next;
		dapl_lock_fini(&chunk->wq->lock);
		free(chunk->wq);
		free(chunk);
	}
	free(srq->users);
	dapl_lock_fini(&srq->lock);
}

/* -------------------------------- endpoints by QP number */

static struct srq_user *user_find(struct srq_user *users, uint32_t size,
				  uint32_t qp_num)
{
	uint32_t i = qp_num;

	while (users[i & (size - 1)].qp &&
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
		if (srq->users[i].qp)
			*user_find(users, size, srq->users[i].qp_num) =
				srq->users[i];
	free(srq->users);
	srq->users = users;
	srq->users_size = size;
	return 0;
}

/* Events of datagrams are of another form, which completed() does not know. */
static void choose_form_locked(const struct dapl_srq *srq)
{
	dapl_lock_assert_held(&srq->lock);
	for (struct srq_chunk *c = srq->chunks; c && srq->datagrams;
	     c = c->next)
		__atomic_store_n(&c->wq->complete, dapl_completion,
				 __ATOMIC_RELAXED);
}

int dapl_srq_qp_enter(struct dapl_srq *srq, struct dapl_qp *qp, uint32_t qp_num)
{
	struct srq_user *user;
	int ret;

	dapl_lock(&srq->lock);
	ret = users_grow_locked(srq);
	if (!ret) {
		user = user_find(srq->users, srq->users_size, qp_num);
		/* Else that of a queue pair whose endpoint has yet to leave. */
		if (!user->qp)
			srq->users_count++;
		*user = (struct srq_user){qp_num, qp};
		srq->datagrams |= qp->ud;
		choose_form_locked(srq);
	}
	dapl_unlock(&srq->lock);
	return ret;
}

void dapl_srq_qp_leave(struct dapl_srq *srq, struct dapl_qp *qp)
{
	struct srq_user *hole, *next;
	uint32_t i = 0;

	dapl_lock(&srq->lock);
	/* Not by number: another queue pair may have got it already. */
	while (i < srq->users_size && srq->users[i].qp != qp)
		i++;
	if (i < srq->users_size) {
		hole = &srq->users[i];
		hole->qp = NULL;
		srq->users_count--;
		/* Entries behind the hole may have been displaced by it. */
		i = (uint32_t)(hole - srq->users) + 1;
		for (; srq->users[i & (srq->users_size - 1)].qp; i++) {
			struct srq_user moved;

			next = &srq->users[i & (srq->users_size - 1)];
			moved = *next;
			next->qp = NULL;
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

int dapl_srq_evds_reserve_ctl(struct dapl_srq *srq, int n)
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

/* ---------------------------------------------- completing */

/* SLOT is free again. Returns the endpoint that has QP_NUM, or NULL. */
static inline struct dapl_qp *
slot_done_locked(struct dapl_srq *srq, struct dapl_slot *slot, uint32_t qp_num)
{
	dapl_lock_assert_held(&srq->lock);
	dapl_srq_slot_return_locked(srq, slot);
	return likely(srq->users_size)
		       ? user_find(srq->users, srq->users_size, qp_num)->qp
		       : NULL;
}

/*
 * Whose the lock is to be is learned here: who posts the first buffers often
 * does nothing else.
 */
struct dapl_qp *dapl_srq_complete(struct dapl_slot *slot, uint32_t qp_num)
{
	struct dapl_srq *srq = (struct dapl_srq *)slot->wq->owner;
	struct dapl_qp *qp;

	dapl_lock_hot(&srq->lock);
	qp = slot_done_locked(srq, slot, qp_num);
	dapl_unlock(&srq->lock);
	return qp;
}

/* What is simply a success; all else is as of any other queue. */
static bool completed(struct dapl_evd *evd, const struct ibv_wc *wc,
		      DAT_EVENT *event, struct dapl_evd_after *after)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wc->wr_id;
	struct dapl_srq *srq = (struct dapl_srq *)slot->wq->owner;

	dapl_lock_assert_held(&evd->lock);
	if (unlikely(wc->status != IBV_WC_SUCCESS ||
		     (wc->wc_flags & DAPL_WC_MORE) ||
		     !dapl_lock_mine(&srq->lock)))
		return dapl_completion(evd, wc, event, after);
	dto->user_cookie = slot->cookie;
	dto->ep_handle = (DAT_EP_HANDLE)slot_done_locked(srq, slot, wc->qp_num);
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = (DAT_EVD_HANDLE)evd;
	dto->status = DAT_DTO_SUCCESS;
	dto->transfered_length = wc->byte_len;
	dto->operation = DAT_DTO_RECEIVE;
	dto->rmr_context = 0;
	after->shared = true;
	dapl_unlock_mine(&srq->lock);
	return true;
}

/* ------------------------------------------------- slots */

int dapl_srq_slots_add_ctl(struct dapl_srq *srq, uint32_t count)
{
	struct srq_chunk *chunk;
	struct dapl_slot *slot;

	if (count <= srq->slots)
		return 0;
	chunk = malloc(sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	chunk->wq = dapl_wq_new(DAPL_WQ_SRQ, count - srq->slots, &srq->obj,
				completed);
	if (!chunk->wq) {
		free(chunk);
		return -ENOMEM;
	}
	dapl_lock(&srq->lock);
	chunk->next = srq->chunks;
	srq->chunks = chunk;
	choose_form_locked(srq);
	for (slot = chunk->wq->end; slot-- > chunk->wq->slots;) {
		slot->op |= DAPL_OP_SLOW;
		slot->cookie.as_ptr = srq->free;
		srq->free = slot;
	}
	dapl_unlock(&srq->lock);
	srq->slots += dapl_wq_size(chunk->wq);
	return 0;
}

/* ------------------------------------------------ posting */

DAT_RETURN dapl_srq_post_refused(DAT_SRQ_HANDLE handle, int err,
				 DAT_COUNT segments)
{
	const struct dapl_srq *srq = dapl_srq_from(handle);

	if (!srq)
		return dapl_fail(DAPL_BAD_HANDLE(SRQ), "no such SRQ");
	if (err == -ENOBUFS)
		return dapl_fail(DAPL_NO_MEM,
				 "srq %p: all %d buffers are posted",
				 (const void *)srq, srq->max_recv_dtos);
	if (err)
		return dapl_fail(dapl_err_dat(err > 0 ? -err : err),
				 "srq %p: %s refused the post: %s",
				 (const void *)srq, srq->obj.ia->dev.name,
				 strerror(err > 0 ? err : -err));
	if (segments < 0 || segments > srq->max_recv_iov)
		return dapl_fail(
			DAPL_BAD_ARG(2), "srq %p: %d segments, %d are possible",
			(const void *)srq, segments, srq->max_recv_iov);
	return dapl_fail(DAPL_BAD_ARG(3), "srq %p: no segments",
			 (const void *)srq);
}

DAT_RETURN dapl_srq_post_undo(struct dapl_srq *srq, int err, uint64_t wr_id,
			      DAT_COUNT segments)
{
	dapl_srq_slot_return_locked(srq, (struct dapl_slot *)(uintptr_t)wr_id);
	dapl_unlock(&srq->lock);
	return dapl_srq_post_refused((DAT_SRQ_HANDLE)srq, err, segments);
}

DAT_RETURN dapl_srq_post_slow(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
			      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	struct dapl_srq *srq = (struct dapl_srq *)handle;

	dapl_lock(&srq->lock);
	return dapl_srq_post_locked(srq, segments, iov, cookie, false);
}

DAT_RETURN dapl_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
			      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	return dapl_srq_post(handle, segments, iov, cookie);
}
