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

#include <dat2/dat_registry.h>

#define T(name) static void name(struct conf *c)

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

T(registry_list_providers__has_the_name)
{
	DAT_COUNT n = 0, found = 0;
	DAT_PROVIDER_INFO *info = list(&n);

	for (int i = 0; i < n; i++)
		if (strcmp(info[i].ia_name, c->name) == 0)
			found++;
	free(info);
	EXPECT(found > 0);
}

T(registry_list_providers__too_small_tells_the_number)
{
	DAT_PROVIDER_INFO *at[1] = {NULL};
	DAT_COUNT n = -1, all;

	free(list(&all));
	BAD_ARG(dat_registry_list_providers(0, &n, at), 1);
	EXPECT_EQ(n, all);
}

T(registry_add_provider__twice)
{
	DAT_PROVIDER_INFO info = {
		.ia_name = "conform-dynamic",
		.dapl_version_major = 2,
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
T(registry_remove_provider__unknown)
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

T(ia_openv__unknown_name)
{
	EXPECT_ERR(open_as("conform-no-such-adapter", 8, 2, 0),
		   DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

T(ia_openv__unknown_major)
{
	EXPECT_TYPE(open_as(c->name, 8, 7, 0), DAT_PROVIDER_NOT_FOUND);
}

T(ia_openv__unknown_minor)
{
	EXPECT_TYPE(open_as(c->name, 8, 2, 77), DAT_PROVIDER_NOT_FOUND);
}

#define LIST(x)                                                               \
	CASE(registry_list_providers__##x, "2.2 dat_registry_list_providers", \
	     NEED_NOTHING)
#define ADD(x)                                                            \
	CASE(registry_add_provider__##x, "2.2 dat_registry_add_provider", \
	     NEED_NOTHING)
#define REMOVE(x)                           \
	CASE(registry_remove_provider__##x, \
	     "2.2 dat_registry_remove_provider", NEED_NOTHING)
#define OPEN(x) CASE(ia_openv__##x, "3 dat_ia_openv", NEED_NOTHING)

const struct conf_case cases_registry[] = {
	LIST(has_the_name),  LIST(too_small_tells_the_number),
	ADD(twice),	     REMOVE(unknown),
	OPEN(unknown_name),  OPEN(unknown_major),
	OPEN(unknown_minor), {0},
};
