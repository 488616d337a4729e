/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_pz.c - dat_pz_create, dat_pz_query, dat_pz_free.
 *
 * Users of a zone are made here only as far as they keep it from being freed.
 * Threads: the test's own. Rules: uDAPL 1.2 specification, dat_pz_*.
 */
#include "test/unit/world.h"

static void pz_create__ok(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = world_pz(w->server.ia);
	DAT_HANDLE_TYPE type;

	assert_dat_ok(V(get_handle_type)(pz, &type));
	assert_int_equal(type, DAT_HANDLE_TYPE_PZ);
	assert_dat_ok(V(pz_free)(pz));
}

static void pz_create__nth_failure(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = NULL;

	assert_nth_failure(V(pz_create)(w->server.ia, &pz),
			   assert_dat_ok(V(pz_free)(pz)));
}

static void pz_create__failure_writes_nothing(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = (DAT_PZ_HANDLE)w;

	fv_fail_at(1, ENOMEM);
	assert_refused(V(pz_create)(w->server.ia, &pz),
		       DAPL_NO_RES(PROTECTION_DOMAIN));
	assert_ptr_equal(pz, w);
}

static void pz_query__ia(void **state)
{
	struct world *w = *state;
	DAT_PZ_PARAM param = {0};

	assert_dat_ok(V(pz_query)(w->client.pz, DAT_PZ_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, world_user_ia(w->client.ia));
}

static void pz_free__lmr_uses_it(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = world_pz(w->server.ia);
	DAT_LMR_HANDLE lmr;
	char buf[64];

	lmr = world_lmr(w->server.ia, pz, buf, sizeof(buf), NULL, NULL);
	assert_refused(V(pz_free)(pz), DAPL_BAD_STATE(PZ_IN_USE));
	assert_dat_ok(V(lmr_free)(lmr));
	assert_dat_ok(V(pz_free)(pz));
}

static void pz_free__ep_uses_it(void **state)
{
	struct world *w = *state;
	DAT_EP_HANDLE ep = world_ep(&w->server, NULL);

	assert_dat_ok(V(lmr_free)(w->server.mem.lmr));
	assert_refused(V(pz_free)(w->server.pz), DAPL_BAD_STATE(PZ_IN_USE));
	assert_dat_ok(V(ep_free)(ep));
	assert_dat_ok(V(pz_free)(w->server.pz));
}

static void pz_free__rmr_uses_it(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = world_pz(w->server.ia);
	DAT_RMR_HANDLE rmr;

	assert_dat_ok(V(rmr_create)(pz, &rmr));
	assert_refused(V(pz_free)(pz), DAPL_BAD_STATE(PZ_IN_USE));
	assert_dat_ok(V(rmr_free)(rmr));
	assert_dat_ok(V(pz_free)(pz));
}

static void pz_free__srq_uses_it(void **state)
{
	struct world *w = *state;
	DAT_PZ_HANDLE pz = world_pz(w->server.ia);
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq;

	assert_dat_ok(V(srq_create)(w->server.ia, pz, &attr, &srq));
	assert_refused(V(pz_free)(pz), DAPL_BAD_STATE(PZ_IN_USE));
	assert_dat_ok(V(srq_free)(srq));
	assert_dat_ok(V(pz_free)(pz));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ib_test(pz_create__ok),
		ib_test(pz_create__nth_failure),
		ib_test(pz_create__failure_writes_nothing),
		ib_test(pz_query__ia),
		ib_test(pz_free__lmr_uses_it),
		ib_test(pz_free__ep_uses_it),
		ib_test(pz_free__rmr_uses_it),
		ib_test(pz_free__srq_uses_it),
	};

	return world_run(tests);
}
