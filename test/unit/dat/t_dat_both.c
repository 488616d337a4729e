/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_both.c - libdat and libdat2 in one process.
 *
 * Covers that neither notices the other: adapters of one name open through
 * both, in every order of loading, opening, closing and unloading; numbers,
 * reasons and providers of their own. The program is linked with neither, the
 * plug-ins each with its own library. One thread.
 */
#include "dat_stub.h"

#include <dat2/dat_registry.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/case.h"

#define LINE(name, api, stub, params)                            \
	name " " api " threadsafe default " DAT_TEST_LIBDIR stub \
	     " stub.1.0 \"" params "\" \"\"\n"
#define CONF                                             \
	LINE("a", "u2.0", "/libdatstub_linked.so", "ok") \
	LINE("a", "u1.2", "/libdatstub1_linked.so", "ok")

DAT_STUB_COUNTERS;

static char conf_path[] = "/tmp/dapl-test.XXXXXX";

/* A library, by what its calls have in common in all versions. */
struct face {
	const char *path;
	const char *plugin;
	DAT_UINT32 major;
	DAT_UINT32 minor;
	void *library;
	DAT_IA_OPENV_FUNC openv;
	DAT_IA_CLOSE_FUNC close_ia;
	DAT_GET_CONSUMER_CONTEXT_FUNC get_context;
	const char *(*detail)(void);
	DAT_IA_HANDLE ia;
};

static struct face faces[2] = {
	{
		.path = DAT_TEST_LIBDAT,
		.plugin = DAT_TEST_LIBDIR "/libdatstub1_linked.so",
		.major = 1,
		.minor = 2,
	},
	{
		.path = DAT_TEST_LIBDAT2,
		.plugin = DAT_TEST_LIBDIR "/libdatstub_linked.so",
		.major = 2,
		.minor = 0,
	},
};

static void *find(const struct face *face, const char *name)
{
	void *symbol = dlsym(face->library, name);

	assert_non_null(symbol);
	return symbol;
}

static void load(struct face *face)
{
	face->library = dlopen(face->path, RTLD_NOW | RTLD_LOCAL);
	if (!face->library)
		print_message("# %s\n", dlerror());
	assert_non_null(face->library);
	face->openv = (DAT_IA_OPENV_FUNC)find(face, "dat_ia_openv");
	face->close_ia = (DAT_IA_CLOSE_FUNC)find(face, "dat_ia_close");
	face->get_context = (DAT_GET_CONSUMER_CONTEXT_FUNC)find(
		face, "dat_get_consumer_context");
	face->detail = (const char *(*)(void))find(face, "dat_error_detail");
}

static void unload(struct face *face)
{
	assert_int_equal(dlclose(face->library), 0);
	face->library = NULL;
	assert_false(stub_is_loaded(face->path));
}

static void open_a(struct face *face)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	ret = face->openv((DAT_NAME_PTR) "a", 8, &evd, &face->ia, face->major,
			  face->minor, DAT_FALSE);
	if (ret)
		print_message("# %s\n", face->detail());
	assert_int_equal(ret, DAT_SUCCESS);
	/* each counts its own */
	assert_ptr_equal(face->ia, (DAT_IA_HANDLE)1);
	assert_true(stub_is_loaded(face->plugin));
}

/* The stub asks the registry that it is of for the number of the adapter. */
static void use(struct face *face)
{
	DAT_CONTEXT context = {.as_ptr = NULL};

	assert_int_equal(face->get_context(face->ia, &context), DAT_SUCCESS);
	assert_ptr_equal(context.as_ptr, face->ia);
}

static void close_a(struct face *face)
{
	assert_int_equal(face->close_ia(face->ia, DAT_CLOSE_ABRUPT_FLAG),
			 DAT_SUCCESS);
	assert_false(stub_is_loaded(face->plugin));
}

/* Bits of ORDER: who is loaded, opened, closed and unloaded first. */
static void check_order(unsigned order)
{
	struct face *face[4];
	struct face *other[4];

	for (unsigned i = 0; i < 4; i++) {
		face[i] = &faces[order >> i & 1];
		other[i] = &faces[!(order >> i & 1)];
	}
	memset(&stub_count, 0, sizeof(stub_count));
	load(face[0]);
	load(other[0]);
	open_a(face[1]);
	open_a(other[1]);
	use(face[1]);
	use(other[1]);
	close_a(face[2]);
	use(other[2]);
	close_a(other[2]);
	unload(face[3]);
	unload(other[3]);
	assert_int_equal(stub_count.opens, 2);
	assert_int_equal(stub_count.closes, 2);
	assert_int_equal(stub_count.inits, 2);
	assert_int_equal(stub_count.finis, 2);
}

CASE(both__every_order)
{
	unsigned order;

	for (order = 0; order < 16; order++)
		check_order(order);
}

/* What is open through one outlives the other. */
CASE(both__one_is_unloaded)
{
	for (int i = 0; i < 2; i++) {
		load(&faces[0]);
		load(&faces[1]);
		open_a(&faces[i]);
		open_a(&faces[!i]);
		close_a(&faces[!i]);
		unload(&faces[!i]);
		use(&faces[i]);
		close_a(&faces[i]);
		unload(&faces[i]);
	}
}

CASE(both__reasons)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	load(&faces[0]);
	load(&faces[1]);
	for (int i = 0; i < 2; i++) {
		assert_int_not_equal(faces[i].openv((DAT_NAME_PTR) "b", 8, &evd,
						    &ia, faces[i].major,
						    faces[i].minor, DAT_FALSE),
				     DAT_SUCCESS);
		assert_non_null(strstr(faces[i].detail(), "no adapter \"b\""));
		assert_string_equal(faces[1].detail(),
				    i ? faces[0].detail() : "");
	}
	/* closing what the other one opened is closing nothing */
	open_a(&faces[0]);
	assert_int_not_equal(faces[1].close_ia(faces[0].ia, 0), DAT_SUCCESS);
	close_a(&faces[0]);
	unload(&faces[0]);
	unload(&faces[1]);
}

static int group_setup(void **state)
{
	int ret = stub_conf(conf_path, CONF);

	/* the libraries read it when they are loaded */
	setenv("DAT_OVERRIDE", conf_path, 1);
	return ret;
}

static int group_teardown(void **state)
{
	return unlink(conf_path);
}

RUN_CASES(group_setup, group_teardown)
