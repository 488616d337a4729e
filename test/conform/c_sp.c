/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_sp.c - cases of service points: public, reserved, common.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_psp_*, dat_rsp_*; dat_csp_*: DAT 2.0.
 */
#include "test/conform/conform.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static DAT_RETURN listen_on(struct conf *c, DAT_EVD_HANDLE evd, int flags,
			    DAT_PSP_HANDLE *psp)
{
	return dat_psp_create(c->a.ia, c->qual, evd, (DAT_PSP_FLAGS)flags, psp);
}

static DAT_RETURN reserve(struct conf *c, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
			  DAT_RSP_HANDLE *rsp)
{
	return dat_rsp_create(c->a.ia, c->qual, ep, evd, rsp);
}

CASE(psp_create__again_after_free, "7 dat_psp_create", NEED_EPS)
{
	for (int i = 0; i < 3; i++)
		EXPECT_OK(dat_psp_free(conf_listen(c)));
}

CASE(psp_create__qualifier_taken, "7 dat_psp_create", NEED_EPS)
{
	DAT_PSP_HANDLE psp;

	conf_listen(c);
	EXPECT_TYPE(listen_on(c, c->a.cr_evd, 0, &psp), DAT_CONN_QUAL_IN_USE);
}

/* All 64 bits of it, and the port that its lower ones stand for. */
CASE(psp_create__qualifier_of_64_bits, "7 dat_psp_create", NEED_EPS)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_PSP_HANDLE psp;
	DAT_PSP_PARAM p;
	DAT_RETURN ret;
	DAT_EVENT ev;

	/* Others have ports, too. */
	c->qual |= UINT64_C(1) << 35;
	for (int i = 0; i < 100; i++, c->qual += UINT64_C(1) << 36) {
		ret = listen_on(c, c->a.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
	}
	EXPECT_OK(ret);
	EXPECT_OK(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &p));
	EXPECT_EQ(p.conn_qual, c->qual);
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	data = &ev.event_data.cr_arrival_event_data;
	EXPECT_EQ(data->conn_qual, c->qual);
	EXPECT(data->sp_handle.psp_handle == psp);
	EXPECT_OK(dat_cr_accept(data->cr_handle, c->a.ep, 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Whether the second instance has the address of the first. */
static bool same_address(struct conf *c)
{
	const struct sockaddr *a = c->ia_attr.ia_address_ptr, *b;
	DAT_IA_ATTR attr;

	EXPECT_OK(dat_ia_query(c->b.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
			       &attr, 0, NULL));
	b = attr.ia_address_ptr;
	return a->sa_family == b->sa_family &&
	       !memcmp(a, b,
		       a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						: sizeof(struct sockaddr_in));
}

CASE(psp_create__qualifier_taken_by_other_instance, "7 dat_psp_create",
     NEED_EPS)
{
	DAT_PSP_HANDLE psp;

	if (!same_address(c))
		conf_skip("each instance has an address of its own");
	conf_listen(c);
	EXPECT_TYPE(dat_psp_create(c->b.ia, c->qual, c->b.cr_evd,
				   DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_CONN_QUAL_IN_USE);
}

/* What the attribute promises is what the call does. */
CASE(psp_create__provider_flag_as_advertised, "7 dat_psp_create", NEED_EPS)
{
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret = listen_on(c, c->a.cr_evd, DAT_PSP_PROVIDER_FLAG, &psp);

	if (c->prov_attr.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		EXPECT_TYPE(ret, DAT_MODEL_NOT_SUPPORTED);
	else
		EXPECT_OK(ret);
}

CASE(psp_create_any__picks_a_usable_one, "7 dat_psp_create_any", NEED_EPS)
{
	struct conf_side *other = same_address(c) ? &c->b : &c->a;
	DAT_CONN_QUAL qual[4] = {0};
	DAT_PSP_HANDLE psp[4];
	DAT_PSP_PARAM p;

	for (int i = 0; i < 4; i++) {
		struct conf_side *s = i % 2 ? other : &c->a;

		EXPECT_OK(dat_psp_create_any(s->ia, &qual[i], s->cr_evd,
					     DAT_PSP_CONSUMER_FLAG, &psp[i]));
		/* Programs keep it where a TCP port is kept. */
		EXPECT(qual[i] >= 1024 && qual[i] <= 0xffff);
		EXPECT_OK(dat_psp_query(psp[i], DAT_PSP_FIELD_ALL, &p));
		EXPECT_EQ(p.conn_qual, qual[i]);
		for (int j = 0; j < i; j++)
			EXPECT(qual[i] != qual[j]);
	}
}

CASE(psp_create_any__peer_can_connect, "7 dat_psp_create_any", NEED_EPS)
{
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	EXPECT_OK(dat_psp_create_any(c->a.ia, &qual, c->a.cr_evd,
				     DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_OK(dat_ep_connect(c->b.ep, conf_address(c), qual, CONF_PATIENCE,
				 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT_EQ(ev.event_data.cr_arrival_event_data.conn_qual, qual);
}

CASE(psp_query__what_was_asked_for, "7 dat_psp_query", NEED_EPS)
{
	DAT_PSP_PARAM p;

	EXPECT_OK(dat_psp_query(conf_listen(c), DAT_PSP_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT_EQ(p.conn_qual, c->qual);
	EXPECT(p.evd_handle == c->a.cr_evd);
	EXPECT_EQ(p.psp_flags, DAT_PSP_CONSUMER_FLAG);
}

CASE(psp_free__delivered_request_stays_valid, "7 dat_psp_free", NEED_EPS)
{
	DAT_PSP_HANDLE psp = conf_listen(c);
	DAT_EVENT ev;

	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT_OK(dat_psp_free(psp));
	EXPECT_OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle,
				c->a.ep, 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

CASE(psp_free__later_request_is_refused, "7 dat_psp_free", NEED_EPS)
{
	EXPECT_OK(dat_psp_free(conf_listen(c)));
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

CASE(rsp_create__reserves_and_gives_back, "7 dat_rsp_create", NEED_EPS)
{
	DAT_RSP_HANDLE rsp;

	EXPECT_OK(reserve(c, c->a.ep, c->a.cr_evd, &rsp));
	EXPECT_EQ(conf_ep_state(c->a.ep), DAT_EP_STATE_RESERVED);
	EXPECT_OK(dat_rsp_free(rsp));
	EXPECT_EQ(conf_ep_state(c->a.ep), DAT_EP_STATE_UNCONNECTED);
}

CASE(rsp_create__qualifier_taken, "7 dat_rsp_create", NEED_EPS)
{
	DAT_RSP_HANDLE rsp = (DAT_RSP_HANDLE)c;

	conf_listen(c);
	EXPECT_TYPE(reserve(c, c->a.ep, c->a.cr_evd, &rsp),
		    DAT_CONN_QUAL_IN_USE);
	EXPECT(rsp == (DAT_RSP_HANDLE)c);
	EXPECT_EQ(conf_ep_state(c->a.ep), DAT_EP_STATE_UNCONNECTED);
}

CASE(rsp_create__serves_one_request, "7 dat_rsp_create", NEED_EPS)
{
	DAT_CR_ARRIVAL_EVENT_DATA data;
	DAT_CR_PARAM request;
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM p;

	EXPECT_OK(reserve(c, c->a.ep, c->a.cr_evd, &rsp));
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	data = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT)
		       .event_data.cr_arrival_event_data;
	EXPECT(data.sp_handle.rsp_handle == rsp);
	EXPECT_EQ(data.conn_qual, c->qual);
	/* What old programs do; the point is gone all the same. */
	BAD_HANDLE(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &p), RSP);
	EXPECT_OK(dat_rsp_free(rsp));
	BAD_HANDLE(dat_rsp_free(rsp), RSP);
	EXPECT_EQ(conf_ep_state(c->a.ep),
		  DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	EXPECT_OK(dat_cr_query(data.cr_handle, DAT_CR_FIELD_ALL, &request));
	EXPECT(request.local_ep_handle == c->a.ep);
	BAD_HANDLE(dat_cr_accept(data.cr_handle, c->a.ep, 0, NULL), EP);
	EXPECT_OK(dat_cr_accept(data.cr_handle, DAT_HANDLE_NULL, 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	/* The next client finds nobody. */
	c->b.ep = conf_ep(&c->b, NULL);
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

CASE(rsp_query__what_was_asked_for, "7 dat_rsp_query", NEED_EPS)
{
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM p;

	EXPECT_OK(reserve(c, c->a.ep, c->a.cr_evd, &rsp));
	EXPECT_OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT_EQ(p.conn_qual, c->qual);
	EXPECT(p.evd_handle == c->a.cr_evd);
	EXPECT(p.ep_handle == c->a.ep);
}
