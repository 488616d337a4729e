/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * s_consumers.c - the programs of test/consumers, whose ranks are actors: what
 * they lean on holds in any order of their threads and ours.
 *
 * They call libdat2, or libdat in the program that is compiled for DAT 1.2, to
 * which the world's provider is known as one of the program's own. What runs is
 * theirs; here is what main.c has there: ranks and the wires between them.
 * Rule: test/consumers/README.md.
 */
#include "test/sched/registry.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dat/common/dat_reg.h"
#include "dat/common/dat_static.h"
#include "test/consumers/rank.h"
#include "test/sched/scenario.h"

static struct {
	const struct consumer *consumer;
	struct rank rank[RANKS_MAX];
	struct rank_note note[RANKS_MAX];
} st;

/* In place of an exit, for who is called from another file than rank.c. */
_Noreturn void __wrap_rank_fail(struct rank *r, const char *file, int line,
				const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
_Noreturn void __wrap_rank_fail(struct rank *r, const char *file, int line,
				const char *fmt, ...)
{
	char text[RANK_NOTE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sched_fail("%s:%d: rank %d: %s", file, line, r->id, text);
}

/*
 * A registry that knows the world's provider, and one that cannot be opened,
 * which programs pass over.
 */
static void make_registry(void)
{
	const DAT_PROVIDER_INFO *info = &world_registry.info;
	char path[64];
	int fd = memfd_create("dat.conf", MFD_CLOEXEC);

	need(fd >= 0);
	dprintf(fd,
		"nobody u%u.%u threadsafe default /nowhere stub.1.0 \"\" \"\"\n",
		info->dapl_version_major, info->dapl_version_minor);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	dat_registry_fini();
	dat_registry_init(&(struct dat_static_options){.override = path,
						       .automatic = "0"});
	close(fd);
	need_ok(dat_registry_add_provider(world_registry.vector, info));
}

static const struct consumer *find(const char *name)
{
	const struct consumer *c = consumers;

	while (strcmp(c->name, name) != 0)
		c++;
	return c;
}

static void wire_up(int n)
{
	int sv[2];

	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++) {
			need(!socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
			st.rank[i].fd[j] = sv[0];
			st.rank[j].fd[i] = sv[1];
		}
}

static void lives(void *rank)
{
	struct rank *r = rank;

	st.consumer->run(r);
	rank_barrier(r);
}

static void run(const struct world *w, const char *name, int n)
{
	make_registry();
	st.consumer = find(name);
	for (int i = 0; i < n; i++)
		st.rank[i] = (struct rank){
			.id = i,
			.n = n,
			.adapter = WORLD_IA_NAME,
			.qual = (unsigned)WORLD_QUAL,
			.iwarp = w->kind == FV_IWARP,
			.note = &st.note[i],
		};
	wire_up(n);
	for (int i = 0; i < n; i++)
		actor(lives, &st.rank[i]);
	play();
}

#define CONSUMER(name, ranks)                            \
	SCENARIO_OF(consumer__##name, ON_A_DEVICE, NULL) \
	{                                                \
		run(w, #name, ranks);                    \
	}

CONSUMER(ends, 2)
CONSUMER(mvapich2, 2)
CONSUMER(mvapich2_demand, 3)
CONSUMER(netpipe, 2)
CONSUMER(netpipe_memory, 2)
CONSUMER(photon, 2)
CONSUMER(pscom, 2)
CONSUMER(reopen, 1)
CONSUMER(srdma, 3)

/* It ends with its adapter open. */
SCENARIO_OF(consumer__openmpi, ON_A_DEVICE, NULL)
{
	run(w, "openmpi", 2);
	leave();
}
