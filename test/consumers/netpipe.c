/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netpipe.c - what NetPIPE's NPudapl does, call by call, and what programs do
 * that only look at memory.
 *
 * Endpoints of 20,000 receives and requests, whose requests are suppressed; the
 * receive queue under a CNO; messages without a segment as a handshake; four
 * ways to wait for data, watching its last byte, even of a plain send, among
 * them; one event in the end that tells that all is out; thousands of writes
 * that nobody ever asks about; an abrupt end by one side; the queue that came
 * with the adapter freed.
 * Smaller than there: messages, of which there are fewer.
 * Facts: NPudapl's calls, flags and orders, none of its text. One thread, two
 * ranks, as there.
 */
#include "test/consumers/calls.h"

#include <stdlib.h>

#define QLEN	 1024
#define DTOS	 20000 /* or what the adapter has */
#define SIZE	 4096
#define ROUNDS	 10
#define FEW	 16   /* requests of who only writes */
#define WRITES	 2000 /* many times what fits */
#define MAX_RDMA 8388608

/* How the receiver learns that data is there. */
enum mode {
	WATCH,
	DEQUEUE,
	WAIT,
	CNO,
	MODES
};

struct np {
	struct rank *r;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr, conn, send, recv;
	DAT_CNO_HANDLE cno;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	uint8_t *out, *in; /* of SIZE each */
	uint64_t there;
	DAT_RMR_CONTEXT key;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

struct card {
	struct calls_addr addr;
	uint64_t in;
	DAT_RMR_CONTEXT key;
};

/* ------------------------------------------------------------------ setup */

static void make_queues(struct np *n)
{
	OK(n->r, dat_cno_create(n->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &n->cno));
	OK(n->r, dat_evd_create(n->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				&n->cr));
	OK(n->r, dat_evd_create(n->ia, QLEN, DAT_HANDLE_NULL,
				DAT_EVD_CONNECTION_FLAG, &n->conn));
	OK(n->r, dat_evd_create(n->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				&n->send));
	OK(n->r,
	   dat_evd_create(n->ia, QLEN, n->cno, DAT_EVD_DTO_FLAG, &n->recv));
}

static void make_endpoint(struct np *n, DAT_COUNT requests)
{
	DAT_COUNT most = n->attr.max_dto_per_ep;
	DAT_EP_ATTR a;

	memset(&a, 0, sizeof(a));
	a.service_type = DAT_SERVICE_TYPE_RC;
	a.max_message_size = MAX_RDMA;
	a.max_rdma_size = MAX_RDMA;
	a.qos = DAT_QOS_BEST_EFFORT;
	a.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	a.request_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	a.max_recv_dtos = most < DTOS ? most : DTOS;
	a.max_request_dtos = most < requests ? most : requests;
	a.max_recv_iov = 4;
	a.max_request_iov = 4;
	a.max_rdma_read_in = 4;
	a.max_rdma_read_out = 4;
	OK(n->r,
	   dat_ep_create(n->ia, n->pz, n->recv, n->send, n->conn, &a, &n->ep));
}

static void setup(struct np *n, DAT_COUNT requests)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN size;

	OK(n->r, dat_ia_open(n->r->adapter, QLEN, &n->async, &n->ia));
	OK(n->r,
	   dat_ia_query(n->ia, &n->async, DAT_IA_FIELD_ALL, &n->attr, 0, NULL));
	OK(n->r, dat_pz_create(n->ia, &n->pz));
	make_queues(n);
	make_endpoint(n, requests);
	n->out = calloc(2, SIZE);
	EXPECT(n->r, n->out);
	n->in = n->out + SIZE;
	region.for_va = n->out;
	OK(n->r, face_lmr_create(n->ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * SIZE,
				 n->pz, DAT_MEM_PRIV_ALL_FLAG, &n->lmr,
				 &n->lkey, &n->rkey, &size, &address));
}

/* Without a segment, and a cookie that is a null pointer. */
static void post_recv(struct np *n, size_t size)
{
	DAT_LMR_TRIPLET seg = calls_seg(n->in, size, n->lkey);

	OK(n->r,
	   dat_ep_post_recv(n->ep, size ? 1 : 0, size ? &seg : NULL,
			    calls_cookie(NULL), DAT_COMPLETION_DEFAULT_FLAG));
}

/* All that fit may be on their way: RET says so, and some time has passed. */
static bool has_no_room(DAT_RETURN ret)
{
	if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
		return false;
	rank_spin();
	return true;
}

static void post_send(struct np *n, size_t size, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = calls_seg(n->out, size, n->lkey);
	DAT_RETURN ret;

	do
		ret = dat_ep_post_send(n->ep, size ? 1 : 0, size ? &seg : NULL,
				       calls_cookie(NULL), flags);
	while (has_no_room(ret));
	OK(n->r, ret);
}

static void meet(struct np *n)
{
	struct card mine = {calls_addr_of(n->attr.ia_address_ptr),
			    (uintptr_t)n->in, n->rkey};
	DAT_CONN_QUAL qual = n->r->qual + 1;
	struct card all[2];
	DAT_EVENT ev;

	memset(all, 0, sizeof(all));
	if (n->r->id == 0)
		OK(n->r, dat_psp_create(n->ia, qual, n->cr,
					DAT_PSP_CONSUMER_FLAG, &n->psp));
	rank_allgather(n->r, &mine, sizeof(mine), all);
	n->there = all[!n->r->id].in;
	n->key = all[!n->r->id].key;
	post_recv(n, 0);
	if (n->r->id) {
		OK(n->r,
		   dat_ep_connect(n->ep, calls_addr_use(n->r, &all[0].addr),
				  qual, DAT_TIMEOUT_INFINITE, 0, NULL,
				  DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG));
	} else {
		ev = calls_wait(n->r, n->cr, DAT_CONNECTION_REQUEST_EVENT,
				"the client");
		OK(n->r,
		   dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle,
				 n->ep, 0, NULL));
	}
	calls_wait(n->r, n->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
		   "the connection");
}

/* ------------------------------------------------------------------- data */

static void received(struct np *n, const DAT_EVENT *ev, size_t size)
{
	EXPECT(n->r, calls_done(n->r, ev) == NULL);
	EXPECT_EQ(n->r,
		  ev->event_data.dto_completion_event_data.transfered_length,
		  size);
}

/* Nobody wakes up for the event of a message whose end has been seen. */
static void watch_last_byte(struct np *n, size_t size)
{
	DAT_EVENT ev;

	rank_waits(n->r, "the last byte of a message");
	while (!__atomic_load_n(&n->in[size - 1], __ATOMIC_ACQUIRE))
		rank_spin();
	while (DAT_GET_TYPE(dat_evd_dequeue(n->recv, &ev)) == DAT_QUEUE_EMPTY)
		rank_spin(); /* here its result is looked at */
	received(n, &ev, size);
}

static void wait_by_cno(struct np *n, size_t size)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;

	/* A trigger may be of an event that has been taken. */
	while ((ret = dat_evd_dequeue(n->recv, &ev)) != DAT_SUCCESS) {
		EXPECT_EQ(n->r, DAT_GET_TYPE(ret), DAT_QUEUE_EMPTY);
		rank_waits(n->r, "a trigger of the CNO");
		OK(n->r, dat_cno_wait(n->cno, DAT_TIMEOUT_INFINITE, &evd));
		EXPECT(n->r, evd == n->recv);
	}
	received(n, &ev, size);
}

static void await(struct np *n, enum mode mode, size_t size)
{
	DAT_EVENT ev;

	switch (mode) {
	case WATCH:
		watch_last_byte(n, size);
		return;
	case DEQUEUE:
		ev = calls_poll(n->r, n->recv, "a message");
		break;
	case WAIT:
		ev = calls_wait(n->r, n->recv, DAT_DTO_COMPLETION_EVENT,
				"a message");
		break;
	default:
		wait_by_cno(n, size);
		return;
	}
	received(n, &ev, size);
}

/* One event: that of the one message that asked for it. */
static void reset(struct np *n)
{
	DAT_EVENT ev;

	post_recv(n, 0);
	rank_barrier(n->r);
	if (n->r->id || !n->r->iwarp)
		post_send(n, 0, DAT_COMPLETION_DEFAULT_FLAG);
	ev = calls_poll(n->r, n->recv, "the other's reset");
	received(n, &ev, 0);
	if (!n->r->id && n->r->iwarp)
		post_send(n, 0, DAT_COMPLETION_DEFAULT_FLAG);
	ev = calls_poll(n->r, n->send, "the reset's event");
	calls_done(n->r, &ev);
	FAILS(n->r, dat_evd_dequeue(n->send, &ev), DAT_QUEUE_EMPTY);
}

static void ping_pong(struct np *n, enum mode mode)
{
	size_t size = 100 + 50 * (size_t)mode;

	for (unsigned int k = 0; k < ROUNDS; k++) {
		memset(n->in, 0, SIZE);
		post_recv(n, size);
		rank_barrier(n->r);
		for (int turn = 1; turn >= 0; turn--) {
			if (n->r->id != turn) {
				await(n, mode, size);
				rank_check(n->r, n->in, size - 1, !n->r->id,
					   n->r->id, k);
				continue;
			}
			rank_fill(n->out, size - 1, n->r->id, !n->r->id, k);
			n->out[size - 1] = 1;
			post_send(n, size, DAT_COMPLETION_SUPPRESS_FLAG);
		}
	}
	reset(n);
}

/* The word at the end is the number of the write; none of them has an event. */
static void writes(struct np *n)
{
	uint32_t *word = (uint32_t *)(void *)(n->in + SIZE - 4), k;
	DAT_RETURN ret;
	DAT_EVENT ev;

	memset(n->in, 0, SIZE);
	post_recv(n, 16);
	rank_barrier(n->r);
	if (n->r->id) {
		for (k = 1; k <= WRITES; k++) {
			DAT_LMR_TRIPLET seg =
				calls_seg(n->out + SIZE - 4, 4, n->lkey);
			DAT_RMR_TRIPLET to =
				calls_target(n->there + SIZE - 4, 4, n->key);

			/* The words before are on their way from there. */
			__atomic_store_n(
				(uint32_t *)(void *)(n->out + SIZE - 4), k,
				__ATOMIC_RELEASE);
			do
				ret = dat_ep_post_rdma_write(
					n->ep, 1, &seg, calls_cookie(NULL), &to,
					DAT_COMPLETION_SUPPRESS_FLAG);
			while (has_no_room(ret));
			OK(n->r, ret);
		}
		post_send(n, 16, DAT_COMPLETION_SUPPRESS_FLAG);
	}
	if (!n->r->id) {
		calls_poll_word(n->r, word, "a write");
		ev = calls_poll(n->r, n->recv, "what announces the last write");
		received(n, &ev, 16);
		EXPECT_EQ(n->r, __atomic_load_n(word, __ATOMIC_ACQUIRE),
			  WRITES);
		/* An answer, so that the other's receive is used, too. */
		post_send(n, 16, DAT_COMPLETION_SUPPRESS_FLAG);
	} else {
		ev = calls_poll(n->r, n->recv, "the answer");
		received(n, &ev, 16);
	}
	reset(n);
}

/* -------------------------------------------------------------- the close */

static void close_all(struct np *n)
{
	DAT_EVENT ev;

	if (n->r->id) {
		OK(n->r, dat_ep_disconnect(n->ep, DAT_CLOSE_ABRUPT_FLAG));
		calls_wait(n->r, n->conn, DAT_CONNECTION_EVENT_DISCONNECTED,
			   "the end");
	} else {
		ev = calls_poll(n->r, n->conn, "the client's end");
		EXPECT_EQ(n->r, ev.event_number,
			  DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	OK(n->r, dat_ep_free(n->ep));
	OK(n->r, dat_lmr_free(n->lmr));
	OK(n->r, dat_evd_free(n->send));
	OK(n->r, dat_evd_free(n->recv));
	OK(n->r, dat_evd_free(n->conn));
	OK(n->r, dat_cno_free(n->cno));
	if (n->psp)
		OK(n->r, dat_psp_free(n->psp));
	OK(n->r, dat_evd_free(n->cr));
	OK(n->r, dat_pz_free(n->pz));
	/* The adapter's own; whether it goes is not looked at. */
	(void)dat_evd_free(n->async);
	OK(n->r, dat_ia_close(n->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(n->out);
}

/* Without a byte; who has connected begins. */
static void handshake(struct np *n)
{
	DAT_EVENT ev;

	if (n->r->id)
		post_send(n, 0, DAT_COMPLETION_SUPPRESS_FLAG);
	ev = calls_poll(n->r, n->recv, "the handshake");
	received(n, &ev, 0);
	if (!n->r->id)
		post_send(n, 0, DAT_COMPLETION_SUPPRESS_FLAG);
	rank_barrier(n->r);
}

void netpipe(struct rank *r)
{
	struct np n = {.r = r};

	setup(&n, DTOS);
	meet(&n);
	handshake(&n);
	for (int mode = 0; mode < MODES; mode++)
		ping_pong(&n, (enum mode)mode);
	rank_barrier(r);
	close_all(&n);
}

void netpipe_memory(struct rank *r)
{
	struct np n = {.r = r};

	setup(&n, FEW);
	meet(&n);
	handshake(&n);
	writes(&n);
	rank_barrier(r);
	close_all(&n);
}
