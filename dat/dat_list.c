/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_list.c - what there is: the list of providers, and how two are related.
 *
 * Loads no library: what is listed need not work.
 * Threads: any; takes dat_registry_lock.
 * Ownership: results are copies in the caller's memory.
 * Rule: uDAPL 1.2 specification, dat_registry_list_providers; relations are a
 * DAT 2.0 addition without a text: same library and same device.
 */
#include "dat_reg_int.h"

#include "dat_cancel.h"
#include "dat_detail.h"
#include "dat_static.h"
#include <string.h>

/* All there are; the first MAX are stored. */
static size_t list_locked(DAT_PROVIDER_INFO *list[], size_t max)
{
	const struct dat_conf *conf = dat_static_conf();
	const struct registration *reg;
	size_t n = 0;
	size_t i;

	for (i = 0; i < conf->n_records; i++) {
		if (conf->records[i].duplicate)
			continue;
		if (n < max)
			dat_key_of_record(&conf->records[i], list[n]);
		n++;
	}
	for (reg = dat_registrations; reg; reg = reg->next) {
		if (dat_key_is_static(&reg->info))
			continue;
		if (n < max)
			*list[n] = reg->info;
		n++;
	}
	return n;
}

static DAT_RETURN fill_list_locked(size_t max, DAT_COUNT *entries_returned,
				   DAT_PROVIDER_INFO *list[])
{
	size_t total = list_locked(NULL, 0);
	size_t i;

	*entries_returned = 0;
	if (total > max) {
		*entries_returned = (DAT_COUNT)total;
		return dat_fail(DAT_INVALID_PARAMETER | DAT_INVALID_ARG1,
				"dat_registry_list_providers: there are %zu "
				"adapters, max_to_return is %zu",
				total, max);
	}
	for (i = 0; i < total; i++)
		if (!list[i])
			return dat_fail(
				DAT_INVALID_PARAMETER | DAT_INVALID_ARG3,
				"dat_registry_list_providers: element %zu of "
				"the list is NULL",
				i);
	*entries_returned = (DAT_COUNT)list_locked(list, total);
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

/* What two names are compared by. */
struct hardware {
	const struct dat_conf_record
		*record; /* NULL: registered by a program */
};

static bool find_hardware_locked(const char *name, struct hardware *ret_hw)
{
	const struct dat_conf *conf = dat_static_conf();
	const struct registration *reg;
	size_t i;

	for (i = 0; i < conf->n_records; i++) {
		if (strcmp(conf->records[i].name, name) == 0) {
			ret_hw->record = &conf->records[i];
			return true;
		}
	}
	for (reg = dat_registrations; reg; reg = reg->next) {
		if (strcmp(reg->info.ia_name, name) == 0) {
			ret_hw->record = NULL;
			return true;
		}
	}
	return false;
}

/* The first word of ia_params is the device. */
static bool same_device(const char *a, const char *b)
{
	size_t len_a;
	size_t len_b;

	a += strspn(a, " \t");
	b += strspn(b, " \t");
	len_a = strcspn(a, " \t");
	len_b = strcspn(b, " \t");
	return len_a == len_b && memcmp(a, b, len_a) == 0;
}

static DAT_RETURN related_locked(const char *name1, const char *name2,
				 DAT_HA_RELATIONSHIP *answer)
{
	struct hardware a;
	struct hardware b;

	if (!find_hardware_locked(name1, &a) ||
	    !find_hardware_locked(name2, &b))
		return dat_fail(DAT_PROVIDER_NOT_FOUND |
					DAT_NAME_NOT_REGISTERED,
				"\"%s\" or \"%s\" is not known", name1, name2);
	if (strcmp(name1, name2) == 0)
		*answer = DAT_HA_TRUE;
	else if (!a.record || !b.record)
		*answer = DAT_HA_UNKNOWN;
	else if (strcmp(a.record->lib_path, b.record->lib_path) == 0 &&
		 same_device(a.record->ia_params, b.record->ia_params))
		*answer = DAT_HA_TRUE;
	else
		*answer = DAT_HA_FALSE;
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1,
					  const DAT_NAME_PTR name2,
					  DAT_HA_RELATIONSHIP *answer)
{
	DAT_RETURN ret;
	DAT_NOT_CANCELLABLE;

	if (!name1 || !name2 || !answer)
		return dat_fail(DAT_INVALID_PARAMETER |
					(!name1	  ? DAT_INVALID_ARG1
					 : !name2 ? DAT_INVALID_ARG2
						  : DAT_INVALID_ARG3),
				"%s: a pointer is NULL", __func__);
	pthread_mutex_lock(&dat_registry_lock);
	ret = related_locked(name1, name2, answer);
	pthread_mutex_unlock(&dat_registry_lock);
	return ret;
}
