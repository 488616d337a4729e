/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * srdma.c - what libsrdma, a message library with a server and its clients,
 * does, call by call.
 *
 * One CNO for all queues, waited for without a limit; software events that
 * other threads post; queues that go to another CNO and back while they are in
 * use; one queue for receives and requests; RDMA read and write by the server
 * in the clients' memory; more bytes for RDMA asked for than the adapter has.
 * Not here: that its loop does not look at a receive's status.
 * Facts: libsrdma's calls, flags and orders, none of its text. Three threads in
 * a rank: one waits, two post.
 */
#include "test/consumers/calls.h"

#include <pthread.h>
#include <stdlib.h>

#define QLEN	 256
#define ROUNDS	 12
#define SIZE	 512
#define POSTERS	 2
#define SOFT	 60 /* software events of a poster */
#define RDMA_MAX (16u << 20)

/* A client's request: where the data are, and where the answer goes. */
struct request {
	uint64_t data, answer;
	DAT_RMR_CONTEXT key;
	uint32_t round;
};

struct peer {
	struct request in, out;
	uint8_t data[SIZE], answer[SIZE];
	DAT_EP_HANDLE ep;
	int id;
	bool established, waits;
};

enum {
	EVD_CR,
	EVD_CONN,
	EVD_DTO,
	EVD_SOFT,
	EVDS
};

struct srdma {
	struct rank *r;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, evd[EVDS];
	DAT_CNO_HANDLE cno, other;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;
	struct peer peer[RANKS_MAX]; /* a client has one, the server */
	int soft, ends;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

struct poster {
	struct srdma *s;
	pthread_t thread;
	uintptr_t number, next;
};

/* ------------------------------------------------------------------ setup */

static void make_queues(struct srdma *s)
{
	static const DAT_EVD_FLAGS flags[EVDS] = {
		DAT_EVD_CR_FLAG, DAT_EVD_CONNECTION_FLAG, DAT_EVD_DTO_FLAG,
		DAT_EVD_SOFTWARE_FLAG};

	OK(s->r, dat_cno_create(s->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &s->cno));
	OK(s->r,
	   dat_cno_create(s->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &s->other));
	for (int i = 0; i < EVDS; i++)
		OK(s->r,
		   dat_evd_create(s->ia, QLEN, s->cno, flags[i], &s->evd[i]));
}

/* It asks for more than some adapters have, and would give up there. */
static DAT_EP_HANDLE new_endpoint(struct srdma *s)
{
	DAT_EP_ATTR a;
	DAT_EP_HANDLE ep;

	memset(&a, 0, sizeof(a));
	a.service_type = DAT_SERVICE_TYPE_RC;
	a.max_message_size = SIZE;
	a.max_rdma_size = s->attr.max_rdma_size < RDMA_MAX
				  ? s->attr.max_rdma_size
				  : RDMA_MAX;
	a.qos = DAT_QOS_BEST_EFFORT;
	a.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	a.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	a.max_recv_dtos = 8;
	a.max_request_dtos = 16;
	a.max_recv_iov = 1;
	a.max_request_iov = 1;
	a.max_rdma_read_in = 1;
	a.max_rdma_read_out = 1;
	OK(s->r, dat_ep_create(s->ia, s->pz, s->evd[EVD_DTO], s->evd[EVD_DTO],
			       s->evd[EVD_CONN], &a, &ep));
	return ep;
}

static void setup(struct srdma *s)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN size;

	OK(s->r, dat_ia_open(s->r->adapter, 8, &s->async, &s->ia));
	OK(s->r,
	   dat_ia_query(s->ia, &s->async, DAT_IA_FIELD_ALL, &s->attr, 0, NULL));
	OK(s->r, dat_pz_create(s->ia, &s->pz));
	make_queues(s);
	region.for_va = s->peer;
	OK(s->r, face_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region,
				 sizeof(s->peer), s->pz, DAT_MEM_PRIV_ALL_FLAG,
				 &s->lmr, &s->lkey, &s->rkey, &size, &address));
}

static void post_recv(struct srdma *s, struct peer *p)
{
	DAT_LMR_TRIPLET seg = calls_seg(&p->in, sizeof(p->in), s->lkey);

	OK(s->r, dat_ep_post_recv(p->ep, 1, &seg, calls_cookie(&p->in),
				  DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(struct srdma *s, struct peer *p)
{
	DAT_LMR_TRIPLET seg = calls_seg(&p->out, sizeof(p->out), s->lkey);

	OK(s->r, dat_ep_post_send(p->ep, 1, &seg, calls_cookie(&p->out),
				  DAT_COMPLETION_DEFAULT_FLAG));
}

/* ------------------------------------------------------------------ events */

static void *post_software_events(void *arg)
{
	struct poster *p = arg;
	DAT_EVENT ev;

	for (uintptr_t k = 0; k < SOFT; k++) {
		memset(&ev, 0, sizeof(ev));
		ev.event_number = DAT_SOFTWARE_EVENT;
		ev.event_data.software_event_data.pointer =
			(DAT_PVOID)(p->number << 16 | k);
		OK(p->s->r, dat_evd_post_se(p->s->evd[EVD_SOFT], &ev));
		rank_spin();
	}
	return NULL;
}

/* Those of each thread come in its order. */
static void on_software_event(struct srdma *s, struct poster *posters,
			      const DAT_EVENT *ev)
{
	uintptr_t it = (uintptr_t)ev->event_data.software_event_data.pointer;

	EXPECT(s->r, it >> 16 < POSTERS);
	EXPECT_EQ(s->r, it & 0xffff, posters[it >> 16].next++);
	s->soft++;
}

/* Server: a message asks for its data to be fetched; they go back turned. */
static void on_data(struct srdma *s, struct peer *p, bool read)
{
	DAT_LMR_TRIPLET seg =
		calls_seg(read ? p->answer : p->data, SIZE, s->lkey);
	DAT_RMR_TRIPLET there =
		calls_target(read ? p->in.answer : p->in.data, SIZE, p->in.key);

	if (!read) {
		OK(s->r,
		   dat_ep_post_rdma_read(p->ep, 1, &seg, calls_cookie(p->data),
					 &there, DAT_COMPLETION_DEFAULT_FLAG));
		return;
	}
	rank_check(s->r, p->data, SIZE, p->id, 0, p->in.round);
	for (int i = 0; i < SIZE; i++)
		p->answer[i] = (uint8_t)~p->data[i];
	OK(s->r, dat_ep_post_rdma_write(p->ep, 1, &seg, calls_cookie(p->answer),
					&there, DAT_COMPLETION_DEFAULT_FLAG));
	p->out.round = p->in.round;
	post_recv(s, p);
	post_send(s, p);
}

static void ask(struct srdma *s, struct peer *p, uint32_t round)
{
	rank_fill(p->data, SIZE, s->r->id, 0, round);
	memset(p->answer, 0, SIZE);
	p->out = (struct request){(uintptr_t)p->data, (uintptr_t)p->answer,
				  s->rkey, round};
	post_send(s, p);
}

/* Client: the answer is there when the message says so. */
static void on_answer(struct srdma *s, struct peer *p)
{
	uint32_t round = p->in.round;

	for (int i = 0; i < SIZE; i++)
		EXPECT_EQ(s->r, p->answer[i], (uint8_t)~p->data[i]);
	EXPECT_EQ(s->r, round, p->out.round);
	post_recv(s, p);
	if (round + 1 < ROUNDS)
		ask(s, p, round + 1);
	else
		OK(s->r, dat_ep_disconnect(p->ep, DAT_CLOSE_GRACEFUL_FLAG));
}

/* The queue is another's for a while; its events wait in it. */
static void move_queue(struct srdma *s)
{
	OK(s->r, dat_evd_modify_cno(s->evd[EVD_DTO], s->other));
	OK(s->r, dat_evd_modify_cno(s->evd[EVD_DTO], DAT_HANDLE_NULL));
	OK(s->r, dat_evd_modify_cno(s->evd[EVD_DTO], s->cno));
}

static struct peer *peer_of(struct srdma *s, DAT_EP_HANDLE ep)
{
	struct peer *p = s->peer;

	while (p->ep != ep)
		EXPECT(s->r, ++p < s->peer + s->r->n);
	return p;
}

/* A client may have asked before the server hears of the connection. */
static void on_established(struct srdma *s, struct peer *p)
{
	p->established = true;
	if (s->r->id)
		ask(s, p, 0);
	else if (p->waits)
		on_data(s, p, false);
}

static void on_completion(struct srdma *s, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;
	void *what = (void *)(uintptr_t)dto->user_cookie.as_64;
	struct peer *p = peer_of(s, dto->ep_handle);

	/* What was waiting when the connection ended. */
	if (dto->status == DAT_DTO_ERR_FLUSHED && what == &p->in)
		return;
	calls_done(s->r, ev);
	if (what == &p->in && !s->r->id && !p->established)
		p->waits = true;
	else if (what == &p->in && !s->r->id)
		on_data(s, p, false);
	else if (what == p->data)
		on_data(s, p, true);
	else if (what == &p->in) {
		if (p->in.round % 4 == 1)
			move_queue(s);
		on_answer(s, p);
	}
}

static void on_request(struct srdma *s, const DAT_CR_ARRIVAL_EVENT_DATA *cr)
{
	struct peer *p = s->peer;
	DAT_CR_PARAM param;

	while (p->ep)
		p++;
	OK(s->r, dat_cr_query(cr->cr_handle, DAT_CR_FIELD_ALL, &param));
	memcpy(&p->id, param.private_data, sizeof(p->id));
	p->ep = new_endpoint(s);
	post_recv(s, p);
	OK(s->r, dat_cr_accept(cr->cr_handle, p->ep, 0, NULL));
}

static void on_event(struct srdma *s, struct poster *posters,
		     const DAT_EVENT *ev)
{
	switch (ev->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		on_request(s, &ev->event_data.cr_arrival_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		on_established(
			s,
			peer_of(s,
				ev->event_data.connect_event_data.ep_handle));
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		s->ends++;
		break;
	case DAT_SOFTWARE_EVENT:
		on_software_event(s, posters, ev);
		break;
	default:
		on_completion(s, ev);
	}
}

/* The CNO tells of one queue; what it has is taken, all of it. */
static void loop(struct srdma *s, struct poster *posters, int ends)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	int i;

	rank_waits(s->r, "a CNO that all queues have");
	while (s->ends < ends || s->soft < POSTERS * SOFT) {
		OK(s->r, dat_cno_wait(s->cno, DAT_TIMEOUT_INFINITE, &evd));
		for (i = 0; i < EVDS && s->evd[i] != evd; i++)
			;
		EXPECT(s->r, i < EVDS);
		while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
			on_event(s, posters, &ev);
	}
}

/* --------------------------------------------------------- both, and the end
 */

static void meet(struct srdma *s)
{
	struct calls_addr mine = calls_addr_of(s->attr.ia_address_ptr);
	struct calls_addr all[RANKS_MAX];
	DAT_CONN_QUAL qual = s->r->qual + 2;
	struct peer *p = s->peer;

	if (!s->r->id)
		OK(s->r, dat_psp_create(s->ia, qual, s->evd[EVD_CR],
					DAT_PSP_CONSUMER_FLAG, &s->psp));
	memset(all, 0, sizeof(all));
	rank_allgather(s->r, &mine, sizeof(mine), all);
	if (!s->r->id)
		return;
	p->ep = new_endpoint(s);
	post_recv(s, p);
	OK(s->r,
	   dat_ep_connect(p->ep, calls_addr_use(s->r, &all[0]), qual,
			  DAT_TIMEOUT_INFINITE, sizeof(s->r->id), &s->r->id,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void end(struct srdma *s)
{
	DAT_EVD_HANDLE evd;

	if (s->psp)
		OK(s->r, dat_psp_free(s->psp));
	for (int i = 0; i < s->r->n; i++)
		if (s->peer[i].ep)
			OK(s->r, dat_ep_free(s->peer[i].ep));
	/* Nothing has been left to the other one for good. */
	FAILS(s->r, dat_cno_wait(s->other, 0, &evd), DAT_QUEUE_EMPTY);
	for (int i = 0; i < EVDS; i++)
		OK(s->r, dat_evd_free(s->evd[i]));
	OK(s->r, dat_cno_free(s->cno));
	OK(s->r, dat_cno_free(s->other));
	OK(s->r, dat_lmr_free(s->lmr));
	OK(s->r, dat_pz_free(s->pz));
	OK(s->r, dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

void srdma(struct rank *r)
{
	struct srdma *s = calloc(1, sizeof(*s));
	struct poster posters[POSTERS];

	EXPECT(r, s);
	s->r = r;
	setup(s);
	for (uintptr_t i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){.s = s, .number = i};
		EXPECT_EQ(r,
			  pthread_create(&posters[i].thread, NULL,
					 post_software_events, &posters[i]),
			  0);
	}
	meet(s);
	loop(s, posters, r->id ? 1 : r->n - 1);
	for (int i = 0; i < POSTERS; i++)
		EXPECT_EQ(r, pthread_join(posters[i].thread, NULL), 0);
	rank_barrier(r);
	end(s);
	free(s);
}
