/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_reg.h - from a request to a provider that is ready to open adapters.
 *
 * Opens no adapter; dat_ia.c does. The public half of the registry is in
 * dat_registry.h.
 * Threads: any. No lock is held while a provider or the loader runs, so these
 * calls may wait for another thread that loads or unloads the same provider.
 * Ownership: each successful acquire is undone by one release.
 * Rule: dat.conf(5), how a request is matched.
 */
#ifndef DAT_REG_H
#define DAT_REG_H

#include "dat_face.h"
#include <stdbool.h>

struct dat_request {
	const char *name; /* shorter than DAT_NAME_MAX_LENGTH */
	DAT_UINT32 major;
	DAT_UINT32 minor;
	bool thread_safe;
};

struct dat_use; /* one provider in use */

/*
 * What of a provider works without an object. ia_open may be NULL; the table
 * stays where it is while the provider is in use. NAME is for
 * the provider: the device_name of its own table, which tells registrations
 * that differ in version or thread safety only apart; NULL if it has none.
 */
struct dat_entries {
	const char *name;
	DAT_IA_OPEN_FUNC ia_open;
	const DAT_PROVIDER *table;
};

/* On failure the reason is stored for dat_error_detail(). */
DAT_RETURN dat_provider_acquire(const struct dat_request *request,
				struct dat_use **ret_use,
				struct dat_entries *ret_entries);

/* Adds "adapter NAME: ", whose line it is, and what is wrong with that. */
struct dat_text;
void dat_provider_add_place(const struct dat_use *use, struct dat_text *text);

/* The last release unloads the provider. */
void dat_provider_release(struct dat_use *use);

/* As the library does when it is loaded; see dat_static_init(). */
struct dat_static_options;
void dat_registry_init(const struct dat_static_options *options);

/* As when it is unloaded. Keeps everything if an adapter is still open. */
void dat_registry_fini(void);

/*
 * Whether this process was forked from one that had adapters open, and the
 * error of a call that cannot be made there: it would wait for threads that are
 * not there, or take the parent's adapters away.
 */
bool dat_forked(void);
DAT_RETURN dat_forked_fail(const char *call);

#endif
