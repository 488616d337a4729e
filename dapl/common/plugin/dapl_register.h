/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_register.h - the plugin towards the registry that it is linked with: its
 * two entry points.
 *
 * The one header of plugin/ that connection managers include, each in the file
 * of its table.
 */
#ifndef DAPL_REGISTER_H
#define DAPL_REGISTER_H

#include <dat2/udat.h>

#include <dat2/dat_registry.h>

struct dapl_calls;
struct dapl_cm_ops;

/*
 * What dat_provider_init() and dat_provider_fini() of a plugin call with their
 * own OPS. Registering refuses OPS that lack one which is not optional.
 */
void dapl_provider_register(const struct dapl_cm_ops *ops,
			    const DAT_PROVIDER_INFO *info,
			    const char *ia_params);
/* The same with other CALLS than those of DAT 2.0. */
void dapl_provider_register_calls(const struct dapl_calls *calls,
				  const struct dapl_cm_ops *ops,
				  const DAT_PROVIDER_INFO *info,
				  const char *ia_params);
void dapl_provider_unregister(const struct dapl_cm_ops *ops,
			      const DAT_PROVIDER_INFO *info);

/* A plugin is built with other calls by the name of their table. */
#ifdef DAPL_PLUGIN_CALLS
extern const struct dapl_calls DAPL_PLUGIN_CALLS;
#define DAPL_PLUGIN_REGISTER(ops, info, ia_params) \
	dapl_provider_register_calls(&DAPL_PLUGIN_CALLS, ops, info, ia_params)
#else
#define DAPL_PLUGIN_REGISTER(ops, info, ia_params) \
	dapl_provider_register(ops, info, ia_params)
#endif

/* bare_rejects of dapl_cm_ops, where rejects have a header. */
#ifndef DAPL_PLUGIN_BARE_REJECTS
#define DAPL_PLUGIN_BARE_REJECTS false
#endif

/* datagrams of dapl_cm_ops, of a connection manager that has them. */
#ifndef DAPL_PLUGIN_DATAGRAMS
#define DAPL_PLUGIN_DATAGRAMS true
#endif

/*
 * The entry points, for OPS: in a file that only the plugin has. The registry
 * never calls them for one name on two threads at once.
 */
#define DAPL_CM_PLUGIN(ops)                                    \
	void dat_provider_init(const DAT_PROVIDER_INFO *info,  \
			       const char *ia_params)          \
	{                                                      \
		DAPL_PLUGIN_REGISTER(&(ops), info, ia_params); \
	}                                                      \
	void dat_provider_fini(const DAT_PROVIDER_INFO *info)  \
	{                                                      \
		dapl_provider_unregister(&(ops), info);        \
	}

#endif
