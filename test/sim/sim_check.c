/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_check.c - the invariants, one function per thing that happens.
 *
 * The contract of the layers above is in dapl_cm.h; each check names its rule.
 */
#include "test/sim/sim_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_fail(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("not so: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

/* --------------------------------------------------------- story */

#define STORY_MAX 4096

static struct {
	const char *what;
	int of_whom;
} story[STORY_MAX];
static int story_n;

void sim_story_begin(void)
{
	story_n = 0;
}

void sim_story_add(const char *what, int of_whom)
{
	if (story_n < STORY_MAX) {
		story[story_n].what = what;
		story[story_n++].of_whom = of_whom;
	}
}

void sim_story_tell(void)
{
	int i;

	for (i = 0; i < story_n; i++)
		fprintf(stderr, "%s%s %d", i ? ", " : "story: ", story[i].what,
			story[i].of_whom);
	if (story_n)
		fputc('\n', stderr);
}

/* ------------------------------------------------- queue pairs */

uint32_t sim_qp_new(struct sim_checks *all, enum sim_qp_role role)
{
	if (all->n == all->room) {
		all->room = all->room ? 2 * all->room : 64;
		all->qp = realloc(all->qp, all->room * sizeof(*all->qp));
		if (!all->qp)
			sim_fail("no memory");
	}
	all->qp[all->n] = (struct sim_qp){.role = role};
	return SIM_FIRST_QP + (uint32_t)all->n++;
}

struct sim_qp *sim_qp_of(struct sim_checks *all, uint32_t qpn)
{
	return qpn >= SIM_FIRST_QP && qpn - SIM_FIRST_QP < all->n
		       ? &all->qp[qpn - SIM_FIRST_QP]
		       : NULL;
}

void sim_checks_fini(struct sim_checks *all)
{
	free(all->qp);
	memset(all, 0, sizeof(*all));
}

/* ------------------------------------------------ private data */

size_t sim_pdata(uint16_t op, uint32_t qpn, uint8_t *buf)
{
	size_t i, size = (qpn * 7 + op * 13) % (DCM_PDATA + 1);

	for (i = 0; i < size; i++)
		buf[i] = (uint8_t)(qpn * 31 + op * 101 + i);
	return size;
}

bool sim_pdata_is(uint16_t op, uint32_t qpn, const void *pdata, size_t size)
{
	uint8_t want[DCM_PDATA];

	return sim_pdata(op, qpn, want) == size &&
	       (!size || !memcmp(pdata, want, size));
}

/* ------------------------------------------------- the consumer */

void sim_check_request(struct sim_check *c, uint32_t peer_qpn,
		       const struct dcm_msg *msg)
{
	struct sim_qp *peer = sim_qp_of(c->all, peer_qpn);

	c->passive = true;
	c->peer_qpn = peer_qpn;
	if (peer)
		peer->asked = true;
	SIM_REQUIRE(c->all->hostile || sim_pdata_is(DCM_REQ, peer_qpn,
						    msg->pdata, msg->p_size),
		    "request with private data of its sender");
}

void sim_check_accept(struct sim_check *c, uint32_t qpn)
{
	struct sim_qp *qp = sim_qp_of(c->all, qpn);

	c->qpn = qpn;
	qp->partner = c->peer_qpn;
}

void sim_check_disconnect(struct sim_check *c)
{
	sim_qp_of(c->all, c->qpn)->ended = true;
}

void sim_check_crash(struct sim_check *c)
{
	struct sim_qp *qp = sim_qp_of(c->all, c->qpn);

	if (qp)
		qp->ended = true;
}

void sim_check_left(const struct sim_check *c)
{
	const struct sim_qp *qp = sim_qp_of(c->all, c->qpn);
	const struct sim_qp *peer = qp ? sim_qp_of(c->all, qp->partner) : NULL;

	SIM_REQUIRE(!peer || !qp->established || peer->partner != c->qpn ||
			    peer->told || peer->given_up || peer->ended,
		    "the node of qp 0x%x has left, and its peer not heard it",
		    c->qpn);
}

void sim_check_release(struct sim_check *c)
{
	struct sim_qp *qp = sim_qp_of(c->all, c->qpn);

	SIM_REQUIRE(!c->released, "one release per connection");
	c->released = true;
	c->moving = false;
	if (qp && !qp->told)
		qp->given_up = true;
}

/* --------------------------------------------------- the engine */

/* The two ends of what is established belong to one another alone. */
static void check_pair(struct sim_check *c, const void *pdata, size_t size)
{
	struct sim_qp *mine = sim_qp_of(c->all, c->qpn);
	struct sim_qp *peer = sim_qp_of(c->all, mine->partner);

	SIM_REQUIRE(!c->passive || !size, "private data on the passive side");
	mine->established = true;
	if (c->all->hostile)
		return;
	SIM_REQUIRE(peer, "qp 0x%x is connected to 0x%x, which never was",
		    c->qpn, mine->partner);
	SIM_REQUIRE(peer->role != mine->role, "one active, one passive side");
	SIM_REQUIRE(mine->moved, "established with a queue pair in RTS");
	/* Old peers have to be told of a connection to be told of its end. */
	if (!c->passive || !peer->given_up) {
		SIM_REQUIRE(peer->partner == c->qpn,
			    "qp 0x%x is connected to 0x%x, which is to 0x%x",
			    c->qpn, mine->partner, peer->partner);
		SIM_REQUIRE(peer->moved, "established with a peer in RTS");
	}
	if (c->passive)
		SIM_REQUIRE(peer->established || peer->given_up,
			    "qp 0x%x established, its active peer 0x%x not",
			    c->qpn, mine->partner);
	else
		SIM_REQUIRE(sim_pdata_is(DCM_REP, mine->partner, pdata, size),
			    "established with private data of its peer");
}

/* Nothing ends by itself, or by a word that none of the two has said. */
static void check_end(const struct sim_check *c, const struct sim_qp *qp)
{
	const struct sim_qp *peer = sim_qp_of(c->all, qp->partner);

	if (c->all->hostile || c->all->cut)
		return;
	SIM_REQUIRE(qp->ended || peer->ended || peer->given_up || peer->told,
		    "qp 0x%x disconnected by nobody", c->qpn);
}

void sim_check_event(struct sim_check *c, enum dapl_cm_event event,
		     const void *pdata, size_t size)
{
	struct sim_qp *qp = sim_qp_of(c->all, c->qpn);

	SIM_REQUIRE(!c->forgotten, "event %d of a forgotten connection", event);
	SIM_REQUIRE(!c->released, "event %d after release", event);
	SIM_REQUIRE(!c->told && !(c->datagram && c->established),
		    "event %d after the last one", event);
	SIM_REQUIRE(qp, "event %d without an endpoint", event);
	if (event == DAPL_CM_ESTABLISHED) {
		SIM_REQUIRE(!c->established, "established twice");
		check_pair(c, pdata, size);
		c->established = true;
		return;
	}
	SIM_REQUIRE(event != DAPL_CM_DISCONNECTED || c->established,
		    "disconnected before it was established");
	SIM_REQUIRE(!c->established || event == DAPL_CM_DISCONNECTED,
		    "established, then event %d", event);
	if (event == DAPL_CM_DISCONNECTED)
		check_end(c, qp);
	SIM_REQUIRE(!c->passive || event == DAPL_CM_DISCONNECTED ||
			    event == DAPL_CM_ACCEPT_FAILED,
		    "event %d on the passive side", event);
	SIM_REQUIRE(c->passive || event != DAPL_CM_ACCEPT_FAILED,
		    "accept failed on the active side");
	if (event == DAPL_CM_PEER_REJECTED)
		SIM_REQUIRE(
			c->all->hostile ||
				sim_pdata_is(DCM_REJ_USER, c->qpn, pdata, size),
			"rejected with private data of its peer");
	else
		SIM_REQUIRE(!size && !pdata, "event %d with data", event);
	SIM_REQUIRE(!(qp->moved || c->moving) || c->qp_error || c->datagram,
		    "event %d while the queue pair is in RTS", event);
	c->told = true;
	qp->told = true;
}

void sim_check_gone(struct sim_check *c)
{
	SIM_REQUIRE(c->passive && !c->released && !c->gone,
		    "a request is withdrawn once, before its release");
	c->gone = true;
}

void sim_check_qp_connect(struct sim_check *c, uint32_t peer_qpn)
{
	struct sim_qp *qp = sim_qp_of(c->all, c->qpn);

	SIM_REQUIRE(qp && !c->released && !c->told && !c->forgotten,
		    "queue pair moved without a consumer");
	SIM_REQUIRE(!c->moving && !qp->moved, "queue pair moved twice");
	SIM_REQUIRE(!c->qp_error, "queue pair moved after its end");
	c->moving = true;
	qp->partner = peer_qpn;
}

void sim_check_qp_moved(struct sim_check *c, bool ok)
{
	SIM_REQUIRE(c->moving && !c->forgotten, "the end of which move?");
	c->moving = false;
	sim_qp_of(c->all, c->qpn)->moved = ok;
}

void sim_check_qp_error(struct sim_check *c)
{
	SIM_REQUIRE(c->qpn && !c->datagram, "queue pair of no endpoint");
	SIM_REQUIRE(!c->released && !c->forgotten,
		    "after release the queue pair is another's");
	c->qp_error = true;
}

void sim_check_forgotten(struct sim_check *c)
{
	SIM_REQUIRE(c->released && !c->forgotten,
		    "forgotten once, after the release");
	c->forgotten = true;
}
