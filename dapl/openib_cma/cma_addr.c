/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cma_addr.c - addresses of the CMA provider; see the header.
 *
 * All text that comes in is from dat.conf or the environment and is treated as
 * hostile: bounded copies, whole-word numbers, no recursion.
 */
#include "dapl/openib_cma/cma_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ports of the range that larger qualifiers are folded into. */
#define FOLD_SIZE 32001
#define FOLD_BASE 33534

/* Copies the next word of *TEXT and moves behind it; its full length. */
static size_t next_word(const char **text, char *word, size_t size)
{
	const char *s = *text + strspn(*text, " \t");
	size_t len = strcspn(s, " \t");

	*text = s + len;
	snprintf(word, size, "%.*s", (int)(len < size ? len : size - 1), s);
	return len;
}

static bool parse_port(const char *word, unsigned *ret_port)
{
	unsigned long v;
	char *end;

	/* strtoul() would take a sign and leading white space. */
	if (word[0] < '0' || word[0] > '9')
		return false;
	errno = 0;
	v = strtoul(word, &end, 0);
	if (*end || errno || v > UINT8_MAX)
		return false;
	*ret_port = v;
	return true;
}

int cma_target_parse(const char *text, struct cma_target *ret_target,
		     const char **ret_why)
{
	struct cma_target t = {.port = 0};
	char word[16];
	size_t len;

	if (!text)
		text = "";
	len = next_word(&text, t.name, sizeof(t.name));
	if (len == 0) {
		*ret_why = "it is empty";
		return -EINVAL;
	}
	if (len >= sizeof(t.name)) {
		*ret_why = "the first word is too long";
		return -EINVAL;
	}
	len = next_word(&text, word, sizeof(word));
	if (len == 0) {
		*ret_why = "the port number is missing";
		return -EINVAL;
	}
	if (len >= sizeof(word) || !parse_port(word, &t.port)) {
		*ret_why = "the second word is not a port number";
		return -EINVAL;
	}
	if (next_word(&text, word, sizeof(word))) {
		*ret_why = strchr(word, '=')
				   ? "no options are known"
				   : "there are words after the port number";
		return -EINVAL;
	}
	*ret_target = t;
	return 0;
}

int cma_qual_port(DAT_CONN_QUAL qual, uint16_t *ret_port)
{
	if (qual == 0)
		return -EINVAL;
	*ret_port = qual <= UINT16_MAX ? qual : qual % FOLD_SIZE + FOLD_BASE;
	return 0;
}

socklen_t cma_addr_len(const struct sockaddr *addr)
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

void cma_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

void cma_addr_text(const struct sockaddr *addr, char *buf, size_t size)
{
	socklen_t len = cma_addr_len(addr);

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

static bool same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return in4(a)->s_addr == in4(b)->s_addr;
	return a->sa_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(in6(a), in6(b));
}

static void addrs_add(struct cma_addrs *list, const struct sockaddr *addr)
{
	struct sockaddr_storage *a = &list->addr[list->n];

	if (list->n == CMA_ADDRS_MAX)
		return;
	memset(a, 0, sizeof(*a));
	memcpy(a, addr, cma_addr_len(addr));
	cma_addr_set_port(a, 0);
	list->n++;
}

enum addr_class {
	CLASS_V4,
	CLASS_V6,
	CLASS_V6_LOCAL,
	CLASS_N
};

static enum addr_class classify(const struct sockaddr *addr)
{
	if (!addr)
		return CLASS_N;
	if (addr->sa_family == AF_INET)
		return CLASS_V4;
	if (addr->sa_family != AF_INET6)
		return CLASS_N;
	return IN6_IS_ADDR_LINKLOCAL(in6(addr)) ? CLASS_V6_LOCAL : CLASS_V6;
}

int cma_addr_netdev(const struct ifaddrs *ifs, const char *name,
		    struct cma_addrs *ret_addrs)
{
	struct cma_addrs list = {.n = 0};
	const struct ifaddrs *i;
	bool known = false;
	unsigned class;

	for (class = 0; class < CLASS_N; class ++)
		for (i = ifs; i; i = i->ifa_next) {
			if (strcmp(i->ifa_name, name) != 0)
				continue;
			known = true;
			if (classify(i->ifa_addr) == class)
				addrs_add(&list, i->ifa_addr);
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

int cma_addr_numeric(const char *text, struct sockaddr_storage *ret_addr)
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

/* Adds ADDR in the form of the interface that has it: with its scope. */
static void addrs_add_own(struct cma_addrs *list, const struct ifaddrs *ifs,
			  const struct sockaddr *addr)
{
	const struct ifaddrs *i;

	for (i = ifs; i; i = i->ifa_next)
		if (i->ifa_addr && same_host(i->ifa_addr, addr))
			addrs_add(list, i->ifa_addr);
}

int cma_addr_host(const struct ifaddrs *ifs, const char *name,
		  struct cma_addrs *ret_addrs)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct cma_addrs list = {.n = 0};
	struct addrinfo *all, *ai;
	unsigned class;

	if (getaddrinfo(name, NULL, &hints, &all))
		return -ENOENT;
	for (class = 0; class < CLASS_N; class ++)
		for (ai = all; ai; ai = ai->ai_next)
			if (classify(ai->ai_addr) == class)
				addrs_add_own(&list, ifs, ai->ai_addr);
	freeaddrinfo(all);
	if (!list.n)
		return -EADDRNOTAVAIL;
	*ret_addrs = list;
	return 0;
}

void cma_addr_netdevs_text(const struct ifaddrs *ifs, char *buf, size_t size)
{
	char addr[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	const struct ifaddrs *i;
	size_t at = 0;

	snprintf(buf, size, "none");
	for (i = ifs; i && at < size; i = i->ifa_next) {
		if (classify(i->ifa_addr) == CLASS_N)
			continue;
		cma_addr_text(i->ifa_addr, addr, sizeof(addr));
		at += snprintf(buf + at, size - at, "%s%s %s", at ? ", " : "",
			       i->ifa_name, addr);
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

int cma_addr_peer(const struct sockaddr_storage *own, const struct sockaddr *to,
		  DAT_CONN_QUAL qual, struct sockaddr_storage *ret_addr)
{
	struct sockaddr_storage a;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;
	uint16_t port;

	if (cma_qual_port(qual, &port))
		return -EINVAL;
	if (!copy_peer(own, to, &a))
		return -EAFNOSUPPORT;
	if (!one_host((struct sockaddr *)&a))
		return -EADDRNOTAVAIL;
	/* A link-local peer can only be on the link of our own address. */
	if (a.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
	    !v6->sin6_scope_id)
		v6->sin6_scope_id =
			((const struct sockaddr_in6 *)own)->sin6_scope_id;
	cma_addr_set_port(&a, port);
	*ret_addr = a;
	return 0;
}
