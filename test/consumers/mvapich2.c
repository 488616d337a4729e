/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mvapich2.c - what MVAPICH2's udapl channel (1.7) does, call by call.
 *
 * Queues for each purpose, and a second set of them with a second endpoint to
 * each peer for one-sided data; a listener that tries qualifiers until one is
 * free; attributes of which only those that it names are set, in memory that
 * holds anything, with UNSIGNALLED requests each of which has its event all the
 * same; connections to all by sleeping, with 4 bytes of private data, strangers
 * refused; a flag behind what is written that the receiver watches; a put, and
 * a window with reads behind a fence; a teardown where each endpoint's end is
 * waited for before it is freed, and errors are fatal.
 * How it connects on demand is mvapich2_demand.c. Smaller than there: queues,
 * messages. Facts: MVAPICH2's calls, flags and orders, none of its text.
 * One thread, as there without on-demand connections.
 */
#include "test/consumers/mvapich2.h"

#include <stdlib.h>

#define DTO_QLEN   6000
#define CONN_QLEN  256
#define STRANGER   99999
#define WINDOW_PUT 512

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* ------------------------------------------------------------------ setup */

/* Whatever is wrong with one qualifier, the next is tried. */
static void listen_somewhere(struct mv *m, struct mv_set *s)
{
	s->qual = m->r->qual + (unsigned int)(m->r->id * RANK_QUALS);
	for (int i = 0; i < RANK_QUALS; i++, s->qual++)
		if (dat_psp_create(m->ia, s->qual, s->cr, DAT_PSP_CONSUMER_FLAG,
				   &s->psp) == DAT_SUCCESS)
			return;
	RANK_FAIL(m->r, "no qualifier is free");
}

static DAT_EP_ATTR attributes(const struct mv *m)
{
	DAT_EP_ATTR a;

	memset(&a, 0x5a, sizeof(a)); /* as a stack has it */
	a.service_type = DAT_SERVICE_TYPE_RC;
	a.max_message_size = m->attr.max_message_size;
	a.max_rdma_size = m->attr.max_rdma_size;
	a.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	a.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	a.max_recv_dtos = MIN(128, m->attr.max_dto_per_ep);
	a.max_request_dtos = MIN(64, m->attr.max_dto_per_ep);
	a.max_recv_iov = MIN(20, m->attr.max_iov_segments_per_dto);
	a.max_request_iov = a.max_recv_iov;
	a.max_rdma_read_in = 4;
	a.max_rdma_read_out = 4;
	a.srq_soft_hw = 0;
	a.max_rdma_read_iov = 0;
	a.max_rdma_write_iov = 0;
	a.ep_transport_specific_count = 0;
	a.ep_transport_specific = NULL;
	a.ep_provider_specific_count = 0;
	a.ep_provider_specific = NULL;
	return a;
}

static void make_set(struct mv *m, struct mv_set *s)
{
	DAT_EP_ATTR attr = attributes(m);

	OK(m->r, dat_evd_create(m->ia, MIN(DTO_QLEN, m->attr.max_evd_qlen),
				DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->dto));
	OK(m->r, dat_evd_create(m->ia, CONN_QLEN, DAT_HANDLE_NULL,
				DAT_EVD_CR_FLAG, &s->cr));
	OK(m->r, dat_evd_create(m->ia, CONN_QLEN, DAT_HANDLE_NULL,
				DAT_EVD_CONNECTION_FLAG, &s->conn));
	listen_somewhere(m, s);
	for (int i = 0; i < m->r->n; i++)
		if (i != m->r->id)
			OK(m->r, dat_ep_create(m->ia, m->pz, s->dto, s->dto,
					       s->conn, &attr, &s->ep[i]));
}

static void register_memory(struct mv *m)
{
	size_t size = (size_t)m->r->n * MV_USES * MV_MEM;
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN length;

	m->mem = calloc(1, size);
	EXPECT(m->r, m->mem);
	region.for_va = m->mem;
	OK(m->r, face_lmr_create(m->ia, DAT_MEM_TYPE_VIRTUAL, region, size,
				 m->pz, DAT_MEM_PRIV_ALL_FLAG, &m->lmr,
				 &m->lkey, &m->rkey, &length, &address));
}

struct mv *mv_begin(struct rank *r, int sets)
{
	struct mv *m = calloc(1, sizeof(*m));

	EXPECT(r, m);
	m->r = r;
	OK(r, dat_ia_open(r->adapter, 8, &m->async, &m->ia));
	OK(r,
	   dat_ia_query(m->ia, &m->async, DAT_IA_FIELD_ALL, &m->attr, 0, NULL));
	OK(r, dat_pz_create(m->ia, &m->pz));
	register_memory(m);
	m->self.addr = calls_addr_of(m->attr.ia_address_ptr);
	m->self.mem = (uintptr_t)m->mem;
	m->self.key = m->rkey;
	for (int i = 0; i < sets; i++) {
		make_set(m, &m->set[i]);
		m->self.qual[i] = m->set[i].qual;
	}
	/* The first has taken what the second tries first. */
	if (sets > 1)
		EXPECT(r, m->set[1].qual > m->set[0].qual);
	rank_allgather(r, &m->self, sizeof(m->self), m->all);
	return m;
}

uint8_t *mv_here(struct mv *m, int peer, enum mv_use use)
{
	return m->mem + (size_t)(peer * MV_USES + (int)use) * MV_MEM;
}

uint64_t mv_there(const struct mv *m, int to, enum mv_use use)
{
	return m->all[to].mem +
	       (uint64_t)(m->r->id * MV_USES + (int)use) * MV_MEM;
}

/* ------------------------------------------------------------ connections */

void mv_connect(struct mv *m, struct mv_set *s, int to, const int *number)
{
	OK(m->r,
	   dat_ep_connect(s->ep[to], calls_addr_use(m->r, &m->all[to].addr),
			  m->all[to].qual[s - m->set], DAT_TIMEOUT_INFINITE,
			  sizeof(*number), (DAT_PVOID)(uintptr_t)number,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* The number of who asks, with the one member of the parameters wanted. */
static int asker(struct mv *m, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;
	int number;

	OK(m->r, dat_cr_query(cr, DAT_CR_FIELD_PRIVATE_DATA, &param));
	memcpy(&number, param.private_data, sizeof(number));
	return number;
}

/* Accepts those above, of whom each asks once; others are refused. */
static void serve(struct mv *m, struct mv_set *s)
{
	int left = m->r->n - 1 - m->r->id;

	while (left) {
		DAT_EVENT ev = calls_wait(
			m->r, s->cr, DAT_CONNECTION_REQUEST_EVENT, "a request");
		DAT_CR_HANDLE cr =
			ev.event_data.cr_arrival_event_data.cr_handle;
		int from = asker(m, cr);

		if (from <= m->r->id || from >= m->r->n) {
			EXPECT_EQ(m->r, from, STRANGER);
			OK(m->r, face_cr_reject(cr));
			continue;
		}
		OK(m->r, dat_cr_accept(cr, s->ep[from], 0, NULL));
		left--;
	}
}

/* Who has the wrong number is told so, and asks again. */
static void be_refused(struct mv *m, struct mv_set *s)
{
	static const int wrong = STRANGER;
	DAT_EVENT ev;

	mv_connect(m, s, 0, &wrong);
	ev = calls_wait(m->r, s->conn, DAT_CONNECTION_EVENT_PEER_REJECTED,
			"a refusal");
	EXPECT(m->r, ev.event_data.connect_event_data.ep_handle == s->ep[0]);
	OK(m->r, dat_ep_reset(s->ep[0]));
}

void mv_connect_all(struct mv *m, struct mv_set *s)
{
	DAT_EVENT ev;

	if (m->r->id == m->r->n - 1)
		be_refused(m, s);
	for (int i = 0; i < m->r->id; i++)
		mv_connect(m, s, i, &m->r->id);
	serve(m, s);
	for (int i = 0; i < m->r->n - 1; i++) {
		ev = calls_wait(m->r, s->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
				"connections");
		/* Who accepted gets no data, and no address of some. */
		if (ev.event_data.connect_event_data.private_data_size == 0)
			EXPECT(m->r,
			       !ev.event_data.connect_event_data.private_data);
	}
}

void mv_disconnect_all(struct mv *m, struct mv_set *s)
{
	int ended[RANKS_MAX] = {0};

	for (int i = 0; i < m->r->n; i++)
		if (i != m->r->id)
			OK(m->r, dat_ep_disconnect(s->ep[i],
						   DAT_CLOSE_GRACEFUL_FLAG));
	rank_barrier(m->r);
	for (int left = m->r->n - 1; left; left--) {
		DAT_EVENT ev = calls_wait(m->r, s->conn,
					  DAT_CONNECTION_EVENT_DISCONNECTED,
					  "the end of each connection");
		int i = 0;

		while (i < m->r->n &&
		       (i == m->r->id ||
			s->ep[i] != ev.event_data.connect_event_data.ep_handle))
			i++;
		EXPECT(m->r, i < m->r->n);
		EXPECT_EQ(m->r, ended[i]++, 0);
	}
}

void mv_free_set(struct mv *m, struct mv_set *s, bool with_listener)
{
	for (int i = 0; i < m->r->n; i++)
		if (i != m->r->id)
			OK(m->r, dat_ep_free(s->ep[i]));
	if (with_listener)
		OK(m->r, dat_psp_free(s->psp));
	OK(m->r, dat_evd_free(s->dto));
	OK(m->r, dat_evd_free(s->cr));
	OK(m->r, dat_evd_free(s->conn));
}

void mv_end(struct mv *m)
{
	OK(m->r, dat_lmr_free(m->lmr));
	OK(m->r, dat_pz_free(m->pz));
	OK(m->r, dat_ia_close(m->ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(m->mem);
	free(m);
}

/* ------------------------------------------------------------------- data */

void mv_post_recvs(struct mv *m, struct mv_set *s, int peer)
{
	for (int k = 0; k < MV_RECVS; k++) {
		uint8_t *at = mv_here(m, peer, MV_RECV) + k * MV_ONLINE;
		DAT_LMR_TRIPLET seg = calls_seg(at, MV_ONLINE, m->lkey);

		OK(m->r,
		   dat_ep_post_recv(s->ep[peer], 1, &seg, calls_cookie(at),
				    DAT_COMPLETION_DEFAULT_FLAG));
	}
}

void mv_send(struct mv *m, struct mv_set *s, int to, unsigned int number)
{
	uint8_t *at = mv_here(m, to, MV_SEND) + number * MV_ONLINE;
	DAT_LMR_TRIPLET seg = calls_seg(at, MV_ONLINE, m->lkey);

	rank_fill(at, MV_ONLINE, m->r->id, to, number);
	OK(m->r, dat_ep_post_send(s->ep[to], 1, &seg, calls_cookie(at),
				  DAT_COMPLETION_DEFAULT_FLAG));
}

/* Data in front of a word that says how much: the word lands last. */
static void fast_path(struct mv *m, struct mv_set *s, int to)
{
	uint8_t *from = mv_here(m, to, MV_SEND) + MV_MEM / 2;
	uint32_t size = 600 + (uint32_t)m->r->id;
	DAT_LMR_TRIPLET seg = calls_seg(from, size + 4, m->lkey);
	DAT_RMR_TRIPLET there =
		calls_target(mv_there(m, to, MV_RING) + MV_MEM - 4 - size,
			     size + 4, m->all[to].key);

	rank_fill(from, size, m->r->id, to, 100);
	memcpy(from + size, &size, sizeof(size));
	OK(m->r, dat_ep_post_rdma_write(s->ep[to], 1, &seg, calls_cookie(from),
					&there, DAT_COMPLETION_DEFAULT_FLAG));
}

static void fast_path_arrived(struct mv *m, int from)
{
	uint8_t *end = mv_here(m, from, MV_RING) + MV_MEM - 4;
	uint32_t size = calls_poll_word(m->r, (uint32_t *)(void *)end,
					"a flag behind data");

	EXPECT_EQ(m->r, size, 600 + from);
	rank_check(m->r, end - size, size, from, m->r->id, 100);
}

/* A put, and a message that is not to pass it. */
static void rendezvous(struct mv *m, struct mv_set *s, int to)
{
	uint8_t *from = mv_here(m, to, MV_PUT_FROM);
	DAT_LMR_TRIPLET seg = calls_seg(from, MV_MEM, m->lkey);
	DAT_RMR_TRIPLET there = calls_target(mv_there(m, to, MV_PUT_TO), MV_MEM,
					     m->all[to].key);

	rank_fill(from, MV_MEM, m->r->id, to, 200);
	OK(m->r, dat_ep_post_rdma_write(s->ep[to], 1, &seg, calls_cookie(from),
					&there, DAT_COMPLETION_DEFAULT_FLAG));
	mv_send(m, s, to, 0);
}

static void on_receive(struct mv *m, const uint8_t *at)
{
	size_t offset = (size_t)(at - m->mem);
	int from = (int)(offset / (MV_USES * MV_MEM));

	EXPECT_EQ(m->r, offset % (MV_USES * MV_MEM) / MV_MEM, MV_RECV);
	rank_check(m->r, at, MV_ONLINE, from, m->r->id, 0);
	rank_check(m->r, mv_here(m, from, MV_PUT_TO), MV_MEM, from, m->r->id,
		   200);
}

/* Every post has its event, and a receive's is told by its place. */
static void take_events(struct mv *m, struct mv_set *s)
{
	int sends = 0, recvs = 0, others = m->r->n - 1;

	while (sends < 3 * others || recvs < others) {
		DAT_EVENT ev = calls_poll(m->r, s->dto, "messages");
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&ev.event_data.dto_completion_event_data;
		const uint8_t *at = calls_done(m->r, &ev);
		size_t use = (size_t)(at - m->mem) / MV_MEM % MV_USES;

		if (use != MV_RECV) {
			sends++;
			continue;
		}
		EXPECT_EQ(m->r, dto->transfered_length, MV_ONLINE);
		on_receive(m, at);
		recvs++;
	}
	EXPECT_EQ(m->r, sends, 3 * others);
	EXPECT_EQ(m->r, recvs, others);
}

static void messages(struct mv *m, struct mv_set *s)
{
	for (int i = 0; i < m->r->n; i++)
		if (i != m->r->id)
			mv_post_recvs(m, s, i);
	rank_barrier(m->r);
	for (int i = 0; i < m->r->n; i++) {
		if (i == m->r->id)
			continue;
		fast_path(m, s, i);
		rendezvous(m, s, i);
	}
	for (int i = 0; i < m->r->n; i++)
		if (i != m->r->id)
			fast_path_arrived(m, i);
	take_events(m, s);
}

/* ----------------------------------------------------------------- window */

static void window_post(struct mv *m, int to, bool read, uint8_t *here,
			uint64_t there, size_t size, bool fence)
{
	DAT_COMPLETION_FLAGS flags = fence ? DAT_COMPLETION_BARRIER_FENCE_FLAG
					   : DAT_COMPLETION_DEFAULT_FLAG;
	DAT_LMR_TRIPLET seg = calls_seg(here, size, m->lkey);
	DAT_RMR_TRIPLET target = calls_target(there, size, m->all[to].key);
	DAT_EP_HANDLE ep = m->set[1].ep[to];

	if (read)
		OK(m->r, dat_ep_post_rdma_read(ep, 1, &seg, calls_cookie(here),
					       &target, flags));
	else
		OK(m->r, dat_ep_post_rdma_write(ep, 1, &seg, calls_cookie(here),
						&target, flags));
}

/*
 * A put and a get of the next rank's window, fenced, then the 4 bytes that tell
 * it so; it has not called anything for that.
 */
static void window(struct mv *m)
{
	int to = (m->r->id + 1) % m->r->n;
	int from = (m->r->id + m->r->n - 1) % m->r->n;
	uint8_t *out = mv_here(m, to, MV_PUT_FROM);
	uint8_t *back = mv_here(m, to, MV_RECV) + MV_MEM / 2;
	uint8_t *in = mv_here(m, from, MV_PUT_TO);
	uint32_t *flag = (uint32_t *)(void *)mv_here(m, to, MV_SEND);

	rank_barrier(m->r);
	rank_fill(out, WINDOW_PUT, m->r->id, to, 300);
	*flag = 1;
	window_post(m, to, false, out, mv_there(m, to, MV_PUT_TO), WINDOW_PUT,
		    false);
	window_post(m, to, true, back, mv_there(m, to, MV_PUT_TO), WINDOW_PUT,
		    false);
	/* Not before the read has its answer. */
	window_post(m, to, false, (uint8_t *)flag, mv_there(m, to, MV_RING), 4,
		    true);
	for (int i = 0; i < 3; i++) {
		DAT_EVENT ev = calls_poll(m->r, m->set[1].dto, "the window");
		const uint8_t *in_order[] = {out, back, (uint8_t *)flag};

		EXPECT(m->r, calls_done(m->r, &ev) == in_order[i]);
	}
	rank_check(m->r, back, WINDOW_PUT, m->r->id, to, 300);
	calls_poll_word(m->r, (uint32_t *)(void *)mv_here(m, from, MV_RING),
			"a window's flag");
	rank_check(m->r, in, WINDOW_PUT, from, m->r->id, 300);
}

void mvapich2(struct rank *r)
{
	struct mv *m = mv_begin(r, MV_SETS);

	for (int i = 0; i < MV_SETS; i++) {
		mv_connect_all(m, &m->set[i]);
		rank_barrier(r);
	}
	messages(m, &m->set[0]);
	window(m);
	rank_barrier(r);
	for (int i = 0; i < MV_SETS; i++) {
		mv_disconnect_all(m, &m->set[i]);
		mv_free_set(m, &m->set[i], true);
	}
	mv_end(m);
}

/* ----------------------------------------------------------------- a death */

/* Until the peer's end shows: requests fail, or the connection ends. */
static void notice(struct mv *m, int dead)
{
	struct mv_set *s = &m->set[0];
	DAT_RETURN ret;
	DAT_EVENT ev;

	mv_send(m, s, dead, 0);
	rank_waits(m->r, "signs of a death");
	for (;; rank_spin()) {
		ret = dat_evd_dequeue(s->conn, &ev);
		if (ret == DAT_SUCCESS) {
			EXPECT(m->r,
			       ev.event_number ==
					       DAT_CONNECTION_EVENT_DISCONNECTED ||
				       ev.event_number ==
					       DAT_CONNECTION_EVENT_BROKEN);
			EXPECT(m->r,
			       ev.event_data.connect_event_data.ep_handle ==
				       s->ep[dead]);
			return;
		}
		ret = dat_evd_dequeue(s->dto, &ev);
		if (ret == DAT_SUCCESS &&
		    ev.event_data.dto_completion_event_data.status !=
			    DAT_DTO_SUCCESS)
			return;
	}
}

void mvapich2_death(struct rank *r)
{
	struct mv *m;

	if (!r->alone) {
		rank_skip(r, "a thread cannot be killed alone");
		return;
	}
	m = mv_begin(r, 1);
	mv_connect_all(m, &m->set[0]);
	rank_barrier(r);
	if (r->id == r->n - 1)
		rank_die(r);
	notice(m, r->n - 1);
	OK(r, dat_ia_close(m->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(m->mem);
	free(m);
}
