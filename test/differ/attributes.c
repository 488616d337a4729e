/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * attributes.c - attributes ADAPTER QUALIFIER: what the libraries that are
 * loaded answer where a program has asked for nothing special: every attribute
 * of every query, every default, and the events of one plain conversation.
 *
 * Knows the public API only and judges nothing. Handles are printed by the name
 * that this program has for them, since their values mean nothing.
 */
#include "test/differ/parts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE_US  10000000
#define PART_SECONDS 60
#define MEM_SIZE     65536

/* ---------------------------------------------------- printing */

/* The names of handles and addresses that this program knows. */
static struct {
	const void *value;
	const char *name;
} known[64];
static int n_known;

static void name_of(const void *value, const char *name)
{
	if (!value || n_known == sizeof(known) / sizeof(known[0]))
		return;
	known[n_known].value = value;
	known[n_known++].name = name;
}

static const char *by_name(const void *value)
{
	if (!value)
		return "NULL";
	for (int i = n_known; i-- > 0;)
		if (known[i].value == value)
			return known[i].name;
	return "something";
}

enum kind {
	NUMBER,
	TEXT,
	POINTER, /* by name */
	ADDRESS, /* of an adapter: its family */
	KEY,	 /* a number that nobody compares: whether it is 0 */
	PAIRS,	 /* named attributes, as many as the field before says */
};

struct field {
	const char *name;
	size_t at, size;
	enum kind kind;
};

#define F(type, member, kind)                                    \
	{                                                        \
#member, offsetof(struct type, member),          \
			sizeof(((struct type *)0)->member), kind \
	}

static uint64_t number(const void *at, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, at, size < sizeof(v) ? size : sizeof(v));
	return v;
}

static void say_pairs(const char *what, const char *at, DAT_COUNT n)
{
	const DAT_NAMED_ATTR *pairs;
	char text[256];

	memcpy(&pairs, at, sizeof(pairs));
	for (DAT_COUNT i = 0; pairs && i < n; i++) {
		snprintf(text, sizeof(text), "%s.%s", what, pairs[i].name);
		say(text, "%s", pairs[i].value ? pairs[i].value : "NULL");
	}
}

static void say_field(const char *what, const struct field *f, const char *of)
{
	const char *at = of + f->at;
	const void *p;

	switch (f->kind) {
	case NUMBER:
		say(what, "%" PRIu64, number(at, f->size));
		break;
	case TEXT:
		say(what, "%.*s", (int)f->size, at);
		break;
	case KEY:
		say(what, "%s", number(at, f->size) ? "a key" : "0");
		break;
	case PAIRS:
		say_pairs(what, at,
			  (DAT_COUNT)number(of + f[-1].at, f[-1].size));
		break;
	case POINTER:
		memcpy(&p, at, sizeof(p));
		say(what, "%s", by_name(p));
		break;
	case ADDRESS:
		memcpy(&p, at, sizeof(p));
		if (p)
			say(what, "family %d",
			    ((const struct sockaddr *)p)->sa_family);
		else
			say(what, "NULL");
		break;
	}
}

static void say_fields(const char *prefix, const void *of,
		       const struct field *f, size_t n)
{
	char what[256];

	for (size_t i = 0; i < n; i++) {
		snprintf(what, sizeof(what), "%s.%s", prefix, f[i].name);
		say_field(what, &f[i], of);
	}
}

#define SAY(prefix, of, fields) \
	say_fields(prefix, of, fields, sizeof(fields) / sizeof((fields)[0]))

static const struct field ia_fields[] = {
	F(dat_ia_attr, adapter_name, TEXT),
	F(dat_ia_attr, vendor_name, TEXT),
	F(dat_ia_attr, hardware_version_major, NUMBER),
	F(dat_ia_attr, hardware_version_minor, NUMBER),
	F(dat_ia_attr, firmware_version_major, NUMBER),
	F(dat_ia_attr, firmware_version_minor, NUMBER),
	F(dat_ia_attr, ia_address_ptr, ADDRESS),
	F(dat_ia_attr, max_eps, NUMBER),
	F(dat_ia_attr, max_dto_per_ep, NUMBER),
	F(dat_ia_attr, max_rdma_read_per_ep_in, NUMBER),
	F(dat_ia_attr, max_rdma_read_per_ep_out, NUMBER),
	F(dat_ia_attr, max_evds, NUMBER),
	F(dat_ia_attr, max_evd_qlen, NUMBER),
	F(dat_ia_attr, max_iov_segments_per_dto, NUMBER),
	F(dat_ia_attr, max_lmrs, NUMBER),
	F(dat_ia_attr, max_lmr_block_size, NUMBER),
	F(dat_ia_attr, max_lmr_virtual_address, NUMBER),
	F(dat_ia_attr, max_pzs, NUMBER),
	F(dat_ia_attr, max_message_size, NUMBER),
	F(dat_ia_attr, max_rdma_size, NUMBER),
	F(dat_ia_attr, max_rmrs, NUMBER),
	F(dat_ia_attr, max_rmr_target_address, NUMBER),
	F(dat_ia_attr, max_srqs, NUMBER),
	F(dat_ia_attr, max_ep_per_srq, NUMBER),
	F(dat_ia_attr, max_recv_per_srq, NUMBER),
	F(dat_ia_attr, max_iov_segments_per_rdma_read, NUMBER),
	F(dat_ia_attr, max_iov_segments_per_rdma_write, NUMBER),
	F(dat_ia_attr, max_rdma_read_in, NUMBER),
	F(dat_ia_attr, max_rdma_read_out, NUMBER),
	F(dat_ia_attr, max_rdma_read_per_ep_in_guaranteed, NUMBER),
	F(dat_ia_attr, max_rdma_read_per_ep_out_guaranteed, NUMBER),
	F(dat_ia_attr, zb_supported, NUMBER),
	F(dat_ia_attr, extension_supported, NUMBER),
	F(dat_ia_attr, extension_version, NUMBER),
	F(dat_ia_attr, num_transport_attr, NUMBER),
	F(dat_ia_attr, transport_attr, PAIRS),
	F(dat_ia_attr, num_vendor_attr, NUMBER),
	F(dat_ia_attr, vendor_attr, PAIRS),
};

static const struct field provider_fields[] = {
	F(dat_provider_attr, provider_name, TEXT),
	F(dat_provider_attr, provider_version_major, NUMBER),
	F(dat_provider_attr, provider_version_minor, NUMBER),
	F(dat_provider_attr, dapl_version_major, NUMBER),
	F(dat_provider_attr, dapl_version_minor, NUMBER),
	F(dat_provider_attr, lmr_mem_types_supported, NUMBER),
	F(dat_provider_attr, iov_ownership_on_return, NUMBER),
	F(dat_provider_attr, dat_qos_supported, NUMBER),
	F(dat_provider_attr, completion_flags_supported, NUMBER),
	F(dat_provider_attr, is_thread_safe, NUMBER),
	F(dat_provider_attr, max_private_data_size, NUMBER),
	F(dat_provider_attr, supports_multipath, NUMBER),
	F(dat_provider_attr, ep_creator, NUMBER),
	F(dat_provider_attr, pz_support, NUMBER),
	F(dat_provider_attr, optimal_buffer_alignment, NUMBER),
	F(dat_provider_attr, srq_supported, NUMBER),
	F(dat_provider_attr, srq_watermarks_supported, NUMBER),
	F(dat_provider_attr, srq_ep_pz_difference_supported, NUMBER),
	F(dat_provider_attr, srq_info_supported, NUMBER),
	F(dat_provider_attr, ep_recv_info_supported, NUMBER),
	F(dat_provider_attr, lmr_sync_req, NUMBER),
	F(dat_provider_attr, dto_async_return_guaranteed, NUMBER),
	F(dat_provider_attr, rdma_write_for_rdma_read_req, NUMBER),
	F(dat_provider_attr, rdma_read_lmr_rmr_context_exposure, NUMBER),
	F(dat_provider_attr, rmr_scope_supported, NUMBER),
	F(dat_provider_attr, is_signal_safe, NUMBER),
	F(dat_provider_attr, ha_supported, NUMBER),
	F(dat_provider_attr, ha_loadbalancing, NUMBER),
	F(dat_provider_attr, num_provider_specific_attr, NUMBER),
	F(dat_provider_attr, provider_specific_attr, PAIRS),
};

#define EP(member, kind)      F(dat_ep_param, member, kind)
#define EP_ATTR(member, kind) F(dat_ep_param, ep_attr.member, kind)
static const struct field ep_fields[] = {
	EP(ia_handle, POINTER),
	EP(ep_state, NUMBER),
	EP(comm, NUMBER),
	EP(local_ia_address_ptr, ADDRESS),
	EP(local_port_qual, KEY),
	EP(remote_ia_address_ptr, ADDRESS),
	EP(remote_port_qual, KEY),
	EP(pz_handle, POINTER),
	EP(recv_evd_handle, POINTER),
	EP(request_evd_handle, POINTER),
	EP(connect_evd_handle, POINTER),
	EP(srq_handle, POINTER),
	EP_ATTR(service_type, NUMBER),
	EP_ATTR(max_message_size, NUMBER),
	EP_ATTR(max_rdma_size, NUMBER),
	EP_ATTR(qos, NUMBER),
	EP_ATTR(recv_completion_flags, NUMBER),
	EP_ATTR(request_completion_flags, NUMBER),
	EP_ATTR(max_recv_dtos, NUMBER),
	EP_ATTR(max_request_dtos, NUMBER),
	EP_ATTR(max_recv_iov, NUMBER),
	EP_ATTR(max_request_iov, NUMBER),
	EP_ATTR(max_rdma_read_in, NUMBER),
	EP_ATTR(max_rdma_read_out, NUMBER),
	EP_ATTR(srq_soft_hw, NUMBER),
	EP_ATTR(max_rdma_read_iov, NUMBER),
	EP_ATTR(max_rdma_write_iov, NUMBER),
	EP_ATTR(ep_transport_specific_count, NUMBER),
	EP_ATTR(ep_transport_specific, PAIRS),
	EP_ATTR(ep_provider_specific_count, NUMBER),
	EP_ATTR(ep_provider_specific, PAIRS),
};

static const struct field evd_fields[] = {
	F(dat_evd_param, ia_handle, POINTER),
	F(dat_evd_param, evd_qlen, NUMBER),
	F(dat_evd_param, evd_state, NUMBER),
	F(dat_evd_param, cno_handle, POINTER),
	F(dat_evd_param, evd_flags, NUMBER),
};

static const struct field cno_fields[] = {
	F(dat_cno_param, ia_handle, POINTER),
	F(dat_cno_param, proxy_type, NUMBER),
	F(dat_cno_param, proxy.agent.instance_data, POINTER),
};

static const struct field lmr_fields[] = {
	F(dat_lmr_param, ia_handle, POINTER),
	F(dat_lmr_param, mem_type, NUMBER),
	F(dat_lmr_param, region_desc.for_va, POINTER),
	F(dat_lmr_param, length, NUMBER),
	F(dat_lmr_param, pz_handle, POINTER),
	F(dat_lmr_param, mem_priv, NUMBER),
	F(dat_lmr_param, va_type, NUMBER),
	F(dat_lmr_param, lmr_context, KEY),
	F(dat_lmr_param, rmr_context, KEY),
	F(dat_lmr_param, registered_size, NUMBER),
	F(dat_lmr_param, registered_address, POINTER),
};

static const struct field rmr_fields[] = {
	F(dat_rmr_param, ia_handle, POINTER),
	F(dat_rmr_param, pz_handle, POINTER),
	F(dat_rmr_param, lmr_triplet.virtual_address, POINTER),
	F(dat_rmr_param, lmr_triplet.segment_length, NUMBER),
	F(dat_rmr_param, lmr_triplet.lmr_context, KEY),
	F(dat_rmr_param, mem_priv, NUMBER),
	F(dat_rmr_param, rmr_context, KEY),
	F(dat_rmr_param, rmr_scope, NUMBER),
	F(dat_rmr_param, va_type, NUMBER),
};

static const struct field srq_fields[] = {
	F(dat_srq_param, ia_handle, POINTER),
	F(dat_srq_param, srq_state, NUMBER),
	F(dat_srq_param, pz_handle, POINTER),
	F(dat_srq_param, max_recv_dtos, NUMBER),
	F(dat_srq_param, max_recv_iov, NUMBER),
	F(dat_srq_param, low_watermark, NUMBER),
	F(dat_srq_param, available_dto_count, NUMBER),
	F(dat_srq_param, outstanding_dto_count, NUMBER),
};

static const struct field pz_fields[] = {
	F(dat_pz_param, ia_handle, POINTER),
};

static const struct field psp_fields[] = {
	F(dat_psp_param, ia_handle, POINTER),
	F(dat_psp_param, conn_qual, NUMBER),
	F(dat_psp_param, evd_handle, POINTER),
	F(dat_psp_param, psp_flags, NUMBER),
};

static const struct field rsp_fields[] = {
	F(dat_rsp_param, ia_handle, POINTER),
	F(dat_rsp_param, conn_qual, NUMBER),
	F(dat_rsp_param, evd_handle, POINTER),
	F(dat_rsp_param, ep_handle, POINTER),
};

static const struct field cr_fields[] = {
	F(dat_cr_param, remote_ia_address_ptr, ADDRESS),
	F(dat_cr_param, remote_port_qual, KEY),
	F(dat_cr_param, private_data_size, NUMBER),
	F(dat_cr_param, local_ep_handle, POINTER),
};

/* ------------------------------------------------------- objects */

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, req_evd;
static DAT_PZ_HANDLE pz;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static char *mem;
static DAT_IA_ATTR ia_attr;

static void open_ia(void)
{
	must("dat_ia_open",
	     dat_ia_open((char *)(uintptr_t)adapter, 8, &async_evd, &ia));
	name_of(ia, "ia");
	name_of(async_evd, "async_evd");
}

static DAT_EVD_HANDLE new_evd(const char *name, unsigned flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	must("dat_evd_create", dat_evd_create(ia, 64, DAT_HANDLE_NULL,
					      (DAT_EVD_FLAGS)flags, &evd));
	name_of(evd, name);
	return evd;
}

static void make_objects(void)
{
	DAT_REGION_DESCRIPTION desc;

	open_ia();
	must("dat_pz_create", dat_pz_create(ia, &pz));
	name_of(pz, "pz");
	cr_evd = new_evd("cr_evd", DAT_EVD_CR_FLAG);
	conn_evd = new_evd("conn_evd", DAT_EVD_CONNECTION_FLAG);
	recv_evd = new_evd("recv_evd", DAT_EVD_DTO_FLAG);
	req_evd = new_evd("req_evd", DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	mem = aligned_alloc(4096, MEM_SIZE);
	if (!mem)
		exit(2);
	memset(mem, 0, MEM_SIZE);
	name_of(mem, "mem");
	desc.for_va = mem;
	must("dat_lmr_create",
	     dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, desc, MEM_SIZE, pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
			    &lmr_context, &rmr_context, NULL, NULL));
	name_of(lmr, "lmr");
}

static DAT_EP_HANDLE new_ep(const char *name)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	must("dat_ep_create",
	     dat_ep_create(ia, pz, recv_evd, req_evd, conn_evd, NULL, &ep));
	name_of(ep, name);
	return ep;
}

static void say_ep(const char *prefix, DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle = 2, request_idle = 2;
	DAT_EP_STATE state = 99;
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	if (answer("dat_ep_query",
		   dat_ep_query(ep, DAT_EP_FIELD_ALL, &param)) == DAT_SUCCESS)
		SAY(prefix, &param, ep_fields);
	answer("dat_ep_get_status",
	       dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	say("state", "%s: %d", prefix, (int)state);
	say("idle", "%s: %d %d", prefix, (int)recv_idle, (int)request_idle);
}

static void part_ia(void)
{
	static DAT_PROVIDER_ATTR prov_attr;

	open_ia();
	must("dat_ia_query",
	     dat_ia_query(ia, &async_evd, DAT_IA_FIELD_ALL, &ia_attr,
			  DAT_PROVIDER_FIELD_ALL, &prov_attr));
	SAY("ia", &ia_attr, ia_fields);
	SAY("provider", &prov_attr, provider_fields);
	for (int i = 0; i < 36; i++)
		printf("merging.%d.%d\t%d\n", i / 6, i % 6,
		       (int)prov_attr
			       .evd_stream_merging_supported[i / 6][i % 6]);
	answer("dat_ia_close", dat_ia_close(ia, DAT_CLOSE_DEFAULT));
}

static void part_evd(void)
{
	static const unsigned flags[] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
		DAT_EVD_DTO_FLAG,      DAT_EVD_CONNECTION_FLAG,
		DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
		DAT_EVD_DEFAULT_FLAG,
	};
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_CNO_PARAM cno_param = {0};
	DAT_EVD_PARAM param = {0};
	char what[64];

	open_ia();
	answer("async dat_evd_query",
	       dat_evd_query(async_evd, DAT_EVD_FIELD_ALL, &param));
	SAY("async_evd", &param, evd_fields);
	must("dat_cno_create",
	     dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	name_of(cno, "cno");
	answer("dat_cno_query",
	       dat_cno_query(cno, DAT_CNO_FIELD_ALL, &cno_param));
	SAY("cno", &cno_param, cno_fields);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		snprintf(what, sizeof(what), "evd.%x", flags[i]);
		if (answer(what, dat_evd_create(ia, 10, i & 1 ? cno : NULL,
						(DAT_EVD_FLAGS)flags[i],
						&evd)) != DAT_SUCCESS)
			continue;
		answer("dat_evd_query",
		       dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		SAY(what, &param, evd_fields);
		answer("dat_evd_free", dat_evd_free(evd));
	}
	answer("dat_cno_free", dat_cno_free(cno));
}

static void part_memory(void)
{
	DAT_LMR_HANDLE part = DAT_HANDLE_NULL;
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION desc;
	DAT_LMR_PARAM lmr_param = {0};
	DAT_RMR_PARAM rmr_param;
	DAT_PZ_PARAM pz_param = {0};
	DAT_LMR_CONTEXT context;
	DAT_VADDR at;
	DAT_VLEN size;

	memset(&rmr_param, 0, sizeof(rmr_param));
	make_objects();
	answer("dat_pz_query", dat_pz_query(pz, DAT_PZ_FIELD_ALL, &pz_param));
	SAY("pz", &pz_param, pz_fields);
	answer("dat_lmr_query",
	       dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &lmr_param));
	SAY("lmr", &lmr_param, lmr_fields);
	desc.for_lmr_handle = lmr;
	if (answer("dat_lmr_create of an LMR",
		   dat_lmr_create(ia, DAT_MEM_TYPE_LMR, desc, MEM_SIZE, pz,
				  DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA,
				  &part, &context, NULL, &size, &at)) ==
	    DAT_SUCCESS) {
		answer("dat_lmr_query",
		       dat_lmr_query(part, DAT_LMR_FIELD_ALL, &lmr_param));
		SAY("lmr of an LMR", &lmr_param, lmr_fields);
		answer("dat_lmr_free", dat_lmr_free(part));
	}
	if (answer("dat_rmr_create", dat_rmr_create(pz, &rmr)) == DAT_SUCCESS) {
		answer("dat_rmr_query",
		       dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &rmr_param));
		SAY("rmr", &rmr_param, rmr_fields);
		answer("dat_rmr_free", dat_rmr_free(rmr));
	}
	answer("dat_lmr_free", dat_lmr_free(lmr));
	answer("dat_pz_free", dat_pz_free(pz));
}

static void part_srq(void)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 20, .max_recv_iov = 2};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_SRQ_PARAM param;

	memset(&param, 0, sizeof(param));
	make_objects();
	must("dat_srq_create", dat_srq_create(ia, pz, &attr, &srq));
	name_of(srq, "srq");
	answer("dat_srq_query", dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	SAY("srq", &param, srq_fields);
	if (answer("dat_ep_create_with_srq",
		   dat_ep_create_with_srq(ia, pz, recv_evd, req_evd, conn_evd,
					  srq, NULL, &ep)) == DAT_SUCCESS) {
		say_ep("ep with srq", ep);
		answer("dat_srq_free", dat_srq_free(srq));
		answer("dat_ep_free", dat_ep_free(ep));
	}
	answer("dat_srq_free", dat_srq_free(srq));
}

static void part_ep(void)
{
	static const DAT_COUNT depths[] = {1, 16, 100};
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;
	char what[32];

	make_objects();
	ep = new_ep("ep");
	say_ep("ep", ep);
	answer("dat_ep_reset", dat_ep_reset(ep));
	answer("dat_ep_free", dat_ep_free(ep));
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		memset(&attr, 0, sizeof(attr));
		attr.service_type = DAT_SERVICE_TYPE_RC;
		attr.max_recv_dtos = attr.max_request_dtos = depths[i];
		attr.max_recv_iov = attr.max_request_iov = 1;
		attr.max_message_size = attr.max_rdma_size = 65536;
		snprintf(what, sizeof(what), "ep of %d", (int)depths[i]);
		if (answer(what, dat_ep_create(ia, pz, recv_evd, req_evd,
					       conn_evd, &attr, &ep)) !=
		    DAT_SUCCESS)
			continue;
		say_ep(what, ep);
		answer("dat_ep_free", dat_ep_free(ep));
	}
}

static void part_points(void)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_EP_HANDLE ep;

	memset(&psp_param, 0, sizeof(psp_param));
	memset(&rsp_param, 0, sizeof(rsp_param));
	make_objects();
	ep = new_ep("ep");
	must("dat_psp_create",
	     dat_psp_create(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	answer("dat_psp_query",
	       dat_psp_query(psp, DAT_PSP_FIELD_ALL, &psp_param));
	SAY("psp", &psp_param, psp_fields);
	answer("a second dat_psp_create",
	       dat_psp_create(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	answer("dat_psp_free", dat_psp_free(psp));
	if (answer("dat_rsp_create", dat_rsp_create(ia, qual + 2, ep, cr_evd,
						    &rsp)) != DAT_SUCCESS)
		return;
	answer("dat_rsp_query",
	       dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_param));
	SAY("rsp", &rsp_param, rsp_fields);
	say_ep("ep of rsp", ep);
	answer("dat_rsp_free", dat_rsp_free(rsp));
	say_ep("ep after rsp", ep);
}

/* -------------------------------------------------- conversation */

static void say_dto(const char *name, const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	say(name,
	    "ep %s, cookie %" PRIu64 ", status %d, length %" PRIu64
	    ", operation %d",
	    by_name(data->ep_handle), (uint64_t)data->user_cookie.as_64,
	    (int)data->status, (uint64_t)data->transfered_length,
	    (int)data->operation);
}

static void say_connection(const char *name,
			   const DAT_CONNECTION_EVENT_DATA *data)
{
	const char *text = data->private_data;

	say(name, "ep %s, private data %d: %.20s", by_name(data->ep_handle),
	    (int)data->private_data_size,
	    text && data->private_data_size > 0 ? text : "");
}

/* Not truncate_flag, which Debian's libraries leave as it was. */
static void say_arrival(const char *name, const DAT_CR_ARRIVAL_EVENT_DATA *data)
{
	DAT_CR_PARAM param;

	name_of(data->cr_handle, "cr");
	say(name, "sp %s, qualifier %" PRIu64 ", local address %s",
	    by_name(data->sp_handle.psp_handle), (uint64_t)data->conn_qual,
	    data->local_ia_address_ptr ? "given" : "NULL");
	memset(&param, 0, sizeof(param));
	answer("dat_cr_query",
	       dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, &param));
	SAY("cr", &param, cr_fields);
}

/* The next event of EVD as a line NAME. False if none came in time. */
static bool say_event(const char *name, DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	DAT_COUNT more = -1;
	char what[128];
	DAT_RETURN ret;

	memset(ev, 0, sizeof(*ev));
	ret = dat_evd_wait(evd, PATIENCE_US, 1, ev, &more);
	if (ret != DAT_SUCCESS) {
		answer(name, ret);
		return false;
	}
	snprintf(what, sizeof(what), "%s: 0x%x of %s", name,
		 (unsigned)ev->event_number, by_name(ev->evd_handle));
	switch ((unsigned)ev->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		say_dto(what, &ev->event_data.dto_completion_event_data);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		say(what, "rmr %s, status %d",
		    by_name(ev->event_data.rmr_completion_event_data
				    .rmr_handle),
		    (int)ev->event_data.rmr_completion_event_data.status);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		say_arrival(what, &ev->event_data.cr_arrival_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		say_connection(what, &ev->event_data.connect_event_data);
		break;
	default:
		say(what, "no event of this conversation");
		break;
	}
	return true;
}

static DAT_LMR_TRIPLET segment(size_t at, size_t length)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = lmr_context,
		.virtual_address = (DAT_VADDR)(uintptr_t)(mem + at),
		.segment_length = length,
	};
}

static DAT_RMR_TRIPLET target(size_t at, size_t length)
{
	return (DAT_RMR_TRIPLET){
		.rmr_context = rmr_context,
		.virtual_address = (DAT_VADDR)(uintptr_t)(mem + at),
		.segment_length = length,
	};
}

static DAT_DTO_COOKIE cookie(uint64_t n)
{
	return (DAT_DTO_COOKIE){.as_64 = n};
}

static void receive(DAT_EP_HANDLE ep, uint64_t n)
{
	DAT_LMR_TRIPLET seg = segment(4096 * n, 4096);

	answer("dat_ep_post_recv",
	       dat_ep_post_recv(ep, 1, &seg, cookie(n),
				DAT_COMPLETION_DEFAULT_FLAG));
}

/* ACTIVE asks, PASSIVE accepts; WAIT for both to be told. */
static bool connect_eps(DAT_EP_HANDLE active, DAT_EP_HANDLE passive)
{
	static char hello[] = "hello", welcome[] = "welcome";
	DAT_EVENT ev;

	must("dat_ia_query", dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &ia_attr,
					  DAT_PROVIDER_FIELD_NONE, NULL));
	must("dat_ep_connect",
	     dat_ep_connect(active, ia_attr.ia_address_ptr, qual, PATIENCE_US,
			    sizeof(hello), hello, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	if (!say_event("request", cr_evd, &ev))
		return false;
	must("dat_cr_accept",
	     dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle,
			   passive, sizeof(welcome), welcome));
	return true;
}

/* Both ends share one connection EVD; their order is not given. */
static void say_both(const char *name, DAT_EP_HANDLE first)
{
	char what[64];
	DAT_EVENT ev[2];
	DAT_EP_HANDLE ep;
	DAT_COUNT more;

	for (int i = 0; i < 2; i++)
		if (dat_evd_wait(conn_evd, PATIENCE_US, 1, &ev[i], &more) !=
		    DAT_SUCCESS) {
			say(name, "one is missing");
			return;
		}
	ep = ev[0].event_data.connect_event_data.ep_handle;
	for (int i = 0; i < 2; i++) {
		const DAT_EVENT *e = &ev[i ^ (ep != first)];

		snprintf(what, sizeof(what), "%s: 0x%x", name,
			 (unsigned)e->event_number);
		say_connection(what, &e->event_data.connect_event_data);
	}
}

static void transfers(DAT_EP_HANDLE a, DAT_EP_HANDLE b)
{
	DAT_LMR_TRIPLET seg = segment(0, 100), big = segment(0, 2000);
	DAT_RMR_TRIPLET to = target(32768, 2000);
	DAT_EVENT ev;

	answer("dat_ep_post_send",
	       dat_ep_post_send(a, 1, &seg, cookie(11),
				DAT_COMPLETION_DEFAULT_FLAG));
	say_event("send", req_evd, &ev);
	say_event("receive", recv_evd, &ev);
	answer("dat_ep_post_rdma_write",
	       dat_ep_post_rdma_write(a, 1, &big, cookie(12), &to,
				      DAT_COMPLETION_DEFAULT_FLAG));
	say_event("write", req_evd, &ev);
	answer("dat_ep_post_rdma_read",
	       dat_ep_post_rdma_read(a, 1, &big, cookie(13), &to,
				     DAT_COMPLETION_DEFAULT_FLAG));
	say_event("read", req_evd, &ev);
	answer("dat_ep_post_send of nothing",
	       dat_ep_post_send(b, 0, NULL, cookie(14),
				DAT_COMPLETION_DEFAULT_FLAG));
	say_event("send", req_evd, &ev);
	say_event("receive", recv_evd, &ev);
}

static void part_conversation(void)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_EP_HANDLE a, b;
	DAT_EVENT ev;

	make_objects();
	a = new_ep("a");
	b = new_ep("b");
	must("dat_psp_create",
	     dat_psp_create(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	name_of(psp, "psp");
	receive(a, 1);
	receive(b, 2);
	receive(b, 3);
	say_ep("a before", a);
	if (!connect_eps(a, b))
		return;
	say_both("established", a);
	say_ep("a connected", a);
	say_ep("b connected", b);
	transfers(a, b);
	answer("dat_ep_disconnect",
	       dat_ep_disconnect(a, DAT_CLOSE_GRACEFUL_FLAG));
	say_both("disconnected", a);
	say_event("flush", recv_evd, &ev);
	say_ep("a disconnected", a);
	say_ep("b disconnected", b);
	answer("dat_ep_reset", dat_ep_reset(a));
	say_ep("a reset", a);
	answer("dat_ep_free", dat_ep_free(a));
	answer("dat_ep_free", dat_ep_free(b));
	answer("dat_psp_free", dat_psp_free(psp));
	answer("dat_lmr_free", dat_lmr_free(lmr));
	answer("dat_pz_free", dat_pz_free(pz));
	answer("dat_evd_free", dat_evd_free(cr_evd));
	answer("dat_evd_free", dat_evd_free(conn_evd));
	answer("dat_evd_free", dat_evd_free(recv_evd));
	answer("dat_evd_free", dat_evd_free(req_evd));
	answer("dat_ia_close", dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* What the active end hears when PASSIVE says nothing, no, or nobody is. */
static void part_refused(void)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_EP_HANDLE a;
	DAT_EVENT ev;

	make_objects();
	a = new_ep("a");
	must("dat_ia_query", dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &ia_attr,
					  DAT_PROVIDER_FIELD_NONE, NULL));
	answer("dat_ep_connect",
	       dat_ep_connect(a, ia_attr.ia_address_ptr, qual, PATIENCE_US, 0,
			      NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG));
	say_event("nobody listens", conn_evd, &ev);
	say_ep("a after nobody", a);
	answer("dat_ep_reset", dat_ep_reset(a));
	must("dat_psp_create",
	     dat_psp_create(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	name_of(psp, "psp");
	answer("dat_ep_connect",
	       dat_ep_connect(a, ia_attr.ia_address_ptr, qual, PATIENCE_US, 0,
			      NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG));
	if (!say_event("request", cr_evd, &ev))
		return;
	answer("dat_cr_reject",
	       dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle, 0,
			     NULL));
	say_event("rejected", conn_evd, &ev);
	say_ep("a after reject", a);
	answer("dat_ep_reset", dat_ep_reset(a));
	answer("dat_ep_connect for 1 s",
	       dat_ep_connect(a, ia_attr.ia_address_ptr, qual, 1000000, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	if (say_event("request", cr_evd, &ev))
		say_event("no answer", conn_evd, &ev);
	say_ep("a after time", a);
}

/* ---------------------------------------------------------- main */

static const struct part parts[] = {
	{"ia", part_ia},
	{"evd", part_evd},
	{"memory", part_memory},
	{"srq", part_srq},
	{"ep", part_ep},
	{"points", part_points},
	{"conversation", part_conversation},
	{"refused", part_refused},
};

int main(int argc, char **argv)
{
	return parts_main(argc, argv, parts, sizeof(parts) / sizeof(parts[0]),
			  PART_SECONDS);
}
