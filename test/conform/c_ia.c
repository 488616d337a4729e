/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_ia.c - cases of interface adapters.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_ia_*.
 */
#include "test/conform/conform.h"

#include <string.h>

static DAT_RETURN open_ia(struct conf *c, DAT_EVD_HANDLE *evd,
			  DAT_IA_HANDLE *ia)
{
	return dat_ia_open((char *)(uintptr_t)c->name, 8, evd, ia);
}

CASE(ia_open__async_evd_is_made, "3 dat_ia_openv", NEED_NOTHING)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_EVD_PARAM p;
	DAT_IA_HANDLE ia;

	EXPECT_OK(open_ia(c, &evd, &ia));
	EXPECT(evd);
	EXPECT_OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &p));
	EXPECT(p.ia_handle == ia);
	EXPECT_EQ(p.evd_flags, DAT_EVD_ASYNC_FLAG);
	EXPECT(p.evd_qlen >= 8);
	EXPECT_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

CASE(ia_open__again_and_again, "3 dat_ia_openv", NEED_NOTHING)
{
	for (int i = 0; i < 20; i++) {
		DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;

		EXPECT_OK(open_ia(c, &evd, &ia));
		EXPECT_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
}

CASE(ia_open__two_instances, "3 dat_ia_openv", NEED_IA)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	EXPECT_OK(open_ia(c, &evd, &ia));
	EXPECT(ia != c->a.ia);
	EXPECT_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

CASE(ia_open__shares_async_evd, "3 dat_ia_openv", NEED_IA)
{
	DAT_EVD_HANDLE evd = c->a.async_evd;
	DAT_IA_HANDLE ia;

	EXPECT_OK(open_ia(c, &evd, &ia));
	EXPECT(evd == c->a.async_evd);
	EXPECT_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	conf_no_event(c->a.async_evd);
}

CASE(ia_query__async_evd, "3 dat_ia_query", NEED_IA)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	EXPECT_OK(dat_ia_query(c->a.ia, &evd, 0, NULL, 0, NULL));
	EXPECT(evd == c->a.async_evd);
}

CASE(ia_query__limits_are_usable, "3 dat_ia_query", NEED_IA)
{
	const DAT_IA_ATTR *a = &c->ia_attr;

	EXPECT(a->adapter_name[0]);
	EXPECT(a->ia_address_ptr);
	EXPECT(a->max_eps > 0);
	EXPECT(a->max_dto_per_ep > 0);
	EXPECT(a->max_evds > 0);
	EXPECT(a->max_evd_qlen > 0);
	EXPECT(a->max_iov_segments_per_dto > 0);
	EXPECT(a->max_lmrs > 0);
	EXPECT(a->max_pzs > 0);
	EXPECT(a->max_message_size > 0);
	EXPECT(a->max_rdma_size > 0);
}

CASE(ia_query__srq_limits_agree, "3 dat_ia_query", NEED_IA)
{
	bool srq = c->prov_attr.srq_supported != DAT_FALSE;

	EXPECT_EQ(c->ia_attr.max_srqs > 0, srq);
	EXPECT_EQ(c->ia_attr.max_recv_per_srq > 0, srq);
}

CASE(ia_query__provider, "3 dat_ia_query", NEED_IA)
{
	const DAT_PROVIDER_ATTR *p = &c->prov_attr;

	EXPECT(strcmp(p->provider_name, c->name) == 0);
	EXPECT_EQ(p->dapl_version_major, DAT_VERSION_MAJOR);
	EXPECT_EQ(p->dapl_version_minor, DAT_VERSION_MINOR);
	EXPECT_EQ(p->iov_ownership_on_return, DAT_IOV_CONSUMER);
	EXPECT(p->max_private_data_size > 0);
	EXPECT(p->optimal_buffer_alignment > 0 &&
	       DAT_OPTIMAL_ALIGNMENT % p->optimal_buffer_alignment == 0);
}

/* Every field is written, also those that old providers forgot. */
CASE(ia_query__writes_every_provider_field, "3 dat_ia_query", NEED_IA)
{
	DAT_PROVIDER_ATTR p[2];

	memset(&p[0], 0x00, sizeof(p[0]));
	memset(&p[1], 0xff, sizeof(p[1]));
	for (int i = 0; i < 2; i++)
		EXPECT_OK(dat_ia_query(c->a.ia, NULL, 0, NULL,
				       DAT_PROVIDER_FIELD_ALL, &p[i]));
	EXPECT_EQ(p[0].srq_supported, p[1].srq_supported);
	EXPECT_EQ(p[0].srq_watermarks_supported, p[1].srq_watermarks_supported);
	EXPECT_EQ(p[0].srq_info_supported, p[1].srq_info_supported);
	EXPECT_EQ(p[0].ep_recv_info_supported, p[1].ep_recv_info_supported);
	EXPECT_EQ(p[0].lmr_sync_req, p[1].lmr_sync_req);
#if DAT_FACE == 2
	EXPECT_EQ(p[0].rmr_scope_supported, p[1].rmr_scope_supported);
	EXPECT_EQ(p[0].is_signal_safe, p[1].is_signal_safe);
	EXPECT_EQ(p[0].ha_supported, p[1].ha_supported);
	EXPECT_EQ(p[0].ha_loadbalancing, p[1].ha_loadbalancing);
#endif
	EXPECT_EQ(p[0].max_private_data_size, p[1].max_private_data_size);
}

CASE(ia_close__twice, "3 dat_ia_close", NEED_IA)
{
	DAT_IA_HANDLE ia = c->a.ia;

	EXPECT_OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	c->a.ia = DAT_HANDLE_NULL;
	BAD_HANDLE(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), IA);
}

CASE(ia_close__graceful_with_objects, "3 dat_ia_close", NEED_IA)
{
	BAD_STATE(dat_ia_close(c->a.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
}

static void graceful_with(struct conf *c, bool cno)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_CNO_HANDLE obj;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	EXPECT_OK(open_ia(c, &evd, &ia));
	if (cno)
		EXPECT_OK(
			dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &obj));
	else
		EXPECT_OK(dat_pz_create(ia, &pz));
	BAD_STATE(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	EXPECT_OK(cno ? dat_cno_free(obj) : dat_pz_free(pz));
	EXPECT_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

CASE(ia_close__graceful_with_a_pz, "3 dat_ia_close", NEED_IA)
{
	graceful_with(c, false);
}

CASE(ia_close__graceful_with_a_cno, "3 dat_ia_close", NEED_IA)
{
	graceful_with(c, true);
}

CASE(ia_close__abrupt_takes_all, "3 dat_ia_close", NEED_IA)
{
	DAT_CNO_HANDLE cno = conf_cno(&c->a);
	DAT_EVD_HANDLE evd;

	EXPECT_OK(dat_evd_create(c->a.ia, 4, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	EXPECT_OK(conf_post_se(evd, NULL));
	conf_ep(&c->a, NULL);
	conf_listen(c);
	EXPECT_OK(dat_ia_close(c->a.ia, DAT_CLOSE_ABRUPT_FLAG));
	c->a.ia = DAT_HANDLE_NULL;
}

CASE(ia_close__abrupt_while_connected, "3 dat_ia_close", NEED_CONNECTED)
{
	EXPECT_OK(dat_ia_close(c->a.ia, DAT_CLOSE_ABRUPT_FLAG));
	c->a.ia = DAT_HANDLE_NULL;
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	EXPECT_EQ(conf_ep_state(c->b.ep), DAT_EP_STATE_DISCONNECTED);
}

/* A CNO that is let go twice is given to two. */
CASE(ia_close__async_evd_notifies_a_cno, "3 dat_ia_close", NEED_NOTHING)
{
	for (int i = 0; i < 64; i++) {
		struct conf_side s = {.async_evd = DAT_HANDLE_NULL};
		DAT_CNO_HANDLE cno, other;

		EXPECT_OK(dat_ia_open((char *)(uintptr_t)c->name, 8,
				      &s.async_evd, &s.ia));
		cno = conf_cno(&s);
		other = conf_cno(&s);
		EXPECT(cno != other);
		EXPECT_OK(dat_evd_modify_cno(s.async_evd, cno));
		EXPECT_OK(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
	}
}
