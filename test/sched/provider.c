/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * provider.c - the providers of the program; see the header. The entry points
 * that a program finds in a plugin are here, for the one that was chosen.
 */
#include "test/sched/provider.h"

#include <dat2/udat.h>

#include <stdlib.h>

#include "dapl/common/plugin/dapl_register.h"
#include "test/unit/world.h"

extern struct world_provider world_cma, world_scm, world_ucm;

static const struct {
	const char *name;
	const struct world_provider *provider;
	int kinds;
} all[PROVIDERS] = {
	{"cma", &world_cma, 3},
	{"scm", &world_scm, 2},
	{"ucm", &world_ucm, 2},
};

struct world_provider world_provider;

const char *provider_name(int nr)
{
	return all[nr].name;
}

int provider_kinds(int nr)
{
	return all[nr].kinds;
}

/* The same in each process: ports are played, too. */
static DAT_CONN_QUAL qual(void)
{
	return 5000;
}

void provider_choose(int nr)
{
	world_provider = *all[nr].provider;
	world_provider.qual = qual;
#ifdef SCHED_DAT_1_2
	world_info.dapl_version_major = 1;
	world_info.dapl_version_minor = 2;
#endif
	/* Thousands of receives would be most of a run. */
	setenv("DAPL_UCM_QP_SIZE", "64", 1);
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *ia_params)
{
	DAPL_PLUGIN_REGISTER(world_provider.ops, info, ia_params);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	dapl_provider_unregister(world_provider.ops, info);
}
