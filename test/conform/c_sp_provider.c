/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_sp_provider.c - cases of endpoints that the provider makes, one for each
 * request at a service point.
 *
 * Does not look below the public interface. What is refused to such an
 * endpoint before it is accepted: c_ep_state.c. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_psp_create, dat_rsp_create,
 * dat_cr_accept; doc/conformance.md.
 */
#include "test/conform/conform.h"

static DAT_CR_HANDLE request(struct conf *c)
{
	DAT_EVENT ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);

	return ev.event_data.cr_arrival_event_data.cr_handle;
}

static DAT_CR_HANDLE ask(struct conf *c)
{
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	return request(c);
}

/* Both sides hear of it; a's endpoint is EP from now on. */
static void established(struct conf *c, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep)
{
	EXPECT_OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	EXPECT_EQ(conf_ep_state(ep), DAT_EP_STATE_CONNECTED);
	c->a.ep = ep;
}

static void exchange(struct conf *c)
{
	conf_post_recv(&c->b, 64, 64, 1);
	conf_post_send(&c->b, 0, 8, 2);
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	conf_event(c->a.recv_evd, DAT_DTO_COMPLETION_EVENT);
	conf_post_send(&c->a, 0, 8, 3);
	conf_dto(c->a.req_evd, 3, DAT_DTO_SUCCESS);
	conf_dto(c->b.recv_evd, 1, DAT_DTO_SUCCESS);
}

CASE(psp_create__provider_ep_comes_bare, "7 dat_psp_create", NEED_EPS)
{
	DAT_EP_PARAM p;
	DAT_EP_HANDLE ep;

	conf_listen_provider(c);
	ep = conf_brought(ask(c));
	EXPECT_EQ(conf_ep_state(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	EXPECT_OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	EXPECT(p.ia_handle == c->a.ia);
	EXPECT(p.pz_handle == DAT_HANDLE_NULL);
	EXPECT(p.recv_evd_handle == DAT_HANDLE_NULL);
	EXPECT(p.request_evd_handle == DAT_HANDLE_NULL);
	EXPECT(p.connect_evd_handle == DAT_HANDLE_NULL);
}

CASE(psp_create__provider_ep_carries_data, "7 dat_psp_create", NEED_EPS)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	conf_listen_provider(c);
	cr = ask(c);
	ep = conf_brought(cr);
	conf_furnish(&c->a, ep);
	c->a.ep = ep;
	conf_post_recv(&c->a, 64, 64, 5);
	established(c, cr, ep);
	exchange(c);
}

CASE(psp_create__provider_ep_per_request, "7 dat_psp_create", NEED_EPS)
{
	DAT_CR_HANDLE cr[3];
	DAT_EP_HANDLE ep[3];
	DAT_PSP_HANDLE psp;

	psp = conf_listen_provider(c);
	for (int i = 0; i < 3; i++) {
		c->b.ep = conf_ep(&c->b, NULL);
		cr[i] = ask(c);
		ep[i] = conf_brought(cr[i]);
		conf_furnish(&c->a, ep[i]);
	}
	EXPECT(ep[0] != ep[1] && ep[1] != ep[2] && ep[0] != ep[2]);
	for (int i = 0; i < 3; i++)
		established(c, cr[i], ep[i]);
	/* They are the consumer's now, and outlive the service point. */
	EXPECT_OK(dat_psp_free(psp));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(conf_ep_state(ep[i]), DAT_EP_STATE_CONNECTED);
}

CASE(psp_create__provider_ep_reused, "7 dat_psp_create", NEED_EPS)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	conf_listen_provider(c);
	cr = ask(c);
	ep = conf_brought(cr);
	conf_furnish(&c->a, ep);
	established(c, cr, ep);
	conf_disconnect(c);
	/* From then on it is like any other. */
	EXPECT_OK(dat_ep_reset(ep));
	EXPECT_EQ(conf_ep_state(ep), DAT_EP_STATE_UNCONNECTED);
	EXPECT_OK(dat_ep_free(ep));
}

CASE(psp_query__provider_flag, "7 dat_psp_query", NEED_EPS)
{
	DAT_PSP_PARAM p;

	EXPECT_OK(
		dat_psp_query(conf_listen_provider(c), DAT_PSP_FIELD_ALL, &p));
	EXPECT_EQ(p.psp_flags, DAT_PSP_PROVIDER_FLAG);
}

CASE(psp_create_any__provider_flag, "7 dat_psp_create_any", NEED_EPS)
{
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;

	conf_need_provider_eps(c);
	EXPECT_OK(dat_psp_create_any(c->a.ia, &qual, c->a.cr_evd,
				     DAT_PSP_PROVIDER_FLAG, &psp));
	EXPECT_OK(dat_ep_connect(c->b.ep, conf_address(c), qual, CONF_PATIENCE,
				 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	EXPECT_EQ(conf_ep_state(conf_brought(request(c))),
		  DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}

CASE(psp_free__provider_ep_stays, "7 dat_psp_free", NEED_EPS)
{
	DAT_PSP_HANDLE psp = conf_listen_provider(c);
	DAT_CR_HANDLE cr = ask(c);
	DAT_EP_HANDLE ep = conf_brought(cr);

	EXPECT_OK(dat_psp_free(psp));
	conf_furnish(&c->a, ep);
	established(c, cr, ep);
}

CASE(cr_accept__ep_although_the_provider_made_one, "7 dat_cr_accept", NEED_EPS)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	conf_listen_provider(c);
	cr = ask(c);
	ep = conf_brought(cr);
	BAD_HANDLE(dat_cr_accept(cr, c->a.ep, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(cr, ep, 0, NULL), EP);
	conf_furnish(&c->a, ep);
	established(c, cr, ep);
}

CASE(cr_accept__provider_ep_still_bare, "7 dat_cr_accept", NEED_EPS)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	conf_listen_provider(c);
	cr = ask(c);
	ep = conf_brought(cr);
	BAD_STATE(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP_NOTREADY);
	conf_furnish(&c->a, ep);
	established(c, cr, ep);
}

CASE(cr_reject__provider_ep_goes, "7 dat_cr_reject", NEED_EPS)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	EXPECT_OK(dat_ep_free(c->a.ep));
	conf_listen_provider(c);
	cr = ask(c);
	ep = conf_brought(cr);
	conf_furnish(&c->a, ep);
	c->a.ep = ep;
	conf_post_recv(&c->a, 0, 64, 1);
	BAD_STATE(dat_evd_free(c->a.conn_evd), EVD_IN_USE);
	EXPECT_OK(face_cr_reject(cr));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	BAD_HANDLE(dat_ep_free(ep), EP);
	conf_no_event(c->a.conn_evd);
	conf_no_event(c->a.recv_evd);
	/* It holds nothing of the consumer's any more. */
	EXPECT_OK(dat_evd_free(c->a.conn_evd));
	EXPECT_OK(dat_evd_free(c->a.recv_evd));
	EXPECT_OK(dat_evd_free(c->a.req_evd));
	EXPECT_OK(dat_lmr_free(c->a.lmr));
	EXPECT_OK(dat_pz_free(c->a.pz));
}

CASE(ia_close__provider_ep_unanswered, "7 dat_ia_close", NEED_EPS)
{
	DAT_EP_HANDLE ep;
	DAT_COUNT more;
	DAT_EVENT ev;

	conf_listen_provider(c);
	ep = conf_brought(ask(c));
	EXPECT_OK(dat_ia_close(c->a.ia, DAT_CLOSE_ABRUPT_FLAG));
	c->a.ia = DAT_HANDLE_NULL;
	BAD_HANDLE(dat_ep_free(ep), EP);
	EXPECT_OK(dat_evd_wait(c->b.conn_evd, CONF_PATIENCE, 1, &ev, &more));
	/* Old programs of 1.2 refuse as rdma_cm does for one that goes. */
	if (DAT_FACE != 1 ||
	    ev.event_number != DAT_CONNECTION_EVENT_PEER_REJECTED)
		EXPECT_EQ(ev.event_number,
			  DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

CASE(rsp_create__without_an_ep, "7 dat_rsp_create", NEED_EPS)
{
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM p;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	conf_need_provider_eps(c);
	EXPECT_OK(dat_rsp_create(c->a.ia, c->qual, DAT_HANDLE_NULL, c->a.cr_evd,
				 &rsp));
	EXPECT_OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &p));
	EXPECT(p.ep_handle == DAT_HANDLE_NULL);
	cr = ask(c);
	ep = conf_brought(cr);
	EXPECT_EQ(conf_ep_state(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	conf_furnish(&c->a, ep);
	established(c, cr, ep);
	/* It served one. */
	BAD_HANDLE(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &p), RSP);
	c->b.ep = conf_ep(&c->b, NULL);
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
