/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_cr.c - connection requests: dat_cr_query, accept, reject, handoff.
 *
 * Service points are in t_sp.c, private data in t_ep_conn.c.
 * Rules: DAT 2.0 dat_cr_*; a CR dies with its answer, and lives on after an
 * answer that failed.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "test/unit/kit.h"

ON_EACH(accept__with_an_endpoint_not_ready)
{
	DAT_EP_HANDLE ep, bare, mute;
	DAT_CR_HANDLE cr;

	kit_ready(w);
	ep = s->ep;
	cr = kit_meet(w);
	assert_dat_ok(V(ep_create)(s->ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				   DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
				   &bare));
	assert_refused(V(cr_accept)(cr, bare, 0, NULL),
		       DAPL_BAD_STATE(EP_NOTREADY));
	/* It would have nowhere to say that it is connected. */
	assert_dat_ok(V(ep_create)(s->ia, s->pz, s->recv_evd, s->req_evd,
				   DAT_HANDLE_NULL, NULL, &mute));
	assert_refused(V(cr_accept)(cr, mute, 0, NULL),
		       DAPL_BAD_STATE(EP_NOTREADY));
	kit_state(mute, DAT_EP_STATE_UNCONNECTED);
	/* After all that the request is as good as new. */
	kit_state(ep, DAT_EP_STATE_UNCONNECTED);
	assert_dat_ok(V(cr_accept)(cr, ep, 0, NULL));
	assert_refused(V(cr_accept)(cr, ep, 0, NULL), DAPL_BAD_HANDLE(CR));
	assert_refused(V(cr_reject)(cr, 0, NULL), DAPL_BAD_HANDLE(CR));
	assert_refused(V(cr_handoff)(cr, 1), DAPL_BAD_HANDLE(CR));
	kit_conn(c, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* An endpoint that is in use keeps what it knows of its own peer. */
ON_EACH(accept__with_a_connected_endpoint, world_connect)
{
	DAT_EP_PARAM before, after;
	DAT_CR_HANDLE cr;

	before = kit_query(s->ep);
	kit_listen(w);
	c->ep = world_ep(c, NULL);
	cr = kit_meet(w);
	assert_refused(V(cr_accept)(cr, s->ep, 0, NULL),
		       BAD_EP_STATE(CONNECTED));
	after = kit_query(s->ep);
	assert_int_equal(after.remote_port_qual, before.remote_port_qual);
	assert_dat_ok(V(cr_reject)(cr, 0, NULL));
	kit_conn(c, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/* Neither the request nor the endpoint is worse for a failed attempt. */
ON_EACH(accept__nth_failure)
{
	bool hit = true;

	kit_ready(w);
	world_recv(s, 0, 64, 1);
	for (unsigned n = 1; hit; n++) {
		DAT_CR_HANDLE cr;
		DAT_RETURN ret;

		assert_in_range(n, 1, 30);
		cr = kit_meet(w);
		fv_fail_at(n, ENOMEM);
		ret = V(cr_accept)(cr, s->ep, 0, NULL);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		if (ret != DAT_SUCCESS) {
			assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
			assert_string_not_equal(dapl__fail_text(), "");
			kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
			expect_empty(s->conn_evd);
			V(cr_reject)(cr, 0, NULL);
			next_event(c->conn_evd, WORLD_PATIENCE_US);
			assert_dat_ok(V(ep_reset)(c->ep));
			/* The very same endpoint connects. */
			kit_accept(w, kit_meet(w));
		}
		/* The failure may still have met the active side. */
		next_event(c->conn_evd, WORLD_PATIENCE_US);
		next_event(s->conn_evd, WORLD_PATIENCE_US);
		if (world_ep_state(c->ep) == DAT_EP_STATE_CONNECTED) {
			V(ep_disconnect)(c->ep, DAT_CLOSE_ABRUPT_FLAG);
			kit_over(w);
		}
		assert_dat_ok(V(ep_reset)(c->ep));
		world_until(V(ep_reset)(s->ep) == DAT_SUCCESS);
	}
}

ON_EACH(accept__peer_gave_up)
{
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	kit_ready(w);
	cr = kit_meet(w);
	assert_dat_ok(V(ep_free)(c->ep));
	c->ep = NULL;
	ret = V(cr_accept)(cr, s->ep, 0, NULL);
	if (ret == DAT_SUCCESS) {
		DAT_EVENT ev = next_event(s->conn_evd, WORLD_PATIENCE_US);

		/* Unless the answer overtook the end of the attempt. */
		if ((unsigned)ev.event_number ==
		    DAT_CONNECTION_EVENT_ESTABLISHED)
			kit_conn(s, DAT_CONNECTION_EVENT_DISCONNECTED);
		else
			assert_int_equal(
				ev.event_number,
				DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		kit_state(s->ep, DAT_EP_STATE_DISCONNECTED);
		assert_dat_ok(V(ep_reset)(s->ep));
	} else {
		kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
		assert_int_equal(V(cr_reject)(cr, 0, NULL),
				 DAPL_BAD_HANDLE(CR));
	}
	expect_empty(s->conn_evd);
	c->ep = world_ep(c, NULL);
	kit_accept(w, kit_meet(w));
	kit_conn(s, DAT_CONNECTION_EVENT_ESTABLISHED);
}

ON_IB_ROCE(accept__answer_is_lost)
{
	kit_ready(w);
	world_recv(s, 0, 64, 4);
	fv_cm_set(FV_CM_LOSE_REP, 1);
	kit_accept(w, kit_meet(w));
	kit_state(s->ep, DAT_EP_STATE_COMPLETION_PENDING);
	kit_abort(c->ep);
	kit_conn(c, DAT_CONNECTION_EVENT_DISCONNECTED);
	kit_conn(s, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	kit_state(s->ep, DAT_EP_STATE_DISCONNECTED);
	expect_dto(s->recv_evd, 4, DAT_DTO_ERR_FLUSHED);
	expect_empty(s->conn_evd);
}

/* A driver knows that a queue pair has ended before anybody else does. */
ON_IB(accept__device_refuses_what_comes_late)
{
	struct fv_device_cfg *cfg = fv_device_cfg_get(w->dev);

	kit_ready(w);
	fv_cm_set(FV_CM_LOSE_REP, 1);
	kit_accept(w, kit_meet(w));
	kit_state(s->ep, DAT_EP_STATE_COMPLETION_PENDING);
	world_until(fv_qp_state(world_qp(s->ep)) == IBV_QPS_RTS);
	fv_qp_error(world_qp(s->ep));
	cfg->err_refuses_posts = EINVAL;
	world_recv(s, 0, 64, 4);
	expect_dto(s->recv_evd, 4, DAT_DTO_ERR_FLUSHED);
	cfg->err_refuses_posts = 0;
}

ON_EACH(reject__peer_gave_up)
{
	DAT_CR_HANDLE cr;

	kit_ready(w);
	cr = kit_meet(w);
	assert_dat_ok(V(ep_free)(c->ep));
	c->ep = NULL;
	assert_dat_ok(V(cr_reject)(cr, 3, (DAT_PVOID) "no."));
}

ON_EACH(handoff__to_another_point)
{
	DAT_EVD_HANDLE evd = world_evd(s->ia, DAT_EVD_CR_FLAG);
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	kit_listen(w);
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL + 1, evd, 0, &psp));
	world_eps(w);
	assert_dat_ok(kit_connect(c->ep, DAT_TIMEOUT_INFINITE, "abc", 3));
	cr = kit_request(w);
	assert_refused(V(cr_handoff)(cr, WORLD_QUAL + 2), DAPL_BAD_ARG(2));
	assert_dat_ok(V(cr_handoff)(cr, WORLD_QUAL + 1));
	assert_refused(V(cr_accept)(cr, s->ep, 0, NULL), DAPL_BAD_HANDLE(CR));
	ev = expect_event(evd, DAT_CONNECTION_REQUEST_EVENT);
	data = &ev.event_data.cr_arrival_event_data;
	assert_ptr_equal(data->sp_handle.psp_handle, psp);
	assert_int_equal(data->conn_qual, WORLD_QUAL + 1);
	assert_dat_ok(V(cr_query)(data->cr_handle, DAT_CR_FIELD_ALL, &param));
	assert_memory_equal(param.private_data, "abc", 3);
	assert_dat_ok(V(cr_accept)(data->cr_handle, s->ep, 0, NULL));
	kit_conn(c, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(s, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* The request of an RSP goes on, its endpoint comes back. */
ON_EACH(handoff__from_an_rsp, world_eps)
{
	DAT_RSP_HANDLE rsp;
	DAT_PSP_HANDLE psp;

	assert_dat_ok(V(rsp_create)(s->ia, WORLD_QUAL, s->ep, s->cr_evd, &rsp));
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL + 1, s->cr_evd, 0, &psp));
	assert_dat_ok(V(cr_handoff)(kit_meet(w), WORLD_QUAL + 1));
	kit_state(s->ep, DAT_EP_STATE_UNCONNECTED);
	assert_dat_ok(V(cr_accept)(kit_request(w), s->ep, 0, NULL));
	kit_conn(s, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---------------------- endpoints that the provider made */

/* The server's EP is the one that a new request of the client's brought. */
static DAT_CR_HANDLE meet_provided(struct world *w)
{
	DAT_CR_HANDLE cr = kit_meet(w);

	w->server.ep = kit_brought(cr);
	kit_state(w->server.ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	return cr;
}

static bool request_lives(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	return V(cr_query)(cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS;
}

/* A failed accept leaves the endpoint with the request. */
ON_EACH(provided__nth_failure)
{
	bool hit = true;

	kit_listen_provider(w);
	for (unsigned n = 1; hit; n++) {
		DAT_CR_HANDLE cr;
		DAT_RETURN ret;

		assert_in_range(n, 1, 60);
		c->ep = world_ep(c, NULL);
		cr = meet_provided(w);
		fv_fail_at(n, ENOMEM);
		ret = kit_furnish(s, s->ep);
		if (ret == DAT_SUCCESS)
			ret = V(cr_accept)(cr, DAT_HANDLE_NULL, 0, NULL);
		hit = fv_fail_hit();
		fv_fail_at(0, 0);
		if (ret != DAT_SUCCESS) {
			assert_true(hit);
			assert_int_equal(ret & 0xc0000000u, DAT_CLASS_ERROR);
			expect_empty(s->conn_evd);
			/* Or the kernel has ended the request for that. */
			if (request_lives(cr)) {
				kit_state(
					s->ep,
					DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
				assert_dat_ok(V(cr_reject)(cr, 0, NULL));
			}
			assert_refused(V(ep_free)(s->ep), DAPL_BAD_HANDLE(EP));
			next_event(c->conn_evd, WORLD_PATIENCE_US);
		} else {
			next_event(c->conn_evd, WORLD_PATIENCE_US);
			next_event(s->conn_evd, WORLD_PATIENCE_US);
			assert_dat_ok(V(ep_free)(s->ep));
		}
		assert_dat_ok(V(ep_free)(c->ep));
		while (V(evd_dequeue)(c->conn_evd, &(DAT_EVENT){0}) ==
		       DAT_SUCCESS)
			;
	}
}

ON_EACH(provided__peer_gave_up)
{
	DAT_CR_HANDLE cr;

	kit_listen_provider(w);
	c->ep = world_ep(c, NULL);
	cr = meet_provided(w);
	assert_dat_ok(kit_furnish(s, s->ep));
	assert_dat_ok(V(ep_free)(c->ep));
	c->ep = NULL;
	if (V(cr_accept)(cr, DAT_HANDLE_NULL, 0, NULL) == DAT_SUCCESS) {
		next_event(s->conn_evd, WORLD_PATIENCE_US);
		assert_dat_ok(V(ep_free)(s->ep));
	} else {
		if (request_lives(cr))
			assert_dat_ok(V(cr_reject)(cr, 0, NULL));
		assert_refused(V(ep_free)(s->ep), DAPL_BAD_HANDLE(EP));
	}
}

ON_IB(provided__handed_off)
{
	DAT_EP_HANDLE first, mine = world_ep(s, NULL);
	DAT_PSP_HANDLE provider, consumer;
	DAT_CR_HANDLE cr;

	kit_listen_provider(w);
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL + 1, s->cr_evd,
				    DAT_PSP_PROVIDER_FLAG, &provider));
	assert_dat_ok(V(psp_create)(s->ia, WORLD_QUAL + 2, s->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &consumer));
	c->ep = world_ep(c, NULL);
	cr = meet_provided(w);
	first = s->ep;
	assert_dat_ok(V(cr_handoff)(cr, WORLD_QUAL + 1));
	assert_refused(V(ep_free)(first), DAPL_BAD_HANDLE(EP));
	cr = kit_request(w);
	s->ep = kit_brought(cr);
	assert_ptr_not_equal(s->ep, first);
	assert_dat_ok(V(cr_handoff)(cr, WORLD_QUAL + 2));
	assert_refused(V(ep_free)(s->ep), DAPL_BAD_HANDLE(EP));
	cr = kit_request(w);
	assert_null(kit_brought(cr));
	s->ep = mine;
	assert_dat_ok(V(cr_accept)(cr, s->ep, 0, NULL));
	kit_conn(s, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(c, DAT_CONNECTION_EVENT_ESTABLISHED);
}

RUN_CASES(NULL, NULL)
