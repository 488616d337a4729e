/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_srq.c - cases of shared receive queues.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: DAT 2.0, dat_srq_*.
 */
#include "test/conform/conform.h"

#include <string.h>

#define DTOS 4

static DAT_SRQ_HANDLE make(struct conf *c)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = DTOS, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	EXPECT_OK(dat_srq_create(c->a.ia, c->a.pz, &attr, &srq));
	EXPECT(srq);
	return srq;
}

static DAT_RETURN post(struct conf *c, DAT_SRQ_HANDLE srq, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 64 * cookie, 64);

	return dat_srq_post_recv(srq, 1, &seg, conf_cookie(cookie));
}

static DAT_EP_HANDLE make_ep(struct conf *c, DAT_SRQ_HANDLE srq)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	EXPECT_OK(dat_ep_create_with_srq(c->a.ia, c->a.pz, c->a.recv_evd,
					 c->a.req_evd, c->a.conn_evd, srq, NULL,
					 &ep));
	return ep;
}

static DAT_SRQ_PARAM query(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM p;

	EXPECT_OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	return p;
}

CASE(srq_create__works, "11 dat_srq_create", NEED_IA | NEED_SRQ)
{
	EXPECT_OK(dat_srq_free(make(c)));
}

CASE(srq_create__dtos_absurd, "11 dat_srq_create", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_ATTR attr = {0x7fffffff, 1, DAT_SRQ_LW_DEFAULT};
	DAT_SRQ_HANDLE srq;

	EXPECT_TYPE(dat_srq_create(c->a.ia, c->a.pz, &attr, &srq),
		    DAT_INSUFFICIENT_RESOURCES);
}

CASE(srq_query__new, "11 dat_srq_query", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_PARAM p = query(make(c));

	EXPECT(p.ia_handle == c->a.ia);
	EXPECT(p.pz_handle == c->a.pz);
	EXPECT_EQ(p.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	EXPECT(p.max_recv_dtos >= DTOS);
	EXPECT(p.max_recv_iov >= 1);
	EXPECT_EQ(p.low_watermark, DAT_SRQ_LW_DEFAULT);
	EXPECT_EQ(p.outstanding_dto_count, 0);
}

CASE(srq_query__counts, "11 dat_srq_query", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);

	EXPECT_OK(post(c, srq, 0));
	EXPECT_OK(post(c, srq, 1));
	EXPECT_EQ(query(srq).outstanding_dto_count, 2);
}

CASE(srq_post_recv__full, "11 dat_srq_post_recv", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);
	int limit = query(srq).max_recv_dtos;

	for (int i = 0; i < limit; i++)
		EXPECT_OK(post(c, srq, (uint64_t)i));
	EXPECT_ERR(post(c, srq, 99), DAT_INSUFFICIENT_RESOURCES,
		   DAT_RESOURCE_MEMORY);
}

CASE(srq_post_recv__too_many_segments, "11 dat_srq_post_recv",
     NEED_IA | NEED_SRQ)
{
	DAT_LMR_TRIPLET seg[64];
	DAT_SRQ_HANDLE srq = make(c);
	int n = query(srq).max_recv_iov + 1;

	EXPECT(n <= 64);
	for (int i = 0; i < n; i++)
		seg[i] = conf_seg(&c->a, (size_t)i * 8, 8);
	BAD_ARG(dat_srq_post_recv(srq, n, seg, conf_cookie(1)), 2);
}

CASE(srq_post_recv__message_arrives, "11 dat_srq_post_recv",
     NEED_BOTH | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);
	DAT_DTO_COMPLETION_EVENT_DATA data;

	c->a.ep = make_ep(c, srq);
	c->b.ep = conf_ep(&c->b, NULL);
	EXPECT_OK(post(c, srq, 3));
	conf_connect(c);
	memcpy(c->b.buf, "hello", 6);
	conf_post_send(&c->b, 0, 6, 1);
	conf_dto(c->b.req_evd, 1, DAT_DTO_SUCCESS);
	data = conf_dto(c->a.recv_evd, 3, DAT_DTO_SUCCESS);
	EXPECT(data.ep_handle == c->a.ep);
	EXPECT_EQ(data.transfered_length, 6);
	EXPECT(memcmp(c->a.buf + 3 * 64, "hello", 6) == 0);
	EXPECT_EQ(query(srq).outstanding_dto_count, 0);
}

CASE(srq_resize__grow, "11 dat_srq_resize", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);

	DAT_RETURN ret;

	EXPECT_OK(post(c, srq, 0));
	ret = dat_srq_resize(srq, 2 * DTOS);
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
		conf_skip("the device cannot enlarge an SRQ");
	EXPECT_OK(ret);
	EXPECT(query(srq).max_recv_dtos >= 2 * DTOS);
	EXPECT_EQ(query(srq).outstanding_dto_count, 1);
	for (int i = 1; i < 2 * DTOS; i++)
		EXPECT_OK(post(c, srq, (uint64_t)i));
}

CASE(srq_resize__fewer_than_outstanding, "11 dat_srq_resize",
     NEED_IA | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);

	for (int i = 0; i < 3; i++)
		EXPECT_OK(post(c, srq, (uint64_t)i));
	EXPECT_TYPE(dat_srq_resize(srq, 2), DAT_INVALID_STATE);
}

CASE(srq_set_lw__works_or_says_no, "11 dat_srq_set_lw", NEED_IA | NEED_SRQ)
{
	DAT_RETURN ret = dat_srq_set_lw(make(c), 1);

	if (DAT_GET_TYPE(ret) != DAT_MODEL_NOT_SUPPORTED)
		EXPECT_OK(ret);
}

CASE(srq_set_lw__above_the_size, "11 dat_srq_set_lw", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);

	BAD_ARG(dat_srq_set_lw(srq, query(srq).max_recv_dtos + 1), 2);
}

CASE(srq_free__ep_uses_it, "11 dat_srq_free", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);
	DAT_EP_HANDLE ep = make_ep(c, srq);

	BAD_STATE(dat_srq_free(srq), SRQ_IN_USE);
	EXPECT_OK(dat_ep_free(ep));
	EXPECT_OK(dat_srq_free(srq));
}

CASE(srq_free__buffers_posted, "11 dat_srq_free", NEED_IA | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);

	EXPECT_OK(post(c, srq, 0));
	EXPECT_OK(dat_srq_free(srq));
}

CASE(ep_create_with_srq__query_names_it, "6 dat_ep_create_with_srq",
     NEED_IA | NEED_SRQ)
{
	DAT_SRQ_HANDLE srq = make(c);
	DAT_EP_PARAM p;

	EXPECT_OK(dat_ep_query(make_ep(c, srq), DAT_EP_FIELD_ALL, &p));
	EXPECT(p.srq_handle == srq);
	EXPECT_EQ(p.ep_state, DAT_EP_STATE_UNCONNECTED);
}

CASE(ep_post_recv__ep_has_srq, "6 dat_ep_post_recv", NEED_IA | NEED_SRQ)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 0, 64);

	BAD_STATE(dat_ep_post_recv(make_ep(c, make(c)), 1, &seg, conf_cookie(1),
				   DAT_COMPLETION_DEFAULT_FLAG),
		  SRQ_IN_USE);
}
