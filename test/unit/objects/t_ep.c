/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_ep.c - endpoints by themselves: dat_ep_create, create_with_srq, query,
 * modify, get_status, recv_query, set_watermark, free.
 *
 * Connections are in t_ep_conn.c, transfers in t_ep_post.c.
 * Rules: DAT 2.0 dat_ep_*, in the order in which they list their errors.
 */
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

static void create__defaults(void **state)
{
	struct world *w = *state;
	DAT_EP_ATTR attr = world_ep_attr(&w->client);

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

static void create__partition_of_the_environment(void **state)
{
	struct world *w = *state;
	struct fv_port_cfg *port = &fv_device_cfg_get(w->dev)->port[0];

	port->attr.pkey_tbl_len = 3;
	port->pkey[1] = 0x8001;
	port->pkey[2] = 0x0002;
	assert_int_equal(partition_with("0"), 0);
	assert_int_equal(partition_with("0x8001"), 1);
	assert_int_equal(partition_with("2"), 2);
	assert_int_equal(partition_with("0x8002"), 0);
}

static void create__queues_against_evds(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_EP_ATTR good = world_ep_attr(s), attr;
	DAT_EP_HANDLE ep;

#define REFUSED(recv, req, field, value)                              \
	do {                                                          \
		attr = good;                                          \
		attr.field = (value);                                 \
		assert_refused(V(ep_create)(s->ia, s->pz, recv, req,  \
					    s->conn_evd, &attr, &ep), \
			       DAPL_BAD_ARG(6));                      \
	} while (0)
	REFUSED(s->recv_evd, s->req_evd, max_recv_dtos, 0);
	REFUSED(s->recv_evd, s->req_evd, max_recv_iov, 0);
	REFUSED(s->recv_evd, s->req_evd, max_request_dtos, 0);
	REFUSED(s->recv_evd, s->req_evd, max_recv_dtos, -1);
	REFUSED(s->recv_evd, s->req_evd, max_request_iov, -1);
	REFUSED(DAT_HANDLE_NULL, s->req_evd, max_recv_dtos, 1);
	REFUSED(s->recv_evd, DAT_HANDLE_NULL, max_request_dtos, 1);
	REFUSED(s->recv_evd, DAT_HANDLE_NULL, max_request_dtos, 0); /* iov 8 */
	REFUSED(s->recv_evd, s->req_evd, recv_completion_flags,
		DAT_COMPLETION_SUPPRESS_FLAG);
#undef REFUSED

	attr = good;
	attr.max_request_iov = 0;
	assert_dat_ok(create(s, &attr, &ep));
	assert_dat_ok(V(ep_free)(ep));
	attr = good;
	attr.max_request_dtos = attr.max_request_iov = 0;
	assert_dat_ok(V(ep_create)(s->ia, s->pz, s->recv_evd, DAT_HANDLE_NULL,
				   s->conn_evd, &attr, &ep));
	assert_dat_ok(V(ep_free)(ep));
}

static void create__beyond_limits(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_EP_ATTR good = world_ep_attr(s), attr;
	DAT_EP_HANDLE ep;
	DAT_IA_ATTR max;

	assert_dat_ok(
		V(ia_query)(s->ia, NULL, DAT_IA_FIELD_ALL, &max, 0, NULL));
#define AT_LIMIT(field, limit)                                          \
	do {                                                            \
		attr = good;                                            \
		attr.field = (limit);                                   \
		assert_dat_ok(create(s, &attr, &ep));                   \
		assert_int_equal(kit_query(ep).ep_attr.field, limit);   \
		assert_dat_ok(V(ep_free)(ep));                          \
		attr.field++;                                           \
		assert_refused(create(s, &attr, &ep), DAPL_BAD_ARG(6)); \
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
	assert_refused(create(s, &attr, &ep), DAPL_BAD_ARG(6));
}

static void ep_create__nth_failure(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_EP_ATTR attr = world_ep_attr(s);
	DAT_EP_HANDLE ep;

	/* More than the completion queues have room for: they must grow. */
	attr.max_recv_dtos = attr.max_request_dtos = 4 * WORLD_QLEN;
	assert_nth_failure(create(s, &attr, &ep), V(ep_free)(ep));
	/* A failed try must not keep its parts in use. */
	assert_dat_ok(V(evd_free)(s->recv_evd));
	assert_dat_ok(V(evd_free)(s->req_evd));
	assert_dat_ok(V(evd_free)(s->conn_evd));
}

static void create__keeps_its_parts_in_use(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_PZ_HANDLE pz = world_pz(s->ia);
	DAT_EP_HANDLE ep;

	assert_dat_ok(V(ep_create)(s->ia, pz, s->recv_evd, s->req_evd,
				   s->conn_evd, NULL, &ep));
	assert_refused(V(pz_free)(pz), DAPL_BAD_STATE(PZ_IN_USE));
	assert_refused(V(evd_free)(s->recv_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_refused(V(evd_free)(s->req_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_refused(V(evd_free)(s->conn_evd), DAPL_BAD_STATE(EVD_IN_USE));
	assert_dat_ok(V(ep_free)(ep));
	assert_dat_ok(V(pz_free)(pz));
	assert_dat_ok(V(evd_free)(s->conn_evd));
}

/* ------------------------------------------------ with SRQ */

static void create_with_srq__other_zone(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_SRQ_HANDLE srq = srq_of(s->ia, s->pz),
		       other = srq_of(s->ia, world_pz(s->ia));
	DAT_EP_HANDLE ep = (DAT_EP_HANDLE)w;

#define CREATE(srq_handle)                                                     \
	V(ep_create_with_srq)                                                  \
	(s->ia, s->pz, s->recv_evd, s->req_evd, s->conn_evd, srq_handle, NULL, \
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

static void create_with_srq__nth_failure(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_SRQ_HANDLE srq = srq_of(s->ia, s->pz);
	DAT_EP_HANDLE ep;

	assert_nth_failure(V(ep_create_with_srq)(s->ia, s->pz, s->recv_evd,
						 s->req_evd, s->conn_evd, srq,
						 NULL, &ep),
			   V(ep_free)(ep));
	assert_dat_ok(V(srq_free)(srq));
	assert_dat_ok(V(evd_free)(s->recv_evd));
}

/* --------------------------------------------------- query */

static void query__unconnected(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	world_eps(w);
	ep = s->ep;
	param = kit_query(ep);
	assert_ptr_equal(param.ia_handle, world_user_ia(s->ia));
	assert_int_equal(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_ptr_equal(param.pz_handle, s->pz);
	assert_ptr_equal(param.recv_evd_handle, s->recv_evd);
	assert_ptr_equal(param.request_evd_handle, s->req_evd);
	assert_ptr_equal(param.connect_evd_handle, s->conn_evd);
	assert_null(param.srq_handle);
	assert_null(param.remote_ia_address_ptr);
	memset(&param, 0x5a, sizeof(param));
	assert_dat_ok(V(ep_query)(ep, 0, &param));
	assert_int_equal(*(uint8_t *)&param.pz_handle, 0x5a);
}

static void get_status__idle_flags(void **state)
{
	struct world *w = *state;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_COUNT allocated, span;
	DAT_EP_STATE ep_state;

	world_eps(w);
	assert_dat_ok(V(ep_get_status)(w->client.ep, &ep_state, &recv_idle,
				       &request_idle));
	assert_int_equal(ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_int_equal(recv_idle, DAT_TRUE);
	assert_int_equal(request_idle, DAT_TRUE);
	world_recv(&w->client, 0, 8, 1);
	world_recv(&w->client, 8, 8, 2);
	assert_dat_ok(V(ep_get_status)(w->client.ep, NULL, &recv_idle, NULL));
	assert_int_equal(recv_idle, DAT_FALSE);
	assert_dat_ok(V(ep_recv_query)(w->client.ep, &allocated, &span));
	assert_int_equal(allocated, 2);
	assert_int_equal(span, 2);
	assert_dat_ok(V(ep_recv_query)(w->client.ep, NULL, NULL));
	assert_refused(
		V(ep_get_status)((DAT_EP_HANDLE)w->client.pz, NULL, NULL, NULL),
		DAPL_BAD_HANDLE(EP));
	assert_refused(
		V(ep_recv_query)((DAT_EP_HANDLE)w->client.pz, NULL, NULL),
		DAPL_BAD_HANDLE(EP));
}

static void recv_query__with_srq(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_COUNT allocated = 7, span = 7;

	assert_dat_ok(V(ep_create_with_srq)(
		s->ia, s->pz, s->recv_evd, s->req_evd, s->conn_evd,
		srq_of(s->ia, s->pz), NULL, &s->ep));
	assert_dat_ok(V(ep_recv_query)(s->ep, &allocated, &span));
	assert_int_equal(allocated, DAT_VALUE_UNKNOWN);
	assert_int_equal(span, DAT_VALUE_UNKNOWN);
}

static void set_watermark__off_and_on(void **state)
{
	struct world *w = *state;
	DAT_EP_HANDLE ep;

	world_eps(w);
	ep = w->client.ep;
	assert_dat_ok(V(ep_set_watermark)(ep, DAT_WATERMARK_INFINITE,
					  DAT_WATERMARK_INFINITE));
	assert_refused(V(ep_set_watermark)(ep, 4, 8),
		       DAPL_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
}

/* -------------------------------------------------- modify */

static void modify__refused_changes_nothing(void **state)
{
	struct world *w = *state;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	world_eps(w);
	ep = w->client.ep;
	param = kit_query(ep);
	param.ep_attr.max_recv_dtos = 1 << 20;
	assert_refused(
		V(ep_modify)(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
		DAPL_BAD_ARG(3));
	assert_int_equal(kit_query(ep).ep_attr.max_recv_dtos, 16);
}

/* An endpoint made of nothing becomes whole, and can be connected then. */
static void modify__completes_an_endpoint(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_EP_PARAM param = {.ep_attr = world_ep_attr(s)};

	assert_dat_ok(V(ep_create)(s->ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				   DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
				   &s->ep));
	assert_refused(kit_connect(s->ep, 1000, NULL, 0),
		       DAPL_BAD_HANDLE(EVD_CONN));
	param.connect_evd_handle = s->conn_evd;
	assert_dat_ok(
		V(ep_modify)(s->ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	assert_refused(kit_connect(s->ep, 1000, NULL, 0),
		       DAPL_BAD_STATE(EP_NOTREADY));
	param.pz_handle = s->pz;
	param.recv_evd_handle = s->recv_evd;
	param.request_evd_handle = s->req_evd;
	assert_dat_ok(V(ep_modify)(s->ep,
				   DAT_EP_FIELD_PZ_HANDLE |
					   DAT_EP_FIELD_RECV_EVD_HANDLE |
					   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					   DAT_EP_FIELD_EP_ATTR_ALL,
				   &param));
	world_connect(w);
	world_recv(&w->server, 0, 64, 1);
	world_send(s, 0, 64, 2, 0);
	expect_dto(w->server.recv_evd, 1, DAT_DTO_SUCCESS);
	expect_dto(s->req_evd, 2, DAT_DTO_SUCCESS);
}

static void modify__depths_are_real(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_EP_PARAM param;
	DAT_LMR_TRIPLET seg = world_seg(s, 0, 8);

	world_eps(w);
	param = kit_query(s->ep);
	param.ep_attr.max_recv_dtos = 2;
	assert_dat_ok(V(ep_modify)(s->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				   &param));
	assert_int_equal(kit_query(s->ep).ep_attr.max_recv_dtos, 2);
	world_recv(s, 0, 8, 1);
	world_recv(s, 0, 8, 2);
	assert_refused(V(ep_post_recv)(s->ep, 1, &seg, world_cookie(3), 0),
		       DAPL_NO_MEM);
	/* Posted receives would be lost with their queue pair. */
	param.ep_attr.max_recv_dtos = 3;
	assert_refused(
		V(ep_modify)(s->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
		DAPL_ERR(DAT_INVALID_STATE, 0));
	/* What needs no new queue pair works even so. */
	param.ep_attr.max_rdma_read_in = 1;
	assert_dat_ok(V(ep_modify)(s->ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,
				   &param));
	assert_int_equal(kit_query(s->ep).ep_attr.max_recv_dtos, 2);
	assert_int_equal(kit_query(s->ep).ep_attr.max_rdma_read_in, 1);
}

static void modify__moves_users(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_PZ_HANDLE pz = world_pz(s->ia), old = s->pz;
	DAT_EP_PARAM param;

	world_eps(w);
	param = kit_query(s->ep);
	param.pz_handle = pz;
	assert_dat_ok(V(ep_modify)(s->ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	assert_refused(V(pz_free)(pz), DAPL_BAD_STATE(PZ_IN_USE));
	assert_dat_ok(V(lmr_free)(s->mem.lmr));
	assert_dat_ok(V(pz_free)(old));
	param.pz_handle = w->server.pz;
	assert_refused(V(ep_modify)(s->ep, DAT_EP_FIELD_PZ_HANDLE, &param),
		       DAPL_BAD_ARG(3));
}

/* A failed change leaves an endpoint that works as before. */
static void modify__nth_failure(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->client;
	DAT_EP_PARAM param;
	DAT_RETURN ret;
	bool hit;

	world_eps(w);
	param = kit_query(s->ep);
	param.ep_attr.max_recv_dtos = 4 * WORLD_QLEN;
	for (unsigned n = 1;; n++) {
		assert_in_range(n, 1, 50);
		fv_fail_at(n, ENOMEM);
		ret = V(ep_modify)(s->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				   &param);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		if (ret == DAT_SUCCESS)
			break;
		assert_true(hit);
		assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
		assert_string_not_equal(dapl__fail_text(), "");
		assert_int_equal(kit_query(s->ep).ep_attr.max_recv_dtos, 16);
	}
	assert_int_equal(kit_query(s->ep).ep_attr.max_recv_dtos,
			 4 * WORLD_QLEN);
	world_connect(w);
}

/* EVDs and attributes may still change while an RSP holds the endpoint. */
static void modify__reserved(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EP_PARAM param;
	DAT_RSP_HANDLE rsp;

	world_eps(w);
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
static void modify__tentative(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;

	kit_listen_provider(w);
	w->client.ep = world_ep(&w->client, NULL);
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

static void modify__connected(void **state)
{
	struct world *w = *state;
	DAT_EP_PARAM param;

	world_connect(w);
	param = kit_query(w->client.ep);
	assert_refused(V(ep_modify)(w->client.ep,
				    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,
				    &param),
		       BAD_EP_STATE(CONNECTED));
}

/* ---------------------------------------------------- free */

static void free__reserved(void **state)
{
	struct world *w = *state;
	struct world_side *s = &w->server;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	world_eps(w);
	assert_dat_ok(V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &rsp));
	assert_refused(V(ep_free)(s->ep), BAD_EP_STATE(RESERVED));
	cr = kit_meet(w);
	assert_refused(V(ep_free)(s->ep), BAD_EP_STATE(PASSCONNPENDING));
	assert_dat_ok(V(cr_reject)(cr, 0, NULL));
	assert_dat_ok(V(ep_free)(s->ep));
}

static void free__with_receives_posted(void **state)
{
	struct world *w = *state;

	world_eps(w);
	world_recv(&w->client, 0, 8, 1);
	world_recv(&w->client, 0, 8, 2);
	assert_dat_ok(V(ep_free)(w->client.ep));
	/* Lost with the endpoint: nothing may name a handle that is gone. */
	expect_empty(w->client.recv_evd);
	/* The queue's room is free again. */
	assert_dat_ok(V(evd_free)(w->client.recv_evd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each(create__defaults),
		on_ib(create__partition_of_the_environment),
		on_ib(create__queues_against_evds),
		on_each(create__beyond_limits),
		on_each(ep_create__nth_failure),
		on_ib(create__keeps_its_parts_in_use),
		on_ib(create_with_srq__other_zone),
		on_ib(create_with_srq__nth_failure),
		on_ib(query__unconnected),
		on_ib(get_status__idle_flags),
		on_ib(recv_query__with_srq),
		on_ib(set_watermark__off_and_on),
		on_ib(modify__refused_changes_nothing),
		on_each(modify__completes_an_endpoint),
		on_ib(modify__depths_are_real),
		on_ib(modify__moves_users),
		on_each(modify__nth_failure),
		on_ib(modify__reserved),
		on_each(modify__tentative),
		on_ib(modify__connected),
		on_ib(free__reserved),
		on_ib(free__with_receives_posted),
	};

	return world_run_both(tests);
}
