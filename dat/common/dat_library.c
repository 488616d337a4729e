/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_library.c - which file a provider library is.
 *
 * Threads, ownership, rule: dat_library.h.
 */
#include "dat_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef DAT_LIBDIR
#define DAT_LIBDIR "/usr/lib"
#endif

void dat_library_folder(void *inside, char *buf, size_t size)
{
	struct link_map *map;
	Dl_info info;
	const char *slash;

	buf[0] = '\0';
	if (!dladdr1(inside, &info, (void **)&map, RTLD_DL_LINKMAP) ||
	    map->l_name[0] != '/')
		return;
	slash = strrchr(map->l_name, '/');
	if ((size_t)(slash - map->l_name) + 1 < size)
		snprintf(buf, size, "%.*s/", (int)(slash - map->l_name),
			 map->l_name);
}

/* The file of that name in FOLDER, if there is one. */
static bool is_in(const char *folder, const char *name, char *buf, size_t size)
{
	return folder[0] == '/' &&
	       (size_t)snprintf(buf, size, "%s%s", folder, name) < size &&
	       access(buf, R_OK) == 0;
}

const char *dat_library_file(const char *path, const char *folder, char *buf,
			     size_t size)
{
	if (!strchr(path, '/') && (is_in(folder, path, buf, size) ||
				   is_in(DAT_LIBDIR "/", path, buf, size)))
		return buf;
	return path;
}
