/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_broken.c - how a connection ends that the other end's device has broken.
 *
 * Transfers themselves are in transfer/t_ep_post.c.
 * Rules: DAT 2.0, completion statuses of DTO events.
 */
#include <pthread.h>

#include "dapl/common/event/dapl_evd.h"
#include "test/unit/kit.h"

/* ------------------------------------------ held on its way */

/* Where a thread that has read a failure can be held before it tells. */
static int held; /* atomic; 1: hold it, 2: it is held, 0: let it go */

void __real_dapl_evd_after_do(struct dapl_evd_after *after);
void __wrap_dapl_evd_after_do(struct dapl_evd_after *after);

void __wrap_dapl_evd_after_do(struct dapl_evd_after *after)
{
	int one = 1;

	if (after->broken.fn &&
	    __atomic_compare_exchange_n(&held, &one, 2, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		while (__atomic_load_n(&held, __ATOMIC_ACQUIRE))
			world_pause();
	__real_dapl_evd_after_do(after);
}

static void *read_failure(void *arg)
{
	struct world_side *s = arg;

	expect_dto(s->req_evd, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	return NULL;
}

/* Word of a failure comes when the next connection is up: it is not its. */
ON_EACH(error__told_after_the_reset, world_connect)
{
	DAT_LMR_TRIPLET seg;
	pthread_t thread;

	world_recv(s, 0, 4096, 2);
	seg = world_seg(c, 0, 2000);
	seg.lmr_context ^= 0x100000;
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	assert_dat_ok(V(ep_post_send)(c->ep, 1, &seg, world_cookie(1), 0));
	pthread_create(&thread, NULL, read_failure, c);
	world_until(__atomic_load_n(&held, __ATOMIC_ACQUIRE) == 2);
	assert_dat_ok(V(ep_disconnect)(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	kit_over(w);
	assert_dat_ok(V(ep_reset)(c->ep));
	assert_dat_ok(V(ep_reset)(s->ep));
	expect_dto(s->recv_evd, 2, DAT_DTO_ERR_FLUSHED);
	world_connect(w);
	__atomic_store_n(&held, 0, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	expect_empty(c->conn_evd);
	kit_state(c->ep, DAT_EP_STATE_CONNECTED);
	world_recv(s, 0, 64, 3);
	world_send(c, 0, 64, 4, 0);
	expect_dto(c->req_evd, 4, DAT_DTO_SUCCESS);
	expect_dto(s->recv_evd, 3, DAT_DTO_SUCCESS);
}

/* -------------------------------------------------- errors */

/* What an RNIC's sender learns of a failure at the other end. */
static unsigned far_status(const struct world *w, unsigned status)
{
	return w->kind == FV_IWARP ? DAT_DTO_ERR_FLUSHED : status;
}

ON_EACH(error__remote_access, world_connect)
{
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET remote;

	world_recv(c, 0, 8, 50);
	seg = world_seg(c, 0, 200);
	remote = world_target(s, WORLD_MEM_SIZE - 100, 200);
	assert_dat_ok(V(ep_post_rdma_write)(c->ep, 1, &seg, world_cookie(1),
					    &remote, 0));
	expect_dto(c->req_evd, 1, far_status(w, DAT_DTO_ERR_REMOTE_ACCESS));
	kit_broken(w, true);
	expect_dto(c->recv_evd, 50, DAT_DTO_ERR_FLUSHED);
}

ON_EACH(error__receive_too_short, world_connect)
{
	world_recv(s, 0, 100, 1);
	world_send(c, 0, 101, 2, 0);
	expect_dto(s->recv_evd, 1, DAT_DTO_ERR_LOCAL_LENGTH);
	expect_dto(c->req_evd, 2, far_status(w, DAT_DTO_ERR_REMOTE_RESPONDER));
	kit_broken(w, false);
}

/* The flush of one must not hide the failure of another on the same EVD. */
ON_EACH(error__two_endpoints_of_one_evd)
{
	DAT_EP_HANDLE eps[3];
	DAT_LMR_TRIPLET seg;
	DAT_EVENT ev;
	DAT_COUNT more;

	for (int i = 0; i < 3; i++) {
		c->ep = s->ep = NULL;
		world_connect(w);
		eps[i] = c->ep;
	}
	seg = world_seg(c, 0, 2000);
	seg.lmr_context ^= 0x100000;
	for (unsigned i = 0; i < 3; i++)
		assert_dat_ok(
			V(ep_post_send)(eps[i], 1, &seg, world_cookie(i), 0));
	/* A wait for all of them reads them in one go. */
	assert_dat_ok(
		V(evd_wait)(c->req_evd, WORLD_PATIENCE_US, 3, &ev, &more));
	for (int i = 0; i < 3; i++) {
		kit_state(kit_ended(c->conn_evd, w->kind != FV_IWARP),
			  DAT_EP_STATE_DISCONNECTED);
	}
	expect_empty(c->conn_evd);
}

RUN_CASES_TWICE()
