/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dt_json.h - JSON objects on a line of their own, member by member.
 *
 * Does not nest and does not read JSON.
 * Threads: the stream is locked from begin to end, so that whatever else writes
 * to it comes between lines. Ownership: the stream is the caller's. Rule: RFC
 * 8259; what JSON cannot say (infinite, not a number) is null, and bytes that
 * are no valid UTF-8 are replaced, since names come from files.
 */
#ifndef DTEST_DT_JSON_H
#define DTEST_DT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dt_json {
	FILE *out;
	bool first;
};

void dt_json_begin(struct dt_json *j, FILE *out);
void dt_json_text(struct dt_json *j, const char *key, const char *value);
void dt_json_count(struct dt_json *j, const char *key, uint64_t value);
void dt_json_number(struct dt_json *j, const char *key, double value);
/* Ends the line and flushes it, so that a reader sees whole lines. */
void dt_json_end(struct dt_json *j);

#endif /* DTEST_DT_JSON_H */
