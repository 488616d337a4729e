/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm.h - what the files of the SCM provider share: connection management over
 * TCP, one socket for each connection, as a transport of dcm.h.
 *
 * The protocol and the operations are dcm's; here are sockets and nothing
 * else. All of them are non-blocking and watched by the IA's loop; there is no
 * thread. A socket belongs to its connection or listener and is closed by
 * scm_hangup() or unlisten(), by nobody else.
 *
 * Threads: the service thread, but for target(), listen() and unlisten(). The
 * first is where a connection is dialed, so that the caller learns what this
 * host lacks for it, and that others who dial do not keep a stream waiting that
 * has come up.
 * The base's lock guards the list of listeners. When stop() is under way no
 * node is freed any more (dapl_cm_base.h), so it may walk them.
 */
#ifndef SCM_H
#define SCM_H

#include "dapl/common/cm/dcm/dcm.h"
#include "dapl/common/services/dapl_text.h"
#include "dapl/openib_scm/scm_addr.h"
#include "dapl/openib_scm/scm_frame.h"

/*
 * Half-open: accepted, but the request is not complete. Whoever connects and
 * says nothing must cost little.
 */
struct scm_limits {
	unsigned half_open_max;
	uint64_t half_open_us;	     /* how long a request may take to arrive */
	uint64_t half_open_grace_us; /* what even a crowd gives it */
};

/* Why a listener accepts nothing for now. */
enum scm_held {
	SCM_HELD_REQUESTS = 1 << 0,  /* too many are not answered */
	SCM_HELD_HALF_OPEN = 1 << 1, /* too many half-open ones */
	SCM_HELD_FILES = 1 << 2,     /* no descriptor, or memory, is left */
};

struct scm {
	struct dcm dcm; /* must stay first */
	struct scm_limits limits;
	struct dapl_ports ports; /* of outgoing connections */
	unsigned next_port;	 /* of these, the next to try; atomic */

	struct dapl_list listeners; /* dcm.base.lock */
	struct dapl_list half_open; /* oldest first */
	unsigned half_open_n;
	struct dapl_timer half_open_timer; /* for the oldest */
	/* Half-open ones whose request there is no room for; not counted. */
	struct dapl_list parked;
	unsigned held;		 /* of any listener */
	struct dapl_timer retry; /* while SCM_HELD_FILES */
	/* Whose input is being handled; NULL again once that has hung up. */
	struct scm_conn *reading;
};

struct scm_conn {
	struct dcm_cm_conn base; /* must stay first */
	struct dapl_watch watch;
	int fd; /* while OPEN */
	bool open;
	bool dialing;
	bool ahead;   /* dialed by connect(), before its turn */
	int dial_ret; /* of that */
	struct scm_frame frame;

	/* Passive. */
	struct dapl_list half_open; /* in cm->half_open, or cm->parked */
	bool parked;
	uint64_t since_us;
	uint16_t port; /* that was connected to */
};

struct scm_listener {
	struct dcm_cm_listener base; /* must stay first */
	struct dapl_watch watch;
	unsigned held; /* the service thread's; enum scm_held, one of them */
	int fd;
	struct dapl_list link; /* dcm.base.lock */
	uint16_t port;
	DAT_CONN_QUAL qual;
};

struct scm_params {
	struct dcm_path_params path; /* must stay first */
	const char *netdev; /* NULL: not set; points into the environment */
	struct dapl_ports ports;
	int keepalive_ms;
};

extern const struct dapl_param_table scm_param_table;

static inline struct scm *scm_from(struct dcm *dcm)
{
	return (struct scm *)dcm;
}

static inline struct scm_conn *scm_conn_from(struct dcm_cm_conn *conn)
{
	return (struct scm_conn *)conn;
}

/* scm.c */

int scm_open(const char *ia_params, const struct dapl_cm *base,
	     struct dapl_cm **ret_cm);
void scm_close(struct dapl_cm *cm);

/*
 * Ends the socket FD and closes it. A child of fork() may hold a copy, which
 * would keep the stream, or the listening port, alive after close() alone.
 */
void scm_socket_end(int fd);
/* Options of a stream that is up; what a listener accepts inherits them. */
void scm_socket_tune(const struct scm *cm, int fd);

/* scm_conn.c: entries of struct dcm_transport */

int scm_target(struct dcm *dcm, struct dcm_cm_conn *conn,
	       const struct sockaddr *addr, DAT_CONN_QUAL qual);
int scm_dial(struct dcm_conn *conn);
void scm_send(struct dcm_engine *eng, struct dcm_conn *conn,
	      const struct dcm_peer *to, const struct dcm_msg *msg,
	      bool filler);
void scm_hangup(struct dcm_conn *conn);

/*
 * Takes over the socket FD, accepted on PORT, of CONN, whose base.peer_addr is
 * set, and waits for a request. 0 or -errno; then FD is still the caller's.
 */
int scm_conn_accepted(struct scm_conn *conn, int fd, uint16_t port);
/*
 * CONN is to be read from. It takes its place behind the streams that have
 * something to say already: so what was said first is heard first. Else epoll
 * goes round in its own order.
 */
void scm_conn_read_on(struct scm_conn *conn);

/* scm_listen.c: entries of struct dcm_transport */

int scm_listen(struct dcm *dcm, struct dcm_cm_listener *l, DAT_CONN_QUAL qual,
	       uint32_t *ret_port);
void scm_unlisten(struct dcm_cm_listener *l);
void scm_room(struct dcm *dcm, struct dcm_cm_listener *l);

/* MSG, a REQ, came on the half-open CONN, which may be gone afterwards. */
void scm_half_open_request(struct scm_conn *conn, const struct dcm_msg *msg);
/* A half-open CONN that is not worth more is closed and freed. */
void scm_half_open_drop(struct scm_conn *conn, const char *why);
void scm_half_open_remove(struct scm_conn *conn);
void scm_half_open_timer(struct dapl_timer *timer);
/* Whether there is room for what the half-open CONN has to say; if not, it is
 * told when to read on. */
bool scm_half_open_may_ask(struct scm_conn *conn);
/* A descriptor was closed, or it is time to try without one. */
void scm_files_again(struct scm *cm);
void scm_retry_timer(struct dapl_timer *timer);

/* scm_entry.c */

extern const struct dapl_cm_ops scm_ops;

#endif
