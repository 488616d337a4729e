/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * engine.c - who is in the engine; see the header. What dcm.c calls is here in
 * place of the real one, as in wrap.c.
 */
#include "test/sched/engine.h"

#include "dapl/common/cm/dcm/dcm.h"
#include "test/sched/scenario.h"

#define ENGINES 16 /* of a run */

struct engine {
	struct dcm_engine *eng;
	pthread_t inside; /* while DEPTH: upcalls lead back */
	int depth;
	bool taken; /* by stop() */
};

static struct engine engines[ENGINES];
static bool dawdles;

void engine_dawdles(void)
{
	dawdles = true;
}

static struct engine *engine_of(struct dcm_engine *eng)
{
	struct engine *e = engines, *free = NULL;

	for (; e < engines + ENGINES && e->eng != eng; e++)
		if (!e->eng)
			free = e;
	if (e == engines + ENGINES)
		e = free;
	need(e);
	return e;
}

WRAP(void, dcm_engine_init, struct dcm_engine *eng,
     const struct dcm_engine_ops *ops, const struct dcm_rules *rules,
     uint32_t seed)
{
	*engine_of(eng) = (struct engine){.eng = eng};
	__real_dcm_engine_init(eng, ops, rules, seed);
}

WRAP(void, dcm_engine_fini, struct dcm_engine *eng)
{
	engine_of(eng)->eng = NULL;
	__real_dcm_engine_fini(eng);
}

static struct engine *enter(struct dcm_engine *eng)
{
	struct engine *e = engine_of(eng);
	bool service = dapl_loop_here(dcm_of_engine(eng)->base.loop);

	if (e->depth && !pthread_equal(e->inside, pthread_self()))
		sched_fail("two threads are in an engine");
	if (service && e->taken)
		sched_fail("the service thread is in an engine after stop()");
	e->taken |= !service;
	e->inside = pthread_self();
	e->depth++;
	return e;
}

WRAP(int, dcm_engine_connect, struct dcm_engine *eng, struct dcm_conn *conn,
     uint32_t port, uint64_t now_us)
{
	struct engine *e = enter(eng);
	int ret;

	for (unsigned n = dawdles ? sched_dice(20) : 0; n; n--)
		world_pause();
	ret = __real_dcm_engine_connect(eng, conn, port, now_us);
	e->depth--;
	return ret;
}

/* CONN may be gone afterwards. */
WRAP(void, dcm_engine_input, struct dcm_conn *conn, enum dcm_input in,
     const struct dcm_msg *msg, uint64_t now_us)
{
	struct engine *e = enter(conn->eng);

	__real_dcm_engine_input(conn, in, msg, now_us);
	e->depth--;
}
