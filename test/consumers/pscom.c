/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pscom.c - what ParaStation's pscom4dapl does, call by call.
 *
 * The listed adapters are tried in order; an adapter is asked for its address
 * alone; small queues, two for each connection; endpoints without attributes; a
 * qualifier that counts up while it is in use; 32 bytes of private data both
 * ways; then RDMA writes alone, into slots whose last 4 bytes are watched, and
 * put and get; an abrupt end that is waited for, and only then the endpoint
 * freed.
 * Smaller than there: slots. Facts: pscom4dapl's calls, flags and orders, none
 * of its text. One thread, as there.
 */
#include "test/consumers/calls.h"

#include <stdlib.h>

#define NAMES	 64
#define QLEN	 16
#define SLOTS	 16
#define SLOT	 256
#define MAGIC	 0x70736461u
#define TRIES	 100
#define WAIT_US	 3000000
#define MESSAGES (2 * SLOTS)
#define PUT	 2000

/* At the end of a slot. */
struct trailer {
	uint16_t token, len;
	uint32_t magic;
};

/* Private data, both ways: 32 bytes. */
struct place {
	uint32_t context, pad;
	uint64_t address;
};

struct private_data {
	struct place recv, credits;
};

struct con {
	DAT_EVD_HANDLE dto, conn;
	DAT_EP_HANDLE ep;
	uint8_t *out, *in; /* slots; behind them a word of credits */
	struct private_data mine, peers;
	unsigned int sent, seen, posts;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

struct psdapl {
	struct rank *r;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct calls_addr addr;
	struct con con[RANKS_MAX];
};

struct card {
	struct calls_addr addr;
	DAT_CONN_QUAL qual;
};

#define AREA (SLOTS * SLOT)
#define MEM  (2 * AREA + 2 * PUT + 16)

_Static_assert(sizeof(struct private_data) == 32, "as it is sent");

/* ------------------------------------------------------------------ setup */

static void open_first(struct psdapl *p)
{
	DAT_PROVIDER_INFO *block = calloc(NAMES, sizeof(*block));
	DAT_PROVIDER_INFO *list[NAMES];
	DAT_COUNT count = 0;
	int i;

	EXPECT(p->r, block);
	for (i = 0; i < NAMES; i++)
		list[i] = &block[i];
	OK(p->r, dat_registry_list_providers(NAMES, &count, list));
	for (i = 0; i < count; i++) {
		p->async = DAT_HANDLE_NULL;
		if (dat_ia_open(block[i].ia_name, QLEN, &p->async, &p->ia) ==
		    DAT_SUCCESS)
			break;
	}
	EXPECT(p->r, i > 0 && i < count);
	EXPECT(p->r, !strcmp(block[i].ia_name, p->r->adapter));
	free(block);
}

static void listen_somewhere(struct psdapl *p)
{
	DAT_CONN_QUAL begin =
		p->r->qual + (unsigned int)(p->r->id * RANK_QUALS);
	DAT_PSP_HANDLE other;
	DAT_RETURN ret;

	/* Somebody has it already. */
	OK(p->r,
	   dat_psp_create(p->ia, begin, p->cr, DAT_PSP_CONSUMER_FLAG, &other));
	p->qual = begin;
	for (int i = 0; i < TRIES; i++, p->qual++) {
		ret = dat_psp_create(p->ia, p->qual, p->cr,
				     DAT_PSP_CONSUMER_FLAG, &p->psp);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
	}
	OK(p->r, ret);
	EXPECT(p->r, p->qual > begin);
	OK(p->r, dat_psp_free(other));
}

static void setup(struct psdapl *p)
{
	DAT_EVD_HANDLE opened;
	DAT_IA_ATTR attr;

	open_first(p);
	opened = p->async;
	OK(p->r, dat_ia_query(p->ia, &p->async, DAT_IA_FIELD_IA_ADDRESS_PTR,
			      &attr, 0, NULL));
	EXPECT(p->r, p->async == opened);
	p->addr = calls_addr_of(attr.ia_address_ptr);
	OK(p->r, dat_pz_create(p->ia, &p->pz));
	OK(p->r, dat_evd_create(p->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				&p->cr));
	listen_somewhere(p);
}

static void new_con(struct psdapl *p, struct con *c)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN size;

	c->out = rank_keep(p->r, MEM);
	c->in = c->out + AREA;
	OK(p->r, dat_evd_create(p->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				&c->dto));
	OK(p->r,
	   dat_evd_create(p->ia, QLEN, DAT_HANDLE_NULL,
			  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &c->conn));
	OK(p->r,
	   dat_ep_create(p->ia, p->pz, c->dto, c->dto, c->conn, NULL, &c->ep));
	region.for_va = c->out;
	OK(p->r, face_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, MEM,
				 p->pz, DAT_MEM_PRIV_ALL_FLAG, &c->lmr,
				 &c->lkey, &c->rkey, &size, &address));
	c->mine.recv.context = c->mine.credits.context = c->rkey;
	c->mine.recv.address = (uintptr_t)c->in;
	c->mine.credits.address = (uintptr_t)(c->in + AREA);
}

/* ------------------------------------------------------------ connections */

static void established(struct psdapl *p, struct con *c,
			struct private_data *peers)
{
	DAT_EVENT ev =
		calls_wait(p->r, c->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
			   "a connection");
	const DAT_CONNECTION_EVENT_DATA *conn =
		&ev.event_data.connect_event_data;

	EXPECT(p->r, conn->ep_handle == c->ep);
	if (!peers)
		return;
	EXPECT(p->r, conn->private_data_size >= (int)sizeof(*peers));
	memcpy(peers, conn->private_data, sizeof(*peers));
}

static void be_client(struct psdapl *p, struct con *c, const struct card *to)
{
	new_con(p, c);
	OK(p->r,
	   dat_ep_connect(c->ep, calls_addr_use(p->r, &to->addr), to->qual,
			  DAT_TIMEOUT_INFINITE, sizeof(c->mine), &c->mine,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	established(p, c, &c->peers);
}

static void be_server(struct psdapl *p, struct con *c)
{
	DAT_EVENT ev = calls_wait(p->r, p->cr, DAT_CONNECTION_REQUEST_EVENT,
				  "a request");
	DAT_CR_HANDLE cr = ev.event_data.cr_arrival_event_data.cr_handle;
	DAT_CR_PARAM param;

	OK(p->r, dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	EXPECT(p->r, param.private_data_size >= (int)sizeof(c->peers));
	memcpy(&c->peers, param.private_data, sizeof(c->peers));
	new_con(p, c);
	OK(p->r, dat_cr_accept(cr, c->ep, sizeof(c->mine), &c->mine));
	established(p, c, NULL);
}

/* In turn, as one process of a job after the other is met. */
static void meet(struct psdapl *p)
{
	struct card mine = {p->addr, p->qual}, all[RANKS_MAX];

	memset(all, 0, sizeof(all));
	rank_allgather(p->r, &mine, sizeof(mine), all);
	for (int i = 0; i < p->r->n; i++) {
		for (int k = i + 1; k < p->r->n; k++) {
			if (p->r->id == i)
				be_server(p, &p->con[k]);
			else if (p->r->id == k)
				be_client(p, &p->con[i], &all[i]);
			rank_barrier(p->r);
		}
	}
}

/* ------------------------------------------------------------------- data */

/* A post's event, with a queue that many posts do not fit in. */
static void take_event(struct psdapl *p, struct con *c, const char *what)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	rank_waits(p->r, "%s", what);
	OK(p->r, dat_evd_wait(c->dto, WAIT_US * 10, 1, &ev, &more));
	calls_done(p->r, &ev);
	c->posts--;
}

static void write_to(struct psdapl *p, struct con *c, const void *from,
		     size_t size, uint64_t there, uint32_t key)
{
	DAT_LMR_TRIPLET seg = calls_seg(from, size, c->lkey);
	DAT_RMR_TRIPLET to = calls_target(there, size, key);
	DAT_DTO_COOKIE none = {0};

	if (c->posts == SLOTS / 2)
		take_event(p, c, "room for a write");
	OK(p->r, dat_ep_post_rdma_write(c->ep, 1, &seg, none, &to,
					DAT_COMPLETION_DEFAULT_FLAG));
	c->posts++;
}

/* Slots that the peer has emptied, which it writes into our memory. */
static unsigned int credits(const struct con *c)
{
	return __atomic_load_n((uint32_t *)(void *)(c->in + AREA),
			       __ATOMIC_ACQUIRE);
}

static bool send_next(struct psdapl *p, struct con *c, int to)
{
	uint16_t len = (uint16_t)(30 + 5 * c->sent);
	size_t all = len + sizeof(struct trailer);
	unsigned int slot = c->sent % SLOTS;
	uint8_t *end = c->out + (slot + 1) * SLOT;
	struct trailer t = {(uint16_t)c->sent, len, MAGIC};

	if (c->sent == MESSAGES || c->sent - credits(c) == SLOTS)
		return false;
	rank_fill(end - all, len, p->r->id, to, c->sent);
	memcpy(end - sizeof(t), &t, sizeof(t));
	write_to(p, c, end - all, all,
		 c->peers.recv.address + (slot + 1) * SLOT - all,
		 c->peers.recv.context);
	c->sent++;
	return true;
}

/* The slot is cleared before the peer hears that it may have it again. */
static bool receive_next(struct psdapl *p, struct con *c, int from)
{
	uint8_t *end = c->in + (c->seen % SLOTS + 1) * SLOT;
	uint32_t *magic = (uint32_t *)(void *)(end - 4), *told;
	struct trailer t;

	if (c->seen == MESSAGES ||
	    __atomic_load_n(magic, __ATOMIC_ACQUIRE) != MAGIC)
		return false;
	memcpy(&t, end - sizeof(t), sizeof(t));
	EXPECT_EQ(p->r, t.token, c->seen);
	EXPECT_EQ(p->r, t.len, 30 + 5 * c->seen);
	rank_check(p->r, end - sizeof(t) - t.len, t.len, from, p->r->id,
		   c->seen);
	__atomic_store_n(magic, 0, __ATOMIC_RELEASE);
	told = (uint32_t *)(void *)(c->in + AREA + 8);
	*told = ++c->seen;
	write_to(p, c, told, sizeof(*told), c->peers.credits.address,
		 c->peers.credits.context);
	return true;
}

static void exchange(struct psdapl *p)
{
	bool more = true;

	rank_waits(p->r, "messages in slots");
	while (more) {
		bool moved = false;

		more = false;
		for (int i = 0; i < p->r->n; i++) {
			struct con *c = &p->con[i];

			if (i == p->r->id)
				continue;
			moved |= send_next(p, c, i);
			moved |= receive_next(p, c, i);
			more |= c->sent < MESSAGES || c->seen < MESSAGES;
		}
		if (!moved)
			rank_spin();
	}
}

/* With the contexts that the region got, and no window. */
static void put_and_get(struct psdapl *p, struct con *c, int peer)
{
	uint8_t *from = c->in + AREA + 16, *back = c->out;
	uint64_t there = c->peers.recv.address + AREA + 16 + PUT;
	DAT_LMR_TRIPLET seg = calls_seg(back, PUT, c->lkey);
	DAT_RMR_TRIPLET target =
		calls_target(there, PUT, c->peers.recv.context);

	while (c->posts)
		take_event(p, c, "the slots' events");
	rank_fill(from, PUT, p->r->id, peer, 1000);
	write_to(p, c, from, PUT, there, c->peers.recv.context);
	take_event(p, c, "a put");
	OK(p->r, dat_ep_post_rdma_read(c->ep, 1, &seg, calls_cookie(c), &target,
				       DAT_COMPLETION_DEFAULT_FLAG));
	c->posts++;
	take_event(p, c, "a get");
	rank_check(p->r, back, PUT, p->r->id, peer, 1000);
}

/* -------------------------------------------------------------- the close */

static void close_con(struct psdapl *p, struct con *c)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	OK(p->r, dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	rank_waits(p->r, "the end of a connection");
	OK(p->r, dat_evd_wait(c->conn, WAIT_US * 10, 1, &ev, &more));
	EXPECT_EQ(p->r, ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(p->r, dat_ep_free(c->ep));
	OK(p->r, dat_evd_free(c->dto));
	OK(p->r, dat_evd_free(c->conn));
	OK(p->r, dat_lmr_free(c->lmr));
}

void pscom(struct rank *r)
{
	struct psdapl p = {.r = r};
	DAT_COUNT more;
	DAT_EVENT ev;

	setup(&p);
	meet(&p);
	exchange(&p);
	for (int i = 0; i < r->n; i++)
		if (i != r->id)
			put_and_get(&p, &p.con[i], i);
	FAILS(r, dat_evd_wait(p.cr, 1000, 1, &ev, &more), DAT_TIMEOUT_EXPIRED);
	FAILS(r, dat_evd_dequeue(p.cr, &ev), DAT_QUEUE_EMPTY);
	rank_barrier(r);
	for (int i = 0; i < r->n; i++)
		if (i != r->id)
			close_con(&p, &p.con[i]);
	OK(r, dat_psp_free(p.psp));
	OK(r, dat_evd_free(p.cr));
	OK(r, dat_pz_free(p.pz));
	OK(r, dat_ia_close(p.ia, DAT_CLOSE_GRACEFUL_FLAG));
}
