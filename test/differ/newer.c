/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * newer.c - the calls of DAT 2.0 that Debian's libdat2 does not export: a
 * program that refers to them does not start there. They are looked for, and
 * DAT_NOT_IMPLEMENTED is the answer of those that are not there.
 */
#include <dat2/udat.h>
#include <dlfcn.h>

/* The call NAME of the library, or NULL. */
#define OF_LIBRARY(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

#define FORWARD(name, ...)                                               \
	do {                                                             \
		__typeof__(&(name)) call_ = OF_LIBRARY(name);            \
		return call_ ? call_(__VA_ARGS__) : DAT_NOT_IMPLEMENTED; \
	} while (0)

DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm,
			  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd,
			  DAT_CSP_HANDLE *csp)
{
	FORWARD(dat_csp_create, ia, comm, address, evd, csp);
}

DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask,
			 DAT_CSP_PARAM *param)
{
	FORWARD(dat_csp_query, csp, mask, param);
}

DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp)
{
	FORWARD(dat_csp_free, csp);
}

DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address,
				 DAT_TIMEOUT timeout, DAT_COUNT size,
				 const DAT_PVOID data)
{
	FORWARD(dat_ep_common_connect, ep, address, timeout, size, data);
}

DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	FORWARD(dat_rmr_create_for_ep, pz, rmr);
}

DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd, DAT_CNO_HANDLE *cno)
{
	FORWARD(dat_cno_fd_create, ia, fd, cno);
}

DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
	FORWARD(dat_cno_trigger, cno, evd);
}

DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n,
					    DAT_LMR_TRIPLET *iov,
					    DAT_DTO_COOKIE cookie,
					    DAT_COMPLETION_FLAGS flags,
					    DAT_BOOLEAN invalidate,
					    DAT_RMR_CONTEXT context)
{
	FORWARD(dat_ep_post_send_with_invalidate, ep, n, iov, cookie, flags,
		invalidate, context);
}

DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep,
					const DAT_RMR_TRIPLET *local,
					DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *remote,
					DAT_COMPLETION_FLAGS flags)
{
	FORWARD(dat_ep_post_rdma_read_to_rmr, ep, local, cookie, remote, flags);
}
