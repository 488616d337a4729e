/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_params.c - tests of all tables of environment variables together: those of
 * the core and of every provider, and doc/dapl-env.7 against them.
 *
 * Needs top_srcdir in the environment, as make check sets it.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/common/base/dapl_ia.h"
#include "dapl/common/cm/dcm/dcm_path.h"
#include "dapl/common/services/dapl_log.h"
#include "dapl/openib_cma/cma.h"
#include "dapl/openib_ucm/ucm_qp.h"
#include "dat/info/info.h"
#include "test/unit/case.h"

/* Its header does not go with cma.h. */
extern const struct dapl_param_table scm_param_table;

static const struct dapl_param_table *const tables[] = {
	&dapl_log_param_table, &dapl_ia_param_table, &dcm_path_param_table,
	&cma_param_table,      &scm_param_table,     &ucm_param_table,
};

#define TABLES (sizeof(tables) / sizeof(*tables))

/* Each of these alone. */
static struct dapl_param_table table_of(size_t i)
{
	struct dapl_param_table table = *tables[i];

	assert_true(table.size <= 1024);
	table.base = NULL;
	return table;
}

static const struct dapl_param *row[256]; /* of all tables, by name */
static size_t rows;

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct dapl_param *const *)a)->name,
		      (*(const struct dapl_param *const *)b)->name);
}

static int gather(void **state)
{
	size_t i, k;

	for (i = 0; i < TABLES; i++)
		for (k = 0; k < tables[i]->count; k++) {
			row[rows++] = &tables[i]->rows[k];
			unsetenv(row[rows - 1]->name);
		}
	qsort(row, rows, sizeof(*row), by_name);
	return rows < 10;
}

CASE(defaults__of_the_core)
{
	struct dapl_ia_params p;

	dapl_params_read(&dapl_ia_param_table, &p, NULL);
	assert_int_equal(p.max_inline, -1);
	assert_int_equal(p.wr_max, -1);
	assert_int_equal(p.pkey, 0);
}

CASE(defaults__of_cma)
{
	struct cma_params p;

	dapl_params_read(&cma_param_table, &p, NULL);
	assert_int_equal(p.ack_timer, -1);
	assert_int_equal(p.arp_timeout_ms, 4000);
	assert_int_equal(p.arp_retry_count, 15);
	assert_int_equal(p.route_timeout_ms, 4000);
	assert_int_equal(p.route_retry_count, 15);
	assert_int_equal(p.tos, 0);
}

CASE(defaults__of_paths_and_ucm)
{
	struct ucm_params p;

	memset(&p, 0x55, sizeof(p));
	dapl_params_read(&ucm_param_table, &p, NULL);
	assert_int_equal(p.path.mtu, -1);
	assert_int_equal(p.path.sl, 0);
	assert_int_equal(p.path.ack_timer, 20);
	assert_int_equal(p.path.ack_retry, 7);
	assert_int_equal(p.path.rnr_timer, 12);
	assert_int_equal(p.path.rnr_retry, 7);
	assert_int_equal(p.path.gid_index, -1);
	assert_int_equal(p.path.global_routing, 0);
	assert_int_equal(p.path.hop_limit, 64);
	assert_int_equal(p.path.tclass, 0);
	assert_int_equal(p.retry, -1);
	assert_int_equal(p.rep_time_ms, -1);
	assert_int_equal(p.rtu_time_ms, -1);
	assert_int_equal(p.drep_time_ms, -1);
	assert_int_equal(p.dreq_retry, 1);
	assert_int_equal(p.wait_time_ms, 60000);
	assert_int_equal(p.qp_size, -1);
	assert_int_equal(p.cq_size, -1);
	assert_int_equal(p.tx_burst, 50);
	assert_int_equal(p.array_bits, 18);
}

/* Sets R's variable and returns what its field in a struct of TABLE becomes. */
static int with(const struct dapl_param_table *table,
		const struct dapl_param *r, long long value)
{
	char p[1024], text[32];
	int v;

	snprintf(text, sizeof(text), "%lld", value);
	setenv(r->name, text, 1);
	dapl_params_read(table, p, NULL);
	unsetenv(r->name);
	memcpy(&v, p + r->offset, sizeof(v));
	return v;
}

CASE(range__of_each_number)
{
	for (size_t i = 0; i < TABLES; i++) {
		struct dapl_param_table t = table_of(i);

		for (size_t k = 0; k < t.count; k++) {
			const struct dapl_param *r = &t.rows[k];
			long long min = r->min, max = r->max;

			if (r->type != DAPL_PARAM_INT)
				continue;
			assert_int_equal(with(&t, r, min), r->min);
			assert_int_equal(with(&t, r, max), r->max);
			assert_int_equal(with(&t, r, min - 1), r->def);
			assert_int_equal(with(&t, r, max + 1), r->def);
		}
	}
}

/* A variable sets its own field and no other, and those inside the struct. */
CASE(field__each_number_has_its_own)
{
	for (size_t i = 0; i < TABLES; i++) {
		struct dapl_param_table t = table_of(i);
		char taken[1024] = {0};

		for (size_t k = 0; k < t.count; k++) {
			const struct dapl_param *r = &t.rows[k];
			size_t size = r->type == DAPL_PARAM_STR
					      ? sizeof(const char *)
					      : sizeof(int);

			if (r->type == DAPL_PARAM_NONE)
				continue;
			assert_true(r->offset + size <= t.size);
			for (size_t b = 0; b < size; b++)
				assert_int_equal(taken[r->offset + b]++, 0);
			if (tables[i]->base)
				assert_true(r->offset >= tables[i]->base->size);
		}
	}
}

CASE(names__are_those_of_the_tables)
{
	size_t i;

	for (i = 0; dapl_param_names[i]; i++) {
		assert_true(i < rows);
		assert_string_equal(dapl_param_names[i], row[i]->name);
	}
	assert_int_equal(i, rows);
}

CASE(table__sane_rows)
{
	for (size_t i = 0; i < rows; i++) {
		assert_memory_equal(row[i]->name, "DAPL_", 5);
		assert_true(strlen(row[i]->help) > 0);
		if (i)
			assert_true(strcmp(row[i - 1]->name, row[i]->name) < 0);
		if (row[i]->type != DAPL_PARAM_INT)
			continue;
		assert_true(row[i]->min < row[i]->max);
		assert_true(row[i]->def == -1 || (row[i]->def >= row[i]->min &&
						  row[i]->def <= row[i]->max));
	}
}

/* The line of the man page that a row asks for. */
static void page_line(const struct dapl_param *r, char *buf, size_t size)
{
	char range[64] = "", def[32];

	if (r->type == DAPL_PARAM_NONE) {
		snprintf(buf, size, ".BR %s \" (without effect)\"\n", r->name);
		return;
	}
	if (r->max == INT_MAX && r->type == DAPL_PARAM_INT)
		snprintf(range, sizeof(range), "number, %d or more", r->min);
	else if (r->type == DAPL_PARAM_INT)
		snprintf(range, sizeof(range), "number, %d to %d", r->min,
			 r->max);
	else if (r->type == DAPL_PARAM_MASK)
		snprintf(range, sizeof(range), "bit mask");
	else if (r->type == DAPL_PARAM_PORTS)
		snprintf(range, sizeof(range), "ports, first-last");
	else
		snprintf(range, sizeof(range), "text, %d to %d characters",
			 r->min, r->max);
	if (r->type == DAPL_PARAM_STR || r->type == DAPL_PARAM_PORTS ||
	    r->def == -1)
		snprintf(def, sizeof(def), "not set");
	else
		snprintf(def, sizeof(def), "%d", r->def);
	snprintf(buf, size, ".BR %s \" (%s; default %s)\"\n", r->name, range,
		 def);
}

CASE(page__lists_exactly_the_rows_of_the_tables)
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
		assert_true(next < rows);
		page_line(row[next++], want, sizeof(want));
		assert_string_equal(line, want);
	}
	fclose(f);
	assert_int_equal(next, rows);
}

/* dat_info -e has them all, and no other. */
CASE(dat_info__has_exactly_the_rows_of_the_tables)
{
	size_t next = 0;

	for (size_t i = 0; i < info_var_count; i++) {
		const struct info_var *var = &info_vars[i];

		if (strncmp(var->name, "DAPL_", 5))
			continue;
		assert_true(next < rows);
		assert_string_equal(var->name, row[next]->name);
		assert_string_equal(var->effect, row[next]->help);
		assert_int_equal(!var->values,
				 row[next]->type == DAPL_PARAM_NONE);
		next++;
	}
	assert_int_equal(next, rows);
}

RUN_CASES(gather, NULL)
