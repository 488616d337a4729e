/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl_wq.c - allocation of work queue rings; see dapl_wq.h. */

#include "dapl/common/event/dapl_wq.h"

struct dapl_wq *dapl_wq_new(enum dapl_wq_kind kind, uint32_t limit,
			    struct dapl_obj *owner, dapl_complete_fn *complete)
{
	struct dapl_wq *wq;
	/* An SRQ uses all; a ring of one slot more is never full. */
	uint32_t size = kind == DAPL_WQ_SRQ ? limit : limit + 1;

	if (limit >= DAPL_WQ_MAX)
		return NULL;
	wq = dapl_alloc_lines(sizeof(*wq) + size * sizeof(wq->slots[0]));
	if (!wq)
		return NULL;
	dapl_lock_init(&wq->lock, DAPL_LOCK_WQ);
	wq->kind = kind;
	wq->limit = limit;
	wq->head = wq->stop = wq->tail = wq->suppressed = wq->slots;
	wq->end = &wq->slots[size];
	while ((wq->signals + 1) * 4 <= limit)
		wq->signals = wq->signals * 2 + 1;
	wq->owner = owner;
	wq->complete = complete;
	for (uint32_t i = 0; i < size; i++)
		wq->slots[i] = (struct dapl_slot){
			.wq = wq,
			.op = DAT_DTO_RECEIVE,
		};
	return wq;
}
