/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_verbs.h: the test side of the fake RDMA device and fake rdma_cm.
 * A unit test links libfakerdma.la instead of libibverbs and librdmacm; the
 * code under test calls the ordinary verbs, the test arranges the world here.
 * It does not imitate timing: what a real fabric does after a timeout happens
 * at once or, when told so, never.
 * Threads: every call is thread safe. Those that enter the kernel of a real
 * system are cancellation points, with nothing held. Hooks run with the fake's
 * lock held, so they must not call verbs, rdma_cm or fv_ functions. Ownership:
 * the fake owns devices; fv_reset() frees whatever is left. Rules: InfiniBand
 * specification vol. 1 ch. 10/11, verbs man pages.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FV_PORTS 2
#define FV_GIDS	 260 /* more than the 8 bits of an address vector name */
#define FV_PKEYS 4
#define FV_ADDRS 4

#define FV_RXE_VENDOR_ID 0xffffff
#define FV_SIW_VENDOR_ID 0x626d74

/* Rows of fake_kinds.c. */
enum fv_kind {
	FV_IB,	  /* InfiniBand link layer, LIDs */
	FV_ROCE,  /* Ethernet link layer, GIDs from the IP addresses */
	FV_IWARP, /* RNIC: the connection manager moves the QP */
	/* As drivers of Linux are: */
	FV_SIW,
	FV_RXE,
	FV_MLX5,
	FV_MLX5_ROCE,
	FV_MLX4,
	FV_IRDMA,
	FV_IRDMA_IWARP,
	FV_BNXT_RE,
	FV_HNS,
	FV_ERDMA,
	FV_QEDR,
	FV_CXGB4,
	/* These make no reliable connected queue pairs. */
	FV_EFA,
	FV_MANA,
	FV_KINDS
};

#define FV_MW_1	   1U
#define FV_MW_2	   2U
#define FV_MW_BOTH (FV_MW_1 | FV_MW_2)

struct fv_port_cfg {
	struct ibv_port_attr attr;
	union ibv_gid gid[FV_GIDS];
	enum ibv_gid_type gid_type[FV_GIDS];
	uint16_t pkey[FV_PKEYS];
	/* numeric IPv4/IPv6 text, at most FV_ADDRS; NULL ends the list */
	const char *addr[FV_ADDRS];
	uint32_t scope_id; /* of link-local IPv6 addresses; 0: any */
};

struct fv_device_cfg {
	char name[32];
	enum ibv_node_type node_type;
	enum ibv_transport_type transport_type;
	struct ibv_device_attr attr;
	struct fv_port_cfg port[FV_PORTS]; /* attr.phys_port_cnt are used */
	uint32_t max_inline;
	int num_comp_vectors;
	int read_sge;	  /* segments that a read takes, whatever attr says */
	int cqe_min;	  /* a completion queue has no fewer entries */
	int resize_error; /* of ibv_resize_cq(), of either sign; 0: can */
	int mw_errors[2]; /* of ibv_alloc_mw() of type 1, 2, or 0 */
	int srq_error, srq_resize_error, srq_limit_error;
	unsigned int mw_types; /* FV_MW_*, that can be had if attr says so */
	bool no_rc; /* no queue pairs of type RC, and rdma_cm does not know it
		     */
	bool cq_needs_allocator; /* no completion queue for anybody (mana) */
	bool queues_not_empty;	 /* work queues have entries (siw, erdma) */
	bool negative_errors;	 /* of posts (qedr, erdma, cxgb4, siw) */
	/* the errno that a post to a queue pair in ERR is refused with, or 0
	 * (cxgb4: EINVAL, erdma: EIO) */
	int err_refuses_posts;
	/*
	 * to poll a completion of a queue pair that was destroyed ends the
	 * program: the driver would look into freed memory (qedr)
	 */
	bool dangling_cqes;
	/* a datagram request that fails moves the queue pair to SQE, not ERR */
	bool ud_sqe;
	unsigned int blocks_ms; /* in each call that may sleep in the kernel */
	/* events that change nothing for a consumer come with every few calls
	 */
	bool restless;
	/* a queue armed for solicited completions never fires (siw) */
	bool ignores_solicited;
	/* successes are seen when a queue pair of their queue moves to ERR */
	bool late_completions;
	bool recv_needs_segment; /* one without is refused (siw) */
	/* a read has the segment at sg_list, whatever num_sge says (erdma) */
	bool read_has_segment;
	bool posts_enter_kernel; /* a post of requests can be cancelled in */
	/* grant more than asked for, and take as much, as hardware does */
	bool round_up;
	bool comm_est;	      /* raise COMM_EST on the first packet in RTR */
	bool unfenced_reads;  /* one with a fence is refused, EPERM (siw) */
	bool overtakes_reads; /* what is not fenced completes before (siw) */
	/* the kernel falls over one of a request that is not inline, and takes
	   another request's for a read that has none (siw) */
	bool empty_segment_panics;
	bool read_sink_rw; /* a read's sink needs remote write (iWARP) */
	/* a receive posted in ERR stays until the next modify to ERR (rxe) */
	bool err_recv_stays;
	bool err_send_stays; /* the same of requests (siw) */
	bool err_is_final;   /* that next modify flushes nothing (siw) */
	/*
	 * completions of a queue pair that is destroyed or reset leave its
	 * CQs, as drivers of adapters have it (the soft devices keep them)
	 */
	bool takes_cqes_along;
	/*
	 * flushes come one by one, each after a poll that found nothing, and
	 * the move to ERR notifies that there are some; what has not come by
	 * then the end of the queue pair takes along
	 */
	bool flushes_late;
	bool old_abi; /* no verbs_context: the inline helpers fall back */
	/* what pads attributes is a mask of more of them (rdma-core 33) */
	bool reads_padding;
};

/* Fills @cfg with a plausible one-port device of that kind. */
void fv_device_cfg_init(struct fv_device_cfg *cfg, enum fv_kind kind,
			const char *name, const char *addr);
/* Returns the device; it lives until fv_reset(). */
struct ibv_device *fv_device_add(const struct fv_device_cfg *cfg);
/* Changes attributes of a device that may already be open. */
struct fv_device_cfg *fv_device_cfg_get(struct ibv_device *dev);
/* Adds @n active IB devices or whatever kind: "fake0" 10.0.0.1, ... */
void fv_devices_default(enum fv_kind kind, int n);
/*
 * The same of the kind that TEXT begins with. After it can stand +late (see
 * flushes_late), +leaves or +takes (takes_cqes_along), +restless, and +slow,
 * which blocks a second. False: nothing is known by such a name.
 * "file:PATH" is the kind that a profile tells of, as dat_info(1) writes them;
 * what is wrong in it goes to stderr.
 */
bool fv_devices_named(const char *text, int n);
bool fv_device_cfg_load(struct fv_device_cfg *cfg, const char *path,
			const char *name, const char *addr);
const char *fv_kind_name(enum fv_kind kind);
bool fv_kind_find(const char *name, size_t len, enum fv_kind *ret_kind);

/*
 * SET puts other operations of the data path into the contexts that are opened
 * from now on, those of rdma_cm too; NULL: the fake's own. They see queues that
 * are made and connected here, whose completions are theirs to tell.
 */
void fv_data_path(void (*set)(struct ibv_context_ops *ops));

/* Forgets everything: devices, objects, hooks, failures, trace. */
void fv_reset(void);

/*
 * The n-th fallible call from now (1 is the next) fails with @err, once or
 * from then on. Destroying, polling and getting events are not counted.
 * n == 0 disarms. fv_fail_call() counts the calls of one function only.
 */
void fv_fail_at(unsigned int n, int err);
void fv_fail_from(unsigned int n, int err);
void fv_fail_call(const char *call, unsigned int n, int err);
/*
 * The next post of a request enters the queue, and then the kernel, which is to
 * be told so, says ERR: the call fails, and no request is bad (rxe, siw).
 */
void fv_doorbell_fails(int err);
/* Fallible calls since the failure was armed (or since reset). */
unsigned int fv_fail_count(void);
/* Whether the armed failure has happened: the end of an n-th-call loop. */
bool fv_fail_hit(void);

/* Objects a caller created and has not destroyed, un-acked events included. */
unsigned int fv_live(void);
void fv_live_dump(FILE *to);
/* A teardown: fails if there are any, tells which, and forgets everything. */
int fv_nothing_left(void **state);

/* The calls as text, one per line. The string is valid until the next call. */
void fv_trace(bool on);
const char *fv_trace_get(void);

/* Calls of that function never return; NULL: all do. For programs that end. */
void fv_hang(const char *call);

/*
 * FN is called once, by the next call of CALL before that does anything: on its
 * thread, and without a lock of the fake's.
 */
void fv_meanwhile(const char *call, void (*fn)(void *arg), void *arg);

/* Holds all data movement: posted requests stay outstanding. */
void fv_pause(bool on);
/*
 * The same for what QP sends: it takes requests as far as its queue has room,
 * and none of them ends.
 */
void fv_hold_sends(struct ibv_qp *qp, bool on);
/* How long a destroy waits for un-acked events before the test is aborted. */
void fv_ack_patience(unsigned int ms);

enum fv_verdict {
	FV_DELIVER,
	FV_DROP,
	FV_DUP,	 /* deliver twice */
	FV_HOLD, /* keep until fv_ud_release()/fv_cm_release() */
};

struct fv_ud_packet {
	uint32_t src_qpn;
	uint32_t dst_qpn;
	uint32_t len; /* may be changed, up to sizeof(data) */
	uint8_t data[4096];
};

typedef enum fv_verdict (*fv_ud_fn)(struct fv_ud_packet *pkt, void *arg);
void fv_hook_ud(fv_ud_fn fn, void *arg);
/* Delivers held packets, oldest first, at most @max; returns how many. */
unsigned int fv_ud_release(unsigned int max);

/*
 * RoCE: the kernel looks for the hardware address of the peer at GID, for an
 * address handle or a move to RTR. 0: found; an errno: the call fails with it;
 * FV_LOOKUP_HANGS: the call stays until fv_lookups_end().
 */
enum fv_lookup {
	FV_LOOKUP_AH,
	FV_LOOKUP_RTR
};
#define FV_LOOKUP_HANGS (-1)
typedef int (*fv_lookup_fn)(enum fv_lookup why, const union ibv_gid *gid,
			    void *arg);
void fv_hook_lookup(fv_lookup_fn fn, void *arg);
unsigned int fv_lookups_hanging(void);
/* All that hang now are over, with ERR (0: found). */
void fv_lookups_end(int err);

/*
 * The N-th fallible call from now, of whatever function, finds each open device
 * saying so. fv_event_came(): it has. N = 0 disarms.
 */
void fv_event_at(unsigned int n, enum ibv_event_type type, int port_num);
bool fv_event_came(void);
void fv_inject_async(struct ibv_context *ctx, enum ibv_event_type type,
		     int port_num);
void fv_inject_async_qp(struct ibv_qp *qp, enum ibv_event_type type);
void fv_inject_async_cq(struct ibv_cq *cq, enum ibv_event_type type);
void fv_inject_async_srq(struct ibv_srq *srq, enum ibv_event_type type);
/*
 * Connects two queue pairs in INIT, of any device that is no datagram's. On
 * iWARP the end of one is the end of the other.
 */
void fv_join(struct ibv_qp *a, struct ibv_qp *b);
/* The device itself moves the QP to ERR and flushes it. */
void fv_qp_error(struct ibv_qp *qp);
/*
 * The same where the queues themselves are lost: QP_FATAL is all that is said,
 * and nothing that was or is posted completes.
 */
void fv_qp_dies(struct ibv_qp *qp);
/* The QP whose oldest outstanding request begins with memory at ADDR; or NULL.
 */
struct ibv_qp *fv_qp_using(const void *addr);
/* The oldest request that is outstanding on the QP fails with @status. */
void fv_request_fails(struct ibv_qp *qp, enum ibv_wc_status status);
enum ibv_qp_state fv_qp_state(struct ibv_qp *qp);
/* Completions waiting in a CQ; a CQE of the test's own making. */
unsigned int fv_cq_depth(struct ibv_cq *cq);
void fv_cq_push(struct ibv_cq *cq, const struct ibv_wc *wc, bool solicited);

typedef enum fv_verdict (*fv_cm_fn)(struct rdma_cm_event *ev, void *arg);
/* Sees each event before it is queued; it may alter the event. */
void fv_cm_hook(fv_cm_fn fn, void *arg);
unsigned int fv_cm_release(unsigned int max);

enum fv_cm_option {
	FV_CM_ADDR_ERROR,   /* ADDR_ERROR with this status (e.g. -ETIMEDOUT) */
	FV_CM_ADDR_SILENT,  /* resolve_addr is never answered */
	FV_CM_ROUTE_ERROR,  /* ROUTE_ERROR with this status */
	FV_CM_ROUTE_SILENT, /* resolve_route is never answered */
	FV_CM_BLACKHOLE,    /* connection requests vanish */
	FV_CM_UNREACHABLE,  /* connect ends in UNREACHABLE with this status */
	FV_CM_REJECT,	    /* connect ends in REJECTED with this status */
	FV_CM_LOSE_REP,	    /* the acceptor's answer vanishes; of datagrams
			       that of who rejects, too */
	FV_CM_LOSE_RTU,	    /* the acceptor never hears of rdma_establish */
	FV_CM_LOSE_DREQ,    /* a disconnect is never answered */
	FV_CM_NO_QKEY,	    /* datagrams: an answer has the Q_Key 0 */
	FV_CM_REFUSE_SYNC,  /* iWARP: rdma_connect itself fails, as some do */
	FV_CM_PORT_TAKEN, /* iWARP: so many calls of rdma_connect fail first */
	FV_CM_TIMEWAIT,	  /* TIMEWAIT_EXIT follows DISCONNECTED (default 1) */
	FV_CM_OPTION_N
};
/* Stays until changed or fv_reset(); 0 switches off. */
void fv_cm_set(enum fv_cm_option opt, int value);
/* An address of this host that is on no RDMA device (bind gives ENODEV). */
void fv_cm_host_addr(const char *addr);
/* Queues an event of the test's own making, e.g. UNREACHABLE. */
void fv_cm_inject(struct rdma_cm_id *id, enum rdma_cm_event_type type,
		  int status);
/*
 * The kernel waits no longer, whoever it was waiting for: after so many
 * messages that had no answer it tells of each id what it tells then.
 */
void fv_cm_give_up(void);
/*
 * Who asked for a datagram endpoint and has had no answer asks once more,
 * unless the request was not answered yet. Returns how many did.
 */
unsigned int fv_cm_repeat(void);
/* DEVICE_REMOVAL for every id on the device. */
void fv_cm_device_removal(struct ibv_device *dev);

#endif
