/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_pz.c - dat_pz_create, when it fails.
 *
 * Linked without connect/, a connection manager and the table of all calls:
 * a zone needs none of them.
 * Threads: the test's own. Rules: uDAPL 1.2 specification, dat_pz_*.
 */
#include "dapl/common/objects/dapl_pz.h"
#include "test/unit/world.h"

ON_IB(pz_create__nth_failure)
{
	DAT_PZ_HANDLE pz = NULL;

	assert_nth_failure(dapl_pz_create(s->ia, &pz),
			   assert_dat_ok(dapl_pz_free(pz)));
}

ON_IB(pz_create__failure_writes_nothing)
{
	DAT_PZ_HANDLE pz = (DAT_PZ_HANDLE)w;

	fv_fail_at(1, ENOMEM);
	assert_refused(dapl_pz_create(s->ia, &pz),
		       DAPL_NO_RES(PROTECTION_DOMAIN));
	assert_ptr_equal(pz, w);
}

RUN_CASES(NULL, NULL)
