/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_context.c - cases of consumer contexts and handle types.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_*_consumer_context, dat_get_handle_type.
 */
#include "test/conform/conform.h"

#include <string.h>

/* One handle of each kind that exists without a connection. */
static DAT_HANDLE of_kind(struct conf *c, DAT_HANDLE_TYPE kind)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_HANDLE h = DAT_HANDLE_NULL;

	switch (kind) {
	case DAT_HANDLE_TYPE_IA:
		return c->a.ia;
	case DAT_HANDLE_TYPE_PZ:
		return c->a.pz;
	case DAT_HANDLE_TYPE_EVD:
		return c->a.recv_evd;
	case DAT_HANDLE_TYPE_LMR:
		return c->a.lmr;
	case DAT_HANDLE_TYPE_EP:
		return c->a.ep;
	case DAT_HANDLE_TYPE_CNO:
		return conf_cno(&c->a);
	case DAT_HANDLE_TYPE_PSP:
		return conf_listen(c);
	case DAT_HANDLE_TYPE_CR:
		return conf_meet(c);
	case DAT_HANDLE_TYPE_RSP:
		EXPECT_OK(dat_rsp_create(c->a.ia, c->qual, c->a.ep, c->a.cr_evd,
					 &h));
		return h;
	case DAT_HANDLE_TYPE_RMR:
		EXPECT_OK(dat_rmr_create(c->a.pz, &h));
		return h;
	case DAT_HANDLE_TYPE_SRQ:
		EXPECT_OK(dat_srq_create(c->a.ia, c->a.pz, &attr, &h));
		return h;
	default:
		conf_fail(__FILE__, __LINE__, "no handle of kind %d", kind);
	}
}

static void handle_type(struct conf *c)
{
	DAT_HANDLE h = of_kind(c, (DAT_HANDLE_TYPE)c->arg);
	DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)-1;

	EXPECT_OK(dat_get_handle_type(h, &type));
	EXPECT_EQ(type, c->arg);
}

static void context(struct conf *c)
{
	DAT_HANDLE h = of_kind(c, (DAT_HANDLE_TYPE)c->arg);
	DAT_CONTEXT in = {.as_64 = UINT64_C(0x123456789abcdef0)};
	DAT_CONTEXT out = {.as_64 = 1};

	EXPECT_OK(dat_get_consumer_context(h, &out));
	EXPECT_EQ(out.as_64, 0);
	EXPECT_OK(dat_set_consumer_context(h, in));
	EXPECT_OK(dat_get_consumer_context(h, &out));
	EXPECT_EQ(out.as_64, in.as_64);
}

CASE(set_consumer_context__replaces, "12 context and handles", NEED_IA)
{
	DAT_CONTEXT ctx = {.as_64 = 1}, out;

	EXPECT_OK(dat_set_consumer_context(c->a.pz, ctx));
	ctx.as_64 = 2;
	EXPECT_OK(dat_set_consumer_context(c->a.pz, ctx));
	EXPECT_OK(dat_get_consumer_context(c->a.pz, &out));
	EXPECT_EQ(out.as_64, 2);
}

#define KIND(x, more)                                                    \
	CASE_ARG("get_handle_type__" #x, "12 dat_get_handle_type",       \
		 NEED_EPS | (more), handle_type, DAT_HANDLE_TYPE_##x);   \
	CASE_ARG("consumer_context__" #x, "12 dat_set_consumer_context", \
		 NEED_EPS | (more), context, DAT_HANDLE_TYPE_##x)

KIND(IA, 0);
KIND(PZ, 0);
KIND(EVD, 0);
KIND(LMR, 0);
KIND(EP, 0);
KIND(CNO, 0);
KIND(PSP, 0);
KIND(CR, 0);
KIND(RSP, 0);
KIND(RMR, NEED_RMR);
KIND(SRQ, NEED_SRQ);
