/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_profile.c - what a device says, grants, refuses and does, as lines that
 * the fake device of the tests can be made of.
 *
 * Each fact is tried on the device, with objects that go again. What needs a
 * peer is not tried: reads, datagrams, windows that are bound.
 * Threads: one. Ownership: the caller's stream; a device is closed again.
 * Rule: dat_info(1), profiles; read by test/unit/fake/fake_profile.c.
 */
#include "dat/info/info.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEPTH	   5 /* no power of two: shows whether queues are made longer */
#define MOST_GIDS  256
#define MOST_BYTES 65536
#define MOST_CQES  1024 /* for twice what a queue may be made longer to */
/* For what the device does by itself. */
#define PATIENCE_MS 100

struct probe {
	FILE *f;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
};

static void put(const struct probe *p, const char *key, long long value)
{
	fprintf(p->f, "%s %lld\n", key, value);
}

/* ERR is an errno of either sign, as the call gave it; 0: it succeeded. */
static void put_error(const struct probe *p, const char *key, int err)
{
	fprintf(p->f, "%s %d", key, err);
	if (err)
		fprintf(p->f, " # %s", strerror(abs(err)));
	fputc('\n', p->f);
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/*
 * What the device and its port say.
 */

static void put_limits(const struct probe *p)
{
	const struct ibv_device_attr *a = &p->attr;

	put(p, "node_type", p->context->device->node_type);
	put(p, "transport_type", p->context->device->transport_type);
	put(p, "vendor_id", a->vendor_id);
	put(p, "vendor_part_id", a->vendor_part_id);
	fprintf(p->f, "max_mr_size %llu\n", (unsigned long long)a->max_mr_size);
	put(p, "device_cap_flags", a->device_cap_flags);
	put(p, "atomic_cap", a->atomic_cap);
	put(p, "max_qp", a->max_qp);
	put(p, "max_qp_wr", a->max_qp_wr);
	put(p, "max_sge", a->max_sge);
	put(p, "max_sge_rd", a->max_sge_rd);
	put(p, "max_cq", a->max_cq);
	put(p, "max_cqe", a->max_cqe);
	put(p, "max_mr", a->max_mr);
	put(p, "max_pd", a->max_pd);
	put(p, "max_mw", a->max_mw);
	put(p, "max_ah", a->max_ah);
	put(p, "max_qp_rd_atom", a->max_qp_rd_atom);
	put(p, "max_res_rd_atom", a->max_res_rd_atom);
	put(p, "max_qp_init_rd_atom", a->max_qp_init_rd_atom);
	put(p, "max_srq", a->max_srq);
	put(p, "max_srq_wr", a->max_srq_wr);
	put(p, "max_srq_sge", a->max_srq_sge);
	put(p, "link_layer", p->port.link_layer);
	put(p, "max_mtu", p->port.max_mtu);
	put(p, "active_mtu", p->port.active_mtu);
	put(p, "max_msg_sz", p->port.max_msg_sz);
	/* that of InfiniBand is a subnet's */
	put(p, "ethernet_lid",
	    p->port.link_layer == IBV_LINK_LAYER_ETHERNET ? p->port.lid : 0);
}

/* Not the address itself, which is nobody else's business. */
static const char *form_of(const union ibv_gid *gid)
{
	struct in6_addr addr;

	memcpy(&addr, gid->raw, sizeof(addr));
	return IN6_IS_ADDR_V4MAPPED(&addr)    ? "ipv4"
	       : IN6_IS_ADDR_LINKLOCAL(&addr) ? "link-local"
					      : "other";
}

static void put_gids(const struct probe *p)
{
	static const char *const types[] = {
		[IBV_GID_TYPE_IB] = "ib",
		[IBV_GID_TYPE_ROCE_V1] = "v1",
		[IBV_GID_TYPE_ROCE_V2] = "v2",
	};
	struct ibv_gid_entry e;

	for (uint32_t i = 0; i < MOST_GIDS; i++)
		if (!ibv_query_gid_ex(p->context, 1, i, &e, 0) &&
		    e.gid_type < INFO_COUNT(types))
			fprintf(p->f, "gid %u %s %s\n", i, types[e.gid_type],
				form_of(&e.gid));
}

/*
 * What can be made.
 */

static int window_error(const struct probe *p, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	errno = 0;
	mw = ibv_alloc_mw(p->pd, type);
	if (!mw)
		return errno ? errno : EIO;
	return ibv_dealloc_mw(mw);
}

static void put_windows(const struct probe *p)
{
	put_error(p, "mw_1_error", window_error(p, IBV_MW_TYPE_1));
	put_error(p, "mw_2_error", window_error(p, IBV_MW_TYPE_2));
}

static void put_srq(const struct probe *p)
{
	struct ibv_srq_init_attr init = {
		.attr = {.max_wr = DEPTH, .max_sge = 1}};
	struct ibv_srq_attr attr = {.max_wr = 4 * DEPTH, .srq_limit = 1};
	struct ibv_srq *srq = ibv_create_srq(p->pd, &init);
	int resize_error = 0, limit_error = 0;

	put_error(p, "srq_error", srq ? 0 : errno);
	if (srq) {
		resize_error = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
		limit_error = ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
		ibv_destroy_srq(srq);
	}
	put_error(p, "srq_resize_error", resize_error);
	put_error(p, "srq_limit_error", limit_error);
}

/* Leaves a queue for those that follow, or NULL. */
static int make_cq(struct probe *p)
{
	int least = 0, resize_error = 0, err;
	struct ibv_cq *cq;

	p->cq = ibv_create_cq(p->context,
			      p->attr.max_cqe < MOST_CQES ? p->attr.max_cqe
							  : MOST_CQES,
			      NULL, NULL, 0);
	err = p->cq ? 0 : errno;
	cq = ibv_create_cq(p->context, 1, NULL, NULL, 0);
	if (cq) {
		least = cq->cqe;
		resize_error = ibv_resize_cq(cq, 16 * DEPTH);
		ibv_destroy_cq(cq);
	}
	put_error(p, "cq_error", err);
	put(p, "cqe_min", least);
	put_error(p, "resize_error", resize_error);
	return err;
}

static struct ibv_qp *make_qp(const struct probe *p, uint32_t depth,
			      uint32_t bytes, struct ibv_qp_cap *ret_cap)
{
	struct ibv_qp_init_attr init = {
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.cap = {.max_send_wr = depth,
			.max_recv_wr = depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = bytes},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(p->pd, &init);

	if (qp)
		*ret_cap = init.cap;
	return qp;
}

/* The most bytes that a queue pair is made for. */
static uint32_t most_inline(const struct probe *p)
{
	uint32_t good = 0, bad = MOST_BYTES, most = 0;
	struct ibv_qp_cap cap;

	while (bad - good > 1) {
		uint32_t middle = good + (bad - good) / 2;
		struct ibv_qp *qp = make_qp(p, DEPTH, middle, &cap);

		if (!qp) {
			bad = middle;
			continue;
		}
		ibv_destroy_qp(qp);
		/* some take any number, and grant what they have */
		good = cap.max_inline_data > middle ? cap.max_inline_data
						    : middle;
		if (cap.max_inline_data > most)
			most = cap.max_inline_data;
		if (cap.max_inline_data < middle)
			break;
	}
	return most;
}

/*
 * What it does with a queue pair in ERR.
 */

static int move(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1};
	int mask = IBV_QP_STATE;

	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	return ibv_modify_qp(qp, &attr, mask);
}

static int post_recv(struct ibv_qp *qp, int num_sge, char *byte)
{
	struct ibv_sge sge = {.addr = (uintptr_t)byte, .length = 1};
	struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = num_sge};

	return ibv_post_recv(qp, &wr, &bad);
}

static int post_send(struct ibv_qp *qp)
{
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND};

	return ibv_post_send(qp, &wr, &bad);
}

/* Whether as many as N completions come. */
static bool come(const struct probe *p, int n)
{
	struct ibv_wc wc;

	for (int ms = 0; n > 0 && ms < PATIENCE_MS; ms++) {
		int got = ibv_poll_cq(p->cq, 1, &wc);

		n -= got > 0;
		if (!got)
			nap();
	}
	return n <= 0;
}

struct ways {
	int queues_not_empty, round_up, recv_needs_segment, negative_errors,
		flushes_late, err_refuses_posts, err_recv_stays, err_is_final,
		err_send_stays;
};

/* One that gets a queue pair with N receives into ERR, and what it shows. */
static void try_flush(const struct probe *p, struct ibv_qp *qp, int n,
		      struct ways *w)
{
	struct ibv_wc wc;
	char byte = 0;

	move(qp, IBV_QPS_ERR);
	for (int ms = 0; ms < PATIENCE_MS / 4; ms++)
		nap();
	if (ibv_poll_cq(p->cq, 1, &wc) == 1)
		n--;
	else
		w->flushes_late = 1;
	/* what never comes is not late */
	if (!come(p, n))
		w->flushes_late = 0;
	w->err_refuses_posts = abs(post_recv(qp, 1, &byte));
	if (w->err_refuses_posts)
		return;
	w->err_recv_stays = !come(p, 1);
	if (w->err_recv_stays) {
		move(qp, IBV_QPS_ERR);
		w->err_is_final = !come(p, 1);
	}
	if (!post_send(qp))
		w->err_send_stays = !come(p, 1);
}

static void try_qp(const struct probe *p, struct ways *w)
{
	struct ibv_qp_cap cap;
	struct ibv_qp *qp = make_qp(p, 0, 0, &cap);
	char byte = 0;
	int n = 0, err = 0;

	w->queues_not_empty = !qp;
	if (qp)
		ibv_destroy_qp(qp);
	qp = make_qp(p, DEPTH, 0, &cap);
	if (!qp)
		return;
	w->round_up = cap.max_recv_wr != DEPTH;
	if (!move(qp, IBV_QPS_INIT)) {
		w->recv_needs_segment = post_recv(qp, 0, NULL) != 0;
		n = !w->recv_needs_segment;
		while (n < MOST_CQES / 2 && !err) {
			err = post_recv(qp, 1, &byte);
			n += !err;
		}
		w->negative_errors = err < 0;
		try_flush(p, qp, n, w);
	}
	ibv_destroy_qp(qp);
}

static void put_ways(const struct probe *p, const struct ways *w)
{
	put(p, "queues_not_empty", w->queues_not_empty);
	put(p, "round_up", w->round_up);
	put(p, "recv_needs_segment", w->recv_needs_segment);
	put(p, "negative_errors", w->negative_errors);
	put(p, "flushes_late", w->flushes_late);
	put_error(p, "err_refuses_posts", w->err_refuses_posts);
	put(p, "err_recv_stays", w->err_recv_stays);
	put(p, "err_is_final", w->err_is_final);
	put(p, "err_send_stays", w->err_send_stays);
}

/* Whether completions of a queue pair that was destroyed are still there. */
static bool leaves(const struct probe *p)
{
	struct ibv_qp_cap cap;
	struct ibv_qp *qp = make_qp(p, DEPTH, 0, &cap);
	char byte = 0;

	if (!qp)
		return false;
	if (!move(qp, IBV_QPS_INIT)) {
		post_recv(qp, 1, &byte);
		move(qp, IBV_QPS_ERR);
		for (int ms = 0; ms < PATIENCE_MS / 4; ms++)
			nap();
	}
	ibv_destroy_qp(qp);
	return come(p, 1);
}

static int open_probe(struct ibv_device *device, struct probe *p)
{
	int err;

	p->context = ibv_open_device(device);
	if (!p->context)
		return errno ? errno : EIO;
	err = ibv_query_device(p->context, &p->attr);
	if (!err)
		err = ibv_query_port(p->context, 1, &p->port);
	if (!err) {
		p->pd = ibv_alloc_pd(p->context);
		err = p->pd ? 0 : errno;
	}
	if (err)
		ibv_close_device(p->context);
	return err;
}

static void close_probe(struct probe *p)
{
	if (p->cq)
		ibv_destroy_cq(p->cq);
	ibv_dealloc_pd(p->pd);
	ibv_close_device(p->context);
}

/*
 * In a child: a driver may look for the queue pair of such a completion in
 * memory that is freed.
 */
static void put_purge(const struct probe *p)
{
	int status = 0;
	pid_t pid;

	fflush(p->f);
	pid = fork();
	if (!pid) {
		struct probe own = {.f = p->f};
		bool left = false;

		if (!open_probe(p->context->device, &own)) {
			own.cq = ibv_create_cq(own.context, 16 * DEPTH, NULL,
					       NULL, 0);
			left = own.cq && leaves(&own);
		}
		_exit(left);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	put(p, "takes_cqes_along", !status);
	put(p, "dangling_cqes", WIFSIGNALED(status));
}

static void profile(struct probe *p)
{
	struct ways ways = {0};
	struct ibv_qp_cap cap;
	struct ibv_qp *qp;
	int err;

	fprintf(p->f, "dat_info-profile 1\n");
	put_limits(p);
	put_gids(p);
	put_windows(p);
	put_srq(p);
	err = make_cq(p);
	if (!err) {
		qp = make_qp(p, DEPTH, 0, &cap);
		err = qp ? 0 : errno;
		if (qp)
			ibv_destroy_qp(qp);
	}
	put_error(p, "rc_error", err);
	if (!err)
		try_qp(p, &ways);
	put(p, "max_inline", err ? 0 : most_inline(p));
	put_ways(p, &ways);
	put_purge(p);
}

int info_profile(FILE *f, const char *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct probe p = {.f = f};
	int err = ENODEV;

	for (size_t i = 0; list && list[i] && err == ENODEV; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			err = open_probe(list[i], &p);
	if (!err) {
		profile(&p);
		close_probe(&p);
	}
	if (list)
		ibv_free_device_list(list);
	if (!err)
		return INFO_PASSED;
	fprintf(stderr, "dat_info: device %s cannot be used: %s\n", device,
		strerror(err));
	return INFO_FAILED;
}
