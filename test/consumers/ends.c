/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ends.c - a connection from end to end, step by step, each of which is of one
 * version of DAT: what the two have to agree on.
 *
 * A refusal, in 2.0 with data, which is PEER_REJECTED; a connection with data
 * both ways, as much as all providers promise; messages both ways; an end from
 * each side. Then all of it the other way round: who asked listens.
 * Facts: the promises of both versions: 48 bytes of private data, events.
 * One thread, two ranks.
 */
#include "test/consumers/calls.h"

#include <stdlib.h>

#define PRIVATE 48
#define SIZE	1000

struct ends {
	struct rank *r;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, dto, cr, conn;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;
	struct calls_addr peer;
	uint8_t *in, *out;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

static void setup(struct ends *e)
{
	struct calls_addr mine, all[2];
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_IA_ATTR attr;
	DAT_VLEN size;

	OK(e->r, dat_ia_open(e->r->adapter, 8, &e->async, &e->ia));
	OK(e->r,
	   dat_ia_query(e->ia, &e->async, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	OK(e->r, dat_pz_create(e->ia, &e->pz));
	OK(e->r, dat_evd_create(e->ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				&e->dto));
	OK(e->r,
	   dat_evd_create(e->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &e->cr));
	OK(e->r, dat_evd_create(e->ia, 16, DAT_HANDLE_NULL,
				DAT_EVD_CONNECTION_FLAG, &e->conn));
	e->in = calloc(2, SIZE);
	EXPECT(e->r, e->in);
	e->out = e->in + SIZE;
	region.for_va = e->in;
	OK(e->r, face_lmr_create(e->ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * SIZE,
				 e->pz, DAT_MEM_PRIV_ALL_FLAG, &e->lmr,
				 &e->lkey, &e->rkey, &size, &address));
	mine = calls_addr_of(attr.ia_address_ptr);
	rank_allgather(e->r, &mine, sizeof(mine), all);
	e->peer = all[!e->r->id];
}

static void new_endpoint(struct ends *e)
{
	OK(e->r,
	   dat_ep_create(e->ia, e->pz, e->dto, e->dto, e->conn, NULL, &e->ep));
}

/* --------------------------------------------------------------- listener */

static DAT_CR_HANDLE request(struct ends *e, unsigned int number)
{
	DAT_EVENT ev = calls_wait(e->r, e->cr, DAT_CONNECTION_REQUEST_EVENT,
				  "a request");
	const DAT_CR_ARRIVAL_EVENT_DATA *cr =
		&ev.event_data.cr_arrival_event_data;
	DAT_CR_PARAM param;

	EXPECT_EQ(e->r, cr->conn_qual, e->qual);
	OK(e->r, dat_cr_query(cr->cr_handle, DAT_CR_FIELD_ALL, &param));
	EXPECT(e->r, param.private_data_size >= PRIVATE);
	rank_check(e->r, param.private_data, PRIVATE, !e->r->id, e->r->id,
		   number);
	return cr->cr_handle;
}

static void reject(struct ends *e, DAT_CR_HANDLE cr, uint8_t *data)
{
#if DAT_FACE == 1
	(void)data;
	OK(e->r, dat_cr_reject(cr));
#else
	rank_fill(data, PRIVATE, e->r->id, !e->r->id, 3);
	OK(e->r, dat_cr_reject(cr, PRIVATE, data));
#endif
}

static void listener_meets(struct ends *e)
{
	uint8_t data[PRIVATE];
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	OK(e->r, dat_psp_create(e->ia, e->qual, e->cr, DAT_PSP_CONSUMER_FLAG,
				&e->psp));
	rank_barrier(e->r);
	reject(e, request(e, 1), data);
	cr = request(e, 2);
	rank_fill(data, PRIVATE, e->r->id, !e->r->id, 4);
	OK(e->r, dat_cr_accept(cr, e->ep, PRIVATE, data));
	ev = calls_wait(e->r, e->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
			"the connection");
	EXPECT_EQ(e->r, ev.event_data.connect_event_data.private_data_size, 0);
}

/* ------------------------------------------------------------------ asker */

static void connect_with(struct ends *e, unsigned int number)
{
	uint8_t data[PRIVATE];

	rank_fill(data, PRIVATE, e->r->id, !e->r->id, number);
	OK(e->r, dat_ep_connect(e->ep, calls_addr_use(e->r, &e->peer), e->qual,
				RANK_PATIENCE_US, PRIVATE, data,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void refused(struct ends *e, bool with_data)
{
	DAT_EVENT ev =
		calls_wait(e->r, e->conn, DAT_CONNECTION_EVENT_PEER_REJECTED,
			   "the refusal");
	const DAT_CONNECTION_EVENT_DATA *conn =
		&ev.event_data.connect_event_data;

	EXPECT(e->r, conn->ep_handle == e->ep);
	if (with_data) {
		EXPECT(e->r, conn->private_data_size >= PRIVATE);
		rank_check(e->r, conn->private_data, PRIVATE, !e->r->id,
			   e->r->id, 3);
	}
	OK(e->r, dat_ep_reset(e->ep));
}

static void asker_meets(struct ends *e, bool peer_has_data)
{
	const DAT_CONNECTION_EVENT_DATA *conn;
	DAT_EVENT ev;

	rank_barrier(e->r);
	connect_with(e, 1);
	refused(e, peer_has_data);
	connect_with(e, 2);
	ev = calls_wait(e->r, e->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
			"the connection");
	conn = &ev.event_data.connect_event_data;
	EXPECT(e->r, conn->private_data_size >= PRIVATE);
	rank_check(e->r, conn->private_data, PRIVATE, !e->r->id, e->r->id, 4);
}

/* ------------------------------------------------------------------- data */

/*
 * Waits for the completions of a send of OUT bytes and a receive of IN, 0: of
 * none. Devices tell of a queue in order, but not of two: the answer may be
 * there before the acknowledgement of what it answers.
 */
static void complete(struct ends *e, size_t out, size_t in)
{
	while (out || in) {
		DAT_EVENT ev = calls_poll(e->r, e->dto, "a message");
		void *cookie = calls_done(e->r, &ev);
		size_t *size = cookie == e->out ? &out : &in;

		EXPECT(e->r, cookie == e->out || cookie == e->in);
		EXPECT(e->r, *size);
		EXPECT_EQ(e->r,
			  ev.event_data.dto_completion_event_data
				  .transfered_length,
			  *size);
		*size = 0;
	}
}

static size_t size_from(int rank)
{
	return SIZE - 10 * (size_t)rank;
}

/* Sends, and waits for an answer too if ANSWERED. */
static void send_one(struct ends *e, bool answered)
{
	size_t size = size_from(e->r->id);
	DAT_LMR_TRIPLET seg = calls_seg(e->out, size, e->lkey);

	rank_fill(e->out, size, e->r->id, !e->r->id, 5);
	OK(e->r, dat_ep_post_send(e->ep, 1, &seg, calls_cookie(e->out),
				  DAT_COMPLETION_DEFAULT_FLAG));
	complete(e, size, answered ? size_from(!e->r->id) : 0);
}

static void check_received(struct ends *e)
{
	rank_check(e->r, e->in, size_from(!e->r->id), !e->r->id, e->r->id, 5);
}

static void post_recv(struct ends *e)
{
	DAT_LMR_TRIPLET seg = calls_seg(e->in, SIZE, e->lkey);

	OK(e->r, dat_ep_post_recv(e->ep, 1, &seg, calls_cookie(e->in),
				  DAT_COMPLETION_DEFAULT_FLAG));
}

/* Rank LISTENER is asked; in the end rank LEAVER leaves. */
static void one_way(struct ends *e, int listener, int leaver, bool peer_is_2)
{
	bool listens = e->r->id == listener;

	e->qual = e->r->qual + 4 + (unsigned int)listener;
	new_endpoint(e);
	if (listens)
		listener_meets(e);
	else
		asker_meets(e, peer_is_2);
	post_recv(e);
	rank_barrier(e->r);
	if (listens)
		complete(e, 0, size_from(!e->r->id));
	else
		send_one(e, true);
	check_received(e);
	if (listens)
		send_one(e, false);
	rank_barrier(e->r);
	if (e->r->id == leaver)
		OK(e->r, dat_ep_disconnect(e->ep, DAT_CLOSE_DEFAULT));
	calls_wait(e->r, e->conn, DAT_CONNECTION_EVENT_DISCONNECTED, "the end");
	OK(e->r, dat_ep_free(e->ep));
	if (listens)
		OK(e->r, dat_psp_free(e->psp));
	rank_barrier(e->r);
}

void ends(struct rank *r)
{
	struct ends e = {.r = r};
	int mine = DAT_FACE, face[2];

	rank_allgather(r, &mine, sizeof(mine), face);
	setup(&e);
	for (int i = 0; i < 4; i++)
		one_way(&e, i / 2, i % 2, face[!r->id] == 2);
	OK(r, dat_evd_free(e.dto));
	OK(r, dat_evd_free(e.cr));
	OK(r, dat_evd_free(e.conn));
	OK(r, dat_lmr_free(e.lmr));
	OK(r, dat_pz_free(e.pz));
	OK(r, dat_ia_close(e.ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(e.in);
}
