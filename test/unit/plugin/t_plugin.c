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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>

#include "test/unit/case.h"
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

#define BAD_IA (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA)
#define BAD_ARG(n) \
	(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG##n)

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

static int setup(void **state)
{
	fv_reset();
	fv_devices_default(FV_ROCE, 1);
	return 0;
}

#define PLUGIN_ROW(name, i, label) \
	CASE_ROW(name, label, setup, NULL, &plugins[i])
#define EACH(name)                                                        \
	CASE_OF(name, const struct plugin *plugin,                        \
		PLUGIN_ROW(name, 0, ".cma"), PLUGIN_ROW(name, 1, ".scm"), \
		PLUGIN_ROW(name, 2, ".ucm"))

/* The file has each name twice, once for either kind of thread safety. */
EACH(open__registrations_of_one_name)
{
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
EACH(close__stale_handle_after_the_last)
{
	DAT_IA_HANDLE ia = open_ia(plugin->name, DAT_TRUE);
	DAT_PZ_HANDLE pz;

	assert_int_equal(dat_pz_create(ia, &pz), DAT_SUCCESS);
	close_ia(ia);
	assert_int_equal(DAT_GET_TYPE(dat_pz_free(pz)), DAT_INVALID_HANDLE);
	ia = open_ia(plugin->name, DAT_TRUE);
	assert_int_equal(DAT_GET_TYPE(dat_pz_free(pz)), DAT_INVALID_HANDLE);
	close_ia(ia);
}

/* An IA for its attributes only: they are those of an IA that is open. */
EACH(query__as_an_open_ia)
{
	DAT_IA_HANDLE ia = open_ia(plugin->name, DAT_FALSE);
	DAT_PROVIDER_ATTR prov, open_prov;
	DAT_HANDLE query = DAT_HANDLE_NULL;
	DAT_IA_ATTR attr, open_attr;

	assert_int_equal(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &open_attr,
				      DAT_PROVIDER_FIELD_ALL, &open_prov),
			 DAT_SUCCESS);
	assert_int_equal(dat_ib_open_query(plugin->name, &query,
					   DAT_IA_FIELD_ALL, &attr,
					   DAT_PROVIDER_FIELD_ALL, &prov),
			 DAT_SUCCESS);
	assert_string_equal(attr.adapter_name, open_attr.adapter_name);
	assert_int_equal(attr.max_eps, open_attr.max_eps);
	assert_int_equal(attr.ia_address_ptr->sa_family,
			 open_attr.ia_address_ptr->sa_family);
	assert_string_equal(prov.provider_name, open_prov.provider_name);
	assert_int_equal(prov.is_thread_safe, DAT_FALSE);
	assert_int_equal(prov.num_provider_specific_attr,
			 open_prov.num_provider_specific_attr);
	close_ia(ia);
	/* What the results point to lives as long as the query. */
	assert_int_equal(prov.provider_specific_attr[0].name[0], 'D');
	assert_int_equal(dat_ib_close_query(query), DAT_SUCCESS);
	assert_int_equal(dat_ib_close_query(query), BAD_IA);
}

/* The handle is good for close only, and the IA has no events for anybody. */
EACH(query__nothing_but_attributes)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;
	DAT_HANDLE query = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_PZ_HANDLE pz;

	assert_int_equal(dat_ib_open_query(plugin->name, &query,
					   DAT_IA_FIELD_ALL, &attr, 0, NULL),
			 DAT_SUCCESS);
	assert_int_equal(DAT_PZ_CREATE(query, &pz), BAD_IA);
	assert_int_equal(
		DAT_GET_TYPE(dat_ia_openv((DAT_NAME_PTR)plugin->name, 8, &async,
					  &ia, 2, 0, DAT_FALSE)),
		DAT_INVALID_HANDLE);
	assert_int_equal(dat_ib_close_query(query), DAT_SUCCESS);
	ia = open_ia(plugin->name, DAT_FALSE);
	close_ia(ia);
}

EACH(query__bad_arguments)
{
	DAT_HANDLE query = DAT_HANDLE_NULL;
	DAT_IA_ATTR attr;
	const DAT_IA_ATTR_MASK all = DAT_IA_FIELD_ALL;

	assert_int_equal(
		dat_ib_open_query(plugin->name, NULL, all, &attr, 0, NULL),
		BAD_ARG(2));
	assert_int_equal(
		dat_ib_open_query(plugin->name, &query, 0, NULL, 0, NULL),
		BAD_ARG(5));
	assert_int_equal(dat_ib_open_query(plugin->name, &query, all + 1, &attr,
					   0, NULL),
			 BAD_ARG(3));
	assert_int_equal(
		dat_ib_open_query(plugin->name, &query, all, &attr, 1, NULL),
		BAD_ARG(6));
	assert_int_equal(DAT_GET_TYPE(dat_ib_open_query("nobody", &query, all,
							&attr, 0, NULL)),
			 DAT_PROVIDER_NOT_FOUND);
	assert_null(query);
	assert_int_equal(dat_ib_close_query((DAT_HANDLE)8), BAD_IA);
	assert_int_equal(dat_ib_close_query(&attr), BAD_IA);
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

int main(int argc, char **argv)
{
	const char *dir = getenv("DAPL_TEST_DIR");
	int failed;

	if (!dir)
		return start_again(argv);
	if (access(plugins[0].path, R_OK)) {
		puts("1..0 # SKIP the providers were built without shared "
		     "libraries");
		return 0;
	}
	failed = cases_run(NULL, NULL);
	unlink(getenv("DAT_OVERRIDE"));
	rmdir(dir);
	return failed;
}
