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

#define T(name) static void name(struct conf *c)

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

T(psp_create__again_after_free)
{
	for (int i = 0; i < 3; i++)
		EXPECT_OK(dat_psp_free(conf_listen(c)));
}

T(psp_create__qualifier_taken)
{
	DAT_PSP_HANDLE psp;

	conf_listen(c);
	EXPECT_TYPE(listen_on(c, c->a.cr_evd, 0, &psp), DAT_CONN_QUAL_IN_USE);
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

T(psp_create__qualifier_taken_by_other_instance)
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
T(psp_create__provider_flag_as_advertised)
{
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret = listen_on(c, c->a.cr_evd, DAT_PSP_PROVIDER_FLAG, &psp);

	if (c->prov_attr.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		EXPECT_TYPE(ret, DAT_MODEL_NOT_SUPPORTED);
	else
		EXPECT_OK(ret);
}

T(psp_create_any__picks_a_usable_one)
{
	struct conf_side *other = same_address(c) ? &c->b : &c->a;
	DAT_CONN_QUAL qual[4] = {0};
	DAT_PSP_HANDLE psp[4];
	DAT_PSP_PARAM p;

	for (int i = 0; i < 4; i++) {
		struct conf_side *s = i % 2 ? other : &c->a;

		EXPECT_OK(dat_psp_create_any(s->ia, &qual[i], s->cr_evd,
					     DAT_PSP_CONSUMER_FLAG, &psp[i]));
		EXPECT(qual[i] >= 1024);
		EXPECT_OK(dat_psp_query(psp[i], DAT_PSP_FIELD_ALL, &p));
		EXPECT_EQ(p.conn_qual, qual[i]);
		for (int j = 0; j < i; j++)
			EXPECT(qual[i] != qual[j]);
	}
}

T(psp_create_any__peer_can_connect)
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

T(psp_query__what_was_asked_for)
{
	DAT_PSP_PARAM p;

	EXPECT_OK(dat_psp_query(conf_listen(c), DAT_PSP_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT_EQ(p.conn_qual, c->qual);
	EXPECT(p.evd_handle == c->a.cr_evd);
	EXPECT_EQ(p.psp_flags, DAT_PSP_CONSUMER_FLAG);
}

T(psp_free__delivered_request_stays_valid)
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

T(psp_free__later_request_is_refused)
{
	EXPECT_OK(dat_psp_free(conf_listen(c)));
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

T(rsp_create__reserves_and_gives_back)
{
	DAT_RSP_HANDLE rsp;

	EXPECT_OK(reserve(c, c->a.ep, c->a.cr_evd, &rsp));
	EXPECT_EQ(conf_ep_state(c->a.ep), DAT_EP_STATE_RESERVED);
	EXPECT_OK(dat_rsp_free(rsp));
	EXPECT_EQ(conf_ep_state(c->a.ep), DAT_EP_STATE_UNCONNECTED);
}

T(rsp_create__qualifier_taken)
{
	DAT_RSP_HANDLE rsp = (DAT_RSP_HANDLE)c;

	conf_listen(c);
	EXPECT_TYPE(reserve(c, c->a.ep, c->a.cr_evd, &rsp),
		    DAT_CONN_QUAL_IN_USE);
	EXPECT(rsp == (DAT_RSP_HANDLE)c);
	EXPECT_EQ(conf_ep_state(c->a.ep), DAT_EP_STATE_UNCONNECTED);
}

T(rsp_create__serves_one_request)
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

T(rsp_query__what_was_asked_for)
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

T(csp_create__works_or_says_no)
{
	DAT_COMM comm = {AF_INET, SOCK_STREAM, IPPROTO_TCP};
	DAT_CSP_HANDLE csp = DAT_HANDLE_NULL;
	struct sockaddr_storage addr;
	DAT_CSP_PARAM p;
	DAT_RETURN ret;

	memcpy(&addr, conf_address(c), sizeof(struct sockaddr_in));
	((struct sockaddr_in *)(void *)&addr)->sin_port =
		htons((uint16_t)c->qual);
	ret = dat_csp_create(c->a.ia, &comm, (DAT_IA_ADDRESS_PTR)&addr,
			     c->a.cr_evd, &csp);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		return;
	EXPECT_OK(ret);
	EXPECT_OK(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT(p.evd_handle == c->a.cr_evd);
	EXPECT_OK(dat_csp_free(csp));
}

#define SP(x, call) CASE(x, "7 " call, NEED_EPS)

const struct conf_case cases_sp[] = {
	SP(psp_create__again_after_free, "dat_psp_create"),
	SP(psp_create__qualifier_taken, "dat_psp_create"),
	SP(psp_create__qualifier_taken_by_other_instance, "dat_psp_create"),
	SP(psp_create__provider_flag_as_advertised, "dat_psp_create"),
	SP(psp_create_any__picks_a_usable_one, "dat_psp_create_any"),
	SP(psp_create_any__peer_can_connect, "dat_psp_create_any"),
	SP(psp_query__what_was_asked_for, "dat_psp_query"),
	SP(psp_free__delivered_request_stays_valid, "dat_psp_free"),
	SP(psp_free__later_request_is_refused, "dat_psp_free"),
	SP(rsp_create__reserves_and_gives_back, "dat_rsp_create"),
	SP(rsp_create__qualifier_taken, "dat_rsp_create"),
	SP(rsp_create__serves_one_request, "dat_rsp_create"),
	SP(rsp_query__what_was_asked_for, "dat_rsp_query"),
	SP(csp_create__works_or_says_no, "dat_csp_create"),
	{0},
};
