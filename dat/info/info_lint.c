/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_lint.c - what is wrong in a dat.conf: what the library says of it when
 * it reads it, and what would become of each line when somebody opened it.
 *
 * Opens no adapter. A library that only the loader finds is loaded, and
 * unloaded at once: nothing else knows where the loader looks.
 * Threads, ownership: info.h. Rule: dat.conf(5).
 */
#include "dat/info/info.h"

#include "dat/common/dat_auto.h"
#include "dat/common/dat_library.h"
#include "dat/common/dat_static.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE (PATH_MAX + 16)

/* "FILE:LINE" */
static void place(unsigned line, char at[PLACE])
{
	snprintf(at, PLACE, "%s:%u", dat_static_file(), line);
}

/* Why the library of that name or path cannot be loaded; "": it may be. */
static void try_library(const struct info *info, const char *path, char *why,
			size_t size)
{
	char file[PATH_MAX];
	struct stat st;
	void *dl;

	why[0] = '\0';
	path = dat_library_file(path, info->host.libs, file, sizeof(file));
	if (strchr(path, '/')) {
		if (access(path, R_OK) || stat(path, &st))
			snprintf(why, size, "cannot load %s: %s", path,
				 strerror(errno));
		else if (!S_ISREG(st.st_mode))
			snprintf(why, size, "%s is not a regular file", path);
		return;
	}
	dl = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (dl)
		dlclose(dl);
	else
		snprintf(why, size, "cannot load %s", dlerror());
}

static void lint_library(const struct info *info, struct info_out *o,
			 const char *at, const struct info_name *name)
{
	const struct dat_conf_record *r = name->record;
	const char *slash = strrchr(r->lib_path, '/');
	const char *own = dat_auto_library_for(r->major, r->lib_path);
	char why[PATH_MAX + 256];

	if (!r->lib_path[0]) {
		info_say(o, INFO_FAIL, at, "write a provider in field 5",
			 "%s: the library has no name", r->name);
		return;
	}
	if (own) {
		info_say(o, INFO_FAIL, at, "write the library of its version",
			 "%s: %s is for programs of another version of DAT; of "
			 "this one it is %s",
			 r->name, r->lib_path, own);
		return;
	}
	try_library(info, r->lib_path, why, sizeof(why));
	/* others do the work of what is no more */
	if (why[0] && !strncmp(slash ? slash + 1 : r->lib_path, "libdaplomcm.",
			       strlen("libdaplomcm.")))
		try_library(info, "libdaploucm.so.2", why, sizeof(why));
	if (why[0])
		info_say(o, INFO_FAIL, at,
			 "install the library, or correct field 5", "%s: %s",
			 r->name, why);
}

static bool has_entry(const struct info *info, const struct info_name *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/gids/%d",
		 info->host.sysfs, name->device, name->port_number,
		 name->wish.index);
	return !access(path, F_OK);
}

/* What field 7 says, and whether it is here. */
static void lint_params(const struct info *info, struct info_out *o,
			const char *at, const struct info_name *name)
{
	const struct dat_conf_record *r = name->record;
	char used[256];

	if (name->way == INFO_WAY_OTHER)
		return;
	if (name->wrong) {
		info_say(o, INFO_FAIL, at, info_params_remedy(name->way),
			 "%s: ia_params is \"%s\", %s", r->name, r->ia_params,
			 name->wrong);
	} else if (name->way != INFO_WAY_CMA && !name->port_number) {
		info_say(o, INFO_FAIL, at, info_params_remedy(name->way),
			 "%s: ia_params is \"%s\", ports count from 1", r->name,
			 r->ia_params);
	} else if (!name->port) {
		info_say(o, INFO_WARN, at,
			 "remove the line, or correct field 7; "
			 "dat_info --generate shows what there is",
			 "%s: this machine has nothing behind \"%s\"", r->name,
			 r->ia_params);
	} else if (name->wish.of_line && !name->gid.kind) {
		info_gids_used(info, name->port, used, sizeof(used));
		/* an entry that is empty may be filled yet */
		info_say(o, has_entry(info, name) ? INFO_WARN : INFO_FAIL, at,
			 "correct gid= in field 7, or remove it",
			 "%s: %s port %u has no GID at index %d; in use are %s",
			 r->name, name->device, name->port_number,
			 name->wish.index, used[0] ? used : "none");
	}
}

static void lint_record(const struct info *info, struct info_out *o,
			const struct dat_conf_record *r)
{
	struct info_name name;
	char at[PLACE];

	place(r->line, at);
	info_describe(info, r, &name);
	if (r->duplicate)
		info_say(o, INFO_WARN, at, "remove one of them",
			 "%s: an earlier line has the same name, version and "
			 "threading; this one is used only if that one's "
			 "library cannot be loaded",
			 r->name);
	if (r->loose)
		info_say(o, INFO_WARN, at,
			 r->loose == DAT_CONF_DEFAULT
				 ? "write default, or nondefault"
				 : "write threadsafe, or nonthreadsafe",
			 "%s: field %d goes on behind its word, %s; that is "
			 "not looked at",
			 r->name, (int)r->loose + 1,
			 r->loose == DAT_CONF_DEFAULT ? "default"
			 : r->thread_safe	      ? "threadsafe"
						      : "nonthreadsafe");
	lint_library(info, o, at, &name);
	lint_params(info, o, at, &name);
}

/* The number of lines that are used. */
static size_t lint_records(const struct info *info, struct info_out *o)
{
	size_t lines = 0;

	for (size_t i = 0; i < info->conf->n_records; i++) {
		if (!info->conf->records[i].line)
			continue;
		lines++;
		lint_record(info, o, &info->conf->records[i]);
	}
	return lines;
}

bool info_check_file(const struct info *info, struct info_out *o,
		     enum info_result if_named)
{
	const char *file = dat_static_file();

	if (!file && info->named)
		info_say(o, if_named, "file",
			 "name a file that can be read, or none", "%s",
			 dat_static_no_file());
	else
		info_say(o, INFO_OK, "file", NULL, "%s",
			 file ? file : "none; names are found by themselves");
	return file != NULL;
}

int info_lint(const struct info *info, struct info_out *o)
{
	const struct dat_conf *conf = info->conf;
	unsigned failed = o->failed, warned = o->warned;
	char text[512], at[PLACE];
	size_t lines;

	if (!info_check_file(info, o, INFO_FAIL))
		return info->named ? INFO_NO_ADAPTER : INFO_PASSED;
	for (size_t i = 0; i < conf->n_diags; i++) {
		dat_conf_diag_text(&conf->diags[i], text, sizeof(text));
		place(conf->diags[i].line, at);
		info_say(o, conf->diags[i].ignored ? INFO_WARN : INFO_FAIL, at,
			 "see dat.conf(5)", "%s", strstr(text, "column"));
	}
	if (conf->n_diags_lost)
		info_say(o, INFO_FAIL, "dat.conf", NULL, "%zu mistakes more",
			 conf->n_diags_lost);
	lines = lint_records(info, o);
	if (o->failed == failed && o->warned == warned)
		info_say(o, INFO_OK, "dat.conf", NULL, "%zu good lines", lines);
	return o->failed ? INFO_FAILED : INFO_PASSED;
}
