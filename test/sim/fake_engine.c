/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_engine.c - the operations of an engine and its consumers, faked. See
 * fake_engine.h.
 */
#include "test/sim/fake_engine.h"

void fake_conn_init(struct fake_conn *conn, struct dcm_engine *eng,
		    struct sim_checks *checks)
{
	dcm_conn_init(&conn->dcm, eng);
	conn->check.all = checks;
}

/* ------------------------------------------------------- operations */

int fake_dial(struct dcm_conn *dcm)
{
	struct fake_conn *conn = fake_conn_of(dcm);

	SIM_REQUIRE(!conn->open, "dialed with a stream at hand");
	conn->open = true;
	return 0;
}

void fake_hangup(struct dcm_conn *dcm)
{
	fake_conn_of(dcm)->open = false;
}

void fake_arm(struct dcm_conn *dcm, uint64_t deadline_us)
{
	struct fake_conn *conn = fake_conn_of(dcm);

	/* Perhaps in the past: timers may fire late. */
	conn->armed = true;
	conn->deadline_us = deadline_us;
}

void fake_disarm(struct dcm_conn *dcm)
{
	fake_conn_of(dcm)->armed = false;
}

int fake_qp_connect(struct dcm_conn *dcm)
{
	sim_check_qp_connect(&fake_conn_of(dcm)->check, dcm->remote.ib.qpn);
	return 0;
}

void fake_qp_error(struct dcm_conn *dcm)
{
	sim_check_qp_error(&fake_conn_of(dcm)->check);
}

void fake_request(struct dcm_listener *l, struct dcm_conn *dcm,
		  const struct dcm_msg *msg)
{
	struct fake_conn *conn = fake_conn_of(dcm);
	struct dcm_ib ib;

	dcm_block_get_ib(&msg->saddr, &ib);
	conn->began = true;
	conn->check.datagram = dcm->proto.datagram;
	sim_check_request(&conn->check, ib.qpn, msg);
}

void fake_request_gone(struct dcm_conn *dcm)
{
	sim_check_gone(&fake_conn_of(dcm)->check);
}

void fake_event(struct dcm_conn *dcm, enum dapl_cm_event event,
		const void *pdata, size_t size)
{
	sim_check_event(&fake_conn_of(dcm)->check, event, pdata, size);
}

void fake_room(struct dcm_engine *eng, struct dcm_listener *l)
{
	/* Who was held back may ask again at any time. */
}

void fake_freed(struct dcm_conn *dcm)
{
	struct fake_conn *conn = fake_conn_of(dcm);

	SIM_REQUIRE(!conn->armed && !conn->open,
		    "forgotten with its timer or stream");
	sim_check_forgotten(&conn->check);
}

/* ------------------------------------------- the consumer, and the rest */

struct dcm_ib fake_qp_new(struct fake_conn *conn, enum sim_qp_role role)
{
	struct dcm_ib ib = conn->dcm.eng->self;

	ib.qpn = sim_qp_new(conn->check.all, role);
	if (role == SIM_QP_PASSIVE)
		sim_check_accept(&conn->check, ib.qpn);
	else
		conn->check.qpn = ib.qpn;
	return ib;
}

struct dcm_answer fake_answer(struct fake_conn *conn)
{
	conn->answered = true;
	return (struct dcm_answer){.ib = fake_qp_new(conn, SIM_QP_PASSIVE)};
}

void fake_reject(struct fake_conn *conn, const void *pdata, size_t size,
		 uint64_t now_us)
{
	conn->answered = true;
	dcm_engine_reject(&conn->dcm, pdata, size, now_us);
	fake_release(conn, now_us);
}

void fake_disconnect(struct fake_conn *conn, uint64_t now_us)
{
	conn->disconnected = true;
	sim_check_disconnect(&conn->check);
	dcm_engine_input(&conn->dcm, DCM_IN_DISCONNECT, NULL, now_us);
}

void fake_release(struct fake_conn *conn, uint64_t now_us)
{
	sim_check_release(&conn->check);
	dcm_engine_input(&conn->dcm, DCM_IN_RELEASE, NULL, now_us);
}

void fake_moved(struct fake_conn *conn, enum dcm_input in, uint64_t now_us)
{
	sim_check_qp_moved(&conn->check, in == DCM_IN_QP_READY);
	dcm_engine_input(&conn->dcm, in, NULL, now_us);
}

void fake_timer(struct fake_conn *conn, uint64_t *now_us)
{
	if (*now_us < conn->deadline_us)
		*now_us = conn->deadline_us;
	conn->armed = false;
	dcm_engine_input(&conn->dcm, DCM_IN_TIMER, NULL, *now_us);
}
