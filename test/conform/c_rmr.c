/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_rmr.c - cases of remote memory regions (memory windows).
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_rmr_*; scopes: DAT 2.0.
 */
#include "test/conform/conform.h"

#include <string.h>

static DAT_RMR_HANDLE make(struct conf *c)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

	EXPECT_OK(dat_rmr_create(c->a.pz, &rmr));
	EXPECT(rmr);
	return rmr;
}

/* What a bind takes; cases spoil one member. */
struct bind {
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET seg;
	unsigned priv;
	DAT_EP_HANDLE ep;
};

static struct bind good(struct conf *c)
{
	return (struct bind){
		.rmr = make(c),
		.lmr = c->a.lmr,
		.seg = conf_seg(&c->a, 0, 4096),
		.priv = DAT_MEM_PRIV_REMOTE_READ_FLAG |
			DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		.ep = c->a.ep,
	};
}

static DAT_RETURN bind_rmr(const struct bind *b, DAT_RMR_CONTEXT *ctx)
{
	return face_rmr_bind(b->rmr, b->lmr, &b->seg,
			     (DAT_MEM_PRIV_FLAGS)b->priv, b->ep, conf_cookie(7),
			     DAT_COMPLETION_DEFAULT_FLAG, ctx);
}

static DAT_RMR_CONTEXT bound(struct conf *c, const struct bind *b)
{
	DAT_RMR_CONTEXT ctx = 0;
	DAT_EVENT ev;

	EXPECT_OK(bind_rmr(b, &ctx));
	ev = conf_event(c->a.req_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	EXPECT(ev.event_data.rmr_completion_event_data.rmr_handle == b->rmr);
	EXPECT_EQ(ev.event_data.rmr_completion_event_data.user_cookie.as_64, 7);
	EXPECT_EQ(ev.event_data.rmr_completion_event_data.status,
		  DAT_RMR_BIND_SUCCESS);
	return ctx;
}

CASE(rmr_create__works, "10 dat_rmr_create", NEED_IA | NEED_RMR)
{
	EXPECT_OK(dat_rmr_free(make(c)));
}

CASE(rmr_query__unbound, "10 dat_rmr_query", NEED_IA | NEED_RMR)
{
	DAT_RMR_PARAM p;

	EXPECT_OK(dat_rmr_query(make(c), DAT_RMR_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT(p.pz_handle == c->a.pz);
}

CASE(rmr_bind__completes, "10 dat_rmr_bind", NEED_CONNECTED | NEED_RMR)
{
	struct bind b = good(c);
	DAT_RMR_PARAM p;
	DAT_RMR_CONTEXT ctx = bound(c, &b);

	EXPECT_OK(dat_rmr_query(b.rmr, DAT_RMR_FIELD_ALL, &p));
	EXPECT_EQ(p.rmr_context, ctx);
	EXPECT_EQ(p.lmr_triplet.segment_length, 4096);
	EXPECT_EQ(p.mem_priv, b.priv);
}

CASE(rmr_bind__peer_writes_through_it, "10 dat_rmr_bind",
     NEED_CONNECTED | NEED_RMR)
{
	struct bind b = good(c);
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 64);
	DAT_RMR_TRIPLET to = conf_target(&c->a, 0, 64);

	to.rmr_context = bound(c, &b);
	memset(c->b.buf, 0x5a, 64);
	EXPECT_OK(dat_ep_post_rdma_write(c->b.ep, 1, &seg, conf_cookie(1), &to,
					 DAT_COMPLETION_DEFAULT_FLAG));
	conf_dto(c->b.req_evd, 1, DAT_DTO_SUCCESS);
	EXPECT(memcmp(c->a.buf, c->b.buf, 64) == 0);
}

CASE(rmr_bind__length_0_unbinds, "10 dat_rmr_bind", NEED_CONNECTED | NEED_RMR)
{
	struct bind b = good(c);
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 64);
	DAT_RMR_TRIPLET to = conf_target(&c->a, 0, 64);

	memset(c->b.buf, 0x5a, 64);
	to.rmr_context = bound(c, &b);
	b.seg.segment_length = 0;
	bound(c, &b);
	EXPECT_OK(dat_ep_post_rdma_write(c->b.ep, 1, &seg, conf_cookie(1), &to,
					 DAT_COMPLETION_DEFAULT_FLAG));
	conf_remote_fault(c, 1);
	EXPECT(c->a.buf[0] == 0);
}

CASE(rmr_bind__outside_the_region, "10 dat_rmr_bind", NEED_CONNECTED | NEED_RMR)
{
	struct bind b = good(c);
	DAT_RMR_CONTEXT ctx;

	b.seg = conf_seg(&c->a, CONF_MEM - 8, 64);
	EXPECT_TYPE(bind_rmr(&b, &ctx), DAT_INVALID_PARAMETER);
}

CASE(rmr_bind__pz_differs, "10 dat_rmr_bind", NEED_CONNECTED | NEED_RMR)
{
	struct bind b = good(c);
	DAT_RMR_CONTEXT ctx;
	DAT_PZ_HANDLE pz;

	EXPECT_OK(dat_pz_create(c->a.ia, &pz));
	EXPECT_OK(dat_rmr_create(pz, &b.rmr));
	EXPECT_TYPE(bind_rmr(&b, &ctx), DAT_INVALID_PARAMETER);
}

CASE(rmr_bind__region_lacks_privilege, "10 dat_rmr_bind",
     NEED_CONNECTED | NEED_RMR)
{
	struct bind b = good(c);
	DAT_REGION_DESCRIPTION desc = {.for_va = c->a.buf};
	DAT_RMR_CONTEXT ctx;

	EXPECT_OK(face_lmr_create(c->a.ia, DAT_MEM_TYPE_VIRTUAL, desc, 4096,
				  c->a.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &b.lmr,
				  &b.seg.lmr_context, NULL, NULL, NULL));
	EXPECT_TYPE(bind_rmr(&b, &ctx), DAT_PRIVILEGES_VIOLATION);
}

CASE(rmr_bind__ep_not_connected, "10 dat_rmr_bind", NEED_EPS | NEED_RMR)
{
	struct bind b = good(c);
	DAT_RMR_CONTEXT ctx;

	BAD_STATE(bind_rmr(&b, &ctx), EP_UNCONNECTED);
}

CASE(rmr_free__bound, "10 dat_rmr_free", NEED_CONNECTED | NEED_RMR)
{
	struct bind b = good(c);

	bound(c, &b);
	EXPECT_OK(dat_rmr_free(b.rmr));
	EXPECT_OK(dat_lmr_free(c->a.lmr));
}

CASE(lmr_free__rmr_is_bound, "9 dat_lmr_free", NEED_CONNECTED | NEED_RMR)
{
	struct bind b = good(c);

	bound(c, &b);
	EXPECT_TYPE(dat_lmr_free(c->a.lmr), DAT_INVALID_STATE);
}
