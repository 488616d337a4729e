/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * conform.h - the frame of the conformance suite: what a case is, how it says
 * that something is wrong, and the two sides that cases work with.
 *
 * Cases use the public interface only. They do not know which provider or
 * device is below; what may be missing there is asked for and skipped.
 * Threads: every case runs in a process of its own, on one thread unless it
 * starts more. Ownership: conf_fini() closes the adapters that conf_init()
 * opened, abruptly, and with them all that a case left behind.
 * Rule: uDAPL 1.2 specification with the DAT 2.0 additions; doc/conformance.md
 * lists where old programs decide instead.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "test/face.h"

#if DAT_FACE == 1
#include <dat/dat_registry.h>
#else
#include <dat2/dat_registry.h>
#endif

#define CONF_MEM      16384
#define CONF_QLEN     16
#define CONF_PATIENCE 15000000 /* us; a real device refuses after 3 s */
#define ANY_SUBTYPE   (-1)

/* What a case needs before it starts. */
enum conf_need {
	NEED_NOTHING = 0,
	NEED_IA = 0x1,	      /* side a */
	NEED_BOTH = 0x3,      /* sides a and b, not connected, without EPs */
	NEED_EPS = 0x7,	      /* both sides with an EP each */
	NEED_CONNECTED = 0xf, /* the EPs are connected, b was the active side */
	NEED_SRQ = 0x10,
	NEED_RMR = 0x20,
};

struct conf_side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd, recv_evd, req_evd, conn_evd, cr_evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	uint8_t *buf;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

struct conf {
	const char *name;    /* of the adapter, in dat.conf */
	const char *address; /* or NULL: the adapter's own */
	DAT_CONN_QUAL qual;  /* to listen on; a few behind it are free too */
	int arg;	     /* of the case */
	struct conf_side a;  /* passive in connections */
	struct conf_side b;  /* active */
	DAT_IA_ATTR ia_attr; /* of a */
	DAT_PROVIDER_ATTR prov_attr;
};

struct conf_case {
	const char *name; /* <call>__<condition> */
	const char *clause;
	unsigned needs;
	void (*run)(struct conf *c);
	int arg;
	const char *refusal; /* of a bad argument: the call and its code */
};

/*
 * In front of a case's body, which has "struct conf *c"; CASE_ARG() is one more
 * case of a body that has other ones. The cases are where main.c finds them,
 * in whatever order; what only one version of DAT has stands in #if DAT_FACE.
 */
#define CASE(fn, clause, needs)              \
	static void fn(struct conf *c);      \
	CASE_ARG(#fn, clause, needs, fn, 0); \
	static void fn(struct conf *c)
#define CASE_ARG(text, of, what, fn, value)                                    \
	CONF_ROW(.name = (text), .clause = (of), .needs = (what), .run = (fn), \
		 .arg = (value))
#define CONF_ROW(...)	 CONF_ROW_AT(__COUNTER__, __VA_ARGS__)
#define CONF_ROW_AT(...) CONF_ROW_ID(__VA_ARGS__)
#define CONF_ROW_ID(n, ...)                                    \
	static const struct conf_case *const conf_row_##n      \
		__attribute__((used, section("conf_cases"))) = \
			&(const struct conf_case)              \
	{                                                      \
		__VA_ARGS__                                    \
	}

/* End the case. The text goes to the TAP output. */
_Noreturn void conf_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
_Noreturn void conf_skip(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

void conf_expect_ret(const char *file, int line, const char *call,
		     DAT_RETURN got, DAT_RETURN type, int subtype);

/* Only type and subtype count: see DAT_GET_TYPE() in dat_error.h. */
#define EXPECT_ERR(call, type, subtype) \
	conf_expect_ret(__FILE__, __LINE__, #call, (call), (type), (subtype))
#define EXPECT_OK(call)		EXPECT_ERR(call, DAT_SUCCESS, 0)
#define EXPECT_TYPE(call, type) EXPECT_ERR(call, type, ANY_SUBTYPE)
#define BAD_HANDLE(call, x) \
	EXPECT_ERR(call, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##x)
#define BAD_ARG(call, n) \
	EXPECT_ERR(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define BAD_STATE(call, x) \
	EXPECT_ERR(call, DAT_INVALID_STATE, DAT_INVALID_STATE_##x)
#define EXPECT(cond)                                                        \
	do {                                                                \
		if (!(cond))                                                \
			conf_fail(__FILE__, __LINE__, "not so: %s", #cond); \
	} while (0)
#define EXPECT_EQ(got, want)                                                  \
	do {                                                                  \
		long long got_ = (long long)(got);                            \
		long long want_ = (long long)(want);                          \
		if (got_ != want_)                                            \
			conf_fail(__FILE__, __LINE__,                         \
				  "%s is %lld (0x%llx), expected %lld", #got, \
				  got_, (unsigned long long)got_, want_);     \
	} while (0)

/* What a completion is of: 1.2 does not tell. */
#if DAT_FACE == 2
#define EXPECT_OPERATION(data, what) EXPECT_EQ((data).operation, DAT_DTO_##what)
#else
#define EXPECT_OPERATION(data, what) ((void)(data))
#endif

/* sides.c */
void conf_init(struct conf *c, unsigned needs);
void conf_fini(struct conf *c);
void conf_open(struct conf *c, struct conf_side *s);
DAT_IA_ADDRESS_PTR conf_address(struct conf *c);

DAT_EVD_HANDLE conf_evd(struct conf_side *s, unsigned flags);
DAT_CNO_HANDLE conf_cno(struct conf_side *s);
DAT_EP_HANDLE conf_ep(struct conf_side *s, const DAT_EP_ATTR *attr);
DAT_EP_ATTR conf_ep_attr(struct conf_side *s);
DAT_EP_STATE conf_ep_state(DAT_EP_HANDLE ep);
int conf_state_subtype(DAT_EP_STATE state);
/* An EP in that state, by what the interface offers; skips the case when the
 * provider has no such state. */
DAT_EP_HANDLE conf_reach(struct conf *c, DAT_EP_STATE state);

/* The case is skipped on an adapter that takes fewer segments. */
void conf_need_segments(const struct conf *c, int n);

DAT_PSP_HANDLE conf_listen(struct conf *c);
/* The case is skipped when the provider makes no endpoints. */
void conf_need_provider_eps(const struct conf *c);
DAT_PSP_HANDLE conf_listen_provider(struct conf *c);
/* The endpoint that the provider made for a request. */
DAT_EP_HANDLE conf_brought(DAT_CR_HANDLE cr);
/* Gives it the PZ and EVDs of the side. */
void conf_furnish(struct conf_side *s, DAT_EP_HANDLE ep);
DAT_RETURN conf_try_connect(struct conf *c, DAT_EP_HANDLE ep,
			    DAT_TIMEOUT timeout_us);
/* b's EP asks a for a connection. */
DAT_CR_HANDLE conf_meet(struct conf *c);
void conf_connect(struct conf *c);
void conf_disconnect(struct conf *c);

DAT_LMR_TRIPLET conf_seg(const struct conf_side *s, size_t offset,
			 size_t length);
DAT_RMR_TRIPLET conf_target(const struct conf_side *s, size_t offset,
			    size_t length);
DAT_DTO_COOKIE conf_cookie(uint64_t n);
void conf_post_recv(struct conf_side *s, size_t offset, size_t length,
		    uint64_t cookie);
void conf_post_send(struct conf_side *s, size_t offset, size_t length,
		    uint64_t cookie);

DAT_EVENT conf_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
/* A completion with that cookie and status. */
DAT_DTO_COMPLETION_EVENT_DATA conf_dto(DAT_EVD_HANDLE evd, uint64_t cookie,
				       DAT_DTO_COMPLETION_STATUS status);
/* The end that a fault of b's request brings, and b's completion of it. An
 * iWARP peer only closes the connection: what b sees is left open there. */
void conf_remote_fault(struct conf *c, uint64_t cookie);
/* The connection is over because of a fault. */
void conf_broken(struct conf *c, DAT_EVD_HANDLE conn_evd);
void conf_no_event(DAT_EVD_HANDLE evd);
DAT_RETURN conf_post_se(DAT_EVD_HANDLE evd, void *pointer);
uint64_t conf_now_us(void);

/* waiter.c: a thread in dat_evd_wait() */
struct conf_waiter {
	pthread_t thread;
	int tid;
	DAT_EVD_HANDLE evd;
	DAT_COUNT threshold, more;
	DAT_TIMEOUT timeout_us;
	DAT_RETURN ret;
	DAT_EVENT ev;
};

/* Returns when the thread sleeps. */
void conf_wait(struct conf_waiter *w, DAT_EVD_HANDLE evd, DAT_COUNT threshold,
	       DAT_TIMEOUT timeout_us);
void conf_still_asleep(struct conf_waiter *w);
/* When it has come back. */
void conf_woken(struct conf_waiter *w);

/*
 * reason_*.c: whether the failure GOT is of the error class and leaves a reason
 * behind, as those of this project's libraries do.
 */
bool conf_gives_reason(DAT_RETURN got);

#endif
