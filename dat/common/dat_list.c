/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_list.c - what there is: the list of providers.
 *
 * Loads no library: what is listed need not work.
 * Threads: any; takes dat_registry_lock.
 * Ownership: results are copies in the caller's memory.
 * Rule: uDAPL 1.2 specification, dat_registry_list_providers.
 */
#include "dat_reg_int.h"

#include "dat_cancel.h"
#include "dat_detail.h"
#include "dat_static.h"
#include <errno.h>
#include <string.h>

/*
 * Lists are for programs that open what is listed, some of them all of it:
 * what is of another version they could not.
 */
static bool is_shown(DAT_UINT32 major)
{
	return major == DAT_VERSION_MAJOR;
}

/* All there are; the first MAX are stored. */
static size_t list_locked(DAT_PROVIDER_INFO *list[], size_t max)
{
	const struct dat_conf *conf = dat_static_conf();
	const struct registration *reg;
	size_t n = 0;
	size_t i;

	for (i = 0; i < conf->n_records; i++) {
		if (conf->records[i].duplicate || conf->records[i].unlisted ||
		    !is_shown(conf->records[i].major))
			continue;
		if (n < max)
			dat_key_of_record(&conf->records[i], list[n]);
		n++;
	}
	for (reg = dat_registrations; reg; reg = reg->next) {
		if (dat_key_is_listed(&reg->info) ||
		    !is_shown(reg->info.dapl_version_major))
			continue;
		if (n < max)
			*list[n] = reg->info;
		n++;
	}
	return n;
}

DAT_RETURN dat_look_fail(int err)
{
	return dat_fail(
		DAT_INSUFFICIENT_RESOURCES |
			(err == -ENOMEM ? DAT_RESOURCE_MEMORY : DAT_NO_SUBTYPE),
		"cannot look for RDMA devices: %s", strerror(-err));
}

static DAT_RETURN fill_list_locked(size_t max, DAT_COUNT *entries_returned,
				   DAT_PROVIDER_INFO *list[])
{
	size_t total;
	size_t i;
	int err;

	*entries_returned = 0;
	err = dat_static_look();
	if (err)
		return dat_look_fail(err);
	total = list_locked(NULL, 0);
	if (total > max && !(DAT_FACE_LIST_CUT && max > 0)) {
		*entries_returned = (DAT_COUNT)total;
		return dat_fail(DAT_INVALID_PARAMETER | DAT_INVALID_ARG1,
				"dat_registry_list_providers: there are %zu "
				"adapters, max_to_return is %zu",
				total, max);
	}
	if (total > max)
		total = max;
	for (i = 0; i < total; i++)
		if (!list[i])
			return dat_fail(
				DAT_INVALID_PARAMETER | DAT_INVALID_ARG3,
				"dat_registry_list_providers: element %zu of "
				"the list is NULL",
				i);
	list_locked(list, total);
	*entries_returned = (DAT_COUNT)total;
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	DAT_RETURN ret;
	DAT_NOT_CANCELLABLE;

	if (!entries_returned)
		return dat_fail(DAT_INVALID_PARAMETER | DAT_INVALID_ARG2,
				"%s: entries_returned is NULL", __func__);
	if (max_to_return < 0)
		return dat_fail(DAT_INVALID_PARAMETER | DAT_INVALID_ARG1,
				"%s: max_to_return is %d", __func__,
				max_to_return);
	if (max_to_return > 0 && !dat_provider_list)
		return dat_fail(DAT_INVALID_PARAMETER | DAT_INVALID_ARG3,
				"%s: dat_provider_list is NULL", __func__);
	pthread_mutex_lock(&dat_registry_lock);
	ret = fill_list_locked((size_t)max_to_return, entries_returned,
			       dat_provider_list);
	pthread_mutex_unlock(&dat_registry_lock);
	return ret;
}
