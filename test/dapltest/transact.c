/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * transact.c - the transaction test: objects, connections, synchronisation.
 *
 * The iterations themselves are in iterate.c.
 * Threads: a thread touches only its own ends; `lock` is the exception.
 * Ownership: see transact.h.
 * Rule: per endpoint, as soon as it is connected, both sides exchange the
 * addresses of their buffers, the client first (iWARP wants that too). Then
 * the server's threads say that they are there, and the client's answer only
 * when all of them have heard of theirs.
 */
#include "test/dapltest/transact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLACE_SIZE   1280 /* of one place in the control memory */
#define RECEIVES     (DPT_TX_PLACE_N / 2)
#define REQUESTS     4
#define SAMPLES_MAX  1000000u
#define CONTROL_BASE (1u << 31) /* of the cookies of control messages */

static bool rdma_target(const struct dpt_tx *tx, const struct dpt_op *op)
{
	return op->type != DPT_OP_SEND && op->server != tx->server;
}

static uint64_t memory_needed(const struct dpt_transaction *cmd)
{
	uint64_t bytes = PLACE_SIZE * DPT_TX_PLACE_N;

	for (uint32_t i = 0; i < cmd->op_count; i++)
		bytes += dpt_stride(&cmd->ops[i]) * cmd->ops[i].segs;
	return bytes * cmd->threads * cmd->eps;
}

bool dpt_tx_fits(const struct dpt *d, const struct dpt_transaction *cmd,
		 char *why, size_t why_size)
{
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			(uint64_t)sysconf(_SC_PAGESIZE) / 2;
	uint32_t ends = cmd->threads * cmd->eps;

	for (uint32_t i = 0; i < cmd->op_count; i++)
		if (!dpt_op_fits(d, &cmd->ops[i], why, why_size))
			return false;
	why[0] = 0;
	if (cmd->ud && !d->has_ud)
		snprintf(why, why_size,
			 "the adapter has no datagram endpoints; iWARP's never "
			 "have");
	else if (cmd->ud && dpt_ops_have_rdma(cmd->ops, cmd->op_count))
		snprintf(why, why_size, "datagrams have no RDMA");
	else if (d->attr.max_eps > 0 && ends + 1 > (uint32_t)d->attr.max_eps)
		snprintf(why, why_size,
			 "%u endpoints: the adapter has at most %d", ends,
			 d->attr.max_eps);
	else if (d->attr.max_dto_per_ep > 0 &&
		 2 * cmd->op_count + REQUESTS >
			 (uint32_t)d->attr.max_dto_per_ep)
		snprintf(
			why, why_size,
			"%u operations: the adapter queues at most %d requests",
			cmd->op_count, d->attr.max_dto_per_ep);
	else if (memory_needed(cmd) > half)
		snprintf(why, why_size,
			 "%llu MiB of buffers are more than half of this "
			 "machine's memory",
			 (unsigned long long)(memory_needed(cmd) >> 20));
	return !why[0];
}

static struct dpt_end_needs needs_of(const struct dpt_tx *tx, const char *name)
{
	struct dpt_end_needs needs = {
		.name = name,
		.receives = tx->cmd.op_count + RECEIVES,
		/* An RMR is bound by a request. */
		.requests = 2 * tx->cmd.op_count + REQUESTS,
		.segs = 1,
		/* Addresses are RDMA's. */
		.bytes = tx->cmd.ud ? DPT_SYNC_SIZE : PLACE_SIZE,
		.ud = tx->cmd.ud,
		.mode = tx->cmd.poll ? DT_WAIT_POLL : DT_WAIT_EVENT,
	};

	for (uint32_t i = 0; i < tx->cmd.op_count; i++) {
		const struct dpt_op *op = &tx->cmd.ops[i];

		needs.bulk += (uint64_t)dpt_op_bytes(op) * tx->cmd.eps *
			      tx->cmd.threads;
		if (op->segs > needs.segs)
			needs.segs = op->segs;
		if (dpt_op_bytes(op) > needs.bytes)
			needs.bytes = dpt_op_bytes(op);
	}
	return needs;
}

int dpt_tx_post_control(struct dpt_tx_thread *t, struct dpt_tx_end *e,
			enum dpt_tx_place place, size_t length)
{
	DAT_LMR_TRIPLET iov =
		dpt_segment(&e->control, (size_t)place * PLACE_SIZE, length);

	return dpt_end_post_recv(t->tx->d, &e->end, &iov, 1,
				 CONTROL_BASE | place);
}

static int send_control(struct dpt_tx_thread *t, struct dpt_tx_end *e,
			enum dpt_tx_place place, size_t length,
			const char *what)
{
	return dpt_end_send(t->tx->d, &e->end, &e->control,
			    (size_t)place * PLACE_SIZE, length,
			    CONTROL_BASE | place, what);
}

static int take_control(struct dpt_tx_thread *t, struct dpt_tx_end *e,
			enum dpt_tx_place place, size_t length,
			const char *what)
{
	return dpt_end_reap(t->tx->d, &e->end, e->end.rcv_evd,
			    CONTROL_BASE | place, length, what);
}

static int open_end(struct dpt_tx_thread *t, uint32_t index)
{
	struct dpt_tx *tx = t->tx;
	struct dpt_tx_end *e = &t->ends[index];
	struct dpt_end_needs needs;
	char name[40];
	int rc;

	snprintf(name, sizeof(name), "thread %u, endpoint %u", t->index, index);
	needs = needs_of(tx, name);
	e->ops = calloc(tx->cmd.op_count, sizeof(*e->ops));
	if (!e->ops)
		return dt_fail(&tx->d->r, DT_ENVIRONMENT, "no memory");
	rc = dpt_end_open(tx->d, t->pz, &needs, &e->end);
	if (!rc)
		rc = dpt_region_make(tx->d, t->pz, PLACE_SIZE * DPT_TX_PLACE_N,
				     &e->control);
	for (uint32_t i = 0; !rc && i < tx->cmd.op_count; i++) {
		const struct dpt_op *op = &tx->cmd.ops[i];

		rc = dpt_region_make(tx->d, t->pz, dpt_stride(op) * op->segs,
				     &e->ops[i].mem);
	}
	if (!rc && !tx->cmd.ud)
		rc = dpt_tx_post_control(t, e, DPT_TX_RMI_IN, DPT_RMI_SIZE);
	if (!rc)
		rc = dpt_tx_post_control(t, e, DPT_TX_SYNC_IN, DPT_SYNC_SIZE);
	return rc;
}

static int open_thread(struct dpt_tx_thread *t)
{
	const struct dpt_transaction *cmd = &t->tx->cmd;
	uint32_t room =
		cmd->iterations < SAMPLES_MAX ? cmd->iterations : SAMPLES_MAX;
	int rc;

	t->ends = calloc(cmd->eps, sizeof(*t->ends));
	if (!t->ends || (!t->tx->server && dt_samples_init(&t->samples, room)))
		return dt_fail(&t->tx->d->r, DT_ENVIRONMENT, "no memory");
	rc = dpt_pz_make(t->tx->d, &t->pz);
	for (uint32_t i = 0; !rc && i < cmd->eps; i++)
		rc = open_end(t, i);
	return rc;
}

int dpt_tx_open(struct dpt_tx *tx)
{
	pthread_condattr_t attr;
	int rc = 0;

	pthread_mutex_init(&tx->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&tx->change, &attr);
	pthread_condattr_destroy(&attr);
	tx->threads = calloc(tx->cmd.threads, sizeof(*tx->threads));
	if (!tx->threads)
		return dt_fail(&tx->d->r, DT_ENVIRONMENT, "no memory");
	for (uint32_t i = 0; !rc && i < tx->cmd.threads; i++) {
		tx->threads[i].tx = tx;
		tx->threads[i].index = i;
		rc = open_thread(&tx->threads[i]);
	}
	if (!rc && tx->rmr && !tx->cmd.ud)
		tx->rmr = dpt_rmr_works(tx->d, tx->threads[0].pz);
	return rc;
}

static uint32_t qual_of(const struct dpt_tx_thread *t, uint32_t end)
{
	return t->tx->qual + t->index * t->tx->cmd.eps + end;
}

static void unlisten(struct dpt_tx *tx)
{
	for (uint32_t i = 0; i < tx->cmd.threads; i++) {
		for (uint32_t j = 0; j < tx->cmd.eps; j++) {
			struct dpt_end *e = &tx->threads[i].ends[j].end;

			if (e->psp != DAT_HANDLE_NULL)
				dat_psp_free(e->psp);
			if (e->rsp != DAT_HANDLE_NULL)
				dat_rsp_free(e->rsp);
			e->psp = e->rsp = DAT_HANDLE_NULL;
		}
	}
}

int dpt_tx_listen(struct dpt_tx *tx)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < tx->cmd.threads; i++) {
		struct dpt_tx_thread *t = &tx->threads[i];

		for (uint32_t j = 0; !rc && j < tx->cmd.eps; j++)
			rc = dpt_end_listen(tx->d, &t->ends[j].end,
					    qual_of(t, j), tx->cmd.rsp);
	}
	if (rc == -EADDRINUSE)
		unlisten(tx);
	return rc;
}

/* What the peer needs to reach a buffer: an RMR, or else the LMR itself. */
static int expose(struct dpt_tx_thread *t, struct dpt_tx_end *e, uint32_t index)
{
	struct dpt_tx *tx = t->tx;
	struct dpt_tx_op *o = &e->ops[index];

	o->context = o->mem.rmr_context;
	if (!tx->rmr)
		return 0;
	return dpt_end_bind(tx->d, &e->end, t->pz, &o->mem,
			    tx->cmd.ops[index].type == DPT_OP_READ
				    ? DAT_MEM_PRIV_REMOTE_READ_FLAG
				    : DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			    &o->rmr, &o->context);
}

static int put_addresses(struct dpt_tx_thread *t, struct dpt_tx_end *e)
{
	uint8_t *msg = e->control.base + DPT_TX_RMI_OUT * PLACE_SIZE;
	int rc = 0;

	memset(msg, 0, DPT_RMI_SIZE);
	for (uint32_t i = 0; !rc && i < t->tx->cmd.op_count; i++) {
		struct dpt_tx_op *o = &e->ops[i];

		if (!rdma_target(t->tx, &t->tx->cmd.ops[i]))
			continue;
		rc = expose(t, e, i);
		dpt_put_address(msg + i * DPT_PERF_SIZE, o->context,
				(uintptr_t)o->mem.base);
		if (t->tx->d->o->debug >= 3)
			dt_trace(&t->tx->d->r,
				 "%d: %s, operation %u: context 0x%x, "
				 "address %p\n",
				 t->tx->d->r.pid, e->end.name, i, o->context,
				 (void *)o->mem.base);
	}
	return rc;
}

static int get_addresses(struct dpt_tx_thread *t, struct dpt_tx_end *e)
{
	const uint8_t *msg = e->control.base + DPT_TX_RMI_IN * PLACE_SIZE;

	for (uint32_t i = 0; i < t->tx->cmd.op_count; i++) {
		const struct dpt_op *op = &t->tx->cmd.ops[i];
		DAT_RMR_TRIPLET *to = &e->ops[i].remote;

		if (op->type == DPT_OP_SEND || op->server != t->tx->server)
			continue;
		memset(to, 0, sizeof(*to));
		dpt_get_address(msg + i * DPT_PERF_SIZE, &to->rmr_context,
				&to->face_remote_address);
		to->segment_length = dpt_op_bytes(op);
		if (!to->face_remote_address)
			return dt_fail(&t->tx->d->r, DT_MISMATCH,
				       "%s: the peer gave no address for "
				       "operation %u",
				       e->end.name, i);
	}
	return 0;
}

/* The client speaks first; a historic peer relies on the order. */
static int exchange_addresses(struct dpt_tx_thread *t, struct dpt_tx_end *e)
{
	int rc = put_addresses(t, e);

	if (!rc && !t->tx->server)
		rc = send_control(t, e, DPT_TX_RMI_OUT, DPT_RMI_SIZE,
				  "the addresses");
	if (!rc)
		rc = take_control(t, e, DPT_TX_RMI_IN, DPT_RMI_SIZE,
				  "the peer's addresses");
	if (!rc && t->tx->server)
		rc = send_control(t, e, DPT_TX_RMI_OUT, DPT_RMI_SIZE,
				  "the addresses");
	return rc ? rc : get_addresses(t, e);
}

static int connect_end(struct dpt_tx_thread *t, uint32_t index)
{
	struct dpt_tx_end *e = &t->ends[index];
	struct dpt *d = t->tx->d;
	int rc;

	if (t->tx->server)
		rc = dpt_end_accept(d, &e->end, DPT_SLOGAN, DPT_SLOGAN_SIZE);
	else
		rc = dpt_end_connect(d, &e->end, qual_of(t, index), DPT_SLOGAN,
				     DPT_SLOGAN_SIZE);
	if (rc == -ECONNREFUSED)
		rc = dt_fail(&d->r, DT_MISMATCH,
			     "%s: the server rejected the connection",
			     e->end.name);
	return rc || t->tx->cmd.ud ? rc : exchange_addresses(t, e);
}

static int for_all_ends(struct dpt_tx_thread *t, bool send,
			enum dpt_tx_place place, const char *what)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < t->tx->cmd.eps; i++)
		rc = send ? send_control(t, &t->ends[i], place, DPT_SYNC_SIZE,
					 what)
			  : take_control(t, &t->ends[i], place, DPT_SYNC_SIZE,
					 what);
	return rc;
}

static void deadline_of(uint64_t limit_ns, struct timespec *ts)
{
	clock_gettime(CLOCK_MONOTONIC, ts);
	limit_ns += (uint64_t)ts->tv_nsec;
	ts->tv_sec += (time_t)(limit_ns / DT_NS_PER_S);
	ts->tv_nsec = (long)(limit_ns % DT_NS_PER_S);
}

/* Until every thread is here, one failed, or the time is up. */
static int meet(struct dpt_tx_thread *t)
{
	struct dpt_tx *tx = t->tx;
	struct timespec until;
	int rc = 0;

	deadline_of(tx->d->limit_ns, &until);
	pthread_mutex_lock(&tx->lock);
	tx->there++;
	pthread_cond_broadcast(&tx->change);
	while (!rc && tx->there < tx->cmd.threads && !tx->failed)
		rc = pthread_cond_timedwait(&tx->change, &tx->lock, &until);
	pthread_mutex_unlock(&tx->lock);
	if (rc)
		return dt_fail(&tx->d->r, DT_TIMED_OUT,
			       "thread %u: the other threads did not get ready "
			       "in time",
			       t->index);
	return tx->failed ? DT_FAILED : 0;
}

static void give_up(struct dpt_tx *tx)
{
	pthread_mutex_lock(&tx->lock);
	tx->failed = true;
	pthread_cond_broadcast(&tx->change);
	pthread_mutex_unlock(&tx->lock);
}

static int first_sync(struct dpt_tx_thread *t)
{
	int rc = dpt_tx_prepare(t);

	if (rc)
		return rc;
	if (t->tx->server) {
		rc = for_all_ends(t, true, DPT_TX_SYNC_OUT, "ready");
		return rc ? rc
			  : for_all_ends(t, false, DPT_TX_SYNC_IN,
					 "the client's start");
	}
	rc = for_all_ends(t, false, DPT_TX_SYNC_IN, "the server's ready");
	if (!rc)
		rc = meet(t);
	t->ns = dt_now_ns();
	return rc ? rc : for_all_ends(t, true, DPT_TX_SYNC_OUT, "start");
}

/* What is sent last may arrive, and the peer leave, before it completes here.
 */
static int send_ends(struct dpt_tx_thread *t)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < t->tx->cmd.eps; i++) {
		struct dpt_tx_end *e = &t->ends[i];

		rc = dpt_end_send_last(
			t->tx->d, &e->end, &e->control,
			DPT_TX_FINAL_OUT * PLACE_SIZE, DPT_SYNC_SIZE,
			CONTROL_BASE | DPT_TX_FINAL_OUT, "the end");
	}
	return rc;
}

/* That the client came so far its own end shows. */
static int last_sync(struct dpt_tx_thread *t)
{
	int rc;

	if (t->tx->server) {
		rc = send_ends(t);
		return rc ? rc
			  : for_all_ends(t, false, DPT_TX_FINAL_IN,
					 "the client's end");
	}
	rc = for_all_ends(t, false, DPT_TX_FINAL_IN, "the server's end");
	return rc ? rc : send_ends(t);
}

static int run_thread(struct dpt_tx_thread *t)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < t->tx->cmd.eps; i++)
		rc = connect_end(t, i);
	if (!rc)
		rc = first_sync(t);
	if (!rc)
		rc = dpt_tx_iterate(t);
	if (!rc && t->tx->final)
		rc = last_sync(t);
	t->ns = dt_now_ns() - t->ns;
	if (!rc)
		rc = dpt_tx_check_end(t);
	return rc;
}

/*
 * Who leaves first ends what the other has under way. Without synchronisation
 * at the end that is who starts the last operation, and has seen it complete.
 */
static bool peer_leaves_first(const struct dpt_tx *tx)
{
	if (tx->final)
		return tx->server;
	return tx->cmd.ops[tx->cmd.op_count - 1].server != tx->server;
}

static void *thread_main(void *arg)
{
	struct dpt_tx_thread *t = arg;
	bool peer_first = peer_leaves_first(t->tx);

	t->rc = run_thread(t);
	if (t->rc)
		give_up(t->tx);
	for (uint32_t i = 0; i < t->tx->cmd.eps; i++) {
		int rc = dpt_end_part(t->tx->d, &t->ends[i].end,
				      DAT_CLOSE_ABRUPT_FLAG,
				      peer_first && !t->rc);

		if (!t->rc)
			t->rc = rc;
	}
	pthread_mutex_lock(&t->tx->lock);
	t->ended = true;
	pthread_cond_broadcast(&t->tx->change);
	pthread_mutex_unlock(&t->tx->lock);
	return NULL;
}

static int start_thread(struct dpt_tx_thread *t)
{
	int rc = pthread_create(&t->thread, NULL, thread_main, t);

	if (rc)
		return dt_fail(&t->tx->d->r, DT_ENVIRONMENT,
			       "thread %u cannot be started: %s", t->index,
			       strerror(rc));
	t->started = true;
	return 0;
}

static void show_progress(struct dpt_tx *tx)
{
	uint64_t done = 0;

	for (uint32_t i = 0; i < tx->cmd.threads; i++)
		done += tx->threads[i].done;
	dt_progress(&tx->d->r, "%llu of %llu iterations",
		    (unsigned long long)done,
		    (unsigned long long)tx->cmd.iterations * tx->cmd.threads);
}

/* Until a thread is through; each of its waits has a limit, and so has this. */
static void watch(struct dpt_tx *tx, struct dpt_tx_thread *t)
{
	struct timespec until;

	pthread_mutex_lock(&tx->lock);
	while (!t->ended) {
		show_progress(tx);
		deadline_of(DT_NS_PER_S / 2, &until);
		pthread_cond_timedwait(&tx->change, &tx->lock, &until);
	}
	pthread_mutex_unlock(&tx->lock);
}

static int join_thread(struct dpt_tx *tx, struct dpt_tx_thread *t)
{
	if (!t->started)
		return 0;
	if (!tx->server)
		watch(tx, t);
	pthread_join(t->thread, NULL);
	t->started = false;
	return t->rc;
}

int dpt_tx_run(struct dpt_tx *tx)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < tx->cmd.threads; i++)
		rc = start_thread(&tx->threads[i]);
	if (rc)
		give_up(tx);
	for (uint32_t i = 0; i < tx->cmd.threads; i++) {
		int thread_rc = join_thread(tx, &tx->threads[i]);

		if (!rc)
			rc = thread_rc;
	}
	return rc;
}

static int close_end(struct dpt_tx *tx, struct dpt_tx_end *e, int rc)
{
	struct dpt *d = tx->d;

	for (uint32_t i = 0; e->ops && i < tx->cmd.op_count; i++)
		if (e->ops[i].rmr != DAT_HANDLE_NULL)
			rc = dpt_freed(d, rc, dat_rmr_free(e->ops[i].rmr),
				       "dat_rmr_free");
	rc = dpt_end_close(d, &e->end, rc);
	for (uint32_t i = 0; e->ops && i < tx->cmd.op_count; i++)
		rc = dpt_region_free(d, &e->ops[i].mem, rc);
	free(e->ops);
	return dpt_region_free(d, &e->control, rc);
}

int dpt_tx_close(struct dpt_tx *tx, int rc)
{
	for (uint32_t i = 0; tx->threads && i < tx->cmd.threads; i++) {
		struct dpt_tx_thread *t = &tx->threads[i];

		for (uint32_t j = 0; t->ends && j < tx->cmd.eps; j++)
			rc = close_end(tx, &t->ends[j], rc);
		rc = dpt_pz_free(tx->d, &t->pz, rc);
		free(t->ends);
		dt_samples_fini(&t->samples);
	}
	free(tx->threads);
	tx->threads = NULL;
	pthread_cond_destroy(&tx->change);
	pthread_mutex_destroy(&tx->lock);
	return rc;
}
