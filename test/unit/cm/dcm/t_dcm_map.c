/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dcm_map.c - tests of the hash table, against an array that tells what is
 * in it.
 *
 * Calls covered: dcm_map_add, _del, _find, _next, _any, _fini. One thread.
 */
#include "dapl/common/cm/dcm/dcm_map.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/case.h"

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

#define T(name) CASE_WITH(name, begin, end)

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

T(find__in_an_empty_map)
{
	assert_null(dcm_map_find(&map, 0));
	dcm_map_del(&map, &nodes[0]); /* is not in: no harm */
	assert_int_equal(map.n, 0);
}

T(find__each_of_many)
{
	for (size_t i = 0; i < N; i++)
		dcm_map_add(&map, &nodes[i], (uint64_t)i << 32 | (i & 7));
	assert_int_equal(map.n, N);
	/* Grown with its contents, so that chains stay short. */
	assert_true(map.mask + 1 >= N);
	for (size_t i = 0; i < N; i++)
		assert_ptr_equal(dcm_map_find(&map, nodes[i].key), &nodes[i]);
	assert_null(dcm_map_find(&map, 8));
	for (size_t i = 0; i < N; i += 2)
		dcm_map_del(&map, &nodes[i]);
	assert_int_equal(map.n, N / 2);
	for (size_t i = 0; i < N; i++)
		assert_ptr_equal(dcm_map_find(&map, nodes[i].key),
				 i % 2 ? &nodes[i] : NULL);
}

T(next__all_of_one_key)
{
	for (size_t i = 0; i < 300; i++)
		dcm_map_add(&map, &nodes[i], i % 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(count(i), 100);
	/* From the middle of a chain, its head and its end. */
	dcm_map_del(&map, &nodes[150]);
	dcm_map_del(&map, dcm_map_find(&map, 0));
	dcm_map_del(&map, &nodes[0]);
	assert_int_equal(count(0), 97);
	assert_int_equal(count(1), 100);
}

T(del__twice_is_once)
{
	dcm_map_add(&map, &nodes[0], 1);
	dcm_map_add(&map, &nodes[1], 2);
	dcm_map_del(&map, &nodes[0]);
	dcm_map_del(&map, &nodes[0]);
	assert_int_equal(map.n, 1);
	assert_null(dcm_map_find(&map, 1));
	assert_ptr_equal(dcm_map_find(&map, 2), &nodes[1]);
}

T(del__of_all_empties_the_map)
{
	for (size_t i = 0; i < N; i++)
		dcm_map_add(&map, &nodes[i], i * 977);
	for (size_t i = 0; i < N; i++)
		dcm_map_del(&map, dcm_map_find(&map, i * 977));
	assert_int_equal(map.n, 0);
	for (size_t i = 0; i < N; i++)
		assert_null(dcm_map_find(&map, i * 977));
}

T(add__without_memory_is_slower_only)
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
T(any_order__agrees_with_an_array)
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

RUN_CASES(NULL, NULL)
