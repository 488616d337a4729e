/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * world.h - two open IAs, server and client, on one fake device, with the real
 * objects and a real provider in between: the fixture of the tests of
 * dapl/common/objects, and of providers as a whole.
 *
 * There is no libdat2: calls go through the provider's vector, V(call), and
 * the registry's functions that a provider calls are stubs here. Every wait
 * has a bound; when it passes, the test fails.
 * Threads: the helpers belong to the thread of the test, except V() itself.
 * Ownership: world_close() closes both IAs abruptly, and with them whatever a
 * test left open; nothing may survive that.
 */
#ifndef WORLD_H
#define WORLD_H

#include <dat2/udat.h>

#include <dat2/dat_registry.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/services/dapl_log.h"
#include "test/unit/case.h"
#include "test/unit/fake/fake_verbs.h"
#include "test/unit/provider.h"

#define WORLD_IA_NAME "fake-ia"
#define WORLD_QUAL    (world_provider.qual())
/* How long something that must happen may take, in microseconds. */
#define WORLD_PATIENCE_US 30000000
#define WORLD_MEM_SIZE	  65536
#define WORLD_QLEN	  64

#define WORLD_PRIV_ALL \
	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG | 0x40 /* atomics */))

/* Memory with every privilege. */
struct world_mem {
	uint8_t *buf;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

struct world_side {
	DAT_IA_HANDLE ia; /* the provider's own pointer */
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv_evd; /* DTO */
	DAT_EVD_HANDLE req_evd;	 /* DTO, RMR_BIND */
	DAT_EVD_HANDLE conn_evd; /* CONNECTION */
	DAT_EVD_HANDLE cr_evd;	 /* CR */
	struct world_mem mem;
	DAT_EP_HANDLE ep; /* NULL until world_eps() or world_connect() */
};

struct world {
	enum fv_kind kind;
	struct ibv_device *dev;
	struct world_side server;
	struct world_side client;
};

/* What the stubs of the registry have seen and what they answer. */
struct world_registry {
	const DAT_PROVIDER *vector; /* as registered last; NULL: none */
	DAT_PROVIDER_INFO info;
	int added, removed;
	DAT_RETURN answer; /* of dat_registry_add_provider() */
};

extern struct world_registry world_registry;
extern DAT_PROVIDER_INFO world_info;

#define V(call) (world_registry.vector->call##_func)

/* One device of KIND, the provider registered, no IA open. */
void world_load(enum fv_kind kind);
/* The reverse; fails the test when anything of verbs or rdma_cm is left. */
void world_unload(void);

/* world_load(), and both IAs with PZ, EVDs and memory. */
void world_open(struct world *w, enum fv_kind kind);
void world_close(struct world *w);

/* cmocka fixtures; *state is a kind of device, and a struct world then. */
int world_setup(void **state);
int world_teardown(void **state);

/* See RUN_CASES_TWICE. */
int world_run_twice(const struct CMUnitTest *tests, size_t n);

/*
 * An IA with its own async EVD; the registry's stub knows it by a small
 * number, world_user_ia(), which is what query results must show.
 */
DAT_IA_HANDLE world_ia_open(DAT_EVD_HANDLE *ret_async_evd);
void world_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
DAT_IA_HANDLE world_user_ia(DAT_IA_HANDLE ia);
/* For an IA that a test has closed by itself. */
void world_forget_ia(DAT_IA_HANDLE ia);

DAT_PZ_HANDLE world_pz(DAT_IA_HANDLE ia);
DAT_EVD_HANDLE world_evd(DAT_IA_HANDLE ia, unsigned flags);
DAT_EVD_HANDLE world_evd_cno(DAT_IA_HANDLE ia, unsigned flags,
			     DAT_CNO_HANDLE cno);
/* Without an agent. */
DAT_CNO_HANDLE world_cno(DAT_IA_HANDLE ia);
DAT_LMR_HANDLE world_lmr(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *buf,
			 size_t size, DAT_LMR_CONTEXT *ret_lkey,
			 DAT_RMR_CONTEXT *ret_rkey);
/* An EP with the side's PZ and EVDs. ATTR may be NULL: the defaults. */
DAT_EP_HANDLE world_ep(struct world_side *s, const DAT_EP_ATTR *attr);
/* The defaults of the provider, to be changed by a test. */
DAT_EP_ATTR world_ep_attr(struct world_side *s);
DAT_EP_STATE world_ep_state(DAT_EP_HANDLE ep);
/* The queue pair of EP, to make the device fail. */
struct ibv_qp *world_qp(DAT_EP_HANDLE ep);

/* The address of the IA that was opened first: the server. */
DAT_IA_ADDRESS_PTR world_addr(void);
/* EP asks whoever listens there. */
DAT_RETURN world_ask(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr,
		     DAT_CONN_QUAL qual);
/* The request that has come or is about to come. */
DAT_CR_HANDLE world_request(DAT_EVD_HANDLE cr_evd);
/* Both EPs, where there is none yet. */
void world_eps(struct world *w);
/* Both EPs, connected by way of a PSP on WORLD_QUAL that is freed again. */
void world_connect(struct world *w);
/* The same for a pair of EPs of the test's own. */
void world_connect_pair(struct world *w, DAT_EP_HANDLE server,
			DAT_EP_HANDLE client);

/* Segment of the side's memory. */
DAT_LMR_TRIPLET world_seg(const struct world_side *s, size_t offset,
			  size_t length);
DAT_RMR_TRIPLET world_target(const struct world_side *s, size_t offset,
			     size_t length);
DAT_DTO_COOKIE world_cookie(uint64_t n);
/* A receive on, or a send from, the first LENGTH bytes at OFFSET. */
void world_recv(struct world_side *s, size_t offset, size_t length,
		uint64_t cookie);
void world_send(struct world_side *s, size_t offset, size_t length,
		uint64_t cookie, unsigned flags);

/* The next event of EVD, waited for up to TIMEOUT_US; none: the test fails. */
DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout_us);
/* The next event, which must be NUMBER. */
DAT_EVENT expect_event(DAT_EVD_HANDLE evd, unsigned number);
/* A completion with that cookie and status. */
DAT_EVENT expect_dto(DAT_EVD_HANDLE evd, uint64_t cookie, unsigned status);
/* Nothing is queued now. */
void expect_empty(DAT_EVD_HANDLE evd);
/* CNO is triggered by EVD, or not within the time. */
void expect_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd);
void expect_no_trigger(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout_us);
/* As dat_extension_op() of libdat2 does. */
DAT_RETURN world_op(DAT_HANDLE handle, int number, ...);
void world_post_se(DAT_EVD_HANDLE evd, void *pointer);
/* Whether a thread waits on EVD. Then it has armed what wakes it. */
bool world_evd_is_waited_for(DAT_EVD_HANDLE evd);

/* A thread in dat_evd_wait(), and what it got there. */
struct waiter {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret;
	DAT_EVENT ev;
	DAT_COUNT more;
	bool returned; /* atomic */
};

/* Returns when it waits there, or when a short time is over already. */
void waiter_start(struct waiter *t, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
		  DAT_COUNT threshold);
void waiter_end(struct waiter *t, DAT_RETURN type);
/* Its event was a completion with that cookie, and MORE are queued. */
void waiter_got(struct waiter *t, uint64_t cookie, DAT_COUNT more);

/*
 * CALL fails with exactly CODE, which has the error class, and leaves a reason
 * behind. For calls whose failure is no fault (QUEUE_EMPTY, TIMEOUT_EXPIRED)
 * compare the value instead.
 */
#define assert_refused(call, code)                                         \
	do {                                                               \
		dapl_fail(DAT_SUCCESS, "%s", "");                          \
		DAT_RETURN refused_ = (call);                              \
		assert_int_equal(refused_, (DAT_RETURN)(code));            \
		assert_int_equal(refused_ & 0xc0000000u, DAT_CLASS_ERROR); \
		assert_string_not_equal(dapl__fail_text(), "");            \
	} while (0)

#define assert_dat_ok(call) assert_int_equal((call), DAT_SUCCESS)

static inline DAT_EVD_PARAM world_evd_param(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	assert_dat_ok(V(evd_query)(evd, DAT_EVD_FIELD_ALL, &param));
	return param;
}

/*
 * Makes each fallible call of verbs and rdma_cm that CALL leads to fail, one
 * after the other, until CALL gets through; UNDO then ends what it made. Each
 * failure must be reported as an error with a reason, and leave nothing.
 */
#define assert_nth_failure(call, undo)                                     \
	do {                                                               \
		unsigned int live_ = fv_live();                            \
		for (unsigned int n_ = 1;; n_++) {                         \
			assert_in_range(n_, 1, 200);                       \
			dapl_fail(DAT_SUCCESS, "%s", "");                  \
			fv_fail_at(n_, ENOMEM);                            \
			DAT_RETURN nth_ = (call);                          \
			bool hit_ = fv_fail_hit();                         \
			fv_fail_at(0, 0);                                  \
			if (nth_ == DAT_SUCCESS) {                         \
				undo;                                      \
			} else {                                           \
				assert_true(hit_);                         \
				assert_int_equal(nth_ & 0xc0000000u,       \
						 DAT_CLASS_ERROR);         \
				assert_string_not_equal(dapl__fail_text(), \
							"");               \
			}                                                  \
			assert_int_equal(fv_live(), live_);                \
			if (!hit_)                                         \
				break;                                     \
		}                                                          \
	} while (0)

/* Waits for COND, which another thread makes true and no event announces. */
#define world_until(cond)                                                 \
	do {                                                              \
		uint64_t until_ = world_now_us() + WORLD_PATIENCE_US;     \
		while (!(cond)) {                                         \
			if (world_now_us() > until_)                      \
				fail_msg("never became true: %s", #cond); \
			world_pause();                                    \
		}                                                         \
	} while (0)

/* Whether thread TID of this process, or process TID, is in STATE: proc(5). */
bool world_thread_is(pid_t tid, char state);
/* Threads inside dat_cno_wait(). */
int world_cno_waiters(DAT_CNO_HANDLE cno);

uint64_t world_now_us(void);
void world_pause(void);

/*
 * Cases on two open IAs, W, that is S, the server, and C, the client; on one
 * kind of device each. Behind the case's name may stand what comes before its
 * body: world_eps or world_connect. With the kind behind the name:
 */
#define ON_IB(name, ...) \
	WORLD_CASE(name, WORLD_STEPS(__VA_ARGS__), WORLD_ROW(name, ".ib", IB))
#define ON_ROCE(name, ...)                         \
	WORLD_CASE(name, WORLD_STEPS(__VA_ARGS__), \
		   WORLD_ROW(name, ".roce", ROCE))
#define ON_IWARP(name, ...)                        \
	WORLD_CASE(name, WORLD_STEPS(__VA_ARGS__), \
		   WORLD_ROW(name, ".iwarp", IWARP))
#define ON_SIW(name, ...) \
	WORLD_CASE(name, WORLD_STEPS(__VA_ARGS__), WORLD_ROW(name, ".siw", SIW))
#define ON_IB_ROCE(name, ...)                                                  \
	WORLD_CASE(name, WORLD_STEPS(__VA_ARGS__), WORLD_ROW(name, ".ib", IB), \
		   WORLD_ROW(name, ".roce", ROCE))
#define ON_IB_IWARP(name, ...)                                                 \
	WORLD_CASE(name, WORLD_STEPS(__VA_ARGS__), WORLD_ROW(name, ".ib", IB), \
		   WORLD_ROW(name, ".iwarp", IWARP))
/* On each that the provider can use. */
#ifdef WORLD_NO_IWARP
#define ON_EACH(name, ...) ON_IB_ROCE(name, ##__VA_ARGS__)
#else
#define ON_EACH(name, ...)                                                     \
	WORLD_CASE(name, WORLD_STEPS(__VA_ARGS__), WORLD_ROW(name, ".ib", IB), \
		   WORLD_ROW(name, ".roce", ROCE),                             \
		   WORLD_ROW(name, ".iwarp", IWARP))
#endif
/* Without it, for tests that know one kind only. */
#define CASE_ROCE(name, ...) \
	WORLD_CASE(name, WORLD_STEPS(__VA_ARGS__), WORLD_ROW(name, "", ROCE))

typedef void (*world_step)(struct world *);

/* What comes before a case's body: STEPS, between two NULLs. */
static inline struct world *world_begin(struct world *w,
					const world_step *steps)
{
	while (*++steps)
		(*steps)(w);
	return w;
}

#define WORLD_STEPS(...) ((const world_step[]){NULL, ##__VA_ARGS__, NULL})
#define WORLD_CASE(name, before, ...)                        \
	CASE_GIVEN(name,                                     \
		   (struct world * w, struct world_side * s, \
		    struct world_side * c),                  \
		   (world_begin(*state, before),             \
		    &((struct world *)*state)->server,       \
		    &((struct world *)*state)->client),      \
		   __VA_ARGS__)
#define WORLD_ROW(name, label, kind) \
	CASE_ROW(name, label, world_setup, world_teardown, (intptr_t)FV_##kind)

/*
 * As RUN_CASES, each case once more on a device that deals the other way with
 * the completions of a queue pair that is destroyed.
 */
#define RUN_CASES_TWICE()                                           \
	int main(void)                                              \
	{                                                           \
		return world_run_twice(cases_.rows, cases_begin()); \
	}

#endif
