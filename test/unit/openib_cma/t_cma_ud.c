/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_cma_ud.c - datagram endpoints over rdma_cm: answers that are lost, and
 * those who ask or answer without being a datagram endpoint's.
 *
 * Raw peers are ids of the fake rdma_cm that the test holds itself. What every
 * connection manager has to do is the conformance suite's.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include <dat2/dat_ib_extensions.h>

#include "test/unit/kit.h"

#define SIDR_REJECT 2

/* The block of doc/cm-protocol.md, by its offsets. */
#define BLOCK_SIZE    48
#define BLOCK_QPN     4
#define BLOCK_GID     16
#define BLOCK_PD_SIZE 42

static DAT_EP_HANDLE ud_ep(struct world_side *side)
{
	DAT_EP_ATTR attr = world_ep_attr(side);

	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr.max_message_size = 256;
	attr.max_rdma_size = 0;
	attr.max_rdma_read_in = 0;
	attr.max_rdma_read_out = 0;
	side->ep = world_ep(side, &attr);
	return side->ep;
}

/* The server listens, and both have a datagram endpoint. */
static void ready(struct world *w)
{
	kit_listen(w);
	ud_ep(&w->server);
	ud_ep(&w->client);
}

static DAT_IB_EXTENSION_EVENT_DATA *ext_of(DAT_EVENT *ev)
{
	return (DAT_IB_EXTENSION_EVENT_DATA *)ev->event_extension_data;
}

static DAT_CR_HANDLE asked(struct world *w)
{
	DAT_EVENT ev = expect_event(w->server.cr_evd,
				    DAT_IB_UD_CONNECTION_REQUEST_EVENT);

	return ev.event_data.cr_arrival_event_data.cr_handle;
}

static void expect_found(struct world_side *side, DAT_IB_EXT_TYPE type)
{
	DAT_EVENT ev = kit_conn(side, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);

	assert_int_equal(ext_of(&ev)->type, type);
	assert_non_null(ext_of(&ev)->remote_ah.ah);
	assert_int_not_equal(ext_of(&ev)->remote_ah.qpn, 0);
}

/* The kernel asks once more, and the consumer there does not hear of it. */
static void ask_again(struct world *w)
{
	fv_cm_set(FV_CM_LOSE_REP, 0);
	assert_int_equal(fv_cm_repeat(), 1);
}

ON_IB_ROCE(lost_answer__is_given_again)
{
	DAT_EVENT ev;

	ready(w);
	for (int i = 0; i < 3; i++) {
		fv_cm_set(FV_CM_LOSE_REP, 1);
		assert_dat_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, "a", 1));
		assert_dat_ok(
			V(cr_accept)(asked(w), s->ep, 3, (DAT_PVOID) "yes"));
		expect_found(s, DAT_IB_UD_PASSIVE_REMOTE_AH);
		expect_empty(c->conn_evd);
		ask_again(w);
		ev = kit_conn(c, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
		assert_int_equal(
			ev.event_data.connect_event_data.private_data_size, 3);
		assert_memory_equal(
			ev.event_data.connect_event_data.private_data, "yes",
			3);
		expect_empty(s->cr_evd);
		expect_empty(s->conn_evd);
	}
}

ON_IB_ROCE(lost_refusal__is_given_again)
{
	DAT_EVENT ev;

	ready(w);
	fv_cm_set(FV_CM_LOSE_REP, 1);
	kit_ask(w);
	assert_dat_ok(V(cr_reject)(asked(w), 2, (DAT_PVOID) "no"));
	ask_again(w);
	ev = kit_conn(c, DAT_IB_UD_CONNECTION_REJECT_EVENT);
	assert_int_equal(ev.event_data.connect_event_data.private_data_size, 2);
	expect_empty(s->cr_evd);
}

/* Nothing of an attempt but its number tells it from the next one. */
ON_IB(answer__of_one_attempt_is_not_the_next_ones)
{
	ready(w);
	kit_ask(w);
	assert_dat_ok(V(cr_reject)(asked(w), 0, NULL));
	kit_conn(c, DAT_IB_UD_CONNECTION_REJECT_EVENT);
	kit_ask(w);
	assert_dat_ok(V(cr_accept)(asked(w), s->ep, 0, NULL));
	expect_found(s, DAT_IB_UD_PASSIVE_REMOTE_AH);
	expect_found(c, DAT_IB_UD_REMOTE_AH);
}

/* Who asked has gone; who answers cannot know that. */
ON_IB_ROCE(asker__gone_before_the_answer)
{
	DAT_CR_HANDLE cr;

	ready(w);
	kit_ask(w);
	cr = asked(w);
	assert_dat_ok(V(ep_free)(c->ep));
	assert_dat_ok(V(cr_accept)(cr, s->ep, 0, NULL));
	expect_found(s, DAT_IB_UD_PASSIVE_REMOTE_AH);
}

ON_IB_ROCE(kernel__gives_up)
{
	DAT_EVENT ev;

	ready(w);
	fv_cm_set(FV_CM_BLACKHOLE, 1);
	kit_ask(w);
	/* The service thread has to have asked. */
	world_until(fv_cm_repeat() == 1);
	fv_cm_give_up();
	ev = kit_conn(c, DAT_IB_UD_CONNECTION_ERROR_EVENT);
	assert_int_equal(ext_of(&ev)->type, DAT_IB_UD_CONNECT_ERROR);
}

/* ------------------------------------------------------------ raw peers */

struct raw {
	struct rdma_event_channel *chan;
	struct rdma_cm_id *id;
};

static void raw_open(struct raw *r)
{
	r->chan = rdma_create_event_channel();
	assert_non_null(r->chan);
	assert_int_equal(rdma_create_id(r->chan, &r->id, NULL, RDMA_PS_UDP), 0);
}

static void raw_close(struct raw *r)
{
	rdma_destroy_id(r->id);
	rdma_destroy_event_channel(r->chan);
}

/* The next event, which is TYPE; its status. */
static int raw_event(struct raw *r, enum rdma_cm_event_type type,
		     struct rdma_cm_id **ret_id)
{
	struct rdma_cm_event *ev;
	int status;

	assert_int_equal(rdma_get_cm_event(r->chan, &ev), 0);
	assert_int_equal(ev->event, type);
	status = ev->status;
	if (ret_id)
		*ret_id = ev->id;
	rdma_ack_cm_event(ev);
	return status;
}

static void raw_connect(struct raw *r, const void *pdata, uint8_t size)
{
	struct rdma_conn_param param = {.private_data = pdata,
					.private_data_len = size};
	struct sockaddr_storage to;

	memcpy(&to, world_addr(), sizeof(struct sockaddr_in));
	((struct sockaddr_in *)&to)->sin_port = htons((uint16_t)WORLD_QUAL);
	assert_int_equal(
		rdma_resolve_addr(r->id, NULL, (struct sockaddr *)&to, 1000),
		0);
	raw_event(r, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	assert_int_equal(rdma_resolve_route(r->id, 1000), 0);
	raw_event(r, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	assert_int_equal(rdma_connect(r->id, &param), 0);
}

/* A request that is right on RoCE, of the address that all raw peers have. */
static void good_block(uint8_t *b)
{
	static const uint8_t gid[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};

	memset(b, 0, BLOCK_SIZE);
	memcpy(b, "DAQ\x01", 4);
	b[BLOCK_QPN + 3] = 17;
	memcpy(b + BLOCK_GID, gid, sizeof(gid));
}

static void refused(struct world *w, const uint8_t *pdata, uint8_t size)
{
	struct raw r;

	raw_open(&r);
	raw_connect(&r, pdata, size);
	assert_int_equal(raw_event(&r, RDMA_CM_EVENT_UNREACHABLE, NULL),
			 SIDR_REJECT);
	raw_close(&r);
	expect_empty(w->server.cr_evd);
}

CASE_ROCE(request__that_does_not_say_who_asks)
{
	uint8_t b[180];

	ready(w);
	refused(w, NULL, 0);
	memset(b, 0xff, sizeof(b));
	refused(w, b, sizeof(b));
	good_block(b);
	b[3] = 2; /* another version */
	refused(w, b, BLOCK_SIZE);
}

CASE_ROCE(request__of_nobody)
{
	uint8_t b[BLOCK_SIZE];

	ready(w);
	good_block(b);
	b[BLOCK_QPN] = 1;
	refused(w, b, sizeof(b));
	good_block(b);
	b[BLOCK_QPN + 3] = 1;
	refused(w, b, sizeof(b));
	good_block(b);
	b[BLOCK_GID + 15] = 9; /* somebody else's address */
	refused(w, b, sizeof(b));
	good_block(b);
	memset(b + BLOCK_GID, 0, 16);
	refused(w, b, sizeof(b));
	b[BLOCK_GID] = 0xff;
	refused(w, b, sizeof(b));
}

CASE_ROCE(request__with_more_than_fits)
{
	uint8_t b[180] = {0};

	ready(w);
	good_block(b);
	b[BLOCK_PD_SIZE] = 57;
	refused(w, b, sizeof(b));
	b[BLOCK_PD_SIZE] = 255;
	refused(w, b, BLOCK_SIZE);
}

/* The reverse of the above: what was changed there is what was wrong. */
CASE_ROCE(request__of_another_implementation)
{
	uint8_t b[BLOCK_SIZE + 56];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct raw r;

	ready(w);
	good_block(b);
	memset(b + BLOCK_SIZE, 'x', 56);
	b[BLOCK_PD_SIZE] = 56;
	raw_open(&r);
	raw_connect(&r, b, sizeof(b));
	cr = asked(w);
	assert_dat_ok(V(cr_query)(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.private_data_size, 56);
	assert_memory_equal(param.private_data, b + BLOCK_SIZE, 56);
	assert_dat_ok(V(cr_accept)(cr, s->ep, 0, NULL));
	raw_event(&r, RDMA_CM_EVENT_ESTABLISHED, NULL);
	expect_found(s, DAT_IB_UD_PASSIVE_REMOTE_AH);
	raw_close(&r);
}

/* Somebody else's service has the port. */
static void raw_listen(struct raw *r)
{
	struct sockaddr_storage own;

	raw_open(r);
	memcpy(&own, world_addr(), sizeof(struct sockaddr_in));
	((struct sockaddr_in *)&own)->sin_port = htons((uint16_t)WORLD_QUAL);
	assert_int_equal(rdma_bind_addr(r->id, (struct sockaddr *)&own), 0);
	assert_int_equal(rdma_listen(r->id, 8), 0);
}

static void answers(struct world *w, bool yes, const void *pdata, uint8_t size)
{
	struct rdma_conn_param param = {
		.private_data = pdata, .private_data_len = size, .qp_num = 5};
	struct rdma_cm_id *id;
	DAT_EVENT ev;
	struct raw r;

	raw_listen(&r);
	kit_ask(w);
	raw_event(&r, RDMA_CM_EVENT_CONNECT_REQUEST, &id);
	if (yes)
		assert_int_equal(rdma_accept(id, &param), 0);
	else
		assert_int_equal(rdma_reject(id, pdata, size), 0);
	rdma_destroy_id(id);
	ev = kit_conn(&w->client, DAT_IB_UD_CONNECTION_REJECT_EVENT);
	assert_int_equal(ev.event_data.connect_event_data.private_data_size, 0);
	raw_close(&r);
}

/* The kernel says so while the answer is waited for. */
CASE_ROCE(answer__without_a_q_key)
{
	struct rdma_cm_id *id;
	struct raw r;

	ud_ep(c);
	raw_listen(&r);
	fv_cm_set(FV_CM_NO_QKEY, 1);
	kit_ask(w);
	raw_event(&r, RDMA_CM_EVENT_CONNECT_REQUEST, &id);
	assert_int_equal(
		rdma_accept(id, &(struct rdma_conn_param){.qp_num = 5}), 0);
	rdma_destroy_id(id);
	kit_conn(c, DAT_IB_UD_CONNECTION_REJECT_EVENT);
	raw_close(&r);
}

CASE_ROCE(answer__of_somebody_else)
{
	static const uint8_t too_much[8] = {'D', 'A', 'A', 1, 57};
	uint8_t junk[136];

	ud_ep(c);
	memset(junk, 'x', sizeof(junk));
	answers(w, true, NULL, 0);
	answers(w, true, junk, sizeof(junk));
	answers(w, true, too_much, sizeof(too_much));
	answers(w, false, NULL, 0);
	answers(w, false, junk, sizeof(junk));
	answers(w, false, too_much, sizeof(too_much));
}

/* Who has connections only need not care. */
CASE_ROCE(listen__datagrams_port_taken)
{
	DAT_PSP_HANDLE psp;
	struct raw r;

	raw_listen(&r);
	psp = kit_listen(w);
	raw_close(&r);
	world_eps(w);
	kit_accept(w, kit_meet(w));
	kit_established(w);
	assert_dat_ok(V(psp_free)(psp));
	/* And has the port again. */
	kit_listen(w);
}

RUN_CASES(NULL, NULL)
