/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * c_registry.c - cases of the registry as consumers see it.
 *
 * Does not look below the public interface. Threads, ownership: conform.h.
 * Rule: uDAPL 1.2 specification, dat_registry_*, dat_ia_openv.
 */
#include "test/conform/conform.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 512

static DAT_PROVIDER_INFO *list(DAT_COUNT *ret_n)
{
	DAT_PROVIDER_INFO *info = calloc(ENTRIES, sizeof(*info));
	DAT_PROVIDER_INFO *at[ENTRIES];

	EXPECT(info);
	for (int i = 0; i < ENTRIES; i++)
		at[i] = info + i;
	EXPECT_OK(dat_registry_list_providers(ENTRIES, ret_n, at));
	return info;
}

CASE(registry_list_providers__has_the_name, "2.2 dat_registry_list_providers",
     NEED_NOTHING)
{
	DAT_COUNT n = 0, found = 0;
	DAT_PROVIDER_INFO *info = list(&n);

	for (int i = 0; i < n; i++)
		if (strcmp(info[i].ia_name, c->name) == 0)
			found++;
	free(info);
	EXPECT(found > 0);
}

CASE(registry_list_providers__too_small_tells_the_number,
     "2.2 dat_registry_list_providers", NEED_NOTHING)
{
	DAT_PROVIDER_INFO *at[1] = {NULL};
	DAT_COUNT n = -1, all;

	free(list(&all));
	BAD_ARG(dat_registry_list_providers(0, &n, at), 1);
	EXPECT_EQ(n, all);
}

CASE(registry_add_provider__twice, "2.2 dat_registry_add_provider",
     NEED_NOTHING)
{
	DAT_PROVIDER_INFO info = {
		.ia_name = "conform-dynamic",
		.dapl_version_major = DAT_VERSION_MAJOR,
		.is_thread_safe = DAT_TRUE,
	};
	DAT_PROVIDER p;

	memset(&p, 0, sizeof(p));
	EXPECT_OK(dat_registry_add_provider(&p, &info));
	EXPECT_TYPE(dat_registry_add_provider(&p, &info),
		    DAT_PROVIDER_ALREADY_REGISTERED);
	EXPECT_OK(dat_registry_remove_provider(&p, &info));
}

/* Old plug-ins know the type that the historic library gave. */
CASE(registry_remove_provider__unknown, "2.2 dat_registry_remove_provider",
     NEED_NOTHING)
{
	DAT_PROVIDER_INFO info = {.ia_name = "conform-unknown"};
	DAT_PROVIDER p;

	memset(&p, 0, sizeof(p));
	EXPECT_TYPE(dat_registry_remove_provider(&p, &info),
		    DAT_PROVIDER_NOT_FOUND);
}

static DAT_RETURN open_as(const char *name, DAT_COUNT qlen, unsigned major,
			  unsigned minor)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_openv((char *)(uintptr_t)name, qlen, &evd, &ia, major,
			    minor, DAT_FALSE);
}

CASE(ia_openv__unknown_name, "3 dat_ia_openv", NEED_NOTHING)
{
	EXPECT_ERR(open_as("conform-no-such-adapter", 8, DAT_VERSION_MAJOR,
			   DAT_VERSION_MINOR),
		   DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

CASE(ia_openv__unknown_major, "3 dat_ia_openv", NEED_NOTHING)
{
	EXPECT_TYPE(open_as(c->name, 8, 7, DAT_VERSION_MINOR),
		    DAT_PROVIDER_NOT_FOUND);
}

CASE(ia_openv__unknown_minor, "3 dat_ia_openv", NEED_NOTHING)
{
	EXPECT_TYPE(open_as(c->name, 8, DAT_VERSION_MAJOR, 77),
		    DAT_PROVIDER_NOT_FOUND);
}
