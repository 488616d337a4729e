/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_completion.h - what completes beyond plain transfers.
 *
 * The cookie in the slot of a bind is not the consumer's: it points to a
 * struct dapl_bind, which knows the rest and is told the end.
 */
#ifndef DAPL_COMPLETION_H
#define DAPL_COMPLETION_H

#include "dapl/common/transfer/dapl_qp.h"

struct dapl_bind {
	/*
	 * The bind is over, and uses itself up. Fills DATA, or with NULL only
	 * forgets. False: the consumer asked to hear of failures only. The
	 * EVD's lock may be held.
	 */
	bool (*done)(struct dapl_bind *bind, DAT_DTO_COMPLETION_STATUS status,
		     DAT_RMR_BIND_COMPLETION_EVENT_DATA *data);
};

static inline bool dapl_bind_done(DAT_DTO_COOKIE slot_cookie,
				  DAT_DTO_COMPLETION_STATUS status,
				  DAT_RMR_BIND_COMPLETION_EVENT_DATA *data)
{
	struct dapl_bind *bind = slot_cookie.as_ptr;

	return bind->done(bind, status, data);
}

/* A bind that nobody will hear of. */
static inline void dapl_bind_forget(DAT_DTO_COOKIE slot_cookie)
{
	dapl_bind_done(slot_cookie, DAT_DTO_ERR_FLUSHED, NULL);
}

/* The work queues' dapl_complete_fn. */
bool dapl_completion(struct dapl_evd *evd, const struct ibv_wc *wc,
		     DAT_EVENT *event, struct dapl_evd_after *after);
/* Their dapl_settle_fn. */
dapl_settle_fn dapl_completion_settle;
/*
 * Whether the device has yet to complete something of WQ that will be heard of:
 * not suppressed requests that may have succeeded in silence. With the EVD's
 * lock, and the queue's.
 */
bool dapl_completion_due_locked(struct dapl_wq *wq);
/* Whether no request of QP is outstanding. */
bool dapl_completion_idle(struct dapl_qp *qp);
/*
 * The event of a request that has completed early and is next now; false: none
 * is wanted. Its slot is free afterwards. Not of a marker.
 */
bool dapl_completion_held(struct dapl_qp *qp, struct dapl_slot *slot,
			  DAT_EVENT *ret_event);
/*
 * The event of a request (OP and COOKIE of its slot) that QP will never see
 * completed. Uses up the cookie of a bind.
 */
void dapl_completion_flush(struct dapl_qp *qp, unsigned op,
			   DAT_DTO_COOKIE cookie, DAT_EVENT *ret_event);

#endif
