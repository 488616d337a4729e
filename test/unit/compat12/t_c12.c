/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_c12.c - a program of DAT 1.2 over libdat and a provider of 1.2.
 *
 * Knows the public headers of 1.2 and nothing else, but for the device, which
 * is the fake one: this program's own symbols stand in for libibverbs and
 * librdmacm below the plugin that it loads. What it looks at is what the
 * conformance suite of 1.2 has not: bounds, ways of events, what is not there.
 * Structures are surrounded by bytes that nobody may touch.
 * Input: the name of the adapter, and the kind of device.
 * Codes and numbers are those of the headers, which test/abi compares.
 */
#include <dat/udat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/case.h"
#include "test/unit/fake/fake_verbs.h"

#define PATIENCE_US 30000000
#define SIZE	    4096
#define GUARD	    64
#define GUARD_BYTE  0xa5
#define MANY	    40	/* segments: more than an endpoint has */
#define SYNC	    600 /* more than are converted at a time */

#define ERROR(type, subtype) (DAT_CLASS_ERROR | (type) | (subtype))
#define ARG(n)		     ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

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

#define T(name) CASE_WITH(name, setup, teardown)

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

T(ia_query__sizes)
{
	DAT_IA_ATTR attr;

	ok(dat_ia_query(client.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	assert_string_equal(attr.adapter_name, "fake0");
	assert_in_range(attr.max_message_size, 1 << 20, 1u << 31);
	assert_in_range(attr.max_rdma_size, 1 << 20, 1u << 31);
	assert_true(attr.max_lmr_block_size > 0xffffffff);
}

/* What programs of 2.0 have besides is neither told of nor taken. */
T(extensions__there_are_none)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR prov;

	assert_int_equal(dat_evd_create(client.ia, 4, DAT_HANDLE_NULL,
					(DAT_EVD_FLAGS)0x200, &evd),
			 ARG(4));
	assert_int_equal(
		dat_evd_create(client.ia, 4, DAT_HANDLE_NULL,
			       (DAT_EVD_FLAGS)(0x200 | DAT_EVD_DTO_FLAG), &evd),
		ARG(4));
	assert_ptr_equal(evd, DAT_HANDLE_NULL);
	ok(dat_ia_query(client.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
			&prov));
	assert_true(prov.num_provider_specific_attr > 0);
	for (int i = 0; i < prov.num_provider_specific_attr; i++) {
		const char *name = prov.provider_specific_attr[i].name;

		assert_string_not_equal(name, "DAT_EXTENSION_INTERFACE");
		assert_string_not_equal(name, "DAT_IB_FETCH_AND_ADD");
		assert_string_not_equal(name, "DAT_IB_CMP_AND_SWAP");
		assert_string_not_equal(name, "DAT_IB_IMMED_DATA");
	}
}

/* ------------------------------------------------------------ endpoints */

T(ep_query__nothing_that_it_knows)
{
	static const DAT_EP_PARAM_MASK unknown[] = {0, 0x800,
						    UINT64_C(1) << 31};
	GUARDED(DAT_EP_PARAM) param;
	uint8_t before[sizeof(param)];

	guard(&param);
	memcpy(before, &param, sizeof(param));
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		ok(dat_ep_query(client.ep, unknown[i], &param.it));
		assert_memory_equal(&param, before, sizeof(param));
	}
}

T(ep_create__attributes_in_the_middle_of_a_word_in_1_2)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	ok(dat_ep_query(client.ep, DAT_EP_FIELD_ALL, &param));
	assert_int_equal(dat_ep_create(client.ia, client.pz, client.dto,
				       client.dto, client.conn,
				       (void *)((char *)&param.ep_attr + 1),
				       &ep),
			 ARG(6));
}

/* An adapter may have all that 32 bits can say; more it has not. */
T(ep_attr__sizes_of_more_than_32_bits)
{
	static const DAT_VLEN sizes[] = {UINT64_C(1) << 32,
					 (UINT64_C(1) << 32) + 64, UINT64_MAX};
	DAT_SRQ_ATTR srq_attr = {8, 2, DAT_SRQ_LW_DEFAULT};
	DAT_EP_PARAM param, now;
	struct ibv_device **devices = ibv_get_device_list(NULL);
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	fv_device_cfg_get(*devices)->port[0].attr.max_msg_sz = UINT32_MAX;
	ibv_free_device_list(devices);
	ok(dat_ia_close(client.ia, DAT_CLOSE_ABRUPT_FLAG));
	side_open(&client);
	ok(dat_srq_create(client.ia, client.pz, &srq_attr, &srq));
	ok(dat_ep_query(client.ep, DAT_EP_FIELD_ALL, &param));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		DAT_EP_ATTR attr = param.ep_attr;

		attr.max_message_size = sizes[i];
		assert_int_equal(dat_ep_create(client.ia, client.pz, client.dto,
					       client.dto, client.conn, &attr,
					       &ep),
				 ARG(6));
		attr = param.ep_attr;
		attr.max_rdma_size = sizes[i];
		assert_int_equal(dat_ep_create_with_srq(client.ia, client.pz,
							client.dto, client.dto,
							client.conn, srq, &attr,
							&ep),
				 ARG(7));
		now = param;
		now.ep_attr.max_rdma_size = sizes[i];
		assert_int_equal(
			dat_ep_modify(client.ep,
				      DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &now),
			ARG(3));
		/* Not asked for, so not looked at. */
		ok(dat_ep_modify(client.ep,
				 DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &now));
	}
	ok(dat_ep_query(client.ep, DAT_EP_FIELD_ALL, &now));
	assert_memory_equal(&now.ep_attr, &param.ep_attr, sizeof(now.ep_attr));
}

/* ---------------------------------------------------------- connections */

/* Whatever the number says, nobody reads behind what there can be. */
/* There are no events of 1.2 by which it could hear of others. */
T(ep_create__no_datagrams)
{
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM p;

	ok(dat_ep_query(client.ep, DAT_EP_FIELD_ALL, &p));
	p.ep_attr.service_type =
		(DAT_SERVICE_TYPE)1; /* UD of 2.0's extension */
	p.ep_attr.max_message_size = 256;
	assert_int_equal(DAT_GET_TYPE(dat_ep_create(
				 client.ia, client.pz, client.dto, client.dto,
				 client.conn, &p.ep_attr, &ep)),
			 DAT_MODEL_NOT_SUPPORTED);
}

T(segments__more_than_there_can_be)
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

/*
 * As providers of 1.2 refuse: rdma_cm has the consumer's reason, and no data
 * come with it. Elsewhere, and without reasons, there is just nobody.
 */
T(reject__of_an_old_peer)
{
	bool reasons = !strcmp(adapter, "OpenIB-cma") &&
		       (kind == FV_IB || kind == FV_ROCE);
	DAT_CONN_QUAL qual;

	ok(dat_psp_free(listener(&qual)));
	fv_cm_set(FV_CM_REJECT, 28);
	ok(dat_ep_connect(client.ep, address(&server), qual, PATIENCE_US, 0,
			  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event(client.conn, reasons ? DAT_CONNECTION_EVENT_PEER_REJECTED
				   : DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

T(lmr_sync__any_number_of_segments)
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

/* --------------------------------------------------------------- events */

static void write_as(uint64_t n, DAT_RMR_CONTEXT rkey)
{
	DAT_RMR_TRIPLET there = target(&server, 0, 7);
	DAT_LMR_TRIPLET seg = segment(&client, 0, 7);

	there.rmr_context = rkey;
	ok(dat_ep_post_rdma_write(client.ep, 1, &seg, cookie(n), &there,
				  DAT_COMPLETION_DEFAULT_FLAG));
}

/* It is there: DEQUEUE, or a wait that does not sleep, takes it. */
static void taken(bool dequeue, uint64_t n, DAT_DTO_COMPLETION_STATUS status)
{
	GUARDED(DAT_EVENT) ev;
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&ev.it.event_data.dto_completion_event_data;
	DAT_COUNT more;

	guard(&ev);
	ok(dequeue ? dat_evd_dequeue(client.dto, &ev.it)
		   : dat_evd_wait(client.dto, 0, 1, &ev.it, &more));
	untouched(ev.after);
	assert_int_equal(ev.it.event_number, DAT_DTO_COMPLETION_EVENT);
	assert_ptr_equal(ev.it.evd_handle, client.dto);
	assert_ptr_equal(dto->ep_handle, client.ep);
	assert_int_equal(dto->user_cookie.as_64, n);
	assert_int_equal(dto->status, status);
	if (status == DAT_DTO_SUCCESS)
		assert_int_equal(dto->transfered_length, 7);
}

/* Off the completion queue, out of the ring, failed; and nothing at all. */
T(evd__each_way_of_a_completion)
{
	GUARDED(DAT_EVENT) ev;
	DAT_COUNT more;

	connected();
	assert_int_equal(dat_evd_dequeue(client.dto, &ev.it), DAT_QUEUE_EMPTY);
	assert_int_equal(dat_evd_wait(client.dto, 0, 1, &ev.it, &more),
			 DAT_TIMEOUT_EXPIRED);
	for (uint64_t n = 1; n <= 4; n++)
		write_as(n, server.rkey);
	guard(&ev);
	ok(dat_evd_wait(client.dto, PATIENCE_US, 4, &ev.it, &more));
	untouched(ev.after);
	assert_int_equal(more, 3);
	assert_int_equal(
		ev.it.event_data.dto_completion_event_data.user_cookie.as_64,
		1);
	taken(false, 2, DAT_DTO_SUCCESS);
	taken(true, 3, DAT_DTO_SUCCESS);
	taken(true, 4, DAT_DTO_SUCCESS);
	write_as(5, server.rkey);
	taken(true, 5, DAT_DTO_SUCCESS);
	write_as(6, server.rkey);
	taken(false, 6, DAT_DTO_SUCCESS);
	write_as(7, ~server.rkey);
	/* iWARP has no answer for it, but an end. */
	taken(true, 7,
	      kind == FV_IWARP || kind == FV_SIW ? DAT_DTO_ERR_FLUSHED
						 : DAT_DTO_ERR_REMOTE_ACCESS);
	assert_int_equal(dat_evd_wait(client.dto, 0, 0, &ev.it, &more), ARG(3));
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s ADAPTER KIND\n", *argv);
		return 2;
	}
	adapter = argv[1];
	if (!fv_kind_find(argv[2], strlen(argv[2]), &kind))
		return 2;
	return cases_run(NULL, NULL);
}
