/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_plugin.c - what libdat2 and a provider do together: each provider as it is
 * installed, loaded by the finished libdat2, over the fake device, which is
 * this program's own symbols.
 *
 * Not for what one of the two does alone. The program starts itself again with
 * the environment that libdat2 reads when it is loaded, and with freed memory
 * overwritten by malloc, so that a use after free shows without a sanitizer.
 * Rule: dat_registry.h; dat.conf(5).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <dat2/udat.h>

#include "test/unit/fake/fake_verbs.h"

#define PLUGIN(dir, lib) DAPL_TEST_BUILDDIR "/dapl/" dir "/.libs/" lib ".so.2"

static const struct plugin {
	const char *name;
	const char *path;
	const char *params;
} plugins[] = {
	{"cma", PLUGIN("openib_cma", "libdaplofa"), "10.0.0.1 0"},
	{"scm", PLUGIN("openib_scm", "libdaploscm"), "fake0 1"},
	{"ucm", PLUGIN("openib_ucm", "libdaploucm"), "fake0 1"},
};

#define PLUGINS (sizeof(plugins) / sizeof(plugins[0]))

static DAT_IA_HANDLE open_ia(const char *name, DAT_BOOLEAN thread_safe)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	assert_int_equal(dat_ia_openv((DAT_NAME_PTR)name, 8, &async, &ia, 2, 0,
				      thread_safe),
			 DAT_SUCCESS);
	return ia;
}

static void close_ia(DAT_IA_HANDLE ia)
{
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static DAT_BOOLEAN is_thread_safe(DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR attr;

	assert_int_equal(
		dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
		DAT_SUCCESS);
	return attr.is_thread_safe;
}

/* The file has each name twice, once for either kind of thread safety. */
static void open__registrations_of_one_name(void **state)
{
	const struct plugin *plugin = *state;
	DAT_IA_HANDLE safe = open_ia(plugin->name, DAT_TRUE);
	DAT_IA_HANDLE unsafe = open_ia(plugin->name, DAT_FALSE);
	DAT_PZ_HANDLE pz;

	assert_int_equal(is_thread_safe(safe), DAT_TRUE);
	assert_int_equal(is_thread_safe(unsafe), DAT_FALSE);
	close_ia(safe);
	assert_int_equal(dat_pz_create(unsafe, &pz), DAT_SUCCESS);
	assert_int_equal(is_thread_safe(unsafe), DAT_FALSE);
	safe = open_ia(plugin->name, DAT_TRUE);
	assert_int_equal(is_thread_safe(safe), DAT_TRUE);
	close_ia(unsafe);
	assert_int_equal(dat_pz_create(safe, &pz), DAT_SUCCESS);
	assert_int_equal(is_thread_safe(safe), DAT_TRUE);
	close_ia(safe);
}

/* A call with a stale handle goes through the table of its registration. */
static void close__stale_handle_after_the_last(void **state)
{
	const struct plugin *plugin = *state;
	DAT_IA_HANDLE ia = open_ia(plugin->name, DAT_TRUE);
	DAT_PZ_HANDLE pz;

	assert_int_equal(dat_pz_create(ia, &pz), DAT_SUCCESS);
	close_ia(ia);
	assert_int_equal(DAT_GET_TYPE(dat_pz_free(pz)), DAT_INVALID_HANDLE);
	ia = open_ia(plugin->name, DAT_TRUE);
	assert_int_equal(DAT_GET_TYPE(dat_pz_free(pz)), DAT_INVALID_HANDLE);
	close_ia(ia);
}

static int write_conf(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	for (size_t i = 0; i < PLUGINS; i++)
		for (int safe = 0; safe < 2; safe++)
			fprintf(f,
				"%s u2.0 %s default %s dapl.2.0 \"%s\" \"\"\n",
				plugins[i].name,
				safe ? "threadsafe" : "nonthreadsafe",
				plugins[i].path, plugins[i].params);
	return fclose(f);
}

static int start_again(char **argv)
{
	char dir[] = "/tmp/dapl-test.XXXXXX", path[64];

	if (!mkdtemp(dir))
		return 99;
	snprintf(path, sizeof(path), "%s/dat.conf", dir);
	if (write_conf(path))
		return 99;
	setenv("DAT_OVERRIDE", path, 1);
	setenv("DAPL_SCM_NETDEV", "lo", 1);
	setenv("GLIBC_TUNABLES",
	       "glibc.malloc.perturb=90:glibc.malloc.tcache_count=0", 1);
	setenv("DAPL_TEST_DIR", dir, 1);
	execv("/proc/self/exe", argv);
	return 99;
}

static int setup(void **state)
{
	fv_reset();
	fv_devices_default(FV_ROCE, 1);
	return 0;
}

#define EACH(test)                                                      \
	{#test ".cma", test, setup, NULL, (void *)&plugins[0]},         \
		{#test ".scm", test, setup, NULL, (void *)&plugins[1]}, \
	{                                                               \
#test ".ucm", test, setup, NULL, (void *)&plugins[2]    \
	}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		EACH(close__stale_handle_after_the_last),
		EACH(open__registrations_of_one_name),
	};
	const char *dir = getenv("DAPL_TEST_DIR");
	int failed;

	if (!dir)
		return start_again(argv);
	if (access(plugins[0].path, R_OK)) {
		puts("1..0 # SKIP the providers were built without shared "
		     "libraries");
		return 0;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(getenv("DAT_OVERRIDE"));
	rmdir(dir);
	return failed;
}
