/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_static.h - the static registry: what dat.conf says, and what there is.
 *
 * Loads no library. Reads the file once and never looks at it again, and so
 * with the devices.
 * Threads: dat_static_init() and dat_static_fini() run alone, and only one
 * thread at a time may be in dat_static_look(). Afterwards everything is
 * constant and needs no lock.
 * Ownership: records belong to the static registry.
 * Rule: dat.conf(5), files and environment.
 */
#ifndef DAT_STATIC_H
#define DAT_STATIC_H

#include "dat_conf.h"
#include "dat_text.h"

struct dat_static_options {
	const char *override; /* the file to read, "" included; NULL: default */
	const char *automatic; /* DAT_AUTO; NULL: not set */
	const char *sysfs;     /* NULL: "/sys" */
	const char *hosts;     /* NULL: "/etc/hosts" */
};

/*
 * Reads the file, if there is one that can be read: that which OVERRIDE names,
 * or the first of the default ones. No file is not a failure.
 */
void dat_static_init(const struct dat_static_options *options);
void dat_static_fini(void);

/*
 * What DAT_AUTO says: 0 that there is nothing but the file, a larger number
 * that there is more. False if TEXT is neither; then the file decides.
 */
bool dat_static_automatic(const char *text, bool *ret_automatic);

/*
 * Adds the adapters that need no line, the first time that it is called: who
 * opens one that has a line need not wait for what a machine with many devices
 * has to say of them. Records move, and no more than once. 0, or -ENOMEM,
 * -EMFILE or -ENFILE, which change nothing: the next call looks again.
 */
int dat_static_look(void);

const struct dat_conf *dat_static_conf(void);

/* The file that was read; NULL: none, and why it was none. */
const char *dat_static_file(void);
const char *dat_static_no_file(void);

/* Adds "REMEDY: " for a name where there are no others. */
void dat_static_add_remedy(struct dat_text *text);

/* Adds where names were looked for: the file or why there is none, devices. */
void dat_static_add_source(struct dat_text *text);

/* Adds "FILE, line N: ", but nothing for LINE 0. */
void dat_static_add_line(struct dat_text *text, unsigned line);

/* Whether the port that RECORD is for is there, and active. */
bool dat_static_is_live(const struct dat_conf_record *record);

/*
 * Adds what to write where RECORD has a network interface in place of a device,
 * or the reverse; nothing where it has not, or for providers of others.
 */
void dat_static_add_mistaken(struct dat_text *text,
			     const struct dat_conf_record *record);

/* Adds "...; " for lines that NAME could have been meant by. False: none. */
bool dat_static_add_hints(struct dat_text *text, const char *name);

#endif
