/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_stub.h - what the stub provider tells the test program.
 *
 * The stub is a real shared library, loaded and unloaded by the registry; its
 * own variables go with it, so it counts in the program's. What it does is
 * chosen by ia_params, its instance data; see dat_stub.c.
 * Threads: counters are atomic.
 * Ownership: none.
 * Rule: the program defines stub_count (DAT_STUB_COUNTERS), the stub uses it.
 */
#ifndef DAT_STUB_H
#define DAT_STUB_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stub_count {
	int inits;
	int finis;
	int opens;	    /* successful ones */
	int closes;	    /* successful ones */
	void (*gate)(void); /* called by init, unless NULL */
};

__attribute__((visibility("default"))) extern struct stub_count stub_count;

/* Put this into one file of the program. */
#define DAT_STUB_COUNTERS struct stub_count stub_count

static inline bool stub_is_loaded(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);

	if (library)
		dlclose(library);
	return library != NULL;
}

/* A new dat.conf of this text, at PATH, a template. 0, or a group fails. */
static inline int stub_conf(char *path, const char *text)
{
	int fd = mkstemp(path);
	ssize_t len = (ssize_t)strlen(text);

	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return -1;
	return close(fd);
}

#endif
