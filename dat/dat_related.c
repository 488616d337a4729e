/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_related.c - how two providers are related.
 *
 * Loads no library: what is related need not work.
 * Threads: any; takes dat_registry_lock.
 * Ownership: none.
 * Rule: a DAT 2.0 addition without a text: same library and same device.
 */
#include "common/dat_cancel.h"
#include "common/dat_detail.h"
#include "common/dat_reg_int.h"
#include "common/dat_static.h"

#include <string.h>

/* What two names are compared by. */
struct hardware {
	const struct dat_conf_record
		*record; /* NULL: registered by a program */
};

static bool find_hardware_locked(const char *name, struct hardware *ret_hw)
{
	const struct dat_conf *conf = dat_static_conf();
	const struct registration *reg;
	size_t i;

	for (i = 0; i < conf->n_records; i++) {
		if (strcmp(conf->records[i].name, name) == 0) {
			ret_hw->record = &conf->records[i];
			return true;
		}
	}
	for (reg = dat_registrations; reg; reg = reg->next) {
		if (strcmp(reg->info.ia_name, name) == 0) {
			ret_hw->record = NULL;
			return true;
		}
	}
	return false;
}

/* The first word of ia_params is the device. */
static bool same_device(const char *a, const char *b)
{
	size_t len_a;
	size_t len_b;

	a += strspn(a, " \t");
	b += strspn(b, " \t");
	len_a = strcspn(a, " \t");
	len_b = strcspn(b, " \t");
	return len_a == len_b && memcmp(a, b, len_a) == 0;
}

static DAT_RETURN related_locked(const char *name1, const char *name2,
				 DAT_HA_RELATIONSHIP *answer)
{
	struct hardware a;
	struct hardware b;
	int err = dat_static_look();

	if (err)
		return dat_look_fail(err);
	if (!find_hardware_locked(name1, &a) ||
	    !find_hardware_locked(name2, &b))
		return dat_fail(DAT_PROVIDER_NOT_FOUND |
					DAT_NAME_NOT_REGISTERED,
				"\"%s\" or \"%s\" is not known", name1, name2);
	if (strcmp(name1, name2) == 0)
		*answer = DAT_HA_TRUE;
	else if (!a.record || !b.record)
		*answer = DAT_HA_UNKNOWN;
	else if (strcmp(a.record->lib_path, b.record->lib_path) == 0 &&
		 same_device(a.record->ia_params, b.record->ia_params))
		*answer = DAT_HA_TRUE;
	else
		*answer = DAT_HA_FALSE;
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1,
					  const DAT_NAME_PTR name2,
					  DAT_HA_RELATIONSHIP *answer)
{
	DAT_RETURN ret;
	DAT_NOT_CANCELLABLE;

	if (!name1 || !name2 || !answer)
		return dat_fail(DAT_INVALID_PARAMETER |
					(!name1	  ? DAT_INVALID_ARG1
					 : !name2 ? DAT_INVALID_ARG2
						  : DAT_INVALID_ARG3),
				"%s: a pointer is NULL", __func__);
	pthread_mutex_lock(&dat_registry_lock);
	ret = related_locked(name1, name2, answer);
	pthread_mutex_unlock(&dat_registry_lock);
	return ret;
}
