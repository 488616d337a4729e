/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_conf.h - the text of a dat.conf, as records and diagnostics.
 *
 * Pure: bytes in, data out. Opens no file, prints nothing, keeps no state, and
 * does not decide which record serves a request (dat_registry.c does).
 * Threads: no shared state, so any number of parses at once.
 * Ownership: a struct dat_conf owns all it points to until dat_conf_free().
 * Rule: the grammar in dat.conf(5), which is that of the historic library,
 * including its odd corners; test/unit/dat/t_dat_conf.c has the table.
 */
#ifndef DAT_CONF_H
#define DAT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The comment that makes a file all there is. */
#define DAT_CONF_ALONE "#DAT_AUTO=0"

/* Larger files are refused before they are parsed. */
#define DAT_CONF_MAX_BYTES (16u << 20)

/* Diagnostics that are kept; further ones are only counted. */
#define DAT_CONF_MAX_DIAGS 1000

enum dat_conf_field {
	DAT_CONF_NAME,
	DAT_CONF_API,
	DAT_CONF_THREAD_SAFETY,
	DAT_CONF_DEFAULT,
	DAT_CONF_LIBRARY,
	DAT_CONF_PROVIDER_VERSION,
	DAT_CONF_IA_PARAMS,
	DAT_CONF_PLATFORM_PARAMS,
	DAT_CONF_END, /* where the line should have ended */
	DAT_CONF_FIELD_N,
};

/* A usable line: of the user-space API, marked default. */
struct dat_conf_record {
	const char *name;
	uint32_t major;
	uint32_t minor;
	bool thread_safe;
	bool duplicate; /* an earlier record has the same four values */
	size_t first;	/* the earliest such, by its place */
	bool unlisted;	/* can be opened, but is not offered */
	/* The last field whose word has something behind it; NAME: none. */
	enum dat_conf_field loose;
	const char *lib_path;
	const char *provider_version;
	const char *ia_params;
	const char *platform_params;
	unsigned line; /* from 1; 0: not from a file */
};

/* A line that gave no record, and why. */
struct dat_conf_diag {
	unsigned line;	 /* from 1 */
	unsigned column; /* of the field, in bytes, from 1 */
	enum dat_conf_field field;
	bool ignored;	  /* well formed, but not for this library */
	bool crlf;	  /* a carriage return made it wrong */
	const char *name; /* first field, "" if that was not read */
	const char *expected;
	char found[48]; /* printable */
};

struct dat_conf {
	struct dat_conf_record *records; /* in file order */
	size_t n_records;
	struct dat_conf_diag *diags; /* in file order */
	size_t n_diags;
	size_t n_diags_lost;
	char *strings;
	bool alone; /* the file says that it is all there is */
};

/*
 * Parses LEN bytes, which need not be terminated. 0, or -ENOMEM, which leaves
 * RET_CONF alone. A bad line never affects another one.
 */
int dat_conf_parse(const char *bytes, size_t len, struct dat_conf *ret_conf);

/*
 * Adds the records of MORE for names that CONF has not in their major version.
 * The strings stay MORE's. 0, or -ENOMEM, which leaves CONF alone.
 */
int dat_conf_add(struct dat_conf *conf, const struct dat_conf *more);

/* Frees what CONF points to and empties it; harmless on an empty one. */
void dat_conf_free(struct dat_conf *conf);

/* One line of text without line end, like snprintf() cut to SIZE bytes. */
void dat_conf_diag_text(const struct dat_conf_diag *diag, char *buf,
			size_t size);

#endif
