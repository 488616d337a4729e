/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * made_ifs.h - a made-up list of network interfaces, as getifaddrs() gives.
 *
 * Contains no test. One thread; a list lasts until the next is made.
 */
#ifndef MADE_IFS_H
#define MADE_IFS_H

#include <ifaddrs.h>
#include <string.h>

#include "dapl/common/cm/base/dapl_addr.h"
#include "test/unit/case.h"

#define MADE_IFS_MAX 32

/* One address of an interface, or none; one without a name ends a list. */
struct made_if {
	const char *name, *addr;
	unsigned flags;
};

static inline struct ifaddrs *made_ifs(const struct made_if *def)
{
	static struct {
		struct ifaddrs ifa;
		struct sockaddr_storage addr;
	} list[MADE_IFS_MAX + 1];
	int i;

	memset(list, 0, sizeof(list));
	for (i = 0; def[i].name; i++) {
		assert_in_range(i, 0, MADE_IFS_MAX - 1);
		list[i].ifa.ifa_name = (char *)(uintptr_t)def[i].name;
		list[i].ifa.ifa_flags = def[i].flags;
		list[i].ifa.ifa_next =
			def[i + 1].name ? &list[i + 1].ifa : NULL;
		if (!def[i].addr)
			continue;
		assert_int_equal(dapl_addr_numeric(def[i].addr, &list[i].addr),
				 0);
		list[i].ifa.ifa_addr = (struct sockaddr *)&list[i].addr;
	}
	return &list[0].ifa;
}

#endif /* MADE_IFS_H */
