/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_alloc.c - each allocation of the registry fails once.
 *
 * Covers reading dat.conf, opening, closing, registering and querying: after
 * a failure nothing is left behind (the sanitizers' business), the code is
 * right, and the same thing succeeds at once when memory is back.
 * Linked with --wrap for malloc, calloc and realloc. One thread.
 */
#include "dat_stub.h"
#include "dat_test_face.h"
#include "sysfs_tree.h"

#include "dat/common/dat_conf.h"
#include "dat/common/dat_handle.h"
#include "dat/common/dat_reg.h"
#include "dat/common/dat_static.h"
#include "test/unit/case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STUB DAT_TEST_LIBDIR "/" STUB_NAME ".so"

#define CONF                                                            \
	"a " API " threadsafe default " STUB " stub.1.0 \"ok\" \"\"\n"  \
	"a " API " threadsafe default /x stub.1.0 \"duplicate\" \"\"\n" \
	"x\n"                                                           \
	"b " API " threadsafe default /x stub.1.0 \"not there\" \"\"\n"

#define NO_MEMORY code(0x80030002)

/* No path needs as many; a loop that gets here does not end. */
#define MAX_ALLOCATIONS 100

DAT_STUB_COUNTERS;

static char conf_path[] = "/tmp/dapl-test.XXXXXX";
static const struct dat_static_options options = {.override = conf_path,
						  .automatic = "0"};

static int fail_in; /* 1: the next allocation fails, 0: none */
static bool failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool fails(void)
{
	if (fail_in == 0 || --fail_in > 0)
		return false;
	failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

/* True if allocation N failed, so that there may be more of them. */
static bool fail_allocation(int n)
{
	assert_in_range(n, 1, MAX_ALLOCATIONS);
	fail_in = n;
	failed = false;
	return true;
}

static bool did_fail(void)
{
	fail_in = 0;
	return failed;
}

static int group_setup(void **state)
{
	return stub_conf(conf_path, CONF);
}

static int group_teardown(void **state)
{
	dat_registry_fini();
	return unlink(conf_path);
}

static int teardown(void **state)
{
	fail_in = 0;
	if (stub_count.opens != stub_count.closes)
		return -1;
	return dat_handle_fini() ? 0 : -1;
}

#define T(name) CASE_WITH(name, NULL, teardown)

T(parse__each_allocation_fails)
{
	struct dat_conf conf = {0};
	int err;
	int n;

	for (n = 1; fail_allocation(n); n++) {
		err = dat_conf_parse(CONF, strlen(CONF), &conf);
		if (!did_fail())
			break;
		assert_int_equal(err, -ENOMEM);
		assert_null(conf.strings);
	}
	assert_int_equal(err, 0);
	/* strings, records, diagnostics, sorting */
	assert_int_equal(n, 5);
	assert_int_equal(conf.n_records, 3);
	dat_conf_free(&conf);
}

/* The look for devices: the list is whole, or there is none yet. */
T(look__each_allocation_fails)
{
	DAT_PROVIDER_INFO infos[16];
	DAT_PROVIDER_INFO *list[16];
	DAT_COUNT count;
	DAT_RETURN ret;
	int i;
	int n;

	for (i = 0; i < 16; i++)
		list[i] = &infos[i];
	assert_int_equal(tree_make(NULL), 0);
	tree_device(&(struct tree_device){"rxe0", "1: CA", NULL, NULL});
	tree_port("rxe0", 1, true, "Ethernet");
	tree_gid("rxe0", 1, 0, "eth1");
	for (n = 1;; n++) {
		dat_registry_fini();
		dat_registry_init(&(struct dat_static_options){
			.override = conf_path, .sysfs = tree});
		fail_allocation(n);
		ret = dat_registry_list_providers(16, &count, list);
		if (!did_fail())
			break;
		assert_int_equal(ret, NO_MEMORY);
		assert_int_equal(count, 0);
		assert_int_equal(dat_registry_list_providers(16, &count, list),
				 DAT_SUCCESS);
		assert_int_equal(count, 5);
	}
	assert_int_equal(ret, DAT_SUCCESS);
	assert_int_equal(count, 5);
	assert_true(n > 4);
	dat_registry_fini();
	dat_registry_init(&options);
	assert_int_equal(tree_remove(NULL), 0);
}

static DAT_RETURN open_a(DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_openv((DAT_NAME_PTR) "a", 8, &evd, ia, MAJOR, MINOR,
			    DAT_TRUE);
}

T(init__each_allocation_fails)
{
	DAT_IA_HANDLE ia;
	int n;

	for (n = 1; fail_allocation(n); n++) {
		dat_registry_fini();
		dat_registry_init(&options);
		if (!did_fail())
			break;
		assert_int_equal(open_a(&ia), code(0x800a0064));
		assert_non_null(strstr(dat_error_detail(), "no memory")
					?: strstr(dat_error_detail(),
						  "Cannot allocate"));
	}
	assert_int_equal(n, 6);
	assert_int_equal(open_a(&ia), DAT_SUCCESS);
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

T(openv__each_allocation_fails)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	int n;

	dat_registry_fini();
	dat_registry_init(&options);
	for (n = 1; fail_allocation(n); n++) {
		ret = open_a(&ia);
		if (!did_fail())
			break;
		/* when it was the registration: the provider not registered */
		if (ret != code(0x800a0064))
			assert_int_equal(ret, NO_MEMORY);
		assert_non_null(strstr(dat_error_detail(), "no memory")
					?: strstr(dat_error_detail(),
						  "no handle left"));
	}
	assert_int_equal(ret, DAT_SUCCESS);
	/* use, registration, chunk of handles */
	assert_int_equal(n, 4);
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

T(add_provider__each_allocation_fails)
{
	static const DAT_PROVIDER provider;
	static const DAT_PROVIDER_INFO info = {"own", MAJOR, MINOR, DAT_TRUE};
	DAT_RETURN ret;
	int n;

	for (n = 1; fail_allocation(n); n++) {
		ret = dat_registry_add_provider(&provider, &info);
		if (!did_fail())
			break;
		assert_int_equal(ret, NO_MEMORY);
	}
	assert_int_equal(n, 2);
	assert_int_equal(ret, DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&provider, &info),
			 DAT_SUCCESS);
}

#ifndef DAT_FACE_1
T(query__each_allocation_fails)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret;
	int n;

	for (n = 1; fail_allocation(n); n++) {
		ret = dat_ib_open_query("a", &handle, 0, NULL, 0, NULL);
		if (!did_fail())
			break;
		if (ret != code(0x800a0064))
			assert_int_equal(ret, NO_MEMORY);
	}
	assert_int_equal(n, 4);
	assert_int_equal(ret, DAT_SUCCESS);
	assert_int_equal(dat_ib_close_query(handle), DAT_SUCCESS);
}

#endif

RUN_CASES(group_setup, group_teardown)
