/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_dat.h - DAT for the test tools: errors in words, and waits with an end.
 *
 * Does not create objects. dat_evd_wait() is never called without a limit.
 * Threads: a waiter belongs to one thread.
 * Ownership: handles stay the caller's.
 * Rule: only calls of symbol version DAT_2.0 (or DAT_1.2), so that the tools
 * also run on older libraries; what is newer is looked up at run time.
 */
#ifndef DTEST_DT_DAT_H
#define DTEST_DT_DAT_H

#include "test/dtest/common/dt_report.h"
#include "test/dtest/common/dt_tool.h"

#if DAT_FACE == 2
#include <dat2/dat_ib_extensions.h>
#endif
#include <stdbool.h>
#include <stdint.h>

enum dt_wait_mode {
	DT_WAIT_EVENT, /* dat_evd_wait() */
	DT_WAIT_POLL,  /* dat_evd_dequeue() */
	DT_WAIT_CNO,   /* dat_cno_wait(), then dequeue */
};

struct dt_waiter {
	enum dt_wait_mode mode;
	DAT_CNO_HANDLE cno;
	/* asked now and then whether the peer left; may be DAT_HANDLE_NULL */
	DAT_EVD_HANDLE conn_evd;
	/* the event that said so, 0: none. Whoever waits for it looks here. */
	DAT_EVENT_NUMBER gone;
	bool yield;	/* polls, and others have work for its processor */
	DAT_RETURN ret; /* of the call that failed, with -EIO */
	uint64_t polls; /* dequeues that found nothing */
};

/* Value of a named attribute of the provider, or NULL. */
const char *dt_dat_attr(const DAT_PROVIDER_ATTR *prov, const char *name);

/* Symbolic names; "unknown event" and so on for others. */
const char *dt_event_name(DAT_EVENT_NUMBER number);
const char *dt_dto_status_name(DAT_DTO_COMPLETION_STATUS status);

/*
 * Reports a DAT call that failed: call, names of the code, the library's own
 * reason if it gives one, and what to do about it (NULL: nothing known).
 * Returns code.
 */
int dt_dat_fail(struct dt_report *r, enum dt_exit code, DAT_RETURN ret,
		const char *call, const char *remedy);

/*
 * The same of an adapter that did not open, by CALL. Where the library gives no
 * reason of its own, as older ones, what to do is REMEDY, or guessed if that is
 * NULL, and names that there are follow on standard error.
 */
int dt_dat_not_opened(struct dt_report *r, DAT_RETURN ret, const char *call,
		      const char *remedy);

/*
 * For who names no adapter: leaves NAME, a tool's default, alone if it opens;
 * else it becomes the first adapter of the list that opens, and a line says so,
 * or the first of all if none does.
 */
void dt_default_adapter(struct dt_report *r, char *name, size_t size);

/*
 * Waits for an event. `how` overrides w->mode, for queues without CNO.
 * Returns 0, or -ETIMEDOUT, -EINTR (asked to stop), -ENOTCONN (the peer left
 * and nothing is queued any more), -EIO (w->ret).
 */
int dt_evd_next(struct dt_waiter *w, enum dt_wait_mode how, DAT_EVD_HANDLE evd,
		uint64_t limit_ns, DAT_EVENT *ret_event);

/* What dt_evd_next() returned, as error text: reports it, returns the code. */
int dt_wait_fail(struct dt_report *r, const struct dt_waiter *w, int rc,
		 const char *what);

/*
 * For loops that look at memory: whether to go on. Returns 0, -ETIMEDOUT,
 * -EINTR or -ENOTCONN.
 */
int dt_spin_check(struct dt_waiter *w, uint64_t deadline);

#endif /* DTEST_DT_DAT_H */
