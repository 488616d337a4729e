/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_api.c - every redirected call, and dat_extension_op.
 *
 * Covers all of dat_api.c: a call reaches the slot of its own name and no
 * other, with every byte of every argument and its result unchanged; the code
 * for a NULL handle, for an IA that is not open, for a slot that is empty.
 * Loads no library. Compiled for each version of DAT (dat_test_face.h). One
 * thread.
 */
#include "dat_test_face.h"

#include "dat/common/dat_handle.h"
#include "test/unit/case.h"

#include <stdio.h>
#include <string.h>

/* What the first argument is. FAST: an object, and the slot is not checked. */
enum kind {
	IA,
	OBJECT,
	FAST,
	ANY
};

struct redirected {
	const char *name;
	enum kind kind;
	DAT_RETURN null_code;
	DAT_RETURN (*run)(DAT_HANDLE handle);
	void (*fill)(DAT_PROVIDER *table);
	size_t slot; /* offset in the table */
};

struct args {
	unsigned char bytes[256];
	size_t len;
};

static struct args got;
static struct args expected;
static struct args *keeping;
static const char *got_call;
static DAT_HANDLE got_handle;
static DAT_RETURN answer;

static void begin(const char *call, DAT_HANDLE handle)
{
	got_call = call;
	got_handle = handle;
	keeping = &got;
	got.len = 0;
}

static void start_expected(void)
{
	keeping = &expected;
	expected.len = 0;
}

static void end_expected(void)
{
	got.len = 0;
	got_call = NULL;
}

static void keep(const void *arg, size_t size)
{
	assert_true(keeping->len + size <= sizeof(keeping->bytes));
	memcpy(keeping->bytes + keeping->len, arg, size);
	keeping->len += size;
}

#define KEEP(arg) keep(&(arg), sizeof(arg))

/* A value of any type, different for each position. */
#define MAKE(type, i)                                               \
	({                                                          \
		union {                                             \
			unsigned char bytes[sizeof(type)];          \
			type value;                                 \
		} any_;                                             \
		memset(any_.bytes, 0x11 * (i), sizeof(any_.bytes)); \
		any_.bytes[0] = (unsigned char)(0x80 + (i));        \
		any_.value;                                         \
	})

/* The rows are what the linker has put side by side. */
#define DESCRIBE(call, kind, code)                                             \
	static void fill_##call(DAT_PROVIDER *table)                           \
	{                                                                      \
		table->call##_func = stub_##call;                              \
	}                                                                      \
	static const struct redirected *const row_##call                       \
		__attribute__((used, section("dat_calls"))) =                  \
			&(const struct redirected){                            \
				#call,                                         \
				kind,                                          \
				DAT_CLASS_ERROR | DAT_INVALID_HANDLE | (code), \
				run_##call,                                    \
				fill_##call,                                   \
				offsetof(DAT_PROVIDER, call##_func)};

/* clang-format off */
#define CALL1(call, kind, code, T1) \
	static DAT_RETURN stub_##call(T1 a1) { begin(#call, a1); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { start_expected(); end_expected(); return dat_##call((T1)handle); } \
	DESCRIBE(call, kind, code)

#define CALL2(call, kind, code, T1, T2) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2) { begin(#call, a1); KEEP(a2); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); start_expected(); KEEP(a2); end_expected(); return dat_##call((T1)handle, a2); } \
	DESCRIBE(call, kind, code)

#define CALL3(call, kind, code, T1, T2, T3) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3) { begin(#call, a1); KEEP(a2); KEEP(a3); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); start_expected(); KEEP(a2); KEEP(a3); end_expected(); return dat_##call((T1)handle, a2, a3); } \
	DESCRIBE(call, kind, code)

#define CALL4(call, kind, code, T1, T2, T3, T4) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3, T4 a4) { begin(#call, a1); KEEP(a2); KEEP(a3); KEEP(a4); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); T4 a4 = MAKE(T4, 4); start_expected(); KEEP(a2); KEEP(a3); KEEP(a4); end_expected(); return dat_##call((T1)handle, a2, a3, a4); } \
	DESCRIBE(call, kind, code)

#define CALL5(call, kind, code, T1, T2, T3, T4, T5) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3, T4 a4, T5 a5) { begin(#call, a1); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); T4 a4 = MAKE(T4, 4); T5 a5 = MAKE(T5, 5); start_expected(); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); end_expected(); return dat_##call((T1)handle, a2, a3, a4, a5); } \
	DESCRIBE(call, kind, code)

#define CALL6(call, kind, code, T1, T2, T3, T4, T5, T6) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6) { begin(#call, a1); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); T4 a4 = MAKE(T4, 4); T5 a5 = MAKE(T5, 5); T6 a6 = MAKE(T6, 6); start_expected(); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); end_expected(); return dat_##call((T1)handle, a2, a3, a4, a5, a6); } \
	DESCRIBE(call, kind, code)

#define CALL7(call, kind, code, T1, T2, T3, T4, T5, T6, T7) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7) { begin(#call, a1); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); T4 a4 = MAKE(T4, 4); T5 a5 = MAKE(T5, 5); T6 a6 = MAKE(T6, 6); T7 a7 = MAKE(T7, 7); start_expected(); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); end_expected(); return dat_##call((T1)handle, a2, a3, a4, a5, a6, a7); } \
	DESCRIBE(call, kind, code)

#define CALL8(call, kind, code, T1, T2, T3, T4, T5, T6, T7, T8) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8) { begin(#call, a1); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); KEEP(a8); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); T4 a4 = MAKE(T4, 4); T5 a5 = MAKE(T5, 5); T6 a6 = MAKE(T6, 6); T7 a7 = MAKE(T7, 7); T8 a8 = MAKE(T8, 8); start_expected(); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); KEEP(a8); end_expected(); return dat_##call((T1)handle, a2, a3, a4, a5, a6, a7, a8); } \
	DESCRIBE(call, kind, code)

#define CALL9(call, kind, code, T1, T2, T3, T4, T5, T6, T7, T8, T9) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9) { begin(#call, a1); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); KEEP(a8); KEEP(a9); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); T4 a4 = MAKE(T4, 4); T5 a5 = MAKE(T5, 5); T6 a6 = MAKE(T6, 6); T7 a7 = MAKE(T7, 7); T8 a8 = MAKE(T8, 8); T9 a9 = MAKE(T9, 9); start_expected(); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); KEEP(a8); KEEP(a9); end_expected(); return dat_##call((T1)handle, a2, a3, a4, a5, a6, a7, a8, a9); } \
	DESCRIBE(call, kind, code)

#ifdef DAT_FACE_1
#define CALL11(call, kind, code, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9, T10 a10, T11 a11) { begin(#call, a1); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); KEEP(a8); KEEP(a9); KEEP(a10); KEEP(a11); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); T4 a4 = MAKE(T4, 4); T5 a5 = MAKE(T5, 5); T6 a6 = MAKE(T6, 6); T7 a7 = MAKE(T7, 7); T8 a8 = MAKE(T8, 8); T9 a9 = MAKE(T9, 9); T10 a10 = MAKE(T10, 10); T11 a11 = MAKE(T11, 11); start_expected(); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); KEEP(a8); KEEP(a9); KEEP(a10); KEEP(a11); end_expected(); return dat_##call((T1)handle, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11); } \
	DESCRIBE(call, kind, code)
#else
#define CALL12(call, kind, code, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12) \
	static DAT_RETURN stub_##call(T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9, T10 a10, T11 a11, T12 a12) { begin(#call, a1); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); KEEP(a8); KEEP(a9); KEEP(a10); KEEP(a11); KEEP(a12); return answer; } \
	static DAT_RETURN run_##call(DAT_HANDLE handle) { T2 a2 = MAKE(T2, 2); T3 a3 = MAKE(T3, 3); T4 a4 = MAKE(T4, 4); T5 a5 = MAKE(T5, 5); T6 a6 = MAKE(T6, 6); T7 a7 = MAKE(T7, 7); T8 a8 = MAKE(T8, 8); T9 a9 = MAKE(T9, 9); T10 a10 = MAKE(T10, 10); T11 a11 = MAKE(T11, 11); T12 a12 = MAKE(T12, 12); start_expected(); KEEP(a2); KEEP(a3); KEEP(a4); KEEP(a5); KEEP(a6); KEEP(a7); KEEP(a8); KEEP(a9); KEEP(a10); KEEP(a11); KEEP(a12); end_expected(); return dat_##call((T1)handle, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12); } \
	DESCRIBE(call, kind, code)
#endif

CALL6(ia_query, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_EVD_HANDLE *, DAT_IA_ATTR_MASK, DAT_IA_ATTR *, DAT_PROVIDER_ATTR_MASK, DAT_PROVIDER_ATTR *)
CALL2(evd_resize, OBJECT, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_COUNT)
CALL2(evd_post_se, FAST, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, const DAT_EVENT *)
CALL2(evd_dequeue, FAST, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_EVENT *)
CALL3(evd_query, OBJECT, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *)
CALL1(evd_free, OBJECT, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
CALL5(evd_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS, DAT_EVD_HANDLE *)
CALL2(evd_modify_cno, OBJECT, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_CNO_HANDLE)
CALL1(evd_enable, OBJECT, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
CALL5(evd_wait, FAST, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *, DAT_COUNT *)
CALL1(evd_disable, OBJECT, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
CALL1(evd_set_unwaitable, OBJECT, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
CALL1(evd_clear_unwaitable, OBJECT, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
CALL3(cno_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *)
CALL2(cno_modify_agent, OBJECT, DAT_INVALID_HANDLE_CNO, DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT)
CALL3(cno_query, OBJECT, DAT_INVALID_HANDLE_CNO, DAT_CNO_HANDLE, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM *)
CALL1(cno_free, OBJECT, DAT_INVALID_HANDLE_CNO, DAT_CNO_HANDLE)
CALL3(cno_wait, FAST, DAT_INVALID_HANDLE_CNO, DAT_CNO_HANDLE, DAT_TIMEOUT, DAT_EVD_HANDLE *)
#ifndef DAT_FACE_1
CALL3(cno_fd_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_FD *, DAT_CNO_HANDLE *)
CALL2(cno_trigger, OBJECT, DAT_INVALID_HANDLE_CNO, DAT_CNO_HANDLE, DAT_EVD_HANDLE *)
#endif
CALL7(ep_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *)
CALL3(ep_query, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_EP_PARAM_MASK, DAT_EP_PARAM *)
CALL3(ep_modify, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM *)
CALL8(ep_connect, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS)
CALL6(ep_dup_connect, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID, DAT_QOS)
#ifndef DAT_FACE_1
CALL5(ep_common_connect, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID)
#endif
CALL2(ep_disconnect, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_CLOSE_FLAGS)
CALL5(ep_post_send, FAST, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS)
#ifndef DAT_FACE_1
CALL7(ep_post_send_with_invalidate, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS, DAT_BOOLEAN, DAT_RMR_CONTEXT)
#endif
CALL5(ep_post_recv, FAST, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS)
CALL6(ep_post_rdma_read, FAST, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS)
#ifndef DAT_FACE_1
CALL5(ep_post_rdma_read_to_rmr, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, const DAT_RMR_TRIPLET *, DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS)
#endif
CALL6(ep_post_rdma_write, FAST, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS)
CALL4(ep_get_status, FAST, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *)
CALL1(ep_free, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE)
CALL1(ep_reset, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE)
CALL8(ep_create_with_srq, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_SRQ_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *)
CALL3(ep_recv_query, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT *, DAT_COUNT *)
CALL3(ep_set_watermark, OBJECT, DAT_INVALID_HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_COUNT)
CALL5(psp_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS, DAT_PSP_HANDLE *)
CALL5(psp_create_any, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_CONN_QUAL *, DAT_EVD_HANDLE, DAT_PSP_FLAGS, DAT_PSP_HANDLE *)
CALL3(psp_query, OBJECT, DAT_INVALID_HANDLE_PSP, DAT_PSP_HANDLE, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM *)
CALL1(psp_free, OBJECT, DAT_INVALID_HANDLE_PSP, DAT_PSP_HANDLE)
CALL5(rsp_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE, DAT_RSP_HANDLE *)
CALL3(rsp_query, OBJECT, DAT_INVALID_HANDLE_RSP, DAT_RSP_HANDLE, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM *)
CALL1(rsp_free, OBJECT, DAT_INVALID_HANDLE_RSP, DAT_RSP_HANDLE)
#ifndef DAT_FACE_1
CALL5(csp_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_COMM *, DAT_IA_ADDRESS_PTR, DAT_EVD_HANDLE, DAT_CSP_HANDLE *)
CALL3(csp_query, OBJECT, DAT_INVALID_HANDLE_CSP, DAT_CSP_HANDLE, DAT_CSP_PARAM_MASK, DAT_CSP_PARAM *)
CALL1(csp_free, OBJECT, DAT_INVALID_HANDLE_CSP, DAT_CSP_HANDLE)
#endif
CALL3(cr_query, OBJECT, DAT_INVALID_HANDLE_CR, DAT_CR_HANDLE, DAT_CR_PARAM_MASK, DAT_CR_PARAM *)
CALL4(cr_accept, OBJECT, DAT_INVALID_HANDLE_CR, DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID)
#ifdef DAT_FACE_1
CALL1(cr_reject, OBJECT, DAT_INVALID_HANDLE_CR, DAT_CR_HANDLE)
#else
CALL3(cr_reject, OBJECT, DAT_INVALID_HANDLE_CR, DAT_CR_HANDLE, DAT_COUNT, const DAT_PVOID)
#endif
CALL2(cr_handoff, OBJECT, DAT_INVALID_HANDLE_CR, DAT_CR_HANDLE, DAT_CONN_QUAL)
CALL2(pz_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_PZ_HANDLE *)
CALL3(pz_query, OBJECT, DAT_INVALID_HANDLE_PZ, DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *)
CALL1(pz_free, OBJECT, DAT_INVALID_HANDLE_PZ, DAT_PZ_HANDLE)
CALL1(lmr_free, OBJECT, DAT_INVALID_HANDLE_LMR, DAT_LMR_HANDLE)
CALL3(lmr_sync_rdma_read, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN)
CALL3(lmr_sync_rdma_write, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN)
#ifdef DAT_FACE_1
CALL11(lmr_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN, DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *)
#else
CALL12(lmr_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN, DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *)
#endif
CALL3(lmr_query, OBJECT, DAT_INVALID_HANDLE_LMR, DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *)
CALL2(rmr_create, OBJECT, DAT_INVALID_HANDLE_PZ, DAT_PZ_HANDLE, DAT_RMR_HANDLE *)
#ifndef DAT_FACE_1
CALL2(rmr_create_for_ep, OBJECT, DAT_INVALID_HANDLE_PZ, DAT_PZ_HANDLE, DAT_RMR_HANDLE *)
#endif
CALL3(rmr_query, OBJECT, DAT_INVALID_HANDLE_RMR, DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *)
#ifdef DAT_FACE_1
CALL7(rmr_bind, FAST, DAT_INVALID_HANDLE_RMR, DAT_RMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS, DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *)
#else
CALL9(rmr_bind, FAST, DAT_INVALID_HANDLE_RMR, DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *)
#endif
CALL1(rmr_free, OBJECT, DAT_INVALID_HANDLE_RMR, DAT_RMR_HANDLE)
CALL4(srq_create, IA, DAT_INVALID_HANDLE_IA, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *)
CALL1(srq_free, OBJECT, DAT_INVALID_HANDLE_SRQ, DAT_SRQ_HANDLE)
CALL4(srq_post_recv, FAST, DAT_INVALID_HANDLE_SRQ, DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE)
CALL3(srq_query, OBJECT, DAT_INVALID_HANDLE_SRQ, DAT_SRQ_HANDLE, DAT_SRQ_PARAM_MASK, DAT_SRQ_PARAM *)
CALL2(srq_resize, OBJECT, DAT_INVALID_HANDLE_SRQ, DAT_SRQ_HANDLE, DAT_COUNT)
CALL2(srq_set_lw, OBJECT, DAT_INVALID_HANDLE_SRQ, DAT_SRQ_HANDLE, DAT_COUNT)
CALL2(set_consumer_context, ANY, DAT_INVALID_HANDLE1, DAT_HANDLE, DAT_CONTEXT)
CALL2(get_consumer_context, ANY, DAT_INVALID_HANDLE1, DAT_HANDLE, DAT_CONTEXT *)
CALL2(get_handle_type, ANY, DAT_INVALID_HANDLE1, DAT_HANDLE, DAT_HANDLE_TYPE *)

/* clang-format on */

extern const struct redirected *const __start_dat_calls[],
	*const __stop_dat_calls[];

#define calls	__start_dat_calls
#define N_CALLS ((size_t)(__stop_dat_calls - __start_dat_calls))

struct object {
	DAT_PROVIDER *table;
};

static DAT_PROVIDER table;
static struct object object = {&table};
static DAT_IA_HANDLE ia;

static int setup(void **state)
{
	memset(&table, 0, sizeof(table));
	for (size_t i = 0; i < N_CALLS; i++)
		calls[i]->fill(&table);
	ia = dat_handle_reserve();
	assert_non_null(ia);
	dat_handle_publish(ia, (DAT_IA_HANDLE)&object, NULL);
	return 0;
}

static int teardown(void **state)
{
	dat_handle_release(ia);
	return dat_handle_fini() ? 0 : -1;
}

#define T(name) CASE_WITH(name, setup, teardown)

static DAT_HANDLE handle_for(const struct redirected *call)
{
	return call->kind == IA ? ia : (DAT_HANDLE)&object;
}

static void check_reached(const struct redirected *call, DAT_HANDLE handle)
{
	answer = (DAT_RETURN)(0x40000000 + call->slot);
	assert_int_equal(call->run(handle), answer);
	assert_non_null(got_call);
	assert_string_equal(got_call, call->name);
	assert_ptr_equal(got_handle, &object);
	assert_int_equal(got.len, expected.len);
	assert_memory_equal(got.bytes, expected.bytes, expected.len);
}

T(calls__all_slots_have_one)
{
	/* not here: name, extension, open, close; HA, extended operation */
	size_t others = MAJOR == 1 ? 4 : 6;

	assert_int_equal(N_CALLS, sizeof(table) / sizeof(void *) - others);
}

T(calls__reach_their_slot)
{
	for (size_t i = 0; i < N_CALLS; i++)
		check_reached(calls[i], handle_for(calls[i]));
}

T(calls__context_calls_take_ia_numbers)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (calls[i]->kind == ANY)
			check_reached(calls[i], ia);
}

static void check_refused(const struct redirected *call, DAT_HANDLE handle,
			  DAT_RETURN code)
{
	assert_int_equal(call->run(handle), code);
	assert_null(got_call);
	assert_non_null(strstr(dat_error_detail(), call->name));
}

T(calls__null_handle)
{
	for (size_t i = 0; i < N_CALLS; i++)
		check_refused(calls[i], DAT_HANDLE_NULL, calls[i]->null_code);
}

T(calls__ia_not_open)
{
	for (size_t i = 0; i < N_CALLS; i++) {
		if (calls[i]->kind != IA && calls[i]->kind != ANY)
			continue;
		check_refused(calls[i], (DAT_HANDLE)7, calls[i]->null_code);
		check_refused(calls[i], (DAT_HANDLE)(DAT_HANDLE_MAX - 1),
			      calls[i]->null_code);
	}
}

T(calls__provider_pointer_is_no_ia)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (calls[i]->kind == IA)
			check_refused(calls[i], &object, calls[i]->null_code);
}

T(calls__empty_slot)
{
	memset(&table, 0, sizeof(table));
	for (size_t i = 0; i < N_CALLS; i++)
		if (calls[i]->kind != FAST)
			check_refused(calls[i], handle_for(calls[i]),
				      code(0xbfff0000));
}

#ifndef DAT_FACE_1
/*
 * Extensions
 */

static DAT_EXTENDED_OP got_op;
static int got_int;
static DAT_UINT64 got_long;

static DAT_RETURN extended(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	got_handle = handle;
	got_op = op;
	got_int = va_arg(args, int);
	got_long = va_arg(args, DAT_UINT64);
	return answer;
}

static void check_extended(DAT_HANDLE handle, DAT_EXTENDED_OP op)
{
	table.handle_extendedop_func = extended;
	answer = 0x3fff0000;
	got_handle = NULL;
	assert_int_equal(dat_extension_op(handle, op, 5, UINT64_MAX - 1),
			 0x3fff0000);
	assert_ptr_equal(got_handle, &object);
	assert_int_equal(got_op, op);
	assert_int_equal(got_int, 5);
	assert_true(got_long == UINT64_MAX - 1);
}

T(extension_op__reaches_the_provider)
{
	check_extended(&object, DAT_IB_FETCH_AND_ADD_OP);
	check_extended(ia, DAT_IB_UD_CM_FREE_OP);
}

/* Any bit may be part of an operation's number. */
T(extension_op__numbers_are_not_tested_by_bit)
{
	check_extended(&object, DAT_OPEN_EXTENSION_BASE | 1);
	check_extended(&object, DAT_CLOSE_EXTENSION_BASE | 1);
	check_extended(&object,
		       DAT_OPEN_EXTENSION_BASE | DAT_CLOSE_EXTENSION_BASE);
	check_extended(ia, -1);
}

T(extension_op__null)
{
	assert_int_equal(dat_extension_op(DAT_HANDLE_NULL, 0),
			 code(0x8005001b));
	assert_int_equal(dat_extension_op((DAT_HANDLE)9, 0), code(0x8005001b));
	assert_int_equal(
		dat_extension_op(DAT_HANDLE_NULL, DAT_CLOSE_EXTENSION_BASE),
		code(0x8005000b));
	assert_int_equal(dat_extension_op(&object, DAT_CLOSE_EXTENSION_BASE),
			 code(0x8005000b));
	assert_int_equal(dat_extension_op(DAT_HANDLE_NULL,
					  DAT_OPEN_EXTENSION_BASE, NULL),
			 code(0x80050027));
}

T(extension_op__provider_without_extensions)
{
	table.handle_extendedop_func = NULL;
	assert_int_equal(dat_extension_op(&object, 0), code(0xbfff0000));
	assert_int_equal(dat_extension_op(ia, 0), code(0xbfff0000));
}

#endif

RUN_CASES(NULL, NULL)
