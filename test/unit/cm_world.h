/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_world.h - two instances of the provider under test (provider.h) over the
 * fake devices, with endpoints and a recorder in place of the objects.
 *
 * The recorder keeps each upcall until a test asks for it; one that nobody
 * asked for fails the test in world_close(). Waits are for events and give up
 * after WORLD_PATIENCE_MS, which fails the test. Threads: upcalls are recorded
 * on the service threads under one mutex.
 */
#ifndef CM_WORLD_H
#define CM_WORLD_H

#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/services/dapl_loop.h"
#include "dapl/common/verbs/vb.h"
#include "test/unit/fake/fake_verbs.h"
#include "test/unit/provider.h"

#define WORLD_PATIENCE_MS 30000
#define WORLD_PARAMS_SIZE 128

/* One open provider instance with what its endpoints need. */
struct side {
	_Alignas(8) uint8_t params[WORLD_PARAMS_SIZE]; /* the provider's */
	struct dapl_loop *loop;
	struct dapl_cm *cm;
	struct vb_dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

/* Stand-ins for the objects. */
struct dapl_ep {
	struct side *side;
	struct ibv_qp *qp; /* NULL: freed */
	struct dapl_cm_qp cfg;
	int refs;		/* held by the provider */
	int fail_modify;	/* n-th step of a move fails; 0: none */
	int fail_with;		/* with that; 0: -EIO */
	bool hang_up;		/* disconnect inside the ESTABLISHED upcall */
	bool drop;		/* release inside the first upcall */
	void (*and_then)(void); /* at the end of event() and gone() */
};

struct dapl_sp {
	struct side *side;
	bool refuse; /* release each request inside its upcall */
	bool once;   /* unlisten inside the first request upcall, as an RSP */
	struct dapl_cm_listener *listener;
};

enum seen_kind {
	SEEN_REQUEST,
	SEEN_EVENT,
	SEEN_GONE,
	SEEN_UNLISTENED
};

struct seen {
	enum seen_kind kind;
	const void *who; /* EP or SP */
	bool taken;
	int nth;     /* of all upcalls */
	bool in_err; /* queue pair state at the time of an event */
	struct dapl_cm_conn *conn;
	enum dapl_cm_event event;
	struct sockaddr_storage peer;
	DAT_PORT_QUAL peer_port;
	size_t size;
	uint8_t pdata[DAPL_CM_PDATA_MAX];
};

struct world {
	struct side a; /* the active one: fake0, 10.0.0.1 */
	struct side b; /* the passive one: fake1, 10.0.0.2 */
};

/* Parameters with short timeouts and 3 attempts; sockets stay on this host. */
void side_params(struct side *s);
/* As open() and start() of dapl_cm_ops. */
int side_try_open(struct side *s, const char *ia_params);
void side_open(struct side *s, const char *ia_params);
void side_close(struct side *s);

void world_open(struct world *w, enum fv_kind kind);
/* Also checks that nothing was left behind and no upcall went unnoticed. */
void world_close(struct world *w);

struct dapl_ep *ep_new(struct side *s);
/* The endpoint must have been given back by the provider. */
void ep_del(struct dapl_ep *ep);
enum ibv_qp_state ep_state(struct dapl_ep *ep);

/* The next upcall of KIND for WHO, waited for. */
struct seen take(enum seen_kind kind, const void *who);
void take_event(const struct dapl_ep *ep, enum dapl_cm_event event);
/* Upcalls of KIND for WHO that were not taken yet. */
int pending(enum seen_kind kind, const void *who);

/* Address and qualifier of B, as a consumer at A gives them. */
void peer_b(struct sockaddr_storage *ret_addr);
/* A connection of EP's that is not asked for yet. */
struct dapl_cm_conn *prepare(struct dapl_ep *ep);
struct dapl_cm_conn *begin(struct dapl_ep *ep, DAT_CONN_QUAL qual,
			   const void *pdata, size_t size);
/* As the objects do it: not while CONN's queue pair is being moved. */
void world_release(struct dapl_cm_conn *conn);
/* Release and wait until the provider has given EP back. */
void finish(struct dapl_cm_conn *conn, struct dapl_ep *ep);
struct dapl_cm_listener *listen_on(struct dapl_sp *sp, DAT_CONN_QUAL qual);
void unlisten(struct dapl_sp *sp, struct dapl_cm_listener *l);

/* Both ends of one connection, and who listens for it. */
struct pair {
	struct dapl_sp sp; /* of b; listens until pair_end() or pair_open() */
	DAT_CONN_QUAL qual;
	struct dapl_ep *ea, *eb;
	struct dapl_cm_conn *ca, *cb;
	struct seen request;
};

/* One step after the other: */
void pair_listen(struct world *w, struct pair *p, DAT_CONN_QUAL qual);
void pair_ask(struct pair *p, const void *pdata, size_t size);
void pair_requested(struct pair *p); /* the second half of pair_ask() */
void pair_accept(struct pair *p, const void *pdata, size_t size);
void pair_established(struct pair *p);
/* Nobody listens any more, and the endpoints go; the ends are released. */
void pair_end(struct pair *p);
/* The same, and the ends are released, which have heard all that they will. */
void pair_over(struct pair *p);
void pair_del(struct pair *p);

/* The first two of them. */
void pair_meet(struct world *w, struct pair *p, DAT_CONN_QUAL qual);
/* All of them; nobody listens any more. */
void pair_open(struct world *w, struct pair *p, DAT_CONN_QUAL qual);

/*
 * Releases both ends of a connection and waits. The second may hear of the
 * first one's end before it goes.
 */
void part(struct dapl_cm_conn *first, struct dapl_ep *first_ep,
	  struct dapl_cm_conn *second, struct dapl_ep *second_ep);
void pair_close(struct pair *p);

#endif
