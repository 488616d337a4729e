/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_reg_int.h - what the files of the registry share.
 *
 * Not for other parts of the library; those use dat_reg.h.
 * Threads: calls that end in _locked want dat_registry_lock held, the others
 * touch only their arguments and the constant static registry.
 * Ownership: registrations belong to dat_registry.c.
 * Rule: a provider is known by name, version and thread safety together.
 */
#ifndef DAT_REG_INT_H
#define DAT_REG_INT_H

#include "dat_conf.h"
#include "dat_reg.h"
#include <pthread.h>

/* An entry of the dynamic registry. */
struct registration {
	struct registration *next;
	DAT_PROVIDER_INFO info;
	struct dat_entries entries;
	struct dat_use *plugin_of; /* whose init made it; NULL: the program */
};

/* How far a request got. */
enum match_level {
	MATCH_NOTHING,
	MATCH_NAME,
	MATCH_MAJOR,
	MATCH_MINOR,
	MATCH_ALL,
};

struct match {
	enum match_level level;
	bool exact;
	DAT_PROVIDER_INFO key;
};

extern pthread_mutex_t dat_registry_lock;

/* Oldest first; dat_registry_lock. */
extern struct registration *dat_registrations;

bool dat_key_same(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b);
void dat_key_of_record(const struct dat_conf_record *record,
		       DAT_PROVIDER_INFO *ret_key);
bool dat_key_is_record(const struct dat_conf_record *record,
		       const DAT_PROVIDER_INFO *key);

/* Whether it is offered by a line, or by itself. */
bool dat_key_is_listed(const DAT_PROVIDER_INFO *key);

/* What to say if dat_static_look() failed. */
DAT_RETURN dat_look_fail(int err);

/* Finds the entry that serves a request best, or comes nearest to it. */
void dat_match_locked(const struct dat_request *request, struct match *match);

/* The code and the reason for a match that is not MATCH_ALL. */
DAT_RETURN dat_match_fail_locked(const struct dat_request *request,
				 const struct match *match);

#endif
