/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dat_strerror.c - names of return codes.
 *
 * Covers dat_strerror for every 14-bit type and every subtype up to the
 * largest, and the inline functions of the IB extension that build on it.
 * One thread.
 */
#include "dat_test_face.h"

#include <stdbool.h>
#include <string.h>

#include "test/unit/case.h"

#ifdef DAT_FACE_1
#define LAST_TYPE    0x14
#define LAST_SUBTYPE 101
#else
#define LAST_TYPE    0x17
#define LAST_SUBTYPE 103
#endif

static bool is_type(DAT_UINT32 type)
{
#ifndef DAT_FACE_1
	if (type == (DAT_UINT32)DAT_IB_ERR >> 16)
		return true;
#endif
	return type <= LAST_TYPE ||
	       type == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED) >> 16;
}

CASE(strerror__every_type)
{
	const char *major;
	const char *minor;
	DAT_RETURN ret;
	DAT_UINT32 t;

	for (t = 0; t <= 0x3fff; t++) {
		ret = dat_strerror(t << 16, &major, &minor);
		assert_string_equal(minor, "");
		if (is_type(t)) {
			assert_int_equal(ret, DAT_SUCCESS);
			assert_memory_equal(major, "DAT_", 4);
		} else {
			assert_int_equal(DAT_GET_TYPE(ret),
					 DAT_INVALID_PARAMETER);
			assert_string_equal(major, "unknown error");
		}
	}
}

CASE(strerror__every_subtype)
{
	const char *names[LAST_SUBTYPE + 1];
	const char *major;
	DAT_UINT32 s;
	DAT_UINT32 i;

	for (s = 0; s <= LAST_SUBTYPE; s++) {
		assert_int_equal(
			dat_strerror(DAT_INVALID_STATE | s, &major, &names[s]),
			DAT_SUCCESS);
		assert_string_equal(major, "DAT_INVALID_STATE");
		assert_memory_equal(names[s], "DAT_", s ? 4 : 0);
		for (i = 0; i < s; i++)
			assert_string_not_equal(names[i], names[s]);
	}
	assert_string_equal(names[code(61)], "DAT_INVALID_STATE_EP_EVD_RECV");
	assert_string_equal(names[code(85)],
			    "DAT_INVALID_STATE_SRQ_OPERATIONAL");
#ifndef DAT_FACE_1
	assert_string_equal(names[88], "DAT_INVALID_STATE_SRQ_SHUTDOWN");
#endif
	assert_string_equal(names[code(103)], "DAT_THREAD_SAFETY_NOT_FOUND");
}

CASE(strerror__unknown_subtype)
{
	const char *major;
	const char *minor;
	DAT_UINT32 s;

	for (s = LAST_SUBTYPE + 1; s <= 0xffff; s++) {
		assert_int_not_equal(
			dat_strerror(DAT_ABORT | s, &major, &minor),
			DAT_SUCCESS);
		assert_string_equal(major, "DAT_ABORT");
		assert_string_equal(minor, "unknown minor error");
	}
}

static void check_names(DAT_RETURN value, const char *type, const char *subtype)
{
	const char *major;
	const char *minor;

	assert_int_equal(dat_strerror(value, &major, &minor), DAT_SUCCESS);
	assert_string_equal(major, type);
	assert_string_equal(minor, subtype);
}

CASE(strerror__names)
{
	check_names(0, "DAT_SUCCESS", "");
	check_names(code(0x8005000b), "DAT_INVALID_HANDLE",
		    "DAT_INVALID_HANDLE_IA");
	check_names(0x0005000b, "DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE_IA");
	check_names(code(0x800a0064), "DAT_PROVIDER_NOT_FOUND",
		    "DAT_NAME_NOT_REGISTERED");
	check_names(code(0xbfff0000), "DAT_NOT_IMPLEMENTED", "");
	check_names(0x00140000, "DAT_CONN_QUAL_UNAVAILABLE", "");
#ifndef DAT_FACE_1
	check_names(0x80170000, "DAT_COMM_NOT_SUPPORTED", "");
	check_names(DAT_IB_ERR, "DAT_IB_ERR", "");
	check_names(DAT_CLASS_ERROR | DAT_IB_COLLECTIVE_ERR, "DAT_IB_ERR",
		    "DAT_IB_COLLECTIVE_ERR");
#endif
}

CASE(strerror__null_pointers)
{
	const char *text = NULL;

	assert_int_equal(dat_strerror(DAT_ABORT, NULL, NULL), DAT_SUCCESS);
	assert_int_equal(dat_strerror(DAT_ABORT, &text, NULL), DAT_SUCCESS);
	assert_string_equal(text, "DAT_ABORT");
	assert_int_equal(dat_strerror(DAT_ABORT | 2, NULL, &text), DAT_SUCCESS);
	assert_string_equal(text, "DAT_RESOURCE_MEMORY");
	assert_int_not_equal(dat_strerror(0x0fff0000, NULL, NULL), DAT_SUCCESS);
}

#ifndef DAT_FACE_1
CASE(strerror_extension__falls_back)
{
	const char *text = NULL;

	assert_int_equal(dat_strerror_extension(DAT_IB_ERR, &text),
			 DAT_SUCCESS);
	assert_string_equal(text, "DAT_IB_ERR");
	assert_int_equal(
		dat_strerror_extension((DAT_IB_RETURN)DAT_QUEUE_FULL, &text),
		DAT_SUCCESS);
	assert_string_equal(text, "DAT_QUEUE_FULL");
}

#endif

RUN_CASES(NULL, NULL)
