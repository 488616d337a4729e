/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scm_world.h - the two instances of cm_world.h with the hand-written peers of
 * scm_raw.h: a case begins with both and leaves the descriptors as they were.
 */
#ifndef SCM_WORLD_H
#define SCM_WORLD_H

#include "dapl/openib_scm/scm.h"
#include "test/unit/cm_world.h"
#include "test/unit/openib_scm/scm_raw.h"

static struct world world;
static int scm_world_files;

static inline int scm_world_open(enum fv_kind kind)
{
	scm_world_files = raw_open_files();
	world_open(&world, kind);
	return 0;
}

static inline int setup(void **state)
{
	return scm_world_open(FV_ROCE);
}

static inline int teardown(void **state)
{
	raw_close_all();
	world_close(&world);
	assert_int_equal(raw_open_files(), scm_world_files);
	return 0;
}

static inline DAT_CONN_QUAL qual_of(uint16_t port)
{
	return (DAT_CONN_QUAL)(uint16_t)(port - RAW_QUAL_BASE);
}

#endif
