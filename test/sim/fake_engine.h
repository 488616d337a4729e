/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_engine.h - what stands around an engine in tests, in place of a provider
 * and its consumers: its operations, and the calls that begin, answer and end
 * connections. Each connection knows its timer and stream, and keeps the rules
 * of sim_check.h.
 *
 * A test's table of operations is made of these, and of its own where it has
 * something to add. One thread.
 */
#ifndef FAKE_ENGINE_H
#define FAKE_ENGINE_H

#include "dapl/common/cm/dcm/dcm_engine.h"
#include "test/sim/sim_check.h"

struct fake_conn {
	struct dcm_conn dcm; /* must stay first */
	struct sim_check check;
	bool armed;
	uint64_t deadline_us;
	bool began;    /* connect() or request */
	bool answered; /* passive */
	bool disconnected;
	bool open; /* stream: dialed or accepted, and not hung up */
};

static inline struct fake_conn *fake_conn_of(struct dcm_conn *dcm)
{
	return (struct fake_conn *)dcm;
}

/* A zeroed CONN. */
void fake_conn_init(struct fake_conn *conn, struct dcm_engine *eng,
		    struct sim_checks *checks);

/* ------------------------------------------------------- operations */

int fake_dial(struct dcm_conn *dcm);
void fake_hangup(struct dcm_conn *dcm);
void fake_arm(struct dcm_conn *dcm, uint64_t deadline_us);
void fake_disarm(struct dcm_conn *dcm);
int fake_qp_connect(struct dcm_conn *dcm);
void fake_qp_error(struct dcm_conn *dcm);
void fake_request(struct dcm_listener *l, struct dcm_conn *dcm,
		  const struct dcm_msg *msg);
void fake_request_gone(struct dcm_conn *dcm);
void fake_event(struct dcm_conn *dcm, enum dapl_cm_event event,
		const void *pdata, size_t size);
void fake_room(struct dcm_engine *eng, struct dcm_listener *l);
void fake_freed(struct dcm_conn *dcm);

/* ------------------------------------------- the consumer, and the rest */

/* A new queue pair for CONN as the engine's messages name it. */
struct dcm_ib fake_qp_new(struct fake_conn *conn, enum sim_qp_role role);
/* The yes to CONN's request, for dcm_engine_accept(): no private data yet. */
struct dcm_answer fake_answer(struct fake_conn *conn);
/* A reject is followed by the release at once. */
void fake_reject(struct fake_conn *conn, const void *pdata, size_t size,
		 uint64_t now_us);
void fake_disconnect(struct fake_conn *conn, uint64_t now_us);
void fake_release(struct fake_conn *conn, uint64_t now_us);
/* The move of its queue pair ends with IN. */
void fake_moved(struct fake_conn *conn, enum dcm_input in, uint64_t now_us);
/* Its timer fires, late if *NOW_US is; else it is the time then. */
void fake_timer(struct fake_conn *conn, uint64_t *now_us);

#endif
