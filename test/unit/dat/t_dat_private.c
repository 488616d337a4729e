/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_private.c - a program that loads the library itself, and privately.
 *
 * Covers what only the finished shared library can show: a plug-in without a
 * dependency on it finds its symbols although the program loaded it with
 * RTLD_LOCAL; library and plug-in go away again; the exported names have
 * versions. The program is not linked with it. Compiled for each version of DAT
 * (dat_test_face.h). One thread.
 */
#include "dat_stub.h"
#include "dat_test_face.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/case.h"

#define STUB DAT_TEST_LIBDIR "/" STUB_NAME ".so"

#ifdef DAT_FACE_1
#define LIBRARY DAT_TEST_LIBDAT
#else
#define LIBRARY DAT_TEST_LIBDAT2
#endif

DAT_STUB_COUNTERS;

static char conf_path[] = "/tmp/dapl-test.XXXXXX";

static void *load_private(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		print_message("# %s\n", dlerror());
	assert_non_null(library);
	/* private indeed, or the test would show nothing */
	assert_null(dlsym(RTLD_DEFAULT, "dat_ia_openv"));
	return library;
}

CASE(private__open_and_close)
{
	DAT_RETURN (*close_ia)(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);
	const char *(*detail)(void);
	DAT_IA_OPENV_FUNC openv;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	void *library = load_private();
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	openv = (DAT_IA_OPENV_FUNC)dlsym(library, "dat_ia_openv");
	close_ia = (DAT_IA_CLOSE_FUNC)dlsym(library, "dat_ia_close");
	detail = (const char *(*)(void))dlsym(library, "dat_error_detail");
	assert_non_null(openv);
	assert_non_null(close_ia);
	assert_non_null(detail);

	ret = openv((DAT_NAME_PTR) "a", 8, &evd, &ia, MAJOR, MINOR, DAT_FALSE);
	if (ret)
		print_message("# %s\n", detail());
	assert_int_equal(ret, DAT_SUCCESS);
	assert_true(stub_is_loaded(STUB));
	assert_int_equal(close_ia(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(stub_count.opens, 1);
	assert_int_equal(stub_count.closes, 1);
	assert_int_equal(stub_count.finis, 1);
	assert_false(stub_is_loaded(STUB));

	assert_int_equal(dlclose(library), 0);
	assert_false(stub_is_loaded(LIBRARY));
}

CASE(private__versions)
{
	void *library = load_private();

#ifdef DAT_FACE_1
	assert_non_null(dlvsym(library, "dat_ia_openv", "DAT_1.2"));
	assert_non_null(dlvsym(library, "dats_get_ia_handle", "DAT_1.2"));
	assert_non_null(dlvsym(library, "dat_error_detail", "DAT_1.2.1"));
	assert_null(dlsym(library, "dat_extension_op"));
#else
	assert_non_null(dlvsym(library, "dat_ia_openv", "DAT_2.0"));
	assert_non_null(dlvsym(library, "dats_get_ia_handle", "DAT_2.0"));
	assert_non_null(dlvsym(library, "dat_csp_create", "DAT_2.1"));
	assert_non_null(dlvsym(library, "dat_error_detail", "DAT_2.1"));
	assert_null(dlvsym(library, "dat_csp_create", "DAT_2.0"));
#endif
	assert_null(dlsym(library, "dat_registry_init"));
	assert_null(dlsym(library, "dat_conf_parse"));
	assert_int_equal(dlclose(library), 0);
}

static int group_setup(void **state)
{
	static const char text[] =
		"a " API " threadsafe default " STUB " stub.1.0 \"ok\" \"\"\n";
	int ret = stub_conf(conf_path, text);

	/* the library reads it when it is loaded */
	setenv("DAT_OVERRIDE", conf_path, 1);
	return ret;
}

static int group_teardown(void **state)
{
	return unlink(conf_path);
}

RUN_CASES(group_setup, group_teardown)
