/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * vb.h - the verbs layer: the only caller of libibverbs, data path included,
 * but for texts and the arithmetic of keys. The queue pair that a connection
 * manager has for itself is made, posted to and polled through here as any
 * other.
 *
 * It gives every call one error convention (0 or negative errno, outputs
 * written only on success), hides differences between devices (inline sizes,
 * link layers, optional calls) and knows no DAT object. The data path goes
 * through operations that are chosen per queue when it is made: verbs' own,
 * with verbs' conventions; another implementation, or one that counts, can
 * stand there.
 *
 * Threads: as verbs; all calls here may sleep in the kernel, so no lock of
 * ours is held across them except the CTL role (doc/locking.md).
 * Ownership: what a *_create() or *_open() hands out goes back through the
 * matching *_destroy() or *_close(), exactly once; those return void and log.
 */
#ifndef VB_H
#define VB_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct vb_dev {
	struct ibv_context *ctx;
	char name[IBV_SYSFS_NAME_MAX];
	uint8_t port;
	bool ethernet; /* link layer of the port */
	struct ibv_device_attr attr;
	struct ibv_port_attr port_attr;
	uint32_t max_inline; /* what a queue pair can be asked for; 0: none */
	uint32_t mtu;	     /* bytes, that the port has now */
	uint16_t pkey_index; /* for vb_qp_init(); 0 unless its user sets it */
	struct ibv_cq *siw_pad; /* see vb.c; NULL on other devices */
	/*
	 * What the device can do. vb_open() finds it out; nobody else asks
	 * which transport or driver this is.
	 */
	bool cq_resize;	  /* a completion queue can grow */
	bool immediate;	  /* requests that carry immediate data */
	bool datagrams;	  /* queue pairs of UD */
	bool atomics;	  /* atomic requests */
	bool partitions;  /* queue pairs belong to a P_Key and a port */
	bool zero_based;  /* a region's addresses may begin at 0 */
	bool read_writes; /* the sink of a read is open to remote writes */
	/*
	 * The kernel's iw_cm connects: it takes queue pairs beyond INIT by
	 * itself, and ends their streams after what was sent. Else the user
	 * moves them, with the attributes of a path.
	 */
	bool iw_cm;
	unsigned qp_access; /* all IBV_ACCESS_* that a queue pair takes */
	int max_read_sge;   /* segments of one read */
	/* And its ways, which no attribute tells. */
	bool posts_enter_kernel;   /* a post of a request is a system call */
	bool fears_empty_segments; /* see post_send_siw() */
	/* A queue that is armed for solicited completions only never fires. */
	bool ignores_solicited;
	/*
	 * A fenced read is refused. It needs no fence: here reads are answered
	 * one after the other, and none looks at what another has brought.
	 */
	bool unfenced_reads;
	/*
	 * What is posted behind a read completes when it is sent, before the
	 * read's answer has come. Programs go by the order of posts.
	 */
	bool overtakes_reads;
	/*
	 * What reached a queue pair in ERR may complete no sooner than that is
	 * destroyed.
	 */
	bool withholds_flushes;
	bool retry_7_infinite;	/* so many transport retries never end */
	bool wc_csum_means_inv; /* IBV_WC_IP_CSUM_OK is IBV_WC_WITH_INV */
};

/*
 * Opens device NAME and checks PORT. -ENODEV: no device of that name (or none
 * at all), -EINVAL: no such port, -EOPNOTSUPP: it makes no queue pairs of type
 * RC; other errors are the driver's. The async descriptor of the context is set
 * non-blocking.
 */
int vb_open(const char *name, uint8_t port, struct vb_dev *ret_dev);
void vb_close(struct vb_dev *dev);
/* When it was opened. */
bool vb_port_is_active(const struct vb_dev *dev);

/* For error texts (vb_names.c). All of them open devices and take their time.
 */

/*
 * Why vb_open() of NAME and PORT failed with ERR, and first what to do about
 * it. Returns what ERR should have been: -ENODEV, there is no such device;
 * -ENOENT or -ENXIO, programs have no way to it; -EACCES or -EPERM, this user
 * has not; or ERR.
 */
int vb_explain(const char *name, uint8_t port, int err, char *buf, size_t size);
/*
 * Names of the devices there are, eight at most, separated by blanks, those
 * whose first port is active first; behind others is why they are of no use.
 */
void vb_device_names(char *buf, size_t size);
/* vb_explain() of a device that cannot be opened; 0: there is none. */
int vb_unusable(char *why, size_t size);
/* What to do where the limit of locked memory can be why; false: it cannot. */
bool vb_locked_text(int err, char *buf, size_t size);
/* Opens the node at PATH and closes it: 0 or -errno. */
int vb_node_check(const char *path);
/* What to do where that was ERR; DRIVER is the module that the node is of. */
void vb_node_text(const char *path, int err, const char *driver, char *buf,
		  size_t size);

int vb_gid_get(const struct vb_dev *dev, int index, union ibv_gid *ret_gid);
/*
 * The GIDs of the port that are not null, in the order of their index. Returns
 * how many, with memory for free() if there are any; or -errno.
 */
int vb_gid_table(const struct vb_dev *dev, struct ibv_gid_entry **ret_gids);
/* Where PKEY is in the port's table; -ENOENT: nowhere. */
int vb_pkey_find(const struct vb_dev *dev, uint16_t pkey, uint16_t *ret_index);

/*
 * What the port counts under NAME, a file below its folder in sysfs. False: it
 * has no such count.
 */
bool vb_port_count(const struct vb_dev *dev, const char *name,
		   uint64_t *ret_value);

/*
 * The next asynchronous event; -EAGAIN when there is none. Each must be
 * acknowledged; destroying its object waits for that.
 */
int vb_async_get(struct vb_dev *dev, struct ibv_async_event *ret_event);
void vb_async_ack(struct ibv_async_event *event);

/*
 * 0 or a negative errno of what an operation of a queue returned: drivers give
 * errnos of either sign.
 */
static inline int vb_op_error(int ret)
{
	return ret > 0 ? -ret : ret;
}

int vb_pd_create(struct vb_dev *dev, struct ibv_pd **ret_pd);
void vb_pd_destroy(struct ibv_pd *pd);

/* The channel's descriptor is non-blocking. */
int vb_channel_create(struct vb_dev *dev, struct ibv_comp_channel **ret_chan);
void vb_channel_destroy(struct ibv_comp_channel *chan);

int vb_cq_create(struct vb_dev *dev, int cqe, struct ibv_comp_channel *chan,
		 void *context, struct ibv_cq **ret_cq);
/* -EOPNOTSUPP (also for ENOSYS) when the device cannot resize. */
int vb_cq_resize(struct ibv_cq *cq, int cqe);
void vb_cq_destroy(struct ibv_cq *cq);
/*
 * Takes the notifications of CQ that have come to its channel, or one of them,
 * which costs one system call: how many. -errno when there is none, and the
 * channel is of no use any more.
 */
int vb_cq_events_take(struct ibv_cq *cq, struct ibv_comp_channel *chan);
int vb_cq_event_take(struct ibv_cq *cq, struct ibv_comp_channel *chan);

struct vb_cq_ops {
	/* How many of N completions were read; or negative. */
	int (*poll)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
	/* Asks for a notification. See vb_op_error(). */
	int (*arm)(struct ibv_cq *cq, int solicited_only);
};

static inline struct vb_cq_ops vb_cq_ops_of(const struct ibv_cq *cq)
{
	const struct ibv_context_ops *ops = &cq->context->ops;

	return (struct vb_cq_ops){ops->poll_cq, ops->req_notify_cq};
}

/*
 * IOVA_ZERO: the region's addresses begin at 0, which takes a device that is
 * zero_based and an ADDR at the beginning of a page. ACCESS: IBV_ACCESS_*.
 */
int vb_mr_create(struct ibv_pd *pd, void *addr, size_t length, bool iova_zero,
		 int access, struct ibv_mr **ret_mr);
void vb_mr_destroy(struct ibv_mr *mr);

int vb_mw_create(struct ibv_pd *pd, enum ibv_mw_type type,
		 struct ibv_mw **ret_mw);
void vb_mw_destroy(struct ibv_mw *mw);

int vb_ah_create(struct ibv_pd *pd, const struct ibv_ah_attr *attr,
		 struct ibv_ah **ret_ah);
void vb_ah_destroy(struct ibv_ah *ah);

int vb_srq_create(struct ibv_pd *pd, uint32_t max_wr, uint32_t max_sge,
		  void *context, struct ibv_srq **ret_srq);
int vb_srq_resize(struct ibv_srq *srq, uint32_t max_wr);
int vb_srq_arm(struct ibv_srq *srq, uint32_t limit);
void vb_srq_destroy(struct ibv_srq *srq);

struct vb_srq_ops {
	/* See vb_op_error(). */
	int (*post_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **ret_bad);
};

static inline struct vb_srq_ops vb_srq_ops_of(const struct ibv_srq *srq)
{
	return (struct vb_srq_ops){srq->context->ops.post_srq_recv};
}

/* One change of a queue pair's state, and what goes with it. */
#define VB_QP_STEPS 3 /* INIT again, RTR, RTS */

struct vb_qp_step {
	struct ibv_qp_attr attr;
	int mask; /* with a state */
};

struct vb_qp_cfg {
	enum ibv_qp_type type;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq; /* or NULL */
	uint32_t max_send_wr, max_recv_wr;
	uint32_t max_send_sge, max_recv_sge;
	uint32_t max_inline; /* wish; lowered until the device takes it */
	void *context;
};

/* RET_INLINE gets the inline size that was granted. */
int vb_qp_create(struct ibv_pd *pd, const struct vb_qp_cfg *cfg,
		 struct ibv_qp **ret_qp, uint32_t *ret_inline);
/* Of every datagram queue pair, ours and the peers'. */
#define VB_UD_QKEY	0x78654321
#define VB_UD_FIRST_PSN 1
int vb_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
/* RESET to INIT, so that receives can be posted. ACCESS: IBV_ACCESS_REMOTE_*.
 */
int vb_qp_init(const struct vb_dev *dev, struct ibv_qp *qp, uint16_t pkey_index,
	       int access);
/* INIT to RTS, of a datagram queue pair, which needs no peer for that. */
int vb_qp_ready_ud(struct ibv_qp *qp);
/* Any state to ERR: everything posted is flushed. */
int vb_qp_error(struct ibv_qp *qp);
/* Whether it is there, by whatever has moved it. */
bool vb_qp_in_error(struct ibv_qp *qp);
/* Any state to RESET: everything posted is dropped without a completion. */
int vb_qp_reset(struct ibv_qp *qp);
void vb_qp_destroy(struct ibv_qp *qp);

struct vb_qp_ops {
	/* See vb_op_error(). */
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **ret_bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **ret_bad);
	/* A window of type 1. */
	int (*bind)(struct ibv_qp *qp, struct ibv_mw *mw,
		    struct ibv_mw_bind *bind);
};

/*
 * None ends a thread that is cancelled meanwhile: a driver that posts by a
 * system call holds locks over it. (One that is to be cancelled at any time may
 * end as such a post returns.)
 */
struct vb_qp_ops vb_qp_ops_of(const struct vb_dev *dev,
			      const struct ibv_qp *qp);

#endif
