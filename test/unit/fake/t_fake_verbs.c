/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_fake_verbs.c: the fake verbs device behaves as verbs do.
 * Each case states one rule other tests rely on; the rdma_cm side is in
 * t_fake_cm.c.
 * The fixture makes two ends, A and B, as far as a case asks for.
 * Threads: one case blocks in ibv_get_cq_event from a second thread.
 * Ownership: every case must destroy what it made beside the ends; teardown
 * asserts it.
 * Rules: InfiniBand vol. 1 ch. 10 and 11, verbs man pages.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_test.h"
#include "fake_verbs.h"

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

static struct end a, b; /* on fake0 and fake1 */

/* How far the fixture goes. */
enum stage {
	DEVICES,
	ENDS,	   /* RC queue pairs in RESET */
	CONNECTED, /* in RTS; a send waits for its receive for ever */
	DATAGRAMS, /* UD queue pairs in RTS */
};

struct fixture {
	enum fv_kind kind;
	enum stage stage;
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

static void end_open(struct end *e, int dev, enum ibv_qp_type type, int cqe)
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

static void ends_open(enum ibv_qp_type type)
{
	end_open(&a, 0, type, 64);
	end_open(&b, 1, type, 64);
}

static void end_close(struct end *e)
{
	if (e->qp)
		assert_ok(ibv_destroy_qp(e->qp));
	if (e->srq)
		assert_ok(ibv_destroy_srq(e->srq));
	assert_ok(ibv_dereg_mr(e->mr));
	assert_ok(ibv_destroy_cq(e->cq));
	assert_ok(ibv_destroy_comp_channel(e->chan));
	assert_ok(ibv_dealloc_pd(e->pd));
	assert_ok(ibv_close_device(e->ctx));
	memset(e, 0, sizeof(*e));
}

static void ends_close(void)
{
	end_close(&a);
	end_close(&b);
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qkey = 0x1234,
				   .qp_access_flags = ALL_ACCESS};

	if (qp->qp_type == IBV_QPT_UD)
		return ibv_modify_qp(qp, &attr,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					     IBV_QP_PORT | IBV_QP_QKEY);
	return ibv_modify_qp(qp, &attr,
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
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = qpn,
				   .max_dest_rd_atomic = 4,
				   .ah_attr = {.port_num = 1}};
	struct ibv_port_attr p;

	assert_ok(ibv_query_port(ctx, 1, &p));
	attr.ah_attr.dlid = p.lid;
	if (p.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.ah_attr.is_global = 1;
		assert_ok(ibv_query_gid(ctx, 1, 3, &attr.ah_attr.grh.dgid));
		attr.ah_attr.grh.sgid_index = 3;
	}
	return attr;
}

static int to_rtr(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr attr = rtr_attr(peer->ctx, peer->qp->qp_num);

	if (e->qp->qp_type == IBV_QPT_UD)
		return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
	return ibv_modify_qp(e->qp, &attr, RTR_MASK);
}

static int to_rts_rnr(struct end *e, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = rnr_retry,
				   .max_rd_atomic = 4};

	return ibv_modify_qp(e->qp, &attr,
			     e->qp->qp_type == IBV_QPT_UD
				     ? IBV_QP_STATE | IBV_QP_SQ_PSN
				     : RTS_MASK);
}

static int to_state(struct ibv_qp *qp, enum ibv_qp_state s)
{
	struct ibv_qp_attr attr = {.qp_state = s};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* A sends to B as often as RNR_RETRY says; 7: for ever. */
static void connect_ends(uint8_t rnr_retry)
{
	assert_ok(to_init(a.qp));
	assert_ok(to_init(b.qp));
	assert_ok(to_rtr(&a, &b));
	assert_ok(to_rtr(&b, &a));
	assert_ok(to_rts_rnr(&a, rnr_retry));
	assert_ok(to_rts_rnr(&b, rnr_retry));
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

static struct ibv_send_wr signalled(uint64_t id, enum ibv_wr_opcode opcode)
{
	return (struct ibv_send_wr){
		.wr_id = id, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
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
	struct ibv_send_wr wr = signalled(77, op);

	wr.imm_data = htobe32(0x01020304);
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

	assert_ok(ibv_get_async_event(e->ctx, &ev));
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

static int setup(void **state)
{
	const struct fixture *fixture = *state;

	fv_reset();
	fv_devices_default(fixture->kind, 2);
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (fixture->stage == DEVICES)
		return 0;
	ends_open(fixture->stage == DATAGRAMS ? IBV_QPT_UD : IBV_QPT_RC);
	if (fixture->stage != ENDS)
		connect_ends(7);
	return 0;
}

static int teardown(void **state)
{
	if (a.ctx)
		ends_close();
	return fv_nothing_left(state);
}

#define T(name, kind, stage)                                          \
	static const struct fixture name##_from = {FV_##kind, stage}; \
	CASE_OF(name, void *no_state,                                 \
		CASE_ROW(name, "", setup, teardown, &name##_from))

/* ---- device ---- */

T(query__attributes_of_the_test, IB, DEVICES)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	fv_device_cfg_get(ctx->device)->attr.max_qp_wr = 99;
	assert_ok(ibv_query_device(ctx, &attr));
	assert_int_equal(attr.max_qp_wr, 99);
	assert_ok(ibv_query_device_ex(ctx, NULL, &ex));
	assert_int_equal(ex.orig_attr.max_qp_wr, 99);
	assert_ok(ibv_query_port(ctx, 1, &port));
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_true(port.lid != 0);
	assert_int_equal(ibv_query_port(ctx, 2, &port), EINVAL);
	assert_ok(ibv_query_gid(ctx, 1, 0, &gid));
	assert_int_equal(gid.raw[0], 0xfe);
	assert_int_equal(ibv_query_gid(ctx, 1, 1, &gid), -1);
	assert_ok(ibv_query_gid_ex(ctx, 1, 0, &entry, 0));
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_IB);
	assert_ok(ibv_query_pkey(ctx, 1, 0, &pkey));
	assert_int_equal(be16toh(pkey), 0xffff);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htobe16(0x8001)), -1);
	assert_ok(ibv_close_device(ctx));
}

T(query__old_abi_takes_plain_symbols, IB, DEVICES)
{
	struct fv_device_cfg cfg;
	struct ibv_device_attr_ex ex;
	struct ibv_port_attr port;
	struct ibv_context *ctx;

	fv_device_cfg_init(&cfg, FV_IB, "old", "10.1.0.1");
	cfg.old_abi = true;
	cfg.attr.phys_port_cnt = 2;
	fv_device_add(&cfg);
	ctx = open_dev(2);
	assert_ok(ibv_query_port(ctx, 2, &port));
	assert_int_equal(port.lid, cfg.port[1].attr.lid);
	assert_ok(ibv_query_device_ex(ctx, NULL, &ex));
	assert_int_equal(ex.orig_attr.phys_port_cnt, 2);
	assert_ok(ibv_close_device(ctx));
}

T(gid__roce_table_is_typed, ROCE, DEVICES)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_gid_entry e;

	assert_ok(ibv_query_gid_ex(ctx, 1, 2, &e, 0));
	assert_int_equal(e.gid_type, IBV_GID_TYPE_ROCE_V1);
	assert_ok(ibv_query_gid_ex(ctx, 1, 3, &e, 0));
	assert_int_equal(e.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(e.gid.raw[12], 10);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 4, &e, 0), EINVAL);
	assert_ok(ibv_close_device(ctx));
}

T(destroy__in_use_is_busy, IB, ENDS)
{
	assert_int_equal(ibv_dealloc_pd(a.pd), EBUSY);
	assert_int_equal(ibv_destroy_cq(a.cq), EBUSY);
	assert_int_equal(ibv_destroy_comp_channel(a.chan), EBUSY);
}

static void close_deadly(void *ctx)
{
	ibv_close_device(ctx);
}

T(close_device__with_objects_aborts, IB, ENDS)
{
	assert_true(dies(close_deadly, a.ctx));
}

T(live__counts_and_reset_frees, IB, ENDS)
{
	assert_int_equal(fv_live(), 12);
	fv_reset();
	assert_int_equal(fv_live(), 0);
	memset(&a, 0, sizeof(a));
}

/* ---- failure injection and trace ---- */

T(fake_verbs_fail_at__every_call_once, IB, DEVICES)
{
	unsigned int n;

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

T(fail_from__and_fail_call, IB, DEVICES)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_pd *pd;

	fv_fail_from(1, EIO);
	assert_null(ibv_alloc_pd(ctx));
	assert_null(ibv_alloc_pd(ctx));
	fv_fail_call("ibv_alloc_pd", 2, ENOMEM);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
	assert_null_errno(ibv_alloc_pd(ctx), ENOMEM);
	assert_ok(ibv_dealloc_pd(pd));
	assert_ok(ibv_close_device(ctx));
}

/* ---- memory ---- */

T(reg_mr__bad_arguments, IB, DEVICES)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	char buf[64];

	assert_null_errno(ibv_reg_mr(pd, buf, 0, 0), EINVAL);
	assert_null_errno(ibv_reg_mr(pd, buf, 64, IBV_ACCESS_REMOTE_WRITE),
			  EINVAL);
	assert_null_errno(
		ibv_reg_mr(pd, (void *)16, 64, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	assert_ok(ibv_dealloc_pd(pd));
	assert_ok(ibv_close_device(ctx));
}

T(reg_mr__zero_based, IB, CONNECTED)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct ibv_mr *mr;
	struct ibv_send_wr wr = signalled(5, IBV_WR_RDMA_WRITE);

	assert_null_errno(ibv_reg_mr_iova(b.pd, page + 100, 50, 0, ALL_ACCESS),
			  EINVAL);
	mr = ibv_reg_mr_iova(b.pd, page, 50, 0, ALL_ACCESS);
	assert_non_null(mr);
	wr.wr.rdma.remote_addr = 10;
	wr.wr.rdma.rkey = mr->rkey;
	a.buf[0] = 'Z';
	assert_ok(post_op(&a, &wr, 0, 1));
	expect_wc(&a, 5, IBV_WC_SUCCESS);
	assert_int_equal(page[10], 'Z');
	assert_ok(ibv_dereg_mr(mr));
}

static int bind_type1(struct end *e, struct ibv_mw *mw, uint32_t at,
		      uint32_t len)
{
	struct ibv_mw_bind bind = {
		.wr_id = 9,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {.mr = e->mr,
			      .addr = (uintptr_t)e->buf + at,
			      .length = len,
			      .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};

	return ibv_bind_mw(e->qp, mw, &bind);
}

T(bind_mw__holds_its_region, IB, CONNECTED)
{
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);

	assert_non_null(mw);
	assert_ok(bind_type1(&b, mw, 1000, 100));
	expect_wc(&b, 9, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(b.mr), EINVAL);
	assert_ok(ibv_dealloc_mw(mw));
}

T(bind_mw__outside_the_region, IB, CONNECTED)
{
	struct ibv_mw *mw;

	mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	assert_ok(bind_type1(&b, mw, 8000, 1000));
	expect_wc(&b, 9, IBV_WC_MW_BIND_ERR);
	assert_int_equal(fv_qp_state(b.qp), IBV_QPS_ERR);
	assert_ok(ibv_dealloc_mw(mw));
}

static void bind_type2(struct end *e, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = signalled(9, IBV_WR_BIND_MW);
	struct ibv_send_wr *bad;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info.mr = e->mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)e->buf;
	wr.bind_mw.bind_info.length = 64;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	assert_ok(ibv_post_send(e->qp, &wr, &bad));
}

T(bind_mw__type_2_and_send_with_inv, IB, CONNECTED)
{
	struct ibv_send_wr inv = signalled(3, IBV_WR_SEND_WITH_INV);
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t rkey;

	mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	rkey = ibv_inc_rkey(mw->rkey);
	bind_type2(&b, mw, rkey);
	expect_wc(&b, 9, IBV_WC_SUCCESS);
	post_rdma(&a, IBV_WR_RDMA_WRITE, &b, 0, 8, rkey);
	expect_wc(&a, 77, IBV_WC_SUCCESS);
	assert_ok(post_recv(&b, 1, 512, 64));
	inv.invalidate_rkey = rkey;
	assert_ok(post_op(&a, &inv, 0, 4));
	expect_wc(&a, 3, IBV_WC_SUCCESS);
	wc = expect_wc(&b, 1, IBV_WC_SUCCESS);
	assert_true(wc.wc_flags & IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	post_rdma(&a, IBV_WR_RDMA_WRITE, &b, 0, 8, rkey);
	expect_wc(&a, 77, IBV_WC_REM_ACCESS_ERR);
	assert_ok(ibv_dealloc_mw(mw));
}

T(local_inv__frees_a_type_2_window, IB, CONNECTED)
{
	struct ibv_send_wr inv = signalled(4, IBV_WR_LOCAL_INV);
	struct ibv_send_wr *bad;
	struct ibv_mw *mw;

	mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	inv.invalidate_rkey = ibv_inc_rkey(mw->rkey);
	bind_type2(&b, mw, inv.invalidate_rkey);
	expect_wc(&b, 9, IBV_WC_SUCCESS);
	assert_ok(ibv_post_send(b.qp, &inv, &bad));
	assert_int_equal(expect_wc(&b, 4, IBV_WC_SUCCESS).opcode,
			 IBV_WC_LOCAL_INV);
	/* nothing left to invalidate */
	assert_ok(ibv_post_send(b.qp, &inv, &bad));
	expect_wc(&b, 4, IBV_WC_LOC_QP_OP_ERR);
	assert_ok(ibv_dealloc_mw(mw));
}

/* ---- queue pair states ---- */

T(modify_qp__order_and_masks, IB, ENDS)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	assert_int_equal(to_rtr(&a, &b), EINVAL);
	assert_int_equal(to_state(a.qp, IBV_QPS_ERR), EINVAL);
	assert_int_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_PORT),
			 EINVAL);
	assert_ok(to_init(a.qp));
	assert_int_equal(a.qp->state, IBV_QPS_INIT);
	assert_ok(to_init(a.qp));
	assert_int_equal(to_rts_rnr(&a, 7), EINVAL);
	assert_ok(to_rtr(&a, &b));
	assert_ok(to_rts_rnr(&a, 7));
	assert_int_equal(to_init(a.qp), EINVAL);
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	assert_int_equal(to_rts_rnr(&a, 7), EINVAL);
	assert_ok(to_state(a.qp, IBV_QPS_RESET));
	assert_ok(to_init(a.qp));
}

T(modify_qp__values_are_checked, IB, ENDS)
{
	const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			 IBV_QP_ACCESS_FLAGS;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 2};

	assert_int_equal(ibv_modify_qp(a.qp, &attr, init), EINVAL);
	attr.port_num = 1;
	attr.pkey_index = 1;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, init), EINVAL);
	assert_ok(to_init(a.qp));
	attr = rtr_attr(a.ctx, 1);
	attr.path_mtu = IBV_MTU_4096; /* the port's active MTU is 2048 */
	assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
	attr = rtr_attr(a.ctx, 1);
	attr.max_dest_rd_atomic = 17;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
	attr = rtr_attr(a.ctx, 1);
	attr.ah_attr.dlid = 0;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
	assert_int_equal(a.qp->state, IBV_QPS_INIT);
}

T(modify_qp__roce_needs_a_grh, ROCE, ENDS)
{
	struct ibv_qp_attr attr;

	assert_ok(to_init(a.qp));
	attr = rtr_attr(a.ctx, 1);
	attr.ah_attr.is_global = 0;
	attr.ah_attr.dlid = 1;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
	attr = rtr_attr(a.ctx, 1);
	assert_ok(ibv_modify_qp(a.qp, &attr, RTR_MASK));
}

T(query_qp__tells_what_was_set, IB, ENDS)
{
	struct ibv_qp_init_attr in;
	struct ibv_qp_attr attr;

	connect_ends(5);
	assert_ok(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &in));
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, b.qp->qp_num);
	assert_int_equal(attr.rnr_retry, 5);
	assert_int_equal(in.cap.max_send_wr, 8);
	assert_ptr_equal(in.send_cq, a.cq);
}

T(create_qp__limits, IB, ENDS)
{
	struct ibv_qp_init_attr in;
	struct ibv_qp *qp;

	in = init_attr(&a, IBV_QPT_RC);
	in.cap.max_inline_data = 257;
	assert_null_errno(ibv_create_qp(a.pd, &in), EINVAL);
	in = init_attr(&a, IBV_QPT_RC);
	in.cap.max_send_sge = 17;
	assert_null(ibv_create_qp(a.pd, &in));
	fv_device_cfg_get(a.ctx->device)->round_up = true;
	in = init_attr(&a, IBV_QPT_RC);
	in.cap.max_send_wr = 5;
	qp = ibv_create_qp(a.pd, &in);
	assert_non_null(qp);
	assert_int_equal(in.cap.max_send_wr, 8);
	assert_int_equal(in.cap.max_inline_data, 256);
	assert_ok(ibv_destroy_qp(qp));
}

/* ---- send and receive ---- */

T(complete__names_what_it_was, IB, CONNECTED)
{
	static const struct {
		enum ibv_wr_opcode posted;
		enum ibv_wc_opcode done;
	} rows[] = {{IBV_WR_SEND, IBV_WC_SEND},
		    {IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
		    {IBV_WR_RDMA_READ, IBV_WC_RDMA_READ}};

	assert_ok(post_recv(&b, 2, 100, 64));
	for (int i = 0; i < 3; i++) {
		post_rdma(&a, rows[i].posted, &b, 0, 4, b.mr->rkey);
		assert_int_equal(expect_wc(&a, 77, IBV_WC_SUCCESS).opcode,
				 rows[i].done);
	}
	assert_int_equal(expect_wc(&b, 2, IBV_WC_SUCCESS).opcode, IBV_WC_RECV);
	expect_empty(&b);
}

T(send__waits_for_a_receive, IB, CONNECTED)
{
	assert_ok(post_send(&a, 1, 0, 4, IBV_SEND_SIGNALED));
	assert_ok(post_send(&a, 2, 0, 4, IBV_SEND_SIGNALED));
	expect_empty(&a);
	assert_ok(post_recv(&b, 8, 0, 64));
	expect_wc(&a, 1, IBV_WC_SUCCESS);
	expect_empty(&a);
	assert_ok(post_recv(&b, 9, 0, 64));
	expect_wc(&a, 2, IBV_WC_SUCCESS);
	expect_wc(&b, 8, IBV_WC_SUCCESS);
	expect_wc(&b, 9, IBV_WC_SUCCESS);
}

T(send__rnr_retries_exceeded, IB, ENDS)
{
	connect_ends(6);
	assert_ok(post_send(&a, 1, 0, 4, 0));
	expect_wc(&a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_ERR);
	assert_int_equal(a.qp->state, IBV_QPS_RTS);
}

T(send__receive_too_small, IB, CONNECTED)
{
	assert_ok(post_recv(&b, 2, 0, 3));
	assert_ok(post_send(&a, 1, 0, 4, 0));
	expect_wc(&b, 2, IBV_WC_LOC_LEN_ERR);
	expect_wc(&a, 1, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(fv_qp_state(b.qp), IBV_QPS_ERR);
}

T(send__bad_local_key, IB, CONNECTED)
{
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct ibv_sge s;

	assert_ok(post_recv(&b, 2, 0, 64));
	s = sge_of(&a, 8190, 4); /* two bytes over the end */
	wr.sg_list = &s;
	wr.num_sge = 1;
	assert_ok(ibv_post_send(a.qp, &wr, &bad));
	expect_wc(&a, 1, IBV_WC_LOC_PROT_ERR);
	expect_empty(&b);
}

T(send__receive_buffer_not_ours, IB, CONNECTED)
{
	struct ibv_recv_wr wr = {.wr_id = 2, .num_sge = 1};
	struct ibv_recv_wr *bad;
	struct ibv_sge s;

	s = sge_of(&b, 0, 64);
	s.lkey ^= 0x100;
	wr.sg_list = &s;
	assert_ok(ibv_post_recv(b.qp, &wr, &bad));
	assert_ok(post_send(&a, 1, 0, 4, 0));
	expect_wc(&b, 2, IBV_WC_LOC_PROT_ERR);
	expect_wc(&a, 1, IBV_WC_REM_OP_ERR);
}

T(send__inline_is_copied_when_posted, IB, CONNECTED)
{
	a.buf[0] = 'x';
	assert_ok(post_send(&a, 1, 0, 1, IBV_SEND_INLINE));
	a.buf[0] = 'y';
	assert_ok(post_recv(&b, 2, 0, 64));
	expect_wc(&b, 2, IBV_WC_SUCCESS);
	assert_int_equal(b.buf[0], 'x');
	assert_int_equal(post_send(&a, 1, 0, 65, IBV_SEND_INLINE), EINVAL);
}

T(send__wrong_address_never_arrives, IB, ENDS)
{
	struct ibv_qp_attr attr;

	to_init(a.qp);
	to_init(b.qp);
	attr = rtr_attr(b.ctx, b.qp->qp_num);
	attr.ah_attr.dlid++;
	assert_ok(ibv_modify_qp(a.qp, &attr, RTR_MASK));
	to_rtr(&b, &a);
	to_rts_rnr(&a, 7);
	assert_ok(post_send(&a, 1, 0, 4, 0));
	expect_wc(&a, 1, IBV_WC_RETRY_EXC_ERR);
}

/* A sends from GID FROM to GID TO (both IPv4) of B, which expects GID 3. */
static void roce_path(uint8_t from, uint8_t to, enum ibv_wc_status status)
{
	struct ibv_qp_attr attr;

	ends_open(IBV_QPT_RC);
	to_init(a.qp);
	to_init(b.qp);
	attr = rtr_attr(b.ctx, b.qp->qp_num);
	attr.ah_attr.grh.sgid_index = from;
	assert_ok(ibv_query_gid(b.ctx, 1, to, &attr.ah_attr.grh.dgid));
	assert_ok(ibv_modify_qp(a.qp, &attr, RTR_MASK));
	assert_ok(to_rtr(&b, &a));
	to_rts_rnr(&a, 7);
	assert_ok(post_recv(&b, 2, 0, 64));
	assert_ok(post_send(&a, 1, 0, 4, IBV_SEND_SIGNALED));
	expect_wc(&a, 1, status);
	if (status == IBV_WC_SUCCESS)
		expect_wc(&b, 2, IBV_WC_SUCCESS);
	ends_close();
}

T(send__roce_paths_of_both_ends_match, ROCE, DEVICES)
{
	struct fv_device_cfg *cfg[2];
	struct ibv_device **list = ibv_get_device_list(NULL);

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

T(send__waits_for_peer_to_be_ready, IB, ENDS)
{
	to_init(a.qp);
	to_init(b.qp);
	assert_ok(post_recv(&b, 2, 0, 64));
	to_rtr(&a, &b);
	to_rts_rnr(&a, 7);
	assert_ok(post_send(&a, 1, 0, 4, IBV_SEND_SIGNALED));
	expect_empty(&a);
	assert_ok(to_rtr(&b, &a));
	expect_wc(&a, 1, IBV_WC_SUCCESS);
	expect_wc(&b, 2, IBV_WC_SUCCESS);
}

T(send__peer_gone, IB, CONNECTED)
{
	assert_ok(post_send(&a, 1, 0, 4, 0));
	assert_ok(ibv_destroy_qp(b.qp));
	b.qp = NULL;
	expect_wc(&a, 1, IBV_WC_RETRY_EXC_ERR);
}

T(post__wrong_state_and_full_queue, IB, ENDS)
{
	assert_int_equal(post_recv(&a, 1, 0, 4), EINVAL);
	to_init(a.qp);
	assert_int_equal(post_send(&a, 1, 0, 4, 0), EINVAL);
	for (int i = 0; i < 8; i++)
		assert_ok(post_recv(&a, 1, 0, 4));
	assert_int_equal(post_recv(&a, 1, 0, 4), ENOMEM);
}

T(post__suppressed_slots_come_back_with_a_signalled_one, IB, CONNECTED)
{
	for (int i = 0; i < 8; i++)
		assert_ok(post_recv(&b, 1, 0, 4));
	for (int i = 0; i < 7; i++)
		assert_ok(post_send(&a, 1, 0, 4, 0));
	expect_empty(&a);
	assert_ok(post_send(&a, 2, 0, 4, IBV_SEND_SIGNALED));
	assert_int_equal(post_send(&a, 3, 0, 4, 0), ENOMEM);
	expect_wc(&a, 2, IBV_WC_SUCCESS);
	assert_ok(post_send(&a, 3, 0, 4, 0));
}

T(post__sig_all_signals_everything, IB, ENDS)
{
	struct ibv_qp_init_attr in;

	ibv_destroy_qp(a.qp);
	in = init_attr(&a, IBV_QPT_RC);
	in.sq_sig_all = 1;
	a.qp = ibv_create_qp(a.pd, &in);
	connect_ends(7);
	post_recv(&b, 1, 0, 4);
	assert_ok(post_send(&a, 1, 0, 4, 0));
	expect_wc(&a, 1, IBV_WC_SUCCESS);
}

T(post__chain_stops_at_the_bad_one, IB, CONNECTED)
{
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_sge s;

	s = sge_of(&a, 0, 4);
	memset(wr, 0, sizeof(wr));
	for (int i = 0; i < 3; i++) {
		wr[i].wr_id = (uint64_t)i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].sg_list = &s;
		wr[i].num_sge = i == 1 ? 5 : 1;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	post_recv(&b, 1, 0, 4);
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	expect_wc(&b, 1, IBV_WC_SUCCESS);
}

/* ---- RDMA and atomics ---- */

T(rdma__write_with_imm_takes_a_receive, IB, CONNECTED)
{
	struct ibv_wc wc;

	post_rdma(&a, IBV_WR_RDMA_WRITE_WITH_IMM, &b, 0, 4, b.mr->rkey);
	expect_empty(&a);
	assert_ok(post_recv(&b, 6, 0, 0));
	expect_wc(&a, 77, IBV_WC_SUCCESS);
	wc = expect_wc(&b, 6, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 4);
}

T(rdma__region_without_remote_access, IB, CONNECTED)
{
	struct ibv_mr *mr;

	mr = ibv_reg_mr(b.pd, b.buf, 64, IBV_ACCESS_REMOTE_READ);
	post_rdma(&a, IBV_WR_RDMA_READ, &b, 0, 4, mr->rkey);
	expect_wc(&a, 77, IBV_WC_SUCCESS);
	post_rdma(&a, IBV_WR_RDMA_WRITE, &b, 0, 4, mr->rkey);
	expect_wc(&a, 77, IBV_WC_REM_ACCESS_ERR);
	assert_ok(ibv_dereg_mr(mr));
}

T(rdma__queue_pair_without_remote_access, IB, CONNECTED)
{
	struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_READ};

	assert_ok(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS));
	post_rdma(&a, IBV_WR_RDMA_WRITE, &b, 0, 4, b.mr->rkey);
	expect_wc(&a, 77, IBV_WC_REM_ACCESS_ERR);
}

T(atomic__not_aligned, IB, CONNECTED)
{
	struct ibv_send_wr wr = signalled(1, IBV_WR_ATOMIC_FETCH_AND_ADD);

	wr.wr.atomic.remote_addr = (uintptr_t)b.buf + 1;
	wr.wr.atomic.rkey = b.mr->rkey;
	assert_ok(post_op(&a, &wr, 0, 8));
	expect_wc(&a, 1, IBV_WC_REM_INV_REQ_ERR);
}

/* ---- error and flush ---- */

T(error__flushes_all_in_order, IB, CONNECTED)
{
	uint64_t i;

	for (i = 0; i < 3; i++) {
		assert_ok(post_send(&a, 10 + i, 0, 4, 0));
		assert_ok(post_recv(&a, 20 + i, 0, 4));
	}
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	for (i = 0; i < 3; i++)
		expect_wc(&a, 10 + i, IBV_WC_WR_FLUSH_ERR);
	for (i = 0; i < 3; i++)
		expect_wc(&a, 20 + i, IBV_WC_WR_FLUSH_ERR);
	/* what is posted now flushes too */
	assert_ok(post_recv(&a, 30, 0, 4));
	expect_wc(&a, 30, IBV_WC_WR_FLUSH_ERR);
	assert_ok(post_send(&a, 31, 0, 4, 0));
	expect_wc(&a, 31, IBV_WC_WR_FLUSH_ERR);
}

/* A device whose receive queue is memory that it does not watch in ERR. */
T(error__late_receive_stays, IB, CONNECTED)
{
	fv_device_cfg_get(a.qp->context->device)->err_recv_stays = true;
	assert_ok(post_recv(&a, 1, 0, 4));
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	expect_wc(&a, 1, IBV_WC_WR_FLUSH_ERR);
	assert_ok(post_recv(&a, 2, 0, 4));
	assert_ok(post_send(&a, 3, 0, 4, 0));
	expect_wc(&a, 3, IBV_WC_WR_FLUSH_ERR);
	expect_empty(&a);
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	expect_wc(&a, 2, IBV_WC_WR_FLUSH_ERR);
}

/* One that flushes when it moves to ERR, and never again. */
T(error__is_final, IB, CONNECTED)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(a.qp->context->device);

	cfg->err_recv_stays = cfg->err_send_stays = cfg->err_is_final = true;
	assert_ok(post_recv(&a, 1, 0, 4));
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	expect_wc(&a, 1, IBV_WC_WR_FLUSH_ERR);
	assert_ok(post_recv(&a, 2, 0, 4));
	assert_ok(post_send(&a, 3, 0, 4, 0));
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	expect_empty(&a);
}

T(error__first_failure_flushes_the_rest, IB, CONNECTED)
{
	fv_pause(true);
	post_rdma(&a, IBV_WR_RDMA_WRITE, &b, 0, 4, 0x666);
	assert_ok(post_send(&a, 2, 0, 4, 0));
	expect_empty(&a);
	fv_pause(false);
	expect_wc(&a, 77, IBV_WC_REM_ACCESS_ERR);
	expect_wc(&a, 2, IBV_WC_WR_FLUSH_ERR);
}

T(reset__drops_silently_and_frees_slots, IB, CONNECTED)
{
	for (int i = 0; i < 8; i++)
		assert_ok(post_recv(&a, 1, 0, 4));
	assert_ok(to_state(a.qp, IBV_QPS_RESET));
	expect_empty(&a);
	assert_ok(to_init(a.qp));
	assert_ok(post_recv(&a, 2, 0, 4));
}

T(destroy_qp__stale_completions_stay, IB, CONNECTED)
{
	struct ibv_wc wc;

	fv_device_cfg_get(a.ctx->device)->takes_cqes_along = false;
	post_recv(&b, 2, 0, 4);
	post_send(&a, 1, 0, 4, IBV_SEND_SIGNALED);
	assert_ok(ibv_destroy_qp(a.qp));
	a.qp = NULL;
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 1);
}

T(destroy_qp__takes_completions_along, IB, CONNECTED)
{
	struct ibv_wc wc = {.wr_id = 3, .status = IBV_WC_SUCCESS};

	fv_device_cfg_get(a.ctx->device)->takes_cqes_along = true;
	fv_device_cfg_get(b.ctx->device)->takes_cqes_along = true;
	post_recv(&b, 2, 0, 4);
	post_send(&a, 1, 0, 4, IBV_SEND_SIGNALED);
	wc.qp_num = b.qp->qp_num;
	fv_cq_push(a.cq, &wc, false);
	assert_int_equal(fv_cq_depth(a.cq), 2);
	assert_ok(ibv_destroy_qp(a.qp));
	a.qp = NULL;
	/* Those of others stay. */
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 3);
	expect_empty(&a);
	post_recv(&b, 4, 0, 4);
	assert_ok(to_state(b.qp, IBV_QPS_ERR));
	assert_ok(to_state(b.qp, IBV_QPS_RESET));
	expect_empty(&b);
}

T(qp_error__flushes_late, IB, CONNECTED)
{
	fv_device_cfg_get(a.ctx->device)->flushes_late = true;
	post_recv(&a, 1, 0, 4);
	post_recv(&a, 2, 0, 4);
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	expect_empty(&a);
	expect_wc(&a, 1, IBV_WC_WR_FLUSH_ERR);
	expect_empty(&a);
	expect_wc(&a, 2, IBV_WC_WR_FLUSH_ERR);
	post_send(&a, 3, 0, 4, IBV_SEND_SIGNALED);
	expect_empty(&a);
	expect_wc(&a, 3, IBV_WC_WR_FLUSH_ERR);
	post_recv(&a, 4, 0, 4);
}

T(qp_error__by_the_device, IB, CONNECTED)
{
	post_recv(&a, 1, 0, 4);
	fv_qp_error(a.qp);
	expect_async(&a, IBV_EVENT_QP_FATAL);
	expect_wc(&a, 1, IBV_WC_WR_FLUSH_ERR);
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
}

/* ---- completion queues and channels ---- */

T(cq__overflow_raises_cq_err, IB, DEVICES)
{
	struct ibv_wc wc;

	end_open(&a, 0, IBV_QPT_RC, 2);
	end_open(&b, 1, IBV_QPT_RC, 64);
	connect_ends(7);
	for (int i = 0; i < 3; i++)
		post_recv(&b, 1, 0, 4);
	for (int i = 0; i < 3; i++)
		post_send(&a, (uint64_t)i, 0, 4, IBV_SEND_SIGNALED);
	expect_async(&a, IBV_EVENT_CQ_ERR);
	expect_async(&a, IBV_EVENT_QP_FATAL);
	expect_wc(&a, 0, IBV_WC_SUCCESS);
	expect_wc(&a, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), -1);
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_ERR);
}

T(cq__resize_keeps_entries, IB, CONNECTED)
{
	for (uint64_t i = 0; i < 3; i++) {
		post_recv(&b, 1, 0, 4);
		post_send(&a, i, 0, 4, IBV_SEND_SIGNALED);
	}
	assert_int_equal(ibv_resize_cq(a.cq, 2), EINVAL);
	assert_ok(ibv_resize_cq(a.cq, 3));
	assert_int_equal(a.cq->cqe, 3);
	for (uint64_t i = 0; i < 3; i++)
		expect_wc(&a, i, IBV_WC_SUCCESS);
}

static void take_cq_event(struct end *e)
{
	struct ibv_cq *cq = NULL;
	void *arg = NULL;

	assert_ok(ibv_get_cq_event(e->chan, &cq, &arg));
	assert_ptr_equal(cq, e->cq);
	assert_ptr_equal(arg, e);
	ibv_ack_cq_events(cq, 1);
}

T(notify__once_per_arm, IB, CONNECTED)
{
	struct ibv_cq *cq;
	void *arg;

	nonblock(b.chan->fd);
	assert_errno(ibv_get_cq_event(b.chan, &cq, &arg), EAGAIN);
	for (int i = 0; i < 4; i++)
		post_recv(&b, 1, 0, 4);
	post_send(&a, 1, 0, 4, 0);
	/* already there when armed: no event */
	assert_ok(ibv_req_notify_cq(b.cq, 0));
	assert_false(readable(b.chan->fd));
	post_send(&a, 1, 0, 4, 0);
	post_send(&a, 1, 0, 4, 0);
	assert_true(readable(b.chan->fd));
	take_cq_event(&b);
	assert_false(readable(b.chan->fd));
}

static void *wait_for_event(void *arg)
{
	take_cq_event(arg);
	return NULL;
}

T(notify__blocking_reader_wakes, IB, CONNECTED)
{
	pthread_t t;

	post_recv(&b, 1, 0, 4);
	assert_ok(ibv_req_notify_cq(b.cq, 0));
	assert_ok(pthread_create(&t, NULL, wait_for_event, &b));
	post_send(&a, 1, 0, 4, 0);
	assert_ok(pthread_join(t, NULL));
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

T(destroy_cq__unacked_event_aborts, IB, CONNECTED)
{
	post_recv(&b, 1, 0, 4);
	ibv_req_notify_cq(b.cq, 0);
	post_send(&a, 1, 0, 4, 0);
	assert_true(dies(destroy_cq_deadly, &b));
	/* an event nobody read goes with its CQ */
}

static void *ack_later(void *arg)
{
	ibv_ack_cq_events(arg, 1);
	return NULL;
}

T(destroy_cq__waits_for_a_late_ack, IB, CONNECTED)
{
	struct ibv_cq *cq;
	pthread_t t;
	void *arg;

	post_recv(&b, 1, 0, 4);
	ibv_req_notify_cq(b.cq, 0);
	post_send(&a, 1, 0, 4, 0);
	assert_ok(ibv_get_cq_event(b.chan, &cq, &arg));
	assert_ok(pthread_create(&t, NULL, ack_later, cq));
	ends_close();
	assert_ok(pthread_join(t, NULL));
}

/* ---- SRQ ---- */

/* B's queue pair, made anew, receives from a shared queue. */
static void connect_to_srq(uint32_t limit)
{
	struct ibv_srq_init_attr in = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_attr attr = {.srq_limit = limit};
	struct ibv_qp_init_attr qi;

	assert_ok(ibv_destroy_qp(b.qp));
	b.srq = ibv_create_srq(b.pd, &in);
	assert_non_null(b.srq);
	assert_ok(ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT));
	qi = init_attr(&b, IBV_QPT_RC);
	b.qp = ibv_create_qp(b.pd, &qi);
	assert_non_null(b.qp);
	connect_ends(7);
}

T(srq__receives_and_limit_event, IB, ENDS)
{
	struct ibv_srq_attr attr;

	connect_to_srq(2);
	nonblock(b.ctx->async_fd);
	for (uint64_t i = 0; i < 4; i++)
		assert_ok(post_recv(&b, i, 0, 4));
	assert_int_equal(post_recv(&b, 9, 0, 4), ENOMEM);
	post_send(&a, 1, 0, 4, 0);
	post_send(&a, 1, 0, 4, 0);
	assert_false(readable(b.ctx->async_fd));
	post_send(&a, 1, 0, 4, 0);
	expect_async(&b, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ok(ibv_query_srq(b.srq, &attr));
	assert_int_equal(attr.srq_limit, 0);
	expect_wc(&b, 0, IBV_WC_SUCCESS);
	expect_wc(&b, 1, IBV_WC_SUCCESS);
}

T(srq__last_wqe_and_no_flush, IB, ENDS)
{
	connect_to_srq(0);
	assert_ok(post_recv(&b, 1, 0, 4));
	assert_ok(to_state(b.qp, IBV_QPS_ERR));
	expect_async(&b, IBV_EVENT_QP_LAST_WQE_REACHED);
	expect_empty(&b);
	assert_int_equal(ibv_destroy_srq(b.srq), EBUSY);
}

T(srq__waiting_send_wakes, IB, ENDS)
{
	connect_to_srq(0);
	assert_ok(post_send(&a, 1, 0, 4, IBV_SEND_SIGNALED));
	expect_empty(&a);
	assert_ok(post_recv(&b, 1, 0, 4));
	expect_wc(&a, 1, IBV_WC_SUCCESS);
}

/* ---- UD ---- */

static struct ibv_ah *ah_to(struct end *e, struct end *to)
{
	struct ibv_ah_attr attr = rtr_attr(to->ctx, 0).ah_attr;
	struct ibv_ah *ah = ibv_create_ah(e->pd, &attr);

	assert_non_null(ah);
	return ah;
}

static int ud_send(struct ibv_ah *ah, uint32_t qkey, uint32_t len)
{
	struct ibv_send_wr wr = signalled(1, IBV_WR_SEND);

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	return post_op(&a, &wr, 0, len);
}

T(ud__datagram_and_its_losses, IB, DATAGRAMS)
{
	struct ibv_ah *ah;
	struct ibv_wc wc;

	ah = ah_to(&a, &b);
	strcpy(a.buf, "dgram");
	/* nobody listens: lost, and still completed */
	assert_ok(ud_send(ah, 0x1234, 6));
	expect_wc(&a, 1, IBV_WC_SUCCESS);
	assert_ok(post_recv(&b, 2, 0, 256));
	expect_empty(&b);
	assert_ok(ud_send(ah, 0x4321, 6));    /* wrong Q_Key */
	assert_ok(ud_send(ah, 0x1234, 4096)); /* over the MTU */
	expect_wc(&a, 1, IBV_WC_SUCCESS);
	expect_wc(&a, 1, IBV_WC_SUCCESS);
	expect_empty(&b);
	assert_ok(ud_send(ah, 0x1234, 6));
	wc = expect_wc(&b, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 46);
	assert_int_equal(wc.src_qp, a.qp->qp_num);
	assert_false(wc.wc_flags & IBV_WC_GRH);
	assert_string_equal(b.buf + 40, "dgram");
	assert_ok(ibv_destroy_ah(ah));
}

T(ud__roce_carries_a_grh_to_answer, ROCE, DATAGRAMS)
{
	struct ibv_ah *ah, *back;
	struct ibv_ah_attr bad = {.dlid = 1, .port_num = 1};
	struct ibv_wc wc;

	assert_null_errno(ibv_create_ah(a.pd, &bad), EINVAL);
	ah = ah_to(&a, &b);
	post_recv(&b, 2, 0, 256);
	assert_ok(ud_send(ah, 0x1234, 6));
	wc = expect_wc(&b, 2, IBV_WC_SUCCESS);
	assert_true(wc.wc_flags & IBV_WC_GRH);
	back = ibv_create_ah_from_wc(b.pd, &wc, (struct ibv_grh *)b.buf, 1);
	assert_non_null(back);
	assert_ok(ibv_destroy_ah(back));
	assert_ok(ibv_destroy_ah(ah));
}

static enum fv_verdict verdict(struct fv_ud_packet *pkt, void *arg)
{
	const enum fv_verdict *v = arg;

	pkt->data[0] = 'R';
	return *v;
}

T(ud__hook_drops_repeats_holds_rewrites, IB, DATAGRAMS)
{
	enum fv_verdict v = FV_DROP;
	struct ibv_ah *ah;

	ah = ah_to(&a, &b);
	for (int i = 0; i < 4; i++)
		post_recv(&b, 2, 0, 256);
	fv_hook_ud(verdict, &v);
	ud_send(ah, 0x1234, 6);
	assert_int_equal(fv_cq_depth(b.cq), 0);
	v = FV_DUP;
	ud_send(ah, 0x1234, 6);
	assert_int_equal(fv_cq_depth(b.cq), 2);
	assert_int_equal(b.buf[40], 'R');
	v = FV_HOLD;
	ud_send(ah, 0x1234, 6);
	assert_int_equal(fv_cq_depth(b.cq), 2);
	assert_int_equal(fv_ud_release(10), 1);
	assert_int_equal(fv_cq_depth(b.cq), 3);
	assert_ok(ibv_destroy_ah(ah));
}

/* ---- kinds ---- */

T(kinds__have_names, IB, DEVICES)
{
	for (int i = 0; i < FV_KINDS; i++) {
		const char *name = fv_kind_name((enum fv_kind)i);
		enum fv_kind kind = FV_KINDS;

		assert_true(fv_kind_find(name, strlen(name), &kind));
		assert_int_equal(kind, i);
		fv_reset();
		assert_true(fv_devices_named(name, 2));
	}
	assert_false(fv_devices_named("mlx", 1));
	assert_false(fv_devices_named("mlx5 ", 1));
	assert_false(fv_devices_named("mlx5+late+", 1));
	assert_false(fv_devices_named("mlx5+fast", 1));
	assert_true(fv_devices_named("qedr+restless+takes+slow", 1));
}

T(kinds__queues_that_do_not_grow, CXGB4, ENDS)
{
	assert_int_equal(ibv_resize_cq(a.cq, 128), -ENOSYS);
	assert_int_equal(a.cq->cqe, 64);
}

T(kinds__windows_that_only_flags_know, BNXT_RE, ENDS)
{
	struct ibv_device_attr attr;

	assert_ok(ibv_query_device(a.ctx, &attr));
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_null_errno(ibv_alloc_mw(a.pd, IBV_MW_TYPE_1), EOPNOTSUPP);
}

T(kinds__windows_of_one_type, IRDMA, ENDS)
{
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);

	assert_non_null(mw);
	assert_null_errno(ibv_alloc_mw(a.pd, IBV_MW_TYPE_2), EOPNOTSUPP);
	assert_ok(ibv_dealloc_mw(mw));
}

T(kinds__grants_and_takes_more, MLX5, ENDS)
{
	struct ibv_qp_init_attr in = init_attr(&a, IBV_QPT_RC);

	in.cap.max_recv_wr = 5;
	in.cap.max_recv_sge = 3;
	assert_ok(ibv_destroy_qp(a.qp));
	a.qp = ibv_create_qp(a.pd, &in);
	assert_non_null(a.qp);
	assert_int_equal(in.cap.max_recv_wr, 8);
	assert_int_equal(in.cap.max_recv_sge, 4);
	assert_ok(to_init(a.qp));
	for (unsigned int i = 0; i < 8; i++)
		assert_ok(post_recv(&a, i, 0, 4));
	assert_int_equal(post_recv(&a, 9, 0, 4), ENOMEM);
}

T(kinds__posts_in_error_are_refused, IRDMA, CONNECTED)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(a.ctx->device);

	cfg->err_refuses_posts = EIO;
	cfg->negative_errors = true;
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	assert_int_equal(post_send(&a, 1, 0, 4, IBV_SEND_SIGNALED), -EIO);
	assert_int_equal(post_recv(&a, 2, 0, 4), -EIO);
	expect_empty(&a);
}

static void poll_deadly(void *arg)
{
	struct end *e = arg;
	struct ibv_wc wc;

	ibv_poll_cq(e->cq, 1, &wc);
}

T(kinds__completion_without_its_queue_pair, QEDR, CONNECTED)
{
	post_recv(&a, 1, 0, 4);
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	assert_ok(ibv_destroy_qp(a.qp));
	a.qp = NULL;
	assert_int_equal(fv_cq_depth(a.cq), 1);
	assert_true(dies(poll_deadly, &a));
}

T(kinds__late_flush_is_announced, BNXT_RE, CONNECTED)
{
	struct ibv_cq *cq;
	void *context;

	post_recv(&a, 1, 0, 4);
	assert_ok(ibv_req_notify_cq(a.cq, 1));
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	assert_int_equal(fv_cq_depth(a.cq), 0);
	assert_ok(ibv_get_cq_event(a.chan, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	expect_empty(&a);
	expect_wc(&a, 1, IBV_WC_WR_FLUSH_ERR);
}

/* As bnxt_re_poll_cq() does: who asks for many is not told twice. */
T(kinds__late_flushes_fill_a_poll, BNXT_RE, CONNECTED)
{
	struct ibv_wc wc[8];

	for (uint64_t id = 1; id <= 5; id++)
		post_recv(&a, id, 0, 4);
	assert_ok(to_state(a.qp, IBV_QPS_ERR));
	expect_empty(&a);
	assert_int_equal(ibv_poll_cq(a.cq, 4, wc), 4);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(wc[i].wr_id, i + 1);
	expect_empty(&a);
	expect_wc(&a, 5, IBV_WC_WR_FLUSH_ERR);
}

/* What failed, and what was behind it; receives go on. */
T(kinds__datagrams_after_a_failed_one, MLX5_ROCE, DATAGRAMS)
{
	struct ibv_ah *ah = ah_to(&a, &b), *back = ah_to(&b, &a);
	struct ibv_send_wr wr = signalled(5, IBV_WR_SEND);

	fv_hold_sends(a.qp, true);
	assert_ok(ud_send(ah, 0x1234, 6));
	assert_ok(ud_send(ah, 0x1234, 6));
	fv_request_fails(a.qp, IBV_WC_LOC_QP_OP_ERR);
	expect_wc(&a, 1, IBV_WC_LOC_QP_OP_ERR);
	expect_wc(&a, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(fv_qp_state(a.qp), IBV_QPS_SQE);
	assert_ok(ud_send(ah, 0x1234, 6));
	expect_wc(&a, 1, IBV_WC_WR_FLUSH_ERR);
	assert_ok(post_recv(&a, 7, 0, 256));
	wr.wr.ud.ah = back;
	wr.wr.ud.remote_qpn = a.qp->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	assert_ok(post_op(&b, &wr, 0, 6));
	expect_wc(&b, 5, IBV_WC_SUCCESS);
	expect_wc(&a, 7, IBV_WC_SUCCESS);
	fv_hold_sends(a.qp, false);
	assert_ok(to_state(a.qp, IBV_QPS_RTS));
	assert_ok(post_recv(&b, 8, 0, 256));
	assert_ok(ud_send(ah, 0x1234, 6));
	expect_wc(&b, 8, IBV_WC_SUCCESS);
	assert_ok(ibv_destroy_ah(ah));
	assert_ok(ibv_destroy_ah(back));
}

T(kinds__restless, IB, CONNECTED)
{
	struct ibv_async_event ev;
	bool seen[32] = {false};

	fv_device_cfg_get(a.ctx->device)->restless = true;
	nonblock(a.ctx->async_fd);
	nonblock(b.ctx->async_fd);
	for (unsigned int i = 0; i < 100; i++)
		ibv_req_notify_cq(a.cq, 0);
	assert_false(readable(b.ctx->async_fd));
	while (!ibv_get_async_event(a.ctx, &ev)) {
		seen[ev.event_type] = true;
		ibv_ack_async_event(&ev);
	}
	assert_true(seen[IBV_EVENT_COMM_EST]);
	assert_true(seen[IBV_EVENT_PORT_ERR]);
	assert_true(seen[IBV_EVENT_GID_CHANGE]);
	assert_false(seen[IBV_EVENT_QP_LAST_WQE_REACHED]);
}

T(kinds__without_connected_queue_pairs, EFA, DEVICES)
{
	struct ibv_context *ctx = open_dev(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr in = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {1, 1, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp;

	assert_int_equal(ctx->device->transport_type,
			 IBV_TRANSPORT_UNSPECIFIED);
	assert_null_errno(ibv_create_qp(pd, &in), EOPNOTSUPP);
	in.qp_type = IBV_QPT_UD;
	qp = ibv_create_qp(pd, &in);
	assert_non_null(qp);
	assert_ok(ibv_destroy_qp(qp));
	assert_ok(ibv_destroy_cq(cq));
	assert_ok(ibv_dealloc_pd(pd));
	assert_ok(ibv_close_device(ctx));
}

T(kinds__queues_need_an_allocator, MANA, DEVICES)
{
	struct ibv_context *ctx = open_dev(0);

	assert_null_errno(ibv_create_cq(ctx, 4, NULL, NULL, 0), EINVAL);
	assert_ok(ibv_close_device(ctx));
}

/* ---- asynchronous events ---- */

static void destroy_qp_deadly(void *arg)
{
	struct end *e = arg;
	struct ibv_async_event ev;

	ibv_get_async_event(e->ctx, &ev);
	ibv_destroy_qp(e->qp);
}

T(async__unacked_event_holds_the_qp, IB, ENDS)
{
	fv_inject_async_qp(a.qp, IBV_EVENT_QP_FATAL);
	assert_true(dies(destroy_qp_deadly, &a));
	/* unread: goes with the QP */
	nonblock(a.ctx->async_fd);
	assert_ok(ibv_destroy_qp(a.qp));
	a.qp = NULL;
	assert_false(readable(a.ctx->async_fd));
}

RUN_CASES(NULL, NULL)
