/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_provider.h - names that libdat2 has loaded the plugin for.
 *
 * Each registration (a name with a version and a thread safety) has a vector of
 * its own, whose first word is the name; all are filled from one const
 * template. Constant once made, but for what is guarded by a lock of role
 * PROVIDER.
 */
#ifndef DAPL_PROVIDER_H
#define DAPL_PROVIDER_H

#include <dat2/dat_registry.h>
#include <dat2/udat.h>

#include "dapl/common/services/dapl_list.h"

struct dapl_cm_ops;

/* The calls of a version of DAT. */
struct dapl_calls {
	const DAT_PROVIDER *vector;
	/* Has those in VECTOR that are on the data path count what they do. */
	void (*count)(DAT_PROVIDER *vector);
};

struct dapl_provider {
	DAT_PROVIDER vector; /* what libdat2 gets; must stay first */
	const struct dapl_calls *calls;
	struct dapl_list link; /* of all there ever were; lock */
	bool registered;       /* lock */
	bool counts;	       /* lock, atomic; see dapl_counters.h */
	DAT_PROVIDER_INFO info;
	const struct dapl_cm_ops *ops;
	char ia_params[]; /* field 7 of the dat.conf line */
};

/* NULL when NAME is not registered. */
struct dapl_provider *dapl_provider_find(const char *name);

/*
 * The entry of a name for registration: that of an earlier life, or a new one
 * with a copy of the vector of CALLS. NULL: no memory.
 */
struct dapl_provider *dapl_provider_take(const struct dapl_calls *calls,
					 const struct dapl_cm_ops *ops,
					 const DAT_PROVIDER_INFO *info,
					 const char *ia_params);
/* It is not registered any more. */
void dapl_provider_give_back(struct dapl_provider *prov);
/* What was registered so, or NULL. */
struct dapl_provider *dapl_provider_of(const struct dapl_cm_ops *ops,
				       const DAT_PROVIDER_INFO *info);

/*
 * From here on the data path counts what it does. Programs may be in the middle
 * of it: each call is either of the two.
 */
void dapl_provider_count(struct dapl_provider *prov);

#endif
