/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fake_int.h: what the files of the fake share among themselves.
 * Not for tests: those include fake_verbs.h.
 * Locks: one mutex, fv__lock, guards everything; every fv__ function that
 * takes or returns an object expects it held, unless it says otherwise.
 * Ownership: each object begins life in the global list (struct fv_obj) and
 * leaves it in its destroy call or in fv_reset().
 * Rules: InfiniBand specification vol. 1; struct layouts of verbs.h.
 */
#ifndef FAKE_INT_H
#define FAKE_INT_H

#include "fake_verbs.h"
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#define fv_container(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define FV_SGE 64 /* the most scatter/gather entries any device offers */

struct fv_link {
	struct fv_link *next, *prev;
};

static inline void fv_link_init(struct fv_link *l)
{
	l->next = l->prev = l;
}

static inline bool fv_link_empty(const struct fv_link *l)
{
	return l->next == l;
}

static inline void fv_link_add(struct fv_link *head, struct fv_link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void fv_link_del(struct fv_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	fv_link_init(l);
}

enum fv_obj_kind {
	FV_OBJ_LIST,
	FV_OBJ_CTX,
	FV_OBJ_PD,
	FV_OBJ_MR,
	FV_OBJ_MW,
	FV_OBJ_AH,
	FV_OBJ_CHAN,
	FV_OBJ_CQ,
	FV_OBJ_SRQ,
	FV_OBJ_QP,
	FV_OBJ_CM_CHAN,
	FV_OBJ_CM_ID,
	FV_OBJ_CM_EVENT,
	FV_OBJ_ADDRINFO,
	FV_OBJ_N
};

struct fv_obj {
	struct fv_link link;
	enum fv_obj_kind kind;
	uint32_t num;	     /* handle, also what the dump prints */
	unsigned int refs;   /* objects that need this one */
	unsigned int events; /* delivered and not yet acked */
	bool hidden;	     /* the fake's own, not counted as live */
	void (*free)(struct fv_obj *obj);
};

/* A queue behind a descriptor that polls readable while it is not empty. */
struct fv_queue {
	int fd;
	struct fv_link items;
};

struct fv_device {
	struct ibv_device dev;
	struct fv_device_cfg cfg;
	struct fv_link link;
	struct fv_context *cm_ctx; /* what rdma_cm shows as id->verbs */
};

struct fv_context {
	struct fv_obj obj;
	struct fv_device *fdev;
	struct fv_queue async;
	struct verbs_context v; /* v.context is last in it */
};

struct fv_pd {
	struct fv_obj obj;
	struct ibv_pd pd;
};

struct fv_mr {
	struct fv_obj obj;
	struct ibv_mr mr;
	uint64_t iova;
	unsigned int access;
	unsigned int windows;
};

struct fv_mw {
	struct fv_obj obj;
	struct ibv_mw mw;
	struct fv_mr *mr; /* NULL while not bound */
	struct fv_qp *qp; /* type 2: the one that bound it */
	uint32_t key;	  /* what the device accepts; mw.rkey is the caller's */
	uint64_t addr;
	uint64_t length;
	unsigned int access;
};

struct fv_ah {
	struct fv_obj obj;
	struct ibv_ah ah;
	struct ibv_ah_attr attr;
};

struct fv_chan {
	struct fv_obj obj;
	struct ibv_comp_channel chan;
	struct fv_queue q;
};

struct fv_cqe {
	struct ibv_wc wc;
	uint32_t qp_gen;     /* frees queue slots only of the same QP life */
	unsigned int send_n; /* send queue slots this entry frees */
	unsigned int recv_n;
	uint32_t srq_num;
};

enum fv_arm {
	FV_ARM_NONE,
	FV_ARM_SOLICITED,
	FV_ARM_ANY
};

struct fv_cq {
	struct fv_obj obj;
	struct ibv_cq cq;
	struct fv_cqe *ring;
	unsigned int head, count, size;
	unsigned int late; /* of count, the newest: not to be seen yet */
	enum fv_arm arm;
	bool overrun;
	struct fv_link events; /* of struct fv_cq_event, still in the channel */
	unsigned int async_events;
};

struct fv_cq_event {
	struct fv_link link;  /* in the channel */
	struct fv_link of_cq; /* in the CQ */
	struct fv_cq *cq;
};

struct fv_async {
	struct fv_link link;
	struct ibv_async_event ev;
};

struct fv_recv {
	struct fv_link link;
	uint64_t wr_id;
	int num_sge;
	struct ibv_sge sge[FV_SGE];
};

struct fv_rq {
	struct fv_link wqes; /* of struct fv_recv, oldest first */
	unsigned int count;  /* in the list */
	unsigned int used;   /* slots not yet free: the list and un-polled */
	unsigned int max_wr;
	unsigned int max_sge;
};

struct fv_srq {
	struct fv_obj obj;
	struct ibv_srq srq;
	struct fv_rq rq;
	unsigned int limit;
};

struct fv_send {
	struct fv_link link;
	struct ibv_send_wr wr;
	struct ibv_sge sge[FV_SGE];
	uint8_t *data;	   /* inline: copied when posted */
	uint32_t data_len; /* inline: how much */
};

struct fv_qp {
	struct fv_obj obj;
	struct ibv_qp qp;
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr;
	bool sq_sig_all;
	uint32_t gen;
	uint32_t born;	      /* its first gen */
	struct fv_link sends; /* of struct fv_send, not yet executed */
	struct fv_link stalled;
	unsigned int sq_used;	/* slots not yet free */
	unsigned int sq_silent; /* executed unsignalled, freed by a later CQE */
	struct fv_rq rq;
	uint32_t peer_qpn;   /* iWARP: bound by the connection manager */
	unsigned int moving; /* threads inside a change of its state */
	bool in_error;	     /* event raised, flush done or late */
	bool got_packet;
	bool held;   /* sends stay outstanding */
	bool joined; /* by fv_join() */
	bool mute;   /* in ERR without a flush, until RESET */
};

extern pthread_mutex_t fv__lock;
extern struct fv_link fv__devices;
extern struct fv_link fv__stalled;
extern bool fv__paused;

/* fake_core.c */
void fv__enter(void);
void fv__leave(void);
/* Unlock, and are what a call returns: RET, or NULL with ERR in errno. */
int fv__done(int ret);
void *fv__refuse(int err);
/* Locks; returns 0, or the errno to fail with (then unlocked again). */
int fv__call(const char *name);
/* Locks and traces, never fails: for destroy and poll calls. */
void fv__call_sure(const char *name);
void fv__trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fv__die(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
void *fv__new(size_t size, size_t obj_offset, enum fv_obj_kind kind,
	      void (*free_obj)(struct fv_obj *obj));
#define fv_new(type, kind, fn) \
	((type *)fv__new(sizeof(type), offsetof(type, obj), kind, fn))
void fv__drop(struct fv_obj *obj);
struct fv_obj *fv__find(enum fv_obj_kind kind, uint32_t num);
struct fv_obj *fv__next(enum fv_obj_kind kind, struct fv_obj *after);
#define fv_for_each(obj, kind)                      \
	for ((obj) = fv__next((kind), NULL); (obj); \
	     (obj) = fv__next((kind), (obj)))
/* Waits, lock held, until *count is 0; aborts the test when it does not. */
void fv__wait_acked(unsigned int *count, const char *what);
void fv__acked(void);
int fv__queue_init(struct fv_queue *q);
void fv__queue_fini(struct fv_queue *q);
void fv__queue_push(struct fv_queue *q, struct fv_link *item);
void fv__queue_del(struct fv_queue *q, struct fv_link *item);
/* Called locked, returns locked; NULL with errno when there is none. */
struct fv_link *fv__queue_get(struct fv_queue *q);
void *fv__zalloc(size_t size);
uint32_t fv__pow2(uint32_t n);

/* fake_dev.c */
struct fv_context *fv__context(struct ibv_context *ctx);
struct fv_device *fv__device(struct ibv_context *ctx);
struct fv_port_cfg *fv__port(struct ibv_context *ctx, unsigned int port);
/* NULL with errno when the process has no descriptor left. */
struct fv_context *fv__context_new(struct fv_device *fdev, bool hidden);
void fv__async(struct ibv_context *ctx, const struct ibv_async_event *ev);
void fv__async_purge(struct ibv_context *ctx, const void *element);
void fv__devices_reset(void);
/* The time that a call of a slow device takes; the lock is free meanwhile. */
void fv__block(struct ibv_context *ctx);
bool fv__is_iwarp(struct ibv_context *ctx);
/* Does the device take what is BEHIND the members of INIT, END bytes long? */
bool fv__padding_taken(struct ibv_context *ctx, const void *init, size_t end,
		       const void *behind);
int fv__gid_index(const struct fv_port_cfg *p, const union ibv_gid *gid);
int fv__check_av(struct ibv_context *ctx, const struct ibv_ah_attr *av);

/* fake_event.c: what a restless device has to say, now and then */
void fv__restless(void);
void fv__event_reset(void);

/* fake_mr.c */
struct ibv_mw *fv__alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int fv__dealloc_mw(struct ibv_mw *mw);
int fv__bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *b);
/* The memory behind a key, or NULL when anything about it is wrong. */
void *fv__local(struct ibv_pd *pd, const struct ibv_sge *sge,
		unsigned int access);
void *fv__remote(struct fv_qp *qp, uint32_t rkey, uint64_t addr, uint64_t len,
		 unsigned int access);
bool fv__mw_bind(struct fv_qp *qp, const struct ibv_send_wr *wr);
bool fv__mw_invalidate(struct fv_qp *qp, uint32_t rkey);

/* fake_cq.c */
int fv__poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int fv__req_notify(struct ibv_cq *cq, int solicited_only);
/* Takes what has completed on @q out of @cq. */
void fv__cq_purge(struct ibv_cq *cq, const struct fv_qp *q);
/* False: no room, the CQ is now in error. */
bool fv__cq_add(struct ibv_cq *cq, const struct fv_cqe *cqe, bool solicited);
void fv__cq_show(struct ibv_cq *cq); /* what was late is there */
/* Who waits for the queue is told, although nothing is in it. */
void fv__cq_nudge(struct ibv_cq *cq);

/* fake_srq.c */
int fv__post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad);
int fv__rq_post(struct fv_rq *rq, const struct ibv_recv_wr *wr);
struct fv_recv *fv__rq_pop(struct fv_rq *rq);
void fv__rq_empty(struct fv_rq *rq);
struct fv_recv *fv__srq_pop(struct ibv_srq *srq);

/* fake_qp.c */
struct fv_qp *fv__qp(uint32_t qpn);
void fv__qp_to_error(struct fv_qp *qp);
void fv__flush_sends(struct fv_qp *qp);
/* A request has completed with an error. */
void fv__qp_send_failed(struct fv_qp *qp);
/* The next flush to @cq of a device that flushes late. */
void fv__flush_late(struct ibv_cq *cq);
void fv__qp_event(struct fv_qp *qp, enum ibv_event_type type);
int fv__modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
void fv__qp_set_state(struct fv_qp *qp, enum ibv_qp_state state);

/* fake_qp_state.c */
bool fv__transition_ok(enum ibv_qp_type type, enum ibv_qp_state from,
		       enum ibv_qp_state to, int mask);

/* fake_post.c */
int fv__post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad);
int fv__post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad);
void fv__send_done(struct fv_qp *qp, struct fv_send *s,
		   enum ibv_wc_status status, uint32_t len);
void fv__recv_done(struct fv_qp *qp, struct fv_recv *r, struct ibv_wc *wc,
		   bool solicited);
void fv__recv_flush(struct fv_qp *qp, struct fv_recv *r);

/* fake_move.c: executes what can be executed, now */
void fv__kick(struct fv_qp *qp);
void fv__kick_all(void);
uint32_t fv__gather(struct fv_qp *qp, struct fv_send *s, uint8_t *buf,
		    bool *ok);
uint32_t fv__sge_len(const struct ibv_sge *sge, int n);
enum ibv_wc_status fv__scatter(struct fv_qp *qp, const struct fv_recv *r,
			       const uint8_t *buf, uint32_t len);

/* fake_ud.c */
void fv__ud_send(struct fv_qp *qp, struct fv_send *s);
void fv__ud_reset(void);
bool fv__reaches(const struct ibv_ah_attr *av, struct fv_qp *dst);

/* fake_lookup.c: 0 or errno; the lock is free while it waits */
int fv__lookup(struct ibv_context *ctx, enum fv_lookup why,
	       const struct ibv_ah_attr *av);
void fv__lookup_reset(void);

/* fake_cm.c: a device of its own closed the transport under a connection */
void fv__cm_qp_dead(uint32_t qpn);
/* It is destroyed: its number may soon be another one's. */
void fv__cm_qp_gone(uint32_t qpn);
void fv__cm_reset(void);

#endif
