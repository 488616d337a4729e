/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_evd.c - dat_evd_create, resize, post_se, dequeue; overflow; devices that
 * fail; what notifies.
 *
 * Waiting is in t_evd_wait.c, what a CNO makes of an EVD in t_cno.c.
 * ibv_resize_cq() can be taken away, for devices that do not have it.
 * Threads: those that a test starts. Rules: uDAPL 1.2 specification, dat_evd_*.
 */
#include "test/unit/world.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "dapl/common/event/dapl_evd.h"

#define STREAMS_ALL 0x1f1 /* every flag but the extension's */

/* --wrap: no device of this program can resize while it is set. */
static bool no_resize;
int __real_ibv_resize_cq(struct ibv_cq *cq, int cqe);
int __wrap_ibv_resize_cq(struct ibv_cq *cq, int cqe);

int __wrap_ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	return no_resize ? ENOSYS : __real_ibv_resize_cq(cq, cqe);
}

static void *next_se(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	assert_dat_ok(V(evd_dequeue)(evd, &ev));
	assert_int_equal(ev.event_number, DAT_SOFTWARE_EVENT);
	assert_ptr_equal(ev.evd_handle, evd);
	return ev.event_data.software_event_data.pointer;
}

/* ------------------------------------------------ create */

ON_IB(evd_create__any_streams)
{
	DAT_EVD_HANDLE evd;
	unsigned n = 0;

	for (unsigned flags = 1; flags <= 0x3f1; flags++) {
		if (flags & ~0x3f1u)
			continue;
		evd = world_evd(s->ia, flags);
		assert_int_equal(world_evd_param(evd).evd_flags, flags);
		expect_empty(evd);
		assert_dat_ok(V(evd_free)(evd));
		n++;
	}
	assert_int_equal(n, 127);
}

ON_IB_IWARP(evd_create__nth_failure)
{
	DAT_EVD_HANDLE evd = NULL;

	assert_nth_failure(
		V(evd_create)(s->ia, 8, NULL, (DAT_EVD_FLAGS)STREAMS_ALL, &evd),
		assert_dat_ok(V(evd_free)(evd)));
}

ON_IB(evd_create__largest)
{
	DAT_EVD_HANDLE evd = NULL;

	assert_refused(V(evd_create)(s->ia, 8193, NULL, DAT_EVD_DTO_FLAG, &evd),
		       DAPL_NO_RES(TEVD));
	assert_null(evd);
	assert_dat_ok(V(evd_create)(s->ia, 8192, NULL, DAT_EVD_DTO_FLAG, &evd));
	assert_int_equal(world_evd_param(evd).evd_qlen, 8192);
}

/* ----------------------------------------------- post_se */

ON_IB(evd_post_se__ring_turns_and_grows)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);

	/* In and out at different speeds, so that the ring turns and grows. */
	for (uintptr_t in = 1, out = 1; out < 500;) {
		for (int i = 0; i < 3 && in < 500; i++, in++)
			world_post_se(evd, (void *)in);
		for (int i = 0; i < (in < 60 ? 2 : 3) && out < in; i++, out++)
			assert_ptr_equal(next_se(evd), (void *)out);
	}
	expect_empty(evd);
}

ON_IB(evd_post_se__full_then_goes_on)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (uintptr_t i = 0; i < WORLD_QLEN; i++)
		world_post_se(evd, (void *)i);
	assert_refused(V(evd_post_se)(evd, &ev), DAPL_ERR(DAT_QUEUE_FULL, 0));
	/* By specification that is no overflow. */
	expect_empty(s->async_evd);
	assert_ptr_equal(next_se(evd), (void *)0);
	world_post_se(evd, (void *)WORLD_QLEN);
	for (uintptr_t i = 1; i <= WORLD_QLEN; i++)
		assert_ptr_equal(next_se(evd), (void *)i);
	expect_empty(evd);
}

/* ----------------------------------------------- resize */

ON_IB(evd_resize__software)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (uintptr_t i = 0; i < WORLD_QLEN; i++)
		world_post_se(evd, (void *)i);
	assert_refused(V(evd_resize)(evd, WORLD_QLEN - 1),
		       DAPL_ERR(DAT_INVALID_STATE, 0));
	assert_int_equal(world_evd_param(evd).evd_qlen, WORLD_QLEN);
	assert_dat_ok(V(evd_resize)(evd, WORLD_QLEN));
	assert_dat_ok(V(evd_resize)(evd, 200));
	assert_int_equal(world_evd_param(evd).evd_qlen, 200);
	for (uintptr_t i = WORLD_QLEN; i < 200; i++)
		world_post_se(evd, (void *)i);
	assert_refused(V(evd_post_se)(evd, &ev), DAPL_ERR(DAT_QUEUE_FULL, 0));
	for (uintptr_t i = 0; i < 190; i++)
		assert_ptr_equal(next_se(evd), (void *)i);
	assert_dat_ok(V(evd_resize)(evd, 10));
	assert_refused(V(evd_post_se)(evd, &ev), DAPL_ERR(DAT_QUEUE_FULL, 0));
	for (uintptr_t i = 190; i < 200; i++)
		assert_ptr_equal(next_se(evd), (void *)i);
	expect_empty(evd);
}

ON_IB(evd_resize__fails)
{
	DAT_EVD_HANDLE evd = s->recv_evd;
	DAT_RETURN ret;

	assert_refused(V(evd_resize)(evd, 8193), DAPL_NO_RES(TEVD));
	fv_fail_at(1, ENOMEM);
	ret = V(evd_resize)(evd, 500);
	assert_int_equal(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
	assert_int_equal(world_evd_param(evd).evd_qlen, WORLD_QLEN);
	assert_dat_ok(V(evd_resize)(evd, 500));
	assert_int_equal(world_evd_param(evd).evd_qlen, 500);
}

ON_IB(evd_resize__device_cannot)
{
	DAT_EVD_HANDLE evd = s->recv_evd;

	no_resize = true;
	assert_refused(V(evd_resize)(evd, 500),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	/* What it has is enough for less. */
	assert_dat_ok(V(evd_resize)(evd, 5));
	no_resize = false;
	assert_int_equal(world_evd_param(evd).evd_qlen, WORLD_QLEN);
}

/* Completions in the queue survive a growing and a shrinking. */
ON_IB(evd_resize__with_completions, world_connect)
{
	DAT_EVD_HANDLE evd = c->req_evd;

	for (uint64_t i = 0; i < 8; i++)
		world_recv(s, 0, 64, i);
	for (uint64_t i = 0; i < 8; i++)
		world_send(c, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
	world_until(fv_cq_depth(((struct dapl_evd *)evd)->cq) == 8);
	assert_refused(V(evd_resize)(evd, 4), DAPL_ERR(DAT_INVALID_STATE, 0));
	assert_dat_ok(V(evd_resize)(evd, 300));
	expect_dto(evd, 0, DAT_DTO_SUCCESS);
	assert_dat_ok(V(evd_resize)(evd, 40));
	for (uint64_t i = 1; i < 8; i++)
		expect_dto(evd, i, DAT_DTO_SUCCESS);
	expect_empty(evd);
}

/* ------------------------------------------- overflow */

/* More events than the length of the queue: all of them come, and one alarm. */
ON_IB(evd_overflow__nothing_is_lost)
{
	DAT_EVENT ev = {.event_number = DAT_CONNECTION_EVENT_ESTABLISHED};
	DAT_EVD_HANDLE evd;

	assert_dat_ok(
		V(evd_create)(s->ia, 2, NULL, DAT_EVD_CONNECTION_FLAG, &evd));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5; i++)
			assert_true(dapl_evd_post((struct dapl_evd *)evd, &ev));
		ev = expect_event(s->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
		assert_ptr_equal(
			ev.event_data.asynch_error_event_data.dat_handle, evd);
		assert_int_equal(ev.event_data.asynch_error_event_data.reason,
				 DAT_EVD_OVERFLOW_ERROR);
		for (int i = 0; i < 5; i++)
			ev = expect_event(evd,
					  DAT_CONNECTION_EVENT_ESTABLISHED);
		expect_empty(evd);
		expect_empty(s->async_evd);
	}
}

/* -------------------------------------- devices that fail */

/* As operations of a queue, in place of its own. */
static int poll_fails(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	return -1;
}

static int arm_fails(struct ibv_cq *cq, int solicited_only)
{
	return ENOMEM;
}

/* Whoever looks first, the adapter's EVD hears of it once. */
ON_IB(evd_dequeue__queue_cannot_be_read)
{
	DAT_EVD_HANDLE h = s->recv_evd;
	struct dapl_evd *evd = (struct dapl_evd *)h;
	struct vb_cq_ops ops = evd->ops;
	DAT_COUNT more;
	DAT_EVENT ev;

	evd->ops.poll = poll_fails;
	for (int i = 0; i < 2; i++) {
		expect_empty(h);
		assert_int_equal(
			DAT_GET_TYPE(V(evd_wait)(h, 1000, 1, &ev, &more)),
			DAT_TIMEOUT_EXPIRED);
		assert_dat_ok(V(evd_resize)(h, WORLD_QLEN));
	}
	evd->ops = ops;
	ev = expect_event(s->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	assert_ptr_equal(ev.event_data.asynch_error_event_data.dat_handle, h);
	expect_empty(s->async_evd);
}

/* Nobody can be told, but events that are no completions wake as ever. */
ON_IB(evd_wait__queue_cannot_be_armed)
{
	DAT_EVD_HANDLE h =
		world_evd(s->ia, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	struct dapl_evd *evd = (struct dapl_evd *)h;
	DAT_COUNT more;
	DAT_EVENT ev;

	evd->ops.arm = arm_fails;
	dapl_evd_config_enter(evd, DAPL_EVD_THRESHOLD);
	assert_int_equal(DAT_GET_TYPE(V(evd_wait)(h, 1000, 1, &ev, &more)),
			 DAT_TIMEOUT_EXPIRED);
	world_post_se(h, w);
	expect_event(h, DAT_SOFTWARE_EVENT);
	dapl_evd_config_leave(evd, DAPL_EVD_THRESHOLD);
}

/* Who holds an EVD may come too late with an event. */
ON_IB(evd_post__after_the_end)
{
	DAT_EVD_HANDLE h = world_evd(s->ia, DAT_EVD_CONNECTION_FLAG);
	struct dapl_evd *evd = (struct dapl_evd *)h;
	const DAT_EVENT ev = {.event_number = DAT_CONNECTION_EVENT_ESTABLISHED};

	dapl_obj_get(&evd->obj);
	assert_true(dapl_evd_post(evd, &ev));
	assert_dat_ok(V(evd_free)(h));
	assert_false(dapl_evd_post(evd, &ev));
	dapl_obj_put(&evd->obj);
}

/* ------------------------------------------- what notifies */

/* As long as queues want the same, that; otherwise all events notify. */
ON_IB(evd_config__queues_disagree)
{
	DAT_EVD_HANDLE h = s->recv_evd;
	struct dapl_evd *evd = (struct dapl_evd *)h;

	dapl_evd_config_enter(NULL, DAPL_EVD_NOTIFY);
	dapl_evd_config_enter(evd, DAPL_EVD_SOLICITED);
	assert_int_equal(evd->config, DAPL_EVD_SOLICITED);
	assert_int_equal(world_evd_param(h).evd_state &
				 DAT_EVD_STATE_CONFIG_THRESHOLD,
			 DAT_EVD_STATE_CONFIG_SOLICITED);
	assert_int_equal(dapl_evd_config_refuses(evd),
			 DAPL_BAD_STATE(EVD_CONFIG_SOLICITED));
	dapl_evd_config_enter(evd, DAPL_EVD_NOTIFY);
	assert_int_equal(evd->config, DAPL_EVD_THRESHOLD);
	assert_int_equal(dapl_evd_config_refuses(evd), DAT_SUCCESS);
	dapl_evd_config_leave(evd, DAPL_EVD_SOLICITED);
	assert_int_equal(evd->config, DAPL_EVD_NOTIFY);
	assert_int_equal(dapl_evd_config_refuses(evd),
			 DAPL_BAD_STATE(EVD_CONFIG_NOTIFY));
	dapl_evd_config_leave(evd, DAPL_EVD_NOTIFY);
	assert_int_equal(evd->config, DAPL_EVD_UNUSED);
}

/* What was read into the ring and notifies nobody is counted, and no reason. */
ON_IB(evd_notified__by_what_notifies)
{
	struct dapl_evd *evd = (struct dapl_evd *)s->recv_evd;
	const DAT_EVENT ev = {.event_number = DAT_DTO_COMPLETION_EVENT,
			      .evd_handle = s->recv_evd};
	struct dapl_evd_after after = {0};

	dapl_evd_config_enter(evd, DAPL_EVD_NOTIFY);
	dapl_lock(&evd->lock);
	dapl_evd_push_completion_locked(evd, &ev, true, &after);
	assert_false(dapl_evd_notified_locked(evd, 1, 0, false));
	dapl_evd_push_completion_locked(evd, &ev, false, &after);
	assert_true(dapl_evd_notified_locked(evd, 1, 0, false));
	dapl_unlock(&evd->lock);
	for (int i = 0; i < 2; i++)
		expect_event(s->recv_evd, DAT_DTO_COMPLETION_EVENT);
	dapl_evd_config_leave(evd, DAPL_EVD_NOTIFY);
}

/* ------------------------------------------------ threads */

struct poster {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	uintptr_t base;
};

#define POSTS 500

static void *post_many(void *arg)
{
	struct poster *p = arg;
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (uintptr_t i = 0; i < POSTS;) {
		ev.event_data.software_event_data.pointer =
			(void *)(p->base + i);
		if (V(evd_post_se)(p->evd, &ev) == DAT_SUCCESS)
			i++;
		else
			sched_yield(); /* full: the reader is at it */
	}
	return NULL;
}

ON_IB(evd_post_se__threads)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_SOFTWARE_FLAG);
	struct poster p[3];
	uintptr_t next[3] = {0};

	for (uintptr_t i = 0; i < 3; i++) {
		p[i].evd = evd;
		p[i].base = i << 16;
		pthread_create(&p[i].thread, NULL, post_many, &p[i]);
	}
	for (int n = 0; n < 3 * POSTS; n++) {
		DAT_EVENT ev = expect_event(evd, DAT_SOFTWARE_EVENT);
		uintptr_t v =
			(uintptr_t)ev.event_data.software_event_data.pointer;

		/* Nothing lost, nothing twice, each thread's in its order. */
		assert_int_equal(v & 0xffff, next[v >> 16]++);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(p[i].thread, NULL);
	expect_empty(evd);
}

RUN_CASES(NULL, NULL)
