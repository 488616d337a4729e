/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ep.c - endpoints by themselves: dat_ep_create, create_with_srq, query,
 * modify, recv_query, set_watermark.
 *
 * Connections are in t_ep_conn.c, transfers in t_ep_post.c.
 * Rules: DAT 2.0 dat_ep_*, in the order in which they list their errors.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/connect/dapl_ep.h"
#include "test/unit/kit.h"

static DAT_RETURN create(struct world_side *s, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ret_ep)
{
	return V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd, s->conn_evd,
			    attr, ret_ep);
}

static DAT_SRQ_HANDLE srq_of(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 2};
	DAT_SRQ_HANDLE srq = NULL;

	assert_dat_ok(V(srq_create)(ia, pz, &attr, &srq));
	return srq;
}

/* -------------------------------------------------- create */

ON_EACH(create__defaults)
{
	DAT_EP_ATTR attr = world_ep_attr(c);

	assert_int_equal(attr.service_type, DAT_SERVICE_TYPE_RC);
	assert_int_equal(attr.qos, DAT_QOS_BEST_EFFORT);
	assert_int_equal(attr.max_recv_dtos, 16);
	assert_int_equal(attr.max_request_dtos, 16);
	assert_int_equal(attr.max_recv_iov, 8);
	assert_int_equal(attr.max_request_iov, 8);
	assert_int_equal(attr.max_rdma_read_in, 4);
	assert_int_equal(attr.max_rdma_read_out, 4);
	assert_true(attr.max_message_size > 0);
}

/* Index of the partition of an endpoint of a new IA, with DAPL_IB_PKEY=KEY. */
static int partition_with(const char *key)
{
	struct world_side s = {0};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	setenv("DAPL_IB_PKEY", key, 1);
	s.ia = world_ia_open(&s.async_evd);
	unsetenv("DAPL_IB_PKEY");
	s.pz = world_pz(s.ia);
	s.recv_evd = world_evd(s.ia, DAT_EVD_DTO_FLAG);
	s.req_evd = world_evd(s.ia, DAT_EVD_DTO_FLAG);
	s.conn_evd = world_evd(s.ia, DAT_EVD_CONNECTION_FLAG);
	s.ep = world_ep(&s, NULL);
	assert_int_equal(
		ibv_query_qp(world_qp(s.ep), &attr, IBV_QP_PKEY_INDEX, &init),
		0);
	world_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG);
	return attr.pkey_index;
}

ON_IB(create__partition_of_the_environment)
{
	struct fv_port_cfg *port = &fv_device_cfg_get(w->dev)->port[0];

	port->attr.pkey_tbl_len = 3;
	port->pkey[1] = 0x8001;
	port->pkey[2] = 0x0002;
	assert_int_equal(partition_with("0"), 0);
	assert_int_equal(partition_with("0x8001"), 1);
	assert_int_equal(partition_with("2"), 2);
	assert_int_equal(partition_with("0x8002"), 0);
}

ON_IB(create__queues_against_evds)
{
	DAT_EP_ATTR good = world_ep_attr(c), attr;
	DAT_EP_HANDLE ep;

#define REFUSED(recv, req, field, value)                              \
	do {                                                          \
		attr = good;                                          \
		attr.field = (value);                                 \
		assert_refused(V(ep_create)(c->ia, c->pz, recv, req,  \
					    c->conn_evd, &attr, &ep), \
			       DAPL_BAD_ARG(6));                      \
	} while (0)
	REFUSED(c->recv_evd, c->req_evd, max_recv_iov, 0);
	REFUSED(c->recv_evd, c->req_evd, max_request_dtos, 0);
	REFUSED(c->recv_evd, c->req_evd, max_request_iov, -1);
	REFUSED(c->recv_evd, DAT_HANDLE_NULL, max_request_dtos, 0); /* iov 8 */
#undef REFUSED

	attr = good;
	attr.max_request_iov = 0;
	assert_dat_ok(create(c, &attr, &ep));
	assert_dat_ok(V(ep_free)(ep));
	attr = good;
	attr.max_request_dtos = attr.max_request_iov = 0;
	assert_dat_ok(V(ep_create)(c->ia, c->pz, c->recv_evd, DAT_HANDLE_NULL,
				   c->conn_evd, &attr, &ep));
	assert_dat_ok(V(ep_free)(ep));
}

ON_EACH(create__beyond_limits)
{
	DAT_EP_ATTR good = world_ep_attr(c), attr;
	DAT_EP_HANDLE ep;
	DAT_IA_ATTR max;

	assert_dat_ok(
		V(ia_query)(c->ia, NULL, DAT_IA_FIELD_ALL, &max, 0, NULL));
#define AT_LIMIT(field, limit)                                          \
	do {                                                            \
		attr = good;                                            \
		attr.field = (limit);                                   \
		assert_dat_ok(create(c, &attr, &ep));                   \
		assert_int_equal(kit_query(ep).ep_attr.field, limit);   \
		assert_dat_ok(V(ep_free)(ep));                          \
		attr.field++;                                           \
		assert_refused(create(c, &attr, &ep), DAPL_BAD_ARG(6)); \
	} while (0)
	AT_LIMIT(max_recv_dtos, max.max_dto_per_ep);
	AT_LIMIT(max_request_dtos, max.max_dto_per_ep);
	AT_LIMIT(max_recv_iov, max.max_iov_segments_per_dto);
	AT_LIMIT(max_request_iov, max.max_iov_segments_per_dto);
	AT_LIMIT(max_rdma_read_in, max.max_rdma_read_per_ep_in);
	AT_LIMIT(max_rdma_read_out, max.max_rdma_read_per_ep_out);
	AT_LIMIT(max_message_size, max.max_message_size);
	AT_LIMIT(max_rdma_size, max.max_rdma_size);
#undef AT_LIMIT
	attr = good;
	attr.max_rdma_read_in = -1;
	assert_refused(create(c, &attr, &ep), DAPL_BAD_ARG(6));
}

ON_EACH(ep_create__nth_failure)
{
	DAT_EP_ATTR attr = world_ep_attr(c);
	DAT_EP_HANDLE ep;

	/* More than the completion queues have room for: they must grow. */
	attr.max_recv_dtos = attr.max_request_dtos = 4 * WORLD_QLEN;
	assert_nth_failure(create(c, &attr, &ep), V(ep_free)(ep));
	/* A failed try must not keep its parts in use. */
	assert_dat_ok(V(evd_free)(c->recv_evd));
	assert_dat_ok(V(evd_free)(c->req_evd));
	assert_dat_ok(V(evd_free)(c->conn_evd));
}

/* What the kernel says when a control group's limit of the device is reached.
 */
ON_EACH(ep_create__beyond_a_limit_of_the_kernel)
{
	DAT_EP_ATTR attr = world_ep_attr(c);
	DAT_EP_HANDLE ep;

	fv_fail_from(1, EAGAIN);
	assert_refused(create(c, &attr, &ep),
		       DAPL_ERR(DAT_INSUFFICIENT_RESOURCES, 0));
	fv_fail_at(0, 0);
	assert_dat_ok(create(c, &attr, &ep));
	assert_dat_ok(V(ep_free)(ep));
}

/* ------------------------------------------------ with SRQ */

ON_IB(create_with_srq__other_zone)
{
	DAT_SRQ_HANDLE srq = srq_of(c->ia, c->pz),
		       other = srq_of(c->ia, world_pz(c->ia));
	DAT_EP_HANDLE ep = (DAT_EP_HANDLE)w;

#define CREATE(srq_handle)                                                     \
	V(ep_create_with_srq)                                                  \
	(c->ia, c->pz, c->recv_evd, c->req_evd, c->conn_evd, srq_handle, NULL, \
	 &ep)
	/* srq_ep_pz_difference_supported is FALSE. */
	assert_refused(CREATE(other), DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	assert_ptr_equal(ep, w);
	assert_dat_ok(CREATE(srq));
#undef CREATE
	assert_ptr_equal(kit_query(ep).srq_handle, srq);
	assert_refused(V(srq_free)(srq), DAPL_BAD_STATE(SRQ_IN_USE));
	assert_dat_ok(V(ep_free)(ep));
	assert_dat_ok(V(srq_free)(srq));
}

ON_IB(create_with_srq__nth_failure)
{
	DAT_SRQ_HANDLE srq = srq_of(c->ia, c->pz);
	DAT_EP_HANDLE ep;

	assert_nth_failure(V(ep_create_with_srq)(c->ia, c->pz, c->recv_evd,
						 c->req_evd, c->conn_evd, srq,
						 NULL, &ep),
			   V(ep_free)(ep));
	assert_dat_ok(V(srq_free)(srq));
	assert_dat_ok(V(evd_free)(c->recv_evd));
}

/* --------------------------------------------------- query */

/* What nobody asks for is not written; nobody counts what an SRQ has. */
ON_IB(query__what_there_is, world_eps)
{
	DAT_COUNT allocated, span;
	DAT_EP_PARAM param;

	memset(&param, 0x5a, sizeof(param));
	assert_dat_ok(V(ep_query)(c->ep, 0, &param));
	assert_int_equal(*(uint8_t *)&param.pz_handle, 0x5a);
	param = kit_query(c->ep);
	assert_null(param.srq_handle);
	assert_int_equal(param.remote_ia_address_ptr->sa_family, AF_UNSPEC);
	world_recv(c, 0, 8, 1);
	world_recv(c, 8, 8, 2);
	assert_dat_ok(V(ep_recv_query)(c->ep, &allocated, &span));
	assert_int_equal(allocated, 2);
	assert_int_equal(span, 2);
	assert_dat_ok(V(ep_create_with_srq)(
		c->ia, c->pz, c->recv_evd, c->req_evd, c->conn_evd,
		srq_of(c->ia, c->pz), NULL, &c->ep));
	assert_dat_ok(V(ep_recv_query)(c->ep, &allocated, &span));
	assert_int_equal(allocated, DAT_VALUE_UNKNOWN);
	assert_int_equal(span, DAT_VALUE_UNKNOWN);
}

ON_IB(set_watermark__on, world_eps)
{
	assert_refused(V(ep_set_watermark)(c->ep, 4, 8),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
}

/* As programs have it from both historic versions. */
ON_IB(create__attributes_in_the_middle_of_a_word)
{
	DAT_EP_ATTR attr[2] = {world_ep_attr(c)};
	DAT_EP_HANDLE ep;

	for (int i = 1; i < 4; i++)
		assert_refused(V(ep_create)(c->ia, c->pz, c->recv_evd,
					    c->req_evd, c->conn_evd,
					    (void *)((char *)attr + i), &ep),
			       DAPL_BAD_ARG(6));
}

/* -------------------------------------------------- modify */

struct other_thread {
	const struct world_side *side;
	DAT_RETURN connect, reserve, modify, free;
};

static void *other_thread(void *arg)
{
	struct other_thread *t = arg;
	DAT_EP_HANDLE ep = t->side->ep;
	DAT_EP_PARAM param = kit_query(ep);
	DAT_RSP_HANDLE rsp;

	t->connect = kit_connect(ep, 1000, NULL, 0);
	t->reserve =
		V(rsp_create)(t->side->ia, 2000, ep, t->side->cr_evd, &rsp);
	t->modify =
		V(ep_modify)(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param);
	t->free = V(ep_free)(ep);
	return NULL;
}

/* What another thread could do while the queue pair is made anew. */
static void in_the_middle(void *arg)
{
	pthread_t other;

	assert_int_equal(pthread_create(&other, NULL, other_thread, arg), 0);
	pthread_join(other, NULL);
}

ON_IB(modify__nothing_begins_in_the_middle, world_eps)
{
	struct other_thread t = {.side = c};
	DAT_EP_PARAM param;

	param = kit_query(c->ep);
	param.ep_attr.max_recv_dtos = 3;
	fv_meanwhile("ibv_create_qp", in_the_middle, &t);
	assert_dat_ok(V(ep_modify)(c->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				   &param));
	/* Which has no queue pair just then. */
	assert_int_equal(t.connect, DAPL_BAD_STATE(EP_NOTREADY));
	assert_int_equal(t.reserve, DAPL_BAD_STATE(EP_UNCONNECTED));
	assert_int_equal(t.modify, DAPL_BAD_STATE(EP_UNCONNECTED));
	assert_int_equal(t.free, DAPL_BAD_STATE(EP_UNCONNECTED));
	assert_int_equal(kit_query(c->ep).ep_attr.max_recv_dtos, 3);
}

/* An endpoint made of nothing becomes whole, and can be connected then. */
ON_EACH(modify__completes_an_endpoint)
{
	DAT_EP_PARAM param = {.ep_attr = world_ep_attr(c)};

	assert_dat_ok(V(ep_create)(c->ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				   DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
				   &c->ep));
	assert_refused(kit_connect(c->ep, 1000, NULL, 0),
		       DAPL_BAD_HANDLE(EVD_CONN));
	param.connect_evd_handle = c->conn_evd;
	assert_dat_ok(
		V(ep_modify)(c->ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	assert_refused(kit_connect(c->ep, 1000, NULL, 0),
		       DAPL_BAD_STATE(EP_NOTREADY));
	param.pz_handle = c->pz;
	param.recv_evd_handle = c->recv_evd;
	param.request_evd_handle = c->req_evd;
	assert_dat_ok(V(ep_modify)(c->ep,
				   DAT_EP_FIELD_PZ_HANDLE |
					   DAT_EP_FIELD_RECV_EVD_HANDLE |
					   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					   DAT_EP_FIELD_EP_ATTR_ALL,
				   &param));
	world_connect(w);
	world_recv(s, 0, 64, 1);
	world_send(c, 0, 64, 2, 0);
	expect_dto(s->recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(c->req_evd, 2, DAT_DTO_SUCCESS);
}

ON_IB(modify__depths_are_real)
{
	DAT_EP_PARAM param;
	DAT_LMR_TRIPLET seg = world_seg(c, 0, 8);

	world_eps(w);
	param = kit_query(c->ep);
	param.ep_attr.max_recv_dtos = 2;
	assert_dat_ok(V(ep_modify)(c->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				   &param));
	assert_int_equal(kit_query(c->ep).ep_attr.max_recv_dtos, 2);
	world_recv(c, 0, 8, 1);
	world_recv(c, 0, 8, 2);
	assert_refused(V(ep_post_recv)(c->ep, 1, &seg, world_cookie(3), 0),
		       DAPL_NO_MEM);
	param.ep_attr.max_recv_dtos = 1 << 20;
	assert_refused(
		V(ep_modify)(c->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
		DAPL_BAD_ARG(3));
	/* Posted receives would be lost with their queue pair. */
	param.ep_attr.max_recv_dtos = 3;
	assert_refused(
		V(ep_modify)(c->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
		DAPL_ERR(DAT_INVALID_STATE, 0));
	/* What needs no new queue pair works even so. */
	param.ep_attr.max_rdma_read_in = 1;
	assert_dat_ok(V(ep_modify)(c->ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,
				   &param));
	assert_int_equal(kit_query(c->ep).ep_attr.max_recv_dtos, 2);
	assert_int_equal(kit_query(c->ep).ep_attr.max_rdma_read_in, 1);
}

/* What an endpoint was made with is taken again, what is new must be there. */
ON_EACH(modify__segments_of_rdma_are_there)
{
	DAT_EP_PARAM param = {.ep_attr = world_ep_attr(c)};

	param.ep_attr.max_rdma_read_iov = 0x7fffffff;
	assert_dat_ok(V(ep_create)(c->ia, c->pz, c->recv_evd, c->req_evd,
				   c->conn_evd, &param.ep_attr, &c->ep));
	assert_dat_ok(V(ep_modify)(c->ep, DAT_EP_FIELD_EP_ATTR_ALL, &param));
	param.ep_attr.max_rdma_read_iov = -1;
	assert_refused(V(ep_modify)(c->ep,
				    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV,
				    &param),
		       DAPL_BAD_ARG(3));
	param.ep_attr.max_rdma_write_iov = 0x7fffffff;
	assert_refused(V(ep_modify)(c->ep,
				    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV,
				    &param),
		       DAPL_BAD_ARG(3));
	param.ep_attr.max_rdma_read_iov = param.ep_attr.max_rdma_write_iov = 1;
	assert_dat_ok(V(ep_modify)(c->ep, DAT_EP_FIELD_EP_ATTR_ALL, &param));
	assert_int_equal(kit_query(c->ep).ep_attr.max_rdma_read_iov, 1);
	assert_int_equal(kit_query(c->ep).ep_attr.max_rdma_write_iov, 1);
}

ON_IB(modify__moves_users)
{
	DAT_PZ_HANDLE pz = world_pz(c->ia), old = c->pz;
	DAT_EP_PARAM param;

	world_eps(w);
	param = kit_query(c->ep);
	param.pz_handle = pz;
	assert_dat_ok(V(ep_modify)(c->ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	assert_refused(V(pz_free)(pz), DAPL_BAD_STATE(PZ_IN_USE));
	assert_dat_ok(V(lmr_free)(c->mem.lmr));
	assert_dat_ok(V(pz_free)(old));
	param.pz_handle = s->pz;
	assert_refused(V(ep_modify)(c->ep, DAT_EP_FIELD_PZ_HANDLE, &param),
		       DAPL_BAD_ARG(3));
}

/* A failed change leaves an endpoint that works as before. */
ON_EACH(modify__nth_failure, world_eps)
{
	DAT_EP_PARAM param;
	DAT_RETURN ret;
	bool hit;

	param = kit_query(c->ep);
	param.ep_attr.max_recv_dtos = 4 * WORLD_QLEN;
	for (unsigned n = 1;; n++) {
		assert_in_range(n, 1, 50);
		fv_fail_at(n, ENOMEM);
		ret = V(ep_modify)(c->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				   &param);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		if (ret == DAT_SUCCESS)
			break;
		assert_true(hit);
		assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
		assert_string_not_equal(dapl__fail_text(), "");
		assert_int_equal(kit_query(c->ep).ep_attr.max_recv_dtos, 16);
	}
	assert_int_equal(kit_query(c->ep).ep_attr.max_recv_dtos,
			 4 * WORLD_QLEN);
	world_connect(w);
}

/* EVDs and attributes may still change while an RSP holds the endpoint. */
ON_IB(modify__reserved, world_eps)
{
	DAT_EP_PARAM param;
	DAT_RSP_HANDLE rsp;

	assert_dat_ok(V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &rsp));
	param = kit_query(s->ep);
	param.ep_attr.max_request_dtos = 5;
	assert_dat_ok(V(ep_modify)(s->ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
				   &param));
	assert_refused(V(ep_modify)(s->ep, DAT_EP_FIELD_PZ_HANDLE, &param),
		       BAD_EP_STATE(RESERVED));
	kit_meet(w);
	kit_state(s->ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	param.ep_attr.max_request_dtos = 6;
	assert_dat_ok(V(ep_modify)(s->ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
				   &param));
	assert_int_equal(kit_query(s->ep).ep_attr.max_request_dtos, 6);
}

/* Where nothing was there, a queue gets default depths with its EVD. */
ON_EACH(modify__tentative)
{
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;

	kit_listen_provider(w);
	c->ep = world_ep(c, NULL);
	cr = kit_meet(w);
	s->ep = kit_brought(cr);
	param = kit_query(s->ep);
	assert_ptr_equal(param.ia_handle, world_user_ia(s->ia));
	assert_null(param.pz_handle);
	assert_null(param.recv_evd_handle);
	assert_null(param.request_evd_handle);
	assert_null(param.connect_evd_handle);
	assert_int_equal(param.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
	assert_int_equal(param.ep_attr.max_recv_dtos, 0);
	assert_int_equal(param.ep_attr.max_request_dtos, 0);

	/* One by one, in any order, and more than once. */
	param.recv_evd_handle = s->recv_evd;
	assert_refused(V(ep_modify)(s->ep,
				    DAT_EP_FIELD_RECV_EVD_HANDLE |
					    DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				    &param),
		       DAPL_BAD_ARG(3));
	assert_dat_ok(
		V(ep_modify)(s->ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	assert_int_equal(kit_query(s->ep).ep_attr.max_recv_dtos, 16);
	assert_int_equal(kit_query(s->ep).ep_attr.max_recv_iov, 8);
	param.pz_handle = world_pz(s->ia);
	assert_dat_ok(V(ep_modify)(s->ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	assert_refused(V(pz_free)(param.pz_handle), DAPL_BAD_STATE(PZ_IN_USE));
	assert_refused(V(ep_modify)(s->ep,
				    DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR,
				    &param),
		       BAD_EP_STATE(TENTCONNPENDING));
	param.request_evd_handle = s->req_evd;
	param.ep_attr.max_request_dtos = 3;
	assert_dat_ok(
		V(ep_modify)(s->ep,
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
			     &param));
	assert_int_equal(kit_query(s->ep).ep_attr.max_request_dtos, 3);
	assert_int_equal(kit_query(s->ep).ep_attr.max_request_iov, 8);
	assert_dat_ok(kit_furnish(s, s->ep));
	assert_int_equal(kit_query(s->ep).ep_attr.max_request_dtos, 3);
	assert_dat_ok(V(pz_free)(param.pz_handle));
	assert_dat_ok(V(cr_accept)(cr, DAT_HANDLE_NULL, 0, NULL));
	kit_conn(s, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_refused(kit_furnish(s, s->ep), BAD_EP_STATE(CONNECTED));
}

RUN_CASES_TWICE()
