/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ucm_conn.c - connections by way of the UCM provider as a program sees
 * them, over a network that loses, repeats and reorders messages.
 *
 * All of the stack is real down to the fake device. What the hook sees are the
 * datagrams of the two connection managers, nothing else.
 * Threads: the hook runs on whoever sends; it works on atomics only.
 * Rules: doc/cm-protocol.md; events as the historic provider has them, but
 * where it was wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/cm/dcm/dcm.h"
#include "dapl/common/connect/dapl_ep.h"
#include "dapl/openib_ucm/ucm.h"
#include "test/unit/kit.h"

#define EV(x)  DAT_CONNECTION_EVENT_##x
#define OP_ANY 0

/* What happens to messages of one kind. */
static struct {
	unsigned op; /* or OP_ANY */
	enum fv_verdict verdict;
	int times; /* atomic; how often yet */
	int seen;  /* atomic; messages of that kind */
} plan;

static unsigned op_of(const struct fv_ud_packet *pkt)
{
	return pkt->len >= DCM_HEADER ? pkt->data[3] : 0;
}

static enum fv_verdict follow_plan(struct fv_ud_packet *pkt, void *arg)
{
	if (plan.op != OP_ANY && op_of(pkt) != plan.op)
		return FV_DELIVER;
	__atomic_add_fetch(&plan.seen, 1, __ATOMIC_RELEASE);
	if (__atomic_sub_fetch(&plan.times, 1, __ATOMIC_ACQ_REL) < 0)
		return FV_DELIVER;
	return plan.verdict;
}

static void plan_for(unsigned op, enum fv_verdict verdict, int times)
{
	fv_hook_ud(NULL, NULL);
	plan.op = op;
	plan.verdict = verdict;
	plan.times = times;
	plan.seen = 0;
	fv_hook_ud(follow_plan, NULL);
}

static int seen(void)
{
	return __atomic_load_n(&plan.seen, __ATOMIC_ACQUIRE);
}

/* --------------------------------------------------- as it should be */

static void data_both_ways(struct world *w)
{
	world_recv(&w->server, 0, 64, 1);
	world_recv(&w->client, 0, 64, 2);
	strcpy((char *)w->client.mem.buf + 1024, "to the server");
	strcpy((char *)w->server.mem.buf + 1024, "to the client");
	world_send(&w->client, 1024, 64, 3, 0);
	world_send(&w->server, 1024, 64, 4, 0);
	expect_dto(w->server.recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(w->client.recv_evd, 2, DAT_DTO_SUCCESS);
	expect_dto(w->client.req_evd, 3, DAT_DTO_SUCCESS);
	expect_dto(w->server.req_evd, 4, DAT_DTO_SUCCESS);
	assert_string_equal((char *)w->server.mem.buf, "to the server");
	assert_string_equal((char *)w->client.mem.buf, "to the client");
}

static void close_ia(struct world_side *s)
{
	world_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG);
	s->ia = NULL;
}

ON_IB(ucm_disconnect__by_both_at_once, world_connect)
{
	plan_for(DCM_DREQ, FV_HOLD, 2);
	kit_abort(c->ep);
	kit_abort(s->ep);
	world_until(seen() >= 2);
	fv_ud_release(10);
	kit_over(w);
}

/* ------------------------------------------------- peers that vanish */

static struct dcm *dcm_of_side(const struct world_side *s)
{
	return dcm_from(((struct dapl_ia *)s->ia)->cm);
}

static void set_keepalive(struct world_side *s, int ms)
{
	dcm_of_side(s)->rules.keepalive_ms = ms;
}

/* A machine that has other work is not to be taken for a dead peer. */
#define ALIVE_MS 450

/* Who accepted asks; the other one does not. */
static void server_asks(struct world *w)
{
	set_keepalive(&w->server, ALIVE_MS);
	set_keepalive(&w->client, 0);
}

static void both_ask(struct world *w)
{
	set_keepalive(&w->server, ALIVE_MS);
	set_keepalive(&w->client, ALIVE_MS);
}

static void nobody_asks(struct world *w)
{
	set_keepalive(&w->server, 0);
	set_keepalive(&w->client, 0);
}

static void nothing_is_heard(struct world *w)
{
	expect_empty(w->client.conn_evd);
	expect_empty(w->server.conn_evd);
	kit_state(w->client.ep, DAT_EP_STATE_CONNECTED);
	kit_state(w->server.ep, DAT_EP_STATE_CONNECTED);
}

ON_IB_ROCE(alive__peer_answers, server_asks, world_connect)
{
	plan_for(DCM_RTU, FV_DELIVER, 0);
	world_until(seen() >= 3);
	nothing_is_heard(w);
}

/* What is posted is flushed, and either end hears of the end once. */
ON_IB_ROCE(alive__peer_vanishes, server_asks, world_connect)
{
	plan_for(DCM_RTU, FV_DELIVER, 0);
	world_until(seen() >= 1);
	world_recv(s, 0, 64, 1);
	plan_for(DCM_REP, FV_DROP, 1000);
	kit_conn(s, EV(BROKEN));
	expect_dto(s->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
	kit_conn(c, EV(DISCONNECTED));
}

/*
 * Who connected asks a peer that has asked, and hears nothing; the peer hears
 * it.
 */
ON_IB_ROCE(alive__server_vanishes, both_ask, world_connect)
{
	plan_for(DCM_REP, FV_DELIVER, 0);
	world_until(seen() >= 1);
	plan_for(DCM_REP, FV_DROP, 1000);
	kit_conn(c, EV(BROKEN));
	kit_conn(s, EV(DISCONNECTED));
}

/* Less than what a peer counts as vanished by. */
ON_IB(alive__answers_lost, server_asks, world_connect)
{
	plan_for(DCM_RTU, FV_DELIVER, 0);
	world_until(seen() >= 1);
	plan_for(DCM_RTU, FV_DROP, 3);
	world_until(seen() >= 6);
	nothing_is_heard(w);
}

/* One that has never answered, as if it could not. */
ON_IB(alive__peer_that_never_answers, server_asks, world_connect)
{
	plan_for(DCM_REP, FV_DROP, 1000);
	world_until(seen() >= 6);
	nothing_is_heard(w);
}

ON_IB(ucm_alive__off, nobody_asks, world_connect)
{
	assert_true(dapl_list_empty(&dcm_of_side(s)->alive.peers));
	assert_true(dapl_list_empty(&dcm_of_side(c)->alive.peers));
}

/* -------------------------------------------------------- addresses */

static struct dcm_ib address_of(DAT_IA_ADDRESS_PTR addr)
{
	struct dcm_block block;
	struct dcm_ib ib;

	memcpy(&block, addr, sizeof(block));
	dcm_block_get_ib(&block, &ib);
	return ib;
}

ON_IB_ROCE(address__is_a_block)
{
	struct dcm_ib ib = address_of(world_addr());
	static const uint8_t null[16];

	assert_int_equal(world_addr()->sa_family, AF_INET6);
	assert_int_equal(ib.qp_type, DCM_QP_UD);
	assert_true(ib.qpn != 0);
	assert_memory_not_equal(ib.gid, null, sizeof(null));
	if (w->kind == FV_IB)
		assert_true(ib.lid != 0);
}

/* The address that a request shows leads to the client's own listeners. */
ON_IB_ROCE(address__of_a_request_can_be_called)
{
	DAT_EP_HANDLE caller, called;
	DAT_CR_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;

	kit_ready(w);
	cr = kit_meet(w);
	assert_dat_ok(V(cr_query)(cr, DAT_CR_FIELD_ALL, &param));
	assert_dat_ok(V(psp_create)(c->ia, WORLD_QUAL + 1, c->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	caller = world_ep(s, NULL);
	called = world_ep(c, NULL);
	assert_dat_ok(
		world_ask(caller, param.remote_ia_address_ptr, WORLD_QUAL + 1));
	assert_dat_ok(V(cr_accept)(world_request(c->cr_evd), called, 0, NULL));
	expect_event(s->conn_evd, EV(ESTABLISHED));
	expect_event(c->conn_evd, EV(ESTABLISHED));
	assert_dat_ok(V(cr_reject)(cr, 0, NULL));
	kit_conn(c, EV(PEER_REJECTED));
}

/* ADDR and QUAL are refused before anything is sent. */
static void refuses(struct world *w, const struct dcm_ib *ib,
		    DAT_CONN_QUAL qual, unsigned subtype)
{
	struct sockaddr_storage addr = {.ss_family = 0};
	struct dcm_block block;

	dcm_block_set_ib(&block, ib);
	memcpy(&addr, &block, sizeof(block));
	assert_refused(world_ask(w->client.ep, (DAT_IA_ADDRESS_PTR)&addr, qual),
		       DAPL_ERR(DAT_INVALID_ADDRESS, subtype));
	kit_state(w->client.ep, DAT_EP_STATE_UNCONNECTED);
}

/*
 * What programs make of the address that take it for a plain sockaddr: its
 * first 16 bytes, and then whatever is there, GARBAGE.
 */
static DAT_IA_ADDRESS_PTR cut_address(struct sockaddr_storage *addr,
				      const uint8_t *garbage)
{
	memcpy((uint8_t *)addr + sizeof(struct sockaddr),
	       garbage + sizeof(struct sockaddr),
	       sizeof(struct dcm_block) - sizeof(struct sockaddr));
	memcpy(addr, world_addr(), sizeof(struct sockaddr));
	return (DAT_IA_ADDRESS_PTR)addr;
}

#define GARBAGES 5

/* Nothing, anything, a whole address but one byte, and another's end. */
static void garbage_n(int n, uint8_t *ret_bytes)
{
	struct dcm_block block;
	struct dcm_ib other = address_of(world_addr());

	memset(ret_bytes, 0, sizeof(block));
	if (n == 1)
		memset(ret_bytes, 0xff, sizeof(block));
	if (n == 2)
		for (size_t i = 0; i < sizeof(block); i++)
			ret_bytes[i] = (uint8_t)(7 * i + 13);
	if (n < 3)
		return;
	memset(other.gid + 8, n, 8);
	if (n == 3)
		other.qp_type = DCM_QP_RC;
	dcm_block_set_ib(&block, &other);
	memcpy(ret_bytes, &block, sizeof(block));
}

static DAT_RETURN connect_cut(struct world *w, int n)
{
	struct sockaddr_storage addr;
	uint8_t garbage[sizeof(struct dcm_block)];

	garbage_n(n, garbage);
	return V(ep_connect)(w->client.ep, cut_address(&addr, garbage),
			     WORLD_QUAL, DAT_TIMEOUT_INFINITE, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Where the path goes by LID, that and the number are all that is needed. */
ON_IB(address__cut_short_leads_by_lid)
{
	DAT_EP_PARAM param;
	struct dcm_ib ib;

	kit_ready(w);
	for (int n = 0; n < GARBAGES; n++) {
		assert_dat_ok(connect_cut(w, n));
		kit_accept(w, kit_request(w));
		kit_established(w);
		data_both_ways(w);
		/* What it was called by can be passed on. */
		param = kit_query(c->ep);
		ib = address_of(param.remote_ia_address_ptr);
		assert_int_equal(ib.qp_type, DCM_QP_UD);
		assert_int_equal(ib.lid, address_of(world_addr()).lid);
		if (n < 4)
			assert_int_equal(ib.gid[0] | ib.gid[15], 0);
		kit_disconnect(w);
		kit_reset(w);
	}
}

/* Where it goes by GID, the program is told what it did. */
ON_ROCE(address__cut_short_has_no_gid, world_eps)
{
	plan_for(OP_ANY, FV_DELIVER, 0);
	for (int n = 0; n < 4; n++) {
		assert_refused(connect_cut(w, n),
			       DAPL_ERR(DAT_INVALID_ADDRESS,
					DAT_INVALID_ADDRESS_UNREACHABLE));
		assert_non_null(strstr(dapl__fail_text(), "16 of its 28"));
		kit_state(c->ep, DAT_EP_STATE_UNCONNECTED);
	}
	assert_int_equal(seen(), 0);
}

ON_IB_ROCE(address__unusable)
{
	struct dcm_ib good = address_of(world_addr()), ib;

	world_eps(w);
	plan_for(OP_ANY, FV_DELIVER, 0);
	ib = good;
	ib.qpn = 0;
	refuses(w, &ib, 1, DAT_INVALID_ADDRESS_UNREACHABLE);
	ib = good;
	ib.qpn = 0x1000000;
	refuses(w, &ib, 1, DAT_INVALID_ADDRESS_UNREACHABLE);
	ib = good;
	ib.qp_type = DCM_QP_RC;
	if (w->kind == FV_ROCE)
		refuses(w, &ib, 1, DAT_INVALID_ADDRESS_UNREACHABLE);
	ib = good;
	ib.family = AF_INET;
	refuses(w, &ib, 1, DAT_INVALID_ADDRESS_MALFORMED);
	if (w->kind == FV_IB) {
		ib = good;
		ib.lid = 0xc000;
		refuses(w, &ib, 1, DAT_INVALID_ADDRESS_UNREACHABLE);
		ib.lid = 0xffff;
		refuses(w, &ib, 1, DAT_INVALID_ADDRESS_UNREACHABLE);
	}
	ib = good;
	ib.lid = 0;
	memset(ib.gid, 0, sizeof(ib.gid));
	refuses(w, &ib, 1, DAT_INVALID_ADDRESS_UNREACHABLE);
	refuses(w, &good, 0, DAT_INVALID_ADDRESS_UNREACHABLE);
	refuses(w, &good, 0x10000, DAT_INVALID_ADDRESS_UNREACHABLE);
	assert_int_equal(seen(), 0);
}

/* InfiniBand: a handle that fails once is made with the next repeat. */
ON_IB(connect__no_handle_at_first, world_eps)
{
	fv_fail_call("ibv_create_ah", 1, ENOMEM);
	world_connect(w);
	assert_true(fv_fail_hit());
}

ON_ROCE(connect__no_way_to_the_peer, world_eps)
{
	fv_fail_call("ibv_create_ah", 1, EINVAL);
	kit_ask(w);
	kit_conn(c, EV(UNREACHABLE));
	fv_fail_at(0, 0);
	assert_dat_ok(V(ep_reset)(c->ep));
	world_connect(w);
}

ON_IB(listen__port_is_16_bits)
{
	DAT_PSP_HANDLE psp = NULL, other;
	DAT_EVENT ev;

	assert_refused(V(psp_create)(s->ia, 0x10000, s->cr_evd,
				     DAT_PSP_CONSUMER_FLAG, &psp),
		       DAPL_BAD_ARG(2));
	assert_dat_ok(V(psp_create)(s->ia, 70000, s->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &psp));
	assert_refused(V(psp_create)(s->ia, 70000 & 0xffff, s->cr_evd,
				     DAT_PSP_CONSUMER_FLAG, &other),
		       DAT_CLASS_ERROR | DAT_CONN_QUAL_IN_USE);
	/* The space of ports is the IA's own. */
	assert_dat_ok(V(psp_create)(c->ia, 70000, c->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &other));
	world_eps(w);
	assert_dat_ok(world_ask(c->ep, world_addr(), 70000 & 0xffff));
	ev = expect_event(s->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	assert_ptr_equal(
		ev.event_data.cr_arrival_event_data.sp_handle.psp_handle, psp);
	expect_empty(c->cr_evd);
}

/* What another thread does while the port of a listener becomes free. */
static struct {
	const struct dcm_transport *plain;
	struct world *w;
	DAT_RETURN ret;
	DAT_PSP_HANDLE psp;
} rival;

static void listen_meanwhile(struct dcm_cm_listener *l)
{
	dcm_of_listener(l)->tp = rival.plain;
	rival.ret = V(psp_create)(rival.w->server.ia, WORLD_QUAL,
				  rival.w->server.cr_evd, DAT_PSP_CONSUMER_FLAG,
				  &rival.psp);
}

/* Either the port is still taken, or whoever gets it is heard. */
ON_IB(listen__while_the_port_becomes_free)
{
	struct dcm *dcm = dcm_from(((struct dapl_ia *)s->ia)->cm);
	struct dcm_transport tp = *dcm->tp;
	DAT_PSP_HANDLE psp = kit_listen(w);

	rival.plain = dcm->tp;
	rival.w = w;
	tp.unlisten = listen_meanwhile;
	dcm->tp = &tp;
	assert_dat_ok(V(psp_free)(psp));
	assert_ptr_equal(dcm->tp, rival.plain);
	if (rival.ret != DAT_SUCCESS) {
		assert_int_equal(DAT_GET_TYPE(rival.ret), DAT_CONN_QUAL_IN_USE);
		kit_listen(w);
	}
	world_eps(w);
	assert_dat_ok(V(cr_reject)(kit_meet(w), 0, NULL));
	kit_conn(c, EV(PEER_REJECTED));
}

/* An IA of another name, with all that a side has but the EP. */
static void side_open(struct world_side *s, char *name)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	memset(s, 0, sizeof(*s));
	assert_dat_ok(V(ia_open)(name, 8, &evd, &s->ia));
	s->pz = world_pz(s->ia);
	s->recv_evd = world_evd(s->ia, DAT_EVD_DTO_FLAG);
	s->req_evd = world_evd(s->ia, DAT_EVD_DTO_FLAG);
	s->conn_evd = world_evd(s->ia, DAT_EVD_CONNECTION_FLAG);
	s->cr_evd = world_evd(s->ia, DAT_EVD_CR_FLAG);
	s->mem.buf = calloc(1, WORLD_MEM_SIZE);
	assert_non_null(s->mem.buf);
	s->mem.lmr = world_lmr(s->ia, s->pz, s->mem.buf, WORLD_MEM_SIZE,
			       &s->mem.lkey, &s->mem.rkey);
}

/* One end knows GID 0 only; the other has better ones, and takes the like. */
ON_ROCE(address__of_a_peer_with_one_gid)
{
	const DAT_PROVIDER *vector = world_registry.vector;
	struct world_side plain = w->server;
	DAT_PROVIDER_INFO info = world_info;
	DAT_IA_ATTR attr;

	strcpy(info.ia_name, "fake-gid0");
	dat_provider_init(&info, "fake0 1 gid=0");
	side_open(s, info.ia_name);
	kit_ready(w);
	assert_dat_ok(V(ia_query)(s->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
				  &attr, 0, NULL));
	assert_dat_ok(world_ask(c->ep, attr.ia_address_ptr, WORLD_QUAL));
	kit_accept(w, kit_request(w));
	kit_established(w);
	data_both_ways(w);
	assert_dat_ok(V(ia_close)(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(s->mem.buf);
	dat_provider_fini(&info);
	world_registry.vector = vector;
	w->server = plain;
}

/* A block has no port, whatever an IPv6 address may have in its place. */
ON_IB(address__is_none_of_a_socket, world_eps)
{
	DAT_COMM comm = {.domain = AF_INET6, .type = SOCK_STREAM};
	DAT_CSP_HANDLE csp;

	assert_refused(
		V(csp_create)(s->ia, &comm, world_addr(), s->cr_evd, &csp),
		DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED);
	assert_refused(V(ep_common_connect)(c->ep, world_addr(),
					    DAT_TIMEOUT_INFINITE, 0, NULL),
		       DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED);
	kit_state(c->ep, DAT_EP_STATE_UNCONNECTED);
}

/* --------------------------------------------------- a bad network */

static void all_is_well(struct world *w)
{
	data_both_ways(w);
	kit_disconnect(w);
	expect_empty(w->server.cr_evd);
}

/* Messages of OP meet with VERDICT; the program notices nothing. */
static void weather(struct world *w, unsigned op, enum fv_verdict verdict,
		    int times)
{
	plan_for(op, verdict, times);
	world_connect(w);
	all_is_well(w);
	world_until(seen() > 0);
}

#define WEATHER(name, op, verdict, times)       \
	ON_IB(name)                             \
	{                                       \
		weather(w, op, verdict, times); \
	}

WEATHER(lost__req_once, DCM_REQ, FV_DROP, 1)
WEATHER(lost__req_twice, DCM_REQ, FV_DROP, 2)
WEATHER(lost__rep, DCM_REP, FV_DROP, 1)
WEATHER(lost__rtu, DCM_RTU, FV_DROP, 1)
WEATHER(lost__dreq, DCM_DREQ, FV_DROP, 1)
WEATHER(lost__drep, DCM_DREP, FV_DROP, 1)
WEATHER(twice__req, DCM_REQ, FV_DUP, 1)
WEATHER(twice__rep, DCM_REP, FV_DUP, 1)
WEATHER(twice__rtu, DCM_RTU, FV_DUP, 1)
WEATHER(twice__dreq, DCM_DREQ, FV_DUP, 1)
WEATHER(twice__everything, OP_ANY, FV_DUP, 1000)

/* ------------------------------------------------- a busy device */

#define NOBODYS_QPN 0xfffff0

static struct ucm_qp *cm_qp(struct world_side *s)
{
	return &((struct ucm *)((struct dapl_ia *)s->ia)->cm)->qp;
}

struct jam {
	struct dapl_work work;
	struct dapl_loop *loop;
	struct ucm_qp *qp;
	struct dcm_peer to;
	uint64_t full; /* messages dropped when it was */
	struct ucm_qp_stats stats;
	bool done; /* atomic */
};

/* Has the service thread do FN for JAM, and waits for it. */
static void jam_do(struct jam *jam, void (*fn)(struct dapl_work *work))
{
	jam->done = false;
	dapl_work_init(&jam->work, fn);
	dapl_loop_defer(jam->loop, &jam->work);
	world_until(__atomic_load_n(&jam->done, __ATOMIC_ACQUIRE));
}

/* Until not even one more can wait. */
static void fill_up(struct dapl_work *work)
{
	struct jam *jam = dapl_container_of(work, struct jam, work);
	uint64_t before = jam->qp->stats.dropped;
	uint8_t junk[1] = {0};

	while (jam->qp->stats.dropped == before)
		ucm_qp_send(jam->qp, &jam->to, junk, sizeof(junk), 0, 0);
	jam->full = jam->qp->stats.dropped;
	__atomic_store_n(&jam->done, true, __ATOMIC_RELEASE);
}

static void copy_stats(struct dapl_work *work)
{
	struct jam *jam = dapl_container_of(work, struct jam, work);

	jam->stats = jam->qp->stats;
	__atomic_store_n(&jam->done, true, __ATOMIC_RELEASE);
}

static void jam_init(struct jam *jam, struct world_side *s)
{
	memset(jam, 0, sizeof(*jam));
	jam->qp = cm_qp(s);
	jam->loop = jam->qp->cfg.loop;
}

static uint64_t resets_of(struct world_side *s)
{
	struct jam jam;

	jam_init(&jam, s);
	jam_do(&jam, copy_stats);
	return jam.stats.resets;
}

/* What S's connection manager says from here on is dropped. */
static void jam_up(struct jam *jam, struct world_side *s)
{
	struct dapl_cm *cm = ((struct dapl_ia *)s->ia)->cm;
	const struct dcm_ib *own = &dcm_from(cm)->eng.self;

	jam_init(jam, s);
	memcpy(jam->to.gid, own->gid, sizeof(own->gid));
	jam->to.lid = own->lid;
	jam->to.qpn = NOBODYS_QPN;
	fv_hold_sends(jam->qp->verbs, true);
	jam_do(jam, fill_up);
}

static uint64_t dropped(struct jam *jam)
{
	jam_do(jam, copy_stats);
	return jam->stats.dropped;
}

/* Something was dropped; and now there is room again. */
static void clear_up(struct jam *jam)
{
	world_until(dropped(jam) > jam->full);
	fv_hold_sends(jam->qp->verbs, false);
}

/* No message is one that must not be dropped. */
ON_IB(credits__used_up_for_req_rep_dreq)
{
	DAT_CR_HANDLE cr;
	struct jam jam;

	kit_ready(w);
	jam_up(&jam, c);
	kit_ask(w);
	clear_up(&jam);
	cr = kit_request(w);
	jam_up(&jam, s);
	kit_accept(w, cr);
	clear_up(&jam);
	kit_established(w);
	data_both_ways(w);
	jam_up(&jam, c);
	kit_abort(c->ep);
	clear_up(&jam);
	kit_over(w);
}

ON_IB(credits__used_up_for_rtu_drep)
{
	DAT_CR_HANDLE cr;
	struct jam jam;

	kit_ready(w);
	cr = kit_meet(w);
	jam_up(&jam, c);
	kit_accept(w, cr);
	kit_conn(c, EV(ESTABLISHED));
	clear_up(&jam);
	kit_conn(s, EV(ESTABLISHED));
	jam_up(&jam, s);
	kit_abort(c->ep);
	clear_up(&jam);
	kit_over(w);
}

ON_IB(credits__used_up_for_rejects)
{
	DAT_PSP_HANDLE psp = kit_listen(w);
	DAT_CR_HANDLE cr;
	struct jam jam;

	world_eps(w);
	cr = kit_meet(w);
	jam_up(&jam, s);
	assert_dat_ok(V(cr_reject)(cr, 0, NULL));
	clear_up(&jam);
	kit_conn(c, EV(PEER_REJECTED));
	assert_dat_ok(V(psp_free)(psp));
	assert_dat_ok(V(ep_reset)(c->ep));
	jam_up(&jam, s);
	kit_ask(w);
	clear_up(&jam);
	kit_conn(c, EV(NON_PEER_REJECTED));
}

ON_IB(lost__reject)
{
	plan_for(DCM_REJ_USER, FV_DROP, 1);
	kit_ready(w);
	assert_dat_ok(V(cr_reject)(kit_meet(w), 3, (DAT_PVOID) "no"));
	kit_conn(c, EV(PEER_REJECTED));
	expect_empty(s->cr_evd);
}

/* A request that comes again after all is over is nobody's. */
ON_IB(late__request)
{
	plan_for(DCM_REQ, FV_HOLD, 1);
	world_connect(w);
	all_is_well(w);
	kit_listen(w);
	assert_int_equal(fv_ud_release(10), 1);
	plan_for(OP_ANY, FV_DELIVER, 0);
	/* Messages are handled in order: this is answered after the other. */
	kit_reset(w);
	kit_accept(w, kit_meet(w));
	kit_established(w);
	expect_empty(s->cr_evd);
}

/*
 * No device will tell of data that overtakes a lost RTU (COMM_EST), since that
 * needs a queue pair in RTR: before the answer leaves it is beyond that.
 */
ON_IB(accept__queue_pair_sends_before_the_answer_leaves)
{
	struct dapl_ep *ep;

	kit_ready(w);
	ep = (struct dapl_ep *)s->ep;
	plan_for(DCM_REP, FV_HOLD, 1);
	kit_accept(w, kit_meet(w));
	world_until(seen() > 0);
	assert_int_equal(fv_qp_state(ep->qp.ibv), IBV_QPS_RTS);
	fv_ud_release(1);
	kit_established(w);
}

/* DREQ overtakes RTU: the server hears of both ends of its connection. */
ON_IB(late__rtu)
{
	kit_ready(w);
	plan_for(DCM_RTU, FV_HOLD, 1000);
	kit_accept(w, kit_meet(w));
	kit_conn(c, EV(ESTABLISHED));
	kit_abort(c->ep);
	kit_conn(s, EV(ESTABLISHED));
	kit_over(w);
	fv_ud_release(1000);
	plan_for(OP_ANY, FV_DELIVER, 0);
	kit_reset(w);
	kit_accept(w, kit_meet(w));
	kit_established(w);
}

ON_IB(silence__consumers_timeout)
{
	uint64_t begin = world_now_us();

	plan_for(DCM_REQ, FV_DROP, 1000000);
	world_eps(w);
	assert_dat_ok(kit_connect(c->ep, 100000, NULL, 0));
	kit_conn(c, EV(TIMED_OUT));
	assert_in_range(world_now_us() - begin, 100000,
			100000 + WORLD_PATIENCE_US);
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
}

/* The peer vanishes: the disconnect ends by itself. */
ON_IB(silence__disconnect, world_connect)
{
	plan_for(OP_ANY, FV_DROP, 1000000);
	kit_abort(c->ep);
	kit_conn(c, EV(DISCONNECTED));
	kit_state(c->ep, DAT_EP_STATE_DISCONNECTED);
	kit_state(s->ep, DAT_EP_STATE_CONNECTED);
}

/* One of two requests says that it comes from elsewhere. */
static enum fv_verdict forger(struct fv_ud_packet *pkt, void *arg)
{
	const struct world *w = arg;

	if (op_of(pkt) != DCM_REQ ||
	    __atomic_fetch_add(&plan.seen, 1, __ATOMIC_ACQ_REL))
		return FV_DELIVER;
	if (w->kind == FV_IB)
		pkt->data[39] ^= 1; /* LID */
	else
		pkt->data[58] ^= 1; /* GID */
	return FV_DELIVER;
}

ON_IB_ROCE(forged__address)
{
	DAT_IA_ATTR attr;
	DAT_CR_PARAM param;
	struct dcm_ib own, told;
	DAT_CR_HANDLE cr;

	plan.seen = 0;
	fv_hook_ud(forger, w);
	kit_ready(w);
	cr = kit_meet(w);
	assert_int_equal(seen(), 2);
	assert_dat_ok(V(cr_query)(cr, DAT_CR_FIELD_ALL, &param));
	assert_dat_ok(V(ia_query)(c->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
				  &attr, 0, NULL));
	own = address_of(attr.ia_address_ptr);
	told = address_of(param.remote_ia_address_ptr);
	assert_int_equal(told.lid, own.lid);
	assert_memory_equal(told.gid, own.gid, sizeof(own.gid));
	kit_accept(w, cr);
	kit_established(w);
	data_both_ways(w);
	expect_empty(s->cr_evd);
}

/* Every message is cut, padded or changed somewhere, once each way. */
static enum fv_verdict vandal(struct fv_ud_packet *pkt, void *arg)
{
	static const uint32_t lengths[] = {0, 1, 147, 148, 215, 216, 217, 4096};
	int n = __atomic_fetch_add(&plan.seen, 1, __ATOMIC_ACQ_REL);

	if (n >= __atomic_load_n(&plan.times, __ATOMIC_ACQUIRE))
		return FV_DELIVER;
	if (n % 2)
		pkt->len = lengths[n / 2 % 8];
	else
		pkt->data[n / 2 % 40] ^= 0xff;
	return FV_DELIVER;
}

ON_ROCE(hostile__damaged_messages)
{
	plan.seen = 0;
	plan.times = 100;
	world_eps(w);
	fv_hook_ud(vandal, NULL);
	/* Whatever becomes of these attempts, none may do harm. */
	for (int i = 0; i < 20; i++) {
		DAT_EP_HANDLE ep = world_ep(c, NULL);

		assert_dat_ok(kit_connect(ep, 20000, "data", 4));
		next_event(c->conn_evd, WORLD_PATIENCE_US);
		assert_dat_ok(V(ep_free)(ep));
	}
	__atomic_store_n(&plan.times, 0, __ATOMIC_RELEASE);
	world_connect(w);
	data_both_ways(w);
}

/* The first message names a group for its sender's address. */
static enum fv_verdict group(struct fv_ud_packet *pkt, void *arg)
{
	const struct world *w = arg;

	if (__atomic_fetch_add(&plan.seen, 1, __ATOMIC_ACQ_REL))
		return FV_DELIVER;
	if (w->kind == FV_IB)
		pkt->data[38] = 0xc0; /* LID */
	else
		pkt->data[44] = 0xff; /* GID */
	return FV_DELIVER;
}

/* No answer goes there: an error of the queue pair would hold up everybody. */
ON_IB_ROCE(hostile__group_for_an_address, world_eps)
{
	plan.seen = 0;
	fv_hook_ud(group, w);
	kit_ask(w);
	kit_conn(c, EV(NON_PEER_REJECTED));
	fv_hook_ud(NULL, NULL);
	assert_in_range(plan.seen, 3, 100);
	assert_int_equal(resets_of(s), 0);
}

/* ------------------------------------- the manager's own queue pair */

/* Whatever befalls them, connections are made and nothing else is heard. */
static void cm_survives(struct world *w, void (*blow)(struct ibv_qp *qp))
{
	world_connect(w);
	for (int i = 0; i < 3; i++) {
		blow(cm_qp(&w->server)->verbs);
		blow(cm_qp(&w->client)->verbs);
		kit_disconnect(w);
		kit_reset(w);
		world_connect(w);
		data_both_ways(w);
	}
	expect_empty(w->server.async_evd);
	expect_empty(w->client.async_evd);
}

ON_IB(fatal__flushed)
{
	cm_survives(w, fv_qp_error);
}

ON_IB_ROCE(fatal__without_a_word)
{
	cm_survives(w, fv_qp_dies);
}

/* The event is all that is wrong. */
static void fault(struct ibv_qp *qp)
{
	fv_inject_async_qp(qp, IBV_EVENT_QP_REQ_ERR);
	fv_inject_async_qp(qp, IBV_EVENT_QP_ACCESS_ERR);
	fv_inject_async_qp(qp, IBV_EVENT_COMM_EST);
	fv_inject_async_cq(qp->recv_cq, IBV_EVENT_CQ_ERR);
	fv_inject_async_cq(qp->send_cq, IBV_EVENT_CQ_ERR);
}

ON_IB(fatal__other_faults)
{
	cm_survives(w, fault);
}

/* Its endpoints' faults are still heard. */
ON_IB(fatal__of_an_endpoint, world_connect)
{
	DAT_EVENT ev;

	fv_qp_dies(world_qp(c->ep));
	ev = expect_event(c->async_evd, DAT_ASYNC_ERROR_EP_BROKEN);
	assert_ptr_equal(ev.event_data.asynch_error_event_data.dat_handle,
			 c->ep);
	expect_empty(c->async_evd);
}

ON_IB(fatal__while_closing, world_connect)
{
	fv_qp_dies(cm_qp(c)->verbs);
	close_ia(c);
}

/* --------------------------------------------------------- quantity */

#define MANY	1000
#define AT_ONCE 50 /* the EVDs hold 64 events */

ON_ROCE(many__connections)
{
	static DAT_EP_HANDLE client[MANY], server[MANY];
	DAT_EP_ATTR attr = world_ep_attr(c);
	DAT_EVENT ev;

	fv_device_cfg_get(w->dev)->attr.max_qp = 2 * MANY + 10;
	/* All complete to the same EVDs. */
	attr.max_recv_dtos = 1;
	attr.max_request_dtos = 1;
	kit_listen(w);
	for (int i = 0; i < MANY; i++) {
		client[i] = world_ep(c, &attr);
		server[i] = world_ep(s, &attr);
	}
	for (int from = 0; from < MANY; from += AT_ONCE) {
		for (int i = from; i < from + AT_ONCE; i++)
			assert_dat_ok(kit_connect(
				client[i], DAT_TIMEOUT_INFINITE, NULL, 0));
		for (int i = from; i < from + AT_ONCE; i++)
			assert_dat_ok(V(cr_accept)(kit_request(w), server[i], 0,
						   NULL));
		for (int i = 0; i < AT_ONCE; i++) {
			expect_event(c->conn_evd, EV(ESTABLISHED));
			expect_event(s->conn_evd, EV(ESTABLISHED));
		}
	}
	for (int i = 0; i < MANY; i++) {
		kit_state(client[i], DAT_EP_STATE_CONNECTED);
		kit_state(server[i], DAT_EP_STATE_CONNECTED);
	}
	for (int i = 0; i < MANY; i++) {
		kit_abort(client[i]);
		expect_event(c->conn_evd, EV(DISCONNECTED));
		ev = expect_event(s->conn_evd, EV(DISCONNECTED));
		assert_non_null(ev.event_data.connect_event_data.ep_handle);
	}
}

/* Both IAs are closed with connections in every state. */
ON_IB_ROCE(close__with_everything_open, world_connect)
{
	DAT_EP_HANDLE ep;

	kit_listen(w);
	ep = c->ep;
	c->ep = world_ep(c, NULL);
	kit_meet(w);
	c->ep = world_ep(c, NULL);
	assert_dat_ok(V(cr_accept)(kit_meet(w), world_ep(s, NULL), 0, NULL));
	plan_for(OP_ANY, FV_DROP, 1000000);
	assert_dat_ok(
		kit_connect(world_ep(c, NULL), DAT_TIMEOUT_INFINITE, NULL, 0));
	kit_abort(ep);
}

/* The last word of a closing IA still leaves. */
ON_IB_ROCE(close__tells_the_peer, world_connect)
{
	close_ia(c);
	kit_conn(s, EV(DISCONNECTED));
}

/* And is said again until it is heard, in both roles. */
ON_IB(close__tells_the_peer_again, world_connect)
{
	plan_for(DCM_DREQ, FV_DROP, 2);
	close_ia(c);
	kit_conn(s, EV(DISCONNECTED));
	assert_in_range(seen(), 3, 1000);
}

ON_IB(close__tells_the_active_side_again, world_connect)
{
	plan_for(DCM_DREQ, FV_DROP, 2);
	close_ia(s);
	kit_conn(c, EV(DISCONNECTED));
	assert_in_range(seen(), 3, 1000);
}

/* Endpoints that were freed just before, which leaves nothing to wait for. */
ON_IB(close__after_the_endpoint_was_freed, world_connect)
{
	plan_for(DCM_DREQ, FV_DROP, 2);
	assert_dat_ok(V(ep_free)(c->ep));
	c->ep = DAT_HANDLE_NULL;
	close_ia(c);
	kit_conn(s, EV(DISCONNECTED));
	assert_in_range(seen(), 3, 1000);
}

/* Nobody answers: it is said several times, and then the close goes on. */
ON_IB(close__peer_has_vanished, world_connect)
{
	plan_for(OP_ANY, FV_DROP, 1000000);
	close_ia(c);
	assert_in_range(seen(), 3, 1000);
	kit_state(s->ep, DAT_EP_STATE_CONNECTED);
}

/* ------------------------------------------------------ what fails */

ON_IB(ucm_connect__nth_failure)
{
	bool hit = true;

	kit_listen(w);
	for (unsigned n = 1; hit; n++) {
		DAT_EP_HANDLE ep = world_ep(c, NULL);
		DAT_RETURN ret;

		assert_in_range(n, 1, 60);
		fv_fail_at(n, ENOMEM);
		ret = kit_connect(ep, 300000, NULL, 0);
		if (ret == DAT_SUCCESS) {
			DAT_EVENT ev;

			/* Sends and receives of the CM may fail as well; it
			 * gets over that or gives up. */
			ev = next_event(c->conn_evd, WORLD_PATIENCE_US);
			assert_int_equal(ev.event_number, EV(TIMED_OUT));
		} else {
			assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
			kit_state(ep, DAT_EP_STATE_UNCONNECTED);
		}
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		assert_dat_ok(V(ep_free)(ep));
		while (V(evd_dequeue)(s->cr_evd, &(DAT_EVENT){0}) ==
		       DAT_SUCCESS)
			;
	}
}

/* InfiniBand through routers. */
static int setup_by_gid(void **state)
{
	setenv("DAPL_GLOBAL_ROUTING", "1", 1);
	return world_setup(state);
}

static int teardown_by_gid(void **state)
{
	unsetenv("DAPL_GLOBAL_ROUTING");
	return world_teardown(state);
}

#define BY_GID(name)                                             \
	CASE_AGAIN(name, CASE_ROW(name, ".by_gid", setup_by_gid, \
				  teardown_by_gid, NULL))

BY_GID(address__cut_short_has_no_gid)
BY_GID(hostile__group_for_an_address)

ON_IB(ucm_requests__more_than_the_queue_is_long)
{
	kit_crowd(w);
}

ON_IB(ucm_psp_create_any__all_round)
{
	kit_listen_all_round(w);
}

RUN_CASES(NULL, NULL)
