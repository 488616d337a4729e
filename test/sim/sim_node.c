/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_node.c - a node: an engine and the table that it works through.
 *
 * What the engine asks for is checked (sim_check.c), then done, or handed to
 * the network and the consumers. Memory of a connection outlives it until no
 * event points there any more.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim.h"
#include "test/sim/sim_ep.h"

void sim_trace(const struct sim_conn *conn, const char *format, ...)
{
	const struct sim *sim = conn->node->sim;
	va_list ap;

	if (!sim->opt.verbose)
		return;
	printf("%12.6f node %u conn %u %s: ",
	       (double)sim->clock.now_us / (double)SIM_S, conn->node->index,
	       conn->no, dcm_state_name(conn->fake.dcm.proto.state));
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

/* ------------------------------------------------------ queue pairs */

struct sim_name {
	uint32_t seen;
	uint8_t life;
	uint32_t qpn;
};

/* Queue pairs of one life of a node. */
#define QPS_MAX 0x1000

void sim_node_qp(struct sim_node *node, uint32_t qpn, struct dcm_ib *ret_ib)
{
	struct sim *sim = node->sim;

	*ret_ib = node->eng.self;
	ret_ib->qpn = qpn;
	if (!sim->opt.same_numbers)
		return;
	if (sim->names_n == sim->names_room) {
		sim->names_room = sim->names_room ? 2 * sim->names_room : 64;
		sim->names = realloc(sim->names,
				     sim->names_room * sizeof(*sim->names));
		if (!sim->names)
			sim_fail("no memory");
	}
	ret_ib->qpn =
		SIM_FIRST_QP + node->index * QPS_MAX + node->qps++ % QPS_MAX;
	ret_ib->sl = node->life;
	sim->names[sim->names_n++] = (struct sim_name){
		.seen = ret_ib->qpn, .life = node->life, .qpn = qpn};
}

uint32_t sim_qp_named(const struct sim *sim, const struct dcm_ib *ib)
{
	size_t i;

	if (!sim->opt.same_numbers)
		return ib->qpn;
	for (i = 0; i < sim->names_n; i++)
		if (sim->names[i].seen == ib->qpn &&
		    sim->names[i].life == ib->sl)
			return sim->names[i].qpn;
	sim_fail("queue pair 0x%x, life %u, never was", ib->qpn, ib->sl);
}

/* ----------------------------------------------------- connections */

struct sim_conn *sim_conn_new(struct sim_node *node)
{
	struct sim_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		sim_fail("no memory");
	fake_conn_init(&conn->fake, &node->eng, &node->sim->checks);
	conn->node = node;
	conn->no = node->sim->conn_no++;
	dapl_list_add_tail(&node->conns, &conn->link);
	node->sim->live++;
	return conn;
}

static void conn_free(struct sim_conn *conn)
{
	if (conn->gone_for_good && !conn->pending)
		free(conn);
}

static void conn_gone(struct sim_conn *conn)
{
	sim_ep_conn_gone(conn, conn->node->dead || conn->node->leaving);
	dapl_list_del(&conn->link);
	conn->node->sim->live--;
	conn->node->sim->armed -= conn->fake.armed;
	conn->fake.armed = false;
	conn->gone_for_good = true;
	conn_free(conn);
}

/* The event with what it is about; the engine's memory may be gone by then. */
struct later {
	struct sim_conn *conn;
	sim_fn *fn;
};

static void later_now(struct sim *sim, void *arg, uint64_t tag)
{
	struct later later = *(struct later *)arg;

	free(arg);
	later.conn->pending--;
	if (later.conn->gone_for_good)
		conn_free(later.conn);
	else
		later.fn(sim, later.conn, tag);
}

void sim_conn_at(struct sim_conn *conn, uint64_t at_us, sim_fn *fn,
		 uint64_t tag)
{
	struct later *later = malloc(sizeof(*later));

	if (!later)
		sim_fail("no memory");
	*later = (struct later){.conn = conn, .fn = fn};
	conn->pending++;
	sim_at(conn->node->sim, at_us, later_now, later, tag);
}

void sim_conn_input(struct sim_conn *conn, enum dcm_input in,
		    const struct dcm_msg *msg)
{
	struct sim *sim = conn->node->sim;

	sim_trace(conn, "%s comes", dcm_input_name(in));
	dcm_engine_input(&conn->fake.dcm, in, msg, sim->clock.now_us);
	SIM_REQUIRE(sim->armed <= sim->live, "more timers than connections");
}

/* -------------------------------------------------- the engine's table */

static int on_dial(struct dcm_conn *dcm)
{
	struct sim_conn *conn = sim_conn_of(dcm);

	sim_trace(conn, "dials node %u", conn->target);
	if (!conn->node->sim->opt.tidy &&
	    sim_chance(&conn->node->sim->rng, 0.02))
		return -ENETUNREACH;
	sim_net_dial(conn);
	return 0;
}

static void on_send(struct dcm_engine *eng, struct dcm_conn *dcm,
		    const struct dcm_peer *to, const struct dcm_msg *msg,
		    bool filler)
{
	struct sim_node *node = dapl_container_of(eng, struct sim_node, eng);

	if (dcm)
		sim_trace(sim_conn_of(dcm), "sends %s, repeat %u",
			  dcm_op_name(msg->op), msg->rtns);
	if (!eng->rules->stream)
		sim_net_datagram(node, to, msg);
	else
		sim_net_send(sim_conn_of(dcm), msg, filler);
}

static void on_hangup(struct dcm_conn *dcm)
{
	sim_net_hangup(sim_conn_of(dcm));
}

static void timer_due(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_conn *conn = arg;

	if (!conn->fake.armed || conn->timer_tag != tag)
		return;
	conn->fake.armed = false;
	sim->armed--;
	sim_conn_input(conn, DCM_IN_TIMER, NULL);
}

static void on_arm(struct dcm_conn *dcm, uint64_t deadline_us)
{
	struct sim_conn *conn = sim_conn_of(dcm);
	struct sim *sim = conn->node->sim;

	SIM_REQUIRE(deadline_us >= sim->clock.now_us &&
			    deadline_us - sim->clock.now_us < 60 * SIM_MIN,
		    "timer armed for a time to come");
	sim->armed += !conn->fake.armed;
	fake_arm(dcm, deadline_us);
	sim_conn_at(conn, deadline_us, timer_due, ++conn->timer_tag);
}

static void on_disarm(struct dcm_conn *dcm)
{
	struct sim_conn *conn = sim_conn_of(dcm);

	conn->node->sim->armed -= conn->fake.armed;
	fake_disarm(dcm);
}

static enum dcm_input outcome_of_move(struct sim_conn *conn)
{
	struct sim *sim = conn->node->sim;

	if (conn->plan.qp_fails)
		return DCM_IN_QP_FAILED;
	if (conn->plan.qp_silent ||
	    (!sim->opt.tidy && sim_chance(&sim->rng, 0.05)))
		return DCM_IN_QP_SILENT;
	return DCM_IN_QP_READY;
}

static void move_over(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_conn *conn = arg;
	bool ok;

	/* The node leaves: it was called off. */
	if (!conn->fake.check.moving)
		return;
	/* The connection is not the endpoint's any more. */
	if (conn->ep->conn != conn)
		conn->outcome = DCM_IN_QP_FAILED;
	ok = conn->outcome == DCM_IN_QP_READY;
	sim_check_qp_moved(&conn->fake.check, ok);
	if (ok)
		conn->answered_us = sim->clock.now_us;
	sim_conn_input(conn, conn->outcome, NULL);
	sim_ep_move_ends(conn);
}

/* A helper does it: kernels are quick, or take a second, or three. */
static int on_qp_connect(struct dcm_conn *dcm)
{
	struct sim_conn *conn = sim_conn_of(dcm);
	struct sim *sim = conn->node->sim;
	uint64_t us = sim->opt.qp_us;

	if (!sim_ep_move_begins(conn))
		return -ENOTCONN;
	sim_check_qp_connect(&conn->fake.check,
			     sim_qp_named(sim, &dcm->remote.ib));
	conn->outcome = outcome_of_move(conn);
	sim_qp_of(&sim->checks, conn->fake.check.qpn)->silent =
		conn->plan.qp_silent;
	if (!sim->opt.tidy && sim_chance(&sim->rng, 0.2))
		us += sim_below(&sim->rng, 3 * SIM_S);
	if (conn->outcome == DCM_IN_QP_SILENT)
		us += SIM_S;
	sim_conn_at(conn, sim->clock.now_us + us, move_over, 0);
	return 0;
}

static struct dcm_conn *on_conn_new(struct dcm_engine *eng)
{
	struct sim_node *node = dapl_container_of(eng, struct sim_node, eng);

	if (node->leaving)
		return NULL;
	if (!node->sim->opt.tidy && sim_chance(&node->sim->rng, 0.01))
		return NULL;
	return &sim_conn_new(node)->fake.dcm;
}

static void on_request(struct dcm_listener *l, struct dcm_conn *dcm,
		       const struct dcm_msg *msg)
{
	struct sim_conn *conn = sim_conn_of(dcm);
	struct dcm_ib ib;
	uint32_t qpn;

	dcm_block_get_ib(&msg->saddr, &ib);
	qpn = sim_qp_named(conn->node->sim, &ib);
	sim_trace(conn, "request of qp 0x%x", qpn);
	SIM_REQUIRE(l->waiting_n <= dcm->eng->listener_max &&
			    dcm->eng->waiting_n <= dcm->eng->waiting_max,
		    "more requests than there is room for");
	conn->fake.check.datagram = dcm->proto.datagram;
	sim_check_request(&conn->fake.check, qpn, msg);
	sim_app_request(conn);
}

static void on_request_gone(struct dcm_conn *dcm)
{
	struct sim_conn *conn = sim_conn_of(dcm);

	sim_trace(conn, "request withdrawn");
	fake_request_gone(dcm);
	conn->withdrawn = true;
}

static void on_event(struct dcm_conn *dcm, enum dapl_cm_event event,
		     const void *pdata, size_t size)
{
	struct sim_conn *conn = sim_conn_of(dcm);

	sim_trace(conn, "event %d", event);
	fake_event(dcm, event, pdata, size);
	sim_app_event(conn, event);
}

static void on_room(struct dcm_engine *eng, struct dcm_listener *l)
{
	if (eng->rules->stream)
		sim_net_room(dapl_container_of(eng, struct sim_node, eng));
}

static void on_freed(struct dcm_conn *dcm)
{
	struct sim_conn *conn = sim_conn_of(dcm);

	sim_trace(conn, "forgotten");
	fake_freed(dcm);
	SIM_REQUIRE(!conn->stream, "forgotten with its stream open");
	conn_gone(conn);
}

static void close_over(struct sim *sim, void *arg, uint64_t tag);

static void on_left(struct dcm_engine *eng)
{
	struct sim_node *node = dapl_container_of(eng, struct sim_node, eng);
	struct sim *sim = node->sim;

	if (node->leaving)
		sim_at(sim, sim->clock.now_us, close_over, node, node->life);
}

const struct dcm_engine_ops sim_engine_ops = {
	.dial = on_dial,
	.send = on_send,
	.hangup = on_hangup,
	.arm = on_arm,
	.disarm = on_disarm,
	.qp_connect = on_qp_connect,
	.qp_error = fake_qp_error,
	.conn_new = on_conn_new,
	.request = on_request,
	.request_gone = on_request_gone,
	.event = on_event,
	.room = on_room,
	.freed = on_freed,
	.left = on_left,
};

/* ------------------------------------------------------------- node */

void sim_node_start(struct sim_node *node)
{
	struct sim *sim = node->sim;
	uint32_t i;

	dcm_engine_init(&node->eng, &sim_engine_ops, &sim->rules,
			(uint32_t)sim_random(&sim->rng));
	if (sim->opt.conns_max)
		node->eng.conns_max = sim->opt.conns_max;
	if (sim->opt.waiting_max)
		node->eng.waiting_max = sim->opt.waiting_max;
	if (sim->opt.listener_max)
		node->eng.listener_max = sim->opt.listener_max;
	if (sim->opt.same_numbers)
		node->eng.last_id = 0;
	node->life++;
	node->qps = 0;
	node->born_us = sim->clock.now_us;
	node->eng.self.lid = (uint16_t)(node->index % 3); /* 0: none */
	node->eng.self.gid[15] = (uint8_t)node->index;
	node->eng.self.gid[14] = (uint8_t)(node->index >> 8);
	node->eng.self.qpn = SIM_QPN(node->index);
	node->eng.self.qp_type = DCM_QP_RC;
	for (i = 0; i < 2; i++)
		dcm_engine_listen(&node->eng, &node->listener[i], SIM_PORT + i);
	dapl_list_init(&node->conns);
	node->dead = false;
	node->silent = false;
	node->leaving = false;
}

/* Nothing of it is left but what others know of it. */
static void drop_all(struct sim_node *node)
{
	struct sim_conn *conn, *tmp;

	dapl_list_for_each_safe(conn, tmp, &node->conns, link) {
		sim_net_hangup(conn);
		sim_check_crash(&conn->fake.check);
		conn_gone(conn);
	}
	dcm_engine_fini(&node->eng);
}

void sim_node_crash(struct sim_node *node)
{
	node->dead = true;
	sim_net_crash(node);
	drop_all(node);
}

/* Of all its goodbyes, long before the close, none may have arrived. */
static bool said_all(const struct sim_conn *conn)
{
	return conn->fake.dcm.proto.last_op == DCM_DREQ &&
	       conn->fake.dcm.proto.repeats >= 8;
}

/* How long dcm.c waits. */
#define LEAVE_US (2 * SIM_S)

static void close_over(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_node *node = arg;
	struct sim_conn *conn;

	if (node->dead || !node->leaving || node->life != tag)
		return;
	sim->stats.closed++;
	if (node->eng.leaving_n)
		sim->stats.closed_unheard++;
	else if (!sim->opt.stream)
		dapl_list_for_each(conn, &node->conns, link)
			if (!said_all(conn))
				sim_check_left(&conn->fake.check);
	sim_node_crash(node);
}

void sim_node_close(struct sim_node *node)
{
	struct sim *sim = node->sim;
	struct sim_conn *conn, *tmp;
	size_t i;

	node->leaving = true;
	sim_eps_close(node);
	for (i = 0; i < 2; i++)
		dcm_engine_unlisten(&node->eng, &node->listener[i]);
	dapl_list_for_each_safe(conn, tmp, &node->conns, link) {
		conn->asked = 0;
		conn->through = true;
		if (conn->fake.check.released)
			continue;
		sim_check_release(&conn->fake.check);
		sim_conn_input(conn, DCM_IN_RELEASE, NULL);
	}
	sim_at(sim,
	       sim->clock.now_us +
		       (node->eng.leaving_n && !sim->opt.stream ? LEAVE_US : 0),
	       close_over, node, node->life);
}

void sim_node_fini(struct sim_node *node)
{
	if (!node->dead)
		dcm_engine_fini(&node->eng);
}
