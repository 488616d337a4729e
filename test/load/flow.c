/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * flow.c - data, in each way that MPI libraries move it, in both directions of
 * each link at once, and all of it checked.
 *
 * Each link has a ring in the peer's memory: a message is one RDMA write into a
 * slot, right-aligned, whose last byte is watched; slots come back by a count
 * that the peer writes. Small data is a message of the ring (EAGER); larger
 * data is asked for and offered by such messages and then written (PUT) or read
 * (GET). Sends (SRQ) go into receives that all links share: a peer is at most a
 * round ahead, so there are receives for two.
 * A way's n-th transfer of a link has bytes and a size of its own, which both
 * ends know.
 * Called by the rank's own thread. Rule: dat_ep_post_rdma_write(3) says what is
 * in order with what.
 */
#include "test/load/load.h"

#include <stdlib.h>

#define SLOTS	4
#define SLOT	256
#define EAGERS	6 /* in a round: more than there are slots */
#define SENDS	2
#define POLLS	64   /* events, before the rings are looked at again */
#define PATIENT 1000 /* looks in vain, until a silent peer is nudged */

enum message {
	DATA = 1,
	PUT_RTS,
	PUT_CTS,
	PUT_FIN,
	GET_RTS,
	GET_FIN
};

/* At the end of a slot. */
struct tail {
	uint32_t number;
	uint16_t size;
	uint8_t message, unused[8];
	uint8_t flag; /* the last byte, never 0 */
};

_Static_assert(sizeof(struct tail) == 16, "the flag is the last byte");

/* Where the data is, or may go. */
struct spot {
	uint64_t address;
	DAT_RMR_CONTEXT key;
	uint32_t size;
};

/* A link's memory; the peer's is laid out alike. SIZE bytes follow 4 times. */
struct area {
	uint8_t in[SLOTS][SLOT], out[SLOTS][SLOT];
	uint8_t sends[SENDS][SLOT];
	uint32_t credits, told; /* slots of ours that the peer has emptied; of
				   its own */
	uint8_t pad[56];
	uint8_t bulk[];
};

enum bulk {
	PUT_IN,
	PUT_OUT,
	GET_IN,
	GET_OUT,
	BULKS
};

/* What a cookie says besides the link's index. */
enum post {
	P_RING,
	P_CREDIT,
	P_PUT,
	P_GET,
	P_SEND,
	POSTS
};

struct flow {
	unsigned int sent[WAYS], got[WAYS];
	unsigned int ring_sent, ring_done, ring_seen;
	int busy[POSTS];    /* requests that have not completed */
	unsigned int sends; /* posted ever */
	bool put_asked, put_written, get_offered;
	bool owe_cts, owe_get_fin, nudged;
};

static const unsigned int per_round[WAYS] = {EAGERS, 1, 1, SENDS};

/* ---------------------------------------------------------------- layout */

static size_t area_size(const struct load *l)
{
	size_t bulk = ((size_t)l->o->size + 63) / 64 * 64;

	return sizeof(struct area) + BULKS * bulk;
}

static struct area *area(const struct load *l, const struct link *k)
{
	return (void *)(l->memory + (size_t)k->index * area_size(l));
}

static uint8_t *bulk(const struct load *l, const struct link *k, enum bulk b)
{
	return area(l, k)->bulk + b * (((size_t)l->o->size + 63) / 64 * 64);
}

/* Where a place of ours is in the peer's memory. */
static uint64_t there(const struct load *l, const struct link *k,
		      const void *here)
{
	return l->cards[k->peer].base + (size_t)k->mirror * area_size(l) +
	       (uint64_t)((const uint8_t *)here - (uint8_t *)area(l, k));
}

static uint8_t *receive(const struct load *l, int i)
{
	return l->memory + (size_t)l->links * area_size(l) + (size_t)i * SLOT;
}

void flow_layout(struct load *l)
{
	size_t page = 4096;

	l->receives = l->o->ways[SRQ] ? 2 * SENDS * l->links : 0;
	l->size = (size_t)l->links * area_size(l) + (size_t)l->receives * SLOT;
	l->size = (l->size + page - 1) / page * page;
	l->memory = aligned_alloc(page, l->size);
	EXPECT(&l->r, l->memory);
	for (int i = 0; i < l->links; i++) {
		l->link[i].flow = calloc(1, sizeof(struct flow));
		EXPECT(&l->r, l->link[i].flow);
	}
}

/* A transfer's number: of all that both ends know, and no other has. */
static unsigned int number(const struct load *l, const struct link *k,
			   enum way way, unsigned int n, bool out)
{
	int from = l->r.n == 1 ? (out ? k->index : k->mirror) : k->number;
	uint64_t x = ((uint64_t)l->o->seed << 32) + (unsigned int)l->cycle;

	x = (x ^ (uint64_t)from << 20 ^ (uint64_t)way << 56) *
	    0x9e3779b97f4a7c15u;
	x = (x ^ n ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return (unsigned int)(x >> 32);
}

static size_t size_of(const struct load *l, const struct link *k, enum way way,
		      unsigned int n, bool out)
{
	size_t most = way == PUT || way == GET ? (size_t)l->o->size
					       : SLOT - sizeof(struct tail);

	return 1 + number(l, k, way, n, out) % most;
}

static void fill(struct load *l, const struct link *k, enum way way,
		 unsigned int n, void *at)
{
	rank_fill(at, size_of(l, k, way, n, true), l->r.id, k->peer,
		  number(l, k, way, n, true));
}

static void check(struct load *l, const struct link *k, enum way way,
		  const void *at, size_t size)
{
	unsigned int n = k->flow->got[way]++;

	EXPECT_EQ(&l->r, size, size_of(l, k, way, n, false));
	rank_check(&l->r, at, size, k->peer, l->r.id,
		   number(l, k, way, n, false));
	l->tally->transfers++;
	l->tally->bytes += size;
}

/* ----------------------------------------------------------------- posts */

static DAT_DTO_COOKIE cookie(const struct link *k, enum post what)
{
	return (DAT_DTO_COOKIE){.as_64 = (DAT_UINT64)k->index * POSTS + what};
}

static void post_write(struct load *l, struct link *k, const void *from,
		       size_t size, uint64_t to, DAT_RMR_CONTEXT key,
		       enum post what)
{
	DAT_LMR_TRIPLET seg = calls_seg(from, size, l->lkey);
	DAT_RMR_TRIPLET target = calls_target(to, size, key);

	OK(&l->r, dat_ep_post_rdma_write(k->ep, 1, &seg, cookie(k, what),
					 &target, DAT_COMPLETION_DEFAULT_FLAG));
	k->flow->busy[what]++;
}

static bool ring_full(const struct load *l, const struct link *k)
{
	const struct flow *f = k->flow;
	unsigned int back =
		__atomic_load_n(&area(l, k)->credits, __ATOMIC_ACQUIRE);

	return f->ring_sent - back == SLOTS ||
	       f->ring_sent - f->ring_done == SLOTS;
}

/* A place for SIZE bytes of a message that ring_send() sends then. */
static void *ring_place(const struct load *l, const struct link *k, size_t size)
{
	uint8_t *slot = area(l, k)->out[k->flow->ring_sent % SLOTS];

	return slot + SLOT - sizeof(struct tail) - size;
}

static void ring_send(struct load *l, struct link *k, enum message m,
		      size_t size)
{
	struct flow *f = k->flow;
	struct tail t = {
		.number = f->ring_sent,
		.size = (uint16_t)size,
		.message = (uint8_t)m,
		.flag = (uint8_t)(1 + f->ring_sent % 255),
	};
	uint8_t *slot = area(l, k)->out[f->ring_sent % SLOTS];
	size_t all = size + sizeof(t);
	uint8_t *to = area(l, k)->in[f->ring_sent % SLOTS];

	memcpy(slot + SLOT - sizeof(t), &t, sizeof(t));
	post_write(l, k, slot + SLOT - all, all, there(l, k, to + SLOT - all),
		   l->cards[k->peer].key, P_RING);
	f->ring_sent++;
}

static void ring_spot(struct load *l, struct link *k, enum message m,
		      const void *at, size_t size)
{
	struct spot s = {(uintptr_t)at, l->mine.key, (uint32_t)size};

	memcpy(ring_place(l, k, sizeof(s)), &s, sizeof(s));
	ring_send(l, k, m, sizeof(s));
}

static void post_send(struct load *l, struct link *k)
{
	struct flow *f = k->flow;
	unsigned int n = f->sends++;
	uint8_t *at = area(l, k)->sends[n % SENDS];
	size_t size = size_of(l, k, SRQ, n, true);
	struct tail t = {.number = (uint32_t)k->mirror, .size = (uint16_t)size};
	DAT_LMR_TRIPLET seg = calls_seg(at, size + sizeof(t), l->lkey);

	memcpy(at, &t, sizeof(t));
	fill(l, k, SRQ, n, at + sizeof(t));
	OK(&l->r, dat_ep_post_send(k->ep, 1, &seg, cookie(k, P_SEND),
				   DAT_COMPLETION_DEFAULT_FLAG));
	f->busy[P_SEND]++;
}

static void post_receive(struct load *l, int i)
{
	DAT_LMR_TRIPLET seg = calls_seg(receive(l, i), SLOT, l->lkey);
	DAT_DTO_COOKIE c = {.as_64 = (DAT_UINT64)i};

	OK(&l->r, dat_srq_post_recv(l->srq, 1, &seg, c));
}

/* ---------------------------------------------------------- what arrives */

/* Written at once, and said so right behind. */
static void on_cts(struct load *l, struct link *k, const struct spot *s)
{
	struct flow *f = k->flow;

	EXPECT(&l->r, f->put_asked && !f->put_written);
	EXPECT_EQ(&l->r, s->size, size_of(l, k, PUT, f->sent[PUT], true));
	post_write(l, k, bulk(l, k, PUT_OUT), s->size, s->address, s->key,
		   P_PUT);
	f->put_written = true;
}

static void read_from(struct load *l, struct link *k, const struct spot *s)
{
	DAT_LMR_TRIPLET seg = calls_seg(bulk(l, k, GET_IN), s->size, l->lkey);
	DAT_RMR_TRIPLET from = calls_target(s->address, s->size, s->key);

	EXPECT(&l->r, !k->flow->busy[P_GET] && !k->flow->owe_get_fin);
	EXPECT(&l->r, s->size <= (uint32_t)l->o->size);
	memset(bulk(l, k, GET_IN), 0xee, s->size);
	OK(&l->r, dat_ep_post_rdma_read(k->ep, 1, &seg, cookie(k, P_GET), &from,
					DAT_COMPLETION_DEFAULT_FLAG));
	k->flow->busy[P_GET]++;
}

static void on_message(struct load *l, struct link *k, enum message m,
		       const void *data, size_t size)
{
	struct flow *f = k->flow;
	struct spot s = {.size = 0};

	if (m == PUT_RTS || m == PUT_CTS || m == PUT_FIN || m == GET_RTS) {
		EXPECT_EQ(&l->r, size, sizeof(s));
		memcpy(&s, data, sizeof(s));
	}
	switch (m) {
	case DATA:
		check(l, k, EAGER, data, size);
		break;
	case PUT_RTS:
		EXPECT(&l->r, !f->owe_cts);
		memset(bulk(l, k, PUT_IN), 0xee, (size_t)l->o->size);
		f->owe_cts = true;
		break;
	case PUT_CTS:
		on_cts(l, k, &s);
		break;
	case PUT_FIN:
		check(l, k, PUT, bulk(l, k, PUT_IN), s.size);
		break;
	case GET_RTS:
		read_from(l, k, &s);
		break;
	case GET_FIN:
		EXPECT(&l->r, f->get_offered);
		f->get_offered = false;
		f->sent[GET]++;
		break;
	default:
		RANK_FAIL(&l->r, "a message %d from rank %d", (int)m, k->peer);
	}
}

static bool ring_poll(struct load *l, struct link *k)
{
	struct flow *f = k->flow;
	uint8_t *slot = area(l, k)->in[f->ring_seen % SLOTS];
	uint8_t flag = __atomic_load_n(&slot[SLOT - 1], __ATOMIC_ACQUIRE);
	struct tail t;

	if (!flag)
		return false;
	memcpy(&t, slot + SLOT - sizeof(t), sizeof(t));
	EXPECT_EQ(&l->r, flag, 1 + f->ring_seen % 255);
	EXPECT_EQ(&l->r, t.number, f->ring_seen);
	EXPECT(&l->r, t.size <= SLOT - sizeof(t));
	on_message(l, k, t.message, slot + SLOT - sizeof(t) - t.size, t.size);
	__atomic_store_n(&slot[SLOT - 1], 0, __ATOMIC_RELEASE);
	f->ring_seen++;
	return true;
}

static void on_receive(struct load *l, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	int i = (int)dto->user_cookie.as_64;
	const uint8_t *at = receive(l, i);
	struct link *k;
	struct tail t;

	memcpy(&t, at, sizeof(t));
	EXPECT(&l->r, t.number < (uint32_t)l->links);
	k = &l->link[t.number];
	EXPECT(&l->r, dto->ep_handle == k->ep);
	EXPECT_EQ(&l->r, dto->transfered_length, t.size + sizeof(t));
	check(l, k, SRQ, at + sizeof(t), t.size);
	post_receive(l, i);
}

static void on_request_done(struct load *l,
			    const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	DAT_UINT64 c = dto->user_cookie.as_64;
	struct link *k = &l->link[c / POSTS];
	struct flow *f = k->flow;
	enum post what = (enum post)(c % POSTS);

	EXPECT(&l->r, dto->ep_handle == k->ep);
	EXPECT(&l->r, f->busy[what] > 0);
	f->busy[what]--;
	switch (what) {
	case P_RING:
		f->ring_done++;
		break;
	case P_GET:
		check(l, k, GET, bulk(l, k, GET_IN),
		      size_of(l, k, GET, f->got[GET], false));
		f->owe_get_fin = true;
		break;
	case P_SEND:
		f->sent[SRQ]++;
		break;
	default:
		break;
	}
}

static bool events(struct load *l, DAT_EVD_HANDLE evd,
		   void (*on)(struct load *l,
			      const DAT_DTO_COMPLETION_EVENT_DATA *dto))
{
	DAT_EVENT ev;
	int n;

	for (n = 0; n < POLLS; n++) {
		if (dat_evd_dequeue(evd, &ev) != DAT_SUCCESS)
			break;
		calls_done(&l->r, &ev);
		on(l, &ev.event_data.dto_completion_event_data);
	}
	return n > 0;
}

/* ------------------------------------------------------- what is to be sent */

/* Of two answers and one word of our own, as far as the ring has room. */
static bool answer(struct load *l, struct link *k)
{
	struct flow *f = k->flow;
	bool moved = false;

	if (f->owe_cts && !ring_full(l, k)) {
		ring_spot(l, k, PUT_CTS, bulk(l, k, PUT_IN),
			  size_of(l, k, PUT, f->got[PUT], false));
		f->owe_cts = false;
		moved = true;
	}
	if (f->owe_get_fin && !ring_full(l, k)) {
		ring_send(l, k, GET_FIN, 0);
		f->owe_get_fin = false;
		moved = true;
	}
	if (f->put_written && !ring_full(l, k) && !f->busy[P_PUT]) {
		ring_spot(l, k, PUT_FIN, bulk(l, k, PUT_OUT),
			  size_of(l, k, PUT, f->sent[PUT], true));
		f->put_asked = f->put_written = false;
		f->sent[PUT]++;
		moved = true;
	}
	return moved;
}

static void post_credit(struct load *l, struct link *k)
{
	struct area *a = area(l, k);

	a->told = k->flow->ring_seen;
	post_write(l, k, &a->told, sizeof(a->told), there(l, k, &a->credits),
		   l->cards[k->peer].key, P_CREDIT);
}

static bool credit(struct load *l, struct link *k)
{
	if (area(l, k)->told == k->flow->ring_seen || k->flow->busy[P_CREDIT])
		return false;
	post_credit(l, k);
	return true;
}

/*
 * Soft iWARP may answer a request before it looks at the stream for the queue
 * pair: what the peer has sent by then lies there until more comes.
 */
static void nudge(struct load *l, struct link *k)
{
	struct flow *f = k->flow;

	if (!k->asked || f->nudged || f->ring_seen || f->got[SRQ] ||
	    area(l, k)->credits)
		return;
	f->nudged = true;
	post_credit(l, k);
}

static void say_data(struct load *l, struct link *k)
{
	unsigned int n = k->flow->sent[EAGER]++;
	size_t size = size_of(l, k, EAGER, n, true);

	fill(l, k, EAGER, n, ring_place(l, k, size));
	ring_send(l, k, DATA, size);
}

static void ask_bulk(struct load *l, struct link *k, enum way way)
{
	enum bulk b = way == PUT ? PUT_OUT : GET_OUT;
	unsigned int n = k->flow->sent[way];

	fill(l, k, way, n, bulk(l, k, b));
	ring_spot(l, k, way == PUT ? PUT_RTS : GET_RTS, bulk(l, k, b),
		  size_of(l, k, way, n, true));
	if (way == PUT)
		k->flow->put_asked = true;
	else
		k->flow->get_offered = true;
}

static bool say(struct load *l, struct link *k, unsigned int round)
{
	const struct options *o = l->o;
	struct flow *f = k->flow;
	bool moved = false;

	if (o->ways[PUT] && f->sent[PUT] < round && !f->put_asked &&
	    !ring_full(l, k)) {
		ask_bulk(l, k, PUT);
		moved = true;
	}
	if (o->ways[GET] && f->sent[GET] < round && !f->get_offered &&
	    !ring_full(l, k)) {
		ask_bulk(l, k, GET);
		moved = true;
	}
	if (o->ways[EAGER] && f->sent[EAGER] < round * EAGERS &&
	    !ring_full(l, k)) {
		say_data(l, k);
		moved = true;
	}
	if (o->ways[SRQ] && f->sends < round * SENDS &&
	    f->busy[P_SEND] < SENDS) {
		post_send(l, k);
		moved = true;
	}
	return moved;
}

/* iWARP: the side that has asked speaks first. */
static bool link_step(struct load *l, struct link *k, unsigned int round)
{
	struct flow *f = k->flow;
	bool moved = false;

	if (k->state != UP)
		return false;
	if (!l->o->iwarp || k->asked || f->ring_seen || f->got[SRQ])
		moved = answer(l, k) || say(l, k, round);
	moved |= ring_poll(l, k);
	if (f->ring_seen)
		moved |= credit(l, k);
	if (l->o->iwarp && l->looks >= PATIENT)
		nudge(l, k);
	return moved;
}

static bool link_done(const struct load *l, const struct link *k,
		      unsigned int round)
{
	const struct flow *f = k->flow;

	if (k->state != UP || f->ring_sent != area(l, k)->credits ||
	    area(l, k)->told != f->ring_seen || f->owe_cts || f->owe_get_fin)
		return false;
	for (int i = 0; i < WAYS; i++)
		if (l->o->ways[i] && (f->sent[i] < round * per_round[i] ||
				      f->got[i] < round * per_round[i]))
			return false;
	for (int i = 0; i < POSTS; i++)
		if (f->busy[i])
			return false;
	return true;
}

static void tell_first(struct load *l, unsigned int round)
{
	for (int i = 0; i < l->links; i++) {
		const struct link *k = &l->link[i];
		const struct flow *f = k->flow;

		if (link_done(l, k, round))
			continue;
		rank_waits(&l->r,
			   "round %u, link %d to rank %d (state %d): ring %u, "
			   "completed %u, emptied %u, seen %u, told %u; sent "
			   "%u %u %u %u, got %u %u %u %u",
			   round, k->number, k->peer, (int)k->state,
			   f->ring_sent, f->ring_done, area(l, k)->credits,
			   f->ring_seen, area(l, k)->told, f->sent[EAGER],
			   f->sent[PUT], f->sent[GET], f->sent[SRQ],
			   f->got[EAGER], f->got[PUT], f->got[GET],
			   f->got[SRQ]);
		return;
	}
}

void flow_begin(struct load *l)
{
	memset(l->memory, 0, (size_t)l->links * area_size(l));
	for (int i = 0; i < l->links; i++)
		memset(l->link[i].flow, 0, sizeof(struct flow));
	for (int i = 0; i < l->receives && !l->posted; i++)
		post_receive(l, i);
	l->posted = true;
}

void flow_round(struct load *l, int round)
{
	unsigned int r = (unsigned int)round;
	int done = 0;

	load_moved(l);
	while (done < l->links) {
		bool moved = mesh_step(l);

		done = 0;
		for (int i = 0; i < l->links; i++) {
			moved |= link_step(l, &l->link[l->order[i]], r);
			done += link_done(l, &l->link[i], r);
		}
		for (int i = 0; i < l->queues; i++)
			moved |= events(l, l->req[i], on_request_done);
		moved |= events(l, l->rcv, on_receive);
		if (moved) {
			load_moved(l);
		} else if (done < l->links) {
			tell_first(l, r);
			load_idle(l);
		}
	}
}
