/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * objects.c - what a rank has besides connections: the adapter, queues,
 * listeners, memory, the shared receive queue, endpoints.
 *
 * One region for all links, as MPI libraries register their buffers once. At
 * the end of an adapter its own counters have to say that all has been freed.
 * Called by the rank's own thread.
 */
#include "test/load/load.h"

#include <stdlib.h>

#include <dat2/dat_ib_extensions.h>

#define SPARE	 16
#define REQUESTS 12 /* what a link may have posted at once, and more */

static DAT_EVD_HANDLE evd(struct load *l, int length, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE e;

	OK(&l->r,
	   dat_evd_create(l->ia, length + SPARE, DAT_HANDLE_NULL, flags, &e));
	return e;
}

static void listen_all(struct load *l)
{
	int n = l->o->listeners;

	l->mine.qual = l->r.qual + (DAT_CONN_QUAL)(l->r.id * n);
	for (int i = 0; i < n; i++)
		OK(&l->r,
		   dat_psp_create(l->ia, l->mine.qual + (unsigned int)i, l->cr,
				  DAT_PSP_CONSUMER_FLAG, &l->psp[i]));
}

static void make_srq(struct load *l)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = l->receives, .max_recv_iov = 1};

	if (l->o->ways[SRQ])
		OK(&l->r, dat_srq_create(l->ia, l->pz, &attr, &l->srq));
}

void objects_open(struct load *l)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_IA_ATTR attr;
	DAT_VLEN size;

	l->posted = false;
	l->async = DAT_HANDLE_NULL;
	OK(&l->r,
	   dat_ia_open(l->o->adapter, l->links + SPARE, &l->async, &l->ia));
	OK(&l->r, dat_ia_query(l->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			       0, NULL));
	l->mine.addr = calls_addr_of(attr.ia_address_ptr);
	OK(&l->r, dat_pz_create(l->ia, &l->pz));
	l->cr = evd(l, l->links, DAT_EVD_CR_FLAG);
	l->conn = evd(l, 2 * l->links, DAT_EVD_CONNECTION_FLAG);
	for (int i = 0; i < l->queues; i++)
		l->req[i] = evd(l, QUEUE_LINKS * REQUESTS, DAT_EVD_DTO_FLAG);
	l->rcv = evd(l, l->receives, DAT_EVD_DTO_FLAG);
	region.for_va = l->memory;
	OK(&l->r, face_lmr_create(l->ia, DAT_MEM_TYPE_VIRTUAL, region, l->size,
				  l->pz, DAT_MEM_PRIV_ALL_FLAG, &l->lmr,
				  &l->lkey, &l->mine.key, &size, &address));
	l->mine.base = (uintptr_t)l->memory;
	make_srq(l);
	listen_all(l);
}

void objects_ep(struct load *l, struct link *k)
{
	DAT_EVD_HANDLE req = l->req[k->index / QUEUE_LINKS];
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = (DAT_SEG_LENGTH)l->o->size,
		.max_rdma_size = (DAT_SEG_LENGTH)l->o->size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = 1,
		.max_request_dtos = REQUESTS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	if (l->o->ways[SRQ])
		OK(&l->r,
		   dat_ep_create_with_srq(l->ia, l->pz, l->rcv, req, l->conn,
					  l->srq, &attr, &k->ep));
	else
		OK(&l->r, dat_ep_create(l->ia, l->pz, l->rcv, req, l->conn,
					&attr, &k->ep));
}

static void empty(struct load *l, DAT_EVD_HANDLE e, const char *what)
{
	DAT_EVENT ev;

	if (DAT_GET_TYPE(dat_evd_dequeue(e, &ev)) != DAT_QUEUE_EMPTY)
		RANK_FAIL(&l->r, "%s: event 0x%x that is one too many", what,
			  ev.event_number);
}

void objects_quiet(struct load *l)
{
	empty(l, l->async, "asynchronous errors");
	empty(l, l->conn, "connections");
	empty(l, l->cr, "requests");
	for (int i = 0; i < l->queues; i++)
		empty(l, l->req[i], "completions");
}

/* Those that a program frees itself; the adapter's own queue is open still. */
static void count_open(struct load *l)
{
	static const struct {
		const char *name;
		int made, more, freed, left;
	} of[] = {
		{"pz", DCNT_IA_PZ_CREATE, -1, DCNT_IA_PZ_FREE, 0},
		{"lmr", DCNT_IA_LMR_CREATE, -1, DCNT_IA_LMR_FREE, 0},
		{"psp", DCNT_IA_PSP_CREATE, DCNT_IA_PSP_CREATE_ANY,
		 DCNT_IA_PSP_FREE, 0},
		{"evd", DCNT_IA_EVD_CREATE, -1, DCNT_IA_EVD_FREE, 1},
		{"ep", DCNT_IA_EP_CREATE, -1, DCNT_IA_EP_FREE, 0},
		{"srq", DCNT_IA_SRQ_CREATE, -1, DCNT_IA_SRQ_FREE, 0},
	};
	DAT_UINT64 c[DCNT_IA_ALL_COUNTERS];
	long long left;

	OK(&l->r, dat_ib_query_counters(l->ia, DCNT_IA_ALL_COUNTERS, c, 0));
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		left = (long long)(c[of[i].made] - c[of[i].freed]);
		if (of[i].more >= 0)
			left += (long long)c[of[i].more];
		if (left != of[i].left)
			RANK_FAIL(&l->r,
				  "the adapter's counters have %lld of %s open",
				  left, of[i].name);
	}
}

void objects_close(struct load *l, bool abrupt)
{
	if (abrupt) {
		OK(&l->r, dat_ia_close(l->ia, DAT_CLOSE_ABRUPT_FLAG));
		l->ia = DAT_HANDLE_NULL;
		for (int i = 0; i < l->links; i++)
			l->link[i].ep = DAT_HANDLE_NULL;
		return;
	}
	for (int i = 0; i < l->links; i++) {
		if (l->link[i].ep)
			OK(&l->r, dat_ep_free(l->link[i].ep));
		l->link[i].ep = DAT_HANDLE_NULL;
	}
	for (int i = 0; i < l->o->listeners; i++)
		OK(&l->r, dat_psp_free(l->psp[i]));
	if (l->o->ways[SRQ])
		OK(&l->r, dat_srq_free(l->srq));
	OK(&l->r, dat_lmr_free(l->lmr));
	OK(&l->r, dat_evd_free(l->cr));
	OK(&l->r, dat_evd_free(l->conn));
	for (int i = 0; i < l->queues; i++)
		OK(&l->r, dat_evd_free(l->req[i]));
	OK(&l->r, dat_evd_free(l->rcv));
	OK(&l->r, dat_pz_free(l->pz));
	count_open(l);
	OK(&l->r, dat_ia_close(l->ia, DAT_CLOSE_GRACEFUL_FLAG));
	l->ia = DAT_HANDLE_NULL;
}
