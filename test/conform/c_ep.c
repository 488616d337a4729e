/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_ep.c - cases of endpoints: making, asking, changing.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_ep_*.
 */
#include "test/conform/conform.h"

#include <string.h>

#define T(name) static void name(struct conf *c)

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

T(ep_create__default_attributes)
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

T(ep_create__gets_what_it_asks_for)
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

T(ep_create__dtos_above_the_limit)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.attr.max_request_dtos = 0x7fffffff;
	EXPECT_TYPE(create(c, &m, &ep), DAT_INVALID_PARAMETER);
}

T(ep_create__iov_above_the_limit)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.attr.max_recv_iov = c->ia_attr.max_iov_segments_per_dto + 1;
	EXPECT_TYPE(create(c, &m, &ep), DAT_INVALID_PARAMETER);
}

T(ep_create__unknown_service_type)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.attr.service_type = (DAT_SERVICE_TYPE)77;
	EXPECT_TYPE(create(c, &m, &ep), DAT_MODEL_NOT_SUPPORTED);
}

T(ep_create__other_qos)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.attr.qos = DAT_QOS_PREMIUM;
	EXPECT_TYPE(create(c, &m, &ep), DAT_MODEL_NOT_SUPPORTED);
}

T(ep_create__without_pz_and_connect_evd)
{
	struct make m = good(c);
	DAT_EP_HANDLE ep;

	m.pz = DAT_HANDLE_NULL;
	m.conn = DAT_HANDLE_NULL;
	EXPECT_OK(create(c, &m, &ep));
	EXPECT_OK(dat_ep_free(ep));
}

T(ep_query__connected_has_addresses)
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

T(ep_get_status__new_is_idle)
{
	DAT_BOOLEAN recv = DAT_FALSE, req = DAT_FALSE;
	DAT_EP_STATE state;

	EXPECT_OK(dat_ep_get_status(c->a.ep, &state, &recv, &req));
	EXPECT_EQ(state, DAT_EP_STATE_UNCONNECTED);
	EXPECT_EQ(recv, DAT_TRUE);
	EXPECT_EQ(req, DAT_TRUE);
}

T(ep_get_status__receive_posted)
{
	DAT_BOOLEAN recv = DAT_TRUE, req = DAT_FALSE;

	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_OK(dat_ep_get_status(c->a.ep, NULL, &recv, &req));
	EXPECT_EQ(recv, DAT_FALSE);
	EXPECT_EQ(req, DAT_TRUE);
}

T(ep_free__receives_posted)
{
	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_OK(dat_ep_free(c->a.ep));
}

T(ep_recv_query__works_or_says_no)
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

T(ep_set_watermark__off)
{
	EXPECT_OK(
		dat_ep_set_watermark(c->a.ep, DAT_HW_DEFAULT, DAT_HW_DEFAULT));
}

T(ep_modify__pz)
{
	DAT_EP_PARAM p;

	memset(&p, 0, sizeof(p));
	EXPECT_OK(dat_pz_create(c->a.ia, &p.pz_handle));
	EXPECT_OK(dat_ep_modify(c->a.ep, DAT_EP_FIELD_PZ_HANDLE, &p));
	BAD_STATE(dat_pz_free(p.pz_handle), PZ_IN_USE);
	EXPECT_OK(dat_ep_query(c->a.ep, DAT_EP_FIELD_ALL, &p));
	EXPECT(p.pz_handle != c->a.pz);
}

T(ep_modify__evds)
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

#define CREATE(x)   CASE(ep_create__##x, "6 dat_ep_create", NEED_IA)
#define EP(x, call) CASE(ep_##x, "6 dat_ep_" call, NEED_EPS)

const struct conf_case cases_ep[] = {
	CREATE(default_attributes),
	CREATE(gets_what_it_asks_for),
	CREATE(dtos_above_the_limit),
	CREATE(iov_above_the_limit),
	CREATE(unknown_service_type),
	CREATE(other_qos),
	CREATE(without_pz_and_connect_evd),
	CASE(ep_query__connected_has_addresses, "6 dat_ep_query",
	     NEED_CONNECTED),
	EP(get_status__new_is_idle, "get_status"),
	EP(get_status__receive_posted, "get_status"),
	EP(free__receives_posted, "free"),
	EP(recv_query__works_or_says_no, "recv_query"),
	EP(set_watermark__off, "set_watermark"),
	EP(modify__pz, "modify"),
	EP(modify__evds, "modify"),
	{0},
};
