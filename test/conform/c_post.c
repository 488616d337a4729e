/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_post.c - cases of data transfer operations.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_ep_post_*; DTO completion status.
 */
#include "test/conform/apart.h"

#include <string.h>

typedef DAT_RETURN (*message_post)(DAT_EP_HANDLE ep, DAT_COUNT n,
				   DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				   DAT_COMPLETION_FLAGS flags);
typedef DAT_RETURN (*rdma_post)(DAT_EP_HANDLE ep, DAT_COUNT n,
				DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				const DAT_RMR_TRIPLET *remote,
				DAT_COMPLETION_FLAGS flags);

#define NO_FLAGS DAT_COMPLETION_DEFAULT_FLAG

static void fill(uint8_t *at, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (uint8_t)(seed + 7 * i);
}

CASE(ep_post_send__arrives, "6 dat_ep_post_send", NEED_CONNECTED)
{
	DAT_DTO_COMPLETION_EVENT_DATA data;

	fill(c->b.buf, 1000, 3);
	conf_post_recv(&c->a, 0, 2000, 1);
	conf_post_send(&c->b, 0, 1000, 2);
	data = conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	EXPECT(data.ep_handle == c->b.ep);
	EXPECT_OPERATION(data, SEND);
	data = conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	EXPECT(data.ep_handle == c->a.ep);
	EXPECT_OPERATION(data, RECEIVE);
	EXPECT_EQ(data.transfered_length, 1000);
	EXPECT(memcmp(c->a.buf, c->b.buf, 1000) == 0);
}

CASE(ep_post_send__no_segments, "6 dat_ep_post_send", NEED_CONNECTED)
{
	DAT_DTO_COMPLETION_EVENT_DATA data;

	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_OK(dat_ep_post_send(c->b.ep, 0, NULL, conf_cookie(2), NO_FLAGS));
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	data = conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	EXPECT_EQ(data.transfered_length, 0);
}

/* The message is too long to go inline anywhere. */
CASE(ep_post_send__empty_segments, "6 dat_ep_post_send", NEED_CONNECTED)
{
	static const size_t lengths[][3] = {{0, 2000, 1000},
					    {2000, 0, 1000},
					    {2000, 1000, 0},
					    {0, 0, 3000}};
	DAT_DTO_COMPLETION_EVENT_DATA data;
	DAT_LMR_TRIPLET out[3];

	conf_need_segments(c, 3);
	fill(c->b.buf, 3000, 5);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (size_t n = 0, at = 0; n < 3; at += lengths[i][n++])
			out[n] = conf_seg(&c->b, at, lengths[i][n]);
		memset(c->a.buf, 0, 3000);
		conf_post_recv(&c->a, 0, 4000, 1);
		EXPECT_OK(dat_ep_post_send(c->b.ep, 3, out, conf_cookie(2),
					   NO_FLAGS));
		conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
		data = conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
		EXPECT_EQ(data.transfered_length, 3000);
		EXPECT(memcmp(c->a.buf, c->b.buf, 3000) == 0);
	}
}

CASE(ep_post_recv__no_segments, "6 dat_ep_post_recv", NEED_CONNECTED)
{
	DAT_DTO_COMPLETION_EVENT_DATA data;

	EXPECT_OK(dat_ep_post_recv(c->a.ep, 0, NULL, conf_cookie(1), NO_FLAGS));
	conf_post_recv(&c->a, 0, 64, 2);
	EXPECT_OK(dat_ep_post_send(c->b.ep, 0, NULL, conf_cookie(3), NO_FLAGS));
	conf_post_send(&c->b, 0, 10, 4);
	data = conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	EXPECT_EQ(data.transfered_length, 0);
	data = conf_dto(c->a.recv_evd, 2, DAT_DTO_SUCCESS);
	EXPECT_EQ(data.transfered_length, 10);
}

CASE(ep_post_send__gathers_and_scatters, "6 dat_ep_post_send", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET out[3], in[2];

	conf_need_segments(c, 3);
	for (size_t i = 0; i < 3; i++) {
		out[i] = conf_seg(&c->b, 1000 * i, 100);
		fill(c->b.buf + 1000 * i, 100, (unsigned)i);
	}
	in[0] = conf_seg(&c->a, 0, 150);
	in[1] = conf_seg(&c->a, 1000, 150);
	EXPECT_OK(dat_ep_post_recv(c->a.ep, 2, in, conf_cookie(1), NO_FLAGS));
	EXPECT_OK(dat_ep_post_send(c->b.ep, 3, out, conf_cookie(2), NO_FLAGS));
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	EXPECT(memcmp(c->a.buf, c->b.buf, 100) == 0);
	EXPECT(memcmp(c->a.buf + 100, c->b.buf + 1000, 50) == 0);
	EXPECT(memcmp(c->a.buf + 1000, c->b.buf + 1050, 50) == 0);
	EXPECT(memcmp(c->a.buf + 1050, c->b.buf + 2000, 100) == 0);
}

CASE(ep_post_send__order, "6 dat_ep_post_send", NEED_CONNECTED)
{
	for (uint64_t i = 0; i < 8; i++)
		conf_post_recv(&c->a, 64 * i, 64, i);
	for (uint64_t i = 0; i < 8; i++)
		conf_post_send(&c->b, 64 * i, 8, i);
	for (uint64_t i = 0; i < 8; i++) {
		conf_dto(c->b.req_evd, i, DAT_DTO_SUCCESS);
		conf_dto(c->a.recv_evd, i, DAT_DTO_SUCCESS);
	}
}

CASE(ep_post_send__iov_is_the_consumers_again, "6 dat_ep_post_send",
     NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 64);

	fill(c->b.buf, 64, 9);
	conf_post_recv(&c->a, 0, 64, 1);
	EXPECT_OK(dat_ep_post_send(c->b.ep, 1, &seg, conf_cookie(2), NO_FLAGS));
	memset(&seg, 0xff, sizeof(seg));
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	EXPECT(memcmp(c->a.buf, c->b.buf, 64) == 0);
}

CASE(ep_post_send__suppressed, "6 dat_ep_post_send", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 8);

	conf_post_recv(&c->a, 0, 64, 1);
	conf_post_recv(&c->a, 64, 64, 2);
	EXPECT_OK(dat_ep_post_send(c->b.ep, 1, &seg, conf_cookie(3),
				   DAT_COMPLETION_SUPPRESS_FLAG));
	conf_post_send(&c->b, 0, 8, 4);
	conf_dto(c->b.req_evd, 4, DAT_DTO_SUCCESS);
	conf_no_event(c->b.req_evd);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	conf_dto(c->a.recv_evd, 2, DAT_DTO_SUCCESS);
}

/*
 * Longer than any queue, by a program that looks at the memory alone. A full
 * queue refuses, until what was posted has finished.
 */
CASE(ep_post_rdma_write__suppressed_only, "6 dat_ep_post_rdma_write",
     NEED_CONNECTED)
{
	volatile uint8_t *there = (volatile uint8_t *)c->a.buf + 63;
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 64);
	DAT_RMR_TRIPLET to = conf_target(&c->a, 0, 64);
	int n = apart_is() ? 400 : 2000; /* by steps, they take their time */
	DAT_RETURN ret;

	for (int i = 1; i <= n; i++) {
		memset(c->b.buf, i % 251, 64);
		do
			ret = dat_ep_post_rdma_write(
				c->b.ep, 1, &seg, conf_cookie(1), &to,
				DAT_COMPLETION_SUPPRESS_FLAG);
		while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
		EXPECT_OK(ret);
		while (apart_agreed(c->a.lmr, *there) != (unsigned)i % 251)
			;
	}
	conf_no_event(c->b.req_evd);
	EXPECT_OK(dat_ep_post_rdma_write(c->b.ep, 1, &seg, conf_cookie(2), &to,
					 NO_FLAGS));
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
}

/*
 * A fault of one's own request or receive. Soft devices call most of them
 * LOCAL_EP, and nothing tells what it was: doc/conformance.md.
 */
static void local_fault(DAT_EVD_HANDLE evd, uint64_t cookie,
			DAT_DTO_COMPLETION_STATUS status)
{
	DAT_DTO_COMPLETION_EVENT_DATA data;

	data = conf_event(evd, DAT_DTO_COMPLETION_EVENT)
		       .event_data.dto_completion_event_data;
	EXPECT_EQ(data.user_cookie.as_64, cookie);
	if (data.status != DAT_DTO_ERR_LOCAL_EP)
		EXPECT_EQ(data.status, status);
}

CASE(ep_post_send__longer_than_the_receive, "6 dat_ep_post_send",
     NEED_CONNECTED)
{
	conf_post_recv(&c->a, 0, 16, 1);
	conf_post_send(&c->b, 0, 64, 2);
	local_fault(c->a.recv_evd, 1, DAT_DTO_ERR_LOCAL_LENGTH);
	conf_broken(c, c->a.conn_evd);
	EXPECT_EQ(conf_ep_state(c->a.ep), DAT_EP_STATE_DISCONNECTED);
}

CASE(ep_post_send__unknown_key, "6 dat_ep_post_send", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 4000);
	DAT_DTO_COMPLETION_EVENT_DATA data;
	DAT_RETURN ret;

	/* or an absent receive would be what is found first; too long to be
	 * copied when it is posted, which needs no key */
	conf_post_recv(&c->a, 0, 4000, 1);
	seg.lmr_context ^= 0x5a5a00;
	ret = dat_ep_post_send(c->b.ep, 1, &seg, conf_cookie(2), NO_FLAGS);
	if (DAT_GET_TYPE(ret) == DAT_PROTECTION_VIOLATION)
		return;
	EXPECT_OK(ret);
	data = conf_event(c->b.req_evd, DAT_DTO_COMPLETION_EVENT)
		       .event_data.dto_completion_event_data;
	EXPECT_EQ(data.user_cookie.as_64, 2);
	/* soft-RoCE of Linux 6.12 is in ERR before it says why */
	if (data.status != DAT_DTO_ERR_LOCAL_EP &&
	    data.status != DAT_DTO_ERR_FLUSHED)
		EXPECT_EQ(data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
	conf_broken(c, c->b.conn_evd);
}

CASE(ep_post_recv__too_many_outstanding, "6 dat_ep_post_recv", NEED_EPS)
{
	DAT_EP_ATTR attr = conf_ep_attr(&c->b);
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_LMR_TRIPLET seg;
	DAT_EP_PARAM p;
	int n = 0;

	attr.max_recv_dtos = 4;
	c->b.ep = conf_ep(&c->b, &attr);
	EXPECT_OK(dat_ep_query(c->b.ep, DAT_EP_FIELD_ALL, &p));
	seg = conf_seg(&c->b, 0, 64);
	while (n <= p.ep_attr.max_recv_dtos && ret == DAT_SUCCESS) {
		ret = dat_ep_post_recv(c->b.ep, 1, &seg, conf_cookie(1),
				       NO_FLAGS);
		n++;
	}
	EXPECT_EQ(n, p.ep_attr.max_recv_dtos + 1);
	EXPECT_ERR(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

CASE(ep_post_recv__suppressed, "6 dat_ep_post_recv", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 8);

	/* Has no meaning here: doc/conformance.md. */
	EXPECT_OK(dat_ep_post_recv(c->b.ep, 1, &seg, conf_cookie(1),
				   DAT_COMPLETION_SUPPRESS_FLAG));
	conf_post_send(&c->a, 0, 8, 2);
	conf_dto(c->b.recv_evd, 1, DAT_DTO_SUCCESS);
}

static DAT_DTO_COMPLETION_STATUS status_of_next(DAT_EVD_HANDLE evd)
{
	return conf_event(evd, DAT_DTO_COMPLETION_EVENT)
		.event_data.dto_completion_event_data.status;
}

/*
 * It waits as long as the peer takes, where the transport knows waiting. Where
 * it does not, the message may be on its way when the connection ends.
 */
CASE(ep_post_send__before_the_receive, "6 dat_ep_post_send", NEED_CONNECTED)
{
	static const char why[] =
		"the transport ends a connection without receives";
	DAT_DTO_COMPLETION_STATUS status;

	conf_post_send(&c->b, 0, 8, 1);
	conf_post_recv(&c->a, 0, 64, 2);
	status = status_of_next(c->b.req_evd);
	if (status != DAT_DTO_SUCCESS &&
	    status != DAT_DTO_ERR_RECEIVER_NOT_READY)
		conf_skip("%s", why);
	EXPECT_EQ(status, DAT_DTO_SUCCESS);
	status = status_of_next(c->a.recv_evd);
	if (status == DAT_DTO_ERR_FLUSHED)
		conf_skip("%s", why);
	EXPECT_EQ(status, DAT_DTO_SUCCESS);
}

CASE(ep_post_recv__before_the_connection, "6 dat_ep_post_recv", NEED_EPS)
{
	conf_post_recv(&c->a, 0, 64, 5);
	conf_connect(c);
	conf_post_send(&c->b, 0, 8, 6);
	conf_dto(c->a.recv_evd, 5, DAT_DTO_SUCCESS);
}

CASE(ep_post_send__disconnected_is_flushed, "6 dat_ep_post_send",
     NEED_CONNECTED)
{
	conf_disconnect(c);
	conf_post_send(&c->b, 0, 8, 6);
	conf_dto(c->b.req_evd, 6, DAT_DTO_ERR_FLUSHED);
}

/* The next completion of QUEUE, if there is one; those before it have come. */
static bool completed(DAT_EVD_HANDLE queue, uint64_t *n)
{
	DAT_EVENT ev;

	if (dat_evd_dequeue(queue, &ev) != DAT_SUCCESS)
		return false;
	EXPECT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	EXPECT_EQ(ev.event_data.dto_completion_event_data.user_cookie.as_64,
		  *n);
	++*n;
	return true;
}

static void posted(DAT_RETURN ret, uint64_t *n)
{
	if (ret == DAT_SUCCESS)
		++*n;
	else
		EXPECT_TYPE(ret, DAT_INSUFFICIENT_RESOURCES);
}

/*
 * The connection ends, and a posts until it hears of that: each post that was
 * taken completes, once and in order, without a reset.
 */
CASE(ep_post_send__while_the_peer_leaves, "6 dat_ep_post_send", NEED_CONNECTED)
{
	uint64_t sent = 0, received = 0, end = conf_now_us() + CONF_PATIENCE;
	uint64_t sends = 0, receives = 0;
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 0, 8);
	DAT_EVENT ev;

	if (apart_is())
		conf_skip("step by step, a hears of it before it posts");
	EXPECT_OK(dat_ep_disconnect(c->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	while (dat_evd_dequeue(c->a.conn_evd, &ev) != DAT_SUCCESS) {
		posted(dat_ep_post_send(c->a.ep, 1, &seg, conf_cookie(sends),
					NO_FLAGS),
		       &sends);
		posted(dat_ep_post_recv(c->a.ep, 1, &seg, conf_cookie(receives),
					NO_FLAGS),
		       &receives);
		completed(c->a.req_evd, &sent);
		completed(c->a.recv_evd, &received);
		EXPECT(conf_now_us() < end);
	}
	while (sent < sends || received < receives) {
		completed(c->a.req_evd, &sent);
		completed(c->a.recv_evd, &received);
		EXPECT(conf_now_us() < end);
	}
	EXPECT_EQ(sent, sends);
	EXPECT_EQ(received, receives);
	conf_no_event(c->a.req_evd);
	conf_no_event(c->a.recv_evd);
}

CASE(ep_post_send__suppressed_but_flushed, "6 dat_ep_post_send", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 8);

	conf_disconnect(c);
	EXPECT_OK(dat_ep_post_send(c->b.ep, 1, &seg, conf_cookie(6),
				   DAT_COMPLETION_SUPPRESS_FLAG));
	conf_dto(c->b.req_evd, 6, DAT_DTO_ERR_FLUSHED);
}

CASE(ep_post_recv__disconnected_is_flushed, "6 dat_ep_post_recv",
     NEED_CONNECTED)
{
	conf_disconnect(c);
	conf_post_recv(&c->b, 0, 8, 6);
	conf_dto(c->b.recv_evd, 6, DAT_DTO_ERR_FLUSHED);
}

CASE(ep_post_rdma_write__arrives, "6 dat_ep_post_rdma_write", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 1000);
	DAT_RMR_TRIPLET to = conf_target(&c->a, 100, 1000);
	DAT_DTO_COMPLETION_EVENT_DATA data;

	fill(c->b.buf, 1000, 5);
	EXPECT_OK(dat_ep_post_rdma_write(c->b.ep, 1, &seg, conf_cookie(2), &to,
					 NO_FLAGS));
	data = conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	EXPECT_OPERATION(data, RDMA_WRITE);
	/* The peer learns of it by the message that follows. */
	conf_post_recv(&c->a, 4000, 64, 3);
	conf_post_send(&c->b, 4000, 8, 4);
	conf_dto(c->a.recv_evd, 3, DAT_DTO_SUCCESS);
	EXPECT(memcmp(c->a.buf + 100, c->b.buf, 1000) == 0);
	conf_no_event(c->a.recv_evd);
}

/* Programs look at the last word, and believe what is before it. */
CASE(ep_post_rdma_write__last_bytes_come_last, "6 dat_ep_post_rdma_write",
     NEED_CONNECTED)
{
	const size_t size = 6000;
	volatile uint32_t *last =
		(volatile uint32_t *)(void *)(c->a.buf + size - 4);
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, size);
	DAT_RMR_TRIPLET to = conf_target(&c->a, 0, size);
	enum {
		WHOLE = 1,
		BROKEN
	};
	uint64_t seen;

	for (uint32_t i = 1; i <= 100; i++) {
		fill(c->b.buf, size, i);
		memcpy(c->b.buf + size - 4, &i, sizeof(i));
		EXPECT_OK(dat_ep_post_rdma_write(
			c->b.ep, 1, &seg, conf_cookie(i), &to, NO_FLAGS));
		/* Where they are, before anything else can come. */
		while (!(seen = apart_agreed(c->a.lmr,
					     *last != i ? 0
					     : memcmp(c->a.buf, c->b.buf, size)
						     ? BROKEN
						     : WHOLE)))
			;
		EXPECT_EQ(seen, WHOLE);
		conf_dto(c->b.req_evd, i, DAT_DTO_SUCCESS);
	}
}

CASE(ep_post_rdma_read__arrives, "6 dat_ep_post_rdma_read", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 1000);
	DAT_RMR_TRIPLET from = conf_target(&c->a, 100, 1000);
	DAT_DTO_COMPLETION_EVENT_DATA data;

	fill(c->a.buf + 100, 1000, 5);
	EXPECT_OK(dat_ep_post_rdma_read(c->b.ep, 1, &seg, conf_cookie(2), &from,
					NO_FLAGS));
	data = conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	EXPECT_OPERATION(data, RDMA_READ);
	EXPECT(memcmp(c->a.buf + 100, c->b.buf, 1000) == 0);
}

static void remote_fault(struct conf *c, rdma_post post, DAT_RMR_TRIPLET at)
{
	DAT_LMR_TRIPLET seg = conf_seg(&c->b, 0, 64);

	fill(c->b.buf, 64, 1);
	EXPECT_OK(post(c->b.ep, 1, &seg, conf_cookie(2), &at, NO_FLAGS));
	conf_remote_fault(c, 2);
	for (int i = 0; i < 64; i++)
		EXPECT_EQ(c->a.buf[i], 0);
}

CASE(ep_post_rdma_write__unknown_key, "6 dat_ep_post_rdma_write",
     NEED_CONNECTED)
{
	DAT_RMR_TRIPLET at = conf_target(&c->a, 0, 64);

	at.rmr_context ^= 0x5a5a00;
	remote_fault(c, dat_ep_post_rdma_write, at);
}

CASE(ep_post_rdma_write__outside_the_region, "6 dat_ep_post_rdma_write",
     NEED_CONNECTED)
{
	remote_fault(c, dat_ep_post_rdma_write,
		     conf_target(&c->a, CONF_MEM - 8, 64));
}

CASE(ep_post_rdma_read__unknown_key, "6 dat_ep_post_rdma_read", NEED_CONNECTED)
{
	DAT_RMR_TRIPLET at = conf_target(&c->a, 0, 64);

	at.rmr_context ^= 0x5a5a00;
	remote_fault(c, dat_ep_post_rdma_read, at);
}

CASE(ep_post_rdma_write__region_is_read_only, "6 dat_ep_post_rdma_write",
     NEED_CONNECTED)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = c->a.buf};
	DAT_RMR_TRIPLET at = conf_target(&c->a, 0, 64);
	DAT_LMR_CONTEXT lkey;
	DAT_LMR_HANDLE lmr;

	EXPECT_OK(face_lmr_create(
		c->a.ia, DAT_MEM_TYPE_VIRTUAL, desc, 4096, c->a.pz,
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG,
		&lmr, &lkey, &at.rmr_context, NULL, NULL));
	remote_fault(c, dat_ep_post_rdma_write, at);
}

CASE(ep_get_status__idle_again, "6 dat_ep_get_status", NEED_CONNECTED)
{
	DAT_BOOLEAN recv = DAT_FALSE, req = DAT_FALSE;

	conf_post_recv(&c->a, 0, 64, 1);
	conf_post_send(&c->b, 0, 8, 2);
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS);
	EXPECT_OK(dat_ep_get_status(c->a.ep, NULL, &recv, NULL));
	EXPECT_OK(dat_ep_get_status(c->b.ep, NULL, NULL, &req));
	EXPECT_EQ(recv, DAT_TRUE);
	EXPECT_EQ(req, DAT_TRUE);
}
