/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * udat_redirection.h - direct calls and slot types of the user-space calls.
 *
 * The user-space half of dat_redirection.h, where the rules are. Does not
 * check handles: these macros read through them.
 * Threads, blocking, events: those of the dat_ call of the same name.
 * Ownership: none of its own.
 * Rule: slots and argument orders are compiled into programs (test/abi).
 */
#ifndef DAT2_UDAT_REDIRECTION_H
#define DAT2_UDAT_REDIRECTION_H

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Direct calls; each is the dat_ call of the same name. */

#ifndef DAT_1_2
#define DAT_LMR_CREATE(ia_handle, mem_type, region_description, length,  \
		       pz_handle, privileges, va_type, lmr_handle,       \
		       lmr_context, rmr_context, registered_length,      \
		       registered_address)                               \
	(*DAT_HANDLE_TO_PROVIDER(ia_handle)->lmr_create_func)(           \
		(ia_handle), (mem_type), (region_description), (length), \
		(pz_handle), (privileges), (va_type), (lmr_handle),      \
		(lmr_context), (rmr_context), (registered_length),       \
		(registered_address))
#else
#define DAT_LMR_CREATE(ia_handle, mem_type, region_description, length,    \
		       pz_handle, privileges, lmr_handle, lmr_context,     \
		       rmr_context, registered_length, registered_address) \
	(*DAT_HANDLE_TO_PROVIDER(ia_handle)->lmr_create_func)(             \
		(ia_handle), (mem_type), (region_description), (length),   \
		(pz_handle), (privileges), (lmr_handle), (lmr_context),    \
		(rmr_context), (registered_length), (registered_address))
#endif

#define DAT_EVD_CREATE(ia_handle, evd_min_qlen, cno_handle, evd_flags,  \
		       evd_handle)                                      \
	(*DAT_HANDLE_TO_PROVIDER(ia_handle)->evd_create_func)(          \
		(ia_handle), (evd_min_qlen), (cno_handle), (evd_flags), \
		(evd_handle))

#define DAT_EVD_ENABLE(evd_handle) \
	(*DAT_HANDLE_TO_PROVIDER(evd_handle)->evd_enable_func)((evd_handle))

#define DAT_EVD_WAIT(evd_handle, timeout, threshold, event, nmore) \
	(*DAT_HANDLE_TO_PROVIDER(evd_handle)->evd_wait_func)(      \
		(evd_handle), (timeout), (threshold), (event), (nmore))

#define DAT_EVD_DISABLE(evd_handle) \
	(*DAT_HANDLE_TO_PROVIDER(evd_handle)->evd_disable_func)((evd_handle))

#define DAT_EVD_SET_UNWAITABLE(evd_handle)                              \
	(*DAT_HANDLE_TO_PROVIDER(evd_handle)->evd_set_unwaitable_func)( \
		(evd_handle))

#define DAT_EVD_CLEAR_UNWAITABLE(evd_handle)                              \
	(*DAT_HANDLE_TO_PROVIDER(evd_handle)->evd_clear_unwaitable_func)( \
		(evd_handle))

#define DAT_EVD_MODIFY_CNO(evd_handle, cno_handle)                  \
	(*DAT_HANDLE_TO_PROVIDER(evd_handle)->evd_modify_cno_func)( \
		(evd_handle), (cno_handle))

#define DAT_CNO_CREATE(ia_handle, agent, cno_handle)           \
	(*DAT_HANDLE_TO_PROVIDER(ia_handle)->cno_create_func)( \
		(ia_handle), (agent), (cno_handle))

#ifndef DAT_1_2
#define DAT_CNO_FD_CREATE(ia_handle, file_descriptor, cno_handle) \
	(*DAT_HANDLE_TO_PROVIDER(ia_handle)->cno_fd_create_func)( \
		(ia_handle), (file_descriptor), (cno_handle))
#endif

#ifndef DAT_1_2
#define DAT_CNO_TRIGGER(cno_handle, evd_handle)                               \
	(*DAT_HANDLE_TO_PROVIDER(cno_handle)->cno_trigger_func)((cno_handle), \
								(evd_handle))
#endif

#define DAT_CNO_MODIFY_AGENT(cno_handle, agent)                       \
	(*DAT_HANDLE_TO_PROVIDER(cno_handle)->cno_modify_agent_func)( \
		(cno_handle), (agent))

#define DAT_CNO_QUERY(cno_handle, cno_param_mask, cno_param)   \
	(*DAT_HANDLE_TO_PROVIDER(cno_handle)->cno_query_func)( \
		(cno_handle), (cno_param_mask), (cno_param))

#define DAT_CNO_FREE(cno_handle) \
	(*DAT_HANDLE_TO_PROVIDER(cno_handle)->cno_free_func)((cno_handle))

#define DAT_CNO_WAIT(cno_handle, timeout, evd_handle)         \
	(*DAT_HANDLE_TO_PROVIDER(cno_handle)->cno_wait_func)( \
		(cno_handle), (timeout), (evd_handle))

/* Types of the slots; arguments as in the dat_ call of the same name. */

typedef DAT_RETURN (*DAT_LMR_CREATE_FUNC)(
	DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
	DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
	DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
#ifndef DAT_1_2
	DAT_VA_TYPE va_type,
#endif
	DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
	DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
	DAT_VADDR *registered_address);

typedef DAT_RETURN (*DAT_LMR_QUERY_FUNC)(DAT_LMR_HANDLE lmr_handle,
					 DAT_LMR_PARAM_MASK lmr_param_mask,
					 DAT_LMR_PARAM *lmr_param);

typedef DAT_RETURN (*DAT_EVD_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
					  DAT_COUNT evd_min_qlen,
					  DAT_CNO_HANDLE cno_handle,
					  DAT_EVD_FLAGS evd_flags,
					  DAT_EVD_HANDLE *evd_handle);

typedef DAT_RETURN (*DAT_EVD_MODIFY_CNO_FUNC)(DAT_EVD_HANDLE evd_handle,
					      DAT_CNO_HANDLE cno_handle);

typedef DAT_RETURN (*DAT_CNO_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
					  DAT_OS_WAIT_PROXY_AGENT agent,
					  DAT_CNO_HANDLE *cno_handle);

#ifndef DAT_1_2
typedef DAT_RETURN (*DAT_CNO_FD_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
					     DAT_FD *file_descriptor,
					     DAT_CNO_HANDLE *cno_handle);
#endif

#ifndef DAT_1_2
typedef DAT_RETURN (*DAT_CNO_TRIGGER_FUNC)(DAT_CNO_HANDLE cno_handle,
					   DAT_EVD_HANDLE *evd_handle);
#endif

typedef DAT_RETURN (*DAT_CNO_MODIFY_AGENT_FUNC)(DAT_CNO_HANDLE cno_handle,
						DAT_OS_WAIT_PROXY_AGENT agent);

typedef DAT_RETURN (*DAT_CNO_QUERY_FUNC)(DAT_CNO_HANDLE cno_handle,
					 DAT_CNO_PARAM_MASK cno_param_mask,
					 DAT_CNO_PARAM *cno_param);

typedef DAT_RETURN (*DAT_CNO_FREE_FUNC)(DAT_CNO_HANDLE cno_handle);

typedef DAT_RETURN (*DAT_CNO_WAIT_FUNC)(DAT_CNO_HANDLE cno_handle,
					DAT_TIMEOUT timeout,
					DAT_EVD_HANDLE *evd_handle);

typedef DAT_RETURN (*DAT_EVD_ENABLE_FUNC)(DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EVD_WAIT_FUNC)(DAT_EVD_HANDLE evd_handle,
					DAT_TIMEOUT timeout,
					DAT_COUNT threshold, DAT_EVENT *event,
					DAT_COUNT *nmore);

typedef DAT_RETURN (*DAT_EVD_DISABLE_FUNC)(DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EVD_SET_UNWAITABLE_FUNC)(DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EVD_CLEAR_UNWAITABLE_FUNC)(DAT_EVD_HANDLE evd_handle);

#ifdef __cplusplus
}
#endif

#include <dat2/dat_redirection.h>

#endif /* DAT2_UDAT_REDIRECTION_H */
