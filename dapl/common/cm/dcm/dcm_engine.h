/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dcm_engine.h - one end of a CM network: its connections, its listeners, and
 * which of them a message is for.
 *
 * Carries out what dcm_proto.h decides, through a table of operations, so
 * that providers and the simulation run the same code. Takes no lock, reads no
 * clock, does no I/O: all calls for one engine come from one thread at a time
 * (in a provider, the service thread), with the time as an argument.
 * Operations of the table must not call the engine.
 *
 * Memory of connections and listeners is the caller's.
 */
#ifndef DCM_ENGINE_H
#define DCM_ENGINE_H

#include "dapl/common/cm/dcm/dcm_map.h"
#include "dapl/common/cm/dcm/dcm_msg.h"
#include "dapl/common/cm/dcm/dcm_proto.h"
#include "dapl/common/services/dapl_list.h"

struct dcm_engine;
struct dcm_conn;

/* Where datagrams go to. */
struct dcm_peer {
	uint8_t gid[16];
	uint16_t lid;
	uint8_t sl;
	uint32_t qpn; /* of its CM queue pair */
};

/* Where a datagram came from, as the device tells it: that cannot be forged. */
struct dcm_source {
	uint32_t qpn;
	uint16_t lid; /* 0: it does not say */
	bool has_gid;
	uint8_t gid[16];
};

struct dcm_listener {
	struct dcm_map_node by_port;
	uint32_t port;
	struct dapl_list waiting; /* connections that are not answered yet */
	size_t waiting_n;
	bool held; /* some request found no room */
};

/* The consumer's yes. */
struct dcm_answer {
	struct dcm_ib ib; /* the endpoint's queue pair */
	uint8_t responder_resources;
	uint8_t mtu;
	uint16_t p_size;
	uint8_t pdata[DCM_PDATA];
};

struct dcm_conn {
	struct dcm_proto proto;
	struct dcm_engine *eng;
	struct dcm_map_node by_id;     /* datagrams: every connection */
	struct dcm_map_node by_peer;   /* datagrams: the passive ones */
	struct dcm_map_node by_qp;     /* datagrams: those that are up */
	struct dapl_list queue;	       /* listener->waiting or eng->timewait */
	struct dcm_listener *listener; /* that has this one waiting */
	uint32_t id;		       /* own; 0 on streams */
	uint64_t born_us;	       /* passive: when the request came */
	uint64_t up_us;
	bool leaving;	      /* counted in leaving_n */
	uint64_t request;     /* passive: what it said, in short */
	struct dcm_peer peer; /* datagrams */

	/* What each message of ours says; op and repeats are filled in. */
	struct dcm_msg own;
	/* Stream: own socket name, for the answer to a request. */
	struct dcm_block local;

	/* Of the peer's REQ or REP. */
	struct {
		uint16_t version;
		uint8_t responder_resources;
		uint8_t mtu; /* 0: not told */
		struct dcm_ib ib;
		struct dcm_block alt;
	} remote;

	/* While the queue pair is being moved: what is said afterwards. */
	union {
		struct dcm_answer answer; /* passive: to the peer */
		struct { /* active: to the consumer, from REP */
			uint16_t p_size;
			uint8_t pdata[DCM_PDATA];
		} rep;
	} then;
};

struct dcm_engine_ops {
	/* Streams: begin to set up the stream; DIALED or LOST follows, not
	 * before the return. 0, or a negative errno in place of LOST. */
	int (*dial)(struct dcm_conn *conn);
	/*
	 * MSG on its way: over CONN's stream, or as a datagram to TO (CONN may
	 * be NULL then). May be lost; must not block. FILLER: with two bytes
	 * between header and data.
	 */
	void (*send)(struct dcm_engine *eng, struct dcm_conn *conn,
		     const struct dcm_peer *to, const struct dcm_msg *msg,
		     bool filler);
	/* Streams: close, after what was sent. May be called without one. */
	void (*hangup)(struct dcm_conn *conn);
	void (*arm)(struct dcm_conn *conn, uint64_t deadline_us);
	void (*disarm)(struct dcm_conn *conn);
	/*
	 * Begin to move the queue pair to RTS, by conn->remote; or, of
	 * datagrams, to find the peer by that. 0: QP_READY,
	 * QP_FAILED or QP_SILENT follows, once, not before the return, and
	 * RELEASE not before that, unless it will never come. Or a negative
	 * errno in place of QP_FAILED.
	 */
	int (*qp_connect)(struct dcm_conn *conn);
	void (*qp_error)(struct dcm_conn *conn);

	/* Datagrams: our GID towards TO, the one that they leave from.
	 * Optional: that of self. */
	void (*own_gid)(struct dcm_engine *eng, const struct dcm_peer *to,
			uint8_t ret_gid[16]);
	/* Datagrams: memory for a passive connection, zeroed; or NULL. */
	struct dcm_conn *(*conn_new)(struct dcm_engine *eng);
	/* The upcalls of dapl_cm.h. */
	void (*request)(struct dcm_listener *l, struct dcm_conn *conn,
			const struct dcm_msg *msg);
	/* The peer withdrew a request that is not answered yet. */
	void (*request_gone)(struct dcm_conn *conn);
	void (*event)(struct dcm_conn *conn, enum dapl_cm_event event,
		      const void *pdata, size_t size);
	/*
	 * Streams: where dcm_engine_room() said no for L there is room again,
	 * or nobody listens any more. L may be NULL: so it is for all.
	 */
	void (*room)(struct dcm_engine *eng, struct dcm_listener *l);
	/* The engine has forgotten CONN; its memory is free. */
	void (*freed)(struct dcm_conn *conn);
	/* The last goodbye has had its answer: leaving_n is 0. Optional. */
	void (*left)(struct dcm_engine *eng);
	/* IN comes to CONN, as it finds it; MSG if it is one. Optional. */
	void (*comes)(struct dcm_conn *conn, enum dcm_input in,
		      const struct dcm_msg *msg);
};

/* How long answers of one peer take. */
struct dcm_peer_rtt {
	uint64_t key;		 /* of its address, 0: none yet */
	struct dcm_rtt consumer; /* to requests */
	struct dcm_rtt peer;	 /* to the rest */
};

/* So many peers are remembered; the others are what all are like. */
#define DCM_PEER_RTTS 64

struct dcm_engine_stats {
	uint64_t received;
	uint64_t malformed; /* not a message, or not from whom it says */
	uint64_t unmatched; /* for nobody here */
	uint64_t repeated;  /* requests that were here before */
	uint64_t refused;   /* requests that nobody listens for */
	uint64_t held;	    /* for want of room; to come again */
};

struct dcm_engine {
	const struct dcm_engine_ops *ops;
	const struct dcm_rules *rules;
	struct dcm_ib self; /* datagrams: lid, gid, and qpn of the CM's own */
	struct dcm_map conns;
	struct dcm_map passive;
	struct dcm_map up;
	struct dcm_map listeners;
	struct dapl_list timewait; /* oldest first */
	size_t timewait_n;
	/* Goodbyes without an answer to peers that may believe themselves
	 * connected. */
	size_t leaving_n;
	size_t waiting_n; /* of all listeners */
	bool held;	  /* as in a listener */
	/* Limits; changed before the first connection, if at all. */
	size_t conns_max;
	size_t waiting_max;
	size_t listener_max; /* waiting for one listener */
	uint32_t last_id;
	uint32_t random;
	struct dcm_peer_rtt rtt_all; /* the first of each peer's alone */
	struct dcm_peer_rtt *rtt;    /* DCM_PEER_RTTS, from the first on */
	struct dcm_engine_stats stats;
};

/*
 * No datagram is older when it is read: neither subnets nor receive queues
 * keep one for as long.
 */
#define DCM_LIFETIME_US 15000000ull

/*
 * Ids and time-wait are bounded (the oldest in time-wait makes room), and so is
 * what waits for its consumer: by the memory that it takes, some 2 KiB each
 * with what the objects keep of it. One listener whose consumer sleeps leaves
 * room for others.
 */
#define DCM_CONNS_MAX	 (1u << 18)
#define DCM_TIMEWAIT_MAX (1u << 14)
#define DCM_WAITING_MAX	 (1u << 14)
#define DCM_LISTENER_MAX (1u << 12)

void dcm_engine_init(struct dcm_engine *eng, const struct dcm_engine_ops *ops,
		     const struct dcm_rules *rules, uint32_t seed);
/* Frees tables; connections must have been forgotten or are the caller's. */
void dcm_engine_fini(struct dcm_engine *eng);

/* 0 or -EADDRINUSE. Streams: no PORT, nothing can be taken. */
int dcm_engine_listen(struct dcm_engine *eng, struct dcm_listener *l,
		      uint32_t port);
/* Requests that wait stay what they are, and L's memory is free. */
void dcm_engine_unlisten(struct dcm_engine *eng, struct dcm_listener *l);

/* What every connection needs that is prepared by the caller. Any thread. */
void dcm_conn_init(struct dcm_conn *conn, struct dcm_engine *eng);
/*
 * Begins an attempt: CONN was initialised, and its fields peer (datagrams),
 * proto.datagram, own.daddr, own.saddr, own.responder_resources, own.mtu and
 * own's private data are set. PORT is the listener's. 0 or -EAGAIN: no id is
 * free; nothing has happened then.
 */
int dcm_engine_connect(struct dcm_engine *eng, struct dcm_conn *conn,
		       uint32_t port, uint64_t now_us);
/* ANSWER may be CONN's then.answer itself, which is the caller's until now. */
void dcm_engine_accept(struct dcm_conn *conn, const struct dcm_answer *answer,
		       uint64_t now_us);
void dcm_engine_reject(struct dcm_conn *conn, const void *pdata, size_t size,
		       uint64_t now_us);
/*
 * Everything else: DISCONNECT, RELEASE (also of a connection that was only
 * initialised), DIALED, LOST, TIMER, results of moves, and messages of a stream
 * with MSG, where the four-byte goodbye is DREQ without MSG. CONN may be
 * forgotten by this.
 */
void dcm_engine_input(struct dcm_conn *conn, enum dcm_input in,
		      const struct dcm_msg *msg, uint64_t now_us);

/*
 * Datagrams: there is no way to the peer of the connection ID, nor will there
 * be; an attempt that has not been answered is over. Unknown ids do no harm.
 */
void dcm_engine_no_way(struct dcm_engine *eng, uint32_t id, uint64_t now_us);

/* A datagram from SRC. Any bytes. */
void dcm_engine_datagram(struct dcm_engine *eng, const uint8_t *buf, size_t len,
			 const struct dcm_source *src, uint64_t now_us);
/*
 * Whether there is room for a request to L. If not, it is left where it is: a
 * datagram is dropped, and comes again; of a stream nothing more is read, and
 * the operation room() tells when to go on.
 */
bool dcm_engine_room(struct dcm_engine *eng, struct dcm_listener *l);
/*
 * Stream: MSG, a REQ, came for L, which has room. CONN is new and zeroed but
 * for what its transport needs to send on it. -EPROTO when it was refused; then
 * the engine has said so to the peer and knows nothing of CONN.
 */
int dcm_engine_stream_request(struct dcm_engine *eng, struct dcm_listener *l,
			      struct dcm_conn *conn, const struct dcm_msg *msg,
			      uint64_t now_us);

#endif
