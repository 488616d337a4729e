/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * names.c - names FOLDER: prints the adapters that the library of this version
 * of DAT in FOLDER offers, a line each. names FOLDER NAME...: opens these in
 * turn.
 *
 * Linked with no library of ours, as a program below any prefix is; knows the
 * public API only. Exit status 0, or 1 with a line that says why not.
 */
#ifdef DAT_FACE_1
#include <dat/udat.h>
#define LIBRARY "libdat.so.1"
#else
#include <dat2/udat.h>
#define LIBRARY "libdat2.so.2"
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX 256

static void *library;

static void *call(const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return address;
}

static const char *reason(void)
{
	__typeof__(dat_error_detail) *detail;

	*(void **)&detail = call("dat_error_detail");
	return detail();
}

static int list(void)
{
	__typeof__(dat_registry_list_providers) *list_providers;
	static DAT_PROVIDER_INFO infos[MAX];
	DAT_PROVIDER_INFO *pointers[MAX];
	DAT_COUNT n;
	int i;

	*(void **)&list_providers = call("dat_registry_list_providers");
	for (i = 0; i < MAX; i++)
		pointers[i] = &infos[i];
	if (list_providers(MAX, &n, pointers)) {
		printf("%s\n", reason());
		return 1;
	}
	for (i = 0; i < n; i++)
		printf("%s\n", infos[i].ia_name);
	return 0;
}

static int open_name(char *name)
{
	__typeof__(dat_ia_openv) *openv;
	__typeof__(dat_ia_close) *close;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	*(void **)&openv = call("dat_ia_openv");
	*(void **)&close = call("dat_ia_close");
	if (openv(name, 8, &async, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
		  DAT_FALSE) ||
	    close(ia, DAT_CLOSE_GRACEFUL_FLAG)) {
		printf("%s: %s\n", name, reason());
		return 1;
	}
	printf("%s: opened and closed\n", name);
	return 0;
}

int main(int argc, char **argv)
{
	char path[4096];
	int failed = 0;

	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "%s/" LIBRARY, argv[1]);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	if (argc == 2)
		return list();
	for (int i = 2; i < argc; i++)
		failed |= open_name(argv[i]);
	return failed;
}
