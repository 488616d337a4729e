/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scenario.h - a scenario: two open IAs (world.h), actors that are let loose on
 * them at once, and what must be true however they meet.
 *
 *	SCENARIO(pz_free__by_two)
 *	{
 *		actor(frees, s->pz);
 *		actor(frees, s->pz);
 *		play();
 *		need(freed == 1);
 *	}
 *
 * It runs over each provider, unless it is about one. Each run is a process.
 *Until play() and after it the scenario's own thread goes on as long as it can;
 *what it makes is on devices of a kind that the seed chooses, as is
 *sched_dice(). A wait that must end has no limit: one that does not is found as
 *a deadlock. The rest is world.h's and kit.h's, and so is what must be over
 *when the IAs are closed.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "test/sched/sched.h"
#include "test/unit/kit.h"

struct scenario {
	const char *name;
	void (*fn)(struct world *w, struct world_side *s, struct world_side *c);
	enum {
		ON_ANY_KIND, /* of device that the provider takes */
		ON_IB_ONLY,
		ON_A_DEVICE, /* of any kind; no IAs are open */
		ON_NOTHING,  /* once, not over each provider */
	} ground;
	const char *provider; /* the one that it is about; NULL: none */
};

void scenario_add(const struct scenario *scenario);

#define SCENARIO_OF(name, where, provider)                               \
	static void name(struct world *w, struct world_side *s,          \
			 struct world_side *c);                          \
	__attribute__((constructor)) static void name##_add(void)        \
	{                                                                \
		static const struct scenario this = {#name, name, where, \
						     provider};          \
                                                                         \
		scenario_add(&this);                                     \
	}                                                                \
	static void name(__attribute__((unused)) struct world *w,        \
			 __attribute__((unused)) struct world_side *s,   \
			 __attribute__((unused)) struct world_side *c)

#define SCENARIO(name)	    SCENARIO_OF(name, ON_ANY_KIND, NULL)
#define SCENARIO_IB(name)   SCENARIO_OF(name, ON_IB_ONLY, NULL)
#define SCENARIO_CMA(name)  SCENARIO_OF(name, ON_ANY_KIND, "cma")
#define SCENARIO_SCM(name)  SCENARIO_OF(name, ON_ANY_KIND, "scm")
#define SCENARIO_UCM(name)  SCENARIO_OF(name, ON_ANY_KIND, "ucm")
#define SCENARIO_BARE(name) SCENARIO_OF(name, ON_NOTHING, NULL)

/* One more that play() lets loose. */
void actor(void (*fn)(void *arg), void *arg);
/* The thread of that one, when the play has begun. */
pthread_t actor_thread(int nr);
/* Until all of them have ended. */
void play(void);

#define need(cond)                                                         \
	((cond) ? (void)0                                                  \
		: sched_fail("%s:%d: not so: %s", __FILE_NAME__, __LINE__, \
			     #cond))

/* The call's answer is of one of these types. */
#define need_type(call, ...)                                    \
	need_one_of((call), #call, __FILE_NAME__, __LINE__,     \
		    (const DAT_RETURN[]){__VA_ARGS__},          \
		    sizeof((const DAT_RETURN[]){__VA_ARGS__}) / \
			    sizeof(DAT_RETURN))
#define need_ok(call) need_type(call, DAT_SUCCESS)

static inline DAT_RETURN need_one_of(DAT_RETURN ret, const char *call,
				     const char *file, int line,
				     const DAT_RETURN *types, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (DAT_GET_TYPE(ret) == types[i])
			return ret;
	sched_fail("%s:%d: 0x%x is no answer: %s", file, line, (unsigned)ret,
		   call);
}

/* The next event, for as long as it takes. */
static inline DAT_EVENT await_event(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	need_ok(V(evd_wait)(evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
	return ev;
}

/* Of the requests that have come and nobody has read; how many they were. */
static inline int reject_all(struct world_side *server)
{
	DAT_EVENT ev;
	int n = 0;

	for (; V(evd_dequeue)(server->cr_evd, &ev) == DAT_SUCCESS; n++)
		need_ok(V(cr_reject)(
			ev.event_data.cr_arrival_event_data.cr_handle, 0,
			NULL));
	return n;
}

/* The process ends, whoever is inside. */
_Noreturn void leave(void);

#endif
