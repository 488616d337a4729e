/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_fork.c - a child of fork(): what it may do, and that the parent goes on.
 *
 * The child's part is judged by its exit status; it ends with _exit() or exec,
 * and alarm() ends one that hangs. The registry's part is in t_dat_registry.c.
 * Rule: libdat2(7), fork.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "test/unit/kit.h"

#define CHILD_S	 20
#define CHILDREN 30

/* In the child: a line that was not met is its exit status. */
#define child_needs(cond)                                             \
	do {                                                          \
		if (!(cond))                                          \
			_exit(__LINE__ & 0xff ? __LINE__ & 0xff : 1); \
	} while (0)

/* CALL says that the handle is of no use, and why. */
#define child_refused(call)                                               \
	do {                                                              \
		child_needs(DAT_GET_TYPE(call) == DAT_INVALID_HANDLE);    \
		child_needs(strstr(dapl__fail_text(), "forked") != NULL); \
	} while (0)

static pid_t child_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		alarm(CHILD_S);
	return pid;
}

static void child_ended_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("the child died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		fail_msg("the child failed, line %d modulo 256",
			 WEXITSTATUS(status));
}

static void child_posts(struct world_side *s)
{
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 8);
	DAT_RMR_TRIPLET to = world_target(s, 0, 8);
	DAT_DTO_COOKIE cookie = world_cookie(1);

	child_refused(V(ep_post_send)(s->ep, 1, &seg, cookie, 0));
	child_refused(V(ep_post_recv)(s->ep, 1, &seg, cookie, 0));
	child_refused(V(ep_post_rdma_write)(s->ep, 1, &seg, cookie, &to, 0));
	child_refused(V(ep_post_rdma_read)(s->ep, 1, &seg, cookie, &to, 0));
}

static void child_waits(struct world_side *s, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;
	DAT_EVENT ev;

	child_refused(V(evd_dequeue)(s->recv_evd, &ev));
	child_refused(
		V(evd_wait)(s->recv_evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
	child_refused(
		V(evd_wait)(s->conn_evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
	ev.event_number = DAT_SOFTWARE_EVENT;
	child_refused(V(evd_post_se)(s->conn_evd, &ev));
	child_refused(V(evd_resize)(s->recv_evd, 100));
	child_refused(V(evd_modify_cno)(s->recv_evd, NULL));
	child_refused(V(cno_wait)(cno, DAT_TIMEOUT_INFINITE, &evd));
}

static void child_makes(struct world_side *s)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_PSP_HANDLE psp;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	child_refused(V(pz_create)(s->ia, &pz));
	child_refused(V(evd_create)(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				    &evd));
	child_refused(V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd,
				   s->conn_evd, NULL, &ep));
	child_refused(V(psp_create)(s->ia, WORLD_QUAL, s->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	child_refused(V(ia_query)(s->ia, NULL, 0, NULL, 0, NULL));
	child_needs(V(ia_open)(WORLD_IA_NAME, 8, &async, &ia) ==
		    DAPL_BAD_STATE(IA_IN_USE));
	child_needs(strstr(dapl__fail_text(), "forked") != NULL);
}

static void child_ends(struct world_side *s, DAT_CNO_HANDLE cno)
{
	child_refused(V(ep_disconnect)(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	child_refused(V(ep_reset)(s->ep));
	child_refused(V(ep_free)(s->ep));
	child_refused(V(lmr_free)(s->mem.lmr));
	child_refused(V(evd_free)(s->recv_evd));
	child_refused(V(cno_free)(cno));
	child_refused(V(pz_free)(s->pz));
	child_refused(V(ia_close)(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	child_refused(V(ia_close)(s->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void child_calls(struct world *w, DAT_CNO_HANDLE cno)
{
	child_posts(&w->client);
	child_waits(&w->client, cno);
	child_makes(&w->client);
	child_ends(&w->client, cno);
}

/* A thread of the parent sleeps; the child neither wakes nor joins it. */
ON_IB_IWARP(child__every_call_fails, world_connect)
{
	struct waiter waiter;
	DAT_CNO_HANDLE cno = world_cno(c->ia);
	DAT_EVENT ev;
	pid_t pid;

	assert_dat_ok(V(evd_modify_cno)(c->recv_evd, cno));
	world_recv(s, 0, 64, 5);
	waiter_start(&waiter, s->recv_evd, WORLD_PATIENCE_US, 1);
	world_until(DAT_GET_TYPE(V(evd_dequeue)(waiter.evd, &ev)) ==
		    DAT_INVALID_STATE);
	pid = child_start();
	if (!pid) {
		child_calls(w, cno);
		_exit(0);
	}
	child_ended_well(pid);
	/* All is as it was. */
	world_send(c, 0, 8, 6, 0);
	expect_dto(c->req_evd, 6, DAT_DTO_SUCCESS);
	waiter_got(&waiter, 5, 0);
	kit_disconnect(w);
}

struct noise {
	struct world *w;
	bool over; /* atomic */
};

/* Locks are held, lists are being changed, whenever the fork comes. */
static void *make_noise(void *arg)
{
	struct noise *n = arg;
	struct world_side *s = &n->w->client;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EVENT ev;

	while (!__atomic_load_n(&n->over, __ATOMIC_ACQUIRE)) {
		V(pz_create)(s->ia, &pz);
		V(evd_create)
		(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd);
		V(evd_dequeue)(s->recv_evd, &ev);
		V(evd_free)(evd);
		V(pz_free)(pz);
	}
	return NULL;
}

ON_IB(child__of_a_busy_parent, world_connect)
{
	struct noise n = {.w = w};
	pthread_t threads[2];
	DAT_CNO_HANDLE cno = world_cno(c->ia);

	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, make_noise, &n), 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = child_start();

		if (!pid) {
			child_calls(w, cno);
			_exit(0);
		}
		child_ended_well(pid);
	}
	__atomic_store_n(&n.over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	world_recv(s, 0, 64, 1);
	world_send(c, 0, 8, 2, 0);
	expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
}

/* Descriptors that an exec would pass on. RET_ALL: and all there are. */
static int fds_inherited(int *ret_all)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;

	assert_non_null(dir);
	*ret_all = 0;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		++*ret_all;
		n += !(fcntl(atoi(entry->d_name), F_GETFD) & FD_CLOEXEC);
	}
	closedir(dir);
	return n;
}

/* No descriptor of ours is the business of another program. */
CASE(exec__inherits_nothing)
{
	int before, before_all, all;
	struct world w = {0};

	before = fds_inherited(&before_all);
	world_open(&w, FV_IB);
	world_connect(&w);
	assert_int_equal(fds_inherited(&all), before);
	assert_true(all > before_all + 10);
	world_close(&w);
}

/* Nothing was open: the child is a process like any other. */
CASE(child__of_a_parent_without_adapters)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	pid_t pid;

	world_load(FV_IB);
	world_ia_close(world_ia_open(NULL), DAT_CLOSE_GRACEFUL_FLAG);
	pid = child_start();
	if (!pid) {
		child_needs(V(ia_open)(WORLD_IA_NAME, 8, &async, &ia) ==
			    DAT_SUCCESS);
		child_needs(V(ia_close)(ia, DAT_CLOSE_GRACEFUL_FLAG) ==
			    DAT_SUCCESS);
		_exit(0);
	}
	child_ended_well(pid);
	world_unload();
}

RUN_CASES(NULL, NULL)
