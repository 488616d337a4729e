/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_conn.c - cases of connecting, disconnecting and using again.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_ep_connect and its kin, events.
 */
#include "test/conform/conform.h"

#include <string.h>

/* What dat_ep_connect() takes; cases spoil one member. */
struct ask {
	DAT_EP_HANDLE ep;
	DAT_IA_ADDRESS_PTR address;
	DAT_CONN_QUAL qual;
	DAT_TIMEOUT timeout;
	DAT_COUNT size;
	const void *data;
	DAT_QOS qos;
	DAT_CONNECT_FLAGS flags;
};

static struct ask good(struct conf *c)
{
	return (struct ask){
		.ep = c->b.ep,
		.address = conf_address(c),
		.qual = c->qual,
		.timeout = CONF_PATIENCE,
		.qos = DAT_QOS_BEST_EFFORT,
		.flags = DAT_CONNECT_DEFAULT_FLAG,
	};
}

static DAT_RETURN ask(const struct ask *a)
{
	return dat_ep_connect(a->ep, a->address, a->qual, a->timeout, a->size,
			      (DAT_PVOID)(uintptr_t)a->data, a->qos, a->flags);
}

static void expect_state(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	EXPECT_EQ(conf_ep_state(ep), state);
}

CASE(ep_connect__both_sides_hear_of_it, "6 dat_ep_connect", NEED_EPS)
{
	DAT_EVENT ev;

	EXPECT_OK(dat_cr_accept(conf_meet(c), c->a.ep, 0, NULL));
	ev = conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	EXPECT(ev.event_data.connect_event_data.ep_handle == c->b.ep);
	ev = conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	EXPECT(ev.event_data.connect_event_data.ep_handle == c->a.ep);
	EXPECT_EQ(ev.event_data.connect_event_data.private_data_size, 0);
	expect_state(c->a.ep, DAT_EP_STATE_CONNECTED);
	expect_state(c->b.ep, DAT_EP_STATE_CONNECTED);
}

CASE(ep_connect__other_qos, "6 dat_ep_connect", NEED_EPS)
{
	struct ask a = good(c);

	a.qos = DAT_QOS_PREMIUM;
	EXPECT_TYPE(ask(&a), DAT_MODEL_NOT_SUPPORTED);
}

CASE(ep_connect__no_pz, "6 dat_ep_connect", NEED_EPS)
{
	struct ask a = good(c);

	EXPECT_OK(dat_ep_create(c->b.ia, DAT_HANDLE_NULL, c->b.recv_evd,
				c->b.req_evd, c->b.conn_evd, NULL, &a.ep));
	BAD_STATE(ask(&a), EP_NOTREADY);
}

CASE(ep_connect__to_its_own_adapter, "6 dat_ep_connect", NEED_EPS)
{
	DAT_EP_HANDLE ep = conf_ep(&c->a, NULL);
	DAT_EVENT ev;

	conf_listen(c);
	EXPECT_OK(conf_try_connect(c, ep, CONF_PATIENCE));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT_OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle,
				c->a.ep, 0, NULL));
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_state(ep, DAT_EP_STATE_CONNECTED);
	expect_state(c->a.ep, DAT_EP_STATE_CONNECTED);
}

CASE(ep_connect__nobody_listens, "6 dat_ep_connect", NEED_EPS)
{
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_state(c->b.ep, DAT_EP_STATE_DISCONNECTED);
}

/* The other side never answers its request. */
CASE(ep_connect__times_out, "6 dat_ep_connect", NEED_EPS)
{
	conf_listen(c);
	EXPECT_OK(conf_try_connect(c, c->b.ep, 300000));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_state(c->b.ep, DAT_EP_STATE_DISCONNECTED);
}

CASE(ep_connect__again_after_reset, "6 dat_ep_reset", NEED_CONNECTED)
{
	conf_disconnect(c);
	EXPECT_OK(dat_ep_reset(c->a.ep));
	EXPECT_OK(dat_ep_reset(c->b.ep));
	expect_state(c->b.ep, DAT_EP_STATE_UNCONNECTED);
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	EXPECT_OK(dat_cr_accept(
		conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT)
			.event_data.cr_arrival_event_data.cr_handle,
		c->a.ep, 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_post_recv(&c->a, 0, 64, 1);
	conf_post_send(&c->b, 0, 8, 2);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
}

CASE(ep_connect__again_after_refusal, "6 dat_ep_connect", NEED_EPS)
{
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	EXPECT_OK(dat_ep_reset(c->b.ep));
	conf_connect(c);
}

CASE(ep_dup_connect__same_peer, "6 dat_ep_dup_connect", NEED_CONNECTED)
{
	DAT_EP_HANDLE dup = conf_ep(&c->b, NULL), other = conf_ep(&c->a, NULL);
	char data[4] = "dup";
	DAT_CR_PARAM param;
	DAT_EVENT ev;

	EXPECT_OK(dat_ep_dup_connect(dup, c->b.ep, CONF_PATIENCE, sizeof(data),
				     data, DAT_QOS_BEST_EFFORT));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT_OK(dat_cr_query(ev.event_data.cr_arrival_event_data.cr_handle,
			       DAT_CR_FIELD_ALL, &param));
	EXPECT(memcmp(param.private_data, data, sizeof(data)) == 0);
	EXPECT_OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle,
				other, 0, NULL));
	ev = conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	EXPECT(ev.event_data.connect_event_data.ep_handle == dup);
}

CASE(ep_dup_connect__other_is_not_connected, "6 dat_ep_dup_connect", NEED_EPS)
{
	DAT_EP_HANDLE dup = conf_ep(&c->b, NULL);

	BAD_STATE(dat_ep_dup_connect(dup, c->b.ep, CONF_PATIENCE, 0, NULL,
				     DAT_QOS_BEST_EFFORT),
		  EP_UNCONNECTED);
}

static void disconnect(struct conf *c, DAT_CLOSE_FLAGS flags)
{
	EXPECT_OK(dat_ep_disconnect(c->b.ep, flags));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(c->a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(c->b.ep, DAT_EP_STATE_DISCONNECTED);
	conf_no_event(c->b.conn_evd);
	conf_no_event(c->a.conn_evd);
}

CASE(ep_disconnect__abrupt, "6 dat_ep_disconnect", NEED_CONNECTED)
{
	disconnect(c, DAT_CLOSE_ABRUPT_FLAG);
}

CASE(ep_disconnect__graceful, "6 dat_ep_disconnect", NEED_CONNECTED)
{
	disconnect(c, DAT_CLOSE_GRACEFUL_FLAG);
}

CASE(ep_disconnect__passive_side, "6 dat_ep_disconnect", NEED_CONNECTED)
{
	EXPECT_OK(dat_ep_disconnect(c->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

CASE(ep_disconnect__flushes_receives, "6 dat_ep_disconnect", NEED_CONNECTED)
{
	conf_post_recv(&c->a, 0, 64, 1);
	conf_post_recv(&c->b, 0, 64, 2);
	disconnect(c, DAT_CLOSE_ABRUPT_FLAG);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_ERR_FLUSHED);
	conf_dto(c->b.recv_evd, 2, DAT_DTO_ERR_FLUSHED);
}

/* What was posted before arrives before the end. */
CASE(ep_disconnect__graceful_lets_requests_finish, "6 dat_ep_disconnect",
     NEED_CONNECTED)
{
	for (int i = 0; i < 4; i++)
		conf_post_recv(&c->a, 64 * (size_t)i, 64, (uint64_t)i);
	for (int i = 0; i < 4; i++)
		conf_post_send(&c->b, 0, 8, (uint64_t)i);
	disconnect(c, DAT_CLOSE_GRACEFUL_FLAG);
	for (int i = 0; i < 4; i++) {
		conf_dto(c->b.req_evd, (uint64_t)i, DAT_DTO_SUCCESS);
		conf_dto(c->a.recv_evd, (uint64_t)i, DAT_DTO_SUCCESS);
	}
}

CASE(ep_disconnect__twice_has_no_effect, "6 dat_ep_disconnect", NEED_CONNECTED)
{
	disconnect(c, DAT_CLOSE_GRACEFUL_FLAG);
	EXPECT_OK(dat_ep_disconnect(c->b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_OK(dat_ep_disconnect(c->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	conf_no_event(c->b.conn_evd);
}

CASE(ep_disconnect__while_connecting, "6 dat_ep_disconnect", NEED_EPS)
{
	conf_meet(c);
	EXPECT_OK(dat_ep_disconnect(c->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(c->b.ep, DAT_EP_STATE_DISCONNECTED);
	conf_no_event(c->b.conn_evd);
}

CASE(ep_free__while_connected, "6 dat_ep_free", NEED_CONNECTED)
{
	EXPECT_OK(dat_ep_free(c->b.ep));
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(c->a.ep, DAT_EP_STATE_DISCONNECTED);
}
