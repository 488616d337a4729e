/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arguments.c - arguments ADAPTER QUALIFIER: what the calls answer to each
 * argument that no program should give, or gives seldom: no result, no bytes
 * and far too many, bits that mean nothing, objects of another adapter or kind.
 *
 * Knows the public API only and judges nothing. Numbers that are no handle are
 * left out, since the historic library reads through all of them.
 */
#include "test/differ/tries.h"

#include <netinet/in.h>

static const int64_t values[] = {-1, 0, 1, HUGE};

static DAT_RETURN open_with(const char *name, DAT_COUNT qlen, DAT_UINT32 major,
			    DAT_UINT32 minor)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_openv((char *)(uintptr_t)name, qlen, &evd, &ia, major,
			    minor, DAT_FALSE);
}

static void ia_table(void)
{
	DAT_EVD_HANDLE evd = mine.cr_evd;
	const char *major;
	DAT_COUNT n;

	TRY("no name", open_with(NULL, 8, 2, 0));
	TRY("an empty name", open_with("", 8, 2, 0));
	TRY("a name of nobody", open_with("nobody", 8, 2, 0));
	TRY("version 3.0", open_with(adapter, 8, 3, 0));
	TRY("version 1.2", open_with(adapter, 8, 1, 2));
	TRY("version 2.1", open_with(adapter, 8, 2, 1));
	for (size_t i = 0; i < N_OF(values); i++)
		TRY(numbered("queue of", (uint64_t)values[i]),
		    open_with(adapter, (DAT_COUNT)values[i], 2, 0));
	TRY("EVD of connection requests",
	    dat_ia_open((char *)(uintptr_t)adapter, 8, &evd, &made));
	evd = mine.async_evd;
	TRY("asynchronous EVD of another",
	    dat_ia_open((char *)(uintptr_t)adapter, 8, &evd, &made));
	TRY("no place for the EVD",
	    dat_ia_open((char *)(uintptr_t)adapter, 8, NULL, &made));
	evd = DAT_HANDLE_NULL;
	TRY("no place for the IA",
	    dat_ia_open((char *)(uintptr_t)adapter, 8, &evd, NULL));
	TRY("close NULL", dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_ABRUPT_FLAG));
	TRY("close, unknown flag", dat_ia_close(other.ia, (DAT_CLOSE_FLAGS)2));
	TRY("close, in use", dat_ia_close(other.ia, DAT_CLOSE_GRACEFUL_FLAG));
	TRY("no place for a context", dat_get_consumer_context(mine.pz, NULL));
	TRY("no place for a type", dat_get_handle_type(mine.pz, NULL));
	TRY("list: none", dat_registry_list_providers(0, &n, NULL));
	TRY("list: -1", dat_registry_list_providers(-1, &n, NULL));
	TRY("list: no number", dat_registry_list_providers(0, NULL, NULL));
	TRY("list: no place", dat_registry_list_providers(1, &n, NULL));
	TRY("no place for a minor text",
	    dat_strerror(DAT_SUCCESS, &major, NULL));
	TRY("no code", dat_strerror((DAT_RETURN)0x7fff0000, &major, &major));
}

static DAT_RETURN evd_with(DAT_COUNT qlen, DAT_CNO_HANDLE cno, unsigned flags)
{
	return dat_evd_create(mine.ia, qlen, cno, (DAT_EVD_FLAGS)flags, &made);
}

static void evd_table(void)
{
	static const int64_t lengths[] = {-1, 0, 1, 1000000, HUGE};

	for (size_t i = 0; i < N_OF(lengths); i++) {
		DAT_COUNT n = (DAT_COUNT)lengths[i];

		TRY(numbered("software queue of", (uint64_t)lengths[i]),
		    evd_with(n, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG));
		TRY(numbered("queue of transfers of", (uint64_t)lengths[i]),
		    evd_with(n, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG));
	}
	TRY("flags 0", evd_with(8, DAT_HANDLE_NULL, 0));
	for (unsigned bit = 1; bit && bit <= 1u << 30; bit <<= 1)
		TRY(numbered("flag", bit), evd_with(8, DAT_HANDLE_NULL, bit));
	for (unsigned i = 0; i < 6; i++)
		for (unsigned j = i + 1; j < 6; j++) {
			unsigned a = i ? 8u << i : 1, b = 8u << j;

			TRY(numbered("flags", a | b),
			    evd_with(8, DAT_HANDLE_NULL, a | b));
		}
	TRY("CNO of another", evd_with(8, other.cno, DAT_EVD_DTO_FLAG));
	TRY("a PZ for the CNO", evd_with(8, mine.pz, DAT_EVD_DTO_FLAG));
	TRY("no IA", dat_evd_create(DAT_HANDLE_NULL, 8, DAT_HANDLE_NULL,
				    DAT_EVD_DTO_FLAG, &made));
	TRY("no place", dat_evd_create(mine.ia, 8, DAT_HANDLE_NULL,
				       DAT_EVD_DTO_FLAG, NULL));
	TRY("CNO, no place",
	    dat_cno_create(mine.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL));
	TRY("CNO, no IA", dat_cno_create(DAT_HANDLE_NULL,
					 DAT_OS_WAIT_PROXY_AGENT_NULL, &made));
	TRY("PZ, no place", dat_pz_create(mine.ia, NULL));
	TRY("PZ, no IA", dat_pz_create(DAT_HANDLE_NULL, &made));
}

static DAT_RETURN post_se(int number)
{
	DAT_EVENT ev = {.event_number = (DAT_EVENT_NUMBER)number};

	return dat_evd_post_se(se_evd, &ev);
}

static void wait_table(void)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	TRY("post nothing", dat_evd_post_se(se_evd, NULL));
	TRY("post a transfer", post_se(DAT_DTO_COMPLETION_EVENT));
	TRY("post to an EVD of requests",
	    dat_evd_post_se(mine.cr_evd,
			    &(DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT}));
	TRY("dequeue, no place", dat_evd_dequeue(mine.dto_evd, NULL));
	for (size_t i = 0; i < N_OF(values); i++) {
		TRY(numbered("threshold", (uint64_t)values[i]),
		    dat_evd_wait(se_evd, 0, (DAT_COUNT)values[i], &ev, &more));
		TRY(numbered("threshold of transfers", (uint64_t)values[i]),
		    dat_evd_wait(mine.dto_evd, 0, (DAT_COUNT)values[i], &ev,
				 &more));
	}
	TRY("wait, no event", dat_evd_wait(se_evd, 0, 1, NULL, &more));
	TRY("wait, no number", dat_evd_wait(se_evd, 0, 1, &ev, NULL));
	TRY("wait for a CNO, no place", dat_cno_wait(mine.cno, 0, NULL));
	TRY("CNO of another", dat_evd_modify_cno(se_evd, other.cno));
	TRY("a PZ for the CNO", dat_evd_modify_cno(se_evd, mine.pz));
	TRY("enable a CNO", dat_evd_enable(mine.cno));
	TRY("disable a CNO", dat_evd_disable(mine.cno));
	TRY("CNO unwaitable", dat_evd_set_unwaitable(mine.cno));
	TRY("free the CNO of none", dat_cno_free(DAT_HANDLE_NULL));
	TRY("free an asynchronous EVD", dat_evd_free(mine.async_evd));
	TRY("free a CNO as EVD", dat_evd_free(mine.cno));
	TRY("free an EVD as CNO", dat_cno_free(se_evd));
	TRY("free an EVD as PZ", dat_pz_free(se_evd));
	TRY("free a PZ as LMR", dat_lmr_free(mine.pz));
	TRY("free a PZ as EP", dat_ep_free(mine.pz));
	TRY("free a PZ in use", dat_pz_free(mine.pz));
}

static DAT_RETURN lmr_of(DAT_PVOID at, DAT_VLEN length, DAT_PZ_HANDLE pz,
			 unsigned priv, unsigned va_type)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = at};
	DAT_LMR_CONTEXT l;
	DAT_RMR_CONTEXT r;

	return dat_lmr_create(mine.ia, DAT_MEM_TYPE_VIRTUAL, desc, length, pz,
			      (DAT_MEM_PRIV_FLAGS)priv, (DAT_VA_TYPE)va_type,
			      &made, &l, &r, NULL, NULL);
}

static DAT_RETURN lmr_typed(unsigned type, DAT_HANDLE of)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = mem};
	DAT_LMR_CONTEXT l;

	if (of)
		desc.for_lmr_handle = of;
	return dat_lmr_create(mine.ia, (DAT_MEM_TYPE)type, desc, 4096, mine.pz,
			      DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &made, &l,
			      NULL, NULL, NULL);
}

/* All places are there but those that MISSING has a bit of. */
static DAT_RETURN lmr_without(unsigned missing)
{
	DAT_REGION_DESCRIPTION desc = {.for_va = mem};
	DAT_LMR_CONTEXT l;
	DAT_RMR_CONTEXT r;
	DAT_VLEN size;
	DAT_VADDR at;

	return dat_lmr_create(mine.ia, DAT_MEM_TYPE_VIRTUAL, desc, 4096,
			      mine.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			      missing & 1 ? NULL : &made,
			      missing & 2 ? NULL : &l, missing & 4 ? NULL : &r,
			      missing & 8 ? NULL : &size,
			      missing & 16 ? NULL : &at);
}

#define ALL_PRIV DAT_MEM_PRIV_ALL_FLAG

static void lmr_table(void)
{
	static const uint64_t lengths[] = {
		0, 1, 4095, UINT64_C(1) << 40, UINT64_MAX - 4096, UINT64_MAX};

	for (size_t i = 0; i < N_OF(lengths); i++)
		TRY(numbered("length", lengths[i]),
		    lmr_of(mem, lengths[i], mine.pz, ALL_PRIV, 0));
	for (unsigned i = 0; i < 64; i++) {
		/* the four that there are, in all ways */
		unsigned priv = (i & 3) | (i & 12) << 2 | (i & 48) << 2;

		TRY(numbered("privileges", priv),
		    lmr_of(mem, 4096, mine.pz, priv, 0));
	}
	TRY("privileges 0x100", lmr_of(mem, 4096, mine.pz, 0x133, 0));
	TRY("privileges 0x40000000", lmr_of(mem, 4096, mine.pz, 0x40000033, 0));
	for (unsigned type = 1; type < 4; type++)
		TRY(numbered("va_type", type),
		    lmr_of(mem, 4096, mine.pz, ALL_PRIV, type));
	TRY("nowhere", lmr_of(NULL, 4096, mine.pz, ALL_PRIV, 0));
	TRY("at an odd address", lmr_of(mem + 1, 4096, mine.pz, ALL_PRIV, 0));
	TRY("PZ of another", lmr_of(mem, 4096, other.pz, ALL_PRIV, 0));
	TRY("no PZ", lmr_of(mem, 4096, DAT_HANDLE_NULL, ALL_PRIV, 0));
	TRY("an EVD for the PZ", lmr_of(mem, 4096, se_evd, ALL_PRIV, 0));
	for (unsigned type = 3; type < 9; type++)
		TRY(numbered("memory type", type),
		    lmr_typed(type, DAT_HANDLE_NULL));
	TRY("shared memory",
	    lmr_typed(DAT_MEM_TYPE_SHARED_VIRTUAL, DAT_HANDLE_NULL));
	TRY("LMR of an LMR", lmr_typed(DAT_MEM_TYPE_LMR, lmr));
	TRY("LMR of a PZ", lmr_typed(DAT_MEM_TYPE_LMR, mine.pz));
	for (unsigned missing = 1; missing < 32; missing <<= 1)
		TRY(numbered("no place", missing), lmr_without(missing));
	TRY("no place but the first", lmr_without(30));
	TRY("sync of none", dat_lmr_sync_rdma_read(mine.ia, NULL, 0));
	TRY("sync of one that is not there",
	    dat_lmr_sync_rdma_read(mine.ia, NULL, 1));
	TRY("sync of one", dat_lmr_sync_rdma_write(mine.ia, &seg, 1));
}

static const struct field ep_fields[] = {
	F(DAT_EP_ATTR, service_type),
	F(DAT_EP_ATTR, max_message_size),
	F(DAT_EP_ATTR, max_rdma_size),
	F(DAT_EP_ATTR, qos),
	F(DAT_EP_ATTR, recv_completion_flags),
	F(DAT_EP_ATTR, request_completion_flags),
	F(DAT_EP_ATTR, max_recv_dtos),
	F(DAT_EP_ATTR, max_request_dtos),
	F(DAT_EP_ATTR, max_recv_iov),
	F(DAT_EP_ATTR, max_request_iov),
	F(DAT_EP_ATTR, max_rdma_read_in),
	F(DAT_EP_ATTR, max_rdma_read_out),
	F(DAT_EP_ATTR, srq_soft_hw),
	F(DAT_EP_ATTR, max_rdma_read_iov),
	F(DAT_EP_ATTR, max_rdma_write_iov),
	F(DAT_EP_ATTR, ep_transport_specific_count),
	F(DAT_EP_ATTR, ep_provider_specific_count),
};

static DAT_RETURN ep_of(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn)
{
	DAT_EP_ATTR attr = right_attr();

	return dat_ep_create(ia, pz, recv, req, conn, &attr, &made);
}

static void ep_table(void)
{
	static const DAT_EVD_HANDLE none = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE dto = mine.dto_evd, conn = mine.conn_evd;

	for (size_t i = 0; i < N_OF(ep_fields); i++)
		for (size_t j = 0; j < N_OF(values); j++) {
			DAT_EP_ATTR attr = right_attr();
			const char *name =
				varied(&attr, &ep_fields[i], values[j]);

			TRY(name, dat_ep_create(mine.ia, mine.pz, dto, dto,
						conn, &attr, &made));
		}
	TRY("no IA", ep_of(none, mine.pz, dto, dto, conn));
	TRY("no PZ", ep_of(mine.ia, none, dto, dto, conn));
	TRY("PZ of another", ep_of(mine.ia, other.pz, dto, dto, conn));
	TRY("no EVD for receives", ep_of(mine.ia, mine.pz, none, dto, conn));
	TRY("no EVD for requests", ep_of(mine.ia, mine.pz, dto, none, conn));
	TRY("no EVD for connections", ep_of(mine.ia, mine.pz, dto, dto, none));
	TRY("no EVDs", ep_of(mine.ia, mine.pz, none, none, none));
	TRY("receives to another",
	    ep_of(mine.ia, mine.pz, other.dto_evd, dto, conn));
	TRY("requests to another",
	    ep_of(mine.ia, mine.pz, dto, other.dto_evd, conn));
	TRY("connections to another",
	    ep_of(mine.ia, mine.pz, dto, dto, other.conn_evd));
	TRY("receives to software", ep_of(mine.ia, mine.pz, se_evd, dto, conn));
	TRY("requests to software", ep_of(mine.ia, mine.pz, dto, se_evd, conn));
	TRY("connections to requests",
	    ep_of(mine.ia, mine.pz, dto, dto, mine.cr_evd));
	TRY("an EVD for the PZ", ep_of(mine.ia, dto, dto, dto, conn));
	TRY("a PZ for an EVD", ep_of(mine.ia, mine.pz, mine.pz, dto, conn));
	TRY("no place",
	    dat_ep_create(mine.ia, mine.pz, dto, dto, conn, NULL, NULL));
	TRY("status, no places", dat_ep_get_status(new_ep(), NULL, NULL, NULL));
	TRY("disconnect, unknown flag",
	    dat_ep_disconnect(new_ep(), (DAT_CLOSE_FLAGS)2));
}

static const struct field srq_fields[] = {
	F(DAT_SRQ_ATTR, max_recv_dtos),
	F(DAT_SRQ_ATTR, max_recv_iov),
	F(DAT_SRQ_ATTR, low_watermark),
};

static void srq_table(void)
{
	DAT_SRQ_ATTR right = {.max_recv_dtos = 8, .max_recv_iov = 1};

	for (size_t i = 0; i < N_OF(srq_fields); i++)
		for (size_t j = 0; j < N_OF(values); j++) {
			DAT_SRQ_ATTR attr = right;
			const char *name =
				varied(&attr, &srq_fields[i], values[j]);

			TRY(name,
			    dat_srq_create(mine.ia, mine.pz, &attr, &made));
		}
	TRY("no attributes", dat_srq_create(mine.ia, mine.pz, NULL, &made));
	TRY("no IA", dat_srq_create(DAT_HANDLE_NULL, mine.pz, &right, &made));
	TRY("no PZ", dat_srq_create(mine.ia, DAT_HANDLE_NULL, &right, &made));
	TRY("PZ of another", dat_srq_create(mine.ia, other.pz, &right, &made));
	TRY("no place", dat_srq_create(mine.ia, mine.pz, &right, NULL));
	for (size_t i = 0; i < N_OF(values); i++) {
		DAT_COUNT n = (DAT_COUNT)values[i];

		TRY(numbered("watermark", (uint64_t)values[i]),
		    dat_srq_set_lw(new_srq(), n));
		TRY(numbered("receive of segments", (uint64_t)values[i]),
		    dat_srq_post_recv(new_srq(), n, &seg, cookie()));
	}
	TRY("receive of a segment nowhere",
	    dat_srq_post_recv(new_srq(), 1, NULL, cookie()));
	TRY("RMR, no place", dat_rmr_create(mine.pz, NULL));
	TRY("RMR, no PZ", dat_rmr_create(DAT_HANDLE_NULL, &made));
}

/* Nothing, all, a bit of nothing, and no place for the answer. */
#define QUERIES(what, handle, call, mask, all, param)                  \
	do {                                                           \
		TRY(what ", nothing", call(handle, (mask)0, param));   \
		TRY(what ", all", call(handle, all, param));           \
		TRY(what ", a bit of nothing",                         \
		    call(handle, (mask)(1u << 30), param));            \
		TRY(what ", no place", call(handle, all, NULL));       \
		TRY(what ", NULL", call(DAT_HANDLE_NULL, all, param)); \
		TRY(what ", of an IA", call(mine.ia, all, param));     \
	} while (0)

static void query_table(void)
{
	union {
		DAT_EVD_PARAM evd;
		DAT_CNO_PARAM cno;
		DAT_PZ_PARAM pz;
		DAT_LMR_PARAM lmr;
		DAT_EP_PARAM ep;
		DAT_SRQ_PARAM srq;
	} p;

	QUERIES("EVD", se_evd, dat_evd_query, DAT_EVD_PARAM_MASK,
		DAT_EVD_FIELD_ALL, &p.evd);
	QUERIES("CNO", mine.cno, dat_cno_query, DAT_CNO_PARAM_MASK,
		DAT_CNO_FIELD_ALL, &p.cno);
	QUERIES("PZ", mine.pz, dat_pz_query, DAT_PZ_PARAM_MASK,
		DAT_PZ_FIELD_ALL, &p.pz);
	QUERIES("LMR", lmr, dat_lmr_query, DAT_LMR_PARAM_MASK,
		DAT_LMR_FIELD_ALL, &p.lmr);
	QUERIES("EP", new_ep(), dat_ep_query, DAT_EP_PARAM_MASK,
		DAT_EP_FIELD_ALL, &p.ep);
	QUERIES("SRQ", new_srq(), dat_srq_query, DAT_SRQ_PARAM_MASK,
		DAT_SRQ_FIELD_ALL, &p.srq);
}

static DAT_RETURN ia_asked(DAT_IA_ATTR_MASK mask, DAT_IA_ATTR *attr,
			   DAT_PROVIDER_ATTR_MASK more, DAT_PROVIDER_ATTR *prov)
{
	DAT_EVD_HANDLE evd;

	return dat_ia_query(mine.ia, &evd, mask, attr, more, prov);
}

static void ia_query_table(void)
{
	const DAT_IA_ATTR_MASK ia_bit = UINT64_C(1) << 62;
	const DAT_PROVIDER_ATTR_MASK bit = UINT64_C(1) << 62;

	TRY("nothing", ia_asked(0, NULL, 0, NULL));
	TRY("no EVD", dat_ia_query(mine.ia, NULL, 0, NULL, 0, NULL));
	TRY("IA, no place", ia_asked(DAT_IA_FIELD_ALL, NULL, 0, NULL));
	TRY("IA, a bit of nothing", ia_asked(ia_bit, &ia_attr, 0, NULL));
	TRY("provider, no place",
	    ia_asked(0, NULL, DAT_PROVIDER_FIELD_ALL, NULL));
	TRY("provider, a bit of nothing",
	    ia_asked(0, NULL, bit, &provider_attr));
	TRY("NULL", dat_ia_query(DAT_HANDLE_NULL, NULL, 0, NULL, 0, NULL));
}

static DAT_RETURN psp_at(DAT_CONN_QUAL at, DAT_EVD_HANDLE evd, unsigned flags)
{
	return dat_psp_create(mine.ia, at, evd, (DAT_PSP_FLAGS)flags, &made);
}

static DAT_RETURN rsp_at(DAT_CONN_QUAL at, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
	return dat_rsp_create(mine.ia, at, ep, evd, &made);
}

static DAT_RETURN any_psp(DAT_CONN_QUAL *at, unsigned flags)
{
	return dat_psp_create_any(mine.ia, at, mine.cr_evd,
				  (DAT_PSP_FLAGS)flags, &made);
}

static void point_table(void)
{
	DAT_CONN_QUAL at;

	TRY("PSP at 0", psp_at(0, mine.cr_evd, 0));
	TRY("PSP at 0xffff", psp_at(0xffff, mine.cr_evd, 0));
	TRY("PSP at 0x10000", psp_at(0x10000, mine.cr_evd, 0));
	TRY("PSP at 1 << 40", psp_at(UINT64_C(1) << 40, mine.cr_evd, 0));
	TRY("PSP, flag 2", psp_at(next_qual(), mine.cr_evd, 2));
	TRY("PSP, flag 0x100", psp_at(next_qual(), mine.cr_evd, 0x100));
	TRY("PSP, no EVD", psp_at(next_qual(), DAT_HANDLE_NULL, 0));
	TRY("PSP, EVD of software", psp_at(next_qual(), se_evd, 0));
	TRY("PSP, EVD of another", psp_at(next_qual(), other.cr_evd, 0));
	TRY("PSP, a PZ for the EVD", psp_at(next_qual(), mine.pz, 0));
	TRY("PSP, no IA",
	    dat_psp_create(DAT_HANDLE_NULL, next_qual(), mine.cr_evd,
			   DAT_PSP_CONSUMER_FLAG, &made));
	TRY("PSP, no place", dat_psp_create(mine.ia, next_qual(), mine.cr_evd,
					    DAT_PSP_CONSUMER_FLAG, NULL));
	TRY("any PSP", any_psp(&at, 0));
	TRY("any PSP, no place for where", any_psp(NULL, 0));
	TRY("any PSP, flag 2", any_psp(&at, 2));
	TRY("RSP, no EVD", rsp_at(next_qual(), new_ep(), DAT_HANDLE_NULL));
	TRY("RSP, EVD of software", rsp_at(next_qual(), new_ep(), se_evd));
	TRY("RSP, EVD of another", rsp_at(next_qual(), new_ep(), other.cr_evd));
	TRY("RSP, a PZ for the endpoint",
	    rsp_at(next_qual(), mine.pz, mine.cr_evd));
	TRY("RSP at 1 << 40", rsp_at(UINT64_C(1) << 40, new_ep(), mine.cr_evd));
	TRY("RSP, no place",
	    dat_rsp_create(mine.ia, next_qual(), new_ep(), mine.cr_evd, NULL));
	TRY("free NULL as PSP", dat_psp_free(DAT_HANDLE_NULL));
	TRY("free NULL as RSP", dat_rsp_free(DAT_HANDLE_NULL));
	TRY("free a PZ as PSP", dat_psp_free(mine.pz));
}

static DAT_RETURN asks(DAT_TIMEOUT timeout, DAT_COUNT size, DAT_PVOID data,
		       unsigned qos, unsigned flags)
{
	return dat_ep_connect(new_ep(), ia_attr.ia_address_ptr, next_qual(),
			      timeout, size, data, (DAT_QOS)qos,
			      (DAT_CONNECT_FLAGS)flags);
}

static DAT_RETURN asks_for(DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL at)
{
	return dat_ep_connect(new_ep(), address, at, PATIENCE_US, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void connect_table(void)
{
	static struct sockaddr_in6 nowhere = {.sin6_family = 99};
	DAT_COUNT most = provider_attr.max_private_data_size;

	TRY("no endpoint",
	    dat_ep_connect(DAT_HANDLE_NULL, ia_attr.ia_address_ptr, qual,
			   PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG));
	TRY("no address", asks_for(NULL, next_qual()));
	TRY("an address of no family",
	    asks_for((DAT_IA_ADDRESS_PTR)&nowhere, next_qual()));
	TRY("qualifier 0", asks_for(ia_attr.ia_address_ptr, 0));
	TRY("qualifier 1 << 40",
	    asks_for(ia_attr.ia_address_ptr, UINT64_C(1) << 40));
	TRY("timeout 0", asks(0, 0, NULL, 0, 0));
	TRY("timeout 1", asks(1, 0, NULL, 0, 0));
	TRY("timeout infinite", asks(DAT_TIMEOUT_INFINITE, 0, NULL, 0, 0));
	TRY("private data -1", asks(PATIENCE_US, -1, mem, 0, 0));
	TRY("private data that is not there", asks(PATIENCE_US, 1, NULL, 0, 0));
	TRY("private data of no bytes", asks(PATIENCE_US, 0, mem, 0, 0));
	TRY("most private data", asks(PATIENCE_US, most, mem, 0, 0));
	TRY("more private data", asks(PATIENCE_US, most + 1, mem, 0, 0));
	for (unsigned qos = 1; qos <= 16; qos <<= 1)
		TRY(numbered("QoS", qos), asks(PATIENCE_US, 0, NULL, qos, 0));
	for (unsigned flag = 1; flag <= 4; flag <<= 1)
		TRY(numbered("flag", flag),
		    asks(PATIENCE_US, 0, NULL, 0, flag));
	TRY("like one that is not connected",
	    dat_ep_dup_connect(new_ep(), new_ep(), PATIENCE_US, 0, NULL,
			       DAT_QOS_BEST_EFFORT));
	TRY("like itself",
	    dat_ep_dup_connect(new_ep(), DAT_HANDLE_NULL, PATIENCE_US, 0, NULL,
			       DAT_QOS_BEST_EFFORT));
}

static DAT_RETURN accepts(DAT_EP_HANDLE ep, DAT_COUNT size, DAT_PVOID data)
{
	DAT_EP_HANDLE asker;

	return dat_cr_accept(new_request(&asker), ep, size, data);
}

static DAT_RETURN rejects(DAT_COUNT size, DAT_PVOID data)
{
	DAT_EP_HANDLE asker;

	return dat_cr_reject(new_request(&asker), size, data);
}

static DAT_EP_HANDLE ep_of_another(void)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	quietly(dat_ep_create(other.ia, other.pz, other.dto_evd, other.dto_evd,
			      other.conn_evd, NULL, &ep));
	return ep;
}

static DAT_RETURN accepts_asker(void)
{
	DAT_EP_HANDLE asker;
	DAT_CR_HANDLE cr = new_request(&asker);

	return dat_cr_accept(cr, asker, 0, NULL);
}

static DAT_RETURN request_asked(DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	DAT_EP_HANDLE asker;

	return dat_cr_query(new_request(&asker), mask, param);
}

static DAT_RETURN hands_off(DAT_CONN_QUAL to)
{
	DAT_EP_HANDLE asker;

	return dat_cr_handoff(new_request(&asker), to);
}

static void request_table(void)
{
	DAT_COUNT most = provider_attr.max_private_data_size;
	DAT_CR_PARAM param;

	TRY("accept NULL", dat_cr_accept(DAT_HANDLE_NULL, new_ep(), 0, NULL));
	TRY("accept, no endpoint", accepts(DAT_HANDLE_NULL, 0, NULL));
	TRY("accept with a PZ", accepts(mine.pz, 0, NULL));
	TRY("accept by another", accepts(ep_of_another(), 0, NULL));
	TRY("accept by who asked", accepts_asker());
	TRY("accept, data of -1", accepts(new_ep(), -1, mem));
	TRY("accept, data that is not there", accepts(new_ep(), 1, NULL));
	TRY("accept, most data", accepts(new_ep(), most, mem));
	TRY("accept, more data", accepts(new_ep(), most + 1, mem));
	TRY("accept, far more data", accepts(new_ep(), 1024, mem));
	TRY("reject NULL", dat_cr_reject(DAT_HANDLE_NULL, 0, NULL));
	TRY("reject, data of -1", rejects(-1, mem));
	TRY("reject, data that is not there", rejects(1, NULL));
	TRY("reject, most data", rejects(most, mem));
	TRY("reject, more data", rejects(most + 1, mem));
	TRY("reject, far more data", rejects(1024, mem));
	TRY("query, nothing", request_asked(0, &param));
	TRY("query, a bit of nothing",
	    request_asked((DAT_CR_PARAM_MASK)(1u << 30), &param));
	TRY("query, no place", request_asked(DAT_CR_FIELD_ALL, NULL));
	TRY("handoff", hands_off(next_qual()));
}

static DAT_RETURN sends(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			unsigned flags)
{
	return dat_ep_post_send(ep, n, iov, cookie(),
				(DAT_COMPLETION_FLAGS)flags);
}

static DAT_RETURN writes(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_RMR_TRIPLET *to,
			 unsigned flags)
{
	return dat_ep_post_rdma_write(ep, n, &seg, cookie(), to,
				      (DAT_COMPLETION_FLAGS)flags);
}

static DAT_RETURN reads(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_RMR_TRIPLET *from,
			unsigned flags)
{
	return dat_ep_post_rdma_read(ep, n, &seg, cookie(), from,
				     (DAT_COMPLETION_FLAGS)flags);
}

static void post_table(void)
{
	DAT_LMR_TRIPLET empty = seg;
	DAT_COUNT over = ia_attr.max_iov_segments_per_dto + 1;

	empty.segment_length = 0;
	for (size_t i = 0; i < N_OF(values); i++) {
		DAT_COUNT n = (DAT_COUNT)values[i];

		TRY(numbered("receive of segments", (uint64_t)values[i]),
		    receives(new_ep(), n, &seg, 0));
		TRY(numbered("send of segments", (uint64_t)values[i]),
		    sends(new_connected(), n, &seg, 0));
		TRY(numbered("write of segments", (uint64_t)values[i]),
		    writes(new_connected(), n, &target, 0));
		TRY(numbered("read of segments", (uint64_t)values[i]),
		    reads(new_connected(), n, &target, 0));
	}
	TRY("receive of too many", receives(new_ep(), over, &seg, 0));
	TRY("send of too many", sends(new_connected(), over, &seg, 0));
	TRY("receive nowhere", receives(new_ep(), 1, NULL, 0));
	TRY("send of what is not there", sends(new_connected(), 1, NULL, 0));
	TRY("receive of no bytes", receives(new_ep(), 1, &empty, 0));
	TRY("send of no bytes", sends(new_connected(), 1, &empty, 0));
	TRY("write to nowhere", writes(new_connected(), 1, NULL, 0));
	TRY("read from nowhere", reads(new_connected(), 1, NULL, 0));
	for (unsigned flag = 1; flag <= 0x100; flag <<= 1) {
		TRY(numbered("receive, flag", flag),
		    receives(new_ep(), 1, &seg, flag));
		TRY(numbered("send, flag", flag),
		    sends(new_connected(), 1, &seg, flag));
		TRY(numbered("write, flag", flag),
		    writes(new_connected(), 1, &target, flag));
		TRY(numbered("read, flag", flag),
		    reads(new_connected(), 1, &target, flag));
	}
	TRY("receive of NULL", receives(DAT_HANDLE_NULL, 1, &seg, 0));
	TRY("send of NULL", sends(DAT_HANDLE_NULL, 1, &seg, 0));
	TRY("send, not connected", sends(new_ep(), 1, &seg, 0));
	TRY("write, not connected", writes(new_ep(), 1, &target, 0));
}

/* -------------------------------------------------------------- main */

static const struct part tables[] = {
	{"dat_ia_open", ia_table},
	{"dat_evd_create", evd_table},
	{"waiting and freeing", wait_table},
	{"dat_lmr_create", lmr_table},
	{"dat_ep_create", ep_table},
	{"dat_srq_create", srq_table},
	{"queries", query_table},
	{"dat_ia_query", ia_query_table},
	{"service points", point_table},
	{"dat_ep_connect", connect_table},
	{"requests", request_table},
	{"posts", post_table},
};

int main(int argc, char **argv)
{
	return tries_main(argc, argv, tables, N_OF(tables));
}
