/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd_async.c - asynchronous errors on their way to the consumer.
 *
 * An EVD of such errors is bounded by its length, since nothing that the
 * program does bounds what the device has to say.
 * Locks: takes the EVD's.
 */
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"

/* The slot for an error, or for word that there are too many; or NULL. */
static DAT_EVENT *error_slot_locked(struct dapl_evd *evd, bool *ret_full)
{
	dapl_lock_assert_held(&evd->lock);
	*ret_full = dapl_evd_queued(evd) >= (uint32_t)evd->qlen;
	if (dapl_evd_is_dead_locked(evd) || (*ret_full && evd->overflowed))
		return NULL;
	evd->overflowed = *ret_full;
	return dapl_evd_push_locked(evd);
}

/*
 * Queues an asynchronous error. Beyond the queue length it is dropped; in place
 * of the first one dropped EVD itself is reported, as overflown. EVD may be
 * NULL: nobody is told.
 */
static void post_error(struct dapl_evd *evd, DAT_EVENT_NUMBER number,
		       DAT_HANDLE handle, DAT_COUNT reason)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT *slot;
	bool full;

	if (!evd) {
		dapl_log(DAPL_LOG_ERR, "error 0x%x of %p: nobody to tell",
			 number, (void *)handle);
		return;
	}
	dapl_lock(&evd->lock);
	slot = error_slot_locked(evd, &full);
	if (slot) {
		memset(slot, 0, sizeof(*slot));
		slot->event_number =
			full ? DAT_ASYNC_ERROR_EVD_OVERFLOW : number;
		slot->evd_handle = (DAT_EVD_HANDLE)evd;
		data = &slot->event_data.asynch_error_event_data;
		data->dat_handle = full ? (DAT_HANDLE)evd : handle;
		data->reason = full ? DAT_EVD_OVERFLOW_ERROR : reason;
		dapl_evd_wake_locked(evd);
	}
	dapl_unlock(&evd->lock);
	if (!slot || full)
		dapl_log(DAPL_LOG_WARN,
			 "evd %p: error 0x%x dropped: full, being freed, or no "
			 "memory",
			 (void *)evd, number);
}

void dapl_evd_tell_overflow(struct dapl_evd *async, DAT_HANDLE of)
{
	post_error(async, DAT_ASYNC_ERROR_EVD_OVERFLOW, of,
		   DAT_EVD_OVERFLOW_ERROR);
}

void dapl_ia_async(struct dapl_ia *ia, DAT_EVENT_NUMBER number,
		   DAT_HANDLE handle, DAT_COUNT reason)
{
	/* One that was opened for queries tells nobody. */
	if (ia->async_evd)
		post_error(ia->async_evd, number, handle, reason);
}
