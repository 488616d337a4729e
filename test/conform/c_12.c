/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_12.c - cases of what DAT 1.2 has otherwise than 2.0: sizes, masks, segments
 * and codes, as programs of 1.2 lean on them.
 *
 * Does not look below the public interface. Not compiled for 2.0, whose own are
 * in c_20.c. What the library writes and reads lies in front of a page that
 * nobody may touch, so that a structure of 2.0 in its place is a crash.
 * Threads, ownership: conform.h. Rule: uDAPL 1.2 specification; numbers and
 * sizes: test/abi/abi-1.2.tsv.
 */
#include "test/conform/conform.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NO_FLAGS DAT_COMPLETION_DEFAULT_FLAG
#define TOO_LONG (UINT64_C(1) << 32)
#define STALE	 0xa5
#define MANY	 40 /* segments: more than an endpoint takes */
#define BITS	 64

/* The last SIZE bytes that there are. */
static void *edge(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED && size <= page);
	EXPECT_EQ(mprotect(p + page, page, PROT_NONE), 0);
	memset(p, STALE, page);
	return p + page - size;
}

/* ---------------------------------------------------- registry and adapters */

#define ENTRIES 512

CASE(registry_list_providers__only_of_1_2, "2.2 dat_registry_list_providers",
     NEED_NOTHING)
{
	static DAT_PROVIDER_INFO info[ENTRIES];
	DAT_PROVIDER_INFO *at[ENTRIES];
	DAT_COUNT n = 0;

	for (int i = 0; i < ENTRIES; i++)
		at[i] = info + i;
	EXPECT_OK(dat_registry_list_providers(ENTRIES, &n, at));
	EXPECT(n > 0);
	for (int i = 0; i < n; i++)
		EXPECT_EQ(info[i].dapl_version_major, 1);
	/* Some have no more room: they get what fits. */
	EXPECT_OK(dat_registry_list_providers(1, &n, at));
	EXPECT_EQ(n, 1);
}

static DAT_RETURN open_as(const char *name, unsigned major, unsigned minor,
			  DAT_BOOLEAN safe)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_openv((DAT_NAME_PTR)(uintptr_t)name, 8, &evd, &ia, major,
			    minor, safe);
}

CASE(ia_openv__not_what_the_entry_lacks, "3 dat_ia_openv", NEED_NOTHING)
{
	EXPECT_EQ(open_as("conform-no-such-adapter", 1, 2, DAT_FALSE),
		  0x800a0062);
	EXPECT_TYPE(open_as(c->name, 1, 2, DAT_TRUE), DAT_PROVIDER_NOT_FOUND);
	EXPECT_TYPE(open_as(c->name, 1, 3, DAT_FALSE), DAT_PROVIDER_NOT_FOUND);
	EXPECT_TYPE(open_as(c->name, 2, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND);
}

CASE(ia_openv__handle_is_a_small_number, "3 dat_ia_openv", NEED_BOTH)
{
	EXPECT((uintptr_t)c->a.ia >= 1 && (uintptr_t)c->a.ia < 4096);
	EXPECT((uintptr_t)c->b.ia >= 1 && (uintptr_t)c->b.ia < 4096);
}

CASE(ia_query__structures_of_1_2, "3 dat_ia_query", NEED_IA)
{
	DAT_PROVIDER_ATTR *prov = edge(504);
	DAT_IA_ATTR *attr = edge(688);

	EXPECT_OK(dat_ia_query(c->a.ia, NULL, DAT_IA_FIELD_ALL, attr,
			       DAT_PROVIDER_FIELD_ALL, prov));
	EXPECT_EQ(prov->dapl_version_major, 1);
	EXPECT_EQ(prov->dapl_version_minor, 2);
	EXPECT_EQ(prov->is_thread_safe, DAT_FALSE);
	EXPECT(prov->max_private_data_size >= 48);
	EXPECT(prov->num_provider_specific_attr >= 0 &&
	       prov->num_provider_specific_attr < 1000);
	EXPECT(attr->num_transport_attr >= 0 &&
	       attr->num_transport_attr < 1000);
	EXPECT(attr->num_vendor_attr >= 0 && attr->num_vendor_attr < 1000);
	EXPECT(attr->max_rdma_size > 0 && attr->max_rdma_size <= TOO_LONG);
}

CASE(ia_query__masks_end_with_1_2, "3 dat_ia_query", NEED_IA)
{
	DAT_PROVIDER_ATTR *p = edge(504);
	DAT_IA_ATTR *a = edge(688);

	for (int i = 0; i < BITS; i++) {
		EXPECT_ERR(dat_ia_query(c->a.ia, NULL, UINT64_C(1) << i, a, 0,
					NULL),
			   i < 35 ? DAT_SUCCESS : DAT_INVALID_PARAMETER,
			   i < 35 ? 0 : DAT_INVALID_ARG3);
		EXPECT_ERR(dat_ia_query(c->a.ia, NULL, 0, NULL,
					UINT64_C(1) << i, p),
			   i < 26 ? DAT_SUCCESS : DAT_INVALID_PARAMETER,
			   i < 26 ? 0 : DAT_INVALID_ARG5);
	}
}

/* Programs copy so much into a "struct sockaddr", and connect to the copy. */
CASE(ep_connect__address_of_16_bytes, "6 dat_ep_connect", NEED_EPS)
{
	struct sockaddr *copy = edge(sizeof(*copy));

	if (conf_address(c)->sa_family != AF_INET)
		conf_skip("the adapter's address is not of IPv4");
	memcpy(copy, conf_address(c), sizeof(*copy));
	conf_listen(c);
	EXPECT_OK(dat_ep_connect(c->b.ep, (DAT_IA_ADDRESS_PTR)copy, c->qual,
				 CONF_PATIENCE, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	conf_event(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
}

/* -------------------------------------------------------------- endpoints */

/* Bits of nothing are nothing: one program asks with 0xffff. */
CASE(ep_query__structure_of_1_2, "6 dat_ep_query", NEED_CONNECTED)
{
	DAT_EP_PARAM *p;

	for (int i = 0; i < BITS; i++)
		EXPECT_OK(dat_ep_query(c->b.ep, UINT64_C(1) << i, edge(192)));
	p = edge(192);
	EXPECT_OK(dat_ep_query(c->b.ep, 0xffff, p));
	EXPECT(p->ia_handle == c->b.ia);
	EXPECT_EQ(p->ep_state, DAT_EP_STATE_CONNECTED);
	EXPECT_EQ(p->remote_port_qual, c->qual);
	EXPECT(p->pz_handle == c->b.pz);
	EXPECT(p->recv_evd_handle == c->b.recv_evd);
	EXPECT(p->request_evd_handle == c->b.req_evd);
	EXPECT(p->connect_evd_handle == c->b.conn_evd);
	EXPECT(p->srq_handle == DAT_HANDLE_NULL);
	EXPECT_EQ(p->ep_attr.service_type, DAT_SERVICE_TYPE_RC);
}

CASE(ep_create__from_what_a_query_said, "6 dat_ep_create", NEED_IA)
{
	DAT_EP_ATTR attr = conf_ep_attr(&c->a);
	DAT_EP_PARAM p;

	conf_need_segments(c, 4);
	/* What endpoints without attributes have had at least. */
	EXPECT(attr.max_recv_dtos >= 16 && attr.max_request_dtos >= 16);
	EXPECT(attr.max_recv_iov >= 4 && attr.max_request_iov >= 4);
	attr.max_recv_dtos = 8;
	attr.max_request_dtos = 76;
	EXPECT_OK(dat_ep_query(conf_ep(&c->a, &attr), DAT_EP_FIELD_ALL, &p));
	EXPECT(p.ep_attr.max_recv_dtos >= 8);
	EXPECT(p.ep_attr.max_request_dtos >= 76);
}

CASE(ep_create__sizes_beyond_32_bits, "6 dat_ep_create", NEED_IA)
{
	DAT_EP_ATTR attr = conf_ep_attr(&c->a), big = attr;
	DAT_EP_HANDLE ep;

	big.max_message_size = UINT64_C(1) << 40;
	BAD_ARG(dat_ep_create(c->a.ia, c->a.pz, c->a.recv_evd, c->a.req_evd,
			      c->a.conn_evd, &big, &ep),
		6);
	big = attr;
	big.max_rdma_size = UINT64_C(1) << 40;
	BAD_ARG(dat_ep_create(c->a.ia, c->a.pz, c->a.recv_evd, c->a.req_evd,
			      c->a.conn_evd, &big, &ep),
		6);
}

/* Attributes as programs fill them, and posts that say nothing: each reports.
 */
static void requests_made(struct conf *c)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.request_completion_flags = (DAT_COMPLETION_FLAGS)c->arg,
		.max_recv_dtos = 10,
		.max_request_dtos = 10,
		.max_recv_iov = 2,
		.max_request_iov = 2,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
	};

	conf_need_segments(c, 2);
	c->b.ep = conf_ep(&c->b, &attr);
	conf_connect(c);
	for (uint64_t i = 1; i <= 3; i++)
		conf_post_recv(&c->a, 64 * i, 64, i);
	for (uint64_t i = 1; i <= 3; i++) {
		conf_post_send(&c->b, 0, 8, i);
		conf_dto(c->b.req_evd, i, DAT_DTO_SUCCESS);
		conf_dto(c->a.recv_evd, i, DAT_DTO_SUCCESS);
	}
	conf_no_event(c->b.req_evd);
}

CASE_ARG("ep_create__requests_threshold", "6 dat_ep_create", NEED_EPS,
	 requests_made, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
CASE_ARG("ep_create__requests_unsignalled", "6 dat_ep_create", NEED_EPS,
	 requests_made, DAT_COMPLETION_UNSIGNALLED_FLAG);
CASE_ARG("ep_create__requests_suppressed", "6 dat_ep_create", NEED_EPS,
	 requests_made, DAT_COMPLETION_SUPPRESS_FLAG);

CASE(ep_modify__no_other_member, "6 dat_ep_modify", NEED_EPS)
{
	DAT_EP_PARAM *p = edge(192);

	p->connect_evd_handle = conf_evd(&c->a, DAT_EVD_CONNECTION_FLAG);
	EXPECT_OK(dat_ep_modify(c->a.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, p));
	c->a.conn_evd = p->connect_evd_handle;
	EXPECT_OK(dat_ep_query(c->a.ep, DAT_EP_FIELD_ALL, p));
	EXPECT(p->connect_evd_handle == c->a.conn_evd);
	EXPECT(p->pz_handle == c->a.pz);
	EXPECT(p->recv_evd_handle == c->a.recv_evd);
}

/* The refused side begins anew, and serves. */
CASE(cr_reject__endpoint_serves_after_reset, "7 dat_cr_reject", NEED_EPS)
{
	DAT_CR_HANDLE cr = conf_meet(c);
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;
	DAT_EVENT ev;

	EXPECT_OK(dat_cr_reject(cr));
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	EXPECT_OK(dat_ep_reset(c->b.ep));
	EXPECT_OK(dat_psp_create(c->b.ia, c->qual + 1, c->b.cr_evd,
				 DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_OK(dat_ia_query(c->b.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
			       &attr, 0, NULL));
	EXPECT_OK(dat_ep_connect(c->a.ep, attr.ia_address_ptr, c->qual + 1,
				 CONF_PATIENCE, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	ev = conf_event(c->b.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	EXPECT_OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle,
				c->b.ep, 0, NULL));
	conf_event(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_event(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* -------------------------------------------------------------- segments */

/* Whatever it says besides. */
static DAT_LMR_TRIPLET empty(void)
{
	DAT_LMR_TRIPLET seg;

	memset(&seg, STALE, sizeof(seg));
	seg.segment_length = 0;
	return seg;
}

CASE(ep_post_send__segments_without_bytes, "6 dat_ep_post_send", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg[MANY];

	conf_need_segments(c, 3);
	memcpy(c->b.buf, "onetwo", 6);
	for (int i = 0; i < MANY; i++)
		seg[i] = empty();
	seg[1] = conf_seg(&c->a, 0, 100);
	EXPECT_OK(dat_ep_post_recv(c->a.ep, 3, seg, conf_cookie(1), NO_FLAGS));
	seg[1] = conf_seg(&c->b, 0, 3);
	seg[MANY - 1] = conf_seg(&c->b, 3, 3);
	EXPECT_OK(
		dat_ep_post_send(c->b.ep, MANY, seg, conf_cookie(2), NO_FLAGS));
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	EXPECT_EQ(conf_dto(c->a.recv_evd, 1, DAT_DTO_SUCCESS).transfered_length,
		  6);
	EXPECT(memcmp(c->a.buf, "onetwo", 6) == 0);
}

CASE(ep_post_recv__segments_without_bytes, "6 dat_ep_post_recv", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg = empty();

	EXPECT_OK(dat_ep_post_recv(c->a.ep, 0, NULL, conf_cookie(1), NO_FLAGS));
	EXPECT_OK(dat_ep_post_recv(c->a.ep, 1, &seg, conf_cookie(2), NO_FLAGS));
	for (uint64_t i = 1; i <= 2; i++) {
		EXPECT_OK(dat_ep_post_send(c->b.ep, 1, &seg, conf_cookie(i),
					   NO_FLAGS));
		conf_dto(c->b.req_evd, i, DAT_DTO_SUCCESS);
		conf_dto(c->a.recv_evd, i, DAT_DTO_SUCCESS);
	}
}

CASE(ep_post_rdma_write__segments_without_bytes, "6 dat_ep_post_rdma_write",
     NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg[3] = {empty(), conf_seg(&c->b, 0, 64), empty()};
	DAT_RMR_TRIPLET at = conf_target(&c->a, 0, 64);

	memset(c->b.buf, 0x5a, 64);
	EXPECT_OK(dat_ep_post_rdma_write(c->b.ep, 3, seg, conf_cookie(1), &at,
					 NO_FLAGS));
	conf_dto(c->b.req_evd, 1, DAT_DTO_SUCCESS);
	seg[1] = conf_seg(&c->b, 64, 64);
	EXPECT_OK(dat_ep_post_rdma_read(c->b.ep, 3, seg, conf_cookie(2), &at,
					NO_FLAGS));
	conf_dto(c->b.req_evd, 2, DAT_DTO_SUCCESS);
	/* On iWARP a write has arrived once a read behind it is complete. */
	EXPECT(memcmp(c->a.buf, c->b.buf, 64) == 0);
	EXPECT(memcmp(c->b.buf + 64, c->b.buf, 64) == 0);
}

CASE(ep_post__lengths_beyond_32_bits, "6 dat_ep_post_send", NEED_CONNECTED)
{
	DAT_LMR_TRIPLET seg[2] = {conf_seg(&c->b, 0, 8),
				  conf_seg(&c->b, 8, TOO_LONG)};
	DAT_RMR_TRIPLET at = conf_target(&c->a, 0, 8);
	DAT_EP_HANDLE ep = c->b.ep;

	for (int i = 0; i < 2; i++) {
		/* alone, and behind another one */
		DAT_LMR_TRIPLET *iov = seg + i;

		EXPECT_TYPE(dat_ep_post_send(ep, 2 - i, iov, conf_cookie(1),
					     NO_FLAGS),
			    DAT_LENGTH_ERROR);
		EXPECT_TYPE(dat_ep_post_recv(ep, 2 - i, iov, conf_cookie(1),
					     NO_FLAGS),
			    DAT_LENGTH_ERROR);
		EXPECT_TYPE(dat_ep_post_rdma_write(ep, 2 - i, iov,
						   conf_cookie(1), &at,
						   NO_FLAGS),
			    DAT_LENGTH_ERROR);
		EXPECT_TYPE(dat_ep_post_rdma_read(ep, 2 - i, iov,
						  conf_cookie(1), &at,
						  NO_FLAGS),
			    DAT_LENGTH_ERROR);
	}
	at.segment_length = TOO_LONG;
	EXPECT_TYPE(dat_ep_post_rdma_write(ep, 1, seg, conf_cookie(1), &at,
					   NO_FLAGS),
		    DAT_LENGTH_ERROR);
	conf_no_event(c->b.req_evd);
	conf_no_event(c->b.conn_evd);
}

/* Programs look at it later, and post it again. */
CASE(ep_post_rdma_write__triplets_stay, "6 dat_ep_post_rdma_write",
     NEED_CONNECTED)
{
	DAT_LMR_TRIPLET *seg = edge(24), seg_was;
	DAT_RMR_TRIPLET *at = edge(24), at_was;

	*seg = conf_seg(&c->b, 0, 64);
	*at = conf_target(&c->a, 0, 64);
	memset(&seg->pad, STALE, sizeof(seg->pad));
	memset(&at->pad, STALE, sizeof(at->pad));
	memcpy(&seg_was, seg, sizeof(seg_was));
	memcpy(&at_was, at, sizeof(at_was));
	memset(c->b.buf, 0x5a, 64);
	EXPECT_OK(dat_ep_post_rdma_write(c->b.ep, 1, seg, conf_cookie(1), at,
					 NO_FLAGS));
	conf_dto(c->b.req_evd, 1, DAT_DTO_SUCCESS);
	EXPECT(memcmp(c->a.buf, c->b.buf, 64) == 0);
	EXPECT(memcmp(&seg_was, seg, sizeof(seg_was)) == 0);
	EXPECT(memcmp(&at_was, at, sizeof(at_was)) == 0);
}

CASE(lmr_sync_rdma_read__many_segments, "9 dat_lmr_sync_rdma_read", NEED_IA)
{
	DAT_LMR_TRIPLET *seg = edge(4080); /* 170 of 24 bytes */

	for (size_t i = 0; i < 170; i++)
		seg[i] = conf_seg(&c->a, i, 1);
	EXPECT_OK(dat_lmr_sync_rdma_read(c->a.ia, seg, 170));
	EXPECT_OK(dat_lmr_sync_rdma_write(c->a.ia, seg, 170));
	seg[169] = conf_seg(&c->a, CONF_MEM, 1);
	BAD_ARG(dat_lmr_sync_rdma_read(c->a.ia, seg, 170), 2);
	seg[169].segment_length = TOO_LONG;
	EXPECT_TYPE(dat_lmr_sync_rdma_write(c->a.ia, seg, 170),
		    DAT_LENGTH_ERROR);
}

/* ---------------------------------------------------------------- events */

/* The next event, where nothing else has room. */
static DAT_EVENT *event48(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT *ev = edge(48);
	DAT_COUNT more;

	EXPECT_OK(dat_evd_wait(evd, CONF_PATIENCE, 1, ev, &more));
	EXPECT_EQ(ev->event_number, number);
	EXPECT(ev->evd_handle == evd);
	return ev;
}

CASE(evd_wait__events_of_48_bytes, "4 dat_evd_wait", NEED_EPS)
{
	DAT_CR_ARRIVAL_EVENT_DATA *cr;
	DAT_EVENT *ev;

	conf_listen(c);
	EXPECT_OK(conf_try_connect(c, c->b.ep, CONF_PATIENCE));
	cr = &event48(c->a.cr_evd, DAT_CONNECTION_REQUEST_EVENT)
		      ->event_data.cr_arrival_event_data;
	EXPECT_EQ(cr->conn_qual, c->qual);
	EXPECT_OK(dat_cr_accept(cr->cr_handle, c->a.ep, 0, NULL));
	ev = event48(c->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	EXPECT(ev->event_data.connect_event_data.ep_handle == c->b.ep);
	event48(c->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	conf_post_recv(&c->a, 0, 64, 1);
	conf_post_send(&c->b, 0, 36, 2);
	event48(c->b.req_evd, DAT_DTO_COMPLETION_EVENT);
	ev = event48(c->a.recv_evd, DAT_DTO_COMPLETION_EVENT);
	/* All 64 bits of it. */
	EXPECT_EQ(ev->event_data.dto_completion_event_data.transfered_length,
		  36);
	/* Open MPI takes the endpoint from this member. */
	EXPECT(ev->event_data.connect_event_data.ep_handle == c->a.ep);
}

CASE(evd_dequeue__events_of_48_bytes, "4 dat_evd_dequeue", NEED_IA)
{
	DAT_EVD_HANDLE evd = conf_evd(&c->a, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT *in = edge(48), *out = edge(48);

	in->event_number = DAT_SOFTWARE_EVENT;
	in->event_data.software_event_data.pointer = c;
	EXPECT_OK(dat_evd_post_se(evd, in));
	EXPECT_OK(dat_evd_dequeue(evd, out));
	EXPECT_EQ(out->event_number, DAT_SOFTWARE_EVENT);
	EXPECT(out->event_data.software_event_data.pointer == c);
}

/* Whole values, as programs know them. */
CASE(evd_dequeue__codes_of_1_2, "13 return codes", NEED_IA)
{
	DAT_EVD_HANDLE evd = conf_evd(&c->a, DAT_EVD_SOFTWARE_FLAG), which;
	DAT_COUNT more;
	DAT_EVENT ev;

	EXPECT_EQ(dat_evd_dequeue(evd, &ev), 0x800d0000);
	EXPECT_EQ(dat_evd_wait(evd, 0, 1, &ev, &more), 0x800f0000);
	EXPECT_EQ(dat_cno_wait(conf_cno(&c->a), 0, &which), 0x000d0000);
}

CASE(strerror__numbers_of_1_2, "13 dat_strerror", NEED_NOTHING)
{
	static const struct {
		unsigned value;
		const char *major, *minor;
	} codes[] = {
		{0x8005001a, "DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE1"},
		{0x80060029, "DAT_INVALID_PARAMETER", "DAT_INVALID_ARG6"},
		{0x80070055, "DAT_INVALID_STATE",
		 "DAT_INVALID_STATE_SRQ_ERROR"},
		{0x800a0062, "DAT_PROVIDER_NOT_FOUND",
		 "DAT_NAME_NOT_REGISTERED"},
		{0xffff0000, "DAT_NOT_IMPLEMENTED", ""},
	};
	const char *major, *minor;

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		EXPECT_OK(dat_strerror((DAT_RETURN)codes[i].value, &major,
				       &minor));
		EXPECT(strcmp(major, codes[i].major) == 0);
		EXPECT(strcmp(minor, codes[i].minor) == 0);
	}
}

static void told(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
}

CASE(cno_query__agent, "5 dat_cno_query", NEED_IA)
{
	static const unsigned masks[] = {0x1, 0x2, 0x3, 0x8000};
	DAT_OS_WAIT_PROXY_AGENT agent = {c, told};
	DAT_CNO_PARAM *p;
	DAT_CNO_HANDLE cno;

	EXPECT_OK(dat_cno_create(c->a.ia, agent, &cno));
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		p = edge(24);
		EXPECT_OK(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)masks[i], p));
		EXPECT(p->ia_handle == c->a.ia);
		EXPECT(p->agent.instance_data == c);
		EXPECT(p->agent.proxy_agent_func == told);
	}
	EXPECT_OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	EXPECT_OK(dat_cno_query(cno, DAT_CNO_FIELD_ALL, p));
	EXPECT(p->agent.instance_data == NULL);
	EXPECT(p->agent.proxy_agent_func == NULL);
}

/* --------------------------------------------------- regions and windows */

CASE(lmr_query__structure_of_1_2, "9 dat_lmr_query", NEED_IA)
{
	DAT_LMR_PARAM *p;

	for (int i = 0; i < 16; i++) {
		p = edge(80);
		EXPECT_OK(dat_lmr_query(c->a.lmr, (DAT_LMR_PARAM_MASK)(1u << i),
					p));
	}
	EXPECT(p->region_desc.for_va == c->a.buf);
	EXPECT_EQ(p->mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	EXPECT_EQ(p->lmr_context, c->a.lkey);
	EXPECT_EQ(p->rmr_context, c->a.rkey);
	EXPECT_EQ(p->length, CONF_MEM);
}

/* Solaris has one more, and 2.0. */
CASE(lmr_create__privileges_of_others, "9 dat_lmr_create", NEED_IA)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = c->a.buf};
	DAT_LMR_HANDLE lmr;
	DAT_LMR_PARAM p;

	EXPECT_OK(dat_lmr_create(c->a.ia, DAT_MEM_TYPE_VIRTUAL, desc, 64,
				 c->a.pz, (DAT_MEM_PRIV_FLAGS)(0x33 | 0x140),
				 &lmr, NULL, NULL, NULL, NULL));
	EXPECT_OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &p));
	EXPECT_EQ(p.mem_priv, 0x33);
}

static DAT_RETURN bind_segment(struct conf *c, DAT_RMR_HANDLE rmr,
			       const DAT_LMR_TRIPLET *seg)
{
	DAT_RMR_COOKIE cookie = {.as_64 = 7};
	DAT_RMR_CONTEXT ctx;

	return dat_rmr_bind(rmr, seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, c->a.ep,
			    cookie, NO_FLAGS, &ctx);
}

CASE(rmr_bind__context_names_the_region, "10 dat_rmr_bind",
     NEED_CONNECTED | NEED_RMR)
{
	DAT_LMR_TRIPLET *seg = edge(24);
	DAT_RMR_PARAM *p = edge(48);
	DAT_REGION_DESCRIPTION desc = {.for_va = c->a.buf};
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	EXPECT_OK(dat_rmr_create(c->a.pz, &rmr));
	*seg = conf_seg(&c->a, 0, 64);
	seg->lmr_context = ~c->a.lkey;
	BAD_ARG(bind_segment(c, rmr, seg), 2);
	/* of another zone */
	EXPECT_OK(dat_pz_create(c->a.ia, &pz));
	EXPECT_OK(dat_lmr_create(c->a.ia, DAT_MEM_TYPE_VIRTUAL, desc, 4096, pz,
				 DAT_MEM_PRIV_ALL_FLAG, &lmr, &seg->lmr_context,
				 NULL, NULL, NULL));
	BAD_ARG(bind_segment(c, rmr, seg), 2);
	*seg = conf_seg(&c->a, 0, TOO_LONG);
	EXPECT_TYPE(bind_segment(c, rmr, seg), DAT_LENGTH_ERROR);
	*seg = conf_seg(&c->a, 16, 32);
	EXPECT_OK(bind_segment(c, rmr, seg));
	conf_event(c->a.req_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	EXPECT_OK(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)0xff, p));
	EXPECT_EQ(p->lmr_triplet.lmr_context, c->a.lkey);
	EXPECT_EQ(p->lmr_triplet.virtual_address, seg->virtual_address);
	EXPECT_EQ(p->lmr_triplet.segment_length, 32);
	EXPECT_EQ(p->mem_priv, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	/* Nothing to bind is an end, whose context names nothing. */
	*seg = empty();
	EXPECT_OK(bind_segment(c, rmr, seg));
	conf_event(c->a.req_evd, DAT_RMR_BIND_COMPLETION_EVENT);
}

CASE(srq_query__state_and_lengths_of_1_2, "11 dat_srq_query",
     NEED_IA | NEED_SRQ)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_LMR_TRIPLET seg = conf_seg(&c->a, 0, TOO_LONG);
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_PARAM p;

	EXPECT_OK(dat_srq_create(c->a.ia, c->a.pz, &attr, &srq));
	EXPECT_OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	EXPECT_EQ(p.srq_state, 0);
	EXPECT_TYPE(dat_srq_post_recv(srq, 1, &seg, conf_cookie(1)),
		    DAT_LENGTH_ERROR);
	EXPECT_OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	EXPECT_EQ(p.outstanding_dto_count, 0);
}
