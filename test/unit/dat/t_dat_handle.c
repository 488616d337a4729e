/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_handle.c - the table of IA handles, and texts of failures.
 *
 * Covers dat_handle_*, dats_get_ia_handle, dats_set_error_detail,
 * dat_error_detail, dat_fail. Calls no provider.
 * Threads: two tests run eight at once.
 */
#include "dat_test_face.h"

#include "dat/common/dat_detail.h"
#include "dat/common/dat_handle.h"
#include "test/unit/case.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_THREADS 8

static DAT_IA_HANDLE number(uintptr_t i)
{
	return (DAT_IA_HANDLE)i;
}

static DAT_IA_HANDLE pointer(uintptr_t i)
{
	return (DAT_IA_HANDLE)(0x100000 + i * 64);
}

static DAT_IA_HANDLE open_one(DAT_IA_HANDLE raw)
{
	DAT_IA_HANDLE handle = dat_handle_reserve();

	assert_non_null(handle);
	assert_null(dat_handle_get(handle));
	dat_handle_publish(handle, raw, raw);
	assert_ptr_equal(dat_handle_get(handle), raw);
	return handle;
}

static void close_one(DAT_IA_HANDLE handle)
{
	DAT_IA_HANDLE raw;
	void *owner;

	assert_true(dat_handle_begin_close(handle, &raw, &owner));
	assert_ptr_equal(raw, owner);
	dat_handle_release(handle);
}

CASE(handle__lowest_free_number)
{
	uintptr_t i;

	for (i = 1; i <= 200; i++)
		assert_ptr_equal(open_one(pointer(i)), number(i));
	close_one(number(150));
	close_one(number(7));
	assert_ptr_equal(open_one(pointer(7)), number(7));
	assert_ptr_equal(open_one(pointer(150)), number(150));
	assert_ptr_equal(open_one(pointer(201)), number(201));
	assert_false(dat_handle_fini());
	for (i = 1; i <= 201; i++)
		close_one(number(i));
	assert_true(dat_handle_fini());
}

CASE(handle__not_open)
{
	DAT_IA_HANDLE raw;
	void *owner;

	assert_null(dat_handle_get(NULL));
	assert_null(dat_handle_get(number(1)));
	assert_null(dat_handle_get(number(DAT_HANDLE_MAX - 1)));
	assert_null(dat_handle_get(number(DAT_HANDLE_MAX)));
	assert_null(dat_handle_get(number(UINTPTR_MAX)));
	assert_false(dat_handle_begin_close(NULL, &raw, &owner));
	assert_false(dat_handle_begin_close(number(5), &raw, &owner));
	assert_false(dat_handle_begin_close(number(UINTPTR_MAX), &raw, &owner));
}

CASE(handle__close_once)
{
	DAT_IA_HANDLE handle = open_one(pointer(1));
	DAT_IA_HANDLE raw;
	void *owner;

	assert_true(dat_handle_begin_close(handle, &raw, &owner));
	assert_false(dat_handle_begin_close(handle, &raw, &owner));
	assert_ptr_equal(dat_handle_get(handle), pointer(1));
	dat_handle_keep(handle);
	assert_true(dat_handle_begin_close(handle, &raw, &owner));
	dat_handle_release(handle);
	assert_null(dat_handle_get(handle));
}

CASE(handle__all_numbers_used)
{
	uintptr_t i;

	for (i = 1; i < DAT_HANDLE_MAX; i++)
		if (!dat_handle_reserve())
			break;
	assert_int_equal(i, DAT_HANDLE_MAX);
	assert_null(dat_handle_reserve());
	while (--i > 0)
		dat_handle_release(number(i));
	assert_true(dat_handle_fini());
}

CASE(get_ia_handle__both_ways)
{
	DAT_IA_HANDLE handle = open_one(pointer(3));
	DAT_IA_HANDLE out = NULL;

	assert_int_equal(dats_get_ia_handle(handle, &out), DAT_SUCCESS);
	assert_ptr_equal(out, pointer(3));
	assert_int_equal(dats_get_ia_handle(pointer(3), &out), DAT_SUCCESS);
	assert_ptr_equal(out, handle);
	out = NULL;
	assert_int_equal(dats_get_ia_handle(pointer(4), &out),
			 code(0x8005000b));
	assert_int_equal(dats_get_ia_handle(NULL, &out), code(0x8005000b));
	assert_int_equal(dats_get_ia_handle(number(9), &out), code(0x8005000b));
	assert_null(out);
	assert_int_equal(dats_get_ia_handle(handle, NULL), code(0x80060026));
	close_one(handle);
	assert_int_equal(dats_get_ia_handle(pointer(3), &out),
			 code(0x8005000b));
}

/* A provider may get the same memory for the next adapter before the last. */
CASE(get_ia_handle__pointer_used_again)
{
	DAT_IA_HANDLE first = open_one(pointer(1));
	DAT_IA_HANDLE second;
	DAT_IA_HANDLE out;
	DAT_IA_HANDLE raw;
	void *owner;

	assert_true(dat_handle_begin_close(first, &raw, &owner));
	assert_int_equal(dats_get_ia_handle(pointer(1), &out), DAT_SUCCESS);
	assert_ptr_equal(out, first);
	second = open_one(pointer(1));
	assert_int_equal(dats_get_ia_handle(pointer(1), &out), DAT_SUCCESS);
	assert_ptr_equal(out, second);
	dat_handle_release(first);
	close_one(second);
}

static void *churn(void *arg)
{
	uintptr_t id = (uintptr_t)arg;
	DAT_IA_HANDLE handle;
	DAT_IA_HANDLE raw;
	void *owner;
	int errors = 0;

	for (int i = 0; i < 2000; i++) {
		handle = dat_handle_reserve();
		dat_handle_publish(handle, pointer(id), (void *)id);
		errors += dat_handle_get(handle) != pointer(id);
		errors += dat_handle_find(pointer(id)) != handle;
		errors += !dat_handle_begin_close(handle, &raw, &owner);
		errors += owner != (void *)id;
		dat_handle_release(handle);
	}
	return errors ? arg : NULL;
}

static void run_threads(void *(*start)(void *))
{
	pthread_t threads[N_THREADS];
	void *failed;
	uintptr_t i;

	for (i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, start,
						(void *)(i + 1)),
				 0);
	for (i = 0; i < N_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

CASE(handle__eight_threads)
{
	run_threads(churn);
	assert_true(dat_handle_fini());
}

CASE(detail__empty_at_first)
{
	assert_string_equal(dat_error_detail(), "");
}

CASE(detail__set)
{
	char text[5000];

	dats_set_error_detail("because");
	assert_string_equal(dat_error_detail(), "because");
	memset(text, 'x', sizeof(text));
	dats_set_error_detail(text);
	assert_int_equal(strlen(dat_error_detail()), 1023);
	dats_set_error_detail(dat_error_detail() + 1000);
	assert_int_equal(strlen(dat_error_detail()), 23);
	dats_set_error_detail(NULL);
	assert_string_equal(dat_error_detail(), "");
}

CASE(detail__fail)
{
	assert_int_equal(dat_fail(DAT_ABORT, "ep %d: gone", 5),
			 code(0x80010000));
	assert_string_equal(dat_error_detail(), "ep 5: gone");
}

CASE(detail__is_printable)
{
	dat_fail(DAT_ABORT, "a\033[2J\r\n\x7f\xc3\xa4");
	assert_string_equal(dat_error_detail(), "a?[2J???\xc3\xa4");
}

CASE(detail__text_is_bounded)
{
	struct dat_text text = DAT_TEXT_INIT;

	for (int i = 0; i < 300; i++)
		dat_text_add(&text, "%s", "12345");
	assert_int_equal(text.len, DAT_DETAIL_MAX - 1);
	assert_int_equal(strlen(text.buf), DAT_DETAIL_MAX - 1);
	assert_int_equal(dat_text_room(&text), 0);
}

static void *own_detail(void *arg)
{
	char text[32];

	if (*dat_error_detail())
		return arg;
	for (int i = 0; i < 1000; i++) {
		dat_fail(DAT_ABORT, "thread %p", arg);
		snprintf(text, sizeof(text), "thread %p", arg);
		if (strcmp(text, dat_error_detail()) != 0)
			return arg;
	}
	return NULL;
}

CASE(detail__of_each_thread)
{
	dats_set_error_detail("mine");
	run_threads(own_detail);
	assert_string_equal(dat_error_detail(), "mine");
}

RUN_CASES(NULL, NULL)
