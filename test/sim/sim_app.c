/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_app.c - consumers, as the objects above a provider make them look.
 *
 * Each makes up its mind at the start and does it at its time: connects,
 * answers, stays, disconnects, or goes away at any point; frees, resets or
 * disconnects on a whim, allowed or not; and connects anew with an endpoint
 * that was reset. What its endpoint makes of that is sim_ep.c's: ops that
 * follow the contract of dapl_cm.h. They take effect a little later, together
 * with what was asked meanwhile, as in dcm.c: the world may have changed.
 */
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim.h"
#include "test/sim/sim_ep.h"

enum {
	ASK_CONNECT = 1 << 0,
	ASK_ACCEPT = 1 << 1,
	ASK_REJECT = 1 << 2,
	ASK_DISCONNECT = 1 << 3,
	ASK_RELEASE = 1 << 4,
};

static struct sim_rng *rng_of(struct sim_conn *conn)
{
	return &conn->node->sim->rng;
}

static uint64_t now_of(const struct sim_conn *conn)
{
	return conn->node->sim->clock.now_us;
}

/* From MIN to MAX, each order of magnitude as likely as any other. */
static uint64_t any_time(struct sim_rng *rng, uint64_t min, uint64_t max)
{
	uint64_t top = min;

	while (top < max && sim_chance(rng, 0.8))
		top *= 10;
	if (top > max)
		top = max;
	return min + sim_below(rng, top - min + 1);
}

static void make_plan(struct sim_conn *conn)
{
	struct sim_plan *plan = &conn->plan;
	struct sim_rng *rng = rng_of(conn);

	*plan = (struct sim_plan){
		.patience_us = UINT64_MAX,
		.answer_us = conn->node->sim->opt.accept_us,
		.at_last_us = 1500 * SIM_S + sim_below(rng, SIM_S),
	};
	plan->stay_us = any_time(rng, 10, SIM_S);
	if (conn->node->sim->opt.tidy)
		return;
	if (sim_chance(rng, 0.3))
		plan->answer = sim_chance(rng, 0.5) ? SIM_REJECT : SIM_DROP;
	if (sim_chance(rng, 0.5))
		plan->answer_us = any_time(rng, 10, 600 * SIM_S);
	plan->qp_fails = sim_chance(rng, 0.05);
	plan->qp_silent = sim_chance(rng, 0.02);
	if (sim_chance(rng, 0.4))
		plan->patience_us = any_time(rng, 10, 500 * SIM_S);
	plan->ending = (enum sim_ending)sim_below(rng, SIM_ENDING_N);
	plan->stay_us = any_time(rng, 1, 100 * SIM_S);
	plan->hasty = sim_chance(rng, 0.3);
	plan->whim = sim_chance(rng, 0.3);
}

/* ----------------------------------------------------- what is asked */

static uint8_t type_of(const struct sim *sim)
{
	return sim->opt.ud ? DCM_QP_UD : DCM_QP_RC;
}

static void connect_now(struct sim_conn *conn)
{
	struct sim *sim = conn->node->sim;

	sim->stats.attempts++;
	conn->asked_us = sim->clock.now_us;
	sim_trace(conn, "connects qp 0x%x to node %u port %u",
		  conn->fake.check.qpn, conn->target, conn->port);
	if (!dcm_engine_connect(&conn->node->eng, &conn->fake.dcm, conn->port,
				sim->clock.now_us))
		return;
	SIM_REQUIRE(!conn->node->eng.timewait_n,
		    "no id is free, but connections that are over have some");
	sim_check_event(&conn->fake.check, DAPL_CM_BROKEN, NULL, 0);
	sim_app_event(conn, DAPL_CM_BROKEN);
}

static void accept_now(struct sim_conn *conn)
{
	struct dcm_answer answer = {.responder_resources = 4, .mtu = 3};

	sim_node_qp(conn->node, conn->fake.check.qpn, &answer.ib);
	answer.ib.qp_type = type_of(conn->node->sim);
	answer.p_size = (uint16_t)sim_pdata(DCM_REP, conn->fake.check.qpn,
					    answer.pdata);
	conn->accepted_us = now_of(conn);
	sim_trace(conn, "accepts with qp 0x%x", conn->fake.check.qpn);
	dcm_engine_accept(&conn->fake.dcm, &answer, now_of(conn));
}

static void reject_now(struct sim_conn *conn)
{
	uint8_t pdata[DCM_PDATA];
	size_t size = sim_pdata(DCM_REJ_USER, conn->fake.check.peer_qpn, pdata);

	sim_trace(conn, "rejects");
	dcm_engine_reject(&conn->fake.dcm, size ? pdata : NULL, size,
			  now_of(conn));
}

static void release_now(struct sim_conn *conn)
{
	SIM_REQUIRE(!conn->fake.check.moving,
		    "released while it is being moved");
	sim_check_release(&conn->fake.check);
	sim_conn_input(conn, DCM_IN_RELEASE, NULL);
}

/* In the order of dcm.c. */
static void do_asked(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_conn *conn = arg;
	unsigned asked = conn->asked;

	conn->asked = 0;
	if ((asked & ASK_CONNECT) && !(asked & ASK_RELEASE))
		connect_now(conn);
	if (asked & ASK_ACCEPT)
		accept_now(conn);
	if (asked & ASK_REJECT)
		reject_now(conn);
	if (asked & ASK_DISCONNECT) {
		conn->disconnecting = true;
		sim_check_disconnect(&conn->fake.check);
		sim_conn_input(conn, DCM_IN_DISCONNECT, NULL);
	}
	if (asked & ASK_RELEASE)
		release_now(conn);
}

static void ask(struct sim_conn *conn, unsigned what)
{
	uint64_t soon = conn->node->sim->opt.tidy
				? 1
				: any_time(rng_of(conn), 1, 10 * SIM_MS);

	if (conn->through)
		return;
	if (!conn->asked)
		sim_conn_at(conn, now_of(conn) + soon, do_asked, 0);
	conn->asked |= what;
	conn->through = what & ASK_RELEASE;
}

void sim_app_ask_connect(struct sim_conn *conn)
{
	ask(conn, ASK_CONNECT);
}

void sim_app_ask_accept(struct sim_conn *conn)
{
	ask(conn, ASK_ACCEPT);
}

void sim_app_ask_disconnect(struct sim_conn *conn)
{
	ask(conn, ASK_DISCONNECT);
}

void sim_app_ask_release(struct sim_conn *conn)
{
	ask(conn, ASK_RELEASE);
}

/* ------------------------------------------------------ at its time */

/* The endpoint that CONN is the connection of; or NULL. */
static struct sim_ep *ep_of(const struct sim_conn *conn)
{
	return conn->ep && conn->ep->conn == conn ? conn->ep : NULL;
}

static void give_up(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_conn *conn = arg;

	if (ep_of(conn) && !conn->up)
		sim_ep_call(ep_of(conn), DAPL_EP_IN_ABORT);
}

/* By now every call has had its event. */
static void at_last(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_conn *conn = arg;
	struct sim_ep *ep = ep_of(conn);

	if (!ep) {
		if (!conn->ep)
			ask(conn, ASK_RELEASE);
		return;
	}
	SIM_REQUIRE(dapl_ep_dat_state(ep->fsm.state) !=
			    DAT_EP_STATE_DISCONNECT_PENDING,
		    "disconnected, and no event ever came: %s",
		    dapl_ep_state_name(ep->fsm.state));
	SIM_REQUIRE(ep->fsm.state != DAPL_EP_ACCEPT_SENT,
		    "accepted, and no event ever came");
	sim_ep_free(ep);
}

static void connect_anew(struct sim_ep *ep);

/* Whatever the endpoint is doing. */
static void whim(struct sim *sim, void *arg, uint64_t tag)
{
	static const enum dapl_ep_input calls[] = {
		DAPL_EP_IN_DISCONNECT, DAPL_EP_IN_ABORT, DAPL_EP_IN_RESET,
		DAPL_EP_IN_RESERVE, DAPL_EP_IN_UNRESERVE};
	struct sim_ep *ep = arg;
	uint64_t which = sim_below(&sim->rng, 10);

	if (sim_ep_lost(ep) || ep->check.closed)
		return;
	if (which < sizeof(calls) / sizeof(calls[0]))
		sim_ep_call(ep, calls[which]);
	else if (which < 8)
		connect_anew(ep);
	else if (sim_ep_call(ep, DAPL_EP_IN_FREE))
		sim_ep_free(ep);
}

static void have_whims(struct sim_conn *conn)
{
	struct sim *sim = conn->node->sim;

	if (!conn->plan.whim)
		return;
	sim_at(sim, sim->clock.now_us + any_time(&sim->rng, 1, 100 * SIM_S),
	       whim, conn->ep, 0);
	sim_at(sim, sim->clock.now_us + any_time(&sim->rng, 1, 100 * SIM_MS),
	       whim, conn->ep, 0);
}

/* One that was used before, or a new one. */
static struct sim_ep *some_ep(struct sim_node *node)
{
	struct sim_ep *ep;

	if (!node->sim->opt.tidy && sim_chance(&node->sim->rng, 0.5))
		dapl_list_for_each(ep, &node->sim->eps, link)
			if (ep->node == node && !sim_ep_lost(ep) &&
			    ep->fsm.state == DAPL_EP_UNCONNECTED)
				return ep;
	return sim_ep_new(node);
}

static void answer(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_conn *conn = arg;

	if (conn->through)
		return;
	if (conn->withdrawn || conn->plan.answer == SIM_DROP) {
		ask(conn, ASK_RELEASE);
		return;
	}
	if (conn->plan.answer == SIM_REJECT) {
		ask(conn, ASK_REJECT | ASK_RELEASE);
		return;
	}
	sim_check_accept(&conn->fake.check,
			 sim_qp_new(&sim->checks, SIM_QP_PASSIVE));
	SIM_REQUIRE(sim_ep_accept(some_ep(conn->node), conn),
		    "an unconnected endpoint does not accept");
	have_whims(conn);
	if (conn->plan.patience_us != UINT64_MAX)
		sim_conn_at(conn, sim->clock.now_us + conn->plan.patience_us,
			    give_up, 0);
}

static void hasty_end(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_ep *ep = ep_of(arg);

	if (ep && sim_chance(&sim->rng, 0.5))
		sim_ep_call(ep, DAPL_EP_IN_ABORT);
	else if (ep)
		sim_ep_free(ep);
}

static void end(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_conn *conn = arg;
	struct sim_ep *ep = ep_of(conn);

	if (!ep)
		return;
	switch (conn->plan.ending) {
	case SIM_DISCONNECT:
		sim_ep_call(ep, DAPL_EP_IN_DISCONNECT);
		if (conn->plan.hasty)
			sim_conn_at(conn,
				    sim->clock.now_us +
					    any_time(&sim->rng, 1, SIM_S),
				    hasty_end, 0);
		break;
	case SIM_RELEASE:
		sim_ep_free(ep);
		break;
	default:
		break;
	}
}

/* The connection has ended; its endpoint may begin another one. */
static void go_on(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_ep *ep = arg;

	if (sim_ep_lost(ep) || ep->check.closed)
		return;
	if (sim->opt.tidy || ep->attempts >= 3 || sim_chance(&sim->rng, 0.5))
		sim_ep_free(ep);
	else
		sim_ep_call(ep, DAPL_EP_IN_RESET);
}

void sim_app_renewed(struct sim_ep *ep)
{
	if (sim_chance(&ep->node->sim->rng, 0.7))
		connect_anew(ep);
}

static void found(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_ep *ep = arg;

	sim->stats.ended++;
	sim_ep_free(ep);
}

void sim_app_told(struct sim_ep *ep, unsigned event)
{
	struct sim *sim = ep->node->sim;
	struct sim_conn *conn = ep->conn;

	if (event != DAT_CONNECTION_EVENT_ESTABLISHED)
		sim_at(sim,
		       sim->clock.now_us +
			       (sim->opt.tidy ? 1
					      : any_time(&sim->rng, 1, SIM_S)),
		       go_on, ep, 0);
	/* Nobody disconnects; what was found is of no more use some day. */
	else if (sim->opt.ud)
		sim_at(sim, sim->clock.now_us + conn->plan.stay_us, found, ep,
		       0);
	/* In tidy worlds the active side is the one that ends it. */
	else if (!sim->opt.tidy || !conn->fake.check.passive)
		sim_conn_at(conn, sim->clock.now_us + conn->plan.stay_us, end,
			    0);
}

/* -------------------------------------------- what the engine reports */

/* Who asks as long as there is patience, and loses few of its messages. */
static void check_was_asked(const struct sim_conn *conn)
{
	const struct sim *sim = conn->node->sim;
	const struct sim_options *opt = &sim->opt;
	const struct sim_node *target = &sim->node[conn->target];

	if (opt->stream || opt->partitions || opt->small || target->dead ||
	    opt->loss > 0.1 || target->born_us > conn->asked_us ||
	    conn->fake.dcm.peer.qpn != target->eng.self.qpn)
		return;
	SIM_REQUIRE(sim_qp_of(&conn->node->sim->checks, conn->fake.check.qpn)
			    ->asked,
		    "unreachable, and the peer was there all the time");
}

void sim_app_event(struct sim_conn *conn, enum dapl_cm_event event)
{
	struct sim *sim = conn->node->sim;

	if (event != DAPL_CM_ESTABLISHED) {
		sim->stats.ended++;
		if (event == DAPL_CM_UNREACHABLE)
			check_was_asked(conn);
		/* RTUs may be lost for all the time that there is. */
		if (event == DAPL_CM_ACCEPT_FAILED && conn->answered_us &&
		    sim->clock.now_us >=
			    conn->answered_us + sim->rules.rtu_patience_us) {
			struct sim_qp *peer = sim_qp_of(
				&sim->checks, conn->fake.check.peer_qpn);

			sim_qp_of(&sim->checks, conn->fake.check.qpn)
				->given_up = true;
			sim->stats.unheard += !sim->troubled && !sim->opt.old &&
					      !peer->silent;
		}
	} else {
		conn->up = true;
		sim->stats.established++;
		sim->stats.last_established_us = sim->clock.now_us;
	}
	sim_ep_event(conn, event);
}

void sim_app_request(struct sim_conn *conn)
{
	struct sim_node *node = conn->node;
	uint64_t at = now_of(conn);

	make_plan(conn);
	/* One consumer answers one after the other. */
	if (node->app_busy_until_us < at)
		node->app_busy_until_us = at;
	if (node->sim->opt.tidy)
		at = node->app_busy_until_us += conn->plan.answer_us;
	else
		at += conn->plan.answer_us;
	sim_conn_at(conn, at, answer, 0);
	sim_conn_at(conn, now_of(conn) + conn->plan.at_last_us, at_last, 0);
}

static void ep_connect(struct sim_ep *ep, unsigned target, uint32_t port)
{
	struct sim_node *node = ep->node;
	struct sim *sim = node->sim;
	struct sim_conn *conn = sim_conn_new(node);
	struct dcm_msg *own = &conn->fake.dcm.own;
	struct dcm_ib ib;

	make_plan(conn);
	conn->target = target;
	conn->port = port;
	conn->fake.check.qpn = sim_qp_new(&sim->checks, SIM_QP_ACTIVE);
	sim_node_qp(node, conn->fake.check.qpn, &ib);
	ib.qp_type = type_of(sim);
	conn->fake.dcm.proto.datagram = sim->opt.ud;
	conn->fake.check.datagram = sim->opt.ud;
	dcm_block_set_ib(&own->saddr, &ib);
	ib = sim->node[target].eng.self;
	conn->fake.dcm.peer.qpn = ib.qpn;
	conn->fake.dcm.peer.lid = ib.lid;
	memcpy(conn->fake.dcm.peer.gid, ib.gid, sizeof(ib.gid));
	ib.family = AF_INET6;
	ib.qpn = 0;
	ib.qp_type = DCM_QP_UD;
	dcm_block_set_ib(&own->daddr, &ib);
	own->responder_resources = 4;
	own->mtu = 3;
	own->p_size =
		(uint16_t)sim_pdata(DCM_REQ, conn->fake.check.qpn, own->pdata);
	if (!sim->opt.tidy && sim_chance(&sim->rng, 0.02))
		conn->fake.dcm.peer.qpn = SIM_QPN(sim->opt.nodes); /* nobody */
	if (!sim_ep_connect(ep, conn)) {
		ask(conn, ASK_RELEASE);
		return;
	}
	have_whims(conn);
	sim_conn_at(conn, sim->clock.now_us + conn->plan.at_last_us, at_last,
		    0);
}

void sim_app_connect(struct sim_node *node, unsigned target, uint32_t port)
{
	ep_connect(some_ep(node), target, port);
}

static void connect_anew(struct sim_ep *ep)
{
	struct sim *sim = ep->node->sim;
	unsigned target = (unsigned)sim_below(&sim->rng, sim->opt.nodes);

	if (ep->attempts < 3)
		ep_connect(ep, target,
			   SIM_PORT + (uint32_t)sim_below(&sim->rng, 2));
}
