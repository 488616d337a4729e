/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_alive.c - asks processes whether they are there; see the header.
 *
 * A process is the address of its CM's queue pair, as its connections have it:
 * those that we began may know a shorter form of it, and are then asked on
 * their own.
 */
#include "dapl/common/cm/dcm/dcm_alive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the connections of one process, so many are looked at for one to ask by.
 */
#define LOOK 64

struct process {
	struct dapl_cm_peer base; /* must stay first */
	struct dcm_peer addr;
	bool asks; /* so it answers questions of the side that connects, too */
};

static struct dcm_cm_conn *conn_of(struct dapl_cm_peer_conn *pc)
{
	return dapl_container_of(pc, struct dcm_cm_conn, alive);
}

static bool ask(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	const struct process *process = (struct process *)peer;
	struct dapl_cm_peer_conn *pc;
	int n = 0;

	dapl_list_for_each(pc, &peer->conns, link) {
		struct dcm_cm_conn *conn = conn_of(pc);
		const struct dcm_proto *p = &conn->dcm.proto;

		/* One that is about to end has nothing to ask by. */
		if (p->state == DCM_UP && (p->passive || process->asks)) {
			dcm_input(conn, DCM_IN_ASK, NULL);
			return true;
		}
		if (++n == LOOK)
			break;
	}
	return false;
}

static void vanished(struct dapl_cm_alive *alive, struct dapl_cm_peer_conn *pc)
{
	(void)alive;
	dcm_input(conn_of(pc), DCM_IN_VANISHED, NULL);
}

static void freed(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	(void)alive;
	free(peer);
}

static void name(const struct dapl_cm_peer *peer, char *buf, size_t size)
{
	const struct dcm_peer *addr = &((const struct process *)peer)->addr;

	snprintf(buf, size,
		 "the CM of queue pair 0x%x, LID %u, GID ..%02x%02x%02x%02x",
		 addr->qpn, addr->lid, addr->gid[12], addr->gid[13],
		 addr->gid[14], addr->gid[15]);
}

static const struct dapl_cm_alive_ops alive_ops = {
	.ask = ask,
	.vanished = vanished,
	.freed = freed,
	.name = name,
};

void dcm_alive_init(struct dcm *dcm)
{
	dapl_cm_alive_init(&dcm->alive, &dcm->base, &alive_ops,
			   &dcm->rules.keepalive_ms);
}

void dcm_alive_stop(struct dcm *dcm)
{
	dapl_cm_alive_stop(&dcm->alive);
}

static struct process *process_of(struct dcm *dcm, const struct dcm_peer *addr)
{
	struct process *process;
	struct dapl_cm_peer *peer;

	dapl_list_for_each(peer, &dcm->alive.peers, link) {
		process = (struct process *)peer;
		if (process->addr.qpn == addr->qpn &&
		    process->addr.lid == addr->lid &&
		    !memcmp(process->addr.gid, addr->gid, sizeof(addr->gid)))
			return process;
	}
	process = calloc(1, sizeof(*process));
	if (process)
		process->addr = *addr;
	return process;
}

void dcm_alive_join(struct dcm_cm_conn *conn)
{
	struct dcm *dcm = dcm_of(conn);
	struct process *process;

	if (!dapl_cm_alive_on(&dcm->alive))
		return;
	process = process_of(dcm, &conn->dcm.peer);
	/* Without memory this one is not watched. */
	if (process)
		dapl_cm_alive_join(&dcm->alive, &process->base, &conn->alive);
}

void dcm_alive_leave(struct dcm_cm_conn *conn)
{
	dapl_cm_alive_leave(&dcm_of(conn)->alive, &conn->alive);
}

void dcm_alive_heard(struct dcm_cm_conn *conn, const struct dcm_msg *msg)
{
	struct dapl_cm_peer *peer = conn->alive.peer;

	if (!peer)
		return;
	if (msg->op == DCM_REP && msg->rtns == DCM_RTNS_ASK)
		((struct process *)peer)->asks = true;
	dapl_cm_alive_there(&dcm_of(conn)->alive, peer);
}

bool dcm_alive_asked(const struct dcm_cm_conn *conn)
{
	return conn->alive.peer && conn->alive.peer->asked;
}
