/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_ep_state.c - which calls each state of an endpoint allows.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, endpoint states; DISCONNECT_PENDING and
 * COMPLETION_PENDING pass too quickly to be held from outside.
 */
#include "test/conform/conform.h"

#include <string.h>

/* Bits of the argument: the state, and whether the call is allowed there. */
#define ALLOWED 0x100

static DAT_EP_HANDLE reach(struct conf *c, bool *ret_allowed)
{
	*ret_allowed = (c->arg & ALLOWED) != 0;
	return conf_reach(c, (DAT_EP_STATE)(c->arg & 0xff));
}

static void judge(struct conf *c, const char *call, DAT_RETURN ret)
{
	DAT_EP_STATE state = (DAT_EP_STATE)(c->arg & 0xff);

	if (c->arg & ALLOWED)
		conf_expect_ret(__FILE__, __LINE__, call, ret, DAT_SUCCESS, 0);
	else
		conf_expect_ret(__FILE__, __LINE__, call, ret,
				DAT_INVALID_STATE, conf_state_subtype(state));
}

static void connect_ep(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);

	judge(c, "dat_ep_connect", conf_try_connect(c, ep, CONF_PATIENCE));
}

static void reserve(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);
	struct conf_side *s = ep == c->b.ep ? &c->b : &c->a;
	DAT_RSP_HANDLE rsp;

	judge(c, "dat_rsp_create",
	      dat_rsp_create(s->ia, c->qual + 1, ep, s->cr_evd, &rsp));
}

static void disconnect(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);

	judge(c, "dat_ep_disconnect",
	      dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void reset(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);

	judge(c, "dat_ep_reset", dat_ep_reset(ep));
	if (allowed)
		EXPECT_EQ(conf_ep_state(ep), DAT_EP_STATE_UNCONNECTED);
}

static void free_ep(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);

	judge(c, "dat_ep_free", dat_ep_free(ep));
}

static DAT_LMR_TRIPLET seg_for(struct conf *c, DAT_EP_HANDLE ep)
{
	return conf_seg(ep == c->b.ep ? &c->b : &c->a, 0, 64);
}

static void post_recv(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);
	DAT_LMR_TRIPLET seg = seg_for(c, ep);

	judge(c, "dat_ep_post_recv",
	      dat_ep_post_recv(ep, 1, &seg, conf_cookie(1),
			       DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);
	DAT_LMR_TRIPLET seg = seg_for(c, ep);

	judge(c, "dat_ep_post_send",
	      dat_ep_post_send(ep, 1, &seg, conf_cookie(1),
			       DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_rdma_write(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);
	DAT_LMR_TRIPLET seg = seg_for(c, ep);
	DAT_RMR_TRIPLET to = conf_target(ep == c->b.ep ? &c->a : &c->b, 0, 64);

	judge(c, "dat_ep_post_rdma_write",
	      dat_ep_post_rdma_write(ep, 1, &seg, conf_cookie(1), &to,
				     DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_rdma_read(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);
	DAT_LMR_TRIPLET seg = seg_for(c, ep);
	DAT_RMR_TRIPLET from =
		conf_target(ep == c->b.ep ? &c->a : &c->b, 0, 64);

	judge(c, "dat_ep_post_rdma_read",
	      dat_ep_post_rdma_read(ep, 1, &seg, conf_cookie(1), &from,
				    DAT_COMPLETION_DEFAULT_FLAG));
}

static void modify_pz(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);
	struct conf_side *s = ep == c->b.ep ? &c->b : &c->a;
	DAT_EP_PARAM p;

	memset(&p, 0, sizeof(p));
	EXPECT_OK(dat_pz_create(s->ia, &p.pz_handle));
	judge(c, "dat_ep_modify",
	      dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &p));
}

static void modify_evd(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);
	struct conf_side *s = ep == c->b.ep ? &c->b : &c->a;
	DAT_EP_PARAM p;

	memset(&p, 0, sizeof(p));
	p.connect_evd_handle = conf_evd(s, DAT_EVD_CONNECTION_FLAG);
	judge(c, "dat_ep_modify",
	      dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &p));
}

static void query(struct conf *c)
{
	bool allowed;
	DAT_EP_HANDLE ep = reach(c, &allowed);
	DAT_EP_PARAM p;

	judge(c, "dat_ep_query", dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	EXPECT_EQ(p.ep_state, c->arg & 0xff);
}

#define S_UNCONNECTED  DAT_EP_STATE_UNCONNECTED
#define S_RESERVED     DAT_EP_STATE_RESERVED
#define S_PASSIVE      DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
#define S_ACTIVE       DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
#define S_TENTATIVE    DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING
#define S_CONNECTED    DAT_EP_STATE_CONNECTED
#define S_DISCONNECTED DAT_EP_STATE_DISCONNECTED

#define YES(call, fn, state)                                          \
	CASE_ARG(call "__in_" #state, "15.1 EP states", NEED_EPS, fn, \
		 S_##state | ALLOWED)
#define NO(call, fn, state)                                               \
	CASE_ARG(call "__not_in_" #state, "15.1 EP states", NEED_EPS, fn, \
		 S_##state)
/* The columns of the table of states, in this order. */
#define ROW(call, fn, unconn, reserved, passive, active, tentative, conn, \
	    disconn)                                                      \
	unconn(call, fn, UNCONNECTED);                                    \
	reserved(call, fn, RESERVED);                                     \
	passive(call, fn, PASSIVE);                                       \
	active(call, fn, ACTIVE);                                         \
	tentative(call, fn, TENTATIVE);                                   \
	conn(call, fn, CONNECTED);                                        \
	disconn(call, fn, DISCONNECTED)

ROW("ep_connect", connect_ep, YES, NO, NO, NO, NO, NO, NO);
ROW("rsp_create", reserve, YES, NO, NO, NO, NO, NO, NO);
ROW("ep_disconnect", disconnect, NO, NO, NO, YES, NO, YES, YES);
ROW("ep_reset", reset, YES, NO, NO, NO, NO, NO, YES);
ROW("ep_free", free_ep, YES, NO, NO, YES, NO, YES, YES);
YES("ep_post_recv", post_recv, UNCONNECTED);
YES("ep_post_recv", post_recv, RESERVED);
YES("ep_post_recv", post_recv, PASSIVE);
YES("ep_post_recv", post_recv, ACTIVE);
YES("ep_post_recv", post_recv, CONNECTED);
YES("ep_post_recv", post_recv, DISCONNECTED);
ROW("ep_post_send", post_send, NO, NO, NO, NO, NO, YES, YES);
ROW("ep_post_rdma_write", post_rdma_write, NO, NO, NO, NO, NO, YES, YES);
ROW("ep_post_rdma_read", post_rdma_read, NO, NO, NO, NO, NO, YES, YES);
ROW("ep_modify_pz", modify_pz, YES, NO, NO, NO, YES, NO, NO);
ROW("ep_modify_evd", modify_evd, YES, YES, YES, NO, YES, NO, NO);
ROW("ep_query", query, YES, YES, YES, YES, YES, YES, YES);
