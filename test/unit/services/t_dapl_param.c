/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_param.c - tests of the reader of environment variables, with a table
 * of its own.
 *
 * Calls covered: dapl_params_read, dapl__param_set, dapl_text_number,
 * dapl_text_ports, dapl_params_unknown, dapl__env. The tables there are:
 * plugin/t_params.
 */
#include "dapl/common/services/dapl_param.h"
#include "dapl/common/services/dapl_text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/case.h"

struct low {
	int number;
	int unset; /* by default */
};

struct all {
	struct low low;
	const char *text;
	unsigned mask, small;
	struct dapl_ports ports;
};

#define LOW(f) offsetof(struct low, f)
#define ALL(f) offsetof(struct all, f)

static const struct dapl_param low_rows[] = {
	{"DAPL_T_NUMBER", DAPL_PARAM_INT, LOW(number), 0, 100, 20, "a number"},
	{"DAPL_T_UNSET", DAPL_PARAM_INT, LOW(unset), 1, 9, -1, "another"},
};

static const struct dapl_param all_rows[] = {
	{"DAPL_T_MASK", DAPL_PARAM_MASK, ALL(mask), 0, 0, 3, "a mask"},
	{"DAPL_T_NONE", DAPL_PARAM_NONE, 0, 0, 0, 0, "nothing"},
	{"DAPL_T_PORTS", DAPL_PARAM_PORTS, ALL(ports), 0, 0, 0, "ports"},
	{"DAPL_T_SMALL", DAPL_PARAM_MASK, ALL(small), 0, 7, 1, "few bits"},
	{"DAPL_T_TEXT", DAPL_PARAM_STR, ALL(text), 1, 5, 0, "a text"},
};

static const struct dapl_param_table low_table = {
	.rows = low_rows, .count = 2, .size = sizeof(struct low)};

static const struct dapl_param_table all_table = {.rows = all_rows,
						  .count = 5,
						  .size = sizeof(struct all),
						  .base = &low_table};

static char said[1024];

static void say(const char *why)
{
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", why);
}

static int clean(void **state)
{
	unsetenv("DAPL_T_NUMBER");
	unsetenv("DAPL_T_UNSET");
	unsetenv("DAPL_T_MASK");
	unsetenv("DAPL_T_NONE");
	unsetenv("DAPL_T_TEXT");
	unsetenv("DAPL_T_PORTS");
	unsetenv("DAPL_T_SMALL");
	said[0] = '\0';
	return 0;
}

#define T(name) CASE_WITH(name, clean, clean)

static struct all read_all(void)
{
	struct all p;

	memset(&p, 0x55, sizeof(p));
	dapl_params_read(&all_table, &p, say);
	return p;
}

T(read__defaults)
{
	struct all p = read_all();

	assert_int_equal(p.low.number, 20);
	assert_int_equal(p.low.unset, -1);
	assert_int_equal(p.mask, 3);
	assert_null(p.text);
	assert_string_equal(said, "");
}

/* Both tables of a struct that begins with another. */
T(read__values)
{
	struct all p;

	setenv("DAPL_T_NUMBER", "100", 1);
	setenv("DAPL_T_UNSET", "1", 1);
	setenv("DAPL_T_MASK", "0x80000001", 1);
	setenv("DAPL_T_NONE", "anything", 1);
	setenv("DAPL_T_TEXT", "12345", 1);
	p = read_all();
	assert_int_equal(p.low.number, 100);
	assert_int_equal(p.low.unset, 1);
	assert_int_equal(p.mask, 0x80000001);
	assert_string_equal(p.text, "12345");
	assert_string_equal(said, "");
}

T(read__out_of_range)
{
	struct all p;

	setenv("DAPL_T_NUMBER", "101", 1);
	setenv("DAPL_T_UNSET", "0", 1);
	setenv("DAPL_T_MASK", "0x100000000", 1);
	setenv("DAPL_T_TEXT", "123456", 1);
	p = read_all();
	assert_int_equal(p.low.number, 20);
	assert_int_equal(p.low.unset, -1);
	assert_int_equal(p.mask, 3);
	assert_null(p.text);
	assert_string_equal(
		said,
		"DAPL_T_MASK: '0x100000000' is not a number; using 3\n"
		"DAPL_T_TEXT: must have 1 to 5 characters, has 6; ignored\n"
		"DAPL_T_NUMBER: '101' is not a number from 0 to 100; using 20\n"
		"DAPL_T_UNSET: '0' is not a number from 1 to 9; ignored\n");
}

T(read__ports)
{
	struct all p = read_all();

	assert_int_equal(p.ports.first, 0);
	setenv("DAPL_T_PORTS", "5000-5010", 1);
	p = read_all();
	assert_int_equal(p.ports.first, 5000);
	assert_int_equal(p.ports.last, 5010);
	assert_string_equal(said, "");
	setenv("DAPL_T_PORTS", "5010-5000", 1);
	p = read_all();
	assert_int_equal(p.ports.first, 0);
	assert_string_equal(
		said, "DAPL_T_PORTS: '5010-5000' is not first-last; ignored\n");
}

/* The others of the mask count all the same. */
T(read__bits_that_mean_nothing)
{
	struct all p;

	setenv("DAPL_T_SMALL", "0x64", 1);
	p = read_all();
	assert_int_equal(p.small & 7, 4);
	assert_string_equal(said, "DAPL_T_SMALL: '0x64' has bits that mean "
				  "nothing: 0x60; ignored\n");
	said[0] = '\0';
	setenv("DAPL_T_SMALL", "-1", 1);
	setenv("DAPL_T_MASK", "0xffffffff", 1);
	p = read_all();
	assert_int_equal(p.small & 7, 7);
	assert_string_equal(said, "");
}

T(read__nobody_listens)
{
	struct all p;

	setenv("DAPL_T_NUMBER", "-1", 1);
	dapl_params_read(&all_table, &p, NULL);
	assert_int_equal(p.low.number, 20);
}

T(read__hex_and_octal)
{
	setenv("DAPL_T_NUMBER", "0x41", 1);
	assert_int_equal(read_all().low.number, 0x41);
	setenv("DAPL_T_NUMBER", "077", 1);
	assert_int_equal(read_all().low.number, 63);
}

T(read__garbage_gives_the_default)
{
	static const char *const bad[] = {
		"",    " ",   "x",   "7x",  "0x",
		"1.5", "1 1", "--1", "1e3", "99999999999999999999999"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setenv("DAPL_T_NUMBER", bad[i], 1);
		assert_int_equal(read_all().low.number, 20);
	}
}

T(read__mask_of_all_bits)
{
	setenv("DAPL_T_MASK", "-1", 1);
	assert_int_equal(read_all().mask, UINT32_MAX);
	setenv("DAPL_T_MASK", "0xffffffff", 1);
	assert_int_equal(read_all().mask, UINT32_MAX);
	setenv("DAPL_T_MASK", "-2", 1);
	assert_int_equal(read_all().mask, 3);
}

T(read__empty_text)
{
	setenv("DAPL_T_TEXT", "", 1);
	assert_null(read_all().text);
}

T(number__blanks_around_and_errno)
{
	long long v = 5;

	errno = EXDEV;
	assert_true(dapl_text_number(" 12 \t", 0, 20, &v));
	assert_int_equal(v, 12);
	assert_false(
		dapl_text_number("99999999999999999999", 0, LLONG_MAX, &v));
	assert_int_equal(v, 12);
	assert_int_equal(errno, EXDEV);
}

CASE(ports__range)
{
	static const char *const bad[] = {
		"",
		"-",
		"1",
		"1-",
		"-1",
		"0-5",
		"5-4",
		"1-65536",
		"1-2 ",
		" 1-2",
		"+1-2",
		"1--2",
		"1 - 2",
		"0x10-0x20",
		"a-b",
		"65536-65537",
		"1-99999999999999999999",
	};
	struct dapl_ports p = {.first = 7};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (dapl_text_ports(bad[i], &p))
			fail_msg("\"%s\" was taken", bad[i]);
	assert_int_equal(p.first, 7);
	assert_true(dapl_text_ports("5000-5010", &p));
	assert_int_equal(p.first, 5000);
	assert_int_equal(p.last, 5010);
	assert_true(dapl_text_ports("1-65535", &p));
	assert_true(dapl_text_ports("9-9", &p));
}

CASE(unknown__variables_that_nobody_reads)
{
	said[0] = '\0';
	setenv("DAPL_ACK_RETRY", "1", 1);
	setenv("DAPL_UCM_RETRY", "1", 1);
	setenv("DAPL_ACK_RETR", "1", 1);
	setenv("DAPL_ACK_RETRYS", "", 1);
	setenv("XDAPL_ACK", "1", 1);
	dapl_params_unknown(say);
	assert_non_null(strstr(said, "DAPL_ACK_RETR: there is no such"));
	assert_non_null(strstr(said, "DAPL_ACK_RETRYS: there is no such"));
	assert_null(strstr(said, "DAPL_ACK_RETRY:"));
	assert_null(strstr(said, "DAPL_UCM_RETRY:"));
	assert_null(strstr(said, "XDAPL"));
	unsetenv("DAPL_ACK_RETRY");
	unsetenv("DAPL_UCM_RETRY");
	unsetenv("DAPL_ACK_RETR");
	unsetenv("DAPL_ACK_RETRYS");
	unsetenv("XDAPL_ACK");
}

RUN_CASES(NULL, NULL)
