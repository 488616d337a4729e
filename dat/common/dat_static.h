/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_static.h - the static registry: what dat.conf says.
 *
 * Loads no library. Reads the file once and never looks at it again.
 * Threads: dat_static_init() and dat_static_fini() run alone; in between
 * everything is constant and needs no lock.
 * Ownership: records belong to the static registry.
 * Rule: dat.conf(5), files and environment.
 */
#ifndef DAT_STATIC_H
#define DAT_STATIC_H

#include "dat_conf.h"
#include "dat_detail.h"

/*
 * Reads the file OVERRIDE if that is not NULL, "" included; otherwise the
 * first of the default ones that can be read. No file is not a failure.
 */
void dat_static_init(const char *override);
void dat_static_fini(void);

const struct dat_conf *dat_static_conf(void);

/* Adds "in PATH", or why there is no file. */
void dat_static_add_source(struct dat_text *text);

/* Adds "; ..." for lines that NAME could have been meant by. */
void dat_static_add_hints(struct dat_text *text, const char *name);

#endif
