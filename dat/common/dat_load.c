/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_load.c - dlopen() and dlclose() of provider plug-ins.
 *
 * Does not search: names without a slash are the loader's business.
 * Threads: any, no lock held by the caller.
 * Ownership: see dat_load.h.
 * Rule: plug-ins are bound at once and globally, and older ones expect to
 * find the library in the global scope without naming it as a dependency.
 */
#include "dat_load.h"

#include "dat_log.h"
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

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
		dat_text_add(why, "%s has no " DAT_PROVIDER_INIT_FUNC_STR,
			     path);
		return -1;
	}
	plugin->fini = (DAT_PROVIDER_FINI_FUNC)dlsym(
		plugin->dl, DAT_PROVIDER_FINI_FUNC_STR);
	if (!plugin->fini) {
		dat_text_add(why, "%s has no " DAT_PROVIDER_FINI_FUNC_STR,
			     path);
		return -1;
	}
	return 0;
}

int dat_plugin_load(const char *path, struct dat_plugin *ret_plugin,
		    struct dat_text *why)
{
	struct dat_plugin plugin = {0};

	/* the loader takes "" for the program itself */
	if (path[0] == '\0') {
		dat_text_add(why, "the library field is empty");
		return -1;
	}
	if (is_special_file(path)) {
		dat_text_add(why, "%s is not a regular file", path);
		return -1;
	}
	make_self_global();
	plugin.dl = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!plugin.dl) {
		dat_text_add(why, "cannot load %s: %s", path, last_error());
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
