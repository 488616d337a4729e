/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim.h - many engines over one bad network, in virtual time.
 *
 * The code of a provider (dapl/common/cm/dcm/dcm_*.c) runs unchanged; its
 * clock, network, queue pairs and consumers are played here. Everything is
 * decided by one seeded generator, so a seed is a run that can be repeated. One
 * thread.
 *
 *   sim_event.c   the clock: what happens when
 *   sim_net.c     datagrams and streams, and what becomes of them
 *   sim_node.c    a node: an engine, the table it works through, its crash
 *   sim_app.c     consumers: what they do, when
 *   sim_ep.c      their endpoints, by the table of the real ones
 *   sim_check.c   what must hold after every step
 *   sim_world.c   a world from a seed, and its end
 *   sim_pair.c    one pair, all sequences of inputs to a depth
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl/common/cm/dcm/dcm_engine.h"
#include "test/sim/fake_engine.h"

#define SIM_US	1ull
#define SIM_MS	1000ull
#define SIM_S	1000000ull
#define SIM_MIN (60 * SIM_S)

/* CM queue pair of node I. */
#define SIM_QPN(i) (0x1000 + (uint32_t)(i))
#define SIM_PORT   100 /* service points of a node listen from here up */

struct sim;
struct sim_name;
struct sim_node;
struct sim_conn;
struct sim_ep;
struct sim_stream;

/* ------------------------------------------------------ chance */

struct sim_rng {
	uint64_t s;
};

static inline uint64_t sim_random(struct sim_rng *rng)
{
	uint64_t z = (rng->s += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t sim_below(struct sim_rng *rng, uint64_t n)
{
	return sim_random(rng) % n;
}

static inline bool sim_chance(struct sim_rng *rng, double p)
{
	return (double)(sim_random(rng) >> 11) < p * 9007199254740992.0;
}

/* ------------------------------------------------------- clock */

typedef void sim_fn(struct sim *sim, void *arg, uint64_t tag);

struct sim_event {
	uint64_t at_us;
	uint64_t order; /* among those of one moment */
	sim_fn *fn;
	void *arg;
	uint64_t tag;
};

struct sim_clock {
	uint64_t now_us;
	uint64_t order;
	size_t n, room;
	struct sim_event *heap;
};

void sim_at(struct sim *sim, uint64_t at_us, sim_fn *fn, void *arg,
	    uint64_t tag);
/* Lets the next event happen; false when there is none. */
bool sim_step(struct sim *sim);

/* ------------------------------------------------------- world */

struct sim_options {
	bool stream;
	bool ud;       /* tidy worlds: between datagram endpoints */
	bool historic; /* fixed waiting times, as old peers have them */
	bool verbose;
	double loss, dup;
	uint64_t delay_us;  /* a message takes that long */
	uint64_t jitter_us; /* and up to that much more */
	uint64_t spike_us;  /* and one in a hundred up to that much more */
	unsigned nodes, conns;
	unsigned crashes, partitions;
	unsigned closes;     /* nodes that leave in good order */
	bool restart;	     /* a node that crashed comes up again */
	bool same_numbers;   /* then with the numbers of its life before */
	unsigned queue;	     /* messages a node has room for */
	uint64_t service_us; /* that it takes for one */
	unsigned credits;    /* messages of a node that may wait to leave */
	uint64_t send_us;    /* until its device has sent one */
	uint64_t accept_us;  /* that its consumer takes to accept one */
	uint64_t qp_us;	     /* to move a queue pair */
	/* Requests without an answer, of a node and of one of its listeners. */
	size_t waiting_max, listener_max;
	int dreq_repeats;   /* as in the rules */
	uint32_t conns_max; /* ids of a node; 0: the engine's own limit */
	bool small;	    /* there is little room for requests or messages */
	bool tidy;     /* consumers connect, stay, and disconnect; no more */
	double old;    /* share of nodes that behave as old peers */
	double forged; /* messages that a third party sends like others */
};

struct sim_stats {
	uint64_t sent, lost, crowded, overrun, delivered;
	uint64_t attempts, established, ended, refused, held, steps;
	/* Accepted, and no RTU in all the time, without a crash. */
	uint64_t unheard;
	uint64_t closed, closed_unheard; /* nodes; those that waited in vain */
	uint64_t last_established_us;
	unsigned most_waiting; /* in one node's receive queue */
	unsigned op[DCM_OP_N];
};

struct sim {
	struct sim_options opt;
	uint64_t seed;
	struct sim_rng rng;
	struct sim_clock clock;
	struct dcm_rules rules;
	struct sim_node *node;
	struct sim_stream *streams; /* all that there ever were */
	struct sim_stats stats;
	struct sim_checks checks;
	uint64_t heal_us; /* until then the halves cannot reach one another */
	unsigned half;	  /* nodes below are one of them */
	bool troubled;	  /* there was a crash or a partition */
	size_t live;	  /* connections that the engines have not forgotten */
	size_t armed;	  /* timers */
	unsigned conn_no;
	unsigned ep_no;
	struct dapl_list eps;
	struct sim_name *names;
	size_t names_n, names_room;
};

struct sim_node {
	struct sim *sim;
	unsigned index;
	struct dcm_engine eng;
	struct dcm_listener listener[2];
	bool dead;
	bool silent;  /* the host died, not the process */
	bool leaving; /* waits for the answers to its goodbyes */
	bool old;
	unsigned queued;
	uint8_t life;
	uint32_t qps; /* of this life */
	uint64_t born_us;
	uint64_t busy_until_us;
	uint64_t sends_until_us;
	uint64_t app_busy_until_us;
	struct dapl_list conns;
};

enum sim_answer {
	SIM_ACCEPT,
	SIM_REJECT,
	SIM_DROP,
	SIM_ANSWER_N
};
enum sim_ending {
	SIM_DISCONNECT,
	SIM_RELEASE,
	SIM_LEAVE,
	SIM_ENDING_N
};

/* What a consumer has made up its mind to do. */
struct sim_plan {
	enum sim_answer answer;
	uint64_t answer_us;
	bool qp_fails;
	bool qp_silent; /* no hardware address of the peer is ever found */
	uint64_t patience_us; /* UINT64_MAX: as long as the provider has */
	enum sim_ending ending;
	uint64_t stay_us; /* time from ESTABLISHED to the end */
	bool hasty;	  /* does more soon after it disconnected */
	bool whim;	  /* makes some call at any time */
	uint64_t at_last_us;
};

struct sim_conn {
	struct fake_conn fake; /* must stay first */
	struct sim_node *node;
	unsigned no;
	struct sim_ep *ep; /* that took it; or NULL */
	struct sim_plan plan;
	struct dapl_list link; /* node->conns */

	unsigned pending; /* events that point here */
	bool gone_for_good;
	uint64_t timer_tag;

	/* The consumer's view. */
	unsigned asked;
	bool through; /* released, as far as the consumer is concerned */
	bool withdrawn;
	bool up;
	bool disconnecting;
	uint64_t accepted_us;
	uint64_t asked_us;	/* when it connected */
	uint64_t answered_us;	/* passive: its queue pair was ready */
	enum dcm_input outcome; /* of the move */

	unsigned target; /* node that is asked */
	uint32_t port;
	struct sim_stream *stream;
	int end;
};

static inline struct sim_conn *sim_conn_of(struct dcm_conn *dcm)
{
	return (struct sim_conn *)dcm;
}

/* --------------------------------------------------- sim_node.c */

extern const struct dcm_engine_ops sim_engine_ops;

void sim_node_start(struct sim_node *node);
/*
 * The data queue pair that is QPN to the checks, as peers get to see it: after
 * a restart its number may be one that was there before. What they see leads
 * back to the one it is, also of those that are no more: by the service level,
 * which nobody looks at, this tells lives apart.
 */
void sim_node_qp(struct sim_node *node, uint32_t qpn, struct dcm_ib *ret_ib);
uint32_t sim_qp_named(const struct sim *sim, const struct dcm_ib *ib);
void sim_node_crash(struct sim_node *node);
/* As stop() in dcm.c: everything is released, and the peers are waited for. */
void sim_node_close(struct sim_node *node);
void sim_node_fini(struct sim_node *node);
struct sim_conn *sim_conn_new(struct sim_node *node);
/* Like sim_at(), for something of CONN that will not happen once it is gone. */
void sim_conn_at(struct sim_conn *conn, uint64_t at_us, sim_fn *fn,
		 uint64_t tag);
void sim_conn_input(struct sim_conn *conn, enum dcm_input in,
		    const struct dcm_msg *msg);
void sim_trace(const struct sim_conn *conn, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---------------------------------------------------- sim_net.c */

void sim_net_datagram(struct sim_node *from, const struct dcm_peer *to,
		      const struct dcm_msg *msg);
void sim_net_dial(struct sim_conn *conn);
void sim_net_send(struct sim_conn *conn, const struct dcm_msg *msg,
		  bool filler);
void sim_net_hangup(struct sim_conn *conn);
/* Requests on streams that were held back at NODE are brought again. */
void sim_net_room(struct sim_node *node);
/* What NODE has not read is lost with it. */
void sim_net_crash(struct sim_node *node);
void sim_net_fini(struct sim *sim);

/* ---------------------------------------------------- sim_app.c */

void sim_app_connect(struct sim_node *node, unsigned target, uint32_t port);
void sim_app_request(struct sim_conn *conn);
/* Ops of the endpoint, which take effect a little later. */
void sim_app_ask_connect(struct sim_conn *conn);
void sim_app_ask_accept(struct sim_conn *conn);
void sim_app_ask_disconnect(struct sim_conn *conn);
void sim_app_ask_release(struct sim_conn *conn);
/* What the consumer gets to see of EP. */
void sim_app_told(struct sim_ep *ep, unsigned event);
void sim_app_renewed(struct sim_ep *ep);
void sim_app_event(struct sim_conn *conn, enum dapl_cm_event event);

/* -------------------------------------------------- sim_world.c */

void sim_defaults(struct sim_options *opt);
/* Options of a small world full of trouble. */
void sim_from_seed(uint64_t seed, struct sim_options *opt);
void sim_rules(const struct sim_options *opt, struct dcm_rules *ret_rules);
/* Each runs until nothing can happen any more; statistics of it. */
void sim_run_random(const struct sim_options *opt, uint64_t seed,
		    struct sim_stats *ret_stats);
void sim_run_star(const struct sim_options *opt, uint64_t seed,
		  struct sim_stats *ret_stats);
void sim_run_mesh(const struct sim_options *opt, uint64_t seed,
		  struct sim_stats *ret_stats);

/* --------------------------------------------------- sim_pair.c */

/* Returns the number of sequences. */
uint64_t sim_pair_all(bool stream, bool table, int depth);

#endif
