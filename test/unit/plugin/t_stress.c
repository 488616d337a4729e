/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_stress.c - many threads in the library at once, as doc/thread-safety.md
 * allows: transfers through shared endpoints and EVDs while other threads make,
 * change and free other objects.
 *
 * It looks for no particular interleaving: the thread sanitizer and helgrind
 * judge the accesses, this file that each cookie comes back exactly once, that
 * no call answers what it must not, and (world_close()) that nothing is left.
 * Service points, windows, SRQs, extensions and agents: t_stress_objs.c.
 * Every wait is bounded, the whole by alarm().
 */
#include <string.h>

#include "test/unit/stress.h"

#define LIFE_THREADS 2
#define MESSAGE_MAX  (WORLD_MEM_SIZE / sizeof(uint64_t))
/* All threads must have ended by then, in microseconds. */
#define LIMIT_US 50000000

/* Cookies that are out, by index; what kind one is stands in its top bits. */
enum kind {
	SENT,
	RECEIVED,
	LIFE,
	SOFT,
	KINDS
};

#define KIND_SHIFT 28 /* a cookie has room in a pointer of 32 bits */

struct tally {
	uint8_t *out; /* atomic: 1 posted, 2 came back */
	int max;
	int next; /* atomic */
	int back; /* atomic */
};

struct stress {
	struct stress_run run;
	struct world *w;
	struct tally tally[KINDS];
	int messages;	/* to be sent by all threads together */
	int life_turns; /* of a thread */
	int turns;	/* of any other thread */
	int recv_ready; /* atomic: receives no message was sent for yet */
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE soft_evd;
	DAT_IA_ADDRESS_PTR addr;
};

/* ------------------------------------------------ helpers */

static void tally_init(struct tally *t, int max)
{
	t->max = max;
	t->out = calloc((size_t)max, 1);
	assert_non_null(t->out);
}

/* The next index of KIND, or -1 when all are used. */
static int tally_next(struct stress *st, enum kind kind)
{
	struct tally *t = &st->tally[kind];
	int i = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED);

	return i < t->max ? i : -1;
}

static uint64_t tally_out(struct stress *st, enum kind kind, int i)
{
	__atomic_store_n(&st->tally[kind].out[i], 1, __ATOMIC_RELEASE);
	return (uint64_t)kind << KIND_SHIFT | (unsigned)i;
}

/* The post was refused after all. */
static void tally_undo(struct stress *st, enum kind kind, int i)
{
	__atomic_store_n(&st->tally[kind].out[i], 0, __ATOMIC_RELEASE);
}

static bool tally_back(struct stress *st, uint64_t cookie)
{
	uint64_t kind = cookie >> KIND_SHIFT,
		 i = cookie & ((1 << KIND_SHIFT) - 1);
	struct tally *t = &st->tally[kind < KINDS ? kind : 0];

	if (!need(st, kind < KINDS) || !need(st, i < (uint64_t)t->max) ||
	    !need(st, __atomic_exchange_n(&t->out[i], 2, __ATOMIC_ACQ_REL) ==
			      1 /* comes back once */))
		return false;
	__atomic_add_fetch(&t->back, 1, __ATOMIC_RELEASE);
	return true;
}

static int tally_got(struct stress *st, enum kind kind)
{
	return __atomic_load_n(&st->tally[kind].back, __ATOMIC_ACQUIRE);
}

/* A call that may be too early, too late or in another's way. */
static bool harmless(DAT_RETURN ret)
{
	switch (DAT_GET_TYPE(ret)) {
	case DAT_SUCCESS:
	case DAT_QUEUE_EMPTY:
	case DAT_TIMEOUT_EXPIRED:
	case DAT_INVALID_STATE:
	case DAT_INTERRUPTED_CALL:
		return true;
	default:
		return false;
	}
}

/* ------------------------------ transfers on one connection */

static DAT_LMR_TRIPLET slot_seg(const struct world_side *s, int i)
{
	return world_seg(s, (size_t)i * sizeof(uint64_t), sizeof(uint64_t));
}

static void post_receives(struct stress_worker *me)
{
	struct stress *st = me->st;
	struct world_side *s = &st->w->server;
	int i;

	while ((i = tally_next(st, RECEIVED)) >= 0) {
		DAT_LMR_TRIPLET seg = slot_seg(s, i);
		DAT_DTO_COOKIE cookie =
			world_cookie(tally_out(st, RECEIVED, i));
		DAT_RETURN ret;

		while ((ret = V(ep_post_recv)(s->ep, 1, &seg, cookie, 0)) !=
			       DAT_SUCCESS &&
		       !late(st) &&
		       need(st,
			    DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES))
			world_pause();
		if (ret != DAT_SUCCESS)
			return;
		__atomic_add_fetch(&st->recv_ready, 1, __ATOMIC_RELEASE);
	}
}

/* Takes one of the receives that are ready; false when it is too late. */
static bool take_receive(struct stress *st)
{
	int n = __atomic_load_n(&st->recv_ready, __ATOMIC_ACQUIRE);

	for (;;) {
		if (n > 0 && __atomic_compare_exchange_n(
				     &st->recv_ready, &n, n - 1, 0,
				     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return true;
		if (n > 0)
			continue;
		if (late(st))
			return false;
		world_pause();
		n = __atomic_load_n(&st->recv_ready, __ATOMIC_ACQUIRE);
	}
}

static void post_sends(struct stress_worker *me)
{
	struct stress *st = me->st;
	struct world_side *s = &st->w->client;
	int i;

	while ((i = tally_next(st, SENT)) >= 0 && take_receive(st)) {
		DAT_LMR_TRIPLET seg = slot_seg(s, i);
		DAT_DTO_COOKIE cookie = world_cookie(tally_out(st, SENT, i));
		uint64_t text = (uint64_t)i + 1;
		DAT_RETURN ret;

		memcpy(s->mem.buf + (size_t)i * sizeof(text), &text,
		       sizeof(text));
		while ((ret = V(ep_post_send)(s->ep, 1, &seg, cookie, 0)) !=
			       DAT_SUCCESS &&
		       !late(st) &&
		       need(st,
			    DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES))
			world_pause();
		if (ret != DAT_SUCCESS)
			return;
	}
}

/* What a DTO EVD gave: a transfer of the one connection, or of some other. */
static bool judge_dto(struct stress *st, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev->event_data.dto_completion_event_data;

	if (!need(st, ev->event_number == DAT_DTO_COMPLETION_EVENT) ||
	    !tally_back(st, dto->user_cookie.as_64))
		return false;
	return dto->user_cookie.as_64 >> KIND_SHIFT == LIFE ||
	       need(st, dto->status == DAT_DTO_SUCCESS);
}

/* Some wait and some dequeue, and get into each other's way. */
static void read_evd(struct stress_worker *me, DAT_EVD_HANDLE evd,
		     enum kind kind)
{
	struct stress *st = me->st;
	DAT_COUNT more;
	DAT_EVENT ev;
	DAT_RETURN ret;

	while (tally_got(st, kind) < st->messages && !late(st)) {
		ret = dice(me, 3)
			      ? V(evd_wait)(evd, STRESS_STEP_US, 1, &ev, &more)
			      : V(evd_dequeue)(evd, &ev);
		if (!need(st, harmless(ret)))
			return;
		if (ret == DAT_SUCCESS && !judge_dto(st, &ev))
			return;
		if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
			world_pause();
	}
}

static void read_sends(struct stress_worker *me)
{
	read_evd(me, me->st->w->client.req_evd, SENT);
}

static void read_receives(struct stress_worker *me)
{
	read_evd(me, me->st->w->server.recv_evd, RECEIVED);
}

/* ---------------------------- connections come and go */

struct life {
	struct stress_worker *me;
	DAT_EVD_HANDLE server_conn, client_conn, cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE server, client;
};

static bool life_connect(struct life *l)
{
	struct stress *st = l->me->st;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	if (!ok(st, world_ask(l->client, st->addr, l->qual)) ||
	    !need(st, own_event(st, l->cr_evd, &ev) ==
			      DAT_CONNECTION_REQUEST_EVENT))
		return false;
	cr = ev.event_data.cr_arrival_event_data.cr_handle;
	if (!dice(l->me, 4)) {
		ok(st, V(cr_reject)(cr, 0, NULL));
		need(st, own_event(st, l->client_conn, &ev) ==
				 DAT_CONNECTION_EVENT_PEER_REJECTED);
		return false;
	}
	return ok(st, V(cr_accept)(cr, l->server, 0, NULL)) &&
	       stress_told(&st->run, l->client_conn, l->server_conn,
			   DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Requests whose completions another thread will find in its EVD. */
static void life_transfer(struct life *l)
{
	struct stress *st = l->me->st;
	struct world *w = st->w;
	DAT_RMR_TRIPLET remote = world_target(&w->server, 0, 0);
	unsigned n = dice(l->me, 5);

	while (n--) {
		DAT_LMR_TRIPLET seg = world_seg(&w->client, 0, 0);
		int i = tally_next(st, LIFE);
		DAT_DTO_COOKIE cookie;

		if (i < 0)
			return;
		cookie = world_cookie(tally_out(st, LIFE, i));
		if (V(ep_post_rdma_write)(l->client, 1, &seg, cookie, &remote,
					  0) != DAT_SUCCESS)
			tally_undo(st, LIFE, i);
	}
}

/* Ends the connection from either side, and sees both ends of it. */
static bool life_disconnect(struct life *l)
{
	struct stress *st = l->me->st;

	need(st, V(ep_disconnect)(dice(l->me, 2) ? l->client : l->server,
				  dice(l->me, 2) ? DAT_CLOSE_ABRUPT_FLAG
						 : DAT_CLOSE_GRACEFUL_FLAG) ==
			 DAT_SUCCESS);
	return stress_told(&st->run, l->client_conn, l->server_conn,
			   DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void life_turn(struct life *l)
{
	struct stress *st = l->me->st;
	struct world *w = st->w;
	DAT_EVENT ev;

	if (!ok(st, V(ep_create)(w->server.ia, w->server.pz, w->server.recv_evd,
				 w->server.req_evd, l->server_conn, NULL,
				 &l->server)) ||
	    !ok(st, V(ep_create)(w->client.ia, w->client.pz, w->client.recv_evd,
				 w->client.req_evd, l->client_conn, NULL,
				 &l->client)))
		return;
	for (unsigned n = dice(l->me, 3); n--;) {
		if (life_connect(l)) {
			life_transfer(l);
			if (!life_disconnect(l))
				break;
		}
		ok(st, V(ep_reset)(l->client));
		ok(st, V(ep_reset)(l->server));
	}
	/* Sometimes one end is freed while it is connected. */
	if (!stress_stopped(&st->run) && dice(l->me, 2) && life_connect(l)) {
		life_transfer(l);
		ok(st, V(ep_free)(l->client));
		need(st, own_event(st, l->server_conn, &ev) ==
				 DAT_CONNECTION_EVENT_DISCONNECTED);
	} else {
		ok(st, V(ep_free)(l->client));
	}
	ok(st, V(ep_free)(l->server));
}

static bool own_evd(struct stress *st, DAT_IA_HANDLE ia, unsigned flags,
		    DAT_EVD_HANDLE *ret_evd)
{
	return ok(st, V(evd_create)(ia, WORLD_QLEN, DAT_HANDLE_NULL,
				    (DAT_EVD_FLAGS)flags, ret_evd));
}

static void lives(struct stress_worker *me)
{
	struct stress *st = me->st;
	struct world *w = st->w;
	struct life l = {.me = me, .qual = WORLD_QUAL + 1 + me->nr};

	if (!own_evd(st, w->server.ia, DAT_EVD_CONNECTION_FLAG,
		     &l.server_conn) ||
	    !own_evd(st, w->client.ia, DAT_EVD_CONNECTION_FLAG,
		     &l.client_conn) ||
	    !own_evd(st, w->server.ia, DAT_EVD_CR_FLAG, &l.cr_evd) ||
	    !ok(st, V(psp_create)(w->server.ia, l.qual, l.cr_evd,
				  DAT_PSP_CONSUMER_FLAG, &l.psp)))
		return;
	for (int i = 0; i < st->life_turns && !late(st); i++)
		life_turn(&l);
	if (stress_stopped(&st->run))
		return; /* closing the IA cleans up */
	ok(st, V(psp_free)(l.psp));
	ok(st, V(evd_free)(l.cr_evd));
	ok(st, V(evd_free)(l.client_conn));
	ok(st, V(evd_free)(l.server_conn));
}

/* ------------------------------------ EVDs, CNOs, the rest */

/* Switches of EVDs that others are using at this moment. */
static void switches(struct stress_worker *me)
{
	struct stress *st = me->st;
	struct world_side *s = &st->w->server;

	for (int i = 0; i < st->turns && !late(st); i++) {
		DAT_EVD_HANDLE evd = dice(me, 2) ? st->soft_evd : s->recv_evd;
		DAT_RETURN ret = DAT_SUCCESS;

		switch (dice(me, 7)) {
		case 0:
			ret = V(evd_modify_cno)(evd,
						dice(me, 3) ? st->cno : NULL);
			break;
		case 1:
			ret = V(evd_disable)(evd);
			break;
		case 2:
			ret = V(evd_enable)(evd);
			break;
		case 3:
			ret = V(evd_set_unwaitable)(evd);
			break;
		case 4:
			ret = V(evd_resize)(evd, 64 + (int)dice(me, 1000));
			break;
		default:
			ret = V(evd_clear_unwaitable)(evd);
			break;
		}
		if (!need(st, harmless(ret)))
			return;
	}
	ok(st, V(evd_clear_unwaitable)(s->recv_evd));
}

/* Software events of one thread's making, taken by others. */
static void post_soft(struct stress_worker *me)
{
	struct stress *st = me->st;
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};
	DAT_RETURN ret;

	for (int i = 0; i < st->turns && !late(st); i++) {
		int nr = tally_next(st, SOFT);

		if (nr < 0)
			return;
		ev.event_data.software_event_data.pointer =
			(DAT_PVOID)(uintptr_t)tally_out(st, SOFT, nr);
		while ((ret = V(evd_post_se)(st->soft_evd, &ev)) !=
			       DAT_SUCCESS &&
		       !late(st) &&
		       need(st, DAT_GET_TYPE(ret) == DAT_QUEUE_FULL))
			world_pause();
	}
}

static bool take_soft(struct stress *st)
{
	DAT_EVENT ev;

	return V(evd_dequeue)(st->soft_evd, &ev) == DAT_SUCCESS &&
	       tally_back(st,
			  (uintptr_t)ev.event_data.software_event_data.pointer);
}

/*
 * The EVD that a CNO names may be taken from it, or be freed, by now: only
 * those that live as long as the test are looked at.
 */
static void wait_cno(struct stress_worker *me)
{
	struct stress *st = me->st;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	while (__atomic_load_n(&st->run.working, __ATOMIC_ACQUIRE) &&
	       !late(st)) {
		ret = V(cno_wait)(st->cno, dice(me, 4) ? STRESS_STEP_US : 0,
				  &evd);
		if (!need(st, harmless(ret)))
			return;
		while (take_soft(st))
			;
	}
}

/* EVDs and CNOs of the thread's own. */
static void dispatchers(struct stress_worker *me)
{
	struct stress *st = me->st;
	DAT_IA_HANDLE ia = st->w->server.ia;
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	for (int i = 0; i < st->turns / 4 && !late(st); i++) {
		DAT_CNO_HANDLE cno;
		DAT_EVD_HANDLE evd, from;

		if (!ok(st, V(cno_create)(ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
					  &cno)) ||
		    !own_evd(st, ia,
			     DAT_EVD_SOFTWARE_FLAG |
				     (dice(me, 2) ? DAT_EVD_DTO_FLAG : 0),
			     &evd))
			return;
		ok(st, V(evd_modify_cno)(evd, cno));
		ok(st, V(evd_post_se)(evd, &ev));
		ok(st, V(cno_wait)(cno, WORLD_PATIENCE_US, &from));
		need(st, from == evd);
		ok(st, V(evd_resize)(evd, 100));
		need(st, DAT_GET_TYPE(V(cno_free)(cno)) == DAT_INVALID_STATE);
		if (dice(me, 2))
			ok(st, V(evd_modify_cno)(evd, st->cno));
		else
			ok(st, V(evd_dequeue)(evd, &ev));
		ok(st, V(evd_disable)(evd));
		ok(st, V(evd_free)(evd));
		ok(st, V(cno_free)(cno));
		ev = (DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT};
	}
}

/* Memory, with the PZ and with others' LMRs under way. */
static void regions(struct stress_worker *me)
{
	struct stress *st = me->st;
	struct world_side *s = &st->w->client;
	DAT_REGION_DESCRIPTION desc = {.for_va = s->mem.buf};
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	for (int i = 0; i < st->turns / 2 && !late(st); i++) {
		if (!ok(st, V(pz_create)(s->ia, &pz)) ||
		    !ok(st, V(lmr_create)(s->ia, DAT_MEM_TYPE_VIRTUAL, desc,
					  1 + dice(me, WORLD_MEM_SIZE), pz,
					  WORLD_PRIV_ALL, DAT_VA_TYPE_VA, &lmr,
					  NULL, NULL, NULL, NULL)))
			return;
		need(st, V(lmr_query)(lmr, DAT_LMR_FIELD_ALL, &param) ==
				 DAT_SUCCESS);
		need(st, param.pz_handle == pz);
		need(st, DAT_GET_TYPE(V(pz_free)(pz)) == DAT_INVALID_STATE);
		ok(st, V(lmr_free)(lmr));
		ok(st, V(pz_free)(pz));
	}
}

static void queries(struct stress_worker *me)
{
	struct stress *st = me->st;
	struct world_side *s = &st->w->server;
	DAT_EP_PARAM ep;
	DAT_EVD_PARAM evd;
	DAT_EP_STATE state;
	DAT_BOOLEAN idle[2];
	DAT_COUNT n[2];

	for (int i = 0; i < st->turns && !late(st); i++) {
		ok(st, V(ep_query)(s->ep, DAT_EP_FIELD_ALL, &ep));
		need(st, ep.recv_evd_handle == s->recv_evd);
		ok(st, V(ep_get_status)(st->w->client.ep, &state, &idle[0],
					&idle[1]));
		need(st, state == DAT_EP_STATE_CONNECTED);
		ok(st, V(ep_recv_query)(s->ep, &n[0], &n[1]));
		need(st, V(evd_query)(s->recv_evd, DAT_EVD_FIELD_ALL, &evd) ==
				 DAT_SUCCESS);
		need(st, evd.cno_handle == NULL || evd.cno_handle == st->cno);
		ok(st, V(ia_query)(s->ia, NULL, 0, NULL, 0, NULL));
	}
}

/* A whole IA beside the others, closed in order or as it is. */
static void adapters(struct stress_worker *me)
{
	struct stress *st = me->st;

	for (int i = 0; i < st->turns / 16 + 1 && !late(st); i++) {
		bool abrupt = dice(me, 2);
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
		DAT_IA_HANDLE ia;
		DAT_PZ_HANDLE pz;

		if (!need(st, V(ia_open)(WORLD_IA_NAME, 8, &async, &ia) ==
				      DAT_SUCCESS))
			return;
		ok(st, V(pz_create)(ia, &pz));
		own_evd(st, ia, DAT_EVD_DTO_FLAG, &evd);
		if (!abrupt) {
			ok(st, V(evd_free)(evd));
			ok(st, V(pz_free)(pz));
		}
		need(st, V(ia_close)(ia, abrupt ? DAT_CLOSE_ABRUPT_FLAG
						: DAT_CLOSE_GRACEFUL_FLAG) ==
				 DAT_SUCCESS);
	}
}

/* ------------------------------------------------ the test */

static const stress_fn crew[] = {
	post_sends, post_sends, post_sends,    post_receives, post_receives,
	read_sends, read_sends, read_receives, read_receives, lives,
	lives,	    post_soft,	switches,      dispatchers,   regions,
	queries,    adapters,	wait_cno,      wait_cno,
};

#define CREW  ((int)(sizeof(crew) / sizeof(crew[0])))
#define WAITS 2 /* at its end */

/* Each message arrived once, in whichever receive. */
static void check_payloads(const struct stress *st)
{
	uint8_t *seen = calloc((size_t)st->messages + 1, 1);
	uint64_t text;

	assert_non_null(seen);
	for (int i = 0; i < st->messages; i++) {
		memcpy(&text, st->w->server.mem.buf + (size_t)i * sizeof(text),
		       sizeof(text));
		assert_in_range(text, 1, st->messages);
		assert_int_equal(seen[text]++, 0);
	}
	free(seen);
}

ON_EACH(all_calls__from_many_threads)
{
	struct stress st = {.w = w, .addr = world_addr()};

	st.messages = stress_portion(3000);
	if (st.messages > (int)MESSAGE_MAX)
		st.messages = (int)MESSAGE_MAX;
	st.life_turns = stress_portion(40);
	st.turns = stress_portion(400);
	tally_init(&st.tally[SENT], st.messages);
	tally_init(&st.tally[RECEIVED], st.messages);
	tally_init(&st.tally[LIFE], st.life_turns * LIFE_THREADS * 16);
	tally_init(&st.tally[SOFT], st.turns);
	world_connect(w);
	st.cno = world_cno(s->ia);
	st.soft_evd = world_evd_cno(s->ia, DAT_EVD_SOFTWARE_FLAG, st.cno);
	st.run.deadline_us = world_now_us() + LIMIT_US;

	stress_crew(&st, crew, CREW, WAITS, stress_seed());

	while (take_soft(&st))
		;
	assert_stress_ok(&st);
	assert_int_equal(tally_got(&st, SOFT), st.turns);
	assert_int_equal(tally_got(&st, SENT), st.messages);
	assert_int_equal(tally_got(&st, RECEIVED), st.messages);
	check_payloads(&st);
	for (int i = 0; i < KINDS; i++)
		free(st.tally[i].out);
}

/* --------------------------- one handle, freed by several */

#define FREE_THREADS 3

struct freeing {
	DAT_RETURN (*call)(DAT_HANDLE handle);
	DAT_HANDLE handle;
	DAT_RETURN ret[FREE_THREADS];
	int next; /* atomic */
	pthread_barrier_t start;
};

static void *free_main(void *arg)
{
	struct freeing *f = arg;
	int me = __atomic_fetch_add(&f->next, 1, __ATOMIC_RELAXED);

	pthread_barrier_wait(&f->start);
	f->ret[me] = f->call(f->handle);
	return NULL;
}

/* Exactly one call ends the object; to the others it is gone or going. */
static void free_at_once(DAT_RETURN (*call)(DAT_HANDLE handle),
			 DAT_HANDLE handle)
{
	struct freeing f = {.call = call, .handle = handle};
	pthread_t threads[FREE_THREADS];
	int won = 0;

	pthread_barrier_init(&f.start, NULL, FREE_THREADS);
	for (int i = 0; i < FREE_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, free_main, &f), 0);
	for (int i = 0; i < FREE_THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&f.start);
	for (int i = 0; i < FREE_THREADS; i++) {
		won += f.ret[i] == DAT_SUCCESS;
		if (f.ret[i] != DAT_SUCCESS &&
		    DAT_GET_TYPE(f.ret[i]) != DAT_INVALID_HANDLE)
			assert_int_equal(DAT_GET_TYPE(f.ret[i]),
					 DAT_INVALID_STATE);
	}
	assert_int_equal(won, 1);
}

ON_IB(free__by_several_threads)
{
	DAT_CNO_HANDLE cno;

	for (int i = 0; i < stress_portion(60); i++) {
		free_at_once(V(evd_free), world_evd(c->ia, DAT_EVD_DTO_FLAG));
		free_at_once(V(ep_free), world_ep(c, NULL));
		free_at_once(V(pz_free), world_pz(c->ia));
		free_at_once(V(lmr_free), world_lmr(c->ia, c->pz, c->mem.buf,
						    4096, NULL, NULL));
		cno = world_cno(c->ia);
		free_at_once(V(cno_free), cno);
	}
}

/* ----------------------- an EVD, freed while others call */

#define CALL_THREADS 4

struct calling {
	struct world_side *s;
	pthread_mutex_t mutex;
	DAT_EVD_HANDLE evd; /* mutex; the one there is, or was just now */
	bool over;	    /* mutex */
	DAT_CNO_HANDLE cno;
	uint64_t seed;
	int next;	  /* atomic */
	DAT_RETURN wrong; /* atomic: an answer that is none */
};

/* An EVD that is gone or going, in the way of another call, or at work. */
static bool call_answer_ok(DAT_RETURN ret)
{
	switch (DAT_GET_TYPE(ret)) {
	case DAT_INVALID_HANDLE:
	case DAT_ABORT:
	case DAT_QUEUE_FULL:
		return true;
	default:
		return harmless(ret);
	}
}

/* Ended by OVER, the handle is published by a lock that helgrind knows. */
static bool evd_now(struct calling *c, DAT_EVD_HANDLE *ret_evd)
{
	bool over;

	pthread_mutex_lock(&c->mutex);
	over = c->over;
	*ret_evd = c->evd;
	pthread_mutex_unlock(&c->mutex);
	return !over;
}

static void evd_is(struct calling *c, DAT_EVD_HANDLE evd, bool over)
{
	pthread_mutex_lock(&c->mutex);
	c->evd = evd;
	c->over = over;
	pthread_mutex_unlock(&c->mutex);
}

static DAT_RETURN call_some(struct calling *c, struct stress_worker *me,
			    DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};
	DAT_EVD_PARAM param;
	DAT_COUNT more;

	switch (dice(me, 11)) {
	case 0:
		return V(evd_modify_cno)(evd, dice(me, 2) ? c->cno : NULL);
	case 1:
		return V(evd_enable)(evd);
	case 2:
		return V(evd_disable)(evd);
	case 3:
		return V(evd_set_unwaitable)(evd);
	case 4:
		return V(evd_clear_unwaitable)(evd);
	case 5:
		return V(evd_resize)(evd, 32 + (int)dice(me, 500));
	case 6:
		return V(evd_query)(evd, DAT_EVD_FIELD_ALL, &param);
	case 7:
		return V(evd_wait)(evd, dice(me, 2) * 300, 1, &ev, &more);
	case 8:
		return V(evd_dequeue)(evd, &ev);
	default:
		return V(evd_post_se)(evd, &ev);
	}
}

static void *call_main(void *arg)
{
	struct calling *c = arg;
	int nr = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);
	struct stress_worker me = {.random = stress_series(c->seed, nr)};
	DAT_EVD_HANDLE evd;

	while (evd_now(c, &evd)) {
		DAT_RETURN ret = call_some(c, &me, evd);

		if (!call_answer_ok(ret))
			__atomic_store_n(&c->wrong, ret, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Frees C's EVD as soon as nobody waits on it. */
static void free_under_calls(struct calling *c)
{
	uint64_t until = world_now_us() + WORLD_PATIENCE_US;
	DAT_RETURN ret;

	for (int tries = 0;; tries++) {
		assert_true(world_now_us() < until);
		ret = V(evd_free)(c->evd);
		if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
			break;
		/* Where few processors take turns somebody always waits. */
		if (tries >= 1000)
			V(evd_set_unwaitable)(c->evd);
	}
	assert_dat_ok(ret);
}

ON_EACH(evd_free__while_others_call)
{
	struct calling calls = {.s = c, .seed = stress_seed()};
	pthread_t threads[CALL_THREADS];
	unsigned flags = DAT_EVD_SOFTWARE_FLAG;

	pthread_mutex_init(&calls.mutex, NULL);
	calls.cno = world_cno(calls.s->ia);
	calls.evd = world_evd(calls.s->ia, flags);
	for (int i = 0; i < CALL_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, call_main, &calls),
			0);
	for (int i = 0; i < stress_portion(2000); i++) {
		free_under_calls(&calls);
		flags ^= DAT_EVD_DTO_FLAG;
		evd_is(&calls, world_evd(calls.s->ia, flags), false);
	}
	evd_is(&calls, calls.evd, true);
	for (int i = 0; i < CALL_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(calls.wrong, 0);
	assert_dat_ok(V(evd_free)(calls.evd));
	pthread_mutex_destroy(&calls.mutex);
	/* No EVD has left the CNO in use. */
	assert_dat_ok(V(cno_free)(calls.cno));
}

RUN_CASES(NULL, NULL)
