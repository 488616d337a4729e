/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_load.h - a provider plug-in as a shared library.
 *
 * Loads and unloads; does not call what it found and counts no references,
 * dat_registry.c does both.
 * Threads: any. The caller holds no lock: libraries run code of their own
 * when they come and go, and that may call the registry.
 * Ownership: a loaded plug-in is the caller's until dat_plugin_unload().
 * Rule: uDAPL 1.2 specification, provider entry points; dat.conf(5), library.
 */
#ifndef DAT_LOAD_H
#define DAT_LOAD_H

#include "dat_detail.h"

#include <stdbool.h>

struct dat_plugin {
	void *dl; /* of dlopen() */
	DAT_PROVIDER_INIT_FUNC init;
	DAT_PROVIDER_FINI_FUNC fini;
};

/* 0, or -1 after adding a sentence to WHY. */
int dat_plugin_load(const char *path, struct dat_plugin *ret_plugin,
		    struct dat_text *why);

/*
 * Whether it registers with another copy of the library: that of the program,
 * whose symbols are not to be seen, is this one.
 */
bool dat_plugin_is_of_others(const struct dat_plugin *plugin);

void dat_plugin_unload(struct dat_plugin *plugin);

#endif
