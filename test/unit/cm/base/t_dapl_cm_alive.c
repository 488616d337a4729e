/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_cm_alive.c - tests of when peers are asked, and of what follows; the
 * questions are the test's. Over connections: openib_cma/t_cma_conn and
 * openib_ucm/t_ucm_conn (alive__).
 *
 * Calls covered: all. Threads: the loop's; the case's own waits for it.
 * Nothing is judged by how late it comes, only by what must not come earlier.
 */
#include "dapl/common/cm/base/dapl_cm_alive.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "test/unit/case.h"

#define PEERS 3
#define MANY  60
#define ASKS  12

static struct {
	struct dapl_cm cm;
	struct dapl_cm_alive alive;
	int interval_ms;
	int peers;
	struct dapl_cm_peer peer[MANY];
	struct dapl_cm_peer_conn conn[MANY][2];
	struct dapl_work work;
	bool answers[MANY];
	bool cannot;
	int asks, answered, ended, freed;
	struct {
		int peer;
		uint64_t at_us;
		uint64_t next_us; /* another peer */
	} ask[ASKS];
	sem_t joined, asked, gone;
} t;

static bool ask(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	int n = (int)(peer - t.peer);

	if (t.asks < ASKS) {
		t.ask[t.asks].peer = n;
		t.ask[t.asks].at_us = dapl_now_us();
		t.ask[t.asks].next_us = alive->pace_us;
	}
	t.asks++;
	if (!__atomic_load_n(&t.cannot, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&t.answers[n], __ATOMIC_RELAXED))
		dapl_cm_alive_there(alive, peer);
	sem_post(&t.asked);
	return !__atomic_load_n(&t.cannot, __ATOMIC_RELAXED);
}

static void vanished(struct dapl_cm_alive *alive,
		     struct dapl_cm_peer_conn *conn)
{
	(void)alive;
	(void)conn;
	t.ended++;
}

static void freed(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer)
{
	(void)alive;
	(void)peer;
	t.freed++;
	sem_post(&t.gone);
}

static void name(const struct dapl_cm_peer *peer, char *buf, size_t size)
{
	snprintf(buf, size, "peer %d", (int)(peer - t.peer));
}

static const struct dapl_cm_alive_ops ops = {
	.ask = ask,
	.vanished = vanished,
	.freed = freed,
	.name = name,
};

/* On the service thread: each peer has two connections. */
static void join_all(struct dapl_work *work)
{
	(void)work;
	for (int i = 0; i < t.peers; i++)
		for (int j = 0; j < 2; j++)
			dapl_cm_alive_join(&t.alive, &t.peer[i], &t.conn[i][j]);
	sem_post(&t.joined);
}

static void begin_with(int peers, int interval_ms, bool answer)
{
	memset(&t, 0, sizeof(t));
	sem_init(&t.joined, 0, 0);
	sem_init(&t.asked, 0, 0);
	sem_init(&t.gone, 0, 0);
	t.peers = peers;
	t.interval_ms = interval_ms;
	for (int i = 0; i < peers; i++)
		t.answers[i] = answer;
	dapl_lock_init(&t.cm.lock, DAPL_LOCK_CONN);
	assert_int_equal(dapl_loop_open("test", &t.cm.loop), 0);
	dapl_cm_alive_init(&t.alive, &t.cm, &ops, &t.interval_ms);
	dapl_work_init(&t.work, join_all);
	dapl_loop_defer(t.cm.loop, &t.work);
	sem_wait(&t.joined);
}

static void begin(int interval_ms, bool answer)
{
	begin_with(PEERS, interval_ms, answer);
}

static void await(sem_t *sem, int n)
{
	while (n--)
		sem_wait(sem);
}

/* All leave, as when an adapter is closed; each peer is freed once. */
static void end(void)
{
	dapl_cm_alive_stop(&t.alive);
	dapl_loop_barrier(t.cm.loop);
	for (int i = 0; i < t.peers; i++)
		for (int j = 0; j < 2; j++) {
			dapl_cm_alive_leave(&t.alive, &t.conn[i][j]);
			dapl_cm_alive_leave(&t.alive, &t.conn[i][j]);
		}
	assert_int_equal(t.freed, t.peers);
	assert_true(dapl_list_empty(&t.alive.peers));
	dapl_loop_close(t.cm.loop);
	dapl_lock_fini(&t.cm.lock);
}

/*
 * N questions, none before its time, which is LEAST_US later from one to the
 * next. When the test hears of one says nothing: it may be late, and the next
 * one not.
 */
static void expect_paced(int n, uint64_t least_us)
{
	for (int i = 1; i < n; i++) {
		assert_true(t.ask[i].at_us >= t.ask[i - 1].next_us);
		assert_true(t.ask[i].next_us - t.ask[i - 1].next_us >=
			    least_us);
	}
}

/* One question for both connections, and the next peer some time later. */
CASE(cm_alive__one_peer_after_the_other)
{
	begin(600, true);
	await(&t.asked, 2 * PEERS);
	end();
	expect_paced(2 * PEERS, 600000 / 30);
	for (int i = 0; i < PEERS; i++) {
		assert_int_equal(t.ask[i].peer, t.ask[i + PEERS].peer);
		assert_true(t.ask[i + PEERS].at_us - t.ask[i].at_us >= 600000);
	}
	assert_int_equal(t.ended, 0);
}

/* More than thirty: each is asked once in the interval all the same. */
CASE(cm_alive__many_peers)
{
	begin_with(MANY, 1200, true);
	await(&t.asked, ASKS);
	end();
	expect_paced(ASKS, 1200000 / MANY);
	for (int i = 0; i < ASKS; i++)
		assert_true(t.ask[i].next_us <=
			    t.ask[i].at_us + 1200000 / MANY);
}

/* But no more than a hundred in a second. */
CASE(cm_alive__too_many_peers)
{
	begin_with(MANY, 420, true);
	await(&t.asked, ASKS);
	end();
	expect_paced(ASKS, 10000);
}

/* Peers that answered once: four questions each, and both connections end. */
CASE(cm_alive__silence_after_an_answer)
{
	begin(600, true);
	await(&t.asked, PEERS);
	for (int i = 0; i < PEERS; i++)
		__atomic_store_n(&t.answers[i], i == 1, __ATOMIC_RELAXED);
	await(&t.gone, PEERS - 1);
	end();
	assert_int_equal(t.ended, 2 * (PEERS - 1));
}

/* Who never answered is asked on, and not judged. */
CASE(cm_alive__never_an_answer)
{
	begin(60, false);
	await(&t.asked, PEERS * 6);
	end();
	assert_int_equal(t.ended, 0);
}

/* What this host lacks says nothing of them. */
CASE(cm_alive__cannot_ask)
{
	begin(60, true);
	await(&t.asked, PEERS);
	__atomic_store_n(&t.cannot, true, __ATOMIC_RELAXED);
	await(&t.asked, PEERS * 6);
	end();
	assert_int_equal(t.ended, 0);
}

/* It was asked for, and stopped before anything came of it. */
CASE(cm_alive__stopped_at_once)
{
	begin(3600000, true);
	end();
	assert_int_equal(t.ended, 0);
	assert_int_equal(t.asks, 0);
}

RUN_CASES(NULL, NULL)
