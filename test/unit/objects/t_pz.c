/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_pz.c - dat_pz_create, dat_pz_query, dat_pz_free.
 *
 * Linked without connect/, a connection manager and the table of all calls:
 * a zone needs none of them.
 * Threads: the test's own. Rules: uDAPL 1.2 specification, dat_pz_*.
 */
#include "dapl/common/objects/dapl_pz.h"
#include "test/unit/world.h"

static void pz_create__ok(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = NULL;
	DAT_HANDLE_TYPE type;

	assert_dat_ok(dapl_pz_create(w->server.ia, &pz));
	assert_dat_ok(V(get_handle_type)(pz, &type));
	assert_int_equal(type, DAT_HANDLE_TYPE_PZ);
	assert_dat_ok(dapl_pz_free(pz));
}

static void pz_create__nth_failure(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = NULL;

	assert_nth_failure(dapl_pz_create(w->server.ia, &pz),
			   assert_dat_ok(dapl_pz_free(pz)));
}

static void pz_create__failure_writes_nothing(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = (DAT_PZ_HANDLE)w;

	fv_fail_at(1, ENOMEM);
	assert_refused(dapl_pz_create(w->server.ia, &pz),
		       DAPL_NO_RES(PROTECTION_DOMAIN));
	assert_ptr_equal(pz, w);
}

static void pz_query__ia(void **state)
{
	struct world *w = *state;
	DAT_PZ_PARAM param = {0};
	DAT_PZ_HANDLE pz = NULL;

	assert_dat_ok(dapl_pz_create(w->client.ia, &pz));
	assert_dat_ok(dapl_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	assert_dat_ok(dapl_pz_free(pz));
	assert_ptr_equal(param.ia_handle, world_user_ia(w->client.ia));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ib_test(pz_create__ok),
		ib_test(pz_create__nth_failure),
		ib_test(pz_create__failure_writes_nothing),
		ib_test(pz_query__ia),
	};

	return world_run(tests);
}
