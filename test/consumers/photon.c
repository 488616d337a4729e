/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * photon.c - what Photon over uDAPL does, call by call.
 *
 * Long queues; attributes of adapter and provider in memory that ends where the
 * structures do; a listener and two endpoints, made beforehand, for each peer
 * and itself; qualifiers of 64 bits, which have to come back whole; a queue for
 * requests and connections; ledgers that are written and watched in memory;
 * queues read until they have nothing; an end whose state is asked for.
 * Everything that a call fills is surrounded by bytes that nobody may touch.
 * Smaller than there: ledgers. Facts: Photon's calls, flags and orders, none of
 * its text. One thread, as there.
 */
#include "test/consumers/calls.h"

#include <stdlib.h>

#define QLEN	   51200 /* or what the adapter has */
#define TIMEOUT_US 180000000
#define ENTRIES	   4 /* of a ledger */
#define GUARD	   64
#define GUARD_BYTE 0xa5

#define GUARDED(type)                 \
	struct {                      \
		type it;              \
		uint8_t after[GUARD]; \
	}
#define guard(g) memset((g), GUARD_BYTE, sizeof(*(g)))

/* What its structures have: an old program's are no longer. */
#if __SIZEOF_POINTER__ == 8
#if DAT_FACE == 1
_Static_assert(sizeof(DAT_PROVIDER_ATTR) == 504, "as old programs have it");
_Static_assert(sizeof(DAT_EVENT) == 48, "as old programs have it");
_Static_assert(sizeof(DAT_EP_PARAM) == 192, "as old programs have it");
#else
_Static_assert(sizeof(DAT_PROVIDER_ATTR) == 520, "as old programs have it");
_Static_assert(sizeof(DAT_EVENT) == 120, "as old programs have it");
_Static_assert(sizeof(DAT_EP_PARAM) == 184, "as old programs have it");
#endif
_Static_assert(sizeof(DAT_IA_ATTR) == 688, "as old programs have it");
#endif

struct entry {
	uint32_t value, flag;
};

struct photon {
	struct rank *r;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, conn, dto;
	DAT_PZ_HANDLE pz;
	DAT_COUNT qlen;
	struct calls_addr addr;
	DAT_CONN_QUAL qual[RANKS_MAX]; /* for each peer */
	DAT_PSP_HANDLE psp[RANKS_MAX];
	DAT_EP_HANDLE listens[RANKS_MAX], asks[RANKS_MAX];
	struct entry ledger[RANKS_MAX][ENTRIES], out[RANKS_MAX][ENTRIES];
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

struct card {
	struct calls_addr addr;
	DAT_CONN_QUAL qual[RANKS_MAX];
	uint64_t ledger;
	DAT_RMR_CONTEXT key;
};

static void untouched(struct photon *p, const uint8_t *after)
{
	for (int i = 0; i < GUARD; i++)
		EXPECT_EQ(p->r, after[i], GUARD_BYTE);
}

/* ------------------------------------------------------------------ setup */

static void query(struct photon *p)
{
	GUARDED(DAT_IA_ATTR) *ia = malloc(sizeof(*ia));
	GUARDED(DAT_PROVIDER_ATTR) *prov = malloc(sizeof(*prov));

	EXPECT(p->r, ia && prov);
	guard(ia);
	guard(prov);
	OK(p->r, dat_ia_query(p->ia, &p->async, DAT_IA_FIELD_ALL, &ia->it,
			      DAT_PROVIDER_FIELD_ALL, &prov->it));
	untouched(p, ia->after);
	untouched(p, prov->after);
	EXPECT_EQ(p->r, prov->it.dapl_version_major, DAT_VERSION_MAJOR);
	EXPECT_EQ(p->r, prov->it.dapl_version_minor, DAT_VERSION_MINOR);
	p->qlen = ia->it.max_evd_qlen < QLEN ? ia->it.max_evd_qlen : QLEN;
	p->addr = calls_addr_of(ia->it.ia_address_ptr);
	free(ia);
	free(prov);
}

/* The number is anything; what the provider makes of it may be taken. */
static void listen_for(struct photon *p, int peer)
{
	GUARDED(DAT_PSP_PARAM) param;
	DAT_RETURN ret;
	uint64_t some;

	for (int i = 0; i < 100; i++) {
		some = (uint64_t)p->r->qual * 7919 + (uint64_t)i * 104729;
		p->qual[peer] = ((uint64_t)(p->r->id + 1) << 35 |
				 (some & 0xffffff) << 3) +
				(uint64_t)peer;
		ret = dat_psp_create(p->ia, p->qual[peer], p->conn,
				     DAT_PSP_CONSUMER_FLAG, &p->psp[peer]);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
	}
	OK(p->r, ret);
	guard(&param);
	OK(p->r, dat_psp_query(p->psp[peer], DAT_PSP_FIELD_ALL, &param.it));
	untouched(p, param.after);
	EXPECT_EQ(p->r, param.it.conn_qual, p->qual[peer]);
}

static void make_peer(struct photon *p, int peer)
{
	GUARDED(DAT_EP_PARAM) param;

	OK(p->r, dat_ep_create(p->ia, p->pz, p->dto, p->dto, p->conn, NULL,
			       &p->listens[peer]));
	OK(p->r, dat_ep_create(p->ia, p->pz, p->dto, p->dto, p->conn, NULL,
			       &p->asks[peer]));
	listen_for(p, peer);
	guard(&param);
	OK(p->r, dat_ep_query(p->asks[peer], DAT_EP_FIELD_ALL, &param.it));
	untouched(p, param.after);
	EXPECT_EQ(p->r, param.it.ep_state, DAT_EP_STATE_UNCONNECTED);
	EXPECT(p->r, param.it.connect_evd_handle == p->conn);
}

static void setup(struct photon *p)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN size;

	OK(p->r, dat_ia_open(p->r->adapter, QLEN, &p->async, &p->ia));
	query(p);
	OK(p->r, dat_pz_create(p->ia, &p->pz));
	OK(p->r,
	   dat_evd_create(p->ia, p->qlen, DAT_HANDLE_NULL,
			  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &p->conn));
	OK(p->r, dat_evd_create(p->ia, p->qlen, DAT_HANDLE_NULL,
				DAT_EVD_DTO_FLAG, &p->dto));
	region.for_va = p->ledger;
	OK(p->r, face_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region,
				 sizeof(p->ledger) + sizeof(p->out), p->pz,
				 DAT_MEM_PRIV_ALL_FLAG, &p->lmr, &p->lkey,
				 &p->rkey, &size, &address));
	for (int i = 0; i < p->r->n; i++)
		make_peer(p, i);
}

/* ------------------------------------------------------------ connections */

static DAT_EVENT next(struct photon *p, DAT_EVD_HANDLE evd, const char *what)
{
	GUARDED(DAT_EVENT) ev;
	GUARDED(DAT_COUNT) more;

	guard(&ev);
	guard(&more);
	rank_waits(p->r, "%s", what);
	OK(p->r, dat_evd_wait(evd, TIMEOUT_US, 1, &ev.it, &more.it));
	untouched(p, ev.after);
	untouched(p, more.after);
	EXPECT(p->r, ev.it.evd_handle == evd);
	return ev.it;
}

static void on_request(struct photon *p, const DAT_CR_ARRIVAL_EVENT_DATA *cr)
{
	GUARDED(DAT_CR_PARAM) param;
	int i = 0;

	while (i < p->r->n && p->qual[i] != cr->conn_qual)
		i++;
	if (i == p->r->n)
		RANK_FAIL(p->r, "a request for 0x%llx, where nobody listens",
			  (unsigned long long)cr->conn_qual);
	EXPECT(p->r, cr->sp_handle.psp_handle == p->psp[i]);
	guard(&param);
	OK(p->r, dat_cr_query(cr->cr_handle, DAT_CR_FIELD_ALL, &param.it));
	untouched(p, param.after);
	OK(p->r, dat_cr_accept(cr->cr_handle, p->listens[i], 0, NULL));
}

static void meet(struct photon *p, struct card *all)
{
	struct card mine;
	DAT_EVENT ev;

	memset(&mine, 0, sizeof(mine));
	mine.addr = p->addr;
	memcpy(mine.qual, p->qual, sizeof(mine.qual));
	mine.ledger = (uintptr_t)p->ledger;
	mine.key = p->rkey;
	rank_allgather(p->r, &mine, sizeof(mine), all);
	for (int i = 0; i < p->r->n; i++)
		OK(p->r, dat_ep_connect(p->asks[i],
					calls_addr_use(p->r, &all[i].addr),
					all[i].qual[p->r->id], TIMEOUT_US, 0,
					NULL, DAT_QOS_BEST_EFFORT,
					DAT_CONNECT_DEFAULT_FLAG));
	for (int up = 0; up < 2 * p->r->n;) {
		ev = next(p, p->conn, "connections, to itself too");
		if (ev.event_number == DAT_CONNECTION_REQUEST_EVENT) {
			on_request(p, &ev.event_data.cr_arrival_event_data);
			continue;
		}
		EXPECT_EQ(p->r, ev.event_number,
			  DAT_CONNECTION_EVENT_ESTABLISHED);
		up++;
	}
	FAILS(p->r, dat_evd_dequeue(p->conn, &ev), DAT_QUEUE_EMPTY);
}

/* ---------------------------------------------------------------- ledgers */

static void write_ledgers(struct photon *p, const struct card *all, int entry)
{
	for (int i = 0; i < p->r->n; i++) {
		struct entry *e = &p->out[i][entry];
		size_t at = (size_t)(p->r->id * ENTRIES + entry) * sizeof(*e);
		DAT_LMR_TRIPLET seg = calls_seg(e, sizeof(*e), p->lkey);
		DAT_RMR_TRIPLET to = calls_target(all[i].ledger + at,
						  sizeof(*e), all[i].key);

		rank_fill(&e->value, sizeof(e->value), p->r->id, i,
			  (unsigned int)entry);
		e->flag = (uint32_t)entry + 1;
		OK(p->r,
		   dat_ep_post_rdma_write(p->asks[i], 1, &seg, calls_cookie(e),
					  &to, DAT_COMPLETION_DEFAULT_FLAG));
	}
}

static void read_ledgers(struct photon *p, int entry)
{
	for (int i = 0; i < p->r->n; i++) {
		struct entry *e = &p->ledger[i][entry];

		EXPECT_EQ(p->r,
			  calls_poll_word(p->r, &e->flag, "a ledger's entry"),
			  entry + 1);
		rank_check(p->r, &e->value, sizeof(e->value), i, p->r->id,
			   (unsigned int)entry);
	}
}

/* What there is, until there is no more. */
static int drain(struct photon *p)
{
	GUARDED(DAT_EVENT) ev;
	int n = 0;

	guard(&ev);
	while (dat_evd_dequeue(p->dto, &ev.it) == DAT_SUCCESS) {
		untouched(p, ev.after);
		calls_done(p->r, &ev.it);
		n++;
	}
	return n;
}

/* -------------------------------------------------------------- the close */

static void disconnected(struct photon *p, DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state;

	OK(p->r, dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	EXPECT_EQ(p->r, state, DAT_EP_STATE_DISCONNECTED);
	EXPECT(p->r, recv_idle && request_idle);
}

static void close_all(struct photon *p)
{
	DAT_EVENT ev;

	for (int i = 0; i < p->r->n; i++)
		OK(p->r,
		   dat_ep_disconnect(p->asks[i], DAT_CLOSE_GRACEFUL_FLAG));
	for (int i = 0; i < 2 * p->r->n; i++) {
		ev = next(p, p->conn, "the ends of all connections");
		EXPECT_EQ(p->r, ev.event_number,
			  DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	for (int i = 0; i < p->r->n; i++) {
		disconnected(p, p->asks[i]);
		disconnected(p, p->listens[i]);
		OK(p->r, dat_ep_free(p->listens[i]));
		OK(p->r, dat_psp_free(p->psp[i]));
		OK(p->r, dat_ep_free(p->asks[i]));
	}
	OK(p->r, dat_evd_free(p->conn));
	OK(p->r, dat_evd_free(p->dto));
	OK(p->r, dat_lmr_free(p->lmr));
	OK(p->r, dat_pz_free(p->pz));
	OK(p->r, dat_ia_close(p->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

void photon(struct rank *r)
{
	struct photon *p = calloc(1, sizeof(*p));
	struct card all[RANKS_MAX];
	int events = 0;

	EXPECT(r, p);
	p->r = r;
	setup(p);
	meet(p, all);
	rank_barrier(r);
	for (int entry = 0; entry < ENTRIES; entry++) {
		write_ledgers(p, all, entry);
		read_ledgers(p, entry);
		events += drain(p);
	}
	rank_waits(r, "the events of its own writes");
	while (events < ENTRIES * r->n)
		events += drain(p);
	EXPECT_EQ(r, events, ENTRIES * r->n);
	rank_barrier(r);
	close_all(p);
	free(p);
}
