/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim_world.c - a world from a seed: its nodes, what befalls them, and that
 * nothing is left when all is over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim.h"
#include "test/sim/sim_ep.h"

/* A small world that is not at rest by then never will be. */
#define STEPS_PER_CONN 20000

void sim_rules(const struct sim_options *opt, struct dcm_rules *ret_rules)
{
	const uint64_t patience = 800 * SIM_MS << 9; /* as old peers have it */

	*ret_rules = (struct dcm_rules){
		.stream = opt->stream,
		.rep_patience_us = patience,
		.rtu_patience_us = opt->stream ? 120 * SIM_S : 60 * SIM_S,
		.dreq_repeats = opt->dreq_repeats,
		.timewait_us = 60 * SIM_S,
	};
	if (!opt->historic)
		return;
	ret_rules->rtu_patience_us = patience;
	ret_rules->rep_wait_us = 800 * SIM_MS;
	ret_rules->rtu_wait_us = 800 * SIM_MS;
	ret_rules->drep_wait_us = 200 * SIM_MS;
}

void sim_defaults(struct sim_options *opt)
{
	*opt = (struct sim_options){
		.nodes = 4,
		.conns = 40,
		.delay_us = 20,
		.jitter_us = 30,
		.queue = 4096,
		.service_us = 5,
		.credits = 4096 + 512,
		.send_us = 1,
		.accept_us = 100,
		.qp_us = 100,
		.dreq_repeats = 1,
	};
}

static double any_rate(struct sim_rng *rng, double max)
{
	return sim_chance(rng, 0.3) ? 0
				    : max * (double)sim_below(rng, 1001) / 1000;
}

void sim_from_seed(uint64_t seed, struct sim_options *opt)
{
	struct sim_rng rng = {seed};

	sim_defaults(opt);
	opt->stream = sim_chance(&rng, 0.35);
	opt->historic = sim_chance(&rng, 0.3);
	opt->loss = any_rate(&rng, 0.3);
	opt->dup = any_rate(&rng, 0.2);
	opt->nodes = 2 + (unsigned)sim_below(&rng, 6);
	opt->conns = 1 + (unsigned)sim_below(&rng, 40);
	if (sim_chance(&rng, 0.5))
		opt->jitter_us = sim_below(&rng, 100 * SIM_MS);
	if (sim_chance(&rng, 0.3))
		opt->spike_us = sim_below(&rng, 10 * SIM_S);
	if (sim_chance(&rng, 0.4))
		opt->crashes = (unsigned)sim_below(&rng, 3);
	if (sim_chance(&rng, 0.4))
		opt->partitions = (unsigned)sim_below(&rng, 3);
	opt->restart = sim_chance(&rng, 0.7);
	if (sim_chance(&rng, 0.2))
		opt->queue = 1 + (unsigned)sim_below(&rng, 8);
	if (sim_chance(&rng, 0.2))
		opt->listener_max = 1 + sim_below(&rng, 4);
	if (sim_chance(&rng, 0.1))
		opt->waiting_max = 1 + sim_below(&rng, 4);
	if (sim_chance(&rng, 0.2))
		opt->conns_max = 1 + (uint32_t)sim_below(&rng, 16);
	if (sim_chance(&rng, 0.2))
		opt->old = 0.5;
	if (sim_chance(&rng, 0.3))
		opt->forged = 0.5;
	if (sim_chance(&rng, 0.3))
		opt->dreq_repeats = (int)sim_below(&rng, 20);
	opt->accept_us = sim_below(&rng, 10 * SIM_MS);
	opt->same_numbers = sim_chance(&rng, 0.5);
	if (sim_chance(&rng, 0.4))
		opt->closes = (unsigned)sim_below(&rng, 3);
	if (sim_chance(&rng, 0.2)) {
		opt->credits = (unsigned)sim_below(&rng, 8);
		opt->send_us = sim_below(&rng, 5 * SIM_MS);
	}
	opt->small = opt->conns_max || opt->listener_max || opt->waiting_max ||
		     opt->queue < 4096 || opt->credits < 4096;
}

/* ------------------------------------------------------ begin and end */

static void world_init(struct sim *sim, const struct sim_options *opt,
		       uint64_t seed)
{
	unsigned i;

	memset(sim, 0, sizeof(*sim));
	sim->opt = *opt;
	sim->seed = seed;
	sim->rng.s = seed ^ 0x5eed;
	sim_rules(opt, &sim->rules);
	dapl_list_init(&sim->eps);
	sim->node = calloc(opt->nodes, sizeof(*sim->node));
	if (!sim->node)
		sim_fail("no memory");
	for (i = 0; i < opt->nodes; i++) {
		sim->node[i].sim = sim;
		sim->node[i].index = i;
		sim->node[i].old = sim_chance(&sim->rng, opt->old);
		sim_node_start(&sim->node[i]);
	}
}

static void check_node_at_rest(const struct sim_node *node)
{
	const struct dcm_engine *eng = &node->eng;

	if (node->dead)
		return;
	SIM_REQUIRE(!eng->conns.n && !eng->passive.n,
		    "node %u still knows %zu connections", node->index,
		    eng->conns.n);
	SIM_REQUIRE(!eng->timewait_n, "node %u has %zu in time-wait",
		    node->index, eng->timewait_n);
	SIM_REQUIRE(!eng->waiting_n && !node->listener[0].waiting_n &&
			    !node->listener[1].waiting_n,
		    "node %u has requests waiting", node->index);
}

/*
 * Where nothing worse happened than losses, who was told that it is connected
 * has a peer that was told so too, unless that one's consumer had left.
 */
static void check_both_were_told(struct sim *sim)
{
	size_t i;

	for (i = 0; i < sim->checks.n; i++) {
		const struct sim_qp *qp = &sim->checks.qp[i];
		const struct sim_qp *peer =
			sim_qp_of(&sim->checks, qp->partner);

		if (qp->role == SIM_QP_ACTIVE && qp->established)
			SIM_REQUIRE(peer->established || peer->given_up,
				    "qp 0x%zx was established, its passive "
				    "peer 0x%x never was",
				    SIM_FIRST_QP + i, qp->partner);
	}
}

static void world_end(struct sim *sim, struct sim_stats *ret_stats)
{
	unsigned i;

	SIM_REQUIRE(!sim->live, "%zu connections are left", sim->live);
	SIM_REQUIRE(!sim->armed, "%zu timers are left", sim->armed);
	for (i = 0; i < sim->opt.nodes; i++) {
		check_node_at_rest(&sim->node[i]);
		sim_node_fini(&sim->node[i]);
	}
	if (!sim->troubled && !sim->opt.old)
		check_both_were_told(sim);
	sim_net_fini(sim);
	sim_eps_fini(sim);
	sim_checks_fini(&sim->checks);
	free(sim->names);
	free(sim->node);
	free(sim->clock.heap);
	*ret_stats = sim->stats;
}

static void run(struct sim *sim)
{
	uint64_t most = STEPS_PER_CONN * (uint64_t)sim->opt.conns + 100000;

	while (sim_step(sim))
		SIM_REQUIRE(sim->stats.steps < most,
			    "%llu steps, and no end to it",
			    (unsigned long long)most);
}

/* ------------------------------------------------------------ trouble */

static void begin_one(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_node *node = arg;
	unsigned target = (unsigned)sim_below(&sim->rng, sim->opt.nodes);
	uint32_t port = SIM_PORT + (uint32_t)sim_below(&sim->rng, 2);

	if (sim_chance(&sim->rng, 0.05))
		port = 7; /* nobody listens there */
	if (!node->dead && !node->leaving)
		sim_app_connect(node, target, port);
}

static void restart(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_node *node = arg;

	if (node->dead)
		sim_node_start(node);
}

static void crash(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_node *node = arg;

	if (node->dead || node->leaving)
		return;
	if (sim->opt.verbose)
		printf("%12.6f node %u dies\n",
		       (double)sim->clock.now_us / (double)SIM_S, node->index);
	sim->troubled = true;
	node->silent = tag;
	sim_node_crash(node);
	/* Numbers are the same after a boot, which takes its time. */
	if (sim->opt.restart)
		sim_at(sim,
		       sim->clock.now_us + sim_below(&sim->rng, 100 * SIM_S) +
			       (sim->opt.same_numbers ? DCM_LIFETIME_US : 0),
		       restart, node, 0);
}

static void close_node(struct sim *sim, void *arg, uint64_t tag)
{
	struct sim_node *node = arg;

	if (node->dead || node->leaving)
		return;
	if (sim->opt.verbose)
		printf("%12.6f node %u closes\n",
		       (double)sim->clock.now_us / (double)SIM_S, node->index);
	sim->troubled = true;
	sim_node_close(node);
}

static void part(struct sim *sim, void *arg, uint64_t tag)
{
	sim->troubled = true;
	sim->half = (unsigned)sim_below(&sim->rng, sim->opt.nodes);
	sim->heal_us = sim->clock.now_us + sim_below(&sim->rng, 300 * SIM_S);
}

static void plan_trouble(struct sim *sim, uint64_t span_us)
{
	struct sim_rng *rng = &sim->rng;
	unsigned i;

	/* One draw for each statement: their order must not be the compiler's.
	 */
	for (i = 0; i < sim->opt.crashes; i++) {
		struct sim_node *node =
			&sim->node[sim_below(rng, sim->opt.nodes)];
		uint64_t at_us = sim_below(rng, span_us);

		sim_at(sim, at_us, crash, node, sim_chance(rng, 0.5));
	}
	for (i = 0; i < sim->opt.closes; i++) {
		struct sim_node *node =
			&sim->node[sim_below(rng, sim->opt.nodes)];

		sim_at(sim, sim_below(rng, span_us), close_node, node, 0);
	}
	for (i = 0; i < sim->opt.partitions; i++)
		sim_at(sim, sim_below(rng, span_us), part, NULL, 0);
}

/* ------------------------------------------------------------- worlds */

void sim_run_random(const struct sim_options *opt, uint64_t seed,
		    struct sim_stats *ret_stats)
{
	struct sim sim;
	uint64_t span;
	unsigned i;

	world_init(&sim, opt, seed);
	span = sim_chance(&sim.rng, 0.5) ? SIM_S : 100 * SIM_S;
	for (i = 0; i < opt->conns; i++) {
		struct sim_node *node =
			&sim.node[sim_below(&sim.rng, opt->nodes)];

		sim_at(&sim, sim_below(&sim.rng, span), begin_one, node, 0);
	}
	plan_trouble(&sim, span);
	run(&sim);
	world_end(&sim, ret_stats);
}

/* Who starts a job does not start it in one moment, but nearly. */
static uint64_t start_us(struct sim *sim)
{
	return sim_below(&sim->rng, 10 * SIM_MS);
}

static void begin_tag(struct sim *sim, void *arg, uint64_t tag)
{
	sim_app_connect(arg, (unsigned)tag, SIM_PORT);
}

static void tidy_end(struct sim *sim, struct sim_stats *ret_stats)
{
	struct sim_stats *s = &sim->stats;

	run(sim);
	SIM_REQUIRE(s->established == 2 * s->attempts &&
			    s->ended == 2 * s->attempts,
		    "%llu attempts, but %llu ends established, %llu ended",
		    (unsigned long long)s->attempts,
		    (unsigned long long)s->established,
		    (unsigned long long)s->ended);
	world_end(sim, ret_stats);
}

/* All connect to node 0. */
void sim_run_star(const struct sim_options *opt, uint64_t seed,
		  struct sim_stats *ret_stats)
{
	struct sim_options tidy = *opt;
	struct sim sim;
	unsigned i;

	tidy.tidy = true;
	tidy.conns = opt->nodes - 1;
	world_init(&sim, &tidy, seed);
	for (i = 1; i < opt->nodes; i++)
		sim_at(&sim, start_us(&sim), begin_tag, &sim.node[i], 0);
	tidy_end(&sim, ret_stats);
}

/* Each two connect, the higher one to the lower. */
void sim_run_mesh(const struct sim_options *opt, uint64_t seed,
		  struct sim_stats *ret_stats)
{
	struct sim_options tidy = *opt;
	struct sim sim;
	unsigned i, j;

	tidy.tidy = true;
	tidy.conns = opt->nodes * (opt->nodes - 1) / 2;
	world_init(&sim, &tidy, seed);
	for (i = 1; i < opt->nodes; i++)
		for (j = 0; j < i; j++)
			sim_at(&sim, start_us(&sim), begin_tag, &sim.node[i],
			       j);
	tidy_end(&sim, ret_stats);
}
