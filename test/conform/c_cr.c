/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_cr.c - cases of connection requests.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_cr_*.
 */
#include "test/conform/conform.h"

#include <string.h>

CASE(cr_query__who_asks, "7 dat_cr_query", NEED_EPS)
{
	DAT_CR_HANDLE cr = conf_meet(c);
	DAT_CR_PARAM p;

	EXPECT_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	EXPECT(p.remote_ia_address_ptr);
	EXPECT_EQ(p.remote_ia_address_ptr->sa_family,
		  conf_address(c)->sa_family);
	EXPECT(p.local_ep_handle == DAT_HANDLE_NULL);
}

/* Transports that pad may report more bytes than were given. */
CASE(cr_query__private_data, "7 dat_cr_query", NEED_EPS)
{
	DAT_COUNT size = c->prov_attr.max_private_data_size;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM p;
	uint8_t data[512];
	DAT_EVENT ev;

	EXPECT(size > 0 && size <= (int)sizeof(data));
	for (int i = 0; i < size; i++)
		data[i] = (uint8_t)(i + 1);
	conf_listen(c);
	EXPECT_OK(dat_ep_connect(c->b.ep, conf_address(c), c->qual,
				 CONF_PATIENCE, size, data, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	cr = ev.event_data.cr_arrival_event_data.cr_handle;
	EXPECT_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	EXPECT(p.private_data_size >= size);
	EXPECT(memcmp(p.private_data, data, (size_t)size) == 0);
	/* And as much of it back. */
	data[0] = 0x77;
	EXPECT_OK(dat_cr_accept(cr, c->a.ep, size, data));
	ev = conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	EXPECT(ev.event_data.connect_event_data.private_data_size >= size);
	EXPECT(memcmp(ev.event_data.connect_event_data.private_data, data,
		      (size_t)size) == 0);
}

CASE(cr_query__private_data_alone, "7 dat_cr_query", NEED_EPS)
{
	DAT_CR_PARAM p;
	DAT_EVENT ev;
	int rank = 77;

	conf_listen(c);
	EXPECT_OK(dat_ep_connect(c->b.ep, conf_address(c), c->qual,
				 DAT_TIMEOUT_INFINITE, sizeof(rank), &rank,
				 DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT_OK(dat_cr_query(ev.event_data.cr_arrival_event_data.cr_handle,
			       DAT_CR_FIELD_PRIVATE_DATA, &p));
	EXPECT(memcmp(p.private_data, &rank, sizeof(rank)) == 0);
}

CASE(cr_arrival__names_the_service_point, "7 14.4 CR event data", NEED_EPS)
{
	DAT_PSP_HANDLE psp = conf_listen(c);
	DAT_CR_ARRIVAL_EVENT_DATA data;

	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	data = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT)
		       .event_data.cr_arrival_event_data;
	EXPECT(data.sp_handle.psp_handle == psp);
	EXPECT_EQ(data.conn_qual, c->qual);
	EXPECT(data.local_ia_address_ptr);
#if DAT_FACE == 2
	EXPECT_EQ(data.truncate_flag, DAT_FALSE);
#endif
}

CASE(cr_accept__private_data_reaches_the_peer, "7 dat_cr_accept", NEED_EPS)
{
	char data[16] = "from the server";
	DAT_CONNECTION_EVENT_DATA passive;
	DAT_EVENT ev;

	EXPECT_OK(dat_cr_accept(conf_meet(c), c->a.ep, sizeof(data), data));
	ev = conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	EXPECT(ev.event_data.connect_event_data.private_data_size >=
	       (int)sizeof(data));
	EXPECT(memcmp(ev.event_data.connect_event_data.private_data, data,
		      sizeof(data)) == 0);
	/* By which programs tell the two sides apart. */
	passive = conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED)
			  .event_data.connect_event_data;
	EXPECT_EQ(passive.private_data_size, 0);
	EXPECT(passive.private_data == NULL);
}

/* A refused call leaves the request as it was. */
static void still_good(struct conf *c, DAT_CR_HANDLE cr)
{
	EXPECT_OK(dat_cr_accept(cr, c->a.ep, 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

CASE(cr_accept__ep_although_the_rsp_has_one, "7 dat_cr_accept", NEED_EPS)
{
	DAT_EP_HANDLE extra = conf_ep(&c->a, NULL);
	DAT_RSP_HANDLE rsp;
	DAT_EVENT ev;

	EXPECT_OK(dat_rsp_create(c->a.ia, c->qual, c->a.ep, c->a.cr_evd, &rsp));
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT_TYPE(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle,
				  extra, 0, NULL),
		    DAT_INVALID_HANDLE);
}

CASE(cr_accept__ep_not_unconnected, "7 dat_cr_accept", NEED_EPS)
{
	DAT_CR_HANDLE cr = conf_meet(c);
	DAT_RSP_HANDLE rsp;

	EXPECT_OK(dat_rsp_create(c->a.ia, c->qual + 1, c->a.ep, c->a.cr_evd,
				 &rsp));
	EXPECT_TYPE(dat_cr_accept(cr, c->a.ep, 0, NULL), DAT_INVALID_STATE);
}

/* Two programs that connect to one another. */
CASE(cr_accept__ep_is_connecting, "7 dat_cr_accept", NEED_EPS)
{
	DAT_CR_HANDLE cr = conf_meet(c);

	EXPECT_OK(dat_ep_connect(c->a.ep, conf_address(c), c->qual + 1,
				 CONF_PATIENCE, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	EXPECT_TYPE(dat_cr_accept(cr, c->a.ep, 0, NULL), DAT_INVALID_STATE);
	c->a.ep = conf_ep(&c->a, NULL);
	EXPECT_OK(dat_cr_accept(cr, c->a.ep, 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

CASE(cr_accept__ep_without_pz, "7 dat_cr_accept", NEED_EPS)
{
	DAT_CR_HANDLE cr = conf_meet(c);
	DAT_EP_HANDLE ep;

	EXPECT_OK(dat_ep_create(c->a.ia, DAT_HANDLE_NULL, c->a.recv_evd,
				c->a.req_evd, c->a.conn_evd, NULL, &ep));
	EXPECT_TYPE(dat_cr_accept(cr, ep, 0, NULL), DAT_INVALID_STATE);
	still_good(c, cr);
}

CASE(cr_reject__without_data, "7 dat_cr_reject", NEED_EPS)
{
	EXPECT_OK(face_cr_reject(conf_meet(c)));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

CASE(cr_reject__rsp_gives_its_ep_back, "7 dat_cr_reject", NEED_EPS)
{
	DAT_RSP_HANDLE rsp;
	DAT_EVENT ev;

	EXPECT_OK(dat_rsp_create(c->a.ia, c->qual, c->a.ep, c->a.cr_evd, &rsp));
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT_OK(
		face_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	EXPECT_EQ(conf_ep_state(c->a.ep), DAT_EP_STATE_UNCONNECTED);
	conf_no_event(c->a.conn_evd);
	/* It serves again. */
	EXPECT_OK(dat_ep_reset(c->b.ep));
	conf_connect(c);
}

CASE(cr_handoff__other_listener_gets_it, "7 dat_cr_handoff", NEED_EPS)
{
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr = conf_meet(c);
	DAT_EVENT ev;
	DAT_RETURN ret;

	EXPECT_OK(dat_psp_create(c->a.ia, c->qual + 1, c->a.cr_evd,
				 DAT_PSP_CONSUMER_FLAG, &psp));
	ret = dat_cr_handoff(cr, c->qual + 1);
	if (DAT_GET_TYPE(ret) == DAT_NOT_IMPLEMENTED)
		conf_skip("the provider hands nothing off");
	EXPECT_OK(ret);
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT(ev.event_data.cr_arrival_event_data.sp_handle.psp_handle == psp);
	EXPECT_EQ(ev.event_data.cr_arrival_event_data.conn_qual, c->qual + 1);
	still_good(c, ev.event_data.cr_arrival_event_data.cr_handle);
}
