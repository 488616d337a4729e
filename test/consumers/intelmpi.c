/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * intelmpi.c - how Intel MPI (3.x to 2018) comes to its adapter, as far as its
 * documentation and its users tell.
 *
 * The library is not linked but loaded by its name, the development link first,
 * and its calls are found by their names; the first adapter of the list that
 * opens is taken; helpers are forked while it is open. Then a ring: each rank
 * asks the next, and is asked by the one before.
 * Not here: datagrams. The program is closed: which calls it makes after that
 * is not known, so these are the common ones.
 * One thread.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/consumers/calls.h"

#define NAMES 32
#define SIZE  3000

#if DAT_FACE == 1
#define LIBRARY	   "libdat.so"
#define SONAME_END ".1"
#else
#define LIBRARY	   "libdat2.so"
#define SONAME_END ".2"
#endif

/* clang-format off */
#define CALLS(X) \
	X(registry_list_providers) X(ia_openv) X(ia_query) X(ia_close) \
	X(pz_create) X(pz_free) X(evd_create) X(evd_free) X(evd_dequeue) \
	X(psp_create_any) X(psp_free) X(ep_create) X(ep_connect) \
	X(ep_disconnect) X(ep_free) X(cr_accept) X(ep_post_recv) \
	X(ep_post_send) X(lmr_create) X(lmr_free)
/* clang-format on */

struct dat {
#define X(call) __typeof__(dat_##call) *call;
	CALLS(X)
#undef X
};

struct mpi {
	struct rank *r;
	struct dat dat;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, conn, dto;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE next, before;
	uint8_t *mem; /* what goes out, and what comes in */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
};

struct card {
	struct calls_addr addr;
	DAT_CONN_QUAL qual;
};

static void load(struct mpi *m)
{
	void *lib = dlopen(LIBRARY, RTLD_NOW);

	if (!lib)
		lib = dlopen(LIBRARY SONAME_END, RTLD_NOW);
	if (!lib)
		RANK_FAIL(m->r, "%s", dlerror());
#define X(call)                                                    \
	*(void **)(void *)&m->dat.call = dlsym(lib, "dat_" #call); \
	EXPECT(m->r, m->dat.call);
	CALLS(X)
#undef X
}

static void open_first(struct mpi *m)
{
	DAT_PROVIDER_INFO *block = calloc(NAMES, sizeof(*block));
	DAT_PROVIDER_INFO *list[NAMES];
	DAT_COUNT count = 0;
	int i;

	EXPECT(m->r, block);
	for (i = 0; i < NAMES; i++)
		list[i] = &block[i];
	OK(m->r, m->dat.registry_list_providers(NAMES, &count, list));
	for (i = 0; i < count; i++) {
		m->async = DAT_HANDLE_NULL;
		if (m->dat.ia_openv(block[i].ia_name, 8, &m->async, &m->ia,
				    DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
				    DAT_FALSE) == DAT_SUCCESS)
			break;
	}
	EXPECT(m->r, i < count);
	EXPECT(m->r, !strcmp(block[i].ia_name, m->r->adapter));
	free(block);
}

/* A child that uses nothing of what it has got. */
static void fork_helper(struct mpi *m)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	EXPECT(m->r, pid > 0);
	EXPECT_EQ(m->r, waitpid(pid, &status, 0), pid);
	EXPECT_EQ(m->r, status, 0);
}

static void setup(struct mpi *m, struct card *mine)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rkey;
	DAT_VADDR address;
	DAT_IA_ATTR attr;
	DAT_VLEN size;

	OK(m->r,
	   m->dat.ia_query(m->ia, &m->async, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	mine->addr = calls_addr_of(attr.ia_address_ptr);
	OK(m->r, m->dat.pz_create(m->ia, &m->pz));
	OK(m->r, m->dat.evd_create(m->ia, 64, DAT_HANDLE_NULL,
				   DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
				   &m->conn));
	OK(m->r, m->dat.evd_create(m->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				   &m->dto));
	m->mem = calloc(2, SIZE);
	EXPECT(m->r, m->mem);
	region.for_va = m->mem;
	OK(m->r, m->dat.lmr_create(m->ia, DAT_MEM_TYPE_VIRTUAL, region,
				   2 * SIZE, m->pz, DAT_MEM_PRIV_ALL_FLAG,
#if DAT_FACE == 2
				   DAT_VA_TYPE_VA,
#endif
				   &m->lmr, &m->lkey, &rkey, &size, &address));
	OK(m->r, m->dat.psp_create_any(m->ia, &mine->qual, m->conn,
				       DAT_PSP_CONSUMER_FLAG, &m->psp));
	OK(m->r, m->dat.ep_create(m->ia, m->pz, m->dto, m->dto, m->conn, NULL,
				  &m->next));
	OK(m->r, m->dat.ep_create(m->ia, m->pz, m->dto, m->dto, m->conn, NULL,
				  &m->before));
}

static DAT_EVENT next_event(struct mpi *m, DAT_EVD_HANDLE evd, const char *what)
{
	DAT_RETURN ret;
	DAT_EVENT ev;

	rank_waits(m->r, "%s", what);
	while (DAT_GET_TYPE(ret = m->dat.evd_dequeue(evd, &ev)) ==
	       DAT_QUEUE_EMPTY)
		rank_spin();
	OK(m->r, ret);
	return ev;
}

static void meet(struct mpi *m, const struct card *all)
{
	const struct card *to = &all[(m->r->id + 1) % m->r->n];

	OK(m->r,
	   m->dat.ep_connect(m->next, calls_addr_use(m->r, &to->addr), to->qual,
			     RANK_PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG));
	for (int up = 0; up < 2;) {
		DAT_EVENT ev = next_event(m, m->conn, "the ring");

		if (ev.event_number == DAT_CONNECTION_REQUEST_EVENT) {
			OK(m->r,
			   m->dat.cr_accept(ev.event_data.cr_arrival_event_data
						    .cr_handle,
					    m->before, 0, NULL));
			continue;
		}
		EXPECT_EQ(m->r, ev.event_number,
			  DAT_CONNECTION_EVENT_ESTABLISHED);
		up++;
	}
}

static void pass_on(struct mpi *m)
{
	int to = (m->r->id + 1) % m->r->n;
	int from = (m->r->id + m->r->n - 1) % m->r->n;
	DAT_LMR_TRIPLET out = calls_seg(m->mem, SIZE, m->lkey);
	DAT_LMR_TRIPLET in = calls_seg(m->mem + SIZE, SIZE, m->lkey);

	OK(m->r, m->dat.ep_post_recv(m->before, 1, &in, calls_cookie(m->mem),
				     DAT_COMPLETION_DEFAULT_FLAG));
	rank_barrier(m->r);
	rank_fill(m->mem, SIZE, m->r->id, to, 1);
	OK(m->r, m->dat.ep_post_send(m->next, 1, &out, calls_cookie(m->mem),
				     DAT_COMPLETION_DEFAULT_FLAG));
	for (int i = 0; i < 2; i++) {
		DAT_EVENT ev = next_event(m, m->dto, "messages");

		EXPECT(m->r, calls_done(m->r, &ev) == m->mem);
	}
	rank_check(m->r, m->mem + SIZE, SIZE, from, m->r->id, 1);
	rank_barrier(m->r);
}

static void end(struct mpi *m)
{
	OK(m->r, m->dat.ep_disconnect(m->next, DAT_CLOSE_DEFAULT));
	for (int i = 0; i < 2; i++) {
		DAT_EVENT ev = next_event(m, m->conn, "the ends");

		EXPECT_EQ(m->r, ev.event_number,
			  DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	OK(m->r, m->dat.ep_free(m->next));
	OK(m->r, m->dat.ep_free(m->before));
	OK(m->r, m->dat.psp_free(m->psp));
	OK(m->r, m->dat.evd_free(m->dto));
	OK(m->r, m->dat.evd_free(m->conn));
	OK(m->r, m->dat.lmr_free(m->lmr));
	OK(m->r, m->dat.pz_free(m->pz));
	OK(m->r, m->dat.ia_close(m->ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(m->mem);
}

void intelmpi(struct rank *r)
{
	struct card mine, all[RANKS_MAX];
	struct mpi m = {.r = r};

	memset(&mine, 0, sizeof(mine));
	load(&m);
	open_first(&m);
	fork_helper(&m);
	setup(&m, &mine);
	rank_allgather(r, &mine, sizeof(mine), all);
	meet(&m, all);
	pass_on(&m);
	fork_helper(&m);
	end(&m);
}
