/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sides.c - the two sides of a case and the steps of their connection.
 *
 * Contains no case. Both sides are instances of one adapter, in one process
 * unless the program has them apart (apart.h), joined through the provider's
 * own connection manager.
 * Threads: the case's. Ownership: a side owns all that hangs on its adapter.
 * Rule: DAT 2.0, endpoint states; every wait here ends after CONF_PATIENCE.
 */
#include "test/conform/apart.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

uint64_t conf_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return apart_agreed(DAT_HANDLE_NULL,
			    (uint64_t)ts.tv_sec * 1000000 +
				    (uint64_t)ts.tv_nsec / 1000);
}

/* --------------------------------------------------- sides */

static void register_memory(const struct conf *c, struct conf_side *s)
{
	DAT_REGION_DESCRIPTION desc;

	s->buf = apart_memory(c, s);
	EXPECT(s->buf);
	desc.for_va = s->buf;
	EXPECT_OK(face_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, desc, CONF_MEM,
				  s->pz, DAT_MEM_PRIV_ALL_FLAG, &s->lmr,
				  &s->lkey, &s->rkey, NULL, NULL));
}

void conf_open(struct conf *c, struct conf_side *s)
{
	s->async_evd = DAT_HANDLE_NULL;
	EXPECT_OK(dat_ia_open((char *)(uintptr_t)c->name, 8, &s->async_evd,
			      &s->ia));
	EXPECT_OK(dat_pz_create(s->ia, &s->pz));
	s->recv_evd = conf_evd(s, DAT_EVD_DTO_FLAG);
	s->req_evd = conf_evd(s, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	s->conn_evd = conf_evd(s, DAT_EVD_CONNECTION_FLAG);
	s->cr_evd = conf_evd(s, DAT_EVD_CR_FLAG);
	register_memory(c, s);
}

static void check_needs(struct conf *c, unsigned needs)
{
	if ((needs & NEED_SRQ) && !c->prov_attr.srq_supported)
		conf_skip("the adapter has no shared receive queues");
	if ((needs & NEED_RMR) && c->ia_attr.max_rmrs == 0)
		conf_skip("the adapter has no memory windows");
}

void conf_init(struct conf *c, unsigned needs)
{
	if (needs & NEED_IA) {
		conf_open(c, &c->a);
		EXPECT_OK(dat_ia_query(c->a.ia, NULL, DAT_IA_FIELD_ALL,
				       &c->ia_attr, DAT_PROVIDER_FIELD_ALL,
				       &c->prov_attr));
		check_needs(c, needs);
	}
	if ((needs & NEED_BOTH) == NEED_BOTH)
		conf_open(c, &c->b);
	if ((needs & NEED_EPS) == NEED_EPS) {
		c->a.ep = conf_ep(&c->a, NULL);
		c->b.ep = conf_ep(&c->b, NULL);
	}
	if ((needs & NEED_CONNECTED) == NEED_CONNECTED)
		conf_connect(c);
}

static void side_close(struct conf_side *s)
{
	if (s->ia)
		EXPECT_OK(dat_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	apart_memory_free(s->buf);
	s->ia = DAT_HANDLE_NULL;
	s->buf = NULL;
}

void conf_fini(struct conf *c)
{
	/* The passive side first: what it has not answered is refused then.
	 * An iWARP kernel keeps the other's queue pair until there is an
	 * answer, or 10 s. */
	side_close(&c->a);
	side_close(&c->b);
}

DAT_IA_ADDRESS_PTR conf_address(struct conf *c)
{
	static struct sockaddr_storage given;
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&given;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&given;

	if (!c->address)
		return c->ia_attr.ia_address_ptr;
	if (inet_pton(AF_INET, c->address, &in->sin_addr) == 1)
		in->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, c->address, &in6->sin6_addr) == 1)
		in6->sin6_family = AF_INET6;
	else
		conf_fail(__FILE__, __LINE__, "no address: %s", c->address);
	return (DAT_IA_ADDRESS_PTR)&given;
}

DAT_EVD_HANDLE conf_evd(struct conf_side *s, unsigned flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	EXPECT_OK(dat_evd_create(s->ia, CONF_QLEN, DAT_HANDLE_NULL,
				 (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

DAT_CNO_HANDLE conf_cno(struct conf_side *s)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	EXPECT_OK(dat_cno_create(s->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	return cno;
}

/* ----------------------------------------------- endpoints */

DAT_EP_HANDLE conf_ep(struct conf_side *s, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	EXPECT_OK(dat_ep_create(s->ia, s->pz, s->recv_evd, s->req_evd,
				s->conn_evd, attr, &ep));
	return ep;
}

DAT_EP_ATTR conf_ep_attr(struct conf_side *s)
{
	DAT_EP_HANDLE ep = conf_ep(s, NULL);
	DAT_EP_PARAM param;

	EXPECT_OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_OK(dat_ep_free(ep));
	return param.ep_attr;
}

DAT_EP_STATE conf_ep_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	EXPECT_OK(dat_ep_get_status(ep, &state, NULL, NULL));
	return state;
}

int conf_state_subtype(DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return DAT_INVALID_STATE_EP_UNCONNECTED;
	case DAT_EP_STATE_RESERVED:
		return DAT_INVALID_STATE_EP_RESERVED;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_PASSCONNPENDING;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_ACTCONNPENDING;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_TENTCONNPENDING;
	case DAT_EP_STATE_CONNECTED:
		return DAT_INVALID_STATE_EP_CONNECTED;
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_INVALID_STATE_EP_DISCONNECTED;
	default:
		return ANY_SUBTYPE;
	}
}

static DAT_EP_HANDLE reach_reserved(struct conf *c)
{
	DAT_RSP_HANDLE rsp;

	EXPECT_OK(dat_rsp_create(c->a.ia, c->qual, c->a.ep, c->a.cr_evd, &rsp));
	return c->a.ep;
}

static DAT_EP_HANDLE reach_passive(struct conf *c)
{
	reach_reserved(c);
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	return c->a.ep;
}

void conf_furnish(struct conf_side *s, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM parts;

	memset(&parts, 0, sizeof(parts));
	parts.pz_handle = s->pz;
	parts.recv_evd_handle = s->recv_evd;
	parts.request_evd_handle = s->req_evd;
	parts.connect_evd_handle = s->conn_evd;
	EXPECT_OK(dat_ep_modify(ep,
				DAT_EP_FIELD_PZ_HANDLE |
					DAT_EP_FIELD_RECV_EVD_HANDLE |
					DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				&parts));
}

static DAT_EP_HANDLE reach_tentative(struct conf *c)
{
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;

	conf_listen_provider(c);
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	ep = conf_brought(ev.event_data.cr_arrival_event_data.cr_handle);
	/* Complete but for the connection, so that only the state refuses. */
	conf_furnish(&c->a, ep);
	return ep;
}

DAT_EP_HANDLE conf_reach(struct conf *c, DAT_EP_STATE state)
{
	DAT_EP_HANDLE ep = c->b.ep;

	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		break;
	case DAT_EP_STATE_RESERVED:
		ep = reach_reserved(c);
		break;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		ep = reach_passive(c);
		break;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		ep = reach_tentative(c);
		break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		conf_meet(c);
		break;
	case DAT_EP_STATE_CONNECTED:
		conf_connect(c);
		break;
	case DAT_EP_STATE_DISCONNECTED:
		conf_connect(c);
		conf_disconnect(c);
		break;
	default:
		conf_fail(__FILE__, __LINE__, "no way to state %d", state);
	}
	EXPECT_EQ(conf_ep_state(ep), state);
	return ep;
}

/* --------------------------------------------- connections */

void conf_need_segments(const struct conf *c, int n)
{
	if (c->ia_attr.max_iov_segments_per_dto < n)
		conf_skip("the adapter takes %d of %d segments",
			  c->ia_attr.max_iov_segments_per_dto, n);
}

DAT_PSP_HANDLE conf_listen(struct conf *c)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

	EXPECT_OK(dat_psp_create(c->a.ia, c->qual, c->a.cr_evd,
				 DAT_PSP_CONSUMER_FLAG, &psp));
	return psp;
}

void conf_need_provider_eps(const struct conf *c)
{
	if (c->prov_attr.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		conf_skip("the provider makes no endpoints");
}

DAT_PSP_HANDLE conf_listen_provider(struct conf *c)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

	conf_need_provider_eps(c);
	EXPECT_OK(dat_psp_create(c->a.ia, c->qual, c->a.cr_evd,
				 DAT_PSP_PROVIDER_FLAG, &psp));
	return psp;
}

DAT_EP_HANDLE conf_brought(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	EXPECT_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	EXPECT(param.local_ep_handle);
	return param.local_ep_handle;
}

DAT_RETURN conf_try_connect(struct conf *c, DAT_EP_HANDLE ep,
			    DAT_TIMEOUT timeout_us)
{
	return dat_ep_connect(ep, conf_address(c), c->qual, timeout_us, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE conf_meet(struct conf *c)
{
	DAT_EVENT ev;

	conf_listen(c);
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	ev = conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

void conf_connect(struct conf *c)
{
	EXPECT_OK(dat_cr_accept(conf_meet(c), c->a.ep, 0, NULL));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void conf_disconnect(struct conf *c)
{
	EXPECT_OK(dat_ep_disconnect(c->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* ----------------------------------------------- transfers */

DAT_LMR_TRIPLET conf_seg(const struct conf_side *s, size_t offset,
			 size_t length)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)(s->buf + offset),
		.segment_length = length,
		.lmr_context = s->lkey,
	};
}

DAT_RMR_TRIPLET conf_target(const struct conf_side *s, size_t offset,
			    size_t length)
{
	return (DAT_RMR_TRIPLET){
		.face_remote_address = (DAT_VADDR)(uintptr_t)(s->buf + offset),
		.segment_length = length,
		.rmr_context = s->rkey,
	};
}

DAT_DTO_COOKIE conf_cookie(uint64_t n)
{
	return (DAT_DTO_COOKIE){.as_64 = n};
}

void conf_post_recv(struct conf_side *s, size_t offset, size_t length,
		    uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = conf_seg(s, offset, length);

	EXPECT_OK(dat_ep_post_recv(s->ep, 1, &seg, conf_cookie(cookie),
				   DAT_COMPLETION_DEFAULT_FLAG));
}

void conf_post_send(struct conf_side *s, size_t offset, size_t length,
		    uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = conf_seg(s, offset, length);

	EXPECT_OK(dat_ep_post_send(s->ep, 1, &seg, conf_cookie(cookie),
				   DAT_COMPLETION_DEFAULT_FLAG));
}

/* -------------------------------------------------- events */

DAT_EVENT conf_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	memset(&ev, 0xa5, sizeof(ev));
	EXPECT_OK(dat_evd_wait(evd, CONF_PATIENCE, 1, &ev, &more));
	EXPECT_EQ(ev.event_number, number);
	EXPECT(ev.evd_handle == evd);
	return ev;
}

DAT_DTO_COMPLETION_EVENT_DATA conf_dto(DAT_EVD_HANDLE evd, uint64_t cookie,
				       DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT ev = conf_event(evd, DAT_DTO_COMPLETION_EVENT);
	DAT_DTO_COMPLETION_EVENT_DATA data =
		ev.event_data.dto_completion_event_data;

	EXPECT_EQ(data.user_cookie.as_64, cookie);
	EXPECT_EQ(data.status, status);
	return data;
}

/*
 * Only InfiniBand transports report at the requester what the peer found. In
 * 1.2 no attribute tells them apart.
 */
static bool peer_reports(const struct conf *c)
{
#if DAT_FACE == 2
	return c->ia_attr.extension_supported == DAT_EXTENSION_IB;
#else
	return false;
#endif
}

void conf_broken(struct conf *c, DAT_EVD_HANDLE conn_evd)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	EXPECT_OK(dat_evd_wait(conn_evd, CONF_PATIENCE, 1, &ev, &more));
	if (peer_reports(c) ||
	    ev.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		EXPECT_EQ(ev.event_number, DAT_CONNECTION_EVENT_BROKEN);
}

void conf_remote_fault(struct conf *c, uint64_t cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA data;

	data = conf_event(c->b.req_evd, DAT_DTO_COMPLETION_EVENT)
		       .event_data.dto_completion_event_data;
	EXPECT_EQ(data.user_cookie.as_64, cookie);
	if (peer_reports(c))
		EXPECT_EQ(data.status, DAT_DTO_ERR_REMOTE_ACCESS);
	conf_broken(c, c->b.conn_evd);
	EXPECT_EQ(conf_ep_state(c->b.ep), DAT_EP_STATE_DISCONNECTED);
}

void conf_no_event(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	EXPECT_TYPE(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
}

DAT_RETURN conf_post_se(DAT_EVD_HANDLE evd, void *pointer)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	ev.event_data.software_event_data.pointer = pointer;
	return dat_evd_post_se(evd, &ev);
}
