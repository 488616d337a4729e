/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_strerror.c - cases of the error strings.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_strerror.
 */
#include "test/conform/conform.h"

#include <string.h>

static void expect_text(DAT_RETURN value, const char *major, const char *minor)
{
	const char *a = NULL, *b = NULL;

	EXPECT_OK(dat_strerror(value, &a, &b));
	if (!a || !b || strcmp(a, major) != 0 || strcmp(b, minor) != 0)
		conf_fail(__FILE__, __LINE__,
			  "0x%x is '%s' '%s', not '%s' '%s'", value,
			  a ? a : "(null)", b ? b : "(null)", major, minor);
}

CASE(strerror__success, "13 dat_strerror", NEED_NOTHING)
{
	expect_text(DAT_SUCCESS, "DAT_SUCCESS", "");
}

CASE(strerror__major_and_minor, "13 dat_strerror", NEED_NOTHING)
{
	expect_text(DAT_CLASS_ERROR | DAT_INVALID_HANDLE |
			    DAT_INVALID_HANDLE_EP,
		    "DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE_EP");
}

CASE(strerror__without_class, "13 dat_strerror", NEED_NOTHING)
{
	expect_text(DAT_QUEUE_EMPTY, "DAT_QUEUE_EMPTY", "");
}

CASE(strerror__last_of_the_types, "13 dat_strerror", NEED_NOTHING)
{
#if DAT_FACE == 2
	expect_text(DAT_CLASS_ERROR | DAT_COMM_NOT_SUPPORTED,
		    "DAT_COMM_NOT_SUPPORTED", "");
#else
	expect_text(DAT_CLASS_ERROR | DAT_CONN_QUAL_UNAVAILABLE,
		    "DAT_CONN_QUAL_UNAVAILABLE", "");
#endif
	expect_text(DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED,
		    "DAT_NOT_IMPLEMENTED", "");
}

CASE(strerror__states_of_an_srq, "13 dat_strerror", NEED_NOTHING)
{
	expect_text(DAT_CLASS_ERROR | DAT_INVALID_STATE |
			    DAT_INVALID_STATE_SRQ_IN_USE,
		    "DAT_INVALID_STATE", "DAT_INVALID_STATE_SRQ_IN_USE");
}

CASE(strerror__minor_may_be_null, "13 dat_strerror", NEED_NOTHING)
{
	const char *major = NULL;

	EXPECT_OK(dat_strerror(DAT_ABORT, &major, NULL));
	EXPECT(strcmp(major, "DAT_ABORT") == 0);
}

CASE(strerror__unknown_major, "13 dat_strerror", NEED_NOTHING)
{
	const char *a = NULL, *b = NULL;

	EXPECT_EQ(DAT_GET_TYPE(dat_strerror(0x80ff0000, &a, &b)),
		  DAT_INVALID_PARAMETER);
	EXPECT(a && b);
}

CASE(strerror__unknown_minor, "13 dat_strerror", NEED_NOTHING)
{
	const char *a = NULL, *b = NULL;

	EXPECT_EQ(DAT_GET_TYPE(dat_strerror(0x80050fff, &a, &b)),
		  DAT_INVALID_PARAMETER);
	EXPECT(a && b);
}
