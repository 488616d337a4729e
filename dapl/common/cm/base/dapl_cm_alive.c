/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_alive.c - when to ask whether a peer is there; see the header.
 *
 * One timer, for whoever is due first. Knows no question and no answer.
 */
#include "dapl/common/cm/base/dapl_cm_alive.h"

#include "dapl/common/services/dapl_log.h"

/* In vain, one after the other, until a peer counts as vanished. */
#define ASKS 4
/* One may take this part of the interval, and then the next one begins. */
#define ASK_PARTS 3
/*
 * The first comes after this part of it, since who is judged has answered once;
 * and so much is between the questions to two peers, or less if they are more,
 * but not below the least.
 */
#define PACE_PARTS    30
#define PACE_LEAST_US 10000

static uint64_t interval_us(const struct dapl_cm_alive *alive)
{
	return (uint64_t)*alive->interval_ms * 1000;
}

int dapl_cm_alive_wait_ms(const struct dapl_cm_alive *alive)
{
	return *alive->interval_ms / ASK_PARTS;
}

static uint64_t between_us(const struct dapl_cm_alive *alive)
{
	uint64_t few = interval_us(alive) / PACE_PARTS, many;

	if (alive->n_peers <= PACE_PARTS || few <= PACE_LEAST_US)
		return few;
	many = interval_us(alive) / (uint64_t)alive->n_peers;
	return many < PACE_LEAST_US ? PACE_LEAST_US : many;
}

/* For the next that is due, unless the instance has stopped. */
static void arm(struct dapl_cm_alive *alive)
{
	const struct dapl_cm_peer *peer;
	uint64_t due = UINT64_MAX;

	dapl_list_for_each(peer, &alive->peers, link)
		if (peer->due_us < due)
			due = peer->due_us;
	dapl_lock(&alive->cm->lock);
	if (due == UINT64_MAX || alive->stopped)
		dapl_timer_cancel(alive->cm->loop, &alive->timer);
	else if (dapl_timer_arm(alive->cm->loop, &alive->timer, due))
		dapl_log(DAPL_LOG_ERR,
			 "cm %p: peers are not asked any more: no memory",
			 (void *)alive->cm);
	dapl_unlock(&alive->cm->lock);
}

static void over(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	if (peer->asked && alive->ops->asked)
		alive->ops->asked(peer);
	peer->asked = false;
}

/* From now on its silence is judged. */
static void begins_to_answer(struct dapl_cm_alive *alive,
			     struct dapl_cm_peer *peer)
{
	char name[64];

	peer->answers = true;
	alive->ops->name(peer, name, sizeof(name));
	dapl_log(DAPL_LOG_CM, "cm %p: %s answers", (void *)alive->cm, name);
}

void dapl_cm_alive_there(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	/* Later than the timer, which finds then that nobody is due. */
	over(alive, peer);
	if (!peer->answers)
		begins_to_answer(alive, peer);
	peer->unanswered = 0;
	peer->due_us = dapl_now_us() + interval_us(alive);
}

/* Its time stays: the next question begins when this one would have ended. */
void dapl_cm_alive_silent(struct dapl_cm_alive *alive,
			  struct dapl_cm_peer *peer)
{
	char name[64];

	over(alive, peer);
	peer->unanswered++;
	alive->ops->name(peer, name, sizeof(name));
	dapl_log(DAPL_LOG_CM, "cm %p: %s does not answer, %d of %d%s",
		 (void *)alive->cm, name, peer->unanswered, ASKS,
		 peer->answers ? "" : ", and never did");
}

/* All its connections end, and with the last of them PEER. */
static void vanished(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	struct dapl_cm_peer_conn *conn;
	char name[64];
	bool last;

	alive->ops->name(peer, name, sizeof(name));
	dapl_log(DAPL_LOG_CM_WARN,
		 "cm %p: %s answered nothing for %d ms: its connections end",
		 (void *)alive->cm, name, ASKS * dapl_cm_alive_wait_ms(alive));
	do {
		conn = dapl_list_first(&peer->conns, struct dapl_cm_peer_conn,
				       link);
		last = conn->link.next == &peer->conns;
		dapl_cm_alive_leave(alive, conn);
		alive->ops->vanished(alive, conn);
	} while (!last);
}

static void ask(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	peer->due_us = dapl_now_us() + interval_us(alive) / ASK_PARTS;
	peer->asked = true;
	if (!alive->ops->ask(alive, peer))
		over(alive, peer);
}

/* Whether PEER has to wait for its turn. */
static bool is_paced(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer,
		     uint64_t now)
{
	if (peer->unanswered)
		return false;
	if (now < alive->pace_us) {
		peer->due_us = alive->pace_us;
		return true;
	}
	alive->pace_us = now + between_us(alive);
	return false;
}

static void on_timer(struct dapl_timer *timer)
{
	struct dapl_cm_alive *alive =
		dapl_container_of(timer, struct dapl_cm_alive, timer);
	struct dapl_cm_peer *peer, *tmp;
	uint64_t now = dapl_now_us();

	dapl_list_for_each_safe(peer, tmp, &alive->peers, link) {
		if (peer->due_us > now)
			continue;
		if (peer->asked)
			dapl_cm_alive_silent(alive, peer);
		if (peer->answers && peer->unanswered >= ASKS)
			vanished(alive, peer);
		else if (!is_paced(alive, peer, now))
			ask(alive, peer);
	}
	arm(alive);
}

void dapl_cm_alive_init(struct dapl_cm_alive *alive, struct dapl_cm *cm,
			const struct dapl_cm_alive_ops *ops,
			const int *interval_ms)
{
	alive->ops = ops;
	alive->cm = cm;
	alive->interval_ms = interval_ms;
	dapl_timer_init(&alive->timer, on_timer);
	dapl_list_init(&alive->peers);
}

void dapl_cm_alive_stop(struct dapl_cm_alive *alive)
{
	dapl_lock(&alive->cm->lock);
	alive->stopped = true;
	dapl_unlock(&alive->cm->lock);
	dapl_timer_cancel(alive->cm->loop, &alive->timer);
}

void dapl_cm_alive_join(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer,
			struct dapl_cm_peer_conn *conn)
{
	conn->peer = peer;
	if (!peer->link.next) {
		dapl_list_init(&peer->conns);
		dapl_list_add_tail(&alive->peers, &peer->link);
		alive->n_peers++;
		peer->due_us = dapl_now_us() + interval_us(alive) / PACE_PARTS;
		arm(alive);
	}
	dapl_list_add_tail(&peer->conns, &conn->link);
}

void dapl_cm_alive_leave(struct dapl_cm_alive *alive,
			 struct dapl_cm_peer_conn *conn)
{
	struct dapl_cm_peer *peer = conn->peer;

	if (!peer)
		return;
	conn->peer = NULL;
	dapl_list_del(&conn->link);
	if (!dapl_list_empty(&peer->conns))
		return;
	over(alive, peer);
	dapl_list_del(&peer->link);
	alive->n_peers--;
	alive->ops->freed(alive, peer);
}
