/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_counters.h - what an adapter, its endpoints and its EVDs count.
 *
 * The values are those of the IB extension (DCNT_*), and a few that it has no
 * name for. What happens seldom is always counted, with the adapter. What calls
 * on the data path do is counted once somebody has asked (DAPL_COUNTERS, or any
 * of the extension's four calls): from then on the vector of the adapter's name
 * leads to calls that count (dapl_provider.h), and endpoints and EVDs get a
 * place for it when they need one. Until then none of it costs an instruction,
 * and from then on the fast ways pay a few: they count with the lock that they
 * have, into values of their own.
 *
 * Locks: the IA's for what starts, stops and is reset; values are atomic.
 */
#ifndef DAPL_COUNTERS_H
#define DAPL_COUNTERS_H

#include <dat2/dat_ib_extensions.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dapl/common/services/dapl_count.h"
#include "dapl/common/services/dapl_likely.h"

struct dapl_ia;
struct dapl_obj;

/* Behind the extension's: they are printed, and can't be queried. */
enum {
	DAPL_EP_REQUESTS_MOST = DCNT_EP_ALL_COUNTERS, /* outstanding at once */
	DAPL_EP_RECEIVES_MOST,
	DAPL_EP_COUNTS,
};
enum {
	DAPL_EVD_EVENTS_MOST = DCNT_EVD_ALL_COUNTERS, /* found waiting */
	DAPL_EVD_COUNTS,
};

/*
 * Of one endpoint or EVD. The memory stays one of these for ever, so that who
 * counts for an object that is being freed does no harm.
 */
struct dapl_counts {
	struct dapl_counts *next; /* that is free */
	/* By the fast ways, with the lock of the queue or EVD. */
	uint64_t fast[DAPL_EP_COUNTS];
	uint64_t n[DAPL_EP_COUNTS];    /* by all others */
	uint64_t base[DAPL_EP_COUNTS]; /* what is subtracted, since a reset */
};

/*
 * Whose values they are. An EVD counts a dequeue once, as what it found:
 * a transfer (POLL_FOUND), another event (FOUND) or nothing (NOT_FOUND); the
 * rest of DCNT_EVD_DEQUEUE* follows from that.
 */
enum dapl_counts_of {
	DAPL_COUNTS_EP,
	DAPL_COUNTS_EVD,
	DAPL_COUNTS_EVD_CQ, /* it has a completion queue */
};

/* Groups of an adapter's counters, DCNT_IA_CM to DCNT_IA_DIAG. */
#define DAPL_COUNT_GROUPS (DCNT_IA_DIAG + 1)
/* Times in microseconds: below 1, below 2, below 4, ... */
#define DAPL_TIMES 32

/* From dat_ep_connect() to establishment. */
struct dapl_connects {
	uint64_t n[DAPL_TIMES];
	uint64_t us; /* of all together */
	uint64_t most_us;
};

/* How DAPL_COUNTERS wants them. */
enum dapl_counters_form {
	DAPL_COUNTERS_NONE,
	DAPL_COUNTERS_TABLE,
	DAPL_COUNTERS_JSON,
};

struct dapl_ia_counters {
	uint64_t n[DCNT_IA_ALL_COUNTERS];
	/* Lock. What is subtracted; or, of a group that has been stopped, the
	 * value itself. */
	uint64_t base[DCNT_IA_ALL_COUNTERS];
	bool stopped[DAPL_COUNT_GROUPS]; /* atomic */
	/* Of endpoints and EVDs that are no more. */
	uint64_t ep[DAPL_EP_COUNTS];
	uint64_t evd[DAPL_EVD_COUNTS];
	struct dapl_connects connects;
	/* What DAPL_COUNTERS said when the adapter was opened. */
	enum dapl_counters_form form;
};

/* An adapter: something happened to it. ID: DCNT_IA_*. */
void dapl_ia_count(struct dapl_ia *ia, int id);
/* An attempt to connect has led to a connection, after so long. */
void dapl_ia_count_connect(struct dapl_ia *ia, uint64_t us);

/*
 * The values of OBJ, an endpoint or EVD, at its *PLACE; made when there are
 * none. NULL: no memory, or OBJ has ended. Any thread.
 */
__attribute__((cold, noinline)) struct dapl_counts *
dapl_counts_make(const struct dapl_obj *obj, struct dapl_counts **place);
static inline struct dapl_counts *dapl_counts_get(const struct dapl_obj *obj,
						  struct dapl_counts **place)
{
	struct dapl_counts *c = __atomic_load_n(place, __ATOMIC_ACQUIRE);

	return likely(c != NULL) ? c : dapl_counts_make(obj, place);
}
/* The same for who counts without a lock. */
static inline uint64_t *dapl_counts_at(const struct dapl_obj *obj,
				       struct dapl_counts **place)
{
	struct dapl_counts *c = dapl_counts_get(obj, place);

	return c ? c->n : NULL;
}

/* For what is not on the data path: NULL where nobody counts. */
uint64_t *dapl_counts_if_on(const struct dapl_obj *obj,
			    struct dapl_counts **place);
/*
 * Value ID. RESET: from here on it is counted anew; what was the most goes to
 * SUM, the adapter's.
 */
uint64_t dapl_counts_value(struct dapl_counts *c, enum dapl_counts_of of,
			   int id, uint64_t *sum, bool reset);
/*
 * The object ends: what it ever counted goes to SUM, if that is not NULL, and
 * the place to others.
 */
void dapl_counts_end(struct dapl_counts **place, enum dapl_counts_of of,
		     uint64_t *sum);

/*
 * The adapter's value ID, or all into RET; those of the device are read.
 * RESET: from here on it is counted anew.
 */
void dapl_ia_counters(struct dapl_ia *ia, int id, uint64_t *ret, bool reset);
/* The times of connects, which are only printed; as above. */
void dapl_ia_connects(struct dapl_ia *ia, struct dapl_connects *ret,
		      bool reset);
/* From here on those of GROUP stay as they are, or go on. */
void dapl_ia_counters_stopped(struct dapl_ia *ia, int group, bool stopped);

enum dapl_counters_form dapl_counters_form(const char *text);
/* The adapter is open; and its objects are gone: its counters are printed. */
void dapl_counters_open(struct dapl_ia *ia);
void dapl_counters_close(struct dapl_ia *ia);

/* dapl_counters_text.c */

/* One or several lines about values; nothing that is 0 is printed. */
struct dapl_counters_say {
	const char *name; /* of the adapter */
	DAT_HANDLE handle;
	/* NULL: not those */
	const uint64_t *ia;
	const uint64_t *ep;
	const uint64_t *evd;
	const struct dapl_connects *connects;
};

void dapl_counters_table(FILE *to, const struct dapl_counters_say *say);
void dapl_counters_json(FILE *to, const struct dapl_counters_say *say);

#endif
