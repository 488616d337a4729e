/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * case.h - cases of a unit test, each written once: a macro with its name, and
 * its body behind that.
 *
 *	CASE(sum__of_nothing)
 *	{
 *		assert_int_equal(sum(NULL, 0), 0);
 *	}
 *
 *	RUN_CASES(NULL, NULL)
 *
 * A source with a fixture makes a macro of its own from CASE_WITH or CASE_OF;
 * those over world.h are there. Cases run in the order of the source. Two of
 * one name do not compile, and a program without any fails. Included by one
 * source of a program. Constructors fill the list before main().
 */
#ifndef CASE_H
#define CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define CASES_MAX 512

static struct {
	struct CMUnitTest rows[CASES_MAX];
	int lines[CASES_MAX];
	size_t n;
} cases_;

/* Puts ROWS where LINE belongs; constructors come in any order. */
static inline void cases_add(int line, const struct CMUnitTest *rows, size_t n)
{
	if (n > CASES_MAX - cases_.n)
		abort();
	for (size_t i = 0; i < n; i++) {
		size_t at = cases_.n++;

		for (; at && cases_.lines[at - 1] > line; at--) {
			cases_.rows[at] = cases_.rows[at - 1];
			cases_.lines[at] = cases_.lines[at - 1];
		}
		cases_.rows[at] = rows[i];
		cases_.lines[at] = line;
	}
}

/* How many there are. One that hangs is case.sh's business. */
static inline size_t cases_begin(void)
{
	if (!cases_.n) {
		puts("Bail out! the program has no case");
		exit(1);
	}
	return cases_.n;
}

static inline int cases_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	size_t n = cases_begin();

	return _cmocka_run_group_tests("cases", cases_.rows, n, setup,
				       teardown);
}

/* Ends the case, as one that says nothing; WHY is in the report (case.sh). */
#define skip_case(why)                                 \
	do {                                           \
		print_message("# skipped: %s\n", why); \
		skip();                                \
	} while (0)

/* The last line of a source: main(), with what is done before and after all. */
#define RUN_CASES(setup, teardown)                 \
	int main(void)                             \
	{                                          \
		return cases_run(setup, teardown); \
	}

/*
 * One way to run case FN; LABEL comes behind its name in the output, SETUP,
 * the case and TEARDOWN find VALUE, a pointer, in their state.
 */
#define CASE_ROW(fn, label, setup, teardown, value)             \
	{                                                       \
		.name = #fn label, .test_func = fn##_case,      \
		.setup_func = setup, .teardown_func = teardown, \
		.initial_state = (void *)(value),               \
	}

#define CASE_ROWS(add, ...)                                                 \
	__attribute__((constructor)) static void add(void)                  \
	{                                                                   \
		const struct CMUnitTest rows_[] = {__VA_ARGS__};            \
                                                                            \
		cases_add(__LINE__, rows_, sizeof(rows_) / sizeof(*rows_)); \
	}

/* The case NAME, which is given its state as PARAM, is run by all these rows.
 */
#define CASE_OF(name, param, ...) \
	CASE_GIVEN(name, (param), (*state), __VA_ARGS__)

/* The same, with PARAMS and ARGS in parentheses. */
#define CASE_GIVEN(name, params, args, ...)   \
	static void name params;              \
	static void name##_case(void **state) \
	{                                     \
		name args;                    \
	}                                     \
	CASE_ROWS(name##_rows, __VA_ARGS__)   \
	static void name params

/* And by these, in a line behind its body. */
#define CASE_AGAIN(name, ...) CASE_ROWS(name##_again, __VA_ARGS__)

/* A case that needs no state of its fixture. */
#define CASE_WITH(name, setup, teardown) \
	CASE_OF(name, void *no_state, CASE_ROW(name, "", setup, teardown, NULL))

/* A case without a fixture. */
#define CASE(name) CASE_WITH(name, NULL, NULL)

#endif
