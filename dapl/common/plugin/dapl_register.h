/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_register.h - the plugin towards libdat2: its two entry points.
 *
 * The one header of plugin/ that connection managers include, each in the file
 * of its table.
 */
#ifndef DAPL_REGISTER_H
#define DAPL_REGISTER_H

#include <dat2/udat.h>

#include <dat2/dat_registry.h>

struct dapl_cm_ops;

/*
 * What dat_provider_init() and dat_provider_fini() of a plugin call with their
 * own OPS. Registering refuses OPS that lack one which is not optional.
 */
void dapl_provider_register(const struct dapl_cm_ops *ops,
			    const DAT_PROVIDER_INFO *info,
			    const char *ia_params);
void dapl_provider_unregister(const struct dapl_cm_ops *ops,
			      const DAT_PROVIDER_INFO *info);

/*
 * These two, for OPS: in a file that only the plugin has. libdat2 never calls
 * them for one name on two threads at once.
 */
#define DAPL_CM_PLUGIN(ops)                                      \
	void dat_provider_init(const DAT_PROVIDER_INFO *info,    \
			       const char *ia_params)            \
	{                                                        \
		dapl_provider_register(&(ops), info, ia_params); \
	}                                                        \
	void dat_provider_fini(const DAT_PROVIDER_INFO *info)    \
	{                                                        \
		dapl_provider_unregister(&(ops), info);          \
	}

#endif
