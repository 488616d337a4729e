/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_fake_verbs.c: the fake verbs device behaves as verbs do.
 * Each case states one rule other tests rely on; the rdma_cm side is in
 * t_fake_cm.c.
 * Threads: one case blocks in ibv_get_cq_event from a second thread.
 * Ownership: every case must destroy what it made; teardown asserts it.
 * Rules: InfiniBand vol. 1 ch. 10 and 11, verbs man pages.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_verbs.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL_ACCESS                                          \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* one end of a connection with all it needs */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	_Alignas(8) char buf[8192];
};

struct pair {
	struct end a, b;
};

static struct ibv_context *open_dev(int index)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	assert_non_null(list);
	ctx = ibv_open_device(list[index]);
	assert_non_null(ctx);
	ibv_free_device_list(list);
	return ctx;
}

static struct ibv_qp_init_attr init_attr(struct end *e, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr in = {.send_cq = e->cq,
				      .recv_cq = e->cq,
				      .srq = e->srq,
				      .cap = {.max_send_wr = 8,
					      .max_recv_wr = 8,
					      .max_send_sge = 4,
					      .max_recv_sge = 4,
					      .max_inline_data = 64},
				      .qp_type = type};
	return in;
}

static void end_open_cq(struct end *e, int dev, enum ibv_qp_type type, int cqe)
{
	struct ibv_qp_init_attr in;

	e->ctx = open_dev(dev);
	e->pd = ibv_alloc_pd(e->ctx);
	assert_non_null(e->pd);
	e->chan = ibv_create_comp_channel(e->ctx);
	assert_non_null(e->chan);
	e->cq = ibv_create_cq(e->ctx, cqe, e, e->chan, 0);
	assert_non_null(e->cq);
	e->mr = ibv_reg_mr(e->pd, e->buf, sizeof(e->buf),
			   ALL_ACCESS | IBV_ACCESS_MW_BIND);
	assert_non_null(e->mr);
	in = init_attr(e, type);
	e->qp = ibv_create_qp(e->pd, &in);
	assert_non_null(e->qp);
}

static void end_open(struct end *e, int dev, enum ibv_qp_type type)
{
	end_open_cq(e, dev, type, 64);
}

static void end_close(struct end *e)
{
	if (e->qp)
		assert_int_equal(ibv_destroy_qp(e->qp), 0);
	if (e->srq)
		assert_int_equal(ibv_destroy_srq(e->srq), 0);
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	assert_int_equal(ibv_destroy_cq(e->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(e->chan), 0);
	assert_int_equal(ibv_dealloc_pd(e->pd), 0);
	assert_int_equal(ibv_close_device(e->ctx), 0);
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qkey = 0x1234,
				.qp_access_flags = ALL_ACCESS};

	if (qp->qp_type == IBV_QPT_UD)
		return ibv_modify_qp(qp, &a,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					     IBV_QP_PORT | IBV_QP_QKEY);
	return ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS);
}

#define RTR_MASK                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | \
	 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                               \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

static struct ibv_qp_attr rtr_attr(struct ibv_context *ctx, uint32_t qpn)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = qpn,
				.max_dest_rd_atomic = 4,
				.ah_attr = {.port_num = 1}};
	struct ibv_port_attr p;

	assert_int_equal(ibv_query_port(ctx, 1, &p), 0);
	a.ah_attr.dlid = p.lid;
	if (p.link_layer == IBV_LINK_LAYER_ETHERNET) {
		a.ah_attr.is_global = 1;
		assert_int_equal(ibv_query_gid(ctx, 1, 3, &a.ah_attr.grh.dgid),
				 0);
		a.ah_attr.grh.sgid_index = 3;
	}
	return a;
}

static int to_rtr(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr a = rtr_attr(peer->ctx, peer->qp->qp_num);

	if (e->qp->qp_type == IBV_QPT_UD)
		return ibv_modify_qp(e->qp, &a, IBV_QP_STATE);
	return ibv_modify_qp(e->qp, &a, RTR_MASK);
}

static int to_rts_rnr(struct end *e, uint8_t rnr_retry)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = rnr_retry,
				.max_rd_atomic = 4};

	return ibv_modify_qp(e->qp, &a,
			     e->qp->qp_type == IBV_QPT_UD
				     ? IBV_QP_STATE | IBV_QP_SQ_PSN
				     : RTS_MASK);
}

static int to_state(struct ibv_qp *qp, enum ibv_qp_state s)
{
	struct ibv_qp_attr a = {.qp_state = s};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

static void pair_connect(struct pair *p, uint8_t rnr_retry)
{
	assert_int_equal(to_init(p->a.qp), 0);
	assert_int_equal(to_init(p->b.qp), 0);
	assert_int_equal(to_rtr(&p->a, &p->b), 0);
	assert_int_equal(to_rtr(&p->b, &p->a), 0);
	assert_int_equal(to_rts_rnr(&p->a, rnr_retry), 0);
	assert_int_equal(to_rts_rnr(&p->b, rnr_retry), 0);
}

static void pair_open(struct pair *p, enum ibv_qp_type type, uint8_t rnr_retry)
{
	memset(p, 0, sizeof(*p));
	end_open(&p->a, 0, type);
	end_open(&p->b, 1, type);
	pair_connect(p, rnr_retry);
}

static void pair_close(struct pair *p)
{
	end_close(&p->a);
	end_close(&p->b);
}

static struct ibv_sge sge_of(struct end *e, uint32_t at, uint32_t len)
{
	struct ibv_sge s = {.addr = (uintptr_t)e->buf + at,
			    .length = len,
			    .lkey = e->mr->lkey};

	return s;
}

static int post_recv(struct end *e, uint64_t id, uint32_t at, uint32_t len)
{
	struct ibv_sge s = sge_of(e, at, len);
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &s, .num_sge = 1};
	struct ibv_recv_wr *bad = NULL;
	int rc = e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad)
			: ibv_post_recv(e->qp, &wr, &bad);

	if (rc)
		assert_ptr_equal(bad, &wr);
	return rc;
}

static int post_op(struct end *e, struct ibv_send_wr *wr, uint32_t at,
		   uint32_t len)
{
	struct ibv_sge s = sge_of(e, at, len);
	struct ibv_send_wr *bad = NULL;
	int rc;

	wr->sg_list = &s;
	wr->num_sge = 1;
	rc = ibv_post_send(e->qp, wr, &bad);
	if (rc)
		assert_ptr_equal(bad, wr);
	return rc;
}

static int post_send(struct end *e, uint64_t id, uint32_t at, uint32_t len,
		     unsigned int flags)
{
	struct ibv_send_wr wr = {
		.wr_id = id, .opcode = IBV_WR_SEND, .send_flags = flags};

	return post_op(e, &wr, at, len);
}

static int post_rdma(struct end *e, enum ibv_wr_opcode op, struct end *to,
		     uint32_t at, uint32_t len, uint32_t rkey)
{
	struct ibv_send_wr wr = {.wr_id = 77,
				 .opcode = op,
				 .imm_data = htobe32(0x01020304),
				 .send_flags = IBV_SEND_SIGNALED};

	wr.wr.rdma.remote_addr = (uintptr_t)to->buf + at;
	wr.wr.rdma.rkey = rkey;
	return post_op(e, &wr, 0, len);
}

static struct ibv_wc expect_wc(struct end *e, uint64_t id,
			       enum ibv_wc_status status)
{
	struct ibv_wc wc;

	memset(&wc, 0, sizeof(wc));
	assert_int_equal(ibv_poll_cq(e->cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.qp_num, e->qp->qp_num);
	return wc;
}

static void expect_empty(struct end *e)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(e->cq, 1, &wc), 0);
}

static void expect_async(struct end *e, enum ibv_event_type type)
{
	struct ibv_async_event ev;

	assert_int_equal(ibv_get_async_event(e->ctx, &ev), 0);
	assert_int_equal(ev.event_type, type);
	ibv_ack_async_event(&ev);
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void nonblock(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

/* runs a deadly call in a child: true when the fake aborted it */
static bool dies(void (*fn)(void *), void *arg)
{
	struct rlimit none = {0, 0};
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		close(2);
		fv_ack_patience(50);
		fn(arg);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static int setup_ib(void **state)
{
	(void)state;
	fv_reset();
	fv_devices_default(FV_IB, 2);
	return 0;
}

static int setup_roce(void **state)
{
	(void)state;
	fv_reset();
	fv_devices_default(FV_ROCE, 2);
	return 0;
}

static int teardown(void **state)
{
	unsigned int n = fv_live();

	(void)state;
	if (n)
		fv_live_dump(stderr);
	fv_reset();
	return n ? -1 : 0;
}

/* ---- device ---- */

static void device_list__two_devices(void **state)
{
	struct ibv_device **list;
	int n = 0;

	(void)state;
	list = ibv_get_device_list(&n);
	assert_int_equal(n, 2);
	assert_string_equal(ibv_get_device_name(list[0]), "fake0");
	assert_string_equal(ibv_get_device_name(list[1]), "fake1");
	assert_null(list[2]);
	assert_true(ibv_get_device_guid(list[0]) !=
		    ibv_get_device_guid(list[1]));
	ibv_free_device_list(list);
}

static void query__attributes_of_the_test(void **state)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	(void)state;
	fv_device_cfg_get(ctx->device)->attr.max_qp_wr = 99;
	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_int_equal(attr.max_qp_wr, 99);
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &ex), 0);
	assert_int_equal(ex.orig_attr.max_qp_wr, 99);
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_true(port.lid != 0);
	assert_int_equal(ibv_query_port(ctx, 2, &port), EINVAL);
	assert_int_equal(ibv_query_gid(ctx, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[0], 0xfe);
	assert_int_equal(ibv_query_gid(ctx, 1, 1, &gid), -1);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 0, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_IB);
	assert_int_equal(ibv_query_pkey(ctx, 1, 0, &pkey), 0);
	assert_int_equal(be16toh(pkey), 0xffff);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htobe16(0x8001)), -1);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void query__old_abi_takes_plain_symbols(void **state)
{
	struct fv_device_cfg cfg;
	struct ibv_device_attr_ex ex;
	struct ibv_port_attr port;
	struct ibv_context *ctx;

	(void)state;
	fv_device_cfg_init(&cfg, FV_IB, "old", "10.1.0.1");
	cfg.old_abi = true;
	cfg.attr.phys_port_cnt = 2;
	fv_device_add(&cfg);
	ctx = open_dev(2);
	assert_int_equal(ibv_query_port(ctx, 2, &port), 0);
	assert_int_equal(port.lid, cfg.port[1].attr.lid);
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &ex), 0);
	assert_int_equal(ex.orig_attr.phys_port_cnt, 2);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void gid__roce_table_is_typed(void **state)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_gid_entry e;

	(void)state;
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 2, &e, 0), 0);
	assert_int_equal(e.gid_type, IBV_GID_TYPE_ROCE_V1);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 3, &e, 0), 0);
	assert_int_equal(e.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(e.gid.raw[12], 10);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 4, &e, 0), EINVAL);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void destroy__in_use_is_busy(void **state)
{
	struct end e = {0};

	(void)state;
	end_open(&e, 0, IBV_QPT_RC);
	assert_int_equal(ibv_dealloc_pd(e.pd), EBUSY);
	assert_int_equal(ibv_destroy_cq(e.cq), EBUSY);
	assert_int_equal(ibv_destroy_comp_channel(e.chan), EBUSY);
	end_close(&e);
}

static void close_deadly(void *ctx)
{
	ibv_close_device(ctx);
}

static void close_device__with_objects_aborts(void **state)
{
	struct end e = {0};

	(void)state;
	end_open(&e, 0, IBV_QPT_RC);
	assert_true(dies(close_deadly, e.ctx));
	end_close(&e);
}

static void live__counts_and_reset_frees(void **state)
{
	struct end e = {0};

	(void)state;
	end_open(&e, 0, IBV_QPT_RC);
	assert_int_equal(fv_live(), 6);
	fv_reset();
	assert_int_equal(fv_live(), 0);
}

/* ---- failure injection and trace ---- */

static void fake_verbs_fail_at__every_call_once(void **state)
{
	unsigned int n;

	(void)state;
	for (n = 1; n < 50; n++) {
		struct ibv_device **list;
		struct ibv_context *ctx = NULL;
		struct ibv_pd *pd = NULL;

		fv_fail_at(n, ENOSPC);
		list = ibv_get_device_list(NULL);
		if (list)
			ctx = ibv_open_device(list[0]);
		if (ctx)
			pd = ibv_alloc_pd(ctx);
		if (!pd)
			assert_int_equal(errno, ENOSPC);
		if (pd)
			ibv_dealloc_pd(pd);
		if (ctx)
			ibv_close_device(ctx);
		if (list)
			ibv_free_device_list(list);
		assert_int_equal(fv_live(), 0);
		if (!fv_fail_hit())
			break;
		assert_int_equal(fv_fail_count(), n);
	}
	assert_int_equal(n, 4);
}

static void fail_from__and_fail_call(void **state)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_pd *pd;

	(void)state;
	fv_fail_from(1, EIO);
	assert_null(ibv_alloc_pd(ctx));
	assert_null(ibv_alloc_pd(ctx));
	fv_fail_call("ibv_alloc_pd", 2, ENOMEM);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
	assert_null(ibv_alloc_pd(ctx));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void trace__names_calls_in_order(void **state)
{
	struct ibv_context *ctx;

	(void)state;
	fv_trace(true);
	ctx = open_dev(0);
	ibv_close_device(ctx);
	assert_string_equal(fv_trace_get(), "ibv_get_device_list\n"
					    "ibv_open_device\n"
					    "ibv_free_device_list\n"
					    "ibv_close_device\n");
}

/* ---- memory ---- */

static void reg_mr__bad_arguments(void **state)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	char buf[64];

	(void)state;
	assert_null(ibv_reg_mr(pd, buf, 0, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(pd, buf, 64, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(pd, (void *)16, 64, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void reg_mr__zero_based(void **state)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct ibv_mr *mr;
	struct pair p;
	struct ibv_send_wr wr = {.wr_id = 5,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED};

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	assert_null(ibv_reg_mr_iova(p.b.pd, page + 100, 50, 0, ALL_ACCESS));
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_mr_iova(p.b.pd, page, 50, 0, ALL_ACCESS);
	assert_non_null(mr);
	wr.wr.rdma.remote_addr = 10;
	wr.wr.rdma.rkey = mr->rkey;
	p.a.buf[0] = 'Z';
	assert_int_equal(post_op(&p.a, &wr, 0, 1), 0);
	expect_wc(&p.a, 5, IBV_WC_SUCCESS);
	assert_int_equal(page[10], 'Z');
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static int bind_type1(struct end *e, struct ibv_mw *mw, uint32_t at,
		      uint32_t len)
{
	struct ibv_mw_bind b = {
		.wr_id = 9,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {.mr = e->mr,
			      .addr = (uintptr_t)e->buf + at,
			      .length = len,
			      .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};

	return ibv_bind_mw(e->qp, mw, &b);
}

static void bind_mw__type_1_range_and_new_key(void **state)
{
	struct ibv_mw *mw;
	uint32_t first;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_1);
	assert_non_null(mw);
	assert_int_equal(bind_type1(&p.b, mw, 1000, 100), 0);
	assert_int_equal(expect_wc(&p.b, 9, IBV_WC_SUCCESS).opcode,
			 IBV_WC_BIND_MW);
	first = mw->rkey;
	assert_int_equal(ibv_dereg_mr(p.b.mr), EINVAL);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 1090, 10, first);
	expect_wc(&p.a, 77, IBV_WC_SUCCESS);
	/* bound again: the old key is dead */
	assert_int_equal(bind_type1(&p.b, mw, 1000, 100), 0);
	expect_wc(&p.b, 9, IBV_WC_SUCCESS);
	assert_true(mw->rkey != first);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 1000, 10, first);
	expect_wc(&p.a, 77, IBV_WC_REM_ACCESS_ERR);
	expect_async(&p.b, IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_close(&p);
}

static void bind_mw__outside_the_region(void **state)
{
	struct ibv_mw *mw;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_1);
	assert_int_equal(bind_type1(&p.b, mw, 8000, 1000), 0);
	expect_wc(&p.b, 9, IBV_WC_MW_BIND_ERR);
	assert_int_equal(fv_qp_state(p.b.qp), IBV_QPS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_close(&p);
}

static void bind_type2(struct end *e, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = {.wr_id = 9,
				 .opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info.mr = e->mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)e->buf;
	wr.bind_mw.bind_info.length = 64;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(ibv_post_send(e->qp, &wr, &bad), 0);
}

static void bind_mw__type_2_and_send_with_inv(void **state)
{
	struct ibv_send_wr inv = {.wr_id = 3,
				  .opcode = IBV_WR_SEND_WITH_INV,
				  .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t rkey;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_2);
	rkey = ibv_inc_rkey(mw->rkey);
	bind_type2(&p.b, mw, rkey);
	expect_wc(&p.b, 9, IBV_WC_SUCCESS);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 0, 8, rkey);
	expect_wc(&p.a, 77, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p.b, 1, 512, 64), 0);
	inv.invalidate_rkey = rkey;
	assert_int_equal(post_op(&p.a, &inv, 0, 4), 0);
	expect_wc(&p.a, 3, IBV_WC_SUCCESS);
	wc = expect_wc(&p.b, 1, IBV_WC_SUCCESS);
	assert_true(wc.wc_flags & IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 0, 8, rkey);
	expect_wc(&p.a, 77, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_close(&p);
}

static void local_inv__frees_a_type_2_window(void **state)
{
	struct ibv_send_wr inv = {.wr_id = 4,
				  .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	struct ibv_mw *mw;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_2);
	inv.invalidate_rkey = ibv_inc_rkey(mw->rkey);
	bind_type2(&p.b, mw, inv.invalidate_rkey);
	expect_wc(&p.b, 9, IBV_WC_SUCCESS);
	assert_int_equal(ibv_post_send(p.b.qp, &inv, &bad), 0);
	assert_int_equal(expect_wc(&p.b, 4, IBV_WC_SUCCESS).opcode,
			 IBV_WC_LOCAL_INV);
	/* nothing left to invalidate */
	assert_int_equal(ibv_post_send(p.b.qp, &inv, &bad), 0);
	expect_wc(&p.b, 4, IBV_WC_LOC_QP_OP_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_close(&p);
}

/* ---- queue pair states ---- */

static void modify_qp__order_and_masks(void **state)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct pair p;

	(void)state;
	memset(&p, 0, sizeof(p));
	end_open(&p.a, 0, IBV_QPT_RC);
	end_open(&p.b, 1, IBV_QPT_RC);
	assert_int_equal(to_rtr(&p.a, &p.b), EINVAL);
	assert_int_equal(to_state(p.a.qp, IBV_QPS_ERR), EINVAL);
	assert_int_equal(ibv_modify_qp(p.a.qp, &a, IBV_QP_STATE | IBV_QP_PORT),
			 EINVAL);
	assert_int_equal(to_init(p.a.qp), 0);
	assert_int_equal(p.a.qp->state, IBV_QPS_INIT);
	assert_int_equal(to_init(p.a.qp), 0);
	assert_int_equal(to_rts_rnr(&p.a, 7), EINVAL);
	assert_int_equal(to_rtr(&p.a, &p.b), 0);
	assert_int_equal(to_rts_rnr(&p.a, 7), 0);
	assert_int_equal(to_init(p.a.qp), EINVAL);
	assert_int_equal(to_state(p.a.qp, IBV_QPS_ERR), 0);
	assert_int_equal(to_rts_rnr(&p.a, 7), EINVAL);
	assert_int_equal(to_state(p.a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p.a.qp), 0);
	pair_close(&p);
}

static void modify_qp__values_are_checked(void **state)
{
	const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			 IBV_QP_ACCESS_FLAGS;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 2};
	struct end e = {0};

	(void)state;
	end_open(&e, 0, IBV_QPT_RC);
	assert_int_equal(ibv_modify_qp(e.qp, &a, init), EINVAL);
	a.port_num = 1;
	a.pkey_index = 1;
	assert_int_equal(ibv_modify_qp(e.qp, &a, init), EINVAL);
	assert_int_equal(to_init(e.qp), 0);
	a = rtr_attr(e.ctx, 1);
	a.path_mtu = IBV_MTU_4096; /* the port's active MTU is 2048 */
	assert_int_equal(ibv_modify_qp(e.qp, &a, RTR_MASK), EINVAL);
	a = rtr_attr(e.ctx, 1);
	a.max_dest_rd_atomic = 17;
	assert_int_equal(ibv_modify_qp(e.qp, &a, RTR_MASK), EINVAL);
	a = rtr_attr(e.ctx, 1);
	a.ah_attr.dlid = 0;
	assert_int_equal(ibv_modify_qp(e.qp, &a, RTR_MASK), EINVAL);
	assert_int_equal(e.qp->state, IBV_QPS_INIT);
	end_close(&e);
}

static void modify_qp__roce_needs_a_grh(void **state)
{
	struct ibv_qp_attr a;
	struct end e = {0};

	(void)state;
	end_open(&e, 0, IBV_QPT_RC);
	assert_int_equal(to_init(e.qp), 0);
	a = rtr_attr(e.ctx, 1);
	a.ah_attr.is_global = 0;
	a.ah_attr.dlid = 1;
	assert_int_equal(ibv_modify_qp(e.qp, &a, RTR_MASK), EINVAL);
	a = rtr_attr(e.ctx, 1);
	assert_int_equal(ibv_modify_qp(e.qp, &a, RTR_MASK), 0);
	end_close(&e);
}

static void query_qp__tells_what_was_set(void **state)
{
	struct ibv_qp_init_attr in;
	struct ibv_qp_attr a;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 5);
	assert_int_equal(ibv_query_qp(p.a.qp, &a, IBV_QP_STATE, &in), 0);
	assert_int_equal(a.qp_state, IBV_QPS_RTS);
	assert_int_equal(a.dest_qp_num, p.b.qp->qp_num);
	assert_int_equal(a.rnr_retry, 5);
	assert_int_equal(in.cap.max_send_wr, 8);
	assert_ptr_equal(in.send_cq, p.a.cq);
	pair_close(&p);
}

static void create_qp__limits(void **state)
{
	struct ibv_qp_init_attr in;
	struct ibv_qp *qp;
	struct end e = {0};

	(void)state;
	end_open(&e, 0, IBV_QPT_RC);
	in = init_attr(&e, IBV_QPT_RC);
	in.cap.max_inline_data = 257;
	assert_null(ibv_create_qp(e.pd, &in));
	assert_int_equal(errno, EINVAL);
	in = init_attr(&e, IBV_QPT_RC);
	in.cap.max_send_sge = 17;
	assert_null(ibv_create_qp(e.pd, &in));
	fv_device_cfg_get(e.ctx->device)->round_up = true;
	in = init_attr(&e, IBV_QPT_RC);
	in.cap.max_send_wr = 5;
	qp = ibv_create_qp(e.pd, &in);
	assert_non_null(qp);
	assert_int_equal(in.cap.max_send_wr, 8);
	assert_int_equal(in.cap.max_inline_data, 256);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	end_close(&e);
}

/* ---- send and receive ---- */

static void send__data_arrives(void **state)
{
	struct ibv_wc wc;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	strcpy(p.a.buf, "hello");
	assert_int_equal(post_recv(&p.b, 2, 100, 64), 0);
	assert_int_equal(post_send(&p.a, 1, 0, 6, IBV_SEND_SIGNALED), 0);
	wc = expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	wc = expect_wc(&p.b, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 6);
	assert_string_equal(p.b.buf + 100, "hello");
	pair_close(&p);
}

static void send__with_immediate(void **state)
{
	struct ibv_send_wr wr = {.wr_id = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htobe32(0xcafe)};
	struct ibv_wc wc;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	assert_int_equal(post_recv(&p.b, 2, 0, 64), 0);
	assert_int_equal(post_op(&p.a, &wr, 0, 4), 0);
	wc = expect_wc(&p.b, 2, IBV_WC_SUCCESS);
	assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(be32toh(wc.imm_data), 0xcafe);
	pair_close(&p);
}

static void send__waits_for_a_receive(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	assert_int_equal(post_send(&p.a, 1, 0, 4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(post_send(&p.a, 2, 0, 4, IBV_SEND_SIGNALED), 0);
	expect_empty(&p.a);
	assert_int_equal(post_recv(&p.b, 8, 0, 64), 0);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	expect_empty(&p.a);
	assert_int_equal(post_recv(&p.b, 9, 0, 64), 0);
	expect_wc(&p.a, 2, IBV_WC_SUCCESS);
	expect_wc(&p.b, 8, IBV_WC_SUCCESS);
	expect_wc(&p.b, 9, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void send__rnr_retries_exceeded(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 6);
	assert_int_equal(post_send(&p.a, 1, 0, 4, 0), 0);
	expect_wc(&p.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(fv_qp_state(p.a.qp), IBV_QPS_ERR);
	assert_int_equal(p.a.qp->state, IBV_QPS_RTS);
	pair_close(&p);
}

static void send__receive_too_small(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	assert_int_equal(post_recv(&p.b, 2, 0, 3), 0);
	assert_int_equal(post_send(&p.a, 1, 0, 4, 0), 0);
	expect_wc(&p.b, 2, IBV_WC_LOC_LEN_ERR);
	expect_wc(&p.a, 1, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(fv_qp_state(p.b.qp), IBV_QPS_ERR);
	pair_close(&p);
}

static void send__bad_local_key(void **state)
{
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct ibv_sge s;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	assert_int_equal(post_recv(&p.b, 2, 0, 64), 0);
	s = sge_of(&p.a, 8190, 4); /* two bytes over the end */
	wr.sg_list = &s;
	wr.num_sge = 1;
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	expect_wc(&p.a, 1, IBV_WC_LOC_PROT_ERR);
	expect_empty(&p.b);
	pair_close(&p);
}

static void send__receive_buffer_not_ours(void **state)
{
	struct ibv_recv_wr wr = {.wr_id = 2, .num_sge = 1};
	struct ibv_recv_wr *bad;
	struct ibv_sge s;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	s = sge_of(&p.b, 0, 64);
	s.lkey ^= 0x100;
	wr.sg_list = &s;
	assert_int_equal(ibv_post_recv(p.b.qp, &wr, &bad), 0);
	assert_int_equal(post_send(&p.a, 1, 0, 4, 0), 0);
	expect_wc(&p.b, 2, IBV_WC_LOC_PROT_ERR);
	expect_wc(&p.a, 1, IBV_WC_REM_OP_ERR);
	pair_close(&p);
}

static void send__inline_is_copied_when_posted(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	p.a.buf[0] = 'x';
	assert_int_equal(post_send(&p.a, 1, 0, 1, IBV_SEND_INLINE), 0);
	p.a.buf[0] = 'y';
	assert_int_equal(post_recv(&p.b, 2, 0, 64), 0);
	expect_wc(&p.b, 2, IBV_WC_SUCCESS);
	assert_int_equal(p.b.buf[0], 'x');
	assert_int_equal(post_send(&p.a, 1, 0, 65, IBV_SEND_INLINE), EINVAL);
	pair_close(&p);
}

static void send__wrong_address_never_arrives(void **state)
{
	struct ibv_qp_attr a;
	struct pair p;

	(void)state;
	memset(&p, 0, sizeof(p));
	end_open(&p.a, 0, IBV_QPT_RC);
	end_open(&p.b, 1, IBV_QPT_RC);
	to_init(p.a.qp);
	to_init(p.b.qp);
	a = rtr_attr(p.b.ctx, p.b.qp->qp_num);
	a.ah_attr.dlid++;
	assert_int_equal(ibv_modify_qp(p.a.qp, &a, RTR_MASK), 0);
	to_rtr(&p.b, &p.a);
	to_rts_rnr(&p.a, 7);
	assert_int_equal(post_send(&p.a, 1, 0, 4, 0), 0);
	expect_wc(&p.a, 1, IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

/* A sends from GID FROM to GID TO (both IPv4) of B, which expects GID 3. */
static void roce_path(uint8_t from, uint8_t to, enum ibv_wc_status status)
{
	struct ibv_qp_attr a;
	struct pair p;

	memset(&p, 0, sizeof(p));
	end_open(&p.a, 0, IBV_QPT_RC);
	end_open(&p.b, 1, IBV_QPT_RC);
	to_init(p.a.qp);
	to_init(p.b.qp);
	a = rtr_attr(p.b.ctx, p.b.qp->qp_num);
	a.ah_attr.grh.sgid_index = from;
	assert_int_equal(ibv_query_gid(p.b.ctx, 1, to, &a.ah_attr.grh.dgid), 0);
	assert_int_equal(ibv_modify_qp(p.a.qp, &a, RTR_MASK), 0);
	assert_int_equal(to_rtr(&p.b, &p.a), 0);
	to_rts_rnr(&p.a, 7);
	assert_int_equal(post_recv(&p.b, 2, 0, 64), 0);
	assert_int_equal(post_send(&p.a, 1, 0, 4, IBV_SEND_SIGNALED), 0);
	expect_wc(&p.a, 1, status);
	if (status == IBV_WC_SUCCESS)
		expect_wc(&p.b, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void send__roce_paths_of_both_ends_match(void **state)
{
	struct fv_device_cfg *cfg[2];
	struct ibv_device **list = ibv_get_device_list(NULL);

	(void)state;
	for (int i = 0; i < 2; i++) {
		cfg[i] = fv_device_cfg_get(list[i]);
		cfg[i]->port[0].attr.gid_tbl_len = 5;
		cfg[i]->port[0].gid[4] = cfg[i]->port[0].gid[3];
		cfg[i]->port[0].gid[4].raw[13] = 9;
		cfg[i]->port[0].gid_type[4] = IBV_GID_TYPE_ROCE_V2;
	}
	ibv_free_device_list(list);
	roce_path(3, 3, IBV_WC_SUCCESS);
	roce_path(2, 3, IBV_WC_RETRY_EXC_ERR); /* RoCE v1 */
	roce_path(4, 3, IBV_WC_RETRY_EXC_ERR); /* from somebody else */
	roce_path(3, 4,
		  IBV_WC_RETRY_EXC_ERR); /* to an address B does not use */
}

static void send__waits_for_peer_to_be_ready(void **state)
{
	struct pair p;

	(void)state;
	memset(&p, 0, sizeof(p));
	end_open(&p.a, 0, IBV_QPT_RC);
	end_open(&p.b, 1, IBV_QPT_RC);
	to_init(p.a.qp);
	to_init(p.b.qp);
	assert_int_equal(post_recv(&p.b, 2, 0, 64), 0);
	to_rtr(&p.a, &p.b);
	to_rts_rnr(&p.a, 7);
	assert_int_equal(post_send(&p.a, 1, 0, 4, IBV_SEND_SIGNALED), 0);
	expect_empty(&p.a);
	assert_int_equal(to_rtr(&p.b, &p.a), 0);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	expect_wc(&p.b, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void send__peer_gone(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	assert_int_equal(post_send(&p.a, 1, 0, 4, 0), 0);
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	p.b.qp = NULL;
	expect_wc(&p.a, 1, IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

static void post__wrong_state_and_full_queue(void **state)
{
	struct pair p;
	int i;

	(void)state;
	memset(&p, 0, sizeof(p));
	end_open(&p.a, 0, IBV_QPT_RC);
	end_open(&p.b, 1, IBV_QPT_RC);
	assert_int_equal(post_recv(&p.a, 1, 0, 4), EINVAL);
	to_init(p.a.qp);
	assert_int_equal(post_send(&p.a, 1, 0, 4, 0), EINVAL);
	for (i = 0; i < 8; i++)
		assert_int_equal(post_recv(&p.a, 1, 0, 4), 0);
	assert_int_equal(post_recv(&p.a, 1, 0, 4), ENOMEM);
	pair_close(&p);
}

static void post__suppressed_slots_come_back_with_a_signalled_one(void **state)
{
	struct pair p;
	int i;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	for (i = 0; i < 8; i++)
		assert_int_equal(post_recv(&p.b, 1, 0, 4), 0);
	for (i = 0; i < 7; i++)
		assert_int_equal(post_send(&p.a, 1, 0, 4, 0), 0);
	expect_empty(&p.a);
	assert_int_equal(post_send(&p.a, 2, 0, 4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(post_send(&p.a, 3, 0, 4, 0), ENOMEM);
	expect_wc(&p.a, 2, IBV_WC_SUCCESS);
	assert_int_equal(post_send(&p.a, 3, 0, 4, 0), 0);
	pair_close(&p);
}

static void post__sig_all_signals_everything(void **state)
{
	struct ibv_qp_init_attr in;
	struct pair p;

	(void)state;
	memset(&p, 0, sizeof(p));
	end_open(&p.a, 0, IBV_QPT_RC);
	end_open(&p.b, 1, IBV_QPT_RC);
	ibv_destroy_qp(p.a.qp);
	in = init_attr(&p.a, IBV_QPT_RC);
	in.sq_sig_all = 1;
	p.a.qp = ibv_create_qp(p.a.pd, &in);
	pair_connect(&p, 7);
	post_recv(&p.b, 1, 0, 4);
	assert_int_equal(post_send(&p.a, 1, 0, 4, 0), 0);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void post__chain_stops_at_the_bad_one(void **state)
{
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_sge s;
	struct pair p;
	int i;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	s = sge_of(&p.a, 0, 4);
	memset(wr, 0, sizeof(wr));
	for (i = 0; i < 3; i++) {
		wr[i].wr_id = (uint64_t)i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].sg_list = &s;
		wr[i].num_sge = i == 1 ? 5 : 1;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	post_recv(&p.b, 1, 0, 4);
	assert_int_equal(ibv_post_send(p.a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	expect_wc(&p.b, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* ---- RDMA and atomics ---- */

static void fake_verbs_rdma__write_and_read(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	strcpy(p.a.buf, "abc");
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 4096, 4, p.b.mr->rkey);
	assert_int_equal(expect_wc(&p.a, 77, IBV_WC_SUCCESS).opcode,
			 IBV_WC_RDMA_WRITE);
	assert_string_equal(p.b.buf + 4096, "abc");
	strcpy(p.b.buf + 4096, "xyz");
	post_rdma(&p.a, IBV_WR_RDMA_READ, &p.b, 4096, 4, p.b.mr->rkey);
	assert_int_equal(expect_wc(&p.a, 77, IBV_WC_SUCCESS).opcode,
			 IBV_WC_RDMA_READ);
	assert_string_equal(p.a.buf, "xyz");
	expect_empty(&p.b);
	pair_close(&p);
}

static void rdma__write_with_imm_takes_a_receive(void **state)
{
	struct ibv_wc wc;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE_WITH_IMM, &p.b, 0, 4, p.b.mr->rkey);
	expect_empty(&p.a);
	assert_int_equal(post_recv(&p.b, 6, 0, 0), 0);
	expect_wc(&p.a, 77, IBV_WC_SUCCESS);
	wc = expect_wc(&p.b, 6, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 4);
	pair_close(&p);
}

static void rdma__out_of_range_breaks_both_ends(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	assert_int_equal(post_recv(&p.b, 6, 0, 4), 0);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 8190, 4, p.b.mr->rkey);
	expect_wc(&p.a, 77, IBV_WC_REM_ACCESS_ERR);
	expect_async(&p.b, IBV_EVENT_QP_ACCESS_ERR);
	expect_wc(&p.b, 6, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void rdma__region_without_remote_access(void **state)
{
	struct ibv_mr *mr;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	mr = ibv_reg_mr(p.b.pd, p.b.buf, 64, IBV_ACCESS_REMOTE_READ);
	post_rdma(&p.a, IBV_WR_RDMA_READ, &p.b, 0, 4, mr->rkey);
	expect_wc(&p.a, 77, IBV_WC_SUCCESS);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 0, 4, mr->rkey);
	expect_wc(&p.a, 77, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void rdma__queue_pair_without_remote_access(void **state)
{
	struct ibv_qp_attr a = {.qp_access_flags = IBV_ACCESS_REMOTE_READ};
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	assert_int_equal(ibv_modify_qp(p.b.qp, &a, IBV_QP_ACCESS_FLAGS), 0);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 0, 4, p.b.mr->rkey);
	expect_wc(&p.a, 77, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static void atomic__swap_and_add(void **state)
{
	struct ibv_send_wr wr = {.wr_id = 1,
				 .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				 .send_flags = IBV_SEND_SIGNALED};
	uint64_t v = 40;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	memcpy(p.b.buf + 8, &v, 8);
	wr.wr.atomic.remote_addr = (uintptr_t)p.b.buf + 8;
	wr.wr.atomic.rkey = p.b.mr->rkey;
	wr.wr.atomic.compare_add = 2;
	assert_int_equal(post_op(&p.a, &wr, 0, 8), 0);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	memcpy(&v, p.a.buf, 8);
	assert_int_equal(v, 40);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = 7;
	assert_int_equal(post_op(&p.a, &wr, 0, 8), 0);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	memcpy(&v, p.b.buf + 8, 8);
	assert_int_equal(v, 7);
	wr.wr.atomic.remote_addr++;
	assert_int_equal(post_op(&p.a, &wr, 0, 8), 0);
	expect_wc(&p.a, 1, IBV_WC_REM_INV_REQ_ERR);
	pair_close(&p);
}

/* ---- error and flush ---- */

static void error__flushes_all_in_order(void **state)
{
	struct pair p;
	uint64_t i;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	for (i = 0; i < 3; i++) {
		assert_int_equal(post_send(&p.a, 10 + i, 0, 4, 0), 0);
		assert_int_equal(post_recv(&p.a, 20 + i, 0, 4), 0);
	}
	assert_int_equal(to_state(p.a.qp, IBV_QPS_ERR), 0);
	for (i = 0; i < 3; i++)
		expect_wc(&p.a, 10 + i, IBV_WC_WR_FLUSH_ERR);
	for (i = 0; i < 3; i++)
		expect_wc(&p.a, 20 + i, IBV_WC_WR_FLUSH_ERR);
	/* what is posted now flushes too */
	assert_int_equal(post_recv(&p.a, 30, 0, 4), 0);
	expect_wc(&p.a, 30, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(post_send(&p.a, 31, 0, 4, 0), 0);
	expect_wc(&p.a, 31, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

/* A device whose receive queue is memory that it does not watch in ERR. */
static void error__late_receive_stays(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	fv_device_cfg_get(p.a.qp->context->device)->err_recv_stays = true;
	assert_int_equal(post_recv(&p.a, 1, 0, 4), 0);
	assert_int_equal(to_state(p.a.qp, IBV_QPS_ERR), 0);
	expect_wc(&p.a, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(post_recv(&p.a, 2, 0, 4), 0);
	assert_int_equal(post_send(&p.a, 3, 0, 4, 0), 0);
	expect_wc(&p.a, 3, IBV_WC_WR_FLUSH_ERR);
	expect_empty(&p.a);
	assert_int_equal(to_state(p.a.qp, IBV_QPS_ERR), 0);
	expect_wc(&p.a, 2, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void error__first_failure_flushes_the_rest(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	fv_pause(true);
	post_rdma(&p.a, IBV_WR_RDMA_WRITE, &p.b, 0, 4, 0x666);
	assert_int_equal(post_send(&p.a, 2, 0, 4, 0), 0);
	expect_empty(&p.a);
	fv_pause(false);
	expect_wc(&p.a, 77, IBV_WC_REM_ACCESS_ERR);
	expect_wc(&p.a, 2, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void reset__drops_silently_and_frees_slots(void **state)
{
	struct pair p;
	int i;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	for (i = 0; i < 8; i++)
		assert_int_equal(post_recv(&p.a, 1, 0, 4), 0);
	assert_int_equal(to_state(p.a.qp, IBV_QPS_RESET), 0);
	expect_empty(&p.a);
	assert_int_equal(to_init(p.a.qp), 0);
	assert_int_equal(post_recv(&p.a, 2, 0, 4), 0);
	pair_close(&p);
}

static void destroy_qp__stale_completions_stay(void **state)
{
	struct ibv_wc wc;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	fv_device_cfg_get(p.a.ctx->device)->takes_cqes_along = false;
	post_recv(&p.b, 2, 0, 4);
	post_send(&p.a, 1, 0, 4, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_destroy_qp(p.a.qp), 0);
	p.a.qp = NULL;
	assert_int_equal(ibv_poll_cq(p.a.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 1);
	pair_close(&p);
}

static void destroy_qp__takes_completions_along(void **state)
{
	struct ibv_wc wc = {.wr_id = 3, .status = IBV_WC_SUCCESS};
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	fv_device_cfg_get(p.a.ctx->device)->takes_cqes_along = true;
	fv_device_cfg_get(p.b.ctx->device)->takes_cqes_along = true;
	post_recv(&p.b, 2, 0, 4);
	post_send(&p.a, 1, 0, 4, IBV_SEND_SIGNALED);
	wc.qp_num = p.b.qp->qp_num;
	fv_cq_push(p.a.cq, &wc, false);
	assert_int_equal(fv_cq_depth(p.a.cq), 2);
	assert_int_equal(ibv_destroy_qp(p.a.qp), 0);
	p.a.qp = NULL;
	/* Those of others stay. */
	assert_int_equal(ibv_poll_cq(p.a.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 3);
	expect_empty(&p.a);
	post_recv(&p.b, 4, 0, 4);
	assert_int_equal(to_state(p.b.qp, IBV_QPS_ERR), 0);
	assert_int_equal(to_state(p.b.qp, IBV_QPS_RESET), 0);
	expect_empty(&p.b);
	pair_close(&p);
}

static void qp_error__flushes_late(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	fv_device_cfg_get(p.a.ctx->device)->flushes_late = true;
	post_recv(&p.a, 1, 0, 4);
	post_recv(&p.a, 2, 0, 4);
	assert_int_equal(to_state(p.a.qp, IBV_QPS_ERR), 0);
	expect_empty(&p.a);
	expect_wc(&p.a, 1, IBV_WC_WR_FLUSH_ERR);
	expect_empty(&p.a);
	expect_wc(&p.a, 2, IBV_WC_WR_FLUSH_ERR);
	post_send(&p.a, 3, 0, 4, IBV_SEND_SIGNALED);
	expect_empty(&p.a);
	expect_wc(&p.a, 3, IBV_WC_WR_FLUSH_ERR);
	post_recv(&p.a, 4, 0, 4);
	pair_close(&p);
}

static void qp_error__by_the_device(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	post_recv(&p.a, 1, 0, 4);
	fv_qp_error(p.a.qp);
	expect_async(&p.a, IBV_EVENT_QP_FATAL);
	expect_wc(&p.a, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(to_state(p.a.qp, IBV_QPS_ERR), 0);
	pair_close(&p);
}

/* ---- completion queues and channels ---- */

static void cq__overflow_raises_cq_err(void **state)
{
	struct ibv_wc wc;
	struct pair p;

	(void)state;
	memset(&p, 0, sizeof(p));
	end_open_cq(&p.a, 0, IBV_QPT_RC, 2);
	end_open(&p.b, 1, IBV_QPT_RC);
	pair_connect(&p, 7);
	for (int i = 0; i < 3; i++)
		post_recv(&p.b, 1, 0, 4);
	for (int i = 0; i < 3; i++)
		post_send(&p.a, (uint64_t)i, 0, 4, IBV_SEND_SIGNALED);
	expect_async(&p.a, IBV_EVENT_CQ_ERR);
	expect_async(&p.a, IBV_EVENT_QP_FATAL);
	expect_wc(&p.a, 0, IBV_WC_SUCCESS);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_poll_cq(p.a.cq, 1, &wc), -1);
	assert_int_equal(fv_qp_state(p.a.qp), IBV_QPS_ERR);
	pair_close(&p);
}

static void cq__resize_keeps_entries(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	for (uint64_t i = 0; i < 3; i++) {
		post_recv(&p.b, 1, 0, 4);
		post_send(&p.a, i, 0, 4, IBV_SEND_SIGNALED);
	}
	assert_int_equal(ibv_resize_cq(p.a.cq, 2), EINVAL);
	assert_int_equal(ibv_resize_cq(p.a.cq, 3), 0);
	assert_int_equal(p.a.cq->cqe, 3);
	for (uint64_t i = 0; i < 3; i++)
		expect_wc(&p.a, i, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void take_cq_event(struct end *e)
{
	struct ibv_cq *cq = NULL;
	void *arg = NULL;

	assert_int_equal(ibv_get_cq_event(e->chan, &cq, &arg), 0);
	assert_ptr_equal(cq, e->cq);
	assert_ptr_equal(arg, e);
	ibv_ack_cq_events(cq, 1);
}

static void notify__once_per_arm(void **state)
{
	struct ibv_cq *cq;
	struct pair p;
	void *arg;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	nonblock(p.b.chan->fd);
	assert_int_equal(ibv_get_cq_event(p.b.chan, &cq, &arg), -1);
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i < 4; i++)
		post_recv(&p.b, 1, 0, 4);
	post_send(&p.a, 1, 0, 4, 0);
	/* already there when armed: no event */
	assert_int_equal(ibv_req_notify_cq(p.b.cq, 0), 0);
	assert_false(readable(p.b.chan->fd));
	post_send(&p.a, 1, 0, 4, 0);
	post_send(&p.a, 1, 0, 4, 0);
	assert_true(readable(p.b.chan->fd));
	take_cq_event(&p.b);
	assert_false(readable(p.b.chan->fd));
	pair_close(&p);
}

static void notify__solicited_only(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	for (int i = 0; i < 3; i++)
		post_recv(&p.b, 1, 0, 4);
	assert_int_equal(ibv_req_notify_cq(p.b.cq, 1), 0);
	post_send(&p.a, 1, 0, 4, 0);
	assert_false(readable(p.b.chan->fd));
	post_send(&p.a, 1, 0, 4, IBV_SEND_SOLICITED);
	assert_true(readable(p.b.chan->fd));
	take_cq_event(&p.b);
	/* an error counts as solicited */
	assert_int_equal(ibv_req_notify_cq(p.b.cq, 1), 0);
	to_state(p.b.qp, IBV_QPS_ERR);
	assert_true(readable(p.b.chan->fd));
	take_cq_event(&p.b);
	pair_close(&p);
}

static void *wait_for_event(void *arg)
{
	take_cq_event(arg);
	return NULL;
}

static void notify__blocking_reader_wakes(void **state)
{
	struct pair p;
	pthread_t t;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	post_recv(&p.b, 1, 0, 4);
	assert_int_equal(ibv_req_notify_cq(p.b.cq, 0), 0);
	assert_int_equal(pthread_create(&t, NULL, wait_for_event, &p.b), 0);
	post_send(&p.a, 1, 0, 4, 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	pair_close(&p);
}

static void destroy_cq_deadly(void *arg)
{
	struct end *e = arg;
	struct ibv_cq *cq;
	void *x;

	ibv_get_cq_event(e->chan, &cq, &x);
	ibv_destroy_qp(e->qp);
	ibv_destroy_cq(e->cq);
}

static void destroy_cq__unacked_event_aborts(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	post_recv(&p.b, 1, 0, 4);
	ibv_req_notify_cq(p.b.cq, 0);
	post_send(&p.a, 1, 0, 4, 0);
	assert_true(dies(destroy_cq_deadly, &p.b));
	/* an event nobody read goes with its CQ */
	pair_close(&p);
}

static void *ack_later(void *arg)
{
	ibv_ack_cq_events(arg, 1);
	return NULL;
}

static void destroy_cq__waits_for_a_late_ack(void **state)
{
	struct ibv_cq *cq;
	struct pair p;
	pthread_t t;
	void *arg;

	(void)state;
	pair_open(&p, IBV_QPT_RC, 7);
	post_recv(&p.b, 1, 0, 4);
	ibv_req_notify_cq(p.b.cq, 0);
	post_send(&p.a, 1, 0, 4, 0);
	assert_int_equal(ibv_get_cq_event(p.b.chan, &cq, &arg), 0);
	assert_int_equal(pthread_create(&t, NULL, ack_later, cq), 0);
	pair_close(&p);
	assert_int_equal(pthread_join(t, NULL), 0);
}

/* ---- SRQ ---- */

static void srq_pair(struct pair *p, uint32_t limit)
{
	struct ibv_srq_init_attr in = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_attr a = {.srq_limit = limit};
	struct ibv_qp_init_attr qi;

	memset(p, 0, sizeof(*p));
	end_open(&p->a, 0, IBV_QPT_RC);
	end_open(&p->b, 1, IBV_QPT_RC);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.srq = ibv_create_srq(p->b.pd, &in);
	assert_non_null(p->b.srq);
	assert_int_equal(ibv_modify_srq(p->b.srq, &a, IBV_SRQ_LIMIT), 0);
	qi = init_attr(&p->b, IBV_QPT_RC);
	p->b.qp = ibv_create_qp(p->b.pd, &qi);
	assert_non_null(p->b.qp);
	pair_connect(p, 7);
}

static void srq__receives_and_limit_event(void **state)
{
	struct ibv_srq_attr a;
	struct pair p;

	(void)state;
	srq_pair(&p, 2);
	nonblock(p.b.ctx->async_fd);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(post_recv(&p.b, i, 0, 4), 0);
	assert_int_equal(post_recv(&p.b, 9, 0, 4), ENOMEM);
	post_send(&p.a, 1, 0, 4, 0);
	post_send(&p.a, 1, 0, 4, 0);
	assert_false(readable(p.b.ctx->async_fd));
	post_send(&p.a, 1, 0, 4, 0);
	expect_async(&p.b, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(ibv_query_srq(p.b.srq, &a), 0);
	assert_int_equal(a.srq_limit, 0);
	expect_wc(&p.b, 0, IBV_WC_SUCCESS);
	expect_wc(&p.b, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void srq__last_wqe_and_no_flush(void **state)
{
	struct pair p;

	(void)state;
	srq_pair(&p, 0);
	assert_int_equal(post_recv(&p.b, 1, 0, 4), 0);
	assert_int_equal(to_state(p.b.qp, IBV_QPS_ERR), 0);
	expect_async(&p.b, IBV_EVENT_QP_LAST_WQE_REACHED);
	expect_empty(&p.b);
	assert_int_equal(ibv_destroy_srq(p.b.srq), EBUSY);
	pair_close(&p);
}

static void srq__waiting_send_wakes(void **state)
{
	struct pair p;

	(void)state;
	srq_pair(&p, 0);
	assert_int_equal(post_send(&p.a, 1, 0, 4, IBV_SEND_SIGNALED), 0);
	expect_empty(&p.a);
	assert_int_equal(post_recv(&p.b, 1, 0, 4), 0);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* ---- UD ---- */

static struct ibv_ah *ah_to(struct end *e, struct end *to)
{
	struct ibv_ah_attr a = rtr_attr(to->ctx, 0).ah_attr;
	struct ibv_ah *ah = ibv_create_ah(e->pd, &a);

	assert_non_null(ah);
	return ah;
}

static int ud_send(struct pair *p, struct ibv_ah *ah, uint32_t qkey,
		   uint32_t len)
{
	struct ibv_send_wr wr = {.wr_id = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = p->b.qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	return post_op(&p->a, &wr, 0, len);
}

static void ud__datagram_and_its_losses(void **state)
{
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_UD, 7);
	ah = ah_to(&p.a, &p.b);
	strcpy(p.a.buf, "dgram");
	/* nobody listens: lost, and still completed */
	assert_int_equal(ud_send(&p, ah, 0x1234, 6), 0);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(&p.b, 2, 0, 256), 0);
	expect_empty(&p.b);
	assert_int_equal(ud_send(&p, ah, 0x4321, 6), 0);    /* wrong Q_Key */
	assert_int_equal(ud_send(&p, ah, 0x1234, 4096), 0); /* over the MTU */
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	expect_wc(&p.a, 1, IBV_WC_SUCCESS);
	expect_empty(&p.b);
	assert_int_equal(ud_send(&p, ah, 0x1234, 6), 0);
	wc = expect_wc(&p.b, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 46);
	assert_int_equal(wc.src_qp, p.a.qp->qp_num);
	assert_false(wc.wc_flags & IBV_WC_GRH);
	assert_string_equal(p.b.buf + 40, "dgram");
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

static void ud__roce_carries_a_grh_to_answer(void **state)
{
	struct ibv_ah *ah, *back;
	struct ibv_ah_attr bad = {.dlid = 1, .port_num = 1};
	struct ibv_wc wc;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_UD, 7);
	assert_null(ibv_create_ah(p.a.pd, &bad));
	assert_int_equal(errno, EINVAL);
	ah = ah_to(&p.a, &p.b);
	post_recv(&p.b, 2, 0, 256);
	assert_int_equal(ud_send(&p, ah, 0x1234, 6), 0);
	wc = expect_wc(&p.b, 2, IBV_WC_SUCCESS);
	assert_true(wc.wc_flags & IBV_WC_GRH);
	back = ibv_create_ah_from_wc(p.b.pd, &wc, (struct ibv_grh *)p.b.buf, 1);
	assert_non_null(back);
	assert_int_equal(ibv_destroy_ah(back), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

static enum fv_verdict verdict(struct fv_ud_packet *pkt, void *arg)
{
	const enum fv_verdict *v = arg;

	pkt->data[0] = 'R';
	return *v;
}

static void ud__hook_drops_repeats_holds_rewrites(void **state)
{
	enum fv_verdict v = FV_DROP;
	struct ibv_ah *ah;
	struct pair p;

	(void)state;
	pair_open(&p, IBV_QPT_UD, 7);
	ah = ah_to(&p.a, &p.b);
	for (int i = 0; i < 4; i++)
		post_recv(&p.b, 2, 0, 256);
	fv_hook_ud(verdict, &v);
	ud_send(&p, ah, 0x1234, 6);
	assert_int_equal(fv_cq_depth(p.b.cq), 0);
	v = FV_DUP;
	ud_send(&p, ah, 0x1234, 6);
	assert_int_equal(fv_cq_depth(p.b.cq), 2);
	assert_int_equal(p.b.buf[40], 'R');
	v = FV_HOLD;
	ud_send(&p, ah, 0x1234, 6);
	assert_int_equal(fv_cq_depth(p.b.cq), 2);
	assert_int_equal(fv_ud_release(10), 1);
	assert_int_equal(fv_cq_depth(p.b.cq), 3);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

/* ---- asynchronous events ---- */

static void async__nonblocking_and_injected(void **state)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_async_event ev;

	(void)state;
	nonblock(ctx->async_fd);
	assert_int_equal(ibv_get_async_event(ctx, &ev), -1);
	assert_int_equal(errno, EAGAIN);
	fv_inject_async(ctx, IBV_EVENT_PORT_ERR, 1);
	assert_true(readable(ctx->async_fd));
	assert_int_equal(ibv_get_async_event(ctx, &ev), 0);
	assert_int_equal(ev.event_type, IBV_EVENT_PORT_ERR);
	assert_int_equal(ev.element.port_num, 1);
	ibv_ack_async_event(&ev);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void destroy_qp_deadly(void *arg)
{
	struct end *e = arg;
	struct ibv_async_event ev;

	ibv_get_async_event(e->ctx, &ev);
	ibv_destroy_qp(e->qp);
}

static void async__unacked_event_holds_the_qp(void **state)
{
	struct end e = {0};

	(void)state;
	end_open(&e, 0, IBV_QPT_RC);
	fv_inject_async_qp(e.qp, IBV_EVENT_QP_FATAL);
	assert_true(dies(destroy_qp_deadly, &e));
	/* unread: goes with the QP */
	nonblock(e.ctx->async_fd);
	assert_int_equal(ibv_destroy_qp(e.qp), 0);
	e.qp = NULL;
	assert_false(readable(e.ctx->async_fd));
	end_close(&e);
}

#define T(name)	     cmocka_unit_test_setup_teardown(name, setup_ib, teardown)
#define T_ROCE(name) cmocka_unit_test_setup_teardown(name, setup_roce, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(device_list__two_devices),
		T(query__attributes_of_the_test),
		T(query__old_abi_takes_plain_symbols),
		T_ROCE(gid__roce_table_is_typed),
		T(destroy__in_use_is_busy),
		T(close_device__with_objects_aborts),
		T(live__counts_and_reset_frees),
		T(fake_verbs_fail_at__every_call_once),
		T(fail_from__and_fail_call),
		T(trace__names_calls_in_order),
		T(reg_mr__bad_arguments),
		T(reg_mr__zero_based),
		T(bind_mw__type_1_range_and_new_key),
		T(bind_mw__outside_the_region),
		T(bind_mw__type_2_and_send_with_inv),
		T(local_inv__frees_a_type_2_window),
		T(modify_qp__order_and_masks),
		T(modify_qp__values_are_checked),
		T_ROCE(modify_qp__roce_needs_a_grh),
		T(query_qp__tells_what_was_set),
		T(create_qp__limits),
		T(send__data_arrives),
		T_ROCE(send__data_arrives),
		T(send__with_immediate),
		T(send__waits_for_a_receive),
		T(send__rnr_retries_exceeded),
		T(send__receive_too_small),
		T(send__bad_local_key),
		T(send__receive_buffer_not_ours),
		T(send__inline_is_copied_when_posted),
		T(send__wrong_address_never_arrives),
		T_ROCE(send__roce_paths_of_both_ends_match),
		T(send__waits_for_peer_to_be_ready),
		T(send__peer_gone),
		T(post__wrong_state_and_full_queue),
		T(post__suppressed_slots_come_back_with_a_signalled_one),
		T(post__sig_all_signals_everything),
		T(post__chain_stops_at_the_bad_one),
		T(fake_verbs_rdma__write_and_read),
		T(rdma__write_with_imm_takes_a_receive),
		T(rdma__out_of_range_breaks_both_ends),
		T(rdma__region_without_remote_access),
		T(rdma__queue_pair_without_remote_access),
		T(atomic__swap_and_add),
		T(error__flushes_all_in_order),
		T(error__late_receive_stays),
		T(error__first_failure_flushes_the_rest),
		T(reset__drops_silently_and_frees_slots),
		T(destroy_qp__stale_completions_stay),
		T(destroy_qp__takes_completions_along),
		T(qp_error__flushes_late),
		T(qp_error__by_the_device),
		T(cq__overflow_raises_cq_err),
		T(cq__resize_keeps_entries),
		T(notify__once_per_arm),
		T(notify__solicited_only),
		T(notify__blocking_reader_wakes),
		T(destroy_cq__unacked_event_aborts),
		T(destroy_cq__waits_for_a_late_ack),
		T(srq__receives_and_limit_event),
		T(srq__last_wqe_and_no_flush),
		T(srq__waiting_send_wakes),
		T(ud__datagram_and_its_losses),
		T_ROCE(ud__roce_carries_a_grh_to_answer),
		T(ud__hook_drops_repeats_holds_rewrites),
		T(async__nonblocking_and_injected),
		T(async__unacked_event_holds_the_qp),
	};

	return cmocka_run_group_tests_name("fake verbs", tests, NULL, NULL);
}
