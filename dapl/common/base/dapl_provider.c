/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_provider.c - the names that libdat2 has loaded the plugin for.
 *
 * libdat2 calls init and fini one after the other for a name, but different
 * names may come from different threads. An entry is never freed: the plugin
 * stays loaded, its objects' memory too, and each begins with a pointer to the
 * vector that a call with a stale handle goes through. The next init of the
 * same name and parameters uses it again.
 */
#include "dapl/common/base/dapl_provider.h"

#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_process.h"

/*
 * libdat2 opens with the device_name of the registration it chose, which tells
 * those of one name apart; another libdat2, and a program, only know the text.
 */
struct dapl_provider *dapl_provider_find(const char *name)
{
	struct dapl_provider *prov, *found = NULL;

	if (!name)
		return NULL;
	dapl_lock(&dapl_process.lock);
	dapl_list_for_each(prov, &dapl_process.names, link) {
		if (!prov->registered || strcmp(prov->info.ia_name, name))
			continue;
		if (!found || prov->info.ia_name == name)
			found = prov;
	}
	dapl_unlock(&dapl_process.lock);
	return found;
}

static bool same_info(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return !strcmp(a->ia_name, b->ia_name) &&
	       a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       a->is_thread_safe == b->is_thread_safe;
}

static struct dapl_provider *provider_make(const struct dapl_calls *calls,
					   const struct dapl_cm_ops *ops,
					   const DAT_PROVIDER_INFO *info,
					   const char *ia_params)
{
	struct dapl_provider *prov;

	prov = calloc(1, sizeof(*prov) + strlen(ia_params) + 1);
	if (!prov)
		return NULL;
	prov->vector = *calls->vector;
	prov->calls = calls;
	prov->info = *info;
	prov->vector.device_name = prov->info.ia_name;
	prov->ops = ops;
	strcpy(prov->ia_params, ia_params);
	dapl_list_add_tail(&dapl_process.names, &prov->link);
	return prov;
}

struct dapl_provider *dapl_provider_take(const struct dapl_calls *calls,
					 const struct dapl_cm_ops *ops,
					 const DAT_PROVIDER_INFO *info,
					 const char *ia_params)
{
	struct dapl_provider *prov, *found = NULL;

	dapl_lock(&dapl_process.lock);
	dapl_list_for_each(prov, &dapl_process.names, link)
		if (!prov->registered && prov->ops == ops &&
		    same_info(&prov->info, info) &&
		    !strcmp(prov->ia_params, ia_params))
			found = prov;
	if (!found)
		found = provider_make(calls, ops, info, ia_params);
	if (found)
		found->registered = true;
	dapl_unlock(&dapl_process.lock);
	return found;
}

void dapl_provider_give_back(struct dapl_provider *prov)
{
	dapl_lock(&dapl_process.lock);
	prov->registered = false;
	dapl_unlock(&dapl_process.lock);
}

struct dapl_provider *dapl_provider_of(const struct dapl_cm_ops *ops,
				       const DAT_PROVIDER_INFO *info)
{
	struct dapl_provider *prov, *found = NULL;

	dapl_lock(&dapl_process.lock);
	dapl_list_for_each(prov, &dapl_process.names, link)
		if (prov->registered && prov->ops == ops &&
		    same_info(&prov->info, info)) {
			found = prov;
			break;
		}
	dapl_unlock(&dapl_process.lock);
	return found;
}

void dapl_provider_count(struct dapl_provider *prov)
{
	dapl_lock(&dapl_process.lock);
	if (!prov->counts)
		prov->calls->count(&prov->vector);
	__atomic_store_n(&prov->counts, true, __ATOMIC_RELAXED);
	dapl_unlock(&dapl_process.lock);
}
