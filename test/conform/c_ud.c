/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_ud.c - cases of datagram endpoints, an extension of 2.0: how they find one
 * another, what they send, and what becomes of address handles.
 *
 * Side b asks side a, as in connections. The adapter says by its attribute
 * whether it has such endpoints; where it says no, they are refused.
 * Threads, ownership: conform.h.
 * Rule: IB extension 2.0.9, datagrams.
 */
#include "test/conform/apart.h"

#include <dat2/dat_ib_extensions.h>
#include <string.h>
#include <sys/socket.h>

#define GRH 40 /* in front of each receive */

static DAT_EP_ATTR ud_attr(void)
{
	return (DAT_EP_ATTR){
		.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD,
		.max_message_size = 256,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = 8,
		.max_request_dtos = 8,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
}

static bool has_ud(const struct conf *c)
{
	const DAT_PROVIDER_ATTR *attr = &c->prov_attr;

	for (int i = 0; i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name,
			    DAT_IB_ATTR_UD))
			return !strcmp(attr->provider_specific_attr[i].value,
				       "TRUE");
	return false;
}

static DAT_EP_HANDLE ud_ep(struct conf *c, struct conf_side *s)
{
	DAT_EP_ATTR attr = ud_attr();

	if (!has_ud(c))
		conf_skip("the adapter has no datagram endpoints");
	return conf_ep(s, &attr);
}

static DAT_IB_EXTENSION_EVENT_DATA ext_of(const DAT_EVENT *ev)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;

	memcpy(&ext, ev->event_extension_data, sizeof(ext));
	return ext;
}

static DAT_EVENT ud_event(DAT_EVD_HANDLE evd, DAT_IB_EVENT_NUMBER number,
			  DAT_IB_EXT_TYPE type)
{
	DAT_EVENT ev = conf_event(evd, (DAT_EVENT_NUMBER)number);

	EXPECT_EQ(ext_of(&ev).type, type);
	return ev;
}

static void ask(struct conf *c, DAT_EP_HANDLE ep, const char *pdata)
{
	EXPECT_OK(dat_ep_connect(
		ep, conf_address(c), c->qual, CONF_PATIENCE,
		(DAT_COUNT)strlen(pdata), (DAT_PVOID)(uintptr_t)pdata,
		DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static DAT_CR_HANDLE asked(struct conf *c)
{
	DAT_EVENT ev = ud_event(c->a.cr_evd, DAT_IB_UD_CONNECTION_REQUEST_EVENT,
				DAT_IB_UD_CONNECT_REQUEST);

	return ev.event_data.cr_arrival_event_data.cr_handle;
}

static bool has(const DAT_CONNECTION_EVENT_DATA *data, const char *text)
{
	return (size_t)data->private_data_size >= strlen(text) &&
	       !memcmp(data->private_data, text, strlen(text));
}

/* B's endpoint and A's find one another; the context of B's event. */
static DAT_CONTEXT find(struct conf *c, DAT_EP_HANDLE a, DAT_EP_HANDLE b,
			DAT_IB_ADDR_HANDLE *to_b, DAT_IB_ADDR_HANDLE *to_a)
{
	DAT_CONTEXT context;
	DAT_EVENT ev;

	ask(c, b, "ask");
	EXPECT_OK(dat_cr_accept(asked(c), a, 3, "yes"));
	ev = ud_event(c->b.conn_evd, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
		      DAT_IB_UD_REMOTE_AH);
	EXPECT(ev.event_data.connect_event_data.ep_handle == b);
	EXPECT(has(&ev.event_data.connect_event_data, "yes"));
	*to_a = ext_of(&ev).remote_ah;
	context = ext_of(&ev).context;
	EXPECT(to_a->ah);
	EXPECT(to_a->qpn);
	ev = ud_event(c->a.conn_evd, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
		      DAT_IB_UD_PASSIVE_REMOTE_AH);
	EXPECT(ev.event_data.connect_event_data.ep_handle == a);
	EXPECT(has(&ev.event_data.connect_event_data, "ask"));
	*to_b = ext_of(&ev).remote_ah;
	EXPECT(to_b->ah);
	EXPECT(to_b->qpn);
	return context;
}

static void post_recv(struct conf_side *s, DAT_EP_HANDLE ep, size_t offset,
		      uint64_t cookie)
{
	DAT_LMR_TRIPLET iov = conf_seg(s, offset, GRH + 256);

	EXPECT_OK(dat_ib_post_recv_ud(ep, 1, &iov, conf_cookie(cookie),
				      DAT_COMPLETION_DEFAULT_FLAG));
}

static DAT_RETURN send_to(struct conf_side *s, DAT_EP_HANDLE ep,
			  DAT_IB_ADDR_HANDLE *to, size_t offset, size_t length,
			  uint64_t cookie)
{
	DAT_LMR_TRIPLET iov = conf_seg(s, offset, length);

	return dat_ib_post_send_ud(ep, 1, &iov, to, conf_cookie(cookie),
				   DAT_COMPLETION_DEFAULT_FLAG);
}

static void ud_dto(DAT_EVD_HANDLE evd, DAT_IB_EXT_TYPE type, int operation,
		   uint64_t cookie, size_t length)
{
	DAT_EVENT ev = ud_event(evd, DAT_IB_DTO_EVENT, type);
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev.event_data.dto_completion_event_data;

	EXPECT_EQ(dto->status, DAT_DTO_SUCCESS);
	EXPECT_EQ(dto->operation, operation);
	EXPECT_EQ(dto->user_cookie.as_64, cookie);
	EXPECT_EQ(dto->transfered_length, length);
	EXPECT_EQ(ext_of(&ev).status, DAT_OP_SUCCESS);
}

/* From one side to the other, whose receive COOKIE is posted already. */
static void goes(struct conf_side *from, DAT_EP_HANDLE ep,
		 DAT_IB_ADDR_HANDLE *to, struct conf_side *at, size_t offset,
		 uint64_t cookie)
{
	memset(from->buf, (int)cookie, 64);
	memset(at->buf + offset, 0, GRH + 256);
	EXPECT_OK(send_to(from, ep, to, 0, 64, 5));
	ud_dto(from->req_evd, DAT_IB_UD_SEND, DAT_IB_DTO_SEND_UD, 5, 64);
	ud_dto(at->recv_evd, DAT_IB_UD_RECV, DAT_IB_DTO_RECV_UD, cookie,
	       GRH + 64);
	EXPECT(!memcmp(at->buf + offset + GRH, from->buf, 64));
	EXPECT_EQ(at->buf[offset + GRH + 64], 0);
}

CASE(ud__attribute_says_whether, "18.4", NEED_IA)
{
	DAT_EP_ATTR attr = ud_attr();
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM p;
	DAT_RETURN ret = dat_ep_create(c->a.ia, c->a.pz, c->a.recv_evd,
				       c->a.req_evd, c->a.conn_evd, &attr, &ep);

	if (!has_ud(c)) {
		EXPECT_TYPE(ret, DAT_MODEL_NOT_SUPPORTED);
		return;
	}
	EXPECT_OK(ret);
	EXPECT_OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	EXPECT_EQ(p.ep_attr.service_type, DAT_IB_SERVICE_TYPE_UD);
	EXPECT_EQ(p.ep_state, DAT_EP_STATE_UNCONNECTED);
	EXPECT_OK(dat_ep_free(ep));
}

CASE(ud__message_no_longer_than_the_mtu, "18.4", NEED_IA)
{
	DAT_EP_ATTR attr = ud_attr();
	DAT_EP_HANDLE ep;

	EXPECT_OK(dat_ep_free(ud_ep(c, &c->a)));
	attr.max_message_size = 1 << 20;
	BAD_ARG(dat_ep_create(c->a.ia, c->a.pz, c->a.recv_evd, c->a.req_evd,
			      c->a.conn_evd, &attr, &ep),
		6);
}

CASE(ud__find_and_send_both_ways, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	DAT_IB_ADDR_HANDLE to_a, to_b;

	conf_listen(c);
	post_recv(&c->a, a, 1024, 1);
	find(c, a, b, &to_b, &to_a);
	post_recv(&c->b, b, 2048, 2);
	goes(&c->b, b, &to_a, &c->a, 1024, 1);
	goes(&c->a, a, &to_b, &c->b, 2048, 2);
	conf_no_event(c->a.conn_evd);
	conf_no_event(c->b.conn_evd);
}

CASE(ud__one_endpoint_has_many_peers, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b[3];
	DAT_IB_ADDR_HANDLE to_a[3], to_b[3];

	conf_listen(c);
	for (int i = 0; i < 3; i++) {
		b[i] = ud_ep(c, &c->b);
		find(c, a, b[i], &to_b[i], &to_a[i]);
	}
	/* and the same two once more */
	find(c, a, b[0], &to_b[0], &to_a[0]);
	for (int i = 0; i < 3; i++) {
		post_recv(&c->a, a, 1024, 10);
		goes(&c->b, b[i], &to_a[i], &c->a, 1024, 10);
		post_recv(&c->b, b[i], 2048, 11);
		goes(&c->a, a, &to_b[i], &c->b, 2048, 11);
	}
}

CASE(ud__many_attempts_at_once, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	uint64_t seen[6] = {0};

	conf_listen(c);
	for (int i = 0; i < 6; i++)
		ask(c, b, "again");
	for (int i = 0; i < 6; i++)
		EXPECT_OK(dat_cr_accept(asked(c), a, 0, NULL));
	for (int i = 0; i < 6; i++) {
		DAT_EVENT ev = ud_event(c->b.conn_evd,
					DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
					DAT_IB_UD_REMOTE_AH);

		seen[i] = ext_of(&ev).context.as_64;
		for (int k = 0; k < i; k++)
			EXPECT(seen[i] != seen[k]);
	}
}

CASE(ud__states, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	struct sockaddr_storage nowhere = {.ss_family = 99};
	DAT_IB_ADDR_HANDLE to_a, to_b;

	conf_listen(c);
	/* what is refused has changed nothing */
	EXPECT_TYPE(dat_ep_connect(b, (DAT_IA_ADDRESS_PTR)&nowhere, c->qual,
				   CONF_PATIENCE, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG),
		    DAT_INVALID_ADDRESS);
	EXPECT_EQ(conf_ep_state(b), DAT_EP_STATE_UNCONNECTED);
	ask(c, b, "");
	EXPECT_EQ(conf_ep_state(b), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	EXPECT_OK(dat_cr_accept(asked(c), a, 0, NULL));
	EXPECT_EQ(conf_ep_state(a), DAT_EP_STATE_COMPLETION_PENDING);
	conf_event(c->a.conn_evd,
		   (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->b.conn_evd,
		   (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
	EXPECT_EQ(conf_ep_state(b), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	EXPECT_EQ(conf_ep_state(a), DAT_EP_STATE_COMPLETION_PENDING);
	/* nothing happens, and it goes on */
	EXPECT_OK(dat_ep_disconnect(b, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_OK(dat_ep_disconnect(a, DAT_CLOSE_GRACEFUL_FLAG));
	find(c, a, b, &to_b, &to_a);
	post_recv(&c->a, a, 1024, 1);
	goes(&c->b, b, &to_a, &c->a, 1024, 1);
	EXPECT_OK(dat_ep_reset(b));
	EXPECT_EQ(conf_ep_state(b), DAT_EP_STATE_UNCONNECTED);
	find(c, a, b, &to_b, &to_a);
	EXPECT_OK(dat_ep_free(b));
	EXPECT_OK(dat_ep_free(a));
}

CASE(ud__rejected, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE b = ud_ep(c, &c->b);
	DAT_EVENT ev;

	conf_listen(c);
	ask(c, b, "may I");
	EXPECT_OK(dat_cr_reject(asked(c), 0, NULL));
	ev = ud_event(c->b.conn_evd, DAT_IB_UD_CONNECTION_REJECT_EVENT,
		      DAT_IB_UD_CONNECT_REJECT);
	EXPECT(ev.event_data.connect_event_data.ep_handle == b);
	conf_no_event(c->b.conn_evd);
}

CASE(ud__rejected_with_private_data, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE b = ud_ep(c, &c->b);
	DAT_EVENT ev;

	conf_listen(c);
	ask(c, b, "may I");
	EXPECT_OK(dat_cr_reject(asked(c), 2, "no"));
	ev = ud_event(c->b.conn_evd, DAT_IB_UD_CONNECTION_REJECT_EVENT,
		      DAT_IB_UD_CONNECT_REJECT);
	EXPECT(has(&ev.event_data.connect_event_data, "no"));
	EXPECT_OK(dat_ib_ud_cm_free(b, ext_of(&ev).context));
}

CASE(ud__nobody_listens, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE b = ud_ep(c, &c->b);
	DAT_EVENT ev;

	ask(c, b, "");
	ev = ud_event(c->b.conn_evd, DAT_IB_UD_CONNECTION_REJECT_EVENT,
		      DAT_IB_UD_CONNECT_REJECT);
	/* whatever came, its context can be freed */
	EXPECT_OK(dat_ib_ud_cm_free(b, ext_of(&ev).context));
}

CASE(ud__refused_modify_changes_nothing, "6 dat_ep_modify", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	DAT_IB_ADDR_HANDLE to_a, to_b;
	DAT_EP_PARAM p = {.ep_attr = ud_attr()};

	conf_listen(c);
	find(c, a, b, &to_b, &to_a);
	for (int i = 0; i < 2; i++) {
		EXPECT_TYPE(dat_ep_modify(b, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
					  &p),
			    DAT_INVALID_STATE);
		EXPECT_EQ(conf_ep_state(b),
			  DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
		EXPECT_TYPE(dat_ep_modify(a, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
					  &p),
			    DAT_INVALID_STATE);
		EXPECT_EQ(conf_ep_state(a), DAT_EP_STATE_COMPLETION_PENDING);
	}
}

CASE(ud_cm_free__of_another_endpoint, "18.2", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	DAT_IB_ADDR_HANDLE to_a, to_b;
	DAT_CONTEXT context;

	if (apart_is())
		conf_skip("both processes have contexts of the same number");
	conf_listen(c);
	context = find(c, a, b, &to_b, &to_a);
	BAD_ARG(dat_ib_ud_cm_free(a, context), 2);
	EXPECT_OK(dat_ib_ud_cm_free(b, context));
}

CASE(ud__no_answer_in_time, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE b = ud_ep(c, &c->b);

	conf_listen(c);
	EXPECT_OK(dat_ep_connect(b, conf_address(c), c->qual, 200000, 0, NULL,
				 DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	asked(c);
	ud_event(c->b.conn_evd, DAT_IB_UD_CONNECTION_ERROR_EVENT,
		 DAT_IB_UD_CONNECT_ERROR);
	conf_no_event(c->b.conn_evd);
}

CASE(ud__only_the_kind_that_asks_accepts, "18.4", NEED_EPS)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	DAT_CR_HANDLE cr;

	conf_listen(c);
	ask(c, b, "");
	cr = asked(c);
	BAD_HANDLE(dat_cr_accept(cr, c->a.ep, 0, NULL), EP);
	EXPECT_OK(dat_cr_accept(cr, a, 0, NULL));
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	cr = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT)
		     .event_data.cr_arrival_event_data.cr_handle;
	BAD_HANDLE(dat_cr_accept(cr, a, 0, NULL), EP);
	EXPECT_OK(dat_cr_accept(cr, c->a.ep, 0, NULL));
}

CASE(ud__calls_of_the_other_kind, "18.2", NEED_CONNECTED)
{
	DAT_EP_HANDLE b = ud_ep(c, &c->b);
	DAT_LMR_TRIPLET iov = conf_seg(&c->b, 0, 8);
	DAT_RMR_TRIPLET to = conf_target(&c->a, 0, 8);
	DAT_IB_ADDR_HANDLE ah = {.qpn = 1};
	DAT_RSP_HANDLE rsp;
	DAT_CONTEXT none = {.as_64 = 99};

	BAD_HANDLE(dat_ep_post_send(b, 1, &iov, conf_cookie(1),
				    DAT_COMPLETION_DEFAULT_FLAG),
		   EP);
	BAD_HANDLE(dat_ep_post_rdma_write(b, 1, &iov, conf_cookie(1), &to,
					  DAT_COMPLETION_DEFAULT_FLAG),
		   EP);
	BAD_HANDLE(send_to(&c->b, c->b.ep, &ah, 0, 8, 1), EP);
	BAD_HANDLE(dat_ib_ud_ah_free(c->b.ep, &ah), EP);
	BAD_HANDLE(dat_ib_ud_cm_free(c->b.ep, none), EP);
	BAD_ARG(send_to(&c->b, b, NULL, 0, 8, 1), 4);
	BAD_ARG(send_to(&c->b, b, &ah, 0, 8, 1), 4);
	BAD_ARG(dat_ib_ud_ah_free(b, NULL), 2);
	BAD_ARG(dat_ib_ud_ah_free(b, &ah), 2);
	BAD_ARG(dat_ib_ud_cm_free(b, none), 2);
	EXPECT_TYPE(dat_rsp_create(c->b.ia, c->qual + 1, b, c->b.cr_evd, &rsp),
		    DAT_MODEL_NOT_SUPPORTED);
}

CASE(ud_ah_free__each_once, "18.2", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	DAT_IB_ADDR_HANDLE to_a, to_b, first;

	conf_listen(c);
	find(c, a, b, &to_b, &first);
	find(c, a, b, &to_b, &to_a);
	EXPECT_OK(dat_ib_ud_ah_free(b, &first));
	BAD_ARG(dat_ib_ud_ah_free(b, &first), 2);
	BAD_ARG(dat_ib_ud_ah_free(a, &to_a), 2); /* of another endpoint */
	post_recv(&c->a, a, 1024, 1);
	goes(&c->b, b, &to_a, &c->a, 1024, 1);
}

CASE(ud_cm_free__the_handle_stays, "18.2", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	DAT_IB_ADDR_HANDLE to_a, to_b;
	DAT_CONTEXT context;

	conf_listen(c);
	context = find(c, a, b, &to_b, &to_a);
	EXPECT_OK(dat_ib_ud_cm_free(b, context));
	BAD_ARG(dat_ib_ud_cm_free(b, context), 2);
	post_recv(&c->a, a, 1024, 1);
	goes(&c->b, b, &to_a, &c->a, 1024, 1);
	EXPECT_OK(dat_ib_ud_ah_free(b, &to_a));
}

CASE(ud__receives_through_an_srq, "18.4", NEED_BOTH | NEED_SRQ)
{
	DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
	DAT_LMR_TRIPLET iov = conf_seg(&c->a, 1024, GRH + 256);
	DAT_EP_HANDLE b = ud_ep(c, &c->b), a[2];
	DAT_IB_ADDR_HANDLE to_a[2], to_b;
	DAT_EP_ATTR attr = ud_attr();
	DAT_SRQ_HANDLE srq;

	EXPECT_OK(dat_srq_create(c->a.ia, c->a.pz, &srq_attr, &srq));
	conf_listen(c);
	for (int i = 0; i < 2; i++) {
		EXPECT_OK(dat_ep_create_with_srq(
			c->a.ia, c->a.pz, c->a.recv_evd, c->a.req_evd,
			c->a.conn_evd, srq, &attr, &a[i]));
		find(c, a[i], b, &to_b, &to_a[i]);
	}
	for (uint64_t n = 1; n <= 20; n++) {
		EXPECT_OK(dat_srq_post_recv(srq, 1, &iov, conf_cookie(n)));
		goes(&c->b, b, &to_a[n % 2], &c->a, 1024, n);
	}
	for (int i = 0; i < 2; i++)
		EXPECT_OK(dat_ep_free(a[i]));
	EXPECT_OK(dat_srq_free(srq));
}

CASE(ud__too_long_for_a_datagram, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	DAT_IB_ADDR_HANDLE to_a, to_b;

	conf_listen(c);
	find(c, a, b, &to_b, &to_a);
	EXPECT_TYPE(send_to(&c->b, b, &to_a, 0, CONF_MEM, 1), DAT_LENGTH_ERROR);
	post_recv(&c->a, a, 1024, 1);
	goes(&c->b, b, &to_a, &c->a, 1024, 1);
}

CASE(ud__freed_in_the_middle, "18.4", NEED_BOTH)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a), b = ud_ep(c, &c->b);
	DAT_CR_HANDLE cr;

	conf_listen(c);
	ask(c, b, "");
	cr = asked(c);
	EXPECT_OK(dat_ep_free(b));
	/* whatever came of it, there is an answer or the request is over */
	(void)dat_cr_accept(cr, a, 0, NULL);
	EXPECT_OK(dat_ep_free(a));
	conf_no_event(c->b.conn_evd);
}

CASE(ud__receives_are_flushed, "18.4", NEED_IA)
{
	DAT_EP_HANDLE a = ud_ep(c, &c->a);
	DAT_EVENT ev;

	post_recv(&c->a, a, 1024, 7);
	EXPECT_OK(dat_ep_reset(a));
	ev = ud_event(c->a.recv_evd, DAT_IB_DTO_EVENT, DAT_IB_UD_RECV);
	EXPECT_EQ(ev.event_data.dto_completion_event_data.status,
		  DAT_DTO_ERR_FLUSHED);
	EXPECT_EQ(ev.event_data.dto_completion_event_data.user_cookie.as_64, 7);
	EXPECT_EQ(ext_of(&ev).status, DAT_DTO_ERR_FLUSHED);
}
