/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucm_peer.c - the UCM provider against an independent peer that speaks the
 * bytes of the historic provider: every message that either role sends and
 * takes, with the deviations that old peers are known for.
 *
 * usage: ucm_peer NAME DEVICE
 * NAME is an adapter of dat.conf that uses the UCM provider on DEVICE; the
 * peer (ucm_wire.h) uses the same GID. Prints TAP. The provider is used through
 * the public interface only, in the same process.
 */
#include "test/interop/ucm_wire.h"

#include <dat2/udat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_US 20000000
#define PATIENCE_MS (PATIENCE_US / 1000)
/* How long something must not happen. */
#define SILENCE_MS 300
#define SIZE	   64
#define DATA	   "historic bytes"

struct t {
	struct wire w;
	struct wire_rc rc;
	struct wire_addr prog; /* address of the program's adapter */
	uint16_t port;	       /* the qualifier of this case */

	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd, dto_evd, conn_evd, cr_evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	char buf[2 * SIZE]; /* received, to send */
	DAT_EVENT event;
	struct wire_msg msg;
	char why[512];
};

/* A case returns NULL or what is wrong. */
#define CHECK(cond)                                                       \
	do {                                                              \
		if (!(cond)) {                                            \
			snprintf(t->why, sizeof(t->why),                  \
				 "line %d: not so: %s", __LINE__, #cond); \
			return t->why;                                    \
		}                                                         \
	} while (0)
#define TRY(call)                              \
	do {                                   \
		const char *try_why_ = (call); \
		if (try_why_)                  \
			return try_why_;       \
	} while (0)
#define OK(call) CHECK((call) == DAT_SUCCESS)

/* ------------------------------------------------------- the program */

static const char *prog_open(struct t *t, const char *name)
{
	DAT_REGION_DESCRIPTION region = {.for_va = t->buf};
	DAT_IA_ATTR attr;

	t->async_evd = DAT_HANDLE_NULL;
	OK(dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &t->async_evd,
		       &t->ia));
	OK(dat_pz_create(t->ia, &t->pz));
	OK(dat_evd_create(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			  &t->dto_evd));
	OK(dat_evd_create(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			  &t->conn_evd));
	OK(dat_evd_create(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
			  &t->cr_evd));
	OK(dat_lmr_create(
		t->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(t->buf), t->pz,
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		DAT_VA_TYPE_VA, &t->lmr, &t->lkey, NULL, NULL, NULL));
	OK(dat_ia_query(t->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
			NULL));
	memcpy(t->prog.b, attr.ia_address_ptr, sizeof(t->prog.b));
	return NULL;
}

static DAT_LMR_TRIPLET segment(struct t *t, size_t offset)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)(t->buf + offset),
		.segment_length = SIZE,
		.lmr_context = t->lkey,
	};
}

/* A new endpoint with one receive posted, and a new port. */
static const char *begin(struct t *t)
{
	DAT_LMR_TRIPLET seg = segment(t, 0);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	t->port++;
	t->w.id = t->port;
	t->psp = DAT_HANDLE_NULL;
	memset(t->buf, 0, sizeof(t->buf));
	wire_rc_open(&t->w, &t->rc);
	OK(dat_ep_create(t->ia, t->pz, t->dto_evd, t->dto_evd, t->conn_evd,
			 NULL, &t->ep));
	OK(dat_ep_post_recv(t->ep, 1, &seg, cookie,
			    DAT_COMPLETION_DEFAULT_FLAG));
	return NULL;
}

static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		;
}

static void end(struct t *t)
{
	if (t->psp != DAT_HANDLE_NULL)
		dat_psp_free(t->psp);
	dat_ep_free(t->ep);
	drain(t->dto_evd);
	drain(t->conn_evd);
	drain(t->cr_evd);
	wire_rc_close(&t->rc);
}

static const char *listens(struct t *t)
{
	OK(dat_psp_create(t->ia, t->port, t->cr_evd, DAT_PSP_CONSUMER_FLAG,
			  &t->psp));
	return NULL;
}

static const char *hears(struct t *t, DAT_EVD_HANDLE evd, int number)
{
	DAT_COUNT more;

	OK(dat_evd_wait(evd, PATIENCE_US, 1, &t->event, &more));
	CHECK((int)t->event.event_number == number);
	return NULL;
}

static const char *hears_nothing(struct t *t, DAT_EVD_HANDLE evd)
{
	CHECK(dat_evd_dequeue(evd, &t->event) != DAT_SUCCESS);
	return NULL;
}

static DAT_CR_HANDLE cr(const struct t *t)
{
	return t->event.event_data.cr_arrival_event_data.cr_handle;
}

static const char *is_in_state(struct t *t, DAT_EP_STATE want)
{
	DAT_EP_STATE state;

	OK(dat_ep_get_status(t->ep, &state, NULL, NULL));
	CHECK(state == want);
	return NULL;
}

static const char *connects(struct t *t, DAT_TIMEOUT timeout)
{
	struct wire_addr addr = wire_address(&t->w);

	OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&addr, t->port, timeout,
			  20, (DAT_PVOID) "PQRSTUVWXYZ012345678",
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	return NULL;
}

/* A message each way. */
static const char *data_flows(struct t *t)
{
	DAT_LMR_TRIPLET seg = segment(t, SIZE);
	DAT_DTO_COOKIE cookie = {.as_64 = 2};
	const char *got;

	CHECK(wire_rc_send(&t->rc, "from the peer"));
	TRY(hears(t, t->dto_evd, DAT_DTO_COMPLETION_EVENT));
	CHECK(t->event.event_data.dto_completion_event_data.status ==
	      DAT_DTO_SUCCESS);
	CHECK(!strcmp(t->buf, "from the peer"));
	strcpy(t->buf + SIZE, "to the peer");
	OK(dat_ep_post_send(t->ep, 1, &seg, cookie,
			    DAT_COMPLETION_DEFAULT_FLAG));
	got = wire_rc_received(&t->rc);
	CHECK(got && !strcmp(got, "to the peer"));
	TRY(hears(t, t->dto_evd, DAT_DTO_COMPLETION_EVENT));
	return NULL;
}

/* ----------------------------------------------------------- the peer */

static bool same(const struct wire_addr *a, const struct wire_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* The next message of OP; others of the case are skipped. */
static const char *comes(struct t *t, enum wire_op op)
{
	do
		CHECK(wire_next(&t->w, PATIENCE_MS, &t->msg));
	while (t->msg.op != op);
	CHECK(t->msg.ver == 9);
	CHECK(t->msg.zeros);
	CHECK(t->msg.src_qpn == wire_qpn_of(&t->prog));
	CHECK(t->msg.sqpn == wire_qpn_of(&t->prog));
	CHECK(t->msg.dqpn == t->w.qp->qp_num);
	CHECK(t->msg.dport == t->w.id);
	CHECK(t->msg.len ==
	      WIRE_HEADER + (t->msg.op <= WIRE_REJ_CM ? t->msg.p_size : 0u));
	return NULL;
}

static const char *nothing_comes(struct t *t)
{
	CHECK(!wire_next(&t->w, SILENCE_MS, &t->msg));
	return NULL;
}

static struct wire_msg request(const struct t *t)
{
	struct wire_msg m = {
		.ver = 9,
		.op = WIRE_REQ,
		.sport = t->w.id,
		.dport = t->port,
		.sqpn = t->w.qp->qp_num,
		.dqpn = wire_qpn_of(&t->prog),
		.p_size = 14,
		.s_id = t->w.id,
		.responder_resources = 4,
		.mtu = 3,
		.saddr = wire_block(&t->w, t->rc.qp->qp_num, WIRE_RC),
		.daddr = t->prog,
	};

	memset(m.daddr.b + 4, 0, 4);
	memcpy(m.pdata, DATA, 14);
	return m;
}

/* What follows M, which came: to its sender, about the same connection. */
static struct wire_msg answer(const struct t *t, const struct wire_msg *m,
			      enum wire_op op)
{
	return (struct wire_msg){
		.ver = 9,
		.op = (uint16_t)op,
		.sport = m->dport,
		.dport = m->sport,
		.sqpn = m->dqpn,
		.dqpn = m->sqpn,
		.s_id = t->w.id,
		.d_id = m->s_id,
		.responder_resources = 4,
		.mtu = m->mtu,
		.saddr = wire_block(&t->w, t->rc.qp->qp_num, WIRE_RC),
		.daddr = m->saddr,
	};
}

static void send_to_prog(struct t *t, const struct wire_msg *m)
{
	wire_send(&t->w, &t->prog, m);
}

static void answer_with(struct t *t, const struct wire_msg *m, enum wire_op op)
{
	struct wire_msg reply = answer(t, m, op);

	/* Old peers leave the size of their last data behind. */
	if (op > WIRE_REJ_CM)
		reply.p_size = 20;
	send_to_prog(t, &reply);
}

/* --------------------------------------------- cases: peer is the client */

/* Up to the program's REP, in t->msg. */
static const char *client_asks(struct t *t, const struct wire_msg *req)
{
	DAT_CR_PARAM param;

	TRY(listens(t));
	send_to_prog(t, req);
	TRY(hears(t, t->cr_evd, DAT_CONNECTION_REQUEST_EVENT));
	OK(dat_cr_query(cr(t), DAT_CR_FIELD_ALL, &param));
	CHECK(param.private_data_size == 14);
	CHECK(!memcmp(param.private_data, DATA, 14));
	CHECK(param.remote_port_qual == t->w.id);
	OK(dat_cr_accept(cr(t), t->ep, 10, (DAT_PVOID) "0123456789"));
	TRY(comes(t, WIRE_REP));
	return NULL;
}

static const char *check_rep(struct t *t, const struct wire_msg *req)
{
	CHECK(t->msg.sport == t->port);
	CHECK(t->msg.d_id == req->s_id);
	CHECK(t->msg.s_id != 0);
	CHECK(t->msg.p_size == 10);
	CHECK(!memcmp(t->msg.pdata, "0123456789", 10));
	CHECK(t->msg.mtu >= 1 && (!req->mtu || t->msg.mtu <= req->mtu));
	CHECK(wire_type_of(&t->msg.saddr) == WIRE_RC);
	CHECK(wire_family_of(&t->msg.saddr) == 0);
	CHECK(wire_qpn_of(&t->msg.saddr) != wire_qpn_of(&t->prog));
	CHECK(same(&t->msg.daddr, &req->saddr));
	return NULL;
}

/* Client's side of a connection that REQ begins, up to ESTABLISHED. */
static const char *client_is_connected(struct t *t, const struct wire_msg *req)
{
	TRY(client_asks(t, req));
	TRY(check_rep(t, req));
	wire_rc_connect(&t->w, &t->rc, &t->msg.saddr, t->msg.mtu);
	answer_with(t, &t->msg, WIRE_RTU);
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	return data_flows(t);
}

static const char *client__connects_and_disconnects(struct t *t)
{
	struct wire_msg req = request(t), rep;

	TRY(client_is_connected(t, &req));
	rep = t->msg;
	answer_with(t, &rep, WIRE_DREQ);
	TRY(comes(t, WIRE_DREP));
	CHECK(t->msg.d_id == t->w.id && t->msg.s_id == rep.s_id);
	CHECK(same(&t->msg.daddr, &req.saddr));
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	/* DREP lost: it is sent again. */
	answer_with(t, &rep, WIRE_DREQ);
	TRY(comes(t, WIRE_DREP));
	return hears_nothing(t, t->conn_evd);
}

static const char *client__is_disconnected(struct t *t)
{
	struct wire_msg req = request(t), rep;

	TRY(client_is_connected(t, &req));
	rep = t->msg;
	OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
	TRY(comes(t, WIRE_DREQ));
	CHECK(t->msg.d_id == t->w.id && t->msg.s_id == rep.s_id);
	CHECK(t->msg.rtns == 0);
	answer_with(t, &t->msg, WIRE_DREP);
	return hears(t, t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const char *client__does_not_answer_dreq(struct t *t)
{
	struct wire_msg req = request(t);

	TRY(client_is_connected(t, &req));
	OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
	TRY(comes(t, WIRE_DREQ));
	CHECK(t->msg.rtns == 0);
	TRY(comes(t, WIRE_DREQ));
	CHECK(t->msg.rtns == 1);
	return hears(t, t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const char *client__repeats_before_the_answer(struct t *t)
{
	struct wire_msg req = request(t);

	TRY(listens(t));
	for (req.rtns = 0; req.rtns < 4; req.rtns++)
		send_to_prog(t, &req);
	TRY(hears(t, t->cr_evd, DAT_CONNECTION_REQUEST_EVENT));
	TRY(nothing_comes(t));
	TRY(hears_nothing(t, t->cr_evd));
	OK(dat_cr_reject(cr(t), 0, NULL));
	return comes(t, WIRE_REJ_USER);
}

/* The first copy that arrives may be a repeat. */
static const char *client__first_copy_is_lost(struct t *t)
{
	struct wire_msg req = request(t);

	req.rtns = 1;
	return client_is_connected(t, &req);
}

static const char *client__misses_rep(struct t *t)
{
	struct wire_msg req = request(t), rep;

	TRY(client_asks(t, &req));
	rep = t->msg;
	CHECK(rep.rtns == 0);
	req.rtns = 1;
	send_to_prog(t, &req);
	TRY(comes(t, WIRE_REP));
	CHECK(t->msg.rtns >= 1);
	CHECK(t->msg.s_id == rep.s_id && same(&t->msg.saddr, &rep.saddr));
	/* And without being asked. */
	TRY(comes(t, WIRE_REP));
	wire_rc_connect(&t->w, &t->rc, &t->msg.saddr, t->msg.mtu);
	answer_with(t, &t->msg, WIRE_RTU);
	answer_with(t, &t->msg, WIRE_RTU);
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	TRY(data_flows(t));
	return hears_nothing(t, t->conn_evd);
}

/* RTU lost, and the client leaves at once. */
static const char *client__dreq_without_rtu(struct t *t)
{
	struct wire_msg req = request(t);

	TRY(client_asks(t, &req));
	answer_with(t, &t->msg, WIRE_DREQ);
	TRY(comes(t, WIRE_DREP));
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	return hears(t, t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const char *client__is_rejected_by_the_consumer(struct t *t)
{
	struct wire_msg req = request(t);

	TRY(listens(t));
	send_to_prog(t, &req);
	TRY(hears(t, t->cr_evd, DAT_CONNECTION_REQUEST_EVENT));
	OK(dat_cr_reject(cr(t), 12, (DAT_PVOID) "rejected: no"));
	TRY(comes(t, WIRE_REJ_USER));
	CHECK(t->msg.d_id == t->w.id && t->msg.sport == t->port);
	CHECK(t->msg.p_size == 12);
	CHECK(!memcmp(t->msg.pdata, "rejected: no", 12));
	CHECK(wire_qpn_of(&t->msg.saddr) == 0);
	CHECK(wire_type_of(&t->msg.saddr) == WIRE_RC);
	CHECK(same(&t->msg.daddr, &req.saddr));
	/* It was lost: asking again brings it again, and no new request. */
	req.rtns = 1;
	send_to_prog(t, &req);
	TRY(comes(t, WIRE_REJ_USER));
	return hears_nothing(t, t->cr_evd);
}

static const char *client__nobody_listens(struct t *t)
{
	struct wire_msg req = request(t);
	struct wire_addr want = req.daddr;

	send_to_prog(t, &req);
	TRY(comes(t, WIRE_REJ_CM));
	CHECK(t->msg.len == WIRE_HEADER);
	CHECK(t->msg.sport == t->port);
	CHECK(t->msg.s_id == 0 && t->msg.d_id == 0);
	CHECK(t->msg.responder_resources == 0 && t->msg.mtu == 0 &&
	      t->msg.rtns == 0);
	/* Old clients take the kind of service from there. */
	want.b[27] = WIRE_RC;
	CHECK(same(&t->msg.saddr, &want));
	CHECK(same(&t->msg.daddr, &req.saddr));
	return NULL;
}

static const char *client__tells_no_mtu(struct t *t)
{
	struct wire_msg req = request(t);

	req.mtu = 0;
	TRY(client_is_connected(t, &req));
	CHECK(t->msg.mtu <= 4);
	return NULL;
}

/* Version 8: what later is the MTU can be anything. */
static const char *client__of_version_8(struct t *t)
{
	struct wire_msg req = request(t);

	req.ver = 8;
	req.mtu = 0xee;
	TRY(client_asks(t, &req));
	CHECK(t->msg.mtu >= 1 && t->msg.mtu <= 4);
	wire_rc_connect(&t->w, &t->rc, &t->msg.saddr, t->msg.mtu);
	answer_with(t, &t->msg, WIRE_RTU);
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	return data_flows(t);
}

/* Version 7 and older: two bytes more in the datagram. */
static const char *client__of_version_7(struct t *t)
{
	struct wire_msg req = request(t), rep;
	uint8_t bytes[WIRE_HEADER + WIRE_PDATA + 2] = {0};
	size_t len;

	req.ver = 7;
	len = wire_encode(&req, bytes);
	bytes[32] = 0xee;
	TRY(listens(t));
	wire_send_raw(&t->w, &t->prog, req.dqpn, bytes, len + 2);
	TRY(hears(t, t->cr_evd, DAT_CONNECTION_REQUEST_EVENT));
	OK(dat_cr_accept(cr(t), t->ep, 0, NULL));
	TRY(comes(t, WIRE_REP));
	rep = t->msg;
	CHECK(rep.mtu >= 1 && rep.mtu <= 4);
	wire_rc_connect(&t->w, &t->rc, &rep.saddr, rep.mtu);
	answer_with(t, &rep, WIRE_RTU);
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	return data_flows(t);
}

/* None of these is a request; the one after them is. */
static const char *client__sends_rubbish(struct t *t)
{
	struct wire_msg req = request(t), bad;
	uint8_t bytes[1024];
	static const size_t lengths[] = {0, 1, 4, 147, 161, 217, 300, 1024};

	TRY(listens(t));
	bad = req;
	bad.ver = 5;
	send_to_prog(t, &bad);
	bad = req;
	bad.sqpn ^= 1; /* not who sends it */
	send_to_prog(t, &bad);
	bad = req;
	bad.op = 99;
	send_to_prog(t, &bad);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		memset(bytes, 0, sizeof(bytes));
		wire_encode(&req, bytes);
		bytes[17] = 69; /* of private data, more than there can be */
		wire_send_raw(&t->w, &t->prog, req.dqpn, bytes, lengths[i]);
	}
	TRY(nothing_comes(t));
	TRY(hears_nothing(t, t->cr_evd));
	dat_psp_free(t->psp);
	return client_is_connected(t, &req);
}

/* --------------------------------------------- cases: peer is the server */

static const char *check_req(struct t *t)
{
	struct wire_addr daddr = wire_address(&t->w);

	memset(daddr.b + 4, 0, 4);
	CHECK(t->msg.sport == (t->msg.s_id & 0xffff) && t->msg.s_id != 0);
	CHECK(t->msg.d_id == 0);
	CHECK(t->msg.p_size == 20);
	CHECK(!memcmp(t->msg.pdata, "PQRSTUVWXYZ012345678", 20));
	CHECK(t->msg.responder_resources != 0);
	CHECK(t->msg.mtu >= 1 && t->msg.mtu <= 5);
	CHECK(wire_family_of(&t->msg.saddr) == 0);
	CHECK(wire_type_of(&t->msg.saddr) == WIRE_RC);
	CHECK(wire_qpn_of(&t->msg.saddr) != wire_qpn_of(&t->prog));
	CHECK(same(&t->msg.daddr, &daddr));
	return NULL;
}

/* The program's REQ, in t->msg and *RET_REQ. */
static const char *server_is_asked(struct t *t, struct wire_msg *ret_req)
{
	TRY(connects(t, DAT_TIMEOUT_INFINITE));
	TRY(comes(t, WIRE_REQ));
	TRY(check_req(t));
	CHECK(t->msg.rtns == 0);
	*ret_req = t->msg;
	return NULL;
}

static struct wire_msg reply_to(const struct t *t, const struct wire_msg *req,
				enum wire_op op)
{
	struct wire_msg rep = answer(t, req, op);

	rep.p_size = 10;
	memcpy(rep.pdata, "abcdefghij", 10);
	return rep;
}

static const char *hears_the_reply(struct t *t, int number)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&t->event.event_data.connect_event_data;

	TRY(hears(t, t->conn_evd, number));
	CHECK(data->private_data_size == 10);
	CHECK(!memcmp(data->private_data, "abcdefghij", 10));
	return NULL;
}

/* Up to ESTABLISHED; REP as it was sent. */
static const char *server_accepts(struct t *t, const struct wire_msg *req,
				  const struct wire_msg *rep)
{
	wire_rc_connect(&t->w, &t->rc, &req->saddr, rep->mtu ? rep->mtu : 3);
	send_to_prog(t, rep);
	TRY(comes(t, WIRE_RTU));
	CHECK(t->msg.sport == req->sport && t->msg.s_id == req->s_id);
	CHECK(t->msg.d_id == t->w.id);
	CHECK(same(&t->msg.saddr, &req->saddr));
	CHECK(same(&t->msg.daddr, &rep->saddr));
	TRY(hears_the_reply(t, DAT_CONNECTION_EVENT_ESTABLISHED));
	return data_flows(t);
}

static const char *server_is_connected(struct t *t, struct wire_msg *ret_req)
{
	struct wire_msg rep;

	TRY(server_is_asked(t, ret_req));
	rep = reply_to(t, ret_req, WIRE_REP);
	return server_accepts(t, ret_req, &rep);
}

static const char *server__accepts_and_is_disconnected(struct t *t)
{
	struct wire_msg req;

	TRY(server_is_connected(t, &req));
	OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
	TRY(comes(t, WIRE_DREQ));
	CHECK(t->msg.d_id == t->w.id && t->msg.s_id == req.s_id);
	answer_with(t, &t->msg, WIRE_DREP);
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	return is_in_state(t, DAT_EP_STATE_DISCONNECTED);
}

static const char *server__disconnects(struct t *t)
{
	struct wire_msg req;

	TRY(server_is_connected(t, &req));
	answer_with(t, &req, WIRE_DREQ);
	TRY(comes(t, WIRE_DREP));
	CHECK(t->msg.d_id == t->w.id && t->msg.s_id == req.s_id);
	return hears(t, t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const char *server__answers_the_third_request(struct t *t)
{
	struct wire_msg req, rep;

	TRY(server_is_asked(t, &req));
	for (uint8_t n = 1; n <= 2; n++) {
		TRY(comes(t, WIRE_REQ));
		CHECK(t->msg.rtns == n);
		CHECK(t->msg.s_id == req.s_id && t->msg.sport == req.sport);
		CHECK(same(&t->msg.saddr, &req.saddr));
	}
	rep = reply_to(t, &req, WIRE_REP);
	return server_accepts(t, &req, &rep);
}

static const char *server__misses_rtu(struct t *t)
{
	struct wire_msg req, rep;

	TRY(server_is_asked(t, &req));
	rep = reply_to(t, &req, WIRE_REP);
	TRY(server_accepts(t, &req, &rep));
	rep.rtns = 1;
	send_to_prog(t, &rep);
	TRY(comes(t, WIRE_RTU));
	return hears_nothing(t, t->conn_evd);
}

static const char *server__rejects(struct t *t)
{
	struct wire_msg req, rej;

	TRY(server_is_asked(t, &req));
	rej = reply_to(t, &req, WIRE_REJ_USER);
	rej.saddr = wire_block(&t->w, 0, WIRE_RC);
	send_to_prog(t, &rej);
	TRY(hears_the_reply(t, DAT_CONNECTION_EVENT_PEER_REJECTED));
	return is_in_state(t, DAT_EP_STATE_DISCONNECTED);
}

/* The old reject: no ids, and the type of a datagram endpoint. */
static const char *server__has_no_listener(struct t *t)
{
	struct wire_msg req, rej;

	TRY(server_is_asked(t, &req));
	rej = answer(t, &req, WIRE_REJ_CM);
	rej.s_id = rej.d_id = 0;
	rej.responder_resources = rej.mtu = 0;
	rej.saddr = req.daddr;
	send_to_prog(t, &rej);
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED));
	return is_in_state(t, DAT_EP_STATE_DISCONNECTED);
}

static const char *server__tells_no_mtu(struct t *t)
{
	struct wire_msg req, rep;

	TRY(server_is_asked(t, &req));
	rep = reply_to(t, &req, WIRE_REP);
	rep.mtu = 0;
	return server_accepts(t, &req, &rep);
}

/* Matched by the port alone, as old peers are. */
static const char *server__leaves_out_our_id(struct t *t)
{
	struct wire_msg req, rep;

	TRY(server_is_asked(t, &req));
	rep = reply_to(t, &req, WIRE_REP);
	rep.d_id = 0;
	return server_accepts(t, &req, &rep);
}

/* None of these answers the request; the one after them does. */
static const char *server__sends_rubbish(struct t *t)
{
	struct wire_msg req, rep, bad;

	TRY(server_is_asked(t, &req));
	rep = reply_to(t, &req, WIRE_REP);
	bad = rep;
	bad.sqpn ^= 1;
	send_to_prog(t, &bad);
	bad = rep;
	bad.dport ^= 0x80;
	bad.d_id = 0;
	send_to_prog(t, &bad);
	bad = rep;
	bad.sport ^= 1;
	send_to_prog(t, &bad);
	bad = rep;
	bad.ver = 4;
	send_to_prog(t, &bad);
	TRY(is_in_state(t, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING));
	TRY(hears_nothing(t, t->conn_evd));
	return server_accepts(t, &req, &rep);
}

static const char *server__is_silent(struct t *t)
{
	TRY(connects(t, 500000));
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT));
	return is_in_state(t, DAT_EP_STATE_DISCONNECTED);
}

/* A queue pair that nobody has. */
static const char *server__does_not_exist(struct t *t)
{
	struct wire_addr addr = wire_block(&t->w, 0xfffff0, WIRE_UD);
	uint16_t family = 10;

	memcpy(addr.b, &family, sizeof(family));
	OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&addr, t->port, 500000, 0,
			  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT));
	return is_in_state(t, DAT_EP_STATE_DISCONNECTED);
}

/* A late REP to an attempt that was given up connects nobody. */
static const char *server__answers_too_late(struct t *t)
{
	struct wire_msg req, rep;

	TRY(server_is_asked(t, &req));
	OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
	TRY(hears(t, t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	rep = reply_to(t, &req, WIRE_REP);
	send_to_prog(t, &rep);
	/* It is told so, in a way that old servers understand. */
	TRY(comes(t, WIRE_DREQ));
	TRY(hears_nothing(t, t->conn_evd));
	return is_in_state(t, DAT_EP_STATE_DISCONNECTED);
}

/* -------------------------------------------------------------- frame */

#define CASE(f)       \
	{             \
#f, f \
	}

static const struct {
	const char *name;
	const char *(*run)(struct t *t);
} cases[] = {
	CASE(client__connects_and_disconnects),
	CASE(client__is_disconnected),
	CASE(client__does_not_answer_dreq),
	CASE(client__repeats_before_the_answer),
	CASE(client__first_copy_is_lost),
	CASE(client__misses_rep),
	CASE(client__dreq_without_rtu),
	CASE(client__is_rejected_by_the_consumer),
	CASE(client__nobody_listens),
	CASE(client__tells_no_mtu),
	CASE(client__of_version_8),
	CASE(client__of_version_7),
	CASE(client__sends_rubbish),
	CASE(server__accepts_and_is_disconnected),
	CASE(server__disconnects),
	CASE(server__answers_the_third_request),
	CASE(server__misses_rtu),
	CASE(server__rejects),
	CASE(server__has_no_listener),
	CASE(server__tells_no_mtu),
	CASE(server__leaves_out_our_id),
	CASE(server__sends_rubbish),
	CASE(server__is_silent),
	CASE(server__does_not_exist),
	CASE(server__answers_too_late),
};

int main(int argc, char **argv)
{
	static struct t t;
	int n = sizeof(cases) / sizeof(*cases), bad = 0;
	const char *why;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3) {
		fprintf(stderr, "usage: ucm_peer NAME DEVICE\n");
		return 2;
	}
	why = prog_open(&t, argv[1]);
	if (why) {
		printf("Bail out! %s: %s\n", argv[1], why);
		return 1;
	}
	wire_open(&t.w, argv[2], wire_gid_index(argv[2], t.prog.b + 8));
	t.port = 0x7000;
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		why = begin(&t);
		if (!why) {
			why = cases[i].run(&t);
			end(&t);
		}
		printf("%sok %d - %s\n", why ? "not " : "", i + 1,
		       cases[i].name);
		if (why)
			printf("# %s\n", why);
		bad += !!why;
	}
	dat_ia_close(t.ia, DAT_CLOSE_ABRUPT_FLAG);
	return bad != 0;
}
