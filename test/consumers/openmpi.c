/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * openmpi.c - what Open MPI's btl/udapl (1.2.9 to 1.6.5) does, call by call.
 *
 * One queue for all completions of all peers, polled; two endpoints for each
 * peer, made with the attributes that a query of a first one brought; addresses
 * by a side channel, and over each new connection; sends whose receiver may not
 * be ready; an eager ring that is written and watched in memory; a put that a
 * send announces; queues that grow while they are in use; a teardown that frees
 * what is used, and an exit with the adapter open.
 * Smaller than there: slots, messages. Longer: the time that a connection has.
 * Not here: its 100,000,000 progress calls. Facts: Open MPI's source, its
 * calls, flags and orders, none of its text. On iWARP receives are posted
 * before connections are made: nothing waits there for a receiver. One thread,
 * as there.
 */
#include "test/consumers/calls.h"

#include <stdlib.h>

#define NAMES	 8   /* asked of the registry */
#define QLEN	 256 /* of every queue, at first */
#define RECVS	 8   /* of an endpoint */
#define REQUESTS 76
#define PER_PEER (84 + 18) /* completions that a peer may have coming */
#define FRAG	 1024
#define EAGER	 3 /* messages over an endpoint to each peer */
#define SLOTS	 3 /* of an eager ring */
#define SLOT	 256
#define PUT	 8192
#define PUT_PART 4096 /* pipeline of a put */
#define EPS	 2    /* eager and max, to each peer */
#define SENDS	 (EAGER + 4)
#define PATIENT	 50000 /* turns until a silent peer is nudged */

enum message {
	HELLO,
	EAGER_DATA,
	RING,
	PUT_DONE,
	NUDGE
};

/* Over the side channel, and as the first message of a connection. */
struct address {
	struct calls_addr addr;
	DAT_CONN_QUAL qual;
	int id, which;
};

/* At the end of every message: where the receiver finds it by the length. */
struct footer {
	uint32_t type, number, size;
};

/* At the end of a slot that is written from afar. */
struct ring_footer {
	uint32_t size;
	uint8_t active, pad[3];
};

struct frag {
	struct endpoint *owner;
	DAT_LMR_TRIPLET seg, posted;
	uint8_t *mem;
	bool recv, write, nudge;
};

struct endpoint {
	struct peer *peer;
	DAT_EP_HANDLE ep;
	struct frag recv[RECVS], send[SENDS];
	int sends, which;
	unsigned int seen; /* messages with data */
	bool active, established;
};

struct peer {
	struct endpoint *by[EPS]; /* once the peer has named itself */
	uint8_t *ring, *put_from, *put_to;
	uint64_t there, put_there; /* the peer's ring and put target */
	DAT_RMR_CONTEXT key;
	unsigned int ring_seen;
	bool knows, put_done;
};

struct ring_message {
	uint64_t ring, put;
	DAT_RMR_CONTEXT key;
};

struct btl {
	struct rank *r;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn;
	DAT_EP_ATTR ep_attr;
	DAT_PSP_HANDLE psp;
	struct address self, all[RANKS_MAX];
	struct endpoint eps[RANKS_MAX * EPS];
	int n_eps, established, hellos, completions;
	struct peer peers[RANKS_MAX];
	uint8_t *mem;
	size_t used, size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

/* ---------------------------------------------------------------- modules */

/* Each name that the registry has is tried; one that fails is passed over. */
static void open_listed(struct btl *b)
{
	DAT_PROVIDER_INFO *block = calloc(NAMES, sizeof(*block));
	DAT_PROVIDER_INFO *list[NAMES];
	DAT_COUNT count = 0;
	DAT_RETURN ret;

	EXPECT(b->r, block);
	for (int i = 0; i < NAMES; i++)
		list[i] = &block[i];
	OK(b->r, dat_registry_list_providers(NAMES, &count, list));
	EXPECT(b->r, count >= 2);
	for (int i = 0; i < count; i++) {
		b->async = DAT_HANDLE_NULL;
		ret = dat_ia_open(block[i].ia_name, QLEN, &b->async, &b->ia);
		if (strcmp(block[i].ia_name, b->r->adapter) != 0) {
			EXPECT(b->r, ret != DAT_SUCCESS);
			continue;
		}
		/* The other version's line of that name is not for us. */
		OK(b->r, ret);
		break;
	}
	EXPECT(b->r, b->async != DAT_HANDLE_NULL);
	free(block);
}

static void open_module(struct btl *b)
{
	DAT_EVD_HANDLE opened;

	open_listed(b);
	opened = b->async;
	OK(b->r,
	   dat_ia_query(b->ia, &b->async, DAT_IA_FIELD_ALL, &b->attr, 0, NULL));
	EXPECT(b->r, b->async == opened);
	EXPECT(b->r, b->attr.max_dto_per_ep >= REQUESTS);
	OK(b->r, dat_pz_create(b->ia, &b->pz));
	OK(b->r,
	   dat_evd_create(b->ia, b->r->iwarp ? b->r->n * PER_PEER : QLEN,
			  DAT_HANDLE_NULL,
			  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &b->dto));
	OK(b->r,
	   dat_evd_create(b->ia, QLEN, DAT_HANDLE_NULL,
			  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &b->conn));
}

/* What a query says of an endpoint without attributes makes all others. */
static void learn_attributes(struct btl *b)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	OK(b->r,
	   dat_ep_create(b->ia, b->pz, b->dto, b->dto, b->conn, NULL, &ep));
	OK(b->r, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	b->ep_attr = param.ep_attr;
	b->ep_attr.max_recv_dtos = RECVS;
	b->ep_attr.max_request_dtos = REQUESTS;
	OK(b->r, dat_ep_free(ep));
}

static void listen_any(struct btl *b)
{
	OK(b->r, dat_psp_create_any(b->ia, &b->self.qual, b->conn,
				    DAT_PSP_CONSUMER_FLAG, &b->psp));
	/* It goes into sin_port. */
	EXPECT(b->r, b->self.qual && b->self.qual <= UINT16_MAX);
	b->self.addr = calls_addr_of(b->attr.ia_address_ptr);
	b->self.id = b->r->id;
}

static void register_memory(struct btl *b)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN size;

	b->size = (size_t)b->r->n *
		  (EPS * (RECVS + SENDS) * FRAG + 2 * SLOTS * SLOT + 2 * PUT);
	b->mem = rank_keep(b->r, b->size);
	region.for_va = b->mem;
	OK(b->r, face_lmr_create(b->ia, DAT_MEM_TYPE_VIRTUAL, region, b->size,
				 b->pz, DAT_MEM_PRIV_ALL_FLAG, &b->lmr,
				 &b->lkey, &b->rkey, &size, &address));
}

static uint8_t *take(struct btl *b, size_t size)
{
	uint8_t *p = b->mem + b->used;

	b->used += size;
	EXPECT(b->r, b->used <= b->size);
	return p;
}

/*
 * A queue grows to what its users need; what it has is asked for. Where the
 * device cannot do that, they are told to begin with more.
 */
static void grow(struct btl *b, DAT_EVD_HANDLE evd, DAT_COUNT need)
{
	DAT_EVD_PARAM param;
	DAT_RETURN ret;

	OK(b->r, dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	if (need <= param.evd_qlen)
		need = param.evd_qlen + 64;
	if (need > b->attr.max_evd_qlen)
		need = b->attr.max_evd_qlen;
	ret = dat_evd_resize(evd, need);
	if (b->r->iwarp && DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		return;
	OK(b->r, ret);
	OK(b->r, dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	EXPECT(b->r, param.evd_qlen >= need);
}

/* -------------------------------------------------------------- endpoints */

static void post_recv(struct btl *b, struct frag *f)
{
	f->posted = f->seg;
	f->recv = true;
	OK(b->r, dat_ep_post_recv(f->owner->ep, 1, &f->seg, calls_cookie(f),
				  DAT_COMPLETION_DEFAULT_FLAG));
}

static void init_frag(struct btl *b, struct endpoint *e, struct frag *f)
{
	f->owner = e;
	f->mem = take(b, FRAG);
	f->seg = calls_seg(f->mem, FRAG, b->lkey);
}

static struct endpoint *new_endpoint(struct btl *b)
{
	struct endpoint *e = &b->eps[b->n_eps++];

	EXPECT(b->r, b->n_eps <= EPS * (b->r->n - 1));
	OK(b->r, dat_ep_create(b->ia, b->pz, b->dto, b->dto, b->conn,
			       &b->ep_attr, &e->ep));
	for (int i = 0; i < RECVS; i++)
		init_frag(b, e, &e->recv[i]);
	for (int i = 0; i < SENDS; i++)
		init_frag(b, e, &e->send[i]);
	for (int i = 0; b->r->iwarp && i < RECVS; i++)
		post_recv(b, &e->recv[i]);
	return e;
}

/* TYPE, with what is in the fragment's memory, and where that ends. */
static void send_message(struct btl *b, struct endpoint *e, enum message type,
			 unsigned int number, size_t size)
{
	struct frag *f = &e->send[e->sends++];
	struct footer foot = {type, number, (uint32_t)size};

	EXPECT(b->r, e->sends <= SENDS);
	memcpy(f->mem + size, &foot, sizeof(foot));
	f->seg.segment_length = (FACE_SEG_LENGTH)(size + sizeof(foot));
	f->posted = f->seg;
	OK(b->r, dat_ep_post_send(e->ep, 1, &f->seg, calls_cookie(f),
				  DAT_COMPLETION_DEFAULT_FLAG));
}

/* Which endpoint of which peer a connection is, only its messages tell. */
static void say_hello(struct btl *b, struct endpoint *e)
{
	b->self.which = e->which;
	if (!b->r->iwarp)
		post_recv(b, &e->recv[0]);
	memcpy(e->send[e->sends].mem, &b->self, sizeof(b->self));
	send_message(b, e, HELLO, 0, sizeof(b->self));
}

/* Less than 0, 0 or more: address and qualifier, which nobody has twice. */
static int compare(const struct address *x, const struct address *y)
{
	int addr = memcmp(&x->addr, &y->addr, sizeof(x->addr));

	return addr ? addr : (x->qual > y->qual) - (x->qual < y->qual);
}

/* The one that has the greater address connects both. */
static void connect_peer(struct btl *b, int id)
{
	const struct address *to = &b->all[id];

	EXPECT(b->r, compare(&b->self, to));
	if (compare(&b->self, to) < 0)
		return;
	for (int which = 0; which < EPS; which++) {
		struct endpoint *e = new_endpoint(b);

		e->which = which;
		e->active = true;
		OK(b->r, dat_ep_connect(e->ep, calls_addr_use(b->r, &to->addr),
					to->qual, RANK_PATIENCE_US, 0, NULL,
					DAT_QOS_BEST_EFFORT,
					DAT_CONNECT_DEFAULT_FLAG));
	}
}

/* --------------------------------------------------------------- progress */

static void on_request(struct btl *b, const DAT_EVENT *ev)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *cr =
		&ev->event_data.cr_arrival_event_data;
	struct endpoint *e = new_endpoint(b);

	EXPECT_EQ(b->r, cr->conn_qual, b->self.qual);
	e->which = -1; /* the peer will tell */
	OK(b->r, dat_cr_accept(cr->cr_handle, e->ep, 0, NULL));
}

static struct endpoint *endpoint_of(struct btl *b, DAT_EP_HANDLE ep)
{
	for (int i = 0; i < b->n_eps; i++)
		if (b->eps[i].ep == ep)
			return &b->eps[i];
	RANK_FAIL(b->r, "an event of endpoint %p, which is none", (void *)ep);
}

static void on_established(struct btl *b, const DAT_EVENT *ev)
{
	struct endpoint *e =
		endpoint_of(b, ev->event_data.connect_event_data.ep_handle);

	EXPECT(b->r, !e->established);
	e->established = true;
	b->established++;
	if (!b->r->iwarp || e->active || e->peer)
		say_hello(b, e);
}

static void progress_connections(struct btl *b)
{
	DAT_EVENT ev;

	while (DAT_GET_TYPE(dat_evd_dequeue(b->conn, &ev)) == DAT_SUCCESS) {
		if (ev.event_number == DAT_CONNECTION_REQUEST_EVENT)
			on_request(b, &ev);
		else if (ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			on_established(b, &ev);
		else
			RANK_FAIL(b->r, "connection event 0x%x",
				  ev.event_number);
	}
}

static void on_hello(struct btl *b, struct endpoint *e, const struct frag *f)
{
	struct address from;

	memcpy(&from, f->mem, sizeof(from));
	EXPECT(b->r, from.id >= 0 && from.id < b->r->n && from.id != b->r->id);
	EXPECT(b->r, from.which >= -1 && from.which < EPS);
	EXPECT_EQ(b->r, from.qual, b->all[from.id].qual);
	if (e->which < 0)
		e->which = from.which;
	e->peer = &b->peers[from.id];
	EXPECT(b->r, !e->peer->by[e->which]);
	e->peer->by[e->which] = e;
	b->hellos++;
	/* On iWARP who was asked hears first. */
	if (b->r->iwarp && !e->active && e->established)
		say_hello(b, e);
	/* All receives but the first come only now: the peer may be ahead. */
	for (int i = 1; !b->r->iwarp && i < RECVS; i++)
		post_recv(b, &e->recv[i]);
}

static void on_ring(struct btl *b, struct peer *p, const struct frag *f)
{
	struct ring_message m;

	memcpy(&m, f->mem, sizeof(m));
	p->there = m.ring;
	p->put_there = m.put;
	p->key = m.key;
	EXPECT(b->r, !p->knows);
	p->knows = true;
}

static void on_message(struct btl *b, struct endpoint *e, struct frag *f,
		       DAT_VLEN length)
{
	int from = e->peer ? (int)(e->peer - b->peers) : -1;
	struct footer foot;

	EXPECT(b->r, length >= sizeof(foot) && length <= FRAG);
	memcpy(&foot, f->mem + length - sizeof(foot), sizeof(foot));
	EXPECT_EQ(b->r, foot.size, length - sizeof(foot));
	EXPECT(b->r, foot.type == HELLO || e->peer);
	switch (foot.type) {
	case HELLO:
		on_hello(b, e, f);
		break;
	case EAGER_DATA:
		/* In the order of the sends. */
		EXPECT_EQ(b->r, foot.number, e->seen);
		rank_check(b->r, f->mem, foot.size, from, b->r->id,
			   foot.number + 100u * (unsigned int)e->which);
		e->seen++;
		break;
	case RING:
		on_ring(b, e->peer, f);
		break;
	case NUDGE:
		break;
	case PUT_DONE:
		/* It cannot pass what was written before it. */
		rank_check(b->r, e->peer->put_to, PUT, from, b->r->id, 999);
		e->peer->put_done = true;
		break;
	default:
		RANK_FAIL(b->r, "a message of type %u", foot.type);
	}
}

static void on_completion(struct btl *b, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;
	struct frag *f = calls_done(b->r, ev);
	/* By the wrong member, which is the same place. */
	struct endpoint *e =
		endpoint_of(b, ev->event_data.connect_event_data.ep_handle);

	EXPECT(b->r, f->owner == e);
	EXPECT(b->r, !memcmp(&f->seg, &f->posted, sizeof(f->seg)));
	if (!f->recv) {
		b->completions += !f->nudge;
		return;
	}
	on_message(b, e, f, dto->transfered_length);
	post_recv(b, f);
}

/* Slots are right-aligned; the last word says that all of it is there. */
static void progress_rings(struct btl *b)
{
	for (int id = 0; id < b->r->n; id++) {
		struct peer *p = &b->peers[id];
		uint8_t *end = p->ring + (p->ring_seen + 1) * SLOT;
		struct ring_footer foot;

		if (id == b->r->id || p->ring_seen == SLOTS)
			continue;
		if (!__atomic_load_n(
			    end - sizeof(foot) +
				    offsetof(struct ring_footer, active),
			    __ATOMIC_ACQUIRE))
			continue;
		memcpy(&foot, end - sizeof(foot), sizeof(foot));
		EXPECT(b->r, foot.size <= SLOT - sizeof(foot));
		rank_check(b->r, end - sizeof(foot) - foot.size, foot.size, id,
			   b->r->id, 500 + p->ring_seen);
		p->ring_seen++;
	}
}

static void progress(struct btl *b)
{
	DAT_EVENT ev;

	while (DAT_GET_TYPE(dat_evd_dequeue(b->dto, &ev)) == DAT_SUCCESS)
		on_completion(b, &ev);
	progress_connections(b);
	progress_rings(b);
	rank_spin();
}

/* ------------------------------------------------------------------- data */

static void send_eager(struct btl *b, int id)
{
	for (int which = 0; which < EPS; which++) {
		struct endpoint *e = b->peers[id].by[which];

		for (unsigned int k = 0; k < EAGER; k++) {
			size_t size = FRAG / 2 - 37u * k;

			rank_fill(e->send[e->sends].mem, size, b->r->id, id,
				  k + 100u * (unsigned int)which);
			send_message(b, e, EAGER_DATA, k, size);
		}
	}
}

static void tell_ring(struct btl *b, int id)
{
	struct peer *p = &b->peers[id];
	struct ring_message m = {(uintptr_t)p->ring, (uintptr_t)p->put_to,
				 b->rkey};
	struct endpoint *e = p->by[0];

	memcpy(e->send[e->sends].mem, &m, sizeof(m));
	send_message(b, e, RING, 0, sizeof(m));
}

static struct frag *new_write(struct btl *b, struct endpoint *e, uint8_t *mem,
			      size_t size)
{
	struct frag *f = rank_keep(b->r, sizeof(*f));

	f->owner = e;
	f->mem = mem;
	f->write = true;
	f->seg = f->posted = calls_seg(mem, size, b->lkey);
	return f;
}

static void write_to(struct btl *b, struct frag *f, uint64_t there,
		     DAT_RMR_CONTEXT key)
{
	size_t size = (size_t)f->seg.segment_length;
	DAT_RMR_TRIPLET to = calls_target(there, size, key);

	OK(b->r,
	   dat_ep_post_rdma_write(f->owner->ep, 1, &f->seg, calls_cookie(f),
				  &to, DAT_COMPLETION_DEFAULT_FLAG));
}

static void write_ring(struct btl *b, int id)
{
	struct peer *p = &b->peers[id];

	for (unsigned int k = 0; k < SLOTS; k++) {
		size_t size = 64 + 29 * k, all;
		struct ring_footer foot = {(uint32_t)size, 1, {0}};
		uint8_t *mem;

		all = size + sizeof(foot);
		EXPECT(b->r, all <= SLOT);
		mem = take(b, all);
		rank_fill(mem, size, b->r->id, id, 500 + k);
		memcpy(mem + size, &foot, sizeof(foot));
		write_to(b, new_write(b, p->by[0], mem, all),
			 p->there + (k + 1) * SLOT - all, p->key);
	}
}

/* In parts, whose completions nobody waits for before it is announced. */
static void put(struct btl *b, int id)
{
	struct peer *p = &b->peers[id];

	rank_fill(p->put_from, PUT, b->r->id, id, 999);
	for (size_t at = 0; at < PUT; at += PUT_PART)
		write_to(b, new_write(b, p->by[1], p->put_from + at, PUT_PART),
			 p->put_there + at, p->key);
	send_message(b, p->by[1], PUT_DONE, 0, 0);
}

static bool all_known(const struct btl *b)
{
	for (int id = 0; id < b->r->n; id++)
		if (id != b->r->id && !b->peers[id].knows)
			return false;
	return true;
}

static bool all_here(const struct btl *b)
{
	/* hello and eager, by each endpoint; RING; writes; the put's parts and
	 * its end */
	const int each = EPS * (1 + EAGER) + 1 + SLOTS + PUT / PUT_PART + 1;

	if (b->completions < each * (b->r->n - 1))
		return false;
	for (int id = 0; id < b->r->n; id++) {
		const struct peer *p = &b->peers[id];

		if (id == b->r->id)
			continue;
		if (p->ring_seen < SLOTS || !p->put_done)
			return false;
		for (int which = 0; which < EPS; which++)
			if (p->by[which]->seen < EAGER)
				return false;
	}
	return true;
}

static void exchange(struct btl *b)
{
	int others = b->r->n - 1;

	for (int id = 0; id < b->r->n; id++) {
		if (id == b->r->id)
			continue;
		send_eager(b, id);
		tell_ring(b, id);
	}
	/* While all of that is under way. */
	grow(b, b->dto, others * PER_PEER + 1);
	grow(b, b->conn, 2 * others + 1);
	rank_waits(b->r, "where the peers' rings are");
	while (!all_known(b))
		progress(b);
	for (int id = 0; id < b->r->n; id++) {
		if (id == b->r->id)
			continue;
		write_ring(b, id);
		put(b, id);
	}
	rank_waits(b->r, "data of all peers");
	while (!all_here(b))
		progress(b);
}

/*
 * Soft iWARP may answer a request before it looks at the stream for the queue
 * pair: what the peer has sent by then lies there until more comes.
 */
static void nudge(struct btl *b)
{
	for (int i = 0; i < b->n_eps; i++) {
		struct endpoint *e = &b->eps[i];

		if (!e->active || !e->established || e->peer)
			continue;
		e->send[e->sends].nudge = true;
		send_message(b, e, NUDGE, 0, 0);
	}
}

static void meet(struct btl *b)
{
	const int all = EPS * (b->r->n - 1);
	int turns = 0;

	rank_allgather(b->r, &b->self, sizeof(b->self), b->all);
	for (int id = 0; id < b->r->n; id++) {
		struct peer *p = &b->peers[id];

		p->ring = take(b, SLOTS * SLOT);
		p->put_from = take(b, PUT);
		p->put_to = take(b, PUT);
	}
	grow(b, b->dto, (b->r->n - 1) * PER_PEER);
	grow(b, b->conn, 2 * (b->r->n - 1));
	for (int id = 0; id < b->r->n; id++)
		if (id != b->r->id)
			connect_peer(b, id);
	while (b->hellos < all || b->established < all) {
		rank_waits(b->r,
			   "connections, and the first message of each: %d and "
			   "%d are there of %d, and %d messages went out",
			   b->established, b->hellos, all, b->completions);
		progress(b);
		if (b->r->iwarp && ++turns == PATIENT)
			nudge(b);
	}
	EXPECT_EQ(b->r, b->established, all);
}

/* Nothing is freed in the order that would do. */
static void finalize(struct btl *b)
{
	DAT_EVENT ev;

	FAILS(b->r, dat_evd_dequeue(b->async, &ev), DAT_QUEUE_EMPTY);
	FAILS(b->r, dat_evd_free(b->dto), DAT_INVALID_STATE);
	FAILS(b->r, dat_evd_free(b->conn), DAT_INVALID_STATE);
	FAILS(b->r, dat_pz_free(b->pz), DAT_INVALID_STATE);
	FAILS(b->r, dat_ia_close(b->ia, DAT_CLOSE_GRACEFUL_FLAG),
	      DAT_INVALID_STATE);
}

void openmpi(struct rank *r)
{
	struct btl *b = rank_keep(r, sizeof(*b));

	b->r = r;
	open_module(b);
	learn_attributes(b);
	listen_any(b);
	register_memory(b);
	meet(b);
	rank_barrier(r);
	exchange(b);
	rank_barrier(r);
	finalize(b);
	/* The exit has the adapter open, and the library is in use. */
}
