/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_c12.c - a program of DAT 1.2 over libdat and a provider of 1.2.
 *
 * Knows the public headers of 1.2 and nothing else, but for the device, which
 * is the fake one: this program's own symbols stand in for libibverbs and
 * librdmacm below the plugin that it loads. What it looks at is what differs
 * between the versions: layouts, sizes, masks, codes, segments. Structures are
 * surrounded by bytes that nobody may touch.
 * Input: the name of the adapter, and the kind of device.
 * Codes and numbers are those of the headers, which test/abi compares.
 */
#include <dat/udat.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/unit/fake/fake_verbs.h"

#define PATIENCE_US 30000000
#define SIZE	    4096
#define GUARD	    64
#define GUARD_BYTE  0xa5
#define MANY	    40	/* segments: more than an endpoint has */
#define SYNC	    600 /* more than are converted at a time */

#define ERROR(type, subtype) (DAT_CLASS_ERROR | (type) | (subtype))
#define ARG(n)		     ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define LENGTH_ERROR	     ERROR(DAT_LENGTH_ERROR, 0)

#define GUARDED(type)                 \
	struct {                      \
		type it;              \
		uint8_t after[GUARD]; \
	}

static char *adapter;
static enum fv_kind kind;

struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, dto, conn, cr;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	uint8_t mem[SIZE];
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

static struct side server, client;

#define ok(call) assert_int_equal((call), DAT_SUCCESS)

#define guard(g) memset((g), GUARD_BYTE, sizeof(*(g)))

static void untouched(const uint8_t *after)
{
	for (int i = 0; i < GUARD; i++)
		assert_int_equal(after[i], GUARD_BYTE);
}

/* ------------------------------------------------------------ fixtures */

static void side_open(struct side *s)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN size;
	DAT_VADDR addr;

	memset(s, 0, sizeof(*s));
	s->async = DAT_HANDLE_NULL;
	ok(dat_ia_open(adapter, 8, &s->async, &s->ia));
	ok(dat_pz_create(s->ia, &s->pz));
	ok(dat_evd_create(s->ia, 64, DAT_HANDLE_NULL,
			  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &s->dto));
	ok(dat_evd_create(s->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			  &s->conn));
	ok(dat_evd_create(s->ia, 16, DAT_HANDLE_NULL,
			  DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG, &s->cr));
	region.for_va = s->mem;
	ok(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, s->pz,
			  DAT_MEM_PRIV_ALL_FLAG, &s->lmr, &s->lkey, &s->rkey,
			  &size, &addr));
	assert_true(size >= SIZE);
	ok(dat_ep_create(s->ia, s->pz, s->dto, s->dto, s->conn, NULL, &s->ep));
}

static int setup(void **state)
{
	fv_reset();
	fv_devices_default(kind, 1);
	side_open(&server);
	side_open(&client);
	return 0;
}

static int teardown(void **state)
{
	ok(dat_ia_close(client.ia, DAT_CLOSE_ABRUPT_FLAG));
	ok(dat_ia_close(server.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}

static DAT_EVENT event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	GUARDED(DAT_EVENT) ev;
	DAT_COUNT more;

	guard(&ev);
	ok(dat_evd_wait(evd, PATIENCE_US, 1, &ev.it, &more));
	untouched(ev.after);
	assert_int_equal(ev.it.event_number, number);
	assert_ptr_equal(ev.it.evd_handle, evd);
	return ev.it;
}

static void completion(struct side *s, uint64_t cookie, DAT_VLEN length)
{
	DAT_EVENT ev = event(s->dto, DAT_DTO_COMPLETION_EVENT);
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev.event_data.dto_completion_event_data;

	assert_int_equal(dto->status, DAT_DTO_SUCCESS);
	assert_ptr_equal(dto->ep_handle, s->ep);
	/* One consumer takes the endpoint from here. */
	assert_ptr_equal(ev.event_data.connect_event_data.ep_handle, s->ep);
	assert_int_equal(dto->user_cookie.as_64, cookie);
	assert_int_equal(dto->transfered_length, length);
}

static DAT_LMR_TRIPLET segment(struct side *s, size_t at, DAT_VLEN length)
{
	DAT_LMR_TRIPLET t;

	memset(&t, GUARD_BYTE, sizeof(t)); /* the pad may be anything */
	t.lmr_context = s->lkey;
	t.virtual_address = (uintptr_t)s->mem + at;
	t.segment_length = length;
	return t;
}

static DAT_RMR_TRIPLET target(struct side *s, size_t at, DAT_VLEN length)
{
	DAT_RMR_TRIPLET t;

	memset(&t, GUARD_BYTE, sizeof(t));
	t.rmr_context = s->rkey;
	t.target_address = (uintptr_t)s->mem + at;
	t.segment_length = length;
	return t;
}

static DAT_DTO_COOKIE cookie(uint64_t n)
{
	DAT_DTO_COOKIE c;

	c.as_64 = n;
	return c;
}

/* Consumers copy 16 bytes, which is what an IPv4 address has. */
static DAT_IA_ADDRESS_PTR address(struct side *s)
{
	static struct sockaddr copy;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR attr;

	ok(dat_ia_query(s->ia, &async, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
			NULL));
	memcpy(&copy, attr.ia_address_ptr, sizeof(copy));
	return copy.sa_family == AF_INET ? (DAT_IA_ADDRESS_PTR)&copy
					 : attr.ia_address_ptr;
}

static DAT_PSP_HANDLE listener(DAT_CONN_QUAL *ret_qual)
{
	DAT_PSP_HANDLE psp;

	ok(dat_psp_create_any(server.ia, ret_qual, server.cr,
			      DAT_PSP_CONSUMER_FLAG, &psp));
	assert_in_range(*ret_qual, 1, 0xffff);
	return psp;
}

static DAT_CR_HANDLE request(DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual,
			     const void *data, DAT_COUNT size)
{
	DAT_CR_ARRIVAL_EVENT_DATA *cr;
	GUARDED(DAT_CR_PARAM) param;
	DAT_EVENT ev;

	ok(dat_ep_connect(client.ep, address(&server), qual, PATIENCE_US, size,
			  (DAT_PVOID)data, DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
	ev = event(server.cr, DAT_CONNECTION_REQUEST_EVENT);
	cr = &ev.event_data.cr_arrival_event_data;
	assert_ptr_equal(cr->sp_handle.psp_handle, psp);
	assert_int_equal(cr->conn_qual, qual);
	guard(&param);
	ok(dat_cr_query(cr->cr_handle, DAT_CR_FIELD_ALL, &param.it));
	untouched(param.after);
	assert_true(param.it.private_data_size >= size);
	if (size)
		assert_memory_equal(param.it.private_data, data, size);
	return cr->cr_handle;
}

static void connected(void)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp = listener(&qual);
	DAT_CR_HANDLE cr = request(psp, qual, "question", 8);
	DAT_EVENT ev;

	ok(dat_cr_accept(cr, server.ep, 6, (DAT_PVOID) "answer"));
	ev = event(client.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_true(ev.event_data.connect_event_data.private_data_size >= 6);
	assert_memory_equal(ev.event_data.connect_event_data.private_data,
			    "answer", 6);
	/* The passive side is told from the active one by there being none. */
	ev = event(server.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_int_equal(ev.event_data.connect_event_data.private_data_size, 0);
	assert_ptr_equal(ev.event_data.connect_event_data.ep_handle, server.ep);
	ok(dat_psp_free(psp));
}

/* ------------------------------------------------------------- adapters */

static void ia_query__sizes_and_masks(void **state)
{
	GUARDED(DAT_PROVIDER_ATTR) prov;
	GUARDED(DAT_IA_ATTR) attr;
	DAT_EVD_HANDLE async;

	guard(&prov);
	guard(&attr);
	ok(dat_ia_query(client.ia, &async, DAT_IA_FIELD_ALL, &attr.it,
			DAT_PROVIDER_FIELD_ALL, &prov.it));
	untouched(prov.after);
	untouched(attr.after);
	assert_ptr_equal(async, client.async);
	assert_string_equal(prov.it.provider_name, adapter);
	assert_int_equal(prov.it.dapl_version_major, 1);
	assert_int_equal(prov.it.dapl_version_minor, 2);
	assert_int_equal(prov.it.is_thread_safe, DAT_FALSE);
	assert_true(prov.it.max_private_data_size >= 48);
	assert_string_equal(attr.it.adapter_name, "fake0");
	assert_in_range(attr.it.max_message_size, 1 << 20, 1u << 31);
	assert_in_range(attr.it.max_rdma_size, 1 << 20, 1u << 31);
	assert_true(attr.it.max_lmr_block_size > 0xffffffff);
	assert_int_equal(attr.it.num_transport_attr, 0);
	assert_int_equal(attr.it.num_vendor_attr, 0);
	/* The masks end where the members of 1.2 do. */
	assert_int_equal(dat_ia_query(client.ia, NULL, DAT_IA_FIELD_ALL + 1,
				      &attr.it, 0, NULL),
			 ARG(3));
	assert_int_equal(dat_ia_query(client.ia, NULL, 0, NULL,
				      DAT_PROVIDER_FIELD_ALL + 1, &prov.it),
			 ARG(5));
	assert_int_equal(dat_ia_query(client.ia, NULL, 1, NULL, 0, NULL),
			 ARG(4));
}

static void handles__say_the_adapter_as_the_program_knows_it(void **state)
{
	GUARDED(DAT_PZ_PARAM) pz;
	GUARDED(DAT_EVD_PARAM) evd;
	DAT_HANDLE_TYPE type;

	guard(&pz);
	guard(&evd);
	ok(dat_pz_query(client.pz, DAT_PZ_FIELD_ALL, &pz.it));
	untouched(pz.after);
	assert_ptr_equal(pz.it.ia_handle, client.ia);
	ok(dat_evd_query(client.dto, DAT_EVD_FIELD_ALL, &evd.it));
	untouched(evd.after);
	assert_true(evd.it.evd_qlen >= 64);
	ok(dat_get_handle_type(client.ia, &type));
	assert_int_equal(type, DAT_HANDLE_TYPE_IA);
	ok(dat_get_handle_type(client.ep, &type));
	assert_int_equal(type, DAT_HANDLE_TYPE_EP);
}

/* ------------------------------------------------------------ endpoints */

static void ep_query__its_attributes_make_another(void **state)
{
	GUARDED(DAT_EP_PARAM) param;
	DAT_EP_HANDLE ep;

	guard(&param);
	/* Bits that nobody knows are what one consumer asks with. */
	ok(dat_ep_query(client.ep, 0xffff, &param.it));
	untouched(param.after);
	assert_int_equal(param.it.ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_ptr_equal(param.it.ia_handle, client.ia);
	assert_ptr_equal(param.it.pz_handle, client.pz);
	assert_ptr_equal(param.it.recv_evd_handle, client.dto);
	assert_ptr_equal(param.it.request_evd_handle, client.dto);
	assert_ptr_equal(param.it.connect_evd_handle, client.conn);
	assert_ptr_equal(param.it.srq_handle, DAT_HANDLE_NULL);
	assert_true(param.it.ep_attr.max_recv_dtos >= 16);
	assert_true(param.it.ep_attr.max_request_iov >= 4);
	param.it.ep_attr.max_recv_dtos = 8;
	param.it.ep_attr.max_request_dtos = 20;
	ok(dat_ep_create(client.ia, client.pz, client.dto, client.dto,
			 client.conn, &param.it.ep_attr, &ep));
	ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param.it));
	assert_int_equal(param.it.ep_attr.max_recv_dtos, 8);
	ok(dat_ep_free(ep));
}

static void ep_create__bad_attributes(void **state)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	ok(dat_ep_query(client.ep, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.max_message_size = UINT64_C(1) << 40;
	assert_int_equal(dat_ep_create(client.ia, client.pz, client.dto,
				       client.dto, client.conn, &param.ep_attr,
				       &ep),
			 ARG(6));
}

static void ep_modify__the_member_that_is_named(void **state)
{
	DAT_EP_PARAM param;

	memset(&param, 0xff, sizeof(param));
	param.pz_handle = client.pz;
	ok(dat_ep_modify(client.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	ok(dat_ep_query(client.ep, DAT_EP_FIELD_ALL, &param));
	assert_ptr_equal(param.pz_handle, client.pz);
	assert_ptr_equal(param.recv_evd_handle, client.dto);
}

/* ---------------------------------------------------------- connections */

static void connection__data_both_ways(void **state)
{
	DAT_LMR_TRIPLET seg;

	connected();
	seg = segment(&server, 0, 100);
	ok(dat_ep_post_recv(server.ep, 1, &seg, cookie(1),
			    DAT_COMPLETION_DEFAULT_FLAG));
	memcpy(client.mem, "data", 4);
	seg = segment(&client, 0, 60);
	ok(dat_ep_post_send(client.ep, 1, &seg, cookie(2),
			    DAT_COMPLETION_DEFAULT_FLAG));
	completion(&client, 2, 60);
	completion(&server, 1, 60);
	assert_memory_equal(server.mem, "data", 4);
	/* Nobody has changed it: consumers look. */
	assert_int_equal(seg.segment_length, 60);
	assert_int_equal(seg.virtual_address, (uintptr_t)client.mem);
}

static void connection__reads_and_writes(void **state)
{
	DAT_RMR_TRIPLET there;
	DAT_LMR_TRIPLET seg;

	connected();
	memcpy(client.mem, "written", 7);
	seg = segment(&client, 0, 7);
	there = target(&server, 200, 7);
	ok(dat_ep_post_rdma_write(client.ep, 1, &seg, cookie(3), &there,
				  DAT_COMPLETION_DEFAULT_FLAG));
	completion(&client, 3, 7);
	assert_memory_equal(server.mem + 200, "written", 7);
	seg = segment(&client, 100, 7);
	ok(dat_ep_post_rdma_read(client.ep, 1, &seg, cookie(4), &there,
				 DAT_COMPLETION_DEFAULT_FLAG));
	completion(&client, 4, 7);
	assert_memory_equal(client.mem + 100, "written", 7);
	assert_int_equal(dat_ep_post_rdma_write(client.ep, 1, &seg, cookie(5),
						NULL,
						DAT_COMPLETION_DEFAULT_FLAG),
			 ARG(5));
	there.segment_length = UINT64_C(1) << 32;
	assert_int_equal(dat_ep_post_rdma_write(client.ep, 1, &seg, cookie(5),
						&there,
						DAT_COMPLETION_DEFAULT_FLAG),
			 LENGTH_ERROR);
}

/* A segment without bytes is none, whatever else it says. */
static void segments__without_bytes(void **state)
{
	DAT_LMR_TRIPLET seg[MANY];

	connected();
	seg[0] = segment(&server, 0, 100);
	ok(dat_ep_post_recv(server.ep, 1, seg, cookie(1),
			    DAT_COMPLETION_DEFAULT_FLAG));
	ok(dat_ep_post_recv(server.ep, 1, seg, cookie(2),
			    DAT_COMPLETION_DEFAULT_FLAG));
	memcpy(client.mem, "onetwo", 6);
	memset(seg, GUARD_BYTE, sizeof(seg));
	for (int i = 0; i < MANY; i++)
		seg[i].segment_length = 0;
	seg[1] = segment(&client, 0, 3);
	seg[MANY - 1] = segment(&client, 3, 3);
	ok(dat_ep_post_send(client.ep, MANY, seg, cookie(3),
			    DAT_COMPLETION_DEFAULT_FLAG));
	completion(&client, 3, 6);
	completion(&server, 1, 6);
	assert_memory_equal(server.mem, "onetwo", 6);
	/* None at all, as a handshake. */
	ok(dat_ep_post_send(client.ep, 0, NULL, cookie(4),
			    DAT_COMPLETION_DEFAULT_FLAG));
	completion(&client, 4, 0);
	completion(&server, 2, 0);
}

static void segments__longer_than_verbs_can_say(void **state)
{
	DAT_LMR_TRIPLET seg[2];

	connected();
	seg[0] = segment(&client, 0, 8);
	seg[1] = segment(&client, 8, UINT64_C(1) << 32);
	assert_int_equal(dat_ep_post_send(client.ep, 2, seg, cookie(1),
					  DAT_COMPLETION_DEFAULT_FLAG),
			 LENGTH_ERROR);
	assert_int_equal(dat_ep_post_recv(client.ep, 1, seg + 1, cookie(1),
					  DAT_COMPLETION_DEFAULT_FLAG),
			 LENGTH_ERROR);
}

/* Whatever the number says, nobody reads behind what there can be. */
static void segments__more_than_there_can_be(void **state)
{
	static const DAT_COUNT wrong[] = {-1, 1 << 20, 0x7fffffff};
	DAT_RMR_TRIPLET there = target(&server, 0, 8);
	DAT_LMR_TRIPLET seg = segment(&client, 0, 8);
	DAT_SRQ_ATTR attr = {8, 2, DAT_SRQ_LW_DEFAULT};
	DAT_SRQ_HANDLE srq;

	ok(dat_srq_create(client.ia, client.pz, &attr, &srq));
	connected();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(dat_ep_post_send(client.ep, wrong[i], &seg,
						  cookie(1),
						  DAT_COMPLETION_DEFAULT_FLAG),
				 ARG(2));
		assert_int_equal(dat_ep_post_recv(client.ep, wrong[i], &seg,
						  cookie(1),
						  DAT_COMPLETION_DEFAULT_FLAG),
				 ARG(2));
		assert_int_equal(dat_ep_post_rdma_write(
					 client.ep, wrong[i], &seg, cookie(1),
					 &there, DAT_COMPLETION_DEFAULT_FLAG),
				 ARG(2));
		assert_int_equal(
			dat_srq_post_recv(srq, wrong[i], &seg, cookie(1)),
			ARG(2));
	}
	/* None where there should be one. */
	assert_int_equal(dat_ep_post_send(client.ep, 1, NULL, cookie(1),
					  DAT_COMPLETION_DEFAULT_FLAG),
			 ARG(3));
}

static void reject__and_the_endpoint_connects_again(void **state)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp = listener(&qual);

	ok(dat_cr_reject(request(psp, qual, NULL, 0)));
	event(client.conn, DAT_CONNECTION_EVENT_PEER_REJECTED);
	ok(dat_psp_free(psp));
	ok(dat_ep_reset(client.ep));
	connected();
	ok(dat_ep_disconnect(client.ep, DAT_CLOSE_DEFAULT));
	event(client.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	event(server.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void lmr_sync__any_number_of_segments(void **state)
{
	static DAT_LMR_TRIPLET seg[SYNC];

	for (int i = 0; i < SYNC; i++)
		seg[i] = segment(&client, (size_t)i, 1);
	ok(dat_lmr_sync_rdma_read(client.ia, seg, SYNC));
	ok(dat_lmr_sync_rdma_write(client.ia, seg, SYNC));
	seg[SYNC - 1].virtual_address = (uintptr_t)client.mem + SIZE;
	assert_int_equal(dat_lmr_sync_rdma_read(client.ia, seg, SYNC), ARG(2));
	assert_int_equal(dat_lmr_sync_rdma_write(client.ia, NULL, 1), ARG(2));
}

/* ---------------------------------------------------- regions and windows */

static void lmr_query__members_behind_the_change(void **state)
{
	GUARDED(DAT_LMR_PARAM) param;

	guard(&param);
	ok(dat_lmr_query(client.lmr, DAT_LMR_FIELD_ALL, &param.it));
	untouched(param.after);
	assert_ptr_equal(param.it.ia_handle, client.ia);
	assert_ptr_equal(param.it.region_desc.for_va, client.mem);
	assert_ptr_equal(param.it.pz_handle, client.pz);
	assert_int_equal(param.it.lmr_context, client.lkey);
	assert_int_equal(param.it.rmr_context, client.rkey);
	assert_true(param.it.registered_size >= SIZE);
	assert_true(param.it.registered_address <= (uintptr_t)client.mem);
}

/* In 1.2 a segment's context says which region is meant. */
static void rmr_bind__region_by_its_context(void **state)
{
	GUARDED(DAT_RMR_PARAM) param;
	DAT_RMR_CONTEXT context;
	DAT_RMR_COOKIE user;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT ev;

	connected();
	ok(dat_rmr_create(client.pz, &rmr));
	user.as_64 = 7;
	seg = segment(&client, 16, 32);
	ok(dat_rmr_bind(
		rmr, &seg,
		DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		client.ep, user, DAT_COMPLETION_DEFAULT_FLAG, &context));
	ev = event(client.dto, DAT_RMR_BIND_COMPLETION_EVENT);
	assert_ptr_equal(ev.event_data.rmr_completion_event_data.rmr_handle,
			 rmr);
	assert_int_equal(
		ev.event_data.rmr_completion_event_data.user_cookie.as_64, 7);
	guard(&param);
	ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param.it));
	untouched(param.after);
	assert_int_equal(param.it.rmr_context, context);
	assert_int_equal(param.it.lmr_triplet.lmr_context, client.lkey);
	assert_int_equal(param.it.lmr_triplet.virtual_address,
			 (uintptr_t)client.mem + 16);
	assert_int_equal(param.it.lmr_triplet.segment_length, 32);
	seg.lmr_context = ~client.lkey;
	assert_int_equal(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				      client.ep, user,
				      DAT_COMPLETION_DEFAULT_FLAG, &context),
			 ARG(2));
	assert_int_equal(dat_rmr_bind(rmr, NULL, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				      client.ep, user,
				      DAT_COMPLETION_DEFAULT_FLAG, &context),
			 ARG(2));
}

/* --------------------------------------------------------------- events */

static void evd__codes_and_software_events(void **state)
{
	GUARDED(DAT_EVENT) ev;
	DAT_COUNT more;

	guard(&ev);
	assert_int_equal(dat_evd_dequeue(client.cr, NULL), ARG(2));
	assert_int_equal(dat_evd_wait(client.cr, 0, 1, NULL, &more), ARG(4));
	assert_int_equal(dat_evd_dequeue(client.cr, &ev.it),
			 ERROR(DAT_QUEUE_EMPTY, 0));
	assert_int_equal(dat_evd_wait(client.cr, 1000, 1, &ev.it, &more),
			 ERROR(DAT_TIMEOUT_EXPIRED, 0));
	ev.it.event_number = DAT_SOFTWARE_EVENT;
	ev.it.event_data.software_event_data.pointer = &ev;
	ok(dat_evd_post_se(client.cr, &ev.it));
	guard(&ev);
	ok(dat_evd_dequeue(client.cr, &ev.it));
	untouched(ev.after);
	assert_int_equal(ev.it.event_number, DAT_SOFTWARE_EVENT);
	assert_ptr_equal(ev.it.event_data.software_event_data.pointer, &ev);
	assert_int_equal(dat_evd_post_se(client.cr, NULL), ARG(2));
}

static void told(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
}

static void cno_query__its_agent(void **state)
{
	DAT_OS_WAIT_PROXY_AGENT agent = {&client, told};
	GUARDED(DAT_CNO_PARAM) param;
	DAT_EVD_HANDLE evd, which;
	DAT_CNO_HANDLE cno;
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	ok(dat_cno_create(client.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	guard(&param);
	ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param.it));
	untouched(param.after);
	assert_ptr_equal(param.it.ia_handle, client.ia);
	assert_null(param.it.agent.proxy_agent_func);
	ok(dat_evd_create(client.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	ok(dat_evd_post_se(evd, &ev));
	ok(dat_cno_wait(cno, PATIENCE_US, &which));
	assert_ptr_equal(which, evd);
	ok(dat_cno_modify_agent(cno, agent));
	ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param.it));
	untouched(param.after);
	assert_ptr_equal(param.it.agent.instance_data, &client);
	assert_true(param.it.agent.proxy_agent_func == told);
}

/* -------------------------------------------------- shared receive queues */

static void srq__state_and_receives(void **state)
{
	DAT_SRQ_ATTR attr = {8, 2, DAT_SRQ_LW_DEFAULT};
	GUARDED(DAT_SRQ_PARAM) param;
	DAT_SRQ_HANDLE srq;
	DAT_LMR_TRIPLET seg;

	ok(dat_srq_create(server.ia, server.pz, &attr, &srq));
	guard(&param);
	ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param.it));
	untouched(param.after);
	assert_int_equal(param.it.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	ok(dat_ep_free(server.ep));
	ok(dat_ep_create_with_srq(server.ia, server.pz, server.dto, server.dto,
				  server.conn, srq, NULL, &server.ep));
	seg = segment(&server, 0, 64);
	ok(dat_srq_post_recv(srq, 1, &seg, cookie(1)));
	connected();
	seg = segment(&client, 0, 10);
	ok(dat_ep_post_send(client.ep, 1, &seg, cookie(2),
			    DAT_COMPLETION_SUPPRESS_FLAG));
	completion(&server, 1, 10);
}

/* ---------------------------------------------------------------- codes */

static void codes__those_behind_an_addition(void **state)
{
	const char *major, *minor;
	DAT_RETURN ret;

	/* A handle of another kind. */
	assert_int_equal(dat_cr_reject(server.ep),
			 ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR));
	connected();
	ret = dat_ep_reset(client.ep);
	assert_int_equal(
		ret, ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED));
	ok(dat_strerror(ret, &major, &minor));
	assert_string_equal(major, "DAT_INVALID_STATE");
	assert_string_equal(minor, "DAT_INVALID_STATE_EP_CONNECTED");
	/* The reason comes to the registry that the program has. */
	assert_non_null(strstr(dat_error_detail(), "dat_ep_reset"));
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum fv_kind kind;
	} kinds[] = {{"ib", FV_IB},
		     {"roce", FV_ROCE},
		     {"iwarp", FV_IWARP},
		     {"siw", FV_SIW}};
	const struct CMUnitTest tests[] = {
		test(ia_query__sizes_and_masks),
		test(handles__say_the_adapter_as_the_program_knows_it),
		test(ep_query__its_attributes_make_another),
		test(ep_create__bad_attributes),
		test(ep_modify__the_member_that_is_named),
		test(connection__data_both_ways),
		test(connection__reads_and_writes),
		test(segments__without_bytes),
		test(segments__longer_than_verbs_can_say),
		test(segments__more_than_there_can_be),
		test(reject__and_the_endpoint_connects_again),
		test(lmr_sync__any_number_of_segments),
		test(lmr_query__members_behind_the_change),
		test(rmr_bind__region_by_its_context),
		test(evd__codes_and_software_events),
		test(cno_query__its_agent),
		test(srq__state_and_receives),
		test(codes__those_behind_an_addition),
	};
	size_t i;

	if (argc != 3) {
		fprintf(stderr, "usage: %s ADAPTER ib|roce|iwarp|siw\n", *argv);
		return 2;
	}
	adapter = argv[1];
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, argv[2]))
			break;
	if (i == sizeof(kinds) / sizeof(*kinds))
		return 2;
	kind = kinds[i].kind;
	alarm(300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
