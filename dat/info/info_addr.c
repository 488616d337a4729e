/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * info_addr.c - network interfaces of this host and their addresses.
 *
 * What becomes of DAPL_SCM_NETDEV is asked of the provider's own code.
 * Threads, ownership: info.h. Rule: dapl-env(7), DAPL_SCM_NETDEV.
 */
#include "dat/info/info.h"

#include "dapl/common/cm/base/dapl_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <string.h>

static bool is_better(const struct sockaddr *a, const struct sockaddr *best)
{
	const struct sockaddr_in6 *in6 = (const void *)a;

	if (!a)
		return false;
	if (a->sa_family == AF_INET)
		return !best || best->sa_family != AF_INET;
	return a->sa_family == AF_INET6 && !best &&
	       !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

void info_show_address(const struct sockaddr *addr, char buf[INET6_ADDRSTRLEN])
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;

	buf[0] = '\0';
	if (addr && addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, buf, INET6_ADDRSTRLEN);
	else if (addr && addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, buf, INET6_ADDRSTRLEN);
}

void info_address_of(const char *interface, char buf[INET6_ADDRSTRLEN])
{
	const struct sockaddr *best = NULL;
	struct ifaddrs *list;

	buf[0] = '\0';
	if (getifaddrs(&list))
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next)
		if (!strcmp(i->ifa_name, interface) &&
		    is_better(i->ifa_addr, best))
			best = i->ifa_addr;
	info_show_address(best, buf);
	freeifaddrs(list);
}

void info_interface_of(const char *address, char buf[IF_NAMESIZE])
{
	char text[INET6_ADDRSTRLEN];
	struct ifaddrs *list;

	buf[0] = '\0';
	if (getifaddrs(&list))
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		info_show_address(i->ifa_addr, text);
		if (text[0] && !strcmp(text, address))
			snprintf(buf, IF_NAMESIZE, "%s", i->ifa_name);
	}
	freeifaddrs(list);
}

const char *info_netdev_fault(const char *netdev)
{
	struct sockaddr_storage number;
	struct dapl_addrs addrs = {.n = 0};
	struct ifaddrs *list;
	int err;

	if (getifaddrs(&list))
		return NULL;
	err = dapl_addr_netdev(list, netdev, &addrs);
	if (err == -ENODEV && !dapl_addr_numeric(netdev, &number))
		dapl_addrs_add_own(&addrs, list, (struct sockaddr *)&number);
	freeifaddrs(list);
	if (addrs.n)
		return NULL;
	return err == -EADDRNOTAVAIL
		       ? "is an interface without an address"
		       : "is neither an interface nor an address of this host";
}
