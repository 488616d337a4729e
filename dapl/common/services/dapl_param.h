/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_param.h - environment variables: rows of tables, and their reader.
 *
 * Each variable is one row: name, type, range, default, help. A table stands
 * beside what it configures and says where in a struct its values go; here is
 * no variable. dapl-env.7 lists the rows of all tables and a test compares.
 * Values are read at IA open into structs that never change afterwards. A value
 * that is not a number or out of range is not guessed at: the default is used
 * and whoever reads says so.
 */
#ifndef DAPL_PARAM_H
#define DAPL_PARAM_H

#include <stdbool.h>
#include <stddef.h>

enum dapl_param_type {
	DAPL_PARAM_INT, /* int; decimal, 0x hexadecimal or 0 octal */
	DAPL_PARAM_STR, /* const char *; MIN and MAX limit the length */
	/* unsigned, 32 bits; -1 is all; MAX is those there are, 0: any */
	DAPL_PARAM_MASK,
	DAPL_PARAM_PORTS, /* struct dapl_ports, not set by default */
	DAPL_PARAM_NONE,  /* once meant something; accepted, has no field */
};

struct dapl_param {
	const char *name;
	enum dapl_param_type type;
	size_t offset; /* in the struct of the table */
	int min;
	int max;
	int def; /* of an int whose default is "not set": -1 */
	const char *help;
};

struct dapl_param_table {
	const struct dapl_param *rows;
	size_t count;
	size_t size; /* of the struct */
	/* Of the struct's first member, which is one of its own; or NULL. */
	const struct dapl_param_table *base;
};

/* Is given one sentence about a value that was not taken. */
typedef void dapl_param_say_fn(const char *why);

/*
 * The environment, except in set-user-ID programs: there it is the user's and
 * not the program's, so every variable counts as not set.
 */
const char *dapl__env(const char *name);

/*
 * Sets the field of ROW in the struct at BASE from TEXT; NULL is "not set".
 * False when TEXT was bad and the default was used, or when bits of it mean
 * nothing. SAY may be NULL.
 */
bool dapl__param_set(const struct dapl_param *row, const char *text, void *base,
		     dapl_param_say_fn *say);

/*
 * Fills the struct at PARAMS, which is TABLE's, from the environment. Strings
 * point into that. Cannot fail.
 */
void dapl_params_read(const struct dapl_param_table *table, void *params,
		      dapl_param_say_fn *say);

/* The variables of all providers, by name; NULL ends them. */
extern const char *const dapl_param_names[];

/* Says of each that is set, begins with DAPL_, and is none of these. */
void dapl_params_unknown(dapl_param_say_fn *say);

#endif
