/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * yieldpoll.c - for LD_PRELOAD: who polls a completion queue and finds nothing
 * gives the processor away, as pingpong does by itself. So two programs that
 * poll for each other's messages share one processor, and a clock that counts
 * instructions does not count their waiting.
 *
 * One kind of device in a process. Threads: any, once devices are open.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <sched.h>

static int (*poll_below)(struct ibv_cq *cq, int n, struct ibv_wc *wc);

static int poll_or_yield(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got = poll_below(cq, n, wc);

	if (!got)
		sched_yield();
	return got;
}

__attribute__((visibility("default"))) struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	union {
		void *p;
		struct ibv_context *(*call)(struct ibv_device *device);
	} next = {.p = dlvsym(RTLD_NEXT, "ibv_open_device", "IBVERBS_1.1")};
	void *lib;

	/* Loaded by a plugin, where RTLD_NEXT does not look. */
	if (!next.p && (lib = dlopen("libibverbs.so.1", RTLD_LAZY)))
		next.p = dlvsym(lib, "ibv_open_device", "IBVERBS_1.1");

	struct ibv_context *ctx = next.p ? next.call(device) : NULL;

	if (ctx && ctx->ops.poll_cq != poll_or_yield) {
		poll_below = ctx->ops.poll_cq;
		ctx->ops.poll_cq = poll_or_yield;
	}
	return ctx;
}
