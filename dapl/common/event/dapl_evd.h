/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_evd.h - the event dispatcher.
 *
 * An EVD whose streams include DTO or RMR_BIND has a completion queue with a
 * completion channel of its own; dequeue polls the queue itself and wait
 * blocks on the channel. All other events come through a ring beside it. The
 * ring also takes completions that had to be read early, and is therefore
 * served first.
 *
 * Nobody is woken through another thread: a waiter sleeps in ppoll() on the
 * channel and on an eventfd that posters write only while somebody waits, and
 * that the EVD has only then (dapl_wakeup.h).
 * A CNO is an epoll set over the same two descriptors of its EVDs.
 *
 * Threads: any call from any thread; the lock (role EVD) guards every field
 * unless it says otherwise.
 */
#ifndef DAPL_EVD_H
#define DAPL_EVD_H

#include <stddef.h>
#include <string.h>

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/services/dapl_likely.h"
#include "dapl/common/services/dapl_lock.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/verbs/vb.h"

struct dapl_cno;
struct dapl_ia;

/* Growing ring of events. */
struct dapl_ring {
	DAT_EVENT *slots;
	uint32_t size; /* power of two */
	uint32_t head; /* next to write */
	uint32_t tail; /* next to read */
};

/* Why reading an EVD may be more than polling its completion queue. */
enum dapl_evd_slow {
	DAPL_EVD_NO_CQ = 1,
	DAPL_EVD_RING = 2,    /* the ring may have events */
	DAPL_EVD_WAITING = 4, /* a thread is in dat_evd_wait() */
	/* Not made yet or being destroyed: nothing may be done. */
	DAPL_EVD_DEAD = 8,
	/* Is of waits only. */
	DAPL_EVD_UNWAITABLE = 16,
};

/* Which completions wake somebody, as evd_state tells it. */
enum dapl_evd_config {
	DAPL_EVD_UNUSED = 0,	/* no endpoint completes here */
	DAPL_EVD_NOTIFY = 1,	/* those not posted UNSIGNALLED */
	DAPL_EVD_SOLICITED = 2, /* receives that the sender marked */
	DAPL_EVD_THRESHOLD = 3, /* all; a waiter may ask for several */
};

/*
 * What the completion queue was asked to notify of: it will, or it has and its
 * notification is in the channel or on its way there.
 */
enum dapl_evd_armed {
	DAPL_EVD_UNARMED,
	DAPL_EVD_ARMED_SOLICITED,
	DAPL_EVD_ARMED_ALL,
};

struct dapl_evd {
	struct dapl_obj obj;

	/*
	 * What calls look at that began before the EVD was freed: the same as
	 * long as the memory is one. They find it dead, and read no further.
	 */
	struct dapl_lock lock;
	int qlen; /* what query says; also read without the lock */

	int slow;	      /* DAPL_EVD_* */
	struct ibv_cq *cq;    /* constant; NULL when no stream needs one; also
				 read without the lock */
	struct vb_cq_ops ops; /* of cq; constant */
	struct dapl_ring ring;
	int sleepers; /* atomic; threads that have slept and not left yet */
	bool enabled; /* may trigger the CNO */
	unsigned
		dismissals; /* times it became unwaitable: each ends the wait */
	bool overflowed;    /* ring beyond qlen, reported once until empty */
	bool cq_broken; /* atomic; the device gave up the completion queue */

	struct dapl_evd *async; /* of the IA, referenced; constant; or NULL */
	uint32_t kept;		/* slots of the ring for completions to come */

	struct ibv_comp_channel *chan; /* constant */
	struct dapl_cno *cno;
	int wakeup_fd;	 /* wakes the waiter and the CNO; -1 while there is
			    neither */
	bool wakes_soon; /* it is to be signalled, and a reference held */
	struct dapl_work wake_work;
	DAT_EVD_FLAGS flags; /* constant */

	/* Notification; see dapl_evd_notify.c. */
	enum dapl_evd_config config;
	int config_users[4];	/* queues of endpoints, per configuration */
	int flushing;		/* queue pairs in ERR that complete here */
	uint32_t notifications; /* events that notify, ever put into the ring */
	uint32_t cno_notifications; /* the same when the CNO was last told */
	enum dapl_evd_armed armed;
	uint32_t spin; /* see dapl_evd_spin.c */

	/* Room in the completion queue; see dapl_evd_attach(). */
	int cq_reserved; /* slots promised to work queues */
	int users_dto;	 /* work queues that complete here */
	int cq_pool;	 /* slots given over to credits */
	int credits;	 /* atomic: free slots for unpromised queues */

	struct dapl_counts *counts; /* atomic; see dapl_counters.h */

	/* As lock: the same as long as the memory is one. */
	struct dapl_lock ctl; /* role CTL: resizing, and room above */
};

/* Where locks are small; those that are watched are larger. */
_Static_assert(sizeof(struct dapl_lock) > 2 * sizeof(uintptr_t) ||
		       offsetof(struct dapl_evd, ring) <= 2 * DAPL_CACHE_LINE,
	       "what taking a completion touches is two cache lines");

/* To be called when the EVD's lock is free, if it is set. */
struct dapl_evd_call {
	void (*fn)(struct dapl_obj *obj, uint64_t qp_id);
	struct dapl_obj *obj; /* referenced */
	uint64_t qp_id;	      /* whose completion it was; see dapl_qp.h */
};

/* What a reading of the completion queue asks the caller to do afterwards. */
struct dapl_evd_after {
	struct dapl_evd_call drained; /* first: its owner disconnects */
	struct dapl_evd_call broken;
	struct dapl_evd *async; /* referenced; to be told of an overflow */
	DAT_HANDLE overflowed;	/* of this EVD; only a name */
	struct dapl_wq *settle; /* it is to, behind the event read last */
	bool unnotified;	/* the event read last notifies nobody */
	bool shared;		/* it is of a receive from an SRQ */
};

static inline struct dapl_evd *dapl_evd_from(DAT_EVD_HANDLE h)
{
	return dapl_obj_from(h, DAT_HANDLE_TYPE_EVD);
}

static inline bool dapl_evd_is_dead_locked(const struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	return evd->slow & DAPL_EVD_DEAD;
}

static inline bool dapl_evd_is_waitable_locked(const struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	return !(evd->slow & DAPL_EVD_UNWAITABLE);
}

static inline bool dapl_evd_is_waited_for_locked(const struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	return evd->slow & DAPL_EVD_WAITING;
}

/* Checks flags that an object needs of EVD for its stream. NULL: false. */
static inline bool dapl_evd_has(const struct dapl_evd *evd, DAT_EVD_FLAGS flag)
{
	return evd && (evd->flags & flag);
}

/* dapl_evd_ring.c: the ring. */

/*
 * Queues EVENT (copied; evd_handle is filled in) and wakes the waiter or
 * triggers the CNO. Never loses an event short of memory; beyond the queue
 * length it reports EVD_OVERFLOW on the async EVD once. May be called with the
 * lock of an SP or EP held. False: dead or no memory.
 */
bool dapl_evd_post(struct dapl_evd *evd, const DAT_EVENT *event);
/*
 * The same for a completion that was promised room, and that the device does
 * not report any more.
 */
void dapl_evd_post_completion(struct dapl_evd *evd, const DAT_EVENT *event);
/*
 * From now on room for so many COMPLETIONS is kept, besides that of a batch.
 * False: no memory, and what
 * was kept before still is.
 */
bool dapl_evd_keep_room(struct dapl_evd *evd, int completions);
/* The same as below, where the ring must grow for it. */
bool dapl_evd_room_more_locked(struct dapl_evd *evd);

/* Slots that no completion was promised; negative when some of those are taken.
 */
static inline int dapl_evd_free_slots(const struct dapl_evd *evd)
{
	const struct dapl_ring *ring = &evd->ring;

	return (int)(ring->size - (ring->head - ring->tail) - evd->kept);
}

/* Whether an event finds room besides those. */
static inline bool dapl_evd_room_locked(struct dapl_evd *evd)
{
	dapl_lock_assert_held(&evd->lock);
	return dapl_evd_free_slots(evd) > 0 || dapl_evd_room_more_locked(evd);
}

/* How many completions are read at once; an empty ring has room for them. */
#define DAPL_EVD_BATCH 16

static inline DAT_EVENT *dapl_evd_slot_next(struct dapl_evd *evd)
{
	return &evd->ring.slots[evd->ring.head & (evd->ring.size - 1)];
}

/* The next slot, or NULL when there is no memory. It is nothing yet. */
static inline DAT_EVENT *dapl_evd_slot_locked(struct dapl_evd *evd)
{
	return dapl_evd_room_locked(evd) ? dapl_evd_slot_next(evd) : NULL;
}

/* Now it is an event. UNNOTIFIED: it notifies nobody. */
static inline void dapl_evd_slot_filled_locked(struct dapl_evd *evd,
					       bool unnotified)
{
	dapl_lock_assert_held(&evd->lock);
	evd->slow |= DAPL_EVD_RING;
	evd->notifications += !unnotified;
	evd->ring.head++;
}

/* The same of the next N, which notify. */
static inline void dapl_evd_slots_filled_locked(struct dapl_evd *evd,
						uint32_t n)
{
	dapl_lock_assert_held(&evd->lock);
	evd->slow |= DAPL_EVD_RING;
	evd->notifications += n;
	evd->ring.head += n;
}

/* A slot that the caller fills, or NULL when there is no memory. */
DAT_EVENT *dapl_evd_push_locked(struct dapl_evd *evd);
/*
 * The event of a completion that has been read, in a slot kept for it if need
 * be. What must be lost nevertheless is told as an overflow. UNNOTIFIED: it
 * notifies nobody.
 */
void dapl_evd_push_completion_locked(struct dapl_evd *evd,
				     const DAT_EVENT *event, bool unnotified,
				     struct dapl_evd_after *after);
/* EVD's overflow is to be told when the lock is free. */
void dapl_evd_note_overflow_locked(struct dapl_evd *evd,
				   struct dapl_evd_after *after);

/*
 * Promises room for DEPTH completions of a new work queue, growing the
 * completion queue. *RET_CREDITS is NULL then. Where the device cannot grow
 * it, the work queue takes its slots one by one from *RET_CREDITS, so that a
 * post is refused before the queue could overrun; without RET_CREDITS attaching
 * fails there. 0 or -errno. Takes role CTL; may sleep in the kernel.
 */
int dapl_evd_attach(struct dapl_evd *evd, int depth, int **ret_credits);
/*
 * N more slots for a work queue that is attached without credits; fewer, which
 * does not fail, when N is negative. 0 or -errno. As attach.
 */
int dapl_evd_reserve(struct dapl_evd *evd, int n);
void dapl_evd_detach(struct dapl_evd *evd, int depth, const int *credits);

/* Blocks until who slept in dat_evd_wait() has left a dead EVD. */
void dapl_evd_wait_left(struct dapl_evd *evd);

/* For IA open: an EVD for asynchronous errors. */
DAT_RETURN dapl_evd_new(struct dapl_ia *ia, DAT_COUNT qlen,
			struct dapl_cno *cno, DAT_EVD_FLAGS flags,
			struct dapl_evd **ret_evd);

/* dapl_evd_async.c: asynchronous errors. */

/*
 * Posts an asynchronous error event about OBJ to the IA's async EVD, if it has
 * one.
 */
void dapl_ia_async(struct dapl_ia *ia, DAT_EVENT_NUMBER number,
		   DAT_HANDLE handle, DAT_COUNT reason);
/* Part of dapl_evd_after(): an overflow that was noted is told. */
void dapl_evd_tell_overflow(struct dapl_evd *async, DAT_HANDLE of);

/* dapl_evd_wait.c: who is woken. */

/*
 * An EVD has an eventfd while it has a CNO or a waiter: open before either is
 * set, close after one is gone. 0 or -errno: no descriptor is left. Lock held.
 */
int dapl_evd_wakeup_open_locked(struct dapl_evd *evd);
void dapl_evd_wakeup_close_locked(struct dapl_evd *evd);
/* Wakes the waiter, or triggers the CNO of an enabled EVD. Lock held. */
void dapl_evd_wake_locked(struct dapl_evd *evd);
/*
 * The same, but the service thread does it once at the end of its round: who is
 * woken by the first of many events would take the processor away from those
 * that are to follow.
 */
void dapl_evd_wake_soon_locked(struct dapl_evd *evd);
void dapl_evd_wake_work(struct dapl_work *work);

/*
 * Puts the descriptors of an enabled EVD without a waiter into the set of its
 * CNO and arms them; events that are there already trigger at once.
 */
void dapl_evd_cno_enter_locked(struct dapl_evd *evd,
			       struct dapl_evd_after *after);
void dapl_evd_cno_leave_locked(struct dapl_evd *evd);

/* Why a waiter may not ask for several events; DAT_SUCCESS: it may. */
DAT_RETURN dapl_evd_config_refuses(const struct dapl_evd *evd);
/*
 * Whether a waiter that went to sleep when evd->notifications was NOTIFICATIONS
 * is to return. CQ_NOTIFIED: the armed completion queue may have notified.
 */
bool dapl_evd_notified_locked(const struct dapl_evd *evd, uint32_t threshold,
			      uint32_t notifications, bool cq_notified);

/* dapl_evd_spin.c: looking again before a sleep. */

/* Whether that makes sense here at all. */
bool dapl_evd_may_spin(void);
/* Whether THRESHOLD events came meanwhile. TIMEOUT: the whole wait's. */
bool dapl_evd_spin_locked(struct dapl_evd *evd, DAT_TIMEOUT timeout,
			  uint32_t threshold, struct dapl_evd_after *after);
/* A waiter slept so long, until a completion came or for nothing. */
void dapl_evd_slept_locked(struct dapl_evd *evd, uint64_t us);

/* dapl_evd_cno.c: a CNO reads the EVD. */

/* Takes the trigger of EVD; false when there is none any more. */
bool dapl_evd_trigger_take(struct dapl_evd *evd, const struct dapl_cno *cno);
/* Undoes that, for somebody else to take it. */
void dapl_evd_trigger_back(struct dapl_evd *evd, const struct dapl_cno *cno);

/* dapl_evd_cq.c: completions into events. */

/* Polling gave the negative N. */
void dapl_evd_cq_failed_locked(struct dapl_evd *evd, int n,
			       struct dapl_evd_after *after);
/* Reads the next event off the completion queue; false when there is none. */
bool dapl_evd_cq_next_locked(struct dapl_evd *evd, DAT_EVENT *event,
			     struct dapl_evd_after *after);
/* How far a completion queue is read into the ring. */
enum dapl_evd_reach {
	/* For who waits: without memory the rest stays in the queue. */
	DAPL_EVD_WHILE_ROOM,
	/*
	 * What is done next must come behind it, or there will be nobody to
	 * complete. There is a slot for each.
	 */
	DAPL_EVD_TO_END,
};

/*
 * Moves completions into the ring. Those of DROP, an endpoint that is being
 * freed, give their slots back and vanish; not those of receives from an SRQ,
 * since that lives on, and so do its buffers.
 */
void dapl_evd_poll_locked(struct dapl_evd *evd, enum dapl_evd_reach reach,
			  const struct dapl_obj *drop,
			  struct dapl_evd_after *after);
/* So many completions into the ring, that are in WC already; or N is negative.
 */
void dapl_evd_take_locked(struct dapl_evd *evd, const struct ibv_wc *wc, int n,
			  struct dapl_evd_after *after);
/* To the end, taking the lock; EVD may be NULL, and have no queue. */
void dapl_evd_poll_all(struct dapl_evd *evd, const struct dapl_obj *drop,
		       struct dapl_evd_after *after);
/*
 * Sees to it that the next completion notifies, if none has that nobody took.
 * No-op without a queue.
 */
void dapl_evd_cq_arm_locked(struct dapl_evd *evd);
/* Takes a notification that has arrived. True if there was one. */
bool dapl_evd_cq_ack_locked(struct dapl_evd *evd);
/* The device has given EVD's queue up. True the first time, to report it. */
static inline bool dapl_evd_cq_gave_up(struct dapl_evd *evd)
{
	return !__atomic_exchange_n(&evd->cq_broken, true, __ATOMIC_RELAXED);
}
/* Does what a reading has left to do. No lock held. */
void dapl_evd_after_do(struct dapl_evd_after *after);
static inline void dapl_evd_after(struct dapl_evd_after *after)
{
	if (after->broken.fn || after->drained.fn || after->async)
		dapl_evd_after_do(after);
}

static inline uint32_t dapl_evd_queued(const struct dapl_evd *evd)
{
	return evd->ring.head - evd->ring.tail;
}

/* Where an event goes that is taken: to the caller's form of it. */
typedef void dapl_evd_give_fn(const DAT_EVENT *event, void *to);

/* Of an event of 2.0: what behind the data is only some are said to have. */
static inline void dapl_evd_give(const DAT_EVENT *event, void *to)
{
	if (likely(event->event_number == DAT_DTO_COMPLETION_EVENT))
		memcpy(to, event, offsetof(DAT_EVENT, event_extension_data));
	else
		*(DAT_EVENT *)to = *event;
}

static inline bool dapl_evd_pop_to_locked(struct dapl_evd *evd, void *to,
					  dapl_evd_give_fn *give)
{
	struct dapl_ring *ring = &evd->ring;

	dapl_lock_assert_held(&evd->lock);
	if (ring->head == ring->tail)
		return false;
	give(&ring->slots[ring->tail++ & (ring->size - 1)], to);
	if (ring->head == ring->tail) {
		evd->slow &= ~DAPL_EVD_RING;
		/* A ring that is large by promise stays small in the cache. */
		ring->head = ring->tail = 0;
	}
	if (evd->overflowed && dapl_evd_queued(evd) < (uint32_t)evd->qlen)
		evd->overflowed = false;
	return true;
}

static inline bool dapl_evd_pop_locked(struct dapl_evd *evd, DAT_EVENT *event)
{
	return dapl_evd_pop_to_locked(evd, event, dapl_evd_give);
}

/* dapl_evd_notify.c: which completions notify. */

/* What FLAGS of an endpoint's attributes ask of the EVD of that queue. */
enum dapl_evd_config dapl_evd_config_of(DAT_COMPLETION_FLAGS flags, bool recv);
/*
 * One more queue of an endpoint that wants CONFIG, or one less. Where queues
 * want different things every event notifies. EVD may be NULL.
 */
void dapl_evd_config_enter(struct dapl_evd *evd, enum dapl_evd_config config);
void dapl_evd_config_leave(struct dapl_evd *evd, enum dapl_evd_config config);
/*
 * A queue pair whose receives complete here is in ERR, or it is no more. While
 * there is one, the queue is armed for every completion.
 */
void dapl_evd_flush_enter(struct dapl_evd *evd);
void dapl_evd_flush_leave(struct dapl_evd *evd);
/* After dapl_evd_flush_enter(): who sleeps already hears of flushes, too. */
void dapl_evd_flush_hear(struct dapl_evd *evd);
/* The EVD vector entries. */
DAT_RETURN dapl_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *ret_evd);
DAT_RETURN dapl_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask,
			  DAT_EVD_PARAM *ret_param);
DAT_RETURN dapl_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno);
DAT_RETURN dapl_evd_enable(DAT_EVD_HANDLE handle);
DAT_RETURN dapl_evd_disable(DAT_EVD_HANDLE handle);
DAT_RETURN dapl_evd_set_unwaitable(DAT_EVD_HANDLE handle);
DAT_RETURN dapl_evd_clear_unwaitable(DAT_EVD_HANDLE handle);
DAT_RETURN dapl_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout,
			 DAT_COUNT threshold, DAT_EVENT *event,
			 DAT_COUNT *nmore);
DAT_RETURN dapl_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen);
DAT_RETURN dapl_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event);
DAT_RETURN dapl_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event);
DAT_RETURN dapl_evd_free(DAT_EVD_HANDLE handle);

#endif
