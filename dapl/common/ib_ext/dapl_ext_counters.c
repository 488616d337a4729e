/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_ext_counters.c - the extension's four calls for counters.
 *
 * A set belongs to the handle: an adapter's, an endpoint's, an EVD's. Whoever
 * asks for any of them has the data path counted from then on.
 */
#include <dat2/dat_ib_extensions.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/event/dapl_evd.h"
#include "dapl/common/ib_ext/dapl_ext.h"
#include "dapl/common/transfer/dapl_qp.h"

/* The counters behind a handle. */
struct set {
	struct dapl_ia *ia;
	struct dapl_counts **place; /* of an endpoint or EVD; NULL: the IA's */
	enum dapl_counts_of of;
	uint64_t *sum; /* of those, with the adapter */
	int all;       /* as many as can be queried */
	int count;     /* as many as there are */
};

static bool set_of(DAT_HANDLE handle, struct set *set)
{
	struct dapl_ia *ia = dapl_ia_from((DAT_IA_HANDLE)handle);
	struct dapl_qp *qp = dapl_qp_from((DAT_EP_HANDLE)handle);
	struct dapl_evd *evd = dapl_evd_from((DAT_EVD_HANDLE)handle);

	if (ia)
		*set = (struct set){
			.ia = ia,
			.all = DCNT_IA_ALL_COUNTERS,
		};
	else if (qp)
		*set = (struct set){
			.ia = qp->obj.ia,
			.place = &qp->counts,
			.of = DAPL_COUNTS_EP,
			.sum = qp->obj.ia->counters.ep,
			.all = DCNT_EP_ALL_COUNTERS,
			.count = DAPL_EP_COUNTS,
		};
	else if (evd)
		*set = (struct set){
			.ia = evd->obj.ia,
			.place = &evd->counts,
			.of = evd->cq ? DAPL_COUNTS_EVD_CQ : DAPL_COUNTS_EVD,
			.sum = evd->obj.ia->counters.evd,
			.all = DCNT_EVD_ALL_COUNTERS,
			.count = DAPL_EVD_COUNTS,
		};
	return ia || qp || evd;
}

/* The set of HANDLE, which is asked for ID; or why not. */
static DAT_RETURN set_find(DAT_HANDLE handle, int id, struct set *set)
{
	if (!set_of(handle, set))
		return dapl_fail(
			DAPL_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
			"%p is no IA, EP or EVD, which have counters", handle);
	if (id < 0 || id > set->all)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "%p has no counter %d: they go up to %d, "
				 "which is all of them",
				 handle, id, set->all);
	dapl_provider_count(set->ia->prov);
	return DAT_SUCCESS;
}

/* Values FIRST to LAST of an endpoint or EVD. */
static void read_counts(const struct set *set, int first, int last,
			uint64_t *ret, bool reset)
{
	struct dapl_counts *c = __atomic_load_n(set->place, __ATOMIC_ACQUIRE);

	for (int i = first; i <= last; i++)
		ret[i - first] =
			c ? dapl_counts_value(c, set->of, i, set->sum, reset)
			  : 0;
}

static void read_set(const struct set *set, int id, uint64_t *ret, bool reset)
{
	bool all = id == set->all;

	if (!set->place)
		dapl_ia_counters(set->ia, id, ret, reset);
	else
		read_counts(set, all ? 0 : id, all ? id - 1 : id, ret, reset);
}

DAT_RETURN dapl_ext_query_counters(DAT_HANDLE handle, va_list args)
{
	int id = va_arg(args, int);
	DAT_UINT64 *ret_values = va_arg(args, DAT_UINT64 *);
	int reset = va_arg(args, int);
	struct dapl_connects connects;
	struct set set;
	DAT_RETURN ret = set_find(handle, id, &set);

	if (ret != DAT_SUCCESS)
		return ret;
	if (!ret_values)
		return dapl_fail(DAPL_BAD_ARG(3), "no place for the values");
	read_set(&set, id, ret_values, reset != 0);
	/* They have no number, and begin anew with all the rest. */
	if (reset && !set.place && id == set.all)
		dapl_ia_connects(set.ia, &connects, true);
	return DAT_SUCCESS;
}

/* What can't be queried is printed with all the rest. */
DAT_RETURN dapl_ext_print_counters(DAT_HANDLE handle, va_list args)
{
	int id = va_arg(args, int);
	int reset = va_arg(args, int);
	uint64_t values[DCNT_IA_ALL_COUNTERS] = {0};
	struct dapl_counters_say say = {.handle = handle};
	struct dapl_connects connects;
	struct set set;
	DAT_RETURN ret = set_find(handle, id, &set);

	if (ret != DAT_SUCCESS)
		return ret;
	if (set.place && id == set.all)
		read_counts(&set, 0, set.count - 1, values, reset != 0);
	else
		read_set(&set, id, id == set.all ? values : &values[id],
			 reset != 0);
	say.name = set.ia->prov->info.ia_name;
	if (!set.place)
		say.ia = values;
	else if (set.all == DCNT_EP_ALL_COUNTERS)
		say.ep = values;
	else
		say.evd = values;
	if (!set.place && id == set.all) {
		dapl_ia_connects(set.ia, &connects, reset != 0);
		say.connects = &connects;
	}
	dapl_counters_table(stdout, &say);
	return DAT_SUCCESS;
}

static DAT_RETURN group_set(DAT_HANDLE handle, va_list args, bool stopped)
{
	struct dapl_ia *ia = dapl_ia_from((DAT_IA_HANDLE)handle);
	int group = va_arg(args, int);

	if (!ia)
		return dapl_fail(DAPL_BAD_HANDLE(IA), "no such IA");
	if (group < 0 || group >= DAPL_COUNT_GROUPS)
		return dapl_fail(DAPL_BAD_ARG(2),
				 "there is no group %d of counters", group);
	dapl_provider_count(ia->prov);
	dapl_ia_counters_stopped(ia, group, stopped);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ext_start_counters(DAT_HANDLE handle, va_list args)
{
	return group_set(handle, args, false);
}

DAT_RETURN dapl_ext_stop_counters(DAT_HANDLE handle, va_list args)
{
	return group_set(handle, args, true);
}
