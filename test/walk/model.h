/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model.h - what DAT says of its objects: who uses whom, what each call may
 * answer, which events are owed.
 *
 * It is the second opinion: written from the specification and the public
 * headers, it knows nothing of how a provider does it, and makes no call.
 * Where an answer depends on what another party does meanwhile, the model holds
 * a set of answers; what it then sees narrows the set.
 * Threads: one. Ownership: nothing is allocated.
 * Rule: uDAPL 1.2 specification with the DAT 2.0 additions; what
 * doc/conformance.md decides is quoted where it counts.
 */
#ifndef WALK_MODEL_H
#define WALK_MODEL_H

#include "test/walk/call.h"

enum kind {
	K_NONE,
	K_IA,
	K_PZ,
	K_EVD,
	K_CNO,
	K_LMR,
	K_RMR,
	K_SRQ,
	K_EP,
	K_PSP,
	K_RSP,
	K_CSP,
	K_CR,
};

#define MAX_SE	  128 /* software events in a queue */
#define MAX_DTO	  64  /* transfers that an endpoint has outstanding */
#define MAX_CONNS 256

/* The places of uses[]. */
enum {
	USE_PZ,
	USE_RECV, /* EVDs */
	USE_REQUEST,
	USE_CONN,
	USE_SRQ,
	USE_CNO = 0, /* of an EVD */
	USE_EVD = 1, /* of an IA or a service point */
	USE_EP = 2,  /* of a service point or a request */
	USES = 5
};

/* What a window is opened onto. */
struct range {
	int16_t lmr;
	unsigned priv;
	uint64_t at, len; /* 0 bytes: closed */
};

/* Ways in which a transfer fails: rows of model_fault.c. */
enum fault {
	FAULT_NONE,
	FAULT_LOCAL,  /* memory here, which is not to be used so */
	FAULT_REMOTE, /* memory there */
	FAULT_LENGTH, /* the message is longer than the buffer */
	FAULT_SINK,   /* the buffer there is not to be written to */
	FAULT_BARE,   /* iWARP: there is no buffer there */
	FAULT_TIRED,  /* there was none for too long */
	FAULT_LOST,   /* the peer does not answer */
};

#define MAX_BOUND 8

/* A window: as the last bind that was carried out left it. */
struct rmr {
	bool for_ep; /* its contexts are good on one endpoint */
	bool unread; /* a peer took it back, in a message that was not read */
	uint32_t posted, done; /* numbers of binds */
	DAT_RMR_CONTEXT context;
	uint32_t of[2]; /* binds that it is of, and the one before; 0: none */
	int16_t ep;	/* through which it is open */
	struct range to;
	/* regions that it may have in use yet */
	int16_t may_use[MAX_BOUND];
	int n_may_use;
};

/* A transfer that was posted and whose event was not read. */
struct dto {
	uint64_t cookie;
	uint8_t op;
	bool suppressed, silent; /* asked for; no event if it succeeds */
	bool done;		 /* has succeeded, for sure */
	bool tried;		 /* may have succeeded */
	bool may_flush; /* the connection ended: if not done, then flushed */
	bool late;	/* posted while the connection may have ended */
	bool contended; /* may have found no buffer in a shared queue */
	bool dead;	/* its connection is cut: nothing moves any more */
	bool past;	/* its queue pair is gone: what it gave is queued */
	bool may_fail;	/* posted to a peer that had left already */
	uint64_t match; /* of a receive: cookie of the send; 0: none yet */
	int16_t lmr, remote;
	uint8_t chunk, remote_chunk;
	uint32_t len, room;
	int16_t window;	 /* that it goes through, takes back, or binds */
	uint32_t bind;	 /* number of that window's bind, model_rmr.c */
	struct range to; /* of a bind */
	uint8_t fault;	 /* of its own memory: enum fault */
	uint16_t want;	 /* bits: statuses that it ends with, if it failed */
	bool takes_back; /* a send: the window's CONTEXT */
	DAT_RMR_CONTEXT context;
	bool risky; /* it may fail, or changes a window */
};

struct evd {
	unsigned flags;
	int qlen;  /* that it has */
	int asked; /* that was asked for: beyond it is an overflow */
	bool disabled, unwaitable;
	bool too_many; /* asynchronous errors, maybe, since it was empty */
	/* It had too many events, of which the asynchronous EVD tells once. */
	int may_spill;	 /* times that it may have, and that was not read */
	bool spilt;	 /* since it last had room, maybe */
	bool told, owed; /* since then that was read; it is to come */
	uint64_t se[MAX_SE];
	int n_se;
};

/* A shared receive queue. */
struct srq {
	struct dto q[MAX_DTO]; /* posted, completion not read */
	int n;
	int depth, asked, iov, low;
	int lost;     /* buffers that may not come back */
	bool rush;    /* more messages than buffers */
	int may_tell; /* times that buffers run short */
};

enum latch {
	LATCH_NO,
	LATCH_MAYBE,
	LATCH_SET
};

struct ep {
	int16_t conn; /* that it is part of, or -1 */
	uint8_t side;
	bool reserved, asked;	  /* by an RSP; its request has been read */
	bool tentative;		  /* the provider made it for a request */
	struct dto q[2][MAX_DTO]; /* requests, receives */
	int n[2];
	int depth[2], iov[2];
	bool unheard;	  /* requests that nobody may have heard the end of */
	DAT_EP_ATTR attr; /* as its query said first */
	bool attr_known;
	int may_tell;  /* times that it takes no more from its SRQ */
	int may_break; /* asynchronous events that it is broken, at most */
};

struct obj {
	enum kind kind;
	bool live;
	int16_t ia;
	int16_t uses[USES];
	DAT_HANDLE handle;
	uint64_t context;
	union {
		struct evd evd;
		struct ep ep;
		struct srq srq;
		struct rmr rmr;
		struct sockaddr_storage address; /* of an IA */
		struct {
			enum latch latch;
			int16_t by;  /* the EVD that set it, or -1: some */
			bool others; /* more than one EVD has */
			bool fd;
		} cno;
		struct {
			unsigned type, va, priv;
			uint64_t length;
			uint8_t busy[CHUNKS]; /* transfers to or from it */
		} lmr;
		struct {
			uint64_t qual;
			unsigned flags;
			bool spent; /* an RSP whose request may have come */
		} sp;
		struct {
			int16_t conn;
		} cr;
	};
};

enum phase {
	ASKING,	 /* the request is on its way, or on the EVD */
	NOBODY,	 /* no one listened */
	PENDING, /* the consumer has the request */
	ACCEPTED,
	REJECTED,
	DROPPED, /* the request died unanswered */
};

/* One attempt at a connection; side 0 is the active one. */
struct conn {
	enum phase phase;
	uint32_t serial;     /* first bytes of the request's private data */
	uint32_t answer;     /* and of the answer's */
	int16_t ep[2];	     /* or -1 */
	int16_t evd[2];	     /* where its events come */
	int when[2];	     /* an endpoint's events come in this order */
	unsigned may[2];     /* bits: events that may come */
	bool first[2];	     /* the first event is owed */
	bool last[2];	     /* the last event is owed */
	bool up[2], over[2]; /* ESTABLISHED was read, the last event was */
	bool ghost[2];	     /* the endpoint is gone: events are optional */
	bool closing[2];     /* its own end was asked for */
	bool draining[2];    /* gracefully: its requests finish first */
	bool cut;	     /* nothing moves any more, for sure */
	bool raced[2];	     /* when another one may have been on its way */
	bool doomed;	     /* a transfer has failed: enum fault */
	bool request_may, request_owed;
	int16_t sp, cr_evd, cr;
	uint64_t qual; /* that was asked for */
	uint64_t at;   /* where the request is: it may be handed off */
	struct sockaddr_storage to;
	int size[2]; /* private data, of request and answer */
};

/* Bit of a connection event. */
#define EV_BIT(x)	(1u << (DAT_CONNECTION_EVENT_##x & 0xf))
#define EV_ESTABLISHED	EV_BIT(ESTABLISHED)
#define EV_DISCONNECTED EV_BIT(DISCONNECTED)
#define EV_LAST		(0xffffu & ~EV_ESTABLISHED)

struct model {
	struct obj obj[WALK_OBJS];
	int n_obj;
	struct conn conn[MAX_CONNS];
	int n_conn;
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR prov;
	uint64_t cookies;
	int clock;
	bool flushes_late; /* the device does, or not at all */
	bool cm_posts;	   /* the connection manager has a queue pair */
	bool loses;	   /* the network does, what that posts */
	bool iwarp;	/* what a peer refuses is its end, and tells no more */
	bool withholds; /* what is posted when it has ended stays there */
	bool sink_rw;	/* what a read writes to has to be open to the peer */
	int providers;	/* in dat.conf, once it was asked */
	bool csps, no_csps; /* whether there are any: what was seen */
	char wrong[512];    /* the first complaint */
	int lie; /* an op that the model tells nonsense of, to test it */
};

#define ANY_SUB (-1)

/* What a call may answer. */
struct answers {
	struct {
		DAT_RETURN type;
		int sub;
	} no[24];
	int n;
	bool sure; /* it must be one of these */
};

void model_init(struct model *m);
/* False: it names an object that was never made, so it cannot be made here. */
bool model_can(const struct model *m, const struct call *c);
void model_ask(struct model *m, const struct call *c, struct answers *a);
/* Holds the result against the answers, and takes over what it means. */
bool model_take(struct model *m, const struct world *w, const struct call *c,
		const struct answers *a, const struct result *r);

/* For the generator and for a settling walk. */
bool model_owes(const struct model *m, int evd);
/* Events that are there, for sure. */
int model_has(const struct model *m, int evd);
/* Events that there may be, at most. */
int model_may_have(const struct model *m, int evd);
unsigned model_states(const struct model *m, int ep); /* bits */
bool model_in_use(const struct model *m, int id);
bool model_aliased(const struct model *m, int id);
bool model_wrong(struct model *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Between the files of the model. */
const struct obj *obj_of(const struct model *m, int id, enum kind kind);
bool evd_event(struct model *m, const struct world *w, int evd,
	       const struct result *r, int out);
void conn_ask(struct model *m, const struct call *c, struct answers *a);
void conn_take(struct model *m, const struct world *w, const struct call *c,
	       const struct result *r);
/* Who asked may be gone: then a refused accept ends the request. */
bool conn_doubtful(const struct model *m, int cr);
void conn_refused(struct model *m, const struct call *c);
void conn_ep_gone(struct model *m, int ep);
void conn_cr_gone(struct model *m, int cr);
void conn_ia_gone(struct model *m, int ia);
void conn_sp_gone(struct model *m, int sp);
void conn_meet_late(struct model *m, int sp);
bool conn_event(struct model *m, int evd, const struct result *r);
/* Whether ESTABLISHED was read at both ends, and nothing ended it. */
bool conn_sure(const struct model *m, int ep);
/* The endpoint at the other end, if the connection may be up; or -1. */
int conn_peer(const struct model *m, int ep);
/* Whether what is posted to it now is flushed, sooner or later. */
bool conn_flushes(const struct model *m, int ep);
/* Requests have gone: a graceful end may wait for no more. */
void conn_drained(struct model *m, int ep);
/* A request that can be handed off to QUAL. */
bool conn_can_hand_off(const struct model *m, int cr, uint64_t qual);
/* An EVD went, and with it requests that nobody had read. */
void conn_evd_gone(struct model *m, int evd);
/* Used by nobody but an RSP that its request may have used up. */
bool conn_may_let_go(const struct model *m, int evd);
/* Whether the other end has left, and this one may not know. */
bool conn_deserted(const struct model *m, int ep);
/* A transfer has failed: nothing moves any more, nobody may know it yet. */
void conn_fails(struct model *m, int ep);
bool conn_is_doomed(const struct model *m, int ep);
/* A completion shows that the connection is over, before an event does. */
void conn_seen_over(struct model *m, int ep);
bool conn_request(struct model *m, int evd, const struct result *r, int out);
/* In words, the first thing that is owed to an EVD. */
bool conn_owed(const struct model *m, int evd, char *text, size_t size);
bool dto_owed(const struct model *m, int evd, char *text, size_t size);
bool conn_owes(const struct model *m, int evd);
int conn_may_have(const struct model *m, int evd);
void dto_ask(struct model *m, const struct call *c, struct answers *a);
void dto_take(struct model *m, const struct world *w, const struct call *c);
bool dto_event(struct model *m, const struct world *w, int evd,
	       const DAT_EVENT *ev);
bool dto_owes(const struct model *m, int evd, int *now, int *most);
void dto_end(struct model *m, int ep); /* its connection is over */
void dto_cut(struct model *m, int ep); /* what is posted moves no more */
void dto_receives_end(struct model *m, int ep);
void dto_reset(struct model *m, int ep);
/* Requests that have not gone yet. */
bool dto_waits(const struct model *m, int ep);
bool dto_may_wait(const struct model *m, int ep);
/* Completed for sure and not read, on that EVD. */
const struct dto *dto_unread(const struct model *m, int ep, int evd);
/* Whether a send would find a receive. */
bool dto_is_received(const struct model *m, int ep);
void dto_progress(struct model *m, int ep); /* what can succeed does */
void dto_purge(struct model *m); /* nothing of freed endpoints is left */
void conn_purge(struct model *m);
int new_object(struct model *m, int id, int kind, int ia, DAT_HANDLE h);
void object_dies(struct model *m, int id);
bool dto_deserted(struct model *m, int ep);
void dto_forget(struct model *m, int ep); /* the endpoint is gone */

bool dto_is_sound(const struct model *m, const struct call *c);
/* Where what fails, and what a bind does, can be told. */
bool dto_is_certain(const struct model *m, int ep);
bool dto_can_drain(const struct model *m, int ep);
bool dto_can(const struct model *m, const struct call *c);
void dto_ask_room(struct model *m, int ep, int q, int n, struct answers *a);
void dto_post(struct model *m, int ep, int q, const struct dto *d);

/* Windows: model_rmr.c */
bool rmr_can(const struct model *m, const struct call *c);
void rmr_ask(struct model *m, const struct call *c, struct answers *a);
void rmr_take(struct model *m, const struct world *w, const struct call *c,
	      const struct result *r);
void rmr_ep_gone(struct model *m, int ep); /* or has another queue pair */
void rmr_lmr_gone(struct model *m, int lmr);
void rmr_carried_out(struct model *m, int ep, const struct dto *bind);
bool rmr_is_known(const struct model *m, int id);
/* The endpoint where a bind of it waits for its turn, or OBJ_NULL. */
int rmr_waits_at(const struct model *m, int id);
/* Whether a transfer can name window h[3] by its context, or an older one. */
bool rmr_can_name(const struct model *m, const struct call *c);
void rmr_bind_read(struct model *m, const struct dto *bind);
/* Whether a peer may do so to what D names, through endpoint EP. */
bool rmr_opens(const struct model *m, int ep, const struct dto *d,
	       unsigned priv);
bool rmr_taken_back(struct model *m, int ep, const struct dto *send);
/* Whether a window has LMR in use; if *sure, certainly. */
bool rmr_uses(const struct model *m, int lmr, bool *sure);

/* Faults: model_fault.c */
/* A call of the device that C makes, the N-th; NULL: it makes fewer. */
const char *fault_call(const struct model *m, const struct call *c, int n);
/* That has failed for want of memory. */
void fault_excuses(const struct call *c, struct answers *a);
void fault_happens(struct model *m, int ep, int peer, enum fault f,
		   struct dto *request, struct dto *receive);
/* The oldest request of EP that waits for its turn, for sure; or NULL. */
struct dto *fault_waits(const struct model *m, int ep);
/* The consumer has read that D, of EP, failed. */
void fault_seen(struct model *m, int ep);
/* Shared queues: model_srq.c */
bool srq_can(const struct model *m, const struct call *c);
void srq_ask(struct model *m, const struct call *c, struct answers *a);
void srq_take(struct model *m, const struct call *c, const struct result *r);
void srq_forget(struct model *m, int srq); /* it is gone */
bool async_event(struct model *m, int evd, const DAT_EVENT *ev);
/* What a call has made of the EVDs that may have more than their length. */
void spill_look(struct model *m);
/* An event was taken, there are MORE, or -1: not known. */
void spill_taken(struct model *m, int evd, int more);
bool spill_owes(const struct model *m, int async);
/* Whether an EVD may have more events than its length. */
bool spill_can(const struct model *m, int evd);
/* Before its length changes: errors beyond it may have been. */
void async_remember(struct model *m, int evd);
/* It was found empty. */
void async_empty(struct model *m, int evd);
int async_may_have(const struct model *m, int evd);
/* Messages into shared queues: model_shared.c */
bool shared_has_buffer(const struct model *m, int ep);
/* A send meets a buffer; NULL: there is none. */
struct dto *shared_meet(struct model *m, int ep);
int shared_least(const struct model *m, int srq);
void shared_progress(struct model *m, int srq);
void shared_evd_gone(struct model *m, int evd);
/* False: it is not the completion of such a buffer. */
bool shared_event(struct model *m, const struct world *w, int evd,
		  const DAT_EVENT *ev, bool *ok);
int shared_may_tell(const struct model *m, int evd);
bool shared_tells(struct model *m, int evd, const DAT_EVENT *ev);
/* What belongs to the library, common service points: model_lib.c */
void lib_ask(struct model *m, const struct call *c, struct answers *a);
void lib_ask_common(const struct model *m, struct answers *a);
void lib_take(struct model *m, const struct world *w, const struct call *c,
	      const struct result *r);
void lib_refused(struct model *m, const struct call *c, const struct result *r);

/* Memory that a transfer may use, and that is its own while it does. */
bool region_can(const struct model *m, int id, int pz, unsigned priv);
void ask_query(struct answers *a, const struct call *c, uint64_t all);
const struct obj *of_ia(const struct model *m, int id, enum kind kind, int ia);
void refuse(struct answers *a, DAT_RETURN type, int sub);
void maybe(struct answers *a, DAT_RETURN type, int sub);
int state_sub(int state);
/* EPst of each of the states that are not in ALLOWED. */
void refuse_states(struct answers *a, unsigned states, unsigned allowed);

#define BAD_HANDLE(x) refuse(a, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##x)
#define BAD_ARG(n)    refuse(a, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define BAD_STATE(x)  refuse(a, DAT_INVALID_STATE, DAT_INVALID_STATE_##x)

#define ST(x)	   (1u << DAT_EP_STATE_##x)
#define ST_ACTIVE  ST(ACTIVE_CONNECTION_PENDING)
#define ST_PASSIVE ST(PASSIVE_CONNECTION_PENDING)
#define ST_TENT	   ST(TENTATIVE_CONNECTION_PENDING)

#endif /* WALK_MODEL_H */
