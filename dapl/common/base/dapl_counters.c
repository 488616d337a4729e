/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_counters.c - counting, and reading what was counted.
 *
 * A counter of an adapter only grows. What a program sees of it is the
 * difference to a base, so that starting, stopping and resetting touch nothing
 * that others are adding to, and is the same for values that the kernel keeps.
 */
#include "dapl/common/base/dapl_counters.h"

#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/base/dapl_process.h"

/* --------------------------------------------------- of an adapter */

void dapl_ia_count(struct dapl_ia *ia, int id)
{
	dapl_count(ia->counters.n, id);
}

void dapl_ia_count_connect(struct dapl_ia *ia, uint64_t us)
{
	struct dapl_connects *c = &ia->counters.connects;
	int i = 0;

	if (__atomic_load_n(&ia->counters.stopped[DCNT_IA_CM],
			    __ATOMIC_RELAXED))
		return;
	while (i < DAPL_TIMES - 1 && us >> i)
		i++;
	dapl_count(c->n, i);
	dapl_count_add(&c->us, 0, us);
	dapl_count_most(&c->most_us, 0, us);
}

/* ------------------------------------------- of an endpoint or EVD */

static struct dapl_counts *counts_take(void)
{
	struct dapl_counts *c;

	dapl_lock(&dapl_process.pool_lock);
	c = dapl_process.counts;
	if (c)
		dapl_process.counts = c->next;
	dapl_unlock(&dapl_process.pool_lock);
	return c ? c : calloc(1, sizeof(*c));
}

static void counts_put(struct dapl_counts *c)
{
	memset(c, 0, sizeof(*c));
	dapl_lock(&dapl_process.pool_lock);
	c->next = dapl_process.counts;
	dapl_process.counts = c;
	dapl_unlock(&dapl_process.pool_lock);
}

static bool has_ended(const struct dapl_obj *obj)
{
	return __atomic_load_n(&obj->magic, __ATOMIC_SEQ_CST) !=
	       DAPL_MAGIC(obj->ops->type);
}

/*
 * For an object that ends meanwhile either who ends it finds the values, since
 * they were there before it was marked so, or the mark is seen here.
 */
struct dapl_counts *dapl_counts_make(const struct dapl_obj *obj,
				     struct dapl_counts **place)
{
	struct dapl_counts *mine = counts_take(), *c = NULL;

	if (!mine)
		return NULL;
	if (!__atomic_compare_exchange_n(place, &c, mine, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_ACQUIRE)) {
		counts_put(mine);
		return c;
	}
	if (obj && has_ended(obj)) {
		dapl_counts_end(place, DAPL_COUNTS_EP, NULL);
		return NULL;
	}
	return mine;
}

uint64_t *dapl_counts_if_on(const struct dapl_obj *obj,
			    struct dapl_counts **place)
{
	return __atomic_load_n(&obj->ia->prov->counts, __ATOMIC_RELAXED)
		       ? dapl_counts_at(obj, place)
		       : NULL;
}

/* Those behind are the most there ever was of something. */
static bool is_most(enum dapl_counts_of of, int id)
{
	return id >= (of == DAPL_COUNTS_EP ? (int)DCNT_EP_ALL_COUNTERS
					   : (int)DCNT_EVD_ALL_COUNTERS);
}

static uint64_t both(const struct dapl_counts *c, int id)
{
	return __atomic_load_n(&c->fast[id], __ATOMIC_RELAXED) +
	       __atomic_load_n(&c->n[id], __ATOMIC_RELAXED);
}

static uint64_t most(const struct dapl_counts *c, int id)
{
	uint64_t fast = __atomic_load_n(&c->fast[id], __ATOMIC_RELAXED);
	uint64_t n = __atomic_load_n(&c->n[id], __ATOMIC_RELAXED);

	return fast > n ? fast : n;
}

static uint64_t found(const struct dapl_counts *c)
{
	return both(c, DCNT_EVD_DEQUEUE_POLL_FOUND) +
	       both(c, DCNT_EVD_DEQUEUE_FOUND);
}

/* Since the object is there. */
static uint64_t counted_ever(const struct dapl_counts *c,
			     enum dapl_counts_of of, int id)
{
	if (is_most(of, id))
		return most(c, id);
	if (of == DAPL_COUNTS_EP)
		return both(c, id);
	switch (id) {
	case DCNT_EVD_DEQUEUE:
		return found(c) + both(c, DCNT_EVD_DEQUEUE_NOT_FOUND);
	case DCNT_EVD_DEQUEUE_POLL:
		return of == DAPL_COUNTS_EVD_CQ
			       ? found(c) + both(c, DCNT_EVD_DEQUEUE_NOT_FOUND)
			       : 0;
	case DCNT_EVD_DEQUEUE_FOUND:
		return found(c);
	default:
		return both(c, id);
	}
}

static void sum_up(uint64_t *sum, enum dapl_counts_of of, int id,
		   uint64_t value)
{
	if (is_most(of, id))
		dapl_count_most(sum, id, value);
	else
		dapl_count_add(sum, id, value);
}

static uint64_t most_value(struct dapl_counts *c, enum dapl_counts_of of,
			   int id, uint64_t *sum, bool reset)
{
	uint64_t value = most(c, id);

	if (!reset)
		return value;
	sum_up(sum, of, id, value);
	/* Who has just counted more may bring that back. */
	__atomic_store_n(&c->fast[id], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->n[id], 0, __ATOMIC_RELAXED);
	return value;
}

/* The base is read first: it is what was counted some time before. */
uint64_t dapl_counts_value(struct dapl_counts *c, enum dapl_counts_of of,
			   int id, uint64_t *sum, bool reset)
{
	uint64_t base = __atomic_load_n(&c->base[id], __ATOMIC_ACQUIRE), ever;

	if (is_most(of, id))
		return most_value(c, of, id, sum, reset);
	do {
		ever = counted_ever(c, of, id);
		/* A post that was refused has been taken back. */
		if (ever <= base)
			return 0;
	} while (reset && !__atomic_compare_exchange_n(
				  &c->base[id], &base, ever, false,
				  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return ever - base;
}

void dapl_counts_end(struct dapl_counts **place, enum dapl_counts_of of,
		     uint64_t *sum)
{
	struct dapl_counts *c =
		__atomic_exchange_n(place, NULL, __ATOMIC_SEQ_CST);
	int count = of == DAPL_COUNTS_EP ? (int)DAPL_EP_COUNTS
					 : (int)DAPL_EVD_COUNTS;

	if (!c)
		return;
	for (int i = 0; sum && i < count; i++)
		sum_up(sum, of, i, counted_ever(c, of, i));
	counts_put(c);
}

/* ------------------------------------------------------- asked for */

/*
 * What the device counts, in files of the kernel: one that exists is it. Names
 * differ by driver: mlx4, mlx5 and rdma_rxe.
 */
#define FILES 4
static const struct device_count {
	int id;
	const char *file[FILES];
} device_counts[] = {
	{DCNT_IA_LNK_ERR_RCV, {"counters/port_rcv_errors"}},
	{DCNT_IA_LNK_ERR_RCV_REM_PHYS,
	 {"counters/port_rcv_remote_physical_errors"}},
	{DCNT_IA_LNK_ERR_RCV_CONSTRAINT,
	 {"counters/port_rcv_constraint_errors"}},
	{DCNT_IA_LNK_ERR_XMT_DISCARDS, {"counters/port_xmit_discards"}},
	{DCNT_IA_LNK_ERR_XMT_CONTRAINT,
	 {"counters/port_xmit_constraint_errors"}},
	{DCNT_IA_LNK_ERR_INTEGRITY, {"counters/local_link_integrity_errors"}},
	{DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN,
	 {"counters/excessive_buffer_overrun_errors"}},
	{DCNT_IA_LNK_WARN_RCV_SW_RELAY,
	 {"counters/port_rcv_switch_relay_errors"}},
	{DCNT_IA_LNK_WARN_XMT_WAIT, {"counters/port_xmit_wait"}},
	{DCNT_IA_DIAG_ERR_RQ_RAE,
	 {"hw_counters/rq_num_rae", "hw_counters/resp_remote_access_errors"}},
	{DCNT_IA_DIAG_ERR_RQ_OOS,
	 {"hw_counters/rq_num_oos", "hw_counters/out_of_sequence",
	  "hw_counters/out_of_seq_request"}},
	{DCNT_IA_DIAG_ERR_RQ_RIRE, {"hw_counters/rq_num_rire"}},
	{DCNT_IA_DIAG_ERR_RQ_UDSDPRD,
	 {"hw_counters/rq_num_udsdprd", "hw_counters/out_of_buffer"}},
	{DCNT_IA_DIAG_ERR_SQ_RAE,
	 {"hw_counters/sq_num_rae", "hw_counters/req_remote_access_errors"}},
	{DCNT_IA_DIAG_ERR_SQ_OOS,
	 {"hw_counters/sq_num_oos", "hw_counters/packet_seq_err",
	  "hw_counters/rcvd_seq_err"}},
	{DCNT_IA_DIAG_ERR_SQ_RIRE,
	 {"hw_counters/sq_num_rire", "hw_counters/req_remote_invalid_request"}},
	{DCNT_IA_DIAG_ERR_SQ_RREE,
	 {"hw_counters/sq_num_rree", "hw_counters/rnr_nak_retry_err",
	  "hw_counters/retry_rnr_exceeded_err"}},
	{DCNT_IA_DIAG_ERR_SQ_TREE,
	 {"hw_counters/sq_num_tree", "hw_counters/local_ack_timeout_err",
	  "hw_counters/retry_exceeded_err"}},
};

#define DEVICE_COUNTS (sizeof(device_counts) / sizeof(device_counts[0]))

/* 0: the device does not count it. */
static uint64_t device_value(const struct dapl_ia *ia,
			     const struct device_count *dc)
{
	uint64_t value = 0;

	for (int i = 0; i < FILES && dc->file[i]; i++)
		if (vb_port_count(&ia->dev, dc->file[i], &value))
			break;
	return value;
}

/* -1: of none, they always run. */
static int group_of(int id)
{
	if (id >= DCNT_IA_DIAG_ERR_RQ_RAE)
		return DCNT_IA_DIAG;
	if (id >= DCNT_IA_LNK_ERR_RCV)
		return DCNT_IA_LNK;
	return id >= DCNT_IA_CM_LISTEN ? DCNT_IA_CM : -1;
}

/* What was counted since ever. */
static uint64_t raw_value(struct dapl_ia *ia, int id)
{
	for (size_t i = 0; i < DEVICE_COUNTS; i++)
		if (device_counts[i].id == id)
			return device_value(ia, &device_counts[i]);
	return __atomic_load_n(&ia->counters.n[id], __ATOMIC_RELAXED);
}

static uint64_t value_locked(const struct dapl_ia *ia, int id, uint64_t raw)
{
	const struct dapl_ia_counters *c = &ia->counters;
	int group = group_of(id);

	dapl_lock_assert_held(&ia->lock);
	if (group >= 0 && c->stopped[group])
		return c->base[id];
	/* Somebody may have cleared those of the device. */
	return raw >= c->base[id] ? raw - c->base[id] : raw;
}

static void reset_locked(struct dapl_ia *ia, int id, uint64_t raw)
{
	struct dapl_ia_counters *c = &ia->counters;
	int group = group_of(id);

	dapl_lock_assert_held(&ia->lock);
	c->base[id] = group >= 0 && c->stopped[group] ? 0 : raw;
}

static uint64_t taken(uint64_t *n, bool reset)
{
	return reset ? __atomic_exchange_n(n, 0, __ATOMIC_RELAXED)
		     : __atomic_load_n(n, __ATOMIC_RELAXED);
}

void dapl_ia_connects(struct dapl_ia *ia, struct dapl_connects *ret, bool reset)
{
	struct dapl_connects *c = &ia->counters.connects;

	for (int i = 0; i < DAPL_TIMES; i++)
		ret->n[i] = taken(&c->n[i], reset);
	ret->us = taken(&c->us, reset);
	ret->most_us = taken(&c->most_us, reset);
}

static uint64_t ia_counter(struct dapl_ia *ia, int id, bool reset)
{
	uint64_t raw = raw_value(ia, id), value;

	dapl_lock(&ia->lock);
	value = value_locked(ia, id, raw);
	if (reset)
		reset_locked(ia, id, raw);
	dapl_unlock(&ia->lock);
	return value;
}

void dapl_ia_counters(struct dapl_ia *ia, int id, uint64_t *ret, bool reset)
{
	if (id < DCNT_IA_ALL_COUNTERS) {
		*ret = ia_counter(ia, id, reset);
		return;
	}
	for (int i = 0; i < DCNT_IA_ALL_COUNTERS; i++)
		ret[i] = ia_counter(ia, i, reset);
}

/* Makes of a base a value or the reverse, where GROUP is not so already. */
void dapl_ia_counters_stopped(struct dapl_ia *ia, int group, bool stopped)
{
	struct dapl_ia_counters *c = &ia->counters;
	uint64_t raw[DCNT_IA_ALL_COUNTERS] = {0};

	for (int i = 0; i < DCNT_IA_ALL_COUNTERS; i++)
		if (group_of(i) == group)
			raw[i] = raw_value(ia, i);
	dapl_lock(&ia->lock);
	for (int i = 0;
	     c->stopped[group] != stopped && i < DCNT_IA_ALL_COUNTERS; i++)
		if (group_of(i) == group)
			c->base[i] = raw[i] - c->base[i];
	__atomic_store_n(&c->stopped[group], stopped, __ATOMIC_RELAXED);
	dapl_unlock(&ia->lock);
}

/* --------------------------------------------- DAPL_COUNTERS */

enum dapl_counters_form dapl_counters_form(const char *text)
{
	if (!text || !text[0] || !strcmp(text, "0"))
		return DAPL_COUNTERS_NONE;
	if (!strcmp(text, "json"))
		return DAPL_COUNTERS_JSON;
	if (strcmp(text, "table") && strcmp(text, "1"))
		dapl_log(DAPL_LOG_WARN,
			 "DAPL_COUNTERS: neither table nor json: \"%s\"; as a "
			 "table",
			 text);
	return DAPL_COUNTERS_TABLE;
}

void dapl_counters_open(struct dapl_ia *ia)
{
	if (!ia->query_only)
		ia->counters.form = dapl_counters_form(ia->params.counters);
	if (ia->counters.form == DAPL_COUNTERS_NONE)
		return;
	dapl_provider_count(ia->prov);
	/* What the device counted before is not ours. */
	for (size_t i = 0; i < DEVICE_COUNTS; i++)
		ia_counter(ia, device_counts[i].id, true);
}

void dapl_counters_close(struct dapl_ia *ia)
{
	enum dapl_counters_form form = ia->counters.form;
	uint64_t values[DCNT_IA_ALL_COUNTERS];
	struct dapl_connects connects;
	const struct dapl_counters_say say = {
		.name = ia->prov->info.ia_name,
		.ia = values,
		.ep = ia->counters.ep,
		.evd = ia->counters.evd,
		.connects = &connects,
	};

	if (form == DAPL_COUNTERS_NONE)
		return;
	dapl_ia_connects(ia, &connects, false);
	dapl_ia_counters(ia, DCNT_IA_ALL_COUNTERS, values, false);
	/* Ours of the whole life, whatever the program has reset or stopped. */
	for (int i = 0; i < DCNT_IA_LNK_ERR_RCV; i++)
		values[i] = raw_value(ia, i);
	if (form == DAPL_COUNTERS_JSON)
		dapl_counters_json(stderr, &say);
	else
		dapl_counters_table(stderr, &say);
}
