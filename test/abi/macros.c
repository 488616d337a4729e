/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * macros.c - one use of every calling macro of the public headers.
 *
 * Compiled by t_headers.sh as C and as C++ and never run: a macro body is
 * seen by no compiler until somebody uses it. Does not check where the calls
 * go; abi-check does, by expanding the same macros. What only one version has
 * is marked as in the headers.
 * Threads, ownership: never runs.
 * Rule: argument types are those of the calls of the same name.
 */
#ifndef DAT_1_2
#include <dat2/dat_ib_extensions.h>
#endif
#include <dat2/dat_registry.h>
#include <dat2/udat.h>

/* any object of the type, from memory that is not there */
#define ARG(type) (*(type *)arg)

#ifdef __cplusplus
extern "C" {
#endif

DAT_RETURN direct_calls_queues(void *arg);
DAT_RETURN direct_calls_ep(void *arg);
DAT_RETURN direct_calls_points(void *arg);
DAT_RETURN direct_calls_others(void *arg);
#ifndef DAT_1_2
DAT_RETURN extension_calls(void *arg);
DAT_RETURN collective_calls(void *arg);
#endif
DAT_RETURN other_macros(void *arg);

DAT_RETURN direct_calls_queues(void *arg)
{
	DAT_RETURN ret = 0;

	ret |= DAT_EVD_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_COUNT),
			      ARG(DAT_CNO_HANDLE), ARG(DAT_EVD_FLAGS),
			      ARG(DAT_EVD_HANDLE *));
	ret |= DAT_EVD_ENABLE(ARG(DAT_EVD_HANDLE));
	ret |= DAT_EVD_WAIT(ARG(DAT_EVD_HANDLE), ARG(DAT_TIMEOUT),
			    ARG(DAT_COUNT), ARG(DAT_EVENT *), ARG(DAT_COUNT *));
	ret |= DAT_EVD_DISABLE(ARG(DAT_EVD_HANDLE));
	ret |= DAT_EVD_SET_UNWAITABLE(ARG(DAT_EVD_HANDLE));
	ret |= DAT_EVD_CLEAR_UNWAITABLE(ARG(DAT_EVD_HANDLE));
	ret |= DAT_EVD_MODIFY_CNO(ARG(DAT_EVD_HANDLE), ARG(DAT_CNO_HANDLE));
	ret |= DAT_CNO_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_OS_WAIT_PROXY_AGENT),
			      ARG(DAT_CNO_HANDLE *));
#ifndef DAT_1_2
	ret |= DAT_CNO_FD_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_FD *),
				 ARG(DAT_CNO_HANDLE *));
#endif
#ifndef DAT_1_2
	ret |= DAT_CNO_TRIGGER(ARG(DAT_CNO_HANDLE), ARG(DAT_EVD_HANDLE *));
#endif
	ret |= DAT_CNO_MODIFY_AGENT(ARG(DAT_CNO_HANDLE),
				    ARG(DAT_OS_WAIT_PROXY_AGENT));
	ret |= DAT_CNO_QUERY(ARG(DAT_CNO_HANDLE), ARG(DAT_CNO_PARAM_MASK),
			     ARG(DAT_CNO_PARAM *));
	ret |= DAT_CNO_FREE(ARG(DAT_CNO_HANDLE));
	ret |= DAT_CNO_WAIT(ARG(DAT_CNO_HANDLE), ARG(DAT_TIMEOUT),
			    ARG(DAT_EVD_HANDLE *));
	ret |= DAT_EVD_QUERY(ARG(DAT_EVD_HANDLE), ARG(DAT_EVD_PARAM_MASK),
			     ARG(DAT_EVD_PARAM *));
	ret |= DAT_EVD_RESIZE(ARG(DAT_EVD_HANDLE), ARG(DAT_COUNT));
	ret |= DAT_EVD_POST_SE(ARG(DAT_EVD_HANDLE), ARG(const DAT_EVENT *));
	ret |= DAT_EVD_DEQUEUE(ARG(DAT_EVD_HANDLE), ARG(DAT_EVENT *));
	ret |= DAT_EVD_FREE(ARG(DAT_EVD_HANDLE));
	return ret;
}

DAT_RETURN direct_calls_ep(void *arg)
{
	DAT_RETURN ret = 0;

	ret |= DAT_EP_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_PZ_HANDLE),
			     ARG(DAT_EVD_HANDLE), ARG(DAT_EVD_HANDLE),
			     ARG(DAT_EVD_HANDLE), ARG(const DAT_EP_ATTR *),
			     ARG(DAT_EP_HANDLE *));
	ret |= DAT_EP_CREATE_WITH_SRQ(
		ARG(DAT_IA_HANDLE), ARG(DAT_PZ_HANDLE), ARG(DAT_EVD_HANDLE),
		ARG(DAT_EVD_HANDLE), ARG(DAT_EVD_HANDLE), ARG(DAT_SRQ_HANDLE),
		ARG(const DAT_EP_ATTR *), ARG(DAT_EP_HANDLE *));
	ret |= DAT_EP_QUERY(ARG(DAT_EP_HANDLE), ARG(DAT_EP_PARAM_MASK),
			    ARG(DAT_EP_PARAM *));
	ret |= DAT_EP_MODIFY(ARG(DAT_EP_HANDLE), ARG(DAT_EP_PARAM_MASK),
			     ARG(const DAT_EP_PARAM *));
	ret |= DAT_EP_CONNECT(ARG(DAT_EP_HANDLE), ARG(DAT_IA_ADDRESS_PTR),
			      ARG(DAT_CONN_QUAL), ARG(DAT_TIMEOUT),
			      ARG(DAT_COUNT), ARG(const DAT_PVOID),
			      ARG(DAT_QOS), ARG(DAT_CONNECT_FLAGS));
#ifndef DAT_1_2
	ret |= DAT_EP_COMMON_CONNECT(ARG(DAT_EP_HANDLE),
				     ARG(DAT_IA_ADDRESS_PTR), ARG(DAT_TIMEOUT),
				     ARG(DAT_COUNT), ARG(const DAT_PVOID));
#endif
	ret |= DAT_EP_DUP_CONNECT(ARG(DAT_EP_HANDLE), ARG(DAT_EP_HANDLE),
				  ARG(DAT_TIMEOUT), ARG(DAT_COUNT),
				  ARG(const DAT_PVOID), ARG(DAT_QOS));
	ret |= DAT_EP_DISCONNECT(ARG(DAT_EP_HANDLE), ARG(DAT_CLOSE_FLAGS));
	ret |= DAT_EP_POST_SEND(ARG(DAT_EP_HANDLE), ARG(DAT_COUNT),
				ARG(DAT_LMR_TRIPLET *), ARG(DAT_DTO_COOKIE),
				ARG(DAT_COMPLETION_FLAGS));
#ifndef DAT_1_2
	ret |= DAT_EP_POST_SEND_WITH_INVALIDATE(
		ARG(DAT_EP_HANDLE), ARG(DAT_COUNT), ARG(DAT_LMR_TRIPLET *),
		ARG(DAT_DTO_COOKIE), ARG(DAT_COMPLETION_FLAGS),
		ARG(DAT_BOOLEAN), ARG(DAT_RMR_CONTEXT));
#endif
	ret |= DAT_EP_POST_RECV(ARG(DAT_EP_HANDLE), ARG(DAT_COUNT),
				ARG(DAT_LMR_TRIPLET *), ARG(DAT_DTO_COOKIE),
				ARG(DAT_COMPLETION_FLAGS));
	ret |= DAT_EP_POST_RDMA_READ(
		ARG(DAT_EP_HANDLE), ARG(DAT_COUNT), ARG(DAT_LMR_TRIPLET *),
		ARG(DAT_DTO_COOKIE), ARG(const DAT_RMR_TRIPLET *),
		ARG(DAT_COMPLETION_FLAGS));
#ifndef DAT_1_2
	ret |= DAT_EP_POST_RDMA_READ_TO_RMR(
		ARG(DAT_EP_HANDLE), ARG(const DAT_RMR_TRIPLET *),
		ARG(DAT_DTO_COOKIE), ARG(const DAT_RMR_TRIPLET *),
		ARG(DAT_COMPLETION_FLAGS));
#endif
	ret |= DAT_EP_POST_RDMA_WRITE(
		ARG(DAT_EP_HANDLE), ARG(DAT_COUNT), ARG(DAT_LMR_TRIPLET *),
		ARG(DAT_DTO_COOKIE), ARG(const DAT_RMR_TRIPLET *),
		ARG(DAT_COMPLETION_FLAGS));
	ret |= DAT_EP_GET_STATUS(ARG(DAT_EP_HANDLE), ARG(DAT_EP_STATE *),
				 ARG(DAT_BOOLEAN *), ARG(DAT_BOOLEAN *));
	ret |= DAT_EP_FREE(ARG(DAT_EP_HANDLE));
	ret |= DAT_EP_RESET(ARG(DAT_EP_HANDLE));
	ret |= DAT_EP_RECV_QUERY(ARG(DAT_EP_HANDLE), ARG(DAT_COUNT *),
				 ARG(DAT_COUNT *));
	ret |= DAT_EP_SET_WATERMARK(ARG(DAT_EP_HANDLE), ARG(DAT_COUNT),
				    ARG(DAT_COUNT));
	return ret;
}

DAT_RETURN direct_calls_points(void *arg)
{
	DAT_RETURN ret = 0;

	ret |= DAT_CR_QUERY(ARG(DAT_CR_HANDLE), ARG(DAT_CR_PARAM_MASK),
			    ARG(DAT_CR_PARAM *));
	ret |= DAT_CR_ACCEPT(ARG(DAT_CR_HANDLE), ARG(DAT_EP_HANDLE),
			     ARG(DAT_COUNT), ARG(const DAT_PVOID));
#ifndef DAT_1_2
	ret |= DAT_CR_REJECT(ARG(DAT_CR_HANDLE), ARG(DAT_COUNT),
			     ARG(const DAT_PVOID));
#else
	ret |= DAT_CR_REJECT(ARG(DAT_CR_HANDLE));
#endif
	ret |= DAT_CR_HANDOFF(ARG(DAT_CR_HANDLE), ARG(DAT_CONN_QUAL));
	ret |= DAT_PSP_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_CONN_QUAL),
			      ARG(DAT_EVD_HANDLE), ARG(DAT_PSP_FLAGS),
			      ARG(DAT_PSP_HANDLE *));
	ret |= DAT_PSP_CREATE_ANY(ARG(DAT_IA_HANDLE), ARG(DAT_CONN_QUAL *),
				  ARG(DAT_EVD_HANDLE), ARG(DAT_PSP_FLAGS),
				  ARG(DAT_PSP_HANDLE *));
	ret |= DAT_PSP_QUERY(ARG(DAT_PSP_HANDLE), ARG(DAT_PSP_PARAM_MASK),
			     ARG(DAT_PSP_PARAM *));
	ret |= DAT_PSP_FREE(ARG(DAT_PSP_HANDLE));
	ret |= DAT_RSP_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_CONN_QUAL),
			      ARG(DAT_EP_HANDLE), ARG(DAT_EVD_HANDLE),
			      ARG(DAT_RSP_HANDLE *));
	ret |= DAT_RSP_QUERY(ARG(DAT_RSP_HANDLE), ARG(DAT_RSP_PARAM_MASK),
			     ARG(DAT_RSP_PARAM *));
	ret |= DAT_RSP_FREE(ARG(DAT_RSP_HANDLE));
#ifndef DAT_1_2
	ret |= DAT_CSP_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_COMM *),
			      ARG(DAT_IA_ADDRESS_PTR), ARG(DAT_EVD_HANDLE),
			      ARG(DAT_CSP_HANDLE *));
#endif
#ifndef DAT_1_2
	ret |= DAT_CSP_QUERY(ARG(DAT_CSP_HANDLE), ARG(DAT_CSP_PARAM_MASK),
			     ARG(DAT_CSP_PARAM *));
#endif
#ifndef DAT_1_2
	ret |= DAT_CSP_FREE(ARG(DAT_CSP_HANDLE));
#endif
	return ret;
}

DAT_RETURN direct_calls_others(void *arg)
{
	DAT_RETURN ret = 0;

	ret |= DAT_LMR_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_MEM_TYPE),
			      ARG(DAT_REGION_DESCRIPTION), ARG(DAT_VLEN),
			      ARG(DAT_PZ_HANDLE), ARG(DAT_MEM_PRIV_FLAGS),
#ifndef DAT_1_2
			      ARG(DAT_VA_TYPE), ARG(DAT_LMR_HANDLE *),
#else
			      ARG(DAT_LMR_HANDLE *),
#endif
			      ARG(DAT_LMR_CONTEXT *), ARG(DAT_RMR_CONTEXT *),
			      ARG(DAT_VLEN *), ARG(DAT_VADDR *));
	ret |= DAT_IA_QUERY(ARG(DAT_IA_HANDLE), ARG(DAT_EVD_HANDLE *),
			    ARG(DAT_IA_ATTR_MASK), ARG(DAT_IA_ATTR *),
			    ARG(DAT_PROVIDER_ATTR_MASK),
			    ARG(DAT_PROVIDER_ATTR *));
	ret |= DAT_SET_CONSUMER_CONTEXT(ARG(DAT_HANDLE), ARG(DAT_CONTEXT));
	ret |= DAT_GET_CONSUMER_CONTEXT(ARG(DAT_HANDLE), ARG(DAT_CONTEXT *));
	ret |= DAT_GET_HANDLE_TYPE(ARG(DAT_HANDLE), ARG(DAT_HANDLE_TYPE *));
	ret |= DAT_LMR_QUERY(ARG(DAT_LMR_HANDLE), ARG(DAT_LMR_PARAM_MASK),
			     ARG(DAT_LMR_PARAM *));
	ret |= DAT_LMR_FREE(ARG(DAT_LMR_HANDLE));
	ret |= DAT_LMR_SYNC_RDMA_READ(ARG(DAT_IA_HANDLE),
				      ARG(const DAT_LMR_TRIPLET *),
				      ARG(DAT_VLEN));
	ret |= DAT_LMR_SYNC_RDMA_WRITE(ARG(DAT_IA_HANDLE),
				       ARG(const DAT_LMR_TRIPLET *),
				       ARG(DAT_VLEN));
	ret |= DAT_RMR_CREATE(ARG(DAT_PZ_HANDLE), ARG(DAT_RMR_HANDLE *));
#ifndef DAT_1_2
	ret |= DAT_RMR_CREATE_FOR_EP(ARG(DAT_PZ_HANDLE), ARG(DAT_RMR_HANDLE *));
#endif
	ret |= DAT_RMR_QUERY(ARG(DAT_RMR_HANDLE), ARG(DAT_RMR_PARAM_MASK),
			     ARG(DAT_RMR_PARAM *));
#ifndef DAT_1_2
	ret |= DAT_RMR_BIND(ARG(DAT_RMR_HANDLE), ARG(DAT_LMR_HANDLE),
			    ARG(const DAT_LMR_TRIPLET *),
			    ARG(DAT_MEM_PRIV_FLAGS), ARG(DAT_VA_TYPE),
			    ARG(DAT_EP_HANDLE), ARG(DAT_RMR_COOKIE),
			    ARG(DAT_COMPLETION_FLAGS), ARG(DAT_RMR_CONTEXT *));
#else
	ret |= DAT_RMR_BIND(ARG(DAT_RMR_HANDLE), ARG(const DAT_LMR_TRIPLET *),
			    ARG(DAT_MEM_PRIV_FLAGS), ARG(DAT_EP_HANDLE),
			    ARG(DAT_RMR_COOKIE), ARG(DAT_COMPLETION_FLAGS),
			    ARG(DAT_RMR_CONTEXT *));
#endif
	ret |= DAT_RMR_FREE(ARG(DAT_RMR_HANDLE));
	ret |= DAT_PZ_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_PZ_HANDLE *));
	ret |= DAT_PZ_QUERY(ARG(DAT_PZ_HANDLE), ARG(DAT_PZ_PARAM_MASK),
			    ARG(DAT_PZ_PARAM *));
	ret |= DAT_PZ_FREE(ARG(DAT_PZ_HANDLE));
	ret |= DAT_SRQ_CREATE(ARG(DAT_IA_HANDLE), ARG(DAT_PZ_HANDLE),
			      ARG(DAT_SRQ_ATTR *), ARG(DAT_SRQ_HANDLE *));
	ret |= DAT_SRQ_SET_LW(ARG(DAT_SRQ_HANDLE), ARG(DAT_COUNT));
	ret |= DAT_SRQ_FREE(ARG(DAT_SRQ_HANDLE));
	ret |= DAT_SRQ_QUERY(ARG(DAT_SRQ_HANDLE), ARG(DAT_SRQ_PARAM_MASK),
			     ARG(DAT_SRQ_PARAM *));
	ret |= DAT_SRQ_RESIZE(ARG(DAT_SRQ_HANDLE), ARG(DAT_COUNT));
	ret |= DAT_SRQ_POST_RECV(ARG(DAT_SRQ_HANDLE), ARG(DAT_COUNT),
				 ARG(DAT_LMR_TRIPLET *), ARG(DAT_DTO_COOKIE));
#ifndef DAT_1_2
	ret |= DAT_HANDLE_EXTENDEDOP(ARG(DAT_HANDLE), ARG(DAT_EXTENDED_OP),
				     ARG(va_list));
#endif
#ifndef DAT_1_2
	ret |= DAT_IA_HA_RELATED(ARG(DAT_IA_HANDLE), ARG(const DAT_NAME_PTR),
				 ARG(DAT_BOOLEAN *));
#endif
	return ret;
}

#ifndef DAT_1_2
DAT_RETURN extension_calls(void *arg)
{
	DAT_RETURN ret = 0;

	ret |= dat_ib_post_fetch_and_add(
		ARG(DAT_EP_HANDLE), ARG(DAT_UINT64), ARG(DAT_LMR_TRIPLET *),
		ARG(DAT_CONTEXT), ARG(DAT_RMR_TRIPLET *),
		ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_post_cmp_and_swap(
		ARG(DAT_EP_HANDLE), ARG(DAT_UINT64), ARG(DAT_UINT64),
		ARG(DAT_LMR_TRIPLET *), ARG(DAT_CONTEXT),
		ARG(DAT_RMR_TRIPLET *), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_post_rdma_write_immed(
		ARG(DAT_EP_HANDLE), ARG(int), ARG(DAT_LMR_TRIPLET *),
		ARG(DAT_CONTEXT), ARG(DAT_RMR_TRIPLET *), ARG(DAT_UINT32),
		ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_post_send_ud(ARG(DAT_EP_HANDLE), ARG(int),
				   ARG(DAT_LMR_TRIPLET *),
				   ARG(DAT_IB_ADDR_HANDLE *), ARG(DAT_CONTEXT),
				   ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_ud_cm_free(ARG(DAT_EP_HANDLE), ARG(DAT_CONTEXT));
	ret |= dat_ib_ud_ah_free(ARG(DAT_EP_HANDLE), ARG(DAT_IB_ADDR_HANDLE *));
	ret |= dat_ib_query_counters(ARG(DAT_EP_HANDLE), ARG(int),
				     ARG(DAT_UINT64 *), ARG(int));
	ret |= dat_ib_print_counters(ARG(DAT_EP_HANDLE), ARG(int), ARG(int));
	ret |= dat_ib_start_counter(ARG(DAT_EP_HANDLE),
				    ARG(DAT_IA_COUNTER_TYPE));
	ret |= dat_ib_stop_counter(ARG(DAT_EP_HANDLE),
				   ARG(DAT_IA_COUNTER_TYPE));
	ret |= dat_ib_open_query(ARG(DAT_NAME_PTR), ARG(DAT_HANDLE *),
				 ARG(DAT_UINT64), ARG(DAT_IA_ATTR *),
				 ARG(DAT_UINT64), ARG(DAT_PROVIDER_ATTR *));
	ret |= dat_ib_close_query(ARG(DAT_EP_HANDLE));
	ret |= dat_ib_post_recv_ud(ARG(DAT_EP_HANDLE), ARG(DAT_COUNT),
				   ARG(DAT_LMR_TRIPLET *), ARG(DAT_DTO_COOKIE),
				   ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_query_counters(ARG(DAT_HANDLE), DCNT_IA_ALL_COUNTERS,
				  ARG(DAT_UINT64 *), 0);
	ret |= dat_print_counters(ARG(DAT_HANDLE), DCNT_IA_ALL_COUNTERS, 0);
	return ret;
}

DAT_RETURN collective_calls(void *arg)
{
	DAT_RETURN ret = 0;

	ret |= dat_ib_collective_create_member(ARG(DAT_EP_HANDLE), ARG(void *),
					       ARG(DAT_IB_COLLECTIVE_MEMBER *),
					       ARG(DAT_UINT32 *));
	ret |= dat_ib_collective_free_member(ARG(DAT_EP_HANDLE), ARG(void *));
	ret |= dat_ib_collective_create_group(
		ARG(DAT_IB_COLLECTIVE_MEMBER *), ARG(int), ARG(unsigned int),
		ARG(unsigned int), ARG(DAT_IB_COLLECTIVE_GROUP *),
		ARG(DAT_EVD_HANDLE), ARG(DAT_PZ_HANDLE), ARG(DAT_CONTEXT));
	ret |= dat_ib_collective_free_group(ARG(DAT_EP_HANDLE));
	ret |= dat_ib_collective_set_clock(ARG(DAT_EP_HANDLE), ARG(DAT_UINT64),
					   ARG(DAT_CONTEXT));
	ret |= dat_ib_collective_read_clock(ARG(DAT_EP_HANDLE),
					    ARG(DAT_UINT64 *));
	ret |= dat_ib_collective_scatter(ARG(DAT_EP_HANDLE), ARG(void *),
					 ARG(int), ARG(void *), ARG(int),
					 ARG(unsigned int), ARG(DAT_CONTEXT),
					 ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_scatterv(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(DAT_COUNT *),
		ARG(DAT_COUNT *), ARG(void *), ARG(int), ARG(unsigned int),
		ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_gather(ARG(DAT_EP_HANDLE), ARG(void *),
					ARG(int), ARG(void *), ARG(int),
					ARG(unsigned int), ARG(DAT_CONTEXT),
					ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_gatherv(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(int), ARG(void *),
		ARG(DAT_COUNT *), ARG(DAT_COUNT *), ARG(unsigned int),
		ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_allgather(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(int), ARG(void *),
		ARG(int), ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_allgatherv(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(int), ARG(void *),
		ARG(DAT_COUNT *), ARG(DAT_COUNT *), ARG(DAT_CONTEXT),
		ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_alltoall(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(int), ARG(void *),
		ARG(int), ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_alltoallv(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(DAT_COUNT *),
		ARG(DAT_COUNT *), ARG(void *), ARG(DAT_COUNT *),
		ARG(DAT_COUNT *), ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_reduce(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(int), ARG(void *),
		ARG(int), ARG(unsigned int), ARG(unsigned int),
		ARG(unsigned int), ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_allreduce(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(int), ARG(void *),
		ARG(int), ARG(unsigned int), ARG(unsigned int),
		ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_reduce_scatter(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(int), ARG(void *),
		ARG(DAT_COUNT *), ARG(unsigned int), ARG(unsigned int),
		ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_scan(ARG(DAT_EP_HANDLE), ARG(void *), ARG(int),
				      ARG(void *), ARG(int), ARG(unsigned int),
				      ARG(unsigned int), ARG(DAT_CONTEXT),
				      ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_broadcast(
		ARG(DAT_EP_HANDLE), ARG(void *), ARG(int), ARG(unsigned int),
		ARG(DAT_CONTEXT), ARG(DAT_COMPLETION_FLAGS));
	ret |= dat_ib_collective_barrier(ARG(DAT_EP_HANDLE), ARG(DAT_CONTEXT),
					 ARG(DAT_COMPLETION_FLAGS));
	return ret;
}
#endif

DAT_RETURN other_macros(void *arg)
{
#ifndef DAT_1_2
	const char *text;
#endif
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_PROVIDER_ATTR attr = ARG(DAT_PROVIDER_ATTR);
	DAT_EP_ATTR ep_attr = ARG(DAT_EP_ATTR);
	DAT_RETURN ret;

	/* old member names, and an attribute structure that can be assigned */
	ep_attr.max_mtu_size = 1;
	attr = ARG(DAT_PROVIDER_ATTR);
	attr.evd_stream_merging_supported[0][0] = DAT_TRUE;
	ret = dat_ia_open(ARG(DAT_NAME_PTR), 8, ARG(DAT_EVD_HANDLE *),
			  ARG(DAT_IA_HANDLE *));
	ret |= dat_cno_create(ARG(DAT_IA_HANDLE), agent, ARG(DAT_CNO_HANDLE *));
	ret |= dat_cno_modify_agent(DAT_HANDLE_NULL,
				    DAT_OS_WAIT_PROXY_AGENT_NULL);
#ifndef DAT_1_2
	ret |= dat_strerror_extension(DAT_IB_ERR, &text);
#endif
#ifndef DAT_1_2
	ret |= dat_strerror_ext_status(DAT_IB_OP_ERR, &text);
#endif
	ret |= DAT_GET_TYPE(ret) | DAT_GET_SUBTYPE(ret) | DAT_IS_WARNING(ret);
	ret |= attr.evd_stream_merging_supported[0][0];
#ifndef DAT_1_2
	ret |= DAT_IA_HANDLE_TO_UL(DAT_UL_TO_IA_HANDLE(1)) != 0;
#else
	ret |= DAT_NOT_IMPLEMENTED;
#endif
	return ret | (ep_attr.max_message_size != 0) |
	       ((DAT_IA_FIELD_IA_MAX_DTO_PER_OP & DAT_IA_ALL) != 0);
}

#ifdef __cplusplus
}
#endif
