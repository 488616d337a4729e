/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * path.c - what a call of the data path costs: each call of DAT, and beside it
 * the same work by verbs alone, on the fake device with null_path.h below.
 *
 *	path count
 * under callgrind: one dump for each call and side, with the name "CALL|dat" or
 * "CALL|verbs"; path.awk reads them
 *
 *	path time
 * nanoseconds: lines of CALL, dat, verbs
 *
 *	path pairs N
 * under callgrind: N pairs of endpoints send one message each in turn, and it
 * is received; one dump, "pairs|dat"
 *
 * One process connects endpoints of one adapter, "path" of dat.conf, with one
 * another. One segment of 8 bytes. A call is named as the table of budgets in
 * doc/architecture.md names it.
 */
#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/bench/null_path.h"
#include "test/unit/fake/fake_verbs.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

#define BATCH	  256 /* calls that are measured together */
#define ROUNDS	  400
#define QUAL	  4711
#define PATIENCE  20000000
#define SIZE	  8
#define TARGET	  4096 /* where messages and reads go to or come from */
#define MAX_PAIRS 4096
#ifdef __clang__ /* it makes no clones */
#define noinline __attribute__((noinline))
#else
#define noinline __attribute__((noinline, noclone))
#endif

enum side {
	DAT,
	VERBS,
	SIDES
};

static const char *const side_names[SIDES] = {"dat", "verbs"};
static char memory[2 * TARGET] __attribute__((aligned(64)));

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "path: %s\n", what);
	exit(1);
}

static inline void need(bool ok, const char *what)
{
	if (__builtin_expect(!ok, 0))
		die(what);
}

static void device_make(void)
{
	struct fv_device_cfg cfg;

	fv_device_cfg_init(&cfg, FV_IB, "fake0", "10.0.0.1");
	cfg.attr.max_qp = 2 * MAX_PAIRS + 2;
	cfg.attr.max_cqe = 1 << 20;
	need(fv_device_add(&cfg), "no device");
	null_path_use();
}

/* ------------------------------------------------------ by DAT */

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE conn, cr, req, rcv, other;
	DAT_PSP_HANDLE psp;
	DAT_IA_ADDRESS_PTR addr;
	DAT_EP_HANDLE from, to; /* of the pair whose turn it is */
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE to_shared, from_shared; /* the one receives from it */
	DAT_EP_HANDLE from_one, to_one;	      /* one receive, one request */
	DAT_LMR_TRIPLET seg, sink;
	DAT_RMR_TRIPLET remote;
} d;

static struct {
	DAT_EP_HANDLE from, to;
} pairs[MAX_PAIRS];

static DAT_EVD_HANDLE evd_make(DAT_COUNT qlen, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	need(dat_evd_create(d.ia, qlen, DAT_HANDLE_NULL, flags, &evd) ==
		     DAT_SUCCESS,
	     "dat_evd_create");
	return evd;
}

static DAT_EVENT event_of(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	need(dat_evd_wait(evd, PATIENCE, 1, &ev, &more) == DAT_SUCCESS &&
		     ev.event_number == number,
	     "an event of connecting is missing");
	return ev;
}

static void memory_register(void)
{
	DAT_REGION_DESCRIPTION region = {.for_va = memory};
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_VADDR va;
	DAT_VLEN size;

	need(dat_lmr_create(d.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory),
			    d.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
			    &lkey, &rkey, &size, &va) == DAT_SUCCESS,
	     "dat_lmr_create");
	d.seg = (DAT_LMR_TRIPLET){.lmr_context = lkey,
				  .virtual_address = (uintptr_t)memory,
				  .segment_length = SIZE};
	d.sink = d.seg;
	d.sink.virtual_address += TARGET;
	d.remote = (DAT_RMR_TRIPLET){.rmr_context = rkey,
				     .virtual_address = d.sink.virtual_address,
				     .segment_length = SIZE};
}

static void adapter_open(int n, int depth)
{
	static DAT_IA_ATTR attr;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "path";

	need(dat_ia_open(name, 8, &async, &d.ia) == DAT_SUCCESS, "dat_ia_open");
	need(dat_ia_query(d.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL) ==
		     DAT_SUCCESS,
	     "dat_ia_query");
	d.addr = attr.ia_address_ptr;
	need(dat_pz_create(d.ia, &d.pz) == DAT_SUCCESS, "dat_pz_create");
	d.conn = evd_make(8, DAT_EVD_CONNECTION_FLAG);
	d.cr = evd_make(8, DAT_EVD_CR_FLAG);
	d.req = evd_make(n * depth, DAT_EVD_DTO_FLAG);
	d.rcv = evd_make(n * depth, DAT_EVD_DTO_FLAG);
	d.other = evd_make(n * depth, DAT_EVD_DTO_FLAG);
	memory_register();
	need(dat_psp_create(d.ia, QUAL, d.cr, DAT_PSP_CONSUMER_FLAG, &d.psp) ==
		     DAT_SUCCESS,
	     "dat_psp_create");
}

static DAT_EP_ATTR ep_attr(int depth)
{
	return (DAT_EP_ATTR){.service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = TARGET,
			     .max_rdma_size = TARGET,
			     .max_recv_dtos = depth,
			     .max_request_dtos = depth,
			     .max_recv_iov = 1,
			     .max_request_iov = 1,
			     .max_rdma_read_out = 1};
}

static void connect_two(DAT_EP_HANDLE from, DAT_EP_HANDLE to)
{
	DAT_EVENT ev;

	need(dat_ep_connect(from, d.addr, QUAL, PATIENCE, 0, NULL,
			    DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG) == DAT_SUCCESS,
	     "dat_ep_connect");
	ev = event_of(d.cr, DAT_CONNECTION_REQUEST_EVENT);
	need(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, to, 0,
			   NULL) == DAT_SUCCESS,
	     "dat_cr_accept");
	event_of(d.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	event_of(d.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void pair_connect(DAT_EP_HANDLE *ret_from, DAT_EP_HANDLE *ret_to,
			 int depth)
{
	DAT_EP_ATTR attr = ep_attr(depth);

	need(dat_ep_create(d.ia, d.pz, d.other, d.req, d.conn, &attr,
			   ret_from) == DAT_SUCCESS &&
		     dat_ep_create(d.ia, d.pz, d.rcv, d.other, d.conn, &attr,
				   ret_to) == DAT_SUCCESS,
	     "dat_ep_create");
	connect_two(*ret_from, *ret_to);
}

static void shared_connect(int depth)
{
	DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = depth,
				 .max_recv_iov = 1,
				 .low_watermark = DAT_SRQ_LW_DEFAULT};
	DAT_EP_ATTR attr = ep_attr(depth);

	need(dat_srq_create(d.ia, d.pz, &srq_attr, &d.srq) == DAT_SUCCESS,
	     "dat_srq_create");
	need(dat_ep_create(d.ia, d.pz, d.other, d.req, d.conn, &attr,
			   &d.from_shared) == DAT_SUCCESS &&
		     dat_ep_create_with_srq(d.ia, d.pz, d.rcv, d.other, d.conn,
					    d.srq, &attr,
					    &d.to_shared) == DAT_SUCCESS,
	     "dat_ep_create_with_srq");
	connect_two(d.from_shared, d.to_shared);
}

static void dat_setup(int n, int depth)
{
	adapter_open(n, depth);
	for (int i = 0; i < n; i++)
		pair_connect(&pairs[i].from, &pairs[i].to, depth);
	d.from = pairs[0].from;
	d.to = pairs[0].to;
}

/* The bodies that are measured: N calls, and nothing else. */
#define D_BODY(name, call)                                         \
	static noinline void d_##name(int n)                       \
	{                                                          \
		DAT_DTO_COOKIE cookie = {.as_64 = 0};              \
		DAT_COUNT more;                                    \
		DAT_EVENT ev;                                      \
                                                                   \
		(void)cookie, (void)more, (void)ev;                \
		while (n--)                                        \
			need((call) == DAT_SUCCESS, "dat_" #name); \
	}

D_BODY(post_recv, dat_ep_post_recv(d.to, 1, &d.sink, cookie, 0))
D_BODY(post_send, dat_ep_post_send(d.from, 1, &d.seg, cookie, 0))
D_BODY(last_recv, dat_ep_post_recv(d.to_one, 1, &d.sink, cookie, 0))
D_BODY(last_send, dat_ep_post_send(d.from_one, 1, &d.seg, cookie, 0))
D_BODY(post_write,
       dat_ep_post_rdma_write(d.from, 1, &d.seg, cookie, &d.remote, 0))
D_BODY(post_read,
       dat_ep_post_rdma_read(d.from, 1, &d.seg, cookie, &d.remote, 0))
D_BODY(take_recv, dat_evd_dequeue(d.rcv, &ev))
D_BODY(take_send, dat_evd_dequeue(d.req, &ev))
D_BODY(take_none, dat_evd_dequeue(d.req, &ev) - DAT_QUEUE_EMPTY)
D_BODY(shared_recv, dat_srq_post_recv(d.srq, 1, &d.sink, cookie))
D_BODY(shared_send, dat_ep_post_send(d.from_shared, 1, &d.seg, cookie, 0))
D_BODY(wait_send, dat_evd_wait(d.req, DAT_TIMEOUT_INFINITE, 1, &ev, &more))
D_BODY(wait_none, dat_evd_wait(d.req, 0, 1, &ev, &more) - DAT_TIMEOUT_EXPIRED)

/* ---------------------------------------------------- by verbs */

static struct {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *chan;
	struct ibv_cq *req, *rcv;
	struct ibv_qp *from, *to;
	struct ibv_srq *srq;
	struct ibv_qp *from_shared, *to_shared;
} v;

static struct ibv_qp *v_qp_make(struct ibv_cq *send_cq, struct ibv_cq *recv_cq,
				struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.send_cq = send_cq,
					.recv_cq = recv_cq,
					.srq = srq,
					.cap = {.max_send_wr = BATCH,
						.max_recv_wr = BATCH,
						.max_send_sge = 1,
						.max_recv_sge = 1}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp *qp = ibv_create_qp(v.pd, &init);

	need(qp && !ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "a queue pair of verbs");
	return qp;
}

static void verbs_setup(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_srq_init_attr srq = {
		.attr = {.max_wr = BATCH, .max_sge = 1}};
	struct ibv_context *ctx;
	struct ibv_cq *other;

	need(list && list[0], "no device");
	ctx = ibv_open_device(list[0]);
	need(ctx, "ibv_open_device");
	ibv_free_device_list(list);
	v.pd = ibv_alloc_pd(ctx);
	v.chan = ibv_create_comp_channel(ctx);
	v.req = ibv_create_cq(ctx, BATCH, NULL, v.chan, 0);
	v.rcv = ibv_create_cq(ctx, BATCH, NULL, NULL, 0);
	other = ibv_create_cq(ctx, BATCH, NULL, NULL, 0);
	need(v.pd && v.chan && v.req && v.rcv && other,
	     "a completion queue of verbs");
	v.mr = ibv_reg_mr(v.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	need(v.mr, "ibv_reg_mr");
	v.from = v_qp_make(v.req, other, NULL);
	v.to = v_qp_make(other, v.rcv, NULL);
	fv_join(v.from, v.to);
	v.srq = ibv_create_srq(v.pd, &srq);
	need(v.srq, "ibv_create_srq");
	v.from_shared = v_qp_make(v.req, other, NULL);
	v.to_shared = v_qp_make(other, v.rcv, v.srq);
	fv_join(v.from_shared, v.to_shared);
}

/* Work requests are filled in for each call, as any caller of verbs does. */
static inline int v_recv(void)
{
	struct ibv_sge sge = {.addr = (uintptr_t)memory + TARGET,
			      .length = SIZE,
			      .lkey = v.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	return ibv_post_recv(v.to, &wr, &bad);
}

static inline int v_recv_shared(void)
{
	struct ibv_sge sge = {.addr = (uintptr_t)memory + TARGET,
			      .length = SIZE,
			      .lkey = v.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	return ibv_post_srq_recv(v.srq, &wr, &bad);
}

static inline int v_request(struct ibv_qp *qp, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)memory, .length = SIZE, .lkey = v.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = (uintptr_t)memory + TARGET;
		wr.wr.rdma.rkey = v.mr->rkey;
	}
	return ibv_post_send(qp, &wr, &bad);
}

/* As programs wait: what is there needs no sleep. 0, or it failed. */
static noinline int v_wait(void)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	for (;;) {
		if (ibv_poll_cq(v.req, 1, &wc) == 1)
			return 0;
		if (ibv_req_notify_cq(v.req, 0))
			return -1;
		if (ibv_poll_cq(v.req, 1, &wc) == 1)
			return 0;
		if (ibv_get_cq_event(v.chan, &cq, &context))
			return -1;
		ibv_ack_cq_events(cq, 1);
	}
}

#define V_BODY(name, call)                                  \
	static noinline void v_##name(int n)                \
	{                                                   \
		struct ibv_wc wc;                           \
                                                            \
		(void)wc;                                   \
		while (n--)                                 \
			need((call) == 0, "verbs: " #name); \
	}

V_BODY(post_recv, v_recv())
V_BODY(post_send, v_request(v.from, IBV_WR_SEND))
V_BODY(post_write, v_request(v.from, IBV_WR_RDMA_WRITE))
V_BODY(post_read, v_request(v.from, IBV_WR_RDMA_READ))
V_BODY(shared_recv, v_recv_shared())
V_BODY(shared_send, v_request(v.from_shared, IBV_WR_SEND))
V_BODY(take_recv, ibv_poll_cq(v.rcv, 1, &wc) - 1)
V_BODY(take_send, ibv_poll_cq(v.req, 1, &wc) - 1)
V_BODY(take_none, ibv_poll_cq(v.req, 1, &wc))
V_BODY(wait_send, v_wait())

/* --------------------------------------------- what is measured */

static void nothing(int n)
{
	(void)n;
}

static void late_no_more(int n)
{
	(void)n;
	null_path_late(false);
}

#define v_last_recv v_post_recv
#define v_last_send v_post_send

#define BOTH(prefix)                               \
	static void prefix##_recv_send(int n)      \
	{                                          \
		prefix##_post_recv(n);             \
		prefix##_post_send(n);             \
	}                                          \
	static void prefix##_take_both(int n)      \
	{                                          \
		prefix##_take_recv(n);             \
		prefix##_take_send(n);             \
	}                                          \
	static void prefix##_send_take_both(int n) \
	{                                          \
		prefix##_post_send(n);             \
		prefix##_take_both(n);             \
	}                                          \
	static void prefix##_last_take_both(int n) \
	{                                          \
		prefix##_last_send(n);             \
		prefix##_take_both(n);             \
	}                                          \
	static void prefix##_write_late(int n)     \
	{                                          \
		null_path_late(true);              \
		prefix##_post_write(n);            \
	}                                          \
	static void prefix##_shared(int n)         \
	{                                          \
		prefix##_shared_recv(n);           \
		prefix##_shared_send(n);           \
		prefix##_take_both(n);             \
	}

BOTH(d)
BOTH(v)

typedef void step(int n);

#define STEPS(before, body, after)                              \
	{                                                       \
		{d_##before, v_##before}, {d_##body, v_##body}, \
		{                                               \
			d_##after, v_##after                    \
		}                                               \
	}

#define d_nothing      nothing
#define v_nothing      nothing
#define d_late_no_more late_no_more
#define v_late_no_more late_no_more
#define v_wait_none    v_take_none

enum {
	BEFORE,
	BODY,
	AFTER,
	PARTS
};

static const struct op {
	const char *name;
	step *part[PARTS][SIDES];
	bool one_by_one; /* with what comes before and after each call */
} ops[] = {
	{"post_recv", STEPS(nothing, post_recv, send_take_both), false},
	{"post_send", STEPS(post_recv, post_send, take_both), false},
	{"post_recv, the last", STEPS(nothing, last_recv, last_take_both),
	 true},
	{"post_send, the last", STEPS(last_recv, last_send, take_both), true},
	{"post_rdma_write", STEPS(nothing, post_write, take_send), false},
	{"post_rdma_read", STEPS(nothing, post_read, take_send), false},
	{"dequeue receive", STEPS(recv_send, take_recv, take_send), false},
	{"dequeue send", STEPS(recv_send, take_send, take_recv), false},
	{"dequeue nothing", STEPS(nothing, take_none, nothing), false},
	{"wait, one ready", STEPS(post_write, wait_send, nothing), true},
	{"wait, of many", STEPS(post_write, wait_send, nothing), false},
	{"wait, asleep", STEPS(write_late, wait_send, late_no_more), true},
	{"wait 0, nothing", STEPS(nothing, wait_none, nothing), false},
	{"message by an SRQ", STEPS(nothing, shared, nothing), false},
};

#define OPS (sizeof(ops) / sizeof(ops[0]))

static void run(const struct op *op, enum side side, int n, bool collect)
{
	op->part[BEFORE][side](n);
	if (collect)
		CALLGRIND_TOGGLE_COLLECT;
	op->part[BODY][side](n);
	if (collect)
		CALLGRIND_TOGGLE_COLLECT;
	op->part[AFTER][side](n);
}

static void run_batch(const struct op *op, enum side side, bool collect)
{
	if (!op->one_by_one)
		run(op, side, BATCH, collect);
	else
		for (int i = 0; i < BATCH; i++)
			run(op, side, 1, collect);
}

static void count_one(const struct op *op, enum side side)
{
	char label[64];

	/* Symbols are bound, and queues have turned once. */
	run_batch(op, side, false);
	CALLGRIND_ZERO_STATS;
	run_batch(op, side, true);
	snprintf(label, sizeof(label), "%s|%s", op->name, side_names[side]);
	CALLGRIND_DUMP_STATS_AT(label);
}

/* With several processors a wait looks again, at times, before it sleeps. */
static void one_processor(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : (size_t)cpu, &set);
	need(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void count(void)
{
	for (size_t i = 0; i < OPS; i++)
		for (int side = 0; side < SIDES; side++)
			count_one(&ops[i], (enum side)side);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* The least of many rounds: the one that was disturbed least. */
static double time_one(const struct op *op, enum side side)
{
	double least = 1e18, t;

	for (int i = 0; i < ROUNDS; i++) {
		op->part[BEFORE][side](BATCH);
		t = now_ns();
		op->part[BODY][side](BATCH);
		t = now_ns() - t;
		op->part[AFTER][side](BATCH);
		if (t < least)
			least = t;
	}
	return least / BATCH;
}

static void measure_time(void)
{
	for (size_t i = 0; i < OPS; i++)
		if (!ops[i].one_by_one)
			printf("%s\t%.1f\t%.1f\n", ops[i].name,
			       time_one(&ops[i], DAT),
			       time_one(&ops[i], VERBS));
}

/* Each pair once: its memory has been forgotten meanwhile if there are many. */
static void turn(int n)
{
	for (int i = 0; i < n; i++) {
		d.from = pairs[i].from;
		d.to = pairs[i].to;
		d_recv_send(1);
		d_take_both(1);
	}
}

#define LEARNS 16 /* turns, after which each lock knows whose it is */

static void count_pairs(int n)
{
	for (int i = 0; i < LEARNS; i++)
		turn(n);
	CALLGRIND_START_INSTRUMENTATION;
	for (int i = 0; i < 3; i++)
		turn(n);
	CALLGRIND_ZERO_STATS;
	CALLGRIND_TOGGLE_COLLECT;
	for (int i = 0; i < 4; i++)
		turn(n);
	CALLGRIND_TOGGLE_COLLECT;
	CALLGRIND_DUMP_STATS_AT("pairs|dat");
}

/* Bytes really arrive, or no figure means anything. */
static void self_check(void)
{
	static const char text[SIZE] = "1234567";

	memcpy(memory, text, SIZE);
	d_recv_send(1);
	d_take_both(1);
	need(!memcmp(memory + TARGET, text, SIZE), "a message got lost");
	memset(memory + TARGET, 0, SIZE);
	d_post_write(1);
	d_take_send(1);
	need(!memcmp(memory + TARGET, text, SIZE), "a write got lost");
	memset(memory, 0, SIZE);
	d_post_read(1);
	d_take_send(1);
	need(!memcmp(memory, text, SIZE), "a read got lost");
}

/* The device below knows who receives from an SRQ by what else he posts. */
static void peers_known(void)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 0};
	DAT_EVENT ev;
	struct ibv_wc wc;

	need(dat_ep_post_rdma_write(d.to_shared, 1, &d.seg, cookie, &d.remote,
				    0) == DAT_SUCCESS &&
		     dat_evd_dequeue(d.other, &ev) == DAT_SUCCESS,
	     "a write from where an SRQ is used");
	need(!v_request(v.to_shared, IBV_WR_RDMA_WRITE) &&
		     ibv_poll_cq(v.to_shared->send_cq, 1, &wc) == 1,
	     "the same by verbs");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1;
	bool by_pairs = !strcmp(what, "pairs");

	if (n < 1 || n > MAX_PAIRS)
		die("1 to 4096 pairs");
	if (strcmp(what, "time") && !RUNNING_ON_VALGRIND)
		die("not under callgrind, or built without valgrind's "
		    "headers");
	if (!strcmp(what, "count"))
		one_processor();
	device_make();
	dat_setup(n, by_pairs ? SIZE : BATCH);
	self_check();
	if (by_pairs) {
		count_pairs(n);
		return 0;
	}
	shared_connect(BATCH);
	pair_connect(&d.from_one, &d.to_one, 1);
	verbs_setup();
	peers_known();
	v_recv_send(1);
	v_take_both(1);
	if (!strcmp(what, "time"))
		measure_time();
	else
		count();
	return 0;
}
