/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_load.c - dlopen() and dlclose() of provider plug-ins.
 *
 * Where a library is looked for dat_library.h says.
 * Threads: any, no lock held by the caller.
 * Ownership: see dat_load.h.
 * Rule: plug-ins are bound at once and globally, and older ones expect to
 * find the library in the global scope without naming it as a dependency.
 */
#include "dat_load.h"

#include "dat_auto.h"
#include "dat_face.h"
#include "dat_library.h"
#include "dat_log.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A program may have loaded the library itself, and privately. The flags of a
 * loaded library can be raised, and stay so without the second reference.
 */
static void make_self_global(void)
{
	Dl_info info;
	void *self;

	if (!dladdr((void *)make_self_global, &info) || !info.dli_fname)
		return;
	self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
	if (self)
		dlclose(self);
	else
		/* as in a program that contains this code; nothing is lost */
		dlerror();
}

/* dlopen() would wait for a writer if the path were that of a FIFO. */
static bool is_special_file(const char *path)
{
	struct stat st;

	return strchr(path, '/') && stat(path, &st) == 0 &&
	       !S_ISREG(st.st_mode);
}

static const char *last_error(void)
{
	const char *text = dlerror();

	return text ? text : "unknown reason";
}

static int find_entries(const char *path, struct dat_plugin *plugin,
			struct dat_text *why)
{
	plugin->init = (DAT_PROVIDER_INIT_FUNC)dlsym(
		plugin->dl, DAT_PROVIDER_INIT_FUNC_STR);
	if (!plugin->init) {
		dat_text_add(
			why,
			"name a provider: %s is none, it has no " DAT_PROVIDER_INIT_FUNC_STR,
			path);
		return -1;
	}
	plugin->fini = (DAT_PROVIDER_FINI_FUNC)dlsym(
		plugin->dl, DAT_PROVIDER_FINI_FUNC_STR);
	if (!plugin->fini) {
		dat_text_add(
			why,
			"name a provider: %s is none, it has no " DAT_PROVIDER_FINI_FUNC_STR,
			path);
		return -1;
	}
	return 0;
}

static void add_reason(struct dat_text *why, const char *path,
		       const char *reason)
{
	bool forbidden =
		strchr(path, '/') && access(path, R_OK) && errno == EACCES;
	size_t len = strlen(path);

	/* the loader says whose library it is, or which one that needs */
	if (strncmp(reason, path, len) == 0 &&
	    strncmp(reason + len, ": ", 2) == 0)
		reason += len + 2;
	dat_text_add(why, "%s the library: cannot load %s: %s",
		     forbidden ? "let this user read" : "install or correct",
		     path, reason);
}

int dat_plugin_load(const char *path, struct dat_plugin *ret_plugin,
		    struct dat_text *why)
{
	struct dat_plugin plugin = {0};
	char folder[PATH_MAX], file[PATH_MAX];
	const char *own;

	/* the loader takes "" for the program itself */
	if (path[0] == '\0') {
		dat_text_add(
			why,
			"write a provider in the field of the library: it is empty");
		return -1;
	}
	own = dat_auto_library_for(DAT_VERSION_MAJOR, path);
	if (own) {
		dat_text_add(why,
			     "write %s: %s is for programs of another version "
			     "of DAT",
			     own, path);
		return -1;
	}
	dat_library_folder((void *)make_self_global, folder, sizeof(folder));
	path = dat_library_file(path, folder, file, sizeof(file));
	if (is_special_file(path)) {
		dat_text_add(why, "name a library: %s is not a regular file",
			     path);
		return -1;
	}
	make_self_global();
	plugin.dl = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!plugin.dl) {
		add_reason(why, path, last_error());
		return -1;
	}
	if (find_entries(path, &plugin, why)) {
		dlclose(plugin.dl);
		return -1;
	}
	dat_log(DAT_LOG_PROVIDER, "loaded %s", path);
	*ret_plugin = plugin;
	return 0;
}

bool dat_plugin_is_of_others(const struct dat_plugin *plugin)
{
	void *add = dlsym(plugin->dl, "dat_registry_add_provider");

	return add && add != (void *)dat_registry_add_provider;
}

void dat_plugin_unload(struct dat_plugin *plugin)
{
	if (!plugin->dl)
		return;
	if (dlclose(plugin->dl))
		dat_log(DAT_LOG_ERROR, "cannot unload a provider: %s",
			last_error());
	else
		dat_log(DAT_LOG_PROVIDER, "unloaded a provider");
	*plugin = (struct dat_plugin){0};
}
