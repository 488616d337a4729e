/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_pz.c - cases of protection zones.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_pz_*.
 */
#include "test/conform/conform.h"

#include <string.h>

CASE(pz_create__works, "8 dat_pz_create", NEED_IA)
{
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;

	EXPECT_OK(dat_pz_create(c->a.ia, &pz));
	EXPECT(pz);
	EXPECT_OK(dat_pz_free(pz));
}

CASE(pz_query__names_the_ia, "8 dat_pz_query", NEED_IA)
{
	DAT_PZ_PARAM param;

	EXPECT_OK(dat_pz_query(c->a.pz, DAT_PZ_FIELD_ALL, &param));
	EXPECT(param.ia_handle == c->a.ia);
}

CASE(pz_free__lmr_uses_it, "8 dat_pz_free", NEED_IA)
{
	BAD_STATE(dat_pz_free(c->a.pz), PZ_IN_USE);
	EXPECT_OK(dat_lmr_free(c->a.lmr));
	EXPECT_OK(dat_pz_free(c->a.pz));
}

CASE(pz_free__ep_uses_it, "8 dat_pz_free", NEED_IA)
{
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	EXPECT_OK(dat_pz_create(c->a.ia, &pz));
	EXPECT_OK(dat_ep_create(c->a.ia, pz, c->a.recv_evd, c->a.req_evd,
				c->a.conn_evd, NULL, &ep));
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	EXPECT_OK(dat_ep_free(ep));
	EXPECT_OK(dat_pz_free(pz));
}

CASE(pz_free__rmr_uses_it, "8 dat_pz_free", NEED_IA | NEED_RMR)
{
	DAT_PZ_HANDLE pz;
	DAT_RMR_HANDLE rmr;

	EXPECT_OK(dat_pz_create(c->a.ia, &pz));
	EXPECT_OK(dat_rmr_create(pz, &rmr));
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	EXPECT_OK(dat_rmr_free(rmr));
	EXPECT_OK(dat_pz_free(pz));
}

CASE(pz_free__srq_uses_it, "8 dat_pz_free", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_PZ_HANDLE pz;
	DAT_SRQ_HANDLE srq;

	EXPECT_OK(dat_pz_create(c->a.ia, &pz));
	EXPECT_OK(dat_srq_create(c->a.ia, pz, &attr, &srq));
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	EXPECT_OK(dat_srq_free(srq));
	EXPECT_OK(dat_pz_free(pz));
}
