/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd.c - life of an event dispatcher: create, query, switches, resize,
 * free, software events, and room for completions.
 *
 * The ring is in dapl_evd_ring.c, reading events and who is woken in
 * dapl_evd_wait.c, completions in dapl_evd_cq.c. Rules:
 * uDAPL 1.2 specification, dat_evd_*; deviations in doc/conformance.md.
 */
#include "dapl/common/event/dapl_evd.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_process.h"
#include "dapl/common/event/dapl_cno.h"
#include "dapl/common/services/dapl_files.h"
#include "dapl/common/services/dapl_wakeup.h"

#define EVD_CQ_FLAGS (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
#define EVD_ALL_FLAGS \
	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG | DAT_EVD_EXTENSION_BASE)
/* Of a completion channel, and what the program may need next. */
#define EVD_FILES 4
/* Completion queue of a device that cannot resize it later. */
#define CQ_FIXED_DEPTH 4096
#define CQ_KEEP	       8 /* of it one part in so many is not promised */

static int evd_open_cq(struct dapl_evd *evd, struct dapl_ia *ia, DAT_COUNT qlen)
{
	struct ibv_cq *cq;
	int depth = qlen, ret;

	/*
	 * Endpoints that come later grow the queue; where the device cannot do
	 * that, start with room for what old programs are used to post.
	 */
	if (!ia->dev.cq_resize && depth < CQ_FIXED_DEPTH)
		depth = CQ_FIXED_DEPTH;
	if (depth > ia->dev.attr.max_cqe)
		depth = ia->dev.attr.max_cqe;
	dapl_files_reserve(EVD_FILES);
	ret = vb_channel_create(&ia->dev, &evd->chan);
	if (ret)
		return ret;
	ret = vb_cq_create(&ia->dev, depth, evd->chan, evd, &cq);
	if (ret) {
		vb_channel_destroy(evd->chan);
		evd->chan = NULL;
		return ret;
	}
	__atomic_store_n(&evd->cq, cq, __ATOMIC_RELAXED);
	evd->ops = vb_cq_ops_of(cq);
	return 0;
}

/* A waiter returns DAT_ABORT, and has left afterwards. */
static void evd_shutdown(struct dapl_obj *obj)
{
	struct dapl_evd *evd = (struct dapl_evd *)obj;
	struct dapl_cno *cno;

	dapl_lock(&evd->lock);
	evd->slow |= DAPL_EVD_DEAD;
	cno = evd->cno;
	dapl_evd_cno_leave_locked(evd);
	evd->cno = NULL;
	dapl_evd_wake_locked(evd);
	dapl_evd_wakeup_close_locked(evd);
	dapl_unlock(&evd->lock);
	dapl_evd_wait_left(evd);
	if (cno)
		dapl_cno_unuse(cno);
	dapl_counts_end(&evd->counts,
			evd->cq ? DAPL_COUNTS_EVD_CQ : DAPL_COUNTS_EVD,
			obj->ia->counters.evd);
	/* A resize may be at it. */
	dapl_lock(&evd->ctl);
	if (evd->cq) {
		vb_cq_destroy(evd->cq);
		vb_channel_destroy(evd->chan);
	}
	dapl_unlock(&evd->ctl);
}

static void evd_destroy(struct dapl_obj *obj)
{
	struct dapl_evd *evd = (struct dapl_evd *)obj;
	struct dapl_evd *async = evd->async;

	dapl_counts_end(&evd->counts, DAPL_COUNTS_EVD, NULL);
	free(evd->ring.slots);
	/* The lock lives on: see struct dapl_evd. */
	dapl_obj_release(obj);
	if (async)
		dapl_obj_put(&async->obj);
}

static const struct dapl_obj_ops evd_ops = {
	.type = DAT_HANDLE_TYPE_EVD,
	.made = DCNT_IA_EVD_CREATE,
	.ended = DCNT_IA_EVD_FREE,
	.size = sizeof(struct dapl_evd),
	.shutdown = evd_shutdown,
	.destroy = evd_destroy,
};

/* Who holds a handle of the EVD before may look, and finds a dead one. */
static void evd_clear(struct dapl_evd *evd)
{
	dapl_lock(&evd->lock);
	__atomic_store_n(&evd->cq, NULL, __ATOMIC_RELAXED);
	memset(&evd->ops, 0,
	       offsetof(struct dapl_evd, ctl) - offsetof(struct dapl_evd, ops));
	evd->slow = DAPL_EVD_DEAD;
	dapl_unlock(&evd->lock);
}

static struct dapl_evd *evd_alloc(struct dapl_ia *ia, DAT_COUNT qlen,
				  DAT_EVD_FLAGS flags)
{
	struct dapl_evd *evd;
	bool fresh;

	evd = dapl_obj_new_uncleared(ia, &evd_ops, &fresh);
	if (!evd)
		return NULL;
	if (fresh) {
		dapl_lock_init(&evd->lock, DAPL_LOCK_EVD);
		dapl_lock_init(&evd->ctl, DAPL_LOCK_CTL);
	}
	evd_clear(evd);
	evd->async = ia->async_evd;
	if (evd->async)
		dapl_obj_get(&evd->async->obj);
	evd->flags = flags;
	__atomic_store_n(&evd->qlen, qlen, __ATOMIC_RELAXED);
	evd->enabled = true;
	evd->wakeup_fd = -1;
	dapl_work_init_at_end(&evd->wake_work, dapl_evd_wake_work);
	return evd;
}

static DAT_RETURN no_wakeup(int err)
{
	return dapl_fail(dapl_err_dat(err),
			 "evd: no file descriptor is left to trigger a CNO "
			 "(see ulimit -n): %s",
			 strerror(-err));
}

/* Another CNO, or none. 0 or -errno; it keeps the one it has then. */
static int evd_cno_set_locked(struct dapl_evd *evd, struct dapl_cno *cno,
			      struct dapl_evd_after *after)
{
	int ret = cno ? dapl_evd_wakeup_open_locked(evd) : 0;

	dapl_lock_assert_held(&evd->lock);
	if (ret)
		return ret;
	dapl_evd_cno_leave_locked(evd);
	evd->cno = cno;
	dapl_evd_wakeup_close_locked(evd);
	dapl_evd_cno_enter_locked(evd, after);
	return 0;
}

/* From here on calls find an EVD that they can use. */
static void evd_begin(struct dapl_evd *evd)
{
	dapl_lock(&evd->lock);
	evd->slow = evd->cq ? 0 : DAPL_EVD_NO_CQ;
	dapl_unlock(&evd->lock);
}

DAT_RETURN dapl_evd_new(struct dapl_ia *ia, DAT_COUNT qlen,
			struct dapl_cno *cno, DAT_EVD_FLAGS flags,
			struct dapl_evd **ret_evd)
{
	struct dapl_evd_after after = {0};
	struct dapl_evd *evd;
	int ret;

	evd = evd_alloc(ia, qlen, flags);
	if (!evd)
		return dapl_fail(DAPL_NO_MEM, "evd: no memory");
	if (flags & EVD_CQ_FLAGS) {
		ret = evd_open_cq(evd, ia, qlen);
		if (ret) {
			dapl_obj_put(&evd->obj);
			return dapl_fail(dapl_err_dat(ret),
					 "evd: %s gave no completion queue of "
					 "%d entries: %s",
					 ia->dev.name, qlen, strerror(-ret));
		}
		if (evd->cq->cqe > qlen)
			__atomic_store_n(&evd->qlen, evd->cq->cqe,
					 __ATOMIC_RELAXED);
	}
	evd_begin(evd);
	if (!dapl_obj_use(cno ? dapl_cno_obj(cno) : NULL)) {
		dapl_obj_end(&evd->obj);
		return dapl_fail(DAPL_BAD_HANDLE(CNO), "the CNO was freed");
	}
	dapl_lock(&evd->lock);
	ret = evd_cno_set_locked(evd, cno, &after);
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	if (ret) {
		dapl_obj_end(&evd->obj);
		if (cno)
			dapl_cno_unuse(cno);
		return no_wakeup(ret);
	}
	dapl_obj_enlist(&evd->obj);
	*ret_evd = evd;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen,
			   DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS flags,
			   DAT_EVD_HANDLE *ret_evd)
{
	struct dapl_ia *ia = dapl_ia_from(ia_handle);
	struct dapl_cno *cno = dapl_cno_from(cno_handle);
	struct dapl_evd *evd;
	DAT_RETURN ret;

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (qlen <= 0)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "an EVD needs a queue length above 0, not %d",
				 qlen);
	if (qlen > ia->dev.attr.max_cqe)
		return dapl_fail(DAPL_NO_RES(TEVD),
				 "an EVD of %d events is more than %s offers "
				 "(%d)",
				 qlen, ia->dev.name, ia->dev.attr.max_cqe);
	if (cno_handle != DAT_HANDLE_NULL && (!cno || cno->obj.ia != ia))
		return dapl_fail(DAPL_BAD_HANDLE(CNO),
				 "%p is not a CNO of this IA",
				 (void *)cno_handle);
	if (!flags || (flags & ~(unsigned)EVD_ALL_FLAGS))
		return dapl_fail(DAPL_BAD_ARG(4),
				 "evd flags 0x%x name no or unknown streams",
				 (unsigned)flags);
	if (!ret_evd)
		return dapl_fail(DAPL_BAD_ARG(5), "no place for the handle");
	ret = dapl_evd_new(ia, qlen, cno, flags, &evd);
	if (ret == DAT_SUCCESS)
		*ret_evd = (DAT_EVD_HANDLE)evd;
	return ret;
}

/*
 * Calls besides dequeue and wait keep the EVD while they run, so that they may
 * race its free: they come before it, or find the EVD dead.
 */
static struct dapl_evd *evd_hold(DAT_EVD_HANDLE handle)
{
	struct dapl_evd *evd = dapl_obj_hold(handle, DAT_HANDLE_TYPE_EVD);

	if (evd && !dapl_evd_from(handle)) {
		dapl_obj_put(&evd->obj);
		evd = NULL;
	}
	return evd;
}

static DAT_RETURN no_evd(DAT_RETURN subtype)
{
	return dapl_fail(DAPL_ERR(DAT_INVALID_HANDLE, subtype), "no such EVD");
}

static DAT_RETURN evd_query(struct dapl_evd *evd, DAT_EVD_PARAM_MASK mask,
			    DAT_EVD_PARAM *ret_param)
{
	DAT_EVD_PARAM param = {0};
	bool dead;

	if (mask & ~(unsigned)DAT_EVD_FIELD_ALL)
		return dapl_fail(DAPL_BAD_ARG(2), "unknown bits in mask 0x%x",
				 (unsigned)mask);
	if (!ret_param)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the result");
	param.ia_handle = dapl_obj_ia_handle(&evd->obj);
	dapl_lock(&evd->lock);
	dead = dapl_evd_is_dead_locked(evd);
	param.evd_qlen = evd->qlen;
	param.evd_state =
		(evd->enabled ? DAT_EVD_STATE_ENABLED
			      : DAT_EVD_STATE_DISABLED) |
		(dapl_evd_is_waitable_locked(evd) ? DAT_EVD_STATE_WAITABLE
						  : DAT_EVD_STATE_UNWAITABLE) |
		evd->config * DAT_EVD_STATE_CONFIG_NOTIFY;
	param.cno_handle = (DAT_CNO_HANDLE)evd->cno;
	param.evd_flags = evd->flags;
	dapl_unlock(&evd->lock);
	if (dead)
		return no_evd(0);
	*ret_param = param;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask,
			  DAT_EVD_PARAM *ret_param)
{
	struct dapl_evd *evd = evd_hold(handle);
	DAT_RETURN ret;

	if (!evd)
		return no_evd(0);
	ret = evd_query(evd, mask, ret_param);
	dapl_obj_put(&evd->obj);
	return ret;
}

/* ---------------------------------------- software events */

static DAT_RETURN evd_post_se(struct dapl_evd *evd, const DAT_EVENT *event)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT *slot;

	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return dapl_fail(DAPL_BAD_ARG(1),
				 "evd %p takes no software events",
				 (void *)evd);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return dapl_fail(DAPL_BAD_ARG(2), "not a software event");
	dapl_lock(&evd->lock);
	if (dapl_evd_is_dead_locked(evd)) {
		ret = DAPL_ERR(DAT_INVALID_HANDLE, 0);
	} else if (dapl_evd_queued(evd) >= (uint32_t)evd->qlen) {
		ret = DAPL_ERR(DAT_QUEUE_FULL, 0);
	} else {
		slot = dapl_evd_push_locked(evd);
		if (slot) {
			memset(slot, 0, sizeof(*slot));
			slot->event_number = DAT_SOFTWARE_EVENT;
			slot->evd_handle = (DAT_EVD_HANDLE)evd;
			slot->event_data.software_event_data =
				event->event_data.software_event_data;
			dapl_evd_wake_locked(evd);
		} else {
			ret = DAPL_NO_MEM;
		}
	}
	dapl_unlock(&evd->lock);
	if (ret != DAT_SUCCESS)
		dapl_fail(ret, "evd %p: %s", (void *)evd,
			  ret == DAPL_NO_MEM ? "no memory"
			  : DAT_GET_TYPE(ret) == DAT_QUEUE_FULL
				  ? "queue is full"
				  : "freed");
	return ret;
}

DAT_RETURN dapl_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
	struct dapl_evd *evd = evd_hold(handle);
	DAT_RETURN ret;

	if (!evd)
		return no_evd(0);
	ret = evd_post_se(evd, event);
	dapl_obj_put(&evd->obj);
	return ret;
}

/* ------------------------- room in the completion queue */

/* QLEN, or what the completion queue has become. Holds CTL. */
static void evd_qlen_set(struct dapl_evd *evd, int qlen)
{
	if (evd->cq && evd->cq->cqe > qlen)
		qlen = evd->cq->cqe;
	dapl_lock(&evd->lock);
	__atomic_store_n(&evd->qlen, qlen, __ATOMIC_RELAXED);
	dapl_unlock(&evd->lock);
}

/* A device may forget on the way what the queue was armed for. Holds CTL. */
static int cq_resize(struct dapl_evd *evd, int depth)
{
	int ret = vb_cq_resize(evd->cq, depth);

	dapl_lock(&evd->lock);
	evd->armed = DAPL_EVD_UNARMED;
	dapl_unlock(&evd->lock);
	return ret;
}

/*
 * Promises N slots so that KEEP are left, growing the completion queue. Holds
 * CTL.
 */
static int cq_reserve(struct dapl_evd *evd, int n, int keep)
{
	int need = evd->cq_reserved + n, wish, ret = 0;

	if (need + keep > evd->cq->cqe) {
		wish = need < evd->cq->cqe * 2 ? evd->cq->cqe * 2 : need;
		if (wish > evd->obj.ia->dev.attr.max_cqe)
			wish = evd->obj.ia->dev.attr.max_cqe;
		ret = wish >= need ? cq_resize(evd, wish) : -EOPNOTSUPP;
		if (ret && wish > need && need > evd->cq->cqe)
			ret = cq_resize(evd, need);
	}
	if (!ret)
		evd->cq_reserved = need;
	return ret;
}

/* Everything not promised yet becomes a pool of credits. False: it is empty. */
static bool cq_pool(struct dapl_evd *evd)
{
	int spare = evd->cq->cqe - evd->cq_reserved;

	if (spare > 0) {
		__atomic_add_fetch(&evd->credits, spare, __ATOMIC_RELAXED);
		evd->cq_reserved = evd->cq->cqe;
		evd->cq_pool += spare;
	}
	return evd->cq_pool > 0;
}

/* And the ring's part of the promise. Holds CTL. */
static int ring_reserve(struct dapl_evd *evd)
{
	return dapl_evd_keep_room(evd, evd->cq_reserved) ? 0 : -ENOMEM;
}

static int attach_locked(struct dapl_evd *evd, int depth, int **ret_credits)
{
	int *credits = NULL, keep = 0, ret;

	dapl_lock_assert_held(&evd->ctl);
	/* If it cannot grow, endpoints that come late share what is left. */
	if (ret_credits && !evd->obj.ia->dev.cq_resize)
		keep = evd->cq->cqe / CQ_KEEP;
	ret = cq_reserve(evd, depth, keep);
	/* For want of memory now, it is no device that cannot do it. */
	if (ret && ret != -ENOMEM && ret_credits && cq_pool(evd)) {
		credits = &evd->credits;
		ret = 0;
	}
	if (ret)
		return ret;
	ret = ring_reserve(evd);
	if (ret) {
		evd->cq_reserved -= credits ? 0 : depth;
		return ret;
	}
	evd->users_dto++;
	evd_qlen_set(evd, evd->qlen);
	if (ret_credits)
		*ret_credits = credits;
	return 0;
}

int dapl_evd_attach(struct dapl_evd *evd, int depth, int **ret_credits)
{
	int ret;

	if (!evd || !evd->cq)
		return -EINVAL;
	dapl_lock(&evd->ctl);
	ret = attach_locked(evd, depth, ret_credits);
	dapl_unlock(&evd->ctl);
	return ret;
}

int dapl_evd_reserve(struct dapl_evd *evd, int n)
{
	int ret = 0;

	dapl_lock(&evd->ctl);
	if (n < 0)
		evd->cq_reserved += n;
	else
		ret = cq_reserve(evd, n, 0);
	if (!ret) {
		ret = ring_reserve(evd);
		if (ret && n > 0)
			evd->cq_reserved -= n;
		else
			ret = 0; /* less was wanted, and more is kept */
	}
	if (!ret)
		evd_qlen_set(evd, evd->qlen);
	dapl_unlock(&evd->ctl);
	return ret;
}

void dapl_evd_detach(struct dapl_evd *evd, int depth, const int *credits)
{
	if (!evd)
		return;
	dapl_lock(&evd->ctl);
	if (!credits)
		evd->cq_reserved -= depth;
	if (!--evd->users_dto) {
		/* Nobody posts here: the pool is whole, start afresh. */
		evd->cq_reserved = 0;
		evd->cq_pool = 0;
		evd->credits = 0;
	}
	ring_reserve(evd);
	dapl_unlock(&evd->ctl);
}

static DAT_RETURN evd_resize_ctl(struct dapl_evd *evd, DAT_COUNT qlen)
{
	int depth = qlen, err = 0;
	bool dead, waited_for;
	uint32_t queued;

	dapl_lock(&evd->lock);
	dead = dapl_evd_is_dead_locked(evd);
	waited_for = dapl_evd_is_waited_for_locked(evd);
	queued = dapl_evd_queued(evd);
	dapl_unlock(&evd->lock);
	if (dead)
		return no_evd(DAT_INVALID_HANDLE1);
	if (waited_for)
		return dapl_fail(DAPL_ERR(DAT_INVALID_STATE, 0),
				 "evd %p: a thread waits on it", (void *)evd);
	if (queued > (uint32_t)qlen)
		return dapl_fail(DAPL_ERR(DAT_INVALID_STATE, 0),
				 "evd %p: %u events are queued, more than %d",
				 (void *)evd, queued, qlen);
	if (depth < evd->cq_reserved)
		depth = evd->cq_reserved;
	if (evd->cq && depth != evd->cq->cqe)
		err = cq_resize(evd, depth);
	/* A queue that is large enough already serves a smaller wish as well.
	 */
	if (err == -EOPNOTSUPP && evd->cq->cqe >= depth)
		err = 0;
	if (err)
		return dapl_fail(dapl_err_dat(err),
				 "evd %p: %s cannot resize to %d: %s",
				 (void *)evd, evd->obj.ia->dev.name, qlen,
				 strerror(-err));
	evd_qlen_set(evd, qlen);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_resize(struct dapl_evd *evd, DAT_COUNT qlen)
{
	struct dapl_evd_after after = {0};
	DAT_RETURN ret;

	if (qlen <= 0)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "an EVD needs a queue length above 0, not %d",
				 qlen);
	if (qlen > evd->obj.ia->dev.attr.max_cqe)
		return dapl_fail(DAPL_NO_RES(TEVD),
				 "%d events are more than %s offers (%d)", qlen,
				 evd->obj.ia->dev.name,
				 evd->obj.ia->dev.attr.max_cqe);
	dapl_evd_poll_all(evd, NULL, &after);
	dapl_evd_after(&after);
	dapl_lock(&evd->ctl);
	ret = evd_resize_ctl(evd, qlen);
	dapl_unlock(&evd->ctl);
	return ret;
}

DAT_RETURN dapl_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
	struct dapl_evd *evd = evd_hold(handle);
	DAT_RETURN ret;

	if (!evd)
		return no_evd(DAT_INVALID_HANDLE1);
	ret = evd_resize(evd, qlen);
	dapl_obj_put(&evd->obj);
	return ret;
}

/* ---------------------------------------------- switches */

static DAT_RETURN evd_modify_cno(struct dapl_evd *evd, DAT_CNO_HANDLE handle)
{
	struct dapl_cno *cno = dapl_cno_from(handle), *old = cno;
	struct dapl_evd_after after = {0};
	bool dead;
	int ret = 0;

	if ((handle != DAT_HANDLE_NULL &&
	     (!cno || cno->obj.ia != evd->obj.ia)) ||
	    !dapl_obj_use(cno ? dapl_cno_obj(cno) : NULL))
		return dapl_fail(DAPL_BAD_HANDLE(CNO),
				 "%p is not a CNO of this IA", (void *)handle);
	dapl_lock(&evd->lock);
	dead = dapl_evd_is_dead_locked(evd);
	if (!dead) {
		old = evd->cno;
		ret = evd_cno_set_locked(evd, cno, &after);
	}
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	if (ret)
		old = cno;
	if (old)
		dapl_cno_unuse(old);
	if (ret)
		return no_wakeup(ret);
	return dead ? no_evd(0) : DAT_SUCCESS;
}

DAT_RETURN dapl_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno)
{
	struct dapl_evd *evd = evd_hold(handle);
	DAT_RETURN ret;

	if (!evd)
		return no_evd(0);
	ret = evd_modify_cno(evd, cno);
	dapl_obj_put(&evd->obj);
	return ret;
}

static DAT_RETURN evd_set_enabled(DAT_EVD_HANDLE handle, bool enabled)
{
	struct dapl_evd *evd = evd_hold(handle);
	struct dapl_evd_after after = {0};
	bool dead;

	if (!evd)
		return no_evd(0);
	dapl_lock(&evd->lock);
	dead = dapl_evd_is_dead_locked(evd);
	if (!dead && evd->enabled != enabled) {
		dapl_evd_cno_leave_locked(evd);
		evd->enabled = enabled;
		dapl_evd_cno_enter_locked(evd, &after);
	}
	dapl_unlock(&evd->lock);
	dapl_evd_after(&after);
	dapl_obj_put(&evd->obj);
	return dead ? no_evd(0) : DAT_SUCCESS;
}

DAT_RETURN dapl_evd_enable(DAT_EVD_HANDLE handle)
{
	return evd_set_enabled(handle, true);
}

DAT_RETURN dapl_evd_disable(DAT_EVD_HANDLE handle)
{
	return evd_set_enabled(handle, false);
}

static DAT_RETURN evd_set_waitable(DAT_EVD_HANDLE handle, bool waitable)
{
	struct dapl_evd *evd = evd_hold(handle);
	bool dead;

	if (!evd)
		return no_evd(0);
	dapl_lock(&evd->lock);
	dead = dapl_evd_is_dead_locked(evd);
	evd->slow = waitable ? evd->slow & ~DAPL_EVD_UNWAITABLE
			     : evd->slow | DAPL_EVD_UNWAITABLE;
	/* It may be waitable again before the waiter gets to look. */
	evd->dismissals += !waitable;
	if (!dead && !waitable && dapl_evd_is_waited_for_locked(evd))
		dapl_evd_wake_locked(evd);
	dapl_unlock(&evd->lock);
	dapl_obj_put(&evd->obj);
	return dead ? no_evd(0) : DAT_SUCCESS;
}

DAT_RETURN dapl_evd_set_unwaitable(DAT_EVD_HANDLE handle)
{
	return evd_set_waitable(handle, false);
}

DAT_RETURN dapl_evd_clear_unwaitable(DAT_EVD_HANDLE handle)
{
	return evd_set_waitable(handle, true);
}

/* --------------------------------------------------- end */

static DAT_RETURN evd_free(struct dapl_evd *evd)
{
	bool waiting;

	dapl_lock(&evd->lock);
	waiting = dapl_evd_is_waited_for_locked(evd);
	dapl_unlock(&evd->lock);
	if (waiting)
		return dapl_fail(DAPL_BAD_STATE(EVD_WAITER),
				 "evd %p: a thread waits on it", (void *)evd);
	if (!dapl_obj_retire(&evd->obj, false))
		return dapl_fail(DAPL_BAD_STATE(EVD_IN_USE),
				 "evd %p: endpoints, service points or the IA "
				 "still feed it",
				 (void *)evd);
	dapl_obj_end(&evd->obj);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_free(DAT_EVD_HANDLE handle)
{
	struct dapl_evd *evd = evd_hold(handle);
	DAT_RETURN ret;

	if (!evd)
		return no_evd(0);
	ret = evd_free(evd);
	dapl_obj_put(&evd->obj);
	return ret;
}
