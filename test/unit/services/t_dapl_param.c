/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_param.c - tests of the table of environment variables.
 *
 * Calls covered: dapl_params_read, dapl__param_set, dapl_text_number,
 * dapl__env; and doc/dapl-env.7 against the table.
 * Needs top_srcdir in the environment, as make check sets it.
 */
#include "dapl/common/services/dapl_param.h"
#include "dapl/common/services/dapl_text.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int clean(void **state)
{
	size_t i;

	for (i = 0; i < dapl__param_count; i++)
		unsetenv(dapl__param_table[i].name);
	return 0;
}

static int field(const struct dapl_param *row, const struct dapl_params *p)
{
	int v;

	memcpy(&v, (const char *)p + row->offset, sizeof(v));
	return v;
}

/* Sets ROW's variable and returns what its field becomes. */
static int with(const struct dapl_param *row, long long value)
{
	struct dapl_params p;
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	setenv(row->name, text, 1);
	dapl_params_read(&p);
	unsetenv(row->name);
	return field(row, &p);
}

static void read__defaults(void **state)
{
	struct dapl_params p;

	memset(&p, 0x55, sizeof(p));
	dapl_params_read(&p);
	assert_int_equal(p.max_inline, -1);
	assert_int_equal(p.wr_max, -1);
	assert_int_equal(p.ib_mtu, -1);
	assert_int_equal(p.ib_pkey, 0);
	assert_int_equal(p.ib_sl, 0);
	assert_int_equal(p.ack_timer, 20);
	assert_int_equal(p.ack_retry, 7);
	assert_int_equal(p.rnr_timer, 12);
	assert_int_equal(p.rnr_retry, 7);
	assert_int_equal(p.gid_index, -1);
	assert_int_equal(p.global_routing, 0);
	assert_int_equal(p.hop_limit, 64);
	assert_int_equal(p.tclass, 0);
	assert_int_equal(p.cm_arp_timeout_ms, 4000);
	assert_int_equal(p.cm_arp_retry_count, 15);
	assert_int_equal(p.cm_route_timeout_ms, 4000);
	assert_int_equal(p.cm_route_retry_count, 15);
	assert_int_equal(p.cm_tos, 0);
	assert_null(p.scm_netdev);
	assert_int_equal(p.ucm_retry, -1);
	assert_int_equal(p.ucm_rep_time_ms, -1);
	assert_int_equal(p.ucm_rtu_time_ms, -1);
	assert_int_equal(p.ucm_drep_time_ms, -1);
	assert_int_equal(p.ucm_dreq_retry, 1);
	assert_int_equal(p.ucm_wait_time_ms, 60000);
	assert_int_equal(p.ucm_qp_size, -1);
	assert_int_equal(p.ucm_cq_size, -1);
	assert_int_equal(p.ucm_tx_burst, 50);
	assert_int_equal(p.ucm_array_bits, 18);
}

static void read__range_of_each_number(void **state)
{
	const struct dapl_param *row;
	size_t i;

	for (i = 0; i < dapl__param_count; i++) {
		row = &dapl__param_table[i];
		if (row->type != DAPL_PARAM_INT)
			continue;
		assert_int_equal(with(row, row->min), row->min);
		assert_int_equal(with(row, row->max), row->max);
		assert_int_equal(with(row, (long long)row->min - 1), row->def);
		assert_int_equal(with(row, (long long)row->max + 1), row->def);
	}
}

/* A variable sets its own field and no other. */
static void read__each_number_has_its_own_field(void **state)
{
	struct dapl_params def, p;
	size_t i, k, changed;
	char text[32];
	int value;

	memset(&def, 0, sizeof(def)); /* the padding too */
	memset(&p, 0, sizeof(p));
	dapl_params_read(&def);
	for (i = 0; i < dapl__param_count; i++) {
		const struct dapl_param *row = &dapl__param_table[i];

		if (row->type != DAPL_PARAM_INT)
			continue;
		value = row->def == row->min ? row->max : row->min;
		snprintf(text, sizeof(text), "%d", value);
		setenv(row->name, text, 1);
		dapl_params_read(&p);
		unsetenv(row->name);
		changed = 0;
		for (k = 0; k < sizeof(p) / sizeof(int); k++)
			changed += !!memcmp((char *)&p + k * sizeof(int),
					    (char *)&def + k * sizeof(int),
					    sizeof(int));
		assert_int_equal(changed, 1);
		assert_int_equal(field(row, &p), value);
	}
}

static void read__hex_and_octal(void **state)
{
	struct dapl_params p;

	setenv("DAPL_IB_PKEY", "0x8001", 1);
	setenv("DAPL_HOP_LIMIT", "077", 1);
	dapl_params_read(&p);
	assert_int_equal(p.ib_pkey, 0x8001);
	assert_int_equal(p.hop_limit, 63);
}

static void read__garbage_gives_the_default(void **state)
{
	static const char *const bad[] = {
		"",    " ",   "x",   "7x",  "0x",
		"1.5", "1 1", "--1", "1e3", "99999999999999999999999"};
	struct dapl_params p;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setenv("DAPL_ACK_TIMER", bad[i], 1);
		dapl_params_read(&p);
		assert_int_equal(p.ack_timer, 20);
	}
}

static void number__blanks_around_and_errno(void **state)
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

static void read__string(void **state)
{
	struct dapl_params p;
	char longest[65];

	setenv("DAPL_SCM_NETDEV", "ib0", 1);
	dapl_params_read(&p);
	assert_string_equal(p.scm_netdev, "ib0");
	setenv("DAPL_SCM_NETDEV", "", 1);
	dapl_params_read(&p);
	assert_null(p.scm_netdev);
	memset(longest, 'n', sizeof(longest));
	longest[64] = '\0'; /* one more than there may be */
	setenv("DAPL_SCM_NETDEV", longest, 1);
	dapl_params_read(&p);
	assert_null(p.scm_netdev);
	longest[63] = '\0';
	setenv("DAPL_SCM_NETDEV", longest, 1);
	dapl_params_read(&p);
	assert_string_equal(p.scm_netdev, longest);
}

static void set__flag_counts_presence(void **state)
{
	static const struct dapl_param row = {.name = "X",
					      .type = DAPL_PARAM_FLAG};
	bool flag;

	assert_true(dapl__param_set(&row, "", &flag));
	assert_true(flag);
	assert_true(dapl__param_set(&row, NULL, &flag));
	assert_false(flag);
}

static void table__sorted_with_sane_rows(void **state)
{
	const struct dapl_param *row;
	size_t i;

	for (i = 0; i < dapl__param_count; i++) {
		row = &dapl__param_table[i];
		assert_memory_equal(row->name, "DAPL_", 5);
		assert_true(strlen(row->help) > 0);
		if (i)
			assert_true(strcmp(row[-1].name, row->name) < 0);
		if (row->type != DAPL_PARAM_INT)
			continue;
		assert_true(row->min < row->max);
		assert_true(row->def == -1 ||
			    (row->def >= row->min && row->def <= row->max));
	}
}

/* The line of the man page that a row asks for. */
static void page_line(const struct dapl_param *row, char *buf, size_t size)
{
	char range[64] = "", def[32];

	if (row->type == DAPL_PARAM_NONE) {
		snprintf(buf, size, ".BR %s \" (without effect)\"\n",
			 row->name);
		return;
	}
	if (row->max == INT_MAX && row->type == DAPL_PARAM_INT)
		snprintf(range, sizeof(range), "number, %d or more", row->min);
	else if (row->type == DAPL_PARAM_INT)
		snprintf(range, sizeof(range), "number, %d to %d", row->min,
			 row->max);
	else if (row->type == DAPL_PARAM_MASK)
		snprintf(range, sizeof(range), "bit mask");
	else
		snprintf(range, sizeof(range), "text, %d to %d characters",
			 row->min, row->max);
	if (row->type == DAPL_PARAM_STR || row->def == -1)
		snprintf(def, sizeof(def), "not set");
	else
		snprintf(def, sizeof(def), "%d", row->def);
	snprintf(buf, size, ".BR %s \" (%s; default %s)\"\n", row->name, range,
		 def);
}

static void page__lists_exactly_the_rows_of_the_table(void **state)
{
	const char *top = getenv("top_srcdir");
	char path[4096], want[256], line[1024];
	size_t next = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/doc/dapl-env.7", top ? top : ".");
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s; is top_srcdir set?", path);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, ".BR DAPL_", 9) || !strstr(line, " \" ("))
			continue;
		assert_true(next < dapl__param_count);
		page_line(&dapl__param_table[next++], want, sizeof(want));
		assert_string_equal(line, want);
	}
	fclose(f);
	assert_int_equal(next, dapl__param_count);
}

#define T(f) cmocka_unit_test_setup_teardown(f, clean, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(read__defaults),
		T(read__range_of_each_number),
		T(read__each_number_has_its_own_field),
		T(read__hex_and_octal),
		T(read__garbage_gives_the_default),
		T(number__blanks_around_and_errno),
		T(read__string),
		T(set__flag_counts_presence),
		T(table__sorted_with_sane_rows),
		T(page__lists_exactly_the_rows_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
