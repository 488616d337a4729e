/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pp_dat.c - an end of pingpong by DAT; see pingpong.h.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "test/bench/bench.h"
#include "test/bench/pingpong.h"

#define QUAL 25400

struct dat_end {
	struct pp_end e; /* first */
	struct bench_ia a;
	DAT_EVD_HANDLE dto[PP_QUEUES];
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_RMR_TRIPLET there;
};

/* What an end tells the other. */
struct dat_card {
	uint8_t addr[ADDR_SIZE];
	uint64_t in;
	uint32_t rkey;
};

static struct dat_end *end_of(struct pp_end *e)
{
	return (struct dat_end *)(void *)e;
}

static struct pp_end *d_open(const struct pp_cfg *cfg)
{
	struct dat_end *d = calloc(1, sizeof(*d));
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN size;
	DAT_VADDR va;

	if (!d)
		bench_die("no memory");
	pp_memory(&d->e, cfg);
	bench_ia_open(&d->a, cfg->name, 8);
	region.for_va = d->e.in;
	bench_need(dat_lmr_create(d->a.ia, DAT_MEM_TYPE_VIRTUAL, region,
				  2 * (DAT_VLEN)cfg->half, d->a.pz,
				  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				  &d->lmr, &d->lkey, &d->rkey, &size, &va),
		   "dat_lmr_create");
	d->dto[PP_REQ] = bench_dto_evd(&d->a, cfg->requests + 1);
	d->dto[PP_RCV] = bench_dto_evd(&d->a, cfg->recvs + 1);
	d->ep = bench_ep(&d->a, d->dto[PP_RCV], d->dto[PP_REQ], cfg->recvs,
			 cfg->requests, cfg->half);
	return &d->e;
}

static void d_connect(struct pp_end *e)
{
	struct dat_end *d = end_of(e);
	struct dat_card mine = {.in = (uintptr_t)e->in, .rkey = d->rkey};
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	struct dat_card theirs;
	DAT_EVENT ev;

	if (!e->cfg->active)
		psp = bench_listen(&d->a, QUAL);
	memcpy(mine.addr, d->a.addr.b, ADDR_SIZE);
	bench_tell(e->cfg->peer, &mine, sizeof(mine));
	bench_hear(e->cfg->peer, &theirs, sizeof(theirs));
	d->there = (DAT_RMR_TRIPLET){.virtual_address = theirs.in,
				     .rmr_context = theirs.rkey};
	if (e->cfg->active) {
		bench_connect(d->ep, theirs.addr, QUAL);
	} else {
		bench_event(d->a.cr, DAT_CONNECTION_REQUEST_EVENT, &ev);
		bench_accept(&ev, d->ep);
	}
	bench_event(d->a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
	if (psp)
		dat_psp_free(psp);
	bench_meet(e->cfg->peer);
}

static void d_post_recv(struct pp_end *e)
{
	struct dat_end *d = end_of(e);
	DAT_LMR_TRIPLET seg = {.virtual_address = (uintptr_t)e->in,
			       .segment_length = e->cfg->half,
			       .lmr_context = d->lkey};
	DAT_DTO_COOKIE cookie = {.as_64 = PP_RCV};

	bench_need(dat_ep_post_recv(d->ep, 1, &seg, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
}

static void d_post(struct pp_end *e, enum pp_post what, uint32_t bytes)
{
	struct dat_end *d = end_of(e);
	DAT_LMR_TRIPLET seg = {.virtual_address = (uintptr_t)e->out,
			       .segment_length = bytes,
			       .lmr_context = d->lkey};
	DAT_DTO_COOKIE cookie = {.as_64 = PP_REQ};

	if (what == PP_SEND) {
		bench_need(dat_ep_post_send(d->ep, 1, &seg, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
		return;
	}
	d->there.segment_length = bytes;
	bench_need(dat_ep_post_rdma_write(d->ep, 1, &seg, cookie, &d->there,
					  DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_rdma_write");
}

static void d_reap(struct pp_end *e, enum pp_queue q)
{
	struct dat_end *d = end_of(e);
	DAT_COUNT more;
	DAT_RETURN ret;
	DAT_EVENT ev;

	if (e->cfg->wait) {
		/* As verbs' sleep; bench_alarm() ends it. */
		bench_need(dat_evd_wait(d->dto[q], DAT_TIMEOUT_INFINITE, 1, &ev,
					&more),
			   "dat_evd_wait");
	} else {
		while ((ret = dat_evd_dequeue(d->dto[q], &ev)) != DAT_SUCCESS) {
			if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
				bench_need(ret, "dat_evd_dequeue");
			if (e->cfg->yield)
				sched_yield();
		}
	}
	if (ev.event_number != DAT_DTO_COMPLETION_EVENT ||
	    ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		bench_die("event 0x%x, status %d",
			  (unsigned int)ev.event_number,
			  (int)ev.event_data.dto_completion_event_data.status);
}

static void d_close(struct pp_end *e)
{
	struct dat_end *d = end_of(e);

	bench_ia_close(&d->a);
	free(e->in);
	free(d);
}

const struct pp_ops pp_dat = {
	.open = d_open,
	.connect = d_connect,
	.post_recv = d_post_recv,
	.post = d_post,
	.reap = d_reap,
	.close = d_close,
};
