/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * table.c - the consumers of one version of DAT, by name. Contains no logic.
 */
#include "test/consumers/table.h"
#include "test/consumers/rank.h"

const struct consumer consumers[] = {
	{"ends", ends, 2},
	{"netpipe", netpipe, 2},
	{"netpipe_memory", netpipe_memory, 2},
	{"openmpi", openmpi, 0},
	{"intelmpi", intelmpi, 0},
	{"mvapich2", mvapich2, 0},
	{"mvapich2_demand", mvapich2_demand, 0},
	{"mvapich2_death", mvapich2_death, 0},
	{"photon", photon, 0},
	{"pscom", pscom, 0},
	{"reopen", reopen, 1},
	{"srdma", srdma, 0},
	{0},
};
