/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_registry.h - what a provider plug-in and the registry need of each
 * other. Programs that only use adapters need not include it.
 *
 * Does not describe dat.conf; that file has its own manual page.
 * Threads: the registry holds no lock of its own while it calls a plug-in.
 * Ownership: a provider table stays the plug-in's and must stay in place
 * until dat_registry_remove_provider(); infos and texts are copied.
 * Rule: uDAPL 1.2 specification, static and dynamic registry. A plug-in finds
 * these symbols in the global scope; it need not be linked with libdat2.
 */
#ifndef DAT2_REGISTRY_H
#define DAT2_REGISTRY_H

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DAT_1_2
/* Whether two names lead to the same hardware. */
enum dat_ha_relationship {
	DAT_HA_FALSE = 0,
	DAT_HA_TRUE = 1,
	DAT_HA_UNKNOWN = 2,
	DAT_HA_CONFLICTING = 3, /* sources disagree */
	DAT_HA_EXTENSION_BASE = 4,
};
typedef enum dat_ha_relationship DAT_HA_RELATIONSHIP;
#endif

/*
 * dat_registry_add_provider - enter a provider into the dynamic registry.
 *
#ifndef DAT_1_2
 *   provider       its table; device_name, ia_open_func and
 *                  handle_extendedop_func are used by the registry, the rest
 *                  by the calls on the objects. Where device_name is the name
#else
 *   provider       its table; device_name and ia_open_func are used by the
 *                  registry, the rest
 *                  by the calls on the objects. Where device_name is the name
#endif
 *                  in provider_info, ia_open_func is called with that very
 *                  pointer: registrations may differ in nothing else that
 *                  it is told
 *   provider_info  name, version and thread safety; copied. For a plug-in
 *                  exactly what its dat_provider_init was given
 *
 * Returns:
 *   INVALID_PARAMETER/ARG1, ARG2  NULL
 *   PROVIDER_ALREADY_REGISTERED   the same name, version and thread safety
 *   INSUFFICIENT_RESOURCES/MEMORY
 *   INVALID_STATE           the library is being torn down
 * Blocks: no. Threads: safe, also from inside dat_provider_init. Events: none.
 * Rule: uDAPL 1.2 spec, dat_registry_add_provider.
 */
DAT_EXPORT DAT_RETURN dat_registry_add_provider(
	const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *provider_info);

/*
 * dat_registry_remove_provider - undo dat_registry_add_provider().
 *
 *   provider       the same table
 *   provider_info  the same name, version and thread safety
 *
 * Returns:
 *   INVALID_PARAMETER/ARG1, ARG2  NULL
 *   PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED  not registered, or by another
 *                           table
 *   PROVIDER_IN_USE         an instance is open
 *   INVALID_STATE           the library is being torn down
 * Blocks: no. Threads: safe, also from inside dat_provider_fini. Events: none.
 * Rule: uDAPL 1.2 spec, dat_registry_remove_provider.
 */
DAT_EXPORT DAT_RETURN dat_registry_remove_provider(
	const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *provider_info);

#ifndef DAT_1_2
/*
 * dat_registry_providers_related - can one adapter stand in for another?
 *
 *   name1, name2  IA names
 *   answer        out, DAT_HA_TRUE: the same device by the same library;
 *                 DAT_HA_FALSE: not; DAT_HA_UNKNOWN: cannot be told
 *
 * Returns:
 *   INVALID_PARAMETER/ARG1 to ARG3  NULL
 *   PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED  one of the names
 *   INSUFFICIENT_RESOURCES  memory or descriptors to look for devices
 * Blocks: as dat_registry_list_providers() does. Threads: safe.
 * Events: none.
 * Rule: added in DAT 2.0; older libraries declared it and did not have it.
 */
DAT_EXPORT DAT_RETURN dat_registry_providers_related(
	const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
	DAT_HA_RELATIONSHIP *answer);
#endif

#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR  "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR  "dat_provider_fini"

/*
 * dat_provider_init, dat_provider_fini - what a plug-in exports.
 *
 *   provider_info  the name, version and thread safety to register, exactly
 *   instance_data  parameter string of the dat.conf line
 *
 * Init is called after the library was loaded, before the name is opened for
 * the first time, and again after fini; it calls dat_registry_add_provider()
 * and leaves nothing behind if that fails, after dats_set_error_detail().
 * Fini is called after the last instance was closed and before the library is
 * unloaded; it calls dat_registry_remove_provider().
 *
 * Returns: nothing; what init does not register cannot be opened.
 * Blocks: should not. Threads: never two for the same name at once.
 * Events: none.
 * Rule: uDAPL 1.2 spec, dat_provider_init and dat_provider_fini.
 */
typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *provider_info,
				       const char *instance_data);
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *provider_info);

DAT_EXPORT void
DAT_PROVIDER_INIT_FUNC_NAME(const DAT_PROVIDER_INFO *provider_info,
			    const char *instance_data);

DAT_EXPORT void
DAT_PROVIDER_FINI_FUNC_NAME(const DAT_PROVIDER_INFO *provider_info);

/*
 * Additions of this implementation, not part of DAT
 */

/*
 * dats_get_ia_handle - translate an IA handle, either way.
 *
 *   in   the program's small integer, or the provider's pointer
 *   out  the other one
 *
 * A provider needs it for every ia_handle that it returns to programs.
 *
 * Returns: INVALID_HANDLE/IA when it is not that of an open instance.
 * Blocks: no. Threads: safe. Events: none.
 * Rule: exported by all versions of libdat2 and used by old plug-ins, but
 * declared by no older header.
 */
DAT_EXPORT DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE in, DAT_IA_HANDLE *out);

/*
 * dats_set_error_detail - say why a call is about to fail.
 *
 *   text  copied, cut after 1023 bytes; NULL is ""
 *
 * The text is what dat_error_detail() returns on this thread afterwards.
 *
 * Returns: nothing, cannot fail.
 * Blocks: no. Threads: safe, each thread has its own. Events: none.
 * Rule: of this implementation. A plug-in that is to work with other
 * libraries too looks the symbol up instead of linking to it.
 */
DAT_EXPORT void dats_set_error_detail(const char *text);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_REGISTRY_H */
