/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_cm_params.c - tests of the words of ia_params.
 *
 * Calls covered: dapl_cm_params_place, dapl_cm_params_gid, dapl_cm_params_end,
 * dapl_cm_params_wrong.
 */
#include "dapl/common/cm/base/dapl_cm_params.h"

#include <errno.h>
#include <string.h>

#include "dapl/common/services/dapl_log.h"
#include "test/unit/case.h"

CASE(place__name_and_port)
{
	const char *text = "\tib0  0x11 rest";
	char name[4];
	uint8_t port;

	assert_null(dapl_cm_params_place(&text, name, sizeof(name), &port));
	assert_string_equal(name, "ib0");
	assert_int_equal(port, 0x11);
	assert_string_equal(text + strspn(text, " "), "rest");
}

CASE(place__anything_else)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "it is empty"},
		{"  ", "it is empty"},
		{"four 1", "the first word is too long"},
		{"ib0", "the port number is missing"},
		{"ib0 one", "the second word is not a port number"},
		{"ib0 256", "the second word is not a port number"},
		{"ib0 -1", "the second word is not a port number"},
		{"ib0 0000000000000000000000000000000000000001",
		 "the second word is not a port number"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *text = bad[i].text;
		char name[4];
		uint8_t port = 99;

		assert_string_equal(
			dapl_cm_params_place(&text, name, sizeof(name), &port),
			bad[i].why);
		assert_int_equal(port, 99);
	}
}

CASE(gid__what_follows_the_port)
{
	static const struct {
		const char *text, *why;
		int index;
	} rows[] = {
		{"", NULL, -1},
		{" \t", NULL, -1},
		{" gid=0", NULL, 0},
		{" gid=0xff ", NULL, 255},
		{" gid=256", "the third word is not gid= and an index", 9},
		{" gid=-1", "the third word is not gid= and an index", 9},
		{" gid=", "the third word is not gid= and an index", 9},
		{" gid=x", "the third word is not gid= and an index", 9},
		{" x=1", "the third word is not gid= and an index", 9},
		{" gid=0000000000000000000000000000000000001",
		 "the third word is not gid= and an index", 9},
		{" gid=1 gid=2", "there are words after the third", 9},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int index = 9;
		const char *why = dapl_cm_params_gid(rows[i].text, &index);

		if (rows[i].why)
			assert_string_equal(why, rows[i].why);
		else
			assert_null(why);
		assert_int_equal(index, rows[i].index);
	}
}

CASE(end__nothing_follows_the_port)
{
	assert_null(dapl_cm_params_end(" \t"));
	assert_string_equal(dapl_cm_params_end(" x=1"), "no options are known");
	assert_string_equal(dapl_cm_params_end(" x"),
			    "there are words after the port number");
}

CASE(wrong__says_what_and_how)
{
	assert_int_equal(dapl_cm_params_wrong("ib0", "no", "\"yes\""), -EINVAL);
	assert_string_equal(dapl__fail_text(),
			    "write \"yes\": ia_params is \"ib0\", no");
	assert_int_equal(dapl_cm_params_wrong(NULL, "no", "\"yes\""), -EINVAL);
	assert_string_equal(dapl__fail_text(),
			    "write \"yes\": ia_params is \"\", no");
}

RUN_CASES(NULL, NULL)
