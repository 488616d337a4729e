/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_cm_params.c - tests of the beginning of ia_params.
 *
 * Calls covered: dapl_cm_params_place, dapl_cm_params_wrong.
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

CASE(wrong__says_what_and_how)
{
	assert_int_equal(dapl_cm_params_wrong("ib0", "no", "\"yes\""), -EINVAL);
	assert_string_equal(dapl__fail_text(),
			    "ia_params \"ib0\": no; write \"yes\"");
	assert_int_equal(dapl_cm_params_wrong(NULL, "no", "\"yes\""), -EINVAL);
	assert_string_equal(dapl__fail_text(),
			    "ia_params \"\": no; write \"yes\"");
}

RUN_CASES(NULL, NULL)
