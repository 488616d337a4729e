/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * vb.c - the verbs layer over libibverbs.
 *
 * Does not retry, wait or keep lists: each function is one request to the
 * device, except those that look for a size the device takes.
 * Threads and locks: none of its own; see vb.h.
 * Ownership: plain verbs objects go to the caller.
 * Rule: verbs report errors in three ways (NULL and errno, -1 and errno, a
 * positive number); the two helpers at the top make one of them.
 * Attributes of what is created are cleared by memset: rdma-core 33 takes what
 * pads them for the mask of the longer ones, which no initializer need clear.
 * Attribute values are those of the historic providers.
 */
#include "config.h"

#include "dapl/common/verbs/vb.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"

#define INLINE_PROBE	    1024     /* the most that is worth asking for */
#define SIW_VENDOR_ID	    0x626d74 /* soft iWARP */
#define RXE_VENDOR_ID	    0xffffff /* soft RoCE */
#define PATHSCALE_VENDOR_ID 0x1175   /* qib, hfi1 */
#define SIW_PAD_CQE	    20480    /* entries of 32 bytes: beyond 0x90000 */

/* After a call that returned NULL. Some drivers forget to set errno. */
static int null_error(void)
{
	return errno > 0 ? -errno : -EIO;
}

/* RET of a call that returns int; errno was 0 before it. */
static int int_error(int ret)
{
	if (ret == -1)
		return null_error();
	return ret > 0 ? -ret : ret;
}

static void log_destroy(const char *what, const void *obj, int ret)
{
	ret = int_error(ret);
	if (!ret)
		return;
	errno = -ret;
	dapl_log(DAPL_LOG_ERR, "%s %p: the device refused to destroy it: %m",
		 what, obj);
}

static int set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

/* Device. */

/* No verbs in the kernel is the same to a caller as no device. */
static int list_error(void)
{
	int ret = null_error();

	return ret == -ENOSYS || ret == -ENOENT ? -ENODEV : ret;
}

static int context_open(const char *name, struct ibv_context **ret_ctx)
{
	struct ibv_device **list;
	struct ibv_context *ctx;
	int ret = -ENODEV;
	int n = 0, i;

	errno = 0;
	list = ibv_get_device_list(&n);
	if (!list)
		return list_error();
	for (i = 0; i < n; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name))
			continue;
		errno = 0;
		ctx = ibv_open_device(list[i]);
		ret = ctx ? 0 : null_error();
		if (ctx)
			*ret_ctx = ctx;
		break;
	}
	ibv_free_device_list(list);
	return ret;
}

static int port_query(struct vb_dev *dev)
{
	struct ibv_port_attr attr;
	int ret;

	memset(&attr, 0, sizeof(attr));
	errno = 0;
	ret = int_error(ibv_query_port(dev->ctx, dev->port, &attr));
	if (ret)
		return ret;
	dev->port_attr = attr;
	dev->ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	return 0;
}

static int device_query(struct vb_dev *dev)
{
	int ret;

	errno = 0;
	ret = int_error(ibv_query_device(dev->ctx, &dev->attr));
	if (ret)
		return ret;
	if (dev->port < 1 || dev->port > dev->attr.phys_port_cnt)
		return -EINVAL;
	return port_query(dev);
}

/* That is all: the driver knows no such object, or none of this kind. */
static bool is_unsupported(int err)
{
	return err == -EOPNOTSUPP || err == -ENOSYS || err == -EINVAL;
}

/* 0 or -errno of a plain queue pair; how much goes inline no attribute tells.
 */
static int probe_qp(struct vb_dev *dev, struct ibv_pd *pd, struct ibv_cq *cq)
{
	const struct vb_qp_cfg cfg = {.type = IBV_QPT_RC,
				      .send_cq = cq,
				      .recv_cq = cq,
				      .max_send_wr = 1,
				      .max_recv_wr = 1,
				      .max_send_sge = 1,
				      .max_recv_sge = 1,
				      .max_inline = INLINE_PROBE};
	struct ibv_qp *qp = NULL;
	int ret;

	ret = vb_qp_create(pd, &cfg, &qp, &dev->max_inline);
	if (!ret)
		vb_qp_destroy(qp);
	return ret;
}

static bool makes_windows(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = NULL;
	int ret = vb_mw_create(pd, type, &mw);

	if (!ret)
		vb_mw_destroy(mw);
	return !is_unsupported(ret);
}

/*
 * What attributes do not tell, or drivers are not to be believed in: so each is
 * tried. -EOPNOTSUPP: the device makes no reliable connected queue pairs. One
 * that fails to for another reason says so again when it is asked for the first
 * endpoint.
 */
static int probe(struct vb_dev *dev)
{
	struct ibv_pd *pd = NULL;
	struct ibv_cq *cq = NULL;
	int ret;

	if (vb_pd_create(dev, &pd))
		return 0;
	ret = vb_cq_create(dev, 2, NULL, NULL, &cq);
	if (!ret) {
		ret = probe_qp(dev, pd, cq);
		if (dev->cq_resize)
			dev->cq_resize = vb_cq_resize(cq, 4) != -EOPNOTSUPP;
		vb_cq_destroy(cq);
	}
	/* The kernel's part of a driver has them, the library's may not. */
	if (dev->attr.max_mw && !makes_windows(pd, IBV_MW_TYPE_1) &&
	    !makes_windows(pd, IBV_MW_TYPE_2))
		dev->attr.max_mw = 0;
	vb_pd_destroy(pd);
	return is_unsupported(ret) ? -EOPNOTSUPP : 0;
}

/*
 * The library of soft iWARP takes the mmap offset 0x90000 of a queue for a
 * failure, and the kernel hands offsets out from 0 upwards, so that some
 * queue pair would not be created. A queue that lies across that offset from
 * the beginning keeps it from ever being the first of another one.
 */
static void siw_pad(struct vb_dev *dev)
{
	dev->siw_pad = ibv_create_cq(dev->ctx, SIW_PAD_CQE, NULL, NULL, 0);
	if (!dev->siw_pad)
		dapl_log(DAPL_LOG_WARN,
			 "%s: no padding queue: %m; creating some queue pair "
			 "may fail",
			 dev->name);
}

/*
 * Whether a post of requests is a write() to the device: of drivers without
 * hardware that a process could ring, and of qib and hfi1. Soft RoCE has no
 * number of its own before Linux 5.8: 0, which says nothing.
 */
static bool posts_enter_kernel(const struct ibv_device_attr *attr)
{
	switch (attr->vendor_id) {
	case RXE_VENDOR_ID:
	case SIW_VENDOR_ID:
	case PATHSCALE_VENDOR_ID:
		return true;
	default:
		return false;
	}
}

/*
 * The transport decides most of it: no attribute tells, or drivers are not to
 * be believed. Drivers of iWARP adapters resize no queue; the sink of an iWARP
 * read is one tagged buffer that the peer writes to.
 */
static void capabilities(struct vb_dev *dev)
{
	bool ib = dev->ctx->device->transport_type != IBV_TRANSPORT_IWARP;

	dev->iw_cm = !ib;
	dev->partitions = ib;
	dev->cq_resize = ib;
	dev->immediate = ib;
	dev->datagrams = ib;
	dev->mtu = 128u << dev->port_attr.active_mtu;
	dev->atomics = ib && dev->attr.atomic_cap != IBV_ATOMIC_NONE;
	dev->read_writes = !ib;
	dev->max_read_sge = ib ? dev->attr.max_sge : 1;
	dev->qp_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			 IBV_ACCESS_REMOTE_READ;
	if (ib)
		dev->qp_access |= IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	/*
	 * All drivers know the addresses of a region, but soft iWARP: it takes
	 * the wish and keeps its own.
	 */
	dev->zero_based = dev->attr.vendor_id != SIW_VENDOR_ID;
}

/* What no attribute tells. */
static void ways(struct vb_dev *dev)
{
	bool rxe = dev->attr.vendor_id == RXE_VENDOR_ID;

	dev->posts_enter_kernel = posts_enter_kernel(&dev->attr);
	/* Soft RoCE counts transport retries like those for receives. */
	dev->retry_7_infinite = rxe;
	/* And it passes the kernel's flags on, whose order is another one. */
	dev->wc_csum_means_inv = rxe;
	if (dev->attr.vendor_id != SIW_VENDOR_ID)
		return;
	siw_pad(dev);
	/* The driver completes every receive as one that was not solicited. */
	dev->ignores_solicited = true;
	dev->fears_empty_segments = true;
	dev->unfenced_reads = true;
	dev->overtakes_reads = true;
	dev->withholds_flushes = true;
}

int vb_open(const char *name, uint8_t port, struct vb_dev *ret_dev)
{
	struct vb_dev dev;
	int ret;

	memset(&dev, 0, sizeof(dev));
	ret = context_open(name, &dev.ctx);
	if (ret)
		return ret;
	snprintf(dev.name, sizeof(dev.name), "%s", name);
	dev.port = port;
	ret = set_nonblock(dev.ctx->async_fd);
	if (!ret)
		ret = device_query(&dev);
	if (ret) {
		vb_close(&dev);
		return ret;
	}
	capabilities(&dev);
	ways(&dev);
	ret = probe(&dev);
	if (ret) {
		vb_close(&dev);
		return ret;
	}
	*ret_dev = dev;
	return 0;
}

void vb_close(struct vb_dev *dev)
{
	if (dev->siw_pad)
		vb_cq_destroy(dev->siw_pad);
	errno = 0;
	log_destroy("device", dev->ctx, ibv_close_device(dev->ctx));
	dev->ctx = NULL;
}

bool vb_port_is_active(const struct vb_dev *dev)
{
	return dev->port_attr.state == IBV_PORT_ACTIVE ||
	       dev->port_attr.state == IBV_PORT_ACTIVE_DEFER;
}

int vb_gid_get(const struct vb_dev *dev, int index, union ibv_gid *ret_gid)
{
	union ibv_gid gid;
	int ret;

	errno = 0;
	ret = int_error(ibv_query_gid(dev->ctx, dev->port, index, &gid));
	if (!ret)
		*ret_gid = gid;
	return ret;
}

/* Of all ports, which is how the device tells them. 0 or more, or -errno. */
static ssize_t gids_query(const struct vb_dev *dev, struct ibv_gid_entry *gids,
			  size_t max)
{
	ssize_t n;

	errno = 0;
	n = ibv_query_gid_table(dev->ctx, gids, max, 0);
	return n < 0 ? int_error((int)n) : n;
}

int vb_gid_table(const struct vb_dev *dev, struct ibv_gid_entry **ret_gids)
{
	size_t max =
		(size_t)dev->port_attr.gid_tbl_len * dev->attr.phys_port_cnt;
	struct ibv_gid_entry *gids;
	ssize_t all;
	int n = 0;

	gids = calloc(max + 1, sizeof(*gids));
	if (!gids)
		return -ENOMEM;
	all = gids_query(dev, gids, max);
	for (ssize_t i = 0; i < all; i++)
		if (gids[i].port_num == dev->port)
			gids[n++] = gids[i];
	if (n) {
		*ret_gids = gids;
		return n;
	}
	free(gids);
	return all < 0 ? (int)all : 0;
}

int vb_pkey_find(const struct vb_dev *dev, uint16_t pkey, uint16_t *ret_index)
{
	int index = ibv_get_pkey_index(dev->ctx, dev->port, htobe16(pkey));

	/* Read to its end or to an error: the library does not tell. */
	if (index < 0)
		return -ENOENT;
	*ret_index = (uint16_t)index;
	return 0;
}

int vb_async_get(struct vb_dev *dev, struct ibv_async_event *ret_event)
{
	struct ibv_async_event event;
	int ret;

	errno = 0;
	ret = int_error(ibv_get_async_event(dev->ctx, &event));
	if (!ret)
		*ret_event = event;
	return ret;
}

void vb_async_ack(struct ibv_async_event *event)
{
	ibv_ack_async_event(event);
}

/* Protection domain, completion channel, completion queue. */

int vb_pd_create(struct vb_dev *dev, struct ibv_pd **ret_pd)
{
	struct ibv_pd *pd;

	errno = 0;
	pd = ibv_alloc_pd(dev->ctx);
	if (!pd)
		return null_error();
	*ret_pd = pd;
	return 0;
}

void vb_pd_destroy(struct ibv_pd *pd)
{
	errno = 0;
	log_destroy("protection domain", pd, ibv_dealloc_pd(pd));
}

int vb_channel_create(struct vb_dev *dev, struct ibv_comp_channel **ret_chan)
{
	struct ibv_comp_channel *chan;
	int ret;

	errno = 0;
	chan = ibv_create_comp_channel(dev->ctx);
	if (!chan)
		return null_error();
	ret = set_nonblock(chan->fd);
	if (ret) {
		vb_channel_destroy(chan);
		return ret;
	}
	*ret_chan = chan;
	return 0;
}

void vb_channel_destroy(struct ibv_comp_channel *chan)
{
	errno = 0;
	log_destroy("completion channel", chan, ibv_destroy_comp_channel(chan));
}

int vb_cq_create(struct vb_dev *dev, int cqe, struct ibv_comp_channel *chan,
		 void *context, struct ibv_cq **ret_cq)
{
	struct ibv_cq *cq;

	errno = 0;
	cq = ibv_create_cq(dev->ctx, cqe, context, chan, 0);
	if (!cq)
		return null_error();
	*ret_cq = cq;
	return 0;
}

int vb_cq_resize(struct ibv_cq *cq, int cqe)
{
	int ret;

	errno = 0;
	ret = int_error(ibv_resize_cq(cq, cqe));
	return ret == -ENOSYS ? -EOPNOTSUPP : ret;
}

void vb_cq_destroy(struct ibv_cq *cq)
{
	errno = 0;
	log_destroy("completion queue", cq, ibv_destroy_cq(cq));
}

int vb_cq_event_take(struct ibv_cq *cq, struct ibv_comp_channel *chan)
{
	struct ibv_cq *which;
	void *context;
	int ret;

	errno = 0;
	if (!ibv_get_cq_event(chan, &which, &context)) {
		ibv_ack_cq_events(cq, 1);
		return 1;
	}
	ret = null_error();
	return ret == -EAGAIN || ret == -EINTR ? 0 : ret;
}

int vb_cq_events_take(struct ibv_cq *cq, struct ibv_comp_channel *chan)
{
	int n = 0, ret;

	while ((ret = vb_cq_event_take(cq, chan)) > 0)
		n++;
	return n ? n : ret;
}

/* Memory. */

int vb_mr_create(struct ibv_pd *pd, void *addr, size_t length, bool iova_zero,
		 int access, struct ibv_mr **ret_mr)
{
	struct ibv_mr *mr;
	int ret;

	errno = 0;
	if (iova_zero)
		mr = ibv_reg_mr_iova(pd, addr, length, 0, access);
	else
		mr = ibv_reg_mr(pd, addr, length, access);
	if (!mr) {
		ret = null_error();
		return ret == -ENOSYS ? -EOPNOTSUPP : ret;
	}
	*ret_mr = mr;
	return 0;
}

void vb_mr_destroy(struct ibv_mr *mr)
{
	errno = 0;
	log_destroy("memory region", mr, ibv_dereg_mr(mr));
}

int vb_mw_create(struct ibv_pd *pd, enum ibv_mw_type type,
		 struct ibv_mw **ret_mw)
{
	struct ibv_mw *mw;
	int ret;

	errno = 0;
	mw = ibv_alloc_mw(pd, type);
	if (!mw) {
		ret = null_error();
		return ret == -ENOSYS ? -EOPNOTSUPP : ret;
	}
	*ret_mw = mw;
	return 0;
}

void vb_mw_destroy(struct ibv_mw *mw)
{
	errno = 0;
	log_destroy("memory window", mw, ibv_dealloc_mw(mw));
}

/* Address handle. On Ethernet the kernel may ask the neighbours for one. */

int vb_ah_create(struct ibv_pd *pd, const struct ibv_ah_attr *attr,
		 struct ibv_ah **ret_ah)
{
	struct ibv_ah_attr copy = *attr;
	struct ibv_ah *ah;

	errno = 0;
	ah = ibv_create_ah(pd, &copy);
	if (!ah)
		return null_error();
	*ret_ah = ah;
	return 0;
}

void vb_ah_destroy(struct ibv_ah *ah)
{
	errno = 0;
	log_destroy("address handle", ah, ibv_destroy_ah(ah));
}

/* Shared receive queue. */

int vb_srq_create(struct ibv_pd *pd, uint32_t max_wr, uint32_t max_sge,
		  void *context, struct ibv_srq **ret_srq)
{
	struct ibv_srq_init_attr attr;
	struct ibv_srq *srq;
	int ret;

	memset(&attr, 0, sizeof(attr));
	attr.srq_context = context;
	attr.attr.max_wr = max_wr;
	attr.attr.max_sge = max_sge;
	errno = 0;
	srq = ibv_create_srq(pd, &attr);
	if (!srq) {
		ret = null_error();
		return ret == -ENOSYS ? -EOPNOTSUPP : ret;
	}
	*ret_srq = srq;
	return 0;
}

static int srq_modify(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	int ret;

	errno = 0;
	ret = int_error(ibv_modify_srq(srq, attr, mask));
	return ret == -ENOSYS ? -EOPNOTSUPP : ret;
}

int vb_srq_resize(struct ibv_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = {.max_wr = max_wr};

	return srq_modify(srq, &attr, IBV_SRQ_MAX_WR);
}

int vb_srq_arm(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};

	return srq_modify(srq, &attr, IBV_SRQ_LIMIT);
}

void vb_srq_destroy(struct ibv_srq *srq)
{
	errno = 0;
	log_destroy("shared receive queue", srq, ibv_destroy_srq(srq));
}

/* Queue pair. */

/* Soft iWARP, its kernel or its library, makes no queue without entries. */
static uint32_t at_least_one(uint32_t entries)
{
	return entries ? entries : 1;
}

static int qp_try(struct ibv_pd *pd, const struct vb_qp_cfg *cfg,
		  uint32_t max_inline, struct ibv_qp **ret_qp,
		  uint32_t *ret_inline)
{
	struct ibv_qp_init_attr attr;
	struct ibv_qp *qp;

	/* Filled anew for each try: a driver may write to it and then fail. */
	memset(&attr, 0, sizeof(attr));
	attr.qp_context = cfg->context;
	attr.send_cq = cfg->send_cq;
	attr.recv_cq = cfg->recv_cq;
	attr.srq = cfg->srq;
	attr.cap.max_send_wr = at_least_one(cfg->max_send_wr);
	attr.cap.max_recv_wr =
		cfg->srq ? cfg->max_recv_wr : at_least_one(cfg->max_recv_wr);
	attr.cap.max_send_sge = cfg->max_send_sge;
	attr.cap.max_recv_sge = cfg->max_recv_sge;
	attr.cap.max_inline_data = max_inline;
	attr.qp_type = cfg->type;
	errno = 0;
	qp = ibv_create_qp(pd, &attr);
	if (!qp)
		return null_error();
	*ret_qp = qp;
	*ret_inline = attr.cap.max_inline_data;
	return 0;
}

/* The next lower power of two up to 1024: device limits lie near those. */
static uint32_t next_inline(uint32_t wish)
{
	uint32_t step = 1024;

	while (step >= wish)
		step /= 2;
	return step < 16 ? 0 : step;
}

/*
 * No error code says "less inline, please" and drivers use several, so each
 * refusal is tried again; the last try asks for none and its error is true.
 */
int vb_qp_create(struct ibv_pd *pd, const struct vb_qp_cfg *cfg,
		 struct ibv_qp **ret_qp, uint32_t *ret_inline)
{
	uint32_t wish = cfg->max_inline;
	int ret;

	for (;;) {
		ret = qp_try(pd, cfg, wish, ret_qp, ret_inline);
		if (!ret || !wish)
			return ret;
		wish = next_inline(wish);
	}
}

/*
 * The libraries of the soft devices fill the queue, and then tell the kernel.
 * When that has its reasons (soft iWARP: the connection has ended), the call
 * fails although the request is in the queue, and will complete; no request is
 * bad then.
 */
static int post_send_uncancelled(struct ibv_qp *qp, struct ibv_send_wr *wr,
				 struct ibv_send_wr **ret_bad)
{
	int was, ret;

	*ret_bad = NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	ret = qp->context->ops.post_send(qp, wr, ret_bad);
	pthread_setcancelstate(was, NULL);
	return *ret_bad ? ret : 0;
}

/*
 * Soft iWARP has no memory for an empty segment, and its kernel part goes there
 * all the same: that ends the host. So it gets none, where it would look. But a
 * read looks at its one segment even if it has none, and would find another
 * request's: it gets an empty one.
 */
#define SIW_SEGMENTS 6

static int post_send_siw(struct ibv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **ret_bad)
{
	struct ibv_sge full[SIW_SEGMENTS];
	struct ibv_send_wr slim = *wr;
	int i, ret;

	if (wr->num_sge > SIW_SEGMENTS || (wr->send_flags & IBV_SEND_INLINE))
		return post_send_uncancelled(qp, wr, ret_bad);
	slim.sg_list = full;
	slim.num_sge = 0;
	for (i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			full[slim.num_sge++] = wr->sg_list[i];
	if (wr->opcode == IBV_WR_RDMA_READ && !slim.num_sge) {
		memset(full, 0, sizeof(full[0]));
		slim.num_sge = 1;
	}
	ret = post_send_uncancelled(qp, &slim, ret_bad);
	*ret_bad = wr;
	return ret;
}

static int bind_uncancelled(struct ibv_qp *qp, struct ibv_mw *mw,
			    struct ibv_mw_bind *bind)
{
	int was, ret;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	ret = qp->context->ops.bind_mw(qp, mw, bind);
	pthread_setcancelstate(was, NULL);
	return ret;
}

struct vb_qp_ops vb_qp_ops_of(const struct vb_dev *dev, const struct ibv_qp *qp)
{
	const struct ibv_context_ops *ops = &qp->context->ops;

	if (dev->posts_enter_kernel)
		return (struct vb_qp_ops){
			.post_send = dev->fears_empty_segments
					     ? post_send_siw
					     : post_send_uncancelled,
			.post_recv = ops->post_recv,
			.bind = bind_uncancelled,
		};
	return (struct vb_qp_ops){ops->post_send, ops->post_recv, ops->bind_mw};
}

int vb_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	errno = 0;
	return int_error(ibv_modify_qp(qp, attr, mask));
}

int vb_qp_init(const struct vb_dev *dev, struct ibv_qp *qp, uint16_t pkey_index,
	       int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = pkey_index,
		.port_num = dev->port,
		.qp_access_flags = (unsigned)access,
		.qkey = VB_UD_QKEY,
	};
	int mask = IBV_QP_STATE;

	/* Without partitions the port comes with the connection. */
	if (dev->partitions)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	mask |= qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return vb_qp_modify(qp, &attr, mask);
}

static int qp_to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	return vb_qp_modify(qp, &attr, IBV_QP_STATE);
}

int vb_qp_ready_ud(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	int ret = vb_qp_modify(qp, &attr, IBV_QP_STATE);

	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = VB_UD_FIRST_PSN;
	return vb_qp_modify(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int vb_qp_error(struct ibv_qp *qp)
{
	return qp_to_state(qp, IBV_QPS_ERR);
}

bool vb_qp_in_error(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) &&
	       attr.qp_state == IBV_QPS_ERR;
}

int vb_qp_reset(struct ibv_qp *qp)
{
	return qp_to_state(qp, IBV_QPS_RESET);
}

void vb_qp_destroy(struct ibv_qp *qp)
{
	errno = 0;
	log_destroy("queue pair", qp, ibv_destroy_qp(qp));
}
