/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_register.c - the plugin is loaded for a name, or done with it.
 *
 * libdat2 calls init and fini one after the other for a name, but different
 * names may come from different threads.
 */
#include "dapl/common/plugin/dapl_register.h"

#include "dapl/common/base/dapl_obj.h"
#include "dapl/common/base/dapl_provider.h"
#include "dapl/common/cm/base/dapl_cm.h"
#include "dapl/common/plugin/dapl_calls.h"

/* The operation that OPS lacks, or NULL: calls do not look for it again. */
static const char *missing_op(const struct dapl_cm_ops *ops)
{
#define OP(op)                       \
	{                            \
#op, ops->op != NULL \
	}
	const struct {
		const char *name;
		bool there;
	} all[] = {
		OP(name),	OP(open),      OP(start),  OP(stop),
		OP(close),	OP(max_pdata), OP(listen), OP(unlisten),
		OP(prepare),	OP(connect),   OP(accept), OP(reject),
		OP(disconnect), OP(release),   OP(addrs),
	};
#undef OP

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!all[i].there)
			return all[i].name;
	return NULL;
}

void dapl_provider_register_calls(const struct dapl_calls *calls,
				  const struct dapl_cm_ops *ops,
				  const DAT_PROVIDER_INFO *info,
				  const char *ia_params)
{
	const char *missing = missing_op(ops);
	struct dapl_provider *prov;

	if (missing) {
		dapl_fail(DAPL_ERR(DAT_INTERNAL_ERROR, 0),
			  "the provider of %s has no operation %s",
			  info->ia_name, missing);
		return;
	}
	dapl__log_setup(ops->name);
	prov = dapl_provider_take(calls, ops, info, ia_params ? ia_params : "");
	if (!prov)
		dapl_fail(DAPL_NO_MEM, "no memory for provider %s",
			  info->ia_name);
	else if (dat_registry_add_provider(&prov->vector, info) != DAT_SUCCESS)
		dapl_provider_give_back(prov);
}

void dapl_provider_register(const struct dapl_cm_ops *ops,
			    const DAT_PROVIDER_INFO *info,
			    const char *ia_params)
{
	dapl_provider_register_calls(&dapl__calls, ops, info, ia_params);
}

void dapl_provider_unregister(const struct dapl_cm_ops *ops,
			      const DAT_PROVIDER_INFO *info)
{
	struct dapl_provider *prov = dapl_provider_of(ops, info);

	if (!prov)
		return;
	dapl_provider_give_back(prov);
	dat_registry_remove_provider(&prov->vector, info);
}
