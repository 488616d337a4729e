/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_addr.c - internet addresses of providers; see the header.
 *
 * Text that comes in is from dat.conf or the environment and is treated as
 * hostile: bounded copies, whole-word numbers, no recursion.
 */
#include "dapl/common/cm/base/dapl_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 8 /* in a text */

socklen_t dapl_addr_len(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

void dapl_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

uint16_t dapl_addr_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

bool dapl_addr_is_gid(const struct sockaddr_storage *addr, const uint8_t *gid)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;

	switch (addr->ss_family) {
	case AF_INET:
		return dapl_addr_gid_is_v4(gid) &&
		       !memcmp(gid + 12, &v4->sin_addr, 4);
	case AF_INET6:
		return !memcmp(gid, &v6->sin6_addr, 16);
	default:
		return false;
	}
}

void dapl_addr_text(const struct sockaddr *addr, char *buf, size_t size)
{
	socklen_t len = dapl_addr_len(addr);

	if (!len || getnameinfo(addr, len, buf, size, NULL, 0, NI_NUMERICHOST))
		snprintf(buf, size, "(family %d)", addr->sa_family);
}

static const struct in6_addr *in6(const void *addr)
{
	return &((const struct sockaddr_in6 *)addr)->sin6_addr;
}

static const struct in_addr *in4(const void *addr)
{
	return &((const struct sockaddr_in *)addr)->sin_addr;
}

bool dapl_addr_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return in4(a)->s_addr == in4(b)->s_addr;
	return a->sa_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(in6(a), in6(b));
}

void dapl_addrs_add(struct dapl_addrs *list, const struct sockaddr *addr)
{
	struct sockaddr_storage *a = &list->addr[list->n];

	if (list->n == DAPL_ADDRS_MAX)
		return;
	memset(a, 0, sizeof(*a));
	memcpy(a, addr, dapl_addr_len(addr));
	dapl_addr_set_port(a, 0);
	list->n++;
}

void dapl_addrs_add_own(struct dapl_addrs *list, const struct ifaddrs *ifs,
			const struct sockaddr *addr)
{
	const struct ifaddrs *i;

	for (i = ifs; i; i = i->ifa_next)
		if (i->ifa_addr && dapl_addr_same_host(i->ifa_addr, addr))
			dapl_addrs_add(list, i->ifa_addr);
}

enum dapl_addr_class dapl_addr_classify(const struct sockaddr *addr)
{
	if (!addr)
		return DAPL_ADDR_N;
	if (addr->sa_family == AF_INET)
		return DAPL_ADDR_V4;
	if (addr->sa_family != AF_INET6)
		return DAPL_ADDR_N;
	return IN6_IS_ADDR_LINKLOCAL(in6(addr)) ? DAPL_ADDR_V6_LOCAL
						: DAPL_ADDR_V6;
}

int dapl_addr_netdev(const struct ifaddrs *ifs, const char *name,
		     struct dapl_addrs *ret_addrs)
{
	struct dapl_addrs list = {.n = 0};
	const struct ifaddrs *i;
	bool known = false;
	unsigned class;

	for (class = 0; class < DAPL_ADDR_N; class ++)
		for (i = ifs; i; i = i->ifa_next) {
			if (strcmp(i->ifa_name, name) != 0)
				continue;
			known = true;
			if (dapl_addr_classify(i->ifa_addr) == class)
				dapl_addrs_add(&list, i->ifa_addr);
		}
	if (!known)
		return -ENODEV;
	if (!list.n)
		return -EADDRNOTAVAIL;
	*ret_addrs = list;
	return 0;
}

static bool parse_scope(const char *text, uint32_t *ret_scope)
{
	unsigned long v = if_nametoindex(text);
	char *end;

	if (!v && text[0] >= '0' && text[0] <= '9') {
		v = strtoul(text, &end, 10);
		if (*end || v > UINT32_MAX)
			return false;
	}
	*ret_scope = v;
	return v != 0;
}

int dapl_addr_numeric(const char *text, struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	char host[INET6_ADDRSTRLEN];
	size_t len = strcspn(text, "%");

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		memset(ret_addr, 0, sizeof(*ret_addr));
		memcpy(ret_addr, &v4, sizeof(v4));
		return 0;
	}
	if (len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
		return -EINVAL;
	if (text[len] && !parse_scope(text + len + 1, &v6.sin6_scope_id))
		return -EINVAL;
	memset(ret_addr, 0, sizeof(*ret_addr));
	memcpy(ret_addr, &v6, sizeof(v6));
	return 0;
}

/* The first address of an interface stands for it. */
static bool is_first(const struct ifaddrs *ifs, const struct ifaddrs *which)
{
	if (dapl_addr_classify(which->ifa_addr) == DAPL_ADDR_N)
		return false;
	for (; ifs != which; ifs = ifs->ifa_next)
		if (!strcmp(ifs->ifa_name, which->ifa_name) &&
		    dapl_addr_classify(ifs->ifa_addr) != DAPL_ADDR_N)
			return false;
	return true;
}

/* Worth a try, which loopback is not. */
static bool is_live(const struct ifaddrs *i)
{
	return (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK);
}

void dapl_addr_netdevs_text(const struct ifaddrs *ifs, char *buf, size_t size)
{
	char addr[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	const struct ifaddrs *i;
	size_t at = 0;
	int live, told = 0;

	snprintf(buf, size, "none");
	for (live = 1; live >= 0; live--)
		for (i = ifs; i && at < size && told < NAMES_MAX;
		     i = i->ifa_next) {
			if (is_live(i) != live || !is_first(ifs, i))
				continue;
			dapl_addr_text(i->ifa_addr, addr, sizeof(addr));
			at += snprintf(buf + at, size - at, "%s%s %s",
				       told++ ? ", " : "", i->ifa_name, addr);
		}
}

static bool one_host(const struct sockaddr *addr)
{
	uint32_t v4;

	if (addr->sa_family == AF_INET6)
		return !IN6_IS_ADDR_UNSPECIFIED(in6(addr)) &&
		       !IN6_IS_ADDR_MULTICAST(in6(addr));
	v4 = ntohl(in4(addr)->s_addr);
	return v4 != INADDR_ANY && v4 != INADDR_BROADCAST && !IN_MULTICAST(v4);
}

/* TO without its port, family filled in. False for other families than OWN's.
 */
static bool copy_peer(const struct sockaddr_storage *own,
		      const struct sockaddr *to,
		      struct sockaddr_storage *ret_addr)
{
	sa_family_t family = to->sa_family;
	struct sockaddr_storage a = {.ss_family = own->ss_family};

	/* Old programs leave the family out; it used to be forced to IPv4. */
	if (family == AF_UNSPEC)
		family = AF_INET;
	if (family != own->ss_family)
		return false;
	if (family == AF_INET6)
		memcpy(&a, to, sizeof(struct sockaddr_in6));
	else
		((struct sockaddr_in *)&a)->sin_addr = *in4(to);
	*ret_addr = a;
	return true;
}

int dapl_addr_peer(const struct sockaddr_storage *own,
		   const struct sockaddr *to, uint16_t port,
		   struct sockaddr_storage *ret_addr)
{
	struct sockaddr_storage a;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;

	if (!copy_peer(own, to, &a))
		return -EAFNOSUPPORT;
	if (!one_host((struct sockaddr *)&a))
		return -EADDRNOTAVAIL;
	/* A link-local peer can only be on the link of our own address. */
	if (a.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
	    !v6->sin6_scope_id)
		v6->sin6_scope_id =
			((const struct sockaddr_in6 *)own)->sin6_scope_id;
	dapl_addr_set_port(&a, port);
	*ret_addr = a;
	return 0;
}
