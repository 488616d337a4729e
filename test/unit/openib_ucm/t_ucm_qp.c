/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ucm_qp.c - the CM's own queue pair and its address handles: ucm_qp_*,
 * ucm_ah_*; credits, overflow, batches, failures and resets.
 *
 * Two queue pairs on one fake device, each with a service thread of its own.
 * What the units leave to that thread is done there, by on_loop().
 * Rules: the heads of ucm_qp.h and ucm_ah.h.
 */
#include "dapl/openib_ucm/ucm_qp.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dapl/common/services/dapl_log.h"
#include "dapl/openib_ucm/ucm_source.h"
#include "test/unit/case.h"
#include "test/unit/fake/fake_verbs.h"

#define PATIENCE_S 30
/* In one round of the loop a batch is read for an event and one for what the
 * batch before has left. */
#define ONE_BATCH 128
#define ONE_ROUND (2 * ONE_BATCH)

struct end {
	struct ucm_qp qp; /* must stay first */
	struct vb_dev dev;
	struct dapl_loop *loop;
	struct ucm_params params;
	struct dcm_path path;
	struct dcm_peer addr;
	/* What came; lock. */
	int n;
	size_t len;
	struct dcm_source src;
	uint32_t next; /* expected serial number */
	bool in_order;
	struct dapl_work turn; /* of somebody else on the same loop */
	int n_at_turn;
};

static struct end a, b;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

/* --------------------------------------------------------- fixture */

static void got(struct ucm_qp *q, const uint8_t *msg, size_t len,
		const struct dcm_source *src)
{
	struct end *e = (struct end *)q;
	uint32_t serial;

	pthread_mutex_lock(&lock);
	if (!e->n)
		dapl_loop_defer(e->loop, &e->turn);
	e->n++;
	e->len = len;
	e->src = *src;
	if (len >= sizeof(serial)) {
		memcpy(&serial, msg, sizeof(serial));
		e->in_order = e->in_order && serial == e->next;
		e->next = serial + 1;
	}
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
}

static void take_turn(struct dapl_work *work)
{
	struct end *e = dapl_container_of(work, struct end, turn);

	pthread_mutex_lock(&lock);
	e->n_at_turn = e->n;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
}

/* Tries to reset a queue pair; lock. */
static int reset_tries;

int __real_vb_qp_reset(struct ibv_qp *qp);
int __wrap_vb_qp_reset(struct ibv_qp *qp);
int __wrap_vb_qp_reset(struct ibv_qp *qp)
{
	int ret = __real_vb_qp_reset(qp);

	pthread_mutex_lock(&lock);
	reset_tries++;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	return ret;
}

static struct timespec deadline(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += PATIENCE_S;
	return ts;
}

/* With the lock: waits until it is SO, for the tests' patience at most. */
#define await(so)                                                             \
	do {                                                                  \
		struct timespec until_ = deadline();                          \
		int err_ = 0;                                                 \
		while (!(so) && !err_)                                        \
			err_ = pthread_cond_timedwait(&cond, &lock, &until_); \
	} while (0)

/* Waits until E has got N messages. */
static void expect_n(struct end *e, int n)
{
	int have;

	pthread_mutex_lock(&lock);
	await(e->n >= n);
	have = e->n;
	pthread_mutex_unlock(&lock);
	assert_int_equal(have, n);
}

/* Waits for a message of LEN bytes, the last of all that are under way. */
static void expect_len(struct end *e, size_t len)
{
	size_t have;

	pthread_mutex_lock(&lock);
	await(e->len == len);
	have = e->len;
	pthread_mutex_unlock(&lock);
	assert_int_equal(have, len);
}

/* A piece of work, and whether it has been done. */
struct job {
	struct dapl_work work;
	void (*fn)(void *arg);
	void *arg;
	bool done;
};

static void run_job(struct dapl_work *work)
{
	struct job *job = dapl_container_of(work, struct job, work);

	job->fn(job->arg);
	pthread_mutex_lock(&lock);
	job->done = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
}

static void begin_on_loop(struct end *e, struct job *job, void (*fn)(void *),
			  void *arg)
{
	job->fn = fn;
	job->arg = arg;
	job->done = false;
	dapl_work_init(&job->work, run_job);
	dapl_loop_defer(e->loop, &job->work);
}

static void finish_on_loop(struct job *job)
{
	pthread_mutex_lock(&lock);
	await(job->done);
	pthread_mutex_unlock(&lock);
	assert_true(job->done);
}

static void on_loop(struct end *e, void (*fn)(void *), void *arg)
{
	struct job job;

	begin_on_loop(e, &job, fn, arg);
	finish_on_loop(&job);
}

static void end_prepare(struct end *e, struct ucm_qp_cfg *ret_cfg)
{
	struct dapl_cm cm = {.dev = &e->dev, .params = &e->params, .port = 1};
	struct dcm_path_wish wish = {.gid_index = -1};

	memset(e, 0, sizeof(*e));
	e->in_order = true;
	dapl_work_init(&e->turn, take_turn);
	dapl_params_read(&ucm_param_table, &e->params, NULL);
	assert_int_equal(vb_open("fake0", 1, &e->dev), 0);
	assert_int_equal(dapl_loop_open("test", &e->loop), 0);
	assert_int_equal(dcm_path_init(&e->path, &cm, &wish), 0);
	*ret_cfg = (struct ucm_qp_cfg){
		.dev = &e->dev,
		.loop = e->loop,
		.path = &e->path,
		.params = &e->params,
		.input = got,
	};
}

static void end_release(struct end *e)
{
	dapl_loop_close(e->loop);
	dcm_path_fini(&e->path);
	vb_close(&e->dev);
}

static void end_open(struct end *e, int size)
{
	struct dcm_path_ends ends;
	struct ucm_qp_cfg cfg;

	end_prepare(e, &cfg);
	e->params.qp_size = size;
	assert_int_equal(ucm_qp_open(&e->qp, &cfg), 0);
	assert_int_equal(ucm_qp_start(&e->qp), 0);
	dcm_path_own(&e->path, 0, NULL, &ends);
	memcpy(e->addr.gid, ends.own.gid, sizeof(e->addr.gid));
	e->addr.lid = ends.own.lid;
	e->addr.qpn = e->qp.verbs->qp_num;
}

static void end_close(struct end *e)
{
	ucm_qp_close(&e->qp);
	end_release(e);
}

static int setup(enum fv_kind kind, int size_a, int size_b)
{
	fv_reset();
	fv_devices_default(kind, 1);
	end_open(&a, size_a);
	end_open(&b, size_b);
	return 0;
}

static int ib(void **state)
{
	return setup(FV_IB, -1, -1);
}

static int roce(void **state)
{
	return setup(FV_ROCE, -1, -1);
}

/* Queues of 16. */
static int small(void **state)
{
	return setup(FV_IB, 16, 16);
}

/* The same of a device on which a request that fails leads to SQE. */
static int small_sqe(void **state)
{
	return setup(FV_MLX5, 16, 16);
}

static int small_sender(void **state)
{
	return setup(FV_IB, 16, -1);
}

static int teardown(void **state)
{
	fv_pause(false);
	end_close(&a);
	end_close(&b);
	return fv_nothing_left(state);
}

#define T(name, setup) CASE_WITH(name, setup, teardown)
#define ON_ROCE(name)  CASE_ROW(name, ".roce", roce, teardown, NULL)

static int bare(void **state)
{
	fv_reset();
	fv_devices_default(FV_IB, 1);
	return 0;
}

#define BARE(name) CASE_WITH(name, bare, fv_nothing_left)

/* --------------------------------------------------------- helpers */

/* N messages of LEN bytes from A to B with running numbers. */
struct salvo {
	uint32_t first;
	int n;
	size_t len;
};

static void fire(void *arg)
{
	const struct salvo *s = arg;
	uint8_t msg[DCM_MSG] = {0};

	for (uint32_t i = s->first; i < s->first + (uint32_t)s->n; i++) {
		memcpy(msg, &i, sizeof(i));
		ucm_qp_send(&a.qp, &b.addr, msg, s->len, 0, 0);
	}
}

static void send_n(uint32_t first, int n)
{
	struct salvo s = {.first = first, .n = n, .len = DCM_HEADER};

	on_loop(&a, fire, &s);
}

/* How often CALL was made since the trace began. */
static unsigned traced(const char *call)
{
	const char *s = fv_trace_get();
	unsigned n = 0;

	for (; (s = strstr(s, call)); s++)
		n++;
	return n;
}

struct stats_job {
	const struct end *end;
	struct ucm_qp_stats stats;
	bool broken;
};

static void copy_stats(void *arg)
{
	struct stats_job *job = arg;

	job->stats = job->end->qp.stats;
	job->broken = job->end->qp.broken;
}

static struct ucm_qp_stats stats_of(struct end *e)
{
	struct stats_job job = {.end = e};

	on_loop(e, copy_stats, &job);
	return job.stats;
}

/* Waits until a queue pair that is broken, or was not reset N times, is. */
static void expect_resets(struct end *e, uint64_t n)
{
	struct timespec until = deadline();
	struct stats_job job = {.end = e};
	int err = 0, tries;

	for (;;) {
		pthread_mutex_lock(&lock);
		tries = reset_tries;
		pthread_mutex_unlock(&lock);
		/* A try that was counted has ended before this is run. */
		on_loop(e, copy_stats, &job);
		if (!job.broken && job.stats.resets >= n)
			return;
		pthread_mutex_lock(&lock);
		while (reset_tries == tries && !err)
			err = pthread_cond_timedwait(&cond, &lock, &until);
		pthread_mutex_unlock(&lock);
		assert_int_equal(err, 0);
	}
}

static enum fv_verdict count_packet(struct fv_ud_packet *pkt, void *arg)
{
	int *n = arg;

	(void)pkt;
	pthread_mutex_lock(&lock);
	++*n;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	return FV_DELIVER;
}

/* Holds a service thread. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static bool at_gate; /* lock */

static void wait_at_gate(void *arg)
{
	pthread_mutex_lock(&lock);
	at_gate = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

/* E's service thread looks at nothing from here on. */
static void hold(struct end *e, struct job *job)
{
	at_gate = false;
	pthread_mutex_lock(&gate);
	begin_on_loop(e, job, wait_at_gate, NULL);
	pthread_mutex_lock(&lock);
	await(at_gate);
	pthread_mutex_unlock(&lock);
}

static void let_go(struct job *job)
{
	pthread_mutex_unlock(&gate);
	finish_on_loop(job);
}

/* --------------------------------------------------- in quiet times */

T(ucm_qp_send__arrives, ib)
{
	static const size_t lengths[] = {DCM_HEADER, DCM_HEADER + 1, DCM_MSG};
	struct salvo s = {.n = 1};

	for (int i = 0; i < 3; i++) {
		s.first = (uint32_t)i;
		s.len = lengths[i];
		on_loop(&a, fire, &s);
		expect_n(&b, i + 1);
		assert_int_equal(b.len, lengths[i]);
		assert_int_equal(b.src.qpn, a.addr.qpn);
	}
	assert_true(b.in_order);
	assert_int_equal(stats_of(&a).sent, 3);
}

CASE_AGAIN(ucm_qp_send__arrives, ON_ROCE(ucm_qp_send__arrives))

/* What devices leave before a message, and what is made of it. */
CASE_OF(source__of_a_message, void *no_state, ON_ROCE(source__of_a_message))
{
	static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 10,
				       [13] = 0,    [14] = 2,	 [15] = 15};
	struct ibv_wc wc = {.src_qp = 0x11, .slid = 7};
	uint8_t grh[UCM_GRH];
	struct dcm_source src;

	memset(grh, 0x11, sizeof(grh));
	grh[0] = 0;
	ucm_source(&wc, grh, false, &src);
	assert_int_equal(src.qpn, 0x11);
	assert_int_equal(src.lid, 7);
	assert_false(src.has_gid);
	/* On Ethernet it means nothing. */
	ucm_source(&wc, grh, true, &src);
	assert_int_equal(src.lid, 0);
	assert_false(src.has_gid);
	wc.wc_flags = IBV_WC_GRH;
	grh[0] = 0x60;
	grh[20] = 0x45; /* of the GID */
	ucm_source(&wc, grh, false, &src);
	assert_int_equal(src.lid, 7);
	assert_true(src.has_gid);
	assert_memory_equal(src.gid, grh + 8, sizeof(src.gid));
	/* IPv4, and the bytes before it as they were: an old packet's. */
	grh[0] = 0;
	memcpy(grh + 32, v4 + 12, 4);
	ucm_source(&wc, grh, true, &src);
	assert_true(src.has_gid);
	assert_memory_equal(src.gid, v4, sizeof(v4));
	/* A header of no kind that is known. */
	grh[20] = 0;
	ucm_source(&wc, grh, true, &src);
	assert_false(src.has_gid);
}

T(send__many_times_the_ring, small)
{
	for (uint32_t i = 0; i < 100; i++) {
		send_n(i * 10, 10);
		expect_n(&b, (int)i * 10 + 10);
	}
	assert_true(b.in_order);
	assert_int_equal(stats_of(&a).dropped, 0);
}

T(open__as_the_historic_one, ib)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(
		ibv_query_qp(a.qp.verbs, &attr,
			     IBV_QP_STATE | IBV_QP_QKEY | IBV_QP_SQ_PSN, &init),
		0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.qkey, 0x78654321);
	assert_int_equal(attr.sq_psn, 1);
	assert_int_equal(a.qp.rx_depth, 4096);
	assert_int_equal(a.qp.tx_depth, 512);
}

/* ----------------------------------------------------------- credits */

/* What a round says is posted at its end, in lists of 16. */
T(send__a_round_at_once, ib)
{
	send_n(0, 1);
	expect_n(&b, 1);
	fv_trace(true);
	send_n(1, 40);
	expect_n(&b, 41);
	assert_int_equal(traced("ibv_post_send"), 3);
	fv_trace(false);
	assert_true(b.in_order);
	assert_int_equal(stats_of(&a).sent, 41);
}

T(credits__exhausted, small_sender)
{
	struct ucm_qp_stats stats;

	fv_pause(true);
	send_n(0, 40);
	stats = stats_of(&a);
	assert_int_equal(stats.sent, 16);
	assert_int_equal(stats.dropped, 0);
	assert_int_equal(a.qp.wait_n, 24);
	fv_pause(false);
	expect_n(&b, 40);
	assert_true(b.in_order);
	stats = stats_of(&a);
	assert_int_equal(stats.sent, 40);
	assert_int_equal(stats.queued, 24);
	send_n(40, 1);
	expect_n(&b, 41);
}

#define BURST 10000

/* The ring was full for a moment, while the service thread does not come round
 * to its events: what has ended makes room at once. */
static void burst(void *arg)
{
	size_t *ret_waited = arg;
	struct salvo full = {.n = 17, .len = DCM_HEADER};
	struct salvo rest = {.first = 17, .n = BURST - 17, .len = DCM_HEADER};

	fv_hold_sends(a.qp.verbs, true);
	fire(&full);
	*ret_waited = a.qp.wait_n;
	fv_hold_sends(a.qp.verbs, false);
	fire(&rest);
}

T(credits__come_back_in_a_burst, small_sender)
{
	struct ucm_qp_stats stats;
	size_t waited = 0;
	int packets = 0;

	fv_hook_ud(count_packet, &packets);
	on_loop(&a, burst, &waited);
	fv_hook_ud(NULL, NULL);
	stats = stats_of(&a);
	assert_int_equal(waited, 1);
	assert_int_equal(stats.dropped, 0);
	assert_int_equal(stats.sent, BURST);
	assert_int_equal(stats.queued, 1);
	assert_int_equal(packets, BURST);
}

/* Who waits is served when there is room though nothing more is sent. */
T(credits__come_back_in_a_lull, small_sender)
{
	fv_hold_sends(a.qp.verbs, true);
	send_n(0, 100);
	assert_int_equal(stats_of(&a).sent, 16);
	fv_hold_sends(a.qp.verbs, false);
	expect_n(&b, 100);
	assert_true(b.in_order);
}

/* So that a crowd does not overrun its receiver. */
static enum fv_verdict only_whole_messages(struct fv_ud_packet *pkt, void *arg)
{
	(void)arg;
	return pkt->len < DCM_MSG ? FV_DROP : FV_DELIVER;
}

/* Said once for each time that it happens. */
T(credits__no_room_to_wait, small_sender)
{
	fv_hook_ud(only_whole_messages, NULL);
	for (uint32_t round = 1; round <= 2; round++) {
		uint64_t dropped = stats_of(&a).dropped;

		fv_hold_sends(a.qp.verbs, true);
		send_n(0, 16 + 4096 + 10);
		/* Not each of those that have left is known to have ended. */
		assert_in_range(stats_of(&a).dropped - dropped, 10, 10 + 16);
		assert_int_equal(stats_of(&a).crowds, round);
		fv_hold_sends(a.qp.verbs, false);
		on_loop(&a, fire, &(struct salvo){.n = 1, .len = DCM_MSG});
		expect_len(&b, DCM_MSG);
		pthread_mutex_lock(&lock);
		b.len = 0;
		pthread_mutex_unlock(&lock);
	}
	fv_hook_ud(NULL, NULL);
}

/* The limit of the program is there for a close that does not give up. */
T(close__while_sends_hang, small)
{
	fv_pause(true);
	send_n(0, 100);
	ucm_qp_stop(&a.qp);
	fire(&(struct salvo){.first = 100, .n = 1, .len = DCM_HEADER});
	end_close(&a);
	fv_pause(false);
	end_open(&a, 16);
}

/* What is sent after stop() leaves before close() returns. */
T(close__after_the_last_words, small)
{
	send_n(0, 3);
	expect_n(&b, 3);
	ucm_qp_stop(&a.qp);
	fire(&(struct salvo){.first = 3, .n = 12, .len = DCM_HEADER});
	end_close(&a);
	expect_n(&b, 15);
	assert_true(b.in_order);
	end_open(&a, 16);
}

/* ---------------------------------------------------------- receiving */

T(receive__overflow, small)
{
	int packets = 0, depth;
	struct job job;

	hold(&b, &job);
	fv_hook_ud(count_packet, &packets);
	send_n(0, 100);
	/* The sender has to wait for room of its own. */
	pthread_mutex_lock(&lock);
	await(packets >= 100);
	pthread_mutex_unlock(&lock);
	fv_hook_ud(NULL, NULL);
	depth = fv_cq_depth(b.qp.recv_cq);
	let_go(&job);
	assert_int_equal(packets, 100);
	assert_int_equal(depth, 16);
	expect_n(&b, 16);
	/* No receive was lost with the messages. */
	for (int i = 0; i < 40; i++) {
		send_n(100 + (uint32_t)i, 1);
		expect_n(&b, 17 + i);
	}
}

/* What has come so far is no part of the rest. */
static void forget(struct end *e)
{
	pthread_mutex_lock(&lock);
	e->n = 0;
	e->next = 0;
	pthread_mutex_unlock(&lock);
}

static void nothing(void *arg)
{
	(void)arg;
}

/* N at once. */
static void burst_of(struct end *e, int n)
{
	struct job job;

	hold(e, &job);
	send_n(0, n);
	let_go(&job);
	expect_n(e, n);
	on_loop(e, nothing, NULL);
	forget(e);
}

struct rx_job {
	const struct end *end;
	uint32_t n;
	bool broken;
};

static void copy_rx(void *arg)
{
	struct rx_job *job = arg;

	job->n = job->end->qp.rx_n;
	job->broken = job->end->qp.broken;
}

static struct rx_job rx_of(struct end *e)
{
	struct rx_job job = {.end = e};

	on_loop(e, copy_rx, &job);
	return job;
}

/* One in eight of them without a break. */
T(receive__more_with_each_burst, ib)
{
	for (uint32_t i = 0; i < 70; i++) {
		send_n(i, 1);
		expect_n(&b, (int)i + 1);
	}
	forget(&b);
	burst_of(&b, 63);
	assert_int_equal(rx_of(&b).n, 512);
	burst_of(&b, 64);
	assert_int_equal(rx_of(&b).n, 1024);
	burst_of(&b, 127);
	assert_int_equal(rx_of(&b).n, 1024);
	burst_of(&b, 256);
	assert_int_equal(rx_of(&b).n, 4096);
	burst_of(&b, 512);
	assert_int_equal(rx_of(&b).n, 4096);
	/* The sender has not received any. */
	assert_int_equal(rx_of(&a).n, 512);
}

/* The last block is not as large as those before, then. */
static int no_power_of_two(void **state)
{
	return setup(FV_IB, -1, 3000);
}

/* From the beginning. */
T(receive__as_many_as_were_asked_for, no_power_of_two)
{
	struct job job;

	assert_int_equal(rx_of(&b).n, 3000);
	hold(&b, &job);
	for (uint32_t i = 0; i < 3000; i += 500)
		send_n(i, 500);
	let_go(&job);
	expect_n(&b, 3000);
	assert_true(b.in_order);
	assert_int_equal(stats_of(&a).dropped, 0);
}

T(receive__no_memory_for_a_burst, ib)
{
	fv_fail_call("ibv_reg_mr", 1, ENOMEM);
	burst_of(&b, ONE_BATCH);
	assert_true(fv_fail_hit());
	/* It is not tried again, and all works. */
	burst_of(&b, ONE_BATCH);
	assert_int_equal(rx_of(&b).n, 512);
	assert_false(rx_of(&b).broken);
}

T(receive__others_get_their_turn, ib)
{
	struct job job;

	/* Then there are receives for all of them. */
	burst_of(&b, ONE_BATCH);
	hold(&b, &job);
	send_n(0, 500);
	send_n(500, 500);
	let_go(&job);
	expect_n(&b, 1000);
	assert_true(b.in_order);
	assert_in_range(b.n_at_turn, 1, ONE_ROUND);
}

static enum fv_verdict lengthen(struct fv_ud_packet *pkt, void *arg)
{
	static const uint32_t lengths[] = {0, 3, 217, 1024, 4096};
	int *n = arg;

	if (*n < 5)
		pkt->len = lengths[(*n)++];
	return FV_DELIVER;
}

T(receive__any_length, ib)
{
	int n = 0;

	fv_hook_ud(lengthen, &n);
	for (uint32_t i = 0; i < 5; i++)
		send_n(i, 1);
	expect_n(&b, 5);
	assert_int_equal(n, 5);
	send_n(5, 1);
	expect_len(&b, DCM_HEADER);
	assert_int_equal(stats_of(&b).resets, 0);
}

/* ------------------------------------------------- failure and reset */

static void all_works(void)
{
	int have;

	pthread_mutex_lock(&lock);
	have = b.n;
	pthread_mutex_unlock(&lock);
	for (int i = 1; i <= 40; i++) {
		send_n(1000 + (uint32_t)i, 1);
		expect_n(&b, have + i);
	}
}

T(fail__receiver, small)
{
	send_n(0, 1);
	expect_n(&b, 1);
	fv_qp_error(b.qp.verbs);
	expect_resets(&b, 1);
	assert_int_equal(b.qp.verbs->qp_num, b.addr.qpn);
	all_works();
}

/* What is flushed comes as a burst, too, and is none. */
T(fail__flushed_receives_are_no_burst, ib)
{
	struct job job;

	send_n(0, 1);
	expect_n(&b, 1);
	hold(&b, &job);
	fv_qp_error(b.qp.verbs);
	let_go(&job);
	expect_resets(&b, 1);
	assert_int_equal(rx_of(&b).n, 512);
	all_works();
}

T(fail__sender_with_sends_under_way, small)
{
	fv_pause(true);
	send_n(0, 40);
	fv_qp_error(a.qp.verbs);
	fv_pause(false);
	expect_resets(&a, 1);
	assert_int_equal(stats_of(&a).dropped, 24);
	all_works();
}

T(fail__post_of_several, small)
{
	fv_fail_call("ibv_post_send", 1, EINVAL);
	send_n(0, 10);
	expect_resets(&a, 1);
	assert_int_equal(stats_of(&a).sent, 0);
	assert_int_equal(stats_of(&a).dropped, 10);
	all_works();
}

/* Requests are flushed, receives are not: the next message finds it out. */
T(fail__one_send_of_several, small_sqe)
{
	fv_hold_sends(a.qp.verbs, true);
	send_n(0, 4);
	fv_request_fails(a.qp.verbs, IBV_WC_LOC_QP_OP_ERR);
	fv_hold_sends(a.qp.verbs, false);
	assert_int_equal(fv_qp_state(a.qp.verbs), IBV_QPS_SQE);
	send_n(4, 1);
	expect_resets(&a, 1);
	all_works();
}

T(fail__each_call_of_a_message, small)
{
	struct salvo last = {.n = 1, .len = DCM_MSG};

	for (unsigned n = 1;; n++) {
		bool hit;

		assert_in_range(n, 1, 30);
		fv_fail_at(n, EIO);
		send_n(0, 1);
		on_loop(&b, wait_at_gate, NULL);
		on_loop(&b, wait_at_gate, NULL);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		if (!hit)
			break;
	}
	/* Whatever failed is over after a pause at most. */
	expect_resets(&a, 0);
	expect_resets(&b, 0);
	on_loop(&a, fire, &last);
	expect_len(&b, DCM_MSG);
	all_works();
}

T(fail__reset_fails_too, small)
{
	fv_fail_call("ibv_modify_qp", 1, EIO);
	fv_qp_error(b.qp.verbs);
	expect_resets(&b, 1);
	assert_true(fv_fail_hit());
	all_works();
}

/* ------------------------------------------------------------- depth */

BARE(open__shallow_device)
{
	struct fv_device_cfg cfg;

	fv_reset();
	fv_device_cfg_init(&cfg, FV_IB, "fake0", "10.0.0.1");
	cfg.attr.max_qp_wr = 100;
	fv_device_add(&cfg);
	end_open(&a, -1);
	assert_int_equal(a.qp.rx_depth, 100);
	assert_int_equal(a.qp.tx_depth, 100);
	end_close(&a);
}

BARE(open__little_memory_to_lock)
{
	struct ucm_qp_cfg cfg;

	end_prepare(&a, &cfg);
	fv_fail_call("ibv_reg_mr", 1, ENOMEM);
	assert_int_equal(ucm_qp_open(&a.qp, &cfg), 0);
	assert_true(fv_fail_hit());
	assert_int_equal(a.qp.rx_depth, 2048);
	end_close(&a);
}

BARE(ucm_qp_open__nth_failure)
{
	struct ucm_qp_cfg cfg;
	bool hit = true;

	for (unsigned n = 1; hit; n++) {
		int ret;

		assert_in_range(n, 1, 100);
		end_prepare(&a, &cfg);
		a.params.qp_size = 16;
		fv_fail_at(n, EIO);
		ret = ucm_qp_open(&a.qp, &cfg);
		if (!ret)
			ret = ucm_qp_start(&a.qp);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		/* Some calls are made again with another size. */
		assert_true(hit || !ret);
		if (a.qp.verbs)
			ucm_qp_close(&a.qp);
		end_release(&a);
		assert_int_equal(fv_live(), 0);
	}
}

/* --------------------------------------------------- address handles */

static unsigned made(void)
{
	return traced("ibv_create_ah");
}

static struct dcm_peer peer_n(uint16_t n)
{
	struct dcm_peer peer = b.addr;

	peer.lid = n;
	return peer;
}

/* A cache of its own for MAX ways, on the loop of A. */
static struct ucm_ah_cache cache;

static void cache_open(size_t max)
{
	ucm_ah_cache_init(&cache, &a.path, a.qp.pd, a.loop, max);
}

static void cache_close(void)
{
	ucm_ah_cache_stop(&cache);
	ucm_ah_cache_fini(&cache);
}

static struct ucm_way *way_n(uint16_t n)
{
	struct dcm_peer peer = peer_n(n);

	return ucm_ah_way(&cache, &peer, false);
}

static struct ucm_ah *hold_n(uint16_t n)
{
	struct ucm_way *way = way_n(n);

	assert_non_null(way);
	assert_non_null(way->ah);
	return ucm_ah_hold(way);
}

static void touch_n(uint16_t n)
{
	ucm_ah_put(hold_n(n));
}

T(ah__kept_while_there_is_room, ib)
{
	unsigned live = fv_live();

	cache_open(40);
	fv_trace(true);
	for (int round = 0; round < 5; round++)
		for (uint16_t n = 1; n <= 40; n++)
			touch_n(n);
	assert_int_equal(made(), 40);
	fv_trace(false);
	assert_int_equal(fv_live(), live + 40);
	cache_close();
	assert_int_equal(fv_live(), live);
}

/* One after the other, each would drive out the next to be wanted. */
T(ah__more_peers_in_turn_than_room, ib)
{
	unsigned live = fv_live();

	cache_open(100);
	fv_trace(true);
	for (int round = 0; round < 20; round++)
		for (uint16_t n = 1; n <= 120; n++)
			touch_n(n);
	print_message("# %u handles for %u messages\n", made(), 20 * 120);
	assert_in_range(made(), 120, 20 * 120 / 2);
	fv_trace(false);
	assert_int_equal(fv_live(), live + 100);
	cache_close();
}

/* Who is talked to now takes the place of who was. */
T(ah__other_peers_later, ib)
{
	unsigned before;

	cache_open(100);
	for (uint16_t n = 1; n <= 100; n++)
		touch_n(n);
	fv_trace(true);
	for (int round = 0; round < 40; round++)
		for (uint16_t n = 201; n <= 300; n++)
			touch_n(n);
	before = made();
	for (uint16_t n = 201; n <= 300; n++)
		touch_n(n);
	assert_in_range(made() - before, 0, 10);
	fv_trace(false);
	cache_close();
}

T(ah__held_ones_stay, ib)
{
	struct ucm_ah *held[10];
	unsigned live = fv_live();

	cache_open(4);
	for (uint16_t n = 1; n <= 10; n++)
		held[n - 1] = hold_n(n);
	assert_int_equal(fv_live(), live + 10);
	for (int i = 0; i < 10; i++)
		ucm_ah_put(held[i]);
	assert_int_equal(fv_live(), live + 4);
	cache_close();
	assert_int_equal(fv_live(), live);
}

/* A send for which there is no way is dropped, and nothing else is. */
T(ah__cannot_be_made_for_a_send, ib)
{
	fv_fail_call("ibv_create_ah", 1, EINVAL);
	send_n(0, 2);
	expect_n(&b, 1);
	assert_int_equal(stats_of(&a).dropped, 1);
	assert_int_equal(stats_of(&a).sent, 1);
}

/* ------------------------------- hardware addresses are looked for */

static int lookups; /* atomic */
static int answer;  /* of the hook */

static int on_lookup(enum fv_lookup why, const union ibv_gid *gid, void *arg)
{
	__atomic_add_fetch(&lookups, 1, __ATOMIC_ACQ_REL);
	return gid->raw[15] >= 200 ? answer : 0;
}

static void look(int what)
{
	lookups = 0;
	answer = what;
	fv_hook_lookup(on_lookup, NULL);
}

/* Of an address that nobody has; 200 and above. */
static struct dcm_peer peer_at(uint8_t last)
{
	struct dcm_peer peer = b.addr;

	peer.gid[15] = last;
	return peer;
}

struct word {
	struct dcm_peer to;
	unsigned how;
	int n;
};

static void say(void *arg)
{
	const struct word *word = arg;
	uint8_t msg[DCM_MSG] = {0};

	for (int i = 0; i < word->n; i++)
		ucm_qp_send(&a.qp, &word->to, msg, DCM_HEADER, 0, word->how);
}

static void say_to(struct dcm_peer to, unsigned how, int n)
{
	struct word word = {.to = to, .how = how, .n = n};

	on_loop(&a, say, &word);
}

static void until_hanging(unsigned n)
{
	while (fv_lookups_hanging() != n)
		sched_yield();
}

/* Others are sent to meanwhile; what waits is sent in its order. */
T(lookup__hangs_for_one_peer, roce)
{
	look(FV_LOOKUP_HANGS);
	say_to(peer_at(200), 0, 3);
	until_hanging(1);
	send_n(0, 5);
	expect_n(&b, 5);
	assert_int_equal(stats_of(&a).sent, 5);
	fv_lookups_end(0);
	while (stats_of(&a).sent != 8)
		sched_yield();
	assert_int_equal(lookups, 2);
}

static void *stops(void *arg)
{
	ucm_qp_stop(arg);
	return NULL;
}

/* What waited for its way is said once, by the loop or by who stops it. */
T(stop__as_a_way_is_found, roce)
{
	pthread_t thread;

	look(FV_LOOKUP_HANGS);
	say_to(peer_at(200), 0, 3);
	until_hanging(1);
	look(0);
	assert_int_equal(pthread_create(&thread, NULL, stops, &a.qp), 0);
	fv_lookups_end(0);
	pthread_join(thread, NULL);
	assert_int_equal(a.qp.batch_n, 0);
	assert_int_equal(a.qp.stats.sent, 3);
	assert_int_equal(a.qp.tx_posted, 3);
}

/* What the service thread says while stop() waits for it, or just before. */
static bool says_meanwhile;
static struct job meanwhile;

void __real_ucm_ah_cache_stop(struct ucm_ah_cache *c);
void __wrap_ucm_ah_cache_stop(struct ucm_ah_cache *c);
void __wrap_ucm_ah_cache_stop(struct ucm_ah_cache *c)
{
	struct salvo s = {.n = 3, .len = DCM_HEADER};

	__real_ucm_ah_cache_stop(c);
	if (!says_meanwhile)
		return;
	says_meanwhile = false;
	hold(&a, &meanwhile);
	fire(&s);
}

/* Who stops it posts that; the end of the round would do so once more. */
T(stop__something_said_meanwhile, ib)
{
	bool comes;

	says_meanwhile = true;
	ucm_qp_stop(&a.qp);
	comes = a.qp.round_end.queued;
	let_go(&meanwhile);
	assert_false(comes);
	assert_int_equal(a.qp.stats.sent, 3);
	expect_n(&b, 3);
}

/* The round's end does not come any more: it is posted, and waited for. */
T(stop__in_the_middle_of_a_round, ib)
{
	struct salvo s = {.n = 3, .len = DCM_HEADER};
	struct job job;

	hold(&a, &job);
	fire(&s);
	dapl_work_cancel(a.loop, &a.qp.round_end);
	let_go(&job);
	ucm_qp_stop(&a.qp);
	assert_int_equal(a.qp.stats.sent, 3);
	assert_int_equal(a.qp.tx_asked, 3);
	expect_n(&b, 3);
	assert_true(b.in_order);
}

static void gids_move(void *arg)
{
	ucm_ah_forget(&a.qp.ahs);
}

/* Our own GIDs have moved: no handle from before is used. */
T(lookup__anew_from_another_gid, roce)
{
	look(0);
	send_n(0, 1);
	send_n(1, 1);
	expect_n(&b, 2);
	assert_int_equal(lookups, 1);
	on_loop(&a, gids_move, NULL);
	send_n(2, 1);
	expect_n(&b, 3);
	assert_int_equal(lookups, 2);
	/* Nor one that was just being made. */
	look(FV_LOOKUP_HANGS);
	say_to(peer_at(200), 0, 3);
	until_hanging(1);
	on_loop(&a, gids_move, NULL);
	answer = 0;
	fv_lookups_end(0);
	while (stats_of(&a).sent != 6)
		sched_yield();
	assert_int_equal(lookups, 2);
}

/* One search for all that is said to somebody who is not there. */
T(lookup__failure_is_remembered, roce)
{
	look(ETIMEDOUT);
	say_to(peer_at(200), 0, 3);
	while (stats_of(&a).dropped != 3)
		sched_yield();
	say_to(peer_at(200), 0, 20);
	assert_int_equal(stats_of(&a).dropped, 23);
	assert_int_equal(lookups, 1);
}

/* Not more at a time than leave helpers for others, and few for strangers. */
T(lookup__strangers_share, roce)
{
	look(FV_LOOKUP_HANGS);
	for (uint8_t i = 0; i < 20; i++)
		say_to(peer_at(200 + i), UCM_STRANGER, 5);
	until_hanging(2);
	assert_int_equal(stats_of(&a).dropped, 18 * 5 + 2);
	send_n(0, 5);
	expect_n(&b, 5);
	fv_lookups_end(ETIMEDOUT);
	while (stats_of(&a).dropped != 20 * 5)
		sched_yield();
}

T(lookup__few_at_a_time, roce)
{
	look(FV_LOOKUP_HANGS);
	for (uint8_t i = 0; i < 20; i++)
		say_to(peer_at(200 + i), 0, 1);
	until_hanging(DAPL_JOBS_HELPERS / 2);
	while (stats_of(&a).dropped != 20) {
		fv_lookups_end(ETIMEDOUT);
		sched_yield();
	}
	assert_int_equal(lookups, 20);
}

/* Nothing is left behind, and nobody waits longer than the kernel. */
T(lookup__hangs_at_the_end, roce)
{
	look(FV_LOOKUP_HANGS);
	say_to(peer_at(200), 0, 3);
	say_to(peer_at(201), 0, 3);
	until_hanging(2);
	answer = 0;
	fv_lookups_end(0);
	/* Each job said for whom it was. */
	for (int i = 0; i < 2; i++)
		assert_memory_equal(&a.qp.ahs.jobs[i].job.peer,
				    &a.qp.ahs.jobs[i].attr.grh.dgid, 16);
	assert_memory_not_equal(&a.qp.ahs.jobs[0].job.peer,
				&a.qp.ahs.jobs[1].job.peer, 16);
	/* The teardown closes. */
}

static void doubt(void *arg)
{
	struct ucm_way *way = ucm_ah_way(&a.qp.ahs, arg, false);

	way->made_us = 0; /* long ago */
}

/* Unanswered: the peer's hardware address may be another one. */
T(lookup__once_more_when_unanswered, roce)
{
	look(0);
	send_n(0, 1);
	expect_n(&b, 1);
	say_to(b.addr, UCM_UNANSWERED, 3);
	assert_int_equal(lookups, 1); /* it was made just now */
	on_loop(&a, doubt, &b.addr);
	say_to(b.addr, 0, 3);
	assert_int_equal(lookups, 1);
	say_to(b.addr, UCM_UNANSWERED, 3);
	while (__atomic_load_n(&lookups, __ATOMIC_ACQUIRE) != 2)
		sched_yield();
	expect_n(&b, 10);
}

RUN_CASES(NULL, NULL)
