/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_ep.c - cases of endpoints: making, asking, changing.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_ep_*.
 */
#include "test/conform/conform.h"

#include <string.h>

/* What dat_ep_create() takes; cases spoil one member. */
struct make {
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv, req, conn;
	DAT_EP_ATTR attr;
};

static struct make good(struct conf *c)
{
	return (struct make){
		.pz = c->a.pz,
		.recv = c->a.recv_evd,
		.req = c->a.req_evd,
		.conn = c->a.conn_evd,
		.attr = conf_ep_attr(&c->a),
	};
}

static DAT_RETURN create(struct conf *c, const struct make *m,
			 DAT_EP_HANDLE *ep)
{
	return dat_ep_create(c->a.ia, m->pz, m->recv, m->req, m->conn, &m->attr,
			     ep);
}

CASE(ep_create__default_attributes, "6 dat_ep_create", NEED_IA)
{
	DAT_EP_HANDLE ep = conf_ep(&c->a, NULL);
	DAT_EP_PARAM p;

	EXPECT_OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT_EQ(p.ep_state, DAT_EP_STATE_UNCONNECTED);
	EXPECT(p.pz_handle == c->a.pz);
	EXPECT(p.recv_evd_handle == c->a.recv_evd);
	EXPECT(p.request_evd_handle == c->a.req_evd);
	EXPECT(p.connect_evd_handle == c->a.conn_evd);
	EXPECT_EQ(p.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
	EXPECT(p.ep_attr.max_recv_dtos > 0);
	EXPECT(p.ep_attr.max_request_dtos > 0);
	EXPECT_OK(dat_ep_free(ep));
}

CASE(ep_create__gets_what_it_asks_for, "6 dat_ep_create", NEED_IA)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM p;

	m.attr.max_recv_dtos = 5;
	m.attr.max_request_dtos = 7;
	m.attr.max_recv_iov = 1;
	m.attr.max_request_iov = 1;
	EXPECT_OK(create(c, &m, &ep));
	EXPECT_OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	EXPECT(p.ep_attr.max_recv_dtos >= 5);
	EXPECT(p.ep_attr.max_request_dtos >= 7);
}

CASE(ep_create__dtos_above_the_limit, "6 dat_ep_create", NEED_IA)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.attr.max_request_dtos = 0x7fffffff;
	EXPECT_TYPE(create(c, &m, &ep), DAT_INVALID_PARAMETER);
}

CASE(ep_create__iov_above_the_limit, "6 dat_ep_create", NEED_IA)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.attr.max_recv_iov = c->ia_attr.max_iov_segments_per_dto + 1;
	EXPECT_TYPE(create(c, &m, &ep), DAT_INVALID_PARAMETER);
}

CASE(ep_create__unknown_service_type, "6 dat_ep_create", NEED_IA)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.attr.service_type = (DAT_SERVICE_TYPE)77;
	EXPECT_TYPE(create(c, &m, &ep), DAT_MODEL_NOT_SUPPORTED);
}

/* MPI libraries do not set it. */
CASE(ep_create__any_qos, "6 dat_ep_create", NEED_IA)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM p;

	m.attr.qos = (DAT_QOS)0x5a5a5a5a;
	EXPECT_OK(create(c, &m, &ep));
	EXPECT_OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	EXPECT_EQ(p.ep_attr.qos, DAT_QOS_BEST_EFFORT);
}

CASE(ep_create__without_pz_and_connect_evd, "6 dat_ep_create", NEED_IA)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.pz = DAT_HANDLE_NULL;
	m.conn = DAT_HANDLE_NULL;
	EXPECT_OK(create(c, &m, &ep));
	EXPECT_OK(dat_ep_free(ep));
}

/* As programs that poll have them: one for transfers, one for connections. */
CASE(ep_create__few_evds, "6 dat_ep_create", NEED_BOTH)
{
	struct conf_side *sides[] = {&c->a, &c->b};

	for (int i = 0; i < 2; i++) {
		struct conf_side *s = sides[i];

		s->recv_evd =
			conf_evd(s, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
		s->req_evd = s->recv_evd;
		s->conn_evd =
			conf_evd(s, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG);
		s->cr_evd = s->conn_evd;
		s->ep = conf_ep(s, NULL);
	}
	conf_connect(c);
	/* Longer, with endpoints and what they have posted. */
	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_OK(dat_evd_resize(c->a.recv_evd, 8 * CONF_QLEN));
	EXPECT_OK(dat_evd_resize(c->a.conn_evd, 2 * CONF_QLEN));
	conf_post_send(&c->b, 0, 8, 2);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	conf_post_recv(&c->b, 0, 64, 3);
	conf_post_send(&c->a, 0, 8, 4);
	conf_dto(c->a.recv_evd, 4, DAT_DTO_SUCCESS);
	conf_dto(c->b.recv_evd, 2, DAT_DTO_SUCCESS);
	conf_dto(c->b.recv_evd, 3, DAT_DTO_SUCCESS);
}

/* An MPI library asks so until the endpoint is free again. */
CASE(ep_query__mask_of_16_bits, "6 dat_ep_query", NEED_CONNECTED)
{
	DAT_EP_PARAM p;

	EXPECT_OK(dat_ep_query(c->a.ep, 0xffff, &p));
	EXPECT_EQ(p.ep_state, DAT_EP_STATE_CONNECTED);
	EXPECT(p.pz_handle == c->a.pz);
}

CASE(ep_query__without_peer_has_no_family, "6 dat_ep_query", NEED_EPS)
{
	DAT_EP_PARAM p;

	EXPECT_OK(dat_ep_query(c->a.ep, DAT_EP_FIELD_ALL, &p));
	EXPECT(p.remote_ia_address_ptr);
	EXPECT_EQ(p.remote_ia_address_ptr->sa_family, AF_UNSPEC);
	EXPECT_EQ(p.remote_port_qual, 0);
}

CASE(ep_query__connected_has_addresses, "6 dat_ep_query", NEED_CONNECTED)
{
	DAT_EP_PARAM a, b;

	EXPECT_OK(dat_ep_query(c->a.ep, DAT_EP_FIELD_ALL, &a));
	EXPECT_OK(dat_ep_query(c->b.ep, DAT_EP_FIELD_ALL, &b));
	EXPECT_EQ(b.ep_state, DAT_EP_STATE_CONNECTED);
	EXPECT(b.local_ia_address_ptr);
	EXPECT(b.remote_ia_address_ptr);
	EXPECT(a.remote_ia_address_ptr);
	EXPECT_EQ(b.remote_port_qual, c->qual);
	EXPECT_EQ(a.local_port_qual, c->qual);
	EXPECT(b.local_port_qual != 0);
	EXPECT_EQ(a.remote_port_qual, b.local_port_qual);
}

CASE(ep_get_status__new_is_idle, "6 dat_ep_get_status", NEED_EPS)
{
	DAT_BOOLEAN recv = DAT_FALSE, req = DAT_FALSE;
	DAT_EP_STATE state;

	EXPECT_OK(dat_ep_get_status(c->a.ep, &state, &recv, &req));
	EXPECT_EQ(state, DAT_EP_STATE_UNCONNECTED);
	EXPECT_EQ(recv, DAT_TRUE);
	EXPECT_EQ(req, DAT_TRUE);
}

CASE(ep_get_status__receive_posted, "6 dat_ep_get_status", NEED_EPS)
{
	DAT_BOOLEAN recv = DAT_TRUE, req = DAT_FALSE;

	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_OK(dat_ep_get_status(c->a.ep, NULL, &recv, &req));
	EXPECT_EQ(recv, DAT_FALSE);
	EXPECT_EQ(req, DAT_TRUE);
}

CASE(ep_free__receives_posted, "6 dat_ep_free", NEED_EPS)
{
	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_OK(dat_ep_free(c->a.ep));
}

CASE(ep_recv_query__works_or_says_no, "6 dat_ep_recv_query", NEED_EPS)
{
	DAT_COUNT n = -1, span = -1;
	DAT_RETURN ret;

	conf_post_recv(&c->a, 0, 64, 1);
	ret = dat_ep_recv_query(c->a.ep, &n, &span);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED ||
	    DAT_GET_TYPE(ret) == DAT_NOT_IMPLEMENTED)
		return;
	EXPECT_OK(ret);
	EXPECT(n == 1 || n == DAT_VALUE_UNKNOWN);
	EXPECT(span == 1 || span == DAT_VALUE_UNKNOWN);
	EXPECT_OK(dat_ep_recv_query(c->a.ep, NULL, NULL));
}

CASE(ep_set_watermark__off, "6 dat_ep_set_watermark", NEED_EPS)
{
	EXPECT_OK(
		dat_ep_set_watermark(c->a.ep, DAT_HW_DEFAULT, DAT_HW_DEFAULT));
}

CASE(ep_modify__pz, "6 dat_ep_modify", NEED_EPS)
{
	DAT_EP_PARAM p;

	memset(&p, 0, sizeof(p));
	EXPECT_OK(dat_pz_create(c->a.ia, &p.pz_handle));
	EXPECT_OK(dat_ep_modify(c->a.ep, DAT_EP_FIELD_PZ_HANDLE, &p));
	BAD_STATE(dat_pz_free(p.pz_handle), PZ_IN_USE);
	EXPECT_OK(dat_ep_query(c->a.ep, DAT_EP_FIELD_ALL, &p));
	EXPECT(p.pz_handle != c->a.pz);
}

CASE(ep_modify__evds, "6 dat_ep_modify", NEED_EPS)
{
	DAT_EP_PARAM p, q;

	memset(&p, 0, sizeof(p));
	p.recv_evd_handle = conf_evd(&c->a, DAT_EVD_DTO_FLAG);
	p.request_evd_handle = conf_evd(&c->a, DAT_EVD_DTO_FLAG);
	p.connect_evd_handle = conf_evd(&c->a, DAT_EVD_CONNECTION_FLAG);
	EXPECT_OK(dat_ep_modify(c->a.ep,
				DAT_EP_FIELD_RECV_EVD_HANDLE |
					DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				&p));
	EXPECT_OK(dat_ep_query(c->a.ep, DAT_EP_FIELD_ALL, &q));
	EXPECT(q.recv_evd_handle == p.recv_evd_handle);
	EXPECT(q.request_evd_handle == p.request_evd_handle);
	EXPECT(q.connect_evd_handle == p.connect_evd_handle);
	EXPECT_OK(dat_evd_free(c->a.recv_evd));
	EXPECT_OK(dat_evd_free(c->a.req_evd));
}
