/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_cm_alive.h - peers that vanish.
 *
 * A peer that has lost power or its cable says nothing, and without traffic no
 * device notices. So each peer with connections is asked now and then, whatever
 * their number; how, and what a peer is, a host or a process, is the
 * provider's. One that has answered once and then leaves ASKS in a row
 * unanswered has vanished, and its connections with it: after 7/3 of the
 * interval at most. They are asked one by one, no more than a hundred in a
 * second if there are many; where that is not enough, each less often, and
 * found 10 ms later for each beyond. One that never answered is not judged: an
 * end that was none is worse than one that is not noticed. Without peers, or
 * with an interval of 0, no timer runs.
 *
 * All but init and stop runs on the service thread; and so do the operations,
 * which may call what is here.
 */
#ifndef DAPL_CM_ALIVE_H
#define DAPL_CM_ALIVE_H

#include "dapl/common/cm/base/dapl_cm_base.h"

struct dapl_cm_alive;

/* Embedded in the provider's; zero at first. */
struct dapl_cm_peer {
	struct dapl_list link;
	struct dapl_list conns;
	uint64_t due_us; /* the next question, or the end of this one */
	int unanswered;
	bool asked;   /* an answer is waited for */
	bool answers; /* it did once */
};

/* Of a connection; zero at first. */
struct dapl_cm_peer_conn {
	struct dapl_cm_peer *peer; /* NULL: of none */
	struct dapl_list link;
};

struct dapl_cm_alive_ops {
	/*
	 * Begins to ask; there() or silent() may follow at once. False: it
	 * cannot be asked, which says nothing of the peer.
	 */
	bool (*ask)(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer);
	/* Nothing is waited for any more, or it could not be asked. Optional.
	 */
	void (*asked)(struct dapl_cm_peer *peer);
	/* The connection ends, and has left. */
	void (*vanished)(struct dapl_cm_alive *alive,
			 struct dapl_cm_peer_conn *conn);
	/* It has no connection: its memory is free. */
	void (*freed)(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer);
	/* For the log. */
	void (*name)(const struct dapl_cm_peer *peer, char *buf, size_t size);
};

struct dapl_cm_alive {
	const struct dapl_cm_alive_ops *ops;
	struct dapl_cm *cm;
	const int *interval_ms; /* 0: nobody is asked */
	struct dapl_timer timer;
	struct dapl_list peers;
	int n_peers;
	uint64_t pace_us; /* no peer is asked before, but once more */
	bool stopped;	  /* the instance's lock */
};

void dapl_cm_alive_init(struct dapl_cm_alive *alive, struct dapl_cm *cm,
			const struct dapl_cm_alive_ops *ops,
			const int *interval_ms);
/* Nobody is asked any more. Connections leave later, on the same thread. */
void dapl_cm_alive_stop(struct dapl_cm_alive *alive);

static inline bool dapl_cm_alive_on(const struct dapl_cm_alive *alive)
{
	return *alive->interval_ms;
}

/* CONN is established with PEER, which may be new. */
void dapl_cm_alive_join(struct dapl_cm_alive *alive, struct dapl_cm_peer *peer,
			struct dapl_cm_peer_conn *conn);
/* Once more does nothing. */
void dapl_cm_alive_leave(struct dapl_cm_alive *alive,
			 struct dapl_cm_peer_conn *conn);

/* Something was heard of PEER, be it an answer; or a question has failed. */
void dapl_cm_alive_there(struct dapl_cm_alive *alive,
			 struct dapl_cm_peer *peer);
void dapl_cm_alive_silent(struct dapl_cm_alive *alive,
			  struct dapl_cm_peer *peer);

/* How long one question may take. */
int dapl_cm_alive_wait_ms(const struct dapl_cm_alive *alive);

#endif
