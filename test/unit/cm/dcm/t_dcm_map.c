/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dcm_map.c - tests of the hash table, against an array that tells what is
 * in it.
 *
 * Calls covered: dcm_map_add, _del, _find, _next, _any, _fini. One thread.
 */
#include "dapl/common/cm/dcm/dcm_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 5000

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool no_memory;
static struct dcm_map map;
static struct dcm_map_node nodes[N];

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

static int begin(void **state)
{
	no_memory = false;
	memset(&map, 0, sizeof(map));
	memset(nodes, 0, sizeof(nodes));
	return 0;
}

static int end(void **state)
{
	dcm_map_fini(&map);
	return map.bucket || map.n;
}

static size_t count(uint64_t key)
{
	struct dcm_map_node *node;
	size_t n = 0;

	for (node = dcm_map_find(&map, key); node; node = dcm_map_next(node)) {
		assert_true(node->in);
		assert_int_equal(node->key, key);
		n++;
	}
	return n;
}

static void find__in_an_empty_map(void **state)
{
	assert_null(dcm_map_find(&map, 0));
	dcm_map_del(&map, &nodes[0]); /* is not in: no harm */
	assert_int_equal(map.n, 0);
}

static void find__each_of_many(void **state)
{
	size_t i;

	for (i = 0; i < N; i++)
		dcm_map_add(&map, &nodes[i], i << 32 | (i & 7));
	assert_int_equal(map.n, N);
	/* Grown with its contents, so that chains stay short. */
	assert_true(map.mask + 1 >= N);
	for (i = 0; i < N; i++)
		assert_ptr_equal(dcm_map_find(&map, nodes[i].key), &nodes[i]);
	assert_null(dcm_map_find(&map, 8));
	for (i = 0; i < N; i += 2)
		dcm_map_del(&map, &nodes[i]);
	assert_int_equal(map.n, N / 2);
	for (i = 0; i < N; i++)
		assert_ptr_equal(dcm_map_find(&map, nodes[i].key),
				 i % 2 ? &nodes[i] : NULL);
}

static void next__all_of_one_key(void **state)
{
	size_t i;

	for (i = 0; i < 300; i++)
		dcm_map_add(&map, &nodes[i], i % 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(count(i), 100);
	/* From the middle of a chain, its head and its end. */
	dcm_map_del(&map, &nodes[150]);
	dcm_map_del(&map, dcm_map_find(&map, 0));
	dcm_map_del(&map, &nodes[0]);
	assert_int_equal(count(0), 97);
	assert_int_equal(count(1), 100);
}

static void del__twice_is_once(void **state)
{
	dcm_map_add(&map, &nodes[0], 1);
	dcm_map_add(&map, &nodes[1], 2);
	dcm_map_del(&map, &nodes[0]);
	dcm_map_del(&map, &nodes[0]);
	assert_int_equal(map.n, 1);
	assert_null(dcm_map_find(&map, 1));
	assert_ptr_equal(dcm_map_find(&map, 2), &nodes[1]);
}

static void del__of_all_empties_the_map(void **state)
{
	size_t i;

	for (i = 0; i < N; i++)
		dcm_map_add(&map, &nodes[i], i * 977);
	for (i = 0; i < N; i++)
		dcm_map_del(&map, dcm_map_find(&map, i * 977));
	assert_int_equal(map.n, 0);
	for (i = 0; i < N; i++)
		assert_null(dcm_map_find(&map, i * 977));
}

static void add__without_memory_is_slower_only(void **state)
{
	size_t i;

	no_memory = true;
	for (i = 0; i < 100; i++)
		dcm_map_add(&map, &nodes[i], i);
	assert_null(map.bucket);
	for (i = 0; i < 100; i++)
		assert_ptr_equal(dcm_map_find(&map, i), &nodes[i]);
	no_memory = false;
	for (; i < 200; i++)
		dcm_map_add(&map, &nodes[i], i);
	assert_non_null(map.bucket);
	for (i = 0; i < 200; i++)
		assert_ptr_equal(dcm_map_find(&map, i), &nodes[i]);
	assert_int_equal(map.n, 200);
}

/* Thousands of additions and removals in an order that has no pattern. */
static void any_order__agrees_with_an_array(void **state)
{
	uint32_t random = 1;
	size_t i, in = 0, step;

	for (step = 0; step < 100000; step++) {
		random = random * 1664525 + 1013904223;
		i = (random >> 8) % N;
		if (nodes[i].in) {
			dcm_map_del(&map, &nodes[i]);
			in--;
		} else {
			dcm_map_add(&map, &nodes[i], i / 2);
			in++;
		}
		assert_int_equal(map.n, in);
		assert_int_equal(count(i / 2),
				 (size_t)nodes[i & ~1ul].in + nodes[i | 1].in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(find__in_an_empty_map, begin,
						end),
		cmocka_unit_test_setup_teardown(find__each_of_many, begin, end),
		cmocka_unit_test_setup_teardown(next__all_of_one_key, begin,
						end),
		cmocka_unit_test_setup_teardown(del__twice_is_once, begin, end),
		cmocka_unit_test_setup_teardown(del__of_all_empties_the_map,
						begin, end),
		cmocka_unit_test_setup_teardown(
			add__without_memory_is_slower_only, begin, end),
		cmocka_unit_test_setup_teardown(any_order__agrees_with_an_array,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
