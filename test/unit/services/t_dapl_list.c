/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * t_dapl_list.c - tests of the intrusive list.
 *
 * Calls covered: dapl_list_init, _empty, _add_tail, _del, _first, _for_each,
 * _for_each_safe, dapl_container_of. One thread; nothing is allocated.
 */
#include "dapl/common/services/dapl_list.h"
#include "test/unit/case.h"

struct item {
	int before; /* so that a wrong offset is seen */
	int value;
	struct dapl_list link;
};

static struct item items[4];

/* A list of items 0 to N-1. */
static void fill(struct dapl_list *head, int n)
{
	dapl_list_init(head);
	for (int i = 0; i < n; i++) {
		items[i].value = i;
		dapl_list_add_tail(head, &items[i].link);
	}
}

CASE(init__is_empty)
{
	struct dapl_list head;

	dapl_list_init(&head);
	assert_true(dapl_list_empty(&head));
}

CASE(add_tail__keeps_order_both_ways)
{
	struct dapl_list head, *l;
	struct item *it;
	int n = 0;

	fill(&head, 4);
	assert_false(dapl_list_empty(&head));
	dapl_list_for_each(it, &head, link)
		assert_int_equal(it->value, n++);
	assert_int_equal(n, 4);
	for (l = head.prev; l != &head; l = l->prev)
		assert_int_equal(dapl_container_of(l, struct item, link)->value,
				 --n);
	assert_int_equal(n, 0);
}

CASE(first__is_the_oldest)
{
	struct dapl_list head;

	fill(&head, 3);
	assert_ptr_equal(dapl_list_first(&head, struct item, link), &items[0]);
	dapl_list_del(&items[0].link);
	assert_ptr_equal(dapl_list_first(&head, struct item, link), &items[1]);
}

CASE(del__from_the_middle)
{
	struct dapl_list head;
	struct item *it;
	int sum = 0;

	fill(&head, 4);
	dapl_list_del(&items[1].link);
	dapl_list_for_each(it, &head, link)
		sum = sum * 10 + it->value;
	assert_int_equal(sum, 23); /* 0, 2, 3 */
}

CASE(del__twice_is_harmless)
{
	struct dapl_list head;

	fill(&head, 2);
	dapl_list_del(&items[0].link);
	dapl_list_del(&items[0].link);
	assert_ptr_equal(head.next, &items[1].link);
	assert_ptr_equal(head.prev, &items[1].link);
	dapl_list_del(&items[1].link);
	assert_true(dapl_list_empty(&head));
}

CASE(for_each__of_an_empty_list)
{
	struct dapl_list head;
	struct item *it, *tmp;

	dapl_list_init(&head);
	dapl_list_for_each(it, &head, link)
		fail();
	dapl_list_for_each_safe(it, tmp, &head, link)
		fail();
}

CASE(for_each_safe__body_removes_all)
{
	struct dapl_list head;
	struct item *it, *tmp;
	int n = 0;

	fill(&head, 4);
	dapl_list_for_each_safe(it, tmp, &head, link) {
		assert_int_equal(it->value, n++);
		dapl_list_del(&it->link);
		it->link.next = NULL; /* as freed memory would be */
	}
	assert_int_equal(n, 4);
	assert_true(dapl_list_empty(&head));
}

RUN_CASES(NULL, NULL)
